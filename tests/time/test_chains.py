"""Slices that hand on numbers: as joint Gaussians, and as Kalman's recursions in closed form."""

import math

import numpy as np
import pytest
from time_templates import cells, gaussian, of_random

import bayesgraph as bg
from bayesgraph.time import chains


def linear(rng, order):
    """Return a random template of two hidden numbers and one of two that are seen of them."""
    u, v, y = (bg.Continuous(name) for name in "uvy")
    lags = [bg.before(u, k) for k in range(1, order + 1)] + [bg.before(v)]
    slices = []
    for t in range(order + 1):
        past = [p for p in lags if p.name.steps <= t]
        cpds = [gaussian(rng, u, past), gaussian(rng, v, [u, *past[-1:]])]
        if not slices:
            cpds.append(gaussian(rng, y, [u, v]))
        slices.append(cpds)
    return bg.TemporalNetwork(slices[:-1], slices[-1])


def joint(model, n):
    """Return names, mean and covariance of all numbers of n slices."""
    names, mean, cov = [], np.zeros(0), np.zeros((0, 0))
    for t in range(n):
        network = model._networks[min(t, len(model.slices) - 1)]
        for cpd in network._nodes():
            name = cpd.variable.name
            if not isinstance(name, str):
                continue
            slopes = np.zeros(len(names))
            for parent, slope in zip(cpd.parents, cpd.coefficients, strict=True):
                past = not isinstance(parent.name, str)
                key = (parent.name.name, t - parent.name.steps) if past else (parent.name, t)
                slopes[names.index(key)] = slope
            cross = cov @ slopes
            variance = float(cpd.variance) + slopes @ cross
            mean = np.append(mean, float(cpd.mean) + slopes @ mean)
            cov = np.block([[cov, cross[:, None]], [cross[None], np.array([[variance]])]])
            names.append((name, t))
    return names, mean, cov


def conditional(names, mean, cov, seen):
    """Return log density of what is seen, and mean and variance of each name given it."""
    at = [names.index(key) for key in seen]
    away = np.array(list(seen.values())) - mean[at]
    inner = cov[np.ix_(at, at)]
    gain = np.linalg.solve(inner, cov[at]).T if at else np.zeros((len(names), 0))
    log = (
        -0.5
        * (
            away @ np.linalg.solve(inner, away)
            + np.linalg.slogdet(inner)[1]
            + len(at) * math.log(2 * math.pi)
        )
        if at
        else 0.0
    )
    return log, mean + gain @ away, np.diag(cov - gain @ cov[at])


