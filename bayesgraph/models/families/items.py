"""Families of vectors of counts, such as the words of documents: multinomial and Bernoulli."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import (
    LENGTHS,
    Floats,
    ItemTerms,
    betaln,
    counted,
    dense_row,
    gammaln,
    is_sparse,
    log_of,
    whole,
)
from bayesgraph.core.errors import CPDError, UnsupportedModelError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import CountVector, Discrete, Variable
from bayesgraph.models.cpds.base import (
    CPD,
    LONGEST,
    Description,
    check_sums,
    describe_shares,
    draw_states,
    texts,
)
from bayesgraph.models.cpds.density import Plate
from bayesgraph.models.families.leaf_family import LeafFamily
from bayesgraph.statistics import CountSource, Smoothing, Totals, TotalsSummary, safe_divide

# -------------------------------------------- Base class of the distributions of vectors of counts


class ItemsCPD(Plate):
    """Base class of CPDs of one vector of item counts (words) given discrete parents."""

    takes_children = False
    _child_type = CountVector
    _takes_one = True
    variable: CountVector
    # Whether items are present or absent, and not counted.
    _presence = False
    # Of all classes but one, which has other parameters.
    probabilities: Floats

    @property
    def _shape(self) -> tuple[int, ...]:
        return (*self._lead, len(self.variable.items))

    def _item_shares(self) -> Floats:
        """Return the probabilities of items, shape (parent configurations, n_items)."""
        return self.probabilities.reshape(self.cells, -1)

    def components(self, cells: NDArray[np.intp]) -> ItemCells:
        """Return the distributions in configurations of the parents; see `NumbersPlate`."""
        return ItemCells(self, cells)

    def _item_log_table(self, cells: NDArray[np.intp], place: int, length: int) -> Floats:
        """Return log P(count = 0, ..., length) of an item, given the length of the document.

        `place` is the index of the item; the shape is (len(cells), length + 1).
        """
        raise NotImplementedError

    def item_logs(self) -> Floats:
        """Return the log probability of each item, shape (parent configurations, n_items)."""
        return log_of(self._item_shares())

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return a table of the most probable items, the most probable first; see `CPD`."""
        table = self._item_shares()
        shown = np.argsort(-table.mean(axis=0), kind="stable")[:max_columns].tolist()
        names = texts([self.variable.items[i] for i in shown], LONGEST)
        return describe_shares(self.parents, table, shown, names, max_rows, 1e-300, "item")


@dataclass(frozen=True, eq=False)
class ItemCells:
    """The distributions of a vector of counts in k configurations of its parents.

    It implements the protocol `bayesgraph.inference.results.ItemComponents`.

    Attributes
    ----------
    cpd : ItemsCPD
    cells : ndarray of int, shape (k,)
    """

    cpd: ItemsCPD
    cells: NDArray[np.intp]

    @property
    def presence(self) -> bool:
        """Whether items are present or absent; see ItemComponents."""
        return self.cpd._presence

    @property
    def shares(self) -> Floats:
        """Probabilities of the items; see ItemComponents."""
        return self.cpd._item_shares()[self.cells]

    def log_probability(self, counts: Any) -> Floats:
        """Return the log probability of the counts of one row; see ItemComponents."""
        row = np.asarray(counts, dtype=np.float64)[None]
        logs = np.zeros((self.cpd.cells, 1))
        self.cpd._add(Evidence(1, {self.cpd.variable: row}), logs)
        orders = 0.0 if self.presence else log_orders(row)
        return np.asarray(logs[self.cells, 0] + orders)

    def item(self, place: int, length: int) -> CountTable:
        """Return the distributions of the count of one item; see ItemComponents."""
        logs = self.cpd._item_log_table(self.cells, place, length)
        return CountTable((type(self.cpd).__name__.removesuffix("CPD"),), logs)

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator) -> Any:
        """Return rows of counts; see ItemComponents."""
        return self.cpd.sample_cells(self.cells[chosen], random)


