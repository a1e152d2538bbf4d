"""Tables larger than memory: TAN and naive Bayes from Parquet beside readers and other engines.

python benchmarks/bench_scale.py [--rows N | --full] [--quick] [--data FOLDER] [--old PYTHON]
                                 [--dask-ml PYTHON] [--case TEXT] [--repeats N] [--json FILE]

The table has 30 columns of text, 20 of numbers and a class, in 24 Parquet files; see `scale_data`.
Each side runs in a process of its own, after a warm-up, the two sides of a row in turn; rows hold
medians of --repeats. They are seconds of CPU of all threads and processes involved, with one thread
for kernels and pyarrow each, unless the metric is "wall" or "memory" (megabytes). CPU seconds hold
on a machine that does other work, within some 20 %; wall-clock times do not. Targets are of ratios:
peer to ours. With --full the table has 6,000,000 rows, which takes an hour; 4 GB of disk hold its
files, which are left in --data for the next run.

The row "fit_batches" needs an environment with an earlier version, to which --old points:

    git worktree add ../earlier 1bf8aae
    python3 -m venv ../earlier/.venv && ../earlier/.venv/bin/pip install -e '../earlier[tables]'
    python benchmarks/bench_scale.py --old ../earlier/.venv/bin/python

The rows of dask-ml need one with it, to which --dask-ml points; those of Dask and DuckDB need these
libraries here, and are left out otherwise.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.dataset as ds
from harness import Row, parser, report
from harness import write as write_rows_as_json
from scale_data import N_FILES, ROW_GROUP, write, write_rows
from scale_sides import Cost, mean_of, run, together

FULL = 6_000_000


@dataclass(frozen=True)
class Bench:
    """What all cases share.

    Attributes
    ----------
    data : Path
        Where the generated files are.
    n_rows : int
    repeats : int
    old : str or None
        An interpreter with the earlier version.
    dask_ml : str or None
        An interpreter with dask-ml.
    """

    data: Path
    n_rows: int
    repeats: int
    old: str | None
    dask_ml: str | None

    @property
    def folder(self) -> Path:
        """The files of the table, which are written at the first time."""
        return write(self.data, self.n_rows)

    def row(self, case: str, ours: Callable[[], Cost], peer: Callable[[], Cost], name: str) -> Row:
        """Return a comparison of CPU seconds, of the two sides in turn."""
        rounds = [(ours().cpu, peer().cpu) for _ in range(self.repeats)]
        mine, theirs = map(median, zip(*rounds, strict=True))
        return Row(f"{case}, {self.n_rows:,} rows", "cpu", mine, theirs, name, theirs / mine)


def earlier(bench: Bench) -> Iterator[Row]:
    """Yield TAN beside that of the earlier version, which learned batch by batch."""
    folder = bench.folder
    if bench.old is not None:
        yield bench.row(
            "TAN",
            lambda: run("tan", folder),
            lambda: run("batched_tan", folder, python=bench.old),
            "fit_batches of 1bf8aae; target 2.3",
        )


def reading(bench: Bench) -> Iterator[Row]:
    """Yield TAN beside reading the same columns alone."""
    folder = bench.folder
    for columns, what, target in (("all", "TAN", "1/5"), ("texts", "TAN of the text", "1/3")):
        yield bench.row(
            what,
            lambda columns=columns: run("tan", folder, columns),
            lambda columns=columns: run("read", folder, columns),
            f"reading as dictionaries; target {target}",
        )


def numbers(bench: Bench) -> Iterator[Row]:
    """Yield naive Bayes of the numbers beside dask-ml, from one array in memory."""
    folder = bench.folder
    if bench.dask_ml is not None:
        yield bench.row(
            "naive Bayes of 20 numbers, in memory",
            lambda: run("in_memory", folder),
            lambda: run("dask_ml", folder, python=bench.dask_ml),
            "dask_ml.GaussianNB; target 5",
        )
        yield bench.row(
            "naive Bayes of 20 numbers, from files",
            lambda: run("naive_bayes", folder),
            lambda: run("dask_ml", folder, python=bench.dask_ml),
            "dask_ml.GaussianNB in memory",
        )


def group_bys(bench: Bench) -> Iterator[Row]:
    """Yield the counts of all pairs of text columns beside DuckDB's."""
    folder = bench.folder
    if find_spec("duckdb"):
        yield bench.row(
            "435 pairs, coded, in memory",
            lambda: run("counted_pairs", folder),
            lambda: run("grouped_pairs", folder),
            "duckdb, 435 GROUP BY; target 5",
        )


def workers(bench: Bench) -> Iterator[Row]:
    """Yield TAN on two workers of Dask beside one process."""
    folder = bench.folder
    if find_spec("distributed"):
        yield bench.row(
            "TAN on 2 workers of Dask",
            lambda: run("on_dask", folder),
            lambda: run("tan", folder),
            "one process; target 0.77",
        )
        # Two processes at the same time share caches and memory, whatever joins their results.
        yield bench.row(
            "TAN on 2 workers of Dask",
            lambda: run("on_dask", folder),
            lambda: mean_of(together("tan", folder, cores=("0", "1"))),
            "each of 2 processes at a time",
        )


