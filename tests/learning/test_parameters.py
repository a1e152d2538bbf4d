"""Parameters against NumPy and scikit-learn, and networks of a given graph."""

from functools import partial

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

import bayesgraph as bg
from bayesgraph.core.errors import (
    BayesGraphError,
    CPDError,
    DataError,
    GraphError,
    MemoryLimitError,
    UnknownVariableError,
)
from bayesgraph.learning import Structure, estimate_network
from bayesgraph.statistics import Smoothing

PLAIN = Smoothing(alpha=0.0, shrinkage=0.0, var_smoothing=0.0)


def make_frame(n=300, seed=0, missing=0.0):
    """Return two text columns and three numbers that depend on them and on each other."""
    random = np.random.default_rng(seed)
    y, s = random.integers(3, size=n), random.integers(2, size=n)
    u = random.normal(size=n) + y
    v = 0.5 * u * (y + 1) + s + random.normal(size=n)
    w = v - 0.3 * u + 2 * s + 0.5 * random.normal(size=n)
    frame = pd.DataFrame(
        {"y": np.array(list("abc"))[y], "s": np.array(list("pq"))[s], "u": u, "v": v, "w": w}
    )
    holes = random.random(frame.shape) < missing
    holes[:, 0] = False
    return frame.mask(holes)


ARCS = [("y", "s"), ("y", "u"), ("y", "v"), ("u", "v"), ("s", "w"), ("v", "w"), ("u", "w")]


def fit(arcs, frame, smoothing=PLAIN, *, target="y", weights=None, priors=None):
    source = bg.learning.count_source(frame, target, sample_weight=weights)
    return estimate_network(
        Structure(source.variables, tuple(arcs)), source, smoothing, priors=priors
    )


# ------------------------------------------------------------------------ linear Gaussian


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaussians_are_linear_regressions(missing, weighted):
    frame = make_frame(missing=missing)
    weights = np.random.default_rng(1).uniform(0.1, 2, size=len(frame)) if weighted else None
    network = fit(ARCS, frame, weights=weights)
    for child, discrete, continuous in (
        ("u", ["y"], []),
        ("v", ["y"], ["u"]),
        ("w", ["s"], ["v", "u"]),
    ):
        cpd = network[child]
        assert [p.name for p in cpd.continuous_parents] == continuous
        whole = frame[[child, *discrete, *continuous]].notna().all(axis=1)
        for code, state in enumerate(cpd.discrete_parents[0].states):
            part = whole & (frame[discrete[0]] == state)
            w = weights[part] if weighted else np.ones(part.sum())
            target = frame.loc[part, child].to_numpy()
            inputs = frame.loc[part, continuous].to_numpy()
            if continuous:
                peer = LinearRegression().fit(inputs, target, sample_weight=w)
                expected, slopes = peer.predict(inputs), peer.coef_
                assert cpd.mean[code] == pytest.approx(peer.intercept_, rel=1e-9)
            else:
                expected, slopes = np.average(target, weights=w), []
                assert cpd.mean[code] == pytest.approx(expected, rel=1e-12)
            np.testing.assert_allclose(cpd.coefficients[code], slopes, rtol=1e-9)
            residual = np.average((target - expected) ** 2, weights=w)
            assert cpd.variance[code] == pytest.approx(residual, rel=1e-9)


def test_the_conditional_mean_moves_with_the_parent():
    # E[v | y, u] = m_v + b (u - m_u): without the last term the mean would not depend on u.
    frame = make_frame()
    network = fit(ARCS, frame)
    part = frame[frame["y"] == "b"]
    slope = np.cov(part["u"], part["v"])[0, 1] / part["u"].var()
    for u in (-1.0, 0.0, 2.5):
        expected = part["v"].mean() + slope * (u - part["u"].mean())
        assert network.query("v", {"y": "b", "u": u}).mean == pytest.approx(expected)


