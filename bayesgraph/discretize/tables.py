"""Discretisation of whole tables: intervals of numbers, groups of categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from bayesgraph.encoding import Table
from bayesgraph.encoding.columns import Codes
from bayesgraph.encoding.intervals import Intervals
from bayesgraph.factors.columns import arranged
from bayesgraph.variables import Binned, Continuous, Discrete, Variable


def discretized(table: Table, variables: Sequence[Variable]) -> Table:
    """Return a table with some columns replaced by their intervals or groups.

    Parameters
    ----------
    table : Table
    variables : sequence of Variable
        The variables of the new table, in the order of the columns. Each equals the table's
        variable, or replaces it: a Binned a Continuous variable, a Grouped a Discrete variable.
    """
    if tuple(variables) == table.variables:
        return table
    pairs = list(zip(table.variables, variables, strict=True))
    place: dict[Variable, int] = {v: j for j, v in enumerate(table.continuous)}
    binned = [(old, new) for old, new in pairs if isinstance(new, Binned) and old in place]
    numbers = table.values[:, _places(place[old] for old, _ in binned)]
    intervals = Intervals.of([new for _, new in binned]).codes(numbers)
    at: dict[Variable, int] = {new: j for j, (_, new) in enumerate(binned)}
    discrete = [(old, new) for old, new in pairs if isinstance(new, Discrete)]
    codes = np.empty((table.n_rows, len(discrete)), dtype=arranged(variables).code_type, order="F")
    for j, (old, new) in enumerate(discrete):
        codes[:, j] = intervals[:, at[new]] if new in at else _recoded(table, old, new)
    left = _places(place[old] for old, new in pairs if isinstance(new, Continuous))
    values = np.asfortranarray(table.values[:, left])
    return Table(tuple(variables), codes, values, table.complete, table.counts)


def _places(places: Iterable[int]) -> NDArray[np.intp]:
    return np.fromiter(places, dtype=np.intp)


def _recoded(table: Table, old: Variable, new: Discrete) -> Codes:
    """Convert the codes of a column from the states of `old` to those of `new`, such as groups."""
    codes = table.column(old)
    if new == old or not isinstance(old, Discrete):
        return codes
    found = [new.find(state) for state in old.states]
    # The last entry is for missing values, whose code is -1.
    translation = np.array([*(-1 if code is None else code for code in found), -1])
    return np.asarray(translation[codes])
