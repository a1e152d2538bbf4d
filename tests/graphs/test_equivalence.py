"""CPDAGs and the structural Hamming distance: against all graphs of four nodes."""

import itertools
from functools import partial

import networkx as nx
import numpy as np
import pytest
from causal_graphs import random_dag

import bayesgraph as bg
from bayesgraph.core.errors import GraphError, UnknownVariableError

NODES = "abcd"


def all_dags():
    pairs = list(itertools.combinations(NODES, 2))
    for kinds in itertools.product((0, 1, 2), repeat=len(pairs)):
        dag = nx.DiGraph()
        dag.add_nodes_from(NODES)
        for (a, b), kind in zip(pairs, kinds, strict=True):
            dag.add_edges_from([(a, b)] if kind == 1 else [(b, a)] * (kind == 2))
        if nx.is_directed_acyclic_graph(dag):
            yield dag


def what_it_implies(dag):
    """Return the skeleton and the v-structures."""
    linked = frozenset(map(frozenset, dag.edges))
    pairs = ((frozenset(p), z) for z in dag for p in itertools.combinations(dag.predecessors(z), 2))
    return linked, frozenset((pair, z) for pair, z in pairs if pair not in linked)


@pytest.fixture(scope="module")
def classes():
    """Return the classes of equivalent graphs of four nodes."""
    found = {}
    for dag in all_dags():
        found.setdefault(what_it_implies(dag), []).append(dag)
    return found


def test_an_arc_is_in_all_graphs_of_the_class(classes):
    assert len(classes) == 185  # as counted by Gillispie and Perlman (2002)
    for (skeleton, _), members in classes.items():
        shared = set.intersection(*(set(dag.edges) for dag in members))
        for dag in members[:3]:
            found = bg.graphs.cpdag(dag)
            assert set(found.arcs) == shared
            assert found.skeleton == skeleton
            assert what_it_implies(found.to_dag()) == what_it_implies(dag)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(8))
def test_larger_graphs_come_back(seed):
    dag = random_dag(seed, n=12)
    found = bg.graphs.cpdag(dag)
    assert what_it_implies(found.to_dag()) == what_it_implies(dag)
    assert bg.graphs.cpdag(found) == found
    assert bg.graphs.structural_hamming_distance(dag, found.to_dag()) == 0
    assert bg.CausalGraph(dag.edges, nodes=tuple(dag)).is_equivalent(
        bg.CausalGraph(found.to_dag().edges, nodes=tuple(dag))
    )


def test_distances_count_pairs():
    collider = nx.DiGraph([("a", "b"), ("c", "b")])
    chain = nx.DiGraph([("a", "b"), ("b", "c")])
    assert bg.graphs.structural_hamming_distance(collider, chain) == 2  # both become undirected
    assert bg.graphs.structural_hamming_distance(collider, chain, equivalent=False) == 1
    more = nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")])
    assert bg.graphs.structural_hamming_distance(chain, more) == 1
    partly = bg.graphs.PDAG(("a", "b", "c"), (("a", "b"),), (("b", "c"),))
    assert bg.graphs.structural_hamming_distance(partly, chain) == 1
    with pytest.raises(GraphError, match="these differ in 'c', 'd'"):
        bg.graphs.structural_hamming_distance(chain, nx.DiGraph([("a", "b"), ("b", "d")]))


def test_a_pattern_without_an_extension_becomes_acyclic():
    square = bg.graphs.PDAG(tuple("abcd"), (), (("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")))
    dag = square.to_dag()
    assert nx.is_directed_acyclic_graph(dag)
    assert {frozenset(arc) for arc in dag.edges} == square.skeleton


def test_pictures_show_edges_without_arrows(tmp_path):
    found = bg.graphs.cpdag(nx.DiGraph([("a", "c"), ("b", "c"), ("x", "y")]))
    text = bg.pictures.to_dot(found, rankdir="LR")
    assert text.count('dir="none"') == 1
    assert text.count("->") == 3
    found.render(tmp_path / "found.dot")
    assert "digraph PDAG" in (tmp_path / "found.dot").read_text()


