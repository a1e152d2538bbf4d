"""Networks too large to be enumerated, and all that some questions answer about them."""

import numpy as np

import bayesgraph as bg


def bits(model, evidence):
    """Return everything that some questions answer, as bytes and plain values."""
    found = model.marginals(evidence)
    free = list(found)
    answers = [found.log_evidence, model.log_probability(evidence)]
    answers += [posterior.probabilities.tobytes() for posterior in found.values()]
    answers += [model.query(name, evidence).probabilities.tobytes() for name in free]
    if len(free) > 1:
        answers.append(model.query([free[-1], free[0]], evidence).probabilities.tobytes())
        answers.append(dict(model.most_probable(evidence, over=free[:2])))
    answers += [dict(a) for a in model.k_most_probable(3, evidence)]
    drawn = model.sample(4, evidence, random_state=0)
    answers.append({name: column.tolist() for name, column in drawn.items()})
    return answers


def large_network(seed, n=30):
    """Return a network too large to be enumerated, of small width."""
    random = np.random.default_rng(seed)
    variables = [bg.Discrete(f"v{i}", range(int(random.integers(2, 4)))) for i in range(n)]
    cpds = []
    for i, v in enumerate(variables):
        near = variables[max(0, i - 4) : i]
        parents = [near[j] for j in random.permutation(len(near))[: int(random.integers(0, 3))]]
        shape = tuple(p.cardinality for p in parents)
        cpds.append(bg.TableCPD(v, random.dirichlet(np.ones(v.cardinality), shape), parents))
    return bg.BayesianNetwork(cpds)


def large_evidence(seed, network):
    random = np.random.default_rng(seed)
    evidence = {}
    for v in network.variables:
        draw = random.random()
        if draw < 0.25:
            evidence[v.name] = int(random.integers(v.cardinality))
        elif draw < 0.35:
            evidence[v.name] = random.uniform(0.1, 1.0, v.cardinality)
    return evidence
