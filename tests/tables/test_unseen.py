"""Values that are no states: one warning for the rows of a table, and what keeps it away."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv

import bayesgraph as bg
from bayesgraph.core.errors import DataError, UnknownStateError, UnseenStatesWarning
from bayesgraph.tables import UnseenValues

X = {"a": ["x", "y", "z"] * 10, "b": ["p", "q"] * 15, "k": [1, 2, 3] * 10}
Y = ["n", "s", "s"] * 10
# Two rows of a, one of b and two of k are no states.
NEW = {"a": ["x", "oops", "no", None], "b": ["p", None, "q", "odd"], "k": [1, 9, 2, 9]}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "columns": dict}


def told(ask, *arguments):
    """Return the warnings of a call."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", UnseenStatesWarning)
        ask(*arguments)
    return [str(warning.message) for warning in seen]


def fitted(estimator=bg.NaiveBayesClassifier, **options):
    return estimator(categorical=["k"], check_columns=False, **options).fit(X, Y)


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_rows_and_examples_are_told_once(kind):
    (text,) = told(fitted().predict_proba, FRAMES[kind](NEW))
    assert "'a' in 2 of 4 rows, such as" in text
    assert "'oops'" in text
    assert "'k' in 2 of 4 rows, such as 9" in text
    assert "'b' in 1 of 4 rows, such as 'odd'" in text


@pytest.mark.parametrize(
    "estimator",
    [bg.TANClassifier, bg.DecisionTreeNetworkClassifier, bg.StreamingNaiveBayesClassifier],
)
def test_every_way_of_encoding_tells(estimator):
    (text,) = told(fitted(estimator, unseen="warn").predict, pd.DataFrame(NEW))
    assert "'a' in 2 of 4 rows" in text
    assert "'b' in 1 of 4 rows" in text


@pytest.mark.parametrize(
    ("known", "asked", "expected"),
    [
        ([[1, 2], [2, 1]], [[1, 5], [7, 8]], "'x1' in 2 of 2 rows, such as 5, 8"),
        ([[1, 2], [2, 1]], [[1, np.nan], [7.5, 1]], "'x0' in 1 of 2 rows, such as 7.5"),
        ([["u", "v"], ["w", "z"]], [["w", None], ["u", "t"]], "'x1' in 1 of 2 rows, such as 't'"),
    ],
    ids=["integers", "floats", "objects"],
)
def test_matrices_tell_of_values_and_not_of_missing_ones(known, asked, expected):
    classifier = bg.NaiveBayesClassifier(categorical="all", check_columns=False)
    kind = object if isinstance(known[0][0], str) else None
    classifier.fit(np.array(known * 5, dtype=kind), [0, 1] * 5)
    (text,) = told(classifier.predict, np.array(asked, dtype=kind))
    assert expected in text
    assert told(classifier.predict, np.array(known, dtype=kind)) == []


def test_what_keeps_the_warning_away():
    frame = pd.DataFrame(NEW)
    assert told(fitted(unseen="missing").predict, frame) == []
    assert told(fitted(bg.StreamingNaiveBayesClassifier).predict, frame) == []
    # A service asks for one row after the other.
    assert told(fitted().predict, frame[1:2]) == []
    assert told(fitted().predict, pd.DataFrame(X)) == []
    with pytest.raises(UnknownStateError, match="oops"):
        fitted(unseen="error").predict(frame)


@pytest.mark.slow
def test_many_rows_and_columns_are_one_short_warning():
    names = [f"c{i}" for i in range(6)]
    known = dict.fromkeys(names, ["p", "q"] * 20)
    classifier = bg.NaiveBayesClassifier(check_columns=False).fit(known, ["n", "s"] * 20)
    n = 40_000  # more than one chunk
    (text,) = told(classifier.predict, {name: [f"new {i}" for i in range(n)] for name in names})
    assert text.count(f"in {n:,} of {n:,} rows, such as 'new 0', 'new 1', 'new ") == 3
    assert "; and 3 more columns. unseen= refuses them" in text


def test_a_stream_of_identifiers_keeps_few_of_them():
    unseen = UnseenValues()
    for i in range(1000):
        unseen.add("a", 2, ["id 0", f"id {i}"])
    assert list(unseen._values["a"]) == ["id 0", "id 1", "id 2"]
    (text,) = told(unseen.warn, 3000)
    assert "'a' in 2,000 of 3,000 rows, such as 'id 0', 'id 1', 'id 2'." in text


def test_folds_of_an_evaluation_are_not_told_of():
    labels = np.array(["n", "s"] * 10)
    table = {"a": [f"v{i}" for i in range(20)]}
    classifier = bg.NaiveBayesClassifier(check_columns=False)
    assert told(lambda: bg.evaluate(classifier, table, labels, cv=2)) == []


def test_datasets_are_told_of_once(tmp_path):
    n = 70_000
    cells = {"a": ["x", "oops"], "b": ["p", "q"], "k": [1, 9]}
    rows = pa.table({name: values * (n // 2) for name, values in cells.items()})
    csv.write_csv(rows, tmp_path / "rows.csv")
    (text,) = told(
        bg.files.predict_dataset, fitted(), tmp_path / "rows.csv", tmp_path / "found.csv"
    )
    assert "'a' in 35,000 of 70,000 rows, such as 'oops'" in text


NET_ROWS = {"a": ["x", "oops", None], "b": ["p", "q", "odd"]}


def network():
    y, a, b = (bg.Discrete(n, list(s)) for n, s in (("y", "ns"), ("a", "xyz"), ("b", "pq")))
    return bg.BayesianNetwork(
        [
            bg.TableCPD(y, [0.3, 0.7]),
            bg.TableCPD(a, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [y]),
            bg.TableCPD(b, [[0.4, 0.6], [0.9, 0.1]], [y]),
        ]
    )


def numbers(answer):
    if isinstance(answer, bg.questions.RowContributions):
        return answer.terms
    return getattr(answer, "information", answer)


@pytest.mark.parametrize(
    "question", ["query_rows", "log_likelihood", "contributions_rows", "next_question_rows"]
)
def test_networks_refuse_unless_the_policy_says_otherwise(question):
    net, about = network(), {} if question == "log_likelihood" else {"target": "y"}
    method = getattr(net if hasattr(net, question) else net.ask, question)
    known = {"a": ["x", None, None], "b": ["p", "q", None]}
    expected = numbers(method(table=known, **about))

    def ask(**options):
        return numbers(method(table=NET_ROWS, **about, **options))

    with pytest.raises(UnknownStateError, match="oops"):
        ask()
    assert told(lambda: np.testing.assert_array_equal(ask(unseen="missing"), expected)) == []
    (text,) = told(lambda: np.testing.assert_array_equal(ask(unseen="warn"), expected))
    assert "'a' in 1 of 3 rows, such as 'oops'" in text
    assert "'b' in 1 of 3 rows, such as 'odd'" in text
    with pytest.raises(DataError, match="got 'drop'"):
        ask(unseen="drop")
