"""The price of a fit: what it predicts is what the fit then does."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import samples
from sklearn.base import clone

import bayesgraph as bg
from bayesgraph.classifiers import pricing
from bayesgraph.errors import DataError
from bayesgraph.learning import tiles
from bayesgraph.learning.price import Rates
from bayesgraph.statistics import blocks

N_ROWS = 400
RATES = Rates(cell=1e-6, pair=1e-7)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, N_ROWS)
    letters = {f"d{i}": np.array(list("abcd"))[(y + random.integers(0, 3, N_ROWS)) % 4]
               for i in range(6)}  # fmt: skip
    numbers = {f"c{i}": random.normal(size=N_ROWS) + y for i in range(2)}
    return pa.table({**letters, **numbers, "class": np.array(["no", "yes"])[y]})


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "rows.parquet"
    pq.write_table(table, path, row_group_size=90)
    return path


def passes_of(classifier, file):
    """Return the number of passes in which a classifier reads a file."""
    done = []
    data = bg.open_dataset(file, progress=lambda rows, _: done.append(rows))
    classifier.fit(data, "class")
    return done.count(N_ROWS)


@pytest.mark.one_in(15)
@pytest.mark.parametrize("block", [16, blocks.BLOCK], ids=["many blocks", "one"])
@pytest.mark.parametrize(
    "classifier",
    [
        bg.NaiveBayesClassifier(),
        bg.TANClassifier(),
        bg.TANClassifier(candidates=2),
        bg.KDBClassifier(1),
        bg.KDBClassifier(2),
        bg.AODEClassifier(),
        bg.BayesianNetworkClassifier("forest"),
        bg.BayesianNetworkClassifier(bg.tan),
        bg.BayesianNetworkClassifier([("class", "d0")], exponents=None),
    ],
)
def test_passes_are_those_of_the_fit(classifier, block, file, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", block)
    classifier = clone(classifier)
    price = classifier.fit(file, "class", dry_run=True)
    assert not hasattr(classifier, "classes_")
    way = price.best
    assert way is price.ways[0]
    assert way.passes == way.most_passes == passes_of(classifier, file)


def test_passes_by_tiles_are_those_of_the_fit(file, monkeypatch):
    columns = [f"d{i}" for i in range(6)]
    data = bg.open_dataset(file, columns=[*columns, "class"])
    limit = 8000  # of which a quarter is for the statistics of two copies
    monkeypatch.setattr(pricing, "default_memory_limit", lambda: limit)
    monkeypatch.setattr(tiles, "default_memory_limit", lambda: limit)
    price = bg.TANClassifier().fit(data, "class", dry_run=True)
    assert price.ways[0].name == "tiles of pairs"
    done = []
    data.progress = lambda rows, _: done.append(rows)
    bg.TANClassifier().fit(data, "class")
    assert price.ways[0].passes == done.count(N_ROWS)


def test_a_search_has_a_range_of_passes(file):
    classifier = bg.BayesianNetworkClassifier("hill_climb")
    (way,) = classifier.fit(file, "class", dry_run=True).ways
    assert way.passes <= passes_of(classifier, file) <= way.most_passes
    assert f"{way.passes} to {way.most_passes}" in repr(classifier.fit(file, "class", dry_run=True))


@pytest.mark.parametrize("classifier", [bg.TANClassifier(), bg.NaiveBayesClassifier()])
def test_bytes_of_statistics_are_those_of_the_fit(classifier, file):
    (way, *_) = classifier.fit(file, "class", dry_run=True).ways
    classifier.fit(file, "class")
    (summary,) = classifier.statistics_.summaries.values()
    assert way.statistics == sum(array.nbytes for _, array in samples.arrays(summary))


def test_bytes_read_are_those_of_the_columns(file, table):
    footer = pq.read_metadata(file)
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    whole = sum(g.column(i).total_compressed_size for g in groups for i in range(9))
    (way, _) = bg.TANClassifier().fit(file, "class", dry_run=True).ways
    assert way.read == pytest.approx(2 * whole)
    two = bg.open_dataset(file, columns=["d0", "c1", "class"])
    (way, _) = bg.TANClassifier().fit(two, "class", dry_run=True).ways
    part = sum(g.column(i).total_compressed_size for g in groups for i in (0, 7, 8))
    assert way.read == pytest.approx(2 * part)


def test_the_time_follows_from_the_rates(file):
    price = pricing.price_of_fit(bg.TANClassifier(), file, "class", None, RATES)
    assert price.best.seconds == pytest.approx(N_ROWS * (2 * 8 * 1e-6 + 28 * 1e-7))
    assert "400 rows, 8 columns, 2 classes" in repr(price)
    assert "the first 400 rows" in repr(price)


@pytest.mark.parametrize("kind", ["table", "lazy", "csv"])
def test_other_data(kind, table, tmp_path):
    if kind == "table":
        price = bg.TANClassifier().fit(table.drop_columns("class"), table["class"], dry_run=True)
        assert price.best.passes == 1
        assert "a table in memory" in repr(price)
        return
    data = pl.from_arrow(table).lazy()
    if kind == "csv":
        data = tmp_path / "rows.csv"
        pl.from_arrow(table).write_csv(data)
    price = bg.TANClassifier().fit(data, "class", dry_run=True)
    # The number of rows of a lazy frame is unknown: there may be many.
    assert price.best.passes == (1 if kind == "lazy" else 2)
    assert "400 rows" in repr(price)
    if kind == "csv":
        assert price.best.read == 2 * data.stat().st_size
    else:
        assert price.best.read is None
        assert "unknown" in repr(price)


def test_an_unregistered_learner_is_refused(file):
    classifier = bg.BayesianNetworkClassifier(lambda source, smoothing: bg.star(source))
    with pytest.raises(DataError, match="fit_price takes the numbers alone"):
        classifier.fit(file, "class", dry_run=True)


def test_columns_whose_first_rows_lack_values_have_a_price(tmp_path, monkeypatch):
    late = {"k": [None, None, "a"], "x": [1.0, 2.0, 3.0], "sound": [None, None, True]}
    pq.write_table(pa.table({**late, "y": ["b", "c", "c"]}), tmp_path / "rows.parquet")
    monkeypatch.setattr(pricing, "_CELLS", 8)
    price = bg.TANClassifier().fit(tmp_path / "rows.parquet", "y", dry_run=True)
    assert "3 columns" in price.title
