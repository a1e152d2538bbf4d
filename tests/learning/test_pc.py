"""The PC algorithm: by d-separation it finds the class, and its tests are those of single pairs."""

import itertools

import networkx as nx
import numpy as np
import pytest
from causal_graphs import random_dag
from structures import make_frame

import bayesgraph as bg
from bayesgraph.core.errors import DataError
from bayesgraph.learning.pc_algorithm import PairTests, Skeleton, directed
from bayesgraph.statistics import Smoothing


class Separation:
    """Tests that know the graph: p-values are 0 or 1."""

    def __init__(self, dag):
        self.dag, self.names = dag, list(dag)

    def of(self, asked):
        found = []
        for one, other, given in asked:
            ends = {self.names[one]}, {self.names[other]}
            apart = nx.is_d_separator(self.dag, *ends, {self.names[c] for c in given})
            found.append((float(apart), 1.0 - apart))
        return np.array(found).T


@pytest.mark.one_in(8)
@pytest.mark.parametrize("share", [0.2, 0.4])
@pytest.mark.parametrize("seed", range(10))
def test_d_separation_leads_to_the_class_of_the_graph(seed, share):
    dag = random_dag(seed, n=8, share=share)
    free = ~np.eye(8, dtype=bool)
    skeleton = Skeleton(free, np.zeros_like(free), Separation(dag), 0.5)
    skeleton.search(8)
    names = list(dag)
    found = nx.DiGraph([(names[a], names[b]) for a, b in directed(skeleton, free, ~free & free)])
    found.add_nodes_from(names)
    assert bg.graphs.structural_hamming_distance(found, dag) == 0
    # Knowledge of some directions keeps them.
    known = np.zeros_like(free)
    for a, b in itertools.islice(dag.edges, 3):
        known[names.index(a), names.index(b)] = True
    arcs = directed(skeleton, free & ~known.T, np.zeros_like(free))
    assert set(zip(*np.nonzero(known), strict=True)) <= set(arcs)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kinds", [(5, 0), (0, 5), (3, 2)])
@pytest.mark.parametrize("missing", [False, True])
def test_tests_are_those_of_single_pairs(kinds, missing):
    frame = make_frame(1, *kinds, n=400, strength=0.8)
    del frame["y"]
    if missing:
        frame = {n: [None if (i + j) % 11 == 0 else v for i, v in enumerate(c)]
                 for j, (n, c) in enumerate(frame.items())}  # fmt: skip
    source = bg.learning.count_source(frame)
    tests = PairTests(source, source.features, Smoothing().ridge)
    names = [v.name for v in source.features]
    asked = [
        (a, b, given)
        for a, b in itertools.permutations(range(5), 2)
        for size in range(3)
        for given in itertools.combinations([c for c in range(5) if c not in (a, b)], size)
    ]
    chosen = asked[:: 3 if kinds == (3, 2) else 7]
    results = zip(*tests.of(chosen), strict=True)
    for (one, other, given), (p_value, information) in zip(chosen, results, strict=True):
        expected = bg.independence_test(
            frame, names[one], names[other], tuple(names[c] for c in given)
        )
        if np.isnan(p_value):
            assert given
            assert expected.degrees_of_freedom == 0
            continue
        assert p_value == pytest.approx(expected.p_value, rel=1e-5, abs=1e-12)
        if expected.method != "partial_correlation":
            rows = expected.n_rows
            assert information == pytest.approx(
                max(expected.statistic, 0.0) / 2 / rows, rel=1e-5, abs=1e-9
            )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kinds", [(5, 0), (0, 5), (3, 3)])
def test_strong_arcs_are_found_whatever_the_order_of_the_columns(kinds):
    frame = make_frame(3, *kinds, n=1500, strength=1.0)
    found = bg.learning.pc(bg.learning.count_source(frame), alpha=0.01)
    turned = bg.learning.pc(bg.learning.count_source(dict(reversed(frame.items()))), alpha=0.01)
    edges = {frozenset(arc) for arc in found.arcs}
    assert edges
    assert edges == {frozenset(arc) for arc in turned.arcs}
    kind = {v.name: isinstance(v, bg.Continuous) for v in found.variables}
    assert all(kind[b] or not kind[a] for a, b in found.arcs)
    assert all(score > 0 for score in found.scores.values())
    assert nx.is_directed_acyclic_graph(found.graph)


def test_columns_that_others_determine_keep_their_other_edges():
    random = np.random.default_rng(0)
    left, right = random.random((2, 4000)) < 0.3
    either = left | right
    shown = random.random(4000) < np.where(either, 0.9, 0.1)
    frame = {"left": left, "right": right, "either": either, "shown": shown}
    edges = {frozenset(arc) for arc in bg.learning.pc(bg.learning.count_source(frame)).arcs}
    assert frozenset(("either", "shown")) in edges
    assert {frozenset(("left", "either")), frozenset(("right", "either"))} <= edges
    copied = {"shown": shown, "either": either, "copy": either}
    edges = {frozenset(arc) for arc in bg.learning.pc(bg.learning.count_source(copied)).arcs}
    assert len(edges) == 3  # which of the copies the other depends on cannot be known


