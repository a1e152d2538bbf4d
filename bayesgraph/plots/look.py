"""The look that all figures share: fonts, colours, headings and how names are written.

Figures are built on matplotlib's objects, never on pyplot: no display, no global state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from bayesgraph.io.dot_labels import texts
from bayesgraph.optional import optional_module
from bayesgraph.variables import plain

# matplotlib is optional and carries no annotations that mypy reads here.
Figure: TypeAlias = Any
Axes: TypeAlias = Any

INK, MUTED, FRAME, GRID = "#1f2937", "#566273", "#b4c0ce", "#d8dfe8"
# Okabe and Ito (2008) without black, which is the average, and yellow, too faint for a line.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7a5195")
DASHES = ("solid", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
LONGEST_LABEL = 20
# Side of a panel in inches.
PANEL = 4.2


@contextmanager
def styled() -> Iterator[Any]:
    """Give matplotlib's Figure class under settings of our own, whatever the user's are."""
    style = optional_module("matplotlib.style", extra="plot", what="Drawing a figure")
    figure = optional_module("matplotlib.figure", extra="plot", what="Drawing a figure")
    settings = {
        "font.size": 9,
        "text.color": INK,
        "axes.edgecolor": GRID,
        "axes.labelcolor": MUTED,
        "axes.linewidth": 0.8,
        "xtick.color": GRID,
        "ytick.color": GRID,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "svg.hashsalt": "bayesgraph",
        "pdf.fonttype": 42,
    }
    with style.context(["default", settings]):
        yield figure.Figure


def new_figure(figure_class: Any, width: float, height: float) -> Figure:
    figure = figure_class(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    return figure


def heading(axes: Axes, title: str, note: str) -> None:
    """Write a bold title and a quieter line below it, flush left with the axes."""
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", pad=23, parse_math=False)
    axes.annotate(
        note,
        (0, 1),
        xytext=(0, 8),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=9,
        color=MUTED,
        parse_math=False,
    )


def shown_names(classes: Iterable[Any]) -> list[str]:
    """Return names or states as they read, shortened and told apart."""
    return texts(map(plain, classes), LONGEST_LABEL)
