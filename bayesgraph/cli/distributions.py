"""Conditional distributions as text in the width of a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import bayesgraph as bg
from bayesgraph.cpds import CPD, TreeCPD
from bayesgraph.cpds.description import Description
from bayesgraph.display import DisplayTable
from bayesgraph.errors import DataError
from bayesgraph.families import FAMILIES
from bayesgraph.variables import Discrete, Name

_WIDTH = 80
# Rows and columns of each table where those of all variables are printed.
_SOME = 20, 24
_ALL = 1 << 30, 1 << 30


def family_name(cpd: CPD) -> str:
    """Return what the family of a leaf is called, such as "gaussian"."""
    kinds = {kind: name for name, family in FAMILIES.items() for kind in family.stored.values()}
    return kinds.get(type(cpd), type(cpd).__name__)


def distributions_text(network: Any, names: Sequence[Name]) -> str:
    """Return the distributions of some variables as text, of all without names.

    Those of named variables are whole, of the others rows and states are left out beyond a page.

    Raises
    ------
    DataError
        If the model has no distribution of each variable given others.
    """
    if not isinstance(network, (bg.BayesianNetwork, bg.WeightedNetwork)):
        raise DataError(
            f"Tables are those of a single network; got {network!r}. Fit one, such as by "
            "--trees 0, or ask by 'bayesgraph query'."
        )
    chosen = [c for c in network.cpds if not names or {v.name for v in c.children} & {*names}]
    return "\n\n".join(_text(cpd, *(_ALL if names else _SOME)) for cpd in chosen)


def _text(cpd: CPD, max_rows: int, max_columns: int) -> str:
    """Return a distribution as text; columns that do not fit beside each other follow below."""
    found = cpd.describe(max_rows, max_columns)
    title = textwrap.fill(cpd.title, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    if not found.rows:
        return "\n".join([title, *([f"  {found.note}"] if found.note else [])])
    n_labels = 1 if isinstance(cpd, TreeCPD) else sum(isinstance(p, Discrete) for p in cpd.parents)
    parts = [title]
    if isinstance(cpd, TreeCPD):
        parts += _leaves(found)
    else:
        parts += [_part(found, n_labels, columns) for columns in _fitting(found, n_labels)]
    return "\n".join([*parts, *([f"  {found.note}"] if found.note else [])])


def _fitting(found: Description, n_labels: int) -> Iterator[range]:
    """Yield the columns of numbers in runs that fit beside the labels."""
    lines = [found.header, *found.rows]
    widths = [2 + max(map(len, column)) for column in zip(*lines, strict=True)]
    room = _WIDTH - sum(widths[:n_labels])
    first, taken = n_labels, 0
    for column in range(n_labels, len(widths)):
        taken += widths[column]
        if taken > room and column > first:
            yield range(first, column)
            first, taken = column, widths[column]
    yield range(first, len(widths))


def _part(found: Description, n_labels: int, columns: range) -> str:
    """Return the labels and some columns of numbers as lines."""
    kept = [*range(n_labels), *columns]
    lines = [[line[j] for j in kept] for line in (found.header, *found.rows)]
    table = DisplayTable("", lines[1:], lines[0], labels=n_labels)
    return table.text().removeprefix("\n")


def _leaves(found: Description) -> Iterator[str]:
    """Yield the lines of a tree: the numbers, then the conditions, which may need several lines."""
    numbers = [line[1:] for line in (found.header, *found.rows)]
    widths = [max(map(len, column)) for column in zip(*numbers, strict=True)]
    for path, line in zip(["leaf", *(row[0] for row in found.rows)], numbers, strict=True):
        cells = "  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True))
        begin = f"  {cells}  "
        if len(begin) > _WIDTH // 2:
            begin, after = f"  {path}", f"    {cells}"
            yield from (begin, after)
        else:
            yield textwrap.fill(
                path, _WIDTH, initial_indent=begin, subsequent_indent=" " * len(begin)
            )
