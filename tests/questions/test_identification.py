"""Estimands: evaluated on the observed margin they equal the truncated factorisation of all."""

import itertools
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from causal_graphs import random_graph, random_network

import bayesgraph as bg
from bayesgraph.core.errors import (
    EvidenceError,
    GraphError,
    NotIdentifiableError,
    UnknownVariableError,
    UnsupportedModelError,
)

FRONT_DOOR = bg.CausalGraph([("x", "z"), ("z", "y")], [("x", "y")])
NAPKIN = bg.CausalGraph([("w", "r"), ("r", "x"), ("x", "y")], [("w", "x"), ("w", "y")])
BOW = bg.CausalGraph([("x", "y")], [("x", "y")])


def check(graph, estimand, net):
    """Compare an estimand, for all states, with the network in which latent variables are known."""
    named = (*estimand.do, *estimand.given)
    for states in itertools.product(*(net.variable(name).states for name in named)):
        values = dict(zip(named, states, strict=True))
        do = {name: values[name] for name in estimand.do}
        given = {name: values[name] for name in estimand.given}
        found = estimand.evaluate(net, do, given)
        expected = net.query(list(estimand.outcome), given, do=do)
        np.testing.assert_allclose(
            found.probabilities,
            expected.probabilities.reshape(found.probabilities.shape),
            atol=1e-9,
        )


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(40))
def test_estimands_equal_the_truncated_factorisation(seed):
    graph = random_graph(seed, n=5, share=0.45, confounded=0.3)
    net = random_network(graph, seed)
    random = np.random.default_rng(seed)
    for _ in range(6):
        names = [graph.nodes[i] for i in random.permutation(len(graph.nodes))]
        n_do, n_given = int(random.integers(1, 3)), int(random.integers(0, 2))
        y, x, z = names[:1], names[1 : 1 + n_do], names[1 + n_do : 1 + n_do + n_given]
        try:
            estimand = graph.identify(y, do=x, given=z)
        except NotIdentifiableError as error:
            larger, smaller = map(set, error.hedge)
            # A hedge: both sets are connected by confounders, and what is set is between them.
            for part in (larger, smaller):
                assert len(districts(graph, part)) == 1
            assert smaller < larger
            continue
        check(graph, estimand, net)


# It runs by itself, as the constructor of pyAgrum's causal models crashes beside other libraries.
PYAGRUM = """
import json, sys
import pyagrum as gum
found = []
for seed, (nodes, arcs, pairs, cpts) in enumerate(json.load(sys.stdin)):
    net = gum.BayesNet()
    for name in nodes:
        net.add(gum.LabelizedVariable(name, name, 2))
    for a, b in arcs:
        net.addArc(a, b)
    for name, rows in cpts.items():
        for place, probability in rows:
            net.cpt(name)[place] = probability
    causal = gum.CausalModel(net, [(f"u{i}", pair) for i, pair in enumerate(pairs)], True)
    for x in nodes:
        for y in nodes:
            if x != y:
                answer = gum.causalImpact(causal, on=y, doing=x)
                impact, values = answer[1], None
                if impact is not None:
                    own = x in impact.names
                    parts = [impact.extract({x: i}) if own else impact for i in (0, 1)]
                    values = [part.tolist() for part in parts]
                found.append((seed, x, y, values))
print(json.dumps(found))
"""


@pytest.mark.slow
def test_pyagrum_identifies_the_same_effects():
    """And they have the same values in networks of the arcs, without the common causes."""
    pytest.importorskip("pyagrum")
    graphs = [random_graph(seed, n=5, share=0.45, confounded=0.3) for seed in range(20)]
    networks, given = [], []
    for seed, graph in enumerate(graphs):
        net = random_network(bg.CausalGraph(graph.arcs, (), graph.nodes), seed, cards=(2,))
        networks.append(net)
        cpts = {}
        for cpd in net.cpds:
            places = [
                dict(zip((v.name for v in cpd.scope), c, strict=True))
                for c in np.ndindex(cpd.values.shape)
            ]
            cpts[cpd.variable.name] = list(zip(places, cpd.values.ravel().tolist(), strict=True))
        given.append((graph.nodes, graph.arcs, graph.confounded, cpts))
    done = subprocess.run(
        [sys.executable, "-c", PYAGRUM],
        check=False,
        input=json.dumps(given),
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr
    answers = json.loads(done.stdout)
    assert len(answers) == 20 * 20
    for seed, x, y, values in answers:
        try:
            estimand = graphs[seed].identify(y, do=x)
        except NotIdentifiableError:
            assert values is None
            continue
        for state in (0, 1):
            found = estimand.evaluate(networks[seed], {x: state}).probabilities
            np.testing.assert_allclose(found, values[state], atol=1e-9)
    assert any(values is None for *_, values in answers)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(12))
