"""One row as users give it: a mapping, a list of values or a table of one row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesgraph.classifiers.inputs import known_columns, known_table
from bayesgraph.classifiers.layout import is_sparse
from bayesgraph.encoding import columns_of, encode_table
from bayesgraph.errors import DataError, EvidenceError, unknown_variable
from bayesgraph.factors import Evidence
from bayesgraph.findings import as_mapping, is_vector, scalar
from bayesgraph.variables import CountVector, Variable, is_missing


def row_evidence(estimator: Any, row: Any) -> Evidence:
    """Return one row as evidence for a fitted classifier, under its policy for unseen values.

    Parameters
    ----------
    estimator : NetworkClassifier
    row : mapping from name to value, 1-D array or list, or table of one row

    Raises
    ------
    UnknownVariableError
        For a name that is not a feature's.
    EvidenceError
        For the class among the names, or likelihoods in place of a value.
    DataError
        For a table of several rows.
    """
    axes = getattr(row, "ndim", None)
    if row is None or isinstance(row, Mapping) or (hasattr(row, "to_dict") and axes == 1):
        return _named(estimator, as_mapping(row))
    if axes == 1:
        row = np.reshape(row, (1, -1))
    elif isinstance(row, (list, tuple)) and not any(isinstance(v, (list, tuple)) for v in row):
        row = [list(row)]
    layout = estimator.layout_
    found = known_columns(estimator, row, layout.columns, sparse=is_sparse(row))
    if found.n_rows != 1:
        raise DataError(f"Expected one row, such as X[:1]; got a table of {found.n_rows} rows.")
    return known_table(found, layout, estimator.features_, estimator.unseen).evidence()


def _named(estimator: Any, row: Mapping[Any, Any]) -> Evidence:
    names = {variable.name: variable for variable in estimator.features_}
    inside = {item: name for name, items in estimator.layout_.groups.items() for item in items}
    target = estimator.target_.name
    columns: dict[Any, Any] = {}
    counts: dict[Any, dict[Any, Any]] = {}
    for name, given in row.items():
        value = scalar(given)
        if name == target:
            raise EvidenceError(f"The row has {target!r}, which is the class; leave it out.")
        if name in inside:
            counts.setdefault(inside[name], {})[name] = value
        elif name not in names:
            raise unknown_variable(name, [*names, *inside], where=type(estimator).__name__)
        elif isinstance(names[name], CountVector):
            counts[name] = value
        elif isinstance(value, (Mapping, list)) or is_vector(value):
            raise EvidenceError(
                f"A row has one value for each feature; for {name!r} it has {value!r:.80}."
            )
        elif not is_missing(value):
            columns[name] = [value]
    found = _encoded(estimator, columns)
    for name, value in counts.items():
        vector = names[name]
        assert isinstance(vector, CountVector)  # only such features have counts
        if name in estimator.layout_.groups:
            # Columns that are not named are not observed; a document's other words were not there.
            value = {item: value.get(item) for item in vector.items}
        found[vector] = vector.encode(value)[None]
    return Evidence(1, found)


def _encoded(estimator: Any, columns: dict[Any, Any]) -> dict[Variable, Any]:
    if not columns:
        return {}
    table = encode_table(columns_of(columns), estimator.features_, unseen=estimator.unseen)
    return dict(table.evidence().columns)
