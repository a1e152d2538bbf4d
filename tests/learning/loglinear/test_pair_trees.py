import itertools
from dataclasses import replace

import numpy as np
import pytest
from loglinear_rows import make_sample, random_parameters

from bayesgraph.learning.loglinear import trees as pair_trees
from bayesgraph.learning.loglinear.terms import Terms
from bayesgraph.learning.loglinear.training import Normalised
from bayesgraph.learning.loglinear.trees import gains_of, residual_gains, tree_of


def test_a_trained_model_is_not_trained_again(monkeypatch):
    sample = make_sample()
    terms = Terms.of(sample.views, ())
    effects = Normalised.of(terms, random_parameters(terms, 3), sample.prior).effects
    monkeypatch.setattr(pair_trees, "train", None)
    found = residual_gains(sample, alone=(terms, effects))
    residuals, spreads = sample.rows(terms).residuals(effects)
    first, second = (sample.views[j].paired[sample.codes[:, j]] for j in (0, 1))
    expected = 0.0
    for cell in itertools.product(range(first.max() + 1), range(second.max() + 1)):
        own = (first == cell[0]) & (second == cell[1])
        expected += np.sum(residuals[own].sum(0) ** 2 / (spreads[own].sum(0) + pair_trees._RIDGE))
    assert found[0, 1] == pytest.approx(expected)


@pytest.mark.parametrize("measure", ["information", "residual"])
def test_a_pair_that_interacts_has_the_largest_gain(measure):
    sample = make_sample((2, 3, 2, 4), 800, 2, binned=())
    labels = sample.codes[:, 0] ^ sample.codes[:, 2]
    gains = gains_of(replace(sample, labels=labels), measure)
    np.testing.assert_array_equal(gains, gains.T)
    assert np.unravel_index(np.argmax(gains), gains.shape) == (0, 2)
    assert (0, 2) in tree_of(gains)


def test_with_many_pairs_a_part_of_the_rows_is_used(monkeypatch):
    monkeypatch.setattr(pair_trees, "_MAX_STEPS", 1)
    monkeypatch.setattr(pair_trees, "_MIN_ROWS", 20)
    n_rows = []
    pair_gains = pair_trees.kernels.pair_gains

    def counted(first, last, groups, *others):
        n_rows.append(len(groups))
        pair_gains(first, last, groups, *others)

    monkeypatch.setattr(pair_trees.kernels, "pair_gains", counted)
    assert gains_of(make_sample((2, 3, 2), 400), "residual").shape == (3, 3)
    assert set(n_rows) == {20}
