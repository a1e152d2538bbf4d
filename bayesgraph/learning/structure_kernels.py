"""Loops over pairs of columns: information, scores of one more parent, and spanning trees."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel


@kernel()
def listed_information(
    cells: Floats,
    shapes: NDArray[np.int64],
    n_groups: int,
    scores: Floats,
    rows: Floats,
) -> None:
    """Write the information I(X; Y | C) and the weight of the rows of each pair of columns.

    It is that of `information.conditional_mutual_information`.

    Parameters
    ----------
    cells : ndarray, one-dimensional
        Tables of shape (n_groups, shapes[p, 0], shapes[p, 1]), one after the other, in C order.
    shapes : ndarray, shape (n_pairs, 2)
        Numbers of states of X and Y.
    n_groups : int
        Number of states of C.
    scores, rows : ndarray, shape (n_pairs,)
    """
    at = 0
    of_y = np.empty(shapes.max() if len(shapes) else 0)
    for p in range(len(shapes)):
        r, s = shapes[p]
        information = total = 0.0
        for _ in range(n_groups):
            table = cells[at : at + r * s]
            of_y[:s] = 0.0
            for x in range(r):
                for y in range(s):
                    of_y[y] += table[x * s + y]
            of_group = 0.0
            for y in range(s):
                of_group += of_y[y]
            total += of_group
            # From here on, of_y has n(c) / n(c, y).
            for y in range(s):
                of_y[y] = of_group / of_y[y] if of_y[y] > 0.0 else 0.0
            for x in range(r):
                of_x = 0.0
                for y in range(s):
                    of_x += table[x * s + y]
                for y in range(s):
                    n = table[x * s + y]
                    if n > 0.0:
                        # Quotients before products: products may exceed the range of floats.
                        information += n * math.log((n / of_x) * of_y[y])
            at += r * s
        scores[p] = max(information / total, 0.0) if total > 0.0 else 0.0
        rows[p] = total


@kernel()
def first_forest(n: int, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the edges that join two trees, if edges are added in order (Kruskal 1956).

    Parameters
    ----------
    n : int
        Number of nodes.
    left, right : ndarray of int, shape (n_edges,)
        The ends of each edge.
    """
    above = np.arange(n)  # union-find: the root of a tree is above itself
    kept = np.zeros(len(left), dtype=np.bool_)
    for edge in range(len(left)):
        a, b = left[edge], right[edge]
        # Both roots, with path halving: each second node on the way is hung below its grandparent.
        while above[a] != a:
            above[a] = above[above[a]]
            a = above[a]
        while above[b] != b:
            above[b] = above[above[b]]
            b = above[b]
        above[a] = b  # changes nothing if both ends are in one tree
        kept[edge] = a != b
    return kept


# --- Loops over the tables of columns that may become parents: information and marginal likelihood


@kernel(error_model="numpy")
def extended_information(cells: Floats, shapes: NDArray[np.int64], out: Floats) -> None:
    """Write what each column says about the child of its group, given the other columns.

    Parameters
    ----------
    cells, shapes
        See `information.ExtendedTables`.
    out : ndarray, shape (4, n_columns)
        Written: information, rows, degrees of freedom and further parameters, the attributes of
        `information.ExtendedInformation`.
    """
    most = shapes[:, 2].max()
    of_state, share = np.empty(most), np.empty(most)
    at = 0  # the first cell of a table
    for column in range(len(shapes)):
        card, strata, states = shapes[column]
        size = card * strata * states
        out[0, column], out[1, column], out[2, column] = _conditional_information(
            cells[at : at + size], card, strata, of_state[:states], share
        )
        out[3, column] = (card - 1) * strata * (states - 1)
        at += size


