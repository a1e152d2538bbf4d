"""Columns that look wrong: identifiers, constants, copies of the class, and the like.

Only a few rows of each column are looked at, and more of them only where these look wrong: the cost
does not show beside that of learning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import SuspiciousColumnsWarning, quoted, warn
from bayesgraph.core.variables import Name, State
from bayesgraph.tables.columns import Codes, Column
from bayesgraph.tables.encoding_kernels import may_determine
from bayesgraph.tables.table import Table

# Minimum number of rows from which identifiers, constants and copies of the class are told, and of
# rows that are not of the most frequent class.
_MIN_ROWS, _MIN_OTHERS = 50, 5
# Number of rows of each kind that are compared first, and numbers of rows that are looked at in
# turn, of the columns that look wrong so far.
_FIRST, _STAGES = 16, (256, 4096, 65536)
# Share of the rows above which the states of a column are those of an identifier, and up to which
# values determine the class not merely because each has few rows.
_IDENTIFIER, _FEW = 0.9, 0.1
# Maximum number of states that may be no numbers in a column of numbers, and minimum number of
# numbers for each of them: two where it looks like a missing value, as "?" does and "5more" not.
_MAX_WORDS, _NUMBERS_PER_WORD, _NUMBERS_PER_MARK = 3, 10, 2
_MARK = re.compile(r"[\W_]*|n/?a|nan|null|none|nil|missing|unknown", re.IGNORECASE)
# Maximum number of different integers in a column that look like codes.
_MAX_CODES = 4
# Maximum number of classes that a numeric target has without a question.
_MAX_CLASSES = 20
_EXACT = 2**53
_UNNAMED = re.compile(r"\s*|Unnamed: \d+(_level_\d+)?|__index_level_\d+__")
# Names of columns of identifiers: "id", "Patient ID", "user_id", "PassengerId", "Row number".
_WHAT = (
    "account|case|client|customer|employee|invoice|member|order|patient|person|product|record|"
    "row|sample|sequence|serial|session|subject|ticket|transaction|user"
)
_NAMED_ID = re.compile(
    r"(?:.*(?:\A|[\W_]))?(?i:id|identifier|uuid|guid|index|key|rownum|row)|.*[a-z0-9]I[Dd]|"
    rf"(?:.*(?:\A|[\W_]))?(?i:(?:{_WHAT})[\W_]*(?:id|key|n[or]\.?|num|number))"
)

# What is said of the columns of each kind, and what to do.
_SAID = {
    "unnamed": "without a name, as an index in a file is (leave out)",
    "identifier": "identifiers, with a value of its own in nearly every row (leave out)",
    "missing": "without any value (leave out)",
    "constant": "constant (leave out)",
    "marks": "one value or none at all (if a missing cell says no, make 'no' a state)",
    "class": "determines the class of every row alone (leave out what prediction will not know)",
    "words": "numbers as text, because of values such as {} (read those as missing, by missing= of "
    "read_table or by pandas.to_numeric)",
    "integers": "integers beyond 2**53, which floats round (name codes in categorical=)",
    "codes": "a few integers only, which become Gaussian numbers (name codes in categorical=)",
    "target": "a target of many numbers (take a regressor, or convert codes to text)",
}


class Examined(NamedTuple):
    """An encoded table as the checks see it.

    Attributes
    ----------
    values : ndarray of float, shape (n_rows, number of numeric columns)
        NaN where missing.
    numeric : sequence of names
    codes : ndarray of integers, shape (n_rows, number of discrete columns)
        -1 where missing.
    discrete : sequence of names
    states : sequence of sequences of states
        The states of each discrete column, in any order.
    """

    values: Floats
    numeric: Sequence[Name]
    codes: Codes
    discrete: Sequence[Name]
    states: Sequence[Sequence[State]]

    @classmethod
    def of(cls, table: Table) -> Self:
        """Return what the checks see of a table; vectors of counts are not among it."""
        numeric, discrete = table.continuous, table.discrete
        names = [v.name for v in numeric], [v.name for v in discrete]
        states = [v.states for v in discrete]
        return cls(table.values, names[0], table.codes, names[1], states)


class Labels(NamedTuple):
    """The classes in ascending order, and the index of each row's class."""

    classes: NDArray[Any]
    codes: NDArray[np.signedinteger]


def warn_of_columns(
    seen: Examined,
    labels: Labels | None,
    columns: Callable[[], Mapping[Name, Column]],
    *,
    gaussian: Collection[Name] = (),
) -> None:
    """Warn, once for all, of the columns of a training table that look wrong.

    Parameters
    ----------
    seen, labels, columns, gaussian
        As in `suspicious_columns`.
    """
    if said := suspicious_columns(seen, labels, columns, gaussian=gaussian):
        warn(
            f"Columns look wrong: {said}. check_columns=False, or a filter of this warning, "
            "silences it.",
            SuspiciousColumnsWarning,
        )


