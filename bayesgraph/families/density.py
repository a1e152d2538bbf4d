"""The base of families of numbers whose densities have named parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.cpds.description import Description, describe_numbers
from bayesgraph.cpds.plate import Plate
from bayesgraph.errors import DataError
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Count, Discrete, Variable


class DensityCPD(Plate):
    """Numeric children whose densities have named parameters, one array each.

    They answer for observed children; a child that is not observed leaves the model or is sampled.
    A family is a subclass with `parameters`, an ``__init__`` that takes them by name, and two
    functions of values and parameters: `_log_density` and `_draw`.

    Attributes
    ----------
    parameters : mapping from name to number
        Values of the parameter are above this number.
    """

    parameters: ClassVar[Mapping[str, float]]
    _takes_one = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.arrays = tuple(cls.parameters)

    def _set_parameters(
        self,
        children: Variable | Iterable[Variable],
        parents: Iterable[Discrete],
        **values: ArrayLike,
    ) -> None:
        self._set_family(children, parents)
        shape = (*self._lead, len(self._children))
        for key, above in self.parameters.items():
            array = self._parameter(key, values[key], shape, above=above, by_child=True)
            setattr(self, key, array)

    def _log_density(self, x: Floats, *parameters: Floats) -> Floats:
        """Return log densities, shape (n_rows, n children), of parameters of shape (n children,).

        Minus infinity outside the support; anything where x is NaN.
        """
        raise NotImplementedError

    def _draw(self, random: np.random.Generator, *parameters: Floats) -> Floats:
        """Return one draw for each entry of the parameters."""
        raise NotImplementedError

    @property
    def n_parameters(self) -> int:
        """All numbers."""
        return sum(int(getattr(self, key).size) for key in self.parameters)

    def _take(self, at: Sequence[int]) -> Self:
        values = {key: getattr(self, key)[..., at] for key in self.parameters}
        family: Any = type(self)  # each takes its parameters by name
        part: Self = family([self._children[i] for i in at], parents=self.parents, **values)
        return part

    def _flat(self, key: str) -> Floats:
        """Return a parameter as an array of shape (cells, n children)."""
        return np.asarray(getattr(self, key).reshape(self.cells, -1))

    def _numbers(self, evidence: Evidence) -> Floats:
        """Return the children's columns; counts below zero are refused."""
        values = evidence.matrix(self._children).astype(np.float64, copy=False)
        if issubclass(self._child_type, Count) and (values < 0).any():
            name = self._children[int(np.flatnonzero((values < 0).any(axis=0))[0])].name
            raise DataError(f"Column {name!r} holds counts, 0 or more; some are negative.")
        return values

    def _add(self, evidence: Evidence, out: Floats) -> None:
        values = self._numbers(evidence)
        missing = np.isnan(values)
        for cell in range(self.cells):
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                logs = self._log_density(values, *(self._flat(k)[cell] for k in self.parameters))
            out[cell] += np.where(missing, 0.0, logs).sum(axis=1)

    def sample(
        self, parents: Mapping[Variable, NDArray[Any]], n: int, random: np.random.Generator
    ) -> NDArray[Any]:
        """See CPD: draws of the first child."""
        cell = self._cell(parents, n)
        drawn = self._draw(random, *(self._flat(key)[cell, 0] for key in self.parameters))
        return np.asarray(drawn, dtype=np.float64)

    def _columns(self) -> Mapping[str, Floats]:
        """Return what is shown of the distribution."""
        return {key: getattr(self, key) for key in self.parameters}

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """See CPD."""
        return describe_numbers(self.parents, self._children, self._columns(), max_rows)
