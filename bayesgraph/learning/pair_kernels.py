"""Loops over pairs of columns: their information, and spanning trees."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel


@kernel()
def pair_information(
    cells: Floats,
    cards: NDArray[np.int64],
    n_groups: int,
    first: int,
    last: int,
    scores: Floats,
    rows: Floats,
) -> None:
    """Write the information I(X; Y | C) and the weight of the rows of each pair of columns.

    Parameters
    ----------
    cells : ndarray, one-dimensional
        Tables of shape (n_groups, cards[i], cards[j]) of all pairs i < j, one after the other.
    cards : ndarray, shape (d,)
        Number of states of each column.
    n_groups : int
        Number of states of C.
    first, last : int
        The pairs with ``first <= i < last`` are computed.
    scores, rows : ndarray, shape (d, d)
        Written at [i, j].
    """
    d = len(cards)
    of_y = np.empty(cards.max())
    after = cards.sum()  # number of states of the columns behind i
    at = 0
    for i in range(last):
        after -= cards[i]
        if i < first:
            at += n_groups * cards[i] * after
            continue
        for j in range(i + 1, d):
            size = n_groups * cards[i] * cards[j]
            scores[i, j], rows[i, j] = table_information(
                cells[at : at + size], n_groups, cards[i], cards[j], of_y
            )
            at += size


@kernel(error_model="numpy")
def information_terms(
    margins: NDArray[np.int64], first: NDArray[np.int64], totals: Floats, terms: Floats
) -> None:
    """Write the terms of the information I(X; Y | C) for all margins that columns have.

    Parameters
    ----------
    margins : ndarray
        Ascending numbers of rows that states have within each class, one class after the other.
    first : ndarray, shape (n_groups + 1,)
        Where the margins of each class begin.
    totals : ndarray, shape (n_groups,)
        Number of rows of each class.
    terms : ndarray, one-dimensional
        Overwritten: for each class, each margin n_x of X, each margin n_y of Y and each number n
        from 0 to the largest margin of the class, the term of n rows with both states.
    """
    at = 0
    for c in range(len(totals)):
        own = margins[first[c] : first[c + 1]]
        for of_x in own:
            for of_y in own:
                least = min(of_x, of_y)
                share = totals[c] / of_y
                terms[at] = 0.0
                for n in range(1, least + 1):
                    terms[at + n] = n * math.log((n / of_x) * share)
                at += own[-1] + 1


@kernel(error_model="numpy")
def whole_information(
    cells: Floats,
    start: NDArray[np.int64],
    begin: NDArray[np.int64],
    step: NDArray[np.int64],
    most: NDArray[np.int64],
    total: float,
    terms: Floats,
    first: int,
    last: int,
    scores: Floats,
    valid: NDArray[np.bool_],
) -> None:
    """Write what `pair_information` writes where no value is missing and all counts are whole.

    The terms of the sum are looked up: to the same bits, as they are added in the same order.

    Parameters
    ----------
    cells
        As for `pair_information`.
    start : ndarray, shape (d + 1,)
        Offset of the states of each column among those of all columns.
    begin, step : ndarray, shape (n_groups, number of states of all columns)
        Offset in `terms` of the terms of each state of X, and from there of each state of Y.
    most : ndarray, shape (n_groups,)
        The largest margin of each class.
    total : float
        Number of rows.
    terms : ndarray
        As `information_terms` writes them.
    first, last : int
        The pairs with ``first <= i < last`` are computed.
    scores : ndarray, shape (d, d)
        Written at [i, j].
    valid : ndarray, shape (1,)
        Set to False if a count is not whole, or larger than every margin.
    """
    d, n_groups = len(start) - 1, len(begin)
    at = 0
    for i in range(first):
        at += n_groups * (start[i + 1] - start[i]) * (start[d] - start[i + 1])
    whole = True
    for i in range(first, last):
        for j in range(i + 1, d):
            found = 0.0
            for c in range(n_groups):
                for x in range(start[i], start[i + 1]):
                    for y in range(start[j], start[j + 1]):
                        n = np.int64(cells[at])
                        good = cells[at] == n and 0 <= n <= most[c]
                        found += terms[begin[c, x] + step[c, y] + n] if good else 0.0
                        whole &= good
                        at += 1
            scores[i, j] = max(found / total, 0.0)
    if not whole:
        valid[0] = False


@kernel()
def listed_information(
    cells: Floats,
    shapes: NDArray[np.int64],
    n_groups: int,
    scores: Floats,
    rows: Floats,
) -> None:
    """Write what `pair_information` writes of listed pairs; `shapes` has their numbers of states.

    Parameters
    ----------
    cells : ndarray, one-dimensional
        Tables of shape (n_groups, shapes[p, 0], shapes[p, 1]), one after the other.
    shapes : ndarray, shape (n_pairs, 2)
    n_groups : int
    scores, rows : ndarray, shape (n_pairs,)
    """
    at = 0
    of_y = np.empty(shapes[:, 1].max())
    for p in range(len(shapes)):
        r, s = shapes[p]
        size = n_groups * r * s
        scores[p], rows[p] = table_information(cells[at : at + size], n_groups, r, s, of_y)
        at += size


@kernel()
def table_information(
    cells: Floats, n_groups: int, r: int, s: int, of_y: Floats
) -> tuple[float, float]:
    """Return I(X; Y | C), as `conditional_mutual_information`, and the sum of the counts.

    `cells` has the counts of a table of shape (n_groups, r, s), in C order; `of_y`, of at least s
    entries, is overwritten.
    """
    found = total = 0.0
    for c in range(n_groups):
        table = cells[c * r * s : (c + 1) * r * s]
        of_y[:s] = 0.0
        for x in range(r):
            for y in range(s):
                of_y[y] += table[x * s + y]
        given = 0.0
        for y in range(s):
            given += of_y[y]
        total += given
        for y in range(s):
            of_y[y] = given / of_y[y] if of_y[y] > 0.0 else 0.0
        for x in range(r):
            of_x = 0.0
            for y in range(s):
                of_x += table[x * s + y]
            for y in range(s):
                n = table[x * s + y]
                if n > 0.0:
                    # Quotients before products: products may exceed the range of floats.
                    found += n * math.log((n / of_x) * of_y[y])
    return (max(found / total, 0.0) if total > 0.0 else 0.0), total


@kernel()
def spanning_forest(weights: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges i < j of a maximum spanning forest of a complete graph (Prim 1957).

    Of two edges of the same weight the one with the lower i, then j, is the heavier one, so that
    there is only one such forest.

    Parameters
    ----------
    weights : ndarray, shape (n, n)
        Weight of each edge at [i, j] with i < j; minus infinity where there is no edge.
    """
    n = len(weights)
    inside = np.zeros(n, dtype=np.bool_)
    best = np.full(n, -np.inf)  # the heaviest edge from each node to those inside
    left, right = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    found_left, found_right = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    n_found = 0
    for _ in range(n):
        at = -1
        for v in range(n):
            if not inside[v] and (
                at < 0
                or best[v] > best[at]
                or (best[v] == best[at] and (left[v], right[v]) < (left[at], right[at]))
            ):
                at = v
        inside[at] = True
        if best[at] > -np.inf:
            found_left[n_found], found_right[n_found] = left[at], right[at]
            n_found += 1
        for v in range(n):
            if not inside[v]:
                i, j = min(at, v), max(at, v)
                w = weights[i, j]
                if w > best[v] or (w == best[v] and w > -np.inf and (i, j) < (left[v], right[v])):
                    best[v], left[v], right[v] = w, i, j
    return found_left[:n_found], found_right[:n_found]
