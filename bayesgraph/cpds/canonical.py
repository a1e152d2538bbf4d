"""Canonical distributions: a discrete child whose parents act one after the other.

A table of a child with n parents has a number for each of their joint states, which are
exponentially many. A canonical distribution has a few numbers for each parent (Díez and Druzdzel
2006). Inference divides it into a chain of small tables over auxiliary variables, which carry what
the parents so far have contributed (parent divorcing, Olesen et al. 1989; the temporal
transformation of noisy-or, Heckerman 1993). The chain is linear in the number of parents.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds.base import CPD, Columns, draw_states
from bayesgraph.cpds.table import TableCPD
from bayesgraph.cpds.validation import check_child, check_family, discrete_only
from bayesgraph.errors import MemoryLimitError
from bayesgraph.factors import Evidence, Factor
from bayesgraph.factors.algebra import Floats, log_of
from bayesgraph.factors.factor import take_codes
from bayesgraph.inference.memory import BYTES, default_memory_limit, format_bytes, format_count
from bayesgraph.variables import Discrete, Name, Variable

Codes: TypeAlias = NDArray[np.integer[Any]]

# Tables of at most this size are not divided: a few variables more would take longer.
SMALL = 256
# Maximum number of entries of a table in place of a distribution that has no chain.
MAX_TABLE = 2**20
# Maximum number of states of an auxiliary variable.
MAX_LINK_STATES = 1024


@dataclass(frozen=True, eq=False)
class LinkName:
    """Name of an auxiliary variable: what the first parents contribute to a child.

    Each instance is a name of its own, which no variable of a user has.
    """

    child: Name
    n_parents: int

    def __str__(self) -> str:
        return f"{self.child}, {self.n_parents} parents"


class CanonicalCPD(CPD):
    """Base class of discrete children whose discrete parents act one after the other.

    A subclass has `distributions` and, unless its parents cannot act one by one, `links`.
    """

    variable: Discrete
    parents: tuple[Discrete, ...]

    def _set_family(self, variable: Discrete, parents: Iterable[Discrete]) -> None:
        family = type(self).__name__
        checked = check_family(variable, parents, family=family)
        check_child(variable, Discrete, family=family, hint="Use a GaussianCPD.")
        self.variable = variable
        self.parents = discrete_only(variable, checked, family=family)

    @abstractmethod
    def distributions(self, codes: Sequence[Codes]) -> Floats:
        """Return the distribution of the child given states of all parents.

        Parameters
        ----------
        codes : sequence of ndarray of int
            State codes of each parent; the arrays broadcast together to some shape S.

        Returns
        -------
        ndarray, shape (*S, n_states)
        """

    @abstractmethod
    def links(self) -> list[Floats] | None:
        """Return the distribution as a chain of tables, one for each parent; None if it has none.

        Table k has the shape (states of link k - 1, states of parent k, states of link k): the
        distribution of link k given the link before and the parent. Link 0 has one state, and the
        last link is the child.
        """

    @property
    def n_entries(self) -> int:
        """Number of entries of the table over parents and child."""
        return math.prod([v.cardinality for v in self.parents]) * self.variable.cardinality

    def unfolded(self) -> list[CPD]:
        """Return CPDs whose product, summed over auxiliary variables, is this distribution.

        It is one table if that is small, or smaller than the chain. A large distribution without a
        chain stays as it is: it is answered given enough evidence on its parents.
        """
        if self.n_entries <= SMALL:
            return [self.to_table()]
        links = self.links()
        if links is not None and sum(table.size for table in links) < self.n_entries:
            return self._chain(links)
        return [self.to_table()] if self.n_entries <= MAX_TABLE else [self]

    def _chain(self, links: Sequence[Floats]) -> list[CPD]:
        found: list[CPD] = []
        before: tuple[Discrete, ...] = ()
        for k, (parent, table) in enumerate(zip(self.parents, links, strict=True), 1):
            after = self.variable
            if k < len(self.parents):
                after = Discrete(LinkName(self.variable.name, k), range(table.shape[2]))
            found.append(TableCPD(after, table if before else table[0], [*before, parent]))
            before = (after,)
        return found

    def to_table(self) -> TableCPD:
        """Return the distribution as a table.

        Raises
        ------
        MemoryLimitError
            If the table takes more than half of the machine's memory.
        """
        self._check_size(self.n_entries)
        codes = np.indices([p.cardinality for p in self.parents], dtype=np.intp, sparse=True)
        return TableCPD(self.variable, self.distributions(list(codes)), self.parents)

    def to_factor(self) -> Factor:
        """Return the whole table as a factor over parents and child."""
        return self.potential(Evidence(1, {}))

    def _check_size(self, n_entries: int) -> None:
        limit = default_memory_limit()
        if BYTES * n_entries > limit:
            raise MemoryLimitError(
                f"{self.title} has a table of {format_count(n_entries)} numbers "
                f"({format_bytes(BYTES * n_entries)}) for the parents that are not observed; the "
                f"limit is {format_bytes(limit)}. Observe more of them."
            )

    def potential(self, evidence: Evidence) -> Factor:
        """Return the table over child and parents that are not observed; see CPD."""
        free = [parent for parent in self.parents if parent not in evidence]
        cells = math.prod([parent.cardinality for parent in free])
        self._check_size(evidence.n_rows * cells * self.variable.cardinality)
        columns = evidence.columns
        codes = [
            columns[parent].reshape(-1, *[1] * len(free))
            if parent in columns
            else _on_axis(parent.cardinality, 1 + free.index(parent), 1 + len(free))
            for parent in self.parents
        ]
        values = self.distributions(codes)
        logs = log_of(values if self.parents else values[None])
        if self.variable not in columns:
            return Factor.from_log([*free, self.variable], logs)
        seen = columns[self.variable]
        missing = seen < 0
        known = [np.where(missing, 0, seen)]
        rest, found = take_codes([*free, self.variable], logs, [self.variable], known)
        if missing.any():
            found[missing] = 0.0
        return Factor.from_log(rest, found)

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the child's state code given the parents' columns; see CPD."""
        shares = self.distributions([parents[parent] for parent in self.parents])
        rows = np.arange(n) if self.parents else np.zeros(n, dtype=np.intp)
        return draw_states(shares.reshape(-1, self.variable.cardinality), rows, random)

    def _split(self, values: Mapping[Variable, Any]) -> tuple[list[int], list[int]]:
        """Return the places of the parents that have no value, and of those that have one."""
        places = range(len(self.parents))
        known = [k for k in places if self.parents[k] in values]
        return [k for k in places if k not in known], known


def parts_of(array: Any, parents: Sequence[Discrete]) -> list[Any]:
    """Return the rows of an array over all states of all parents that belong to each parent.

    `parents` are the parents of a CPD that was stored; a wrong length gives a part of wrong length.
    """
    begins = [0, *itertools.accumulate(parent.cardinality for parent in parents[:-1])]
    whole = np.asarray(array)
    return [whole[slice(*ends)] for ends in itertools.pairwise([*begins, None])] if parents else []


def one_hot(steps: Codes, n_states: int) -> Floats:
    """Return the table of a function: 1 at the state that each entry names, on a last axis."""
    return np.eye(n_states)[steps]


def _on_axis(n: int, axis: int, n_axes: int) -> Codes:
    return np.arange(n).reshape([n if a == axis else 1 for a in range(n_axes)])
