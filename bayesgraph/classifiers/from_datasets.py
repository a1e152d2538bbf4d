"""Fitting of classifiers on datasets: tables larger than memory, read in passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from bayesgraph.classifiers.collected import known_variables
from bayesgraph.classifiers.discretizers import (
    ColumnsByClass,
    DatasetColumns,
    Discretizer,
    TableColumns,
)
from bayesgraph.classifiers.labels import check_weighed, class_weights, joined_classes
from bayesgraph.classifiers.layout import make_layout
from bayesgraph.classifiers.validation import check_names, is_frame, note_names, target_name
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError, DataTypeError, quoted
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.statistics import (
    DatasetSource,
    Domain,
    Domains,
    find_domains,
    sample_of,
    variables_of,
)
from bayesgraph.tables import (
    Column,
    Dataset,
    Rows,
    as_dataset,
    columns_of,
    decoded,
    engine_of,
    is_discrete,
)


def dataset_of(X: Any, y: Any) -> Dataset | None:
    """Return X as a dataset, or None if it is a table in memory.

    A lazy frame of polars with labels in memory is read as a whole, if it fits.
    """
    lazy = (engine_of(X), engine_of(y))
    if isinstance(y, str) or lazy not in ((None, None), ("polars", None)) or not is_frame(X):
        return as_dataset(X)
    return None


def dataset_source(
    estimator: Any,
    data: Dataset,
    y: Any,
    weight: Any,
    discretizer: Discretizer | None,
    *,
    classes: ArrayLike | None = None,
    model: Any = None,
) -> tuple[DatasetSource, Discrete]:
    """Return a count source over a dataset and its class; set names and layout on the estimator.

    A first pass finds the states of discrete columns and the classes.

    Parameters
    ----------
    estimator : NetworkClassifier
    data : Dataset
    y : str
        Column with the classes.
    weight : str, optional
        Column with the weights of the rows.
    discretizer : Discretizer, optional
        Finds the intervals of numeric columns; see `DatasetColumns`.
    classes : array_like, optional
        Classes that may have no rows.
    model : NetworkClassifier, optional
        A fitted classifier, whose states, intervals and classes are kept; new ones are added.

    Raises
    ------
    DataTypeError
        If `y` or `weight` is not the name of a column.
    DataError
        For missing labels, weights that are none, and columns without values.
    """
    _check_names(data, y, weight)
    names = [name for name in data.names if name not in (y, weight)]
    if not names:
        used = quoted([y] if weight is None else [y, weight])
        raise DataError(f"{data.source} has no column besides {used} to learn from.")
    if model is not None:
        check_names(model, list(names), list(model.layout_.columns))
        if model.target_.name != y:
            raise DataError(
                f"The class of the model is called {model.target_.name!r}, and y names the column "
                f"{y!r}; give both one name."
            )
    types = columns_of(data.schema.empty_table())
    empty: dict[Name, Column] = {name: types[name] for name in names}
    layout = make_layout(empty, estimator._distributions, estimator.categorical)
    features = layout.grouped(empty)
    declared = layout.declared(features)
    coded = [
        str(name)
        for name in features
        if name not in declared and (name in layout.categorical or is_discrete(types[name], name))
    ]
    # Of the type that the labels have in memory: objects if they are text.
    column: Any = types[y]
    kind = column.to_numpy().dtype

    def classes_in_rows(found: Domains) -> NDArray[Any]:
        states: list[Any] = found.columns[y].states
        labels = np.array(states, dtype=kind)
        check_classification_targets(labels)
        return joined_classes(None if model is None else model.classes_, labels, classes)

    unweighed = Rows(data.source, y, weight, groups=layout.groups)
    rows, found = _weighed(data, [*coded, y], unweighed, classes_in_rows, estimator.class_weight)
    known = classes_in_rows(found)
    rows, by_class = _parted(estimator, rows, known)
    domains, n_rows = found.columns, found.n_rows
    target = Discrete(target_name(y, ()), known.tolist())

    def source_of(features: Sequence[Variable], *, is_kept: bool = True) -> DatasetSource:
        return DatasetSource(
            data,
            (*features, target),
            target,
            rows=rows,
            n_rows=n_rows,
            is_kept=is_kept,
            missing=found.missing,
        )

    note_names(estimator, list(names))
    estimator._frame, estimator.layout_, estimator.classes_ = "pyarrow", layout, known
    variables: Sequence[Variable] = variables_of(features, declared, domains)
    if model is not None:
        variables, discretizer = known_variables(model.features_, variables), None
    source = source_of(variables)
    if discretizer is not None:
        # Other variables than those of the model, each of which is counted in one pass.
        columns = _columns_by_class(source, target, partial(source_of, is_kept=False))
        source = source_of(estimator._discretized(discretizer, columns))
    source.class_weights = by_class
    return source, target


def _weighed(
    data: Dataset,
    names: Sequence[str],
    rows: Rows,
    classes_in_rows: Callable[[Domains], NDArray[Any]],
    class_weight: Any,
) -> tuple[Rows, Domains]:
    """Return the rows with weights of their classes, and the domains of columns in those rows.

    Rows of a class without weight do not count, so that there are no states that others lack.
    """
    found = _domains(data, names, rows)
    if missing := found.labels.n_missing:
        raise DataError(
            f"{missing:,} labels in the column {rows.y!r} of {data.source} are missing. "
            "Leave these rows out, such as by where=."
        )
    classes = classes_in_rows(found)
    by_class = _weights_of_classes(class_weight, found.labels, classes)
    weighed = replace(rows, classes=classes, by_class=by_class)
    if by_class is None or by_class.all():
        return weighed, found
    return weighed, _domains(data, names, weighed)


def _parted(estimator: Any, rows: Rows, classes: NDArray[Any]) -> tuple[Rows, Floats | None]:
    """Return rows without the weights of classes that move the prior, and these weights or None."""
    if not estimator._moves_prior or rows.by_class is None or rows.classes is None:
        return rows, None
    # Rows of a class without weight still do not count.
    counted = None if rows.by_class.all() else np.sign(rows.by_class)
    return replace(rows, by_class=counted), rows.by_class[np.isin(rows.classes, classes)]


def _domains(data: Dataset, names: Sequence[str], rows: Rows) -> Domains:
    found = find_domains(data, names, rows)
    if not found.n_rows:
        raise DataError(f"{data.source} has no rows (of positive weight).")
    return found


def _columns_by_class(
    source: DatasetSource,
    target: Discrete,
    source_of: Callable[[Sequence[Variable]], DatasetSource],
) -> ColumnsByClass:
    """Return the columns of a dataset for discretisers: its rows, if they are few, or counts."""
    if source.is_sampled:
        return DatasetColumns(source.features, target, source_of)
    sample = source.sample()
    heavy = sample.weights if len(sample.weights) else None
    return TableColumns.of_present(sample.table.without(target), sample.table.column(target), heavy)


def classes_in(data: Dataset, y: Any, weight: Any) -> NDArray[Any]:
    """Return the classes of the rows of positive weight, in ascending order."""
    _check_names(data, y, weight)
    domains = find_domains(data, [y], Rows(data.source, y, weight)).columns
    return joined_classes(None, np.array(domains[y].states), None)


def named_batches(data: Dataset, y: Any, weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield runs of a dataset as batches of features, labels and weights; see `fit_batches`."""
    _check_names(data, y, weight)
    names = [name for name in data.names if name not in (y, weight)]
    for run in data.runs(data.names):
        yield _parts(run, names, y, weight)


