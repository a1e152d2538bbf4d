"""Counts of many items as one child: the words of a document, present or counted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse, vstack
from scipy.special import gammaln

from bayesgraph.cpds import kernels
from bayesgraph.cpds.items import ItemTerms, counted, dense_row, whole
from bayesgraph.cpds.plate import Plate
from bayesgraph.cpds.table import SUM_TOLERANCE
from bayesgraph.errors import CPDError, UnsupportedModelError
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import CountVector, Discrete, Variable

# Lengths of documents are kept as a histogram: exact below 1,024, in steps of 2 % beyond.
EXACT_LENGTHS, LENGTH_STEP = 1024, 1.02
LENGTHS = np.concatenate(
    [np.arange(EXACT_LENGTHS), EXACT_LENGTHS * LENGTH_STEP ** np.arange(700)]
).round()


class _CountsCPD(Plate):
    """A distribution of one vector of counts given discrete parents."""

    variable: CountVector

    def _set_vector(self, variable: CountVector, parents: Iterable[Discrete]) -> None:
        self._set_family([variable], parents)
        if not isinstance(variable, CountVector):
            raise CPDError(
                f"{type(self).__name__} takes a bayesgraph.CountVector as child; got {variable!r}."
            )
        self.variable = variable

    @property
    def _shape(self) -> tuple[int, ...]:
        return (*self._lead, len(self.variable.items))

    def _take(self, at: Sequence[int]) -> Self:
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self._title()}, {len(self.variable.items):,} items"

    __hash__ = None


class MultinomialCPD(_CountsCPD):
    """The items of a document are drawn one by one with the probabilities of its class.

    The potential is the probability of the items in their order, given how many there are (the
    multinomial coefficient, the same for all classes, is left out), so that fractional counts such
    as tf-idf weights have one too. Where some counts are missing, the probabilities are
    renormalised over the items whose counts are known.

    Parameters
    ----------
    variable : CountVector
        n items.
    probabilities : array_like, shape (*parents' cardinalities, n)
        Rows sum to one.
    parents : iterable of Discrete
    lengths : array_like, shape (*parents' cardinalities, n lengths), optional
        How often documents of each length were seen, for sampling; see `LENGTHS`.

    Raises
    ------
    CPDError
        For a wrong shape, a negative number, NaN, or a row that does not sum to one.
    """

    def __init__(
        self,
        variable: CountVector,
        probabilities: ArrayLike,
        parents: Iterable[Discrete] = (),
        lengths: ArrayLike | None = None,
    ) -> None:
        self._set_vector(variable, parents)
        least = -np.finfo(float).tiny
        self.probabilities = self._parameter(
            "probabilities", probabilities, self._shape, least=least
        )
        if (np.abs(self.probabilities.sum(axis=-1) - 1.0) > SUM_TOLERANCE).any():
            raise CPDError(
                f"{self}: the probabilities of the items must sum to 1 for each configuration of "
                "the parents. Divide each row by its sum if they are weights."
            )
        given = np.zeros((*self._lead, 0)) if lengths is None else lengths
        shape = (*self._lead, np.shape(given)[-1])
        self.lengths = self._parameter("lengths", given, shape, least=least)

    @property
    def n_parameters(self) -> int:
        """Free probabilities."""
        return self.cells * (len(self.variable.items) - 1)

    @property
    def is_positive(self) -> bool:
        """See CPD."""
        return bool((self.probabilities > 0).all())

    @cached_property
    def _logs(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities.reshape(self.cells, -1))

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

    def item_terms(self, evidence: Evidence) -> ItemTerms:
        """See CPD: a term for each item that occurs, in shares of the items that are known."""
        known, missing = known_counts(evidence, self.variable)
        row = dense_row(known)
        at = np.flatnonzero(row)
        logs = self._logs[:, at].T
        if missing is not None:
            logs = logs - _log_positive(known_mass(self._shares, missing[1]))
        return ItemTerms(*counted(self.variable.items, row, at), row[at, None] * logs)

    def item_logs(self) -> Floats:
        """See CPD."""
        return self._logs

    def sample(
        self,
        parents: Mapping[Variable, NDArray[Any]],
        n: int,
        random: np.random.Generator,
    ) -> NDArray[Any]:
        """Return n documents: lengths drawn from those seen in fitting, items from the class.

        Raises
        ------
        UnsupportedModelError
            Without lengths.
        """
        if not self.lengths.shape[-1]:
            raise UnsupportedModelError(
                f"{self} has no lengths= to draw documents from: it tells how items are chosen, "
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
        documents: Any = csr_array((np.ones(len(at[0])), at), shape=(n, len(self.variable.items)))
        documents.sum_duplicates()
        return documents  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MultinomialCPD)
            and self.scope == other.scope
            and np.array_equal(self.probabilities, other.probabilities)
            and np.array_equal(self.lengths, other.lengths)
        )

    __hash__ = None


class DirichletMultinomialCPD(_CountsCPD):
    """The posterior predictive of a multinomial: its probabilities have a Dirichlet distribution.

    A document of counts x has the probability (of its items in their order; Minka 2000)
    ``G(A) / G(A + n) * prod_i G(a_i + x_i) / G(a_i)`` with the gamma function G, A the sum of the
    a_i and n that of the x_i: an item that occurred once is likelier to occur again. Items whose
    counts are missing are left out of A and n, as the Dirichlet distribution of the others has it.

    Parameters
    ----------
    variable : CountVector
    concentration : array_like, shape (*parents' cardinalities, n items)
        Positive: counts seen plus prior.
    parents : iterable of Discrete
    """

    def __init__(
        self,
        variable: CountVector,
        concentration: ArrayLike,
        parents: Iterable[Discrete] = (),
    ) -> None:
        self._set_vector(variable, parents)
        self.concentration = self._parameter("concentration", concentration, self._shape, least=0.0)

    @property
    def n_parameters(self) -> int:
        """Concentrations."""
        return int(self.concentration.size)

    @property
    def is_positive(self) -> bool:
        """See CPD."""
        return True

    def _add(self, evidence: Evidence, out: Floats) -> None:
        known, missing = known_counts(evidence, self.variable)
        a = self.concentration.reshape(self.cells, -1)
        sparse = csr_array(known)
        kernels.add_dirichlet(
            out, sparse.indptr, sparse.indices, sparse.data.astype(np.float64), a.T.copy()
        )
        total = np.repeat(a.sum(axis=1)[:, None], out.shape[1], axis=1)
        if missing is not None:
            rows, absent = missing
            total[:, rows] = known_mass(a, absent).T
        n = np.asarray(known.sum(axis=1)).reshape(-1)
        out += np.where(n > 0, gammaln(np.maximum(total, 1e-300)) - gammaln(total + n), 0.0)

    def item_terms(self, evidence: Evidence) -> ItemTerms:
        """See CPD: a term for each item that occurs, and one for their number."""
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
        """See CPD."""
        a = self.concentration.reshape(self.cells, -1)
        return np.asarray(np.log(a / a.sum(axis=1, keepdims=True)))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DirichletMultinomialCPD)
            and self.scope == other.scope
            and np.array_equal(self.concentration, other.concentration)
        )

    __hash__ = None


class PresenceCPD(_CountsCPD):
    """Each item is in a document or not, independently given the class (the Bernoulli model).

    Absence counts too. An item is there if its count exceeds the threshold; missing counts are left
    out.

    Parameters
    ----------
    variable : CountVector
        n items.
    probabilities : array_like, shape (*parents' cardinalities, n)
        Of each item being there.
    parents : iterable of Discrete
    threshold : float

    Raises
    ------
    CPDError
        For a wrong shape, or numbers outside [0, 1].
    """

    def __init__(
        self,
        variable: CountVector,
        probabilities: ArrayLike,
        parents: Iterable[Discrete] = (),
        threshold: ArrayLike = 0.0,
    ) -> None:
        self._set_vector(variable, parents)
        self.probabilities = self._parameter("probabilities", probabilities, self._shape)
        if not ((self.probabilities >= 0) & (self.probabilities <= 1)).all():
            raise CPDError(f"{self}: probabilities lie between 0 and 1.")
        self.threshold = float(np.asarray(threshold))

    @property
    def n_parameters(self) -> int:
        """Probabilities."""
        return int(self.probabilities.size)

    @property
    def is_positive(self) -> bool:
        """See CPD."""
        return bool(((self.probabilities > 0) & (self.probabilities < 1)).all())

    @cached_property
    def _logs(self) -> tuple[Floats, Floats]:
        """Logs of presence and of absence, shape (cells, n) each."""
        p = self.probabilities.reshape(self.cells, -1)
        with np.errstate(divide="ignore"):
            return np.log(p), np.log1p(-p)

    @cached_property
    def _terms(self) -> tuple[Weights, Floats, NDArray[np.bool_]]:
        """Log odds of presence, logs of absence (0 for certain items), and which are certain."""
        yes, no = self._logs
        certain = np.isneginf(no)
        absent = np.where(certain, 0.0, no)
        return Weights(yes - absent), absent, certain

    def _add(self, evidence: Evidence, out: Floats) -> None:
        known, missing = known_counts(evidence, self.variable)
        odds, finite, certain = self._terms
        odds.add(known, out, self.threshold)
        out += finite.sum(axis=1, keepdims=True)
        if missing is not None:
            rows, absent = missing
            out[:, rows] -= (absent @ finite.T).T
        if certain.any():
            # Items that are always there: a document that is known to lack one is impossible.
            there = present(known, self.threshold)
            needed = np.repeat(certain.sum(axis=1)[:, None], out.shape[1], axis=1)
            seen = (there @ certain.T.astype(np.float64)).T
            if missing is not None:
                seen[:, rows] += (absent @ certain.T.astype(np.float64)).T
            out[seen < needed] = -np.inf

    def item_terms(self, evidence: Evidence) -> ItemTerms:
        """See CPD: a term for each item that is known to be there or not."""
        row = dense_row(evidence.columns[self.variable])
        at = np.flatnonzero(~np.isnan(row))
        there = row[at] > self.threshold
        p = self.probabilities.reshape(self.cells, -1)[:, at].T
        with np.errstate(divide="ignore"):
            logs = np.log(np.where(there[:, None], p, 1.0 - p))
        return ItemTerms([self.variable.items[i] for i in at.tolist()], there.tolist(), logs)

    def item_logs(self) -> Floats:
        """See CPD."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities.reshape(self.cells, -1)))

    def sample(
        self,
        parents: Mapping[Variable, NDArray[Any]],
        n: int,
        random: np.random.Generator,
    ) -> NDArray[Any]:
        """Return n documents as a sparse matrix: what is there has the least count that is.

        Raises
        ------
        UnsupportedModelError
            For a negative threshold, above which no count of 0 is absent.
        """
        if self.threshold < 0:
            raise UnsupportedModelError(
                f"{self} takes a count of 0 for presence (its threshold is {self.threshold:g}), so "
                "that there is no count for absence to draw."
            )
        least = max(1.0, math.floor(self.threshold) + 1.0)
        cell = self._cell(parents, n)
        shares = self.probabilities.reshape(self.cells, -1)
        blocks = [
            csr_array(random.random((len(rows), shares.shape[1])) < shares[cell[rows]])
            for rows in np.array_split(np.arange(n), max(1, n * shares.shape[1] // 10**7))
        ]
        documents: Any = vstack(blocks, format="csr").astype(np.float64) * least
        return documents  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PresenceCPD)
            and self.scope == other.scope
            and self.threshold == other.threshold
            and np.array_equal(self.probabilities, other.probabilities)
        )

    __hash__ = None


def known_counts(
    evidence: Evidence, variable: CountVector
) -> tuple[Any, tuple[NDArray[np.intp], Any] | None]:
    """Return counts with zeros for missing ones, and which are missing.

    Returns
    -------
    known : ndarray or csr_array
    missing : None, or (rows, absent)
        Rows with missing counts, and for these rows a matrix of ones where counts are missing.
    """
    counts: Any = evidence.columns[variable]
    if evidence.complete:
        return counts, None
    if issparse(counts):
        if not kernels.has_missing(counts.data):
            return counts, None
        gone = np.isnan(counts.data)
        known = counts.copy()
        known.data = np.where(gone, 0.0, counts.data)
        absent = counts.copy()
        absent.data = gone.astype(np.float64)
        absent.eliminate_zeros()
        rows = np.flatnonzero(np.diff(absent.indptr))
        return known, (rows, absent[rows])
    # The sum of a row is NaN where one of its counts is: no array of flags is needed to see that.
    if not kernels.has_missing(counts.reshape(-1)):
        return counts, None
    rows = np.flatnonzero(np.isnan(counts.sum(axis=1)))
    gone = np.isnan(counts[rows])
    known = counts.copy()
    known[rows] = np.where(gone, 0.0, counts[rows])
    return known, (rows, gone.astype(np.float64))


def known_mass(shares: Floats, absent: Any) -> Floats:
    """Return the sum of each row of shares over the items that are known.

    Parameters
    ----------
    shares : ndarray, shape (cells, n)
    absent : ndarray or csr_array, shape (n_rows, n)
        Ones where an item is not known.

    Returns
    -------
    ndarray, shape (n_rows, cells)
    """
    whole = shares.sum(axis=1)
    kept = np.asarray(whole - absent @ shares.T)
    # Where little is left, the difference has lost its digits; the sum itself has not.
    doubtful = np.flatnonzero((kept < 0.5 * whole).any(axis=1))
    for rows in np.array_split(doubtful, 1 + len(doubtful) * shares.shape[1] // 10**7):
        some = absent[rows]
        dense = some.toarray() if issparse(some) else some
        kept[rows] = (1.0 - dense) @ shares.T
    return kept


def _log_positive(values: Floats) -> Floats:
    """Return logarithms, 0 for what is not positive: such a row is impossible as it is."""
    return np.where(values > 0, np.log(np.where(values > 0, values, 1.0)), 0.0)


def present(counts: Any, threshold: float) -> Any:
    """Return a matrix of ones where counts exceed a threshold, sparse if the counts are."""
    if issparse(counts) and threshold >= 0:
        there = counts.copy()
        there.data = (counts.data > threshold).astype(np.float64)
        return there
    dense = counts.toarray() if issparse(counts) else counts
    return (dense > threshold).astype(np.float64)


class Weights:
    """Logs by which counts are multiplied, in the forms that the products take.

    Parameters
    ----------
    logs : ndarray, shape (cells, n)
        Minus infinity times a count of 0 is 0.
    """

    def __init__(self, logs: Floats) -> None:
        impossible = np.isneginf(logs)
        self.finite = np.where(impossible, 0.0, logs)
        self.impossible = impossible.T.astype(np.float64) if impossible.any() else None

    @cached_property
    def padded(self) -> Floats:
        """Rows of cells for the sparse product, which reads all cells of an item together."""
        return kernels.padded_rows(self.finite)

    def add(self, counts: Any, out: Floats, threshold: float = np.nan) -> None:
        """Add ``logs @ counts.T`` to `out`.

        Parameters
        ----------
        counts : ndarray or csr_array, shape (n_rows, n)
        out : ndarray, shape (cells, n_rows)
        threshold : float
            Counts above it are 1, others 0, if it is not NaN.
        """
        if issparse(counts) and not threshold < 0:
            kernels.add_sparse(
                out, counts.indptr, counts.indices, counts.data, self.padded, threshold
            )
            if self.impossible is None:
                return
        if not np.isnan(threshold):
            counts = present(counts, threshold)
        if not issparse(counts):
            kernels.add_dense(out, counts, self.finite)
        if self.impossible is not None:
            out[((counts @ self.impossible) > 0).T] = -np.inf


def _draw(shares: Floats, n: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Return n items drawn with the given probabilities."""
    cumulative = np.cumsum(shares)
    last = int(np.flatnonzero(shares)[-1])
    found = np.searchsorted(cumulative, random.random(n) * cumulative[-1], side="right")
    return np.asarray(np.minimum(found, last))
