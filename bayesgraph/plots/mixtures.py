"""Figures of posteriors of numbers and of vectors of counts."""

from __future__ import annotations

import numpy as np

from bayesgraph.cpds.description import number, texts
from bayesgraph.errors import DataError, quoted
from bayesgraph.inference import ItemsMixture, NumberMixture
from bayesgraph.palette import COLOURS, FRAME, INK
from bayesgraph.plots.style import (
    Axes,
    Figure,
    heading,
    new_figure,
    styled,
    without_mathematics,
)

_WIDTH, _HEIGHT = 5.4, 3.0
# Probability below and above what is drawn, and points of a curve.
_TAIL, _POINTS = 0.002, 400
# Maximum number of components that are drawn singly, and of bars of counts.
_MAX_COMPONENTS, _MAX_BARS = 12, 200
_ROW = 0.28


def density_figure(
    posterior: NumberMixture, *, probability: float = 0.95, title: str | None = None
) -> Figure:
    """Return a figure of the density of a number, or of the probabilities of a count.

    The central credible interval is darker. A mixture of few distributions shows these too, by
    their shares of the density.

    Parameters
    ----------
    posterior : NumberMixture
        Of one variable.
    probability : float
        That of the interval.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        For a posterior of several variables.
    MissingDependencyError
        If matplotlib is not installed.
    """
    if len(posterior.variables) != 1:
        names = quoted(v.name for v in posterior.variables)
        raise DataError(f"A density is drawn of one variable; got those of {names}.")
    low, high = posterior.quantile(_TAIL), posterior.quantile(1.0 - _TAIL)
    ends = posterior.interval(probability)
    with styled() as figure_class:
        figure = new_figure(figure_class, _WIDTH, _HEIGHT)
        axes = figure.subplots()
        if posterior.components.whole and high - low < _MAX_BARS:
            counts = np.arange(low, high + 1.0)
            inside = (counts >= ends[0]) & (counts <= ends[1])
            colours = np.where(inside, COLOURS[0], FRAME).tolist()
            axes.bar(counts, posterior.density(counts), 0.8, color=colours)
        else:
            _draw_curve(axes, posterior, (low, high), ends)
        name = texts([posterior.variables[0].name], 40)[0]
        note = f"mean {number(posterior.mean)}, sd {number(posterior.std)}; {100 * probability:g} %"
        note += f" in [{number(ends[0])}, {number(ends[1])}]"
        heading(axes, name if title is None else title, note)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        axes.set_ylabel("probability" if posterior.components.whole else "density")
        axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


def _draw_curve(
    axes: Axes, posterior: NumberMixture, limits: tuple[float, float], ends: tuple[float, float]
) -> None:
    x = np.unique(np.concatenate([np.linspace(*limits, _POINTS), ends]))
    x = np.floor(x) if posterior.components.whole else x
    logs = posterior.components.log_density(x[:, None])
    parts = np.exp(logs) * posterior.weights
    # The density may be infinite at an end.
    total = np.where(np.isfinite(parts.sum(axis=1)), parts.sum(axis=1), np.nan)
    if 1 < parts.shape[1] <= _MAX_COMPONENTS:
        axes.plot(x, np.where(np.isfinite(parts), parts, np.nan), color=FRAME, linewidth=0.8)
    axes.plot(x, total, color=INK, linewidth=1.2)
    inside = (x >= ends[0]) & (x <= ends[1])
    axes.fill_between(x, total, where=inside, color=COLOURS[0], alpha=0.35, linewidth=0)


def items_figure(posterior: ItemsMixture, *, n: int = 15, title: str | None = None) -> Figure:
    """Return a figure of the most probable items of a vector of counts.

    Parameters
    ----------
    posterior : ItemsMixture
    n : int
        Maximum number of items.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    shown = posterior.top(n)
    with styled() as figure_class:
        figure = new_figure(figure_class, _WIDTH, _ROW * len(shown) + 1.2)
        axes = figure.subplots()
        places = np.arange(len(shown))[::-1]
        axes.barh(places, list(shown.values()), 0.7, color=COLOURS[0])
        axes.set_yticks(places, texts(shown, 30))
        name = texts([posterior.variable.name], 40)[0]
        what = "probability that an item is present" if posterior.presence else (
            "probability that the next item is this one"
        )  # fmt: skip
        heading(axes, name if title is None else title, what)
        axes.grid(axis="x")
        axes.tick_params(length=0)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        without_mathematics(axes.get_yticklabels())
    return figure
