"""Rules for arcs: what they forbid, what they force, and what they refuse."""

import itertools

import networkx as nx
import numpy as np
import pytest
from structures import make_frame

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError, GraphError, UnknownVariableError
from bayesgraph.learning.information import arc_scores, by_score, class_scores
from bayesgraph.learning.structure import ArcRules
from bayesgraph.statistics import Pairs, Smoothing


def source_of(seed=0, n_discrete=3, n_continuous=2, **options):
    return bg.learning.count_source(make_frame(seed, n_discrete, n_continuous, **options), "y")


def names_of(source):
    return [v.name for v in source.variables if v != source.target]


def between(structure, target="y"):
    return {arc for arc in structure.arcs if target not in arc}


LEARNERS = {
    "tan": bg.learning.tan,
    "forest": bg.learning.forest,
    "kdb": bg.learning.kdb,
    "hill_climb": bg.learning.hill_climb,
    "cll": lambda s, **rules: bg.learning.hill_climb(s, score="cll", **rules),
    "selective_kdb": bg.learning.selective_kdb,
    "unrestricted": bg.learning.unrestricted,
}


@pytest.mark.one_in(10)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("learner", LEARNERS)
def test_forbidden_arcs_are_absent(learner, seed):
    source = source_of(seed)
    free = between(LEARNERS[learner](source))
    undirected = learner in ("tan", "forest")
    for arc in free:
        found = between(LEARNERS[learner](source, forbidden=[arc]))
        assert arc not in found
        assert not undirected or arc[::-1] not in found
        assert nx.is_directed_acyclic_graph(nx.DiGraph(list(found)))


@pytest.mark.one_in(10)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("learner", LEARNERS)
def test_required_arcs_are_there(learner, seed):
    source = source_of(seed)
    kinds = {v.name: isinstance(v, bg.Discrete) for v in source.variables}
    undirected = learner in ("tan", "forest")
    for arc in itertools.permutations(names_of(source), 2):
        if kinds[arc[1]] and not kinds[arc[0]]:
            if learner not in ("tan", "forest"):
                with pytest.raises(GraphError, match="no continuous parent"):
                    LEARNERS[learner](source, required=[arc])
            continue
        found = between(LEARNERS[learner](source, required=[arc]))
        assert arc in found or (undirected and arc[::-1] in found)


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_of_required_edges_is_that_tree(seed):
    source = source_of(seed, 4, 0)
    names = names_of(source)
    for code in itertools.product(range(4), repeat=2):
        tree = nx.from_prufer_sequence(list(code))
        edges = [(names[i], names[j]) for i, j in tree.edges]
        found = between(bg.learning.tan(source, required=edges))
        assert {frozenset(arc) for arc in found} == {frozenset(edge) for edge in edges}


def test_trees_with_rules_are_the_best_of_those_that_obey():
    for seed in range(5):
        source = source_of(seed, 5, 0)
        names = names_of(source)
        features = tuple(v for v in source.variables if v.name in names)
        scores = arc_scores(source, source.pairs(Pairs(features, source.target)), Smoothing())
        required, forbidden = [(names[1], names[3])], [(names[0], names[1]), (names[2], names[3])]
        best = -np.inf
        for code in itertools.product(range(5), repeat=3):
            edges = {tuple(sorted(e)) for e in nx.from_prufer_sequence(list(code)).edges}
            if (1, 3) in edges and not edges & {(0, 1), (2, 3)}:
                best = max(best, sum(scores.gains[i, j] for i, j in edges))
        found = bg.learning.tan(source, required=required, forbidden=forbidden)
        assert sum(found.scores.values()) == pytest.approx(best, rel=1e-12)


def test_a_tree_falls_apart_without_its_edges():
    source = source_of(1, 4, 0)
    names = names_of(source)
    found = bg.learning.tan(source, forbidden=[(names[0], other) for other in names[1:]])
    assert all(names[0] not in arc for arc in between(found))
    assert len(between(found)) == 2
    assert not between(bg.learning.tan(source, forbidden=list(itertools.combinations(names, 2))))


