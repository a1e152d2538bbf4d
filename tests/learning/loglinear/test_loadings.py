import numpy as np
import pytest

from bayesgraph.learning.loglinear.terms import Loadings, of_products


@pytest.fixture
def random():
    return np.random.default_rng(0)


@pytest.fixture
def parts(random):
    """The basis of a table, functions of two features, and positions of the first table's cells."""
    basis, first, second = (random.normal(size=shape) for shape in ((5, 2), (3, 2), (4, 3)))
    first[1, 0] = 0.0
    return basis, first, second, random.normal(size=5)


@pytest.fixture
def loadings(parts):
    basis, first, second, position = parts
    nothing = np.empty((2, 0)), 0
    tables = [(basis, 2), nothing, of_products(first, second)]
    return Loadings.of(tables, [position[:, None], np.empty((2, 0)), np.empty((12, 0))])


@pytest.fixture
def expected(parts):
    """The whole matrix: the table, two cells without parameters, the pair; the slope is last."""
    basis, first, second, position = parts
    found = np.zeros((5 + 2 + 12, 2 + 6 + 1))
    found[:5, :2], found[:5, -1] = basis, position
    found[7:, 2:8] = np.kron(first, second)
    return found


def test_the_loadings_of_a_pair_are_products(loadings, expected):
    assert loadings.shape == expected.shape
    np.testing.assert_array_equal((loadings.outer @ loadings.inner).toarray(), expected)


def test_sums_gradient_and_mean_squares(random, loadings, expected):
    parameters, by_sums = random.normal(size=(9, 3)), random.normal(size=(19, 3))
    share = random.random(19)
    np.testing.assert_allclose(loadings.sums(parameters), expected @ parameters, atol=1e-14)
    np.testing.assert_allclose(loadings.gradient(by_sums), expected.T @ by_sums, atol=1e-14)
    np.testing.assert_allclose(loadings.mean_squares(share), share @ expected**2)
