"""The executor of elimination programs, and what needs no program.

`run` executes a program (see `program_kernels`) in one of two ways: on probabilities, with products
and sums, rescaling each message; or on logarithms, with sums and log-sum-exp or maxima, where
nothing can underflow.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.compilation import kernel
from bayesgraph.core.parallel import by_rows
from bayesgraph.inference.junction import Floats, Ints, Program
from bayesgraph.inference.order_kernels import filled, lower_bound
from bayesgraph.inference.planning_kernels import linked
from bayesgraph.inference.program_kernels import (
    ADD,
    CONTRACT,
    COPY,
    DATA,
    DIVIDE,
    FILL,
    GATHER,
    HEAD,
    LISTED,
    LOOP,
    MAXIMUM,
    MULTIPLY,
    N_ROWS,
    OPERAND,
    RESULT,
    SCALE,
    SCATTER,
    SHORT,
    STATES,
    TABLE,
)

# Minimum binary logarithm of the product of the smallest entries; below it products may underflow
# (2**-1022 is the smallest normal number).
MINIMUM_LOG2 = -1000.0
# The bits of infinity as an integer.
_INFINITY = int(np.float64(np.inf).view(np.int64))

# How a run ended: with a result, without any (the evidence has probability zero), or with one that
# underflow may have made inaccurate.
OK, IMPOSSIBLE, TOO_SMALL = 0, 1, 2


# -------------------------------------------------------------------------------------- enumeration

# Maximum number of entries of a joint table that is enumerated.
FEW_ENTRIES = 512
TOO_MANY = 3  # the status if there are more
# Minimum of a sum whose relative error from underflow is negligible.
_SAFE_MASS = 1e-250


# Where nothing is compiled, operations on whole arrays take the place of loops.


def _view(array: Floats, offset: int, shape: list[int], steps: list[int]) -> Any:
    """Return an array as nested loops see it: an axis for a loop, repeated where its step is 0.

    `offset` and `steps` count entries, of which each has 8 bytes.
    """
    return np.ndarray(shape, np.float64, array, 8 * offset, [8 * step for step in steps])


def _enumerate_on_arrays(layout: Ints, values: Floats, findings: Ints) -> tuple[int, float, Floats]:
    """Do what `enumerate_joint` does, by a joint table with an axis for each free variable."""
    n_all, n_start, n_item, n_targets = layout[:4].tolist()
    # The layout has four lengths and eight arrays; the last array is what is left.
    lengths = [4, n_all, n_start, n_item, n_item, n_start - 1, n_start - 1, n_targets, 0]
    ends = np.cumsum(lengths).tolist()
    ends[-1] = len(layout)
    cards, start, item, step, base, _, targets, factors = (
        layout[begin:end].tolist() for begin, end in pairwise(ends)
    )
    observed = dict(zip(*findings.reshape(2, -1).tolist(), strict=True))
    # For each relevant table: the stride of each variable's axis.
    steps_of = [
        dict(zip(item[start[f] : start[f + 1]], step[start[f] : start[f + 1]], strict=True))
        for f in factors
    ]
    free = sorted({v for steps in steps_of for v in steps} - observed.keys())
    shape = [cards[v] for v in free]
    if math.prod(shape) > FEW_ENTRIES:
        return TOO_MANY, 0.0, np.empty(0)
    joint = np.ones(shape)
    # Each table at the observed states, repeated along the axes that it lacks.
    for f, steps in zip(factors, steps_of, strict=True):
        offset = base[f] + sum([steps[v] * observed[v] for v in steps.keys() & observed.keys()])
        sizes = [cards[v] if v in steps else 1 for v in free]
        joint *= _view(values, offset, sizes, [steps.get(v, 0) for v in free])
    total = float(joint.sum())
    if n_targets:
        result = np.zeros([cards[v] for v in targets])
        # Axes of the joint table in the order of the targets; an observed target has none, and its
        # other states keep the probability zero.
        places: Any = [free.index(v) for v in targets if v not in observed]
        summed = tuple([axis for axis in range(len(free)) if axis not in places])
        # The axes that are left are ascending: that of a target is the rank of its place.
        kept = joint.sum(axis=summed).transpose(np.argsort(np.argsort(places)))
        result[tuple([observed.get(v, slice(None)) for v in targets])] = kept
    else:
        axes = range(len(free))
        sums = [joint.sum(axis=tuple([k for k in axes if k != axis])) for axis in axes]
        result = np.concatenate([np.empty(0), *sums])
    if total < _SAFE_MASS:
        return TOO_SMALL, -np.inf, result.reshape(-1)
    return OK, math.log(total), result.reshape(-1) / total


@kernel(interpreted=_enumerate_on_arrays, error_model="numpy")
def enumerate_joint(layout: Ints, values: Floats, findings: Ints) -> tuple[int, float, Floats]:
    """Sum the product of tables over all joint states of few variables, without a program.

    The variables are assigned one after the other; a table is multiplied in once its last variable
    is assigned, and assignments that extend a product of zero are not visited.

    Parameters
    ----------
    layout
        Lengths of `cards`, `start`, `item` and the targets; then the arrays of integers of
        `TableArrays`, the targets, and the indices of the relevant tables. (Each array of a call
        costs a fraction of a microsecond.) The targets are the variables whose joint table is the
        result; without any, the result is the marginals of all free variables, one after the other.
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
    start_at = 4 + layout[0]
    item_at = start_at + layout[1]
    step_at = item_at + layout[2]
    base_at = step_at + layout[2]
    targets_at = base_at + 2 * (layout[1] - 1)  # `child` is not needed
    factors_at = targets_at + layout[3]
    cards, start, item = layout[4:start_at], layout[start_at:item_at], layout[item_at:step_at]
    step, base = layout[step_at:base_at], layout[base_at : base_at + layout[1] - 1]
    targets, factors = layout[targets_at:factors_at], layout[factors_at:]
    n_all, n_observed, n_targets = len(cards), len(findings) // 2, len(targets)
    # Depth d of the search assigns `free[d - 1]`, whose marginal begins at `at_result[d - 1]`.
    state = np.zeros(n_all, np.int64)
    # The place of each variable in `free`; -1 for those that are observed or in no factor. Until
    # the places are known, 0 marks the variables that have one.
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
    # Factors by the depth at which their last variable is assigned; fully observed factors have
    # depth 0.
    owner = filled(len(base), -1)
    for f in factors:
        owner[f] = 0
        for at in range(start[f], start[f + 1]):
            owner[f] = max(owner[f], depth_of[item[at]] + 1)
    first, following = linked(owner, n + 1, True)  # lists: the factors of each depth
    # At each depth: the state that is visited, the product of the factors of lower depths, and the
    # sum of the products of the states visited so far.
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
        # Add the sum over the deeper variables to this state, and go back to the last depth that
        # has another state.
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
    result *= 1.0 / total
    return OK, np.log(total), result


