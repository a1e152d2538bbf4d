"""A process in the background that compiles all kernels into the cache, once for each cache."""

from __future__ import annotations

import atexit
import hashlib
import os
import platform
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

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
    lock = _lock()
    if lock is None:
        return None
    try:
        # The process inherits the lock, and sees by the end of its input that this one has ended.
        return subprocess.Popen(
            _command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"BAYESGRAPH_COMPILE": "inline", "PYTHONPATH": _search_path()},
            pass_fds=(lock,),
        )
    finally:
        os.close(lock)


def _command() -> list[str]:
    return [sys.executable, "-m", "bayesgraph", "warm-up", "--background"]


def _search_path() -> str:
    # The process has to find this package where this process has found it.
    return os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])


def _lock() -> int | None:
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
        lock = _lock()
        if lock is not None:
            os.close(lock)
            return False
        return cache_folder() is not None
    return False


def cache_folder() -> Path | None:
    """Return the folder that says whether the cache is complete; None if none can be written."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    folders = [Path(given)] if given else [PACKAGE / "__pycache__"]
    folders.append(Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "bayesgraph")
    for folder in folders:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    return None


def _compiler() -> list[Path]:
    """Return files that change with the version of the compiler, without importing it."""
    found = [find_spec("numba"), find_spec("llvmlite")]
    return [Path(each.origin) for each in found if each is not None and each.origin is not None]


def _stamp() -> str:
    """Return what the compiled kernels depend on: sources, compiler and processor."""
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
