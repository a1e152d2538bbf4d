"""The two operations that eliminate variables: sum and maximum, on logarithms."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.core.errors import DataError, DataTypeError
from bayesgraph.core.variables import Name

# --------------------- The two operations that eliminate variables: sum and maximum, on logarithms


Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.integer]

LOG_2PI = math.log(2.0 * math.pi)
# Number of values from which on a row is long.
_LONG_ROW = 1024


def real_numbers(values: Any) -> Floats:
    """Return numbers as floats, NaN where they are masked, or raise a DataTypeError if complex."""
    array = np.asanyarray(values)
    if array.dtype.kind == "c":
        raise DataTypeError(f"Expected real numbers; got {array.dtype}. Pass their real part.")
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    return np.asarray(array, dtype=np.float64)


def log_of(values: Floats) -> Floats:
    """Return natural logarithms; that of 0 is minus infinity, without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def log_sum_exp(values: Floats, axis: int | tuple[int, ...]) -> Floats:
    """Return log(sum(exp(values))) along one or several axes, -inf if all values are -inf."""
    # Less their peak, no value is above 0, so that exp does not overflow.
    peak = np.max(values, axis=axis, keepdims=True)
    # Where all are -inf, their difference from the peak would be NaN.
    peak[np.isneginf(peak)] = 0.0
    total = np.sum(np.exp(values - peak), axis=axis)
    return np.asarray(log_of(total) + np.squeeze(peak, axis=axis))


def log_integral(logs: Floats, weights: Floats) -> Floats:
    """Return the log of a sum of exponentials over the first axis, each with a weight.

    It is the integral of a density at nodes, or its mass in several parts. `logs` has shape
    (n, ...), and `weights` shape (n,).
    """
    # The weights get axes of length 1, as many as `logs` has after the first.
    return log_sum_exp(logs + log_of(weights).reshape(-1, *[1] * (logs.ndim - 1)), 0)


@dataclass(frozen=True)
class Algebra:
    """The operation, sum or maximum, that eliminates a variable from a product of factors.

    Attributes
    ----------
    reduce : callable
        Function that removes axes of log values by log-sum-exp or by the maximum.
    gaussian_log_volume : float
        Log of the integral (sqrt(2 pi)) or of the maximum (1) of exp(-x**2 / 2). Eliminating a
        continuous variable of unit precision adds this number to the log constant of a factor.
    integrates : bool
        Whether continuous variables are integrated out rather than maximised.
    """

    reduce: Callable[[Floats, int | tuple[int, ...]], Floats]
    gaussian_log_volume: float
    integrates: bool


SUM = Algebra(log_sum_exp, 0.5 * LOG_2PI, integrates=True)
MAX = Algebra(np.max, 0.0, integrates=False)


# ------- Functions of scipy.special, which is imported at the first call: most questions need none


def betaln(a: Any, b: Any) -> Any:
    """Return the natural log of the absolute value of the beta function."""
    return scipy.special.betaln(a, b)


def digamma(x: Any) -> Any:
    """Return the logarithmic derivative of the gamma function."""
    return scipy.special.digamma(x)


def gammaln(x: Any) -> Any:
    """Return the natural log of the absolute value of the gamma function."""
    return scipy.special.gammaln(x)


def ndtr(x: Any) -> Any:
    """Return the distribution function of the standard normal distribution."""
    return scipy.special.ndtr(x)


# Nodes and weights of Gauss and Legendre on (-1, 1), for integrals of smooth functions.
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(20)


def log_normal_mass(low: Any, high: Any, mean: Floats, scale: Floats) -> Floats:
    """Return log P(low < x <= high) of normal distributions, with all digits in tails too.

    A narrow interval is integrated: its ends have nearly the same distribution function.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Both ends in standard deviations from the mean, and half of the width.
        a, b, half = (low - mean) / scale, (high - mean) / scale, (high - low) / (2 * scale)
        upper, middle = a + b > 0, (a + b) / 2
        # An interval in the upper tail is mirrored: below the mean log_ndtr has all digits.
        a, b = np.where(upper, -b, a), np.where(upper, -a, b)
        log_below = scipy.special.log_ndtr(b)
        # log(ndtr(b) - ndtr(a)).
        wide = log_below + np.log1p(-np.exp(scipy.special.log_ndtr(a) - log_below))
        # The density at each node as a share of that in the middle, integrated over (-1, 1).
        away = half[..., None] * NODES
        share = np.exp(-away * (middle[..., None] + away / 2)) @ NODE_WEIGHTS
        narrow = np.log(half * share) - (middle**2 + LOG_2PI) / 2
        # Integrated where the log density changes little, by about |middle| * half to both sides.
        return np.asarray(np.where(half * (1.0 + np.abs(middle)) < 1.0, narrow, wide))


def polygamma(n: int, x: Any) -> Any:
    """Return the n-th derivative of the digamma function."""
    return scipy.special.polygamma(n, x)


def betaincinv(a: Any, b: Any, p: Any) -> Any:
    """Return the quantile p of the beta distribution with parameters a and b."""
    return scipy.special.betaincinv(a, b, p)


# ----- Checks of common arguments: whole numbers, shares, flags, random states and sparse matrices


def whole_number(name: str, of: str, value: Any, minimum: int = 0) -> int:
    """Return `value` as an int after checking that it is an integer of at least `minimum`.

    Parameters
    ----------
    name, of : str
        Name of the argument and what it counts, such as "rows", for error messages.
    value : object
    minimum : int

    Raises
    ------
    DataTypeError
        If the value is not an integer.
    DataError
        If the value is below the minimum.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise DataTypeError(f"{name} is a whole number of {of}, {minimum} or more; got {value!r}.")
    if value < minimum:
        raise DataError(f"{name} is a number of {of}, {minimum} or more; got {value!r}.")
    return int(value)


