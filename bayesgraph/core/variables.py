"""Variables: a name and its possible values, exactly as the user gave them."""

from __future__ import annotations

import math
import operator
import sys
from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from heapq import heappop, heappush
from itertools import pairwise, repeat
from threading import RLock
from typing import Any, TypeAlias, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.compilation import kernel
from bayesgraph.core.errors import (
    DataTypeError,
    EvidenceError,
    UnknownStateError,
    quoted,
    spelt,
    suggestion,
)

# ------------------------ Variables: a name and its possible values, exactly as the user gave them


Name: TypeAlias = Hashable
State: TypeAlias = Hashable

# Texts of cells of tables that mean a missing value.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")

_PLAIN = {str, int}
# Most values are of these types. Equal ones of a type are spelt alike, but for the sign of 0.0.
_USUAL = {*_PLAIN, bool, float, type(None)}


def plain(value: Any) -> Any:
    """Return a scalar of NumPy or Arrow as the equivalent Python value, and others unchanged.

    A NumPy time in nanoseconds has no Python equivalent: it stays a NumPy scalar instead of
    becoming an integer.
    """
    if type(value) in _USUAL:
        return value
    if not isinstance(value, np.generic):
        return value.as_py() if hasattr(value, "as_py") else value
    item = value.item()
    is_time = isinstance(value, (np.datetime64, np.timedelta64))
    return value if is_time and isinstance(item, int) else item


def is_missing(value: object) -> bool:
    """Tell whether a value means *not observed*: None, NaN, NaT, pandas' NA or NumPy's masked."""
    if value is None or value is np.ma.masked:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to be a truth value, and so do columns of Polars
        return not hasattr(value, "__len__")
    except ValueError:  # an array: a likelihood, not a missing value
        return False


def _plain_name(name: Name) -> Name:
    """Return a name as variables have it; see `plain`."""
    if type(name) is str:  # most often, and valid
        return name
    try:
        hash(name)
    except TypeError as error:
        raise DataTypeError(
            f"A variable's name must be hashable, such as a string; got {name!r}."
        ) from error
    if is_missing(name):
        raise DataTypeError(f"A variable needs a name; got {name!r}.")
    value: Name = plain(name)
    return value


# Maximum number of states, all text or all whole numbers, whose indices variables share.
_SHARED_STATES = 1000


def _indices(name: Name, values: tuple[State, ...]) -> tuple[dict[Any, int], dict[State, int]]:
    """Return the index of each state by type and value, and by value, after checking all states.

    By its value alone, a state that equals another one (True and 1) has the mark -1.
    """
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
        twice = [value for code, value in enumerate(values) if by_type[type(value), value] != code]
        raise EvidenceError(f"Variable {name!r} has the state {spelt(twice[0])} more than once.")
    by_equality: dict[State, int] = {}
    for code, value in enumerate(values):
        # -1 marks a value that equals several states, which only the type distinguishes.
        by_equality[value] = -1 if value in by_equality else code
    return by_type, by_equality


_Indexed: TypeAlias = tuple[tuple[State, ...], dict[Any, int], dict[State, int]]


@lru_cache(maxsize=64)
def _shared(values: tuple[State, ...]) -> _Indexed:
    """Return states with their indices; many variables have the same, such as no and yes."""
    return values, *_indices("", values)


def _indexed(name: Name, values: tuple[State, ...]) -> _Indexed:
    """Return states as variables have them, with their indices."""
    # States that are all text or all whole numbers need no conversion. They are shared, unless they
    # are very many, or one is there twice: its error names the variable.
    if {*map(type, values)} not in ({str}, {int}):
        values = tuple(map(plain, values))
    elif len(values) <= _SHARED_STATES and len({*values}) == len(values):
        return _shared(values)
    return values, *_indices(name, values)


_VariableT = TypeVar("_VariableT")
_VARIABLES: WeakValueDictionary[Any, Any] = WeakValueDictionary()
_LOCK = RLock()


class _Unique(type):
    """Metaclass of variables: equal ones are one object, which Python hashes by its address.

    Variables are keys of many dictionaries; methods `__hash__` and `__eq__` would be called at each
    access.
    """

    def __call__(cls: type[_VariableT], *args: Any, **options: Any) -> _VariableT:
        variable: _VariableT = super().__call__(*args, **options)  # type: ignore[misc]
        # The arguments that make the variable again.
        key = variable.__reduce__()[1]
        with _LOCK:
            unique: _VariableT = _VARIABLES.setdefault((cls, key, _types(key)), variable)
        return unique


