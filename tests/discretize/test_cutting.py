"""Elementary bins and cuts that read well."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.discretize.cutting import cut_between, make_bins
from bayesgraph.errors import DataError

numbers = st.floats(-1e120, 1e120, allow_nan=False)


@given(numbers, numbers)
def test_a_cut_separates_two_numbers(a, b):
    a, b = sorted((a, b))
    if a == b:
        return
    cut = cut_between(a, b)
    assert a <= cut < b
    if b - a > 1e-12 * max(abs(a), abs(b)):
        assert abs(cut - (a / 2 + b / 2)) <= 0.0101 * (b - a)


def test_a_cut_separates_neighbours_that_no_number_is_between():
    for a in (0.1, 1.0, -1.0, 1e-300, 5e-324, 1e300, -5e-324):
        b = math.nextafter(a, math.inf)
        assert a <= cut_between(a, b) < b


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (0.1 + 0.2, 0.4, "0.35"),
        (0.6, 1.0, "0.8"),
        (1.7, 1.8, "1.75"),
        (1.0, 4.0, "2.5"),
        (-1.0, 1.0, "0.0"),
        (-0.1, 0.0, "-0.05"),
        (0.1234567890123, 0.1239876543210, "0.12372"),
    ],
)
def test_a_cut_is_a_short_number(a, b, text):
    assert repr(cut_between(a, b)) == text


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=30),
    st.booleans(),
)
def test_bins_are_values_joined_where_all_rows_are_of_one_class(rows, weighted):
    values, classes = np.array(rows, dtype=float).T
    weights = 1.0 + np.arange(len(rows)) if weighted else np.ones(len(rows))
    bins = make_bins(values, classes.astype(int), 3, weights if weighted else None)
    expected = []
    for value in sorted(set(values.tolist())):
        there = values == value
        only = set(classes[there].tolist())
        if expected and len(only) == 1 and expected[-1][2] == only:
            expected[-1] = (expected[-1][0], value, only)
        else:
            expected.append((value, value, only))
    assert list(zip(bins.low, bins.high, strict=True)) == [e[:2] for e in expected]
    for (low, high, _), counts in zip(expected, np.diff(bins.sums, axis=0), strict=True):
        inside = (values >= low) & (values <= high)
        np.testing.assert_array_equal(
            counts, np.bincount(classes[inside].astype(int), weights[inside], minlength=3)
        )


def test_missing_values_and_rows_without_weight_are_left_out():
    values = [np.nan, 3.0, 1.0, 2.0, 9.0]
    bins = make_bins(values, [0, 1, 0, 1, 0], 2, [1.0, 1.0, 1.0, 1.0, 0.0])
    assert bins.low.tolist() == [1.0, 2.0]
    assert bins.high.tolist() == [1.0, 3.0]
    assert make_bins([np.nan], [0], 1).total == 0.0


def test_wrong_arrays_are_refused():
    with pytest.raises(DataError, match="as many classes as values"):
        make_bins([1.0, 2.0], [0], 1)
    with pytest.raises(DataError, match="Infinite"):
        make_bins([1.0, np.inf], [0, 0], 1)
    with pytest.raises(DataError, match="from 0 to 1; got 0 to 2"):
        make_bins([1.0, 2.0], [0, 2], 2)
