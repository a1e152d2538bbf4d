"""Random models whose answers are compared with brute force: evidence in tails, and edits.

An input is a seed. What is asked of a model and what it should answer follow from it: log masses of
intervals by formulas that neither cancel nor underflow, and sums over all joint states.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import canonical_networks
import joint
import numpy as np
import oracle
import tree_oracle
from scipy.special import log_ndtr, logsumexp

import bayesgraph as bg
from bayesgraph.core.errors import (
    GraphError,
    ImpossibleEvidenceError,
    ModelError,
    UnsupportedModelError,
)


def seed_of(chance: random.Random) -> int:
    """Return an input."""
    return chance.getrandbits(32)


def agree(found: Any, expected: Any, mass: float, note: Any) -> None:
    """Assert that probabilities agree to nine digits, however small they are.

    Brute force has no logarithms: it knows nothing of worlds below the smallest number.
    """
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-290 / mass, err_msg=str(note))


def agree_logs(found: float, expected: float, note: Any) -> None:
    """Assert that log probabilities agree to 1e-10 nats, or as much relative to large ones."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-10, err_msg=str(note))


def asked(ask: Callable[..., Any], *given: Any) -> Any:
    """Return an answer; evidence is possible here."""
    try:
        return ask(*given)
    except ImpossibleEvidenceError as error:
        raise AssertionError(f"impossible: {error}") from error


# ---------------------------------------------------------------------------- evidence in a tail


def _difference(upper: Any, lower: Any) -> Any:
    """Return the log of the difference of two exponentials."""
    return upper + np.log(-np.expm1(lower - upper))


def _normal(low: float, high: float, mean: Any, sd: Any) -> Any:
    """Return log masses of normal distributions; of a narrow interval the density times width."""
    a, b = (low - mean) / sd, (high - mean) / sd
    a, b = np.where(a > 0, -b, a), np.where(a > 0, -a, b)
    middle = (low + high) / 2 - mean
    with np.errstate(invalid="ignore", divide="ignore"):
        width = (high - low) / sd
        z = middle / sd
        # Of the series in the width the next term is below 1e-11.
        narrow = np.log(width) - 0.5 * (z**2 + math.log(2 * math.pi))
        narrow += np.log1p(width**2 * (z**2 - 1) / 24)
        is_narrow = width * (1 + np.abs(z)) < 1e-2
        return np.where(is_narrow, narrow, _difference(log_ndtr(b), log_ndtr(a)))


def _interval(draws: Any, at: float, unit: float) -> tuple[float, float]:
    """Return an interval that begins at a number: infinite, wide, or narrow."""
    kind = draws.integers(3)
    if kind == 0:
        return at, math.inf
    return at, at + unit * (draws.uniform(0.5, 5) if kind == 1 else 2.0 ** -draws.integers(22, 40))


