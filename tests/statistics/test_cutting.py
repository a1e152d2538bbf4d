"""Elementary bins and cuts that read well."""

import decimal
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.core.errors import DataError, DataTypeError
from bayesgraph.statistics import (
    SortedColumn,
    frequency_cuts,
    granular_intervals,
    histogram_edges,
    mdlp_cuts,
    modl_intervals,
    observed,
    width_cuts,
)
from bayesgraph.statistics.cuts import bins_of, cuts_between

numbers = st.floats(-1e120, 1e120, allow_nan=False)


def cut_between(a, b, middle=None):
    """Return the only one of the cuts."""
    (cut,) = cuts_between([a], [b], None if middle is None else [middle])
    return float(cut)


def as_formatted(a, b):
    """Return the cut of the fewest digits near the middle, by Python's own formatting."""
    wanted = a + (b / 2 - a / 2)
    for digits in range(1, 17):
        short = float(f"{wanted:.{digits}g}")
        if abs(short - wanted) <= 0.01 * (b / 2 - a / 2) * 2 and a <= short < b:
            return short + 0.0
    return wanted if wanted < b else a


def n_digits(number):
    """Return how many digits a number is written with."""
    return len(decimal.Decimal(repr(number)).normalize().as_tuple().digits)


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


@given(st.lists(st.tuples(numbers, numbers), max_size=20))
def test_many_cuts_are_those_of_each_pair_and_as_short_as_formatting_makes_them(pairs):
    pairs = [tuple(sorted(pair)) for pair in pairs if pair[0] != pair[1]]
    low, high = np.array(pairs).reshape(-1, 2).T
    cuts = cuts_between(low, high)
    assert cuts.shape == (len(pairs),)
    for cut, (a, b) in zip(cuts.tolist(), pairs, strict=True):
        assert cut == cut_between(a, b)
        assert n_digits(cut) <= n_digits(as_formatted(a, b))


@given(numbers, numbers, st.floats(0, 1))
def test_a_cut_is_near_the_place_that_is_wanted(a, b, share):
    a, b = sorted((a, b))
    middle = a + share * (b - a)
    if not a <= middle < b:
        return
    cut = cut_between(a, b, middle)
    assert a <= cut < b
    assert abs(cut - middle) <= 0.0101 * (b - a)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=30),
    st.booleans(),
)
def test_bins_are_values_joined_where_all_rows_are_of_one_class(rows, weighted):
    values, classes = np.array(rows, dtype=float).T
    weights = 1.0 + np.arange(len(rows)) if weighted else np.ones(len(rows))
    bins = bins_of(observed(values, weights if weighted else None, classes.astype(int), 3))
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
    bins = bins_of(observed(values, [1.0, 1.0, 1.0, 1.0, 0.0], [0, 1, 0, 1, 0], 2))
    assert bins.low.tolist() == [1.0, 2.0]
    assert bins.high.tolist() == [1.0, 3.0]
    assert bins_of(observed([np.nan], None, [0])).total == 0.0


def test_masked_values_and_weights_leave_rows_out_and_complex_ones_are_refused():
    masked = np.ma.masked_equal([1, 2, 3], 2)
    assert observed(masked, None).low.tolist() == [1.0, 3.0]
    assert observed([4.0, 5.0, 6.0], masked).low.tolist() == [4.0, 6.0]
    with pytest.raises(DataTypeError, match="real numbers"):
        observed([4.0], [1j])


def test_wrong_arrays_are_refused():
    with pytest.raises(DataError, match="as many classes as values"):
        observed([1.0, 2.0], None, [0])
    with pytest.raises(DataError, match="Infinite"):
        observed([1.0, np.inf], None, [0, 0])
    with pytest.raises(DataError, match="from 0 to 1; got 0 to 2"):
        observed([1.0, 2.0], None, [0, 2], 2)


SEARCHES = {
    "mdlp": mdlp_cuts,
    "modl": lambda column: modl_intervals(column).cuts,
    "granular": lambda column: granular_intervals(column).cuts,
    "width": lambda column: width_cuts(column, 7),
    "frequency": lambda column: frequency_cuts(column, 7),
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_of_values_have_the_cuts_of_their_rows(search, weighted):
    random = np.random.default_rng(0)
    classes = random.integers(0, 3, 900)
    values = np.round(random.normal(size=900) + classes, 1)
    weights = random.integers(1, 4, 900) / 2 if weighted else None
    distinct, at = np.unique(values, return_inverse=True)
    counts = np.zeros((len(distinct) + 1, 3))
    np.add.at(counts, (at, classes), 1.0 if weights is None else weights)
    bounds = np.append(distinct, np.inf), np.append(distinct, -np.inf)  # the last bin is empty
    found = search(SortedColumn.of_counts(*bounds, counts))
    assert len(found) > 1
    np.testing.assert_array_equal(found, search(observed(values, weights, classes, 3)))


def test_cuts_of_equal_width_may_lie_within_bins():
    column = SortedColumn.of_counts(np.array([0.0, 5.0]), np.array([4.0, 100.0]), np.ones((2, 1)))
    assert width_cuts(column, 4).tolist() == [25.0, 50.0, 75.0]
    assert len(width_cuts(column, 997)) == 996


def test_few_values_are_edges_themselves():
    column = observed([3.0, np.nan, 1.0, 1.0, -2.0], None, [0, 0, 1, 0, 1], 2)
    assert histogram_edges(column, 3).tolist() == [-2.0, 1.0, 3.0]
    assert histogram_edges(column, 2).size <= 2
    assert histogram_edges(observed([np.nan], None, [0], 2), 5).size == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_edges_cut_every_class_finely(weighted):
    random = np.random.default_rng(0)
    classes = (np.arange(20_000) % 100 == 0).astype(int)
    values = np.where(classes, 5 + random.random(20_000), random.random(20_000))
    values[1::10] = 0.25
    weights = np.where(random.random(20_000) < 0.5, 1.0, 3.0) if weighted else None
    edges = histogram_edges(observed(values, weights, classes, 3), 256)
    assert 0.25 in edges
    assert set(edges) <= set(values)
    for chosen in (classes == 1, (classes == 0) & (values != 0.25)):
        weight = np.ones(chosen.sum()) if weights is None else weights[chosen]
        inside = np.bincount(np.searchsorted(edges, values[chosen], "right"), weight)
        assert inside.max() < 0.04 * weight.sum()
