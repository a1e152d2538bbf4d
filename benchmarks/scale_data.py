"""The table of `bench_scale`: 30 columns of text, 20 of numbers and a class, as large as one wants.

Text columns have 2 to 9 states, six of them lack 2 % of their values. Numbers have offsets of up to
100,000, five columns lack 2 %. Columns depend on the class and on one before. The class ``c2``
begins with the last quarter of the files, and the state ``zz_late`` is in the last file alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

N_FILES, ROW_GROUP = 24, 125_000
TEXTS = [f"c{j}" for j in range(30)]
NUMBERS = [f"x{j}" for j in range(20)]
# Number of rows that are made together, of which each takes about a kilobyte meanwhile.
_TOGETHER = 25_000

_random = np.random.default_rng(0)
_CARDS = _random.integers(2, 10, len(TEXTS))
_PARENTS = [-1, *(int(_random.integers(0, j)) for j in range(1, len(TEXTS)))]
# Of each text column, the cumulative probabilities given the class and the parent.
_TABLES = [
    _random.dirichlet(
        np.full(card, 0.7), size=(3, 1 if parent < 0 else _CARDS[parent])
    ).cumsum(axis=-1)
    for card, parent in zip(_CARDS, _PARENTS, strict=True)
]  # fmt: skip
_SLOPES, _CENTRES = _random.normal(size=(2, len(NUMBERS), 3))
_OFFSETS = 10.0 ** _random.integers(0, 6, len(NUMBERS))


def batches(n_rows: int) -> Iterator[pa.Table]:
    """Yield all rows in order, the same ones as in the files that `write` makes."""
    for file in range(N_FILES):
        yield from _of_file(file, n_rows)


def write(folder: Path, n_rows: int) -> Path:
    """Write the rows to 24 files in a folder below the given one, unless they are there.

    Returns
    -------
    Path
        The folder with the files.
    """
    target = folder / f"rows-{n_rows}"
    target.mkdir(parents=True, exist_ok=True)
    for file in range(N_FILES):
        path = target / f"part-{file:03}.parquet"
        if not path.exists():
            write_rows(path, _of_file(file, n_rows), ROW_GROUP)
    return target


def write_rows(path: Path, tables: Iterator[pa.Table], row_group: int) -> None:
    """Write tables of any lengths to one file with row groups of a given number of rows."""
    unfinished = path.with_suffix(".unfinished")
    waiting = next(tables)
    with pq.ParquetWriter(unfinished, waiting.schema, compression="zstd") as writer:
        for table in tables:
            waiting = pa.concat_tables([waiting, table])
            while len(waiting) > row_group:
                writer.write_table(waiting.slice(0, row_group), row_group)
                waiting = waiting.slice(row_group)
        writer.write_table(waiting, row_group)
    unfinished.rename(path)


def _of_file(file: int, n_rows: int) -> Iterator[pa.Table]:
    first, last = n_rows * file // N_FILES, n_rows * (file + 1) // N_FILES
    for begin in range(first, last, _TOGETHER):
        random = np.random.default_rng([7, file, begin - first])
        yield _rows(random, min(_TOGETHER, last - begin), file)


def _rows(random: np.random.Generator, n_rows: int, file: int) -> pa.Table:
    """Return some rows of a file."""
    late = file >= N_FILES * 3 // 4
    y = random.choice(3, size=n_rows, p=[0.6, 0.3, 0.1] if late else [0.65, 0.35, 0.0])
    columns = dict(zip(TEXTS, _texts(random, y, file == N_FILES - 1), strict=True))
    columns |= zip(NUMBERS, _numbers(random, y), strict=True)
    return pa.table({**columns, "y": _text(y, ["c0", "c1", "c2"], np.zeros(n_rows, bool))})


def _texts(random: np.random.Generator, y: NDArray[np.int64], last: bool) -> Iterator[pa.Array]:
    """Yield the text columns."""
    codes: list[NDArray[np.int64]] = []
    for j, (card, parent, table) in enumerate(zip(_CARDS, _PARENTS, _TABLES, strict=True)):
        given = table[y, 0 if parent < 0 else codes[parent]]
        drawn = (random.random(len(y))[:, None] > given[:, :-1]).sum(axis=1)
        codes.append(drawn)
        states = [f"v{j}_{state}" for state in range(card)]
        if j == 0 and last:
            drawn = np.where(random.random(len(y)) < 1e-3, card, drawn)
            drawn[0] = card  # in tables of few rows too
            states.append("zz_late")
        yield _text(drawn, states, _missing(random, len(y), j % 5 == 0))


def _numbers(random: np.random.Generator, y: NDArray[np.int64]) -> Iterator[pa.Array]:
    """Yield the columns of numbers."""
    before = np.zeros(len(y))
    for j in range(len(NUMBERS)):
        before = _CENTRES[j, y] + 0.5 * _SLOPES[j, y] * before + random.normal(size=len(y))
        missing = _missing(random, len(y), j % 4 == 0)
        yield pa.array(3.0 * before + _OFFSETS[j], mask=missing)


def _missing(random: np.random.Generator, n_rows: int, some: bool) -> NDArray[np.bool_]:
    return random.random(n_rows) < 0.02 if some else np.zeros(n_rows, dtype=bool)


def _text(codes: NDArray[np.int64], states: list[str], missing: NDArray[np.bool_]) -> pa.Array:
    numbers = pa.array(codes.astype(np.int32), mask=missing)
    return pa.DictionaryArray.from_arrays(numbers, pa.array(states)).cast(pa.string())
