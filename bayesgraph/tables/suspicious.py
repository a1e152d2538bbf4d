"""Columns that look wrong: identifiers, constants, copies of the class, and the like.

Only a few rows of each column are looked at, and more of them only where these look wrong: the cost
does not show beside that of learning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, extremes
from bayesgraph.core.errors import SuspiciousColumnsWarning, quoted, warn
from bayesgraph.core.variables import Name, State
from bayesgraph.tables.columns import Codes, Column, Labels
from bayesgraph.tables.table import Table

# Minimum number of rows from which identifiers, constants and copies of the class are told, and of
# rows that are not of the most frequent class.
_MIN_ROWS, _MIN_OTHERS = 50, 5
# Number of rows, spread over all, that are looked at first; and in turn, for copies of the class.
_SAMPLE, _STAGES = 4096, (16, 256, 4096, 65536)
# Number of states, spread over all, that tell how a column is written.
_FIRST = 16
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

# Kinds that are told only if all rows show them, not a sample alone; and those that take many rows.
_OF_ALL = {"missing", "constant", "marks", "identifier", "codes"}
_OF_MANY = {"constant", "marks", "identifier", "codes", "skewed"}

# What is said of the columns of each kind, and what to do.
_SAID = {
    "unnamed": "without a name, as an index in a file is (leave out)",
    "identifier": "identifiers, with a value of its own in nearly every row (leave out)",
    "texts": "texts that hardly repeat (count their words by CountVectorizer, or leave out)",
    "missing": "without any value (leave out)",
    "constant": "constant (leave out)",
    "marks": "one value or none at all (if an empty cell means no, write 'no' into it)",
    "class": "determines the class of every row alone (leave out what prediction will not know)",
    "words": "numbers as text, because of values such as {} (read those as missing: missing= says "
    "which, in a frame pandas.to_numeric makes them so)",
    "commas": "numbers as text with decimal commas (convert them; read_table does)",
    "dates": "dates as text (make them numbers, such as year and month; read_table(dates=) does)",
    "fractions": "fractions as states (not in categorical=, or take discretizer='mdlp')",
    "placeholder": "a number such as {} that stands for a missing value (make it missing)",
    "integers": "integers beyond 2**53, which floats round (name codes in categorical=)",
    "codes": "a few integers only, which become Gaussian numbers (name codes in categorical=)",
    "skewed": "heavily skewed numbers from 0 on, which become Gaussian (take discretizer='mdlp' "
    "of a classifier, logarithms, or distributions='auto' where it is another)",
    "target": "a target of many numbers (take a regressor, or convert codes to text)",
    "single": "a target of one class, which every row will get (look for rows of others)",
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
        """Return a table as the checks see it, without vectors of counts."""
        numeric, discrete = table.continuous, table.discrete
        names = [v.name for v in numeric], [v.name for v in discrete]
        states = [v.states for v in discrete]
        return cls(table.values, names[0], table.codes, names[1], states)


def warn_of_columns(
    examined: Examined,
    labels: Labels | None,
    columns: Callable[[], Mapping[Name, Column]],
    *,
    free: Collection[Name] = (),
    gaussian: Collection[Name] = (),
    whole: Callable[[], tuple[Examined, Labels | None]] | None = None,
) -> None:
    """Warn, once for all, of the columns of a training table that look wrong.

    Parameters
    ----------
    examined : Examined
    labels : Labels, optional
        None in regression.
    columns : callable
        Returns the columns before they were encoded, by name, for their types.
    free : collection of names
        Numeric columns that get a density because nothing else is said of them.
    gaussian : collection of names
        Those of them that become Gaussians.
    whole : callable, optional
        Returns rows from everywhere, and their labels, if those before are the first ones of many:
        they are looked at where the first ones look wrong, as those of sorted files do.
    """
    kinds: dict[str, list[Any]] = {kind: [] for kind in _SAID}
    examples: dict[str, str] = {}
    for kind, name, example in [*_of_numbers(examined, gaussian), *_of_states(examined)]:
        if kind in _OF_MANY and len(examined.codes) < _MIN_ROWS:
            continue
        kinds[kind].append(name)
        examples.setdefault(kind, example)
    # What the values of a column alone do not tell.
    names = [*examined.numeric, *examined.discrete]
    kinds["unnamed"] = [n for n in names if _UNNAMED.fullmatch("" if n is None else str(n))]
    if kinds["integers"]:
        raw = columns()
        kinds["integers"] = [n for n in kinds["integers"] if n in raw and _is_integer(raw[n])]
    kinds["codes"] = [n for n in kinds["codes"] if n in free]
    kinds["skewed"] = [n for n in kinds["skewed"] if n in gaussian]
    kinds["single"] = [None] if labels is not None and len(labels.classes) == 1 else []
    if labels is not None and len(examined.codes) >= _MIN_ROWS:
        kinds["class"] = list(_copies(examined, labels.codes))
        if _is_number_target(labels.classes):
            kinds["target"] = [None]
    # Texts look wrong only if they hardly repeat, as identifiers do. Dates and fractions that do so
    # are called identifiers.
    identifiers = kinds["identifier"]
    kinds["texts"] = [n for n in kinds["texts"] if n in identifiers]
    for kind in ("dates", "fractions"):
        kinds[kind] = [n for n in kinds[kind] if n not in identifiers]
    # These are said to be texts or numbers with commas instead.
    others = {*kinds["texts"], *kinds["commas"]}
    kinds["identifier"] = [n for n in identifiers if n not in others]
    said = []
    for kind, columns_of_kind in kinds.items():
        if columns_of_kind:
            text = _SAID[kind].format(examples.get(kind))
            # The target has no name here.
            is_target = kind in ("target", "single")
            said.append(text if is_target else f"{quoted(columns_of_kind)}: {text}")
    if said and whole is not None:
        warn_of_columns(*whole(), columns, free=free, gaussian=gaussian)
    elif said:
        warn(
            f"Columns look wrong: {'; '.join(said)}. If they are right, check_columns=False "
            "silences this warning.",
            SuspiciousColumnsWarning,
        )


def _spread(rows: NDArray[Any], n: int) -> NDArray[Any]:
    """Return about n of some rows, evenly spread."""
    return rows[:: max(1, len(rows) // n)]


def _of_numbers(examined: Examined, gaussian: Collection[Name]) -> Iterator[tuple[str, Name, str]]:
    """Yield what numeric columns look like: the kind, the name and an example."""
    sample = np.ascontiguousarray(_spread(examined.values, _SAMPLE))
    are_gaussian = np.array([name in gaussian for name in examined.numeric], dtype=np.bool_)
    for j in _unlike_measures(sample, are_gaussian).tolist():
        # NaN, which does not equal itself, is left out.
        name, column = examined.numeric[j], np.sort(sample[:, j])
        kinds = _number_kinds(name, column[column == column], len(sample))
        if kinds.keys() & _OF_ALL and len(sample) < len(examined.values):
            column = np.sort(examined.values[:, j])
            kinds = _confirmed(kinds, _number_kinds(name, column[column == column], len(column)))
        yield from ((kind, name, example) for kind, example in kinds.items())


def _unlike_measures(values: Floats, gaussian: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the indices of the columns that `_number_kinds` may find something in.

    It sorts values, and most measurements need no such look: they have fractions, few of which are
    alike at either end, and are no Gaussian or have negative numbers too.

    Parameters
    ----------
    values : ndarray of float, shape (n_rows, n_columns)
    gaussian : ndarray of bool, shape (n_columns,)
        Which columns become Gaussian; of them, those of numbers from 0 on may be skewed.
    """
    low, high = extremes(values)
    few = _spread(values, _FIRST)
    # Skewed, constant, or of integers that floats round.
    tells_more = ((low >= 0) & gaussian) | (low == high) | (np.maximum(-low, high) >= _EXACT)
    # Codes, or identifiers; NaN, which does not equal itself, is no fraction.
    has_fractions = ((few != np.round(few)) & (few == few)).any(axis=0)
    tells_more |= ~has_fractions
    # Placeholders, which are the least or the greatest number of several rows.
    for end in (low, high):
        is_end = values == end
        # Most tables have each end once, which one count of all columns tells: there are no more
        # ends than columns with numbers.
        if np.count_nonzero(is_end) > np.count_nonzero(np.isfinite(end)):
            tells_more |= np.count_nonzero(is_end, axis=0) >= _MIN_PLACEHOLDERS
    return np.flatnonzero(tells_more)


