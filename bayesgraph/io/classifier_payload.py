"""Fitted classifiers in native files: parameters, class, network and statistics."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from bayesgraph import classifiers
from bayesgraph.classifiers.decision_trees import DecisionTreeNetworkRegressor
from bayesgraph.classifiers.discretizers import DISCRETIZERS
from bayesgraph.classifiers.feature_layout import Layout
from bayesgraph.classifiers.graph_classifier import GraphClassifier
from bayesgraph.classifiers.model_queries import ModelQuestions
from bayesgraph.classifiers.network_classifier import NetworkClassifier
from bayesgraph.classifiers.streaming import StreamingNaiveBayesClassifier
from bayesgraph.drift import ADWIN
from bayesgraph.encoding.unseen import check_unseen
from bayesgraph.errors import LossyExportError
from bayesgraph.io.archive import ArrayReader, ArrayWriter, without_repeats
from bayesgraph.io.json_values import decode_value, encode_value
from bayesgraph.io.models_payload import MODELS
from bayesgraph.io.payloads import Kind, variable_at
from bayesgraph.io.saved_classifier import decode_layout, decode_saved
from bayesgraph.io.statistics_payload import decode_statistics, encode_statistics
from bayesgraph.learning import Smoothing
from bayesgraph.learning.loglinear import Candidate, Choice
from bayesgraph.learning.structure import LEARNERS, card_of
from bayesgraph.statistics.sketches import SUMMARIES
from bayesgraph.variables import Continuous, Discrete, Variable

# Classes of bayesgraph whose objects may be parameters, by kind and name.
_OBJECTS: dict[str, Mapping[str, Any]] = {
    "discretizer": DISCRETIZERS,
    "detector": {"adwin": ADWIN},
    "smoothing": {"Smoothing": Smoothing},
}
# Numbers of a choice that are saved unless they are what they are if nothing was compared.
_SHARES = {
    "tree_share": 0.0,
    "tree_exponent": 1.0,
    "loss": math.inf,
    "impurity": 0.0,
}


def _encode(model: Any, arrays: ArrayWriter) -> dict[str, Any]:
    variables = model.network_.variables
    at = {variable: i for i, variable in enumerate(variables)}
    kind = next(name for name, kind in MODELS.items() if kind.holds(model.network_))
    item: dict[str, Any] = {
        **encode_estimator(model),
        "changed": _changed(model),
        "model": kind,
        "network": MODELS[kind].encode(model.network_, arrays),
        "target": at[model.target_],
        "features": [at[variable] for variable in model.features_],
        "numbers": {},
        "arrays": {},
        "variables": {},
    }
    if hasattr(model, "classes_"):
        item["label_type"] = model.classes_.dtype.str
    for name in model._fitted:
        value = getattr(model, name, None)
        if isinstance(value, Choice):
            item["choice"] = _encode_choice(value)
        elif isinstance(value, Variable):
            item["variables"][name] = at[value]
        elif isinstance(value, np.ndarray):
            item["arrays"][name] = arrays.add(name, value)
        elif value is not None:
            item["numbers"][name] = encode_value(value)
    if hasattr(model, "statistics_"):
        item["statistics"] = encode_statistics(model.statistics_, variables, arrays)
    return item


def _changed(model: Any) -> list[str]:
    """Return the parameters that are not as by default: those that `repr` shows, in its order."""
    known = inspect.signature(type(model)).parameters
    given = model.get_params(deep=False)
    return [name for name in sorted(given) if repr(given[name]) != repr(known[name].default)]


def _encode_choice(choice: Choice) -> dict[str, Any]:
    """Return as JSON the penalties tried in training, their weights and held-out losses."""
    tried = dict.fromkeys((*choice.losses, *choice.shares))
    rows = [
        [c.structure, c.single, c.paired, choice.shares.get(c), choice.losses.get(c)] for c in tried
    ]
    shares = {n: getattr(choice, n) for n, none in _SHARES.items() if getattr(choice, n) != none}
    return {"structure": choice.structure, "candidates": rows, **shares}


def _decode_choice(item: Any) -> Choice:
    weights: dict[Candidate, float] = {}
    losses: dict[Candidate, float] = {}
    for structure, single, paired, share, loss in item["candidates"]:
        candidate = Candidate(structure, float(single), float(paired))
        for found, number in ((weights, share), (losses, loss)):
            if number is not None:
                found[candidate] = float(number)
    shares = {name: float(item.get(name, none)) for name, none in _SHARES.items()}
    return Choice(str(item["structure"]), weights, losses, **shares)


def _decode(item: Any, arrays: ArrayReader) -> Any:
    parameters = {name: decode_parameter(p) for name, p in item["parameters"].items()}
    model = _estimator(item["estimator"], parameters)
    saved = decode_saved(item, arrays)
    model.network_, model.target_, model.features_ = saved.network_, saved.target_, saved.features_
    variables, target = model.network_.variables, model.target_
    _set_columns(model, saved.layout_, item["named"])
    if saved.classes_ is not None:
        model.classes_ = saved.classes_
    found: dict[str, Any] = {
        **{name: _number(value) for name, value in item["numbers"].items()},
        **{name: arrays.take(value) for name, value in item["arrays"].items()},
        **{name: variable_at(variables, at) for name, at in item["variables"].items()},
    }
    if "choice" in item:
        found["choice_"] = _decode_choice(item["choice"])
    for name in model._fitted:
        if name in found:
            setattr(model, name, found[name])
    if isinstance(model, DecisionTreeNetworkRegressor) and not (
        isinstance(target, Continuous) and isinstance(model.leaf_, Discrete)
    ):
        raise ValueError(f"{target.name!r} and {model.leaf_.name!r} are no number and its leaf")
    if "statistics" in item:
        model.statistics_ = decode_statistics(item["statistics"], variables, arrays)
    return model


def _number(item: Any) -> int | float:
    found = decode_value(item)
    if isinstance(found, (int, float)):
        return found
    raise ValueError(f"expected a number; got {found!r:.80}")


def estimator_class(name: str) -> type[Any]:
    """Return the class of estimators of a name; raise a ValueError if there is none."""
    kind = getattr(classifiers, name, None)
    is_base = kind in (GraphClassifier, NetworkClassifier)
    if is_base or not (isinstance(kind, type) and issubclass(kind, ModelQuestions)):
        raise ValueError(f"there is no estimator {name!r:.80}")
    return kind


def _estimator(name: str, parameters: dict[str, Any]) -> Any:
    """Return an unfitted estimator, given the name of its class and its parameters."""
    model = estimator_class(name)(**parameters)
    check_parameters(model)
    return model


def check_parameters(model: Any) -> None:
    """Raise the error of `fit` if parameters of an estimator are not valid."""
    for check in ("_smoothing", "_settings", "_discretizer"):
        getattr(model, check, lambda: None)()
    check_unseen(getattr(model, "unseen", "missing"))


def encode_estimator(model: Any) -> dict[str, Any]:
    """Return an estimator's class, parameters and column layout as JSON."""
    check_parameters(model)
    parameters = model.get_params(deep=False).items()
    return {
        "estimator": type(model).__name__,
        "parameters": {name: encode_parameter(name, value) for name, value in parameters},
        "named": hasattr(model, "feature_names_in_"),
        "layout": _encode_layout(model.layout_),
    }


