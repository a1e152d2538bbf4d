"""Imports of optional dependencies, with an error that names the extra to install."""

from __future__ import annotations

import importlib
from typing import Any

from bayesgraph.errors import MissingDependencyError


def optional_module(name: str, *, extra: str, what: str) -> Any:
    """Import and return a module of an optional dependency.

    Parameters
    ----------
    name : str
        Name of the module.
    extra : str
        Extra of bayesgraph that installs the dependency, as in ``bayesgraph[extra]``.
    what : str
        The feature that needs the module, for the error message.

    Raises
    ------
    MissingDependencyError
        If it is not installed; the message names the extra to install.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"{what} needs the package {name.partition('.')[0]!r}, which is not installed. "
            f"Install it with: pip install 'bayesgraph[{extra}]'"
        ) from error
