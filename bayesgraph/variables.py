"""Variables: a name and what values it takes, exactly as the user typed them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import DataTypeError, EvidenceError, UnknownStateError, quoted, suggestion

Name: TypeAlias = Hashable
State: TypeAlias = Hashable


_PLAIN = {str, int}


def plain(value: Any) -> Any:
    """Return NumPy scalars as the Python values they stand for, anything else unchanged.

    A time to the nanosecond has none: it stays a NumPy scalar and does not become a bare integer.
    """
    if not isinstance(value, np.generic):
        return value
    item = value.item()
    is_time = isinstance(value, (np.datetime64, np.timedelta64))
    return value if is_time and isinstance(item, int) else item


def is_missing(value: object) -> bool:
    """Tell whether a value stands for *not observed*: None, NaN, NaT or pandas' NA."""
    if value is None or value is np.ma.masked:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to be a truth value
        return True
    except ValueError:  # an array: a likelihood, not a missing value
        return False


def _check_name(name: object) -> None:
    try:
        hash(name)
    except TypeError as error:
        raise DataTypeError(
            f"A variable's name must be hashable, such as a string; got {name!r}."
        ) from error
    if is_missing(name):
        raise DataTypeError(f"A variable needs a name; got {name!r}.")


class Discrete:
    """A variable with a finite list of states.

    Parameters
    ----------
    name : hashable
        Usually a string; kept as it is.
    states : iterable of hashable
        Kept in type, spelling and order. ``True``, ``1``, ``1.0`` and ``"1"`` are four different
        states. NumPy scalars become the Python values they stand for.

    Raises
    ------
    DataTypeError
        For a name or a state that cannot be hashed.
    ValueError
        For no states, a state given twice, or a state that means *missing*.

    Examples
    --------
    >>> rain = Discrete("rain", ["no", "yes"])
    >>> rain.index("yes")
    1
    """

    __slots__ = ("_by_equality", "_by_type", "_hash", "name", "states")

    name: Name
    states: tuple[State, ...]

    def __init__(self, name: Name, states: Iterable[State]) -> None:
        _check_name(name)
        if isinstance(states, (str, bytes, set, frozenset)) or not isinstance(states, Iterable):
            raise DataTypeError(
                f"Expected a list of states for {name!r}, whose order counts; got {states!r}."
            )
        values = tuple(plain(state) for state in states)
        if not values:
            raise EvidenceError(f"Variable {name!r} needs at least one state; got none.")
        for value in values:
            try:
                hash(value)
            except TypeError as error:
                raise DataTypeError(
                    f"State {value!r} of {name!r} cannot be hashed; use a string, a number, a "
                    "boolean or a tuple."
                ) from error
            if is_missing(value):
                raise EvidenceError(
                    f"{value!r} means missing and cannot be a state of {name!r}; leave it out: "
                    "missing values are marginalised."
                )
        by_type = {(type(value), value): code for code, value in enumerate(values)}
        if len(by_type) < len(values):
            twice = [
                value for code, value in enumerate(values) if by_type[type(value), value] != code
            ]
            raise EvidenceError(f"Variable {name!r} has the state {twice[0]!r} more than once.")
        by_equality: dict[State, int] = {}
        for code, value in enumerate(values):
            # -1 marks a value that equals several states, which only the type tells apart.
            by_equality[value] = -1 if value in by_equality else code
        self._by_type = by_type
        self._by_equality = by_equality
        self.name = name
        self.states = values
        self._hash = hash((name, values))

    @property
    def cardinality(self) -> int:
        """The number of states."""
        return len(self.states)

    def find(self, state: object) -> int | None:
        """Return the position of a state, None if there is none, -1 if it equals several.

        For callers with many values, most of them perhaps unknown: `index` explains itself, which
        takes time.
        """
        value = plain(state)
        try:
            code = self._by_type.get((type(value), value))
            return self._by_equality.get(value) if code is None else code
        except TypeError:
            return None

    def index(self, state: object) -> int:
        """Return the position of a state.

        The state is looked up by type and value first, then by equality if only one state equals
        it (``1`` finds ``True`` when ``True`` is the only such state).

        Raises
        ------
        UnknownStateError
            If there is no such state, with the nearest one named.
        """
        value, code = plain(state), self.find(state)
        if code is None:
            near = suggestion(value, self.states)
            raise UnknownStateError(
                f"Variable {self.name!r} has no state {value!r}.{near} "
                f"Its states are {quoted(self.states)}."
            )
        if code < 0:
            raise UnknownStateError(
                f"{value!r} equals more than one state of {self.name!r}, whose states are "
                f"{quoted(self.states)}; give it with the type of the state that you mean."
            )
        return code

    def encode(self, value: object) -> int:
        """Return how a value is encoded: the position of the state."""
        try:
            code = self._by_type.get((type(value), value))
        except TypeError:
            code = None
        return self.index(value) if code is None else code

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Discrete)
            and self._hash == other._hash
            and self.name == other.name
            and self._by_type == other._by_type
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Discrete], tuple[Name, tuple[State, ...]]]:
        return Discrete, (self.name, self.states)

    def __repr__(self) -> str:
        return f"Discrete({self.name!r}, [{quoted(self.states)}])"


