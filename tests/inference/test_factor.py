"""Laws of discrete factors, held by hypothesis against plain numpy arrays."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import bayesgraph as bg
from bayesgraph.core.arrays import MAX, SUM, log_sum_exp
from bayesgraph.core.errors import CPDError
from bayesgraph.inference import Factor, align, take_codes
from bayesgraph.inference.factors import union_scope

POOL = [bg.Discrete(name, range(size)) for name, size in zip("abcde", (2, 3, 1, 4, 2), strict=True)]
NUMBERS = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))


@st.composite
def factors(draw, pool=tuple(POOL), most=3):
    scope = draw(st.lists(st.sampled_from(pool), max_size=most, unique=True))
    shape = tuple(v.cardinality for v in scope)
    return Factor(scope, draw(arrays.arrays(np.float64, shape, elements=NUMBERS)))


def dense(factor, scope=tuple(POOL)):
    """Return the values over the whole pool, written out with einsum-free indexing."""
    table = np.empty([v.cardinality for v in scope])
    for cell in np.ndindex(table.shape):
        codes = dict(zip(scope, cell, strict=True))
        table[cell] = factor.values[tuple(codes[v] for v in factor.scope)]
    return table


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=0)


# -------------------------------------------------------------------------------------- laws


@given(factors(), factors())
def test_multiplication_is_that_of_the_numbers_and_commutes(f, g):
    close(dense(f * g), dense(f) * dense(g))
    close(dense(f * g), dense(g * f))
    assert (f * g).scope == union_scope([f.scope, g.scope])


@given(factors(most=2), factors(most=2), factors(most=2))
def test_multiplication_is_associative(f, g, h):
    close(dense((f * g) * h), dense(f * (g * h)))


@given(factors())
def test_the_empty_factor_is_the_unit(f):
    close((f * Factor([], 1.0)).values, f.values)
    close((Factor([], 1.0) * f).values, f.values)


@given(factors(), st.permutations(range(3)))
def test_the_order_of_summing_out_does_not_matter(f, order):
    left = f
    for i in order:
        if i < len(f.scope):
            left = left.eliminate(f.scope[i], SUM)
    assert left.scope == ()
    close(left.values, f.values.sum())


@given(factors())
def test_eliminating_is_summing_or_maximising_an_axis(f):
    for axis, variable in enumerate(f.scope):
        close(f.eliminate(variable, SUM).values, f.values.sum(axis=axis))
        close(f.eliminate(variable, MAX).values, f.values.max(axis=axis))
        rest = f.scope[:axis] + f.scope[axis + 1 :]
        assert f.eliminate(variable, SUM).scope == rest


@given(factors(most=3), st.data())
def test_marginal_has_the_axes_asked_for(f, data):
    keep = data.draw(st.permutations(f.scope).map(lambda p: p[: data.draw(st.integers(0, 3))]))
    got = f.marginal(keep)
    assert got.scope == tuple(keep)
    summed = f.values.sum(axis=tuple(i for i, v in enumerate(f.scope) if v not in keep))
    left = [v for v in f.scope if v in keep]
    close(got.values, summed.transpose([left.index(v) for v in keep]))


@given(factors(), factors())
def test_summing_out_moves_past_factors_without_the_variable(f, g):
    for variable in f.scope:
        if variable not in g.scope:
            first = f.eliminate(variable, SUM) * g
            last = (f * g).eliminate(variable, SUM)
            scope = [v for v in POOL if v != variable]
            close(dense(first, scope), dense(last, scope))


@given(factors(), factors())
def test_division_undoes_multiplication(f, g):
    numerator, denominator = dense(f * g), dense(g)
    expected = np.where(denominator == 0, 0.0, dense(f))
    got = dense((f * g) / g)
    close(got, np.where(numerator == 0, 0.0, expected))


@given(factors(), st.floats(0, 3))
def test_power_by_a_number(f, exponent):
    close((f**exponent).values, f.values**exponent)  # numpy, too, has 0 ** 0 = 1


@given(factors(), st.floats(0, 2), st.floats(0, 2))
def test_powers_add(f, a, b):
    close(((f**a) * (f**b)).values, (f ** (a + b)).values)


@given(factors(), st.data())
def test_power_by_an_array(f, data):
    shape = f.values.shape
    exponent = data.draw(arrays.arrays(np.float64, shape, elements=st.floats(0, 3)))
    close((f**exponent).values, f.values**exponent)
    if shape:
        close(
            (f ** exponent[(0,) * (len(shape) - 1)]).values,
            f.values ** exponent[(0,) * (len(shape) - 1)],
        )


@given(factors(), st.data())
def test_taking_codes_row_by_row(f, data):
    for axis, variable in enumerate(f.scope):
        codes = data.draw(
            arrays.arrays(np.int64, 4, elements=st.integers(0, variable.cardinality - 1))
        )
        rows = f.take(variable, codes)
        assert rows.n_rows == 4
        for row, code in enumerate(codes):
            close(np.exp(rows.log_values[row]), f.values.take(code, axis=axis))


# ------------------------------------------------------------------------------------- rows


def test_rows_multiply_and_broadcast():
    a, b = POOL[0], POOL[1]
    random = np.random.default_rng(0)
    rows = random.random((5, 2, 3))
    batch = Factor.from_log([a, b], np.log(rows))
    single = Factor([b], [1.0, 2.0, 3.0])
    product = batch * single
    assert product.n_rows == 5
    close(product.values, rows * [1.0, 2.0, 3.0])
    close((single * batch).values, (rows * [1.0, 2.0, 3.0]).transpose(0, 2, 1))
    close(product.eliminate(a, SUM).values, (rows * [1.0, 2.0, 3.0]).sum(axis=1))
    codes = np.array([0, 1, 1, 0, 1])
    close(batch.take(a, codes).values, rows[np.arange(5), codes])


def test_take_codes_of_several_variables_and_trailing_axes():
    a, b, d = POOL[0], POOL[1], POOL[3]
    random = np.random.default_rng(1)
    values = random.random((1, 2, 3, 4, 2))
    codes = [np.array([3, 0, 1]), np.array([1, 0, 1])]
    rest, taken = take_codes([a, b, d], values, [d, a], codes)
    assert rest == (b,)
    assert taken.shape == (3, 3, 2)
    for row in range(3):
        close(taken[row], values[0, codes[1][row], :, codes[0][row]])
    rest, taken = take_codes([a], np.zeros((1, 2, 0)), [a], [np.array([0, 1, 1])])
    assert rest == ()
    assert taken.shape == (3, 0)
    assert take_codes([a], values, [], [])[1] is values


def test_align():
    a, b, d = POOL[0], POOL[1], POOL[3]
    values = np.random.default_rng(2).random((2, 2, 3, 7))
    got = align(values, [a, b], [b, d, a])
    assert got.shape == (2, 3, 1, 2, 7)
    close(got[:, :, 0], values.transpose(0, 2, 1, 3))


@given(
    arrays.arrays(np.float64, (3, 4), elements=st.one_of(st.just(-np.inf), st.floats(-1e3, 1e3)))
)
def test_log_sum_exp(values):
    with np.errstate(divide="ignore"):
        expected = [
            -math.inf if (m := row.max()) == -np.inf else m + math.log(np.exp(row - m).sum())
            for row in values
        ]
    np.testing.assert_allclose(log_sum_exp(values, 1), expected, rtol=1e-12)
    whole = log_sum_exp(values, (0, 1))
    np.testing.assert_allclose(whole, log_sum_exp(values.reshape(1, -1), 1)[0], rtol=1e-12)


def test_log_sum_exp_of_numbers_that_overflow():
    assert log_sum_exp(np.array([[1000.0, 1000.0]]), 1)[0] == pytest.approx(1000 + math.log(2))
    assert log_sum_exp(np.array([[-1e5, -1e5]]), 1)[0] == pytest.approx(-1e5 + math.log(2))


# ------------------------------------------------------------------------------------ errors


def test_inputs_are_left_alone():
    values = np.array([1.0, 2.0])
    factor = Factor([POOL[0]], values)
    values[0] = 9.0
    close(factor.values, [1.0, 2.0])
    other = factor**2 * factor
    close(factor.values, [1.0, 2.0])
    close(other.values, [1.0, 8.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.1])
def test_numbers_that_are_refused_are_named_with_their_cell(bad):
    with pytest.raises(CPDError, match=r"non-negative.* at 'a'=1, 'b'=2"):
        Factor(POOL[:2], [[1, 1, 1], [1, 1, bad]])


def test_shapes_that_are_refused():
    with pytest.raises(CPDError, match=r"shape \(2, 3\).*'a', 'b'.*got shape \(3, 2\)"):
        Factor(POOL[:2], np.ones((3, 2)))
    with pytest.raises(CPDError, match="array of numbers"):
        Factor(POOL[:1], ["x", "y"])
    with pytest.raises(CPDError, match="array of numbers"):
        Factor(POOL[:2], [[1, 2, 3], [1]])


def test_scopes_that_are_refused():
    with pytest.raises(CPDError, match="over discrete variables"):
        Factor([bg.Continuous("x")], [1.0])
    with pytest.raises(CPDError, match="over discrete variables"):
        Factor(["a"], [1.0])
    with pytest.raises(CPDError, match="takes a list of variables"):
        Factor(POOL[0], [1.0, 2.0])
    with pytest.raises(CPDError, match="each variable once"):
        Factor([POOL[0], POOL[0]], np.ones((2, 2)))
    with pytest.raises(CPDError, match="each variable once"):
        Factor([bg.Discrete("a", [0]), bg.Discrete("a", [1])], np.ones((1, 1)))


def test_marginal_refuses_variables_that_are_not_there():
    with pytest.raises(ValueError):  # noqa: PT011
        Factor(POOL[:1], [1, 2]).marginal([POOL[1]])
    with pytest.raises(CPDError, match="keeps each variable once"):
        Factor(POOL[:1], [1, 2]).marginal([POOL[0], POOL[0]])


def test_repr():
    assert repr(Factor(POOL[:2], np.ones((2, 3)))) == "Factor(['a', 'b'], shape=(2, 3))"