# ---------------------------------------------------------------------------------------- executor


def _part(target: Floats, t: int, shape: list[int], steps: list[int]) -> tuple[Any, list[int]]:
    """Return the entries of the target of a sum as an array, and the axes not summed out.

    These are the axes on which the target moves; on the others its step is 0.
    """
    kept = [k for k, step in enumerate(steps) if step]
    return _view(target, t, [shape[k] for k in kept], [steps[k] for k in kept]), kept


def _linear_on_arrays(operation: int, target: Floats, t: int, *others: Any) -> None:
    """Do what `_linear` does, by operations on whole arrays."""
    source, s, code, at, dims, _ = others
    # For each dimension: length, step in the target, step in the source.
    words = code[at : at + 3 * dims].tolist()
    shape, steps = words[::3], words[1::3]
    values = _view(source, s, shape, words[2::3])
    if operation == COPY:
        _view(target, t, shape, steps)[...] = values
    elif operation == MULTIPLY:
        _view(target, t, shape, steps)[...] *= values
    else:
        to, kept = _part(target, t, shape, steps)
        to += np.add.reduce(values, axis=tuple([k for k in range(dims) if k not in kept]))


def _add_products_on_arrays(target: Floats, t: int, *others: Any) -> None:
    """Do what `_add_products` does, by operations on whole arrays."""
    left, x, right, y, code, at, dims, _ = others
    # For each dimension: length, then the steps in the target and in both sources.
    words = code[at : at + 4 * dims].tolist()
    to, kept = _part(target, t, words[::4], words[1::4])
    axes = list(range(dims))
    factors = _view(left, x, words[::4], words[2::4]), _view(right, y, words[::4], words[3::4])
    to += np.einsum(factors[0], axes, factors[1], axes, kept)


