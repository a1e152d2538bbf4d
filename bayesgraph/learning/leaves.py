"""Distributions of leaves: children of the class alone, each kind estimated in one go.

`LEAVES` is the table: a new distribution is one function and one line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import (
    CPD,
    DirichletMultinomialCPD,
    GaussianPlate,
    KernelDensityPlate,
    LogNormalPlate,
    MultinomialCPD,
    NegativeBinomialPlate,
    PoissonPlate,
    PresenceCPD,
    StudentPlate,
    TablePlate,
)
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.smoothing import Smoothing
from bayesgraph.statistics import CountSource, Logs, Samples, Singles, Totals
from bayesgraph.statistics.leaves import TotalsSummary, distinct_values
from bayesgraph.statistics.moments import GroupMoments, safe_divide
from bayesgraph.variables import Continuous, Count, CountVector, Discrete, Variable

Estimate: TypeAlias = Callable[[Sequence[Variable], Discrete, CountSource, Smoothing], list[CPD]]

# Rates and probabilities are positive: what never happened is this improbable, not impossible.
_NEVER = 1e-300


def distribution_of(variable: Variable, named: Mapping[Variable, str]) -> str:
    """Return the name of a variable's distribution: the one chosen, or that of its type."""
    chosen = named.get(variable)
    if chosen is not None:
        return chosen
    if isinstance(variable, Discrete):
        return "categorical"
    if isinstance(variable, CountVector):
        return "multinomial"
    return "poisson" if isinstance(variable, Count) else "gaussian"


