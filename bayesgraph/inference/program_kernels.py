"""The compiler of elimination programs: instructions for message passing on a junction tree.

A program is a flat array of integers: instructions, one after the other. It reads tables, and reads
and writes one workspace, whose layout it determines; `execution_kernels` executes it.

The axes of messages and clique tables are in the order of elimination, with the variable that is
eliminated first outermost, so that messages are read and written contiguously.
"""

from __future__ import annotations

import numpy as np

from bayesgraph.core.compilation import kernel
from bayesgraph.inference.junction import Ints, TableArrays, Tree
from bayesgraph.inference.order_kernels import filled, grown
from bayesgraph.inference.planning_kernels import linked, packed

# Operations. An instruction consists of: operation, length, target, source, kind of source, number
# of dimensions, number of loop dimensions, then (count, target step, source step) for each
# dimension, outermost first, then (target step, source step) for each dimension of its loop.
# (Operations are NumPy integers: Numba would compile a function again for each literal argument.)
COPY, MULTIPLY, ADD, FILL, LOOP, AGAIN, SCALE, DIVIDE, RESULT, CONTRACT = np.arange(1, 11)
# Operations on compressed cliques. GATHER, which copies or multiplies in a listed entry of the
# source for each row, and SCATTER, which adds each row to a listed entry of the target, consist of:
# operation, length, target, rows, source, kind of source, position of the list, operation (COPY,
# MULTIPLY or ADD). DATA, at the end, consists of operation, length, all lists and keys. Positions
# are counted back from the end of the program, those of lists in halves of its integers.
GATHER, SCATTER, DATA = np.arange(11, 14)
# Length of an instruction up to its dimensions, and length of an instruction without dimensions.
HEAD, SHORT = 7, 6
# Length of an instruction on compressed cliques.
LISTED = 8
# Rows of a layout, see `compile_tree`.
N_ROWS, SEPARATOR, OPERAND, OWN, STATES = np.arange(5)
# Maximum number of joint states of variables whose marginals are sums of one table.
_GROUP = 4096
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
# Rank of the axes of each kind, see `_loops`: those of the sum (odd kinds) are outside those that
# are summed out.
_RANK = np.array([4, 0, 5, 2, 6, 3, 7, 1])
# Minimum number of entries of a clique whose product is not formed, see `_sum_of_products`.
_SMALLEST_SUM = 256


