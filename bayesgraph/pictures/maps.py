"""Maps: states, classes, variables and rows as points on two axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.display import COLOURS, FRAME, INK, MUTED, rounded
from bayesgraph.core.errors import DataError
from bayesgraph.core.typing import TableLike
from bayesgraph.models import texts
from bayesgraph.pictures.style import (
    Axes,
    Bar,
    Figure,
    draw_bars,
    heading,
    new_figure,
    styled,
    without_mathematics,
)
from bayesgraph.questions import Axes as FoundAxes
from bayesgraph.questions import Axes as PrincipalAxes
from bayesgraph.questions import Correspondence

# ---------- Labels of points that do not cover each other: each takes the first place that is free


_SIZE = 8.5
# Distances of labels from their points, in points; from the second on a line leads to the label.
_DISTANCES = (6.0, 16.0, 28.0, 42.0)
# Directions in the order of preference, in degrees.
_DIRECTIONS = (35, -35, 145, -145, 0, 180, 90, -90)
_MARKER = 5.0
# Width of the strips at the axes that tick labels take.
_MARGIN = 60.0

# Left, bottom, right and top, in points.
_Box: TypeAlias = tuple[float, float, float, float]


class Labelled(NamedTuple):
    """Points of one colour with their labels.

    Attributes
    ----------
    where : ndarray, shape (n, 2)
        Places in the units of the axes.
    names : sequence of str, length n
    colour : str
    """

    where: Floats
    names: Sequence[str]
    colour: str


def write_labels(figure: Any, panel: Any, groups: Sequence[Labelled]) -> None:
    """Write labels beside points of a panel, where there is room.

    A label takes the first of some places around its point that covers no other label and no
    point, near ones first, or else the one that covers least. The places are found for the
    layout that the figure has without labels.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    panel : matplotlib.axes.Axes
    groups : sequence of Labelled
    """
    panel.autoscale_view()
    figure.draw_without_rendering()
    scale = 72.0 / figure.dpi
    anchors = [panel.transData.transform(group.where) * scale for group in groups if group.names]
    if not anchors:
        return
    points = np.concatenate(anchors)
    taken: list[_Box] = [
        (x - _MARKER, y - _MARKER, x + _MARKER, y + _MARKER) for x, y in points.tolist()
    ]
    # The places of tick labels and of the legend, in points.
    left, low, right, high = (side * scale for side in panel.bbox.extents.tolist())
    boxes = [(left - _MARGIN, low, left, high), (left, low - _MARGIN, right, low)]
    if (legend := panel.get_legend()) is not None:
        a, b, c, d = (side * scale for side in legend.get_window_extent().extents.tolist())
        boxes.append((a, b, c, d))
    taken += boxes
    for group in groups:
        at = panel.transData.transform(group.where) * scale if group.names else np.empty((0, 2))
        for place, anchor, name in zip(group.where.tolist(), at.tolist(), group.names, strict=True):
            look = {"fontsize": _SIZE, "color": group.colour, "zorder": 5}
            text = panel.annotate(name, place, (0, 0), textcoords="offset points", **look)
            without_mathematics([text])
            extent = text.get_window_extent()
            size = extent.width * scale, extent.height * scale
            near, shift = _free(anchor, size, taken)
            box = _moved(anchor, shift, size)
            taken.append(box)
            text.set_position(shift)
            if not near:
                ends = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.5, "shrinkB": _MARKER}
                panel.annotate(
                    "", place, _middle(shift, size), textcoords="offset points",
                    arrowprops=ends, zorder=2,
                )  # fmt: skip


def _free(
    anchor: Sequence[float], size: tuple[float, float], taken: Sequence[_Box]
) -> tuple[bool, tuple[float, float]]:
    """Return the place that covers least: whether it is near, and its shift in points."""
    costs: list[tuple[float, int, bool, tuple[float, float]]] = []
    for near, shift in _places(size):
        covered = sum(_overlap(_moved(anchor, shift, size), box) for box in taken)
        if not covered:
            return near, shift
        costs.append((covered, len(costs), near, shift))
    _, _, near, shift = min(costs)
    return near, shift


def _places(size: tuple[float, float]) -> Iterator[tuple[bool, tuple[float, float]]]:
    """Yield places of a label's lower left corner relative to its point."""
    width, height = size
    for distance in _DISTANCES:
        for degrees in _DIRECTIONS:
            x = distance * math.cos(math.radians(degrees))
            y = distance * math.sin(math.radians(degrees))
            # The side of the label that faces the point is at the distance.
            left = x - (width / 2 if abs(degrees) == 90 else width if abs(degrees) > 90 else 0.0)
            yield distance == _DISTANCES[0], (left, y - height / 2)


