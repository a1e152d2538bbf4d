"""Loops over the tests of pairs of columns, given sets of their neighbours, from rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

_Codes = NDArray[np.signedinteger]
_Indices = NDArray[np.int64]
_Keys = NDArray[np.uint32]
# Cells are set to zero as a whole up to as many for each row, and else where rows are.
_CELLS_PER_ROW = 4
# Number of slots that a set may be in.
_WAYS = 8


@kernel(
    error_model="numpy",
    work=lambda codes, _cards, pairs, *_: codes.shape[1] * len(pairs) * len(codes),
)
def separate(
    codes: _Codes,
    cards: _Indices,
    pairs: _Indices,
    first: int,
    near: _Indices,
    ends: _Indices,
    most_cells: int,
    alpha: float,
    critical: Floats,
    logs: Floats,
    marks: _Indices,
    known: _Indices,
    sums: Floats,
    sets: _Indices,
    told: Floats,
) -> tuple[int, int, int]:
    """Find for each pair the first set of neighbours of either end given which it is independent.

    The statistic of a test comes from sums of ``n log n`` over the configurations of sets of
    columns, which tests share: ``information = sum(a, b, S) + sum(S) - sum(a, S) - sum(b, S)``.

    Parameters
    ----------
    codes : ndarray, shape (n_columns, n_rows)
        Without missing values.
    cards : ndarray, shape (n_columns,)
        Numbers of states.
    pairs : ndarray, shape (n_pairs, 2)
    first : int
        Pair to begin with.
    near, ends : ndarray of int
        The neighbours of each column c are ``near[ends[c] : ends[c + 1]]``, in the order in which
        sets take them.
    most_cells : int
        Maximum number of cells of the table of a test, which is not made if it has more.
    alpha : float
        Level of the tests.
    critical : ndarray
        Values that G-squared exceeds with probability alpha, by degrees of freedom; 0 for none.
    logs : ndarray, shape (n_rows + 1,)
        ``n log n`` by n.
    marks : ndarray of int, shape (n_columns,)
        A set is known by the exclusive or of the marks of its columns (Zobrist 1970).
    known : ndarray of int, shape (n_slots,)
        Marks of sets that were counted, -1 for none.
    sums : ndarray, shape (n_slots, 2)
        Sums of ``n log n`` and numbers of configurations that occur, of these sets.
    sets : ndarray, shape (n_pairs, size of sets)
        The set found is written here.
    told : ndarray, shape (3, n_pairs)
        Least information of a test, in nats, infinite if no test has a result; information and
        degrees of freedom of the test that found the pair independent, NaN if none did.

    Returns
    -------
    place : int
        Pair whose test needs a longer table of critical values; the number of pairs at the end.
    degrees : int
        Its degrees of freedom.
    n_sets : int
        Number of sets that the pairs had.
    """
    n_rows, size = codes.shape[1], sets.shape[1]
    keys, counts = np.empty(n_rows, np.uint32), np.zeros(1, np.int32)
    around, inside = np.empty((2, len(codes)), np.int64), np.zeros(len(codes), np.bool_)
    chosen, test, n_sets = np.empty(size, np.int64), np.empty(size + 2, np.int64), 0
    room, limit = np.empty(2, np.int64), -math.log(alpha)
    for pair in range(first, len(pairs)):
        told[0, pair], apart = math.inf, False
        for side in range(2):
            test[0], test[1] = pairs[pair, side], pairs[pair, 1 - side]
            room[side] = 0
            for neighbour in near[ends[test[0]] : ends[test[0] + 1]]:
                if neighbour != test[1]:
                    around[side, room[side]] = neighbour
                    room[side] += 1
                    inside[neighbour] |= side == 0
            more = room[side] >= size and not apart and (size > 0 or side == 0)
            for i in range(size):
                chosen[i] = i
            while more:
                again = side == 1
                for i in range(size):
                    test[2 + i] = around[side, chosen[i]]
                    again &= inside[test[2 + i]]
                cells = 1
                for column in test:
                    cells = min(cells * cards[column], most_cells + 1)
                n_sets += not again
                if not again and cells <= most_cells:
                    if cells > len(counts):
                        counts = np.zeros(cells, np.int32)
                    least = told[0, pair]
                    information, degrees = _test(
                        codes, cards, test, least, limit, critical, logs, marks, known, sums, keys,
                        counts,
                    )  # fmt: skip
                    if degrees >= len(critical):
                        return pair, degrees, n_sets
                    if degrees != 0 or size == 0:
                        told[0, pair] = min(least, information)
                    if (degrees > 0 and 2.0 * information < critical[degrees]) or (
                        degrees == 0 and size == 0
                    ):
                        told[1, pair], told[2, pair], apart = information, degrees, True
                        sets[pair] = test[2:]
                more = not apart and _advance(chosen, room[side])
        for i in range(room[0]):
            inside[around[0, i]] = False
    return len(pairs), 0, n_sets


@kernel()
def _advance(chosen: _Indices, n: int) -> bool:
    """Make ascending numbers below n the next ones in lexicographic order, if there are any."""
    size = len(chosen)
    for i in range(size - 1, -1, -1):
        if chosen[i] < n - size + i:
            chosen[i] += 1
            for j in range(i + 1, size):
                chosen[j] = chosen[j - 1] + 1
            return True
    return False


@kernel(error_model="numpy")
def _test(
    codes: _Codes,
    cards: _Indices,
    test: _Indices,
    least: float,
    limit: float,
    critical: Floats,
    logs: Floats,
    marks: _Indices,
    known: _Indices,
    sums: Floats,
    keys: _Keys,
    counts: NDArray[np.int32],
) -> tuple[float, int]:
    """Return information and degrees of freedom of the test of two columns given the others.

    The degrees are -1 where a bound on them shows that the columns are dependent, and the
    information is infinite where a bound shows that it is above `least` too.
    """
    mark = np.int64(0)
    for i in range(2, len(test)):
        mark ^= marks[test[i]]
    left, right = mark ^ marks[test[0]], mark ^ marks[test[1]]
    args = codes, cards, test, logs, known, sums, keys, counts
    slot = _slot(mark, known)
    if slot < 0:
        slot = _counted(0, mark, *args)
    given, n_given = sums[slot, 0], int(sums[slot, 1])
    slot = _slot(left, known)
    if slot < 0:
        slot = _counted(1, left, *args)
    one, r = sums[slot, 0], int(sums[slot, 1]) - n_given
    if r == 0:
        return 0.0, 0
    slot = _slot(right, known)
    if slot < 0:
        slot = _counted(2, right, *args)
    other, s = sums[slot, 0], int(sums[slot, 1]) - n_given
    if s == 0:
        return 0.0, 0
    bound = min(r * (cards[test[1]] - 1), s * (cards[test[0]] - 1))
    if bound < len(critical):
        above = 0.5 * critical[bound]
    else:
        # Laurent and Massart (2000, lemma 1).
        above = 0.5 * bound + math.sqrt(bound * limit) + limit
    both = left ^ marks[test[1]]
    slot = _slot(both, known)
    if slot < 0:
        # The information of a set and one more column exceeds that of the set by no less than
        # minus what the column says about one of the two.
        fewer = -math.inf
        for i in range(2, len(test)):
            without = marks[test[i]]
            at = _slot(both ^ without, known)
            if at >= 0:
                first, second = _slot(left ^ without, known), _slot(right ^ without, known)
                if first >= 0:
                    fewer = max(fewer, sums[at, 0] - sums[first, 0] + given - other)
                if second >= 0:
                    fewer = max(fewer, sums[at, 0] - sums[second, 0] + given - one)
        if fewer > above and fewer > least:
            return math.inf, -1
        slot = _counted(3, both, *args)
    information = max(sums[slot, 0] + given - one - other, 0.0)
    if information > above:
        return information, -1
    if n_given == 1:
        return information, r * s
    return information, _degrees(codes, cards, test, keys, counts)


@kernel()
def _slot(mark: int, known: _Indices) -> int:
    """Return where the set of a mark is, or -1."""
    first = mark & (len(known) - _WAYS)
    for slot in range(first, first + _WAYS):
        if known[slot] == mark:
            return slot
    return -1


@kernel(error_model="numpy")
def _counted(
    ends: int,
    mark: int,
    codes: _Codes,
    cards: _Indices,
    test: _Indices,
    logs: Floats,
    known: _Indices,
    sums: Floats,
    keys: _Keys,
    counts: NDArray[np.int32],
) -> int:
    """Count the configurations of what is given and the ends; return the slot of what is found.

    `ends` is 1 for the first end, 2 for the second, 3 for both.
    """
    first = mark & (len(known) - _WAYS)
    slot = first + mark // len(known) % _WAYS
    for empty in range(first + _WAYS - 1, first - 1, -1):
        if known[empty] < 0:
            slot = empty
    cells = _keys_of(ends, codes, cards, test, keys)
    known[slot] = mark
    sums[slot, 0], sums[slot, 1] = _count(keys, counts[:cells], logs)
    return slot


@kernel()
def _keys_of(ends: int, codes: _Codes, cards: _Indices, test: _Indices, keys: _Keys) -> int:
    """Write the configuration in each row; return the number of possible ones."""
    cells = 1
    keys[:] = 0
    for i in range(len(test) - 1, -1, -1):
        if i >= 2 or ends >> i & 1:
            column, card = codes[test[i]], cards[test[i]]
            for row in range(len(keys)):
                keys[row] = keys[row] * card + column[row]
            cells *= card
    return cells


@kernel(error_model="numpy")
def _count(keys: _Keys, counts: NDArray[np.int32], logs: Floats) -> tuple[float, int]:
    """Return the sum of n log n and the number of keys that occur; `counts` are zeros again."""
    total, there = 0.0, 0
    for key in keys:
        counts[key] += 1
    if len(counts) <= _CELLS_PER_ROW * len(keys):
        for n in counts:
            if n > 0:
                total += logs[n]
                there += 1
        counts[:] = 0
        return total, there
    for key in keys:
        n = counts[key]
        if n > 0:
            total += logs[n]
            there += 1
            counts[key] = 0
    return total, there


@kernel(error_model="numpy")
def _degrees(
    codes: _Codes,
    cards: _Indices,
    test: _Indices,
    keys: _Keys,
    counts: NDArray[np.int32],
) -> int:
    """Return the degrees of freedom: the sum of (r - 1) (s - 1) over what is given.

    r and s states of the ends occur there.
    """
    strata = _keys_of(0, codes, cards, test, keys)
    if strata > len(keys):
        strata = _number(keys, counts)
    one, other = codes[test[0]], codes[test[1]]
    r, s = cards[test[0]], cards[test[1]]
    left, right = np.zeros(strata * r, np.bool_), np.zeros(strata * s, np.bool_)
    for row in range(len(keys)):
        left[keys[row] * r + one[row]] = True
        right[keys[row] * s + other[row]] = True
    degrees = 0
    for stratum in range(strata):
        m = n = -1
        for state in range(stratum * r, stratum * r + r):
            m += left[state]
        if m > 0:
            for state in range(stratum * s, stratum * s + s):
                n += right[state]
            degrees += m * n
    return degrees


@kernel()
def _number(keys: _Keys, counts: NDArray[np.int32]) -> int:
    """Replace keys by numbers from 0 in the order of the rows; return how many there are."""
    first, n = np.empty(len(keys), keys.dtype), 0
    for row in range(len(keys)):
        key = keys[row]
        if counts[key] == 0:
            first[n] = key
            n += 1
            counts[key] = n
        keys[row] = counts[key] - 1
    for key in first[:n]:
        counts[key] = 0
    return n
