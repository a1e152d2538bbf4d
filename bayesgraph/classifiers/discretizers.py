"""Discretisers: transformers of numbers to intervals, and of categories to groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.classifiers import intake
from bayesgraph.classifiers.rows import Layout, known_table, make_layout
from bayesgraph.classifiers.scikit_learn import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from bayesgraph.core.arrays import Floats, check_flags
from bayesgraph.core.errors import DataError, DataTypeError, quoted, unknown_variable
from bayesgraph.core.variables import Binned, Continuous, Discrete, Grouped, Name, Variable, decode
from bayesgraph.statistics import (
    CELL_METHODS,
    DatasetSource,
    Histograms,
    Singles,
    SortedColumn,
    best_groups,
    frequency_cuts,
    granular_intervals,
    histogram_edges,
    mdlp_cuts,
    modl_intervals,
    observed,
    round_frequency_cuts,
    split_intervals,
    value_counts,
    width_cuts,
)
from bayesgraph.tables import Table, as_frame

# ----- What discretisers know of columns: values and states with their classes, of rows or counted


# Maximum number of edges of a histogram of a numeric column.
MAX_EDGES = 4095
# Maximum number of entries of the histograms that are counted in one pass.
_MAX_ENTRIES = 1 << 21


@dataclass(frozen=True, eq=False)
class TableColumns:
    """The columns of a table in memory.

    Attributes
    ----------
    table : Table
    codes : ndarray of integers, shape (n_rows,)
        Codes of the classes, some of which may have no rows.
    weights : ndarray, shape (n_rows,), or None
    """

    table: Table
    codes: NDArray[np.signedinteger[Any]]
    weights: Floats | None

    @cached_property
    def _classes(self) -> tuple[NDArray[np.intp], int]:
        """The codes of rows among the classes that have rows, and the number of these."""
        occurs = np.bincount(self.codes) > 0
        # The new code of a class is the number of classes before it that occur.
        return (np.cumsum(occurs) - 1)[self.codes], int(occurs.sum())

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All columns."""
        return self.table.variables

    def numbers(self, variables: Sequence[Continuous]) -> Iterator[SortedColumn]:
        """Yield each of some numeric columns."""
        for v in variables:
            yield observed(self.table.column(v), self.weights, *self._classes)

    def states(self, variables: Sequence[Discrete]) -> Iterator[Floats]:
        """Yield the class weights of the states of discrete columns."""
        for v in variables:
            yield value_counts(self.table.column(v), *self._classes, self.weights)


