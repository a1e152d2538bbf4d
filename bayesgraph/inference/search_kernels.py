"""Kernels: bounds and branch and bound of the search for the most probable assignments.

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
    single: Floats  # costs of all states
    cost: Floats  # entries of all tables
    first: Ints  # of the places of each variable in `place`; one more at the end
    place: Ints  # places of each variable
    owner: Ints  # table of each place
    variable: Ints  # variable of each state


class Node(NamedTuple):
    """A node of the search, or the nodes that it goes back to, as rows."""

    number: Floats  # cost of each state, then costs moved from tables
    alive: Ints  # the states of each variable, those that are left first, from `Costs.begin` on
    size: Ints  # number of states that are left of each variable


class Guide(NamedTuple):
    """What tells where to look next."""

    dirty: Floats  # not 0 for variables to look at
    weight: Floats  # of each variable, for the dead ends that it had a part in
    least: Floats  # work space, of as many entries as states of a variable


class Path(NamedTuple):
    """Decisions on the way to a node.

    A decision is twice the number of a state among all states, if its variable gets it, and one
    more if the state is taken from it.
    """

    decision: Ints
    pending: Ints  # 1 where the opposite was not tried, 2 where nothing was tried
    bound: Floats  # lower bound of what was not tried


class Pool(NamedTuple):
    """The best assignments, and their costs, ascending."""

    states: Ints
    value: Floats


class Effort(NamedTuple):
    """When a dive ends, and how far it goes at each node."""

    backtracks: int  # maximum number of dead ends
    steps: int  # maximum number of nodes
    sweeps: int  # maximum number of sweeps of `propagate` at a node
    slack: float  # what an assignment must cost less than the worst of the pool
    tolerance: float  # costs that are not worth while to pass on to other tables


@kernel(error_model="numpy")
def _copy(target: Floats, source: Floats) -> None:
    """Copy numbers; slices take much longer to compile."""
    for i in range(len(source)):
        target[i] = source[i]


@kernel(error_model="numpy")
def _enter(target: Node, source: Node) -> None:
    """Copy a node."""
    _copy(target.number, source.number)
    for i in range(len(source.alive)):
        target.alive[i] = source.alive[i]
    for v in range(len(source.size)):
        target.size[v] = source.size[v]


@kernel(error_model="numpy", inline="always")
def _row(stack: Node, row: int) -> Node:
    """Return a node of the stack, whose arrays are views."""
    return Node(stack.number[row], stack.alive[row], stack.size[row])


@kernel(error_model="numpy")
def _clear(marks: Floats) -> None:
    """Set marks to zero; slices take much longer to compile."""
    for i in range(len(marks)):
        marks[i] = 0.0


@kernel(error_model="numpy", inline="always")
def _collect(costs: Costs, node: Node, least: Floats, k: int) -> None:
    """Move as much cost as possible from a table to the states of the variable of place k.

    That is, for each state, the least entry, less the costs moved from the table before.
    """
    number, alive, size = node
    f, v = costs.owner[k], costs.item[k]
    s, e = costs.start[f], costs.start[f + 1]
    # The last other place, with the smallest stride, is the innermost loop; the joint states of the
    # places besides these two are numbered by c, in mixed radix.
    inner = e - 1 if k != e - 1 else e - 2
    w = costs.item[inner]
    bv, bw = costs.begin[v], costs.begin[w]
    outer = 1
    for j in range(s, e):
        if j != k and j != inner:
            outer *= size[costs.item[j]]
    for a in range(size[v]):
        least[a] = np.inf
    for c in range(outer):
        quotient, base, spent = c, costs.offset[f], 0.0
        for j in range(s, e):
            if j != k and j != inner:
                u = costs.item[j]
                y = alive[costs.begin[u] + quotient % size[u]]
                quotient //= size[u]
                base += y * costs.stride[j]
                spent += number[costs.moved[j] + y]
        for a in range(size[v]):
            row = base + alive[bv + a] * costs.stride[k]
            for b in range(size[w]):
                y = alive[bw + b]
                value = costs.cost[row + y * costs.stride[inner]]
                least[a] = min(least[a], value - number[costs.moved[inner] + y] - spent)
    for a in range(size[v]):
        x = alive[bv + a]
        if least[a] == np.inf:  # the table rules the state out
            number[bv + x] = np.inf
        elif number[bv + x] < np.inf:
            more = least[a] - number[costs.moved[k] + x]
            number[costs.moved[k] + x] += more
            number[bv + x] += more


@kernel(error_model="numpy", inline="always")
def _others(costs: Costs, size: Ints, k: int, ahead: bool) -> bool:
    """Tell whether a table has a free variable after (before) that of place k."""
    f, v = costs.owner[k], costs.item[k]
    for j in range(costs.start[f], costs.start[f + 1]):
        w = costs.item[j]
        if w != v and size[w] > 1 and (w > v) == ahead:
            return True
    return False


@kernel(error_model="numpy", inline="always")
def _mark(costs: Costs, v: int, marks: Floats, more: float) -> None:
    """Add to the marks of all variables in the tables of v."""
    for p in range(costs.first[v], costs.first[v + 1]):
        f = costs.owner[costs.place[p]]
        for j in range(costs.start[f], costs.start[f + 1]):
            marks[costs.item[j]] += more


@kernel(error_model="numpy", work=lambda costs, *_: 40 * len(costs.cost))
def propagate(
    costs: Costs, node: Node, guide: Guide, lower: float, upper: float, effort: Effort
) -> float:
    """Raise the lower bound by sweeps over the variables that are dirty; return it.

    Each variable collects costs from its tables, moves the least cost of its states to the bound,
    loses the states that cost too much, and returns what is left, in equal shares, to its tables
    with variables that follow in the sweep. Sweeps go forward and backward in turn.

    The bound is infinite if no assignment has a cost below `upper`.
    """
    number, alive, size = node
    dirty = guide.dirty
    n = len(size)
    for sweep in range(effort.sweeps):
        before = lower
        forward = sweep % 2 == 0
        for at in range(n):
            v = at if forward else n - 1 - at
            if dirty[v] == 0:
                continue
            bv = costs.begin[v]
            ahead = behind = 0  # tables with a free variable later, and earlier, in this sweep
            for p in range(costs.first[v], costs.first[v + 1]):
                k = costs.place[p]
                _collect(costs, node, guide.least, k)
                ahead += _others(costs, size, k, forward)
                behind += _others(costs, size, k, not forward)
            least = np.inf
            for a in range(size[v]):
                least = min(least, number[bv + alive[bv + a]])
            lower += least
            if lower >= upper:  # a dead end: later decisions are on variables that had a part in it
                guide.weight[v] += 1.0
                _mark(costs, v, guide.weight, 0.1)
                _clear(dirty)
                return np.inf
            left = 0
            largest = 0.0
            for a in range(size[v]):
                x = alive[bv + a]
                number[bv + x] -= least
                # Exchanged, states that are left come first.
                if lower + number[bv + x] < upper:
                    alive[bv + a] = alive[bv + left]
                    alive[bv + left] = x
                    left += 1
                    largest = max(largest, number[bv + x])
            if left < size[v]:
                size[v] = left
                _mark(costs, v, dirty, 1.0)
            # The larger number of tables, so that something is kept for those on the other side.
            share = 1.0 / max(ahead, behind, 1)
            if ahead == 0 or largest * share <= effort.tolerance:
                continue
            for p in range(costs.first[v], costs.first[v + 1]):
                k = costs.place[p]
                if _others(costs, size, k, forward):
                    f = costs.owner[k]
                    for j in range(costs.start[f], costs.start[f + 1]):
                        dirty[costs.item[j]] = 1.0
                    # What moves back to a table has not been moved from it.
                    for a in range(left):
                        x = alive[bv + a]
                        number[costs.moved[k] + x] -= share * number[bv + x]
            for a in range(left):
                number[bv + alive[bv + a]] *= 1.0 - share * ahead
        # Sweeps that gain little of the gap are not worth their time.
        if sweep > 1 and lower - before < 0.02 * (upper - lower):
            break
    _clear(dirty)
    return lower


@kernel(error_model="numpy")
def _decide(costs: Costs, node: Node, dirty: Floats, decision: int) -> int:
    """Give a variable a state, or take one from it; return the variable."""
    state = decision >> 1
    v = int(costs.variable[state])
    b = costs.begin[v]
    left = 0
    for a in range(node.size[v]):
        y = node.alive[b + a]
        # An even decision leaves this state only, an odd one all but this state.
        if (b + y == state) != (decision & 1):
            node.alive[b + a] = node.alive[b + left]
            node.alive[b + left] = y
            left += 1
    node.size[v] = left
    _mark(costs, v, dirty, 1.0)
    dirty[v] = 1.0
    return v


@kernel(error_model="numpy", inline="always")
def _entry(costs: Costs, f: int, states: Ints) -> int:
    """Return the place of a table's entry for an assignment."""
    at = costs.offset[f]
    for j in range(costs.start[f], costs.start[f + 1]):
        at += costs.stride[j] * states[costs.item[j]]
    return int(at)