def threads(bench: Bench) -> Iterator[Row]:
    """Yield how much sooner two threads end than one, and how much two processes get done."""
    folder = bench.folder
    one: list[float] = []
    two: list[float] = []
    apart: list[float] = []
    for _ in range(bench.repeats):
        one.append(run("tan", folder, cores="0").wall)
        two.append(run("tan", folder, threads=2, cores="0,1").wall)
        apart.append(max(cost.wall for cost in together("tan", folder, cores=("0", "1"))) / 2)
    case, alone = f"TAN, {bench.n_rows:,} rows", median(one)
    for what, walls in (("2 threads; target 1.5", two), ("2 processes, each a table", apart)):
        mine = median(walls)
        yield Row(case, "wall", mine, alone, f"1 thread, by {what}", alone / mine)


def memory(bench: Bench) -> Iterator[Row]:
    """Yield the peak of memory of TAN by two threads, of tables of three sizes."""
    sixth, more = bench.n_rows // 6, bench.n_rows * 10 // 3
    peaks = {
        f"{sixth:,} rows": run("tan", write(bench.data, sixth), threads=2).peak,
        f"{bench.n_rows:,} rows": run("tan", bench.folder, threads=2).peak,
        f"{more:,} rows, made on the way": run("generated", more, threads=2).peak,
    }
    least = peaks[f"{sixth:,} rows"]
    for case, peak in peaks.items():
        note = f"{sixth:,} rows; target below 600 MB"
        yield Row(f"TAN, {case}", "memory", peak, least, note, least / peak)


def digests(bench: Bench) -> Iterator[Row]:
    """Yield nothing; print the digest of the model for every way of reading the same rows."""
    print(f"{'rows':>10}  {'how they are read':<52}sha256 of the model")
    tables = [(bench.n_rows, _ways(bench, bench.folder, small=False))]
    small = min(bench.n_rows, FULL // 24)
    tables.append((small, _ways(bench, write(bench.data, small), small=True)))
    for n_rows, ways in tables:
        found = set()
        for how, cost in ways:
            print(f"{n_rows:>10,}  {how:<52}{cost.answer}", flush=True)
            found.add(cost.answer)
        if len(found) > 1:
            raise SystemExit(f"{len(found)} models of the same rows")
    yield from ()


def _ways(bench: Bench, folder: Path, *, small: bool) -> Iterator[tuple[str, Cost]]:
    """Yield ways to read the rows of a folder, with their costs."""
    for n in (1, 2):
        yield f"{N_FILES} files, {n} threads", run("tan", folder, threads=n)
    for n in (1, 4, 1024):
        yield f"{N_FILES} files, parts of {n} blocks", run("in_parts", folder, n, 2)
    for group in (1_000, ROW_GROUP) if small else (ROW_GROUP,):
        one = bench.data / f"{folder.name}-one-{group}"
        one.mkdir(exist_ok=True)
        if not (one / "rows.parquet").exists():
            batches = ds.dataset(folder).to_batches()
            tables = (pa.Table.from_batches([batch]) for batch in batches)
            write_rows(one / "rows.parquet", tables, group)
        yield f"1 file, row groups of {group:,}", run("tan", one)
        yield f"1 file, row groups of {group:,}, parts of 4", run("in_parts", one, 4, 2)
    if find_spec("distributed"):
        yield "2 workers of Dask", run("on_dask", folder)
    if small:
        yield "a table in memory", run("of_table", folder)


CASES: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "earlier": earlier,
    "reading": reading,
    "numbers": numbers,
    "group-bys": group_bys,
    "workers": workers,
    "threads": threads,
    "memory": memory,
    "digests": digests,
}


def main() -> None:
    """Run all cases."""
    command = parser(__doc__)
    command.add_argument("--rows", type=int, default=240_000)
    command.add_argument("--full", action="store_true", help="6,000,000 rows")
    command.add_argument("--data", type=Path, help="where to keep generated files")
    command.add_argument("--old", help="Python with the earlier version")
    command.add_argument("--dask-ml", help="Python with dask-ml")
    command.add_argument("--repeats", type=int, help="of each side; 3 with --full, else 1")
    command.add_argument("--case", help="only cases whose name holds this text")
    given = command.parse_args()
    n_rows = FULL if given.full else given.rows // (10 if given.quick else 1)
    repeats = given.repeats or (3 if given.full else 1)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        data = (given.data or Path(temporary)).absolute()
        bench = Bench(data, n_rows, repeats, given.old, given.dask_ml)
        for name, case in CASES.items():
            if given.case is None or given.case in name:
                print(f"{time.strftime('%H:%M:%S')} {name}", file=sys.stderr, flush=True)
                rows += case(bench)
                write_rows_as_json(rows, given.json)  # what is there, if a later case ends it
    report(rows, given.json, ["pyarrow", "numpy", "numba"])


if __name__ == "__main__":
    main()