@dataclass(frozen=True, eq=False)
class DatasetColumns:
    """The columns of a dataset, which are counted in passes.

    Numbers are counted in histograms. Edges are all values that a sample of the rows has, or
    quantiles of the sample if there are more than `MAX_EDGES`. As rows at the edges and between
    them are counted apart, the result is exact for columns of few values.

    Attributes
    ----------
    variables : tuple of Variable
        All columns but the class.
    target : Discrete
    source_of : callable
        Returns a count source over some columns and the class.
    """

    variables: tuple[Variable, ...]
    target: Discrete
    source_of: Callable[[Sequence[Variable]], DatasetSource]

    def numbers(self, variables: Sequence[Continuous]) -> Iterator[SortedColumn]:
        """Yield each of some numeric columns."""
        # Of a bin: its minimum, its maximum, and the weight of each class. Of E edges there are
        # 2E + 1 bins, see `Histograms`.
        entries = self.target.cardinality + 2
        n_edges = min(MAX_EDGES, _MAX_ENTRIES // (2 * entries))
        # Number of columns that are counted in one pass, within the maximum of entries.
        together = max(1, _MAX_ENTRIES // (entries * (2 * n_edges + 1)))
        for first in range(0, len(variables), together):
            columns = tuple(variables[first : first + together])
            source = self.source_of(columns)
            # Edges come from a sample of the rows.
            sample = source.sample()
            classes = sample.table.column(self.target), self.target.cardinality
            sampled = (observed(sample.table.column(v), sample.weights, *classes) for v in columns)
            edges = tuple(tuple(histogram_edges(part, n_edges).tolist()) for part in sampled)
            histograms = source.summary(Histograms(columns, edges, self.target))
            # Classes without rows are left out, as in `TableColumns`.
            occurs = histograms.totals > 0
            for low, high, counts in histograms.columns():
                yield SortedColumn.of_counts(low, high, counts[:, occurs])

    def states(self, variables: Sequence[Discrete]) -> Iterator[Floats]:
        """Yield the class weights of the states of discrete columns."""
        if not variables:
            return
        columns = tuple(variables)
        singles = self.source_of(columns).singles(Singles(columns, self.target))
        # By the states of all columns, one column after the other, and the classes that have rows.
        counts = singles.counts[singles.totals > 0].T
        for v in columns:
            yield counts[singles.at.states(v)]


# The columns of a table with their classes.
ColumnsByClass: TypeAlias = TableColumns | DatasetColumns


# ----------------- Discretisers: transformers of numbers to intervals, and of categories to groups


class Discretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the discretisers: a subclass finds the cut points of one column.

    Attributes
    ----------
    variables_ : tuple of Variable
        A Binned for each numeric column; other columns stay Discrete or become Grouped.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features_in_,)
        Names of the columns; only if X had names that are all strings.
    """

    # Name in ``discretizer=`` and in files.
    name: ClassVar[str]
    # Whether cut points depend on the classes.
    supervised: ClassVar[bool] = True
    categorical: Any
    variables_: tuple[Variable, ...]
    layout_: Layout

    def find_cuts(self, column: SortedColumn) -> Floats:
        """Return the cut points of one column.

        Parameters
        ----------
        column : SortedColumn
            The observed values in ascending order, of rows or, of a table larger than memory, of
            counted cells of rows, with weights and classes. Without y, all classes are zero.

        Returns
        -------
        ndarray
            Ascending and finite; empty for a single interval.
        """
        raise NotImplementedError

    @property
    def _groups_states(self) -> bool:
        """Whether `find_groups` may have groups of discrete columns."""
        return type(self).find_groups is not Discretizer.find_groups

    def find_groups(self, counts: Floats) -> list[list[int]] | None:
        """Return groups of the states of a discrete column, or None to leave the column unchanged.

        A group is a list of state codes. `counts`, shape (n_states, n_classes), has the weight of
        each class in each state; the last states may be left out if they have none.
        """
        return None

    def find_variables(
        self, columns: ColumnsByClass, keep: frozenset[Name] = frozenset()
    ) -> tuple[Variable, ...]:
        """Return the variables of the discretised columns: Binned for numbers, Grouped for states.

        Parameters
        ----------
        columns : ColumnsByClass
        keep : set of names
            Names of columns that remain unchanged.
        """
        free = [v for v in columns.variables if v.name not in keep]
        numbers = [v for v in free if type(v) is Continuous]
        discretised: dict[Variable, Variable] = {
            v: Binned(v.name, np.asarray(self.find_cuts(column)).tolist())
            for v, column in zip(numbers, columns.numbers(numbers), strict=True)
        }
        states = [v for v in free if isinstance(v, Discrete) and self._groups_states]
        for v, counts in zip(states, columns.states(states), strict=True):
            groups = self.find_groups(counts)
            discretised[v] = v if groups is None else _grouped(v, groups)
        return tuple(discretised.get(v, v) for v in columns.variables)

    # ------------------------------------------------------------------------------ transformer

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Any:
        """Find the intervals of all numeric columns.

        Parameters
        ----------
        X : array or data frame (pandas, polars, pyarrow, ...), shape (n_rows, n_features)
            None, NaN and NA are missing and left out.
        y : array_like, shape (n_rows,), or name of a column of X
            Classes; needed by MDLP and MODL, ignored by others.
        sample_weight : array_like, shape (n_rows,), optional

        Returns
        -------
        self
        """
        X, y = intake.apart(X, y)
        labels = intake.labels_of(y) if self.supervised else None
        columns = intake.fit_columns(self, X, None if labels is None else len(labels), sparse=False)
        codes = np.zeros(columns.n_rows, dtype=np.int64) if labels is None else labels.codes
        columns, codes, weights = intake.weighted(columns, codes, sample_weight)
        self.layout_ = make_layout(columns.typed(), None, self.categorical)
        table = intake.fit_table(columns, self.layout_)
        self.variables_ = self.find_variables(TableColumns(table, codes, weights))
        return self

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Return the discretised columns of the table that `fit` takes; see `transform`."""
        return super().fit_transform(*intake.apart(X, y), **options)

    @property
    def cuts_(self) -> dict[Name, Floats]:
        """The cut points of each numeric column, by name."""
        intake.check_fitted(self, "variables_")
        return {v.name: np.array(v.cuts) for v in self.variables_ if isinstance(v, Binned)}

    def transform(self, X: Any) -> Any:
        """Return the discretised columns, as a frame of states or an array of their indices.

        Parameters
        ----------
        X : array or data frame with the columns of fitting

        Returns
        -------
        frame of the kind of X, or ndarray of float, shape (n_rows, n_features)
            A frame has columns of ordered categories such as "(0.8, 1.75]"; columns that are not
            discretised are unchanged. An array has indices of states in `variables_`, NaN where
            missing, because a numeric array cannot hold the states themselves.
        """
        intake.check_fitted(self, "variables_")
        columns = intake.known_columns(self, X, self.layout_.columns, sparse=False)
        table = known_table(columns, "missing", self.layout_, self.variables_)
        if intake.is_frame(X):
            # An encoded table of discretised columns as a frame of states, of the same type as X.
            # Columns that are not discretised are those of X.
            if isinstance(X, Mapping):
                return {v.name: decode(v, table.column(v)) for v in table.variables}
            frame = as_frame(X)
            if isinstance(frame, nw.LazyFrame):
                frame = frame.collect()
            # Binned and Grouped, which are subclasses.
            changed = [
                v for v in table.variables if isinstance(v, Discrete) and type(v) is not Discrete
            ]
            states = [_categories(frame, v, table.column(v)) for v in changed]
            return frame.with_columns(*states).to_native() if states else frame.to_native()
        codes = np.column_stack([table.column(v) for v in self.variables_]).astype(np.float64)
        codes[codes < 0] = np.nan
        return codes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.target_tags.required = self.supervised
        return tags


def _grouped(variable: Discrete, groups: list[list[int]]) -> Discrete:
    """Return the variable whose states are groups of the states of a discrete variable.

    A state that is in none of the `groups` (lists of state codes) becomes a group of its own. If
    each group has a single state, the variable is returned unchanged.
    """
    if all(len(group) == 1 for group in groups):
        return variable
    grouped = {code for group in groups for code in group}
    alone = [[code] for code in range(variable.cardinality) if code not in grouped]
    # In the order of the first state of each.
    ordered = sorted([*groups, *alone], key=min)
    return Grouped(variable.name, [[variable.states[i] for i in group] for group in ordered])


class _EqualBins(Discretizer):
    """Base class of the unsupervised discretisers, which have a given number of intervals."""

    supervised = False
    # The function that finds the cut points of a sorted column.
    _cuts: ClassVar[Any]

    def __init__(self, bins: int = 10, *, categorical: Any = None) -> None:
        self.bins = bins
        self.categorical = categorical

    def find_cuts(self, column: SortedColumn) -> Floats:
        """Return cut points of equal width or frequency; see Discretizer.find_cuts."""
        return np.asarray(self._cuts(column, self.bins))


class EqualWidth(_EqualBins):
    """Discretiser to intervals of equal width between the minimum and maximum of a column.

    Parameters
    ----------
    bins : int, default 10
    categorical : list of column names, or "all", optional
        Numeric columns to treat as discrete.

    Examples
    --------
    >>> EqualWidth(4).fit([[0.0], [1.0], [10.0]]).cuts_
    {'x0': array([2.5, 5. , 7.5])}
    """

    name = "width"
    _cuts = staticmethod(width_cuts)


class EqualFrequency(_EqualBins):
    """Discretiser to intervals with about equal numbers of rows.

    Equal values are in the same interval.

    Parameters
    ----------
    bins : int, default 10
    categorical : list of column names, or "all", optional
        Numeric columns to treat as discrete.
    """

    name = "frequency"
    _cuts = staticmethod(frequency_cuts)


class RoundFrequency(EqualFrequency):
    """Discretiser to intervals with about equal numbers of rows and cut points with few digits.

    See `round_frequency_cuts`. Intervals within which the classes change abruptly are split, see
    `split_intervals`.
    """

    supervised = True

    def find_cuts(self, column: SortedColumn) -> Floats:
        """Return cut points of about equal frequency, and abrupt changes of the classes."""
        return split_intervals(column, round_frequency_cuts(column, self.bins))


class MDLP(Discretizer):
    """Supervised discretiser: recursive entropy splits, stopped by minimum description length.

    Parameters
    ----------
    categorical : list of column names, or "all", optional
        Numeric columns to treat as discrete.

    References
    ----------
    U. Fayyad and K. Irani: Multi-interval discretization of continuous-valued attributes for
    classification learning. IJCAI 1993.
    """

    name = "mdlp"

    def __init__(self, *, categorical: Any = None) -> None:
        self.categorical = categorical

    def find_cuts(self, column: SortedColumn) -> Floats:
        """Return the cut points of recursive minimum-entropy splits, which an MDL criterion stops.

        See Discretizer.find_cuts and :func:`bayesgraph.statistics.cuts.mdlp_cuts`.
        """
        return mdlp_cuts(column)


class MODL(Discretizer):
    """Supervised discretiser: the most probable intervals, and groups of categories, given y.

    Parameters
    ----------
    group_values : bool or int, default True
        Whether categories are grouped; an int is the number of categories above which a column is
        grouped. (Each column is grouped separately, which may hide interactions between columns.)
        Numbers become intervals in any case.
    granular : bool, default False
        Whether the description length includes the precision of the cut points, as in Khiops, which
        gives fewer cut points.
    categorical : list of column names, or "all", optional
        Numeric columns to treat as discrete.

    References
    ----------
    M. Boulle: MODL: a Bayes optimal discretization method for continuous attributes. Machine
    Learning 65 (2006), 131-165.

    M. Boulle: A Bayes optimal approach for partitioning the values of categorical attributes.
    Journal of Machine Learning Research 6 (2005), 1431-1452.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MODL().fit(X, y).variables_[3]
    Binned('x3', [0.8, 1.75])
    """

    name = "modl"

    def __init__(
        self, *, group_values: bool | int = True, granular: bool = False, categorical: Any = None
    ) -> None:
        self.group_values = group_values
        self.granular = granular
        self.categorical = categorical

    def find_cuts(self, column: SortedColumn) -> Floats:
        """Return the most probable cut points given the classes.

        See Discretizer.find_cuts and :func:`bayesgraph.statistics.cuts.modl_intervals`.
        """
        check_flags(granular=self.granular)
        search = granular_intervals if self.granular else modl_intervals
        return search(column).cuts

    @property
    def _groups_states(self) -> bool:
        return not any(self.group_values is no for no in (False, np.False_))

    def find_groups(self, counts: Floats) -> list[list[int]] | None:
        """Return the most probable groups of categories, or None if the column is not grouped.

        See Discretizer.find_groups and :func:`bayesgraph.statistics.modl_groups`.
        """
        # The maximum number of categories, of those that occur, of a column that is not grouped.
        limit = 0 if isinstance(self.group_values, (bool, np.bool_)) else self.group_values
        if (counts.sum(axis=1) > 0).sum() <= limit:
            return None
        return best_groups(counts).groups


# Discretisers of tables by name. `bayesgraph.statistics.cuts` has the methods of the same names
# for streams.
DISCRETIZERS: dict[str, type[Discretizer]] = {
    kind.name: kind for kind in (EqualWidth, EqualFrequency, MDLP, MODL)
}
# Those that need no class, from which a network without one takes them.
UNSUPERVISED = {name: kind for name, kind in DISCRETIZERS.items() if not kind.supervised}


class GivenCuts(Discretizer):
    """Discretiser to intervals between cut points that the user gives for some columns.

    Parameters
    ----------
    cuts : mapping from name to array_like
        Ascending cut points of columns of numbers.
    others : Discretizer, optional
        Of the other columns, which stay as they are by default.
    """

    supervised = False

    def __init__(self, cuts: Mapping[Name, ArrayLike], others: Discretizer | None = None) -> None:
        self.cuts = cuts
        self.others = others

    def find_variables(
        self, columns: ColumnsByClass, keep: frozenset[Name] = frozenset()
    ) -> tuple[Variable, ...]:
        """Return the variables with the given intervals; see Discretizer.find_variables.

        Raises
        ------
        UnknownVariableError
            For cut points of a column that the table lacks.
        DataError
            For a column that has no numbers to discretise, and cut points that are no numbers.
        """
        by_name = {v.name: v for v in columns.variables}
        binned = {}
        for name, cuts in self.cuts.items():
            if name not in by_name:
                raise unknown_variable(name, by_name, where="discretizer=: the table")
            if name in keep or type(by_name[name]) is not Continuous:
                raise DataError(
                    f"discretizer= has cut points of {name!r}, which is discrete or has a "
                    "distribution of its own. Leave it out, or out of distributions= and "
                    "categorical=."
                )
            try:
                numbers = np.asarray(cuts, dtype=np.float64).tolist()
                binned[name] = Binned(name, numbers)
            except (TypeError, ValueError):
                raise DataError(
                    f"discretizer= maps {name!r} to a list of cut points, finite numbers in "
                    f"ascending order; got {cuts!r:.200}."
                ) from None
        # Columns without cut points stay, or are discretised by the other discretiser.
        variables = columns.variables
        if self.others is not None:
            variables = self.others.find_variables(columns, keep.union(binned))
        return tuple(binned.get(v.name, v) for v in variables)


def chosen_discretizer(discretizer: Any, default: Discretizer | None) -> Discretizer:
    """Return a new unfitted discretiser for a value of `discretizer=`.

    Parameters
    ----------
    discretizer : name, Discretizer, or mapping from name to cut points
    default : Discretizer, optional
        For the columns that a mapping does not name.

    Raises
    ------
    DataError
        If the name is unknown, or the discretiser has its own `categorical` columns.
    DataTypeError
        If the parameter is none of these.
    """
    if isinstance(discretizer, Mapping):
        return GivenCuts(discretizer, default)
    if isinstance(discretizer, Discretizer):
        if getattr(discretizer, "categorical", None) is not None:
            raise DataError(
                f"discretizer={discretizer!r} names columns, and which of them are categorical is "
                "said by the classifier: give it categorical= instead."
            )
        return type(discretizer)(**discretizer.get_params(deep=False))
    if not isinstance(discretizer, str):
        raise DataTypeError(
            f"discretizer= is one of {quoted(DISCRETIZERS)}, an object such as "
            "bayesgraph.EqualFrequency(5), or cut points of columns, such as {'age': [18, 65]}; "
            f"got {discretizer!r}."
        )
    if discretizer not in DISCRETIZERS:
        raise DataError(f"discretizer= is one of {quoted(DISCRETIZERS)}; got {discretizer!r}.")
    return DISCRETIZERS[discretizer]()


def cell_method(discretizer: Any, bins: int) -> tuple[Any, int]:
    """Return the discretiser of a streaming classifier as a name and a number of intervals.

    Parameters
    ----------
    discretizer : name or Discretizer
    bins : int
        Number of intervals if `discretizer` is a name; a Discretizer has its own number.

    Raises
    ------
    DataError
        If summaries of a stream do not support the discretiser or its options.
    """
    if not isinstance(discretizer, Discretizer):
        return discretizer, bins
    name = getattr(discretizer, "name", None)
    options = {"bins": discretizer.bins} if hasattr(discretizer, "bins") else {}
    # All parameters but `bins` must have their defaults.
    if name not in CELL_METHODS or (
        discretizer.get_params() != type(discretizer)(**options).get_params()
    ):
        raise DataError(
            f"discretizer={discretizer!r} needs all rows of a table; the summaries of a stream "
            f"take {quoted(CELL_METHODS)}, without options but bins."
        )
    return name, options.get("bins", bins)


# ------------------------------------------------------------------------------------- output


def _categories(frame: nw.DataFrame[Any], variable: Discrete, codes: Any) -> Any:
    """Return a column of a frame with the states of a discretised variable as ordered categories.

    `codes` are the state codes of the rows; the type of the column is that of the library of
    `frame`.
    """
    texts = [str(state) for state in variable.states]
    values = decode(Discrete(variable.name, texts), codes).tolist()
    # Arrow has no ordered categories.
    dtype = nw.Categorical() if frame.implementation.is_pyarrow() else nw.Enum(texts)
    name: Any = variable.name
    return nw.new_series(name, values, dtype, backend=frame.implementation)
