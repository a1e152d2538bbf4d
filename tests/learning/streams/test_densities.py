"""The second layer against plain implementations, and against what is true of known densities."""

import numpy as np
import pytest
from cutting import equal_width, mdlp, modl
from scipy import stats
from scipy.optimize import minimize
from sklearn.datasets import load_iris

from bayesgraph.learning.streams import stream_kernels as kernels
from bayesgraph.learning.streams.densities import (
    GaussianDensities,
    IntervalDensities,
    StateDensities,
    _belief,
    smoothed_logs,
    value_groups,
)
from bayesgraph.learning.streams.settings import StreamSettings
from bayesgraph.statistics import (
    FrequentValues,
    GaussianSummary,
    GKSummary,
    PiDSummary,
    Smoothing,
    cell_factorials,
)

METHODS = ("smooth", "width", "frequency", "mdlp", "modl", "kmeans")


def intervals(summary, method, bins, alpha):
    smoothing = Smoothing(alpha=alpha)
    return IntervalDensities.of(
        summary, StreamSettings(discretizer=method, bins=bins, smoothing=smoothing)
    )


def gaussians(summary, shrinkage, var_smoothing):
    smoothing = Smoothing(shrinkage=shrinkage, var_smoothing=var_smoothing)
    return GaussianDensities.of(summary, StreamSettings(smoothing=smoothing))