@pytest.mark.parametrize("shrinkage", [0.0, 7.0, 20.0])
def test_shrinkage_by_hand(shrinkage):
    frame = make_frame(40)
    ridge = 1e-3
    smoothing = Smoothing(shrinkage=shrinkage, var_smoothing=ridge)
    network = fit([("y", "u"), ("y", "v"), ("u", "v")], frame, smoothing)
    groups = {k: part[["u", "v"]] for k, part in frame.groupby("y")}
    sums = {k: len(part) * np.cov(part.T, ddof=0) for k, part in groups.items()}
    pooled = sum(sums.values()) / len(frame)
    total = np.diag(np.cov(frame[["u", "v"]].T, ddof=0))
    for code, k in enumerate("abc"):
        s = (sums[k] + shrinkage * pooled) / (len(groups[k]) + shrinkage)
        s = s + np.diag(ridge * total)
        slope = s[0, 1] / s[0, 0]
        cpd = network["v"]
        assert cpd.coefficients[code, 0] == pytest.approx(slope, rel=1e-10)
        assert cpd.variance[code] == pytest.approx(s[1, 1] - slope * s[0, 1], rel=1e-10)
        mean = groups[k].mean()
        assert cpd.mean[code] == pytest.approx(mean["v"] - slope * mean["u"], rel=1e-10)
        alone = (sums[k][0, 0] + shrinkage * pooled[0, 0]) / (len(groups[k]) + shrinkage)
        assert network["u"].variance[code] == pytest.approx(alone + ridge * total[0], rel=1e-10)


@pytest.mark.parametrize("shrinkage", [0.0, 20.0])
def test_cells_without_rows_and_with_one_row(shrinkage):
    frame = pd.DataFrame(
        {
            "y": list("aaaaabbbb"),
            "s": list("ppppqpppp"),  # (a, q) has one row, (b, q) has none
            "u": [1.0, 2.0, 4.0, 3.0, 9.0, -1.0, -2.0, -3.0, -2.5],
            "v": [1.5, 2.5, 3.0, 2.0, 8.0, 1.0, 2.0, 2.5, 1.0],
        }
    )
    smoothing = Smoothing(shrinkage=shrinkage)
    network = fit(
        [("y", "s"), ("y", "v"), ("s", "v"), ("u", "v"), ("y", "u"), ("s", "u")], frame, smoothing
    )
    u, v = network["u"], network["v"]
    for cpd in (u, v):
        for values in (cpd.mean, cpd.variance, cpd.coefficients):
            assert np.isfinite(values).all()
    # The empty cell takes the mean of its class, and the pooled variance of the classes.
    assert u.mean[1, 1] == pytest.approx(frame.loc[frame["y"] == "b", "u"].mean())
    assert u.mean[0, 1] == pytest.approx(9.0)
    groups = frame.groupby("y")["u"]
    pooled = (groups.transform("mean") - frame["u"]).pow(2).mean()
    assert u.variance[1, 1] == pytest.approx(pooled, rel=1e-6)
    assert v.variance[1, 1] > 0.01
    # And the conditional mean goes through the class's centre of mass.
    centre = frame.loc[frame["y"] == "b", ["u", "v"]].mean()
    found = v.mean[1, 1] + v.coefficients[1, 1, 0] * centre["u"]
    assert found == pytest.approx(centre["v"])


def test_a_state_without_rows_in_any_class():
    frame = pd.DataFrame({"y": list("abab"), "x": [1.0, 2.0, 3.0, 5.0]})
    frame["s"] = pd.Categorical(list("pppp"), categories=["p", "never"])
    network = fit([("y", "x"), ("s", "x"), ("y", "s")], frame, Smoothing(shrinkage=0.0))
    np.testing.assert_allclose(network["x"].mean[:, 1], [2.0, 3.5])
    np.testing.assert_allclose(network["x"].variance[:, 1], [1.625, 1.625])
    np.testing.assert_allclose(network["s"].values, [[0.75, 0.25]] * 2)


def test_collinear_parents_are_solved():
    frame = make_frame(100)
    frame["u2"], frame["u3"] = frame["u"], 3 * frame["u"] - 1
    arcs = [("u", "v"), ("u2", "v"), ("u3", "v"), ("u", "u2"), ("u", "u3")]
    network = fit(arcs, frame, Smoothing())
    assert all(np.isfinite(network[name].variance).all() for name in ("v", "u2", "u3"))
    mean = network.query("v", {"u": 1.0, "u2": 1.0, "u3": 2.0}).mean
    peer = LinearRegression().fit(frame[["u"]].to_numpy(), frame["v"])
    assert mean == pytest.approx(peer.predict([[1.0]])[0], rel=1e-4)