def _confirmed(some: dict[str, str], whole: dict[str, str]) -> dict[str, str]:
    """Return the kinds of a column, given those of a sample (`some`) and of all rows (`whole`)."""
    kept = {kind: example for kind, example in some.items() if kind not in _OF_ALL}
    return kept | {kind: example for kind, example in whole.items() if kind in _OF_ALL}


def _number_kinds(name: Name, numbers: Floats, n_rows: int) -> dict[str, str]:
    """Return the kinds that a column looks like, with an example of each.

    Parameters
    ----------
    name : name
    numbers : ndarray
        The known ones, in ascending order.
    n_rows : int
        With missing ones.
    """
    if not len(numbers):
        return {"missing": ""}
    kinds = {}
    if max(-numbers[0], numbers[-1]) >= _EXACT:
        kinds["integers"] = ""
    # Distinct numbers and how often each occurs, by the places where runs of equal ones begin.
    changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    bounds = np.concatenate(([0], changes, [len(numbers)]))
    states, counts = numbers[bounds[:-1]], bounds[1:] - bounds[:-1]
    if len(states) == 1:
        return kinds | {"constant" if len(numbers) == n_rows else "marks": ""}
    is_whole = bool((states == np.round(states)).all())
    # The numbers alone would not do: a time or an income has as many.
    if is_whole and len(states) > _IDENTIFIER * len(numbers) and _NAMED_ID.fullmatch(str(name)):
        kinds["identifier"] = ""
    if len(states) <= _MAX_CODES:
        # Three and more from 0 on, each of fewer rows than the one before, are what is counted.
        is_count = len(states) > 2 and states[0] == 0 and bool((np.diff(counts) < 0).all())
        return kinds | ({"codes": ""} if is_whole and not is_count else {})
    if mark := _placeholder(states, counts):
        kinds["placeholder"] = mark
    # The skew of quantiles: ((high - middle) - (middle - low)) / (high - low).
    low, middle, high = numbers[[int((len(numbers) - 1) * share) for share in (0.05, 0.5, 0.95)]]
    is_skewed = (high - middle) - (middle - low) > _SKEWED * (high - low)
    if is_skewed and numbers[0] >= 0 and len(numbers) >= _MIN_SKEWED:
        kinds["skewed"] = ""
    return kinds


