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


@dataclass(frozen=True)
class Row:
    """One comparison. Times in seconds; a ratio above 1 means that bayesgraph is faster."""

    case: str
    metric: str
    ours: float
    peer: float
    peer_name: str
    ratio: float


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


def _seconds(call: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def options(description: str) -> argparse.Namespace:
    """Return the command line's options: --json FILE and --quick."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, help="write one JSON object a line")
    parser.add_argument("--quick", action="store_true", help="the same cases, smaller")
    return parser.parse_args()


def report(rows: list[Row], json_file: Path | None, packages: list[str]) -> None:
    """Print the rows with versions, and write them as JSON lines."""
    versions = ", ".join(f"{name} {version(name)}" for name in ["bayesgraph", *packages])
    print(f"{versions}; Python {platform.python_version()}, {os.cpu_count()} cores")
    print(f"{'case':<50}{'metric':<10}{'ours s':>10}{'peer s':>10}{'ratio':>8}  peer")
    for r in rows:
        times = f"{r.ours:>10.4f}{r.peer:>10.4f}{r.ratio:>8.2f}"
        print(f"{r.case:<50}{r.metric:<10}{times}  {r.peer_name}")
    if json_file is not None:
        json_file.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
