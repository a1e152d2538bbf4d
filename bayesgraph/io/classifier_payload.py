"""What native files say of fitted classifiers: parameters, class, network and statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from bayesgraph import classifiers
from bayesgraph.classifiers.discretizers import DISCRETIZERS
from bayesgraph.classifiers.layout import Layout
from bayesgraph.classifiers.learners import LEARNERS
from bayesgraph.classifiers.prediction import GraphClassifier
from bayesgraph.classifiers.trees import DecisionTreeNetworkRegressor
from bayesgraph.drift import DETECTORS
from bayesgraph.errors import LossyExportError
from bayesgraph.io.archive import ArrayReader, ArrayWriter
from bayesgraph.io.mixture_payload import MIXTURE
from bayesgraph.io.payloads import FACTOR_GRAPH, NETWORK, Kind
from bayesgraph.io.statistics_payload import decode_statistics, encode_statistics
from bayesgraph.io.values import HELD, UnsupportedTypeError, decode_value, encode_value
from bayesgraph.io.weighted_payload import WEIGHTED
from bayesgraph.learning.loglinear import Candidate, Choice
from bayesgraph.variables import Continuous, Discrete, Variable

CLASSES: dict[str, type[GraphClassifier]] = {
    name: getattr(classifiers, name)
    for name in (
        "AODEClassifier",
        "AveragedTANClassifier",
        "BayesianNetworkClassifier",
        "ComplementNaiveBayesClassifier",
        "DecisionTreeNetworkClassifier",
        "DiscriminantAnalysisClassifier",
        "KDBClassifier",
        "LinearDiscriminantClassifier",
        "NaiveBayesClassifier",
        "QuadraticDiscriminantClassifier",
        "SelectiveKDBClassifier",
        "TANClassifier",
        "WeightedNaiveBayesClassifier",
    )
}
# Objects of our own that are parameters.
_OBJECTS: dict[str, Mapping[str, Any]] = {"discretizer": DISCRETIZERS, "detector": DETECTORS}
# Those whose model is a factor graph.
_FACTOR_GRAPHS = ("ComplementNaiveBayesClassifier",)
_MODELS: dict[str, Kind] = {
    "network": NETWORK,
    "factor graph": FACTOR_GRAPH,
    "mixture": MIXTURE,
    "weighted network": WEIGHTED,
}
# What some estimators have besides.
_NUMBERS = ("ccp_alpha_", "n_iter_")
_ARRAYS = ("edge_probabilities_",)


def _encode(model: GraphClassifier, arrays: ArrayWriter) -> dict[str, Any]:
    at = {variable: i for i, variable in enumerate(model.network_.variables)}
    return {
        "estimator": type(model).__name__,
        "parameters": {
            name: encode_parameter(name, value)
            for name, value in model.get_params(deep=False).items()
        },
        "model": _model_kind(model.network_),
        "network": _MODELS[_model_kind(model.network_)].encode(model.network_, arrays),
        "target": at[model.target_],
        "features": [at[variable] for variable in model.features_],
        "label_type": model.classes_.dtype.str,
        "named": hasattr(model, "feature_names_in_"),
        "layout": encode_layout(model.layout_),
        "numbers": _encode_numbers(model),
        "arrays": {
            name: arrays.add(name, getattr(model, name)) for name in _ARRAYS if hasattr(model, name)
        },
        **_encode_choice(model),
        **_encode_statistics(model, arrays),
    }


def _encode_choice(model: Any) -> dict[str, Any]:
    """Return what was tried where tables were trained to predict."""
    if not hasattr(model, "choice_"):
        return {}
    choice = model.choice_
    tried = dict.fromkeys((*choice.losses, *choice.shares))
    rows = [
        [c.structure, c.single, c.paired, choice.shares.get(c), choice.losses.get(c)] for c in tried
    ]
    return {"choice": {"structure": choice.structure, "candidates": rows}}


def _decode_choice(item: Any) -> Choice:
    rows = [(Candidate(s, float(a), float(b)), x, y) for s, a, b, x, y in item["candidates"]]
    shares = {candidate: float(share) for candidate, share, _ in rows if share is not None}
    losses = {candidate: float(loss) for candidate, _, loss in rows if loss is not None}
    return Choice(str(item["structure"]), shares, losses)


def _encode_statistics(model: Any, arrays: ArrayWriter) -> dict[str, Any]:
    if not hasattr(model, "statistics_"):
        return {}
    variables = model.network_.variables
    return {"statistics": encode_statistics(model.statistics_, variables, arrays)}


def _model_kind(model: Any) -> str:
    return next(name for name, kind in _MODELS.items() if kind.holds(model))


def _encode_numbers(model: Any) -> dict[str, Any]:
    return {name: encode_value(getattr(model, name)) for name in _NUMBERS if hasattr(model, name)}


def _decode_numbers(model: Any, numbers: Any) -> None:
    for name in _NUMBERS:
        if name in numbers:
            setattr(model, name, decode_value(numbers[name]))


def _decode(item: Any, arrays: ArrayReader) -> GraphClassifier:
    parameters = {name: decode_parameter(p) for name, p in item["parameters"].items()}
    model = CLASSES[item["estimator"]](**parameters)
    # Files of earlier versions do not say: there only one estimator had no network.
    earlier = "factor graph" if item["estimator"] in _FACTOR_GRAPHS else "network"
    model.network_ = _MODELS[item.get("model", earlier)].decode(item["network"], arrays)
    variables = model.network_.variables
    target = variables[item["target"]]
    if not isinstance(target, Discrete):
        raise ValueError(f"the class {target.name!r} is not discrete")
    model.target_ = target
    model.features_ = tuple(variables[at] for at in item["features"])
    model.layout_ = decode_layout(item, model.features_)
    model.n_features_in_ = len(model.layout_.columns)
    dtype = np.dtype(item["label_type"])
    model.classes_ = np.empty(target.cardinality, dtype=dtype)
    model.classes_[:] = target.states
    if item["named"]:
        model.feature_names_in_ = np.array(model.layout_.columns, dtype=object)
    _decode_numbers(model, item.get("numbers", {}))
    if "choice" in item:
        model.choice_ = _decode_choice(item["choice"])
    for name, reference in item.get("arrays", {}).items():
        if name in _ARRAYS:
            setattr(model, name, arrays.take(reference))
    if "statistics" in item:  # files of earlier versions have none
        model.statistics_ = decode_statistics(item["statistics"], variables, arrays)
    return model


def _encode_regressor(model: DecisionTreeNetworkRegressor, arrays: ArrayWriter) -> dict[str, Any]:
    at = {variable: i for i, variable in enumerate(model.network_.variables)}
    return {
        "parameters": {
            name: encode_parameter(name, value)
            for name, value in model.get_params(deep=False).items()
        },
        "network": NETWORK.encode(model.network_, arrays),
        "target": at[model.target_],
        "leaf": at[model.leaf_],
        "layout": encode_layout(model.layout_),
        "features": [at[variable] for variable in model.features_],
        "named": hasattr(model, "feature_names_in_"),
        "numbers": _encode_numbers(model),
    }


def _decode_regressor(item: Any, arrays: ArrayReader) -> DecisionTreeNetworkRegressor:
    parameters = {name: decode_parameter(p) for name, p in item["parameters"].items()}
    model = DecisionTreeNetworkRegressor(**parameters)
    model.network_ = NETWORK.decode(item["network"], arrays)
    variables = model.network_.variables
    target, leaf = variables[item["target"]], variables[item["leaf"]]
    if not (isinstance(target, Continuous) and isinstance(leaf, Discrete)):
        raise ValueError(f"{target.name!r} and {leaf.name!r} are no number and its leaf")
    model.target_, model.leaf_ = target, leaf
    model.features_ = tuple(variables[at] for at in item["features"])
    model.layout_ = decode_layout(item, model.features_)
    model.n_features_in_ = len(model.layout_.columns)
    if item["named"]:
        model.feature_names_in_ = np.array(model.layout_.columns, dtype=object)
    _decode_numbers(model, item["numbers"])
    return model


def encode_layout(layout: Layout) -> dict[str, Any]:
    """Return a layout as JSON."""
    return {
        "columns": [encode_value(name) for name in layout.columns],
        "families": [[encode_value(name), family] for name, family in layout.families.items()],
        "groups": [
            [encode_value(name), [encode_value(item) for item in items]]
            for name, items in layout.groups.items()
        ],
        "categorical": [encode_value(n) for n in layout.columns if n in layout.categorical],
    }


def decode_layout(item: Any, features: Sequence[Variable]) -> Layout:
    """Return the layout of a file's item; that of its features for files that have none."""
    if "layout" not in item:  # files of versions that had one column for each feature
        return Layout(tuple(v.name for v in features))
    layout = item["layout"]
    return Layout(
        tuple(decode_value(name) for name in layout["columns"]),
        {decode_value(name): str(family) for name, family in layout["families"]},
        {
            decode_value(name): tuple(decode_value(item) for item in items)
            for name, items in layout["groups"]
        },
        frozenset(decode_value(name) for name in layout["categorical"]),
    )


