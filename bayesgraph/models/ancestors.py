"""Posteriors from the ancestors of a few variables, without the tables of the whole network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from bayesgraph.cpds import CPD, TableCPD
from bayesgraph.cpds.intervention import SetCPD
from bayesgraph.inference.compiled import CompiledTables
from bayesgraph.inference.contract import Case, Joint, Pattern, Work
from bayesgraph.inference.solver import first_work
from bayesgraph.inference.tables import Scopes, Tables
from bayesgraph.models.model import Model
from bayesgraph.variables import Discrete


def tables_of(cpds: Sequence[CPD]) -> list[TableCPD] | None:
    """Return the tables of variables with a distribution; None if one of them has no table."""
    found = [cpd for cpd in cpds if isinstance(cpd, TableCPD)]
    n_set = sum(isinstance(cpd, SetCPD) for cpd in cpds) if len(found) < len(cpds) else 0
    return found if len(found) + n_set == len(cpds) else None


def compiled_tables(variables: Sequence[Discrete], tables: Sequence[TableCPD]) -> CompiledTables:
    """Return the tables of a network, at most one for each variable."""
    # Scopes are made here, because a cached scope in every table would take longer.
    scopes = Scopes(variables, [(*table.parents, table.variable) for table in tables])
    return CompiledTables(Tables(scopes, [t.values for t in tables], sums_to_one=True))


class Ancestors(Model):
    """The part of a network over an ancestral set of variables, all of whose CPDs are tables.

    Parameters
    ----------
    variables : sequence of Discrete
        The variables of the part, in the order of the network.
    tables : sequence of TableCPD
        One for each variable with a distribution.
    """

    form = "product"

    def __init__(self, variables: Sequence[Discrete], tables: Sequence[TableCPD]) -> None:
        self._tables = tables
        self.variables: tuple[Discrete, ...] = tuple(variables)
        self._by_name = {variable.name: variable for variable in self.variables}

    @cached_property
    def compiled(self) -> CompiledTables:
        """The tables for compiled (Numba) variable elimination."""
        return compiled_tables(self.variables, self._tables)


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
