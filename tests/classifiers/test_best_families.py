"""The family of each numeric column that naive Bayes and TAN choose by likelihood."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import bayesgraph as bg

BOTH = [bg.NaiveBayesClassifier, bg.TANClassifier]
both = pytest.mark.parametrize("make", BOTH)


def laboratory(n=4000, seed=0):
    """Return a table with a log-normal laboratory value, and the class."""
    random = np.random.default_rng(seed)
    age, crp = random.normal(60.0, 15.0, n), np.exp(random.normal(1.6, 0.9, n))
    logit = -4.0 + 0.04 * (age - 60.0) + 0.4 * np.log(crp)
    dead = random.random(n) < 1.0 / (1.0 + np.exp(-logit))
    return pd.DataFrame({"age": age, "crp": crp}), np.where(dead, "dead", "alive")


def families(clf):
    """Return the family of each feature by the class of its CPD."""
    return {v.name: type(clf.network_[v.name]).__name__ for v in clf.features_}


@both
def test_a_laboratory_value_far_in_the_tail(make):
    X, y = laboratory(20_000)
    clf = make().fit(X, y)
    assert families(clf) == {"age": "GaussianCPD", "crp": "LogNormalCPD"}
    for crp in (3.0, 10.0, 30.0, 60.0):
        truth = 1.0 / (1.0 + np.exp(4.0 - 0.4 - 0.4 * np.log(crp)))
        found = clf.query(evidence={"age": 70.0, "crp": crp})["dead"]
        assert found == pytest.approx(truth, rel=0.2)  # of 817 rows
    plain = make(distributions="gaussian", check_columns=False).fit(X, y)
    assert plain.query(evidence={"age": 70.0, "crp": 60.0})["dead"] > 0.99
    said = str(clf.ask.explanation(evidence={"age": 70.0, "crp": 60.0}))
    assert "certain" not in said
    assert "86 percent" in said


def arcs(clf):
    return set(clf.network_.graph.edges)


DRAWN = {
    "gaussian": lambda random, n: random.normal(20.0, 2.0, n),
    "lognormal": lambda random, n: np.exp(random.normal(2.0, 0.8, n)),
    "gamma": lambda random, n: random.gamma(1.5, 2.0, n),
    "exponential": lambda random, n: random.exponential(3.0, n),
    "negative": lambda random, n: np.exp(random.normal(2.0, 0.8, n)) - 0.5,
    "zeros": lambda random, n: np.where(random.random(n) < 0.1, 0.0, random.gamma(1.5, 2.0, n)),
    "constant": lambda random, n: np.full(n, 3.5),
    "missing": lambda random, n: np.full(n, np.nan),
}


def column_families(y, column, weight):
    """Return the family with the highest log likelihood under SciPy's fits, by at least 3 nats."""
    found = {}
    for name, law, fixed in (
        ("gaussian", stats.norm, {}),
        ("lognormal", stats.lognorm, {"floc": 0}),
        ("gamma", stats.gamma, {"floc": 0}),
    ):
        if name != "gaussian" and not (column > 0).all():
            continue
        found[name] = 0.0
        for k in np.unique(y):
            rows = np.repeat(column[y == k], weight[y == k])
            found[name] += law(*law.fit(rows, **fixed)).logpdf(rows).sum()
    best = max(found, key=found.get)
    return best if found[best] > found["gaussian"] + 3.0 else "gaussian"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [name for name in DRAWN if name not in ("constant", "missing")])
@pytest.mark.parametrize("n", [12, 400])
def test_the_choice_equals_that_by_fits_of_scipy(name, n, weighted):
    random = np.random.default_rng(n)
    y = np.arange(n) % 3
    column = DRAWN[name](random, n) * (1.0 + y)
    weight = random.integers(1, 4, n) if weighted else np.ones(n, dtype=int)
    clf = bg.NaiveBayesClassifier(check_columns=False).fit({"x": column}, y, weight)
    expected = column_families(y, column, weight)
    names = {"gaussian": "GaussianCPD", "lognormal": "LogNormalCPD", "gamma": "GammaCPD"}
    assert families(clf)["x"] == names[expected]


@both
@pytest.mark.parametrize("value", [1e-9, 0.1, 3.5])
def test_a_constant_is_gaussian_and_other_values_of_it_say_nothing(make, value):
    y = np.arange(60) % 3
    X = {"x": np.random.default_rng(6).normal(size=60) + y}
    clf = make(check_columns=False).fit({**X, "c": np.full(60, value)}, y)
    assert families(clf)["c"] == "GaussianCPD"
    other = {**X, "c": np.full(60, value - 2.0)}
    plain = make(check_columns=False).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(other), plain.predict_proba(X), rtol=1e-9)


