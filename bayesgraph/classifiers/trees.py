"""Decision trees as networks: features -> class, or features -> leaf -> number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from bayesgraph import upward
from bayesgraph.classifiers.inputs import (
    fit_columns,
    fit_table,
    known_columns,
    known_table,
    number_column,
    target_column,
    target_name,
    weighted_rows,
)
from bayesgraph.classifiers.layout import Layout, make_layout
from bayesgraph.classifiers.prediction import GraphClassifier
from bayesgraph.classifiers.questions import ModelQuestions
from bayesgraph.classifiers.tree_growing import Pruning, encoded, grow
from bayesgraph.cpds import CPD, GaussianCPD, Tree, TreeCPD
from bayesgraph.encoding import Table
from bayesgraph.encoding.table import check_unseen
from bayesgraph.errors import DataError, MemoryLimitError
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.planning.cost import BYTES, default_memory_limit, format_bytes
from bayesgraph.learning import Smoothing
from bayesgraph.learning.trees import (
    estimate_roots,
    filled_from_above,
    information_by_parent,
    leaf_probabilities,
    node_sums,
)
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.statistics.moments import safe_divide
from bayesgraph.variables import Continuous, Discrete, Name, Variable

# What scikit-learn's learners are told; the others are ours.
_GROWTH = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "random_state",
)
# Numbers held at once while responsibilities of leaves become predictions.
_CHUNK_NUMBERS = 2**22

_PARAMETERS = """max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf,
    max_leaf_nodes, min_impurity_decrease
        When to stop splitting, as for scikit-learn's trees. Numbers of rows count rows, whatever
        their weight.
    ccp_alpha : float or "cv", default 0.0
        Complexity parameter of minimal cost-complexity pruning (Breiman et al. 1984, chapter 3);
        "cv" chooses it by cross-validation.
    cv : int, splitter of scikit-learn, or iterable of (train, test), default 5
        Folds of that cross-validation.
    one_standard_error : bool, default False
        Take the smallest tree whose cross-validated error is within one standard error of the
        least.
"""
_COMMON = """categorical : list of column names, or "all", optional
        Numeric columns to take as discrete.
    unseen : {"missing", "error"}
        What becomes of a category that was not there in fitting.
    random_state : int, default 0
        scikit-learn breaks ties between splits at random, and the folds are random.
