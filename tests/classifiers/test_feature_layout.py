"""Which columns make up which feature, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError, UnknownVariableError

FRAME = pd.DataFrame(
    {
        "age": [20.0, 30.0, 40.0, 50.0],
        "sex": ["f", "m", "f", "m"],
        "w1": [0, 1, 2, 3],
        "w2": [3, 2, 1, 0],
        "w3": [1, 1, 0, 0],
    }
)
Y = ["a", "a", "b", "b"]


def features(distributions, X=FRAME, **parameters):
    clf = bg.NaiveBayesClassifier(distributions, **parameters).fit(X, Y)
    return [(type(v).__name__, v.name) for v in clf.features_]


def test_one_family_is_that_of_all_numeric_columns():
    assert features("kernel")[1] == ("Discrete", "sex")
    assert features("poisson") == [
        ("Count", "age"),
        ("Discrete", "sex"),
        *(("Count", f"w{i}") for i in (1, 2, 3)),
    ]
    assert features("multinomial") == [("CountVector", "counts"), ("Discrete", "sex")]
    assert {kind for kind, _ in features("categorical")} == {"Discrete"}


def test_columns_named_singly_make_one_vector_and_tuples_their_own():
    assert features({"w1": "multinomial", "w3": "multinomial"}) == [
        ("Continuous", "age"),
        ("Discrete", "sex"),
        ("CountVector", "counts"),
        ("Continuous", "w2"),
    ]
    both = features({("w1", "w2"): "multinomial", ("w3", "age"): "multinomial"})
    assert [name for kind, name in both if kind == "CountVector"] == ["counts", "counts_2"]


def test_a_matrix_is_a_column_of_its_own():
    X = {"age": FRAME["age"], "words": sp.csr_array(FRAME[["w1", "w2", "w3"]].to_numpy())}
    clf = bg.NaiveBayesClassifier({"words": "multinomial"}).fit(X, Y)
    plain = bg.NaiveBayesClassifier({("w1", "w2", "w3"): "multinomial"})
    plain.fit(FRAME.drop(columns="sex"), Y)
    np.testing.assert_allclose(
        clf.predict_proba(X), plain.predict_proba(FRAME.drop(columns="sex")), atol=1e-12
    )
    with pytest.raises(DataTypeError, match="'words' is a matrix; give the family"):
        bg.NaiveBayesClassifier().fit(X, Y)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "estimator",
    [
        lambda **options: bg.NaiveBayesClassifier("multinomial", **options),
        lambda **options: bg.NaiveBayesClassifier("bernoulli", **options),
        bg.ComplementNaiveBayesClassifier,
    ],
    ids=["multinomial", "bernoulli", "complement"],
)
def test_items_name_the_columns_of_a_matrix(make, estimator):
    X = make(FRAME[["w1", "w2", "w3"]].to_numpy())
    words = np.array(["free", "money", "noon"], dtype=object)
    clf = estimator(items=words).fit(X, Y)
    assert clf.features_[0].items == ("free", "money", "noon")
    np.testing.assert_array_equal(clf.predict_proba(X), estimator().fit(X, Y).predict_proba(X))
    assert set(clf.contributions(evidence={"free": 2})) == {"free"}
    with pytest.raises(DataError, match="items= names 2 columns; the matrix has 3"):
        estimator(items=["x", "y"]).fit(X, Y)


@pytest.mark.parametrize(
    ("distributions", "error", "message"),
    [
        ({"agee": "poisson"}, UnknownVariableError, "Did you mean 'age'"),
        ({"age": "poison"}, DataError, "families of distributions are 'categorical'"),
        ({"sex": "kernel"}, DataTypeError, "'sex' is discrete by its type, and kernel"),
        ({"sex": "multinomial"}, DataTypeError, "'sex' is discrete by its type"),
        ({("age", "w1"): "gaussian"}, DataError, "family of single columns; name 'age', 'w1'"),
        ({"w1": "poisson", ("w1", "w2"): "multinomial"}, DataError, "names 'w1' more than once"),
        (["poisson"], DataTypeError, "name of a family, or a mapping"),
        (3, DataTypeError, "name of a family, or a mapping"),
    ],
)
def test_what_is_refused(distributions, error, message):
    with pytest.raises(error, match=message):
        features(distributions)


def test_a_column_is_not_both_categorical_and_of_another_family():
    with pytest.raises(DataError, match="'w1' is both categorical and poisson"):
        features({"w1": "poisson"}, categorical=["w1"])
    with pytest.raises(DataError, match="0 or more; the minimum is -1"):
        features({"w1": "multinomial"}, FRAME.assign(w1=-1))


def test_queries_name_vectors_or_items():
    clf = bg.NaiveBayesClassifier({("w1", "w2", "w3"): "multinomial"}).fit(FRAME, Y)
    whole = clf.query(evidence={"counts": {"w1": 2}}).probabilities
    np.testing.assert_allclose(whole, clf.query(evidence={"w1": 2, "w2": 0, "w3": 0}).probabilities)
    np.testing.assert_allclose(whole, clf.query(evidence={"counts": [2, 0, 0]}).probabilities)
    # One word whose neighbours are unknown says nothing: it is all that could have been drawn.
    np.testing.assert_allclose(
        clf.query(evidence={"w1": 2}).probabilities, clf.query().probabilities
    )
    with pytest.raises(ValueError, match="no item 'w9'"):
        clf.query(evidence={"counts": {"w9": 1}})
    with pytest.raises(ValueError, match="names 'counts' and some of its items"):
        clf.query(evidence={"counts": {"w1": 1}, "w2": 1})
