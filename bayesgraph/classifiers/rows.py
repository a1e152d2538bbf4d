"""Columns of a table as features, and its rows in chunks, encoded; without scikit-learn."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, is_sparse
from bayesgraph.core.errors import (
    DataError,
    DataTypeError,
    EmptyColumnsWarning,
    quoted,
    warn,
)
from bayesgraph.core.variables import CountVector, Discrete, MissingIndicator, Name, Variable
from bayesgraph.inference import largest, normalised
from bayesgraph.models import FAMILIES, warn_of_impossible
from bayesgraph.tables import (
    Column,
    Encoder,
    Table,
    Unseen,
    as_counts,
    categorical_names,
    check_unseen,
    column_named,
    columns_of,
    encode_table,
    grouped,
    is_discrete,
    is_matrix,
    length,
    of_rows,
    sparse_rows,
    tell,
)

# -------- Assignment of the columns of X to features, and of features to families of distributions


# Families of features that consist of many columns, with the default name of such a feature.
VECTORS = {family.name: family.vector for family in FAMILIES.values() if family.vector}


@dataclass(frozen=True)
class Layout:
    """Assignment of the columns of X to features.

    Attributes
    ----------
    columns : tuple of names
        All columns of X, in their order.
    families : mapping from feature name to family
        Families that the user chose; the type of other features determines their family.
    groups : mapping from feature name to column names
        Features that are vectors of counts, with the columns that each vector consists of.
    categorical : set of names
        Numeric columns that are treated as discrete.
    """

    columns: tuple[Name, ...]
    families: Mapping[Name, str] = field(default_factory=dict)
    groups: Mapping[Name, tuple[Name, ...]] = field(default_factory=dict)
    categorical: frozenset[Name] = frozenset()

    @property
    def is_one_vector(self) -> bool:
        """Whether all columns together are one vector of counts."""
        return len(self.groups) == 1 and next(iter(self.groups.values())) == self.columns

    def grouped(self, columns: Mapping[Name, Column]) -> dict[Name, Column]:
        """Return columns in which those of each count vector are one matrix; see `grouped`."""
        return grouped(columns, self.groups)

    def declared(self, columns: Mapping[Name, Column]) -> dict[Name, Variable]:
        """Return, by name, the variables whose type the chosen families determine.

        These are the variables of count vectors, of counts and of other numbers. All other
        variables are inferred from their columns, which are those returned by `grouped`.
        """
        variables: dict[Name, Variable] = {}
        for name, family in self.families.items():
            kind = FAMILIES[family].variable
            if kind is CountVector:
                items = self.groups.get(name)
                if items is None:  # one column that is a matrix: its items are numbered
                    matrix: Any = columns[name]
                    items = tuple(range(matrix.shape[1]))
                variables[name] = CountVector(name, items)
            elif kind is not Discrete:
                variables[name] = kind(name)
        return variables

    def encoder(self, features: tuple[Variable, ...]) -> Encoder:
        """Return the encoder of tables with the variables `features`; the last encoder is cached.

        A fitted model needs the encoder of its own features for each prediction.
        """
        # By `vars`, since the attributes of a frozen dataclass cannot be assigned.
        encoder: Encoder | None = vars(self).get("_encoder")
        if encoder is None or encoder.variables is not features:
            encoder = Encoder(features)
            vars(self)["_encoder"] = encoder
        return encoder

    def __getstate__(self) -> dict[str, Any]:
        # The cached encoder is left out of copies and pickles, and made again on demand.
        return {name: value for name, value in vars(self).items() if name != "_encoder"}


def make_layout(
    columns: Mapping[Name, Column] | Sequence[Name], distributions: Any, categorical: Any
) -> Layout:
    """Return the layout of columns for the `distributions` and `categorical` that the user gave.

    Parameters
    ----------
    columns : mapping from name to column, or sequence of names
        The latter for an array of numbers.
    distributions : None, name of a family, or mapping to names of families
        A single family applies to all numeric columns ("categorical": to all columns). The keys of
        a mapping are column names (or positions), or tuples of them: the columns of a tuple form
        one vector of counts. Single columns with the same vector family form one vector together.
    categorical : see `bayesgraph.tables.table.categorical_names`

    Raises
    ------
    DataError
        If a family is unknown, or a column is named twice.
    UnknownVariableError
        If a name is not a column.
    """
    names = tuple(columns)
    numeric = frozenset(categorical_names(categorical, names))
    if distributions is None:
        return Layout(names, categorical=numeric)
    # Compared one by one: a mapping, which has no hash, cannot be looked up in a dict.
    if distributions in tuple(VECTORS) and not numeric and not isinstance(columns, Mapping):
        # All columns are numbers, so that none needs to be checked: together they are one vector.
        feature = _fresh(VECTORS[distributions], names, {})
        return Layout(names, {feature: distributions}, {feature: names})
    # Keys are tuples of columns: of a single one, or of those that form a vector.
    chosen = family_by_column(distributions, names)
    discrete = _discrete_columns(columns, chosen)
    if isinstance(distributions, str) and distributions != "categorical":
        # A single family applies to numeric columns only.
        chosen = {key: family for key, family in chosen.items() if key[0] not in discrete}
        if not chosen:
            raise DataTypeError(
                f"distributions={distributions!r} takes numbers, and no column has any: "
                f"{quoted(discrete)}. (Texts become counts by scikit-learn's CountVectorizer.)"
            )
    families: dict[Name, str] = {}
    groups: dict[Name, tuple[Name, ...]] = {}
    # Single columns by their vector family, which form one vector in the end.
    loose: dict[str, list[Name]] = {}
    for key, family in chosen.items():
        _check_key(key, family, numeric)
        if len(key) > 1:
            feature = _fresh(VECTORS[family], names, groups)
            groups[feature], families[feature] = key, family
            continue
        name = key[0]
        # A column may be a matrix of counts, which is a vector by itself.
        is_vector = isinstance(columns, Mapping) and is_matrix(columns[name])
        if name in discrete and not FAMILIES[family].takes_states:
            raise DataTypeError(
                f"Column {name!r} is discrete by its type, and {family} takes numbers; leave it "
                "out of distributions=, or convert it."
            )
        if name in discrete:
            families[name] = "categorical"
        elif family not in VECTORS or is_vector:
            families[name] = family
        else:
            loose.setdefault(family, []).append(name)
    for family, members in loose.items():
        feature = _fresh(VECTORS[family], names, groups)
        groups[feature], families[feature] = tuple(members), family
    # The family "categorical" makes a numeric column discrete, as `categorical` does.
    by_family = {name for name, family in families.items() if family == "categorical"}
    return Layout(names, families, groups, numeric | by_family)


def _discrete_columns(
    columns: Mapping[Name, Column] | Sequence[Name], chosen: Mapping[tuple[Name, ...], str]
) -> set[Name]:
    """Return the columns named in `chosen` that are text, categories or booleans by their type."""
    if not isinstance(columns, Mapping):
        return set()
    return {
        name
        for key in chosen
        for name in key
        if not is_matrix(columns[name]) and is_discrete(columns[name], name)
    }


def _check_key(key: tuple[Name, ...], family: str, categorical: frozenset[Name]) -> None:
    """Raise a DataError if the columns of a key of `distributions` cannot have its family."""
    for name in key:
        if name in categorical and family != "categorical":
            raise DataError(f"Column {name!r} is both categorical and {family}; choose one.")
    if len(key) > 1 and family not in VECTORS:
        raise DataError(
            f"{family!r} is a family of single columns; name {quoted(key)} one by one. (Families "
            f"of many columns together are {quoted(VECTORS)}.)"
        )


def family_by_column(distributions: Any, names: tuple[Name, ...]) -> dict[tuple[Name, ...], str]:
    """Return the family of each column, or of each tuple of columns that form one count vector.

    `distributions` and the errors are those of `make_layout`; `names` are all columns.
    """
    name_set = set(names)
    if isinstance(distributions, str):
        _check_family(distributions)
        return {(name,): distributions for name in names}
    if not isinstance(distributions, Mapping):
        raise DataTypeError(
            "distributions= takes the name of a family, or a mapping from column to family such "
            f"as {{'age': 'gaussian'}}; got {distributions!r}."
        )
    families: dict[tuple[Name, ...], str] = {}
    for key, family in distributions.items():
        _check_family(family)
        # A tuple that is the name of a column stands for that column.
        items = key if isinstance(key, tuple) and key not in name_set else (key,)
        columns = tuple(column_named(item, names, name_set, "distributions=") for item in items)
        families[columns] = family
    flat = [name for key in families for name in key]
    if len(set(flat)) < len(flat):
        twice = sorted({n for n in flat if flat.count(n) > 1}, key=repr)
        raise DataError(f"distributions= names {quoted(twice)} more than once.")
    return families


def _check_family(family: Any) -> None:
    """Raise a DataError unless there is a family of this name."""
    if not isinstance(family, str) or family not in FAMILIES:
        raise DataError(
            f"The families of distributions are {quoted(FAMILIES, maximum=99)}, and 'auto' for all "
            f"columns together; got {family!r}."
        )


def _fresh(name: Name, names: Sequence[Name], groups: Mapping[Name, Any]) -> Name:
    """Return `name`, or `name` with a number if a column or another count vector has that name.

    `names` are the names of all columns, and the keys of `groups` those of the other vectors.
    """
    number, fresh = 1, name
    while fresh in names or fresh in groups:
        number += 1
        fresh = f"{name}_{number}"
    return fresh


# ----------- Rows of a table X in chunks, encoded for a network; scikit-learn is not needed for it


EncodedT = TypeVar("EncodedT")

# Maximum number of rows that are encoded and predicted together, which bounds temporary memory.
_CHUNK_ROWS = 1 << 15
# Number of rows from which on a column without any value is told of.
_MANY_ROWS = 30


@dataclass(frozen=True)
class Columns:
    """The argument X: named columns, one matrix of numbers or objects, or a small frame.

    Attributes
    ----------
    names : tuple of names
    n_rows : int
    columns : mapping from name to column, or None if there is a matrix or a frame
    matrix : ndarray or csr_array, shape (n_rows, n_columns), or None
    frame : pandas.DataFrame or polars.DataFrame, or None
        Split into columns only if it has to be, which would take most of the time.
    """

    names: tuple[Name, ...]
    n_rows: int
    columns: Mapping[Name, Column] | None
    matrix: Any
    frame: Any = None

    def take(self, rows: slice | NDArray[np.intp]) -> Columns:
        """Return the Columns of the rows in a slice or with the given indices."""
        # `indices` replaces the open ends of a slice, and the range of them has its length.
        n_rows = len(range(*rows.indices(self.n_rows))) if isinstance(rows, slice) else len(rows)
        if isinstance(rows, slice) and is_sparse(self.matrix):
            return Columns(self.names, n_rows, None, sparse_rows(self.matrix, rows))
        if self.matrix is not None:
            return Columns(self.names, n_rows, None, self.matrix[rows])
        columns = {name: column[rows] for name, column in self.as_columns().items()}
        return Columns(self.names, n_rows, columns, None)

    def as_columns(self) -> dict[Name, Column]:
        """Return the named columns; a matrix is split into columns."""
        if self.columns is not None:
            return dict(self.columns)
        if self.frame is not None:
            return columns_of(self.frame)
        matrix = self.matrix.toarray() if is_sparse(self.matrix) else self.matrix
        return columns_of(matrix, self.names)

    def cells(self) -> Any:
        """Return all values as one array, or None if it is faster to encode column by column.

        The types of the columns of a frame may be lost in the array.
        """
        frame = self.frame
        if frame is None:
            return self.matrix
        if hasattr(frame, "iloc"):
            # One row is picked from its columns much faster than these are joined.
            cells = frame.iloc[0].to_numpy()[None] if len(frame) == 1 else frame.to_numpy()
            return np.asarray(cells)
        # Of polars cell by cell, so that values keep their types.
        return np.fromiter(chain.from_iterable(frame.rows()), object).reshape(frame.shape)

    def typed(self) -> Mapping[Name, Column] | tuple[Name, ...]:
        """Return the columns if their types may differ; only their names if all are numbers."""
        if self.matrix is not None and self.matrix.dtype.kind in "biuf":
            return self.names
        return self.as_columns()


def n_rows_of(columns: Mapping[Name, Column]) -> int:
    """Return the number of rows of a table, given its columns.

    Raises
    ------
    DataError
        If there are no rows.
    """
    n_rows = length(next(iter(columns.values())))
    if not n_rows:
        raise DataError(f"The table has no rows (its columns are {quoted(columns)}).")
    return n_rows


def known_table(
    columns: Columns, unseen: Unseen, layout: Layout, variables: tuple[Variable, ...]
) -> Table:
    """Return Columns as a table encoded with the variables of a fitted model.

    `unseen` says how categories are treated that are no states.
    """
    if columns.matrix is not None and layout.is_one_vector:
        vector = variables[0]
        assert isinstance(vector, CountVector)  # the layout says so
        return vector_table(columns.matrix, vector)
    # The fast way, without count vectors: one array of all cells; the encoder returns None if it
    # does not suit.
    cells = None if layout.groups else columns.cells()
    if cells is not None:
        check_unseen(unseen)  # encode_table does this itself
        table = layout.encoder(variables).table(cells, unseen)
        if table is not None:
            return table
    return encode_table(layout.grouped(columns.as_columns()), variables, unseen=unseen)


def known_names(estimator: Any, names: Sequence[str], source: object) -> list[str]:
    """Return the columns of a table, given its names, that are features of a fitted estimator.

    Raises
    ------
    DataError
        If the table lacks some; a stream, whose columns come and go, needs one of them.
    """
    features = [str(name) for name in estimator.layout_.columns]
    lacking = [name for name in features if name not in names]
    if lacking and not (getattr(estimator, "_is_open", False) and len(lacking) < len(features)):
        raise DataError(
            f"{source} lacks the columns {quoted(lacking)} that the model was fitted on. (An empty "
            "column stands for cells that are empty in all rows; dates are read by dates=.)"
        )
    return [name for name in features if name not in lacking]


def warn_of_empty(indicators: Collection[MissingIndicator], n_rows: int) -> None:
    """Warn of indicators of missing values that say "yes" in all rows of a table of many rows."""
    if indicators and n_rows >= _MANY_ROWS:
        warn(
            f"All {n_rows:,} cells of {quoted(v.of for v in indicators)} are missing, and to the "
            "model a missing cell there says something about the class. If the column was not "
            "delivered, its cells say nothing: ask by query without it, or fit a model with "
            "missingness='ignorable'.",
            EmptyColumnsWarning,
        )


def vector_table(matrix: Any, vector: CountVector) -> Table:
    """Return a matrix as a table whose only variable is a vector of counts."""
    n_rows = matrix.shape[0]
    # There are no discrete and no continuous variables: both of their arrays have no columns.
    codes = np.empty((n_rows, 0), dtype=np.int8, order="F")
    counts, missing = as_counts(matrix, vector)
    return Table((vector,), codes, np.empty((n_rows, 0)), not missing, {vector: counts})


def encoded_chunks(
    columns: Columns, unseen: Unseen, encode: Callable[[Columns, Unseen], EncodedT]
) -> Iterator[tuple[slice, int, EncodedT]]:
    """Yield chunks of rows, encoded: (slice of the rows, total number of rows, what they became).

    Several chunks are an even number of about the same size, for two threads and more. One warning
    is issued for all of them if there are values that are no states and the policy is "warn".
    """
    n_rows, bounds = columns.n_rows, [0, columns.n_rows]
    if n_rows > _CHUNK_ROWS:
        # The least even number of chunks of at most so many rows; -(-a // b) is a / b rounded up.
        n_chunks = 2 * -(-n_rows // (2 * _CHUNK_ROWS))
        bounds = [n_rows * i // n_chunks for i in range(n_chunks + 1)]
    policy = of_rows(unseen, n_rows)
    for first, last in pairwise(bounds):
        rows = slice(first, last)
        is_whole = last - first == n_rows
        encoded = encode(columns if is_whole else columns.take(rows), policy)
        # Before the last chunk is yielded, since a caller may stop there (as `joined` does).
        if rows.stop == n_rows:
            tell(policy, unseen, n_rows)
        yield rows, n_rows, encoded


def joined(
    scored: Iterable[tuple[slice, int, Floats, int]], finish: Callable[[Floats], NDArray[Any]]
) -> tuple[NDArray[Any], int]:
    """Apply a function to the log scores of all rows, chunk by chunk, and join the results.

    Parameters
    ----------
    scored : iterable of (slice of the rows, total number of rows, log scores, impossible rows)
        The chunks. Log scores are log P(class, row) up to a constant per row, of the shape
        (n_chunk_rows, n_classes).
    finish : callable
        From log scores to one result for each row, such as the normalised probabilities.

    Returns
    -------
    ndarray, int
        The results, and the number of rows of probability zero.
    """
    result: NDArray[Any] = np.empty(0)
    impossible = 0
    for rows, n_rows, joint, count in scored:
        impossible += count
        finished = finish(joint)
        if len(finished) == n_rows:  # a single chunk
            result = finished
            break
        if not rows.start:  # the first chunk
            # Memory layout of each chunk's result: the values of one class are contiguous.
            result = np.empty((*finished.shape[1:], n_rows), dtype=finished.dtype).T
        result[rows] = finished
    return result, impossible


# ------------------------- Columns that a classifier or a regressor predicts for a table in memory


def predicted_columns(estimator: Any, table: Any) -> dict[str, Any]:
    """Return the columns that are predicted for a table in memory, by name.

    Parameters
    ----------
    estimator : fitted classifier or regressor
    table : pyarrow.Table
    """
    columns, impossible = counted(estimator, table, "both")
    warn_of_impossible(impossible, table.num_rows, estimator.target_)
    return columns


def with_policy(estimator: Any, unseen: Unseen, far: dict[Variable, float] | None = None) -> Any:
    """Return a fitted estimator that treats values which are no states in another way.

    With `far`, it does not warn of numbers far outside of what the model expects, but puts them in.
    """
    copied = copy.copy(estimator)
    vars(copied).update(unseen=unseen, _far=far)  # a saved classifier is frozen
    return copied


def counted(estimator: Any, table: Any, what: str) -> tuple[dict[str, Any], int]:
    """Return predicted columns by name, and the number of impossible rows.

    `what` is "predict" for the classes, "predict_proba" for their probabilities, or "both"; of a
    regressor there are always means and standard deviations.
    """
    target = str(estimator.target_.name)
    if not hasattr(estimator, "classes_"):
        means, deviations = estimator.predict(table, return_std=True)
        return {target: means, f"std({target})": deviations}, 0
    # Columns: the index of the most probable class, then the probability of each class.
    results, impossible = estimator._counted_rows(table, _best_and_all)
    columns = {}
    if what != "predict_proba":
        columns[target] = estimator.classes_[results[:, 0].astype(np.intp)]
    if what != "predict":
        for state, column in zip(estimator.classes_, results[:, 1:].T, strict=True):
            columns[f"P({target}={state})"] = column
    return columns, impossible


def _best_and_all(joint: Floats) -> Floats:
    """Return the index of the most probable class of each row, then all class probabilities.

    `joint` has log scores, shape (n_rows, n_classes); the result has the shape
    (n_rows, 1 + n_classes).
    """
    # Transposed at the end, so that the values of one class are contiguous.
    return np.vstack([largest(joint), normalised(joint).T]).T
