"""Sets to adjust for: against their definitions by enumeration, pgmpy and published graphs."""

import itertools
import re
import warnings

import networkx as nx
import pytest
from causal_graphs import minimal, random_dag, random_graph, subsets

import bayesgraph as bg
from bayesgraph.core.errors import GraphError, UnknownVariableError


def without(dag, arcs):
    found = nx.DiGraph(dag)
    found.remove_edges_from(arcs)
    return found


def by_back_door(graph, x, y):
    """Return the sets that satisfy the back-door criterion of Pearl, in its words."""
    dag = graph.dag
    cut = without(dag, list(dag.out_edges(x)))
    below = nx.descendants(dag, x)
    candidates = [n for n in graph.nodes if n not in (x, y) and n not in below]
    return [z for z in subsets(candidates) if nx.is_d_separator(cut, {x}, {y}, set(z))]


@pytest.mark.one_in(18)
@pytest.mark.parametrize("confounded", [0.0, 0.25])
@pytest.mark.parametrize("seed", range(20))
def test_adjustment_sets_satisfy_the_back_door_criterion(seed, confounded):
    graph = random_graph(seed, n=6, confounded=confounded)
    for x, y in itertools.permutations(graph.nodes, 2):
        valid = by_back_door(graph, x, y)
        assert graph.adjustment_sets(x, y) == minimal(valid)
        assert all(graph.is_adjustment_set(x, y, z) for z in valid)
        some = graph.nodes[0]
        if some not in (x, y):
            left = [z for z in valid if some not in z]
            assert graph.adjustment_sets(x, y, forbidden=some) == minimal(left)


def proper_causal_paths(dag, x, y):
    """Return the paths of arcs from a set to another that meet the first one at the start only."""
    for a, b in itertools.product(x, y):
        for path in nx.all_simple_paths(dag, a, b):
            if not set(path[1:]) & set(x):
                yield path


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(10))
def test_sets_of_treatments_satisfy_the_adjustment_criterion(seed):
    graph = random_graph(seed + 50, n=6, confounded=0.15)
    dag = graph.dag
    for x in itertools.combinations(graph.nodes, 2):
        rest = [n for n in graph.nodes if n not in x]
        for y in (rest[:1], rest[1:3]):
            paths = list(proper_causal_paths(dag, x, y))
            on = {n for path in paths for n in path[1:]}
            spoiled = on.union(*(nx.descendants(dag, n) for n in on))
            cut = without(dag, [path[:2] for path in paths])
            valid = [
                z
                for z in subsets(n for n in rest if n not in y and n not in spoiled)
                if nx.is_d_separator(cut, set(x), set(y), set(z))
            ]
            assert graph.adjustment_sets(x, y) == minimal(valid)
            for z in subsets(n for n in rest if n not in y):
                assert graph.is_adjustment_set(x, y, z) == (z in valid)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(8))
