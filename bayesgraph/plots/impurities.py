"""The impurities by which trees choose their splits, side by side for two classes."""

from __future__ import annotations

import numpy as np

from bayesgraph.learning.impurity import impurity
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
    styled,
)

# (name, kind, factor on the impurity in bits); halved, the entropy peaks where the others do.
_CURVES = (
    ("entropy (bits)", "entropy", 1.0),
    ("entropy / 2", "entropy", 0.5),
    ("Gini", "gini", 1.0),
    ("classification error", "error", 1.0),
)
_POINTS = 401


def impurity_figure(*, title: str = "Impurity of a node") -> Figure:
    """Return a figure of entropy, Gini impurity and classification error for two classes.

    Over the share of one class, the entropy as it is and halved, so that all end at one height
    (after Hastie, Tibshirani and Friedman 2009, figure 9.3).

    Parameters
    ----------
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    with styled() as figure_class:
        figure = new_figure(figure_class, 1.5 * PANEL + 1.6, PANEL + 0.8)
        _draw(figure.add_subplot(), title)
    return figure


def _draw(axes: Axes, title: str) -> None:
    share = np.linspace(0.0, 1.0, _POINTS)
    both = np.stack([share, 1.0 - share], axis=1)
    for number, (name, kind, factor) in enumerate(_CURVES):
        look = {"color": COLOURS[number], "linestyle": DASHES[number], "linewidth": 1.8}
        axes.plot(share, factor * impurity(kind, both, base=2.0), label=name, **look)
    axes.set(xlim=(0, 1), ylim=(0, 1.03))
    axes.set_xlabel("share of one of two classes", labelpad=6)
    axes.set_ylabel("impurity", labelpad=6)
    axes.set_xticks(np.linspace(0, 1, 5))
    axes.set_yticks(np.linspace(0, 1, 5))
    axes.tick_params(length=0, pad=5)
    axes.grid(color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    legend = axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.02, 1.01),
        borderaxespad=0,
        frameon=False,
        fontsize=8.5,
        handlelength=2.6,
        labelspacing=0.55,
    )
    for text in legend.get_texts():
        text.set_color(MUTED)
    heading(axes, title, "zero for a pure node, largest where both classes are equally frequent")