def decode_columns(model: Any, item: Mapping[str, Any]) -> None:
    """Set the column attributes of a new estimator from the result of `encode_estimator`."""
    _set_columns(model, decode_layout(item["layout"]), item["named"])


def _set_columns(model: Any, layout: Layout, named: Any) -> None:
    model.layout_ = layout
    model.n_features_in_ = len(layout.columns)
    if named:
        model.feature_names_in_ = np.array(layout.columns, dtype=object)


def _encode_layout(layout: Layout) -> dict[str, Any]:
    return {
        "columns": [encode_value(name) for name in layout.columns],
        "families": [[encode_value(name), family] for name, family in layout.families.items()],
        "groups": [
            [encode_value(name), [encode_value(item) for item in items]]
            for name, items in layout.groups.items()
        ],
        "categorical": [encode_value(n) for n in layout.columns if n in layout.categorical],
    }


def encode_parameter(name: str, value: Any) -> Any:
    """Return an argument of a constructor as JSON, which keeps lists, tuples and learners distinct.

    `name` is the name of the parameter, for messages.
    """
    # The parameter `summary` takes a class and its name alike.
    value = next((key for key, kind in SUMMARIES.items() if kind is value), value)
    if found := card_of(value):
        learner, given = found
        options = {key: encode_parameter(key, v) for key, v in given.items()}
        return {"learner": learner, "options": options}
    if kind := next((k for k, known in _OBJECTS.items() if type(value) in known.values()), None):
        options = {key: encode_parameter(key, v) for key, v in value.get_params().items()}
        return {kind: _key(_OBJECTS[kind], type(value)), "options": options}
    if isinstance(value, nx.DiGraph):
        nodes = encode_parameter(name, list(value.nodes))
        return {"nodes": nodes, "arcs": encode_parameter(name, list(value.edges))}
    if isinstance(value, Mapping):
        pairs = [[encode_parameter(name, k), encode_parameter(name, v)] for k, v in value.items()]
        return {"mapping": pairs}
    if isinstance(value, np.ndarray):
        return {"list": [encode_parameter(name, item) for item in value.tolist()]}
    if isinstance(value, (set, frozenset)):
        # A set has no order; sorting gives the same bytes for the same model.
        return {"set": [encode_parameter(name, item) for item in sorted(value, key=repr)]}
    if isinstance(value, list):
        return {"list": [encode_parameter(name, item) for item in value]}
    try:
        return {"value": encode_value(value, "value", f"{name}=")}
    except LossyExportError as error:
        raise LossyExportError(
            f"{error} Lists, graphs and the library's own learners, discretizers and smoothing are "
            "held too. To keep the fitted model alone, save its network_."
        ) from None


