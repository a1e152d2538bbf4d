"""What commands print and where they write; paths are checked before the work begins."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import Any

import typer

import bayesgraph as bg
from bayesgraph.cli.progress import LINE
from bayesgraph.core.errors import (
    BayesGraphError,
    DataError,
    FileFormatError,
    LossyExportError,
    quoted,
)
from bayesgraph.core.files import temporary_folder
from bayesgraph.tables import reading

# -------- Standard input and output in the place of files: ``-``, or with a format as in ``bif:-``


_ANY = "-"


def is_stream(path: Path) -> bool:
    """Return whether a path stands for standard input or output."""
    return str(path) == _ANY or str(path).endswith(f":{_ANY}")


def suffix_of(path: Path, default: str) -> str:
    """Return the suffix of a stream's format."""
    given = str(path)[: -len(_ANY)].removesuffix(":").lower()
    return f".{given.removeprefix('.')}" if given else default


def check_once(*paths: Path | None) -> None:
    """Raise an error if several files are to be read from standard input."""
    given = [str(path) for path in paths if path is not None and is_stream(path)]
    if len(given) > 1:
        raise DataError(f"Standard input is read once; got {' and '.join(given)}.")


@contextmanager
def readable(path: Path, default: str = ".bayesgraph") -> Iterator[Path]:
    """Yield a path to read: the given one, or a temporary file with what standard input has.

    Errors then name standard input.
    """
    if not is_stream(path):
        yield path
        return
    with temporary_folder() as folder:
        file = folder / f"standard input{suffix_of(path, default)}"
        file.write_bytes(sys.stdin.buffer.read())
        try:
            yield file
        except BayesGraphError as error:
            # The name of the temporary file would puzzle.
            texts = (
                a.replace(str(file), str(path)) if isinstance(a, str) else a for a in error.args
            )
            error.args = tuple(texts)
            raise


@contextmanager
def writable(path: Path, suffix: str) -> Iterator[Path]:
    """Yield a path to write: the given one, or a temporary file that standard output then gets."""
    if not is_stream(path):
        yield path
        return
    with temporary_folder() as folder:
        file = folder / f"standard output{suffix}"
        yield file
        with LINE.hidden():
            sys.stdout.buffer.write(file.read_bytes())
            sys.stdout.buffer.flush()


# -------------- What commands print and where they write; paths are checked before the work begins


# Suffixes of graphs, and of charts.
PICTURES = (".svg", ".png", ".pdf", ".dot")
FIGURES = (".svg", ".png", ".pdf")
# Suffix of pages that answer questions, and of files that estimators are saved in.
PAGE = ".html"
NATIVE = (".bayesgraph",)
# What a terminal cannot show.
_BINARY = (*NATIVE, ".png", ".pdf", ".parquet", ".pq", ".gz")
# Decimal places of numbers of a table on a terminal.
_PLACES = 4


def say(text: str) -> None:
    """Print an answer."""
    with LINE.hidden():
        typer.echo(text)


@dataclass(frozen=True)
class Output:
    """A file to write, or standard output; see `output_to`.

    Attributes
    ----------
    path : Path
    suffix : str
        The one that names the format.
    """

    path: Path
    suffix: str

    @contextmanager
    def file(self) -> Iterator[Path]:
        """Yield the path of a file to write, which standard output gets if it is meant."""
        with writable(self.path, self.suffix) as file:
            yield file

    def done(self, text: str) -> None:
        """Say what was done; ``{}`` stands for the file."""
        if LINE.quiet:
            return
        stream = is_stream(self.path)
        where = "standard output" if stream else str(self.path)
        with LINE.hidden():
            typer.echo(text.replace("{}", where), err=stream)

    def save(self, model: Any, *, lossy: bool = False) -> Any:
        """Save a model; `lossy` lets the writer change what its format cannot hold."""
        options = {"strict": False} if lossy and bg.files.format_of(self.name).is_strict else {}
        try:
            with self.file() as file:
                return model.save(file, **options)
        except LossyExportError as error:
            raise LossyExportError(str(error).replace("strict=False", "--lossy")) from error

    @property
    def name(self) -> str:
        """A file name with the suffix."""
        return f"model{self.suffix}" if is_stream(self.path) else str(self.path)


def check_apart(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse to write over a file that is read, or among the files of a folder or a glob.

    A path is the file that it leads to: links, and other ways to write it, are the same file.
    """
    for output, source in product(outputs, inputs):
        place, pattern = Path(os.path.realpath(output)), os.path.realpath(source)
        read = [Path("/dev/stdin")] if is_stream(source) else [source, *source.rglob("*")]
        read += map(Path, glob.glob(pattern, recursive=True))
        is_read = any(output.samefile(file) for file in read if output.exists() and file.exists())
        is_table = place.name.lower().endswith(reading.READ) or not place.suffix
        is_among = is_table and Path(pattern) in place.parents
        if not is_stream(output) and (is_read or is_among or fnmatch(place, pattern)):
            raise DataError(
                f"'{output}' is read, or lies among what is read: '{source}'. Name another file."
            )


def output_to(path: Path, suffixes: Sequence[str]) -> Output:
    """Return where to write, or raise an error if nothing can be written there.

    Parameters
    ----------
    path : Path
        ``-`` is standard output, in the format of the first suffix; and ``svg:-`` in another.
    suffixes : sequence of str
    """
    stream = is_stream(path)
    name = suffix_of(path, suffixes[0]) if stream else path.name.lower()
    fitting = [suffix for suffix in suffixes if name.endswith(suffix)]
    if not fitting:
        among = "one of " if len(suffixes) > 1 else ""
        raise FileFormatError(f"{str(path)!r}: the suffix must be {among}{quoted(suffixes)}.")
    suffix = max(fitting, key=len)
    if stream and suffix.endswith(_BINARY) and sys.stdout.isatty():
        raise DataError(f"Standard output is a terminal, which cannot show {suffix}; name a file.")
    if not stream and not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {str(path.parent)!r}.")
    if not stream and path.is_dir():
        raise FileFormatError(f"'{path}' is a folder; name a file to write.")
    return Output(path, suffix)


def rows_to(path: Path | None) -> Output | None:
    """Return where to write a table; None for standard output, as text."""
    return None if path is None or str(path) == "-" else output_to(path, reading.WRITTEN)


def put_rows(columns: dict[str, Any], output: Output | None, done: str) -> None:
    """Write columns to a file and say what is `done`, or print them if there is no file."""
    if output is None:
        shown = reading.rounded(columns, _PLACES) if sys.stdout.isatty() else columns
        with LINE.hidden():
            reading.print_table(shown, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    with output.file() as file:
        reading.write_table(columns, file)
    output.done(f"{done}; written to {{}}")


def put(
    text: Callable[[], str], output: Output | None, write: Callable[[Path], Any], done: str
) -> None:
    """Write a file and say what is `done`, or print a text if there is no file."""
    if output is None:
        say(text())
        return
    with output.file() as file:
        write(file)
    output.done(done)


def model_to(path: Path, others: Sequence[str] = ()) -> Output:
    """Return where to write a model in any format, or what has one of the other suffixes.

    Raises
    ------
    FileFormatError
        If the suffix is unknown, or its format is only read.
    """
    found = suffix_of(path, NATIVE[0]) if is_stream(path) else path.name.lower()
    if found.endswith(tuple(others)):
        return output_to(path, others)
    if bg.files.format_of(f"model{found}" if is_stream(path) else path).format is None:
        raise FileFormatError(f"{path}: this format is read but not written; use another suffix.")
    return output_to(path, tuple(bg.files.FORMATS))
