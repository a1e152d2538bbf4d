"""Numbers to codes of intervals, compiled, against NumPy."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataError
from bayesgraph.tables import Encoder, columns_of, encode_table


def variables(random):
    """Return variables of no cut, few and many, two of them with cuts where values are."""
    cuts = [
        [],
        [0.0],
        np.sort(random.normal(size=7)),
        np.sort(random.normal(size=200)),
        [-0.5, 0.5],
    ]
    return [bg.Binned(f"v{j}", c) for j, c in enumerate(cuts)]


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000, 200_000])
def test_codes_are_those_of_searchsorted(n):
    random = np.random.default_rng(n)
    known = variables(random)
    matrix = random.normal(size=(n, 5))
    matrix[random.random((n, 5)) < 0.1] = np.nan
    matrix[::3, 4] = 0.5  # on a cut, which belongs to the interval below
    for ordered in (matrix, np.asfortranarray(matrix), matrix[:, ::-1][:, ::-1]):
        codes = Encoder(tuple(known)).table(ordered, "warn").codes
        assert codes.dtype == np.int16
        assert codes.flags.f_contiguous
        for j, variable in enumerate(known):
            np.testing.assert_array_equal(codes[:, j], variable.codes(matrix[:, j]))


def test_a_table_knows_whether_it_is_complete():
    encoder = Encoder((bg.Binned("a", [1.0]),))
    assert encoder.table(np.array([[0.0], [2.0]]), "warn").complete
    gone = encoder.table(np.array([[0.0], [np.nan]]), "warn")
    assert not gone.complete
    assert gone.codes.tolist() == [[0], [-1]]


def test_infinity_is_refused_with_its_place():
    known = bg.Binned("a", [1.0]), bg.Binned("b", [1.0])
    matrix = np.array([[0.0, 1.0], [np.nan, 0.0], [0.0, -np.inf]])
    assert Encoder(known).table(matrix, "warn") is None
    with pytest.raises(DataError, match="'b' has infinity in row 2"):
        encode_table(columns_of(matrix, ["a", "b"]), known, unseen="warn")
