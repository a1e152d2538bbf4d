"""kDB and superparents, against their definitions."""

import itertools

import numpy as np
import pytest
from structures import make_frame, pair_scores

import bayesgraph as bg
from bayesgraph.core.errors import DataError, UnknownVariableError
from bayesgraph.learning.information import class_scores
from bayesgraph.statistics import Pairs, Smoothing


def scores_of(source):
    """Return the admissible arcs with their scores, and features by what they tell of the class."""
    columns = tuple(v for v in source.variables if v != source.target)
    smoothing = Smoothing()
    arcs = pair_scores(source, source.target, columns, smoothing)
    alone = class_scores(source, source.pairs(Pairs(columns, source.target)).singles, smoothing)
    ranked = sorted(zip(-alone, range(len(columns)), strict=True))
    return arcs, [columns[i].name for _, i in ranked]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("n_discrete", "n_continuous"), [(5, 0), (0, 5), (3, 2), (2, 4)])
@pytest.mark.parametrize("k", [0, 1, 2, 4])
@pytest.mark.parametrize("seed", range(2))
def test_kdb_follows_its_definition(n_discrete, n_continuous, k, seed):
    source = bg.learning.count_source(make_frame(seed, n_discrete, n_continuous, n=200), "y")
    arcs, order = scores_of(source)
    found = bg.learning.kdb(source, k=k)
    place = {v.name: i for i, v in enumerate(source.variables)}
    expected = set()
    for at, child in enumerate(order):
        before = sorted(order[:at], key=lambda name: place[name])
        able = [p for p in before if (p, child) in arcs]
        best = sorted(able, key=lambda p, c=child: -round(arcs[p, c], 12))[:k]
        expected |= {(p, child) for p in best}
    assert set(found.scores) == expected
    assert {("y", name) for name in order} == set(found.arcs) - expected
    for arc, score in found.scores.items():
        assert score == pytest.approx(arcs[arc])


def test_kdb_of_no_parents_is_the_star_and_of_all_is_complete():
    source = bg.learning.count_source(make_frame(3, 5, 0), "y")
    assert bg.learning.kdb(source, k=0) == bg.learning.star(source)
    assert len(bg.learning.kdb(source, k=4).scores) == 10
    assert bg.learning.kdb(source, k=99).arcs == bg.learning.kdb(source, k=4).arcs


def test_required_parents_enter_first():
    source = bg.learning.count_source(make_frame(5, 5, 0), "y")
    _, order = scores_of(source)
    last, first = order[-1], order[0]
    found = bg.learning.kdb(source, k=2, required=[(last, first)])
    assert (last, first) in found.scores
    assert [p for p, c in found.scores if c == last] == []


@pytest.mark.parametrize(("n_discrete", "n_continuous"), [(4, 0), (0, 4), (2, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_the_superparent_is_the_best(n_discrete, n_continuous, seed):
    source = bg.learning.count_source(make_frame(seed, n_discrete, n_continuous, n=300), "y")
    arcs, order = scores_of(source)
    total = {p: sum(score for (parent, _), score in arcs.items() if parent == p) for p in order}
    found = bg.learning.superparent(source)
    parents = {p for p, _ in found.scores}
    best = max(total, key=lambda p: total[p])
    assert parents == {best}
    assert set(found.scores) == {arc for arc in arcs if arc[0] == best}
    for name in order:
        assert {p for p, _ in bg.learning.superparent(source, parent=name).scores} <= {name}
    with pytest.raises(UnknownVariableError, match="parent="):
        bg.learning.superparent(source, parent="y")


def test_a_superparent_that_must_pay():
    random = np.random.default_rng(0)
    n = 400
    y = random.integers(2, size=n)
    a = random.integers(2, size=n)
    frame = {"wide": random.integers(60, size=n).astype(str), "y": y}
    frame |= {name: ((a + (random.random(n) < 0.2)) % 2).astype(str) for name in "bcd"}
    source = bg.learning.count_source(frame, "y")
    assert {p for p, _ in bg.learning.superparent(source).scores} == {"wide"}
    for score in ("bic", "aic"):
        assert {p for p, _ in bg.learning.superparent(source, score=score).scores} < set("bcd")
    fewer = bg.learning.superparent(source, forbidden=[("b", "c")], parent="b").scores
    assert set(fewer) == {("b", "d"), ("b", "wide")}


def test_classes_are_needed():
    source = bg.learning.count_source(make_frame(0, 2, 0))
    for learner in (
        bg.learning.kdb,
        bg.learning.superparent,
        bg.learning.hill_climb,
        bg.learning.selective_kdb,
        bg.learning.forward_selection,
    ):
        with pytest.raises(DataError, match="needs to know the class"):
            learner(source)


def test_parents_of_tables_too_large_are_passed_over():
    random = np.random.default_rng(0)
    n = 3000
    frame = {"y": random.integers(2, size=n)}
    frame |= {f"w{j}": random.integers(200, size=n) for j in range(4)}
    frame |= {f"v{j}": random.integers(3, size=n) for j in range(2)}
    source = bg.learning.count_source(frame, "y", categorical="all")
    cards = {v.name: v.cardinality for v in source.variables}
    for learner in (bg.learning.kdb, bg.learning.selective_kdb):
        found = learner(source, k=4)
        for name in frame:
            above = [p for p, c in found.scores if c == name]
            assert 2 * np.prod([cards[v] for v in (*above, name)], dtype=float) <= 2**21
    assert bg.learning.hill_climb(source, score="likelihood", max_parents=4)


LEARNERS = (
    bg.learning.kdb,
    bg.learning.superparent,
    bg.learning.hill_climb,
    bg.learning.unrestricted,
    bg.learning.selective_kdb,
    bg.learning.forest,
)


@pytest.mark.parametrize("learner", [*LEARNERS, bg.learning.forward_selection, bg.learning.tan])
@pytest.mark.parametrize("n", [1, 2])
def test_few_features(learner, n):
    columns = {"u": [1.0, 2.0, 3.0, 4.0], "v": list("pqqp")}
    frame = {"y": ["a", "b", "a", "b"], **dict(itertools.islice(columns.items(), n))}
    found = learner(bg.learning.count_source(frame, "y"))
    assert {v.name for v in found.variables} == set(frame)
