"""Fitting of classifiers on datasets: tables larger than memory, read in passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
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
from bayesgraph.classifiers.intake import (
    check_names,
    check_weighed,
    is_frame,
    joined_classes,
    note_names,
    target_name,
    weights_of_classes,
)
from bayesgraph.classifiers.layout import make_layout
from bayesgraph.core.errors import DataError, DataTypeError, quoted
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.statistics import (
    DatasetSource,
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

    def classes_in(found: Domains) -> NDArray[Any]:
        labels = np.array(found.columns[y].states, dtype=kind)
        check_classification_targets(labels)
        model_classes = None if model is None else model.classes_
        sources = {"the model": model_classes, "y": labels, "classes=": classes}
        return joined_classes(sources)

    rows = Rows(data.source, y, weight, groups=layout.groups)
    found = _domains(data, [*coded, y], rows)
    if missing := found.labels.n_missing:
        raise DataError(
            f"{missing:,} labels in the column {y!r} of {data.source} are missing. "
            "Leave these rows out, such as by where=."
        )
    there = classes_in(found)
    by_class = None
    if estimator.class_weight is not None:
        check_weighed(estimator.class_weight, there)
        counts = np.array([found.labels.count_of(label) for label in there.tolist()])
        by_class = weights_of_classes(estimator.class_weight, there, counts)
        rows = replace(rows, classes=there, by_class=by_class)
        if not by_class.all():
            # Rows of a class without weight do not count: there are no states that others lack.
            found = _domains(data, [*coded, y], rows)
        if estimator._moves_prior:
            rows = replace(rows, by_class=None if by_class.all() else np.sign(by_class))
    known = classes_in(found)
    target = Discrete(target_name(y, ()), known.tolist())
    note_names(estimator, list(names))
    estimator._frame, estimator.layout_, estimator.classes_ = "pyarrow", layout, known
    variables: Sequence[Variable] = variables_of(features, declared, found.columns)
    if model is not None:
        variables, discretizer = known_variables(model.features_, variables), None
    source = DatasetSource(
        data,
        (*variables, target),
        target,
        rows=rows,
        n_rows=found.n_rows,
        missing=found.missing,
    )
    if discretizer is not None:
        # Other variables than those of the model, each of which is counted in one pass.
        columns: ColumnsByClass = DatasetColumns(source.features, target, source.merged)
        if not source.is_sampled:
            sample = source.sample()
            heavy = sample.weights if len(sample.weights) else None
            columns = TableColumns.of_present(
                sample.table.without(target), sample.table.column(target), heavy
            )
        source = source.with_features(estimator._discretized(discretizer, columns))
    if by_class is not None and estimator._moves_prior:
        source.class_weights = by_class[np.isin(there, known)]
    return source, target


def _domains(data: Dataset, names: Sequence[str], rows: Rows) -> Domains:
    found = find_domains(data, names, rows)
    if not found.n_rows:
        raise DataError(f"{data.source} has no rows (of positive weight).")
    return found


def classes_in(data: Dataset, y: Any, weight: Any) -> NDArray[Any]:
    """Return the classes of the rows of positive weight, in ascending order."""
    _check_names(data, y, weight)
    domains = find_domains(data, [y], Rows(data.source, y, weight)).columns
    return joined_classes({"y": domains[y].states})


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
