"""Rows of log probabilities, against loops."""

import numpy as np
import pytest
from exponent_samples import sample

from bayesgraph.core.errors import DataError
from bayesgraph.learning.exponents import LogTerms

PRIOR = np.log([0.5, 0.5])


def test_counts():
    terms = sample(0, n=30, d=3, k=3, weighted=True)
    for i, found in enumerate(terms.counts):
        for x, c in np.ndindex(found.shape):
            rows = (terms.codes[:, i] == x) & (terms.labels == c)
            assert found[x, c] == terms.weights[rows].sum()


def test_without_features():
    terms = LogTerms.build(np.empty((2, 0)), [], PRIOR, [0, 1])
    assert terms.counts == ()


def test_impossible_values_are_refused():
    table = np.array([[0.0, -1.0], [-np.inf, -1.0]])
    with pytest.raises(DataError, match="must be finite: an exponent"):
        LogTerms.build([[0]], [table], PRIOR, [0])
