"""What native files say of bags: their parameters, their members and what these were drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesgraph.classifiers.bagging import BaggedNaiveBayesClassifier, Draw
from bayesgraph.errors import LossyExportError
from bayesgraph.io.archive import ArrayReader, ArrayWriter
from bayesgraph.io.classifier_payload import (
    CLASSES,
    CLASSIFIER,
    decode_parameter,
    encode_parameter,
)
from bayesgraph.io.payloads import Kind
from bayesgraph.io.values import decode_value, encode_value

_COUNTS = ("n_rows", "n_columns", "rows", "columns")


def _encode(model: BaggedNaiveBayesClassifier, arrays: ArrayWriter) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    base = parameters.pop("estimator")
    draw = model._draw
    return {
        "base": None if base is None else _encode_base(base),
        "parameters": _encode_parameters(parameters),
        "members": [CLASSIFIER.encode(member, arrays) for member in model.estimators_],
        "member_columns": [
            arrays.add("bag.columns", columns) for columns in model.estimators_features_
        ],
        "seeds": arrays.add("bag.seeds", model._seeds),
        "draw": {name: int(getattr(draw, name)) for name in _COUNTS},
        "bootstrap": bool(draw.bootstrap),
        "shares": None if draw.shares is None else arrays.add("bag.shares", draw.shares),
        "columns": [encode_value(name) for name in model._columns],
        "named": hasattr(model, "feature_names_in_"),
        "classes": [encode_value(label) for label in model.classes_.tolist()],
        "label_type": model.classes_.dtype.str,
        "unseen": None
        if not hasattr(model, "oob_score_")
        else {
            "score": encode_value(model.oob_score_),
            "posteriors": arrays.add("bag.posteriors", model.oob_decision_function_),
        },
    }


def _encode_base(base: Any) -> dict[str, Any]:
    name = type(base).__name__
    if CLASSES.get(name) is not type(base):
        raise LossyExportError(f"The native format does not hold bags of {name}.")
    return {"estimator": name, "parameters": _encode_parameters(base.get_params(deep=False))}


def _encode_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: encode_parameter(name, value) for name, value in parameters.items()}


def _decode_parameters(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: decode_parameter(value) for name, value in item.items()}


def _decode(item: Any, arrays: ArrayReader) -> BaggedNaiveBayesClassifier:
    base = item["base"]
    if base is not None:
        base = CLASSES[base["estimator"]](**_decode_parameters(base["parameters"]))
    model = BaggedNaiveBayesClassifier(base, **_decode_parameters(item["parameters"]))
    model.estimators_ = [CLASSIFIER.decode(member, arrays) for member in item["members"]]
    model.estimators_features_ = [arrays.take(columns) for columns in item["member_columns"]]
    if len(model.estimators_features_) != len(model.estimators_):
        raise ValueError("members and their columns differ in number")
    model._seeds = arrays.take(item["seeds"])
    shares = None if item["shares"] is None else arrays.take(item["shares"])
    counts = {name: int(item["draw"][name]) for name in _COUNTS}
    model._draw = Draw(**counts, bootstrap=bool(item["bootstrap"]), shares=shares)
    model._columns = tuple(decode_value(name) for name in item["columns"])
    model.n_features_in_ = len(model._columns)
    if item["named"]:
        model.feature_names_in_ = np.array(model._columns, dtype=object)
    model.classes_ = np.empty(len(item["classes"]), dtype=np.dtype(item["label_type"]))
    model.classes_[:] = [decode_value(label) for label in item["classes"]]
    if item["unseen"] is not None:
        model.oob_score_ = float(decode_value(item["unseen"]["score"]))
        model.oob_decision_function_ = arrays.take(item["unseen"]["posteriors"])
    return model


BAG = Kind(lambda model: type(model) is BaggedNaiveBayesClassifier, _encode, _decode)