def _placeholder(states: Floats, counts: NDArray[np.intp]) -> str:
    """Return the number that stands for a missing value, "" if there is none.

    It is the least or the greatest one, occurs again and again, and is farther from all others than
    these from each other; or it is -1 or -9, -99, ... and no other is negative, or near.
    """
    # The index of the least and of the greatest number, and all others.
    for end, others in ((0, states[1:]), (-1, states[:-1])):
        # Few numbers may be codes; and 0 is a number like others.
        if len(others) <= _MAX_CODES or counts[end] < _MIN_PLACEHOLDERS or states[end] == 0:
            continue
        # The distance to the nearest number, as states ascend.
        gap = abs(states[end] - others[end])
        is_mark = states[end] < 0 <= others[0] and _MARK_NUMBER.fullmatch(str(states[end]))
        if gap > others[-1] - others[0] or (is_mark and gap > _FAR * np.median(np.diff(others))):
            return f"{states[end]:g}"
    return ""


def _of_states(examined: Examined) -> Iterator[tuple[str, Name, str]]:
    """Yield what discrete columns look like: the kind, the name and an example."""
    for j, (name, states) in enumerate(zip(examined.discrete, examined.states, strict=True)):
        column = examined.codes[:, j]
        sample = _spread(column, _SAMPLE)
        kinds = _code_kinds(sample)
        if kinds and len(sample) < len(column):
            kinds = _confirmed(kinds, _code_kinds(column))
        kinds |= _written(states)
        yield from ((kind, name, example) for kind, example in kinds.items())


def _code_kinds(codes: Codes) -> dict[str, str]:
    """Return the kinds that a column looks like by its codes, of which -1 is missing."""
    distinct = np.unique(codes)
    n_states = np.count_nonzero(distinct >= 0)
    if not n_states:
        return {"missing": ""}
    if n_states == 1:
        # Two distinct codes are the state and -1.
        return {"constant" if len(distinct) == 1 else "marks": ""}
    return {"identifier": ""} if len(distinct) > _IDENTIFIER * len(codes) else {}


