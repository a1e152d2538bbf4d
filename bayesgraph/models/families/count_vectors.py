"""Base class of the distributions of vectors of counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, gammaln, is_sparse
from bayesgraph.core.errors import CPDError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import CountVector, Discrete
from bayesgraph.models import row_kernels
from bayesgraph.models.cpds.base import Description, describe_items, draw_states
from bayesgraph.models.cpds.density import Plate, parent_states

# Number of cells of which each has a product of its own with a sparse matrix.
_FEW_CELLS = 4


class ItemsCPD(Plate):
    """Base class of CPDs of one vector of item counts (words) given discrete parents."""

    takes_children = False
    _child_type = CountVector
    _takes_one = True
    variable: CountVector
    # Whether items are present or absent, and not counted.
    _presence = False

    def _set_vector(self, variable: CountVector, parents: Iterable[Discrete]) -> None:
        self._set_family(variable, parents)
        if not self._alone:
            raise CPDError(f"{type(self).__name__} takes one CountVector; got {variable!r}.")

    @property
    def _shape(self) -> tuple[int, ...]:
        return (*self._lead, len(self.variable.items))

    def _take(self, at: Sequence[int]) -> Self:
        return self

    def _item_shares(self) -> Floats:
        """Return the probabilities of items for printing, shape (*cardinalities, n_items)."""
        raise NotImplementedError

    def components(self, cells: NDArray[np.intp]) -> ItemCells:
        """Return the distributions in configurations of the parents; see `LeafCPD`."""
        return ItemCells(self, cells)

    def _item_log_table(self, cells: NDArray[np.intp], place: int, length: int) -> Floats:
        """Return log P(count = 0..length) of an item, shape (len(cells), length + 1)."""
        raise NotImplementedError

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return a printable table of the most probable items; see `CPD.describe`."""
        shares = self._item_shares()
        return describe_items(self.parents, self.variable, shares, max_rows, max_columns)


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
        return self.cpd._item_shares().reshape(self.cpd.cells, -1)[self.cells]

    def log_probability(self, counts: Any) -> Floats:
        """Return the log probability of the counts of one row; see ItemComponents."""
        row = np.asarray(counts, dtype=np.float64)[None]
        logs = np.zeros((self.cpd.cells, 1))
        self.cpd._add(Evidence(1, {self.cpd.variable: row}), logs)
        orders = 0.0 if self.presence else gammaln(row.sum() + 1.0) - gammaln(row + 1.0).sum()
        return np.asarray(logs[self.cells, 0] + orders)

    def item(self, place: int, length: int) -> CountTable:
        """Return the distributions of the count of one item; see ItemComponents."""
        logs = self.cpd._item_log_table(self.cells, place, length)
        return CountTable(type(self.cpd).__name__.removesuffix("CPD"), logs)

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator) -> Any:
        """Return rows of counts; see ItemComponents."""
        cells = self.cells[chosen]
        return self.cpd.sample(parent_states(self.cpd, cells), len(cells), random)


