"""CPDs of trees: splits on the parents select the distribution of a discrete child."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, log_integral, log_of
from bayesgraph.core.display import DisplayTable, cut_texts
from bayesgraph.core.errors import CPDError, UnsupportedModelError, unknown_variable
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import by_rows
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.inference import Factor
from bayesgraph.models import tree_kernels
from bayesgraph.models.cpds.base import (
    CPD,
    SUM_TOLERANCE,
    Columns,
    Description,
    checked_numbers,
    draw_states,
    left_out,
    state_texts,
    texts,
)
from bayesgraph.models.cpds.table import TableCPD

Ints: TypeAlias = NDArray[np.int64]

# Maximum lengths of the names of states and of the paths to leaves in print, and maximum number of
# states in a condition.
_LONGEST, _LONGEST_PATH, _MAXIMUM_STATES = 16, 80, 8
# Maximum number of joint states of parents of a table in place of the splits.
_MAX_CELLS = 2**18
# Number of operations for a row and a tree, and of rows that go down a tree at a time.
_WORK, _LANES = 100, 8
# Minimum number of rows that go down trees as bits.
_MANY = 512
# The group of a missing value, where groups are small numbers.
MISSING = np.uint8(255)


@dataclass(frozen=True)
class Split:
    """A split of a tree, for writing a tree as nested splits.

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
    states : ndarray of bool, shape (number of states of the parent,)
        At splits on discrete parents: the states of the branch.
    """

    node: int
    low: float
    high: float
    states: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Trees:
    """Binary trees in flat arrays; each node precedes its child nodes, which are neighbours.

    A split with more than two branches is a sequence of binary ones: each takes one branch off to
    the left, and the next one, to its right, continues it. So each question about a binary tree is
    answered for many-way splits too.

    Attributes
    ----------
    roots : ndarray of int32, shape (n_trees,)
        Index of the root of each tree.
    feature : ndarray of int32, shape (n_nodes,)
        Index of the parent variable that a node splits on; -1 at leaves.
    states : ndarray of int64, shape (n_nodes, n_words)
        At splits on discrete parents: the groups of states that go left, as bits. Group g goes left
        if bit ``g % 64`` of word ``g // 64`` is set.
    below : ndarray of int32, shape (n_nodes,)
        The left child node of a split (the right one follows it); at leaves the row of `values`.
    values : ndarray, shape (n_distributions, n_states)
        Distributions of the child variable at the leaves, which may share them.
    groups : tuple of ndarray of int32
        Of each discrete parent the group of each state; of a continuous parent nothing.
    threshold : ndarray, shape (n_nodes,) or (0,)
        At splits on continuous parents: values up to the threshold go left. Empty without
        such parents.
    counts : ndarray, shape (n_nodes,) or (0,)
        Weight of the rows that reached each node in fitting, if known; shown in plots.
    continues : ndarray of bool, shape (n_nodes,) or (0,)
        Splits that continue the split of the node above, whose right child they are; empty if there
        are none.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    states: NDArray[np.int64]
    below: NDArray[np.int32]
    values: Floats
    groups: tuple[NDArray[np.int32], ...] = ()
    threshold: Floats = field(default_factory=lambda: np.empty(0))
    counts: Floats = field(default_factory=lambda: np.empty(0))
    continues: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))

    @classmethod
    def single(
        cls,
        parents: Sequence[Variable],
        feature: ArrayLike,
        threshold: ArrayLike,
        goes_left: ArrayLike,
        left: ArrayLike,
        continues: ArrayLike = (),
        values: ArrayLike | None = None,
    ) -> Trees:
        """Return one tree, in which each state is a group of its own.

        Parameters
        ----------
        parents : sequence of Variable
        feature, threshold, continues
            As the attributes.
        goes_left : array_like of bool, shape (n_nodes, maximum of states of a parent)
            The states that go left.
        left : array_like of int, shape (n_nodes,)
            The left child node of each split.
        values : array_like, shape (n_leaves, n_states), optional
            The distributions at the leaves, by default zero.
        """
        sizes = [parent.cardinality if isinstance(parent, Discrete) else 0 for parent in parents]
        places = np.array(feature, dtype=np.int32)
        # The leaves, in the order of their nodes, have the rows of `values`.
        below = np.where(places < 0, np.cumsum(places < 0) - 1, left).astype(np.int32)
        return cls(
            np.zeros(1, dtype=np.int32),
            places,
            _words(np.array(goes_left, dtype=bool).reshape(len(places), -1), max(sizes, default=0)),
            below,
            np.zeros((np.count_nonzero(places < 0), 1)) if values is None else np.array(values),
            tuple([np.arange(size, dtype=np.int32) for size in sizes]),
            np.array(threshold, dtype=np.float64),
            continues=np.array(continues, dtype=bool),
        )

    @property
    def n_nodes(self) -> int:
        """The number of inner nodes and leaves; a split of k branches has k - 1 nodes."""
        return len(self.feature)

    @cached_property
    def leaves(self) -> NDArray[np.intp]:
        """The indices of the leaves."""
        return np.flatnonzero(self.feature < 0)

    @cached_property
    def levels(self) -> list[Ints]:
        """The nodes that split, by depth: of the roots, then of the nodes below, and so on."""
        levels = []
        level = self.roots.astype(np.int64)
        while len(level := level[self.feature[level] >= 0]):  # without leaves
            levels.append(level)
            level = np.concatenate([self.below[level], self.below[level] + 1])
        return levels

    @cached_property
    def _continued(self) -> NDArray[np.bool_]:
        """Whether the right child of each node continues its split."""
        continued = np.zeros(self.n_nodes, dtype=bool)
        if len(self.continues):
            inner = np.flatnonzero(self.feature >= 0)
            continued[inner] = self.continues[self.below[inner] + 1]
        return continued

    @cached_property
    def depth(self) -> int:
        """The maximum number of splits on the path to a leaf; a many-way split counts once."""
        depth = np.zeros(self.n_nodes, dtype=np.int64)
        for level in self.levels:
            depth[self.below[level]] = depth[level] + 1
            # The right child adds 1, or 0 (not true) where it continues the same split.
            depth[self.below[level] + 1] = depth[level] + ~self._continued[level]
        return int(depth.max())

    @cached_property
    def heads(self) -> Ints:
        """The node with which the split of each node begins: itself, unless it continues one."""
        heads = np.arange(self.n_nodes)
        for level in self.levels:
            level = level[self._continued[level]]
            heads[self.below[level] + 1] = heads[level]
        return heads

    def branches(self, node: int) -> list[Branch]:
        """Return the branches of the split that begins at a node, in order."""
        result: list[Branch] = []
        group = self.groups[self.feature[node]]  # empty for a number
        # What the branches before have left over: values above `low`, and the states `rest`.
        low, rest = -math.inf, np.ones(len(group), dtype=bool)
        while True:
            high = float(self.threshold[node]) if not len(group) else math.inf
            below, states = int(self.below[node]), _bits(self.states[node], group)
            result.append(Branch(below, low, high, rest & states))
            low, rest = high, rest & ~states
            if not self._continued[node]:
                return [*result, Branch(below + 1, low, math.inf, rest)]
            node = below + 1

    def first(self, n: int) -> Trees:
        """Return the first `n` trees, without thresholds, counts and splits of many branches."""
        end = self.roots[n] if n < len(self.roots) else self.n_nodes
        feature, states, below = self.feature[:end], self.states[:end], self.below[:end]
        return Trees(self.roots[:n], feature, states, below, self.values, self.groups)

    @cached_property
    def _is_number(self) -> NDArray[np.bool_]:
        """Whether each parent is a number, which has no groups of states."""
        return np.array([not len(group) for group in self.groups], dtype=bool)

    @cached_property
    def arrays(self) -> tree_kernels.TreeArrays:
        """What kernels read."""
        return tree_kernels.TreeArrays(
            self._is_number,
            self.feature,
            self.threshold,
            self.states,
            self.below,
            len(self.levels),
        )

    @cached_property
    def _missing(self) -> Any:
        """What stands for a missing value in `codes`: 255 in bytes, or NaN.

        Codes are bytes if no parent is a number and at most 64 groups are told apart, in one word.
        """
        return np.nan if self._is_number.any() or self.states.shape[1] > 1 else MISSING

    @cached_property
    def _table(self) -> NDArray[Any]:
        """The group of each parent's states, a row for each parent.

        The last column is that of a missing value, whose state code is -1.
        """
        most = max(map(len, self.groups), default=0)
        table = np.full((len(self.groups), 1 + most), self._missing)
        for row, group in zip(table, self.groups, strict=True):
            row[: len(group)] = group
        return table

    def codes(self, places: Ints, columns: Any, n_rows: int) -> NDArray[Any]:
        """Return the values by which rows go down trees, shape (n_parents, n_rows).

        Parameters
        ----------
        places : ndarray of int
            Indices of the parents whose values are given; those of others are missing.
        columns : sequence of arrays, or matrix, shape (len(places), n_rows)
            State codes, -1 where missing, and numbers, NaN where missing.
        n_rows : int

        Returns
        -------
        ndarray of uint8 or float
            Groups of states, and numbers; 255, or NaN, where missing.
        """
        if self._table.dtype == np.uint8 and len(places) == len(self.groups) > 0:
            # The code -1 takes the last column, that of a missing value.
            groups: NDArray[Any] = self._table[places[:, None], columns]
            return groups
        codes = np.full((len(self.groups), n_rows), self._missing)
        for place, column in zip(places.tolist(), columns, strict=True):
            codes[place] = column if self._is_number[place] else self._table[place, column]
        return codes

    def means(self, codes: NDArray[Any], share: Floats) -> Floats:
        """Return the mean of the trees' distributions for each row, shape (n_rows, n_states).

        Parameters
        ----------
        codes : ndarray
            See `codes`; a row takes both branches where the parent of a split is missing.
        share : ndarray, shape (2, n_nodes)
            See `log_shares`.
        """
        return self._sums(codes, share)[0]

    def logs(self, codes: NDArray[Any], share: Floats) -> Floats:
        """Return the logarithms of `means`, also of those that underflow."""
        # The rare terms of a row are the log of a sum over trees, which is not yet divided. With
        # weights of one, `log_integral` is a log-sum-exp over the first axis.
        means, rare = self._sums(codes, share)
        logs = log_of(means)
        if np.maximum.reduce(rare, axis=None, initial=-np.inf) > -np.inf:
            logs = log_integral(np.stack([logs, rare - math.log(len(self.roots))]), np.ones(2))
        return logs

    def _sums(self, codes: NDArray[Any], share: Floats) -> tuple[Floats, Floats]:
        """Return the means, and the logs of sums over leaves that rows reach with tiny weights."""
        n_rows, n_states = codes.shape[1], self.values.shape[1]
        out, rare = np.zeros((n_rows, n_states)), np.empty((n_rows, n_states))
        rare.fill(-np.inf)
        cost = _WORK * len(self.roots)
        # Many rows go down together as bits, where nodes share their splits: two or more on
        # average. A row with a missing value, which takes both branches, goes down by itself.
        alone: Any = slice(None)
        if codes.dtype == np.uint8 and n_rows >= _MANY and self._splits[1].size <= self.n_nodes:
            together = out, codes, self.roots, self.arrays, *self._splits, self.values
            multiple = tree_kernels.TOGETHER
            by_rows(tree_kernels.descend_together, together, n_rows, cost, multiple)
            # What rows with a missing value got is wrong: they start anew.
            alone = np.flatnonzero((codes == MISSING).any(axis=0))
            out[alone] = 0.0
        sums, logs = out[alone], rare[alone]  # views if these are all rows
        arguments = self._descent(sums, logs, codes[:, alone], share, self.values, spreads=False)
        by_rows(tree_kernels.descend, arguments, len(sums), cost)
        out[alone], rare[alone] = sums, logs
        out /= len(self.roots)
        return out, rare

    @cached_property
    def _splits(self) -> tuple[Ints, Ints]:
        """The number of each node's split among the different ones, and these splits.

        The second array has shape (2, n_splits): the parent of each, and the groups that go left as
        the bits of the one word that codes in bytes need.
        """
        splits = np.stack([self.feature, self.states[:, 0]])
        # In this order equal splits are neighbours; each that differs from the one before is new.
        order = np.lexsort(splits)
        is_new = np.append(True, (np.diff(splits[:, order]) != 0).any(axis=0))
        number = np.empty(self.n_nodes, dtype=np.int64)
        number[order] = np.cumsum(is_new) - 1
        return number, splits[:, order[is_new]]

    def spread(self, codes: NDArray[Any], share: Floats, amounts: Floats, out: Floats) -> None:
        """Add what rows have, (n_rows, m), to the leaves that they reach, (n_distributions, m).

        See `means`; a row that reaches several leaves is divided among them.
        """
        arguments = self._descent(out, out[:0], codes, share, amounts, spreads=True)
        tree_kernels.descend(*arguments, 0, len(amounts))

    def _descent(
        self, out: Floats, rare: Floats, codes: Any, share: Floats, table: Floats, *, spreads: bool
    ) -> tuple[Any, ...]:
        """Return the arguments of `tree_kernels.descend` but the range of rows."""
        # The kernel reads only the length of the tuple, which is a constant when it is compiled.
        lanes = tuple(range(_LANES if codes.shape[1] >= _LANES else 1))
        trees = self.roots, self.arrays, share
        return out, rare, codes, self._missing, *trees, table, spreads, lanes

    def log_shares(self, priors: Mapping[int, Any]) -> Floats:
        """Return log P(branch | earlier splits on the path) at splits on missing parents.

        Parameters
        ----------
        priors : mapping from index of a parent
            To the probabilities of a discrete parent's groups of states, and to the CPD of a
            number, which has no parents of its own.

        Returns
        -------
        ndarray, shape (2, n_nodes)
            Left and right; NaN at leaves and at splits on other parents. The shares are arbitrary
            at a split that is reached with probability zero.
        """
        share = np.full((2, self.n_nodes), np.nan)
        # The last entry is that of leaves, whose feature is -1.
        wanted = np.zeros(len(self.groups) + 1, dtype=bool)
        wanted[list(priors)] = True
        discrete = {j: prior for j, prior in priors.items() if len(self.groups[j])}
        # A row for each parent, with the probabilities of its groups.
        probabilities = np.zeros((len(wanted), max(map(len, discrete.values()), default=0)))
        for place, prior in discrete.items():
            probabilities[place, : len(prior)] = prior
        # Then `share` has probabilities of groups at splits on discrete parents, not yet divided by
        # that of what reaches the node; and the ends of intervals at splits on numbers.
        tree_kernels.branches_of(wanted, probabilities, self.arrays, share)
        for place in priors.keys() - discrete.keys():
            nodes = np.flatnonzero(self.feature == place)
            low, high = share[:, nodes].copy()
            # A threshold outside the interval sends the whole interval to one branch. The CPD of
            # the number has no parents, and so a single column.
            middle = np.clip(self.threshold[nodes], low, high)
            for side, ends in zip(share, ((low, middle), (middle, high)), strict=True):
                side[nodes] = priors[place].log_interval(*ends)[:, 0]
        nodes = np.flatnonzero(np.isin(self.feature, list(discrete)))
        share[:, nodes] = log_of(share[:, nodes])
        nodes = np.flatnonzero(wanted[self.feature])
        # Divided by what reaches the node, the shares of both branches sum to one, unless nothing
        # reaches it.
        whole = log_integral(share[:, nodes], np.ones(2))
        share[:, nodes] -= np.where(np.isneginf(whole), 0.0, whole)
        return share

    def group_shares(self, place: int, states: Floats) -> Floats:
        """Return the probabilities of the groups of a parent, given those of its states."""
        return np.asarray(np.bincount(self.groups[place], states), dtype=np.float64)

    def __getstate__(self) -> dict[str, Any]:
        # Pickles and copies leave out what is found from the fields.
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _bits(words: NDArray[np.int64], groups: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return the bits of words at groups of states: group g is bit ``g % 64`` of ``g // 64``."""
    return np.asarray(words[groups >> 6] >> (groups & 63) & 1, dtype=bool)


# The arrays of trees in files, their types and numbers of axes.
_KINDS: dict[str, tuple[Any, int]] = {
    "roots": (np.int32, 1),
    "feature": (np.int32, 1),
    "states": (np.int64, 2),
    "below": (np.int32, 1),
    "values": (np.float64, 2),
    "groups": (np.int32, 1),
    "threshold": (np.float64, 1),
    "counts": (np.float64, 1),
    "continues": (np.bool_, 1),
}


class TreesCPD(CPD):
    """A discrete child given discrete and continuous parents, as a tree or the mean of several.

    Each leaf of a tree is a context in which the child is independent of all parents without a
    split on the path to the leaf (context-specific independence: Boutilier, Friedman, Goldszmidt,
    Koller 1996). Discrete parents split by subsets of their states, continuous parents at
    thresholds, into two or more branches. Random trees, averaged, are a random forest (Breiman
    2001). The average is a distribution in which the tree is a hidden variable that is independent
    of the parents.

    If an unobserved parent is a root of the network without other children, inference takes both
    branches of its splits, each with its probability given the earlier splits on the path. This sum
    is exact. All other free discrete parents stay in the factor; all other free continuous parents
    are refused.

    Parameters
    ----------
    variable : Discrete
        The child.
    trees : Trees, Split, or probabilities of the child's states
        Flat arrays, or nested splits whose leaves are probabilities.
    parents : iterable of Variable
        Discrete and continuous.

    Raises
    ------
    CPDError
        For a continuous child, arrays that do not form trees, a split that sends all states to
        one side, or a leaf whose values are no distribution (sum within 1e-6 of one).
    UnknownVariableError, UnknownStateError
        For a split on a variable that is not a parent, or by a state that the parent lacks.

    Examples
    --------
    >>> age, smoker = Continuous("age"), Discrete("smoker", ["no", "yes"])
    >>> sick = Discrete("sick", [False, True])
    >>> split = Split("age", 40.0, [0.9, 0.1], Split("smoker", ["no"], [0.8, 0.2], [0.4, 0.6]))
    >>> TreesCPD(sick, split, [age, smoker])
    TreesCPD P(sick | age, smoker), 3 leaves, depth 2
      leaf                       False   True
      age ≤ 40                   0.900  0.100
      age > 40 and smoker = no   0.800  0.200
      age > 40 and smoker = yes  0.400  0.600
    """

    other_arrays: ClassVar[tuple[str, ...]] = tuple(_KINDS)
    optional_arrays = ("threshold", "counts", "continues")

    variable: Discrete
    sliceable = False  # the splits name states of parents
    _takes_numbers = True
    _hint = " Let the tree choose the leaf, a discrete variable, and give the child a GaussianCPD."
    # The parents that were summed out last, with their CPDs, and the shares of branches.
    _cached: tuple[Mapping[Variable, CPD], Floats | None] = {}, None

    def __init__(
        self,
        variable: Discrete,
        trees: Trees | Split | ArrayLike,
        parents: Iterable[Variable] = (),
    ) -> None:
        self._set_family(variable, parents)
        flat = trees if isinstance(trees, Trees) else _flattened(trees, variable, self.parents)
        self.trees = _checked(flat, variable, self.parents, self.title)

    @cached_property
    def _places(self) -> Ints:
        """The index of each parent among those of the trees, which `summed` leaves out in part."""
        return np.arange(len(self.parents))

    @cached_property
    def _share(self) -> Floats:
        """The logarithms of the shares of branches where a parent is missing; see `summed`."""
        return np.full((2, self.trees.n_nodes), np.nan)

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities: n_states - 1 for each leaf."""
        return len(self.trees.leaves) * (self.variable.cardinality - 1)

    def with_parents_set(self, values: Mapping[Variable, Any]) -> CPD:
        """Return the table given values of some parents, if all others are discrete; see CPD."""
        fixed = [parent for parent in self.parents if parent in values]
        free = [p for p in self.discrete_parents if p not in values]
        cells = math.prod([parent.cardinality for parent in free])
        # Fewer than all parents are fixed or discrete if a number remains. Then the base class
        # refuses, and so it does where the table would be too large.
        if not fixed or len(fixed) + len(free) < len(self.parents) or cells > _MAX_CELLS:
            return super().with_parents_set(values)
        factor = self.potential(Evidence(1, {v: np.array([values[v]]) for v in fixed}))
        return TableCPD(self.variable, np.exp(factor.aligned([*free, self.variable])[0]), free)

    def summed(self, roots: Mapping[Variable, CPD], observed: Collection[Variable]) -> TreesCPD:
        """Return the CPD that sums out the given root parents in rows where they are missing.

        Parameters
        ----------
        roots : mapping from parent to CPD
            The root parents that have no other child, and their CPDs.
        observed : collection of variables
            Variables observed in at least one row. Roots that are not observed in any row are no
            parents of the result.
        """
        # The shares are cached, as they are the same for all evidence.
        cached, share = self._cached
        if share is None or any(cached.get(parent) is not root for parent, root in roots.items()):
            share = self.log_shares(roots)
            self._cached = dict(roots), share
        # The trees stay as they are; `_places` says which of their parents are still parents.
        cpd = copy.copy(self)
        kept = [k for k, p in enumerate(self.parents) if p in observed or p not in roots]
        cpd.parents = tuple([self.parents[k] for k in kept])
        cpd._places, cpd._share = np.array(kept, dtype=np.int64), share
        return cpd

    def log_shares(self, roots: Mapping[Variable, CPD]) -> Floats:
        """Return the logarithms of the shares of the branches of splits on root parents.

        See `Trees.log_shares`; `roots` has the CPDs of parents.
        """
        priors: dict[int, Any] = {}
        for place, parent in enumerate(self.parents):
            if parent in roots and isinstance(parent, Discrete):
                states = state_probabilities(roots[parent])
                priors[place] = self.trees.group_shares(place, states)
            elif parent in roots:
                priors[place] = roots[parent]
        return self.trees.log_shares(priors)

    def potential(self, evidence: Evidence) -> Factor:
        """Return the potential over the free variables, some root parents summed out; see CPD."""
        free = [p for p in self.discrete_parents if p not in evidence]
        cards = [p.cardinality for p in free]
        columns = {v: evidence.columns[v] for v in self.scope if v in evidence}
        n_rows = evidence.n_rows if columns else 1  # all rows are equal if nothing is observed
        cells = 1 if self.variable in evidence else self.variable.cardinality
        entries = math.prod(cards) * cells * n_rows
        self._check_size(entries)
        # One descent of all rows for each configuration of the free parents.
        out = np.zeros((*cards, cells, n_rows))
        for codes in np.ndindex(*cards):
            fixed = {p: np.full(n_rows, code) for p, code in zip(free, codes, strict=True)}
            with_parents = Evidence(n_rows, columns | fixed, matrices=evidence.matrices)
            self._add(with_parents, out[codes])
        rows_first = np.moveaxis(out, -1, 0)
        if self.variable in evidence:
            return Factor.from_log(free, rows_first[..., 0])
        return Factor.from_log([*free, self.variable], rows_first)

    def accumulate(self, evidence: Evidence, scope: Sequence[Discrete], out: Floats) -> None:
        """Add the log potential to `out`; see CPD."""
        # The scope has the child if it is free; if it has anything else, a parent is free.
        if len(scope) > (self.variable not in evidence):
            super().accumulate(evidence, scope, out)
            return
        self._add(evidence, out)

    def _add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log potential to `out`, (n_states, n_rows), or (1, n_rows) for a known child."""
        self.check_observed(evidence.columns)
        n_rows = evidence.n_rows
        # The parents with columns, by their indices in the trees, and these columns.
        places = self._places
        states: Any = []
        if self.continuous_parents:
            # Numbers on which no node splits may be free.
            observed = [k for k, parent in enumerate(self.parents) if parent in evidence]
            places = places[observed]
            states = [evidence.columns[self.parents[k]] for k in observed]
        elif self.parents:
            states = evidence.matrix(self.parents).T
        logs = self.trees.logs(self.trees.codes(places, states, n_rows), self._share)
        child = evidence.columns.get(self.variable)
        if child is None:
            out += logs.T
        else:
            out[0] += np.where(child >= 0, logs[np.arange(n_rows), child], 0.0)

    def check_observed(self, observed: Container[Variable]) -> None:
        """Raise an UnsupportedModelError if a number on which nodes split is not observed."""
        for variable in self._numbers:
            if variable not in observed:
                raise UnsupportedModelError(
                    f"{variable.name!r} is continuous, not observed, and {self.title} is not "
                    "linear Gaussian in it: there is no exact answer. Only a root that feeds this "
                    "CPD alone and is not a target is summed out. Observe it, leave it out of the "
                    "targets, or query with method='likelihood-weighting'."
                )

    @cached_property
    def _numbers(self) -> list[Variable]:
        """The continuous parents on which some node splits."""
        used = set(self.trees.feature.tolist()) if self.continuous_parents else set()
        places = zip(self.parents, self._places.tolist(), strict=True)
        return [p for p, place in places if isinstance(p, Continuous) and place in used]

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the child's state code given the parents' columns; see CPD."""
        columns = [parents[parent] for parent in self.parents]
        codes = self.trees.codes(self._places, columns, n)
        return draw_states(self.trees.means(codes, self._share), np.arange(n), random)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the trees, integers in the smallest type for them; see CPD."""
        # One after the other; with an empty array, so that there is one without parents too.
        groups = np.concatenate([*self.trees.groups, np.empty(0, dtype=np.int32)])
        return {
            name: _narrowed(groups if name == "groups" else getattr(self.trees, name))
            for name in _KINDS
        }

    @classmethod
    def from_arrays(
        cls, children: Sequence[Variable], parents: Sequence[Variable], arrays: Mapping[str, Any]
    ) -> Self:
        """Return a CPD made from the arrays that `to_arrays` returned; see CPD."""
        sizes = [parent.cardinality if isinstance(parent, Discrete) else 0 for parent in parents]
        groups = np.split(np.asarray(arrays["groups"]), np.cumsum(sizes)[:-1]) if sizes else []
        return cls(children[0], Trees(**{**arrays, "groups": tuple(groups)}), parents)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        """Tell whether two CPDs are of equal trees, and sum out the same."""
        if not isinstance(other, TreesCPD) or not super().__eq__(other):
            return False
        return np.array_equal(self._share, other._share, equal_nan=True)

    __hash__ = None

    def __getstate__(self) -> dict[str, Any]:
        # Pickles and copies leave out what is cached.
        return {name: getattr(self, name) for name in ("variable", "parents", "trees")}

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return a table of the leaves and their paths, or of the splits of many trees; see CPD."""
        trees = self.trees
        if len(trees.roots) > 1:
            splits = np.bincount(trees.feature[trees.feature >= 0], minlength=len(self.parents))
            order = np.argsort(-splits, kind="stable")[:max_rows].tolist()
            rows = [[str(self.parents[j].name), f"{splits[j]:,}"] for j in order]
            n, leaves = len(trees.roots), len(trees.leaves)
            note = f"{n:,} trees with {leaves:,} leaves, at most {trees.depth} splits deep"
            return Description(["parent", "splits"], rows, None, note)
        shown = trees.leaves[:max_rows]
        above = np.full(trees.n_nodes, -1)  # the node above each node; -1 at the root
        inner = np.flatnonzero(trees.feature >= 0)
        above[trees.below[inner]] = above[trees.below[inner] + 1] = inner
        paths = texts([self._path(leaf, above) for leaf in shown.tolist()], _LONGEST_PATH)
        names = state_texts(self.variable, _LONGEST, max_columns)
        rows = [
            [path, *(f"{p:.3f}" for p in shares[:max_columns])]
            for path, shares in zip(paths, trees.values[trees.below[shown]], strict=True)
        ]
        hidden = self.variable.cardinality - len(names)
        note = left_out(len(trees.leaves) - len(rows), hidden)
        return Description(["leaf", *names], rows, None, note)

    def _display(self) -> DisplayTable:
        """Return the printed table; the title of a single tree has its size."""
        shown, n = super()._display(), len(self.trees.leaves)
        if len(self.trees.roots) > 1:
            return shown
        size = f"{n} {'leaf' if n == 1 else 'leaves'}, depth {self.trees.depth}"
        return replace(shown, title=f"{self.title}, {size}")

    def _path(self, leaf: int, above: NDArray[np.intp]) -> str:
        """Return the path to a leaf as text; ``above[node]`` is the parent node of each node."""
        branches: list[tuple[Variable, Branch]] = []
        # Upwards, from each node to the head of the split, perhaps of many branches, above it.
        while (node := int(above[leaf])) >= 0:
            head = int(self.trees.heads[node])
            branch = next(b for b in self.trees.branches(head) if b.node == leaf)
            branches.append((self.parents[self.trees.feature[head]], branch))
            leaf = head
        conditions: list[str] = []
        possible: dict[Variable, NDArray[np.bool_]] = {}
        for parent, branch in reversed(branches):
            # States that a split nearer to the root sent elsewhere are left out.
            states = branch.states & possible.get(parent, np.True_)
            possible[parent] = states
            conditions.append(self._condition(parent, branch._replace(states=states)))
        return " and ".join(conditions) or "always"

    def _condition(self, parent: Variable, branch: Branch) -> str:
        """Return the text of the condition of a branch of a split on `parent`: ``age ≤ 40``."""
        if not isinstance(parent, Discrete):
            return interval_text(str(parent.name), branch.low, branch.high)
        places = np.flatnonzero(branch.states).tolist()
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


# --------------------------------------------------------------- roots that trees sum out


def state_probabilities(root: CPD) -> Floats:
    """Return the prior probabilities of a discrete root, shape (n_states,), from its CPD."""
    potential = root.potential(Evidence(1, {}))
    assert isinstance(potential, Factor)  # the root is discrete
    return np.asarray(np.exp(potential.log_values[0]))


# ---------------------------------------------------------------------------- making and checking


def _flattened(tree: Any, variable: Discrete, parents: Sequence[Variable]) -> Trees:
    """Return a tree given as nested splits (`Split`) as flat arrays."""
    names = [parent.name for parent in parents]
    width = max((p.cardinality for p in parents if isinstance(p, Discrete)), default=0)
    nodes: list[Any] = [tree]
    rows: list[tuple[int, float, NDArray[np.bool_], int, bool]] = []
    values: list[Floats] = []
    for node in nodes:  # the loop itself appends to the list
        threshold, states = 0.0, np.zeros(width, dtype=bool)
        if not isinstance(node, Split):
            what = f"A leaf of the tree of {variable.name!r}"
            rows.append((-1, threshold, states, -1, False))
            values.append(checked_numbers(node, (variable.cardinality,), what=what))
            continue
        name = node.on.name if isinstance(node.on, (Discrete, Continuous)) else node.on
        if name not in names:
            raise unknown_variable(name, names, where="The tree's list of parents")
        place = names.index(name)
        parent = parents[place]
        if isinstance(parent, Continuous):
            threshold = parent.number(node.at)
        else:
            assert isinstance(parent, Discrete)  # vectors of counts are no parents
            states[[parent.index(state) for state in _listed(node.at, parent)]] = True
        # The left child is the next node of the list, and the right one follows it.
        rows.append((place, threshold, states, len(nodes), node.continues))
        nodes += [node.left, node.right]
    feature, thresholds, masks, left, continues = zip(*rows, strict=True)
    return Trees.single(parents, feature, thresholds, masks, left, continues, values)


def _words(mask: NDArray[np.bool_], n: int) -> NDArray[np.int64]:
    """Return the first n columns of a mask as words of 64 bits, shape (n_rows, n_words)."""
    # The number of words is rounded up; there is at least one.
    padded = np.zeros((len(mask), max(1, -(-n // 64)) * 64), dtype=bool)
    padded[:, :n] = mask[:, :n]
    words: NDArray[np.int64] = np.packbits(padded, axis=1, bitorder="little").view("<i8")
    return words.astype(np.int64)


def _listed(states: Any, parent: Discrete) -> list[Any]:
    """Return the states that a split sends left as a list; refuse a single state."""
    if isinstance(states, (list, tuple, set, frozenset, np.ndarray)):
        return list(states)
    raise CPDError(
        f"A split on the discrete parent {parent.name!r} takes the list of the states that go "
        f"left; got {states!r}. Write [{states!r}] for one."
    )


def _narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """Return signed integers in the smallest type that holds them, and other arrays as they are."""
    if array.dtype.kind != "i":
        return array
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    # That of the least number and of the one as far below -1 as the greatest is above 0.
    return array.astype(np.min_scalar_type(min(low, -1 - high)))


def _checked(trees: Trees, variable: Discrete, parents: Sequence[Variable], what: str) -> Trees:
    """Return trees with read-only arrays of the right types, or raise a CPDError.

    `what` names the CPD in error messages. Kernels trust what is checked here.
    """
    arrays: dict[str, Any] = {
        name: _array(what, name, getattr(trees, name), *kind)
        for name, kind in _KINDS.items()
        if name != "groups"
    }
    groups = tuple([_array(what, "groups", group, *_KINDS["groups"]) for group in trees.groups])
    made = Trees(**arrays, groups=groups)
    sizes = [parent.cardinality if isinstance(parent, Discrete) else 0 for parent in parents]
    lengths = [len(group) for group in groups]
    if lengths != sizes:
        raise CPDError(
            f"{what}: groups has an entry for each state of each parent, {sizes}; got {lengths}."
        )
    if not len(made.roots):
        raise CPDError(f"{what}: roots has at least one entry; got none.")
    n = made.n_nodes
    for name in ("states", "below", *TreesCPD.optional_arrays):
        length = len(arrays[name])
        if length != n and (length or name not in TreesCPD.optional_arrays):
            raise CPDError(f"{what}: {name} takes shape ({n},); got ({length},).")
    _check_links(made, len(parents), what)
    made = _check_splits(made, parents, what)
    _check_numbers(made, variable, what)
    for array in (*made.__getstate__().values(), *groups):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return made


def _array(what: str, name: str, values: Any, kind: Any, n_axes: int) -> NDArray[Any]:
    """Return a copy of an array as the type `kind`; raise a CPDError if that changes it."""
    taken = np.asarray(values)
    if taken.ndim != n_axes:
        raise CPDError(f"{what}: {name} has {n_axes} axes; got shape {taken.shape}.")
    is_float = kind is np.float64
    right = taken.dtype.kind in ("biuf" if is_float else "biu") or not taken.size
    array = np.array(taken, dtype=kind, order="C") if right else taken
    if not right or not (is_float or np.array_equal(array, taken)):
        raise CPDError(f"{what}: {name} takes values of {np.dtype(kind)}; got {taken!r:.200}.")
    return array


def _refuse(what: str, wrong: Any, message: str, values: Any = None) -> None:
    """Raise a CPDError if an entry is wrong; its message has the first one's place and value."""
    if wrong.any():
        at = int(np.argmax(wrong))
        got = None if values is None else values[at]
        raise CPDError(f"{what}: {message.format(at=at, got=got)}")


def _check_links(trees: Trees, n_parents: int, what: str) -> None:
    """Raise a CPDError unless the nodes form trees, and each row of values belongs to a leaf."""
    n, feature, left = trees.n_nodes, trees.feature, trees.below.astype(np.int64)
    _refuse(
        what,
        (feature < -1) | (feature >= n_parents),
        f"feature takes positions among the {n_parents} parents, and -1 at leaves; got {{got}} at "
        "node {at}.",
        feature,
    )
    inner = feature >= 0
    _refuse(
        what,
        inner & ((left <= np.arange(n)) | (left >= n - 1)),
        "below takes at splits the number of a later node that another one follows; got {got} at "
        f"node {{at}} of {n:,}.",
        left,
    )
    outside = (trees.roots < 0) | (trees.roots >= n)
    _refuse(what, outside, f"roots takes numbers of nodes, 0 to {n - 1}; got {{got}}.", trees.roots)
    # How often each node is a child or a root; since children are later nodes, there is no cycle.
    visits = np.bincount(np.concatenate([left[inner], left[inner] + 1, trees.roots]), minlength=n)
    _refuse(
        what,
        visits != 1,
        "every node is one of the roots, or hangs below exactly one other; node {at} is reached "
        "{got} times.",
        visits,
    )
    leaves, rows = left[~inner], len(trees.values)
    outside = (leaves < 0) | (leaves >= rows)
    message = f"below takes at leaves rows of values, 0 to {rows - 1}; got {{got}}."
    _refuse(what, outside, message, leaves)
    idle = np.bincount(leaves, minlength=rows) == 0
    _refuse(what, idle, "each row of values belongs to a leaf; row {at} does not.")


def _check_splits(trees: Trees, parents: Sequence[Variable], what: str) -> Trees:
    """Check thresholds and states of all splits; return the trees without those of no meaning."""
    feature, groups = trees.feature, trees.groups
    # With a zero, so that there is a maximum without discrete parents too.
    present = np.concatenate([*groups, np.zeros(1, dtype=np.int32)])
    n_words = int(present.max()) // 64 + 1
    if (present < 0).any() or trees.states.shape[1] != n_words:
        raise CPDError(
            f"{what}: groups takes numbers from 0 on, and states a bit for each of them, shape "
            f"({trees.n_nodes}, {n_words}); got {trees.states.shape}."
        )
    # Of each node its parent variable; leaves, whose feature is -1, have the last entry, None.
    owners = np.array([*parents, None], dtype=object)[feature]
    is_number = np.array([*trees._is_number, False])[feature]
    no_threshold = np.full(trees.n_nodes, np.nan)
    threshold = trees.threshold if len(trees.threshold) else no_threshold
    threshold = np.where(is_number, threshold, 0.0)
    message = "a split on {got.name!r} needs a finite threshold; that at node {at} has none."
    _refuse(what, ~np.isfinite(threshold), message, owners)
    # As bits, the groups that each parent has at all; only their bits of `states` have a meaning.
    bits = [_words(np.isin(np.arange(64 * n_words), group)[None], 64 * n_words) for group in groups]
    possible = np.concatenate([*bits, np.zeros((1, n_words), dtype=np.int64)])[feature]
    discrete = (feature >= 0) & ~is_number
    goes_left = trees.states & possible
    _refuse(
        what,
        discrete & ((goes_left == 0).all(axis=1) | (goes_left == possible).all(axis=1)),
        "a split sends some of the {got.cardinality} states of {got.name!r} left and some right; "
        "that at node {at} does not.",
        owners,
    )
    inner = np.flatnonzero(feature >= 0)
    right = trees.below[inner] + 1
    # A right child may continue the split of the node above: on the same parent, and further right,
    # or with some of the states that are left, but not all of them.
    others = possible[inner] & ~goes_left[inner]
    chosen = goes_left[right] & others
    divides = (chosen != 0).any(axis=1) & (chosen != others).any(axis=1)
    may_continue = np.zeros(trees.n_nodes, dtype=bool)
    may_continue[right] = (feature[right] == feature[inner]) & (
        divides | (threshold[right] > threshold[inner])
    )
    _refuse(
        what,
        trees.continues & ~may_continue if len(trees.continues) else trees.continues,
        "a split continues the one to whose right it is, on the same parent, with a greater "
        "threshold or other states; that at node {at} does not.",
    )
    return replace(
        trees,
        states=np.where(discrete[:, None], trees.states, 0),
        threshold=threshold if trees._is_number.any() else np.empty(0),
        continues=trees.continues if trees.continues.any() else np.empty(0, dtype=np.bool_),
    )


def _check_numbers(trees: Trees, variable: Discrete, what: str) -> None:
    """Raise a CPDError unless leaves have distributions of the child, and counts are numbers."""
    values, counts = trees.values, trees.counts
    if values.shape[1] != variable.cardinality:
        raise CPDError(
            f"{what}: values has a column for each of the {variable.cardinality} states; got shape "
            f"{values.shape}."
        )
    wrong = ~(np.isfinite(values) & (values >= 0)).all(axis=1)
    _refuse(what, wrong, "leaves take finite non-negative numbers; got {got} in row {at}.", values)
    sums = values.sum(axis=1)
    _refuse(
        what,
        np.abs(sums - 1.0) > SUM_TOLERANCE,
        "the probabilities in row {at} sum to {got:.9g}, not to 1. Divide them by their sum if "
        "they are weights.",
        sums,
    )
    wrong = ~(np.isfinite(counts) & (counts >= 0))
    _refuse(what, wrong, "counts takes finite non-negative numbers, or nothing; got {got}.", counts)
