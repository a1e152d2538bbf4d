"""Run one target on many inputs within limits: ``python -m fuzz.run bif --inputs 30000``.

Started with the folder of the tests on the path. Every input has 5 s of CPU time, and the process
as much memory as it has when it starts and 1 GB: what a small file may take and to spare. The
exit code is 1 if anything went wrong; ``--refusals`` lists what was refused too, and ``--only 17``
runs one input without limits and raises what it raises.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.limits import cpu_seconds
from fuzz.targets import TARGETS, input_of, outcomes

import bayesgraph as bg

_SECONDS = 5.0
_BYTES = 1 << 30


def _limited(run: Callable[[], Any]) -> Any:
    with cpu_seconds(_SECONDS):
        return run()


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + _BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _ask_a_program() -> None:
    """Ask a network of more variables than are enumerated, by compiled programs."""
    x = [bg.Discrete(f"x{i}", ["a", "b"]) for i in range(14)]
    first = bg.TableCPD(x[0], [0.5, 0.5])
    rest = [bg.TableCPD(b, [[0.1, 0.9], [0.3, 0.7]], [a]) for a, b in itertools.pairwise(x)]
    net = bg.BayesianNetwork([first, *rest])
    net.query("x9", {"x1": "a"})
    net.marginals()


def main() -> int:
    """Run the target that the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--inputs", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--refusals", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.only is not None:
            target = TARGETS[given.target]
            made = input_of(given.target, given.seed, given.only)
            target.use(target.read(made, folder), folder)
            return 0
        # Kernels are compiled, and libraries loaded, before memory is limited.
        _ask_a_program()
        list(outcomes(given.target, given.seed, range(200), folder))
        _limit_memory()
        begun = time.process_time()
        numbers = range(given.inputs)
        found = list(outcomes(given.target, given.seed, numbers, folder, guard=_limited))
    failed = [outcome for outcome in found if outcome.kind in ("read", "use")]
    kinds = Counter(outcome.kind for outcome in found)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    lines = [
        f"{given.target}, seed {given.seed}: {given.inputs:,} inputs, {dict(kinds)}, "
        f"{time.process_time() - begun:.0f} s of CPU, at most {used} MB"
    ]
    places: dict[tuple[str, str], list[Any]] = {}
    for outcome in found if given.refusals else failed:
        error = outcome.error.partition(":")[0]
        places.setdefault((outcome.kind, f"{error} {outcome.place}"), []).append(outcome)
    for (kind, place), several in sorted(places.items(), key=lambda item: -len(item[1])):
        first = several[0]
        lines.append(f"  {len(several)} x {kind} {place}: number {first.number}: {first.error}")
    sys.stdout.write("\n".join(lines) + "\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
