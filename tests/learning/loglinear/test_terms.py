import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loglinear_rows import make_sample, random_parameters

from bayesgraph.core import Binned
from bayesgraph.learning.loglinear.terms import Terms, _polynomials, view_of
from bayesgraph.learning.loglinear.training import Effects, Normalised

PAIRS = ((0, 1), (1, 2))


@given(st.integers(0, 10_000))
def test_factors_average_one_for_each_class_over_the_cells_of_a_table(seed):
    sample = make_sample(seed=seed)
    terms = Terms.of(sample.views, PAIRS)
    model = Normalised.of(terms, random_parameters(terms, 3, seed), sample.prior)
    factors = terms.share[:, None] * np.exp(model.effects.cells)
    np.testing.assert_allclose(np.add.reduceat(factors, terms.starts[:-1]), 1.0)
    np.testing.assert_allclose(model.across.sum(axis=1), 1.0)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_gradient_equals_finite_differences(missing):
    sample = make_sample(missing=missing)
    terms = Terms.of(sample.views, PAIRS)
    rows, prior = sample.rows(terms), sample.prior
    model = random_parameters(terms, 3)

    def loss(parameters):
        return rows.loss_and_gradient(Normalised.of(terms, parameters, prior).effects)[0]

    normalised = Normalised.of(terms, model, prior)
    _, by_effects, by_bias = rows.loss_and_gradient(normalised.effects)
    gradient = normalised.gradient(terms, by_effects, by_bias)
    random = np.random.default_rng(1)
    for _ in range(20):
        way = random.normal(size=model.shape)
        ahead, behind = loss(model + 1e-6 * way), loss(model - 1e-6 * way)
        assert (ahead - behind) / 2e-6 == pytest.approx(np.sum(gradient * way), rel=1e-6)


def test_cells_of_rows():
    sample = make_sample((2, 3), binned=())
    terms = Terms.of(sample.views, ((0, 1),))
    cells = terms.rows(np.array([[0, 0], [1, 2], [-1, 1], [0, -1]]))
    np.testing.assert_array_equal(cells, [[0, 2, 5], [1, 4, 10], [-1, 3, -1], [0, -1, -1]])


def test_features_of_one_state_have_no_parameters():
    sample = make_sample((2, 1, 3), binned=())
    terms = Terms.of(sample.views, PAIRS)
    np.testing.assert_array_equal(terms.live, [True, False, True, False, False])
    assert terms.n_single == terms.n_parameters == terms.loadings.shape[1] == 5
    assert (terms.rows(sample.codes)[:, [1, 3, 4]] == -1).all()


def test_intervals_have_cosines_of_their_ranks_and_a_slope():
    sample = make_sample((20,), n_rows=400, binned=(0,))
    (view,) = sample.views
    terms = Terms.of(sample.views, ())
    assert terms.n_parameters == 16
    loadings = (terms.loadings.outer @ terms.loadings.inner).toarray()
    np.testing.assert_allclose(view.share @ loadings, 0.0, atol=1e-9)
    rank = np.cumsum(view.share) - view.share / 2
    third = np.sqrt(2.0) * np.cos(3.0 * np.pi * rank) / 3.0
    np.testing.assert_allclose(loadings[:, 2], third - view.share @ third)
    np.testing.assert_array_equal(loadings[:, 16], view.position)


@pytest.mark.parametrize("n_states", [2, 3, 5, 8])
def test_few_intervals_have_any_effects(n_states):
    sample = make_sample((n_states,), n_rows=400, binned=(0,))
    basis = np.column_stack([np.ones(n_states), sample.views[0].basis])
    assert basis.shape == (n_states, n_states)
    assert np.linalg.matrix_rank(basis) == n_states


def test_effects_of_neighbouring_intervals_are_drawn_to_each_other():
    """The penalty is that of the squared differences of a function of the rank, without a mean."""
    view = view_of(Binned("x", range(1, 400)), np.full(400, 10.0))
    basis = view.basis
    squares = 400 * np.diff(basis, axis=0).T @ np.diff(basis, axis=0)
    np.testing.assert_allclose(squares, np.pi**2 * np.eye(16), atol=0.2)


def test_pairs_of_measurements_have_products_of_polynomials():
    sample = make_sample((30, 3), n_rows=600, binned=(0,))
    view, other = sample.views
    weight = np.bincount(view.grid, view.share)
    mean = np.bincount(view.grid, view.share * view.position) / weight
    assert view.products.shape == (16, 3)
    basis = np.column_stack([np.ones(16), view.products * [1, 2, 3]])
    np.testing.assert_allclose(basis.T @ (weight[:, None] * basis), np.eye(4), atol=1e-6)
    for degree in (1, 2, 3):
        column = view.products[:, degree - 1]
        np.testing.assert_allclose(
            np.polyval(np.polyfit(mean, column, degree), mean), column, atol=1e-6
        )
    terms = Terms.of(sample.views, ((0, 1),))
    whole = (terms.loadings.outer @ terms.loadings.inner).toarray()
    loadings = whole[terms.starts[2] :, terms.n_single : terms.n_parameters]
    expected = np.einsum("ik,jl->ijkl", view.products, other.products).reshape(48, 9)
    np.testing.assert_array_equal(loadings, expected)


def test_polynomials_of_few_or_equal_positions_have_a_lower_degree():
    two = make_sample((2,), n_rows=50, binned=(0,)).views[0]
    assert two.products.shape == (2, 1)
    position = np.array([-1.0, -1.0, 1.0, 1.0])
    equal = _polynomials(position, np.full(4, 0.25), np.arange(4))
    np.testing.assert_allclose(np.abs(equal), 1.0)
    assert equal.shape == (4, 1)


def test_a_mixture_adds_up_scores():
    sample = make_sample()
    star, tree = Terms.of(sample.views, ()), Terms.of(sample.views, PAIRS)
    one = Normalised.of(star, random_parameters(star, 3, 1), sample.prior).effects
    two = Normalised.of(tree, random_parameters(tree, 3, 2), sample.prior).effects
    mixed = Effects.mixed(tree, [(0.3, one), (0.6, two)])
    expected = 0.3 * sample.rows(star).scores(one) + 0.6 * sample.rows(tree).scores(two)
    np.testing.assert_allclose(sample.rows(tree).scores(mixed), expected)
