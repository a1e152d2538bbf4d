"""To pgmpy and back, with pgmpy's own inference as the judge."""

from __future__ import annotations

import enum
import itertools
import sys
from typing import Any

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import (
    BayesGraphWarning,
    CPDError,
    DataTypeError,
    LossyExportError,
    LossyExportWarning,
    MissingDependencyError,
    ModelError,
)
from bayesgraph.files import to_pgmpy

# Importing it warns of deprecated modules of pgmpy's own, which importorskip keeps quiet.
pytest.importorskip("pgmpy.inference", exc_type=ImportError)

from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.factors.discrete import DiscreteFactor, TabularCPD
from pgmpy.inference import DBNInference, VariableElimination
from pgmpy.models import (
    DiscreteBayesianNetwork,
    DiscreteMarkovNetwork,
    DynamicBayesianNetwork,
    FactorGraph,
    JunctionTree,
    LinearGaussianBayesianNetwork,
    NaiveBayes,
)

A = bg.Discrete("a", [False, True])
B = bg.Discrete("b", [3, 1, 2])
C = bg.Discrete("c", ["w", "x", "y", "z"])
D = bg.Discrete(("d", 0), [0.5, "half", (1, 2), None.__class__, b"x"])


@pytest.fixture
def net() -> bg.BayesianNetwork:
    """A network whose cardinalities all differ, with parents in no particular order."""
    random = np.random.default_rng(3)
    return bg.BayesianNetwork(
        [
            bg.TableCPD(D, random.dirichlet(np.ones(5), (4, 2, 3)), [C, A, B]),
            bg.TableCPD(C, random.dirichlet(np.ones(4), (3, 2)), [B, A]),
            bg.TableCPD(A, random.dirichlet(np.ones(2))),
            bg.TableCPD(B, random.dirichlet(np.ones(3), 2), [A]),
        ],
        arc_scores={("a", "c"): 0.5},
    )


def states_of(variable: Any) -> list[tuple[type, Any]]:
    return [(type(state), state) for state in variable.states]


def test_discrete_networks_keep_everything(net: bg.BayesianNetwork) -> None:
    converted = bg.files.to_pgmpy(net)
    assert type(converted) is DiscreteBayesianNetwork
    assert converted.check_model()
    assert list(converted.nodes) == list(net.names)
    table = converted.get_cpds(("d", 0))
    assert table.variables == [("d", 0), "c", "a", "b"]
    for codes in itertools.product(range(5), range(4), range(2), range(3)):
        assert table.values[codes] == net["d", 0].values[(*codes[1:], codes[0])]
    assert [type(state) for state in converted.states["a"]] == [bool, bool]
    back = bg.from_pgmpy(converted)
    assert back == net
    assert back.names == net.names
    assert back.arc_scores == net.arc_scores
    for variable in net.variables:
        assert states_of(back.variable(variable.name)) == states_of(variable)


def test_pgmpy_answers_the_same(net: bg.BayesianNetwork) -> None:
    named = bg.BayesianNetwork(net.cpds[1:])  # pgmpy's inference cannot take the name ("d", 0)
    judge = VariableElimination(bg.files.to_pgmpy(named))
    for target, evidence in [("a", {"c": "y"}), ("b", {"a": True, "c": "z"}), ("c", {"b": 1})]:
        theirs = judge.query([target], evidence=evidence, show_progress=False)
        ours = named.query(target, evidence)
        for state in named.variable(target).states:
            assert ours[state] == pytest.approx(theirs.get_value(**{target: state}), abs=1e-12)


def test_linear_gaussians_keep_everything() -> None:
    x, y, z = bg.Continuous("x"), bg.Continuous("y"), bg.Continuous("z")
    net = bg.BayesianNetwork(
        [
            bg.GaussianCPD(z, 1 / 3, 0.3, [y, x], coefficients=[0.1, -2]),
            bg.GaussianCPD(x, -1, 0.01),
            bg.GaussianCPD(y, 2, 7, [x], coefficients=[0.7]),
        ],
        arc_scores={("y", "z"): 1.5},
    )
    converted = bg.files.to_pgmpy(net)
    assert type(converted) is LinearGaussianBayesianNetwork
    assert converted.check_model()
    assert converted.get_cpds("z").evidence == ["y", "x"]
    assert bg.from_pgmpy(converted) == net
    assert bg.from_pgmpy(converted).names == ("z", "x", "y")
    assert bg.from_pgmpy(converted).arc_scores == net.arc_scores
    mean, covariance = converted.to_joint_gaussian()  # rounded to 8 decimals by pgmpy
    joint = net.query(["x", "y", "z"])
    np.testing.assert_allclose(joint.mean, mean, atol=1e-7)
    np.testing.assert_allclose(joint.covariance, covariance, atol=1e-7)


