"""What a model was fitted on, in native files: JSON without a value of the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bayesgraph.io.archive import ArrayReader, ArrayWriter, without_repeats
from bayesgraph.io.json_values import decode_value, encode_value
from bayesgraph.models.model import Model
from bayesgraph.models.training import Training, TrainingRows

Encode = Callable[[Any, ArrayWriter], dict[str, Any]]
Decode = Callable[[Any, ArrayReader], Any]


def with_training(encode: Encode, decode: Decode) -> tuple[Encode, Decode]:
    """Return the encoder and the decoder of a kind of models that keep what they were fitted on."""

    def encoded(model: Model, arrays: ArrayWriter) -> dict[str, Any]:
        item = encode(model, arrays)
        if model.training is not None:
            item["training"] = encode_training(model.training)
        return item

    def decoded(item: Mapping[str, Any], arrays: ArrayReader) -> Any:
        model = decode(item, arrays)
        if "training" in item:  # networks made by hand have none
            model.training = decode_training(item["training"])
        return model

    return encoded, decoded


def encode_training(training: Training) -> dict[str, Any]:
    """Return as JSON what a model was fitted on."""
    item: dict[str, Any] = {
        "method": training.method,
        "columns": training.n_columns,
        "settings": dict(training.settings),
        "version": training.version,
    }
    if training.rows is not None:
        item["rows"] = encode_rows(training.rows)
    return item


def decode_training(item: Any) -> Training:
    """Return what `encode_training` encoded."""
    return Training(
        item["method"],
        item["columns"],
        decode_rows(item["rows"]) if "rows" in item else None,
        item["settings"],
        item["version"],
    )


def encode_rows(rows: TrainingRows) -> dict[str, Any]:
    """Return numbers of rows and of missing values as JSON."""
    missing = [[encode_value(name), n] for name, n in rows.missing.items()]
    return {"n": rows.n_rows, "missing": missing, "weight": rows.weight}


def decode_rows(item: Any) -> TrainingRows:
    """Return what `encode_rows` encoded."""
    missing = without_repeats((decode_value(name), n) for name, n in item["missing"])
    return TrainingRows(item["n"], missing, item["weight"])
