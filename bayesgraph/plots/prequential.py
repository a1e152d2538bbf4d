"""A figure of the prequential performance of models on a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.classifiers.prequential import PrequentialResult
from bayesgraph.cpds.description import texts
from bayesgraph.errors import DataError, DataTypeError, quoted, suggestion
from bayesgraph.palette import COLOURS, FRAME, MUTED
from bayesgraph.plots.style import (
    DASHES,
    PANEL,
    Axes,
    Figure,
    heading,
    new_figure,
    styled,
    without_mathematics,
)

_MEASURES = {
    "accuracy": "accuracy",
    "log_loss": "log loss in nats",
    "kappa_majority": "kappa against the majority class",
    "kappa_no_change": "kappa against the last class",
}
# Maximum length of the name of a model; the names of pipelines are long.
_LONGEST_NAME = 60


Named: TypeAlias = "Sequence[tuple[str, PrequentialResult]]"


def prequential_figure(
    results: PrequentialResult | Mapping[str, PrequentialResult] | Iterable[PrequentialResult],
    *,
    measure: str = "accuracy",
    changes: ArrayLike = (),
    title: str = "Test, then train",
) -> Figure:
    """Return a figure of the prequential performance of models on a stream, a curve for each.

    Drift alarms are dotted lines in the colour of their model.

    Parameters
    ----------
    results : PrequentialResult, several, or mapping from name to PrequentialResult
        Results of :func:`bayesgraph.prequential` for one model or several models.
    measure : {"accuracy", "log_loss", "kappa_majority", "kappa_no_change"}
    changes : array_like of numbers, optional
        Indices of rows at which the stream is known to change; they are drawn as grey lines.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If there are no results, `measure` is unknown, or `changes` are not indices of rows.
    DataTypeError
        If an object is not a PrequentialResult.
    MissingDependencyError
        If matplotlib is not installed.
    """
    named = _named(results)
    places = np.asarray(changes)
    if places.ndim != 1 or (len(places) and places.dtype.kind not in "iuf"):
        raise DataError(f"changes= takes a list of rows; got {changes!r}.")
    if measure not in _MEASURES:
        raise DataError(
            f"measure= is one of {quoted(_MEASURES)}; got {measure!r}."
            f"{suggestion(measure, _MEASURES)}"
        )
    with styled() as figure_class:
        lines = -(-len(named) // _columns(named))
        figure = new_figure(figure_class, 1.7 * PANEL + 0.6, PANEL + 0.2 * lines)
        axes = figure.add_subplot()
        for row in places.tolist():
            axes.axvline(row, color=FRAME, linewidth=2.5, zorder=0.7)
        _draw_curves(axes, named, measure)
        _dress(axes, named, measure)
        heading(axes, title, _note([result for _, result in named], len(places)))
    return figure


def _named(results: Any) -> Named:
    """Return (name, result) pairs from the argument `results` of `prequential_figure`."""
    if isinstance(results, Mapping):
        named = [(str(name), result) for name, result in results.items()]
    else:
        several = isinstance(results, Iterable) and not isinstance(results, str)
        found = list(results) if several else [results]
        named = [(str(getattr(result, "name", "")), result) for result in found]
    if not named:
        raise DataError("prequential_figure needs at least one result; got none.")
    for _, result in named:
        if not isinstance(result, PrequentialResult):
            raise DataTypeError(
                "prequential_figure takes results of bayesgraph.prequential, alone, in a list or "
                f"by name; got {type(result).__name__}."
            )
    return named


def _draw_curves(axes: Axes, named: Named, measure: str) -> None:
    for i, (name, (_, result)) in enumerate(zip(_shown(named), named, strict=True)):
        colour = COLOURS[i % len(COLOURS)]
        dash = DASHES[i // len(COLOURS) % len(DASHES)]
        values = getattr(result, measure)
        end = "gives no probabilities" if np.isnan(values).all() else f"{values[-1]:.3f}"
        label = f"{name}  {end}"
        axes.plot(result.rows, values, color=colour, linestyle=dash, linewidth=1.5, label=label)
        for row in result.alarms.tolist():
            axes.axvline(row, color=colour, linestyle=(0, (1, 2)), linewidth=1.1, zorder=1)


def _shown(named: Named) -> list[str]:
    """Return the names of the results as short texts; repeated names get a number."""
    names, seen = [], dict.fromkeys((name for name, _ in named), 0)
    for name, _ in named:
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return texts(names, _LONGEST_NAME)


def _columns(named: Named) -> int:
    """Return the number of entries in a row of the legend."""
    longest = max(len(name) for name in _shown(named))
    return min(3, max(1, _LONGEST_NAME // max(longest, 1)))


def _dress(axes: Axes, named: Named, measure: str) -> None:
    """Set limits and labels of the axes, and draw the legend below, where long names fit."""
    axes.set_xlabel("rows", labelpad=6)
    axes.set_ylabel(_MEASURES[measure], labelpad=6)
    axes.set_xlim(0, max(int(result.rows[-1]) for _, result in named))
    axes.xaxis.set_major_formatter(lambda n, _: f"{n:,.0f}")
    axes.tick_params(length=0, pad=5)
    axes.grid(True)
    axes.spines[["top", "right"]].set_visible(False)
    legend = axes.legend(
        loc="upper left", bbox_to_anchor=(0, -0.14), borderaxespad=0, borderpad=0,
        ncols=_columns(named),
        frameon=False, fontsize=8.5, labelcolor=MUTED,
    )  # fmt: skip
    without_mathematics(legend.get_texts())


def _note(results: Sequence[PrequentialResult], n_changes: int) -> str:
    over = ", ".join(dict.fromkeys(result.averaging for result in results))
    parts = [f"over {over}"]
    if any(len(result.alarms) for result in results):
        parts.append("dotted: alarms of drift")
    if n_changes:
        parts.append("grey: changes")
    return "; ".join(parts)