def test_rules_that_cannot_be():
    source = source_of(0, 3, 2)
    a, b, c = (n for n in names_of(source) if n.startswith("d"))
    x, z = (n for n in names_of(source) if n.startswith("x"))
    with pytest.raises(GraphError, match="in no tree"):
        bg.learning.tan(source, required=[(a, b), (b, c), (a, c)])
    with pytest.raises(GraphError, match="two parents"):
        bg.learning.tan(source, required=[(a, x), (b, x)])
    with pytest.raises(GraphError, match="two parents"):
        bg.learning.tan(source, required=[(a, x), (x, z), (b, z)])
    with pytest.raises(GraphError, match="cycle"):
        bg.learning.kdb(source, required=[(a, b), (b, a)])
    with pytest.raises(GraphError, match="both required and forbidden"):
        bg.learning.kdb(source, required=[(a, b)], forbidden=[(a, b)])
    with pytest.raises(GraphError, match="larger k"):
        bg.learning.kdb(source, k=1, required=[(a, c), (b, c)])
    for score in ("bic", "cll"):
        with pytest.raises(GraphError, match="max_parents"):
            bg.learning.hill_climb(source, score=score, max_parents=1, required=[(a, c), (b, c)])
    with pytest.raises(UnknownVariableError, match="'nobody'"):
        bg.learning.tan(source, forbidden=[(a, "nobody")])
    with pytest.raises(UnknownVariableError, match="'y'"):
        bg.learning.hill_climb(source, required=[("y", a)])
    for bad in (["ab"], [(a, b, c)], [3]):
        with pytest.raises(GraphError, match="pairs of names"):
            bg.learning.kdb(source, forbidden=bad)
    with pytest.raises(GraphError, match="itself"):
        bg.learning.kdb(source, forbidden=[(a, a)])


@pytest.mark.parametrize(
    ("learner", "options"),
    [
        (bg.learning.kdb, {"k": -1}),
        (bg.learning.kdb, {"k": 1.5}),
        (bg.learning.kdb, {"k": True}),
        (bg.learning.hill_climb, {"max_parents": "two"}),
        (bg.learning.hill_climb, {"score": "guess"}),
        (bg.learning.hill_climb, {"score": "bdeu", "ess": 0}),
        (bg.learning.unrestricted, {"score": "cll"}),
        (bg.learning.forest, {"score": "bdeu"}),
        (bg.learning.forest, {"score": np.nan}),
        (bg.learning.tan, {"score": "bic"}),
        (bg.learning.superparent, {"score": "loo"}),
        (bg.learning.selective_kdb, {"loss": "accuracy"}),
        (bg.learning.forward_selection, {"loss": "accuracy"}),
        (bg.learning.forward_selection, {"max_features": -1}),
    ],
)
def test_options_that_are_none(learner, options):
    with pytest.raises((DataError, DataTypeError), match=next(reversed(options))):
        learner(source_of(), **options)


def test_rules_of_nothing():
    assert ArcRules.of(None, None, ["a"]) == ArcRules() == ArcRules.of([], iter(()), [])


def test_order_of_ties():
    assert by_score(np.array([1.0, 2.0, 2.0 + 1e-15, 0.0])) == [1, 2, 0, 3]


@pytest.mark.parametrize("seed", range(3))
def test_class_scores_are_mutual_information(seed):
    frame = make_frame(seed, 2, 2, n=200)
    source = bg.learning.count_source(frame, "y")
    features = tuple(v for v in source.variables if v != source.target)
    plain = Smoothing(shrinkage=0.0, var_smoothing=0.0)
    found = class_scores(source, source.pairs(Pairs(features, source.target)).singles, plain)
    y = np.array(frame["y"])
    for v, score in zip(features, found, strict=True):
        x = np.array(frame[v.name])
        if isinstance(v, bg.Discrete):
            expected = 0.0
            for a, b in itertools.product(set(x.tolist()), set(y.tolist())):
                p = np.mean((x == a) & (y == b))
                expected += p * np.log(p / np.mean(x == a) / np.mean(y == b)) if p else 0.0
        else:
            inside = sum(np.mean(y == c) * np.log(x[y == c].var()) for c in set(y.tolist()))
            expected = 0.5 * (np.log(x.var()) - inside)
        assert score == pytest.approx(expected, rel=1e-9)
