"""Kernels that pass messages along sequences of slices, in both directions.

Slice n of all sequences, one after the other, has a vector of likelihoods of the K joint states of
what it hands on, and a matrix from the states that the slice before hands on; all are scaled. The
first slice of a sequence has no matrix, unless the sequence goes on from an earlier piece. The
functions do not check their arguments.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel


class Slices(NamedTuple):
    """The slices of sequences, one after the other.

    Attributes
    ----------
    matrices : ndarray, shape (n_matrices, ...)
        Factors over the variables of two slices, without those of a single slice.
    which : ndarray, shape (n,)
        The index of the matrix into each slice, -1 for none.
    vectors : ndarray, shape (n, K)
        Likelihoods of the states of each slice; of numbers, the targets of its matrix.
    starts : ndarray, shape (n_sequences + 1,)
        Numbers of the first slices.
    """

    matrices: Floats
    which: NDArray[np.int64]
    vectors: Floats
    starts: NDArray[np.int64]


def _steps(slices: Slices, *others: Any) -> int:
    return int(len(slices.which) * slices.matrices.shape[1] * slices.matrices.shape[2])


@kernel(work=_steps, error_model="numpy")
def forward(slices: Slices, first: Floats, out: Floats, logs: Floats) -> None:
    """Write the filtered distribution of each slice to `out`, and add log masses to `logs`.

    Parameters
    ----------
    slices : Slices
        With matrices of shape (n_matrices, K, K).
    first : ndarray, shape (n_sequences, K)
        Distributions before the first slice, for sequences whose first slice has a matrix.
    out : ndarray, shape (n, K)
        Zeros from where the evidence is impossible.
    logs : ndarray, shape (n,)
    """
    matrices, which, likelihood, starts = slices
    n_states = likelihood.shape[1]
    for s in range(len(starts) - 1):
        for n in range(starts[s], starts[s + 1]):
            w = which[n]
            before = first[s] if n == starts[s] else out[n - 1]
            row = out[n]
            # w < 0: no matrix, the slice's likelihoods include its prior. Otherwise row = before @
            # matrix.
            for j in range(n_states):
                row[j] = 1.0 if w < 0 else 0.0
            for i in range(n_states if w >= 0 else 0):
                share = before[i]
                for j in range(n_states):
                    row[j] += share * matrices[w, i, j]
            total = 0.0
            for j in range(n_states):
                row[j] *= likelihood[n, j]
                total += row[j]
            logs[n] += math.log(total) if total > 0.0 else -math.inf
            for j in range(n_states):
                row[j] /= total if total > 0.0 else 1.0


@kernel(work=_steps, error_model="numpy")
def backward(slices: Slices, last: Floats, out: Floats) -> None:
    """Write to `out` how likely each state makes what follows its slice, up to a factor.

    The parameters are those of `forward`; `last` is what `out` gets in the last slices of the
    sequences, shape (n_sequences, K). Each other vector is scaled to a maximum of one.
    """
    matrices, which, likelihood, starts = slices
    n_states = likelihood.shape[1]
    weights = np.empty(n_states)
    for s in range(len(starts) - 1):
        for n in range(starts[s + 1] - 1, starts[s] - 1, -1):
            if n == starts[s + 1] - 1:
                out[n] = last[s]
                continue
            matrix = matrices[which[n + 1]]
            for j in range(n_states):
                weights[j] = likelihood[n + 1, j] * out[n + 1, j]
            largest = 0.0
            for i in range(n_states):
                total = 0.0
                for j in range(n_states):
                    total += matrix[i, j] * weights[j]
                out[n, i] = total
                largest = max(largest, total)
            if largest > 0.0:
                for i in range(n_states):
                    out[n, i] /= largest


@kernel(work=_steps, error_model="numpy")
def best_path(slices: Slices, path: NDArray[np.int64], logs: Floats) -> None:
    """Write the most probable states to `path`, and their log probabilities to `logs`.

    Matrices and likelihoods are logarithms here (Viterbi 1967); ties go to the first state. `path`
    has shape (n,), and `logs` (n_sequences,).
    """
    matrices, which, likelihood, starts = slices
    n_states = likelihood.shape[1]
    # For each slice and state, the state before it on the best path there.
    back = np.zeros((np.diff(starts).max(), n_states), dtype=np.int32)
    values, new = np.empty(n_states), np.empty(n_states)
    for s in range(len(starts) - 1):
        begin, end = starts[s], starts[s + 1]
        for n in range(begin, end):
            if n == begin:
                values[:] = likelihood[n]
                continue
            matrix = matrices[which[n]]
            for j in range(n_states):
                best, at = -np.inf, 0
                for i in range(n_states):
                    value = values[i] + matrix[i, j]
                    if value > best:
                        best, at = value, i
                new[j] = best + likelihood[n, j]
                back[n - begin, j] = at
            values[:] = new
        at = int(np.argmax(values))
        logs[s] = values[at]
        for n in range(end - 1, begin - 1, -1):
            path[n] = at
            at = back[n - begin, at]


@kernel(work=_steps, error_model="numpy")
def sweep(
    slices: Slices,
    into: NDArray[np.int64],
    order: NDArray[np.int64],
    is_forward: bool,
    first: Floats,
    out: Floats,
    logs: Floats,
) -> None:
    """Pass Gaussian messages along sequences, as square roots of information (Bierman 1977).

    A factor is ``exp(-|A x - b|^2 / 2)``. The rows of a message and of a slice are reflected until
    each variable that leaves is in one row, whose integral is ``sqrt(2 pi) / |r|``; the others are
    triangular. Columns of zeros are of what is observed or is in no slice.

    Parameters
    ----------
    slices : Slices
        Matrices A over the w variables of two slices, shape (n_matrices, m, w), and vectors b.
    into : ndarray, shape (d,)
        Columns of the variables of the message that comes in.
    order : ndarray, shape (w,)
        Columns that leave, then those of the message that goes out.
    is_forward : bool
    first : ndarray, shape (n_sequences, d, d + 1)
        Messages to the first slices; zeros for none.
    out : ndarray, shape (n, d, d + 1)
        Messages: A and b. Backward those from the slices behind; zeros for the last.
    logs : ndarray, shape (n,)
        Logs of the constants are added.
    """
    loadings, which, targets, starts = slices
    m, w, d = loadings.shape[1], loadings.shape[2], len(into)
    # Rows of the message, then of the slice; the last column is b.
    work = np.zeros((d + m, w + 1))
    for s in range(len(starts) - 1):
        for k in range(starts[s + 1] - starts[s]):
            n = starts[s] + k if is_forward else starts[s + 1] - 1 - k
            if not is_forward and n == starts[s]:
                continue
            # The factor of slice n takes the message of n - 1 to n, or that of n to n - 1.
            source, end = (n - 1, n) if is_forward else (n, n - 1)
            work[:] = 0.0
            message = first[s] if is_forward and n == starts[s] else out[source]
            for i in range(d):
                for j in range(d):
                    work[i, into[j]] = message[i, j]
                work[i, w] = message[i, d]
            for i in range(m):
                work[d + i, :w] = loadings[which[n], i]
                work[d + i, w] = targets[n, i]
            out[end] = 0.0
            # Rows above `top` are done; the first `kept` of the outgoing message are written.
            top, kept = 0, 0
            for c in range(w):
                column = order[c]
                largest, at = 0.0, top
                for i in range(top, d + m):
                    if abs(work[i, column]) > largest:
                        largest, at = abs(work[i, column]), i
                if largest == 0.0:
                    continue
                for j in range(w + 1):
                    work[top, j], work[at, j] = work[at, j], work[top, j]
                square = 0.0  # relative to the largest entry, so that it does not overflow
                for i in range(top, d + m):
                    square += (work[i, column] / largest) ** 2
                norm = math.sqrt(square) * largest
                # The sign opposite to that of the entry: `head` below has no cancellation.
                if work[top, column] > 0.0:
                    norm = -norm
                # The Householder reflection takes the column to (norm, 0, ..., 0). The square of
                # its vector, which is (head, the column below), is -2 norm head.
                head = work[top, column] - norm
                for j in range(w + 1):
                    if j != column:
                        product = head * work[top, j]
                        for i in range(top + 1, d + m):
                            product += work[i, column] * work[i, j]
                        share = -product / (norm * head)
                        work[top, j] -= share * head
                        for i in range(top + 1, d + m):
                            work[i, j] -= share * work[i, column]
                work[top, column] = norm
                work[top + 1 :, column] = 0.0
                if c < w - d:
                    # The variable leaves: half the log of 2 pi, less that of |r|.
                    logs[end] += 0.9189385332046727 - math.log(abs(norm))
                else:
                    for j in range(d):
                        out[end, kept, j] = work[top, order[w - d + j]]
                    out[end, kept, d] = work[top, w]
                    kept += 1
                top += 1
            # The rows that are left have no variables: each is a factor exp(-b^2 / 2).
            logs[end] -= 0.5 * np.sum(work[top:, w] ** 2)
