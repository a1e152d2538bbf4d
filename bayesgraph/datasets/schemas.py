"""Columns that files share: their names, and types that hold the values of all files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from bayesgraph.datasets.dataset import arrow
from bayesgraph.errors import DataTypeError, FileFormatError, quoted, unknown_variable


def joined_schema(dataset: Any, source: str, columns: Sequence[str] | None) -> Any:
    """Return the schema of the columns that all files of a dataset have; see `Fragments`."""
    fragments = list(dataset.get_fragments()) if hasattr(dataset, "get_fragments") else []
    found = [(f.path, f.physical_schema) for f in fragments if hasattr(f, "path")]
    everywhere = set(dataset.schema.names).union(*(schema.names for _, schema in found))
    for name in columns or ():
        if name not in everywhere:
            raise unknown_variable(name, sorted(everywhere), where=f"columns=: {source}")
    check_same_names([(path, schema.names) for path, schema in found], columns)
    # Columns of partitioned paths are in the dataset's schema alone.
    kinds = {field.name: field.type for field in dataset.schema} | _joined_types(found, columns)
    return arrow().schema([(n, kinds[n]) for n in dataset.schema.names if kinds[n] is not None])


def check_same_names(
    found: Sequence[tuple[str, Sequence[str]]], columns: Collection[str] | None
) -> None:
    """Check that files, given by path and names of columns, have the same columns, or those used.

    Raises
    ------
    FileFormatError
    """
    first = set(found[0][1]) if found else set()
    for path, names in found:
        if len(set(names)) < len(names):
            raise FileFormatError(
                f"{path}: each column needs a name of its own; got {quoted(names)}."
            )
        lacking = (first if columns is None else first & set(columns)) - set(names)
        added = set(names) - first
        if columns is not None:
            added &= set(columns)
        if lacking or added:
            what = "it lacks" if lacking else "only it has"
            raise FileFormatError(
                f"{path}: expected the columns of the other files; {what} "
                f"{quoted(sorted(lacking or added))}. Give the columns that all files have by "
                "columns=, or leave out the file."
            )


def _joined_types(
    found: Sequence[tuple[str, Any]], columns: Collection[str] | None
) -> dict[str, Any]:
    """Return the type of each column that holds the values of all files, None if there is none.

    Raises
    ------
    FileFormatError
        If there is none of a column that is used.
    """
    kinds: dict[str, Any] = {}
    first_of: dict[str, str] = {}
    for path, schema in found:
        for field in schema:
            name, before = field.name, kinds.get(field.name)
            if name in kinds and before is None:
                continue
            kinds[name] = widened(before, field.type)
            if kinds[name] is None and (columns is None or name in columns):
                raise FileFormatError(
                    f"The column {name!r} is {before} in {first_of[name]} and {field.type} in "
                    f"{path}. Write it with one type in all files."
                )
            if before is None or arrow().types.is_null(before):
                first_of[name] = path
    return kinds


def selected(schema: Any, columns: Sequence[str]) -> Any:
    return arrow().schema([schema.field(name) for name in columns])


def widened(first: Any, second: Any) -> Any:
    """Return the type that holds values of two types, or None if they are of different kinds."""
    types = arrow().types
    if first is None or types.is_null(first) or first == second:
        return second
    if types.is_null(second):
        return first
    if is_text(first) and is_text(second):
        return first if types.is_dictionary(first) else second
    if all(types.is_integer(t) or types.is_floating(t) for t in (first, second)):
        both = types.is_integer(first) and types.is_integer(second)
        return arrow().int64() if both else arrow().float64()
    return None


def is_text(kind: Any) -> bool:
    types = arrow().types
    value = kind.value_type if types.is_dictionary(kind) else kind
    return bool(
        types.is_string(value) or types.is_large_string(value) or types.is_string_view(value)
    )


def with_categories(schema: Any) -> Any:
    """Return a schema in which text is read as categories, which takes a third of the time."""
    coded = arrow().dictionary(arrow().int32(), arrow().string())
    return arrow().schema([(f.name, coded if is_text(f.type) else f.type) for f in schema])


def decoded(table: Any) -> Any:
    """Return a table with text in place of categories of text that have no order."""
    types = arrow().types
    kinds = [
        (f.name, arrow().string())
        if types.is_dictionary(f.type) and is_text(f.type) and not f.type.ordered
        else (f.name, f.type)
        for f in table.schema
    ]
    return table.cast(arrow().schema(kinds))


def as_schema(table: Any, schema: Any) -> Any:
    """Return a table with the types of a schema that has its columns."""
    if table.schema.types == schema.types:
        return table
    columns = [_as_type(c, t) for c, t in zip(table.columns, schema.types, strict=True)]
    return arrow().Table.from_arrays(columns, schema=schema)


def fitted(table: Any, schema: Any, what: str) -> Any:
    """Return a table with the types of a schema that has its columns, if its values have them.

    Parameters
    ----------
    table : pyarrow.Table
    schema : pyarrow.Schema
    what : str
        Begins the message, such as "A batch of the relation".

    Raises
    ------
    DataTypeError
        If a column has values of another type.
    """
    for found, expected in zip(table.schema, schema, strict=True):
        # Numbers would become text in silence.
        is_known = is_text(found.type) or arrow().types.is_null(found.type)
        if is_text(expected.type) and not is_known:
            raise other_type(what, f"{found.name!r} is {found.type}, expected text")
    try:
        return as_schema(table, schema)
    except (arrow().ArrowInvalid, arrow().ArrowTypeError, NotImplementedError) as error:
        raise other_type(what, *error.args) from error


def other_type(what: str, *said: object) -> DataTypeError:
    """Return the error for values of another type than their columns; `what` has them."""
    return DataTypeError(
        f"{what} has values of another type than its columns: {'; '.join(map(str, said)):.300}. "
        "Give each column one type in all of them, such as by astype or cast."
    )


def _as_type(column: Any, kind: Any) -> Any:
    types = arrow().types
    if column.type == kind:
        return column
    if types.is_null(column.type):
        return arrow().nulls(len(column), kind)
    if types.is_dictionary(kind):
        text = column.cast(kind.value_type)
        return text.dictionary_encode().cast(kind)
    return column.cast(kind)
