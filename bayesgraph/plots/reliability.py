"""Figures of how far class probabilities can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.factors.algebra import Floats
from bayesgraph.measures import (
    Classes,
    ReliabilityCurve,
    calibration_error,
    confidence_curve,
    label_codes,
    reliability_curve,
    within_bounds,
)
from bayesgraph.plots.look import (
    COLOURS,
    GRID,
    PANEL,
    Axes,
    Figure,
    heading,
    new_figure,
    shown_names,
    styled,
)

_BARS = 25
# The tallest bar as a share of the panel.
_TALLEST = 0.14


def reliability_figure(
    y_true: ArrayLike,
    proba: ArrayLike,
    classes: Classes,
    *,
    bins: int | None = None,
    title: str = "Reliability",
) -> Figure:
    """Return a figure of how often what was given a probability came true.

    Two classes: the second one's probability. More: that of the most probable class of each row.
    Points are bins of equal width, the larger the more rows they have, with intervals of 95 %
    (Wilson 1927); a calibrated model shows points on the diagonal. Bars below say where the rows
    are. The error in the heading is by bins of about equally many rows, as
    :func:`bayesgraph.measures.calibration_error` has it.

    Parameters
    ----------
    y_true : array_like, shape (n_rows,)
    proba : array_like, shape (n_rows, n_classes)
    classes : sequence
        Of the columns of `proba`.
    bins : int, optional
        10 by default; empty ones are left out.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        For arrays whose shapes do not fit, a value that is not among the classes, or NaN.
    MissingDependencyError
        If matplotlib is not installed.
    """
    drawn = reliability_panel(y_true, proba, classes, bins)
    with styled() as figure_class:
        figure = new_figure(figure_class, PANEL + 0.9, PANEL + 1.1)
        draw_reliability(figure.add_subplot(), drawn, shown_names(classes), title)
    return figure


@dataclass(frozen=True, eq=False)
class ReliabilityPanel:
    """What a panel shows: a curve, the probabilities that it is of, and their error."""

    curve: ReliabilityCurve
    probabilities: Floats
    error: float


def reliability_panel(
    y_true: ArrayLike, proba: ArrayLike, classes: Classes, bins: int | None = None
) -> ReliabilityPanel:
    """Return what to draw; of two classes it is about the second, of more about the predicted."""
    # This checks what arrived.
    shown = confidence_curve(y_true, proba, classes, bins=bins, by="width")
    error = calibration_error(y_true, proba, classes)
    values = within_bounds(np.asarray(proba, dtype=np.float64))
    if len(classes) != 2:
        return ReliabilityPanel(shown, values.max(axis=1), error)
    positive = label_codes(y_true, classes, what="y_true") == 1
    shown = reliability_curve(positive, values[:, 1], bins=bins, by="width")
    return ReliabilityPanel(shown, values[:, 1], error)


def draw_reliability(axes: Axes, drawn: ReliabilityPanel, names: Sequence[str], title: str) -> None:
    """Draw into a panel."""
    curve = drawn.curve
    heights, edges = np.histogram(drawn.probabilities, bins=_BARS, range=(0, 1))
    bars = _TALLEST * heights / heights.max()
    axes.bar(edges[:-1], bars, np.diff(edges), align="edge", color=GRID, zorder=1)
    axes.plot([0, 1], [0, 1], color=GRID, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    low, high = curve.interval()
    axes.vlines(curve.predicted, low, high, color=COLOURS[0], alpha=0.45, linewidth=1.2, zorder=2)
    axes.plot(curve.predicted, curve.observed, color=COLOURS[0], alpha=0.3, linewidth=1, zorder=2)
    # A bin of few rows is not to look like one of many.
    sizes = 6 + 60 * np.sqrt(curve.counts / curve.counts.max())
    axes.scatter(curve.predicted, curve.observed, sizes, color=COLOURS[0], zorder=3)
    axes.set(xlim=(-0.012, 1.012), ylim=(-0.012, 1.012), aspect="equal", anchor="W")
    binary = len(names) == 2
    of = f"P({names[1]})" if binary else "probability of the predicted class"
    axes.set_xlabel(of, labelpad=6, parse_math=False)
    share = f"share that is {names[1]}" if binary else "share predicted right"
    axes.set_ylabel(share, labelpad=6, parse_math=False)
    ticks = np.linspace(0, 1, 6)
    axes.set_xticks(ticks)
    axes.set_yticks(ticks)
    axes.tick_params(length=0, pad=5)
    axes.grid(color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    heading(axes, title, f"expected calibration error {drawn.error:.3f}")
