"""Fitted classifiers in native files: parameters, class, network and statistics."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import asdict
from functools import partial
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np

from bayesgraph import classifiers
from bayesgraph.classifiers import (
    DISCRETIZERS,
    CollectedStatistics,
    DecisionTreeNetworkRegressor,
    GraphClassifier,
    Layout,
    ModelQuestions,
    NetworkClassifier,
    StreamColumns,
    StreamingNaiveBayesClassifier,
    StreamingWeightedNaiveBayesClassifier,
)
from bayesgraph.core.errors import LossyExportError
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.files.archive import (
    ArrayReader,
    ArrayWriter,
    decode_value,
    decode_variable,
    encode_value,
    encode_variable,
    without_repeats,
)
from bayesgraph.files.native import decode_labels, decode_layout, decode_saved
from bayesgraph.files.payloads import MODELS, Kind, decode_rows, encode_rows, variable_at
from bayesgraph.files.statistics_payload import decode_statistics, encode_statistics
from bayesgraph.learning import (
    ADWIN,
    LEARNERS,
    Candidate,
    Choice,
    StreamingStar,
    StreamSettings,
    card_of,
)
from bayesgraph.statistics import SUMMARIES, Smoothing, key_of
from bayesgraph.tables import check_unseen

# ------------------- Fitted classifiers in native files: parameters, class, network and statistics


# Classes of bayesgraph whose objects may be parameters, by kind and name.
_OBJECTS: dict[str, Mapping[str, Any]] = {
    "discretizer": DISCRETIZERS,
    "detector": {"adwin": ADWIN},
    "smoothing": {"Smoothing": Smoothing},
}
# Numbers of a choice that are saved unless they are what they are if nothing was compared.
_SHARES: dict[str, Any] = {
    "tree_share": 0.0,
    "tree_exponent": 1.0,
    "joint_share": 0.0,
    "loss": math.inf,
    "impurity": 0.0,
    "n_trees": 0,
    "leaf_weight": 1.0,
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
            # As JSON the penalties tried in training, their weights and held-out losses.
            tried = dict.fromkeys((*value.losses, *value.shares))
            rows = [
                [
                    *(c.structure, c.single, c.paired, value.shares.get(c), value.losses.get(c)),
                    *([True] if c.around else []),
                ]
                for c in tried
            ]
            shares = {
                n: getattr(value, n) for n, none in _SHARES.items() if getattr(value, n) != none
            }
            item["choice"] = {"structure": value.structure, "candidates": rows, **shares}
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


def _decode_choice(item: Any) -> Choice:
    weights: dict[Candidate, float] = {}
    losses: dict[Candidate, float] = {}
    for structure, single, paired, share, loss, *around in item["candidates"]:
        candidate = Candidate(structure, float(single), float(paired), bool(around))
        for found, number in ((weights, share), (losses, loss)):
            if number is not None:
                found[candidate] = float(number)
    shares = {name: type(none)(item.get(name, none)) for name, none in _SHARES.items()}
    return Choice(str(item["structure"]), weights, losses, **shares)


def _decode(item: Any, arrays: ArrayReader) -> Any:
    parameters = {name: decode_parameter(p) for name, p in item["parameters"].items()}
    # An unfitted estimator, given the name of its class and its parameters.
    model = estimator_class(item["estimator"])(**parameters)
    check_parameters(model)
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


# ------------- Collected statistics in native files: parts that sites send to whoever adds them up


def _encode_collected(part: CollectedStatistics, arrays: ArrayWriter) -> dict[str, Any]:
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


def _decode_collected(item: Any, arrays: ArrayReader) -> CollectedStatistics:
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


COLLECTED = Kind(
    lambda model: isinstance(model, CollectedStatistics), _encode_collected, _decode_collected
)


# ----------- Streaming classifiers in native files, with the complete state to continue the stream


CLASSES: dict[str, type[StreamingNaiveBayesClassifier]] = {
    kind.__name__: kind
    for kind in (StreamingNaiveBayesClassifier, StreamingWeightedNaiveBayesClassifier)
}
# Settings that are objects.
_STREAM_OBJECTS = ("detector", "smoothing")


def _encode_stream(model: StreamingNaiveBayesClassifier, arrays: ArrayWriter) -> dict[str, Any]:
    star, found = model.star_, model._columns
    detector = star.detector
    if detector is not None and type(detector) is not ADWIN:
        raise LossyExportError(
            f"A file holds the state of bayesgraph's ADWIN, and not that of another drift detector "
            f"({type(detector).__name__}), without which the stream would go on differently. Take "
            "detector='adwin', or save network_, the model alone, which does not go on learning."
        )
    place = {name: i for i, name in enumerate(model.layout_.columns)}
    # The group that stores the array `name`; all tables of counts are in one group.
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
        | {name: encode_parameter(name, getattr(star.settings, name)) for name in _STREAM_OBJECTS},
        "summary": star.summaries.name,
        "version": model._version,
        "state": {
            name: arrays.add(
                "stream.table" if name.startswith("table_") else f"stream.{name}", array
            )
            for name, array in star.arrays().items()
        },
    }


def _encoded(name: object, values: Iterable[Any]) -> list[Any]:
    return [encode_value(value, "value", name) for value in values]


def _decode_stream(item: Any, arrays: ArrayReader) -> StreamingNaiveBayesClassifier:
    parameters = {name: decode_parameter(p) for name, p in item["parameters"].items()}
    model = CLASSES[item["estimator"]](**parameters)
    check_parameters(model)
    decode_columns(model, item)
    columns = model.layout_.columns
    items = [*item["numbers"], *item["states"]]
    if not all(type(at) is int and at >= 0 for at in items):
        raise ValueError(f"expected the positions of columns; got {items!r:.80}")
    if sorted(items) != list(range(len(columns))):
        raise ValueError("each column has numbers or states; these do not")
    state = {name: arrays.take(reference) for name, reference in item["state"].items()}
    given = item["settings"]
    settings = StreamSettings(
        **given | {name: decode_parameter(given[name]) for name in _STREAM_OBJECTS}
    )
    star = StreamingStar.from_arrays(state, SUMMARIES[item["summary"]], settings)
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
    sizes = np.diff(star.states.start).tolist()
    for j, vocabulary in zip(range(len(sizes)), model._columns.vocabularies, strict=True):
        counted = [] if star.is_sketched(j) else range(max(len(star.counts.tables[j]), sizes[j]))
        if not star.keys_in_use(j).union(counted) <= {-1, *vocabulary.values()}:
            raise ValueError("the state has codes without a value")


STREAM = Kind(lambda model: type(model) in CLASSES.values(), _encode_stream, _decode_stream)
