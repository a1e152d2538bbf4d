"""Expressions in Hugin's NET files: linear Gaussians, and models of tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from bayesgraph.errors import quoted, suggestion
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.block_text import STRING, unquoted
from bayesgraph.io.nested_numbers import TableError, nested_numbers

_NUMBER = r"[-+]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+"
_NAME = r"[A-Za-z_][\w.]*+"
_NORMAL = re.compile(r"normal\s*+\(([^(),]*+),([^(),]*+)\)")
_TERM = re.compile(
    rf"\s*+(?P<sign>[-+]?)\s*+(?:(?P<number>{_NUMBER})(?:\s*+\*\s*+(?P<name>{_NAME}))?+"
    rf"|(?P<alone>{_NAME})(?:\s*+\*\s*+(?P<factor>{_NUMBER}))?+)\s*+"
)
_VARIANCE = re.compile(rf"\s*+{_NUMBER}\s*+")
_BETWEEN = re.compile(r"[\s(),]*+")
_MODEL = re.compile(
    rf"\s*+(?:Distribution\s*+\((?P<numbers>[-+.0-9eE,\s]*+)\)|(?P<state>{STRING}|[\w.+\-]++))"
    r"\s*+(?:,|\Z)",
    re.DOTALL,
)


def normals(
    text: str, cards: Sequence[int], parents: Sequence[str]
) -> tuple[Floats, Floats, Floats]:
    """Return means, variances and slopes of a nested list of ``normal (mean, variance)``.

    A mean is a sum of numbers and of products such as ``0.5 * Z``.

    Parameters
    ----------
    text : str
    cards : sequence of int
        Numbers of states of the discrete parents.
    parents : sequence of str
        The continuous parents.

    Raises
    ------
    TableError
        If the text is something else.
    """
    if not _BETWEEN.fullmatch(_NORMAL.sub("", text)):
        raise TableError(0, "expected a list of 'normal ( mean, variance )'")
    try:
        nested_numbers(_NORMAL.sub("0", text), tuple(cards) or (1,))
    except TableError as error:
        raise TableError(0, f"{error}, where each 'normal ( ... )' counts as one") from error
    columns = {name: k for k, name in enumerate(parents)}
    found = [_normal(match, columns) for match in _NORMAL.finditer(text)]
    means, variances, slopes = (np.array(numbers) for numbers in zip(*found, strict=True))
    shape = tuple(cards)
    return means.reshape(shape), variances.reshape(shape), slopes.reshape(*shape, len(parents))


def _normal(match: re.Match[str], columns: Mapping[str, int]) -> tuple[float, float, list[float]]:
    mean, variance = match.groups()
    if not _VARIANCE.fullmatch(variance):
        raise TableError(
            match.start(), f"expected a number as the variance; got {variance.strip()!r:.60}"
        )
    try:
        constant, slopes = _linear(mean, columns)
    except ValueError as error:
        raise TableError(match.start(), str(error)) from error
    return constant, float(variance), slopes


def _linear(text: str, columns: Mapping[str, int]) -> tuple[float, list[float]]:
    """Return the constant and the slopes of a sum."""
    # The first number of each kind is taken as it is: -0.0 added to 0.0 would lose its sign.
    found: dict[int, float] = {}
    at = 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None or (at and not term["sign"]):
            raise ValueError(
                f"expected a sum such as '1.5 + 2 * {next(iter(columns), 'x')}' as the mean; got "
                f"{text.strip()!r:.60}"
            )
        name = term["name"] or term["alone"]
        if name is not None and name not in columns:
            raise ValueError(
                f"{name!r} in a mean is no continuous parent.{suggestion(name, columns)} Such are "
                f"{quoted(columns) or 'none'}"
            )
        number = float(term["number"] or term["factor"] or "1")
        number = -number if term["sign"] == "-" else number
        place = -1 if name is None else columns[name]
        found[place] = found[place] + number if place in found else number
        at = term.end()
    if not found:
        raise ValueError("expected a mean before ','; got none")
    return found.get(-1, 0.0), [found.get(k, 0.0) for k in range(len(columns))]


def modelled(text: str, states: Sequence[str], n_rows: int) -> Floats:
    """Return the rows of a list of expressions, one for each configuration of the model's nodes.

    An expression is a ``Distribution (p, ...)`` of numbers, or a state.

    Parameters
    ----------
    text : str
        The list in parentheses, or one expression alone.
    states : sequence of str
        Of the child.
    n_rows : int

    Returns
    -------
    ndarray of float, shape (n_rows, n_states)

    Raises
    ------
    TableError
        If an expression is another one, or there are too few or too many.
    """
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    rows: list[list[float]] = []
    at = 0
    while at < len(text):
        match = _MODEL.match(text, at)
        if match is None:
            raise TableError(
                0,
                "expected 'Distribution ( p, ... )' of numbers or a state; got "
                f"{text[at : at + 60].strip()!r}. In Hugin, compile the network and save it, which "
                "writes the table too",
            )
        rows.append(_row(match, states))
        at = match.end()
    if len(rows) != n_rows:
        raise TableError(0, f"expected {n_rows:,} expressions; got {len(rows):,}")
    return np.array(rows)


def _row(match: re.Match[str], states: Sequence[str]) -> list[float]:
    if (numbers := match["numbers"]) is not None:
        words = numbers.replace(",", " ").split()
        if len(words) != len(states):
            raise TableError(0, f"expected {len(states)} numbers in {match[0].strip()!r:.60}")
        try:
            return list(map(float, words))
        except ValueError as error:
            raise TableError(0, f"expected numbers in {match[0].strip()!r:.60}") from error
    state = unquoted(match["state"])
    if state not in states:
        raise TableError(
            0, f"{state!r:.60} is no state.{suggestion(state, states)} States are {quoted(states)}"
        )
    return [float(state == other) for other in states]
