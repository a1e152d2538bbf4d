"""Effects: of models by the engine, of tables by adjustment, with their standard errors."""

import numpy as np
import pytest
from oracle import random_network

import bayesgraph as bg
from bayesgraph.core.errors import (
    DataError,
    EvidenceError,
    GraphError,
    UnknownStateError,
    UnknownVariableError,
    UnsupportedModelError,
)

GRAPH = bg.CausalGraph([("z", "t"), ("z", "y"), ("t", "y")])


def confounded(n, seed=0, effect=1.5):
    """Return rows in which z confounds t and y; the effect of t on y is known."""
    random = np.random.default_rng(seed)
    z = random.random(n) < 0.4
    t = random.random(n) < np.where(z, 0.8, 0.2)
    y = effect * t + 3.0 * z + random.normal(size=n) * np.where(t, 2.0, 1.0)
    age = random.normal(50.0, 10.0, n) + 20.0 * z
    return {"z": z, "t": t, "y": y, "age": age, "well": y > 2}


# ------------------------------------------------------------------------------ from models


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(8))
def test_the_effect_in_a_model_is_the_difference_of_two_interventions(seed):
    net = random_network(seed, n_discrete=4, n_continuous=2, zeros=0.0)
    for treatment in net.names:
        for outcome in net.names:
            if treatment == outcome:
                continue
            t, y = net.variable(treatment), net.variable(outcome)
            options = {}
            if isinstance(t, bg.Discrete):
                options |= {"treated": t.states[-1], "control": t.states[0]}
            if isinstance(y, bg.Discrete):
                options["state"] = y.states[-1]
            found = net.ask.effect(treatment, outcome, **options)
            means = []
            for value in (found.treated, found.control):
                cut = net.do({treatment: value}).query(outcome)
                means.append(cut[y.states[-1]] if isinstance(y, bg.Discrete) else cut.mean)
            assert (found.at_treated, found.at_control) == pytest.approx(means, abs=1e-9)
            assert found.value == found.at_treated - found.at_control
            if bg.d_separated(net, treatment, outcome):
                assert found.value == pytest.approx(0.0, abs=1e-9)


def test_the_effect_of_one_unit_is_the_sum_over_paths_of_products_of_slopes():
    x, m, y, u = (bg.Continuous(name) for name in "xmyu")
    net = bg.BayesianNetwork(
        [
            bg.GaussianCPD(u, 1.0, 2.0),
            bg.GaussianCPD(x, 0.0, 1.0, [u], [3.0]),
            bg.GaussianCPD(m, 2.0, 1.0, [x], [0.5]),
            bg.GaussianCPD(y, 0.0, 1.0, [x, m, u], [2.0, -1.0, 7.0]),
        ]
    )
    assert net.ask.effect("x", "y").value == pytest.approx(2.0 - 0.5)
    assert net.ask.effect("x", "y", treated=5, control=3).value == pytest.approx(2 * 1.5)
    assert net.ask.effect("x", "y", {"u": 4.0}).at_control == pytest.approx(-2.0 + 28.0)
    assert net.ask.effect("y", "x").value == pytest.approx(0.0)
    assert net.ask.effect("x", "y").standard_error is None
    with pytest.raises(EvidenceError, match="taken as known"):
        net.ask.effect("x", "y").interval()


def test_conditional_effects_in_a_model():
    t, g, y = (bg.Discrete(name, ["no", "yes"]) for name in ("t", "g", "y"))
    table = np.array([[0.9, 0.1], [0.8, 0.2], [0.5, 0.5], [0.1, 0.9]]).reshape(2, 2, 2)
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(g, [0.5, 0.5]),
            bg.TableCPD(t, [[0.9, 0.1], [0.2, 0.8]], [g]),
            bg.TableCPD(y, table, [g, t]),
        ]
    )
    assert net.ask.effect("t", "y", {"g": "no"}).value == pytest.approx(0.1)
    assert net.ask.effect("t", "y", {"g": "yes"}).value == pytest.approx(0.4)
    whole = net.ask.effect("t", "y")
    assert whole.value == pytest.approx(0.25)
    assert repr(whole).splitlines() == [
        "Effect of t on y = 'yes'",
        "  probability if 'yes'   0.55",
        "  probability if 'no'     0.3",
        "  effect                +0.25",
    ]


# ------------------------------------------------------------------------------ from tables


