"""Distributions over spanning trees against enumeration of all of them."""

import itertools
import math
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.learning.tree_posterior import SpanningTrees


def random_weights(random, n, scale):
    weights = random.normal(scale=scale, size=(n, n))
    return weights + weights.T


def all_trees(weights):
    """Return the log weight of every spanning tree by its edges."""
    n = len(weights)
    pairs = list(itertools.combinations(range(n), 2))
    found = {}
    for edges in itertools.combinations(pairs, n - 1):
        graph = nx.Graph(edges)
        graph.add_nodes_from(range(n))
        if nx.is_connected(graph):
            found[edges] = math.fsum(weights[edge] for edge in edges)
    return found


def shares_of(trees):
    logs = np.array(list(trees.values()))
    weights = np.exp(logs - logs.max())
    return dict(zip(trees, weights / weights.sum(), strict=True))


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([0.1, 1.0, 10.0, 3000.0]))
def test_edges_equal_enumeration(seed, n, scale):
    weights = random_weights(np.random.default_rng(seed), n, scale)
    trees = SpanningTrees(weights)
    shares = shares_of(all_trees(weights))
    expected = np.zeros((n, n))
    for edges, share in shares.items():
        for i, j in edges:
            expected[i, j] += share
            expected[j, i] += share
    np.testing.assert_allclose(trees.edge_probabilities(), expected, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9])
def test_edges_of_equal_weights_are_equally_probable(n):
    trees = SpanningTrees(np.zeros((n, n)))
    expected = np.where(np.eye(n), 0.0, 2.0 / n)
    np.testing.assert_allclose(trees.edge_probabilities(), expected, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.3, 1.5])
def test_draws_follow_the_distribution(scale):
    random = np.random.default_rng(7)
    weights = random_weights(random, 5, scale)
    shares = shares_of(all_trees(weights))
    trees, n = SpanningTrees(weights), 4000
    drawn = Counter(tuple(trees.draw(random)) for _ in range(n))
    assert set(drawn) <= set(shares)
    often = {edges: share for edges, share in shares.items() if share * n > 5}
    counts = np.array([drawn[edges] for edges in often])
    expected = n * np.array(list(often.values()))
    statistic = np.sum((counts - expected) ** 2 / expected)
    assert statistic < len(often) + 5 * math.sqrt(2 * len(often))


def test_thousands_of_nats():
    # As they come out of many rows: the best tree has all the probability.
    random = np.random.default_rng(0)
    weights = random_weights(random, 40, 1e5)
    trees = SpanningTrees(weights)
    graph = nx.from_numpy_array(weights)
    best = {(min(e), max(e)) for e in nx.maximum_spanning_edges(graph, data=False)}
    assert set(trees.draw(random)) == best
    found = trees.edge_probabilities()
    assert {(i, j) for i, j in zip(*np.nonzero(found > 0.5), strict=True) if i < j} == best
    assert found.sum() / 2 == pytest.approx(39)


def test_small_and_equal():
    assert SpanningTrees(np.zeros((1, 1))).draw(np.random.default_rng(0)) == []
    assert SpanningTrees(np.zeros((2, 2))).draw(np.random.default_rng(0)) == [(0, 1)]
    weights = random_weights(np.random.default_rng(1), 12, 2.0)
    moved = SpanningTrees(weights - 1e6)
    np.testing.assert_allclose(
        moved.edge_probabilities(), SpanningTrees(weights).edge_probabilities(), atol=1e-8
    )
