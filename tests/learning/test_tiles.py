"""Statistics of pairs in tiles give the trees of all pairs at a time."""

import itertools
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from structures import make_frame

import bayesgraph as bg
from bayesgraph.core.errors import DataError, MemoryLimitError
from bayesgraph.learning import spanning as tiles
from bayesgraph.statistics import Families, Pairs, Singles, pairs_bytes

LEARNERS = {
    "tan": bg.learning.tan,
    "fcll": lambda source: bg.learning.tan(source, score="fcll"),
    "forest": bg.learning.forest,
    "chow_liu": bg.learning.chow_liu,
    "kdb": bg.learning.kdb,
    "superparent": bg.learning.superparent,
}


def source_of(seed=0, n_discrete=11, n_continuous=0):
    return bg.learning.count_source(make_frame(seed, n_discrete, n_continuous), "y")


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(tiles, "budget", lambda: 1500)


@pytest.mark.parametrize("order", [3, 5, 7])
@pytest.mark.parametrize("n", [7, 25, 26, 60])
def test_each_pair_is_in_a_tile(n, order):
    found = list(tiles.tiles(n, order))
    pairs = [pair for places in found for pair in itertools.combinations(places.tolist(), 2)]
    assert set(pairs) == set(itertools.combinations(range(n), 2))
    assert len(found) == order * (order - 1) // 2
    assert max(map(len, found)) <= 2 * -(-n // order)


def test_tiles_are_the_largest_that_fit():
    columns = tuple(bg.Discrete(f"x{i}", range(2 + i % 3)) for i in range(60))
    whole = pairs_bytes(columns, None)
    assert tiles.tile_order(columns, None, whole) == 1
    sizes = {
        q: max(pairs_bytes([columns[i] for i in part], None) for part in tiles.tiles(60, q))
        for q in (3, 5, 8)
    }
    assert sizes[8] < sizes[5] < sizes[3] < whole
    for q, size in sizes.items():
        assert tiles.tile_order(columns, None, size) == q
    assert tiles.tile_order(columns, None, 0) == 60  # groups of one column at most


@pytest.mark.parametrize("learner", LEARNERS)
def test_discrete_trees_have_the_same_bits(learner, monkeypatch):
    whole = LEARNERS[learner](source_of())
    monkeypatch.setattr(tiles, "budget", lambda: 1500)
    found = LEARNERS[learner](source_of())
    assert found.arcs == whole.arcs
    assert dict(found.scores) == dict(whole.scores)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_discrete", [0, 5])
def test_trees_of_numbers_agree_to_rounding(learner, n_discrete, monkeypatch):
    whole = LEARNERS[learner](source_of(1, n_discrete, 6))
    monkeypatch.setattr(tiles, "budget", lambda: 500)
    found = LEARNERS[learner](source_of(1, n_discrete, 6))
    assert found.arcs == whole.arcs
    assert dict(found.scores) == pytest.approx(dict(whole.scores), abs=1e-12)


@pytest.mark.parametrize(
    "classifier", [bg.TANClassifier(), bg.AveragedTANClassifier(n_trees=5), bg.KDBClassifier(1)]
)
def test_classifiers_have_the_same_parameters(classifier, monkeypatch):
    frame = make_frame(0, 9, 0)
    y = frame.pop("y")
    whole = classifier.fit(frame, y).predict_proba(frame)
    assert list(map(type, classifier.statistics_.summaries)) == [Pairs]
    monkeypatch.setattr(tiles, "budget", lambda: 1500)
    np.testing.assert_array_equal(classifier.fit(frame, y).predict_proba(frame), whole)
    assert list(map(type, classifier.statistics_.summaries)) == [Singles, Families]


def test_rows_cannot_be_added_to_what_was_counted_in_tiles(small):
    frame = make_frame(0, 9, 0)
    y = frame.pop("y")
    classifier = bg.TANClassifier().fit(frame, y)
    before = classifier.predict_proba(frame)
    with pytest.raises(DataError, match="further passes over the data; fit it on the whole table"):
        classifier.partial_fit(frame, y)
    np.testing.assert_array_equal(classifier.predict_proba(frame), before)


def test_files_are_read_by_tiles(tmp_path, small):
    frame = make_frame(0, 9, 0)
    pq.write_table(pa.table(frame), tmp_path / "rows.parquet")
    y = frame.pop("y")
    reads = []
    data = bg.open_dataset(tmp_path / "rows.parquet", progress=lambda done, _: reads.append(done))
    classifier = bg.TANClassifier().fit(data, "y")
    whole = bg.TANClassifier().fit(frame, y)
    assert classifier.network_.arc_scores == whole.network_.arc_scores
    np.testing.assert_array_equal(classifier.predict_proba(frame), whole.predict_proba(frame))
    order = tiles.tile_order(classifier.features_, classifier.target_, 1500 // 2)
    # States, single columns, tiles, families.
    assert reads.count(len(y)) == 3 + len(list(tiles.tiles(9, order)))


def test_scores_that_do_not_fit_name_candidates(monkeypatch):
    monkeypatch.setattr("bayesgraph.core.parallel.default_memory_limit", lambda: 1000)
    with pytest.raises(MemoryLimitError, match="candidates=10"):
        bg.learning.tan(source_of())


def test_the_limit_counts_the_tables_made_of_pairs(monkeypatch):
    """AODE holds three times the counts of pairs and more, which were compared alone."""
    rng = np.random.default_rng(0)
    frame = {f"c{i}": np.array([f"s{v}" for v in rng.permutation(300)]) for i in range(3)}
    y = np.arange(300) % 2
    classifier = bg.AODEClassifier(check_columns=False)
    counts = 8 * 2 * 3 * 300**2
    tracemalloc.start()
    classifier.fit(frame, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak > 3 * counts
    monkeypatch.setattr("bayesgraph.core.parallel.default_memory_limit", lambda: 3 * counts)
    with pytest.raises(MemoryLimitError, match=r"3 columns, and their tables, .*'c0' \(300"):
        classifier.fit(frame, y)


@pytest.mark.slow
def test_three_thousand_columns(monkeypatch):
    random = np.random.default_rng(0)
    n, d = 2000, 3000
    cards, columns = random.integers(2, 5, d), [random.integers(0, 2, n)]
    for i in range(1, d):
        parent = columns[random.integers(i)] % cards[i]
        columns.append(np.where(random.random(n) < 0.5, parent, random.integers(0, cards[i], n)))
    X, y = np.stack(columns, axis=1).astype(np.int8), random.integers(0, 2, n)
    options = {"categorical": "all", "check_columns": False}
    whole, peak = fitted(bg.TANClassifier(**options), X, y)
    sample = bg.TANClassifier(candidates=10, **options)
    monkeypatch.setattr(tiles, "budget", lambda: 100_000_000)
    found, peak_of_tiles = fitted(bg.TANClassifier(**options), X, y)
    assert found.network_.arc_scores == whole.network_.arc_scores
    np.testing.assert_array_equal(found.predict_proba(X[:50]), whole.predict_proba(X[:50]))
    # The rest are scores of pairs.
    assert peak_of_tiles < 100e6 + 8 * tiles._MATRICES * d**2 < peak
    monkeypatch.setattr("bayesgraph.learning.spanning.SAMPLE_ROWS", 500)
    weight = sum(whole.network_.arc_scores.values())
    few, _ = fitted(sample, X, y)
    assert 0.99 * weight < sum(few.network_.arc_scores.values()) <= weight


def fitted(classifier, X, y):
    """Return a fitted classifier, and the peak of memory."""
    tracemalloc.start()
    try:
        return classifier.fit(X, y), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
