"""An object in a process of its own, under limits: what kills it leaves the benchmark running."""

from __future__ import annotations

import gc
import multiprocessing
import resource
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

_START_LIMIT = 600.0  # seconds for imports and for compiling kernels that no cache holds


class WorkerError(Exception):
    """The worker gave no answer; the message says why."""


class Worker:
    """Asks methods of an object that lives in another process.

    The process starts at the first question and again at the first question after its death.

    Parameters
    ----------
    factory : callable
        Makes the object, in the process; importable by name.
    args : tuple
        Its arguments.
    memory : int
        Limit of the address space, in bytes.
    seconds : float
        Limit of the time that all answers may take together.
    """

    def __init__(
        self, factory: Callable[..., Any], args: tuple[Any, ...], *, memory: int, seconds: float
    ) -> None:
        self._factory, self._args = factory, args
        self._memory, self._seconds, self._left = memory, seconds, seconds
        self._process: Any = None
        self._connection: Any = None

    def ask(self, method: str, *args: Any) -> Any:
        """Return what the method returns.

        Raises
        ------
        WorkerError
            For an exception, the death of the process, or too little time left.
        """
        late = f"over {self._seconds:g} s"
        if self._left <= 0:
            raise WorkerError(late)
        if self._process is None:
            self._start()
        begin = time.perf_counter()
        try:
            return self._answer((method, args), self._left, late)
        finally:
            self._left -= time.perf_counter() - begin

    @property
    def alive(self) -> bool:
        """Whether the process that answered last is still there."""
        return self._process is not None

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, self._factory, self._args, self._memory), daemon=True
        )
        self._process.start()
        theirs.close()
        self._answer(None, _START_LIMIT, f"no start in {_START_LIMIT:g} s")

    def _answer(self, request: Any, seconds: float, late: str) -> Any:
        try:
            if request:
                self._connection.send(request)
            if not self._connection.poll(seconds):
                self.close()
                raise WorkerError(late)
            answer, reason = self._connection.recv()
        except (EOFError, OSError) as error:
            self._process.join()
            code = self._process.exitcode
            self.close()
            why = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            raise WorkerError(f"died of {why}") from error
        if reason:
            self.close()  # whatever failed may have left the object in pieces
            raise WorkerError(reason)
        return answer


def _serve(
    connection: Connection, factory: Callable[..., Any], args: tuple[Any, ...], memory: int
) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    served = None
    call: Callable[..., Any] = factory
    while True:
        try:
            answer, reason = call(*args), ""
        except Exception as error:  # reported, whatever it is: it becomes a row
            answer, reason = None, _reason(error)
        if served is None and not reason:
            served, answer = answer, None
            gc.freeze()  # imported modules need not be searched at each collection
        connection.send((answer, reason))
        try:
            method, args = connection.recv()
        except EOFError:
            return
        call = getattr(served, method)


def _reason(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, MemoryError) or "bad_alloc" in text or "OutOfMemory" in text:
        return "out of memory"
    return text.splitlines()[0][:60]
