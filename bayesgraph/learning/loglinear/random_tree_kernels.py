"""Kernel that grows the random trees of a tree average."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel

# Modulus and factor of the random numbers (Park, Miller, Stockmeyer 1993): their products are less
# than 2^47, so that both tiers of kernels compute them exactly.
_MODULUS, _FACTOR = 2147483647, 48271
# Expected number of copies from which a row is in every tree with its expected number.
_MANY = 32.0


@kernel()
def _below(state: NDArray[np.int64], n: int) -> int:
    """Return a random number of 0, ..., n - 1, and advance the generator's `state`, shape (1,)."""
    state[0] = state[0] * _FACTOR % _MODULUS
    return int(state[0] % n)


@kernel()
def _copies(state: NDArray[np.int64], expected: float) -> float:
    """Return a Poisson-distributed number of copies of a row, given the expected number.

    It is the first number whose cumulative probability exceeds a uniform random number; of many
    expected copies (`_MANY`) it is the expected number, rounded.
    """
    if expected >= _MANY:
        return float(np.floor(expected + 0.5))
    state[0] = state[0] * _FACTOR % _MODULUS
    remaining = state[0] / _MODULUS
    # `share` is the probability of so many copies; where it underflows to zero the loop ends.
    share, copies = np.exp(-expected), 0.0
    while remaining >= share and share > 0.0:
        remaining -= share
        copies += 1.0
        share *= expected / copies
    return copies


