"""How well models predicted a stream."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph import upward
from bayesgraph.factors.algebra import Floats

_CURVES = ("accuracy", "log_loss", "kappa_majority", "kappa_no_change")


@dataclass(frozen=True, eq=False, repr=False)
class PrequentialResult:
    """How well a model predicted a stream, row by row before it learned them.

    The curves have a point after each batch. They weigh late rows more (`fading`), or are those of
    the last rows (`window`).

    Attributes
    ----------
    name : str
        Of the model.
    rows : ndarray of int, shape (n_points,)
        Rows of the stream up to each point.
    accuracy, log_loss : ndarray, shape (n_points,)
        The loss in nats; a class that has no probability costs 34.5. NaN for a model that gives no
        probabilities.
    kappa_majority : ndarray, shape (n_points,)
        What part of the errors of the majority classifier the model avoids: 0 is no better than
        predicting the most frequent class so far (Bifet et al. 2015).
    kappa_no_change : ndarray, shape (n_points,)
        The same beside predicting the label that came last (Zliobaite et al. 2015).
    mean_accuracy, mean_log_loss : float
        Over all rows that were judged.
    first_row : int
        Row of the stream, from 0, from which on the model was judged.
    n_tested : int
        Rows that were judged: all from there on.
    alarms : ndarray of int
        Rows of the stream, from 0, that brought an alarm of drift.
    averaging : str
        Over what the curves are.
    """

    name: str
    rows: NDArray[np.int64]
    accuracy: Floats
    log_loss: Floats
    kappa_majority: Floats
    kappa_no_change: Floats
    mean_accuracy: float
    mean_log_loss: float
    first_row: int
    n_tested: int
    alarms: NDArray[np.int64]
    averaging: str

    def __repr__(self) -> str:
        means = {"accuracy": self.mean_accuracy, "log loss": self.mean_log_loss}
        ends = {name.replace("_", " "): getattr(self, name)[-1] for name in _CURVES}
        return (
            f"PrequentialResult({self.name}: {self.n_tested} rows from row {self.first_row}, "
            f"{_listed(means)}; at the end {_listed(ends)}; {len(self.alarms)} alarms)"
        )

    def plot(self, **options: Any) -> Any:
        """Draw the curve; see :func:`bayesgraph.plots.prequential_figure`."""
        return upward.call("prequential_figure", self, **options)


class PrequentialComparison(Mapping[str, PrequentialResult]):
    """Results of several models on the same rows of one stream, by their names.

    It prints as a table: accuracy and log loss over all rows that were judged, which are the same
    for all models, and what the curves end with.
    """

    def __init__(self, results: Mapping[str, PrequentialResult]) -> None:
        self._results = dict(results)

    def __getitem__(self, name: str) -> PrequentialResult:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        some = next(iter(self.values()))
        heads = ("model", "accuracy", "log loss", "accuracy at the end", "kappa majority",
                 "kappa no change", "alarms")  # fmt: skip
        lines = [heads, *(_cells(name, result) for name, result in self.items())]
        wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = [
            "  ".join([name.ljust(wide[0]), *map(str.rjust, cells, wide[1:])])
            for name, *cells in lines
        ]
        return "\n".join([f"{some.n_tested:,} rows from row {some.first_row:,} on", *table])

    def plot(self, **options: Any) -> Any:
        """Draw the curves; see :func:`bayesgraph.plots.prequential_figure`."""
        return upward.call("prequential_figure", self, **options)


def _cells(name: str, result: PrequentialResult) -> tuple[str, ...]:
    ends = (result.accuracy[-1], result.kappa_majority[-1], result.kappa_no_change[-1])
    numbers = (result.mean_accuracy, result.mean_log_loss, *ends)
    shown = ["-" if math.isnan(x) else f"{x:.4f}" for x in numbers]
    return (str(name), *shown, str(len(result.alarms)))


def _listed(numbers: Mapping[str, float]) -> str:
    known = {name: value for name, value in numbers.items() if not math.isnan(value)}
    return ", ".join(f"{name} {value:.4f}" for name, value in known.items())