def test_rules_hold_whatever_the_tests_say():
    frame = make_frame(3, 5, 0, n=500, strength=1.0)
    source = bg.learning.count_source(frame, "y")
    names = [v.name for v in source.features]
    free = {frozenset(arc) for arc in bg.learning.pc(source).arcs}
    apart = next(p for p in itertools.combinations(names, 2) if frozenset(p) not in free)
    linked = tuple(next(iter(free)))
    found = bg.learning.pc(source, required=[apart], forbidden=[linked, linked[::-1]])
    assert apart in found.arcs
    assert apart not in found.scores
    assert frozenset(linked) not in {frozenset(arc) for arc in found.arcs}
    tiers = [names[::-1], ["y"]]
    late = bg.learning.pc(source, tiers=tiers)
    assert all(parent != "y" for parent, _ in late.arcs)


def test_directions_that_rules_leave_none_for_lose_their_edge():
    free = ~np.eye(3, dtype=bool)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        free[b, a] = False
    skeleton = Skeleton(free, ~free & free, Separation(nx.complete_graph(3, nx.DiGraph)), 0.5)
    assert directed(skeleton, free, ~free & free) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("alpha", [0.0, 1.0, "high"])
def test_a_level_is_a_probability(alpha):
    with pytest.raises(DataError, match="alpha= takes a probability"):
        bg.learning.pc(bg.learning.count_source(make_frame(0, 2, 0)), alpha=alpha)


def test_a_level_may_be_a_number_of_numpy():
    source = bg.learning.count_source(make_frame(0, 2, 0))
    level = np.float32(0.25)
    assert bg.learning.pc(source, alpha=level) == bg.learning.pc(source, alpha=0.25)


def copied_rows(n=2000, states=200):
    """Return a column of many states, two copies, and columns that depend on it."""
    random = np.random.default_rng(0)
    code = random.integers(0, states, n)
    a = np.array([f"s{v}" for v in code])
    w = np.where(random.random(n) < 0.8, code % 3, 0)
    number = random.normal(size=n) + 2.0 * (code % 5)
    return {
        "a": a,
        "b": np.char.replace(a, "s", "t"),
        "w": w.astype(str),
        "u": np.where(random.random(n) < 0.7, w, 2).astype(str),
        "number": number,
    }


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("method", ["pc", "hill_climb", "tabu"])
@pytest.mark.parametrize("names", ["ab", "abw", "abwu", "baw"])
def test_copies_are_linked_and_one_of_them_has_the_links_of_both(method, check, names):
    rows = copied_rows()
    learned = bg.BayesianNetwork.learn

    def links(columns):
        found = learned({c: rows[c] for c in columns}, method=method, check_columns=check)
        return nx.Graph(found.graph.edges)

    whole, without = links(names), links(names.replace("b", ""))
    assert whole.has_edge("a", "b")
    around = set(without.adj["a"]) if "a" in without else set()
    assert around == {n for copy in "ab" for n in whole.adj[copy]} - {"a", "b"}


@pytest.mark.parametrize("method", ["pc", "hill_climb"])
def test_cities_depend_on_their_postcodes(method):
    random = np.random.default_rng(0)
    city = random.integers(0, 1500, 20_000)
    post = 2 * city + random.integers(0, 2, 20_000)
    rows = {"city": np.char.add("c", city.astype(str)), "post": np.char.add("p", post.astype(str))}
    rows["side"] = random.choice(["left", "right"], 20_000)
    found = bg.BayesianNetwork.learn(rows, method=method, check_columns=False)
    assert [{*arc} for arc in found.graph.edges] == [{"city", "post"}]


def test_copies_keep_the_numbers_that_depend_on_them():
    rows = copied_rows()
    rows = {name: rows[name] for name in ("a", "b", "number")}
    found = nx.Graph(bg.BayesianNetwork.learn(rows, method="pc", check_columns=False).graph.edges)
    assert nx.is_connected(found)
    assert set(found) == set(rows)


@pytest.mark.parametrize("method", ["pc", "hill_climb"])
def test_unrelated_columns_of_many_states_are_not_linked(method):
    random = np.random.default_rng(3)
    for states, n in ((200, 2000), (60, 900), (2000, 2000)):
        rows = {name: random.integers(0, states, n).astype(str) for name in "xyz"}
        found = bg.BayesianNetwork.learn(rows, method=method, alpha=0.001, check_columns=False) if (
            method == "pc"
        ) else bg.BayesianNetwork.learn(rows, method=method, check_columns=False)  # fmt: skip
        assert not found.graph.edges
