"""Multinomial distributions of vectors of counts, such as the words of a document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

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
    log_of,
    whole,
)
from bayesgraph.core.errors import UnsupportedModelError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import CountVector, Discrete, Variable
from bayesgraph.models.cpds.base import CPD, Columns, check_sums
from bayesgraph.models.families.count_vectors import ItemsCPD, Weights, known_counts, known_mass
from bayesgraph.models.families.leaf_family import LeafFamily
from bayesgraph.statistics import CountSource, Totals, TotalsSummary, safe_divide

if TYPE_CHECKING:
    from bayesgraph.statistics import Smoothing

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

    def __init__(
        self,
        variable: CountVector,
        probabilities: ArrayLike,
        parents: Iterable[Discrete] = (),
        lengths: ArrayLike | None = None,
    ) -> None:
        self._set_vector(variable, parents)
        above = -np.finfo(float).tiny
        self.probabilities = self._parameter(
            "probabilities", probabilities, self._shape, above=above
        )
        check_sums(self.probabilities, self.parents, what=self.title)
        given = np.zeros((*self._lead, 0)) if lengths is None else lengths
        shape = (*self._lead, np.shape(given)[-1])
        self.lengths = self._parameter("lengths", given, shape, above=above)

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
        return log_of(self.probabilities.reshape(self.cells, -1))

    @cached_property
    def _weights(self) -> Weights:
        return Weights(self._logs)

    def _add(self, evidence: Evidence, out: Floats) -> None:
        known, missing = known_counts(evidence, self.variable)
        self._weights.add(known, out)
        if missing is None:
            return
        rows, absent = missing
        log_kept = _log_positive(known_mass(self._shares, absent))
        total = np.asarray(known[rows].sum(axis=1)).reshape(-1, 1)
        out[:, rows] -= (total * log_kept).T

    @property
    def _shares(self) -> Floats:
        return self.probabilities.reshape(self.cells, -1)

    def _item_shares(self) -> Floats:
        return self.probabilities

    def _item_log_table(self, cells: NDArray[np.intp], place: int, length: int) -> Floats:
        share = self._shares[cells, place][:, None]
        count = np.arange(length + 1.0)
        orders = gammaln(length + 1.0) - gammaln(count + 1.0) - gammaln(length - count + 1.0)
        own, rest = scipy.special.xlogy(count, share), length - count
        return np.asarray(orders + own + scipy.special.xlog1py(rest, -share))

    def item_terms(self, evidence: Evidence) -> ItemTerms:
        """Return a term, count times log probability, for each item that occurs in the row.

        Probabilities are renormalised over the items whose counts are known.
        """
        known, missing = known_counts(evidence, self.variable)
        row = dense_row(known)
        at = np.flatnonzero(row)
        logs = self._logs[:, at].T
        if missing is not None:
            logs = logs - _log_positive(known_mass(self._shares, missing[1]))
        return ItemTerms(*counted(self.variable.items, row, at), row[at, None] * logs)

    def item_logs(self) -> Floats:
        """Return the log probability of each item, shape (parent configurations, n_items)."""
        return self._logs

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n documents, with lengths drawn from the histogram `lengths`.

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
        cell = self._cell(parents, n)
        length = np.zeros(n, dtype=np.int64)
        for c in np.unique(cell).tolist():
            weights = self.lengths.reshape(self.cells, -1)[c]
            rows = np.flatnonzero(cell == c)
            if weights.any():
                length[rows] = random.choice(
                    LENGTHS[: len(weights)].astype(np.int64), len(rows), p=weights / weights.sum()
                )
        shares = self.probabilities.reshape(self.cells, -1)
        drawn = [_draw(shares[c], int(length[cell == c].sum()), random) for c in range(self.cells)]
        document = [
            np.repeat(np.flatnonzero(cell == c), length[cell == c]) for c in range(self.cells)
        ]
        at = (np.concatenate(document), np.concatenate(drawn))
        documents: Any = scipy.sparse.csr_array(
            (np.ones(len(at[0])), at), shape=(n, len(self.variable.items))
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

    def __init__(
        self, variable: CountVector, concentration: ArrayLike, parents: Iterable[Discrete] = ()
    ) -> None:
        self._set_vector(variable, parents)
        self.concentration = self._parameter("concentration", concentration, self._shape, above=0.0)

    @property
    def is_positive(self) -> bool:
        """True, because the potential of a document is never zero; see `CPD.is_positive`."""
        return True

    def _add(self, evidence: Evidence, out: Floats) -> None:
        known, missing = known_counts(evidence, self.variable)
        a = self.concentration.reshape(self.cells, -1)
        sparse = scipy.sparse.csr_array(known)
        for logs, own in zip(out, a, strict=True):
            gained = gammaln(own[sparse.indices] + sparse.data) - gammaln(own)[sparse.indices]
            terms = scipy.sparse.csr_array(
                (gained, sparse.indices, sparse.indptr), shape=sparse.shape
            )
            logs += np.asarray(terms.sum(axis=1))
        total = np.repeat(a.sum(axis=1)[:, None], out.shape[1], axis=1)
        if missing is not None:
            rows, absent = missing
            total[:, rows] = known_mass(a, absent).T
        n = np.asarray(known.sum(axis=1)).reshape(-1)
        out += np.where(n > 0, gammaln(np.maximum(total, 1e-300)) - gammaln(total + n), 0.0)

    def _item_shares(self) -> Floats:
        a = self.concentration
        return np.asarray(a / a.sum(axis=-1, keepdims=True))

    def _item_log_table(self, cells: NDArray[np.intp], place: int, length: int) -> Floats:
        a = self.concentration.reshape(self.cells, -1)[cells]
        own = a[:, place, None]
        rest = np.delete(a, place, axis=1).sum(axis=1)[:, None]
        if a.shape[1] == 1:  # the only item
            return np.where(np.arange(length + 1) == length, 0.0, -np.inf) + np.zeros_like(own)
        count = np.arange(length + 1.0)
        orders = gammaln(length + 1.0) - gammaln(count + 1.0) - gammaln(length - count + 1.0)
        return np.asarray(orders + betaln(own + count, rest + length - count) - betaln(own, rest))

    def item_terms(self, evidence: Evidence) -> ItemTerms:
        """Return the log potential as a sum of terms: one for each item that occurs, one for n.

        The term of item i is log(G(a_i + x_i) / G(a_i)), that of the total n log(G(A) / G(A + n)).
        """
        known, missing = known_counts(evidence, self.variable)
        row = dense_row(known)
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

    def item_logs(self) -> Floats:
        """Return log(a_i / A), the log probability of each item i, by parent configuration."""
        a = self.concentration.reshape(self.cells, -1)
        return np.asarray(np.log(a / a.sum(axis=1, keepdims=True)))


def _log_positive(values: Floats) -> Floats:
    """Return the logarithms of positive values, and 0 for other values."""
    return np.where(values > 0, np.log(np.where(values > 0, values, 1.0)), 0.0)


def _draw(shares: Floats, n: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Return the indices of n items, drawn independently with the probabilities `shares`."""
    cumulative = np.cumsum(shares)
    last = int(np.flatnonzero(shares)[-1])
    found = np.searchsorted(cumulative, random.random(n) * cumulative[-1], side="right")
    return np.asarray(np.minimum(found, last))


