"""Every error and warning that bayesgraph raises.

Each error subclasses :class:`BayesGraphError` and the builtin that a caller would catch, so both
``except bg.errors.BayesGraphError`` and ``except ValueError`` work. A message names the expected
value, the value that arrived and a remedy.
"""

from __future__ import annotations

import difflib
import importlib
import sys
import warnings
from collections.abc import Callable, Collection, Iterable
from itertools import islice
from typing import Any

# -------------------------------------------------- Every error and warning that bayesgraph raises


# Finding the nearest name takes the product of lengths: words that are longer, and names after the
# first ones, are not compared.
_COMPARED_CHARACTERS = 100
_COMPARED_NAMES = 5000
# Longer names are cut in messages.
_SHOWN_CHARACTERS = 200

# Packages whose stack frames lie between the user's code and the place of a warning.
_BETWEEN = ("bayesgraph", "sklearn", "joblib", "functools")


class BayesGraphError(Exception):
    """Base of every error raised by bayesgraph."""


class GraphError(BayesGraphError, ValueError):
    """A graph that does not fit its use, such as one with a cycle."""


class NotIdentifiableError(BayesGraphError, ValueError):
    """An interventional distribution that the observed variables do not determine.

    Attributes
    ----------
    hedge : tuple of two tuples of names
        The sets of variables that prove it (Shpitser and Pearl 2006): both are connected by
        unobserved common causes, and the second is the part of the first that is not set.
    """

    def __init__(self, message: str, hedge: tuple[tuple[object, ...], tuple[object, ...]]) -> None:
        super().__init__(message, hedge)
        self.hedge = hedge

    def __str__(self) -> str:
        return str(self.args[0])


class CPDError(BayesGraphError, ValueError):
    """A conditional distribution with a wrong shape, a wrong number or an unsuitable parent."""


class ModelError(BayesGraphError, ValueError):
    """Conditional distributions or factors that do not fit together in one model."""


class UnsupportedModelError(BayesGraphError, NotImplementedError):
    """A query or an operation that the model does not support."""


class EvidenceError(BayesGraphError, ValueError):
    """Evidence that does not fit the model: a wrong state, a wrong type, a bad likelihood."""


class ImpossibleEvidenceError(EvidenceError):
    """Evidence to which the model gives probability zero."""


class DataError(BayesGraphError, ValueError):
    """A table that cannot be used: no rows, infinite values, a label that is missing."""


class UnavailableError(DataError, AttributeError):
    """An attribute or a method that a model of this kind or with these settings does not have.

    `hasattr` and `dir` take it for a missing attribute, as scikit-learn does for methods.
    """


class DataTypeError(BayesGraphError, TypeError):
    """A column or an argument whose type cannot be used."""


class FileFormatError(BayesGraphError, ValueError):
    """A file that is truncated, altered, of a newer version or not of the expected format."""


class LossyExportError(BayesGraphError, ValueError):
    """A model that a file format or a library cannot represent without loss."""


class MemoryLimitError(BayesGraphError, MemoryError):
    """A computation refused because its tables would not fit in memory."""


class RenderError(BayesGraphError, RuntimeError):
    """A plot that Graphviz could not draw; the message quotes Graphviz."""


class MissingDependencyError(BayesGraphError, ImportError):
    """An optional dependency that is not installed; the message names the extra to install."""


class UnknownVariableError(BayesGraphError, KeyError):
    """A variable name that the model does not have."""

    def __str__(self) -> str:
        # KeyError would show the repr of the message, quotes and escapes included.
        return str(self.args[0]) if self.args else ""


class UnknownStateError(EvidenceError, KeyError):
    """A value that is not a state of its variable."""

    __str__ = UnknownVariableError.__str__


class BayesGraphWarning(UserWarning):
    """Base of every warning given by bayesgraph."""


class EmptyColumnsWarning(BayesGraphWarning):
    """All cells of a column are missing in a table to predict, and the model learns from that."""


class ImpossibleEvidenceWarning(BayesGraphWarning):
    """Rows of a batch have probability zero; their posterior is replaced by the prior."""


