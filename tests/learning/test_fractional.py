"""Fractional naive Bayes, against its objective written out and searched over a grid."""

from itertools import product

import numpy as np
import pytest
from exponent_samples import fitted, label_cost, random_rows, sample

from bayesgraph.learning import exponents as fractional
from bayesgraph.learning.exponents import (
    ExponentSearch,
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
def test_the_cost_and_its_descent(seed, monkeypatch):
    trace, tolerance = [], []

    class Traced(ExponentSearch):
        def sweep(self, order, step, threshold):
            found = super().sweep(order, step, threshold)
            trace.append(self.cost)
            tolerance.append(abs(threshold))
            return found

    monkeypatch.setattr(fractional, "ExponentSearch", Traced)
    terms = sample(seed, n=100, d=6, k=2 + seed % 2, weighted=seed > 3)
    costs = np.random.default_rng(seed).random(6) * 20
    found = fractional_naive_bayes(terms, costs, seed)
    assert ((found >= 0) & (found <= 1)).all()
    assert trace[-1] == pytest.approx(objective(terms, found, costs), rel=1e-9)
    descent = np.diff([objective(terms, np.zeros(6), costs), *trace])
    assert (descent <= 6 * np.array(tolerance) + 1e-9).all()
    # Passes that raise exponents only ever lower the cost.
    assert (descent[::2] <= 1e-9).all()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(5))
def test_no_point_of_a_grid_is_much_better(seed):
    terms = sample(seed, n=120, d=3, k=2)
    costs = np.array([5.0, 8.0, 3.0])
    found = fractional_naive_bayes(terms, costs)
    grid = product(np.linspace(0, 1, 9), repeat=3)
    least = min(objective(terms, np.array(w), costs) for w in grid)
    assert objective(terms, found, costs) <= least * 1.01
    assert objective(terms, found, costs) < objective(terms, np.zeros(3), costs)


def exponents_of(terms):
    """Return the exponents where all features are intervals."""
    costs = partition_costs(terms.counts, [True] * terms.n_features)
    return fractional_naive_bayes(terms, costs)


def test_known_limits():
    codes, labels, _ = random_rows(0, n=400, d=2, missing=0.0)
    noise = np.random.default_rng(99).integers(2, size=400)
    codes = np.column_stack([codes[:, 0], codes[:, 0], labels * 0, noise])
    terms = fitted(codes, labels, [3, 3, 2, 2], 2)
    w = exponents_of(terms)
    assert w[2] == w[3] == 0
    # Copies share what one of them has: the sum of both tempers the same table.
    alone = LogTerms.build(codes[:, :1], terms.tables[:1], terms.log_prior, labels)
    one = exponents_of(alone)[0]
    assert one > 0.5
    assert w[0] + w[1] == pytest.approx(one, abs=0.1)
    assert not fractional_naive_bayes(terms, np.full(4, 1e6)).any()
    assert not exponents_of(fitted(codes, labels * 0, [3, 3, 2, 2], 1)).any()
    # A feature that determines the class and costs nothing takes all it can.
    sure = fitted(labels[:, None], labels, [2], 2)
    assert fractional_naive_bayes(sure, np.zeros(1)).tolist() == [1.0]


def test_nothing_to_learn_from():
    empty = LogTerms.build(np.empty((2, 0)), [], np.zeros(2), [0, 1])
    assert exponents_of(empty).shape == (0,)
    no_rows = LogTerms.build(np.empty((0, 3)), [np.log([[0.1, 0.9]] * 3)] * 3, np.zeros(2), [])
    assert exponents_of(no_rows).tolist() == [0, 0, 0]
