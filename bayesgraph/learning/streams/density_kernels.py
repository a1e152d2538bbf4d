"""Loops of densities: intervals from summaries, and log densities of values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel
from bayesgraph.statistics import class_sums, most_probable_cuts

# ------------------------------------------------------------------ smooth shares of the cells

# Maximum degree of the polynomials.
MAX_DEGREES = 8
# Maximum span of an interval in standard deviations of the log ratio, if the gain of some degree
# exceeds the penalty, and if no gain does.
_SPAN, _FAINT = 0.3, 1.0
# Penalty per parameter, in nats of log likelihood.
PRICE = 2.0
# Misfit of the smooth distribution, in standard deviations of the likelihood-ratio statistic, above
# which the intervals of MODL are tried.
_DEVIATIONS = 3.0


@kernel(interpreted=False, error_model="numpy")
def _polynomials(share: Floats, place: Floats, out: Floats) -> int:
    """Write orthonormal polynomials evaluated at points; return the number of polynomials.

    `place` has the points and `share` their weights in the inner product. The degrees 1, 2, ... are
    along the first axis of `out`; degrees that too few distinct points do not have are left out.
    """
    n = len(share)
    before, now = np.zeros(n), np.ones(n)
    norm = 0.0
    for d in range(out.shape[0]):
        shift = 0.0
        for j in range(n):
            shift += share[j] * place[j] * now[j] * now[j]
        square = 0.0
        for j in range(n):
            out[d, j] = (place[j] - shift) * now[j] - norm * before[j]
            square += share[j] * out[d, j] * out[d, j]
        if square < 1e-8:
            return d
        norm = math.sqrt(square)
        for j in range(n):
            out[d, j] /= norm
            before[j], now[j] = now[j], out[d, j]
    return out.shape[0]


@kernel(interpreted=False, error_model="numpy")
def _solve(matrix: Floats, vector: Floats) -> None:
    """Solve a linear system with a symmetric positive definite matrix by Cholesky's decomposition.

    `vector` receives the solution, and the lower triangle of `matrix` the factor. For few equations
    this is faster than a call of LAPACK.
    """
    n = len(vector)
    for i in range(n):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = math.sqrt(max(rest, 1e-300)) if i == j else rest / matrix[j, j]
        for k in range(i):
            vector[i] -= matrix[i, k] * vector[k]
        vector[i] /= matrix[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            vector[i] -= matrix[k, i] * vector[k]
        vector[i] /= matrix[i, i]


@kernel(interpreted=False, error_model="numpy")
def _tilt(mean: Floats, weight: float, share: Floats, basis: Floats, out: Floats) -> float:
    """Write the distribution ``p_j exp(b . T_j) / Z`` in which the statistics T have given means.

    It is an exponential tilting of p. Newton's method finds the b that maximises the log likelihood
    per row of a class with these means, minus b^2 / (2 weight). This penalty keeps a class with few
    rows near p. Returns the maximum, the gain in log likelihood per row.

    Parameters
    ----------
    mean : ndarray, shape (degree,)
    weight : float
        Total weight of the rows of the class.
    share : ndarray, shape (n,)
        Probabilities p of the cells.
    basis : ndarray, shape (degree, n)
        Statistics T of the cells: orthonormal polynomials.
    out : ndarray, shape (n,)
    """
    degree, n = basis.shape
    gradient, curvature, expected = np.empty(degree), np.empty((degree, degree)), np.empty(degree)
    ridge = 1.0 / max(weight, 1.0)
    # The first step: without tilting, the gain is 0, and the orthonormal statistics have the mean 0
    # and the identity as their curvature.
    change = mean / (1.0 + ridge)
    change *= min(1.0, 2.0 / max(np.abs(change).sum(), 1e-300))
    beta, before, value = change.copy(), 0.0, 0.0
    for _ in range(60):
        maximum = -np.inf
        for j in range(n):
            out[j] = 0.0
            for d in range(degree):
                out[j] += beta[d] * basis[d, j]
            if share[j] > 0.0:
                maximum = max(maximum, out[j])
        total = 0.0
        for j in range(n):
            out[j] = share[j] * math.exp(min(out[j] - maximum, 0.0))
            total += out[j]
        value = -maximum - math.log(total)
        for d in range(degree):
            value += beta[d] * mean[d] - 0.5 * ridge * beta[d] * beta[d]
        for j in range(n):
            out[j] /= total
        if value < before - 1e-12:
            # The step was too long: half of it is taken back.
            for d in range(degree):
                change[d] /= 2.0
                beta[d] -= change[d]
            continue
        if value - before < 1e-8:
            break
        before = value
        for d in range(degree):
            expected[d] = 0.0
            for j in range(n):
                expected[d] += out[j] * basis[d, j]
        for d in range(degree):
            gradient[d] = mean[d] - expected[d] - ridge * beta[d]
            for e in range(d + 1):
                both = -expected[d] * expected[e]
                for j in range(n):
                    both += out[j] * basis[d, j] * basis[e, j]
                if d == e:
                    both += ridge + 1e-9
                curvature[d, e] = both
            change[d] = gradient[d]
        _solve(curvature, change)
        # Newton decrement: near the maximum it is twice the remaining gain.
        still = 0.0
        for d in range(degree):
            still += gradient[d] * change[d]
        if still < 1e-8:
            break
        # Far from the maximum a step may have a length of thousands, too long for ten halvings.
        change *= min(1.0, 2.0 / max(np.abs(change).sum(), 1e-300))
        for d in range(degree):
            beta[d] += change[d]
    return value


@kernel(interpreted=False, error_model="numpy")
def class_means(
    start: NDArray[np.int64],
    counts: Floats,
    pooled: Floats,
    score: Floats,
    out: Floats,
    first: int,
    last: int,
) -> None:
    """Write the mean of each polynomial of `smooth_cells` in each class.

    `out`, of shape (n_features, n_classes, n_degrees), is 0 for classes without rows, and NaN for
    degrees that a feature of few cells does not have.
    """
    for f in range(first, last):
        a, b = start[f], start[f + 1]
        out[f] = np.nan
        basis = np.empty((out.shape[2], b - a))
        for d in range(_polynomials(pooled[a:b], score[a:b], basis)):
            for k in range(counts.shape[1]):
                total = weight = 0.0
                for j in range(b - a):
                    total += counts[a + j, k] * basis[d, j]
                    weight += counts[a + j, k]
                out[f, k, d] = total / weight if weight > 0.0 else 0.0


@kernel(interpreted=False, error_model="numpy")
def smooth_cells(
    start: NDArray[np.int64],
    counts: Floats,
    pooled: Floats,
    score: Floats,
    means: Floats,
    shares: Floats,
    begins: NDArray[np.bool_],
    factorial: Floats,
    belief: Floats,
    first: int,
    last: int,
) -> None:
    """Smooth the class weights of the cells of features, and mark the first cell of each interval.

    The distribution of a class is that of all classes times the exponential of a polynomial in the
    normal score of the rank (Neyman's smooth alternatives). The degree of the polynomial maximises
    the gain in log likelihood, estimated by the score test, minus a penalty per parameter. Of the
    coefficients beyond this degree, the first few are kept, multiplied by the shrinkage factors
    `belief`. Neighbouring cells form one interval if the log ratio of each class to all classes
    varies in it by less than a fraction of the ratio's standard deviation. If the smooth shares do
    not fit the cells (likelihood-ratio test), the intervals of MODL replace them, provided that
    their gain is higher after the same penalty and a penalty for the choice of their cut points.

    Parameters
    ----------
    start : ndarray of int, shape (n_features + 1,)
    counts : ndarray, shape (n_cells, n_classes)
    pooled, score : ndarray, shape (n_cells,)
        Share of each cell in the weight of its feature, and normal score of its mean rank.
    means : ndarray, shape (n_features, n_classes, n_degrees)
        See `class_means`.
    shares : ndarray, shape (n_cells, n_classes)
        Receives the smoothed weights, which have the same class totals as the counts.
    begins : ndarray of bool, shape (n_cells,)
        Receives whether each cell is the first of an interval.
    factorial : ndarray
        Logs of the factorials of 0, 1, ...
    belief : ndarray, shape (n_degrees,)
        Shrinkage factors of the coefficients of the first degrees, see `intervals._belief`.
    first, last : int
        Range of the features to process; feature f has the cells from ``start[f]`` to ``start[f +
        1]``.
    """
    n_classes = counts.shape[1]
    for f in range(first, last):
        a, b = start[f], start[f + 1]
        n = b - a
        if n == 0:
            continue
        begins[a] = True
        totals, share = counts[a:b].sum(axis=0), pooled[a:b]
        if totals.sum() <= 0.0:
            continue
        basis = np.empty((min(means.shape[2], n), n))
        n_degrees = _polynomials(share, score[a:b], basis)
        mean = means[f, :, :n_degrees].copy()
        gain, best, degree = 0.0, 0.0, 0
        price = PRICE * (n_classes - 1)
        for d in range(n_degrees):
            for k in range(n_classes):
                gain += 0.5 * totals[k] * mean[k, d] * mean[k, d]
            if gain - price * (d + 1) > best:
                best, degree = gain - price * (d + 1), d + 1
        # Coefficients beyond the chosen degree are multiplied by the shrinkage factors.
        used = degree
        for d in range(degree, min(n_degrees, len(belief))):
            if belief[d] > 0.0:
                used = d + 1
            for k in range(n_classes):
                mean[k, d] *= belief[d]
        tilted = np.empty((n_classes, n))
        gain = 0.0
        for k in range(n_classes):
            if used and totals[k] > 0.0:
                gained = _tilt(mean[k, :used].copy(), totals[k], share, basis[:used], tilted[k])
                gain += totals[k] * gained if degree else 0.0
            else:
                tilted[k] = share
            for j in range(n):
                shares[a + j, k] = totals[k] * tilted[k, j]
        if used:
            _mark_intervals(tilted, share, totals, _SPAN if degree else _FAINT, begins[a:b])
        steps = np.ones(n, dtype=np.bool_)
        sums = np.rint(class_sums(counts[a:b]))
        # Twice the gain by separate cells is about chi-squared if the smooth distribution is right.
        free = max((n - 1 - degree) * (n_classes - 1), 0)
        lack = 2.0 * (_gain_of_steps(sums, steps) - gain)
        if lack <= free + _DEVIATIONS * math.sqrt(2.0 * free):
            continue
        most_probable_cuts(sums, factorial, steps)
        # The penalty of a cut point includes ln n for its choice among n cell bounds.
        cost = (price + math.log(n)) * (steps.sum() - 1)
        if _gain_of_steps(sums, steps) - cost > gain - price * degree:
            begins[a:b] = steps
            shares[a:b] = counts[a:b]


@kernel(interpreted=False, error_model="numpy")
def _gain_of_steps(sums: Floats, begins: NDArray[np.bool_]) -> float:
    """Return the gain in log likelihood by class-specific instead of pooled probabilities.

    The probabilities are those of intervals. `sums` has cumulative class weights of the cells,
    `begins` marks the first cells of intervals.
    """
    n, n_classes = len(begins), sums.shape[1]
    gain, weight = 0.0, sums[n].sum()
    i = 0
    while i < n:
        end = i + 1
        while end < n and not begins[end]:
            end += 1
        total = 0.0
        for k in range(n_classes):
            total += sums[end, k] - sums[i, k]
        for k in range(n_classes):
            held = sums[end, k] - sums[i, k]
            if held > 0.0:
                gain += held * math.log(held / sums[n, k] * weight / total)
        i = end
    return gain


@kernel(interpreted=False, error_model="numpy")
def _mark_intervals(
    tilted: Floats, share: Floats, totals: Floats, width: float, begins: NDArray[np.bool_]
) -> None:
    """Mark the first cell of each interval, so that log ratios vary little within an interval.

    The log ratio of a class is log(tilted / share), its distribution relative to that of all
    classes. Its range within an interval is at most `width` times its standard deviation.
    """
    n_classes, n = tilted.shape
    logs = np.zeros((n_classes, n))
    span = np.zeros(n_classes)
    for k in range(n_classes):
        if totals[k] <= 0.0:
            span[k] = np.inf
            continue
        mean, square = 0.0, 0.0
        for j in range(n):
            if share[j] > 0.0:
                # Lower bound: cells with hardly any rows of a class count as equal.
                logs[k, j] = max(math.log(max(tilted[k, j], 1e-300) / share[j]), -30.0)
            mean += share[j] * logs[k, j]
            square += share[j] * logs[k, j] * logs[k, j]
        span[k] = width * math.sqrt(max(square - mean * mean, 1e-300))
    low, high = np.empty(n_classes), np.empty(n_classes)
    low[:], high[:] = np.inf, -np.inf
    for j in range(n):
        out = False
        for k in range(n_classes):
            minimum, maximum = min(low[k], logs[k, j]), max(high[k], logs[k, j])
            out = out or maximum - minimum > span[k]
        if out:
            begins[j] = True
            low[:], high[:] = logs[:, j], logs[:, j]
        else:
            for k in range(n_classes):
                low[k], high[k] = min(low[k], logs[k, j]), max(high[k], logs[k, j])


# ------------------------------------------------------------------------------ log densities

# Minimum of a Gaussian's log density, so that scores of extreme values stay finite.
_MIN_LOG = -1e100
# Number of features whose log densities are written together: they fill a cache line.
_TOGETHER = 8


@kernel(interpreted=False)
def log_intervals(
    columns: Floats,
    start: NDArray[np.int64],
    cuts: Floats,
    logs: Floats,
    out: Floats,
    first: int,
    last: int,
) -> None:
    """Write the log probability of each number's interval in each class, 0 for missing values.

    Intervals are counted, cut by cut, over contiguous rows: as they are few, this is faster than a
    binary search with its branches.

    Parameters
    ----------
    columns : ndarray, shape (n_features, n)
    start : ndarray of int, shape (n_features + 1,)
    cuts : ndarray, shape (n_intervals,)
        Upper bound of each interval, inclusive; infinite for the last interval of a feature.
        Feature f has the intervals from ``start[f]`` to ``start[f + 1]``.
    logs : ndarray, shape (n_intervals, n_classes)
    out : ndarray, shape (n, n_classes, >= n_features)
    first, last : int
        Range of the features.
    """
    n, n_classes = columns.shape[1], logs.shape[1]
    # Several features are written together, because rows of the output are far apart in memory.
    place = np.empty((_TOGETHER, n))
    for begin in range(first, last, _TOGETHER):
        end = min(last, begin + _TOGETHER)
        for f in range(begin, end):
            numbers, at_first = columns[f], place[f - begin]
            at_first[:] = start[f]
            for cut in cuts[start[f] : start[f + 1]]:
                for row in range(n):
                    at_first[row] += 1.0 if numbers[row] > cut else 0.0
        for row in range(n):
            for f in range(begin, end):
                at = int(place[f - begin, row])
                there = columns[f, row] == columns[f, row] and start[f] < start[f + 1]
                for k in range(n_classes):
                    out[row, k, f] = logs[at, k] if there else 0.0


@kernel(interpreted=False)
def log_gaussians(
    columns: Floats, mean: Floats, variance: Floats, out: Floats, first: int, last: int
) -> None:
    """Write the log density of each number in each class, 0 for missing values.

    Parameters
    ----------
    columns : ndarray, shape (n_features, n)
    mean, variance : ndarray, shape (n_features, n_classes)
        A variance of 0 marks a feature without values, whose log density is 0.
    out : ndarray, shape (n, n_classes, >= n_features)
    first, last : int
        Range of the features.
    """
    for f in range(first, last):
        for k in range(mean.shape[1]):
            spread = variance[f, k]
            half = 0.5 / spread if spread > 0.0 else 0.0
            constant = -0.5 * math.log(2.0 * math.pi * spread) if spread > 0.0 else 0.0
            for row in range(columns.shape[1]):
                away = columns[f, row] - mean[f, k]
                log = max(constant - half * away * away, _MIN_LOG)
                out[row, k, f] = log if away == away else 0.0
