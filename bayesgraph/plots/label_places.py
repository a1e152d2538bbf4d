"""Labels of points that do not cover each other: each takes the first place that is free."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.palette import MUTED
from bayesgraph.plots.style import without_mathematics

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
    taken += _margins(panel, scale)
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


def _margins(panel: Any, scale: float) -> list[_Box]:
    """Return the places of tick labels and of the legend, in points."""
    left, low, right, high = (side * scale for side in panel.bbox.extents.tolist())
    boxes = [(left - _MARGIN, low, left, high), (left, low - _MARGIN, right, low)]
    if (legend := panel.get_legend()) is not None:
        a, b, c, d = (side * scale for side in legend.get_window_extent().extents.tolist())
        boxes.append((a, b, c, d))
    return boxes


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
