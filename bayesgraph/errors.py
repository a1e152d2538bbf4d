"""Every error and warning that bayesgraph raises.

Each error subclasses :class:`BayesGraphError` and the builtin that a caller would catch, so both
``except bg.errors.BayesGraphError`` and ``except ValueError`` work. A message names the expected
value, the value that arrived and a remedy.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable

# Packages whose lines call what the user called.
_BETWEEN = ("bayesgraph", "sklearn", "joblib")


class BayesGraphError(Exception):
    """Base of every error raised by bayesgraph."""


class GraphError(BayesGraphError, ValueError):
    """A graph that does not fit its use, such as one with a cycle."""


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

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class BayesGraphWarning(UserWarning):
    """Base of every warning given by bayesgraph."""


class ImpossibleEvidenceWarning(BayesGraphWarning):
    """Rows of a batch have probability zero; their posterior is replaced by the prior."""


class NotConvergedWarning(BayesGraphWarning):
    """An iteration stopped before it had converged."""


class SuspiciousColumnsWarning(BayesGraphWarning):
    """Columns of a training table that look wrong; the message names them and what to do."""


class LossyExportWarning(BayesGraphWarning):
    """An export is incomplete; the message lists the omissions."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called bayesgraph, however deep in it and scikit-learn this is."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, level)


def quoted(values: Iterable[object], *, maximum: int = 8) -> str:
    """Return values as a readable list that shows at most `maximum` of them."""
    items = list(values)
    shown = ", ".join(repr(item) for item in items[:maximum])
    return shown if len(items) <= maximum else f"{shown} and {len(items) - maximum} more"


def suggestion(wrong: object, known: Iterable[object]) -> str:
    """Return `` Did you mean 'x'?`` for the nearest known name, or an empty string.

    Examples
    --------
    >>> suggestion("smokr", ["smoker", "age"])
    " Did you mean 'smoker'?"
    """
    by_text = {str(item): item for item in known}
    lowered = {text.lower(): item for text, item in by_text.items()}
    text = str(wrong)
    if text in by_text:
        near = by_text[text]
    elif found := difflib.get_close_matches(text.lower(), lowered, n=1):
        near = lowered[found[0]]
    else:
        return ""
    return f" Did you mean {near!r}?"


def unknown_variable(name: object, known: Iterable[object], *, where: str) -> UnknownVariableError:
    """Return the error for a name that is not among the known names of variables.

    `where` names the model or the table at the start of the message.
    """
    names = list(known)
    near = suggestion(name, names) or f" It has {quoted(names)}."
    return UnknownVariableError(f"{where} has no variable {name!r}.{near}")
