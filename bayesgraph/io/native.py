"""The native format: every name, state and number exactly, in a zip of JSON and NumPy arrays.

See `bayesgraph.io.archive` for the container. Each file holds a model of one *kind*. A kind has an
encoder, from model to JSON and arrays, and a decoder. Its module is imported when a file of that
kind is read, or when a model to write is of none of the kinds listed before.
"""

from __future__ import annotations

import contextlib
import io
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

from bayesgraph.errors import (
    BayesGraphError,
    FileFormatError,
    LossyExportError,
    MissingDependencyError,
    cause,
    quoted,
)
from bayesgraph.io import FileFormat
from bayesgraph.io.archive import ArrayReader, ArrayWriter, read_archive, write_archive
from bayesgraph.io.budget import Budget, reading
from bayesgraph.io.capabilities import AnySpelling, Capabilities
from bayesgraph.io.files import PathLike, path_text, read_bytes, replacing
from bayesgraph.io.payloads import STORED, Kind
from bayesgraph.loss_report import LossReport

# From kind to "module:name" of its payloads.Kind.
KINDS: dict[str, str] = {
    "network": "bayesgraph.io.payloads:NETWORK",
    "factor_graph": "bayesgraph.io.payloads:FACTOR_GRAPH",
    "classifier": "bayesgraph.io.classifier_payload:CLASSIFIER",
    "tree_regressor": "bayesgraph.io.classifier_payload:REGRESSOR",
    "mixture": "bayesgraph.io.models_payload:MIXTURE",
    "weighted network": "bayesgraph.io.models_payload:WEIGHTED",
    "average": "bayesgraph.io.models_payload:AVERAGE",
    "stream": "bayesgraph.io.stream_payload:STREAM",
    "collected statistics": "bayesgraph.io.collected_payload:COLLECTED",
}
# Kinds whose files `read_saved` reads otherwise, by "module:name" of the decoder.
SAVED: dict[str, str] = {"classifier": "bayesgraph.io.saved_classifier:decode_saved"}


def _kind(name: str) -> Kind:
    kind: Kind = pkgutil.resolve_name(KINDS[name])
    return kind


def write_native(model: Any, path: PathLike) -> LossReport:
    """Write a model to a file, from which `read_native` returns an equal model.

    Parameters
    ----------
    model : model or fitted estimator
    path : str or path

    Returns
    -------
    LossReport
        An empty one: nothing is lost.

    Raises
    ------
    LossyExportError
        If the model, a CPD, a name or a state is of a type that the format does not hold.
    FileNotFoundError
        If there is no such directory.

    Examples
    --------
    >>> import tempfile, bayesgraph as bg
    >>> net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("wet", [False, True]), [0.9, 0.1])])
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     report = net.save(f"{directory}/net.bayesgraph")
    ...     bg.load(f"{directory}/net.bayesgraph") == net
    True
    """
    with _encoded(model) as content, replacing(path) as stream:
        write_archive(stream, *content)
    return LossReport("the native format")


def native_bytes(model: Any) -> bytes:
    """Return what `write_native` writes, for files that hold a native one.

    Raises
    ------
    LossyExportError
        As `write_native`.
    """
    with _encoded(model) as content, io.BytesIO() as stream:
        write_archive(stream, *content)
        return stream.getvalue()


@contextlib.contextmanager
def _encoded(model: Any) -> Iterator[tuple[str, dict[str, Any], ArrayWriter]]:
    """Yield the kind, the payload and the arrays of a model, to be written within."""
    name = next((name for name in KINDS if _kind(name).holds(model)), None)
    if name is None:
        raise LossyExportError(
            f"The native format does not hold {type(model).__name__}; it holds {quoted(KINDS)}."
        )
    arrays = ArrayWriter()
    try:
        yield name, _kind(name).encode(model, arrays), arrays
    except RecursionError as error:
        raise LossyExportError(
            f"{model!r} has a name or a state of tuples nested too deep for a file."
        ) from error


def read_native(path: PathLike, *, limit: int | None = None) -> Any:
    """Read a file that `write_native` wrote.

    Nothing in the file is executed: it is safe to read a file that came from elsewhere.

    Parameters
    ----------
    path : str or path
    limit : int, optional
        Bytes that reading the file may allocate; by default 64 MB and 40 times the file's bytes,
        which every file that was saved needs less than.

    Returns
    -------
    model or estimator
        The model that was written.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the file is not of this format, truncated, altered, of a newer bayesgraph, or beyond the
        limit.
    """
    return _read(path, limit, {})


def read_saved(path: PathLike) -> Any:
    """Read a file as `read_native` does, but a classifier without its estimator.

    The result is then a `saved_classifier.SavedClassifier`. Parameters and statistics of the
    estimator are neither read nor checked.
    """
    return _read(path, None, SAVED)


def _read(path: PathLike, limit: int | None, decoders: Mapping[str, str]) -> Any:
    source = path_text(path)
    with reading(source, "the native format"):
        data = read_bytes(path)
        return decoded(data, Budget(source, len(data), limit), decoders)


def decoded(data: bytes, budget: Budget, decoders: Mapping[str, str]) -> Any:
    """Return the model in the bytes of a native file, within the budget of the file around it."""
    return _decoded(*read_archive(data, budget), decoders)


def _decoded(name: str, payload: Any, arrays: ArrayReader, decoders: Mapping[str, str]) -> Any:
    source = arrays.budget.source
    if name not in KINDS:
        raise FileFormatError(
            f"{source} holds a model of the kind {name!r}, which this bayesgraph does not know (it "
            f"knows {quoted(KINDS)}); upgrade bayesgraph."
        )
    decode = pkgutil.resolve_name(decoders[name]) if name in decoders else _kind(name).decode
    try:
        return decode(payload, arrays)
    except (FileFormatError, MissingDependencyError, Warning):
        raise
    except Exception as error:
        # As in read_archive: the checksum matches, but the content violates the format.
        text = str(error) if isinstance(error, (BayesGraphError, ValueError)) else cause(error)
        raise FileFormatError(
            f"{source} does not hold a valid model of the kind {name!r}: {text}"
        ) from error


HELD = Capabilities(
    "the native format",
    names=AnySpelling("text, numbers, times, bytes and tuples of these"),
    states=AnySpelling("text, numbers, times, bytes and tuples of these"),
    families=tuple(STORED.values()),
    mixed=True,
    intervals=True,
    exponents=True,
    mixtures=True,
    scores=True,
    positions=True,
    notes=True,
    titles=True,
    training=True,
    restores=False,
)
FORMAT = FileFormat(
    "the native format", read_native, write_native, read_saved, holds_estimators=True, holds=HELD
)
