"""Random encoded tables, and how far two summaries of the same rows may differ."""

from dataclasses import dataclass, fields, replace

import numpy as np
from hypothesis import strategies as st

import bayesgraph as bg
from bayesgraph.statistics import Families, Family, Pairs, Singles
from bayesgraph.tables import Table

EPS = np.finfo(float).eps


@dataclass(frozen=True)
class Sample:
    """A table whose first discrete variable is the one that requests are given on.

    Attributes
    ----------
    table : Table
    weights : ndarray, shape (n_rows,) or (0,)
    offset, spread : float
        Location and scale of the continuous columns.
    """

    table: Table
    weights: np.ndarray
    offset: float
    spread: float

    @property
    def given(self):
        return self.table.discrete[0]

    @property
    def columns(self):
        return tuple(v for v in self.table.variables if v != self.given)

    def rows(self, index):
        """Return some of the rows, by slice or positions."""
        table = self.table
        codes, values = np.asfortranarray(table.codes[index]), table.values[index]
        weights = self.weights[index] if len(self.weights) else self.weights
        return replace(self, table=Table(table.variables, codes, values), weights=weights)

    def requests(self):
        """Return one request of each kind, with and without a given variable."""
        given, columns = self.given, self.columns
        pairs = [(a, b) for i, a in enumerate(columns) for b in columns[i + 1 :]]
        families = [Family(()), Family.of(given), *(Family.of(v) for v in columns)]
        families += [Family.of(given, *pair) for pair in pairs]
        families.append(Family.of(*reversed(columns), given))
        return (
            Singles(columns, given),
            Singles(columns),
            Pairs(columns, given),
            Pairs(columns),
            Families(tuple(dict.fromkeys(families))),
        )


def make_sample(
    seed, n, cards=(2, 3, 2), n_continuous=2, *, missing=0.0, weighted=None, offset=0.0, spread=1.0
):
    """Return n random rows; the given variable has the first cardinality and is never missing."""
    random = np.random.default_rng(seed)
    discrete = [bg.Discrete(f"d{j}", range(r)) for j, r in enumerate(cards)]
    continuous = [bg.Continuous(f"x{j}") for j in range(n_continuous)]
    codes = np.empty((n, len(cards)), dtype=np.int8, order="F")
    for j, r in enumerate(cards):
        codes[:, j] = random.integers(r, size=n)
    values = random.normal(size=(n, n_continuous))
    if n_continuous > 1:
        values[:, 1] += 0.8 * values[:, 0] + codes[:, 0]
    values = offset + spread * values
    if missing:
        codes[:, 1:][random.random((n, len(cards) - 1)) < missing] = -1
        values[random.random(values.shape) < missing] = np.nan
    weights = np.empty(0)
    if weighted == "whole":
        weights = random.integers(0, 4, size=n).astype(float)
    elif weighted == "real":
        weights = random.uniform(0.0, 2.0, size=n)
    return Sample(Table((*discrete, *continuous), codes, values), weights, offset, spread)


def samples(**fixed):
    """Return a strategy of samples; keywords fix arguments of make_sample."""
    options = {
        "seed": st.integers(0, 2**16),
        "n": st.integers(0, 40),
        "cards": st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple),
        "n_continuous": st.integers(0, 3),
        "missing": st.sampled_from([0.0, 0.3, 0.95]),
        "weighted": st.sampled_from([None, "whole", "real"]),
        "offset": st.sampled_from([0.0, 1e3, 1e9]),
        "spread": st.sampled_from([1.0, 1e-6, 1e6]),
    }
    options.update({name: st.just(value) for name, value in fixed.items()})
    return st.builds(make_sample, **options)


def arrays(item):
    """Yield (name, array) of everything that a summary holds."""
    for name in (field.name for field in fields(item)):
        value = getattr(item, name)
        if isinstance(value, (np.ndarray, np.generic)):
            yield name, value
        elif name == "found":
            for statistics in value:
                yield from arrays(statistics)
        elif name in ("singles", "moments", "pair_moments", "mixed"):
            yield from arrays(value)


def assert_same(one, other, sample, *, exact_counts=True):
    """Check that two summaries agree: counts exactly, moments to 1e-12.

    A mean is stored to the last digit of a float. Where the columns lie far from zero that digit,
    eps x offset, is what deviations can be known to, and limits the second moments.
    """
    total = sample.weights.sum() if len(sample.weights) else sample.table.n_rows
    span = 10 * sample.spread
    digit = 8 * EPS * (abs(sample.offset) + span)
    bounds = {
        "mean": digit,
        "square": total * (1e-12 * span**2 + digit * span),
        "comoment": total * (1e-12 * span**2 + digit * span),
    }
    for (name, a), (_, b) in zip(arrays(one), arrays(other), strict=True):
        a, b = np.broadcast_arrays(a, b)
        if name not in bounds:
            if exact_counts:
                np.testing.assert_array_equal(a, b, err_msg=name)
            else:
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=name)
        else:
            np.testing.assert_allclose(a, b, rtol=0, atol=bounds[name], err_msg=name)
