"""CPDs that are averages of trees: random trees of one discrete child."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import tree_average_kernels as kernels
from bayesgraph.cpds.base import CPD, Columns, draw_states
from bayesgraph.cpds.description import Description
from bayesgraph.cpds.summing_out import RootSummingCPD, state_probabilities
from bayesgraph.cpds.validation import SUM_TOLERANCE, check_child, check_family
from bayesgraph.errors import CPDError
from bayesgraph.factors import Evidence, Factor
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.memory import BYTES, default_memory_limit, memory_error
from bayesgraph.variables import Discrete, Variable

# Maximum number of groups of states of a parent: a split is a set of groups, in 64 bits.
MAX_GROUPS = 62


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
    values : ndarray, shape (n_leaves, n_states)
        Distributions of the child variable at the leaves.
    groups : ndarray of uint8, shape (sum of the parents' numbers of states,)
        Group of each state, one parent after the other; at most 62 groups for each parent.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    states: NDArray[np.int64]
    below: NDArray[np.int32]
    values: Floats
    groups: NDArray[np.uint8]

    @property
    def flat(self) -> kernels.TreesArrays:
        """The arrays that compiled kernels take."""
        return self.roots, self.feature, self.states, self.below

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
        found = check_family(variable, parents, family=family)
        check_child(variable, Discrete, family=family, hint="Use a TreeCPD.")
        for parent in found:
            check_child(parent, Discrete, family=family, hint="Make intervals of it.")
        self.variable = variable
        self.parents = found  # type: ignore[assignment]
        self.trees = _checked(trees, variable, self.parents, self.title)
        self._shares: dict[Variable, tuple[CPD, Floats]] = {}

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities: n_states - 1 for each leaf."""
        return len(self.trees.values) * (self.variable.cardinality - 1)

    @cached_property
    def groups(self) -> dict[Variable, NDArray[np.int16]]:
        """The group of each state of each parent, and -1 as the last entry, for missing values."""
        ends = np.cumsum([parent.cardinality for parent in self.parents])[:-1]
        parts = np.split(self.trees.groups.astype(np.int16), ends)
        return {
            parent: np.append(part, np.int16(-1))
            for parent, part in zip(self.parents, parts, strict=True)
        }

    def summed(self, roots: Mapping[Variable, CPD], observed: Collection[Variable]) -> CPD:
        """Return a CPD that sums out the given root parents where they are missing.

        See RootSummingCPD.
        """
        share = np.full(len(self.trees.feature), np.nan)
        for place, parent in enumerate(self.parents):
            if parent in roots:
                at = self.trees.feature == place
                share[at] = self._left_shares(place, roots[parent])[at]
        parents = [p for p in self.parents if p in observed or p not in roots]
        return _SummedAverage(self, parents, share)

    def _left_shares(self, place: int, root: CPD) -> Floats:
        """Return the probability of the left branch at splits on an unobserved root parent.

        The result is cached for each root CPD.
        """
        parent = self.parents[place]
        known = self._shares.get(parent)
        if known is None or known[0] is not root:
            groups = self.groups[parent][:-1]
            shares = np.bincount(groups, state_probabilities(root))
            out = np.full(len(self.trees.feature), np.nan)
            kernels.left_shares(place, shares, self.trees.flat, out)
            known = self._shares[parent] = root, out
        return known[1]

    def potential(self, evidence: Evidence) -> Factor:
        """Return the potential over the free variables, no parent summed out; see CPD."""
        return self._nothing_summed().potential(evidence)

    def accumulate(self, evidence: Evidence, scope: Sequence[Discrete], out: Floats) -> None:
        """Add the log potential to `out`; no parent is summed out. See CPD."""
        self._nothing_summed().accumulate(evidence, scope, out)

    def _nothing_summed(self) -> _SummedAverage:
        return _SummedAverage(self, self.parents, np.full(len(self.trees.feature), np.nan))

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the child's state code given the parents' columns; see CPD."""
        codes = self.codes(parents, n)
        chosen = random.integers(len(self.trees.roots), size=n)
        leaves = np.empty(n, dtype=np.int64)
        for tree, root in enumerate(self.trees.roots.tolist()):
            rows = np.flatnonzero(chosen == tree)
            own = np.ascontiguousarray(codes[:, rows])
            leaves[rows] = kernels.leaves_of(own, root, self.trees.flat)
        return draw_states(self.trees.values, leaves, random)

    def codes(self, columns: Columns, n_rows: int) -> NDArray[np.int16]:
        """Return the groups of the parents' states, -1 where missing, shape (n_parents, n_rows)."""
        found = np.full((len(self.parents), n_rows), -1, dtype=np.int16)
        for row, parent in zip(found, self.parents, strict=True):
            if parent in columns:
                row[:] = self.groups[parent][columns[parent]]
        return found

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the trees; see CPD."""
        return {name: np.asarray(getattr(self.trees, name)) for name in _KINDS}

    @classmethod
    def from_arrays(
        cls, children: Sequence[Variable], parents: Sequence[Variable], arrays: Mapping[str, Any]
    ) -> TreeAverageCPD:
        """Return a CPD made from the arrays that `to_arrays` returned; see CPD."""
        return cls(children[0], Trees(**arrays), parents)  # type: ignore[arg-type]

    def __getstate__(self) -> dict[str, Any]:
        # Pickles and copies leave out the cached shares.
        return {**self.__dict__, "_shares": {}}

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return the numbers of trees and leaves, and how often the trees split on each parent."""
        splits = np.bincount(
            self.trees.feature[self.trees.feature >= 0], minlength=len(self.parents)
        )
        order = np.argsort(-splits, kind="stable")[:max_rows].tolist()
        rows = [[str(self.parents[j].name), f"{splits[j]:,}"] for j in order]
        n, leaves = len(self.trees.roots), len(self.trees.values)
        note = f"{n:,} trees with {leaves:,} leaves, at most {self.trees.depth} splits deep"
        return Description(["parent", "splits"], rows, None, note)


