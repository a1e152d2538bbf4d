"""The car evaluation data (Bohanec and Rajkovic 1988) as counts, beside independent figures.

The data set has one row for each combination of its six attributes, so the rows of a pair of values
are 1728 / (number of such pairs); the counts of three classes below leave the rest to the fourth.
The figures come from another implementation.
"""

import itertools

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.learning import estimate_network
from bayesgraph.learning.information import conditional_mutual_information
from bayesgraph.statistics import (
    CountSource,
    GroupMoments,
    PairMoments,
    Pairs,
    PairsSummary,
    Singles,
    SinglesSummary,
    Smoothing,
    Statistics,
)

ROWS = 1728
CLASSES = ("unacc", "acc", "good", "vgood")
STATES = {
    "buying": ["vhigh", "high", "med", "low"],
    "maint": ["vhigh", "high", "med", "low"],
    "doors": ["2", "3", "4", "5more"],
    "persons": ["2", "4", "more"],
    "lug_boot": ["small", "med", "big"],
    "safety": ["low", "med", "high"],
}
# For each pair of attributes the rows of class acc, good and vgood in each pair of their states.
COUNTS = """
buying maint
    0 0 36 36 0 36 36 36 36 36 33 10 36 33 10 10
    0 0 0 0 0 0 0 0 0 0 0 23 0 0 23 23
    0 0 0 0 0 0 0 0 0 0 13 13 0 13 13 13
buying doors
    14 18 20 20 21 27 30 30 25 30 30 30 21 24 22 22
    0 0 0 0 0 0 0 0 5 6 6 6 10 12 12 12
    0 0 0 0 0 0 0 0 4 6 8 8 6 9 12 12
buying persons
    0 36 36 0 54 54 0 60 55 0 48 41
    0 0 0 0 0 0 0 12 11 0 24 22
    0 0 0 0 0 0 0 12 14 0 18 21
buying lug_boot
    14 26 32 21 39 48 35 40 40 35 30 24
    0 0 0 0 0 0 7 8 8 14 16 16
    0 0 0 0 0 0 0 10 16 0 15 24
buying safety
    0 26 46 0 39 69 0 59 56 0 56 33
    0 0 0 0 0 0 0 13 10 0 26 20
    0 0 0 0 0 0 0 0 26 0 0 39
maint doors
    14 18 20 20 22 27 28 28 25 30 30 30 20 24 24 24
    0 0 0 0 0 0 0 0 5 6 6 6 10 12 12 12
    0 0 0 0 2 3 4 4 4 6 8 8 4 6 8 8
maint persons
    0 36 36 0 54 51 0 60 55 0 48 44
    0 0 0 0 0 0 0 12 11 0 24 22
    0 0 0 0 6 7 0 12 14 0 12 14
maint lug_boot
    14 26 32 28 37 40 35 40 40 28 32 32
    0 0 0 0 0 0 7 8 8 14 16 16
    0 0 0 0 5 8 0 10 16 0 10 16
maint safety
    0 26 46 0 49 56 0 59 56 0 46 46
    0 0 0 0 0 0 0 13 10 0 26 20
    0 0 0 0 0 13 0 0 26 0 0 26
doors persons
    0 48 33 0 48 51 0 51 51 0 51 51
    0 9 6 0 9 9 0 9 9 0 9 9
    0 5 5 0 5 10 0 10 10 0 10 10
doors lug_boot
    15 30 36 30 33 36 30 36 36 30 36 36
    3 6 6 6 6 6 6 6 6 6 6 6
    0 0 10 0 5 10 0 10 10 0 10 10
doors safety
    0 35 46 0 45 54 0 50 52 0 50 52
    0 6 9 0 9 9 0 12 6 0 12 6
    0 0 10 0 0 15 0 0 20 0 0 20
persons lug_boot
    0 0 0 60 66 72 45 69 72
    0 0 0 12 12 12 9 12 12
    0 0 0 0 10 20 0 15 20
persons safety
    0 0 0 0 90 108 0 90 96
    0 0 0 0 18 18 0 21 12
    0 0 0 0 0 30 0 0 35
lug_boot safety
    0 35 70 0 65 70 0 80 64
    0 0 21 0 15 9 0 24 0
    0 0 0 0 0 25 0 0 40
"""

