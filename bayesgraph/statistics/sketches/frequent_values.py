"""The most frequent values of a column in bounded memory: the Misra-Gries summary."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesgraph.display import rounded
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.sketches.base import (
    LIGHT,
    NOTHING,
    SketchState,
    checked_factor,
    checked_size,
    state_array,
    widened,
)
from bayesgraph.variables import State

# Minimum key of a hashed value; smaller keys are free for codes of known values.
FIRST_KEY = 1 << 62

Keys = NDArray[np.int64]


def key_of(value: State) -> int:
    """Return the hash key of a value, an integer in [2^62, 2^63): BLAKE2b of its type and repr.

    It is the same in every process, whatever the hash seed; `True`, `1`, `1.0` and `"1"` differ.
    """
    kind = type(value)
    text = f"{kind.__module__}.{kind.__qualname__} {value!r}"
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % FIRST_KEY + FIRST_KEY


class FrequentValues(SketchState):
    """Class counts of the most frequent values of one column, however many values it has.

    While there are at most `size` values, their counts are exact. Each listed value has a credit,
    which starts as the value's weight. If a batch makes the list exceed `size` by e values, the
    e-th smallest credit is subtracted from all credits, and values without positive credit leave
    the list. Every value with more than 1 / (`size` + 1) of the total weight is listed. Its listed
    counts are too low by at most `missed`, which is at most 1 / (`size` + 1) of the total weight.

    `fade` is exact, except that values faded below 1e-12 of the total weight leave the list, to
    make room for others. How rows are divided into batches affects only which rare values are
    listed.

    Parameters
    ----------
    n_classes : int
    size : int
        Maximum number of values in the list.

    Attributes
    ----------
    totals : ndarray, shape (n_classes,)
        Class weights of all observed values, listed or not.
    missed : float
        Upper bound, for every value, on its true weight minus its listed weight (0 if not listed).

    References
    ----------
    J. Misra, D. Gries: Finding repeated elements. Science of Computer Programming 2 (1982).
    P. Agarwal, G. Cormode, Z. Huang, J. Phillips, Z. Wei, K. Yi: Mergeable summaries. PODS 2012.

    Examples
    --------
    >>> values = FrequentValues(2, size=2)
    >>> values.absorb(np.array([7, 8, 7, -1]), np.array([0, 1, 1, 1]), np.empty(0))
    >>> values.listed()
    (array([7, 8]), array([[1., 1.],
           [0., 1.]]))
    >>> values.absorb(np.array([9]), np.array([0]), np.empty(0))
    >>> values.listed()[0], values.missed
    (array([7]), 1.0)
    """

    def __init__(self, n_classes: int = 1, *, size: int = 1000) -> None:
        self.n_classes = checked_size("n_classes", n_classes, 1)
        self.size = checked_size("size", size, 1)
        self.totals = np.zeros(n_classes)
        self.missed = 0.0
        # Ascending keys, class counts since each key was listed, and the counters of Misra and
        # Gries.
        self._keys: Keys = np.zeros(0, dtype=np.int64)
        self._seen = np.zeros((0, n_classes))
        self._credit = np.zeros(0)

    def absorb(self, keys: Keys, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows: values of the column and their classes.

        Parameters
        ----------
        keys : ndarray of int, shape (n,)
            Keys of the values, not negative; -1 where missing.
        classes : ndarray of int, shape (n,)
        weights : ndarray, shape (n,) or (0,)
            Empty if every row has weight 1.
        """
        there = (keys >= 0) if not len(weights) else (keys >= 0) & (weights > 0)
        distinct, at = np.unique(keys[there], return_inverse=True)
        cells = at.reshape(-1) * self.n_classes + classes[there]
        weight = weights[there] if len(weights) else None
        flat = np.bincount(cells, weight, minlength=len(distinct) * self.n_classes)
        counts = flat.reshape(-1, self.n_classes).astype(np.float64)
        self.totals += counts.sum(axis=0)
        together = np.union1d(self._keys, distinct)
        seen, credit = np.zeros((len(together), self.n_classes)), np.zeros(len(together))
        for k, s, c in (
            (self._keys, self._seen, self._credit),
            (distinct, counts, counts.sum(axis=1)),
        ):
            place = np.searchsorted(together, k)
            seen[place] += s
            credit[place] += c
        self._keys, self._seen, self._credit = together, seen, credit
        excess = len(together) - self.size
        if excess > 0:
            lost = float(np.partition(credit, excess - 1)[excess - 1])
            self.missed += lost
            self._credit = credit - lost
            self._select(self._credit > 0)

    def _select(self, chosen: NDArray[np.bool_]) -> None:
        """Keep only the listed values for which the mask `chosen` is true."""
        self._keys, self._seen = self._keys[chosen], self._seen[chosen]
        self._credit = self._credit[chosen]

    def listed(self) -> tuple[Keys, Floats]:
        """Return the keys of the listed values, and their class weights since they were listed.

        The keys ascend. The weights have shape (n, n_classes) and never exceed the true weights.
        """
        return self._keys, self._seen

    def fade(self, factor: float) -> None:
        """Multiply all weights by a factor.

        Parameters
        ----------
        factor : float
            In [0, 1]; 0 forgets everything, as does a factor that leaves less than 1e-100 rows.

        Raises
        ------
        ModelError
            If the factor is not a number from 0 to 1.
        """
        self.totals = self.totals * checked_factor(factor)
        self.missed *= factor
        self._seen, self._credit = self._seen * factor, self._credit * factor
        weight = float(self.totals.sum())
        if weight < NOTHING:
            self.totals, self.missed = np.zeros(self.n_classes), 0.0
        light = self._credit < max(LIGHT * weight, NOTHING)
        if light.any():
            # Values that leave the list lack the counts that the list had of them.
            self.missed += float(self._credit[light].max()) if weight >= NOTHING else 0.0
            self._select(~light)

    def grow(self, *, n_classes: int) -> None:
        """Add classes after the existing classes, so that there are `n_classes`."""
        self.n_classes = n_classes
        self.totals = widened(self.totals, (n_classes,))
        self._seen = widened(self._seen, (len(self._seen), n_classes))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as a dict of arrays, for saving; see `from_arrays`."""
        return {
            "limits": np.array([self.size, self.missed]),
            "totals": self.totals,
            "keys": self._keys,
            "seen": self._seen,
            "credit": self._credit,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a summary with a saved state, the result of the method `arrays`.

        Raises
        ------
        DataError
            If the arrays are inconsistent.
        """
        size, missed = state_array(arrays, "limits", (2,), minimum=0.0).tolist()
        totals = state_array(arrays, "totals", (None,), minimum=0.0)
        made = cls(len(totals), size=int(size))
        made.totals, made.missed = totals, missed
        made._keys = state_array(arrays, "keys", (None,), minimum=0, whole=True)
        n = len(made._keys)
        made._seen = state_array(arrays, "seen", (n, len(totals)), minimum=0.0)
        made._credit = state_array(arrays, "credit", (n,), minimum=0.0)
        if n > made.size or (np.diff(made._keys) <= 0).any():
            raise DataError(f"A saved state lists at most {made.size} keys in ascending order.")
        return made

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} of {self.n_classes} classes, {len(self._keys)} values, "
            f"weight {rounded(self.totals.sum(), 6)}"
        )
