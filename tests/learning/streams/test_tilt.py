"""Smooth densities: the tilt of a class is the one that its means ask for, however far it is."""

import numpy as np
import pytest
from large_scale import GaussianConcept
from scipy.special import softmax
from scipy.stats import norm

import bayesgraph as bg
from bayesgraph.learning.streams import stream_kernels as kernels


@pytest.mark.parametrize("degree", [1, 2, 4, 8])
def test_means_of_a_strong_tilt_give_it_back(degree):
    rng = np.random.default_rng(degree)
    for _ in range(20):
        share = rng.gamma(0.3, size=100) + 1e-6
        share /= share.sum()
        basis = np.empty((degree, 100))
        place = norm.ppf(np.cumsum(share) - share / 2)
        assert kernels._polynomials(share, place, basis) == degree
        truth = softmax(np.log(share) + rng.normal(scale=2.0, size=degree) @ basis)
        found = np.empty(100)
        kernels._tilt(basis @ truth, 1e9, share, basis, found)
        assert np.abs(found - truth).sum() < 0.01


def test_classes_that_differ_much_in_variance_stay_apart():
    # Newton's method overshot here, and what it had then was taken for the density.
    spread = GaussianConcept(np.array([0.0, 1.0]), np.array([3.0, 0.0]))
    X, y = spread.draw(20_000, 1)
    shares = []
    for options in ({"decay": 0.999}, {"size": 400}):
        found, _ = bg.StreamingNaiveBayesClassifier(**options).test_then_train(X, y)
        shares += [np.mean((found == y)[-k:]) for k in (9000, 3000)]
    optimum = np.mean((spread.log_odds(X) > 0) == y)
    assert min(shares) > optimum - 0.02


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_systems_of_newtons_method_are_solved(n):
    root = np.random.default_rng(n).normal(size=(n, n + 1))
    matrix, right = root @ root.T + 0.1 * np.eye(n), np.arange(1.0, n + 1)
    found = right.copy()
    kernels._solve(matrix.copy(), found)
    assert found == pytest.approx(np.linalg.solve(matrix, right))