def _moved(anchor: Sequence[float], shift: Sequence[float], size: tuple[float, float]) -> _Box:
    left, low = anchor[0] + shift[0], anchor[1] + shift[1]
    return left, low, left + size[0], low + size[1]


def _middle(shift: tuple[float, float], size: tuple[float, float]) -> tuple[float, float]:
    """Return the point of a label's edge to which a line leads."""
    left, low = shift
    x = left if left > 0 else left + size[0] if left + size[0] < 0 else left + size[0] / 2
    return x, low + size[1] / 2


def _overlap(a: _Box, b: _Box) -> float:
    """Return the area that two boxes share."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0


# ---- Figure of a single principal or discriminant axis: distributions of the rows over it, and
# bars
# Two classes have one discriminant axis. On a map of two, all would lie on a line.


_LONGEST_ROW = 30
_BINS = 30
# In inches: the width, the distributions, a bar.
_WIDTH, _TOP, _BAR = 6.4, 2.6, 0.28


def single_axis_figure(
    found: FoundAxes, scores: Floats, labels: Sequence[Any] | None, title: str
) -> Figure:
    """Return how rows lie on the only axis, and each variable's correlation with it.

    Without rows there are the correlations alone.

    Parameters
    ----------
    found : Axes
        With one axis.
    scores : ndarray, shape (n_rows,)
        The rows on the axis; NaN for rows with missing values, which are left out.
    labels : sequence, shape (n_rows,), optional
        Classes of the rows, which colour them.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    heights = [_TOP] if len(scores) else []
    heights.append(_BAR * len(found.names) + 0.3)
    with styled() as figure_class:
        figure = new_figure(figure_class, _WIDTH, sum(heights) + 0.8 * len(heights))
        *above, bars = figure.subplots(len(heights), height_ratios=heights, squeeze=False)[:, 0]
        for panel in above:
            panel.spines[:].set_visible(False)
            panel.tick_params(length=0, pad=5)
            panel.grid(axis="x")
            _draw_distributions(panel, found, scores, labels)
        values = found.correlations[:, 0]
        order = np.argsort(-np.abs(values), kind="stable").tolist()
        names = texts(found.names, _LONGEST_ROW)
        drawn = [
            Bar(row, values[i], colour=COLOURS[0] if values[i] >= 0 else COLOURS[1])
            for row, i in enumerate(order)
        ]
        draw_bars(bars, [names[i] for i in order], drawn)
        bars.axvline(0, color=FRAME, linewidth=0.8, zorder=1)
        bars.set(xlim=(-1, 1), xlabel="correlation with the axis")
        share = 100 * float(found.shares[0])
        heading((*above, bars)[0], title, f"axis 1, the only one: {share:.1f} % of the variance")
    return figure


def _draw_distributions(
    panel: Axes, found: FoundAxes, scores: Floats, labels: Sequence[Any] | None
) -> None:
    seen = np.isfinite(scores)
    own = np.full(len(scores), "rows") if labels is None else np.array(list(map(str, labels)))
    groups = list(dict.fromkeys(own.tolist()))
    colours = {group: COLOURS[i % len(COLOURS)] for i, group in enumerate(groups)}
    limits = np.histogram_bin_edges(scores[seen], _BINS) if seen.any() else np.array([-1.0, 1.0])
    for group in groups:
        colour = FRAME if labels is None else colours[group]
        part = scores[seen & (own == group)]
        panel.hist(part, limits, color=colour, alpha=0.55, label=group, linewidth=0, zorder=2)
    for name, centre in zip(found.classes or (), found.centres[:, 0].tolist(), strict=True):
        colour = colours.get(str(name), INK)
        label = f"mean of {texts([name], _LONGEST_ROW)[0]}"
        panel.axvline(centre, color=colour, linewidth=1.4, linestyle="--", label=label, zorder=3)
    handles, _ = panel.get_legend_handles_labels()
    if handles and (labels is not None or found.classes):
        legend = panel.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
        without_mathematics(legend.get_texts())
    panel.set(xlabel="position on the axis", ylabel="rows")
    panel.yaxis.get_major_locator().set_params(integer=True)


# --------------------------------- Maps: states, classes, variables and rows as points on two axes


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
    found: PrincipalAxes,
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
    panel: Any,
    found: PrincipalAxes,
    at: list[int],
    table: TableLike | None,
    labels: Sequence[Any] | None,
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
