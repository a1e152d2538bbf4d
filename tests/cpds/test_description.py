"""Local distributions as tables of text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.cpds import CPD, description, tree
from bayesgraph.io.uai import format_uai
from bayesgraph.plots import tree_to_dot

PART = bg.Discrete("part", list(range(20)))
BIG = bg.Discrete("big", list(range(10_000)))
CALLS = [bg.Count(i) for i in range(2_000)]
ONES = np.ones((20, 2_000))


@pytest.mark.parametrize(
    "cpd",
    [
        bg.TableCPD(BIG, np.full(10_000, 1e-4)),
        bg.TableCPD(bg.Discrete("x", [0, 1]), np.full((10_000, 2), 0.5), [BIG]),
        bg.NegativeBinomialCPD(CALLS, ONES, ONES, [PART]),
        bg.TreeCPD(BIG, bg.Split(PART, [3], *np.full((2, 10_000), 1e-4)), [PART]),
        bg.TreeCPD(PART, bg.Split(BIG, list(range(5_000)), *np.full((2, 20), 0.05)), [BIG]),
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

    for module in (description, tree):
        monkeypatch.setattr(module, "texts", counted)
    assert len(repr(cpd).splitlines()) <= 23
    assert max(map(len, repr(cpd).splitlines())) < 200
    assert max(sizes) <= 21


def test_a_way_to_a_leaf_is_limited_in_length() -> None:
    splits: Any = [0.5, 0.5]
    numbers = [bg.Continuous(f"a rather long name {i}") for i in range(30)]
    for i, number in enumerate(numbers):
        splits = bg.Split(number, 0.0, [0.1, 0.9] if i % 2 else [0.2, 0.8], splits)
    cpd = bg.TreeCPD(bg.Discrete("x", [0, 1]), splits, numbers)
    rows = cpd.describe(31, 2).rows
    assert len({row[0] for row in rows}) == len(rows) == 31
    assert max(len(row[0]) for row in rows) <= 160
    assert "31 leaves, depth 30" in repr(cpd)
    assert "leaves" not in cpd.title


def test_messages_name_a_distribution_on_one_line() -> None:
    x = bg.Discrete("x", [0, 1])
    with pytest.raises(bg.errors.DataTypeError, match=r"got TableCPD P\(x\)\.$"):
        tree_to_dot(bg.TableCPD(x, [0.5, 0.5]))  # type: ignore[arg-type]
    by_number = bg.TreeCPD(x, bg.Split("y", 0.0, [0.1, 0.9], [0.6, 0.4]), [bg.Continuous("y")])
    graph = bg.FactorGraph([by_number])
    with pytest.raises(bg.errors.LossyExportError) as caught:
        format_uai(graph)
    assert "leaf" not in str(caught.value)
    net = bg.BayesianNetwork([bg.GammaCPD(bg.Continuous("y"), 2.0, 1.0), by_number])
    with pytest.raises(bg.errors.UnsupportedModelError, match=r"GammaCPD p\(y\) does not know"):
        net.query("x")


def test_advice_about_covariances_names_parameters_that_there_are() -> None:
    y = [bg.Continuous("y"), bg.Continuous("z")]
    for matrix in ([[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]]):
        with pytest.raises(bg.errors.CPDError, match=r"Smoothing\(var_smoothing=") as caught:
            _ = bg.JointGaussianCPD(y, [0.0, 0.0], matrix).roots
        assert "shrinkage" not in str(caught.value)
