"""Waterfall chart of log odds: from the prior to the total, with a bar for each finding.

A finding is the observed value of a variable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesgraph.checks import whole_number
from bayesgraph.cpds.description import number, texts
from bayesgraph.explain import Contribution, Contributions
from bayesgraph.explain.results import signed
from bayesgraph.io.dot_labels import percentage
from bayesgraph.palette import COLOURS, FRAME, GRID, INK, MUTED
from bayesgraph.plots.style import (
    Axes,
    Figure,
    heading,
    new_figure,
    shown_names,
    styled,
)

_FOR, _AGAINST = COLOURS[0], COLOURS[1]
_LONGEST_LABEL = 36
_ROW = 0.3
# Tolerance of rounding: a remainder below this share of a term is not drawn.
_NOTHING = 1e-9


def contributions_figure(
    contributions: Contributions,
    *,
    max_findings: int = 14,
    arcs: bool = False,
    title: str | None = None,
) -> Figure:
    """Return a figure of how the findings lead from the prior to the log odds of a row.

    Each bar starts where the bar above it ends. Blue bars favour the positive class, orange bars
    oppose it. A finding that is impossible under one of the compared classes is an arrow to the
    edge.

    Parameters
    ----------
    contributions : Contributions
    max_findings : int
        Maximum number of findings to show, those of the largest magnitude; one bar has the sum of
        the others.
    arcs : bool
        Split each finding into its contribution alone and, in paler bars, the change that the arc
        from each observed parent makes.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If `max_findings` is below 1.
    MissingDependencyError
        If matplotlib is not installed.
    """
    max_findings = whole_number("max_findings", "findings", max_findings, minimum=1)
    bars = _bars(contributions, max_findings, arcs=arcs)
    with styled() as figure_class:
        figure = new_figure(figure_class, 7.4, _ROW * (len(bars) + 1) + 1.5)
        axes = figure.add_subplot()
        _draw(axes, bars, contributions)
        positive = shown_names([contributions.positive])[0]
        negative = contributions.negative
        against = "the rest" if negative is None else shown_names([negative])[0]
        name = str(contributions.target.name)
        heading(
            axes,
            f"Evidence for {name} = {positive}" if title is None else title,
            f"log odds of {positive} against {against}: {signed(contributions.total, 2)}, "
            f"a probability of {percentage(contributions.probability)}",
        )
    return figure


@dataclass(frozen=True)
class _Bar:
    """One bar of the figure: the prior, a finding or, if `piece` is true, a part of a finding."""

    label: str
    value: float
    piece: bool = False
    grey: bool = False


def _bars(contributions: Contributions, max_findings: int, *, arcs: bool) -> list[_Bar]:
    """Return the bars of the prior and of the findings; infinite findings (arrows) are last.

    If `arcs` is true, a finding is split into its contribution alone and the contributions of arcs.
    """
    terms = contributions.sorted_terms()
    shown = terms if len(terms) <= max_findings + 1 else terms[:max_findings]
    shown = sorted(shown, key=lambda term: math.isinf(term.log_odds))
    labels = texts([_label(term) for term in shown], _LONGEST_LABEL)
    bars = [_Bar("prior", contributions.prior, grey=True)]
    for term, label in zip(shown, labels, strict=True):
        bars += _pieces(term, label) if arcs else [_Bar(label, term.log_odds)]
    if rest := terms[len(shown) :]:
        position = sum(math.isfinite(bar.value) for bar in bars)
        bars.insert(position, _Bar(f"{len(rest)} more", sum(term.log_odds for term in rest)))
    return bars


def _label(term: Contribution) -> str:
    value = number(term.value) if isinstance(term.value, float) else term.value
    return f"{term.name} = {value}"


def _pieces(term: Contribution, label: str) -> list[_Bar]:
    if not math.isfinite(term.beyond):
        return [_Bar(label, term.log_odds)]
    pieces = [_Bar(label, term.alone)]
    names = texts(term.arcs, _LONGEST_LABEL - 10)
    for name, value in zip(names, term.arcs.values(), strict=True):
        pieces.append(_Bar(f"given {name}", value, piece=True))
    if abs(term.beyond) > _NOTHING * max(1.0, abs(term.alone)):
        pieces.append(_Bar("given the rest", term.beyond, piece=True))
    return pieces


def _draw(axes: Axes, bars: Sequence[_Bar], contributions: Contributions) -> None:
    finite = [bar.value if math.isfinite(bar.value) else 0.0 for bar in bars]
    ends = np.cumsum(finite)
    starts = ends - finite
    low, high = min(0.0, float(ends.min())), max(0.0, float(ends.max()))
    width = max(high - low, 1e-3)
    infinite = any(not math.isfinite(bar.value) for bar in bars)
    room = 0.25 if infinite else 0.13
    edges = (low - room * width, high + room * width)
    axes.axvline(0, color=FRAME, linewidth=0.8, zorder=1)
    for row, (bar, start, end) in enumerate(zip(bars, starts, ends, strict=True)):
        if math.isfinite(bar.value):
            _bar(axes, row, float(start), float(end), bar)
        else:
            _arrow(axes, row, float(start), edges, bar.value)
            continue
        axes.plot([end, end], [row, row + 1], color=FRAME, linewidth=0.7, zorder=1)
    n = len(bars)
    total = contributions.total
    if math.isfinite(total):
        _bar(axes, n, 0.0, total, _Bar("total", total, grey=True), colour=INK)
    else:
        _arrow(axes, n, 0.0, edges, total, colour=INK)
    axes.axhline(n - 0.5, color=GRID, linewidth=0.8)
    axes.set(xlim=edges, ylim=(n + 0.6, -0.6))
    axes.set_yticks(range(n + 1), [*(bar.label for bar in bars), "total"])
    for label, bar in zip(axes.get_yticklabels(), [*bars, _Bar("total", total)], strict=True):
        if bar.piece:
            label.set(color=MUTED, fontsize=8)
        if bar.label == "total":
            label.set_fontweight("bold")
    _odds_axis(axes)


def _bar(
    axes: Axes, row: int, start: float, end: float, bar: _Bar, colour: str | None = None
) -> None:
    chosen = colour or (MUTED if bar.grey else _FOR if bar.value >= 0 else _AGAINST)
    look: dict[str, Any] = {"color": chosen, "alpha": 0.45 if bar.piece else 1.0, "zorder": 2}
    axes.barh(row, end - start, left=start, height=0.4 if bar.piece else 0.62, **look)
    right = bar.value >= 0
    axes.annotate(
        signed(bar.value, 2),
        (end, row),
        xytext=(4 if right else -4, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="center",
        fontsize=8 if bar.piece else 8.5,
        color=MUTED if bar.piece else INK,
        # The white background hides the connecting line behind the number.
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        zorder=3,
    )


def _arrow(
    axes: Axes,
    row: int,
    start: float,
    edges: tuple[float, float],
    value: float,
    colour: str | None = None,
) -> None:
    tip = edges[1] if value > 0 else edges[0]
    end = tip + 0.06 * (edges[0] - edges[1]) * math.copysign(1.0, value)
    chosen = colour or (_FOR if value > 0 else _AGAINST)
    axes.annotate(
        "",
        (end, row),
        xytext=(start, row),
        arrowprops={"arrowstyle": "-|>", "color": chosen, "linewidth": 4, "shrinkA": 0},
        zorder=2,
    )
    axes.text(
        end, row, f" {signed(value)} ", ha="left" if value > 0 else "right", va="center", size=9
    )


def _odds_axis(axes: Axes) -> None:
    """Label the horizontal axis with log odds and, below them, the corresponding probabilities."""
    ticks = [t for t in axes.get_xticks() if axes.get_xlim()[0] <= t <= axes.get_xlim()[1]]
    labels = [f"{number(t)}\n{percentage(0.5 * (1 + math.tanh(0.5 * t)))}" for t in ticks]
    axes.set_xticks(ticks, labels)
    axes.tick_params(length=0, pad=5)
    axes.grid(axis="x")
    axes.spines[:].set_visible(False)
    axes.set_xlabel("log odds, and the probability they stand for", labelpad=6)
