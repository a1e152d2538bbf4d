"""The compiler of kernels, with a cache on disk that may be missing, read-only or damaged."""

from __future__ import annotations

import json
import os
import pkgutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Thread
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba.core import caching, types

from bayesgraph.core.compilation import list_name, open_to_others, tiers
from bayesgraph.core.errors import BayesGraphWarning, warn


class _Locator(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):  # type: ignore[misc]
    """The place of a kernel in the cache, which may be read-only."""

    def __init__(self, function: FunctionType, file: str) -> None:
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> _Locator:
        return cls(function, file)

    def get_cache_path(self) -> str:
        folder = tiers.library.folder
        assert folder is not None  # otherwise there is no cache
        return str(folder / Path(self._py_file).parent.name)

    def get_source_stamp(self) -> Any:
        try:
            return super().get_source_stamp()
        except OSError:  # a file in an archive
            return list_name()


class _Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _Cache(caching.FunctionCache):  # type: ignore[misc]
    """A cache whose damaged files are replaced, and which works without a place to write."""

    _impl_class = _Implementation

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            # Whatever a damaged file makes the reader raise, compiling again mends it: None says
            # that nothing is cached.
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:
            _warn_of_memory(f"{self.cache_path} cannot be written")


def compiled(function: FunctionType, options: Mapping[str, Any]) -> Any:
    """Return the dispatcher that compiles a function for each type of arguments.

    Parameters
    ----------
    function : function
    options : mapping
        Options of the compiler.
    """
    dispatcher = numba.njit(nogil=True, **options)(function)
    if tiers.library.folder is not None:
        dispatcher._cache = _Cache(function)
    else:
        named = os.environ.get("NUMBA_CACHE_DIR", "")
        place = open_to_others(Path(named)) if named else None
        _warn_of_memory(
            f"they are code, and other users can write {place}" if place else "no folder is there"
        )
    return dispatcher


@cache
def _warn_of_memory(why: str) -> None:
    """Warn once that kernels are not kept."""
    warn(
        f"Kernels are not kept ({why}): each process compiles them in memory. Let the environment "
        "variable NUMBA_CACHE_DIR name a folder that only you can write (chmod go-w).",
        BayesGraphWarning,
    )


# --------------------------------------- The process that compiles kernels for other processes


def compile_wanted() -> None:
    """Compile the kernels that are wanted, with low priority, and end this process.

    It ends when no more are wanted, or with its standard input.
    """
    Thread(target=_end_with_the_input, daemon=True).start()
    with suppress(AttributeError, OSError):
        os.nice(10)
    library, done = tiers.library, set()
    # Lines are added while this process compiles; it ends when none is new.
    while wanted := [line for line in library.lines(".wanted") if line not in done]:
        done.update(wanted)
        for line in wanted:
            # What goes wrong here goes wrong where the kernel is wanted, and is seen there.
            with suppress(Exception):
                name, *arguments = json.loads(line)
                kernel = pkgutil.resolve_name(name)
                kernel.compiled.compile(tuple(map(_type_of, arguments)))
                library.add("", kernel.name)
    # An ordinary exit would need the lock of standard input, which the thread holds while it reads.
    os._exit(0)


def _end_with_the_input() -> None:
    """End the process when its standard input ends: whoever started it has ended."""
    sys.stdin.buffer.read()
    os._exit(0)


def _type_of(described: list[Any]) -> Any:
    """Return the compiler's type of an argument that is described by texts."""
    match described:
        case ["array", dtype, n_axes, order, is_read_only]:
            return types.Array(_type_of([dtype]), n_axes, order, readonly=is_read_only)
        case ["tuple", name, *items]:
            of = pkgutil.resolve_name(name)
            fields = [*map(_type_of, items)]
            return types.containers.BaseTuple.from_types(fields, None if of is tuple else of)
        case [dtype]:
            return numba.from_dtype(np.dtype(dtype))
    raise ValueError(described)


if __name__ == "__main__":
    compile_wanted()
