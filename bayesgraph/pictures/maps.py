"""Maps: states, classes, variables and rows as points on two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.display import COLOURS, FRAME, INK, MUTED, rounded
from bayesgraph.core.errors import DataError
from bayesgraph.core.typing import TableLike
from bayesgraph.models import texts
from bayesgraph.pictures.style import Axes, Bar, Figure, draw_bars, heading, new_figure, styled
from bayesgraph.questions import Axes as PrincipalAxes
from bayesgraph.questions import Correspondence

# ---------- Labels of points that do not cover each other: each takes the first place that is free


# Size of the font, in points.
_SIZE = 8.5
# Distances of labels from their points, in points; from the second on a line leads to the label.
_DISTANCES = (6.0, 16.0, 28.0, 42.0)
# Directions in the order of preference.
_ANGLES = np.radians((35, -35, 145, -145, 0, 180, 90, -90))
_DIRECTIONS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)
# Places of labels around a point, near ones first, and the point of a label that lies there, as
# shares of its width and height: the one that faces the point. It is at half of the height, and at
# the left side of labels on the right, at the right side of those on the left; rounding makes the
# cosine of a right angle 0, the middle of the label.
_PLACES = np.concatenate([distance * _DIRECTIONS for distance in _DISTANCES])
_FACING = np.tile(0.5 - 0.5 * np.sign(_DIRECTIONS.round(6)) * (1, 0), (len(_DISTANCES), 1))
# Half of the side of the square that is kept free around a point, in points.
_MARKER = 5.0
# Width of the strips at the axes that tick labels take.
_MARGIN = 60.0


def write_labels(panel: Axes, groups: Sequence[tuple[Floats, Sequence[str], str]]) -> None:
    """Write labels beside points of a panel, where there is room.

    A label takes the first of some places around its point that covers no other label and no
    point, near ones first, or else the one that covers least. The places are found for the
    layout that the figure has without labels.

    Parameters
    ----------
    panel : matplotlib.axes.Axes
    groups : sequence of (points, names, colour)
        The points in the units of the axes, shape (n, 2).
    """
    panel.autoscale_view()
    panel.figure.draw_without_rendering()
    scale = 72.0 / panel.figure.dpi
    # Places in the picture, in points (1/72 inch) as font sizes are.
    points = panel.transData.transform(np.concatenate([where for where, _, _ in groups])) * scale
    # What is taken, as left, bottom, right and top: points, tick labels and the legend.
    left, low, right, high = panel.bbox.extents * scale
    strips = [(left - _MARGIN, low, left, high), (left, low - _MARGIN, right, low)]
    if (legend := panel.get_legend()) is not None:
        strips.append(legend.get_window_extent().extents * scale)
    taken = np.concatenate([np.hstack([points - _MARKER, points + _MARKER]), strips])
    labels = [
        (place, name, colour)
        for where, names, colour in groups
        for place, name in zip(where.tolist(), names, strict=True)
    ]
    for point, (place, name, colour) in zip(points, labels, strict=True):
        look = {"fontsize": _SIZE, "color": colour, "zorder": 5}
        text = panel.annotate(name, place, (0, 0), textcoords="offset points", **look)
        size = text.get_window_extent().size * scale
        shifts = _PLACES - _FACING * size
        # Boxes of the label at each of its places, with an axis for all that is taken.
        boxes = np.hstack([point + shifts, point + shifts + size])[:, None]
        # The sides of what each place shares with all that is taken; negative ones are gaps.
        sides = np.minimum(boxes[..., 2:], taken[:, 2:]) - np.maximum(boxes[..., :2], taken[:, :2])
        # The place of the smallest sum of shared areas, the first of them.
        best = sides.clip(0.0).prod(axis=-1).sum(axis=-1).argmin()
        taken = np.concatenate([taken, boxes[best]])
        text.set_position(shifts[best])
        # The label is farther than the first distance: a line leads to it.
        if best >= len(_DIRECTIONS):
            line = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.5, "shrinkB": _MARKER}
            look = {"textcoords": "offset points", "arrowprops": line, "zorder": 2}
            panel.annotate("", place, _PLACES[best], **look)


# --------------------------------- Maps: states, classes, variables and rows as points on two axes


# Side of a map in inches.
_SIDE = 5.2
# One more than colours, so that the pair of marker and colour is a variable's own for long.
_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
_LONGEST = 18


@styled()
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
    pair = _checked(axes, len(analysis.inertias))
    panel = _panel(pair, analysis.shares, "inertia")
    if table is not None:
        rows = _padded(analysis.transform(table), pair)
        panel.scatter(*rows.T, s=7, color=FRAME, linewidth=0, zorder=2)
    groups = []
    for number, points in enumerate(analysis.points):
        colour, marker = COLOURS[number % len(COLOURS)], _MARKERS[number % len(_MARKERS)]
        where = _padded(points.coordinates, pair)
        # All masses sum to 1: with more variables each is smaller.
        area = 20 + 300 * points.masses * len(analysis.points) ** 0.5
        look = {"color": colour, "marker": marker, "alpha": 0.75, "linewidth": 0, "zorder": 3}
        panel.scatter(*where.T, s=area, label=texts([points.variable.name], _LONGEST)[0], **look)
        groups.append((where, texts(points.states, _LONGEST), colour))
    # Beside the map: within, it would cover points.
    panel.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, markerscale=0.7)
    write_labels(panel, groups)
    names = " × ".join(texts(list(analysis), _LONGEST)[:4])
    names += " × …" if len(analysis.points) > 4 else ""
    heading(panel, names if title is None else title, f"total inertia {rounded(analysis.total)}")
    return panel.figure


@styled()
def axes_figure(
    principal: PrincipalAxes,
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
    principal : Axes
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
    n_axes = len(principal.variances)
    pair = _checked(axes, n_axes)
    if title is None:
        kind = "Discriminant" if principal.classes else "Principal"
        title = f"{kind} {'axes' if n_axes > 1 else 'axis'}"
    scores = np.empty((0, 2)) if table is None else _padded(principal.transform(table), pair)
    groups = _groups(labels, len(scores))
    if n_axes == 1:
        return _single_axis(principal, scores[:, 0], groups, title)
    panel = _panel(pair, principal.shares, "variance")
    for name, rows, colour in groups:
        look = {"s": 7, "zorder": 2} if labels is None else {"s": 9, "alpha": 0.6, "label": name}
        panel.scatter(*scores[rows].T, color=colour, linewidth=0, **look)
    if labels is not None:
        panel.legend(loc="best", frameon=False)
    centres = _padded(principal.centres, pair)
    panel.scatter(*centres.T, s=40, color=INK, marker="x", zorder=4)
    # The longest possible arrow is as long as the largest coordinate of a point.
    size = np.abs(np.concatenate([scores, centres]))
    # The length of an arrow of correlation 1.
    reach = np.nanmax(size) if np.isfinite(size).any() else 1.0
    arrows = _padded(principal.correlations, pair) * reach
    for end in arrows.tolist():
        arrow = {"arrowstyle": "->", "color": INK, "linewidth": 0.9}
        panel.annotate("", end, (0, 0), arrowprops=arrow, zorder=4)
    panel.update_datalim(1.1 * arrows)
    variables = (arrows, texts(principal.names, _LONGEST), INK)
    write_labels(panel, [variables, (centres, texts(principal.classes, _LONGEST), INK)])
    heading(panel, title, "arrows: correlations with the axes")
    return panel.figure


def _groups(labels: Sequence[Any] | None, n: int) -> list[tuple[str, NDArray[np.bool_], str]]:
    """Return the name, the rows and the colour of each class; without labels, of all n rows."""
    if labels is None:
        return [("rows", np.ones(n, dtype=bool), FRAME)]
    if len(labels) != n:
        raise DataError(f"labels= has one class for each row: {n}; got {len(labels)}.")
    names = np.array([str(label) for label in labels])
    groups = enumerate(dict.fromkeys(names.tolist()))
    return [(name, names == name, COLOURS[i % len(COLOURS)]) for i, name in groups]


def _checked(axes: tuple[int, int], n_axes: int) -> list[int]:
    """Return the indices of two axes; a second one that there is not is drawn as 0."""
    numbers = range(1, max(n_axes, 2) + 1)
    is_pair = isinstance(axes, Sequence) and len(axes) == 2 and axes[0] != axes[1]
    if not is_pair or axes[0] not in numbers[:n_axes] or axes[1] not in numbers:
        raise DataError(f"axes= are two different numbers from 1 to {n_axes}; got {axes!r}.")
    return [axes[0] - 1, axes[1] - 1]


def _padded(coordinates: Floats, pair: list[int]) -> Floats:
    """Return the coordinates on two axes; zeros on the second if there is one axis only."""
    return np.pad(coordinates, ((0, 0), (0, 1)))[:, pair]


def _panel(pair: list[int], shares: Floats, what: str) -> Axes:
    """Return a panel of two axes with one scale, whose labels have the shares of both."""
    panel = new_figure(_SIDE, _SIDE).subplots()
    panel.axhline(0, color=FRAME, linewidth=0.8, zorder=1)
    panel.axvline(0, color=FRAME, linewidth=0.8, zorder=1)
    panel.set_aspect("equal", adjustable="datalim")
    panel.grid(True)
    panel.spines[:].set_visible(False)
    panel.margins(0.12)
    x, y = (f"axis {i + 1}: {100 * np.pad(shares, (0, 1))[i]:.1f} % of the {what}" for i in pair)
    panel.set(xlabel=x, ylabel=y)
    return panel


# ----- Figure of a single principal or discriminant axis: distributions of the rows over it, and
# bars. Two classes have one discriminant axis. On a map of two, all would lie on a line.


_LONGEST_ROW = 30
_BINS = 30
# In inches: the width, the distributions, a bar.
_WIDTH, _TOP, _BAR = 6.4, 2.6, 0.28


def _single_axis(
    principal: PrincipalAxes, scores: Floats, groups: Sequence[tuple[str, Any, str]], title: str
) -> Figure:
    """Return how rows lie on the only axis, and each variable's correlation with it.

    Without rows there are the correlations alone. Rows with missing values, whose score is NaN, are
    left out.
    """
    heights = [_BAR * len(principal.names) + 0.3]
    heights = [_TOP, *heights] if len(scores) else heights
    figure = new_figure(_WIDTH, sum(heights) + 0.8 * len(heights))
    *above, bars = figure.subplots(len(heights), height_ratios=heights, squeeze=False)[:, 0]
    for panel in above:
        _draw_distributions(panel, principal, scores, groups)
    values = principal.correlations[:, 0]
    order = np.argsort(-np.abs(values), kind="stable").tolist()
    names = texts(principal.names, _LONGEST_ROW)
    drawn = [Bar(row, values[i], colour=COLOURS[int(values[i] < 0)]) for row, i in enumerate(order)]
    draw_bars(bars, [names[i] for i in order], drawn)
    bars.axvline(0, color=FRAME, linewidth=0.8, zorder=1)
    bars.set(xlim=(-1, 1), xlabel="correlation with the axis")
    share = 100 * float(principal.shares[0])
    heading((*above, bars)[0], title, f"axis 1, the only one: {share:.1f} % of the variance")
    return figure


def _draw_distributions(
    panel: Axes, principal: PrincipalAxes, scores: Floats, groups: Sequence[tuple[str, Any, str]]
) -> None:
    """Draw a histogram of the scores of each class, and the means of the classes."""
    panel.spines[:].set_visible(False)
    panel.tick_params(length=0, pad=5)
    panel.grid(axis="x")
    finite = np.isfinite(scores)
    limits = np.histogram_bin_edges(scores[finite], _BINS) if finite.any() else [-1.0, 1.0]
    for name, rows, colour in groups:
        look = {"color": colour, "alpha": 0.55, "linewidth": 0, "zorder": 2}
        panel.hist(scores[finite & rows], limits, label=name, **look)
    colours = {name: colour for name, _, colour in groups}
    for label, centre in zip(principal.classes, principal.centres[:, 0].tolist(), strict=True):
        look = {"linewidth": 1.4, "linestyle": "--", "zorder": 3}
        text = f"mean of {texts([label], _LONGEST_ROW)[0]}"
        panel.axvline(centre, color=colours.get(str(label), INK), label=text, **look)
    # Rows without classes need no legend.
    if colours.keys() != {"rows"} or principal.classes:
        panel.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
    panel.set(xlabel="position on the axis", ylabel="rows")
    panel.yaxis.get_major_locator().set_params(integer=True)
