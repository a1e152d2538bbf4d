"""Decomposable structure scores: the gain by one more parent from the statistics of a family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.arcs import arc_scores, n_moments, penalty_rate
from bayesgraph.learning.gaussian_regression import gaussian_fit, stacked
from bayesgraph.learning.smoothing import Smoothing, one_of
from bayesgraph.statistics import CountSource, Family, FamilyStatistics, Pairs
from bayesgraph.variables import Continuous, Discrete, Variable

SCORES = ("bic", "aic", "bdeu", "likelihood", "fcll")
# Coefficients of FCLL, from least-squares approximations: log(u / (u + v)) by a log u + b log v +
# const for independent uniform u and v, and log(p / (1 - p)) by r log p + const for uniform p. The
# likelihood has the coefficient a + b, and the difference of the likelihoods the coefficient -b r.
_FCLL_LIKELIHOOD = (np.pi**2 - 6.0) / 12.0
_FCLL_CONTRAST = (18.0 - np.pi**2) / 24.0 * np.pi**2 / 6.0
# Maximum number of cells of a table, and of all tables that are held at once.
_MAX_CELLS, _MAX_HELD = 1 << 22, 1 << 24


def fcll(given: Floats, mixed: Floats) -> Floats:
    """Return the factorised conditional log likelihood (FCLL) from two gains in log likelihood.

    Carvalho, Roos, Oliveira, Myllymäki (2011); a weighted sum of `given` and ``given - mixed``. If
    the class is not among the parents, both gains are the same, and the result is a fraction of the
    gain.

    Parameters
    ----------
    given, mixed : ndarray
        Gains in log likelihood, with the class as a parent and with the class summed out.
    """
    return _FCLL_LIKELIHOOD * given + _FCLL_CONTRAST * (given - mixed)


def log_likelihood(counts: Floats) -> Floats:
    """Return the maximised log likelihood of tables from counts, shape (...), in nats.

    Parameters
    ----------
    counts : ndarray, shape (..., n_configurations, n_states)
        By parent configuration and state of the child.
    """
    total = counts.sum(axis=-1, keepdims=True)
    there = counts > 0
    share = np.where(there, counts, 1.0) / np.where(there, total, 1.0)
    return np.asarray(np.sum(counts * np.log(share), axis=(-2, -1)))


def bdeu(counts: Floats, ess: float) -> Floats:
    """Return the log marginal likelihood of tables under a uniform Dirichlet prior, shape (...).

    The prior is likelihood-equivalent, with a pseudo-count of ess / (q r) in each of the q x r
    cells (Heckerman, Geiger, Chickering 1995, equation 35).

    Parameters
    ----------
    counts : ndarray, shape (..., n_configurations (q), n_states (r))
    ess : float
        Equivalent sample size, in rows.
    """
    q, r = counts.shape[-2:]
    given = gammaln(ess / q) - gammaln(ess / q + counts.sum(axis=-1))
    cells = gammaln(ess / (q * r) + counts) - gammaln(ess / (q * r))
    return np.asarray(given.sum(axis=-1) + cells.sum(axis=(-2, -1)))


@dataclass(frozen=True)
class Gains:
    """Gains in the score of a child by one more parent, in nats.

    The scores with and without the parent use the same rows, those that observe the whole family,
    so that missing values favour neither.

    Attributes
    ----------
    source : CountSource
    smoothing : Smoothing
        Smoothing of the variances of continuous columns.
    score : {"bic", "aic", "bdeu", "likelihood", "fcll"}
    ess : float
        Equivalent sample size of "bdeu", in rows. Continuous children are scored by "bic", the
        limit of "bdeu" for many rows.
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
        """Return the total weight of all rows, at least 1."""
        return max(float(self._pairs(columns, given).singles.totals.sum()), 1.0)

    def of_pairs(self, columns: tuple[Variable, ...], given: Discrete | None) -> Floats:
        """Return the gain by each arc p -> c, if c has no parent except `given`, shape (d, d)."""
        scores = arc_scores(self.source, self._pairs(columns, given), self.smoothing)
        if self.score == "fcll":
            other = scores
            if given is not None:
                other = arc_scores(self.source, self._pairs(columns, None), self.smoothing)
            return fcll(scores.rows * scores.gains, other.rows * other.gains)
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
        """Return the gain by the first parent in addition to the others, for each (parents, child).

        If the class is among the other parents, it is the first of them. The gain is -inf if the
        table would be too large.
        """
        found = np.full(len(asked), -np.inf)
        batch: list[int] = []
        held = 0.0
        for i, (above, child) in enumerate(asked):
            cells = n_moments((*above, child))
            if cells > _MAX_CELLS:
                continue
            if held + cells > _MAX_HELD and batch:
                found[batch] = self._batch([asked[k] for k in batch])
                batch, held = [], 0.0
            batch.append(i)
            held += cells
        if batch:
            found[batch] = self._batch([asked[k] for k in batch])
        return found

    def _batch(self, asked: Sequence[tuple[tuple[Variable, ...], Variable]]) -> Floats:
        """Return gains as `of` does, from one request; families with equal shapes are stacked."""
        families = [Family.of(*above, child) for above, child in asked]
        statistics = self.source.families(families, keep=False)
        stacks: dict[tuple[Any, ...], list[int]] = {}
        for i, (above, child) in enumerate(asked):
            cards = tuple(v.cardinality for v in families[i].discrete)
            is_class = tuple(v == self.source.target for v in above)
            discrete = tuple(isinstance(v, Discrete) for v in (*above, child))
            stacks.setdefault((cards, is_class, discrete), []).append(i)
        found = np.empty(len(asked))
        for (_, is_class, discrete), members in stacks.items():
            parts = [statistics[families[i]] for i in members]
            if discrete[-1]:
                has_class = is_class[1:2] == (True,)
                found[members] = self._tables(np.stack([p.counts for p in parts]), has_class)
            else:
                ridge = np.array(
                    [[self._ridge[v] for v in families[i].continuous] for i in members]
                )
                found[members] = self._gaussians(stacked(parts), ridge, is_class, discrete[:-1])
        return found

    def _tables(self, counts: Floats, has_class: bool) -> Floats:
        """Return gains of discrete children from counts of shape (m, r_new, r_others..., r_child).

        The axis after the m families is that of the new parent. `has_class` says whether the first
        of the other parents is the class.
        """
        rows = counts.sum(axis=tuple(range(1, counts.ndim)))
        without = counts.sum(axis=1)
        gain = self._local(counts, rows) - self._local(without, rows)
        if self.score != "fcll":
            return gain
        if not has_class:
            return fcll(gain, gain)
        mixed = self._local(counts.sum(axis=2), rows) - self._local(without.sum(axis=1), rows)
        return fcll(gain, mixed)

    def _local(self, counts: Floats, rows: Floats) -> Floats:
        """Return the scores of m tables from counts of shape (m, r_parents..., r_child).

        `rows` has the total weight of the rows of each table, for the BIC penalty.
        """
        tables = counts.reshape(len(counts), -1, counts.shape[-1])
        if self.score == "bdeu":
            return bdeu(tables, self.ess)
        parameters = tables.shape[1] * (tables.shape[2] - 1)
        return log_likelihood(tables) - penalty_rate(self.score, rows) * parameters

    def _gaussians(
        self,
        statistics: FamilyStatistics,
        ridge: Floats,
        is_class: tuple[bool, ...],
        discrete: tuple[bool, ...],
    ) -> Floats:
        """Return gains of continuous children from stacked statistics, with the new parent first.

        See `gaussian_fit` for `ridge`. `is_class` and `discrete` say of each parent whether it is
        the class, and whether it is discrete.
        """
        flags = [c for c, d in zip(is_class, discrete, strict=True) if d]
        if discrete[0]:
            without, fewer, rest = statistics.merged(0), flags[1:], ridge
        else:
            mean, comoment = statistics.mean[..., 1:], statistics.comoment[..., 1:, 1:]
            without = FamilyStatistics(statistics.counts, mean, comoment)
            fewer, rest = flags, ridge[:, 1:]
        gain = self._linear(statistics, ridge, flags) - self._linear(without, rest, fewer)
        if self.score != "fcll":
            return gain
        if is_class[1:2] != (True,):
            return fcll(gain, gain)
        axis, low = flags.index(True), fewer.index(True)
        mixed = self._linear(
            statistics.merged(axis), ridge, flags[:axis] + flags[axis + 1 :]
        ) - self._linear(without.merged(low), rest, fewer[:low] + fewer[low + 1 :])
        return fcll(gain, mixed)

    def _linear(
        self, statistics: FamilyStatistics, ridge: Floats, is_class: Sequence[bool]
    ) -> Floats:
        """Return the scores of m linear Gaussian families from stacked statistics, shape (m,).

        `is_class` says of each discrete parent whether it is the class.
        """
        m, n = ridge.shape
        counts = statistics.counts.reshape(-1, m)
        penalty = "bic" if self.score == "bdeu" else self.score
        price = penalty_rate(penalty, counts.sum(axis=0))
        fit = gaussian_fit(statistics, self.smoothing, ridge, is_class)
        return np.asarray(fit - price * len(counts) * (n + 1))

    @cached_property
    def _ridge(self) -> dict[Continuous, float]:
        numbers = tuple(v for v in self.source.variables if isinstance(v, Continuous))
        ridge = self.smoothing.ridge(self.source.variances(numbers))
        return dict(zip(numbers, ridge.tolist(), strict=True))