def test_what_a_criterion_finds_is_identified_and_gives_the_effect(seed):
    graph = random_graph(seed, n=5, share=0.45, confounded=0.25)
    net = random_network(graph, seed, cards=(2,))
    for x, y in itertools.permutations(graph.nodes, 2):
        expected = np.array([net.query(y, do={x: state}).probabilities for state in (0, 1)])
        for z in graph.adjustment_sets(x, y):
            found = adjusted(net, x, y, z)
            np.testing.assert_allclose(found, expected, atol=1e-9)
        for z in graph.front_door_sets(x, y):
            if z:
                # sum_z P(z | x) sum_x' P(x') P(y | x', z), where x' is adjusted for.
                joint = net.query([x, *z]).probabilities.reshape(2, -1)
                by_z = adjusted(net, z, y, [x])
                found = joint / joint.sum(axis=1, keepdims=True) @ by_z
                np.testing.assert_allclose(found, expected, atol=1e-9)
        if graph.adjustment_sets(x, y) or graph.front_door_sets(x, y) or not graph.confounded:
            check(graph, graph.identify(y, do=x), net)


def adjusted(net, x, y, z):
    """Return sum_z P(z) P(y | x, z) from the joint distribution, shape (states of x, 2)."""
    x = [x] if isinstance(x, str) else list(x)
    joint = net.query([*z, *x, y]).probabilities.reshape(2 ** len(z), 2 ** len(x), 2)
    given = joint / joint.sum(axis=2, keepdims=True)
    return np.einsum("z,zxy->xy", joint.sum(axis=(1, 2)), given)


def districts(graph, nodes):
    """Return the parts of nodes that confounded pairs connect."""
    parts = [{node} for node in nodes]
    for pair in graph.confounded:
        if set(pair) <= nodes:
            touched = [part for part in parts if part & set(pair)]
            parts = [part for part in parts if not part & set(pair)] + [set().union(*touched)]
    return parts


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (FRONT_DOOR, "P(y | do(x)) = Σ_z P(z | x) Σ_x' P(x') P(y | x', z)"),
        (NAPKIN, "P(y | do(x)) = [Σ_w P(w) P(x, y | w, r)] / [Σ_w P(w) P(x | w, r)]"),
        (bg.CausalGraph([("x", "y")]), "P(y | do(x)) = P(y | x)"),
        (bg.CausalGraph([("y", "x")]), "P(y | do(x)) = P(y)"),
        (
            bg.CausalGraph([("c", "x"), ("c", "y"), ("x", "y")]),
            "P(y | do(x)) = Σ_c P(c) P(y | c, x)",
        ),
        (
            bg.CausalGraph([("x", "m"), ("m", "y"), ("x", "y")], [("c", "x")]),
            "P(y | do(x)) = P(y | x)",
        ),
    ],
)
def test_estimands_by_hand(graph, text):
    estimand = graph.identify("y", do="x")
    assert repr(estimand) == text
    check(graph, estimand, random_network(graph, 1))


@pytest.mark.parametrize(
    ("graph", "larger", "smaller"),
    [
        (BOW, ("x", "y"), ("y",)),
        (
            # Shpitser and Pearl 2006, figure 1: confounded with what is between.
            bg.CausalGraph([("x", "z"), ("z", "y")], [("x", "z")]),
            ("x", "z"),
            ("z",),
        ),
        (
            bg.CausalGraph([("x", "z"), ("z", "y")], [("x", "y"), ("z", "y")]),
            ("x", "z", "y"),
            ("z", "y"),
        ),
        (
            bg.CausalGraph([("z", "x"), ("x", "y")], [("x", "z"), ("z", "y")]),
            ("x", "z", "y"),
            ("y",),
        ),
    ],
)
def test_hedges_by_hand(graph, larger, smaller):
    with pytest.raises(
        NotIdentifiableError, match=r"P\(y \| do\(x\)\) is not identifiable"
    ) as error:
        graph.identify("y", do="x")
    found = error.value.hedge
    assert (set(found[0]), set(found[1])) == (set(larger), set(smaller))
    assert pickle.loads(pickle.dumps(error.value)).hedge == found
    for name in larger:
        assert repr(name) in str(error.value)


def test_what_is_refused_differs_between_models_that_agree_on_what_is_seen():
    x, y, u = (bg.Discrete(name, [0, 1]) for name in "xyu")
    prior, copy = bg.TableCPD(u, [0.5, 0.5]), bg.TableCPD(x, np.eye(2), [u])
    same = np.array([[[1, 0], [0, 1]], [[1, 0], [0, 1]]])
    by_u = bg.BayesianNetwork([prior, copy, bg.TableCPD(y, same, [x, u])])
    by_x = bg.BayesianNetwork([prior, copy, bg.TableCPD(y, same.swapaxes(0, 1), [x, u])])
    seen = [net.query(["x", "y"]).probabilities for net in (by_u, by_x)]
    np.testing.assert_allclose(*seen)
    assert by_u.query("y", do={"x": 1})[1] == 0.5
    assert by_x.query("y", do={"x": 1})[1] == 1.0
    with pytest.raises(NotIdentifiableError):
        by_u.ask.causal_graph(["u"]).identify("y", do="x")


