"""What every benchmark shares: paired timing, a table, JSON lines, and its two options."""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

# Benchmarks measure compiled kernels, at their first call too, unless they say otherwise.
os.environ.setdefault("BAYESGRAPH_COMPILE", "inline")


@dataclass(frozen=True)
class Row:
    """One comparison. Times in seconds; a ratio above 1 means that bayesgraph is faster.

    What was not measured is None, and `peer_name` then says why.
    """

    case: str
    metric: str
    ours: float | None
    peer: float | None
    peer_name: str
    ratio: float | None


def pair(
    case: str,
    metric: str,
    ours: Callable[[], object],
    peer: Callable[[], object],
    peer_name: str,
    *,
    repeats: int = 5,
) -> Row:
    """Time two calls in turn after a warm-up of each, so that both see the same machine."""
    ours()
    peer()
    mine, theirs = [], []
    for _ in range(repeats):
        mine.append(_seconds(ours))
        theirs.append(_seconds(peer))
    a, b = median(mine), median(theirs)
    return Row(case, metric, a, b, peer_name, b / a)


def seconds_of_many(prepare: Callable[[], Callable[[], object]], budget: float) -> float:
    """Return the median time of calls that may last microseconds only.

    Parameters
    ----------
    prepare : callable
        Returns the next call; neither this nor the end of a result's life is timed.
    budget : float
        Seconds after which no further call is begun, preparation included. There is at least one.
    """
    gc.collect()
    times = []
    end = time.perf_counter() + budget
    while not times or time.perf_counter() < end:
        call = prepare()
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
        del result
    return median(times)


def _seconds(call: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser of the options that every benchmark has: --json FILE and --quick."""
    command = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("--json", type=Path, help="write one JSON object a line")
    command.add_argument("--quick", action="store_true", help="the same cases, smaller")
    return command


def options(description: str) -> argparse.Namespace:
    """Return the command line's options: --json FILE and --quick."""
    return parser(description).parse_args()


def versions(packages: list[str]) -> str:
    """Return one line on what was measured where."""
    named = ", ".join(f"{name} {version(name)}" for name in ["bayesgraph", *packages])
    return f"{named}; Python {platform.python_version()}, {os.cpu_count()} cores"


def report(rows: list[Row], json_file: Path | None, packages: list[str]) -> None:
    """Print the rows with versions, and write them as JSON lines."""
    print(versions(packages))
    print(f"{'case':<50}{'metric':<10}{'ours s':>10}{'peer s':>10}{'ratio':>8}  peer")
    for r in rows:
        times = f"{cell(r.ours, 10, 4)}{cell(r.peer, 10, 4)}{cell(r.ratio, 8, 2)}"
        print(f"{r.case:<50}{r.metric:<10}{times}  {r.peer_name}")
    write(rows, json_file)


def write(rows: list[Row], json_file: Path | None) -> None:
    """Write the rows as JSON lines, if a file is given."""
    if json_file is not None:
        json_file.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))


def cell(value: float | None, width: int, digits: int) -> str:
    """Return a number for a table, or a dash where nothing was measured."""
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.{digits}f}"