@kernel(error_model="numpy")
def _conditional_information(
    cells: Floats, card: int, strata: int, of_state: Floats, share: Floats
) -> tuple[float, float, int]:
    """Return information, rows and degrees of freedom of tables by code, stratum and state.

    `cells` is flat, of shape (card, strata, n_states) in C order; `of_state`, of n_states entries,
    and `share`, of at least as many, are overwritten. The information is n I(code; state | stratum)
    in nats, for n rows.
    """
    states = len(of_state)
    step = strata * states
    information = rows = 0.0
    degrees = 0
    for stratum in range(strata):
        first = stratum * states
        of_state[:] = 0.0
        n_codes = 0
        for code in range(card):
            occurs = False
            for state in range(states):
                n = cells[first + code * step + state]
                of_state[state] += n
                occurs |= n > 0.0
            n_codes += occurs
        total, n_seen = 0.0, 0
        for state in range(states):
            total += of_state[state]
            n_seen += of_state[state] > 0.0
        rows += total
        if n_codes < 2 or n_seen < 2:  # no dependence can be seen: information and degrees are 0
            continue
        degrees += (n_codes - 1) * (n_seen - 1)
        for state in range(states):
            if of_state[state] > 0.0:
                # log(n(stratum) / n(stratum, state)); the information is the sum over cells of
                # n log(n n(stratum) / (n(stratum, state) n(stratum, code))).
                share[state] = math.log(total) - math.log(of_state[state])
        for code in range(card):
            here, of_code, gained = first + code * step, 0.0, 0.0
            for state in range(states):
                n = cells[here + state]
                if n > 0.0:
                    of_code += n
                    gained += n * (math.log(n) + share[state])
            if of_code > 0.0:
                information += gained - of_code * math.log(of_code)
    return information, rows, degrees


@kernel(error_model="numpy", interpreted=False)
def extended_bdeu(cells: Floats, shapes: NDArray[np.int64], ess: float, gains: Floats) -> None:
    """Write the gain in the BDeu score of a child by each column as one more parent.

    A score is the sum over configurations of the parents of ``log Gamma(a) / Gamma(a + n)``, plus
    that over cells of ``log Gamma(a_c + n_c) / Gamma(a_c)``, for counts n and pseudo-counts a.

    Parameters
    ----------
    cells, shapes
        See `information.ExtendedTables`.
    ess : float
        Equivalent sample size, see `scores.bdeu`.
    gains : ndarray, shape (n_columns,)
        Written.
    """
    of_state = np.empty(shapes[:, 2].max())
    at = 0  # the first cell of a table
    for column in range(len(shapes)):
        card, strata, states = shapes[column]
        # Pseudo-counts of a configuration of the parents and of a cell, without the new parent ...
        below, of_one = ess / strata, ess / (strata * states)
        beside, of_cell = below / card, of_one / card  # ... and with it
        gain = 0.0
        for stratum in range(strata):
            of_state[:states] = 0.0
            total = 0.0
            for code in range(card):
                first = at + (code * strata + stratum) * states
                of_code = 0.0
                for state in range(states):
                    n = cells[first + state]
                    of_code += n
                    of_state[state] += n
                    # The score with the new parent is added, that without it subtracted.
                    gain += _rising(n, of_cell)
                total += of_code
                gain -= _rising(of_code, beside)
            gain += _rising(total, below)
            for state in range(states):
                gain -= _rising(of_state[state], of_one)
        gains[column] = gain
        at += card * strata * states


@kernel(error_model="numpy", interpreted=False)
def _rising(n: float, prior: float) -> float:
    """Return log(Gamma(prior + n) / Gamma(prior))."""
    return math.lgamma(prior + n) - math.lgamma(prior) if n > 0.0 else 0.0


# ----------------------- Loops over the arcs of a graph: its paths, and the best change by one arc


DROP, ADD, REVERSE = range(3)


