"""Loops that sum counts and moments.

Counts are float64, which is exact for sums of integer weights up to 2**53."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

# Number of rows of a block, which is counted for all columns while its codes are in the cache.
_BLOCK = 4096
# Masks of the sums of neighbouring bits, each a byte eight times over; compilers know these steps
# and use one instruction.
_TWOS, _FOURS, _EIGHTS, _ONES = (
    np.uint64(byte * (2**64 // 255)) for byte in (0x55, 0x33, 0x0F, 0x01)
)
_1, _2, _4, _56 = (np.uint64(shift) for shift in (1, 2, 4, 56))


@kernel()
def count_singles(
    codes: NDArray[np.signedinteger],
    group: NDArray[np.signedinteger],
    weights: Floats,
    start: NDArray[np.int64],
    out: Floats,
) -> None:
    """Count the states of each column within each group of rows.

    For each column j, the weight of a row is added to ``out[group, start[j] + code]``.

    Parameters
    ----------
    codes : ndarray, shape (n_columns, n_rows)
        -1 where missing, which is not counted.
    group : ndarray, shape (n_rows,)
        Row of `out`; -1 where missing, which is not counted.
    weights : ndarray, shape (n_rows,) or (0,)
        Empty if every row weighs 1.
    start : ndarray, shape (n_columns,)
        Offset in a row of `out` at which the states of each column start.
    out : ndarray, shape (n_groups, number of states of all columns)
    """
    weighted = len(weights) > 0
    for j in range(codes.shape[0]):
        first = start[j]
        column = codes[j]
        for i in range(len(column)):
            if column[i] >= 0 and group[i] >= 0:
                # Unsigned indices are not tested for being negative, which takes time.
                at = np.uint64(first + column[i])
                out[np.uint64(group[i]), at] += weights[i] if weighted else 1.0


@kernel(work=lambda codes, *_: codes.size * len(codes))
def count_pairs(
    codes: NDArray[np.signedinteger],
    group: NDArray[np.signedinteger],
    weights: Floats,
    cards: NDArray[np.int64],
    start: NDArray[np.int64],
    out: Floats,
    counted: NDArray[np.bool_],
    first: int,
    last: int,
) -> None:
    """Count the joint states of the pairs of columns i < j within each group of rows.

    Parameters
    ----------
    codes, group, weights
        As in `count_singles`.
    cards : ndarray, shape (n_columns,)
        Number of states of each column.
    start : ndarray, shape (n_pairs + 1,)
        Offset in `out` of the table of each pair, of shape (n_groups, cards[i], cards[j]); pairs
        are in lexicographic order.
    out : ndarray, one-dimensional
        The tables, to which the counts are added.
    counted : ndarray of bool, shape (n_columns,)
        Pairs of two of these columns are left out.
    first, last : int
        The pairs with ``first <= i < last`` are counted.
    """
    n_columns, n_rows = codes.shape
    keys = np.empty(_BLOCK, dtype=np.int64)
    is_complete = np.empty(n_columns, dtype=np.bool_)
    for begin in range(0, n_rows, _BLOCK):
        n = min(_BLOCK, n_rows - begin)
        block = codes[:, begin : begin + n]
        groups = group[begin : begin + n]
        row_weights = weights[begin : begin + n]
        # Whether no code of column j is missing in this block.
        for j in range(first, n_columns):
            is_complete[j] = block[j].min() >= 0
        # Number of the first pair of column `first`, in lexicographic order.
        pair = first * n_columns - first * (first + 1) // 2
        for i in range(first, last):
            # The key of a row is its index along the first two axes of a table, taken as one.
            left_complete = _row_keys(block[i], groups, cards[i], keys)
            for j in range(i + 1, n_columns):
                table = out[start[pair] : start[pair + 1]]
                pair += 1
                if counted[i] and counted[j]:
                    continue
                if left_complete and is_complete[j] and len(weights) == 0:
                    _count_all(keys[:n], block[j], cards[j], table)
                else:
                    _count_some(keys[:n], block[j], cards[j], row_weights, table)


@kernel()
def pack_states(
    codes: NDArray[np.signedinteger],
    columns: NDArray[np.intp],
    group: NDArray[np.signedinteger],
    word: NDArray[np.int64],
    start: NDArray[np.int64],
    sets: NDArray[np.uint64],
) -> None:
    """Set the bit of each row in the sets of the states that it has in some columns.

    The joint counts of two states are the sizes of the intersections of their sets of rows: 64 rows
    an operation.

    Parameters
    ----------
    codes : ndarray, shape (n_columns, n_rows)
        -1 where missing: the row is in no set of the column.
    columns : ndarray, shape (n_few,)
        The columns that have sets.
    group : ndarray, shape (n_rows,)
        -1 where missing: the row is in no set.
    word : ndarray, shape (n_groups + 1,)
        Column of `sets` at which the rows of each group begin.
    start : ndarray, shape (n_few + 1,)
        Row of `sets` at which the states of each of these columns begin.
    sets : ndarray, shape (number of states of these columns, number of words of all groups)
        Zeros, of which bits are set.
    """
    # Per group the number of the bit of its next row; word w holds the bits from 64 w on.
    next_bit = word * 64
    # Word and bit of each row of a block; no bit if the row is in no group.
    word_at, bit_at = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
    for first in range(0, len(group), _BLOCK):
        size = min(_BLOCK, len(group) - first)
        for row in range(size):
            g = group[first + row]
            word_at[row], bit_at[row] = 0, 0
            if g >= 0:
                word_at[row], bit_at[row] = next_bit[g] // 64, _1 << np.uint64(next_bit[g] % 64)
                next_bit[g] += 1
        for j in range(len(columns)):
            column = codes[columns[j], first : first + size]
            for row in range(size):
                if column[row] >= 0:
                    sets[np.uint64(start[j] + column[row]), word_at[row]] |= bit_at[row]


@kernel(work=lambda sets, *_: sets.size * len(sets))
def count_bits(
    sets: NDArray[np.uint64],
    word: NDArray[np.int64],
    state_start: NDArray[np.int64],
    columns: NDArray[np.intp],
    n_columns: int,
    start: NDArray[np.int64],
    out: Floats,
    first: int,
    last: int,
) -> None:
    """Count the joint states of the pairs of columns that have sets, within each group of rows.

    Parameters
    ----------
    sets, word, state_start, columns
        As in `pack_states`, whose `start` is `state_start`: the row of `sets` at which the states
        of each column begin; `columns` ascends.
    n_columns : int
        Number of all columns.
    start, out
        As in `count_pairs`.
    first, last : int
        The pairs of the p-th and any later column of `columns` with ``first <= p < last`` are
        counted.
    """
    for p in range(first, last):
        for q in range(p + 1, len(columns)):
            # Place in `out` of the next cell of the pair's table.
            i, j = columns[p], columns[q]
            # The number of the pair is that of lexicographic order.
            at = start[i * n_columns - i * (i + 1) // 2 + j - i - 1]
            for g in range(len(word) - 1):
                for a in range(state_start[p], state_start[p + 1]):
                    for b in range(state_start[q], state_start[q + 1]):
                        # The words of group g.
                        out[at] += _n_common(sets, a, b, word[g], word[g + 1])
                        at += 1


@kernel()
def _n_common(sets: NDArray[np.uint64], a: int, b: int, begin: int, end: int) -> np.uint64:
    """Return the number of bits that two sets have in common in a range of words."""
    n = np.uint64(0)
    one, other = sets[a, begin:end], sets[b, begin:end]
    for k in range(len(one)):
        x = one[k] & other[k]
        # Sums of 2, 4 and 8 neighbouring bits side by side; the product has the sum of all eight
        # bytes in its highest byte.
        x = x - ((x >> _1) & _TWOS)
        x = (x & _FOURS) + ((x >> _2) & _FOURS)
        x = (x + (x >> _4)) & _EIGHTS
        n += (x * _ONES) >> _56
    return n


@kernel()
def _row_keys(
    left: NDArray[np.signedinteger],
    group: NDArray[np.signedinteger],
    card: int,
    base: NDArray[np.int64],
) -> bool:
    """Write the key ``group * card + left`` of each row to `base`; return whether none is missing.

    `left` holds the codes of a column with `card` states. The key is -1 if the group or the code is
    missing. Groups may be keys themselves, which are overwritten.
    """
    complete = True
    for row in range(len(left)):
        if left[row] >= 0 and group[row] >= 0:
            base[row] = group[row] * card + left[row]
        else:
            base[row] = -1
            complete = False
    return complete


@kernel()
def _count_all(
    base: NDArray[np.int64], right: NDArray[np.signedinteger], card: int, table: Floats
) -> None:
    """Count the two codes of each row, none of which is missing; faster than `_count_some`.

    `base` and `right` are the indices along the axes of the table, of which `card` is the length of
    the last one.
    """
    for row in range(len(right)):
        table[base[row] * card + right[row]] += 1.0


@kernel()
def _count_some(
    base: NDArray[np.signedinteger],
    right: NDArray[np.signedinteger],
    card: int,
    weights: Floats,
    table: Floats,
) -> None:
    """Add the weight of each row to the cell of its two codes, unless one of them is missing (-1).

    See `_count_all`; `weights` is empty if every row weighs 1.
    """
    weighted = len(weights) > 0
    for row in range(len(right)):
        if base[row] >= 0 and right[row] >= 0:
            table[np.int64(base[row]) * card + right[row]] += weights[row] if weighted else 1.0


@kernel(work=lambda codes, _places, _cards, plan, *_: codes.shape[1] * len(plan))
def count_extensions(
    codes: NDArray[np.signedinteger],
    places: NDArray[np.int64],
    cards: NDArray[np.int64],
    plan: NDArray[np.int64],
    weights: Floats,
    out: Floats,
) -> None:
    """Count the joint states of new columns, each together with the others of its group.

    Parameters
    ----------
    codes : ndarray, shape (n_all_columns, n_rows)
        -1 where missing; rows that lack a column of a table are not counted in it.
    places, cards : ndarray, shape (n_columns,)
        Row of each column in `codes`, and its number of states.
    plan : ndarray, one-dimensional
        For each group how many columns are new, how many are others, and the indices of these
        columns in `places`: see `Extensions.plan`.
    weights : ndarray, shape (n_rows,) or (0,)
        Empty if every row weighs 1.
    out : ndarray, one-dimensional
        Zeros, to which the counts are added: tables of shape (cards of the new column, *cards of
        the others), one after the other.
    """
    n_rows = codes.shape[1]
    keys = np.empty(min(_BLOCK, n_rows), dtype=np.int64)
    # Where in `out` the tables of a group begin, and where in the plan the group is described.
    group_start = in_plan = 0
    while in_plan < len(plan):
        # A group of the plan: the number of its new columns, that of the others, and these columns.
        end_of_new = in_plan + 2 + plan[in_plan]
        end_of_others = end_of_new + plan[in_plan + 1]
        new, others = plan[in_plan + 2 : end_of_new], plan[end_of_new:end_of_others]
        n_configurations = 1
        for other in others:
            n_configurations *= cards[other]
        table_start = group_start
        for first in range(0, n_rows, _BLOCK):
            last = min(first + _BLOCK, n_rows)
            # The configuration of the others in each row, -1 if one is missing. Mixed radix: the
            # last of them varies fastest, as in a table in C order.
            keys[: last - first] = 0
            for other in others:
                _row_keys(codes[places[other], first:last], keys, cards[other], keys)
            table_start = group_start
            for j in new:
                table_end = table_start + cards[j] * n_configurations
                _count_some(
                    codes[places[j], first:last],
                    keys[: last - first],
                    n_configurations,
                    weights[first:last],
                    out[table_start:table_end],
                )
                table_start = table_end
        # The tables and the plan of the next group follow.
        group_start, in_plan = table_start, end_of_others


@kernel()
def _first_observed(values: Floats) -> Floats:
    """Return the first value of each column that is not NaN, or 0 for a column of NaN."""
    first = np.zeros(values.shape[1])
    for j in range(values.shape[1]):
        for i in range(values.shape[0]):
            # Only NaN differs from itself.
            if values[i, j] == values[i, j]:
                first[j] = values[i, j]
                break
    return first


# Number of rows of a block of numbers, which stay in the cache between passes.
_MOMENTS_BLOCK = 2048


# Minimum share of a cell's squared deviations from a common origin that are deviations from its own
# mean; below it the difference has lost too many digits, and they are summed by themselves.
_CANCELLED = 1e-3


@kernel(work=lambda values, codes, *_: 3 * values.size * len(codes))
def mixed_moments(
    values: Floats,
    codes: NDArray[np.signedinteger],
    group: NDArray[np.signedinteger],
    weights: Floats,
    cards: NDArray[np.int64],
    start: NDArray[np.int64],
    count: Floats,
    mean: Floats,
    square: Floats,
) -> None:
    """Write the moments of numbers within each state of each discrete column and each group.

    The rows ``g * S + start[j] + code`` of the results are count, mean and sum of squares of
    deviations for group g and a state of column j. Each block is read once for all columns.
    They are first summed about the first number of a block, so that it does not matter how far the
    numbers lie from zero, and a constant column has a square of exactly zero; in cells far from
    that number, where digits would cancel, they are summed anew about the mean. Blocks are merged
    as in Chan, Golub and LeVeque (1979).

    Parameters
    ----------
    values : ndarray, shape (n_rows, n_numbers)
        NaN where missing, which is not counted.
    codes, group, weights
        As in `count_singles`.
    cards, start : ndarray, shape (n_columns,) and (n_columns + 1,)
        Number of states of each discrete column, and their offsets among all S states.
    count, mean, square : ndarray, shape (n_groups * S, n_numbers)
        Zeros, to which blocks are added; squares are about the mean.
    """
    n_rows, d = values.shape
    n_states = start[-1]
    n_groups = len(count) // n_states
    most_cells = n_groups * cards.max()
    part_count, part_mean, part_square = (
        np.empty((most_cells, d)), np.empty((most_cells, d)), np.empty((most_cells, d)),
    )  # fmt: skip
    deviation = np.empty((min(n_rows, _MOMENTS_BLOCK), d))
    keys = np.empty(_MOMENTS_BLOCK, np.int64)
    cancelled = np.empty(most_cells, np.bool_)
    for begin in range(0, n_rows, _MOMENTS_BLOCK):
        block = values[begin : begin + _MOMENTS_BLOCK]
        n = len(block)
        block_groups = group[begin : begin + n]
        row_weights = weights[begin : begin + n] if len(weights) else np.ones(n)
        origin = _first_observed(block)
        complete = True
        for i in range(n):
            for k in range(d):
                deviation[i, k] = block[i, k] - origin[k]
                # Only NaN differs from itself.
                complete &= block[i, k] == block[i, k]
        for j in range(len(cards)):
            n_cells = n_groups * cards[j]
            _row_keys(codes[j, begin : begin + n], block_groups, cards[j], keys)
            part_count[:n_cells] = 0.0
            part_mean[:n_cells] = 0.0
            part_square[:n_cells] = 0.0
            # Until the loop below, the means and squares are sums of deviations from the origin and
            # of their squares.
            _add_deviations(
                keys, row_weights, deviation, complete, n_cells, part_count, part_mean, part_square
            )
            any_cancelled = False
            for cell in range(n_cells):
                cancelled[cell] = False
                for k in range(d):
                    if part_count[cell, k] > 0.0:
                        # Sum of squared deviations from the mean: sum x^2 - (sum x)^2 / n.
                        shift = part_mean[cell, k] / part_count[cell, k]
                        about_mean = part_square[cell, k] - shift * part_mean[cell, k]
                        cancelled[cell] |= about_mean < _CANCELLED * part_square[cell, k]
                        part_mean[cell, k] = origin[k] + shift
                        part_square[cell, k] = about_mean
                if cancelled[cell]:
                    any_cancelled = True
                    part_square[cell] = 0.0
            # Weighted squared deviations from the means, of the rows of cells that lost them.
            for i in range(n if any_cancelled else 0):
                cell, w = keys[i], row_weights[i]
                if cell < 0 or not cancelled[cell]:
                    continue
                for k in range(d):
                    x = block[i, k] - part_mean[cell, k]
                    # Missing numbers, which are NaN, differ from themselves.
                    part_square[cell, k] += w * x * x if x == x else 0.0
            for cell in range(n_cells):
                # A cell is ``g * cards[j] + code``; its row of the results is that of the
                # docstring.
                to = cell // cards[j] * n_states + start[j] + cell % cards[j]
                for k in range(d):
                    more = part_count[cell, k]
                    if more > 0.0:
                        total = count[to, k] + more
                        share = more / total
                        # The distance of the two means, and what it adds to the squares.
                        delta = part_mean[cell, k] - mean[to, k]
                        between = delta * delta * count[to, k] * share
                        square[to, k] = square[to, k] + part_square[cell, k] + between
                        mean[to, k] += delta * share
                        count[to, k] = total


@kernel()
def _add_deviations(
    keys: NDArray[np.int64],
    weights: Floats,
    deviation: Floats,
    complete: bool,
    n_cells: int,
    count: Floats,
    total: Floats,
    square: Floats,
) -> None:
    """Add weights, weighted deviations and their weighted squares of rows to their cells.

    A row of key -1 is in no cell. `complete` says that no deviation is missing (NaN): the weights
    are then added once for all numbers.
    """
    d = deviation.shape[1]
    for i in range(len(weights)):
        cell, w = keys[i], weights[i]
        if cell < 0:
            continue
        # One of the two loops over the numbers is empty: without missing numbers none is looked at,
        # so that vector instructions can be used.
        for k in range(d if complete else 0):
            x = deviation[i, k]
            total[cell, k] += w * x
            square[cell, k] += w * x * x
        if complete:
            count[cell, 0] += w
        for k in range(0 if complete else d):
            # Only NaN differs from itself.
            is_there = deviation[i, k] == deviation[i, k]
            x = deviation[i, k] if is_there else 0.0
            count[cell, k] += w if is_there else 0.0
            total[cell, k] += w * x
            square[cell, k] += w * x * x
    if complete:
        for cell in range(n_cells):
            for k in range(1, d):
                count[cell, k] = count[cell, 0]


@kernel()
def sum_items(
    indptr: NDArray[np.signedinteger],
    indices: NDArray[np.signedinteger],
    data: Floats,
    group: NDArray[np.signedinteger],
    weights: Floats,
    threshold: float,
    sums: Floats,
    missing: Floats,
    totals: Floats,
) -> None:
    """Add the counts of a matrix in CSR format to sums by group and item.

    Parameters
    ----------
    indptr, indices, data
        Arrays of the (n_rows, n_items) matrix; NaN is missing. `indices` is empty if every row has
        an entry for every item.
    group : ndarray, shape (n_rows,)
        Row of `sums` of each row; none is missing.
    weights
        As in `count_singles`.
    threshold : float
        Counts above the threshold add 1 and others 0; with NaN the counts themselves are added.
    sums, missing : ndarray, shape (n_groups, n_items)
        Weighted sums, and the weight of rows whose count is missing; both are added to.
    totals : ndarray, shape (n_rows,)
        Overwritten with the total count of each row, NaN if a count is missing.
    """
    for i in range(len(group)):
        g = group[i]
        w = weights[i] if len(weights) else 1.0
        row = data[indptr[i] : indptr[i + 1]]
        totals[i] = 0.0
        for k in range(len(row)):
            totals[i] += row[k]
        if totals[i] == totals[i] and not len(indices):
            # A row without NaN needs no test of each count, so that vector instructions add many
            # at once. One of the two loops is empty: a threshold that differs from itself is NaN,
            # which stands for none.
            for k in range(len(row) if threshold != threshold else 0):
                sums[g, k] += w * row[k]
            for k in range(len(row) if threshold == threshold else 0):
                sums[g, k] += w if row[k] > threshold else 0.0
            continue
        for k in range(len(row)):
            value = row[k]
            item = indices[indptr[i] + k] if len(indices) else k
            # NaN: missing.
            if value != value:
                missing[g, item] += w
            elif threshold != threshold:
                sums[g, item] += w * value
            else:
                sums[g, item] += w if value > threshold else 0.0


@kernel()
def count_bins(
    values: Floats,
    group: NDArray[np.signedinteger],
    weights: Floats,
    edges: Floats,
    counts: Floats,
    low: Floats,
    high: Floats,
) -> None:
    """Add the weights of rows to a histogram; bin 2k is below edge k, and bin 2k + 1 is edge k.

    Parameters
    ----------
    values : ndarray, shape (n_rows,)
        NaN where missing, which is not counted; infinite values are not allowed.
    group, weights
        As in `count_singles`.
    edges : ndarray, shape (n_edges,)
        Distinct, ascending.
    counts : ndarray, shape (2 * n_edges + 1, n_groups)
    low, high : ndarray, shape (2 * n_edges + 1,)
        Minimum and maximum of the values in each bin, which are lowered and raised.
    """
    for row in range(len(values)):
        # Adding zero turns -0.0 into 0.0.
        value = values[row] + 0.0
        w = weights[row] if len(weights) else 1.0
        if value != value or group[row] < 0 or w == 0.0:
            continue
        # Binary search without branches: `below` edges are known to lie below the value, and the
        # next `left` ones may.
        below, left = 0, len(edges)
        while left:
            half = (left + 1) // 2
            below += half if edges[below + half - 1] < value else 0
            left -= half
        is_edge = below < len(edges) and edges[below] == value
        at = 2 * below + (1 if is_edge else 0)
        counts[at, group[row]] += w
        low[at] = min(low[at], value)
        high[at] = max(high[at], value)
