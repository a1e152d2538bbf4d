"""Files of models: the suffix of a path selects the format.

Each format has a module with its card, a frozen record of the format's name, reader and writer.
`FORMATS` maps suffixes to cards. A card is imported when a file of its suffix is first used, so
that the list itself imports no format.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lazy_loader

from bayesgraph.errors import DataTypeError, FileFormatError, quoted, suggestion
from bayesgraph.io.files import PathLike, no_such_file, path_text
from bayesgraph.loss_report import LossReport

if TYPE_CHECKING:
    from bayesgraph.io.capabilities import Capabilities
    from bayesgraph.io.predictions import predict_dataset

# Predicting imports what reads datasets, which loading a model does not need.
__getattr__, __dir__, _ = lazy_loader.attach(
    __name__, submod_attrs={"predictions": ["predict_dataset"]}
)


@dataclass(frozen=True)
class FileFormat:
    """The card (record) of a file format: its name, reader and writer.

    Attributes
    ----------
    name : str
        Name of the format in messages.
    read : callable or None
        Called with ``(path, **options)``; None for a format that is only written.
    write : callable or None
        Called with ``(model, path, **options)``; returns what is lost. None for a format that is
        only read.
    read_saved : callable or None
        Called with ``(path)``; reads fitted estimators faster than `read`, for answers only.
    holds_estimators : bool
        Whether `write` takes a fitted estimator; otherwise it gets the estimator's network.
    holds : Capabilities or None
        What the format can hold, where that is known.
    """

    name: str
    read: Callable[..., Any] | None
    write: Callable[..., LossReport] | None
    read_saved: Callable[..., Any] | None = None
    holds_estimators: bool = False
    holds: Capabilities | None = None

    @property
    def is_strict(self) -> bool:
        """Whether the writer refuses what the format cannot hold, unless ``strict=False``."""
        return self.write is not None and "strict" in inspect.signature(self.write).parameters


# From suffix to "module:name" of the card.
FORMATS: dict[str, str] = {
    ".bayesgraph": "bayesgraph.io.native:FORMAT",
    **dict.fromkeys((".bif", ".bif.gz"), "bayesgraph.io.bif:FORMAT"),
    **dict.fromkeys(
        (".xmlbif", ".xmlbif.gz", ".bifxml", ".bifxml.gz", ".xml"), "bayesgraph.io.xmlbif:FORMAT"
    ),
    **dict.fromkeys((".uai", ".uai.gz"), "bayesgraph.io.uai:FORMAT"),
    **dict.fromkeys((".xdsl", ".xdsl.gz"), "bayesgraph.io.xdsl:FORMAT"),
    ".json": "bayesgraph.io.gaussian_json:FORMAT",
    **dict.fromkeys((".rds", ".rda", ".rdata"), "bayesgraph.io.rds:FORMAT"),
    **dict.fromkeys((".net", ".net.gz", ".oobn"), "bayesgraph.io.net:FORMAT"),
    **dict.fromkeys((".dne", ".dne.gz", ".dnet"), "bayesgraph.io.dne:FORMAT"),
    ".html": "bayesgraph.explorer.reading:FORMAT",
}


def register_format(suffix: str, home: str) -> None:
    """Add a format for a suffix, or replace the format of the suffix.

    Parameters
    ----------
    suffix : str
        The suffix with its dot; it may have several parts, such as ``.bif.gz``.
    home : str
        ``"module:name"`` of a :class:`FileFormat`.

    Raises
    ------
    ValueError
        If the suffix does not start with a dot.
    """
    if not suffix.startswith("."):
        raise ValueError(f"A suffix starts with a dot, such as '.bif'; got {suffix!r}.")
    FORMATS[suffix.lower()] = home


def load(path: PathLike, **options: Any) -> Any:
    """Load a model or a fitted estimator from a file of the format that the suffix names.

    Nothing in a file is executed: it is safe to load a file that came from elsewhere.

    Parameters
    ----------
    path : str or path
        With a suffix that is in `bayesgraph.io.FORMATS`, such as ``.bayesgraph`` or ``.bif.gz``.
    **options
        Options of the format's reader, such as ``normalize=False``; see
        :func:`bayesgraph.io.bif.read_bif` and :func:`bayesgraph.io.uai.read_uai`.

    Returns
    -------
    model or estimator
        From ``.bayesgraph``, the native format: whatever was saved. From ``.bif``: a
        BayesianNetwork. From ``.uai``: a BayesianNetwork, or a FactorGraph if the file says
        ``MARKOV``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the suffix is unknown, its format cannot be read, or the file is damaged.
    DataTypeError
        For an option that the format does not have.
    """
    card, read = _reader_of(path)
    check_options(f"reading {card.name}", read, 1, options)
    return read(path, **options)


def load_saved(path: PathLike) -> Any:
    """Load a model as `load` does, but of a fitted classifier only what answers questions.

    Importing scikit-learn and the estimators takes longer than most answers. The result for a
    classifier is a :class:`bayesgraph.io.saved_classifier.SavedClassifier`.
    """
    card, read = _reader_of(path)
    return (card.read_saved or read)(path)


def save(model: Any, path: PathLike, **options: Any) -> LossReport:
    """Save a model or a fitted estimator to a file of the format that the suffix names.

    This is the method `save` of models and estimators. The file is replaced as a whole or not at
    all, and the same model gives the same bytes.

    Parameters
    ----------
    model : model or fitted estimator
        ``.bayesgraph``, the native format, holds estimators; the other formats hold only the
        network of an estimator.
    path : str or path
        With a suffix that is in `bayesgraph.io.FORMATS`, such as ``.bayesgraph`` or ``.bif.gz``.
    **options
        Options of the format's writer, such as ``strict=False``; see
        :func:`bayesgraph.io.bif.write_bif` and :func:`bayesgraph.io.uai.write_uai`.

    Returns
    -------
    LossReport
        What other programs read in another form, and what is lost; false if there is nothing.

    Raises
    ------
    FileFormatError
        If the suffix is unknown, or its format cannot be written.
    DataTypeError
        For an option that the format does not have.
    LossyExportError
        If the format cannot hold the model; the message lists what it cannot hold.
    FileNotFoundError
        If there is no such directory.
    """
    card = format_of(path)
    if card.write is None:
        raise FileFormatError(f"{path_text(path)}: {card.name} can be read but not written.")
    check_options(f"writing {card.name}", card.write, 2, options)
    return card.write(
        model if card.holds_estimators else getattr(model, "network_", model), path, **options
    )


def check_options(name: str, function: Callable[..., Any], first: int, given: Any) -> None:
    """Refuse what is not among the parameters of a reader or writer, from the first option on.

    A function that takes any option checks for itself.
    """
    parameters = list(inspect.signature(function).parameters.values())[first:]
    known = [parameter.name for parameter in parameters]
    wrong = [option for option in given if option not in known]
    if wrong and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        has = f"which has {quoted(known)}" if known else "which has none"
        raise DataTypeError(
            f"{quoted(wrong)} is no option of {name}, {has}.{suggestion(wrong[0], known)}"
        )


def format_of(path: PathLike, *, read: bool = False) -> FileFormat:
    """Return the card of the format that the suffix of a path names.

    Raises
    ------
    FileFormatError
        If the suffix is unknown; the message suggests the nearest one.
    FileNotFoundError
        With `read`, if it is like no known one and there is no such file.
    """
    name = path_text(path).lower()
    # The longest suffix first: .bif.gz before a .gz that a user may register.
    for suffix in sorted(FORMATS, key=len, reverse=True):
        if name.endswith(suffix):
            return _card(suffix)
    near = suggestion("." + name.rpartition(".")[2], FORMATS)
    if read and not near and not Path(path).exists():
        raise no_such_file(path_text(path))
    raise FileFormatError(
        f"{path_text(path)}: the suffix names the format, and this one is not known."
        f"{near} Known are {quoted(FORMATS)}; pictures are drawn by render."
    )


def _reader_of(path: PathLike) -> tuple[FileFormat, Callable[..., Any]]:
    """Return the card of a path's format, and its reader; an error if there is none."""
    card = format_of(path, read=True)
    if card.read is None:
        raise FileFormatError(f"{path_text(path)}: {card.name} can be written but not read.")
    return card, card.read


def _card(suffix: str) -> FileFormat:
    card: FileFormat = pkgutil.resolve_name(FORMATS[suffix])
    return card


__all__ = [
    "FORMATS",
    "FileFormat",
    "format_of",
    "load",
    "predict_dataset",
    "register_format",
    "save",
]
