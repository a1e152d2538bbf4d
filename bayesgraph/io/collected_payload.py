"""Collected statistics in native files: parts that sites send to whoever adds them up."""

from __future__ import annotations

from copy import copy
from types import SimpleNamespace
from typing import Any

from bayesgraph.classifiers.collected import CollectedStatistics
from bayesgraph.classifiers.network_classifier import NetworkClassifier
from bayesgraph.io.archive import ArrayReader, ArrayWriter
from bayesgraph.io.classifier_payload import (
    check_parameters,
    decode_columns,
    decode_parameter,
    encode_estimator,
    estimator_class,
)
from bayesgraph.io.payloads import Kind
from bayesgraph.io.saved_classifier import decode_labels
from bayesgraph.io.statistics_payload import decode_statistics, encode_statistics
from bayesgraph.io.training_payload import decode_rows, encode_rows
from bayesgraph.io.variable_payload import decode_variable, encode_variable
from bayesgraph.variables import Discrete


def _encode(part: CollectedStatistics, arrays: ArrayWriter) -> dict[str, Any]:
    estimator = copy(part.estimator)
    estimator._set_columns(part.layout, named=part.named)
    variables = (*part.features, part.target)
    return {
        **encode_estimator(estimator),
        "variables": [encode_variable(variable) for variable in variables],
        "label_type": part.classes.dtype.str,
        "statistics": encode_statistics(part.statistics, variables, arrays),
        **({} if part.rows is None else {"rows": encode_rows(part.rows)}),
    }


def _decode(item: Any, arrays: ArrayReader) -> CollectedStatistics:
    name = item["estimator"]
    kind = estimator_class(name)
    if not issubclass(kind, NetworkClassifier):
        raise ValueError(f"{name!r:.80} has no statistics")
    estimator = kind(**{key: decode_parameter(p) for key, p in item["parameters"].items()})
    check_parameters(estimator)
    columns: Any = SimpleNamespace()
    decode_columns(columns, item)
    variables = [decode_variable(variable) for variable in item["variables"]]
    *features, target = variables
    if len(set(variables)) < len(variables) or not isinstance(target, Discrete):
        raise ValueError("the class and the features are not different variables")
    layout = columns.layout_
    inside = {name for group in layout.groups.values() for name in group}
    if {v.name for v in features} != {*layout.columns} - inside | layout.groups.keys():
        raise ValueError("the features are not those of the columns")
    statistics = decode_statistics(item["statistics"], variables, arrays)
    if not statistics.summaries:
        raise ValueError("there are no statistics")
    return CollectedStatistics(
        estimator,
        layout,
        tuple(features),
        target,
        decode_labels(target.states, item["label_type"], arrays),
        statistics,
        item["named"] is True,
        decode_rows(item["rows"]) if "rows" in item else None,
    )


COLLECTED = Kind(lambda model: isinstance(model, CollectedStatistics), _encode, _decode)
