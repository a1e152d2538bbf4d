"""Log probabilities of the feature values of rows given each class, under naive Bayes."""

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
    """Rows of a table, and the log probabilities that a naive Bayes gives to their feature values.

    The log probability of row n, feature i and class c is ``tables[i][codes[n, i], c]``: rows share
    the tables, so that no array of shape (n_rows, d, K) is needed.

    Attributes
    ----------
    codes : ndarray of int32, shape (n_rows, d), in Fortran order
        The state of each feature; -1 where it is missing.
    tables : tuple of ndarray, shape (card_i, K)
        log p(x_i | c) of each feature, in nats; finite.
    log_prior : ndarray, shape (K,)
        log P(c), in nats; -inf for a class of probability zero.
    labels : ndarray of intp, shape (n_rows,)
        The class of each row.
    weights : ndarray, shape (n_rows,)
        Weights of the rows, not negative.

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
        """Build from array_likes described in the class; without `weights`, all rows weigh 1.

        Raises
        ------
        DataError
            If an entry of `tables` is not finite, or a code or a label is out of range.
        """
        cells = tuple(np.asarray(table, dtype=np.float64) for table in tables)
        for i, table in enumerate(cells):
            if not np.isfinite(table).all():
                raise DataError(
                    f"The log probabilities of feature {i} must be finite: an exponent cannot "
                    "temper an impossible value. Smooth the tables (alpha above 0)."
                )
        label = np.asarray(labels, dtype=np.intp)
        own = np.asfortranarray(codes, dtype=np.int32)
        k, cards = len(np.asarray(log_prior)), [len(table) for table in cells]
        if ((own < -1) | (own >= cards)).any() or ((label < 0) | (label >= k)).any():
            raise DataError(
                f"Codes are -1, or states from 0 to below {cards}; labels are classes from 0 to "
                f"{k - 1}. Leave rows without a label out."
            )
        weight = np.ones(len(label)) if weights is None else np.asarray(weights, dtype=np.float64)
        return cls(own, cells, np.asarray(log_prior, dtype=np.float64), label, weight)

    def take(self, features: NDArray[np.intp]) -> LogTerms:
        """Return the terms restricted to the features of the given indices."""
        tables = tuple(self.tables[i] for i in features.tolist())
        codes = np.asfortranarray(self.codes[:, features])
        return LogTerms(codes, tables, self.log_prior, self.labels, self.weights)

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
    def starts(self) -> NDArray[np.int64]:
        """Offset of each feature's states in the concatenated tables, and their total, (d + 1,)."""
        cards = [len(table) for table in self.tables]
        return np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)

    @cached_property
    def cards(self) -> NDArray[np.int64]:
        """Number of states of each feature, shape (d,)."""
        return np.diff(self.starts)

    @cached_property
    def counts(self) -> tuple[Floats, ...]:
        """Weight of the rows in each cell of each table, shape (card_i, K) each."""
        if not self.n_features:
            return ()
        found = np.zeros((self.n_classes, int(self.starts[-1])))
        counting.count_singles(self.codes.T, self.labels, self.weights, self.starts[:-1], found)
        return tuple(np.split(np.ascontiguousarray(found.T), self.starts[1:-1]))
