"""The first sets that separate pairs of columns are those of single tests."""

import itertools

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.learning import pc_algorithm as separation
from bayesgraph.learning.pc_algorithm import PairTests, SeparatingSets, Skeleton
from bayesgraph.statistics import Numbered, Smoothing


def related(seed, n):
    """Return columns of several states, of which two are determined by others."""
    random = np.random.default_rng(seed)
    columns = {"a": random.integers(0, 3, n), "b": random.integers(0, 5, n)}
    columns["c"] = np.where(random.random(n) < 0.6, columns["a"], random.integers(0, 3, n))
    columns["d"] = (columns["a"] + columns["b"]) % 3
    columns["e"] = np.where(random.random(n) < 0.4, columns["c"] % 2, random.integers(0, 2, n))
    columns["f"] = columns["d"].copy()
    columns["g"] = np.where(random.random(n) < 0.3, columns["d"], columns["e"])
    return {name: column.astype(str) for name, column in columns.items()}


def sets_of(frame, alpha=0.05, most_cells=1 << 22):
    source = bg.count_source(frame)
    columns = Numbered(source.features)
    return source, SeparatingSets.of(source, columns, alpha, most_cells)


@pytest.mark.parametrize("size", [0, 1, 2, 3])
@pytest.mark.parametrize("n", [41, 400])
def test_they_are_the_first_that_a_test_finds_independent(size, n):
    frame = related(size, n)
    names = list(frame)
    _, sets = sets_of(frame)
    pairs = [
        (a, b) for a, b in itertools.combinations(range(len(names)), 2) if (a + b) % 2 or n < 99
    ]
    random = np.random.default_rng(n)
    around = [random.permutation([c for c in range(len(names)) if c != i])[: 3 + i % 3].tolist()
              for i in range(len(names))] if size else [[]] * len(names)  # fmt: skip
    found = sets.first(np.array(pairs), around, size)
    for i, (a, b) in enumerate(pairs):
        left, right = ([c for c in around[x] if c not in (a, b)] for x in (a, b))
        tried = [*itertools.combinations(left, size)]
        tried += [s for s in itertools.combinations(right, size) if not {*s} <= {*left}]
        least, expected = np.inf, None
        for given in tried:
            test = bg.independence_test(frame, names[a], names[b], tuple(names[c] for c in given))
            if size and not test.degrees_of_freedom:
                continue
            least = min(least, test.statistic / 2 / n)
            if test.p_value > 0.05:
                expected = given, test.p_value
                break
        assert found.least[i] == pytest.approx(least, rel=1e-9, abs=1e-12)
        if expected is None:
            assert np.isnan(found.p_values[i])
        else:
            assert tuple(found.sets[i]) == expected[0]
            assert found.p_values[i] == pytest.approx(expected[1], rel=1e-9)


@pytest.mark.parametrize("slots", [8, 1 << 15])
@pytest.mark.parametrize("most_cells", [60, 1 << 22])
def test_they_lead_to_the_skeleton_of_requested_counts(slots, most_cells, monkeypatch):
    # Few slots, and no critical values at first, lead to the same.
    monkeypatch.setattr(separation, "_SLOTS", slots)
    monkeypatch.setattr(separation, "_DEGREES", 1)
    monkeypatch.setitem(PairTests.of.__globals__, "MAX_CELLS", most_cells)
    source, sets = sets_of(related(5, 300), 0.1, most_cells)
    columns = source.features
    free = ~np.eye(len(columns), dtype=bool)
    found = []
    for first in (None, sets):
        tests = PairTests(source, columns, Smoothing().ridge)
        skeleton = Skeleton(free, ~free & free, tests, 0.1, first)
        skeleton.search(3)
        found.append(skeleton)
    one, other = found
    assert one.linked.tolist() == other.linked.tolist()
    assert {p: s for p, (s, _) in one.separators.items()} == {
        p: s for p, (s, _) in other.separators.items()
    }
    np.testing.assert_allclose(one.least, other.least, rtol=1e-9, atol=1e-12)


def test_they_need_complete_rows_of_weight_1_in_memory():
    frame = related(0, 50)
    assert sets_of(frame)[1] is not None
    numbers = {**frame, "x": np.linspace(0.0, 1.0, 50)}
    holes = {**frame, "a": [None, *frame["a"].tolist()[1:]]}
    for other in (numbers, holes):
        assert sets_of(other)[1] is None
    heavy = bg.count_source(frame, sample_weight=np.arange(1.0, 51.0))
    assert SeparatingSets.of(heavy, Numbered(heavy.features), 0.05, 100) is None
