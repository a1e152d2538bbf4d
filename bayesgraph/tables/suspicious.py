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
# Minimum number of rows from which a skew is told, and from which measure on: that of the quantiles
# 0.05, 0.5 and 0.95 is 0 in a symmetric and 0.56 in an exponential distribution.
_MIN_SKEWED, _SKEWED = 200, 0.55
# Minimum number of rows with a placeholder, and of numbers with fractions named categorical, and of
# blanks in a text of several words.
_MIN_PLACEHOLDERS, _MIN_FRACTIONS, _MIN_BLANKS = 3, 100, 4
# Minimum distance of a mark such as -1 from the numbers that are meant, in median steps of these.
_FAR = 3.0
_MARK_NUMBER = re.compile(r"-(1|9+)\.0")
_COMMA = re.compile(r"[-+]?\d+,\d+")
_DATE = re.compile(
    r"\d{4}[-/.]\d\d?[-/.]\d\d?([T ]\d\d?:\d\d.*)?|\d\d?[-/.]\d\d?[-/.]\d{2,4}( \d\d?:\d\d.*)?"
)
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
    r"(?:.*(?:\A|[\W_]))?(?i:id|identifier|uuid|guid|index|key|rownum|row[\W_]?names?|row)|"
    r".*[a-z0-9]I[Dd]|"
    rf"(?:.*(?:\A|[\W_]))?(?i:(?:{_WHAT})[\W_]*(?:id|key|n[or]\.?|num|number))"
)

# What is said of the columns of each kind, and what to do.
_SAID = {
    "unnamed": "without a name, as an index in a file is (leave out)",
    "identifier": "identifiers, with a value of its own in nearly every row (leave out)",
    "texts": "texts that hardly repeat (count their words by CountVectorizer, or leave out)",
    "missing": "without any value (leave out)",
    "constant": "constant (leave out)",
    "marks": "one value or none at all (if a missing cell says no, make 'no' a state)",
    "class": "determines the class of every row alone (leave out what prediction will not know)",
    "words": "numbers as text, because of values such as {} (read those as missing, by missing= of "
    "read_table or by pandas.to_numeric)",
    "commas": "numbers as text with decimal commas (convert them; read_table does)",
    "dates": "dates as text (make them numbers, such as year and month; read_table(dates=) does)",
    "fractions": "fractions as states (not in categorical=, or take discretizer='mdlp')",
    "placeholder": "a number such as {} that stands for a missing value (make it missing)",
    "integers": "integers beyond 2**53, which floats round (name codes in categorical=)",
    "codes": "a few integers only, which become Gaussian numbers (name codes in categorical=)",
    "skewed": "heavily skewed numbers from 0 on, which become Gaussian (take discretizer='mdlp' "
    "of a classifier, logarithms, or distributions='auto' where it is another)",
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
    free: Collection[Name] = (),
    gaussian: Collection[Name] = (),
) -> None:
    """Warn, once for all, of the columns of a training table that look wrong.

    Parameters
    ----------
    seen : Examined
    labels : Labels, optional
        None in regression.
    columns : callable
        Returns the columns before they were encoded, by name, for their types.
    free : collection of names
        Numeric columns that get a density because nothing else is said of them.
    gaussian : collection of names
        Those of them that become Gaussians.
    """
    found: dict[str, list[Any]] = {kind: [] for kind in _SAID}
    names = [*seen.numeric, *seen.discrete]
    found["unnamed"] = [n for n in names if _UNNAMED.fullmatch("" if n is None else str(n))]
    words, placeholders = dict(_words(seen)), dict(_placeholders(seen))
    found["words"], found["placeholder"] = list(words), list(placeholders)
    found["integers"] = _wide_integers(seen, columns)
    found["missing"], constant, marks = _without_variation(seen)
    for kind, name in _written(seen):
        found[kind].append(name)
    if len(seen.codes) >= _MIN_ROWS:
        found["constant"], found["marks"] = constant, marks
        found["identifier"] = [*_numbered(seen), *_identifiers(seen)]
        found["codes"] = [n for n in _few_integers(seen) if n in free]
        found["skewed"] = [n for n in _skewed(seen) if n in gaussian and n not in found["codes"]]
        if labels is not None:
            found["class"] = list(_copies(seen, labels.codes))
            if _is_number_target(labels.classes):
                found["target"] = [None]
    for kind in ("texts", "dates", "fractions"):
        found[kind] = [n for n in found[kind] if (n in found["identifier"]) == (kind == "texts")]
    others = {*found["texts"], *found["commas"]}
    found["identifier"] = [n for n in found["identifier"] if n not in others]
    examples = {"words": words, "placeholder": placeholders}
    said = []
    for kind, who in found.items():
        example = next(iter(examples.get(kind, {}).values()), "")
        text = _SAID[kind].format(example)
        said += [text if who == [None] else f"{quoted(who)}: {text}"] if who else []
    if said:
        warn(
            f"Columns look wrong: {'; '.join(said)}. check_columns=False, or a filter of this "
            "warning, silences it.",
            SuspiciousColumnsWarning,
        )


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
        name = seen.numeric[j]
        is_named = isinstance(name, str) and _NAMED_ID.fullmatch(name)
        if is_named and _throughout(seen.values[:, j], lambda n, x: len(x) > _IDENTIFIER * n):
            yield name