def test_adjustment_and_front_door_sets_equal_pgmpy(seed):
    pytest.importorskip("pgmpy")
    from pgmpy.base import DAG
    from pgmpy.inference import CausalInference

    dag = random_dag(seed, n=5, share=0.45)
    theirs = DAG()
    theirs.add_nodes_from(dag)
    theirs.add_edges_from(dag.edges)
    theirs.latents = {"v0"}
    graph = bg.CausalGraph.of(dag, latent=["v0"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked = CausalInference(theirs)
        for x, y in itertools.permutations(graph.nodes, 2):
            try:
                # An empty set stands for the empty adjustment set.
                known = asked.get_all_backdoor_adjustment_sets(x, y) or {frozenset()}
            except ValueError:
                known = set()
            assert {frozenset(z) for z in graph.adjustment_sets(x, y)} == known
            if nx.has_path(dag, x, y):
                single = {
                    z
                    for z in graph.nodes
                    if z not in (x, y) and asked.is_valid_frontdoor_adjustment_set(x, y, [z])
                }
                found = {z[0] for z in graph.front_door_sets(x, y) if len(z) == 1}
                assert found == single


def published(name):
    """Return a graph of the collection of dagitty: arcs, latent, exposed and outcome variables."""
    path = bg.examples.diagrams()[name].path
    arcs, roles = [], {}
    for line in path.read_text().splitlines()[1:]:
        if arc := re.match(r"(\S+) -> (\S+)", line):
            arcs.append(arc.groups())
        elif node := re.match(r"(\S+)(?: \[(.*)\])?$", line):
            roles[node[1]] = set((node[2] or "").split(","))
    nodes = [name for name in roles if name != "}"]

    def having(role):
        return [name for name in nodes if role in roles[name]]

    return bg.CausalGraph(arcs, (), nodes), having("latent"), having("exposure"), having("outcome")


PUBLISHED = [
    *("Acid_1996", "Didelez_2010", "Kampen_2014", "M-bias", "Polzer_2012", "Schipf_2010"),
    *("Sebastiani_2005", "Shrier_2008", "Thoemmes_2013", "confounding", "mediator", "paths"),
]


@pytest.mark.parametrize("name", PUBLISHED)
def test_adjustment_sets_of_published_graphs(name):
    graph, latent, exposed, outcome = published(name)
    graph = bg.CausalGraph.of(graph, latent)
    if not exposed or not outcome:
        exposed, outcome = graph.nodes[:1], graph.nodes[-1:]
    (x,), (y,) = exposed, outcome
    found = graph.adjustment_sets(x, y)
    assert found
    for z in found:
        assert graph.is_adjustment_set(x, y, z)
        assert not any(graph.is_adjustment_set(x, y, set(z) - {n}) for n in z)
    # All others that are minimal: by enumeration among the ancestors, where these are few.
    above = nx.ancestors(graph.dag, x) | nx.ancestors(graph.dag, y) | {x, y}
    spoiled = {x, y} | nx.descendants(graph.dag, x)
    candidates = [n for n in graph.nodes if n in above - spoiled]
    if len(candidates) <= 10:
        cut = without(graph.dag, list(graph.dag.out_edges(x)))
        valid = [z for z in subsets(candidates) if nx.is_d_separator(cut, {x}, {y}, set(z))]
        assert found == minimal(valid)


def test_adjusting_for_a_collider_makes_bias():
    graph = bg.CausalGraph([("x", "y"), ("a", "x"), ("a", "m"), ("b", "m"), ("b", "y")])
    assert graph.adjustment_sets("x", "y") == [()]
    assert not graph.is_adjustment_set("x", "y", ["m"])
    assert graph.is_adjustment_set("x", "y", ["m", "a"])
    mediated = bg.CausalGraph([("x", "m"), ("m", "y"), ("c", "x"), ("c", "y")])
    assert mediated.adjustment_sets("x", "y") == [("c",)]
    assert not mediated.is_adjustment_set("x", "y", ["c", "m"])


# ------------------------------------------------------------------------------- front-door


def by_front_door(graph, x, y):
    """Return the sets that satisfy the front-door criterion of Pearl, in its words."""
    dag = graph.dag
    no_causes = without(dag, list(dag.out_edges(x)))
    paths = [set(path) for path in nx.all_simple_paths(dag, x, y)]
    found = []
    for z in subsets(n for n in graph.nodes if n not in (x, y)):
        cut = without(dag, list(dag.out_edges(z)))
        if (
            all(path & set(z) for path in paths)
            and all(nx.is_d_separator(no_causes, {x}, {n}, set()) for n in z)
            and (not z or nx.is_d_separator(cut, set(z), {y}, {x}))
        ):
            found.append(z)
    return found


@pytest.mark.one_in(15)
@pytest.mark.parametrize("seed", range(12))
def test_front_door_sets_equal_enumeration(seed):
    graph = random_graph(seed, n=6, share=0.35, confounded=0.15)
    for x, y in itertools.permutations(graph.nodes, 2):
        assert graph.front_door_sets(x, y) == minimal(by_front_door(graph, x, y))


def test_front_doors_by_hand():
    chain = bg.CausalGraph([("x", "a"), ("a", "b"), ("b", "y")], [("x", "y")])
    assert chain.front_door_sets("x", "y") == [("a",), ("b",)]
    assert chain.front_door_sets("x", "y", forbidden=["a"]) == [("b",)]
    assert chain.front_door_sets("x", "y", maximum=1) in ([("a",)], [("b",)])
    # What confounds mediator and outcome has to be in the set.
    wide = bg.CausalGraph([("x", "m"), ("m", "y"), ("c", "m"), ("c", "y")], [("x", "y")])
    assert wide.front_door_sets("x", "y") == [("m", "c")]
    # And what confounds that and the outcome.
    arcs = [*wide.arcs, ("d", "c"), ("d", "y")]
    wider = bg.CausalGraph(arcs, wide.confounded)
    assert wider.front_door_sets("x", "y") == [("m", "c", "d")]
    assert bg.CausalGraph([("x", "y")], [("x", "y")]).front_door_sets("x", "y") == []


# ------------------------------------------------------------------------------ instruments


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(12))
def test_instruments_equal_enumeration(seed):
    graph = random_graph(seed, n=6, share=0.35, confounded=0.2)
    dag = graph.dag
    for x, y in itertools.permutations(graph.nodes, 2):
        paths = list(nx.all_simple_paths(dag, x, y))
        cut = without(dag, [path[:2] for path in paths])
        on = {n for path in paths for n in path[1:]} | {y}
        spoiled = on.union(*(nx.descendants(dag, n) for n in on)) | {x}
        expected = set()
        for node in graph.nodes:
            if node in spoiled:
                continue
            candidates = [n for n in graph.nodes if n not in spoiled and n != node]
            separating = [
                z for z in subsets(candidates) if nx.is_d_separator(cut, {node}, {y}, set(z))
            ]
            expected |= {
                (node, z)
                for z in minimal(separating)
                if not nx.is_d_separator(dag, {node}, {x}, set(z))
            }
        found = graph.instruments(x, y)
        assert set(found) == expected
        assert [len(z) for _, z in found] == sorted(len(z) for _, z in found)


def test_instruments_by_hand():
    graph = bg.CausalGraph([("i", "x"), ("x", "y"), ("w", "i")], [("x", "y"), ("w", "y")])
    assert graph.instruments("x", "y") == [bg.questions.Instrument("i", ("w",))]
    lottery = bg.CausalGraph([("draw", "serve"), ("serve", "wage")], [("serve", "wage")])
    assert lottery.instruments("serve", "wage") == [("draw", ())]
    assert lottery.instruments("wage", "serve") == []


def test_mistakes_are_told():
    graph = bg.CausalGraph([("x", "y")])
    with pytest.raises(UnknownVariableError):
        graph.adjustment_sets("x", "z")
    with pytest.raises(GraphError, match="must not overlap"):
        graph.front_door_sets("x", "x")
    with pytest.raises(GraphError, match="empty"):
        graph.adjustment_sets([], "x")
