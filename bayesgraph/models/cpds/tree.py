"""Tree CPDs: splits on the parents select the distribution of a discrete child."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, log_integral, log_of
from bayesgraph.core.display import DisplayTable, cut_texts
from bayesgraph.core.errors import CPDError, unknown_variable
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.inference import Factor
from bayesgraph.models import tree_kernels
from bayesgraph.models.cpds import summing_out
from bayesgraph.models.cpds.base import (
    CPD,
    SUM_TOLERANCE,
    Columns,
    Description,
    check_child,
    check_family,
    checked_numbers,
    draw_states,
    left_out,
    state_texts,
    texts,
)

Ints: TypeAlias = NDArray[np.int64]

# Maximum lengths of the names of states and of the paths to leaves in print, and maximum number of
# states in a condition.
_LONGEST, _LONGEST_PATH, _MAXIMUM_STATES = 16, 80, 8


@dataclass(frozen=True)
class Split:
    """A split of a tree CPD, for writing a tree as nested splits.

    Attributes
    ----------
    on : Variable or name
        The parent variable that it splits on.
    at : number or list of states
        For a continuous parent, the threshold: values up to and including it go left. For a
        discrete parent, the states that go left.
    left, right : Split, or probabilities of the child's states
    continues : bool
        Whether this split, on the right of another one on the same parent, continues it: together
        they are one split with more than two branches.
    """

    on: Any
    at: Any
    left: Any
    right: Any
    continues: bool = False


class Branch(NamedTuple):
    """A branch of a split, which may have more than two of them.

    Attributes
    ----------
    node : int
        Index of the node below.
    low, high : float
        At splits on continuous parents: values above `low`, up to and including `high`.
    states : ndarray of bool, shape (maximum of states of a discrete parent,)
        At splits on discrete parents: the states of the branch.
    """

    node: int
    low: float
    high: float
    states: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree in flat arrays; the root is node 0, and each node precedes its child nodes.

    The tree is binary. A split with more than two branches is a sequence of binary ones: each takes
    one branch off to the left, and the next one, to its right, continues it. So each question about
    a binary tree is answered for many-way splits too.

    Attributes
    ----------
    feature : ndarray of int, shape (n_nodes,)
        Index of the parent variable that a node splits on; -1 at leaves.
    threshold : ndarray, shape (n_nodes,)
        At splits on continuous parents: values up to the threshold go left.
    left_states : ndarray of bool, shape (n_nodes, maximum of states of a discrete parent)
        At splits on discrete parents: the states that go left.
    left, right : ndarray of int, shape (n_nodes,)
        Indices of the child nodes; -1 at leaves.
    values : ndarray, shape (n_nodes, n_states)
        Distributions of the child variable at the leaves; zero elsewhere.
    counts : ndarray, shape (n_nodes,) or (0,)
        Weight of the rows that reached each node in fitting, if known; shown in plots.
    continues : ndarray of bool, shape (n_nodes,) or (0,)
        Splits that continue the split of the node above, whose right child they are; empty if there
        are none.
    """

    feature: Ints
    threshold: Floats
    left_states: NDArray[np.bool_]
    left: Ints
    right: Ints
    values: Floats
    counts: Floats = field(default_factory=lambda: np.empty(0))
    continues: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))

    @property
    def n_nodes(self) -> int:
        """The number of inner nodes and leaves; a split of k branches has k - 1 nodes."""
        return len(self.feature)

    @cached_property
    def leaves(self) -> Ints:
        """The indices of the leaves."""
        return np.flatnonzero(self.feature < 0)

    @cached_property
    def depth(self) -> int:
        """The maximum number of splits on the path to a leaf; a many-way split counts once."""
        depth = [0] * self.n_nodes
        heads = self.heads
        for node in range(self.n_nodes):
            if self.feature[node] >= 0:
                below = depth[heads[node]] + 1
                depth[self.left[node]] = depth[self.right[node]] = below
        return max(depth)

    @cached_property
    def levels(self) -> list[Ints]:
        """The splits below 0, 1, ... others."""
        levels = []
        level = np.zeros(1, dtype=np.int64)
        while len(level := level[self.feature[level] >= 0]):
            levels.append(level)
            level = np.concatenate([self.left[level], self.right[level]])
        return levels

    @cached_property
    def heads(self) -> Ints:
        """The node with which the split of each node begins: itself, unless it continues one."""
        heads = np.arange(self.n_nodes)
        for node in np.flatnonzero(self.feature >= 0).tolist():
            if self.is_continued(node):
                heads[self.right[node]] = heads[node]
        return heads

    def is_continued(self, node: int) -> bool:
        """Return whether the right child of an inner node continues its split."""
        return bool(len(self.continues) and self.continues[self.right[node]])

    def branches(self, node: int) -> list[Branch]:
        """Return the branches of the split that begins at a node, in order."""
        result: list[Branch] = []
        low, rest = -math.inf, np.ones(self.left_states.shape[1], dtype=bool)
        while True:
            high, states = float(self.threshold[node]), self.left_states[node]
            result.append(Branch(int(self.left[node]), low, high, rest & states))
            low, rest = high, rest & ~states
            below = int(self.right[node])
            if not self.is_continued(node):
                return [*result, Branch(below, low, math.inf, rest)]
            node = below


