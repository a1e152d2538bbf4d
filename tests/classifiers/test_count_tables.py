"""Counts that a database or a dictionary made: the same classifier as of the rows."""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from comparison import assert_same_network

import bayesgraph as bg
from bayesgraph.errors import DataError, UnknownVariableError

NB, TAN = bg.NaiveBayesClassifier, bg.TANClassifier


@pytest.fixture(scope="module")
def rows():
    """Return a table with missing values, and an integer column that is discrete."""
    random = np.random.default_rng(3)
    n = 400
    ill = random.integers(0, 2, n)
    frame = pd.DataFrame({
        "colour": np.array(["blue", "green", "red"], dtype=object)[random.integers(0, 2 + ill)],
        "smokes": random.random(n) < 0.3 + 0.3 * ill,
        "stage": random.integers(1, 4, n) * (1 + ill),
        "ill": np.array(["no", "yes"], dtype=object)[ill],
        "age": random.normal(50 + 5 * ill, 10.0),
    })  # fmt: skip
    frame.loc[random.integers(0, n, 30), "colour"] = None
    frame["smokes"] = frame["smokes"].astype(object)
    frame.loc[random.integers(0, n, 30), "smokes"] = None
    frame.loc[random.integers(0, n, 30), "age"] = np.nan
    return frame


FEATURES = ("colour", "smokes", "stage")


def grouped(rows, *names):
    """Return what GROUP BY gives, counted row by row."""
    counts = Counter(rows[[*names]].itertuples(index=False, name=None))
    columns = dict(zip(names, map(list, zip(*counts, strict=True)), strict=True))
    return {**columns, "count": list(counts.values())}


def single(rows):
    return [grouped(rows, name, "ill") for name in FEATURES]


def paired(rows):
    return [grouped(rows, a, b, "ill") for a, b in itertools.combinations(FEATURES, 2)]


def moments(rows):
    """Return the moments of age, computed by Python."""
    table = {"ill": [], "count": [], "mean": [], "variance": []}
    for label, group in rows.groupby("ill"):
        numbers = [x for x in group["age"] if x == x]
        mean = sum(numbers) / len(numbers)
        table["ill"].append(label)
        table["count"].append(len(numbers))
        table["mean"].append(mean)
        table["variance"].append(sum((x - mean) ** 2 for x in numbers) / len(numbers))
    return table


def fitted(clf, rows, *names):
    return clf.set_params(categorical=["stage"]).fit(rows[[*names]], rows["ill"])


def test_counts_of_columns_make_naive_bayes(rows):
    part = NB().collect_counts(single(rows), "ill", moments={"age": moments(rows)})
    assert part.n_rows == 400
    found, whole = NB.from_statistics(part), fitted(NB(), rows, *FEATURES, "age")
    assert found.features_ == whole.features_
    assert found.classes_.tolist() == ["no", "yes"]
    assert found.get_params() == whole.get_params()
    assert found.layout_ == whole.layout_
    assert_same_network(found.network_, whole.network_)
    X = rows[[*FEATURES, "age"]]
    np.testing.assert_allclose(found.predict_proba(X), whole.predict_proba(X), rtol=1e-10)
    found.partial_fit(X, rows["ill"])
    assert_same_network(found.network_, whole.partial_fit(X, rows["ill"]).network_)


@pytest.mark.parametrize("kind", [TAN, bg.AODEClassifier, bg.AveragedTANClassifier, NB])
def test_counts_of_pairs_make_trees(rows, kind):
    part = kind().collect_counts([*paired(rows), *single(rows)], "ill")
    whole = fitted(kind(), rows, *FEATURES)
    assert_same_network(kind.from_statistics([part]).network_, whole.network_)


def test_counts_are_added_to_other_parts(rows):
    first, second = rows[:150], rows[150:]
    part = TAN().collect_counts([*single(first), *paired(first)], "ill")
    other = TAN(categorical=["stage"]).collect(second[[*FEATURES]], second["ill"])
    found = TAN.from_statistics([other, part])
    assert_same_network(found.network_, fitted(TAN(), rows, *FEATURES).network_)
    assert found.get_params()["categorical"] == ["stage"]


def test_weights_are_counts_that_are_not_whole(rows):
    frame = rows.drop(columns="age").assign(count=np.random.default_rng(0).uniform(0, 2, 400))
    tables = [frame[[name, "ill", "count"]] for name in FEATURES]  # one row each
    tables += [frame[[a, b, "ill", "count"]] for a, b in itertools.combinations(FEATURES, 2)]
    found = TAN.from_statistics(TAN().collect_counts(tables, "ill"))
    whole = TAN(categorical=["stage"]).fit(frame[[*FEATURES]], frame["ill"], frame["count"])
    assert_same_network(found.network_, whole.network_)


def test_numeric_columns_alone_need_the_classes(rows):
    table = {"age": moments(rows)}
    part = NB().collect_counts([grouped(rows, "ill")], "ill", moments=table)
    whole = NB().fit(rows[["age"]], rows["ill"])
    assert_same_network(NB.from_statistics(part).network_, whole.network_)
    with pytest.raises(DataError, match="SELECT ill, count"):
        NB().collect_counts([], "ill", moments=table)


