"""The compiler and the executor of elimination programs: message passing on a junction tree.

A program is a flat array of integers: instructions, one after the other. It reads tables, and reads
and writes one workspace, whose layout it determines. `run` executes a program in one of two ways:
on probabilities, with products and sums, rescaling each message; or on logarithms, with sums and
log-sum-exp or maxima, where nothing can underflow.

The axes of messages and clique tables are in the order of elimination, with the variable that is
eliminated first outermost, so that messages are read and written contiguously.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.compilation import kernel
from bayesgraph.inference.junction import (
    Floats,
    Ints,
    Program,
    TableArrays,
    Tree,
)
from bayesgraph.inference.planning_kernels import (
    filled,
    grown,
    linked,
    table_layout,
)
from bayesgraph.parallel import by_rows

# Operations. An instruction consists of: operation, length, target, source, kind of source, number
# of dimensions, number of loop dimensions, then (count, target step, source step) for each
# dimension, outermost first, then (target step, source step) for each dimension of its loop.
# (Operations are NumPy integers: Numba would compile a function again for each literal argument.)
COPY, MULTIPLY, ADD, CLEAR, LOOP, AGAIN, SCALE, DIVIDE, RESULT, MASS, ONES, CONTRACT = np.arange(
    1, 13
)
# CONTRACT, which adds products of two sources, consists of: operation, length, target, first
# source, its kind, second source, its kind, number of dimensions, then (count, target step, steps
# of the sources) for each dimension.
# Length of an instruction up to its dimensions, and length of an instruction without dimensions.
HEAD, SHORT = 7, 6
# Kinds of source: the workspace, or the table of a factor, reduced to the observed states.
WORK, TABLE = np.arange(2)
# Kind of source that makes a sum a maximum; the source itself is the workspace.
MAXIMUM = np.int64(2)

# Maximum number of entries of a tile, the part of a large table that is computed at once, which
# fits into the first-level cache.
TILE = 4096
# Maximum number of entries of a table that is kept between the two passes, and of all such tables
# together, which fit into the last-level cache: computing larger ones again is faster.
KEPT = 65536
ALL_KEPT = 2**20

# Costs for `_loops`, in the time of an entry in a long run: an entry of two sources that share
# the innermost axes, the begin of a run, a round of the outer loops, a rearranged entry, an
# instruction.
_ALONE, _BROKEN, _NESTED, _MOVED, _CALL = 2.0, 12.0, 30.0, 8.0, 150.0
# Minimum number of entries of a clique whose product is not formed, see `_sum_of_products`.
_SMALLEST_SUM = 256

# Minimum number of entries of a table that two threads share.
LARGE = 2**21

# Minimum binary logarithm of the product of the smallest entries; below it products may underflow
# (2**-1022 is the smallest normal number).
MINIMUM_LOG2 = -1000.0
# The bits of infinity as an integer.
_INFINITY = int(np.float64(np.inf).view(np.int64))

OK, IMPOSSIBLE, TOO_SMALL = 0, 1, 2


@kernel(error_model="numpy")
def _emit(
    code: Ints,
    size: int,
    operation: int,
    target: int,
    source: int,
    kind: int,
    outer: int,
    counts: Ints,
    target_steps: Ints,
    source_steps: Ints,
) -> int:
    """Append an instruction with nested loops to the code; return the new code size.

    The first `size` entries of `code` are in use. `target` and `source` are offsets in the
    workspace, or `source` is the index of a factor if `kind` is TABLE. `counts`, `target_steps` and
    `source_steps` are the lengths of the axes and their strides in target and source. Successive
    axes that are contiguous in both are merged. The first `outer` axes are left to the surrounding
    loop of the program.
    """
    code[size], code[size + 2], code[size + 3], code[size + 4] = operation, target, source, kind
    at = size + HEAD
    dims = 0
    for k in range(outer, len(counts)):
        c, t, s = counts[k], target_steps[k], source_steps[k]
        if c == 1:
            continue
        if dims and code[at - 2] == t * c and code[at - 1] == s * c:
            code[at - 3] *= c
            at -= 3
        else:
            code[at] = c
            dims += 1
        code[at + 1], code[at + 2] = t, s
        at += 3
    while dims < 2:
        # At least two dimensions, so that the executor has two loops and no special case.
        for k in range(at - 1, size + HEAD - 1, -1):
            code[k + 3] = code[k]
        code[size + HEAD], code[size + HEAD + 1], code[size + HEAD + 2] = 1, 0, 0
        at += 3
        dims += 1
    code[size + 5], code[size + 6] = dims, outer
    for k in range(outer):
        code[at], code[at + 1] = target_steps[k], source_steps[k]
        at += 2
    code[size + 1] = at - size
    return at


@kernel(error_model="numpy")
def _simple(code: Ints, size: int, operation: int, a: int, b: int, c: int, d: int) -> int:
    """Append an instruction without loops, with arguments a, b, c and d; return the code size."""
    code[size], code[size + 1], code[size + 2], code[size + 3] = operation, SHORT, a, b
    code[size + 4], code[size + 5] = c, d
    return size + SHORT


@kernel(error_model="numpy")
def _steps(axis: Ints, stride: Ints, begin: int, end: int, place: Ints, out: Ints) -> None:
    """Write the stride of a table along each axis of a clique, 0 for axes that the table lacks.

    The table's variables and strides are ``axis[begin:end]`` and ``stride[begin:end]``;
    ``place[v]`` is the axis of variable v in the clique. The result is written to `out`.
    """
    out[:] = 0
    for at in range(begin, end):
        out[place[axis[at]]] = stride[at]


@kernel(error_model="numpy")
def _loops(counts: Ints, t: Ints, x: Ints, y: Ints, order: Ints) -> bool:
    """Write to `order` the axes of a sum of products as nested loops, outermost first.

    `t`, `x` and `y` are the strides of the sum and of its two sources along the axes of a clique, 0
    for axes that they lack. The innermost loop has the axes that the sum shares with one source or
    with both, so that it uses vector instructions, and around it are the axes that are summed out
    (as in a product of matrices). Returns whether the sum is formed in this order and rearranged
    afterwards; otherwise its axes stay in their order.
    """
    width = len(counts)
    kind = np.empty(width, np.int64)
    size = np.ones(8)
    # Entries of all, of the sum and of the two sources.
    entries = np.ones(4)
    # As it is, the innermost loop has the last axes of the sum that are of one kind.
    first, last, run, ended = width, -1, 1, False
    for k in range(width - 1, -1, -1):
        g = kind[k] = (t[k] != 0) + 2 * (x[k] != 0) + 4 * (y[k] != 0)
        size[g] *= counts[k]
        entries[0] *= counts[k]
        for i in range(3):
            entries[i + 1] *= counts[k] if (g >> i) & 1 else 1
        if counts[k] > 1 and t[k] and not ended:
            last = g if last < 0 else last
            if g == last:
                first, run = k, run * counts[k]
            else:
                ended = True
    best = np.inf
    moved = False
    trial = np.empty(width, np.int64)
    for choice in range(5):
        # The kinds of axes in the innermost loop: the last ones as it is, or one kind.
        g = last if choice == 0 else 2 * choice + 1 if choice < 4 else 6
        begin = first if choice == 0 else 0
        length = run if choice == 0 else size[g]
        if choice and length == 1:
            continue
        move = 0 < choice < 4
        n = 0
        for turn in range(8):
            # First the other axes of the sum, as they are or by kind, then those summed out.
            h = (1, 7, 3, 5, 0, 2, 4, 6)[turn]
            for k in range(width):
                chosen = kind[k] == g and k >= begin
                whole = not move and turn == 0 and t[k] and not chosen
                if whole or (kind[k] == h and not chosen and (move or not t[k])):
                    trial[n] = k
                    n += 1
        for k in range(width):
            if kind[k] == g and k >= begin:
                trial[n] = k
                n += 1
        base = _ALONE if g >= 6 else 1.0
        cost = entries[0] * (base + _BROKEN / length + _NESTED / (length * max(1.0, size[6])))
        cost += _MOVED * entries[1] + _CALL if move else 0.0
        cost += 0.0 if _in_order(counts, x, trial, t) else _MOVED * entries[2] + _CALL
        cost += 0.0 if _in_order(counts, y, trial, t) else _MOVED * entries[3] + _CALL
        if cost < best:
            best, moved = cost, move
            order[:] = trial
    return moved


@kernel(error_model="numpy")
def _room(space: Ints, use: int, n: int) -> int:
    """Return the offset of a scratch array of n entries, which later ones of the same use share.

    ``space[0]`` is the first free entry of the workspace, followed by the offset and the size of
    the scratch array of each use.
    """
    if n > space[2 * use + 2]:
        space[2 * use + 1], space[2 * use + 2] = space[0], n
        space[0] += n
    return space[2 * use + 1]


@kernel(error_model="numpy")
def _packed(counts: Ints, steps: Ints, order: Ints, out: Ints) -> int:
    """Write to `out` the strides of an array with its axes in an order; return its entries."""
    n = 1
    for i in range(len(order) - 1, -1, -1):
        k = order[i]
        out[k] = n if steps[k] else 0
        n *= counts[k] if steps[k] else 1
    return n


@kernel(error_model="numpy")
def _in_order(counts: Ints, steps: Ints, order: Ints, t: Ints) -> bool:
    """Tell whether a source of a sum of products can be read as it is.

    Its axes in the innermost loop must be contiguous, and those that are summed out evenly spaced.
    """
    expected = 1
    inside = innermost = True
    for i in range(len(order) - 1, -1, -1):
        k = order[i]
        if counts[k] > 1 and not steps[k]:
            innermost = False
        if counts[k] == 1 or not steps[k]:
            continue
        if inside and not t[k]:
            inside = False
            expected = 1 if innermost else steps[k]
        innermost = False
        if not inside and t[k]:
            return True
        if steps[k] != expected:
            return False
        expected *= counts[k]
    return True


@kernel(error_model="numpy")
def _contract(
    code: Ints,
    size: int,
    space: Ints,
    counts: Ints,
    target: int,
    t: Ints,
    sources: Ints,
    x: Ints,
    y: Ints,
) -> int:
    """Append instructions that set a table to a sum of products of two sources; return code size.

    Parameters
    ----------
    space
        See `_room`.
    counts : shape (width,)
        Lengths of the axes of a clique.
    target : int
        Offset of the table in the workspace.
    sources : shape (4,)
        Position and kind of each source.
    t, x, y : shape (width,)
        Strides of the table and the sources along each axis, 0 for axes that they lack.
    """
    zero = np.int64(0)
    width = len(counts)
    order = np.empty(width, np.int64)
    moved = _loops(counts, t, x, y, order)
    lengths = np.empty(width, np.int64)
    places = np.empty((3, width), np.int64)
    there = np.empty(width, np.int64)
    here = np.empty(width, np.int64)
    at = sources.copy()
    to = target
    for i in range(3):
        steps = t if i == 0 else x if i == 1 else y
        pack = moved if i == 0 else not _in_order(counts, steps, order, t)
        n = _packed(counts, steps, order, places[i])
        if i == 0:
            if pack:
                to = _room(space, np.int64(i), n)
            size = _simple(code, size, CLEAR, to, n, zero, zero)
        elif pack:
            place = _room(space, np.int64(i), n)
            for j in range(width):
                k = order[j]
                lengths[j] = counts[k] if steps[k] else 1
                here[j], there[j] = places[i, k], steps[k]
            size = _emit(
                code, size, COPY, place, at[2 * i - 2], at[2 * i - 1], zero, lengths, here, there
            )
            at[2 * i - 2], at[2 * i - 1] = place, WORK
        if not pack:
            places[i] = steps
    code[size], code[size + 2] = CONTRACT, to
    for i in range(4):
        code[size + 3 + i] = at[i]
    d = size + HEAD + 1
    dims = 0
    for i in range(width):
        k = order[i]
        c = counts[k]
        if c == 1:
            continue
        merged = dims > 0
        for j in range(3):
            merged &= code[d - 3 + j] == places[j, k] * c
        if merged:
            d -= 4
            c *= code[d]
        else:
            dims += 1
        code[d] = c
        for j in range(3):
            code[d + 1 + j] = places[j, k]
        d += 4
    while dims < 2:
        for k in range(d - 1, size + HEAD, -1):
            code[k + 4] = code[k]
        code[size + HEAD + 1] = 1
        for j in range(3):
            code[size + HEAD + 2 + j] = 0
        d += 4
        dims += 1
    code[size + HEAD], code[size + 1] = dims, d - size
    size = d
    if moved:
        for j in range(width):
            lengths[j] = counts[j] if t[j] else 1
        size = _emit(code, size, COPY, target, to, WORK, zero, lengths, t, places[0])
    return size


@kernel(error_model="numpy")
def _sum_of_products(
    code: Ints,
    size: int,
    space: Ints,
    counts: Ints,
    target: int,
    t: Ints,
    sources: Ints,
    steps: Ints,
    left_out: int,
) -> int:
    """Append instructions that set a table to the sum of products of one to three sources.

    `sources` and `steps` have a row for each source, of which ``left_out`` is not used, -1 for
    none; for the other arguments see `_contract`.
    """
    zero, width = np.int64(0), len(counts)
    used = np.empty(len(sources), np.int64)
    n = 0
    for i in range(len(sources)):
        if i != left_out:
            used[n] = i
            n += 1
    if n == 1:
        a = used[0]
        entries = 1
        for k in range(width):
            entries *= counts[k] if t[k] else 1
        size = _simple(code, size, CLEAR, target, entries, zero, zero)
        return _emit(
            code, size, ADD, target, sources[a, 0], sources[a, 1], zero, counts, t, steps[a]
        )
    # Of three sources, the two with the smallest product are multiplied first, without the axes
    # that only they have.
    pair = np.empty(4, np.int64)
    x, y, z = used[0], used[1], -1
    best = np.inf
    for i in range(3 if n == 3 else 0):
        p, q, r = used[i], used[(i + 1) % 3], used[(i + 2) % 3]
        product = 1.0
        for k in range(width):
            both = steps[p, k] or steps[q, k]
            product *= counts[k] if both and (t[k] or steps[r, k]) else 1
        if product < best:
            best, x, y, z = product, p, q, r
    pair[0], pair[1], pair[2], pair[3] = sources[x, 0], sources[x, 1], sources[y, 0], sources[y, 1]
    now, left, right, to, out = counts.copy(), steps[x], steps[y], target, t
    rest = counts.copy()
    if n == 3:
        distance = 1
        out = np.empty(width, np.int64)
        for k in range(width - 1, -1, -1):
            both = left[k] or right[k]
            kept = both and (t[k] or steps[z, k])
            out[k] = distance if kept else 0
            distance *= counts[k] if kept else 1
            if not both:
                now[k] = 1
            elif not kept:
                rest[k] = 1
        to = _room(space, np.int64(3), distance)
    for _ in range(n - 1):
        size = _contract(code, size, space, now, to, out, pair, left, right)
        pair[0], pair[1], pair[2], pair[3] = to, WORK, sources[z, 0], sources[z, 1]
        now, left, right, to, out = rest, out, steps[z], target, t
    return size


@kernel(error_model="numpy")
def _counted(parent: Ints, residual: Ints, unit: Ints, c: int) -> int:
    """Tell whether the scale of clique c's message counts for the probability of the evidence.

    If the message of the parent clique is known to be ones, scales cancel.
    """
    p = parent[c]
    while residual[p] == 0:
        p = parent[p]
    return 0 if unit[p] and parent[p] >= 0 else 1


@kernel(error_model="numpy")
def _row_of(rows: Ints, o: int) -> int:
    """Return the row of operand o, -1 if it has none."""
    for row in range(len(rows)):
        if rows[row] == o:
            return row
    return -1


@kernel(error_model="numpy")
def compile_tree(
    tables: TableArrays,
    tree: Tree,
    soft_cards: Ints,
    maximized: Ints,
    targets: Ints,
    both: bool,
) -> Program:
    """Return the elimination program that passes messages over a junction tree.

    Parameters
    ----------
    soft_cards : shape (n_soft,)
        Cardinalities of the variables with soft evidence; their likelihoods start the workspace.
    maximized : shape (n_variables,) or (0,)
        1 for variables that are maximised, not summed out.
    targets
        Variables of one root clique whose joint table is the result; may be empty.
    both : bool
        Whether to compile both passes: the result is the marginal of every variable, in order.
        Otherwise the program has only the first pass: the result is the joint table of the targets.
    """
    variables, factors, cards, start, item = (
        tree.variables, tree.factors, tree.cards, tree.start, tree.item,
    )  # fmt: skip
    c_start, member, residual, parent = tree.c_start, tree.member, tree.residual, tree.parent
    home, unit, at_tables = tree.home, tree.unit, tree.at
    table_step, base, values = tables.step, tables.base, tables.values
    n, n_cliques, n_factors, n_items = len(cards), len(parent), len(factors), len(item)
    n_tables, zero, one = len(base), np.int64(0), np.int64(1)
    # The workspace starts with likelihoods.
    soft_at = np.empty(len(soft_cards), np.int64)
    free = 0
    for k in range(len(soft_cards)):
        soft_at[k] = free
        free += soft_cards[k]
    # Operands: the factors, then the message of each clique to its parent. `axis` and `stride` list
    # the axes of all operands, `begin` and `end` delimit the axes of each operand, and `where` is
    # the position of its values.
    n_operands = n_factors + n_cliques
    axis = np.empty(n_items + len(member), np.int64)
    stride = np.empty(n_items + len(member), np.int64)
    begin = np.empty(n_operands, np.int64)
    end = np.empty(n_operands, np.int64)
    where = np.empty(n_operands, np.int64)
    sort = filled(n_operands, WORK)
    owner = filled(n_operands, -1)
    constant = np.empty(n_factors, np.int64)
    n_constant = 0
    minima = np.zeros(n_cliques)
    for f in range(n_factors):
        number = factors[f]
        begin[f], end[f], owner[f] = start[f], start[f + 1], home[f]
        is_table = number < n_tables
        sort[f] = TABLE if is_table else WORK
        where[f] = number if is_table else soft_at[number - n_tables]
        for at in range(start[f], start[f + 1]):
            axis[at] = item[at]
            stride[at] = table_step[at_tables[at]] if is_table else 1
        if is_table and home[f] < 0:
            constant[n_constant] = number
            n_constant += 1
        elif is_table:  # likelihoods are not known yet; each run adds their minima
            last = base[number + 1] if number + 1 < n_tables else len(values)
            smallest = 1.0
            for k in range(base[number], last):
                if 0.0 < values[k] < smallest:
                    smallest = values[k]
            minima[home[f]] += np.log2(smallest)
    least = 0.0
    for c in range(n_cliques):
        least = min(least, minima[c])
    source, kind, step = where[:n_factors].copy(), sort[:n_factors].copy(), stride[:n_items].copy()
    entries = np.empty(n_cliques, np.int64)
    separator = filled(n_cliques, 1)
    up = filled(n_cliques, -1)
    maximal = filled(n_cliques, 0)
    largest = 1
    for c in range(n_cliques - 1, -1, -1):
        distance = 1
        for at in range(c_start[c + 1] - 1, c_start[c] - 1, -1):
            axis[n_items + at] = member[at]
            stride[n_items + at] = distance
            distance *= cards[member[at]]
            if at == c_start[c] + residual[c]:
                separator[c] = distance
        entries[c] = distance
        if residual[c]:
            largest = max(largest, distance)
        if len(maximized):
            maximal[c] = maximized[variables[member[c_start[c]]]]
        o = n_factors + c
        begin[o] = n_items + c_start[c] + residual[c]
        end[o] = n_items + c_start[c + 1]
        if parent[c] >= 0 and not unit[c]:
            up[c] = where[o] = free
            free += separator[c]
            owner[o] = parent[c]
    first, following = linked(owner, n_cliques, False)
    first_child, next_child = linked(parent, n_cliques, False)
    tile = free
    free += min(TILE, largest)
    # The result: marginals one after the other, or the joint table of the targets.
    number_of = filled(len(tables.cards), -1)
    result = filled(n + 1, 0)
    for v in range(n):
        number_of[variables[v]] = v
        result[v + 1] = result[v] + cards[v]
    n_result = result[n] if both else 1
    asked_steps = filled(n, 0)
    for k in range(len(targets) - 1, -1, -1):
        if not both:
            asked_steps[number_of[targets[k]]] = n_result
            n_result *= cards[number_of[targets[k]]]
    table_of = filled(n_operands, -1)
    pair = np.empty(4, np.int64)
    space = filled(9, 0)
    down = filled(n_cliques, -1)
    table = filled(n_cliques, -1)
    kept = 0
    loops = np.empty(16, np.int64)
    n_loops = 0
    code = np.empty(4096, np.int64)
    size = np.int64(0)
    place = np.empty(n, np.int64)
    is_member = filled(n, -1)
    for turn in range(2 * n_cliques if both else n_cliques):
        collect = turn < n_cliques
        c = turn if collect else 2 * n_cliques - 1 - turn
        root = parent[c] < 0
        if collect and ((unit[c] and not root) or (root and both)):
            continue
        first_at, width = c_start[c], c_start[c + 1] - c_start[c]
        counts = np.empty(width, np.int64)
        own = np.empty(width, np.int64)
        other = np.empty(width, np.int64)
        ordered = np.empty(width, np.int64)
        lengths = np.empty(width, np.int64)
        for k in range(width):
            v = member[first_at + k]
            place[v] = k
            is_member[v] = c
            counts[k] = cards[v]
            own[k] = stride[n_items + first_at + k]
        asked = root and not both and len(targets) > 0 and is_member[number_of[targets[0]]] == c
        # Large cliques with few operands: sums of products, whose terms are not stored.
        fold = entries[c] >= _SMALLEST_SUM and residual[c] > 0 and not maximal[c]
        fold &= both or not root
        n_sources = 0
        n_children = 0
        o = first[c] if fold else -1
        while o >= 0:
            n_sources += 1
            o = following[o]
        extra = 1 if both and not root else 0
        silent = False
        d = first_child[c] if fold else -1
        while d >= 0:
            silent |= up[d] < 0
            n_children += 1
            d = next_child[d]
        most = 3 if entries[c] <= KEPT or (both and not silent) else 2
        fold &= n_sources > 0 and n_sources + extra <= most and (not both or n_sources + extra > 1)
        if fold:
            code = grown(
                code, size, 12 * (n_sources + n_children + width + 2) * (HEAD + 5 * width + 12)
            )
            rows = n_sources + (0 if collect else extra)
            sources = np.empty((rows, 2), np.int64)
            steps = np.empty((rows, width), np.int64)
            row_of = np.empty(rows, np.int64)
            o = first[c]
            for row in range(n_sources):
                row_of[row] = o
                sources[row, 0], sources[row, 1] = where[o], sort[o]
                _steps(axis, stride, begin[o], end[o], place, steps[row])
                o = following[o]
            o = n_factors + c
            _steps(axis, stride, begin[o], end[o], place, other)
            if rows > n_sources:
                row_of[n_sources] = -1
                sources[n_sources, 0], sources[n_sources, 1] = down[c], WORK
                steps[n_sources] = other
            space[0] = free
            if collect:
                size = _sum_of_products(
                    code, size, space, counts, up[c], other, sources, steps, np.int64(-1)
                )
                free = space[0]
                counted = _counted(parent, residual, unit, c)
                size = _simple(code, size, SCALE, up[c], separator[c], parent[c], counted)
                continue
            # `table_of[o]`: the sum of the product of all but operand o, over the axes of o.
            d = first_child[c]
            while d >= 0:
                down[d] = space[0]
                space[0] += separator[d]
                o = n_factors + d
                row = _row_of(row_of, o)
                _steps(axis, stride, begin[o], end[o], place, other)
                size = _sum_of_products(
                    code, size, space, counts, down[d], other, sources, steps, row
                )
                if row >= 0 and residual[d] == 0:  # intermediate tables pass on the product
                    lengths[0], ordered[0] = separator[d], 1
                    size = _emit(
                        code, size, MULTIPLY, down[d], up[d], WORK, zero, lengths[:1], ordered[:1],
                        ordered[:1],
                    )  # fmt: skip
                table_of[o] = down[d]
                d = next_child[d]
            for q in range(residual[c]):
                v = member[first_at + q]
                best = n_factors + n_cliques
                least = entries[c] + 1
                for shift in range(2):
                    o = n_factors + first_child[c] if shift == 0 else first[c]
                    o = -1 if shift == 0 and first_child[c] < 0 else o
                    while o >= 0:
                        length = 1
                        has = False
                        for a in range(begin[o], end[o]):
                            length *= cards[axis[a]]
                            has |= axis[a] == v
                        if has and length < least:
                            best, least = o, length
                        if shift:
                            o = following[o]
                        else:
                            o = next_child[o - n_factors]
                            o = n_factors + o if o >= 0 else -1
                o = best
                _steps(axis, stride, begin[o], end[o], place, other)
                row = _row_of(row_of, o)
                if table_of[o] < 0:
                    order = np.arange(width)
                    length = _packed(counts, other, order, ordered)
                    table_of[o] = space[0]
                    space[0] += length
                    size = _sum_of_products(
                        code, size, space, counts, table_of[o], ordered, sources, steps, row
                    )
                elif o < n_factors:
                    _packed(counts, other, np.arange(width), ordered)
                else:
                    ordered[:] = other
                for k in range(width):
                    lengths[k] = counts[k] if other[k] else 1
                other[:] = 0
                other[q] = 1
                marginal = space[0]
                space[0] += counts[q]
                if o >= n_factors and (row < 0 or residual[o - n_factors] == 0):
                    size = _simple(code, size, CLEAR, marginal, counts[q], zero, zero)
                    size = _emit(
                        code, size, ADD, marginal, table_of[o], WORK, zero, lengths, other, ordered
                    )
                else:
                    pair[0], pair[1] = table_of[o], WORK
                    pair[2:] = sources[row]
                    size = _contract(
                        code, size, space, lengths, marginal, other, pair, ordered, steps[row]
                    )
                counted = 1 if root and q == 0 else 0
                size = _simple(code, size, RESULT, marginal, counts[q], result[v], counted)
            d = first_child[c]
            while d >= 0:
                if residual[d]:
                    size = _simple(code, size, DIVIDE, down[d], separator[d], np.int64(-1), d)
                d = next_child[d]
            free = space[0]
            continue
        # Position of the product: an intermediate table is itself the message, small tables are
        # kept for the second pass, large tables are computed tile by tile and not kept.
        outer = zero
        fresh = True
        if residual[c] == 0:
            fresh = collect
            made = up[c] if collect else down[c]
        elif both and (table[c] >= 0 or (entries[c] <= KEPT and kept + entries[c] <= ALL_KEPT)):
            fresh = table[c] < 0
            if fresh:
                kept += entries[c]
                table[c] = free
                free += entries[c]
            made = table[c]
        else:
            made = tile
            inner = entries[c]
            while inner > TILE:
                inner //= counts[outer]
                own[outer] = 0
                outer += 1
        n_inputs = 0
        widest = -1
        o = first[c]
        while o >= 0:
            n_inputs += 1
            if widest < 0 or end[o] - begin[o] > end[widest] - begin[widest]:
                widest = o
            o = following[o]
        o = first_child[c]
        while o >= 0:
            n_inputs += 1
            o = next_child[o]
        code = grown(code, size, (4 * n_inputs + 2 * width + 12) * (HEAD + 5 * width + 12))
        # A table whose axes are in another order than those of a much larger clique is copied into
        # the clique's order, because the clique reads it many times.
        o = first[c] if fresh else -1
        while o >= 0:
            length = 1
            against = False
            for a in range(begin[o], end[o]):
                length *= cards[axis[a]]
                for b in range(begin[o], a):
                    against |= (place[axis[a]] < place[axis[b]]) == (stride[a] < stride[b])
            if against and o < n_factors and entries[c] >= 4 * length:
                _steps(axis, stride, begin[o], end[o], place, other)
                _packed(counts, other, np.arange(width), ordered)
                for k in range(width):
                    lengths[k] = counts[k] if other[k] else 1
                size = _emit(
                    code, size, COPY, free, where[o], sort[o], zero, lengths, ordered, other
                )
                where[o], sort[o] = free, WORK
                free += length
                for a in range(begin[o], end[o]):
                    stride[a] = ordered[place[axis[a]]]
            o = following[o]
        # Clear the entries to which sums are added.
        cleared = size
        marginal = sums = free
        shown = filled(residual[c], -1)
        if not collect:
            d = first_child[c]
            while d >= 0:
                down[d] = free
                free += separator[d]
                for at in range(c_start[d] + residual[d], c_start[d + 1]):
                    q = place[member[at]]
                    if q < residual[c] and (shown[q] < 0 or separator[d] < separator[shown[q]]):
                        shown[q] = d
                d = next_child[d]
            marginal = free
            for q in range(residual[c]):
                free += counts[q]
        elif root:
            free += n_result if asked else 1
        n_sums = free - marginal
        if not collect or root:
            size = _simple(code, size, CLEAR, sums, free - sums, zero, zero)
        elif residual[c]:
            size = _simple(code, size, CLEAR, up[c], separator[c], zero, zero)
        if outer:
            code[size], code[size + 1], code[size + 2] = LOOP, 3 + outer, outer
            for k in range(outer):
                code[size + 3 + k] = counts[k]
            size += 3 + outer
        body = size
        # The product: the widest operand is copied, the others are multiplied into it.
        operation = COPY
        o = widest if fresh else -1
        while o >= 0:
            _steps(axis, stride, begin[o], end[o], place, other)
            size = _emit(code, size, operation, made, where[o], sort[o], outer, counts, own, other)
            o = first[c] if operation == COPY else following[o]
            if o == widest:
                o = following[o]
            operation = MULTIPLY
        if not fresh:
            operation = MULTIPLY
        if not collect and not root and residual[c]:
            _steps(axis, stride, begin[n_factors + c], end[n_factors + c], place, other)
            size = _emit(code, size, operation, made, down[c], WORK, outer, counts, own, other)
        elif operation == COPY:
            other[:] = 0
            size = _emit(code, size, ONES, made, zero, WORK, outer, counts, own, other)
        # The sums: the source is the table of the clique.
        how = MAXIMUM if maximal[c] else WORK
        if not collect:
            d = first_child[c]
            while d >= 0:
                _steps(axis, stride, begin[n_factors + d], end[n_factors + d], place, other)
                size = _emit(code, size, ADD, down[d], made, how, outer, counts, other, own)
                d = next_child[d]
            to = marginal
            for q in range(residual[c]):
                if shown[q] < 0:
                    other[:] = 0
                    other[q] = 1
                    size = _emit(code, size, ADD, to, made, how, outer, counts, other, own)
                to += counts[q]
        elif root:
            for k in range(width):
                other[k] = asked_steps[member[first_at + k]] if asked else 0
            size = _emit(code, size, ADD, marginal, made, how, outer, counts, other, own)
        elif residual[c]:
            _steps(axis, stride, begin[n_factors + c], end[n_factors + c], place, other)
            size = _emit(code, size, ADD, up[c], made, how, outer, counts, other, own)
        if outer:
            code[size], code[size + 1], code[size + 2] = AGAIN, 3, body
            size += 3
            if entries[c] >= LARGE:
                loops = grown(loops, n_loops, 2)
                loops[n_loops], loops[n_loops + 1] = cleared, size
                n_loops += 2
        # Rescaling of messages and results after the sums.
        if collect and not root:
            counted = _counted(parent, residual, unit, c)
            size = _simple(code, size, SCALE, up[c], separator[c], parent[c], counted)
        elif collect:
            operation = RESULT if asked else MASS
            size = _simple(code, size, operation, marginal, n_sums, zero, one)
        else:
            to = marginal
            for q in range(residual[c]):
                v = member[first_at + q]
                d = shown[q]
                if d >= 0:
                    o = n_factors + d
                    length = end[o] - begin[o]
                    sizes = np.empty(length, np.int64)
                    only = filled(length, 0)
                    for k in range(length):
                        sizes[k] = cards[axis[begin[o] + k]]
                        only[k] = axis[begin[o] + k] == v
                    steps = stride[begin[o] : end[o]]
                    size = _emit(code, size, ADD, to, down[d], WORK, zero, sizes, only, steps)
                counted = 1 if root and q == 0 else 0
                size = _simple(code, size, RESULT, to, counts[q], result[v], counted)
                to += counts[q]
            d = first_child[c]
            while d >= 0:
                if residual[d]:
                    size = _simple(code, size, DIVIDE, down[d], separator[d], up[d], d)
                d = next_child[d]
    return Program(
        tree, code[:size].copy(), up, minima, source, kind, step, constant[:n_constant].copy(),
        least, soft_at, maximal, loops[:n_loops].copy(), free, n_result,
    )  # fmt: skip


# -------------------------------------------------------------------------------------- enumeration

# Maximum number of entries of a joint table that is enumerated.
FEW_ENTRIES = 512
TOO_MANY = 3
# Minimum of a sum whose relative error from underflow is negligible.
_SAFE_MASS = 1e-250


@kernel(error_model="numpy")
def enumerate_joint(layout: Ints, values: Floats, findings: Ints) -> tuple[int, float, Floats]:
    """Sum the product of tables over all joint states of few variables, without a program.

    The variables are assigned one after the other; a table is multiplied in once its last variable
    is assigned, and assignments that extend a product of zero are not visited.

    Parameters
    ----------
    layout
        The lengths of five arrays, then these arrays: `cards`, `start` and `item` of `TableArrays`,
        the targets and the indices of the relevant tables. (Each array of a call costs a fraction
        of a microsecond.) The targets are the variables whose joint table is the result; without
        any, the result is the marginals of all free variables, one after the other.
    values
        See `TableArrays`.
    findings : shape (2 k,)
        Indices of the observed variables, then their states.

    Returns
    -------
    status : OK, TOO_SMALL (also for impossible evidence) or TOO_MANY
    log_mass : float
    result : ndarray
    """
    a, b, c, d = 5 + layout[0], layout[1], layout[2], layout[3]
    cards, start, item = layout[5:a], layout[a : a + b], layout[a + b : a + b + c]
    targets, factors = layout[a + b + c : a + b + c + d], layout[a + b + c + d :]
    n_all, n_observed, n_targets = len(cards), len(findings) // 2, len(targets)
    step, base, _ = table_layout(cards, start, item, False)
    state = filled(n_all, 0)
    depth_of = filled(n_all, -1)
    for f in factors:
        for at in range(start[f], start[f + 1]):
            depth_of[item[at]] = 0
    for k in range(n_observed):
        state[findings[k]] = findings[n_observed + k]
        depth_of[findings[k]] = -1
    free = np.empty(n_all, np.int64)
    at_result = np.empty(n_all + 1, np.int64)
    n = n_result = 0
    entries = 1
    for v in range(n_all):
        if depth_of[v] == 0:
            depth_of[v] = n
            free[n] = v
            at_result[n] = n_result
            n_result += cards[v]
            entries *= cards[v]
            n += 1
            if entries > FEW_ENTRIES:
                return TOO_MANY, 0.0, np.empty(0)
    if n_targets:
        n_result = 1
        for v in targets:
            n_result *= cards[v]
    result = np.zeros(n_result)
    # Linked lists of factors by the depth at which their last variable is assigned; fully observed
    # factors have depth 0.
    first = filled(n + 1, -1)
    following = np.empty(len(base), np.int64)
    for f in factors:
        depth = 0
        for at in range(start[f], start[f + 1]):
            depth = max(depth, depth_of[item[at]] + 1)
        following[f] = first[depth]
        first[depth] = f
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
            offset = base[f]
            for at in range(start[f], start[f + 1]):
                offset += state[item[at]] * step[at]
            product *= values[offset]
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


# Sums may be reordered, so that a sum along a row uses vector instructions.
@kernel(error_model="numpy", fastmath={"reassoc", "nsz"})
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
    """Execute a COPY, MULTIPLY or ADD instruction on probabilities.

    It writes to `target` from offset `t` on and reads `source` from offset `s` on. The `dims`
    dimensions of the instruction start at ``code[at]``; `index` is a scratch array for the loops.
    """
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


@kernel(error_model="numpy")
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
    """Execute a COPY, MULTIPLY or ADD instruction on logarithms; see `_linear`.

    MULTIPLY adds logarithms. ADD takes their maximum if `maximum` is set, else log-sum-exp.
    """
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


@kernel(error_model="numpy")
def _extremes(bits: Ints, t: int, n: int) -> tuple[int, int]:
    """Return the largest of n non-negative numbers from offset t on, and the smallest positive one.

    Numbers are given and returned by their bits: as integers they have the same order, and their
    extremes are found with vector instructions. Like the functions below this one counts in
    unsigned numbers, for which Numba needs no test of negative indices.
    """
    peak, lowest = 0, _INFINITY
    at = np.uint64(t)
    for k in range(np.uint64(n)):
        x = bits[at + k]
        peak = max(peak, x)
        lowest = min(lowest, x if x > 0 else _INFINITY)
    return peak, lowest


@kernel(error_model="numpy")
def _fill(work: Floats, t: int, n: int, value: float) -> None:
    """Set n entries from offset t on to a value."""
    at = np.uint64(t)
    for k in range(np.uint64(n)):
        work[at + k] = value


@kernel(error_model="numpy")
def _scale(work: Floats, t: int, n: int, factor: float) -> None:
    """Multiply n entries from offset t on by a factor."""
    at = np.uint64(t)
    for k in range(np.uint64(n)):
        work[at + k] *= factor


@kernel(error_model="numpy")
def _divide(work: Floats, t: int, s: int, n: int, logarithmic: bool) -> None:
    """Divide n entries from offset t on by those from s on, where these are positive."""
    to, by = np.uint64(t), np.uint64(s)
    if logarithmic:
        for k in range(np.uint64(n)):
            y = work[by + k]
            work[to + k] -= y if y > -np.inf else 0.0
    else:
        for k in range(np.uint64(n)):
            y = work[by + k]
            work[to + k] /= y if y > 0.0 else 1.0


# Sums may be reordered, and products added without rounding them first.
@kernel(error_model="numpy", fastmath={"reassoc", "nsz", "contract"})
def _add_products(
    target: Floats,
    t: int,
    left: Floats,
    x: int,
    right: Floats,
    y: int,
    code: Ints,
    at: int,
    dims: int,
    index: Ints,
) -> None:
    """Execute a CONTRACT instruction on probabilities.

    It adds to `target` from offset `t` on the products of `left` from `x` on and `right` from `y`
    on. The `dims` dimensions of the instruction start at ``code[at]``; `index` is a scratch array
    for the loops.
    """
    inner = at + 4 * (dims - 1)
    n, m = np.uint64(code[inner]), np.uint64(code[inner - 4])
    dt, dx, dy = np.uint64(code[inner + 1]), np.uint64(code[inner + 2]), np.uint64(code[inner + 3])
    et, ex, ey = np.uint64(code[inner - 3]), np.uint64(code[inner - 2]), np.uint64(code[inner - 1])
    zero, one, two, four = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(4)
    if dy == one and dx == zero:  # the first source is the one with the innermost axes
        left, right, x, y, dx, dy, ex, ey = right, left, y, x, dy, dx, ey, ex
        swap = 1
    else:
        swap = 0
    for k in range(dims - 2):
        index[k] = 0
    t0, x0, y0 = np.uint64(t), np.uint64(x), np.uint64(y)
    while True:
        a, b, c = t0, x0, y0
        if dt == one and dx == one and dy == zero and et == zero:
            j = zero
            while j + four <= m:
                f, g, h, e = right[c], right[c + ey], right[c + ey + ey], right[c + ey + ey + ey]
                q, r, s = b + ex, b + ex + ex, b + ex + ex + ex
                for i in range(n):
                    target[a + i] += (
                        left[b + i] * f + left[q + i] * g + left[r + i] * h + left[s + i] * e
                    )
                b += four * ex
                c += four * ey
                j += four
            while j < m:
                f = right[c]
                for i in range(n):
                    target[a + i] += left[b + i] * f
                b += ex
                c += ey
                j += one
        elif dt == one and dx == one and dy == zero:
            for _ in range(m):
                f = right[c]
                for i in range(n):
                    target[a + i] += left[b + i] * f
                a += et
                b += ex
                c += ey
        elif dt == one and dx == one and dy == one and et == zero:
            j = zero
            while j + two <= m:
                q, v = b + ex, c + ey
                for i in range(n):
                    target[a + i] += left[b + i] * right[c + i] + left[q + i] * right[v + i]
                b += ex + ex
                c += ey + ey
                j += two
            while j < m:
                for i in range(n):
                    target[a + i] += left[b + i] * right[c + i]
                b += ex
                c += ey
                j += one
        elif dt == one and dx == one and dy == one:
            for _ in range(m):
                for i in range(n):
                    target[a + i] += left[b + i] * right[c + i]
                a += et
                b += ex
                c += ey
        elif dt == zero and dx == one and dy == one:
            for _ in range(m):
                total = 0.0
                for i in range(n):
                    total += left[b + i] * right[c + i]
                target[a] += total
                a += et
                b += ex
                c += ey
        else:
            for _ in range(m):
                for i in range(n):
                    target[a + i * dt] += left[b + i * dx] * right[c + i * dy]
                a += et
                b += ex
                c += ey
        k = dims - 3
        while k >= 0:
            d = at + 4 * k
            index[k] += 1
            t0 += np.uint64(code[d + 1])
            x0 += np.uint64(code[d + 2 + swap])
            y0 += np.uint64(code[d + 3 - swap])
            if index[k] < code[d]:
                break
            t0 -= np.uint64(code[d] * code[d + 1])
            x0 -= np.uint64(code[d] * code[d + 2 + swap])
            y0 -= np.uint64(code[d] * code[d + 3 - swap])
            index[k] = 0
            k -= 1
        if k < 0:
            return


@kernel(error_model="numpy")
def _add_logarithmic(
    target: Floats,
    t: int,
    left: Floats,
    x: int,
    right: Floats,
    y: int,
    code: Ints,
    at: int,
    dims: int,
    index: Ints,
) -> None:
    """Execute a CONTRACT instruction on logarithms; see `_add_products`."""
    for k in range(dims):
        index[k] = 0
    while True:
        z = left[x] + right[y]
        if z > -np.inf:
            high = max(target[t], z)
            target[t] = high + np.log1p(np.exp(min(target[t], z) - high))
        k = dims - 1
        while k >= 0:
            d = at + 4 * k
            index[k] += 1
            t += code[d + 1]
            x += code[d + 2]
            y += code[d + 3]
            if index[k] < code[d]:
                break
            t -= code[d] * code[d + 1]
            x -= code[d] * code[d + 2]
            y -= code[d] * code[d + 3]
            index[k] = 0
            k -= 1
        if k < 0:
            return


@kernel(error_model="numpy")
def run(
    code: Ints,
    tables: Floats,
    offsets: Ints,
    minima: Floats,
    work: Floats,
    out: Floats,
    begin: int,
    end: int,
    own: Floats,
    half: int,
    logarithmic: bool,
) -> tuple[int, float]:
    """Run an elimination program on probabilities or on logarithms.

    Parameters
    ----------
    code : the instructions
    tables : the tables of all factors, or their logarithms
    offsets : shape (n_factors,)
        Offset of the first entry of each table that agrees with the evidence.
    minima : shape (n_cliques,)
        Binary logarithm of a lower bound of the nonzero products of each clique's factors;
        overwritten.
    work : the workspace
    out : the result
    begin, end : int
        Range of the program to run.
    own : ndarray
        Array to which loops write and in which sums are cleared: the workspace itself, or another
        array of its size if a second thread runs the second half of a loop.
    half : int
        0: all iterations of a loop; 1 or 2: the first or the second half of the iterations.
    logarithmic : bool
        Whether values are logarithms: products are then sums, and sums are log-sum-exp or maxima.

    Returns
    -------
    status : OK, IMPOSSIBLE or TOO_SMALL (underflow may have made the result inaccurate)
    log_mass : float
        Natural log of the sum (the maximum) of the product of all factors over all joint states.
    """
    log_mass = 0.0
    status = OK
    zero = -np.inf if logarithmic else 0.0
    bits = work.view(np.int64)
    pair = np.zeros(2, np.int64)
    numbers = pair.view(np.float64)
    index = np.zeros(64, np.int64)
    loop = np.zeros(64, np.int64)
    n_loop = 0
    loop_at = 0
    turns = 0
    at = begin
    while at < end:
        operation = code[at]
        if operation <= ADD or operation == ONES:
            t, s, kind = code[at + 2], code[at + 3], code[at + 4]
            dims, outer = code[at + 5], code[at + 6]
            d = at + HEAD + 3 * dims
            for k in range(outer):
                t += loop[k] * code[d]
                s += loop[k] * code[d + 1]
                d += 2
            # A sum reads the clique's table, which is in `own`; a product reads messages.
            data = own if operation == ADD else work
            if kind == TABLE:
                # `s` is the index of the factor plus, in a loop, the steps within its table.
                s += offsets[code[at + 3]] - code[at + 3]
                data = tables
            if operation == ONES:
                n = np.int64(1)
                for k in range(dims):
                    n *= code[at + HEAD + 3 * k]
                _fill(own, t, n, 0.0 if logarithmic else 1.0)
            elif logarithmic:
                maximum = kind == MAXIMUM
                _logarithmic(operation, own, t, data, s, code, at + HEAD, dims, index, maximum)
            else:
                _linear(operation, own, t, data, s, code, at + HEAD, dims, index)
            at += code[at + 1]
        elif operation == CONTRACT:
            s, u = code[at + 3], code[at + 5]
            data, other = work, work
            if code[at + 4] == TABLE:
                s, data = offsets[s], tables
            if code[at + 6] == TABLE:
                u, other = offsets[u], tables
            dims = code[at + HEAD]
            d = at + HEAD + 1
            if logarithmic:
                _add_logarithmic(work, code[at + 2], data, s, other, u, code, d, dims, index)
            else:
                _add_products(work, code[at + 2], data, s, other, u, code, d, dims, index)
            at += code[at + 1]
        elif operation == CLEAR:
            _fill(own, code[at + 2], code[at + 3], zero)
            at += SHORT
        elif operation == SCALE or operation == DIVIDE:
            t, n, s = code[at + 2], code[at + 3], code[at + 4]
            if operation == DIVIDE and s >= 0:
                _divide(work, t, s, n, logarithmic)
            lowest = np.inf
            if logarithmic:
                peak = zero
                for k in range(t, t + n):
                    peak = max(peak, work[k])
            else:
                largest, smallest = _extremes(bits, t, n)
                pair[0], pair[1] = largest, smallest
                peak, lowest = numbers[0], numbers[1]
            if peak == zero:
                return IMPOSSIBLE, -np.inf
            if logarithmic:
                # Logarithms do not overflow: messages are scaled only where the scales cancel.
                if operation == SCALE and not code[at + 5]:
                    for k in range(t, t + n):
                        work[k] -= peak
            else:
                # Scale the maximum to one. The smallest nonzero entry then gives a lower bound of
                # the products that read the message.
                factor = 1.0 / peak
                _scale(work, t, n, factor)
                bound = np.log2(lowest * factor) if lowest < peak else 0.0
                if operation == DIVIDE:
                    bound += minima[code[at + 5]]
                else:
                    minima[code[at + 4]] += bound
                    bound = minima[code[at + 4]]
                    if code[at + 5]:
                        log_mass += np.log(peak)
                if bound < MINIMUM_LOG2:
                    status = TOO_SMALL
            at += SHORT
        elif operation == RESULT or operation == MASS:
            t, n, to = code[at + 2], code[at + 3], code[at + 4]
            peak = 0.0
            if logarithmic:
                peak = zero
                for k in range(t, t + n):
                    peak = max(peak, work[k])
                if peak == zero:
                    return IMPOSSIBLE, -np.inf
            total = 0.0
            for k in range(t, t + n):
                total += np.exp(work[k] - peak) if logarithmic else work[k]
            if not total > 0.0:
                return IMPOSSIBLE, -np.inf
            log_total = np.log(total) if logarithmic or code[at + 5] else 0.0
            if code[at + 5]:
                log_mass += peak + log_total
            if operation == RESULT:
                factor = 1.0 / total
                for k in range(n):
                    if logarithmic:
                        # Subtract the peak first: next to a large peak `log_total` loses digits.
                        out[to + k] = (work[t + k] - peak) - log_total
                    else:
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
        else:  # AGAIN
            turns -= 1
            for k in range(n_loop - 1, -1, -1):
                loop[k] += 1
                if loop[k] < code[loop_at + k]:
                    break
                loop[k] = 0
            at = code[at + 2] if turns > 0 else at + 3
    return status, log_mass


@kernel(error_model="numpy")
def add_cleared(code: Ints, at: int, work: Floats, own: Floats) -> None:
    """Add the partial sums of the second of two threads that shared a loop to those of the first.

    The first thread has summed over its half of the loop in `work`, which receives the totals, the
    second thread in `own`. The CLEAR instructions that begin at ``code[at]``, which set ranges to
    zero before the loop, give the ranges of the sums.
    """
    while code[at] == CLEAR:
        for k in range(code[at + 2], code[at + 2] + code[at + 3]):
            work[k] += own[k]
        at += SHORT


def _blocks_of_rows(
    code: Ints,
    tables: Floats,
    offsets: Ints,
    minima: Floats,
    work: Floats,
    result: Floats,
    codes: Ints,
    likelihood_at: Ints,
    cards: Ints,
    n_together: int,
    logs: Floats,
) -> int:
    """Return the work of `run_rows`: that of `run` for each block."""
    return (len(code) + len(tables) + len(work)) * -(-logs.shape[1] // n_together)


@kernel(work=_blocks_of_rows, error_model="numpy")
def run_rows(
    code: Ints,
    tables: Floats,
    offsets: Ints,
    minima: Floats,
    work: Floats,
    result: Floats,
    codes: Ints,
    likelihood_at: Ints,
    cards: Ints,
    n_together: int,
    logs: Floats,
) -> None:
    """Compute log probabilities of rows in blocks, by a program with the row index as a variable.

    Parameters
    ----------
    code, offsets, minima, work
        See `run`.
    tables
        Entries of all tables. The last tables are likelihoods of shape (states, n_together), which
        are overwritten.
    result : shape (n_states * n_together,)
        Receives the joint table of the target and the row index.
    codes : shape (n_seen, n_rows)
        States of the observed variables, -1 where missing.
    likelihood_at, cards : shape (n_seen,)
        Offset of the likelihoods of each observed variable in `tables`, and its cardinality.
    n_together : int
        Number of rows of a block.
    logs : shape (n_states, n_rows)
        Receives log probabilities; NaN in impossible rows, and in rows for which underflow may have
        made the result inaccurate.
    """
    n_states, n_rows = logs.shape
    bounds = np.empty(len(minima))
    for begin in range(0, n_rows, n_together):
        end = min(begin + n_together, n_rows)
        for k in range(len(minima)):
            bounds[k] = minima[k]
        for v in range(len(cards)):
            to = likelihood_at[v]
            for state in range(cards[v]):
                for row in range(begin, end):
                    seen = codes[v, row]
                    tables[to + row - begin] = 1.0 if seen < 0 or seen == state else 0.0
                for row in range(end - begin, n_together):
                    tables[to + row] = 1.0
                to += n_together
        status, log_mass = run(
            code, tables, offsets, bounds, work, result, 0, len(code), work, 0, False
        )
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


@kernel(error_model="numpy")
def operand_lists(home: Ints, parent: Ints, up: Ints) -> tuple[Ints, Ints]:
    """Return the factors and incoming messages of each clique as linked lists; see `linked`.

    Factors precede the messages of child cliques. Operand o is factor o if ``o < n_factors``,
    otherwise the message of clique ``o - n_factors``. The arguments are arrays of `Tree` and
    `Program`.
    """
    n_factors, n_cliques = len(home), len(parent)
    owner = np.empty(n_factors + n_cliques, np.int64)
    for o in range(len(owner)):
        if o < n_factors:
            owner[o] = home[o]
        else:
            owner[o] = parent[o - n_factors] if up[o - n_factors] >= 0 else -1
    return linked(owner, n_cliques, False)


@kernel(work=lambda c, assigned, *_: 4 * len(assigned), error_model="numpy")
def local_values(
    c: int,
    assigned: Ints,
    program: Program,
    operands: tuple[Ints, Ints],
    tables: Floats,
    offsets: Ints,
    work: Floats,
    linear: bool,
    values: Floats,
) -> int:
    """Write the value of each joint state of the variables that clique c eliminates to `values`.

    The value is the product of the clique's factors and incoming messages, with the clique's other
    variables at the states in `assigned`, shape (n_rows, n). `operands` is the result of
    `operand_lists`; `linear` tells whether tables, workspace and `values` hold probabilities, not
    logarithms. `values` has shape (n_rows, number of joint states) at least. Returns the number of
    joint states.
    """
    tree, up, source, kind, step = (
        program.tree, program.up, program.source, program.kind, program.step,
    )  # fmt: skip
    cards, start, item = tree.cards, tree.start, tree.item
    c_start, member, residual = tree.c_start, tree.member, tree.residual
    base, width, n_factors = c_start[c], residual[c], len(start) - 1
    first, following = operands
    n = 1
    for k in range(width):
        n *= cards[member[base + k]]
    for row in range(len(assigned)):
        for i in range(n):
            values[row, i] = 1.0 if linear else 0.0
    steps = np.empty(width, np.int64)
    index = filled(width, 0)
    # The variables of an operand that are eliminated later, and their strides.
    later = np.empty(len(cards), np.int64)
    apart = np.empty(len(cards), np.int64)
    o = first[c]
    while o >= 0:
        is_factor = o < n_factors
        d = o - n_factors
        data = work
        if is_factor:
            begin, end, origin = start[o], start[o + 1], source[o]
            if kind[o] == TABLE:
                origin = offsets[origin]
                data = tables
        else:
            begin, end, origin = c_start[d] + residual[d], c_start[d + 1], up[d]
        for k in range(width):
            steps[k] = 0
        n_later = 0
        distance = 1
        for a in range(end - 1, begin - 1, -1):
            v = item[a] if is_factor else member[a]
            later[n_later] = v
            apart[n_later] = step[a] if is_factor else distance
            distance *= cards[v]
            n_later += 1
            for k in range(width):
                if member[base + k] == v:
                    n_later -= 1
                    steps[k] = apart[n_later]
        for row in range(len(assigned)):
            at = origin
            for k in range(n_later):
                at += assigned[row, later[k]] * apart[k]
            for i in range(n):
                if linear:
                    values[row, i] *= data[at]
                else:
                    values[row, i] += data[at]
                for k in range(width - 1, -1, -1):
                    index[k] += 1
                    at += steps[k]
                    if index[k] < cards[member[base + k]]:
                        break
                    at -= index[k] * steps[k]
                    index[k] = 0
        o = following[o]
    return n


# Number of rows of draws for which the values at a clique are computed together.
_ROWS_TOGETHER = 64


def _choices(
    assigned: Ints,
    uniform: Floats,
    chosen: Ints,
    program: Program,
    tables: Floats,
    offsets: Ints,
    work: Floats,
    linear: bool,
) -> int:
    """Return the work of `decode`."""
    return 20 * assigned.size + len(tables) + len(work)


@kernel(work=_choices, error_model="numpy")
def decode(
    assigned: Ints,
    uniform: Floats,
    chosen: Ints,
    program: Program,
    tables: Floats,
    offsets: Ints,
    work: Floats,
    linear: bool,
) -> None:
    """Choose a state of every variable for each row, clique by clique from the roots to the leaves.

    The states are drawn from their posterior, or are the most probable ones.

    Parameters
    ----------
    assigned : shape (n_rows, n)
        Receives the states.
    uniform : shape (n_rows, n_cliques)
        Random numbers in [0, 1), by which states are drawn from their distribution. Without
        columns, the most probable state is taken, ties to the first.
    chosen : shape (n_cliques,)
        1 for the cliques whose eliminated variables are assigned.
    linear : bool
        Whether tables and workspace hold probabilities, not logarithms.
    """
    tree = program.tree
    cards, c_start, member, residual = tree.cards, tree.c_start, tree.member, tree.residual
    n_cliques = len(residual)
    largest = 1
    for c in range(n_cliques):
        n = 1
        for k in range(residual[c]):
            n *= cards[member[c_start[c] + k]]
        largest = max(largest, n)
    rows_together = min(len(assigned), _ROWS_TOGETHER)
    block = np.empty((rows_together, largest))
    operands = operand_lists(tree.home, tree.parent, program.up)
    for c in range(n_cliques - 1, -1, -1):
        if residual[c] == 0 or not chosen[c]:
            continue
        n = 0
        for row in range(len(assigned)):
            if row % _ROWS_TOGETHER == 0:
                rows = assigned[row : row + rows_together]
                n = local_values(c, rows, program, operands, tables, offsets, work, linear, block)
            values = block[row % _ROWS_TOGETHER]
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


def largest(scores: Floats) -> NDArray[np.intp]:
    """Return for each row the index of the class with the largest score, ties to the first.

    Parameters
    ----------
    scores : ndarray, shape (n_classes, n_rows)
    """
    best = np.empty(scores.shape[1], dtype=np.intp)
    by_rows(_largest, (scores, best), scores.shape[1], scores.shape[0])
    return best


@kernel()
def _largest(scores: Floats, best: NDArray[np.intp], begin: int, end: int) -> None:
    # Blocks of rows stay in the cache; in a block, scores are read class by class, as stored.
    maximum = np.empty(512)
    for first in range(begin, end, 512):
        n = min(512, end - first)
        maximum[:n] = scores[0, first : first + n]
        chosen = best[first : first + n]
        chosen[:] = 0
        for k in range(1, scores.shape[0]):
            row = scores[k, first : first + n]
            for i in range(n):
                better = row[i] > maximum[i]
                maximum[i] = row[i] if better else maximum[i]
                chosen[i] = k if better else chosen[i]