def _types(value: Any) -> Any:
    """Return what tells equal values apart: types, of items too, signs of floats, and spelling."""
    kind = type(value)
    if kind in _USUAL:
        return math.copysign(1.0, value) if kind is float else kind
    if kind is tuple:
        types = tuple(map(type, value))
        kinds = set(types)
        # 0.0 and -0.0 are equal, and only their sign tells them apart.
        if kinds == {float}:
            return tuple(map(math.copysign, repeat(1.0), value))
        # With tuples, or floats among others, item by item.
        alike = float not in kinds and kinds <= _USUAL
        return types if alike else tuple(map(_types, value))
    if isinstance(value, tuple):
        return (kind, *map(_types, value))
    if kind is frozenset:  # whose order may differ
        return frozenset((item, _types(item)) for item in value)
    # By default, an object is spelt as its address.
    text = spelt(value)
    return kind if text == object.__repr__(value) else (kind, text)


def _listed(name: Name, values: Iterable[Any], what: str) -> tuple[Any, ...]:
    """Return values whose order counts, such as the states of a variable, as a tuple."""
    if isinstance(values, (str, bytes, set, frozenset)) or not isinstance(values, Iterable):
        raise DataTypeError(
            f"Expected a list of {what} for {name!r}, whose order counts; got {spelt(values)}."
        )
    return tuple(values)


