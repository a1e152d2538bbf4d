"""Posteriors from the ancestors of a few variables, without the tables of the whole network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, cast

from bayesgraph.cpds import CPD, TableCPD
from bayesgraph.cpds.intervention import SetCPD
from bayesgraph.inference.compiled import CompiledTables
from bayesgraph.inference.contract import Case, Joint, Pattern, Work
from bayesgraph.inference.solver import first_work
from bayesgraph.inference.tables import Scopes, Tables
from bayesgraph.models.model import Model
from bayesgraph.variables import Discrete, Name


def tables_of(cpds: Sequence[CPD]) -> Sequence[TableCPD] | None:
    """Return the tables of variables with a distribution; None if one of them has no table."""
    if set(map(type, cpds)) == {TableCPD}:
        return cast("Sequence[TableCPD]", cpds)
    found = [cpd for cpd in cpds if isinstance(cpd, TableCPD)]
    n_set = sum(isinstance(cpd, SetCPD) for cpd in cpds) if len(found) < len(cpds) else 0
    return found if len(found) + n_set == len(cpds) else None


def compiled_tables(
    number: dict[Name, int],
    variables: Sequence[Discrete],
    tables: Sequence[TableCPD],
    parents: Sequence[Sequence[int]],
) -> CompiledTables:
    """Return the tables of a network, at most one for each variable.

    Parameters
    ----------
    number : dict from name of a variable to its index
    variables : sequence of Discrete
    tables : sequence of TableCPD
    parents : sequence of sequences of int
        Indices of the parents of each variable.
    """
    children: Iterable[int] = range(len(variables))
    if len(tables) < len(variables):
        children = [number[table.variable.name] for table in tables]
    item: list[int] = []
    ends = [0]
    for child in children:
        item += parents[child]
        item.append(child)
        ends.append(len(item))
    scopes = Scopes(variables, number, ends, item)
    return CompiledTables(Tables(scopes, [t.values for t in tables], sums_to_one=True))


def renumbered(parents: Sequence[Sequence[int]], kept: Sequence[int]) -> list[list[int]]:
    """Return the indices of parents within an ancestral set, given ascending indices of its own."""
    places = {v: place for place, v in enumerate(kept)}
    return [[places[parent] for parent in parents[v]] for v in kept]


class Ancestors(Model):
    """The part of a network over an ancestral set of variables, all of whose CPDs are tables.

    Parameters
    ----------
    variables : sequence of Discrete
        The variables of the part, in the order of the network.
    tables : sequence of TableCPD
        One for each variable with a distribution.
    parents : sequence of sequences of int
        Indices in the part of the parents of each variable.
    """

    form = "product"

    def __init__(
        self,
        variables: Sequence[Discrete],
        tables: Sequence[TableCPD],
        parents: Sequence[Sequence[int]],
    ) -> None:
        self._tables = tables
        self._above = parents
        self.variables: tuple[Discrete, ...] = tuple(variables)
        self._by_name = {variable.name: variable for variable in self.variables}

    @cached_property
    def compiled(self) -> CompiledTables:
        """The tables for compiled (Numba) variable elimination."""
        return compiled_tables(self.number, self.variables, self._tables, self._above)


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
