"""Statistics, estimators, collected statistics and streaming classifiers in native files."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from bayesgraph import classifiers, learning, statistics
from bayesgraph.core.arrays import LENGTHS, Floats
from bayesgraph.core.errors import LossyExportError
from bayesgraph.core.files import Budget
from bayesgraph.core.variables import Continuous, Discrete, Name, Variable
from bayesgraph.files.archive import without_repeats
from bayesgraph.files.native import decode_labels, saved
from bayesgraph.files.payloads import RECORDS, Record, attributes, dataclass_record, record
from bayesgraph.models import Model
from bayesgraph.tables import TrainingRows, check_unseen

# -------------------------------------------------------------------------------- statistics
# They let a loaded classifier learn more rows and forget rows, as the saved classifier would. Each
# summary is stored with its request, which says what is counted of which columns. A new type of
# summary needs a record, with a check of what no rows give.


def _finite(array: Floats, *shapes: tuple[int, ...]) -> None:
    """Check that an array has finite floats and one of some shapes."""
    if not np.isfinite(array).all() or array.shape not in shapes:
        raise ValueError(f"statistics are finite, of the shapes {shapes}; got {array.shape}")


def _weights(array: Floats, *shapes: tuple[int, ...]) -> None:
    """Check that an array has finite floats that are not negative, and one of some shapes."""
    _finite(array, *shapes)
    if (array < 0).any():
        raise ValueError("a weight or a sum of squares is negative")


def _moments(moments: statistics.GroupMoments, shape: tuple[int, int]) -> None:
    """Check counts, means and sums of squares of groups, each of the shape (groups, columns)."""
    _weights(moments.count, shape)
    _finite(moments.mean, shape)
    _weights(moments.square, shape)


def _n_groups(request: Any) -> int:
    """Return the number of groups of rows that are counted apart: the states of `given`."""
    return 1 if request.given is None else request.given.cardinality


def _sizes(request: Any) -> tuple[int, list[int], int]:
    """Return the sizes that the arrays of a summary have.

    These are the number of groups (states of the variable `given`), the cardinality of each
    discrete column, and the number of continuous columns.
    """
    columns = request.columns
    if len(set(columns)) < len(columns):
        raise ValueError(f"statistics are of the columns {columns!r:.80}, some of them twice")
    if not all(isinstance(column, (Discrete, Continuous)) for column in columns):
        raise ValueError(f"statistics are of the wrong columns {columns!r:.80}")
    cards = [column.cardinality for column in columns if isinstance(column, Discrete)]
    return _n_groups(request), cards, len(columns) - len(cards)


def _check_singles(summary: statistics.SinglesSummary) -> None:
    """Check the statistics of single columns."""
    n_groups, cards, n_numbers = _sizes(summary.request)
    _weights(summary.totals, (n_groups,))
    # The states of all discrete columns stand side by side.
    _weights(summary.counts, (n_groups, sum(cards)))
    _moments(summary.moments, (n_groups, n_numbers))


def _check_pairs(summary: statistics.PairsSummary) -> None:
    """Check the statistics of pairs of columns, and those of the columns themselves."""
    n_groups, cards, n_numbers = _sizes(summary.request)
    if attributes(summary.request) != attributes(summary.singles.request):
        raise ValueError("statistics of pairs and of columns are of others")
    # A cell for the states of each pair of different columns: half of all pairs of states, without
    # those of a column with itself.
    cells = n_groups * (sum(cards) ** 2 - sum(card * card for card in cards)) // 2
    _weights(summary.pair_counts, (cells,))
    # Without missing numbers, moments are the same in all pairs, and have an axis of length 1.
    moments = summary.pair_moments
    by_pair, by_column = (n_groups, n_numbers, n_numbers), (n_groups, n_numbers, 1)
    _weights(moments.count, (n_groups, 1, 1), by_pair)
    _finite(moments.mean, by_column, by_pair)
    _weights(moments.square, by_column, by_pair)
    _finite(moments.comoment, by_pair)
    # Moments of each number in the rows of each group and each state of a discrete column.
    _moments(summary.mixed, (n_groups * sum(cards), n_numbers))


def _check_families(summary: statistics.FamiliesSummary) -> None:
    """Check the statistics of families, each of which is a joint table with moments."""
    for family, joint in zip(summary.request.families, summary.found, strict=True):
        if len({*family.discrete, *family.continuous}) < len(family.discrete + family.continuous):
            raise ValueError(f"a family has columns twice: {family!r:.80}")
        cards, n = tuple(v.cardinality for v in family.discrete), len(family.continuous)
        _weights(joint.counts, cards)
        _finite(joint.mean, (*cards, n))
        _finite(joint.comoment, (*cards, n, n))


def _check_transformed(summary: statistics.MomentsSummary) -> None:
    """Check the moments of functions of numbers."""
    functions = summary.request.functions
    if not set(functions) <= statistics.TRANSFORMS.keys():
        raise ValueError(f"moments are of the unknown functions {functions!r:.80}")
    n_groups, _, n_numbers = _sizes(summary.request)
    _moments(summary.moments, (n_groups, n_numbers * len(functions)))


def _check_samples(summary: statistics.SamplesSummary) -> None:
    """Check values and their weights, by column and group."""
    n_groups, _, n = _sizes(summary.request)
    # Values and weights are lists of n continuous columns, each a list with an array by group.
    if [len(column) for column in (*summary.values, *summary.weights)] != [n_groups] * 2 * n:
        raise ValueError("the values and weights are not those of the columns")
    for values, weights in zip(summary.values, summary.weights, strict=True):
        for part, weight in zip(values, weights, strict=True):
            _finite(part, (part.size,))
            _weights(weight, part.shape)
            if not (np.diff(part) > 0).all() or not (weight > 0).all():
                raise ValueError("values are not ascending, or a weight is not positive")


for _plain in (
    statistics.Singles,
    statistics.Pairs,
    statistics.Families,
    statistics.Family,
    statistics.FamilyStatistics,
    statistics.Moments,
    statistics.Samples,
    statistics.Totals,
):
    dataclass_record(_plain)
dataclass_record(statistics.GroupMoments)
dataclass_record(statistics.PairMoments)
dataclass_record(statistics.SinglesSummary, _check_singles)
dataclass_record(statistics.PairsSummary, _check_pairs)
dataclass_record(statistics.FamiliesSummary, _check_families)
dataclass_record(statistics.MomentsSummary, _check_transformed)
dataclass_record(statistics.SamplesSummary, _check_samples)


def _trimmed(summary: statistics.TotalsSummary) -> dict[str, Any]:
    """Return the fields of a summary, with the histogram of lengths up to the last that occurs."""
    # The axes are groups and bins; no bin is left of a histogram that is empty.
    n_bins = int(np.flatnonzero(summary.lengths.any(axis=0)).max(initial=-1)) + 1
    return {**attributes(summary), "lengths": summary.lengths[:, :n_bins]}


@record("TotalsSummary", statistics.TotalsSummary, _trimmed)
def _totals(
    request: statistics.Totals, sums: Floats, seen: Floats, lengths: Floats, budget: Budget
) -> statistics.TotalsSummary:
    """Return sums of counts of items, with the bins of lengths that `_trimmed` has left out."""
    threshold, n_groups, n_items = request.threshold, _n_groups(request), len(request.vector.items)
    if threshold is not None and not math.isfinite(threshold):
        raise ValueError(f"expected a threshold; got {threshold!r:.80}")
    _weights(lengths, (n_groups, min(lengths.shape[-1], len(LENGTHS))))
    budget.take(8 * n_groups * len(LENGTHS), "the lengths of rows")  # floats of 8 bytes
    whole = np.zeros((n_groups, len(LENGTHS)))
    whole[:, : lengths.shape[-1]] = lengths
    _weights(sums, (n_groups, n_items))
    # One column of weights for all items if no count was missing.
    _weights(seen, (n_groups, 1), (n_groups, n_items))
    return statistics.TotalsSummary(request, sums, seen, whole)


@record(
    "Statistics", statistics.Statistics, lambda value: {"summaries": [*value.summaries.values()]}
)
def _statistics(summaries: list[Any]) -> statistics.Statistics:
    """Return statistics of their summaries, of which each has another request."""
    return statistics.Statistics(
        without_repeats((summary.request, summary) for summary in summaries)
    )


# -------------------------------------------------------------------- parameters of estimators


for _dataclass in (learning.Candidate, learning.Choice, learning.StreamSettings):
    dataclass_record(_dataclass)
# Other classes of bayesgraph whose objects may be parameters: the class itself makes an object of
# its parameters.
for _kind in dict.fromkeys(
    (learning.ADWIN, statistics.Smoothing, *classifiers.DISCRETIZERS.values())
):
    record(_kind.__name__, _kind, lambda value: value.get_params())(_kind)


def _learner(learner: str, options: dict[str, Any]) -> Any:
    """Return the learner of structures of a name, with some of its options set."""
    learn = learning.LEARNERS[learner].learn
    return partial(learn, **options) if options else learn


def _learner_fields(value: Any) -> dict[str, Any]:
    """Return the name of a learner of structures, and the options that are set of it."""
    # `card_of` returns None for what is no learner, of which a record does not ask the fields.
    name, options = learning.card_of(value) or ("", {})
    return {"learner": name, "options": dict(options)}


RECORDS["learner"] = Record(
    lambda value: learning.card_of(value) is not None, _learner_fields, _learner
)


@record("graph", nx.DiGraph, lambda graph: {"nodes": [*graph.nodes], "arcs": [*graph.edges]})
def _graph(nodes: list[Any], arcs: list[Any]) -> Any:
    """Return a directed graph of nodes and arcs, which some learners take as a parameter."""
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(arcs)
    return graph


def _parameter(value: Any) -> Any:
    """Return an argument of a constructor as one that files hold."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    # The parameter `summary` takes a class and its name alike.
    value = next((key for key, kind in statistics.SUMMARIES.items() if kind is value), value)
    # The codec has no frozen sets; parameters take a plain one alike.
    return set(value) if isinstance(value, frozenset) else value


