"""Long tables, in which each row is a slice of the sequence that its id names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.errors import DataError, DataTypeError, quoted, unknown_variable
from bayesgraph.core.parallel import check_memory
from bayesgraph.core.typing import TableLike
from bayesgraph.core.variables import Discrete, Name, Variable, is_missing
from bayesgraph.models import check_memory_limit, table_for
from bayesgraph.tables import Table, check_unseen, columns_of, factorise, length, of_rows, tell

# Nanoseconds of the units that a step is written in.
_UNITS = {"ms": 1e6, "s": 1e9, "min": 6e10, "h": 3.6e12, "d": 8.64e13, "w": 6.048e14}


@dataclass(frozen=True, eq=False)
class LongRows:
    """The rows of a long table by sequence.

    Attributes
    ----------
    table : Table
    ids : list
        Of the sequences, in the order in which they begin.
    starts : ndarray, shape (n_sequences + 1,)
        Numbers of the first slices, and of all; slices of all sequences are numbered one after the
        other, those without a row too.
    sequence : ndarray, shape (n_rows,)
        The index of each row's sequence.
    place : ndarray, shape (n_rows,)
        Number of the slice that each row is.
    """

    table: Table
    ids: list[Any]
    starts: NDArray[np.int64]
    sequence: NDArray[np.intp]
    place: NDArray[np.int64]

    def extended(
        self, ahead: int, static: Collection[Variable]
    ) -> tuple[NDArray[np.int64], dict[Variable, NDArray[Any]]]:
        """Return starts and columns of all slices, with `ahead` more behind each sequence.

        Columns have the shape (n_slices,), and are missing in slices without a row. A static
        variable has its value in all slices of a sequence.

        Raises
        ------
        DataError
            For two values of a static variable in one sequence.
        """
        # Each sequence before a row adds its slices ahead to the number of the row's slice.
        place = self.place + ahead * self.sequence
        starts = self.starts + ahead * np.arange(len(self.starts))
        columns: dict[Variable, NDArray[Any]] = {}
        for variable in self.table.variables:
            column = self.table.column(variable)
            if not isinstance(column, np.ndarray):
                raise DataTypeError(f"{variable.name!r} is a sparse matrix; pass it dense.")
            missing: Any = -1 if isinstance(variable, Discrete) else np.nan
            whole = np.full((int(starts[-1]), *column.shape[1:]), missing, dtype=column.dtype)
            whole[place] = column
            if variable in static:
                # The value of each sequence is that of its last row with one; others must agree.
                observed = np.flatnonzero(self.table.evidence().observed_rows(variable))
                values = np.full(len(self.ids), missing, dtype=column.dtype)
                values[self.sequence[observed]] = column[observed]
                wrong = observed[values[self.sequence[observed]] != column[observed]]
                if len(wrong):
                    raise DataError(
                        f"{variable.name!r} is static and has more than one value in sequence "
                        f"{self.ids[self.sequence[wrong[0]]]!r}."
                    )
                whole = np.repeat(values, np.diff(starts))
            columns[variable] = whole
        return starts, columns


class RowOptions(TypedDict, total=False):
    """How a long table is read: see `TemporalNetwork.log_likelihood`."""

    id: Name | None
    time: Name | None
    step: Any
    unseen: str
    memory_limit: float | None


def read_rows(model: Any, rows: TableLike, options: RowOptions) -> LongRows:
    """Return the rows of a long table as a model's sequences.

    Raises
    ------
    DataError, DataTypeError, UnknownVariableError
        For an empty table, columns that are not there, ids that are missing, times that are
        missing, no numbers or dates, that repeat or descend, or that are no steps apart.
    """
    if wrong := [name for name in options if name not in RowOptions.__annotations__]:
        raise TypeError(f"{quoted(wrong)} is no option; {quoted(RowOptions.__annotations__)} are.")
    if (limit := options.get("memory_limit")) is not None:
        check_memory_limit(limit)
    columns = dict(columns_of(rows))
    key, time = options.get("id"), options.get("time")
    unseen: Any = options.get("unseen", "error")
    check_unseen(unseen)
    n_rows = length(next(iter(columns.values())))
    if not n_rows:
        raise DataError(f"The table has no rows (its columns are {quoted(columns)}).")
    for what, name in (("id", key), ("time", time)):
        if name is not None and all(name != each for each in columns):
            raise unknown_variable(name, columns, where=f"{what}=: the table")
    ids, sequence = sequences_of(columns, key)
    offset = _offsets(columns, time, options.get("step"), ids, sequence)
    names = {v.name for v in model.variables}
    # The columns of id and time are data only if the model has variables of these names.
    for name in {key, time} - names - {None}:
        del columns[name]
    if not columns:
        raise DataError("The table has no columns besides id= and time=.")
    policy = of_rows(unseen, n_rows)
    table = table_for(model, columns, None, unseen=policy)
    tell(policy, unseen, n_rows)
    # A sequence ends with the slice of its last row.
    lengths = np.zeros(len(ids), dtype=np.int64)
    np.maximum.at(lengths, sequence, offset + 1)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    check_memory(
        f"The sequences have {int(starts[-1]):,} slices, gaps included, which take",
        int(starts[-1]) * (len(table.variables) + 1),
        "Give a longer step.",
    )
    return LongRows(table, ids, starts, sequence, starts[sequence] + offset)


def sequences_of(
    columns: Mapping[Name, Any], key: Name | None
) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the ids in the order in which they appear, and the index of each row's."""
    n_rows = length(next(iter(columns.values())))
    if key is None:
        return [None], np.zeros(n_rows, dtype=np.intp)
    factorised = factorise(columns[key], key)
    codes = np.asarray(factorised.codes)
    if (codes < 0).any():
        raise DataError(f"id={key!r} is missing in row {int(np.argmax(codes < 0))}.")
    present, first, index = np.unique(codes, return_index=True, return_inverse=True)
    # Ids by their first rows; the inverse of this permutation takes a code's index to its rank.
    order = np.argsort(first, kind="stable")
    return [factorised.states[c] for c in present[order].tolist()], np.argsort(order)[index]


