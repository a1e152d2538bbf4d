"""Rounded numbers between two others."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.statistics import GKSummary
from bayesgraph.statistics.sketches import halfway


def half(below, above):
    return halfway(np.array([below]), np.array([above])).item()


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        (0.14, 0.15, 0.145),
        (0.0, 1.0, 0.5),
        (1.0, 2.0, 1.5),
        (5.1, 5.9, 5.5),
        (-0.3, -0.1, -0.2),
        (0.1234567, 0.1298765, 0.12667),
        (1e20, 3e20, 2e20),
        (-3e15, -2e15, -2.5e15),
        (-1.7e308, 1.7e308, 0.0),
        (0.0, 5e-324, 0.0),
        (1 + 2**-52, 1 + 2**-51, 1 + 2**-52),  # nothing between; the middle rounds upwards
        (2.0, 2.0, 2.0),
        (2.0, 1.0, 2.0),
    ],
)
def test_by_hand(below, above, expected):
    assert half(below, above) == expected


NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-50, 50).map(
    lambda i: i / 100
)


@given(NUMBERS, NUMBERS)
def test_on_the_right_side_and_near_the_middle(a, b):
    below, above = min(a, b), max(a, b)
    found = half(below, above)
    if below == above:
        assert found == below
        return
    assert below <= found < above
    low, high = Fraction(below), Fraction(above)
    # Half a hundredth of the distance, and half a unit of the last place of floating point.
    off = (high - low) / 200 + Fraction(np.spacing(max(abs(below), abs(above))).item())
    assert abs(Fraction(found) - (low + high) / 2) <= off


@given(st.integers(-(10**6), 10**6), st.integers(1, 1000), st.integers(0, 12))
def test_decimals_have_decimals_between_them(whole, step, places):
    """No float is printed longer than its neighbours but for three digits."""
    below, above = float(f"{whole}e-{places}"), float(f"{whole + step}e-{places}")
    found = Fraction(repr(half(below, above)))
    assert (found * 10 ** (places + 3)).denominator == 1


def test_cuts_of_summaries_are_short():
    cells = GKSummary(1, 1).update(np.array([0.14, 0.15, 0.17]), [0, 0, 0]).cells()
    assert cells.cuts.tolist() == [0.145, 0.16, np.inf]
