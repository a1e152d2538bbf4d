"""The bytes of a fit's statistics, by hand and as those of the arrays that are then counted."""

import numpy as np
import pytest
import samples
from structures import make_frame

import bayesgraph as bg
from bayesgraph.learning import LEARNERS, estimate_network
from bayesgraph.learning import candidates as tiles
from bayesgraph.learning.fit import statistics_bytes
from bayesgraph.statistics import Pairs, Singles, TableSource, pairs_bytes
from bayesgraph.tables import Table

# Bytes by hand: the class y has 2 states, a has 3 and b has 2; x and z are numbers.
SINGLES = 8 * 2 * (1 + (3 + 2) + 3 * 2)  # rows; states; counts, means and squares
PAIRS = SINGLES + 8 * 2 * (3 * 2 + (1 + 2 + 2 * 2) + 2 + 3 * (3 + 2) * 2)
JOINT = 8 * ((1 + 7 + 6) + (2 * 3 + 2 * 2 + 3 * 2) + (1 + 2 + 2 * 2) + 2 + 3 * 7 * 2)


def size_of(*summaries):
    return sum(array.nbytes for summary in summaries for _, array in samples.arrays(summary))


def held_by(source):
    return size_of(*source.statistics.summaries.values())


@pytest.fixture
def source():
    frame = {
        "a": ["p", "q", "r", "p", "q", "r"],
        "x": [0.5, 1.5, 2.0, 3.5, 0.0, 1.0],
        "b": ["s", "t", "s", "s", "t", "t"],
        "z": [1.0, 0.0, 4.0, 2.0, 2.5, 3.0],
        "y": ["no", "yes", "no", "yes", "no", "yes"],
    }
    return bg.count_source(frame, "y")


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("star", SINGLES),
        ("forward_selection", SINGLES),
        ("tan", PAIRS),
        ("forest", PAIRS),
        ("kdb", PAIRS),
        ("superparent", PAIRS),
        ("selective_kdb", PAIRS),
        ("hill_climb", PAIRS),
        ("unrestricted", JOINT),
        ("chow_liu", JOINT),
    ],
)
def test_bytes_are_those_of_what_a_learner_counts(name, size, source):
    assert statistics_bytes(source, LEARNERS[name].counts) == size
    assert not source.statistics.summaries
    structure = LEARNERS[name].learn(source)
    if name == "star":
        estimate_network(structure, source, bg.Smoothing())
    assert held_by(source) == size


def test_every_learner_says_what_it_counts():
    tested = test_bytes_are_those_of_what_a_learner_counts.pytestmark[0].args[1]
    assert {name for name, _ in tested} == set(LEARNERS)


def test_bytes_of_a_structure_are_those_of_its_families(source):
    y, (a, x, b, z) = source.target, source.features
    arcs = [("y", "a"), ("y", "b"), ("a", "b"), ("y", "x"), ("y", "z"), ("a", "z"), ("x", "z")]
    structure = bg.Structure((y, a, x, b, z), tuple(arcs))
    # y; y, a; y, a, b; y and the moments of x; y, a and the moments of x and z.
    size = 8 * (2 + 2 * 3 + 2 * 3 * 2 + 2 * (1 + 1 + 1) + 2 * 3 * (1 + 2 + 2 * 2))
    size += 8 * 2 * 3  # the moments of x and of z in all rows
    assert statistics_bytes(source, structure) == size
    estimate_network(structure, source, bg.Smoothing())
    assert held_by(source) == size


def test_a_star_takes_as_much_as_its_single_columns(source):
    assert statistics_bytes(source, bg.star(source)) == SINGLES


def test_without_a_class():
    source = bg.count_source({"a": ["p", "q", "r"], "x": [0.5, 1.5, 2.0]})
    size = 8 * (1 + 3 + 3 + (1 + 1 + 1 * 1) + 1 + 3 * 3)
    assert statistics_bytes(source, "joint pairs") == statistics_bytes(source, "pairs") == size
    bg.unrestricted(source)
    assert held_by(source) == size


def test_words_have_totals():
    words, y = bg.CountVector("words", ["a", "b", "c"]), bg.Discrete("y", ["no", "yes"])
    counts = np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    codes = np.array([[0], [1], [1]], dtype=np.int8)
    table = Table((words, y), codes, np.empty((3, 0)), counts={words: counts})
    source = TableSource(table, y)
    # The rows of each class; of the words in each three totals, the rows, and 1,724 lengths.
    size = 8 * 2 + 8 * 2 * (3 + 1 + 1724)
    assert statistics_bytes(source, "singles") == size
    structure = bg.star(source)
    assert statistics_bytes(source, structure) == size
    estimate_network(structure, source, bg.Smoothing(), distributions={words: "multinomial"})
    assert held_by(source) == size


@pytest.mark.parametrize("learner", ["tan", "chow_liu"])
def test_of_tiles_the_largest_is_held(learner, monkeypatch):
    source = bg.count_source(make_frame(0, 9, 2), "y")
    monkeypatch.setattr(tiles, "budget", lambda: 1500)
    joint = learner == "chow_liu"
    columns = (source.target, *source.features) if joint else source.features
    given = None if joint else source.target
    parts = tiles.tiles(len(columns), tiles.tile_order(columns, given, 1500))
    requests = [Pairs(tuple(columns[i] for i in places), given) for places in parts]
    largest = max(size_of(source.pairs(request, keep=False)) for request in requests)
    size = largest + size_of(source.singles(Singles(columns, given)))
    assert len(requests) > 1
    assert statistics_bytes(source, LEARNERS[learner].counts) == size


def test_summaries_that_are_counted_at_a_time_are_all_held(source, monkeypatch):
    monkeypatch.setattr(TableSource, "copies", 3)
    assert statistics_bytes(source, "singles") == 3 * SINGLES
    assert statistics_bytes(source, "pairs") == 3 * PAIRS
    assert statistics_bytes(source, "tiles") == 3 * PAIRS
    assert statistics_bytes(source, bg.star(source)) == 3 * SINGLES


@pytest.mark.parametrize("size", [(5, 0), (0, 5), (4, 3)])
@pytest.mark.parametrize("given", [True, False])
def test_bytes_of_pairs_are_those_of_the_summary(size, given):
    source = bg.count_source(make_frame(0, *size), "y")
    request = Pairs(source.features, source.target if given else None)
    assert pairs_bytes(request.columns, request.given) == size_of(source.pairs(request))


@pytest.mark.slow
def test_bytes_of_the_pairs_of_three_thousand_columns():
    random = np.random.default_rng(0)
    cards = random.integers(2, 5, 3000)
    columns = {f"x{i}": random.integers(r, size=50) for i, r in enumerate(cards)}
    source = bg.count_source(columns | {"y": ["a", "b"] * 25}, "y", categorical="all")
    summary = source.pairs(Pairs(source.features, source.target))
    assert pairs_bytes(source.features, source.target) == size_of(summary)
