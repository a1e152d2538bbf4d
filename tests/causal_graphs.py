"""Causal graphs at random, networks of them with latent variables, and separation by paths."""

import itertools

import networkx as nx
import numpy as np

import bayesgraph as bg


def random_dag(seed, n=6, share=0.4):
    """Return a random graph and its nodes in random order."""
    random = np.random.default_rng(seed)
    order = [f"v{i}" for i in random.permutation(n)]
    arcs = [(a, b) for a, b in itertools.combinations(order, 2) if random.random() < share]
    nodes = [f"v{i}" for i in range(n)]
    dag = nx.DiGraph()
    dag.add_nodes_from(nodes)
    dag.add_edges_from(arcs)
    return dag


def random_graph(seed, n=5, share=0.4, confounded=0.3):
    """Return a random causal graph with unobserved common causes."""
    random = np.random.default_rng([seed, 1])
    dag = random_dag(seed, n, share)
    pairs = [p for p in itertools.combinations(dag, 2) if random.random() < confounded]
    return bg.CausalGraph(tuple(dag.edges), tuple(pairs), tuple(dag))


def random_network(graph, seed, cards=(2, 3)):
    """Return a positive network of a graph's variables and a latent one for each pair."""
    random = np.random.default_rng([seed, 2])
    cpds, variables = [], {}
    above = {node: [a for a, b in graph.arcs if b == node] for node in graph.nodes}
    for pair in graph.confounded:
        latent = bg.Discrete(("latent", *pair), range(3))
        cpds.append(bg.TableCPD(latent, random.dirichlet(np.ones(3))))
        variables[latent.name] = latent
        for name in pair:
            above[name].append(latent.name)
    for node in graph.nodes:
        variables[node] = bg.Discrete(node, range(int(random.choice(cards))))
    for node in graph.nodes:
        parents = [variables[name] for name in above[node]]
        shape = [p.cardinality for p in parents]
        table = random.dirichlet(np.ones(variables[node].cardinality), size=shape)
        cpds.append(bg.TableCPD(variables[node], 0.9 * table + 0.1 / table.shape[-1], parents))
    return bg.BayesianNetwork(cpds)


def subsets(items):
    """Return all subsets, small ones first, in the order of the items."""
    items = list(items)
    return [c for k in range(len(items) + 1) for c in itertools.combinations(items, k)]


def minimal(sets):
    """Return the sets of which no other one is a subset."""
    return [s for s in sets if not any(set(other) < set(s) for other in sets)]
