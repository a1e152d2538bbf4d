"""Quantile summaries: the guarantee in any order of arrival, and what is kept exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sketch_references import PlainGK

from bayesgraph.core.errors import DataError, ModelError
from bayesgraph.statistics import GKSummary


def inwards(x):
    """The next value always falls into the middle of what was seen."""
    x = np.sort(x)
    out = np.empty_like(x)
    out[::2], out[1::2] = x[: (len(x) + 1) // 2], x[::-1][: len(x) // 2]
    return out


ORDERS = {
    "random": lambda x: np.random.default_rng(1).permutation(x),
    "sorted": np.sort,
    "reversed": lambda x: np.sort(x)[::-1],
    "inwards": inwards,
    "outwards": lambda x: inwards(x)[::-1],
    "blocks": lambda x: np.concatenate([np.sort(x)[i::7][:: (-1) ** i] for i in range(7)]),
}


def ranks_off(summary, x, feature=0):
    """Return the greatest error of the rank of any number: seen ones, and between them."""
    values = np.unique(x[~np.isnan(x)])
    asked = np.concatenate(
        [values, (values[1:] + values[:-1]) / 2, [values[0] - 1, values[-1] + 1]]
    )
    true = np.searchsorted(np.sort(x), asked, side="right")
    return max(abs(summary.rank(v)[feature] - t) for v, t in zip(asked, true, strict=True))


def quantiles_off(summary, x):
    """Return how far any quantile's value is from the ranks that were asked for."""
    ascending, worst = np.sort(x), 0.0
    for share in np.linspace(0, 1, 41):
        value, rank = summary.quantile(share)[0], share * len(x)
        low, high = np.searchsorted(ascending, value), np.searchsorted(ascending, value, "right")
        worst = max(worst, low - rank, rank - high)
    return worst


@pytest.mark.one_in(28)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("data", ["distinct", "ties", "atom"])
@pytest.mark.parametrize("block", [1, 37, 10000])
def test_any_rank_is_within_epsilon(order, data, block):
    rng = np.random.default_rng(0)
    x = rng.normal(size=1500)
    if data == "ties":
        x = np.round(x, 1)
    elif data == "atom":
        x = np.where(rng.random(1500) < 0.6, 0.25, x)
    x = ORDERS[order](x)
    classes = rng.integers(0, 3, len(x))
    summary = GKSummary(1, 3, epsilon=0.02)
    for i in range(0, len(x), block):
        summary.update(x[i : i + block], classes[i : i + block])
    assert summary.rank_error[0] <= 0.02 * len(x)
    assert ranks_off(summary, x) <= summary.rank_error[0] + 1e-9
    assert quantiles_off(summary, x) <= summary.rank_error[0] + 1e-9
    np.testing.assert_array_equal(summary.counts[0], np.bincount(classes, minlength=3))
    # Far fewer than the values; (11 / 2 epsilon) log(2 epsilon n) is the theory's bound.
    assert len(summary.tuples()[0]) < min(len(x), 5.5 / 0.02 * np.log2(2 * 0.02 * len(x)))


def test_values_against_an_adversary():
    """Each next value falls where the summary knows least."""
    summary, seen = GKSummary(1, 1, epsilon=0.05), []
    low, high = 0.0, 1.0
    for _ in range(600):
        value, gap, delta = summary.tuples()
        if len(value) > 2:
            at = int(np.argmax((gap.sum(axis=1) + delta)[1:])) + 1
            low, high = value[at - 1], value[at]
        x = low + (high - low) / 2
        seen.append(x)
        summary.update(np.array([x]), np.array([0]))
    x = np.array(seen)
    assert ranks_off(summary, x) <= summary.rank_error[0] + 1e-9 <= 0.05 * len(x) + 1e-9


@pytest.mark.one_in(6)
@pytest.mark.parametrize("order", ORDERS)
def test_fixed_memory_reports_its_error(order):
    rng = np.random.default_rng(2)
    x = ORDERS[order](rng.normal(size=3000))
    summary = GKSummary(1, 2, size=40)
    for i in range(0, len(x), 100):
        summary.update(x[i : i + 100], rng.integers(0, 2, 100))
        assert len(summary.tuples()[0]) <= 40
    assert ranks_off(summary, x) <= summary.rank_error[0] + 1e-9
    assert quantiles_off(summary, x) <= summary.rank_error[0] + 1e-9
    assert summary.counts.sum() == 3000


