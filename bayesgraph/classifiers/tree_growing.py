"""Growing of trees by scikit-learn or by this library, and their pruning by cross-intake.

scikit-learn learns on single-precision columns. A continuous column is replaced by the ranks of its
values, so that neither the unit nor the precision of the column matters. The threshold is then the
middle between the largest value that goes left and the smallest value that goes right. A discrete
column becomes one indicator column for each state (a single column if there are two states).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from bayesgraph.core.arrays import Floats, log_of
from bayesgraph.core.errors import DataError
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.learning import (
    CodedColumns,
    Criterion,
    GrownTree,
    Limits,
    coded_rows,
    cost_complexities,
    cost_complexity_pruned,
    grow_tree,
    leaf_probabilities,
    pessimistically_pruned,
)
from bayesgraph.models import Trees, TreesCPD
from bayesgraph.tables import Table

# ------ Growing of trees by scikit-learn or by this library, and their pruning by cross-validation


Ints: TypeAlias = NDArray[np.integer[Any]]
Learner: TypeAlias = type[DecisionTreeClassifier] | type[DecisionTreeRegressor]

# Maximum number of subtrees that cross-validation compares; longer sequences are thinned evenly.
_MAX_SUBTREES = 50


@dataclass(frozen=True)
class Encoded:
    """A table encoded for scikit-learn's trees.

    Attributes
    ----------
    table : Table
    matrix : ndarray of float32, shape (n_rows, n_columns)
        NaN where missing.
    meaning : list of (index of the feature, code of a state or None)
        Contents of each column: the indicator of a state, or (None) the ranks of values.
    """

    table: Table
    matrix: NDArray[np.float32]
    meaning: list[tuple[int, int | None]]


@dataclass(frozen=True)
class Pruning:
    """Options of the pruning of a grown tree.

    Attributes
    ----------
    ccp_alpha : float or "cv"
        Complexity parameter of minimal cost-complexity pruning (Breiman et al. 1984, chapter 3).
    cv : int, splitter of scikit-learn, or iterable of (train, test)
        Folds.
    one_standard_error : bool
        Take the smallest tree whose error is within one standard error of the minimum.
    random_state : int
        Seed of the folds.
    """

    ccp_alpha: float | str
    cv: Any
    one_standard_error: bool
    random_state: Any

    def __post_init__(self) -> None:
        alpha: Any = self.ccp_alpha
        if alpha != "cv" and (not isinstance(alpha, Real) or not float(alpha) >= 0):
            raise DataError(
                f"ccp_alpha takes a number that is not negative, or 'cv'; got {self.ccp_alpha!r}."
            )
        if isinstance(self.cv, (int, np.integer)) and self.cv < 2:
            raise DataError(f"cv is a number of folds, 2 or more; got {self.cv!r}.")


def encoded(table: Table) -> Encoded:
    """Return a table encoded for scikit-learn's trees."""
    columns: list[Floats] = []
    meaning: list[tuple[int, int | None]] = []
    for place, variable in enumerate(table.variables):
        column = table.column(variable)
        if isinstance(variable, Discrete):
            candidates = _indicators(variable, column)
        else:
            candidates = [(None, _ranks(np.asarray(column, dtype=np.float64)))]
        for state, values in candidates:
            seen = values[~np.isnan(values)]
            # Constant columns are left out: they would change how ties are broken.
            if len(seen) and seen.min() < seen.max():
                columns.append(values)
                meaning.append((place, state))
    # scikit-learn's trees need at least one column.
    columns = columns or [np.zeros(table.n_rows)]
    return Encoded(table, np.array(columns, dtype=np.float32).T, meaning)


def _indicators(variable: Discrete, codes: NDArray[Any]) -> list[tuple[int | None, Floats]]:
    """Return (state code, 0/1 column) for each state, NaN where missing.

    A variable of two states has a single column. `codes` are the state codes of the rows, -1 where
    missing.
    """
    # States are not ordered by code: the order of codes differs between libraries, and ties are
    # broken by the order of the columns.
    states = sorted(range(variable.cardinality), key=lambda code: repr(variable.states[code]))
    shown = states[1:] if len(states) <= 2 else states
    return [
        (s, np.where(codes < 0, np.nan, np.asarray(codes == s, dtype=np.float64))) for s in shown
    ]


def _ranks(column: Floats) -> Floats:
    seen = ~np.isnan(column)
    result = np.full(len(column), np.nan)
    result[seen] = np.unique(column[seen], return_inverse=True)[1]
    return result


# --------------------------------------------------------------------------------------- growing