def suspicious_columns(
    seen: Examined,
    labels: Labels | None,
    columns: Callable[[], Mapping[Name, Column]],
    *,
    gaussian: Collection[Name] = (),
) -> str:
    """Return a line that names the columns that look wrong and what to do; empty if none does.

    Parameters
    ----------
    seen : Examined
    labels : Labels, optional
        None in regression.
    columns : callable
        Returns the columns before they were encoded, by name, for their types.
    gaussian : collection of names
        Numeric columns that become Gaussians because nothing else is said of them.
    """
    found: dict[str, list[Any]] = {kind: [] for kind in _SAID}
    names = [*seen.numeric, *seen.discrete]
    found["unnamed"] = [
        n
        for n in names
        if n is None
        or (isinstance(n, str) and n[:1] in " U_" and _UNNAMED.fullmatch(n) is not None)
    ]
    words = dict(_words(seen))
    found["words"] = list(words)
    found["integers"] = _wide_integers(seen, columns)
    found["missing"], constant, marks = _without_variation(seen)
    if len(seen.codes) >= _MIN_ROWS:
        found["constant"], found["marks"] = constant, marks
        found["identifier"] = [*_numbered(seen), *_identifiers(seen)]
        found["codes"] = [n for n in _few_integers(seen) if n in gaussian]
        if labels is not None:
            found["class"] = list(_copies(seen, labels.codes))
            if _is_number_target(labels.classes):
                found["target"] = [None]
    example = next((repr(word) for word in words.values()), "")
    said = [
        f"{quoted(who)}: {_SAID[kind].format(example)}" if who != [None] else _SAID[kind]
        for kind, who in found.items()
        if who
    ]
    return "; ".join(said)