ARRAYS = ("feature", "threshold", "left_states", "left", "right", "values", "counts", "continues")


class TreeCPD(summing_out.RootSummingCPD):
    """A discrete child given discrete and continuous parents, as a tree.

    Each leaf is a context in which the child is independent of all parents without a split on the
    path to the leaf (context-specific independence: Boutilier, Friedman, Goldszmidt, Koller 1996).
    Discrete parents split by subsets of their states, continuous parents at thresholds, into two or
    more branches.

    If an unobserved parent is a root of the network without other children, inference takes both
    branches of its splits, each with its probability given the earlier splits on the path. This sum
    is exact. All other free discrete parents stay in the factor; all other free continuous parents
    are refused.

    Parameters
    ----------
    variable : Discrete
        The child.
    tree : Tree, Split, or probabilities of the child's states
        Flat arrays, or nested splits whose leaves are probabilities.
    parents : iterable of Variable
        Discrete and continuous.

    Raises
    ------
    CPDError
        For a continuous child, arrays that do not form a tree, a split that sends all states to
        one side, or a leaf whose values are no distribution (sum within 1e-6 of one).
    UnknownVariableError, UnknownStateError
        For a split on a variable that is not a parent, or by a state that the parent lacks.

    Examples
    --------
    >>> age, smoker = Continuous("age"), Discrete("smoker", ["no", "yes"])
    >>> sick = Discrete("sick", [False, True])
    >>> split = Split("age", 40.0, [0.9, 0.1], Split("smoker", ["no"], [0.8, 0.2], [0.4, 0.6]))
    >>> TreeCPD(sick, split, [age, smoker])
    TreeCPD P(sick | age, smoker), 3 leaves, depth 2
      leaf                       False   True
      age ≤ 40                   0.900  0.100
      age > 40 and smoker = no   0.800  0.200
      age > 40 and smoker = yes  0.400  0.600
    """

    other_arrays = ARRAYS
    optional_arrays = ("continues",)

    variable: Discrete

    def __init__(
        self,
        variable: Discrete,
        tree: Tree | Split | ArrayLike,
        parents: Iterable[Variable] = (),
    ) -> None:
        self.parents = check_family(variable, parents, family="TreeCPD")
        hint = (
            "Let the tree choose the leaf, a discrete variable, and give the child a GaussianCPD."
        )
        check_child(variable, Discrete, family="TreeCPD", hint=hint)
        self.variable = variable
        flat = tree if isinstance(tree, Tree) else _flattened(tree, variable, self.parents)
        self.tree = _checked(flat, variable, self.parents, self.title)
        self._shares: dict[Variable, tuple[CPD, Floats]] = {}

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities: n_states - 1 for each leaf."""
        return len(self.tree.leaves) * (self.variable.cardinality - 1)

    @cached_property
    def log_values(self) -> Floats:
        """Natural logarithms of the distributions, computed once."""
        return log_of(self.tree.values)

    @cached_property
    def flat(self) -> tree_kernels.TreeArrays:
        """The arrays of the tree as the tuple `TreeArrays`, which compiled kernels take."""
        discrete = np.array([isinstance(p, Discrete) for p in self.parents], dtype=bool)
        tree = self.tree
        return tree.feature, discrete, tree.threshold, tree.left_states, tree.left, tree.right

    def summed(self, roots: Mapping[Variable, CPD], observed: Collection[Variable]) -> CPD:
        """Return a CPD that sums out the given root parents where they are missing.

        See RootSummingCPD.
        """
        share = np.full((2, self.tree.n_nodes), np.nan)
        for place, parent in enumerate(self.parents):
            if parent in roots:
                at = self.tree.feature == place
                share[:, at] = self.log_shares(parent, roots[parent])[:, at]
        parents = [p for p in self.parents if p in observed or p not in roots]
        return _SummedTree(self, parents, share)

    def log_shares(self, parent: Variable, root: CPD) -> Floats:
        """Return the log probabilities of both branches at each split on an unobserved root.

        They are conditional on the branches taken at earlier splits on the path. The result is
        cached for each root CPD.

        Parameters
        ----------
        parent : Variable
        root : CPD
            The distribution of `parent`, which has no parents of its own.

        Returns
        -------
        ndarray, shape (2, n_nodes)
            Left and right; NaN at leaves and at splits on other parents.
        """
        known = self._shares.get(parent)
        if known is None or known[0] is not root:
            place = self.parents.index(parent)
            split = _discrete_shares if isinstance(parent, Discrete) else _continuous_shares
            known = root, split(self.tree, place, root)
            self._shares[parent] = known
        return known[1]

    def potential(self, evidence: Evidence) -> Factor:
        """Return the potential over the free variables; see CPD.

        No parent is summed out here, so free continuous parents are refused.
        """
        return self._nothing_summed(evidence).potential(evidence)

    def accumulate(self, evidence: Evidence, scope: Sequence[Discrete], out: Floats) -> None:
        """Add the log potential to `out`; no parent is summed out. See CPD."""
        self._nothing_summed(evidence).accumulate(evidence, scope, out)

    def _nothing_summed(self, evidence: Evidence) -> _SummedTree:
        whole = _SummedTree(self, self.parents, np.full((2, self.tree.n_nodes), np.nan))
        whole.check_observed(evidence.columns)
        return whole

    def check_observed(self, observed: Collection[Variable]) -> None:
        """Raise an error if a continuous parent with splits is not observed; see NumericCPD."""
        super().check_observed({*observed, *self._idle})

    @cached_property
    def _idle(self) -> frozenset[Variable]:
        """The parents on which no node splits."""
        used = set(self.tree.feature.tolist())
        return frozenset(p for place, p in enumerate(self.parents) if place not in used)

    def reached(self, columns: Mapping[Variable, NDArray[Any]], n: int) -> Ints:
        """Return the index of the leaf that each of n rows reaches, given all parents' columns."""
        matrix = _matrix(self.parents, columns, n)
        return np.asarray(tree_kernels.reached_leaves(matrix, self.flat))

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the child's state code given the parents' columns; see CPD."""
        return draw_states(self.tree.values, self.reached(parents, n), random)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the tree; see CPD."""
        return {name: np.asarray(getattr(self.tree, name)) for name in ARRAYS}

    @classmethod
    def from_arrays(
        cls, children: Sequence[Variable], parents: Sequence[Variable], arrays: Mapping[str, Any]
    ) -> Self:
        """Return a CPD made from the arrays that `to_arrays` returned; see CPD."""
        return cls(children[0], Tree(**arrays), parents)  # type: ignore[arg-type]

    def __getstate__(self) -> dict[str, Any]:
        # Pickles and copies leave out the cached shares.
        return {**self.__dict__, "_shares": {}}

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return a table with a row for each leaf and the conditions on its path; see CPD."""
        tree, shown = self.tree, self.tree.leaves[:max_rows]
        above = np.full(tree.n_nodes, -1)
        splits = np.flatnonzero(tree.feature >= 0)
        above[tree.left[splits]] = above[tree.right[splits]] = splits
        paths = texts([self._path(leaf, above) for leaf in shown.tolist()], _LONGEST_PATH)
        names = state_texts(self.variable, _LONGEST, max_columns)
        rows = [
            [path, *(f"{p:.3f}" for p in shares[:max_columns])]
            for path, shares in zip(paths, tree.values[shown], strict=True)
        ]
        hidden = self.variable.cardinality - len(names)
        note = left_out(len(tree.leaves) - len(rows), hidden)
        return Description(["leaf", *names], rows, None, note)

    def _display(self) -> DisplayTable:
        n = len(self.tree.leaves)
        size = f"{n} {'leaf' if n == 1 else 'leaves'}, depth {self.tree.depth}"
        return replace(super()._display(), title=f"{self.title}, {size}")

    def _path(self, leaf: int, above: NDArray[np.intp]) -> str:
        """Return the path to a leaf as text; ``above[node]`` is the parent node of each node."""
        taken: list[tuple[Variable, Branch]] = []
        while (node := int(above[leaf])) >= 0:
            head = int(self.tree.heads[node])
            branch = next(b for b in self.tree.branches(head) if b.node == leaf)
            taken.append((self.parents[self.tree.feature[head]], branch))
            leaf = head
        conditions: list[str] = []
        possible: dict[Variable, NDArray[np.bool_]] = {}
        for parent, branch in reversed(taken):
            states = branch.states & possible.get(parent, np.True_)
            possible[parent] = states
            conditions.append(self._condition(parent, branch._replace(states=states)))
        return " and ".join(conditions) or "always"

    def _condition(self, parent: Variable, branch: Branch) -> str:
        """Return the text of the condition of a branch of a split on `parent`: ``age ≤ 40``."""
        if not isinstance(parent, Discrete):
            return interval_text(str(parent.name), branch.low, branch.high)
        places = np.flatnonzero(branch.states[: parent.cardinality]).tolist()
        names = texts([parent.states[i] for i in places[:_MAXIMUM_STATES]], _LONGEST)
        more = [f"{len(places) - len(names):,} more"] if len(places) > len(names) else []
        return f"{parent.name} = {' or '.join([*names, *more])}"


def cut_text(cut: float) -> str:
    """Return a threshold as text, not rounded; minus is U+2212."""
    return cut_texts([cut])[0].replace("-", "−")


def interval_text(
    name: str, low: float, high: float, written: Callable[[float], str] = cut_text
) -> str:
    """Return the text that a number is in a branch, such as ``age > 40`` or ``40 < age ≤ 60``.

    Without a `name` it is ``> 40`` or ``40 … 60``. `written` writes a number.
    """
    if math.isinf(low):
        return f"{name} ≤ {written(high)}".lstrip()
    if math.isinf(high):
        return f"{name} > {written(low)}".lstrip()
    return f"{written(low)} {f'< {name} ≤' if name else '…'} {written(high)}"


class _SummedTree(summing_out.RootsSummed):
    """A tree CPD that sums out unobserved root parents by taking both branches of their splits."""

    source: TreeCPD

    def check_observed(self, observed: Collection[Variable]) -> None:
        """Raise an error if a continuous parent with splits is not observed; see NumericCPD."""
        super().check_observed({*observed, *self.source._idle})

    def _add(
        self, out: Floats, evidence: Evidence, codes: Mapping[Discrete, int], n_rows: int
    ) -> None:
        fixed: dict[Variable, Any] = {p: np.array([code]) for p, code in codes.items()}
        child = evidence.columns.get(self.variable, np.empty(0))
        tree_kernels.add_tree(
            out,
            _matrix(self.source.parents, {**evidence.columns, **fixed}, n_rows),
            self.source.flat,
            len(self.source.tree.levels),
            self._share,
            self.source.log_values,
            np.ascontiguousarray(child, dtype=np.int64),
        )


def _matrix(
    parents: Sequence[Variable], columns: Mapping[Variable, NDArray[Any]], n_rows: int
) -> Floats:
    """Return the parents' columns as floats, NaN where missing, shape (n_parents, n_rows)."""
    matrix = np.full((len(parents), n_rows), np.nan)
    for row, parent in zip(matrix, parents, strict=True):
        if parent in columns:
            row[:] = columns[parent]
            if isinstance(parent, Discrete):
                row[row < 0] = np.nan
    return matrix


