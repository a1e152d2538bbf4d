"""The style that all figures share: fonts, colours, headings, names of classes; saving figures.

Figures are built on matplotlib's objects, not on pyplot: no display, no global state.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

from bayesgraph.core import errors
from bayesgraph.core.display import COLOURS, GRID, INK, MUTED
from bayesgraph.core.files import PathLike, suffix_among, write_bytes
from bayesgraph.core.variables import plain
from bayesgraph.models import texts

# matplotlib is optional and carries no annotations that mypy reads here.
Figure: TypeAlias = Any
Axes: TypeAlias = Any
Result = TypeVar("Result")

DASHES = ("solid", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
LONGEST_LABEL = 20
# Side of a panel in inches.
PANEL = 4.2

_FORMATS: dict[str, dict[str, Any]] = {
    # Without dates, the same figure gives the same bytes.
    ".svg": {"metadata": {"Date": None}},
    ".png": {},
    ".pdf": {"metadata": {"CreationDate": None}},
}


def matplotlib(module: str) -> Any:
    """Import a module of matplotlib, which is optional."""
    return errors.optional_module(f"matplotlib.{module}", extra="plot", what="Drawing a figure")


@contextmanager
def styled() -> Iterator[None]:
    """Use bayesgraph's settings in place of the user's, within a block or a decorated function."""
    settings = {
        "font.size": 9,
        "text.color": INK,
        "axes.edgecolor": GRID,
        "axes.labelcolor": MUTED,
        "axes.linewidth": 0.8,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.linewidth": 0.5,
        "xtick.color": GRID,
        "ytick.color": GRID,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        # A dollar sign in a name does not begin a formula.
        "text.parse_math": False,
        "svg.hashsalt": "bayesgraph",
        "pdf.fonttype": 42,
    }
    with matplotlib("style").context(["default", settings]):
        yield


def check_classifier(clf: Any) -> None:
    """Raise a DataTypeError unless a value is a classifier of this library, fitted or not."""
    if not hasattr(type(clf), "predict_proba") or not hasattr(type(clf), "query"):
        raise errors.DataTypeError(f"The figure is of a classifier of bayesgraph; got {clf!r:.80}.")


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches."""
    figure = matplotlib("figure").Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    # Notebooks show by themselves only what pyplot made.
    figure._repr_png_ = partial(_file, figure, ".png", 100)
    return figure