def test_a_class_without_numbers():
    classes = {"y": ["a", "b"], "count": [3, 2]}
    age = {"y": ["a", "b"], "count": [3, 0], "mean": [1.0, None], "variance": [2.0, None]}
    part = NB().collect_counts([classes], "y", moments={"age": age})
    (summary,) = part.statistics.summaries.values()
    assert summary.moments.square.tolist() == [[6.0], [0.0]]
    # The order of the rows of a table means nothing.
    swapped = {name: column[::-1] for name, column in age.items()}
    other = NB().collect_counts([classes], "y", moments={"age": swapped})
    assert other.statistics.summaries[summary.request].moments.mean.tolist() == [[1.0], [0.0]]


def test_duckdb(rows):
    duckdb = pytest.importorskip("duckdb")
    con = duckdb.connect()
    con.register("patients", rows.convert_dtypes())
    tables = [
        con.sql(f"SELECT {', '.join(names)}, ill, count(*) AS count FROM patients GROUP BY ALL")
        for size in (1, 2)
        for names in itertools.combinations(FEATURES, size)
    ]
    found = TAN.from_statistics(TAN().collect_counts(tables, "ill"))
    assert_same_network(found.network_, fitted(TAN(), rows, *FEATURES).network_)
    age = con.sql(
        "SELECT ill, count(age) AS count, avg(age) AS mean, var_pop(age) AS variance "
        "FROM patients GROUP BY ill"
    )
    part = NB().collect_counts(tables[:3], "ill", moments={"age": age})
    assert_same_network(
        NB.from_statistics(part).network_, fitted(NB(), rows, *FEATURES, "age").network_
    )


# -------------------------------------------------------------------------------------- refused

A = {"a": ["u", "v"], "y": [0, 1], "count": [3, 2]}
B = {"b": ["p", "q", None], "y": [0, 1, 1], "count": [3, 1, 1]}
AB = {"a": ["u", "v", "v"], "b": ["p", "q", None], "y": [0, 1, 1], "count": [3, 1, 1]}
AGE = {"y": [0, 1], "count": [3, 2], "mean": [1.0, 2.0], "variance": [1.0, 0.5]}


def test_these_are_not_refused():
    TAN().collect_counts([A, B, AB], "y")
    NB().collect_counts([A, B], "y", moments={"age": AGE})


@pytest.mark.parametrize(
    ("tables", "moments", "said"),
    [
        ([{**A, "count": [3, -1]}], None, "counts of 'a' by class .* 0 or more; got -1"),
        ([{**A, "count": [3, np.nan]}], None, "counts of 'a' by class .* got nan"),
        ([A, {**B, "count": [3, 1, np.inf]}], None, "counts of 'b' by class .* got inf"),
        ([{**A, "count": [0, 0]}], None, "count no rows"),
        ([{**A, "y": [0, None]}], None, "class 'y' is missing in the counts of 'a' by class"),
        ([A, A], None, "counts of 'a' by class are there twice"),
        ([A, AB], None, "counts of 'b' by class are missing"),
        ([A, B, {"c": ["m", "n"], **{k: A[k] for k in ("y", "count")}}, AB], None,
         "counts of 'a', 'c' by class are missing"),
        ([A, {**AB, "c": ["x", "x", "x"]}], None, "one column or two"),
        ([{"a": [None, None], "y": [0, 1], "count": [1, 1]}], None, "'a' has no value"),
        # Rows where b is NULL were left out.
        ([A, {"b": ["p", "q"], "y": [0, 1], "count": [3, 1]}], None,
         "class 1 has 2 rows in the counts of 'a' by class and 1 in those of 'b' by class"),
        ([A, B, {**AB, "a": ["u", "u", "v"]}], None,
         "values of 'a' in the class 1 has 0 rows in the counts of 'a' by class and 1 in those "
         "of 'a', 'b' by class"),
        ([A, B, {**AB, "b": ["p", "p", None]}], None, "values of 'b' in the class 1"),
        ([A], {"a": AGE}, "'a' are in tables= and in moments="),
        ([A], {"age": {**AGE, "y": [0, 0]}}, "moments of 'age' have one row for each class"),
        ([A], {"age": {**AGE, "count": [3, 9]}}, "'age' has 9 numbers in the class 1, which has 2"),
        ([A], {"age": {**AGE, "variance": [1.0, -1.0]}}, "variances of 'age' .* got -1"),
        ([A], {"age": {**AGE, "mean": [1.0, np.inf]}}, "means of 'age' are finite"),
        ([A, B, AB], {"age": AGE}, "make intervals of 'age' in the database"),
    ],
)  # fmt: skip
def test_counts_that_do_not_agree(tables, moments, said):
    with pytest.raises(DataError, match=said):
        NB().collect_counts(tables, "y", moments=moments)


def test_other_distributions_are_not_in_tables():
    with pytest.raises(DataError, match="has other distributions"):
        NB("poisson").collect_counts([A], "y", moments={"age": AGE})
    with pytest.raises(DataError, match="has other distributions"):
        NB({"age": "kernel"}).collect_counts([A], "y", moments={"age": AGE})


def test_columns_that_are_not_there():
    with pytest.raises(UnknownVariableError, match="'n'"):
        NB().collect_counts([A], "y", count="n")
    with pytest.raises(UnknownVariableError, match="'class'"):
        NB().collect_counts([A], "class")
    with pytest.raises(UnknownVariableError, match=r"moments= of 'age'.*'variance'"):
        NB().collect_counts([A], "y", moments={"age": {k: AGE[k] for k in ("y", "count", "mean")}})
