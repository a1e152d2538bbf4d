"""Executors: where the parts of a dataset are read and counted, with results in their order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, TypeVar

from bayesgraph.errors import DataTypeError
from bayesgraph.optional import optional_module
from bayesgraph.parallel import ordered

Result = TypeVar("Result")
Results: TypeAlias = Generator[Result, None, None]

# Number of parts that an executor of the standard library has at a time: more than any machine
# has processors, and few enough for their results to be held.
_WINDOW = 64
# How often Dask computes a part again whose worker was lost.
_RETRIES = 3


class Executor(Protocol):
    """Where functions of parts of a dataset are computed.

    Attributes
    ----------
    n_workers : int or None
        Number of parts that are computed at a time, None if it is unknown.
    """

    @property
    def n_workers(self) -> int | None:
        """Number of parts that are computed at a time."""
        ...

    def map(self, function: Callable[[Any], Result], parts: Sequence[Any]) -> Results[Result]:
        """Yield function(part) for all parts in their order.

        A part may be computed several times, such as after a worker was lost; its result is
        yielded once. What is under way when the generator is closed is cancelled.
        """
        ...


@dataclass(frozen=True)
class Futures:
    """The executor that submits to a `concurrent.futures.Executor`, or to anything like it."""

    pool: Any
    n_workers: int | None = None

    def map(self, function: Callable[[Any], Result], parts: Sequence[Any]) -> Results[Result]:
        """Yield function(part) for all parts in their order; see `Executor`."""
        yield from ordered(self.pool.submit, function, parts, _WINDOW)


@dataclass(frozen=True)
class DaskGraph:
    """The executor that computes parts on Dask, which schedules, retries and moves data.

    Attributes
    ----------
    client : distributed.Client or None
        None is the scheduler that Dask is set to use: by default threads of this process.
    """

    client: Any = None

    @property
    def n_workers(self) -> int | None:
        """Number of threads of the workers that there are now; see `Executor`."""
        client = self._client()
        return None if client is None else sum(client.nthreads().values())

    def _client(self) -> Any:
        return _default_client() if self.client is None else self.client

    def map(self, function: Callable[[Any], Result], parts: Sequence[Any]) -> Results[Result]:
        """Yield function(part) for all parts in their order; see `Executor`."""
        dask = optional_module("dask", extra="dask", what="Reading Dask frames")
        call = dask.delayed(_call, pure=False, traverse=False)
        lazy = [call(function, *_apart(part)) for part in parts]
        client = self._client()
        if client is None:
            yield from dask.compute(*lazy, traverse=False)
            return
        futures = client.compute(lazy, retries=_RETRIES)
        try:
            for future in futures:
                yield future.result()
                future.release()
        finally:
            client.cancel(futures)


def _default_client() -> Any:
    """Return the client of dask.distributed that this process uses, None if there is none."""
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.default_client()
    except ValueError:
        return None


def _apart(part: Any) -> tuple[Any, ...]:
    """Return a part without its frames, and the frame of each piece, None if it has none."""
    frames = [getattr(piece, "frame", None) for piece in part.pieces]
    return _with_frames(part, [None] * len(frames)), *frames


def _with_frames(part: Any, frames: Sequence[Any]) -> Any:
    """Return a part with other frames of those pieces that have one."""
    pieces = [
        replace(piece, frame=frame) if hasattr(piece, "frame") else piece
        for piece, frame in zip(part.pieces, frames, strict=True)
    ]
    return replace(part, pieces=tuple(pieces))


def _call(function: Callable[[Any], Result], part: Any, *frames: Any) -> Result:
    """Return function(part) on a worker, which Dask gives the frames of the part's pieces."""
    return function(_with_frames(part, frames))


def as_executor(executor: Any) -> Executor | None:
    """Return what a user gave as executor as an Executor; None stays None.

    Raises
    ------
    DataTypeError
        If it cannot run anything.
    """
    if executor is None:
        return None
    if type(executor).__module__.partition(".")[0] == "distributed":
        return DaskGraph(executor)
    if callable(getattr(executor, "submit", None)):
        return Futures(executor)
    raise DataTypeError(
        "executor= is an executor of concurrent.futures, or a client of dask.distributed; got "
        f"{type(executor).__name__}."
    )