def _offsets(
    columns: Mapping[Name, Any], time: Name | None, step: Any, ids: list[Any], sequence: Any
) -> NDArray[np.int64]:
    """Return the number of each row's slice within its sequence, shape (n_rows,)."""
    order = np.argsort(sequence, kind="stable")
    offset = np.empty(len(sequence), dtype=np.int64)
    counts = np.bincount(sequence)
    # For each place in `order`, the place where its sequence begins there.
    begins = np.repeat(np.cumsum(counts) - counts, counts)
    if time is None:
        if step is not None:
            raise DataError("step= needs time=, the column whose steps it is the length of.")
        offset[order] = np.arange(len(order)) - begins
        return offset
    times, is_date = _times(columns[time], time)
    ordered = times[order]
    # From each row to the next: the time between them, and whether they are of one sequence.
    gaps, same = np.diff(ordered), np.diff(sequence[order]) == 0

    def wrong(rows: NDArray[np.bool_], what: str) -> None:
        """Raise an error for the first of some of the ordered rows."""
        if rows.any():
            row = int(order[int(np.argmax(rows))])
            of = "" if ids == [None] else f" of {ids[sequence[row]]!r}"
            raise DataError(
                f"time={time!r}: row {row}{of} has the time {columns[time][row]} {what}"
            )

    # The first row has none before it, which the flag False in front says.
    again = "{}: sort the rows of each sequence by time, one row for each."
    wrong(np.append(False, same & (gaps == 0)), again.format("twice"))
    wrong(np.append(False, same & (gaps < 0)), again.format("after a later one"))
    size = _step(step, is_date, time)
    if size is None:
        apart = np.unique(gaps[same])
        # Rounding of times in floating point passes.
        if len(apart) and apart[-1] - apart[0] > 1e-6 * apart[0]:
            raise DataError(
                f"time={time!r}: rows are {_length(apart[0], is_date)} and "
                f"{_length(apart[-1], is_date)} apart; step= says how long a slice is, and without "
                "time= each row is the next slice."
            )
        size = float(gaps[same].mean()) if len(apart) else 1.0
    steps = (ordered - ordered[begins]) / size
    whole = np.rint(steps)
    uneven = np.abs(steps - whole) > 1e-6 * np.maximum(1.0, np.abs(steps))
    uneven[1:] |= same & (np.diff(whole) == 0)  # two rows in one slice
    wrong(uneven, f"which is no whole number of steps of {_length(size, is_date)} after the first.")
    # So many slices exceed the memory, but not the integers.
    offset[order] = np.minimum(whole, 2.0**40).astype(np.int64)
    return offset