def estimator_class(name: str) -> type[Any]:
    """Return the class of estimators of a name; raise a ValueError if there is none."""
    kind = getattr(classifiers, name, None)
    is_base = kind in (classifiers.GraphClassifier, classifiers.NetworkClassifier)
    if is_base or not (isinstance(kind, type) and issubclass(kind, classifiers.ModelQuestions)):
        raise ValueError(f"there is no estimator {name!r:.80}")
    return kind


def check_parameters(model: Any) -> None:
    """Raise the error of `fit` if parameters of an estimator are not valid."""
    # Methods that check parameters; a class has those of the parameters that it has.
    for check in ("_smoothing", "_settings", "_discretizer"):
        getattr(model, check, lambda: None)()
    check_unseen(getattr(model, "unseen", "missing"))


def _unfitted_fields(model: Any, layout: classifiers.Layout, *, named: bool) -> dict[str, Any]:
    """Return an estimator's class and parameters, and the layout of its columns."""
    check_parameters(model)
    parameters = model.get_params(deep=False).items()
    return {
        "estimator": type(model).__name__,
        "parameters": {name: _parameter(value) for name, value in parameters},
        "named": named,
        "layout": layout,
    }


def _unfitted(
    estimator: str, parameters: Mapping[str, Any], layout: classifiers.Layout, *, named: bool
) -> Any:
    """Return an estimator that knows its columns, and is not fitted."""
    model = estimator_class(estimator)(**parameters)
    check_parameters(model)
    classifiers.set_columns(model, layout, named=named)
    return model


