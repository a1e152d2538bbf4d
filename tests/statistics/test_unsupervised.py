"""Intervals of equal width and of equal frequency."""

import numpy as np
import pytest
from cutting import equal_frequency, equal_width
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.core.errors import DataError, DataTypeError

columns = st.lists(st.integers(-20, 20), min_size=1, max_size=60)


def test_equal_width_by_hand():
    assert equal_width([0.0, 1.0, 10.0], 4).tolist() == [2.5, 5.0, 7.5]
    assert equal_width([0.3, 0.9], 3).tolist() == [0.5, 0.7]
    assert equal_width([5.0, 5.0, np.nan], 4).tolist() == []
    assert equal_width([np.nan], 4).tolist() == []
    assert equal_width([0.0, 10.0, 100.0], 2, [1, 1, 0]).tolist() == [5.0]


@given(columns, st.integers(1, 12))
def test_equal_width_is_that_of_numpy(values, bins):
    cuts = equal_width(values, bins)
    if len(set(values)) == 1:
        assert not cuts.size
        return
    # Where no value is near, a cut moves by at most 1% of a gap to be a shorter number.
    expected = np.linspace(min(values), max(values), bins + 1)[1:-1]
    np.testing.assert_allclose(cuts, expected, atol=0.0101 * (max(values) - min(values)))
    for low, exact in zip(cuts, expected, strict=True):
        clear = np.abs(np.array(values) - exact) > 1e-9
        np.testing.assert_array_equal(
            (np.array(values) > low)[clear], (np.array(values) > exact)[clear]
        )


def test_equal_frequency_by_hand():
    assert equal_frequency([1, 2, 3, 4, 5, 6], 3).tolist() == [2.5, 4.5]
    assert equal_frequency([1, 1, 1, 1, 2, 3, 4, 5], 4).tolist() == [1.5, 3.5]
    assert equal_frequency([7, 7, 7], 4).tolist() == []
    # The second value alone is more than its share.
    assert equal_frequency([1, 2, 2, 2, 2, 2, 2, 3], 4).tolist() == [1.5, 2.5]


@given(columns, st.integers(1, 8))
def test_a_cut_of_equal_frequency_comes_nearest_to_its_share(values, bins):
    values = np.array(values, dtype=float)
    cuts = equal_frequency(values, bins)
    candidates = np.unique(values)[:-1]
    below = np.array([(values <= c).sum() for c in candidates])
    expected = set()
    for k in range(1, bins):
        if candidates.size:
            gap = np.abs(below - len(values) * k / bins)
            expected.add(int(np.flatnonzero(gap <= gap.min() + 1e-9)[0]))
    assert [(values <= c).sum() for c in cuts] == [below[i] for i in sorted(expected)]


@given(columns, st.integers(1, 8), st.integers(0, 5))
def test_weights_are_repetitions(values, bins, seed):
    weights = np.random.default_rng(seed).integers(0, 4, len(values))
    repeated = np.repeat(values, weights)
    for method in (equal_width, equal_frequency):
        np.testing.assert_array_equal(method(values, bins, weights), method(repeated, bins))


@pytest.mark.parametrize("bins", [0, -1, 2.5, True, "3"])
def test_wrong_numbers_of_bins(bins):
    for method in (equal_width, equal_frequency):
        with pytest.raises((DataError, DataTypeError), match="number of intervals"):
            method([1.0, 2.0], bins)
