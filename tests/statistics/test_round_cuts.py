"""Cut points with few digits, at about the quantiles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.statistics import frequency_cuts, observed, round_frequency_cuts
from bayesgraph.statistics.cuts import round_between

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 4))


def digits(number):
    return len(repr(abs(float(number))).replace(".", "").strip("0"))


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_a_round_cut_separates_and_no_shorter_number_does(pairs):
    low, high = np.array([sorted(p) for p in pairs if p[0] != p[1]]).reshape(-1, 2).T
    cuts = round_between(low, high)
    assert ((low <= cuts) & (cuts < high)).all()
    for a, b, cut in zip(low.tolist(), high.tolist(), cuts.tolist(), strict=True):
        middle = (a + b) / 2
        for places in range(-8, 5):
            unit = 10.0**-places
            near = [round(k * unit, 10) for k in (middle // unit, middle // unit + 1)]
            if any(a <= x < b for x in near):
                # A multiple of this power of ten is between them; the cut has no more places.
                assert round(cut / unit * 10, 6) % 1 == 0
                break


@pytest.mark.parametrize("power", [-130, -20, -3, 3, 20, 130])
def test_the_unit_of_a_number_does_not_matter(power):
    random = np.random.default_rng(0)
    low = random.normal(size=50).round(3)
    high = low + random.random(50).round(3) + 0.001
    cuts = [float(f"{cut!r}e{power}") for cut in round_between(low, high).tolist()]
    np.testing.assert_allclose(round_between(low * 10.0**power, high * 10.0**power), cuts)


@given(st.integers(0, 10_000), st.sampled_from([5, 60, 500]), st.sampled_from([2, 8, 32]))
def test_intervals_have_about_equal_numbers_of_rows(seed, n, bins):
    random = np.random.default_rng(seed)
    values = random.normal(50, 20, size=n).round(random.integers(3))
    column = observed(values, None)
    plain, found = frequency_cuts(column, bins), round_frequency_cuts(column, bins)
    assert len(found) <= len(plain)
    assert (np.diff(found) > 0).all()
    counts = np.histogram(
        values, np.concatenate([[-np.inf], np.nextafter(found, np.inf), [np.inf]])
    )
    assert (counts[0] > 0).all()
    below = [(values <= cut).mean() for cut in plain]
    near = [(values <= cut).mean() for cut in found]
    for share in near:
        assert min(abs(share - other) for other in below) <= 0.25 / bins + 1e-9


def test_round_cuts_of_ages():
    ages = np.random.default_rng(0).normal(40, 12, size=5000)
    cuts = round_frequency_cuts(observed(ages, None), 8)
    assert (
        cuts.tolist() == [26.0, 32.0, 36.0, 40.0, 44.0, 48.0, 54.0] or max(map(digits, cuts)) <= 2
    )
