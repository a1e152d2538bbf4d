"""Rows of log probabilities, against loops."""

import numpy as np
import pytest
from exponent_samples import sample

from bayesgraph.errors import DataError
from bayesgraph.learning.exponents import LogTerms

TABLE = np.log([[0.8, 0.4], [0.2, 0.6]])
PRIOR = np.log([0.5, 0.5])


def test_counts_and_joint():
    terms = sample(0, n=30, d=3, k=3, weighted=True)
    for i, found in enumerate(terms.counts):
        for x, c in np.ndindex(found.shape):
            rows = (terms.codes[:, i] == x) & (terms.labels == c)
            assert found[x, c] == terms.weights[rows].sum()
    np.testing.assert_allclose(terms.class_weights, np.bincount(terms.labels, terms.weights))
    random = np.random.default_rng(1)
    for exponents in (random.random(3), random.random((3, 3))):
        found = terms.log_joint(exponents)
        for n, c in np.ndindex(found.shape):
            expected = terms.log_prior[c]
            for i, x in enumerate(terms.codes[n]):
                if x >= 0:
                    expected += np.broadcast_to(exponents[i], 3)[c] * terms.tables[i][x, c]
            assert found[n, c] == pytest.approx(expected, abs=1e-12)


def test_without_features():
    terms = LogTerms.build(np.empty((2, 0)), [], PRIOR, [0, 1])
    assert terms.counts == ()
    np.testing.assert_array_equal(terms.log_joint([]), np.tile(PRIOR, (2, 1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codes": [[0, 1]]}, r"shape \(1, 1\)"),
        ({"codes": [[2]]}, "feature 0 must be from -1"),
        ({"codes": [[-2]]}, "feature 0 must be from -1"),
        ({"tables": [TABLE[:, :1]]}, "number of states, 2"),
        ({"tables": [np.array([[0.0, -1.0], [-np.inf, -1.0]])]}, "must be finite: an exponent"),
        ({"labels": [2]}, "labels must be codes from 0 to 1"),
        ({"labels": [-1]}, "Leave rows without a label out"),
        ({"weights": [1.0, 1.0]}, "weights must have shape"),
        ({"weights": [-1.0]}, "not negative"),
        ({"log_prior": [0.0, -np.inf], "labels": [1]}, "log_prior must be finite"),
    ],
)
def test_what_does_not_belong_together(change, message):
    given = {"codes": [[0]], "tables": [TABLE], "log_prior": PRIOR, "labels": [0], "weights": [1.0]}
    with pytest.raises(DataError, match=message):
        LogTerms.build(**(given | change))
