"""A figure of how well models predict a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import DataError, quoted, suggestion
from bayesgraph.factors.algebra import Floats
from bayesgraph.plots.look import (
    COLOURS,
    DASHES,
    GRID,
    MUTED,
    PANEL,
    Axes,
    Figure,
    heading,
    new_figure,
    shown_names,
    styled,
)

_MEASURES = {
    "accuracy": "accuracy",
    "log_loss": "log loss in nats",
    "kappa_majority": "kappa against the majority class",
    "kappa_no_change": "kappa against the last class",
}


class Predicted(Protocol):
    """Curves of a model on a stream, such as `bayesgraph.prequential` returns."""

    @property
    def name(self) -> str: ...
    @property
    def rows(self) -> NDArray[np.int64]: ...
    @property
    def alarms(self) -> NDArray[np.int64]: ...
    @property
    def averaging(self) -> str: ...
    @property
    def accuracy(self) -> Floats: ...
    @property
    def log_loss(self) -> Floats: ...
    @property
    def kappa_majority(self) -> Floats: ...
    @property
    def kappa_no_change(self) -> Floats: ...


def prequential_figure(
    results: Predicted | Mapping[str, Predicted],
    *,
    measure: str = "accuracy",
    title: str = "Test, then train",
) -> Figure:
    """Return a figure of how well models predict the rows of a stream before they learn them.

    Alarms of drift are dotted lines in the colour of their model.

    Parameters
    ----------
    results : PrequentialResult, or mapping from name to PrequentialResult
    measure : {"accuracy", "log_loss", "kappa_majority", "kappa_no_change"}
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        For no results, or another measure.
    MissingDependencyError
        If matplotlib is not installed.
    """
    named = dict(results) if isinstance(results, Mapping) else {results.name: results}
    if not named:
        raise DataError("prequential_figure needs at least one result; got none.")
    if measure not in _MEASURES:
        raise DataError(
            f"measure= is one of {quoted(_MEASURES)}; got {measure!r}."
            f"{suggestion(measure, _MEASURES)}"
        )
    with styled() as figure_class:
        figure = new_figure(figure_class, 1.7 * PANEL + 0.6, PANEL)
        _draw(figure.add_subplot(), named, measure, title)
    return figure


def _draw(axes: Axes, named: Mapping[str, Predicted], measure: str, title: str) -> None:
    n_alarms = 0
    for i, (name, result) in enumerate(zip(shown_names(named), named.values(), strict=True)):
        colour = COLOURS[i % len(COLOURS)]
        dash = DASHES[i // len(COLOURS) % len(DASHES)]
        values = getattr(result, measure)
        label = f"{name} {values[-1]:.3f}"
        axes.plot(result.rows, values, color=colour, linestyle=dash, linewidth=1.5, label=label)
        for row in result.alarms.tolist():
            axes.axvline(row, color=colour, linestyle=(0, (1, 2)), linewidth=0.9, zorder=1)
        n_alarms += len(result.alarms)
    axes.set_xlabel("rows", labelpad=6)
    axes.set_ylabel(_MEASURES[measure], labelpad=6)
    axes.set_xlim(0, max(int(result.rows[-1]) for result in named.values()))
    axes.xaxis.set_major_formatter(lambda n, _: f"{n:,.0f}")
    axes.tick_params(length=0, pad=5)
    axes.grid(color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    legend = axes.legend(frameon=False, fontsize=8.5, labelcolor=MUTED)
    for text in legend.get_texts():
        text.set_parse_math(False)
    over = ", ".join(dict.fromkeys(result.averaging for result in named.values()))
    note = f"over {over}"
    heading(axes, title, f"{note}; dotted: alarms of drift" if n_alarms else note)