# ---------------------------------------------------------------------------- fitted estimators


def _is_estimator(model: Any) -> bool:
    """Return whether a model is of an estimator class of bayesgraph that is not streaming."""
    kind = type(model)
    is_ours = getattr(classifiers, kind.__name__, None) is kind
    return is_ours and issubclass(kind, classifiers.ModelQuestions) and kind not in CLASSES


def _estimator_fields(model: Any) -> dict[str, Any]:
    """Return the stored fields of a fitted estimator."""
    parameters = inspect.signature(type(model)).parameters
    values = model.get_params(deep=False)
    fitted = {name: getattr(model, name, None) for name in model._fitted}
    return {
        **_unfitted_fields(model, model.layout_, named=hasattr(model, "feature_names_in_")),
        # The parameters that `repr` shows, in its order: those that are not as by default.
        "changed": [n for n in sorted(values) if repr(values[n]) != repr(parameters[n].default)],
        "network": model.network_,
        "target": model.target_,
        "features": list(model.features_),
        "label_type": model.classes_.dtype.str if hasattr(model, "classes_") else None,
        "fitted": {name: value for name, value in fitted.items() if value is not None},
        "statistics": getattr(model, "statistics_", None),
    }


def _estimator(
    budget: Budget,
    estimator: str,
    parameters: dict[str, Any],
    named: bool,
    layout: classifiers.Layout,
    changed: list[str],
    network: Model,
    target: Variable,
    features: list[Variable],
    fitted: dict[str, float | NDArray[Any] | Variable | learning.Choice],
    label_type: str | None = None,
    statistics: statistics.Statistics | None = None,
) -> Any:
    """Return a fitted estimator, given the fields of `_estimator_fields`.

    `changed` is for what loads only a part of the file, and shows the estimator as a text.
    """
    model = _unfitted(estimator, parameters, layout, named=named)
    model.network_, model.target_, model.features_ = network, target, tuple(features)
    classes = saved(network, target, features, label_type, budget)
    if classes is not None:
        model.classes_ = classes
    for name in model._fitted:
        if name in fitted:
            setattr(model, name, fitted[name])
    if isinstance(model, classifiers.DecisionTreeNetworkRegressor) and not (
        isinstance(target, Continuous) and isinstance(model.leaf_, Discrete)
    ):
        raise ValueError(f"{target.name!r} and {model.leaf_.name!r} are no number and its leaf")
    if statistics is not None:
        model.statistics_ = statistics
    return model


