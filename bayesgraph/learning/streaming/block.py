"""Rows of a stream that wait until they enter the summaries together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.sketches.base import widened


class Block:
    """Room for some rows.

    Parameters
    ----------
    n_numbers, n_states : int
        Columns of numbers and of codes.
    room : int
        Rows, at most.

    Attributes
    ----------
    filled : int
        Rows that are there.
    """

    def __init__(self, n_numbers: int, n_states: int, room: int) -> None:
        self.filled = 0
        self._columns = np.empty((n_numbers, room))
        self._codes = np.empty((n_states, room), dtype=np.int64)
        self._classes = np.empty(room, dtype=np.int64)
        self._weights = np.empty(room)

    @property
    def columns(self) -> Floats:
        """Numbers, shape (n_numbers, filled)."""
        return self._columns[:, : self.filled]

    @property
    def codes(self) -> NDArray[np.int64]:
        """Codes of states, shape (n_states, filled)."""
        return self._codes[:, : self.filled]

    @property
    def classes(self) -> NDArray[np.int64]:
        """Codes of the classes, shape (filled,)."""
        return self._classes[: self.filled]

    @property
    def weights(self) -> Floats:
        """Weights, shape (filled,)."""
        return self._weights[: self.filled]

    def add(
        self,
        columns: Floats,
        codes: NDArray[np.int64],
        classes: NDArray[np.int64],
        weights: Floats,
    ) -> slice:
        """Add rows; return where they stand."""
        here = slice(self.filled, self.filled + len(classes))
        self._columns[:, here] = columns
        self._codes[:, here] = codes
        self._classes[here] = classes
        self._weights[here] = weights
        self.filled = here.stop
        return here

    def empty(self) -> None:
        """Forget the rows."""
        self.filled = 0

    def grow(self, n_numbers: int, n_states: int) -> None:
        """Make room for columns after those of their kind, which the rows that wait lack."""
        room, old = len(self._classes), (len(self._columns), len(self._codes))
        self._columns = widened(self._columns, (n_numbers, room))
        self._codes = widened(self._codes, (n_states, room))
        self._columns[old[0] :] = np.nan
        self._codes[old[1] :] = -1

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the rows as arrays."""
        return {
            "waiting": self.columns,
            "waiting_codes": self.codes,
            "waiting_classes": self.classes,
            "waiting_weights": self.weights,
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]], n_classes: int) -> None:
        """Take the rows that `arrays` returned.

        Raises
        ------
        DataError, LookupError, ValueError
            For rows that are none.
        """
        self.empty()
        columns, codes, classes, weights = (arrays[name] for name in self.arrays())
        if len(classes) and not 0 <= classes.min() <= classes.max() < n_classes:
            raise DataError("Rows that wait in a saved state are of a class that it does not have.")
        if (codes < -1).any() or np.isinf(columns).any():
            raise DataError("Rows that wait in a saved state have values that are none.")
        if not (np.isfinite(weights) & (weights > 0)).all():
            raise DataError("Rows that wait in a saved state have weights that are none.")
        self.add(columns, codes, classes, weights)

    @property
    def nbytes(self) -> int:
        """Bytes of the room."""
        parts = (self._columns, self._codes, self._classes, self._weights)
        return sum(array.nbytes for array in parts)
