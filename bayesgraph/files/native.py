"""The native format: every name, state and number exactly, in a zip of JSON and NumPy arrays.

See `bayesgraph.files.archive` for the container. Each file holds a model of one *kind*. A kind has
a record, see `payloads`. Its module is imported when a file of that kind is read, or when a model
to write is of none of the kinds listed before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
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
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.files.archive import archive_bytes, decode_value, read_archive
from bayesgraph.files.formats import AnySpelling, Capabilities, FileFormat
from bayesgraph.files.payloads import RECORDS, STORED, Reader, Writer, attributes, record
from bayesgraph.models import Model
from bayesgraph.tables import columns_of, plain_columns

# ------ The native format: every name, state and number exactly, in a zip of JSON and NumPy arrays


# From the tag of what a file holds to the module with its record.
KINDS: dict[str, str] = {
    **dict.fromkeys(
        ("network", "factor_graph", "weighted network", "ensemble"),
        "bayesgraph.files.payloads",
    ),
    **dict.fromkeys(
        ("estimator", "stream", "collected statistics"), "bayesgraph.files.classifier_payload"
    ),
    "temporal network": "bayesgraph.files.temporal",
}


def tag_of(model: Any) -> str:
    """Return the tag of the record that holds a model.

    Raises
    ------
    LossyExportError
        If there is none.
    """
    for tag, module in KINDS.items():
        import_module(module)
        if RECORDS[tag].holds(model):
            return tag
    raise LossyExportError(
        f"The native format does not hold {type(model).__name__}; it holds {quoted(KINDS)}."
    )


def native_bytes(model: Any) -> bytes:
    """Return a model as the bytes of a native file, from which `parse` returns an equal model.

    Raises
    ------
    LossyExportError
        If the model, a CPD, a name or a state is of a type that the format does not hold.
    """
    tag, writer = tag_of(model), Writer()
    try:
        return archive_bytes(tag, writer.model(model), writer.arrays)
    except RecursionError as error:
        raise LossyExportError(
            f"{type(model).__name__}: its parts are nested too deep for a file, such as averages "
            "of averages, or tuples of tuples in names and states."
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


def parse(data: bytes, budget: Budget, *, saved: bool = False) -> Any:
    """Return the model in the bytes of a native file, within the budget of the file around it.

    Nothing in the file is executed: it is safe to read a file that came from elsewhere. With
    `saved` a classifier is read without its estimator, whose parameters and statistics are neither
    read nor checked: the result is then a `SavedClassifier`.

    Raises
    ------
    FileFormatError
        If the file is not of this format, truncated, altered, of a newer bayesgraph, or beyond the
        limit.
    """
    tag, item, arrays = read_archive(data, budget)
    source = budget.source
    if tag not in KINDS:
        raise FileFormatError(
            f"{source} holds a model of the kind {tag!r}, which this bayesgraph does not know (it "
            f"knows {quoted(KINDS)}); upgrade bayesgraph."
        )
    try:
        reader = Reader(item, arrays)
        if saved and tag == "estimator" and item[tag].get("label_type") is not None:
            return decode_saved(reader, item[tag])
        import_module(KINDS[tag])
        return reader.made(tag, item[tag])
    except (FileFormatError, MissingDependencyError, Warning):
        raise
    except Exception as error:
        # As in read_archive: the checksum matches, but the content violates the format.
        text = str(error) if isinstance(error, (BayesGraphError, ValueError)) else cause(error)
        raise FileFormatError(
            f"{source} does not hold a valid model of the kind {tag!r}: {text}"
        ) from error


HELD = Capabilities(
    "the native format",
    names=AnySpelling("text, numbers, times, bytes and tuples of these"),
    states=AnySpelling("text, numbers, times, bytes and tuples of these"),
    families=tuple(STORED.values()),
    also=(
        *("mixed", "intervals", "exponents", "mixtures", "scores", "positions", "notes"),
        *("titles", "training"),
    ),
)
FORMAT = FileFormat("the native format", parse, formatted, HELD, holds_estimators=True)


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
        """Yield the scores of the classes for chunks of rows, as `joined` takes them.

        These are the rows of a chunk, the number of all rows, log P(class, row) up to a constant
        per row (shape (n_chunk_rows, n_classes)), and the number of impossible rows.
        """
        assert isinstance(self.target_, Discrete)
        columns = columns_of(plain_columns(X))
        # All rows as named columns, without a matrix.
        whole = Columns(tuple(columns), n_rows_of(columns), columns, None)
        encode = partial(known_table, layout=self.layout_, variables=self.features_)
        for rows, n_rows, table in encoded_chunks(whole, self.unseen, encode):
            yield rows, n_rows, *self.network_._rows_with_prior(self.target_, table.evidence())


def decode_saved(reader: Reader, item: Mapping[str, Any]) -> SavedClassifier:
    """Return what answers questions from the JSON of a fitted estimator, without the estimator."""
    network, target, features, layout = (
        reader.decode(item[name]) for name in ("network", "target", "features", "layout")
    )
    classes = saved(network, target, features, item["label_type"], reader.arrays.budget)
    # The codec stores a dict with texts as keys as ``{"fields": {...}}``.
    name, parameters = item["estimator"], item["parameters"]["fields"]
    return SavedClassifier(
        network,
        target,
        tuple(features),
        layout,
        classes,
        _text(name, parameters, item["changed"]),
        # The columns of a model that was fitted without names are compared otherwise.
        item["named"] is True and name != _PREDICTS_OTHERWISE,
        decode_value(parameters["unseen"]) if "unseen" in parameters else "missing",
    )


def saved(
    network: Any, target: Any, features: Sequence[Variable], label_type: Any, budget: Budget
) -> NDArray[Any] | None:
    """Return the labels of the classes of a fitted estimator; None if the target is no class.

    `label_type` is the NumPy type of the labels, such as ``"<U3"``; None for a regressor.

    Raises
    ------
    ValueError
        If the class and the features are no different variables of the network, or the classes no
        labels.
    """
    # A set has the class once, also if it is among the features.
    if not {target, *features} <= {*network.variables} or len({target, *features}) <= len(features):
        raise ValueError("the class and the features are not different variables")
    if label_type is None:
        return None
    if not isinstance(target, Discrete):
        raise ValueError(f"the class {target.name!r} is not discrete")
    return decode_labels(target.states, label_type, budget)


def _text(name: Any, parameters: Mapping[str, Any], changed: Any) -> str | None:
    """Return what `repr` of an estimator shows: its parameters that differ from their defaults.

    `parameters` are the stored ones by name, and `changed` has the names of those that differ. None
    if one is no plain value, or the text is longer than the line that scikit-learn fills.
    """
    try:
        values = {key: decode_value(parameters[key]) for key in changed}
    except ValueError:  # a list, a learner and the like are no plain values
        return None
    if not all(isinstance(value, _PLAIN) for value in values.values()):
        return None
    text = f"{name}({', '.join(f'{key}={value!r}' for key, value in values.items())})"
    return text if len(text) <= _LINE else None


def decode_labels(states: Sequence[Any], label_type: Any, budget: Budget) -> NDArray[Any]:
    """Return classes as an array of a type that holds each of them as it is.

    Raises
    ------
    ValueError
        If the type is none that `encode` writes, or changes a label, as one of short texts would.
    """
    dtype = np.dtype(label_type)
    # `dtype` takes many names of a type; files have the one with the order of bytes.
    if dtype.str != label_type:
        raise ValueError(f"{label_type!r:.80} is not the type of labels")
    budget.take(dtype.itemsize * len(states), f"{len(states)} labels of the type {dtype}")
    # An assignment may cut texts or round numbers, which a look at the result tells.
    labels = np.empty(len(states), dtype=dtype)
    labels[:] = states
    held = labels.tolist()
    if [(type(label), label) for label in held] != [(type(state), state) for state in states]:
        raise ValueError(f"labels of the type {label_type!r:.80} cannot be {list(states)!r:.80}")
    return labels


def _layout_fields(layout: Layout) -> dict[str, Any]:
    """Return the stored fields of a layout."""
    # A set in the order of the columns: the same layout gives the same bytes.
    return {
        **attributes(layout),
        "categorical": [*filter(layout.categorical.__contains__, layout.columns)],
    }


@record("Layout", Layout, _layout_fields)
def _layout(
    columns: tuple[Name, ...],
    families: dict[Name, str],
    groups: dict[Name, tuple[Name, ...]],
    categorical: list[Name],
) -> Layout:
    """Return a layout of its stored fields."""
    if len({*columns}) < len(columns):
        raise ValueError(f"a column is there twice in {columns!r:.80}")
    return Layout(columns, families, groups, frozenset(categorical))