def grow(growing: Growing, pruning: Pruning) -> tuple[Trees, tuple[Variable, ...], float]:
    """Return a pruned tree, the features that it splits on, and the pruning parameter `ccp_alpha`.

    The values at the nodes of the tree are zero; the caller replaces them.
    """
    if isinstance(pruning.ccp_alpha, str):
        alpha = _cross_validated(growing, pruning)
    else:
        alpha = pruning.ccp_alpha
    tree = growing.tree(alpha)
    used = np.unique(tree.feature[tree.feature >= 0])
    place = np.full(len(growing.variables) + 1, -1)
    place[used] = np.arange(len(used))
    parents = tuple(growing.variables[k] for k in used)
    groups = tuple([tree.groups[k] for k in used])
    n_words = max(1, -(-max(map(len, groups), default=0) // 64))
    tree = replace(
        tree, feature=place[tree.feature], states=tree.states[:, :n_words], groups=groups
    )
    return tree, parents, float(alpha)


@dataclass(frozen=True)
class ScikitLearn:
    """Growing by scikit-learn.

    Attributes
    ----------
    learner : DecisionTreeClassifier or DecisionTreeRegressor
    data : Encoded
    y, weights : ndarray, shape (n_rows,)
    parameters : mapping
        Parameters of the learner.
    """

    learner: Learner
    data: Encoded
    y: NDArray[Any]
    weights: Floats
    parameters: Mapping[str, Any]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the table."""
        return self.data.table.variables

    @property
    def is_class(self) -> bool:
        """Whether the tree is a classifier."""
        return issubclass(self.learner, DecisionTreeClassifier)

    def tree(self, alpha: float) -> Trees:
        """Return the tree that is pruned with the complexity parameter `alpha`."""
        return _taken_over(self._fitted(slice(None), alpha).tree_, self.data)

    def alphas(self) -> Floats:
        """Return complexity parameters at which the pruned tree changes, ascending."""
        path = self.learner(**self.parameters).cost_complexity_pruning_path(
            self.data.matrix, self.y, sample_weight=self.weights
        )
        return np.unique(np.maximum(path.ccp_alphas, 0.0))

    def losses(self, train: Ints, test: Ints, alphas: Floats) -> Floats:
        """Return the losses of pruned trees of the rows `train`, shape (len(test), len(alphas)).

        They are misclassifications or squared errors.
        """
        result = np.empty((len(test), len(alphas)))
        y = self.y[test]
        for k, alpha in enumerate(alphas.tolist()):
            found = self._fitted(train, alpha).predict(self.data.matrix[test])
            result[:, k] = found != y if self.is_class else (found - y) ** 2
        return result

    def _fitted(self, rows: Any, alpha: float) -> Any:
        estimator = self.learner(**self.parameters, ccp_alpha=alpha)
        weights = self.weights[rows]
        return estimator.fit(self.data.matrix[rows], self.y[rows], sample_weight=weights)


def _taken_over(grown: Any, data: Encoded) -> Trees:
    """Return scikit-learn's tree `grown` as trees, with features as indices of table variables.

    A split that only separates missing from observed values (its threshold is infinite) is replaced
    by its left child, to which observed values go: a missing value is not treated as evidence.
    """
    order, below = _reached(grown)
    n = len(order)
    variables = data.table.variables
    width = max((v.cardinality for v in variables if isinstance(v, Discrete)), default=0)
    feature, left = np.full((2, n), -1)
    threshold = np.zeros(n)
    left_states = np.zeros((n, width), dtype=bool)
    number = {node: k for k, node in enumerate(order)}
    rows = grown.decision_path(data.matrix).tocsc()
    for k, node in enumerate(order):
        if node not in below:
            continue
        place, state = data.meaning[grown.feature[node]]
        variable = variables[place]
        feature[k] = place
        left[k] = number[below[node][0]]
        if isinstance(variable, Discrete):
            n_states = variable.cardinality
            left_states[k, :n_states] = np.arange(n_states) != state
        else:
            sides = (grown.children_left[node], grown.children_right[node])
            threshold[k] = _middle(data.table.column(variable), rows, *sides)
    return Trees.single(variables, feature, threshold, left_states, left)


def _reached(grown: Any) -> tuple[list[int], dict[int, tuple[int, int]]]:
    """Return the nodes of scikit-learn's tree `grown` that are kept, and the children of splits.

    Nodes are listed with parents before children. Nodes are not kept if they only separate missing
    from observed values, or if only missing values reach them.
    """

    def skipped(node: int) -> int:
        while np.isposinf(grown.threshold[node]):
            node = int(grown.children_left[node])
        return node

    order = [skipped(0)]
    below: dict[int, tuple[int, int]] = {}
    for node in order:  # the list grows during the loop
        if grown.children_left[node] >= 0:
            children = grown.children_left[node], grown.children_right[node]
            below[node] = skipped(int(children[0])), skipped(int(children[1]))
            order += below[node]
    return order, below


def _middle(column: Floats, rows: Any, left: int, right: int) -> float:
    """Return a threshold: the middle between the values that went left and those that went right.

    Parameters
    ----------
    column : ndarray, shape (n_rows,)
        Values of the feature.
    rows : sparse array, shape (n_rows, n_nodes)
        The rows that pass through each node, by columns (CSC).
    left, right : int
        Indices of both children.
    """
    low = float(np.nanmax(column[rows.indices[rows.indptr[left] : rows.indptr[left + 1]]]))
    high = float(np.nanmin(column[rows.indices[rows.indptr[right] : rows.indptr[right + 1]]]))
    middle = low + (high - low) / 2
    # The middle of neighbouring floats may round to the larger one, which must not go left.
    return middle if middle < high else low


# --------------------------------------------------------------------------------------- pruning


def _cross_validated(growing: Growing, pruning: Pruning) -> float:
    """Return the complexity parameter of minimum cross-validated error (Breiman et al. 1984, 3.4).

    Each subtree in the pruning sequence of all rows is optimal on an interval of the parameter, and
    is represented by the geometric mean of the ends of its interval. Errors are misclassification
    rates or mean squares. Of parameters with equal errors, that of the smaller tree is returned.
    """
    alphas = growing.alphas()
    candidates = np.append(np.sqrt(alphas[:-1] * alphas[1:]), alphas[-1])
    if len(candidates) > _MAX_SUBTREES:
        at = np.linspace(0, len(candidates) - 1, _MAX_SUBTREES).round().astype(int)
        candidates = candidates[at]
    y = growing.y
    if len(y) < 2 or len(candidates) == 1:
        return float(candidates[0])
    losses = np.zeros((len(y), len(candidates)))
    for train, test in _splitter(growing, pruning).split(np.zeros((len(y), 1)), y):
        losses[test] = growing.losses(train, test, candidates)
    share = growing.weights / growing.weights.sum()
    error = share @ losses
    best = int(np.flatnonzero(error <= error.min() * (1 + 1e-12))[-1])
    if pruning.one_standard_error:
        # Standard error of a weighted mean of independent losses.
        spread = np.sqrt(np.sum((share * (losses[:, best] - error[best])) ** 2))
        best = int(np.flatnonzero(error <= error[best] + spread)[-1])
    return float(candidates[best])


def _splitter(growing: Growing, pruning: Pruning) -> Any:
    y, is_class = growing.y, growing.is_class
    if not isinstance(pruning.cv, (int, np.integer)):
        return check_cv(pruning.cv, y, classifier=is_class)
    folds = min(int(pruning.cv), len(y))
    balanced = is_class and np.bincount(y).min() >= folds
    kind = StratifiedKFold if balanced else KFold
    return kind(folds, shuffle=True, random_state=pruning.random_state)


# --------------------------------- Growing of classification trees by the criteria of this library


@dataclass(frozen=True)
class CriterionGrowing:
    """Growing by a criterion of this library.

    Attributes
    ----------
    table : Table
    columns : CodedColumns
    y : ndarray of int, shape (n_rows,)
        Codes of the classes.
    n_classes : int
    weights : ndarray, shape (n_rows,)
    criterion : Criterion
    limits : Limits
    confidence : float, optional
        Confidence level of pessimistic pruning; without it, there is none.
    """

    table: Table
    columns: CodedColumns
    y: NDArray[np.intp]
    n_classes: int
    weights: Floats
    criterion: Criterion
    limits: Limits
    confidence: float | None

    is_class = True

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the table."""
        return self.columns.variables

    @cached_property
    def _whole(self) -> GrownTree:
        return self._grown(self.columns, self.y, self.weights)

    def _grown(self, columns: CodedColumns, y: NDArray[np.intp], weights: Floats) -> GrownTree:
        grown = grow_tree(columns, y, self.n_classes, weights, self.criterion, self.limits)
        return grown if self.confidence is None else pessimistically_pruned(grown, self.confidence)

    def tree(self, alpha: float) -> Trees:
        """Return the tree that is pruned with the complexity parameter `alpha`."""
        return cost_complexity_pruned(self._whole, alpha).to_tree()[0]

    def alphas(self) -> Floats:
        """Return complexity parameters at which the pruned tree changes, ascending."""
        return cost_complexities(self._whole)

    def losses(self, train: Ints, test: Ints, alphas: Floats) -> Floats:
        """Return the losses of pruned trees of the rows `train`, shape (len(test), len(alphas)).

        Rows with a missing value take the branches by the weights of the rows in `train`.
        """
        columns = self.columns.rows(train)
        grown = self._grown(columns, self.y[train], self.weights[train])
        result = np.empty((len(test), len(alphas)))
        for k, alpha in enumerate(alphas.tolist()):
            found = self._predicted(cost_complexity_pruned(grown, alpha), test)
            result[:, k] = found != self.y[test]
        return result

    def _predicted(self, grown: GrownTree, rows: Ints) -> NDArray[np.intp]:
        tree, counts = grown.to_tree()
        values = leaf_probabilities(tree, counts, np.zeros(1))[tree.leaves]
        target = Discrete(object(), range(self.n_classes))
        trees = TreesCPD(target, replace(tree, values=values), self.variables).trees
        weight = counts.sum(axis=1)
        inner = np.flatnonzero(tree.feature >= 0)
        share = np.full((2, tree.n_nodes), np.nan)
        below = weight[tree.below[inner] + [[0], [1]]]
        share[:, inner] = log_of(below / weight[inner])
        means = trees.means(coded_rows(trees, self.variables, self.table, rows), share)
        return np.asarray(np.argmax(means, axis=1))


# A way to grow trees from the rows of a table.
Growing: TypeAlias = ScikitLearn | CriterionGrowing
