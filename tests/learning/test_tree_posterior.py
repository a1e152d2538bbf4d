"""The posterior over trees: weights by their definition, and all trees enumerated."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.learning import averaged_tan, estimate_network
from bayesgraph.learning.scores import log_marginal_ratio
from bayesgraph.learning.tree_posterior import default_ess, tree_posterior

NAMES = "abcde"


def log_dirichlet_multinomial(counts, prior):
    """Return the log probability of a sequence of draws with these counts."""
    n, total = sum(counts), prior * len(counts)
    return (
        math.lgamma(total)
        - math.lgamma(n + total)
        + math.fsum(math.lgamma(c + prior) - math.lgamma(prior) for c in counts)
    )


def log_bdeu(frame, child, parents, ess):
    """Return the log marginal likelihood of a column given others, family by definition."""
    states = {name: sorted(set(frame[name])) for name in [child, *parents]}
    configurations = list(itertools.product(*(states[p] for p in parents)))
    cells = len(states[child]) * len(configurations)
    rows = list(zip(*(frame[name] for name in [*parents, child]), strict=True))
    return math.fsum(
        log_dirichlet_multinomial([rows.count((*u, x)) for x in states[child]], ess / cells)
        for u in configurations
    )


def data(n=90, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(2, size=n)
    a = (random.random(n) < 0.3 + 0.4 * y).astype(int)
    b = np.where(random.random(n) < 0.5, a, random.integers(3, size=n))
    c = np.where(random.random(n) < 0.3, b % 2, random.integers(2, size=n))
    d = random.integers(2, size=n)
    e = np.where(random.random(n) < 0.25, d, random.integers(2, size=n))
    columns = dict(zip(NAMES, (a, b, c, d, e), strict=True))
    return {name: [int(v) for v in column] for name, column in columns.items()}, y.tolist()


def source_of(columns, y, categorical="all"):
    return bg.learning.count_source({**columns, "y": y}, target="y", categorical=categorical)


def trees_over(names):
    pairs = list(itertools.combinations(range(len(names)), 2))
    for edges in itertools.combinations(pairs, len(names) - 1):
        graph = nx.Graph(edges)
        graph.add_nodes_from(range(len(names)))
        if nx.is_connected(graph):
            yield edges, graph


@pytest.mark.parametrize("ess", [0.5, 1.0, 20.0])
def test_a_ratio_is_the_difference_of_two_bdeu_scores(ess):
    columns, y = data()
    counts = np.zeros((2, 2, 3))
    np.add.at(counts, (y, columns["a"], columns["b"]), 1.0)
    frame = {**columns, "y": y}
    expected = log_bdeu(frame, "b", ["y", "a"], ess) - log_bdeu(frame, "b", ["y"], ess)
    assert float(log_marginal_ratio(counts, ess)) == pytest.approx(expected)
    # The direction of the edge does not matter.
    other = log_bdeu(frame, "a", ["y", "b"], ess) - log_bdeu(frame, "a", ["y"], ess)
    assert other == pytest.approx(expected)
    both = log_marginal_ratio(np.stack([counts, 2 * counts]), ess)
    assert both[0] == pytest.approx(expected)


def test_edge_probabilities_equal_enumeration_of_all_networks():
    columns, y = data()
    frame = {**columns, "y": y}
    source = source_of(columns, y)
    posterior, order = tree_posterior(source, bg.Smoothing(), 3.0)
    assert order.tolist() == [0, 1, 2, 3, 4]
    logs, trees = [], []
    for edges, graph in trees_over(NAMES):
        parents = {v: ["y"] for v in NAMES}
        for above, below in nx.bfs_edges(graph, 0):
            parents[NAMES[below]].append(NAMES[above])
        logs.append(math.fsum(log_bdeu(frame, v, p, 3.0) for v, p in parents.items()))
        trees.append(edges)
    assert len(trees) == 125
    shares = np.exp(np.array(logs) - max(logs))
    shares /= shares.sum()
    expected = np.zeros((5, 5))
    for edges, share in zip(trees, shares, strict=True):
        for i, j in edges:
            expected[[i, j], [j, i]] += share
    np.testing.assert_allclose(posterior.edge_probabilities(), expected, atol=1e-10)
    assert 0.01 < np.sort(shares)[-5] < 0.3  # no single tree decides


@pytest.mark.slow
def test_mixed_types_equal_enumeration_of_valid_trees():
    columns, y = data(60)
    random = np.random.default_rng(1)
    columns["c"] = (np.array(columns["c"]) + random.normal(size=60)).tolist()
    columns["a"] = (random.normal(size=60) * 0.3 + np.array(columns["c"])).tolist()
    source = source_of(columns, y, categorical=["b", "d", "e"])
    posterior, order = tree_posterior(source, bg.Smoothing(), 1.0)
    assert order.tolist() == [1, 3, 4, 0, 2]
    assert posterior.n_discrete == 3
    logs = {}
    for edges, graph in trees_over(NAMES):
        if nx.is_connected(graph.subgraph([0, 1, 2])):
            logs[edges] = math.fsum(posterior.log_weights[edge] for edge in edges)
    peak = max(logs.values())
    shares = {edges: math.exp(value - peak) for edges, value in logs.items()}
    total = math.fsum(shares.values())
    expected = np.zeros((5, 5))
    for edges, share in shares.items():
        for i, j in edges:
            expected[[i, j], [j, i]] += share / total
    np.testing.assert_allclose(posterior.edge_probabilities(), expected, atol=1e-12)
    drawn = [posterior.draw(random) for _ in range(4000)]
    assert set(drawn) <= set(shares)
    for edges in sorted(shares, key=lambda e: -shares[e])[:10]:
        share = shares[edges] / total
        assert abs(drawn.count(edges) / 4000 - share) < 5 * math.sqrt(share / 4000)


def test_gaussian_weights_are_the_bic_of_an_edge():
    random = np.random.default_rng(3)
    y = np.repeat([0, 1], 200)
    u = random.normal(size=400)
    v = np.where(y == 0, 0.8, -0.2) * u + random.normal(size=400)
    source = source_of({"u": u.tolist(), "v": v.tolist()}, y.tolist(), categorical=[])
    posterior, _ = tree_posterior(source, bg.Smoothing(shrinkage=0.0, var_smoothing=0.0), 1.0)
    rho = [np.corrcoef(u[y == k], v[y == k])[0, 1] for k in (0, 1)]
    gain = sum(-0.5 * 200 * math.log(1 - r**2) for r in rho)
    assert posterior.log_weights[0, 1] == pytest.approx(gain - math.log(400))


def test_the_mixture_of_drawn_trees():
    columns, y = data()
    source = source_of(columns, y)
    mixture, probabilities = averaged_tan(
        source, bg.Smoothing(), n_trees=400, ess=3.0, random=np.random.default_rng(0)
    )
    np.testing.assert_allclose(
        probabilities, tree_posterior(source, bg.Smoothing(), 3.0)[0].edge_probabilities()
    )
    assert mixture.weights.sum() == pytest.approx(1.0)
    assert (np.diff(mixture.weights) <= 0).all()
    graphs = {frozenset(network.graph.edges) for network in mixture.networks}
    assert len(graphs) == len(mixture.networks)
    frequency = np.zeros((5, 5))
    for network, weight in zip(mixture.networks, mixture.weights, strict=True):
        assert network.graph.out_degree("y") == 5
        for parent, child in network.graph.edges:
            if parent != "y":
                i, j = NAMES.index(parent), NAMES.index(child)
                frequency[[i, j], [j, i]] += weight
        # Each is what is estimated for that tree alone.
        structure = bg.learning.Structure(network.variables, tuple(network.graph.edges))
        assert network == estimate_network(structure, source, bg.Smoothing())
    assert np.abs(frequency - probabilities).max() < 0.12
    # Both directions of an edge together have its exact probability.
    arcs = mixture.arc_probabilities
    for i, j in itertools.combinations(range(5), 2):
        pair = (NAMES[i], NAMES[j])
        total = arcs.get(pair, 0.0) + arcs.get(pair[::-1], 0.0)
        assert total == pytest.approx(probabilities[i, j]) or total == 0.0
    # Networks that agree on a parent share the CPD.
    assert len({id(cpd) for cpd in mixture.cpds}) < len(mixture.cpds) / 2


def test_constant_columns_stay_outside():
    columns, y = data()
    columns["b"] = [1] * len(y)
    source = source_of(columns, y)
    _, probabilities = averaged_tan(
        source, bg.Smoothing(), n_trees=3, ess=1.0, random=np.random.default_rng(0)
    )
    assert not probabilities[1].any()
    assert probabilities.sum() / 2 == pytest.approx(3)


def test_the_default_prior_is_half_a_row_a_cell():
    a, b, c = (bg.Discrete(name, range(n)) for name, n in (("a", 2), ("b", 3), ("c", 5)))
    assert default_ess([a, b, bg.Continuous("u")], 4) == pytest.approx(0.5 * 4 * 6)
    assert default_ess([a, b, c], 2) == pytest.approx(0.5 * 2 * (6 + 10 + 15) / 3)
    assert default_ess([a], 4) == 1.0
    assert default_ess([], 2) == 1.0
