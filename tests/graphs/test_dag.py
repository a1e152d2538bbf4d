"""Graph functions against networkx, against path enumeration and by hand."""

import itertools

import networkx as nx
import numpy as np
import oracle as brute
import pytest

import bayesgraph as bg
from bayesgraph import graphs as dags
from bayesgraph.core import variables as ancestors
from bayesgraph.core.errors import BayesGraphError, GraphError, UnknownVariableError

ASIA = [
    ("asia", "tub"),
    ("smoke", "lung"),
    ("smoke", "bronc"),
    ("tub", "either"),
    ("lung", "either"),
    ("either", "xray"),
    ("either", "dysp"),
    ("bronc", "dysp"),
]
ASIA_NODES = ["asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"]


@pytest.fixture
def asia():
    return dags.build_dag(ASIA_NODES, ASIA)


def random_dag(seed, n=7, share=0.35):
    random = np.random.default_rng(seed)
    nodes = [f"n{i}" for i in random.permutation(n)]
    arcs = [(a, b) for a, b in itertools.combinations(nodes, 2) if random.random() < share]
    given = [nodes[i] for i in random.permutation(n)]
    return dags.build_dag(given, [arcs[i] for i in random.permutation(len(arcs))])


# ---------------------------------------------------------------------------------- building


def test_nodes_and_arcs_keep_their_order(asia):
    assert list(asia.nodes) == ASIA_NODES
    assert sorted(asia.edges) == sorted(ASIA)


def test_a_graph_without_arcs():
    assert list(dags.build_dag([3, "a", (1, 2)], []).nodes) == [3, "a", (1, 2)]


@pytest.mark.parametrize(
    ("arcs", "cycle"),
    [
        ([("a", "a")], "'a' -> 'a'"),
        ([("a", "b"), ("b", "a")], "'a' -> 'b' -> 'a'"),
        ([("d", "a"), ("a", "b"), ("b", "c"), ("c", "a")], "'a' -> 'b' -> 'c' -> 'a'"),
    ],
)
def test_a_cycle_is_named(arcs, cycle):
    with pytest.raises(GraphError, match="cycle") as error:
        dags.build_dag("abcd", arcs)
    assert cycle in str(error.value)


def test_what_cannot_be_built():
    with pytest.raises(GraphError, match="Node 'a' is given more than once"):
        dags.build_dag(["a", "b", "a"], [])
    with pytest.raises(GraphError, match="'a' -> 'b' is given more than once"):
        dags.build_dag("ab", [("a", "b"), ("a", "b")])
    with pytest.raises(UnknownVariableError, match="Did you mean 'smoke'"):
        dags.build_dag(ASIA_NODES, [("smokes", "lung")])
    with pytest.raises(UnknownVariableError):
        dags.build_dag("ab", [("a", ["b"])])
    for wrong in ("a", ("a",), ("a", "b", "c"), 5, None):
        with pytest.raises(GraphError, match=r"\(parent, child\) pairs"):
            dags.build_dag("abc", [wrong])


# ---------------------------------------------------------------------------------- questions


def test_topological_order(asia):
    assert dags.topological_order(asia) == ASIA_NODES
    for seed in range(30):
        dag = random_dag(seed)
        order = dags.topological_order(dag)
        assert sorted(order) == sorted(dag.nodes)
        for parent, child in dag.edges:
            assert order.index(parent) < order.index(child)


def test_topological_order_breaks_ties_by_the_order_given():
    assert dags.topological_order(dags.build_dag("dcba", [])) == list("dcba")
    assert dags.topological_order(dags.build_dag("dcba", [("a", "d")])) == list("cbad")


def test_ancestral_set(asia):
    parents = {node: list(asia.predecessors(node)) for node in asia}
    for nodes in (["xray"], ["lung", "bronc"], [], ["dysp", "asia"]):
        expected = set(nodes).union(*(nx.ancestors(asia, node) for node in nodes))
        assert ancestors.ancestral_set(parents, nodes) == expected


def test_markov_blanket(asia):
    assert dags.markov_blanket(asia, "either") == {"tub", "lung", "xray", "dysp", "bronc"}
    assert dags.markov_blanket(asia, "bronc") == {"smoke", "dysp", "either"}
    assert dags.markov_blanket(asia, "asia") == {"tub"}
    assert dags.markov_blanket(dags.build_dag("ab", []), "a") == set()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(20))
def test_a_blanket_separates_and_nothing_smaller_does(seed):
    dag = random_dag(seed)
    for node in dag:
        blanket = dags.markov_blanket(dag, node)
        rest = set(dag) - blanket - {node}
        if rest:
            assert dags.d_separated(dag, node, rest, blanket)
        for member in blanket:
            assert not dags.d_separated(dag, node, member, blanket - {member})


def separated_by_paths(dag, x, y, given):
    """Every path between x and y is blocked: the definition, path by path."""
    seen = set(given)
    for path in nx.all_simple_paths(dag.to_undirected(), x, y):
        blocked = False
        for a, b, c in zip(path, path[1:], path[2:], strict=False):
            collider = dag.has_edge(a, b) and dag.has_edge(c, b)
            if collider:
                blocked |= not (seen & (nx.descendants(dag, b) | {b}))
            else:
                blocked |= b in seen
        if not blocked:
            return False
    return True


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(25))
def test_d_separation_against_paths(seed):
    dag = random_dag(seed, n=6)
    nodes = list(dag)
    for x, y in itertools.combinations(nodes, 2):
        others = [n for n in nodes if n not in (x, y)]
        for size in range(len(others) + 1):
            for given in itertools.combinations(others, size):
                expected = separated_by_paths(dag, x, y, given)
                assert dags.d_separated(dag, x, y, given) == expected


