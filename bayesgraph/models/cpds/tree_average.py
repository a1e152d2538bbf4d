"""CPDs that are averages of trees: random trees of one discrete child."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, log_of
from bayesgraph.core.errors import CPDError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import by_rows, over_rows
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.inference import Factor
from bayesgraph.models import tree_average_kernels
from bayesgraph.models.cpds import base
from bayesgraph.models.cpds.summing_out import RootsSummed, RootSummingCPD, state_probabilities
from bayesgraph.models.tree_average_kernels import MISSING

# ----------------------------- CPDs that are averages of trees: random trees of one discrete child


# Maximum number of groups of states of a parent: a split is a set of groups, in 64 bits.
MAX_GROUPS = 62
# Number of operations for a row and a tree.
_WORK = 100
# Number of rows from which on those that lack no parent go down a tree together, and below which an
# additional thread costs more time than it saves.
_MANY, _MIN_ROWS = 128, 16384


@dataclass(frozen=True, eq=False)
class Trees:
    """Binary trees in flat arrays; each node precedes its child nodes, which are neighbours.

    Attributes
    ----------
    roots : ndarray of int32, shape (n_trees,)
        Index of the root of each tree.
    feature : ndarray of int32, shape (n_nodes,)
        Index of the parent variable that a node splits on; -1 at leaves.
    states : ndarray of int64, shape (n_nodes,)
        Groups of states that go left, as bits: group g goes left if bit g is set.
    below : ndarray of int32, shape (n_nodes,)
        The left child node of a split (the right one follows it); at leaves the row of `values`.
    values : ndarray, shape (n_distributions, n_states)
        Distributions of the child variable at the leaves, which may share them.
    groups : ndarray of uint8, shape (sum of the parents' numbers of states,)
        Group of each state, one parent after the other; at most 62 groups for each parent.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    states: NDArray[np.int64]
    below: NDArray[np.int32]
    values: Floats
    groups: NDArray[np.uint8]

    @cached_property
    def steps(self) -> NDArray[np.uint64]:
        """Where each node leads, as kernels read it, shape (n_nodes, 2).

        The parent that a node splits on (in the upper 32 bits) and the right child node, and the
        groups that go left instead. A leaf leads to itself.
        """
        number, inner = np.arange(len(self.feature)), self.feature >= 0
        found = np.column_stack([number, np.zeros_like(number)])
        found[inner, 0] = (self.feature[inner].astype(np.int64) << 32) | (self.below[inner] + 1)
        found[inner, 1] = self.states[inner]
        return found.astype(np.uint64)

    def first(self, n: int) -> Trees:
        """Return the first `n` trees."""
        end = self.roots[n] if n < len(self.roots) else len(self.feature)
        feature, states, below = self.feature[:end], self.states[:end], self.below[:end]
        return Trees(self.roots[:n], feature, states, below, self.values, self.groups)

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return int(np.count_nonzero(self.feature < 0))

    @cached_property
    def used(self) -> NDArray[np.int64]:
        """The parents that trees split on."""
        return np.unique(self.feature[self.feature >= 0])

    def means(self, codes: NDArray[np.uint8], share: Floats) -> Floats:
        """Return the mean of the trees' distributions for each row, shape (n_rows, n_states).

        Parameters
        ----------
        codes : ndarray of uint8, shape (n_parents, n_rows)
            Groups of the parents' states; a row takes both branches where one is missing, 255.
        share : ndarray, shape (2, n_nodes)
            Weights of the left and of the right branch where the parent is missing.
        """
        n_rows = codes.shape[1]
        # The numbers of a state are contiguous.
        total = np.zeros((self.values.shape[1], n_rows)).T
        few = np.arange(n_rows)
        if n_rows >= _MANY:
            lacking = (codes[self.used] == MISSING).any(axis=0)
            few, complete = np.flatnonzero(lacking), np.flatnonzero(~lacking)
            total.T[:, complete] = self._reached(np.ascontiguousarray(codes[:, complete]))
        if len(few):
            args = total, codes, few, self.roots, self.steps, self.below, self.depth, share
            by_rows(
                tree_average_kernels.add_leaves,
                (*args, self.values),
                len(few),
                _WORK * len(self.roots),
            )
        total /= len(self.roots)
        return total

    def _reached(self, codes: NDArray[np.uint8]) -> Floats:
        """Return the sums of the trees' distributions of rows that lack no parent of a split.

        The shape is (n_states, n_rows).
        """
        sums = np.zeros((self.values.shape[1], codes.shape[1]))

        def part(begin: int, end: int) -> None:
            walked = self.roots, self.steps, self.below, self.values
            tree_average_kernels.add_reached(sums, codes, *walked, begin, end)

        over_rows(part, codes.shape[1], _MIN_ROWS)
        return sums

    def branch_shares(self, distributions: Mapping[int, NDArray[Any]]) -> Floats:
        """Return P(branch | earlier splits on the path) at splits on missing parents.

        Parameters
        ----------
        distributions : mapping from index of a parent to ndarray, shape (n_groups,)
            Distribution of the parent's groups of states.

        Returns
        -------
        ndarray, shape (2, n_nodes)
            Left and right; NaN at leaves and at splits on other parents.
        """
        out = np.full((2, len(self.feature)), np.nan)
        is_missing = np.zeros(int(self.feature.max(initial=0)) + 1, dtype=np.bool_)
        shares = np.zeros((len(is_missing), max(map(len, distributions.values()), default=0)))
        for place, distribution in distributions.items():
            if place < len(is_missing):  # trees split on none of the others
                is_missing[place] = True
                shares[place, : len(distribution)] = distribution
        tree_average_kernels.branch_shares(
            is_missing, shares, self.feature, self.states, self.below, out
        )
        return out

    @cached_property
    def depth(self) -> int:
        """The maximum number of splits on the path to a leaf."""
        level = self.roots.astype(np.int64)
        depth = -1
        while len(level):
            depth += 1
            level = level[self.feature[level] >= 0]
            left = self.below[level].astype(np.int64)
            level = np.concatenate([left, left + 1])
        return depth

    def __getstate__(self) -> dict[str, Any]:
        # Pickles and copies leave out what is found from the fields.
        return {field.name: getattr(self, field.name) for field in fields(self)}


_KINDS: dict[str, Any] = {
    "roots": np.int32,
    "feature": np.int32,
    "states": np.int64,
    "below": np.int32,
    "values": np.float64,
    "groups": np.uint8,
}


class TreeAverageCPD(RootSummingCPD):
    """A discrete child given discrete parents: the mean of the distributions of several trees.

    Random trees, averaged, are a random forest (Breiman 2001). The average is a distribution in
    which the tree is a hidden variable that is independent of the parents.

    If an unobserved parent is a root of the network without other children, inference takes both
    branches of its splits, each with its probability given the earlier splits on the path. This sum
    is exact. All other free parents stay in the factor.

    Parameters
    ----------
    variable : Discrete
        The child.
    trees : Trees
    parents : iterable of Discrete
        Intervals and categories; the trees split them by subsets of their states.

    Raises
    ------
    CPDError
        For continuous variables, or arrays that do not form trees with distributions (sums within
        1e-6 of one) at their leaves.
    """

    other_arrays: ClassVar[tuple[str, ...]] = tuple(_KINDS)

    variable: Discrete
    parents: tuple[Discrete, ...]

    def __init__(self, variable: Discrete, trees: Trees, parents: Iterable[Discrete] = ()) -> None:
        family = type(self).__name__
        found = base.check_family(variable, parents, family=family)
        base.check_child(variable, Discrete, family=family, hint="Use a TreeCPD.")
        for parent in found:
            base.check_child(parent, Discrete, family=family, hint="Make intervals of it.")
        self.variable = variable
        self.parents = found  # type: ignore[assignment]
        self.trees = _checked(trees, variable, self.parents, self.title)
        self._shares: tuple[dict[Variable, base.CPD], Floats | None] = {}, None

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities: n_states - 1 for each leaf."""
        return self.trees.n_leaves * (self.variable.cardinality - 1)

    @cached_property
    def _groups(self) -> NDArray[np.uint8]:
        """The groups of each parent's states, and last that of a missing value, 255."""
        groups = _by_parent(self.trees.groups, self.parents)
        table = np.full((len(groups), 1 + max(map(len, groups), default=0)), MISSING)
        for row, group in zip(table, groups, strict=True):
            row[: len(group)] = group
        return table

    def summed(
        self, roots: Mapping[Variable, base.CPD], observed: Collection[Variable]
    ) -> base.CPD:
        """Return a CPD that sums out the given root parents where they are missing.

        See RootSummingCPD.
        """
        parents = [p for p in self.parents if p in observed or p not in roots]
        # The probabilities of both branches at splits on unobserved root parents. The result is
        # cached, as it is the same for all evidence.
        known, share = self._shares
        if share is None or any(known.get(parent) is not root for parent, root in roots.items()):
            parts = zip(self.parents, _by_parent(self.trees.groups, self.parents), strict=True)
            groups = {
                place: np.bincount(part, state_probabilities(roots[parent]))
                for place, (parent, part) in enumerate(parts)
                if parent in roots
            }
            share = self.trees.branch_shares(groups)
            self._shares = dict(roots), share
        return _SummedAverage(self, parents, share)

    def potential(self, evidence: Evidence) -> Factor:
        """Return the potential over the free variables, no parent summed out; see CPD."""
        return self._nothing_summed().potential(evidence)

    def accumulate(self, evidence: Evidence, scope: Sequence[Discrete], out: Floats) -> None:
        """Add the log potential to `out`; no parent is summed out. See CPD."""
        self._nothing_summed().accumulate(evidence, scope, out)

    def _nothing_summed(self) -> _SummedAverage:
        return _SummedAverage(self, self.parents, self.trees.branch_shares({}))

    def sample(self, parents: base.Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the child's state code given the parents' columns; see CPD."""
        trees, rows = self.trees, np.arange(n)
        nodes = trees.roots[random.integers(len(trees.roots), size=n)]
        states = np.empty((len(self.parents), n), dtype=np.int64)
        for row, parent in zip(states, self.parents, strict=True):
            row[:] = parents[parent]
        codes = self.codes(np.arange(len(states)), states)
        for _ in range(trees.depth):
            feature = trees.feature[nodes]
            goes_left = trees.states[nodes] >> codes[feature, rows] & 1
            nodes = np.where(feature < 0, nodes, trees.below[nodes] + 1 - goes_left)
        return base.draw_states(trees.values, trees.below[nodes].astype(np.int64), random)

    def codes(self, places: NDArray[np.int64], states: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the groups of the parents' states, 255 where missing, (n_parents, n_rows).

        Parameters
        ----------
        places : ndarray of int
            Indices of the parents whose states are given; those of others are missing.
        states : ndarray of int, shape (len(places), n_rows)
            State codes, -1 where missing.
        """
        codes = np.full((len(self.parents), states.shape[1]), MISSING)
        codes[places] = self._groups[places[:, None], states]
        return codes

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the trees, integers in the smallest type for them; see CPD."""
        return {name: _narrowed(getattr(self.trees, name)) for name in _KINDS}

    @classmethod
    def from_arrays(
        cls, children: Sequence[Variable], parents: Sequence[Variable], arrays: Mapping[str, Any]
    ) -> TreeAverageCPD:
        """Return a CPD made from the arrays that `to_arrays` returned; see CPD."""
        return cls(children[0], Trees(**arrays), parents)  # type: ignore[arg-type]

    def __getstate__(self) -> dict[str, Any]:
        # Pickles and copies leave out the cached shares.
        return {**self.__dict__, "_shares": ({}, None)}

    def describe(self, max_rows: int, max_columns: int) -> base.Description:
        """Return the numbers of trees and leaves, and how often the trees split on each parent."""
        splits = np.bincount(
            self.trees.feature[self.trees.feature >= 0], minlength=len(self.parents)
        )
        order = np.argsort(-splits, kind="stable")[:max_rows].tolist()
        rows = [[str(self.parents[j].name), f"{splits[j]:,}"] for j in order]
        n, leaves = len(self.trees.roots), self.trees.n_leaves
        note = f"{n:,} trees with {leaves:,} leaves, at most {self.trees.depth} splits deep"
        return base.Description(["parent", "splits"], rows, None, note)


class _SummedAverage(RootsSummed):
    """An average of trees that sums out unobserved root parents, as `TreeCPD` does."""

    source: TreeAverageCPD

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """Index of each parent among those of the original CPD."""
        place = {parent: i for i, parent in enumerate(self.source.parents)}
        return np.array([place[parent] for parent in self.discrete_parents], dtype=np.int64)

    def _add(
        self, out: Floats, evidence: Evidence, codes: Mapping[Discrete, int], n_rows: int
    ) -> None:
        parents = self.discrete_parents
        if codes:
            states = np.empty((len(parents), n_rows), dtype=np.int64)
            for row, parent in zip(states, parents, strict=True):
                row[:] = codes[parent] if parent in codes else evidence.columns[parent]
        else:
            states = evidence.matrix(parents).T if parents else np.empty((0, n_rows), np.int64)
        groups = self.source.codes(self._places, states)
        logs = log_of(self.source.trees.means(groups, self._share))
        child = evidence.columns.get(self.variable)
        if child is None:
            out += logs.T
        else:
            out[0] += np.where(child >= 0, logs[np.arange(n_rows), child], 0.0)


# ---------------------------------------------------------------------------- making and checking


def _by_parent(groups: NDArray[Any], parents: Sequence[Discrete]) -> list[NDArray[Any]]:
    """Return the part of an array over all states of all parents that belongs to each parent."""
    ends = np.cumsum([0] + [parent.cardinality for parent in parents])
    return [groups[a:b] for a, b in pairwise(ends.tolist())]


def _narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """Return signed integers in the smallest type that holds them, and other arrays as they are."""
    if array.dtype.kind != "i":
        return array
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    kinds = (np.int8, np.int16, np.int32, np.int64)
    return array.astype(
        next(k for k in kinds if np.iinfo(k).min <= low and high <= np.iinfo(k).max)
    )


def _checked(trees: Trees, variable: Discrete, parents: Sequence[Discrete], what: str) -> Trees:
    """Return trees with read-only arrays of the right types, or raise a CPDError.

    Kernels trust what is checked here.
    """
    found: dict[str, Any] = {}
    for name, kind in _KINDS.items():
        given = np.asarray(getattr(trees, name))
        n_axes = 2 if name == "values" else 1
        if given.ndim != n_axes:
            raise CPDError(f"{what}: {name} has {n_axes} axes; got shape {given.shape}.")
        if given.dtype.kind not in ("biuf" if kind is np.float64 else "biu"):
            raise CPDError(f"{what}: {name} takes values of {np.dtype(kind)}; got {given.dtype}.")
        array = np.array(given, dtype=kind, order="C")
        if kind is not np.float64 and not np.array_equal(array, given):
            raise CPDError(f"{what}: {name} takes values of {np.dtype(kind)}; got {given!r:.200}.")
        array.flags.writeable = False
        found[name] = array
    made = Trees(**found)
    n_nodes = len(made.feature)
    if not (len(made.states) == len(made.below) == n_nodes and len(made.roots)):
        raise CPDError(
            f"{what}: feature, states and below have one entry for each node, and there is at "
            f"least one root; got {n_nodes}, {len(made.states)} and {len(made.below)} entries, "
            f"and {len(made.roots)} roots."
        )
    _check_links(made, len(parents), what)
    n_states = sum(parent.cardinality for parent in parents)
    if len(made.groups) != n_states:
        raise CPDError(
            f"{what}: groups has an entry for each state of each parent, {n_states}; got "
            f"{len(made.groups)}."
        )
    if (made.groups >= MAX_GROUPS).any():
        raise CPDError(f"{what}: groups takes numbers below {MAX_GROUPS}; got {made.groups.max()}.")
    bits = np.int64(1) << made.groups.astype(np.int64)
    occurring = [int(np.bitwise_or.reduce(part)) for part in _by_parent(bits, parents)]
    own = np.array([*occurring, 0])[made.feature]
    goes_left = made.states & own
    at = _first((made.feature >= 0) & ((goes_left == 0) | (goes_left == own)))
    if at >= 0:
        raise CPDError(
            f"{what}: a split sends some groups of states left and some right; that at node {at} "
            "does not."
        )
    _check_values(made, variable, what)
    return made


def _check_links(trees: Trees, n_parents: int, what: str) -> None:
    n = len(trees.feature)
    at = _first((trees.feature < -1) | (trees.feature >= n_parents))
    if at >= 0:
        raise CPDError(
            f"{what}: feature takes positions among the {n_parents} parents, and -1 at leaves; got "
            f"{trees.feature[at]} at node {at}."
        )
    inner = trees.feature >= 0
    left = trees.below.astype(np.int64)
    at = _first(inner & ((left <= np.arange(n)) | (left >= n - 1)))
    if at >= 0:
        raise CPDError(
            f"{what}: below takes at splits the number of a later node that another one follows; "
            f"got {left[at]} at node {at} of {n:,}."
        )
    if ((trees.roots < 0) | (trees.roots >= n)).any():
        raise CPDError(f"{what}: roots takes numbers of nodes, 0 to {n - 1}; got {trees.roots}.")
    visits = np.bincount(np.concatenate([left[inner], left[inner] + 1, trees.roots]), minlength=n)
    at = _first(visits != 1)
    if at >= 0:
        raise CPDError(
            f"{what}: every node is one of the roots, or hangs below exactly one other; node {at} "
            f"is reached {visits[at]} times."
        )
    leaves = left[~inner]
    at = _first((leaves < 0) | (leaves >= len(trees.values)))
    if at >= 0:
        raise CPDError(
            f"{what}: below takes at leaves rows of values, 0 to {len(trees.values) - 1}; got "
            f"{leaves[at]}."
        )
    at = _first(np.bincount(leaves, minlength=len(trees.values)) == 0)
    if at >= 0:
        raise CPDError(f"{what}: each row of values belongs to a leaf; row {at} does not.")


def _check_values(trees: Trees, variable: Discrete, what: str) -> None:
    n = variable.cardinality
    if trees.values.shape[1] != n:
        raise CPDError(
            f"{what}: values has a column for each of the {n} states; got shape "
            f"{trees.values.shape}."
        )
    at = _first(~(np.isfinite(trees.values) & (trees.values >= 0)).all(axis=1))
    if at >= 0:
        raise CPDError(
            f"{what}: leaves take finite non-negative numbers; got {trees.values[at]} in row {at}."
        )
    sums = trees.values.sum(axis=1)
    at = _first(np.abs(sums - 1.0) > base.SUM_TOLERANCE)
    if at >= 0:
        raise CPDError(
            f"{what}: the probabilities in row {at} sum to {sums[at]:.9g}, not to 1. Divide them "
            "by their sum if they are weights."
        )


def _first(wrong: Any) -> int:
    """Return the index of the first true entry of a boolean array, -1 if there is none."""
    return int(np.argmax(wrong)) if wrong.any() else -1
