"""The native format: every name, state and number exactly, in a zip of JSON and NumPy arrays.

See `bayesgraph.io.archive` for the container. What a file holds is its *kind*, and a kind is one
entry of a table: how such a model becomes JSON and arrays, and how it comes back. The module of a
kind is imported when a file of that kind is read, or when a model is none of the kinds before it.
"""

from __future__ import annotations

import pkgutil
from typing import Any

from bayesgraph.errors import BayesGraphError, FileFormatError, LossyExportError, quoted
from bayesgraph.io import FORMATS
from bayesgraph.io.archive import INVALID, ArrayWriter, read_archive, write_archive
from bayesgraph.io.files import PathLike, path_text, read_bytes, replacing
from bayesgraph.io.payloads import Kind

# From kind to "module:name" of its payloads.Kind.
KINDS: dict[str, str] = {
    "network": "bayesgraph.io.payloads:NETWORK",
    "factor_graph": "bayesgraph.io.payloads:FACTOR_GRAPH",
    "classifier": "bayesgraph.io.classifier_payload:CLASSIFIER",
    "tree_regressor": "bayesgraph.io.classifier_payload:REGRESSOR",
    "mixture": "bayesgraph.io.mixture_payload:MIXTURE",
    "weighted network": "bayesgraph.io.weighted_payload:WEIGHTED",
    "average": "bayesgraph.io.average_payload:AVERAGE",
    "stream": "bayesgraph.io.stream_payload:STREAM",
}
# Kinds that are read no more, and the last version that reads them.
REMOVED: dict[str, str] = {"bag": "0.1.0"}


def register_kind(name: str, home: str) -> None:
    """Add a kind of model that files hold.

    Parameters
    ----------
    name : str
        Written into the files; it must stay the same for good.
    home : str
        ``"module:name"`` of a :class:`bayesgraph.io.payloads.Kind`.

    Raises
    ------
    ValueError
        If the name has another home already.
    """
    if KINDS.setdefault(name, home) != home:
        raise ValueError(f"The kind {name!r} is at {KINDS[name]} already; got {home}.")


FOREIGN = (
    ".bif", ".bif.gz", ".uai", ".uai.gz", ".dot", ".gv", ".svg", ".png", ".pdf", ".pkl", ".pickle",
    ".joblib", ".json", ".csv",
)  # fmt: skip


def _kind(name: str) -> Kind:
    kind: Kind = pkgutil.resolve_name(KINDS[name])
    return kind


def save(model: Any, path: PathLike) -> None:
    """Save a model so that `load` gives back the same.

    The same model gives the same bytes. The file is replaced as a whole or not at all.

    Parameters
    ----------
    model : BayesianNetwork, FactorGraph, WeightedNetwork, NetworkMixture, PosteriorAverage or a
        fitted estimator
    path : str or path
        Usually ending in ``.bayesgraph``.

    Raises
    ------
    LossyExportError
        For a model, a CPD, a name or a state of a type that the format does not hold.
    FileNotFoundError
        If there is no such directory.

    Examples
    --------
    >>> import tempfile, bayesgraph as bg
    >>> net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("wet", [False, True]), [0.9, 0.1])])
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     save(net, f"{directory}/net.bayesgraph")
    ...     load(f"{directory}/net.bayesgraph") == net
    True
    """
    _check_suffix(path)
    for name in KINDS:
        kind = _kind(name)
        if kind.holds(model):
            break
    else:
        raise LossyExportError(
            f"The native format does not hold {type(model).__name__}; it holds {quoted(KINDS)}."
        )
    arrays = ArrayWriter()
    try:
        payload = kind.encode(model, arrays)
        with replacing(path) as stream:
            write_archive(stream, name, payload, arrays)
    except RecursionError as error:
        raise LossyExportError(
            f"{model!r} has a name or a state of tuples nested too deep for a file."
        ) from error


def _check_suffix(path: PathLike) -> None:
    """Refuse a name that says another format, under which the file would not be read again."""
    text = path_text(path)
    for suffix in FOREIGN:
        if text.lower().endswith(suffix):
            hint = f"; for {suffix} use write" if suffix in FORMATS else ""
            raise FileFormatError(
                f"{text}: save writes the native format, whose files end in .bayesgraph{hint}."
            )


def load(path: PathLike) -> Any:
    """Load what `save` saved.

    Nothing in the file is executed: it is safe to load a file that came from elsewhere.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    BayesianNetwork, FactorGraph, NetworkMixture or classifier
        Whatever was saved.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        For a file that is not of this format, truncated, altered, or of a newer bayesgraph.
    """
    source = path_text(path)
    name, payload, arrays = read_archive(read_bytes(path), source)
    if name in REMOVED:
        raise FileFormatError(
            f"{source} holds a model of the kind {name!r}; bayesgraph {REMOVED[name]} was the last "
            "version that reads it."
        )
    if name not in KINDS:
        raise FileFormatError(
            f"{source} holds a model of the kind {name!r}, which this bayesgraph does not know (it "
            f"knows {quoted(KINDS)}); upgrade bayesgraph."
        )
    kind = _kind(name)
    try:
        return kind.decode(payload, arrays)
    except (BayesGraphError, *INVALID) as error:
        # As in read_archive: the checksum is right, but the content is not as the format says.
        raise FileFormatError(
            f"{source} does not hold a valid model of the kind {name!r}: {error}"
        ) from error
