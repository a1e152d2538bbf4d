"""Methods that functions of higher layers implement, whose signature and docstring they have.

The class has one line for each, such as ``flip = late_method(lambda: late_methods.flip)``. The
function is imported when the method is first looked up.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, Generic, TypeVar, cast

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class LateFunction(Generic[FunctionT]):
    """A function as an attribute of a class, such as one that makes instances of it.

    Parameters
    ----------
    function : callable
        Returns the function, and imports it.
    """

    def __init__(self, function: Callable[[], FunctionT]) -> None:
        self._function = function

    def __get__(self, instance: Any, owner: Any = None) -> FunctionT:
        return self._function()


class _LateMethod(LateFunction[FunctionT]):
    """A function as a method, whose first argument is the instance."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        function = self._function()
        return function if instance is None else MethodType(function, instance)


def late_method(function: Callable[[], FunctionT]) -> FunctionT:
    """Return a function as a method, whose first argument is the instance; see `LateFunction`."""
    # Type checkers bind an attribute of the type of a function as they bind a method.
    return cast(FunctionT, _LateMethod(function))
