"""The compiler of kernels, with a cache on disk that may be missing, read-only or damaged."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba.core.caching import FunctionCache

from bayesgraph.core.compilation import open_to_others
from bayesgraph.core.errors import BayesGraphWarning, warn


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
        if not _is_refused(numba.config.CACHE_DIR):
            dispatcher._cache = _Cache(function)
    return dispatcher


@cache
def _is_refused(folder: str) -> bool:
    """Tell whether kernels in a folder, which are code, may be those of others; warn if so."""
    # Numba also takes the folder from a file of the working directory.
    is_named = folder == os.environ.get("NUMBA_CACHE_DIR", "")
    place = open_to_others(Path(folder)) if folder and is_named else None
    if is_named and place is None:
        return False
    what = f"other users can write {place}" if is_named else ".numba_config.yaml names it"
    warn(
        f"Kernels are not kept in {folder}: they are code, and {what}. They are compiled in memory "
        "by each process; let the environment variable NUMBA_CACHE_DIR name a folder that only "
        "you can write (chmod go-w).",
        BayesGraphWarning,
    )
    return True