def noisy(n=800, n_values=60, n_classes=3, seed=0):
    """Return few distinct values, and classes that depend on them in steps."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=n) * 8) / 8
    y = (np.digitize(x, [-0.7, 0.4]) + (rng.random(n) < 0.3) * rng.integers(0, 3, n)) % n_classes
    return x, y


def partition(densities, values, feature=0):
    """Return the interval of each value."""
    a, b = densities.start[feature : feature + 2]
    return np.searchsorted(densities.cuts[a : b - 1], values, side="left")


def probabilities(densities, feature=0):
    a, b = densities.start[feature : feature + 2]
    return np.exp(densities.logs[a:b])


# ---------------------------------------------------------------------------- exact summaries


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["modl", "mdlp", "width"])
def test_intervals_are_those_of_the_rows_where_all_values_are_known(seed, method):
    x, y = noisy(seed=seed)
    found = intervals(GKSummary(1, 3).update(x, y), method, 10, 1.0)
    rows = {"modl": lambda: modl(x, y, 3).cuts, "mdlp": lambda: mdlp(x, y, 3)}
    cuts = rows.get(method, lambda: equal_width(x, 10))()
    values = np.unique(x)
    expected = np.searchsorted(cuts, values, side="left")
    np.testing.assert_array_equal(partition(found, values), expected)
    assert len(cuts) > 0
    # And their probabilities are those of the rows.
    counts = np.zeros((len(cuts) + 1, 3))
    np.add.at(counts, (np.searchsorted(cuts, x, side="left"), y), 1)
    np.testing.assert_allclose(
        probabilities(found), (counts + 1) / (counts.sum(axis=0) + len(counts)), rtol=1e-12
    )


def test_iris_has_the_published_cuts():
    X, y = load_iris(return_X_y=True)
    found = intervals(GKSummary(4, 3, size=150).update(X, y), "modl", 10, 1.0)
    for j in range(4):
        expected = modl(X[:, j], y, 3).cuts
        a, b = found.start[j : j + 2]
        values = np.unique(X[:, j])
        np.testing.assert_array_equal(
            np.searchsorted(found.cuts[a : b - 1], values), np.searchsorted(expected, values)
        )


# ------------------------------------------------------------------------ unsupervised methods


def plain_frequency(weight, most):
    """Begin an interval with each cell before which the weight is nearest to a share of all."""
    below = np.cumsum(weight)[:-1]
    shares = weight.sum() * np.arange(1, most) / most
    return [0, *np.unique(np.abs(below - shares[:, None]).argmin(axis=1) + 1).tolist()]


def plain_kmeans(weight, place, most):
    label = np.zeros(len(weight), dtype=int)
    label[plain_frequency(weight, most)[1:]] = 1
    label = np.cumsum(label)
    for _ in range(50):
        used = np.unique(label)
        centres = np.array(
            [np.average(place[label == c], weights=weight[label == c]) for c in used]
        )
        new = np.abs(place[:, None] - centres).argmin(axis=1)
        if np.array_equal(np.diff(new) > 0, np.diff(label) > 0):
            break
        label = new
    return [0, *(np.flatnonzero(np.diff(new)) + 1).tolist()]


@pytest.mark.parametrize("most", [2, 5, 10])
@pytest.mark.parametrize("method", ["frequency", "kmeans"])
def test_unsupervised_methods_equal_plain_ones(method, most):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=2000), rng.exponential(size=2000), rng.random(2000)])
    summary = GKSummary(3, 2, size=60).update(X, rng.integers(0, 2, 2000))
    found = intervals(summary, method, most, 1.0)
    cells = summary.cells()
    for j in range(3):
        at = np.arange(*cells.start[j : j + 2])
        counts, cuts = cells.counts[at], cells.cuts(at)
        weight = counts.sum(axis=1)
        if method == "frequency":
            begins = plain_frequency(weight, most)
        else:
            part = slice(*cells.start[j : j + 2])
            begins = plain_kmeans(weight, (cells.low[part] + cells.high[part]) / 2, most)
        a, b = found.start[j : j + 2]
        np.testing.assert_array_equal(found.cuts[a : b - 1], cuts[np.array(begins[1:]) - 1])
        sums = np.add.reduceat(counts, begins)
        np.testing.assert_allclose(
            probabilities(found, j), (sums + 1) / (sums.sum(axis=0) + len(sums)), rtol=1e-12
        )
        assert len(begins) == most
        if method == "frequency":
            assert np.abs(sums.sum(axis=1) - 2000 / most).max() <= 2 * weight.max()


def test_means_find_what_lies_apart():
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(c, 0.1, n) for c, n in ((0, 400), (5, 400), (6, 450))])
    summary = GKSummary(1, 1, size=100).update(x, np.zeros(1250, dtype=int))
    cuts = intervals(summary, "kmeans", 3, 1.0).cuts[:-1]
    assert 0.1 < cuts[0] < 4.9
    assert 5.2 < cuts[1] < 5.8


# ------------------------------------------------------------------------------------- smooth


def plain_smooth(counts):
    """Return smoothed weights, the degree and where intervals begin, with NumPy and SciPy."""
    totals, pooled = counts.sum(axis=0), counts.sum(axis=1)
    share = pooled / pooled.sum()
    place = stats.norm.ppf(np.cumsum(share) - share / 2)
    root = np.sqrt(share)
    q, r = np.linalg.qr(root[:, None] * np.vander(place, 9, increasing=True))
    basis = (q * np.sign(np.diag(r))).T[1:] / root
    mean = (counts / totals).T @ basis.T
    gains = np.cumsum((0.5 * totals[:, None] * mean**2).sum(axis=0))
    gains -= kernels.PRICE * (counts.shape[1] - 1) * np.arange(1, 9)
    degree = int(gains.argmax()) + 1 if gains.max() > 0 else 0
    logs = np.zeros((len(totals), len(share)))
    for k, total in enumerate(totals):

        def loss(b, k=k, total=total):
            z = np.log(share @ np.exp(b @ basis[:degree]))
            return z - b @ mean[k, :degree] + b @ b / (2 * total)

        if degree:
            b = minimize(loss, np.zeros(degree), tol=1e-12).x
            logs[k] = b @ basis[:degree] - np.log(share @ np.exp(b @ basis[:degree]))
    return (share * np.exp(logs)).T * totals, degree, logs, share


def plain_intervals(logs, share):
    mean = logs @ share
    span = kernels._SPAN * np.sqrt((logs - mean[:, None]) ** 2 @ share)
    begins, first = [0], 0
    for j in range(1, len(share)):
        part = logs[:, first : j + 1]
        if (np.ptp(part, axis=1) > span).any():
            begins.append(j)
            first = j
    return begins


def normal_scores(cells):
    """Return the share of each cell of its feature, and the normal score of its mean rank."""
    parts = np.split(cells.counts.sum(axis=1), cells.start[1:-1])
    shares = [part / part.sum() for part in parts]
    places = [stats.norm.ppf(np.cumsum(share) - share / 2) for share in shares]
    return np.concatenate(shares), np.concatenate(places)


def class_means(cells_of):
    means = np.empty((len(cells_of[0]) - 1, cells_of[1].shape[1], kernels.MAX_DEGREES))
    kernels.class_means(*cells_of, means, 0, len(means))
    return means


def smoothed(cells):
    held, begins = np.zeros(cells.counts.shape), np.zeros(len(cells.counts), dtype=bool)
    n = len(cells.start) - 1
    unbelieved = np.zeros(2)
    factorial = cell_factorials(cells.start, cells.counts)
    cells_of = (cells.start, cells.counts, *normal_scores(cells))
    means = class_means(cells_of)
    kernels.smooth_cells(*cells_of, means, held, begins, factorial, unbelieved, 0, n)
    return held, begins


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_smooth_weights_equal_plain_ones(n_classes):
    rng = np.random.default_rng(3)
    n, d = 4000, 6
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, d)) * (1 + 0.3 * y[:, None] * (np.arange(d) % 2))
    X += np.linspace(0.1, 0.5, d) * y[:, None]
    cells = GKSummary(d, n_classes, size=60).update(X, y).cells()
    held, begins = smoothed(cells)
    degrees = []
    for j in range(d):
        part = slice(*cells.start[j : j + 2])
        expected, degree, logs, share = plain_smooth(cells.counts[part])
        degrees.append(degree)
        np.testing.assert_allclose(held[part], expected, rtol=1e-3, atol=1e-3)
        assert np.flatnonzero(begins[part]).tolist() == plain_intervals(logs, share)
        np.testing.assert_allclose(held[part].sum(axis=0), cells.counts[part].sum(axis=0))
    assert max(degrees) >= 2
    assert min(degrees) >= 1


def test_smooth_recovers_the_log_ratio_of_gaussians():
    """log N(x; 1/2, s) / N(x; -1/2, 1) is a parabola."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 20000)
    x = rng.normal(np.where(y, 0.5, -0.5), np.where(y, 1.4, 1.0))
    found = intervals(GKSummary(1, 2).update(x, y), "smooth", 10, 1.0)
    at = partition(found, x)
    ratio = found.logs[at, 1] - found.logs[at, 0]
    true = stats.norm.logpdf(x, 0.5, 1.4) - stats.norm.logpdf(x, -0.5, 1.0)
    # Intervals span 0.3 standard deviations, which leaves an error of about that over root 12.
    assert np.sqrt(np.mean((ratio - true) ** 2)) < 0.2 * true.std()


