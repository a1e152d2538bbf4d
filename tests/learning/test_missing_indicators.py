"""Indicators of missing values, where these tell something about the class."""

import numpy as np
import pytest
import scipy.stats

import bayesgraph as bg
from bayesgraph.learning import informative_indicators
from bayesgraph.statistics import TableSource
from bayesgraph.tables import columns_of, infer_variables

N = 2_000


def source_of(columns, labels, weights=None):
    table = infer_variables(columns_of(columns))
    target = bg.Discrete("class", ["no", "yes"])
    return TableSource(table.with_column(target, np.asarray(labels)), target, weights)


@pytest.fixture
def rows():
    """Return numbers and texts without missing values, classes, and a random generator."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, N)
    texts = random.choice(["a", "b", "c"], N).astype(object)
    return {"x": random.normal(size=N), "text": texts}, labels, random


def names_of(indicators):
    return [(indicator.name, indicator.of) for indicator in indicators]


def test_what_depends_on_the_class_has_an_indicator(rows):
    columns, labels, random = rows
    assert informative_indicators(source_of(columns, labels)) == ()
    columns["x"][random.random(N) < 0.2] = np.nan
    columns["text"][random.random(N) < np.where(labels == 1, 0.3, 0.2)] = None
    found = informative_indicators(source_of(columns, labels))
    assert names_of(found) == [("text is missing", "text")]
    assert found[0].states == ("no", "yes")


def test_the_test_is_that_of_scipy(rows):
    columns, labels, random = rows
    different = []
    for share in np.linspace(0.2, 0.32, 13):
        gone = random.random(N) < np.where(labels == 1, share, 0.2)
        columns["x"] = np.where(gone, np.nan, 1.0 + random.normal(size=N))
        counts = np.array([[np.sum((labels == c) & (gone == g)) for g in (0, 1)] for c in (0, 1)])
        test = scipy.stats.chi2_contingency(counts, correction=False, lambda_="log-likelihood")
        found = informative_indicators(source_of({"x": columns["x"]}, labels))
        assert bool(found) == (test.pvalue < 1e-3)
        different.append(bool(found))
    assert 2 < sum(different) < 11  # both answers occur


def test_features_that_are_missing_together_have_one(rows):
    columns, labels, random = rows
    gone = (labels == 1) & (random.random(N) < 0.5)
    columns["x"][gone] = np.nan
    columns["text"][gone] = None
    columns["y"] = np.where(gone ^ (np.arange(N) == 7), np.nan, 1.5)
    found = informative_indicators(source_of(columns, labels))
    assert names_of(found) == [("x is missing", "x"), ("y is missing", "y")]


def test_a_name_that_a_column_has_gets_a_number(rows):
    columns, labels, _ = rows
    columns["x"][labels == 1] = np.nan
    columns["x is missing"] = columns["text"]
    found = informative_indicators(source_of(columns, labels))
    assert names_of(found) == [("x is missing (2)", "x")]


def test_columns_whose_names_look_alike_get_indicators_apart(rows):
    columns, labels, random = rows
    columns[1], columns["1"] = np.ones(N), np.ones(N)
    columns[1][labels == 1] = np.nan
    columns["1"][(labels == 1) & (random.random(N) < 0.5)] = np.nan
    found = informative_indicators(source_of(columns, labels))
    assert names_of(found) == [("1 is missing", 1), ("1 is missing (2)", "1")]


def test_weights_count(rows):
    columns, labels, _ = rows
    columns["x"][:300] = np.nan
    few = np.where(np.arange(N) < 300, labels == 1, True).astype(float)
    assert names_of(informative_indicators(source_of(columns, labels, few))) == [
        ("x is missing", "x")
    ]
    assert informative_indicators(source_of(columns, labels)) == ()
