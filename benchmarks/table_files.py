"""Classification tables for benchmarks: Parquet, CSV and ARFF files, the class last."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sklearn import datasets

from bayesgraph.core.variables import MISSING
from bayesgraph.tables import read_table

SUFFIXES = (".parquet", ".pq", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".arff")
# The first column of a table of results, which is no data.
RESULTS = "dataset"
_MISSING = (*MISSING, "?")


@dataclass(frozen=True, eq=False)
class Task:
    """A classification task: a table of features and one label a row, none missing."""

    name: str
    features: pa.Table
    labels: NDArray[Any]

    @cached_property
    def classes(self) -> NDArray[Any]:
        """Labels that occur, sorted."""
        return np.unique(self.labels)

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.features.num_rows * self.features.num_columns


def data_files(folder: Path) -> list[Path]:
    """Return the files of a folder that hold data, by name."""
    return [p for p in sorted(folder.iterdir()) if _is_table(p) and not is_results(p)]


def results_files(folder: Path) -> list[Path]:
    """Return the CSV files of a folder that hold results of others on its sets."""
    return [p for p in sorted(folder.iterdir()) if is_results(p)]


def is_results(path: Path) -> bool:
    """Tell whether a file is a table of results: a CSV whose first column is called dataset."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace", newline="") as stream:
        return next(csv.reader(stream), [""])[:1] == [RESULTS]


def task_name(path: Path) -> str:
    """Return a file's name without its suffix."""
    suffix = next(s for s in sorted(SUFFIXES, key=len)[::-1] if path.name.lower().endswith(s))
    return path.name[: -len(suffix)]


def _is_table(path: Path) -> bool:
    return path.is_file() and path.name.lower().endswith(SUFFIXES)


def read_task(path: Path) -> Task:
    """Read a file; text is nominal, null, NaN and (in text) "?" are missing.

    Rows without a label are left out.
    """
    if path.name.lower().endswith(".arff"):
        table = read_arff(path)
    else:
        table = _with_categories(read_table(path, missing=_MISSING))
    return _task(task_name(path), table)


def _task(name: str, table: pa.Table) -> Task:
    target = table.column(table.num_columns - 1)
    known = pc.is_valid(target)
    if pa.types.is_floating(target.type):
        known = pc.and_(known, pc.invert(pc.is_nan(target)))
    table = table.filter(known)
    labels = np.array(table.column(table.num_columns - 1).to_pylist())
    if labels.dtype.kind == "f":
        labels = labels.astype(str)  # classes, whatever they look like
    features = table.drop_columns([table.column_names[-1]])
    # A column without any value says nothing, and has no type either.
    return Task(name, features.select(_with_values(features)), labels)


def _with_values(table: pa.Table) -> list[str]:
    return [n for n in table.column_names if table.column(n).null_count < table.num_rows]


def _with_categories(table: pa.Table) -> pa.Table:
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            column = pc.dictionary_encode(table.column(i))
            table = table.set_column(i, field.name, column)
    return table


# ------------------------------------------------------------------------------------------- ARFF

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|\S+?)\s*(\{{.*\}}|\s\S.*)$", re.IGNORECASE)
_TOKEN = re.compile(rf"\s*({_QUOTED}|[^,]*?)\s*(?:,|$)")
_NUMBERS = ("numeric", "real", "integer")


def read_arff(path: Path) -> pa.Table:
    """Read an ARFF file, dense or sparse; quotes and escapes are as Weka writes them.

    Raises
    ------
    ValueError
        Naming the line that is not understood.
    """
    columns: list[tuple[str, list[str] | None]] = []
    rows: list[list[str | None]] = []
    inside = False
    with path.open(encoding="utf-8", errors="replace") as stream:
        for number, line in enumerate(stream, 1):
            line = line.strip()
            if not line or line.startswith("%"):
                continue
            if inside:
                rows.append(_row(line, columns, f"{path.name}, line {number}"))
            elif line.lower().startswith("@attribute"):
                columns.append(_attribute(line, f"{path.name}, line {number}"))
            else:
                inside = line.lower().startswith("@data")
    cells = zip(*rows, strict=True)
    arrays = [_column(kind, c) for (_, kind), c in zip(columns, cells, strict=True)]
    return pa.table(arrays, names=_distinct([name for name, _ in columns]))


