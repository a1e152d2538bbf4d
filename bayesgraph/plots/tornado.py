"""Tornado chart: how far a probability moves with single parameters or findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from bayesgraph.checks import whole_number
from bayesgraph.cpds.description import number, texts
from bayesgraph.errors import DataError
from bayesgraph.palette import COLOURS, FRAME, MUTED
from bayesgraph.plots.style import (
    Axes,
    Figure,
    heading,
    new_figure,
    shown_names,
    styled,
    without_mathematics,
)
from bayesgraph.what_if import Bar, Tornado

_LONGEST_TITLE = 40
# Characters of a line of a label, and of each name within a longer label, from long to short.
_LINE, _NAMES = 38, (72, 64, 52, 40, 32, 24, 18, 14, 11)
# What names stand between in ``P(a=b | c=d, e=f)``.
_BETWEEN = re.compile(r"(^P\(|=| \| |, |\)$)")
# In inches: a row, the bars with the ends of their ranges, a character of a label and of an end.
_ROW, _AXIS, _LABEL_CHARACTER, _CHARACTER = 0.34, 5.4, 0.074, 0.068
_MAX_TICKS = 5


def tornado_figure(tornado: Tornado, *, max_bars: int = 15, title: str | None = None) -> Figure:
    """Return a tornado chart: a bar from the lowest to the highest probability, the widest on top.

    The parts below and above the present probability have two colours, and the ends the values of
    the parameter or finding there.

    Parameters
    ----------
    tornado : Tornado
    max_bars : int
        Maximum number of bars.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If `max_bars` is below 1, or there are no bars.
    MissingDependencyError
        If matplotlib is not installed.
    """
    max_bars = whole_number("max_bars", "bars", max_bars, minimum=1)
    shown = tornado.bars[:max_bars]
    if not shown:
        raise DataError("Nothing was varied: there is nothing to draw.")
    state = shown_names([tornado.state])[0]
    (target,) = texts([tornado.target], _LONGEST_TITLE)
    labels = _labels([bar.name for bar in shown])
    longest = max(len(line) for label in labels for line in label.split("\n"))
    with styled() as figure_class:
        width = _AXIS + _LABEL_CHARACTER * longest + 0.5
        figure = new_figure(figure_class, width, _ROW * len(shown) + 1.6)
        axes = figure.add_subplot()
        for row, bar in enumerate(shown):
            _draw(axes, row, bar, tornado.posterior)
        axes.axvline(tornado.posterior, color=MUTED, linewidth=1.0, zorder=3)
        ends = _limits(shown, tornado.posterior)
        axes.set(xlim=ends, ylim=(len(shown) - 0.4, -0.6))
        # The room for labels may reach beyond probabilities.
        axes.locator_params(axis="x", nbins=_MAX_TICKS)
        axes.set_xticks([tick for tick in axes.get_xticks() if -1e-9 <= tick <= 1 + 1e-9])
        axes.set(xlim=ends)
        axes.set_yticks(range(len(shown)), labels, linespacing=1.0)
        if any("\n" in label for label in labels):
            axes.tick_params(axis="y", labelsize=8)
        without_mathematics(axes.get_yticklabels())
        axes.tick_params(length=0, pad=5)
        axes.grid(axis="x")
        axes.spines[:].set_visible(False)
        axes.set_xlabel(f"probability of {state}", labelpad=6)
        heading(
            axes,
            f"What moves {target} = {state}" if title is None else title,
            f"{number(tornado.posterior)} now; one of the {tornado.by} at a time",
        )
    return figure


def _draw(axes: Axes, row: int, bar: Bar, now: float) -> None:
    below, above = min(now, bar.low), max(now, bar.high)
    axes.barh(row, now - below, left=below, height=0.6, color=COLOURS[1], zorder=2)
    axes.barh(row, above - now, left=now, height=0.6, color=COLOURS[0], zorder=2)
    axes.plot([bar.low, bar.high], [row, row], color=FRAME, linewidth=0.5, zorder=1)
    for place, value, side in ((below, bar.at_low, "right"), (above, bar.at_high, "left")):
        text = axes.annotate(
            _end(value),
            (place, row),
            xytext=(-4 if side == "right" else 4, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=8,
            color=MUTED,
        )
        without_mathematics([text])


def _end(value: Any) -> str:
    return number(value) if isinstance(value, float) else shown_names([value])[0]


def _limits(bars: Sequence[Bar], now: float) -> tuple[float, float]:
    """Return the limits of the axis, with room for the values beside the bars."""
    low, high = min(now, *(bar.low for bar in bars)), max(now, *(bar.high for bar in bars))
    rooms = [
        _CHARACTER * (max(map(len, map(_end, values))) + 2)
        for values in ([bar.at_low for bar in bars], [bar.at_high for bar in bars])
    ]
    unit = max(high - low, 1e-3) / (_AXIS - sum(rooms))
    return low - unit * rooms[0], high + unit * rooms[1]


def _labels(names: Sequence[str]) -> list[str]:
    """Return different labels of at most two lines, whose long names lack their middle."""
    for longest in _NAMES:
        lines = [wrap(_with_short_names(name, longest), _LINE) for name in names]
        found = ["\n".join(part) for part in lines]
        if len(set(found)) == len(set(names)) and max(map(len, lines)) <= 2:
            return found
    shown = [
        wrap(_with_short_names(n, _NAMES[-1]), _LINE, max_lines=2, placeholder="…") for n in names
    ]
    found = ["\n".join(part) for part in shown]
    # Names that differ in what is left out only are told apart by their place from the top.
    count = Counter(found)
    return [t if count[t] == 1 else f"{i + 1}: {t}" for i, t in enumerate(found)]


def _with_short_names(label: str, longest: int) -> str:
    if len(label) <= _LINE:
        return label
    parts = _BETWEEN.split(" ".join(label.split()))
    return "".join(
        p if _BETWEEN.fullmatch(p) else texts([p], longest)[0] if p else "" for p in parts
    )
