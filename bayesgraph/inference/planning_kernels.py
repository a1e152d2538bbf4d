"""Kernels: relevance of factors, junction trees.

Variables and factors are given by index. A list of scopes is a pair (`start`, `item`): the scope of
factor f is ``item[start[f]:start[f + 1]]``. Ties go to the lower index.
"""

from __future__ import annotations

import math

import numpy as np

from bayesgraph.core.compilation import kernel
from bayesgraph.inference.junction import Cliques, Floats, Ints, Restricted, TableArrays, Tree
from bayesgraph.inference.order_kernels import Bits, filled, grown, ones, sort_range


@kernel(error_model="numpy")
def packed(parts: tuple[Ints, ...]) -> Ints:
    """Return arrays one after the other, after the places where they end; see `junction.unpacked`.

    A kernel returns one array in a third of the time of a dozen.
    """
    n = len(parts)
    size = n
    for i in range(n):
        size += len(parts[i])
    out = np.empty(size, np.int64)
    to = n
    for i in range(n):
        # Unsigned indices are not tested for being negative.
        array, at = parts[i], np.uint64(to)
        for k in range(np.uint64(len(array))):
            out[at + k] = array[k]
        to += len(array)
        out[i] = to
    return out


@kernel(error_model="numpy")
def linked(owner: Ints, n: int, descending: bool) -> tuple[Ints, Ints]:
    """Group items by owner: return a linked list of the items of each of n owners.

    The lists are ascending unless `descending`. ``owner[i]`` is the owner of item i, -1 if it has
    none. The results are the first item of each owner and the item that follows each item; -1 ends
    a list.
    """
    first = filled(n, -1)
    following = filled(len(owner), -1)
    for k in range(len(owner)):
        # Each item is put before the items that its owner has so far.
        i = k if descending else len(owner) - 1 - k
        if owner[i] >= 0:
            following[i] = first[owner[i]]
            first[owner[i]] = i
    return first, following


@kernel(error_model="numpy")
def table_layout(indices: Ints, n_variables: int, n_tables: int, sums_to_one: bool) -> int:
    """Fill in strides, offsets and child variables of tables stored one after the other.

    `indices` are the arrays of integers of `TableArrays`, one after the other: `cards`, `start` and
    `item`, and `step`, `base` and `child`, which are filled in. With `sums_to_one` each table is
    the distribution of the last variable of its scope. The result is the number of entries of all
    tables. (Each array of a call costs a fraction of a microsecond.)
    """
    # Each array is the beginning of a slice, where the next arrays follow.
    cards, start = indices[:n_variables], indices[n_variables:]
    item = start[n_tables + 1 :]
    step = item[start[n_tables] :]
    base = step[start[n_tables] :]
    child = base[n_tables:]
    place = 0
    for f in range(n_tables):
        base[f] = place
        size = 1  # the last axis is the innermost one
        for at in range(start[f + 1] - 1, start[f] - 1, -1):
            step[at] = size
            size *= cards[item[at]]
        child[f] = item[start[f + 1] - 1] if sums_to_one else -1
        place += size
    return place


@kernel(error_model="numpy")
def at_evidence(
    indices: Ints,
    n_variables: int,
    n_tables: int,
    findings: Ints,
    constant: Ints,
    values: Floats,
    are_logs: bool,
) -> tuple[Ints, float]:
    """Return the offset of the first entry of each table that agrees with the evidence.

    `indices` are the arrays of integers of `TableArrays`; `findings` are the indices of the
    observed variables, then their states. The second result is the natural log of the product of
    the tables in `constant`, whose variables are all observed; `values` are the entries of all
    tables, or their logarithms.
    """
    # Each array is the beginning of a slice, where the next arrays follow; see `table_layout`.
    start = indices[n_variables:]
    item = start[n_tables + 1 :]
    step = item[start[n_tables] :]
    offsets = step[start[n_tables] :][:n_tables].copy()  # `base`: of the first entry of each table
    n = len(findings) // 2
    if n:
        state = filled(n_variables, 0)
        for k in range(n):
            state[findings[k]] = findings[n + k]
        for f in range(n_tables):
            for at in range(start[f], start[f + 1]):
                offsets[f] += state[item[at]] * step[at]
    log_product = 0.0
    for f in constant:
        entry = values[offsets[f]]
        log_product += entry if are_logs else math.log(entry)
    return offsets, log_product


