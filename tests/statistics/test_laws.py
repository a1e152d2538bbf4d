"""Statistics are a monoid: any order and any chunking of the rows gives the same."""

import itertools

import numpy as np
import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st

import bayesgraph as bg
from bayesgraph.core.errors import DataError
from bayesgraph.statistics import Families, Family, Pairs, Singles, Statistics


def collect(sample):
    return Statistics.collect(sample.table, sample.requests(), sample.weights)


def check(one, other, sample):
    exact = not len(sample.weights) or (sample.weights % 1 == 0).all()
    assert one.summaries.keys() == other.summaries.keys()
    for request in one.summaries:
        samples.assert_same(
            one.summaries[request], other.summaries[request], sample, exact_counts=exact
        )


@given(samples.samples(), st.lists(st.integers(0, 40), max_size=4))
def test_chunks_add_up_to_the_whole(sample, cuts):
    cuts = sorted({min(cut, sample.table.n_rows) for cut in cuts})
    edges = [0, *cuts, sample.table.n_rows]
    chunks = [collect(sample.rows(slice(a, b))) for a, b in itertools.pairwise(edges)]
    total = Statistics()
    for chunk in chunks:
        total = total + chunk
    check(total, collect(sample), sample)
    backwards = Statistics()
    for chunk in reversed(chunks):
        backwards = chunk + backwards
    check(backwards, collect(sample), sample)


@given(samples.samples(), st.integers(0, 2**16))
def test_row_order_does_not_matter(sample, seed):
    order = np.random.default_rng(seed).permutation(sample.table.n_rows)
    check(collect(sample.rows(order)), collect(sample), sample)


@given(samples.samples(n=30), st.integers(0, 30), st.integers(0, 30))
def test_addition_is_associative(sample, i, j):
    i, j = sorted((i, j))
    a, b, c = (collect(sample.rows(slice(*edge))) for edge in ((0, i), (i, j), (j, 30)))
    check((a + b) + c, a + (b + c), sample)


@given(samples.samples())
def test_the_empty_element(sample):
    whole, nothing = collect(sample), Statistics()
    check(whole + nothing, whole, sample)
    check(nothing + whole, whole, sample)
    assert not (nothing + nothing).summaries
    no_rows = collect(sample.rows(slice(0, 0)))
    check(whole + no_rows, whole, sample)
    check(no_rows + whole, whole, sample)


@given(samples.samples(weighted="whole"))
def test_weights_are_repetitions(sample):
    repeated = sample.rows(np.repeat(np.arange(sample.table.n_rows), sample.weights.astype(int)))
    plain = Statistics.collect(repeated.table, sample.requests(), np.empty(0))
    check(collect(sample), plain, sample)


@given(samples.samples(weighted=None))
def test_weights_of_one_change_nothing(sample):
    ones = Statistics.collect(sample.table, sample.requests(), np.ones(sample.table.n_rows))
    check(ones, collect(sample), sample)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_many_chunks(missing, offset):
    sample = samples.make_sample(0, 20_000, missing=missing, offset=offset)
    total = Statistics()
    for at in range(0, 20_000, 997):
        total = total + collect(sample.rows(slice(at, at + 997)))
    check(total, collect(sample), sample)


def test_statistics_of_other_requests_do_not_add():
    sample = samples.make_sample(0, 10)
    one, other = (
        Statistics.collect(sample.table, [request], np.empty(0))
        for request in (Singles(sample.columns), Pairs(sample.columns))
    )
    with pytest.raises(DataError, match="same requests"):
        one + other
    more_states = samples.make_sample(0, 10, cards=(2, 3, 3))
    third = Statistics.collect(more_states.table, [Singles(more_states.columns)], np.empty(0))
    with pytest.raises(DataError, match="same variables"):
        one + third


# -------------------------------------------------------- what covers what, and says the same


def families_of(sample):
    """Yield families of up to two columns, with and without the given variable, in all orders."""
    given, columns = sample.given, sample.columns
    yield Family.of(given)
    for a in columns:
        yield from (Family.of(a), Family.of(given, a), Family.of(a, given))
        for b in columns:
            if a != b:
                yield from (Family.of(a, b), Family.of(given, a, b), Family.of(a, given, b))
                yield Family.of(b, a, given)


