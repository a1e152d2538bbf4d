"""Decision trees as networks: features -> class, or features -> leaf -> target."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.classifiers import base, intake
from bayesgraph.classifiers.network_classifier import in_memory
from bayesgraph.classifiers.rows import Columns, Layout
from bayesgraph.classifiers.scikit_learn import BaseEstimator, RegressorMixin, sklearn
from bayesgraph.core.arrays import Floats, check_flags, log_of, whole_number
from bayesgraph.core.errors import DataError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import check_memory
from bayesgraph.core.variables import Continuous, Discrete, Name, Variable
from bayesgraph.learning import (
    ChiSquared,
    CodedColumns,
    Criterion,
    ErrorRate,
    GainRatio,
    GrownTree,
    Limits,
    coded_rows,
    cost_complexities,
    cost_complexity_pruned,
    estimate_roots,
    filled_from_above,
    grow_tree,
    information_by_parent,
    leaf_probabilities,
    node_sums,
    pessimistically_pruned,
)
from bayesgraph.models import CPD, BayesianNetwork, GaussianCPD, Trees, TreesCPD
from bayesgraph.statistics import Smoothing, SmoothingLike, TableSource, one_of, safe_divide
from bayesgraph.tables import Examined, Table, check_unseen, warn_of_columns

# ------ Growing of trees by scikit-learn or by this library, and their pruning by cross-validation


Ints: TypeAlias = NDArray[np.integer[Any]]

# Maximum number of subtrees that cross-validation compares; longer sequences are thinned evenly.
_MAX_SUBTREES = 50


def encoded(table: Table) -> tuple[NDArray[np.float32], list[tuple[int, int | None]]]:
    """Return a table encoded for scikit-learn's trees, which learn on single-precision columns.

    A continuous column is replaced by the ranks of its values, so that neither its unit nor its
    precision matters. The threshold is then the middle between the largest value that goes left and
    the smallest one that goes right. A discrete column becomes one indicator column for each state
    (a single column if there are two states).

    Returns
    -------
    matrix : ndarray of float32, shape (n_rows, n_columns)
        NaN where missing.
    meaning : list of (index of the feature, code of a state or None)
        Contents of each column: the indicator of a state, or (None) the ranks of values.
    """
    columns: list[Floats] = []
    meaning: list[tuple[int, int | None]] = []
    for place, variable in enumerate(table.variables):
        column = table.column(variable)
        if isinstance(variable, Discrete):
            candidates = _indicators(variable, column)
        else:
            candidates = [(None, _ranks(np.asarray(column, dtype=np.float64)))]
        for state, values in candidates:
            observed = values[~np.isnan(values)]
            # Constant columns are left out: they would change how ties are broken.
            if len(observed) and observed.min() < observed.max():
                columns.append(values)
                meaning.append((place, state))
    # scikit-learn's trees need at least one column.
    columns = columns or [np.zeros(table.n_rows)]
    return np.array(columns, dtype=np.float32).T, meaning


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
    """Return the ranks of values, from 0 on and the same for equal ones; NaN where missing."""
    observed = ~np.isnan(column)
    result = np.full(len(column), np.nan)
    result[observed] = np.unique(column[observed], return_inverse=True)[1]
    return result


# --------------------------------------------------------------------------------------- growing


@dataclass(frozen=True)
class ScikitLearn:
    """Growing by scikit-learn.

    Attributes
    ----------
    learner : type of DecisionTreeClassifier or DecisionTreeRegressor
    table : Table
    matrix, meaning
        The table as `encoded` returns it.
    y, weights : ndarray, shape (n_rows,)
    parameters : mapping
        Parameters of the learner.
    """

    learner: Any
    table: Table
    matrix: NDArray[np.float32]
    meaning: list[tuple[int, int | None]]
    y: NDArray[Any]
    weights: Floats
    parameters: Mapping[str, Any]

    def tree(self, alpha: float) -> Trees:
        """Return the tree that is pruned with the complexity parameter `alpha`.

        A split that only separates missing from observed values (its threshold is infinite) is
        replaced by its left child, to which observed values go: a missing value is no evidence.
        """
        grown = self._fitted(slice(None), alpha).tree_
        # Both children of a split follow each other in the order, as in `Trees`.
        order, below = _reached(grown)
        n = len(order)
        variables = self.table.variables
        max_states = max((v.cardinality for v in variables if isinstance(v, Discrete)), default=0)
        feature, left = np.full((2, n), -1)
        threshold = np.zeros(n)
        left_states = np.zeros((n, max_states), dtype=bool)
        new_index = {node: k for k, node in enumerate(order)}
        # Rows by nodes; as CSC, the rows that pass through a node are a column.
        rows = grown.decision_path(self.matrix).tocsc()
        for k, node in enumerate(order):
            if node not in below:  # a leaf
                continue
            place, state = self.meaning[grown.feature[node]]
            variable = variables[place]
            feature[k] = place
            left[k] = new_index[below[node][0]]
            if isinstance(variable, Discrete):
                # The indicator of this state alone is above the threshold, and goes right.
                n_states = variable.cardinality
                left_states[k, :n_states] = np.arange(n_states) != state
            else:
                sides = (grown.children_left[node], grown.children_right[node])
                threshold[k] = _middle(self.table.column(variable), rows, *sides)
        return Trees.single(variables, feature, threshold, left_states, left)

    def alphas(self) -> Floats:
        """Return complexity parameters at which the pruned tree changes, ascending."""
        path = self.learner(**self.parameters).cost_complexity_pruning_path(
            self.matrix, self.y, sample_weight=self.weights
        )
        return np.unique(np.maximum(path.ccp_alphas, 0.0))

    def predictions(self, train: Ints, test: Ints, alphas: Floats) -> Iterator[NDArray[Any]]:
        """Yield the predictions of each pruned tree of the rows `train` for the rows `test`."""
        for alpha in alphas.tolist():
            yield self._fitted(train, alpha).predict(self.matrix[test])

    def _fitted(self, rows: Any, alpha: float) -> Any:
        """Return the learner fitted to rows, given by a slice or indices, and pruned."""
        estimator = self.learner(**self.parameters, ccp_alpha=alpha)
        weights = self.weights[rows]
        return estimator.fit(self.matrix[rows], self.y[rows], sample_weight=weights)


def _reached(grown: Any) -> tuple[list[int], dict[int, tuple[int, int]]]:
    """Return the nodes of scikit-learn's tree `grown` that are kept, and the children of splits.

    Nodes are listed with parents before children. Nodes are not kept if they only separate missing
    from observed values, or if only missing values reach them.
    """

    def skipped(node: int) -> int:
        """Return the first node from `node` on, leftwards, that separates observed values."""
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


def _cross_validated(growing: Growing, options: _GrownTree) -> float:
    """Return the complexity parameter of minimum cross-validated error (Breiman et al. 1984, 3.4).

    Each subtree in the pruning sequence of all rows is optimal on an interval of the parameter, and
    is represented by the geometric mean of the ends of its interval. Errors are misclassification
    rates or mean squares. Of parameters with equal errors, that of the smaller tree is returned.
    """
    # Ascending: later candidates prune more.
    alphas = growing.alphas()
    candidates = np.append(np.sqrt(alphas[:-1] * alphas[1:]), alphas[-1])
    if len(candidates) > _MAX_SUBTREES:
        kept = np.linspace(0, len(candidates) - 1, _MAX_SUBTREES).round().astype(int)
        candidates = candidates[kept]
    y = growing.y
    if len(y) < 2 or len(candidates) == 1:
        return float(candidates[0])
    losses = np.zeros((len(y), len(candidates)))
    is_class = y.dtype.kind != "f"
    cv = options.cv
    if isinstance(cv, (int, np.integer)):
        folds = min(int(cv), len(y))
        is_stratified = is_class and np.bincount(y).min() >= folds
        kind = getattr(sklearn.model_selection, "StratifiedKFold" if is_stratified else "KFold")
        cv = kind(folds, shuffle=True, random_state=options.random_state)
    splitter = sklearn.model_selection.check_cv(cv, y, classifier=is_class)
    for train, test in splitter.split(np.zeros((len(y), 1)), y):
        for k, predicted in enumerate(growing.predictions(train, test, candidates)):
            gaps = predicted - y[test]
            losses[test, k] = gaps != 0 if is_class else gaps**2
    share = growing.weights / growing.weights.sum()
    error = share @ losses
    # The last one, of the smallest tree; errors that differ by rounding alone are equal.
    best = int(np.flatnonzero(error <= error.min() * (1 + 1e-12))[-1])
    if options.one_standard_error:
        # Standard error of a weighted mean of independent losses.
        standard_error = np.sqrt(np.sum((share * (losses[:, best] - error[best])) ** 2))
        best = int(np.flatnonzero(error <= error[best] + standard_error)[-1])
    return float(candidates[best])


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

    def predictions(self, train: Ints, test: Ints, alphas: Floats) -> Iterator[NDArray[Any]]:
        """Yield the predictions of each pruned tree of the rows `train` for the rows `test`.

        Rows with a missing value take the branches by the weights of the rows in `train`.
        """
        columns = self.columns.rows(train)
        grown = self._grown(columns, self.y[train], self.weights[train])
        for alpha in alphas.tolist():
            yield self._predicted(cost_complexity_pruned(grown, alpha), test)

    def _predicted(self, grown: GrownTree, rows: Ints) -> NDArray[np.intp]:
        """Return the codes of the most probable classes of rows, by a tree as it was grown."""
        tree, counts = grown.to_tree()
        # Without pseudo-counts.
        values = leaf_probabilities(tree, counts, np.zeros(1))[tree.leaves]
        # The CPD brings the tree into the form that rows go down; its variable has any name.
        target = Discrete(object(), range(self.n_classes))
        trees = TreesCPD(target, replace(tree, values=values), self.table.variables).trees
        weight = counts.sum(axis=1)
        inner = np.flatnonzero(tree.feature >= 0)
        # Of a row with a missing value each child gets its share of the training weight, as a log;
        # the axes are (left or right, node).
        log_shares = np.full((2, tree.n_nodes), np.nan)
        weight_of_children = weight[tree.below[inner] + [[0], [1]]]  # left, right
        log_shares[:, inner] = log_of(weight_of_children / weight[inner])
        codes = coded_rows(trees, self.table.variables, self.table, rows)
        return np.asarray(np.argmax(trees.means(codes, log_shares), axis=1))


# A way to grow trees from the rows of a table.
Growing: TypeAlias = ScikitLearn | CriterionGrowing


# Maximum number of entries of the matrix of leaf posteriors that `predict` holds at once.
_CHUNK_NUMBERS = 2**22
_CRITERIA = ("entropy", "gini", "log_loss", "error", "gain_ratio", "chaid")


@base.estimator
class _GrownTree(base.Smoothed, base.Updated):
    """Base class of trees.

    Parameters
    ----------
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf,
    max_leaf_nodes, min_impurity_decrease
        Stopping rules of scikit-learn's trees. Minimum numbers of samples count rows, whatever
        their weights, unless `criterion` says otherwise.
    ccp_alpha : float or "cv", default 0.0
        Complexity parameter of minimal cost-complexity pruning (Breiman et al. 1984, chapter 3);
        "cv" chooses it by cross-validation.
    cv : int, splitter of scikit-learn, or iterable of (train, test), default 5
        Folds of the cross-validation for ``ccp_alpha="cv"``.
    one_standard_error : bool, default False
        Take the smallest tree whose cross-validated error is within one standard error of the
        minimum.
    categorical : list of column names, or "all", optional
        Numeric columns to treat as discrete.
    unseen : {"warn", "missing", "error"}
        Treatment of categories that did not occur in fitting. They are taken as missing, with one
        warning for the rows of a table (not for a single row) or without; or they are an error.
    random_state : int, default 0
        Seed of the folds and of scikit-learn's random choice between equally good splits.
    check_columns : bool, default True
        Whether `fit` warns of columns that look wrong, as for the other classifiers.
    """

    _fitted: ClassVar[Collection[str]] = ("ccp_alpha_",)
    # Name of the attribute that holds the variable whose CPD is the tree.
    _tree_variable: ClassVar[str] = "target_"
    # Name of scikit-learn's class.
    _learner: ClassVar[str] = "DecisionTreeClassifier"

    network_: BayesianNetwork = field(init=False)
    layout_: Layout = field(init=False)
    features_: tuple[Variable, ...] = field(init=False)
    ccp_alpha_: float = field(init=False)

    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float | str = 0.0
    cv: Any = 5
    one_standard_error: bool = False
    categorical: Collection[Name] | str | None = None
    unseen: str = "warn"
    random_state: Any = 0
    check_columns: bool = True

    def _grow(
        self, table: Table, y: NDArray[Any], weights: Floats
    ) -> tuple[Trees, tuple[Variable, ...], dict[Variable, CPD]]:
        """Grow and prune a tree, and estimate the marginals of all features.

        `y` has codes of classes, or numbers.

        Returns
        -------
        splits : Trees
            Its features are indices of `parents`. The values at its leaves are zero, which the
            caller replaces.
        parents : tuple of Variable
            The features that the tree splits on.
        roots : dict from Variable to CPD
            The marginal CPD of each feature.
        """
        alpha: Any = self.ccp_alpha
        if alpha != "cv" and (not isinstance(alpha, Real) or not float(alpha) >= 0):
            raise DataError(
                f"ccp_alpha takes a number that is not negative, or 'cv'; got {alpha!r}."
            )
        if isinstance(self.cv, (int, np.integer)) and self.cv < 2:
            raise DataError(f"cv is a number of folds, 2 or more; got {self.cv!r}.")
        try:
            growing = self._growing(table, y, weights)
            if alpha == "cv":
                alpha = _cross_validated(growing, self)
            tree = growing.tree(alpha)
        except ValueError as error:
            # scikit-learn checks the parameters, as those of a class that the user does not know.
            if self._learner not in str(error):
                raise
            said = str(error).replace(self._learner, type(self).__name__)
            raise DataError(said) from error
        self.ccp_alpha_, self.features_ = float(alpha), table.variables
        used = np.unique(tree.feature[tree.feature >= 0])
        # The new index of each feature among those that are used; the last entry, -1, is of leaves.
        place = np.full(len(table.variables) + 1, -1)
        place[used] = np.arange(len(used))
        parents = tuple(table.variables[k] for k in used)
        groups = tuple([tree.groups[k] for k in used])
        # Features that are not used may have had more states: a word has the bits of 64 groups.
        n_words = max(1, -(-max(map(len, groups), default=0) // 64))
        states = tree.states[:, :n_words]
        splits = replace(tree, feature=place[tree.feature], states=states, groups=groups)
        return splits, parents, estimate_roots(table, weights, splits, parents)

    def _growing(self, table: Table, y: NDArray[Any], weights: Floats) -> Growing:
        """Return the way in which trees are grown; `y` has codes of classes, or numbers."""
        learner = getattr(sklearn.tree, self._learner)
        # Class weights are in `weights` already, and `tree` and `predictions` say how to prune.
        names = learner().get_params().keys() - {"ccp_alpha", "class_weight"}
        parameters = {name: getattr(self, name) for name in sorted(names) if hasattr(self, name)}
        return ScikitLearn(learner, table, *encoded(table), y, weights, parameters)

    def _table(self, X: Any, y: Any, sample_weight: Any) -> tuple[Columns, Table, Any, Floats]:
        """Return the rows of positive weight, as Columns and encoded, their y and weights."""
        check_unseen(self.unseen)
        columns, table, y, weights = intake.training_table(self, X, y, sample_weight)
        return columns, table, y, np.ones(len(y)) if weights is None else weights

    def _note(self, table: Table, weights: Floats) -> None:
        """Note the rows of training in the network."""
        # Weights of 1 are none: the note then has no total weight.
        sample_weight = None if (weights == 1).all() else weights
        rows = TableSource(table, sample_weight=sample_weight).training_rows()
        self.network_.training = base.training_of(self, rows)

    @property
    def _leaf_numbers(self) -> GaussianCPD | None:
        """Gaussian CPD of the target given the leaf in a regression tree, else None."""
        return None

    @property
    def _drawn(self) -> tuple[TreesCPD, dict[str, Any]]:
        """What `to_dot` and `render` draw: the tree; `network_` draws the network."""
        return self.tree_, {"numbers": self._leaf_numbers}

    @property
    def tree_(self) -> TreesCPD:
        """The tree as a CPD: P(class | features), or P(leaf | features) in regression."""
        intake.check_fitted(self, "network_")
        cpd = self.network_[getattr(self, self._tree_variable).name]
        assert isinstance(cpd, TreesCPD)  # fit makes it one
        return cpd


@base.estimator
class DecisionTreeNetworkClassifier(_GrownTree, base.GraphClassifier):
    """A decision tree as a network: the features that it splits on are the parents of the class.

    The tree becomes the CPD of the class given the features. In the network the features are
    independent of each other. A missing feature is marginalised exactly under its own distribution,
    and the network answers every other query too, such as a feature given the class or the
    likelihood of a row.

    scikit-learn grows trees by the entropy or the Gini index: the probabilities of complete rows
    are then scikit-learn's. This library grows those of the other criteria: by classification
    error, C4.5 (Quinlan 1993) and CHAID (Kass 1980), whose splits may have more than two branches.

    Missing values in fitting: while the tree grows, scikit-learn and "error" send rows with a
    missing value to the better side; C4.5 divides such a row among the branches, and what a split
    gains counts for the other rows only; for CHAID see `criterion`. The probabilities at the leaves
    are estimated from fractional rows (Quinlan 1993, section 3.2): a row with a missing value goes
    to all children, in the proportions that prediction uses too. The fact that a value is missing
    is not treated as evidence.

    Parameters
    ----------
    criterion : {"entropy", "gini", "log_loss", "error", "gain_ratio", "chaid"}
        By default the entropy, whose decrease is the gain in log likelihood of the leaves
        (`bayesgraph.pictures.impurity_figure` draws it beside others). For "gain_ratio" and
        "chaid", a row of weight 2 counts as two rows in all tests and minima.

        * "error": the share of rows that are not of the most frequent class; binary splits.
        * "gain_ratio", C4.5: of the splits of at least average information gain, that of the
          largest ratio of gain to split information. Each state of a discrete feature is a branch;
          at least two branches have `min_samples_leaf` rows (2 in Quinlan's program). The gain of a
          threshold is reduced by the log of the number of thresholds (Quinlan 1996), and both
          sides have a tenth of the rows of an average class, at most 25. See `confidence`.
        * "chaid": the states of a discrete feature, or the intervals of a number, are merged while
          chi-squared tests do not tell their classes apart, numbers only with their neighbours;
          the split is on the feature whose groups have the lowest p-value, multiplied by the number
          of ways to merge (Bonferroni). Missing values join the group that they resemble, or are
          divided as in C4.5. The tests are rough for groups of few rows: see `min_samples_leaf`.
    confidence : float or None, default 0.25
        For "gain_ratio": confidence level of pessimistic pruning, by which a leaf replaces a
        subtree if the upper limit of its error rate is not higher (Quinlan 1993, section 4.2;
        without subtree raising). The lower, the smaller the tree; None does not prune.
    alpha_merge, alpha_split : float, default 0.05
        For "chaid": levels of significance below which two categories are not merged, and above
        which a node is not split.
    n_intervals : int, default 10
        For "chaid": maximum number of intervals, of about equal weight, of a number.
    smoothing : float or Smoothing, default 0.0
        Its `alpha` is the mean pseudo-count of a class at each leaf; the pseudo-counts of a leaf
        are proportional to the class frequencies in all rows (the m-estimate, Cestnik 1990). The
        default 0 keeps the probabilities by which the splits were chosen, which are scikit-learn's.
        With 1, large trees rank better (Provost and Domingos 2003), and no class is impossible.
    class_weight : mapping from label to weight, or "balanced", optional
        Factors of the weights of rows; the network is that of the reweighted rows.
    {parameters}

    Attributes
    ----------
    network_ : BayesianNetwork
        The fitted model, for any query. The score of an arc is the decrease of the class entropy by
        the splits on the feature, in nats.
    tree_ : TreesCPD
        P(class | features).
    ccp_alpha_ : float
        Complexity parameter with which the tree was pruned.
    classes_ : ndarray, shape (n_classes,)
    target_ : Discrete
        The class variable of the network.
    features_ : tuple of Variable
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features_in_,)
        Names of the columns; only if X had names that are all strings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = DecisionTreeNetworkClassifier(max_depth=2).fit(X, y)
    >>> clf.tree_
    TreesCPD P(class | x3), 3 leaves, depth 2
      leaf                        0      1      2
      x3 ≤ 0.8                1.000  0.000  0.000
      x3 > 0.8 and x3 ≤ 1.75  0.000  0.907  0.093
      x3 > 0.8 and x3 > 1.75  0.000  0.022  0.978
    >>> clf.query(evidence={"x3": 1.5}).argmax
    1
    >>> X = {"outlook": ["sunny"] * 5 + ["overcast"] * 4 + ["rain"] * 5,
    ...      "humid": [True] * 3 + [False] * 2 + [True, False] * 2 + [True, False] * 2 + [False],
    ...      "windy": [False, True, False, False, True, False, True, True, False] + [False] * 3
    ...               + [True] * 2}
    >>> play = ["no"] * 3 + ["yes"] * 9 + ["no"] * 2
    >>> c45 = DecisionTreeNetworkClassifier(criterion="gain_ratio", min_samples_leaf=2)
    >>> c45.set_params(check_columns=False).fit(X, play).tree_
    TreesCPD P(class | outlook, humid, windy), 5 leaves, depth 2
      leaf                                  no    yes
      outlook = overcast                 0.000  1.000
      outlook = rain and windy = False   0.000  1.000
      outlook = rain and windy = True    1.000  0.000
      outlook = sunny and humid = False  0.000  1.000
      outlook = sunny and humid = True   1.000  0.000
    """

    _reads = ("alpha",)

    criterion: str = "entropy"
    confidence: float | None = 0.25
    alpha_merge: float = 0.05
    alpha_split: float = 0.05
    n_intervals: int = 10
    smoothing: SmoothingLike = 0.0
    class_weight: Mapping[Any, float] | str | None = None

    @base.one_at_a_time
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Grow the tree and estimate the class probabilities at its leaves.

        The arguments are those of NetworkClassifier.fit.
        """
        smoothing = self._smoothing()
        one_of("criterion", self.criterion, _CRITERIA)
        self._check_levels()
        X, y, sample_weight = in_memory(X, y, sample_weight)
        columns, table, labels, weights = self._table(X, intake.labels_of(y), sample_weight)
        self.classes_, codes = labels.classes, labels.codes
        if self.check_columns:
            warn_of_columns(Examined.of(table), labels, columns.as_columns)
            intake.check_weighed(self.class_weight, self.classes_)
        target = Discrete(intake.target_name(labels.name, table.variables), self.classes_.tolist())
        self._check_alpha(smoothing, target, numbers=True)
        alpha = smoothing.pseudo_counts(target, len(self.classes_))
        splits, parents, roots = self._grow(table, codes, weights)
        # The weight of each row in the column of its class, shape (n_rows, n_classes).
        amounts = np.where(codes[:, None] == np.arange(len(self.classes_)), weights[:, None], 0.0)
        counts = node_sums(splits, parents, roots, table, amounts)
        tree = replace(
            splits,
            values=leaf_probabilities(splits, counts, alpha)[splits.leaves],
            counts=counts.sum(axis=1),
        )
        gains = information_by_parent(splits, parents, counts)
        self.network_ = BayesianNetwork(
            [*roots.values(), TreesCPD(target, tree, parents)],
            arc_scores={(parent.name, target.name): gain for parent, gain in gains.items()},
        )
        self.target_ = target
        self._note(table, weights)
        return self

    def _growing(self, table: Table, y: NDArray[Any], weights: Floats) -> Growing:
        """Return the way to grow trees: by scikit-learn, or a criterion of this library."""
        criteria: dict[str, Criterion] = {
            "error": ErrorRate(),
            "gain_ratio": GainRatio(),
            "chaid": ChiSquared(self.alpha_merge, self.alpha_split, self.n_intervals),
        }
        if self.criterion not in criteria:
            return super()._growing(table, y, weights)
        criterion = criteria[self.criterion]
        limits = {f.name: getattr(self, f.name) for f in fields(Limits)}
        # scikit-learn checks the parameters, by fitting two rows.
        sklearn.tree.DecisionTreeClassifier(**limits).fit([[0.0], [1.0]], [0, 1])
        columns = CodedColumns.of(table, weights, criterion.n_intervals)
        # Of these criteria C4.5 alone prunes pessimistically.
        confidence = self.confidence if self.criterion == "gain_ratio" else None
        n_classes, stops = int(y.max()) + 1, Limits(**limits)
        return CriterionGrowing(table, columns, y, n_classes, weights, criterion, stops, confidence)

    def _check_levels(self) -> None:
        """Raise a DataError if a level of confidence or significance is out of range."""
        for name in ("confidence", "alpha_merge", "alpha_split"):
            level = getattr(self, name)
            if name == "confidence" and level is None:
                continue
            if not isinstance(level, Real) or not 0 < float(level) < 1:
                raise DataError(f"{name} is a number between 0 and 1; got {level!r}.")
        whole_number("n_intervals", "intervals", self.n_intervals, 2)


