"""Kernels: bounds and branch and bound of the search for the most probable assignment.

A problem is a sum of costs, to be minimised: a constant, a cost of each state of each variable, and
tables over several variables. Soft arc consistency moves costs between tables and states such that
each sum stays the same and none becomes negative; the constant is then a lower bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.compilation import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Costs(NamedTuple):
    """The tables of a problem as flat arrays.

    A place is one variable in the scope of one table; the places of table f are
    ``start[f]:start[f + 1]``. Entries are not negative; infinite ones are impossible.
    """

    begin: Ints  # of the states of each variable among all states; one more at the end
    start: Ints  # of the places of each table; one more at the end
    item: Ints  # variable of each place
    stride: Ints  # distance of entries of the table, of each place
    moved: Ints  # of the costs moved from the table to the variable's states, of each place
    offset: Ints  # of the entries of each table
    cost: Floats  # entries of all tables
    first: Ints  # of the places of each variable in `place`; one more at the end
    place: Ints  # places of each variable
    owner: Ints  # table of each place


@kernel(error_model="numpy")
def _collect(costs: Costs, number: Floats, alive: Ints, size: Ints, k: int, index: Ints) -> float:
    """Move as much cost as possible from a table to the states of the variable of place k.

    Returns the largest cost moved. `index` is work space.
    """
    f = costs.owner[k]
    s, e = costs.start[f], costs.start[f + 1]
    v = costs.item[k]
    bv, stride, mv = costs.begin[v], costs.stride[k], costs.moved[k]
    inner = e - 1 if k != e - 1 else e - 2
    w = costs.item[inner]
    bw, mw, sw, nw = costs.begin[w], costs.moved[inner], costs.stride[inner], size[w]
    largest = 0.0
    for a in range(size[v]):
        x = alive[bv + a]
        base = costs.offset[f] + x * stride
        best = np.inf
        spent = 0.0
        for j in range(s, e):
            index[j - s] = 0
            if j != k and j != inner:
                u = costs.item[j]
                y = alive[costs.begin[u]]
                base += y * costs.stride[j]
                spent += number[costs.moved[j] + y]
        while True:
            for b in range(nw):
                y = alive[bw + b]
                value = costs.cost[base + y * sw] - number[mw + y] - spent
                best = min(best, value)
            j = e - 1
            while j >= s:
                if j != k and j != inner:
                    u = costs.item[j]
                    bu = costs.begin[u]
                    y = alive[bu + index[j - s]]
                    base -= y * costs.stride[j]
                    spent -= number[costs.moved[j] + y]
                    index[j - s] += 1
                    if index[j - s] == size[u]:
                        index[j - s] = 0
                    y = alive[bu + index[j - s]]
                    base += y * costs.stride[j]
                    spent += number[costs.moved[j] + y]
                    if index[j - s] > 0:
                        break
                j -= 1
            if j < s:
                break
        if best == np.inf:
            number[bv + x] = np.inf
            largest = np.inf
        elif number[bv + x] < np.inf:
            best -= number[mv + x]
            number[mv + x] += best
            number[bv + x] += best
            largest = max(largest, abs(best))
    return largest


@kernel(error_model="numpy")
def propagate(
    costs: Costs,
    number: Floats,
    alive: Ints,
    size: Ints,
    dirty: Ints,
    gaps: Floats,
    weight: Floats,
    lower: float,
    upper: float,
    passes: int,
    tolerance: float,
) -> float:
    """Raise the lower bound by sweeps over the variables that are dirty; return it.

    The bound is infinite if no assignment has a cost below `upper`.
    """
    n = len(size)
    index = np.zeros(64, np.int64)
    for sweep in range(passes):
        before = lower
        forward = sweep % 2 == 0
        work = 0
        for at in range(n):
            v = at if forward else n - 1 - at
            if dirty[v] == 0:
                continue
            work += 1
            bv = costs.begin[v]
            ahead = behind = 0
            for p in range(costs.first[v], costs.first[v + 1]):
                k = costs.place[p]
                _collect(costs, number, alive, size, k, index)
                f = costs.owner[k]
                is_ahead = is_behind = False
                for j in range(costs.start[f], costs.start[f + 1]):
                    w = costs.item[j]
                    if w != v and size[w] > 1:
                        if (w > v) == forward:
                            is_ahead = True
                        else:
                            is_behind = True
                ahead += is_ahead
                behind += is_behind
            least = second = np.inf
            for a in range(size[v]):
                value = number[bv + alive[bv + a]]
                if value < least:
                    second = least
                    least = value
                elif value < second:
                    second = value
            lower += least
            if lower >= upper:
                weight[v] += 1.0
                for p in range(costs.first[v], costs.first[v + 1]):
                    f = costs.owner[costs.place[p]]
                    for j in range(costs.start[f], costs.start[f + 1]):
                        if size[costs.item[j]] > 1:
                            weight[costs.item[j]] += 0.1
                for w in range(n):
                    dirty[w] = 0
                return np.inf
            gaps[v] = min(second - least, upper - lower)
            left = 0
            removed = False
            for a in range(size[v]):
                x = alive[bv + a]
                number[bv + x] -= least
                if lower + number[bv + x] < upper:
                    alive[bv + a] = alive[bv + left]
                    alive[bv + left] = x
                    left += 1
                else:
                    removed = True
            size[v] = left
            share = 1.0 / max(ahead, behind, 1)
            dirty[v] = 1
            largest = 0.0
            for a in range(left):
                largest = max(largest, number[bv + alive[bv + a]] * share)
            gives = ahead > 0 and left > 1 and largest > tolerance
            for p in range(costs.first[v], costs.first[v + 1]):
                k = costs.place[p]
                f = costs.owner[k]
                is_ahead = False
                for j in range(costs.start[f], costs.start[f + 1]):
                    w = costs.item[j]
                    if w != v and size[w] > 1 and (w > v) == forward:
                        is_ahead = True
                        if gives:
                            dirty[w] = 1
                    if removed and w != v:
                        dirty[w] = 1
                if gives and is_ahead:
                    for a in range(left):
                        x = alive[bv + a]
                        number[costs.moved[k] + x] -= share * number[bv + x]
            if gives:
                for a in range(left):
                    x = alive[bv + a]
                    number[bv + x] *= 1.0 - share * ahead
        if work == 0:
            break
        if sweep > 1 and lower - before < 0.02 * (upper - lower):
            break
    for v in range(n):
        dirty[v] = 0
    return lower


@kernel(error_model="numpy")
def touch(costs: Costs, dirty: Ints, v: int) -> None:
    """Mark a variable and its neighbours as dirty."""
    dirty[v] = 1
    for p in range(costs.first[v], costs.first[v + 1]):
        f = costs.owner[costs.place[p]]
        for j in range(costs.start[f], costs.start[f + 1]):
            dirty[costs.item[j]] = 1


@kernel(error_model="numpy")
def decide(costs: Costs, alive: Ints, size: Ints, dirty: Ints, decision: int) -> None:
    """Give a variable a state, or take one from it.

    The decision is twice the number of the state among all states, and one more to take it.
    """
    state = decision >> 1
    v = np.searchsorted(costs.begin, state, side="right") - 1
    x = state - costs.begin[v]
    b = costs.begin[v]
    left = 0
    for a in range(size[v]):
        y = alive[b + a]
        if (y == x) != (decision & 1):
            alive[b + a] = alive[b + left]
            alive[b + left] = y
            left += 1
    size[v] = left
    touch(costs, dirty, v)


@kernel(error_model="numpy")
def value_of(costs: Costs, unary: Floats, states: Ints) -> float:
    """Return the cost of an assignment."""
    total = 0.0
    for v in range(len(states)):
        total += unary[costs.begin[v] + states[v]]
    for f in range(len(costs.offset)):
        at = costs.offset[f]
        for j in range(costs.start[f], costs.start[f + 1]):
            at += costs.stride[j] * states[costs.item[j]]
        total += costs.cost[at]
    return total


@kernel(error_model="numpy")
def _keep(best: Ints, values: Floats, states: Ints, cost: float) -> None:
    """Insert an assignment among the best ones, in ascending order of cost, if it is new."""
    k = len(values)
    if not cost < values[k - 1]:
        return
    for i in range(k):
        if values[i] < np.inf and abs(values[i] - cost) <= 1e-9 * (1.0 + abs(cost)):
            is_new = False
            for v in range(len(states)):
                if best[i, v] != states[v]:
                    is_new = True
            if not is_new:
                return
    i = k - 1
    while i > 0 and values[i - 1] > cost:
        values[i] = values[i - 1]
        best[i] = best[i - 1]
        i -= 1
    values[i] = cost
    best[i] = states


@kernel(error_model="numpy")
def dive(
    costs: Costs,
    unary: Floats,
    root: Floats,
    root_alive: Ints,
    root_size: Ints,
    lower: float,
    path: Ints,
    length: int,
    bounds: Floats,
    pending: Ints,
    best: Ints,
    values: Floats,
    slack: float,
    numbers: Floats,
    alives: Ints,
    sizes: Ints,
    weight: Floats,
    gaps: Floats,
    backtracks: int,
    steps: int,
    passes: int,
    tolerance: float,
) -> tuple[int, int]:
    """Search below the decisions ``path[:length]``, depth first.

    The best assignments, `best`, and their costs, `values`, are changed in place.

    Returns
    -------
    depth : int
        The number of decisions of the path on which the search stopped, -1 if nothing is left.
        Where `pending` is 1, the opposite decision was not tried; where it is 2, nothing was tried
        after the decisions before; the lower bound is in `bounds`.
    count : int
        The number of nodes, each of which raises a bound.
    """
    n = len(root_size)
    top = len(numbers) - 1
    number, alive, size = numbers[top], alives[top], sizes[top]
    number[:] = root
    alive[:] = root_alive
    size[:] = root_size
    dirty = np.zeros(n, np.int64)
    states = np.empty(n, np.int64)
    for d in range(length):
        pending[d] = 0
        decide(costs, alive, size, dirty, path[d])
    empty = False
    for v in range(n):
        empty = empty or size[v] == 0
    if empty:
        return -1, 0
    upper = values[-1]
    lower = propagate(
        costs, number, alive, size, dirty, gaps, weight, lower, upper - slack, passes, tolerance
    )
    count, failures, depth, stored = 1, 0, length, 0
    last = chosen = -1
    while True:
        if lower < np.inf:
            chosen, score = -1, -1.0
            for v in range(n):
                if size[v] > 1:
                    value = (
                        weight[v]
                        * (gaps[v] + 1e-3 * (upper - lower if upper < np.inf else 1.0))
                        / size[v]
                    )
                    if value > score:
                        chosen, score = v, value
            if last >= 0 and size[last] > 1:
                chosen = last
            if chosen < 0:
                for v in range(n):
                    states[v] = alive[costs.begin[v]]
                cost = value_of(costs, unary, states)
                _keep(best, values, states, cost)
                upper = values[-1]
                lower = np.inf
        if lower == np.inf:
            if depth > length and chosen >= 0:
                last = np.searchsorted(costs.begin, path[depth - 1] >> 1, side="right") - 1
            while depth > length and (
                pending[depth - 1] == 0 or bounds[depth - 1] >= upper - slack
            ):
                stored -= pending[depth - 1]
                pending[depth - 1] = 0
                depth -= 1
            if depth == length:
                return -1, count
            failures += 1
            if failures > backtracks or count >= steps:
                pending[depth] = 0
                return depth, count
            depth -= 1
            stored -= 1
            pending[depth] = 0
            number[:] = numbers[stored]
            alive[:] = alives[stored]
            size[:] = sizes[stored]
            lower = bounds[depth]
            path[depth] ^= 1
        else:
            if stored == top or count >= steps:
                bounds[depth] = lower
                pending[depth] = 2
                return depth, count
            b = costs.begin[chosen]
            least, x = np.inf, -1
            for a in range(size[chosen]):
                y = alive[b + a]
                if number[b + y] < least or (number[b + y] == least and y == best[0, chosen]):
                    least, x = number[b + y], y
            numbers[stored] = number
            alives[stored] = alive
            sizes[stored] = size
            stored += 1
            path[depth] = 2 * (b + x)
            pending[depth] = 1
            bounds[depth] = lower
        decide(costs, alive, size, dirty, path[depth])
        depth += 1
        lower = propagate(
            costs, number, alive, size, dirty, gaps, weight, lower, upper - slack, passes, tolerance
        )
        count += 1


@kernel(error_model="numpy")
def _next(seed: int) -> int:
    """Return the number after `seed` of a linear congruential generator, of 31 bits."""
    return (seed * 1103515245 + 12345) & 0x7FFFFFFF


@kernel(error_model="numpy")
def improve(
    costs: Costs,
    unary: Floats,
    finite: Floats,
    cost: Floats,
    states: Ints,
    best: Ints,
    values: Floats,
    seed: int,
    steps: int,
    patience: int,
) -> int:
    """Change one variable at a time, to its best state among those not left of late (tabu search).

    After `patience` steps without a better assignment, some variables get states at random.
    `finite` and `cost` have the costs of states, `unary`, and the entries of tables, with finite
    numbers for infinite ones. `states`, the assignment, and the best ones, `best` with costs
    `values`, are changed in place. Returns the next seed.
    """
    n = len(states)
    total = len(unary)
    local = np.empty(total)  # cost of each state, given those of the others
    banned = np.zeros(total, np.int64)
    owner = np.empty(total, np.int64)
    for v in range(n):
        for i in range(costs.begin[v], costs.begin[v + 1]):
            owner[i] = v
    fresh = True
    current = least = np.inf
    stale = 0
    for step in range(steps):
        if fresh:
            fresh = False
            local[:] = finite
            current = 0.0
            for v in range(n):
                current += finite[costs.begin[v] + states[v]]
            for f in range(len(costs.offset)):
                at = costs.offset[f]
                for j in range(costs.start[f], costs.start[f + 1]):
                    at += costs.stride[j] * states[costs.item[j]]
                current += cost[at]
                for j in range(costs.start[f], costs.start[f + 1]):
                    v = costs.item[j]
                    base = at - costs.stride[j] * states[v]
                    for x in range(costs.begin[v + 1] - costs.begin[v]):
                        local[costs.begin[v] + x] += cost[base + x * costs.stride[j]]
            least = current
        chosen, change = -1, np.inf
        ties = 1
        for i in range(total):
            v = owner[i]
            here = costs.begin[v] + states[v]
            value = local[i] - local[here]
            if (
                i != here
                and value <= change
                and (banned[i] <= step or current + value < least - 1e-9 * abs(least))
            ):
                if value < change:
                    ties = 1
                else:
                    ties += 1
                    seed = _next(seed)
                    if (seed >> 8) % ties != 0:
                        continue
                chosen, change = i, value
        if chosen < 0:
            continue
        v = owner[chosen]
        old, new = states[v], chosen - costs.begin[v]
        seed = _next(seed)
        banned[costs.begin[v] + old] = step + 2 + n // 6 + (seed >> 8) % 10
        current += change
        states[v] = new
        for p in range(costs.first[v], costs.first[v + 1]):
            k = costs.place[p]
            f = costs.owner[k]
            at = costs.offset[f]
            for j in range(costs.start[f], costs.start[f + 1]):
                at += costs.stride[j] * states[costs.item[j]]
            back = (old - new) * costs.stride[k]
            for j in range(costs.start[f], costs.start[f + 1]):
                w = costs.item[j]
                if w != v:
                    base = at - costs.stride[j] * states[w]
                    for x in range(costs.begin[w + 1] - costs.begin[w]):
                        entry = base + x * costs.stride[j]
                        local[costs.begin[w] + x] += cost[entry] - cost[entry + back]
        if current < values[-1]:
            _keep(best, values, states, value_of(costs, unary, states))
        if current < least - 1e-9 * abs(least):
            least = current
            stale = 0
        else:
            stale += 1
            if stale > patience:
                stale = 0
                fresh = True
                if values[0] < np.inf:
                    states[:] = best[0]
                for _ in range(2 + n // 8):
                    seed = _next(seed)
                    v = (seed >> 8) % n
                    seed = _next(seed)
                    states[v] = (seed >> 8) % (costs.begin[v + 1] - costs.begin[v])
    return seed