# ----------------------------------------------------------------------------------- tables


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_tables_by_hand(alpha, missing):
    frame = make_frame(60, missing=missing)
    network = fit([("y", "s")], frame, Smoothing(alpha=alpha))
    counts = pd.crosstab(frame["y"], frame["s"]).to_numpy()
    expected = (counts + alpha) / (counts + alpha).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(network["s"].values, expected, rtol=1e-14)
    # The class itself is not smoothed.
    share = frame["y"].value_counts(sort=False, normalize=True).sort_index()
    np.testing.assert_allclose(network["y"].values, share, rtol=1e-14)
    turned = fit([("s", "y")], frame, Smoothing(alpha=alpha))
    expected = (counts.T + alpha) / (counts.T + alpha).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(turned["y"].values, expected, rtol=1e-14)
    own = frame["s"].value_counts(sort=False).sort_index().to_numpy() + alpha
    np.testing.assert_allclose(turned["s"].values, own / own.sum(), rtol=1e-14)


def test_rows_of_a_table_without_counts_are_uniform():
    frame = {"y": ["a", "a"], "s": ["p", "q"], "t": ["u", None]}
    network = fit([("s", "t")], frame, PLAIN)
    np.testing.assert_array_equal(network["t"].values, [[1.0], [1.0]])
    declared = pd.DataFrame(
        {"y": ["a", "b"], "s": pd.Categorical(["p", "p"], categories=list("pqr"))}
    )
    network = fit([("s", "y")], declared, PLAIN)
    np.testing.assert_array_equal(network["y"].values, [[0.5, 0.5]] * 3)
    np.testing.assert_array_equal(network["s"].values, [1.0, 0.0, 0.0])


def test_priors_replace_the_share_of_the_class():
    frame = make_frame()
    network = fit(ARCS, frame, priors=np.array([0.2, 0.3, 0.5]))
    np.testing.assert_array_equal(network["y"].values, [0.2, 0.3, 0.5])
    with pytest.raises(DataError, match=r"priors=.*'y' has 's'"):
        fit([("s", "y")], frame, priors=np.array([0.2, 0.3, 0.5]))


def test_a_continuous_parent_of_a_discrete_child():
    with pytest.raises(CPDError, match="'s' cannot have continuous parents; got 'u'"):
        fit([("u", "s")], make_frame())


def test_scores_of_arcs_are_kept():
    source = bg.learning.count_source(make_frame(), "y")
    structure = bg.learning.tan(source)
    network = estimate_network(structure, source, Smoothing())
    assert network.arc_scores == structure.scores
    for arc, score in structure.scores.items():
        assert network.graph.edges[arc]["score"] == score
    assert set(network.graph.edges) == set(structure.arcs)


# -------------------------------------------------------------------------- BayesianNetwork.fit


def test_fitting_a_given_graph():
    frame = make_frame(missing=0.1)
    network = bg.BayesianNetwork.fit(ARCS, frame)
    assert set(network.graph.edges) == set(ARCS)
    assert network.names == tuple(frame.columns)
    assert network == bg.BayesianNetwork.fit(iter(ARCS), frame)
    graph = nx.DiGraph(ARCS)
    assert set(bg.BayesianNetwork.fit(graph, frame).graph.edges) == set(ARCS)
    for edges in (network.graph.edges, graph.edges):  # views, which are callable
        assert set(bg.BayesianNetwork.fit(edges, frame).graph.edges) == set(ARCS)
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.to_dict("list")):
        assert bg.BayesianNetwork.fit(ARCS, other) == network
    # Defaults: Laplace's rule for tables, 20 rows' worth of the column's variance for Gaussians.
    counts = pd.crosstab(frame["y"], frame["s"]).to_numpy() + 1
    np.testing.assert_allclose(
        network["s"].values, counts / counts.sum(axis=1, keepdims=True), rtol=1e-14
    )
    pairs = frame[["y", "u"]].dropna().groupby("y")["u"]
    rows, squares = pairs.count(), pairs.var(ddof=0) * pairs.count()
    variance = (squares + 20 * frame["u"].var(ddof=0)) / (rows + 20)
    np.testing.assert_allclose(network["u"].variance, variance, rtol=1e-6)