@both
def test_a_family_that_is_chosen_is_the_one_that_could_be_named(make):
    random = np.random.default_rng(5)
    y = np.arange(600) % 3
    X = {name: draw(random, 600) * (1.0 + y) for name, draw in DRAWN.items()}
    X["missing"][:5] = 1.0
    clf = make(check_columns=False).fit(X, y)
    kinds = families(clf)
    assert {"LogNormalCPD", "GammaCPD", "GaussianCPD"} == set(kinds.values())
    chosen = {
        "LogNormalCPD": "lognormal", "GammaCPD": "gamma", "GaussianCPD": "gaussian"
    }  # fmt: skip
    named = {name: chosen[kind] for name, kind in kinds.items()}
    same = make(distributions=named, check_columns=False).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), same.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert arcs(clf) == arcs(same)


@both
def test_the_same_from_rows_batches_sums_and_a_file(make, tmp_path):
    X, y = laboratory(1200)
    y = pd.Series(y, name="y")
    X["sex"] = np.array(["f", "m"])[np.arange(1200) % 2]
    X["bmi"] = X["age"] / 3.0 + np.random.default_rng(1).normal(size=1200)
    clf = make(check_columns=False).fit(X, y)
    assert "LogNormalCPD" in families(clf).values()
    # The first batch has a zero, without which the column is log-normal.
    first = X[:400].assign(crp=np.where(np.arange(400) == 7, 0.0, X["crp"][:400]))
    parts = make(check_columns=False)
    parts.partial_fit(first, y[:400])
    assert families(parts)["crp"] == "GaussianCPD"
    parts = [(X[a : a + 300], y[a : a + 300]) for a in range(0, 1200, 300)]
    batches = bg.classifiers.fit_batches(make(check_columns=False), parts)
    sites = [make().collect(X[a::2], y[a::2]) for a in (0, 1)]
    summed = make.from_statistics(sites, check_columns=False)
    pq.write_table(pa.table({**X, "y": y}), tmp_path / "rows.parquet")
    filed = make(check_columns=False).fit(tmp_path / "rows.parquet", "y")
    for other in (batches, summed, filed):
        assert families(other) == families(clf)
        assert arcs(other) == arcs(clf)
        np.testing.assert_allclose(other.predict_proba(X), clf.predict_proba(X), atol=1e-9)
    more = make(check_columns=False).fit(X, y).partial_fit(first, y[:400])
    assert families(more)["crp"] == "GaussianCPD"
    less = more.forget(first, y[:400])
    assert families(less) == families(clf)
    np.testing.assert_allclose(less.predict_proba(X), clf.predict_proba(X), atol=1e-6)


def test_an_arc_of_tan_outweighs_a_little_skew():
    random = np.random.default_rng(1)
    y = np.arange(500) % 2
    a = 10.0 + random.normal(size=500) + y
    X = {"a": a, "b": a + 0.1 * random.normal(size=500), "c": np.exp(random.normal(size=500))}
    # Skewed by a little: log-normal alone, and Gaussian given a neighbour that says much more.
    X["b"] = 10.0 * np.exp((X["b"] - 10.0) / 10.0)
    assert families(bg.NaiveBayesClassifier().fit(X, y))["c"] == "LogNormalCPD"
    tan = bg.TANClassifier().fit(X, y)
    assert set(arcs(tan)) == {("class", "a"), ("class", "b"), ("class", "c"), ("a", "b")}
    assert tan.network_.arc_scores.keys() == {("a", "b")}


def test_tan_keeps_its_other_arcs_and_takes_named_families():
    random = np.random.default_rng(1)
    y = np.arange(500) % 2
    a = random.normal(size=500) + y
    X = {"a": a, "b": a + random.normal(size=500), "c": np.exp(a)}
    tan = bg.TANClassifier(distributions={"c": "kernel"}).fit(X, y)
    assert type(tan.network_["c"]).__name__ == "KernelDensityCPD"
    assert tan.network_["c"].parents == (tan.target_,)
    assert ("a", "b") in arcs(tan) or ("b", "a") in arcs(tan)
    gaussian = bg.TANClassifier(distributions="gaussian", check_columns=False).fit(X, y)
    assert len(arcs(gaussian)) == 5


def test_where_nothing_is_chosen():
    X, y = laboratory(400)
    predictive = bg.Smoothing(estimation="predictive")
    clf = bg.NaiveBayesClassifier(smoothing=predictive, check_columns=False).fit(X, y)
    assert set(families(clf).values()) == {"StudentCPD"}
    for options in ({"discretizer": "width"}, {"categorical": ["crp", "age"]}):
        clf = bg.NaiveBayesClassifier(check_columns=False, **options).fit(X, y)
        assert set(families(clf).values()) == {"TableCPD"}
    text = bg.NaiveBayesClassifier().fit({"a": [*"uvw"] * 20}, [*"xy"] * 30)
    assert families(text) == {"a": "TableCPD"}