def test_conditions_after_an_intervention():
    graph = bg.CausalGraph([("x", "y"), ("y", "z")])
    estimand = graph.identify("y", do="x", given="z")
    assert repr(estimand).startswith("P(y | do(x), z) = ")
    check(graph, estimand, random_network(graph, 3))
    # A confounder that is observed can as well be set (rule 2).
    confounded = bg.CausalGraph([("c", "x"), ("c", "y"), ("x", "y")])
    estimand = confounded.identify("y", do="x", given="c")
    assert repr(estimand) == "P(y | do(x), c) = P(y | c, x)"
    check(confounded, estimand, random_network(confounded, 3))


def test_several_outcomes_and_treatments():
    net = random_network(FRONT_DOOR, 5)
    check(FRONT_DOOR, FRONT_DOOR.identify(["y", "z"], do="x"), net)
    check(FRONT_DOOR, FRONT_DOOR.identify("y", do=["x", "z"]), net)
    assert FRONT_DOOR.identify("y", do="x").variables == {"x", "y", "z"}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
def test_a_network_fitted_to_observed_columns_evaluates_estimands(seed):
    graph = (FRONT_DOOR, NAPKIN, random_graph(seed, confounded=0.2))[seed % 3]
    net = random_network(graph, seed, cards=(2,))
    arcs = graph.to_dag()
    # The margin of the observed variables is a network of these arcs.
    order = [v for v in net.variables if v.name in graph.nodes]
    cpds = []
    for variable in order:
        parents = [net.variable(a) for a, b in arcs if b == variable.name]
        joint = net.query([*(p.name for p in parents), variable.name]).probabilities
        cpds.append(bg.TableCPD(variable, joint / joint.sum(axis=-1, keepdims=True), parents))
    margin = bg.BayesianNetwork(cpds)
    names = [v.name for v in order]
    np.testing.assert_allclose(
        margin.query(names).probabilities, net.query(names).probabilities, atol=1e-12
    )
    x, y = ("x", "y") if "x" in names else names[:2]
    try:
        estimand = graph.identify(y, do=x)
    except NotIdentifiableError:
        return
    for state in (0, 1):
        np.testing.assert_allclose(
            estimand.evaluate(margin, {x: state}).probabilities,
            net.query(y, do={x: state}).probabilities,
            atol=1e-9,
        )


def test_states_that_are_impossible_have_no_value():
    c, x, y = (bg.Discrete(name, [0, 1]) for name in "cxy")
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.5, 0.5]),
            bg.TableCPD(x, [[1.0, 0.0], [0.5, 0.5]], [c]),
            bg.TableCPD(y, np.full((2, 2, 2), 0.5), [c, x]),
        ]
    )
    estimand = net.ask.causal_graph().identify("y", do="x")
    assert estimand.evaluate(net, {"x": 0})[0] == pytest.approx(0.5)
    with pytest.raises(EvidenceError, match=r"sum to 0\.5"):
        estimand.evaluate(net, {"x": 1})


def test_mistakes_are_told():
    net = random_network(FRONT_DOOR, 0)
    estimand = FRONT_DOOR.identify("y", do="x")
    with pytest.raises(EvidenceError, match="do= takes the states of 'x'; got 'z'"):
        estimand.evaluate(net, {"z": 0})
    with pytest.raises(EvidenceError, match="given= takes the states of no variables"):
        estimand.evaluate(net, {"x": 0}, {"z": 0})
    with pytest.raises(UnknownVariableError):
        estimand.evaluate(net, {"xx": 0})
    with pytest.raises(UnknownVariableError):
        FRONT_DOOR.identify("y", do="xx")
    with pytest.raises(GraphError, match="must not overlap"):
        FRONT_DOOR.identify("y", do="x", given="x")
    with pytest.raises(GraphError, match="empty"):
        FRONT_DOOR.identify("y", do=())
    x, y = bg.Continuous("x"), bg.Continuous("y")
    line = bg.BayesianNetwork([bg.GaussianCPD(x, 0, 1), bg.GaussianCPD(y, 0, 1, [x], [1.0])])
    with pytest.raises(UnsupportedModelError, match="over discrete variables"):
        line.ask.causal_graph().identify("y", do="x").evaluate(line, {"x": 1.0})


def test_states_that_never_occur_together_give_no_value_for_cases_either():
    z, x, y, w = (bg.Discrete(name, ["0", "1"]) for name in "zxyw")
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(z, [0.6, 0.4]),
            bg.TableCPD(x, [[0.5, 0.5], [1.0, 0.0]], [z]),
            bg.TableCPD(y, [[[0.9, 0.1], [0.3, 0.7]], [[0.4, 0.6], [0.2, 0.8]]], [z, x]),
            bg.TableCPD(w, [[[0.9, 0.1], [0.5, 0.5]], [[0.3, 0.7], [0.1, 0.9]]], [z, y]),
        ]
    )
    estimand = bg.CausalGraph(net).identify("y", do="x", given="w")
    with pytest.raises(EvidenceError, match="The estimand has no value"):
        estimand.evaluate(net, {"x": "1"}, {"w": "1"})
    found = estimand.evaluate(net, {"x": "0"}, {"w": "1"}).probabilities
    expected = net.query("y", {"w": "1"}, do={"x": "0"}).probabilities
    assert found == pytest.approx(expected)
