"""Streaming classifiers in native files, with the complete state to continue the stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from bayesgraph.classifiers.stream_columns import StreamColumns
from bayesgraph.classifiers.streaming import StreamingNaiveBayesClassifier
from bayesgraph.classifiers.streaming_weighted import StreamingWeightedNaiveBayesClassifier
from bayesgraph.drift import ADWIN
from bayesgraph.errors import LossyExportError
from bayesgraph.io.archive import ArrayReader, ArrayWriter
from bayesgraph.io.classifier_payload import (
    check_parameters,
    decode_columns,
    decode_parameter,
    encode_estimator,
    encode_parameter,
)
from bayesgraph.io.json_values import decode_value, encode_value
from bayesgraph.io.payloads import Kind
from bayesgraph.io.saved_classifier import decode_labels
from bayesgraph.learning.streaming import StreamingStar, StreamSettings
from bayesgraph.statistics.sketches import SUMMARIES
from bayesgraph.statistics.sketches.frequent_values import key_of

CLASSES: dict[str, type[StreamingNaiveBayesClassifier]] = {
    kind.__name__: kind
    for kind in (StreamingNaiveBayesClassifier, StreamingWeightedNaiveBayesClassifier)
}
# Settings that are objects.
_OBJECTS = ("detector", "smoothing")


def _encode(model: StreamingNaiveBayesClassifier, arrays: ArrayWriter) -> dict[str, Any]:
    star, found = model.star_, model._columns
    detector = star.watch.detector
    if detector is not None and type(detector) is not ADWIN:
        raise LossyExportError(
            f"A file holds the state of bayesgraph's ADWIN, and not that of another drift detector "
            f"({type(detector).__name__}), without which the stream would go on differently. Take "
            "detector='adwin', or save network_, the model alone, which does not go on learning."
        )
    place = {name: i for i, name in enumerate(model.layout_.columns)}
    return {
        **encode_estimator(model),
        "classes": _encoded(model.target_name_, model.classes_.tolist()),
        "label_type": model.classes_.dtype.str,
        "target": encode_value(model.target_name_, "name of the class"),
        "open": model._is_open,
        "numbers": [place[name] for name in found.numbers],
        "states": [place[name] for name in found.states],
        "vocabularies": [
            _encoded(name, (state for _, state in vocabulary))
            for name, vocabulary in zip(found.states, found.vocabularies, strict=True)
        ],
        # The current settings of the stream; the parameters may have been set since it began.
        "settings": asdict(star.settings)
        | {name: encode_parameter(name, getattr(star.settings, name)) for name in _OBJECTS},
        "summary": star.summaries.name,
        "version": model._version,
        "state": {name: arrays.add(_group(name), array) for name, array in star.arrays().items()},
    }


def _group(name: str) -> str:
    """Return the group that stores the array `name`; all tables of counts are in one group."""
    return "stream.table" if name.startswith("table_") else f"stream.{name}"


def _encoded(name: object, values: Iterable[Any]) -> list[Any]:
    return [encode_value(value, "value", name) for value in values]


def _decode(item: Any, arrays: ArrayReader) -> StreamingNaiveBayesClassifier:
    parameters = {name: decode_parameter(p) for name, p in item["parameters"].items()}
    model = CLASSES[item["estimator"]](**parameters)
    check_parameters(model)
    decode_columns(model, item)
    columns = model.layout_.columns
    if sorted(_places([*item["numbers"], *item["states"]])) != list(range(len(columns))):
        raise ValueError("each column has numbers or states; these do not")
    star = _star(item, arrays)
    model._columns = StreamColumns(
        [columns[at] for at in item["numbers"]],
        [columns[at] for at in item["states"]],
        [_vocabulary(states, star.settings.max_categories) for states in item["vocabularies"]],
    )
    model._is_open = item["open"] is True
    classes = [decode_value(value) for value in item["classes"]]
    model.classes_ = decode_labels(classes, item["label_type"], arrays)
    if len(set(classes)) < len(classes):
        raise ValueError(f"{classes!r:.80} are not the classes of a model")
    model.target_name_ = decode_value(item["target"])
    model._version = str(item["version"])
    model.star_ = star
    _check_fit(model)
    model._changed()
    return model


def _star(item: Mapping[str, Any], arrays: ArrayReader) -> StreamingStar:
    state = {name: arrays.take(reference) for name, reference in item["state"].items()}
    given = item["settings"]
    settings = StreamSettings(**given | {name: decode_parameter(given[name]) for name in _OBJECTS})
    return StreamingStar.from_arrays(state, SUMMARIES[item["summary"]], settings)


def _places(items: Any) -> list[int]:
    if not all(type(at) is int and at >= 0 for at in items):
        raise ValueError(f"expected the positions of columns; got {items!r:.80}")
    return list(items)


def _vocabulary(items: Any, max_exact: int) -> dict[Any, int]:
    states = [decode_value(value) for value in items]
    found = {
        (type(state), state): at if at < max_exact else key_of(state)
        for at, state in enumerate(states)
    }
    if len(found) < len(states):
        raise ValueError(f"a state is there twice in {states!r:.80}")
    return found


def _check_fit(model: StreamingNaiveBayesClassifier) -> None:
    """Raise an error if the stream's summaries do not match the model's columns and classes."""
    star = model.star_
    found = (star.n_classes, star.summaries.n_features, len(star.counts))
    if found != (len(model.classes_), len(model._columns.numbers), len(model._columns.states)):
        raise ValueError("the state is of other classes or columns")
    limit = star.settings.max_categories
    if star.settings.window is not None and any(
        len(v) > limit for v in model._columns.vocabularies
    ):
        raise ValueError("values that are not counted one by one have no window")
    sizes = np.diff(star.states.start).tolist()
    for j, vocabulary in zip(range(len(sizes)), model._columns.vocabularies, strict=True):
        counted = [] if star.is_sketched(j) else range(max(len(star.counts.tables[j]), sizes[j]))
        if not star.keys_in_use(j).union(counted) <= {-1, *vocabulary.values()}:
            raise ValueError("the state has codes without a value")


STREAM = Kind(lambda model: type(model) in CLASSES.values(), _encode, _decode)
