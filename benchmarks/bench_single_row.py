"""One row on a fitted model of 20 columns, as a multiple of scikit-learn's check_array.

python benchmarks/bench_single_row.py [--quick] [--json FILE] [--case TEXT]

The peer is `check_array` on the same row: what any estimator of scikit-learn pays before it begins.
For `query`, whose row is a mapping, it is the same row as an array; for frames of Arrow's types, as
read from a Parquet file, and of polars, the same row in a frame of NumPy's types, because it takes
no text in a frame of Arrow's. Times are the least of many, in seconds of the processor, ours and
the peer's in turn. scikit-learn's own classifiers are there to compare with: their row is checked,
too.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
from harness import Row, parser, versions, write
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.utils.validation import check_array

import bayesgraph as bg

_ROWS, _COLUMNS, _CLASSES = 2_000, 20, 3
_WORDS = np.array(["alpha", "beta", "gamma", "delta"], dtype=object)
_NAMES = [f"c{j}" for j in range(_COLUMNS)]
# Every so many columns of the row that is asked about has a gap.
_GAP = 6


class Data(NamedTuple):
    """One kind of table.

    Attributes
    ----------
    name : str
    array : ndarray
        What is asked about, where it is an array or a mapping.
    frame : pandas.DataFrame
        The same values.
    categorical : "all" or None
        What makes the array's columns discrete.
    """

    name: str
    array: np.ndarray
    frame: pd.DataFrame
    categorical: str | None


def tables() -> tuple[list[Data], np.ndarray]:
    """Return tables with and without gaps, and the classes."""
    random = np.random.default_rng(0)
    y = random.integers(0, _CLASSES, _ROWS)
    numbers = random.normal(size=(_ROWS, _COLUMNS)) + 0.3 * y[:, None]
    codes = (random.integers(0, len(_WORDS), (_ROWS, _COLUMNS)) + y[:, None]) % len(_WORDS)
    gaps = random.random((_ROWS, _COLUMNS)) < 0.15
    gaps[0] = np.arange(_COLUMNS) % _GAP == 0
    with_gaps = np.where(gaps, np.nan, codes)
    found = [
        Data("Gaussian", numbers, _frame(numbers), None),
        Data("discrete", codes, _frame(_WORDS[codes]), "all"),
    ]
    mixed = np.where(np.arange(_COLUMNS) % 2 == 0, numbers.astype(object), _WORDS[codes])
    frame = pd.DataFrame({n: mixed[:, j].tolist() for j, n in enumerate(_NAMES)})
    found.append(Data("mixed", frame.to_numpy(), frame, None))
    numbers = np.where(gaps, np.nan, numbers)
    words = np.where(gaps, None, _WORDS[codes])
    found += [
        Data("Gaussian, gaps", numbers, _frame(numbers), None),
        Data("discrete, gaps", with_gaps, _frame(words), "all"),
    ]
    return found, y


def _frame(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(values, columns=_NAMES)


def as_read(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the types of Arrow, as pandas reads it from a Parquet file."""
    return pa.Table.from_pandas(frame).to_pandas(types_mapper=pd.ArrowDtype)


def least(calls: list[Callable[[], object]], rounds: int) -> list[float]:
    """Return the least time of each call; they take turns, so that all see the same machine."""
    found = [np.inf] * len(calls)
    for turn in range(rounds + 1):
        for k, call in enumerate(calls):
            start = time.process_time()
            for _ in range(10):
                call()
            taken = (time.process_time() - start) / 10
            # The first turn may compile.
            found[k] = min(found[k], taken) if turn else np.inf
    return found


def checked(row: Any) -> np.ndarray:
    """Return what scikit-learn makes of a row that may have gaps and text."""
    return check_array(row, dtype=None, ensure_all_finite=False)


def compared(case: str, metric: str, ours: Any, row: Any, rounds: int) -> Row:
    """Return one call beside the check of a row."""
    a, b = least([ours, lambda: checked(row)], rounds)
    return Row(case, metric, a, b, "sklearn.check_array", b / a)


def of_model(name: str, model: Any, data: Data, y: np.ndarray, rounds: int) -> Iterator[Row]:
    """Yield one model on one kind of table, asked by array, by mapping and by frames."""
    array, frame = data.array[:1], data.frame.iloc[:1]
    clf = model(categorical=data.categorical).fit(data.array, y)
    if name == "average" and not isinstance(clf.network_, bg.Ensemble):
        return  # the trees have no share in it
    case = f"{name}, {data.name}"
    yield compared(case, "array", lambda: clf.predict_proba(array), array, rounds)
    pairs = zip(clf.layout_.columns, array[0].tolist(), strict=True)
    evidence = {column: value for column, value in pairs if value == value}
    yield compared(case, "query", lambda: clf.query(evidence=evidence), array, rounds)
    named = model().fit(data.frame, y)
    yield compared(case, "frame", lambda: named.predict_proba(frame), frame, rounds)
    for asked, whole in (
        ("arrow", as_read(data.frame)),
        ("polars", polars.from_pandas(data.frame)),
    ):
        own, row = model().fit(whole, y), whole[:1]
        yield compared(case, asked, partial(own.predict_proba, row), frame, rounds)


def of_peers(data: Data, y: np.ndarray, rounds: int) -> Iterator[Row]:
    """Yield scikit-learn's own classifier, where it takes the table."""
    if data.name in ("Gaussian", "discrete"):
        peer = GaussianNB() if data.name == "Gaussian" else CategoricalNB()
        peer.fit(data.array, y)
        row = data.array[:1]
        name = f"sklearn.{type(peer).__name__}"
        yield compared(name, "array", lambda: peer.predict_proba(row), row, rounds)


MODELS = {
    "naive Bayes": bg.NaiveBayesClassifier,
    "TAN": bg.TANClassifier,
    "single network": partial(bg.BayesianNetworkClassifier, n_trees=0),
    "average": bg.BayesianNetworkClassifier,
}
# What is aimed at, by what is asked, and for all that is asked of networks trained to predict.
_FRAMES = dict.fromkeys(["frame", "arrow", "polars"], 2.5)
MOST, MOST_TRAINED = {"array": 4.0, "query": 2.0} | _FRAMES, 5.0


def print_table(rows: list[Row]) -> None:
    """Print how often the time of the check each call takes."""
    print(versions(["scikit-learn", "numpy", "pandas", "pyarrow", "polars", "narwhals"]))
    print(f"{'case':<34}{'asked by':<10}{'ours us':>9}{'check us':>10}{'multiple':>10}{'most':>6}")
    for r in rows:
        is_trained = r.case.startswith(("single network", "average"))
        most = MOST_TRAINED if is_trained else MOST[r.metric]
        aim = "" if r.case.startswith("sklearn") else f"{most:6.2f}"
        times = f"{1e6 * r.ours:9.0f}{1e6 * r.peer:10.0f}{r.ours / r.peer:10.2f}"
        print(f"{r.case:<34}{r.metric:<10}{times}{aim}")


def main() -> None:
    """Run all cases, or those whose name contains a text."""
    command = parser(__doc__ or "")
    command.add_argument("--case", default="", help="only cases whose name contains this")
    chosen = command.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    rounds = 20 if chosen.quick else 100
    found, y = tables()
    rows = [row for data in found for row in of_peers(data, y, rounds) if chosen.case in row.case]
    for name, model in MODELS.items():
        for data in found:
            if chosen.case in f"{name}, {data.name}":
                rows += of_model(name, model, data, y, rounds)
    print_table(rows)
    write(rows, chosen.json)


if __name__ == "__main__":
    main()
