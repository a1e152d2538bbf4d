"""Class counts of values without number: exact while few, then a count-min sketch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.encoding.columns import factorise
from bayesgraph.errors import DataError, ModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.sketches.base import (
    LIGHT,
    NOTHING,
    checked_factor,
    checked_rows,
    checked_size,
    widened,
)
from bayesgraph.variables import State, plain

# Keys of values are at least this; smaller ones are free for codes of known values.
FIRST_KEY = 1 << 62

Keys = NDArray[np.int64]


def key_of(value: State) -> int:
    """Return a number in [2^62, 2^63) for a value: of its type and repr, by BLAKE2b.

    The same in every process, whatever its hash seed; `True`, `1`, `1.0` and `"1"` differ.
    """
    kind = type(value)
    text = f"{kind.__module__}.{kind.__qualname__} {value!r}"
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % FIRST_KEY + FIRST_KEY


class CountMinSketch:
    """Class counts of one column of categories, whose number has no bound.

    While there are at most `exact` values, their counts are exact. From then on there are

    * a count-min sketch of each class: `depth` rows of `width` counters, of which a value adds to
      one in each row, chosen by a hash; its count is at most the least of its counters;
    * a list of at most `exact` values that are frequent (Misra and Gries): when there are more, the
      list loses the credit of the first one that does not fit, from all, and those left with none.
      Every value with more than a share 1 / (`exact` + 1) of all weight is in the list, and has
      missed a weight of `missed` at most, which is no more than that share.

    `estimate` never tells too little. It tells too much, in each class, by more than `epsilon`
    times the weight of the class with probability `delta` at most, for any one value, and never by
    more than `missed` for a value of the list.

    All parts are sums, and `fade` is exact, but for values that have faded below 1e-12 of all
    weight: they leave the list, so that there is room for others. Results depend on the batches of
    rows only in which rare values the list has.

    Parameters
    ----------
    n_classes : int
    exact : int
        Values that are counted exactly, and the length of the list afterwards.
    epsilon, delta : float
        In (0, 1). The width is e / epsilon, the depth ln(1 / delta), both rounded up.
    seed : int
        Of the hashes.

    Attributes
    ----------
    totals : ndarray, shape (n_classes,)
        Weight of the observed values.
    missed : float
        Greatest weight that a value of the list, or one outside of it, may have beside what the
        list knows.

    References
    ----------
    G. Cormode, S. Muthukrishnan: An improved data stream summary: the count-min sketch and its
    applications. Journal of Algorithms 55 (2005), Theorem 1. J. Misra, D. Gries: Finding repeated
    elements. Science of Computer Programming 2 (1982). P. Agarwal, G. Cormode, Z. Huang, J.
    Phillips, Z. Wei, K. Yi: Mergeable summaries. PODS 2012 (the list).

    Examples
    --------
    >>> counts = CountMinSketch(2, exact=100)
    >>> counts.update(["a", "b", "a", None], [0, 1, 1, 1])
    CountMinSketch of 2 classes, 2 values, exact, weight 3
    >>> counts.estimate("a").tolist()
    [1.0, 1.0]
    >>> counts.update([f"id{i}" for i in range(500)] + ["a"] * 50, [0] * 550)
    CountMinSketch of 2 classes, 1 values and others, weight 553
    >>> counts.estimate("a").tolist(), [value for value, _ in counts.heavy_hitters()]
    ([51.0, 1.0], ['a'])
    """

    def __init__(
        self,
        n_classes: int = 1,
        *,
        exact: int = 1000,
        epsilon: float = 0.001,
        delta: float = 0.01,
        seed: int = 0,
    ) -> None:
        self.n_classes = checked_size("n_classes", n_classes, 1)
        self.exact = checked_size("exact", exact, 1)
        self.seed = checked_size("seed", seed, 0)
        for name, share in (("epsilon", epsilon), ("delta", delta)):
            if not 0.0 < share < 1.0:
                raise ModelError(f"{name} lies between 0 and 1; got {share!r}.")
        self.epsilon, self.delta = epsilon, delta
        self.totals = np.zeros(n_classes)
        self.missed = 0.0
        # Of the list: ascending keys, class counts since each came, and Misra and Gries' counters.
        self._keys: Keys = np.zeros(0, dtype=np.int64)
        self._seen = np.zeros((0, n_classes))
        self._credit = np.zeros(0)
        self._table: Floats | None = None
        self._values: dict[int, State] = {}

    @property
    def width(self) -> int:
        """Counters of a row."""
        return math.ceil(math.e / self.epsilon)

    @property
    def depth(self) -> int:
        """Rows of counters."""
        return max(1, math.ceil(math.log(1.0 / self.delta)))

    @property
    def is_exact(self) -> bool:
        """Whether all values are counted one by one."""
        return self._table is None

    # -------------------------------------------------------------------------------- learning

    def update(
        self,
        values: Sequence[State] | NDArray[Any],
        classes: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Add rows.

        Parameters
        ----------
        values : sequence of hashable, length n
            None and NaN are missing and left out.
        classes : array_like of int, shape (n,)
            Codes below `n_classes`.
        weights : array_like, shape (n,), optional
            Not negative.

        Raises
        ------
        DataError
            For codes out of range, or arrays of different lengths.
        """
        if isinstance(values, np.ndarray):
            column = values
        else:
            column = np.empty(len(values), dtype=object)
            column[:] = values
        codes, weight = checked_rows(classes, weights, len(column), self.n_classes)
        found = factorise(column, "values")
        used = np.unique(found.codes)
        states = [plain(found.states[code]) for code in used[used >= 0].tolist()]
        keys = np.full(len(found.states) + 1, -1, dtype=np.int64)
        keys[used[used >= 0]] = [key_of(state) for state in states]
        self._values |= zip(keys[used[used >= 0]].tolist(), states, strict=True)
        self.absorb(keys[found.codes], codes, weight)
        self._keep_values()
        return self

    def _keep_values(self) -> None:
        self._values = {k: self._values[k] for k in self._keys.tolist() if k in self._values}

    def absorb(self, keys: Keys, classes: NDArray[np.signedinteger], weights: Floats) -> None:
        """Add rows whose values have keys already.

        Parameters
        ----------
        keys : ndarray of int, shape (n,)
            Not negative; -1 where missing.
        classes : ndarray of int, shape (n,)
        weights : ndarray, shape (n,) or (0,)
            Empty if every row weighs 1.
        """
        there = (keys >= 0) if not len(weights) else (keys >= 0) & (weights > 0)
        if not there.any():
            return
        distinct, at = np.unique(keys[there], return_inverse=True)
        cells = at.reshape(-1) * self.n_classes + classes[there]
        weight = weights[there] if len(weights) else None
        flat = np.bincount(cells, weight, minlength=len(distinct) * self.n_classes)
        counts = flat.reshape(-1, self.n_classes).astype(np.float64)
        if self._table is not None:
            self._count(distinct, counts)
        self.totals += counts.sum(axis=0)
        self._enlist(distinct, counts, counts.sum(axis=1))

    def _count(self, keys: Keys, counts: Floats) -> None:
        """Add to the counters of values."""
        assert self._table is not None
        for row, places in enumerate(self._places(keys)):
            np.add.at(self._table[row], places, counts)

    def _places(self, keys: Keys) -> NDArray[np.int64]:
        """Return the counter of each key in each row, shape (depth, n)."""
        row = np.arange(self.depth, dtype=np.uint64)[:, None]
        z = keys.astype(np.uint64) ^ _mixed(row * np.uint64(2) + np.uint64(2 * self.seed + 1))
        return np.asarray(_mixed(z) % np.uint64(self.width)).astype(np.int64)

    def _enlist(self, keys: Keys, seen: Floats, credit: Floats) -> None:
        """Add values to the list, and leave out those for which there is no room."""
        together = np.union1d(self._keys, keys)
        sums = np.zeros((len(together), self.n_classes))
        counters = np.zeros(len(together))
        for k, s, c in ((self._keys, self._seen, self._credit), (keys, seen, credit)):
            at = np.searchsorted(together, k)
            sums[at] += s
            counters[at] += c
        self._keys, self._seen, self._credit = together, sums, counters
        if len(together) > self.exact:
            if self._table is None:
                self._table = np.zeros((self.depth, self.width, self.n_classes))
                self._count(together, sums)
            self._shorten()

    def _shorten(self) -> None:
        at = len(self._keys) - self.exact - 1
        lost = float(np.partition(self._credit, at)[at])
        self.missed += lost
        self._credit = self._credit - lost
        self._keep(self._credit > 0)

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        """Leave only some of the values in the list."""
        self._keys, self._seen = self._keys[kept], self._seen[kept]
        self._credit = self._credit[kept]

    # ------------------------------------------------------------------------------- questions

    def estimate(self, value: State) -> Floats:
        """Return the weight of each class among the rows with a value, shape (n_classes,).

        Never too little; see the class for how much too much.
        """
        return np.asarray(self.estimates(np.array([key_of(plain(value))]))[0])

    def estimates(self, keys: Keys) -> Floats:
        """Return the estimates of values given by their keys, shape (n, n_classes)."""
        found = np.zeros((len(keys), self.n_classes))
        if len(self._keys):
            at = np.searchsorted(self._keys, keys).clip(max=len(self._keys) - 1)
            known = self._keys[at] == keys
            found[known] = self._seen[at[known]]
        if self._table is None:
            return found
        least = np.full(found.shape, np.inf)
        for row, places in enumerate(self._places(keys)):
            least = np.minimum(least, self._table[row, places])
        return np.asarray(np.minimum(least, found + self.missed))

    def listed(self) -> tuple[Keys, Floats]:
        """Return the keys of the values in the list, and the weights counted since they came.

        The keys ascend; the weights have shape (n, n_classes) and are never too much.
        """
        return self._keys, self._seen

    def heavy_hitters(self, n: int | None = None) -> list[tuple[State, Floats]]:
        """Return the most frequent values as they were typed, with their estimates.

        Parameters
        ----------
        n : int, optional
            How many; all that are in the list by default.
        """
        counts = self.estimates(self._keys)
        order = np.argsort(-counts.sum(axis=1), kind="stable")[:n]
        keys = self._keys.tolist()
        return [(self._values.get(keys[i], keys[i]), counts[i]) for i in order.tolist()]

    @property
    def values(self) -> Mapping[int, State]:
        """The values of the list by their keys."""
        return dict(self._values)

    # --------------------------------------------------------------------------------- algebra

    def fade(self, factor: float) -> None:
        """Multiply the weight of all that was seen.

        Parameters
        ----------
        factor : float
            In [0, 1]; 0 forgets everything, and so does one that leaves less than 1e-100 rows.

        Raises
        ------
        ModelError
            For any other factor.
        """
        self.totals = self.totals * checked_factor(factor)
        self.missed *= factor
        self._seen, self._credit = self._seen * factor, self._credit * factor
        if self._table is not None:
            self._table *= factor
        weight = float(self.totals.sum())
        if weight < NOTHING:
            self.totals, self.missed, self._table = np.zeros(self.n_classes), 0.0, None
        light = self._credit < max(LIGHT * weight, NOTHING)
        if light.any():
            # They may have beside what the list knows, nothing now, what it knew last.
            self.missed += float(self._credit[light].max()) if weight >= NOTHING else 0.0
            self._keep(~light)
            self._keep_values()

    def grow(self, *, n_classes: int) -> None:
        """Make room for more classes, which follow those that there are."""
        self.n_classes = n_classes
        self.totals = widened(self.totals, (n_classes,))
        self._seen = widened(self._seen, (len(self._seen), n_classes))
        if self._table is not None:
            self._table = widened(self._table, (*self._table.shape[:2], n_classes))

    # ----------------------------------------------------------------------------------- state

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays; what the keys stand for is in `values`."""
        table = self._table
        return {
            "limits": np.array([self.exact, self.epsilon, self.delta, self.seed, self.missed]),
            "totals": self.totals,
            "keys": self._keys,
            "seen": self._seen,
            "credit": self._credit,
            "table": np.zeros((0, 0, self.n_classes)) if table is None else table,
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], values: Mapping[int, State] | None = None
    ) -> Self:
        """Return the sketch in the state that `arrays` returned.

        Parameters
        ----------
        arrays : mapping of ndarray
        values : mapping from int, optional
            What the keys stand for.

        Raises
        ------
        DataError
            For arrays that do not fit together.
        """
        exact, epsilon, delta, seed, missed = arrays["limits"].tolist()
        made = cls(
            len(arrays["totals"]), exact=int(exact), epsilon=epsilon, delta=delta, seed=int(seed)
        )
        made.missed, made.totals = missed, arrays["totals"]
        made._keys, made._seen, made._credit = arrays["keys"], arrays["seen"], arrays["credit"]
        made._table = arrays["table"] if arrays["table"].size else None
        made._check()
        made._values = dict(values or {})
        made._keep_values()
        return made

    def _check(self) -> None:
        n, k = len(self._keys), self.n_classes
        table = (self.depth, self.width, k)
        fits = (
            n <= self.exact
            and self._seen.shape == (n, k)
            and self._credit.shape == (n,)
            and self._keys.dtype == np.int64
            and (self._keys >= 0).all()
            and (np.diff(self._keys) > 0).all()
            and (self._table is None or self._table.shape == table)
        )
        numbers = (self.totals, self._seen, self._credit, self._table, np.array(self.missed))
        if not fits or not all(
            (np.isfinite(a) & (a >= 0)).all() for a in numbers if a is not None
        ):  # fmt: skip
            raise DataError("The arrays are not those of a CountMinSketch: they do not fit.")

    def copy(self) -> Self:
        """Return an independent copy."""
        arrays = {name: array.copy() for name, array in self.arrays().items()}
        return type(self).from_arrays(arrays, self._values)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    def __repr__(self) -> str:
        kind = ", exact" if self.is_exact else " and others"
        return (
            f"{type(self).__name__} of {self.n_classes} classes, {len(self._keys)} values{kind}, "
            f"weight {self.totals.sum():.6g}"
        )


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return well mixed bits (the finaliser of SplitMix64; Steele, Lea, Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
