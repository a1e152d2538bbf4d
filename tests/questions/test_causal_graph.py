"""Causal graphs: latent projection, separators, implied independencies and equivalence."""

import itertools

import networkx as nx
import pytest
from causal_graphs import minimal, random_dag, random_graph, random_network, subsets

import bayesgraph as bg
from bayesgraph.core.errors import GraphError, UnknownVariableError

CONFOUNDED = bg.CausalGraph([("x", "y")], [("x", "y")])


def test_nodes_have_the_order_in_which_they_are_named():
    graph = bg.CausalGraph([("b", "a")], [("c", "a")])
    assert graph.nodes == ("b", "a", "c")
    assert graph.confounded == (("a", "c"),)
    assert bg.CausalGraph([("b", "a")], [], ["a", "b", "z"]).nodes == ("a", "b", "z")
    assert graph == bg.CausalGraph((("b", "a"),), (("a", "c"),))
    assert hash(graph) == hash(bg.CausalGraph((("b", "a"),), (("a", "c"),)))


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (([("a", "b"), ("b", "a")],), GraphError, "cycle"),
        (([("a", "b"), ("a", "b")],), GraphError, "more than once"),
        (([("a", "b")], [("a", "b"), ("b", "a")]), GraphError, "each once"),
        (([("a", "b")], [("a", "a")]), GraphError, "two variables"),
        ((["ab"],), GraphError, "pairs of names"),
        (([("a", "b")], ["ab"]), GraphError, "pairs of names"),
        (([("a", "b")], [], ["a"]), UnknownVariableError, "no variable 'b'"),
        (([], [("a", "c")], ["a", "b"]), UnknownVariableError, "no variable 'c'"),
    ],
)
def test_what_cannot_be_built(arguments, error, said):
    with pytest.raises(error, match=said):
        bg.CausalGraph(*arguments)


def test_latent_variables_become_arcs_and_pairs():
    dag = nx.DiGraph([("u", "x"), ("u", "m"), ("m", "y"), ("x", "y"), ("y", "l"), ("l", "z")])
    graph = bg.CausalGraph.of(dag, latent=["u", "m", "l"])
    assert graph == bg.CausalGraph([("x", "y"), ("y", "z")], [("x", "y")], ["x", "y", "z"])
    # A latent variable between two observed ones confounds what it causes.
    chain = nx.DiGraph([("a", "l"), ("l", "b"), ("l", "c")])
    graph = bg.CausalGraph.of(chain, latent="l")
    assert graph == bg.CausalGraph([("a", "b"), ("a", "c")], [("b", "c")], ["a", "b", "c"])
    assert bg.CausalGraph.of(graph, latent=["a"]).confounded == (("b", "c"),)
    with pytest.raises(UnknownVariableError):
        bg.CausalGraph.of(dag, latent=["v"])
    with pytest.raises(GraphError, match="All variables are latent"):
        bg.CausalGraph.of(nx.DiGraph([("a", "b")]), latent=["a", "b"])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(12))
def test_the_projection_keeps_all_separations(seed):
    dag = random_dag(seed, n=7)
    latent = ["v1", "v4"]
    graph = bg.CausalGraph.of(dag, latent)
    for x, y in itertools.combinations(graph.nodes, 2):
        for given in subsets(n for n in graph.nodes if n not in (x, y)):
            assert graph.d_separated(x, y, given) == bg.d_separated(dag, x, y, given)


def test_models_and_estimators_have_causal_graphs():
    net = random_network(random_graph(0), 0)
    latent = [name for name in net.names if isinstance(name, tuple)]
    assert net.ask.causal_graph(latent) == random_graph(0)
    assert net.ask.causal_graph().confounded == ()
    if latent:  # a name may be a tuple
        assert net.ask.causal_graph(latent[0]) == net.ask.causal_graph(latent[:1])
    classifier = bg.NaiveBayesClassifier().fit([[1.0, 2.0], [2.0, 1.0]], ["a", "b"])
    assert len(classifier.ask.causal_graph().arcs) == 2
    with pytest.raises(GraphError, match="Expected a directed graph"):
        bg.CausalGraph.of(bg.FactorGraph.of(net))


# ------------------------------------------------------------------------------- separators