def test_every_variance_survives_and_every_deviation_too() -> None:
    random = np.random.default_rng(0)
    for number in random.gamma(1.0, size=200) * 10.0 ** random.integers(-100, 100, 200):
        net = bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous("x"), 0, number)])
        assert bg.from_pgmpy(bg.files.to_pgmpy(net)) == net
        model = LinearGaussianBayesianNetwork()
        model.add_node("x")
        model.add_cpds(LinearGaussianCPD("x", [0.0], float(number)))
        assert bg.files.to_pgmpy(bg.from_pgmpy(model)).get_cpds("x").std == number


def test_a_deviation_changed_in_pgmpy_counts() -> None:
    model = bg.files.to_pgmpy(bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous("x"), 0, 2.0)]))
    model.get_cpds("x").std = 3.0
    assert bg.from_pgmpy(model)["x"].variance == 9.0
    model.get_cpds("x").std = -3.0
    with pytest.raises(CPDError, match="positive"):
        bg.from_pgmpy(model)


# ------------------------------------------------------------------------------------ factor graphs


def test_factor_graphs_keep_their_factors(net: bg.BayesianNetwork) -> None:
    factor = bg.Factor([B, A], [[1.0, 2.0], [0.0, 3.0], [0.5, 8.0]])
    graph = bg.FactorGraph([net["a"], net["b"], factor, factor])
    converted = bg.files.to_pgmpy(graph)
    assert type(converted) is DiscreteMarkovNetwork
    assert converted.check_model()
    assert [f.variables for f in converted.factors] == [["a"], ["a", "b"], ["b", "a"], ["b", "a"]]
    np.testing.assert_array_equal(converted.factors[1].values, net["b"].values)
    assert converted.get_partition_function() == pytest.approx(np.exp(graph.log_partition))
    back = bg.from_pgmpy(converted)
    assert back.variables == graph.variables
    for state in A.states:
        assert back.query("a", {"b": 1})[state] == pytest.approx(
            graph.query("a", {"b": 1})[state], abs=1e-14
        )


def test_exponents_become_part_of_the_tables(net: bg.BayesianNetwork) -> None:
    graph = bg.FactorGraph([net["a"], net["b"]], exponents=[None, 0.5])
    with pytest.warns(LossyExportWarning, match="exponents of 1 factors are applied"):
        converted = bg.files.to_pgmpy(graph)
    np.testing.assert_allclose(converted.factors[1].values, net["b"].values ** 0.5)
    theirs = VariableElimination(converted).query(["a"], evidence={"b": 2}, show_progress=False)
    theirs.normalize()
    for state in A.states:
        assert graph.query("a", {"b": 2})[state] == pytest.approx(theirs.get_value(a=state))


def test_a_pgmpy_factor_graph_is_read() -> None:
    model = FactorGraph()
    factors = [
        DiscreteFactor(
            ["a", "b"], [2, 3], np.arange(6.0), state_names={"a": [0, 1], "b": list("xyz")}
        ),
        DiscreteFactor(["b"], [3], [1.0, 2.0, 3.0], state_names={"b": list("xyz")}),
    ]
    model.add_nodes_from(["a", "b", *factors])
    model.add_factors(*factors)
    model.add_edges_from([("a", factors[0]), ("b", factors[0]), ("b", factors[1])])
    assert model.check_model()
    back = bg.from_pgmpy(model)
    np.testing.assert_allclose(back.terms[0].source.values, np.arange(6.0).reshape(2, 3))
    assert back.query("b")["z"] == pytest.approx(3 * 7 / (3 * 7 + 2 * 5 + 3))
    model.add_nodes_from(["alone"])
    with pytest.raises(ModelError, match="no factor for 'alone'"):
        bg.from_pgmpy(model)