# ------------------------------------------------------------------- shares of missing parents


def _continuous_shares(tree: Tree, place: int, root: CPD) -> Floats:
    """Return log P(branch | earlier splits on the path) at splits on a continuous parent.

    `place` is the index of the parent, and `root` its CPD.
    """
    low, high = np.full(tree.n_nodes, -np.inf), np.full(tree.n_nodes, np.inf)
    cut = np.where(tree.feature == place, tree.threshold, np.nan)
    for level in tree.levels:
        on_left, on_right = tree.left[level], tree.right[level]
        low[on_left], high[on_left] = low[level], np.fmin(high[level], cut[level])
        low[on_right], high[on_right] = np.fmax(low[level], cut[level]), high[level]
    nodes = np.flatnonzero(tree.feature == place)
    low, high = low[nodes], high[nodes]
    # A threshold outside the interval sends the whole interval to one branch.
    middle = np.clip(tree.threshold[nodes], low, high)
    left = root.log_interval(low, middle)[:, 0]
    return _shares(tree, nodes, left, root.log_interval(middle, high)[:, 0])


def _discrete_shares(tree: Tree, place: int, root: CPD) -> Floats:
    """Return log P(branch | earlier splits on the path) at splits on a discrete parent.

    The arguments are those of `_continuous_shares`.
    """
    probability = summing_out.state_probabilities(root)
    others = (tree.feature != place)[:, None]
    goes_left = tree.left_states[:, : len(probability)]
    possible = np.ones(goes_left.shape, dtype=bool)
    may_left, may_right = goes_left | others, ~goes_left | others
    for level in tree.levels:
        possible[tree.left[level]] = possible[level] & may_left[level]
        possible[tree.right[level]] = possible[level] & may_right[level]
    nodes = np.flatnonzero(~others)
    left, right = ((possible & goes)[nodes] @ probability for goes in (goes_left, ~goes_left))
    return _shares(tree, nodes, log_of(left), log_of(right))


