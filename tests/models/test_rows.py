"""Tables that are asked about: columns that a model knows, and those that nearly are its own."""

import numpy as np
import pandas as pd
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataError, UnknownVariableError


@pytest.fixture
def clinic():
    sick, xray = bg.Discrete("sick", ["no", "yes"]), bg.Discrete("xray", ["clear", "shadow"])
    dose, old = bg.Continuous("dose_1"), bg.Discrete("x1", [0, 1])
    return bg.BayesianNetwork(
        [
            bg.TableCPD(sick, [0.9, 0.1]),
            bg.TableCPD(xray, [[0.95, 0.05], [0.3, 0.7]], parents=[sick]),
            bg.GaussianCPD(dose, [0.0, 1.0], 1.0, parents=[sick]),
            bg.TableCPD(old, [0.5, 0.5]),
        ]
    )


@pytest.fixture
def words():
    topic = bg.Discrete("topic", ["a", "b"])
    counts = bg.CountVector("words", ["free", "money", "noon"])
    shares = [[0.6, 0.3, 0.1], [0.1, 0.1, 0.8]]
    return bg.BayesianNetwork(
        [bg.TableCPD(topic, [0.5, 0.5]), bg.MultinomialCPD(counts, shares, [topic])]
    )


@pytest.mark.parametrize("asked", ["query_rows", "log_likelihood"])
@pytest.mark.parametrize(
    ("column", "meant"),
    [("Xray", "xray"), ("x-ray", "xray"), ("Dose 1", "dose_1"), ("X1", "x1")],
)
def test_a_column_that_is_nearly_a_variable_is_not_ignored(clinic, asked, column, meant):
    table = {column: [0, 1], "age": [50, 60]}
    ask = {"query_rows": lambda: clinic.query_rows("sick", table)}.get(
        asked, lambda: clinic.log_likelihood(table)
    )
    with pytest.raises(UnknownVariableError, match=f"Did you mean '{meant}'"):
        ask()


def test_a_table_of_other_things_is_refused(clinic):
    table = pd.DataFrame({"weight": [70.0], "height": [1.8]})
    for ask in (
        lambda: clinic.query_rows("sick", table),
        lambda: clinic.log_likelihood(table),
    ):
        with pytest.raises(DataError, match=r"none of the model's variables 'sick', 'xray'"):
            ask()


def test_other_columns_are_ignored_where_some_are_known(clinic):
    plain = clinic.query_rows("sick", {"xray": ["shadow", None]})
    more = {"xray": ["shadow", None], "xrays": [1, 2], "x10": [0, 1], "name": ["p", "q"]}
    # Names that differ by more than case and signs are other names.
    np.testing.assert_array_equal(clinic.query_rows("sick", more), plain)
    # The column of the target itself says nothing of it.
    own = clinic.query_rows("sick", {"sick": ["no", "yes"]})
    np.testing.assert_allclose(own, [[0.9, 0.1]] * 2)


def test_columns_of_words_are_their_vector(words):
    frame = pd.DataFrame({"free": [2, 0], "noon": [0, 3], "money": [1, 1]})
    found = words.query_rows("topic", frame)
    whole = {"words": frame[["free", "money", "noon"]].to_numpy(dtype=float)}
    np.testing.assert_array_equal(found, words.query_rows("topic", whole))
    np.testing.assert_array_equal(words.log_likelihood(frame), words.log_likelihood(whole))
    alone = words.query("topic", {"free": 2, "noon": 0, "money": 1}).probabilities
    np.testing.assert_allclose(found[0], alone)
    assert found[0, 0] > 0.9 > 0.1 > found[1, 0]


def test_words_without_a_column_are_not_observed(words):
    found = words.query_rows("topic", {"free": [2, 1]})
    expected = [words.query("topic", {"free": n}).probabilities for n in (2, 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_words_as_a_vector_and_by_column_are_refused(words):
    table = {"free": [2.0], "words": np.array([[1.0, 0.0, 0.0]])}
    with pytest.raises(DataError, match="columns of its items"):
        words.query_rows("topic", table)
