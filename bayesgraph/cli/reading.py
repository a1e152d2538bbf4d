"""How commands read tables: the options that they share."""

from __future__ import annotations

import dataclasses
import functools
import glob
import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

import bayesgraph as bg
from bayesgraph.cli.streams import is_stream
from bayesgraph.errors import DataError, unknown_variable
from bayesgraph.io.tables import read_table
from bayesgraph.variables import MISSING

# A tab is tedious to type.
_DELIMITERS = {"tab": "\t", "\\t": "\t"}


def _option(text: str) -> Any:
    return typer.Option(help=text, rich_help_panel="How the table is written")


@dataclass(frozen=True)
class Reading:
    """Options of reading a table; see `bayesgraph.read_table`."""

    missing: Annotated[
        list[str] | None,
        _option("Text that means missing, besides an empty cell, NA and NaN; may be repeated."),
    ] = None
    text: Annotated[
        list[str] | None,
        _option("Column to read as text, though it looks like numbers; may be repeated."),
    ] = None
    delimiter: Annotated[
        str | None, _option("What separates fields, such as ; or tab; else the first lines say.")
    ] = None
    encoding: Annotated[str | None, _option("Such as latin-1; UTF-8 by default.")] = None
    decimal: Annotated[str | None, _option("The decimal point, such as , (a comma).")] = None
    comment: Annotated[str | None, _option("What begins a line to leave out, such as #.")] = None
    dates: Annotated[
        str | None,
        _option("Take dates as 'parts' (year, month, weekday, hour), or as 'days' since 1970."),
    ] = None
    limit: Annotated[
        int | None, _option("Bytes that reading may take; 64 MB + 40 x the file by default.")
    ] = None

    def table(self, data: Path, text: Iterable[str] = ()) -> Any:
        """Read a table, from standard input if the path is ``-``.

        Parameters
        ----------
        data : path
        text : columns that are text besides those of the option
        """
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        options["missing"] = (*MISSING, *(self.missing or ()))
        options["text"] = (*text, *(self.text or ()))
        options["delimiter"] = _DELIMITERS.get(self.delimiter or "", self.delimiter)
        table = read_table(sys.stdin.buffer if is_stream(data) else data, **options)
        for name in self.text or ():
            if name not in table.column_names:
                raise unknown_variable(name, table.column_names, where=str(data))
        return table

    def dataset(self, data: Path, progress: Any, text: Iterable[str] = ()) -> Any:
        """Open a folder or a glob as a `bayesgraph.Dataset`.

        Parameters
        ----------
        data : path
        progress : callable, see `bayesgraph.open_dataset`
        text : columns that are text besides those of the option

        Raises
        ------
        DataError
            For an option that only single files have.
        """
        for name in ("encoding", "decimal", "comment", "dates", "limit"):
            if getattr(self, name) is not None:
                raise DataError(f"--{name} goes with a single file; {data} is a folder or a glob.")
        dataset = bg.open_dataset(
            data,
            missing=(*MISSING, *(self.missing or ())),
            text=(*text, *(self.text or ())),
            delimiter=_DELIMITERS.get(self.delimiter or "", self.delimiter),
            progress=progress,
        )
        dataset.checked(self.text or (), "--text")
        return dataset


def is_many(data: Path) -> bool:
    """Return whether a path names several files: a folder, or a glob that is no file's name."""
    return data.is_dir() or (glob.has_magic(str(data)) and not data.exists())


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of `Reading` in the place of its parameter `reading`."""
    hints = get_type_hints(Reading, include_extras=True)
    options = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hints[field.name]
        )
        for field in dataclasses.fields(Reading)
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        reading = Reading(**{option.name: given.pop(option.name) for option in options})
        command(reading=reading, **given)

    signature = inspect.signature(command, eval_str=True)
    own = [known for known in signature.parameters.values() if known.name != "reading"]
    run.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    return run
