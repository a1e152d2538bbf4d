from itertools import pairwise

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, softmax

from bayesgraph.learning.loglinear import kernels
from bayesgraph.learning.loglinear.trees import _RIDGE


@pytest.fixture
def random():
    return np.random.default_rng(0)


@pytest.mark.parametrize("k", [2, 3, 30])
def test_scores_are_the_bias_and_the_effects_of_the_cells(random, k):
    cells = random.integers(-1, 9, size=(30, 8)).astype(np.int32)
    effects, bias = random.normal(size=(10, k)), random.normal(size=k)
    effects[9] = 0.0
    out = np.full((30, k), np.nan)
    kernels.add_scores(5, 30, cells, effects, bias, out)
    expected = bias + np.where((cells >= 0)[..., None], effects[cells], 0.0).sum(axis=1)
    np.testing.assert_allclose(out[5:], expected[5:])
    assert np.isnan(out[:5]).all()


def test_loss_and_residuals(random):
    scores, labels = 300 * random.normal(size=(30, 4)), random.integers(4, size=30)
    weights = random.uniform(0.1, 2.0, size=30)
    residuals = scores.copy()
    kernels.subtract_maximum(residuals)
    loss = kernels.loss_and_residuals(residuals, np.exp(residuals), labels, weights)
    logs = log_softmax(scores, axis=1)[np.arange(30), labels]
    assert loss == pytest.approx(-weights @ logs)
    expected = weights[:, None] * (softmax(scores, axis=1) - np.eye(4)[labels])
    np.testing.assert_allclose(residuals, expected, atol=1e-14)


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_effects_are_normalised(random, scale):
    starts, prior = np.array([0, 4, 5, 9]), np.array([0.5, 0.5 - 1e-12, 1e-12])
    share, phi = random.random(9) + 0.1, scale * random.normal(size=(9, 3))
    cells, within = phi.copy(), np.empty((9, 3))
    kernels.subtract_maximum(cells)
    np.testing.assert_array_equal(cells, phi - phi.max(axis=1, keepdims=True))
    across = np.exp(cells)
    kernels.normalise(starts, share, prior, cells, across, within)
    by_class = log_softmax(phi + np.log(prior), axis=1)
    np.testing.assert_allclose(across, np.exp(by_class), atol=1e-15)
    for begin, end in pairwise(starts):
        mass = (by_class - np.log(prior) + np.log(share)[:, None])[begin:end]
        np.testing.assert_allclose(within[begin:end], softmax(mass, axis=0), atol=1e-15)
        own = mass - logsumexp(mass, axis=0) - np.log(share[begin:end])[:, None]
        np.testing.assert_allclose(cells[begin:end], own, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 30])
def test_residuals_of_cells(random, k):
    cells = random.integers(-1, 9, size=(30, 8)).astype(np.int32)
    residuals, out = random.normal(size=(30, k)), np.zeros((10, k))
    kernels.add_residuals(cells, residuals, out)
    expected = np.zeros((10, k))
    np.add.at(expected, cells, residuals[:, None])
    np.testing.assert_allclose(out[:9], expected[:9])


def test_gains_of_pairs(random):
    cards = np.array([3, 1, 2, 4])
    groups = np.asfortranarray(random.integers(-1, cards, size=(50, 4)).astype(np.int32))
    residuals, spreads = random.normal(size=(50, 3)), random.random((50, 3))
    out = np.zeros((4, 4))
    kernels.pair_gains(0, 4, groups, cards, residuals, spreads, _RIDGE, out)
    for i in range(4):
        for j in range(4):
            expected = 0.0
            for a in range(cards[i]):
                for b in range(cards[j]):
                    here = (groups[:, i] == a) & (groups[:, j] == b)
                    total, spread = residuals[here].sum(axis=0), spreads[here].sum(axis=0)
                    expected += (total**2 / (spread + _RIDGE)).sum()
            one_sided = cards[i] == 1 or cards[j] == 1
            np.testing.assert_allclose(out[i, j], 0.0 if one_sided or i == j else expected)