def _leaf(draws: Any, above: list[bg.Discrete]) -> tuple[Any, bg.Between, Any]:
    """Return a leaf with discrete parents, an interval, and its log mass in each configuration."""
    x, n = bg.Continuous("x"), bg.Count("n")
    shape = tuple(v.cardinality for v in above)
    far = 10 ** draws.uniform(0, 3)
    kind = draws.integers(8)
    if kind == 0:
        mean, sd = draws.normal(size=shape), draws.uniform(0.5, 2, shape)
        low, high = _interval(draws, far * draws.choice([-1, 1]), 1.0)
        log = _normal(low, high, mean, sd)
        return bg.GaussianCPD(x, mean, sd**2, above), bg.Between(low, high), log
    if kind == 1:
        rate = draws.uniform(0.2, 3, shape)
        low, high = _interval(draws, far, 1.0)
        log = -rate * low + np.log(-np.expm1(-rate * (high - low)))
        return bg.models.ExponentialCPD(x, rate, above), bg.Between(low, high), log
    if kind == 2:  # Erlang's: the shape is whole
        rate, k = draws.uniform(0.2, 3, shape), int(draws.integers(1, 6))
        terms = np.array([i * np.log(rate * far) - math.lgamma(i + 1) for i in range(k)])
        log = logsumexp(terms, axis=0) - rate * far
        return bg.GammaCPD(x, np.full(shape, k), rate, above), bg.Between(far), log
    if kind == 3:
        mean, sd = draws.normal(size=shape), draws.uniform(0.3, 2, shape)
        at = math.exp(draws.uniform(-40, 40))
        below = draws.random() < 0.5
        log = log_ndtr((1 if below else -1) * (math.log(at) - mean) / sd)
        interval = bg.Between(high=at) if below else bg.Between(at)
        return bg.LogNormalCPD(x, mean, sd**2, above), interval, log
    if kind == 4:
        a, at = draws.uniform(0.3, 50, shape), 10 ** -draws.uniform(0.1, 30)
        return bg.models.BetaCPD(x, a, np.ones(shape), above), bg.Between(high=at), a * math.log(at)
    if kind == 5:
        rate, low = draws.uniform(0.2, 50, shape), math.ceil(far)
        high = draws.choice([low, low + 3, math.inf])
        k = np.arange(low, min(high, low + 4000) + 1).reshape(-1, *[1] * len(shape))
        logs = k * np.log(rate) - rate - np.vectorize(math.lgamma)(k + 1.0)
        return bg.PoissonCPD(n, rate, above), bg.Between(low, high), logsumexp(logs, axis=0)
    if kind == 6:  # geometric
        exposure, low = draws.uniform(0.05, 3, shape), math.ceil(far)
        cpd = bg.models.NegativeBinomialCPD(n, np.ones(shape), exposure, above)
        return cpd, bg.Between(low), -low * np.log1p(exposure)
    counts, width = draws.integers(1, 4, shape), draws.uniform(0.3, 2, shape)
    points, weights = draws.normal(size=counts.sum()), draws.uniform(1, 3, counts.sum())
    low, high = _interval(draws, min(far, 300.0) * draws.choice([-1, 1]), 1.0)
    ends, logs = np.cumsum(counts.reshape(-1)), []
    for stop, n_points, w in zip(ends, counts.reshape(-1), width.reshape(-1), strict=True):
        own = slice(stop - n_points, stop)
        heavy = np.log(weights[own] / weights[own].sum())
        logs.append(logsumexp(_normal(low, high, points[own], w) + heavy))
    cpd = bg.models.KernelDensityCPD(x, points, weights, counts, width, above)
    return cpd, bg.Between(low, high), np.array(logs).reshape(shape)


def tail(seed: int, folder: Path) -> Any:
    """Return a model, evidence in a tail, and all that is known about them."""
    draws = np.random.default_rng(seed)
    return draws.choice([_interval_case, _tree_case, _likelihood_case])(draws)


def _interval_case(draws: Any) -> Any:
    while True:
        network = joint.random_network(int(draws.integers(2**31)), most=5, worlds=100)
        above = [v for v in network.variables if draws.random() < 0.5][:3]
        cpd, interval, logs = _leaf(draws, above)
        logs, name = np.asarray(logs, dtype=float), cpd.variable.name
        if np.isfinite(logs).all() and name not in network.names:
            break
    # The same in brute force: a state that is as probable as the interval, relative to the peak.
    peak = logs.max()
    table = bg.TableCPD(
        bg.Discrete(name, ["in", "out"]), np.stack([r := np.exp(logs - peak), 1 - r], -1), above
    )
    brute = joint.Joint.of(bg.BayesianNetwork([*network.cpds, table]))
    rest = joint.random_evidence(draws, joint.Joint.of(network), hard=0.2, soft=0.2)
    model = bg.BayesianNetwork([*network.cpds, cpd])
    return model, brute, rest | {name: interval}, rest | {name: "in"}, peak


