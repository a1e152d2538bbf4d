"""Programs that send many rows down many trees together, each row as one bit of a word.

There is one program for each set of parents that rows lack: at splits on these parents a row takes
both branches, with weights that are the same for all such rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import tree_program_kernels as kernels
from bayesgraph.cpds.tree_average_kernels import MISSING, add_reached
from bayesgraph.factors.algebra import Floats
from bayesgraph.parallel import over_rows

if TYPE_CHECKING:
    from bayesgraph.cpds.tree_average import Trees

# Minimum number of rows for programs, and of those among them that lack the same parents: a program
# has to be written once.
MANY, _ALIKE = 128, 32
# Mean number of leaves of a tree from which on rows that lack no parent go down it one by one: the
# work of a program grows with the leaves, that of a row with the depth.
_WALKED = 1000
# Maximum number of leaves of a tree: codes have 16 bits, and code 0 means that there is no leaf.
_MAX_LEAVES = (1 << 16) - 1
# Maximum number of words of a block of rows; what belongs to a block stays in the cache.
_MAX_WORDS = 32
# Multiple of the number of words of a block, that of the processor's vectors.
_VECTOR = 4
# Number of rows below which an additional thread costs more time than it saves.
_MIN_ROWS = 16384
# Number of combinations of missing parents from which on those that occur are counted anew.
_MAX_NUMBERS = 1 << 40
# Maximum number of programs that are kept, and of their bytes.
_KEPT, _KEPT_BYTES = 256, 1 << 25

Ints = NDArray[np.int64]
Codes = NDArray[np.uint8]


class DistinctSplits(NamedTuple):
    """The different splits of trees: which rows go left is found once for each of them.

    Attributes
    ----------
    split : ndarray of int32, shape (n_nodes,)
        Index of the split of each node; -1 at leaves.
    column : ndarray of int32, shape (n_distinct,)
        The parent, in ascending order.
    base : ndarray of int32, shape (n_distinct,)
        An earlier split on the parent with some of the groups that go left, or -1.
    offsets : ndarray of int32, shape (n_distinct + 1,)
        Where the other groups that go left begin in `groups`.
    groups : ndarray of int32
    """

    split: NDArray[np.int32]
    column: NDArray[np.int32]
    base: NDArray[np.int32]
    offsets: NDArray[np.int32]
    groups: NDArray[np.int32]

    @classmethod
    def of(cls, trees: Trees) -> DistinctSplits:
        """Return the distinct splits of trees."""
        inner = trees.feature >= 0
        keys = np.column_stack([trees.feature[inner].astype(np.int64), trees.states[inner]])
        distinct, index = np.unique(keys, axis=0, return_inverse=True)
        split = np.full(len(trees.feature), -1, dtype=np.int32)
        split[inner] = index.reshape(-1)
        column, states = distinct[:, 0], distinct[:, 1].copy()
        base = np.full(len(column), -1, dtype=np.int32)
        # Thresholds in ascending order: each adds groups to those of the one before.
        same = (column[1:] == column[:-1]) & (states[:-1] & ~states[1:] == 0)
        base[1:][same] = np.flatnonzero(same)
        added = states.copy()
        added[1:][same] &= ~states[:-1][same]
        rows, groups = np.nonzero((added[:, None] >> np.arange(63)) & 1)
        offsets = np.searchsorted(rows, np.arange(len(column) + 1))
        return cls(split, *(a.astype(np.int32) for a in (column, base, offsets, groups)))


class Program(NamedTuple):
    """What to do with the rows at the roots of all trees, in the order of the trees.

    Attributes
    ----------
    n_splits : ndarray, shape (n_trees,)
        Number of splits of each tree.
    n_slots : ndarray, shape (n_trees,)
        Number of leaves that a row reaches at most: more than one if it lacks parents. The leaves
        of a tree are divided among slots, so that a row reaches at most one leaf of each slot.
    codes : ndarray of int32
        Codes of the leaves of a slot, one after the other; see `_codes`.
    n_bits : int
        Number of bits of the codes.
    splits : ndarray of int32, shape (sum of n_splits, 3)
        Place of the rows, which keeps those that go right; index of the distinct split, or
        `BOTH`; place of the rows that go left.
    sizes : ndarray of int32
        For each slot (those of a tree after those of the one before) and bit the number of leaves
        with this bit in their code.
    union : ndarray of int32
        The places of these leaves.
    at_slot : ndarray of int32, shape (sum of n_slots + 1,)
        Where the leaves of each slot begin in `number`.
    number : ndarray of int32, shape (n_leaves,)
        The row of `values` of each leaf.
    weight : ndarray, shape (n_leaves,) or (0,)
        The weight of each leaf; empty if all weights are 1.
    """

    n_splits: Ints
    n_slots: Ints
    codes: NDArray[np.int32]
    n_bits: int
    splits: NDArray[np.int32]
    sizes: NDArray[np.int32]
    union: NDArray[np.int32]
    at_slot: NDArray[np.int32]
    number: NDArray[np.int32]
    weight: Floats

    @property
    def n_bytes(self) -> int:
        """Memory of the program."""
        return sum(part.nbytes for part in self if isinstance(part, np.ndarray))


class TreePrograms:
    """The programs of some trees, which are kept.

    Parameters
    ----------
    trees : Trees
    """

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self._kept: dict[bytes, tuple[Floats, Program]] = {}

    @cached_property
    def _splits(self) -> DistinctSplits:
        return DistinctSplits.of(self._trees)

    @cached_property
    def _used(self) -> NDArray[np.int64]:
        """The parents that trees split on."""
        return np.unique(self._trees.feature[self._trees.feature >= 0])

    @cached_property
    def _values(self) -> Floats:
        """The distributions at the leaves, the numbers of a state one after the other."""
        return np.ascontiguousarray(self._trees.values.T)

    @cached_property
    def _are_large(self) -> bool:
        """Whether rows go down the trees one by one."""
        return self._trees.n_leaves > _WALKED * len(self._trees.roots)

    @cached_property
    def is_possible(self) -> bool:
        """Whether no tree has more leaves than there are codes."""
        nothing = np.zeros(int(self._trees.feature.max(initial=0)) + 1, dtype=np.bool_)
        return bool(self._counts(nothing)[1].max() <= _MAX_LEAVES)

    def add_many(self, codes: Codes, share: Floats, out: Floats) -> NDArray[np.intp]:
        """Write the sums of the trees' distributions of many rows; return the rows left out.

        These lack parents that too few others lack.

        Parameters
        ----------
        codes : ndarray of uint8, shape (n_parents, n_rows)
            Groups of the parents' states, 255 where missing.
        share : ndarray, shape (n_nodes,)
            Weight of the left branch where the parent is missing.
        out : ndarray of zeros, shape (n_states, n_rows)
        """
        few: list[NDArray[np.intp]] = []
        # What other parents are makes no difference.
        lacking = np.zeros(codes.shape, dtype=np.bool_)
        lacking[self._used] = codes[self._used] == MISSING
        for rows, is_missing in _alike(lacking):
            if len(rows) < _ALIKE:
                few.append(rows)
            elif len(rows) == codes.shape[1]:
                self._add(codes, is_missing, share, out)
            else:
                sums = np.zeros((len(out), len(rows)))
                self._add(codes[:, rows], is_missing, share, sums)
                out[:, rows] = sums
        return np.concatenate([*few, np.empty(0, dtype=np.intp)])

    def _add(self, codes: Codes, is_missing: NDArray[np.bool_], share: Floats, out: Floats) -> None:
        """Add the sums of the trees' distributions of rows that lack the same parents."""
        n_rows = codes.shape[1]
        if self._are_large and not is_missing.any():
            self._walk(codes, out)
            return
        n_groups = np.ones(len(codes), dtype=np.int64)
        known = self._used[~is_missing[self._used]]
        n_groups[known] += codes[known].max(axis=1)
        n_words = -(-n_rows // 64)
        if n_words > _VECTOR:
            n_words = min(_MAX_WORDS, -(-n_words // _VECTOR) * _VECTOR)
        arguments = (
            codes, n_groups, is_missing, *self._splits[1:],
            *self._program(is_missing, share), self._values, n_words,
        )  # fmt: skip

        def part(begin: int, end: int) -> None:
            kernels.run_program(out, *arguments, begin, end)

        over_rows(part, n_rows, _MIN_ROWS, 64 * n_words)

    def _walk(self, codes: Codes, out: Floats) -> None:
        """Add the same sums for rows that lack no parent, row by row."""
        trees = self._trees
        walked = trees.roots, trees.steps, trees.below, trees.values

        def part(begin: int, end: int) -> None:
            add_reached(out, codes, *walked, begin, end)

        over_rows(part, codes.shape[1], _MIN_ROWS)

    def _counts(self, is_missing: NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """Return how many leaves of each tree a row can reach together, and how many there are."""
        trees = self._trees
        n_slots, n_leaves = np.empty((2, len(trees.feature)), dtype=np.int64)
        kernels.count_leaves(trees.feature, trees.below, is_missing, n_slots, n_leaves)
        return n_slots, n_leaves

    def _program(self, is_missing: NDArray[np.bool_], share: Floats) -> Program:
        key = is_missing.tobytes()
        known = self._kept.get(key)
        # The weights are those of the missing parents' distributions.
        if known is None or (known[0] is not share and is_missing.any()):
            known = share, self._written(is_missing, share)
            self._keep(key, known)
        return known[1]

    def _keep(self, key: bytes, known: tuple[Floats, Program]) -> None:
        """Keep a program; the oldest ones are dropped if there are too many or too large ones."""
        size = known[1].n_bytes
        self._kept.pop(key, None)
        while self._kept and (
            len(self._kept) >= _KEPT
            or size + sum(own.n_bytes for _, own in self._kept.values()) > _KEPT_BYTES
        ):
            self._kept.pop(next(iter(self._kept)))
        if size <= _KEPT_BYTES:
            self._kept[key] = known

    def _written(self, is_missing: NDArray[np.bool_], share: Floats) -> Program:
        trees = self._trees
        n_slots, n_leaves = self._counts(is_missing)
        n_splits, slots = n_leaves[trees.roots] - 1, n_slots[trees.roots]
        codes = _codes(int(n_leaves[trees.roots].max()))
        n_bits = int(codes.max()).bit_length()
        n, total = int(n_leaves[trees.roots].sum()), int(slots.sum())
        steps = Program(
            n_splits,
            slots,
            codes,
            n_bits,
            np.empty((int(n_splits.sum()), 3), dtype=np.int32),
            np.empty(total * n_bits, dtype=np.int32),
            np.empty(n * n_bits, dtype=np.int32),
            np.zeros(total + 1, dtype=np.int32),
            np.empty(n, dtype=np.int32),
            np.empty(n if is_missing.any() else 0),
        )
        n_united = kernels.write_program(
            trees.roots, trees.feature, trees.below, self._splits.split, share, is_missing,
            n_slots, n_leaves, *steps[2:],
        )  # fmt: skip
        return steps._replace(union=steps.union[:n_united].copy())


def _codes(n_leaves: int) -> NDArray[np.int32]:
    """Return the codes of leaves: those with few bits first, which take few operations.

    Of eight bits for up to 255 leaves, else one more than necessary, at most 16.
    """
    n_bits = max(8, n_leaves.bit_length())
    n_bits = min(n_bits + 1, 16) if n_bits > 8 else n_bits
    codes = np.arange(1, 1 << n_bits)
    n_set = ((codes[:, None] >> np.arange(n_bits)) & 1).sum(axis=1)
    return codes[np.argsort(n_set, kind="stable")].astype(np.int32)


def _alike(
    is_missing: NDArray[np.bool_],
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Yield groups of rows that lack the same parents, and which these are.

    Parameters
    ----------
    is_missing : ndarray, shape (n_parents, n_rows)
    """
    n_rows = is_missing.shape[1]
    number = np.zeros(n_rows, dtype=np.int64)
    n_numbers = 1
    for own in is_missing[is_missing.any(axis=1)]:
        if n_numbers > _MAX_NUMBERS:
            number = np.unique(number, return_inverse=True)[1].reshape(-1)
            n_numbers = int(number.max()) + 1
        number = 2 * number + own
        n_numbers *= 2
    order = np.argsort(number, kind="stable")
    ends = np.flatnonzero(np.diff(number[order])) + 1
    for rows in np.split(order, ends):
        yield rows, is_missing[:, rows[0]]
