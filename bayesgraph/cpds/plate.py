"""Plates: one CPD for many children with the same discrete parents.

A plate is the same model as one CPD for each child, which `singles` returns. It holds one array for
all children, and one kernel reads all their columns. Files and plots show the single children; the
engine uses the plate as a whole.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Container, Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.cpds.base import CPD, Columns
from bayesgraph.cpds.validation import check_family, checked_numbers, discrete_only
from bayesgraph.errors import CPDError, DataError, UnsupportedModelError, quoted
from bayesgraph.factors import Evidence, Factor, Potential
from bayesgraph.factors.algebra import Floats
from bayesgraph.factors.factor import align
from bayesgraph.variables import Continuous, Count, Discrete, Variable


class Plate(CPD):
    """CPD of several children that are independent of each other given the same discrete parents.

    A subclass implements `_take`, which returns the plate of some of the children, and `_add`,
    which adds up the log densities of observed children.

    Attributes
    ----------
    children : tuple of Variable
    parents : tuple of Discrete
    """

    takes_children = True
    # The type of the children, and whether the constructor takes a single variable without a list.
    _child_type: ClassVar[type[Any]] = Continuous
    _takes_one: ClassVar[bool] = False

    parents: tuple[Discrete, ...]
    _children: tuple[Variable, ...]
    _alone: bool

    @property
    def children(self) -> tuple[Variable, ...]:
        """The variables whose distributions the plate holds."""
        return self._children

    @cached_property
    def cells(self) -> int:
        """The number of configurations of the parents."""
        return int(np.prod(self._lead, dtype=np.intp))

    @property
    def _lead(self) -> tuple[int, ...]:
        return tuple(parent.cardinality for parent in self.parents)

    @cached_property
    def _place(self) -> dict[Variable, int]:
        return {child: i for i, child in enumerate(self._children)}

    def _set_family(
        self, children: Variable | Iterable[Variable], parents: Iterable[Discrete]
    ) -> None:
        family = type(self).__name__
        self._alone = isinstance(children, str) or not isinstance(children, Iterable)
        self._children = (children,) if self._alone else tuple(children)  # type: ignore[assignment, arg-type]
        if not self._children:
            raise CPDError(f"{family} takes at least one child; got none.")
        self.variable = self._children[0]
        checked = check_family(self.variable, parents, family=family)
        if self._alone and not self._takes_one:
            raise CPDError(f"{family} takes a list of variables; got {children!r}.")
        others = [c for c in self._children if not isinstance(c, self._child_type)]
        for child in others:
            check_family(child, (), family=family)
        if wrong := [c.name for c in others]:
            kind = self._child_type.__name__
            raise CPDError(f"{family} takes children of the type {kind}; got {quoted(wrong)}.")
        names = [child.name for child in self._children]
        if len({*names, *(p.name for p in checked)}) < len(names) + len(checked):
            raise CPDError(f"{family}: children and parents must all differ; got {quoted(names)}.")
        self.parents = discrete_only(self.variable, checked, family=family)

    def _parameter(
        self,
        name: str,
        values: ArrayLike,
        shape: tuple[int, ...],
        *,
        above: float = -np.inf,
        by_child: bool = False,
    ) -> Floats:
        """Check the values of the parameter `name`; return them as a read-only array.

        All values must exceed `above`. With `by_child`, the last axis of `shape` indexes the
        children; `values` lack this axis if a single child was given without a list.
        """
        wanted = shape[:-1] if self._alone and by_child else shape
        array = checked_numbers(values, wanted, what=f"{self.title}: {name}")
        if not (array > above).all():
            raise CPDError(
                f"{self.title}: {name} takes numbers above {above:g}; the smallest is "
                f"{array.min():.6g}."
            )
        return array.reshape(shape)

    @abstractmethod
    def _take(self, at: Sequence[int]) -> Self:
        """Return the plate of only the children at the indices `at`."""

    @abstractmethod
    def _add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log densities of all children to `out`, shape (cells, n_rows).

        All children are in the evidence; a missing value adds 0. A cell is a configuration of the
        parents; the states of the last parent vary fastest.
        """

    def _numbers(self, evidence: Evidence) -> Floats:
        """Return the children's columns as a matrix, NaN where missing; refuse negative counts."""
        values = evidence.matrix(self._children).astype(np.float64, copy=False)
        if issubclass(self._child_type, Count) and (values < 0).any():
            name = self._children[int(np.flatnonzero((values < 0).any(axis=0))[0])].name
            raise DataError(f"Column {name!r} holds counts, 0 or more; some are negative.")
        return values

    def over(self, children: Sequence[Variable]) -> Self:
        """Return the plate of only the given children."""
        if len(children) == len(self._children):
            return self
        at = [self._place[child] for child in children]
        found = self._take(at)
        if self.parameter_posterior is not None:
            found.parameter_posterior = self.parameter_posterior.of_children(at)
        return found

    def singles(self) -> tuple[CPD, ...]:
        """Return a plate for each child; see CPD."""
        if len(self._children) == 1:
            return (self,)
        return tuple(self._take([i]) for i in range(len(self._children)))

    def pieces(self, relevant: Collection[Variable], observed: Container[Variable]) -> list[CPD]:
        """Return one plate of the observed children, and a CPD for each free relevant child.

        See CPD.
        """
        seen = [child for child in self._children if child in observed]
        found: list[CPD] = [self.over(seen)] if seen else []
        if len(seen) < len(self._children):
            free = [c for c in self._children if c in relevant and c not in observed]
            found += [single for child in free for single in self.over([child]).singles()]
        return found

    def potential(self, evidence: Evidence) -> Potential:
        """Return the potential of the observed children, a factor over the free parents; see CPD.

        Raises
        ------
        UnsupportedModelError
            If a child is not observed: plates have no posterior of their children.
        """
        free = [child.name for child in self._children if child not in evidence]
        if free:
            raise UnsupportedModelError(
                f"{type(self).__name__} of {quoted(free)} has no posterior of its own; it can be "
                "observed, or left out of both evidence and targets, and sampled."
            )
        scope = [parent for parent in self.parents if parent not in evidence]
        shape = [parent.cardinality for parent in scope]
        out = np.zeros((int(np.prod(shape, dtype=np.intp)), evidence.n_rows))
        self.accumulate(evidence, scope, out)
        return Factor.from_log(scope, out.T.reshape(evidence.n_rows, *shape))

    def accumulate(self, evidence: Evidence, scope: Sequence[Discrete], out: Floats) -> None:
        """Add the log densities of all children to `out`; see CPD."""
        if tuple(scope) == self.parents:
            self._add(evidence, out)
            return
        table = np.zeros((self.cells, evidence.n_rows))
        self._add(evidence, table)
        by_parent = table.T.reshape(-1, *self._lead)
        observed = [parent for parent in self.parents if parent in evidence]
        moved = align(by_parent, self.parents, [*observed, *scope])
        rows = np.arange(evidence.n_rows)
        chosen = moved[(rows, *(evidence.columns[parent] for parent in observed))]
        out += chosen.reshape(evidence.n_rows, -1).T

    def _cell(self, parents: Columns, n: int) -> NDArray[np.intp]:
        """Return the index of the parents' configuration in each row, for sampling."""
        if not self.parents:
            return np.zeros(n, dtype=np.intp)
        return np.asarray(np.ravel_multi_index([parents[p] for p in self.parents], self._lead))