def _rows(n_rows: int, n: int) -> slice:
    """Return a slice of about n rows, spread over all of them."""
    return slice(None, None, max(1, n_rows // n))


def _without_variation(seen: Examined) -> tuple[list[Name], list[Name], list[Name]]:
    """Return the names of columns that are missing throughout, constant, or constant or missing."""
    missing: list[Name] = []
    constant: list[Name] = []
    marks: list[Name] = []
    for matrix, names in ((seen.values, seen.numeric), (seen.codes, seen.discrete)):
        part = _as_floats(matrix[_rows(len(matrix), _FIRST)])
        # Where all is missing both are NaN, which fmin and fmax ignore elsewhere.
        low, high = np.fmin.reduce(part, axis=0), np.fmax.reduce(part, axis=0)
        for j in np.flatnonzero(~(low < high)).tolist():
            state = _only_value(matrix[:, j])
            if state is None:
                continue
            if np.isnan(state):
                missing.append(names[j])
            elif np.isnan(_as_floats(matrix[:, j])).any():
                marks.append(names[j])
            else:
                constant.append(names[j])
    return missing, constant, marks


def _only_value(column: NDArray[Any]) -> float | None:
    """Return the only value of a column, NaN if it has none, or None if it has several."""
    found, step = np.nan, _STAGES[-1]
    for first in range(0, len(column), step):
        part = _as_floats(column[first : first + step])
        low, high = np.fmin.reduce(part), np.fmax.reduce(part)
        if low < high or (low != found and not (np.isnan(low) or np.isnan(found))):
            return None
        found = found if np.isnan(low) else float(low)
    return found


def _as_floats(part: NDArray[Any]) -> Floats:
    """Return numbers as they are, and codes as numbers, NaN where missing."""
    return part if part.dtype.kind == "f" else np.where(part < 0, np.nan, part)


def _identifiers(seen: Examined) -> Iterable[Name]:
    limit = _IDENTIFIER * len(seen.codes)
    for j, (name, states) in enumerate(zip(seen.discrete, seen.states, strict=True)):
        # A category type may declare states that do not occur.
        if len(states) > limit and len(np.unique(seen.codes[:, j])) > limit:
            yield name


def _numbered(seen: Examined) -> Iterable[Name]:
    """Yield columns of whole numbers, nearly all different, that are named as identifiers are.

    The numbers alone would not do: a time or an income has as many.
    """
    for j in _whole_so_far(seen):
        name, column = seen.numeric[j], seen.values[:, j]
        if not (isinstance(name, str) and _NAMED_ID.fullmatch(name)):
            continue
        for n_rows in (*_STAGES, len(column)):
            part = column[_rows(len(column), n_rows)]
            known = part[~np.isnan(part)]
            states = np.unique(known)
            if len(states) <= _IDENTIFIER * len(known) or (states != np.round(states)).any():
                break
            if n_rows >= len(column):
                yield name
                break


def _words(seen: Examined) -> Iterable[tuple[Name, str]]:
    """Yield discrete columns whose states are numbers but for a few, each with one of the few."""
    for name, states in zip(seen.discrete, seen.states, strict=True):
        sample = states[_rows(len(states), _FIRST)]
        if not isinstance(sample[0] if sample else None, str):
            continue
        if sum(map(_is_word, sample)) * 2 > len(sample):
            continue
        words = [str(state) for state in states if _is_word(state)]
        marks = all(map(_MARK.fullmatch, words))
        minimum = len(words) * (_NUMBERS_PER_MARK if marks else _NUMBERS_PER_WORD)
        if 0 < len(words) <= _MAX_WORDS and len(states) - len(words) >= minimum:
            yield name, words[0]


def _is_word(state: State) -> bool:
    """Return whether a state is not written as a finite number."""
    with suppress(TypeError, ValueError, OverflowError):
        return not np.isfinite(float(state))  # type: ignore[arg-type]
    return True


def _wide_integers(seen: Examined, columns: Callable[[], Mapping[Name, Column]]) -> list[Name]:
    """Return the numeric columns of an integer type that have integers beyond 2**53."""
    part = seen.values[_rows(len(seen.values), _FIRST)]
    wide = np.fmax.reduce(np.abs(part), axis=0) >= _EXACT
    if not wide.any():
        return []
    given = columns()
    chosen = [seen.numeric[j] for j in np.flatnonzero(wide).tolist()]
    return [name for name in chosen if name in given and _has_integers(given[name])]


def _has_integers(column: Column) -> bool:
    if isinstance(column, nw.Series):
        return column.dtype.is_integer()
    if column.dtype.kind == "O":
        return any(isinstance(value, int) for value in column[: _STAGES[0]])
    return column.dtype.kind in "iu"


def _whole_so_far(seen: Examined) -> list[int]:
    """Return the indices of the numeric columns of which the first sample has whole numbers only.

    Of most tables these are few, or none, to look at one by one.
    """
    part = seen.values[_rows(len(seen.values), _STAGES[0])]
    whole = ((part == np.round(part)) | np.isnan(part)).all(axis=0)
    return np.flatnonzero(whole).tolist()


def _few_integers(seen: Examined) -> Iterable[Name]:
    """Yield the numeric columns of nothing but integers, of which there are a few, not one."""
    for j in _whole_so_far(seen):
        name, column = seen.numeric[j], seen.values[:, j]
        for n_rows in (*_STAGES, len(column)):
            part = column[_rows(len(column), n_rows)]
            states = np.unique(part[~np.isnan(part)])
            if len(states) > _MAX_CODES or (states != np.round(states)).any():
                break
            if n_rows >= len(column):
                if len(states) > 1:
                    yield name
                break


def warn_of_target(classes: NDArray[Any]) -> None:
    """Warn if classes, which are given in ascending order, look like a target of many numbers."""
    if _is_number_target(classes):
        warn(
            f"The target looks wrong: {len(classes)} different numbers, each of which is taken as "
            "a class (take a regressor, or convert codes to text).",
            SuspiciousColumnsWarning,
        )


def _is_number_target(classes: NDArray[Any]) -> bool:
    """Return whether classes are many numbers that do not count from 0 or 1."""
    if classes.dtype.kind not in "iuf" or len(classes) <= _MAX_CLASSES:
        return False
    counted = classes[0] in (0, 1) and 2 * len(classes) > classes[-1] - classes[0]
    return not counted


# ------------------------------------------------------------------------- copies of the class


def _copies(seen: Examined, labels: NDArray[np.signedinteger]) -> Iterable[Name]:
    """Yield the columns each of which determines the class, given as codes, on every row."""
    n = len(labels)
    some = np.arange(0, n, max(1, n // _STAGES[0]))
    common = np.bincount(labels[some]).argmax()
    is_common = labels[some] == common
    others = some[~is_common]
    if len(others) < _FIRST:
        others = np.flatnonzero(labels != common)
    if len(others) < _MIN_OTHERS:
        return
    pair = _evenly(some[is_common], _FIRST), _evenly(others, _FIRST)
    for matrix, names, is_number in (
        (seen.values, seen.numeric, True),
        (seen.codes, seen.discrete, False),
    ):
        first, second = (_as_floats(matrix[rows]) for rows in pair)
        left = np.flatnonzero(may_determine(first, second, is_number))
        if len(left):
            others = np.flatnonzero(labels != common)
        for n_rows in (*_STAGES, n):
            if not len(left):
                break
            rows = np.union1d(_evenly(np.arange(n), n_rows), _evenly(others, n_rows))
            classes = np.unique(labels[rows], return_inverse=True)[1]
            part = _as_floats(matrix[np.ix_(rows, left)])
            # For each column whether its values determine the class of all rows. Either the classes
            # have ranges of numbers that do not overlap, or each value belongs to one class, and
            # the values are at most this share of the rows, so that most have several rows.
            share = _FEW if n_rows >= n else 1 - _FEW
            order = np.argsort(part, axis=0, kind="stable")
            values, found = np.take_along_axis(part, order, 0), classes[order]
            equal, change = values[1:] == values[:-1], found[1:] != found[:-1]
            pure = ~((equal & change).any(axis=0) | np.isnan(values[-1]))
            many = np.count_nonzero(~equal, axis=0) < share * len(part)
            in_ranges = np.count_nonzero(change, axis=0) == classes.max()
            left = left[np.asarray(pure & (many | (in_ranges & is_number)))]
        yield from (names[j] for j in left.tolist())


def _evenly(rows: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return about n of the given rows, evenly spread."""
    return rows[:: max(1, len(rows) // n)]
