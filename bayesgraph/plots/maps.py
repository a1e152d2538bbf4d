"""Maps: states, classes, variables and rows as points on two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesgraph.cpds.description import texts
from bayesgraph.display import rounded
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.palette import COLOURS, FRAME, INK
from bayesgraph.plots.label_places import Labelled, write_labels
from bayesgraph.plots.single_axis import single_axis_figure
from bayesgraph.plots.style import (
    Figure,
    heading,
    new_figure,
    styled,
    without_mathematics,
)
from bayesgraph.profiles import Axes, Correspondence
from bayesgraph.typing import TableLike

_SIDE = 5.2
# One more than colours, so that the pair of marker and colour is a variable's own for long.
_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
_LONGEST = 18


def correspondence_figure(
    analysis: Correspondence,
    *,
    axes: tuple[int, int] = (1, 2),
    table: TableLike | None = None,
    title: str | None = None,
) -> Figure:
    """Return the map of a correspondence analysis: the states as points on two axes.

    All points have principal coordinates (the symmetric map): distances between states of one
    variable are those of their profiles, and states of two variables lie in one direction if they
    occur together. The area of a point shows its mass.

    Parameters
    ----------
    analysis : Correspondence
    axes : (int, int)
        Numbers of the axes, from 1 on.
    table : table, optional
        Its rows are drawn as small points, for a multiple analysis.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        For axes that the analysis does not have.
    MissingDependencyError
        If matplotlib is not installed.
    """
    at = _checked(axes, len(analysis.inertias))
    with styled() as figure_class:
        figure, panel = _panel(figure_class, at, analysis.shares, "inertia")
        if table is not None:
            _draw_rows(panel, _padded(analysis.transform(table), at))
        drawn = []
        for number, points in enumerate(analysis.points):
            colour, marker = COLOURS[number % len(COLOURS)], _MARKERS[number % len(_MARKERS)]
            where = _padded(points.coordinates, at)
            area = 20 + 300 * points.masses * len(analysis.points) ** 0.5
            name = texts([points.variable.name], _LONGEST)[0]
            look = {"color": colour, "marker": marker, "alpha": 0.75, "linewidth": 0}
            panel.scatter(*where.T, s=area, label=name, zorder=3, **look)
            drawn.append(Labelled(where, texts(points.states, _LONGEST), colour))
        # Beside the map: within, it would cover points.
        legend = panel.legend(
            loc="upper left", bbox_to_anchor=(1, 1), frameon=False, markerscale=0.7
        )
        without_mathematics(legend.get_texts())
        write_labels(figure, panel, drawn)
        names = " × ".join(texts(list(analysis), _LONGEST)[:4])
        names += " × …" if len(analysis.points) > 4 else ""
        heading(
            panel, names if title is None else title, f"total inertia {rounded(analysis.total)}"
        )
    return figure


def axes_figure(
    found: Axes,
    *,
    table: TableLike | None = None,
    axes: tuple[int, int] = (1, 2),
    labels: Sequence[Any] | None = None,
    title: str | None = None,
) -> Figure:
    """Return the map of principal or discriminant axes: variables as arrows, rows as points.

    An arrow leads to the correlations of a variable with the axes, scaled to the size of the map;
    crosses are the means of the classes of discriminant axes. Where there is one axis only, as of
    two classes, the figure has the distribution of the rows over it, and bars of correlations.

    Parameters
    ----------
    found : Axes
    table : table, optional
        Its rows are drawn as points.
    axes : (int, int)
        Numbers of the axes, from 1 on.
    labels : sequence, shape (n_rows,), optional
        Classes of the rows, which colour them.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        For axes that there are not, or labels without as many rows.
    MissingDependencyError
        If matplotlib is not installed.
    """
    at = _checked(axes, len(found.variances))
    n_axes = len(found.variances)
    if title is None:
        title = (
            f"{'Discriminant' if found.classes else 'Principal'} {'axes' if n_axes > 1 else 'axis'}"
        )
    if n_axes == 1:
        scores = np.empty(0) if table is None else found.transform(table)[:, 0]
        _check_labels(labels, len(scores))
        return single_axis_figure(found, scores, labels, title)
    with styled() as figure_class:
        figure, panel = _panel(figure_class, at, found.shares, "variance")
        reach = _draw_scores(panel, found, at, table, labels)
        arrows = _padded(found.correlations, at) * reach
        for x, y in arrows.tolist():
            arrow = {"arrowstyle": "->", "color": INK, "linewidth": 0.9}
            panel.annotate("", (x, y), (0, 0), arrowprops=arrow, zorder=4)
        panel.update_datalim(1.1 * arrows)
        centres = _padded(found.centres, at) if found.classes else np.empty((0, 2))
        named = [
            Labelled(arrows, texts(found.names, _LONGEST), INK),
            Labelled(centres, texts(found.classes or (), _LONGEST), INK),
        ]
        write_labels(figure, panel, named)
        heading(panel, title, "arrows: correlations with the axes")
    return figure


def _draw_scores(
    panel: Any, found: Axes, at: list[int], table: TableLike | None, labels: Sequence[Any] | None
) -> float:
    """Draw rows and means of classes; return the length of an arrow of correlation 1."""
    scores = np.empty((0, 2)) if table is None else _padded(found.transform(table), at)
    _check_labels(labels, len(scores))
    if labels is None:
        _draw_rows(panel, scores)
    else:
        own = np.array([str(label) for label in labels])
        for number, label in enumerate(dict.fromkeys(own.tolist())):
            rows = scores[own == label]
            colour = COLOURS[number % len(COLOURS)]
            panel.scatter(*rows.T, s=9, color=colour, alpha=0.6, linewidth=0, label=label)
        legend = panel.legend(loc="best", frameon=False)
        without_mathematics(legend.get_texts())
    centres = _padded(found.centres, at)
    if len(centres):
        panel.scatter(*centres.T, s=40, color=INK, marker="x", zorder=4)
    size = np.abs(np.concatenate([scores, centres]))
    return float(np.nanmax(size)) if size.size and np.isfinite(size).any() else 1.0


def _check_labels(labels: Sequence[Any] | None, n_rows: int) -> None:
    if labels is not None and len(labels) != n_rows:
        raise DataError(f"labels= has one class for each row: {n_rows}; got {len(labels)}.")


def _checked(axes: tuple[int, int], n_axes: int) -> list[int]:
    """Return the indices of two axes; a second one that there is not is drawn as 0."""
    try:
        first, second = axes
        good = 1 <= first <= n_axes and second >= 1 and first != second
        good = good and second <= max(n_axes, 2)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise DataError(f"axes= are two different numbers from 1 to {n_axes}; got {axes!r}.")
    return [first - 1, second - 1]


def _padded(coordinates: Floats, at: list[int]) -> Floats:
    """Return the coordinates on two axes; zeros on the second if there is one axis only."""
    rows, k = coordinates.shape
    wide = np.concatenate([coordinates, np.zeros((rows, max(0, 2 - k)))], axis=1)
    return np.asarray(wide[:, at])


def _panel(figure_class: Any, at: list[int], shares: Floats, what: str) -> tuple[Figure, Any]:
    figure = new_figure(figure_class, _SIDE, _SIDE)
    panel = figure.subplots()
    panel.axhline(0, color=FRAME, linewidth=0.8, zorder=1)
    panel.axvline(0, color=FRAME, linewidth=0.8, zorder=1)
    panel.set_aspect("equal", adjustable="datalim")
    panel.grid(True)
    panel.spines[:].set_visible(False)
    panel.margins(0.12)
    shown = [float(shares[i]) if i < len(shares) else 0.0 for i in at]
    panel.set_xlabel(f"axis {at[0] + 1}: {100 * shown[0]:.1f} % of the {what}")
    panel.set_ylabel(f"axis {at[1] + 1}: {100 * shown[1]:.1f} % of the {what}")
    return figure, panel


def _draw_rows(panel: Any, where: Floats) -> None:
    if len(where):
        panel.scatter(*where.T, s=7, color=FRAME, linewidth=0, zorder=2)
