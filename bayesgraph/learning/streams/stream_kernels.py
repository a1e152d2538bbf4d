"""Loops of densities: intervals from summaries, and log densities of values."""

from __future__ import annotations

import math
from typing import NamedTuple

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
    # Three-term recurrence: T_{d+1} is (x - shift) T_d - norm T_{d-1}, normalised; T_0 is 1.
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
        # Only rounding errors are left: there are no more distinct points than degrees before.
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
            left = matrix[i, j]  # what the earlier columns of the factor leave of the entry
            for k in range(j):
                left -= matrix[i, k] * matrix[j, k]
            # The bound keeps pivots positive in spite of rounding.
            matrix[i, j] = math.sqrt(max(left, 1e-300)) if i == j else left / matrix[j, j]
        # Forward substitution; the loop below substitutes backward.
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
    # Steps have at most the length 2 (sum of absolute values), see below.
    change *= min(1.0, 2.0 / max(np.abs(change).sum(), 1e-300))
    beta, before, value = change.copy(), 0.0, 0.0
    for _ in range(60):  # a bound on steps and halvings together
        maximum = -np.inf
        for j in range(n):
            out[j] = 0.0
            for d in range(degree):
                out[j] += beta[d] * basis[d, j]
            if share[j] > 0.0:  # other cells have no part in the sum
                maximum = max(maximum, out[j])
        # The penalised gain is b . mean - log Z - ridge b^2 / 2, with Z = sum_j p_j exp(b . T_j).
        total = 0.0
        for j in range(n):
            # Minus the maximum, a bound for empty cells too: no exponential overflows.
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
        # The curvature is the covariance of T plus the ridge; `_solve` needs its lower triangle.
        for d in range(degree):
            gradient[d] = mean[d] - expected[d] - ridge * beta[d]
            for e in range(d + 1):
                entry = -expected[d] * expected[e]
                for j in range(n):
                    entry += out[j] * basis[d, j] * basis[e, j]
                if d == e:
                    entry += ridge + 1e-9  # positive definite in spite of rounding
                curvature[d, e] = entry
            change[d] = gradient[d]
        _solve(curvature, change)
        # Newton decrement: near the maximum it is twice the remaining gain.
        decrement = 0.0
        for d in range(degree):
            decrement += gradient[d] * change[d]
        if decrement < 1e-8:
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
    degrees that a feature of few cells does not have. The other arguments are those of
    `smooth_cells`.
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
        Feature f has the cells from ``start[f]`` to ``start[f + 1] - 1``.
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
    belief : ndarray, shape (`densities._BELIEVED`,)
        Shrinkage factors of the coefficients of the first degrees, see `densities._belief`.
    first, last : int
        Range of the features to process.
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
        # Score test: the statistics of degree d gain half the squared mean per row of a class.
        gain, best, degree = 0.0, 0.0, 0
        price = PRICE * (n_classes - 1)
        for d in range(n_degrees):
            for k in range(n_classes):
                gain += 0.5 * totals[k] * mean[k, d] * mean[k, d]
            if gain - price * (d + 1) > best:
                best, degree = gain - price * (d + 1), d + 1
        # Coefficients beyond the chosen degree are multiplied by the shrinkage factors. The first
        # `used` coefficients are kept.
        used = degree
        for d in range(degree, min(n_degrees, len(belief))):
            if belief[d] > 0.0:
                used = d + 1
            for k in range(n_classes):
                mean[k, d] *= belief[d]
        tilted = np.empty((n_classes, n))
        # From here on the exact gain, not its estimate; shrunken coefficients alone claim none.
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
        # At first each cell is an interval of its own; below, the cuts of MODL. The class weights
        # are cumulative, shape (n + 1, n_classes), and rounded, as MODL needs whole numbers.
        steps = np.ones(n, dtype=np.bool_)
        sums = np.rint(class_sums(counts[a:b]))
        # If the smooth distribution is right, twice the further gain by separate cells is about
        # chi-squared, with the mean `freedom` and the variance 2 `freedom`.
        freedom = max((n - 1 - degree) * (n_classes - 1), 0)
        misfit = 2.0 * (_gain_of_steps(sums, steps) - gain)
        if misfit <= freedom + _DEVIATIONS * math.sqrt(2.0 * freedom):
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

    The probabilities are those of intervals. `sums`, shape (n + 1, n_classes), has cumulative class
    weights of the cells, from 0 on; `begins`, shape (n,), marks the first cells of intervals.
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
                # Log of p(interval | class) / p(interval).
                gain += held * math.log(held / sums[n, k] * weight / total)
        i = end
    return gain


