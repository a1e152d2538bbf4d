"""Base class of CPDs of numeric children, with one array for each named parameter of a density."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.cpds.base import Columns
from bayesgraph.cpds.cells import CellComponents
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

    The posterior of a child that is not observed is a mixture of its distributions, if its own
    children do not bear on the query. A subclass has `parameters`, an ``__init__`` that takes them
    by name, and five methods: `_log_density`, `_cdf`, `_sf`, `_moments` and `_draw`. `_quantile` is
    for families without a variance, or where a formula is at hand.

    Attributes
    ----------
    parameters : mapping from name to number
        Lower bound that each parameter must exceed.
    """

    parameters: ClassVar[Mapping[str, float]]
    _takes_one = True
    # Returns the log density of each child in each row, given x of shape (n_rows, n children) and
    # the parameters, each of shape (n children,). It is minus infinity outside the support; the
    # result where x is NaN is ignored.
    _log_density: Callable[..., Floats]
    # Return P(child <= x) and P(child > x), small values with all their digits, for x and the
    # parameters, arrays that broadcast against each other.
    _cdf: Callable[..., Floats]
    _sf: Callable[..., Floats]
    # Returns mean and variance, given the parameters; NaN or infinity where there is none.
    _moments: Callable[..., tuple[Floats, Floats]]
    # Returns the quantile of a probability, given the parameters.
    _quantile: ClassVar[Callable[..., Floats] | None] = None
    # Returns one random draw for each entry of the parameters, arrays of equal shapes, given a
    # random generator and the parameters.
    _draw: Callable[..., Any]

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

    def _own(self, cells: NDArray[np.intp]) -> list[Floats]:
        """Return the parameters of the first child in some parent configurations."""
        return [self._flat(key)[cells, 0] for key in self.parameters]

    def components(self, cells: NDArray[np.intp]) -> CellComponents:
        """Return the distributions in configurations of the parents; see `LeafCPD`."""
        return CellComponents(self, cells)

    def cell_cdf(self, x: Floats, cells: NDArray[np.intp]) -> Floats:
        """Return cumulative probabilities in configurations of the parents; see `NumberCPD`."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(self._cdf(x[:, None], *self._own(cells)))

    def cell_sf(self, x: Floats, cells: NDArray[np.intp]) -> Floats:
        """Return probabilities of more than x in configurations of the parents; see `NumberCPD`."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(self._sf(x[:, None], *self._own(cells)))

    def cell_moments(self, cells: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return means and variances in configurations of the parents; see `NumberCPD`."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self._moments(*self._own(cells))

    def cell_quantiles(self, probability: float, cells: NDArray[np.intp]) -> Floats | None:
        """Return quantiles in configurations of the parents; see `NumberCPD`."""
        if self._quantile is None:
            return None
        with np.errstate(over="ignore"):
            return np.asarray(self._quantile(probability, *self._own(cells)))

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the first child given the parents' columns; see CPD."""
        cell = self._cell(parents, n)
        drawn = self._draw(random, *self._own(cell))
        return np.asarray(drawn, dtype=np.float64)

    def _columns(self) -> Mapping[str, Floats]:
        """Return the columns of the printed table, a mapping from header to values."""
        return {key: getattr(self, key) for key in self.parameters}

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return a table with a column for each parameter; see CPD."""
        shown = self.over(self._children[:max_rows])
        return describe_numbers(self.parents, self._children, shown._columns(), max_rows)
