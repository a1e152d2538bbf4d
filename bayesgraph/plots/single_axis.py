"""Figure of a single principal or discriminant axis: distributions of the rows over it, and bars.

Two classes have one discriminant axis. On a map of two, all would lie on a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesgraph.cpds.description import texts
from bayesgraph.factors.algebra import Floats
from bayesgraph.palette import COLOURS, FRAME, INK
from bayesgraph.plots.style import (
    Axes,
    Figure,
    heading,
    new_figure,
    styled,
    without_mathematics,
)
from bayesgraph.profiles import Axes as FoundAxes

_LONGEST = 30
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
        for panel in (*above, bars):
            panel.spines[:].set_visible(False)
            panel.tick_params(length=0, pad=5)
            panel.grid(axis="x")
        for panel in above:
            _draw_rows(panel, found, scores, labels)
        _draw_correlations(bars, found)
        share = 100 * float(found.shares[0])
        heading((*above, bars)[0], title, f"axis 1, the only one: {share:.1f} % of the variance")
    return figure


def _draw_rows(panel: Axes, found: FoundAxes, scores: Floats, labels: Sequence[Any] | None) -> None:
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
        label = f"mean of {texts([name], _LONGEST)[0]}"
        panel.axvline(centre, color=colour, linewidth=1.4, linestyle="--", label=label, zorder=3)
    handles, _ = panel.get_legend_handles_labels()
    if handles and (labels is not None or found.classes):
        legend = panel.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
        without_mathematics(legend.get_texts())
    panel.set(xlabel="position on the axis", ylabel="rows")
    panel.yaxis.get_major_locator().set_params(integer=True)


def _draw_correlations(panel: Axes, found: FoundAxes) -> None:
    values = found.correlations[:, 0]
    order = np.argsort(-np.abs(values), kind="stable").tolist()
    names = texts(found.names, _LONGEST)
    colours = [COLOURS[0] if values[i] >= 0 else COLOURS[1] for i in order]
    panel.barh(range(len(order)), values[order], height=0.62, color=colours, zorder=2)
    panel.axvline(0, color=FRAME, linewidth=0.8, zorder=1)
    panel.set_yticks(range(len(order)), [names[i] for i in order])
    without_mathematics(panel.get_yticklabels())
    panel.set(xlim=(-1, 1), ylim=(len(order) - 0.4, -0.6), xlabel="correlation with the axis")
