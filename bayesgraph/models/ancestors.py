"""Posteriors from the ancestors of a few variables, without the tables of the whole network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from bayesgraph.cpds import TableCPD
from bayesgraph.inference.compiled import CompiledTables
from bayesgraph.inference.contract import Case, Joint, Pattern, Work
from bayesgraph.inference.solver import first_work
from bayesgraph.inference.tables import Scopes, Tables
from bayesgraph.models.model import Model


def compiled_tables(tables: Sequence[TableCPD]) -> CompiledTables:
    """Return the tables of a network, one for each variable in their order."""
    # Scopes are made here, because a cached scope in every table would take longer.
    scopes = Scopes(
        [table.variable for table in tables],
        [(*table.parents, table.variable) for table in tables],
    )
    return CompiledTables(Tables(scopes, [t.values for t in tables], sums_to_one=True))


class Ancestors(Model):
    """The part of a network over an ancestral set of variables, all of whose CPDs are tables.

    Parameters
    ----------
    tables : sequence of TableCPD
        One for each variable of the part, in the order of the network.
    """

    form = "product"

    def __init__(self, tables: Sequence[TableCPD]) -> None:
        self._tables = tables
        self.variables = tuple(table.variable for table in tables)
        self._by_name = {variable.name: variable for variable in self.variables}

    @cached_property
    def compiled(self) -> CompiledTables:
        """The tables for compiled (Numba) variable elimination."""
        return compiled_tables(self._tables)


class AncestralWork(Work):
    """A posterior prepared on the ancestors of targets and evidence.

    Parameters
    ----------
    model : Model
        The network.
    part : Ancestors
        Its part.
    kept : sequence of int
        Index in the network of each variable of the part, ascending.
    question, pattern, memory_limit
        See Work.
    """

    def __init__(
        self,
        model: Model,
        part: Ancestors,
        kept: Sequence[int],
        question: Joint,
        pattern: Pattern,
        memory_limit: float | None,
    ) -> None:
        self._places = {v: place for place, v in enumerate(kept)}
        self._part = part
        self._inner = first_work(
            part,
            Joint(self._renumbered(question.targets), question.whole),
            Pattern(self._renumbered(pattern.observed), self._renumbered(pattern.soft)),
            memory_limit,
        )
        super().__init__(self._inner.solver, model, question, pattern, memory_limit)

    def _renumbered(self, variables: Sequence[int]) -> tuple[int, ...]:
        return tuple(self._places[v] for v in variables)

    def _run(self, case: Case, memory_limit: float | None) -> Any:
        return self._inner.run(case.renumbered(self._places), memory_limit)

    @property
    def nbytes(self) -> int:
        return self._inner.nbytes + self._part.compiled.tables.nbytes
