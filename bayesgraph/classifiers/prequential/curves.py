"""Curves of how well a model predicts: averages that fade, or of the last rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.classifiers.prequential.models import Answers
from bayesgraph.classifiers.prequential.result import PrequentialResult
from bayesgraph.errors import DataError, ModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import plain

# A class that a model takes for impossible costs much, but not everything.
_LEAST = 1e-15


class Curves:
    """Sums over the rows tested so far, and the points of the curves."""

    def __init__(self, fading: float, window: int | None) -> None:
        if not 0.0 < fading <= 1.0:
            raise ModelError(f"fading lies above 0 and up to 1; got {fading!r}.")
        if window is not None and (isinstance(window, bool) or int(window) != window or window < 1):
            raise ModelError(f"window= is a number of rows, 1 or more; got {window!r}.")
        self._fading, self._window = fading, window
        self._sums, self._weight = np.zeros(4), 0.0
        self._all, self._first, self._n = np.zeros(4), 0, 0
        self._tail = np.zeros((0, 4))
        self._counts: dict[Any, int] = {}
        self._last: Any = None
        self._points: list[tuple[int, Floats]] = []

    def take(self, labels: NDArray[Any], answers: Answers | None, skip: int) -> None:
        """Take rows, the first of which are not judged; all of them if there are no answers."""
        baselines = np.column_stack(self._baselines(labels))
        first, self._n = self._n, self._n + len(labels)
        if answers is None or skip >= len(labels):
            return
        if not self._points:
            self._first = first + skip
        loss = -np.log(np.maximum(answers.given, _LEAST))
        self._judge(np.column_stack([answers.right, loss, baselines])[skip:])

    def _judge(self, rows: Floats) -> None:
        """Take rows of a measure of the model, its loss, and two of simpler classifiers."""
        n = len(rows)
        powers = self._fading ** np.arange(n - 1, -1, -1.0)
        self._sums = self._fading**n * self._sums + powers @ rows
        self._weight = self._fading**n * self._weight + powers.sum()
        self._all += rows.sum(axis=0)
        if self._window is not None:
            self._tail = np.concatenate([self._tail, rows])[-self._window :]
            self._points.append((self._n, self._tail.mean(axis=0)))
        else:
            self._points.append((self._n, self._sums / self._weight))

    def _baselines(self, labels: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return where the most frequent label so far, and the last one, are right."""
        kinds, first, codes = np.unique(labels, return_index=True, return_inverse=True)
        names = [plain(kind) for kind in kinds.tolist()]
        # Ties go to what came first, whatever the batches.
        known = list(dict.fromkeys([*self._counts, *(names[k] for k in np.argsort(first))]))
        codes = np.array([known.index(name) for name in names])[codes]
        counts = np.zeros((len(labels) + 1, len(known)), dtype=np.int64)
        counts[0, : len(self._counts)] = list(self._counts.values())
        counts[np.arange(len(labels)) + 1, codes] = 1
        counts = counts.cumsum(axis=0)
        # Nothing is known before the first row: no answer is right.
        majority = (counts[:-1].argmax(axis=1) == codes) & (counts[:-1].sum(axis=1) > 0)
        before = known.index(self._last) if self._counts else -1
        same = np.concatenate([[before], codes[:-1]]) == codes
        self._counts = dict(zip(known, counts[-1].tolist(), strict=True))
        self._last = known[codes[-1]]
        return majority.astype(np.float64), same.astype(np.float64)

    def result(self, name: str, found: NDArray[np.int64]) -> PrequentialResult:
        """Return the curves."""
        if not self._points:
            raise DataError(
                "No row was predicted: the first batch only teaches a model that cannot predict "
                "before it has learned, and judge_from= may leave out more. Give more rows, "
                "smaller batches, or a model that has learned."
            )
        n_tested = self._n - self._first
        means = np.array([point for _, point in self._points])
        accuracy, loss, majority, no_change = means.T
        return PrequentialResult(
            name,
            np.array([n for n, _ in self._points], dtype=np.int64),
            accuracy,
            loss,
            _kappa(accuracy, majority),
            _kappa(accuracy, no_change),
            float(self._all[0] / n_tested),
            float(self._all[1] / n_tested),
            self._first,
            n_tested,
            found,
            f"the last {self._window:,} rows"
            if self._window is not None
            else f"all rows, fading by {self._fading:g} a row",
        )


def _kappa(accuracy: Floats, baseline: Floats) -> Floats:
    """Return (p - q) / (1 - q); 0 where the other classifier makes no error."""
    errors = 1.0 - baseline
    return np.where(errors > 0, (accuracy - baseline) / np.where(errors > 0, errors, 1.0), 0.0)