@kernel(error_model="numpy")
def _root(forest: Ints, v: int) -> int:
    """Return the representative of variable v's connected component (union-find in `forest`).

    ``forest[v]`` is a variable of the same component, v itself if it is the representative.
    """
    while forest[v] != v:
        forest[v] = forest[forest[v]]  # halves the path for later calls
        v = forest[v]
    return v


@kernel(error_model="numpy")
def _not_barren(start: Ints, item: Ints, child: Ints, is_observed: Ints, is_target: Ints) -> Ints:
    """Return 1 for each factor that is relevant to the probability of evidence and targets, else 0.

    The others are the distributions of barren variables: neither these nor their descendants are
    observed or targets, so that they sum to one.
    """
    n_factors = len(start) - 1
    relevant = filled(n_factors, 1)
    # Walk from the factors without a child, and from those whose child is observed or a target, to
    # the factors of their parents.
    factor_of = filled(len(is_observed), -1)
    stack = np.empty(n_factors, np.int64)
    top = 0
    for f in range(n_factors):
        v = child[f]
        if v >= 0:
            factor_of[v] = f
        if v < 0 or is_observed[v] or is_target[v]:
            stack[top] = f
            top += 1
        else:
            relevant[f] = 0
    while top:
        top -= 1
        f = stack[top]
        for at in range(start[f], start[f + 1]):
            above = factor_of[item[at]]
            if above >= 0 and not relevant[above]:
                relevant[above] = 1
                stack[top] = above
                top += 1
    return relevant


@kernel(error_model="numpy")
def _may_have_zero(base: Ints, values: Floats, f: int) -> bool:
    """Tell whether table f has a zero; likelihoods, which follow the tables, may have one."""
    if f >= len(base):
        return True
    end = base[f + 1] if f + 1 < len(base) else len(values)
    k = base[f]
    while k < end and values[k] > 0.0:
        k += 1
    return k < end


@kernel(error_model="numpy")
def _drop_separated(
    base: Ints,
    values: Floats,
    start: Ints,
    item: Ints,
    is_observed: Ints,
    is_target: Ints,
    relevant: Ints,
) -> None:
    """Set `relevant` to 0 for the factors that the evidence separates from all targets.

    Factors that share a free variable are of one component. A component without targets is a
    constant, which is dropped unless a zero in it may make the evidence impossible.
    """
    n_variables, n_factors = len(is_observed), len(start) - 1
    forest = np.arange(n_variables)  # the union-find forest of the free variables, see `_root`
    # A free variable of each factor, -1 if it has none.
    some_free = filled(n_factors, -1)
    for f in range(n_factors):
        if relevant[f]:
            for at in range(start[f], start[f + 1]):
                v = item[at]
                if not is_observed[v]:
                    if some_free[f] < 0:
                        some_free[f] = v
                    a, b = _root(forest, v), _root(forest, some_free[f])
                    forest[max(a, b)] = min(a, b)
    is_kept = filled(n_variables, 0)  # by the component's representative
    for v in range(n_variables):
        if is_target[v]:
            is_kept[_root(forest, v)] = 1
    component = filled(n_factors, -1)
    for f in range(n_factors):
        # A factor without free variables is a component of its own.
        if relevant[f] and some_free[f] < 0:
            relevant[f] = _may_have_zero(base, values, f)
        elif relevant[f]:
            component[f] = _root(forest, some_free[f])
            if not is_kept[component[f]]:
                is_kept[component[f]] = _may_have_zero(base, values, f)
    for f in range(n_factors):
        if component[f] >= 0:
            relevant[f] = is_kept[component[f]]