def _attribute(line: str, where: str) -> tuple[str, list[str] | None]:
    """Return a name and its states: None for a number, an empty list for free text."""
    found = _ATTRIBUTE.match(line)
    if found is None:
        raise ValueError(f"{where}: expected '@attribute NAME TYPE'; got {line!r}.")
    name, kind = _plain(found[1]) or "", found[2].strip()
    if kind.startswith("{"):
        return name, [state for state in _tokens(kind[1:-1]) if state is not None]
    return name, None if kind.lower().startswith(_NUMBERS) else []


def _row(line: str, columns: list[tuple[str, list[str] | None]], where: str) -> list[str | None]:
    cells = _sparse(line, columns) if line.startswith("{") else list(_tokens(line))
    if (cells[-1] or "").startswith("{"):  # the weight of the row, which is left out
        cells.pop()
    if len(cells) != len(columns):
        raise ValueError(f"{where}: expected {len(columns)} values; got {len(cells)}.")
    for (name, states), cell in zip(columns, cells, strict=True):
        if states and cell is not None and cell not in states:
            raise ValueError(f"{where}: {name!r} takes one of {states}; got {cell!r}.")
    return cells


def _sparse(line: str, columns: list[tuple[str, list[str] | None]]) -> list[str | None]:
    """Return the cells of a sparse row: what it leaves out is 0, or the first state."""
    cells: list[str | None] = ["0" if not kind else kind[0] for _, kind in columns]
    inside = line[1 : line.rindex("}")]
    for part in re.finditer(rf"\s*(\d+)\s+({_QUOTED}|[^,]*?)\s*(?:,|$)", inside):
        cells[int(part[1])] = _plain(part[2])
    return cells


def _tokens(text: str) -> Iterator[str | None]:
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None or found.end() == place:
            raise ValueError(f"Cannot read {text[place:]!r}.")
        yield _plain(found[1])
        place = found.end()


def _plain(token: str) -> str | None:
    """Return a token without its quotes; None for a bare question mark."""
    if token == "?":
        return None
    if token[:1] in ("'", '"') and token[-1:] == token[:1] and len(token) > 1:
        return re.sub(r"\\(.)", r"\1", token[1:-1])
    return token


def _column(states: list[str] | None, cells: tuple[str | None, ...]) -> pa.Array:
    if states is None:
        return pa.array([None if c is None else float(c) for c in cells], pa.float64())
    if not states:
        return pa.array(cells, pa.string()).dictionary_encode()
    places = {state: code for code, state in enumerate(states)}
    codes = pa.array([None if c is None else places[c] for c in cells], pa.int32())
    return pa.DictionaryArray.from_arrays(codes, pa.array(states, pa.string()))


def _distinct(names: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return [n if seen[n] == 1 else f"{n}.{i}" for i, n in enumerate(names)]


# ---------------------------------------------------------------------------------------- bundled


def bundled_tasks() -> list[Task]:
    """Return four small tasks made of scikit-learn's own data; one is nominal with gaps."""
    digits = datasets.load_digits()
    levels = np.array(["none", "some", "much"])[np.digitize(digits.data[:500, 9:33:2], [1, 12])]
    gaps = np.random.default_rng(0).random(levels.shape) < 0.03
    pixels = {
        f"pixel{i}": pa.array(levels[:, i], mask=gaps[:, i]).dictionary_encode()
        for i in range(levels.shape[1])
    }
    numeric = {
        "iris": datasets.load_iris(),
        "wine": datasets.load_wine(),
        "breast.cancer.wisconsin": datasets.load_breast_cancer(),
    }
    tasks = [Task(name, _numbers(found), found.target) for name, found in numeric.items()]
    return [*tasks, Task("digits.nominal", pa.table(pixels), digits.target[:500])]


def _numbers(found: Any) -> pa.Table:
    return pa.table(list(found.data.T), names=[str(name) for name in found.feature_names])