class Discrete(metaclass=_Unique):
    """A variable with a finite list of states.

    Parameters
    ----------
    name : hashable
        Usually a string; kept as given, NumPy scalars as Python values.
    states : iterable of hashable
        Types, spelling and order are kept. ``True``, ``1``, ``1.0`` and ``"1"`` are four different
        states. NumPy scalars are converted to Python values.

    Attributes
    ----------
    cardinality : int
        The number of states.

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

    # `_by_type` and `_by_equality` have the index of each state; see `_indices`.
    __slots__ = ("__weakref__", "_by_equality", "_by_type", "cardinality", "name", "states")

    name: Name
    states: tuple[State, ...]
    cardinality: int

    def __init__(self, name: Name, states: Iterable[State]) -> None:
        name = _plain_name(name)
        self.name = name
        usual = type(states) in (list, tuple)
        values = tuple(states) if usual else _listed(name, states, "states")
        self.states, self._by_type, self._by_equality = _indexed(name, values)
        self.cardinality = len(self.states)

    def find(self, state: object) -> int | None:
        """Return the index of a state without raising errors.

        The result is None for an unknown value, and -1 for a value that equals several states. The
        method is faster than `index` for unknown values, because it composes no error message.
        """
        value = plain(state)
        try:
            code = self._by_type.get((type(value), value))
            return self._by_equality.get(value) if code is None else code
        except TypeError:
            return None

    def index(self, state: object) -> int:
        """Return the index of a state.

        A state of the same type and value has precedence. Otherwise the result is the only state
        that equals the value (``1`` finds ``True`` if no other state equals 1).

        Raises
        ------
        UnknownStateError
            If there is no such state; the message suggests the nearest one.
        """
        value, code = plain(state), self.find(state)
        if code is None:
            raise self._unknown(value)
        if code < 0:
            raise UnknownStateError(
                f"{value!r} equals more than one state of {self.name!r}, whose states are "
                f"{quoted(self.states)}; give it with the type of the state that you mean."
            )
        return code

    def _unknown(self, value: object) -> UnknownStateError:
        near = suggestion(value, self.states)
        return UnknownStateError(
            f"Variable {self.name!r} has no state {spelt(value)}.{near} "
            f"Its states are {quoted(self.states)}."
        )

    def encode(self, value: object) -> int:
        """Return the code of a value: the index of the state."""
        try:
            code = self._by_type.get((type(value), value))
        except TypeError:
            code = None
        return self.index(value) if code is None else code

    def __reduce__(self) -> tuple[type[Discrete], tuple[Name, tuple[State, ...]]]:
        return Discrete, (self.name, self.states)

    def __repr__(self) -> str:
        return f"Discrete({self.name!r}, [{quoted(self.states)}])"


class Binned(Discrete):
    """A discretised number, whose states are intervals.

    A state is a text such as "(0.8, 1.75]": intervals are open below and closed above. Evidence is
    a number, or the text of an interval.

    Parameters
    ----------
    name : hashable
        Usually a string; kept as given.
    cuts : iterable of float
        Cut points, ascending and finite; without cut points there is a single interval.

    Raises
    ------
    DataTypeError
        For cut points that are not a list.
    ValueError
        For cut points that do not ascend, or are not finite numbers.

    Examples
    --------
    >>> width = Binned("petal width", [0.8, 1.75])
    >>> width.states
    ('(-inf, 0.8]', '(0.8, 1.75]', '(1.75, inf)')
    >>> width.index(1.2)
    1
    """

    __slots__ = ("cuts",)

    cuts: tuple[float, ...]

    def __init__(self, name: Name, cuts: Iterable[float]) -> None:
        values = _listed(name, cuts, "cuts")
        self.cuts = tuple(
            [
                float(v) if isinstance(v, float) else _as_float(name, v, "takes as a cut")
                for v in values
            ]
        )
        ends = [-math.inf, *self.cuts, math.inf]
        # Between infinite ends, so that no cut is infinite; NaN is not below any number.
        if not all(map(operator.lt, ends, ends[1:])):
            raise EvidenceError(
                f"The cuts of {name!r} are finite numbers in ascending order; got {self.cuts!r}."
            )
        text = ["-inf", *[repr(cut).removesuffix(".0") for cut in self.cuts], "inf"]
        closing = ["]"] * len(self.cuts) + [")"]
        states = [f"({a}, {b}{c}" for (a, b), c in zip(pairwise(text), closing, strict=True)]
        super().__init__(name, states)

    def codes(self, numbers: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the index of the interval of each number, -1 for NaN."""
        cuts = np.array(self.cuts)
        if len(numbers) >= _MANY and 0 < len(cuts) <= _FEW_CUTS and numbers.dtype == np.float64:
            return np.asarray(find_intervals(cuts, numbers))  # the same codes, faster
        # A number that equals a cut is in the interval below it, which is closed above.
        codes = np.searchsorted(cuts, numbers, side="left")
        codes[np.isnan(numbers)] = -1
        return np.asarray(codes)

    @property
    @np.errstate(over="ignore")
    def edges(self) -> NDArray[np.float64]:
        """Ends of the intervals in pictures, shape (n_states + 1,).

        An outer interval has no end; it is as wide as its neighbour. A single interval is from 0 to
        1.
        """
        cuts = np.array(self.cuts)
        if not len(cuts):
            return np.array([0.0, 1.0])
        # The two intervals of a single cut are as wide as the cut is large.
        widths = np.diff(cuts) if len(cuts) > 1 else np.array([abs(cuts[0]) or 1.0])
        edges = np.concatenate([[cuts[0] - widths[0]], cuts, [cuts[-1] + widths[-1]]])
        return np.asarray(np.clip(edges, -sys.float_info.max, sys.float_info.max))

    def codes_of(self, finer: Binned) -> NDArray[np.intp]:
        """Return the index of the interval that contains each interval of a finer variable.

        Each cut of this variable is one of the cuts of `finer`.
        """
        # An interval is where its upper end is, which is part of it.
        return self.codes(np.array([*finer.cuts, math.inf]))

    def encode(self, value: object) -> int:
        """Return the code of a value: the index of the interval."""
        if type(value) is float and value == value:
            return bisect_left(self.cuts, value)
        return super().encode(value)

    def find(self, state: object) -> int | None:
        """Return the index of the interval that contains a number or is named by a text, else None.

        It replaces `Discrete.find`, which looks up a state.
        """
        value = plain(state)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return None if is_missing(value) else bisect_left(self.cuts, value)
        code = super().find(value)
        if code is None and isinstance(value, (Decimal, Fraction, np.floating)):
            with suppress(ValueError, OverflowError):
                return self.find(float(value))
        return code

    def _unknown(self, value: object) -> UnknownStateError:
        # A text that starts like an interval may be misspelt; other values get no suggestion.
        near = suggestion(value, self.states) if str(value).startswith("(") else ""
        return UnknownStateError(
            f"Variable {self.name!r} takes a number, or one of its intervals as it is written; got "
            f"{value!r}.{near} Its intervals are {quoted(self.states)}."
        )

    def __reduce__(self) -> tuple[type[Binned], tuple[Name, tuple[float, ...]]]:
        return Binned, (self.name, self.cuts)

    def __repr__(self) -> str:
        return f"Binned({self.name!r}, [{quoted(self.cuts)}])"


# Comparing many numbers with each of few cut points takes less time than binary searches, in which
# most branches are predicted wrongly. Interpreted, it takes more.
_MANY, _FEW_CUTS, _BLOCK = 1 << 14, 64, 256