class ExtrapolationWarning(BayesGraphWarning):
    """Numbers are so far outside of what a model expects that its answer is a guess."""


class FewRowsWarning(BayesGraphWarning):
    """A distribution or a posterior rests on fewer rows than it asks for."""


class NotConvergedWarning(BayesGraphWarning):
    """An iteration stopped before it had converged."""


class SuspiciousColumnsWarning(BayesGraphWarning):
    """Columns of a training table that look wrong; the message names them and what to do."""


class UnseenStatesWarning(BayesGraphWarning):
    """Rows to predict have values that the model never saw, which are taken as missing."""


class LossyExportWarning(BayesGraphWarning):
    """An export is incomplete; the message lists the omissions."""


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that names the user's line which called bayesgraph or scikit-learn."""
    # Level 1 is the line of `warnings.warn` here, level 2 that of the caller.
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, level)


def quoted(values: Iterable[object], *, maximum: int = 8) -> str:
    """Return values as text: the `repr` of at most `maximum` of them, and how many more."""
    items = list(values)
    shown = ", ".join(_cut(spelt(item)) for item in items[:maximum])
    return shown if len(items) <= maximum else f"{shown} and {len(items) - maximum} more"


def spelt(value: object, text_of: Callable[[object], str] = repr) -> str:
    """Return the `repr` of a value, or other text; Python refuses that of very long numbers."""
    try:
        return text_of(value)
    except ValueError:
        return f"{type(value).__name__} of too many digits"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def suggestion(wrong: object, names: Iterable[object]) -> str:
    """Return `` Did you mean 'x'?`` for the nearest known name, or an empty string.

    Examples
    --------
    >>> suggestion("smokr", ["smoker", "age"])
    " Did you mean 'smoker'?"
    """
    by_text = {spelt(item, str): item for item in names}
    text = spelt(wrong, str)
    if text in by_text:
        return f" Did you mean {by_text[text]!r}?"
    if len(text) > _COMPARED_CHARACTERS:
        return ""
    short = ((t.lower(), item) for t, item in by_text.items() if len(t) <= _COMPARED_CHARACTERS)
    lowered = dict(islice(short, _COMPARED_NAMES))
    near = difflib.get_close_matches(text.lower(), lowered, n=1)
    return f" Did you mean {lowered[near[0]]!r}?" if near else ""


def unknown_variable(name: object, names: Iterable[object], *, where: str) -> UnknownVariableError:
    """Return the error for a name that is not among the known names of variables.

    `where` begins the message: a description of the model or the table that lacks the name.
    """
    names = list(names)
    near = suggestion(name, names) or f" It has {quoted(names)}."
    parts = [part.strip() for part in spelt(name, str).split(",")]
    if len(parts) > 1 and {*parts} <= {*map(str, names)}:
        near = " These are several names; give each by itself."
    return UnknownVariableError(f"{where} has no variable {spelt(name)}.{near}")


def check_known(names: Iterable[object], expected: Collection[object], *, where: str) -> None:
    """Raise the error of `unknown_variable` for the first of some names that is not expected."""
    for name in names:
        if name not in expected:
            raise unknown_variable(name, expected, where=where)


def cause(error: Exception) -> str:
    """Return an exception as one line."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        text = "there is not enough memory"
    return f"{type(error).__name__}: {text:.200}" if text else type(error).__name__


# ----------------- Imports of optional dependencies, with an error that names the extra to install


def optional_module(name: str, *, extra: str | None = None, what: str) -> Any:
    """Import and return a module of an optional dependency.

    Parameters
    ----------
    name : str
        Name of the module.
    extra : str, optional
        Extra of bayesgraph that installs the dependency, as in ``bayesgraph[extra]``; None for what
        an installation without dependencies lacks.
    what : str
        The feature that needs the module, for the error message.

    Raises
    ------
    MissingDependencyError
        If it is not installed; the message names the extra to install.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        wanted = "bayesgraph" if extra is None else f"'bayesgraph[{extra}]'"
        raise MissingDependencyError(
            f"{what} needs the package {name.partition('.')[0]!r}, which is not installed. "
            f"Install it with: pip install {wanted}"
        ) from error