def _written(states: Sequence[State]) -> dict[str, str]:
    """Return the kinds that a column looks like by how its states are written, with examples."""
    kinds = {}
    sample: list[Any] = _spread(np.array(states, dtype=object), _FIRST).tolist()
    # Half of a sample are numbers at least: a look at all states tells whether nearly all are.
    if sample and isinstance(sample[0], str) and sum(map(_is_word, sample)) * 2 <= len(sample):
        # Numbers, but for a few.
        words = [str(state) for state in states if _is_word(state)]
        are_marks = all(map(_MARK.fullmatch, words))
        minimum = len(words) * (_NUMBERS_PER_MARK if are_marks else _NUMBERS_PER_WORD)
        if 0 < len(words) <= _MAX_WORDS and len(states) - len(words) >= minimum:
            kinds["words"] = repr(words[0])
    sample = [state for state in sample if state != ""]
    if len(states) <= _MAX_CODES or not sample:
        return kinds
    if all(isinstance(state, float) for state in sample):
        if len(states) >= _MIN_FRACTIONS and not all(x.is_integer() for x in sample):
            kinds["fractions"] = ""
    elif all(isinstance(state, str) for state in sample):
        has_comma = any(map(_COMMA.fullmatch, sample))
        if has_comma and not any(_is_word(state.replace(",", ".", 1)) for state in sample):
            kinds["commas"] = ""
        elif all(map(_DATE.fullmatch, sample)):
            kinds["dates"] = ""
        elif np.median([state.count(" ") for state in sample]) >= _MIN_BLANKS:
            kinds["texts"] = ""
    return kinds


def _is_word(state: State) -> bool:
    """Return whether a state is not written as a finite number."""
    with suppress(TypeError, ValueError, OverflowError):
        return not np.isfinite(float(state))  # type: ignore[arg-type]
    return True


def _is_integer(column: Column) -> bool:
    """Return whether a column had integers before it was encoded as floats."""
    if isinstance(column, nw.Series):
        return column.dtype.is_integer()
    if column.dtype.kind == "O":
        return any(isinstance(value, int) for value in column[:_SAMPLE])
    return column.dtype.kind in "iu"


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
    # More than half of the whole numbers between the least and the greatest are classes.
    counted = classes[0] in (0, 1) and 2 * len(classes) > classes[-1] - classes[0]
    return not counted


# ------------------------------------------------------------------------- copies of the class


def _copies(examined: Examined, labels: NDArray[np.signedinteger]) -> Iterator[Name]:
    """Yield the columns each of which determines the class, given as codes, on every row."""
    n = len(labels)
    # Rows that are not of the most frequent class.
    others = np.flatnonzero(labels != np.bincount(labels).argmax())
    if len(others) < _MIN_OTHERS:
        return
    for matrix, names, is_number in (
        (examined.values, examined.numeric, True),
        (examined.codes, examined.discrete, False),
    ):
        # The columns that may be copies, looked at in more and more rows.
        left = np.arange(len(names))
        for n_rows in (*_STAGES, n):
            if not len(left):
                break
            # As many of the rows of rarer classes, so that these are among them.
            evenly = np.arange(0, n, max(1, n // n_rows))
            rows = np.union1d(evenly, _spread(others, n_rows))
            classes = np.unique(labels[rows], return_inverse=True)[1]
            # Shape (number of rows, number of columns left), NaN where missing.
            cells = matrix[np.ix_(rows, left)]
            cells = cells if is_number else np.where(cells < 0, np.nan, cells)
            # For each column whether its values determine the class of all rows. Either the classes
            # have ranges of numbers that do not overlap, or each value belongs to one class, and
            # the values are at most this share of the rows, so that most have several rows.
            # A sample of the rows has fewer of each value, so that less is asked of it.
            share = _FEW if n_rows >= n else 1 - _FEW
            # Of the first few rows less still: one number with two rows, so that not all of the
            # len(cells) - 1 neighbours differ; of states nothing.
            if n_rows == _STAGES[0]:
                share = 1 - is_number / len(cells)
            # Rows in the order of a column's values: does the value, or the class, change?
            order = np.argsort(cells, axis=0, kind="stable")
            values, class_of = np.take_along_axis(cells, order, 0), classes[order]
            is_same, is_change = values[1:] == values[:-1], class_of[1:] != class_of[:-1]
            # Missing values, which are sorted to the end, do not determine a class.
            is_pure = ~((is_same & is_change).any(axis=0) | np.isnan(values[-1]))
            # In rows sorted by value, the class changes between ranges only: once less often than
            # there are classes, whose greatest code is `classes.max()`.
            repeats = np.count_nonzero(~is_same, axis=0) < share * len(cells)
            in_ranges = np.count_nonzero(is_change, axis=0) == classes.max()
            left = left[np.asarray(is_pure & (repeats | (in_ranges & is_number)))]
        yield from (names[j] for j in left.tolist())
