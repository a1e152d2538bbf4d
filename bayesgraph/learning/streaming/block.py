"""Buffer of stream rows, which are later added to the summaries together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.sketches.base import widened

_NAMES = ("waiting", "waiting_codes", "waiting_classes", "waiting_weights")
Rows = tuple[Floats, NDArray[np.int64], NDArray[np.int64], Floats]


class Block:
    """Buffer of stream rows that are not yet added to the summaries of the columns.

    Parameters
    ----------
    n_numbers, n_states : int
        Number of numeric columns and of columns of state codes.
    room : int
        Maximum number of rows.

    Attributes
    ----------
    filled : int
        Number of rows in the buffer.
    """

    def __init__(self, n_numbers: int, n_states: int, room: int) -> None:
        self.filled = 0
        self._room: Rows = (
            np.empty((n_numbers, room)),
            np.empty((n_states, room), dtype=np.int64),
            np.empty(room, dtype=np.int64),
            np.empty(room),
        )

    @property
    def rows(self) -> Rows:
        """Buffered rows: numbers and codes, (n_columns, filled); classes and weights, (filled,)."""
        return self.part(slice(self.filled))

    def part(self, here: slice) -> Rows:
        """Return the four arrays of `rows` for a range of the buffered rows."""
        columns, codes, classes, weights = self._room
        return columns[:, here], codes[:, here], classes[here], weights[here]

    def add(
        self,
        columns: Floats,
        codes: NDArray[np.int64],
        classes: NDArray[np.int64],
        weights: Floats,
    ) -> slice:
        """Add rows, given as the four arrays of `rows`; return their slice in the buffer."""
        here = slice(self.filled, self.filled + len(classes))
        all_columns, all_codes, all_classes, all_weights = self._room
        # Single rows of many streams have columns of one kind.
        if len(columns):
            all_columns[:, here] = columns
        if len(codes):
            all_codes[:, here] = codes
        all_classes[here], all_weights[here] = classes, weights
        self.filled = here.stop
        return here

    def empty(self) -> None:
        """Remove all rows."""
        self.filled = 0

    def grow(self, n_numbers: int, n_states: int) -> None:
        """Append columns of missing values, up to the given numbers of columns."""
        columns, codes, classes, weights = self._room
        room, old = len(classes), (len(columns), len(codes))
        columns = widened(columns, (n_numbers, room))
        codes = widened(codes, (n_states, room))
        columns[old[0] :], codes[old[1] :] = np.nan, -1
        self._room = columns, codes, classes, weights

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the buffered rows as named arrays, for a file."""
        return dict(zip(_NAMES, self.rows, strict=True))

    def restore(self, arrays: Mapping[str, NDArray[Any]], n_classes: int) -> None:
        """Replace the buffered rows by those in the named arrays of `arrays`.

        Raises
        ------
        DataError, LookupError, ValueError
            If the arrays are not valid rows.
        """
        self.empty()
        columns, codes, classes, weights = (arrays[name] for name in _NAMES)
        if (
            (classes < 0).any()
            or (classes >= n_classes).any()
            or (codes < -1).any()
            or np.isinf(columns).any()
            or not (np.isfinite(weights) & (weights > 0)).all()
        ):
            raise DataError("Rows that wait in a saved state have values that are none.")
        self.add(columns, codes, classes, weights)

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer at full capacity."""
        return sum(array.nbytes for array in self._room)
