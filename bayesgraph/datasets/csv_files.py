"""CSV files as datasets."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from bayesgraph.datasets.dataset import Dataset, arrow
from bayesgraph.datasets.files import check_unchanged
from bayesgraph.datasets.schemas import check_same_names, widened, with_categories
from bayesgraph.errors import FileFormatError, quoted, unknown_variable
from bayesgraph.variables import MISSING

# Bytes of a CSV file that are parsed together.
_BLOCK = 1 << 24


class CsvFiles(Dataset):
    """CSV files as one table, in the order of their names; all rows decide on the types.

    A column is a number, a truth value or text as `read_table` decides of one file. Types are those
    of the first rows until a value does not fit; its file is then read again with a wider type.

    Parameters
    ----------
    paths : sequence of str
    source : str
    missing : sequence of str
        Texts of cells that mean a missing value.
    text : sequence of str
        Columns that are text, even if all values look like numbers.
    delimiter : str
    columns : sequence of str, optional
        Columns to use; by default all, which all files then need to have.
    """

    def __init__(
        self,
        paths: Sequence[str],
        source: str,
        *,
        missing: Sequence[str] = MISSING,
        text: Sequence[str] = (),
        delimiter: str = ",",
        columns: Sequence[str] | None = None,
    ) -> None:
        self.source = source
        self._paths = list(paths)
        self._missing, self._text, self._delimiter = list(missing), list(text), delimiter
        self._seen = self._state()
        self.schema, self.n_rows = self._found(columns)

    def _state(self) -> list[tuple[int, int]]:
        return [((found := os.stat(path)).st_size, found.st_mtime_ns) for path in self._paths]

    def _found(self, columns: Sequence[str] | None) -> tuple[Any, int]:
        """Read all files until no value contradicts the types; return the schema and the rows."""
        kinds: dict[str, Any] = {}
        names: list[tuple[str, Sequence[str]]] = []
        n_rows: list[int] = []
        while len(n_rows) < len(self._paths):
            path = self._paths[len(n_rows)]
            try:
                if len(names) == len(n_rows):
                    names.append((path, self._names(path)))
                    self._check_names(names, columns)
                reader = self._opened(path, kinds, columns or ())
                kinds = kinds or dict(zip(reader.schema.names, reader.schema.types, strict=True))
                _check_utf8(path, kinds)
                n_rows.append(sum(len(batch) for batch in reader))
            except arrow().ArrowInvalid as error:
                name, kind = self._contradiction(path, str(error), kinds)
                kinds[name], again = _of_cells(kinds[name], kind)
                if again:
                    n_rows.clear()
        return with_categories(arrow().schema(list(kinds.items()))), sum(n_rows)

    def _names(self, path: str) -> list[str]:
        return list(self._opened(path, {}).schema.names)

    def _check_names(
        self, names: Sequence[tuple[str, Sequence[str]]], columns: Sequence[str] | None
    ) -> None:
        for name in columns or ():
            if name not in names[0][1]:
                raise unknown_variable(name, names[0][1], where=f"columns=: {names[0][0]}")
        check_same_names([names[0], names[-1]], columns)

    def _contradiction(self, path: str, said: str, kinds: Collection[str]) -> tuple[str, Any]:
        """Return the column of a value that is not of its type, and the type of that value."""
        found = re.search(r"In CSV column #(\d+): .*: invalid value '(.*)'", said, re.DOTALL)
        name = self._names(path)[int(found[1])] if found else ""
        if not found or name not in kinds:
            raise FileFormatError(
                f"{path!r} cannot be read as a table with the fields separated by "
                f"{self._delimiter!r}: {said.splitlines()[0]:.200}."
            )
        csv = arrow(".csv")
        cell = found[2].replace('"', '""')
        kind = csv.read_csv(
            io.BytesIO(f'"{cell}"\n'.encode()),
            read_options=csv.ReadOptions(column_names=["value"]),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(null_values=self._missing),
        ).schema.types[0]
        return name, kind

    def _opened(self, path: str, kinds: Mapping[str, Any], columns: Sequence[str] = ()) -> Any:
        csv = arrow(".csv")
        return csv.open_csv(
            path,
            read_options=csv.ReadOptions(block_size=_BLOCK),
            parse_options=csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                null_values=self._missing,
                strings_can_be_null=True,
                column_types=dict.fromkeys(self._text, arrow().string()) | dict(kinds),
                include_columns=list(columns),
            ),
        )

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows of some columns; see `Dataset.tables`.

        Raises
        ------
        DataError
            If a file has changed since the dataset was opened.
        """
        self._check_unchanged()
        kinds = {name: self.schema.field(name).type for name in columns}
        for path in self._paths:
            for batch in self._opened(path, kinds, columns):
                yield arrow().Table.from_batches([batch])
        self._check_unchanged()

    @property
    def state(self) -> str | None:
        """Paths, sizes and times of the files, and how their cells are read; see `Dataset`."""
        return repr((self._paths, self._seen, self._missing, self._text, self._delimiter))

    def _check_unchanged(self) -> None:
        check_unchanged(self.source, self._paths, self._seen, self._state())


def _check_utf8(path: str, kinds: Mapping[str, Any]) -> None:
    """Raise a FileFormatError for columns of bytes, which is what other encodings are taken for."""
    if wrong := [name for name, kind in kinds.items() if arrow().types.is_binary(kind)]:
        raise FileFormatError(
            f"{path}: the column {quoted(wrong)} is not text in UTF-8. Convert the file, or read "
            "it as a table in memory by read_table, with encoding=."
        )


def _of_cells(before: Any, found: Any) -> tuple[Any, bool]:
    """Return the type of a column with cells of two types, and whether to read all files again.

    Cells are read again if those before may not fit: 0 and 1 are truth values, other numbers not.
    """
    types = arrow().types
    if types.is_integer(before) and types.is_boolean(found):
        return found, True
    if types.is_temporal(before) and types.is_timestamp(found) and not types.is_time(before):
        return found, False
    joined = widened(before, found)
    return (arrow().string() if joined in (None, before) else joined), False
