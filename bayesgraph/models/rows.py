"""The rows of a table as evidence on the variables of a model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayesgraph.core.errors import DataError, UnknownVariableError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import TableLike
from bayesgraph.core.variables import MissingIndicator, Name, Variable
from bayesgraph.models.answering import Answering
from bayesgraph.tables import (
    Column,
    Table,
    Unseen,
    as_numbers,
    check_unseen,
    columns_of,
    encode_table,
    length,
    of_rows,
    tell,
)


def evidence_rows(model: Answering, table: TableLike, target: Variable, unseen: str) -> Evidence:
    """Return the rows of a table as evidence on the variables of a model but the target.

    For `unseen` and the errors see `Model.query_rows`.
    """
    known = told_table(model, table, target, unseen)
    return Evidence(known.n_rows, {v: known.column(v) for v in known.variables})


def told_table(model: Answering, table: TableLike, target: Variable | None, unseen: str) -> Table:
    """Return a table as `table_for` encodes it, with a warning of unseen values if one is asked."""
    columns = columns_of(table)
    check_unseen(unseen)
    n_rows = length(next(iter(columns.values())))
    policy = of_rows(unseen, n_rows)
    known = table_for(model, columns, target, unseen=policy)
    tell(policy, unseen, n_rows)
    model._expected.warn_of(model._expected.far(known.continuous, known.values))
    return known


def table_for(
    model: Answering,
    columns: Mapping[Name, Column],
    target: Variable | None,
    *,
    unseen: Unseen = "error",
) -> Table:
    """Return the columns that are variables of a model, without `target`, as an encoded table.

    Columns named like items of a vector of counts form the vector. Other columns are ignored. It is
    an error if no column is left, or if the name of an ignored column almost equals that of a
    variable without a column. Indicators of missing values are read off the columns that they are
    of, except that of the target.

    `unseen` says what becomes of a value that is not a state; see `encode_table`.
    """
    n_rows = length(next(iter(columns.values())))
    columns = _with_vectors(model, columns)
    known = [v for v in model.variables if v != target and _is_told(v, columns, target)]
    strangers = [name for name in columns if name not in model._index_of]
    silent = [v.name for v in model.variables if v.name not in columns]
    by_text = {_plain(name): name for name in silent if isinstance(name, str)}
    for name in strangers:
        near = by_text.get(_plain(name)) if isinstance(name, str) else None
        if near is not None:
            raise UnknownVariableError(
                f"The table has a column {name!r}, which the model does not know, and none called "
                f"{near!r}. Did you mean {near!r}? Rename the column, or leave it out."
            )
    if not known and not (target is not None and target.name in columns):
        raise DataError(
            f"The table has none of the model's variables {quoted(model.names)}; its columns are "
            f"{quoted(columns)}."
        )
    if not known:
        return Table((), np.empty((n_rows, 0), dtype=np.int8, order="F"), np.empty((n_rows, 0)))
    return encode_table(columns, known, unseen=unseen)


def _is_told(variable: Variable, columns: Mapping[Name, Column], target: Variable | None) -> bool:
    """Return whether columns tell a variable, whatever they say of the target."""
    if variable.name in columns or not isinstance(variable, MissingIndicator):
        return variable.name in columns
    return variable.of in columns and (target is None or variable.of != target.name)


def _with_vectors(model: Answering, columns: Mapping[Name, Column]) -> Mapping[Name, Column]:
    """Replace columns named like items (words) by one matrix for each vector of counts.

    Items without a column are not observed.
    """
    found = dict(columns)
    for vector, names in model._items_among(columns).items():
        if vector.name in columns:
            raise DataError(f"The table has a column {vector.name!r} and columns of its items.")
        matrix = np.full((length(columns[names[0]]), len(vector.items)), np.nan)
        for name in names:
            matrix[:, vector.positions[name]] = as_numbers(found.pop(name), name)
        found[vector.name] = matrix
    return found


def _plain(name: str) -> str:
    """Return a name in lower case without spaces and punctuation, to compare spellings."""
    return "".join(char for char in name.casefold() if char.isalnum())
