"""Decomposable structure scores: the gain by one more parent from the statistics of a family."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.learning import information
from bayesgraph.learning.information import arc_scores, penalty_rate
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


def fcll(by_class: Floats, mixed: Floats) -> Floats:
    """Return the gain in factorised conditional log likelihood (FCLL) from two likelihood gains.

    Carvalho, Roos, Oliveira, Myllymäki (2011); the result is a weighted sum of `by_class` and of
    ``by_class - mixed``. If the class is not among the parents, both gains are the same, and the
    result is a fraction of them.

    Parameters
    ----------
    by_class, mixed : ndarray
        Gains in log likelihood, with the class as a parent and with the class summed out.
    """
    return _FCLL_LIKELIHOOD * by_class + _FCLL_CONTRAST * (by_class - mixed)


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
    strata = gammaln(ess / q) - gammaln(ess / q + counts.sum(axis=-1))
    cells = gammaln(ess / (q * r) + counts) - gammaln(ess / (q * r))
    return np.asarray(strata.sum(axis=-1) + cells.sum(axis=(-2, -1)))


def log_marginal_ratio(counts: Floats, ess: float) -> Floats:
    """Return the log Bayes factor of dependence over independence of two columns given the class.

    The log of ``P(x, y | c) / (P(x | c) P(y | c))`` with the parameters integrated out, under
    consistent Dirichlet priors (BDeu; Heckerman, Geiger, Chickering 1995): the log weight of an
    edge in the posterior of a tree (Meila and Jaakkola 2006, section 4).

    Parameters
    ----------
    counts : ndarray, shape (..., K, r_x, r_y)
        Counts by class and by the states of both columns.
    ess : float
        Equivalent sample size of the prior, in rows, over all cells together.

    Returns
    -------
    ndarray, shape (...)
        In nats.
    """
    # Y with the parents C and X, against Y with the parent C.
    below_both = counts.reshape(*counts.shape[:-3], -1, counts.shape[-1])
    return bdeu(below_both, ess) - bdeu(counts.sum(axis=-2), ess)


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
        if not (isinstance(ess, (int, float, np.number)) and 0 < ess < np.inf):
            raise DataError(f"ess= takes a positive number of rows; got {ess!r}.")
        self.source, self.columns, self.smoothing = source, columns, smoothing
        self.score, self.ess = score, float(ess)
        self._numbered = Numbered(columns)
        self.cards: list[int] = self._numbered.cards.tolist()  # 0 of continuous columns
        # The number of the class; -1 if it is none of the columns.
        self.target = columns.index(source.target) if source.target in columns else -1

    def rows(self, columns: tuple[Variable, ...], condition: Discrete | None) -> float:
        """Return the total weight of all rows, at least 1."""
        return max(float(self._pairs(columns, condition).singles.totals.sum()), 1.0)

    def of_pairs(
        self, columns: tuple[Variable, ...], condition: Discrete | None
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the gain by each arc p -> c if c has no parent but `condition`, shape (d, d).

        The second array says which arcs can be learned, see `ArcScores`.
        """
        scores = arc_scores(self.source, self._pairs(columns, condition), self.smoothing)
        if self.score == "fcll":
            other = scores
            if condition is not None:
                other = arc_scores(self.source, self._pairs(columns, None), self.smoothing)
            gains = fcll(scores.total * scores.gains, other.total * other.gains)
            return gains, scores.learnable
        # Pairs with a continuous column keep the BIC, the limit of BDeu for many rows.
        gains = scores.net("bic" if self.score == "bdeu" else self.score)
        if self.score == "bdeu":
            place = {v: i for i, v in enumerate(columns)}
            summary = self._pairs(columns, condition)
            discrete = np.array([place[v] for v in summary.at.discrete], dtype=np.intp)
            for left, right, tables in information.pair_tables(summary):
                ratio = log_marginal_ratio(tables, self.ess)
                gains[discrete[left], discrete[right]] = ratio
                gains[discrete[right], discrete[left]] = ratio
        return gains, scores.learnable

    def _pairs(self, columns: tuple[Variable, ...], condition: Discrete | None) -> Any:
        return self.source.pairs(Pairs(columns, condition))

    def of(self, asked: Sequence[Extension]) -> list[Floats]:
        """Return for each extension the gains by its new parents, one at a time.

        A gain is -inf if the table would be too large.
        """
        sizes = [self._sizes(extension) for extension in asked]
        if sum(map(sum, sizes)) <= MAX_CELLS:
            return self._batch(asked)
        gains = [np.full(len(extension.new), -np.inf) for extension in asked]
        # For each batch: by number of an extension, the places of those new parents that it takes.
        batches: dict[int, dict[int, list[int]]] = {}
        n_values = 0.0
        for number, cells in enumerate(sizes):
            for place, size in enumerate(cells):
                if size <= MAX_CELLS:
                    n_values += size
                    batch = batches.setdefault(int(n_values // MAX_HELD), {})
                    batch.setdefault(number, []).append(place)
        for places_of in batches.values():
            smaller = [
                asked[i]._replace(new=tuple(asked[i].new[place] for place in places))
                for i, places in places_of.items()
            ]
            for (i, places), gain in zip(places_of.items(), self._batch(smaller), strict=True):
                gains[i][places] = gain
        return gains

    def _sizes(self, extension: Extension) -> list[float]:
        """Return upper bounds on the numbers of values in the statistics with each new parent."""
        # Configurations of the discrete columns (those with a cardinality), each with a matrix of
        # moments with a row for the constant and for each continuous column.
        cells, side = 1.0, 1
        for i in (*extension.others, extension.child):
            cells *= self.cards[i] or 1
            side += not self.cards[i]
        alone, with_one = cells * side**2, cells * (side + 1) ** 2
        return [alone * self.cards[i] if self.cards[i] else with_one for i in extension.new]

    def _batch(self, asked: Sequence[Extension]) -> list[Floats]:
        """Return for each extension the gains by its new parents, all computed together."""
        ends = np.cumsum([len(part.new) for part in asked])
        return np.split(self.with_rows(asked)[0], ends[:-1]) if len(asked) else []

    def with_rows(self, asked: Sequence[Extension]) -> Floats:
        """Return the gains by all new parents, and the rows that observe all columns, (2, n).

        There is one request for each kind of child.
        """
        tables = [part for part in asked if self.cards[part.child]]
        numbers = [part for part in asked if not self.cards[part.child]]
        # For each new parent, whether its child is discrete.
        is_table = np.repeat(
            [self.cards[c] > 0 for _, _, c in asked], [len(n) for n, _, _ in asked]
        )
        gains = np.empty((2, len(is_table)))
        if tables:
            gains[:, is_table] = self._of_tables(tables)
        if numbers:
            gains[:, ~is_table] = self._of_numbers(numbers)
        return gains

    def _counted(self, asked: Sequence[Extension]) -> information.ExtendedTables:
        """Return the tables of discrete children."""
        groups = [(new, (*others, child)) for new, others, child in asked]
        return information.extended_tables(self.source, self._numbered, groups)

    def _of_tables(self, asked: Sequence[Extension]) -> Floats:
        """Return gains and rows by new parents of discrete children."""
        counted = self._counted(asked)
        measures = information.extended_information(counted)
        if self.score == "bdeu":
            return np.stack([information.extended_bdeu(counted, self.ess), measures.rows])
        gains = measures.information - penalty_rate(self.score, measures.rows) * measures.parameters
        if self.score == "fcll":
            # The same new parents, with the class summed out.
            mixed = [
                part._replace(others=tuple(p for p in part.others if p != self.target))
                for part in asked
            ]
            gains = fcll(gains, information.extended_information(self._counted(mixed)).information)
        return np.stack([gains, measures.rows])

    def _of_numbers(self, asked: Sequence[Extension]) -> Floats:
        """Return gains and rows by new parents of continuous children.

        Families with equal shapes are stacked.
        """
        columns = self.columns
        # One family for each new parent, which comes first.
        above = [(new, *part.others) for part in asked for new in part.new]
        children = [columns[part.child] for part in asked for _ in part.new]
        families = [
            Family.of(*(columns[p] for p in parents), child)
            for parents, child in zip(above, children, strict=True)
        ]
        statistics = self.source.families(families, keep=False)
        # Numbers of the families by what must agree: the cardinalities of discrete parents, and of
        # each parent whether it is the class, and whether it is discrete.
        stacks: dict[tuple[Any, ...], list[int]] = {}
        for i, parents in enumerate(above):
            cards = tuple(v.cardinality for v in families[i].discrete)
            is_class = tuple(p == self.target for p in parents)
            discrete = tuple(self.cards[p] > 0 for p in parents)
            stacks.setdefault((cards, is_class, discrete), []).append(i)
        gains = np.empty((2, len(families)))
        for (_, is_class, discrete), members in stacks.items():
            parts = [statistics[families[i]] for i in members]
            ridge = np.array([[self._ridge[v] for v in families[i].continuous] for i in members])
            gains[1, members] = [part.counts.sum() for part in parts]
            gains[0, members] = self._gaussians(
                information.stacked(parts), ridge, is_class, discrete
            )
        return gains

    def _gaussians(
        self,
        statistics: FamilyStatistics,
        ridge: Floats,
        is_class: tuple[bool, ...],
        discrete: tuple[bool, ...],
    ) -> Floats:
        """Return the gains of m continuous children from stacked statistics, shape (m,).

        The new parent is the first of the parents.
        See `gaussian_fit` for `ridge`. `is_class` and `discrete` say of each parent whether it is
        the class, and whether it is discrete.
        """
        # The family without its new parent has less on three accounts: `merged` sums the axis of a
        # discrete one out; a continuous one is the first entry of the moments.
        flags = [c for c, d in zip(is_class, discrete, strict=True) if d]  # of the discrete parents
        if discrete[0]:
            smaller, smaller_flags, smaller_ridge = statistics.merged(0), flags[1:], ridge
        else:
            mean, comoment = statistics.mean[..., 1:], statistics.comoment[..., 1:, 1:]
            smaller = FamilyStatistics(statistics.counts, mean, comoment)
            smaller_flags, smaller_ridge = [*flags], ridge[:, 1:]
        gain = self._linear(statistics, ridge, flags)
        gain -= self._linear(smaller, smaller_ridge, smaller_flags)
        if self.score != "fcll":
            return gain
        # The class, if it is a parent, is the first one after the new one.
        if is_class[1:2] != (True,):
            return fcll(gain, gain)
        # The same gain with the class summed out of both families.
        axis, smaller_axis = flags.index(True), smaller_flags.index(True)
        del flags[axis], smaller_flags[smaller_axis]
        mixed = self._linear(statistics.merged(axis), ridge, flags)
        mixed -= self._linear(smaller.merged(smaller_axis), smaller_ridge, smaller_flags)
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
        # For each configuration: n - 1 slopes, the intercept and the variance.
        return np.asarray(fit - price * len(counts) * (n + 1))

    @cached_property
    def _ridge(self) -> dict[Continuous, float]:
        numbers = tuple(v for v in self.source.variables if isinstance(v, Continuous))
        ridge = self.smoothing.ridge(self.source.variances(numbers))
        return dict(zip(numbers, ridge.tolist(), strict=True))
