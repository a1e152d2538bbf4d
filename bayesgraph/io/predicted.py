"""Columns that a classifier or a regressor predicts for a table in memory."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from bayesgraph.encoding.unseen import Unseen
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.normalise import largest, normalised
from bayesgraph.models.model import warn_of_impossible


def predicted_columns(estimator: Any, table: Any) -> dict[str, Any]:
    """Return the columns that are predicted for a table in memory, by name.

    Parameters
    ----------
    estimator : fitted classifier or regressor
    table : pyarrow.Table
    """
    columns, impossible = counted(estimator, table, "both")
    warn_of_impossible(impossible, table.num_rows, estimator.target_)
    return columns


def with_policy(estimator: Any, unseen: Unseen) -> Any:
    """Return a fitted estimator that treats values which are no states in another way."""
    found = copy.copy(estimator)
    vars(found)["unseen"] = unseen  # a saved classifier is frozen
    return found


def counted(estimator: Any, table: Any, what: str) -> tuple[dict[str, Any], int]:
    """Return predicted columns by name, and the number of impossible rows."""
    target = str(estimator.target_.name)
    if not hasattr(estimator, "classes_"):
        means, deviations = estimator.predict(table, return_std=True)
        return {target: means, f"std({target})": deviations}, 0
    found, impossible = estimator._counted_rows(table, _best_and_all)
    columns = {}
    if what != "predict_proba":
        columns[target] = estimator.classes_[found[:, 0].astype(np.intp)]
    if what != "predict":
        for state, column in zip(estimator.classes_, found[:, 1:].T, strict=True):
            columns[f"P({target}={state})"] = column
    return columns, impossible


def _best_and_all(joint: Floats) -> Floats:
    """Return for each row the index of the most probable class, and all probabilities."""
    return np.vstack([largest(joint), normalised(joint).T]).T
