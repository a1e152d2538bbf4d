"""The decorator of kernels, and the choice between their two tiers at each call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property, update_wrapper
from importlib import import_module
from threading import RLock
from time import perf_counter
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np

from bayesgraph.compilation.tiers import tiers


class Kernel:
    """A function of arrays and numbers that runs interpreted or compiled; see `kernel`.

    Attributes
    ----------
    function : function
        What was decorated.
    options : mapping
        Options of the compiler.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: Mapping[str, Any],
        work: Callable[..., int] | None,
        interpreted: bool,
    ) -> None:
        update_wrapper(self, function)
        self.function = cast(FunctionType, function)
        self.options = options
        self._work = work
        self._may_interpret = interpreted
        self._run: Callable[..., Any] = self._choose

    def __call__(self, *args: Any) -> Any:
        """Run the kernel on one of the two tiers."""
        return self._run(*args)

    def __reduce__(self) -> str:
        return self.function.__qualname__

    def _choose(self, *args: Any) -> Any:
        if self._may_interpret or tiers.mode == "never":
            work = self._work(*args) if self._work else entries(args)
            if tiers.interprets(work):
                start = perf_counter()
                with np.errstate(all="ignore"):
                    result = self.interpreted(*args)
                tiers.spend(perf_counter() - start)
                return result
        # From now on nothing has to be decided.
        self._run = self.compiled
        return self.compiled(*args)

    @cached_property
    def interpreted(self) -> Callable[..., Any]:
        """The function of the interpreted tier, which calls that of the kernels it uses."""
        return _with_globals(self.function, _interpreted_globals)

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """The function of the compiled tier: native code, compiled for each type of arguments."""
        # The compiler takes longer to import than a small model to answer.
        compiler = import_module("bayesgraph.compilation.compiler")
        function = _with_globals(self.function, _compiled_globals)
        return cast("Callable[..., Any]", compiler.compiled(function, self.options))


def kernel(
    *,
    work: Callable[..., int] | None = None,
    interpreted: bool = True,
    **options: Any,
) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a function of arrays and numbers a kernel, whose body both tiers can run.

    Kernels call other kernels directly. Both tiers must give the same bits where the result is
    stored in a model: the same operations in the same order, and no reassociation by the compiler.

    Parameters
    ----------
    work : callable or None
        Work of a call as a function of its arguments, in units of a microsecond or two of the
        interpreter; None for the number of entries of all arrays.
    interpreted : bool
        Whether small work may be interpreted; otherwise each call waits for its compiled kernel.
    **options
        Options of the compiler, such as ``error_model`` and ``fastmath``.
    """
    return lambda function: Kernel(function, options, work, interpreted)


def entries(values: Any) -> int:
    """Return the number of entries of the arrays among arguments, at any depth of tuples."""
    total = 0
    for value in values:
        if isinstance(value, np.ndarray):
            total += value.size
        elif isinstance(value, tuple):
            total += entries(value)
    return total


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else (-math.inf if x == 0.0 else math.nan)


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


# Compiled functions of `math` do not raise errors.
_MATH = SimpleNamespace(**(vars(math) | {"log": _log, "exp": _exp}))

_interpreted_globals: dict[int, dict[str, Any]] = {}
_compiled_globals: dict[int, dict[str, Any]] = {}
# A thread must not compile a kernel whose globals another thread is filling in.
_lock = RLock()


def _with_globals(function: FunctionType, found: dict[int, dict[str, Any]]) -> FunctionType:
    """Return a copy of a kernel's function in whose globals the kernels are those of one tier."""
    with _lock:
        names = _globals_of(function, found)
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    return cast(FunctionType, update_wrapper(copy, function))


def _globals_of(function: FunctionType, found: dict[int, dict[str, Any]]) -> dict[str, Any]:
    names = function.__globals__
    if id(names) not in found:
        # Kernels may call themselves and each other: what they find is filled in afterwards.
        mine = found[id(names)] = dict(names)
        interpret = found is _interpreted_globals
        for name, value in names.items():
            if isinstance(value, Kernel):
                mine[name] = value.interpreted if interpret else value.compiled
            elif interpret and isinstance(value, ModuleType) and value is math:
                mine[name] = _MATH
    return found[id(names)]
