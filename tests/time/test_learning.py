"""Parameters of temporal networks: expected counts as by enumeration, EM as by hmmlearn."""

import numpy as np
import pytest
from time_templates import Enumerated, cells, of_random, place

import bayesgraph as bg
from bayesgraph.statistics import Family
from bayesgraph.time.chains import Chain
from bayesgraph.time.learning import expected_statistics
from bayesgraph.time.rows import read_rows


@pytest.mark.parametrize("seed", range(16))
def test_expected_counts_as_enumeration(seed):
    rng = np.random.default_rng(seed)
    static = seed % 4 >= 2
    model = of_random(rng, order=1 + seed % 2, numbers=seed % 3 == 0, static=static)
    n = 3
    rows = cells(rng, model, n)
    if seed % 5 == 0:
        rows["a"] = [None] * n
    long = read_rows(model, rows, {})
    given = long.extended(0, model._fixed)
    families = {
        Family.of(*cpd.parents, cpd.variable): (cpd.variable, cpd.parents)
        for cpds in (model.static, *model.slices)
        for cpd in cpds
    }
    sums, _ = expected_statistics(Chain(model._sequences(*given)), families)
    oracle = Enumerated(model, n, rows)
    weights = np.exp(oracle.logs - oracle.log_likelihood)
    fixed = {c.variable.name for c in model.static}
    inner = {"a", "b", *(p.name for _, above in families.values() for p in above)}
    expected = {family: np.zeros([v.cardinality for v in family.discrete]) for family in families}
    pairs = [(None, c) for c in model.static]
    pairs += [(t, c) for t in range(n) for c in model.slices[min(t, len(model.slices) - 1)]]
    for t, cpd in pairs:
        family = Family.of(*cpd.parents, cpd.variable)
        value = rows[cpd.variable.name][t or 0]
        is_number = isinstance(cpd.variable, bg.Continuous)
        if is_number and np.isnan(value):
            continue  # a leaf tells nothing where it is missing
        if not is_number and cpd.variable.name not in inner and value is None:
            continue
        for codes, weight in zip(oracle.states, weights, strict=True):
            at = tuple(codes[place(v, t, fixed)] for v in family.discrete)
            expected[family][at] += weight
    for family, counts in expected.items():
        np.testing.assert_allclose(sums[family].counts, counts, atol=1e-10)


def sequences(rng, sizes):
    """Return rows of a hidden Markov model with a state that is left seldom."""
    z = [0]
    for _ in range(sum(sizes) - 1):
        z.append(z[-1] if rng.random() < 0.9 else 1 - z[-1])
    z = np.array(z)
    act = np.where(rng.random(len(z)) < np.where(z, 0.8, 0.1), "walk", "stay")
    return {
        "who": np.repeat(np.arange(len(sizes)), sizes),
        "x": rng.normal(np.where(z, 3.0, 0.0)),
        "act": act,
        "z": np.where(z, "up", "down"),
    }


def test_complete_rows_are_counted():
    rows = sequences(np.random.default_rng(0), [40, 30, 2])
    arcs = [(bg.before("z"), "z"), ("z", "act"), ("z", "x")]
    model = bg.TemporalNetwork.fit(
        arcs, rows, id="who", smoothing=bg.Smoothing(estimation="ml", var_smoothing=0.0)
    )
    z, who, x = (np.array(rows[name]) for name in ("z", "who", "x"))
    same = who[1:] == who[:-1]
    (transition,) = [c for c in model.slices[-1] if c.variable.name == "z"]
    for i, a in enumerate(["down", "up"]):
        chosen = same & (z[:-1] == a)
        for j, b in enumerate(["down", "up"]):
            assert transition.values[i, j] == pytest.approx((z[1:][chosen] == b).mean())
    (leaf,) = [c for c in model.slices[0] if c.variable.name == "x"]
    assert leaf in model.slices[-1]  # the same in all slices
    np.testing.assert_allclose(leaf.mean, [x[z == "down"].mean(), x[z == "up"].mean()])
    np.testing.assert_allclose(leaf.variance, [x[z == "down"].var(), x[z == "up"].var()])
    assert model.training.history is None


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_em_climbs_and_finds_the_states(missing):
    rng = np.random.default_rng(1)
    rows = sequences(rng, [60] * 10)
    z = rows.pop("z")
    rows["x"][rng.random(600) < missing] = np.nan
    rows["act"] = [None if rng.random() < missing else a for a in rows["act"]]
    model = bg.TemporalNetwork.fit(
        [(bg.before("z"), "z"), ("z", "x"), ("z", "act")],
        rows,
        id="who",
        hidden={"z": 2},
        restarts=2,
        smoothing=bg.Smoothing(shrinkage=0.0, var_smoothing=0.0),
    )
    history = model.training.history
    assert (np.diff(history.objective) >= -1e-9).all()
    assert history.converged
    assert len(history.restarts) == 2
    assert history.log_likelihood == pytest.approx(model.log_likelihood(rows, id="who").sum())
    agrees = (model.smooth(rows, "z", id="who")[:, 1] > 0.5) == (z == "up")
    assert max(agrees.mean(), 1 - agrees.mean()) > 0.9


