"""The compiler of kernels, with a cache on disk that may be missing, read-only or damaged."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import FunctionType
from typing import Any

import numba
from numba.core.caching import FunctionCache


class _Cache(FunctionCache):  # type: ignore[misc]
    """A cache whose damaged files are replaced, and which works without a place to write."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            # Whatever a damaged file makes the reader raise, compiling again mends it.
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):
            super().save_overload(sig, data)


def compiled(function: FunctionType, options: Mapping[str, Any]) -> Any:
    """Return the dispatcher that compiles a function for each type of arguments.

    Parameters
    ----------
    function : function
    options : mapping
        Options of the compiler.
    """
    dispatcher = numba.njit(nogil=True, **options)(function)
    # Without a folder for the cache, a process compiles what it needs.
    with suppress(RuntimeError):
        dispatcher._cache = _Cache(function)
    return dispatcher