def _shares(tree: Tree, nodes: Ints, left: Floats, right: Floats) -> Floats:
    result = np.full((2, tree.n_nodes), np.nan)
    whole = log_integral(np.stack([left, right]), np.ones(2))
    # The shares are arbitrary at a split that is reached with probability zero.
    whole = np.where(np.isneginf(whole), 0.0, whole)
    result[:, nodes] = left - whole, right - whole
    return result


# ---------------------------------------------------------------------------- making and checking


def _flattened(tree: Any, variable: Discrete, parents: Sequence[Variable]) -> Tree:
    """Return a tree given as nested splits (`Split`) as flat arrays (`Tree`)."""
    names = [parent.name for parent in parents]
    width = max((p.cardinality for p in parents if isinstance(p, Discrete)), default=0)
    nodes: list[Any] = [tree]
    rows: list[tuple[int, float, list[bool], int, int, bool]] = []
    for node in nodes:  # the loop itself appends to the list
        if not isinstance(node, Split):
            rows.append((-1, 0.0, [False] * width, -1, -1, False))
            continue
        name = node.on.name if isinstance(node.on, (Discrete, Continuous)) else node.on
        if name not in names:
            raise unknown_variable(name, names, where="The tree's list of parents")
        place = names.index(name)
        parent = parents[place]
        threshold, states = 0.0, [False] * width
        if isinstance(parent, Continuous):
            threshold = parent.number(node.at)
        else:
            assert isinstance(parent, Discrete)  # vectors of counts are no parents
            for state in _listed(node.at, parent):
                states[parent.index(state)] = True
        rows.append((place, threshold, states, len(nodes), len(nodes) + 1, node.continues))
        nodes += [node.left, node.right]
    values = np.zeros((len(nodes), variable.cardinality))
    for k, node in enumerate(nodes):
        if not isinstance(node, Split):
            what = f"A leaf of the tree of {variable.name!r}"
            values[k] = checked_numbers(node, (variable.cardinality,), what=what)
    feature, thresholds, left_states, left, right, continues = zip(*rows, strict=True)
    return Tree(
        np.array(feature),
        np.array(thresholds),
        np.array(left_states, dtype=bool).reshape(len(nodes), width),
        np.array(left),
        np.array(right),
        values,
        continues=np.array(continues),
    )


