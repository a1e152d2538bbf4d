"""Estimation of the parameters of a structure from the statistics of its families."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import (
    CPDError,
    DataError,
    FewRowsWarning,
    UnsupportedModelError,
    quoted,
    warn,
)
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.learning.structure import Structure
from bayesgraph.models import CPD, FAMILIES, BayesianNetwork, GaussianCPD, TableCPD, family_of
from bayesgraph.statistics import (
    CountSource,
    Family,
    FamilyStatistics,
    ParameterPosterior,
    RowSource,
    Singles,
    Smoothing,
    safe_divide,
    shares,
)

# Parents besides the class of a variable whose families with any of them are counted ahead.
MOST_PARENTS = 5
# Share of all rows that may be lacking by rounding errors of sums of weights.
ROUNDING = 1e-9


def estimate_network(
    structure: Structure,
    source: CountSource,
    smoothing: Smoothing,
    *,
    priors: Floats | None = None,
    distributions: Mapping[Variable, str] | None = None,
    complete: bool = False,
    additive: bool = False,
) -> BayesianNetwork:
    """Return the network of a structure with parameters estimated from a count source.

    A distribution is estimated from the rows that have the child and all its parents. If they are
    too few beside rows that lack a parent, it shrinks towards the distribution given the other
    parents, which shrinks in the same way, down to that given the class alone, or nothing; the
    parents that fewest rows have are dropped first. Rows are enough if each parameter has as many
    as there are rows without the parent for each row with it: they would estimate the distribution
    given fewer parents as well. What is missing to that number is added in rows of the distribution
    given fewer parents, at most as many as it has. They are also added to a Gaussian of fewer rows
    than parameters, and to a configuration of parents that occurs only where the child is missing.
    Of n rows in a class (if it is a parent) and m that have only the child there, the number is
    ``p m / n`` in each configuration of the discrete parents, for the p parameters of a table's row
    or of a linear Gaussian.

    Parameters
    ----------
    structure : Structure
    source : CountSource
    smoothing : Smoothing
        The class prior is the class frequency, smoothed only if a mapping `alpha` names the class.
    priors : ndarray, shape (K,), optional
        Class prior to use instead of the class frequencies.
    distributions : mapping from variable to name, optional
        Names of the distributions of features with the class as only parent: see
        `bayesgraph.models.FAMILIES`. By default "gaussian" for continuous and "categorical" for
        discrete variables.
    complete : bool
        Whether the statistics are those of whole rows, as in EM.
    additive : bool
        Whether to ask for the same statistics whichever columns rows lack, as those of other rows
        will be added; of variables with at most `MOST_PARENTS` parents besides the class.

    Warns
    -----
    FewRowsWarning
        If no row has the values of a child and all its parents.

    Raises
    ------
    CPDError
        If a discrete child has a continuous parent.
    UnsupportedModelError
        If a variable has other parents than the class, and its distribution allows only the class.
    """
    parents = structure.parents()
    for child, above in parents.items():
        numeric = [p.name for p in above if isinstance(p, Continuous)]
        if numeric and isinstance(child, Discrete):
            raise CPDError(
                f"The discrete variable {child.name!r} cannot have continuous parents; got "
                f"{quoted(numeric)}. Reverse the arcs or discretise the parents."
            )
    named = {v: family_of(v, distributions or {}) for v in structure.variables}
    blocks = _leaves(parents, named, source, smoothing)
    leaves = {child for block in blocks for child in block.children}
    # The others get CPDs of their own, not in a plate.
    apart = [v for v in structure.variables if v not in leaves]
    for child in apart:
        if not FAMILIES[named[child]].any_parents:
            raise UnsupportedModelError(
                f"{child.name!r} is {named[child]}: such a feature has the class as its only "
                "parent, as in NaiveBayesClassifier. Choose 'gaussian' or 'categorical' for other "
                "structures."
            )
    families = {v: Family.of(*parents[v], v) for v in apart}
    # Its counts sum to the weight of all rows.
    all_rows = Family(() if source.target is None else (source.target,))
    ahead = _with_fewer_parents({v: parents[v] for v in apart}, source.target) if additive else []
    sums = source.families([*ahead, *families.values(), *(() if complete else (all_rows,))])
    # Requested for all columns at once: each request passes over all that the source holds.
    columns = dict.fromkeys([v for child in apart for v in (child, *parents[child])])
    numbers = tuple([v for v in columns if isinstance(v, Continuous)])
    variances = source.variances(numbers)
    ridge = dict(zip(numbers, smoothing.ridge(variances), strict=True))
    if not complete:
        others = {v: parents[v] for v in apart}
        spread = dict[Variable, float](zip(numbers, variances.tolist(), strict=True))
        sums |= _beside_gaps(source, others, sums, float(sums[all_rows].counts.sum()), spread)
    for child, family in families.items():
        args = (parents[child], sums[family], smoothing)
        if isinstance(child, Continuous):
            ridges = np.array([ridge[v] for v in family.continuous])
            blocks.append(estimate_gaussian(child, *args, ridges, source.target))
        else:
            assert isinstance(child, Discrete)  # count vectors are in `blocks`, or refused
            blocks.append(estimate_table(child, *args, source.target, priors))
    return BayesianNetwork(blocks, arc_scores=structure.scores, order=structure.variables)


def _with_fewer_parents(
    parents: Mapping[Variable, Sequence[Variable]], target: Discrete | None
) -> Iterator[Family]:
    """Yield the families that `_beside_gaps` may ask for, whichever columns rows lack.

    They are those of each child and any of its parents, each before those that are part of it.
    """
    # Ascending, so that no family is a part of an earlier one that is not of the same child.
    for child, above in sorted(parents.items(), key=lambda item: len(item[1])):
        features = [p for p in above if p != target]
        if len(features) <= MOST_PARENTS:
            for n in range(len(features) + 1):
                for dropped in combinations(features, n):
                    kept = [p for p in above if p not in dropped]
                    yield Family.of(*kept, child)
                    if kept:
                        yield Family.of(*kept)
            yield from map(Family.of, features)


def _leaves(
    parents: Mapping[Variable, Sequence[Variable]],
    named: Mapping[Variable, str],
    source: CountSource,
    smoothing: Smoothing,
) -> list[CPD]:
    """Return the plates of the features whose only parent is the class.

    A plate is one object with the CPDs of many features of the same distribution.

    `named` has the distribution of each variable. Features with a distribution that allows any
    parents are left out, to get separate CPDs, if other features have further parents or the source
    has no rows, and it does not yet hold the statistics of single columns: to collect them would
    take another pass over the data.
    """
    target = source.target
    if target is None:
        return []
    leaves: dict[str, list[Variable]] = {}
    for child, above in parents.items():
        if len(above) == 1 and above[0] == target:
            leaves.setdefault(named[child], []).append(child)
    has_others = sum(map(len, leaves.values())) < len(parents) - 1  # besides the class
    # A predictive distribution of a number is that of a plate only: its features stay.
    is_spared = has_others or not isinstance(source, RowSource)
    if is_spared and smoothing.estimation != "predictive":
        for name in [name for name in leaves if FAMILIES[name].any_parents]:
            if not source.holds(Singles(tuple(leaves[name]), target)):
                del leaves[name]
    # One pass over the data for all distributions of single columns.
    of_columns = [name for name, family in FAMILIES.items() if family.statistics is Singles]
    columns = tuple(v for name in of_columns for v in leaves.get(name, ()))
    if columns:
        source.singles(Singles(columns, target))
    return [
        plate
        for name, children in leaves.items()
        for plate in FAMILIES[name].estimate(children, target, source, smoothing)
    ]


def _beside_gaps(
    source: CountSource,
    parents: Mapping[Variable, Sequence[Variable]],
    sums: Mapping[Family, FamilyStatistics],
    total: float,
    variances: Mapping[Variable, float],
) -> dict[Family, FamilyStatistics]:
    """Return the statistics of families that have too few rows, as `estimate_network` says.

    Parameters
    ----------
    source : CountSource
    parents : mapping from child to its parents
    sums : mapping from family to FamilyStatistics
        Of the rows without gaps.
    total : float
        Weight of all rows.
    variances : mapping from number to float
        Of all rows.
    """
    target = source.target
    # From each child of such a family to its parents but the class, which may be dropped.
    droppable: dict[Variable, list[Variable]] = {}
    for child, above in parents.items():
        statistics = sums[Family.of(*above, child)]
        # Families that some rows lack, or that have fewer rows than a Gaussian has parameters.
        least = (statistics.mean.shape[-1] + 1) * (1 if target is None else target.cardinality)
        if statistics.counts.sum() < max(total * (1.0 - ROUNDING), least) and set(above) - {target}:
            droppable[child] = [p for p in above if p != target]
    singles = source.families(Family.of(p) for p in dict.fromkeys(chain(*droppable.values())))
    # For each child its parents in the order in which they are added, those that most rows have
    # first, and the sets that result.
    chains, families = {}, list[Family]()
    all_rows = total or 1.0  # there may be none
    for child, others in droppable.items():
        # Sums of weights are rounded; ties go to the first parent.
        weight = {p: round(float(singles[Family.of(p)].counts.sum() / all_rows), 9) for p in others}
        added = sorted(others, key=lambda p: -weight[p])
        # Sets of parents, from the one without any of these to the one with all of them: each set
        # has one more of `added`.
        sets = [[p for p in parents[child] if p not in added[n:]] for n in range(len(added) + 1)]
        chains[child] = added, sets
        families += [Family.of(*p, child) for p in sets] + [Family.of(*p) for p in sets[1:]]
    raw = source.families(families)
    shrunk, rowless = {}, []
    for child, (added, sets) in chains.items():
        # What the statistics given one more parent shrink towards.
        fewer = raw[Family.of(*sets[0], child)]
        # The rows that have the child, by class; the last axis of a discrete child is its own.
        alone = fewer.counts.sum(axis=-1) if isinstance(child, Discrete) else fewer.counts
        for new, above in zip(added, sets[1:], strict=True):
            family = Family.of(*above, child)
            # The rows with all of these columns, and a share of what fewer parents would tell.
            exact, of_parents = raw[family], raw[Family.of(*above)].counts
            fewer = _extended(fewer, family, new, backed_off_mean(exact), variances.get(new, 0.0))
            share = _share(child, above, exact.counts, fewer.counts, alone, of_parents, target)
            prior = fewer.counts * share, fewer.mean, fewer.comoment * share[..., None, None]
            fewer = exact + FamilyStatistics(*prior)
        shrunk[family] = fewer
        if not exact.counts.any() and alone.any():
            rowless.append(f"{child.name!r} given {quoted(p.name for p in parents[child])}")
    if rowless:
        warn(
            f"No row has the values of both child and parents of {'; '.join(rowless)}: it gets the "
            "distribution given the parents that rows have beside it, else its own. Leave arcs out "
            "that no row tells of, or use missing='em', which takes rows with gaps.",
            FewRowsWarning,
        )
    return shrunk


def _extended(
    statistics: FamilyStatistics, family: Family, new: Variable, centre: Floats, variance: float
) -> FamilyStatistics:
    """Return the statistics of a family without one parent for the family with it.

    The rows are alike in all states of the parent; a number varies around `centre`, the means in
    the family, with its variance in all rows, and independently of the others.
    """
    counts, mean, comoment = statistics.counts, statistics.mean, statistics.comoment
    if isinstance(new, Discrete):
        axis = family.discrete.index(new)
        # An axis of length 1: the same for all states when it is added to the family's own.
        return FamilyStatistics(*(np.expand_dims(a, axis) for a in (counts, mean, comoment)))
    # Its place on the last axes of the moments.
    at = family.continuous.index(new)
    mean = np.broadcast_to(mean, (*centre.shape[:-1], mean.shape[-1]))
    mean = np.insert(mean, at, centre[..., at], axis=-1)
    comoment = np.insert(np.insert(comoment, at, 0.0, axis=-1), at, 0.0, axis=-2)
    comoment[..., at, at] = counts * variance
    return FamilyStatistics(counts, mean, comoment)


def _share(
    child: Variable,
    parents: Sequence[Variable],
    counts: Floats,
    fewer: Floats,
    alone: Floats,
    of_parents: Floats,
    target: Discrete | None,
) -> Floats:
    """Return the share of the rows given fewer parents that are added, by configuration.

    Parameters
    ----------
    child : Variable
    parents : sequence of Variable
    counts, fewer : ndarray
        Rows of the family, and those that can be added.
    alone : ndarray, shape (K,) or ()
        Rows that have the child, by class if it is one of the parents.
    of_parents : ndarray
        Rows that have the parents.
    target : Discrete or None
    """
    # Of a linear Gaussian: intercept, variance and slopes; of a row of a table: states but one.
    parameters, least = 2.0 + sum(isinstance(p, Continuous) for p in parents), 0.0
    if isinstance(child, Discrete):
        parameters = max(child.cardinality - 1.0, 1.0)
        counts, fewer = (a.sum(axis=-1, keepdims=True) for a in (counts, fewer))
        of_parents = of_parents[..., None]  # all with an axis of length 1 for the child
    elif counts.sum() < parameters * alone.size:
        least = parameters
    discrete = [p for p in parents if isinstance(p, Discrete)]
    # The rows of each class, if it is a parent, with all axes but that of the class of length 1.
    # (An axis after those of the discrete parents is that of the child.)
    axes = tuple(i for i in range(counts.ndim) if discrete[i : i + 1] != [target])
    rows = counts.sum(axis=axes, keepdims=True)
    # Rows that lack a parent, for each row that lacks none.
    lacking = np.where(rows > 0, safe_divide(alone.reshape(rows.shape) - rows, rows), np.inf)
    # The number of rows that is enough, less those that a configuration has on average.
    needed = np.maximum(parameters * lacking, least) - rows * rows.size / counts.size
    share = np.clip(safe_divide(needed, fewer), 0.0, 1.0)
    # A configuration that occurs only where the child is missing takes all that fewer parents tell.
    return np.where((counts == 0) & (of_parents > 0), 1.0, share)


def estimate_table(
    child: Discrete,
    parents: Sequence[Variable],
    statistics: FamilyStatistics,
    smoothing: Smoothing,
    target: Discrete | None,
    priors: Floats | None,
) -> TableCPD:
    """Return the table CPD of a child from its family's counts.

    A class variable without parents has the prior of `class_prior`.
    """
    counts = statistics.counts
    if child == target and not parents:
        cpd = TableCPD(child, class_prior(child, counts, priors, smoothing))
        rows = counts.sum()
        if priors is not None:  # a prior that was given is known: of infinite strength
            cpd.parameter_posterior = ParameterPosterior(rows, np.array(np.inf))
        elif isinstance(smoothing.alpha, Mapping) and child.name in smoothing.alpha:
            cpd.parameter_posterior = smoothing.table_posterior(counts, child)
        elif smoothing.has_posterior:
            cpd.parameter_posterior = ParameterPosterior(rows, rows)
        return cpd
    if child == target and priors is not None:
        names = quoted(p.name for p in parents)
        raise DataError(
            f"priors= is for a class without parents; {child.name!r} has {names}. "
            "Leave priors= out or reverse the arcs."
        )
    # The axis of the class, within which a table shrinks to fewer parents.
    kept = parents.index(target) if target in parents else None
    cpd = TableCPD(child, smoothing.table(counts, child, kept), parents)  # type: ignore[arg-type]
    cpd.parameter_posterior = smoothing.table_posterior(counts, child)
    return cpd


def class_prior(
    target: Discrete, counts: Floats, priors: Floats | None, smoothing: Smoothing
) -> Floats:
    """Return the class prior: `priors` if given, else the class frequencies.

    The frequencies are smoothed only if the mapping `smoothing.alpha` names the class.
    """
    if priors is not None:
        return priors
    if isinstance(smoothing.alpha, Mapping) and target.name in smoothing.alpha:
        counts = smoothing.weighted(counts, smoothing.pseudo_counts(target, len(counts)))
    return shares(counts, 1.0 / target.cardinality)


def estimate_gaussian(
    child: Continuous,
    parents: Sequence[Variable],
    statistics: FamilyStatistics,
    smoothing: Smoothing,
    ridge: Floats,
    target: Discrete | None,
) -> GaussianCPD:
    """Return the linear Gaussian of a child from the joint moments of parents and child.

    Given a configuration of the discrete parents and values z of the continuous parents, the child
    c has the mean ``m_c + b^T (z - m_z)`` with ``b = S_zz^-1 S_zc`` and the variance ``S_cc - S_cz
    b``: the conditional of the joint Gaussian (Anderson 2003, theorem 2.5.1). Here m are the means
    of the rows with this configuration, and S is their covariance, regularised by `smoothing`.

    Parameters
    ----------
    child : Continuous
    parents : sequence of Variable
    statistics : FamilyStatistics
        Statistics of the family, the child last among the continuous variables.
    smoothing : Smoothing
    ridge : ndarray, shape (number of continuous parents + 1,)
        Added to the variances of the parents and, last, of the child.
    target : Discrete or None
        The class, if there is one.
    """
    smoothing.refuse_predictive(f"{child.name!r}, a Gaussian that is no child of the class alone")
    above = [p for p in parents if isinstance(p, Continuous)]
    covariance = smoothing.covariance(
        statistics.counts[..., None, None],
        statistics.comoment,
        towards(statistics, smoothing, [p == target for p in parents if isinstance(p, Discrete)]),
    ) + np.diag(ridge)
    mean = backed_off_mean(statistics)
    of_child = covariance[..., -1, -1]
    if not (of_child > 0).all():
        raise DataError(
            f"Column {child.name!r} is constant in some configuration of its parents, and nothing "
            "smooths its variance of zero; give var_smoothing or shrinkage a positive value."
        )
    link = covariance[..., :-1, -1]  # S_zc
    try:
        slopes = np.linalg.solve(covariance[..., :-1, :-1], link[..., None])[..., 0]
    except np.linalg.LinAlgError as error:
        raise DataError(
            f"The continuous parents {quoted(p.name for p in above)} of {child.name!r} are "
            "collinear in some configuration, and nothing smooths their covariance; give "
            "var_smoothing a positive value."
        ) from error
    residual = of_child - np.sum(slopes * link, axis=-1)
    # For collinear columns, rounding may leave no residual variance: the ridge is its minimum.
    variance = np.maximum(residual, ridge[-1])
    if not (variance > 0).all():
        raise DataError(
            f"Column {child.name!r} is a linear function of {quoted(p.name for p in above)} in "
            "some configuration, and nothing smooths its variance of zero; give var_smoothing a "
            "positive value."
        )
    intercept = mean[..., -1] - np.sum(slopes * mean[..., :-1], axis=-1)
    cpd = GaussianCPD(child, intercept, variance, parents, slopes)
    if smoothing.has_posterior:
        # The rows of the prior count for the coefficients, but not for the mean.
        strength = smoothing.degrees_of_freedom(statistics.counts)
        of_parents: tuple[Floats, ...] = ()
        if above:
            # The inverse of the sums of squares and products of the continuous parents.
            weight = np.where(strength > 0, strength, 1.0)[..., None, None]
            inverse = np.linalg.inv(weight * covariance[..., :-1, :-1])
            of_parents = mean[..., :-1], np.asarray(inverse, dtype=np.float64)
        cpd.parameter_posterior = ParameterPosterior(statistics.counts, strength, *of_parents)
    return cpd


def towards(statistics: FamilyStatistics, smoothing: Smoothing, is_class: Sequence[bool]) -> Floats:
    """Return the covariance towards which the covariances of a family shrink.

    It is the pooled within-class covariance if one of the discrete parents is the class, else the
    covariance of all rows. `is_class` says of each discrete parent whether it is the class.
    """
    # From the last axis, as axes after a merged one move forward.
    for axis in range(len(is_class) - 1, -1, -1):
        if not is_class[axis]:
            statistics = statistics.merged(axis)
    count = statistics.counts[..., None, None]
    if not any(is_class):
        return safe_divide(statistics.comoment, count)
    # The axis of the class is the first one now.
    return np.asarray(smoothing.pooled(count, statistics.comoment)[0])


def backed_off_mean(statistics: FamilyStatistics) -> Floats:
    """Return the means, with replacements for configurations of the discrete parents without rows.

    Such a configuration has the mean of the rows that agree with it in fewer parents. The last
    discrete parent is dropped first, so that a classifier drops the class last.
    """
    # Nothing to replace, or no discrete parent is left.
    if statistics.counts.all() or not statistics.counts.ndim:
        return statistics.mean
    last = statistics.counts.ndim - 1
    coarser = backed_off_mean(statistics.merged(last))  # the same for all states of the last one
    return np.where(statistics.counts[..., None] > 0, statistics.mean, coarser[..., None, :])