def test_factors_outside_the_range_of_floats_are_refused() -> None:
    for log_values in ([[-800.0, 0.0]], [[0.0, 800.0]], [[-740.0, 0.0]]):
        graph = bg.FactorGraph([bg.Factor.from_log([A], np.array(log_values))])
        with pytest.raises(LossyExportError, match="beyond the range of floats"):
            bg.files.to_pgmpy(graph)
    zero = bg.FactorGraph([bg.Factor([A], [0.0, 1.0])])
    np.testing.assert_array_equal(bg.files.to_pgmpy(zero).factors[0].values, [0.0, 1.0])
    rows = bg.FactorGraph([bg.Factor.from_log([A], np.zeros((3, 2)))])
    with pytest.raises(LossyExportError, match="belongs to a batch of rows"):
        bg.files.to_pgmpy(rows)


def test_factors_of_continuous_variables_are_refused() -> None:
    x = bg.Continuous("x")
    with pytest.raises(LossyExportError, match="'x' is continuous"):
        bg.files.to_pgmpy(bg.FactorGraph([bg.GaussianCPD(x, 0, 1)]))


# ----------------------------------------------------------------------------- what cannot be held


def test_mixed_networks_are_refused_by_name(net: bg.BayesianNetwork) -> None:
    x = bg.Continuous("x")
    mixed = bg.BayesianNetwork([*net.cpds, bg.GaussianCPD(x, [0, 1], [1, 1], [A])])
    with pytest.raises(LossyExportError, match=r"discrete and continuous .*: 'x'"):
        bg.files.to_pgmpy(mixed)


def test_kinds_scores_and_annotations_come_back() -> None:
    size, b = bg.Binned(("size", 1), [0.5]), bg.Discrete(1, [True, "x"])
    net = bg.BayesianNetwork(
        [bg.TableCPD(size, [0.5, 0.5]), bg.TableCPD(b, [[0.5, 0.5], [1, 0]], [size])],
        arc_scores={(("size", 1), 1): 0.5},
        annotations=bg.models.Annotations("note", {1: (0.1, 2)}, {("size", 1): "é"}),
    )
    back = bg.from_pgmpy(bg.files.to_pgmpy(net))
    assert back == net
    assert type(back.variable(("size", 1))) is bg.Binned
    assert back.arc_scores == net.arc_scores
    assert back.annotations == net.annotations


def test_counts_come_back() -> None:
    net = bg.BayesianNetwork([bg.GaussianCPD(bg.Count("n"), 3, 2)])
    assert type(bg.from_pgmpy(bg.files.to_pgmpy(net)).variable("n")) is bg.Count


def test_equal_states_are_refused_or_become_texts() -> None:
    a, b = bg.Discrete("a", [True, 1, "1"]), bg.Discrete("b", ["x", "y"])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.5, 0.25, 0.25]),
            bg.TableCPD(b, [[0.5, 0.5], [1, 0], [0.1, 0.9]], [a]),
        ]
    )
    for model in (net, bg.FactorGraph.of(net)):
        with pytest.raises(
            LossyExportError, match=r"True, 1, '1' .*of 'a': .*no two of them equal"
        ):
            bg.files.to_pgmpy(model)
        converted, report = bg.files.to_pgmpy(model, strict=False)
        assert len(report.restored) == 1
        assert "written as 'True', '1', '1_2'" in report.restored[0]
        assert not report.lost
        assert converted.check_model()
        judge = VariableElimination(converted)
        theirs = judge.query(["b"], evidence={"a": "1"}, show_progress=False)
        theirs.normalize()
        assert theirs.get_value(b="x") == pytest.approx(1.0)
        back = bg.from_pgmpy(converted)
        assert [states_of(v) for v in back.variables] == [states_of(v) for v in net.variables]
    assert bg.from_pgmpy(bg.files.to_pgmpy(net, strict=False)[0]) == net