@kernel(error_model="numpy")
def restrict(
    tables: TableArrays,
    start: Ints,
    item: Ints,
    child: Ints,
    observed: Ints,
    targets: Ints,
    mode: int,
) -> Ints:
    """Return the factors that are relevant to a query, without the observed variables.

    The result is the arrays of a `Restricted`, packed.

    Parameters
    ----------
    tables : TableArrays
    start, item, child
        Arrays of `tables`, extended by one factor for each variable with soft evidence.
    observed, targets
        Indices of variables.
    mode : int
        2: all factors are relevant. 1: the query is the probability of the evidence, to which
        factors of barren variables are not relevant. 0: the query is the posterior of the targets
        (Shachter 1998), to which components that the evidence separates from the targets are not
        relevant either, unless the evidence may be impossible in them.
    """
    n_variables, n_factors = len(tables.cards), len(start) - 1
    is_observed = filled(n_variables, 0)
    is_target = filled(n_variables, 0)
    for v in observed:
        is_observed[v] = 1
    for v in targets:
        is_target[v] = 1
    relevant = filled(n_factors, 1)
    if mode < 2:
        relevant = _not_barren(start, item, child, is_observed, is_target)
    if mode == 0:
        base, values = tables.base, tables.values
        _drop_separated(base, values, start, item, is_observed, is_target, relevant)
    # Index the free variables of the relevant factors, and the targets: first 0 marks them, then
    # each gets its index in ascending order.
    index = filled(n_variables, -1)
    m = size = 0  # numbers of relevant factors, and of entries of their scopes
    for f in range(n_factors):
        if relevant[f]:
            m += 1
            for at in range(start[f], start[f + 1]):
                if not is_observed[item[at]]:
                    index[item[at]] = 0
                    size += 1
    n = 0
    variables = np.empty(n_variables, np.int64)
    for v in range(n_variables):
        if index[v] == 0 or is_target[v]:
            variables[n] = v
            index[v] = n
            n += 1
    variables = variables[:n].copy()
    cards, wanted = tables.cards[variables], is_target[variables]
    # The relevant factors, their scopes by the new indices, and where these are in `item`.
    factors = np.empty(m, np.int64)
    new_start = filled(m + 1, 0)
    new_item = np.empty(size, np.int64)
    places = np.empty(size, np.int64)
    children = np.empty(m, np.int64)
    m = size = 0
    for f in range(n_factors):
        if relevant[f]:
            factors[m] = f
            for at in range(start[f], start[f + 1]):
                if not is_observed[item[at]]:
                    new_item[size] = index[item[at]]
                    places[size] = at
                    size += 1
            children[m] = index[child[f]] if child[f] >= 0 else -1
            m += 1
            new_start[m] = size
    return packed((variables, factors, new_start, new_item, places, children, cards, wanted))


# ----------------------------------------------------------------------------------- junction trees


@kernel(error_model="numpy")
def _first_eliminated(item: Ints, begin: int, end: int, place: Ints) -> int:
    """Return the variable of ``item[begin:end]`` that is eliminated first, -1 if there is none.

    ``place[v]`` is the place of variable v in the elimination order.
    """
    first = -1
    for at in range(begin, end):
        if first < 0 or place[item[at]] < place[first]:
            first = item[at]
    return first