@kernel(error_model="numpy")
def _offer(costs: Costs, pool: Pool, states: Ints) -> None:
    """Insert an assignment among the best ones if it is one of them, and new."""
    value = 0.0
    for v in range(len(states)):
        value += costs.single[costs.begin[v] + states[v]]
    for f in range(len(costs.offset)):
        value += costs.cost[_entry(costs, f, states)]
    i = len(pool.value) - 1  # the place of the worst one, which the new one replaces
    if not value < pool.value[i]:
        return
    for other in range(i + 1):
        same = 0
        for v in range(len(states)):
            same += pool.states[other, v] == states[v]
        if same == len(states) and pool.value[other] < np.inf:
            return
    while i > 0 and pool.value[i - 1] > value:
        pool.value[i] = pool.value[i - 1]
        for v in range(len(states)):
            pool.states[i, v] = pool.states[i - 1, v]
        i -= 1
    pool.value[i] = value
    for v in range(len(states)):
        pool.states[i, v] = states[v]


@kernel(error_model="numpy", work=lambda costs, *_: 2000 * len(costs.cost))
def dive(
    costs: Costs,
    root: Node,
    stack: Node,
    guide: Guide,
    path: Path,
    pool: Pool,
    length: int,
    lower: float,
    effort: Effort,
) -> tuple[int, int]:
    """Search below the first `length` decisions of a path, depth first.

    The path and the pool are changed in place. `lower` is the bound of the root.

    Returns
    -------
    depth : int
        The number of decisions of the path on which the search stopped, -1 if nothing is left.
    count : int
        The number of nodes.
    """
    n = len(root.size)
    top = len(stack.size) - 1  # the last row of the stack is the current node
    node = _row(stack, top)
    _enter(node, root)
    states = np.empty(n, np.int64)
    slack = effort.slack
    for d in range(length):  # the decisions that were made before are not undone
        path.pending[d] = 0
        if node.size[_decide(costs, node, guide.dirty, path.decision[d])] == 0:
            _clear(guide.dirty)
            return -1, 0
    # Numbers of nodes, of dead ends, of decisions, and of nodes on the stack to go back to.
    count, failures, depth, stored = 0, 0, length, 0
    while True:
        upper = pool.value[-1]
        lower = propagate(costs, node, guide, lower, upper - slack, effort)
        count += 1
        chosen = -1
        if lower < np.inf:
            score = 0.0  # dead ends, and few states
            for v in range(n):
                if node.size[v] > 1 and guide.weight[v] / node.size[v] > score:
                    chosen, score = v, guide.weight[v] / node.size[v]
            if chosen < 0:  # each variable has one state left: an assignment
                for v in range(n):
                    states[v] = node.alive[costs.begin[v]]
                _offer(costs, pool, states)
                upper = pool.value[-1]
        if chosen < 0:
            # Go back to the last decision whose opposite may still be better.
            while depth > length and (
                path.pending[depth - 1] == 0 or path.bound[depth - 1] >= upper - slack
            ):
                depth -= 1
                stored -= path.pending[depth]  # 1 if the node before it was stored
                path.pending[depth] = 0
            if depth == length:
                return -1, count
            failures += 1
            if failures > effort.backtracks or count >= effort.steps:
                path.pending[depth] = 0
                return depth, count
            depth -= 1
            stored -= 1
            path.pending[depth] = 0
            _enter(node, _row(stack, stored))
            lower = path.bound[depth]
            path.decision[depth] ^= 1  # the opposite: the state is taken from the variable
        else:
            path.bound[depth] = lower
            if stored == top or count >= effort.steps:
                path.pending[depth] = 2
                return depth, count
            # The state of the least cost; of equal ones that of the best assignment.
            b = costs.begin[chosen]
            least, x = np.inf, -1
            for a in range(node.size[chosen]):
                y = node.alive[b + a]
                value = node.number[b + y]
                if value < least or (value == least and y == pool.states[0, chosen]):
                    least, x = value, y
            _enter(_row(stack, stored), node)
            stored += 1
            path.decision[depth] = 2 * (b + x)
            path.pending[depth] = 1
        _decide(costs, node, guide.dirty, path.decision[depth])
        depth += 1


