"""Base class of CPDs of numeric children, with one array for each named parameter of a density."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.cpds.base import Columns
from bayesgraph.cpds.description import Description, describe_numbers
from bayesgraph.cpds.plate import Plate
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Continuous, Count, Discrete, Variable

# One child, or the several children of a plate.
Numbers: TypeAlias = Continuous | Iterable[Continuous]
Counts: TypeAlias = Count | Iterable[Count]


class DensityCPD(Plate):
    """Numeric children whose density has named parameters, with one array for each parameter.

    Exact inference needs a child to be observed or irrelevant to the query; other children can only
    be sampled. A subclass has `parameters`, an ``__init__`` that takes them by name, and two
    methods: `_log_density` and `_draw`.

    Attributes
    ----------
    parameters : mapping from name to number
        Lower bound that each parameter must exceed.
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
        """Return the log density of each child in each row, for x of shape (n_rows, n children).

        Each parameter has shape (n children,). The log density is minus infinity outside the
        support; the result where x is NaN is ignored.
        """
        raise NotImplementedError

    def _draw(self, random: np.random.Generator, *parameters: Floats) -> Floats:
        """Return one random draw for each entry of the parameters, arrays of equal shapes."""
        raise NotImplementedError

    def _take(self, at: Sequence[int]) -> Self:
        children = [self._children[i] for i in at]
        arrays = {name: values[..., at] for name, values in self.to_arrays().items()}
        return self.from_arrays(children, self.parents, arrays)

    def _flat(self, key: str) -> Floats:
        """Return the named parameter as an array of shape (parent configurations, n children)."""
        return np.asarray(getattr(self, key).reshape(self.cells, -1))

    def _add(self, evidence: Evidence, out: Floats) -> None:
        values = self._numbers(evidence)
        missing = np.isnan(values)
        for cell in range(self.cells):
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                logs = self._log_density(values, *(self._flat(k)[cell] for k in self.parameters))
            out[cell] += np.where(missing, 0.0, logs).sum(axis=1)

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the first child given the parents' columns; see CPD."""
        cell = self._cell(parents, n)
        drawn = self._draw(random, *(self._flat(key)[cell, 0] for key in self.parameters))
        return np.asarray(drawn, dtype=np.float64)

    def _columns(self) -> Mapping[str, Floats]:
        """Return the columns of the printed table, a mapping from header to values."""
        return {key: getattr(self, key) for key in self.parameters}

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return a table with a column for each parameter; see CPD."""
        shown = self.over(self._children[:max_rows])
        return describe_numbers(self.parents, self._children, shown._columns(), max_rows)