@kernel(error_model="numpy")
def _nested(
    code: Ints, at: int, outer: int, counts: Ints, n_arrays: int, x: Ints, y: Ints, z: Ints
) -> int:
    """Write nested loops over the axes from `outer` on at `at`, outermost first; return their end.

    A loop consists of its count and the strides of two or three arrays, of which `x`, `y` and `z`
    (unused by two) have those along all axes. Successive axes that are contiguous in all arrays are
    merged.
    """
    first, size = at, 1 + n_arrays
    for k in range(outer, len(counts)):
        c = counts[k]
        if c == 1:
            continue
        before = at - size  # the loop before
        merged = at > first and code[before + 1] == x[k] * c and code[before + 2] == y[k] * c
        if merged and (n_arrays == 2 or code[before + 3] == z[k] * c):
            at = before
            c *= code[at]
        code[at], code[at + 1], code[at + 2] = c, x[k], y[k]
        if n_arrays == 3:
            code[at + 3] = z[k]
        at += size
    while at - first < 2 * size:
        # At least two dimensions, so that the executor has two loops and no special case.
        for k in range(at - 1, first - 1, -1):
            code[k + size] = code[k]
        code[first] = 1
        code[first + 1 : first + size] = 0
        at += size
    return at


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
    `source_steps` are the lengths of the axes and their strides in target and source. The first
    `outer` axes are left to the surrounding loop of the program.
    """
    code[size], code[size + 2], code[size + 3], code[size + 4] = operation, target, source, kind
    at = _nested(code, size + HEAD, outer, counts, 2, target_steps, source_steps, counts)
    code[size + 5], code[size + 6] = (at - size - HEAD) // 3, outer
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
def _loops(counts: Ints, t: Ints, x: Ints, y: Ints, order: Ints, scratch: Ints) -> bool:
    """Write to `order` the axes of a sum of products as nested loops, outermost first.

    `t`, `x` and `y` are the strides of the sum and of its two sources along the axes of a clique, 0
    for axes that they lack. The innermost loop has the axes that the sum shares with one source or
    with both, so that it uses vector instructions, and around it are the axes that are summed out
    (as in a product of matrices). Returns whether the sum is formed in this order and rearranged
    afterwards; otherwise its axes stay in their order. `scratch` is that of `compile_tree`.
    """
    width = len(counts)
    # The kind of an axis tells who has it: bit 0 the sum, bit 1 the first source, bit 2 the second.
    kind = scratch[18]
    size = np.ones(12)  # first the product of the counts of the axes of each of the 8 kinds
    # Entries of all, of the sum and of the two sources.
    entries = size[8:]
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
    trial, rank, end = scratch[19][:width], scratch[20], scratch[21][:9]
    for choice in range(5):
        # The axes in the innermost loop: the last ones as it is, or of one kind: 3, 5 or 7 (of the
        # sum and one or both sources), or 6 (of both sources and summed out).
        g = last if choice == 0 else 2 * choice + 1 if choice < 4 else 6
        begin = first if choice == 0 else 0
        length = run if choice == 0 else size[g]
        if choice and length == 1:
            continue
        move = 0 < choice < 4  # whether the sum is formed in this order and rearranged
        # First the other axes of the sum, as they are or by kind, then those summed out, last those
        # in the innermost loop. `end` counts the axes of each rank, then is where they end.
        end[:] = 0
        for k in range(width):
            rank[k] = 8 if kind[k] == g and k >= begin else _RANK[kind[k]]
            if t[k] and rank[k] < 8 and not move:
                rank[k] = 0
            end[rank[k]] += 1
        for r in range(8):
            end[r + 1] += end[r]
        for k in range(width - 1, -1, -1):
            end[rank[k]] -= 1
            trial[end[rank[k]]] = k
        base = _ALONE if g >= 6 else 1.0  # both sources have the innermost axes
        # The loops around the innermost one are over the summed axes of both sources, of kind 6.
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
    """Write to `out` the strides of an array packed with its axes in an order; return its entries.

    An axis whose stride in `steps` is 0 is not one of the array.
    """
    n = 1
    for i in range(len(order) - 1, -1, -1):
        k = order[i]
        out[i] = n if steps[k] else 0
        n *= counts[k] if steps[k] else 1
    return n


@kernel(error_model="numpy")
def _in_order(counts: Ints, steps: Ints, order: Ints, t: Ints) -> bool:
    """Tell whether a source of a sum of products can be read as it is.

    Its axes in the innermost loop must be contiguous, and those that are summed out evenly spaced.
    `counts` and `steps` are the lengths of the axes and their strides in the source, `t` those in
    the sum.
    """
    expected = 1  # stride of the next axis, from the innermost one outwards
    inside = innermost = True
    for i in range(len(order) - 1, -1, -1):
        k = order[i]
        if counts[k] > 1 and not steps[k]:
            innermost = False
        if counts[k] == 1 or not steps[k]:
            continue
        # The first axis that is summed out, from inside: if no other axis is within it, those that
        # are summed out are the innermost loop, and must be contiguous.
        if inside and not t[k]:
            inside = False
            expected = 1 if innermost else steps[k]
        innermost = False
        if not inside and t[k]:  # the other axes of the sum are the outer loops
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
    scratch: Ints,
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
        Position and kind of the first source, then of the second.
    t, x, y : shape (width,)
        Strides of the table and the sources along each axis, 0 for axes that they lack.
    scratch
        See `compile_tree`.
    """
    zero = np.int64(0)
    width = len(counts)
    order = scratch[10][:width]
    moved = _loops(counts, t, x, y, order, scratch)
    lengths, there, ranked = scratch[11][:width], scratch[12], scratch[13][:width]
    # `ranked` and `here` are the counts, and the strides of the table and the sources, along the
    # axes in the new order; `lengths` and `there` are those of an array that is copied.
    here = scratch[15:18]
    for j in range(width):
        ranked[j] = counts[order[j]]
    at = scratch[14]
    at[:4] = sources[:4]
    to = target
    for i in range(3):  # the table, then the two sources, each in a scratch array if out of order
        steps = t if i == 0 else x if i == 1 else y
        pack = moved if i == 0 else not _in_order(counts, steps, order, t)
        n = _packed(counts, steps, order, here[i])
        if i == 0:
            if pack:
                to = _room(space, np.int64(i), n)
            size = _simple(code, size, FILL, to, n, zero, zero)
        elif pack:
            place = _room(space, np.int64(i), n)
            for j in range(width):
                there[j] = steps[order[j]]
                lengths[j] = ranked[j] if there[j] else 1
            size = _emit(
                code, size, COPY, place, at[2 * i - 2], at[2 * i - 1], zero, lengths, here[i], there
            )
            at[2 * i - 2], at[2 * i - 1] = place, WORK
        if not pack:
            for j in range(width):
                here[i, j] = steps[order[j]]
    code[size], code[size + 2] = CONTRACT, to
    for i in range(4):
        code[size + 3 + i] = at[i]
    end = _nested(code, size + HEAD + 1, zero, ranked, 3, here[0], here[1], here[2])
    code[size + HEAD], code[size + 1] = (end - size - HEAD - 1) // 4, end - size
    if moved:
        for j in range(width):
            k = order[j]
            lengths[k], there[k] = counts[k] if t[k] else 1, here[0, j]
        end = _emit(code, end, COPY, target, to, WORK, zero, lengths, t, there)
    return end


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
    scratch: Ints,
) -> int:
    """Append instructions that set a table to the sum of products of one to three sources.

    `sources` and `steps` have a row for each source, of which ``left_out`` is not used, -1 for
    none; for the other arguments see `_contract`.
    """
    zero, width = np.int64(0), len(counts)
    used = scratch[5]  # the n sources that are used
    n = 0
    for i in range(len(sources)):
        if i != left_out:
            used[n] = i
            n += 1
    if n == 1:  # a plain sum
        a = used[0]
        entries = 1
        for k in range(width):
            entries *= counts[k] if t[k] else 1
        size = _simple(code, size, FILL, target, entries, zero, zero)
        return _emit(
            code, size, ADD, target, sources[a, 0], sources[a, 1], zero, counts, t, steps[a]
        )
    # Of three sources, the two with the smallest product are multiplied first, without the axes
    # that only they have.
    pair = scratch[6]
    x, y, z = used[0], used[1], -1
    best = np.inf
    for i in range(3 if n == 3 else 0):
        p, q, r = used[i], used[(i + 1) % 3], used[(i + 2) % 3]
        product = 1.0
        for k in range(width):
            in_pair = steps[p, k] or steps[q, k]
            product *= counts[k] if in_pair and (t[k] or steps[r, k]) else 1
        if product < best:
            best, x, y, z = product, p, q, r
    pair[0], pair[1], pair[2], pair[3] = sources[x, 0], sources[x, 1], sources[y, 0], sources[y, 1]
    # What is contracted next: its axes, the strides of both sources, and its target with strides.
    # `after` are the axes of the second contraction, of the pair's product and the third source.
    now, left, right, to, out = scratch[7][:width], steps[x], steps[y], target, t
    after = scratch[8][:width]
    for k in range(width):
        now[k] = after[k] = counts[k]
    if n == 3:
        distance = 1
        out = scratch[9]
        for k in range(width - 1, -1, -1):
            in_pair = left[k] or right[k]
            kept = in_pair and (t[k] or steps[z, k])
            out[k] = distance if kept else 0
            distance *= counts[k] if kept else 1
            if not in_pair:
                now[k] = 1
            elif not kept:  # summed out already
                after[k] = 1
        to = _room(space, np.int64(3), distance)
    for _ in range(n - 1):
        size = _contract(code, size, space, now, to, out, pair, left, right, scratch)
        # The next one, of the product and the third source; not used after the last one.
        pair[0], pair[1], pair[2], pair[3] = to, WORK, sources[z, 0], sources[z, 1]
        now, left, right, to, out = after, out, steps[z], target, t
    return size


