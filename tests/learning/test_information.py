"""Scores of pairs against their formulas, written out with NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import mutual_info_score

import bayesgraph as bg
from bayesgraph.learning.information import (
    conditional_mutual_information,
    discrete_scores,
    gaussian_scores,
    mixed_scores,
)
from bayesgraph.statistics import Pairs, Smoothing

PLAIN = Smoothing(alpha=0.0, shrinkage=0.0, var_smoothing=0.0)

tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4)),
    elements=st.integers(0, 6).map(float),
)


def by_hand(counts):
    """Return I(X; Y | C) term by term."""
    total = counts.sum()
    result = 0.0
    for c, x, y in np.ndindex(counts.shape):
        if counts[c, x, y] > 0:
            joint = counts[c, x, y] / counts[c].sum()
            product = counts[c, x].sum() * counts[c, :, y].sum() / counts[c].sum() ** 2
            result += counts[c, x, y] / total * np.log(joint / product)
    return result


@given(tables)
def test_conditional_mutual_information(counts):
    found = conditional_mutual_information(counts)
    assert found == pytest.approx(by_hand(counts), abs=1e-12)
    assert found >= 0
    np.testing.assert_allclose(
        conditional_mutual_information(counts.swapaxes(1, 2)), found, atol=1e-12
    )
    # A count is a number of rows or a share of them.
    np.testing.assert_allclose(conditional_mutual_information(counts / 7), found, atol=1e-12)
    cells = np.log(min(counts.shape[1:]))
    assert found <= cells + 1e-12


@given(st.integers(0, 2**16))
def test_conditional_mutual_information_of_scikit_learn(seed):
    random = np.random.default_rng(seed)
    c, x, y = random.integers(3, size=(3, 50))
    y = np.where(random.random(50) < 0.3, x, y)
    counts = np.zeros((3, 3, 3))
    np.add.at(counts, (c, x, y), 1)
    expected = sum(
        (c == k).mean() * mutual_info_score(x[c == k], y[c == k])
        for k in range(3)
        if (c == k).any()
    )
    assert conditional_mutual_information(counts) == pytest.approx(expected, abs=1e-12)


def test_stacked_tables():
    random = np.random.default_rng(0)
    stack = random.integers(5, size=(6, 2, 3, 4)).astype(float)
    found = conditional_mutual_information(stack)
    np.testing.assert_allclose(found, [by_hand(counts) for counts in stack], atol=1e-14)


# ---------------------------------------------------------------------- columns of a table


def make_source(seed=0, n=120, missing=0.0, weighted=False):
    """Return a source with class, two discrete and three continuous columns, and its arrays."""
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n)
    s = (random.integers(3, size=n) + y) % 3
    t = np.where(random.random(n) < 0.5, s, random.integers(4, size=n))
    u = random.normal(size=n) + y
    v = 0.8 * u + 0.5 * random.normal(size=n) * (1 + y)
    w = random.normal(size=n) * (1 + t) + s
    numbers = [u, v, w]
    codes = [s.astype(float), t.astype(float)]
    for column in (*numbers, *codes):
        column[random.random(n) < missing] = np.nan
    weights = random.uniform(0.2, 2, size=n) if weighted else np.ones(n)
    frame = {"y": y}
    frame |= {"s": codes[0], "t": codes[1]} | dict(zip("uvw", numbers, strict=True))
    source = bg.learning.count_source(
        frame, "y", categorical=["s", "t"], sample_weight=weights if weighted else None
    )
    return source, y, codes, numbers, weights


def summary_of(source):
    columns = tuple(v for v in source.variables if v != source.target)
    return source.pairs(Pairs(columns, source.target))


every_kind = pytest.mark.parametrize(
    ("missing", "weighted"), [(0.0, False), (0.25, False), (0.0, True), (0.25, True)]
)


@every_kind
def test_scores_of_discrete_pairs(missing, weighted):
    source, y, (s, t), _, weights = make_source(missing=missing, weighted=weighted)
    scores, rows = discrete_scores(summary_of(source))
    whole = ~np.isnan(s) & ~np.isnan(t)
    counts = np.zeros((3, 3, 4))
    at = (y[whole], s[whole].astype(int), t[whole].astype(int))
    np.add.at(counts, at, weights[whole])
    assert scores[0, 1] == scores[1, 0] == pytest.approx(by_hand(counts), rel=1e-12)
    assert rows[0, 1] == pytest.approx(weights[whole].sum())
    assert not np.diag(scores).any()


def correlation(x, z, w):
    """Return the correlation of two columns of weighted rows."""
    covariance = np.cov(x, z, aweights=w, ddof=0)
    return covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])


@every_kind
def test_scores_of_gaussian_pairs(missing, weighted):
    source, y, _, numbers, weights = make_source(missing=missing, weighted=weighted)
    scores, rows = gaussian_scores(summary_of(source), PLAIN, np.zeros(3))
    for i in range(3):
        for j in range(3):
            if i == j:
                assert scores[i, j] == 0
                continue
            whole = ~np.isnan(numbers[i]) & ~np.isnan(numbers[j])
            expected = 0.0
            for k in range(3):
                part = whole & (y == k)
                rho = correlation(numbers[i][part], numbers[j][part], weights[part])
                share = weights[part].sum() / weights[whole].sum()
                expected -= share * 0.5 * np.log(1 - rho**2)
            assert scores[i, j] == pytest.approx(expected, rel=1e-9)
            assert rows[i, j] == pytest.approx(weights[whole].sum())


def test_scores_of_gaussian_pairs_equal_numpy_corrcoef():
    source, y, _, numbers, _ = make_source()
    scores, _ = gaussian_scores(summary_of(source), PLAIN, np.zeros(3))
    rho = [np.corrcoef(numbers[0][y == k], numbers[1][y == k])[0, 1] for k in range(3)]
    share = np.bincount(y) / len(y)
    assert scores[0, 1] == pytest.approx(share @ (-0.5 * np.log(1 - np.square(rho))), rel=1e-12)


@every_kind
def test_gains_of_mixed_pairs(missing, weighted):
    source, y, codes, numbers, weights = make_source(n=800, missing=missing, weighted=weighted)
    gains, rows = mixed_scores(summary_of(source), PLAIN, np.zeros(3), None)

    def variance(part, x):
        return np.cov(x[part], aweights=weights[part], ddof=0)

    for i, r in ((0, 3), (1, 4)):
        for j in range(3):
            whole = ~np.isnan(codes[i]) & ~np.isnan(numbers[j])
            total = weights[whole].sum()
            expected = 0.0
            for k in range(3):
                group = whole & (y == k)
                inner = np.log(variance(group, numbers[j]))
                for d in range(r):
                    cell = group & (codes[i] == d)
                    share = weights[cell].sum() / weights[group].sum()
                    inner -= share * np.log(variance(cell, numbers[j]))
                expected += weights[group].sum() / total * 0.5 * inner
            assert gains[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-12)
            assert rows[i, j] == pytest.approx(total)


@pytest.mark.parametrize("shrinkage", [0.0, 20.0])
def test_scores_use_the_moments_of_the_distributions(shrinkage):
    # The score of an arc is what it adds to the mean log density of the rows' own distributions
    # if these are the maximum likelihood ones, and uses their regularised variances if not.
    source, y, _, numbers, _ = make_source()
    smoothing = Smoothing(shrinkage=shrinkage)
    ridge = smoothing.ridge(np.array([x.var() for x in numbers]))
    scores, _ = gaussian_scores(summary_of(source), smoothing, ridge)
    pooled, count = np.zeros((3, 3)), np.bincount(y)
    moments = []
    for k in range(3):
        x = np.stack(numbers)[:, y == k]
        moments.append(np.cov(x, ddof=0))
        pooled += count[k] / len(y) * moments[-1]
    expected = 0.0
    for k in range(3):
        s = (count[k] * moments[k] + shrinkage * pooled) / (count[k] + shrinkage)
        s += np.diag(ridge)
        rho2 = s[0, 1] ** 2 / (s[0, 0] * s[1, 1])
        expected -= count[k] / len(y) * 0.5 * np.log(1 - rho2)
    assert scores[0, 1] == pytest.approx(expected, rel=1e-12)


# --------------------------------------------------------------------------------- the edges


@pytest.mark.parametrize("factor", [1e-130, 1e-90, 1e-6, 1.0, 1e6, 1e90, 1e130])
def test_units_do_not_matter(factor):
    random = np.random.default_rng(0)
    x = random.normal(size=(50, 2)) @ [[1.0, 0.7], [0.0, 0.5]]
    frame = {"y": ["a", "b"] * 25, "s": ["p", "q", "r", "r", "p"] * 10}

    def scores(scale):
        source = bg.learning.count_source(
            {**frame, "u": x[:, 0] * scale, "v": x[:, 1] * scale}, "y"
        )
        return bg.learning.tan(source).scores

    expected = scores(1.0)
    found = scores(factor)
    assert list(found) == list(expected)
    np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-9)


def test_degenerate_pairs_score_finite_numbers():
    random = np.random.default_rng(1)
    x = random.normal(size=40)
    frame = {
        "y": ["a"] * 39 + ["b"],  # a class of a single row
        "same": x,
        "copy": x,
        "minus": -3 * x + 1,
        "constant": [0.1] * 40,
        "mostly": [0.0] * 39 + [1.0],
        "s": ["p"] * 39 + ["q"],  # a state of a single row
        "k": ["only"] * 40,
    }
    source = bg.learning.count_source(frame, "y")
    summary, smoothing = summary_of(source), Smoothing()
    ridge = smoothing.ridge(
        np.array(
            [np.var(frame[v.name]) if v.name != "constant" else 0.0 for v in summary.at.continuous]
        )
    )
    gaussian, _ = gaussian_scores(summary, smoothing, ridge)
    gains, _ = mixed_scores(summary, smoothing, ridge, None)
    discrete, _ = discrete_scores(summary)
    for scores in (gaussian, gains, discrete):
        assert np.isfinite(scores).all()
    names = [v.name for v in summary.at.continuous]
    constant = names.index("constant")
    assert not gaussian[constant].any()
    assert not gains[:, constant].any()
    assert not gains[1].any()
    assert not discrete.any()
    assert gaussian[names.index("same"), names.index("copy")] > 5
    assert gaussian[names.index("same"), names.index("minus")] > 5


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_the_unit_of_the_weights_does_not_matter_to_counts(factor):
    random = np.random.default_rng(2)
    y, s, t = random.integers(2, size=(3, 40))
    frame = {"y": y, "s": s, "t": np.where(random.random(40) < 0.5, s, t)}
    plain = bg.learning.tan(bg.learning.count_source(frame, "y", categorical="all"))
    source = bg.learning.count_source(
        frame, "y", categorical="all", sample_weight=np.full(40, factor)
    )
    assert bg.learning.tan(source).scores == pytest.approx(plain.scores)