def _length(size: float, is_date: bool) -> str:
    """Return a length of time, of dates in nanoseconds, as text."""
    if not is_date:
        return f"{size:g}"
    return str(np.timedelta64(int(size), "ns").astype("timedelta64[s]"))


def _times(column: Any, name: Name) -> tuple[Any, bool]:
    """Return times as numbers, dates in nanoseconds, and whether they are dates."""
    values = np.asarray(column)
    if values.dtype.kind == "O" and all(hasattr(x, "year") or is_missing(x) for x in values):
        values = np.array([None if is_missing(x) else x for x in values], dtype="datetime64[us]")
    elif values.dtype.kind == "O" and all(type(x) in (int, float) or is_missing(x) for x in values):
        values = np.array([np.nan if is_missing(x) else x for x in values])  # of both types
    is_date = values.dtype.kind in "Mm"
    if not is_date and values.dtype.kind not in "iuf":
        raise DataTypeError(
            f"time={name!r} takes numbers or dates; got {values[0]!r:.40}. Convert texts first, "
            "such as by pandas.to_datetime."
        )
    missing = np.isnat(values) if is_date else ~np.isfinite(values)
    if missing.any():
        raise DataError(f"time={name!r} is missing or infinite in row {int(np.argmax(missing))}.")
    # Dates and durations, of kinds M and m, become nanoseconds, of which integers hold 292 years.
    if is_date:
        seconds = values.astype(f"{values.dtype.kind}8[s]").astype(np.float64)
        far = np.maximum(np.abs(seconds), seconds - seconds.min(initial=0.0)) > 9.22e9
        if far.any():
            row = int(np.argmax(far))
            raise DataError(
                f"time={name!r} takes dates from 1678 to 2261 that are at most 292 years apart; "
                f"row {row} has {values[row]}. Give numbers instead, such as of days or years."
            )
        values = values.astype(f"{values.dtype.kind}8[ns]").astype(np.int64)
    return values.astype(np.int64 if is_date else np.float64), is_date


def _step(step: Any, is_date: bool, time: Name) -> float | None:
    """Return the length of a slice, of dates in nanoseconds."""
    if step is None:
        return None
    size: float | None = None
    if isinstance(step, str) and is_date:
        match = re.fullmatch(r"\s*(\d*)\s*(ms|min|s|h|d|w)\s*", step.lower())
        size = None if match is None else float(match[1] or 1) * _UNITS[match[2]]
    elif isinstance(step, (timedelta, np.timedelta64)) and is_date:
        span = np.timedelta64(step)
        if np.datetime_data(span)[0] not in ("Y", "M"):  # years and months differ in length
            size = float(span.astype("m8[ns]").astype(np.int64))
    elif isinstance(step, (int, float, np.number)) and not (isinstance(step, bool) or is_date):
        size = float(step)
    if size is None or not 0 < size < np.inf:
        kind = "dates, a timedelta of weeks, days or less, or text such as '1d', '12h' or '30min'"
        raise DataError(
            f"step= is, for {time!r} of {kind if is_date else 'numbers, a positive number'}; "
            f"got {step!r}."
        )
    return size
