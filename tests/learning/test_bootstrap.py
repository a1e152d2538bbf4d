"""Confidence in arcs: shares of samples, the averaged network, and its threshold."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structures import make_frame

import bayesgraph as bg
from bayesgraph.core.errors import DataError
from bayesgraph.learning.bootstrap import significance_threshold


@pytest.fixture(scope="module")
def frame():
    return make_frame(5, 4, 0, n=300, strength=1.0)


@pytest.fixture(scope="module")
def found(frame):
    return bg.arc_confidence(frame, n_samples=5)


def test_shares_count_samples(found, frame):
    assert found.n_samples == 5
    for (a, b), share in found.edges.items():
        assert share * 5 == pytest.approx(round(share * 5))
        both = found.arcs.get((a, b), 0.0) + found.arcs.get((b, a), 0.0)
        assert both == pytest.approx(share)
    assert list(found.edges.values()) == sorted(found.edges.values(), reverse=True)
    again = bg.arc_confidence(frame, n_samples=5)
    assert again.arcs == found.arcs
    assert again.network == found.network
    assert bg.arc_confidence(frame, n_samples=5, random_state=1).arcs != found.arcs


def test_the_averaged_network_has_the_edges_over_the_threshold(found):
    for threshold in (0.0, 0.3, 0.6, 1.0):
        structure = found.structure(threshold)
        kept = {frozenset(edge) for edge, share in found.edges.items() if share > threshold}
        assert {frozenset(arc) for arc in structure.arcs} == kept
        assert nx.is_directed_acyclic_graph(structure.graph)
        assert all(share > threshold for share in structure.scores.values())
    assert set(found.network.graph.edges) == set(found.structure().arcs)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("method", ["tabu", "pc", "chow_liu", bg.learning.unrestricted])
def test_rules_hold_in_samples_and_averaged(frame, method):
    rules = {"required": [("y", "d0")], "forbidden": [("d1", "y"), ("y", "d1")]}
    found = bg.arc_confidence(frame, n_samples=2, method=method, threshold=0.0, **rules)
    assert found.arcs["y", "d0"] == 1.0
    assert ("y", "d0") in found.network.graph.edges
    assert ("y", "d1") not in found.arcs


def test_rules_of_iterators_hold_in_every_sample(frame):
    rules = {"required": [("y", "d0")], "forbidden": [("d1", "y"), ("y", "d1")]}
    found = bg.arc_confidence(frame, n_samples=2, **{k: iter(rule) for k, rule in rules.items()})
    assert found.arcs == bg.arc_confidence(frame, n_samples=2, **rules).arcs


def test_columns_of_both_kinds_and_weights():
    frame = make_frame(2, 2, 2, n=200, strength=1.2)
    weights = np.arange(200) % 3
    found = bg.arc_confidence(frame, n_samples=3, sample_weight=weights)
    kind = {v.name: isinstance(v, bg.Continuous) for v in found.network.variables}
    assert found.arcs
    assert all(kind[b] or not kind[a] for a, b in found.arcs)


def test_it_prints_and_draws_the_shares(found, tmp_path):
    text = repr(found)
    assert "5 samples" in text
    assert "this way" in text
    path = tmp_path / "found.dot"
    found.render(path, states=False)
    drawn = path.read_text()
    assert drawn == bg.pictures.to_dot(found, states=False)
    arc, share = next(iter(found.structure().scores.items()))
    assert f"{arc[0]} → {arc[1]}: {share:.6g}" in drawn


@given(st.lists(st.sampled_from([i / 10 for i in range(11)]), min_size=1, max_size=12))
def test_the_threshold_is_nearest_to_a_step(shares):
    shares = np.array(shares)
    ascending = np.sort(shares)
    grid = np.unique([0.0, *shares[shares < 1], 1.0])
    below = [(shares <= x + 1e-12).mean() for x in grid[:-1]]

    def distance(level):
        return float(np.sum(np.diff(grid) * np.abs(np.array(below) - level)))

    found = significance_threshold(shares)
    assert found in shares
    # Levels that lead to this threshold: one of them is as near as any.
    levels = np.linspace(0, 1, 101)
    best = min(distance(level) for level in [*levels, *below])
    at = [b for b in below if ascending[max(round(b * len(shares)), 1) - 1] == found]
    assert min(map(distance, at)) == pytest.approx(best, abs=1e-3)


def test_rows_have_to_be_in_memory(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\nx,y\nx,z\n")
    with pytest.raises(DataError, match="draws from rows in memory"):
        bg.arc_confidence(bg.open_dataset(tmp_path))
    with pytest.raises(DataError, match="n_samples= is a number of samples, 1 or more"):
        bg.arc_confidence({"a": [0, 1], "b": [0, 1]}, n_samples=0)


@pytest.mark.parametrize("threshold", ["a", np.nan, -0.1, 2])
def test_a_threshold_is_a_share(threshold, found, frame):
    with pytest.raises(DataError, match="threshold= is a share of the samples"):
        bg.arc_confidence(frame, n_samples=2, threshold=threshold)
    with pytest.raises(DataError, match="threshold= is a share of the samples"):
        found.structure(threshold)
