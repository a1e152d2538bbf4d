"""Families of distributions of features, one module each; `FAMILIES` is the list of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, gammaln
from bayesgraph.core.variables import Arc, Continuous, Discrete, Name, Variable
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.density import TablePlate
from bayesgraph.models.cpds.table import TableCPD
from bayesgraph.models.families import densities
from bayesgraph.models.families.counts import NEGATIVE_BINOMIAL, POISSON
from bayesgraph.models.families.empirical import KERNEL
from bayesgraph.models.families.items import BERNOULLI, MULTINOMIAL
from bayesgraph.models.families.leaf_family import LeafFamily
from bayesgraph.statistics import (
    CountSource,
    Moments,
    ParameterPosterior,
    Singles,
    Smoothing,
    safe_divide,
)


def _estimate_tables(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return probability tables, estimated from counts with the pseudo-counts of Smoothing."""
    discrete = [child for child in children if isinstance(child, Discrete)]
    summary = source.singles(Singles(tuple(discrete), target))
    states = [summary.at.states(child) for child in discrete]
    # Shape (n_classes, states of all columns), one column after the other.
    counts = np.concatenate([summary.counts[:, part] for part in states], axis=1)
    cards = np.array([child.cardinality for child in discrete])
    prior = np.concatenate([smoothing.state_counts(child) for child in discrete])
    even = 1.0 / np.repeat(cards, cards)  # for classes without counts and pseudo-counts
    if smoothing.is_hierarchy:
        strengths = np.array([smoothing.prior_strength(n) for n in cards.tolist()])
        # Tables of the classes shrink towards that of all rows.
        of_all = _state_shares(counts.sum(axis=0) + prior, cards, even)
        values = _state_shares(counts + np.repeat(strengths, cards) * of_all, cards, of_all)
    else:
        values = _state_shares(smoothing.weighted(counts, prior), cards, even)
    plate = TablePlate(discrete, values, [target])
    if smoothing.has_posterior:
        # What each row of a table rests on: rows of data, and these with its pseudo-counts.
        start = plate.start[:-1]
        rows = np.add.reduceat(counts, start, axis=1)
        added = strengths if smoothing.is_hierarchy else np.add.reduceat(prior, start)
        plate.parameter_posterior = ParameterPosterior.of_plate(rows, rows + added)
    return [plate]


def _state_shares(cells: Floats, cards: NDArray[np.int64], otherwise: Floats) -> Floats:
    """Normalise the counts of each column's states to probabilities.

    Parameters
    ----------
    cells : ndarray, shape (..., number of states of all columns)
        Counts of states, one column after the other on the last axis.
    cards : ndarray of int, shape (n_columns,)
        Number of states of each column.
    otherwise : ndarray
        Probabilities for columns whose counts sum to zero.
    """
    start = np.concatenate([[0], np.cumsum(cards)])[:-1]
    total = np.repeat(np.add.reduceat(cells, start, axis=-1), cards, axis=-1)
    return np.where(total > 0, safe_divide(cells, total), otherwise)


CATEGORICAL = LeafFamily(
    "categorical",
    "the default of text, category and boolean columns",
    {"table": TableCPD, "tables": TablePlate},
    Singles,
    _estimate_tables,
    is_default=True,
    takes_states=True,
    any_parents=True,
)


FAMILIES: Mapping[str, LeafFamily] = {
    family.name: family
    for family in (
        CATEGORICAL,
        densities.GAUSSIAN,
        densities.STUDENT,
        densities.LOGNORMAL,
        densities.GAMMA,
        densities.EXPONENTIAL,
        densities.BETA,
        KERNEL,
        POISSON,
        NEGATIVE_BINOMIAL,
        MULTINOMIAL,
        BERNOULLI,
    )
}

_DEFAULTS = {family.variable: name for name, family in FAMILIES.items() if family.is_default}


