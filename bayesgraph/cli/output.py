"""What commands print and where they write; paths are checked before the work begins."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import typer

import bayesgraph as bg
from bayesgraph.cli.progress import LINE
from bayesgraph.core.display import Report
from bayesgraph.core.errors import DataError, FileFormatError, LossyExportError, quoted
from bayesgraph.core.files import temporary_folder
from bayesgraph.models import texts
from bayesgraph.tables import reading

# -------- Standard input and output in the place of files: ``-``, or with a format as in ``bif:-``


# Standard input or output, in the format that is usual where it stands.
_STREAM = "-"


def is_stream(path: Path) -> bool:
    """Return whether a path stands for standard input or output."""
    return str(path) == _STREAM or str(path).endswith(f":{_STREAM}")


def suffix_of(path: Path, default: str) -> str:
    """Return the suffix of a stream's format: ``.bif`` of ``bif:-``, the default of ``-``."""
    name = str(path)[: -len(_STREAM)].removesuffix(":").lower()
    return f".{name.removeprefix('.')}" if name else default


def check_once(*paths: Path | None) -> None:
    """Raise an error if several files are to be read from standard input."""
    streams = [str(path) for path in paths if path is not None and is_stream(path)]
    if len(streams) > 1:
        raise DataError(f"Standard input is read once; got {' and '.join(streams)}.")


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
# Maximum length of a key in JSON, which is not to be abbreviated; and quantiles of a number.
_LONGEST, _QUANTILES = 10_000, (0.025, 0.25, 0.5, 0.75, 0.975)


def say(answer: Any, text: str | None = None, *, err: bool = False) -> None:
    """Print an answer as text, by default its `repr`, or with --json what it holds.

    On standard error it is text always. The line of progress is off the screen meanwhile.
    """
    if LINE.json and not err:
        text = json.dumps(as_json(answer))
    elif text is None:
        text = answer if isinstance(answer, str) else repr(answer)
    with LINE.hidden():
        typer.echo(text, err=err)


def as_json(value: Any) -> Any:
    """Return what a result holds as JSON has it; what is no number, text or collection as text."""
    if isinstance(value, Report):
        value = {"title": value.title, "summary": value.summary, "tables": value.tables()}
    # Arrow's columns, arrays and numbers of NumPy, and tuples with names.
    for form in ("to_pylist", "tolist", "_asdict"):
        value = getattr(value, form)() if hasattr(value, form) else value
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.name[0] != "_"]
        value = {name: getattr(value, name) for name in names}
    elif isinstance(value, bg.inference.NumberMixture) and len(value.variables) == 1:
        quantiles = {q: value.quantile(q) for q in _QUANTILES}
        value = {"mean": value.mean, "std": value.std, "quantiles": quantiles}
    if isinstance(value, Mapping):
        # `texts` makes different texts of all keys, which may be of any type.
        return dict(zip(texts(value, _LONGEST), map(as_json, value.values()), strict=True))
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    # JSON has no infinity and no NaN.
    is_number = isinstance(value, (int, float)) and math.isfinite(value)
    return value if is_number or value is None else str(value)


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

    def write(self, write: Callable[[Path], Any], done: str = "") -> Any:
        """Write a file by a function of its path, say what is `done`, and return the result.

        If standard output is meant, it gets what is in the file.
        """
        if not is_stream(self.path):
            result = write(self.path)
        else:
            with temporary_folder() as folder:
                file = folder / f"standard output{self.suffix}"
                result = write(file)
                with LINE.hidden():
                    sys.stdout.buffer.write(file.read_bytes())
                    sys.stdout.buffer.flush()
        if done:
            self.done(done)
        return result

    def done(self, text: str) -> None:
        """Say what was done; ``{}`` stands for the file."""
        if not LINE.quiet:
            stream = is_stream(self.path)
            where = "standard output" if stream else str(self.path)
            # Standard output has what was written, and nothing else.
            say(text.replace("{}", where), err=stream)

    def save(self, model: Any, *, lossy: bool = False) -> Any:
        """Save a model; `lossy` lets the writer change what its format cannot hold."""
        # Only some writers have the argument `strict`: those that refuse what they cannot hold.
        is_strict = bg.files.format_of(f"model{self.suffix}").is_strict
        options = {"strict": False} if lossy and is_strict else {}
        try:
            return self.write(partial(model.save, **options))
        except LossyExportError as error:
            raise LossyExportError(str(error).replace("strict=False", "--lossy")) from error


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
    # Several may fit, such as .gz and .bif.gz: the longest one counts.
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
    if output is not None:
        output.write(partial(reading.write_table, columns), f"{done}; written to {{}}")
    elif LINE.json:
        for row in zip(*map(as_json, columns.values()), strict=True):
            say(dict(zip(columns, row, strict=True)))
    else:
        shown = reading.rounded(columns, _PLACES) if sys.stdout.isatty() else columns
        with LINE.hidden():
            reading.print_table(shown, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def put(answer: Any, output: Output | None, write: Callable[[Path], Any], done: str) -> None:
    """Write a file and say what is `done`, or print an answer if there is no file."""
    if output is None:
        say(answer)
    else:
        output.write(write, done)


def model_to(path: Path, others: Sequence[str] = ()) -> Output:
    """Return where to write a model in any format, or what has one of the other suffixes.

    Raises
    ------
    FileFormatError
        If the suffix is unknown, or its format is only read.
    """
    name = f"model{suffix_of(path, NATIVE[0])}" if is_stream(path) else str(path)
    if name.lower().endswith(tuple(others)):
        return output_to(path, others)
    if bg.files.format_of(name).format is None:
        raise FileFormatError(f"{path}: this format is read but not written; use another suffix.")
    return output_to(path, tuple(bg.files.FORMATS))