@kernel(error_model="numpy", inline="always")
def _next(seed: int) -> int:
    """Return the number after `seed` of a linear congruential generator, of 31 bits.

    Its low bits have short periods: those from bit 8 on are used.
    """
    return (seed * 1103515245 + 12345) & 0x7FFFFFFF


@kernel(error_model="numpy", work=lambda costs, *rest: rest[-2] * len(costs.single))
def improve(
    costs: Costs, soft: Costs, pool: Pool, states: Ints, seed: int, steps: int, patience: int
) -> int:
    """Change one variable at a time, to its best state among those not left of late (tabu search).

    After `patience` steps without a better assignment, up to half of the best one gets states at
    random. `soft` are the costs with finite numbers for infinite ones. The assignment `states` and
    the pool are changed in place. Returns the next seed.
    """
    n, total = len(states), len(costs.single)
    begin, single, cost = costs.begin, soft.single, soft.cost
    local = np.empty(total)  # cost of each state, given those of the others
    banned = np.zeros(total, np.int64)  # the step up to which each state is tabu
    current = least = np.inf
    stale = patience + 1  # steps without a better assignment; at first one begins anew
    for step in range(steps):
        if stale > patience:
            if step > 0:
                # From the best assignment, if there is one yet.
                for v in range(n if pool.value[0] < np.inf else 0):
                    states[v] = pool.states[0, v]
                for _ in range(2 + (seed >> 8) % (n // 2 + 1)):
                    seed = _next(seed)
                    v = (seed >> 8) % n
                    seed = _next(seed)
                    states[v] = (seed >> 8) % (begin[v + 1] - begin[v])
            stale = 0
            _copy(local, single)
            current = 0.0
            for v in range(n):
                current += single[begin[v] + states[v]]
            for f in range(len(costs.offset)):
                at = _entry(costs, f, states)
                current += cost[at]
                for j in range(costs.start[f], costs.start[f + 1]):
                    v = costs.item[j]
                    base = at - costs.stride[j] * states[v]
                    for x in range(begin[v + 1] - begin[v]):
                        local[begin[v] + x] += cost[base + x * costs.stride[j]]
            least = current
        # The change of the least cost, of equal ones one at random; one that makes the assignment
        # better than all since the last restart may be tabu.
        chosen, owner, change, ties = -1, -1, np.inf, 1
        aspired = least - 1e-9 * abs(least) - current
        for v in range(n):
            here = begin[v] + states[v]
            for i in range(begin[v], begin[v + 1]):
                value = local[i] - local[here]
                if value > change or i == here or (banned[i] > step and value >= aspired):
                    continue
                ties = ties + 1 if value == change else 1
                # The last of t equal ones replaces the earlier choice with probability 1 / t, so
                # that in the end all are equally probable.
                if ties > 1:
                    seed = _next(seed)
                    if (seed >> 8) % ties != 0:
                        continue
                chosen, owner, change = i, v, value
        stale += 1
        if chosen < 0:
            continue
        old, new = states[owner], chosen - begin[owner]
        seed = _next(seed)
        # The old state is tabu for more steps the more variables there are, and some at random.
        banned[begin[owner] + old] = step + 2 + n // 6 + (seed >> 8) % 10
        current += change
        states[owner] = new
        # Update the costs of states of the other variables in each table of the changed one.
        for p in range(costs.first[owner], costs.first[owner + 1]):
            k = costs.place[p]
            f = costs.owner[k]
            at = _entry(costs, f, states)
            # From an entry with the new state to that with the old one.
            back = (old - new) * costs.stride[k]
            for j in range(costs.start[f], costs.start[f + 1]):
                w = costs.item[j]
                if w != owner:
                    base = at - costs.stride[j] * states[w]
                    for x in range(begin[w + 1] - begin[w]):
                        entry = base + x * costs.stride[j]
                        local[begin[w] + x] += cost[entry] - cost[entry + back]
        if current < pool.value[-1]:
            _offer(costs, pool, states)
        if current < least - 1e-9 * abs(least):
            least = current
            stale = 0
    return seed
