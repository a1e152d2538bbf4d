"""Naive Bayes, TAN, and classifiers of any other structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import networkx as nx
from sklearn.utils.validation import check_is_fitted

from bayesgraph.classifiers.base import NetworkClassifier, check_statistics, checked_priors
from bayesgraph.classifiers.discretizers import MDLP, Discretizer, EqualFrequency
from bayesgraph.errors import DataError, quoted, unknown_variable
from bayesgraph.factor_graph import FactorGraph
from bayesgraph.graph import build_dag
from bayesgraph.learning import (
    Smoothing,
    Structure,
    chow_liu,
    estimate_network,
    forest,
    forward_selection,
    hill_climb,
    kdb,
    selective_kdb,
    star,
    superparent,
    tan,
    unrestricted,
)
from bayesgraph.learning.exponents import exponents_between
from bayesgraph.learning.exponents.conditional import SCHEMES
from bayesgraph.learning.exponents.network import ALL_SCHEMES, weighted_network
from bayesgraph.learning.loglinear import Choice, train_network
from bayesgraph.learning.smoothing import one_of
from bayesgraph.statistics import CountSource, StatisticsSource, TableSource
from bayesgraph.variables import Discrete, Name, Variable
from bayesgraph.weighted_network import WeightedNetwork

# Of a column of numbers, where the tables are trained to predict.
_MOST_INTERVALS = 32

LEARNERS: dict[str, Callable[..., Structure]] = {
    "star": star,
    "tan": tan,
    "forest": forest,
    "chow_liu": chow_liu,
    "kdb": kdb,
    "selective_kdb": selective_kdb,
    "superparent": superparent,
    "hill_climb": hill_climb,
    "unrestricted": unrestricted,
    "forward_selection": forward_selection,
}
# Learners that count once more for each parent of a feature beyond the first, and what says so.
_ADAPTIVE: dict[Callable[..., Structure], tuple[str, int]] = {
    kdb: ("k", 2),
    hill_climb: ("max_parents", 2),
    unrestricted: ("max_parents", 3),
}
# Learners that look at the rows.
_BY_ROWS = (selective_kdb, forward_selection)

_PARAMETERS = """
    alpha : float, array_like or mapping from name to either, default 1.0
        Dirichlet pseudo-count for each cell of a table (1 is Laplace's rule); see Smoothing.
    smoothing : {"dirichlet", "m", "marginal", "backoff"}, default "dirichlet"
        What tables are drawn towards: equal shares, by `alpha` in each cell or by `strength` rows
        in all; the feature's marginal (Friedman, Geiger, Goldszmidt 1997); or what is known of
        fewer parents, one dropped after the other, the class last. See Smoothing.
    strength : float, optional
        Rows' worth of what tables are drawn towards, where that is not `alpha`; by default 1 for
        "m", and the number of states for "marginal" and "backoff".
    shrinkage : float, default 20.0
        Rows' worth of prior with which each class's covariance is drawn towards the pooled one; 0
        estimates every class by itself.
    var_smoothing : float, default 1e-9
        Share of each column's variance that is added to it.
    priors : array_like, shape (n_classes,), mapping from class, or "uniform", optional
        Class probabilities, instead of their shares of the rows.
    class_weight : mapping from class to weight, or "balanced", optional
        Multiplies the weights of the rows; "balanced" makes up for the numbers of rows.
    categorical : list of column names, or "all", optional
        Numeric columns to take as discrete.
    discretizer : {"width", "frequency", "mdlp", "modl"} or Discretizer, optional
        Makes intervals of numeric columns, whose states are then such as "(0.8, 1.75]"; evidence
        stays a number. MODL also makes groups of categories. Columns to which the user gave a
        family of distributions stay numbers.
    unseen : {"missing", "error"}
        What becomes of a category that was not there in fitting.

    Attributes
    ----------
    network_ : BayesianNetwork
        The fitted model; ask it anything.
    classes_ : ndarray, shape (n_classes,)
    statistics_ : Statistics
        Of all rows so far: what `partial_fit` adds to and `forget` subtracts from.
    layout_ : Layout
        Which columns make up which feature.
    target_ : Discrete
        The class variable of the network.
    features_ : tuple of Variable
        The features, in the order of the columns.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features_in_,)
        If X had names that are all strings.
