"""Brute force: every answer of the engine, computed from the definitions.

Nothing here uses the library's factors or its inference. A model is a list of terms: local
distributions or tables, each with an exponent. The oracle walks through every joint configuration
of the discrete variables, multiplies the numbers it reads, cell by cell, and, for the continuous
variables, writes down the joint normal distribution from the structural equations and conditions
it with the textbook formula. Probabilities stay in linear space except for the densities.

A Gaussian p = N(x; mu, v) to the power w is N(x; mu, v / w) times
(2 pi v)^((1 - w) / 2) / sqrt(w), which turns a powered network into an ordinary one with another
weight for each configuration.

The second half draws random models and random evidence from a seeded generator.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

import bayesgraph as bg
from bayesgraph.core import Evidence

LOG_2PI = math.log(2.0 * math.pi)


# ------------------------------------------------------------------------------- the oracle


@dataclass(frozen=True)
class World:
    """One configuration of the discrete variables and what is left of the continuous ones.

    Attributes
    ----------
    codes : dict from Discrete to int
    weight : float
        Probability of the configuration times the likelihood of the evidence.
    free : list of Continuous
        Unobserved continuous variables, with their mean and covariance given everything.
    """

    codes: dict
    weight: float
    free: list
    mean: np.ndarray
    covariance: np.ndarray

    @property
    def peak(self) -> float:
        """The weight times the density of the continuous variables at their mean."""
        n = len(self.free)
        if not n:
            return self.weight
        _, log_det = np.linalg.slogdet(self.covariance)
        return self.weight * math.exp(-0.5 * (n * LOG_2PI + log_det))


class Oracle:
    """Answers by enumeration.

    Parameters
    ----------
    terms : list of (TableCPD, GaussianCPD or Factor, exponent)
        The exponent broadcasts against the term's discrete axes.
    """

    def __init__(self, terms):
        self.tables, self.gaussians = [], []
        for source, exponent in terms:
            if isinstance(source, bg.GaussianCPD):
                shape = source.mean.shape
                self.gaussians.append((source, np.broadcast_to(exponent, shape)))
            else:
                self.tables.append((source, np.broadcast_to(exponent, source.values.shape)))
        scopes = [source.scope for source, _ in terms]
        variables = list(dict.fromkeys(v for scope in scopes for v in scope))
        self.discrete = [v for v in variables if isinstance(v, bg.Discrete)]
        self.continuous = self._parents_first()
        self.by_name = {v.name: v for v in variables}
        self._prior = [self._world(codes) for codes in self._configurations()]

    @classmethod
    def of(cls, network):
        """Return the oracle of a Bayesian network."""
        return cls([(cpd, 1.0) for cpd in network.cpds])

    def _configurations(self):
        for codes in itertools.product(*(range(v.cardinality) for v in self.discrete)):
            yield dict(zip(self.discrete, codes, strict=True))

    def _parents_first(self):
        waiting = {cpd.variable: set(cpd.continuous_parents) for cpd, _ in self.gaussians}
        done = []
        while waiting:
            ready = [v for v, parents in waiting.items() if parents <= set(done)]
            done += ready
            for v in ready:
                del waiting[v]
        return done

    def _world(self, codes):
        weight = 1.0
        for source, exponent in self.tables:
            cell = tuple(codes[v] for v in source.scope)
            value, power = float(source.values[cell]), float(exponent[cell])
            weight *= 1.0 if power == 0 else value**power
        cpd_of = {cpd.variable: (cpd, exponent) for cpd, exponent in self.gaussians}
        n = len(self.continuous)
        mean, covariance = np.zeros(n), np.zeros((n, n))
        for i, variable in enumerate(self.continuous):
            cpd, exponent = cpd_of[variable]
            cell = tuple(codes[p] for p in cpd.discrete_parents)
            power, variance = float(exponent[cell]), float(cpd.variance[cell])
            slopes = np.zeros(i)
            for j, parent in enumerate(cpd.continuous_parents):
                slopes[self.continuous.index(parent)] = cpd.coefficients[(*cell, j)]
            weight *= (2 * math.pi * variance) ** ((1 - power) / 2) / math.sqrt(power)
            mean[i] = cpd.mean[cell] + slopes @ mean[:i]
            covariance[i, :i] = covariance[:i, i] = covariance[:i, :i] @ slopes
            covariance[i, i] = slopes @ covariance[:i, :i] @ slopes + variance / power
        return World(codes, weight, self.continuous, mean, covariance)

    def worlds(self, evidence=None):
        """Return every configuration that agrees with the evidence, a mapping from name to value.

        A value is a state, a number, None (not observed) or a list of likelihoods.
        """
        numbers, agreeing = self._agreeing(evidence)
        return [self._conditioned(world, weight, numbers) for world, weight in agreeing]

    def _agreeing(self, evidence):
        """Return the observed numbers, and each world with its weight given the states."""
        hard, soft, numbers = {}, {}, {}
        for name, value in (evidence or {}).items():
            variable = self.by_name[name]
            if value is None:
                continue
            if isinstance(value, list):
                soft[variable] = value
            elif isinstance(variable, bg.Discrete):
                hard[variable] = position(variable, value)
            else:
                numbers[self.continuous.index(variable)] = value
        result = []
        for world in self._prior:
            if any(world.codes[v] != code for v, code in hard.items()):
                continue
            weight = world.weight
            for variable, likelihood in soft.items():
                weight *= likelihood[world.codes[variable]]
            result.append((world, weight))
        return numbers, result

    def _conditioned(self, world, weight, numbers):
        if not numbers:
            return World(world.codes, weight, world.free, world.mean, world.covariance)
        seen = list(numbers)
        free = [i for i in range(len(self.continuous)) if i not in numbers]
        mean, covariance = world.mean[free], world.covariance[free][:, free]
        gap = np.array(list(numbers.values())) - world.mean[seen]
        inner = world.covariance[seen][:, seen]
        cross = world.covariance[free][:, seen]
        gain = np.linalg.solve(inner, cross.T).T
        weight *= self._density(world, numbers)
        mean = mean + gain @ gap
        covariance = covariance - gain @ cross.T
        names = [self.continuous[i] for i in free]
        return World(world.codes, weight, names, mean, covariance)

    @staticmethod
    def _density(world, numbers):
        """Return the density of the observed numbers in a world."""
        seen = list(numbers)
        gap = np.array(list(numbers.values())) - world.mean[seen]
        return normal_density(gap, world.covariance[seen][:, seen])

    def partition(self):
        """Return the sum (integral) over everything: 1 for a Bayesian network."""
        return math.fsum(world.weight for world in self._prior)

    def probability(self, evidence=None):
        """Return the probability (density) of the evidence."""
        return math.fsum(w.weight for w in self.worlds(evidence)) / self.partition()

    def log_probability(self, evidence=None):
        """Return the natural log of the probability (density) of the evidence."""
        total = self.probability(evidence)
        return math.log(total) if total > 0 else -math.inf

    def joint(self, targets, evidence=None):
        """Return P(targets, evidence) up to the partition, one axis for each discrete target."""
        variables = [self.by_name[name] for name in targets]
        table = np.zeros([v.cardinality for v in variables])
        numbers, agreeing = self._agreeing(evidence)
        for world, weight in agreeing:
            if numbers:
                weight *= self._density(world, numbers)
            table[tuple(world.codes[v] for v in variables)] += weight
        return table

    def posterior(self, targets, evidence=None):
        """Return P(targets | evidence), one axis for each discrete target."""
        table = self.joint(targets, evidence)
        return table / table.sum()

    def moments(self, targets, evidence=None, given=None):
        """Return mean and covariance of continuous targets given evidence and discrete codes."""
        variables = [self.by_name[name] for name in targets]
        weights, means, covariances = [], [], []
        for world in self.worlds(evidence):
            if any(world.codes[self.by_name[n]] != code for n, code in (given or {}).items()):
                continue
            at = [world.free.index(v) for v in variables]
            weights.append(world.weight)
            means.append(world.mean[at])
            covariances.append(world.covariance[np.ix_(at, at)])
        share = np.array(weights) / math.fsum(weights)
        mean = share @ np.array(means)
        spread = np.array(means) - mean
        covariance = np.einsum("k,kij->ij", share, np.array(covariances))
        return mean, covariance + np.einsum("k,ki,kj->ij", share, spread, spread)

    def density(self, target, x, evidence=None):
        """Return p(target = x | evidence) of a continuous variable."""
        variable = self.by_name[target]
        total = top = 0.0
        for world in self.worlds(evidence):
            i = world.free.index(variable)
            gap = np.array([x - world.mean[i]])
            top += world.weight * normal_density(gap, world.covariance[i : i + 1, i : i + 1])
            total += world.weight
        return top / total

    def best(self, evidence=None, *, joint=False):
        """Return log value and all worlds that reach it (to 1e-12) of the most probable one."""
        worlds = self.worlds(evidence)
        values = [w.peak if joint else w.weight for w in worlds]
        top = max(values)
        ties = [w for w, v in zip(worlds, values, strict=True) if v >= top * (1 - 1e-12)]
        return math.log(top / self.partition()) if top > 0 else -math.inf, ties


def normal_density(gap, covariance):
    """Return the density of N(0, covariance) at a point."""
    _, log_det = np.linalg.slogdet(covariance)
    distance = gap @ np.linalg.solve(covariance, gap)
    return math.exp(-0.5 * (distance + log_det + len(gap) * LOG_2PI))


def position(variable, value):
    """Return the place of a state by type and value, of a number by comparing it with all cuts."""
    if isinstance(variable, bg.Binned) and not isinstance(value, str):
        return sum(value > cut for cut in variable.cuts)
    if isinstance(variable, bg.Grouped):
        found = [i for i, group in enumerate(variable.groups) if value in group]
        return found[0] if found or not variable.others else len(variable.groups) - 1
    kinds = [(type(state), state) for state in variable.states]
    return kinds.index((type(value), value))


# ------------------------------------------------------------------------- random models

STATES = (
    (False, True),
    ("no", "yes"),
    ("low", "mid", "high", "top"),
    (3, 1, 2, 0),
    (True, 1, 1.0, "1"),
    (0.5, "0.5", -1, ("a", 1)),
    (2.5, -2.5, 0.0),
    ("",),
)


def random_variable(random, name, *, most=4):
    """Return a discrete variable of 1 to `most` states of one of several types."""
    states = STATES[random.integers(len(STATES))]
    size = min(len(states), int(random.integers(2, most + 1)))
    if random.random() < 0.1:
        size = 1
    return bg.Discrete(name, states[:size])


def random_table(random, shape, *, zeros=0.0):
    """Return rows of probabilities; some have exact zeros, none is all zero."""
    table = random.dirichlet(np.ones(shape[-1]), size=shape[:-1])
    holes = random.random(table.shape) < zeros
    holes[..., int(random.integers(shape[-1]))] = False
    table = np.where(holes, 0.0, table)
    return table / table.sum(axis=-1, keepdims=True)


def pick_parents(random, candidates, most):
    """Return some of the candidates in random order."""
    count = min(len(candidates), int(random.integers(0, most + 1)))
    return [candidates[i] for i in random.permutation(len(candidates))[:count]]


def random_network(seed, *, n_discrete=5, n_continuous=0, most_worlds=200, zeros=0.15):
    """Return a random Bayesian network, its CPDs in random order.

    Names are strings, integers and tuples; continuous variables take discrete and continuous
    parents.
    """
    random = np.random.default_rng(seed)
    n_discrete = int(random.integers(1, n_discrete + 1))
    names = [f"v{i}" if i % 3 else (i if i % 2 else ("v", i)) for i in range(20)]
    cpds, discrete, continuous, worlds = [], [], [], 1
    for i in range(n_discrete):
        variable = random_variable(random, names[i])
        if worlds * variable.cardinality > most_worlds:
            break
        worlds *= variable.cardinality
        parents = pick_parents(random, discrete, 3)
        shape = (*(p.cardinality for p in parents), variable.cardinality)
        share = zeros if random.random() < 0.5 else 0.0
        cpds.append(bg.TableCPD(variable, random_table(random, shape, zeros=share), parents))
        discrete.append(variable)
    for i in range(n_continuous):
        variable = bg.Continuous(f"x{i}" if i % 2 else ("x", i))
        own, others = pick_parents(random, discrete, 2), pick_parents(random, continuous, 2)
        mixed = [*own, *others]
        parents = [mixed[j] for j in random.permutation(len(mixed))]
        shape = tuple(p.cardinality for p in parents if isinstance(p, bg.Discrete))
        cpds.append(
            bg.GaussianCPD(
                variable,
                mean=random.normal(0, 2, shape),
                variance=random.uniform(0.2, 3, shape),
                parents=parents,
                coefficients=random.normal(0, 1, (*shape, len(others))),
            )
        )
        continuous.append(variable)
    return bg.BayesianNetwork([cpds[i] for i in random.permutation(len(cpds))])


def random_factor_graph(seed, *, n_continuous=0):
    """Return factors and exponents: (sources, exponents) for a FactorGraph and its oracle."""
    random = np.random.default_rng(seed)
    network = random_network(seed + 10_000, n_discrete=4, n_continuous=n_continuous, most_worlds=64)
    sources = list(network.cpds)
    discrete = [v for v in network.variables if isinstance(v, bg.Discrete)]
    for _ in range(2):
        scope = pick_parents(random, discrete, 2)
        shape = tuple(v.cardinality for v in scope)
        values = random.gamma(1.0, size=shape) * (random.random(shape) > 0.05)
        sources.append(bg.Factor(scope, values))
    return sources, [random_exponent(random, source) for source in sources]


def random_exponent(random, source):
    """Return nothing, a scalar, one exponent for each state of the last axis, or one a cell."""
    gaussian = isinstance(source, bg.GaussianCPD)
    shape = source.mean.shape if gaussian else source.values.shape
    low = 0.2 if gaussian else 0.0
    kind = int(random.integers(4))
    if kind == 0 or (kind > 1 and not shape):
        return None
    if kind == 1:
        return float(random.uniform(low, 2))
    exponent = random.uniform(low, 2, shape[-1:] if kind == 2 else shape)
    if not gaussian:
        exponent[random.random(exponent.shape) < 0.2] = 0.0
    return exponent


# ----------------------------------------------------------------------- random evidence


def random_evidence(random, oracle, *, share=0.5, soft=0.15):
    """Return evidence as a mapping from name to state, number, None or list of likelihoods.

    Hard findings are drawn from one possible world, so that most evidence is possible.
    """
    possible = [world for world in oracle._prior if world.weight > 0]
    world = possible[int(random.integers(len(possible)))]
    evidence = {}
    for variable in oracle.discrete:
        draw = random.random()
        if draw < soft:
            likelihood = random.uniform(0, 1, variable.cardinality)
            likelihood[random.random(variable.cardinality) < 0.2] = 0.0
            likelihood[world.codes[variable]] = 0.5
            evidence[variable.name] = [float(x) for x in likelihood]
        elif draw < soft + share * (1 - soft):
            evidence[variable.name] = variable.states[world.codes[variable]]
        elif draw > 0.9:
            evidence[variable.name] = None
    for i, variable in enumerate(oracle.continuous):
        if random.random() < share:
            spread = math.sqrt(world.covariance[i, i])
            evidence[variable.name] = float(random.normal(world.mean[i], spread))
    return evidence


def as_given(variables, evidence):
    """Return evidence as a user would give it: soft evidence as mappings or arrays."""
    states = {v.name: v.states for v in variables if isinstance(v, bg.Discrete)}
    given = {}
    for name, value in evidence.items():
        if isinstance(value, list):
            collide = len(set(states[name])) < len(states[name])
            pairs = zip(states[name], value, strict=True)
            given[name] = np.array(value) if collide else dict(pairs)
        else:
            given[name] = value
    return given


def batch(variables, rows: list[Mapping]) -> Evidence:
    """Return rows of hard evidence as columns with -1 and NaN where nothing is observed."""
    columns = {}
    for variable in variables:
        values = [row.get(variable.name) for row in rows]
        if isinstance(variable, bg.Discrete):
            codes = [-1 if value is None else position(variable, value) for value in values]
            columns[variable] = np.array(codes, dtype=np.int64)
        else:
            numbers = [math.nan if value is None else value for value in values]
            columns[variable] = np.array(numbers, dtype=np.float64)
    return Evidence(len(rows), columns)


@dataclass
class Row:
    """A network, its oracle and one random piece of evidence; what the tests are run on."""

    network: bg.BayesianNetwork
    oracle: Oracle
    evidence: dict = field(default_factory=dict)

    @property
    def given(self):
        """The evidence as a user would give it."""
        return as_given(self.network.variables, self.evidence)

    @property
    def free(self):
        """Variables without hard evidence."""
        hard = {n for n, v in self.evidence.items() if v is not None and not isinstance(v, list)}
        return [v for v in self.network.variables if v.name not in hard]


def random_case(seed, **options):
    """Return a random network with random evidence."""
    network = random_network(seed, **options)
    oracle = Oracle.of(network)
    random = np.random.default_rng(seed + 1_000_000)
    return Row(network, oracle, random_evidence(random, oracle))
