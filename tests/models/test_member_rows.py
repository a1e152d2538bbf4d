"""Rows of an average in the encoding of a member: each cell as by itself, on both tiers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.models import average as member_rows
from bayesgraph.models.average import MemberRows

WORDS = bg.Discrete("word", ["a", "b", "c", "d"])
OTHERS = bg.Discrete("other", ["x", "y"])
AGE, SIZE, HEIGHT = (bg.Continuous(name) for name in ("age", "size", "height"))
COUNTS = bg.CountVector("text", ["red", "green", "blue"])
# The average's variables, and what a network may have in the place of each.
CHOICES = {
    WORDS: [
        WORDS,
        bg.Grouped("word", [["b"], ["d", "a"], ["c"]]),
        bg.Discrete("word", ["d", "b"]),  # it lacks two states
    ],
    OTHERS: [OTHERS, bg.Discrete("other", ["y", "x"])],
    AGE: [AGE, bg.Binned("age", [0.0]), bg.Binned("age", [])],
    SIZE: [SIZE, bg.Binned("size", [-1.0, -0.5, 0.0, 0.25, 2.0])],
    HEIGHT: [bg.Binned("height", np.linspace(-2, 2, 90))],
    COUNTS: [COUNTS, bg.CountVector("text", ["blue", "red"])],
}


def code_of(whole, own, code):
    found = own.find(whole.states[code])
    return None if found is None or found < 0 else found


def cell(whole, own, value):
    """Return one value as the network has it."""
    if isinstance(whole, bg.CountVector):
        return [value[whole.positions[item]] for item in own.items]
    if isinstance(whole, bg.Discrete):
        found = None if value < 0 else code_of(whole, own, int(value))
        return -1 if found is None else found
    if isinstance(own, bg.Binned):
        return -1 if np.isnan(value) else own.find(float(value))
    return value


def rows_of(random, wholes, n, gaps):
    columns = {}
    for v in wholes:
        if isinstance(v, bg.CountVector):
            columns[v] = random.integers(0, 4, (n, len(v.items))).astype(float)
        elif isinstance(v, bg.Discrete):
            codes = random.integers(v.cardinality, size=n).astype(np.int8)
            columns[v] = np.where(random.random(n) < gaps, -1, codes).astype(np.int8)
        else:
            numbers = random.choice([-1.0, -0.5, 0.0, 0.25, 1e9, -1e9], n)
            numbers = np.where(random.random(n) < 0.5, random.normal(size=n), numbers)
            columns[v] = np.where(random.random(n) < gaps, np.nan, numbers)
    return columns


@settings(max_examples=25, deadline=None)
@given(data=st.data(), n=st.sampled_from([0, 1, 7, 300]), gaps=st.sampled_from([0.0, 0.3]))
def test_each_cell_is_translated_as_by_itself(data, n, gaps):
    wholes = data.draw(st.lists(st.sampled_from(list(CHOICES)), min_size=1, unique=True))
    pairs = [(v, data.draw(st.sampled_from([None, *CHOICES[v]]), label=v.name)) for v in wholes]
    pairs = [(whole, own) for whole, own in pairs if own is not None]
    columns = rows_of(np.random.default_rng(n), wholes, n, gaps)
    evidence = Evidence(n, columns, complete=not gaps)
    found = MemberRows.of(pairs, code_of).translated(evidence, {})
    assert set(found.columns) == {own for _, own in pairs}
    for whole, own in pairs:
        expected = [cell(whole, own, value) for value in columns[whole]]
        np.testing.assert_array_equal(
            found.columns[own], np.reshape(expected, found.columns[own].shape)
        )
    for variables, matrix in found.matrices:
        for j, own in enumerate(variables):
            np.testing.assert_array_equal(matrix[:, j], found.columns[own])
    if found.complete:
        assert all(found.observed_rows(own).all() for own in found.columns)


@pytest.mark.parametrize("n", [5, 300])
def test_both_tiers_translate_alike(monkeypatch, n):
    pairs = [(whole, choice[-1]) for whole, choice in CHOICES.items()]
    evidence = Evidence(n, rows_of(np.random.default_rng(0), CHOICES, n, 0.3))
    found = []
    for tier in ("interpreted", "compiled"):
        with monkeypatch.context() as patch:
            run = getattr(member_rows.translate, tier)
            patch.setattr(member_rows, "translate", run)
            found.append(MemberRows.of(pairs, code_of).translated(evidence, {}))
    for own in found[0].columns:
        np.testing.assert_array_equal(found[0].columns[own], found[1].columns[own])
