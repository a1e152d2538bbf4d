"""Fractional naive Bayes, against its objective written out and searched over a grid."""

from itertools import product

import numpy as np
import pytest
from exponent_samples import fitted, label_cost, random_rows, sample

from bayesgraph.errors import DataError
from bayesgraph.learning.exponents import (
    LogTerms,
    fractional_naive_bayes,
    partition_costs,
    universal_code,
)


def objective(terms, w, costs, weight=0.1, power=0.95):
    m = int(np.ceil(w.sum()))
    size = universal_code(m) - sum(np.log(j) for j in range(1, m + 1)) if m else 0.0
    n = terms.weights.sum()
    return label_cost(terms, w, 0.5 / n) + weight * (size + w**power @ costs)


@pytest.mark.parametrize("seed", range(6))
def test_the_cost_and_its_descent(seed):
    terms = sample(seed, n=100, d=6, k=2 + seed % 2, weighted=seed > 3)
    costs = np.random.default_rng(seed).random(6) * 20
    found = fractional_naive_bayes(terms, costs, seed=seed)
    assert found.cost == pytest.approx(objective(terms, found.exponents, costs), rel=1e-9)
    assert found.null_cost == pytest.approx(objective(terms, np.zeros(6), costs), rel=1e-9)
    descent = np.diff([found.null_cost, *found.trace])
    assert (descent <= 6 * found.tolerance).all()
    # Passes that raise exponents only ever lower the cost.
    assert (descent[::2] <= 1e-9).all()
    assert found.trace[-1] == found.cost
    assert ((found.exponents >= 0) & (found.exponents <= 1)).all()


@pytest.mark.parametrize("seed", range(5))
def test_no_point_of_a_grid_is_much_better(seed):
    terms = sample(seed, n=120, d=3, k=2)
    costs = np.array([5.0, 8.0, 3.0])
    found = fractional_naive_bayes(terms, costs)
    grid = product(np.linspace(0, 1, 9), repeat=3)
    least = min(objective(terms, np.array(w), costs) for w in grid)
    assert found.cost <= least * 1.01


def test_default_costs_are_those_of_intervals():
    terms = sample(4, n=100)
    found = fractional_naive_bayes(terms, partition_costs(terms.counts))
    np.testing.assert_array_equal(fractional_naive_bayes(terms).exponents, found.exponents)


def test_known_limits():
    codes, labels, _ = random_rows(0, n=400, d=2, missing=0.0)
    noise = np.random.default_rng(99).integers(2, size=400)
    codes = np.column_stack([codes[:, 0], codes[:, 0], labels * 0, noise])
    terms = fitted(codes, labels, [3, 3, 2, 2], 2)
    w = fractional_naive_bayes(terms).exponents
    assert w[2] == w[3] == 0
    # Copies share what one of them has: the sum of both tempers the same table.
    alone = LogTerms.build(codes[:, :1], terms.tables[:1], terms.log_prior, labels)
    one = fractional_naive_bayes(alone).exponents[0]
    assert one > 0.5
    assert w[0] + w[1] == pytest.approx(one, abs=0.1)
    assert not fractional_naive_bayes(terms, np.full(4, 1e6)).exponents.any()
    assert not fractional_naive_bayes(fitted(codes, labels * 0, [3, 3, 2, 2], 1)).exponents.any()
    # Without a prior a feature that determines the class takes all it can.
    sure = fitted(labels[:, None], labels, [2], 2)
    assert fractional_naive_bayes(sure, prior_weight=0.0).exponents.tolist() == [1.0]


def test_nothing_to_learn_from():
    empty = LogTerms.build(np.empty((2, 0)), [], np.zeros(2), [0, 1])
    assert fractional_naive_bayes(empty).exponents.shape == (0,)
    no_rows = LogTerms.build(np.empty((0, 3)), [np.log([[0.1, 0.9]] * 3)] * 3, np.zeros(2), [])
    assert fractional_naive_bayes(no_rows).exponents.tolist() == [0, 0, 0]


@pytest.mark.parametrize("costs", [[1.0], [-1.0] * 5, [np.inf] * 5, 3.0])
def test_wrong_costs(costs):
    with pytest.raises(DataError, match="5 finite numbers that are not negative"):
        fractional_naive_bayes(sample(0), costs)


@pytest.mark.parametrize("wrong", [{"prior_weight": -1.0}, {"power": 0.0}, {"power": np.nan}])
def test_wrong_prior(wrong):
    with pytest.raises(DataError, match="must not be negative"):
        fractional_naive_bayes(sample(0), **wrong)