def _extremes_of_array(bits: Ints, t: int, n: int) -> tuple[int, int]:
    """Do what `_extremes` does, by operations on whole arrays."""
    numbers = bits[t : t + n]
    positive = numbers[numbers > 0]
    return int(numbers.max()), int(np.minimum.reduce(positive, initial=_INFINITY))


def _divide_arrays(work: Floats, t: int, s: int, n: int, logarithmic: bool) -> None:
    """Do what `_divide` does, by operations on whole arrays."""
    entries, divisor = work[t : t + n], work[s : s + n]
    if logarithmic:
        entries -= np.where(divisor > -np.inf, divisor, 0.0)
    else:
        entries /= np.where(divisor > 0.0, divisor, 1.0)


# Sums may be reordered, so that a sum along a row uses vector instructions.
@kernel(interpreted=_linear_on_arrays, error_model="numpy", fastmath={"reassoc", "nsz"})
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
    # The last dimension has n entries, with steps dt in the target and ds in the source; the last
    # but one m rounds, with steps et and es. Steps of 1 and 0 have loops of their own, which the
    # compiler turns into vector instructions.
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
        # The outer dimensions count like the digits of a number, the last one fastest.
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
def _log_sum(x: float, y: float, maximum: bool) -> float:
    """Return the log of the sum of two exponentials; the larger of their logs if `maximum`."""
    high = max(x, y)
    if maximum or min(x, y) == -np.inf:  # the difference of two infinities would be NaN
        return high
    # Shifted by the larger log, which cannot overflow; log1p keeps the digits of a small summand.
    return high + np.log1p(np.exp(min(x, y) - high))


@kernel(error_model="numpy")
def _logarithmic(
    operation: int,
    target: Floats,
    t: int,
    source: Floats,
    s: int,
    other: Floats,
    u: int,
    code: Ints,
    at: int,
    dims: int,
    index: Ints,
    maximum: bool,
) -> None:
    """Execute a COPY, MULTIPLY, ADD or CONTRACT instruction on logarithms; see `_linear`.

    MULTIPLY adds logarithms. ADD takes their maximum if `maximum` is set, else log-sum-exp. Only
    CONTRACT reads `other`, from offset `u` on.
    """
    # Only CONTRACT has steps of `other`, as a fourth word of each dimension; otherwise `u` moves,
    # but is not read. The last dimension is a loop over n entries, with steps dt in the target and
    # ds in the source; those before it count like the digits of a number.
    paired = operation == CONTRACT
    words = 4 if paired else 3
    inner = at + words * (dims - 1)
    n, dt, ds = code[inner], code[inner + 1], code[inner + 2]
    for k in range(dims - 1):
        index[k] = 0
    while True:
        for i in range(n):
            to, x = t + i * dt, source[s + i * ds]
            if operation == COPY:
                target[to] = x
            elif operation == MULTIPLY:
                target[to] += x
            else:
                if paired:
                    x += other[u + i * code[inner + 3]]
                target[to] = _log_sum(target[to], x, maximum)
        k = dims - 2
        while k >= 0:
            d = at + words * k
            index[k] += 1
            t += code[d + 1]
            s += code[d + 2]
            u += code[d + words - 1]
            if index[k] < code[d]:
                break
            t -= code[d] * code[d + 1]
            s -= code[d] * code[d + 2]
            u -= code[d] * code[d + words - 1]
            index[k] = 0
            k -= 1
        if k < 0:
            return


