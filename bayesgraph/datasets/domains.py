"""The first pass over a dataset: the states of discrete columns, and how often each occurs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayesgraph.encoding import columns_of
from bayesgraph.encoding.columns import factorise, naturally_ordered
from bayesgraph.errors import DataError
from bayesgraph.variables import Name, State


@dataclass
class Domain:
    """The values of a discrete column in some rows.

    Attributes
    ----------
    name : str
    counts : dict from (type, value) to number of rows
    n_missing : int
    """

    name: Name
    counts: dict[tuple[type, State], int] = field(default_factory=dict)
    n_missing: int = 0

    def add(self, column: Any) -> None:
        """Add the rows of a column."""
        found = factorise(column, self.name)
        counts = np.bincount(found.codes.astype(np.int64) + 1, minlength=len(found.states) + 1)
        self.n_missing += int(counts[0])
        for state, count in zip(found.states, counts[1:].tolist(), strict=True):
            if count:
                key = type(state), state
                self.counts[key] = self.counts.get(key, 0) + count

    @property
    def states(self) -> list[State]:
        """The values that occur, in ascending order; False and True of truth values."""
        values = [value for _, value in self.counts]
        if values and all(isinstance(value, bool) for value in values):
            return [False, True]
        return naturally_ordered(values)

    def count_of(self, state: State) -> int:
        """Return the number of rows with a state."""
        return self.counts.get((type(state), state), 0)


def find_domains(
    tables: Iterable[Any], names: Sequence[Name], maximum: int
) -> tuple[dict[Name, Domain], int]:
    """Return the domain of each column by name, and the number of rows.

    Parameters
    ----------
    tables : iterable of pyarrow.Table
        Tables with the columns `names`, in any order of rows.
    names : sequence of str
    maximum : int
        Maximum number of states of a column.

    Raises
    ------
    DataError
        If a column has more states, or no value in any row.
    """
    domains = {name: Domain(name) for name in names}
    n_rows = 0
    for table in tables:
        n_rows += len(table)
        columns = columns_of(table) if names else {}
        for name, domain in domains.items():
            domain.add(columns[name])
            if len(domain.counts) > maximum:
                raise DataError(
                    f"Column {name!r} has more than {maximum:,} states in the first {n_rows:,} "
                    "rows: an identifier, or numbers written as text? Leave it out, or allow more "
                    "by max_categories=."
                )
    for name, domain in domains.items():
        if n_rows and not domain.counts:
            raise DataError(
                f"Column {name!r} has no observed value in {n_rows:,} rows, so that its states are "
                "unknown; leave it out."
            )
    return domains, n_rows