class Continuous:
    """A real-valued variable.

    Parameters
    ----------
    name : hashable
        Usually a string; kept as it is.
    """

    __slots__ = ("_hash", "name")

    name: Name

    def __init__(self, name: Name) -> None:
        _check_name(name)
        self.name = name
        self._hash = hash((type(self).__name__, name))

    def number(self, value: object) -> float:
        """Return the value as a float.

        Raises
        ------
        EvidenceError
            If it is not a finite real number.
        """
        number = plain(value)
        if isinstance(number, (str, bytes, np.generic, np.ndarray)):
            number = None  # "3" is text: a number in quotes is a mistake, not a measurement
        try:
            result = float(number)
        except (TypeError, ValueError, OverflowError) as error:
            raise EvidenceError(
                f"Variable {self.name!r} is continuous and takes a number; got {value!r}."
            ) from error
        if not math.isfinite(result):
            raise EvidenceError(f"Variable {self.name!r} takes a finite number; got {value!r}.")
        return result

    def encode(self, value: object) -> float:
        """Return how a value is encoded: the number itself."""
        return self.number(value)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and self.name == other.name)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Continuous], tuple[Name]]:
        return type(self), (self.name,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class Count(Continuous):
    """A number of events: a real-valued variable that is never negative.

    Parameters
    ----------
    name : hashable
        Usually a string; kept as it is.
    """

    __slots__ = ()

    def number(self, value: object) -> float:
        """Return the value as a float.

        Raises
        ------
        EvidenceError
            If it is not a finite number, or negative.
        """
        number = super().number(value)
        if number < 0:
            raise EvidenceError(f"Variable {self.name!r} is a count, 0 or more; got {value!r}.")
        return number


class CountVector:
    """Counts of many exchangeable items, such as the words of a document, as one node.

    Parameters
    ----------
    name : hashable
        Of the whole vector.
    items : iterable of hashable
        What is counted, in the order of the columns.

    Raises
    ------
    DataTypeError
        For a name or an item that cannot be hashed.
    ValueError
        For no items, or an item given twice.

    Examples
    --------
    >>> words = CountVector("words", ["free", "meeting", "money"])
    >>> words.encode({"free": 2, "money": 1})
    array([2., 0., 1.])
    """

    # Not slots: the positions of many thousand items are made when they are first needed.
    name: Name
    items: tuple[Name, ...]

    def __init__(self, name: Name, items: Iterable[Name]) -> None:
        _check_name(name)
        if isinstance(items, (str, bytes, set, frozenset)) or not isinstance(items, Iterable):
            raise DataTypeError(
                f"Expected a list of items for {name!r}, whose order counts; got {items!r}."
            )
        self.name = name
        self._hash = hash(("CountVector", name))
        self.items = tuple(items)
        if not self.items:
            raise EvidenceError(f"The counts {name!r} need at least one item; got none.")
        if not {type(item) for item in self.items} <= _PLAIN:
            for item in self.items:
                _check_name(item)
        if len(set(self.items)) < len(self.items):
            seen: set[Name] = set()
            twice = next(item for item in self.items if item in seen or seen.add(item))  # type: ignore[func-returns-value]
            raise EvidenceError(f"The counts {name!r} have the item {twice!r} more than once.")

    @cached_property
    def positions(self) -> dict[Name, int]:
        """Where each item stands."""
        return {item: i for i, item in enumerate(self.items)}

    def encode(self, value: object) -> NDArray[np.float64]:
        """Return counts as an array of shape (n_items,), NaN where missing.

        Parameters
        ----------
        value : mapping from item to count, or array_like of shape (n_items,)
            Items that a mapping does not name were counted zero times; None and NaN are missing.

        Raises
        ------
        EvidenceError
            For an unknown item, a wrong length, or a count that is negative or infinite.
        """
        numbers = np.zeros(len(self.items))
        if isinstance(value, Mapping):
            for item, count in value.items():
                at = self.positions.get(item)
                if at is None:
                    near = suggestion(item, self.items)
                    raise EvidenceError(f"The counts {self.name!r} have no item {item!r}.{near}")
                numbers[at] = self._number(item, count)
            return numbers
        dense = value.toarray() if hasattr(value, "toarray") else value
        try:
            given = np.asarray(dense, dtype=object).reshape(-1)
        except (TypeError, ValueError):
            given = np.empty(0, dtype=object)
        if isinstance(value, (str, bytes)) or given.shape != numbers.shape:
            raise EvidenceError(
                f"{self.name!r} takes a mapping from item to count, or {len(self.items)} counts in "
                f"the order of its items; got {value!r:.80}."
            )
        numbers[:] = [
            self._number(item, count) for item, count in zip(self.items, given, strict=True)
        ]
        return numbers

    def _number(self, item: Name, count: object) -> float:
        return math.nan if is_missing(count) else Count(item).number(count)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, CountVector) and self.name == other.name and self.items == other.items
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[CountVector], tuple[Name, tuple[Name, ...]]]:
        return CountVector, (self.name, self.items)

    def __repr__(self) -> str:
        return f"CountVector({self.name!r}, {len(self.items):,} items)"


Variable: TypeAlias = Discrete | Continuous | CountVector


def decode(variable: Variable, column: NDArray[Any]) -> NDArray[Any]:
    """Return state codes as an array of states, numbers unchanged.

    States of one type keep it (as a NumPy string, integer, float or boolean array); others come as
    Python objects. A code of -1 becomes None, which makes the array one of objects.
    """
    if not isinstance(variable, Discrete):
        return column
    codes = column.astype(np.intp)
    kinds = {type(state) for state in variable.states}
    if len(kinds) == 1 and kinds <= {str, int, float, bool} and not (codes < 0).any():
        states = np.array(variable.states)
        if states.dtype.kind != "O":
            return np.asarray(states[codes])
    objects = np.empty(len(variable.states) + 1, dtype=object)
    objects[:-1] = variable.states
    return np.asarray(objects[codes])
