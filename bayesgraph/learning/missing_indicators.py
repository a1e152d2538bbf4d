"""Indicators of missing values that tell something about the class."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.encoding import Table
from bayesgraph.factors.algebra import Floats
from bayesgraph.independence import independence_test
from bayesgraph.statistics import RowSource
from bayesgraph.variables import CountVector, Discrete, MissingIndicator, Name

# Maximum probability that missing values would depend on the class as much by chance.
_ALPHA = 1e-3


def informative_indicators(source: RowSource) -> tuple[MissingIndicator, ...]:
    """Return an indicator of each feature whose missing values tell something about the class.

    A feature has one if whether its value is missing depends on the class beyond doubt: the
    likelihood-ratio test of independence (G squared; Wilks 1938) has a p-value below 0.001. Of
    features that are missing in the same rows the first one has it. Missing values of other
    features are taken as ignorable (Rubin 1976).

    Parameters
    ----------
    source : RowSource
        A source with a target. Where it holds a sample of the rows, these are tested. Weighted rows
        count as (sum w)^2 / sum w^2 rows.
    """
    table, target = source.table, source.target
    assert target is not None
    if table.complete:
        return ()
    labels = table.column(target).astype(np.int64)
    weights = _as_rows(source.weights) if len(source.weights) else None
    names = {variable.name for variable in table.variables}
    found: list[MissingIndicator] = []
    for name, is_missing in _patterns(table, target):
        columns: dict[Name, Any] = {"missing": is_missing, "class": labels}
        told = independence_test(
            columns,
            "missing",
            "class",
            method="g_squared",
            categorical=["class"],
            sample_weight=weights,
        )
        if told.p_value < _ALPHA:
            found.append(MissingIndicator(_fresh(f"{name} is missing", names), name))
    return tuple(found)


def _patterns(table: Table, target: Discrete) -> Iterator[tuple[Name, NDArray[np.bool_]]]:
    """Yield features that are missing in some rows, not in all, and in which; equal rows once."""
    seen: set[bytes] = set()
    for variable in table.variables:
        if variable == target or isinstance(variable, CountVector):
            continue
        gone = table.is_missing(variable)
        pattern = gone.tobytes()
        if gone.any() and not gone.all() and pattern not in seen:
            seen.add(pattern)
            yield variable.name, gone


def _as_rows(weights: Floats) -> Floats:
    """Return weights whose sum is the number of rows that they are worth (Kish 1965)."""
    return np.asarray(weights * (weights.sum() / np.square(weights).sum()))


def _fresh(name: str, names: Collection[Name]) -> str:
    """Return a name, with a number if a column has it."""
    number, found = 1, name
    while found in names:
        number += 1
        found = f"{name} ({number})"
    return found
