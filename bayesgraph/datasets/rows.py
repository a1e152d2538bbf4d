"""The rows of a dataset that count, with their weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayesgraph.datasets.domains import Domain
from bayesgraph.datasets.readers import Dataset
from bayesgraph.encoding import columns_of
from bayesgraph.encoding.columns import as_numbers
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats


class Rows:
    """The rows of a dataset that count, and their weights.

    Parameters
    ----------
    data : Dataset
    y : str, optional
        Column with the classes, of which the rows are counted.
    weight : str, optional
        Column with the weights.
    """

    def __init__(self, data: Dataset, y: str | None, weight: str | None) -> None:
        self._data, self._y, self._weight = data, y, weight
        self._classes: Any = None
        self._by_class: Floats | None = None
        self._labels = Domain(y)  # of all rows, also those of weight zero

    def tables(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield the rows that count, with some columns, the class among them."""
        for table in self._data.read(self.with_weights(names)):
            if self._y is not None:
                self._labels.add(columns_of(table.select([self._y]))[self._y])
            yield self.kept(table)

    @property
    def n_unlabelled(self) -> int:
        """Number of rows read without a label, those of weight zero included."""
        return self._labels.n_missing

    def with_weights(self, names: Sequence[str]) -> list[str]:
        """Return names of columns, and of those that determine the weights."""
        own = [] if self._weight is None else [self._weight]
        label = [self._y] if self._y is not None and self._by_class is not None else []
        return list(dict.fromkeys([*names, *own, *label]))

    def weigh(self, classes: NDArray[Any], weights: Floats | None) -> None:
        """Multiply the weight of each row by that of its class."""
        self._classes, self._by_class = classes, weights

    def balanced(self, classes: NDArray[Any]) -> Floats:
        """Return weights of classes in inverse proportion to their rows, once these were read."""
        counts = np.array([self._labels.count_of(c) for c in classes.tolist()], dtype=np.float64)
        return np.asarray(sum(self._labels.counts.values()) / (len(self._labels.counts) * counts))

    def kept(self, table: Any) -> Any:
        """Return the rows of positive weight."""
        if self._weight is None and self._by_class is None:
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
        if self._weight is None and self._by_class is None:
            return np.empty(0)
        weights = np.ones(len(table))
        if self._weight is not None:
            column = as_numbers(
                columns_of(table.select([self._weight]))[self._weight], self._weight
            )
            if not (np.isfinite(column) & (column >= 0)).all():
                raise DataError(
                    f"The column {self._weight!r} of {self._data.source} has weights that are "
                    "missing, negative or infinite."
                )
            weights *= column
        if self._by_class is not None:
            labels = nw.from_native(table.column(self._y), series_only=True).to_numpy()
            codes = np.searchsorted(self._classes, labels)
            weights *= self._by_class[codes]
        return weights
