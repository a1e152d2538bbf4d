"""Values of a table that are no states of the model: what becomes of them, and who is told."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from bayesgraph.errors import DataError, UnseenStatesWarning, quoted, warn
from bayesgraph.variables import Discrete, Name, State, is_missing, plain

POLICIES = ("warn", "missing", "error")
# Values and columns that a message shows.
_SHOWN = 3


class UnseenValues:
    """Values that are no states, by column, which are taken as missing.

    It stands for a policy wherever rows are encoded, and collects what it meets there.
    """

    def __init__(self) -> None:
        self._rows: dict[Name, int] = {}
        self._values: dict[Name, dict[State, None]] = {}

    def add(self, name: Name, n_rows: int, values: Iterable[State] = ()) -> None:
        """Note that a number of rows of a column have such values, some of which are given."""
        self._rows[name] = self._rows.get(name, 0) + n_rows
        # Few are shown, and a column of identifiers has as many as it has rows.
        known = self._values.setdefault(name, {})
        known.update(dict.fromkeys(islice(values, _SHOWN)))

    def unite(self, others: UnseenValues) -> None:
        """Add what was met in other rows."""
        for name, n_rows in others._rows.items():
            self.add(name, n_rows, others._values[name])

    def warn(self, n_rows: int) -> None:
        """Issue one warning if there are any among a number of rows."""
        if not self._rows:
            return
        most = sorted(self._rows, key=lambda name: -self._rows[name])
        columns = [
            f"{name!r} in {self._rows[name]:,} of {n_rows:,} rows, "
            f"such as {quoted(islice(self._values[name], _SHOWN))}"
            for name in most[:_SHOWN]
        ]
        columns += [f"and {len(most) - _SHOWN} more columns"] * (len(most) > _SHOWN)
        warn(
            "Values that the model never saw are taken as missing, which unseen= can refuse or "
            f"allow: {'; '.join(columns)}.",
            UnseenStatesWarning,
        )


# How values that are no states are treated: by the name of a policy, or collected.
Unseen: TypeAlias = str | UnseenValues


def check_unseen(unseen: Unseen) -> None:
    """Raise a DataError unless `unseen` is a known policy for values that are not states."""
    if not isinstance(unseen, UnseenValues) and unseen not in POLICIES:
        raise DataError(f"unseen= is one of {quoted(POLICIES)}; got {unseen!r}.")


def of_rows(unseen: Unseen, n_rows: int) -> Unseen:
    """Return the policy for the rows of a table, which collects what there is to warn of.

    A single row is not warned of: services ask for one row after the other.
    """
    return UnseenValues() if n_rows > 1 and isinstance(unseen, str) and unseen == "warn" else unseen


def tell(met: Unseen, unseen: Unseen, n_rows: int) -> None:
    """Warn of what `of_rows` has collected for a policy; others collect to tell it themselves."""
    if isinstance(met, UnseenValues) and met is not unseen:
        met.warn(n_rows)


def cells_without_state(table: Any, matrix: Any, unseen: UnseenValues) -> None:
    """Collect the cells of a matrix of values that are not missing but have no code."""
    for variable, cells in zip(table.variables, matrix.T, strict=True):
        if not isinstance(variable, Discrete):
            continue
        found = cells[np.flatnonzero(table.column(variable) < 0)]
        if found.dtype.kind == "f":
            found = found[~np.isnan(found)]
        values = [plain(cell) for cell in found.tolist() if not is_missing(cell)]
        if values:
            unseen.add(variable.name, len(values), values)