@pytest.mark.one_in(6)
@pytest.mark.parametrize("confounded", [0.0, 0.25])
@pytest.mark.parametrize("seed", range(15))
def test_separators_equal_enumeration(seed, confounded):
    graph = random_graph(seed, n=6, confounded=confounded)
    for x, y in itertools.combinations(graph.nodes, 2):
        others = [n for n in graph.nodes if n not in (x, y)]
        for required, forbidden in (((), ()), (others[:1], ()), ((), others[1:2])):
            separating = [
                z
                for z in subsets(n for n in others if n not in forbidden)
                if set(required) <= set(z) and graph.d_separated(x, y, z)
            ]
            options = {"required": required, "forbidden": forbidden}
            found = graph.separators(x, y, **options)
            assert found == minimal(separating)
            one = graph.minimal_separator(x, y, **options)
            assert one in found if found else one is None
            first = graph.separators(x, y, maximum=1, **options)
            assert len(first) == min(1, len(found))
            assert set(first) <= set(found)


def test_sets_are_separated():
    graph = bg.CausalGraph([("a", "b"), ("b", "c"), ("a", "d"), ("d", "c"), ("c", "e")])
    assert graph.separators(["a"], ["c", "e"]) == [("b", "d")]
    assert graph.separators("a", "e") == [("c",), ("b", "d")]
    assert graph.minimal_separator("a", "b") is None
    assert graph.separators("a", "b") == []
    for wrong in (("a", "a"), ("a", ["e"], ["a"]), ((), "e")):
        with pytest.raises(GraphError):
            graph.d_separated(*wrong)
    with pytest.raises(UnknownVariableError):
        graph.separators("a", "f")
    with pytest.raises(GraphError, match="both in required= and in forbidden="):
        graph.separators("a", "e", required="c", forbidden="c")


def test_a_long_ladder_is_bounded():
    steps = range(30)
    arcs = [((side, i), (side, i + 1)) for side in "ab" for i in steps]
    arcs += [("x", ("a", 0)), ("x", ("b", 0)), (("a", 30), "y"), (("b", 30), "y")]
    graph = bg.CausalGraph(arcs)
    assert len(graph.separators("x", "y", maximum=50)) == 50
    assert len(graph.separators("x", "y")) == 31 * 31


# -------------------------------------------------------------------------- independencies


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(8))
def test_implied_independencies_hold(seed):
    graph = random_graph(seed, n=6, confounded=0.0)
    basis = graph.local_independencies()
    assert {one.x for one in basis} <= {(n,) for n in graph.nodes}
    for x, y, given in [*basis, *graph.pairwise_independencies()]:
        assert graph.d_separated(x, y, given)
    linked = {frozenset(arc) for arc in graph.arcs}
    pairs = {frozenset((*one.x, *one.y)) for one in graph.pairwise_independencies()}
    assert pairs == {frozenset(p) for p in itertools.combinations(graph.nodes, 2)} - linked
    # The basis has each pair of nodes without an arc, in one direction at least.
    told = {frozenset((x, y)) for one in basis for x in one.x for y in one.y}
    assert told == pairs


def test_independencies_by_hand():
    graph = bg.CausalGraph([("a", "c"), ("b", "c"), ("c", "d")])
    assert [str(one) for one in graph.local_independencies()] == [
        "a ⊥ b",
        "b ⊥ a",
        "d ⊥ a, b | c",
    ]
    assert graph.pairwise_independencies() == [
        (("a",), ("b",), ()),
        (("a",), ("d",), ("c",)),
        (("b",), ("d",), ("c",)),
    ]
    assert CONFOUNDED.pairwise_independencies() == []
    with pytest.raises(GraphError, match="'x' and 'y' have one"):
        CONFOUNDED.local_independencies()


# ------------------------------------------------------------------------------ equivalence


def test_graphs_are_equivalent_if_they_separate_the_same():
    nodes = "abcd"
    pairs = list(itertools.combinations(nodes, 2))
    graphs = []
    for turns in itertools.product((None, False, True), repeat=len(pairs)):
        arcs = [
            (b, a) if t else (a, b) for (a, b), t in zip(pairs, turns, strict=True) if t is not None
        ]
        if nx.is_directed_acyclic_graph(nx.DiGraph(arcs)):
            graphs.append(bg.CausalGraph(arcs, (), nodes))
    assert len(graphs) == 543  # directed acyclic graphs over four nodes
    some = graphs[::23]

    def separations(graph):
        return [
            graph.d_separated(x, y, z)
            for x, y in pairs
            for z in subsets(n for n in nodes if n not in (x, y))
        ]

    known = [separations(graph) for graph in some]
    for (one, a), (other, b) in itertools.product(zip(some, known, strict=True), repeat=2):
        assert one.is_equivalent(other) == (a == b)
    with pytest.raises(GraphError, match="different ones"):
        graphs[0].is_equivalent(bg.CausalGraph([("a", "b")]))
    with pytest.raises(GraphError, match="without unobserved common causes"):
        CONFOUNDED.is_equivalent(CONFOUNDED)