def step_limit(max_steps: Any, max_seconds: Any) -> int | None:
    """Return the maximum number of steps after checking both limits, of which None is none."""
    steps = None if max_steps is None else whole_number("max_steps=", "steps", max_steps, 1)
    is_number = isinstance(max_seconds, Real) and not isinstance(max_seconds, bool)
    if max_seconds is not None and not (is_number and 0 < max_seconds < math.inf):
        raise DataError(f"max_seconds= is a positive number of seconds; got {max_seconds!r}.")
    return steps


def check_share(name: str, value: Any) -> None:
    """Raise a DataError unless the value of an argument is a number between 0 and 1."""
    if not isinstance(value, (int, float, np.number)) or not 0.0 < value < 1.0:
        raise DataError(f"{name}= is a share between 0 and 1, such as 0.9; got {value!r}.")


def check_flags(**flags: Any) -> None:
    """Raise a DataTypeError unless the values of options are true or false."""
    for name, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise DataTypeError(f"{name}= is True or False; got {value!r:.80}.")


def random_generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy Generator made from None, a seed, a Generator or a RandomState.

    Raises
    ------
    DataTypeError
        For an argument of another type.
    DataError
        For a negative seed.
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(np.iinfo(np.int32).max)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        kind = DataError if isinstance(error, ValueError) else DataTypeError
        raise kind(
            "random_state= is None, a whole number from 0 on, a numpy Generator or a RandomState; "
            f"got {random_state!r:.80}."
        ) from error


def is_sparse(value: Any) -> bool:
    """Return whether a value is a sparse matrix or array of SciPy."""
    # Where scipy.sparse is not imported yet, which takes a while, nothing is sparse.
    sparse: Any = sys.modules.get("scipy.sparse")
    return hasattr(sparse, "issparse") and bool(sparse.issparse(value))


# ------------------------ Log potentials of vectors of counts, as sums with one term for each item


# Bins of the histogram of document lengths: exact below 1,024, in steps of 2 % beyond.
EXACT_LENGTHS, LENGTH_STEP = 1024, 1.02
LENGTHS = np.concatenate(
    [np.arange(EXACT_LENGTHS), EXACT_LENGTHS * LENGTH_STEP ** np.arange(700)]
).round()


@dataclass(frozen=True, eq=False)
class ItemTerms:
    """The log potential of one row of counts, as a sum of terms of single items.

    Attributes
    ----------
    names : sequence of names
        The item of each term; the name of the whole vector for a term that belongs to no single
        item.
    values : sequence
        The count of each item, or whether it is present (bool).
    logs : ndarray, shape (n_terms, cells)
        Terms for each configuration of the parents (cell); their sum is the log potential.
    """

    names: Sequence[Name]
    values: Sequence[Any]
    logs: Floats

    def powered(self, exponent: Floats) -> Self:
        """Return the terms multiplied by an exponent, which raises the potential to this power.

        `exponent` has shape () or (cells,).
        """
        # To the power 0 also an impossible count, of log minus infinity, has the potential 1.
        logs = np.where(exponent == 0, 0.0, self.logs * np.where(exponent == 0, 1.0, exponent))
        return type(self)(self.names, self.values, logs)


def dense_row(counts: Any) -> Floats:
    """Return one row of counts as a dense array, shape (n_items,)."""
    dense = counts.toarray() if is_sparse(counts) else counts
    return np.asarray(dense, dtype=np.float64).reshape(-1)


def counted(items: Sequence[Name], row: Floats, at: NDArray[np.intp]) -> tuple[list[Name], Any]:
    """Return the names and the counts of the items at the indices `at` of a row of counts."""
    return [items[i] for i in at.tolist()], whole(row[at].tolist())


def whole(counts: Iterable[float]) -> list[float]:
    """Return counts as a list, with whole numbers as int and others as float."""
    return [int(count) if float(count).is_integer() else count for count in counts]


def joint_states(codes: Sequence[Any], cards: Sequence[int], n_rows: int) -> NDArray[np.intp]:
    """Return the number of the joint state of some variables in each row, the last one fastest.

    Without variables there is one joint state. No code is missing.
    """
    if not codes:
        return np.zeros(n_rows, dtype=np.intp)
    return np.asarray(np.ravel_multi_index(codes, cards))


def extremes(values: Floats) -> tuple[Floats, Floats]:
    """Return the least and the greatest number of each column, shape (n_columns,) each.

    Missing numbers (NaN) do not count; those of no numbers are infinity and minus infinity.
    """
    n_rows, n_columns = values.shape
    # NumPy reduces few long rows much faster than many short ones.
    together = 1 + _LONG_ROW // max(1, n_columns) if values.flags.c_contiguous else 1
    n_side_by_side = n_rows - n_rows % together
    # `together` rows side by side in each row of `wide`; the rows that are left over follow below.
    wide = values[:n_side_by_side].reshape(n_side_by_side // together, together * n_columns)
    ends = []
    for function, of_none in ((np.fmin, np.inf), (np.fmax, -np.inf)):
        parts = function.reduce(wide, axis=0, initial=of_none).reshape(together, n_columns)
        ends.append(function.reduce(np.vstack([parts, values[n_side_by_side:]]), axis=0))
    return ends[0], ends[1]