STREAMS = st.lists(
    st.tuples(
        st.one_of(st.floats(-5, 5), st.integers(-3, 3).map(float), st.just(float("nan"))),
        st.integers(0, 2),
        st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0, 3.25]),
    ),
    min_size=1,
    max_size=120,
)


@given(STREAMS, st.integers(3, 12), st.integers(1, 50), st.sampled_from([1.0, 0.75, 1e-3]))
def test_laws_of_any_stream(rows, size, block, factor):
    """Error as reported, size as promised, classes conserved, and equal to the plain loops."""
    x, k, w = (np.array(part) for part in zip(*rows, strict=True))
    summary, plain = GKSummary(1, 3, size=size), PlainGK(3, size)
    held = np.zeros(len(x))
    for i in range(0, len(x), block):
        part = slice(i, i + block)
        summary.fade(factor)
        plain.fade(factor)
        held[:i] *= factor
        held[part] = np.where(np.isnan(x[part]), 0.0, w[part])
        summary.update(x[part], k[part], w[part])
        plain.absorb(x[part], k[part], w[part])
    assert len(summary.tuples()[0]) <= size
    np.testing.assert_allclose(summary.counts[0], np.bincount(k, held, 3), atol=1e-9)
    values, gap, delta = summary.tuples()
    assert values.tolist() == [t["v"] for t in plain.tuples]
    expected = np.array([t["g"] for t in plain.tuples]).reshape(-1, 3)
    np.testing.assert_allclose(gap, expected, atol=1e-99)
    np.testing.assert_allclose(delta, [t["delta"] for t in plain.tuples], atol=1e-12)
    there = held > 0
    if there.any():
        for v in np.concatenate([x[there], x[there] + 1e-3]):
            true = held[there & (x <= v)].sum()
            assert abs(summary.rank(v)[0] - true) <= summary.rank_error[0] + 1e-9


def test_the_ends_are_those_of_what_is_held():
    """Old values at the ends fade away; their weight, and the ranks of all others, stay."""
    summary = GKSummary(1, 2, size=20).update(np.array([-9.0, 0.0, 9.0]), np.array([0, 0, 1]))
    summary.fade(1e-13)
    x = np.arange(1.0, 9.0)
    summary.update(x, np.tile([0, 1], 4))
    held = summary.counts
    summary.fade(0.5)
    values, gap, delta = summary.tuples()
    assert values.tolist() == x.tolist()
    np.testing.assert_allclose(summary.counts, held / 2, rtol=1e-15)
    assert (gap.sum(axis=1) > 0.4).all()
    assert not delta.any()
    assert [summary.quantile(q)[0] for q in (0.0, 1.0)] == [1.0, 8.0]
    # What lay below the new least value may be anywhere below it.
    assert abs(summary.rank(0.5)[0] - 1e-13) <= summary.rank_error[0]
    assert summary.update([0.5], [0]).tuples()[2][0] <= 1.1e-13


def test_fixed_error_equals_the_plain_loops():
    rng = np.random.default_rng(3)
    x, k = np.round(rng.normal(size=600), 2), rng.integers(0, 2, 600)
    summary, plain = GKSummary(1, 2, epsilon=0.03), PlainGK(2, epsilon=0.03)
    for i in range(0, 600, 50):
        summary.update(x[i : i + 50], k[i : i + 50])
        plain.absorb(x[i : i + 50], k[i : i + 50], np.ones(50))
    values, gap, delta = summary.tuples()
    assert values.tolist() == [t["v"] for t in plain.tuples]
    np.testing.assert_array_equal(gap, [t["g"] for t in plain.tuples])
    np.testing.assert_array_equal(delta, [t["delta"] for t in plain.tuples])


def test_the_order_within_a_block_does_not_matter():
    rng = np.random.default_rng(4)
    x, k = np.round(rng.normal(size=300), 1), rng.integers(0, 2, 300)
    order = rng.permutation(300)
    a, b = (
        GKSummary(1, 2, size=10).update(x, k),
        GKSummary(1, 2, size=10).update(x[order], k[order]),
    )
    for name, array in a.arrays().items():
        np.testing.assert_array_equal(array, b.arrays()[name])