def categorical(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return tables, by the counts and what Smoothing draws them towards."""
    discrete = [child for child in children if isinstance(child, Discrete)]
    summary = source.singles(Singles(tuple(discrete), target))
    states = [summary.at.states(child) for child in discrete]
    counts = np.concatenate([summary.counts[:, part] for part in states], axis=1)
    cards = np.array([child.cardinality for child in discrete])
    prior = np.concatenate([smoothing.state_counts(child) for child in discrete])
    even = 1.0 / np.repeat(cards, cards)  # where there is nothing to go by
    if smoothing.is_hierarchy:
        towards = _shares(counts.sum(axis=0) + prior, cards, even)
        pull = np.repeat([smoothing.pull(n) for n in cards.tolist()], cards)
        values = _shares(counts + pull * towards, cards, towards)
    else:
        values = _shares(smoothing.weighted(counts, prior), cards, even)
    return [TablePlate(discrete, values, [target])]


def _shares(cells: Floats, cards: NDArray[np.int64], otherwise: Floats) -> Floats:
    """Return the cells of columns side by side over their sums; something else where that is 0."""
    start = np.concatenate([[0], np.cumsum(cards)])[:-1]
    total = np.repeat(np.add.reduceat(cells, start, axis=-1), cards, axis=-1)
    return np.where(total > 0, safe_divide(cells, total), otherwise)


def gaussian(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return Gaussians, or Student's t as their posterior predictive."""
    columns = tuple(child for child in children if isinstance(child, Continuous))
    summary = source.singles(Singles(columns, target))
    place = [summary.at.place_continuous[child] for child in columns]
    moments, overall = (
        GroupMoments(*(a[:, place] for a in (m.count, m.mean, m.square)))
        for m in (summary.moments, summary.overall)
    )
    return _from_moments(columns, target, moments, overall, smoothing)


def _from_moments(
    columns: tuple[Continuous, ...],
    target: Discrete,
    moments: GroupMoments,
    overall: GroupMoments,
    smoothing: Smoothing,
) -> list[CPD]:
    mean = np.where(moments.count > 0, moments.mean, overall.mean)
    ridge = smoothing.ridge(safe_divide(overall.square, overall.count)[0])
    towards = smoothing.pooled(moments.count, moments.square)
    if smoothing.estimation == "predictive":
        # What is the same in all rows tells nothing of the class: not even how many rows it had.
        constant = overall.square == 0
        moments = replace(moments, count=np.where(constant, overall.count, moments.count))
        return [_student(columns, target, moments, mean, ridge, towards, smoothing)]
    variance = smoothing.covariance(moments.count, moments.square, towards) + ridge
    _check_variance(columns, variance)
    return [GaussianPlate(columns, mean, variance, [target])]


def _student(
    columns: tuple[Continuous, ...],
    target: Discrete,
    moments: GroupMoments,
    mean: Floats,
    ridge: Floats,
    towards: Floats,
    smoothing: Smoothing,
) -> CPD:
    """Return the posterior predictive under p(mean, variance) ~ 1 / variance and the prior's rows.

    Gelman et al. (2013), section 3.2: a t distribution of n - 1 degrees of freedom around the mean
    with the squared scale s^2 (1 + 1/n); the prior adds its rows to the degrees of freedom and its
    variance to s^2.
    """
    n = moments.count
    dof = np.where(n > 0, n - 1.0, 0.0) + smoothing.rows
    if not (dof > 0).all():
        short = columns[int(np.argwhere(~(dof > 0))[0][1])].name
        raise DataError(
            f"estimation='predictive' takes two rows in every class, or a positive shrinkage; "
            f"column {short!r} has fewer in one."
        )
    squared = safe_divide(moments.square + smoothing.rows * towards, dof)
    variance = np.where(n > 0, squared, towards) * (1.0 + 1.0 / np.maximum(n, 1.0)) + ridge
    _check_variance(columns, variance)
    return StudentPlate(columns, mean, np.sqrt(variance), dof, [target])


def _check_variance(columns: tuple[Continuous, ...], variance: Floats) -> None:
    if not (variance > 0).all():
        name = columns[int(np.argwhere(~(variance > 0))[0][1])].name
        raise DataError(
            f"Column {name!r} is constant in some class, and nothing smooths its variance of zero; "
            "give var_smoothing or shrinkage a positive value."
        )


def lognormal(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return log-normals: Gaussians of the logarithms."""
    if smoothing.estimation == "predictive":
        raise DataError(
            "estimation='predictive' is not known for log-normal columns; choose 'mean', 'map' or "
            "'ml', or make a column of logarithms and call it Gaussian."
        )
    columns = tuple(child for child in children if isinstance(child, Continuous))
    moments: GroupMoments = source.summary(Logs(columns, target)).moments
    overall = moments.merged((target.cardinality,), 0)
    plate = _from_moments(columns, target, moments, overall, smoothing)[0]
    assert isinstance(plate, GaussianPlate)  # not the predictive
    return [LogNormalPlate(columns, plate.mean, plate.variance, [target])]


def poisson(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return Poisson rates: (events + alpha m) / (rows + alpha) around the column's mean m.

    The prior is a gamma distribution of shape alpha m and alpha rows' worth of exposure; a column
    without any event takes half an event in all rows for m.
    """
    columns = tuple(child for child in children if isinstance(child, Count))
    summary = source.singles(Singles(columns, target))
    place = [summary.at.place_continuous[child] for child in columns]
    rows = summary.moments.count[:, place]
    events = rows * summary.moments.mean[:, place]
    overall = summary.overall
    least = safe_divide(np.full(len(columns), 0.5), overall.count[0, place])
    centre = np.maximum(overall.mean[0, place], np.where(least > 0, least, 0.5))
    alpha = np.array([float(smoothing.pseudo_counts(child, 1).reshape(-1)[0]) for child in columns])
    shape, exposure = events + alpha * centre, rows + alpha
    if smoothing.estimation == "predictive":
        positive = np.maximum(shape, _NEVER), np.maximum(exposure, _NEVER)
        return [NegativeBinomialPlate(columns, *positive, [target])]
    top = np.maximum(shape - 1.0, 0.0) if smoothing.estimation == "map" else shape
    rate = np.where(exposure > 0, safe_divide(top, exposure), centre)
    return [PoissonPlate(columns, np.maximum(rate, _NEVER), [target])]


def kernel(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return kernel densities; a class without values takes those of all classes."""
    columns = tuple(child for child in children if isinstance(child, Continuous))
    summary = source.summary(Samples(columns, target))
    points, weights = [], []
    shape = (target.cardinality, len(columns))
    counts, bandwidth = np.empty(shape), np.empty(shape)
    for j, (values, heavy) in enumerate(zip(summary.values, summary.weights, strict=True)):
        everything = distinct_values(np.concatenate(values), np.concatenate(heavy))
        if not len(everything[0]):
            everything = np.zeros(1), np.ones(1)  # never observed: the same for all classes
        fallback = _bandwidth(*everything, smoothing, 0.0) or 1.0
        for k in range(target.cardinality):
            x, w = (values[k], heavy[k]) if len(values[k]) else everything
            points.append(x)
            weights.append(w)
            counts[k, j] = len(x)
            bandwidth[k, j] = _bandwidth(x, w, smoothing, fallback)
    return [
        KernelDensityPlate(
            columns, np.concatenate(points), np.concatenate(weights), counts, bandwidth, [target]
        )
    ]


def _bandwidth(values: Floats, weights: Floats, smoothing: Smoothing, fallback: float) -> float:
    """Return the bandwidth of ascending values; the fallback if they have no spread.

    A weight stands for so many rows, as everywhere.
    """
    if not isinstance(smoothing.bandwidth, str):
        return float(smoothing.bandwidth)
    total = weights.sum()
    if not total > 0:
        return fallback
    # Differences from one of the values: equal values then have no spread, exactly.
    away = values - values[0]
    spread = float(np.sqrt(weights @ (away - weights @ away / total) ** 2 / total))
    factor = 1.06
    if smoothing.bandwidth == "silverman":
        factor = 0.9
        places = (np.cumsum(weights) - 0.5 * weights) / total
        quartiles = np.interp([0.25, 0.75], places, values)
        range_ = float(quartiles[1] - quartiles[0]) / 1.34
        spread = min(spread, range_) if range_ > 0 else spread
    return float(factor * spread * total**-0.2) or fallback


def item_sums(summary: TotalsSummary) -> Floats:
    """Return the sums of each item's counts as if none were missing, shape (K, n_items)."""
    if summary.seen.shape[1] == 1:
        return summary.sums
    most = summary.seen.max(axis=1, keepdims=True)
    return np.where(summary.seen > 0, safe_divide(summary.sums * most, summary.seen), 0.0)


def multinomial(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return multinomials over the items of each vector.

    Where counts are missing, an item's sum is scaled up by the share of the rows that know it
    (available cases; exact if counts are missing completely at random).
    """
    found: list[CPD] = []
    for child in children:
        assert isinstance(child, CountVector)  # the distribution of such variables
        summary: TotalsSummary = source.summary(Totals(child, target))
        sums = item_sums(summary)
        n = len(child.items)
        alpha = smoothing.pseudo_counts(child, n)
        if smoothing.estimation == "predictive":
            concentration = np.maximum(sums + alpha, _NEVER)
            found.append(DirichletMultinomialCPD(child, concentration, [target]))
            continue
        cells = smoothing.weighted(sums, alpha)
        total = cells.sum(axis=1, keepdims=True)
        shares = np.where(total > 0, safe_divide(cells, total), 1.0 / n)
        last = int(np.flatnonzero(summary.lengths.any(axis=0)).max(initial=-1)) + 1
        found.append(MultinomialCPD(child, shares, [target], summary.lengths[:, :last]))
    return found


def bernoulli(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return probabilities of presence: (there + alpha) / (rows + 2 alpha)."""
    found: list[CPD] = []
    for child in children:
        assert isinstance(child, CountVector)  # the distribution of such variables
        threshold = float(smoothing.threshold)
        summary: TotalsSummary = source.summary(Totals(child, target, threshold))
        alpha = smoothing.pseudo_counts(child, len(child.items))
        there = smoothing.weighted(summary.sums, alpha)
        absent = smoothing.weighted(summary.seen - summary.sums, alpha)
        total = there + absent
        share = np.where(total > 0, safe_divide(there, total), 0.5)
        found.append(PresenceCPD(child, np.clip(share, 0.0, 1.0), [target], threshold))
    return found


LEAVES: dict[str, Estimate] = {
    "gaussian": gaussian,
    "categorical": categorical,
    "bernoulli": bernoulli,
    "multinomial": multinomial,
    "poisson": poisson,
    "lognormal": lognormal,
    "kernel": kernel,
}