@kernel(error_model="numpy")
def cliques_of_order(start: Ints, item: Ints, stage: Ints, order: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the maximal cliques of an elimination order, joined to a junction forest.

    A product whose scope is contained in that of an earlier product is merged with it, unless the
    clique would then eliminate variables of two stages.

    Returns
    -------
    start, member
        Variables of each clique; children precede parents.
    parent : shape (n_cliques,)
        Parent of each clique, -1 for a root.
    """
    n = len(order)
    n_factors = len(start) - 1
    place = np.empty(n, np.int64)
    for i in range(n):
        place[order[i]] = i
    # A factor is multiplied into the product from which its first variable is eliminated.
    owner = np.empty(n_factors, np.int64)
    for f in range(n_factors):
        owner[f] = _first_eliminated(item, start[f], start[f + 1], place)
    first_factor, next_factor = linked(owner, n, False)
    # The product of variable v is of all that has v when it is eliminated; its scope, v first, is
    # ``pool[begin[v]:end[v]]``. The variable whose product takes in what is left of each product:
    above = filled(n, -1)
    first_child = filled(n, -1)
    next_child = filled(n, -1)
    begin = np.empty(n, np.int64)
    end = np.empty(n, np.int64)
    pool = np.empty(max(64, 4 * len(item)), np.int64)
    size = 0
    mark = filled(n, -1)
    clique_of = filled(n, -1)
    # The variable whose product forms each clique, and the last variable eliminated there.
    product_of = np.empty(n, np.int64)
    last = np.empty(n, np.int64)
    n_cliques = 0
    for i in range(n):
        v = order[i]
        pool = grown(pool, size, n)
        begin[v] = size
        pool[size] = v
        size += 1
        mark[v] = v
        f = first_factor[v]
        while f >= 0:
            size = _unite(item, start[f], start[f + 1], v, mark, pool, size)
            f = next_factor[f]
        c = first_child[v]
        while c >= 0:  # the message of c is the scope of its product without c itself
            size = _unite(pool, begin[c] + 1, end[c], v, mark, pool, size)
            c = next_child[c]
        end[v] = size
        width = size - begin[v]
        c = first_child[v]
        while c >= 0:
            # The product of v is in the clique of c if the message of c has all of its variables.
            if end[c] - begin[c] - 1 == width and stage[c] == stage[v]:
                clique_of[v] = clique_of[c]
                break
            c = next_child[c]
        if clique_of[v] < 0:
            clique_of[v] = n_cliques
            product_of[n_cliques] = v
            n_cliques += 1
        last[clique_of[v]] = v
        u = above[v] = _first_eliminated(pool, begin[v] + 1, end[v], place)
        if u >= 0:
            next_child[v] = first_child[u]
            first_child[u] = v
    # Order the cliques by the elimination of their last variables, so that parents follow children.
    rank = np.empty(n_cliques, np.int64)  # the index of each clique in this order
    out_start = filled(n_cliques + 1, 0)
    member = np.empty(size, np.int64)
    k = to = 0
    for i in range(n):
        c = clique_of[order[i]]
        if last[c] == order[i]:
            rank[c] = k
            for at in range(begin[product_of[c]], end[product_of[c]]):
                member[to] = pool[at]
                to += 1
            k += 1
            out_start[k] = to
    parent = filled(n_cliques, -1)
    for c in range(n_cliques):
        if above[last[c]] >= 0:
            parent[rank[c]] = rank[clique_of[above[last[c]]]]
    return out_start, member[:to].copy(), parent


@kernel(error_model="numpy")
def _unite(source: Ints, begin: int, end: int, v: int, mark: Ints, pool: Ints, size: int) -> int:
    """Append to `pool` the variables of ``source[begin:end]`` that variable v's product lacks.

    ``mark[u]`` is v if variable u is in the product already. The first `size` entries of `pool` are
    in use; the new size is returned.
    """
    for at in range(begin, end):
        u = source[at]
        if mark[u] != v:
            mark[u] = v
            pool[size] = u
            size += 1
    return size


@kernel(error_model="numpy")
def place_factors(question: Restricted, cliques: Cliques) -> tuple[Ints, Ints, float, float]:
    """Assign every factor to the clique closest to the root that contains its scope.

    This is the clique that eliminates the first of the factor's variables in elimination order.

    Returns
    -------
    home : shape (n_factors,)
        Clique of each factor, -1 for an empty scope.
    unit : shape (n_cliques,)
        1 if the message to the parent is all ones, because the subtree is barren: each of its
        factors is the distribution of a variable that is eliminated at the factor's own clique.
    total, largest : float
        Number of entries of all cliques together, and of the largest clique.
    """
    start, item, child, cards = question.start, question.item, question.child, question.cards
    c_start, member, residual, parent = cliques
    eliminated_at = np.empty(len(cards), np.int64)  # the clique, of each variable
    n_factors, n_cliques = len(start) - 1, len(parent)
    total = largest = 0.0
    for c in range(n_cliques):
        entries = 1.0
        for at in range(c_start[c], c_start[c + 1]):
            entries *= cards[member[at]]
            if at < c_start[c] + residual[c]:
                eliminated_at[member[at]] = c
        total += entries
        largest = max(largest, entries)
    home = filled(n_factors, -1)
    unit = filled(n_cliques, 1)
    for f in range(n_factors):
        for at in range(start[f], start[f + 1]):
            c = eliminated_at[item[at]]
            # Children precede parents; a factor's variables are eliminated on one path to the root.
            if home[f] < 0 or c < home[f]:
                home[f] = c
        # The sum over its child makes a distribution ones; any other factor stays in the message.
        if home[f] >= 0 and (child[f] < 0 or eliminated_at[child[f]] != home[f]):
            unit[home[f]] = 0
    for c in range(n_cliques):
        if not unit[c] and parent[c] >= 0:
            unit[parent[c]] = 0
    return home, unit, total, largest


@kernel(error_model="numpy")
def _most_wanted(c_start: Ints, member: Ints, parent: Ints, wanted: Ints, cost: Floats) -> Ints:
    """Return the clique of each tree with the most wanted variables, at the index of its root.

    As of `best_roots`, the other entries are -1. Ties go to the lowest cost, then to the lowest
    index.
    """
    n_cliques = len(parent)
    best = filled(n_cliques, -1)
    maximum = filled(n_cliques, -1)
    tree = filled(n_cliques, 0)  # the root of each clique's tree; parents come first
    for c in range(n_cliques - 1, -1, -1):
        r = tree[c] = c if parent[c] < 0 else tree[parent[c]]
        count = 0
        for at in range(c_start[c], c_start[c + 1]):
            count += wanted[member[at]]
        if count > maximum[r] or (count == maximum[r] and cost[c] <= cost[best[r]]):
            maximum[r] = count
            best[r] = c
    return best


@kernel(error_model="numpy")
def _depth_first(parent: Ints, roots: Ints) -> tuple[Ints, Ints]:
    """Return the cliques of a forest in depth-first order from new roots, and their new parents.

    The neighbours of a clique are its old children and its old parent.
    """
    n_cliques = len(parent)
    first, following = linked(parent, n_cliques, False)
    is_root = filled(n_cliques, 0)
    for k in range(len(roots)):
        if roots[k] >= 0:
            is_root[roots[k]] = 1
    visited = np.empty(n_cliques, np.int64)
    above = filled(n_cliques, -1)
    stack = np.empty(n_cliques, np.int64)
    count = 0
    for k in range(n_cliques):
        top = 0
        if is_root[k]:
            stack[0] = k
            top = 1
        while top:
            top -= 1
            c = stack[top]
            visited[count] = c
            count += 1
            # The children of c one after the other, and last its old parent, which ends the loop.
            d = first[c] if first[c] >= 0 else parent[c]
            while d >= 0:
                if d != above[c]:
                    above[d] = c
                    stack[top] = d
                    top += 1
                if d == parent[c]:
                    break
                d = following[d] if following[d] >= 0 else parent[c]
    return visited, above


@kernel(error_model="numpy")
def rooted(cards: Ints, c_start: Ints, member: Ints, parent: Ints, roots: Ints) -> Cliques:
    """Return a junction forest re-rooted at the given cliques.

    `roots` are the new root cliques, one of each tree; entries -1 are ignored.
    """
    n, n_cliques = len(cards), len(parent)
    visited, above = _depth_first(parent, roots)
    # The new index of each clique: children precede parents.
    index = np.empty(n_cliques, np.int64)
    for k in range(n_cliques):
        index[visited[k]] = n_cliques - 1 - k
    out_start = filled(n_cliques + 1, 0)
    out_parent = filled(n_cliques, -1)
    for k in range(n_cliques):
        c = visited[n_cliques - 1 - k]
        out_start[k + 1] = out_start[k] + c_start[c + 1] - c_start[c]
        if above[c] >= 0:
            out_parent[k] = index[above[c]]
    # From roots to leaves: the new variables of a clique precede all variables placed before.
    place = filled(n, -1)
    residual = filled(n_cliques, 0)
    by_place = np.empty(n, np.int64)
    rank = n  # of the variable placed last; ranks are given from the end
    for k in range(n_cliques):
        c = visited[k]
        # The variable with the most states gets the innermost axis, for longer contiguous runs.
        while True:
            next_one = -1
            for at in range(c_start[c], c_start[c + 1]):
                v = member[at]
                if place[v] < 0 and (next_one < 0 or cards[v] > cards[next_one]):
                    next_one = v
            if next_one < 0:
                break
            rank -= 1
            place[next_one] = rank
            by_place[rank] = next_one
            residual[index[c]] += 1
    # The variables of each clique in the order of their places.
    out = np.empty(len(member), np.int64)
    for k in range(n_cliques):
        c = visited[n_cliques - 1 - k]
        to = out_start[k]
        for at in range(c_start[c], c_start[c + 1]):
            out[to] = place[member[at]]
            to += 1
        sort_range(out, out_start[k], to)
        for at in range(out_start[k], to):
            out[at] = by_place[out[at]]
    return Cliques(out_start, out, residual, out_parent)


@kernel(error_model="numpy")
def best_roots(question: Restricted, cliques: Cliques, home: Ints, unit: Ints) -> Ints:
    """Return the root clique of each tree for which the fewest table entries must be summed.

    The result has shape (n_cliques,): at the index of a tree's current root it has the new root,
    elsewhere -1. Messages that are all ones cost nothing; which messages are ones depends on the
    root. The cost of every root follows from the cost of its parent as a root. All wanted variables
    (targets) of a tree must be in its root.

    Parameters
    ----------
    home, unit
        Clique of each factor, and which messages are all ones, for the current roots.
    """
    start, item, child, cards = question.start, question.item, question.child, question.cards
    c_start, member, residual, parent = cliques
    n_cliques = len(parent)
    size = np.ones(n_cliques)
    for c in range(n_cliques):
        for at in range(c_start[c], c_start[c + 1]):
            size[c] *= cards[member[at]]
    first, following = linked(parent, n_cliques, False)
    # Walk with each factor from its clique down to all cliques that contain its scope.
    # bad[c]: the message from the parent of c to c is not ones because of a factor that fits into
    # the parent, but not into c.
    bad = filled(n_cliques, 0)
    inside = filled(len(cards), -1)  # c for the variables that clique c shares with its parent
    stack = np.empty(n_cliques, np.int64)
    for f in range(len(home)):
        top = 0
        if home[f] >= 0:
            stack[0] = home[f]
            top = 1
        while top:
            top -= 1
            c = first[stack[top]]
            while c >= 0:
                for at in range(c_start[c] + residual[c], c_start[c + 1]):
                    inside[member[at]] = c
                contained = True
                for at in range(start[f], start[f + 1]):
                    contained &= inside[item[at]] == c
                if contained:
                    stack[top] = c
                    top += 1
                # A distribution whose child c lacks is summed to ones above c.
                elif child[f] < 0 or inside[child[f]] == c:
                    bad[c] = 1
                c = following[c]
    # Of each clique: the number of children whose messages are not ones, whether the message from
    # its parent is ones, and the entries that are summed, first for the messages of its subtree,
    # its own included, then for those of its whole tree with the clique as the root.
    blocked = filled(n_cliques, 0)
    down = filled(n_cliques, 1)
    cost = np.zeros(n_cliques)
    for c in range(n_cliques):
        if parent[c] >= 0:
            if not unit[c]:
                blocked[parent[c]] += 1
                cost[c] += size[c]
            cost[parent[c]] += cost[c]
    for c in range(n_cliques - 1, -1, -1):
        p = parent[c]
        if p >= 0:
            others = blocked[p] - (0 if unit[c] else 1)
            ones_above = parent[p] < 0 or down[p]
            down[c] = not bad[c] and others == 0 and ones_above
            # With c as the root in place of p, only the message between them is turned round.
            upward = 0.0 if unit[c] else size[c]
            cost[c] = cost[p] - upward + (0.0 if down[c] else size[p])
    return _most_wanted(c_start, member, parent, question.wanted, cost)


# ------------------------------------------------------------------------------- the whole plan

# Minimum number of entries of a tree for which other roots and intermediate tables are tried.
SMALL = 3000


@kernel(error_model="numpy")
def junction_tree(
    question: Restricted, start: Ints, item: Ints, stage: Ints, wanted: Ints, order: Ints
) -> tuple[Ints, float, float]:
    """Return a junction tree of the relevant factors for an elimination order, with its roots.

    The steps are one kernel, because arrays that pass through Python cost half a microsecond each.
    The result is the arrays of a `Tree` from `home` to `unit`, packed, then its other fields.

    Parameters
    ----------
    question : Restricted
        Relevant factors of a query.
    start, item
        Scopes of which each is in a clique: those of the factors, and that of all targets.
    stage : shape (n,)
        Stage of each variable; lower stages are eliminated first. If there are several, no message
        is known to be all ones: a distribution sums to one, but its maximum is not one.
    wanted : shape (n,)
        1 for the variables that share a root.
    order : shape (n,)
        The elimination order.
    """
    cards = question.cards
    staged = np.any(stage > 0)
    c_start, member, parent = cliques_of_order(start, item, stage, order)
    # Ties go to the current root, which has the highest index.
    roots = _most_wanted(c_start, member, parent, wanted, np.arange(len(parent), 0.0, -1.0))
    cliques = rooted(cards, c_start, member, parent, roots)
    home, unit, total, largest = place_factors(question, cliques)
    if total > SMALL and not staged:
        roots = best_roots(question, cliques, home, unit)
        cliques = rooted(cards, cliques.start, cliques.member, cliques.parent, roots)
        home, unit, total, largest = place_factors(question, cliques)
    if staged:
        unit[:] = 0
    parts = home, cliques.start, cliques.member, cliques.residual, cliques.parent, unit
    return packed(parts), total, largest


# ------------------------------------------------------------------------------ intermediate tables

# Minimum number of entries of a clique that gets intermediate tables, and bound on its operands.
_SMALLEST_SPLIT = 256
_MAXIMUM_PARTS = 48
# Minimum ratio of a clique's entries to the entries of an intermediate table.
_SHARE = 6
# Number of an operand that is a variable which its clique eliminates.
_LEAVING = -1


@kernel(error_model="numpy")
def with_intermediates(tree: Tree, everything: bool) -> Ints:
    """Return the tree with intermediate tables between large cliques and their operands.

    The result is the arrays of the `Tree` from `home` to `unit`, packed, or nothing if there are no
    intermediate tables.

    The operands of a clique are its factors and the messages of its children. Operands whose joint
    scope is much smaller than their clique are first multiplied into an intermediate table over
    this scope, and the clique then multiplies that table (binary join trees, Shenoy 1997). In the
    second pass, messages to these children are sums of the intermediate table, not of the clique.
    Intermediate tables are nodes of the tree that eliminate no variable (`residual` 0). With
    `everything` (two passes), they also serve the marginals of the variables that the clique
    eliminates.
    """
    cards, start, item, home = tree.cards, tree.start, tree.item, tree.home
    c_start, member, residual, parent = tree.c_start, tree.member, tree.residual, tree.parent
    n_cliques, n_factors = len(parent), len(home)
    # Operands are numbered: the factors, then the messages of the cliques, then the intermediate
    # tables (nodes), clique by clique. Of each operand: what it is multiplied into, which is a node
    # or the clique whose message has this number (-1 for none). Of each node: its scope as bits.
    nodes = n_factors + n_cliques
    size_limit = 2 * nodes + len(member) + 1  # the last entry is that of variables, `_LEAVING`
    above = filled(size_limit, -1)
    node_mask = np.empty(size_limit, np.uint64)
    for o in range(nodes):
        into = home[o] if o < n_factors else parent[o - n_factors]
        above[o] = n_factors + into if into >= 0 else -1
    f_first, f_next = linked(home, n_cliques, True)
    d_first, d_next = linked(parent, n_cliques, True)
    # Of each variable of a clique, its place there. Of each of its operands: the scope as bits of
    # these places, the entries, and the number.
    place = np.empty(len(cards), np.int64)
    mask = np.empty(_MAXIMUM_PARTS, np.uint64)
    size = np.empty(_MAXIMUM_PARTS)
    number = np.empty(_MAXIMUM_PARTS, np.int64)
    count = nodes
    first_node = np.empty(n_cliques + 1, np.int64)
    for c in range(n_cliques):
        first_node[c] = count
        begin, end = c_start[c], c_start[c + 1]
        entries = 1.0
        for at in range(begin, end):
            place[member[at]] = at - begin
            entries *= cards[member[at]]
        if entries < _SMALLEST_SPLIT or end - begin > 63:  # bits of an integer
            continue
        k = 0  # the number of operands
        f = f_first[c]
        while f >= 0 and k < _MAXIMUM_PARTS:
            mask[k] = _bits(item, start[f], start[f + 1], place)
            number[k] = f
            k += 1
            f = f_next[f]
        d = d_first[c]
        while d >= 0 and k < _MAXIMUM_PARTS:
            mask[k] = _bits(member, c_start[d] + residual[d], c_start[d + 1], place)
            number[k] = n_factors + d
            k += 1
            d = d_next[d]
        q = 0
        while everything and q < residual[c] and k < _MAXIMUM_PARTS:
            mask[k], number[k] = np.uint64(1) << np.uint64(q), _LEAVING
            k += 1
            q += 1
        if k >= _MAXIMUM_PARTS:  # there may be more: all pairs of so many take too long
            continue
        for i in range(k):
            size[i] = _entries(cards, member, begin, mask[i])
        while k > 1:
            a, b = _smallest_pair(
                number, mask, k, entries / _SHARE, cards, member, begin, n_factors
            )
            if a < 0:
                break
            # Let b be the larger one, of equal ones a node if there is one, and of nodes the later.
            if size[a] > size[b] or (
                size[a] == size[b] and number[a] >= nodes and number[a] > number[b]
            ):
                a, b = b, a
            # a joins b if b is a node whose scope contains that of a; else both join a new node.
            if number[b] >= nodes and (mask[a] & mask[b]) == mask[a]:
                node = number[b]
            else:
                node = count
                count += 1
                node_mask[node] = mask[a] | mask[b]
                above[node] = n_factors + c
                above[number[b]] = node
            above[number[a]] = node
            mask[b] = node_mask[node]
            size[b] = _entries(cards, member, begin, mask[b])
            number[b] = node
            # The node takes the place of b, and the last operand that of a.
            k -= 1
            mask[a], size[a], number[a] = mask[k], size[k], number[k]
    first_node[n_cliques] = count
    if count == nodes:
        return np.empty(0, np.int64)
    return _with_nodes(tree, first_node, node_mask, above)


@kernel(error_model="numpy")
def _smallest_pair(
    number: Ints,
    mask: Bits,
    k: int,
    limit: float,
    cards: Ints,
    member: Ints,
    begin: int,
    n_factors: int,
) -> tuple[int, int]:
    """Return the two of k operands of a clique whose joint table is the smallest.

    They are -1 and -1 if it has more entries than `limit`. ``number`` and ``mask`` are the numbers
    of the operands and their scopes as bits; see `_entries` for the others.
    """
    a = b = -1
    for i in range(1, k):
        for j in range(i):
            either = mask[i] | mask[j]
            # A variable beside a table, which is no factor, that gives its marginal already.
            if number[i] == _LEAVING and number[j] >= n_factors and either == mask[j]:
                continue
            if number[j] == _LEAVING and number[i] >= n_factors and either == mask[i]:
                continue
            together = _entries(cards, member, begin, either)
            if together <= limit:  # from now on only smaller ones, or later ones of equal size
                limit = together
                a, b = i, j
    return a, b


@kernel(error_model="numpy")
def _with_nodes(tree: Tree, first_node: Ints, node_mask: Bits, above: Ints) -> Ints:
    """Return a tree with nodes between its cliques; see `with_intermediates`.

    The nodes of a clique precede it, and parts precede the node that they belong to.

    Parameters
    ----------
    first_node : shape (n_cliques + 1,)
        The nodes of clique c are those from ``first_node[c]`` to ``first_node[c + 1]``.
    node_mask, above
        By number of the operand: scope of each node as bits, and what is multiplied into.
    """
    home, c_start, member = tree.home, tree.c_start, tree.member
    residual, parent = tree.residual, tree.parent
    n_cliques, n_factors, nodes = len(parent), len(home), first_node[0]
    total = first_node[-1] - n_factors
    # The indices of cliques and nodes in the new tree, where t is the next one.
    index = filled(first_node[-1], -1)
    out_start = filled(total + 1, 0)
    out_residual = filled(total, 0)
    out_parent = filled(total, -1)
    out_unit = filled(total, 1)
    length = len(member)
    for i in range(nodes, first_node[-1]):
        length += ones(node_mask[i])
    out_member = np.empty(length, np.int64)
    t = length = 0
    for c in range(n_cliques):
        begin, end = c_start[c], c_start[c + 1]
        left = first_node[c + 1] - first_node[c]
        while left:
            # Take the next node whose parts are all indexed.
            for i in range(first_node[c], first_node[c + 1]):
                ready = index[i] < 0
                for j in range(first_node[c], first_node[c + 1]):
                    ready &= above[j] != i or index[j] >= 0
                if ready:
                    index[i] = t
                    for q in range(end - begin):
                        if (node_mask[i] >> np.uint64(q)) & np.uint64(1):
                            out_member[length] = member[begin + q]
                            length += 1
                    t += 1
                    out_start[t] = length
                    left -= 1
        index[n_factors + c] = t
        for at in range(begin, end):
            out_member[length] = member[at]
            length += 1
        out_residual[t], out_unit[t] = residual[c], tree.unit[c]
        t += 1
        out_start[t] = length
    out_home = filled(n_factors, -1)
    for o in range(first_node[-1]):
        if above[o] >= 0:
            into = index[above[o]]
            if o >= n_factors:
                out_parent[index[o]] = into
            else:
                out_home[o] = into
                if above[o] >= nodes:
                    out_unit[into] = 0
    # A node (which eliminates nothing) passes on ones only if all of its parts are ones.
    for t in range(total):
        p = out_parent[t]
        if p >= 0 and not out_unit[t] and out_residual[p] == 0:
            out_unit[p] = 0
    return packed((out_home, out_start, out_member, out_residual, out_parent, out_unit))


@kernel(error_model="numpy")
def _bits(item: Ints, begin: int, end: int, place: Ints) -> np.uint64:
    """Return the variables ``item[begin:end]`` as a bit mask of their positions in a clique.

    ``place[v]`` is the position of variable v.
    """
    bits = np.uint64(0)
    for at in range(begin, end):
        bits |= np.uint64(1) << np.uint64(place[item[at]])
    return bits


@kernel(error_model="numpy")
def _entries(cards: Ints, member: Ints, begin: int, mask: np.uint64) -> float:
    """Return the number of entries of a table over a subset of a clique's variables.

    Bit i of `mask` is set if the variable ``member[begin + i]`` is in the subset.
    """
    entries = 1.0
    at = begin
    while mask:
        if mask & np.uint64(1):
            entries *= cards[member[at]]
        mask >>= np.uint64(1)
        at += 1
    return entries