def test_equal_states_of_types_that_no_file_holds_are_lost() -> None:
    mode = enum.StrEnum("mode", ["x"])
    variable = bg.Discrete("a", [mode.x, "x", range(2)])
    net = bg.BayesianNetwork([bg.TableCPD(variable, [0.5, 0.25, 0.25])])
    with pytest.warns(LossyExportWarning, match="of 'a': states are any values"):
        converted, report = bg.files.to_pgmpy(net, strict=False)
    assert converted.states == {"a": ["x", "x_2", "range(0, 2)"]}
    assert len(report.lost) == 1
    assert not report.restored
    assert bg.from_pgmpy(converted).variable("a").states == ("x", "x_2", "range(0, 2)")


def test_factor_graphs_keep_the_kinds_of_variables() -> None:
    size = bg.Binned("size", [0.5])
    graph = bg.FactorGraph([bg.Factor([size, A], [[1.0, 2.0], [0.0, 3.0]])])
    converted, report = bg.files.to_pgmpy(graph, strict=False)
    assert not report
    assert bg.from_pgmpy(converted).variables == graph.variables
    assert type(bg.from_pgmpy(converted).variable("size")) is bg.Binned


def test_the_report_says_what_is_left_out() -> None:
    rows = {"x": ["n", "y", "n", "n"]}
    classifier = bg.NaiveBayesClassifier().fit(rows, ["no", "yes", "no", "yes"])
    converted, report = bg.files.to_pgmpy(classifier, strict=False)
    assert bg.from_pgmpy(converted) == classifier.network_
    assert report.lost == ("what the model was fitted on is left out",)
    network = bg.models.annotated(classifier.network_, bg.models.Annotations("a note"))
    _, report = bg.files.to_pgmpy(bg.WeightedNetwork(network, network.names[0], {}), strict=False)
    assert any("annotations" in item for item in report.lost)


def test_other_precision_is_refused(net: bg.BayesianNetwork) -> None:
    from pgmpy import config

    config.set_dtype("float32")
    try:
        with pytest.raises(LossyExportError, match="float64"):
            bg.files.to_pgmpy(net)
    finally:
        config.set_dtype("float64")
    assert bg.from_pgmpy(bg.files.to_pgmpy(net)) == net


def test_other_objects_are_refused() -> None:
    with pytest.raises(DataTypeError, match="Expected a network, a FactorGraph"):
        to_pgmpy({})
    with pytest.raises(DataTypeError, match=r"Expected a pgmpy .*builtins\.dict"):
        bg.from_pgmpy({})
    with pytest.raises(DataTypeError, match="JunctionTree"):
        bg.from_pgmpy(JunctionTree())