def curve_look(number: int) -> dict[str, Any]:
    """Return colour and dashes of a curve by its number: after the last colour, dashes begin."""
    dashes = DASHES[number // len(COLOURS) % len(DASHES)]
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": dashes}


def heading(axes: Axes, title: str, note: str) -> None:
    """Write a bold title and `note`, a line of muted text, above the axes, flush left."""
    # Axes of the user read formulas.
    look = {"fontsize": 12, "fontweight": "bold", "pad": 23, "parse_math": False}
    axes.set_title(title, loc="left", **look)
    place = {"xytext": (0, 8), "xycoords": "axes fraction", "textcoords": "offset points"}
    axes.annotate(note, (0, 1), fontsize=9, color=MUTED, **place)


def named_results(results: Any, kind: type[Result], function: str) -> list[tuple[str, Result]]:
    """Return the names and results of an argument: a result, several, or a mapping from name.

    Raises
    ------
    DataTypeError
        If something is of another class than `kind`.
    DataError
        If there are none.
    """
    if isinstance(results, Mapping):
        named = [(str(name), result) for name, result in results.items()]
    else:
        several = isinstance(results, Iterable) and not isinstance(results, str)
        listed = list(results) if several else [results]
        named = [(str(getattr(result, "name", "")), result) for result in listed]
    if not named:
        raise errors.DataError(f"{function} needs the results of at least one model; got none.")
    for _, result in named:
        if not isinstance(result, kind):
            raise errors.DataTypeError(
                f"{function} takes objects of the class {kind.__name__}, alone, in a list or by "
                f"name; got {result!r:.80}."
            )
    return named


def shown_names(classes: Iterable[Any]) -> list[str]:
    """Return names or states as texts, shortened but distinct."""
    return texts(map(plain, classes), LONGEST_LABEL)


# In inches: a row, the bars with their notes, a character of a label and of a note.
_ROW, _AXIS, _LABEL_CHARACTER, _CHARACTER = 0.32, 5.4, 0.074, 0.068


class Bar(NamedTuple):
    """A bar from `start` to `end`, with a note beyond its end, which may be on the left."""

    row: int
    end: float
    note: str = ""
    colour: str = COLOURS[0]
    start: float = 0.0
    leftward: bool = False
    alpha: float = 1.0


@styled()
def horizontal_bars(
    labels: Sequence[str], bars: Sequence[Bar], xlabel: str, title: str, note: str
) -> Figure:
    """Return a figure of labelled rows of bars, the first on top, with room for their notes."""
    longest = max(len(line) for label in labels for line in label.split("\n"))
    width = _AXIS + _LABEL_CHARACTER * longest + 0.5
    axes = new_figure(width, _ROW * len(labels) + 1.6).add_subplot()
    draw_bars(axes, labels, bars)
    ends = [end for bar in bars for end in (bar.start, bar.end)]
    low, high = min(ends), max(ends)
    # Characters of the longest note on the left and on the right, with two for the distance.
    left = max((len(bar.note) + 2 for bar in bars if bar.leftward), default=0)
    right = max((len(bar.note) + 2 for bar in bars if not bar.leftward), default=0)
    # Units of the axis per inch: the bars have what the notes leave of its width.
    unit = max(high - low, 1e-3) / (_AXIS - _CHARACTER * (left + right))
    axes.set_xlim(low - unit * _CHARACTER * left, high + unit * _CHARACTER * right)
    axes.locator_params(axis="x", nbins=5, min_n_ticks=3)
    ticks = axes.xaxis.get_major_locator().tick_values(low, high)
    axes.set_xticks([tick for tick in ticks if low <= tick <= high])
    axes.set_xlabel(xlabel, labelpad=6)
    heading(axes, title, note)
    return axes.figure


def draw_bars(axes: Axes, labels: Sequence[str], bars: Iterable[Bar]) -> None:
    """Draw labelled rows of bars, the first on top, with the notes beyond their ends."""
    # The white background hides lines behind a note.
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    look = {"va": "center", "fontsize": 8, "color": MUTED, "bbox": ground, "zorder": 3}
    for bar in bars:
        place = {"left": bar.start, "height": 0.62, "zorder": 2}
        axes.barh(bar.row, bar.end - bar.start, color=bar.colour, alpha=bar.alpha, **place)
        shift, side = (-4, "right") if bar.leftward else (4, "left")
        end = (bar.end, bar.row)
        axes.annotate(bar.note, end, (shift, 0), textcoords="offset points", ha=side, **look)
    # Rows are numbered downwards.
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), labels, linespacing=1.0)
    if any("\n" in label for label in labels):
        axes.tick_params(axis="y", labelsize=8)
    axes.tick_params(length=0, pad=5)
    axes.grid(axis="x")
    axes.spines[:].set_visible(False)


def save_figure(figure: Figure, path: PathLike, *, dpi: int = 200) -> None:
    """Write a figure to a file atomically: the file is replaced as a whole or not at all.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or path
        The suffix names the format: .svg, .png or .pdf.
    dpi : int
        Dots per inch of a PNG.

    Raises
    ------
    DataTypeError
        If `figure` has no method `savefig`.
    FileFormatError
        For another suffix.
    """
    suffix = suffix_among(path, _FORMATS, "a figure")
    if not hasattr(figure, "savefig"):
        raise errors.DataTypeError(
            f"save_figure writes a figure of matplotlib; got {figure!r:.80}."
        )
    write_bytes(path, _file(figure, suffix, dpi))


@styled()
def _file(figure: Figure, suffix: str, dpi: int) -> bytes:
    """Return a figure as the bytes of a file."""
    buffer = io.BytesIO()
    figure.savefig(
        buffer, format=suffix[1:], dpi=dpi, bbox_inches="tight", pad_inches=0.12, **_FORMATS[suffix]
    )
    return buffer.getvalue()
