"""Histograms of columns: weights, minimum and maximum of the bins at edges and between them."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.statistics import Histograms, Statistics
from bayesgraph.tables import Table

CLASS = bg.Discrete("y", range(3))
COLUMN = bg.Continuous("x")


def collected(values, classes, edges, weights=None, given=CLASS):
    table = Table(
        (COLUMN, CLASS),
        np.asfortranarray(np.array(classes, dtype=np.int8)[:, None]),
        np.array(values, dtype=float)[:, None],
        False,
    )
    request = Histograms((COLUMN,), (tuple(edges),), given)
    weight = np.empty(0) if weights is None else np.array(weights, dtype=float)
    return Statistics.collect(table, [request], weight).summaries[request]


def by_hand(values, classes, edges, weights):
    """Return weights, minimum and maximum of each bin."""
    bounds = [-np.inf, *edges, np.inf]
    masks = []
    for i, edge in enumerate(bounds[1:]):
        masks += [(values > bounds[i]) & (values < edge), values == edge]
    found = []
    for mask in masks[:-1]:
        rows = mask & (weights > 0)
        counts = np.bincount(classes[rows], weights[rows], minlength=3)
        found.append((counts, values[rows].min(initial=np.inf), values[rows].max(initial=-np.inf)))
    return [np.array(part) for part in zip(*found, strict=True)]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("n_edges", [0, 1, 63, 64, 65, 700, 4096])
@pytest.mark.parametrize("decimals", [1, 12])
def test_bins_are_those_of_a_count_by_hand(n_edges, decimals):
    random = np.random.default_rng(n_edges)
    values = random.normal(size=301).round(decimals)
    values[random.random(301) < 0.1] = np.nan
    classes = random.integers(0, 3, 301)
    weights = random.integers(0, 3, 301) / 4
    known = np.concatenate([values[~np.isnan(values)], random.normal(size=5000)])
    edges = np.unique(random.permutation(known)[:n_edges])
    found = collected(values, classes, edges, weights)
    counts, low, high = by_hand(values, classes, edges, weights)
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_array_equal(found.low, low)
    np.testing.assert_array_equal(found.high, high)
    np.testing.assert_array_equal(found.totals, np.bincount(classes, weights))


def test_rows_without_a_class_are_left_out_of_groups():
    found = collected([1.0, 2.0, 3.0], [-1, 2, 0], [2.0])
    assert found.counts.tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert found.totals.tolist() == [1, 0, 1]
    alone = collected([1.0, 2.0, 3.0], [-1, 2, 0], [2.0], given=None)
    assert alone.counts.tolist() == [[1], [1], [1]]


def test_there_is_no_negative_zero():
    found = collected([-0.0, -0.0], [0, 0], [])
    assert not np.signbit([found.low, found.high]).any()
    assert collected([-0.0], [0], [0.0]).counts[:, 0].tolist() == [0, 1, 0]


def test_histograms_of_parts_add_up():
    random = np.random.default_rng(0)
    values, classes = random.normal(size=90), random.integers(0, 3, 90)
    edges = np.unique(values[:20])
    parts = [collected(values[k : k + 30], classes[k : k + 30], edges) for k in (0, 30, 60)]
    total, whole = parts[0] + parts[1] + parts[2], collected(values, classes, edges)
    for name in ("totals", "counts", "low", "high"):
        np.testing.assert_array_equal(getattr(total, name), getattr(whole, name))


def test_a_class_that_is_new_has_no_rows():
    more = bg.Discrete("y", [-1, 0, 1, 2])
    found = collected([1.0, 2.0], [0, 2], [2.0]).grown({CLASS: more})
    assert found.request.given == more
    assert found.counts.tolist() == [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert found.totals.tolist() == [0, 1, 0, 1]


def test_requests_of_other_edges_are_others():
    one, other = (Histograms((COLUMN,), ((edge,),), CLASS) for edge in (0.0, 1.0))
    assert one != other
    assert one == Histograms((COLUMN,), ((0.0,),), CLASS)
