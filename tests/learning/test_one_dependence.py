"""Averaged one-dependence estimators by their definition, row by row."""

import math

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.learning import aode


def data(n=80, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n)
    columns = {
        "a": (random.random(n) < 0.2 + 0.3 * y).astype(int).tolist(),
        "b": ((y + random.integers(3, size=n)) % 4).tolist(),
        "c": random.choice(3, p=[0.85, 0.1, 0.05], size=n).tolist(),
    }
    return columns, y.tolist()


def source_of(columns, y, categorical="all"):
    return bg.learning.count_source({**columns, "y": y}, target="y", categorical=categorical)


def by_definition(columns, y, row, min_rows, alpha=1.0):
    """Return P(class, row): the paper's sum, with naive Bayes where a value is rare."""
    n = len(y)
    states = {name: sorted(set(column)) for name, column in columns.items()}

    def estimate(name, value, k, given=None):
        rows = [i for i in range(n) if y[i] == k]
        if given is not None:
            rows = [i for i in rows if columns[given[0]][i] == given[1]]
        hits = sum(columns[name][i] == value for i in rows)
        return (hits + alpha) / (len(rows) + alpha * len(states[name]))

    joint = np.zeros(3)
    for k in range(3):
        for s, x in row.items():
            rare = columns[s].count(x) < min_rows
            value = y.count(k) / n * estimate(s, x, k)
            for name, v in row.items():
                if name != s:
                    value *= estimate(name, v, k, None if rare else (s, x))
            joint[k] += value / len(row)
    return joint


@pytest.mark.parametrize("min_rows", [0, 1, 10, 1000])
def test_every_row_equals_the_definition(min_rows):
    columns, y = data()
    mixture = aode(source_of(columns, y), bg.Smoothing(), min_rows=min_rows)
    assert len(mixture.networks) == 3
    for i in range(25):
        row = {name: column[i] for name, column in columns.items()}
        expected = by_definition(columns, y, row, min_rows)
        found = mixture.query("y", row)
        np.testing.assert_allclose(found.probabilities, expected / expected.sum(), rtol=1e-10)
        assert found.log_evidence == pytest.approx(math.log(expected.sum()))


def test_with_no_value_frequent_enough_it_is_naive_bayes():
    columns, y = data()
    mixture = aode(source_of(columns, y), bg.Smoothing(), min_rows=1000)
    plain = bg.NaiveBayesClassifier(categorical="all").fit(columns, y)
    for row in ({"a": 1, "b": 2, "c": 0}, {"b": 3}, {}):
        found = mixture.query("y", row).probabilities
        np.testing.assert_allclose(found, plain.query(evidence=row).probabilities, rtol=1e-10)


def test_one_column_is_naive_bayes():
    columns, y = data()
    mixture = aode(source_of({"b": columns["b"]}, y), bg.Smoothing())
    assert len(mixture.networks) == 1
    assert list(mixture.graph.edges) == [("y", "b")]


def test_types():
    columns, y = data()
    random = np.random.default_rng(2)
    columns |= {"u": random.normal(size=80).tolist(), "v": random.normal(size=80).tolist()}
    columns["same"] = [0] * 80
    source = source_of(columns, y, categorical=["a", "b", "c", "same"])
    mixture = aode(source, bg.Smoothing())
    arcs = [set(network.graph.edges) for network in mixture.networks]
    assert len(arcs) == 5  # the constant column is a parent of nothing
    assert ("a", "u") in arcs[0]
    assert ("a", "same") not in arcs[0]
    assert arcs[3] == {("y", name) for name in columns} | {("u", "v")}
    # A single continuous column would be a parent of nothing.
    columns.pop("v")
    source = source_of(columns, y, categorical=["a", "b", "c", "same"])
    assert len(aode(source, bg.Smoothing()).networks) == 3


def test_rare_values_below_a_gaussian():
    columns, y = data()
    random = np.random.default_rng(2)
    columns = {"c": columns["c"], "u": (random.normal(size=80) + y).tolist()}
    mixture = aode(source_of(columns, y, categorical=["c"]), bg.Smoothing(), min_rows=15)
    cpd = mixture.networks[0]["u"]
    alone = bg.NaiveBayesClassifier().fit({"u": columns["u"]}, y).network_["u"]
    np.testing.assert_allclose(cpd.mean[:, 1:], np.tile(alone.mean[:, None], 2))
    np.testing.assert_allclose(cpd.variance[:, 1:], np.tile(alone.variance[:, None], 2))
    assert not np.isclose(cpd.mean[:, 0], alone.mean).all()