"""


def _with_parameters(cls: type) -> type:
    """Write the shared parameters into a docstring."""
    cls.__doc__ = (cls.__doc__ or "").replace("\n    {parameters}\n", _PARAMETERS)
    return cls


@_with_parameters
class NaiveBayesClassifier(NetworkClassifier):
    """Naive Bayes: the features are independent given the class.

    Columns of any type in one model, each with its own family of distributions.

    Parameters
    ----------
    distributions : family, or mapping from column (or tuple of columns) to family, optional
        * "gaussian": the default of numeric columns;
        * "categorical": the default of text, category and boolean columns;
        * "lognormal": positive numbers;
        * "kernel": a kernel density estimate;
        * "poisson": counts;
        * "multinomial": counts of many items, such as words, as one vector: all columns so named,
          a tuple of columns, or a matrix (dense or sparse) as a column of its own. Fractional
          counts (tf-idf) are fine;
        * "bernoulli": presence and absence of many items; for a boolean column the same as
          "categorical".

        One family alone is that of all numeric columns ("categorical": of all columns). A sparse
        matrix as X takes one of the last two.
    estimation : {"mean", "map", "ml", "predictive"}
        Posterior mean, posterior mode, maximum likelihood, or the posterior predictive
        distribution; see Smoothing.
    ddof : {0, 1}
        Variances are sums of squares over (rows - ddof).
    bandwidth : "silverman", "scott", or float
        Of kernel densities.
    threshold : float
        Counts above it are presence.
    items : array_like of names, shape (n_features,), optional
        What the columns of an array or a sparse matrix count, such as the words of a vectorizer;
        by default they are called "x0", "x1", and so on.
    {parameters}
    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = NaiveBayesClassifier().fit(X, y)
    >>> clf.query({"x2": 4.5}).argmax
    1
    >>> NaiveBayesClassifier("kernel").fit(X, y).score(X, y)
    0.96
    """

    def __init__(
        self,
        distributions: Any = None,
        *,
        alpha: Any = 1.0,
        smoothing: str = "dirichlet",
        strength: float | None = None,
        estimation: str = "mean",
        shrinkage: float = 20.0,
        var_smoothing: float = 1e-9,
        ddof: int = 0,
        bandwidth: float | str = "silverman",
        threshold: float = 0.0,
        items: Any = None,
        priors: Any = None,
        class_weight: Any = None,
        categorical: Any = None,
        discretizer: Any = None,
        unseen: str = "missing",
    ) -> None:
        self.distributions = distributions
        self.estimation = estimation
        self.ddof = ddof
        self.bandwidth = bandwidth
        self.threshold = threshold
        self.items = items
        super().__init__(
            alpha=alpha,
            smoothing=smoothing,
            strength=strength,
            shrinkage=shrinkage,
            var_smoothing=var_smoothing,
            priors=priors,
            class_weight=class_weight,
            categorical=categorical,
            discretizer=discretizer,
            unseen=unseen,
        )

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        return star

    def _distributions(self) -> Any:
        return self.distributions

    def _items(self) -> Any:
        return self.items

    def _smoothing(self) -> Smoothing:
        return Smoothing(
            self.alpha,
            self.shrinkage,
            self.var_smoothing,
            self.estimation,
            self.ddof,
            self.bandwidth,
            self.threshold,
            self.smoothing,
            self.strength,
        )


@_with_parameters
class TANClassifier(NetworkClassifier):
    """Tree-augmented naive Bayes: each feature has the class and one other feature as parents.

    The tree is a maximum spanning tree over conditional mutual information (Friedman, Geiger,
    Goldszmidt 1997), for discrete, continuous and mixed features alike.

    Parameters
    ----------
    root : name, optional
        Root of the tree; by default the first discrete feature, or the first one.
    {parameters}
    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> sorted(TANClassifier().fit(X, y).network_.arc_scores)
    [('x0', 'x1'), ('x0', 'x2'), ('x2', 'x3')]
    """

    def __init__(
        self,
        *,
        root: Name | None = None,
        alpha: Any = 1.0,
        smoothing: str = "dirichlet",
        strength: float | None = None,
        shrinkage: float = 20.0,
        var_smoothing: float = 1e-9,
        priors: Any = None,
        class_weight: Any = None,
        categorical: Any = None,
        discretizer: Any = None,
        unseen: str = "missing",
    ) -> None:
        self.root = root
        super().__init__(
            alpha=alpha,
            smoothing=smoothing,
            strength=strength,
            shrinkage=shrinkage,
            var_smoothing=var_smoothing,
            priors=priors,
            class_weight=class_weight,
            categorical=categorical,
            discretizer=discretizer,
            unseen=unseen,
        )

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        return partial(tan, root=self.root)


@_with_parameters
class KDBClassifier(NetworkClassifier):
    """k-dependence Bayesian classifier: each feature has the class and k features as parents.

    Features enter by what they tell of the class, and their parents are those before them that
    tell most about them given the class (Sahami 1996).

    Parameters
    ----------
    k : int, default 2
        0 is naive Bayes. From 2 on what is counted depends on what was counted before, which takes
        a second pass over the data: there is no `partial_fit`, `fit_batches` or `forget`.
    {parameters}
    """

    def __init__(
        self,
        k: int = 2,
        *,
        alpha: Any = 1.0,
        smoothing: str = "dirichlet",
        strength: float | None = None,
        shrinkage: float = 20.0,
        var_smoothing: float = 1e-9,
        priors: Any = None,
        class_weight: Any = None,
        categorical: Any = None,
        discretizer: Any = None,
        unseen: str = "missing",
    ) -> None:
        self.k = k
        super().__init__(
            alpha=alpha,
            smoothing=smoothing,
            strength=strength,
            shrinkage=shrinkage,
            var_smoothing=var_smoothing,
            priors=priors,
            class_weight=class_weight,
            categorical=categorical,
            discretizer=discretizer,
            unseen=unseen,
        )

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        return partial(kdb, k=self.k)

    def _counts_ahead(self) -> bool:
        return _is_ahead(self._learner())


@_with_parameters
class SelectiveKDBClassifier(NetworkClassifier):
    """Selective kDB: as many parents and features of kDB as predict the rows best.

    All models of 0 to k parents and of the first 0 to d features are compared by leave-one-out in
    one more pass over the rows (Martínez, Webb, Chen, Zaidi 2016). Features that are not chosen
    stay in the network as nodes without arcs. There is no `partial_fit`.

    Parameters
    ----------
    k : int, default 5
        The most parents of a feature besides the class.
    loss : {"rmse", "log", "0-1"}
        Root mean squared 1 - P(y | x), mean -log P(y | x), or share of rows classified wrongly.
    {parameters}
    """

    def __init__(
        self,
        k: int = 5,
        *,
        loss: str = "rmse",
        alpha: Any = 1.0,
        smoothing: str = "dirichlet",
        strength: float | None = None,
        shrinkage: float = 20.0,
        var_smoothing: float = 1e-9,
        priors: Any = None,
        class_weight: Any = None,
        categorical: Any = None,
        discretizer: Any = None,
        unseen: str = "missing",
    ) -> None:
        self.k = k
        self.loss = loss
        super().__init__(
            alpha=alpha,
            smoothing=smoothing,
            strength=strength,
            shrinkage=shrinkage,
            var_smoothing=var_smoothing,
            priors=priors,
            class_weight=class_weight,
            categorical=categorical,
            discretizer=discretizer,
            unseen=unseen,
        )

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        return partial(selective_kdb, k=self.k, loss=self.loss)

    def _counts_ahead(self) -> bool:
        return False


@_with_parameters
class BayesianNetworkClassifier(NetworkClassifier):
    """The best readable network for a table, or a classifier of a structure that is chosen.

    Without arguments it chooses by itself: numbers become intervals, and a naive Bayes, or one
    augmented by a tree of the features that act together, is trained to *predict*. Its tables
    maximise the penalised conditional likelihood of the class instead of the likelihood of the
    rows; seen from the tables that are estimated by counting, each cell has a learned exponent
    (see `to_factor_graph`). The structure and the strength of the penalties are those that predict
    held-out rows best in an internal cross-validation, whose figures are in `choice_`. What comes
    out is a Bayesian network like any other.

    Parameters
    ----------
    structure : "auto", name of a learner, learner, or graph
        "star", "tan", "forest", "chow_liu", "kdb", "selective_kdb", "superparent", "hill_climb",
        "unrestricted" or "forward_selection".
        A learner is a function from a count source and a Smoothing to a Structure, such as
        ``functools.partial(bayesgraph.tan, root="age")``. A graph is a networkx.DiGraph or a list
        of (parent, child) pairs over the columns and the class, whose name is that of y, or
        "class" if y has none.
    exponents : {"auto", "cells", "variable", "class", "mixed"} or None
        None estimates the tables by counting. "cells" trains them to predict, which takes a class
        that is a parent of all features, and of these one at most as another parent. "variable",
        "class" and "mixed" learn exponents of whole tables, of a table's classes, or both, as
        :class:`WeightedNaiveBayesClassifier` does; `network_` is then a WeightedNetwork. "auto" is
        "cells" for the structure "auto", and else None.
    {parameters}
    choice_ : Choice
        Of a network that was trained to predict: the penalties tried, their held-out losses in
        nats a row, and how much of each is in the model.

    Notes
    -----
    A network that is trained to predict is not additive in the rows: it has no `partial_fit`,
    `fit_batches` and `forget`. Numbers become intervals of about equal numbers of rows, 32 at
    most, unless `discretizer` says otherwise; `alpha`, `smoothing` and `shrinkage` matter only to
    the tables that `to_factor_graph` starts from. For how it is done see
    :func:`bayesgraph.learning.loglinear.train_network`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = BayesianNetworkClassifier().fit(X, y)
    >>> clf.query({"x6": 1.2}).argmax
    2
    """

    choice_: Choice

    def __init__(
        self,
        structure: Any = "auto",
        *,
        exponents: str | None = "auto",
        alpha: Any = 1.0,
        smoothing: str = "dirichlet",
        strength: float | None = None,
        shrinkage: float = 20.0,
        var_smoothing: float = 1e-9,
        priors: Any = None,
        class_weight: Any = None,
        categorical: Any = None,
        discretizer: Any = None,
        unseen: str = "missing",
    ) -> None:
        self.structure = structure
        self.exponents = exponents
        super().__init__(
            alpha=alpha,
            smoothing=smoothing,
            strength=strength,
            shrinkage=shrinkage,
            var_smoothing=var_smoothing,
            priors=priors,
            class_weight=class_weight,
            categorical=categorical,
            discretizer=discretizer,
            unseen=unseen,
        )

    @property
    def _is_auto(self) -> bool:
        return isinstance(self.structure, str) and self.structure == "auto"

    @property
    def _schemes(self) -> tuple[str | None, ...]:
        return ("auto", "cells", *SCHEMES, None)

    @property
    def _weighs(self) -> bool:
        """Whether whole tables have exponents."""
        return self.exponents in ALL_SCHEMES

    @property
    def _predicts(self) -> bool:
        """Whether the tables are trained to predict."""
        return self.exponents == "cells" or (self.exponents == "auto" and self._is_auto)

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        if isinstance(self.structure, str):
            if self.structure not in LEARNERS:
                raise DataError(
                    f"structure= is 'auto', one of {quoted(LEARNERS)}, a learner or a graph; got "
                    f"{self.structure!r}."
                )
            return LEARNERS[self.structure]
        if callable(self.structure):
            return self.structure  # type: ignore[no-any-return]
        return partial(_given, self.structure)

    def _discretizer(self) -> Discretizer | None:
        one_of("exponents", self.exponents, self._schemes)
        if self._is_auto and not self._predicts:
            raise DataError(
                "structure='auto' is chosen for tables that are trained to predict; name a "
                "structure, such as 'tan', for exponents=None."
            )
        if self.discretizer is not None:
            return super()._discretizer()
        if self._predicts:
            return EqualFrequency(_MOST_INTERVALS)
        return MDLP() if self._weighs else None

    def _counts_ahead(self) -> bool:
        if self._predicts or self._weighs:
            return False
        named = isinstance(self.structure, str)
        return _is_ahead(LEARNERS.get(self.structure) if named else self.structure)

    def _structure(self, source: TableSource | StatisticsSource, smoothing: Smoothing) -> Structure:
        # What is chosen by itself begins with a star.
        return star(source) if self._is_auto else super()._structure(source, smoothing)

    def _estimated(
        self,
        structure: Structure,
        source: TableSource | StatisticsSource,
        smoothing: Smoothing,
        target: Discrete,
        features: tuple[Variable, ...],
    ) -> Any:
        self.__dict__.pop("choice_", None)
        if not self._predicts:
            network = super()._estimated(structure, source, smoothing, target, features)
            if not self._weighs:
                return network
        assert isinstance(source, TableSource)  # there is no other way to fit
        if self._weighs:
            return weighted_network(network, source, str(self.exponents))
        priors = checked_priors(self.priors, target)
        given = None if self._is_auto else structure
        found = train_network(source, given, priors=priors)
        self.choice_ = found.choice
        # What `to_factor_graph` starts from.
        estimate_network(found.structure, source, smoothing)
        return found.network

    def to_factor_graph(self) -> FactorGraph:
        """Return the network as tables that are estimated by counting, raised to exponents.

        Each cell of a table has the exponent that makes it the cell of the network: 1 where
        prediction asks for what was counted. For a network that is not trained to predict all
        are 1. The factor graph answers every question as the network does; that of a weighted
        network only where all features are observed, see `WeightedNetwork.to_factor_graph`.
        """
        check_is_fitted(self, "network_")
        model: Any = self.network_
        if isinstance(model, WeightedNetwork):
            return model.to_factor_graph()
        check_statistics(self)
        parents = {c.variable: c.parents for c in self.network_.cpds}
        arcs = tuple((p.name, v.name) for v in parents for p in parents[v])
        structure = Structure(self.network_.variables, arcs)
        variables = (*self.features_, self.target_)
        source = StatisticsSource(variables, self.target_, self.statistics_)
        counted = estimate_network(structure, source, self._smoothing())
        return exponents_between(counted, self.network_)


@_with_parameters
class WeightedNaiveBayesClassifier(BayesianNetworkClassifier):
    """Naive Bayes whose features speak by exponents: redundant ones less, irrelevant ones not.

    P(c | x) is proportional to ``P(c) e^{b_c} prod_i p(x_i | c)^{w_i}``. Numbers become intervals
    by MDLP unless `discretizer` says otherwise. `network_` is a WeightedNetwork.

    Parameters
    ----------
    exponents : str, default "variable"
        * "variable": one in [0, 1] for each feature, of the highest conditional likelihood (WANBIA;
          Zaidi, Cerquides, Carman, Webb 2013);
        * "class": one for each feature and class, and a bias for each class;
        * "mixed": a backbone that the classes share, and deviations drawn towards zero;
        * "selective": averages over naive Bayes on subsets of the features, weighted by how much
          they compress the classes (Boullé 2007);
        * "fractional": few, by a prior that prefers zero (Hue, Boullé, Lemaire 2017);
        * "averaged": the exact average over all subsets of features, as tables (Dash, Cooper 2004);
        * "mutual_information", "gain_ratio", "mdl", "conditional_likelihood", "correlation":
          filters, which look at the features one by one;
        * "tree_depth": by how early trees ask for a feature (Hall 2007).
    {parameters}
    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = WeightedNaiveBayesClassifier().fit(X, y)
    >>> round(float(clf.network_.exponents["x0"]), 2)
    1.0
    """

    structure = "star"

    def __init__(
        self,
        exponents: str = "variable",
        *,
        alpha: Any = 1.0,
        smoothing: str = "dirichlet",
        strength: float | None = None,
        priors: Any = None,
        class_weight: Any = None,
        categorical: Any = None,
        discretizer: Any = None,
        unseen: str = "missing",
    ) -> None:
        self.exponents = exponents
        NetworkClassifier.__init__(
            self,
            alpha=alpha,
            smoothing=smoothing,
            strength=strength,
            priors=priors,
            class_weight=class_weight,
            categorical=categorical,
            discretizer=discretizer,
            unseen=unseen,
        )

    @property
    def _schemes(self) -> tuple[str | None, ...]:
        return ALL_SCHEMES


def _is_ahead(learner: Any) -> bool:
    """Tell whether a learner asks for nothing that depends on the data."""
    function = learner.func if isinstance(learner, partial) else learner
    options = learner.keywords if isinstance(learner, partial) else {}
    if options.get("score") == "cll" or any(function is f for f in _BY_ROWS):
        return False
    option, default = next((o for f, o in _ADAPTIVE.items() if f is function), ("", 0))
    most = options.get(option, default)
    return not isinstance(most, int) or most <= 1


def _given(graph: Any, source: CountSource, smoothing: Smoothing) -> Structure:
    """Return a graph of the user as a structure over the columns of a source."""
    assert source.target is not None  # classifiers always set it
    variables = (source.target, *(v for v in source.variables if v != source.target))
    names = [v.name for v in variables]
    if isinstance(graph, nx.DiGraph):
        for node in graph:
            if node not in names:
                raise unknown_variable(node, names, where="structure=: the table")
        arcs = list(graph.edges)
    elif isinstance(graph, Iterable):
        arcs = list(graph)
    else:
        raise DataError(
            f"structure= takes a name, a learner, a networkx.DiGraph or a list of arcs; got "
            f"{graph!r}."
        )
    build_dag(names, arcs)
    return Structure(variables, tuple(tuple(arc) for arc in arcs))
