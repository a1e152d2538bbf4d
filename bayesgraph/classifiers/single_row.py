"""Evidence from a single row: a mapping, a list of values or a table of one row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from bayesgraph.classifiers.rows import known_table
from bayesgraph.classifiers.validation import known_columns
from bayesgraph.encoding import columns_of, encode_table
from bayesgraph.errors import DataError, EvidenceError, quoted, unknown_variable
from bayesgraph.factors import Evidence
from bayesgraph.models.evidence import as_mapping, is_vector, scalar
from bayesgraph.variables import CountVector, MissingIndicator, Variable, is_missing


def row_evidence(estimator: Any, row: Any) -> Evidence:
    """Return one row as evidence for a fitted classifier.

    The parameter `unseen` of the classifier says how unknown categories are treated.

    Parameters
    ----------
    estimator : NetworkClassifier
    row : mapping from name to value, 1-D array or list, or table of one row

    Raises
    ------
    UnknownVariableError
        If a name is not that of a feature.
    EvidenceError
        If the row names the class, or has likelihoods in place of a value.
    DataError
        If the table has several rows.
    """
    axes = getattr(row, "ndim", None)
    if row is None or isinstance(row, Mapping) or (hasattr(row, "to_dict") and axes == 1):
        return _named(estimator, as_mapping(row))
    if axes == 1:
        row = np.reshape(row, (1, -1))
    elif isinstance(row, (list, tuple)) and not any(isinstance(v, (list, tuple)) for v in row):
        row = [list(row)]
    layout = estimator.layout_
    found = known_columns(estimator, row, layout.columns, sparse=issparse(row))
    if found.n_rows != 1:
        raise DataError(f"Expected one row, such as X[:1]; got a table of {found.n_rows} rows.")
    return known_table(found, estimator.unseen, layout, estimator.features_).evidence()


def _named(estimator: Any, row: Mapping[Any, Any]) -> Evidence:
    names = {variable.name: variable for variable in estimator.features_}
    inside = {item: name for name, items in estimator.layout_.groups.items() for item in items}
    target = estimator.target_.name
    # Of these a missing value says something.
    told = {v.of for v in names.values() if isinstance(v, MissingIndicator)}
    columns: dict[Any, Any] = {}
    counts: dict[Any, Any] = {}
    by_column: dict[Any, dict[Any, Any]] = {}
    for name, given in row.items():
        value = scalar(given)
        if name == target:
            raise EvidenceError(f"The row has {target!r}, which is the class; leave it out.")
        if name in inside:
            by_column.setdefault(inside[name], {})[name] = value
        elif name not in names:
            raise unknown_variable(name, [*names, *inside], where=type(estimator).__name__)
        elif isinstance(names[name], CountVector):
            counts[name] = value
        elif isinstance(value, (Mapping, list)) or is_vector(value):
            raise EvidenceError(
                f"A row has one value for each feature; for {name!r} it has {value!r:.80}."
            )
        elif not is_missing(value) or name in told:
            columns[name] = [value]
    found: dict[Variable, Any] = _documents(estimator, names, counts, by_column)
    if columns:
        table = encode_table(columns_of(columns), estimator.features_, unseen=estimator.unseen)
        found |= table.evidence().columns
    return Evidence(1, found)


def _documents(
    estimator: Any,
    names: Mapping[Any, Any],
    counts: dict[Any, Any],
    by_column: Mapping[Any, Mapping[Any, Any]],
) -> dict[Variable, Any]:
    """Return the encoded count vectors of a row, given as a whole or by their columns.

    Parameters
    ----------
    estimator : NetworkClassifier
    names : mapping from name to Variable
        The features.
    counts : dict from name of a vector to its counts
        Vectors given as a whole; vectors given by columns are added.
    by_column : mapping from name of a vector to a mapping from column to count
    """
    if twice := counts.keys() & by_column.keys():
        raise EvidenceError(
            f"The row has {quoted(twice)} as a whole and by column; give it one way."
        )
    # A column that is not named is missing; in a whole vector, an item that is not named counts 0.
    for name, values in by_column.items():
        counts[name] = {item: values.get(item) for item in estimator.layout_.groups[name]}
    return {names[name]: names[name].encode(value)[None] for name, value in counts.items()}
