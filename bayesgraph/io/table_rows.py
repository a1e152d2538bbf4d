"""The rows of a table of probabilities, as BIF files list them, one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bayesgraph.errors import FileFormatError, quoted, suggestion
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.budget import BYTES_OF_CELL, Budget
from bayesgraph.variables import Discrete


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
    error: Callable[[int, str], FileFormatError]
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
                near = suggestion(word, parent.states)
                raise self.error(
                    at,
                    f"{word!r:.40} is not a state of {parent.name!r}.{near} Its states are "
                    f"{quoted(parent.states)}.",
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

    def _missing(self, at: int, n_rows: int) -> FileFormatError:
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
