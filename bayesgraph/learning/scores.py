"""Decomposable structure scores: the gain by one more parent from the statistics of a family."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.learning import information
from bayesgraph.learning.arcs import arc_scores, penalty_rate
from bayesgraph.statistics import (
    CountSource,
    Family,
    FamilyStatistics,
    Numbered,
    Pairs,
    Smoothing,
    one_of,
)

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
    new, others : tuple of int
        Numbers of columns. The class is the first of the other parents, if it is one of them.
    child : int
    """

    new: tuple[int, ...]
    others: tuple[int, ...]
    child: int


class Gains:
    """Gains in the score of a child by one more parent, in nats.

    The scores with and without the parent use the same rows, those that observe the whole family,
    so that missing values favour neither; other rows gain nothing.

    Parameters
    ----------
    source : CountSource
    columns : tuple of Variable
        The columns, which questions name by their numbers.
    smoothing : Smoothing
        Smoothing of the variances of continuous columns.
    score : {"bic", "aic", "bdeu", "likelihood", "fcll"}
    ess : float
        Equivalent sample size of "bdeu", in rows. Continuous children are scored by "bic", the
        limit of "bdeu" for many rows.
    """

    def __init__(
        self,
        source: CountSource,
        columns: tuple[Variable, ...],
        smoothing: Smoothing,
        score: str = "bic",
        ess: float = 1.0,
    ) -> None:
        one_of("score", score, SCORES)
        if not (isinstance(ess, (int, float)) and 0 < ess < np.inf):
            raise DataError(f"ess= takes a positive number of rows; got {ess!r}.")
        self.source, self.columns, self.smoothing = source, columns, smoothing
        self.score, self.ess = score, float(ess)
        self._numbered = Numbered(columns)
        self.cards: list[int] = self._numbered.cards.tolist()
        self.target = columns.index(source.target) if source.target in columns else -1

    def rows(self, columns: tuple[Variable, ...], given: Discrete | None) -> float:
        """Return the total weight of all rows, at least 1."""
        return max(float(self._pairs(columns, given).singles.totals.sum()), 1.0)

    def of_pairs(
        self, columns: tuple[Variable, ...], given: Discrete | None
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the gain by each arc p -> c if c has at most `given` as a parent, shape (d, d).

        The second array says which arcs can be learned, see `ArcScores`.
        """
        scores = arc_scores(self.source, self._pairs(columns, given), self.smoothing)
        if self.score == "fcll":
            other = scores
            if given is not None:
                other = arc_scores(self.source, self._pairs(columns, None), self.smoothing)
            mixed = fcll(scores.total * scores.gains, other.total * other.gains)
            return mixed, scores.learnable
        gains = scores.net("bic" if self.score == "bdeu" else self.score)
        if self.score == "bdeu":
            place = {v: i for i, v in enumerate(columns)}
            summary = self._pairs(columns, given)
            discrete = np.array([place[v] for v in summary.at.discrete], dtype=np.intp)
            for left, right, tables in information.pair_tables(summary):
                found = self._tables(tables.swapaxes(1, 2), True)
                gains[discrete[left], discrete[right]] = found
                gains[discrete[right], discrete[left]] = found
        return gains, scores.learnable

    def _pairs(self, columns: tuple[Variable, ...], given: Discrete | None) -> Any:
        return self.source.pairs(Pairs(columns, given))

    def of(self, asked: Sequence[Extension]) -> list[Floats]:
        """Return for each extension the gains by its new parents, one at a time.

        A gain is -inf if the table would be too large.
        """
        sizes = [self._sizes(extension) for extension in asked]
        if sum(map(sum, sizes)) <= MAX_CELLS:
            return self._batch(asked)
        found = [np.full(len(extension.new), -np.inf) for extension in asked]
        batches: dict[int, dict[int, list[int]]] = {}
        held = 0.0
        for number, cells in enumerate(sizes):
            for place, size in enumerate(cells):
                if size <= MAX_CELLS:
                    held += size
                    batch = batches.setdefault(int(held // MAX_HELD), {})
                    batch.setdefault(number, []).append(place)
        for parts in batches.values():
            smaller = [
                asked[i]._replace(new=tuple(asked[i].new[place] for place in places))
                for i, places in parts.items()
            ]
            for (i, places), gain in zip(parts.items(), self._batch(smaller), strict=True):
                found[i][places] = gain
        return found

    def _sizes(self, extension: Extension) -> list[float]:
        """Return upper bounds on the numbers of values in the statistics with each new parent."""
        cells, side = 1.0, 1
        for i in (*extension.others, extension.child):
            cells *= self.cards[i] or 1
            side += not self.cards[i]
        alone, with_one = cells * side**2, cells * (side + 1) ** 2
        return [alone * self.cards[i] if self.cards[i] else with_one for i in extension.new]

    def _batch(self, asked: Sequence[Extension]) -> list[Floats]:
        """Return gains as `of` does, from one request for each kind of child.

        Statistics of pairs are kept by the source; those of more columns, of which each search
        asks many times, are counted for all parents that may be added to a child at a time.
        """
        is_counted = [
            bool(self.cards[child])
            and any(p != self.target for p in others)
            and self.score != "fcll"
            for _, others, child in asked
        ]
        counted = [part for part, together in zip(asked, is_counted, strict=True) if together]
        rest = [part for part, together in zip(asked, is_counted, strict=True) if not together]
        single = [((new, *part.others), part.child) for part in rest for new in part.new]
        ends = np.cumsum([len(part.new) for part in rest])
        of_rest = iter(np.split(self.of_families(single)[0], ends[:-1]) if rest else ())
        of_counted = iter(self._extended(counted) if counted else ())
        return [next(of_counted if together else of_rest) for together in is_counted]

    def _extended(self, asked: Sequence[Extension]) -> list[Floats]:
        """Return the gains by adding new parents to the other parents of discrete children."""
        groups = [(new, (*others, child)) for new, others, child in asked]
        tables = information.ExtendedTables.counted(self.source, self._numbered, groups)
        ends = list(accumulate(len(new) for new, _ in groups))
        if self.score == "bdeu":
            found = information.extended_bdeu(tables, ends[-1], self.ess)
        else:
            told = information.extended_information(tables, ends[-1])
            found = told.information - penalty_rate(self.score, told.rows) * told.parameters
        return [found[first:end] for first, end in zip([0, *ends], ends, strict=False)]

    def of_families(self, asked: Sequence[tuple[tuple[int, ...], int]]) -> tuple[Floats, Floats]:
        """Return for each (parents, child) the gain by the first parent, and the rows with all.

        There is one request; families with equal shapes are stacked.
        """
        at = self.columns
        families = [Family.of(*(at[p] for p in above), at[child]) for above, child in asked]
        statistics = self.source.families(families, keep=False)
        stacks: dict[tuple[Any, ...], list[int]] = {}
        for i, (above, child) in enumerate(asked):
            cards = tuple(v.cardinality for v in families[i].discrete)
            is_class = tuple(p == self.target for p in above)
            discrete = tuple(self.cards[v] > 0 for v in (*above, child))
            stacks.setdefault((cards, is_class, discrete), []).append(i)
        found, rows = np.empty((2, len(asked)))
        for (_, is_class, discrete), members in stacks.items():
            parts = [statistics[families[i]] for i in members]
            rows[members] = [part.counts.sum() for part in parts]
            if discrete[-1]:
                has_class = is_class[1:2] == (True,)
                found[members] = self._tables(np.stack([p.counts for p in parts]), has_class)
            else:
                ridge = np.array(
                    [[self._ridge[v] for v in families[i].continuous] for i in members]
                )
                found[members] = self._gaussians(
                    information.stacked(parts), ridge, is_class, discrete[:-1]
                )
        return found, rows

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
        fit = information.gaussian_fit(statistics, self.smoothing, ridge, is_class)
        return np.asarray(fit - price * len(counts) * (n + 1))

    @cached_property
    def _ridge(self) -> dict[Continuous, float]:
        numbers = tuple(v for v in self.source.variables if isinstance(v, Continuous))
        ridge = self.smoothing.ridge(self.source.variances(numbers))
        return dict(zip(numbers, ridge.tolist(), strict=True))
