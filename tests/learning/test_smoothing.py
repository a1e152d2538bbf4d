"""What tables are drawn towards, by hand and by laws."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import bayesgraph as bg
from bayesgraph.core.errors import DataError
from bayesgraph.learning import Structure, estimate_network
from bayesgraph.statistics import SCHEMES, Smoothing

X = bg.Discrete("x", ["no", "yes"])
# Counts of x given a class of two states (first axis) and a parent of two.
COUNTS = np.array([[[6.0, 2.0], [0.0, 1.0]], [[0.0, 0.0], [3.0, 9.0]]])


def test_the_m_estimate_by_hand():
    found = Smoothing(scheme="m", strength=2.0).table(COUNTS, X)
    # (N + m / r) / (N(u) + m): (6 + 1) / (8 + 2), (0 + 1) / (1 + 2), and equal shares without rows.
    expected = [[[0.7, 0.3], [1 / 3, 2 / 3]], [[0.5, 0.5], [4 / 14, 10 / 14]]]
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    three = Smoothing(scheme="m").table(np.array([1.0, 0.0, 0.0]), bg.Discrete("t", list("abc")))
    np.testing.assert_allclose(three, [4 / 6, 1 / 6, 1 / 6], rtol=1e-15)


def test_friedmans_shrinkage_by_hand():
    # P(x) = (9, 12) / 21; a = N(u) / (N(u) + 7).
    found = Smoothing(alpha=0.0, scheme="marginal", strength=7.0).table(COUNTS, X)
    marginal = np.array([3 / 7, 4 / 7])
    expected = [
        [8 / 15 * np.array([0.75, 0.25]) + 7 / 15 * marginal, [3 / 8, 5 / 8]],
        [marginal, 12 / 19 * np.array([0.25, 0.75]) + 7 / 19 * marginal],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    # Laplace's rule for the marginal: (10, 13) / 23.
    found = Smoothing(scheme="marginal", strength=7.0).table(COUNTS, X)
    np.testing.assert_allclose(found[1, 0], [10 / 23, 13 / 23], rtol=1e-15)


def test_backing_off_by_hand():
    # Level 0: (9, 12) / 21 = (3/7, 4/7). Level 1, given the class, 7 rows of level 0:
    # (6, 3) + (3, 4) = (9, 7) / 16 and (3, 9) + (3, 4) = (6, 13) / 19.
    found = Smoothing(alpha=0.0, scheme="backoff", strength=7.0).table(COUNTS, X, kept=0)
    one, two = np.array([9, 7]) / 16, np.array([6, 13]) / 19
    expected = [
        [(np.array([6, 2]) + 7 * one) / 15, (np.array([0, 1]) + 7 * one) / 8],
        [two, (np.array([3, 9]) + 7 * two) / 19],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_strength_is_by_default_that_of_laplaces_rule():
    three = bg.Discrete("t", list("abc"))
    counts = np.random.default_rng(4).integers(5, size=(2, 4, 3)).astype(float)
    for tables in ("marginal", "backoff"):
        default = Smoothing(scheme=tables).table(counts, three, 0)
        given = Smoothing(scheme=tables, strength=3.0).table(counts, three, 0)
        np.testing.assert_array_equal(default, given)
    # Around equal shares, alpha 1 and an m-estimate of as many rows as states are the same.
    np.testing.assert_allclose(
        Smoothing().table(counts, three), Smoothing(scheme="m", strength=3.0).table(counts, three)
    )


@pytest.mark.parametrize("kept", range(3))
def test_the_class_is_dropped_last_wherever_it_stands(kept):
    counts = np.random.default_rng(0).integers(4, size=(2, 3, 4, 2)).astype(float)
    smoothing = Smoothing(scheme="backoff", strength=3.0)
    first = smoothing.table(np.moveaxis(counts, kept, 0), X, kept=0)
    np.testing.assert_allclose(smoothing.table(counts, X, kept), np.moveaxis(first, 0, kept))
    np.testing.assert_allclose(smoothing.table(counts, X), smoothing.table(counts, X, 0))


def test_without_strength_only_empty_configurations_back_off():
    smoothing = Smoothing(alpha=0.0, scheme="backoff", strength=0.0)
    found = smoothing.table(COUNTS, X, kept=0)
    np.testing.assert_allclose(found[1], [[0.25, 0.75], [0.25, 0.75]])
    np.testing.assert_allclose(found[0], [[0.75, 0.25], [0.0, 1.0]])
    np.testing.assert_array_equal(
        found, Smoothing(scheme="backoff", estimation="ml").table(COUNTS, X, kept=0)
    )
    nothing = smoothing.table(np.zeros((2, 2)), X)
    np.testing.assert_array_equal(nothing, np.full((2, 2), 0.5))


@given(
    counts=hnp.arrays(float, (2, 3, 2), elements=st.integers(0, 50)),
    scheme=st.sampled_from(sorted(SCHEMES)),
    alpha=st.floats(0.01, 10),
)
def test_laws_of_tables(counts, scheme, alpha):
    smoothing = Smoothing(alpha=alpha, scheme=scheme)
    found = smoothing.table(counts, X, kept=0)
    np.testing.assert_allclose(found.sum(axis=-1), 1.0, rtol=1e-12)
    assert (found > 0).all()
    # Between the shares of the rows and what they are drawn towards; rows win in the end.
    many = smoothing.table(1e9 * (counts + 1), X, kept=0)
    shares = (counts + 1) / (counts + 1).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(many, shares, atol=1e-6)
    # Reordering the states reorders the table.
    np.testing.assert_allclose(
        smoothing.table(counts[..., ::-1], X, kept=0), found[..., ::-1], rtol=1e-12
    )


@pytest.mark.parametrize("tables", sorted(SCHEMES))
def test_leaves_side_by_side_equal_single_tables(tables):
    random = np.random.default_rng(1)
    frame = {"y": random.integers(3, size=40).astype(str)}
    for name, states in (("a", 2), ("b", 5), ("c", 3)):
        frame[name] = random.integers(states, size=40).astype(str)
    source = bg.learning.count_source(frame, "y")
    smoothing = Smoothing(alpha={"b": 0.5}, scheme=tables)
    network = estimate_network(bg.learning.star(source), source, smoothing)
    for name in "abc":
        variable = network.variable(name)
        counts = np.array(
            [
                [((frame["y"] == k) & (frame[name] == s)).sum() for s in variable.states]
                for k in source.target.states
            ],
            dtype=float,
        )
        np.testing.assert_allclose(
            network[name].values, smoothing.table(counts, variable, 0), rtol=1e-14
        )


def test_the_class_is_found_among_the_parents():
    random = np.random.default_rng(2)
    frame = {name: random.integers(2, size=30).astype(str) for name in ("a", "x", "y")}
    source = bg.learning.count_source(frame, "y")
    arcs = (("a", "x"), ("y", "x"), ("y", "a"))
    smoothing = Smoothing(scheme="backoff")
    network = estimate_network(Structure(source.variables, arcs), source, smoothing)
    other = (("y", "x"), ("a", "x"), ("y", "a"))
    turned = estimate_network(Structure(source.variables, other), source, smoothing)
    np.testing.assert_allclose(network["x"].values, turned["x"].values.swapaxes(0, 1), rtol=1e-14)


def test_classifiers_take_the_smoothing():
    random = np.random.default_rng(3)
    y = random.integers(2, size=60)
    X = np.stack([(y + random.integers(4, size=60)) % 6 for _ in range(3)], axis=1).astype(str)
    tree = partial(bg.BayesianNetworkClassifier, "tan")
    for make in (bg.NaiveBayesClassifier, bg.TANClassifier, tree):
        plain = make().fit(X, y)
        for name in SCHEMES:
            fitted = make(smoothing=name).fit(X, y)
            same = np.allclose(fitted.predict_proba(X), plain.predict_proba(X))
            assert same == (name == "dirichlet")
        for wrong, message in (({"smoothing": "laplace"}, "smoothing= is one of"),):
            with pytest.raises(DataError, match=message):
                make(**wrong).fit(X, y)
    with pytest.raises(DataError, match="'marginal' is a hierarchy"):
        Smoothing(scheme="marginal", estimation="map")
    assert Smoothing(scheme="m", estimation="map", strength=6.0).table(
        COUNTS, bg.Discrete("x", ["no", "yes"])
    )[1, 0] == pytest.approx([0.5, 0.5])
