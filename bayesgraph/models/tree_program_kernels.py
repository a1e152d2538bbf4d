"""Kernels that send many rows down many trees together, each row as one bit of a word.

A node has one bit for each row of a block: whether the row is there. A split is two operations on
words, however the rows are divided, and no branch depends on a row. The leaves have codes, and the
rows that are at leaves with bit b in their code form a bit plane. Eight planes become one byte for
each row, which says what leaf the row is at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Codes = NDArray[np.uint8]

# Rows of a word, and planes that become a byte.
_ROWS, _PLANES = 64, 8
# What two words exchange if eight words of eight bytes are transposed bit by bit, byte by byte.
_STEPS = np.array([1, 2, 4], dtype=np.uint64)
_KEPT = np.array([0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F], dtype=np.uint64)
_NONE = np.uint64(0)
# In place of the number of a distinct split: both branches are taken.
BOTH = -1
# Slots whose leaves are added in one pass over the rows.
TOGETHER = 4


@kernel()
def count_leaves(
    feature: NDArray[np.int32],
    below: NDArray[np.int32],
    is_missing: NDArray[np.bool_],
    n_slots: Ints,
    n_leaves: Ints,
) -> None:
    """Write for each node how many leaves are below it, and how many a row can reach together.

    A row takes both branches of splits on missing parents.

    Parameters
    ----------
    feature, below : ndarray, shape (n_nodes,)
        See `Trees`.
    is_missing : ndarray, shape (n_parents,)
    n_slots, n_leaves : ndarray, shape (n_nodes,)
        The results.
    """
    for back in range(len(feature)):
        node = len(feature) - 1 - back
        if feature[node] < 0:
            n_slots[node], n_leaves[node] = 1, 1
            continue
        left, right = below[node], below[node] + 1
        n_leaves[node] = n_leaves[left] + n_leaves[right]
        if is_missing[feature[node]]:
            n_slots[node] = n_slots[left] + n_slots[right]
        else:
            n_slots[node] = max(n_slots[left], n_slots[right])


@kernel()
def write_program(
    roots: NDArray[np.int32],
    feature: NDArray[np.int32],
    below: NDArray[np.int32],
    split: NDArray[np.int32],
    share: Floats,
    is_missing: NDArray[np.bool_],
    n_slots: Ints,
    n_leaves: Ints,
    codes: NDArray[np.int32],
    n_bits: int,
    splits: NDArray[np.int32],
    sizes: NDArray[np.int32],
    union: NDArray[np.int32],
    at_slot: NDArray[np.int32],
    number: NDArray[np.int32],
    weight: Floats,
) -> int:
    """Write the steps of a program; return the number of entries of `union`.

    The rows at a node have a place: the root place 0, a left child node a new one, and a right
    child node that of its parent. So each leaf has a place of its own in the end.

    Parameters
    ----------
    roots, feature, below : ndarray
        See `Trees`.
    split : ndarray, shape (n_nodes,)
        Index of the distinct split of each node.
    share : ndarray, shape (2, n_nodes)
        Weights of the left and of the right branch at splits on missing parents.
    is_missing, n_slots, n_leaves
        See `count_leaves`.
    codes, n_bits, splits, sizes, union, at_slot, number, weight
        The program; see `Program`. All but the codes and the number of bits is written.
    """
    slot, place = np.zeros(len(feature), dtype=np.int64), np.zeros(len(feature), dtype=np.int64)
    own = np.ones(len(feature))
    step, first, item, n_before = 0, 0, 0, 0
    for tree in range(len(roots)):
        root = roots[tree]
        pending = np.empty(n_leaves[root] + 1, dtype=np.int64)
        found = np.empty(n_leaves[root], dtype=np.int64)
        # Where the leaves of each slot begin.
        begin = np.zeros(n_slots[root] + 1, dtype=np.int64)
        n_places, n_found, n_pending = 1, 0, 1
        pending[0] = root
        while n_pending > 0:
            n_pending -= 1
            node = pending[n_pending]
            if feature[node] < 0:
                begin[slot[node] + 1] += 1
                found[n_found] = node
                n_found += 1
                continue
            left, right = below[node], below[node] + 1
            slot[left], slot[right] = slot[node], slot[node]
            own[left], own[right] = own[node], own[node]
            splits[step, 1] = split[node]
            if is_missing[feature[node]]:
                splits[step, 1] = BOTH
                slot[right] += n_slots[left]
                own[left] *= share[0, node]
                own[right] *= share[1, node]
            place[left], place[right] = n_places, place[node]
            splits[step, 0], splits[step, 2] = place[node], n_places
            n_places += 1
            step += 1
            pending[n_pending], pending[n_pending + 1] = right, left
            n_pending += 2
        for k in range(n_slots[root]):
            begin[k + 1] += begin[k]
            at_slot[first + k + 1] = n_before + begin[k + 1]
        used = begin.copy()
        places = np.empty(n_found, dtype=np.int64)
        for i in range(n_found):
            node = found[i]
            at = used[slot[node]]
            used[slot[node]] += 1
            places[at] = place[node]
            number[n_before + at] = below[node]
            if len(weight) > 0:
                weight[n_before + at] = own[node]
        for k in range(n_slots[root]):
            for bit in range(n_bits):
                before = item
                for i in range(begin[k], begin[k + 1]):
                    if codes[i - begin[k]] >> bit & 1:
                        union[item] = places[i]
                        item += 1
                sizes[(first + k) * n_bits + bit] = item - before
        first += n_slots[root]
        n_before += n_found
    return item


@kernel()
def _divide(rows: Words, others: Words, left: Words) -> None:
    """Move the rows that go left to `others`."""
    for w in range(len(rows)):
        a, b = rows[w], left[w]
        others[w] = a & b
        rows[w] = a & ~b


@kernel()
def _remove(rows: Words, others: Words) -> None:
    for w in range(len(rows)):
        rows[w] &= ~others[w]


@kernel()
def _unite(rows: Words, others: Words) -> None:
    for w in range(len(rows)):
        rows[w] |= others[w]


@kernel()
def _transpose(eight: Words) -> None:
    """Exchange bit b of byte i of word j with bit j of byte i of word b; shape (8, n_words)."""
    for s in range(3):
        step, kept = _STEPS[s], _KEPT[s]
        for j in range(8):
            if j & step:
                continue
            a, b = eight[j], eight[j + (1 << s)]
            for w in range(eight.shape[1]):
                moved = ((a[w] >> step) ^ b[w]) & kept
                b[w] ^= moved
                a[w] ^= moved << step


@kernel()
def _find_left(
    codes: Codes,
    n_groups: Ints,
    is_missing: NDArray[np.bool_],
    column: NDArray[np.int32],
    base: NDArray[np.int32],
    offsets: NDArray[np.int32],
    groups: NDArray[np.int32],
    eight: Words,
    here: Words,
    left: Words,
) -> None:
    """Write which rows of a block go left at each distinct split.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n_parents, n_rows)
        Groups of the parents' states, of as many rows as there are bits.
    n_groups : ndarray, shape (n_parents,)
        All groups in the rows are below these numbers.
    is_missing : ndarray, shape (n_parents,)
        Parents that all rows lack.
    column, base, offsets, groups
        The distinct splits; see `DistinctSplits`.
    eight : ndarray, shape (8, n_words)
        Overwritten.
    here : ndarray, shape (n_groups.max(), n_words)
        Overwritten by the rows of each group of the last parent.
    left : ndarray, shape (n_distinct, n_words)
        The result.
    """
    before = -1
    for s in range(len(column)):
        j = column[s]
        if is_missing[j]:
            continue
        if j != before:
            before = j
            eight.reshape(-1).view(np.uint8)[:] = codes[j]
            _transpose(eight)
            here[0] = ~_NONE
            known, bit = 1, 0
            while known < n_groups[j]:
                # Groups that differ in this bit only were not told apart before.
                for g in range(known):
                    if known + g < n_groups[j]:
                        _divide(here[g], here[known + g], eight[bit])
                    else:
                        _remove(here[g], eight[bit])
                known *= 2
                bit += 1
        if base[s] >= 0:
            left[s] = left[base[s]]
        else:
            left[s] = _NONE
        for at in range(offsets[s], offsets[s + 1]):
            if groups[at] < n_groups[j]:
                _unite(left[s], here[groups[at]])


@kernel()
def _send_down(splits: NDArray[np.int32], begin: int, end: int, left: Words, reach: Words) -> None:
    """Send the rows of a block down one tree, by the steps from `begin` to `end`."""
    reach[0] = ~_NONE
    for step in range(begin, end):
        rows, others = reach[np.uint64(splits[step, 0])], reach[np.uint64(splits[step, 2])]
        if splits[step, 1] == BOTH:
            others[:] = rows
        else:
            _divide(rows, others, left[np.uint64(splits[step, 1])])


@kernel()
def _find_codes(
    sizes: NDArray[np.int32],
    first: int,
    n_bits: int,
    union: NDArray[np.int32],
    item: int,
    reach: Words,
    low: Words,
    high: Words,
) -> int:
    """Write the bytes of the codes of the leaves that rows are at; return the end in `union`."""
    for bit in range(16 if n_bits > _PLANES else _PLANES):
        plane = low[bit] if bit < _PLANES else high[bit - _PLANES]
        plane[:] = _NONE
        if bit < n_bits:
            end = item + sizes[first + bit]
            for k in range(item, end):
                _unite(plane, reach[np.uint64(union[k])])
            item = end
    _transpose(low)
    if n_bits > _PLANES:
        _transpose(high)
    return item


@kernel()
def _join(low: Codes, high: Codes, n_bits: int, found: NDArray[np.uint16]) -> None:
    """Write codes of one byte or two."""
    if n_bits <= _PLANES:
        found[:] = low[: len(found)]
        return
    for k in range(len(found)):
        found[k] = np.uint64(low[k]) | (np.uint64(high[k]) << np.uint64(_PLANES))


@kernel()
def _add_few(
    out: Floats,
    found: Codes,
    first: int,
    at_slot: NDArray[np.int32],
    codes: NDArray[np.int32],
    number: NDArray[np.int32],
    weight: Floats,
    values: Floats,
    table: Floats,
) -> None:
    """Add the distributions at the leaves of successive slots, in their order, by tables of codes.

    Parameters
    ----------
    out : ndarray, shape (n_states, n_rows)
    found : ndarray of uint8, shape (n_slots, n_rows)
        Codes of the leaves that rows are at, 0 for none; of at most `TOGETHER` slots.
    first : int
        The first slot.
    at_slot, codes, number, weight
        See `Program`.
    values : ndarray, shape (n_states, n_distributions)
    table : ndarray, shape (`TOGETHER`, number of codes)
        Overwritten.
    """
    for state in range(len(values)):
        value, target = values[state], out[state]
        for i in range(len(found)):
            begin, end = at_slot[first + i], at_slot[first + i + 1]
            table[i, 0] = 0.0
            for k in range(begin, end):
                own = value[np.uint64(number[k])]
                table[i, np.uint64(codes[k - begin])] = weight[k] * own if len(weight) > 0 else own
        if len(found) == TOGETHER:
            a, b, c, d = found[0], found[1], found[2], found[3]
            of_a, of_b, of_c, of_d = table[0], table[1], table[2], table[3]
            for k in range(len(target)):
                total = target[k] + of_a[np.uint64(a[k])]
                total += of_b[np.uint64(b[k])]
                total += of_c[np.uint64(c[k])]
                target[k] = total + of_d[np.uint64(d[k])]
        else:
            for i in range(len(found)):
                for k in range(len(target)):
                    target[k] += table[i, np.uint64(found[i, k])]


@kernel()
def _look_up(
    found: NDArray[np.uint16],
    slot: int,
    at_slot: NDArray[np.int32],
    codes: NDArray[np.int32],
    number: NDArray[np.int32],
    weight: Floats,
    numbers: NDArray[np.int32],
    weights: Floats,
    leaf: NDArray[np.int32],
    share: Floats,
) -> None:
    """Write the row of `values` and the weight of the leaf of a slot that each row is at.

    Parameters
    ----------
    found : ndarray of uint16, shape (n_rows,)
        Codes of the leaves that rows are at, 0 for none.
    slot, at_slot, codes, number, weight
        See `Program`.
    numbers, weights : ndarray, shape (number of codes,)
        Overwritten.
    leaf, share : ndarray, shape (n_rows,)
        The results; there are weights if the program has some.
    """
    begin, end = at_slot[slot], at_slot[slot + 1]
    numbers[0], weights[0] = 0, 0.0
    for k in range(begin, end):
        numbers[codes[k - begin]] = number[k]
    for k in range(len(found)):
        leaf[k] = numbers[np.uint64(found[k])]
    if len(weight) > 0:
        for k in range(begin, end):
            weights[codes[k - begin]] = weight[k]
        for k in range(len(found)):
            share[k] = weights[np.uint64(found[k])]


@kernel()
def _add(out: Floats, leaf: NDArray[np.int32], weight: Floats, values: Floats) -> None:
    """Add the weighted distributions at the leaves of one slot; shape (n_states, n_rows)."""
    for state in range(len(values)):
        value, target = values[state], out[state]
        for k in range(len(leaf)):
            target[k] += weight[k] * value[np.uint64(leaf[k])]


@kernel()
def _add_all(out: Floats, leaf: NDArray[np.int32], values: Floats) -> None:
    """Add the distributions at the leaves of several slots, in their order."""
    for state in range(len(values)):
        value, target = values[state], out[state]
        if len(leaf) == TOGETHER:
            a, b, c, d = leaf[0], leaf[1], leaf[2], leaf[3]
            for k in range(len(a)):
                total = target[k] + value[np.uint64(a[k])]
                total += value[np.uint64(b[k])]
                total += value[np.uint64(c[k])]
                target[k] = total + value[np.uint64(d[k])]
        else:
            for i in range(len(leaf)):
                for k in range(leaf.shape[1]):
                    target[k] += value[np.uint64(leaf[i, k])]


def _work(out: Floats, codes: Codes, *others: object) -> int:
    # What it takes to load the compiled kernels is nothing beside a million steps.
    n_rows: int = out.shape[1]
    return n_rows * 1000


@kernel(work=_work)
def run_program(
    out: Floats,
    codes: Codes,
    n_groups: Ints,
    is_missing: NDArray[np.bool_],
    column: NDArray[np.int32],
    base: NDArray[np.int32],
    offsets: NDArray[np.int32],
    groups: NDArray[np.int32],
    n_splits: Ints,
    n_slots: Ints,
    leaf_codes: NDArray[np.int32],
    n_bits: int,
    splits: NDArray[np.int32],
    sizes: NDArray[np.int32],
    union: NDArray[np.int32],
    at_slot: NDArray[np.int32],
    number: NDArray[np.int32],
    weight: Floats,
    values: Floats,
    n_words: int,
    begin: int,
    end: int,
) -> None:
    """Add the distributions at the leaves that each row reaches, tree by tree, to `out`.

    Parameters
    ----------
    out : ndarray, shape (n_states, n_rows)
    codes : ndarray of uint8, shape (n_parents, n_rows)
        Groups of the parents' states; anything where they are missing.
    n_groups : ndarray, shape (n_parents,)
        All groups in the rows are below these numbers.
    is_missing : ndarray, shape (n_parents,)
        Parents that all rows lack.
    column, base, offsets, groups
        The distinct splits; see `DistinctSplits`.
    n_splits, n_slots, leaf_codes, n_bits, splits, sizes, union, at_slot, number, weight
        The program; see `Program`.
    values : ndarray, shape (n_states, n_distributions)
    n_words : int
        Number of words of a block of rows.
    begin, end : int
        Range of the rows.
    """
    size = n_words * _ROWS
    eight = np.empty((_PLANES, n_words), dtype=np.uint64)
    high = np.empty_like(eight)
    low = np.empty((TOGETHER, _PLANES, n_words), dtype=np.uint64)
    low_bytes = low.reshape(TOGETHER, _PLANES * n_words).view(np.uint8)
    found = np.empty(size, dtype=np.uint16)
    here = np.empty((n_groups.max(), n_words), dtype=np.uint64)
    left = np.empty((len(column), n_words), dtype=np.uint64)
    reach = np.empty((n_splits.max() + 1, n_words), dtype=np.uint64)
    own = np.zeros((codes.shape[0], size), dtype=np.uint8)
    table = np.empty((TOGETHER, 1 << n_bits))
    numbers = np.empty(1 << n_bits, dtype=np.int32)
    leaf, share = np.empty((TOGETHER, size), dtype=np.int32), np.empty(size)
    largest = 0
    for k in range(len(at_slot) - 1):
        largest = max(largest, at_slot[k + 1] - at_slot[k])
    for start in range(begin, end, size):
        n = min(size, end - start)
        by_table = n_bits <= _PLANES and largest <= n
        target = out[:, start : start + n]
        own[:, :n] = codes[:, start : start + n]
        _find_left(own, n_groups, is_missing, column, base, offsets, groups, eight, here, left)
        step, slot, item, waiting = 0, 0, 0, 0
        for tree in range(len(n_splits)):
            _send_down(splits, step, step + n_splits[tree], left, reach)
            step += n_splits[tree]
            for _ in range(n_slots[tree]):
                item = _find_codes(
                    sizes, slot * n_bits, n_bits, union, item, reach, low[waiting], high
                )
                slot += 1
                waiting += 1
                if by_table:
                    if waiting == TOGETHER:
                        _add_few(
                            target, low_bytes[:, :n], slot - waiting, at_slot, leaf_codes, number,
                            weight, values, table,
                        )  # fmt: skip
                        waiting = 0
                    continue
                _join(low_bytes[waiting - 1], high.reshape(-1).view(np.uint8), n_bits, found[:n])
                _look_up(
                    found[:n], slot - 1, at_slot, leaf_codes, number, weight, numbers, table[0],
                    leaf[waiting - 1, :n], share[:n],
                )  # fmt: skip
                if len(weight) > 0:
                    _add(target, leaf[0, :n], share[:n], values)
                    waiting = 0
                elif waiting == TOGETHER:
                    _add_all(target, leaf[:, :n], values)
                    waiting = 0
        if by_table:
            _add_few(
                target, low_bytes[:waiting, :n], slot - waiting, at_slot, leaf_codes, number,
                weight, values, table,
            )  # fmt: skip
        else:
            _add_all(target, leaf[:waiting, :n], values)
