"""Code lengths, against counting."""

import math

import numpy as np
import pytest

from bayesgraph.learning.exponents import (
    log_choose,
    log_factorial,
    partition_costs,
    universal_code,
)


def test_choices():
    for n in range(8):
        assert log_factorial(n) == pytest.approx(math.log(math.factorial(n)), abs=1e-12)
        for k in range(n + 1):
            assert log_choose(n, k) == pytest.approx(math.log(math.comb(n, k)), abs=1e-12)


def test_universal_code():
    # By hand: log2* 16 = 4 + 2 + 1, log2* 5 = log2 5 + log2 log2 5 + log2 log2 log2 5.
    constant = math.log(2.86511)
    inner = math.log2(math.log2(5))
    of_five = math.log2(5) + inner + math.log2(inner)
    expected = constant + np.array([0.0, 7.0, of_five]) * math.log(2)
    assert universal_code(np.array([1, 16, 5])) == pytest.approx(expected)
    # A code: the probabilities of all numbers sum to 1 at most, and the sum grows slowly.
    total = np.exp(-universal_code(np.arange(1, 5000))).sum()
    assert 0.7 < total < 1


def test_partition_costs_by_hand():
    counts = [np.array([[3.0, 0.0], [1.0, 2.0]]), np.array([[2.0, 1.0, 0.0]]), np.zeros((2, 2))]
    found = partition_costs(counts, [True, True, False])
    first = math.log(6) + math.log(math.comb(7, 1)) + 2 * math.log(math.comb(4, 1))
    second = math.log(3) + math.log(math.comb(5, 2))
    np.testing.assert_allclose(found, math.log(3) + np.array([first, second, 0.0]))
    bounds = math.log(6) + math.log(7)
    assert partition_costs(counts, [False] * 3)[0] == pytest.approx(found[0] - bounds)
