"""Selective naive Bayes, against subsets enumerated and averages taken literally."""

import math
from itertools import product

import numpy as np
import pytest
from exponent_samples import fitted, label_cost, random_rows, sample
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_wine

from bayesgraph.learning import exponents as selective
from bayesgraph.learning.exponents import ExponentSearch, LogTerms, selective_naive_bayes


def subset_cost(terms, members):
    d, m = len(members), int(sum(members))
    choice = math.log(d + 1) + (math.log(math.comb(d + m - 1, m)) if m else 0.0)
    return choice + label_cost(terms, np.asarray(members, dtype=float))


def models_met(terms, seed=1):
    """Return every different nonempty subset that the search evaluates, and its cost."""
    found = {}

    class Traced(ExponentSearch):
        def sweep(self, *args):
            tried = super().sweep(*args)
            found.update({tuple(members): cost for members, cost in reversed(tried)})
            return tried

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selective, "ExponentSearch", Traced)
        exponents = selective_naive_bayes(terms, seed)
    found.pop((0.0,) * terms.n_features, None)
    return found, exponents


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**16), st.integers(2, 3), st.booleans())
def test_averages_over_the_models_met(seed, k, weighted):
    terms = sample(seed, n=60, d=5, k=k, weighted=weighted)
    models, exponents = models_met(terms, seed)
    members = np.array(list(models)).reshape(-1, 5)
    costs = np.array(list(models.values()))
    for member, cost in zip(members, costs, strict=True):
        assert cost == pytest.approx(subset_cost(terms, member), rel=1e-9)
    c = np.maximum(1 - costs / subset_cost(terms, np.zeros(5)), 0)
    expected = c @ members / c.sum() if c.sum() else np.zeros(5)
    np.testing.assert_allclose(exponents, expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_cheapest_of_all_subsets_is_found(seed):
    terms = sample(seed, n=80, d=5)
    cheapest = min(subset_cost(terms, members) for members in product([0, 1], repeat=5))
    found, _ = models_met(terms)
    null = subset_cost(terms, np.zeros(5))
    assert min([null, *found.values()]) == pytest.approx(cheapest, rel=1e-9)


def test_features_that_tell_nothing_and_copies():
    codes, labels, _ = random_rows(0, n=400, d=2, missing=0.0)
    codes = np.column_stack([codes[:, 0], codes[:, 0], labels * 0])
    terms = fitted(codes, labels, [3, 3, 2], 2)
    exponents = selective_naive_bayes(terms, restarts=400)
    assert exponents[2] == 0
    # Each copy is met alone and both together: they share, in the same way.
    assert exponents[0] == pytest.approx(exponents[1], abs=1e-9)
    assert 0.5 <= exponents[0] < 0.8


def test_a_table_without_anything_to_learn():
    codes, labels, cards = random_rows(1, n=20, d=3)
    nothing = fitted(codes, labels * 0, cards, 1)
    assert selective_naive_bayes(nothing).tolist() == [0, 0, 0]
    flat = LogTerms.build(codes, [np.zeros((3, 2))] * 3, np.zeros(2), labels)
    assert selective_naive_bayes(flat).tolist() == [0, 0, 0]
    empty = LogTerms.build(np.empty((2, 0)), [], np.zeros(2), [0, 1])
    assert selective_naive_bayes(empty).shape == (0,)
    no_rows = LogTerms.build(np.empty((0, 3)), [np.log([[0.1, 0.9]] * 3)] * 3, np.zeros(2), [])
    assert selective_naive_bayes(no_rows).tolist() == [0, 0, 0]


def test_the_order_of_rows_and_classes_does_not_matter():
    codes, labels, cards = random_rows(7, n=150, d=6)
    plain = selective_naive_bayes(fitted(codes, labels, cards, 2))
    rows = np.random.default_rng(0).permutation(150)
    for other in (
        fitted(codes[rows], labels[rows], cards, 2),
        fitted(codes, 1 - labels, cards, 2),
        fitted(np.repeat(codes, 1, axis=0), labels, cards, 2, np.ones(150)),
    ):
        np.testing.assert_allclose(selective_naive_bayes(other), plain, atol=1e-9)
    twice = fitted(np.repeat(codes, 2, axis=0), np.repeat(labels, 2), cards, 2)
    heavy = fitted(codes, labels, cards, 2, np.full(150, 2.0))
    np.testing.assert_allclose(
        selective_naive_bayes(twice), selective_naive_bayes(heavy), atol=1e-9
    )
    np.testing.assert_array_equal(selective_naive_bayes(fitted(codes, labels, cards, 2)), plain)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_new_rows_are_predicted_better_than_by_naive_bayes(load):
    X, labels = load(return_X_y=True)
    cuts = np.quantile(X, [0.2, 0.4, 0.6, 0.8], axis=0)
    codes = (X[:, :, None] > cuts.T).sum(axis=2)
    train = np.arange(len(labels)) % 2 == 0
    k, d = labels.max() + 1, X.shape[1]
    terms = fitted(codes[train], labels[train], [5] * d, k)
    new = LogTerms.build(codes[~train], terms.tables, terms.log_prior, labels[~train])
    exponents = selective_naive_bayes(terms)
    assert label_cost(new, exponents) < label_cost(new, np.ones(d))