TARGET = bg.Discrete("class", CLASSES)
FEATURES = tuple(bg.Discrete(name, states) for name, states in STATES.items())


def read_counts():
    """Return counts of shape (class, states, states) by pair of names."""
    lines = COUNTS.strip().splitlines()
    tables = {}
    for at in range(0, len(lines), 4):
        head, *rows = lines[at : at + 4]
        a, b = head.split()
        shape = (len(STATES[a]), len(STATES[b]))
        known = [np.array(row.split(), dtype=float).reshape(shape) for row in rows]
        rest = np.full(shape, ROWS / np.prod(shape)) - sum(known)
        tables[a, b] = np.stack([rest, *known])
    return tables


TABLES = read_counts()


@pytest.fixture
def source():
    """Return the counts as a source, as a learner would have collected them."""
    singles = [TABLES["buying", "maint"].sum(axis=2)]
    singles += [TABLES["buying", name].sum(axis=1) for name in list(STATES)[1:]]
    none = np.zeros((4, 0))
    no_moments = GroupMoments(none, none, none)
    whole = SinglesSummary(
        Singles(FEATURES, TARGET), singles[0].sum(axis=1), np.hstack(singles), no_moments
    )
    flat = np.concatenate([TABLES[pair].ravel() for pair in itertools.combinations(STATES, 2)])
    empty = np.zeros((4, 0, 0))
    request = Pairs(FEATURES, TARGET)
    summary = PairsSummary(
        request, whole, flat, PairMoments(empty, empty, empty, empty), no_moments
    )
    return CountSource((*FEATURES, TARGET), TARGET, Statistics({request: summary}))


def test_the_counts_are_consistent():
    assert len(TABLES) == 15
    for table in TABLES.values():
        assert (table >= 0).all()
        np.testing.assert_array_equal(table.sum(axis=(1, 2)), [1210, 384, 69, 65])


def test_conditional_mutual_information():
    found = conditional_mutual_information(TABLES["buying", "maint"])
    assert found == pytest.approx(0.0719992, abs=5e-8)


def test_tree(source):
    structure = bg.learning.tan(source)
    edges = {frozenset(arc) for arc in structure.arcs if "class" not in arc}
    assert edges == {
        frozenset(edge)
        for edge in (
            ("buying", "maint"),
            ("buying", "safety"),
            ("safety", "persons"),
            ("safety", "lug_boot"),
            ("lug_boot", "doors"),
        )
    }
    # The first column is the root.
    assert list(structure.arcs[6:]) == [
        ("buying", "maint"),
        ("lug_boot", "doors"),
        ("safety", "persons"),
        ("safety", "lug_boot"),
        ("buying", "safety"),
    ]
    for (a, b), score in structure.scores.items():
        pair = (a, b) if (a, b) in TABLES else (b, a)
        assert score == pytest.approx(float(conditional_mutual_information(TABLES[pair])))


def test_network(source):
    smoothing = Smoothing(alpha=0.0)
    network = estimate_network(bg.learning.tan(source), source, smoothing)
    table = TABLES["buying", "maint"]
    expected = table / np.maximum(table.sum(axis=2, keepdims=True), 1)
    empty = table.sum(axis=2) == 0
    assert empty.any()
    expected[empty] = 0.25
    np.testing.assert_allclose(network["maint"].values, expected, rtol=1e-15)
    assert network.query("class").to_dict() == pytest.approx(
        dict(zip(CLASSES, np.array([1210, 384, 69, 65]) / ROWS, strict=True))
    )
    # Nobody accepts a car for two persons or of low safety.
    assert network.query("class", {"persons": "2"})["unacc"] == pytest.approx(1.0, abs=1e-15)