@base.estimator
class DecisionTreeNetworkRegressor(_GrownTree, base.ModelQuestions, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regression tree as a network: features -> leaf -> target.

    The leaf is a hidden variable that is a function of the features, and the target is normal given
    the leaf. If features are missing, the posterior of the target is the exact mixture over the
    leaves that are possible; the prediction is its mean. For complete rows this is scikit-learn's
    prediction (for squared errors).

    Missing values in fitting are treated as by DecisionTreeNetworkClassifier. The time and memory
    of answers are proportional to the number of leaves: for more than a few thousand rows, limit
    the tree (`min_samples_leaf`); a fully grown tree does not predict better.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson"}
        Criterion of the splits; leaves predict their mean with every criterion.
    smoothing : float or Smoothing, default "dirichlet"
        Its `shrinkage` shrinks the variance of each leaf towards the pooled variance, and its
        `var_smoothing` is the share of the target's total variance that is added to each leaf's.
    {parameters}

    Attributes
    ----------
    network_ : BayesianNetwork
        The fitted model, for any query.
    tree_ : TreesCPD
        P(leaf | features), all ones and zeros.
    ccp_alpha_ : float
        Complexity parameter with which the tree was pruned.
    target_ : Continuous
    leaf_ : Discrete
        The hidden variable, with a state for each leaf.
    features_ : tuple of Variable
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features_in_,)
        Names of the columns; only if X had names that are all strings.

    Examples
    --------
    >>> X = {"age": [20.0, 30.0, 40.0, 50.0], "sex": ["f", "m", "f", "m"]}
    >>> reg = DecisionTreeNetworkRegressor(max_depth=1).fit(X, [1.0, 1.2, 3.0, 3.4])
    >>> reg.predict({"age": [25.0, None], "sex": ["f", "f"]}).round(2)
    array([1.1 , 2.15])
    """

    _reads = ("shrinkage", "var_smoothing", "reg_covar", "ddof", "estimation")

    _fitted = ("ccp_alpha_", "leaf_")
    _tree_variable = "leaf_"
    _learner = "DecisionTreeRegressor"

    target_: Continuous = field(init=False)
    leaf_: Discrete = field(init=False)

    criterion: str = "squared_error"
    smoothing: SmoothingLike = "dirichlet"

    @base.one_at_a_time
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Grow the tree and estimate the mean and variance of y at its leaves.

        Parameters
        ----------
        X : array or data frame (pandas, polars, pyarrow, ...), shape (n_rows, n_features)
            As for the classifiers.
        y : array_like of numbers, shape (n_rows,)
            Without missing values.
        sample_weight : array_like, shape (n_rows,), optional

        Returns
        -------
        self
        """
        smoothing = self._smoothing()
        X, y, sample_weight = in_memory(X, y, sample_weight)
        numbers, name = intake.number_column(y)
        columns, table, numbers, weights = self._table(X, numbers, sample_weight)
        if self.check_columns:
            warn_of_columns(Examined.of(table), None, columns.as_columns)
        splits, parents, roots = self._grow(table, numbers, weights)
        # Sums of squares of centred numbers lose fewer digits.
        centre = float(np.average(numbers, weights=weights))
        deviation = numbers - centre
        # Moments of orders 0, 1 and 2, shape (n_rows, 3).
        amounts = weights[:, None] * np.stack([np.ones_like(deviation), deviation, deviation**2], 1)
        sums = node_sums(splits, parents, roots, table, amounts)
        mean, variance = _leaf_moments(splits, sums, smoothing)
        # The target and the leaf have names that no feature has.
        names = [v.name for v in table.variables]
        self.target_ = Continuous(intake.unlike(name if name is not None else "target", names))
        leaf_name = intake.unlike("leaf", [*names, self.target_.name])
        self.leaf_ = Discrete(leaf_name, range(len(splits.leaves)))
        check_memory(
            f"The tree has {len(splits.leaves):,} leaves, whose distribution given each node takes",
            2 * len(splits.leaves) ** 2,
            "Grow a smaller one: min_samples_leaf, max_leaf_nodes, or ccp_alpha='cv'.",
        )
        # The leaf is a function of the features: at each leaf of the tree its state has
        # probability 1.
        one_hot = np.eye(self.leaf_.cardinality)
        cpds: list[CPD] = [
            *roots.values(),
            TreesCPD(self.leaf_, replace(splits, values=one_hot, counts=sums[:, 0]), parents),
            GaussianCPD(self.target_, centre + mean, variance, [self.leaf_]),
        ]
        self.network_ = BayesianNetwork(cpds)
        self._note(table, weights)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of `predict`; y may be the name of a column, as in `fit`."""
        return float(super().score(*intake.apart(X, y), sample_weight))

    def _evidence(self, X: Any) -> Evidence:
        intake.check_fitted(self, "network_")
        return intake.known_rows(self, X).evidence()

    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """Return the posterior mean of each row, shape (n_rows,).

        Missing values and unseen categories are marginalised.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
        return_std : bool
            Return the posterior standard deviations as well, as a second array.
        """
        check_flags(return_std=return_std)
        fitted = self._as_it_is()
        evidence = fitted._evidence(X)
        cpd = fitted._leaf_numbers
        result = np.empty((2, evidence.n_rows))
        step = max(1, _CHUNK_NUMBERS // fitted.leaf_.cardinality)
        for start in range(0, evidence.n_rows, step):
            rows = slice(start, start + step)
            # P(leaf | row), shape (n_rows, n_leaves): one leaf if no feature is missing.
            posterior = np.exp(fitted.network_._normalised_rows(fitted.leaf_, evidence.rows(rows)))
            mean = posterior @ cpd.mean
            # The variance of a mixture: within the leaves, and between their means. Deviations from
            # the mean of each row avoid the cancellation of large squares.
            gap = cpd.mean - mean[:, None]
            result[:, rows] = mean, np.sqrt(np.sum(posterior * (cpd.variance + gap * gap), axis=1))
        return (result[0], result[1]) if return_std else result[0]

    def score_samples(self, X: Any) -> Floats:
        """Return log p(x) of the observed features x of each row, in nats, shape (n_rows,)."""
        evidence = self._evidence(X)  # an error if it is not fitted
        return self.network_._log_evidence_rows(evidence)

    @property
    def _leaf_numbers(self) -> GaussianCPD:
        intake.check_fitted(self, "network_")
        cpd = self.network_[self.target_.name]
        assert isinstance(cpd, GaussianCPD)  # fit makes it one
        return cpd

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def _leaf_moments(splits: Trees, sums: Floats, smoothing: Smoothing) -> tuple[Floats, Floats]:
    """Return the mean and the variance of the centred target at each leaf, shape (n_leaves,).

    Parameters
    ----------
    splits : Trees
    sums : ndarray, shape (n_nodes, 3)
        Sums over the rows of each node: weights, weighted values, and weighted squares of the
        centred target.
    smoothing : Smoothing
        Its `shrinkage` and `var_smoothing` apply to the variances.
    """
    smoothing.refuse_predictive("the leaves of a regression tree")
    count, first, second = sums.T
    # A leaf without rows has the mean of the split above.
    mean = filled_from_above(splits, safe_divide(first, count), count == 0)[splits.leaves]
    count, first, second = count[splits.leaves], first[splits.leaves], second[splits.leaves]
    # Sum of squared deviations from the mean of each leaf; rounding may make it negative.
    comoment = np.maximum(second - safe_divide(first * first, count), 0.0)
    pooled = comoment.sum() / count.sum()
    # The variance in all rows, which are those of the root: the target is centred.
    total = sums[0, 2] / sums[0, 0]
    variance = smoothing.covariance(count, comoment, pooled) + smoothing.ridge(total)
    if not (variance > 0).all():
        raise DataError(
            "The target is constant in some leaf, and nothing smooths its variance of zero; give "
            "var_smoothing or shrinkage a positive value, or grow a smaller tree."
        )
    return mean, variance
