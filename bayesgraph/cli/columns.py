"""The columns of a table that a command learns from or predicts for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bayesgraph as bg
from bayesgraph.cli.reading import Reading, is_many
from bayesgraph.errors import DataError, quoted, unknown_variable
from bayesgraph.variables import Variable, has_text_states

if TYPE_CHECKING:
    from bayesgraph import Dataset
    from bayesgraph.classifiers.graph_classifier import GraphClassifier


def features_and_labels(
    table: Any, target: str, drop: Sequence[str] | None, data: Path
) -> tuple[Any, Any]:
    """Return the table of the features, and that of the classes."""
    left_out = [target, *(drop or ())]
    features = _others(table, left_out, data)
    if not features:
        raise DataError(f"{data} has no column besides {quoted(left_out)} to learn from.")
    return table.select(features), table.select([target])


def _others(table: Any, left_out: Sequence[str], data: Path) -> list[str]:
    """Return the names of the columns that are not left out, all of which must be there."""
    names: list[str] = table.column_names
    for name in left_out:
        if name not in names:
            raise unknown_variable(name, names, where=str(data))
    return [name for name in names if name not in left_out]


def used_columns(dataset: Dataset, data: Path, target: str, drop: Sequence[str]) -> Dataset:
    """Return a dataset without the columns to drop."""
    dataset.checked([target], "--target")
    dataset.checked(list(dict.fromkeys(drop)), "--drop")
    used = [name for name in dataset.names if name not in drop]
    if not set(used) - {target}:
        raise DataError(f"{data} has no column besides {quoted([target, *drop])} to learn from.")
    return bg.open_dataset(dataset, columns=used)


def all_columns(
    data: Path, reading: Reading, drop: Sequence[str], progress: Any
) -> tuple[Any, list[str]]:
    """Return a table or a dataset without the columns to drop, and the names of the others."""
    if is_many(data):
        dataset = reading.dataset(data, progress)
        dataset.checked(list(dict.fromkeys(drop)), "--drop")
        names = [name for name in dataset.names if name not in drop]
        return bg.open_dataset(dataset, columns=names), names
    table = reading.table(data)
    names = _others(table, drop, data)
    return table.select(names), names


def table_for(variables: Iterable[Variable], data: Path, reading: Reading) -> Any:
    """Read a table whose columns are values of variables.

    A code such as 0012 stays text if it was text when the model was fitted.
    """
    return reading.table(data, [str(v.name) for v in variables if has_text_states(v)])


def read_known(classifier: GraphClassifier, data: Path, reading: Reading) -> Any:
    """Read a table whose columns are a classifier's features, and perhaps its class."""
    return table_for((*classifier.features_, classifier.target_), data, reading)


def known_columns(
    classifier: GraphClassifier, table: Any, data: Path, *, labelled: bool = False
) -> Any:
    """Return the columns of a classifier's features.

    If `labelled` is true, the column of the classes follows as the last one.
    """
    names = [str(name) for name in classifier.layout_.columns]
    target = str(classifier.target_.name)
    if labelled and target not in table.column_names:
        raise DataError(f"{data} lacks the column {target!r} with the classes.")
    if getattr(classifier, "is_open", False):
        return table.select([n for n in table.column_names if n != target] + [target] * labelled)
    lacking = [name for name in names if name not in table.column_names]
    if lacking:
        raise DataError(
            f"{data} lacks the columns {quoted(lacking)} that the model was fitted on. (An empty "
            "column stands for cells that are empty in all rows; dates are read by --dates.)"
        )
    return table.select([*names, target] if labelled else names)


def all_or_kept(keep: Sequence[str], table: Any, data: Path) -> dict[str, Any]:
    """Return the columns of --keep by name, which may be "all"."""
    names = table.column_names if list(keep) == ["all"] else list(dict.fromkeys(keep))
    for name in names:
        if name not in table.column_names:
            raise unknown_variable(name, table.column_names, where=str(data))
    return {name: table.column(name) for name in names}
