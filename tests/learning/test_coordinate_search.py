"""The sweep over exponents, against a plain one that scores all rows afresh."""

import numpy as np
import pytest
from exponent_samples import fitted, label_cost, sample
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.learning.exponents import ExponentSearch, LogTerms, Objective, informative


def cost_by_hand(terms, objective, exponents):
    size = int(np.ceil(exponents.sum()))
    features = objective.feature_cost @ exponents**objective.power
    return label_cost(terms, exponents, objective.share) + objective.size_cost[size] + features


def sweep_by_hand(terms, objective, exponents, order, step, threshold):
    """Return what a sweep tries, its costs, and the exponents after it."""
    now, tried, costs = exponents.copy(), [], []
    for i in order:
        after = now.copy()
        after[i] = np.clip(now[i] + step, 0, 1)
        if after[i] == now[i]:
            continue
        tried.append(after)
        costs.append(cost_by_hand(terms, objective, after))
        if costs[-1] < cost_by_hand(terms, objective, now) - threshold:
            now = after
    return tried, costs, now


def compare(terms, objective, random):
    search = ExponentSearch(terms, objective)
    now = np.zeros(terms.n_features)
    assert search.cost == pytest.approx(cost_by_hand(terms, objective, now), rel=1e-12)
    for step in (1.0, -1.0, 0.5, -0.25, 0.5, -1.0, 1.0):
        order = random.permutation(terms.n_features)
        found = search.sweep(order, step, 1e-3)
        tried, costs, now = sweep_by_hand(terms, objective, now, order, step, 1e-3)
        np.testing.assert_array_equal([exponents for exponents, _ in found], tried)
        np.testing.assert_allclose(costs_of(found), costs, rtol=1e-10)
        np.testing.assert_array_equal(search.exponents, now)
        assert search.cost == pytest.approx(cost_by_hand(terms, objective, now), rel=1e-10)


@given(st.integers(0, 2**16), st.integers(1, 4), st.booleans(), st.sampled_from([0.0, 0.02, 3.0]))
def test_sweeps(seed, k, weighted, share):
    random = np.random.default_rng(seed)
    terms = sample(seed, n=40, d=4, k=k, weighted=weighted)
    objective = Objective(random.random(5) * 3, random.random(4) * 2, 0.95, share)
    compare(terms, objective, random)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [0.0, 1e-3])
@pytest.mark.parametrize("k", [2, 3])
def test_classes_that_are_hundreds_of_nats_apart(weighted, share, k):
    plain = sample(3, n=200, d=6, k=k, weighted=weighted, missing=0.0)
    tables = [90.0 * table for table in plain.tables]
    terms = LogTerms.build(plain.codes, tables, plain.log_prior, plain.labels, plain.weights)
    objective = Objective(np.zeros(7), np.zeros(6), share=share)
    compare(terms, objective, np.random.default_rng(0))


def costs_of(tried):
    return [cost for _, cost in tried]


def test_restart_forgets():
    terms = sample(5)
    search = ExponentSearch(terms, Objective(np.arange(6.0), np.ones(5)))
    cost = search.cost
    first = search.sweep(np.arange(5), 1.0, 0.0)
    assert search.exponents.any()
    search.restart()
    assert search.cost == cost
    assert costs_of(search.sweep(np.arange(5), 1.0, 0.0)) == costs_of(first)


def test_a_class_that_cannot_be():
    plain = sample(2, k=2)
    tables = [np.column_stack([table, table[:, :1]]) for table in plain.tables]
    prior = np.append(plain.log_prior, -np.inf)
    terms = LogTerms.build(plain.codes, tables, prior, plain.labels)
    objective = Objective(np.zeros(6), np.zeros(5))
    two, three = ExponentSearch(plain, objective), ExponentSearch(terms, objective)
    order = np.arange(5)
    costs = costs_of(two.sweep(order, 1, 0))
    np.testing.assert_allclose(costs_of(three.sweep(order, 1, 0)), costs)


def test_informative():
    terms = sample(1, d=3, n=200)
    flat = LogTerms.build(
        terms.codes,
        [terms.tables[0], np.full((3, 2), -1.0), terms.tables[2]],
        terms.log_prior,
        terms.labels,
    )
    assert informative(flat).tolist() == [0, 2]
    # Smoothing makes the tables of a constant column differ where classes are not equally frequent.
    labels = [0, 0, 0, 1]
    assert informative(fitted(np.zeros((4, 1), dtype=int), labels, [2], 2)).tolist() == []
