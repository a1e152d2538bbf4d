"""Quantile sketches that merge: unbiased ranks, classes conserved, any way of merging."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sketch_references import PlainKLL

from bayesgraph.errors import DataError, ModelError
from bayesgraph.statistics.sketches import KLLClass

STREAMS = st.lists(
    st.tuples(
        st.one_of(st.floats(-5, 5), st.integers(-3, 3).map(float), st.just(float("nan"))),
        st.integers(0, 1),
        st.sampled_from([0.0, 0.3, 1.0, 1.0, 2.0, 5.5, 40.0]),
    ),
    min_size=1,
    max_size=300,
)


def equal(a, b):
    for name, array in a.arrays().items():
        np.testing.assert_array_equal(array, b.arrays()[name])


@given(STREAMS, st.integers(1, 60), st.sampled_from([1.0, 0.8]))
def test_kernels_equal_the_plain_loops(rows, block, factor):
    x, k, w = (np.array(part) for part in zip(*rows, strict=True))
    sketch = KLLClass(1, 2, size=8)
    plain = [PlainKLL(sketch.arrays()["state"][0, label], 8) for label in (0, 1)]
    held, scale = np.zeros(len(x)), 1.0
    for i in range(0, len(x), block):
        part = slice(i, i + block)
        sketch.fade(factor)
        scale *= factor
        held[:i] *= factor
        for p in plain:
            p.levels = [[(v, u * factor) for v, u in level] for level in p.levels]
            p.variance *= factor**2
        if scale <= 0.5:
            scale *= 2
            for p in plain:
                p.lower()
        held[part] = np.where(np.isnan(x[part]), 0.0, w[part])
        sketch.update(x[part], k[part], w[part])
        for label, p in enumerate(plain):
            mine = k[part] == label
            p.absorb(x[part][mine], w[part][mine])
    np.testing.assert_allclose(sketch.counts[0], np.bincount(k, held, 2), atol=1e-9)
    for label, p in enumerate(plain):
        values, weights = sketch.items(0, label)
        expected = np.array(p.items()).reshape(-1, 2)
        np.testing.assert_array_equal(values, expected[:, 0])
        np.testing.assert_allclose(np.sort(weights), np.sort(expected[:, 1]), rtol=1e-12)
        np.testing.assert_allclose(
            sketch.class_rank_error[0, label], np.sqrt(2 * np.log(200) * p.variance), rtol=1e-9
        )
        assert len(values) <= sum(p.capacity)


def test_ranks_are_unbiased_and_within_the_bound():
    """Over seeds: the mean error is near 0, and the bound of 0.99 holds for nearly all ranks."""
    rng = np.random.default_rng(0)
    x = rng.permutation(6000).astype(float)
    k = (x > 4500).astype(int)  # the rare class has its own bound
    asked = np.linspace(0, 6000, 25)
    errors, outside = [], 0
    for seed in range(60):
        sketch = KLLClass(1, 2, size=30, seed=seed).update(x, k)
        for label in (0, 1):
            mine = np.sort(x[k == label])
            error = np.array([sketch.class_ranks(v)[0, label] for v in asked])
            error -= np.searchsorted(mine, asked, side="right")
            outside += (np.abs(error) > sketch.class_rank_error[0, label]).sum()
            errors.append(error / sketch.class_rank_error[0, label])
    assert outside <= 0.01 * 60 * 2 * 25
    assert abs(np.mean(errors)) < 0.03
    np.testing.assert_array_equal(sketch.counts[0], np.bincount(k))


@pytest.mark.parametrize("order", ["random", "sorted", "reversed"])
def test_order_of_arrival(order):
    x = np.arange(20000.0)
    x = {"random": np.random.default_rng(1).permutation(x), "sorted": x, "reversed": x[::-1]}[order]
    sketch = KLLClass(1, 1, size=100).update(x, np.zeros(20000, dtype=int))
    error = [abs(sketch.rank(v)[0] - v - 1) for v in range(0, 20000, 100)]
    assert max(error) <= sketch.rank_error[0] < 0.03 * 20000
    for share in (0.1, 0.5, 0.9):
        assert abs(sketch.quantile(share)[0] - share * 20000) <= sketch.rank_error[0]


@pytest.mark.parametrize("parts", [2, 7])
def test_a_merge_is_as_exact_as_one_sketch(parts):
    rng = np.random.default_rng(2)
    x, k = rng.normal(size=(20000, 2)), rng.integers(0, 3, 20000)
    one = KLLClass(2, 3, size=60, seed=9).update(x, k)
    pieces = [
        KLLClass(2, 3, size=60, seed=i).update(a, b)
        for i, (a, b) in enumerate(
            zip(np.array_split(x, parts), np.array_split(k, parts), strict=True)
        )
    ]
    merged = pieces[0]
    for piece in pieces[1:]:
        merged = merged + piece
    np.testing.assert_array_equal(merged.counts, one.counts)
    assert (merged.n_items <= merged._room[-1]).all()
    assert (merged.rank_error < 1.5 * one.rank_error).all()
    for v in np.linspace(-2, 2, 9):
        true = np.array([[(x[k == c, j] <= v).sum() for c in range(3)] for j in range(2)])
        assert (np.abs(merged.class_ranks(v) - true) <= merged.class_rank_error).all()
        assert (np.abs(one.class_ranks(v) - true) <= one.class_rank_error).all()


def test_a_merge_leaves_both_parts_alone_and_does_not_trust_equal_seeds():
    rng = np.random.default_rng(3)
    x, k = rng.normal(size=2000), rng.integers(0, 2, 2000)
    a, b = (KLLClass(1, 2, size=20, seed=1).update(x[i::2], k[i::2]) for i in (0, 1))
    before = a.copy(), b.copy()
    same = a + b
    equal(a, before[0])
    equal(b, before[1])
    other = a + KLLClass(1, 2, size=20, seed=2).update(x[1::2], k[1::2])
    assert (same.rank_error > 1.2 * other.rank_error).all()
    # An empty sketch changes nothing that can be asked.
    nothing = a + KLLClass(1, 2, size=20, seed=5)
    assert [v.tolist() for v in nothing.items()] == [v.tolist() for v in a.items()]
    assert nothing.rank_error == a.rank_error


def test_merges_without_end_have_a_bounded_state(monkeypatch):
    monkeypatch.setattr("bayesgraph.statistics.sketches.kll.summaries._MOST_SEEDS", 4)
    rng = np.random.default_rng(9)

    def part(seed):
        return KLLClass(1, 1, size=8, seed=seed).update(rng.random(200), np.zeros(200, dtype=int))

    merged, sizes = part(100), []
    for seed in range(8):
        merged = merged + part(seed)
        sizes.append(merged.nbytes)
    assert len(set(sizes[3:])) == 1
    assert sizes[3] == sizes[0] + 3 * 8
    assert KLLClass.from_arrays(merged.arrays()).nbytes == sizes[-1]
    # It is no longer known whose coins they were: errors add.
    new = part(50)
    assert (merged + new).rank_error[0] > merged.rank_error[0] + 0.99 * new.rank_error[0]


def test_seeds_of_a_forged_state_are_refused():
    arrays = KLLClass(1, 2, size=8).arrays()
    for seeds in (np.arange(2), np.zeros(1, np.uint64), np.arange(2000, dtype=np.uint64)):
        with pytest.raises(DataError, match="seeds"):
            KLLClass.from_arrays({**arrays, "seeds": seeds})


def test_batches_do_not_matter():
    rng = np.random.default_rng(4)
    x, k, w = rng.normal(size=(3000, 2)), rng.integers(0, 2, 3000), rng.random(3000) * 3
    one = KLLClass(2, 2, size=25).update(x, k, w)
    parts = KLLClass(2, 2, size=25)
    for i in range(0, 3000, 71):
        parts.update(x[i : i + 71], k[i : i + 71], w[i : i + 71])
    equal(one, parts)


def test_a_state_goes_on_to_the_bit():
    rng = np.random.default_rng(5)
    x, k = rng.normal(size=3000), rng.integers(0, 2, 3000)
    a = KLLClass(1, 2, size=25, seed=3).update(x[:2000], k[:2000])
    a.fade(0.7)
    b = a.copy()
    equal(a.update(x[2000:], k[2000:]), b.update(x[2000:], k[2000:]))
    assert b.seed == 3


def test_growth_is_as_if_all_had_been_there():
    rng = np.random.default_rng(6)
    x, k = rng.normal(size=(1000, 3)), rng.integers(0, 3, 1000)
    grown = KLLClass(1, 1, size=20)
    grown.grow(n_features=3, n_classes=3)
    equal(grown.update(x, k), KLLClass(3, 3, size=20).update(x, k))
    before = grown.copy()
    grown.grow(n_features=4)
    np.testing.assert_array_equal(grown.counts[:3], before.counts)
    assert np.isnan(grown.quantile(0.5)[3])


def test_fading_forgets_at_the_rate_it_says():
    """With decay, old rows weigh little, and what is new is known as exactly as in a new sketch."""
    rng = np.random.default_rng(7)
    sketch, held = KLLClass(1, 1, size=50), 0.0
    for i in range(400):
        sketch.fade(0.9)
        sketch.update(rng.normal(loc=float(i >= 200) * 10, size=50), np.zeros(50, dtype=int))
        held = 0.9 * held + 50
    np.testing.assert_allclose(sketch.counts[0, 0], held)
    assert abs(sketch.quantile(0.5)[0] - 10) < 0.5
    assert sketch.rank_error[0] < 0.06 * held
    assert sketch.n_items[0, 0] < 3 * 50 + 64


def test_cells_of_distinct_values_and_of_many():
    x = np.array([3.0, 1.0, 2.0, 2.0, np.nan])
    cells = KLLClass(1, 2).update(x, np.array([0, 0, 1, 0, 1])).cells()
    np.testing.assert_array_equal(cells.counts, [[1, 0], [1, 1], [1, 0]])
    assert cells.cuts.tolist() == [1.5, 2.5, np.inf]
    rng = np.random.default_rng(8)
    X, k = rng.normal(size=(20000, 2)), rng.integers(0, 2, 20000)
    sketch = KLLClass(2, 2, size=100)
    sketch.grow(n_features=3)
    sketch.update(np.column_stack([X, np.full(20000, np.nan)]), k)
    cells = sketch.cells()
    assert np.diff(cells.start).tolist() == [12, 12, 0]
    for j in range(2):
        counts, cuts = cells.of(j)
        np.testing.assert_array_equal(counts.sum(axis=0), sketch.counts[j])
        assert (np.diff(cuts) > 0).all()
        true = np.searchsorted(np.sort(X[:, j]), cuts, side="right")
        assert np.abs(np.cumsum(counts.sum(axis=1))[:-1] - true).max() < sketch.rank_error[j]
    # Ten thousand rows of a class tell no more than about a third of them would.
    assert (sketch.evidence[:2] < 0.4).all()
    assert sketch.evidence[2] == 1.0


def test_what_is_refused():
    with pytest.raises(DataError, match="same features"):
        KLLClass(1, 1) + KLLClass(2, 1)
    with pytest.raises(DataError, match="size 8"):
        KLLClass(1, 1) + KLLClass(1, 1, size=8)
    with pytest.raises(ModelError, match="at least 8"):
        KLLClass(size=3)
    with pytest.raises(TypeError):
        KLLClass() + 1
    arrays = KLLClass(1, 2, size=8).update(np.arange(50.0), np.zeros(50, dtype=int)).arrays()
    for name, change in (
        ("begin", lambda a: a + 10**6),
        ("begin", lambda a: a[..., ::-1].copy()),
        ("levels", lambda a: a * 0),
        ("value", lambda a: a * np.nan),
        ("weight", lambda a: -1 - a),
        ("state", lambda a: a[:, :1]),
    ):
        with pytest.raises(DataError, match="KLLClass"):
            KLLClass.from_arrays({**arrays, name: change(arrays[name])})