def test_adjustment_finds_what_confounding_hides():
    rows = confounded(4_000)
    naive = bg.questions.adjusted_effect(rows, "t", "y")
    found = bg.questions.adjusted_effect(rows, "t", "y", ["z"])
    assert naive.value > 2.5
    low, high = found.interval(0.999)
    assert low < 1.5 < high
    assert found.adjusted == ("z",)
    assert found.n_rows == 4_000
    assert bg.questions.adjusted_effect(rows, "t", "y", GRAPH).value == found.value
    assert "4,000 rows, adjusted for z" in repr(found)


def test_discrete_columns_are_standardised():
    rows = confounded(500)
    z, t, well = (np.array(rows[name]) for name in ("z", "t", "well"))
    means = {
        (a, b): np.mean(well[(t == a) & (z == b)]) for a in (False, True) for b in (False, True)
    }
    at = [sum(means[a, b] * np.mean(z == b) for b in (False, True)) for a in (True, False)]
    found = bg.questions.adjusted_effect(rows, "t", "well", ["z"])
    assert (found.at_treated, found.at_control) == pytest.approx(at, abs=1e-12)
    # The influence function of standardisation is that of inverse probability weighting, augmented.
    share = {b: np.mean(t[z == b]) for b in (False, True)}
    treated = np.array([share[b] for b in z])
    m1, m0 = (np.array([means[a, b] for b in z]) for a in (True, False))
    psi = m1 - m0 - found.value
    psi += np.where(t, (well - m1) / treated, -(well - m0) / (1 - treated))
    assert found.standard_error == pytest.approx(np.sqrt(np.sum(psi**2)) / 500, rel=1e-10)
    among = bg.questions.adjusted_effect(rows, "t", "well", given={"z": True})
    assert among.value == pytest.approx(means[True, True] - means[False, True], abs=1e-12)


def test_continuous_columns_are_regressed():
    random = np.random.default_rng(1)
    z, w = random.normal(size=(2, 300)) * [[1.0], [100.0]] + [[5.0], [-1000.0]]
    x = z + random.normal(size=300)
    y = 2.0 * x - z + 0.01 * w + random.normal(size=300) * (1 + np.abs(z))
    found = bg.questions.adjusted_effect({"x": x, "y": y, "z": z, "w": w}, "x", "y", ["z", "w"])
    design = np.stack([np.ones(300), x, z, w], axis=1)
    slopes, *_ = np.linalg.lstsq(design, y, rcond=None)
    inverse = np.linalg.inv(design.T @ design)
    residual = y - design @ slopes
    sandwich = inverse @ (design * residual[:, None] ** 2).T @ design @ inverse
    assert found.value == pytest.approx(slopes[1], rel=1e-9)
    assert found.standard_error == pytest.approx(np.sqrt(sandwich[1, 1]), rel=1e-6)
    three = bg.questions.adjusted_effect(
        {"x": x, "y": y, "z": z, "w": w}, "x", "y", ["z", "w"], treated=4, control=1
    )
    assert three.value == pytest.approx(3 * slopes[1], rel=1e-9)
    assert three.standard_error == pytest.approx(3 * found.standard_error, rel=1e-6)


def test_a_discrete_treatment_has_a_regression_for_each_state():
    rows = confounded(400, seed=3)
    t, age, y = (np.array(rows[name], dtype=float) for name in ("t", "age", "y"))
    lines = [np.polyfit(age[t == s], y[t == s], 1) for s in (0, 1)]
    expected = np.mean(np.polyval(lines[1], age) - np.polyval(lines[0], age))
    found = bg.questions.adjusted_effect(rows, "t", "y", ["age"])
    assert found.value == pytest.approx(expected, rel=1e-9)


def test_standard_errors_are_those_of_repeated_tables():
    estimates, errors = [], []
    for seed in range(80):
        found = bg.questions.adjusted_effect(confounded(300, seed), "t", "y", ["z", "age"])
        estimates.append(found.value)
        errors.append(found.standard_error)
    assert np.mean(estimates) == pytest.approx(1.5, abs=0.1)
    assert np.mean(errors) == pytest.approx(np.std(estimates), rel=0.2)


def test_weights_count_rows_and_missing_values_leave_them_out():
    rows = confounded(200, seed=4)
    repeats = np.random.default_rng(0).integers(0, 4, 200)
    weighted = bg.questions.adjusted_effect(rows, "t", "y", ["z"], sample_weight=repeats)
    repeated = {name: np.repeat(column, repeats) for name, column in rows.items()}
    assert weighted.value == pytest.approx(
        bg.questions.adjusted_effect(repeated, "t", "y", ["z"]).value
    )
    y = np.array(rows["y"])
    y[::7] = np.nan
    kept = {name: np.array(column)[~np.isnan(y)] for name, column in rows.items()}
    found = bg.questions.adjusted_effect({**rows, "y": y}, "t", "y", ["z"])
    assert found.value == bg.questions.adjusted_effect(kept, "t", "y", ["z"]).value
    assert found.n_rows == len(kept["y"])