def _listed(states: Any, parent: Discrete) -> list[Any]:
    if isinstance(states, (list, tuple, set, frozenset, np.ndarray)):
        return list(states)
    raise CPDError(
        f"A split on the discrete parent {parent.name!r} takes the list of the states that go "
        f"left; got {states!r}. Write [{states!r}] for one."
    )


def _checked(tree: Tree, variable: Discrete, parents: Sequence[Variable], what: str) -> Tree:
    """Return a tree with read-only arrays of the right types, or raise a CPDError.

    `what` names the CPD in error messages.
    """
    n = len(np.atleast_1d(tree.feature))
    width = max((p.cardinality for p in parents if isinstance(p, Discrete)), default=0)
    shapes = {
        "feature": (n,),
        "threshold": (n,),
        "left_states": (n, width),
        "left": (n,),
        "right": (n,),
        "values": (n, variable.cardinality),
        "counts": (len(np.atleast_1d(tree.counts)) and n,),
        "continues": (len(np.atleast_1d(tree.continues)) and n,),
    }
    kinds: dict[str, Any] = dict.fromkeys(("left_states", "continues"), bool) | dict.fromkeys(
        ("feature", "left", "right"), np.int64
    )
    found = {}
    for name, shape in shapes.items():
        given = np.asarray(getattr(tree, name))
        if given.shape != shape:
            raise CPDError(f"{what}: {name} takes shape {shape}; got {given.shape}.")
        kind = kinds.get(name, np.float64)
        array = np.array(given, dtype=kind, order="C")
        if kind is not np.float64 and not np.array_equal(array, given):
            raise CPDError(f"{what}: {name} takes values of {np.dtype(kind)}; got {given!r:.200}.")
        found[name] = array
    if not found["continues"].any():
        found["continues"] = np.empty(0, dtype=bool)
    made = Tree(**found)
    _check_links(made, len(parents), what)
    _check_splits(made, parents, what)
    _check_continued(made, what)
    _check_numbers(made, what)
    for name in ARRAYS:
        getattr(made, name).flags.writeable = False
    return made