RECORDS["estimator"] = Record(_is_estimator, _estimator_fields, _estimator)


# --------------------------------- collected statistics: parts that sites send to whoever adds them


def _collected_fields(part: classifiers.CollectedStatistics) -> dict[str, Any]:
    """Return the stored fields of collected statistics."""
    return {
        **_unfitted_fields(part.estimator, part.layout, named=part.named),
        "features": list(part.features),
        "target": part.target,
        "label_type": part.classes.dtype.str,
        "statistics": part.statistics,
        "rows": part.rows,
    }


@record("collected statistics", classifiers.CollectedStatistics, _collected_fields)
def _collected(
    budget: Budget,
    estimator: str,
    parameters: dict[str, Any],
    named: bool,
    layout: classifiers.Layout,
    features: list[Variable],
    target: Discrete,
    label_type: str,
    statistics: statistics.Statistics,
    rows: TrainingRows | None,
) -> classifiers.CollectedStatistics:
    """Return collected statistics, given the fields of `_collected_fields`."""
    kind = estimator_class(estimator)
    if not issubclass(kind, classifiers.NetworkClassifier):
        raise ValueError(f"{estimator!r:.80} has no statistics")
    model = kind(**parameters)
    check_parameters(model)
    if len({*features, target}) <= len(features):
        raise ValueError("the class and the features are not different variables")
    # Columns of a vector of counts are features under the name of the vector.
    items = {name for group in layout.groups.values() for name in group}
    if {v.name for v in features} != {*layout.columns} - items | layout.groups.keys():
        raise ValueError("the features are not those of the columns")
    if not statistics.summaries:
        raise ValueError("there are no statistics")
    classes = decode_labels(target.states, label_type, budget)
    return classifiers.CollectedStatistics(
        model, layout, tuple(features), target, classes, statistics, named, rows
    )


# --------------------- streaming classifiers, with the complete state to continue the stream


CLASSES = (
    classifiers.StreamingNaiveBayesClassifier,
    classifiers.StreamingWeightedNaiveBayesClassifier,
)


