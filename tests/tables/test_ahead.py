"""Classifiers whose counts do not depend on the rows count in the pass that finds the states."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.classifiers import from_datasets
from bayesgraph.core import parallel as blocks

N_ROWS = 400


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 16)
    monkeypatch.setattr(from_datasets, "_FIRST_ROWS", 20)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(5)
    rows = np.arange(N_ROWS)
    y = np.where(rows < 200, "a", random.choice(["a", "b", "late"], N_ROWS))
    letters = random.choice(list("pqr"), N_ROWS).astype(object)
    letters[150:250] = None  # without values in whole blocks
    letters[-3] = "between"
    late = random.choice(list("uv"), N_ROWS).astype(object)
    late[:120] = None  # without values in the first rows
    numbers = random.normal(size=N_ROWS) + (y == "b")
    return pa.table(
        {
            "letter": letters.tolist(),
            "late": late.tolist(),
            "yes": (random.random(N_ROWS) < 0.01).tolist(),
            "number": pa.array(numbers, mask=random.random(N_ROWS) < 0.1),
            "positive": random.gamma(2.0, size=N_ROWS),
            "weight": random.integers(0, 3, N_ROWS),
            "y": y.tolist(),
        }
    )


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "rows.parquet"
    pq.write_table(table, path, row_group_size=70)
    return path


MODELS = {
    "nb": bg.NaiveBayesClassifier(),
    "gamma": bg.NaiveBayesClassifier({"positive": "gamma"}),
    "priors": bg.TANClassifier(priors={"a": 0.5, "b": 0.25, "late": 0.25}),
    "tan": bg.TANClassifier(),
    "aode": bg.AODEClassifier(),
    "arcs": bg.BayesianNetworkClassifier([("y", "letter"), ("letter", "yes")], exponents=None),
}


def saved(classifier, path):
    classifier.save(path)
    return path.read_bytes()


def fitted(make, file, columns, weight=None, **options):
    """Return the classifier and the number of passes over all rows."""
    done = []
    data = bg.open_dataset(
        file, columns=columns, progress=lambda rows, _: done.append(rows), **options
    )
    return make.fit(data, "y", weight), done.count(N_ROWS)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("limit", [1 << 25, 3000, 1], ids=["whole", "until it grows", "none"])
def test_the_bits_are_those_of_memory(table, file, tmp_path, monkeypatch, model, limit):
    monkeypatch.setattr(from_datasets, "_MOST_BYTES", limit)
    columns = ["letter", "yes", "number", "positive"]
    model.fit(table.select(columns), table.select(["y"]))
    expected = saved(model, tmp_path / "e.bayesgraph")
    found, n_passes = fitted(model, file, [*columns, "y"])
    assert saved(found, tmp_path / "f.bayesgraph") == expected
    if limit > 10_000:
        assert n_passes == 1


def test_statistics_beyond_the_limit_are_counted_in_a_second_pass(file, monkeypatch):
    monkeypatch.setattr(from_datasets, "_MOST_BYTES", 1)
    assert fitted(bg.TANClassifier(), file, ["letter", "yes", "y"])[1] == 2


def test_columns_that_begin_late_are_found(table, file, tmp_path):
    columns = ["letter", "late"]
    model = bg.TANClassifier().fit(table.select(columns), table.select(["y"]))
    expected = saved(model, tmp_path / "e.bayesgraph")
    found, _ = fitted(bg.TANClassifier(), file, [*columns, "y"])
    assert saved(found, tmp_path / "f.bayesgraph") == expected


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("make", "weight", "options"),
    [
        (bg.TANClassifier(), "weight", {}),
        (bg.TANClassifier(class_weight={"a": 2.0}), None, {}),
        (bg.NaiveBayesClassifier(), None, {"cache": True}),
        (bg.TANClassifier(candidates=1), None, {}),
    ],
)
def test_other_fits_find_the_states_first(file, make, weight, options):
    columns = ["letter", "yes", "y", *([] if weight is None else [weight])]
    assert fitted(make, file, columns, weight, **options)[1] > 1


def test_first_rows_that_cannot_be_fitted_do_not_matter(table, tmp_path):
    numbers = np.where(np.arange(N_ROWS) < 30, -1.0, 1.0)  # no count, and said of all rows
    path = tmp_path / "rows.parquet"
    pq.write_table(table.select(["y"]).append_column("n", pa.array(numbers)), path)
    with pytest.raises(bg.errors.DataError, match="'n'"):
        bg.NaiveBayesClassifier({"n": "poisson"}).fit(path, "y")