def _tree_case(draws: Any) -> Any:
    """Return a tree whose roots have states, and numbers cells, that are as rare as 1e-290."""
    network = tree_oracle.random_tree_network(int(draws.integers(2**31)))
    cpds, tables = [], []
    cells = {}
    for cpd in network.cpds:
        v = cpd.variable
        if isinstance(cpd, bg.models.TreesCPD):
            continue
        if isinstance(v, bg.Continuous):
            scale = 10 ** draws.uniform(-1.5, 0)
            root = bg.GaussianCPD(v, draws.normal(), scale**2)
            own = network["c"].trees
            cuts = sorted({*own.threshold[own.feature == network["c"].parents.index(v)]})
            ends = [-math.inf, *cuts, math.inf]
            z = [(x - root.mean) / scale for x in ends]
            logs = [_difference(*_lower(a, b)) for a, b in itertools.pairwise(z)]
            cells[v] = bg.Discrete(v.name, range(len(ends) - 1)), ends
            tables.append(bg.TableCPD(cells[v][0], np.exp(logs)))
            cpds.append(root)
        elif cpd.parents:
            cpds.append(cpd)
            tables.append(cpd)
        else:
            shares = 10.0 ** -draws.uniform(0, 280, v.cardinality)
            shares[draws.integers(v.cardinality)] = 1.0
            cpds.append(bg.TableCPD(v, shares / shares.sum()))
            tables.append(cpds[-1])
    tree = network["c"]
    axes = [cells[p][0] if p in cells else p for p in tree.parents]
    table = np.empty((*(v.cardinality for v in axes), tree.variable.cardinality))
    for codes in itertools.product(*(range(v.cardinality) for v in axes)):
        point = {
            p: (max(cells[p][1][code], -1e9) + min(cells[p][1][code + 1], 1e9)) / 2
            if p in cells
            else code
            for p, code in zip(tree.parents, codes, strict=True)
        }
        table[codes] = tree.trees.values[tree.trees.below[tree_oracle.reached(tree, point)]]
    brute = joint.Joint.of(bg.BayesianNetwork([*tables, bg.TableCPD(tree.variable, table, axes)]))
    evidence = {v.name: draws.choice(np.array(v.states, object)) for v in (tree.variable,)}
    evidence = {n: s.item() if hasattr(s, "item") else s for n, s in evidence.items()}
    return bg.BayesianNetwork([*cpds, tree]), brute, evidence, evidence, 0.0


def _lower(a: float, b: float) -> tuple[float, float]:
    """Return log distribution functions in the lower tail, the larger first."""
    a, b = (-b, -a) if a + b > 0 else (a, b)
    return float(log_ndtr(b)), float(log_ndtr(a))


def _likelihood_case(draws: Any) -> Any:
    network = joint.random_network(int(draws.integers(2**31)), most=6, worlds=200)
    brute, scale = joint.Joint.of(network), 0.0
    evidence, scaled = {}, {}
    for v in network.variables:
        if draws.random() < 0.5:
            weights, power = draws.uniform(0.1, 1, v.cardinality), float(draws.integers(0, 320))
            evidence[v.name] = np.array([w * 10.0**-power for w in weights])
            if (evidence[v.name] < 1e-305).any():  # their digits are those of the tiny numbers
                weights = np.array([math.ldexp(x, 1060) for x in evidence[v.name]])
                power = 1060 * math.log10(2)
            if not weights.any():
                return _likelihood_case(draws)
            scaled[v.name] = weights
            scale -= power * math.log(10)
    return network, brute, evidence, scaled, scale


def check_tail(case: Any, folder: Path) -> None:
    """Compare posteriors and the probability of the evidence with brute force."""
    model, brute, evidence, inner, scale = case
    mass = brute.mass(inner)
    if mass < 1e-290:  # brute force has no logarithms
        return
    agree_logs(model.log_probability(evidence), math.log(mass) + scale, evidence)
    weights = brute.given(inner)
    for v in brute.variables:
        if v.name in model.names and not isinstance(model.variable(v.name), bg.Continuous):
            if v.name in evidence and not isinstance(evidence[v.name], dict | np.ndarray):
                continue
            expected = brute.sums([v.name], weights)
            found = asked(model.query, v.name, evidence).probabilities
            agree(found, expected / expected.sum(), mass, (v.name, evidence))


# ----------------------------------------------------------------------------------------- edits


