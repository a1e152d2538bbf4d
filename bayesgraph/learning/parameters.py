"""Parameters of a structure from the statistics of its families."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bayesgraph.cpds import CPD, GaussianCPD, TableCPD
from bayesgraph.errors import CPDError, DataError, UnsupportedModelError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.arcs import total_variances
from bayesgraph.learning.leaves import LEAVES, family_of
from bayesgraph.learning.smoothing import Smoothing
from bayesgraph.learning.structure import Structure
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.statistics import CountSource, Family, FamilyStatistics, Singles
from bayesgraph.statistics.moments import safe_divide
from bayesgraph.variables import Continuous, Discrete, Variable

_BASIC = ("categorical", "gaussian")
_SINGLE = (*_BASIC, "poisson")


def estimate_network(
    structure: Structure,
    source: CountSource,
    smoothing: Smoothing,
    *,
    priors: Floats | None = None,
    families: Mapping[Variable, str] | None = None,
) -> BayesianNetwork:
    """Return the network of a structure with parameters from a count source.

    Parameters
    ----------
    structure : Structure
    source : CountSource
    smoothing : Smoothing
        The class itself is not smoothed: its prior is its share of the rows.
    priors : ndarray, shape (K,), optional
        Of the class, instead of its share.
    families : mapping from variable to name, optional
        Of leaves: see `LEAVES`. By default "gaussian" or "categorical", by the type of variable.

    Raises
    ------
    CPDError
        For a continuous parent of a discrete child.
    UnsupportedModelError
        For a family that is known for leaves only elsewhere.
    """
    parents = structure.parents()
    for child, above in parents.items():
        wrong = [p.name for p in above if isinstance(p, Continuous)]
        if isinstance(child, Discrete) and wrong:
            raise CPDError(
                f"The discrete variable {child.name!r} cannot have continuous parents; got "
                f"{quoted(wrong)}. Reverse the arcs or discretise the parents."
            )
    blocks: list[CPD] = []
    target = source.target
    if target is not None:
        leaves = _leaves(structure, parents, source, families or {})
        # One pass over the data for all families of single columns.
        columns = tuple(v for name in _SINGLE for v in leaves.get(name, ()))
        if columns:
            source.singles(Singles(columns, target))
        for name, children in leaves.items():
            blocks += LEAVES[name](children, target, source, smoothing)
    known = {child for block in blocks for child in block.children}
    rest = [v for v in structure.variables if v not in known]
    _refuse_unknown(rest, families or {})
    asked = {v: Family.of(*parents[v], v) for v in rest}
    found = source.families(asked.values())
    # All columns at once: each question walks all that the source holds.
    numbers = _continuous(v for child in rest for v in (child, *parents[child]))
    variance = total_variances(source, tuple(dict.fromkeys(numbers)))
    for child in rest:
        statistics = found[asked[child]]
        if not isinstance(child, Discrete):
            assert isinstance(child, Continuous)  # vectors of counts are leaves, or refused
            above = parents[child]
            blocks.append(
                estimate_gaussian(child, above, statistics, smoothing, variance, source.target)
            )
        elif child == source.target and not parents[child]:
            blocks.append(TableCPD(child, class_prior(child, statistics.counts, priors)))
        elif child == source.target and priors is not None:
            names = quoted(p.name for p in parents[child])
            raise DataError(
                f"priors= is for a class without parents; {child.name!r} has {names}. "
                "Leave priors= out or reverse the arcs."
            )
        else:
            above = parents[child]
            kept = above.index(source.target) if source.target in above else None
            table = smoothing.table(statistics.counts, child, kept)
            blocks.append(TableCPD(child, table, parents[child]))  # type: ignore[arg-type]
    return BayesianNetwork(blocks, arc_scores=structure.scores, order=structure.variables)


def _continuous(variables: Iterable[Variable]) -> tuple[Continuous, ...]:
    return tuple(v for v in variables if isinstance(v, Continuous))


def class_prior(target: Discrete, counts: Floats, priors: Floats | None) -> Floats:
    """Return the distribution of the class: as given, or its share of the rows, not smoothed."""
    if priors is not None:
        return priors
    total = counts.sum()
    return counts / total if total > 0 else np.full(len(counts), 1.0 / target.cardinality)


def _leaves(
    structure: Structure,
    parents: Mapping[Variable, Sequence[Variable]],
    source: CountSource,
    families: Mapping[Variable, str],
) -> dict[str, list[Variable]]:
    """Return the children of the class alone by family: each family is estimated together.

    Those of the two basic families stay among the others where their statistics would take a pass
    over the data of their own.
    """
    target = source.target
    found: dict[str, list[Variable]] = {}
    for child in structure.variables:
        if list(parents[child]) == [target]:
            found.setdefault(family_of(child, families), []).append(child)
    if sum(len(children) for children in found.values()) < len(structure.variables) - 1:
        for name in _BASIC:
            if not source.holds(Singles(tuple(found.get(name, ())), target)):
                found.pop(name, None)
    return found


def _refuse_unknown(rest: Sequence[Variable], families: Mapping[Variable, str]) -> None:
    """Refuse families that only leaves of a star can have."""
    for child in rest:
        name = family_of(child, families)
        if name not in _BASIC:
            raise UnsupportedModelError(
                f"{child.name!r} is {name}: such a feature has the class as its only parent, as in "
                "NaiveBayesClassifier. Choose 'gaussian' or 'categorical' for other structures."
            )


def estimate_gaussian(
    child: Continuous,
    parents: Sequence[Variable],
    statistics: FamilyStatistics,
    smoothing: Smoothing,
    total_variance: Mapping[Continuous, float],
    target: Discrete | None,
) -> GaussianCPD:
    """Return the linear Gaussian of a child from the joint moments of parents and child.

    Given configuration d the child's mean is ``m_c + b^T (z - m_z)`` with
    ``b = S_zz^-1 S_zc`` and its variance ``S_cc - S_cz b``: the conditional of the joint Gaussian
    (Anderson 2003, theorem 2.5.1), with S regularised by `smoothing`.

    Parameters
    ----------
    child : Continuous
    parents : sequence of Variable
    statistics : FamilyStatistics
        Of the family, the child last among the continuous variables.
    smoothing : Smoothing
    total_variance : mapping from variable to float
    target : Discrete or None
        The class, if there is one.
    """
    above = [p for p in parents if isinstance(p, Continuous)]
    ridge = smoothing.ridge(np.array([total_variance[v] for v in (*above, child)]))
    covariance = smoothing.covariance(
        statistics.counts[..., None, None],
        statistics.comoment,
        towards(statistics, smoothing, [p == target for p in parents if isinstance(p, Discrete)]),
    ) + np.diag(ridge)
    mean = backed_off_mean(statistics)
    own = covariance[..., -1, -1]
    if not (own > 0).all():
        raise DataError(
            f"Column {child.name!r} is constant in some configuration of its parents, and nothing "
            "smooths its variance of zero; give var_smoothing or shrinkage a positive value."
        )
    if not above:
        return GaussianCPD(child, mean[..., 0], own, parents)
    link = covariance[..., :-1, -1]
    try:
        slopes = np.linalg.solve(covariance[..., :-1, :-1], link[..., None])[..., 0]
    except np.linalg.LinAlgError as error:
        raise DataError(
            f"The continuous parents {quoted(p.name for p in above)} of {child.name!r} are "
            "collinear in some configuration, and nothing smooths their covariance; give "
            "var_smoothing a positive value."
        ) from error
    residual = own - np.sum(slopes * link, axis=-1)
    # Exactly collinear columns: rounding may leave nothing; the ridge is what they were given.
    variance = np.maximum(residual, ridge[-1])
    if not (variance > 0).all():
        raise DataError(
            f"Column {child.name!r} is a linear function of {quoted(p.name for p in above)} in "
            "some configuration, and nothing smooths its variance of zero; give var_smoothing a "
            "positive value."
        )
    intercept = mean[..., -1] - np.sum(slopes * mean[..., :-1], axis=-1)
    return GaussianCPD(child, intercept, variance, parents, slopes)


def towards(statistics: FamilyStatistics, smoothing: Smoothing, is_class: Sequence[bool]) -> Floats:
    """Return the pooled within-class covariance; that of all rows if the class is no parent."""
    for axis in range(len(is_class) - 1, -1, -1):
        if not is_class[axis]:
            statistics = statistics.merged(axis)
    count = statistics.counts[..., None, None]
    if not statistics.counts.ndim:
        return safe_divide(statistics.comoment, count)
    return np.asarray(smoothing.pooled(count, statistics.comoment)[0])


def backed_off_mean(statistics: FamilyStatistics) -> Floats:
    """Return the means, those of empty configurations from the rows that differ in fewer parents.

    The last discrete parent is left out first, so that in a classifier the class is kept longest.
    """
    if statistics.counts.all() or not statistics.counts.ndim:
        return statistics.mean
    last = statistics.counts.ndim - 1
    coarser = backed_off_mean(statistics.merged(last))
    return np.where(statistics.counts[..., None] > 0, statistics.mean, coarser[..., None, :])
