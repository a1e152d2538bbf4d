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
    Restricted,
    TableArrays,
    Tree,
)
from bayesgraph.inference.planning_kernels import (
    filled,
    grown,
    junction_tree,
    linked,
    table_layout,
    with_intermediates,
)
from bayesgraph.parallel import by_rows

# Operations. An instruction consists of: operation, length, target, source, kind of source, number
# of dimensions, number of loop dimensions, then (count, target step, source step) for each
# dimension, outermost first, then (target step, source step) for each dimension of its loop.
# (Operations are NumPy integers: Numba would compile a function again for each literal argument.)
COPY, MULTIPLY, ADD, CLEAR, LOOP, AGAIN, SCALE, DIVIDE, RESULT, MASS, ONES = np.arange(1, 12)
# Length of an instruction up to its dimensions, and length of an instruction without dimensions.
HEAD, SHORT = 7, 6
# Kinds of source: the workspace, or the table of a factor, reduced to the observed states.
WORK, TABLE = np.arange(2)
# Kind of source that makes a sum a maximum; the source itself is the workspace.
MAXIMUM = np.int64(2)

# Maximum number of entries of a tile, the part of a large table that is computed at once: two tiles
# fit into the first-level cache.
TILE = 8192
# Maximum number of entries of a table that is kept between the two passes, and of all such tables
# together, which fit into the last-level cache: computing larger ones again is faster.
KEPT = 65536
ALL_KEPT = 2**20

# Minimum number of entries of a table that two threads share.
LARGE = 2**21

# Minimum binary logarithm of the product of the smallest entries; below it products may underflow
# (2**-1022 is the smallest normal number).
MINIMUM_LOG2 = -1000.0

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
        for k in range(width):
            v = member[first_at + k]
            place[v] = k
            is_member[v] = c
            counts[k] = cards[v]
            own[k] = stride[n_items + first_at + k]
        asked = root and not both and len(targets) > 0 and is_member[number_of[targets[0]]] == c
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
        code = grown(code, size, (2 * n_inputs + 2 * width + 12) * (HEAD + 5 * width + 12))
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
                ordered = filled(width, 0)
                lengths = filled(width, 1)
                distance = 1
                for k in range(width - 1, -1, -1):
                    if other[k]:
                        ordered[k], lengths[k] = distance, counts[k]
                        distance *= counts[k]
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
        marginal = free
        shown = filled(residual[c], -1)
        if not collect:
            d = first_child[c]
            while d >= 0:
                down[d] = free
                free += separator[d]
                size = _simple(code, size, CLEAR, down[d], separator[d], zero, zero)
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
        if not collect or root:
            size = _simple(code, size, CLEAR, marginal, free - marginal, zero, zero)
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
            # If the message of the parent clique is known to be ones, scales cancel.
            p = parent[c]
            while residual[p] == 0:
                p = parent[p]
            counted = 0 if unit[p] and parent[p] >= 0 else 1
            size = _simple(code, size, SCALE, up[c], separator[c], parent[c], counted)
        elif collect:
            operation = RESULT if asked else MASS
            size = _simple(code, size, operation, marginal, free - marginal, zero, one)
        else:
            to = marginal
            for q in range(residual[c]):
                v = member[first_at + q]
                d = shown[q]
                if d >= 0:
                    o = n_factors + d
                    length = end[o] - begin[o]
                    lengths = np.empty(length, np.int64)
                    only = filled(length, 0)
                    for k in range(length):
                        lengths[k] = cards[axis[begin[o] + k]]
                        only[k] = axis[begin[o] + k] == v
                    steps = stride[begin[o] : end[o]]
                    size = _emit(code, size, ADD, to, down[d], WORK, zero, lengths, only, steps)
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
        soft_at, maximal, loops[:n_loops].copy(), free, n_result,
    )  # fmt: skip


@kernel(work=lambda tables, question, *_: 10 * len(question.cards) ** 2, error_model="numpy")
def compile_query(
    tables: TableArrays,
    question: Restricted,
    soft_cards: Ints,
    maximized: Ints,
    targets: Ints,
    both: bool,
    maximum_largest: float,
    maximum_total: float,
) -> Program:
    """Return the elimination program of a query, from its relevant factors.

    Parameters
    ----------
    maximum_largest, maximum_total : float
        Maximum number of entries of the largest table, and of all tables together. If the junction
        tree exceeds one of them, the program has this tree and no code.

    See `compile_tree` for the other parameters.
    """
    tree = junction_tree(question, maximized)
    if tree.largest > maximum_largest or tree.total > maximum_total:
        none = np.empty(0, np.int64)
        return Program(
            tree, none, none, np.empty(0), none, none, none, none, none, none, none, 0, 0
        )
    tree = with_intermediates(tree, both)
    return compile_tree(tables, tree, soft_cards, maximized, targets, both)


# -------------------------------------------------------------------------------------- enumeration

# Maximum number of entries of a joint table that is enumerated.
FEW_ENTRIES = 512
TOO_MANY = 3
# Minimum of a sum whose relative error from underflow is negligible.
_SAFE_MASS = 1e-250


@kernel(error_model="numpy")
def enumerate_joint(
    cards: Ints,
    start: Ints,
    item: Ints,
    values: Floats,
    findings: Ints,
    targets: Ints,
    factors: Ints,
) -> tuple[int, float, Floats]:
    """Sum the product of tables over all joint states of few variables, without a program.

    The variables are assigned one after the other; a table is multiplied in once its last variable
    is assigned, and assignments that extend a product of zero are not visited.

    Parameters
    ----------
    cards, start, item, values
        See `TableArrays`. The strides are computed here: a separate call would take longer.
    findings : shape (2 k,)
        Indices of the observed variables, then their states.
    targets
        Variables whose joint table is the result; if empty, the result is the marginals of all free
        variables, one after the other.
    factors
        Indices of the relevant tables.

    Returns
    -------
    status : OK, TOO_SMALL (also for impossible evidence) or TOO_MANY
    log_mass : float
    result : ndarray
    """
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
                for k in range(t, t + n):
                    own[k] = 0.0 if logarithmic else 1.0
            elif logarithmic:
                maximum = kind == MAXIMUM
                _logarithmic(operation, own, t, data, s, code, at + HEAD, dims, index, maximum)
            else:
                _linear(operation, own, t, data, s, code, at + HEAD, dims, index)
            at += code[at + 1]
        elif operation == CLEAR:
            for k in range(code[at + 2], code[at + 2] + code[at + 3]):
                own[k] = zero
            at += SHORT
        elif operation == SCALE or operation == DIVIDE:
            t, n, s = code[at + 2], code[at + 3], code[at + 4]
            if operation == DIVIDE and s >= 0:
                for k in range(n):
                    if work[s + k] > zero:
                        if logarithmic:
                            work[t + k] -= work[s + k]
                        else:
                            work[t + k] /= work[s + k]
            peak = zero
            lowest = np.inf
            for k in range(t, t + n):
                x = work[k]
                peak = max(peak, x)
                lowest = min(lowest, x if x > zero else np.inf)
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
                for k in range(t, t + n):
                    work[k] *= factor
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
