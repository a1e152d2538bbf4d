"""What got slower between two runs of the same benchmarks.

python benchmarks/compare.py OLD.json NEW.json [--slower 1.15] [--all]

Both files are what benchmarks write with ``--json``. Each row is compared by its time relative to
the peer's in the same run, so that runs on a slow and on a fast day can be compared; rows without a
peer are compared by their times. Rows that are slower by the factor of ``--slower`` are printed,
the worst first (with ``--all`` every row), and the program ends with 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

Key = tuple[str, str, str]


def rows_of(path: Path) -> dict[Key, dict[str, Any]]:
    """Return the rows of a file by case, metric and peer."""
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return {(row["case"], row["metric"], row["peer_name"]): row for row in found}


def change(old: dict[str, Any], new: dict[str, Any]) -> float | None:
    """Return how many times slower the new row is than the old one; None if it was not measured."""
    if old["ratio"] and new["ratio"]:
        return float(old["ratio"] / new["ratio"])
    if old["ours"] and new["ours"]:
        return float(new["ours"] / old["ours"])
    return None


def changes(old: dict[Key, Any], new: dict[Key, Any]) -> list[tuple[float, Key]]:
    """Return (times slower, row) of the rows that both runs measured, the slowest first."""
    both = ((change(old[key], new[key]), key) for key in old.keys() & new.keys())
    return sorted(((by, key) for by, key in both if by is not None), reverse=True)


def main(arguments: list[str] | None = None) -> int:
    """Compare two files, and return 1 if something got slower."""
    command = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("old", type=Path)
    command.add_argument("new", type=Path)
    command.add_argument("--slower", type=float, default=1.15, help="factor that is told")
    command.add_argument("--all", action="store_true", help="print every row")
    given = command.parse_args(arguments)
    old, new = rows_of(given.old), rows_of(given.new)
    found = changes(old, new)
    if not found:
        print("The files have no row in common.")
        return 2
    slower = [(by, key) for by, key in found if by >= given.slower]
    for by, (case, metric, peer) in found if given.all else slower:
        print(f"{by:6.2f}  {case}  {metric}  (beside {peer})")
    mean = math.exp(sum(math.log(by) for by, _ in found) / len(found))
    alone = len(old.keys() ^ new.keys())
    print(
        f"{len(slower)} of {len(found)} rows are slower by {given.slower} or more; geometric mean "
        f"{mean:.3f}; {alone} rows are in one file only."
    )
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
