"""One row as users give it: a mapping, a list of values or a table of one row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesgraph.classifiers.inputs import predict_table
from bayesgraph.encoding import columns_of, encode_table
from bayesgraph.errors import DataError, EvidenceError, unknown_variable
from bayesgraph.factors import Evidence
from bayesgraph.findings import as_mapping, is_vector, scalar
from bayesgraph.variables import is_missing


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
    table = predict_table(estimator, row, estimator.features_, estimator.unseen)
    if table.n_rows != 1:
        raise DataError(f"Expected one row, such as X[:1]; got a table of {table.n_rows} rows.")
    return table.evidence()


def _named(estimator: Any, row: Mapping[Any, Any]) -> Evidence:
    names = {variable.name: variable for variable in estimator.features_}
    target = estimator.target_.name
    columns = {}
    for name, given in row.items():
        value = scalar(given)
        if name == target:
            raise EvidenceError(f"The row has {target!r}, which is the class; leave it out.")
        if name not in names:
            raise unknown_variable(name, names, where=type(estimator).__name__)
        if isinstance(value, (Mapping, list)) or is_vector(value):
            raise EvidenceError(
                f"A row has one value for each feature; for {name!r} it has {value!r:.80}."
            )
        if not is_missing(value):
            columns[name] = [value]
    if not columns:
        return Evidence(1, {})
    return encode_table(
        columns_of(columns), estimator.features_, unseen=estimator.unseen
    ).evidence()