def test_columns_that_no_arc_mentions():
    frame = make_frame()
    network = bg.BayesianNetwork.fit([("y", "s")], frame)
    assert set(network.names) == set(frame.columns)
    assert network.query("w", {"y": "a"}).mean == pytest.approx(frame["w"].mean())
    graph = nx.DiGraph([("y", "s")])
    graph.add_node("w")
    network = bg.BayesianNetwork.fit(graph, frame)
    assert set(network.names) == {"y", "s", "w"}
    assert bg.BayesianNetwork.fit([], {"a": ["x", "y"]}).names == ("a",)


def test_weights_are_repetitions():
    frame = make_frame(50, missing=0.1)
    weights = np.random.default_rng(2).integers(1, 4, size=50)
    weighted = bg.BayesianNetwork.fit(ARCS, frame, sample_weight=weights)
    repeated = bg.BayesianNetwork.fit(ARCS, frame.loc[frame.index.repeat(weights)])
    for a, b in zip(weighted.cpds, repeated.cpds, strict=True):
        for name in ("values", "mean", "variance", "coefficients"):
            if hasattr(a, name):
                np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9)


@pytest.mark.parametrize(
    "learn", [bg.learning.chow_liu, partial(bg.learning.unrestricted, max_parents=1)]
)
def test_a_tree_that_more_rows_turn_into_a_star_is_estimated_from_pairs(learn):
    random = np.random.default_rng(0)

    def rows(n, is_chain):
        y = random.integers(0, 2, n)
        a = y ^ (random.random(n) < 0.1)
        b = (a if is_chain else y) ^ (random.random(n) < 0.1)
        return pd.DataFrame({"a": a == 1, "b": b == 1}), y

    parts = [rows(200, True), rows(5000, False)]
    options = {"structure": learn, "exponents": None, "check_columns": False}
    X = pd.concat([X for X, _ in parts])
    make = partial(bg.BayesianNetworkClassifier, **options)
    whole = make().fit(X, np.concatenate([y for _, y in parts]))
    batches = make().partial_fit(*parts[0]).partial_fit(*parts[1])
    collected = bg.BayesianNetworkClassifier.from_statistics(
        [make().collect(*part) for part in parts], **options
    )
    for other in (batches, collected):
        np.testing.assert_allclose(other.predict_proba(X), whole.predict_proba(X), rtol=1e-12)


def test_variables_replace_those_of_the_graph():
    frame, other = make_frame(50), bg.Discrete("s", ["q", "p", "r"])
    network = bg.BayesianNetwork.fit([("y", "s")], frame)
    assert bg.BayesianNetwork.fit(network, frame, variables=[other]).variable("s") == other


def test_options_of_fit():
    frame = make_frame(50)
    frame["k"] = np.arange(50) % 3
    network = bg.BayesianNetwork.fit([("k", "y")], frame, categorical=["k"], smoothing=0.0)
    assert network.variable("k").states == (0, 1, 2)
    np.testing.assert_allclose(network["k"].values, [17 / 50, 17 / 50, 16 / 50])
    shrunk = bg.BayesianNetwork.fit([("y", "u")], frame, smoothing=bg.Smoothing(shrinkage=1e12))
    assert np.ptp(shrunk["u"].variance) < 1e-9
    mixed = frame.drop(columns=["u", "v", "w"])
    discrete = bg.BayesianNetwork.fit([], mixed, categorical="all")
    assert all(isinstance(v, bg.Discrete) for v in discrete.variables)


