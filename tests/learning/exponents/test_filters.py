"""Filters, against scikit-learn, definitions and hand-worked numbers."""

import math

import numpy as np
import pytest
from exponent_samples import label_cost, sample
from sklearn.metrics import mutual_info_score

from bayesgraph.errors import DataError
from bayesgraph.learning.exponents import FILTERS, LogTerms, filter_exponents
from bayesgraph.learning.exponents.filters import (
    conditional_likelihood,
    description_length,
    gain_ratio,
    mutual_information,
    scaled_to_mean,
)

# Quinlan's weather: outlook (sunny, overcast, rain) and windy (true, false) by play, don't play.
OUTLOOK = np.array([[2.0, 3.0], [4.0, 0.0], [3.0, 2.0]])
WINDY = np.array([[3.0, 3.0], [6.0, 2.0]])


def test_information_of_the_weather():
    bits = mutual_information([OUTLOOK, WINDY]) / math.log(2)
    np.testing.assert_allclose(bits, [0.2467, 0.0481], atol=5e-5)
    np.testing.assert_allclose(gain_ratio([OUTLOOK, WINDY]), [0.1564, 0.0488], atol=5e-5)


def test_information_of_scikit_learn():
    terms = sample(3, n=80, d=5, k=3)
    expected = []
    for column in terms.codes.T:
        seen = column >= 0
        expected.append(mutual_info_score(terms.labels[seen], column[seen]))
    np.testing.assert_allclose(mutual_information(terms.counts), expected, atol=1e-12)


def test_description_length_by_hand():
    # 14 rows: 14!/(9! 5!) orders of the classes and C(15, 1) frequencies, less those of each state.
    before = math.log(math.comb(14, 5) * 15)
    after = math.log(math.comb(5, 2) * 6) * 2 + math.log(math.comb(4, 0) * 5)
    expected = max(0.0, before - after) / 14
    assert description_length([OUTLOOK])[0] == pytest.approx(expected, abs=1e-12)
    sharp = np.array([[50.0, 0.0], [0.0, 50.0]])
    saved = math.log(math.comb(100, 50) * 101) - 2 * math.log(51)
    assert description_length([sharp])[0] == pytest.approx(saved / 100)
    # States that tell nothing cost what describing them costs.
    assert description_length([np.full((4, 2), 5.0)])[0] == 0


def test_conditional_likelihood_is_that_of_one_feature():
    terms = sample(1, n=90, d=4, k=3, missing=0.0, weighted=True)
    found = conditional_likelihood(terms.counts, terms.tables, terms.log_prior)
    for i in range(4):
        alone = LogTerms.build(
            terms.codes[:, i : i + 1],
            terms.tables[i : i + 1],
            terms.log_prior,
            terms.labels,
            terms.weights,
        )
        gain = (label_cost(alone, [0.0]) - label_cost(alone, [1.0])) / terms.weights.sum()
        assert found[i] == pytest.approx(max(gain, 0.0), abs=1e-12)


@pytest.mark.parametrize("name", FILTERS)
def test_exponents_are_one_in_the_mean(name):
    terms = sample(0, n=300, d=6)
    found = filter_exponents(terms, name)
    assert found.mean() == pytest.approx(1)
    assert found[0] == found.max()
    assert found[-1] == found.min() >= 0
    nothing = LogTerms.build(np.zeros((4, 2)), [np.zeros((1, 2))] * 2, np.zeros(2), [0, 1, 0, 1])
    assert filter_exponents(nothing, name).tolist() == [0, 0]
    empty = LogTerms.build(np.empty((2, 0)), [], np.zeros(2), [0, 1])
    assert filter_exponents(empty, name).shape == (0,)


def test_scaling_of_tiny_scores():
    np.testing.assert_allclose(scaled_to_mean(np.array([1.0, 3.0]) * 1e-308), [0.5, 1.5])


def test_unknown_filter():
    with pytest.raises(DataError, match="filter= is one of"):
        filter_exponents(sample(0), "chi2")
