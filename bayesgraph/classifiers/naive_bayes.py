"""Naive Bayes over columns of any type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.classifiers.base import OF_TABLES, estimator
from bayesgraph.classifiers.discretizers import MDLP, Discretizer
from bayesgraph.classifiers.intake import check_fitted, checked_priors, with_class_weights
from bayesgraph.classifiers.network_classifier import ColumnClassifier, NetworkClassifier, Source
from bayesgraph.core.arrays import Floats, log_of, random_generator
from bayesgraph.core.errors import DataError, DataTypeError, quoted
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.variables import CountVector, Discrete, Name
from bayesgraph.learning import (
    ALL_SCHEMES,
    Structure,
    aode,
    averaged_tan,
    forest,
    kdb,
    tan,
    weighted_network,
)
from bayesgraph.models import (
    CPD,
    Ensemble,
    ExponentialCPD,
    FactorGraph,
    MultinomialCPD,
    PoissonCPD,
    PresenceCPD,
    TableCPD,
    WeightedNetwork,
    as_mapping,
    item_sums,
    read_case,
)
from bayesgraph.statistics import (
    CountSource,
    DatasetSource,
    Smoothing,
    SmoothingLike,
    TableSource,
    Totals,
    one_of,
)

# ------------------------------------------------------------ Naive Bayes over columns of any type


@estimator
class NaiveBayesClassifier(ColumnClassifier):
    """Naive Bayes: the features are independent given the class.

    One model takes columns of any type, each with its own family of distributions.

    Parameters
    ----------
    distributions : "auto", family, or mapping from column (or tuple of columns) to family
        Families of the distributions of features, of all or by column.

        {families}

        A single family applies to all numeric columns ("categorical": to all columns). If X is a
        sparse matrix, the family is "multinomial" or "bernoulli". By default, "auto", a column of
        positive numbers is log-normal, gamma or Gaussian, whichever has the best BIC given the
        class, and any other Gaussian. The same holds for columns that a mapping does not name.
    items : array_like of names, shape (n_features,), optional
        Names of the items that the columns of an array or a sparse matrix count, such as the words
        of a vectorizer; by default "x0", "x1", and so on.
    {parameters}

    Attributes
    ----------
    {attributes}
    w_ : ndarray, shape (n_classes, n columns)
        Weights of the log odds, if these are linear (counts of items, their presence, states,
        Poisson counts, exponential numbers): ``softmax(X @ w_.T + w0_)`` are the class
        probabilities of complete rows X, with a column of zeros and ones for each state of a
        discrete feature. (Gaussians of one variance are linear too: ``w_`` of
        DiscriminantAnalysisClassifier.)
    w0_ : ndarray, shape (n_classes,)
        Bias of each class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = NaiveBayesClassifier().fit(X, y)
    >>> clf.query(evidence={"x2": 4.5}).argmax
    1
    >>> NaiveBayesClassifier("kernel").fit(X, y).score(X, y)
    0.96
    """

    distributions: Mapping[Any, str] | str | None = field(default="auto", kw_only=False)
    items: ArrayLike | None = None

    def _linear_terms(self) -> tuple[Floats, Floats]:
        """Return weights and biases of the log scores in the columns; see `_linear`."""
        check_fitted(self, "network_")
        weights, biases = zip(
            *[_linear(self.network_[v.name]) for v in self.features_], strict=True
        )
        prior = self.network_[self.target_.name]
        assert isinstance(prior, TableCPD)
        return np.concatenate(weights, axis=1), log_of(prior.values) + np.sum(biases, axis=0)

    @property
    def w_(self) -> Floats:
        """Weights of the log odds, shape (n_classes, n columns)."""
        return self._linear_terms()[0]

    @property
    def w0_(self) -> Floats:
        """Biases of the log odds, shape (n_classes,)."""
        return self._linear_terms()[1]


def _linear(cpd: CPD) -> tuple[Floats, Floats]:
    """Return slopes and intercept of the log density of a feature in each class, up to a constant.

    The slopes, shape (n_classes, n), are those of its number, the counts or the presence of its
    items, or the indicators of its states.

    Raises
    ------
    AttributeError
        If the log density is not linear.
    """
    if isinstance(cpd, TableCPD):
        # The slope of a state's indicator is the log of its probability.
        return log_of(cpd.values), np.zeros(len(cpd.values))
    if isinstance(cpd, MultinomialCPD):
        return cpd.item_logs(), np.zeros(cpd.cells)
    if isinstance(cpd, PresenceCPD):
        # sum_i x_i log p_i + (1 - x_i) log(1 - p_i), in which x_i is 1 where the item is present.
        absent = log_of(1.0 - cpd.probabilities)
        return cpd.item_logs() - absent, absent.sum(axis=1)
    if isinstance(cpd, PoissonCPD):
        # x log(rate) - rate; the term -log(x!) is the same for all classes.
        rate = cpd.rate.reshape(-1, 1)
        return np.log(rate), -rate[:, 0]
    if isinstance(cpd, ExponentialCPD):
        rate = cpd.rate.reshape(-1, 1)
        return -rate, np.log(rate[:, 0])
    raise AttributeError(
        f"Log odds are linear in counts, presence, states, Poisson counts and exponential numbers; "
        f"{cpd.title} is none of these."
    )


# ----------------------------- Tree-augmented naive Bayes: the best tree, or an average over trees


@estimator
class TANClassifier(ColumnClassifier):
    """Tree-augmented naive Bayes: each feature has the class and one other feature as parents.

    The tree is a maximum spanning tree over conditional mutual information (Friedman, Geiger,
    Goldszmidt 1997), for discrete, continuous and mixed features alike.

    Parameters
    ----------
    distributions : "auto", family, or mapping from column to family
        As in NaiveBayesClassifier. What is neither Gaussian nor discrete has the class as its only
        parent; by default it is so only if it explains the column better than arcs do.
    root : name, optional
        Root of the tree; by default the first discrete feature, or the first feature if none is
        discrete.
    candidates : int, optional
        For very many columns: number of partners of each feature, the best ones in a sample of
        65,536 rows, that are counted in all rows. The tree is then the best one among these pairs
        and those of the sample's tree, and there is no `partial_fit`, `fit_batches` or `forget`.
    min_gain : float, "bic" or "aic", optional
        Arcs between features are left out if the log likelihood that they gain a row (conditional
        mutual information, in nats) is not above this number, or does not pay for their parameters
        by BIC or AIC: a forest. By default the tree has all its arcs, also those that tell nothing.
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    If the statistics of all pairs of features take more than a share of the memory, they are
    counted in tiles, each in a pass of its own, of which only scores are kept: the model is the
    same (up to rounding, for continuous features), but it cannot add or forget rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> sorted(TANClassifier().fit(X, y).network_.arc_scores)
    [('x0', 'x1'), ('x0', 'x2'), ('x2', 'x3')]
    """

    distributions: Mapping[Any, str] | str | None = "auto"
    root: Name | None = None
    candidates: int | None = None
    min_gain: float | str | None = None

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        if self.min_gain is None:
            return partial(tan, root=self.root, candidates=self.candidates)
        return partial(forest, root=self.root, candidates=self.candidates, score=self.min_gain)


@estimator
class AveragedTANClassifier(ColumnClassifier):
    """Tree-augmented naive Bayes averaged over trees that are drawn from their posterior.

    The posterior probabilities of every tree over the features and of every edge are known in
    closed form (matrix-tree theorem; Meila and Jaakkola 2006). The model is a mixture of trees
    drawn exactly from that posterior. With few rows many trees are plausible; with many rows one
    tree has nearly all the probability, and the model is that of TANClassifier.

    Parameters
    ----------
    n_trees : int, default 50
        Number of draws. The weight of a tree is proportional to the number of times it is drawn.
    ess : float, optional
        Equivalent sample size, in rows, of the Dirichlet prior of the tree posterior. By default
        half a row for each cell of the table of two features and the class, averaged over the pairs
        of features.
    random_state : int or numpy Generator, default 0
        Source of the draws; with an int every update of the model draws from the same seed again.
    {parameters}

    Attributes
    ----------
    {attributes}
    edge_probabilities_ : ndarray, shape (n_features, n_features)
        Exact posterior probability of each edge over all trees, independent of the draws. Pictures
        show it as the opacity of the arcs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = AveragedTANClassifier().fit(X, y)
    >>> clf.edge_probabilities_[0].round(2).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """

    _fitted = ("edge_probabilities_",)
    _model_name = "Ensemble"

    network_: Ensemble = field(init=False)  # type: ignore[assignment]
    edge_probabilities_: Floats = field(init=False)

    n_trees: int = 50
    ess: float | None = None
    random_state: int | np.random.Generator | np.random.RandomState | None = 0

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> Ensemble:
        """Return the mixture of trees drawn from their posterior; set `edge_probabilities_`."""
        n: Any = self.n_trees
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise DataError(f"n_trees is a number of trees, 1 or more; got {n!r}.")
        if self.ess is not None and not (np.isfinite(self.ess) and self.ess > 0):
            raise DataError(f"ess is a positive number of rows; got {self.ess!r}.")
        mixture, self.edge_probabilities_ = averaged_tan(
            source,
            smoothing,
            n_trees=int(n),
            ess=self.ess,
            random=random_generator(self.random_state),
            priors=checked_priors(self.priors, target),
        )
        return mixture


# ------------------------------------------------------------ The k-dependence Bayesian classifier


@estimator
class KDBClassifier(ColumnClassifier):
    """k-dependence Bayesian classifier: the parents of a feature are the class and k features.

    Features are ordered by their mutual information with the class. The parents of a feature are
    the class and the k earlier features with the highest mutual information given the class (Sahami
    1996).

    Parameters
    ----------
    k : int, default 2
        Number of features that are parents of each; 0 is naive Bayes. From 2 on the structure must
        be known before the tables can be counted, which takes a second pass over the data: there is
        no `partial_fit`, `fit_batches` or `forget`.
    {parameters}

    Attributes
    ----------
    {attributes}
    """

    k: int = field(default=2, kw_only=False)

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        return partial(kdb, k=self.k)


# -------------------------------------------------------------- Averaged one-dependence estimators


@estimator
class AODEClassifier(ColumnClassifier):
    """Averaged one-dependence estimators: a mixture of networks, one for each feature.

    In the network of a feature, this feature and the class are the parents of all other features
    (Webb, Boughton, Wang 2005). No structure is learned. A continuous feature is a parent of the
    other continuous features only. Missing values are marginalised in each network.

    Tables given the class and another feature have few rows in each cell. Therefore `smoothing` is
    "m" by default: m-estimates with m = 1, an equivalent sample size that does not depend on the
    number of states.

    Parameters
    ----------
    min_rows : float, default 1.0
        Minimum number of rows of a value of the parent feature. Given a value with fewer rows, the
        other features depend on the class alone. (The paper takes 30, later work 1.)
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = AODEClassifier().fit(X, y)
    >>> clf.network_
    Ensemble (joint) of 4 networks over 5 variables, 16 different arcs and 143 parameters
    """

    _model_name = "Ensemble"

    network_: Ensemble = field(init=False)  # type: ignore[assignment]

    smoothing: SmoothingLike = "m"
    min_rows: float = 1.0

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> Ensemble:
        """Return the mixture of the networks of all features, one of which is a parent in each."""
        if not self.min_rows >= 0:
            raise DataError(f"min_rows is a number of rows, 0 or more; got {self.min_rows!r}.")
        priors = checked_priors(self.priors, target)
        return aode(source, smoothing, min_rows=self.min_rows, priors=priors)


# ------------------------------------------------------ Naive Bayes with exponents of the features


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

    _reads = OF_TABLES
    _model_name = "WeightedNetwork"

    network_: WeightedNetwork = field(init=False)  # type: ignore[assignment]

    exponents: str = field(default="variable", kw_only=False)

    def _counts_ahead(self) -> bool:
        return False

    def _default_discretizer(self) -> Discretizer:
        one_of("exponents", self.exponents, ALL_SCHEMES)
        return MDLP()

    @property
    def _moves_prior(self) -> bool:
        return True

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> Any:
        """Return naive Bayes with exponents; class weights move its prior, unless one is given."""
        # Without `partial_fit` there is no other source.
        assert isinstance(source, TableSource | DatasetSource)
        network = super()._network(source, smoothing, target)
        weighted = weighted_network(network, source, self.exponents)
        return weighted if self.priors is not None else with_class_weights(weighted, source, target)

    def _to_factor_graph(self) -> FactorGraph:
        """Return a factor graph with exponents; see `FactorGraph.of`."""
        check_fitted(self, "network_")
        return self.network_._to_factor_graph()


# ------ Complement naive Bayes: scores a class by the low likelihood of a row in all other classes


# Minimum pseudo-count: with 0, a word that all other classes lack would have an infinite weight.
_MIN_ALPHA = 1e-10


@estimator
class ComplementNaiveBayesClassifier(NetworkClassifier):
    """Complement naive Bayes for counts of words: robust where classes differ in size.

    For each class the shares of the items are estimated from the rows of all *other* classes, and
    the prediction is the class whose complement explains the row worst (Rennie, Shih, Teevan,
    Karger 2003, section 3.1). The model is a factor graph with the structure of naive Bayes: it has
    a multinomial of each complement, raised to the exponent -1 (with `norm`, to a negative exponent
    for each class). The weights of the counts in the log score are ``-log P(item | not class)``.
    This is a scoring rule and not a distribution of documents: queries that need a distribution,
    such as samples or the likelihood of documents, are refused.

    Probabilities and classes are those of scikit-learn's ``ComplementNB``, whose parameters
    `fit_prior` and `class_prior` have an effect for a single class only. Missing counts are
    marginalised before the exponents are applied: the shares of each complement are renormalised
    over the observed items. In fitting, the sum of an item is divided by the share of the rows in
    which the item is observed.

    Parameters
    ----------
    smoothing : float or Smoothing, default "dirichlet"
        Its `alpha` is the pseudo-count of each item in each complement, at least 1e-10: a number
        for all items, a number for each item, or a mapping from variable name to either.
    norm : bool, default False
        Divide the weights of each class by their sum (the second normalisation of the paper), which
        compensates for classes whose words are more dependent.
    items : array_like of names, shape (n_features,), optional
        Names of the items that the columns of an array or a sparse matrix count, such as the words
        of a vectorizer.
    priors : None, "empirical", "uniform" or array_like of shape (n_classes,), default None
        Prior factor of each class in its score. None and "uniform" both mean equal priors, as in
        scikit-learn. "empirical" means the shares of the classes in the rows, as in the paper.
    check_columns : bool, default True
        Whether `fit` warns of columns that look wrong, as for the other classifiers.

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> texts = ["free money now", "free offer", "lunch at noon", "meeting at noon"]
    >>> X = CountVectorizer().fit_transform(texts)
    >>> clf = ComplementNaiveBayesClassifier().fit(X, ["spam", "spam", "ham", "ham"])
    >>> clf.predict(X).tolist()
    ['spam', 'spam', 'ham', 'ham']
    """

    _model_name = "FactorGraph"
    _reads = ("alpha",)

    network_: FactorGraph = field(init=False)  # type: ignore[assignment]

    norm: bool = False
    items: ArrayLike | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # As for ComplementNB: scikit-learn's checks use Gaussian clusters, shifted to be positive.
        tags.classifier_tags.poor_score = True
        return tags

    @property
    def _distributions(self) -> str:
        return "multinomial"

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> FactorGraph:
        """Return negative powers of multinomials of all other classes."""
        if others := [f.name for f in source.features if not isinstance(f, CountVector)]:
            raise DataTypeError(
                f"Complement naive Bayes takes counts; {quoted(others)} are text, categories or "
                "booleans. Leave them out, or take NaiveBayesClassifier."
            )
        summaries = [
            (feature, source.summary(Totals(feature, target)))
            for feature in source.features
            if isinstance(feature, CountVector)
        ]
        # The weight of the rows of each class, by its most complete item.
        rows = summaries[0][1].seen.max(axis=1)
        factors: list[TableCPD | MultinomialCPD] = [
            TableCPD(target, _class_factor(self.priors, target, rows))
        ]
        exponents: list[Floats | None] = [None]
        for vector, summary in summaries:
            alpha = smoothing.pseudo_counts(vector, len(vector.items))
            shares = complement_shares(item_sums(summary), alpha)
            factors.append(MultinomialCPD(vector, shares, [target]))
            exponents.append(_exponents(shares, norm=self.norm))
        return FactorGraph(factors, exponents=exponents, domain="free")

    # ----------------------------------------------------------------------------- queries

    def _given(self, evidence: EvidenceLike) -> EvidenceLike:
        """Return the evidence, with unnamed count vectors added as vectors of missing counts.

        A multinomial raised to a negative exponent cannot be summed over all documents. Therefore a
        count vector without evidence is passed as a vector of missing counts.
        """
        model = self._fitted_model
        # Evidence that is no likelihood, by the index of the variable.
        observed = read_case(model, evidence).hard
        vectors = [v for v in self.features_ if isinstance(v, CountVector)]
        unobserved = [v for v in vectors if model._index_of[v.name] not in observed]
        return {**as_mapping(evidence), **{v.name: [None] * len(v.items) for v in unobserved}}


def complement_shares(sums: Floats, alpha: Floats) -> Floats:
    """Return for each class the smoothed shares of the items in the rows of all other classes.

    Rennie et al. (2003), section 3.1: ``(N_ci~ + alpha_i) / (N_c~ + alpha)``, where N_ci~ is the
    count of item i in the other classes, N_c~ the sum of these counts over the items, and alpha the
    sum of the pseudo-counts alpha_i.

    Parameters
    ----------
    sums : ndarray, shape (n_classes, n_items)
        Sum of the counts of each item over the rows of each class.
    alpha : ndarray, shape () or (n_items,)
        Pseudo-counts of the items.
    """
    # Differences of weighted sums may be negative by rounding.
    others = np.maximum(sums.sum(axis=0) - sums, 0.0) + np.maximum(alpha, _MIN_ALPHA)
    return np.asarray(others / others.sum(axis=1, keepdims=True))


def _exponents(shares: Floats, *, norm: bool) -> Floats:
    """Return the exponent of the multinomials: -1, or one for each class if `norm` is true.

    Rennie et al. (2003), section 3.2: with `norm`, the weights ``-log P(item | not class)`` of a
    class are divided by the sum of their magnitudes. `shares` is the result of `complement_shares`.
    """
    if not norm:
        return np.array(-1.0)
    # Minus the sum of the weights of each class: its inverse is the exponent that divides by it.
    total = np.log(shares).sum(axis=1)
    # With a single item every share is 1, and all weights are zero; nothing is divided by 0 then.
    return np.where(total < 0, 1.0 / np.minimum(total, -np.finfo(float).tiny), -1.0)


def _class_factor(priors: Any, target: Discrete, rows: Floats) -> Floats:
    """Return the prior of the classes, shape (n_classes,), by default equal shares.

    `rows` has the weight of the rows of each class, whose shares are the prior "empirical".
    """
    if isinstance(priors, str) and priors == "empirical":
        return np.asarray(rows / rows.sum())
    shares = checked_priors("uniform" if priors is None else priors, target)
    assert shares is not None  # only None gives None
    return shares
