"""Standard input and output in the place of files: ``-``, or with a format as in ``bif:-``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bayesgraph.cli.progress import LINE
from bayesgraph.errors import BayesGraphError, DataError

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
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"standard input{suffix_of(path, default)}"
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
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"standard output{suffix}"
        yield file
        with LINE.hidden():
            sys.stdout.buffer.write(file.read_bytes())
            sys.stdout.buffer.flush()
