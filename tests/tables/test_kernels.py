"""Loops over the values of matrices."""

import numpy as np
import pytest

from bayesgraph.tables import are_within


@pytest.mark.parametrize(
    ("strange", "good"), [(-3.0, True), (3.5, False), (-np.inf, False), (np.nan, False)]
)
@pytest.mark.parametrize("at", [0, 40, 99])
def test_numbers_are_within_bounds_only_if_all_are(strange, good, at):
    values = np.linspace(-3.0, 3.0, 100)
    values[at] = strange
    assert are_within(values, 3.0) == good
