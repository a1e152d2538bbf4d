"""Columns of dates in tables, as columns that a model takes: their parts, or numbers of days."""

from __future__ import annotations

import datetime
from typing import Any

from bayesgraph.errors import DataError
from bayesgraph.optional import optional_module

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH = datetime.date(1970, 1, 1)
_MICROSECONDS = 86_400_000_000  # of a day


def origin_of(dates: str | None) -> datetime.date | None:
    """Return the date from which days are counted; None if they are not.

    Raises
    ------
    DataError
        If `dates` is none of the texts that `read_table` takes.
    """
    if dates in (None, "parts"):
        return None
    if dates == "days":
        return _EPOCH
    begin, _, end = str(dates).rpartition(" ")
    if begin == "days since":
        try:
            return datetime.date.fromisoformat(end)
        except ValueError:
            pass
    raise DataError(
        "dates= (--dates) is 'parts' (year, month, weekday, hour), 'days' (since 1970-01-01) or "
        f"such as 'days since 2000-01-01'; got {dates!r}."
    )


def with_dates(table: Any, dates: str | None) -> Any:
    """Return a pyarrow Table with other columns in the place of each column of dates.

    Parameters
    ----------
    table : pyarrow Table
    dates : str or None
        As for `read_table`.
    """
    origin = origin_of(dates)
    types = optional_module("pyarrow.types", extra="tables", what="Reading tables")
    if dates is None:
        return table
    names: list[str] = []
    columns: list[Any] = []
    for field, column in zip(table.schema, table.columns, strict=True):
        found = {field.name: column}
        if types.is_timestamp(field.type) or types.is_date(field.type):
            found = _days(field.name, column, origin) if origin else _parts(field.name, column)
        names += found
        columns += found.values()
    return type(table).from_arrays(columns, names=names)


def _days(name: str, column: Any, origin: datetime.date) -> dict[str, Any]:
    """Return the days since the origin, with a fraction for the time of the day."""
    arrow = optional_module("pyarrow", extra="tables", what="Reading tables")
    compute = optional_module("pyarrow.compute", extra="tables", what="Reading tables")
    zone = getattr(column.type, "tz", None)
    instants = compute.cast(column, arrow.timestamp("us", zone), safe=False)
    numbers = compute.divide(compute.cast(instants, arrow.int64()), float(_MICROSECONDS))
    since = compute.subtract(numbers, float((origin - _EPOCH).days))
    return {f"{name}_days_since_{origin}": since}


def _parts(name: str, column: Any) -> dict[str, Any]:
    compute = optional_module("pyarrow.compute", extra="tables", what="Reading tables")
    types = optional_module("pyarrow.types", extra="tables", what="Reading tables")
    months = compute.subtract(compute.month(column), 1)
    found = {
        f"{name}_year": compute.year(column),
        f"{name}_month": _named(months, _MONTHS),
        f"{name}_weekday": _named(compute.day_of_week(column), _WEEKDAYS),
    }
    if types.is_timestamp(column.type):
        found[f"{name}_hour"] = compute.hour(column)
    return found


def _named(numbers: Any, names: tuple[str, ...]) -> Any:
    """Return a column of categories, in the order of their names, from numbers."""
    arrow = optional_module("pyarrow", extra="tables", what="Reading tables")
    codes = numbers.combine_chunks().cast(arrow.int8())
    return arrow.DictionaryArray.from_arrays(codes, arrow.array(names), ordered=True)