def test_a_front_door_estimand_of_a_table():
    """The estimand, evaluated on a network fitted to the observed columns, finds the effect."""
    random = np.random.default_rng(0)
    n = 40_000
    gene = random.random(n) < 0.5
    smoke = random.random(n) < np.where(gene, 0.8, 0.2)
    tar = random.random(n) < np.where(smoke, 0.9, 0.1)
    ill = random.random(n) < 0.1 + 0.4 * tar + 0.3 * gene
    graph = bg.CausalGraph([("smoke", "tar"), ("tar", "ill")], [("smoke", "ill")])
    net = bg.BayesianNetwork.fit(graph.to_dag(), {"smoke": smoke, "tar": tar, "ill": ill})
    estimand = graph.identify("ill", do="smoke")
    risks = [estimand.evaluate(net, {"smoke": state})[True] for state in (False, True)]
    assert risks == pytest.approx([0.1 + 0.04 + 0.15, 0.1 + 0.36 + 0.15], abs=0.015)


# ---------------------------------------------------------------------------------- mistakes


def test_mistakes_in_models_are_told():
    t, y = bg.Discrete("t", list("abc")), bg.Discrete("y", list("abc"))
    net = bg.BayesianNetwork([bg.TableCPD(t, [0.2, 0.3, 0.5]), bg.TableCPD(y, np.eye(3), [t])])
    with pytest.raises(EvidenceError, match="treated= and control="):
        net.ask.effect("t", "y", state="a")
    with pytest.raises(EvidenceError, match="state= one of"):
        net.ask.effect("t", "y", treated="a", control="b")
    assert net.ask.effect("t", "y", treated="a", control="b", state="a").value == 1.0
    with pytest.raises(UnknownVariableError):
        net.ask.effect("tt", "y")
    x = bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous("x"), 0, 1), *net.cpds])
    with pytest.raises(EvidenceError, match="leave out state="):
        x.ask.effect("t", "x", treated="a", control="b", state="a")


def test_a_member_of_an_average_may_lack_the_treatment():
    t, y = bg.Discrete("t", ["old", "new"]), bg.Discrete("y", ["no", "yes"])
    first = bg.BayesianNetwork([bg.TableCPD(t, [0.2, 0.8]), bg.TableCPD(y, np.eye(2), [t])])
    second = bg.BayesianNetwork([bg.TableCPD(y, [0.5, 0.5])])
    average = bg.Ensemble([second, first], combine="posterior")
    found = average.ask.effect("t", "y")
    assert found.value == pytest.approx(0.5)
    assert found.is_linked
    assert not average.ask.effect("y", "t").is_linked


def test_one_of_two_states_is_compared_with_the_other():
    t, y = bg.Discrete("t", ["old", "new"]), bg.Discrete("y", ["no", "yes"])
    table = bg.TableCPD(y, [[0.9, 0.1], [0.4, 0.6]], [t])
    net = bg.BayesianNetwork([bg.TableCPD(t, [0.5, 0.5]), table])
    assert net.ask.effect("t", "y").value == pytest.approx(0.5)
    assert net.ask.effect("t", "y", treated="new") == net.ask.effect("t", "y", control="old")
    assert net.ask.effect("t", "y", treated="old") == net.ask.effect("t", "y", control="new")
    assert net.ask.effect("t", "y", treated="old").value == pytest.approx(-0.5)
    with pytest.raises(UnknownStateError, match="Did you mean 'new'"):
        net.ask.effect("t", "y", treated="nwe")
    with pytest.raises(UnknownStateError, match="no state 'x'"):
        net.ask.effect("t", "y", control="x", treated="new")