def test_without_pgmpy_the_extra_is_named(
    net: bg.BayesianNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pgmpy.models", None)
    monkeypatch.setitem(sys.modules, "pgmpy.factors.discrete", None)
    for call in (lambda: bg.files.to_pgmpy(net), lambda: bg.from_pgmpy(net)):
        with pytest.raises(MissingDependencyError, match=r"pip install 'bayesgraph\[pgmpy\]'"):
            call()


# ----------------------------------------------------------------------------------------- import


def coin(values: Any, **kwargs: Any) -> DiscreteBayesianNetwork:
    model = DiscreteBayesianNetwork()
    model.add_node("coin")
    model.add_cpds(TabularCPD("coin", 2, [[value] for value in values], **kwargs))
    return model


def test_states_without_names_are_their_numbers() -> None:
    assert bg.from_pgmpy(coin([0.5, 0.5])).variable("coin").states == (0, 1)


def test_numpy_states_become_plain() -> None:
    model = coin([0.5, 0.5], state_names={"coin": [np.int64(5), np.str_("x")]})
    assert states_of(bg.from_pgmpy(model).variable("coin")) == [(int, 5), (str, "x")]


def test_naive_bayes_is_a_network() -> None:
    model = NaiveBayes(feature_vars=["x", "y"], dependent_var="c")
    model.add_cpds(
        TabularCPD("c", 2, [[0.25], [0.75]]),
        TabularCPD("x", 3, [[0.1, 0.2], [0.2, 0.3], [0.7, 0.5]], ["c"], [2]),
        TabularCPD("y", 2, [[0.5, 0.25], [0.5, 0.75]], ["c"], [2]),
    )
    back = bg.from_pgmpy(model)
    np.testing.assert_array_equal(back["x"].values, [[0.1, 0.2, 0.7], [0.2, 0.3, 0.5]])
    assert type(bg.files.to_pgmpy(back)) is DiscreteBayesianNetwork


def test_rows_that_pgmpy_takes_as_one() -> None:
    exact = bg.from_pgmpy(coin([0.5, 0.5 + 5e-7]))
    assert exact["coin"].values[1] == 0.5 + 5e-7
    with pytest.warns(BayesGraphWarning, match=r"'coin'.*normalize=False"):
        rounded = bg.from_pgmpy(coin([0.33, 0.66]))
    np.testing.assert_allclose(rounded["coin"].values, [1 / 3, 2 / 3], rtol=1e-15)
    with pytest.raises(CPDError, match=r"sum to 0\.99"):
        bg.from_pgmpy(coin([0.33, 0.66]), normalize=False)
    with pytest.raises(CPDError, match=r"sum to 0\.9,"):
        bg.from_pgmpy(coin([0.3, 0.6]))


def test_models_that_are_not_finished() -> None:
    model = coin([0.5, 0.5])
    model.add_node("alone")
    with pytest.raises(ModelError, match="no CPD for 'alone'"):
        bg.from_pgmpy(model)
    model.add_cpds(TabularCPD("alone", 2, [[0.5], [0.5]]))
    model.add_edge("coin", "alone")
    with pytest.raises(ModelError, match=r"'alone' has the parents , the graph has 'coin'"):
        bg.from_pgmpy(model)
    gaussian = LinearGaussianBayesianNetwork([("x", "y")])
    gaussian.add_cpds(LinearGaussianCPD("x", [0], 1), LinearGaussianCPD("y", [0], 1))
    with pytest.raises(ModelError, match="'y' has the parents"):
        bg.from_pgmpy(gaussian)


def test_states_in_another_order_are_refused() -> None:
    model = DiscreteBayesianNetwork([("a", "b")])
    model.add_cpds(
        TabularCPD("a", 2, [[0.5], [0.5]], state_names={"a": ["x", "y"]}),
        TabularCPD("b", 2, np.eye(2), ["a"], [2], state_names={"b": ["u", "v"], "a": ["y", "x"]}),
    )
    with pytest.raises(ModelError, match="states and their order must agree"):
        bg.from_pgmpy(model)


def test_state_names_must_be_complete() -> None:
    model = DiscreteBayesianNetwork([("a", "b")])
    model.add_cpds(
        TabularCPD("a", 2, [[0.5], [0.5]]),
        TabularCPD("b", 2, np.eye(2), ["a"], [2], state_names={"b": ["u", "v"]}),
    )
    with pytest.raises(ModelError, match="no state names for 'a'"):
        bg.from_pgmpy(model)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("variables", ["b", ["a"]]),
        ("variables", []),
        ("state_names", None),
        ("values", np.float64(0.5)),
        ("values", np.array([["x", "y"], ["u", "v"]])),
        ("values", np.eye(2) + 1j),
    ],
)
def test_models_that_were_damaged_are_refused_in_words(attribute: str, value: Any) -> None:
    model = DiscreteBayesianNetwork([("a", "b")])
    names = {"a": ["x", "y"], "b": ["u", "v"]}
    child = TabularCPD("b", 2, np.eye(2), ["a"], [2], state_names=names)
    model.add_cpds(TabularCPD("a", 2, [[0.5], [0.5]], state_names={"a": ["x", "y"]}), child)
    setattr(child, attribute, value)
    with pytest.raises(ModelError, match=r"inconsistent|complex|parents"):
        bg.from_pgmpy(model)


Z, X, Y = bg.Discrete("z", ["a", "b"]), bg.Discrete("x", [0, 1, 2]), bg.Discrete("y", [False, True])


def temporal(**more: Any) -> bg.TemporalNetwork:
    """A state with two things that are seen of it, one of which depends on the other."""
    random = np.random.default_rng(4)
    first = [
        bg.TableCPD(Z, random.dirichlet(np.ones(2))),
        bg.TableCPD(X, random.dirichlet(np.ones(3), 2), [Z]),
        bg.TableCPD(Y, random.dirichlet(np.ones(2), 3), [X]),
    ]
    later = [bg.TableCPD(Z, random.dirichlet(np.ones(2), 2), [bg.before(Z)])]
    return bg.TemporalNetwork(first, later, **more)


