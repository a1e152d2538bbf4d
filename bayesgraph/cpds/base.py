"""The base of all local distributions: a potential, given evidence."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds.description import Description
from bayesgraph.cpds.item_counts import ItemTerms
from bayesgraph.cpds.stacked_cpds import Adder
from bayesgraph.display import Displayed, DisplayTable
from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors import Evidence, Factor, Potential
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Continuous, CountVector, Discrete, Name, Variable

# Encoded values by variable, of one row or several.
Columns: TypeAlias = Mapping[Variable, NDArray[Any]]

# Limits of the printed table of a distribution.
_MAX_ROWS, _MAX_COLUMNS, _MAX_NAMES = 20, 8, 3


class CPD(Displayed, ABC):
    """The conditional distribution of a child given its parents.

    A new family implements `potential`; sampling and describing itself are optional. It prints as a
    table, also in notebooks.

    Attributes
    ----------
    variable : Variable
        The child; the first of several children.
    parents : tuple of Variable
        In the order given by the user.
    siblings_depend : bool
        Several children are dependent given the parents: one that is missing must be summed out
        before another can be a target.
    takes_children : bool
        The class is called with an iterable of children in the place of one variable.
    arrays : tuple of str
        Arguments of the class that are attributes too: arrays whose first axes are those of the
        discrete parents. With variable and parents they are the whole CPD.
    other_arrays : tuple of str
        More such arguments, arrays of other shapes.
    """

    variable: Variable
    parents: tuple[Variable, ...]
    siblings_depend = False
    takes_children = False
    arrays: ClassVar[tuple[str, ...]] = ()
    other_arrays: ClassVar[tuple[str, ...]] = ()

    @property
    def children(self) -> tuple[Variable, ...]:
        """The variables that the distribution is of: one, except in plates and blocks."""
        return (self.variable,)

    @cached_property
    def scope(self) -> tuple[Variable, ...]:
        """Parents, then the children."""
        return (*self.parents, *self.children)

    def singles(self) -> tuple[CPD, ...]:
        """Return the same distribution as CPDs of one child each, for drawing and for files."""
        return (self,)

    def arcs(self) -> list[tuple[Name, Name]]:
        """Return the arcs of the graph that end in the children, as (parent, child) names."""
        return [(parent.name, child.name) for child in self.children for parent in self.parents]

    def pieces(self, relevant: Collection[Variable], observed: Container[Variable]) -> list[CPD]:
        """Return the distribution of the relevant children, each piece a potential of its own.

        Parameters
        ----------
        relevant : collection of Variable
            At least one child is in it.
        observed : container of Variable
        """
        return [self]

    @cached_property
    def discrete_parents(self) -> tuple[Discrete, ...]:
        """The discrete ones among the parents."""
        return tuple(p for p in self.parents if isinstance(p, Discrete))

    @cached_property
    def continuous_parents(self) -> tuple[Continuous, ...]:
        """The continuous ones among the parents."""
        return tuple(p for p in self.parents if isinstance(p, Continuous))

    @property
    def n_parameters(self) -> int:
        """The number of free parameters."""
        return sum(numbers.size for numbers in self.to_arrays().values())

    @property
    def is_linear(self) -> bool:
        """Whether the child is Gaussian around a linear function of its continuous parents."""
        return False

    @property
    def is_positive(self) -> bool:
        """Whether no observed child has probability zero: negative exponents are then possible."""
        return False

    @property
    def is_positive_where_observed(self) -> bool:
        """Whether negative exponents are possible as long as the child is observed.

        A density to a negative power has no integral, which nobody needs where the child is known.
        """
        return self.is_positive

    def to_factor(self) -> Factor | None:
        """Return the distribution as one table; None where it is none."""
        return None

    @abstractmethod
    def potential(self, evidence: Evidence) -> Potential:
        """Return the potential over the variables that the evidence leaves free.

        Every parent in the evidence is observed in all rows. The child may be missing in some:
        the potential of such a row is 1 there, which is the sum over the child. (Evidence on a
        variable that matters elsewhere and is missing in some rows is not shown to the CPD; the
        engine takes it in.)
        """

    def item_terms(self, evidence: Evidence) -> ItemTerms | None:
        """Return the log potential of one row item by item; None for other children than counts."""
        return None

    def item_logs(self) -> Floats | None:
        """Return the increase of the log potential by one occurrence of each item.

        Returns
        -------
        ndarray of shape (cells, n_items), or None
            None for other children than counts.
        """
        return None

    def accumulate(self, evidence: Evidence, scope: Sequence[Discrete], out: Floats) -> None:
        """Add the log potential to `out`, which several CPDs share.

        Parameters
        ----------
        evidence : Evidence
            Leaves exactly the discrete variables of `scope` free.
        scope : sequence of Discrete
        out : ndarray, shape (product of the scope's cardinalities, n_rows)
            Rows last: they are contiguous, so one instruction treats several.
        """
        potential = self.potential(evidence)
        assert isinstance(potential, Factor)  # only discrete variables are free
        table = potential.aligned(scope)
        out += table.reshape(len(table), len(out)).T

    @classmethod
    def adders(
        cls, cpds: Sequence[Self], scope: Sequence[Discrete], observed: Container[Variable]
    ) -> list[Adder]:
        """Return adders of the log potentials of CPDs of this family, in their order.

        Parameters
        ----------
        cpds : sequence of CPD
        scope : sequence of Discrete
            Free variables, the same of each of them.
        observed : container of Variable
            Variables of the evidence.
        """
        return [_One(cpd, tuple(scope)) for cpd in cpds]

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the child given its parents' columns: state codes or numbers."""
        raise UnsupportedModelError(
            f"{type(self).__name__} of {self.variable.name!r} has no sampling."
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all numbers: the arrays that `from_arrays` takes."""
        names = (*self.arrays, *self.other_arrays)
        return {name: np.asarray(getattr(self, name)) for name in names}

    @classmethod
    def from_arrays(
        cls, children: Sequence[Variable], parents: Sequence[Variable], arrays: Mapping[str, Any]
    ) -> Self:
        """Return the CPD with the numbers that `to_arrays` returned."""
        family: Any = cls  # each takes its arrays by name
        first = list(children) if cls.takes_children else children[0]
        made: Self = family(first, parents=parents, **arrays)
        return made

    def __eq__(self, other: object) -> bool:
        """Tell whether two CPDs have the same class, the same variables and the same numbers."""
        if type(other) is not type(self) or self.scope != other.scope:
            return False
        mine, theirs = self.to_arrays(), other.to_arrays()
        return self is other or (
            bool(mine) and all(np.array_equal(mine[k], theirs[k]) for k in mine)
        )

    __hash__ = None  # type: ignore[assignment]

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return the distribution as a table of text, for printing and for pictures."""
        return Description([], [], None, f"{self.n_parameters:,} parameters")

    def _display(self) -> DisplayTable:
        found = self.describe(_MAX_ROWS, _MAX_COLUMNS)
        return DisplayTable(self.title, found.rows, found.header, note=found.note)

    @property
    def title(self) -> str:
        """Return the class and ``P(child | parents)`` on one line, ``p(...)`` for a density."""
        names = [str(child.name) for child in self.children[:_MAX_NAMES]]
        if more := len(self.children) - len(names):
            names.append(f"… {more:,} more")
        given = ", ".join(str(parent.name) for parent in self.parents)
        letter = "P" if isinstance(self.variable, (Discrete, CountVector)) else "p"
        return f"{type(self).__name__} {letter}({', '.join(names)}{' | ' * bool(given)}{given})"


@dataclass(frozen=True, eq=False)
class _One:
    """One CPD that is added by itself."""

    cpd: CPD
    scope: tuple[Discrete, ...]
    nbytes = 0

    def add(self, evidence: Evidence, out: Floats) -> None:
        """See Adder."""
        self.cpd.accumulate(evidence, self.scope, out)


class _Sum(NamedTuple):
    """CPDs over the same free variables, which become one factor."""

    scope: tuple[Discrete, ...]
    adders: tuple[Adder, ...]

    def factor(self, evidence: Evidence, start: Factor | None) -> Factor:
        """Return their product, and that with another factor."""
        shape = [variable.cardinality for variable in self.scope]
        out = np.empty((math.prod(shape), evidence.n_rows))
        # The sums begin with what all rows share, such as the prior of the class.
        out[:] = 0.0 if start is None else start.aligned(self.scope).reshape(-1, 1)
        for adder in self.adders:
            adder.add(evidence, out)
        return Factor.from_log(self.scope, out.T.reshape(evidence.n_rows, *shape))


@dataclass(frozen=True, eq=False)
class Combination:
    """The potentials of many CPDs, prepared for evidence on given variables.

    Those over the same discrete variables are added up: a star with observed leaves becomes one
    factor over its centre, filled by one kernel call for each kind of leaf, without a temporary.

    Attributes
    ----------
    alone : tuple of (CPD, set of free variables)
        Those that are potentials by themselves.
    sums : mapping from set of free variables to the CPDs that are added up
    """

    alone: tuple[tuple[CPD, frozenset[Variable]], ...]
    sums: Mapping[frozenset[Variable], _Sum]

    @property
    def nbytes(self) -> int:
        """Memory of the copies of the CPDs' numbers."""
        return sum(adder.nbytes for found in self.sums.values() for adder in found.adders)

    @classmethod
    def of(cls, cpds: Iterable[CPD], observed: Container[Variable]) -> Combination:
        """Return the combination of some CPDs.

        Parameters
        ----------
        cpds : iterable of CPD
        observed : container of Variable
            Those of the evidence to come, which has a column for each.
        """
        alone: list[tuple[CPD, frozenset[Variable]]] = []
        groups: dict[frozenset[Variable], list[CPD]] = {}
        for cpd in cpds:
            free = frozenset(variable for variable in cpd.scope if variable not in observed)
            if len(free) == len(cpd.scope) or any(not isinstance(v, Discrete) for v in free):
                alone.append((cpd, free))
            else:
                groups.setdefault(free, []).append(cpd)
        sums: dict[frozenset[Variable], _Sum] = {}
        for free, group in groups.items():
            scope = tuple(v for v in group[0].scope if isinstance(v, Discrete) and v in free)
            families = [list(same) for _, same in groupby(group, type)]
            found = [a for same in families for a in same[0].adders(same, scope, observed)]
            sums[free] = _Sum(scope, tuple(found))
        return cls(tuple(alone), sums)

    def potentials(self, evidence: Evidence) -> list[Potential]:
        """Return the potentials for some rows of evidence."""
        potentials: list[Potential] = []
        whole: dict[frozenset[Variable], Factor] = {}
        for cpd, free in self.alone:
            potential = cpd.potential(evidence)
            if isinstance(potential, Factor) and potential.n_rows == 1 and free not in whole:
                whole[free] = potential
            else:
                potentials.append(potential)
        for free, several in self.sums.items():
            potentials.append(several.factor(evidence, whole.pop(free, None)))
        potentials += whole.values()
        return potentials


def draw_states(
    shares: Floats, row: NDArray[np.intp], random: np.random.Generator
) -> NDArray[np.intp]:
    """Return a state for each entry of `row`, drawn by that row of shares, shape (m, n_states)."""
    cumulative = np.cumsum(shares, axis=-1)
    # The last state takes what rounding leaves over, unless its probability is zero.
    cumulative /= np.where(cumulative[:, -1:] > 0, cumulative[:, -1:], 1.0)
    return np.asarray(np.sum(random.random(len(row))[:, None] >= cumulative[row, :-1], axis=1))
