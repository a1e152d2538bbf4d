"""Rows of discrete features and a class, as log-linear models learn from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.loglinear.canonical import fingerprints
from bayesgraph.learning.loglinear.design import Terms
from bayesgraph.learning.loglinear.training import Rows
from bayesgraph.learning.loglinear.views import View, view_of
from bayesgraph.variables import Discrete

# Portions that each fold gets at least.
_LEAST_PORTIONS = 10


@dataclass(frozen=True)
class Sample:
    """Rows to learn from.

    Attributes
    ----------
    views : tuple of View
        The features.
    codes : ndarray of int, shape (n_rows, n_features)
        States, -1 where missing.
    labels : ndarray of int, shape (n_rows,)
        The class.
    weights : ndarray, shape (n_rows,)
    n_classes : int
    """

    views: tuple[View, ...]
    codes: NDArray[np.signedinteger]
    labels: NDArray[np.intp]
    weights: Floats
    n_classes: int

    @classmethod
    def of(
        cls,
        features: Sequence[Discrete],
        codes: NDArray[np.signedinteger],
        labels: NDArray[np.signedinteger],
        weights: Floats,
        n_classes: int,
    ) -> Sample:
        """Return rows in an order of their own, almost all equal ones as one with their weight.

        What is learned then depends neither on the order of the rows nor on whether a row has the
        weight two or is there twice.

        Parameters
        ----------
        features : sequence of Discrete
        codes : ndarray of int, shape (n_rows, n_features)
        labels : ndarray of int, shape (n_rows,)
        weights : ndarray, shape (n_rows,) or (0,)
            Empty if every row weighs 1.
        n_classes : int
        """
        codes = codes.copy(order="F")
        # A feature of one state tells nothing; nor does it where it is missing.
        codes[:, [v.cardinality == 1 for v in features]] = 0
        columns = [labels, *codes.T]
        order = np.lexsort([labels, fingerprints(codes)])
        new = np.zeros(len(order), dtype=bool)
        new[:1] = True
        for column in columns:
            ordered = column[order]
            new[1:] |= ordered[1:] != ordered[:-1]
        first = np.flatnonzero(new)
        given = weights[order] if len(weights) else np.ones(len(order))
        together = np.add.reduceat(given, first)
        rows = order[first]
        kept = np.ascontiguousarray(codes[rows])
        views = [
            view_of(v, _counts(c, together, v.cardinality))
            for v, c in zip(features, kept.T, strict=True)
        ]
        return cls(tuple(views), kept, labels[rows].astype(np.intp), together, n_classes)

    def take(self, rows: NDArray[np.intp]) -> Sample:
        """Return some of the rows."""
        parts = self.codes[rows], self.labels[rows], self.weights[rows]
        return Sample(self.views, *parts, self.n_classes)

    @property
    def _counts(self) -> Floats:
        found = np.bincount(self.labels, weights=self.weights, minlength=self.n_classes)
        return found.astype(np.float64)

    @property
    def prior(self) -> Floats:
        """Share of each class, smoothed so that none is zero."""
        counts = self._counts
        return np.asarray((counts + 1.0 / self.n_classes) / (counts.sum() + 1.0))

    @property
    def share(self) -> Floats:
        """Share of each class as it is, unless it is zero for one of them."""
        counts = self._counts
        return counts / counts.sum() if counts.all() else self.prior

    def rows(self, terms: Terms) -> Rows:
        """Return the rows as a model of these terms sees them."""
        return Rows(terms.rows(self.codes), self.labels, self.weights)

    def weighing(self, weights: Floats) -> Sample:
        """Return the rows that have a weight, with it."""
        rows = np.flatnonzero(weights > 0)
        return Sample(
            self.views, self.codes[rows], self.labels[rows], weights[rows], self.n_classes
        )

    def folds(self, n_folds: int) -> Floats:
        """Return how much of each row's weight is in each fold, shape (n_folds, n_rows).

        Equal rows are one row here, and what is true of one of them must not be held out together
        with all the others: a row of the weight three is in three folds. Classes are spread evenly.
        """
        # The order of the rows is that of their fingerprints, which is as good as random.
        by_class = np.argsort(self.labels, kind="stable")
        ends = np.cumsum(self.weights[by_class])
        # Weights that are all small are dealt out in smaller portions.
        portion = min(1.0, float(ends[-1]) / (_LEAST_PORTIONS * n_folds))
        # Portions go to the folds in turn: how much each has got up to the end of each row.
        rounds, rest = np.divmod(np.concatenate([[0.0], ends]) / portion, n_folds)
        fold = np.arange(n_folds)[:, None]
        dealt = portion * (rounds + np.clip(rest - fold, 0.0, 1.0))
        found = np.empty((n_folds, len(ends)))
        found[:, by_class] = np.diff(dealt, axis=1)
        # Sums of weights that are no whole numbers are exact to rounding only.
        found[found < 1e-9 * self.weights] = 0.0
        return found

    def thinned(self, most: int) -> Sample:
        """Return so many of the rows at most, spread evenly over them."""
        n_rows = len(self.labels)
        if n_rows <= most:
            return self
        return self.take(np.linspace(0, n_rows - 1, most).astype(np.intp))


def _counts(codes: NDArray[np.signedinteger], weights: Floats, n_states: int) -> Floats:
    """Return the weight of the rows in each state."""
    known = codes >= 0
    return np.bincount(codes[known], weights[known], n_states).astype(np.float64)
