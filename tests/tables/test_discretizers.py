"""Intervals and groups from counts in a dataset, beside those of the table in memory."""

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.classifiers import discretizers as columns_by_class
from bayesgraph.core import parallel as blocks
from bayesgraph.statistics import source
from bayesgraph.tables import Dataset

DISCRETIZERS = [
    bg.MDLP(),
    bg.MODL(),
    bg.MODL(granular=True),
    bg.MODL(group_values=False),
    bg.EqualFrequency(7),
    bg.EqualWidth(7),
]
N_ROWS, SAMPLE = 1200, 300


def bits(classifier, path):
    classifier.save(path)
    return path.read_bytes()


def fitted(make, table, path, weight=None):
    """Return the classifier of a table in memory, and that of a file, both fitted."""
    pq.write_table(table, path, row_group_size=10_000)
    features = table.drop_columns(["y"] if weight is None else ["y", weight])
    weights = None if weight is None else table[weight].to_numpy()
    return make().fit(features, table.select(["y"]), weights), make().fit(path, "y", weight)


@pytest.fixture
def of_few_values(monkeypatch):
    """A table of columns of few values, most of which a sample has."""
    monkeypatch.setattr(blocks, "BLOCK", 64)
    monkeypatch.setattr(Dataset, "sample_rows", SAMPLE)
    random = np.random.default_rng(0)
    y = random.integers(0, 3, N_ROWS)
    left_out = np.flatnonzero(~source.sampled(0, N_ROWS, SAMPLE / N_ROWS))
    assert N_ROWS // 2 < len(left_out) < N_ROWS
    # A class, and values beyond the others, between them and in a column of no other.
    y[left_out[:40]] = 3
    tens = np.round(random.normal(size=N_ROWS) + y, 1).clip(-1.2, 3.5)
    tens[left_out[[3, 50, 60]]] = [-99.5, 99.5, 0.125]
    tens[random.random(N_ROWS) < 0.1] = np.nan
    late = np.full(N_ROWS, np.nan)
    late[left_out[:40]] = 7.0
    letters = np.array(list("abcdefgh"))[(2 * y + random.integers(0, 4, N_ROWS)) % 8].astype(object)
    letters[left_out[40]] = "z"
    letters[random.random(N_ROWS) < 0.1] = None
    return pa.table(
        {
            "tens": pa.array(tens, from_pandas=True),
            "late": pa.array(late, from_pandas=True),
            "age": random.integers(0, 80, N_ROWS) + 5 * (y == 1),
            "zero": np.where(random.random(N_ROWS) < 0.9, 0.0, random.integers(-5, 5, N_ROWS)),
            "letter": letters.tolist(),
            "whole": random.integers(0, 4, N_ROWS),
            "part": random.random(N_ROWS).round(3) * (random.random(N_ROWS) < 0.9),
            "y": y,
        }
    )


@pytest.mark.one_in(33)
@pytest.mark.parametrize("balance", [None, "balanced", {1: 2.5}], ids=str)
@pytest.mark.parametrize("weight", [None, "whole", "part"])
@pytest.mark.parametrize("discretizer", DISCRETIZERS, ids=str)
def test_columns_of_few_values_have_the_bits_of_memory(
    of_few_values, tmp_path, discretizer, weight, balance
):
    table = of_few_values.drop_columns({"whole", "part"} - {weight})
    make = partial(
        bg.TANClassifier, discretizer=discretizer, class_weight=balance, check_columns=False
    )
    expected, found = fitted(make, table, tmp_path / "d.parquet", weight)
    assert any(len(v.states) > 2 for v in found.features_[:-1])
    assert found.features_ == expected.features_
    assert bits(found, tmp_path / "f.bayesgraph") == bits(expected, tmp_path / "e.bayesgraph")


@pytest.mark.slow
def test_columns_are_counted_in_several_passes_if_there_are_many(
    of_few_values, tmp_path, monkeypatch
):
    make = partial(bg.NaiveBayesClassifier, discretizer="modl", check_columns=False)
    one, found = fitted(make, of_few_values, tmp_path / "d.parquet")
    monkeypatch.setattr(columns_by_class, "_MAX_ENTRIES", 2 * 6 * 300)
    _, other = fitted(make, of_few_values, tmp_path / "d.parquet")
    assert other.features_ == found.features_ == one.features_


@pytest.mark.parametrize("discretizer", ["mdlp", "modl"])
def test_a_class_without_weight_changes_no_interval(of_few_values, tmp_path, discretizer):
    make = partial(
        bg.NaiveBayesClassifier,
        discretizer=discretizer,
        class_weight={2: 0.0, 3: 0.0},
        check_columns=False,
    )
    table = of_few_values.select(["tens", "age", "letter", "y"])
    expected, found = fitted(make, table, tmp_path / "d.parquet")
    assert found.features_[:2] == expected.features_[:2]