@kernel(interpreted=_extremes_of_array, error_model="numpy")
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


@kernel(interpreted=_divide_arrays, error_model="numpy")
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
@kernel(
    interpreted=_add_products_on_arrays,
    error_model="numpy",
    fastmath={"reassoc", "nsz", "contract"},
)
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
    # The last dimension has n entries, with steps dt, dx and dy of target, left and right; the last
    # but one m rounds, with steps et, ex and ey. Steps of 1 and 0 have loops of their own, which
    # the compiler turns into vector instructions.
    inner = at + 4 * (dims - 1)
    n, m = np.uint64(code[inner]), np.uint64(code[inner - 4])
    dt, dx, dy = np.uint64(code[inner + 1]), np.uint64(code[inner + 2]), np.uint64(code[inner + 3])
    et, ex, ey = np.uint64(code[inner - 3]), np.uint64(code[inner - 2]), np.uint64(code[inner - 1])
    zero, one, two, four = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(4)
    if dy == one and dx == zero:  # the first source is to be the one with the innermost axis
        left, right, x, y, dx, dy, ex, ey = right, left, y, x, dy, dx, ey, ex
        swap = 1
    else:
        swap = 0
    for k in range(dims - 2):
        index[k] = 0
    t0, x0, y0 = np.uint64(t), np.uint64(x), np.uint64(y)
    while True:
        a, b, c = t0, x0, y0  # offsets of a round in target, left and right
        rounds = m
        if dt == one and dx == one and dy == zero:
            # Four rounds at once read and write the entries of the target only once. The offsets of
            # their rows of `left` are b, q, r and s, their entries of `right` f, g, h and e.
            while et == zero and rounds >= four:
                f, g, h, e = right[c], right[c + ey], right[c + ey + ey], right[c + ey + ey + ey]
                q, r, s = b + ex, b + ex + ex, b + ex + ex + ex
                for i in range(n):
                    target[a + i] += (
                        left[b + i] * f + left[q + i] * g + left[r + i] * h + left[s + i] * e
                    )
                b += four * ex
                c += four * ey
                rounds -= four
            for _ in range(rounds):
                f = right[c]
                for i in range(n):
                    target[a + i] += left[b + i] * f
                a += et
                b += ex
                c += ey
        elif dt == one and dx == one and dy == one:
            # Two rounds at once, the second one at q and v.
            while et == zero and rounds >= two:
                q, v = b + ex, c + ey
                for i in range(n):
                    target[a + i] += left[b + i] * right[c + i] + left[q + i] * right[v + i]
                b += ex + ex
                c += ey + ey
                rounds -= two
            for _ in range(rounds):
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
        # The outer dimensions count like the digits of a number, the last one fastest.
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
def _gather(
    operation: int,
    target: Floats,
    t: int,
    n: int,
    source: Floats,
    s: int,
    listed: NDArray[np.int32],
    at: int,
    logarithmic: bool,
) -> None:
    """Copy or multiply in the entry of `source` that is listed for each of n rows from `at` on.

    Row i is entry ``t + i`` of `target`, and reads entry ``s + listed[at + i]`` of `source`.
    """
    to, begin, base = np.uint64(t), np.uint64(at), np.uint64(s)
    if operation == COPY:
        for i in range(np.uint64(n)):
            target[to + i] = source[base + np.uint64(listed[begin + i])]
    elif logarithmic:
        for i in range(np.uint64(n)):
            target[to + i] += source[base + np.uint64(listed[begin + i])]
    else:
        for i in range(np.uint64(n)):
            target[to + i] *= source[base + np.uint64(listed[begin + i])]