@pytest.mark.parametrize("seed", range(20))
def test_numbers_as_joint_gaussians(seed):
    rng = np.random.default_rng(seed)
    model, n = linear(rng, 1 + seed % 2), 4
    rows = {name: np.where(rng.random(n) < 0.4, np.nan, rng.normal(size=n)) for name in "uvy"}
    if seed % 3:  # hidden numbers are never seen
        rows["u"][:] = rows["v"][:] = np.nan
    names, mean, cov = joint(model, n)
    seen = {(v, t): x[t] for v, x in rows.items() for t in range(n) if not np.isnan(x[t])}
    log, means, variances = conditional(names, mean, cov, seen)
    assert model.log_likelihood(rows)[0] == pytest.approx(log, abs=1e-9)
    for v in "uvy":
        smoothed, filtered = model.smooth(rows, v), model.filter(rows, v)
        for t in range(n):
            k = names.index((v, t))
            np.testing.assert_allclose(smoothed[t], [means[k], variances[k]], atol=1e-9)
            past = {key: x for key, x in seen.items() if key[1] <= t}
            _, m, s = conditional(names, mean, cov, past)
            np.testing.assert_allclose(filtered[t], [m[k], s[k]], atol=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_level_as_the_recursions_of_kalman(missing):
    rng = np.random.default_rng(0)
    level, y = bg.Continuous("level"), bg.Continuous("y")
    q, r, a0, p0 = 0.5, 2.0, 1.0, 10.0
    model = bg.TemporalNetwork(
        [bg.GaussianCPD(level, a0, p0), bg.GaussianCPD(y, 0.0, r, [level], [1.0])],
        [bg.GaussianCPD(level, 0.0, q, [bg.before(level)], [1.0])],
    )
    n = 200
    ys = np.cumsum(rng.normal(size=n) * math.sqrt(q)) + rng.normal(size=n) * math.sqrt(r)
    ys[rng.random(n) < missing] = np.nan
    a, p, log, filtered, predicted = a0, p0, 0.0, [], []
    for t in range(n):
        if t:
            p = p + q
        predicted.append((a, p))
        if not np.isnan(ys[t]):
            f = p + r
            log += -0.5 * (math.log(2 * math.pi * f) + (ys[t] - a) ** 2 / f)
            a, p = a + p / f * (ys[t] - a), p * r / f
        filtered.append((a, p))
    smoothed = [filtered[-1]]
    for t in range(n - 2, -1, -1):
        (a, p), (ahead, spread) = filtered[t], predicted[t + 1]
        gain = p / spread
        m, v = smoothed[-1]
        smoothed.append((a + gain * (m - ahead), p + gain**2 * (v - spread)))
    assert model.log_likelihood({"y": ys})[0] == pytest.approx(log, abs=1e-9)
    np.testing.assert_allclose(model.filter({"y": ys}, "level"), filtered, atol=1e-9)
    np.testing.assert_allclose(model.smooth({"y": ys}, "level"), smoothed[::-1], atol=1e-9)
    a, p = filtered[-1]
    ahead = [(a, p + q), (a, p + 2 * q)]
    np.testing.assert_allclose(model.forecast({"y": ys}, "level", 2)[0], ahead, atol=1e-9)
    state = model.start()
    for value in ys:
        state.update({} if np.isnan(value) else {"y": value})
    assert state.log_likelihood == pytest.approx(log, abs=1e-9)
    assert state.query("level").mean == pytest.approx(a, abs=1e-9)
    np.testing.assert_allclose(state.forecast("level", 2), ahead, atol=1e-9)


def test_a_number_that_is_seen_may_go_back_beside_hidden_states():
    """An autoregression whose regime is hidden, by enumeration."""
    rng = np.random.default_rng(1)
    z, y = bg.Discrete("z", ["a", "b"]), bg.Continuous("y")
    past = bg.before(y)
    model = bg.TemporalNetwork(
        [bg.TableCPD(z, [0.4, 0.6]), bg.GaussianCPD(y, [0.0, 1.0], [1.0, 2.0], [z])],
        [
            bg.TableCPD(z, [[0.8, 0.2], [0.1, 0.9]], [bg.before(z)]),
            bg.GaussianCPD(y, [0.0, 1.0], [1.0, 0.5], [z, past], [[0.5], [-0.7]]),
        ],
    )
    ys = rng.normal(size=4)

    def density(x, mean, variance):
        return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)

    total, of = 0.0, np.zeros((4, 2))
    for codes in np.ndindex(2, 2, 2, 2):
        weight = [0.4, 0.6][codes[0]] * density(ys[0], [0, 1][codes[0]], [1, 2][codes[0]])
        for t in range(1, 4):
            weight *= [[0.8, 0.2], [0.1, 0.9]][codes[t - 1]][codes[t]]
            mean = [0.5 * ys[t - 1], 1 - 0.7 * ys[t - 1]][codes[t]]
            weight *= density(ys[t], mean, [1.0, 0.5][codes[t]])
        total += weight
        for t in range(4):
            of[t, codes[t]] += weight
    assert model.log_likelihood({"y": ys})[0] == pytest.approx(math.log(total), abs=1e-10)
    np.testing.assert_allclose(model.smooth({"y": ys}, "z"), of / total, atol=1e-10)
    with pytest.raises(bg.errors.UnsupportedModelError, match="stream"):
        model.start()
    with pytest.raises(bg.errors.UnsupportedModelError, match="switching"):
        model.smooth({"y": [0.1, None, 0.3]}, "z")


