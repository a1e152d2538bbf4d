"""Hidden Markov models as hmmlearn's, and state spaces as Kalman's recursions with matrices."""

import math

import numpy as np
import pytest

import bayesgraph as bg


def markov(rng, k, m):
    start, move = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k)
    emit = rng.dirichlet(np.ones(m), k)
    state, y = bg.Discrete("state", range(k)), bg.Discrete("y", range(m))
    x = bg.Continuous("x")
    means, variances = rng.normal(size=k), 0.5 + rng.random(k)
    emissions = {
        "y": bg.TableCPD(y, emit, [state]),
        "x": bg.GaussianCPD(x, means, variances, [state]),
    }
    return (start, move, emit, means, variances), emissions


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["y", "x"])
def test_as_hmmlearn(seed, kind):
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(seed)
    k, m, n = int(rng.integers(2, 6)), int(rng.integers(2, 5)), 60
    (start, move, emit, means, variances), emissions = markov(rng, k, m)
    model = bg.hidden_markov(k, {kind: emissions[kind]}, start=start, transition=move)
    if kind == "y":
        other, seen = hmm.CategoricalHMM(k), rng.integers(0, m, n)
        other.n_features, other.emissionprob_ = m, emit
    else:
        other, seen = hmm.GaussianHMM(k, "diag"), rng.normal(size=n)
        other.n_features, other.means_ = 1, means[:, None]
        other.covars_ = variances[:, None]
    other.startprob_, other.transmat_ = start, move
    rows, lengths = {kind: seen, "id": [1] * 40 + [2] * 20}, [40, 20]
    logs = model.log_likelihood(rows, id="id")
    assert logs.sum() == pytest.approx(other.score(seen[:, None], lengths), abs=1e-10)
    posterior = other.predict_proba(seen[:, None], lengths)
    np.testing.assert_allclose(model.smooth(rows, "state", id="id"), posterior, atol=1e-10)
    path = model.most_probable(rows, id="id", frame="dict")["state"]
    for other_path in (path, other.predict(seen[:, None], lengths)):
        # Ties may be broken in other ways: both have the highest probability.
        complete = model.log_likelihood({**rows, "state": other_path}, id="id").sum()
        assert complete == pytest.approx(other.decode(seen[:, None], lengths)[0], abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_a_state_space_as_recursions_with_matrices(seed):
    rng = np.random.default_rng(seed)
    d, m, n = 3, 2, 40

    def covariance(k):
        root = rng.normal(size=(k, k))
        return root @ root.T + 0.1 * np.eye(k)

    a, c = rng.normal(size=(d, d)) * 0.5, rng.normal(size=(m, d))
    q, r, mean, p = covariance(d), covariance(m), rng.normal(size=d), covariance(d)
    model = bg.kalman(
        ["u", "v", "w"],
        ["s", "t"],
        transition=a,
        observation=c,
        transition_covariance=q,
        observation_covariance=r,
        start=(mean, p),
    )
    ys = rng.normal(size=(n, m))
    log, filtered, predicted = 0.0, [], []
    for t in range(n):
        if t:
            mean, p = a @ mean, a @ p @ a.T + q
        predicted.append((mean, p))
        away, f = ys[t] - c @ mean, c @ p @ c.T + r
        log -= 0.5 * (
            away @ np.linalg.solve(f, away) + np.linalg.slogdet(f)[1] + m * math.log(2 * math.pi)
        )
        gain = p @ c.T @ np.linalg.inv(f)
        mean, p = mean + gain @ away, p - gain @ c @ p
        filtered.append((mean, p))
    smoothed = [filtered[-1]]
    for t in range(n - 2, -1, -1):
        (mean, p), (ahead, spread) = filtered[t], predicted[t + 1]
        back = p @ a.T @ np.linalg.inv(spread)
        x, v = smoothed[-1]
        smoothed.append((mean + back @ (x - ahead), p + back @ (v - spread) @ back.T))
    rows = {"s": ys[:, 0], "t": ys[:, 1]}
    assert model.log_likelihood(rows)[0] == pytest.approx(log, abs=1e-9)
    for i, name in enumerate("uvw"):
        expected = [(x[i], v[i, i]) for x, v in reversed(smoothed)]
        np.testing.assert_allclose(model.smooth(rows, name), expected, atol=1e-9)
        expected = [(x[i], v[i, i]) for x, v in filtered]
        np.testing.assert_allclose(model.filter(rows, name), expected, atol=1e-9)


def test_a_level_is_a_state_space_of_one_number():
    level = bg.local_level("y", level_variance=0.5, noise_variance=2.0, start=(1.0, 10.0))
    rows = {"y": [1.0, None, 3.0]}
    # By hand: filtered variances 10/6, then 2.1666..., then (2.6666... * 2) / 4.6666...
    variances = level.filter(rows, "level")[:, 1]
    np.testing.assert_allclose(variances, [5 / 3, 13 / 6, 8 / 3 * 2 / (14 / 3)], rtol=1e-12)


def test_a_template_is_fitted():
    rng = np.random.default_rng(0)
    z = np.repeat([0, 1, 0, 1], 50)
    rows = {"x": rng.normal(4.0 * z)}
    model = bg.hidden_markov(2, {"x": "gaussian"})
    fitted = bg.TemporalNetwork.fit(model, rows, restarts=3)
    means = np.sort(next(c for c in fitted.slices[0] if c.variable.name == "x").mean)
    np.testing.assert_allclose(means, [0.0, 4.0], atol=0.5)
    with pytest.raises(bg.errors.DataTypeError, match="gaussian"):
        bg.hidden_markov(2, {"x": "gauss"})


@pytest.mark.parametrize("seed", range(20))
def test_as_pyagrum(seed):
    gum, ktbn = pytest.importorskip("pyagrum"), pytest.importorskip("pyagrum.ktbn")
    rng = np.random.default_rng(seed)
    k, m, n = int(rng.integers(2, 5)), int(rng.integers(2, 4)), 12
    (start, move, emit, _, _), emissions = markov(rng, k, m)
    model = bg.hidden_markov(k, {"y": emissions["y"]}, start=start, transition=move)
    other = ktbn.KTBN(2)
    other.addTemporal(gum.RangeVariable("z", "z", 0, k - 1))
    other.addTemporal(gum.RangeVariable("y", "y", 0, m - 1))
    other.addArc("z", 0, "z", 1)
    for t in (0, 1):
        other.addArc("z", t, "y", t)
    later = emit
    if seed % 2:  # what is seen depends on what was seen before
        other.addArc("y", 0, "y", 1)
        later = rng.dirichlet(np.ones(m), (m, k))
        past = [bg.before(model.variable("y")), model.variable("state")]
        (transition, _), y = model.slices[1], model.variable("y")
        model = bg.TemporalNetwork(model.slices[0], [transition, bg.TableCPD(y, later, past)])
    other.cpt("y", 0).fillWith(emit.reshape(-1).tolist())
    other.cpt("y", 1).fillWith(later.reshape(-1).tolist())
    other.cpt("z", 0).fillWith(start.tolist())
    other.cpt("z", 1).fillWith(move.reshape(-1).tolist())
    inference = ktbn.KTBNInference(other)
    seen = [None if rng.random() < 0.3 else int(rng.integers(m)) for _ in range(n)]
    told = {t: {"y": code} for t, code in enumerate(seen) if code is not None}
    for t, values in told.items():
        inference.addObservation("y", t, values["y"])
    inference.addIntervention("z", 5, 1)
    inference.makeInference(n)
    for t in range(n):
        if t != 5:
            expected = inference.posterior("z", t).toarray()
            answer = model.query("state", t, told, do={5: {"state": 1}})
            np.testing.assert_allclose(answer.probabilities, expected, atol=1e-10)
    log = inference.logObservationProbability()
    assert answer.log_evidence == pytest.approx(log, abs=1e-10)
