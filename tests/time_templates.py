"""Random temporal networks, and their answers by enumeration of all joint states."""

import itertools
import math

import numpy as np

import bayesgraph as bg


def table(rng, variable, parents):
    """Return a random table, some of whose entries are small."""
    shape = (*(p.cardinality for p in parents), variable.cardinality)
    values = rng.gamma(0.7, size=shape) + 0.01
    return bg.TableCPD(variable, values / values.sum(-1, keepdims=True), parents)


def gaussian(rng, variable, parents):
    discrete = [p for p in parents if isinstance(p, bg.Discrete)]
    shape = tuple(p.cardinality for p in discrete)
    n = len(parents) - len(discrete)
    return bg.GaussianCPD(
        variable,
        rng.normal(size=shape),
        0.3 + rng.random(shape),
        parents,
        rng.normal(size=(*shape, n)) * 0.6,
    )


def of_random(rng, *, order=1, numbers=False, static=False):
    """Return a random template of discrete variables, with a number as leaf if asked."""
    a = bg.Discrete("a", list("xyz")[: rng.integers(2, 4)])
    b = bg.Discrete("b", [0, 1])
    c = bg.Discrete("c", ["no", "yes"])
    s = bg.Discrete("s", ["m", "f"])
    x = bg.Continuous("x")
    lags = [bg.before(a, k) for k in range(1, order + 1)]
    above = [s] if static else []

    def pick(pool, at_least=0):
        chosen = [v for v in pool if rng.random() < 0.6]
        return chosen or pool[:at_least]

    slices = []
    pasts = [[v for v in [*lags, bg.before(b)] if v.name.steps <= t] for t in range(order + 1)]
    for past in pasts:
        cpds = [table(rng, a, [*pick(past), *pick(above)])]
        cpds.append(table(rng, b, pick([a, *past, *above])))
        if not slices or rng.random() < 0.3:
            cpds.append(table(rng, c, pick([a, b], 1)))
            if numbers:
                cpds.append(gaussian(rng, x, pick([a, b, *above], 1)))
        slices.append(cpds)
    later = slices.pop()
    if not any(isinstance(p.name, type(bg.before("a"))) for cpd in later for p in cpd.parents):
        later[0] = table(rng, a, lags)
    priors = [table(rng, s, [])] if static else []
    return bg.TemporalNetwork(slices, later, static=priors)


def cells(rng, model, n, missing=0.4):
    """Return random rows of a sequence as a mapping from name to list."""
    drawn = model.unrolled(n).sample(1, random_state=rng, frame="dict")
    rows = {}
    for v in model.variables:
        fixed = v in {c.variable for c in model.static}
        values = [drawn[v.name if fixed else f"{v.name}_{t}"][0] for t in range(n)]
        if v in {c.variable for c in model.static}:
            rows[v.name] = values if rng.random() < 0.5 else [None] * n
        else:
            rows[v.name] = [None if rng.random() < missing else value for value in values]
        if isinstance(v, bg.Continuous):
            rows[v.name] = [math.nan if x is None else float(x) for x in rows[v.name]]
    return rows


def joint_logs(model, n, soft=None, do=None):
    """Yield each assignment of all discrete variables and a function of numbers to its log.

    An assignment is a mapping from (name, slice) to code; of a static variable the slice is None.
    """
    soft, do = soft or {}, do or {}
    own = [v for v in model.variables if isinstance(v, bg.Discrete)]
    fixed = {c.variable for c in model.static}
    keys = [(v.name, None) for v in own if v in fixed]
    keys += [(v.name, t) for t in range(n) for v in own if v not in fixed]
    cards = {v.name: v.cardinality for v in own}
    for codes in itertools.product(*[range(cards[name]) for name, _ in keys]):
        yield dict(zip(keys, codes, strict=True))


def place(variable, t, fixed):
    """Return the key of a parent as slice t calls it."""
    name = variable.name
    if type(name) is type(bg.before("a")):
        return name.name, t - name.steps
    return (name, None) if name in fixed else (name, t)


def log_joint(model, codes, numbers, n, do=()):
    """Return the log density of codes and observed numbers (a mapping; others are left out)."""
    fixed = {c.variable.name for c in model.static}
    total = 0.0
    pairs = [(None, c) for c in model.static]
    pairs += [(t, c) for t in range(n) for c in model.slices[min(t, len(model.slices) - 1)]]
    for t, cpd in pairs:
        key = (cpd.variable.name, t)
        if key in do:
            continue
        at = tuple(codes[place(p, t, fixed)] for p in cpd.discrete_parents)
        if isinstance(cpd.variable, bg.Discrete):
            p = cpd.values[at][codes[key]]
            total += math.log(p) if p > 0 else -math.inf
        elif key in numbers:
            z = [numbers[place(p, t, fixed)] for p in cpd.continuous_parents]
            mean = cpd.mean[at] + float(np.dot(cpd.coefficients[at], z))
            v = cpd.variance[at]
            total += -0.5 * math.log(2 * math.pi * v) - (numbers[key] - mean) ** 2 / (2 * v)
    return total


class Enumerated:
    """All joint states of a sequence with their log weights given evidence."""

    def __init__(self, model, n, rows, soft=None, do=None):
        fixed = {c.variable.name for c in model.static}
        self.model, self.n = model, n
        do = do or {}
        numbers, hard = {}, {}
        for v in model.variables:
            for t in range(n):
                value = rows.get(v.name, [None] * n)[t]
                key = (v.name, None if v.name in fixed else t)
                if isinstance(v, bg.Continuous):
                    if value is not None and not math.isnan(value):
                        numbers[key] = value
                elif value is not None:
                    hard[key] = v.index(value)
        for key, value in do.items():
            hard[key] = model.variable(key[0]).index(value)
        self.states = [
            codes
            for codes in joint_logs(model, n)
            if all(codes[key] == code for key, code in hard.items())
        ]
        logs = [log_joint(model, codes, numbers, n, do) for codes in self.states]
        for (name, t), weights in (soft or {}).items():
            for i, codes in enumerate(self.states):
                weight = weights[codes[name, t]]
                logs[i] += math.log(weight) if weight > 0 else -math.inf
        self.logs = np.array(logs)
        self.numbers = numbers

    @property
    def log_likelihood(self):
        peak = self.logs.max()
        return peak + math.log(np.exp(self.logs - peak).sum())

    def marginal(self, name, t):
        fixed = {c.variable.name for c in self.model.static}
        key = (name, None if name in fixed else t)
        out = np.zeros(self.model.variable(name).cardinality)
        weights = np.exp(self.logs - self.log_likelihood)
        for codes, weight in zip(self.states, weights, strict=True):
            out[codes[key]] += weight
        return out

    def best(self):
        return self.states[int(np.argmax(self.logs))], float(self.logs.max())