def test_smooth_takes_steps_where_there_are_steps():
    rng = np.random.default_rng(5)
    x = rng.random(20000)
    y = (rng.random(20000) < np.where((x > 0.31) & (x < 0.36), 0.9, 0.4)).astype(int)
    summary = GKSummary(1, 2).update(x, y)
    smooth, steps = (intervals(summary, m, 10, 1.0) for m in ("smooth", "modl"))
    np.testing.assert_array_equal(smooth.cuts, steps.cuts)
    # Rows are added to equal shares by MODL, to those of all classes by the other.
    np.testing.assert_allclose(smooth.logs, steps.logs, rtol=0.01)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("method", ["smooth", "modl", "mdlp"])
@pytest.mark.parametrize(
    "summary", [GKSummary(100, 2), PiDSummary(100, 2)], ids=lambda s: type(s).__name__
)
def test_what_tells_nothing_is_one_interval(summary, method):
    rng = np.random.default_rng(6)
    summary = summary.copy().update(rng.normal(size=(5000, 100)), rng.integers(0, 2, 5000))
    found = intervals(summary, method, 10, 1.0)
    # A parameter that must gain 2 nats does by chance in 1 of 20 features, and there are several.
    most = {"smooth": 15, "modl": 3, "mdlp": 5}[method]
    assert (np.diff(found.start) > 1).sum() <= most
    ratio, share = found.logs[:, 1] - found.logs[:, 0], np.exp(found.logs).mean(axis=1)
    assert share @ ratio**2 / 100 < 2e-3


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("strength", "least", "most"), [(0.0, 0.0, 0.05), (0.5, 0.15, 0.4), (2.0, 0.25, 0.67)]
)
def test_faint_features_are_believed_by_what_they_gain_together(strength, least, most):
    """Effects of r times the variance of their estimates are shrunk by r / (1 + r), about."""
    rng = np.random.default_rng(11)
    n, d = 400, 2000
    y = np.arange(n) % 2
    effects = rng.normal(size=d) * np.sqrt(strength * 4 / n)
    X = rng.normal(size=(n, d)) + y[:, None] * effects
    cells = GKSummary(d, 2).update(X, y).cells()
    means = class_means((cells.start, cells.counts, *normal_scores(cells)))
    place, spread = _belief(cells.start, cells.counts, means)
    # Strong ones are above the price, and leave a weaker sample.
    assert least <= place <= most
    assert spread < 0.1


