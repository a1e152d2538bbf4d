"""Rows of probabilities that were printed with too few digits to sum to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from bayesgraph.cpds.base import CPD
from bayesgraph.cpds.table import TableCPD
from bayesgraph.cpds.validation import SUM_TOLERANCE
from bayesgraph.errors import (
    BayesGraphError,
    BayesGraphWarning,
    DataError,
    FileFormatError,
    quoted,
    warn,
)
from bayesgraph.factors.algebra import Floats
from bayesgraph.models.annotations import Annotations
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete, Name

# Which rows are divided by their sums.
Normalize: TypeAlias = bool | Literal["always"]
# Maximum deviation of a sum from 1 that two printed digits of a few states explain.
ROUNDING_LIMIT = 0.02


class RoundedRows:
    """Normalises rows of rounded probabilities, and warns of them once at the end.

    Rows whose sum is off by at most 1e-6, which TableCPD accepts, are kept exactly. Rows off by at
    most 0.02 are divided by their sum, unless `normalize` is false; if it is "always", so are all
    rows with a positive sum. Other rows are kept, and TableCPD refuses them.

    Parameters
    ----------
    normalize : bool or "always"

    Raises
    ------
    DataError
        If `normalize` is something else.
    """

    def __init__(self, *, normalize: Normalize) -> None:
        if not isinstance(normalize, bool) and normalize != "always":
            raise DataError(f"normalize= is True, False or 'always'; got {normalize!r}.")
        self.limit = ROUNDING_LIMIT if normalize else SUM_TOLERANCE
        if normalize == "always":
            self.limit = np.inf
        self._changed: dict[Name, float] = {}

    def repaired(self, name: Name, values: Floats) -> Floats:
        """Return the table of a variable (child on the last axis) with rounded rows normalised."""
        sums = values.sum(axis=-1, keepdims=True)
        deviation = np.abs(sums - 1.0)
        if deviation.max() <= SUM_TOLERANCE:
            return values
        rounded = (deviation > SUM_TOLERANCE) & (deviation <= self.limit) & (sums > 0)
        rounded &= np.isfinite(sums)
        if not rounded.any():
            return values
        self._changed[name] = float(deviation[rounded].max())
        return np.where(rounded, values / np.where(rounded, sums, 1.0), values)

    def warn(self, where: str) -> None:
        """Warn once of all rows that were changed, if any; `where` is the path for the message."""
        if not self._changed:
            return
        warn(
            f"{where}: rows of the tables of {quoted(self._changed)} do not sum to one; they were "
            f"divided by their sums, which are off by up to {max(self._changed.values()):.3g}. "
            "normalize=False refuses them.",
            BayesGraphWarning,
        )


def network_of(
    cpds: Sequence[CPD],
    rounded: RoundedRows,
    source: str,
    annotations: Annotations | None = None,
) -> BayesianNetwork:
    """Return the network of a file, and warn of rows that were divided by their sums.

    `source` is the path for messages.

    Raises
    ------
    FileFormatError
        If the CPDs do not form a network.
    """
    try:
        network = BayesianNetwork(cpds, annotations=annotations)
    except BayesGraphError as error:
        raise FileFormatError(f"{source}: {error}") from error
    rounded.warn(source)
    return network


def table_of(
    child: Discrete,
    values: Floats,
    parents: Sequence[Discrete],
    rounded: RoundedRows,
    *,
    sums_to_one: bool = False,
) -> TableCPD:
    """Return the CPD of a table with the child on the last axis; rounded rows are normalised.

    A table without faults, as almost all are, is checked once, or not again if its rows are known
    to be distributions (`sums_to_one`).

    Raises
    ------
    CPDError
        If there is no such distribution.
    """
    names = {variable.name for variable in (*parents, child)}
    if len(names) == len(parents) + 1 and (sums_to_one or _are_distributions(values)):
        return TableCPD.from_checked(child, values, parents)
    return TableCPD(child, rounded.repaired(child.name, values), parents)


def _are_distributions(values: Floats) -> bool:
    rows = values.reshape(-1, values.shape[-1])
    return bool(values.min() >= 0) and sum_to_one(rows, SUM_TOLERANCE)


def first_bad_row(values: Floats) -> int:
    """Return the index of the first row (along the last axis) that `TableCPD` refuses, or 0."""
    rows = values.reshape(-1, values.shape[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        good = (np.abs(rows.sum(axis=1) - 1.0) <= SUM_TOLERANCE) & (rows >= 0).all(axis=1)
    return int(np.argmin(good))


def sum_to_one(rows: Floats, tolerance: float = ROUNDING_LIMIT) -> bool:
    """Return whether all rows sum to one up to the rounding of printed probabilities.

    On a refused table with its axes swapped, true means that the file has the axes in that order.
    """
    return bool(np.abs(rows.sum(axis=1) - 1.0).max() <= tolerance)
