"""Figures of how well a classifier does, from plain arrays.

They are built on matplotlib's objects, never on pyplot: no display, no global state.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.errors import DataError, FileFormatError, quoted, suggestion
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.dot_labels import percentage
from bayesgraph.io.files import PathLike, path_text, write_bytes
from bayesgraph.measures import Classes, label_codes
from bayesgraph.plots.look import (
    COLOURS,
    DASHES,
    FRAME,
    GRID,
    INK,
    MUTED,
    PANEL,
    Axes,
    Figure,
    heading,
    new_figure,
    shown_names,
    styled,
)
from bayesgraph.plots.reliability import draw_reliability, reliability_panel
from bayesgraph.plots.roc import RocCurve, macro_average, one_against_rest

# Right answers are blue and mistakes orange, which stay apart for every common colour blindness.
_RIGHT = ((0.94, 0.96, 0.98), (0.16, 0.37, 0.60))
_WRONG = ((1.00, 0.96, 0.90), (0.78, 0.35, 0.05))

_FORMATS: dict[str, dict[str, Any]] = {
    # Without dates the same figure is the same file.
    ".svg": {"metadata": {"Date": None}},
    ".png": {},
    ".pdf": {"metadata": {"CreationDate": None}},
}


class Evaluated(Protocol):
    """What a classifier said about rows whose class is known: any object with these attributes.

    Attributes
    ----------
    name : str
        Of the model.
    y_true, y_pred : array_like, shape (n_rows,)
    proba : array_like, shape (n_rows, n_classes)
    classes : sequence
        Of the columns of `proba`.
    """

    @property
    def name(self) -> str: ...
    @property
    def y_true(self) -> ArrayLike: ...
    @property
    def y_pred(self) -> ArrayLike: ...
    @property
    def proba(self) -> ArrayLike: ...
    @property
    def classes(self) -> Classes: ...


def confusion_matrix_figure(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    labels: Classes,
    *,
    title: str = "Confusion matrix",
) -> Figure:
    """Return a figure of how often each class was taken for which.

    Each cell has the count and its share of the row; empty cells stay empty.

    Parameters
    ----------
    y_true, y_pred : array_like, shape (n_rows,)
    labels : sequence
        The classes, in the order to show.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        For columns of different lengths, or a value that is not among the labels.
    MissingDependencyError
        If matplotlib is not installed.
    """
    counts = _confusion_counts(y_true, y_pred, labels)
    names = shown_names(labels)
    with styled() as figure_class:
        side = _matrix_side(len(labels))
        margin = 0.9 + 0.07 * max(map(len, names))
        figure = new_figure(figure_class, side + margin, side + margin + 0.3)
        _draw_confusion(figure.add_subplot(), counts, names, title, side / len(labels))
    return figure


def roc_figure(
    y_true: ArrayLike,
    proba: ArrayLike,
    classes: Classes,
    *,
    title: str = "ROC curves",
) -> Figure:
    """Return a figure of the ROC curves of each class against the rest, areas in the legend.

    Two classes give one curve, that of the second class (the other is its mirror image); more
    classes give one each and the macro average. A class that no row has is listed without a curve.

    Parameters
    ----------
    y_true : array_like, shape (n_rows,)
    proba : array_like, shape (n_rows, n_classes)
    classes : sequence
        Of the columns of `proba`.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        For arrays whose shapes do not fit, a value that is not among the classes, or NaN.
    MissingDependencyError
        If matplotlib is not installed.
    """
    curves = one_against_rest(y_true, proba, classes)
    with styled() as figure_class:
        width = PANEL + 0.9 + _legend_width(classes)
        figure = new_figure(figure_class, width, PANEL + 1.1)
        _draw_roc(figure.add_subplot(), curves, shown_names(classes), title)
    return figure


def evaluation_figure(results: Sequence[Evaluated]) -> Figure:
    """Return one figure for several models, a row for each.

    A row has the confusion matrix, the ROC curves and the reliability of the probabilities.

    Parameters
    ----------
    results : sequence of Evaluated

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        For no results, or arrays that do not fit; see the figures for one model.
    MissingDependencyError
        If matplotlib is not installed.
    """
    if not results:
        raise DataError("evaluation_figure needs the results of at least one model; got none.")
    drawn = [
        (
            result.name,
            _confusion_counts(result.y_true, result.y_pred, result.classes),
            one_against_rest(result.y_true, result.proba, result.classes),
            reliability_panel(result.y_true, result.proba, result.classes),
            shown_names(result.classes),
        )
        for result in results
    ]
    side = max(max(PANEL, _matrix_side(len(names))) for *_, names in drawn)
    left = side + 0.9 + 0.07 * max(len(name) for *_, names in drawn for name in names)
    middle = side + 0.7 + max(_legend_width(result.classes) for result in results)
    widths = [left, middle, side + 0.9]
    with styled() as figure_class:
        figure = new_figure(figure_class, sum(widths), len(drawn) * (side + 1.3))
        rows = figure.subfigures(len(drawn), 1, squeeze=False, hspace=0.05)[:, 0]
        for row, (name, counts, curves, reliability, names) in zip(rows, drawn, strict=True):
            matrix, roc, trust = row.subplots(1, 3, width_ratios=widths)
            _draw_confusion(matrix, counts, names, name, side / len(names))
            _draw_roc(roc, curves, names, "ROC curves")
            draw_reliability(trust, reliability, names, "Reliability")
    return figure


def save_figure(figure: Figure, path: PathLike, *, dpi: int = 200) -> None:
    """Write a figure to a file, which is replaced as a whole or not at all.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or path
        The suffix tells the format: .svg, .png or .pdf.
    dpi : int
        Dots per inch of a PNG.

    Raises
    ------
    FileFormatError
        For another suffix.
    """
    suffix = Path(path_text(path)).suffix.lower()
    if suffix not in _FORMATS:
        raise FileFormatError(
            f"{path_text(path)}: a figure is saved to files that end in {quoted(_FORMATS)}; got "
            f"{suffix!r}.{suggestion(suffix, _FORMATS)}"
        )
    buffer = io.BytesIO()
    with styled():
        figure.savefig(
            buffer, format=suffix[1:], dpi=dpi, bbox_inches="tight", pad_inches=0.12,
            **_FORMATS[suffix],
        )  # fmt: skip
    write_bytes(path, buffer.getvalue())


def _matrix_side(n: int) -> float:
    """Return the side of a confusion matrix of n classes in inches."""
    return n * min(1.0, max(0.45, 6.0 / n))


def _legend_width(classes: Classes) -> float:
    longest = max(len("macro average"), *map(len, shown_names(classes)))
    return (1.1 + 0.075 * longest) * _legend_columns(len(classes))


def _legend_columns(n: int) -> int:
    return 1 + (n > 16)


# ---------------------------------------------------------------------------- confusion matrix


def _confusion_counts(y_true: ArrayLike, y_pred: ArrayLike, labels: Classes) -> NDArray[np.intp]:
    true = label_codes(y_true, labels, what="y_true")
    predicted = label_codes(y_pred, labels, what="y_pred")
    if len(true) != len(predicted):
        raise DataError(
            f"y_true and y_pred take one label for each row; got {len(true)} and {len(predicted)}."
        )
    n = len(labels)
    return np.bincount(true * n + predicted, minlength=n * n).reshape(n, n)


def _draw_confusion(
    axes: Axes, counts: NDArray[np.intp], names: Sequence[str], title: str, cell: float
) -> None:
    n = len(counts)
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(totals, 1)
    colours = _cell_colours(counts, shares)
    axes.pcolormesh(colours, edgecolors="white", linewidth=0.8)
    axes.set(xlim=(0, n), ylim=(n, 0), aspect="equal", anchor="W")
    size = min(13.0, max(6.0, 14.5 * cell))
    # The height of a line as a share of the cell: both lines together are centred.
    line = size / 72 / cell
    for row, column in zip(*np.nonzero(counts), strict=True):
        dark = _luminance(colours[row, column]) < 0.2
        where = {"ha": "center", "color": "white" if dark else INK}
        x = column + 0.5
        axes.text(
            x, row + 0.5 - 0.42 * line, f"{counts[row, column]:,}", va="center", size=size, **where
        )
        share = percentage(float(shares[row, column]))
        if cell < 0.55:
            share = f"{100 * shares[row, column]:.0f}%" if shares[row, column] >= 0.005 else "<1%"
        axes.text(
            x, row + 0.5 + 0.78 * line, share, va="center", size=0.7 * size, alpha=0.85, **where
        )
    crowded = max(map(len, names)) * 0.085 > cell
    places = np.arange(n) + 0.5
    turn = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    axes.set_xticks(places, names, parse_math=False, **turn)
    axes.set_yticks(places, names, parse_math=False)
    axes.tick_params(length=0, pad=5, labelsize=9 if cell > 0.45 else 8)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel("predicted class", labelpad=7)
    axes.set_ylabel("actual class (a row is 100%)", labelpad=7)
    right, rows = int(np.trace(counts)), int(counts.sum())
    heading(axes, title, f"accuracy {percentage(right / rows)} ({right:,} of {rows:,})")


def _cell_colours(counts: NDArray[np.intp], shares: Floats) -> Floats:
    """Return the grounds, shape (n, n, 3)."""
    diagonal = np.eye(len(counts), dtype=bool)[..., None]
    low = np.where(diagonal, _RIGHT[0], _WRONG[0])
    high = np.where(diagonal, _RIGHT[1], _WRONG[1])
    # A mistake in one row of twenty is worth seeing: the root spreads small shares.
    strength = np.where(diagonal[..., 0], shares, np.sqrt(shares))[..., None]
    colours = low + (high - low) * strength
    return np.where((counts == 0)[..., None] & ~diagonal, 0.965, colours)


def _luminance(colour: Floats) -> float:
    """Return the relative luminance of an sRGB colour (WCAG 2.1)."""
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


# ----------------------------------------------------------------------------------------- ROC


def _draw_roc(
    axes: Axes, curves: Sequence[RocCurve | None], names: Sequence[str], title: str
) -> None:
    handles, entries = [], []
    panels = [axes]
    found = [curve for curve in curves if curve is not None]
    binary = len(curves) == 2
    average = macro_average(found) if found and not binary else None
    summary = average if average is not None else (found[-1] if found else None)
    if summary is not None and summary.area > 0.9:
        panels.append(_magnified(axes))
    for panel in panels:
        panel.plot([0, 1], [0, 1], color=GRID, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    if average is not None:
        handles.append(_line(panels, average, color=INK, linewidth=2, zorder=4))
        entries.append(f"{average.area:.3f}  macro average")
    for code, (curve, name) in enumerate(zip(curves, names, strict=True)):
        if binary and code == 0 and curve is not None:
            continue  # the mirror image of the other
        look = {
            "color": COLOURS[0 if binary else code % len(COLOURS)],
            "linestyle": DASHES[code // len(COLOURS) % len(DASHES)],
            "linewidth": 1.8 if binary else 1.2,
            "zorder": 3,
        }
        if curve is None:
            handles.append(axes.plot([], [], **look)[0])
            entries.append(f"    —    {name}")
            continue
        handles.append(_line(panels, curve, **look))
        entries.append(f"{curve.area:.3f}  {name}")
    axes.set(xlim=(-0.012, 1.012), ylim=(-0.012, 1.012), aspect="equal", anchor="W")
    axes.set_xlabel("false positive rate", labelpad=6)
    axes.set_ylabel("true positive rate", labelpad=6)
    ticks = np.linspace(0, 1, 6)
    axes.set_xticks(ticks)
    axes.set_yticks(ticks)
    axes.tick_params(length=0, pad=5)
    axes.grid(color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    _legend(axes, handles, entries)
    note = f"class {names[1]} against {names[0]}" if binary else "each class against the rest"
    heading(axes, title, note)


def _line(panels: Sequence[Axes], curve: RocCurve, **look: Any) -> Any:
    rates = (curve.false_positive_rate, curve.true_positive_rate)
    # Corners stay sharp: a step is a fact, not a style.
    lines = [panel.plot(*rates, solid_joinstyle="miter", **look)[0] for panel in panels]
    return lines[0]


def _magnified(axes: Axes) -> Axes:
    """Return an inset that enlarges the corner where good classifiers crowd."""
    inset = axes.inset_axes((0.44, 0.1, 0.5, 0.5))
    inset.set(xlim=(-0.002, 0.2), ylim=(0.8, 1.002), xticks=[0, 0.1, 0.2], yticks=[0.8, 0.9, 1.0])
    inset.tick_params(length=0, labelsize=7.5, pad=3)
    inset.grid(color=GRID, linewidth=0.5)
    for spine in inset.spines.values():
        spine.set_edgecolor(FRAME)
    axes.indicate_inset_zoom(inset, edgecolor=FRAME, alpha=1, linewidth=0.7)
    return inset


def _legend(axes: Axes, handles: Sequence[Any], entries: Sequence[str]) -> None:
    legend = axes.legend(
        handles,
        entries,
        title="area under the curve",
        loc="upper left",
        bbox_to_anchor=(1.02, 1.01),
        borderaxespad=0,
        frameon=False,
        fontsize=8.5,
        title_fontsize=8.5,
        alignment="left",
        handlelength=2.2,
        labelspacing=0.45,
        ncols=_legend_columns(math.ceil(len(entries))),
    )
    legend.get_title().set_color(MUTED)
    for text in legend.get_texts():
        text.set_parse_math(False)