class _SummedAverage(CPD):
    """An average of trees that sums out unobserved root parents, as `_SummedTree` does.

    Parameters
    ----------
    source : TreeAverageCPD
    parents : sequence of Discrete
        The parents of `source`, without parents that are summed out in all rows.
    share : ndarray, shape (n_nodes,)
        Weight of the left branch at splits on the parents that are summed out, else NaN.
    """

    variable: Discrete

    def __init__(self, source: TreeAverageCPD, parents: Sequence[Variable], share: Floats) -> None:
        self.source = source
        self.variable = source.variable
        self.parents = tuple(parents)
        self._share = share

    @property
    def n_parameters(self) -> int:
        """The number of free parameters of the average."""
        return self.source.n_parameters

    def potential(self, evidence: Evidence) -> Factor:
        """Return the potential, with some root parents summed out where missing; see CPD."""
        free = [p for p in self.discrete_parents if p not in evidence]
        cards = [p.cardinality for p in free]
        n_rows = evidence.n_rows if any(v in evidence for v in self.scope) else 1
        cells = 1 if self.variable in evidence else self.variable.cardinality
        entries = math.prod(cards) * cells * n_rows
        if BYTES * entries > default_memory_limit():
            raise memory_error("a table", entries, len(cards), default_memory_limit())
        out = np.zeros((*cards, cells, n_rows))
        codes = self.source.codes(evidence.columns, n_rows)
        places = [self.source.parents.index(p) for p in free]
        for states in np.ndindex(*cards):
            for place, parent, state in zip(places, free, states, strict=True):
                codes[place] = self.source.groups[parent][state]
            self._add(out[states], evidence, codes)
        rows_first = np.moveaxis(out, -1, 0)
        scope = free if self.variable in evidence else [*free, self.variable]
        return Factor.from_log(
            scope, rows_first[..., 0] if self.variable in evidence else rows_first
        )

    def accumulate(self, evidence: Evidence, scope: Sequence[Discrete], out: Floats) -> None:
        """Add the log potential to `out`; see CPD."""
        if any(p not in evidence for p in self.discrete_parents):
            super().accumulate(evidence, scope, out)
            return
        self._add(out, evidence, self.source.codes(evidence.columns, evidence.n_rows))

    def _add(self, out: Floats, evidence: Evidence, codes: NDArray[np.int16]) -> None:
        trees = self.source.trees
        child = evidence.columns.get(self.variable, np.empty(0))
        kernels.add_average(
            out,
            codes,
            trees.flat,
            trees.depth,
            self._share,
            trees.values,
            np.ascontiguousarray(child, dtype=np.int64),
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _SummedAverage)
            and self.source == other.source
            and self.parents == other.parents
            and np.array_equal(self._share, other._share, equal_nan=True)
        )

    __hash__ = None

    @property
    def title(self) -> str:
        """The title of the original CPD."""
        return self.source.title


