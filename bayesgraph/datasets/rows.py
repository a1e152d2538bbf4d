"""The rows of a dataset that count, with their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayesgraph.encoding import columns_of
from bayesgraph.encoding.columns import as_numbers
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a dataset that count: those of positive weight.

    Attributes
    ----------
    source : str
        Name of the dataset.
    y : str or None
        Column with the classes.
    weight : str or None
        Column with the weights.
    classes : ndarray, optional
        The classes in ascending order.
    by_class : ndarray, shape (n_classes,), optional
        Factor of the weight of the rows of each class.
    """

    source: str
    y: str | None
    weight: str | None
    classes: NDArray[Any] | None = None
    by_class: Floats | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that determine the weights."""
        found = (self.weight, None if self.by_class is None else self.y)
        return tuple(name for name in found if name is not None)

    def with_weights(self, names: Sequence[str]) -> list[str]:
        """Return names of columns, and of those that determine the weights."""
        return list(dict.fromkeys([*names, *self.columns]))

    @property
    def described(self) -> str:
        """Text that differs if the weights of the same rows do."""
        by_class = None if self.by_class is None else self.by_class.tolist()
        return repr((self.weight, self.y if by_class else None, by_class))

    def kept(self, table: Any) -> Any:
        """Return the rows of positive weight."""
        if not self.columns:
            return table
        weights = self.weights(table)
        return table if weights.all() else table.filter(weights > 0)

    def weights(self, table: Any) -> Floats:
        """Return the weights of rows, empty if all rows weigh 1.

        Raises
        ------
        DataError
            For a weight that is missing, negative or infinite.
        """
        if not self.columns:
            return np.empty(0)
        weights = np.ones(len(table))
        if self.weight is not None:
            column = as_numbers(columns_of(table.select([self.weight]))[self.weight], self.weight)
            if not (np.isfinite(column) & (column >= 0)).all():
                raise DataError(
                    f"The column {self.weight!r} of {self.source} has weights that are "
                    "missing, negative or infinite."
                )
            weights *= column
        if self.by_class is not None:
            assert self.classes is not None
            labels = nw.from_native(table.column(self.y), series_only=True).to_numpy()
            weights *= self.by_class[np.searchsorted(self.classes, labels)]
        return weights
