"""Tornado chart: how far a probability moves with single parameters or findings."""

from __future__ import annotations

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
)
from bayesgraph.what_if import Bar, Tornado

_LONGEST_LABEL = 44
_ROW = 0.32


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
    if max_bars < 1:
        raise DataError(f"max_bars is a number of bars, 1 or more; got {max_bars!r}.")
    shown = tornado.bars[:max_bars]
    if not shown:
        raise DataError("Nothing was varied: there is nothing to draw.")
    state = shown_names([tornado.state])[0]
    with styled() as figure_class:
        figure = new_figure(figure_class, 7.8, _ROW * len(shown) + 1.6)
        axes = figure.add_subplot()
        for row, bar in enumerate(shown):
            _draw(axes, row, bar, tornado.posterior)
        axes.axvline(tornado.posterior, color=MUTED, linewidth=1.0, zorder=3)
        low = min(tornado.posterior, *(bar.low for bar in shown))
        high = max(tornado.posterior, *(bar.high for bar in shown))
        room = 0.22 * max(high - low, 1e-3)
        axes.set(xlim=(low - room, high + room), ylim=(len(shown) - 0.4, -0.6))
        # The room for labels may reach beyond probabilities.
        axes.set_xticks([tick for tick in axes.get_xticks() if -1e-9 <= tick <= 1 + 1e-9])
        axes.set(xlim=(low - room, high + room))
        axes.set_yticks(range(len(shown)), texts([bar.name for bar in shown], _LONGEST_LABEL))
        axes.tick_params(length=0, pad=5)
        axes.grid(axis="x")
        axes.spines[:].set_visible(False)
        axes.set_xlabel(f"probability of {state}", labelpad=6)
        heading(
            axes,
            f"What moves {tornado.target} = {state}" if title is None else title,
            f"{number(tornado.posterior)} now; one of the {tornado.by} at a time",
        )
    return figure


def _draw(axes: Axes, row: int, bar: Bar, now: float) -> None:
    below, above = min(now, bar.low), max(now, bar.high)
    axes.barh(row, now - below, left=below, height=0.6, color=COLOURS[1], zorder=2)
    axes.barh(row, above - now, left=now, height=0.6, color=COLOURS[0], zorder=2)
    axes.plot([bar.low, bar.high], [row, row], color=FRAME, linewidth=0.5, zorder=1)
    for place, value, side in ((below, bar.at_low, "right"), (above, bar.at_high, "left")):
        text = number(value) if isinstance(value, float) else shown_names([value])[0]
        axes.annotate(
            text,
            (place, row),
            xytext=(-4 if side == "right" else 4, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=8,
            color=MUTED,
        )