@given(samples.samples(offset=0.0, spread=1.0, n=25))
def test_covered_families_equal_those_counted_directly(sample):
    families = list(dict.fromkeys(families_of(sample)))
    direct = Statistics.collect(sample.table, [Families(tuple(families))], sample.weights)
    direct = direct.summaries[Families(tuple(families))]
    covered = {}
    for request, summary in collect(sample).summaries.items():
        if isinstance(request, Families):
            continue
        covered[request] = [f for f in families if summary.family(f)]
        for family in covered[request]:
            found = summary.family(family)
            assert found.counts.shape == tuple(v.cardinality for v in family.discrete)
            assert found.mean.shape == (*found.counts.shape, len(family.continuous))
            samples.assert_same(found, direct.family(family), sample, exact_counts=False)
    given, columns = sample.given, sample.columns
    pairs = [(a, b) for a in columns for b in columns if a != b]
    assert Family.of(given) in covered[Singles(columns, given)]
    for a in columns:
        assert Family.of(given, a) in covered[Singles(columns, given)]
        assert Family.of(a) in covered[Singles(columns)]
        assert Family.of(a) in covered[Singles(columns, given)]
        assert Family.of(given, a) not in covered[Singles(columns)]
        assert Family.of(a, given) in covered[Pairs(columns, given)]
    for a, b in pairs:
        assert Family.of(given, a, b) in covered[Pairs(columns, given)]
        assert Family.of(a, b) in covered[Pairs(columns)]
        assert Family.of(a, b) not in covered[Singles(columns)]
        assert Family.of(given, a, b) not in covered[Pairs(columns)]


def test_nothing_else_is_covered():
    sample = samples.make_sample(0, 10, n_continuous=1)
    summaries = collect(sample).summaries
    a, b, x = sample.columns
    stranger = bg.Discrete("stranger", [0, 1])
    for request, summary in summaries.items():
        for family in (
            Family.of(stranger),
            Family.of(sample.given, stranger),
            Family.of(x, stranger),
        ):
            assert summary.family(family) is None
        if isinstance(request, (Singles, Pairs)):
            assert summary.family(Family.of(a, b, x)) is None


# ------------------------------------------------------------------------- against definitions


@given(samples.samples(n=30, offset=0.0, spread=1.0))
def test_families_equal_their_definition(sample):
    table = sample.table
    weights = sample.weights if len(sample.weights) else np.ones(30)
    family = Family.of(*table.variables)
    request = Families((family,))
    found = Statistics.collect(table, [request], sample.weights).summaries[request].family(family)
    whole = (table.codes >= 0).all(axis=1) & ~np.isnan(table.values).any(axis=1)
    for cell in np.ndindex(found.counts.shape):
        rows = whole & (table.codes == cell).all(axis=1)
        w, x = weights[rows], table.values[rows]
        assert found.counts[cell] == pytest.approx(w.sum(), rel=1e-12, abs=1e-12)
        if w.sum() > 0:
            mean = np.average(x, axis=0, weights=w)
            np.testing.assert_allclose(found.mean[cell], mean, atol=1e-12)
            centred = x - mean
            expected = (centred * w[:, None]).T @ centred
            np.testing.assert_allclose(found.comoment[cell], expected, atol=1e-11)
        else:
            assert not found.mean[cell].any()
            assert not found.comoment[cell].any()


@given(
    st.sampled_from([0.1, 3.3, -1e100, 1e9 + 0.1, 5e-130, 0.0]),
    st.integers(1, 60),
    st.sampled_from([0.0, 0.4]),
    st.integers(0, 60),
)
def test_constant_columns_have_no_variance_at_all(value, n, missing, cut):
    sample = samples.make_sample(n, n, missing=missing, weighted="real")
    values = np.where(np.isnan(sample.table.values), np.nan, value)
    table = type(sample.table)(sample.table.variables, sample.table.codes, values)
    sample = samples.Sample(table, sample.weights, 0.0, 1.0)
    total = collect(sample.rows(slice(0, cut))) + collect(sample.rows(slice(cut, n)))
    for statistics in (collect(sample), total):
        for summary in statistics.summaries.values():
            for name, array in samples.arrays(summary):
                if name in ("square", "comoment"):
                    assert not array.any()
        for request, summary in statistics.summaries.items():
            x = table.continuous[0]
            if found := summary.family(Family.of(x)):
                assert found.comoment == 0.0, request
                assert found.mean in ([value], [0.0])


def test_sums_of_different_columns_are_not_added():
    table = bg.learning.count_source({"a": ["x", "y"], "b": ["u", "v"]}).table
    a, b = table.variables
    one, both = Families((Family.of(a),)), Families((Family.of(a), Family.of(b)))
    found = Statistics.collect(table, [one, both], np.ones(2)).summaries
    with pytest.raises(ValueError, match="zip"):
        found[one] + found[both]