def encode_parameter(name: str, value: Any) -> Any:
    """Return a constructor's argument as JSON that tells lists, tuples and learners apart."""
    if isinstance(value, partial) and value.func in LEARNERS.values() and not value.args:
        learner = _key(LEARNERS, value.func)
        options = {key: encode_parameter(key, v) for key, v in value.keywords.items()}
        return {"learner": learner, "options": options}
    if callable(value) and value in LEARNERS.values():
        return {"learner": _key(LEARNERS, value), "options": {}}
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
        # A set has no order, and files of the same model are the same.
        return {"set": [encode_parameter(name, item) for item in sorted(value, key=repr)]}
    if isinstance(value, list):
        return {"list": [encode_parameter(name, item) for item in value]}
    try:
        return {"value": encode_value(value)}
    except UnsupportedTypeError as error:
        raise LossyExportError(
            f"The parameter {name}={value!r} {error}: the native format cannot hold it. It holds "
            f"{HELD}, lists, graphs and bayesgraph's own learners; save clf.network_ instead to "
            "keep the fitted model alone."
        ) from error


def _decode_options(item: Any) -> dict[str, Any]:
    return {key: decode_parameter(value) for key, value in item["options"].items()}


def _key(registry: Mapping[str, Any], value: Any) -> str:
    return next(name for name, item in registry.items() if item is value)


def decode_parameter(item: Any) -> Any:
    """Return the argument that `encode_parameter` encoded."""
    if "learner" in item:
        options = _decode_options(item)
        learner = LEARNERS[item["learner"]]
        return partial(learner, **options) if options else learner
    if kind := next((k for k in _OBJECTS if k in item), None):
        return _OBJECTS[kind][item[kind]](**_decode_options(item))
    if "nodes" in item:
        graph: nx.DiGraph = nx.DiGraph()
        graph.add_nodes_from(decode_parameter(item["nodes"]))
        graph.add_edges_from(decode_parameter(item["arcs"]))
        return graph
    if "mapping" in item:
        return {decode_parameter(key): decode_parameter(v) for key, v in item["mapping"]}
    if "set" in item:
        return {decode_parameter(value) for value in item["set"]}
    if "list" in item:
        return [decode_parameter(value) for value in item["list"]]
    return decode_value(item["value"])


CLASSIFIER = Kind(lambda model: type(model) in CLASSES.values(), _encode, _decode)
REGRESSOR = Kind(
    lambda model: type(model) is DecisionTreeNetworkRegressor, _encode_regressor, _decode_regressor
)
