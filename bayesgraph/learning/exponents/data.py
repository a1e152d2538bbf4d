"""What every search for exponents of a naive Bayes starts from: rows of log probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics import kernels as counting


@dataclass(frozen=True, eq=False)
class LogTerms:
    """Rows of a table and the log probabilities that a naive Bayes gives to their values.

    The cell of row n, feature i and class c is ``tables[i][codes[n, i], c]``: the rows share their
    tables, so that nothing of shape (n_rows, d, K) exists. `build` converts and checks plain input.

    Attributes
    ----------
    codes : ndarray of int32, shape (n_rows, d), in Fortran order
        The state of each feature; -1 where it is missing.
    tables : tuple of ndarray, shape (card_i, K)
        log p(x_i | c) of each feature, in nats; finite.
    log_prior : ndarray, shape (K,)
        log P(c), in nats; -inf for a class that cannot be.
    labels : ndarray of intp, shape (n_rows,)
    weights : ndarray, shape (n_rows,)
        Of the rows, not negative.

    Examples
    --------
    >>> terms = LogTerms.build([[0], [1], [-1]], [np.log([[0.8, 0.4], [0.2, 0.6]])],
    ...                        np.log([0.5, 0.5]), [0, 1, 1])
    >>> terms.counts[0]
    array([[1., 0.],
           [0., 1.]])
    """

    codes: NDArray[np.int32]
    tables: tuple[Floats, ...]
    log_prior: Floats
    labels: NDArray[np.intp]
    weights: Floats

    @classmethod
    def build(
        cls,
        codes: ArrayLike,
        tables: Sequence[ArrayLike],
        log_prior: ArrayLike,
        labels: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> LogTerms:
        """Return the terms of plain arrays; rows weigh 1 if `weights` is None.

        Raises
        ------
        DataError
            For shapes that do not belong together, codes or labels out of range, weights that are
            negative or not finite, and log probabilities that are not finite.
        """
        label = np.asarray(labels, dtype=np.intp)
        weight = np.ones(len(label)) if weights is None else np.asarray(weights, dtype=np.float64)
        cells = tuple(np.asarray(table, dtype=np.float64) for table in tables)
        terms = cls(
            np.asfortranarray(codes, dtype=np.int32),
            cells,
            np.asarray(log_prior, dtype=np.float64),
            label,
            weight,
        )
        terms._check_shapes()
        terms._check_values()
        return terms

    def take(self, features: NDArray[np.intp]) -> LogTerms:
        """Return the terms of some of the features."""
        tables = tuple(self.tables[i] for i in features.tolist())
        codes = np.asfortranarray(self.codes[:, features])
        return LogTerms(codes, tables, self.log_prior, self.labels, self.weights)

    def _check_shapes(self) -> None:
        n, d, k = len(self.labels), len(self.tables), len(self.log_prior)
        if self.codes.shape != (n, d):
            raise DataError(
                f"codes must have shape {(n, d)}, one row a label and one column a table; got "
                f"{self.codes.shape}."
            )
        if self.weights.shape != (n,):
            raise DataError(f"weights must have shape {(n,)}; got {self.weights.shape}.")
        for i, table in enumerate(self.tables):
            if table.ndim != 2 or table.shape[1] != k or not len(table):
                raise DataError(
                    f"The table of feature {i} must have shape (number of states, {k}), one column "
                    f"a class; got {table.shape}."
                )

    def _check_values(self) -> None:
        if len(self.labels) and not 0 <= self.labels.min() <= self.labels.max() < self.n_classes:
            raise DataError(
                f"labels must be codes from 0 to {self.n_classes - 1}; got codes from "
                f"{self.labels.min()} to {self.labels.max()}. Leave rows without a label out."
            )
        if not (np.isfinite(self.weights) & (self.weights >= 0)).all():
            raise DataError("weights must be finite and not negative.")
        if (np.isneginf(self.log_prior) & (self.class_weights > 0)).any():
            raise DataError("log_prior must be finite for every class that labels a row.")
        for i, table in enumerate(self.tables):
            column = self.codes[:, i]
            if len(column) and not -1 <= column.min() <= column.max() < len(table):
                raise DataError(
                    f"Codes of feature {i} must be from -1 (missing) to {len(table) - 1}; got "
                    f"codes from {column.min()} to {column.max()}."
                )
            if not np.isfinite(table).all():
                raise DataError(
                    f"The log probabilities of feature {i} must be finite: an exponent cannot "
                    "temper an impossible value. Smooth the tables (alpha above 0)."
                )

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    @property
    def n_features(self) -> int:
        return len(self.tables)

    @property
    def n_classes(self) -> int:
        return len(self.log_prior)

    @cached_property
    def cards(self) -> NDArray[np.int64]:
        """Number of states of each feature, shape (d,)."""
        return np.array([len(table) for table in self.tables], dtype=np.int64)

    @cached_property
    def class_weights(self) -> Floats:
        """Weight of the rows of each class, shape (K,)."""
        found = np.bincount(self.labels, self.weights, minlength=self.n_classes)
        return found.astype(np.float64)

    @cached_property
    def counts(self) -> tuple[Floats, ...]:
        """Weight of the rows in each cell of each table, shape (card_i, K) each."""
        start = np.concatenate([[0], np.cumsum(self.cards)]).astype(np.int64)
        found = np.zeros((self.n_classes, int(start[-1])))
        if self.n_features:
            counting.count_singles(self.codes.T, self.labels, self.weights, start[:-1], found)
        stacked = np.ascontiguousarray(found.T)
        return tuple(np.split(stacked, start[1:-1])) if self.n_features else ()

    def log_joint(self, exponents: ArrayLike) -> Floats:
        """Return log P(c) + sum_i w_i log p(x_i | c) of each row, missing values left out.

        Parameters
        ----------
        exponents : array_like, shape (d,) or (d, K)
            One a feature, or one a feature and class.

        Returns
        -------
        ndarray, shape (n_rows, K)
            In nats.
        """
        total = np.tile(self.log_prior, (self.n_rows, 1))
        for table, column, exponent in zip(
            self.tables, self.codes.T, np.asarray(exponents, dtype=np.float64), strict=True
        ):
            # The last row is read by the code of a missing value.
            total += np.vstack([exponent * table, np.zeros(self.n_classes)])[column]
        return total
