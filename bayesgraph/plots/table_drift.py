"""Figure of the drift between two tables: a bar for each family of a model."""

from __future__ import annotations

import math

from bayesgraph.checks import whole_number
from bayesgraph.compare import TableDrift
from bayesgraph.cpds.description import number, texts
from bayesgraph.errors import DataError
from bayesgraph.palette import COLOURS, FRAME, MUTED
from bayesgraph.plots.style import (
    Figure,
    heading,
    new_figure,
    styled,
)

_LONGEST_LABEL = 40
_ROW = 0.3


def table_drift_figure(
    drift: TableDrift, *, max_families: int = 15, title: str | None = None
) -> Figure:
    """Return a figure of how far the families of a model moved between two tables.

    Orange bars are families that moved, at the family-wise error of the drift; grey ones may be
    chance.

    Parameters
    ----------
    drift : TableDrift
    max_families : int
        Maximum number of bars.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If `max_families` is below 1, or no family was tested.
    MissingDependencyError
        If matplotlib is not installed.
    """
    max_families = whole_number("max_families", "bars", max_families, minimum=1)
    tested = [family for family in drift.families if not math.isnan(family.information)]
    if not tested:
        raise DataError("No family of the model was tested: nothing to draw.")
    shown = tested[:max_families]
    widest = max(family.information for family in shown) or 1.0
    with styled() as figure_class:
        figure = new_figure(figure_class, 7.4, _ROW * len(shown) + 1.5)
        axes = figure.add_subplot()
        for row, family in enumerate(shown):
            colour = COLOURS[1] if family.moved else FRAME
            axes.barh(row, family.information, height=0.62, color=colour, zorder=2)
            axes.annotate(
                f"p = {number(family.adjusted, 2)}",
                (family.information, row),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=MUTED,
            )
        labels = texts([family.title for family in shown], _LONGEST_LABEL)
        axes.set_yticks(range(len(shown)), labels)
        axes.set(xlim=(0, 1.18 * widest), ylim=(len(shown) - 0.4, -0.6))
        axes.tick_params(length=0, pad=5)
        axes.grid(axis="x")
        axes.spines[:].set_visible(False)
        axes.set_xlabel("information between family and table, nats per row", labelpad=6)
        heading(
            axes,
            "Drift between two tables" if title is None else title,
            f"{len(drift.moved)} of {len(drift.families)} families moved; "
            f"{drift.n_before:,} and {drift.n_after:,} rows",
        )
    return figure