BAD_FITS = {
    "cycle": ([("y", "s"), ("s", "y")], {}, GraphError, "cycle: 'y' -> 's' -> 'y'"),
    "unknown name": ([("y", "S")], {}, UnknownVariableError, r"no variable 'S'.*Did you mean 's'"),
    "unknown node": (
        nx.DiGraph([("y", "uu")]),
        {},
        UnknownVariableError,
        r"'uu'.*Did you mean 'u'",
    ),
    "an arc twice": ([("y", "s"), ("y", "s")], {}, GraphError, "more than once"),
    "text": ("ys", {}, TypeError, r"\(parent, child\) pairs; got 'ys'"),
    "a number": (3, {}, GraphError, "got 3"),
    "triples": ([("y", "s", "u")], {}, GraphError, r"pairs; got \('y', 's', 'u'\)"),
    "continuous parent": ([("u", "s")], {}, CPDError, "'s' cannot have continuous parents"),
    "a variable twice": (
        [("y", "s")],
        {"variables": [bg.Discrete("s", ["p", "q"]), bg.Discrete("s", ["q", "p"])]},
        DataError,
        "variables= has two variables named 's'",
    ),
    "alpha": ([("y", "s")], {"smoothing": -1}, DataError, "alpha.*-1"),
    "categorical": ([("y", "s")], {"categorical": ["U"]}, UnknownVariableError, "Did you mean 'u'"),
    "weights": ([("y", "s")], {"sample_weight": [1.0]}, DataError, "300 rows"),
}


@pytest.mark.parametrize(("arcs", "options", "error", "message"), BAD_FITS.values(), ids=BAD_FITS)
def test_unusable_graphs_and_options(arcs, options, error, message):
    with pytest.raises(error, match=message) as caught:
        bg.BayesianNetwork.fit(arcs, make_frame(), **options)
    assert isinstance(caught.value, BayesGraphError)


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (make_frame()[:0], DataError, "no rows"),
        ({"y": ["a"], "s": [None]}, DataError, "'s' has no observed value"),
        ({"y": ["a", "b"], "s": [1.0, np.inf]}, DataError, "'s' has infinity in row 1"),
        ({"y": ["a", 1], "s": [1.0, 2.0]}, TypeError, "'y' mixes number and text"),
        (np.ones(3), TypeError, "dimension 1"),
    ],
)
def test_unusable_tables(frame, error, message):
    with pytest.raises(error, match=message):
        bg.BayesianNetwork.fit([("y", "s")], frame)


def test_smoothing_checks_itself():
    for name in ("alpha", "shrinkage", "var_smoothing", "reg_covar"):
        for wrong in (-1e-9, np.nan, np.inf, "1", None):
            with pytest.raises(DataError, match=f"{name} takes a finite number"):
                Smoothing(**{name: wrong})


def many_parents(n, child, states="ab"):
    """Return a table of n columns and a child, and arcs from each to the child."""
    random = np.random.default_rng(0)
    table = {f"p{i}": random.choice(list(states), 50) for i in range(n)}
    table["y"] = random.normal(size=50) if child == "number" else random.choice(["u", "v"], 50)
    return [(f"p{i}", "y") for i in range(n)], table


FITS = {
    "fit": bg.BayesianNetwork.fit,
    "em": lambda arcs, table: bg.BayesianNetwork.fit(arcs, table, missing="em"),
    "hill climbing": lambda arcs, table: bg.BayesianNetwork.learn(table, required=arcs),
    "pc": lambda arcs, table: bg.BayesianNetwork.learn(table, method="pc", required=arcs),
}


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("child", ["state", "number"])
@pytest.mark.parametrize(("n", "states"), [(31, "ab"), (40, "ab"), (64, "ab"), (64, "a")])
def test_tables_of_too_many_parents_are_refused_with_their_size(fit, child, n, states):
    arcs, table = many_parents(n, child, states)
    # Four copies of 2**32 counts; of 2**31 moments of one number, which are four numbers each.
    size = {"state": "137 GB", "number": "275 GB"}[child] if n == 31 else ".*B|infinite"
    with pytest.raises(MemoryLimitError, match=rf"need ({size}); the limit is .* fewer parents"):
        FITS[fit](arcs, table)


def test_a_number_of_many_numbers_is_fitted_as_ever():
    random = np.random.default_rng(0)
    table = {f"x{i}": random.normal(size=300) for i in range(80)} | {"k": ["a", "b"] * 150}
    table["y"] = sum(table[f"x{i}"] for i in range(80)) + random.normal(size=300)
    arcs = [*((f"x{i}", "y") for i in range(80)), ("k", "y")]
    assert len(bg.BayesianNetwork.fit(arcs, table)["y"].parents) == 81
