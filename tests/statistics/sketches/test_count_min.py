"""Class counts of categories without number: never too little, seldom too much."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.errors import DataError, ModelError
from bayesgraph.statistics.sketches import CountMinSketch
from bayesgraph.statistics.sketches.count_min import FIRST_KEY, key_of

SMALL = {"epsilon": 0.2, "delta": 0.3}
STREAMS = st.lists(
    st.tuples(
        st.integers(0, 30).map(lambda i: i * i % 31 % 17),
        st.integers(0, 1),
        st.sampled_from([0.0, 1.0, 1.0, 2.5]),
    ),
    min_size=1,
    max_size=150,
)


def zipf(n, seed=0, size=5000):
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, size + 1)
    return rng.choice(size, n, p=shares / shares.sum()), rng.integers(0, 3, n)


def truth(values, classes, weights, n_classes):
    found = {}
    for v, k, w in zip(values, classes, weights, strict=True):
        found.setdefault(v, np.zeros(n_classes))[k] += w
    return found


def filled(rows, block, **options):
    sketch = CountMinSketch(2, **options)
    for i in range(0, len(rows), block):
        v, k, w = zip(*rows[i : i + block], strict=True)
        sketch.update(list(v), np.array(k), np.array(w))
    return sketch


@given(STREAMS, st.integers(1, 12), st.integers(1, 40))
def test_laws_of_any_stream(rows, exact, block):
    sketch = filled(rows, block, exact=exact, **SMALL)
    v, k, w = zip(*rows, strict=True)
    true = truth(v, k, w, 2)
    total = sum(w)
    np.testing.assert_allclose(sketch.totals, np.bincount(k, w, 2))
    assert sketch.missed <= total / (exact + 1) + 1e-9
    keys, seen = sketch.listed()
    assert len(keys) <= exact
    held = dict(zip(keys.tolist(), seen, strict=True))
    for value, counts in true.items():
        estimate = sketch.estimate(value)
        assert (estimate >= counts - 1e-9).all()
        if sketch.is_exact:
            np.testing.assert_array_equal(estimate, counts)
        mine = held.get(key_of(value), np.zeros(2))
        assert (mine <= counts + 1e-9).all()
        assert (counts.sum() - mine.sum()) <= sketch.missed + 1e-9
        if counts.sum() > total / (exact + 1):
            assert key_of(value) in held
    assert sketch.is_exact == (len([c for c in true.values() if c.sum() > 0]) <= exact)


def test_counters_are_those_of_the_rows_whatever_the_batches():
    """The sketch is linear."""
    values, classes = zipf(6000)
    whole = CountMinSketch(3, exact=50, epsilon=0.01).update(values, classes)
    parts = CountMinSketch(3, exact=50, epsilon=0.01)
    for i in range(3):
        parts.update(values[i::3], classes[i::3])
    np.testing.assert_array_equal(whole.arrays()["table"], parts.arrays()["table"])
    assert (whole.arrays()["table"].sum(axis=1) == np.bincount(classes)).all()


def test_estimates_are_within_epsilon_nearly_always():
    """Over values and seeds: too much by more than epsilon N_k for a share below delta."""
    values, classes = zipf(20000)
    true = truth(values.tolist(), classes, np.ones(20000), 3)
    outside = asked = 0
    for seed in range(4):
        sketch = CountMinSketch(3, exact=5, epsilon=0.01, delta=0.05, seed=seed)
        sketch.update(values, classes)
        # Of the counters alone, without what the list knows.
        keys = np.array([key_of(v) for v in true])
        table = sketch.arrays()["table"]
        found = np.min([table[i, p] for i, p in enumerate(sketch._places(keys))], axis=0)
        excess = found - np.array(list(true.values()))
        assert (excess >= 0).all()
        outside += (excess > 0.01 * sketch.totals).sum()
        asked += excess.size
    assert outside <= 0.05 * asked


def test_the_most_frequent_values_are_found_as_typed():
    rng = np.random.default_rng(1)
    common = ["red", 7, 7.5, True, ("a", 1)]
    values = [common[i] for i in rng.integers(0, 5, 3000)] + [f"id{i}" for i in range(3000)]
    order = rng.permutation(6000)
    values = [values[i] for i in order]
    sketch = CountMinSketch(1, exact=20, epsilon=0.01)
    for i in range(0, 6000, 250):
        sketch.update(values[i : i + 250], np.zeros(250, dtype=int))
    top = sketch.heavy_hitters(5)
    assert {(type(v), v) for v, _ in top} == {(type(v), v) for v in common}
    counts = Counter((type(v), v) for v in values)
    for value, estimate in top:
        true = counts[type(value), value]
        assert true <= estimate[0] <= true + sketch.missed
    assert len(sketch.values) <= 20
    assert isinstance(top[0][1], np.ndarray)


def test_types_are_apart():
    sketch = CountMinSketch(1).update([True, 1, 1.0, "1", 1], [0] * 5)
    assert [sketch.estimate(v)[0] for v in (True, 1, 1.0, "1", "2")] == [1, 2, 1, 1, 0]
    assert len(sketch.heavy_hitters()) == 4


def test_missing_values_and_weights_of_zero_are_left_out():
    sketch = CountMinSketch(2).update(["a", None, "b"], [0, 1, 1], [2.0, 1.0, 0.0])
    assert sketch.totals.tolist() == [2.0, 0.0]
    assert sketch.estimate("b").tolist() == [0.0, 0.0]


def test_memory_is_bounded_when_every_value_is_new():
    sketch, sizes = CountMinSketch(2, exact=100, epsilon=0.01), []
    for i in range(40):
        sketch.update([f"id{j}" for j in range(i * 200, i * 200 + 200)], np.arange(200) % 2)
        sizes.append(sketch.nbytes)
        assert len(sketch.values) <= 100
    assert max(sizes[5:]) <= sizes[1] + 100 * 32
    assert sketch.totals.sum() == 8000
    assert (sketch.estimate("never seen") <= sketch.missed).all()


def test_keys_of_text():
    assert FIRST_KEY <= key_of("café") < 2**63
    assert key_of("\ud800") != key_of("")


def test_a_state_goes_on_and_grows():
    values, classes = zipf(3000)
    for exact in (30, 10000):
        a = CountMinSketch(3, exact=exact, epsilon=0.05).update(values[:2000], classes[:2000])
        b = CountMinSketch.from_arrays(a.arrays(), a.values).copy()
        for s in (a, b):
            s.grow(n_classes=4)
            s.update(values[2000:], classes[2000:] + 1)
        for name, array in a.arrays().items():
            np.testing.assert_array_equal(array, b.arrays()[name])
        assert a.values == b.values
        np.testing.assert_array_equal(
            a.totals, np.bincount(np.concatenate([classes[:2000], classes[2000:] + 1]))
        )


def test_what_is_refused():
    sketch = CountMinSketch(2, exact=3, **SMALL)
    with pytest.raises(DataError, match="3 whole numbers"):
        sketch.update(["a", "b", "c"], [0])
    with pytest.raises(DataError, match="codes from 0 to 1"):
        sketch.update(["a"], [2])
    with pytest.raises(ModelError, match="epsilon lies between 0 and 1"):
        CountMinSketch(epsilon=0.0)
    arrays = sketch.update(list("abcdef"), [0] * 6).update(["f", "f"], [0, 1]).arrays()
    assert arrays["keys"].size
    for name, change in (
        ("keys", lambda a: -a),
        ("seen", lambda a: a * np.nan),
        ("credit", lambda a: a[:0]),
        ("table", lambda a: a[:1]),
        ("totals", lambda a: a - 100),
    ):
        with pytest.raises(DataError, match="CountMinSketch"):
            CountMinSketch.from_arrays({**arrays, name: change(arrays[name])})