def test_d_separation_by_hand(asia):
    assert dags.d_separated(asia, "asia", "smoke")
    assert not dags.d_separated(asia, "asia", "smoke", ["dysp"])
    assert dags.d_separated(asia, {"asia", "tub"}, {"smoke", "bronc"})
    assert dags.d_separated(asia, "xray", "bronc", ["either", "smoke"])
    assert dags.d_separated(asia, "asia", "lung")
    assert not dags.d_separated(asia, "asia", "lung", ["xray"])  # below the collider


def test_d_separation_agrees_with_the_numbers():
    """Where the graph separates two variables, their joint posterior is a product."""
    for seed in range(15):
        network = brute.random_network(seed, n_discrete=6, zeros=0.0)
        oracle = brute.Oracle.of(network)
        names = [v.name for v in network.variables]
        for x, y in itertools.combinations(names, 2):
            for given in ([], [n for n in names if n not in (x, y)][:1]):
                if dags.d_separated(network.graph, x, y, given):
                    evidence = {name: oracle.by_name[name].states[0] for name in given}
                    joint = oracle.posterior([x, y], evidence)
                    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
                    assert joint == pytest.approx(product, abs=1e-12)


def test_d_separation_equals_networkx():
    random = np.random.default_rng(0)
    for seed in range(2000):
        dag = random_dag(seed, n=int(random.integers(4, 9)), share=random.uniform(0.15, 0.5))
        parts = random.integers(0, 4, len(dag))
        x, y, given = ({n for n, k in zip(dag, parts, strict=True) if k == i} for i in range(3))
        if x and y:
            expected = nx.is_d_separator(dag, x, y, given)
            assert dags.d_separated(dag, x, y, given) == expected
            assert dags.d_separated(dag, [*y], tuple(x), [*given]) == expected


def test_coupled_chains_are_separated_at_once():
    arcs = [((a, t), (b, t + 1)) for t in range(5_000) for a in "ab" for b in "ab"]
    dag = nx.DiGraph(arcs)
    assert not dags.d_separated(dag, ("a", 0), ("b", 5_000))
    assert not dags.d_separated(dag, ("a", 0), ("b", 5_000), [("a", 9)])
    assert dags.d_separated(dag, ("a", 0), ("b", 5_000), [("a", 9), ("b", 9)])
    assert not dags.d_separated(dag, ("a", 0), ("b", 0), [("a", 5_000)])


def test_arguments_are_names_or_lists_or_sets_of_them(asia):
    net = brute.random_network(0, n_discrete=4)
    names = [v.name for v in net.variables]
    for kind in (list, tuple, set, frozenset, np.array, iter):
        assert dags.d_separated(asia, kind(["asia"]), kind(["smoke"]), kind(["lung"]))
        assert not dags.d_separated(asia, "asia", kind(["smoke", "bronc"]), kind(["xray"]))
    assert bg.d_separated(net, [names[0]], [names[1]]) == bg.d_separated(net, names[0], names[1])
    pairs = dags.build_dag([(1, 2), 1, 2], [((1, 2), 1)])
    assert not dags.d_separated(pairs, (1, 2), 1)
    assert dags.d_separated(pairs, (1, 2), 2, 1)
    for wrong in (["asia", ["smoke"]], "asi", ("asia", "x"), None, 3):
        with pytest.raises(UnknownVariableError):
            dags.d_separated(asia, wrong, "dysp")
    with pytest.raises(UnknownVariableError, match="no variable"):
        dags.markov_blanket(asia, ["asia"])
    with pytest.raises(GraphError, match="'a' -> 'b' -> 'a'"):
        dags.d_separated(nx.DiGraph([("a", "b"), ("b", "a")]), "a", "b")


@pytest.mark.parametrize(
    ("x", "y", "given"),
    [("asia", "asia", []), ("asia", "smoke", ["asia"]), ({"asia", "tub"}, {"tub"}, [])],
)
def test_overlapping_sets_are_refused_clearly(asia, x, y, given):
    with pytest.raises(BayesGraphError):
        dags.d_separated(asia, x, y, given)


def test_unknown_nodes(asia):
    with pytest.raises(UnknownVariableError, match="Did you mean 'lung'"):
        dags.markov_blanket(asia, "lungs")
    with pytest.raises(UnknownVariableError):
        dags.d_separated(asia, "asia", "smokee")
    with pytest.raises(UnknownVariableError):
        dags.d_separated(asia, "asia", "smoke", ["x"])


def test_large_graphs():
    n = 5000
    chain = dags.build_dag(range(n), itertools.pairwise(range(n)))
    assert dags.topological_order(chain) == list(range(n))
    assert dags.d_separated(chain, 0, n - 1, [n // 2])
    with pytest.raises(GraphError, match="cycle"):
        dags.build_dag(range(n), [*itertools.pairwise(range(n)), (n - 1, 0)])


def test_models_answer_for_their_graph():
    a, b, c = (bg.Discrete(name, ["n", "y"]) for name in "abc")
    table = [[0.9, 0.1], [0.2, 0.8]]
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.5, 0.5]),
            bg.TableCPD(b, table, parents=[a]),
            bg.TableCPD(c, table, parents=[b]),
        ]
    )
    assert bg.markov_blanket(net, "b") == {"a", "c"} == dags.markov_blanket(net, "b")
    assert bg.d_separated(net, "a", "c", ["b"])
    assert not dags.d_separated(net, "a", "c")
    for other in (bg.FactorGraph.of(net), bg.Ensemble([net]), {"a": ["b"]}):
        with pytest.raises(GraphError, match="Expected a directed graph"):
            dags.markov_blanket(other, "b")
