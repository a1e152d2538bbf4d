"""Exponents of the highest conditional likelihood, against differences and limits."""

import numpy as np
import pytest
from exponent_samples import log_joint

from bayesgraph.learning import SCHEMES
from bayesgraph.learning.exponents import Exponents, LogTerms, conditional_exponents


def terms_of(codes, labels, weights=None, n_classes=2):
    """Return the terms of a naive Bayes with Laplace's rule."""
    codes, labels = np.asarray(codes), np.asarray(labels)
    weights = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=float)
    tables = []
    for column in codes.T:
        counts = np.ones((column.max() + 1, n_classes))
        np.add.at(counts, (column[column >= 0], labels[column >= 0]), weights[column >= 0])
        tables.append(np.log(counts / counts.sum(axis=0)))
    prior = np.bincount(labels, weights, n_classes)
    return LogTerms.build(codes, tables, np.log(prior / prior.sum()), labels, weights)


def sample(seed=0, n=300, d=4, n_classes=3):
    random = np.random.default_rng(seed)
    labels = random.integers(n_classes, size=n)
    noise = random.integers(4, size=(n, d))
    codes = np.where(random.random((n, d)) < 0.5, labels[:, None], noise)
    codes[random.random((n, d)) < 0.1] = -1
    return codes, labels


def log_likelihood(terms, exponents):
    scores = log_joint(terms, exponents.values) + exponents.bias
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return terms.weights @ scores[np.arange(terms.n_rows), terms.labels]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_step_raises_the_likelihood(scheme):
    terms = terms_of(*sample(), n_classes=3)
    found = conditional_exponents(terms, scheme)

    def penalised(values):
        # Of all shared exponents the mean leaves the least deviations, whose weight is ten rows.
        own = values - values.mean(axis=-1, keepdims=True) if scheme == "mixed" else np.zeros(1)
        penalty = found.bias @ found.bias / 2 + 5.0 * np.sum(own**2)
        return log_likelihood(terms, Exponents(values, found.bias)) - penalty

    best = penalised(found.values)
    for at in np.ndindex(found.values.shape):
        for step in (-0.05, 0.05):
            values = found.values.copy()
            values[at] = np.clip(values[at] + step, 0, 1)
            assert penalised(values) <= best + 1e-6


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_simpler_is_more_likely(scheme):
    terms = terms_of(*sample(), n_classes=3)
    found = conditional_exponents(terms, scheme)
    assert found.values.min() >= 0.0
    assert found.values.max() <= 1.0
    for value in (0.0, 0.5, 1.0):
        simple = Exponents(np.full(terms.n_features, value), np.zeros(3))
        assert log_likelihood(terms, found) > log_likelihood(terms, simple) - 1e-6


def test_copies_of_a_feature_share_its_exponent():
    codes, labels = sample(d=1, n_classes=2)
    alone = conditional_exponents(terms_of(codes, labels)).values
    twice = conditional_exponents(terms_of(np.repeat(codes, 2, axis=1), labels)).values
    assert twice.sum() == pytest.approx(alone.sum(), rel=0.05)


def test_what_tells_nothing_has_no_exponent():
    codes, labels = sample(d=2, n_classes=2)
    constant = np.zeros((len(labels), 1), dtype=int)
    found = conditional_exponents(terms_of(np.hstack([codes, constant]), labels)).values
    assert found[2] == 0.0
    assert found[:2].min() > 0.1


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_weight_of_two_is_a_row_twice(scheme):
    codes, labels = sample(n=80)
    weights = np.random.default_rng(2).integers(1, 3, size=80)
    rows = np.repeat(np.arange(80), weights)
    one = conditional_exponents(terms_of(codes, labels, weights, 3), scheme)
    other = conditional_exponents(terms_of(codes[rows], labels[rows], n_classes=3), scheme)
    np.testing.assert_allclose(one.values, other.values, atol=1e-4)
