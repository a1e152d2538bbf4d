"""Base class of conditional distributions (CPDs), and their potentials given evidence.

A potential is a factor: a CPD reduced by evidence, as a function of its free variables.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds.description import Description
from bayesgraph.cpds.item_counts import ItemTerms
from bayesgraph.cpds.parameter_posterior import ParameterPosterior
from bayesgraph.cpds.stacked_cpds import Adder, in_turns
from bayesgraph.display import Displayed, DisplayTable
from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors import Evidence, Factor, Potential
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.family_slopes import Family
from bayesgraph.variables import Continuous, CountVector, Discrete, Name, Variable

# Encoded values of each variable, in one or more rows.
Columns: TypeAlias = Mapping[Variable, NDArray[Any]]

# Maximum numbers of rows, columns and names of children in the printed table of a distribution.
_MAX_ROWS, _MAX_COLUMNS, _MAX_NAMES = 20, 8, 3


class CPD(Displayed, ABC):
    """The conditional distribution of a child given its parents.

    A subclass implements `potential`; `sample` and `describe` are optional. A CPD prints as a
    table, also in notebooks.

    Attributes
    ----------
    variable : Variable
        The child; the first of several children.
    parents : tuple of Variable
        In the order given by the user.
    siblings_depend : bool
        Whether several children are dependent given the parents, so that a missing child must be
        integrated out before another child can be a target.
    takes_children : bool
        Whether the constructor takes an iterable of children instead of one variable.
    arrays : tuple of str
        Constructor arguments that are also attributes: arrays whose first axes are those of the
        discrete parents. Variables, `arrays` and `other_arrays` determine the CPD.
    other_arrays : tuple of str
        Constructor arguments that are also attributes: arrays of any other shape.
    optional_arrays : tuple of str
        Those of `other_arrays` that files leave out where they are empty.
    parameter_posterior : ParameterPosterior or None
        What the parameters rest on, if they were estimated by counting complete families. It is not
        compared by ``==``.
    """

    variable: Variable
    parents: tuple[Variable, ...]
    siblings_depend = False
    takes_children = False
    arrays: ClassVar[tuple[str, ...]] = ()
    other_arrays: ClassVar[tuple[str, ...]] = ()
    optional_arrays: ClassVar[tuple[str, ...]] = ()
    parameter_posterior: ParameterPosterior | None = None

    @property
    def children(self) -> tuple[Variable, ...]:
        """The child variables: one, except in plates and joint Gaussians."""
        return (self.variable,)

    @cached_property
    def scope(self) -> tuple[Variable, ...]:
        """All variables of the CPD: the parents, then the children."""
        return (*self.parents, *self.children)

    def singles(self) -> tuple[CPD, ...]:
        """Return the same distribution as CPDs of one child each, which plots and files use."""
        return (self,)

    def arcs(self) -> list[tuple[Name, Name]]:
        """Return the arcs of the graph that end in the children, as (parent, child) names."""
        return [(parent.name, child.name) for child in self.children for parent in self.parents]

    def pieces(self, relevant: Collection[Variable], observed: Container[Variable]) -> list[CPD]:
        """Return CPDs whose product is the distribution of the relevant children given the parents.

        Parameters
        ----------
        relevant : collection of Variable
            Variables relevant to a query, at least one of them a child of this CPD.
        observed : container of Variable
            Variables with evidence.
        """
        return [self]

    @cached_property
    def discrete_parents(self) -> tuple[Discrete, ...]:
        """The discrete variables among the parents."""
        return tuple(p for p in self.parents if isinstance(p, Discrete))

    @cached_property
    def continuous_parents(self) -> tuple[Continuous, ...]:
        """The continuous variables among the parents."""
        return tuple(p for p in self.parents if isinstance(p, Continuous))

    @property
    def n_parameters(self) -> int:
        """The number of free parameters."""
        return sum(numbers.size for numbers in self.to_arrays().values())

    @property
    def family(self) -> Family | None:
        """Table or linear Gaussian, for derivatives with respect to its numbers; else None."""
        return None

    @property
    def is_linear(self) -> bool:
        """Whether the CPD is a linear Gaussian: its mean is linear in the continuous parents."""
        return False

    @property
    def is_positive(self) -> bool:
        """Whether the CPD may be raised to a negative exponent even if the child is free."""
        return False

    @property
    def is_positive_where_observed(self) -> bool:
        """Whether the CPD may be raised to a negative exponent if the child is observed.

        A density to a negative power has no integral, which matters only for an unobserved child.
        """
        return self.is_positive

    def to_factor(self) -> Factor | None:
        """Return the whole distribution as one table, or None if it cannot be a table."""
        return None

    @property
    def sliceable(self) -> bool:
        """Whether the states of discrete parents are axes of `arrays`, and matter nowhere else."""
        return True

    def with_parents_set(self, values: Mapping[Variable, Any]) -> CPD:
        """Return the CPD given encoded values of some parents, which it then lacks.

        Raises
        ------
        UnsupportedModelError
            If it has such a parent, and no form without it.
        """
        known = [parent for parent in self.parents if parent in values]
        if not known:
            return self
        if not self.sliceable or any(isinstance(parent, Continuous) for parent in known):
            raise UnsupportedModelError(
                f"{self.title} has no form in which {known[0].name!r} is a constant; ask the query "
                "itself, with do= or evidence, which needs none."
            )
        at = tuple(values[p] if p in values else slice(None) for p in self.discrete_parents)
        rest = [parent for parent in self.parents if parent not in values]
        return self._of_arrays(rest, {name: getattr(self, name)[at] for name in self.arrays})

    def with_parent(self, parent: Variable) -> CPD:
        """Return the same distribution with one more parent, which has no effect.

        Raises
        ------
        UnsupportedModelError
            If there is no form with this parent.
        """
        if not self.sliceable or not isinstance(parent, Discrete):
            kind = "discrete" if isinstance(parent, Discrete) else "continuous"
            raise UnsupportedModelError(
                f"{self.title} takes no further {kind} parent {parent.name!r}; give the new "
                "distribution: net.with_cpd(cpd)."
            )
        axis, n = len(self.discrete_parents), parent.cardinality
        arrays = {
            name: np.repeat(np.expand_dims(getattr(self, name), axis), n, axis=axis)
            for name in self.arrays
        }
        return self._of_arrays([*self.parents, parent], arrays)

    def permuted(self, variable: Discrete, order: Sequence[int]) -> CPD:
        """Return the CPD in which state i of a variable is what state ``order[i]`` was.

        Raises
        ------
        UnsupportedModelError
            If there is no form with another order.
        """
        if not self.sliceable or variable not in self.discrete_parents:
            raise UnsupportedModelError(
                f"{self.title} has no form with another order of the states of {variable.name!r}."
            )
        axis = self.discrete_parents.index(variable)
        arrays = {name: np.take(getattr(self, name), order, axis=axis) for name in self.arrays}
        return self._of_arrays(self.parents, arrays)

    def _of_arrays(self, parents: Sequence[Variable], arrays: Mapping[str, Any]) -> CPD:
        """Return a CPD of the same class and children, with other parents and some other arrays."""
        return self.from_arrays(self.children, parents, {**self.to_arrays(), **arrays})

    @abstractmethod
    def potential(self, evidence: Evidence) -> Potential:
        """Return the potential: the CPD reduced by the evidence, a factor over its free variables.

        Every parent in the evidence is observed in all rows. A child in the evidence may be missing
        in some rows: the potential of such a row is 1, the sum over the child. (A partially
        observed variable on which other CPDs depend is not in this evidence: the inference engine
        applies the evidence on that variable to the product of the factors.)
        """

    def potentials(self, evidence: Evidence) -> list[Potential]:
        """Return factors whose product is the potential; several if it is known to factorise."""
        return [self.potential(evidence)]

    def item_terms(self, evidence: Evidence) -> ItemTerms | None:
        """Return the log potential of one row of counts as a sum of one term for each item.

        The result is None if the child is not a vector of counts.
        """
        return None

    def item_logs(self) -> Floats | None:
        """Return the increase of the log potential for one more occurrence of each item.

        Returns
        -------
        ndarray of shape (cells, n_items), or None
            One row for each parent configuration (cell). None if the child is not a vector of
            counts.
        """
        return None

    def accumulate(self, evidence: Evidence, scope: Sequence[Discrete], out: Floats) -> None:
        """Add the log potential to `out`, an array to which several CPDs add theirs.

        Parameters
        ----------
        evidence : Evidence
            Evidence that leaves exactly the variables of `scope` free.
        scope : sequence of Discrete
        out : ndarray, shape (cells, n_rows)
            A cell is a joint configuration of the variables in `scope`. Rows are the last axis, so
            that vector instructions process several rows at once.
        """
        potential = self.potential(evidence)
        assert isinstance(potential, Factor)  # only discrete variables are free
        table = potential.aligned(scope)
        out += table.reshape(len(table), len(out)).T

    @classmethod
    def adders(
        cls, cpds: Sequence[Self], scope: Sequence[Discrete], observed: Container[Variable]
    ) -> list[Adder]:
        """Return `Adder` objects, each of which adds the log potentials of some CPDs to an array.

        Parameters
        ----------
        cpds : sequence of CPD
        scope : sequence of Discrete
            The free variables, which are the same in all the CPDs.
        observed : container of Variable
            Variables of the evidence.
        """
        return [_One(cpd, tuple(scope)) for cpd in cpds]

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the child, as state codes or numbers, given the parents' columns."""
        raise UnsupportedModelError(
            f"{type(self).__name__} of {self.variable.name!r} has no sampling."
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all parameters as the arrays that `from_arrays` takes."""
        names = (*self.arrays, *self.other_arrays)
        return {name: np.asarray(getattr(self, name)) for name in names}

    @classmethod
    def from_arrays(
        cls, children: Sequence[Variable], parents: Sequence[Variable], arrays: Mapping[str, Any]
    ) -> Self:
        """Return a CPD made from the arrays that `to_arrays` returned."""
        family: Any = cls  # each constructor takes its arrays by name
        first = list(children) if cls.takes_children else children[0]
        made: Self = family(first, parents=parents, **arrays)
        return made

    def __eq__(self, other: object) -> bool:
        """Tell whether two CPDs have the same class, the same variables and the same parameters."""
        if type(other) is not type(self) or self.scope != other.scope:
            return False
        mine, theirs = self.to_arrays(), other.to_arrays()
        return self is other or (
            bool(mine) and all(np.array_equal(mine[k], theirs[k]) for k in mine)
        )

    __hash__ = None  # type: ignore[assignment]

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return the distribution as a table of texts, for printing and for plots.

        `max_rows` and `max_columns` are the maximum numbers of rows and columns shown.
        """
        return Description([], [], None, f"{self.n_parameters:,} parameters")

    def _display(self) -> DisplayTable:
        found = self.describe(_MAX_ROWS, _MAX_COLUMNS)
        return DisplayTable(self.title, found.rows, found.header, note=found.note)

    def to_text(self, *, max_rows: int = 1_000, max_columns: int = 100) -> str:
        """Return the distribution as lines of text, within 80 columns where names are short.

        Parameters
        ----------
        max_rows, max_columns : int
            Maximum numbers of parent configurations and of states shown; a note says how many
            there are more. Printing the distribution shows 20 and 8.

        Returns
        -------
        str
            Columns that do not fit beside each other continue below, each time with the states of
            the parents.
        """
        found = self.describe(max_rows, max_columns)
        table = replace(self._display(), rows=found.rows, header=found.header, note=found.note)
        return table.folded(found.keys)

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
    """`Adder` of a single CPD: it adds the CPD's log potential to an array shared by many CPDs."""

    cpd: CPD
    scope: tuple[Discrete, ...]
    nbytes = 0

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add the CPD's log potentials given the evidence to `out`, shape (cells, n_rows)."""
        self.cpd.accumulate(evidence, self.scope, out)


class _Sum(NamedTuple):
    """Adders of CPDs with the same free variables; the product of the potentials is one factor."""

    scope: tuple[Discrete, ...]
    adders: tuple[Adder, ...]

    def factor(self, evidence: Evidence, start: Factor | None, constant: Factor | None) -> Factor:
        """Return the product of the CPDs' potentials and of other factors, if they are given.

        Parameters
        ----------
        evidence : Evidence
        start : Factor or None
            Factor over the same variables, the same for all rows.
        constant : Factor or None
            Factor over no variable, a number for each row.
        """
        shape = [variable.cardinality for variable in self.scope]
        out = np.empty((math.prod(shape), evidence.n_rows))
        # The sums start with the factor that all rows share, such as the prior of the class.
        out[:] = 0.0 if start is None else start.aligned(self.scope).reshape(-1, 1)
        if constant is not None:
            out += constant.log_values
        for adder in self.adders:
            adder.add(evidence, out)
        return Factor.from_log(self.scope, out.T.reshape(evidence.n_rows, *shape))


@dataclass(frozen=True, eq=False)
class Combination:
    """The CPDs relevant to a query, grouped by their free (unobserved) variables.

    CPDs with the same free discrete variables become one factor. For example, naive Bayes with
    observed features becomes one factor over the class variable, filled by one kernel call for each
    class of CPDs, without a temporary array.

    Attributes
    ----------
    alone : tuple of (CPD, set of free variables)
        CPDs that give one potential each.
    sums : mapping from set of free variables to the CPDs whose log potentials are added up
    """

    alone: tuple[tuple[CPD, frozenset[Variable]], ...]
    sums: Mapping[frozenset[Variable], _Sum]

    @property
    def nbytes(self) -> int:
        """Bytes of the copies of parameters that the groups of CPDs hold."""
        return sum(adder.nbytes for found in self.sums.values() for adder in found.adders)

    @classmethod
    def of(cls, cpds: Iterable[CPD], observed: Container[Variable]) -> Combination:
        """Return the CPDs grouped by their free variables, given which variables are observed.

        Parameters
        ----------
        cpds : iterable of CPD
        observed : container of Variable
            Variables that have a column in the evidence.
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
            sums[free] = _Sum(scope, tuple(in_turns(found)))
        return cls(tuple(alone), dict(sorted(sums.items(), key=lambda item: len(item[0]))))

    def potentials(self, evidence: Evidence) -> list[Potential]:
        """Return the factors of all CPDs, reduced by a batch of evidence."""
        potentials: list[Potential] = []
        whole: dict[frozenset[Variable], Factor] = {}
        for cpd, free in self.alone:
            potential = cpd.potential(evidence)
            if isinstance(potential, Factor) and potential.n_rows == 1 and free not in whole:
                whole[free] = potential
            else:
                potentials.append(potential)
        constant = None
        for free, several in self.sums.items():
            found = several.factor(evidence, whole.pop(free, None), constant)
            # What depends on no free variable, which comes first, is a part of the next factor.
            constant = found if not free and len(self.sums) > 1 else None
            if constant is None:
                potentials.append(found)
        potentials += whole.values()
        return potentials


def draw_states(
    shares: Floats, row: NDArray[np.intp], random: np.random.Generator
) -> NDArray[np.intp]:
    """Draw one state code for each entry k of `row` from the distribution ``shares[k]``.

    `shares` has shape (n_distributions, n_states).
    """
    cumulative = np.cumsum(shares, axis=-1)
    # The last state takes the rounding error, unless its probability is zero.
    cumulative /= np.where(cumulative[:, -1:] > 0, cumulative[:, -1:], 1.0)
    return np.asarray(np.sum(random.random(len(row))[:, None] >= cumulative[row, :-1], axis=1))
