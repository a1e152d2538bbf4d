"""Encoding of the columns of a stream: numbers unchanged, states as integer codes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayesgraph.classifiers.rows import Columns
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataTypeError, UnknownStateError, quoted, suggestion
from bayesgraph.core.variables import Discrete, Grouped, Name, State, Variable, is_missing, plain
from bayesgraph.learning import StreamingStar
from bayesgraph.statistics import FIRST_KEY, key_of
from bayesgraph.tables import (
    MAGNITUDES,
    Column,
    Examined,
    Factorised,
    Unseen,
    UnseenValues,
    as_numbers,
    categorical_names,
    check_kinds,
    check_magnitudes,
    factorise,
    floats,
    infinite,
    is_discrete,
    kind_of,
    naturally_ordered,
)

# Encoded rows: numbers, shape (n_numbers, n_rows), and state codes, shape (n_states, n_rows).
Encoded = tuple[Floats, NDArray[np.int64]]
# Code of a state that was never learned, until the rows that have one are counted; then it is -1,
# as for missing values.
_UNSEEN = -2


@dataclass
class StreamColumns:
    """The numeric and the discrete columns of a stream, and the states learned so far.

    Attributes
    ----------
    numbers, states : list of names
        Names of the numeric columns, and of the discrete columns.
    vocabularies : list of dict
        For each discrete column, a mapping from (type, state) to code. The first `max_categories`
        states have the codes 0, 1, ...; a later state has as its code a hash key, under which a
        summary counts the frequent values.
    """

    numbers: list[Name] = field(default_factory=list)
    states: list[Name] = field(default_factory=list)
    vocabularies: list[dict[Any, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Names of all columns, for look-ups. A dict, since unlike a set it has an order, which
        # copies and pickles of equal models share.
        self._known_names = dict.fromkeys(self.names)

    @classmethod
    def of(cls, table: Columns, categorical: Collection[Name]) -> StreamColumns:
        """Return the columns of a table, with empty vocabularies.

        Text and booleans are discrete, even if they are not in `categorical`, the names of the
        numeric columns to treat as discrete.
        """
        typed = table.typed()
        booleans = table.matrix is not None and table.matrix.dtype.kind == "b"
        states = [
            n
            for n in table.names
            if booleans
            or n in categorical
            or (isinstance(typed, Mapping) and is_discrete(typed[n], n))
        ]
        discrete = set(states)
        numbers = [n for n in table.names if n not in discrete]
        return cls(numbers, states, [{} for _ in states])

    @property
    def names(self) -> list[Name]:
        """Names of the numeric columns, then of the discrete columns."""
        return [*self.numbers, *self.states]

    # ------------------------------------------------------------------------------ tables

    def learned(self, rows: Columns | Mapping[Name, Any], star: StreamingStar) -> Encoded:
        """Return rows encoded for learning; new states are added to the vocabularies.

        `rows` is a table or a single row. If an error is raised, the vocabularies are unchanged.
        """
        numbers = self._numbers(rows)
        _check_squares(numbers, self.numbers, star)
        limit = star.settings.max_categories
        return numbers, self._codes(rows, lambda j, s: self._learn(j, s, limit))

    def known(
        self, rows: Columns | Mapping[Name, Any], unseen: Unseen, star: StreamingStar
    ) -> Encoded:
        """Return rows encoded for prediction; see `_known` for the codes of unknown states.

        `rows` is a table or a single row.
        """
        codes = self._codes(rows, lambda j, s: self._known(j, s, star, unseen))
        if isinstance(unseen, UnseenValues):
            # Rows with a state that was never learned are counted for the warning, column by
            # column; from then on the value is missing.
            for name, column in zip(self.states, codes, strict=True):
                is_unseen = column == _UNSEEN
                if is_unseen.any():
                    unseen.add(name, int(is_unseen.sum()))
                column[is_unseen] = -1
        return self._numbers(rows), codes

    def examined(self, encoded: Encoded) -> Examined:
        """Return encoded rows in the form that the checks of columns take; rows are axis 0."""
        # The keys of a vocabulary are pairs (type, state).
        states = [[state for _, state in vocabulary] for vocabulary in self.vocabularies]
        numbers, codes = encoded
        return Examined(numbers.T, self.numbers, codes.T, self.states, states)

    def _numbers(self, rows: Columns | Mapping[Name, Any]) -> Floats:
        """Return the numeric columns of a table or a single row, shape (n_numbers, n_rows)."""
        if not isinstance(rows, Columns):
            _check_mapping(rows)
            # Usually a row has all numbers in the order of the first row, without a look-up.
            names = self.numbers
            values = list(rows.values()) if list(rows) == names else [rows.get(n) for n in names]
            if not _PLAIN.issuperset(map(type, values)):
                values = [_number(n, value) for n, value in zip(names, values, strict=True)]
            columns = np.array(values, dtype=np.float64)[:, None]
        elif rows.matrix is not None and rows.matrix.dtype.kind in "biuf" and not self.states:
            # A view: blocks of rows are transposed when they are used, in the processor's cache by
            # then. Masked cells are missing.
            columns = floats(rows.matrix).T
        else:
            by_name = rows.as_columns()
            columns = np.empty((len(self.numbers), rows.n_rows))
            for j, name in enumerate(self.numbers):
                columns[j] = as_numbers(by_name[name], name)
        _check_finite(columns, self.numbers)
        return columns

    def _codes(
        self, rows: Columns | Mapping[Name, Any], code_of: Callable[[int, Any], int]
    ) -> NDArray[np.int64]:
        """Return the codes of states, shape (n_states, n_rows), -1 where missing.

        `code_of` returns the code of a state, given the index of its discrete column.
        """
        n_rows = rows.n_rows if isinstance(rows, Columns) else 1
        codes = np.empty((len(self.states), n_rows), dtype=np.int64)
        if not self.states:
            return codes
        if not isinstance(rows, Columns):
            _check_mapping(rows)
            for j, name in enumerate(self.states):
                value = plain(rows.get(name))
                # A value without a hash is no state: it is missing in prediction; for learning,
                # `fresh` has raised an error.
                codes[j, 0] = (
                    -1 if is_missing(value) or not _is_hashable(value) else code_of(j, value)
                )
            return codes
        columns = rows.as_columns()
        factorised_columns = [factorise(columns[name], name) for name in self.states]
        # All columns are checked before a state of any is learned. A column with one known state
        # is of the right kind.
        for j, factorised in enumerate(factorised_columns):
            if not any((type(s), s) in self.vocabularies[j] for s in factorised.states):
                self._check_kind(j, factorised)
        for j, factorised in enumerate(factorised_columns):
            used, first = np.unique(factorised.codes, return_index=True)
            # From codes in the table to codes in the model; the last entry is that of -1, missing.
            translation = np.full(len(factorised.states) + 1, -1)
            # New codes in the order of the first rows, independently of the batches.
            for code in used[np.argsort(first)].tolist():
                if code >= 0:
                    translation[code] = code_of(j, factorised.states[code])
            codes[j] = translation[factorised.codes]
        return codes

    # ---------------------------------------------------------------------- columns by name

    def fresh_of(self, columns: Mapping[Name, Column], categorical: Any) -> StreamColumns:
        """Return the columns of a table that are new and have a value.

        `categorical` are the numeric columns to treat as discrete, by name or position, or "all".
        """
        present = self._known_names
        names = [n for n in columns if n not in present and _has_values(columns[n], n)]
        if categorical is None or isinstance(categorical, str):
            listed = categorical_names(categorical, names)
        else:  # by name or by position; it may also list columns that are known
            chosen = set(categorical)
            listed = {n for i, n in enumerate(names, len(present)) if n in chosen or i in chosen}
        return StreamColumns.of(Columns(tuple(names), 0, columns, None), listed)

    def completed(
        self, columns: Mapping[Name, Column], names: Sequence[Name], n_rows: int
    ) -> Columns:
        """Return the columns `names`; a column that the table lacks has only missing values."""
        no_numbers, no_states = np.full(n_rows, np.nan), np.full(n_rows, None)
        states = set(self.states)
        arrays = {n: columns.get(n, no_states if n in states else no_numbers) for n in names}
        return Columns(tuple(names), n_rows, arrays, None)

    # ------------------------------------------------------------------------- single rows

    def fresh(self, x: Mapping[Name, Any], categorical: Any) -> StreamColumns:
        """Return the new columns that the row `x` brings; the result is falsy if there are none.

        All errors for states that cannot be learned are raised here, before the model changes.
        `categorical` are the numeric columns to treat as discrete, by name or position, or "all".
        """
        _check_mapping(x)
        # The usual row of numbers alone brings nothing new.
        if not self.states and list(x) == self.numbers:
            return NO_COLUMNS
        cells = {n: _cell(value) for n, value in x.items() if n not in self._known_names}
        # A state that is new has to be of the kind of the known ones, text or numbers.
        for j, name in enumerate(self.states):
            value = plain(x.get(name))
            is_known = _is_hashable(value) and self._key(j, value) in self.vocabularies[j]
            if not (is_known or is_missing(value)):
                self._check_kind(j, factorise(_cell(value), name))
        return self.fresh_of(cells, categorical) if cells else NO_COLUMNS

    def _check_kind(self, j: int, factorised: Factorised) -> None:
        """Raise an error if discrete column j has text and `factorised` numbers, or vice versa."""
        kinds, vocabulary = {*map(kind_of, factorised.values())}, self.vocabularies[j]
        # One state of such a kind is enough: all are listed for the message only.
        if kinds and vocabulary and not any(kind_of(state) in kinds for _, state in vocabulary):
            check_kinds(Discrete(self.states[j], self._known_states(j)), factorised)

    def __bool__(self) -> bool:
        return bool(self.numbers or self.states)

    def joined(self, more: StreamColumns) -> StreamColumns:
        """Return these columns with further numeric and discrete columns appended."""
        if not more:
            return self
        return StreamColumns(
            [*self.numbers, *more.numbers],
            [*self.states, *more.states],
            [*self.vocabularies, *more.vocabularies],
        )

    # ------------------------------------------------------------------------------ states

    def _key(self, j: int, state: Any) -> tuple[type, Any]:
        """Return the key (type, value) of a state in the vocabulary of discrete column j.

        An unknown number takes the key of the known number of equal value, if there is exactly one.
        For instance, integers become floats in tables whose column has missing values.
        """
        vocabulary = self.vocabularies[j]
        key = (type(state), state)
        if key not in vocabulary and isinstance(state, (bool, int, float)):
            equal = [kind for kind in (bool, int, float) if (kind, state) in vocabulary]
            return (equal[0], state) if len(equal) == 1 else key
        return key

    def _learn(self, j: int, state: Any, max_categories: int) -> int:
        """Return the code of a state of discrete column j; a new state is added to the vocabulary.

        From `max_categories` states on, the code of a new state is a hash key.
        """
        vocabulary, key = self.vocabularies[j], self._key(j, state)
        if key not in vocabulary:
            full = len(vocabulary) >= max_categories
            vocabulary[key] = key_of(state) if full else len(vocabulary)
        return vocabulary[key]

    def _known(self, j: int, state: Any, star: StreamingStar, unseen: Unseen) -> int:
        """Return the code of a state of discrete column j for prediction.

        An unknown state has as its code a hash key if the model counts only the frequent states of
        the column. Otherwise the code is -1, or an error is raised if `unseen` is "error".
        """
        code = self.vocabularies[j].get(self._key(j, state))
        if code is not None:
            return code
        if star.is_sketched(j):
            return key_of(state)
        if isinstance(unseen, UnseenValues):
            unseen.add(self.states[j], 0, [state])
            return _UNSEEN
        if unseen == "error":
            states = self._known_states(j)
            raise UnknownStateError(
                f"Column {self.states[j]!r} has a value that was never learned: {state!r}."
                f"{suggestion(state, states)} Its states are {quoted(states)}."
            )
        return -1

    def _known_states(self, j: int, n: int | None = None) -> list[Any]:
        """Return the first n states (None: all) that column j learned, in natural order."""
        return naturally_ordered([state for _, state in self.vocabularies[j]][:n])

    def forget_rare(self, star: StreamingStar) -> None:
        """Remove rare states, those that the model no longer uses, from large vocabularies."""
        # Well above what is kept, so that few calls go through a vocabulary.
        limit = 4 * star.settings.max_categories + 1024
        for j, vocabulary in enumerate(self.vocabularies):
            if len(vocabulary) > limit:
                # Codes from `FIRST_KEY` on are hash keys, which the model may no longer list.
                used = star.keys_in_use(j)
                self.vocabularies[j] = {
                    key: code
                    for key, code in vocabulary.items()
                    if code < FIRST_KEY or code in used
                }

    # ---------------------------------------------------------------------------- the model

    def variables(self, star: StreamingStar) -> list[Variable]:
        """Return the variables of all columns, numeric columns first.

        Their states are those of the model's current class-conditional densities: intervals,
        states, or groups of states.
        """
        variables: list[Variable] = list(star.numbers.variables(self.numbers))
        # The number of states, or of groups of states, that each discrete column has in the model.
        sizes = np.diff(star.states.start).tolist()
        for j, (name, n) in enumerate(zip(self.states, sizes, strict=True)):
            keys_and_groups = star.states.groups(j)
            if keys_and_groups is None:
                variables.append(Discrete(name, self._known_states(j, n) or ["(none yet)"]))
                continue
            spelling = {code: state for (_, state), code in self.vocabularies[j].items()}
            groups: list[list[State]] = [[] for _ in range(n)]
            # The codes of the frequent states, and the index of the group of each.
            keys, places = (array.tolist() for array in keys_and_groups)
            for key, place in zip(keys, places, strict=True):
                groups[place].append(spelling[key])
            # Rare states are in the last group.
            others = "(other)"
            while others in spelling.values():
                others += "'"
            groups[-1].append(others)
            variables.append(Grouped(name, groups, others=True))
        return variables

    def state_order(self, star: StreamingStar) -> list[int]:
        """Return the positions in the model's densities of all states, in the order of `variables`.

        The densities have states in the order in which they were learned, `variables` in natural
        order, one discrete column after the other.
        """
        # In the densities, discrete column j has the positions from start[j] up to start[j + 1].
        start, order = star.states.start.tolist(), []
        for j, (vocabulary, a, b) in enumerate(
            zip(self.vocabularies, start[:-1], start[1:], strict=True)
        ):
            if star.states.groups(j) is None:
                states = self._known_states(j, b - a)
                order += [a + vocabulary[type(state), state] for state in states]
            else:  # groups are in order
                order += range(a, b)
        return order


# What a row brings that has known columns alone.
NO_COLUMNS = StreamColumns()
# Types of values that NumPy converts to floats without further checks.
_PLAIN = {float, bool, type(None), np.float64, np.int64}


def _number(name: Name, value: Any) -> float:
    """Return a value of a row as a float, NaN if it is missing; an error if it is not a number."""
    value = plain(value)
    if is_missing(value):
        return np.nan
    if isinstance(value, (Real, Decimal)):
        with suppress(OverflowError):
            return float(value)
        return np.inf  # beyond all floats, which `_check_finite` refuses
    raise DataTypeError(
        f"Feature {name!r} is numeric; got {value!r:.60}, which is no number. Convert it, or name "
        "the feature in categorical= of a new model."
    )


def _cell(value: Any) -> NDArray[np.object_]:
    """Return a column of one value."""
    column = np.empty(1, dtype=object)
    column[0] = plain(value)
    return column


def _has_values(column: Column, name: Name) -> bool:
    """Return whether a column has a value; an error if it is neither discrete nor numeric."""
    if isinstance(column, nw.Series):
        nothing = column.null_count() == len(column)
    else:
        nothing = column.dtype.kind == "O" and all(is_missing(plain(v)) for v in column)
    if nothing:
        return False
    if is_discrete(column, name):
        return bool((factorise(column, name).codes >= 0).any())
    numbers = as_numbers(column, name)
    _check_finite(numbers[None], [name])  # shape (1, n_rows)
    return not np.isnan(numbers).all()


def _is_hashable(value: Any) -> bool:
    """Return whether `hash` accepts a value; ``isinstance(v, Hashable)`` may err for tuples."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _check_mapping(x: Any) -> None:
    """Raise a DataTypeError unless a single row is a mapping."""
    if type(x) is not dict and not isinstance(x, Mapping):
        raise DataTypeError(
            f"A single row is a mapping from name to value; got {type(x).__name__}. Tables go to "
            "partial_fit and predict."
        )


