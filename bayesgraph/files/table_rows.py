"""The rows of a table of probabilities, as BIF files list them, one by one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats
from bayesgraph.core.files import BYTES_OF_CELL, Budget
from bayesgraph.core.variables import Discrete, Name
from bayesgraph.models import CPD, SUM_TOLERANCE, Annotations, BayesianNetwork, TableCPD

# ------------------------ The rows of a table of probabilities, as BIF files list them, one by one


@dataclass
class TableRows:
    """The rows of one variable that are read, with errors that name the line.

    Attributes
    ----------
    child : Discrete
    parents : sequence of Discrete
        The last varies fastest.
    codes : sequence of mapping from str to int
        From the words for the states of each parent to their codes.
    error : callable
        Returns an error, given a position in the text and a message.
    default : list of float, optional
        Numbers of the rows that are not there.
    places : dict from int to int
        From the index of a configuration of the parents to the position of its row.
    """

    child: Discrete
    parents: Sequence[Discrete]
    codes: Sequence[Mapping[str, int]]
    error: Callable[[int, str], errors.FileFormatError]
    default: list[float] | None = None
    places: dict[int, int] = field(default_factory=dict)
    # Of all rows, in the order of the file, which is also that of `places`.
    _numbers: list[float] = field(default_factory=list)

    def add(self, words: Sequence[str], text: str, at: int) -> None:
        """Add the row of a configuration.

        Parameters
        ----------
        words : sequence of str
            For the states of the parents.
        text : str
            Its numbers.
        at : int
            Its position.

        Raises
        ------
        FileFormatError
            If the configuration has a row, or a word or a number is none.
        """
        index = self._index(words, at)
        if index in self.places:
            given = f" ({', '.join(words)})" if words else ""
            text = f"the row{given} of {self.child.name!r} is given a second time."
            raise self.error(at, text)
        self.places[index] = at
        self._numbers += self.floats(text, at, self.child.cardinality)

    def floats(self, text: str, at: int, count: int) -> list[float]:
        """Return the numbers of a text, of which there are so many.

        Raises
        ------
        FileFormatError
            If there are others, or something else.
        """
        words = text.replace(",", " ").split()
        name = self.child.name
        if len(words) != count:
            raise self.error(at, f"expected {count} probabilities for {name!r}; got {len(words)}.")
        try:
            return list(map(float, words))
        except ValueError as error:
            raise self.error(at, f"expected numbers for {name!r}: {error}.") from error

    def _index(self, words: Sequence[str], at: int) -> int:
        """Return the index of a configuration."""
        index = 0
        for parent, code_of, word in zip(self.parents, self.codes, words, strict=True):
            code = code_of.get(word)
            if code is None:
                near = errors.suggestion(word, parent.states)
                raise self.error(
                    at,
                    f"{word!r:.40} is not a state of {parent.name!r}.{near} Its states are "
                    f"{errors.quoted(parent.states)}.",
                )
            index = index * parent.cardinality + code
        return index

    def table(self, at: int, budget: Budget) -> Floats:
        """Return the table, with the child on the last axis; `at` is the position of all rows.

        Raises
        ------
        FileFormatError
            If rows are missing and there is no default, or the table is beyond the budget.
        """
        n, cards = self.child.cardinality, [parent.cardinality for parent in self.parents]
        n_rows = math.prod(cards)
        if len(self.places) < n_rows and self.default is None:
            raise self._missing(at, n_rows)
        if self.default is not None:
            # No text confirms the size of the table.
            budget.take(BYTES_OF_CELL * n_rows * n, f"the table of {self.child.name!r}")
        table = np.empty((n_rows, n))
        if self.default is not None:
            table[:] = self.default
        if self.places:
            table[list(self.places)] = np.array(self._numbers).reshape(-1, n)
        return table.reshape(*cards, n)

    def _missing(self, at: int, n_rows: int) -> errors.FileFormatError:
        missing = next(row for row in range(n_rows) if row not in self.places)
        states: list[str] = []
        for parent in reversed(self.parents):
            missing, code = divmod(missing, parent.cardinality)
            states.append(str(parent.states[code]))
        row = f"the row ({', '.join(reversed(states))})" if states else "its probabilities"
        return self.error(
            at,
            f"expected {row} for {self.child.name!r}: {n_rows - len(self.places):,} of {n_rows:,} "
            "rows are missing and there is no 'default'.",
        )


# ----------------------- Rows of probabilities that were printed with too few digits to sum to one


# Which rows are divided by their sums.
Normalize: TypeAlias = bool | Literal["always"]
# Maximum deviation of a sum from 1 that two printed digits of a few states explain.
ROUNDING_LIMIT = 0.02


class RoundedRows:
    """Normalises rows of rounded probabilities, and warns of them once at the end.

    Rows whose sum is off by at most 1e-6, which TableCPD accepts, are kept exactly. Rows off by at
    most 0.02 are divided by their sum, unless `normalize` is false; if it is "always", so are all
    rows with a positive sum. Other rows are kept, and TableCPD refuses them.

    Parameters
    ----------
    normalize : bool or "always"

    Raises
    ------
    DataError
        If `normalize` is something else.
    """

    def __init__(self, *, normalize: Normalize) -> None:
        if not isinstance(normalize, bool) and normalize != "always":
            raise errors.DataError(f"normalize= is True, False or 'always'; got {normalize!r}.")
        self.limit = ROUNDING_LIMIT if normalize else SUM_TOLERANCE
        if normalize == "always":
            self.limit = np.inf
        self._changed: dict[Name, float] = {}

    def repaired(self, name: Name, values: Floats) -> Floats:
        """Return the table of a variable (child on the last axis) with rounded rows normalised."""
        sums = values.sum(axis=-1, keepdims=True)
        deviation = np.abs(sums - 1.0)
        if deviation.max() <= SUM_TOLERANCE:
            return values
        rounded = (deviation > SUM_TOLERANCE) & (deviation <= self.limit) & (sums > 0)
        rounded &= np.isfinite(sums)
        if not rounded.any():
            return values
        self._changed[name] = float(deviation[rounded].max())
        return np.where(rounded, values / np.where(rounded, sums, 1.0), values)

    def warn(self, where: str) -> None:
        """Warn once of all rows that were changed, if any; `where` is the path for the message."""
        if not self._changed:
            return
        errors.warn(
            f"{where}: rows of the tables of {errors.quoted(self._changed)} do not sum to one; "
            f"they were divided by their sums, which are off by up to "
            f"{max(self._changed.values()):.3g}. normalize=False refuses them.",
            errors.BayesGraphWarning,
        )


def network_of(
    cpds: Sequence[CPD],
    rounded: RoundedRows,
    source: str,
    annotations: Annotations | None = None,
) -> BayesianNetwork:
    """Return the network of a file, and warn of rows that were divided by their sums.

    `source` is the path for messages.

    Raises
    ------
    FileFormatError
        If the CPDs do not form a network.
    """
    try:
        network = BayesianNetwork(cpds, annotations=annotations)
    except errors.BayesGraphError as error:
        raise errors.FileFormatError(f"{source}: {error}") from error
    rounded.warn(source)
    return network


def table_of(
    child: Discrete,
    values: Floats,
    parents: Sequence[Discrete],
    rounded: RoundedRows,
) -> TableCPD:
    """Return the CPD of a table with the child on the last axis; rounded rows are normalised.

    A table without faults, as almost all are, is checked once.

    Raises
    ------
    CPDError
        If there is no such distribution.
    """
    names = {variable.name for variable in (*parents, child)}
    if len(names) == len(parents) + 1 and _are_distributions(values):
        return TableCPD.from_checked(child, values, parents)
    return TableCPD(child, rounded.repaired(child.name, values), parents)


def _are_distributions(values: Floats) -> bool:
    rows = values.reshape(-1, values.shape[-1])
    return bool(values.min() >= 0) and sum_to_one(rows, SUM_TOLERANCE)


def first_bad_row(values: Floats) -> int:
    """Return the index of the first row (along the last axis) that `TableCPD` refuses, or 0."""
    rows = values.reshape(-1, values.shape[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        good = (np.abs(rows.sum(axis=1) - 1.0) <= SUM_TOLERANCE) & (rows >= 0).all(axis=1)
    return int(np.argmin(good))


def sum_to_one(rows: Floats, tolerance: float = ROUNDING_LIMIT) -> bool:
    """Return whether all rows sum to one up to the rounding of printed probabilities.

    On a refused table with its axes swapped, true means that the file has the axes in that order.
    """
    return bool(np.abs(rows.sum(axis=1) - 1.0).max() <= tolerance)


# ------------------------------------------------ Numbers in texts, as files of networks have them


# Of these characters, float() takes decimal numbers alone; it also takes nan, infinity and 1_000.
_CHARACTERS = b"0123456789+-.eE \t\r\n\f\v"
_NUMBER = re.compile(rb"[-+]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+")


def floats_of(text: str) -> Floats:
    """Return the numbers of a text, separated by blanks; each is the float nearest to its decimal.

    Raises
    ------
    ValueError
        If a word is not a decimal number; infinity and NaN are none.
    """
    data = text.encode(errors="backslashreplace")
    words = data.split()
    try:
        if data.translate(None, _CHARACTERS):
            raise ValueError("not the characters of numbers")
        return np.fromiter(map(float, words), np.float64, len(words))
    except ValueError:
        wrong = next(word for word in words if not _NUMBER.fullmatch(word))
        raise ValueError(f"expected a number; got {wrong.decode(errors='replace')!r:.40}") from None
