"""The compiler and the executor of programs: message passing on a junction tree as flat arrays.

A program is a list of integers, instructions one after the other. It reads tables and writes
numbers in one workspace, whose layout it fixes. A program runs in two ways:

* `run`: products and sums of probabilities, rescaled message by message;
* `run_log`: sums of logarithms, and logarithms of sums or maxima, as each instruction says; nothing
  can underflow there.

Every table lists its variables in the order in which they leave, the first of them outermost, so
that messages are read and written in runs.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from bayesgraph.parallel import over_rows

# How many threads there may be.
N_THREADS = numba.config.NUMBA_NUM_THREADS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Instructions. Each is: operation, length, target, source, kind of source, number of dimensions,
# number of loop dimensions, then (count, target step, source step) a dimension, outermost first,
# then (target step, source step) for each dimension of the loop around it.
COPY, MULTIPLY, ADD, CLEAR, LOOP, AGAIN, SCALE, DIVIDE, RESULT, MASS, ONES = range(1, 12)
# Words of an instruction before its dimensions, and of one that has none.
HEAD, SHORT = 7, 6
# Kinds of source: the workspace, or the table of a factor at the states that were observed.
WORK, TABLE = 0, 1
# For a sum: take the maximum instead. (The source is the workspace.)
MAXIMUM = 2

# Entries of a table that are treated at once: two of them fit into the first-level cache.
TILE = 8192
# Tables of at most so many entries are kept between the two passes, all of them together within
# what the last-level cache holds: beyond that it is faster to multiply again.
KEPT = 65536
ALL_KEPT = 2**20

# Tables of at least so many entries are shared by two threads.
LARGE = 2**21

# Below this the product of the smallest entries may underflow: 2**-1022 is the smallest normal.
LEAST_LOG2 = -1000.0

OK, IMPOSSIBLE, TOO_SMALL = 0, 1, 2


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _grown(code: Ints, size: int, more: int) -> Ints:
    if size + more <= len(code):
        return code
    larger = np.empty(2 * len(code) + more, np.int64)
    for k in range(size):
        larger[k] = code[k]
    return larger


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _emit(
    code: Ints, size: int, what: Ints, counts: Ints, target_steps: Ints, source_steps: Ints
) -> int:
    """Append an instruction that walks a target and a source along some axes.

    Axes that both sides walk in one stretch are merged.

    Parameters
    ----------
    what : operation, target, source, kind of source, number of axes, how many of them (the first) a
        loop runs through
    """
    start = size
    outer = what[5]
    code[start] = what[0]
    code[start + 2] = what[1]
    code[start + 3] = what[2]
    code[start + 4] = what[3]
    at = start + HEAD
    dims = 0
    for k in range(outer, what[4]):
        c, t, s = counts[k], target_steps[k], source_steps[k]
        if c == 1:
            continue
        if dims and code[at - 2] == t * c and code[at - 1] == s * c:
            code[at - 3] *= c
            code[at - 2] = t
            code[at - 1] = s
        else:
            code[at] = c
            code[at + 1] = t
            code[at + 2] = s
            at += 3
            dims += 1
    while dims < 2:
        # At least two dimensions, so that the executor has two loops and no special case.
        for k in range(at - 1, start + HEAD - 1, -1):
            code[k + 3] = code[k]
        code[start + HEAD] = 1
        code[start + HEAD + 1] = 0
        code[start + HEAD + 2] = 0
        at += 3
        dims += 1
    code[start + 5] = dims
    code[start + 6] = outer
    for k in range(outer):
        code[at] = target_steps[k]
        code[at + 1] = source_steps[k]
        at += 2
    code[start + 1] = at - start
    return at


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _simple(code: Ints, size: int, what: Ints) -> int:
    """Append an instruction without axes: operation, then four numbers."""
    code[size] = what[0]
    code[size + 1] = SHORT
    for k in range(1, 5):
        code[size + 1 + k] = what[k]
    return size + SHORT


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _steps(
    axis: Ints, stride: Ints, begin: int, end: int, place: Ints, width: int, out: Ints
) -> None:
    """Write the step of a table along each axis of a clique: 0 along those that it lacks."""
    for k in range(width):
        out[k] = 0
    for at in range(begin, end):
        out[place[axis[at]]] = stride[at]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _ordered(
    axis: Ints,
    stride: Ints,
    begin: int,
    end: int,
    place: Ints,
    width: int,
    cards: Ints,
    counts: Ints,
    source_steps: Ints,
    target_steps: Ints,
    by_axis: Ints,
) -> int:
    """Sort the axes of a table as in its clique; return their number.

    Writes the counts and the steps of the table as it is (`source_steps`), of a copy in order
    (`target_steps`), and the latter at the places of the clique's axes (`by_axis`).
    """
    for k in range(width):
        by_axis[k] = -1
    for at in range(begin, end):
        by_axis[place[axis[at]]] = at
    n = 0
    for k in range(width):
        at = by_axis[k]
        if at >= 0:
            counts[n] = cards[axis[at]]
            source_steps[n] = stride[at]
            n += 1
    distance = 1
    for k in range(n - 1, -1, -1):
        target_steps[k] = distance
        distance *= counts[k]
    k = n
    for q in range(width - 1, -1, -1):
        if by_axis[q] >= 0:
            k -= 1
            by_axis[q] = target_steps[k]
        else:
            by_axis[q] = 0
    return n


@numba.njit(cache=True, nogil=True, error_model="numpy")
def compile_tree(
    table_step: Ints,
    table_base: Ints,
    tables: Floats,
    soft_cards: Ints,
    variables: Ints,
    factors: Ints,
    cards: Ints,
    start: Ints,
    item: Ints,
    place_of: Ints,
    home: Ints,
    c_start: Ints,
    member: Ints,
    residual: Ints,
    parent: Ints,
    unit: Ints,
    maximized: Ints,
    targets: Ints,
    both: int,
) -> tuple[Ints, Ints, Floats, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints]:
    """Compile the passes over a junction tree to a program.

    Parameters
    ----------
    table_step, table_base, tables
        `step`, `base` and `values` of the model; see `inference.tables.Tables`.
    soft_cards : shape (n_soft,)
        States of the variables with soft evidence, whose likelihoods the workspace starts with.
    variables, factors, cards, start, item, place_of, home, c_start, member, residual, parent, unit
        The tree; see `inference.programs.Tree` (`place_of` is its `at`).
    maximized : shape (n_variables,) or (0,)
        1 for variables that leave by a maximum.
    targets
        Variables of a root clique whose joint table is the result, or none.
    both : int
        1: two passes; the result is the marginal of every variable, in order. 0: the first pass
        only; the result is the joint table of the targets.

    Returns
    -------
    code : the program
    up : shape (n_cliques,)
        Where in the workspace the message of each clique to its parent is; -1 for none.
    least : shape (n_cliques,)
        Binary logarithm of the least number that the product of a clique's factors can be, zero
        apart: the sum of those of their smallest entries.
    source, kind : shape (n_factors,)
        Where a factor's table is: its number (TABLE) or its place in the workspace (WORK).
    step : shape of `item`
        How far apart the states are in memory.
    constant
        Tables all of whose variables are observed.
    soft_at : shape (n_soft,)
        Where in the workspace the likelihoods start.
    maximal : shape (n_cliques,)
        1 where variables leave by a maximum.
    halves : shape (2 k,)
        Stretches of the program, from what clears the sums of a large table to the end of its loop,
        that may run in two halves at once.
    sizes : entries of the workspace and of the result
    """
    n_soft = len(soft_cards)
    n_tables = len(table_base)
    n_factors = len(factors)
    soft_at = np.empty(n_soft, np.int64)
    first_free = 0
    for k in range(n_soft):
        soft_at[k] = first_free
        first_free += soft_cards[k]
    source = np.empty(n_factors, np.int64)
    kind = np.empty(n_factors, np.int64)
    step = np.empty(len(item), np.int64)
    n_constant = 0
    for f in range(n_factors):
        number = factors[f]
        if number < n_tables:
            source[f] = number
            kind[f] = TABLE
            for at in range(start[f], start[f + 1]):
                step[at] = table_step[place_of[at]]
            n_constant += home[f] < 0
        else:
            source[f] = soft_at[number - n_tables]
            kind[f] = WORK
            for at in range(start[f], start[f + 1]):
                step[at] = 1
    constant = np.empty(n_constant, np.int64)
    n_constant = 0
    for f in range(n_factors):
        if home[f] < 0 and kind[f] == TABLE:
            constant[n_constant] = factors[f]
            n_constant += 1
    maximal = np.zeros(len(parent), np.int64)
    if len(maximized):
        for c in range(len(parent)):
            maximal[c] = maximized[variables[member[c_start[c]]]]
    n = len(cards)
    n_cliques = len(parent)
    n_items = len(item)
    free = first_free
    # Operands: the factors, then the message of each clique to its parent.
    axis = np.empty(n_items + len(member), np.int64)
    stride = np.empty(n_items + len(member), np.int64)
    for at in range(n_items):
        axis[at] = item[at]
        stride[at] = step[at]
    entries = np.empty(n_cliques, np.int64)
    separator = np.empty(n_cliques, np.int64)
    widest = 1
    largest = 1
    for c in range(n_cliques):
        distance = 1
        separator[c] = 1
        for at in range(c_start[c + 1] - 1, c_start[c] - 1, -1):
            axis[n_items + at] = member[at]
            stride[n_items + at] = distance
            distance *= cards[member[at]]
            if at == c_start[c] + residual[c]:
                separator[c] = distance
        entries[c] = distance
        widest = max(widest, c_start[c + 1] - c_start[c])
        if residual[c]:
            largest = max(largest, distance)
    n_operands = n_factors + n_cliques
    begin = np.empty(n_operands, np.int64)
    end = np.empty(n_operands, np.int64)
    where = np.empty(n_operands, np.int64)
    sort = np.empty(n_operands, np.int64)
    up = np.empty(n_cliques, np.int64)
    first = np.empty(n_cliques, np.int64)
    following = np.empty(n_operands, np.int64)
    first_child = np.empty(n_cliques, np.int64)
    next_child = np.empty(n_cliques, np.int64)
    down = np.empty(n_cliques, np.int64)
    table = np.empty(n_cliques, np.int64)
    for c in range(n_cliques):
        first[c] = first_child[c] = down[c] = table[c] = up[c] = -1
    for c in range(n_cliques - 1, -1, -1):
        o = n_factors + c
        begin[o] = n_items + c_start[c] + residual[c]
        end[o] = n_items + c_start[c + 1]
        sort[o] = WORK
        if parent[c] < 0:
            continue
        next_child[c] = first_child[parent[c]]
        first_child[parent[c]] = c
        if not unit[c]:
            up[c] = where[o] = free
            free += separator[c]
            following[o] = first[parent[c]]
            first[parent[c]] = o
    for f in range(n_factors - 1, -1, -1):
        begin[f], end[f], where[f], sort[f] = start[f], start[f + 1], source[f], kind[f]
        if home[f] >= 0:
            following[f] = first[home[f]]
            first[home[f]] = f
    least = np.zeros(n_cliques)
    for f in range(n_factors):
        # Likelihoods are not known yet; a run adds theirs.
        if home[f] >= 0 and kind[f] == TABLE:
            number = factors[f]
            last = table_base[number + 1] if number + 1 < n_tables else len(tables)
            smallest = 1.0
            for k in range(table_base[number], last):
                if 0.0 < tables[k] < smallest:
                    smallest = tables[k]
            least[home[f]] += np.log2(smallest)
    tile = free
    free += min(TILE, largest)
    result = np.empty(n + 1, np.int64)
    result[0] = 0
    for v in range(n):
        result[v + 1] = result[v] + cards[v]
    n_result = result[n]
    wanted = np.empty(len(targets), np.int64)
    for k in range(len(targets)):
        for v in range(n):
            if variables[v] == targets[k]:
                wanted[k] = v
    targets = wanted
    if not both:
        n_result = 1
        for k in range(len(targets)):
            n_result *= cards[targets[k]]
    kept = 0
    loops = np.empty(16, np.int64)
    n_loops = 0
    code = np.empty(4096, np.int64)
    size = np.int64(len(code)) - 4096
    what = np.empty(6, np.int64)
    place = np.empty(n, np.int64)
    is_member = np.empty(n, np.int64)
    for v in range(n):
        is_member[v] = -1
    counts = np.empty(widest + 1, np.int64)
    own = np.empty(widest + 1, np.int64)
    other = np.empty(widest + 1, np.int64)
    sorted_counts = np.empty(widest + 1, np.int64)
    sorted_steps = np.empty(widest + 1, np.int64)
    copy_steps = np.empty(widest + 1, np.int64)
    shown = np.empty(widest + 1, np.int64)
    for turn in range(2 * n_cliques if both else n_cliques):
        collect = turn < n_cliques
        c = turn if collect else 2 * n_cliques - 1 - turn
        root = parent[c] < 0
        if collect and ((unit[c] and not root) or (root and both)):
            continue
        base, width = c_start[c], c_start[c + 1] - c_start[c]
        for k in range(width):
            v = member[base + k]
            place[v] = k
            is_member[v] = c
            counts[k] = cards[v]
            own[k] = stride[n_items + base + k]
        asked = not both and len(targets) > 0 and is_member[targets[0]] == c and root
        # Where the product is made: an intermediate table is itself the message, small tables are
        # kept for the second pass, large ones are made tile by tile and forgotten.
        outer = 0
        fresh = True
        if residual[c] == 0:
            fresh = collect
            at_table = up[c] if collect else down[c]
        elif both and (table[c] >= 0 or (entries[c] <= KEPT and kept + entries[c] <= ALL_KEPT)):
            fresh = table[c] < 0
            kept += entries[c] if fresh else 0
            if fresh:
                table[c] = free
                free += entries[c]
            at_table = table[c]
        else:
            at_table = tile
            inner = entries[c]
            while inner > TILE:
                inner //= counts[outer]
                outer += 1
            for k in range(outer):
                own[k] = 0
        n_inputs = 0
        o = first[c]
        while o >= 0:
            n_inputs += 1
            o = following[o]
        o = first_child[c]
        while o >= 0:
            n_inputs += 1
            o = next_child[o]
        code = _grown(code, size, (2 * n_inputs + 2 * width + 12) * (HEAD + 5 * width + 12))
        # Tables that are read against their grain are brought into order before a much larger one
        # reads them again and again.
        o = first[c] if fresh else -1
        while o >= 0:
            length = 1
            against = False
            for a in range(begin[o], end[o]):
                length *= cards[axis[a]]
                for b in range(begin[o], a):
                    if (place[axis[a]] < place[axis[b]]) == (stride[a] < stride[b]):
                        against = True
            if against and o < n_factors and entries[c] >= 4 * length:
                last = _ordered(
                    axis,
                    stride,
                    begin[o],
                    end[o],
                    place,
                    width,
                    cards,
                    sorted_counts,
                    sorted_steps,
                    copy_steps,
                    other,
                )
                what[0], what[1], what[2], what[3], what[4], what[5] = (
                    COPY,
                    free,
                    where[o],
                    sort[o],
                    last,
                    0,
                )
                size = _emit(code, size, what, sorted_counts, copy_steps, sorted_steps)
                where[o] = free
                sort[o] = WORK
                free += length
                for a in range(begin[o], end[o]):
                    stride[a] = other[place[axis[a]]]
            o = following[o]
        # Clear what sums are added to.
        cleared = size
        marginal = free
        if collect and not root:
            if residual[c]:
                what[0], what[1], what[2] = CLEAR, up[c], separator[c]
                size = _simple(code, size, what)
        elif collect:
            free += n_result if asked else 1
            what[0], what[1], what[2] = CLEAR, marginal, free - marginal
            size = _simple(code, size, what)
        else:
            for q in range(residual[c]):
                shown[q] = -1
            d = first_child[c]
            while d >= 0:
                down[d] = free
                free += separator[d]
                what[0], what[1], what[2] = CLEAR, down[d], separator[d]
                size = _simple(code, size, what)
                for at in range(c_start[d] + residual[d], c_start[d + 1]):
                    q = place[member[at]]
                    if q < residual[c] and (shown[q] < 0 or separator[d] < separator[shown[q]]):
                        shown[q] = d
                d = next_child[d]
            marginal = free
            for q in range(residual[c]):
                free += counts[q]
            what[0], what[1], what[2] = CLEAR, marginal, free - marginal
            size = _simple(code, size, what)
        body = size
        if outer:
            code[size] = LOOP
            code[size + 1] = 3 + outer
            code[size + 2] = outer
            for k in range(outer):
                code[size + 3 + k] = counts[k]
            size += 3 + outer
            body = size
        # The product: the widest operand is copied, the others are multiplied into it.
        what[4], what[5] = width, outer
        empty = fresh
        if fresh:
            widest_operand = -1
            o = first[c]
            while o >= 0:
                if widest_operand < 0 or (
                    end[o] - begin[o] > end[widest_operand] - begin[widest_operand]
                ):
                    widest_operand = o
                o = following[o]
            o = widest_operand
            if o >= 0:
                _steps(axis, stride, begin[o], end[o], place, width, other)
                what[0], what[1], what[2], what[3] = COPY, at_table, where[o], sort[o]
                size = _emit(code, size, what, counts, own, other)
                empty = False
            o = first[c]
            while o >= 0:
                if o != widest_operand:
                    _steps(axis, stride, begin[o], end[o], place, width, other)
                    what[0], what[1], what[2], what[3] = MULTIPLY, at_table, where[o], sort[o]
                    size = _emit(code, size, what, counts, own, other)
                o = following[o]
        if not collect and not root and residual[c]:
            o = n_factors + c
            _steps(axis, stride, begin[o], end[o], place, width, other)
            what[0] = COPY if empty else MULTIPLY
            what[1], what[2], what[3] = at_table, down[c], WORK
            size = _emit(code, size, what, counts, own, other)
            empty = False
        if empty:
            for k in range(width):
                other[k] = 0
            what[0], what[1], what[2], what[3] = ONES, at_table, 0, WORK
            size = _emit(code, size, what, counts, own, other)
        # The sums: now the table is the source.
        what[0], what[2] = ADD, at_table
        what[3] = MAXIMUM if maximal[c] else WORK
        if collect and not root:
            if residual[c]:
                o = n_factors + c
                _steps(axis, stride, begin[o], end[o], place, width, other)
                what[1] = up[c]
                size = _emit(code, size, what, counts, other, own)
        elif collect:
            for k in range(width):
                other[k] = 0
            if asked:
                distance = 1
                for k in range(len(targets) - 1, -1, -1):
                    other[place[targets[k]]] = distance
                    distance *= cards[targets[k]]
            what[1] = marginal
            size = _emit(code, size, what, counts, other, own)
        else:
            d = first_child[c]
            while d >= 0:
                o = n_factors + d
                _steps(axis, stride, begin[o], end[o], place, width, other)
                what[1] = down[d]
                size = _emit(code, size, what, counts, other, own)
                d = next_child[d]
            to = marginal
            for q in range(residual[c]):
                if shown[q] < 0:
                    for k in range(width):
                        other[k] = 0
                    other[q] = 1
                    what[1] = to
                    size = _emit(code, size, what, counts, other, own)
                to += counts[q]
        if outer:
            code[size] = AGAIN
            code[size + 1] = 3
            code[size + 2] = body
            size += 3
            if entries[c] >= LARGE:
                loops = _grown(loops, n_loops, 2)
                loops[n_loops] = cleared
                loops[n_loops + 1] = size
                n_loops += 2
        # What follows the sums.
        if collect and not root:
            # Below a clique whose message is known to be ones, scales cancel.
            p = parent[c]
            while residual[p] == 0:
                p = parent[p]
            what[0], what[1], what[2], what[3] = SCALE, up[c], separator[c], parent[c]
            what[4] = 0 if unit[p] and parent[p] >= 0 else 1
            size = _simple(code, size, what)
            continue
        if collect:
            what[0] = RESULT if asked else MASS
            what[1], what[2], what[3], what[4] = marginal, free - marginal, 0, 1
            size = _simple(code, size, what)
            continue
        to = marginal
        for q in range(residual[c]):
            v = member[base + q]
            if shown[q] >= 0:
                d = shown[q]
                o = n_factors + d
                for at in range(begin[o], end[o]):
                    k = at - begin[o]
                    sorted_counts[k] = cards[axis[at]]
                    sorted_steps[k] = stride[at]
                    copy_steps[k] = 1 if axis[at] == v else 0
                what[0], what[1], what[2], what[3] = ADD, to, down[d], WORK
                what[4], what[5] = end[o] - begin[o], 0
                size = _emit(code, size, what, sorted_counts, copy_steps, sorted_steps)
            what[0], what[1], what[2], what[3] = RESULT, to, counts[q], result[v]
            what[4] = 1 if root and q == 0 else 0
            size = _simple(code, size, what)
            to += counts[q]
        d = first_child[c]
        while d >= 0:
            if residual[d]:
                what[0], what[1], what[2], what[3], what[4] = (
                    DIVIDE,
                    down[d],
                    separator[d],
                    up[d],
                    d,
                )
                size = _simple(code, size, what)
            d = next_child[d]
    program = np.empty(size, np.int64)
    for k in range(size):
        program[k] = code[k]
    sizes = np.empty(2, np.int64)
    sizes[0], sizes[1] = free, n_result
    halves = np.empty(n_loops, np.int64)
    for k in range(n_loops):
        halves[k] = loops[k]
    return program, up, least, source, kind, step, constant, soft_at, maximal, halves, sizes


# -------------------------------------------------------------------------------------- enumeration

# Joint tables of at most so many entries are enumerated.
FEW_ENTRIES = 512
TOO_MANY = 3
# A sum that is no smaller cannot have lost anything to underflow that counts.
_SAFE_MASS = 1e-250


@numba.njit(cache=True, nogil=True, error_model="numpy")
def enumerate_joint(
    cards: Ints,
    start: Ints,
    item: Ints,
    values: Floats,
    findings: Ints,
    targets: Ints,
    factors: Ints,
) -> tuple[int, float, Floats]:
    """Sum the product of tables over a joint table that is small: no plan, no program.

    The variables are assigned one after the other; a table is multiplied in as soon as its last
    variable is, and nothing below a product of zero is visited.

    Parameters
    ----------
    cards, start, item, values
        See `inference.tables.Tables`.
    findings : shape (2 k,)
        Numbers of the observed variables, then their states.
    targets
        Variables whose joint table is the result; with none, the marginals of all free variables
        one after the other.
    factors
        The tables that matter; with none, all of them.

    Returns
    -------
    status : OK, TOO_SMALL (or impossible, which looks the same) or TOO_MANY
    log_mass : float
    result : ndarray
    """
    n_all = len(cards)
    n_factors = len(start) - 1
    n_observed = len(findings) // 2
    state = np.empty(n_all, np.int64)
    depth_of = np.empty(n_all, np.int64)
    result = np.empty(0)
    for v in range(n_all):
        state[v] = 0
        depth_of[v] = 0 if len(factors) == 0 else -1
    for k in range(len(factors)):
        for at in range(start[factors[k]], start[factors[k] + 1]):
            depth_of[item[at]] = 0
    for k in range(n_observed):
        state[findings[k]] = findings[n_observed + k]
        depth_of[findings[k]] = -1
    free = np.empty(n_all, np.int64)
    at_result = np.empty(n_all + 1, np.int64)
    n = 0
    entries = 1
    n_result = 0
    for v in range(n_all):
        if depth_of[v] == 0:
            depth_of[v] = n
            free[n] = v
            at_result[n] = n_result
            n_result += cards[v]
            entries *= cards[v]
            n += 1
            if entries > FEW_ENTRIES:
                return TOO_MANY, 0.0, result
    n_targets = len(targets)
    if n_targets:
        n_result = 1
        for k in range(n_targets):
            n_result *= cards[targets[k]]
    result = np.zeros(n_result)
    # Factors by the depth at which their last variable is assigned, in linked lists; those that
    # are observed throughout come first of all.
    first = np.empty(n + 1, np.int64)
    following = np.empty(n_factors, np.int64)
    base = np.empty(n_factors, np.int64)
    for d in range(n + 1):
        first[d] = -1
    place = 0
    for f in range(n_factors):
        base[f] = place
        last = -1
        size = 1
        for at in range(start[f], start[f + 1]):
            last = max(last, depth_of[item[at]])
            size *= cards[item[at]]
        place += size
        if len(factors) == 0:
            following[f] = first[last + 1]
            first[last + 1] = f
        else:
            following[f] = last + 1
    for k in range(len(factors)):
        f = factors[k]
        d = following[f]
        following[f] = first[d]
        first[d] = f
    digit = np.empty(n + 1, np.int64)
    prefix = np.empty(n + 2)
    mass = np.zeros(n + 2)
    # Depth 0 stands for the observed part, with a single state.
    prefix[0] = 1.0
    digit[0] = 0
    d = 0
    while d >= 0:
        if d:
            state[free[d - 1]] = digit[d]
        product = prefix[d]
        f = first[d]
        while f >= 0:
            offset = 0
            for at in range(start[f], start[f + 1]):
                offset = offset * cards[item[at]] + state[item[at]]
            product *= values[base[f] + offset]
            f = following[f]
        if product > 0.0 and d < n:
            d += 1
            prefix[d] = product
            mass[d] = 0.0
            digit[d] = 0
            continue
        if product > 0.0 and n_targets:
            offset = 0
            for k in range(n_targets):
                offset = offset * cards[targets[k]] + state[targets[k]]
            result[offset] += product
        total = product
        while True:
            mass[d] += total
            if d and not n_targets:
                result[at_result[d - 1] + digit[d]] += total
            digit[d] += 1
            if d and digit[d] < cards[free[d - 1]]:
                break
            total = mass[d]
            d -= 1
            if d < 0:
                break
    total = mass[0]
    if total < _SAFE_MASS:
        return TOO_SMALL, -np.inf, result
    factor = 1.0 / total
    for k in range(n_result):
        result[k] *= factor
    return OK, np.log(total), result


# ---------------------------------------------------------------------------------------- executor


# Sums may be taken in another order, so that a sum along a row uses vector instructions.
@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def _linear(
    operation: int,
    target: Floats,
    t: int,
    source: Floats,
    s: int,
    code: Ints,
    at: int,
    dims: int,
    index: Ints,
) -> None:
    """Copy, multiply or add along the dimensions of an instruction."""
    inner = at + 3 * (dims - 1)
    n, dt, ds = np.uint64(code[inner]), np.uint64(code[inner + 1]), np.uint64(code[inner + 2])
    m, et, es = np.uint64(code[inner - 3]), np.uint64(code[inner - 2]), np.uint64(code[inner - 1])
    one, zero = np.uint64(1), np.uint64(0)
    for k in range(dims - 2):
        index[k] = 0
    t0, s0 = np.uint64(t), np.uint64(s)
    while True:
        a, b = t0, s0
        if operation == ADD:
            if dt == one and ds == one:
                for _ in range(m):
                    for i in range(n):
                        target[a + i] += source[b + i]
                    a += et
                    b += es
            elif dt == zero and ds == one:
                for _ in range(m):
                    total = 0.0
                    for i in range(n):
                        total += source[b + i]
                    target[a] += total
                    a += et
                    b += es
            else:
                for _ in range(m):
                    for i in range(n):
                        target[a + i * dt] += source[b + i * ds]
                    a += et
                    b += es
        elif operation == MULTIPLY:
            if dt == one and ds == one:
                for _ in range(m):
                    for i in range(n):
                        target[a + i] *= source[b + i]
                    a += et
                    b += es
            elif dt == one and ds == zero:
                for _ in range(m):
                    x = source[b]
                    for i in range(n):
                        target[a + i] *= x
                    a += et
                    b += es
            else:
                for _ in range(m):
                    for i in range(n):
                        target[a + i * dt] *= source[b + i * ds]
                    a += et
                    b += es
        elif dt == one and ds == zero:
            for _ in range(m):
                x = source[b]
                for i in range(n):
                    target[a + i] = x
                a += et
                b += es
        else:
            for _ in range(m):
                for i in range(n):
                    target[a + i * dt] = source[b + i * ds]
                a += et
                b += es
        k = dims - 3
        while k >= 0:
            d = at + 3 * k
            index[k] += 1
            t0 += np.uint64(code[d + 1])
            s0 += np.uint64(code[d + 2])
            if index[k] < code[d]:
                break
            t0 -= np.uint64(code[d] * code[d + 1])
            s0 -= np.uint64(code[d] * code[d + 2])
            index[k] = 0
            k -= 1
        if k < 0:
            return


@numba.njit(cache=True, nogil=True, error_model="numpy")
def run(
    code: Ints,
    tables: Floats,
    offsets: Ints,
    least: Floats,
    work: Floats,
    out: Floats,
    begin: int,
    end: int,
    own: Floats,
    half: int,
) -> tuple[int, float]:
    """Run a program on probabilities.

    Parameters
    ----------
    tables : the tables of all factors
    offsets : shape (n_factors,)
        Where the part of each table that agrees with the evidence starts.
    least : shape (n_cliques,)
        Binary logarithm of the least number that the product of a clique's factors can be, zero
        apart. Overwritten.
    work : the workspace
    out : the result
    begin, end : int
        The stretch of the program to run.
    own : ndarray
        Where loops write and sums are cleared: the workspace itself, or for the second half of a
        loop another array of its size.
    half : int
        0: all turns of a loop; 1 or 2: the first or the second half of them.

    Returns
    -------
    status : OK, IMPOSSIBLE or TOO_SMALL (the result may have lost something to underflow)
    log_mass : float
        Natural log of the sum of the whole product.
    """
    log_mass = 0.0
    status = OK
    index = np.zeros(64, np.int64)
    loop = np.zeros(64, np.int64)
    n_loop = 0
    loop_at = 0
    turns = 0
    at = begin
    while at < end:
        operation = code[at]
        if operation <= ADD:
            t, s = code[at + 2], code[at + 3]
            dims, outer = code[at + 5], code[at + 6]
            if outer:
                d = at + HEAD + 3 * dims
                for k in range(outer):
                    t += loop[k] * code[d]
                    s += loop[k] * code[d + 1]
                    d += 2
            if code[at + 4] == TABLE:
                # The number of the factor and, in a loop, steps within its table.
                f = code[at + 3]
                _linear(operation, own, t, tables, s - f + offsets[f], code, at + HEAD, dims, index)
            else:
                # A sum reads the table that was made here; a product reads messages.
                data = own if operation == ADD else work
                _linear(operation, own, t, data, s, code, at + HEAD, dims, index)
            at += code[at + 1]
        elif operation == CLEAR:
            for k in range(code[at + 2], code[at + 2] + code[at + 3]):
                own[k] = 0.0
            at += SHORT
        elif operation == SCALE or operation == DIVIDE:
            # Scale to a peak of one. With the smallest entry that is not zero this bounds what
            # the products that read the message can be.
            t, n, s = code[at + 2], code[at + 3], code[at + 4]
            if operation == DIVIDE and s >= 0:
                for k in range(n):
                    if work[s + k] > 0.0:
                        work[t + k] /= work[s + k]
            peak = 0.0
            lowest = np.inf
            for k in range(t, t + n):
                x = work[k]
                peak = max(peak, x)
                lowest = min(lowest, x if x > 0.0 else np.inf)
            if peak == 0.0:
                return IMPOSSIBLE, -np.inf
            factor = 1.0 / peak
            for k in range(t, t + n):
                work[k] *= factor
            bound = np.log2(lowest * factor) if lowest < peak else 0.0
            if operation == DIVIDE:
                bound += least[code[at + 5]]
            else:
                least[code[at + 4]] += bound
                bound = least[code[at + 4]]
                if code[at + 5]:
                    log_mass += np.log(peak)
            if bound < LEAST_LOG2:
                status = TOO_SMALL
            at += SHORT
        elif operation == RESULT or operation == MASS:
            t, n, to = code[at + 2], code[at + 3], code[at + 4]
            total = 0.0
            for k in range(t, t + n):
                total += work[k]
            if not total > 0.0:
                return IMPOSSIBLE, -np.inf
            if code[at + 5]:
                log_mass += np.log(total)
            if operation == RESULT:
                factor = 1.0 / total
                for k in range(n):
                    out[to + k] = work[t + k] * factor
            at += SHORT
        elif operation == LOOP:
            n_loop = code[at + 2]
            if n_loop > len(loop):  # many variables of a single state
                loop = np.zeros(n_loop, np.int64)
            loop_at = at + 3
            turns = 1
            for k in range(n_loop):
                turns *= code[loop_at + k]
            first = turns // 2 if half == 2 else 0
            turns = turns // 2 if half == 1 else turns - first
            for k in range(n_loop - 1, -1, -1):
                loop[k] = first % code[loop_at + k]
                first //= code[loop_at + k]
            at += code[at + 1]
        elif operation == AGAIN:
            turns -= 1
            for k in range(n_loop - 1, -1, -1):
                loop[k] += 1
                if loop[k] < code[loop_at + k]:
                    break
                loop[k] = 0
            at = code[at + 2] if turns > 0 else at + 3
        else:
            t = code[at + 2]
            dims = code[at + 5]
            n = np.int64(1)
            for k in range(dims):
                n *= code[at + HEAD + 3 * k]
            for k in range(t, t + n):
                own[k] = 1.0
            at += code[at + 1]
    return status, log_mass


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _logarithmic(
    operation: int,
    target: Floats,
    t: int,
    source: Floats,
    s: int,
    code: Ints,
    at: int,
    dims: int,
    index: Ints,
    maximum: bool,
) -> None:
    """As `_linear` for logarithms: add; maximise or add the exponentials."""
    for k in range(dims):
        index[k] = 0
    while True:
        x = source[s]
        if operation == COPY:
            target[t] = x
        elif operation == MULTIPLY:
            target[t] += x
        elif maximum:
            target[t] = max(target[t], x)
        elif x > -np.inf:
            y = target[t]
            high = max(x, y)
            target[t] = high + np.log1p(np.exp(min(x, y) - high))
        k = dims - 1
        while k >= 0:
            d = at + 3 * k
            index[k] += 1
            t += code[d + 1]
            s += code[d + 2]
            if index[k] < code[d]:
                break
            t -= code[d] * code[d + 1]
            s -= code[d] * code[d + 2]
            index[k] = 0
            k -= 1
        if k < 0:
            return


@numba.njit(cache=True, nogil=True, error_model="numpy")
def run_log(
    code: Ints, tables: Floats, offsets: Ints, work: Floats, out: Floats
) -> tuple[int, float]:
    """Run a program on logarithms.

    Parameters
    ----------
    tables, offsets, work, out
        As in `run`, with the logarithms of the tables; the result is log probabilities.
    Returns
    -------
    status : OK or IMPOSSIBLE
    log_mass : float
        Natural log of the sum (the maximum) of the whole product.
    """
    log_mass = 0.0
    index = np.zeros(64, np.int64)
    loop = np.zeros(64, np.int64)
    n_loop = 0
    loop_at = 0
    at = 0
    while at < len(code):
        operation = code[at]
        if operation <= ADD or operation == ONES:
            t, s = code[at + 2], code[at + 3]
            dims, outer = code[at + 5], code[at + 6]
            d = at + HEAD + 3 * dims
            for k in range(outer):
                t += loop[k] * code[d]
                s += loop[k] * code[d + 1]
                d += 2
            maximum = code[at + 4] == MAXIMUM
            if operation == ONES:
                n = 1
                for k in range(dims):
                    n *= code[at + HEAD + 3 * k]
                for k in range(t, t + n):
                    work[k] = 0.0
            elif code[at + 4] == TABLE:
                s += offsets[code[at + 3]] - code[at + 3]
                _logarithmic(operation, work, t, tables, s, code, at + HEAD, dims, index, maximum)
            else:
                _logarithmic(operation, work, t, work, s, code, at + HEAD, dims, index, maximum)
            at += code[at + 1]
        elif operation == LOOP:
            n_loop = code[at + 2]
            if n_loop > len(loop):  # many variables of a single state
                loop = np.zeros(n_loop, np.int64)
            loop_at = at + 3
            for k in range(n_loop):
                loop[k] = 0
            at += code[at + 1]
        elif operation == AGAIN:
            k = n_loop - 1
            while k >= 0:
                loop[k] += 1
                if loop[k] < code[loop_at + k]:
                    break
                loop[k] = 0
                k -= 1
            at = code[at + 2] if k >= 0 else at + 3
        else:
            t, n = code[at + 2], code[at + 3]
            if operation == CLEAR:
                for k in range(t, t + n):
                    work[k] = -np.inf
            elif operation == DIVIDE:
                s = code[at + 4]
                for k in range(n):
                    if s >= 0 and work[s + k] > -np.inf:
                        work[t + k] -= work[s + k]
            elif operation == SCALE:
                peak = -np.inf
                for k in range(t, t + n):
                    peak = max(peak, work[k])
                if peak == -np.inf:
                    return IMPOSSIBLE, -np.inf
                # Nothing overflows here; scales are taken off only where they cancel.
                if not code[at + 5]:
                    for k in range(t, t + n):
                        work[k] -= peak
            else:
                peak = -np.inf
                for k in range(t, t + n):
                    peak = max(peak, work[k])
                if peak == -np.inf:
                    return IMPOSSIBLE, -np.inf
                total = 0.0
                for k in range(t, t + n):
                    total += np.exp(work[k] - peak)
                total = np.log(total)
                if code[at + 5]:
                    log_mass += peak + total
                if operation == RESULT:
                    # The peak first: beside a large one the digits of the log would be lost.
                    to = code[at + 4]
                    for k in range(n):
                        out[to + k] = (work[t + k] - peak) - total
            at += SHORT
    return OK, log_mass


@numba.njit(cache=True, nogil=True, error_model="numpy")
def add_cleared(code: Ints, at: int, work: Floats, own: Floats) -> None:
    """Add the sums of the second half of a loop to those of the first."""
    while code[at] == CLEAR:
        for k in range(code[at + 2], code[at + 2] + code[at + 3]):
            work[k] += own[k]
        at += SHORT


@numba.njit(cache=True, nogil=True, error_model="numpy")
def run_rows(
    code: Ints,
    tables: Floats,
    offsets: Ints,
    least: Floats,
    work: Floats,
    result: Floats,
    codes: Ints,
    likelihood_at: Ints,
    cards: Ints,
    n_together: int,
    logs: Floats,
) -> None:
    """Run a program in which the row is a variable, block by block.

    Parameters
    ----------
    tables
        The last of them are likelihoods of shape (states, n_together), which this overwrites.
    result : shape (n_states * n_together,)
        Joint table of the target and the row.
    codes : shape (n_seen, n_rows)
        States of the observed variables, -1 where missing.
    likelihood_at, cards : shape (n_seen,)
        Where the likelihoods of each are, and its number of states.
    n_together : int
        Rows of a block.
    logs : shape (n_states, n_rows)
        Receives log probabilities; NaN in rows that may have lost something to underflow, or are
        impossible.
    """
    n_states, n_rows = logs.shape
    bounds = np.empty(len(least))
    for begin in range(0, n_rows, n_together):
        end = min(begin + n_together, n_rows)
        for k in range(len(least)):
            bounds[k] = least[k]
        for v in range(len(cards)):
            to = likelihood_at[v]
            for state in range(cards[v]):
                for row in range(begin, end):
                    seen = codes[v, row]
                    tables[to + row - begin] = 1.0 if seen < 0 or seen == state else 0.0
                for row in range(end - begin, n_together):
                    tables[to + row] = 1.0
                to += n_together
        status, log_mass = run(code, tables, offsets, bounds, work, result, 0, len(code), work, 0)
        for row in range(begin, end):
            total = 0.0
            if status == OK:
                for state in range(n_states):
                    total += result[state * n_together + row - begin]
            for state in range(n_states):
                if total < _SAFE_MASS:
                    logs[state, row] = np.nan
                else:
                    x = result[state * n_together + row - begin]
                    logs[state, row] = log_mass + np.log(x) if x > 0.0 else -np.inf


# ------------------------------------------------------------------------- one clique at a time


@numba.njit(cache=True, nogil=True, error_model="numpy")
def operand_lists(home: Ints, parent: Ints, up: Ints) -> tuple[Ints, Ints]:
    """Return what each clique multiplies as linked lists: factors, then messages from below.

    Operand o is a factor, or the message of clique ``o - n_factors``; ``first[c]`` is the first of
    clique c and ``following[o]`` the next, -1 at the end.
    """
    n_factors, n_cliques = len(home), len(parent)
    first = np.empty(n_cliques, np.int64)
    following = np.empty(n_factors + n_cliques, np.int64)
    for c in range(n_cliques):
        first[c] = -1
    for d in range(n_cliques - 1, -1, -1):
        if parent[d] >= 0 and up[d] >= 0:
            following[n_factors + d] = first[parent[d]]
            first[parent[d]] = n_factors + d
    for f in range(n_factors - 1, -1, -1):
        if home[f] >= 0:
            following[f] = first[home[f]]
            first[home[f]] = f
    return first, following


@numba.njit(cache=True, nogil=True, error_model="numpy")
def local_logs(
    c: int,
    assigned: Ints,
    cards: Ints,
    start: Ints,
    item: Ints,
    step: Ints,
    source: Ints,
    kind: Ints,
    home: Ints,
    c_start: Ints,
    member: Ints,
    residual: Ints,
    parent: Ints,
    up: Ints,
    tables: Floats,
    offsets: Ints,
    work: Floats,
    first: Ints,
    following: Ints,
    linear: bool,
    values: Floats,
) -> None:
    """Write what a clique's factors and messages give each state of the variables that leave there.

    The other variables have the states in `assigned`. Logarithms, or numbers if `linear`; `first`
    and `following` are what `operand_lists` returns.
    """
    base, width = c_start[c], residual[c]
    n = 1
    for k in range(width):
        n *= cards[member[base + k]]
    for i in range(n):
        values[i] = 1.0 if linear else 0.0
    steps = np.empty(width, np.int64)
    index = np.empty(width, np.int64)
    n_factors = len(home)
    o = first[c]
    while o >= 0:
        if o < n_factors:
            at = offsets[source[o]] if kind[o] == TABLE else source[o]
            for k in range(width):
                steps[k] = 0
            for a in range(start[o], start[o + 1]):
                v = item[a]
                here = False
                for k in range(width):
                    if member[base + k] == v:
                        steps[k] = step[a]
                        here = True
                if not here:
                    at += assigned[v] * step[a]
            data = tables if kind[o] == TABLE else work
        else:
            d = o - n_factors
            at = up[d]
            for k in range(width):
                steps[k] = 0
            distance = 1
            for a in range(c_start[d + 1] - 1, c_start[d] + residual[d] - 1, -1):
                v = member[a]
                here = False
                for k in range(width):
                    if member[base + k] == v:
                        steps[k] = distance
                        here = True
                if not here:
                    at += assigned[v] * distance
                distance *= cards[v]
            data = work
        for k in range(width):
            index[k] = 0
        for i in range(n):
            if linear:
                values[i] *= data[at]
            else:
                values[i] += data[at]
            for k in range(width - 1, -1, -1):
                index[k] += 1
                at += steps[k]
                if index[k] < cards[member[base + k]]:
                    break
                at -= index[k] * steps[k]
                index[k] = 0
        o = following[o]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def decode(
    assigned: Ints,
    uniform: Floats,
    chosen: Ints,
    cards: Ints,
    start: Ints,
    item: Ints,
    step: Ints,
    source: Ints,
    kind: Ints,
    home: Ints,
    c_start: Ints,
    member: Ints,
    residual: Ints,
    parent: Ints,
    up: Ints,
    tables: Floats,
    offsets: Ints,
    work: Floats,
    linear: bool,
) -> None:
    """Walk from the roots to the leaves and choose a state for every variable, row by row.

    Parameters
    ----------
    assigned : shape (n_rows, n)
        Receives the states.
    uniform : shape (n_rows, n_cliques)
        Random numbers in [0, 1): the states are drawn in proportion to their weight. With no
        columns, the best is taken, the first if several are.
    chosen : shape (n_cliques,)
        1 for the cliques whose variables are wanted.
    """
    n_cliques = len(parent)
    largest = 1
    for c in range(n_cliques):
        n = 1
        for k in range(residual[c]):
            n *= cards[member[c_start[c] + k]]
        largest = max(largest, n)
    values = np.empty(largest)
    first, following = operand_lists(home, parent, up)
    for c in range(n_cliques - 1, -1, -1):
        if residual[c] == 0 or not chosen[c]:
            continue
        n = 1
        for k in range(residual[c]):
            n *= cards[member[c_start[c] + k]]
        for row in range(len(assigned)):
            local_logs(
                c,
                assigned[row],
                cards,
                start,
                item,
                step,
                source,
                kind,
                home,
                c_start,
                member,
                residual,
                parent,
                up,
                tables,
                offsets,
                work,
                first,
                following,
                linear,
                values,
            )
            best = 0
            if uniform.shape[1]:
                if not linear:
                    peak = -np.inf
                    for i in range(n):
                        peak = max(peak, values[i])
                    for i in range(n):
                        values[i] = np.exp(values[i] - peak)
                total = 0.0
                for i in range(n):
                    total += values[i]
                left = uniform[row, c] * total
                for i in range(n):
                    if values[i] > 0.0:
                        best = i
                        left -= values[i]
                        if left < 0.0:
                            break
            else:
                for i in range(1, n):
                    if values[i] > values[best]:
                        best = i
            for k in range(residual[c] - 1, -1, -1):
                v = member[c_start[c] + k]
                assigned[row, v] = best % cards[v]
                best //= cards[v]


# Numbers read below which one thread is enough.
_THREAD = 1 << 18


def largest(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the position of the largest score of each row, ties to the first.

    Parameters
    ----------
    scores : ndarray, shape (n_classes, n_rows)
    """
    best = np.empty(scores.shape[1], dtype=np.intp)
    over_rows(
        lambda a, b: _largest(scores, best, a, b),
        scores.shape[1],
        1 + _THREAD // max(1, scores.shape[0]),
    )
    return best


@numba.njit(cache=True, nogil=True)
def _largest(scores: NDArray[np.float64], best: NDArray[np.intp], begin: int, end: int) -> None:
    # In blocks that stay in the cache, class by class as they lie in memory.
    most = np.empty(512)
    for first in range(begin, end, 512):
        n = min(512, end - first)
        most[:n] = scores[0, first : first + n]
        chosen = best[first : first + n]
        chosen[:] = 0
        for k in range(1, scores.shape[0]):
            row = scores[k, first : first + n]
            for i in range(n):
                better = row[i] > most[i]
                most[i] = row[i] if better else most[i]
                chosen[i] = k if better else chosen[i]
