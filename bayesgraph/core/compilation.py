"""The decorator of kernels, and the choice between their two tiers at each call."""

from __future__ import annotations

import atexit
import hashlib
import math
import os
import platform
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property, update_wrapper
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, RLock
from time import perf_counter
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np

# ------- A process in the background that compiles all kernels into the cache, once for each cache


try:
    import fcntl
except ImportError:  # Windows: nothing is compiled in the background.
    fcntl = None  # type: ignore[assignment]

PACKAGE = Path(__file__).parent.parent


class Background:
    """The compilation of all kernels in a process of its own, which ends with this one.

    Nothing here raises an error: where the process cannot start, kernels are compiled when work is
    large, or when no more time should be spent on interpreting them.
    """

    def __init__(self) -> None:
        self.allowed = True
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._ready = False
        self._lock = Lock()

    def start(self) -> None:
        """Start the process, unless it runs, the cache is complete, or it cannot run."""
        if not self.allowed or self._owner == os.getpid():
            return
        with self._lock:
            if self._owner != os.getpid():
                self._owner = os.getpid()
                with suppress(OSError):
                    self._process = _started()
                    atexit.register(self._end)

    def _end(self) -> None:
        """End the process; where this one is killed, the end of its input does it."""
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()
            self._process.communicate()  # waits, and closes the pipe

    def is_ready(self) -> bool:
        """Tell whether waiting longer for compiled kernels brings nothing.

        They are in the cache, or nobody compiles them in the background.
        """
        if not self._ready:
            running = self._process is not None and self._process.poll() is None
            self._ready = is_complete() or not (running or _is_locked())
        return self._ready


def _started() -> subprocess.Popen[bytes] | None:
    """Start the process if the cache is not complete and no other process fills it."""
    if fcntl is None or not sys.executable or is_complete():
        return None
    lock = _start_lock()
    if lock is None:
        return None
    try:
        # The process inherits the lock, and sees by the end of its input that this one has ended.
        return subprocess.Popen(
            _command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Given, if empty: a file .numba_config.yaml of the working directory names no folder.
            env={"NUMBA_CACHE_DIR": ""} | os.environ | {"BAYESGRAPH_COMPILE": "inline"},
            pass_fds=(lock,),
        )
    finally:
        os.close(lock)


def _command() -> list[str]:
    return python_command("bayesgraph", "warm-up", "--background")


def python_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module in a process of its own, with this one's search path.

    The working directory is searched only if this process names it: files that lie there, such as a
    ``random.py``, are not the user's program.
    """
    search_path = [str(PACKAGE.parent), *filter(None, sys.path)]
    code = (
        f"import sys; sys.path[:] = {search_path!a}; import runpy; "
        f"runpy.run_module({module!a}, run_name='__main__', alter_sys=True)"
    )
    isolation = "-I" if sys.flags.ignore_environment else "-P"
    return [sys.executable, isolation, "-c", code, *arguments]


def _start_lock() -> int | None:
    """Return a locked file of the cache, or None if another process has locked it."""
    folder = cache_folder()
    if folder is None:
        return None
    lock = os.open(folder / ".bayesgraph-compiling", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _is_locked() -> bool:
    with suppress(OSError):
        lock = _start_lock()
        if lock is not None:
            os.close(lock)
            return False
        return cache_folder() is not None
    return False


def cache_folder() -> Path | None:
    """Return the folder that says whether the cache is complete; None if none can be written."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    folders = [Path(named)] if named else [PACKAGE / "__pycache__"]
    folders.append(Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "bayesgraph")
    for folder in folders:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return None if named and open_to_others(folder) else folder
    return None


def open_to_others(folder: Path) -> Path | None:
    """Return the folder in which other users can put files or this folder; None if none can.

    A group whose number is that of the owner is the owner's alone. In a sticky folder, such as
    ``/tmp``, nobody moves what others have there.
    """
    if os.name != "posix":
        return None
    place = folder.resolve()
    for each in (place, *place.parents):
        if each.exists():
            status = each.stat()
            others = stat.S_IWOTH | (stat.S_IWGRP if status.st_gid != status.st_uid else 0)
            is_sticky = each != place and status.st_mode & stat.S_ISVTX
            is_foreign = each == place and status.st_uid not in (0, os.getuid())
            if is_foreign or (status.st_mode & others and not is_sticky):
                return each
    return None


def _compiler() -> list[Path]:
    """Return files that change with the version of the compiler, without importing it."""
    specs = [find_spec("numba"), find_spec("llvmlite")]
    return [Path(each.origin) for each in specs if each is not None and each.origin is not None]


