"""Tornado chart: how far a probability moves with single parameters or findings."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from bayesgraph.core.arrays import whole_number
from bayesgraph.core.display import COLOURS, FRAME, MUTED
from bayesgraph.core.errors import DataError
from bayesgraph.models import number, texts
from bayesgraph.pictures import style
from bayesgraph.questions import Bar, NextQuestion, RankedQuestion, TableDrift, Tornado

# ------------------- Tornado chart: how far a probability moves with single parameters or findings


_LONGEST_TITLE = 40
# Characters of a line of a label, and of each name within a longer label, from long to short.
_LINE, _NAMES = 38, (72, 64, 52, 40, 32, 24, 18, 14, 11)
# What names stand between in ``P(a=b | c=d, e=f)``.
_BETWEEN = re.compile(r"(^P\(|=| \| |, |\)$)")
# In inches: a row, the bars with the ends of their ranges, a character of a label and of an end.
_ROW, _AXIS, _LABEL_CHARACTER, _CHARACTER = 0.34, 5.4, 0.074, 0.068
_MAX_TICKS = 5


def tornado_figure(
    tornado: Tornado, *, max_bars: int = 15, title: str | None = None
) -> style.Figure:
    """Return a tornado chart: a bar from the lowest to the highest probability, the widest on top.

    The parts below and above the present probability have two colours, and the ends the values of
    the parameter or finding there.

    Parameters
    ----------
    tornado : Tornado
    max_bars : int
        Maximum number of bars.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If `max_bars` is below 1, or there are no bars.
    MissingDependencyError
        If matplotlib is not installed.
    """
    max_bars = whole_number("max_bars", "bars", max_bars, minimum=1)
    shown = tornado.bars[:max_bars]
    if not shown:
        raise DataError("Nothing was varied: there is nothing to draw.")
    state = style.shown_names([tornado.state])[0]
    (target,) = texts([tornado.target], _LONGEST_TITLE)
    labels = _labels([bar.name for bar in shown])
    longest = max(len(line) for label in labels for line in label.split("\n"))
    with style.styled() as figure_class:
        width = _AXIS + _LABEL_CHARACTER * longest + 0.5
        figure = style.new_figure(figure_class, width, _ROW * len(shown) + 1.6)
        axes = figure.add_subplot()
        for row, bar in enumerate(shown):
            _draw(axes, row, bar, tornado.posterior)
        axes.axvline(tornado.posterior, color=MUTED, linewidth=1.0, zorder=3)
        ends = _limits(shown, tornado.posterior)
        axes.set(xlim=ends, ylim=(len(shown) - 0.4, -0.6))
        # The room for labels may reach beyond probabilities.
        axes.locator_params(axis="x", nbins=_MAX_TICKS)
        axes.set_xticks([tick for tick in axes.get_xticks() if -1e-9 <= tick <= 1 + 1e-9])
        axes.set(xlim=ends)
        axes.set_yticks(range(len(shown)), labels, linespacing=1.0)
        if any("\n" in label for label in labels):
            axes.tick_params(axis="y", labelsize=8)
        style.without_mathematics(axes.get_yticklabels())
        axes.tick_params(length=0, pad=5)
        axes.grid(axis="x")
        axes.spines[:].set_visible(False)
        axes.set_xlabel(f"probability of {state}", labelpad=6)
        style.heading(
            axes,
            f"What moves {target} = {state}" if title is None else title,
            f"{number(tornado.posterior)} now; one of the {tornado.by} at a time",
        )
    return figure


def _draw(axes: style.Axes, row: int, bar: Bar, now: float) -> None:
    below, above = min(now, bar.low), max(now, bar.high)
    axes.barh(row, now - below, left=below, height=0.6, color=COLOURS[1], zorder=2)
    axes.barh(row, above - now, left=now, height=0.6, color=COLOURS[0], zorder=2)
    axes.plot([bar.low, bar.high], [row, row], color=FRAME, linewidth=0.5, zorder=1)
    for place, value, side in ((below, bar.at_low, "right"), (above, bar.at_high, "left")):
        text = axes.annotate(
            _end(value),
            (place, row),
            xytext=(-4 if side == "right" else 4, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=8,
            color=MUTED,
        )
        style.without_mathematics([text])


def _end(value: Any) -> str:
    return number(value) if isinstance(value, float) else style.shown_names([value])[0]


def _limits(bars: Sequence[Bar], now: float) -> tuple[float, float]:
    """Return the limits of the axis, with room for the values beside the bars."""
    low, high = min(now, *(bar.low for bar in bars)), max(now, *(bar.high for bar in bars))
    rooms = [
        _CHARACTER * (max(map(len, map(_end, values))) + 2)
        for values in ([bar.at_low for bar in bars], [bar.at_high for bar in bars])
    ]
    unit = max(high - low, 1e-3) / (_AXIS - sum(rooms))
    return low - unit * rooms[0], high + unit * rooms[1]


def _labels(names: Sequence[str]) -> list[str]:
    """Return different labels of at most two lines, whose long names lack their middle."""
    for longest in _NAMES:
        lines = [wrap(_with_short_names(name, longest), _LINE) for name in names]
        found = ["\n".join(part) for part in lines]
        if len(set(found)) == len(set(names)) and max(map(len, lines)) <= 2:
            return found
    shown = [
        wrap(_with_short_names(n, _NAMES[-1]), _LINE, max_lines=2, placeholder="…") for n in names
    ]
    found = ["\n".join(part) for part in shown]
    # Names that differ in what is left out only are told apart by their place from the top.
    count = Counter(found)
    return [t if count[t] == 1 else f"{i + 1}: {t}" for i, t in enumerate(found)]


def _with_short_names(label: str, longest: int) -> str:
    if len(label) <= _LINE:
        return label
    parts = _BETWEEN.split(" ".join(label.split()))
    return "".join(
        p if _BETWEEN.fullmatch(p) else texts([p], longest)[0] if p else "" for p in parts
    )


# ------------------------ Figure of the drift between two tables: a bar for each family of a model


_LONGEST_LABEL = 40
_DRIFT_ROW = 0.3


def table_drift_figure(
    drift: TableDrift, *, max_families: int = 15, title: str | None = None
) -> style.Figure:
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
    with style.styled() as figure_class:
        figure = style.new_figure(figure_class, 7.4, _DRIFT_ROW * len(shown) + 1.5)
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
        style.heading(
            axes,
            "Drift between two tables" if title is None else title,
            f"{len(drift.moved)} of {len(drift.families)} families moved; "
            f"{drift.n_before:,} and {drift.n_after:,} rows",
        )
    return figure


# --------------------------------------------- Figure of what to ask next: a bar for each question


_LONGEST_QUESTION, _LONGEST_QUESTION_TITLE = 40, 40
# In inches: a row, the axis, a character of a label and of the text at a bar.
_QUESTION_ROW, _QUESTION_AXIS, _QUESTION_LABEL_CHARACTER, _QUESTION_CHARACTER = (
    0.3,
    5.4,
    0.074,
    0.068,
)
# What ranks questions, with its unit.
_WORTH = {
    "information": ("information", "nats"),
    "accuracy": ("gain of accuracy", "share of right answers"),
    "utility": ("saving", "in the unit of the losses"),
}


def next_question_figure(
    ranking: NextQuestion, *, max_questions: int = 15, title: str | None = None
) -> style.Figure:
    """Return a figure of the questions that can be asked next, the best on top.

    The length of a bar is the score: what the answer is worth, per price if prices were given, and
    with the best second question if the ranking looks two ahead. With prices, the text at the bar
    has what the answer is worth and what it costs. The best question is blue; all are grey if none
    is worth asking.

    Parameters
    ----------
    ranking : NextQuestion
    max_questions : int
        Maximum number of bars.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If `max_questions` is below 1, or there is nothing to ask.
    MissingDependencyError
        If matplotlib is not installed.
    """
    max_questions = whole_number("max_questions", "bars", max_questions, minimum=1)
    shown = ranking.questions[:max_questions]
    if not shown:
        raise DataError("There is no question to rank: nothing to draw.")
    finite = [question.score for question in shown if math.isfinite(question.score)]
    longest = max(finite, default=0.0) or 1.0
    labels = texts([question.name for question in shown], _LONGEST_QUESTION)
    notes = [_note(ranking, question) for question in shown]
    width = _QUESTION_AXIS + _QUESTION_LABEL_CHARACTER * max(map(len, labels)) + 0.5
    with style.styled() as figure_class:
        figure = style.new_figure(figure_class, width, _QUESTION_ROW * len(shown) + 1.6)
        axes = figure.add_subplot()
        for row, (question, note) in enumerate(zip(shown, notes, strict=True)):
            # What is free has an infinite score.
            length = min(question.score, 1.1 * longest)
            colour = COLOURS[0] if question.name == ranking.best else FRAME
            axes.barh(row, length, height=0.62, color=colour, zorder=2)
            text = axes.annotate(
                note,
                (length, row),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=MUTED,
            )
            style.without_mathematics([text])
        room = _QUESTION_CHARACTER * (max(map(len, notes)) + 2)
        end = max(longest, *(min(q.score, 1.1 * longest) for q in shown))
        axes.set(
            xlim=(0, end * _QUESTION_AXIS / (_QUESTION_AXIS - room)), ylim=(len(shown) - 0.4, -0.6)
        )
        axes.set_xticks([tick for tick in axes.get_xticks() if tick <= end])
        axes.set_yticks(range(len(shown)), labels)
        style.without_mathematics(axes.get_yticklabels())
        axes.tick_params(length=0, pad=5)
        axes.grid(axis="x")
        axes.spines[:].set_visible(False)
        worth, unit = _WORTH[ranking.by]
        ahead = " with the best second question" if ranking.ahead > 1 else ""
        axes.set_xlabel(
            f"{worth}{' per cost' if ranking.is_priced else ''}{ahead}, {unit}", labelpad=6
        )
        (target,) = texts(ranking.posterior.names, _LONGEST_QUESTION_TITLE)
        style.heading(
            axes,
            f"What to ask next about {target}" if title is None else title,
            _now(ranking, target),
        )
    return figure


def _note(ranking: NextQuestion, question: RankedQuestion) -> str:
    if not ranking.is_priced:
        return number(question.score, 3)
    worth = question.information if ranking.by == "information" else question.gain
    alone = " alone" if ranking.ahead > 1 else ""
    return f"{number(worth, 3)}{alone}, cost {number(question.cost)}"


def _now(ranking: NextQuestion, target: str) -> str:
    best = ranking.posterior.argmax
    (state,) = texts([best], _LONGEST_QUESTION_TITLE)
    now = f"{target} = {state} has a probability of {number(ranking.posterior[best], 3)}"
    if ranking.best is None:
        return f"{now}; nothing is worth {'its price' if ranking.is_priced else 'asking'}"
    left = len(ranking) - 1
    return f"{now}; the best of {left + 1:,} questions is blue" if left else now