@dataclass(frozen=True, eq=False)
class CountTable:
    """Distributions of a count from 0 to n; see `bayesgraph.inference.results.Components`.

    Attributes
    ----------
    kinds : tuple of str
        The name of the family.
    logs : ndarray, shape (k, n + 1)
        Log probabilities.
    """

    kinds: tuple[str, ...]
    logs: Floats
    whole = True  # values are whole numbers

    @cached_property
    def _shares(self) -> Floats:
        return np.exp(self.logs)

    @property
    def means(self) -> Floats:
        """Means; see Components."""
        return (self._shares @ np.arange(self.logs.shape[1]))[:, None]

    @property
    def covariances(self) -> Floats:
        """Variances; see Components."""
        away = (np.arange(self.logs.shape[1]) - self.means) ** 2
        return np.asarray((self._shares * away).sum(axis=1)[:, None, None])

    def log_density(self, points: Floats) -> Floats:
        """Return log probabilities; see Components."""
        x = points[..., 0]  # `points` has shape (..., 1)
        top = self.logs.shape[1] - 1
        possible = (x >= 0) & (x <= top) & (x == np.floor(x))
        logs = self.logs.T[np.where(possible, x, 0).astype(np.intp)]  # shape (..., k)
        logs = np.where(possible[..., None], logs, -np.inf)
        return np.where(np.isnan(x)[..., None], np.nan, logs)

    def tail(self, x: Floats, side: float) -> Floats:
        """Return probabilities of at most, or more than, x; see Components."""
        # The column of x has P(count <= x), which is 0 for -1, or P(count > x), which is 0 for n.
        if side > 0:
            table = np.pad(np.cumsum(self._shares, axis=1), ((0, 0), (1, 0)))
        else:
            table = np.pad(np.cumsum(self._shares[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
        # The columns are for -1, 0, ..., n.
        column = np.nan_to_num(np.clip(np.floor(x), -1, self.logs.shape[1] - 1) + 1)
        entries = np.minimum(table, 1.0).T[column.astype(np.intp)]
        return np.where(np.isnan(x)[..., None], np.nan, entries)

    def bounds(self, probability: float) -> tuple[float, float]:
        """Return 0 and n; see Components."""
        return 0.0, float(self.logs.shape[1] - 1)

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator) -> Floats:
        """Return draws; see Components."""
        return draw_states(self._shares, chosen, random).astype(np.float64)[:, None]

    def of(self, places: Any) -> CountTable:
        """Return the same distributions, which are of one number; see Components."""
        return self


def known_counts(
    evidence: Evidence, variable: CountVector
) -> tuple[Any, tuple[NDArray[np.intp], Any] | None]:
    """Return counts with missing values replaced by zeros, and the positions of missing counts.

    Returns
    -------
    filled : ndarray or csr_array
    missing : None, or (rows, absent)
        `rows` holds the indices of the rows with missing counts. `absent` is a matrix for these
        rows with 1 where a count is missing, else 0. None if no count is missing.
    """
    counts: Any = evidence.columns[variable]
    if evidence.complete:
        return counts, None
    if is_sparse(counts):
        is_missing = np.isnan(counts.data)
        if not is_missing.any():
            return counts, None
        # Missing counts are stored as NaN: both results have entries in the same places.
        filled = counts.copy()
        filled.data = np.where(is_missing, 0.0, counts.data)
        absent = counts.copy()
        absent.data = is_missing.astype(np.float64)
        absent.eliminate_zeros()
        rows = np.flatnonzero(np.diff(absent.indptr))
        return filled, (rows, absent[rows])
    # The sum of a row is NaN if one of its counts is NaN: this needs no array of flags.
    rows = np.flatnonzero(np.isnan(counts.sum(axis=1)))
    if not len(rows):
        return counts, None
    is_missing = np.isnan(counts[rows])
    filled = counts.copy()
    filled[rows] = np.where(is_missing, 0.0, counts[rows])
    return filled, (rows, is_missing.astype(np.float64))


def log_orders(counts: Any) -> Floats:
    """Return the log multinomial coefficient of each row of counts: that of its orders of items.

    The coefficient is ``n! / (x_1! x_2! ...)`` for the counts x_i and their sum n; missing counts
    are left out.
    """
    sparse = scipy.sparse.csr_array(counts)
    parts = sparse.indices, sparse.indptr
    sparse.data = np.nan_to_num(sparse.data)
    logs = scipy.sparse.csr_array((gammaln(sparse.data + 1.0), *parts), shape=sparse.shape)
    return np.asarray(gammaln(sparse.sum(axis=1) + 1.0) - logs.sum(axis=1))


def known_mass(shares: Floats, absent: Any) -> Floats:
    """Return the sum of `shares` over the items whose counts are known in each row.

    Parameters
    ----------
    shares : ndarray, shape (cells, n)
        A number for each parent configuration (cell) and item, such as the item's probability.
    absent : ndarray or csr_array, shape (n_rows, n)
        1 where a count is missing, else 0.

    Returns
    -------
    ndarray, shape (n_rows, cells)
    """
    whole = shares.sum(axis=1)
    mass = np.asarray(whole - absent @ shares.T)
    # A difference that is small relative to the whole has lost digits: sum directly instead.
    doubtful = np.flatnonzero((mass < 0.5 * whole).any(axis=1))
    # Chunks of rows bound the memory of dense matrices.
    for rows in np.array_split(doubtful, 1 + len(doubtful) * shares.shape[1] // 10**7):
        chunk = absent[rows]
        dense = chunk.toarray() if is_sparse(chunk) else chunk
        mass[rows] = (1.0 - dense) @ shares.T
    return mass


# Number of cells of which each has a product of its own with a sparse matrix: a product for all
# takes memory, and for few no less time.
_FEW_CELLS = 4
# Number of weights that fit into a processor's cache. Of more, those of one cell at a time do.
_CACHED = 2**18


def present(counts: Any, threshold: float) -> Any:
    """Return a matrix of ones where counts exceed a threshold, in CSR if the counts are."""
    if not is_sparse(counts):
        return (counts > threshold).astype(np.float64)
    there = (counts.data > threshold).astype(np.float64)
    return scipy.sparse.csr_array((there, counts.indices, counts.indptr), shape=counts.shape)


class Weights:
    """Log potential of one occurrence of each item, as a matrix to multiply by counts.

    Parameters
    ----------
    logs : ndarray, shape (cells, n)
        Logarithms by parent configuration (cell); minus infinity times a count of 0 is 0.

    Attributes
    ----------
    finite : ndarray, shape (cells, n)
        The logarithms, with 0 in the place of minus infinity.
    impossible : ndarray, shape (n, cells), or None
        1 for minus infinity, else 0; None if all logarithms are finite.
    """

    def __init__(self, logs: Floats) -> None:
        impossible = np.isneginf(logs)
        # The weights of an item lie together, as products with sparse matrices read them.
        self.finite = np.asfortranarray(np.where(impossible, 0.0, logs))
        self.impossible = impossible.T.astype(np.float64) if impossible.any() else None

    def add(self, counts: Any, out: Floats) -> None:
        """Add the log potentials of documents, ``logs @ counts.T``, to `out`.

        Parameters
        ----------
        counts : ndarray or csr_array, shape (n_rows, n)
        out : ndarray, shape (cells, n_rows)
        """
        if not is_sparse(counts):
            out += self.finite @ counts.T  # twice as fast as the product of the rows
        # Cell by cell is faster where counts are more than weights, and weights exceed the cache.
        elif len(out) <= _FEW_CELLS or counts.nnz > self.finite.size > _CACHED:
            for cell, table in zip(out, self.finite, strict=True):
                cell += counts @ table
        else:
            out += (counts @ self.finite.T).T
        # A document with an item of probability zero is impossible.
        if self.impossible is not None:
            out[((counts @ self.impossible) > 0).T] = -np.inf


# ----------------------------------------------------------------------- Multinomial distributions


# Minimum of concentrations, which are positive: an item that was never seen is not impossible.
_NEVER = 1e-300


class MultinomialCPD(ItemsCPD):
    """Multinomial distribution of a document's item counts given discrete parents.

    The potential is the probability of the sequence of items given its length: the multinomial
    coefficient, which is the same for all classes, is left out, so that fractional counts such as
    tf-idf weights have a potential too. If some counts of a row are missing, the probabilities are
    renormalised over the other items.

    Parameters
    ----------
    variable : CountVector
        The vector of n items.
    probabilities : array_like, shape (*parents' cardinalities, n)
        The probability of each item; rows sum to one.
    parents : iterable of Discrete
    lengths : array_like, shape (*parents' cardinalities, n lengths), optional
        Numbers of documents of each length, for sampling. The lengths are those of the array
        `bayesgraph.core.arrays.LENGTHS`.

    Raises
    ------
    CPDError
        For a wrong shape, a negative number, NaN, or a row that does not sum to one.
    """

    arrays = ("probabilities", "lengths")
    is_document = True

    def __init__(
        self,
        variable: CountVector,
        probabilities: ArrayLike,
        parents: Iterable[Discrete] = (),
        lengths: ArrayLike | None = None,
    ) -> None:
        self._set_family(variable, parents)
        above = -np.finfo(float).tiny  # `_parameter` takes greater numbers only: 0 is one
        self.probabilities = self._parameter(
            "probabilities", probabilities, self._shape, above=above
        )
        check_sums(self.probabilities, self.parents, what=self.title)
        histograms = np.zeros((*self._lead, 0)) if lengths is None else lengths
        shape = (*self._lead, np.shape(histograms)[-1])
        self.lengths = self._parameter("lengths", histograms, shape, above=above)

    @property
    def n_parameters(self) -> int:
        """The number of free probabilities."""
        return self.cells * (len(self.variable.items) - 1)

    @property
    def is_positive(self) -> bool:
        """Whether all probabilities are positive; see `CPD.is_positive`."""
        return bool((self.probabilities > 0).all())

    @cached_property
    def _logs(self) -> Floats:
        return self.item_logs()

    @cached_property
    def _weights(self) -> Weights:
        return Weights(self._logs)

    def _add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log potentials of rows of counts to `out`, shape (cells, n_rows); see `Plate`."""
        counts, missing = known_counts(evidence, self.variable)
        self._weights.add(counts, out)
        if missing is None:
            return
        # Probabilities are divided by that of all known items, once for each occurrence.
        rows, absent = missing
        log_kept = _log_positive(known_mass(self._item_shares(), absent))
        total = np.asarray(counts[rows].sum(axis=1)).reshape(-1, 1)
        out[:, rows] -= (total * log_kept).T

    def _item_log_table(self, cells: NDArray[np.intp], place: int, length: int) -> Floats:
        """Return log P(count of an item | length of the document); see `ItemsCPD`.

        Given the length, the count is binomial.
        """
        share = self._item_shares()[cells, place][:, None]
        count = np.arange(length + 1.0)
        orders = gammaln(length + 1.0) - gammaln(count + 1.0) - gammaln(length - count + 1.0)
        # log(share^count (1 - share)^others), where 0 log(0) is 0.
        chosen, others = scipy.special.xlogy(count, share), length - count
        return np.asarray(orders + chosen + scipy.special.xlog1py(others, -share))

    def item_terms(self, evidence: Evidence) -> ItemTerms:
        """Return a term, count times log probability, for each item that occurs in the row.

        Probabilities are renormalised over the items whose counts are known.
        """
        counts, missing = known_counts(evidence, self.variable)
        row = dense_row(counts)
        at = np.flatnonzero(row)
        logs = self._logs[:, at].T  # (items that occur, cells)
        if missing is not None:
            logs = logs - _log_positive(known_mass(self._item_shares(), missing[1]))
        return ItemTerms(*counted(self.variable.items, row, at), row[at, None] * logs)

    def sample_cells(self, cells: NDArray[np.intp], random: np.random.Generator) -> NDArray[Any]:
        """Return documents, with lengths drawn from the histogram `lengths`.

        Raises
        ------
        UnsupportedModelError
            If the CPD has no `lengths`.
        """
        if not self.lengths.shape[-1]:
            raise UnsupportedModelError(
                f"{self.title} has no lengths= to draw documents from: it gives how items are "
                "chosen, "
                "not how many."
            )
        n = len(cells)
        length = np.zeros(n, dtype=np.int64)
        for c in np.unique(cells).tolist():
            weights = self.lengths.reshape(self.cells, -1)[c]
            rows = np.flatnonzero(cells == c)
            if weights.any():  # otherwise no document was seen, and those drawn are empty
                length[rows] = random.choice(
                    LENGTHS[: len(weights)].astype(np.int64), len(rows), p=weights / weights.sum()
                )
        # All items of the documents of a cell are drawn at once, and counted by document and item.
        shares, each = self._item_shares(), range(self.cells)
        items = np.concatenate(
            [_draw(shares[c], int(length[cells == c].sum()), random) for c in each]
        )
        rows = np.concatenate(
            [np.repeat(np.flatnonzero(cells == c), length[cells == c]) for c in each]
        )
        documents: Any = scipy.sparse.csr_array(
            (np.ones(len(items)), (rows, items)), shape=(n, len(self.variable.items))
        )
        documents.sum_duplicates()
        return documents  # type: ignore[no-any-return]


class DirichletMultinomialCPD(ItemsCPD):
    """Dirichlet-multinomial distribution of a document's item counts given discrete parents.

    It is the posterior predictive of a multinomial whose probabilities have a Dirichlet posterior.

    The potential of a document with counts x_i is the probability of its sequence of items,
    ``G(A) / G(A + n) * prod_i G(a_i + x_i) / G(a_i)`` (Minka 2000), where G is the gamma function,
    A the sum of the concentrations a_i and n the sum of the counts. An item that occurred once is
    more likely to occur again. Items whose counts are missing are left out of A and n, which gives
    the exact marginal.

    Parameters
    ----------
    variable : CountVector
    concentration : array_like, shape (*parents' cardinalities, n items)
        Positive: observed counts plus pseudo-counts.
    parents : iterable of Discrete
    """

    arrays = ("concentration",)
    is_document = True

    def __init__(
        self, variable: CountVector, concentration: ArrayLike, parents: Iterable[Discrete] = ()
    ) -> None:
        self._set_family(variable, parents)
        self.concentration = self._parameter("concentration", concentration, self._shape, above=0.0)

    @property
    def is_positive(self) -> bool:
        """True, because the potential of a document is never zero; see `CPD.is_positive`."""
        return True

    def _add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log potentials of rows of counts to `out`, shape (cells, n_rows); see `Plate`."""
        counts, missing = known_counts(evidence, self.variable)
        a = self.concentration.reshape(self.cells, -1)
        sparse = scipy.sparse.csr_array(counts)
        # Items that do not occur add nothing: only counts that are stored are read.
        for logs, concentration in zip(out, a, strict=True):
            gained = (
                gammaln(concentration[sparse.indices] + sparse.data)
                - gammaln(concentration)[sparse.indices]
            )
            terms = scipy.sparse.csr_array(
                (gained, sparse.indices, sparse.indptr), shape=sparse.shape
            )
            logs += np.asarray(terms.sum(axis=1))
        # The sum A of the items that are known in each row, shape (cells, n_rows).
        total = np.repeat(a.sum(axis=1)[:, None], out.shape[1], axis=1)
        if missing is not None:
            rows, absent = missing
            total[:, rows] = known_mass(a, absent).T
        n = np.asarray(counts.sum(axis=1)).reshape(-1)
        # The total is 0 if no count is known; n is then 0, too.
        out += np.where(n > 0, gammaln(np.maximum(total, 1e-300)) - gammaln(total + n), 0.0)

    def _item_shares(self) -> Floats:
        a = self.concentration.reshape(self.cells, -1)
        return np.asarray(a / a.sum(axis=1, keepdims=True))

    def _item_log_table(self, cells: NDArray[np.intp], place: int, length: int) -> Floats:
        """Return log P(count of an item | length of the document); see `ItemsCPD`.

        Given the length, the count is beta-binomial: this item's concentration and all others'.
        """
        a = self.concentration.reshape(self.cells, -1)[cells]
        chosen = a[:, place, None]
        others = np.delete(a, place, axis=1).sum(axis=1)[:, None]
        if a.shape[1] == 1:  # the only item: its count is the length
            return np.where(np.arange(length + 1) == length, 0.0, -np.inf) + np.zeros_like(chosen)
        count = np.arange(length + 1.0)
        orders = gammaln(length + 1.0) - gammaln(count + 1.0) - gammaln(length - count + 1.0)
        return np.asarray(
            orders + betaln(chosen + count, others + length - count) - betaln(chosen, others)
        )

    def item_terms(self, evidence: Evidence) -> ItemTerms:
        """Return the log potential as a sum of terms: one for each item that occurs, one for n.

        The term of item i is log(G(a_i + x_i) / G(a_i)), that of the total n log(G(A) / G(A + n)).
        """
        counts, missing = known_counts(evidence, self.variable)
        row = dense_row(counts)
        at = np.flatnonzero(row)
        a = self.concentration.reshape(self.cells, -1)
        total = a.sum(axis=1)
        if missing is not None:
            total = known_mass(a, missing[1])[0]
        names, values = counted(self.variable.items, row, at)
        logs = gammaln(a[:, at] + row[at]) - gammaln(a[:, at])
        if not len(at):
            return ItemTerms([], [], logs.T)
        length = gammaln(total) - gammaln(total + row.sum())
        return ItemTerms(
            [*names, self.variable.name],
            [*values, *whole([row.sum()])],
            np.vstack([logs.T, length]),
        )


def _log_positive(values: Floats) -> Floats:
    """Return the logarithms of positive values, and 0 for other values."""
    return np.where(values > 0, np.log(np.where(values > 0, values, 1.0)), 0.0)


def _draw(shares: Floats, n: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Return the indices of n items, drawn independently with the probabilities `shares`."""
    # The last item that is possible takes the rounding error.
    cumulative = np.cumsum(shares)
    last = int(np.flatnonzero(shares)[-1])
    drawn = np.searchsorted(cumulative, random.random(n) * cumulative[-1], side="right")
    return np.asarray(np.minimum(drawn, last))


def item_sums(summary: TotalsSummary) -> Floats:
    """Return the sum of each item's counts in each of the K classes, shape (K, n_items).

    Sums of items with missing counts are scaled up to the row weight of the class's most complete
    item.
    """
    if summary.seen.shape[1] == 1:  # no count is missing
        return summary.sums
    maximum = summary.seen.max(axis=1, keepdims=True)
    return np.where(summary.seen > 0, safe_divide(summary.sums * maximum, summary.seen), 0.0)


def _estimate_multinomial(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return multinomial CPDs, or Dirichlet-multinomial CPDs as their posterior predictive.

    If counts are missing, an item's sum is divided by the fraction of rows in which its count is
    known (available-case analysis; unbiased if counts are missing completely at random).
    """
    cpds: list[CPD] = []
    for child in children:
        assert isinstance(child, CountVector)  # the family's type of variable
        summary: TotalsSummary = source.summary(Totals(child, target))
        sums = item_sums(summary)
        n = len(child.items)
        alpha = smoothing.pseudo_counts(child, n)
        if smoothing.estimation == "predictive":
            concentration = np.maximum(sums + alpha, _NEVER)
            cpds.append(DirichletMultinomialCPD(child, concentration, [target]))
            continue
        cells = smoothing.weighted(sums, alpha)
        total = cells.sum(axis=1, keepdims=True)
        shares = np.where(total > 0, safe_divide(cells, total), 1.0 / n)
        # The histogram of lengths ends with the longest document.
        last = int(np.flatnonzero(summary.lengths.any(axis=0)).max(initial=-1)) + 1
        cpds.append(MultinomialCPD(child, shares, [target], summary.lengths[:, :last]))
    return cpds


MULTINOMIAL = LeafFamily(
    "multinomial",
    "counts of many items, such as words, as one vector: all columns so named, a tuple of columns, "
    "or a matrix (dense or sparse) as a column of its own; fractional counts (tf-idf) are fine",
    {"multinomial": MultinomialCPD, "dirichlet_multinomial": DirichletMultinomialCPD},
    Totals,
    _estimate_multinomial,
    is_default=True,
    positive=True,
    vector="counts",
)


# ------------------------------------------------------------------- Presence and absence of items


class PresenceCPD(ItemsCPD):
    """Bernoulli distributions of the presence of a document's items given discrete parents.

    Items are independent given the parents. Absent items contribute to the likelihood, as in
    Bernoulli naive Bayes.
    An item is present if its count exceeds the threshold; missing counts are left out.

    Parameters
    ----------
    variable : CountVector
        The vector of n items.
    probabilities : array_like, shape (*parents' cardinalities, n)
        The probability that each item is present.
    parents : iterable of Discrete
    threshold : float

    Raises
    ------
    CPDError
        For a wrong shape, numbers outside [0, 1], or a negative threshold.
    """

    arrays = ("probabilities",)
    other_arrays = ("threshold",)
    _presence = True

    def __init__(
        self,
        variable: CountVector,
        probabilities: ArrayLike,
        parents: Iterable[Discrete] = (),
        threshold: ArrayLike = 0.0,
    ) -> None:
        self._set_family(variable, parents)
        self.probabilities = self._parameter("probabilities", probabilities, self._shape)
        if not ((self.probabilities >= 0) & (self.probabilities <= 1)).all():
            raise CPDError(f"{self.title}: probabilities lie between 0 and 1.")
        self.threshold = float(np.asarray(threshold))
        if not self.threshold >= 0:
            raise CPDError(
                f"{self.title}: every count, 0 included, exceeds a negative threshold; got "
                f"{self.threshold:g}."
            )

    @property
    def n_parameters(self) -> int:
        """The number of probabilities."""
        return int(self.probabilities.size)

    @property
    def is_positive(self) -> bool:
        """Whether no probability is 0 or 1; see `CPD.is_positive`."""
        return bool(((self.probabilities > 0) & (self.probabilities < 1)).all())

    @cached_property
    def _logs(self) -> tuple[Floats, Floats]:
        """Log probabilities of presence and of absence, shape (parent configurations, n) each."""
        p = self._item_shares()
        with np.errstate(divide="ignore"):
            return np.log(p), np.log1p(-p)

    @cached_property
    def _terms(self) -> tuple[Weights, Floats, NDArray[np.bool_]]:
        """Log odds of presence, log probabilities of absence, and a mask of certain items.

        Certain items are present with probability one. Their log odds and log probability of
        absence are set to 0 here; `_add` uses the mask to make their absence impossible.
        """
        yes, no = self._logs
        certain = np.isneginf(no)
        absence = np.where(certain, 0.0, no)
        return Weights(yes - absence), absence, certain

    def _add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log potentials of rows of counts to `out`, shape (cells, n_rows); see `Plate`."""
        counts, missing = known_counts(evidence, self.variable)
        # As if all items were absent, and the log odds of those that are present.
        odds, absence, certain = self._terms
        there = present(counts, self.threshold)
        odds.add(there, out)
        out += absence.sum(axis=1, keepdims=True)
        if missing is not None:
            # Items with missing counts (1 in `unknown`) add nothing.
            rows, unknown = missing
            out[:, rows] -= (unknown @ absence.T).T
        if certain.any():
            # A document in which a certain item is known to be absent is impossible: each certain
            # item is present, or its count is missing. Shapes are (cells, n_rows).
            needed = np.repeat(certain.sum(axis=1)[:, None], out.shape[1], axis=1)
            present_items = (there @ certain.T.astype(np.float64)).T
            if missing is not None:
                present_items[:, rows] += (unknown @ certain.T.astype(np.float64)).T
            out[present_items < needed] = -np.inf

    def item_terms(self, evidence: Evidence) -> ItemTerms:
        """Return the log probability of the observed presence or absence of each item in a row.

        Items whose counts are missing are left out.
        """
        row = dense_row(evidence.columns[self.variable])
        at = np.flatnonzero(~np.isnan(row))
        there = row[at] > self.threshold
        p = self._item_shares()[:, at].T
        logs = log_of(np.where(there[:, None], p, 1.0 - p))
        return ItemTerms([self.variable.items[i] for i in at.tolist()], there.tolist(), logs)

    def sample_cells(self, cells: NDArray[np.intp], random: np.random.Generator) -> NDArray[Any]:
        """Return documents as a sparse matrix of counts.

        Present items have the smallest positive integer above the threshold, absent items 0.
        """
        count = max(1.0, math.floor(self.threshold) + 1.0)
        n, p = len(cells), self._item_shares()
        # Blocks of rows bound the memory of dense random numbers.
        blocks = [
            scipy.sparse.csr_array(random.random((len(rows), p.shape[1])) < p[cells[rows]])
            for rows in np.array_split(np.arange(n), max(1, n * p.shape[1] // 10**7))
        ]
        documents: Any = scipy.sparse.vstack(blocks, format="csr").astype(np.float64) * count
        return documents  # type: ignore[no-any-return]


def _estimate_presence(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return one Bernoulli CPD given the class for each vector of counts.

    The probability of presence is (present + alpha) / (rows + 2 alpha), where `present` is the
    number of the class's rows in which the item is present, and alpha is the item's pseudo-count.
    """
    cpds: list[CPD] = []
    for child in children:
        assert isinstance(child, CountVector)  # the family's type of variable
        threshold = float(smoothing.threshold)
        summary: TotalsSummary = source.summary(Totals(child, target, threshold))
        alpha = smoothing.pseudo_counts(child, len(child.items))
        # `seen` is the weight of the rows in which the item's count is known.
        there = smoothing.weighted(summary.sums, alpha)
        absent = smoothing.weighted(summary.seen - summary.sums, alpha)
        total = there + absent
        share = np.where(total > 0, safe_divide(there, total), 0.5)
        cpds.append(PresenceCPD(child, np.clip(share, 0.0, 1.0), [target], threshold))
    return cpds


BERNOULLI = LeafFamily(
    "bernoulli",
    'presence and absence of many items; for a boolean column the same as "categorical"',
    {"presence": PresenceCPD},
    Totals,
    _estimate_presence,
    positive=True,
    vector="presence",
    takes_states=True,
    own_smoothing=("threshold",),
)
