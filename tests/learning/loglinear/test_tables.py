import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loglinear_rows import make_sample, random_parameters
from scipy.special import softmax

import bayesgraph as bg
from bayesgraph.core import Discrete
from bayesgraph.learning.loglinear.learner import _Forest, arc_strengths, to_cpds
from bayesgraph.learning.loglinear.terms import Terms
from bayesgraph.learning.loglinear.training import Normalised, with_share
from bayesgraph.learning.loglinear.trees import tree_of
from bayesgraph.learning.spanning import rooted_forest


@st.composite
def forests(draw):
    """Return the cardinalities of features and pairs of them without a cycle."""
    cards = draw(st.lists(st.integers(1, 7), min_size=1, max_size=5))
    above = [draw(st.integers(-1, j - 1)) for j in range(len(cards))]
    names = draw(st.permutations(range(len(cards))))
    pairs = [(names[a], names[j]) for j, a in enumerate(above) if a >= 0]
    return tuple(cards), tuple((min(p), max(p)) for p in pairs), draw(st.booleans())


def trained(cards, pairs, has_joint, n_classes, seed):
    """Return a model that was not trained, perhaps with a joint table."""
    sample = make_sample(cards, 60, n_classes, binned=(1,), seed=seed)
    terms = Terms.of(sample.views, pairs)
    if has_joint:
        features = tuple(sorted({*range(min(2, len(cards))), *(pairs[0] if pairs else ())}))
        gains = np.zeros((len(cards), len(cards)))
        for at, pair in enumerate(pairs, start=1):
            gains[pair] = at
        terms = Terms.of(sample.views, tree_of(gains, features), features)
    model = Normalised.of(terms, random_parameters(terms, n_classes, seed), sample.prior).effects
    return sample, terms, with_share(sample.rows(terms), model)


@given(forests(), st.integers(1, 4), st.integers(0, 1000))
def test_the_posterior_of_the_network_is_that_of_the_scores(forest, n_classes, seed):
    sample, terms, model = trained(*forest, n_classes, seed)
    target = Discrete("class", range(n_classes))
    cpds = to_cpds(terms, model, target, sample)
    network = bg.BayesianNetwork(cpds)
    expected = softmax(sample.rows(terms).scores(model), axis=1)
    for codes, p in zip(sample.codes[:8], expected, strict=False):
        row = {
            v.variable.name: v.variable.states[c] for v, c in zip(sample.views, codes, strict=True)
        }
        np.testing.assert_allclose(network.query("class", row).probabilities, p, atol=1e-9)


@given(forests(), st.integers(2, 4), st.integers(0, 1000))
def test_each_class_has_its_share(forest, n_classes, seed):
    sample, terms, model = trained(*forest, n_classes, seed)
    cpds = to_cpds(terms, model, Discrete("class", range(n_classes)), sample)
    as_it_is = _Forest.of(terms, model, sample).eliminated(np.zeros(n_classes))[0]
    off = np.abs(np.log(cpds[0].values / sample.share)).sum()
    assert off <= 3 * np.abs(as_it_is - np.log(sample.share)).sum() + 1e-9
    if n_classes == 2:  # of more, few cells may not have the freedom
        np.testing.assert_allclose(cpds[0].values, sample.share, atol=1e-6)


def test_the_slopes_of_the_tilt_equal_finite_differences():
    sample, terms, model = trained((3, 4, 2, 3), ((0, 1), (1, 2)), True, 3, 0)
    forest = _Forest.of(terms, model, sample)
    tilt = np.array([0.3, -0.2, 0.5])
    log_class, tables = forest.eliminated(tilt)
    slopes = forest.slopes(tables)
    slopes -= np.exp(log_class) @ slopes
    for k in range(3):
        ahead, _ = forest.eliminated(tilt + 1e-6 * np.eye(3)[k])
        behind, _ = forest.eliminated(tilt - 1e-6 * np.eye(3)[k])
        np.testing.assert_allclose((ahead - behind) / 2e-6, slopes[:, k], atol=1e-8)


def test_parents_come_first_and_roots_are_the_first_of_their_trees():
    assert rooted_forest(5, [(2, 4), (0, 2), (1, 3)], range(5)) == (
        [None, None, 0, 1, 2],
        [0, 2, 4, 1, 3],
    )


def test_arcs_are_as_strong_as_they_move_the_scores_apart():
    sample, terms, model = trained((2, 3), ((0, 1),), False, 2, 1)
    cpds = to_cpds(terms, model, Discrete("class", range(2)), sample)
    found = arc_strengths(terms, model, cpds)
    assert list(found) == [("class", "x0"), ("class", "x1"), ("x0", "x1")]
    apart = np.abs(model.cells[:, 0] - model.cells[:, 1])[:2]
    assert found["class", "x0"] == pytest.approx(sample.views[0].share @ apart)