def _check_links(tree: Tree, n_parents: int, what: str) -> None:
    n = tree.n_nodes
    if n < 1:
        raise CPDError(f"{what}: a tree has at least one node; got none.")
    at = _first((tree.feature < -1) | (tree.feature >= n_parents))
    if at >= 0:
        raise CPDError(
            f"{what}: feature takes positions among the {n_parents} parents, and -1 at leaves; got "
            f"{tree.feature[at]} at node {at}."
        )
    inner = tree.feature >= 0
    number = np.arange(n)
    for side in (tree.left, tree.right):
        at = _first(np.where(inner, (side <= number) | (side >= n), side != -1))
        if at >= 0:
            raise CPDError(
                f"{what}: left and right take the number of a later node at splits, and -1 at "
                f"leaves; got {side[at]} at node {at}."
            )
    visits = np.bincount(np.concatenate([tree.left[inner], tree.right[inner]]), minlength=n)
    at = _first(visits != (number > 0))
    if at >= 0:
        raise CPDError(
            f"{what}: every node but the first hangs below exactly one other; node {at} hangs "
            f"below {visits[at]}."
        )


def _check_continued(tree: Tree, what: str) -> None:
    if not len(tree.continues):
        return
    splits = np.flatnonzero(tree.feature >= 0)
    below = tree.right[splits]
    may = np.zeros(tree.n_nodes, dtype=bool)
    # Thresholds are zero at splits on discrete parents.
    may[below] = (tree.feature[below] == tree.feature[splits]) & (
        tree.left_states[below].any(axis=1) | (tree.threshold[below] > tree.threshold[splits])
    )
    at = _first(tree.continues & ~may)
    if at >= 0:
        raise CPDError(
            f"{what}: a split continues the one to whose right it is, on the same parent, with a "
            f"greater threshold or other states; that at node {at} does not."
        )