@kernel(error_model="numpy")
def _scatter(
    target: Floats,
    t: int,
    n: int,
    source: Floats,
    s: int,
    listed: NDArray[np.int32],
    at: int,
    logarithmic: bool,
    maximum: bool,
) -> None:
    """Add each of n rows to the entry of `target` that is listed from `at` on.

    Row i is entry ``s + i`` of `source`, and goes to entry ``t + listed[at + i]`` of `target`. Of
    logarithms the maximum is taken if `maximum` is set, else log-sum-exp.
    """
    to, begin, base = np.uint64(t), np.uint64(at), np.uint64(s)
    for i in range(np.uint64(n)):
        k = to + np.uint64(listed[begin + i])
        x = source[base + i]
        target[k] = _log_sum(target[k], x, maximum) if logarithmic else target[k] + x


def _instructions(code: Ints, *others: Any) -> int:
    """Return the work of `run`: an instruction takes some words, and reads some entries at once."""
    return len(code) + len(others[3]) // 64  # the fourth of them is the workspace


@kernel(work=_instructions, error_model="numpy")
def run(
    code: Ints,
    tables: Floats,
    offsets: Ints,
    minima: Floats,
    work: Floats,
    out: Floats,
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
    zero, one = (-np.inf, 0.0) if logarithmic else (0.0, 1.0)
    bits = work.view(np.int64)
    listed = code.view(np.int32)
    # Two numbers: they are written as bits, and read as numbers.
    pair = np.zeros(2, np.int64)
    numbers = pair.view(np.float64)
    index = np.zeros(64, np.int64)  # scratch: the counters of an instruction's dimensions
    # Of the instructions between LOOP and AGAIN: the index of each loop, the number of loops, where
    # their counts are in the code, and the rounds that are left.
    loop = np.zeros(64, np.int64)
    n_loop = 0
    loop_at = 0
    turns = 0
    at = 0
    # The words of the instructions are described in `program_kernels`. `t` is the offset of the
    # target, `s` that of the source.
    while at < len(code):
        operation = code[at]
        if operation <= ADD:  # COPY, MULTIPLY or ADD
            t, s, kind = code[at + 2], code[at + 3], code[at + 4]
            dims, outer = code[at + 5], code[at + 6]
            # Within LOOP and AGAIN, the offsets move with the loops that surround the instruction.
            d = at + HEAD + 3 * dims
            for k in range(outer):
                t += loop[k] * code[d]
                s += loop[k] * code[d + 1]
                d += 2
            data = work
            if kind == TABLE:
                # `s` is the index of the factor plus, in a loop, the steps within its table.
                s += offsets[code[at + 3]] - code[at + 3]
                data = tables
            if logarithmic:
                maximum = kind == MAXIMUM
                # There is no second source: the second pair (work, t) is not read.
                _logarithmic(
                    operation, work, t, data, s, work, t, code, at + HEAD, dims, index, maximum
                )
            else:
                _linear(operation, work, t, data, s, code, at + HEAD, dims, index)
            at += code[at + 1]
        elif operation == CONTRACT:
            # Two sources, each with its kind; `u` is the offset of the second one.
            s, u = code[at + 3], code[at + 5]
            data, other = work, work
            if code[at + 4] == TABLE:
                s, data = offsets[s], tables
            if code[at + 6] == TABLE:
                u, other = offsets[u], tables
            dims = code[at + HEAD]
            d = at + HEAD + 1
            if logarithmic:
                t = code[at + 2]
                _logarithmic(operation, work, t, data, s, other, u, code, d, dims, index, False)
            else:
                _add_products(work, code[at + 2], data, s, other, u, code, d, dims, index)
            at += code[at + 1]
        elif operation == FILL:  # with zeros or ones
            work[code[at + 2] : code[at + 2] + code[at + 3]] = one if code[at + 4] else zero
            at += SHORT
        elif operation == SCALE or operation == DIVIDE:
            # SCALE: message, entries, parent clique, whether its scale counts for the log mass.
            # DIVIDE: message, entries, message by which it is divided or -1, child clique.
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
                message = work[t : t + n]
                message *= factor
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
        elif operation == RESULT:
            # Table, entries, offset in the result (-1: only the sum is needed), whether its sum
            # counts for the log mass.
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
            if to >= 0:
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
                loop[k] = 0
            at += code[at + 1]
        elif operation == GATHER:
            s, data = code[at + 4], work
            if code[at + 5] == TABLE:
                s, data = offsets[s], tables
            # Positions of lists are negative: they are counted back from the end of the program.
            place = len(listed) + code[at + 6]
            _gather(
                code[at + 7], work, code[at + 2], code[at + 3], data, s, listed, place, logarithmic
            )
            at += LISTED
        elif operation == SCATTER:
            place, maximum = len(listed) + code[at + 6], code[at + 5] == MAXIMUM
            _scatter(
                work, code[at + 2], code[at + 3], work, code[at + 4], listed, place, logarithmic,
                maximum,
            )  # fmt: skip
            at += LISTED
        elif operation == DATA:
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


def _blocks_of_rows(*arguments: Any) -> int:
    """Return the work of `run_rows`: that of `run` for each block."""
    code, tables, _, _, work, *_, n_together, logs = arguments
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
        bounds[:] = minima
        # The likelihood of a row's observed state is one, of the others zero; all are one where the
        # value is missing, and in rows beyond the last one of a block that is not full.
        for v in range(len(cards)):
            to = likelihood_at[v]
            for state in range(cards[v]):
                for row in range(begin, end):
                    observed = codes[v, row]
                    tables[to + row - begin] = 1.0 if observed < 0 or observed == state else 0.0
                for row in range(end - begin, n_together):
                    tables[to + row] = 1.0
                to += n_together
        status, log_mass = run(code, tables, offsets, bounds, work, result, False)
        for row in range(begin, end):
            # The total stays zero if the run has failed: the logs are then NaN.
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
) -> tuple[int, int]:
    """Write the value of each joint state of the variables that clique c eliminates to `values`.

    The value is the product of the clique's factors and incoming messages, with the clique's other
    variables at the states in `assigned`, shape (n_rows, n). `operands` is the result of
    `operand_lists`; `linear` tells whether tables, workspace and `values` hold probabilities, not
    logarithms. `values` has shape (n_rows, number of joint states) at least.

    Of a compressed clique, for which `assigned` is a single row, the joint states are the rows of
    the clique that agree with it.

    Returns
    -------
    n : int
        The number of joint states.
    keys_at : int
        Where the keys of the clique's rows begin in the program, which has one pass; -1 if the
        clique is not compressed.
    """
    tree, up, source, kind, step = (
        program.tree, program.up, program.source, program.kind, program.step,
    )  # fmt: skip
    code, layout = program.code, program.layout
    cards, start, item = tree.cards, tree.start, tree.item
    c_start, member, residual = tree.c_start, tree.member, tree.residual
    base, width, n_factors = c_start[c], residual[c], len(start) - 1
    first, following = operands
    listed = code.view(np.int32)
    n = 1
    for k in range(width):
        n *= cards[member[base + k]]
    # The rows of a compressed clique that agree with `assigned` are successive, since the variables
    # that are eliminated later come first in its keys.
    keys_at, skipped = -1, 0
    if layout.shape[1] > 0 and layout[N_ROWS, n_factors + c] >= 0:
        key = np.int64(0)
        for at in range(base + width, c_start[c + 1]):
            key = key * cards[member[at]] + assigned[0, member[at]]
        all_keys = len(code) + layout[STATES, n_factors + c]
        end = all_keys + layout[N_ROWS, n_factors + c]
        keys_at = lower_bound(code, all_keys, end, key * n)
        n = lower_bound(code, keys_at, end, (key + 1) * n) - keys_at
        skipped = keys_at - all_keys
    values[: len(assigned), :n] = 1.0 if linear else 0.0
    steps = np.empty(width, np.int64)
    index = filled(width, 0)
    # The variables of an operand that are eliminated later, and their strides.
    later = np.empty(len(cards), np.int64)
    later_steps = np.empty(len(cards), np.int64)
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
        if keys_at >= 0:
            at = len(listed) + layout[OPERAND, o] + skipped
            _gather(MULTIPLY, values[0], np.int64(0), n, data, origin, listed, at, not linear)
            o = following[o]
            continue
        steps[:] = 0
        n_later = 0
        distance = 1  # the stride of an axis of a message, which is contiguous
        for a in range(end - 1, begin - 1, -1):
            v = item[a] if is_factor else member[a]
            stride = step[a] if is_factor else distance
            distance *= cards[v]
            later[n_later], later_steps[n_later] = v, stride
            n_later += 1
            for k in range(width):
                if member[base + k] == v:  # eliminated here, not later
                    n_later -= 1
                    steps[k] = stride
        for row in range(len(assigned)):
            at = origin
            for k in range(n_later):
                at += assigned[row, later[k]] * later_steps[k]
            # The states of the eliminated variables count like the digits of a number.
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
    return n, keys_at