def family_of(variable: Variable, chosen: Mapping[Variable, str]) -> str:
    """Return the name of a variable's family of distributions, such as "gaussian".

    It is ``chosen[variable]`` if the user chose one, or else the default of the variable's type.
    """
    kind = type(variable)
    name = chosen.get(variable) or _DEFAULTS.get(kind)
    if name is not None:
        return name
    # A subclass of a type of variable has the default of its nearest base class.
    return next(_DEFAULTS[base] for base in kind.__mro__ if base in _DEFAULTS)


# Difference of two BIC, halved, that is strong evidence (Kass and Raftery 1995).
_STRONG = 3.0


def best_families(
    columns: Sequence[Continuous],
    source: CountSource,
    smoothing: Smoothing,
    gains: Mapping[Arc, float],
) -> dict[Variable, str]:
    """Return the family of each column: the one with the best BIC, if the evidence is strong.

    A column of positive numbers is Gaussian, log-normal or gamma given the class. The likelihoods
    of these are functions of moments, so that rows in memory, in a file and in sums choose the
    same, and have two parameters each, so that BIC compares the likelihoods. All others and
    constants are Gaussian, and so is everything where its posterior predictive is wanted.

    Parameters
    ----------
    columns : sequence of Continuous
    source : CountSource
        With the class as target.
    smoothing : Smoothing
    gains : mapping from arc to float
        What the arcs between Gaussians add to their log likelihood, in nats a row. The other
        families have the class as their only parent, and have to outweigh that.
    """
    if smoothing.estimation == "predictive":
        return {}
    assert source.target is not None
    functions = ("identity", "log or missing")
    shape = (source.target.cardinality, len(functions), len(columns))
    moments = source.summary(Moments(tuple(columns), functions, source.target)).moments
    count = moments.count.reshape(shape)  # logarithms of numbers that are not positive are missing
    n = count[:, 0]  # the weight of rows with a value, shape (n_classes, n_columns)
    families: dict[Variable, str] = dict.fromkeys(columns, "gaussian")
    positive = np.flatnonzero((n == count[:, 1]).all(axis=0))
    if not len(positive):
        return families
    overall = moments.merged(shape[:1], 0)
    # A constant tells of no family: its variance is a convention, on either scale.
    positive = positive[overall.square.reshape(shape[1:])[0, positive] > 0]
    # Means of x and of log(x) in each class, shape (n_classes, number of positive columns) each.
    x, log = np.moveaxis(moments.mean.reshape(shape)[..., positive], 1, 0)
    variance = safe_divide(moments.square, moments.count).reshape(shape)
    ridge = smoothing.ridge(safe_divide(overall.square, overall.count)).reshape(shape[1:])
    n, variance, ridge = n[:, positive], variance[..., positive], ridge[:, positive]
    with np.errstate(divide="ignore", invalid="ignore"):
        # The mean log density of each class at the maximum of the likelihood.
        # Gaussians, of x and of log(x), have the variance that smoothing gives them. The density of
        # a log-normal x is that of log(x), divided by x.
        larger = variance + ridge
        gaussian = -0.5 * (np.log(2 * np.pi * larger) + variance / larger)
        a, b = densities.solve_gamma(x, log)
        others = {"lognormal": gaussian[:, 1] - log}
        others["gamma"] = a * np.log(b) - gammaln(a) + (a - 1) * log - b * x
    # For each column, the sum of the gains of its arcs: it would lose them in another family.
    gain_of: Counter[Name] = Counter()
    for arc, gain in gains.items():
        gain_of.update(dict.fromkeys(arc, gain))
    chosen = [columns[j] for j in positive.tolist()]
    best = (n * (gaussian[:, 0] + [gain_of[v.name] for v in chosen])).sum(axis=0) + _STRONG
    for name, logs in others.items():
        sums = np.sum(n * logs, axis=0, where=n > 0)
        for j in np.flatnonzero(np.isfinite(sums) & (sums > best)).tolist():
            families[chosen[j]], best[j] = name, sums[j]
    return families
