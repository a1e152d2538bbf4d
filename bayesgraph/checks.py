"""Checks of common arguments: whole numbers, shares, random states and sparse matrices."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bayesgraph.errors import DataError, DataTypeError


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


def check_coverage(coverage: Any) -> None:
    """Raise a DataError unless a coverage is a number between 0 and 1."""
    if not isinstance(coverage, (int, float, np.number)) or not 0.0 < coverage < 1.0:
        raise DataError(f"coverage= is a share between 0 and 1, such as 0.9; got {coverage!r}.")


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