@kernel(error_model="numpy")
def _drawn(values: Floats, n: int, point: float, linear: bool) -> int:
    """Return one of n joint states, drawn in proportion to their values by a number in [0, 1).

    Unless they are `linear`, values are logarithms, which are overwritten.
    """
    if not linear:
        peak = -np.inf
        for i in range(n):
            peak = max(peak, values[i])
        for i in range(n):
            values[i] = np.exp(values[i] - peak)
    total = 0.0
    for i in range(n):
        total += values[i]
    remaining = point * total
    state = 0
    for i in range(n):
        if values[i] > 0.0:  # rounding of the total must not lead to an impossible state
            state = i
            remaining -= values[i]
            if remaining < 0.0:
                break
    return state


# Number of rows of draws for which the values at a clique are computed together.
_ROWS_TOGETHER = 64


@kernel(work=lambda assigned, *_: 20 * assigned.size, error_model="numpy")
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
    n_cliques, n_factors = len(residual), len(tree.start) - 1
    layout, compressed = program.layout, program.layout.shape[1] > 0
    # Room for the values at any clique: one for each joint state of the variables that it
    # eliminates, of a compressed clique one for each of its rows.
    most_states = most_rows = 1
    for c in range(n_cliques):
        if compressed and layout[N_ROWS, n_factors + c] >= 0:
            most_rows = max(most_rows, layout[N_ROWS, n_factors + c])
            continue
        n = 1
        for k in range(residual[c]):
            n *= cards[member[c_start[c] + k]]
        most_states = max(most_states, n)
    rows_together = min(len(assigned), _ROWS_TOGETHER)
    block, single = np.empty((rows_together, most_states)), np.empty((1, most_rows))
    operands = operand_lists(tree.home, tree.parent, program.up)
    for c in range(n_cliques - 1, -1, -1):
        if residual[c] == 0 or not chosen[c]:
            continue
        n = keys_at = 0
        is_compressed = compressed and layout[N_ROWS, n_factors + c] >= 0
        together = 1 if is_compressed else _ROWS_TOGETHER
        values = single if is_compressed else block
        for row in range(len(assigned)):
            if row % together == 0:  # the first of those whose values are computed together
                rows = assigned[row : row + together]
                n, keys_at = local_values(
                    c, rows, program, operands, tables, offsets, work, linear, values
                )
            if uniform.shape[1]:
                state = _drawn(values[row % together], n, uniform[row, c], linear)
            else:
                state = np.argmax(values[row % together, :n])  # ties to the first
            if is_compressed:  # the variables that are eliminated are the last of a key
                state = program.code[keys_at + state]
            # The joint state is a number with a digit for each variable, of which the last varies
            # fastest.
            for k in range(residual[c] - 1, -1, -1):
                v = member[c_start[c] + k]
                assigned[row, v] = state % cards[v]
                state //= cards[v]


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
    """Write the class with the largest score of each row from `begin` to `end` to `best`."""
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
