"""Conditional probability tables: a discrete child given discrete parents."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, joint_states, log_of
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.inference import Factor, TableFamily, align
from bayesgraph.models.cpds import base
from bayesgraph.models.cpds.stacks import TableStack


class TableCPD(base.CPD):
    """A conditional probability table.

    Parameters
    ----------
    variable : Discrete
        The child.
    values : array_like, shape (*parents' cardinalities, child's cardinality)
        Probabilities: one axis for each parent in the order given, the child's states on the last.
        Kept exactly as given. A table with the child's states in its rows and the parents'
        combinations in its columns is ``np.transpose(table).reshape(shape)``.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For a continuous parent, a wrong shape, a negative or infinite number, NaN, or a row that
        does not sum to one within 1e-6; the message names the row.

    Examples
    --------
    >>> rain = Discrete("rain", ["no", "yes"])
    >>> wet = Discrete("wet", [False, True])
    >>> TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain])
    TableCPD P(wet | rain)
      rain  False   True
      no    0.900  0.100
      yes   0.200  0.800
    """

    arrays = ("values",)
    # Whether probabilities underflow, so that only their logarithms are right.
    has_lost_digits = False
    _hint = " Use GaussianCPD."

    variable: Discrete
    parents: tuple[Discrete, ...]
    scope: tuple[Discrete, ...]

    def __init__(
        self, variable: Discrete, values: ArrayLike, parents: Iterable[Discrete] = ()
    ) -> None:
        self._set_family(variable, parents)
        self.values = base.checked_shares(values, self.scope, what=base.ParameterTitle(self))

    @classmethod
    def from_checked(
        cls, variable: Discrete, values: Floats, parents: Iterable[Discrete] = ()
    ) -> TableCPD:
        """Return the CPD of an array that readers have checked; it is not copied."""
        cpd = cls.__new__(cls)
        cpd.variable, cpd.parents = variable, tuple(parents)
        values.flags.writeable = False
        cpd.values = values
        return cpd

    @classmethod
    def from_logs(
        cls, variable: Discrete, logs: Floats, parents: Iterable[Discrete] = ()
    ) -> TableCPD:
        """Return the CPD of natural logarithms, which it keeps: probabilities may underflow."""
        logs.flags.writeable = False
        # A probability that underflows is not zero: it becomes the least normal number.
        least = np.finfo(np.float64).tiny
        values = np.where(np.isneginf(logs), 0.0, np.maximum(np.exp(logs), least))
        cpd = cls.from_checked(variable, values, parents)
        cpd.log_values, cpd.has_lost_digits = logs, bool((values == least).any())
        return cpd

    @property
    def family(self) -> TableFamily:
        """The table; see CPD."""
        return TableFamily(self.scope, self.values)

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities: n_states - 1 for each configuration of the parents."""
        return int(self.values[..., :-1].size)

    @cached_property
    def log_values(self) -> Floats:
        """Natural logarithms of the table, computed once."""
        logs = log_of(self.values)
        logs.flags.writeable = False  # factors share it
        return logs

    def to_factor(self) -> Factor:
        """Return the table as a factor over parents and child."""
        return Factor.from_log(self.scope, self.log_values[None])

    def potential(self, evidence: Evidence) -> Factor:
        """Return the table reduced to the observed states; see CPD."""
        return base.reduced(self.scope, self.log_values[None], evidence)

    def permuted(self, variable: Discrete, order: Sequence[int]) -> base.CPD:
        """Return the CPD in which state i of a variable is what state ``order[i]`` was; see CPD."""
        axis = self.scope.index(variable)
        return TableCPD(self.variable, np.take(self.values, order, axis=axis), self.parents)

    @classmethod
    def adders(
        cls, cpds: Sequence[TableCPD], scope: Sequence[Discrete], observed: Container[Variable]
    ) -> list[base.Adder]:
        """Return one `Adder`, which adds the log probabilities of all tables to an array.

        See CPD.
        """
        cells = math.prod(variable.cardinality for variable in scope)
        # Rows are joint states of the free variables, columns those of the observed ones.
        scopes = [[variable for variable in cpd.scope if variable in observed] for cpd in cpds]
        tables = [
            align(cpd.log_values[None], cpd.scope, [*scope, *axes]).reshape(cells, -1)
            for cpd, axes in zip(cpds, scopes, strict=True)
        ]
        return [TableStack.of(tables, scopes)]

    def sample(self, parents: base.Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the child's state code given the parents' columns; see CPD."""
        shares = self.values.reshape(-1, self.variable.cardinality)
        row = joint_states([parents[p] for p in self.parents], self.values.shape[:-1], n)
        return base.draw_states(shares, row, random)

    def describe(self, max_rows: int, max_columns: int) -> base.Description:
        """Return a table with a column for each state of the child; see CPD."""
        return base.describe_table(self.parents, self.variable, self.values, max_rows, max_columns)
