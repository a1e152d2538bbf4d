"""Gradient steps against plain NumPy, finite differences and the formulas of the 2014 study."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax

import bayesgraph as bg
from bayesgraph.learning.streams import stream_kernels as kernels

MODES = {"variable": kernels.VARIABLE, "class": kernels.CLASS, "mixed": kernels.MIXED}
K, D = 3, 4


def fresh():
    """Return what the steps change, as a star has it in the beginning."""
    return {
        "totals": np.zeros(K),
        "clock": np.array([0.0, 8.0]),
        "shared": np.ones(D),
        "own": np.zeros((K, D)),
        "bias": np.zeros(K),
        "squares": np.ones(D),
        "own_squares": np.ones((K, D)),
        "bias_squares": np.ones(K),
        "mean_shared": np.ones(D),
        "mean_own": np.zeros((K, D)),
        "mean_bias": np.zeros(K),
        "ranges": np.zeros(D),
        "own_ranges": np.zeros(D),
        "observed": np.zeros(D),
    }


def rows(n, seed=0):
    """Return log densities of rows (0 where missing), their classes, weights and mean logs."""
    random = np.random.default_rng(seed)
    logs = -random.gamma(2.0, size=(n, K, D))
    # Far apart: steps are shortened, and in some rows the posterior of a class is 0.
    logs[:, :, 0] *= 3.0
    logs[random.random(n) < 0.05, K - 1, 1] -= 2000.0
    logs[np.broadcast_to((random.random((n, D)) < 0.2)[:, None], logs.shape)] = 0.0
    weights = random.choice([0.5, 1.0, 2.0], size=n)
    return logs, random.integers(K, size=n), weights, logs.mean(axis=0)


def split(state):
    """Return class totals, the clock, and what else the steps change."""
    arrays = dict(state)
    return arrays.pop("totals"), arrays.pop("clock"), kernels.Steps(**arrays)


def learned(state, data, mode, *, step=0.2, own_step=0.02, adaptive=True, least=-np.inf, decay=1.0):
    """Return what the kernel makes of a state, and the probabilities before each row."""
    logs, classes, weights, centre = data
    made = {name: array.copy() for name, array in state.items()}
    totals, clock, steps = split(made)
    out = np.empty((len(classes), K))
    kernels.learn_rows(
        logs, classes, weights, centre, MODES[mode], step, own_step, adaptive, least, 1.0,
        totals, clock, steps, decay, out,
    )  # fmt: skip
    return made, out


def reference(
    state, data, mode, *, step=0.2, own_step=0.02, adaptive=True, least=-np.inf, decay=1.0
):
    """Return the same from formulas, row by row."""
    s = {name: array.copy() for name, array in state.items()}
    out = []
    for logs, c, weight, centre in zip(*data[:3], [data[3]] * len(data[1]), strict=True):
        prior = np.log((s["totals"] + 1.0) / (s["totals"].sum() + K))
        answer = prior + s["mean_bias"] + ((s["mean_shared"] + s["mean_own"]) * logs).sum(axis=1)
        out.append(np.exp(log_softmax(answer)))
        s["totals"] *= decay
        s["totals"][c] += weight
        scores = prior + s["bias"] + ((s["shared"] + s["own"]) * logs).sum(axis=1)
        error = weight * (np.exp(log_softmax(scores)) - np.eye(K)[c])
        s["clock"][0] += 1.0
        s["observed"] += (logs[0] != 0.0) * adaptive
        if adaptive and mode != "class":
            s["ranges"] += np.ptp(logs, axis=0) ** 2
        if adaptive and mode != "variable":
            s["own_ranges"] += np.abs(np.where(logs != 0, logs - centre, 0.0)).max(axis=0) ** 2
        # In units of 2 nats, and 1 for those that vary by less.
        long, own_long = (
            np.maximum(1.0, np.sqrt(s[name] / np.maximum(1.0, s["observed"])) / 2.0)
            if adaptive
            else 1.0
            for name in ("ranges", "own_ranges")
        )
        if mode != "class":
            g = error @ logs
            s["squares"] += g**2 * adaptive
            s["shared"] -= step / long * g / (np.sqrt(s["squares"]) if adaptive else 1.0)
            s["shared"] = np.maximum(s["shared"], least)
        if mode != "variable":
            shift = np.where(logs != 0, centre, 0.0) if adaptive else 0.0
            g = error[:, None] * (logs - shift)
            s["own_squares"] += g**2 * adaptive
            change = own_step / own_long * g / (np.sqrt(s["own_squares"]) if adaptive else 1.0)
            s["own"] -= change
            s["bias"] += (change * centre).sum(axis=1) * adaptive
            s["own"] = np.maximum(s["own"], least - s["shared"])
        s["bias_squares"] += error**2 * adaptive
        s["bias"] -= step * error / (np.sqrt(s["bias_squares"]) if adaptive else 1.0)
        share = (1.0 + s["clock"][1]) / (s["clock"][0] + s["clock"][1])
        for name in ("shared", "bias", *(("own",) if mode != "variable" else ())):
            s[f"mean_{name}"] += share * (s[name] - s[f"mean_{name}"])
    return s, np.array(out)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "fixed"])
@pytest.mark.parametrize("least", [-np.inf, 0.0], ids=["free", "nonnegative"])
def test_the_kernel_equals_a_plain_loop(mode, adaptive, least):
    options = {} if adaptive else {"step": 0.01, "own_step": 0.01}
    options |= {"adaptive": adaptive, "least": least, "decay": 0.99}
    found, out = learned(fresh(), rows(300), mode, **options)
    expected, answers = reference(fresh(), rows(300), mode, **options)
    np.testing.assert_allclose(out, answers, rtol=1e-9, atol=1e-12)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-9, atol=1e-12, err_msg=name)
    if least == 0.0:
        assert (found["shared"] + found["own"] >= -1e-15).all()
    assert found["clock"].tolist() == [300.0, 8.0]


def loss(state, data):
    """Return the weighted negative log likelihood of one row before it is counted."""
    logs, (c,), (weight,), _ = data
    prior = np.log((state["totals"] + 1.0) / (state["totals"].sum() + K))
    scores = prior + state["bias"] + ((state["shared"] + state["own"]) * logs[0]).sum(axis=1)
    return -weight * log_softmax(scores)[c]


MOVED = {"variable": ["shared", "bias"], "class": ["own", "bias"], "mixed": ["shared", "own"]}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(3))
def test_a_fixed_step_is_that_of_the_gradient(mode, seed):
    before, _ = reference(fresh(), rows(50, seed), "mixed")
    data = rows(1, seed + 10)
    after, _ = learned(before, data, mode, step=0.1, own_step=0.1, adaptive=False)
    for name in MOVED[mode]:
        moved = (before[name] - after[name]) / 0.1
        for place in np.ndindex(moved.shape):
            ends = []
            for change in (1e-5, -1e-5):
                at = {**before, name: before[name].copy()}
                at[name][place] += change
                ends.append(loss(at, data))
            slope = (ends[0] - ends[1]) / 2e-5
            np.testing.assert_allclose(moved[place], slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("summary", ["gaussian", "gk"])
@pytest.mark.parametrize("decay", [1.0, 0.999])
def test_fixed_exponents_predict_by_sums_of_log_densities(summary, decay):
    """Each row is predicted by the prior and the sum of its log densities of before it."""
    random = np.random.default_rng(3)
    n = 900
    y = random.integers(3, size=n)
    X = random.normal(size=(n, 5)) + 0.7 * y[:, None] * [1.0, -1.0, 0.3, 0.0, 0.0]
    X[random.random(X.shape) < 0.1] = np.nan
    X[:, 4] = np.nan  # never observed
    X[600, 0] = 1e90  # its log density would be below the least
    table = dict(zip("abcde", X.T, strict=True))
    table["few"] = random.choice(np.array(["u", "v", None], dtype=object), size=n)
    table["many"] = np.array([f"state {i}" for i in random.integers(80, size=n)], dtype=object)
    frame, weights = pd.DataFrame(table), random.choice([0.5, 1.0, 2.0], size=n)
    model = bg.StreamingNaiveBayesClassifier(summary=summary, decay=decay, max_categories=20)
    model.partial_fit(frame[:500], y[:500], classes=[0, 1, 2], sample_weight=weights[:500])
    star = model.star_
    assert star.counts.sketches
    model.refresh()  # the next look is not at one of the rows below
    rest = frame[500:620]
    encoded = model._columns.known(model._table(rest, 120)[0], "missing", star)
    logs = star.log_densities(*encoded)
    assert np.isnan(X[500:620]).any()
    np.testing.assert_allclose(
        star.log_scores(*encoded), logs.sum(axis=2) + star.log_prior, rtol=1e-12, atol=1e-12
    )
    totals, expected = star.totals.copy(), []
    for row, label, weight in zip(logs, y[500:620], weights[500:620], strict=True):
        prior = np.log((totals + 1.0) / (totals.sum() + 3))
        expected.append(np.exp(log_softmax(prior + row.sum(axis=1))))
        totals = totals * decay
        totals[label] += weight
    _, out = model.test_then_train(rest, y[500:620], sample_weight=weights[500:620])
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(star.totals, totals, rtol=1e-12)
    assert (star.exponents.mean == 1.0).all()


def test_the_form_of_the_study_to_the_letter():
    """w_ik <- w_ik - step (P_k - T_k) log p(x_i | k) and b_k <- b_k - step (P_k - T_k)."""
    random = np.random.default_rng(0)
    y = random.integers(3, size=400)
    X = random.normal(size=(400, 4)) + y[:, None] * [1.0, 0.5, 0.0, -0.5]
    step = 0.01
    model = bg.StreamingWeightedNaiveBayesClassifier("class", step=step)
    model.partial_fit(X[:300], y[:300], classes=[0, 1, 2])
    star, steps = model.star_, model.star_.exponents.state
    w, b = steps.shared + steps.own, steps.bias.copy()
    for x, label in zip(X[300:], y[300:], strict=True):
        logs = star.log_densities(x[:, None], np.empty((0, 1), dtype=np.int64))[0]
        P = np.exp(log_softmax(star.log_prior + b + (w * logs).sum(axis=1)))
        T = np.eye(3)[label]
        w = w - step * (P - T)[:, None] * logs
        b = b - step * (P - T)
        model.partial_fit(x[None], [label])
        np.testing.assert_allclose(steps.shared + steps.own, w, rtol=1e-12)
        np.testing.assert_allclose(steps.bias, b, rtol=1e-10, atol=1e-14)
    assert (steps.shared == 1.0).all()