"""


def _with_parameters(cls: type) -> type:
    """Write the shared parameters into a docstring."""
    text = (cls.__doc__ or "").replace("{parameters}\n", _PARAMETERS)
    cls.__doc__ = text.replace("{common}\n", _COMMON)
    return cls


@_with_parameters
class DecisionTreeNetworkClassifier(GraphClassifier):
    """A decision tree as a network: the features that it asks are the parents of the class.

    scikit-learn grows and prunes the tree; it becomes the CPD of the class given the features,
    which are independent of each other. Where nothing is missing the probabilities are those of
    scikit-learn. A missing feature is summed out exactly under its own distribution, and the
    network answers every other question too: a feature given the class, the likelihood of a row.

    Missing values in fitting: the splits are scikit-learn's, which sends rows with a missing value
    to the better side; the probabilities at the leaves are those of fractional rows (Quinlan 1993,
    section 3.2), which go both ways in the shares that prediction uses too. That a value is missing
    says nothing of its own.

    Parameters
    ----------
    criterion : {"entropy", "gini", "log_loss"}
        By default the entropy, whose decrease is the gain in log likelihood of the leaves.
    {parameters}
    alpha : float, default 0.0
        Pseudo-count for each class at each leaf, shared out as the classes are in all rows (the
        m-estimate, Cestnik 1990). By default none: the leaves are what the splits were chosen for,
        and the probabilities are scikit-learn's. With 1, large trees rank better (Provost and
        Domingos 2003), and no class is ever impossible.
    class_weight : mapping from label to weight, or "balanced", optional
        Factors on the weights of rows; the network is that of the reweighted rows.
    {common}
    Attributes
    ----------
    network_ : BayesianNetwork
        The fitted model; ask it anything. Its arcs are scored with what the splits on a feature
        tell of the class, in nats.
    tree_ : TreeCPD
        P(class | features).
    ccp_alpha_ : float
        What the tree was pruned with.
    classes_ : ndarray, shape (n_classes,)
    target_ : Discrete
        The class variable of the network.
    features_ : tuple of Variable
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features_in_,)
        If X had names that are all strings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = DecisionTreeNetworkClassifier(max_depth=2).fit(X, y)
    >>> clf.tree_
    TreeCPD P(class | x3), 3 leaves, depth 2
    >>> clf.query(evidence={"x3": 1.5}).argmax
    1
    """

    ccp_alpha_: float

    def __init__(
        self,
        *,
        criterion: str = "entropy",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float | str = 0.0,
        cv: Any = 5,
        one_standard_error: bool = False,
        alpha: float = 0.0,
        class_weight: Mapping[Any, float] | str | None = None,
        categorical: Any = None,
        unseen: str = "missing",
        random_state: Any = 0,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.cv = cv
        self.one_standard_error = one_standard_error
        self.alpha = alpha
        self.class_weight = class_weight
        self.categorical = categorical
        self.unseen = unseen
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Grow the tree and estimate its leaves; see NetworkClassifier.fit."""
        Smoothing(self.alpha)  # refuses a bad one
        check_unseen(self.unseen)
        labels, name = target_column(y)
        n_labels = len(labels)
        rows = weighted_rows(sample_weight, n_labels)
        if rows is not None:
            labels, sample_weight = labels[rows], np.asarray(sample_weight)[rows]
        table = _table(self, X, n_labels, rows)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        target = Discrete(target_name(name, table.variables), self.classes_.tolist())
        weights = _as_weights(sample_weight, len(labels))
        weights = weights * compute_sample_weight(self.class_weight, labels)
        growth, pruning = _settings(self)
        splits, parents, self.ccp_alpha_ = grow(
            DecisionTreeClassifier, encoded(table), codes, weights, growth, pruning
        )
        roots = estimate_roots(table, weights, splits, parents)
        amounts = np.where(codes[:, None] == np.arange(len(self.classes_)), weights[:, None], 0.0)
        counts = node_sums(splits, parents, roots, table, amounts)
        tree = replace(
            splits,
            values=leaf_probabilities(splits, counts, self.alpha),
            counts=counts.sum(axis=1),
        )
        gains = information_by_parent(splits, parents, counts)
        self.network_ = BayesianNetwork(
            [*roots.values(), TreeCPD(target, tree, parents)],
            arc_scores={(parent.name, target.name): gain for parent, gain in gains.items()},
        )
        self.target_ = target
        self.features_ = table.variables
        return self

    @property
    def tree_(self) -> TreeCPD:
        """The tree: P(class | features)."""
        check_is_fitted(self, "network_")
        cpd = self.network_.cpd(self.target_.name)
        assert isinstance(cpd, TreeCPD)  # fit makes it one
        return cpd

    def tree_to_dot(self, **options: Any) -> str:
        """Return the tree itself in the DOT language; see :func:`bayesgraph.plots.tree_to_dot`."""
        return str(upward.call("tree_to_dot", self.tree_, **options))

    def render_tree(self, path: Any, **options: Any) -> None:
        """Draw the tree itself to an SVG, PNG or PDF file; options as for `tree_to_dot`."""
        upward.call("render_tree", self.tree_, path, **options)