def _decode_options(item: Any) -> dict[str, Any]:
    return {key: decode_parameter(value) for key, value in item["options"].items()}


def _key(registry: Mapping[str, Any], value: Any) -> str:
    return next(name for name, item in registry.items() if item is value)


def decode_parameter(item: Any) -> Any:
    """Return the argument that `encode_parameter` encoded."""
    if "learner" in item:
        options = _decode_options(item)
        learner = LEARNERS[item["learner"]].learn
        return partial(learner, **options) if options else learner
    if kind := next((k for k in _OBJECTS if k in item), None):
        return _OBJECTS[kind][item[kind]](**_decode_options(item))
    if "nodes" in item:
        graph: nx.DiGraph = nx.DiGraph()
        graph.add_nodes_from(decode_parameter(item["nodes"]))
        graph.add_edges_from(decode_parameter(item["arcs"]))
        return graph
    if "mapping" in item:
        return without_repeats(
            (decode_parameter(k), decode_parameter(v)) for k, v in item["mapping"]
        )
    if "set" in item:
        return set(without_repeats((decode_parameter(value), None) for value in item["set"]))
    if "list" in item:
        return [decode_parameter(value) for value in item["list"]]
    return decode_value(item["value"])


def _holds(model: Any) -> bool:
    """Return whether a model is of an estimator class of bayesgraph that is not streaming."""
    kind = type(model)
    ours = getattr(classifiers, kind.__name__, None) is kind and issubclass(kind, ModelQuestions)
    return ours and not isinstance(model, StreamingNaiveBayesClassifier)


CLASSIFIER = Kind(lambda model: _holds(model) and hasattr(model, "classes_"), _encode, _decode)
REGRESSOR = Kind(_holds, _encode, _decode)
