"""Decomposable scores of structures: what one more parent gains, from the counts of the family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.arcs import arc_scores, penalty_rate, total_variances
from bayesgraph.learning.parameters import towards
from bayesgraph.learning.smoothing import Smoothing, one_of
from bayesgraph.statistics import CountSource, Family, FamilyStatistics, Pairs
from bayesgraph.statistics.moments import safe_divide
from bayesgraph.variables import Continuous, Discrete, Variable

SCORES = ("bic", "aic", "bdeu", "likelihood", "fcll")
# log(u / (u + v)) is about a log u + b log v + const, least squares over u and v uniform and
# independent, and log(p / (1 - p)) about r log p + const, p uniform: what FCLL makes of likelihood
# (a + b) and of discrimination (-b r).
FCLL_LIKELIHOOD = (np.pi**2 - 6.0) / 12.0
FCLL_CONTRAST = (18.0 - np.pi**2) / 24.0 * np.pi**2 / 6.0
# A table of more cells is not considered.
_MOST_CELLS = 1 << 24
_TINY = float(np.finfo(np.float64).tiny)


def log_likelihood(counts: Floats) -> Floats:
    """Return the maximum of the log likelihood of tables, shape (...), in nats.

    Parameters
    ----------
    counts : ndarray, shape (..., n_configurations, n_states)
    """
    total = counts.sum(axis=-1, keepdims=True)
    there = counts > 0
    share = np.where(there, counts, 1.0) / np.where(there, total, 1.0)
    return np.asarray(np.sum(counts * np.log(share), axis=(-2, -1)))


def bdeu(counts: Floats, ess: float) -> Floats:
    """Return the log marginal likelihood of tables under a uniform Dirichlet prior, shape (...).

    The likelihood-equivalent prior of ess / (q r) rows in each of the q x r cells (Heckerman,
    Geiger, Chickering 1995, equation 35).

    Parameters
    ----------
    counts : ndarray, shape (..., n_configurations, n_states)
    ess : float
        Equivalent sample size, in rows.
    """
    q, r = counts.shape[-2:]
    given = gammaln(ess / q) - gammaln(ess / q + counts.sum(axis=-1))
    cells = gammaln(ess / (q * r) + counts) - gammaln(ess / (q * r))
    return np.asarray(given.sum(axis=-1) + cells.sum(axis=(-2, -1)))


@dataclass(frozen=True)
class Gains:
    """What one more parent adds to the score of a child, in nats.

    With and without the parent the rows are those that observe the whole family, so that missing
    values favour neither.

    Attributes
    ----------
    source : CountSource
    smoothing : Smoothing
        Of the variances of continuous columns.
    score : {"bic", "aic", "bdeu", "likelihood", "fcll"}
    ess : float
        Of "bdeu", which continuous children take as "bic", its limit for many rows.
    """

    source: CountSource
    smoothing: Smoothing
    score: str = "bic"
    ess: float = 1.0

    def __post_init__(self) -> None:
        one_of("score", self.score, SCORES)
        if not (isinstance(self.ess, (int, float)) and 0 < self.ess < np.inf):
            raise DataError(f"ess= takes a positive number of rows; got {self.ess!r}.")

    def rows(self, columns: tuple[Variable, ...], given: Discrete | None) -> float:
        """Return the weight of all rows, at least 1."""
        return max(float(self._pairs(columns, given).singles.totals.sum()), 1.0)

    def of_pairs(self, columns: tuple[Variable, ...], given: Discrete | None) -> Floats:
        """Return what each arc adds to a graph without arcs (below the class), shape (d, d)."""
        scores = arc_scores(self.source, self._pairs(columns, given), self.smoothing)
        if self.score == "fcll":
            # Without the class there is nothing to discriminate: the likelihood alone.
            other = None if given is None else self._pairs(columns, None)
            without = scores if other is None else arc_scores(self.source, other, self.smoothing)
            contrast = scores.rows * scores.gains - without.rows * without.gains
            return FCLL_LIKELIHOOD * scores.rows * scores.gains + FCLL_CONTRAST * contrast
        gains = scores.net("bic" if self.score == "bdeu" else self.score)
        if self.score == "bdeu":
            discrete = [i for i, v in enumerate(columns) if isinstance(v, Discrete)]
            above = () if given is None else (given,)
            left, right = np.triu_indices(len(discrete), k=1)
            arcs = [(discrete[i], discrete[j]) for i, j in zip(left, right, strict=True)]
            asked = [((columns[i], *above), columns[j]) for i, j in arcs]
            for (i, j), gain in zip(arcs, self.of(asked), strict=True):
                gains[i, j] = gains[j, i] = gain
        return gains

    def _pairs(self, columns: tuple[Variable, ...], given: Discrete | None) -> Any:
        return self.source.pairs(Pairs(columns, given))

    def of(self, asked: Sequence[tuple[tuple[Variable, ...], Variable]]) -> Floats:
        """Return what the first of the parents adds to the others, for each (parents, child).

        The class, if it is among the others, is the first of them. -inf for tables too large.
        """
        found = np.full(len(asked), -np.inf)
        small = [i for i, (above, child) in enumerate(asked) if _cells(above, child)]
        families = [Family.of(*asked[i][0], asked[i][1]) for i in small]
        statistics = self.source.families(families, keep=False)
        stacks: dict[tuple[Any, ...], list[int]] = {}
        for i, family in zip(small, families, strict=True):
            child = asked[i][1]
            if isinstance(child, Continuous):
                found[i] = self._gaussian(asked[i][0], child, statistics[family])
            else:
                shape = tuple(v.cardinality for v in family.discrete)
                stacks.setdefault((shape, self._has_class(asked[i][0])), []).append(i)
        by_place = dict(zip(small, families, strict=True))
        for (_, has_class), members in stacks.items():
            tables = np.stack([statistics[by_place[i]].counts for i in members])
            found[members] = self._tables(tables, has_class)
        return found

    def _has_class(self, parents: tuple[Variable, ...]) -> bool:
        return len(parents) > 1 and parents[1] == self.source.target

    def _tables(self, counts: Floats, has_class: bool) -> Floats:
        """Return gains from counts of shape (m, r_new, r_others..., r_child)."""
        rows = counts.sum(axis=tuple(range(1, counts.ndim)))
        without = counts.sum(axis=1)
        gain = self._local(counts, rows) - self._local(without, rows)
        if self.score == "fcll" and has_class:
            mixed = self._local(counts.sum(axis=2), rows) - self._local(without.sum(axis=1), rows)
            gain = FCLL_LIKELIHOOD * gain + FCLL_CONTRAST * (gain - mixed)
        elif self.score == "fcll":
            gain = FCLL_LIKELIHOOD * gain
        return gain

    def _local(self, counts: Floats, rows: Floats) -> Floats:
        """Return scores of tables, the first axis the stack and the last one the child."""
        tables = counts.reshape(len(counts), -1, counts.shape[-1])
        if self.score == "bdeu":
            return bdeu(tables, self.ess)
        parameters = tables.shape[1] * (tables.shape[2] - 1)
        return log_likelihood(tables) - penalty_rate(self.score, rows) * parameters

    def _gaussian(
        self, parents: tuple[Variable, ...], child: Continuous, statistics: FamilyStatistics
    ) -> float:
        """Return the gain of a continuous child."""
        new, others = parents[0], parents[1:]
        if isinstance(new, Discrete):
            without = statistics.merged(0)
        else:
            without = FamilyStatistics(
                statistics.counts, statistics.mean[..., 1:], statistics.comoment[..., 1:, 1:]
            )
        gain = self._linear(parents, child, statistics) - self._linear(others, child, without)
        if self.score != "fcll":
            return gain
        if not self._has_class(parents):
            return FCLL_LIKELIHOOD * gain
        axis = 1 if isinstance(new, Discrete) else 0
        mixed = self._linear((new, *others[1:]), child, statistics.merged(axis)) - self._linear(
            others[1:], child, without.merged(0)
        )
        return FCLL_LIKELIHOOD * gain + FCLL_CONTRAST * (gain - mixed)

    def _linear(
        self, parents: tuple[Variable, ...], child: Continuous, statistics: FamilyStatistics
    ) -> float:
        """Return the score of a linear Gaussian, its variances as those of the CPD."""
        numbers = (*(p for p in parents if isinstance(p, Continuous)), child)
        variance = residual_variance(
            statistics, self.smoothing, self._ridge(numbers), self._is_class(parents)
        )
        fit = -0.5 * float(np.sum(statistics.counts * np.log(np.maximum(variance, _TINY))))
        penalty = "bic" if self.score == "bdeu" else self.score
        price = penalty_rate(penalty, np.asarray(statistics.counts.sum()))
        return fit - float(price) * statistics.counts.size * (len(numbers) + 1)

    def _is_class(self, parents: tuple[Variable, ...]) -> list[bool]:
        return [p == self.source.target for p in parents if isinstance(p, Discrete)]

    def _ridge(self, numbers: tuple[Continuous, ...]) -> Floats:
        variance = total_variances(self.source, numbers)
        return self.smoothing.ridge(np.array([variance[v] for v in numbers]))


def _cells(parents: tuple[Variable, ...], child: Variable) -> bool:
    """Tell whether the table of a family is small enough to be considered."""
    cells = [v.cardinality for v in (*parents, child) if isinstance(v, Discrete)]
    return float(np.prod(cells, dtype=np.float64)) <= _MOST_CELLS


def residual_variance(
    statistics: FamilyStatistics, smoothing: Smoothing, ridge: Floats, is_class: Sequence[bool]
) -> Floats:
    """Return the variance of the last continuous column given the others, in each configuration.

    Regularised as that of the CPD: see `bayesgraph.learning.parameters.estimate_gaussian`.
    """
    covariance = smoothing.covariance(
        statistics.counts[..., None, None],
        statistics.comoment,
        towards(statistics, smoothing, is_class),
    ) + np.diag(ridge)
    return regression(covariance, ridge[-1])[1]


def regression(covariance: Floats, floor: float) -> tuple[Floats, Floats]:
    """Return the slopes of the last column on the others, and the variance that they leave.

    Parameters
    ----------
    covariance : ndarray, shape (..., m, m)
    floor : float
        The least variance left.

    Returns
    -------
    slopes : ndarray, shape (..., m - 1)
    variance : ndarray, shape (...)
    """
    own = covariance[..., -1, -1]
    if covariance.shape[-1] == 1:
        return np.zeros((*own.shape, 0)), np.asarray(own)
    # Standardised one side after the other: units must not matter, nor products leave the range.
    deviation = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    rows, columns = (
        np.broadcast_to(side, covariance.shape)
        for side in (deviation[..., :, None], deviation[..., None, :])
    )
    correlation = safe_divide(safe_divide(covariance, rows), columns)
    link = correlation[..., :-1, -1]
    inverse = np.linalg.pinv(correlation[..., :-1, :-1], hermitian=True)
    slopes = np.einsum("...ij,...j->...i", inverse, link)
    explained = np.minimum(np.sum(link * slopes, axis=-1), 1.0)
    scale = safe_divide(np.broadcast_to(deviation[..., -1:], link.shape), deviation[..., :-1])
    return slopes * scale, np.maximum(own * (1.0 - explained), floor)