def test_temporal_networks_are_dynamic_ones() -> None:
    model = temporal()
    converted = to_pgmpy(model)
    assert type(converted) is DynamicBayesianNetwork
    assert converted.check_model()
    assert bg.from_pgmpy(converted) == model
    assert to_pgmpy(model, strict=False)[1].lost == ()
    rows = {"y": [True, False, None, True]}
    # pgmpy takes the numbers of states.
    told = {("y", t): int(y) for t, y in enumerate(rows["y"]) if y is not None}
    inference = DBNInference(converted)
    for name in ("z", "x"):
        ahead, whole = model.filter(rows, name), model.smooth(rows, name)
        for node in [(name, t) for t in range(4)]:
            # Of several nodes at once pgmpy 1.1.2 gives other numbers than of each alone.
            filtered = inference.forward_inference([node], told)[node].values
            smoothed = inference.query([node], told)[node].values
            np.testing.assert_allclose(filtered, ahead[node[1]], atol=1e-12)
            np.testing.assert_allclose(smoothed, whole[node[1]], atol=1e-12)


def test_dynamic_networks_without_all_cpds_repeat_those_of_the_first_slice() -> None:
    other = DynamicBayesianNetwork([(("z", 0), ("x", 0)), (("z", 0), ("z", 1))])
    other.add_cpds(
        TabularCPD(("z", 0), 2, [[0.3], [0.7]]),
        TabularCPD(("x", 0), 2, [[0.6, 0.9], [0.4, 0.1]], [("z", 0)], [2]),
        TabularCPD(("z", 1), 2, [[0.2, 0.5], [0.8, 0.5]], [("z", 0)], [2]),
    )
    model = bg.from_pgmpy(other)
    assert model.variable("x").states == (0, 1)
    assert model.slices[0][1] in model.slices[1]
    # By hand: P(z_1 = 0) and P(x_1 = 0).
    z = 0.3 * 0.2 + 0.7 * 0.5
    np.testing.assert_allclose(model.query("x", 1).probabilities[0], 0.6 * z + 0.9 * (1 - z))
    other.initialize_initial_state()
    assert bg.from_pgmpy(other) == model
    with pytest.raises(ModelError, match="first= has no CPDs"):
        bg.from_pgmpy(DynamicBayesianNetwork([(("z", 0), ("z", 1))]))


NUMBER, BINNED = bg.Continuous("n"), bg.Binned("cut", [1.0, 2.0])
TIME = bg.TableCPD(bg.Discrete("s", [0, 1]), [0.5, 0.5])
LATER = [bg.TableCPD(Z, np.full((2, 2, 2), 0.5), [bg.before(Z), bg.before(Z, 2)])]
OTHERS = {
    "static": lambda: temporal(static=[TIME]),
    "order 2": lambda: bg.TemporalNetwork(
        [[bg.TableCPD(Z, [0.5, 0.5])], [bg.TableCPD(Z, [0.5, 0.5])]], LATER
    ),
    "no arcs": lambda: bg.TemporalNetwork([bg.TableCPD(Z, [0.5, 0.5])]),
    "other arcs": lambda: bg.TemporalNetwork(
        [bg.TableCPD(Z, [0.5, 0.5]), bg.TableCPD(X, np.full(3, 1 / 3))],
        [bg.TableCPD(X, np.full((2, 2, 3), 1 / 3), [Z, bg.before(Z)])],
    ),
    "intervals": lambda: bg.TemporalNetwork(
        [bg.TableCPD(Z, [0.5, 0.5]), bg.TableCPD(BINNED, np.full((2, 3), 1 / 3), [Z])],
        [bg.TableCPD(Z, np.full((2, 2), 0.5), [bg.before(Z)])],
    ),
    "numbers": lambda: bg.local_level("n", level_variance=1.0, noise_variance=1.0),
    "both": lambda: bg.hidden_markov(2, {"n": "gaussian"}),
}


@pytest.mark.parametrize("what", OTHERS)
def test_other_temporal_networks_are_refused_in_a_line(what: str) -> None:
    with pytest.raises(LossyExportError, match="pgmpy") as caught:
        to_pgmpy(OTHERS[what]())
    assert "\n" not in str(caught.value)