@_with_parameters
class DecisionTreeNetworkRegressor(ModelQuestions, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regression tree as a network: features -> leaf -> number.

    The leaf is a hidden variable that the features decide, and the target is normal given the
    leaf. With missing features its posterior is the exact mixture of the leaves that remain; the
    prediction is its mean. Where nothing is missing that is scikit-learn's prediction (for
    squared errors).

    Missing values in fitting are treated as by DecisionTreeNetworkClassifier. Answers take time and
    memory in proportion to the leaves: of more than some thousands of rows grow no tree to the end
    (`min_samples_leaf`), which predicts no better either.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson"}
        Of the splits; leaves predict their mean whatever it is.
    {parameters}
    shrinkage : float, default 20.0
        Rows' worth of prior with which each leaf's variance is drawn towards the pooled one.
    var_smoothing : float, default 1e-9
        Share of the target's total variance that is added to every leaf's.
    {common}
    Attributes
    ----------
    network_ : BayesianNetwork
        The fitted model; ask it anything.
    tree_ : TreeCPD
        P(leaf | features), all ones and zeros.
    ccp_alpha_ : float
        What the tree was pruned with.
    target_ : Continuous
    leaf_ : Discrete
    features_ : tuple of Variable
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features_in_,)
        If X had names that are all strings.

    Examples
    --------
    >>> X = {"age": [20.0, 30.0, 40.0, 50.0], "sex": ["f", "m", "f", "m"]}
    >>> reg = DecisionTreeNetworkRegressor(max_depth=1).fit(X, [1.0, 1.2, 3.0, 3.4])
    >>> reg.predict({"age": [25.0, None], "sex": ["f", "f"]}).round(2)
    array([1.1 , 2.15])
    """

    network_: BayesianNetwork
    target_: Continuous
    leaf_: Discrete
    features_: tuple[Variable, ...]
    layout_: Layout
    ccp_alpha_: float

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float | str = 0.0,
        cv: Any = 5,
        one_standard_error: bool = False,
        shrinkage: float = 20.0,
        var_smoothing: float = 1e-9,
        categorical: Any = None,
        unseen: str = "missing",
        random_state: Any = 0,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.cv = cv
        self.one_standard_error = one_standard_error
        self.shrinkage = shrinkage
        self.var_smoothing = var_smoothing
        self.categorical = categorical
        self.unseen = unseen
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Grow the tree and estimate its leaves.

        Parameters
        ----------
        X : array or data frame (pandas, polars, pyarrow, ...), shape (n_rows, n_features)
            As for the classifiers.
        y : array_like of numbers, shape (n_rows,)
            None may be missing.
        sample_weight : array_like, shape (n_rows,), optional

        Returns
        -------
        self
        """
        smoothing = Smoothing(0.0, self.shrinkage, self.var_smoothing)
        check_unseen(self.unseen)
        numbers, name = number_column(y)
        n_numbers = len(numbers)
        rows = weighted_rows(sample_weight, n_numbers)
        if rows is not None:
            numbers, sample_weight = numbers[rows], np.asarray(sample_weight)[rows]
        table = _table(self, X, n_numbers, rows)
        weights = _as_weights(sample_weight, len(numbers))
        growth, pruning = _settings(self)
        splits, parents, self.ccp_alpha_ = grow(
            DecisionTreeRegressor, encoded(table), numbers, weights, growth, pruning
        )
        roots = estimate_roots(table, weights, splits, parents)
        # Deviations from a number in their midst keep the digits of the squares.
        centre = float(np.average(numbers, weights=weights))
        deviation = numbers - centre
        amounts = weights[:, None] * np.stack([np.ones_like(deviation), deviation, deviation**2], 1)
        sums = node_sums(splits, parents, roots, table, amounts)
        mean, variance = _leaf_moments(splits, sums, smoothing)
        taken = [v.name for v in table.variables]
        self.target_ = Continuous(_unlike(name if name is not None else "target", taken))
        leaf_name = _unlike("leaf", [*taken, self.target_.name])
        self.leaf_ = Discrete(leaf_name, range(len(splits.leaves)))
        _check_size(splits)
        reached = np.zeros((splits.n_nodes, self.leaf_.cardinality))
        reached[splits.leaves, np.arange(self.leaf_.cardinality)] = 1.0
        cpds: list[CPD] = [
            *roots.values(),
            TreeCPD(self.leaf_, replace(splits, values=reached, counts=sums[:, 0]), parents),
            GaussianCPD(self.target_, centre + mean, variance, [self.leaf_]),
        ]
        self.network_ = BayesianNetwork(cpds)
        self.features_ = table.variables
        return self

    @property
    def tree_(self) -> TreeCPD:
        """The tree: P(leaf | features)."""
        check_is_fitted(self, "network_")
        cpd = self.network_.cpd(self.leaf_.name)
        assert isinstance(cpd, TreeCPD)  # fit makes it one
        return cpd

    def _evidence(self, X: Any) -> Evidence:
        check_is_fitted(self, "network_")
        found = known_columns(self, X, self.layout_.columns, sparse=False)
        return known_table(found, self.layout_, self.features_, self.unseen).evidence()

    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """Return the posterior mean of each row, shape (n_rows,).

        Missing values and unseen categories are marginalised.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
        return_std : bool
            Return the posterior standard deviations as well, as a second array.
        """
        evidence = self._evidence(X)
        cpd = self._numbers
        result = np.empty((2, evidence.n_rows))
        step = max(1, _CHUNK_NUMBERS // self.leaf_.cardinality)
        for start in range(0, evidence.n_rows, step):
            rows = slice(start, start + step)
            share = np.exp(self.network_.normalised_rows(self.leaf_, evidence.rows(rows)))
            mean = share @ cpd.mean
            # Spread around each row's own mean: no difference of large squares.
            gap = cpd.mean - mean[:, None]
            result[:, rows] = mean, np.sqrt(np.sum(share * (cpd.variance + gap * gap), axis=1))
        return (result[0], result[1]) if return_std else result[0]

    def log_likelihood(self, X: Any) -> Floats:
        """Return the natural log of each row's probability (density), shape (n_rows,)."""
        return self.network_.log_evidence_rows(self._evidence(X))

    def tree_to_dot(self, **options: Any) -> str:
        """Return the tree itself in the DOT language; see :func:`bayesgraph.plots.tree_to_dot`."""
        return str(upward.call("tree_to_dot", self.tree_, numbers=self._numbers, **options))

    def render_tree(self, path: Any, **options: Any) -> None:
        """Draw the tree itself to an SVG, PNG or PDF file; options as for `tree_to_dot`."""
        upward.call("render_tree", self.tree_, path, numbers=self._numbers, **options)

    @property
    def _numbers(self) -> GaussianCPD:
        check_is_fitted(self, "network_")
        cpd = self.network_.cpd(self.target_.name)
        assert isinstance(cpd, GaussianCPD)  # fit makes it one
        return cpd

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def _settings(estimator: Any) -> tuple[dict[str, Any], Pruning]:
    """Return what the learner is told, and how the tree is pruned."""
    growth = {name: getattr(estimator, name) for name in _GROWTH}
    pruning = Pruning(
        estimator.ccp_alpha,
        estimator.cv,
        estimator.one_standard_error,
        estimator.random_state,
    )
    return growth, pruning


def _table(estimator: Any, X: Any, n_labels: int, rows: NDArray[np.intp] | None) -> Table:
    """Return (some rows of) X as an encoded table, noting its columns on the estimator."""
    # What was fitted before does not go with the columns to come.
    estimator.__dict__.pop("network_", None)
    found = fit_columns(estimator, X, n_labels, sparse=False)
    found = found if rows is None else found.take(rows)
    estimator.layout_ = make_layout(found.typed(), None, estimator.categorical)
    return fit_table(found, estimator.layout_)


def _as_weights(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    if sample_weight is None:
        return np.ones(n_rows)
    return np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), n_rows)