def _work(cuts: NDArray[np.float64], numbers: NDArray[np.float64]) -> int:
    return len(cuts) * len(numbers) * 10


@kernel(work=_work)
def find_intervals(cuts: NDArray[np.float64], numbers: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the number of cut points below each number, -1 for NaN."""
    out = np.empty(len(numbers), dtype=np.intp)
    # Blocks of constant length, which the compiler makes vectors of.
    values, codes = np.zeros(_BLOCK), np.empty(_BLOCK, dtype=np.int64)
    for start in range(0, len(numbers), _BLOCK):
        size = min(_BLOCK, len(numbers) - start)
        values[:size] = numbers[start : start + size]
        for i in range(_BLOCK):
            # NaN differs from itself, and no comparison below holds for it.
            codes[i] = 0 if values[i] == values[i] else -1
        for cut in cuts:
            for i in range(_BLOCK):
                codes[i] += values[i] > cut
        out[start : start + size] = codes[:size]
    return out


class Grouped(Discrete):
    """A categorical variable whose states are groups of values.

    The state of a group with one value is that value; the state of a larger group is a text such as
    "{blue, green}". Evidence is a value, or the state of a group.

    Parameters
    ----------
    name : hashable
        Usually a string; kept as given.
    groups : iterable of lists of values
        The groups; each value is in one group.
    others : bool
        Whether values that are in no group belong to the last group, so that no value is unknown.

    Raises
    ------
    DataTypeError
        For groups, or a group, that are not a list.
    ValueError
        For no groups, an empty group, or a value in two groups.

    Examples
    --------
    >>> colour = Grouped("colour", [["red"], ["blue", "green"]])
    >>> colour.states
    ('red', '{blue, green}')
    >>> colour.index("green")
    1
    """

    __slots__ = ("_values", "group_of", "groups", "others")

    groups: tuple[tuple[State, ...], ...]
    # Index of the group of each value, in the order of `values`.
    group_of: tuple[int, ...]

    def __init__(self, name: Name, groups: Iterable[Iterable[State]], others: bool = False) -> None:
        lists = [_listed(name, group, "values") for group in _listed(name, groups, "groups")]
        self.groups = tuple(tuple(map(plain, values)) for values in lists)
        if not all(self.groups):
            raise EvidenceError(f"Every group of {name!r} needs at least one value.")
        # A Discrete variable of all values, which checks them and finds their indices.
        self._values = Discrete(name, [value for group in self.groups for value in group])
        self.others = bool(others)
        self.group_of = tuple(i for i, group in enumerate(self.groups) for _ in group)
        super().__init__(name, _group_labels(self.groups))

    @property
    def values(self) -> tuple[State, ...]:
        """The values of all groups, group by group."""
        return self._values.states

    def find(self, state: object) -> int | None:
        """Return the index of the group that contains a value or is named by a text, else None.

        With `others`, any other value belongs to the last group. It replaces `Discrete.find`.
        """
        code = self._values.find(state)
        # -1 stands for several values that are equal.
        if code is not None:
            return code if code < 0 else self.group_of[code]
        code = super().find(state)
        if code is None and self.others and isinstance(state, Hashable) and not is_missing(state):
            return len(self.groups) - 1
        return code

    def __reduce__(self) -> tuple[Any, ...]:
        return Grouped, (self.name, self.groups, self.others)

    def __repr__(self) -> str:
        others = ", others=True" if self.others else ""
        return f"Grouped({self.name!r}, {[list(group) for group in self.groups]!r}{others})"


# Length of a group's text from which further values are counted instead of listed.
_LABEL_LENGTH = 60


def _group_labels(groups: Sequence[Sequence[State]]) -> list[State]:
    """Return the state of each group: its only value, or a text that lists its values."""
    values = {value for group in groups for value in group}
    labels: list[State] = []
    for group in groups:
        if len(group) == 1:
            labels.append(group[0])
            continue
        shown = [str(group[0])]
        while len(shown) < len(group) and len(", ".join(shown)) < _LABEL_LENGTH:
            shown.append(str(group[len(shown)]))
        left = len(group) - len(shown)
        label = "{" + ", ".join(shown) + (f", and {left} more" if left else "") + "}"
        # Until no other state, and no value, is this text.
        while label in labels or label in values:
            label += "'"
        labels.append(label)
    return labels


class MissingIndicator(Discrete):
    """Whether the value of another variable is missing in a row, with the states "no" and "yes".

    In tables it has no column of its own: a row says it by the cell of the other variable. A
    question that gives the value of the other variable says "no". One that does not name the other
    variable says nothing: its value is unknown, which is not the same as a cell that is empty.

    Parameters
    ----------
    name : hashable
        Usually a string, such as "age is missing".
    of : hashable
        The name of the other variable.

    Examples
    --------
    >>> MissingIndicator("age is missing", "age").states
    ('no', 'yes')
    """

    __slots__ = ("of",)

    of: Name

    def __init__(self, name: Name, of: Name) -> None:
        self.of = _plain_name(of)
        super().__init__(name, ("no", "yes"))

    def __reduce__(self) -> tuple[Any, ...]:
        return MissingIndicator, (self.name, self.of)

    def __repr__(self) -> str:
        return f"MissingIndicator({self.name!r}, {self.of!r})"


def _as_float(name: Name, value: Any, what: str = "is continuous and takes") -> float:
    """Return a value of a variable as a float, which may be infinite or NaN.

    In messages, `what` a variable has or takes are numbers.
    """
    number = plain(value)
    no_number = (str, bytes, np.generic, np.ndarray)
    if isinstance(number, no_number) and not isinstance(number, np.floating):
        number = None  # "3" is text: a number in quotes is a mistake, not a measurement
    try:
        return float(number)
    except (TypeError, ValueError, OverflowError) as error:
        raise EvidenceError(f"Variable {name!r} {what} a number; got {spelt(value)}.") from error


class Continuous(metaclass=_Unique):
    """A real-valued variable.

    Parameters
    ----------
    name : hashable
        Usually a string; kept as given.
    """

    __slots__ = ("__weakref__", "name")

    name: Name

    def __init__(self, name: Name) -> None:
        self.name = _plain_name(name)

    def number(self, value: object) -> float:
        """Return the value as a float.

        Raises
        ------
        EvidenceError
            If it is not a finite real number.
        """
        result = value if type(value) is float else _as_float(self.name, value)
        if not math.isfinite(result):
            raise EvidenceError(f"Variable {self.name!r} takes a finite number; got {value!r}.")
        return result

    def encode(self, value: object) -> float:
        """Return the encoding of a value in the engine, which is the number itself."""
        return self.number(value)

    def __reduce__(self) -> tuple[type[Continuous], tuple[Name]]:
        return type(self), (self.name,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class Count(Continuous):
    """A count, such as a number of events: a real-valued variable that is never negative.

    Parameters
    ----------
    name : hashable
        Usually a string; kept as given.
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


class CountVector(metaclass=_Unique):
    """A vector of counts of many items, such as the words of a document, as one variable.

    Parameters
    ----------
    name : hashable
        Name of the whole vector.
    items : iterable of hashable
        Items in the order of the columns.

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

    # No __slots__: `positions` is a cached property, which is computed when first needed.
    name: Name
    items: tuple[Name, ...]

    def __init__(self, name: Name, items: Iterable[Name]) -> None:
        name = _plain_name(name)
        self.name = name
        self.items = _listed(name, items, "items")
        if not self.items:
            raise EvidenceError(f"The counts {name!r} need at least one item; got none.")
        if not {type(item) for item in self.items} <= _PLAIN:
            self.items = tuple(_plain_name(item) for item in self.items)
        if len(set(self.items)) < len(self.items):
            # The first item that is in the set already: `add` puts it there, and returns None.
            before: set[Name] = set()
            twice = next(item for item in self.items if item in before or before.add(item))  # type: ignore[func-returns-value]
            raise EvidenceError(f"The counts {name!r} have the item {twice!r} more than once.")

    @cached_property
    def positions(self) -> dict[Name, int]:
        """Mapping from item to its index in `items`."""
        return {item: i for i, item in enumerate(self.items)}

    def encode(self, value: object) -> NDArray[np.float64]:
        """Return counts as an array of shape (n_items,), NaN where missing.

        Parameters
        ----------
        value : mapping from item to count, or array_like of shape (n_items,) or (1, n_items)
            Items that are not in a mapping have the count zero; None and NaN are missing. A pandas
            Series, or a data frame of one row, whose labels are items is such a mapping.

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
        # As objects, so that None and texts reach the check of each count.
        try:
            entries = np.atleast_1d(np.asarray(dense, dtype=object))
        except (TypeError, ValueError):
            entries = np.empty(0, dtype=object)
        columns = getattr(value, "column_names", getattr(value, "columns", ()))
        labels = [*(value.keys() if hasattr(value, "keys") else columns)]
        # Numbers of rows are no labels.
        are_labels = entries.size == len(labels) and labels != [*range(len(labels))]
        if are_labels and not self.positions.keys().isdisjoint(labels):
            if len({*labels}) < len(labels):
                raise EvidenceError(f"{self.name!r} takes one count for each item; got {labels!r}.")
            return self.encode(dict(zip(labels, entries.flat, strict=True)))
        shapes = numbers.shape, (1, *numbers.shape)
        if isinstance(value, (str, bytes)) or entries.shape not in shapes:
            raise EvidenceError(
                f"{self.name!r} takes a mapping from item to count, or {len(self.items)} counts in "
                f"the order of its items; got {value!r:.80}."
            )
        numbers[:] = [
            self._number(item, count) for item, count in zip(self.items, entries.flat, strict=True)
        ]
        return numbers

    def _number(self, item: Name, count: object) -> float:
        return math.nan if is_missing(count) else Count(item).number(count)

    def __reduce__(self) -> tuple[type[CountVector], tuple[Name, tuple[Name, ...]]]:
        return CountVector, (self.name, self.items)

    def __repr__(self) -> str:
        return f"CountVector({self.name!r}, {len(self.items):,} items)"


Variable: TypeAlias = Discrete | Continuous | CountVector


def decode(variable: Variable, column: NDArray[Any]) -> NDArray[Any]:
    """Return an encoded column as values: state codes as states, numbers unchanged.

    If all states are strings, or integers, or floats, or booleans, the result is a NumPy array of
    this type, otherwise an object array. A code of -1 becomes None, which needs an object array.
    """
    if not isinstance(variable, Discrete):
        return column
    codes = column.astype(np.intp)
    kinds = {type(state) for state in variable.states}
    if len(kinds) == 1 and kinds <= {str, int, float, bool} and not (codes < 0).any():
        states = np.array(variable.states)
        again = states.tolist()
        # NumPy makes floats of some integers of 64 bits, and drops NULs at the end of a text.
        if type(again[0]) in kinds and again == [*variable.states]:
            return np.asarray(states[codes])
    # The last entry, None, is that of the code -1.
    objects = np.empty(len(variable.states) + 1, dtype=object)
    objects[:-1] = variable.states
    return np.asarray(objects[codes])


def values_of(variable: Discrete) -> tuple[State, ...]:
    """Return the values that tables have: the states, or the members of grouped states."""
    return variable.values if isinstance(variable, Grouped) else variable.states


def has_text_states(variable: Variable) -> bool:
    """Return whether all values of a variable are text."""
    if not isinstance(variable, Discrete) or isinstance(variable, Binned):
        return False
    return all(isinstance(value, str) for value in values_of(variable))


# ----------- Ancestors and order of nodes whose parents are given: no graph object has to be built


Node: TypeAlias = Hashable
_N = TypeVar("_N", bound=Hashable)
Arc: TypeAlias = tuple[Node, Node]


def parents_first(parents: Mapping[_N, Collection[_N]]) -> list[_N] | None:
    """Return the nodes in topological order, or None if there is a cycle.

    It is the order of `graphs.topological_order`.

    Parameters
    ----------
    parents : mapping from node to its parents
        All nodes; their order breaks ties.
    """
    nodes = list(parents)
    place = {node: i for i, node in enumerate(nodes)}
    children: list[list[int]] = [[] for _ in nodes]
    # Number of parents of each node that are not in the order yet.
    waiting = []
    for i, above in enumerate(parents.values()):
        waiting.append(len(above))
        for parent in above:
            children[place[parent]].append(i)
    ready = [i for i, count in enumerate(waiting) if not count]  # ascending: already a heap
    order = []
    while ready:
        i = heappop(ready)
        order.append(nodes[i])
        for child in children[i]:
            waiting[child] -= 1
            if not waiting[child]:
                heappush(ready, child)
    return order if len(order) == len(nodes) else None


def ancestral_set(
    parents: Mapping[_N, Iterable[_N]], nodes: Iterable[_N], without: Collection[_N] = ()
) -> set[_N]:
    """Return the nodes together with all their ancestors, by paths without some other nodes."""
    ancestors = set(nodes)
    stack = list(ancestors)
    while stack:
        for parent in parents[stack.pop()]:
            if parent not in ancestors and parent not in without:
                ancestors.add(parent)
                stack.append(parent)
    return ancestors
