"""Statistics have the same bits however rows are divided into runs of blocks."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core import parallel as grid
from bayesgraph.core.parallel import blocks, is_exact, tree_sum
from bayesgraph.statistics import (
    Families,
    Family,
    Histograms,
    Moments,
    Pairs,
    Samples,
    Singles,
    Statistics,
    Totals,
)
from bayesgraph.tables import Table


class Text:
    """A sum that shows its order."""

    def __init__(self, text):
        self.text = text

    def __add__(self, other):
        return Text(f"({self.text}{other.text})")


@pytest.mark.parametrize(
    ("n", "text"),
    [(1, "0"), (2, "(01)"), (3, "((01)2)"), (6, "(((01)(23))(45))"), (7, "(((01)(23))((45)6))")],
)
def test_sums_follow_the_binary_tree_of_the_numbers(n, text):
    assert tree_sum(Text(str(k)) for k in range(n)).text == text


@pytest.mark.parametrize("run", [1, 2, 4, 8, 64])
def test_runs_of_blocks_are_nodes_of_the_tree(run):
    numbers = [Text(f"{k}.") for k in range(23)]
    runs = [tree_sum(numbers[first : first + run]) for first in range(0, 23, run)]
    assert tree_sum(runs).text == tree_sum(numbers).text


def test_blocks_cover_all_rows(monkeypatch):
    monkeypatch.setattr(grid, "BLOCK", 4)
    assert list(blocks(0)) == [slice(0, 0)]
    assert list(blocks(8)) == [slice(0, 4), slice(4, 8)]
    assert list(blocks(9))[-1] == slice(8, 9)


def test_sums_of_whole_weights_are_exact():
    assert is_exact(np.empty(0))
    assert is_exact(np.array([0.0, 3.0]))
    assert not is_exact(np.array([0.5, 3.0]))
    assert not is_exact(np.array([2.0**53, 1.0]))


def mixed_table(n_rows, random, *, gaps):
    """Return a table of discrete, continuous and count columns with a class in its last column."""
    discrete = [bg.Discrete(f"d{i}", range(2 + i)) for i in range(4)]
    continuous = [bg.Continuous(f"c{i}") for i in range(3)]
    words = bg.CountVector("words", ["a", "b"])
    codes = np.stack([random.integers(0, 2 + i, n_rows) for i in range(4)], axis=1)
    values = random.normal(size=(n_rows, 3)) * [1.0, 7.0, 1e-3] + [0.0, 1e5, 1.0]
    counts = random.random((n_rows, 2)) * 5
    if gaps:
        codes[:, :2][random.random((n_rows, 2)) < 0.1] = -1
        values[:, :2][random.random((n_rows, 2)) < 0.1] = np.nan
    return Table(
        (*continuous, words, *discrete),
        np.asfortranarray(codes.astype(np.int8)),
        values,
        not gaps,
        {words: counts},
    )


def bits(value):
    """Return all arrays of statistics as bytes, in a nested tuple."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return tuple((key, bits(part)) for key, part in value.items())
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    if is_dataclass(value):
        return tuple(bits(getattr(value, field.name)) for field in fields(value))
    return repr(value)


@pytest.mark.one_in(15)
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("run", [1, 2, 8])
def test_statistics_do_not_depend_on_runs(monkeypatch, gaps, weights, run):
    monkeypatch.setattr(grid, "BLOCK", 50)
    random = np.random.default_rng(0)
    n_rows = 50 * 13 + 7
    table = mixed_table(n_rows, random, gaps=gaps)
    weight = {
        "none": np.empty(0),
        "whole": random.integers(0, 4, n_rows).astype(float),
        "fractional": random.random(n_rows),
    }[weights]
    c, d = table.continuous, table.discrete
    target, columns = d[-1], (*c, *d[:-1])
    requests = [
        Singles(columns, target),
        Pairs(columns, target),
        Pairs(columns, None),
        Families((Family.of(d[0], d[1], target), Family.of(d[0], d[2], target))),
        Families((Family.of(target, c[0], c[1]), Family.of(target, c[0]), Family.of(d[0], c[2]))),
        Moments(c, ("identity",), target),
        Samples(c[:1], target),
        Histograms(c[:2], ((-1.0, 0.0, 1.0), (1e5,)), target),
        Totals(table.variables[3], target, None),
    ]
    whole = Statistics.collect(table, requests, weight)
    step = 50 * run
    parts = [
        Statistics.collect(table.rows(slice(k, k + step)), requests, weight[k : k + step])
        for k in range(0, n_rows, step)
    ]
    assert bits(tree_sum(parts).summaries) == bits(whole.summaries)
