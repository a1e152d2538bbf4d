"""Histograms that split and merge: no weight is lost, and the plain loops agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sketch_references import PlainPiD

from bayesgraph.core.errors import DataError
from bayesgraph.statistics import PiDSummary

STREAMS = st.lists(
    st.tuples(
        st.one_of(st.floats(-1e3, 1e3), st.integers(-3, 3).map(float), st.just(float("nan"))),
        st.integers(0, 2),
        st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0]),
    ),
    min_size=1,
    max_size=200,
)


@given(STREAMS, st.integers(2, 9), st.integers(1, 50), st.sampled_from([1.0, 0.75, 1e-3]))
def test_classes_are_conserved_and_loops_agree(rows, size, block, factor):
    x, k, w = (np.array(part) for part in zip(*rows, strict=True))
    summary, plain = PiDSummary(1, 3, size=size), PlainPiD(3, size)
    held = np.zeros(len(x))
    for i in range(0, len(x), block):
        part = slice(i, i + block)
        summary.fade(factor)
        plain.fade(factor)
        held[:i] *= factor
        held[part] = np.where(np.isnan(x[part]), 0.0, w[part])
        summary.update(x[part], k[part], w[part])
        plain.absorb(x[part], k[part], w[part])
    assert len(summary.bins()[1]) <= size
    np.testing.assert_allclose(summary.counts[0], np.bincount(k, held, 3), atol=1e-9)
    edges, counts = summary.bins()
    if held.any():
        assert edges.tolist() == plain.edges
        much = held > 1e-9 * held.sum()
        assert x[held > 0].min() <= edges[0] <= x[much].min()
        assert x[much].max() <= edges[-1] <= x[held > 0].max()
        if factor == 1.0:
            assert (edges[0], edges[-1]) == (x[held > 0].min(), x[held > 0].max())
        np.testing.assert_allclose(counts, plain.counts, atol=1e-9)
        assert (np.diff(edges) >= 0).all()


def test_batches_do_not_matter_and_a_state_goes_on():
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=(2000, 2)), rng.integers(0, 2, 2000)
    one, parts = PiDSummary(2, 2, size=20).update(x, k), PiDSummary(2, 2, size=20)
    for i in range(0, 2000, 130):
        parts = parts.copy().update(x[i : i + 130], k[i : i + 130])
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, parts.arrays()[name])
    assert parts.size == 20


def test_quantiles_of_a_smooth_density_are_near():
    """No guarantee, but in random order bins tell quantiles to about one per cent."""
    x = np.random.default_rng(1).normal(size=20000)
    cells = PiDSummary(1, 1, size=100).update(x, np.zeros(20000, dtype=int)).cells()
    below = np.cumsum(cells.counts.sum(axis=1))[:-1]
    true = np.searchsorted(np.sort(x), cells.high[:-1], side="right")
    assert np.abs(below - true).max() < 0.03 * 20000


@pytest.mark.parametrize("side", [-1, 1])
def test_the_range_is_that_of_bins_that_hold_something(side):
    rng = np.random.default_rng(3)
    summary = PiDSummary(1, 2, size=20).update(rng.random(500) * side, np.zeros(500, dtype=int))
    for _ in range(40):
        summary.update((100 + rng.random(200)) * side, rng.integers(0, 2, 200))
        summary.fade(0.4)
    edges, counts = summary.bins()
    assert (edges * side < 2).sum() <= 1  # of the bin that reaches from the old to the new values
    held = sum(200 * 0.4**i for i in range(1, 41)) + 500 * 0.4**40
    np.testing.assert_allclose(counts.sum(), held)


def test_growth_keeps_what_there_is():
    rng = np.random.default_rng(2)
    summary = PiDSummary(2, 2, size=10).update(rng.normal(size=(100, 2)), rng.integers(0, 2, 100))
    before = summary.counts
    summary.grow(n_features=3, n_classes=3)
    np.testing.assert_array_equal(summary.counts[:2, :2], before)
    summary.update(rng.normal(size=(50, 3)), rng.integers(0, 3, 50))
    assert summary.counts[2].sum() == 50


def test_numbers_too_near_to_split():
    """Neighbours in floating point, far ends of its range, and one value only."""
    for values in ([1.0, np.nextafter(1.0, 2)], [-1.7e308, 1.7e308], [0.0], [-0.0, 0.0, 5e-324]):
        x = np.resize(np.array(values), 400)
        summary = PiDSummary(1, 1, size=4).update(x, np.zeros(400, dtype=int))
        assert summary.counts[0, 0] == 400
        assert len(summary.bins()[1]) <= 4


def test_what_is_refused():
    with pytest.raises(DataError, match="2 or more"):
        PiDSummary(size=1)
