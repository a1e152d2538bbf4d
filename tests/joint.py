"""The whole joint distribution as one list of worlds, and answers read off it.

Every configuration of the variables is a row of codes with a weight: the product of the entries
that the tables have there. Answers are sums and maxima over that list. Nothing is eliminated,
ordered or cached, and nothing of the library is used but the tables and states that a model was
made from.

The second half draws models and evidence that are harder than typical ones: one-state variables,
zeros, deterministic tables, several roots and parts without a path between them.
"""

from __future__ import annotations

import math

import numpy as np

import bayesgraph as bg


class Joint:
    """All configurations of discrete variables with the product of some tables.

    Parameters
    ----------
    variables : sequence of Discrete
    tables : list of (scope, ndarray)
    """

    def __init__(self, variables, tables):
        self.variables = list(variables)
        self.names = [v.name for v in self.variables]
        self.tables = [(list(scope), np.asarray(table, dtype=float)) for scope, table in tables]
        cards = [len(v.states) for v in self.variables]
        self.codes = np.indices(cards).reshape(len(cards), -1)
        self.column = dict(zip(self.variables, self.codes, strict=True))
        self.weights = np.ones(self.codes.shape[1])
        for scope, table in self.tables:
            self.weights = self.weights * self.entries(scope, table)

    @classmethod
    def of(cls, model):
        """Return the joint of a network of tables, or of a factor graph with its exponents."""
        if isinstance(model, bg.BayesianNetwork):
            return cls(model.variables, [(cpd.scope, cpd.values) for cpd in model.cpds])
        tables = []
        for term in model.terms:
            table = np.asarray(term.source.values, dtype=float)
            powers = np.broadcast_to(term.exponent, table.shape)
            powered = np.where(powers == 0, 1.0, table ** np.where(powers == 0, 1.0, powers))
            tables.append((term.scope, powered))
        return cls(model.variables, tables)

    def entries(self, scope, table):
        """Return what a table says in every world."""
        return table[tuple(self.column[v] for v in scope)]

    def changed(self, number, table):
        """Return the joint with another table in the place of one."""
        tables = list(self.tables)
        tables[number] = (tables[number][0], table)
        return Joint(self.variables, tables)

    def variable(self, name):
        """Return the variable of a name."""
        return self.variables[self.names.index(name)]

    def says(self, name, value):
        """Return the likelihood that a finding gives to every world."""
        variable = self.variable(name)
        states = [(type(state), state) for state in variable.states]
        if is_missing(value):
            return np.ones(len(self.weights))
        if isinstance(value, dict):
            numbers = np.zeros(len(states))
            for state, number in value.items():
                numbers[states.index((type(state), state))] = number
        elif isinstance(value, np.ndarray):
            numbers = value
        else:
            numbers = np.zeros(len(states))
            numbers[states.index((type(value), value))] = 1.0
        return np.asarray(numbers, dtype=float)[self.column[variable]]

    def given(self, evidence):
        """Return the weights of all worlds together with the evidence."""
        weights = self.weights
        for name, value in evidence.items():
            weights = weights * self.says(name, value)
        return weights

    def mass(self, evidence):
        """Return the sum of the product that agrees with the evidence."""
        return math.fsum(self.given(evidence))

    def log_mass(self, evidence):
        """Return the natural log of `mass`."""
        mass = self.mass(evidence)
        return math.log(mass) if mass > 0 else -math.inf

    def table(self, names, evidence):
        """Return the mass with every configuration of some variables, in the order given."""
        return self.sums(names, self.given(evidence))

    def sums(self, names, weights):
        """Return sums of weights of worlds by the states of some variables."""
        variables = [self.variable(name) for name in names]
        shape = [len(v.states) for v in variables]
        table = np.zeros(shape)
        np.add.at(table, tuple(self.column[v] for v in variables), weights)
        return table

    def posterior(self, names, evidence):
        """Return the joint posterior of some variables, in the order given."""
        table = self.table(names, evidence)
        return table / table.sum()

    def best(self, evidence):
        """Return the weights of all possible worlds, the largest first."""
        weights = self.given(evidence)
        return np.sort(weights[weights > 0])[::-1]

    def weight_of(self, assignment, evidence):
        """Return the mass of the evidence together with some states."""
        weights = self.given(evidence)
        for name, state in assignment.items():
            weights = weights * self.says(name, state)
        return math.fsum(weights)


# ------------------------------------------------------------------------------- random models