def test_columns_of_a_given_family_stay_numbers(of_few_values, tmp_path):
    make = partial(
        bg.NaiveBayesClassifier, {"age": "gaussian"}, discretizer="mdlp", check_columns=False
    )
    expected, found = fitted(make, of_few_values, tmp_path / "d.parquet")
    assert found.features_ == expected.features_
    assert type(found.features_[2]) is bg.Continuous


class Thirds(bg.classifiers.Discretizer):
    """A discretiser of a user, which counts the rows in the sample and out of it."""

    supervised = False

    def __init__(self, categorical=None):
        self.categorical = categorical

    def find_cuts(self, column):
        weights = column.weights if column.weights.size else np.ones(column.low.size)
        below = np.cumsum(weights)
        assert below[-1] == N_ROWS
        return np.unique(column.high[np.searchsorted(below, [N_ROWS / 3, 2 * N_ROWS / 3])])


def test_discretizers_of_users_see_all_rows(of_few_values, tmp_path):
    make = partial(bg.NaiveBayesClassifier, discretizer=Thirds(), check_columns=False)
    table = of_few_values.select(["age", "whole", "y"])
    expected, found = fitted(make, table, tmp_path / "d.parquet")
    assert found.features_ == expected.features_


# ------------------------------------------------------------------------------- many values


def measurements(shape, random, n):
    """Return a column of distinct values, and the classes of its rows."""
    y = random.integers(0, 2, n)
    match shape:
        case "mixture":
            narrow = random.random(n) < 0.3
            return np.where(narrow, 0.01 * random.normal(size=n) + y, random.normal(size=n)), y
        case "skewed":
            return np.exp(3 * random.normal(size=n) + 2 * y), y
        case "ties":
            atom = random.integers(0, 3, n) + 0.0
            return np.where(random.random(n) < 0.7, atom, random.normal(size=n) + y), y
        case "waves":
            u = random.random(n)
            return u, (random.random(n) < 0.5 + 0.5 * np.sin(15 * u)).astype(int)
        case "rare class":
            y = (random.random(n) < 0.01).astype(int)
            return np.where(y, 1e-3 * random.normal(size=n) + 0.3, random.normal(size=n)), y
        case "far tails":
            x = random.normal(size=n) + y
            rows = np.flatnonzero(~source.sampled(0, n, Dataset.sample_rows / n))[:8]
            x[rows] = np.array([1e9, -1e9] * 4) + np.arange(8)
            return x, y
    raise AssertionError(shape)


def information(variable, x, y):
    """Return the mutual information of intervals and classes in nats."""
    joint = np.zeros((variable.cardinality, y.max() + 1))
    np.add.at(joint, (np.searchsorted(variable.cuts, x), y), 1.0 / len(y))
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    there = joint > 0
    return float((joint[there] * np.log(joint[there] / apart[there])).sum())


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shape", ["mixture", "skewed", "ties", "waves", "rare class", "far tails"])
@pytest.mark.parametrize("discretizer", ["mdlp", "modl"])
def test_little_information_is_lost(shape, discretizer, tmp_path, monkeypatch):
    monkeypatch.setattr(Dataset, "sample_rows", 1 << 15)
    x, y = measurements(shape, np.random.default_rng(0), 60_000)
    make = partial(bg.NaiveBayesClassifier, discretizer=discretizer, check_columns=False)
    expected, found = fitted(make, pa.table({"x": x, "y": y}), tmp_path / "d.parquet")
    whole = information(expected.features_[0], x, y)
    assert whole > 0.01
    assert information(found.features_[0], x, y) >= 0.997 * whole


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shape", ["mixture", "skewed", "ties", "far tails"])
def test_bins_of_many_values_are_about_equal(shape, tmp_path, monkeypatch):
    monkeypatch.setattr(Dataset, "sample_rows", 1 << 15)
    x, y = measurements(shape, np.random.default_rng(0), 60_000)
    table = pa.table({"x": x, "y": y})
    for discretizer in (bg.EqualFrequency(8), bg.EqualWidth(8)):
        make = partial(bg.NaiveBayesClassifier, discretizer=discretizer, check_columns=False)
        pair = (c.features_[0] for c in fitted(make, table, tmp_path / "d.parquet"))
        shares = [np.searchsorted(np.sort(x), v.cuts, "right") / len(x) for v in pair]
        np.testing.assert_allclose(*shares, atol=0.001)