def test_few_distinct_values_are_exact():
    rng = np.random.default_rng(5)
    x, k = rng.integers(0, 20, 5000).astype(float), rng.integers(0, 2, 5000)
    summary = GKSummary(1, 2, size=20)
    for i in range(0, 5000, 256):
        summary.update(x[i : i + 256], k[i : i + 256])
    values, gap, delta = summary.tuples()
    assert values.tolist() == list(range(20))
    np.testing.assert_array_equal(
        gap, np.array([np.bincount(k[x == v], minlength=2) for v in values])
    )
    assert not delta.any()
    assert summary.rank_error[0] == 0
    assert summary.cells().cuts(np.arange(20)).tolist() == [*(np.arange(19) + 0.5), np.inf]


def test_an_atom_makes_nothing_uncertain():
    x = np.concatenate([np.full(900, 5.0), np.arange(100.0)])
    summary = GKSummary(1, 1, epsilon=0.01).update(x, np.zeros(1000, dtype=int))
    assert summary.rank_error[0] <= 10
    assert summary.quantile(0.3)[0] == 5.0


def test_columns_are_apart_and_grow():
    rng = np.random.default_rng(6)
    X, k = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    X[rng.random(X.shape) < 0.2] = np.nan
    together = GKSummary(3, 2, size=15).update(X, k)
    grown = GKSummary(1, 1, size=15)
    grown.grow(n_features=3, n_classes=2)
    grown.update(X, k)
    for j in range(3):
        alone = GKSummary(1, 2, size=15).update(X[:, j], k)
        for a, b, c in zip(together.tuples(j), alone.tuples(), grown.tuples(j), strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(a, c)


def test_growth_keeps_what_there_is():
    rng = np.random.default_rng(7)
    summary = GKSummary(2, 2, size=10).update(rng.normal(size=(100, 2)), rng.integers(0, 2, 100))
    before = summary.copy()
    summary.grow(n_features=3, n_classes=4)
    assert summary.counts.shape == (3, 4)
    np.testing.assert_array_equal(summary.counts[:2, :2], before.counts)
    assert not summary.counts[2].any()
    assert not summary.counts[:, 2:].any()
    assert np.isnan(summary.quantile(0.5)[2])


def test_arrays_hold_the_whole_state():
    rng = np.random.default_rng(8)
    x, k = rng.normal(size=(500, 2)), rng.integers(0, 2, 500)
    for options in ({"size": 12}, {"epsilon": 0.05}):
        a = GKSummary(2, 2, **options).update(x[:300], k[:300])
        b = GKSummary.from_arrays({name: v.copy() for name, v in a.arrays().items()})
        a.update(x[300:], k[300:])
        b.update(x[300:], k[300:])
        for name, array in a.arrays().items():
            np.testing.assert_array_equal(array, b.arrays()[name])
        assert b.epsilon == options.get("epsilon")


def test_what_cannot_be_summarised():
    summary = GKSummary(2, 2)
    with pytest.raises(DataError, match="shape"):
        summary.update([[1.0]], [0])
    with pytest.raises(DataError, match="infinite"):
        summary.update([[1.0, np.inf]], [0])
    with pytest.raises(DataError, match="codes from 0 to 1"):
        summary.update([[1.0, 2.0]], [2])
    with pytest.raises(DataError, match="not negative"):
        summary.update([[1.0, 2.0]], [0], [-1.0])
    with pytest.raises(ModelError, match="epsilon"):
        GKSummary(epsilon=0.5)
    with pytest.raises(DataError, match="3 or more"):
        GKSummary(size=2)
    with pytest.raises(ModelError, match="share"):
        summary.quantile(1.5)


def test_cuts_lie_between_the_values_at_the_ends_of_floating_point():
    for values in ([-1.7e308, 1.7e308], [0.0, 5e-324], [1.0, np.nextafter(1.0, 2)]):
        cells = GKSummary(1, 1).update(np.array(values), np.array([0, 0])).cells()
        assert values[0] <= cells.cuts(np.arange(1))[0] < values[1]


def test_cuts_are_short():
    cells = GKSummary(1, 1).update(np.array([0.14, 0.15, 0.17]), [0, 0, 0]).cells()
    assert cells.cuts(np.arange(3)).tolist() == [0.145, 0.16, np.inf]