def test_a_step_of_em_is_that_of_baum_and_welch():
    """One step by hand: gamma and xi of the forward and backward recursions."""
    rng = np.random.default_rng(2)
    k, m, n = 3, 4, 50
    start, move = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k)
    emit, y = rng.dirichlet(np.ones(m), k), rng.integers(0, m, n)
    z, seen = bg.Discrete("z", range(k)), bg.Discrete("y", range(m))
    model = bg.TemporalNetwork(
        [bg.TableCPD(z, start), bg.TableCPD(seen, emit, [z])],
        [bg.TableCPD(z, move, [bg.before(z)])],
    )
    ahead = np.empty((n, k))
    behind = np.ones((n, k))
    ahead[0] = start * emit[:, y[0]]
    for t in range(1, n):
        ahead[t] = ahead[t - 1] @ move * emit[:, y[t]]
    for t in range(n - 2, -1, -1):
        behind[t] = move @ (emit[:, y[t + 1]] * behind[t + 1])
    total = ahead[-1].sum()
    pairs = sum(
        np.outer(ahead[t - 1], emit[:, y[t]] * behind[t]) * move / total for t in range(1, n)
    )
    gamma = ahead * behind / total
    chain = Chain(model._sequences(*read_rows(model, {"y": y}, {}).extended(0, ())))
    past = bg.before(z)
    families = {
        Family.of(z): (z, ()),
        Family.of(past, z): (z, (past,)),
        Family.of(z, seen): (seen, (z,)),
    }
    sums, _ = expected_statistics(chain, families)
    np.testing.assert_allclose(sums[Family.of(past, z)].counts, pairs, rtol=1e-10)
    np.testing.assert_allclose(sums[Family.of(z)].counts, gamma[0], rtol=1e-10)
    counts = np.stack([gamma[y == code].sum(axis=0) for code in range(m)], axis=1)
    np.testing.assert_allclose(sums[Family.of(z, seen)].counts, counts, rtol=1e-10)


def test_more_sequences_are_counted_as_all_together(tmp_path):
    rows = sequences(np.random.default_rng(3), [30, 20, 25])
    arcs = [(bg.before("z"), "z"), ("z", "act"), ("z", "x"), (bg.before("x"), "x")]
    parts = [
        {name: column[chosen] for name, column in rows.items()}
        for chosen in (rows["who"] < 2, rows["who"] == 2)
    ]
    first = bg.TemporalNetwork.fit(arcs, parts[0], id="who")
    whole, more = (
        bg.TemporalNetwork.fit(arcs, rows, id="who"),
        first.partial_fit(parts[1], id="who"),
    )
    assert first != whole
    for one, other in zip(more.cpds, whole.cpds, strict=True):
        for name, values in one.to_arrays().items():
            np.testing.assert_allclose(values, other.to_arrays()[name], rtol=1e-12, atol=1e-12)
    assert more.partial_fit(parts[1], id="who") != more
    with pytest.raises(bg.errors.DataError, match="missing in some slice"):
        first.partial_fit({**parts[1], "z": [None, *parts[1]["z"][1:]]}, id="who")
    hidden = bg.TemporalNetwork.fit(arcs, {**rows, "z": [None, *rows["z"][1:]]}, id="who")
    whole.save(tmp_path / "whole.bayesgraph")
    for model in (hidden, bg.load(tmp_path / "whole.bayesgraph")):
        with pytest.raises(bg.errors.DataError, match="Fit all rows together"):
            model.partial_fit(parts[0], id="who")


def test_arguments_win_over_the_template():
    template = bg.hidden_markov(2, {"act": ["walk", "shop"]})
    rows = {"act": ["walk", "walk", "shop", "shop", "walk"] * 4}
    act = bg.Discrete("act", ["shop", "walk", "rest"])
    fitted = bg.TemporalNetwork.fit(template, rows, hidden={"state": 3}, variables=[act])
    assert {v.name: v.states for v in fitted.variables} == {
        "act": ("shop", "walk", "rest"),
        "state": (0, 1, 2),
    }


def test_a_number_of_states_may_be_of_numpy():
    rows = {"act": list("wsws")}
    model = bg.TemporalNetwork.fit([("z", "act")], rows, hidden={"z": np.int64(2)})
    assert model.variable("z").states == (0, 1)
    assert bg.hidden_markov(np.int64(2), {"act": ["w", "s"]}).variable("state").states == (0, 1)
