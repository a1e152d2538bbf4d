"""Tables as lists of rows, such as ``(yes, low) 0.1, 0.9;`` in BIF and DSC files, all at once.

This is for long lists without faults: where it finds nothing, the parser of a format reads row by
row, and names what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import TableCPD
from bayesgraph.errors import BayesGraphError
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.number_text import BLANKS, SHORT, compiled_numbers
from bayesgraph.io.row_sums import RoundedRows, table_of
from bayesgraph.variables import Discrete


def cpd_of_rows(
    text: str,
    child: Discrete,
    parents: Sequence[Discrete],
    codes: Sequence[Mapping[str, int]],
    rounded: RoundedRows,
    sign: str = "",
) -> TableCPD | None:
    """Return the CPD of a list of rows, None if it is short or has faults; see `table_of_rows`."""
    cards = [parent.cardinality for parent in parents]
    values = table_of_rows(text, child.cardinality, codes, cards, sign)
    with suppress(BayesGraphError):
        return None if values is None else table_of(child, values, parents, rounded)
    return None


def table_of_rows(
    text: str, n: int, codes: Sequence[Mapping[str, int]], cards: Sequence[int], sign: str = ""
) -> Floats | None:
    """Return the table of a list that has a row for each configuration of the parents.

    Parameters
    ----------
    text : str
        Rows with the states of the parents in parentheses.
    n : int
        Numbers of a row.
    codes : sequence of mapping from str to int
        From the words for the states of each parent to their codes.
    cards : sequence of int
        Number of states of each parent.
    sign : str
        What stands between states and numbers, other than blanks.

    Returns
    -------
    ndarray or None
        With an axis for each parent and the last for the numbers of a row; None if the text is
        something else, or too short for compiled kernels.
    """
    if len(text) < SHORT:
        return None
    *pieces, rest = text.split(";")
    parts = [piece.split(")") for piece in pieces]
    if rest.strip() or '"' in text or len(parts) != math.prod(cards) or not codes:
        return None
    if set(map(len, parts)) != {2}:
        return None
    rows = [row for _, row in parts]
    if sign:
        rows = [row.lstrip() for row in rows]
        if not all(row.startswith(sign) for row in rows):
            return None
        rows = [row.removeprefix(sign) for row in rows]
    numbers = ";".join([*rows, ""]).encode("ascii", "replace")
    found = compiled_numbers(numbers, BLANKS + b",", b";")
    if found is None or (found.ends != n * np.arange(1, len(rows) + 1)).any():
        return None
    at = _configurations([head for head, _ in parts], codes, cards)
    if at is None or (np.bincount(at, minlength=len(rows)) != 1).any():
        return None
    table = np.empty((len(rows), n))
    table[at] = found.values.reshape(-1, n)
    return table.reshape(*cards, n)


def _configurations(
    heads: Sequence[str], codes: Sequence[Mapping[str, int]], cards: Sequence[int]
) -> NDArray[np.intp] | None:
    """Return the index of the configuration of each row, of which the last parent varies fastest.

    `heads` are the texts before the closing parentheses.
    """
    states = [head.split(",") for head in heads]
    if set(map(len, states)) != {len(codes)}:
        return None
    at = np.zeros(len(heads), np.intp)
    for k, column in enumerate(zip(*states, strict=True)):
        # Many rows have the same words, with the same blanks.
        spelled = {word: word.strip() for word in set(column)}
        if k == 0:
            if not all(word.startswith("(") for word in spelled.values()):
                return None
            spelled = {word: plain[1:].lstrip() for word, plain in spelled.items()}
        if not all(word in codes[k] for word in spelled.values()):
            return None
        code_of = {word: codes[k][plain] for word, plain in spelled.items()}
        at *= cards[k]
        at += np.fromiter(map(code_of.__getitem__, column), np.intp, len(column))
    return at
