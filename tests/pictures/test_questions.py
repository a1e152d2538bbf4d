"""The figure of what to ask next."""

import math

import pytest

import bayesgraph as bg
from bayesgraph.core.display import COLOURS, FRAME
from bayesgraph.core.errors import DataError
from bayesgraph.pictures import save_figure

ILL, FEVER = bg.Discrete("ill", ["no", "yes"]), bg.Discrete("$fever$", ["no", "yes"])
TEST, COIN = bg.Discrete("test", ["-", "+"]), bg.Discrete("coin", ["head", "tail"])
NET = bg.BayesianNetwork(
    [
        bg.TableCPD(ILL, [0.7, 0.3]),
        bg.TableCPD(FEVER, [[0.8, 0.2], [0.4, 0.6]], [ILL]),
        bg.TableCPD(TEST, [[0.95, 0.05], [0.1, 0.9]], [ILL]),
        bg.TableCPD(COIN, [0.5, 0.5]),
    ]
)


def drawn(axes):
    """Return the label, the length and the text of each bar, from the top."""
    bars = sorted(axes.patches, key=lambda bar: bar.get_y())
    labels = [label.get_text() for label in axes.get_yticklabels()]
    texts = [text.get_text() for text in axes.texts[: len(bars)]]
    return list(zip(labels, [bar.get_width() for bar in bars], texts, strict=True))


def test_bars_are_scores_and_the_best_is_blue(tmp_path):
    ranking = NET.ask.next_question("ill")
    figure = bg.plot(ranking)
    (axes,) = figure.axes
    assert [(name, length) for name, length, _ in drawn(axes)] == [
        (q.name, q.score) for q in ranking.questions
    ]
    assert [bar.get_facecolor() for bar in axes.patches].count(_rgba(COLOURS[0])) == 1
    assert axes.patches[0].get_facecolor() == _rgba(COLOURS[0])
    assert axes.get_xlabel() == "information, nats"
    assert axes.get_title(loc="left") == "What to ask next about ill"
    assert all(tick <= ranking.questions[0].score for tick in axes.get_xticks())
    save_figure(figure, tmp_path / "next.svg")
    assert not any(label.get_parse_math() for label in axes.get_yticklabels())


def _rgba(colour):
    return (*(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)), 1.0)


def test_prices_stand_beside_what_an_answer_is_worth():
    ranking = NET.ask.next_question("ill", costs={"$fever$": 1, "test": 12000}, by="accuracy")
    (axes,) = bg.plot(ranking, title="Ask").axes
    texts = {name: text for name, _, text in drawn(axes)}
    assert texts["test"] == f"{ranking['test'].gain:.3g}, cost 12000"
    assert axes.get_xlabel().startswith("gain of accuracy per cost, ")
    assert axes.get_title(loc="left") == "Ask"
    (axes,) = bg.plot(NET.ask.next_question("ill", costs={"test": 20}, ahead=2)).axes
    assert "alone, cost 20" in drawn(axes)[0][2]


def test_free_questions_have_the_longest_bar():
    ranking = NET.ask.next_question("ill", costs={"$fever$": 0, "test": 2})
    assert math.isinf(ranking["$fever$"].score)
    (axes,) = bg.plot(ranking).axes
    (_, free, _), (_, priced, _) = drawn(axes)
    assert priced == ranking["test"].score < free < axes.get_xlim()[1]


def test_nothing_is_worth_asking():
    (axes,) = bg.plot(NET.ask.next_question("ill", among=["coin"])).axes
    assert axes.patches[0].get_facecolor() == _rgba(FRAME)
    assert any("nothing is worth asking" in text.get_text() for text in axes.texts)


def test_the_number_of_bars():
    ranking = NET.ask.next_question("ill")
    assert len(bg.plot(ranking, max_questions=2).axes[0].patches) == 2
    with pytest.raises(DataError, match="1 or more; got 0"):
        bg.plot(ranking, max_questions=0)
    known = {"$fever$": "no", "test": "-", "coin": "head"}
    with pytest.raises(DataError, match="nothing to draw"):
        bg.plot(NET.ask.next_question("ill", known))