def _check_finite(columns: Floats, names: Sequence[Name]) -> None:
    """Raise an error for infinite numbers, with the name of the first column that has one.

    `columns` has the shape (n_columns, n_rows).
    """
    # Usually one pass is enough: no number is large, and none is missing.
    if _are_small(columns):
        return
    # Missing values and large numbers, which are allowed, come here too. Axes are (column, row).
    wrong = np.isinf(columns)
    if wrong.any():
        column, row = np.argwhere(wrong)[0].tolist()
        raise infinite(names[column], row)


def _are_small(numbers: Floats) -> bool:
    """Tell whether the sum of squares of numbers is far from overflow; not if one is missing."""
    flat = numbers.ravel("K")
    return bool(np.vdot(flat, flat) <= MAGNITUDES[1] ** 2)  # which does not warn of overflow


def _check_squares(columns: Floats, names: Sequence[Name], star: StreamingStar) -> None:
    """Raise an error for numbers whose squares overflow, if the summaries are sums of squares."""
    of_squares = star.summaries.densities == "gaussians"
    if of_squares and not _are_small(columns):
        largest = np.abs(columns).max(axis=1, initial=0.0, where=~np.isnan(columns))
        # Small magnitudes are allowed, as other rows of the column may be larger: 0 passes here.
        check_magnitudes(names, np.where(largest > 1.0, largest, 0.0))
