"""Class counts of frequent values: never too much, and bounded in what they miss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.core.errors import DataError
from bayesgraph.statistics import FIRST_KEY, CountSketch, FrequentValues, key_of
from bayesgraph.statistics.sketches import _FACTORS

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


def added(found, values, classes, weights=()):
    """Return a list with more rows."""
    keys = np.array([-1 if v is None else key_of(v) for v in values])
    found.absorb(keys, np.asarray(classes), np.asarray(weights, dtype=float))
    return found


@given(STREAMS, st.integers(1, 12), st.integers(1, 40))
def test_laws_of_any_stream(rows, size, block):
    found = FrequentValues(2, size=size)
    for i in range(0, len(rows), block):
        added(found, *zip(*rows[i : i + block], strict=True))
    v, k, w = zip(*rows, strict=True)
    true = truth(v, k, w, 2)
    total = sum(w)
    np.testing.assert_allclose(found.totals, np.bincount(k, w, 2))
    assert found.missed <= total / (size + 1) + 1e-9
    keys, seen = found.listed()
    assert len(keys) <= size
    held = dict(zip(keys.tolist(), seen, strict=True))
    exact = len([c for c in true.values() if c.sum() > 0]) <= size
    for value, counts in true.items():
        mine = held.get(key_of(value), np.zeros(2))
        assert (mine <= counts + 1e-9).all()
        assert (counts.sum() - mine.sum()) <= found.missed + 1e-9
        if counts.sum() > total / (size + 1):
            assert key_of(value) in held
        if exact:
            np.testing.assert_array_equal(mine, counts)


@given(STREAMS, st.integers(1, 12), st.integers(1, 40))
def test_laws_of_a_count_sketch(rows, size, block):
    found = CountSketch(2, size=size)
    for i in range(0, len(rows), block):
        added(found, *zip(*rows[i : i + block], strict=True))
    v, k, w = zip(*rows, strict=True)
    true = truth(v, k, w, 2)
    np.testing.assert_allclose(found.totals, np.bincount(k, w, 2))
    keys, seen = found.listed()
    assert len(keys) <= size
    assert (seen >= 0).all()
    held = dict(zip(keys.tolist(), seen, strict=True))
    if len([c for c in true.values() if c.sum() > 0]) <= size:
        assert found.missed == 0
        for value, counts in true.items():
            np.testing.assert_array_equal(held.get(key_of(value), np.zeros(2)), counts)
    # The counters are those of the definition, in whole numbers of Python.
    expected = np.zeros_like(found.counters)
    for value, counts in true.items():
        for row, factor in enumerate(map(int, _FACTORS)):
            hashed = key_of(value) * factor % 2**64
            expected[row, (hashed >> 33) % (4 * size)] += (1 if hashed >> 32 & 1 else -1) * counts
    np.testing.assert_allclose(found.counters, expected, atol=1e-9)


def test_a_count_sketch_knows_what_values_had_before_they_were_listed():
    values, classes = zipf(40_000)
    true = truth(values, classes, np.ones(len(values)), 3)
    sketch, frequent = CountSketch(3, size=50), FrequentValues(3, size=50)
    for rows in np.split(np.arange(len(values)), 400):
        for found in (sketch, frequent):
            added(found, values[rows], classes[rows])
    heaviest = sorted(true, key=lambda value: -true[value].sum())[:25]
    errors = []
    for found in (sketch, frequent):
        held = dict(zip(found.listed()[0].tolist(), found.listed()[1], strict=True))
        errors.append([true[v] - held.get(key_of(v), np.zeros(3)) for v in heaviest])
    ours, theirs = np.abs(errors).sum(axis=(1, 2))
    assert ours < theirs / 3
    # Charikar, Chen, Farach-Colton (2002), lemma 4: 8 sqrt(sum of the squares of the rest / width).
    rest = sum((true[v] ** 2 for v in true if v not in heaviest), start=np.zeros(3))
    assert (np.abs(errors[0]) <= 8 * np.sqrt(rest / sketch.width)).all()


def test_types_are_apart():
    found = added(FrequentValues(1), [True, 1, 1.0, "1", 1], [0] * 5)
    assert sorted(found.listed()[1].ravel()) == [1, 1, 1, 2]


def test_missing_values_and_weights_of_zero_are_left_out():
    found = added(FrequentValues(2), ["a", None, "b"], [0, 1, 1], [2.0, 1.0, 0.0])
    assert found.totals.tolist() == [2.0, 0.0]
    assert found.listed()[0].tolist() == [key_of("a")]


def test_memory_is_bounded_when_every_value_is_new():
    found, sizes = FrequentValues(2, size=100), []
    for i in range(40):
        added(found, [f"id{j}" for j in range(i * 200, i * 200 + 200)], np.arange(200) % 2)
        sizes.append(found.nbytes)
    assert max(sizes) <= 100 * 32 + 32
    assert found.totals.sum() == 8000


def test_keys_of_text():
    assert FIRST_KEY <= key_of("café") < 2**63
    assert key_of("\ud800") != key_of("")


@pytest.mark.parametrize("kind", [FrequentValues, CountSketch])
def test_a_state_goes_on_and_grows(kind):
    values, classes = zipf(3000)
    for size in (30, 10000):
        a = added(kind(3, size=size), values[:2000], classes[:2000])
        b = kind.from_arrays(a.arrays()).copy()
        for s in (a, b):
            s.grow(n_classes=4)
            added(s, values[2000:], classes[2000:] + 1)
        for name, array in a.arrays().items():
            np.testing.assert_array_equal(array, b.arrays()[name])
        np.testing.assert_array_equal(
            a.totals, np.bincount(np.concatenate([classes[:2000], classes[2000:] + 1]))
        )


def test_what_is_refused():
    with pytest.raises(DataError, match="size is a number of entries, 1 or more"):
        FrequentValues(size=0)
    arrays = added(FrequentValues(2, size=3), list("aabbccdef"), [0] * 9).arrays()
    assert arrays["keys"].size
    for name, change in (
        ("keys", lambda a: -a),
        ("keys", lambda a: a[::-1]),
        ("seen", lambda a: a * np.nan),
        ("credit", lambda a: a[:0]),
        ("totals", lambda a: a - 100),
        ("limits", lambda a: a * 0 + 1),
    ):
        with pytest.raises(DataError, match="saved state"):
            FrequentValues.from_arrays({**arrays, name: change(arrays[name])})
