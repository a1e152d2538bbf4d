"""EM: the E-step against brute force, the whole against direct maximisation and scikit-learn."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.mixture import GaussianMixture

import bayesgraph as bg
from bayesgraph.core.errors import (
    DataError,
    DataTypeError,
    GraphError,
    NotConvergedWarning,
    UnknownVariableError,
    UnsupportedModelError,
)
from bayesgraph.learning import em as expected_statistics
from bayesgraph.learning.em import Expectation, Iterations
from bayesgraph.statistics import TableSource
from bayesgraph.tables import columns_of, infer_variables

NAMES = list("abcde")
ARCS = [("a", "b"), ("b", "c"), ("a", "d"), ("c", "d"), ("d", "e")]
ML = bg.Smoothing(alpha=0.0, shrinkage=0.0)
# Only variances that are not drawn to others that change too are a maximum of something.
UNSHRUNK = bg.Smoothing(shrinkage=0.0)


def make_frame(n=60, seed=0, missing=0.25, states=3):
    """Return columns that depend on each other along ARCS, with holes."""
    random = np.random.default_rng(seed)

    def noise():
        return random.integers(states, size=n) * (random.random(n) < 0.4)

    a = random.integers(2, size=n)
    b = (a + noise()) % 2
    c = (b + noise()) % states
    d = (a + c + noise()) % 2
    e = (d + noise()) % states
    frame = pd.DataFrame(dict(zip(NAMES, (a, b, c, d, e), strict=True))).astype(str)
    frame.iloc[:states] = np.array(
        [[str(min(i, 1)), str(min(i, 1)), str(i)] * 2 for i in range(states)]
    )[:, [0, 1, 2, 3, 5]]
    holes = random.random(frame.shape) < missing
    holes[:states] = False
    return frame.mask(holes)


def make_mixture(n=200, seed=0):
    random = np.random.default_rng(seed)
    where = random.random(n) < 0.4
    spread = np.where(where[:, None], [0.5, 1.0, 2.0], 1.0)
    values = random.normal(size=(n, 3)) * spread + where[:, None] * [3.0, 2.0, -2.0]
    return pd.DataFrame(values, columns=list("xyz"))


def start(arcs, frame, hidden=(), seed=0):
    """Return a table and a random network of the arcs over its variables and the hidden ones."""
    table = infer_variables(columns_of(frame))
    random = np.random.default_rng(seed)
    parents = {v: [] for v in (*table.variables, *hidden)}
    by_name = {v.name: v for v in parents}
    for parent, child in arcs:
        parents[by_name[child]].append(by_name[parent])
    cpds = []
    for child, above in parents.items():
        shape = [p.cardinality for p in above]
        cpds.append(bg.TableCPD(child, random.dirichlet(np.ones(child.cardinality), shape), above))
    return table, parents, bg.BayesianNetwork(cpds)


def brute_force(network, parents, table, weights):
    """Return expected counts of all families and the log likelihood, world by world."""
    variables = list(parents)
    counts = {v: np.zeros([p.cardinality for p in (*above, v)]) for v, above in parents.items()}
    log_likelihood = 0.0
    children = {v: [c for c, above in parents.items() if v in above] for v in variables}
    for row in range(table.n_rows):
        seen = {v: int(table.column(v)[row]) for v in table.variables}
        seen = {v: code for v, code in seen.items() if code >= 0}

        def knows(v, seen=seen):
            return v in seen or any(knows(c) for c in children[v])

        worlds, masses = [], []
        for codes in itertools.product(*(range(v.cardinality) for v in variables)):
            world = dict(zip(variables, codes, strict=True))
            if any(world[v] != code for v, code in seen.items()):
                continue
            mass = 1.0
            for v, above in parents.items():
                mass *= network[v.name].values[tuple(world[p] for p in (*above, v))]
            worlds.append(world)
            masses.append(mass)
        total = sum(masses)
        log_likelihood += weights[row] * np.log(total)
        for world, mass in zip(worlds, masses, strict=True):
            for v, above in parents.items():
                if knows(v):
                    counts[v][tuple(world[p] for p in (*above, v))] += weights[row] * mass / total
    return counts, log_likelihood


HIDDEN = bg.Discrete("h", ["p", "q"])
STRUCTURES = {
    "gaps": (ARCS, ()),
    "hidden root": ([("h", name) for name in NAMES], (HIDDEN,)),
    "hidden between": ([("a", "h"), ("b", "h"), ("h", "c"), ("h", "d"), ("c", "e")], (HIDDEN,)),
    "hidden leaf": ([*ARCS, ("e", "h")], (HIDDEN,)),
    "two hidden": (
        [("h", "k"), ("h", "a"), ("h", "b"), ("k", "c"), ("k", "d"), ("h", "e"), ("k", "e")],
        (HIDDEN, bg.Discrete("k", [1, 2, 3])),
    ),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("own_rows", [1, 5, 1000])
@pytest.mark.parametrize(("arcs", "hidden"), STRUCTURES.values(), ids=STRUCTURES)
def test_expected_counts_equal_brute_force(arcs, hidden, own_rows, monkeypatch):
    # However rows are grouped and cut into blocks.
    monkeypatch.setattr(expected_statistics, "_OWN_ROWS", own_rows)
    monkeypatch.setattr(expected_statistics, "_BLOCK_ENTRIES", 200)
    frame = make_frame(40)
    table, parents, network = start(arcs, frame, hidden)
    weights = np.random.default_rng(1).uniform(0.1, 2, size=table.n_rows)
    expected, log_likelihood = brute_force(network, parents, table, weights)
    step = Expectation(parents, TableSource(table, sample_weight=weights))
    found, total = step.statistics(network)
    assert total == pytest.approx(log_likelihood, rel=1e-12)
    for child in parents:
        np.testing.assert_allclose(
            found[step.families[child]].counts, expected[child], rtol=1e-9, atol=1e-12
        )


def test_complete_rows_are_counted():
    frame = make_frame(missing=0.0)
    plain = bg.BayesianNetwork.fit(ARCS, frame)
    assert plain._history is None
    network = bg.BayesianNetwork.fit(ARCS, frame, missing="em")
    assert network._history.n_iter <= 2
    for a, b in zip(plain.cpds, network.cpds, strict=True):
        np.testing.assert_allclose(a.values, b.values, rtol=1e-12)
    mixed = pd.concat([frame, make_mixture(len(frame))], axis=1)
    arcs = [*ARCS, ("a", "x"), ("x", "y"), ("d", "y")]
    plain = bg.BayesianNetwork.fit(arcs, mixed)
    network = bg.BayesianNetwork.fit(arcs, mixed, missing="em")
    for name in "xyz":
        for part in ("mean", "variance", "coefficients"):
            a, b = (getattr(n[name], part) for n in (plain, network))
            np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_tiny_network_against_direct_maximisation(alpha):
    # Two binary variables, each missing now and then: three free parameters.
    random = np.random.default_rng(3)
    a = random.integers(2, size=50)
    b = (a + (random.random(50) < 0.3)) % 2
    frame = pd.DataFrame({"a": a, "b": b}).astype(str).mask(random.random((50, 2)) < 0.3)
    network = bg.BayesianNetwork.fit(
        [("a", "b")], frame, missing="em", smoothing=bg.Smoothing(alpha=alpha), tol=1e-13
    )
    counts = pd.crosstab(frame["a"].fillna("-"), frame["b"].fillna("-"))

    def loss(logits):
        p, *q = 1 / (1 + np.exp(-np.asarray(logits)))
        joint = np.array([[(1 - p) * (1 - q[0]), (1 - p) * q[0]], [p * (1 - q[1]), p * q[1]]])
        total = 0.0
        for (i, j), n in counts.stack().items():
            rows = slice(None) if i == "-" else int(i)
            columns = slice(None) if j == "-" else int(j)
            total += n * np.log(joint[rows, columns].sum())
        prior = np.log([p, 1 - p, *q, *(1 - np.array(q))]).sum()
        return -(total + alpha * prior)

    best = min(
        (minimize(loss, s, tol=1e-12) for s in random.normal(size=(4, 3))),
        key=lambda found: found.fun,
    )
    assert network._history.objective[-1] == pytest.approx(-best.fun, abs=1e-8)
    p, *q = 1 / (1 + np.exp(-best.x))
    np.testing.assert_allclose(network["a"].values[1], p, atol=1e-4)
    np.testing.assert_allclose(network["b"].values[:, 1], q, atol=1e-4)


@pytest.mark.slow
@given(
    seed=st.integers(0, 1000),
    alpha=st.sampled_from([0.0, 0.3, 1.0]),
    name=st.sampled_from(sorted(STRUCTURES)),
)
def test_the_objective_never_falls(seed, alpha, name):
    arcs, hidden = STRUCTURES[name]
    frame = make_frame(30, seed)
    network = bg.BayesianNetwork.fit(
        arcs,
        frame,
        missing="em",
        hidden=hidden,
        smoothing=bg.Smoothing(alpha=alpha),
        random_state=seed,
        tol=1e-4,
    )
    history = network._history
    assert np.diff(history.objective).min() > -1e-9
    assert history.converged
    assert history.log_likelihood == pytest.approx(network.log_likelihood(frame).sum(), rel=1e-10)
    prior = sum(np.log(cpd.values).sum() for cpd in network.cpds) if alpha else 0.0
    assert history.objective[-1] == pytest.approx(history.log_likelihood + alpha * prior)


def test_a_leaf_that_is_missing_takes_no_iterations():
    # And its table is that of the rows which have it, as far as its parents are known.
    frame = make_frame(missing=0.0)
    frame.loc[frame.index % 3 == 1, "e"] = None
    network = bg.BayesianNetwork.fit(ARCS, frame, missing="em")
    plain = bg.BayesianNetwork.fit(ARCS, frame)
    assert network._history.n_iter <= 2
    np.testing.assert_allclose(network["e"].values, plain["e"].values, rtol=1e-12)


def test_em_uses_what_available_cases_throw_away():
    # Missing at random but not completely: b is mostly unseen where a is high.
    random = np.random.default_rng(0)
    a = random.integers(2, size=4000)
    b = (a + (random.random(4000) < 0.2)) % 2
    frame = pd.DataFrame({"a": a, "b": b}).astype(str)
    frame.loc[(a == 1) & (random.random(4000) < 0.8), "b"] = None
    arcs = [("b", "a")]
    em = bg.BayesianNetwork.fit(arcs, frame, missing="em", smoothing=0.0)
    available = bg.BayesianNetwork.fit(arcs, frame, smoothing=0.0)
    assert em["b"].values[1] == pytest.approx(b.mean(), abs=0.03)
    assert abs(available["b"].values[1] - b.mean()) > 0.1


def test_latent_classes_are_found():
    truth = bg.BayesianNetwork(
        [bg.TableCPD(HIDDEN, [0.35, 0.65])]
        + [
            bg.TableCPD(bg.Discrete(name, ["0", "1"]), [[p, 1 - p], [1 - q, q]], [HIDDEN])
            for name, p, q in zip(
                NAMES, (0.9, 0.8, 0.9, 0.85, 0.8), (0.9, 0.9, 0.8, 0.8, 0.85), strict=True
            )
        ]
    )
    drawn = truth.sample(20_000, random_state=0)
    frame = {name: drawn[name] for name in NAMES}
    arcs = [("h", name) for name in NAMES]
    found = bg.BayesianNetwork.fit(arcs, frame, hidden=[HIDDEN], restarts=2, random_state=0)
    turn = int(np.argmin(np.abs(found["h"].values - 0.35)))
    assert found["h"].values[turn] == pytest.approx(0.35, abs=0.02)
    for name in NAMES:
        values = found[name].values[[turn, 1 - turn]]
        np.testing.assert_allclose(values, truth[name].values, atol=0.03)
    # The graph with its variables serves as well, whoever named the hidden one.
    again = bg.BayesianNetwork.fit(truth, frame, hidden=[HIDDEN], restarts=2, random_state=0)
    assert again._history.log_likelihood == pytest.approx(found._history.log_likelihood, rel=1e-4)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_gaussian_mixtures_equal_scikit_learn(covariance):
    frame = make_mixture()
    arcs = [("h", name) for name in "xyz"]
    if covariance == "full":
        arcs += [("x", "y"), ("x", "z"), ("y", "z")]
    network = bg.BayesianNetwork.fit(
        arcs, frame, hidden=[HIDDEN], smoothing=ML, restarts=3, random_state=1, tol=1e-10
    )
    values = frame.to_numpy()
    peer = GaussianMixture(
        2, covariance_type=covariance, tol=1e-12, max_iter=2000, n_init=3, random_state=0,
        reg_covar=0.0,
    ).fit(values)  # fmt: skip
    log_likelihood = peer.score(values) * len(values)
    assert network._history.log_likelihood == pytest.approx(log_likelihood, abs=1e-4)
    assert np.diff(network._history.objective).min() > -1e-6
    turn = np.argsort(network["x"].mean if covariance == "diag" else -network["h"].values)
    there = np.argsort(peer.means_[:, 0] if covariance == "diag" else -peer.weights_)
    np.testing.assert_allclose(network["h"].values[turn], peer.weights_[there], atol=1e-4)
    np.testing.assert_allclose(network["x"].mean[turn], peer.means_[there, 0], atol=1e-3)


@pytest.mark.slow
def test_mixtures_of_everything_with_gaps():
    frame = pd.concat([make_frame(120), make_mixture(120)], axis=1)
    holes = np.random.default_rng(5).random((120, 3)) < 0.2
    holes[:3] = False
    frame[list("xyz")] = frame[list("xyz")].mask(holes)
    arcs = [("h", name) for name in [*NAMES, *"xyz"]] + [("a", "x")]
    network = bg.BayesianNetwork.fit(
        arcs, frame, hidden=[HIDDEN], smoothing=UNSHRUNK, restarts=2, max_iter=5000
    )
    assert np.diff(network._history.objective).min() > -1e-6
    assert network._history.log_likelihood == pytest.approx(
        network.log_likelihood(frame).sum(), rel=1e-10
    )
    with pytest.raises(UnsupportedModelError, match="'x' is continuous and missing in row"):
        bg.BayesianNetwork.fit([("x", "y")], frame, missing="em")


def test_weights_are_repetitions():
    frame = make_frame(40)
    weights = np.random.default_rng(2).integers(1, 4, size=40)
    weighted = bg.BayesianNetwork.fit(ARCS, frame, missing="em", sample_weight=weights)
    repeated = bg.BayesianNetwork.fit(ARCS, frame.loc[frame.index.repeat(weights)], missing="em")
    for a, b in zip(weighted.cpds, repeated.cpds, strict=True):
        np.testing.assert_allclose(a.values, b.values, rtol=1e-9)


def test_rows_of_weight_zero_take_no_part_even_if_they_cannot_be():
    table = {"a": ["x", "x", "y", "y", "z", None], "b": list("pqppqp"), "n": [1.0, 2, 3, 4, 5, 6]}
    weights = [1, 1, 1, 1, 0, 1]
    options = {"missing": "em", "smoothing": 0, "check_columns": False}
    for names in ("ab", "abn"):
        columns = {name: table[name] for name in names}
        history = bg.BayesianNetwork.fit(
            [("a", "b")], columns, sample_weight=weights, **options
        ).training.history
        assert history.converged
        assert np.isfinite(history.objective).all()
    # The number of the row is that of the table.
    gaps = {"m": [None, 1.0, 2.0, 3.0, None, 4.0], "n": [1.0, 2.0, 3.0, 5.0, 6.0, 7.0]}
    arcs = [("m", "n")]
    bg.BayesianNetwork.fit(arcs, gaps, sample_weight=[0, 1, 1, 1, 0, 1], **options)
    with pytest.raises(UnsupportedModelError, match="missing in row 4"):
        bg.BayesianNetwork.fit(arcs, gaps, sample_weight=[0, 1, 1, 1, 1, 1], **options)


def test_clusters_do_not_start_at_rows_of_weight_zero():
    centre = np.arange(90) % 3
    near = {"x": np.random.default_rng(0).normal(size=90) + 10 * centre}
    far = {"x": np.append(near["x"], np.full(900, 1e6))}
    options = {"hidden": [bg.Discrete("h", range(3))], "check_columns": False}
    found = bg.BayesianNetwork.fit(
        [("h", "x")], far, sample_weight=np.repeat([1, 0], [90, 900]), **options
    )
    expected = bg.BayesianNetwork.fit([("h", "x")], near, **options)
    np.testing.assert_allclose(found["x"].mean, expected["x"].mean)


@pytest.mark.slow
def test_starts():
    frame = make_frame()
    arcs, hidden = STRUCTURES["two hidden"]

    def fit(**options):
        return bg.BayesianNetwork.fit(arcs, frame, hidden=hidden, **options)

    one, same, other = (fit(random_state=seed, tol=1e-3) for seed in (0, 0, 1))
    assert one == same
    assert one != other
    many = fit(random_state=0, restarts=4, tol=1e-3)
    assert len(many._history.restarts) == 4
    assert many._history.restarts[0] == one._history.objective[-1]
    assert many._history.objective[-1] == max(many._history.restarts)
    assert "best of 4" in repr(many._history)
    with pytest.warns(NotConvergedWarning, match="in iteration 3, its last"):
        short = fit(random_state=0, max_iter=3)
    assert short._history.n_iter == 3
    assert not short._history.converged


def test_files_keep_the_network(tmp_path):
    arcs, hidden = STRUCTURES["hidden root"]
    network = bg.BayesianNetwork.fit(arcs, make_frame(), hidden=hidden, random_state=0)
    network.save(tmp_path / "net.bayesgraph")
    again = bg.load(tmp_path / "net.bayesgraph")
    assert again == network
    assert again._history is None


def test_a_tolerance_may_be_a_number_of_numpy():
    plain, of_numpy = (Iterations(tol=tol) for tol in (1.0, np.float32(1.0)))
    assert plain == of_numpy


BAD = {
    "hidden is a column": ({"hidden": [bg.Discrete("a", [0, 1])]}, DataError, "a column of the"),
    "hidden is a name": ({"hidden": ["h"]}, TypeError, "hidden= takes Discrete variables; got 'h'"),
    "hidden is a number": ({"hidden": [bg.Continuous("h")]}, TypeError, "Discrete variables"),
    "hidden twice": (
        {"hidden": [HIDDEN, bg.Discrete("h", ["p", "q", "r"])]},
        DataError,
        "hidden= has two variables named 'h'",
    ),
    "hidden, available": (
        {"hidden": [HIDDEN], "missing": "available"},
        DataError,
        r"hidden='h' takes missing='em'",
    ),
    "missing": ({"missing": "drop"}, DataError, "missing= is one of"),
    "hierarchy": ({"missing": "em", "smoothing": "backoff"}, DataError, "'dirichlet' or 'm'"),
    "restarts": (
        {"missing": "em", "restarts": 0},
        DataError,
        "restarts= is a number of starts",
    ),
    "max_iter": ({"missing": "em", "max_iter": 1.5}, DataTypeError, "max_iter= is a whole number"),
    "tol": ({"missing": "em", "tol": -1}, DataError, "tol takes a finite number"),
    "unknown": ({"arcs": [("z", "a")], "missing": "em"}, UnknownVariableError, "'z'"),
    "cycle": (
        {"arcs": [("h", "a"), ("a", "h")], "hidden": [HIDDEN]},
        GraphError,
        "cycle",
    ),
}


@pytest.mark.parametrize(("options", "error", "message"), BAD.values(), ids=BAD)
def test_unusable_options(options, error, message):
    arcs = options.pop("arcs", ARCS) if "arcs" in options else ARCS
    with pytest.raises(error, match=message):
        bg.BayesianNetwork.fit(arcs, make_frame(), **options)
