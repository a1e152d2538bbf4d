from dataclasses import replace

import numpy as np
import pytest
from loglinear_rows import make_sample, random_parameters

from bayesgraph.learning.loglinear import pair_trees
from bayesgraph.learning.loglinear.pair_trees import WithoutPairs, gains_of, tree_of
from bayesgraph.learning.loglinear.terms import Terms
from bayesgraph.learning.loglinear.training import Normalised


def test_a_trained_model_is_not_trained_again(monkeypatch):
    sample = make_sample()
    terms = Terms.of(sample.views, ())
    model = random_parameters(terms, 3)
    monkeypatch.setattr(pair_trees, "train", None)
    effects = Normalised.of(terms, model, sample.prior).effects
    found = WithoutPairs(sample, known=(terms, effects)).derivatives
    for one, two in zip(found, sample.rows(terms).residuals(effects), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("measure", ["information", "residual"])
def test_a_pair_that_interacts_has_the_largest_gain(measure):
    sample = make_sample((2, 3, 2, 4), 800, 2, binned=())
    labels = sample.codes[:, 0] ^ sample.codes[:, 2]
    gains = gains_of(WithoutPairs(replace(sample, labels=labels)), measure)
    np.testing.assert_array_equal(gains, gains.T)
    assert np.unravel_index(np.argmax(gains), gains.shape) == (0, 2)
    assert (0, 2) in tree_of(gains)


def test_with_many_pairs_a_part_of_the_rows_is_used(monkeypatch):
    monkeypatch.setattr(pair_trees, "_MAX_STEPS", 1)
    monkeypatch.setattr(pair_trees, "_MIN_ROWS", 20)
    alone = WithoutPairs(make_sample((2, 3, 2), 400))
    assert len(alone.rows.labels) == 20
    assert alone.derivatives[0].shape == (20, 3)
    assert gains_of(alone, "residual").shape == (3, 3)
