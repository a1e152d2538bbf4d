"""Random networks with canonical CPDs, and their tables, written down from the definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
from joint import Joint, random_rows

import bayesgraph as bg

KINDS = ("noisy_or", "noisy_max", "logistic", "weights of few values", "function", "count")


def random_cpd(random, kind, variable, parents):
    """Return a canonical CPD of a kind; that of a noisy or has a child of two states."""
    cards, n = [p.cardinality for p in parents], variable.cardinality
    if kind == "noisy_or" and n == 2:
        numbers = [random.random() if c == 2 else random.random(c) for c in cards]
        return bg.NoisyOrCPD(variable, numbers, parents, leak=random.choice([0.0, 0.2]))
    if kind in ("noisy_or", "noisy_max"):
        tables = [random_rows(random, (c, n), "zeros") for c in cards]
        return bg.NoisyMaxCPD(variable, tables, parents, random_rows(random, (n,), "zeros"))
    if kind == "logistic":
        weights = [random.normal(size=(c, n)) for c in cards]
        return bg.LogisticCPD(variable, random.normal(size=n), weights, parents)
    if kind == "weights of few values":
        weights = [random.integers(-1, 2, size=(c, n)) for c in cards]
        return bg.LogisticCPD(variable, random.normal(size=n), weights, parents)
    if kind == "count":
        places = {p.name: {s: i for i, s in enumerate(p.states)} for p in parents}
        total = sum(c - 1 for c in cards)
        return bg.DeterministicCPD.fold(
            variable,
            lambda at, state: (at[0] + 1, at[1] + list(places.values())[at[0]][state]),
            parents,
            start=(0, 0),
            finish=lambda at: variable.states[min(at[1] * n // (total + 1), n - 1)],
        )
    found = dict(
        zip(
            itertools.product(*[p.states for p in parents]),
            random.integers(n, size=math.prod(cards)).tolist(),
            strict=True,
        )
    )
    return bg.DeterministicCPD(variable, lambda *states: variable.states[found[states]], parents)


def random_network(seed, kinds=KINDS, *, n_roots=5, n_children=2, numbers=False):
    """Return roots, a chain of canonical children of many parents, and a table below them."""
    random = np.random.default_rng([seed, 31])
    known = [bg.Discrete(f"r{i}", range(int(random.integers(2, 4)))) for i in range(n_roots)]
    cpds = [bg.TableCPD(known[0], random_rows(random, (known[0].cardinality,), "positive"))]
    for before, variable in itertools.pairwise(known):
        linked = random.random() < 0.3
        shape = (*[before.cardinality] * linked, variable.cardinality)
        cpds.append(bg.TableCPD(variable, random_rows(random, shape, "zeros"), [before] * linked))
    for i in range(n_children):
        variable = bg.Discrete(f"c{i}", ["no", "maybe", "yes"][: int(random.integers(2, 4))])
        n = int(random.integers(4, len(known) + 1))
        parents = [known[j] for j in random.permutation(len(known))[:n]]
        cpds.append(random_cpd(random, kinds[random.integers(len(kinds))], variable, parents))
        known.append(variable)
    last = bg.Discrete("last", ["no", "yes"])
    above = known[-2:]
    shape = (*(v.cardinality for v in above), 2)
    cpds.append(bg.TableCPD(last, random_rows(random, shape, "positive"), above))
    if numbers:
        x, y = bg.Continuous("x"), bg.Continuous("y")
        cards = above[-1].cardinality
        cpds.append(
            bg.GaussianCPD(x, random.normal(size=cards), 1.0 + random.random(cards), above[-1:])
        )
        cpds.append(bg.GaussianCPD(y, 0.5, 1.5, [x], [random.normal()]))
    return bg.BayesianNetwork([cpds[i] for i in random.permutation(len(cpds))])


def joint_of(network):
    """Return the joint of a discrete network, the tables of which are written down here."""
    return Joint(network.variables, [(cpd.scope, table_of(cpd)) for cpd in network.cpds])


def table_of(cpd):
    """Return the table of a CPD from its definition, one joint state after the other."""
    if isinstance(cpd, bg.TableCPD):
        return cpd.values
    shape = [v.cardinality for v in cpd.scope]
    table = np.zeros(shape)
    for codes in itertools.product(*map(range, shape[:-1])):
        table[codes] = _row(cpd, codes)
    return table


def _row(cpd, codes):
    n = cpd.variable.cardinality
    if isinstance(cpd, bg.NoisyOrCPD):
        fails = [1 - p[code] for p, code in zip(cpd.probabilities, codes, strict=True)]
        absent = (1 - cpd.leak[1]) * math.prod(fails)
        return [absent, 1 - absent]
    if isinstance(cpd, bg.NoisyMaxCPD):
        rows = [cpd.leak, *(t[code] for t, code in zip(cpd.influences, codes, strict=True))]
        row = np.zeros(n)
        for effects in itertools.product(range(n), repeat=len(rows)):
            row[max(effects)] += math.prod(r[e] for r, e in zip(rows, effects, strict=True))
        return row
    if isinstance(cpd, bg.LogisticCPD):
        terms = [w[code] for w, code in zip(cpd.weights, codes, strict=True)]
        weights = [math.exp(cpd.intercept[y] + sum(t[y] for t in terms)) for y in range(n)]
        return np.array(weights) / sum(weights)
    state = 0
    for step, code in zip(cpd.steps, codes, strict=True):
        state = step[state, code]
    return np.eye(n)[state]