def _throughout(column: Floats, test: Callable[[int, Floats], bool]) -> bool:
    """Return whether samples of a column, and it all, are whole numbers that pass a test.

    The test takes the number of known values and the different ones.
    """
    for n_rows in (*(n for n in _STAGES if n < len(column)), len(column)):
        part = column[_rows(len(column), n_rows)]
        known = part[~np.isnan(part)]
        states = np.unique(known)
        if not test(len(known), states) or (states != np.round(states)).any():
            return False
    return True


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
            yield name, repr(words[0])


def _written(seen: Examined) -> Iterable[tuple[str, Name]]:
    """Yield discrete columns of values that are written in a way that hides what they are."""
    for name, states in zip(seen.discrete, seen.states, strict=True):
        sample: list[Any] = [state for state in states[_rows(len(states), _FIRST)] if state != ""]
        if len(states) <= _MAX_CODES or not sample:
            continue
        if all(isinstance(state, float) for state in sample):
            if len(states) >= _MIN_FRACTIONS and not all(x.is_integer() for x in sample):
                yield "fractions", name
        elif all(isinstance(state, str) for state in sample):
            commas = [_COMMA.fullmatch(state) for state in sample]
            if any(commas) and not any(_is_word(state.replace(",", ".", 1)) for state in sample):
                yield "commas", name
            elif all(_DATE.fullmatch(state) for state in sample):
                yield "dates", name
            elif np.median([state.count(" ") for state in sample]) >= _MIN_BLANKS:
                yield "texts", name


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
    """Yield the numeric columns of nothing but integers, of which there are a few, not one.

    Three and more from 0 on, each of fewer rows than the one before, are what is counted.
    """
    for j in _whole_so_far(seen):
        column = seen.values[:, j]
        if _throughout(column, lambda _, states: len(states) <= _MAX_CODES):
            states, sizes = np.unique(column[~np.isnan(column)], return_counts=True)
            is_count = len(states) > 2 and states[0] == 0 and bool((np.diff(sizes) < 0).all())
            if len(states) > 1 and not is_count:
                yield seen.numeric[j]


def _placeholders(seen: Examined) -> Iterable[tuple[Name, str]]:
    """Yield numeric columns with a number that stands for a missing value, and that number.

    It is the least or the greatest one, occurs again and again, and is farther from all others than
    these from each other; or it is -1 or -9, -99, ... and no other is negative, or near.
    """
    part = np.sort(seen.values[_rows(len(seen.values), _STAGES[1])], axis=0)
    n, last = np.count_nonzero(part == part, axis=0), _MIN_PLACEHOLDERS - 1
    for j in np.flatnonzero(n > last).tolist():
        column = part[: n[j], j]
        if column[0] != column[last] and column[-1] != column[-1 - last]:
            continue
        states, counts = np.unique(column, return_counts=True)
        for end, others in ((0, states[1:]), (-1, states[:-1])):
            if len(others) <= _MAX_CODES or counts[end] < _MIN_PLACEHOLDERS or states[end] == 0:
                continue
            gap, steps = abs(states[end] - others[end]), np.diff(others)
            is_mark = _MARK_NUMBER.fullmatch(str(states[end])) is not None and others[0] >= 0
            if gap > steps.sum() or (is_mark and gap > _FAR * np.median(steps)):
                yield seen.numeric[j], f"{states[end]:g}"


def _skewed(seen: Examined) -> Iterable[Name]:
    """Yield numeric columns of several numbers, none negative, whose quantiles are skewed."""
    part = np.sort(seen.values[_rows(len(seen.values), _STAGES[1])], axis=0)
    n = np.count_nonzero(part == part, axis=0)
    low, middle, high = (
        np.take_along_axis(part, ((np.maximum(n, 1) - 1) * share).astype(int)[None], 0)[0]
        for share in (0.05, 0.5, 0.95)
    )
    skew = (high - middle) - (middle - low)
    chosen = (part[0] >= 0) & (n >= _MIN_SKEWED) & (skew > _SKEWED * (high - low))
    for j in np.flatnonzero(chosen).tolist():
        if len(np.unique(part[: n[j], j])) > _MAX_CODES:
            yield seen.numeric[j]


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
