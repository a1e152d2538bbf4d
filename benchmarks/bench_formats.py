"""Files of networks in every format: reading them, beside pyAgrum and pgmpy.

python benchmarks/bench_formats.py [--quick] [--json FILE] [--only SUFFIX ...]

The network has tables of 256 random numbers, as many as make a file of the given size. Each format
is written by bayesgraph and read by all: 12.5, 25 and 50 MB beside pyAgrum, with the power of the
size with which times grow (1 is linear), and 1 MB beside pgmpy, which takes minutes for more in all
formats but those of XML. What a peer cannot read is told in its place. Times are those of the
processor, once the compiled kernels are loaded, which the first file of 24 MB does. Targets: no
slower than pyAgrum, ten times as fast as pgmpy.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import Row, parser, report
from harness import write as write_rows

import bayesgraph as bg

SIZE, QUICK, SMALL = 50, 4, 1.0
# pgmpy takes minutes for a tenth of a megabyte of the first.
SLOW = {".net": 0.02}
WHOLE = (".xmlbif", ".xdsl")
STATES, PARENTS = 4, 3
# Readers of pgmpy by suffix: the class in pgmpy.readwrite.
PGMPY = {
    ".bif": "BIFReader",
    ".xmlbif": "XMLBIFReader",
    ".uai": "UAIReader",
    ".net": "NETReader",
    ".xdsl": "XDSLReader",
}
# The suffix by which pyAgrum knows a format.
AGRUM = {".bif": "bif", ".xmlbif": "bifxml", ".uai": "uai", ".net": "net", ".xdsl": "xdsl"}


def network(n: int) -> bg.BayesianNetwork:
    """Return a network of n variables, each with the few before it as parents."""
    random = np.random.default_rng(1)
    variables = [bg.Discrete(f"x{i}", [f"s{k}" for k in range(STATES)]) for i in range(n)]
    cpds = []
    for i, variable in enumerate(variables):
        parents = variables[max(0, i - PARENTS) : i]
        values = random.dirichlet(np.ones(STATES), [STATES] * len(parents))
        cpds.append(bg.TableCPD(variable, values, parents))
    return bg.BayesianNetwork(cpds)


def write(path: Path, megabytes: float) -> None:
    """Write a file of about so many megabytes."""
    n = 40
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network(n).save(path, **_lossy(path))
        n = int(n * megabytes * 1e6 / path.stat().st_size)
        network(n).save(path, **_lossy(path))


def _lossy(path: Path) -> dict[str, bool]:
    return {} if path.suffix == ".bayesgraph" else {"strict": False}


def by_agrum(path: Path) -> Callable[[], object]:
    """Return a call that reads a file by pyAgrum."""
    agrum = importlib.import_module("pyagrum")
    return lambda: agrum.loadBN(str(path))


def by_pgmpy(path: Path) -> Callable[[], object]:
    """Return a call that reads a file by pgmpy."""
    reader = getattr(importlib.import_module("pgmpy.readwrite"), PGMPY[path.suffix])
    return lambda: reader(str(path)).get_model()


def seconds(read: Callable[[], object], repeats: int) -> float:
    """Return the least time of the processor that some calls take."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        model = read()
        times.append(time.process_time() - start)
        del model
    return min(times)


def peer(name: str, make: Callable[[], Callable[[], object]], repeats: int) -> tuple[Any, str]:
    """Return the time of a peer, or None and why it has none."""
    try:
        return seconds(make(), repeats), name
    except ImportError:
        return None, f"no {name}"
    except Exception as error:  # whatever it raises for a file that it cannot read
        return None, f"{name}: {' '.join(str(error).split()):.60}"


def compared(
    case: str, path: Path, name: str, make: Callable[[], Callable[[], object]], repeats: int
) -> Row:
    """Return the row of a peer."""
    ours = seconds(lambda: bg.load(path), repeats)
    theirs, told = peer(name, make, repeats)
    return Row(case, "read", ours, theirs, told, None if theirs is None else theirs / ours)


def rows(suffix: str, size: float, folder: Path) -> list[Row]:
    """Return the rows of one format."""
    whole, small = folder / f"whole{suffix}", folder / f"small{suffix}"
    write(whole, size)
    bg.load(whole)  # imports, and loads kernels
    found = []
    if suffix in PGMPY:
        least = size if suffix in WHOLE else SLOW.get(suffix, SMALL)
        write(small, least)
        found.append(compared(f"{suffix}, {least} MB", small, "pgmpy", lambda: by_pgmpy(small), 1))
    return found + by_size(suffix, size, folder)


def by_size(suffix: str, size: float, folder: Path) -> list[Row]:
    """Return the rows of files of a quarter, half and all of a size, and how times grow."""
    found = []
    # pyAgrum goes by its own suffixes, all of which are ours too.
    path = folder / f"file.{AGRUM.get(suffix, suffix[1:])}"
    sizes = [size / 4, size / 2, size]
    for megabytes in sizes:
        write(folder / f"file{suffix}", megabytes)
        (folder / f"file{suffix}").rename(path)
        case = f"{suffix}, {megabytes} MB"
        if suffix in AGRUM:
            found.append(compared(case, path, "pyAgrum", lambda: by_agrum(path), 2))
        else:
            found.append(Row(case, "read", seconds(lambda: bg.load(path), 2), None, "none", None))
        path.unlink()
    ours = exponent(sizes, [row.ours for row in found])
    theirs = exponent(sizes, [row.peer for row in found])
    return [*found, Row(suffix, "exponent", ours, theirs, found[-1].peer_name, None)]


def exponent(sizes: list[float], times: list[float | None]) -> float | None:
    """Return the power of its size with which the time of a file grows: 1 is linear."""
    known = [time for time in times if time is not None]
    if len(known) < len(times):
        return None
    return float(np.polyfit(np.log(sizes), np.log(known), 1)[0])


def suffixes() -> list[str]:
    """Return the first suffix of each format that is read and written, but that of pages.

    A page holds a native file, and is refused where a browser would not answer from it.
    """
    homes = {home: suffix for suffix, home in reversed(bg.files.FORMATS.items())}
    cards = {suffix: _card(home) for home, suffix in homes.items()}
    return [s for s, card in reversed(cards.items()) if card.parse and card.format and s != ".html"]


def _card(home: str) -> Any:
    module, name = home.split(":")
    return getattr(importlib.import_module(module), name)


def main() -> None:
    """Measure the chosen formats."""
    command = parser(__doc__ or "")
    command.add_argument("--only", nargs="+", default=[], help="suffixes of formats")
    given = command.parse_args()
    size = QUICK if given.quick else SIZE
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for suffix in given.only or suffixes():
            print(suffix, file=sys.stderr, flush=True)
            found += rows(suffix, size, Path(folder))
            write_rows(found, given.json)  # what is there, if a later format ends it
    report(found, given.json, ["pgmpy", "pyagrum"])


if __name__ == "__main__":
    main()
