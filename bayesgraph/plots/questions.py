"""Figure of what to ask next: a bar for each question."""

from __future__ import annotations

import math

from bayesgraph.asking import NextQuestion, RankedQuestion
from bayesgraph.checks import whole_number
from bayesgraph.cpds.description import number, texts
from bayesgraph.errors import DataError
from bayesgraph.palette import COLOURS, FRAME, MUTED
from bayesgraph.plots.style import (
    Figure,
    heading,
    new_figure,
    styled,
    without_mathematics,
)

_LONGEST_LABEL, _LONGEST_TITLE = 40, 40
# In inches: a row, the axis, a character of a label and of the text at a bar.
_ROW, _AXIS, _LABEL_CHARACTER, _CHARACTER = 0.3, 5.4, 0.074, 0.068
# What ranks questions, with its unit.
_WORTH = {
    "information": ("information", "nats"),
    "accuracy": ("gain of accuracy", "share of right answers"),
    "utility": ("saving", "in the unit of the losses"),
}


def next_question_figure(
    ranking: NextQuestion, *, max_questions: int = 15, title: str | None = None
) -> Figure:
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
    labels = texts([question.name for question in shown], _LONGEST_LABEL)
    notes = [_note(ranking, question) for question in shown]
    width = _AXIS + _LABEL_CHARACTER * max(map(len, labels)) + 0.5
    with styled() as figure_class:
        figure = new_figure(figure_class, width, _ROW * len(shown) + 1.6)
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
            without_mathematics([text])
        room = _CHARACTER * (max(map(len, notes)) + 2)
        end = max(longest, *(min(q.score, 1.1 * longest) for q in shown))
        axes.set(xlim=(0, end * _AXIS / (_AXIS - room)), ylim=(len(shown) - 0.4, -0.6))
        axes.set_xticks([tick for tick in axes.get_xticks() if tick <= end])
        axes.set_yticks(range(len(shown)), labels)
        without_mathematics(axes.get_yticklabels())
        axes.tick_params(length=0, pad=5)
        axes.grid(axis="x")
        axes.spines[:].set_visible(False)
        axes.set_xlabel(_axis(ranking), labelpad=6)
        (target,) = texts(ranking.posterior.names, _LONGEST_TITLE)
        heading(
            axes,
            f"What to ask next about {target}" if title is None else title,
            _now(ranking, target),
        )
    return figure


def _axis(ranking: NextQuestion) -> str:
    worth, unit = _WORTH[ranking.by]
    ahead = " with the best second question" if ranking.ahead > 1 else ""
    return f"{worth}{' per cost' if ranking.is_priced else ''}{ahead}, {unit}"


def _note(ranking: NextQuestion, question: RankedQuestion) -> str:
    if not ranking.is_priced:
        return number(question.score, 3)
    worth = question.information if ranking.by == "information" else question.gain
    alone = " alone" if ranking.ahead > 1 else ""
    return f"{number(worth, 3)}{alone}, cost {number(question.cost)}"


def _now(ranking: NextQuestion, target: str) -> str:
    best = ranking.posterior.argmax
    (state,) = texts([best], _LONGEST_TITLE)
    now = f"{target} = {state} has a probability of {number(ranking.posterior[best], 3)}"
    if ranking.best is None:
        return f"{now}; nothing is worth {'its price' if ranking.is_priced else 'asking'}"
    left = len(ranking) - 1
    return f"{now}; the best of {left + 1:,} questions is blue" if left else now
