"""Exponents for networks that are fitted."""

import numpy as np
import pandas as pd
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import BayesGraphError
from bayesgraph.learning import ALL_SCHEMES
from bayesgraph.learning.exponents import STAR_SCHEMES


def table(seed=0, n=300):
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n)
    a = np.where(random.random(n) < 0.7, y, random.integers(3, size=n))
    b = np.where(random.random(n) < 0.8, a, random.integers(3, size=n))
    frame = pd.DataFrame({"a": a, "b": b, "noise": random.integers(2, size=n), "one": "same"})
    return frame.astype(str), y


@pytest.mark.parametrize("scheme", ALL_SCHEMES)
def test_what_has_one_state_has_no_exponent_and_what_tells_has_one(scheme):
    X, y = table()
    net = bg.WeightedNaiveBayesClassifier(scheme).fit(X, y).network_
    assert list(net.exponents) == ["a", "b", "noise", "one"]
    if scheme != "averaged":  # whose tables are averages, without exponents
        assert not net.exponents["one"].any()
        assert net.exponents["a"].max() > 0.1
    if scheme in STAR_SCHEMES and scheme != "averaged":
        assert net.exponents["a"] > net.exponents["noise"]


@pytest.mark.parametrize("scheme", ["variable", "class", "mixed"])
def test_what_is_no_child_of_the_class_stays_as_it_is(scheme):
    X, y = table()
    arcs = [("class", "a"), ("a", "b"), ("class", "noise")]
    classifier = bg.BayesianNetworkClassifier(arcs, exponents=scheme).fit(X, y)
    exponents = classifier.network_.exponents
    assert exponents["b"] == 1.0
    assert exponents["one"] == 1.0
    assert exponents["a"].max() > 0.5
    # It speaks where its parent is missing, alone and among others alike.
    hidden = X.head(3).assign(a=["0", None, None])
    found = classifier.predict_proba(hidden)
    prior = classifier.query(evidence={"noise": hidden["noise"][1]}).probabilities
    assert np.abs(found[1] - prior).max() > 0.01
    for i, row in enumerate(hidden.to_dict("records")):
        np.testing.assert_allclose(
            classifier.query(evidence=row).probabilities, found[i], rtol=1e-9
        )


def test_filters_weigh_features_one_by_one():
    X, y = table()
    with pytest.raises(BayesGraphError, match="exponents"):
        bg.BayesianNetworkClassifier("tan", exponents="mutual_information").fit(X, y)