# ------------------------------------------------------------------------------ large graphs

_SLICES = 500
_ARCS = [(f"{a}{t}", f"{b}{t + 1}") for t in range(_SLICES - 1) for a in "ab" for b in "ab"]
_LAST = f"b{_SLICES - 1}"
# Questions about two coupled chains of a thousand nodes, from a treatment a250 to the last outcome,
# and what a shorter piece of them says by hand.
LARGE = {
    "d_separated": (lambda g: g.d_separated("a0", _LAST), False),
    "separated by a slice": (lambda g: g.d_separated("a0", _LAST, ["a9", "b9"]), True),
    "minimal_separator": (lambda g: g.minimal_separator("a0", _LAST), ("a1", "b1")),
    "separators": (
        lambda g: g.separators("a0", _LAST, maximum=3),
        [("a1", "b1"), ("a2", "b2"), ("a3", "b3")],
    ),
    "adjustment_sets": (lambda g: g.adjustment_sets("a250", _LAST), [("b250",), ("a249", "b249")]),
    "is_adjustment_set": (lambda g: g.is_adjustment_set("a250", _LAST, "b250"), True),
    "front_door_sets": (lambda g: g.front_door_sets("a250", _LAST), []),
    "instruments": (
        lambda g: g.instruments("a250", _LAST, maximum=2)[0],
        ("a0", ("b250",)),
    ),
    "local_independencies": (lambda g: len(g.local_independencies()), 2 * _SLICES),
    "pairwise_independencies": (
        lambda g: g.pairwise_independencies(maximum=50)[1],
        (("a0",), ("a2",), ("a1", "b1")),
    ),
    "is_equivalent": (lambda g: g.is_equivalent(g), True),
    "identify": (lambda g: len(g.identify(_LAST, do="a250").variables), 2 * _SLICES - 1),
    "identify given": (
        lambda g: len(g.identify(_LAST, do="a250", given="b250").variables),
        2 * (_SLICES - 250) - 1,
    ),
    "to_dag": (lambda g: len(g.to_dag()), len(_ARCS)),
    "subgraph": (lambda g: len(g.subgraph(g.nodes[:100]).arcs), 4 * 49),
    "projection": (
        lambda g: bg.CausalGraph.of(g, [f"b{t}" for t in range(1, 60)]).confounded[:1],
        (("a2", "a3"),),
    ),
    "cpdag": (lambda g: len(bg.graphs.cpdag(g.dag).arcs), len(_ARCS)),
    "distance": (lambda g: bg.graphs.structural_hamming_distance(g.dag, g.dag), 0),
    "markov_blanket": (
        lambda g: bg.markov_blanket(g.dag, "a9"),
        {"a8", "b8", "a10", "b10", "b9"},
    ),
}


@pytest.fixture(scope="module")
def chains():
    """Return two coupled chains of a thousand nodes in all."""
    return bg.CausalGraph(_ARCS, (), [f"{c}{t}" for t in range(_SLICES) for c in "ab"])


@pytest.mark.parametrize("name", LARGE)
def test_questions_about_a_thousand_nodes_are_answered(chains, name):
    """Each takes a second or less, and took minutes by searches that visit nodes anew."""
    ask, expected = LARGE[name]
    assert ask(chains) == expected


def test_a_front_door_at_the_end_of_a_long_chain_is_found():
    arcs = list(itertools.pairwise(f"v{i}" for i in range(80)))
    graph = bg.CausalGraph(arcs, [("v0", "v79")])
    assert graph.front_door_sets("v0", "v79") == [(f"v{i}",) for i in range(1, 79)]
    assert len(graph.front_door_sets("v0", "v79", maximum=1)) == 1


def test_separators_may_lack_nodes_that_link_many():
    # 300 hidden causes in a row: none of them may be in a separator.
    nodes = [f"v{i}" for i in range(300)]
    graph = bg.CausalGraph((), list(itertools.pairwise(nodes)), nodes)
    assert graph.separators("v0", "v299") == [()]
    assert graph.separators("v0", "v299", required=nodes[1:-1]) == []
    assert graph.separators("v0", "v299", required="v9", maximum=5) == [("v9",)]
