"""Local distributions as tables of text."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.display import cut_texts
from bayesgraph.files.uai import format_uai
from bayesgraph.models import CPD
from bayesgraph.models.cpds import base as description
from bayesgraph.models.cpds import trees
from bayesgraph.pictures import to_dot

PART = bg.Discrete("part", list(range(20)))
BIG = bg.Discrete("big", list(range(10_000)))
CALLS = [bg.Count(i) for i in range(2_000)]
ONES = np.ones((20, 2_000))


@pytest.mark.parametrize(
    "cpd",
    [
        bg.TableCPD(BIG, np.full(10_000, 1e-4)),
        bg.TableCPD(bg.Discrete("x", [0, 1]), np.full((10_000, 2), 0.5), [BIG]),
        bg.models.NegativeBinomialCPD(CALLS, ONES, ONES, [PART]),
        bg.models.TreesCPD(BIG, bg.Split(PART, [3], *np.full((2, 10_000), 1e-4)), [PART]),
        bg.models.TreesCPD(PART, bg.Split(BIG, list(range(5_000)), *np.full((2, 20), 0.05)), [BIG]),
    ],
    ids=["states", "states of a parent", "children", "states of a tree", "states of a split"],
)
def test_what_is_not_shown_is_not_written(cpd: CPD, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    texts = description.texts

    def counted(values: Any, longest: int) -> list[str]:
        found = texts(values, longest)
        sizes.append(len(found))
        return found

    for module in (description, trees):
        monkeypatch.setattr(module, "texts", counted)
    assert len(repr(cpd).splitlines()) <= 23
    assert max(map(len, repr(cpd).splitlines())) < 200
    assert max(sizes) <= 21


CUTS = [
    *([147.5], [54.25, 147.75], [1.51596, 1.51732], [1e-7, 0.1234567890123], [-147.123456789]),
    *([0.30000000000000004, 0.3], [1.2345678901e-7], [123456789012.5], [1e22], [-0.0], []),
]


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("longest", [4, 6, 10])
def test_texts_of_cuts_are_exact_or_say_that_they_are_not(cuts: list[float], longest: int) -> None:
    shown = cut_texts(cuts, longest)
    assert len(set(shown)) == len(cuts)
    for cut, text in zip(cuts, shown, strict=True):
        mantissa, dots, exponent = text.partition("…")
        if dots:
            assert len(text) < len(repr(cut))
            assert repr(cut).startswith(mantissa)
            assert repr(cut).endswith(exponent)
            assert re.fullmatch(r"-?\d+\.\d+", mantissa)
        else:
            assert float(text) == cut


def test_intervals_are_shortened_by_digits() -> None:
    glass = bg.Binned("refraction", [1.51596, 1.51732])
    long, short = description.state_texts(glass, 24), description.state_texts(glass, 16)
    assert long == ["(-inf, 1.51596]", "(1.51596, 1.51732]", "(1.51732, inf)"]
    assert short == ["(-inf, 1.515…]", "(1.515…, 1.517…]", "(1.517…, inf)"]
    assert description.state_texts(glass, 24, 1) == ["(-inf, 1.51596]"]
    assert description.state_texts(glass, 20_000) == list(glass.states)  # as on pages
    assert description.state_texts(bg.Binned("x", []), 24) == ["(-inf, inf)"]


def test_thresholds_of_trees_are_not_rounded() -> None:
    age = bg.Continuous("age")
    halves = bg.Split(age, 147.25, [0.1, 0.9], [0.2, 0.8])
    cpd = bg.models.TreesCPD(bg.Discrete("x", [0, 1]), halves, [age])
    assert "age ≤ 147.25" in repr(cpd)
    assert '" ≤ 147.25 "' in to_dot(cpd)


def test_a_way_to_a_leaf_is_limited_in_length() -> None:
    splits: Any = [0.5, 0.5]
    numbers = [bg.Continuous(f"a rather long name {i}") for i in range(30)]
    for i, number in enumerate(numbers):
        splits = bg.Split(number, 0.0, [0.1, 0.9] if i % 2 else [0.2, 0.8], splits)
    cpd = bg.models.TreesCPD(bg.Discrete("x", [0, 1]), splits, numbers)
    rows = cpd.describe(31, 2).rows
    assert len({row[0] for row in rows}) == len(rows) == 31
    assert max(len(row[0]) for row in rows) <= 160
    assert "31 leaves, depth 30" in repr(cpd)
    assert "leaves" not in cpd.title


@pytest.mark.parametrize(
    "values",
    [
        ["a\nb", "a b"],
        [" ", "' '"],
        [""],
        ["", "''", "\"''\""],
        [1, "1", "'1'"],
        [True, "True", 1, "1"],
        ["a\u2028b", "a\x0bb", "a b"],
        [("a", 1), "('a', 1)", "\"('a', 1)\""],
    ],
)
def test_different_values_have_different_texts_of_one_line(values):
    for several in itertools.permutations(values):
        found = description.texts(several, 80)
        assert len(set(found)) == len(found)
        assert all(len(text.splitlines()) == 1 and text.strip() for text in found)


def test_messages_name_a_distribution_on_one_line() -> None:
    x = bg.Discrete("x", [0, 1])
    with pytest.raises(bg.errors.DataTypeError, match=r"got TableCPD P\(x\)\.$"):
        to_dot(bg.TableCPD(x, [0.5, 0.5]))
    by_number = bg.models.TreesCPD(
        x, bg.Split("y", 0.0, [0.1, 0.9], [0.6, 0.4]), [bg.Continuous("y")]
    )
    graph = bg.FactorGraph([by_number])
    with pytest.raises(bg.errors.LossyExportError) as caught:
        format_uai(graph)
    assert "leaf" not in str(caught.value)
    below = bg.GaussianCPD(bg.Continuous("z"), 0.0, 1.0, [bg.Continuous("y")], [1.0])
    net = bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous("y"), 2.0, 1.0), below])
    with pytest.raises(
        bg.errors.UnsupportedModelError, match=r"GaussianCPD p\(z \| y\) is another"
    ):
        net.query("y", {"z": bg.Between(0)})


def test_advice_about_covariances_names_parameters_that_there_are() -> None:
    y = [bg.Continuous("y"), bg.Continuous("z")]
    for matrix in ([[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]]):
        with pytest.raises(bg.errors.CPDError, match=r"Smoothing\(var_smoothing=") as caught:
            _ = bg.models.JointGaussianCPD(y, [0.0, 0.0], matrix).roots
        assert "shrinkage" not in str(caught.value)


def test_the_whole_table_as_text_keeps_to_a_line_by_continuing_below() -> None:
    rain = bg.Discrete("rain", ["no", "yes"])
    month = bg.Discrete("month", [f"month {i}" for i in range(1, 31)])
    values = np.arange(1.0, 61.0).reshape(2, 30)
    values /= values.sum(axis=1, keepdims=True)
    cpd = bg.TableCPD(month, values, [rain])
    lines = cpd.to_text().splitlines()
    assert lines[0] == "TableCPD P(month | rain)"
    assert max(map(len, lines)) <= 80
    # Every number stands under its state, in a line that begins with the state of the parent.
    found: dict[tuple[str, str], str] = {}
    header: list[str] = []
    for line in filter(None, lines[1:]):
        cells = re.split(r" {2,}", line.strip())
        if cells[0] == "rain":
            header = cells
        else:
            found |= {(cells[0], name): x for name, x in zip(header[1:], cells[1:], strict=True)}
    assert found == {
        (above, state): f"{p:.3f}"
        for above, row in zip(rain.states, values, strict=True)
        for state, p in zip(month.states, row, strict=True)
    }


@pytest.mark.parametrize("limit", ["max_rows", "max_columns"])
def test_the_text_of_a_distribution_has_at_least_one_row_and_column(limit: str) -> None:
    a = bg.Discrete("a", ["no", "yes"])
    cpds = [
        bg.TableCPD(a, [0.5, 0.5]),
        bg.GaussianCPD(bg.Continuous("x"), 0.0, 1.0),
        bg.NoisyOrCPD(bg.Discrete("y", ["no", "yes"]), [0.5], [a]),
    ]
    for cpd in cpds:
        with pytest.raises(bg.errors.DataError, match=f"{limit} is a number of .*, 1 or more"):
            cpd.to_text(**{limit: 0})


@pytest.mark.parametrize("n", [3, 40])
def test_the_text_of_a_table_says_what_it_leaves_out(n: int) -> None:
    cpd = bg.TableCPD(PART, np.full((n, 20), 0.05), [bg.Discrete("x", range(n))])
    assert "more" not in cpd.to_text()
    text = cpd.to_text(max_rows=2, max_columns=5)
    assert f"… {n - 2:,} more row{'s' * (n > 3)} and 15 more columns" in text
    assert cpd.to_text(max_rows=20, max_columns=2).count("\n") == min(n, 20) + 2
