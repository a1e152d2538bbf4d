"""Learned structures: optimal, directed, and deterministic."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structures import make_frame, pair_scores

import bayesgraph as bg
from bayesgraph.core.errors import DataError, GraphError, UnknownVariableError
from bayesgraph.learning import Structure
from bayesgraph.learning.spanning import spanning_edges
from bayesgraph.statistics import Smoothing


def tree_of(structure):
    return [arc for arc in structure.arcs if arc in structure.scores]


# ------------------------------------------------------------------------------ the spanning tree


def edges_of(weights):
    """Return the edges of a maximum spanning tree of all edges."""
    return [tuple(edge) for edge in spanning_edges(weights).tolist()]


@given(
    st.integers(0, 2**16),
    st.integers(1, 9),
    st.sampled_from([1.0, 1e-3, 1e-7, 1e-9]),
    st.sampled_from(["real", "ties", "zeros"]),
)
def test_spanning_tree_of_networkx(seed, d, scale, kind):
    random = np.random.default_rng(seed)
    weights = random.random((d, d))
    if kind == "ties":
        weights = np.round(weights * 3) / 3
    elif kind == "zeros":
        weights *= random.random((d, d)) < 0.3
    weights = scale * np.triu(weights, 1)
    weights += weights.T
    edges = edges_of(weights)
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(d))
    assert nx.is_tree(graph)
    assert all(i < j for i, j in edges)
    peer = nx.maximum_spanning_tree(nx.from_numpy_array(weights + 1.0))
    best = sum(weights[i, j] for i, j in peer.edges)
    assert sum(weights[i, j] for i, j in edges) == pytest.approx(best, rel=1e-9, abs=d * 1e-12)


def test_weights_below_the_tolerance_of_scipy_count():
    weights = np.zeros((4, 4))
    weights[0, 3] = weights[1, 3] = 2e-9
    weights[2, 3] = 1e-9
    weights[0, 1] = weights[1, 2] = 5e-10
    assert sorted(edges_of(weights + weights.T)) == [(0, 3), (1, 3), (2, 3)]


def test_ties_go_to_the_first_pair():
    equal = np.ones((5, 5))
    assert edges_of(equal) == [(0, 1), (0, 2), (0, 3), (0, 4)]
    # Rounding in the last digits must not decide.
    noise = equal + 1e-15 * np.random.default_rng(0).normal(size=(5, 5))
    assert edges_of(noise) == [(0, 1), (0, 2), (0, 3), (0, 4)]
    assert edges_of(np.zeros((3, 3))) == [(0, 1), (0, 2)]


# ---------------------------------------------------------------------------------- optimality


def best_tree(names, scores):
    """Return the largest total score of a directed tree, by walking through all of them."""
    best = -np.inf
    for parents in itertools.product([None, *names], repeat=len(names)):
        if parents.count(None) != 1:
            continue
        arcs = [(p, c) for p, c in zip(parents, names, strict=True) if p is not None]
        if all(arc in scores for arc in arcs):
            dag = nx.DiGraph(arcs)
            if nx.is_directed_acyclic_graph(dag):
                best = max(best, sum(scores[arc] for arc in arcs))
    return best


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("n_discrete", "n_continuous"), [(4, 0), (0, 4), (1, 3), (2, 2), (3, 1), (2, 3)]
)
@pytest.mark.parametrize("seed", range(3))
def test_tan_is_the_best_of_all_admissible_trees(n_discrete, n_continuous, seed):
    source = bg.learning.count_source(make_frame(seed, n_discrete, n_continuous), "y")
    smoothing = Smoothing()
    structure = bg.learning.tan(source, smoothing)
    columns = tuple(v for v in source.variables if v != source.target)
    scores = pair_scores(source, source.target, columns, smoothing)
    arcs = tree_of(structure)
    assert len(arcs) == len(columns) - 1
    for arc in arcs:
        assert structure.scores[arc] == pytest.approx(scores[arc])
    best = best_tree([v.name for v in columns], scores)
    assert sum(structure.scores.values()) == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize(("n_discrete", "n_continuous"), [(3, 0), (1, 2), (2, 2), (0, 3)])
@pytest.mark.parametrize("with_class", [True, False])
def test_chow_liu_is_the_best_of_all_trees(n_discrete, n_continuous, with_class):
    frame = make_frame(7, n_discrete, n_continuous)
    if not with_class:
        del frame["y"]
    source = bg.learning.count_source(frame, "y" if with_class else None)
    smoothing = Smoothing()
    structure = bg.learning.chow_liu(source, smoothing)
    columns = structure.variables
    scores = pair_scores(source, None, columns, smoothing)
    assert len(structure.arcs) == len(columns) - 1
    assert set(structure.arcs) == set(structure.scores)
    best = best_tree([v.name for v in columns], scores)
    assert sum(structure.scores.values()) == pytest.approx(best, abs=1e-10)
    if with_class:
        assert columns[0] == source.target
        assert not list(structure.graph.predecessors("y"))


def test_chow_liu_has_the_highest_likelihood_of_all_trees():
    frame = make_frame(3, 4, 0, n=80)
    del frame["y"]
    names = list(frame)
    ours = bg.learning.chow_liu(bg.learning.count_source(frame))
    fitted = bg.BayesianNetwork.fit(ours.arcs, frame, smoothing=0.0).log_likelihood(frame).sum()
    others = []
    for edges in itertools.combinations(itertools.combinations(names, 2), 3):
        graph = nx.Graph(edges)
        if len(graph) == 4 and nx.is_tree(graph):
            arcs = list(nx.bfs_edges(graph, names[0]))
            others.append(
                bg.BayesianNetwork.fit(arcs, frame, smoothing=0.0).log_likelihood(frame).sum()
            )
    assert len(others) == 16
    assert fitted == pytest.approx(max(others))


# --------------------------------------------------------------------------- arcs and their roots


@pytest.mark.parametrize("learner", [bg.learning.tan, bg.learning.forest, bg.learning.chow_liu])
@pytest.mark.parametrize("seed", range(4))
def test_arcs_are_admissible(learner, seed):
    source = bg.learning.count_source(make_frame(seed, 2 + seed % 3, 3), "y")
    structure = learner(source)
    variables = {v.name: v for v in structure.variables}
    assert set(structure.variables) == set(source.variables)
    assert structure.variables[0] == source.target
    for parent, child in structure.arcs:
        if isinstance(variables[parent], bg.Continuous):
            assert isinstance(variables[child], bg.Continuous)
    graph = structure.graph
    for name in variables:
        features_above = [p for p in graph.predecessors(name) if p != "y"]
        assert len(features_above) <= 1
        if learner is not bg.learning.chow_liu and name != "y":
            assert graph.has_edge("y", name)
    assert all(score is not None and np.isfinite(score) for score in structure.scores.values())


def test_every_column_can_be_the_root_where_types_agree():
    for n_discrete, n_continuous in ((4, 0), (0, 4)):
        source = bg.learning.count_source(make_frame(1, n_discrete, n_continuous), "y")
        names = [v.name for v in source.variables if v.name != "y"]
        default = bg.learning.tan(source)
        edges = {frozenset(arc) for arc in tree_of(default)}
        for root in names:
            structure = bg.learning.tan(source, root=root)
            arcs = tree_of(structure)
            assert {frozenset(arc) for arc in arcs} == edges
            assert [n for n in names if n not in {child for _, child in arcs}] == [root]
            assert sum(structure.scores.values()) == pytest.approx(sum(default.scores.values()))
        assert tree_of(default) == tree_of(bg.learning.tan(source, root=names[0]))


def test_roots_where_types_mix():
    source = bg.learning.count_source(make_frame(0, 2, 3), "y")
    discrete = [v.name for v in source.variables if isinstance(v, bg.Discrete) and v.name != "y"]
    continuous = [v.name for v in source.variables if isinstance(v, bg.Continuous)]
    assert tree_of(bg.learning.tan(source)) == tree_of(bg.learning.tan(source, root=discrete[0]))
    for root in discrete:
        assert root not in {child for _, child in tree_of(bg.learning.tan(source, root=root))}
    for learner in (bg.learning.tan, bg.learning.forest, bg.learning.chow_liu):
        with pytest.raises(GraphError, match=rf"root='{continuous[0]}' is continuous"):
            learner(source, root=continuous[0])
        with pytest.raises(UnknownVariableError, match="Did you mean"):
            learner(source, root=discrete[0].upper())
    with pytest.raises(UnknownVariableError, match="'y'"):
        bg.learning.tan(source, root="y")
    assert bg.learning.chow_liu(source, root=discrete[0]).graph.in_degree(discrete[0]) == 0


@pytest.mark.parametrize(
    "learner", [bg.learning.star, bg.learning.tan, bg.learning.forest, bg.learning.hill_climb]
)
def test_learners_that_need_a_class(learner):
    source = bg.learning.count_source({"a": ["u", "v"], "b": ["p", "q"]})
    with pytest.raises(DataError, match="class: give the count source a target"):
        learner(source)


def test_single_features_and_none():
    source = bg.learning.count_source({"y": ["a", "b"], "x": [1.0, 2.0]}, "y")
    for learner in (bg.learning.star, bg.learning.tan, bg.learning.forest):
        assert learner(source).arcs == (("y", "x"),)
    assert bg.learning.chow_liu(source).arcs == (("y", "x"),)
    only_class = bg.learning.count_source({"y": ["a", "b"]}, "y")
    learners = [bg.learning.star, bg.learning.tan, bg.learning.forest, bg.learning.chow_liu]
    for learner in (*learners, bg.learning.superparent):
        structure = learner(only_class)
        assert structure.arcs == ()
        assert structure.variables == (only_class.target,)
    assert bg.learning.hill_climb(only_class, score="cll").arcs == ()


def test_structures_refuse_what_is_no_dag():
    variables = (bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1]))
    with pytest.raises(GraphError, match="'a' -> 'b' -> 'a'"):
        _ = Structure(variables, (("a", "b"), ("b", "a"))).graph
    with pytest.raises(UnknownVariableError, match="'c'"):
        _ = Structure(variables, (("a", "c"),)).graph


# ------------------------------------------------------------------------------------- the forest


@pytest.mark.parametrize("kind", ["discrete", "continuous", "mixed"])
def test_unrelated_features_get_no_edges(kind):
    random = np.random.default_rng(0)
    n = 400
    frame = {"y": random.integers(2, size=n)}
    for j in range(6):
        if kind == "discrete" or (kind == "mixed" and j % 2):
            frame[f"f{j}"] = [f"s{v}" for v in random.integers(3, size=n)]
        else:
            frame[f"f{j}"] = random.normal(size=n)
    source = bg.learning.count_source(frame, "y")
    structure = bg.learning.forest(source)
    assert structure.scores == {}
    assert structure.arcs == bg.learning.star(source).arcs
    assert len(bg.learning.tan(source).scores) == 5


def test_related_features_are_joined_and_others_are_not():
    random = np.random.default_rng(1)
    n = 300
    y = random.integers(2, size=n)
    a, x, z = random.integers(3, size=n), random.normal(size=n), random.normal(size=n)
    frame = {
        "y": y,
        "a": [f"s{v}" for v in a],
        "b": [f"s{v}" for v in np.where(random.random(n) < 0.7, a, random.integers(3, size=n))],
        "x": x,
        "w": x + 0.5 * random.normal(size=n),
        "u": 2.0 * a + random.normal(size=n),
        "z": z,
        "k": ["same"] * n,
    }
    structure = bg.learning.forest(bg.learning.count_source(frame, "y"))
    assert set(structure.scores) == {("a", "b"), ("x", "w"), ("a", "u")}
    other_root = bg.learning.forest(bg.learning.count_source(frame, "y"), root="b")
    assert set(other_root.scores) == {("b", "a"), ("x", "w"), ("a", "u")}


def bic_of_edge(kind, k, r_a=3, r_b=3):
    """Return how many parameters an edge adds."""
    return {
        "discrete": k * (r_a - 1) * (r_b - 1),
        "continuous": k,
        "mixed": 2 * k * (r_a - 1),
    }[kind]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["discrete", "continuous", "mixed"])
@pytest.mark.parametrize("seed", range(6))
def test_an_edge_stays_if_it_pays_its_parameters(kind, seed):
    random = np.random.default_rng(seed)
    n, k = 200, 2
    strength = 0.05 * seed
    y = random.integers(k, size=n)
    a, b = random.integers(3, size=(2, n))
    b = np.where(random.random(n) < 2 * strength, a, b)
    u = random.normal(size=n)
    columns = {
        "discrete": (a, b),
        "continuous": (u, strength * 1.2 * u + random.normal(size=n)),
        "mixed": (a, 1.2 * strength * a + random.normal(size=n)),
    }[kind]
    frame = {"y": y, "f": columns[0], "g": columns[1]}
    categorical = {"discrete": ["f", "g"], "continuous": [], "mixed": ["f"]}[kind]
    source = bg.learning.count_source(frame, "y", categorical=categorical)
    (score,) = bg.learning.tan(source).scores.values()
    pays = n * score > bic_of_edge(kind, k) * np.log(n) / 2
    assert (len(bg.learning.forest(source).scores) == 1) == pays


@pytest.mark.parametrize(("n_discrete", "n_continuous"), [(3, 0), (0, 3), (1, 2), (2, 2)])
def test_the_forest_is_the_best_of_all_admissible_forests(n_discrete, n_continuous):
    source = bg.learning.count_source(make_frame(5, n_discrete, n_continuous, strength=0.4), "y")
    smoothing = Smoothing()
    structure = bg.learning.forest(source, smoothing)
    columns = tuple(v for v in source.variables if v != source.target)
    by_name = {v.name: v for v in columns}
    n, k = 60, 2
    net = {}
    for (a, b), score in pair_scores(source, source.target, columns, smoothing).items():
        p, c = by_name[a], by_name[b]
        if isinstance(c, bg.Discrete):
            cost = bic_of_edge("discrete", k, p.cardinality, c.cardinality)
        else:
            kind = "mixed" if isinstance(p, bg.Discrete) else "continuous"
            cost = bic_of_edge(kind, k, getattr(p, "cardinality", 0))
        net[a, b] = score - 0.5 * cost * np.log(n) / n
    best = 0.0
    names = list(by_name)
    for parents in itertools.product([None, *names], repeat=len(names)):
        arcs = [(p, c) for p, c in zip(parents, names, strict=True) if p is not None]
        if all(arc in net for arc in arcs) and nx.is_directed_acyclic_graph(nx.DiGraph(arcs)):
            best = max(best, sum(net[arc] for arc in arcs))
    assert sum(net[arc] for arc in structure.scores) == pytest.approx(best, abs=1e-10)


# ------------------------------------------------------------------------------------ determinism


@pytest.mark.parametrize(
    "learner", [bg.learning.star, bg.learning.tan, bg.learning.forest, bg.learning.chow_liu]
)
def test_row_order_and_repetition_change_no_arc(learner):
    frame = make_frame(2, 3, 3, n=90)
    structure = learner(bg.learning.count_source(frame, "y"))
    order = np.random.default_rng(0).permutation(90)
    shuffled = {name: [column[i] for i in order] for name, column in frame.items()}
    other = learner(bg.learning.count_source(shuffled, "y"))
    assert other.arcs == structure.arcs
    assert other.scores == pytest.approx(dict(structure.scores), rel=1e-9, abs=1e-12)


def test_copies_of_a_column_tie_in_the_order_of_the_table():
    a = ["p", "q", "p", "q", "p", "p"]
    frame = {"y": ["u", "u", "v", "v", "u", "v"], "c1": a, "c2": a, "c3": a, "c4": a}
    assert tree_of(bg.learning.tan(bg.learning.count_source(frame, "y"))) == [
        ("c1", "c2"),
        ("c1", "c3"),
        ("c1", "c4"),
    ]
    x = [1.0, 2.0, 0.5, 3.0, 2.5, 1.5]
    frame = {"y": frame["y"], "x1": x, "x2": x, "x3": x}
    assert tree_of(bg.learning.tan(bg.learning.count_source(frame, "y"))) == [
        ("x1", "x2"),
        ("x1", "x3"),
    ]


def test_a_column_of_unique_values_explains_nothing():
    random = np.random.default_rng(0)
    frame = {
        "id": [f"u{i}" for i in range(180)],
        "w": random.normal(size=180),
        "y": random.integers(0, 2, 180).astype(str),
    }
    assert bg.learning.tan(bg.learning.count_source(frame, "y")).scores["id", "w"] < 0.05
    assert not bg.learning.forest(bg.learning.count_source(frame, "y")).scores
    assert bg.learning.chow_liu(bg.learning.count_source(frame, "y")).scores["id", "w"] < 0.05


def test_a_table_is_not_a_count_source():
    for learner in (bg.learning.star, bg.learning.tan, bg.learning.forest, bg.learning.chow_liu):
        with pytest.raises(bg.errors.DataTypeError, match="count_source"):
            learner({"a": [1, 2]})