def in_memory(data: Dataset, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return all rows of a dataset, or a sample of them, as features, labels and weights.

    See `datasets.source.sample_of`.
    """
    _check_names(data, y, weight)
    n_rows = data.n_rows
    if n_rows is None:
        n_rows = sum(len(run) for run in data.runs([y]))
    table = sample_of(data, data.names, n_rows)
    return _parts(table, [name for name in data.names if name not in (y, weight)], y, weight)


def _parts(table: Any, names: Sequence[str], y: str, weight: str | None) -> tuple[Any, Any, Any]:
    """Return features, labels and weights of rows in memory."""
    # Categories as they come in files have no order that means something; those of text are sorted.
    text = decoded(table)
    weights = None if weight is None else table.column(weight).to_numpy()
    return text.select(list(names)), text.select([y]), weights


def _check_names(data: Dataset, y: Any, weight: Any) -> None:
    for what, name in (("y", y), ("sample_weight", weight)):
        if name is None and what != "y":
            continue
        if not isinstance(name, str):
            raise DataTypeError(
                f"With a dataset ({data.source}), {what} is the name of one of its columns; got "
                f"{type(name).__name__}. What is elsewhere has to become a column of it first."
            )
        data.checked([name], f"{what}=")


def _weights_of_classes(class_weight: Any, labels: Domain, classes: NDArray[Any]) -> Floats | None:
    """Return the weight of each class that `class_weight` gives, None if all weigh 1."""
    if class_weight is None:
        return None
    if isinstance(class_weight, Mapping):
        check_weighed(class_weight, classes)
        return class_weights(class_weight, classes)
    if isinstance(class_weight, str) and class_weight == "balanced":
        # A class without rows weighs none.
        counts = [max(labels.count_of(c), 1.0) for c in classes.tolist()]
        return labels.counts.total() / (len(labels.counts) * np.array(counts))
    raise DataError(
        f"class_weight= is a mapping from class to weight or 'balanced'; got {class_weight!r}."
    )