def test_a_network_stands_for_its_graph():
    z, x, y = (bg.Discrete(name, ["n", "y"]) for name in "zxy")
    tables = [
        bg.TableCPD(z, [0.4, 0.6]),
        bg.TableCPD(x, [[0.7, 0.3], [0.2, 0.8]], [z]),
        bg.TableCPD(y, [[[0.9, 0.1], [0.5, 0.5]], [[0.6, 0.4], [0.1, 0.9]]], [z, x]),
    ]
    net = bg.BayesianNetwork([*tables, bg.TableCPD(bg.Discrete("alone", ["u"]), [1.0])])
    rows = net.sample(500, random_state=0)
    expected = bg.questions.adjusted_effect(rows, "x", "y", ["z"])
    for graph in (net, net.graph, net.ask.causal_graph()):
        assert bg.questions.adjusted_effect(rows, "x", "y", graph) == expected
    assert bg.CausalGraph(net) == bg.CausalGraph(net.graph) == net.ask.causal_graph()
    assert bg.CausalGraph(net).nodes == net.names
    assert bg.CausalGraph(net, [("x", "y")]).confounded == (("x", "y"),)
    with pytest.raises(GraphError, match="Expected a directed graph"):
        bg.CausalGraph(bg.FactorGraph.of(net))


@pytest.mark.parametrize(
    ("arguments", "options", "error", "said"),
    [
        (("t", "y", ["zz"]), {}, UnknownVariableError, "no variable 'zz'"),
        (("t", "y", "z"), {}, EvidenceError, r"such as \['z'\]"),
        (("t", "y", ["t"]), {}, EvidenceError, "differ"),
        (("t", "well", ["age"]), {}, UnsupportedModelError, "Discretise"),
        (("t", "y", ["z"], {"age": 50.0}), {}, EvidenceError, "given= takes states"),
        (("t", "y", ["z"]), {"state": 1}, EvidenceError, "leave out state="),
        (("t", "y", ["z"]), {"sample_weight": [1, 2]}, DataError, "sample_weight"),
        (("age", "y", ["same"]), {}, DataError, "linearly dependent"),
        (("t", "y", ["always"]), {}, DataError, "there are 0, and it takes 1"),
    ],
)
def test_mistakes_in_tables_are_told(arguments, options, error, said):
    rows = confounded(50)
    rows["same"] = 2.0 * rows["age"] + 1.0
    rows["always"] = np.where(rows["t"], "a", "b")
    with pytest.raises(error, match=said):
        bg.questions.adjusted_effect(rows, *arguments, **options)


def test_a_graph_without_an_adjustment_set_says_what_else_there_is():
    bow = bg.CausalGraph([("t", "y")], [("t", "y")])
    with pytest.raises(EvidenceError, match=r"CausalGraph\.identify"):
        bg.questions.adjusted_effect(confounded(50), "t", "y", bow)


def test_an_effect_against_the_arcs_says_so():
    sprinkler, wet = bg.Discrete("sprinkler", ["off", "on"]), bg.Discrete("wet", ["no", "yes"])
    x = bg.Continuous("x")
    tables = [
        bg.TableCPD(sprinkler, [0.5, 0.5]),
        bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], [sprinkler]),
    ]
    net = bg.BayesianNetwork([*tables, bg.GaussianCPD(x, [0.0, 1.0], 1.0, [wet])])
    assert "no arcs lead from cause to outcome" not in repr(net.ask.effect("sprinkler", "x"))
    for cause, outcome in (("wet", "sprinkler"), ("x", "wet")):
        found = net.ask.effect(cause, outcome)
        assert not found.is_linked
        assert f"is it effect({outcome!r}, {cause!r})?" in repr(found)
    none = bg.BayesianNetwork([tables[0], bg.TableCPD(wet, [0.5, 0.5])])
    two = bg.Ensemble([net.without("x"), none], [0.5, 0.5], combine="joint")
    assert two.ask.effect("sprinkler", "wet").is_linked
    assert not bg.Ensemble([none, none], combine="joint").ask.effect("sprinkler", "wet").is_linked


@pytest.mark.parametrize("number", [True, False])
def test_a_weight_counts_as_so_many_rows(number):
    rng = np.random.default_rng(0)
    rows = {
        "x": rng.normal(size=12) if number else np.array(list("aabb") * 3),
        "z": rng.integers(0, 2, 12).astype(str),
        "y": rng.normal(size=12),
    }
    weights = rng.integers(0, 9, 12)
    options = {"treated": 1.0, "control": 0.0} if number else {"treated": "b", "control": "a"}
    effect = bg.questions.adjusted_effect(rows, "x", "y", sample_weight=weights, **options)
    repeated = {name: np.repeat(column, weights) for name, column in rows.items()}
    expected = bg.questions.adjusted_effect(repeated, "x", "y", **options)
    assert effect.value == pytest.approx(expected.value, rel=1e-12)
    assert effect.standard_error == pytest.approx(expected.standard_error, rel=1e-12)
