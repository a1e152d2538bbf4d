"""Naive Bayes with exponents of the features."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from bayesgraph.classifiers.discretizers import MDLP, Discretizer
from bayesgraph.classifiers.network_classifier import ColumnClassifier, Source
from bayesgraph.classifiers.parameters import OF_TABLES, estimator
from bayesgraph.classifiers.validation import check_fitted
from bayesgraph.classifiers.weights import with_class_weights
from bayesgraph.datasets.source import DatasetSource
from bayesgraph.learning import Smoothing
from bayesgraph.learning.exponents import ALL_SCHEMES, weighted_network
from bayesgraph.learning.smoothing import one_of
from bayesgraph.models.factor_graph import FactorGraph
from bayesgraph.models.weighted import WeightedNetwork
from bayesgraph.statistics import TableSource
from bayesgraph.variables import Discrete


@estimator
class WeightedNaiveBayesClassifier(ColumnClassifier):
    """Naive Bayes with exponents that reduce the influence of redundant and irrelevant features.

    Weighted naive Bayes: P(c | x) is proportional to ``P(c) e^{b_c} prod_i p(x_i | c)^{w_i}``, with
    exponents w_i and, for some choices of `exponents`, a bias b_c of each class. Numeric columns
    are discretised by MDLP unless `discretizer` is given. `network_` is a WeightedNetwork. For the
    meaning of weights see the notes of BayesianNetworkClassifier.

    Parameters
    ----------
    exponents : str, default "variable"
        * "variable": one exponent in [0, 1] for each feature, maximising the conditional likelihood
          (WANBIA; Zaidi, Cerquides, Carman, Webb 2013);
        * "class": one exponent for each feature and class, and a bias for each class;
        * "mixed": one exponent for each feature, plus deviations of the classes shrunk to zero;
        * "selective": average over naive Bayes classifiers on subsets of the features, weighted by
          their compression of the class labels (Boullé 2007);
        * "fractional": sparse exponents, by a prior that prefers zero (Hue, Boullé, Lemaire 2017);
        * "averaged": the exact average over all subsets of features, as tables (Dash, Cooper 2004);
        * "mutual_information", "gain_ratio", "mdl", "conditional_likelihood", "correlation":
          closed-form scores of the features (filters);
        * "tree_depth": from the depth at which trees split on a feature (Hall 2007). The trees are
          grown on rows that are drawn, so that a row of weight 2 is not exactly two rows, as in
          scikit-learn's forests, which it excuses from that check.
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = WeightedNaiveBayesClassifier().fit(X, y)
    >>> round(float(clf.network_.exponents["x0"]), 1)
    0.8
    """

    command: ClassVar[str] = "weighted"
    _reads = OF_TABLES
    _model_name = "WeightedNetwork"

    network_: WeightedNetwork = field(init=False)  # type: ignore[assignment]

    exponents: str = field(default="variable", kw_only=False)

    def _counts_ahead(self) -> bool:
        return False

    def _discretizer(self) -> Discretizer | None:
        one_of("exponents", self.exponents, ALL_SCHEMES)
        return MDLP() if self.discretizer is None else super()._discretizer()

    @property
    def _moves_prior(self) -> bool:
        return True

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> Any:
        # Without `partial_fit` there is no other source.
        assert isinstance(source, TableSource | DatasetSource)
        network = super()._network(source, smoothing, target)
        found = weighted_network(network, source, self.exponents)
        return found if self.priors is not None else with_class_weights(found, source, target)

    def to_factor_graph(self) -> FactorGraph:
        """Return a factor graph with exponents; see `WeightedNetwork.to_factor_graph`."""
        check_fitted(self, "network_")
        return self.network_.to_factor_graph()
