"""Conditional distributions as tables of text, for printing and for the nodes of plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bayesgraph.display import cut_texts, rounded
from bayesgraph.factors import Factor
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Binned, CountVector, Discrete, Variable

# Maximum length of the texts in a header; longer texts are shortened.
_LONGEST = 16


# ---------------------------------------------------------------------------------------- text


def texts(values: Iterable[object], longest: int) -> list[str]:
    """Return values as texts of one line, different texts for different values.

    ``1`` and ``"1"`` become ``1`` and ``'1'``. Texts longer than `longest` lose their middle,
    because the end often distinguishes columns.
    """
    items = list(values)
    count = Counter(str(item) for item in items)
    # A blank would be invisible, and an empty label is a syntax error of DOT.
    shown = [
        text if count[text] == 1 and text.strip() else repr(item)
        for item in items
        for text in [str(item)]
    ]
    lines = [" ".join(text.splitlines()) for text in shown]
    cut = [_shortened(text, longest) for text in lines]
    while len(set(cut)) < len(set(lines)):
        longest *= 2
        cut = [_shortened(text, longest) for text in lines]
    return cut


def state_texts(variable: Discrete, longest: int, n: int | None = None) -> list[str]:
    """Return the states, or the first n, as texts of one line and about `longest` characters.

    Intervals have the ends of `cut_texts`.
    """
    if not isinstance(variable, Binned):
        return texts(variable.states[:n], longest)
    ends = ["-inf", *cut_texts(variable.cuts[:n], (longest - len("(, ]")) // 2), "inf"]
    found = [f"({a}, {b}]" for a, b in pairwise(ends)]
    return [*found[:-1], f"{found[-1][:-1]})"][:n]


def _shortened(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"


def number(value: float, digits: int = 4) -> str:
    """Return a number as `rounded` does, as in figures: minus is U+2212."""
    return rounded(value, digits).replace("-", "−")


# ------------------------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Description:
    """A conditional distribution as a table of texts.

    Attributes
    ----------
    header : list of str
    rows : list of lists of str
    tints : ndarray, shape (n rows, n numbers), optional
        Intensities from 0 to 1 of the background colours of the last n cells of each row, for
        plots.
    note : str
        Number of rows and columns not shown, or the whole description if there is no table.
    keys : int
        Number of the first columns, which say what a row is about.
    """

    header: list[str]
    rows: list[list[str]]
    tints: Floats | None = None
    note: str = ""
    keys: int = 1


def describe_table(
    parents: Sequence[Discrete],
    child: Discrete,
    values: Floats,
    max_rows: int,
    max_columns: int,
    *,
    probability: bool = True,
) -> Description:
    """Return a table of texts with a column for each state of the child.

    Parameters
    ----------
    parents : sequence of Discrete
    child : Discrete
    values : ndarray, shape (*parents' cardinalities, states of the child)
    max_rows, max_columns : int
    probability : bool
        Whether to print three decimals, with three significant digits only for values that would be
        rounded to zero. Otherwise all values have three significant digits.
    """
    table = values.reshape(-1, child.cardinality)
    columns = list(range(min(child.cardinality, max_columns)))
    names = state_texts(child, _LONGEST, max_columns)
    return _shares(parents, table, columns, names, max_rows, 1.0, "column", probability)


def describe_items(
    parents: Sequence[Discrete],
    child: CountVector,
    shares: Floats,
    max_rows: int,
    max_columns: int,
) -> Description:
    """Return a table of texts with columns for the most probable items, the most probable first.

    Parameters
    ----------
    parents : sequence of Discrete
    child : CountVector
    shares : ndarray, shape (*parents' cardinalities, n_items)
        Probability of each item.
    max_rows, max_columns : int
    """
    table = shares.reshape(-1, len(child.items))
    shown = np.argsort(-table.mean(axis=0), kind="stable")[:max_columns].tolist()
    names = texts([child.items[i] for i in shown], _LONGEST)
    return _shares(parents, table, shown, names, max_rows, 1e-300, "item", True)


def _shares(
    parents: Sequence[Discrete],
    table: Floats,
    columns: list[int],
    names: list[str],
    max_rows: int,
    darkest: float,
    column: str,
    probability: bool,
) -> Description:
    shown = table[:max_rows, columns]
    header = [*texts([parent.name for parent in parents], _LONGEST), *names]
    rows = [
        [*key, *(_share(float(value), probability) for value in row)]
        for key, row in zip(_configurations(parents, len(shown)), shown, strict=True)
    ]
    note = left_out(len(table) - len(shown), table.shape[1] - len(columns), column)
    tints = shown / max(float(shown.max()), darkest)
    return Description(header, rows, tints, note, len(parents))


def describe_numbers(
    parents: Sequence[Discrete],
    children: Sequence[Variable],
    columns: Mapping[str, Floats],
    max_rows: int,
    hidden: int = 0,
) -> Description:
    """Return a table of texts with a column for each parameter of a distribution.

    Parameters
    ----------
    parents : sequence of Discrete
    children : sequence of Variable
        If there are several, the first column of the table names the child of each row.
    columns : mapping from header to ndarray, shape (*parents' cardinalities, n children)
    max_rows : int
    hidden : int
        Number of parameters that have no column, for the note.
    """
    cells = int(np.prod([parent.cardinality for parent in parents], dtype=np.intp))
    total = cells * len(children)
    child, cell = np.divmod(np.arange(min(total, max_rows)), cells)
    shown = children[: child[-1] + 1] if len(children) > 1 else []
    names = texts([variable.name for variable in shown], _LONGEST)
    keys = _configurations(parents, min(cells, max_rows))
    values = [column.reshape(cells, -1)[cell, child].tolist() for column in columns.values()]
    rows = [
        [*names[i : i + 1], *keys[j], *map(number, numbers)]
        for i, j, *numbers in zip(child.tolist(), cell.tolist(), *values, strict=True)
    ]
    head = ["child"] if names else []
    header = [*head, *texts([parent.name for parent in parents], _LONGEST), *columns]
    note = left_out(total - len(rows), hidden)
    return Description(header, rows, None, note, len(header) - len(columns))


def describe_factor(factor: Factor, max_rows: int, max_columns: int) -> Description:
    """Return a factor as a table of texts, with a column for each state of its last variable."""
    if not factor.scope:
        return Description([], [], None, number(float(np.exp(factor.log_values[0]))))
    *others, last = factor.scope
    values = np.exp(factor.log_values[0])
    return describe_table(others, last, values, max_rows, max_columns, probability=False)


def _share(value: float, probability: bool) -> str:
    if probability and (value == 0 or value >= 0.0005):
        return f"{value:.3f}"
    return number(value, 3)


def _configurations(parents: Sequence[Discrete], n: int) -> list[list[str]]:
    """Return the states of the parents, as texts, in the first n parent configurations."""
    if not parents:
        return [[]]
    codes = np.unravel_index(np.arange(n), [parent.cardinality for parent in parents])
    names = [
        state_texts(parent, _LONGEST, int(code.max()) + 1)
        for parent, code in zip(parents, codes, strict=True)
    ]
    return [
        [text[c] for text, c in zip(names, row, strict=True)] for row in zip(*codes, strict=True)
    ]


def left_out(rows: int, columns: int, column: str = "column") -> str:
    """Return a note such as "… 3 more rows and 2 more columns" about what is not shown.

    `rows` and `columns` are the numbers of rows and columns that are not shown; `column` is the
    word for a column, such as "item".
    """
    parts = [
        f"{n:,} more {what}{'s' * (n > 1)}" for n, what in ((rows, "row"), (columns, column)) if n
    ]
    return f"… {' and '.join(parts)}" if parts else ""
