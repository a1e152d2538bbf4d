"""Windows of summaries against summaries of the window's rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.errors import DataError, ModelError
from bayesgraph.statistics.sketches import (
    SUMMARIES,
    GaussianSummary,
    GKSummary,
    PiDSummary,
    WindowedSummaries,
)


def of_size(kind, size):
    return lambda f=2, k=3: kind(f, k, **({"size": size} if "size" in kind.options else {}))


KINDS = {name: of_size(kind, 20) for name, kind in SUMMARIES.items()}
KINDS["epsilon"] = lambda f=2, k=3: GKSummary(f, k, epsilon=0.05)


def rows(n, seed=0, f=2, k=3):
    random = np.random.default_rng(seed)
    values = random.normal(size=(n, f))
    values[random.random((n, f)) < 0.1] = np.nan
    return values, random.integers(0, k, n)


def windowed(kind, values, classes, pane=25, n_panes=4):
    window = WindowedSummaries(KINDS[kind](values.shape[1]), n_panes)
    for first in range(0, len(values), pane):
        if first:
            window.turn()
        window.update(values[first : first + pane], classes[first : first + pane])
    return window


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_those_of_the_last_rows(kind):
    values, classes = rows(300)
    window = windowed(kind, values, classes)
    alone = KINDS[kind]().update(values[-100:], classes[-100:])
    np.testing.assert_allclose(window.counts, alone.counts)
    np.testing.assert_allclose(window.together().counts, alone.counts)


def test_gaussians_are_those_of_the_last_rows():
    values, classes = rows(300)
    together = windowed("gaussian", values, classes).together()
    alone = GaussianSummary(2, 3).update(values[-100:], classes[-100:])
    np.testing.assert_allclose(together.mean, alone.mean)
    np.testing.assert_allclose(together.variance, alone.variance)


@pytest.mark.parametrize("kind", ["gk", "pid"])
def test_few_distinct_numbers_are_counted_exactly(kind):
    random = np.random.default_rng(0)
    classes = random.integers(0, 3, 200)
    values = random.integers(0, 3, (200, 1)) + classes[:, None] // 2
    if kind == "pid":
        values[:] = 3  # a single number: bins are guesses otherwise
    cells = windowed(kind, values.astype(float), classes).together().cells()
    alone = GKSummary(1, 3).update(values[-100:], classes[-100:]).cells()
    np.testing.assert_array_equal(cells.start, alone.start)
    np.testing.assert_allclose(cells.counts, alone.counts)
    if kind == "gk":
        np.testing.assert_allclose(cells.cuts, alone.cuts)


def true_ranks(values, at):
    return np.searchsorted(np.sort(values), at, side="right")


@given(seed=st.integers(0, 10**6), ties=st.booleans(), n_parts=st.integers(1, 5))
def test_the_union_of_quantiles_bounds_its_ranks(seed, ties, n_parts):
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 80, n_parts)
    parts = [random.normal(size=n) for n in sizes]
    parts = [np.round(part * 3) if ties else part for part in parts]
    made = [GKSummary(1, 2, size=6).update(p, random.integers(0, 2, len(p))) for p in parts]
    union = GKSummary.united(made)
    values, gaps, deltas = union.tuples()
    assert (np.diff(values) > 0).all()
    below = np.cumsum(gaps.sum(axis=1))
    actual = true_ranks(np.concatenate(parts), values)
    assert (below <= actual).all()
    assert (actual <= below + deltas).all()
    joined = sizes.sum() / 6 / 2
    assert union.rank_error[0] <= sum(part.rank_error[0] for part in made) + joined + 1e-9
    assert len(values) <= 13
    assert below[-1:].sum() == sizes.sum()


def plain_union(parts):
    """Return values, lows, class weights and deltas of all tuples, with lists."""
    found = []
    for x in sorted({x for part in parts for x in part.tuples()[0].tolist()}):
        low, gap, delta = x, np.zeros(2), 0.0
        for part in parts:
            values, gaps, deltas = part.tuples()
            i = int(np.searchsorted(values, x))
            if i < len(values) and values[i] == x:
                low, gap, delta = (
                    min(low, part.arrays()["low"][0, i]),
                    gap + gaps[i],
                    delta + deltas[i],
                )
            elif i < len(values):
                delta += max(gaps[i].sum() + deltas[i] - part.arrays()["own"][0, i], 0.0)
        found.append((x, low, gap, delta))
    return found


@given(seed=st.integers(0, 10**6), ties=st.booleans(), n_parts=st.integers(1, 3))
def test_the_union_of_quantiles_is_the_plain_one(seed, ties, n_parts):
    random = np.random.default_rng(seed)
    parts = []
    for _ in range(n_parts):
        values = random.normal(size=int(random.integers(0, 30)))
        part = GKSummary(1, 2, size=12)
        classes = random.integers(0, 2, len(values))
        weights = random.choice([1.0, 2.0], len(values))
        parts.append(part.update(np.round(values * 3) if ties else values, classes, weights))
    union, expected = GKSummary.united(parts), plain_union(parts)
    total = sum(gap.sum() for _, _, gap, _ in expected)
    if len(expected) > 24:
        joined = []
        for x, low, gap, delta in expected:
            if joined and joined[-1][2].sum() + gap.sum() <= total / 12:
                low, gap = min(low, joined[-1][1]), joined.pop()[2] + gap
            joined.append((x, low, gap, delta))
        expected = joined
    values, gaps, deltas = union.tuples()
    np.testing.assert_array_equal(values, [x for x, _, _, _ in expected])
    np.testing.assert_array_equal(
        union.arrays()["low"][0, : len(values)], [low for _, low, _, _ in expected]
    )
    if expected:
        np.testing.assert_allclose(gaps, [gap for _, _, gap, _ in expected])
    np.testing.assert_allclose(deltas, [delta for _, _, _, delta in expected])


@given(seed=st.integers(0, 10**6), n_parts=st.integers(1, 4))
def test_the_union_of_histograms_adds_what_lies_below(seed, n_parts):
    random = np.random.default_rng(seed)
    parts = []
    for _ in range(n_parts):
        n = int(random.integers(0, 60))
        rows = random.normal(random.normal(), 1, (n, 1)).round(int(random.integers(0, 3)))
        parts.append(PiDSummary(1, 2, size=5).update(rows, random.integers(0, 2, n)))
    union = PiDSummary.united(parts)
    edges, counts = union.bins()
    np.testing.assert_allclose(counts.sum(axis=0), sum(p.counts[0] for p in parts))
    for at in edges[1:]:
        expected = np.zeros(2)
        for part in parts:
            own, held = part.bins()
            for low, high, count in zip(own, own[1:], held, strict=False):
                width = high - low
                expected += count * (np.clip((at - low) / width, 0, 1) if width else at >= high)
        np.testing.assert_allclose(counts[edges[1:] <= at].sum(axis=0), expected, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_state_round_trip(kind):
    values, classes = rows(150)
    window = windowed(kind, values, classes)
    again = WindowedSummaries.restored(window.kind, window.arrays())
    assert again.kind is window.kind
    for summaries in (window, again, window.copy()):
        summaries.turn()
        summaries.update(*rows(25, 1))
    for name, array in window.arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[name])
    for shape, message in (
        ([2, 3], "panes"),
        ([2, 0], "panes"),
        ([2], "has shape as int64"),
        ([], "has shape as int64"),
    ):
        with pytest.raises(DataError, match=message):
            WindowedSummaries.restored(
                window.kind, window.arrays() | {"shape": np.array(shape, dtype=np.int64)}
            )


@pytest.mark.parametrize("kind", KINDS)
def test_memory_fading_and_growth(kind):
    values, classes = rows(400)
    window = windowed(kind, values, classes)
    if kind != "epsilon":
        assert window.nbytes == windowed(kind, values[:200], classes[:200]).nbytes
    counts = window.counts
    window.fade(0.5)
    np.testing.assert_allclose(window.counts, counts / 2)
    window.grow(n_features=3, n_classes=4)
    assert (window.n_features, window.n_classes) == (3, 4)
    window.turn()
    window.update(*rows(5, f=3, k=4))
    assert window.counts.shape == window.together().counts.shape == (3, 4)


def test_bad_input():
    with pytest.raises(ModelError, match="n_panes"):
        WindowedSummaries(GaussianSummary(), 0)