def _check_size(splits: Tree) -> None:
    """Refuse a tree whose table of leaves, probabilities and their logs, does not fit."""
    entries = 2 * splits.n_nodes * len(splits.leaves)
    if BYTES * entries > default_memory_limit():
        raise MemoryLimitError(
            f"The tree has {len(splits.leaves):,} leaves, whose distribution given each node takes "
            f"{format_bytes(BYTES * entries)}. Grow a smaller one: min_samples_leaf, "
            "max_leaf_nodes, or ccp_alpha='cv'."
        )


def _leaf_moments(splits: Tree, sums: Floats, smoothing: Smoothing) -> tuple[Floats, Floats]:
    """Return mean and variance at each leaf from sums of weights, values and squares."""
    count, first, second = sums.T
    mean = filled_from_above(splits, safe_divide(first, count), count == 0)[splits.leaves]
    count, first, second = count[splits.leaves], first[splits.leaves], second[splits.leaves]
    comoment = np.maximum(second - safe_divide(first * first, count), 0.0)
    pooled = comoment.sum() / count.sum()
    total = sums[0, 2] / sums[0, 0]
    variance = smoothing.covariance(count, comoment, pooled) + smoothing.ridge(total)
    if not (variance > 0).all():
        raise DataError(
            "The target is constant in some leaf, and nothing smooths its variance of zero; give "
            "var_smoothing or shrinkage a positive value, or grow a smaller tree."
        )
    return mean, variance


def _unlike(name: Name, taken: list[Name]) -> Name:
    while name in taken:
        name = f"{name}_"
    return name
