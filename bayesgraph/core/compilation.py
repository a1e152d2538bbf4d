"""The decorator of kernels, and the choice between their two tiers at each call."""

from __future__ import annotations

import atexit
import hashlib
import json
import math
import os
import platform
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property, update_wrapper
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, RLock
from time import perf_counter
from types import FunctionType, SimpleNamespace
from typing import Any, cast

import numpy as np

from bayesgraph.core.errors import BayesGraphWarning, warn

try:
    import fcntl
except ImportError:  # Windows: nothing is compiled in the background.
    fcntl = None  # type: ignore[assignment]

# ------------------ The cache: a folder of compiled kernels, with a list of those that are in it


PACKAGE = Path(__file__).parent.parent
HAS_COMPILER = find_spec("numba") is not None
# Seconds after which a process looks again which kernels are there.
AGAIN = 0.2


def cache_folder() -> Path | None:
    """Return the folder of compiled kernels: one that has some, else one that can be written."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    folders = [Path(named) if named else PACKAGE / "__pycache__"]
    with suppress(RuntimeError):  # there is no home
        caches = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache"))
        folders.append(caches.expanduser() / "bayesgraph")
    # The user's own folder is not replaced by another one.
    if named and open_to_others(folders[0]):
        return None
    # The package's own folder is not checked: who can write the package can run code anyway.
    folders = [f for f in folders if f.parent == PACKAGE or not open_to_others(f)]
    for folder in folders:
        if (folder / list_name()).exists():
            return folder
    for folder in folders:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    return None


def open_to_others(folder: Path) -> Path | None:
    """Return the folder, or one above it, in which other users can write; None if there is none.

    A folder of another user counts too, unless that is root. A group whose number is that of the
    owner is the owner's alone. In a sticky folder, such as ``/tmp``, nobody moves what others have
    there.
    """
    if os.name != "posix":
        return None
    place = folder.resolve()
    for each in (place, *place.parents):
        if each.exists():
            status = each.stat()
            # Permission bits by which others may write.
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


def list_name() -> str:
    """Return the name of the list of compiled kernels: of these sources, compiler and processor."""
    state = hashlib.sha256()
    for path in [*sorted(PACKAGE.rglob("*kernels.py")), *_compiler()]:
        status = path.stat()
        state.update(f"{path.name} {status.st_mtime_ns} {status.st_size} ".encode())
    state.update(f"{sys.version} {platform.processor()}".encode())
    return f".bayesgraph-{state.hexdigest()[:16]}"


class Library:
    """The names of the kernels that are compiled in the cache, and of those that are wanted.

    Attributes
    ----------
    ALL : str
        The name that stands for all kernels.
    next_look : float
        When the list is read again.
    """

    ALL = "*"

    def __init__(self) -> None:
        self._names: set[str] = set()
        self.next_look = 0.0

    @cached_property
    def folder(self) -> Path | None:
        """The folder of compiled kernels."""
        return cache_folder()

    @cached_property
    def _list(self) -> Path | None:
        return None if self.folder is None else self.folder / list_name()

    def has(self, name: str) -> bool:
        """Tell whether a kernel is compiled, as far as the last look at the list has shown."""
        either = self.ALL, name
        if self._names.isdisjoint(either) and perf_counter() >= self.next_look:
            self.next_look = perf_counter() + AGAIN
            self._names = set(self.lines(""))
        return not self._names.isdisjoint(either)

    def lines(self, which: str) -> list[str]:
        """Return the lines of the list of compiled kernels (""), or of that of ".wanted" ones."""
        with suppress(OSError):
            if self._list is not None:
                return Path(f"{self._list}{which}").read_text("utf-8").splitlines()
        return []

    def add(self, which: str, line: str) -> None:
        """Add a line to a list, see `lines`; those of other sources and compilers are removed."""
        if self._list is None:
            return
        with suppress(OSError):
            # The 16 digits of `list_name`, and a suffix such as ".wanted".
            for old in self._list.parent.glob(".bayesgraph-????????????????*"):
                if not old.name.startswith(self._list.name):
                    old.unlink()
            with open(f"{self._list}{which}", "a", encoding="utf-8") as file:
                file.write(f"{line}\n")


# ------------------------ A process in the background that compiles kernels, one for each cache


# Number of processes that end without having compiled what was asked for, after which none starts.
_MOST_FAILURES = 4


class Background:
    """The compilation of kernels in a process of its own, which ends with this one.

    Nothing here raises an error: where the process cannot start, kernels are compiled when work is
    large, or when no more time should be spent on interpreting them.
    """

    def __init__(self, library: Library) -> None:
        # Whether a process may be started; a command, which ends soon, starts none.
        self.allowed = True
        self.library = library
        self._process: subprocess.Popen[bytes] | None = None
        # Number (PID) of the process that started it, which a fork does not change.
        self._owner = os.getpid()
        # Names of the kernels that this process has asked for.
        self._asked: set[str] = set()
        self._failures = 0
        # When a kernel may be asked for again, in seconds of `perf_counter`.
        self._next_look = 0.0
        self._lock = Lock()
        atexit.register(self._end)

    @property
    def helps(self) -> bool:
        """Whether another process compiles what this one asks for."""
        return self.allowed and self._can_start and self._failures < _MOST_FAILURES

    @cached_property
    def _can_start(self) -> bool:
        # Another process helps nobody on one processor, or in tests of continuous integration.
        is_alone = (os.cpu_count() or 1) < 2 or os.environ.get("CI", "") not in ("", "false", "0")
        folder = self.library.folder
        can_run = fcntl and sys.executable and not is_alone
        return bool(can_run and folder is not None and os.access(folder, os.W_OK))

    def ask(self, name: str, arguments: Iterable[Any]) -> None:
        """Let a process compile a kernel for some arguments; start one if none is running."""
        if perf_counter() < self._next_look or not self.helps:
            return
        with self._lock, suppress(OSError):
            self._next_look = perf_counter() + AGAIN
            # A forked process has no child of its parent.
            if self._owner != os.getpid():
                self._owner, self._process = os.getpid(), None
            has_ended = self._process is not None and self._process.poll() is not None
            if has_ended:
                self._end()
                self.library.next_look = 0.0  # what it has compiled is there by now
            if name not in self._asked:
                self._asked.add(name)
                self._next_look = 0.0  # others may be asked for at once
                self.library.add(".wanted", json.dumps([name, *map(_described, arguments)]))
            elif has_ended and not self.library.has(name):
                self._failures += 1
            if self._process is None and not self.library.has(name):
                self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes] | None:
        """Start the process if no other process fills this cache."""
        assert self.library.folder is not None  # see `_can_start`
        lock = start_lock(self.library.folder)
        if lock is None:
            return None
        try:
            # The process inherits the lock, and sees by the end of its input that this one has
            # ended.
            return subprocess.Popen(
                python_command("bayesgraph.core.compiler"),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Given, if empty: a file .numba_config.yaml of the working directory names no
                # folder.
                env={"NUMBA_CACHE_DIR": ""} | os.environ | {"BAYESGRAPH_COMPILE": "inline"},
                pass_fds=(lock,),
            )
        finally:
            os.close(lock)

    def _end(self) -> None:
        """End the process; where this one is killed, the end of its input does it."""
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()
            self._process.communicate()  # waits for it, and closes the pipe to it
            self._process = None


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
    # Both leave the working directory out; -I ignores variables of the environment, too.
    isolation = "-I" if sys.flags.ignore_environment else "-P"
    return [sys.executable, isolation, "-c", code, *arguments]


def start_lock(folder: Path) -> int | None:
    """Return a locked file of the cache, or None if another process has locked it."""
    lock = os.open(folder / ".bayesgraph-compiling", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


# -------------------- The two tiers of kernels: when a call is interpreted and when it is compiled
# Compiled kernels need their compiler imported, and are loaded from a cache or compiled, which
# takes from one second to a minute. The interpreted tier runs the same statements in Python at
# once, some hundred times slower, or operations on whole arrays in their place. What costs less
# than waiting for the compiled kernel is interpreted.


# What BAYESGRAPH_COMPILE may say.
MODES = ("background", "inline", "never")

# Seconds that a unit of work of a kernel takes when it is interpreted.
_UNIT = 1.5e-6
# Seconds of interpreted calls, those of this process or of one kernel: after which it pays to
# import the compiler for kernels that are in the cache; after which another process should compile
# a kernel; after which it pays to compile it here.
LOADS, WANTED, PAYS = 0.2, 0.1, 5.0
# Seconds of interpreted calls after which one without a compiler is told.
_TOLD = 5.0


class Tiers:
    """What decides for each call of a kernel between the two tiers.

    Attributes
    ----------
    mode : {"background", "inline", "never"}
        ``"background"`` interprets calls until it pays to compile the kernel, while another process
        compiles those that are used most, ``"inline"`` compiles each kernel at its first call,
        ``"never"`` compiles nothing.
    spent : float
        Seconds of all interpreted calls.
    """

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.library = Library()
        self.background = Background(self.library)
        self.spent = 0.0

    def interprets(self, kernel: Kernel, work: int = 0) -> bool:
        """Tell whether a call of this work, see `kernel`, is interpreted."""
        if self.mode != "background":
            return self.mode == "never"
        seconds = _UNIT * work
        # A kernel in the cache only needs the compiler's import, which pays once all interpreted
        # calls of this process took `LOADS` seconds; others must be compiled.
        if self.library.has(kernel.name):
            is_loaded = "bayesgraph.core.compiler" in sys.modules
            return not is_loaded and self.spent + seconds < LOADS
        # Without a process that compiles it, all of the kernel's interpreted calls count.
        if not self.background.helps:
            seconds += kernel.spent
        return kernel.may_interpret and seconds < PAYS

    def spend(self, kernel: Kernel, seconds: float, args: tuple[Any, ...]) -> None:
        """Count the time of an interpreted call, and let kernels that take much be compiled."""
        self.spent += seconds
        kernel.spent += seconds
        # Only at the call that passes the limit.
        if self.spent > _TOLD >= self.spent - seconds and not HAS_COMPILER:
            warn(
                f"{_TOLD:.0f} seconds went to loops that Numba would compile to run up to a "
                "hundred times faster, but it is not installed: pip install numba",
                BayesGraphWarning,
            )
        is_wanted = self.mode == "background" and kernel.spent > WANTED
        if is_wanted and not self.library.has(kernel.name):
            self.background.ask(kernel.name, args)

    def tier(self, work: int) -> str:
        """Return the tier of work that is nothing but kernels: "interpreted" or "compiled"."""
        if self.mode == "background":
            is_loaded = "bayesgraph.core.compiler" in sys.modules
            return "compiled" if is_loaded or _UNIT * work > PAYS else "interpreted"
        return "interpreted" if self.mode == "never" else "compiled"


def _described(value: Any) -> Any:
    """Return the type of an argument of a kernel as lists of texts; see `compiler`."""
    if isinstance(value, np.ndarray):
        order = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        return ["array", value.dtype.name, value.ndim, order, not value.flags.writeable]
    if isinstance(value, tuple):
        of = type(value)
        return ["tuple", f"{of.__module__}:{of.__qualname__}", *map(_described, value)]
    return [np.asarray(value).dtype.name]


_mode = os.environ.get("BAYESGRAPH_COMPILE", "background")
if _mode not in MODES:
    raise ValueError(
        f"The environment variable BAYESGRAPH_COMPILE is {_mode!r}, but it must be one of "
        f"{', '.join(MODES)}"
    )
tiers = Tiers(_mode if HAS_COMPILER else "never")


@contextmanager
def mode_is(mode: str) -> Iterator[Tiers]:
    """Return a context manager under which kernels run in another mode, for the whole process.

    It is for tests and for the command that compiles all kernels.
    """
    before, tiers.mode = tiers.mode, mode
    try:
        yield tiers
    finally:
        tiers.mode = before


# ------------------- The decorator of kernels, and the choice between their two tiers at each call


class Kernel:
    """A function of arrays and numbers that runs interpreted or compiled; see `kernel`.

    Attributes
    ----------
    py_func, targetoptions : function, mapping
        What was decorated, and options of the compiler. The compiler looks for these names, and for
        `_numba_type_`, where compiled code calls the kernel.
    name : str
        That of the module, a point, and the name in it.
    spent : float
        Seconds of interpreted calls.
    may_interpret : bool
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: Mapping[str, Any],
        work: Callable[..., int] | None,
        interpreted: Callable[..., Any] | bool,
    ) -> None:
        update_wrapper(self, function)
        self.py_func = cast(FunctionType, function)
        self.targetoptions = options
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.spent = 0.0
        self._work = work
        self.may_interpret = bool(interpreted)
        # What the interpreted tier runs: the body, or a function in its place.
        self._in_python = cast(FunctionType, interpreted if callable(interpreted) else function)
        # Chooses the tier of each call, until the kernel is compiled.
        self._run: Callable[..., Any] = self._choose

    def __call__(self, *args: Any) -> Any:
        """Run the kernel on one of the two tiers."""
        return self._run(*args)

    def __reduce__(self) -> str:
        # For pickle: the name by which the module has the kernel.
        return self.py_func.__qualname__

    def _choose(self, *args: Any) -> Any:
        # The tier is that which `tiers` chooses; the time of interpreted calls is counted.
        if tiers.interprets(self, self._work(*args) if self._work else entries(args)):
            start = perf_counter()
            # As compiled code, which does not warn of infinity and NaN.
            with np.errstate(all="ignore"):
                result = self.interpreted(*args)
            tiers.spend(self, perf_counter() - start, args)
            return result
        # From now on nothing has to be decided.
        self._run = self.compiled
        return self.compiled(*args)

    @cached_property
    def interpreted(self) -> Callable[..., Any]:
        """The function of the interpreted tier, which calls that of the kernels it uses."""
        function = self._in_python
        # A thread must not run a kernel whose globals another thread is filling in.
        with _lock:
            names = _interpreted_names(function.__globals__)
        return FunctionType(function.__code__, names, function.__name__, function.__defaults__)

    @cached_property
    def compiled(self) -> Any:
        """The function of the compiled tier: native code, compiled for each type of arguments."""
        # The compiler takes longer to import than a small model to answer.
        compiler = import_module("bayesgraph.core.compiler")
        return compiler.compiled(self.py_func, self.targetoptions)

    @property
    def _numba_type_(self) -> Any:
        return self.compiled._numba_type_


def kernel(
    *,
    work: Callable[..., int] | None = None,
    interpreted: Callable[..., Any] | bool = True,
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
    interpreted : function or bool
        A function of the same arguments that runs in place of the body in the interpreted tier,
        such as one of operations on whole arrays. False if small work may not be interpreted: calls
        wait for the kernel to be compiled. One that is in the cache is still interpreted, for up to
        `LOADS` seconds of all kernels, while the compiler is not imported.
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

# Globals of modules in which kernels are functions of the interpreted tier, by the address of the
# modules' own globals.
_interpreted_globals: dict[int, dict[str, Any]] = {}
_lock = RLock()


def _interpreted_names(names: dict[str, Any]) -> dict[str, Any]:
    """Return the globals of a module in which kernels are those of the interpreted tier."""
    if id(names) not in _interpreted_globals:
        # Kernels may call themselves and each other: what they find is filled in afterwards.
        interpreted = _interpreted_globals[id(names)] = dict(names)
        for name, value in names.items():
            if isinstance(value, Kernel):
                interpreted[name] = value.interpreted
            elif value is math:
                interpreted[name] = _MATH
    return _interpreted_globals[id(names)]
