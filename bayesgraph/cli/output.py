"""Where commands write: paths are checked before the work begins."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from bayesgraph.errors import FileFormatError, quoted
from bayesgraph.io import tables

# Suffixes of graphs, and of charts.
PICTURES = (".svg", ".png", ".pdf", ".dot")
FIGURES = (".svg", ".png", ".pdf")
# Suffix of pages that answer questions.
PAGE = ".html"


def check_output(path: Path, suffixes: tuple[str, ...]) -> None:
    """Raise an error for an output path that cannot be written, before the work begins."""
    if not path.name.lower().endswith(suffixes):
        raise FileFormatError(f"{str(path)!r}: the suffix must be one of {quoted(suffixes)}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {str(path.parent)!r}.")


def put_rows(columns: dict[str, Any], output: str | None, done: str) -> None:
    """Write columns to a file and say what is `done`, or print them if there is no file."""
    if output is None or output == "-":
        tables.print_table(columns, sys.stdout.buffer)
    else:
        tables.write_table(columns, output)
        typer.echo(f"{done}; written to {output}")
