"""Encoded tables of a few columns, without the rows in which one of them is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.encoding import Table, columns_of, infer_variables
from bayesgraph.errors import DataError, quoted, unknown_variable
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics.source import checked_weights
from bayesgraph.typing import TableLike
from bayesgraph.variables import Discrete, Name


def complete_rows(
    table: TableLike,
    names: Sequence[Name],
    categorical: Iterable[Name] | str | None,
    sample_weight: ArrayLike | None,
) -> tuple[Table, Floats]:
    """Return columns of a table in the rows that have all of their values and a positive weight.

    Returns
    -------
    Table
        The variables are in the order of the names.
    ndarray, shape (n_rows,)
        The weights of these rows.

    Raises
    ------
    UnknownVariableError
        For a name that is no column.
    DataError
        If no row is left.
    """
    columns = columns_of(table)
    for name in names:
        if name not in columns:
            raise unknown_variable(name, columns, where="The table")
    if categorical is not None and not isinstance(categorical, str):
        # Names of other columns are for other tests of the same table.
        categorical = [name for name in categorical if name in names or name not in columns]
    encoded = infer_variables({name: columns[name] for name in names}, categorical)
    given = checked_weights(sample_weight, encoded.n_rows)
    weights = given if len(given) else np.ones(encoded.n_rows)
    kept = weights > 0
    for variable in encoded.variables:
        column = encoded.column(variable)
        kept &= column >= 0 if isinstance(variable, Discrete) else ~np.isnan(column)
    if not kept.any():
        raise DataError(f"No row has a value in each of the columns {quoted(names)}.")
    return encoded.rows(kept), weights[kept]
