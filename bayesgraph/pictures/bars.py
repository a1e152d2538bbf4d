"""Tornado chart: how far a probability moves with single parameters or findings."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from bayesgraph.core.arrays import whole_number
from bayesgraph.core.display import COLOURS, FRAME, MUTED
from bayesgraph.core.errors import DataError
from bayesgraph.models import number, texts
from bayesgraph.pictures import style
from bayesgraph.questions import NextQuestion, RankedQuestion, TableDrift, Tornado

# ------------------- Tornado chart: how far a probability moves with single parameters or findings


# Maximum length of names and states.
_LONGEST = 40
# Characters of a line of a label, and of each name within a longer label, from long to short.
_LINE, _NAMES = 38, (72, 64, 52, 40, 32, 24, 18, 14, 11)
# What names stand between in ``P(a=b | c=d, e=f)``.
_BETWEEN = re.compile(r"(^P\(|=| \| |, |\)$)")


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
    (target,) = texts([tornado.target], _LONGEST)
    now = tornado.posterior
    bars = []
    for row, bar in enumerate(shown):
        low, high = min(now, bar.low), max(now, bar.high)
        bars.append(style.Bar(row, low, _end(bar.at_low), COLOURS[1], now, leftward=True))
        bars.append(style.Bar(row, high, _end(bar.at_high), COLOURS[0], now))
    figure = style.horizontal_bars(
        _labels([bar.name for bar in shown]),
        bars,
        f"probability of {state}",
        f"What moves {target} = {state}" if title is None else title,
        f"{number(now)} now; one of the {tornado.by} at a time",
    )
    (axes,) = figure.axes
    axes.axvline(now, color=MUTED, linewidth=1.0, zorder=3)
    return figure


def _end(value: Any) -> str:
    """Return the value of a parameter, or the state of a finding, as text."""
    return number(value) if isinstance(value, float) else style.shown_names([value])[0]


def _labels(names: Sequence[str]) -> list[str]:
    """Return different labels of at most two lines, whose long names lack their middle."""
    # The longest names that leave all labels different and in two lines.
    for longest in _NAMES:
        lines_of = [wrap(_with_short_names(name, longest), _LINE) for name in names]
        labels = ["\n".join(lines) for lines in lines_of]
        if len(set(labels)) == len(set(names)) and max(map(len, lines_of)) <= 2:
            return labels
    # Names that differ in what is left out only are told apart by their place from the top.
    numbered = [f"{i}: {label}" for i, label in enumerate(labels, 1)]
    return ["\n".join(wrap(text, _LINE, max_lines=2, placeholder="…")) for text in numbered]


def _with_short_names(label: str, longest: int) -> str:
    """Return a label whose names and states have a maximum length; short labels stay."""
    if len(label) <= _LINE:
        return label
    # Names (at even places) and what is between them, in turn.
    parts = _BETWEEN.split(" ".join(label.split()))
    parts[::2] = [texts([name], longest)[0] if name else "" for name in parts[::2]]
    return "".join(parts)


# ------------------------ Figure of the drift between two tables: a bar for each family of a model


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
    shown, bars = tested[:max_families], []
    for row, family in enumerate(shown):
        note = f"p = {number(family.adjusted, 2)}"
        colour = COLOURS[1] if family.moved else FRAME
        bars.append(style.Bar(row, family.information, note, colour))
    return style.horizontal_bars(
        texts([family.title for family in shown], _LONGEST),
        bars,
        "information between family and table, nats per row",
        "Drift between two tables" if title is None else title,
        f"{len(drift.moved)} of {len(drift.families)} families moved; "
        f"{drift.n_before:,} and {drift.n_after:,} rows",
    )


# --------------------------------------------- Figure of what to ask next: a bar for each question


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
    # What is free has an infinite score; its bar is a little longer than all others. Without others
    # any length will do.
    free = 1.1 * (max(finite, default=0.0) or 1.0)
    bars = []
    for row, question in enumerate(shown):
        colour = COLOURS[0] if question.name == ranking.best else FRAME
        bars.append(style.Bar(row, min(question.score, free), _note(ranking, question), colour))
    worth, unit = _WORTH[ranking.by]
    ahead = " with the best second question" if ranking.ahead > 1 else ""
    (target,) = texts(ranking.posterior.names, _LONGEST)
    return style.horizontal_bars(
        texts([question.name for question in shown], _LONGEST),
        bars,
        f"{worth}{' per cost' if ranking.is_priced else ''}{ahead}, {unit}",
        f"What to ask next about {target}" if title is None else title,
        _now(ranking, target),
    )


def _note(ranking: NextQuestion, question: RankedQuestion) -> str:
    """Return the text at the bar of a question."""
    if not ranking.is_priced:
        return number(question.score, 3)
    worth = question.information if ranking.by == "information" else question.gain
    alone = " alone" if ranking.ahead > 1 else ""
    return f"{number(worth, 3)}{alone}, cost {number(question.cost)}"


def _now(ranking: NextQuestion, target: str) -> str:
    """Return the line below the title: the answer now, and what the colours mean."""
    state = ranking.posterior.argmax
    (text,) = texts([state], _LONGEST)
    now = f"{target} = {text} has a probability of {number(ranking.posterior[state], 3)}"
    if ranking.best is None:
        return f"{now}; nothing is worth {'its price' if ranking.is_priced else 'asking'}"
    return f"{now}; the best of {len(ranking):,} questions is blue" if len(ranking) > 1 else now
