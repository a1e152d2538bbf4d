"""Kernels: elimination orders of variables, by greedy scores, noise and mutation.

Variables and scopes are given as in `planning_kernels`. All results are deterministic: ties go to
the lower index, and random restarts use a fixed seed and stop after a fixed number of steps, not
after a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.compilation import kernel
from bayesgraph.inference.junction import Floats, Ints

Bits = NDArray[np.uint64]


# Greedy scores of the portfolio (Kjaerulff 1990; Fishelson and Geiger 2004): each score is tried
# once without noise, then again with noise; then the noise of the best order is varied.
_MIN_FILL, _WEIGHTED_FILL, _MIN_WEIGHT, _FILL_AND_WEIGHT = 0, 1, 2, 3
_SCORES = 4
# Steps of the search for an elimination order for each entry of the tables, where it is used once
# or often, and their maximum: a thousand millions take some four seconds. Of every so many orders
# one has new noise.
ONCE, OFTEN = 0.05, 0.5
_MAXIMUM_WORK = 1e9
# Steps after which a search stops that has found nothing better in their last two thirds.
_PATIENCE = 1e8
_FRESH = 8
# Maximum number of neighbours of a variable that is tested for being simplicial.
_MAXIMUM_SIMPLICIAL = 40


@kernel(error_model="numpy")
def filled(n: int, value: int) -> Ints:
    """Return an array of n integers equal to `value`."""
    return np.full(n, value, np.int64)


@kernel(error_model="numpy")
def grown(pool: Ints, size: int, more: int) -> Ints:
    """Return `pool`, or a larger copy if `more` entries do not fit after the first `size` ones."""
    if size + more <= len(pool):
        return pool
    larger = np.empty(2 * len(pool) + more, np.int64)
    larger[:size] = pool[:size]
    return larger


@kernel(error_model="numpy")
def sort_range(values: Ints, start: int, end: int) -> None:
    """Sort ``values[start:end]`` in place by Shell sort (gaps of Knuth 1973).

    Ranges are short: the compiler's own sort takes three times as long for a whole tree.
    """
    gap = 1
    while gap < end - start:
        gap = 3 * gap + 1
    while gap:
        for i in range(start + gap, end):
            value = values[i]
            j = i - gap
            while j >= start and values[j] > value:
                values[j + gap] = values[j]
                j -= gap
            values[j + gap] = value
        gap //= 3


@kernel(error_model="numpy", inline="always")
def _adjacency(n: int, start: Ints, item: Ints) -> tuple[Ints, Ints]:
    """Return the neighbours of each variable in the interaction graph, ascending.

    Two variables are adjacent if a factor contains both. The result is a list of lists (start,
    item).
    """
    n_factors = len(start) - 1
    # The factors that contain each variable, as a list of lists (in_start, inside), by counting.
    in_start = filled(n + 1, 0)
    for at in range(len(item)):
        in_start[item[at] + 1] += 1
    for v in range(n):
        in_start[v + 1] += in_start[v]
    fill = in_start.copy()  # where the next factor of each variable is written
    inside = np.empty(len(item), np.int64)
    for f in range(n_factors):
        for at in range(start[f], start[f + 1]):
            inside[fill[item[at]]] = f
            fill[item[at]] += 1
    mark = filled(n, -1)  # v for the variables that are among the neighbours of v already
    near_start = filled(n + 1, 0)
    near = np.empty(max(16, 4 * len(item)), np.int64)
    size = 0
    for v in range(n):
        mark[v] = v
        first = size
        for k in range(in_start[v], in_start[v + 1]):
            f = inside[k]
            for at in range(start[f], start[f + 1]):
                u = item[at]
                if mark[u] != v:
                    mark[u] = v
                    if size == len(near):
                        near = grown(near, size, size)
                    near[size] = u
                    size += 1
        sort_range(near, first, size)
        near_start[v + 1] = size
    return near_start, near


@kernel(error_model="numpy")
def lower_bound(values: Ints, begin: int, end: int, value: int) -> int:
    """Return the first place in a range of ascending values from which none is less than another.

    It is `end` if all are less.
    """
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel(error_model="numpy")
def _joined(near_start: Ints, near: Ints, a: int, b: int) -> bool:
    """Tell whether two variables are adjacent, given the neighbours of each (see `_adjacency`)."""
    at = lower_bound(near, near_start[a], near_start[a + 1], b)
    return at < near_start[a + 1] and near[at] == b


@kernel(error_model="numpy", inline="always")
def _simplicial(n: int, near_start: Ints, near: Ints, stage: Ints, order: Ints, gone: Ints) -> int:
    """Eliminate simplicial variables of the first stage (0), and return their number.

    All neighbours of a simplicial variable are adjacent to each other, so that its elimination adds
    no edges and is an optimal first step. `near_start` and `near` list the neighbours of each of n
    variables (see `_adjacency`). `order` receives the eliminated variables in order, and `gone` 1
    for each of them.
    """
    degree = np.empty(n, np.int64)  # numbers of neighbours that are not eliminated
    queue = np.empty(n, np.int64)  # a ring of `length` variables from `head` on
    waiting = filled(n, 0)
    head = length = 0
    for v in range(n):
        degree[v] = near_start[v + 1] - near_start[v]
        if stage[v] == 0:
            queue[length] = v
            length += 1
            waiting[v] = 1
    around = np.empty(_MAXIMUM_SIMPLICIAL, np.int64)
    count = 0
    while length:
        v = queue[head]
        head = (head + 1) % n
        length -= 1
        waiting[v] = 0
        if gone[v] or degree[v] > _MAXIMUM_SIMPLICIAL:
            continue
        k = 0
        for at in range(near_start[v], near_start[v + 1]):
            u = near[at]
            if not gone[u]:
                around[k] = u
                k += 1
        complete = True
        for i in range(1, k):
            for j in range(i):
                if not _joined(near_start, near, around[i], around[j]):
                    complete = False
                    break
            if not complete:
                break
        if not complete:
            continue
        gone[v] = 1
        order[count] = v
        count += 1
        for i in range(k):  # the neighbours have one less, and may be simplicial now
            u = around[i]
            degree[u] -= 1
            if stage[u] == 0 and not waiting[u]:
                waiting[u] = 1
                queue[(head + length) % n] = u
                length += 1
    return count


@kernel(error_model="numpy")
def ones(x: np.uint64) -> np.int64:
    """Return the number of bits that are set: sums of 2, of 4 and of 8 bits, then of the bytes.

    The highest byte of the product is the sum of all bytes.
    """
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel(error_model="numpy")
def _lowest(x: np.uint64) -> np.int64:
    """Return the position of the lowest bit that is set."""
    # This bit alone is x & -x; less one, it has a bit for each position below.
    return ones((x & (~x + np.uint64(1))) - np.uint64(1))


@kernel(error_model="numpy")
def _first_fill(near: Bits, weight: Floats) -> Floats:
    """Return the fill-in of each variable: the weight of edges that its elimination would add.

    The weight of an edge is the product of the weights of its two variables. Row v of `near` is a
    bit mask of the neighbours of variable v.
    """
    n, words = near.shape
    fill = np.zeros(n)
    for v in range(n):
        total = 0.0
        for w in range(words):
            bits = near[v, w]
            while bits:
                a = 64 * w + _lowest(bits)
                bits &= bits - np.uint64(1)  # without the lowest bit
                for x in range(words):
                    # Neighbours of v that a lacks; with b > a, each pair once and not a itself.
                    lacking = near[v, x] & ~near[a, x]
                    while lacking:
                        b = 64 * x + _lowest(lacking)
                        lacking &= lacking - np.uint64(1)
                        if b > a:
                            total += weight[a] * weight[b]
        fill[v] = total
    return fill


@kernel(error_model="numpy", inline="always")
def _greedy(
    start_near: Bits,
    start_fill: Floats,
    weight: Floats,
    log_card: Floats,
    stage: Ints,
    score: int,
    taste: Floats,
    limit: float,
    order: Ints,
) -> tuple[float, int]:
    """Find an elimination order greedily: always eliminate the variable with the minimum score.

    Fill-in and clique sizes are updated for each new edge, not recomputed. Lower stages are
    eliminated first. The search stops if the cost exceeds `limit`.

    Parameters
    ----------
    start_near, start_fill
        Neighbours of each variable as bit masks, and its fill-in for `weight` (see `_first_fill`).
    score : int
        Index of the greedy score, such as _MIN_FILL.
    taste : shape (n,)
        Factor by which each variable's score is multiplied (random noise).
    order : shape (n,)
        Receives the elimination order.

    Returns
    -------
    cost : float
        Number of entries of all products together, infinite if it exceeds the limit.
    work : int
        Number of elementary steps taken.
    """
    n, words = start_near.shape
    near = start_near.copy()
    fill = start_fill.copy()
    alive = np.arange(n)
    n_alive = n
    # Of each variable: the sum of its neighbours' weights, and the log of the number of entries of
    # its product, over its neighbours and itself.
    total = np.zeros(n)
    size = log_card.copy()
    around = np.empty(n, np.int64)
    work = n * words
    for v in range(n):
        for w in range(words):
            bits = near[v, w]
            while bits:
                u = 64 * w + _lowest(bits)
                bits &= bits - np.uint64(1)  # without the lowest bit
                total[v] += weight[u]
                size[v] += log_card[u]
    cost = 0.0
    for step in range(n):
        best = -1
        best_score = best_size = np.inf
        lowest_stage = np.int64(1 << 60)  # above all stages
        for k in range(n_alive):
            u = alive[k]
            if score == _MIN_WEIGHT:
                value = size[u]
            elif score == _FILL_AND_WEIGHT:
                value = size[u] + np.log(1.0 + fill[u])
            else:
                value = fill[u]
            value *= taste[u]
            if stage[u] < lowest_stage or (
                stage[u] == lowest_stage
                and (value < best_score or (value == best_score and size[u] < best_size))
            ):
                lowest_stage = stage[u]
                best, best_score, best_size = k, value, size[u]
        work += n_alive
        v = alive[best]
        # `alive` stays in ascending order, so that ties go to the lower index.
        for k in range(best, n_alive - 1):
            alive[k] = alive[k + 1]
        n_alive -= 1
        order[step] = v
        cost += np.exp(size[v])
        if cost > limit:
            return np.inf, work
        # The elimination of v joins its k neighbours.
        k = 0
        weight_around = 0.0
        for w in range(words):
            bits = near[v, w]
            while bits:
                u = 64 * w + _lowest(bits)
                bits &= bits - np.uint64(1)
                around[k] = u
                weight_around += weight[u]
                k += 1
        work += words + k
        for i in range(k):
            a = around[i]
            for w in range(words):
                lacking = near[v, w] & ~near[a, w]
                while lacking:
                    b = 64 * w + _lowest(lacking)
                    lacking &= lacking - np.uint64(1)
                    if b <= a:
                        continue
                    # With the new edge (a, b) no common neighbour, such as v, has to add it, but a
                    # has to join b to its other neighbours, and b has to join a to its own.
                    both = weight[a] * weight[b]
                    shared = 0.0
                    for x in range(words):
                        common = near[a, x] & near[b, x]
                        while common:
                            c = 64 * x + _lowest(common)
                            common &= common - np.uint64(1)
                            fill[c] -= both
                            shared += weight[c]
                            work += 1
                    fill[a] += weight[b] * (total[a] - shared)
                    fill[b] += weight[a] * (total[b] - shared)
                    total[a] += weight[b]
                    total[b] += weight[a]
                    size[a] += log_card[b]
                    size[b] += log_card[a]
                    near[a, b >> 6] |= np.uint64(1) << np.uint64(b & 63)
                    near[b, a >> 6] |= np.uint64(1) << np.uint64(a & 63)
                    work += words
            work += words
        for i in range(k):
            u = around[i]
            near[u, v >> 6] &= ~(np.uint64(1) << np.uint64(v & 63))
            total[u] -= weight[v]
            size[u] -= log_card[v]
            # u has no more to join v to its neighbours that are none of v.
            fill[u] -= weight[v] * (total[u] - (weight_around - weight[u]))
    return cost, work


@kernel(error_model="numpy")
def _random(state: Bits) -> float:
    """Return a random number in [0, 1) and advance the state (xorshift64*, Vigna 2016)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    # The upper 53 bits of the product, divided by 2**53.
    return np.float64((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0


@kernel(work=lambda cards, *_: 10 * len(cards) ** 2, error_model="numpy")
def elimination_order(
    cards: Ints,
    start: Ints,
    item: Ints,
    stage: Ints,
    effort: float,
) -> Ints:
    """Return an elimination order of all variables, in which lower stages come first.

    `start` and `item` are the scopes of the factors, `stage` is the stage of each variable.
    Simplicial variables of stage 0 are eliminated first; the others are ordered by a portfolio of
    greedy scores, with seeded noise, the taste, from the second round on. From the third round on,
    that of the best order is mutated, a few variables at a time, and kept where the order is not
    worse (a 1 + 1 evolution strategy). The search stops when its number of steps exceeds `effort`
    times the entries of the best order found, or `_MAXIMUM_WORK`, or when it gains nothing more.
    """
    n = len(cards)
    order = np.empty(n, np.int64)
    gone = filled(n, 0)
    near_start, near_list = _adjacency(n, start, item)
    done = _simplicial(n, near_start, near_list, stage, order, gone)
    m = n - done
    if m == 0:
        return order
    # The m variables that are left (the core) are numbered anew; their neighbours are bit masks.
    core = np.empty(m, np.int64)
    number = filled(n, -1)
    m = 0
    for v in range(n):
        if not gone[v]:
            core[m] = v
            number[v] = m
            m += 1
    near = np.zeros((m, (m + 63) >> 6), np.uint64)
    log_card = np.empty(m)
    card = np.empty(m)
    core_stage = np.empty(m, np.int64)
    for i in range(m):
        v = core[i]
        log_card[i] = np.log(cards[v])
        card[i] = cards[v]
        core_stage[i] = stage[v]
        for at in range(near_start[v], near_start[v + 1]):
            u = near_list[at]
            if not gone[u]:
                near[i, number[u] >> 6] |= np.uint64(1) << np.uint64(number[u] & 63)
    ones = np.ones(m)
    # Fill-in counts edges (all weights are one), or weighs them by their variables' cardinalities.
    fill = _first_fill(near, ones)
    weighted_fill = _first_fill(near, card)
    best_cost = np.inf
    best = np.empty(m, np.int64)
    trial = np.empty(m, np.int64)
    taste = np.ones(m)
    best_taste = np.ones(m)
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(88172645463325252)  # the seed: any number but zero
    work = last_gain = 0
    winner = 0  # the score of the best order
    trials = 0
    while True:
        # The first rounds begin anew, and a trial now and then; the others mutate the best.
        is_fresh = trials < 2 * _SCORES or trials % _FRESH == 0
        score = trials % _SCORES if is_fresh else winner
        if is_fresh and trials >= _SCORES:
            # Scores are raised by up to 10 to 50 per cent.
            noise = 0.1 + 0.4 * _random(state)
            for i in range(m):
                taste[i] = 1.0 + noise * _random(state)
        elif not is_fresh:
            # Each variable's taste is drawn anew with this probability, of 0.1 on average.
            changed = 0.3 * _random(state) ** 2
            for i in range(m):
                is_new = _random(state) < changed
                taste[i] = 0.6 + 0.8 * _random(state) if is_new else best_taste[i]
        weighted = score == _WEIGHTED_FILL
        cost, steps = _greedy(
            near,
            weighted_fill if weighted else fill,
            card if weighted else ones,
            log_card,
            core_stage,
            score,
            taste,
            best_cost,
            trial,
        )
        work += steps
        trials += 1
        if cost <= best_cost:
            if cost < best_cost:
                last_gain = work
            best_cost = cost
            best[:] = trial
            best_taste[:] = taste
            winner = score
        # Until each score has been tried once, four times the usual number of steps is allowed.
        share = effort if trials >= _SCORES else 4.0 * effort
        is_idle = work > max(_PATIENCE, 3.0 * last_gain)
        if work > share * best_cost or work > _MAXIMUM_WORK or is_idle:
            break
    for i in range(m):
        order[done + i] = core[best[i]]
    return order
