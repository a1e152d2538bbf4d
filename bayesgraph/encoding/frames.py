"""Conversion of encoded columns to data frames of any library."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
from numpy.typing import NDArray

from bayesgraph.checks import is_sparse
from bayesgraph.encoding.table import as_frame
from bayesgraph.errors import DataError, DataTypeError, MissingDependencyError, quoted
from bayesgraph.variables import CountVector, Name, Variable, decode

FRAMES = ("pandas", "polars", "pyarrow", "dict")


def frame_kind(data: Any) -> str | None:
    """Return the kind of a table, which is one of `FRAMES`, or None for other tables."""
    if isinstance(data, Mapping):
        return "dict"
    frame = as_frame(data)
    if not isinstance(frame, (nw.DataFrame, nw.LazyFrame)):
        return None
    name = str(frame.implementation.value)
    return name if name in FRAMES else None


def to_frame(
    variables: Sequence[Variable], codes: Mapping[Variable, NDArray[Any]], kind: str | None = None
) -> Any:
    """Return encoded columns as a table of states and numbers.

    Parameters
    ----------
    variables : sequence of Variable
        The columns, in their order.
    codes : mapping from Variable to ndarray
        State codes, numbers or counts.
    kind : {"pandas", "polars", "pyarrow", "dict"}, optional
        By default the first of these libraries that is installed. A vector of counts is one matrix
        in a dict, and one column for each item in a frame.

    Raises
    ------
    DataError
        For another kind, or two columns of the same name.
    DataTypeError
        For names, or states of several types, that a frame of that kind cannot hold.
    MissingDependencyError
        If the library is not installed.
    """
    if kind is not None and kind not in FRAMES:
        raise DataError(f"frame= is one of {quoted(FRAMES)} or None; got {kind!r}.")
    if kind is None:
        kind = next(k for k in FRAMES if k == "dict" or importlib.util.find_spec(k) is not None)
    if kind == "dict":
        return {v.name: decode(v, codes[v]) for v in variables}
    columns: dict[Name, NDArray[Any]] = {}
    for v in variables:
        names: Sequence[Name] = [v.name]
        parts: Any = [decode(v, codes[v])]
        if isinstance(v, CountVector):
            counts: Any = codes[v]
            names, parts = v.items, (counts.toarray() if is_sparse(counts) else counts).T
        for name, column in zip(names, parts, strict=True):
            if name in columns:
                raise DataError(
                    f"Two columns of a frame would be called {name!r}; use frame='dict'."
                )
            columns[name] = column
    try:
        return nw.from_dict(columns, backend=kind).to_native()  # type: ignore[arg-type]
    except ImportError as error:
        raise MissingDependencyError(
            f"frame={kind!r} needs the package {kind!r}, which is not installed. Install it with: "
            f"pip install {kind}"
        ) from error
    except (TypeError, ValueError) as error:
        raise DataTypeError(
            f"A {kind} frame does not hold these names or states ({error}). Use "
            "frame='pandas' or frame='dict'."
        ) from error