@kernel()
def _split(
    values: NDArray[np.uint8],
    labels: NDArray[np.int64],
    copies: Floats,
    rows: NDArray[np.int64],
    whole: Floats,
    is_ordered: bool,
    state: NDArray[np.int64],
    least: float,
    counts: Floats,
    order: NDArray[np.int64],
) -> tuple[float, int]:
    """Return the gain and the left states, as bits, of the best split on one feature.

    The gain is the sum over both sides of the squared counts of classes, divided by the count of
    the side; -1 if the feature is constant in the node, -2 if no split leaves the weight `least` on
    both sides. Categories are in the order of their share of a random class, which contains the
    best split if there are two classes (Breiman et al. 1984, theorem 4.5).

    Parameters
    ----------
    values : ndarray of uint8, shape (n_rows,)
        States of the feature.
    labels : ndarray of int, shape (n_rows,)
    copies : ndarray, shape (n_rows,)
        Weight of each row.
    rows : ndarray of int, one-dimensional
        Indices of the rows in the node.
    whole : ndarray, shape (n_classes,)
        Weight of each class in the node.
    is_ordered : bool
        Whether the states are intervals.
    state : ndarray of int, shape (1,)
        State of the random number generator.
    least : float
        Minimum weight of a side.
    counts : ndarray, shape (n_states, n_classes + 1)
        Overwritten: weights of the classes in each state; in the last column, of all of them.
    order : ndarray of int, one-dimensional
        Overwritten: the states that occur in the node, in the order in which they move to the left.
    """
    n_states, n_classes = counts.shape
    n_classes -= 1  # without the column of totals
    counts[:] = 0.0
    for i in rows:
        counts[values[i], labels[i]] += copies[i]
        counts[values[i], n_classes] += copies[i]
    n_present = 0
    for v in range(n_states):
        if counts[v, n_classes] > 0.0:
            order[n_present] = v
            n_present += 1
    if n_present < 2:
        return -1.0, 0
    if not is_ordered and n_present > 2:
        # A random class, or the next one that occurs in the node.
        c = _below(state, n_classes)
        while whole[c] == 0.0:
            c = (c + 1) % n_classes
        # Insertion sort of the states by their share of class c.
        for at in range(1, n_present):
            v, place = order[at], at
            share = counts[v, c] / counts[v, n_classes]
            while place > 0 and (
                counts[order[place - 1], c] / counts[order[place - 1], n_classes] > share
            ):
                order[place] = order[place - 1]
                place -= 1
            order[place] = v
    total = 0.0
    right_squares = 0.0
    for c in range(n_classes):
        total += whole[c]
        right_squares += whole[c] * whole[c]
    left_squares, left = 0.0, 0.0
    best, best_at = -2.0, 0
    # The counts of the left side replace those of the state that was moved last.
    for at in range(n_present - 1):
        v = order[at]
        before = order[at - 1]
        for c in range(n_classes):
            moved = counts[v, c]
            on_left = counts[before, c] if at > 0 else 0.0
            if moved > 0.0:
                on_right = whole[c] - on_left
                # (a + m)^2 - a^2 = m (2 a + m), and likewise for the side that loses m.
                left_squares += moved * (2.0 * on_left + moved)
                right_squares -= moved * (2.0 * on_right - moved)
            counts[v, c] = on_left + moved
        left += counts[v, n_classes]
        if left >= least and total - left >= least:
            gain = left_squares / left + right_squares / (total - left)
            # A gain must exceed the previous one by more than rounding errors.
            if gain > best + 1e-9 * total:
                best, best_at = gain, at
    bits = 0
    if best >= 0.0:
        for at in range(best_at + 1):  # these states move to the left
            bits |= 1 << int(order[at])
        if is_ordered:
            # Values that do not occur in this node go to the nearer side.
            low, high = int(order[best_at]), int(order[best_at + 1])
            for v in range((low + high) // 2 + 1):
                bits |= 1 << v
    return best, bits


@kernel(interpreted=False)
def grow(
    codes: NDArray[np.uint8],
    n_states: NDArray[np.int64],
    is_ordered: NDArray[np.bool_],
    is_missing: NDArray[np.bool_],
    cumulative: Floats,
    labels: NDArray[np.int64],
    expected: Floats,
    state: NDArray[np.int64],
    n_tried: int,
    least: float,
    feature: NDArray[np.int32],
    states: NDArray[np.int64],
    below: NDArray[np.int32],
    values: Floats,
) -> tuple[int, int]:
    """Grow one random tree (Breiman 2001) on a random sample of the rows.

    Each split is the one with the lowest Gini index among those of `n_tried` random features that
    are not constant in the node. A missing value is drawn from the feature's distribution, anew for
    each tree.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n_features, n_rows)
        States, 255 where missing.
    n_states : ndarray of int, shape (n_features,)
        At most 62.
    is_ordered : ndarray of bool, shape (n_features,)
        Whether the states are intervals.
    is_missing : ndarray of bool, shape (n_features,)
        Whether any value is missing.
    cumulative : ndarray, shape (n_features, maximum of n_states)
        Cumulative distribution of the states.
    labels : ndarray of int, shape (n_rows,)
    expected : ndarray, shape (n_rows,)
        Expected number of copies of each row in the sample.
    state : ndarray of int, shape (1,)
        State of the random number generator.
    n_tried : int
    least : float
        Minimum weight of a leaf.
    feature : ndarray of int32, shape (capacity,)
        Overwritten: the feature of each split, -1 at leaves.
    states : ndarray of int64, shape (capacity,)
        Overwritten: the states that go left, as bits.
    below : ndarray of int32, shape (capacity,)
        Overwritten: the left child node of a split (the right one follows), the index of a leaf.
    values : ndarray, shape (capacity of leaves, n_classes)
        Overwritten: the weight of each class at each leaf.

    Returns
    -------
    n_nodes, n_leaves : int
        Zero if the tree exceeds the capacity.
    """
    d, n = codes.shape
    n_classes = values.shape[1]
    filled = np.empty((d, n), dtype=np.uint8)
    copies, rows = np.empty(n), np.empty(n, dtype=np.int64)
    n_rows = 0
    for i in range(n):
        copies[i] = _copies(state, expected[i])
        if copies[i] > 0.0:
            rows[n_rows] = i
            n_rows += 1
    for j in range(d):
        for at in range(n_rows):
            i = rows[at]
            value = codes[j, i]
            if is_missing[j] and value == 255:  # drawn by inversion of the distribution
                state[0] = state[0] * _FACTOR % _MODULUS
                share = state[0] / _MODULUS
                value = 0
                while share >= cumulative[j, value]:
                    value += 1
            filled[j, i] = value
    candidates = np.arange(d)
    order = np.empty(64, dtype=np.int64)  # enough for 62 states
    counts = np.empty((n_states.max(), n_classes + 1))
    whole = np.empty(n_classes)
    # A stack of nodes to be split, each with the begin and end of its rows; see below.
    pending = np.empty((n_rows + 2, 3), dtype=np.int64)
    pending[0] = 0, 0, n_rows
    n_pending, n_nodes, n_leaves = 1, 1, 0
    while n_pending > 0:
        n_pending -= 1
        # A node, and its rows: those between two places of `rows`.
        node, start, stop = pending[n_pending]
        whole[:] = 0.0
        for at in range(start, stop):
            whole[labels[rows[at]]] += copies[rows[at]]
        total = whole.sum()
        best, chosen, bits = -1.0, -1, 0
        if whole.max() < total and total >= 2.0 * least:
            # Features are drawn without replacement: a drawn one moves behind those that remain.
            n_remaining, n_varying = d, 0
            while n_remaining > 0 and n_varying < n_tried:
                at = _below(state, n_remaining)
                n_remaining -= 1
                j = candidates[at]
                candidates[at] = candidates[n_remaining]
                candidates[n_remaining] = j
                gain, goes_left = _split(
                    filled[j],
                    labels,
                    copies,
                    rows[start:stop],
                    whole,
                    is_ordered[j],
                    state,
                    least,
                    counts[: n_states[j]],
                    order,
                )
                n_varying += gain != -1.0  # constant features do not count as tried
                if gain > best:
                    best, chosen, bits = gain, j, goes_left
        if chosen < 0:
            if n_leaves >= len(values):
                return 0, 0
            feature[node], states[node], below[node] = -1, 0, n_leaves
            values[n_leaves] = whole
            n_leaves += 1
            continue
        if n_nodes + 2 > len(feature):  # no space for two children
            return 0, 0
        # The rows of the left child come first: up to `first`, where those of the right one begin.
        first, last = start, stop - 1
        while first <= last:
            i = rows[first]
            if bits >> int(filled[chosen, i]) & 1:  # the bit of the row's state
                first += 1
            else:
                rows[first] = rows[last]
                rows[last] = i
                last -= 1
        feature[node], states[node], below[node] = chosen, bits, n_nodes
        pending[n_pending] = n_nodes, start, first
        pending[n_pending + 1] = n_nodes + 1, first, stop
        n_pending += 2
        n_nodes += 2
    return n_nodes, n_leaves