@kernel(interpreted=False, error_model="numpy")
def _mark_intervals(
    tilted: Floats, share: Floats, totals: Floats, width: float, begins: NDArray[np.bool_]
) -> None:
    """Mark the first cell of each further interval; log ratios vary little within an interval.

    The caller has marked the first cell. The log ratio of a class is log(tilted / share), its
    distribution relative to that of all classes: `tilted`, shape (n_classes, n), and `share`, (n,),
    sum to one over the n cells. Its range within an interval is at most `width` times its standard
    deviation. A class whose total is 0 bounds nothing.
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
        is_too_wide = False
        for k in range(n_classes):
            minimum, maximum = min(low[k], logs[k, j]), max(high[k], logs[k, j])
            is_too_wide = is_too_wide or maximum - minimum > span[k]
        if is_too_wide:
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
    # Index of each number's interval; as floats, which the comparisons below are added to.
    place = np.empty((_TOGETHER, n))
    for begin in range(first, last, _TOGETHER):
        end = min(last, begin + _TOGETHER)
        for f in range(begin, end):
            numbers, interval = columns[f], place[f - begin]
            interval[:] = start[f]
            for cut in cuts[start[f] : start[f + 1]]:
                for row in range(n):
                    interval[row] += 1.0 if numbers[row] > cut else 0.0
        for row in range(n):
            for f in range(begin, end):
                at = int(place[f - begin, row])
                # NaN differs from itself. A feature without values so far has no intervals.
                is_known = columns[f, row] == columns[f, row] and start[f] < start[f + 1]
                for k in range(n_classes):
                    out[row, k, f] = logs[at, k] if is_known else 0.0


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
                out[row, k, f] = log if away == away else 0.0  # NaN differs from itself


# ----------------------------------------- Loops of streaming exponents: one gradient step per row


# Modes: which exponents are learned.
FIXED, VARIABLE, CLASS, MIXED = -1, 0, 1, 2
# Root mean square range of log densities, in nats, above which adaptive steps become shorter.
_RANGE = 2.0


class Steps(NamedTuple):
    """Arrays that gradient steps modify: exponents and biases, their averages, and step sizes.

    Attributes
    ----------
    shared, squares, mean_shared : ndarray, shape (n_features,)
        Exponents that the classes share, sums of their squared gradients, and averaged exponents.
    own, own_squares, mean_own : ndarray, shape (n_classes, n_features)
        The same for the deviations of each class.
    bias, bias_squares, mean_bias : ndarray, shape (n_classes,)
        The same for the biases.
    ranges, own_ranges : ndarray, shape (n_features,)
        Sums over rows of two squares: the squared range of the log densities over the classes, and
        the squared maximum distance of the log densities from their means.
    observed : ndarray, shape (n_features,)
        Number of rows that observe each feature.
    """

    shared: Floats
    squares: Floats
    mean_shared: Floats
    ranges: Floats
    own_ranges: Floats
    observed: Floats
    own: Floats
    own_squares: Floats
    mean_own: Floats
    bias: Floats
    bias_squares: Floats
    mean_bias: Floats


@kernel(interpreted=False)
def add_weights(classes: NDArray[np.int64], weights: Floats, decay: float, totals: Floats) -> None:
    """Add the weight of each row to the total of its class, after a decay of all totals.

    Parameters
    ----------
    classes, weights : ndarray, shape (n,)
    decay : float
    totals : ndarray, shape (n_classes,)
        Modified in place.
    """
    for row in range(len(classes)):
        for k in range(len(totals)):
            totals[k] *= decay
        totals[classes[row]] += weights[row]


@kernel(interpreted=False)
def log_prior(totals: Floats, smoothing: float, out: Floats) -> None:
    """Write the log prior of each class, from total weights plus a pseudo-count of each class."""
    total = totals.sum() + len(totals) * smoothing
    for k in range(len(totals)):
        out[k] = math.log((totals[k] + smoothing) / total)


@kernel(interpreted=False)
def normalise(scores: Floats) -> None:
    """Replace log scores of the classes of one row by normalised probabilities, in place."""
    maximum = scores.max()  # subtracted, so that no exponential overflows
    total = 0.0
    for k in range(len(scores)):
        scores[k] = math.exp(scores[k] - maximum)
        total += scores[k]
    for k in range(len(scores)):
        scores[k] /= total


@kernel(interpreted=False, fastmath={"reassoc", "contract", "nsz"})
def add_scores(logs: Floats, shared: Floats, deviations: Floats, out: Floats) -> None:
    """Add ``sum_f (shared_f + own_kf) logs_kf`` of one row to the score of each class.

    Parameters
    ----------
    logs, deviations : ndarray, shape (n_classes, n_features)
    shared : ndarray, shape (n_features,)
    out : ndarray, shape (n_classes,)
    """
    for k in range(logs.shape[0]):
        total = 0.0
        for f in range(logs.shape[1]):
            total += (shared[f] + deviations[k, f]) * logs[k, f]
        out[k] += total


# No operation may be reordered or fused here: files store these sums, and a compiler would decide
# depending on inlining, which can differ between installations.
@kernel(interpreted=False, fastmath={"nsz"})
def _add_ranges(
    logs: Floats,
    centre: Floats,
    mode: int,
    steps: Steps,
    away: Floats,
    scratch: Floats,
) -> None:
    """Add the squared ranges of one row's log densities to the sums in `steps`; see `learn_rows`.

    Also writes `away`, shape (n_classes, n_features): log densities minus their means, 0 where a
    value is missing. `scratch`, shape (2, n_features), is working memory.
    """
    n_classes, n_features = logs.shape
    low, high = scratch[0], scratch[1]
    # A missing value has the log density 0 in all classes.
    for f in range(n_features):
        steps.observed[f] += 1.0 if logs[0, f] != 0.0 else 0.0
    if mode != CLASS:  # shared exponents are learned
        low[:] = logs[0]
        high[:] = logs[0]
        for k in range(1, n_classes):
            for f in range(n_features):
                low[f] = min(low[f], logs[k, f])
                high[f] = max(high[f], logs[k, f])
        for f in range(n_features):
            steps.ranges[f] += (high[f] - low[f]) ** 2
    if mode != VARIABLE:  # class-specific exponents are learned
        high[:] = 0.0
        for k in range(n_classes):
            for f in range(n_features):
                away[k, f] = logs[k, f] - centre[k, f] if logs[k, f] != 0.0 else 0.0
                high[f] = max(high[f], abs(away[k, f]))
        for f in range(n_features):
            steps.own_ranges[f] += high[f] * high[f]


# `error_model="numpy"` omits checks for zero divisors, which prevent vectorised divisions and
# roots.
@kernel(interpreted=False, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _move(
    logs: Floats,
    error: Floats,
    centre: Floats,
    mode: int,
    step: float,
    own_step: float,
    adaptive: bool,
    minimum: float,
    steps: Steps,
    away: Floats,
    scratch: Floats,
) -> None:
    """Take one gradient step for one row; see `learn_rows`.

    `error` holds P - T of each class: its posterior, minus 1 for the true class. `away` holds log
    densities minus their means, as the bias absorbs the means. `scratch`, shape (2, n_features), is
    working memory.
    """
    n_classes, n_features = logs.shape
    gradient, scale = scratch[0], scratch[1]
    shared, deviations, bias, observed = steps.shared, steps.own, steps.bias, steps.observed
    if mode != CLASS:  # shared exponents
        squares, ranges = steps.squares, steps.ranges
        for f in range(n_features):
            gradient[f] = 0.0
        for k in range(n_classes):
            e = error[k]
            for f in range(n_features):
                gradient[f] += e * logs[k, f]
        if adaptive:
            for f in range(n_features):
                squares[f] += gradient[f] * gradient[f]
                # The mean squared range as a multiple of `_RANGE` squared, at least 1.
                width = max(1.0, ranges[f] / (_RANGE * _RANGE * max(1.0, observed[f])))
                shared[f] -= step * gradient[f] / math.sqrt(squares[f] * width)
        else:
            for f in range(n_features):
                shared[f] -= step * gradient[f]
        if minimum > -np.inf:
            for f in range(n_features):
                shared[f] = max(shared[f], minimum)
    if mode != VARIABLE:  # class-specific exponents
        own_squares, own_ranges = steps.own_squares, steps.own_ranges
        for f in range(n_features):
            scale[f] = max(1.0, own_ranges[f] / (_RANGE * _RANGE * max(1.0, observed[f])))
        for k in range(n_classes):
            e = error[k]
            # What the changes of exponents take from the score at the mean log densities, which the
            # bias gives back.
            lost = 0.0
            if adaptive:
                for f in range(n_features):
                    g = e * away[k, f]
                    own_squares[k, f] += g * g
                    change = own_step * g / math.sqrt(own_squares[k, f] * scale[f])
                    deviations[k, f] -= change
                    lost += change * centre[k, f]
            else:
                for f in range(n_features):
                    deviations[k, f] -= own_step * e * logs[k, f]
            bias[k] += lost
            if minimum > -np.inf:  # a bound of the exponent, the sum of both
                for f in range(n_features):
                    deviations[k, f] = max(deviations[k, f], minimum - shared[f])
    for k in range(n_classes):
        if adaptive:
            steps.bias_squares[k] += error[k] * error[k]
            bias[k] -= step * error[k] / math.sqrt(steps.bias_squares[k])
        else:
            bias[k] -= step * error[k]


@kernel(interpreted=False, error_model="numpy")
def learn_rows(
    logs: Floats,
    classes: NDArray[np.int64],
    weights: Floats,
    centre: Floats,
    mode: int,
    step: float,
    own_step: float,
    adaptive: bool,
    minimum: float,
    smoothing: float,
    totals: Floats,
    clock: Floats,
    steps: Steps,
    decay: float,
    out: Floats,
) -> None:
    """Take one gradient step on the negative log likelihood of each row, in the order of the rows.

    With the posterior P_k, the indicator T_k of the true class and e_k = P_k - T_k, the gradients
    are sum_k e_k log p_k for an exponent that the classes share, e_k log p_k for an exponent of a
    class, and e_k for a bias. Adaptive steps are those of AdaGrad, divided by the root mean square
    of the feature's ranges if that is above 2 nats: a step then changes scores by a similar amount
    for all units of the densities (the normalised updates of Ross, Mineiro, Langford 2013 divide by
    the maximum value).

    Parameters
    ----------
    logs : ndarray, shape (n, n_classes, n_features)
        Log densities as they were before the rows were learned.
    classes, weights : ndarray, shape (n,)
    centre : ndarray, shape (n_classes, n_features)
        Approximate means of the log densities.
    mode : int
        Which exponents are learned: VARIABLE, CLASS or MIXED; with FIXED rows are only predicted.
    step, own_step : float
        Step sizes of shared exponents and biases, and of class-specific exponents; if `adaptive`,
        divided by the root of the sum of squared gradients.
    adaptive : bool
    minimum : float
        Minimum of the exponents.
    smoothing : float
        Pseudo-count of each class in the prior.
    totals : ndarray, shape (n_classes,)
        Total weight of each class so far, modified in place.
    clock : ndarray, shape (2,)
        Number t of steps, and the exponent a of the weight t^a of step t in averages; modified in
        place.
    steps : Steps
        Modified in place.
    decay : float
        Factor of the weights of all earlier rows after each row.
    out : ndarray, shape (n, n_classes) or (0, n_classes)
        Receives the class probabilities by the averaged model before each row, if requested.
    """
    n, n_classes, n_features = logs.shape
    error = np.empty(n_classes)
    prior = np.empty(n_classes)
    away, scratch = np.empty((n_classes, n_features)), np.empty((2, n_features))
    shared, deviations, bias = steps.shared, steps.own, steps.bias
    mean_shared, mean_own, mean_bias = steps.mean_shared, steps.mean_own, steps.mean_bias
    for row in range(n):
        log_prior(totals, smoothing, prior)
        if len(out):
            for k in range(n_classes):
                out[row, k] = prior[k] + mean_bias[k]
            add_scores(logs[row], mean_shared, mean_own, out[row])
            normalise(out[row])
        add_weights(classes[row : row + 1], weights[row : row + 1], decay, totals)
        if mode == FIXED:
            continue
        for k in range(n_classes):
            error[k] = prior[k] + bias[k]
        add_scores(logs[row], shared, deviations, error)
        normalise(error)
        # The posterior minus the indicator of the true class.
        error[classes[row]] -= 1.0
        for k in range(n_classes):
            error[k] *= weights[row]
        clock[0] += 1.0
        if adaptive:
            _add_ranges(logs[row], centre, mode, steps, away, scratch)
        _move(
            logs[row], error, centre, mode, step, own_step, adaptive, minimum, steps, away, scratch
        )
        # The share of step t in an average with weights of about t^a.
        share = (1.0 + clock[1]) / (clock[0] + clock[1])
        for f in range(n_features):
            mean_shared[f] += share * (shared[f] - mean_shared[f])
        for k in range(n_classes):
            mean_bias[k] += share * (bias[k] - mean_bias[k])
            if mode != VARIABLE:
                for f in range(n_features):
                    mean_own[k, f] += share * (deviations[k, f] - mean_own[k, f])


@kernel(interpreted=False)
def score_rows(
    logs: Floats,
    totals: Floats,
    smoothing: float,
    bias: Floats,
    shared: Floats,
    deviations: Floats,
    out: Floats,
) -> None:
    """Write the log scores (unnormalised log posterior) of the classes for rows, (n, n_classes).

    See `log_prior` for `totals` and `smoothing`, and `add_scores` for `shared` and `deviations`;
    `bias` is added to the log priors.
    """
    prior = np.empty(len(totals))
    log_prior(totals, smoothing, prior)
    for row in range(len(logs)):
        for k in range(len(prior)):
            out[row, k] = prior[k] + bias[k]
        add_scores(logs[row], shared, deviations, out[row])


# -------------------------- Compiled loops of drift detectors: one pass over a sequence of numbers


@kernel(interpreted=False)
def _joined_squares(n: float, total: float, n2: float, total2: float) -> float:
    """Return the increase of the sum of squared deviations when two groups are joined.

    `n` and `n2` are the counts of the groups, `total` and `total2` their sums.
    """
    return n * n2 / (n + n2) * (total / n - total2 / n2) ** 2


@kernel(interpreted=False)
def _push(
    x: float, counts: NDArray[np.int64], totals: Floats, squares: Floats, window: Floats
) -> None:
    """Add a number as the newest bucket, and restore the maximum number of buckets of each size.

    While a size has too many buckets, its two oldest are joined to one of the next size.

    For the arrays, which are modified in place, see `update_adwin`.
    """
    n = window[0]
    if n > 0.0:
        window[2] += _joined_squares(n, window[1], 1.0, x)
    window[0], window[1] = n + 1.0, window[1] + x
    maximum = totals.shape[1] - 1
    total, square, level = x, 0.0, 0
    while True:
        at = counts[level]
        totals[level, at], squares[level, at] = total, square
        counts[level] += 1
        # No stream is so long that the last level, of buckets of the largest size, is full.
        if counts[level] <= maximum or level + 1 == len(counts):
            return
        size = 2.0**level
        total = totals[level, 0] + totals[level, 1]
        square = squares[level, 0] + squares[level, 1]
        square += _joined_squares(size, totals[level, 0], size, totals[level, 1])
        for i in range(2, counts[level]):
            totals[level, i - 2], squares[level, i - 2] = totals[level, i], squares[level, i]
        counts[level] -= 2
        level += 1


@kernel(interpreted=False)
def _drop_oldest(
    counts: NDArray[np.int64], totals: Floats, squares: Floats, window: Floats
) -> None:
    """Remove the oldest bucket, the first of the highest level, from the buckets and the window.

    `window` has the number of values, their sum, and their sum of squared deviations.
    """
    level = len(counts) - 1
    while counts[level] == 0:
        level -= 1
    size, total, square = 2.0**level, totals[level, 0], squares[level, 0]
    for i in range(1, counts[level]):
        totals[level, i - 1], squares[level, i - 1] = totals[level, i], squares[level, i]
    counts[level] -= 1
    window[0] -= size
    window[1] -= total
    if window[0] > 0.0:
        lost = square + _joined_squares(size, total, window[0], window[1])
        window[2] = max(0.0, window[2] - lost)
    else:
        window[1], window[2] = 0.0, 0.0


@kernel(interpreted=False)
def _cut(
    delta: float, min_length: int, counts: NDArray[np.int64], totals: Floats, window: Floats
) -> int:
    """Test every cut of the window into an older and a newer part by ADWIN's bound.

    Return 1 if the newer part has a significantly higher mean at some cut, -1 if a significantly
    lower one, and 0 if no cut is significant. For the arguments see `update_adwin`.
    """
    n, whole = window[0], window[1]
    # ln(2 / delta') of equation 3.1, with delta' = delta / ln n for the number of cuts.
    doubt = math.log(2.0 * math.log(n) / delta)
    variance = window[2] / n
    before, below = 0.0, 0.0  # count and sum of the older part
    for level in range(len(counts) - 1, -1, -1):
        for i in range(counts[level]):
            before += 2.0**level
            below += totals[level, i]
            after = n - before
            if after < min_length:
                return 0
            if before < min_length:
                continue
            # The minimum length is subtracted, so that differences of a few numbers are not
            # significant.
            share = 1.0 / (before - min_length + 1.0) + 1.0 / (after - min_length + 1.0)
            bound = math.sqrt(2.0 * share * variance * doubt) + 2.0 / 3.0 * share * doubt
            change = (whole - below) / after - below / before
            if abs(change) > bound:
                return 1 if change > 0.0 else -1
    return 0


@kernel(interpreted=False)
def update_adwin(
    values: Floats,
    delta: float,
    clock: int,
    min_length: int,
    grace: int,
    up: bool,
    down: bool,
    counts: NDArray[np.int64],
    totals: Floats,
    squares: Floats,
    window: Floats,
    flags: NDArray[np.bool_],
) -> None:
    """Add numbers to an adaptive window (ADWIN), and mark those that cause an alarm in `flags`.

    Parameters
    ----------
    values : ndarray, shape (n,)
    delta : float
    clock, min_length, grace : int
        Parameters of `ADWIN`.
    up, down : bool
        Whether an increase or a decrease of the mean is an alarm.
    counts : ndarray of int, shape (n_levels,)
        Number of buckets at each level; a bucket holds 2**level numbers.
    totals, squares : ndarray, shape (n_levels, max_buckets + 1)
        Sums, and sums of squared deviations, of the numbers in each bucket, oldest first.
    window : ndarray, shape (4,)
        Count, sum, and sum of squared deviations of the numbers in the window; count of all
        numbers so far.
    flags : ndarray of bool, shape (n,)
        All False before; receives True for each number that causes an alarm.
    """
    for row in range(len(values)):
        _push(values[row], counts, totals, squares, window)
        window[3] += 1.0
        if int(window[3]) % clock or window[0] <= grace:
            continue
        while True:
            direction = _cut(delta, min_length, counts, totals, window)
            if direction == 0:
                break
            if (direction > 0 and up) or (direction < 0 and down):
                flags[row] = True
            _drop_oldest(counts, totals, squares, window)
