"""Decomposable structure scores: the gain by one more parent from the statistics of a family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning import pair_kernels
from bayesgraph.learning.arcs import arc_scores, penalty_rate
from bayesgraph.learning.gaussian_regression import gaussian_fit, stacked
from bayesgraph.learning.information import extended_information, pair_tables
from bayesgraph.learning.smoothing import Smoothing, one_of
from bayesgraph.statistics import CountSource, Family, FamilyStatistics, Pairs
from bayesgraph.variables import Continuous, Discrete, Variable

# Scores of networks without a class, and all.
GENERAL_SCORES = ("bic", "aic", "bdeu", "likelihood")
SCORES = (*GENERAL_SCORES, "fcll")
# Coefficients of FCLL, from least-squares approximations: log(u / (u + v)) by a log u + b log v +
# const for independent uniform u and v, and log(p / (1 - p)) by r log p + const for uniform p. The
# likelihood has the coefficient a + b, and the difference of the likelihoods the coefficient -b r.
_FCLL_LIKELIHOOD = (np.pi**2 - 6.0) / 12.0
_FCLL_CONTRAST = (18.0 - np.pi**2) / 24.0 * np.pi**2 / 6.0
# Maximum number of cells of a table, and of all tables that are held at once.
MAX_CELLS, MAX_HELD = 1 << 22, 1 << 24


def fcll(given: Floats, mixed: Floats) -> Floats:
    """Return the gain in factorised conditional log likelihood (FCLL) from two likelihood gains.

    Carvalho, Roos, Oliveira, Myllymäki (2011); the result is a weighted sum of `given` and ``given
    - mixed``. If the class is not among the parents, both gains are the same, and the result is a
    fraction of them.

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


class Extension(NamedTuple):
    """New parents of a child, each of which may be added to its other parents.

    Attributes
    ----------
    new, others : tuple of Variable
        The class is the first of the other parents, if it is one of them.
    child : Variable
    """

    new: tuple[Variable, ...]
    others: tuple[Variable, ...]
    child: Variable

    @property
    def sizes(self) -> Floats:
        """Upper bound on the number of values in the statistics with each new parent."""
        common = (*self.others, self.child)
        cells = math.prod(float(v.cardinality) for v in common if isinstance(v, Discrete))
        side = 1 + sum(isinstance(v, Continuous) for v in common)
        alone, with_one = cells * side**2, cells * (side + 1) ** 2
        return np.array(
            [alone * v.cardinality if isinstance(v, Discrete) else with_one for v in self.new]
        )

    def at(self, places: NDArray[np.intp]) -> Extension:
        """Return the extension by some of the new parents."""
        if len(places) == len(self.new):
            return self
        return self._replace(new=tuple(self.new[i] for i in places.tolist()))


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
        """Return the gain by each arc p -> c if c has at most `given` as a parent, shape (d, d)."""
        scores = arc_scores(self.source, self._pairs(columns, given), self.smoothing)
        if self.score == "fcll":
            other = scores
            if given is not None:
                other = arc_scores(self.source, self._pairs(columns, None), self.smoothing)
            return fcll(scores.rows * scores.gains, other.rows * other.gains)
        gains = scores.net("bic" if self.score == "bdeu" else self.score)
        if self.score == "bdeu":
            place = {v: i for i, v in enumerate(columns)}
            summary = self._pairs(columns, given)
            discrete = np.array([place[v] for v in summary.at.discrete], dtype=np.intp)
            for left, right, tables in pair_tables(summary):
                found = self._tables(tables.swapaxes(1, 2), given is not None)
                gains[discrete[left], discrete[right]] = found
                gains[discrete[right], discrete[left]] = found
        return gains

    def _pairs(self, columns: tuple[Variable, ...], given: Discrete | None) -> Any:
        return self.source.pairs(Pairs(columns, given))

    def of(self, asked: Sequence[Extension]) -> list[Floats]:
        """Return for each extension the gains by its new parents, one at a time.

        A gain is -inf if the table would be too large.
        """
        found = [np.full(len(extension.new), -np.inf) for extension in asked]
        batches: dict[float, list[tuple[int, NDArray[np.intp]]]] = {}
        held = 0.0
        for number, extension in enumerate(asked):
            sizes = extension.sizes
            fits = np.flatnonzero(sizes <= MAX_CELLS)
            if len(fits):
                ends = held + np.cumsum(sizes[fits])
                held, batch = float(ends[-1]), ends // MAX_HELD
                for one in np.unique(batch).tolist() if batch[0] < batch[-1] else [batch[0]]:
                    batches.setdefault(one, []).append((number, fits[batch == one]))
        for parts in batches.values():
            gains = self._batch([asked[number].at(places) for number, places in parts])
            for (number, places), gain in zip(parts, gains, strict=True):
                found[number][places] = gain
        return found

    def _batch(self, asked: Sequence[Extension]) -> list[Floats]:
        """Return gains as `of` does, from one request for each kind of child.

        Statistics of pairs are kept by the source; those of more columns, of which each search
        asks many times, are counted for all parents that may be added to a child at a time.
        """
        found: dict[int, Floats] = {}
        target = self.source.target
        counted = [
            i
            for i, (_, others, child) in enumerate(asked)
            if isinstance(child, Discrete) and any(v != target for v in others)
        ]
        if counted:
            groups: Any = [(asked[i].new, (*asked[i].others, asked[i].child)) for i in counted]
            cells = self.source.extensions(groups)
            for i, (new, others), part in zip(counted, groups, cells, strict=True):
                found[i] = self._extended(new, others, part)
        rest = [i for i in range(len(asked)) if i not in found]
        if rest:
            single = [
                ((new, *asked[i].others), asked[i].child) for i in rest for new in asked[i].new
            ]
            ends = np.cumsum([len(asked[i].new) for i in rest])
            parts = np.split(self._of_families(single), ends[:-1])
            found |= zip(rest, parts, strict=True)
        return [found[i] for i in range(len(asked))]

    def _extended(
        self, columns: Sequence[Discrete], others: Sequence[Discrete], cells: Floats
    ) -> Floats:
        """Return the gains by adding each column to the other parents of a discrete child.

        `others` are the other parents and the child; for `cells` see `CountSource.extensions`.
        """
        cards = np.array([v.cardinality for v in columns], dtype=np.int64)
        shape = tuple(v.cardinality for v in others)
        if self.score in ("bic", "aic", "likelihood"):
            n_strata = math.prod(shape[:-1])
            tables = extended_information(cells, cards, n_strata, shape[-1])
            price = penalty_rate(self.score, tables.rows) * n_strata * (shape[-1] - 1)
            return np.asarray(tables.information - price * (cards - 1))
        found = np.zeros(len(columns))
        if self.score == "bdeu":
            given = math.prod(shape[:-1]), shape[-1], float(self.ess)
            pair_kernels.extended_bdeu(cells, cards, *given, found)
            return found
        sizes = cards * math.prod(shape)
        start = np.cumsum(sizes) - sizes
        has_class = len(others) > 1 and others[0] == self.source.target
        for card in np.unique(cards).tolist():
            same = np.flatnonzero(cards == card)
            at = start[same][:, None] + np.arange(card * math.prod(shape))
            found[same] = self._tables(cells[at].reshape(len(same), card, *shape), has_class)
        return found

    def _of_families(self, asked: Sequence[tuple[tuple[Variable, ...], Variable]]) -> Floats:
        """Return for each (parents, child) the gain by adding the first parent to the others.

        There is one request; families with equal shapes are stacked.
        """
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