@pytest.mark.parametrize("seed", range(12))
def test_pieces_that_fit_into_memory_give_the_same(seed, monkeypatch):
    monkeypatch.setattr(chains, "_FEWEST", 1)
    rng = np.random.default_rng(seed)
    model = of_random(rng, order=1 + seed % 2, numbers=seed % 3 == 0, static=seed % 4 >= 2)
    parts = [cells(rng, model, n) for n in (1, 4, 7, 3)]
    rows = {name: [x for part in parts for x in part[name]] for name in parts[0]}
    options = {"id": "who"}
    rows["who"] = np.repeat(list("abcd"), [1, 4, 7, 3])
    # By default all slices are one piece; the lower limits are of one and of a few slices.
    for v in model.variables[-3:]:
        for limit in (1.0, 3e3, 4e4):
            for ask in (model.smooth, model.filter):
                whole = ask(rows, v.name, **options)
                pieces = ask(rows, v.name, memory_limit=limit, **options)
                np.testing.assert_allclose(pieces, whole, rtol=1e-12, atol=1e-12)
            ahead = model.forecast(rows, v.name, 5, memory_limit=limit, **options)
            whole = model.forecast(rows, v.name, 5, **options)
            np.testing.assert_allclose(ahead, whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_pieces_of_numbers_give_the_same(seed, monkeypatch):
    monkeypatch.setattr(chains, "_FEWEST", 1)
    rng = np.random.default_rng(seed)
    model = bg.kalman(
        ["a", "b"],
        ["y"],
        transition=rng.normal(size=(2, 2)) / 2,
        observation=rng.normal(size=(1, 2)),
        transition_covariance=np.eye(2),
        observation_covariance=[[0.5]],
        start=([0.0, 1.0], np.eye(2)),
    )
    y = np.where(rng.random(20) < 0.3, np.nan, rng.normal(size=20))
    rows = {"y": y, "who": np.repeat([1, 2, 3], [1, 12, 7])}
    for limit in (1.0, 3e3):
        for ask in (model.smooth, model.filter, model.forecast):
            pieces = ask(rows, "b", id="who", memory_limit=limit)
            np.testing.assert_allclose(pieces, ask(rows, "b", id="who"), rtol=1e-10, atol=1e-12)


def test_an_impossible_sequence_is_found_in_pieces(monkeypatch):
    monkeypatch.setattr(chains, "_FEWEST", 1)
    z = bg.Discrete("z", ["a", "b"])
    never = bg.TableCPD(z, [[1.0, 0.0], [0.0, 1.0]], [bg.before(z)])
    model = bg.TemporalNetwork([bg.TableCPD(z, [0.5, 0.5])], [never])
    rows = {"z": ["a", None, "b", "a", "a"], "who": [1, 1, 1, 2, 2]}
    with pytest.warns(bg.errors.ImpossibleEvidenceWarning, match="1 of 2 sequences"):
        smoothed = model.smooth(rows, "z", id="who", memory_limit=1)
    np.testing.assert_array_equal(smoothed, [[0.5, 0.5]] * 3 + [[1.0, 0.0]] * 2)


def test_odd_arguments_are_told():
    z, s = bg.Discrete("z", ["a", "b"]), bg.Discrete("s", ["u", "v"])
    moves = bg.TableCPD(z, [[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5]] * 2], [s, bg.before(z)])
    first = bg.TableCPD(z, [[0.5, 0.5], [0.2, 0.8]], [s])
    model = bg.TemporalNetwork([first], [moves], static=[bg.TableCPD(s, [0.5, 0.5])])
    with pytest.raises(bg.errors.EvidenceError, match="'s' has one value in all slices"):
        model.query("z", 2, {0: {"s": "u"}, 1: {"s": "v"}})
    same = model.query("z", 2, {0: {"s": "u"}, 1: {"s": "u"}})
    assert same.probabilities == pytest.approx(model.query("z", 2, {0: {"s": "u"}}).probabilities)
    with pytest.raises(bg.errors.DataTypeError, match="memory_limit is a number"):
        model.smooth({"z": ["a"]}, "z", memory_limit="x")
    with pytest.raises(bg.errors.DataError, match="no columns besides"):
        model.log_likelihood({"who": [1, 2]}, id="who")
    rows = {"z": ["a", "b"], "s": ["u", "u"]}
    with pytest.raises(bg.errors.GraphError, match="'s' is static"):
        bg.TemporalNetwork.fit([(bg.before("z"), "s")], rows, static=["s"])
    with pytest.raises(bg.errors.UnsupportedModelError, match="EM completes discrete variables"):
        bg.TemporalNetwork.fit([(bg.before("x"), "x")], {"x": [1.0, 2.0, 3.0, None]})
    with pytest.raises(bg.errors.ModelError, match="first= has no CPDs"):
        bg.TemporalNetwork([])
    with pytest.raises(bg.errors.DataError, match="copy or a part"):
        bg.plot(model.smooth({"z": ["a", "b"]}, "z").copy())