def test_many_faint_features_tell_the_class_together():
    rng = np.random.default_rng(12)
    n, d = 300, 400
    y = rng.integers(0, 2, 2 * n)
    X = rng.normal(size=(2 * n, d)) + 0.15 * y[:, None] * rng.choice([-1, 1], d)
    found = intervals(GKSummary(d, 2).update(X[:n], y[:n]), "smooth", 10, 1.0)
    out = np.empty((n, 2, d))
    found.write(np.ascontiguousarray(X[n:].T), out)
    assert (out.sum(axis=2).argmax(axis=1) == y[n:]).mean() > 0.75


# -------------------------------------------------------------------------------- all methods


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [GKSummary, PiDSummary])
def test_probabilities_sum_to_one_whatever_was_seen(kind, method):
    rng = np.random.default_rng(7)
    summary = kind(5, 4)  # the last class has no rows, the fourth feature no values
    X, y = rng.normal(size=(600, 5)), rng.integers(0, 3, 600)
    X[:, 3], X[:, 4] = np.nan, 7.0
    X[rng.random(600) < 0.2, 0] = np.nan
    X[:, 1] += y
    summary.update(X, y)
    found = intervals(summary, method, 5, 1.0)
    for j in (0, 1, 2, 4):
        np.testing.assert_allclose(probabilities(found, j).sum(axis=0), 1.0)
    assert np.diff(found.start)[3:].tolist() == [0, 1]
    assert np.isfinite(found.logs).all()
    assert np.isfinite(found.centre).all()
    assert found.n_features == 5
    for j in (0, 1):
        p = probabilities(found, j)
        seen = np.bincount(y[~np.isnan(X[:, j])], minlength=4) + len(p)
        # A class without rows: all intervals alike, or with the shares of all classes.
        expected = p @ seen / seen.sum() if method == "smooth" else 1 / len(p)
        np.testing.assert_allclose(p[:, 3], expected, rtol=1e-9)
    # What is written is the logarithm of each number's interval, 0 where it is missing.
    out = np.empty((600, 4, 5))
    found.write(np.ascontiguousarray(X.T), out)
    assert (out[:, :, 3] == 0.0).all()
    for j in (0, 1, 2, 4):
        logs = np.log(probabilities(found, j))[partition(found, X[:, j], j)]
        np.testing.assert_allclose(out[:, :, j], np.where(np.isnan(X[:, j])[:, None], 0.0, logs))


@pytest.mark.parametrize("method", METHODS)
def test_one_class_and_one_row(method):
    for summary in (GKSummary(1, 1), PiDSummary(1, 1)):
        assert intervals(summary, method, 5, 1.0).cuts.tolist() == []
        summary.update([3.0], [0])
        assert intervals(summary, method, 5, 1.0).cuts.tolist() == [np.inf]
        summary.update(np.arange(50.0), np.zeros(50, dtype=int))
        found = intervals(summary, method, 5, 1.0)
        np.testing.assert_allclose(probabilities(found).sum(), 1.0)