STATES = (
    (False, True),
    ("no", "yes"),
    (3, 1, 2, 0),
    ("low", "mid", "high", "top"),
    (2.5, -2.5, 0.0),
    (True, 1, "1"),
    (("a", 1), "a", None.__class__.__name__),
    ("",),
)


def random_variable(random, name):
    """Return a variable of one to four states of one of several types."""
    states = STATES[random.integers(len(STATES))]
    return bg.Discrete(name, states[: 1 + int(random.integers(len(states)))])


def random_rows(random, shape, kind):
    """Return rows that sum to one: positive, with zeros, or with a single one each."""
    if kind == "deterministic":
        return np.eye(shape[-1])[random.integers(shape[-1], size=shape[:-1])]
    rows = random.dirichlet(np.ones(shape[-1]), size=shape[:-1])
    if kind == "zeros":
        holes = random.random(rows.shape) < 0.4
        holes[..., int(random.integers(shape[-1]))] = False
        rows = np.where(holes, 0.0, rows)
    return rows / rows.sum(axis=-1, keepdims=True)


def random_network(seed, *, most=12, worlds=1200, kinds=("positive", "zeros", "deterministic")):
    """Return a random network of tables, CPDs in random order, names of several types."""
    random = np.random.default_rng([seed, 17])
    names = ["a", 7, ("t", 1), "with space", "é", -3, "g", "h", "i", 2.5, "", "l"]
    cpds, known, total = [], [], 1
    for name in names[: 1 + int(random.integers(most))]:
        variable = random_variable(random, name)
        if total * len(variable.states) > worlds:
            continue
        total *= len(variable.states)
        n_parents = min(len(known), int(random.choice([0, 0, 1, 1, 2, 3])))
        parents = [known[i] for i in random.permutation(len(known))[:n_parents]]
        shape = (*(len(p.states) for p in parents), len(variable.states))
        kind = kinds[random.integers(len(kinds))]
        cpds.append(bg.TableCPD(variable, random_rows(random, shape, kind), parents))
        known.append(variable)
    return bg.BayesianNetwork([cpds[i] for i in random.permutation(len(cpds))])


def random_graph(seed):
    """Return a random factor graph with exponents of every kind and a few zeros."""
    random = np.random.default_rng([seed, 23])
    variables = [random_variable(random, name) for name in ("a", "b", 3, "d", ("e",))]
    sources, exponents = [], []
    for _ in range(int(random.integers(2, 7))):
        size = int(random.integers(1, 4))
        scope = [variables[i] for i in random.permutation(len(variables))[:size]]
        shape = tuple(len(v.states) for v in scope)
        values = random.gamma(1.0, 3.0, size=shape)
        values[random.random(shape) < 0.1] = 0.0
        sources.append(bg.Factor(scope, values))
        exponent = (None, 0.0, 0.5, 2.0, random.uniform(0, 2, shape))[random.integers(5)]
        exponents.append(exponent)
    return bg.FactorGraph(sources, exponents=exponents)


def random_evidence(random, joint, *, hard=0.35, soft=0.25):
    """Return evidence of all kinds that at least one possible world agrees with."""
    possible = np.flatnonzero(joint.weights > 0)
    world = possible[random.integers(len(possible))]
    evidence = {}
    for i in random.permutation(len(joint.variables)):
        variable = joint.variables[i]
        code = int(joint.column[variable][world])
        draw = random.random()
        if draw < hard:
            evidence[variable.name] = variable.states[code]
        elif draw < hard + soft:
            numbers = random.uniform(0.0, 2.0, len(variable.states))
            numbers[random.random(len(numbers)) < 0.25] = 0.0
            numbers[code] = random.uniform(0.1, 3.0)
            collide = len(set(variable.states)) < len(variable.states)
            pairs = dict(zip(variable.states, numbers.tolist(), strict=False))
            evidence[variable.name] = numbers if collide or random.random() < 0.3 else pairs
        elif draw > 0.9:
            evidence[variable.name] = (None, math.nan)[random.integers(2)]
    return evidence


def hard_names(evidence):
    """Return the names whose state is given."""
    return {
        name
        for name, value in evidence.items()
        if not is_missing(value) and not isinstance(value, (dict, np.ndarray))
    }


def is_missing(value):
    """Tell whether a value says that nothing was observed."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def same(a, b):
    """Tell whether two states are the same in type and value."""
    return type(a) is type(b) and a == b


def place(variable, value):
    """Return the place of a state by type and value."""
    return next(i for i, state in enumerate(variable.states) if same(state, value))
