"""Reductions of arrays."""

import numpy as np
import pytest

from bayesgraph.core.arrays import extremes


@pytest.mark.parametrize("shape", [(0, 3), (7, 0), (1, 5), (400, 3), (90, 300)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_extremes_of_columns(shape, order):
    random = np.random.default_rng(1)
    values = np.asarray(random.normal(size=shape), order=order)
    values[random.random(shape) < 0.1] = np.nan
    low, high = extremes(values)
    expected = np.where(np.isnan(values), np.inf, values).min(axis=0, initial=np.inf)
    np.testing.assert_array_equal(low, expected)
    expected = np.where(np.isnan(values), -np.inf, values).max(axis=0, initial=-np.inf)
    np.testing.assert_array_equal(high, expected)
