"""The sides of `bench_scale`: each runs in a process of its own and prints its cost as JSON.

python benchmarks/scale_sides.py NAME [ARGUMENT ...]

Some sides run in other environments, so that libraries are imported where they are needed. What is
measured begins after a warm-up on the first rows, which loads libraries and compiled kernels.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from scale_data import NUMBERS, TEXTS, batches

# Rows of the batches that the former way reads.
_BATCH = 65_536
_WARM_ROWS = 40_000


@dataclass(frozen=True)
class Cost:
    """What a side took.

    Attributes
    ----------
    cpu, wall : float
        Seconds; of CPU those of user and system, of all threads and processes.
    peak : float
        Largest resident set of the process in its life, in MB.
    answer : str
        What came out, such as the digest of a model.
    """

    cpu: float
    wall: float
    peak: float
    answer: str = ""


def run(
    name: str, *arguments: Any, python: str = sys.executable, threads: int = 1, cores: str = ""
) -> Cost:
    """Run a side in a process of its own.

    Parameters
    ----------
    name : str
        One of `SIDES`.
    arguments
        Of the side, as texts.
    python : str
        The interpreter.
    threads : int
        Of kernels, BLAS and pyarrow.
    cores : str
        Numbers of the cores that the process may use, where there is taskset; by default all.
    """
    return _ended(start(name, *arguments, python=python, threads=threads, cores=cores))


def start(
    name: str, *arguments: Any, python: str = sys.executable, threads: int = 1, cores: str = ""
) -> Any:
    """Start a side in a process of its own; see `run`."""
    limits = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"), str(threads))
    bound = ["taskset", "-c", cores] if cores and shutil.which("taskset") else []
    inherited = dict(os.environ)
    if python != sys.executable:
        inherited.pop("PYTHONPATH", None)  # it would lead to the version here
    return subprocess.Popen(
        [*bound, python, __file__, name, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env=inherited | limits,
    )


def together(name: str, *arguments: Any, cores: tuple[str, str]) -> list[Cost]:
    """Run a side in two processes at the same time, each with one core."""
    return [_ended(p) for p in [start(name, *arguments, cores=core) for core in cores]]


def mean_of(costs: list[Cost]) -> Cost:
    """Return the cost of a process that ran beside others, their mean."""
    cpu, wall, peak = (
        sum(getattr(cost, name) for cost in costs) / len(costs) for name in ("cpu", "wall", "peak")
    )
    return Cost(cpu, wall, peak, costs[0].answer)


def _ended(process: Any) -> Cost:
    printed, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{' '.join(process.args)} ended with {process.returncode}")
    return Cost(**json.loads(printed.splitlines()[-1]))


# ------------------------------------------------------------------------------------------ sides


def tan(folder: str, columns: str = "all") -> Cost:
    """TAN from Parquet, with the pass that finds the states."""
    import bayesgraph as bg

    return _of_fit(lambda data: bg.TANClassifier().fit(data, "y"), folder, columns)


def naive_bayes(folder: str) -> Cost:
    """Naive Bayes of the numbers, from Parquet."""
    import bayesgraph as bg

    return _of_fit(lambda data: bg.NaiveBayesClassifier().fit(data, "y"), folder, "numbers")


def _of_fit(fit: Callable[[Any], Any], folder: str, columns: str) -> Cost:
    import bayesgraph as bg

    chosen = {"all": None, "texts": [*TEXTS, "y"], "numbers": [*NUMBERS, "y"]}[columns]
    fit(bg.open_dataset(_first_rows(folder), columns=chosen))
    return measured(lambda: fit(bg.open_dataset(folder, columns=chosen)), _digest)


def batched_tan(folder: str) -> Cost:
    """TAN by `fit_batches` over a scanner of pyarrow."""
    import bayesgraph as bg

    def pairs(data: Any) -> Iterator[Any]:
        for batch in data.scanner(batch_size=_BATCH).to_batches():
            table = pa.Table.from_batches([batch])
            yield table.drop_columns(["y"]), table.select(["y"])

    def fit(data: Any) -> Any:
        return bg.classifiers.fit_batches(bg.TANClassifier(), pairs(data))

    fit(ds.dataset(_first_rows(folder)))
    return measured(lambda: fit(ds.dataset(folder)), _digest)


def read(folder: str, columns: str = "all") -> Cost:
    """Read all row groups, text as dictionaries, and do nothing with them."""
    texts = [*TEXTS, "y"]
    chosen = {"all": None, "texts": texts}[columns]

    def everything() -> int:
        n_rows = 0
        for path in sorted(Path(folder).glob("*.parquet")):
            with pq.ParquetFile(path, read_dictionary=texts) as file:
                for group in range(file.num_row_groups):
                    n_rows += len(file.read_row_group(group, columns=chosen, use_threads=False))
        return n_rows

    return measured(everything, str)


def counted_pairs(folder: str) -> Cost:
    """Count all pairs of text columns given the class, of encoded rows in memory."""
    from bayesgraph.statistics import Pairs, Statistics
    from bayesgraph.tables import columns_of, infer_variables

    rows = ds.dataset(folder).to_table(columns=[*TEXTS, "y"])
    table = infer_variables(columns_of(rows))
    request = Pairs(table.discrete[:-1], table.discrete[-1])
    Statistics.collect(table.rows(slice(0, _WARM_ROWS)), [request], np.empty(0))
    return measured(lambda: Statistics.collect(table, [request], np.empty(0)))


def grouped_pairs(folder: str) -> Cost:
    """Count the same pairs by a GROUP BY of DuckDB each, of enumerations in memory."""
    import duckdb

    base = duckdb.connect(config={"threads": 1})
    names = [*TEXTS, "y"]
    rows = f"read_parquet('{folder}/*.parquet')"
    for name in names:
        base.sql(
            f"CREATE TYPE e_{name} AS ENUM (SELECT DISTINCT {name} FROM {rows} "
            f"WHERE {name} IS NOT NULL ORDER BY 1)"
        )
    columns = ", ".join(f"{name}::e_{name} AS {name}" for name in names)
    base.sql(f"CREATE TABLE coded AS SELECT {columns} FROM {rows}")

    def count() -> int:
        return sum(
            len(base.sql(f"SELECT y, {a}, {b}, count(*) FROM coded GROUP BY ALL").fetchall())
            for a, b in itertools.combinations(TEXTS, 2)
        )

    return measured(count, str)


def in_memory(folder: str) -> Cost:
    """Naive Bayes of the numbers in one array, without the search for columns that look wrong."""
    import bayesgraph as bg

    X, y = _numbers(folder)
    clf = bg.NaiveBayesClassifier(check_columns=False)
    clf.fit(X[:_WARM_ROWS], y[:_WARM_ROWS])
    return measured(lambda: clf.fit(X, y), _digest)


def dask_ml(folder: str) -> Cost:
    """The naive Bayes classifier of dask-ml on the same array, computed by one thread."""
    import dask
    import dask.array as da
    from dask_ml.naive_bayes import GaussianNB

    X, y = _numbers(folder)

    def fit(n_rows: int) -> Any:
        rows, labels = (da.from_array(a[:n_rows], chunks=125_000) for a in (X, y))
        found = GaussianNB().fit(rows.rechunk((125_000, len(NUMBERS))), labels)
        return dask.compute(found.theta_, found.sigma_, found.class_prior_)

    with dask.config.set(scheduler="synchronous"):
        fit(_WARM_ROWS)
        return measured(lambda: fit(len(y)))


def on_dask(folder: str) -> Cost:
    """TAN from Parquet on two warm workers of Dask; CPU seconds are those of all processes."""
    import psutil
    from distributed import Client, LocalCluster

    import bayesgraph as bg

    def fit(data: str) -> Any:
        return bg.TANClassifier().fit(bg.open_dataset(data, executor=client), "y")

    def used() -> float:
        here = psutil.Process()
        times = [p.cpu_times() for p in (here, *here.children(recursive=True))]
        return sum(t.user + t.system for t in times)

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        # Each worker imports the library and loads its kernels, from a file that no other writes.
        client.run(_warm, _first_rows(folder))
        fit(folder)
        before = used()
        cost = measured(lambda: fit(folder), _digest)
        return Cost(used() - before, cost.wall, cost.peak, cost.answer)


def _warm(path: str) -> None:
    import bayesgraph as bg

    bg.TANClassifier().fit(path, "y")


def generated(n_rows: str) -> Cost:
    """TAN of rows that are made on the way."""
    import bayesgraph as bg

    def rows() -> Iterator[Any]:
        return batches(int(n_rows))

    return measured(lambda: bg.TANClassifier().fit(bg.open_dataset(rows), "y"), _digest)


def in_parts(folder: str, n_blocks: str, n_threads: str) -> Cost:
    """TAN from Parquet in parts of some blocks, on an executor of some threads."""
    import bayesgraph as bg
    from bayesgraph.tables import datasets as dataset

    dataset.BLOCKS_OF_PART = int(n_blocks)
    with ThreadPoolExecutor(int(n_threads)) as executor:
        data = bg.open_dataset(folder, executor=executor)
        return measured(lambda: bg.TANClassifier().fit(data, "y"), _digest)


def of_table(folder: str) -> Cost:
    """TAN of the table in memory."""
    import bayesgraph as bg

    rows = ds.dataset(folder).to_table()
    X, y = rows.drop_columns(["y"]), rows.select(["y"])
    return measured(lambda: bg.TANClassifier().fit(X, y), _digest)


SIDES = {
    side.__name__: side
    for side in (
        tan, naive_bayes, batched_tan, read, counted_pairs, grouped_pairs, in_memory, dask_ml,
        on_dask, generated, in_parts, of_table,
    )
}  # fmt: skip


# ------------------------------------------------------------------------------------ measurement


def measured(call: Callable[[], Any], answer: Callable[[Any], str] = lambda _: "") -> Cost:
    """Return the cost of a call in this process."""
    cpu, wall = time.process_time(), time.perf_counter()
    found = call()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Cost(cpu, wall, _peak(), answer(found))


def _peak() -> float:
    """Return the largest resident set of this process, in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6


def _digest(classifier: Any) -> str:
    """Return the first digits of the sha256 of a saved model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.bayesgraph")
        classifier.save(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _first_rows(folder: str) -> str:
    """Return a file with the first rows of a folder, which is written if it is not there."""
    target = Path(folder).with_name(f"{Path(folder).name}-first.parquet")
    if not target.exists():
        pq.write_table(ds.dataset(folder).head(_WARM_ROWS), target)
    return str(target)


def _numbers(folder: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of numbers without gaps, which dask-ml does not know, and the classes."""
    rows = ds.dataset(folder).to_table(columns=[*NUMBERS, "y"])
    X = np.column_stack([rows[name].fill_null(0.0).to_numpy() for name in NUMBERS])
    return X, rows["y"].combine_chunks().dictionary_encode().indices.to_numpy()


if __name__ == "__main__":
    print(json.dumps(asdict(SIDES[sys.argv[1]](*sys.argv[2:]))))