@kernel(error_model="numpy")
def group_begin(counts: Ints, end: int) -> int:
    """Return where the group of variables begins that ends before a place.

    The joint states of a group, given the numbers of states of the variables, are few. The
    marginals of the variables that a compressed clique eliminates are sums of the tables of groups.
    """
    begin, n = end - 1, counts[end - 1]
    while begin > 0 and n * counts[begin - 1] <= _GROUP:
        begin -= 1
        n *= counts[begin]
    return begin


@kernel(error_model="numpy")
def _listed(
    code: Ints,
    size: int,
    operation: int,
    target: int,
    n: int,
    source: int,
    kind: int,
    a: int,
    b: int,
) -> int:
    """Append an instruction on the n rows of a compressed clique; return the code size.

    `a` and `b` are the position of the list and the operation; see GATHER and SCATTER.
    """
    code[size], code[size + 1], code[size + 2], code[size + 3] = operation, LISTED, target, n
    code[size + 4], code[size + 5], code[size + 6], code[size + 7] = source, kind, a, b
    return size + LISTED


@kernel(error_model="numpy")
def _counted(parent: Ints, residual: Ints, unit: Ints, c: int) -> int:
    """Tell whether the scale of clique c's message counts for the probability of the evidence.

    If the message of the parent clique is known to be ones, scales cancel.
    """
    p = parent[c]
    while residual[p] == 0:  # intermediate tables belong to the clique above them
        p = parent[p]
    return 0 if unit[p] and parent[p] >= 0 else 1