@dataclass(frozen=True, eq=False)
class CountTable:
    """Distributions of a count from 0 to n; see `bayesgraph.inference.results.Components`.

    Attributes
    ----------
    kind : str
        Name of the family.
    logs : ndarray, shape (k, n + 1)
        Log probabilities.
    """

    kind: str
    logs: Floats
    whole = True

    @property
    def kinds(self) -> tuple[str, ...]:
        """The name of the family; see Components."""
        return (self.kind,)

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
        x = points[..., 0]
        top = self.logs.shape[1] - 1
        possible = (x >= 0) & (x <= top) & (x == np.floor(x))
        found = self.logs.T[np.where(possible, x, 0).astype(np.intp)]
        found = np.where(possible[..., None], found, -np.inf)
        return np.where(np.isnan(x)[..., None], np.nan, found)

    def cdf(self, x: Floats) -> Floats:
        """Return cumulative probabilities; see Components."""
        none = np.zeros((len(self.logs), 1))
        below = np.concatenate([none, np.cumsum(self._shares, axis=1)], axis=1)
        return self._looked_up(np.minimum(below, 1.0), x)

    def sf(self, x: Floats) -> Floats:
        """Return probabilities of more than x; see Components."""
        above = np.cumsum(self._shares[:, ::-1], axis=1)[:, ::-1]
        return self._looked_up(np.minimum(np.pad(above, ((0, 0), (0, 1))), 1.0), x)

    def _looked_up(self, table: Floats, x: Floats) -> Floats:
        """Return the entries for x of a table whose columns are for -1, 0, ..., n."""
        at = np.clip(np.floor(x), -1, self.logs.shape[1] - 1) + 1
        found = table.T[np.nan_to_num(at).astype(np.intp)]
        return np.where(np.isnan(x)[..., None], np.nan, found)

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
    known : ndarray or csr_array
    missing : None, or (rows, absent)
        `rows` holds the indices of the rows with missing counts. `absent` is a matrix for these
        rows with 1 where a count is missing, else 0. None if no count is missing.
    """
    counts: Any = evidence.columns[variable]
    if evidence.complete:
        return counts, None
    if is_sparse(counts):
        gone = np.isnan(counts.data)
        if not gone.any():
            return counts, None
        known = counts.copy()
        known.data = np.where(gone, 0.0, counts.data)
        absent = counts.copy()
        absent.data = gone.astype(np.float64)
        absent.eliminate_zeros()
        rows = np.flatnonzero(np.diff(absent.indptr))
        return known, (rows, absent[rows])
    # The sum of a row is NaN if one of its counts is NaN: this needs no array of flags.
    rows = np.flatnonzero(np.isnan(counts.sum(axis=1)))
    if not len(rows):
        return counts, None
    gone = np.isnan(counts[rows])
    known = counts.copy()
    known[rows] = np.where(gone, 0.0, counts[rows])
    return known, (rows, gone.astype(np.float64))


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
    known = np.asarray(whole - absent @ shares.T)
    # A difference that is small relative to the whole has lost digits: sum directly instead.
    doubtful = np.flatnonzero((known < 0.5 * whole).any(axis=1))
    for rows in np.array_split(doubtful, 1 + len(doubtful) * shares.shape[1] // 10**7):
        some = absent[rows]
        dense = some.toarray() if is_sparse(some) else some
        known[rows] = (1.0 - dense) @ shares.T
    return known


def present(counts: Any, threshold: float) -> Any:
    """Return a matrix of ones where counts exceed a threshold, sparse if the counts are."""
    if is_sparse(counts) and threshold >= 0:
        there = counts.copy()
        there.data = (counts.data > threshold).astype(np.float64)
        return there
    dense = counts.toarray() if is_sparse(counts) else counts
    return (dense > threshold).astype(np.float64)


class Weights:
    """Log potential of one occurrence of each item, as a matrix to multiply by counts.

    Parameters
    ----------
    logs : ndarray, shape (cells, n)
        Logarithms by parent configuration (cell); minus infinity times a count of 0 is 0.
    """

    def __init__(self, logs: Floats) -> None:
        impossible = np.isneginf(logs)
        self.finite = np.where(impossible, 0.0, logs)
        self.impossible = impossible.T.astype(np.float64) if impossible.any() else None

    def add(self, counts: Any, out: Floats, threshold: float = np.nan) -> None:
        """Add the log potentials of documents, ``logs @ counts.T``, to `out`.

        Parameters
        ----------
        counts : ndarray or csr_array, shape (n_rows, n)
        out : ndarray, shape (cells, n_rows)
        threshold : float
            Counts above the threshold are taken as 1 and others as 0; with NaN they are unchanged.
        """
        if not np.isnan(threshold):
            counts = present(counts, threshold)
        if is_sparse(counts):
            # A product for all cells takes memory, and for few of them more time.
            if len(out) <= _FEW_CELLS:
                for cell, table in zip(out, self.finite, strict=True):
                    cell += counts @ table
            else:
                out += (counts @ self.finite.T).T
        else:
            row_kernels.add_products(out, counts, self.finite)
        if self.impossible is not None:
            out[((counts @ self.impossible) > 0).T] = -np.inf