def _check_splits(tree: Tree, parents: Sequence[Variable], what: str) -> None:
    """Check thresholds and states of all splits, and set unused array entries to zero in place."""
    for place, parent in enumerate(parents):
        own = tree.feature == place
        if isinstance(parent, Continuous):
            at = _first(own & ~np.isfinite(tree.threshold))
            if at >= 0:
                raise CPDError(
                    f"{what}: a split on {parent.name!r} needs a finite threshold; got "
                    f"{tree.threshold[at]} at node {at}."
                )
            continue
        assert isinstance(parent, Discrete)  # vectors of counts are no parents
        n = parent.cardinality
        n_left = tree.left_states[:, :n].sum(axis=1)
        strange = tree.left_states[:, n:].any(axis=1)
        at = _first(own & ((n_left == 0) | (n_left == n) | strange))
        if at >= 0:
            raise CPDError(
                f"{what}: a split sends some of the {n} states of {parent.name!r} left and some "
                f"right; that at node {at} does not."
            )
    discrete = np.array([isinstance(p, Discrete) for p in parents] + [False], dtype=bool)
    is_discrete = discrete[tree.feature]
    tree.threshold[is_discrete | (tree.feature < 0)] = 0.0
    tree.left_states[~is_discrete] = False


def _check_numbers(tree: Tree, what: str) -> None:
    inner = tree.feature >= 0
    tree.values[inner] = 0.0
    at = _first(~(np.isfinite(tree.values) & (tree.values >= 0)).all(axis=1))
    if at >= 0:
        raise CPDError(
            f"{what}: leaves take finite non-negative numbers; got {tree.values[at]} at node {at}."
        )
    sums = tree.values.sum(axis=1)
    at = _first(~inner & (np.abs(sums - 1.0) > SUM_TOLERANCE))
    if at >= 0:
        raise CPDError(
            f"{what}: the probabilities at node {at} sum to {sums[at]:.9g}, not to 1. Divide them "
            "by their sum if they are weights."
        )
    at = _first(~(np.isfinite(tree.counts) & (tree.counts >= 0)))
    if at >= 0:
        raise CPDError(
            f"{what}: counts takes finite non-negative numbers, or nothing; got {tree.counts[at]}."
        )


def _first(wrong: Any) -> int:
    """Return the index of the first true entry of a boolean array, -1 if there is none."""
    return int(np.argmax(wrong)) if wrong.any() else -1