@kernel()
def best_change(
    gains: Floats,
    arcs: NDArray[np.bool_],
    paths: NDArray[np.bool_],
    forced: NDArray[np.bool_],
    full: NDArray[np.bool_],
    unit: float,
    marks: NDArray[np.int64],
    graph: int,
    last: NDArray[np.int64],
) -> tuple[float, int, int, int]:
    """Return the gain by the best change that leads to none of the last graphs, and the change.

    Gains are rounded to a unit; of equal ones removals come first, then additions, then reversals,
    and each in the order of the arcs.

    Parameters
    ----------
    gains : ndarray, shape (2, d, d)
        Gain by removing (`DROP`) or adding (`ADD`) each arc, parents along the second axis; -inf
        where that cannot be.
    arcs : ndarray of bool, shape (d, d)
        The arcs of the graph, parents along the first axis.
    paths : ndarray of bool, shape (d, d)
        Whether there is a directed path from i to j; True on the diagonal.
    forced : ndarray of bool, shape (d, d)
        Required arcs.
    full : ndarray of bool, shape (d,)
        Whether a column has the maximum number of parents.
    unit : float
    marks : ndarray of int, shape (d, d)
        A graph is known by the exclusive or of the marks of its arcs (Zobrist 1970).
    graph : int
        Mark of the graph.
    last : ndarray of int, one-dimensional
        Marks of the last graphs.

    Returns
    -------
    gain : float
        In units; minus infinity if no change is possible.
    kind, parent, child : int
    """
    d = len(full)
    best, change = -np.inf, (0, 0, 0)
    for kind in range(3):
        for p in range(d):
            for c in range(d):
                if kind == ADD:
                    # A path from c to p would close a cycle; that from p to itself excludes p = c.
                    if paths[c, p] or full[c]:
                        continue
                    gain = gains[ADD, p, c]
                else:
                    if not arcs[p, c] or forced[p, c]:
                        continue
                    gain = gains[DROP, p, c]
                    if kind == REVERSE:
                        if full[p]:
                            continue
                        gain += gains[ADD, c, p]
                gain = np.rint(gain / unit)
                if not gain > best:
                    continue
                after = graph ^ marks[p, c]  # removes the mark of an arc, or adds it
                # The reversed arc would close a cycle with any other path from p to c.
                if kind == REVERSE:
                    if _has_detour(arcs, paths, p, c):
                        continue
                    after ^= marks[c, p]
                is_revisited = False
                for one in last:
                    is_revisited |= one == after
                if not is_revisited:
                    best, change = gain, (kind, p, c)
    return best, change[0], change[1], change[2]


@kernel()
def _has_detour(arcs: NDArray[np.bool_], paths: NDArray[np.bool_], p: int, c: int) -> bool:
    """Return whether a path leads from p to c besides the arc between them."""
    detour = False
    # Any other path enters c from another parent q.
    for q in range(len(arcs)):
        detour |= q != p and arcs[q, c] and paths[p, q]
    return detour


@kernel()
def reach(arcs: NDArray[np.bool_], paths: NDArray[np.bool_]) -> None:
    """Write whether a directed path leads from i to j, True on the diagonal.

    Parameters
    ----------
    arcs : ndarray of bool, shape (d, d)
        Those of an acyclic graph, parents along the first axis.
    paths : ndarray of bool, shape (d, d)
        Overwritten.
    """
    d = len(arcs)
    # Children before parents: the number of children of each node that are not done, and a stack of
    # nodes without such children, whose own paths are complete.
    waiting, ready = np.zeros(d, np.int64), np.empty(d, np.int64)
    n_ready = 0
    for p in range(d):
        for c in range(d):
            waiting[p] += arcs[p, c]
            paths[p, c] = p == c
        if not waiting[p]:
            ready[n_ready] = p
            n_ready += 1
    while n_ready:
        n_ready -= 1
        c = ready[n_ready]
        for p in range(d):
            if arcs[p, c]:
                for i in range(d):
                    paths[p, i] |= paths[c, i]
                waiting[p] -= 1
                if not waiting[p]:
                    ready[n_ready] = p
                    n_ready += 1
