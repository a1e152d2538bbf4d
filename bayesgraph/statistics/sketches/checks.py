"""Checks of summaries that come from a file: kernels trust what they are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats


def state_array(
    arrays: Mapping[str, NDArray[Any]],
    name: str,
    shape: tuple[int | None, ...],
    *,
    least: float = -np.inf,
    most: float = np.inf,
    whole: bool = False,
) -> NDArray[Any]:
    """Return an array of a saved state.

    Parameters
    ----------
    arrays : mapping from name to ndarray
    name : str
    shape : tuple of int or None
        None for an axis of any length.
    least, most : float
        Which its numbers do not leave.
    whole : bool
        Whether it holds whole numbers of 64 bits; else finite floats of 64 bits.

    Raises
    ------
    DataError
        For no such array, or another one.
    """
    array = arrays.get(name)
    dtype = np.dtype(np.int64 if whole else np.float64)
    if (
        array is None
        or array.dtype != dtype
        or array.ndim != len(shape)
        or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True))
    ):
        found = "nothing" if array is None else f"{array.dtype} of shape {array.shape}"
        expected = ", ".join("any" if n is None else str(n) for n in shape)
        raise DataError(f"A saved state has {name} as {dtype} of shape ({expected}); got {found}.")
    if not (np.isfinite(array) & (array >= least) & (array <= most)).all():
        raise DataError(
            f"A saved state has {name} with finite numbers from {least:g} to {most:g}; it has "
            "others."
        )
    return array


def part_of(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with a prefix, without it."""
    found = arrays.items()
    return {name.removeprefix(prefix): a for name, a in found if name.startswith(prefix)}


def check_ascending(name: str, values: Floats, used: NDArray[np.bool_], *, ties: bool) -> None:
    """Refuse rows of numbers whose used part does not ascend.

    Parameters
    ----------
    name : str
    values, used : ndarray, shape (n_features, room)
        The used numbers of a row come first.
    ties : bool
        Whether neighbours may be equal.

    Raises
    ------
    DataError
    """
    steps = np.diff(values, axis=1)
    good = (steps >= 0) if ties else (steps > 0)
    if not (good | ~used[:, 1:]).all():
        raise DataError(f"A saved state has {name} in ascending order; they are not.")
