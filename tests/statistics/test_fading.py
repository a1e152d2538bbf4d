"""What fading leaves of any summary: valid, conserved, and finite however much is forgotten."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.core.errors import ModelError
from bayesgraph.statistics import SUMMARIES, Cells, CutSummaries, FrequentValues, GKSummary


def of_size(kind, size):
    return lambda: kind(2, 2, **({"size": size} if "size" in kind.options else {}))


KINDS = {name: of_size(kind, 6) for name, kind in SUMMARIES.items()} | {
    "epsilon": lambda: GKSummary(2, 2, epsilon=0.05),
}

# How many rows come, from which seed, in which class (2: in both), and what is forgotten after.
STEPS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.integers(0, 1000),
        st.integers(0, 2),
        st.floats(-20, 0).map(lambda power: 10.0**power) | st.sampled_from([1.0, 0.5, 1e-20]),
    ),
    min_size=1,
    max_size=25,
)


def rows(n, seed, label):
    random = np.random.default_rng(seed)
    values = random.normal(size=(n, 2)).round(seed % 3)
    values[random.random((n, 2)) < 0.1] = np.nan
    return values, random.integers(0, 2, n) if label == 2 else np.full(n, label)


def check_cells(cells, counts):
    assert (cells.counts >= 0).all()
    assert (cells.counts.sum(axis=1) > 0).all()
    for j in range(2):
        at = np.arange(*cells.start[j : j + 2])
        held, cuts = cells.counts[at], cells.cuts(at)
        assert (np.diff(cuts) >= 0).all()
        assert np.isfinite(cuts[:-1]).all()
        assert (cuts[-1:] == np.inf).all()
        np.testing.assert_allclose(held.sum(axis=0), counts[j], rtol=1e-9, atol=1e-95)


@pytest.mark.parametrize("kind", KINDS)
@given(steps=STEPS)
def test_any_fading_leaves_a_valid_summary(kind, steps):
    summary, held = KINDS[kind](), np.zeros((2, 2))
    for n, seed, label, factor in steps:
        values, classes = rows(n, seed, label)
        summary.update(values, classes)
        there = ~np.isnan(values)
        held += np.array([np.bincount(classes[there[:, j]], minlength=2) for j in range(2)])
        summary.fade(factor)
        held *= factor
    np.testing.assert_allclose(summary.counts, held, rtol=1e-9, atol=1e-95)
    for name, array in summary.arrays().items():
        assert np.isfinite(array).all(), name
        if name in ("count", "total", "square", "weight", "variance"):
            assert (array >= 0).all(), name
    summary.check()
    again = summary.copy()
    np.testing.assert_array_equal(again.counts, summary.counts)
    if isinstance(summary, CutSummaries):
        check_cells(summary.cells(), held)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [0.0, 5e-324, 1e-200])
def test_nothing_left_is_as_if_nothing_had_been_seen(kind, factor):
    summary, fresh = KINDS[kind](), KINDS[kind]()
    summary.update(*rows(200, 0, 2))
    summary.fade(factor)
    assert not summary.counts.any()
    if isinstance(summary, CutSummaries):
        assert len(summary.cells().counts) == 0
    new = rows(20, 1, 2)
    np.testing.assert_array_equal(summary.update(*new).counts, fresh.update(*new).counts)
    np.testing.assert_array_equal(*(s.copy().counts for s in (summary, fresh)))
    if kind == "gaussian":
        np.testing.assert_array_equal(summary.mean, fresh.mean)
        np.testing.assert_array_equal(summary.variance, fresh.variance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [-0.1, 1.1, np.nan, np.inf, "0.5", True, None])
def test_factors_that_are_refused(kind, factor):
    for summary in (KINDS[kind](), FrequentValues()):
        with pytest.raises(ModelError, match=r"from 0 .* to 1"):
            summary.fade(factor)


@pytest.mark.parametrize("kind", ["gk", "pid"])
def test_what_hardly_weighs_anything_is_no_cell(kind):
    """Weights of rows may be tiny beside others, before anything fades."""
    values = np.column_stack([np.arange(4.0)] * 2)
    summary = KINDS[kind]().update(values, [0, 1, 0, 1], [1e-320, 1.0, 1e-20, 1.0])
    check_cells(summary.cells(), summary.counts)


def test_cells_are_joined_halfway():
    start = np.array([0, 6, 6, 8, 9])
    counts = np.array(
        [[0, 0], [1, 0], [0, 1e-20], [0, 0], [3, 1], [0, 0.0], [0, 0], [0, 0], [2, 2]]
    )
    values = np.arange(9.0)
    cells = Cells.joined(start, counts, values, values)
    assert cells.start.tolist() == [0, 2, 2, 2, 3]
    assert cells.counts.tolist() == [[1, 0], [3, 1 + 1e-20], [2, 2]]
    assert cells.cuts(np.arange(3)).tolist() == [2.5, np.inf, np.inf]
    assert cells.low.tolist() == cells.high.tolist() == [1.0, 4.0, 8.0]
    none = Cells.joined(start, counts * 0, values, values)
    assert (none.start.tolist(), none.counts.shape, none.low.shape) == ([0] * 5, (0, 2), (0,))


STREAM = st.lists(
    st.tuples(st.integers(0, 6), st.floats(-20, 0).map(lambda power: 10.0**power)),
    min_size=1,
    max_size=40,
)


def added(found, value):
    found.absorb(np.array([value]), np.array([0]), np.empty(0))


@given(STREAM, st.integers(2, 9))
def test_values_leave_the_list_when_they_have_faded(steps, size):
    found, held = FrequentValues(1, size=size), np.zeros(7)
    for value, factor in steps:
        added(found, value)
        held[value] += 1
        found.fade(factor)
        held *= factor
    total = held.sum()
    np.testing.assert_allclose(found.totals, [total], rtol=1e-9, atol=1e-95)
    assert found.copy().missed <= total / (size + 1) + 1e-9 * total + 1e-95
    keys, seen = found.listed()
    assert len(keys) <= size
    assert (held[keys] >= 0.99e-12 * total).all()
    assert (seen[:, 0] <= held[keys] * (1 + 1e-9)).all()
    missing = held.copy()
    missing[keys] -= seen[:, 0]
    assert (missing <= found.missed + 1e-11 * total + 1e-95).all()


def test_a_list_that_changes_stays_exact_while_it_has_room():
    """With what is old forgotten, values that come one after another miss nothing."""
    found = FrequentValues(1, size=10)
    for value in range(200):
        found.fade(1e-3)
        added(found, value)
    assert found.missed <= 1e-11
    assert len(found.listed()[0]) <= 6
    found.fade(0.0)
    assert (found.totals.tolist(), found.missed, len(found.listed()[0])) == ([0.0], 0.0, 0)