@kernel(error_model="numpy")
def _entries_of(axis: Ints, begin: int, end: int, cards: Ints) -> int:
    """Return the number of entries of an operand with the variables ``axis[begin:end]``."""
    entries = 1
    for at in range(begin, end):
        entries *= cards[axis[at]]
    return entries


@kernel(error_model="numpy")
def _is_reordered(axis: Ints, stride: Ints, begin: int, end: int, place: Ints) -> bool:
    """Tell whether the axes of an operand are in another order than in its clique."""
    for a in range(begin, end):
        for b in range(begin, a):
            # In the same order an axis further in has the smaller stride.
            if (place[axis[a]] < place[axis[b]]) == (stride[a] < stride[b]):
                return True
    return False


@kernel(error_model="numpy")
def _row_of(operands: Ints, o: int) -> int:
    """Return the place of operand o among others, -1 if it is none of them."""
    for row in range(len(operands)):
        if operands[row] == o:
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
    layout: Ints,
) -> tuple[Ints, float, int, int]:
    """Return the elimination program that passes messages over a junction tree.

    Children are numbered before their parents. The first pass (`collect`) takes the cliques in this
    order, the second one backwards. At each clique the program multiplies operands, which are
    factors and messages, and sums the product to messages, marginals or the result. Before the
    passes, all operands get their positions in the workspace, of which `free` is the next free one.

    The result is the arrays of a `Program` from `code` to `maximal`, packed (of `minima` the bits),
    then its numbers `least`, `n_work` and `n_result`.

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
    layout : shape (5, n_factors + n_cliques), or (5, 0) if no clique is held compressed
        For each operand (the factors, then the message of each clique to its parent): the number of
        rows of the clique that sends the message, and the number of entries of the message, -1
        where they are not compressed; positions, as in the instructions, of the entries of the
        operand for the rows of the clique that multiplies it, and of the message for those of the
        clique that sends it (at a root: of the result); the position of lists of the states of
        each group (see `group_begin`) of the variables that leave, or without `both` of the keys.
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
    # the position of its values; `sort` is their kind of source, and `owner` the clique that
    # multiplies the operand, -1 if none does.
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
            smallest = 1.0  # nonzero entry
            for k in range(base[number], last):
                if 0.0 < values[k] < smallest:
                    smallest = values[k]
            minima[home[f]] += np.log2(smallest)
    least = 0.0
    for c in range(n_cliques):
        least = min(least, minima[c])
    source, kind, step = where[:n_factors].copy(), sort[:n_factors].copy(), stride[:n_items].copy()
    # Of each clique: the number of entries of its table and of its message to the parent, the
    # position of this message (-1 if it is known to be ones, or there is no parent), and whether
    # its variables are maximised.
    entries = np.empty(n_cliques, np.int64)
    separator = filled(n_cliques, 1)
    up = filled(n_cliques, -1)
    maximal = filled(n_cliques, 0)
    largest = 1
    compressed = layout.shape[1] > 0
    most_rows = 0
    for c in range(n_cliques - 1, -1, -1):
        distance = 1
        for at in range(c_start[c + 1] - 1, c_start[c] - 1, -1):
            axis[n_items + at] = member[at]
            stride[n_items + at] = distance
            distance *= cards[member[at]]
            if at == c_start[c] + residual[c]:
                separator[c] = distance
        entries[c] = distance
        if compressed:  # shorter messages, and no table at all of the clique
            rows = layout[N_ROWS, n_factors + c]
            if layout[SEPARATOR, n_factors + c] >= 0:
                separator[c] = layout[SEPARATOR, n_factors + c]
            if rows >= 0:
                most_rows = max(most_rows, rows)
                distance = 1
        if residual[c]:
            largest = max(largest, distance)
        if len(maximized):
            maximal[c] = maximized[variables[member[c_start[c]]]]
        # The message has the axes that are not eliminated, which are the inner ones.
        o = n_factors + c
        begin[o] = n_items + c_start[c] + residual[c]
        end[o] = n_items + c_start[c + 1]
        if parent[c] >= 0 and not unit[c]:
            up[c] = where[o] = free
            free += separator[c]
            owner[o] = parent[c]
    first, following = linked(owner, n_cliques, False)
    first_child, next_child = linked(parent, n_cliques, False)
    # Where products are that are not kept: a part of a large table, or one of a compressed clique.
    tile = free
    free += max(min(TILE, largest), 0 if both else most_rows)
    # The result: marginals one after the other, or the joint table of the targets.
    number_of = filled(len(tables.cards), -1)
    result = filled(n + 1, 0)
    for v in range(n):
        number_of[variables[v]] = v
        result[v + 1] = result[v] + cards[v]
    n_result = result[n] if both else 1
    asked_steps = filled(n, 0)  # strides of the targets in the result
    for k in range(len(targets) - 1, -1, -1):
        if not both:
            asked_steps[number_of[targets[k]]] = n_result
            n_result *= cards[number_of[targets[k]]]
    # Of the second way below: sums by operand, two sources of a contraction, and `_room`'s records.
    table_of = filled(n_operands, -1)
    pair = np.empty(4, np.int64)
    space = filled(9, 0)  # for four uses
    # Of each clique: the positions of the message from its parent, and of its product if it is kept
    # for the second pass; -1 for none.
    down = filled(n_cliques, -1)
    table = filled(n_cliques, -1)
    n_kept = 0
    code = np.empty(4096, np.int64)
    size = np.int64(0)
    place = np.empty(n, np.int64)
    is_member = filled(n, -1)
    most_axes = 9  # `_loops` has nine ranks
    for c in range(n_cliques):
        most_axes = max(most_axes, c_start[c + 1] - c_start[c])
    # Integers along the axes of a clique, a row for each use: many small arrays would take as long
    # as the rest. The first five rows are of this function, the others of those that it calls.
    scratch = np.empty((22, most_axes), np.int64)
    some_sources = np.empty((4, 2), np.int64)
    some_steps = np.empty((4, most_axes), np.int64)
    near = np.empty(n_operands + n_cliques, np.int64)
    for turn in range(2 * n_cliques if both else n_cliques):
        collect = turn < n_cliques
        c = turn if collect else 2 * n_cliques - 1 - turn
        root = parent[c] < 0
        # A message of ones is not computed; with two passes, the second one does the roots.
        if collect and ((unit[c] and not root) or (root and both)):
            continue
        first_at, width = c_start[c], c_start[c + 1] - c_start[c]
        counts, whole, other = scratch[0][:width], scratch[1][:width], scratch[2][:width]
        ordered, lengths = scratch[3][:width], scratch[4][:width]
        for k in range(width):
            v = member[first_at + k]
            place[v] = k
            is_member[v] = c
            counts[k] = cards[v]
            # Strides of the clique's own table.
            whole[k] = stride[n_items + first_at + k]
        # Whether the joint table of the targets is that of this root.
        asked = root and not both and len(targets) > 0 and is_member[number_of[targets[0]]] == c
        to_result = zero if asked else np.int64(-1)  # -1: only the sum is needed
        # The messages of all children, which may be ones, and the operands that are multiplied.
        n_near = 0
        any_ones = False
        d = first_child[c]
        while d >= 0:
            near[n_near] = n_factors + d
            any_ones |= up[d] < 0
            n_near += 1
            d = next_child[d]
        children = near[:n_near]
        o = first[c]
        while o >= 0:
            near[n_near] = o
            n_near += 1
            o = following[o]
        operands = near[len(children) : n_near]
        # An upper bound of the length of all instructions of a clique.
        code = grown(code, size, 12 * (n_near + width + 2) * (HEAD + 5 * width + 12))
        # Each of the three ways below writes the product of the operands to position `prod` (unless
        # its terms are not stored), sums it to messages, marginals or the result, and scales these.
        # A sum reads its source as of the kind `how`: it adds the entries, or takes the maximum.
        # 1. Compressed cliques: one entry for each possible joint state.
        rows = layout[N_ROWS, n_factors + c] if compressed else -1
        if rows >= 0:
            prod = table[c] if both else tile
            how = MAXIMUM if maximal[c] else WORK
            own_at = layout[OWN, n_factors + c]
            # The product of a clique that sent a message is kept for the second pass; `fresh` tells
            # whether it is to be computed.
            if prod < 0:
                prod = table[c] = free
                free += rows
                fresh = True
            else:
                fresh = not both
            operation = COPY
            for o in operands[: len(operands) if fresh else 0]:
                size = _listed(
                    code, size, GATHER, prod, rows, where[o], sort[o], layout[OPERAND, o], operation
                )
                operation = MULTIPLY
            if fresh and operation == COPY:  # there are no operands
                size = _simple(code, size, FILL, prod, rows, one, zero)
            if collect and not root:
                size = _simple(code, size, FILL, up[c], separator[c], zero, zero)
                size = _listed(code, size, SCATTER, up[c], rows, prod, how, own_at, ADD)
                counted = _counted(parent, residual, unit, c)
                size = _simple(code, size, SCALE, up[c], separator[c], parent[c], counted)
            elif collect:
                n_sums = n_result if asked else 1
                sums = free
                free += n_sums
                size = _simple(code, size, FILL, sums, n_sums, zero, zero)
                if asked or rows == 0:  # loops of ADD run once at least
                    size = _listed(code, size, SCATTER, sums, rows, prod, how, own_at, ADD)
                else:
                    lengths[0], ordered[0], other[0] = rows, 0, 1
                    size = _emit(
                        code, size, ADD, sums, prod, how, zero, lengths[:1], ordered[:1], other[:1]
                    )
                size = _simple(code, size, RESULT, sums, n_sums, to_result, one)
            else:
                if not root:
                    size = _listed(code, size, GATHER, prod, rows, down[c], WORK, own_at, MULTIPLY)
                for o in children:
                    d = o - n_factors
                    down[d] = free
                    free += separator[d]
                    at = layout[OPERAND, o]
                    size = _simple(code, size, FILL, down[d], separator[d], zero, zero)
                    size = _listed(code, size, SCATTER, down[d], rows, prod, WORK, at, ADD)
                    size = _simple(code, size, DIVIDE, down[d], separator[d], up[d], d)
                # Marginals of the variables that leave: sums of the joint table of their group.
                at = layout[STATES, n_factors + c]
                stop = residual[c]
                while stop > 0:
                    begin_group = group_begin(counts, stop)
                    together = _packed(
                        counts[begin_group:stop],
                        counts[begin_group:stop],
                        np.arange(stop - begin_group),
                        ordered[begin_group:stop],
                    )
                    sums = free
                    free += together
                    size = _simple(code, size, FILL, sums, together, zero, zero)
                    size = _listed(code, size, SCATTER, sums, rows, prod, WORK, at, ADD)
                    at += rows + rows % 2  # in halves: lists begin at whole integers
                    for q in range(begin_group, stop):
                        other[:] = 0
                        other[q] = 1
                        size = _simple(code, size, FILL, free, counts[q], zero, zero)
                        size = _emit(
                            code,
                            size,
                            ADD,
                            free,
                            sums,
                            WORK,
                            zero,
                            counts[begin_group:stop],
                            other[begin_group:stop],
                            ordered[begin_group:stop],
                        )
                        # The mass of a tree is the sum of any marginal at its root: of the first.
                        counted = 1 if root and q == 0 else 0
                        at_result = result[member[first_at + q]]
                        size = _simple(code, size, RESULT, free, counts[q], at_result, counted)
                        free += counts[q]
                    stop = begin_group
            continue
        # 2. Large cliques with few operands: sums of products, whose terms are not stored.
        # In the second pass the message from the parent is one more, and each sum leaves one out.
        fold = entries[c] >= _SMALLEST_SUM and residual[c] > 0 and not maximal[c]
        fold &= both or not root
        n_sources = len(operands)
        extra = 1 if both and not root else 0
        most = 3 if entries[c] <= KEPT or (both and not any_ones) else 2  # of the sources of a sum
        fold &= n_sources > 0 and n_sources + extra <= most and (not both or n_sources + extra > 1)
        if fold:
            rows = n_sources + (0 if collect else extra)
            sources, steps = some_sources[:rows], some_steps[:rows]
            for row in range(n_sources):
                o = operands[row]
                sources[row, 0], sources[row, 1] = where[o], sort[o]
                _steps(axis, stride, begin[o], end[o], place, steps[row])
            o = n_factors + c
            _steps(axis, stride, begin[o], end[o], place, other)
            if rows > n_sources:
                sources[n_sources, 0], sources[n_sources, 1] = down[c], WORK
                steps[n_sources, :width] = other
            space[0] = free
            if collect:
                size = _sum_of_products(
                    code, size, space, counts, up[c], other, sources, steps, np.int64(-1), scratch
                )
                free = space[0]
                counted = _counted(parent, residual, unit, c)
                size = _simple(code, size, SCALE, up[c], separator[c], parent[c], counted)
                continue
            # `table_of[o]`: the sum of the product of all but operand o, over the axes of o.
            for o in children:
                d = o - n_factors
                down[d] = space[0]
                space[0] += separator[d]
                row = _row_of(operands, o)
                _steps(axis, stride, begin[o], end[o], place, other)
                size = _sum_of_products(
                    code, size, space, counts, down[d], other, sources, steps, row, scratch
                )
                # The message of an intermediate table is multiplied in again, not divided by: the
                # table passes on the product.
                if row >= 0 and residual[d] == 0:
                    lengths[0], ordered[0] = separator[d], 1
                    size = _emit(
                        code, size, MULTIPLY, down[d], up[d], WORK, zero, lengths[:1], ordered[:1],
                        ordered[:1],
                    )  # fmt: skip
                table_of[o] = down[d]
            for q in range(residual[c]):
                v = member[first_at + q]
                # The marginal is a sum of the smallest operand, or message, that has the variable.
                o, shortest = near[0], entries[c] + 1
                for candidate in near[:n_near]:
                    length = _entries_of(axis, begin[candidate], end[candidate], cards)
                    if length < shortest and v in axis[begin[candidate] : end[candidate]]:
                        o, shortest = candidate, length
                _steps(axis, stride, begin[o], end[o], place, other)
                row = _row_of(operands, o)
                # `ordered`: strides of the table, which of a factor has the order of the clique.
                if table_of[o] < 0:
                    order = np.arange(width)
                    length = _packed(counts, other, order, ordered)
                    table_of[o] = space[0]
                    space[0] += length
                    size = _sum_of_products(
                        code,
                        size,
                        space,
                        counts,
                        table_of[o],
                        ordered,
                        sources,
                        steps,
                        row,
                        scratch,
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
                # Of a message of ones, or of an intermediate table, the table has all operands;
                # any other lacks the operand, and is multiplied by it.
                if o >= n_factors and (row < 0 or residual[o - n_factors] == 0):
                    size = _simple(code, size, FILL, marginal, counts[q], zero, zero)
                    size = _emit(
                        code, size, ADD, marginal, table_of[o], WORK, zero, lengths, other, ordered
                    )
                else:
                    pair[0], pair[1] = table_of[o], WORK
                    pair[2:] = sources[row]
                    size = _contract(
                        code,
                        size,
                        space,
                        lengths,
                        marginal,
                        other,
                        pair,
                        ordered,
                        steps[row],
                        scratch,
                    )
                counted = 1 if root and q == 0 else 0
                size = _simple(code, size, RESULT, marginal, counts[q], result[v], counted)
            for o in children:
                d = o - n_factors
                if residual[d]:
                    size = _simple(code, size, DIVIDE, down[d], separator[d], np.int64(-1), d)
            free = space[0]
            continue
        # 3. All others. Position of the product: an intermediate table is itself the message, small
        # tables are kept for the second pass, where they are not `fresh`, and large tables are
        # computed tile by tile, in a loop over the `outer` axes, and not kept.
        outer = zero
        inner = entries[c]  # of the product; of a tile, the axes of which are the inner ones
        fresh = True
        if residual[c] == 0:
            fresh = collect
            prod = up[c] if collect else down[c]
        elif both and (table[c] >= 0 or (entries[c] <= KEPT and n_kept + entries[c] <= ALL_KEPT)):
            fresh = table[c] < 0
            if fresh:
                n_kept += entries[c]
                table[c] = free
                free += entries[c]
            prod = table[c]
        else:
            prod = tile
            while inner > TILE:
                inner //= counts[outer]
                whole[outer] = 0
                outer += 1
        used = operands[: len(operands) if fresh else 0]
        # A table whose axes are in another order than those of a much larger clique is copied into
        # the clique's order, because the clique reads it many times.
        for o in used:
            length = _entries_of(axis, begin[o], end[o], cards)
            is_small = o < n_factors and entries[c] >= 4 * length
            if is_small and _is_reordered(axis, stride, begin[o], end[o], place):
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
        # Clear the entries to which sums are added. The marginal of a variable is a sum of the
        # smallest message that has it, ``shown``, or else of the product.
        marginal = sums = free
        shown = filled(residual[c], -1)
        if not collect:
            for o in children:
                d = o - n_factors
                down[d] = free
                free += separator[d]
                for at in range(c_start[d] + residual[d], c_start[d + 1]):
                    q = place[member[at]]
                    if q < residual[c] and (shown[q] < 0 or separator[d] < separator[shown[q]]):
                        shown[q] = d
            marginal = free
            for q in range(residual[c]):
                free += counts[q]
        elif root:  # the result, or the sum of all entries
            free += n_result if asked else 1
        n_sums = free - marginal
        if not collect or root:
            size = _simple(code, size, FILL, sums, free - sums, zero, zero)
        elif residual[c]:
            size = _simple(code, size, FILL, up[c], separator[c], zero, zero)
        if outer:
            code[size], code[size + 1], code[size + 2] = LOOP, 3 + outer, outer
            for k in range(outer):
                code[size + 3 + k] = counts[k]
            size += 3 + outer
        body = size
        # The product: the widest operand is copied, the others are multiplied into it.
        widest = 0
        for k in range(1, len(used)):
            if end[used[k]] - begin[used[k]] > end[used[widest]] - begin[used[widest]]:
                widest = k
        if widest:
            o = used[widest]
            used[1 : widest + 1] = used[:widest].copy()
            used[0] = o
        operation = COPY if fresh else MULTIPLY
        for o in used:
            _steps(axis, stride, begin[o], end[o], place, other)
            size = _emit(
                code, size, operation, prod, where[o], sort[o], outer, counts, whole, other
            )
            operation = MULTIPLY
        if not collect and not root and residual[c]:
            _steps(axis, stride, begin[n_factors + c], end[n_factors + c], place, other)
            size = _emit(code, size, operation, prod, down[c], WORK, outer, counts, whole, other)
        elif operation == COPY:
            size = _simple(code, size, FILL, prod, inner, one, zero)
        # The sums: the source is the table of the clique.
        how = MAXIMUM if maximal[c] else WORK
        if not collect:
            for o in children:
                _steps(axis, stride, begin[o], end[o], place, other)
                to = down[o - n_factors]
                size = _emit(code, size, ADD, to, prod, how, outer, counts, other, whole)
            to = marginal
            for q in range(residual[c]):
                if shown[q] < 0:
                    other[:] = 0
                    other[q] = 1
                    size = _emit(code, size, ADD, to, prod, how, outer, counts, other, whole)
                to += counts[q]
        elif root:
            for k in range(width):
                other[k] = asked_steps[member[first_at + k]] if asked else 0
            size = _emit(code, size, ADD, marginal, prod, how, outer, counts, other, whole)
        elif residual[c]:
            _steps(axis, stride, begin[n_factors + c], end[n_factors + c], place, other)
            size = _emit(code, size, ADD, up[c], prod, how, outer, counts, other, whole)
        if outer:
            code[size], code[size + 1], code[size + 2] = AGAIN, 3, body
            size += 3
        # Rescaling of messages and results after the sums.
        if collect and not root:
            counted = _counted(parent, residual, unit, c)
            size = _simple(code, size, SCALE, up[c], separator[c], parent[c], counted)
        elif collect:
            size = _simple(code, size, RESULT, marginal, n_sums, to_result, one)
        else:
            to = marginal
            for q in range(residual[c]):
                v = member[first_at + q]
                d = shown[q]
                if d >= 0:  # the marginal is a sum of the message to child d, before it is divided
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
            for o in children:
                d = o - n_factors
                if residual[d]:
                    size = _simple(code, size, DIVIDE, down[d], separator[d], up[d], d)
    parts = (
        code[:size], up, minima.view(np.int64), source, kind, step, constant[:n_constant], soft_at,
        maximal,
    )  # fmt: skip
    return packed(parts), least, free, n_result
