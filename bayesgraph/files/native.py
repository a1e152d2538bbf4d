"""The native format: every name, state and number exactly, in a zip of JSON and NumPy arrays.

See `bayesgraph.files.archive` for the container. Each file holds a model of one *kind*. A kind has
an encoder, from model to JSON and arrays, and a decoder. Its module is imported when a file of that
kind is read, or when a model to write is of none of the kinds listed before.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.classifiers import Columns, Layout, encoded_chunks, joined, known_table, n_rows_of
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import (
    BayesGraphError,
    FileFormatError,
    LossyExportError,
    MissingDependencyError,
    cause,
    quoted,
)
from bayesgraph.core.files import Budget, LossReport
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.files.archive import (
    ArrayReader,
    ArrayWriter,
    archive_bytes,
    decode_value,
    read_archive,
    without_repeats,
)
from bayesgraph.files.formats import AnySpelling, Capabilities, FileFormat
from bayesgraph.files.payloads import MODELS, STORED, Kind, variable_at
from bayesgraph.models import Model
from bayesgraph.tables import columns_of, plain_columns

# ------ The native format: every name, state and number exactly, in a zip of JSON and NumPy arrays


# From kind to "module:name" of its payloads.Kind.
KINDS: dict[str, str] = {
    "network": "bayesgraph.files.payloads:NETWORK",
    "factor_graph": "bayesgraph.files.payloads:FACTOR_GRAPH",
    "classifier": "bayesgraph.files.classifier_payload:CLASSIFIER",
    "tree_regressor": "bayesgraph.files.classifier_payload:REGRESSOR",
    "mixture": "bayesgraph.files.payloads:MIXTURE",
    "weighted network": "bayesgraph.files.payloads:WEIGHTED",
    "average": "bayesgraph.files.payloads:AVERAGE",
    "stream": "bayesgraph.files.classifier_payload:STREAM",
    "collected statistics": "bayesgraph.files.classifier_payload:COLLECTED",
}
# Kinds whose files `read_saved` reads otherwise, by "module:name" of the decoder.
SAVED: dict[str, str] = {"classifier": "bayesgraph.files.native:decode_saved"}


def _kind(name: str) -> Kind:
    kind: Kind = pkgutil.resolve_name(KINDS[name])
    return kind


def native_bytes(model: Any) -> bytes:
    """Return a model as the bytes of a native file, from which `parse` returns an equal model.

    Raises
    ------
    LossyExportError
        If the model, a CPD, a name or a state is of a type that the format does not hold.
    """
    name = next((name for name in KINDS if _kind(name).holds(model)), None)
    if name is None:
        raise LossyExportError(
            f"The native format does not hold {type(model).__name__}; it holds {quoted(KINDS)}."
        )
    arrays = ArrayWriter()
    try:
        return archive_bytes(name, _kind(name).encode(model, arrays), arrays)
    except RecursionError as error:
        raise LossyExportError(
            f"{model!r} has a name or a state of tuples nested too deep for a file."
        ) from error


def formatted(model: Any) -> tuple[bytes, LossReport]:
    """Return the bytes of a model or fitted estimator, and an empty report: nothing is lost.

    Examples
    --------
    >>> import tempfile, bayesgraph as bg
    >>> net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("wet", [False, True]), [0.9, 0.1])])
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     report = net.save(f"{directory}/net.bayesgraph")
    ...     bg.load(f"{directory}/net.bayesgraph") == net
    True
    """
    return native_bytes(model), LossReport("the native format")


def parse(data: bytes, budget: Budget) -> Any:
    """Return the model in the bytes of a native file.

    Nothing in the file is executed: it is safe to read a file that came from elsewhere.

    Raises
    ------
    FileFormatError
        If the file is not of this format, truncated, altered, of a newer bayesgraph, or beyond the
        limit.
    """
    return decoded(data, budget)


def parse_saved(data: bytes, budget: Budget) -> Any:
    """Read a file as `parse` does, but a classifier without its estimator.

    The result is then a `SavedClassifier`. Parameters and statistics of the estimator are neither
    read nor checked.
    """
    return decoded(data, budget, SAVED)


def decoded(data: bytes, budget: Budget, decoders: Mapping[str, str] | None = None) -> Any:
    """Return the model in the bytes of a native file, within the budget of the file around it.

    Some kinds may have other decoders, by "module:name".
    """
    name, payload, arrays = read_archive(data, budget)
    source = budget.source
    if name not in KINDS:
        raise FileFormatError(
            f"{source} holds a model of the kind {name!r}, which this bayesgraph does not know (it "
            f"knows {quoted(KINDS)}); upgrade bayesgraph."
        )
    other = (decoders or {}).get(name)
    decode = pkgutil.resolve_name(other) if other else _kind(name).decode
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
FORMAT = FileFormat("the native format", parse, formatted, HELD, parse_saved, holds_estimators=True)


# ---------- Fitted classifiers of native files without the estimator: network, columns and classes
# These answer questions and predict. The estimator, which learns too, is an object of scikit-learn,
# whose import takes longer than most answers.


# The estimator that does not leave all of its predictions to the network.
_PREDICTS_OTHERWISE = "DiscriminantAnalysisClassifier"
# Types of parameters, and the length of a line, that scikit-learn shows as `repr` does.
_PLAIN = (str, int, float, type(None))
_LINE = 75


@dataclass(frozen=True, eq=False)
class SavedClassifier:
    """What a file has of a fitted estimator besides its parameters and statistics.

    Attributes
    ----------
    network_, target_, features_, layout_
        As of the estimator.
    classes_ : ndarray or None
        None if the target is no class.
    text : str or None
        What `repr` of the estimator returns; None if only the estimator itself can tell.
    predicts : bool
        Whether `_counted_rows` returns what the estimator would; else it must not be called.
    unseen : str
        The estimator's parameter of that name.
    """

    network_: Model
    target_: Variable
    features_: tuple[Variable, ...]
    layout_: Layout
    classes_: NDArray[Any] | None
    text: str | None
    predicts: bool
    unseen: str

    def _counted_rows(
        self, X: Any, finish: Callable[[Floats], NDArray[Any]]
    ) -> tuple[NDArray[Any], int]:
        """Return results for the rows of a frame with the known columns; see `rows.joined`."""
        return joined(self._scored_chunks(X), finish)

    def _scored_chunks(self, X: Any) -> Iterator[tuple[slice, int, Floats, int]]:
        assert isinstance(self.target_, Discrete)
        columns = columns_of(plain_columns(X))
        found = Columns(tuple(columns), n_rows_of(columns), columns, None)
        encode = partial(known_table, layout=self.layout_, variables=self.features_)
        for rows, n_rows, table in encoded_chunks(found, self.unseen, encode):
            yield rows, n_rows, *self.network_.rows_with_prior(self.target_, table.evidence())


def decode_saved(item: Mapping[str, Any], arrays: ArrayReader) -> SavedClassifier:
    """Return what the JSON of a fitted estimator says of its network, columns and classes.

    Raises
    ------
    ValueError
        If the class and the features are no different variables, or the classes no labels.
    """
    network = MODELS[item["model"]].decode(item["network"], arrays)
    variables = network.variables
    target = variable_at(variables, item["target"])
    features = tuple(variable_at(variables, at) for at in item["features"])
    if len({target, *features}) <= len(features):
        raise ValueError("the class and the features are not different variables")
    layout = decode_layout(item["layout"])
    classes = None
    if "label_type" in item:
        if not isinstance(target, Discrete):
            raise ValueError(f"the class {target.name!r} is not discrete")
        classes = decode_labels(target.states, item["label_type"], arrays)
    name, given = item["estimator"], item["parameters"]
    return SavedClassifier(
        network,
        target,
        features,
        layout,
        classes,
        _text(name, given, item["changed"]),
        # The columns of a model that was fitted without names are compared otherwise.
        classes is not None and item["named"] is True and name != _PREDICTS_OTHERWISE,
        decode_value(given["unseen"]["value"]) if "unseen" in given else "missing",
    )


def _text(name: Any, parameters: Mapping[str, Any], changed: Any) -> str | None:
    """Return the text of an estimator, given the names of parameters that are not as by default.

    It is None if a parameter or the whole is longer than scikit-learn writes in a line.
    """
    if not all("value" in parameters[key] for key in changed):
        return None
    values = {key: decode_value(parameters[key]["value"]) for key in changed}
    if not all(isinstance(value, _PLAIN) for value in values.values()):
        return None
    text = f"{name}({', '.join(f'{key}={value!r}' for key, value in values.items())})"
    return text if len(text) <= _LINE else None


def decode_labels(states: Sequence[Any], label_type: Any, arrays: ArrayReader) -> NDArray[Any]:
    """Return classes as an array of a type that holds each of them as it is.

    Raises
    ------
    ValueError
        If the type is none that `encode` writes, or changes a label, as one of short texts would.
    """
    dtype = np.dtype(label_type)
    if dtype.str != label_type:
        raise ValueError(f"{label_type!r:.80} is not the type of labels")
    arrays.budget.take(dtype.itemsize * len(states), f"{len(states)} labels of the type {dtype}")
    labels = np.empty(len(states), dtype=dtype)
    labels[:] = states
    held = labels.tolist()
    if [(type(label), label) for label in held] != [(type(state), state) for state in states]:
        raise ValueError(f"labels of the type {label_type!r:.80} cannot be {list(states)!r:.80}")
    return labels


def decode_layout(layout: Any) -> Layout:
    """Return the layout of columns that an estimator's JSON has."""
    columns = without_repeats((decode_value(name), None) for name in layout["columns"])
    groups = ((name, tuple(map(decode_value, items))) for name, items in layout["groups"])
    return Layout(
        tuple(columns),
        without_repeats((decode_value(name), str(family)) for name, family in layout["families"]),
        without_repeats((decode_value(name), items) for name, items in groups),
        frozenset(decode_value(name) for name in layout["categorical"]),
    )