def test_smoothed_logs_are_those_of_the_formula():
    counts = np.array([[3.0, 0.0], [1.0, 2.0], [0.0, 5.0]])
    logs, centre = smoothed_logs(np.array([0, 2, 2, 3]), counts, 0.5)
    np.testing.assert_allclose(np.exp(logs), [[3.5 / 5, 0.5 / 3], [1.5 / 5, 2.5 / 3], [1.0, 1.0]])
    expected = (3 * logs[0] + 3 * logs[1]) / 6
    np.testing.assert_allclose(centre, np.column_stack([expected, [0, 0], [0, 0]]))


def test_a_class_without_rows_is_like_all_rows_until_the_next_look():
    rng = np.random.default_rng(13)
    y = rng.integers(0, 2, 3000)
    X = np.where(y[:, None], 2.0, -1.0) + rng.normal(size=(3000, 2)) * (1 + y[:, None])
    X[:, 1] = np.nan
    shares = np.bincount(y) / len(y)
    steps = intervals(GKSummary(2, 2).update(X, y), "modl", 10, 1.0)
    gauss = gaussians(GaussianSummary(2, 2).update(X, y), 0.0, 1e-9)
    states = StateDensities.of([np.array([[3.0, 1.0], [1.0, 5.0]]), np.zeros((0, 2))], 2, 1.0)
    for found, columns in ((steps, X.T), (gauss, X.T), (states, np.array([[0, 1], [-1, -1]]))):
        wide = found.copy()
        wide.widen(4, 4, shares)
        assert type(found).from_arrays(wide.arrays(), 4, 4).n_features == 4
        before = np.empty((columns.shape[1], 2, 2))
        found.write(np.ascontiguousarray(columns), before)
        after = np.empty((columns.shape[1], 4, 4))
        more = np.full((2, columns.shape[1]), -1 if found is states else 0.5, dtype=columns.dtype)
        wide.write(np.concatenate([columns, more]), after)
        np.testing.assert_array_equal(after[:, :2, :2], before)
        assert (after[:, :, 2:] == 0.0).all()
        np.testing.assert_array_equal(after[:, 2], after[:, 3])
        np.testing.assert_allclose(wide.centre[:2, :2], found.centre)
        if found is gauss:
            expected = stats.norm.logpdf(X[:, 0], X[:, 0].mean(), X[:, 0].std())
            np.testing.assert_allclose(wide.centre[2, 0], expected.mean(), rtol=1e-6)
        else:
            expected = np.log(np.exp(before[:, :, 0]) @ shares)
        np.testing.assert_allclose(after[:, 2, 0], expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("shift", [0.0, 1.7e9])
def test_the_variance_of_a_class_that_comes_later_does_not_depend_on_where_zero_is(shift):
    x, y = np.array([0.0, 1.0, 2.0, 4.0]), np.array([0, 0, 1, 1])
    found = gaussians(GaussianSummary(1, 2).update(x + shift, y), 0.0, 1e-9)
    found.widen(1, 3, np.array([0.5, 0.5]))
    np.testing.assert_allclose(found.variance[0, 2], x.var(), rtol=1e-6)


# ------------------------------------------------------------------------------ other densities


def test_gaussians_shrink_towards_all_classes():
    rng = np.random.default_rng(8)
    y = np.repeat([0, 1], [500, 4])
    x = rng.normal(np.where(y, 3.0, 0.0), np.where(y, 2.0, 1.0))
    summary = GaussianSummary(1, 3).update(x, y)
    found = gaussians(summary, 20.0, 1e-9)
    within = sum(((x[y == k] - x[y == k].mean()) ** 2).sum() for k in (0, 1))
    for k in (0, 1):
        square = ((x[y == k] - x[y == k].mean()) ** 2).sum()
        expected = (square + 20.0 * within / 504) / ((y == k).sum() + 20.0)
        np.testing.assert_allclose(found.variance[0, k], expected, rtol=1e-6)
        np.testing.assert_allclose(found.mean[0, k], x[y == k].mean())
    np.testing.assert_allclose(found.mean[0, 2], x.mean())
    np.testing.assert_allclose(found.variance[0, 2], x.var(), rtol=1e-6)
    out = np.empty((504, 3, 1))
    found.write(x[None], out)
    expected = stats.norm.logpdf(x[:, None], found.mean[0], np.sqrt(found.variance[0]))
    np.testing.assert_allclose(out[:, :, 0], expected)
    # The centre is the mean log density of the rows.
    np.testing.assert_allclose(found.centre[:, 0], expected.mean(axis=0), rtol=1e-9)


def test_states_and_groups_are_looked_up():
    tables = [np.array([[4.0, 0.0], [0.0, 4.0]]), np.zeros((0, 2))]
    rng = np.random.default_rng(9)
    keys, y = rng.integers(0, 20, 3000) * 7, rng.integers(0, 2, 3000)
    y = np.where((keys < 70) & (rng.random(3000) < 0.8), 0, y)
    sketch = FrequentValues(2, size=25)
    sketch.absorb(keys, y, np.empty(0))
    sketch.absorb(np.arange(1000, 1400), np.arange(400) % 2, np.empty(0))
    known, places, counts = value_groups(sketch)
    np.testing.assert_allclose(counts.sum(axis=0), sketch.totals)
    assert counts.shape == (3, 2)
    assert set(places[known < 70]) == {0}
    assert set(places[(known >= 70) & (known < 1000)]) == {1}
    found = StateDensities.of(tables, 2, 1.0, {1: sketch})
    assert found.groups(0) is None
    columns = np.array([[0, 1, -1, 5], [0, 133, -1, 999_999]])
    before, out = columns.copy(), np.empty((4, 2, 3))
    found.write(columns, out[:, :, 1:])
    np.testing.assert_array_equal(columns, before)
    np.testing.assert_allclose(np.exp(out[0, :, 1]), [5 / 6, 1 / 6])
    assert not out[2:, :, 1].any()
    logs = found.logs[found.start[1] :]
    np.testing.assert_array_equal(out[:, :, 2], [logs[0], logs[1], [0, 0], logs[2]])
    again = StateDensities(**found.arrays())
    again.write(columns, (again_out := np.empty((4, 2, 3)))[:, :, 1:])
    np.testing.assert_array_equal(again_out[:, :, 1:], out[:, :, 1:])


def test_a_value_that_has_faded_is_among_all_others():
    sketch = FrequentValues(2, size=25)
    keys = np.repeat([1, 2, 3], [60, 60, 4])
    sketch.absorb(keys, (keys > 1).astype(np.int64), np.empty(0))
    listed, places, _ = value_groups(sketch)
    assert (listed.tolist(), places.tolist()) == ([1, 2, 3], [0, 1, 1])
    sketch.fade(0.1)
    listed, places, counts = value_groups(sketch)
    assert (listed.tolist(), places.tolist()) == ([1, 2], [0, 1])
    np.testing.assert_allclose(counts, [[6.0, 0.0], [0.0, 6.0], [0.0, 0.4]])


@pytest.mark.parametrize("method", ["modl", "smooth"])
def test_a_long_stream_needs_no_table_of_factorials(method):
    # Twenty million rows: a table of their factorials would outgrow the model a hundred times.
    random = np.random.default_rng(3)
    values = np.r_[random.normal(size=400), random.normal(size=400) + 2.0]
    classes = np.repeat([0, 1], 400)
    few = GKSummary(1, 2).update(values, classes)
    many = GKSummary(1, 2).update(values, classes, np.full(800, 25_000.0))
    cells = many.cells()
    assert len(cell_factorials(cells.start, cells.counts)) == 0
    found, expected = (intervals(s, method, 10, 1.0) for s in (many, few))
    assert np.isfinite(found.logs).all()
    assert len(found.cuts) >= len(expected.cuts) > 1