def test_what_is_no_partially_directed_acyclic_graph_is_refused():
    with pytest.raises(GraphError, match="cycle: 'a' -> 'b' -> 'a'"):
        bg.graphs.PDAG(("a", "b"), (("a", "b"), ("b", "a")))
    with pytest.raises(GraphError, match="one arc or one edge at most"):
        bg.graphs.PDAG(("a", "b"), (("a", "b"),), (("a", "b"),))
    with pytest.raises(UnknownVariableError, match="no variable 'c'"):
        bg.graphs.PDAG(("a", "b"), (), (("a", "c"),))
    with pytest.raises(GraphError, match="Expected edges as pairs"):
        bg.graphs.PDAG(("a", "b", "c"), (), (("a", "b", "c"),))
    with pytest.raises(GraphError, match="Expected edges as pairs"):
        bg.graphs.PDAG(("a", "b"), (), ("ab",))


def test_lists_and_iterators_of_pairs_become_tuples():
    expected = bg.graphs.PDAG(("a", "b", "c"), (("a", "b"),), (("b", "c"),))
    assert bg.graphs.PDAG(("a", "b", "c"), [["a", "b"]], iter([["b", "c"]])) == expected
    assert bg.graphs.PDAG(("a", "b", "c"), iter([["a", "b"]]), [["b", "c"]]) == expected


# ------------------------------------------------------------------------------ kinds of models

RAIN, WET = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])


def rainy():
    return bg.BayesianNetwork(
        [bg.TableCPD(RAIN, [0.8, 0.2]), bg.TableCPD(WET, [[0.9, 0.1], [0.3, 0.7]], [RAIN])]
    )


def mixed():
    x = bg.Continuous("x")
    return bg.BayesianNetwork(
        [bg.TableCPD(RAIN, [0.8, 0.2]), bg.GaussianCPD(x, [0.0, 1.0], [1.0, 1.0], [RAIN])]
    )


def fitted(kind):
    random = np.random.default_rng(0)
    rain = random.choice(["no", "yes"], 60)
    return kind().fit({"wet": rain, "t": random.normal(size=60)}, rain)


# Models with a directed graph, and the sentence by which the others refuse.
KINDS = {
    "network": (rainy, None),
    "mixed network": (mixed, None),
    "weighted": (lambda: bg.WeightedNetwork(rainy(), "rain", {"wet": 0.5}), None),
    "graph": (lambda: rainy().graph, None),
    "causal graph": (lambda: bg.questions.causal_graph(rainy()), None),
    "structure": (lambda: bg.learning.Structure((RAIN, WET), (("rain", "wet"),)), None),
    "naive Bayes": (partial(fitted, bg.NaiveBayesClassifier), None),
    "TAN": (partial(fitted, bg.TANClassifier), None),
    "weighted naive Bayes": (partial(fitted, bg.WeightedNaiveBayesClassifier), None),
    "confounded": (
        lambda: bg.CausalGraph([("a", "b")], [("a", "b")]),
        "unobserved common causes has no CPDAG",
    ),
    "mixture": (lambda: bg.Ensemble([rainy()]), "Expected a directed graph"),
    "average": (lambda: bg.Ensemble([rainy()], combine="posterior"), "Expected a directed graph"),
    "factor graph": (lambda: bg.FactorGraph.of(rainy()), "Expected a directed graph"),
    "AODE": (partial(fitted, bg.AODEClassifier), "Expected a directed graph"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_model_has_a_class_or_refuses(kind):
    make, refusal = KINDS[kind]
    model = make()
    if refusal is not None:
        for ask in (bg.graphs.cpdag, lambda m: bg.graphs.structural_hamming_distance(m, m)):
            with pytest.raises(GraphError, match=refusal):
                ask(model)
        return
    found = bg.graphs.cpdag(model)
    assert not found.arcs  # none of these has a v-structure
    assert found.edges
    assert bg.graphs.structural_hamming_distance(model, found) == 0