# ---------------------------------------------------------------------------- making and checking


def _checked(trees: Trees, variable: Discrete, parents: Sequence[Discrete], what: str) -> Trees:
    """Return trees with read-only arrays of the right types, or raise a CPDError."""
    found: dict[str, Any] = {}
    for name, kind in _KINDS.items():
        given = np.asarray(getattr(trees, name))
        wanted = 2 if name == "values" else 1
        if given.ndim != wanted:
            raise CPDError(f"{what}: {name} has {wanted} axes; got shape {given.shape}.")
        array = np.array(given, dtype=kind, order="C")
        if not np.array_equal(array, given):
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
    _check_groups(made, parents, what)
    _check_values(made, variable, what)
    return made


def _check_links(trees: Trees, n_parents: int, what: str) -> None:
    n = len(trees.feature)
    if ((trees.feature < -1) | (trees.feature >= n_parents)).any():
        raise CPDError(
            f"{what}: feature takes positions among the {n_parents} parents, and -1 at leaves."
        )
    inner = trees.feature >= 0
    number = np.arange(n)
    left = trees.below.astype(np.int64)
    if (inner & ((left <= number) | (left >= n - 1))).any():
        raise CPDError(f"{what}: below takes a later node at splits, which another one follows.")
    visits = np.bincount(np.concatenate([left[inner], left[inner] + 1]), minlength=n)
    is_root = np.zeros(n, dtype=bool)
    if ((trees.roots < 0) | (trees.roots >= n)).any():
        raise CPDError(f"{what}: roots takes the numbers of nodes, 0 to {n - 1}.")
    is_root[trees.roots] = True
    if len(np.unique(trees.roots)) < len(trees.roots) or (visits != ~is_root).any():
        raise CPDError(f"{what}: every node is a root, or hangs below exactly one other.")
    leaves = left[~inner]
    if len(leaves) != len(trees.values) or not np.array_equal(np.sort(leaves), range(len(leaves))):
        raise CPDError(f"{what}: every leaf has a row of values of its own.")


def _check_groups(trees: Trees, parents: Sequence[Discrete], what: str) -> None:
    n_states = [parent.cardinality for parent in parents]
    if len(trees.groups) != sum(n_states):
        raise CPDError(
            f"{what}: groups has an entry for each state of each parent, {sum(n_states)}; got "
            f"{len(trees.groups)}."
        )
    if (trees.groups >= MAX_GROUPS).any():
        raise CPDError(f"{what}: a parent has at most {MAX_GROUPS} groups of states.")
    ends = np.cumsum(n_states)[:-1]
    whole = [
        int(np.bitwise_or.reduce(np.int64(1) << np.unique(part).astype(np.int64)))
        for part in np.split(trees.groups, ends)
    ]
    inner = np.flatnonzero(trees.feature >= 0)
    masks = np.array([*whole, 0], dtype=np.int64)[trees.feature[inner]]
    goes_left = trees.states[inner] & masks
    if ((goes_left == 0) | (goes_left == masks)).any():
        raise CPDError(f"{what}: a split sends some states left and some right.")


def _check_values(trees: Trees, variable: Discrete, what: str) -> None:
    n = variable.cardinality
    if trees.values.shape[1] != n:
        raise CPDError(f"{what}: values has {n} columns; got shape {trees.values.shape}.")
    if not (np.isfinite(trees.values) & (trees.values >= 0)).all():
        raise CPDError(f"{what}: leaves take finite non-negative numbers.")
    if (np.abs(trees.values.sum(axis=1) - 1.0) > SUM_TOLERANCE).any():
        raise CPDError(f"{what}: the probabilities of each leaf sum to 1.")