def edited(seed: int, folder: Path) -> Any:
    """Return a network, what it has become by edits that change nothing, and what is inside."""
    draws = np.random.default_rng(seed)
    number = int(draws.integers(2**31))
    network = (
        lambda: joint.random_network(number, most=6, worlds=200),
        lambda: oracle.random_network(number, n_discrete=3, n_continuous=3, most_worlds=60),
        lambda: tree_oracle.random_tree_network(number),
        lambda: tree_oracle.random_average_network(number),
        lambda: canonical_networks.random_network(number, n_roots=4, numbers=False),
    )[draws.integers(5)]()
    found, inside, done = network, {}, []
    row = network.sample(1, random_state=number)
    row = {
        name: value[0].item() if hasattr(value[0], "item") else value[0]
        for name, value in row.items()
    }
    for _ in range(int(draws.integers(1, 5))):
        names = [n for n in found.names if n in network.names]
        name = names[draws.integers(len(names))]
        other = names[draws.integers(len(names))]
        variable = found.variable(name)
        verb = draws.choice(["with_states", "renamed", "with_arc", "expanded", "marginalised",
                             "conditioned", "soft", "merged", "without"])  # fmt: skip
        try:
            if verb == "with_states" and isinstance(variable, bg.Discrete):
                states = variable.states
                found = found.with_states(name, [states[i] for i in draws.permutation(len(states))])
            elif verb == "renamed":
                new = {n: ("new", n) for n in found.names}
                found = found.renamed(new).renamed({b: a for a, b in new.items()})
            elif verb == "with_arc" and name != other:
                found = found.with_arc(name, other)
            elif verb == "expanded":
                found = bg.models.expanded(found)
            elif verb == "marginalised" and len(names) > 2:
                found = found.marginalised(name)
            elif verb == "conditioned" and len(names) > 2:
                found = found.conditioned({name: row[name]})
                inside[name] = row[name]
            elif verb == "soft" and name not in inside and isinstance(variable, bg.Discrete):
                numbers = draws.uniform(0.1, 1, variable.cardinality)
                found = found.conditioned({name: numbers})
                before = network.variable(name)
                inside[name] = np.array([numbers[variable.index(s)] for s in before.states])
            elif verb == "merged":
                coin = bg.TableCPD(bg.Discrete("coin", ["heads", "tails"]), [0.25, 0.75])
                more = bg.models.merged(found, bg.BayesianNetwork([coin])).with_arc("coin", name)
                found = more.marginalised("coin")
            elif verb == "without" and len(names) > 2:
                found = found.without(name)
        except (UnsupportedModelError, ModelError, GraphError, ImpossibleEvidenceError):
            continue
        done.append((str(verb), name))
    return network, found, inside, done


def check_edited(case: Any, folder: Path) -> None:
    """Compare the posterior of each variable, also given another, with brute force."""
    network, found, inside, done = case
    brute = tree_oracle.oracle_of(_as_tables(network))
    names = [n for n in network.names if n in found.names]
    for place, name in enumerate(names):
        if not isinstance(network.variable(name), bg.Discrete):
            continue
        for other in [None, names[place - 1]]:
            if other == name:
                continue
            more = {}
            if other is not None and isinstance(network.variable(other), bg.Discrete):
                if other in inside:
                    continue
                more = {other: network.variable(other).states[0]}
            given = {
                n: v.tolist() if isinstance(v, np.ndarray) else v
                for n, v in (inside | more).items()
            }
            try:
                expected = brute.posterior([name], given)
            except ZeroDivisionError:
                continue
            if not np.isfinite(expected).all():  # impossible
                continue
            try:
                answer = asked(found.query, name, more)
            except UnsupportedModelError:
                if any(verb in ("with_arc", "merged") for verb, _ in done):
                    continue  # an arc has made a number no root any more
                try:
                    network.query(name, inside | more)
                except UnsupportedModelError:
                    continue
                raise AssertionError(f"refused: {done}") from None
            order = [answer.variables[0].index(s) for s in network.variable(name).states]
            note = (done, name, more)
            np.testing.assert_allclose(
                answer.probabilities[order], expected, rtol=1e-8, atol=1e-10, err_msg=str(note)
            )


def _as_tables(network: bg.BayesianNetwork) -> bg.BayesianNetwork:
    """Return a network with tables, written down from the definitions, for canonical CPDs."""
    cpds = []
    for cpd in network.cpds:
        if isinstance(cpd, bg.NoisyMaxCPD | bg.LogisticCPD | bg.DeterministicCPD):
            cpd = bg.TableCPD(cpd.variable, canonical_networks.table_of(cpd), cpd.parents)
        cpds.append(cpd)
    return bg.BayesianNetwork(cpds, order=network.variables)