def _stream_fields(model: classifiers.StreamingNaiveBayesClassifier) -> dict[str, Any]:
    """Return the stored fields of a streaming classifier; its detector is a part of its state."""
    star, columns = model.star_, model._columns
    detector = star.detector
    if detector is not None and type(detector) is not learning.ADWIN:
        raise LossyExportError(
            f"A file holds the state of bayesgraph's ADWIN, and not that of another drift detector "
            f"({type(detector).__name__}), without which the stream would go on differently. Take "
            "detector='adwin', or save network_, the model alone, which does not go on learning."
        )
    # The name of each discrete column, and its codes by type and state.
    vocabularies = zip(columns.states, columns.vocabularies, strict=True)
    return {
        **_unfitted_fields(model, model.layout_, named=hasattr(model, "feature_names_in_")),
        "classes": model.classes_.tolist(),
        "label_type": model.classes_.dtype.str,
        "target": model.target_name_,
        "is_open": model._is_open,
        "numbers": list(columns.numbers),
        "vocabularies": {name: [state for _, state in codes] for name, codes in vocabularies},
        # The current settings of the stream; the parameters may have been set since it began.
        "settings": star.settings,
        "summary": star.summaries.name,
        "version": model._version,
        "state": star.arrays(),
    }


def _stream(
    budget: Budget,
    estimator: str,
    parameters: dict[str, Any],
    named: bool,
    layout: classifiers.Layout,
    classes: list[Name],
    label_type: str,
    target: Name,
    is_open: bool,
    numbers: list[Name],
    vocabularies: dict[Name, list[Name]],
    settings: learning.StreamSettings,
    summary: str,
    version: str,
    state: dict[str, NDArray[Any]],
) -> classifiers.StreamingNaiveBayesClassifier:
    """Return a streaming classifier, given the fields of `_stream_fields`."""
    model: classifiers.StreamingNaiveBayesClassifier = _unfitted(
        estimator, parameters, layout, named=named
    )
    if type(model) not in CLASSES:
        raise ValueError(f"{estimator!r:.80} is of no stream")
    listed = [*numbers, *vocabularies]
    if {*listed} != {*layout.columns} or len(listed) != len(layout.columns):
        raise ValueError("each column has numbers or states; these do not")
    star = learning.StreamingStar.from_arrays(state, statistics.SUMMARIES[summary], settings)
    codes = [_vocabulary(states, settings.max_categories) for states in vocabularies.values()]
    model._columns = classifiers.StreamColumns(numbers, list(vocabularies), codes)
    model._is_open = is_open
    if len(set(classes)) < len(classes):
        raise ValueError(f"{classes!r:.80} are not the classes of a model")
    model.classes_ = decode_labels(classes, label_type, budget)
    model.target_name_ = target
    model._version = version
    model.star_ = star
    _check_fit(model)
    model._changed()
    return model


RECORDS["stream"] = Record(lambda model: type(model) in CLASSES, _stream_fields, _stream)


def _vocabulary(states: list[Any], max_exact: int) -> dict[Any, int]:
    """Return the code of each state by type and value.

    The first `max_exact` states are counted each for itself, with their places as codes; those
    after them by a sketch, with their hash keys.
    """
    codes = {
        (type(state), state): place if place < max_exact else statistics.key_of(state)
        for place, state in enumerate(states)
    }
    if len(codes) < len(states):
        raise ValueError(f"a state is there twice in {states!r:.80}")
    return codes


def _check_fit(model: classifiers.StreamingNaiveBayesClassifier) -> None:
    """Raise an error if the stream's summaries do not match the model's columns and classes."""
    star = model.star_
    shape = (star.n_classes, star.summaries.n_features, len(star.counts))
    if shape != (len(model.classes_), len(model._columns.numbers), len(model._columns.states)):
        raise ValueError("the state is of other classes or columns")
    # Number of states of each discrete column that have a density.
    sizes = np.diff(star.states.start).tolist()
    for j, vocabulary in zip(range(len(sizes)), model._columns.vocabularies, strict=True):
        # All codes that are counted or have a density; -1 is a missing value.
        counted = [] if star.is_sketched(j) else range(max(len(star.counts.tables[j]), sizes[j]))
        if not star.keys_in_use(j).union(counted) <= {-1, *vocabulary.values()}:
            raise ValueError("the state has codes without a value")
