"""The tables of a discrete model as flat arrays, which the compiled kernels read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.planning import kernels
from bayesgraph.variables import Discrete, Variable

Integers = NDArray[np.int64]


class Tables:
    """Non-negative tables over discrete variables.

    Parameters
    ----------
    variables : sequence of Discrete
        All variables, in order; their places are their numbers.
    scopes : sequence of tuples of Discrete
        One for each table, in the order of its axes.
    values : sequence of ndarray
        The tables.
    sums_to_one : bool
        Each table is the distribution of the last variable of its scope given the others.
    log_scale : float
        Natural log of a number by which the product of all tables is to be multiplied.

    Attributes
    ----------
    cards : shape (n_variables,)
    start, item
        Scopes as numbers of variables: that of table f is ``item[start[f]:start[f + 1]]``.
    step : shape of item
        How far apart in memory the states of that variable are.
    base : shape (n_tables,)
        Where each table starts in `values`.
    child : shape (n_tables,)
        The variable over which a table sums to one, or -1.
    floor : shape (n_tables,)
        Binary logarithm of the smallest entry that is not zero, at most 0.
    positive : shape (n_tables,)
        1 where a table has no zero.
    """

    def __init__(
        self,
        variables: Sequence[Discrete],
        scopes: Sequence[tuple[Variable, ...]],
        values: Sequence[Floats],
        *,
        sums_to_one: bool,
        log_scale: float = 0.0,
    ) -> None:
        self.variables = tuple(variables)
        self.log_scale = log_scale
        self.number: Mapping[Variable, int] = {v: i for i, v in enumerate(self.variables)}
        number = self.number
        self.cards = np.array([len(v.states) for v in self.variables], dtype=np.int64)
        lengths = [0, *map(len, scopes)]
        self.start = np.cumsum(np.array(lengths, dtype=np.int64))
        self.item = np.array([number[v] for scope in scopes for v in scope], dtype=np.int64)
        self.values = np.concatenate([table.ravel() for table in values])
        self.step, self.base, self.child, self.floor, self.positive = kernels.table_layout(
            self.cards, self.start, self.item, self.values, int(sums_to_one)
        )

    @cached_property
    def log_values(self) -> Floats:
        """Natural logarithms of `values`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.values))

    def log_at(self, places: Integers) -> Floats:
        """Return the natural logarithms of some entries."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.values[places]))

    def offsets(self, observed: Integers, states: Integers) -> Integers:
        """Return where the part of each table that agrees with the evidence starts.

        Parameters
        ----------
        observed, states : shape (k,)
            Numbers of the observed variables and of their states.
        """
        offsets: Integers = kernels.evidence_offsets(
            len(self.cards), self.start, self.item, self.step, self.base, observed, states
        )
        return offsets

    def numbers(self, variables: Iterable[Variable]) -> list[int]:
        """Return the numbers of variables."""
        return [self.number[v] for v in variables]
