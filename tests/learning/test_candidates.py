"""Trees among candidates: the exact tree if all pairs are candidates, else nearly so."""

from functools import partial

import networkx as nx
import numpy as np
import pytest
from structures import make_frame

import bayesgraph as bg
from bayesgraph.core.errors import DataError, GraphError, MemoryLimitError
from bayesgraph.core.parallel import check_memory
from bayesgraph.learning import spanning as candidates
from bayesgraph.learning import spanning as tiles
from bayesgraph.learning.information import arc_scores
from bayesgraph.learning.structure import ArcRules
from bayesgraph.statistics import CountSource, Pairs, Smoothing

LEARNERS = [bg.learning.tan, bg.learning.forest, bg.learning.chow_liu]
SIZES = [(7, 0), (4, 4), (0, 6)]


def source_of(seed=0, n_discrete=4, n_continuous=4):
    return bg.learning.count_source(make_frame(seed, n_discrete, n_continuous), "y")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_all_pairs_give_the_exact_tree(learner, size):
    whole, found = learner(source_of(0, *size)), learner(source_of(0, *size), candidates=20)
    assert found.arcs == whole.arcs
    assert dict(found.scores) == pytest.approx(dict(whole.scores), abs=1e-12)


@pytest.mark.parametrize("given", [True, False])
def test_scores_are_those_of_all_pairs(given):
    source, smoothing = source_of(), Smoothing()
    columns, given = source.features, source.target if given else None
    exact = arc_scores(source, source.pairs(Pairs(columns, given)), smoothing)
    pairs = candidates.candidate_pairs(source, columns, given, smoothing, 20, ArcRules())
    assert len(pairs.parents) == len(columns) * (len(columns) - 1) // 2
    found = candidates.candidate_scores(source, columns, given, smoothing, pairs)
    at = pairs.parents, pairs.children
    np.testing.assert_allclose(found.gains, exact.gains[at], atol=1e-12)
    np.testing.assert_allclose(found.rows, exact.rows[at])
    np.testing.assert_array_equal(found.parameters, exact.parameters[at])


@pytest.mark.parametrize("size", SIZES)
def test_few_candidates_of_a_sample_connect_all_columns(size, monkeypatch):
    monkeypatch.setattr(candidates, "SAMPLE_ROWS", 40)
    monkeypatch.setattr(tiles, "budget", lambda: 800)
    whole = bg.learning.tan(source_of(0, *size))
    found = bg.learning.tan(source_of(0, *size), candidates=1)
    graph = nx.Graph(list(found.scores))
    assert nx.is_tree(graph)
    assert len(graph) == sum(size)
    assert sum(found.scores.values()) <= sum(whole.scores.values()) + 1e-12


def test_the_best_partners_by_tiles_are_those_of_all_pairs(monkeypatch):
    columns = source_of(0, 30, 0).features
    args = columns, None, Smoothing(), 4, ArcRules()
    whole = candidates.candidate_pairs(source_of(0, 30, 0), *args)
    limit = tiles.tile_bytes(columns, None, 3)
    assert tiles.tile_order(columns, None, limit) == 3
    monkeypatch.setattr(tiles, "budget", lambda: limit)
    by_tiles = candidates.candidate_pairs(source_of(0, 30, 0), *args)
    np.testing.assert_array_equal(by_tiles.parents, whole.parents)
    np.testing.assert_array_equal(by_tiles.children, whole.children)


@pytest.mark.parametrize("learner", LEARNERS)
def test_rules_hold(learner):
    source = source_of(0, 6, 0)
    one, other, *_ = (v.name for v in source.features)
    free = learner(source)
    for arc in free.scores:
        found = learner(source, candidates=2, forbidden=[arc])
        assert {arc, arc[::-1]}.isdisjoint(found.scores)
    for required in [(one, other), (other, one)]:
        found = learner(source, candidates=1, required=[required])
        assert not {(one, other), (other, one)}.isdisjoint(found.scores)
    names = [v.name for v in source.features[:3]]
    cycle = [(names[0], names[1]), (names[1], names[2]), (names[0], names[2])]
    with pytest.raises(GraphError, match="is in no tree"):
        learner(source, candidates=1, required=cycle)


def test_what_is_refused(monkeypatch):
    source = source_of()
    with pytest.raises(DataError, match="candidates= is a number of partners, 1 or more"):
        bg.learning.tan(source, candidates=0)
    with pytest.raises(DataError, match="score='likelihood'"):
        bg.learning.tan(source, candidates=3, score="fcll")
    known = CountSource(source.variables, source.target, source.statistics)
    with pytest.raises(DataError, match="the source has statistics only"):
        bg.learning.tan(known, candidates=3)
    monkeypatch.setattr(candidates, "check_memory", partial(check_memory, limit=100))
    with pytest.raises(MemoryLimitError, match="Choose fewer candidates="):
        bg.learning.tan(source, candidates=3)


def test_a_classifier_of_candidates_takes_all_rows_at_once():
    frame = make_frame(0, 5, 2)
    y = frame.pop("y")
    classifier = bg.TANClassifier(candidates=6)
    assert not hasattr(classifier, "partial_fit")
    found = classifier.fit(frame, y).predict_proba(frame)
    expected = bg.TANClassifier().fit(frame, y).predict_proba(frame)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_dataset_gives_the_candidates_of_a_table(tmp_path, monkeypatch):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    monkeypatch.setattr(candidates, "SAMPLE_ROWS", 50)
    frame = make_frame(0, 6, 0)
    pq.write_table(pa.table(frame), tmp_path / "rows.parquet")
    y = frame.pop("y")
    files = bg.TANClassifier(candidates=1).fit(tmp_path / "rows.parquet", "y")
    memory = bg.TANClassifier(candidates=1).fit(frame, y)
    assert files.network_.arc_scores == memory.network_.arc_scores


@pytest.mark.parametrize("seed", range(5))
def test_the_forest_is_that_of_networkx(seed):
    random = np.random.default_rng(seed)
    n = 12
    left, right = np.nonzero(np.triu(random.random((n, n)) < 0.4, 1))
    weights = random.integers(1, 5, len(left)).astype(float)
    kept = candidates.listed_forest(n, left, right, weights)
    graph = nx.Graph()
    graph.add_weighted_edges_from(zip(left, right, weights, strict=True))
    expected = list(nx.maximum_spanning_edges(graph))
    assert len(kept) == len(expected)
    assert weights[kept].sum() == sum(edge[2]["weight"] for edge in expected)
    assert (np.diff(weights[kept]) <= 0).all()