def _stamp() -> str:
    """Return a digest of the sources, the compiler and the processor of the compiled kernels."""
    state = hashlib.sha256()
    for path in [*sorted(PACKAGE.rglob("*kernels.py")), *_compiler()]:
        status = path.stat()
        state.update(f"{path} {status.st_mtime_ns} {status.st_size} ".encode())
    state.update(f"{sys.version} {platform.processor()}".encode())
    return state.hexdigest()[:16]


def is_complete() -> bool:
    """Tell whether all kernels are compiled for these sources, this compiler and processor."""
    folder = cache_folder()
    return folder is not None and (folder / f".bayesgraph-{_stamp()}").exists()


def mark_complete() -> None:
    """Remember that all kernels are compiled."""
    folder = cache_folder()
    if folder is not None:
        with suppress(OSError):
            for old in folder.glob(".bayesgraph-????????????????"):
                old.unlink()
            (folder / f".bayesgraph-{_stamp()}").touch()


# -------------------- The two tiers of kernels: when a call is interpreted and when it is compiled
# Compiled kernels need their compiler imported, and are loaded from a cache or compiled, which
# takes from one second to a minute. The interpreted tier runs the same statements in Python at
# once, some hundred times slower. Small work is therefore interpreted, until the time spent on it
# would have paid for the compiled kernels; large work is compiled from its first call.


# What BAYESGRAPH_COMPILE may say.
MODES = ("background", "inline", "never")

# Maximum work of an interpreted call, in units that take a microsecond or two.
LARGE = 60_000
# Seconds of interpreted calls after which a process changes to compiled kernels, once they are
# cached: about the time that it takes to import the compiler and to load them. While they are not,
# it looks for them again after some more seconds of interpreted calls.
ENOUGH, AGAIN = 0.7, 0.2


class Tiers:
    """What decides for each call of a kernel between the two tiers.

    Attributes
    ----------
    mode : {"background", "inline", "never"}
        ``"background"`` interprets small work while another process compiles all kernels,
        ``"inline"`` compiles each kernel at its first call, ``"never"`` compiles nothing.
    compiled : bool
        Whether calls are compiled, however small; it never becomes false again.
    """

    def __init__(self, mode: str, background: Background) -> None:
        self.mode = mode
        self.compiled = mode == "inline"
        self.background = background
        self.spent = 0.0
        self._look_at = ENOUGH
        self._lock = Lock()

    def tier(self, work: int) -> str:
        """Return the tier of a call of this work: ``"interpreted"`` or ``"compiled"``."""
        if self.mode == "never" or not (self.compiled or work > LARGE):
            return "interpreted"
        return "compiled"

    def spend(self, seconds: float) -> None:
        """Count the time of an interpreted call; after `ENOUGH` calls are compiled."""
        if self.mode == "background":
            self.background.start()
        with self._lock:
            self.spent += seconds
            looks = self.spent > self._look_at
            if looks:
                self._look_at = self.spent + AGAIN
        if looks and self.mode == "background" and self.background.is_ready():
            self.compiled = True


def _mode_of_environment() -> str:
    mode = os.environ.get("BAYESGRAPH_COMPILE", "background")
    if mode not in MODES:
        raise ValueError(
            f"The environment variable BAYESGRAPH_COMPILE is {mode!r}, but it must be one of "
            f"{', '.join(MODES)}"
        )
    return mode


tiers = Tiers(_mode_of_environment(), Background())


@contextmanager
def mode_is(mode: str) -> Iterator[Tiers]:
    """Return a context manager under which kernels run in another mode, for the whole process.

    It is for tests and for the command that compiles all kernels.
    """
    before = tiers.mode, tiers.compiled
    tiers.mode, tiers.compiled = mode, mode == "inline"
    try:
        yield tiers
    finally:
        tiers.mode, tiers.compiled = before


# ------------------- The decorator of kernels, and the choice between their two tiers at each call


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
            if tiers.tier(work) == "interpreted":
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
        compiler = import_module("bayesgraph.core.compiler")
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


def _with_globals(function: FunctionType, tier: dict[int, dict[str, Any]]) -> FunctionType:
    """Return a copy of a kernel's function in whose globals the kernels are those of one tier."""
    with _lock:
        names = _globals_of(function, tier)
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    return cast(FunctionType, update_wrapper(copy, function))


def _globals_of(function: FunctionType, tier: dict[int, dict[str, Any]]) -> dict[str, Any]:
    names = function.__globals__
    if id(names) not in tier:
        # Kernels may call themselves and each other: what they find is filled in afterwards.
        mine = tier[id(names)] = dict(names)
        interpret = tier is _interpreted_globals
        for name, value in names.items():
            if isinstance(value, Kernel):
                mine[name] = value.interpreted if interpret else value.compiled
            elif interpret and isinstance(value, ModuleType) and value is math:
                mine[name] = _MATH
    return tier[id(names)]
