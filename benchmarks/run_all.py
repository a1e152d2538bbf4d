"""Run every benchmark of speed in its short form, and show the rows as one table.

python benchmarks/run_all.py [--json FILE] [--only NAME ...] [--table]

It takes about a quarter of an hour on two cores that do nothing else; the load at the start is told
with the figures. ``--json`` writes all rows, for `compare.py`; ``--table`` puts the table into
benchmarks/README.md. What lacks its peer is told and left out.
"""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compare import rows_of
from harness import cell, versions

HERE = Path(__file__).parent
PAGE = HERE / "README.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
# Benchmarks by the options of their short form.
BENCHMARKS = {
    "bench_first_answer": ["--quick"],
    "bench_first_use": ["--quick"],
    "bench_cli": ["--quick"],
    "bench_formats": ["--quick"],
    "bench_single_row": ["--quick"],
    "bench_inference": ["--quick"],
    "bench_questions": ["--quick"],
    "bench_explorer": ["--quick"],
    "bench_uncertainty": ["--quick"],
    "bench_zeros": ["--quick"],
    "bench_naive_bayes": ["--quick"],
    "bench_classifiers": ["--quick"],
    "bench_imbalance": ["--quick"],
    "bench_structure": ["--quick"],
    "bench_learning": ["--quick"],
    "bench_stream": ["--quick"],
    "bench_time": [],
    "bench_scale": ["--rows", "500000"],
}


def run(name: str, options: list[str], folder: Path) -> list[dict[str, object]]:
    """Return the rows of one benchmark; its own output goes to standard error."""
    path = folder / f"{name}.json"
    start = time.monotonic()
    command = [sys.executable, str(HERE / f"{name}.py"), *options, "--json", str(path)]
    done = subprocess.run(command, stdout=sys.stderr, check=False)
    told = "" if done.returncode == 0 else f", ended with {done.returncode}"
    print(f"{name}: {time.monotonic() - start:.0f} s{told}", flush=True)
    return list(rows_of(path).values()) if path.exists() else []


def table(found: dict[str, list[dict[str, object]]], head: str) -> str:
    """Return all rows as Markdown."""
    lines = [
        head,
        "",
        "| case | metric | ours | peer | ratio | peer is |",
        "|---|---|--:|--:|--:|---|",
    ]
    for name, rows in found.items():
        lines.append(f"| **{name}** | | | | | |")
        for row in rows:
            numbers = " | ".join(
                cell(row[field], 0, digits)  # type: ignore[arg-type]
                for field, digits in (("ours", 5), ("peer", 5), ("ratio", 2))
            )
            lines.append(f"| {row['case']} | {row['metric']} | {numbers} | {row['peer_name']} |")
    return "\n".join(lines)


def main() -> None:
    """Run the chosen benchmarks."""
    command = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("--json", type=Path, help="write all rows, one JSON object a line")
    command.add_argument("--only", nargs="+", choices=list(BENCHMARKS), default=list(BENCHMARKS))
    command.add_argument("--table", action="store_true", help="put the table into README.md")
    given = command.parse_args()
    head = (
        f"Run on {datetime.date.today()}, load {os.getloadavg()[0]:.2f} at the start: "
        f"{versions(['numpy', 'scipy', 'numba', 'scikit-learn'])}."
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        found = {name: run(name, BENCHMARKS[name], folder) for name in given.only}
        if given.json is not None:
            parts = [path.read_text("utf-8") for path in sorted(folder.glob("*.json"))]
            given.json.write_text("".join(parts), "utf-8")
    shown = table(found, head)
    print(shown)
    if given.table:
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\n{shown}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