def item_sums(summary: TotalsSummary) -> Floats:
    """Return the sum of each item's counts in each of the K classes, shape (K, n_items).

    Sums of items with missing counts are scaled up to the row weight of the class's most complete
    item.
    """
    if summary.seen.shape[1] == 1:
        return summary.sums
    maximum = summary.seen.max(axis=1, keepdims=True)
    return np.where(summary.seen > 0, safe_divide(summary.sums * maximum, summary.seen), 0.0)


def _estimate(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return multinomial CPDs, or Dirichlet-multinomial CPDs as their posterior predictive.

    If counts are missing, an item's sum is divided by the fraction of rows in which its count is
    known (available-case analysis; unbiased if counts are missing completely at random).
    """
    found: list[CPD] = []
    for child in children:
        assert isinstance(child, CountVector)  # the family's type of variable
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


MULTINOMIAL = LeafFamily(
    "multinomial",
    "counts of many items, such as words, as one vector: all columns so named, a tuple of columns, "
    "or a matrix (dense or sparse) as a column of its own; fractional counts (tf-idf) are fine",
    variable=CountVector,
    is_default=True,
    statistics=Totals,
    estimate=_estimate,
    stored={
        "multinomial": MultinomialCPD,
        "dirichlet_multinomial": DirichletMultinomialCPD,
    },
    positive=True,
    vector="counts",
)
