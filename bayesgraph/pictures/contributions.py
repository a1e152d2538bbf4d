"""Waterfall chart of log odds, with a bar for each finding, and curves of effects on log odds.

A finding is the observed value of a variable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import COLOURS, FRAME, GRID, INK, MUTED, cut_texts
from bayesgraph.core.errors import DataError
from bayesgraph.core.variables import Binned, Discrete
from bayesgraph.models import number, texts
from bayesgraph.pictures import style
from bayesgraph.pictures.dot_labels import percentage
from bayesgraph.questions import Contribution, Contributions, Shape, Shapes, signed

# ----------- Waterfall chart of log odds: from the prior to the total, with a bar for each finding


_FOR, _AGAINST = COLOURS[0], COLOURS[1]
_LONGEST_LABEL = 36
# Height of a bar in inches.
_ROW = 0.3
# Tolerance of rounding: a remainder below this share of a term is not drawn.
_NOTHING = 1e-9


@style.styled()
def contributions_figure(
    contributions: Contributions,
    *,
    max_findings: int = 14,
    arcs: bool = False,
    title: str | None = None,
) -> style.Figure:
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
    # The bars of the prior and of the findings; infinite findings (arrows) are last. If `arcs` is
    # true, a finding is split into its contribution alone and the contributions of arcs.
    terms = contributions.sorted_terms()
    # One finding too many takes no more room than the bar of the others.
    shown = terms if len(terms) <= max_findings + 1 else terms[:max_findings]
    shown = sorted(shown, key=lambda term: math.isinf(term.log_odds))
    values = [number(t.value) if isinstance(t.value, float) else t.value for t in shown]
    terms_shown = zip(shown, values, strict=True)
    labels = texts([f"{term.name} = {value}" for term, value in terms_shown], _LONGEST_LABEL)
    bars = [_Bar("prior", contributions.prior, grey=True)]
    for term, label in zip(shown, labels, strict=True):
        bars += _pieces(term, label) if arcs else [_Bar(label, term.log_odds)]
    if others := terms[len(shown) :]:
        # Before the arrows of infinite findings.
        position = sum(math.isfinite(bar.value) for bar in bars)
        bars.insert(position, _Bar(f"{len(others)} more", sum(term.log_odds for term in others)))
    total = contributions.total
    bars.append(_Bar("total", total, grey=True))
    axes = style.new_figure(7.4, _ROW * len(bars) + 1.5).add_subplot()
    _draw(axes, bars)
    (positive,) = style.shown_names([contributions.positive])
    opposed = "the rest" if contributions.negative is None else contributions.negative
    note = f"log odds of {positive} against {style.shown_names([opposed])[0]}: {signed(total, 2)}, "
    note += f"a probability of {percentage(contributions.probability)}"
    heading = f"Evidence for {contributions.target.name} = {positive}"
    style.heading(axes, heading if title is None else title, note)
    return axes.figure


class _Bar(NamedTuple):
    """One bar of the figure: a finding or, if `piece` is true, a part of a finding.

    The bars of the prior and of the total are `grey`. The value is in log odds.
    """

    label: str
    value: float
    piece: bool = False
    grey: bool = False


def _pieces(term: Contribution, label: str) -> list[_Bar]:
    """Return the bars of a finding alone, and of what each observed parent changes."""
    # The remainder is NaN if the finding or a piece of it is infinite.
    if not math.isfinite(term.beyond):
        return [_Bar(label, term.log_odds)]
    names = texts(term.arcs, _LONGEST_LABEL - 10)
    pieces = [
        _Bar(f"given {name}", value, piece=True)
        for name, value in zip(names, term.arcs.values(), strict=True)
    ]
    if abs(term.beyond) > _NOTHING * max(1.0, abs(term.alone)):
        pieces.append(_Bar("given the rest", term.beyond, piece=True))
    return [_Bar(label, term.alone), *pieces]


def _draw(axes: style.Axes, bars: Sequence[_Bar]) -> None:
    """Draw the bars, each from the end of the one above it; the total starts at 0."""
    *parts, total = bars
    finite = [bar.value if math.isfinite(bar.value) else 0.0 for bar in parts]
    # Each part ends at the sum of those down to it (an infinite one adds nothing), the total at its
    # own value.
    ends = [*np.cumsum(finite).tolist(), total.value]
    # Each part starts at the end of the one before it.
    starts = [0.0, *ends[:-2], 0.0]
    low, high = min(0.0, *ends[:-1]), max(0.0, *ends[:-1])
    # Room for notes beyond the ends of bars, and for arrows.
    infinite = not all(math.isfinite(bar.value) for bar in parts)
    room = (0.25 if infinite else 0.13) * max(high - low, 1e-3)
    edges = (low - room, high + room)
    drawn = []
    for row, (bar, start, end) in enumerate(zip(bars, starts, ends, strict=True)):
        is_total, is_for = bar is total, bar.value >= 0
        colour = _FOR if is_for else _AGAINST
        if bar.grey:
            colour = INK if is_total else MUTED
        if not math.isfinite(bar.value):
            # An arrow to the edge on its side, the right one if it is positive, with some distance.
            side = math.copysign(1.0, bar.value)
            tip = edges[is_for] - 0.06 * (edges[1] - edges[0]) * side
            arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 4, "shrinkA": 0}
            axes.annotate("", (tip, row), xytext=(start, row), arrowprops=arrow, zorder=2)
            where = "left" if is_for else "right"
            axes.text(tip, row, f" {signed(bar.value)} ", ha=where, va="center", size=9)
            continue
        alpha = 0.45 if bar.piece else 1.0
        # A bar against the class leads to the left, and has its note there.
        drawn.append(style.Bar(row, end, signed(bar.value, 2), colour, start, not is_for, alpha))
        if not is_total:
            axes.plot([end, end], [row, row + 1], color=FRAME, linewidth=0.7, zorder=1)
    style.draw_bars(axes, [bar.label for bar in bars], drawn)
    axes.axvline(0, color=FRAME, linewidth=0.8, zorder=1)
    axes.axhline(len(parts) - 0.5, color=GRID, linewidth=0.8)
    axes.set_xlim(edges)
    for label, bar in zip(axes.get_yticklabels(), bars, strict=True):
        label.set(color=MUTED if bar.piece else INK)
    axes.get_yticklabels()[-1].set_fontweight("bold")
    # Label the horizontal axis with log odds and, below them, the corresponding probabilities; tanh
    # is the logistic function without overflow.
    ticks = [tick for tick in axes.get_xticks() if edges[0] <= tick <= edges[1]]
    labels = [f"{number(t)}\n{percentage(0.5 * (1 + math.tanh(0.5 * t)))}" for t in ticks]
    axes.set_xticks(ticks, labels)
    axes.set_xlabel("log odds, and the probability they stand for", labelpad=6)


# ------ Figure of shapes: the effect of each feature, and of each pair, on the log odds of a class
# Effects of numbers are step curves, those of categories bars, and those of pairs heat maps, as in
# explainable boosting machines (Lou, Caruana, Gehrke and Hooker 2013). Below them are the rows.


# Maximum number of panels side by side, and the size of one in inches.
_COLUMNS, _WIDTH, _HEIGHT = 3, 3.1, 2.5
# Maximum numbers of curves and of categories in a panel.
_MAX_CURVES, _MAX_STATES = len(COLOURS), 12
# Maximum lengths of the names of states, and of cut points.
_LONGEST, _LONGEST_CUT = 12, 8
# Total length of labels of categories from which they are turned.
_LONG = 24
# Ratio of the heights of the curves and of the shares of the rows below them.
_CURVES, _ROWS = (5, 1)


@style.styled()
def shapes_figure(shapes: Shapes, *, max_terms: int = 12, title: str | None = None) -> style.Figure:
    """Return a figure with a panel for each term of the log odds, the strongest terms first.

    Terms of three and more features are not drawn.
    The first and the last interval of a number have no end; they are drawn as wide as their
    neighbours. Below each curve is the share of the rows; the wider and the higher, the more rows.
    With several curves, heat maps of pairs have the range of the effects over the classes.

    Parameters
    ----------
    shapes : Shapes
    max_terms : int
        Maximum number of panels.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If `max_terms` is below 1, or there are no terms.
    MissingDependencyError
        If matplotlib is not installed.
    """
    max_terms = whole_number("max_terms", "terms", max_terms, minimum=1)
    if not len(shapes):
        raise DataError(f"No feature has an effect on {shapes.target.name!r}: nothing to draw.")
    shown = [term for term in shapes.terms if len(term.variables) <= 2][:max_terms]
    # The indices of the curves to draw, those of the largest effects if there are many. The last
    # axis of `log_odds` has the curves, the others the states.
    effects = sum(np.abs(t.log_odds).reshape(-1, t.log_odds.shape[-1]).max(axis=0) for t in shown)
    curves = sorted(np.argsort(-np.asarray(effects), kind="stable")[:_MAX_CURVES].tolist())
    # All panels of single features have the same limits, from the largest effect.
    single = [np.abs(t.log_odds[..., curves]) for t in shown if not _is_pair(t)]
    top = 1.08 * max([1e-3, *(float(effect.max(initial=0.0)) for effect in single)])
    n_columns = min(_COLUMNS, len(shown))
    n_rows = math.ceil(len(shown) / n_columns)
    figure = style.new_figure(max(_WIDTH * n_columns, 4.6), _HEIGHT * n_rows + 0.9)
    figure.get_layout_engine().set(h_pad=0.05, hspace=0.0)
    grid = figure.add_gridspec(n_rows, n_columns)
    for panel, term in enumerate(shown):
        cell = grid[divmod(panel, n_columns)]
        if _is_pair(term):
            _draw_pair(figure, figure.add_subplot(cell), term)
            continue
        parts = cell.subgridspec(2, 1, height_ratios=(_CURVES, _ROWS), hspace=0.0)
        upper = figure.add_subplot(parts[0])
        lower = figure.add_subplot(parts[1], sharex=upper)
        _draw_single(upper, lower, term, curves)
        upper.set_ylim(-top, top)
        if not panel % n_columns:
            upper.set_ylabel("log odds", labelpad=2)
    _head(figure, shapes, len(shapes) - len(shown), curves, title)
    return figure


def _is_pair(term: Shape) -> bool:
    return len(term.variables) == 2


def _head(
    figure: style.Figure, shapes: Shapes, n_left: int, curves: Sequence[int], title: str | None
) -> None:
    """Write title, note and legend above the panels."""
    names = style.shown_names(shapes.labels)
    note = "each panel adds to the log odds, in nats"
    if shapes.rows:
        note = f"mean change of the log odds over {shapes.rows:,} rows, in nats"
    if len(names) > 1 and any(map(_is_pair, shapes.terms)):
        note += "; of pairs the range over the classes"
    if n_left:
        note += f"; {n_left} other term{'s' * (n_left > 1)} not drawn"
    if title is None:
        whose = shapes.labels[0] if len(names) == 1 else "each class against their mean"
        title = f"{shapes.target.name}: {whose}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    figure.text(0.01, -0.01, note, ha="left", va="top", fontsize=9, color=MUTED)
    if len(names) > 1:
        lines = style.matplotlib("lines")
        handles = [
            lines.Line2D([], [], color=COLOURS[at], label=names[curve], linewidth=1.6)
            for at, curve in enumerate(curves)
        ]
        look = {"loc": "outside upper right", "ncols": len(handles), "frameon": False}
        figure.legend(handles=handles, **look)


# ------------------------------------------------------------------------------ single features


def _draw_single(upper: style.Axes, lower: style.Axes, term: Shape, curves: Sequence[int]) -> None:
    """Draw the effects of one feature, and below them the share of the rows."""
    (variable,) = term.variables
    upper.axhline(0, color=FRAME, linewidth=0.8, zorder=1)
    if isinstance(variable, Binned):
        edges = variable.edges
        for at, curve in enumerate(curves):
            values = term.log_odds[:, curve]
            look = {"color": COLOURS[at], "linewidth": 1.6, "baseline": None, "zorder": 3}
            upper.stairs(values, edges, **look)
        # Areas are shares.
        heights = term.share / np.diff(edges)
        lower.stairs(heights, edges, fill=True, color=FRAME)
        ticks = _spaced(np.array(variable.cuts), edges[-1] - edges[0])
        lower.set_xticks(ticks, _cut_labels(ticks.tolist()))
        lower.set_xlim(edges[0], edges[-1])
    else:
        _draw_bars(upper, lower, variable, term, curves)
    (name,) = texts([variable.name], 26)
    upper.set_title(name, loc="left", fontsize=9.5, fontweight="bold", pad=4)
    upper.grid(axis="y")
    upper.tick_params(length=0, labelsize=7.5, labelbottom=False)
    upper.spines[["top", "right", "bottom"]].set_visible(False)
    lower.set_yticks([])
    lower.set_ylim(bottom=0)
    lower.tick_params(length=2, labelsize=7.5)
    lower.spines[["top", "right", "left"]].set_visible(False)


def _cut_labels(cuts: Sequence[float]) -> list[str]:
    return [text.replace("-", "−") for text in cut_texts(cuts, _LONGEST_CUT)]


def _spaced(cuts: Floats, width: float) -> Floats:
    """Return the cuts whose labels have room beside each other on an axis of this width."""
    kept: list[float] = []
    for cut, label in zip(cuts.tolist(), _cut_labels(cuts.tolist()), strict=True):
        # A gap, and a share of the axis for each character.
        room = width * (0.05 + 0.022 * len(label))
        if not kept or cut - kept[-1] >= room:
            kept.append(cut)
    return np.array(kept)


def _draw_bars(
    upper: style.Axes, lower: style.Axes, variable: Discrete, term: Shape, curves: Sequence[int]
) -> None:
    """Draw bars for the most frequent states, those of several curves side by side."""
    shown = np.sort(np.argsort(-term.share, kind="stable")[:_MAX_STATES])
    width = 0.8 / len(curves)
    for at, curve in enumerate(curves):
        values = term.log_odds[shown, curve]
        colour = COLOURS[at]
        if len(curves) == 1:
            colour = np.where(values >= 0, COLOURS[0], COLOURS[1]).tolist()
        # The bars of a state stand around its number.
        places = np.arange(len(shown)) + (at - (len(curves) - 1) / 2) * width
        upper.bar(places, values, width, color=colour, zorder=3)
    lower.bar(np.arange(len(shown)), term.share[shown], 0.8, color=FRAME)
    names = texts([variable.states[code] for code in shown], _LONGEST)
    if rest := variable.cardinality - len(shown):
        lower.set_xlabel(f"{rest} rarer not drawn", fontsize=7.5, labelpad=1)
    turned = sum(map(len, names)) > _LONG
    look = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    lower.set_xticks(np.arange(len(shown)), names, **look)
    lower.set_xlim(-0.6, len(shown) - 0.4)


# ------------------------------------------------------------------------------------------ pairs


def _draw_pair(figure: style.Figure, axes: style.Axes, term: Shape) -> None:
    """Draw the interaction of two features: a cell for each pair of their states."""
    n_curves = term.log_odds.shape[-1]
    first, second = term.variables
    # One curve has effects of both signs, around white; of several the range over the classes is
    # drawn, from 0 on.
    values = term.log_odds[..., 0] if n_curves == 1 else np.ptp(term.log_odds, axis=-1)
    largest = max(float(np.abs(values).max()), 1e-3)
    low = -largest if n_curves == 1 else 0.0
    scale = [COLOURS[1], "white", COLOURS[0]] if n_curves == 1 else ["white", COLOURS[0]]
    palette = style.matplotlib("colors").LinearSegmentedColormap.from_list("effects", scale)
    # The second feature is across, so that numbers of the first ascend upwards.
    mesh = axes.pcolormesh(values, cmap=palette, vmin=low, vmax=largest)
    bar = figure.colorbar(mesh, ax=axes, fraction=0.05, pad=0.02, aspect=25)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=7)
    _label_states(axes.xaxis, second)
    _label_states(axes.yaxis, first)
    names = texts([first.name, second.name], 14)
    axes.set_title(" × ".join(names), loc="left", fontsize=9.5, fontweight="bold", pad=4)
    axes.set_xlabel(names[1], fontsize=8, labelpad=1)
    axes.set_ylabel(names[0], fontsize=8, labelpad=1)
    axes.tick_params(length=0, labelsize=7, pad=2)
    axes.spines[:].set_color(INK)


def _label_states(axis: style.Axes, variable: Discrete) -> None:
    """Label an axis of cells: ends of intervals between them, categories in their middle.

    The cell of a state reaches from its code to the next one.
    """
    if isinstance(variable, Binned):
        places: Any = np.arange(1.0, variable.cardinality)
        names = _cut_labels(variable.cuts)
    else:
        places = np.arange(variable.cardinality) + 0.5
        names = texts(variable.states, _LONGEST // 2)
    every = math.ceil(len(places) / 8)  # at most eight labels
    axis.set_ticks(places[::every], names[::every])
