"""Choice of the function that draws a value, by the class of the value."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from typing import Any


def function_for(value: object, functions: Mapping[str, str]) -> Callable[..., Any] | None:
    """Return the function of a value's class, or of the nearest base class; None if there is none.

    Parameters
    ----------
    value : object
    functions : mapping from str to str
        From the name of a class of bayesgraph to "module:name" of a function, which is imported
        when it is first used: most figures need libraries that the others do not.
    """
    for kind in type(value).__mro__:
        if kind.__name__ in functions and kind.__module__.startswith("bayesgraph."):
            function: Callable[..., Any] = pkgutil.resolve_name(functions[kind.__name__])
            return function
    return None
