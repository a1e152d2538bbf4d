"""UAI, the format of the inference competitions: models, evidence and results.

A model file has a word for its kind, the numbers of states, the scopes and the tables; it has no
names of variables or states. The last variable of a scope varies fastest, and in a Bayesian network
it is the child. Line breaks count as blanks. The formats are described at
https://uaicompetition.github.io/uci-2022/file-formats/; lines that start with the word ``c`` are
comments, as in 2016, and so is what follows a ``#`` in a line, as pyAgrum writes.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import errors, files
from bayesgraph.core.arrays import Floats, Ints
from bayesgraph.core.variables import Discrete, Name, State, Variable
from bayesgraph.files.exporting import Export, Losses, Sidecar, Words, content_of, no_table
from bayesgraph.files.formats import Capabilities, FileFormat, NumberSpelling
from bayesgraph.files.table_rows import (
    Normalize,
    RoundedRows,
    first_bad_row,
    network_of,
    sum_to_one,
)
from bayesgraph.inference import Factor, Posterior
from bayesgraph.models import SUM_TOLERANCE, BayesianNetwork, FactorGraph, Model, TableCPD

# ----------------------- Reading of the numbers of UAI files, in which line breaks count as blanks


_BLANKS = b" \t\r\n\f\v"
_WORD = re.compile(rb"\S+")
# Possessive: it never backtracks, so reading is linear.
_NUMBER = re.compile(rb"[-+]?(?:(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+|inf)")
# Characters of valid numbers; float() would also accept nan, infinity and 1_000.
_CHARACTERS = b"0123456789+-.eEinf" + _BLANKS
_SIDECAR = re.compile(rb"^#( bayesgraph \{.*+)$", re.MULTILINE)
_COMMENT = re.compile(rb"#[^\n]*+|^c(?:[ \t][^\n]*)?\r?$", re.MULTILINE)
# Beyond this, a float may stand for several integers.
_EXACT = 2**53
_BOM = b"\xef\xbb\xbf"


class Numbers:
    """The numbers of a file, read from first to last.

    Parameters
    ----------
    data : bytes
        Content of the file.
    source : str
        Path for messages.
    start : int
        Position of the first number in the content.

    Attributes
    ----------
    values : ndarray of float
        All numbers.
    position : int
        Number of values taken so far.

    Raises
    ------
    FileFormatError
        If a word is not a number; the message has its line.
    """

    def __init__(self, data: bytes, source: str, start: int = 0) -> None:
        self.source = source
        self.position = 0
        self._data = data
        self._start = start
        body = data[start:]
        words = body.split()
        try:
            if body.translate(None, _CHARACTERS):
                raise ValueError("not the characters of numbers")
            self.values: Floats = np.fromiter(map(float, words), np.float64, len(words))
        except ValueError:
            bad = next(i for i, word in enumerate(words) if not _NUMBER.fullmatch(word))
            raise self.error(bad, "a number") from None

    @property
    def left(self) -> int:
        """Number of values not taken yet."""
        return len(self.values) - self.position

    def line(self, index: int) -> int:
        """Return the line of the file with the number at an index; past the end, the last line."""
        word = self._word(index)
        at = len(self._data.rstrip()) if word is None else word.start()
        return self._data.count(b"\n", 0, at) + 1

    def error(self, index: int, expected: str, advice: str = "") -> errors.FileFormatError:
        """Return an error for the number at an index, which says what was expected in its place.

        `expected` is that text, and `advice` a sentence at the end.
        """
        word = self._word(index)
        if word is None:
            got = "the end of the file; it may be truncated"
        else:
            got = f"{_uai_numbers_text(word[0])!r:.40} (number {index + 1} of the file)"
        return errors.FileFormatError(
            f"{self.source}, line {self.line(index)}: expected {expected}; got {got}.{advice}"
        )

    def _word(self, index: int) -> re.Match[bytes] | None:
        words = _WORD.finditer(self._data, self._start)
        return next(itertools.islice(words, index, None), None)

    def count(self, what: str, low: int = 0, high: float = math.inf) -> int:
        """Read the next number, an integer between `low` and `high`; `what` names it in errors."""
        # The common case, without arrays: result files have a count or two for each variable.
        if self.position < len(self.values):
            value = self.values.item(self.position)
            if low <= value <= high and value <= _EXACT and value.is_integer():
                self.position += 1
                return int(value)
        return int(self.counts(1, what, low, high)[0])

    def counts(self, n: int, what: str, low: int = 0, high: float = math.inf) -> Ints:
        """Take n integers from `low` to `high`; `what` describes them in errors."""
        values = self.take(n, what)
        good = _are_integers(values, low, high)
        if not good.all():
            limits = f"{low} or more" if high == math.inf else f"from {low} to {high:g}"
            at = self.position - n + int(np.argmin(good))
            raise self.error(at, f"{what}, an integer {limits}")
        return values.astype(np.int64)

    def lists(self, n: int, longest: int, high: int) -> tuple[list[int], list[int]]:
        """Take n lists of integers from 0 to `high`, each after its length; fewer if one is not so.

        The list after the last one taken has a length beyond `longest`, a member that is no such
        integer, or not all of its members: it is left to the caller, who has the words for it.

        Returns
        -------
        members : list of int
            The members of all lists.
        ends : list of int
            The members of list i are ``members[ends[i] : ends[i + 1]]``.
        """
        values = self.values[self.position :]
        at, left, length_at = 0, len(values), values.item
        heads = [0]
        while len(heads) <= n and at < left:
            length = length_at(at)
            if not (0 <= length <= longest and length.is_integer()):
                break
            at += 1 + int(length)
            heads.append(at)
        places = np.array(heads)
        good = _are_integers(values[:at], 0, high)
        good[places[:-1]] = True
        end = len(good) if good.all() else np.argmin(good)
        places = places[: np.searchsorted(places, end, "right")]
        self.position += int(places[-1])
        members = np.delete(values[: places[-1]], places[:-1]).astype(np.int64)
        return members.tolist(), (places - np.arange(len(places))).tolist()

    def take(self, n: int, what: str) -> Floats:
        """Take n numbers; `what` describes them in errors."""
        if n > self.left:
            more = f"{n - self.left} more of {n} numbers" if n > 1 else "a number"
            raise self.error(len(self.values), f"{what}: {more}")
        self.position += n
        return self.values[self.position - n : self.position]

    def table(self, n: int, what: str) -> Floats:
        """Take n finite numbers that are not negative; `what` describes them in errors."""
        fault = self.next_fault()
        values = self.take(n, what)
        if fault < self.position:
            raise self.error(fault, f"{what}: finite numbers that are not negative")
        return values

    def next_fault(self) -> int:
        """Return the index of the next number that no table can have, or else that of the end."""
        place = bisect_left(self._faults, self.position)
        return self._faults[place] if place < len(self._faults) else len(self.values)

    @cached_property
    def _faults(self) -> list[int]:
        """The indices of the values that no table can have, found once for all tables."""
        found: list[int] = np.flatnonzero(~((self.values >= 0) & np.isfinite(self.values))).tolist()
        return found

    def finish(self, after: str) -> None:
        """Raise an error if values are left; `after` describes the last ones taken."""
        if self.left:
            raise self.error(
                self.position, f"the end of the file after {after}", f" {self.left} are too many."
            )


def _are_integers(values: Floats, low: int, high: float) -> NDArray[np.bool_]:
    within = (values >= low) & (values <= min(high, _EXACT))
    good: NDArray[np.bool_] = within & (values == np.floor(values))
    return good


def _uai_numbers_text(word: bytes) -> str:
    return word.decode("utf-8", "backslashreplace")


def _without_comments(data: bytes) -> bytes:
    if data.startswith(b"c"):
        return _COMMENT.sub(b"", data)
    starts = [at for at in (data.find(b"#"), data.find(b"\nc")) if at >= 0]
    # From the first comment on, which is at the end of files that bayesgraph writes.
    start = min(starts, default=len(data))
    return data[:start] + _COMMENT.sub(b"", data[start:])


def sidecar_lines(data: bytes) -> list[str]:
    """Return what comments of bayesgraph say; see `bayesgraph.files.exporting`."""
    start = data.find(b"# bayesgraph {")
    if start < 0:
        return []
    comments = (_uai_numbers_text(found[1]) for found in _SIDECAR.finditer(data, start))
    return [content for comment in comments if (content := content_of(comment)) is not None]


def open_numbers(
    data: bytes, source: str, kinds: Sequence[str] = (), *, separator: bytes = b""
) -> tuple[str, Numbers]:
    """Return the first word of a file (empty without `kinds`), and the numbers after it.

    Lines that start with the word ``c`` are comments, and so is what follows a ``#`` in a line.

    Parameters
    ----------
    data : bytes
        Content of the file.
    source : str
        Path for messages.
    kinds : sequence of str
        Allowed first words, in upper case; empty for files of numbers alone.
    separator : bytes
        Text between the solutions of a result file, of which the last one is read.

    Raises
    ------
    FileFormatError
        If the first word is another one, or a later word is not a number.
    """
    data = data.removeprefix(_BOM)
    data = _without_comments(data)
    if not kinds:
        return "", Numbers(data, source)
    match = _WORD.search(data)
    word, start = (_uai_numbers_text(match[0]), match.end()) if match else ("", len(data))
    if word.upper() not in kinds:
        got = repr(word[:40]) if word else "an empty file"
        raise errors.FileFormatError(
            f"{source}: expected {errors.quoted(kinds)} as the first word; got {got}."
            f"{errors.suggestion(word.upper(), kinds)}"
        )
    last = data.rfind(separator, start) if separator else -1
    return word.upper(), Numbers(data, source, start if last < 0 else last + len(separator))


# ------------ Evidence and result files of the UAI competitions, which refer to variables by index
# An evidence file has the number of observed variables, and then pairs of variable and state. A
# result file starts with its task (marginals, most probable explanation or partition function),
# followed by a solution. In files of 2010 and 2011 the number of evidence samples precedes the
# evidence or the solution: files with one sample are read. The layout of all other years is
# written.


_TASKS = ("MAR", "MPE", "PR")


def read_uai_evidence(
    path: files.PathLike, model: Model, *, limit: int | None = None
) -> dict[Name, State]:
    """Read a UAI evidence file (``.evid``) of one sample; gzip is recognised by its content.

    Parameters
    ----------
    path : str or path
    model : BayesianNetwork or FactorGraph
        The file refers to a variable by its index in ``model.variables``.
    limit : int, optional
        Bytes to which a gzip file may inflate, by default 100 times its bytes.

    Returns
    -------
    dict from name to state
        Evidence for ``query``, ``most_probable`` and ``log_probability``, in the order of the file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the file is invalid or has several samples; the message has the line, the expected text
        and the text there.
    UnsupportedModelError
        If the model has continuous variables.
    """
    variables = discrete_variables(model)
    with files.reading(files.path_text(path), "UAI evidence"):
        data, _ = files.read_unzipped(path, limit)
        numbers = open_numbers(data, files.path_text(path))[1]
        n = numbers.count("the number of observed variables")
        values = numbers.values
        if len(values) != 1 + 2 * n:
            # One sample in the layout of 2010 and 2011: the number of samples, 1, comes first.
            if not (n == 1 and len(values) > 1 and len(values) == 2 + 2 * values[1]):
                raise errors.FileFormatError(
                    f"{numbers.source}: expected {2 * n} numbers after the first one, {n}, for as "
                    f"many observed variables; got {numbers.left}. The file may be truncated or of "
                    "several samples."
                )
            n = numbers.count("the number of observed variables")
        evidence: dict[Name, State] = {}
        for _ in range(n):
            variable = variables[numbers.count("the number of a variable", high=len(variables) - 1)]
            if variable.name in evidence:
                raise numbers.error(
                    numbers.position - 1,
                    f"each variable once; {variable.name!r} is observed already",
                )
            evidence[variable.name] = variable.states[_code(numbers, variable)]
        return evidence


def write_uai_evidence(
    evidence: Mapping[Name, Any] | None, model: Model, path: files.PathLike
) -> None:
    """Write evidence as one sample, gzipped if the path ends in ``.gz``.

    The layout is that of 2006, 2008, and 2014 and later, in one line. The file is replaced as a
    whole or not at all.

    Parameters
    ----------
    evidence : mapping from name to state
        None and NaN mean not observed.
    model : BayesianNetwork or FactorGraph
        Variables and states are written as their indices in ``model.variables``.
    path : str or path

    Raises
    ------
    UnknownVariableError, UnknownStateError
        If a name or a state is unknown; the message has the nearest match.
    LossyExportError
        If there is soft evidence, which UAI cannot hold.
    UnsupportedModelError
        If the model has continuous variables.
    """
    codes = observed_codes(evidence, model)
    pairs = [f"{i} {codes[v]}" for i, v in enumerate(discrete_variables(model)) if v in codes]
    files.write_text(path, " ".join([str(len(pairs)), *pairs]) + "\n")


def discrete_variables(model: Model) -> list[Discrete]:
    """Return the variables of a model; an error if one of them is not discrete."""
    variables = [variable for variable in model.variables if isinstance(variable, Discrete)]
    if len(variables) < len(model.variables):
        others = [no_table(v) for v in model.variables if not isinstance(v, Discrete)]
        raise errors.UnsupportedModelError(
            f"UAI files are of discrete variables; {', '.join(others)}."
        )
    return variables


def observed_codes(evidence: Mapping[Name, Any] | None, model: Model) -> dict[Discrete, int]:
    """Return the state code of each observed variable; an error for soft evidence."""
    encoded = model.encode(evidence)
    if encoded.likelihoods:
        raise errors.LossyExportError(
            "UAI holds states, not likelihoods; the evidence on "
            f"{errors.quoted(v.name for v in encoded.likelihoods)} is soft."
        )
    return {v: int(column[0]) for v, column in encoded.columns.items() if isinstance(v, Discrete)}


class UAIResult(NamedTuple):
    """The content of a result file.

    Attributes
    ----------
    kind : {"MAR", "MPE", "PR"}
    value : dict or float
        MAR: a dict from name to Posterior. MPE: a dict from name to state. PR: the natural log of
        the partition function or of the probability of the evidence.
    """

    kind: str
    value: Any


def read_uai_result(
    path: files.PathLike, model: Model, *, normalize: Normalize = True, limit: int | None = None
) -> UAIResult:
    """Read a UAI result file (``.MAR``, ``.MPE``, ``.PR``); its first word is its kind.

    If there are several solutions, separated by ``-BEGIN-``, the last one is returned.

    Parameters
    ----------
    path : str or path
    model : BayesianNetwork or FactorGraph
        The file has the variables in the order of ``model.variables``.
    normalize : bool or "always"
        Whether marginals whose sum is off by up to 0.02 ("always": by any amount) are divided by
        their sum; other sums are refused.
    limit : int, optional
        Bytes to which a gzip file may inflate, by default 100 times its bytes.

    Returns
    -------
    UAIResult
        A pair of kind and value. The file does not hold ``log_evidence``: it is NaN in each
        Posterior.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the file is invalid; the message has the line, the expected text and the text there.
    UnsupportedModelError
        If the model has continuous variables.
    """
    variables = discrete_variables(model)
    rounded = RoundedRows(normalize=normalize)
    with files.reading(files.path_text(path), "a UAI result"):
        data, _ = files.read_unzipped(path, limit)
        # Some years call the most probable explanation MAP.
        kinds = (*_TASKS, "MAP")
        kind, numbers = open_numbers(data, files.path_text(path), kinds, separator=b"-BEGIN-")
        result = _result("MPE" if kind == "MAP" else kind, numbers, variables, rounded)
    rounded.warn(numbers.source)
    return result


def _result(
    kind: str, numbers: Numbers, variables: list[Discrete], rounded: RoundedRows
) -> UAIResult:
    cards = [variable.cardinality for variable in variables]
    size = {"PR": 1, "MPE": 1 + len(cards), "MAR": 1 + len(cards) + sum(cards)}[kind]
    if len(numbers.values) == 1 + size and numbers.values[0] == 1:
        numbers.take(1, "the number of samples")
    elif len(numbers.values) != size:
        raise errors.FileFormatError(
            f"{numbers.source}: expected {size} numbers for the variables of the model; got "
            f"{len(numbers.values)}. The file may be truncated, of another model, or of several "
            "samples."
        )
    if kind == "PR":
        value = float(numbers.take(1, "the log to base 10")[0])
        if value == math.inf:
            raise numbers.error(numbers.position - 1, "the log to base 10 of a number")
        return UAIResult(kind, value * math.log(10.0))
    numbers.count("the number of variables", low=len(cards), high=len(cards))
    if kind == "MPE":
        return UAIResult(kind, {v.name: v.states[_code(numbers, v)] for v in variables})
    return UAIResult(kind, {v.name: _marginal(numbers, v, rounded) for v in variables})


def write_uai_result(
    path: files.PathLike,
    kind: str,
    result: Any,
    model: Model,
    *,
    evidence: Mapping[Name, Any] | None = None,
) -> None:
    """Write a UAI result file with one solution, gzipped if the path ends in ``.gz``.

    The file is replaced as a whole or not at all.

    Parameters
    ----------
    path : str or path
    kind : {"MAR", "MPE", "PR"}
    result : mapping or float
        MAR: from name to Posterior (or array_like of probabilities in the order of the states).
        MPE: from name to state, such as ``model.most_probable(evidence)``. PR: the natural log of
        the partition function or of the probability of the evidence; the file has the log to base
        10.
    model : BayesianNetwork or FactorGraph
        Variables and states are written in their order in ``model.variables``.
    evidence : mapping from name to state, optional
        The observed variables, which MAR and MPE files hold too. They may be in the result
        instead.

    Raises
    ------
    ValueError
        If `kind` is another one.
    EvidenceError
        If a variable has no result, if it is both in the result and observed, or if numbers are not
        probabilities.
    UnknownVariableError, UnknownStateError
        If the model does not have a name or a state.
    LossyExportError
        If there is soft evidence.
    UnsupportedModelError
        If the model has continuous variables.
    """
    task = str(kind).upper()
    if task not in _TASKS:
        raise ValueError(f"kind is one of {errors.quoted(_TASKS)}; got {kind!r}.")
    if task == "PR":
        try:
            number = float(result)
        except (TypeError, ValueError):
            number = math.nan
        if math.isnan(number) or number == math.inf:
            raise errors.EvidenceError(f"PR takes the natural log of a number; got {result!r}.")
        words = [repr(number / math.log(10.0))]
    else:
        observed = observed_codes(evidence, model)
        if not isinstance(result, Mapping) or isinstance(result, Posterior):
            raise errors.EvidenceError(
                f"{task} takes a mapping from the names of variables; got {result!r}."
            )
        given = {model.variable(name): value for name, value in result.items()}
        if twice := [variable.name for variable in given if variable in observed]:
            raise errors.EvidenceError(
                f"{errors.quoted(twice)} are both in the result and observed; leave them out of "
                "one of them."
            )
        variables = discrete_variables(model)
        if without := [v.name for v in variables if v not in given and v not in observed]:
            raise errors.EvidenceError(
                f"A {task} file holds every variable; {errors.quoted(without)} are neither in the "
                "result nor observed: give them, or the evidence= with them."
            )
        words = [str(len(variables))]
        for variable in variables:
            if task == "MPE":
                code = observed.get(variable)
                words.append(str(variable.index(given[variable]) if code is None else code))
            else:
                values = (
                    np.eye(variable.cardinality)[observed[variable]]
                    if variable in observed
                    else _probabilities(variable, given[variable])
                )
                words += [str(variable.cardinality), *map(repr, values.tolist())]
    files.write_text(path, f"{task}\n{' '.join(words)}\n")


def _code(numbers: Numbers, variable: Discrete) -> int:
    return numbers.count(f"a state of {variable.name!r}", high=variable.cardinality - 1)


def _marginal(numbers: Numbers, variable: Discrete, rounded: RoundedRows) -> Posterior:
    n = variable.cardinality
    numbers.count(f"the number of states of {variable.name!r}", low=n, high=n)
    what = f"the probabilities of {variable.name!r}"
    values = rounded.repaired(variable.name, numbers.table(n, what))
    if not abs(values.sum() - 1.0) <= SUM_TOLERANCE:
        raise numbers.error(numbers.position - n, f"{what} with the sum 1, not {values.sum():.9g}")
    return Posterior((variable,), values, math.nan)


def _probabilities(variable: Discrete, value: Any) -> Floats:
    if isinstance(value, Posterior):
        if value.variables != (variable,):
            raise errors.EvidenceError(
                f"MAR takes the posterior of {variable.name!r} alone; got that of "
                f"{errors.quoted(value.names)}."
            )
        return value.probabilities
    try:
        values = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise errors.EvidenceError(
            f"MAR takes a Posterior or an array of probabilities of {variable.name!r}; got "
            f"{value!r}."
        ) from error
    good = values.shape == (variable.cardinality,) and bool((values >= 0).all())
    if not good or not abs(values.sum() - 1.0) <= SUM_TOLERANCE:
        raise errors.EvidenceError(
            f"MAR takes {variable.cardinality} probabilities of {variable.name!r} with the sum 1; "
            f"got {value!r}."
        )
    return values


# --------------------- UAI, the format of the inference competitions: models, evidence and results


HELD = Capabilities("UAI", names=NumberSpelling("x"), states=NumberSpelling())
_KINDS = ("MARKOV", "BAYES")
# A variable that is in no scope, and the factor of ones that it gets.
_BYTES_OF_FREE = 2000
_T = TypeVar("_T")
_POWERS_OF_TEN = np.array([float(10**digits) for digits in range(23)])


def read_uai(
    path: files.PathLike,
    *,
    variables: Sequence[Discrete] | None = None,
    normalize: Normalize = True,
    limit: int | None = None,
) -> BayesianNetwork | FactorGraph:
    """Read a UAI model file; gzip is recognised by its content.

    The variables are in the order of their indices in the file, which evidence and result files
    also refer to. If the scopes of a ``MARKOV`` file have the variables in another order, or lack
    variables, factors of ones over single variables are added.

    Parameters
    ----------
    path : str or path
    variables : sequence of Discrete, optional
        The variables in the order of their indices, such as ``model.variables`` of the model that
        was written. By default ``"x0"``, ``"x1"``, ... with the states 0, 1, ...
    normalize : bool or "always"
        Whether rows of a ``BAYES`` file whose sum is off by up to 0.02 (printed with few digits)
        are divided by their sum, with one warning that names the tables and the deviation. A file
        with rows that are further off, or zero, is read as a FactorGraph, with a warning. "always"
        divides all rows, such as counts, and refuses rows of zeros; if false, all rows that do not
        sum to one are refused. Rows off by at most 1e-6 are never changed.
    limit : int, optional
        Bytes that reading the file may allocate beyond its numbers, such as for variables in no
        scope; by default 64 MB and 40 times the file's bytes. It also limits what a gzip file
        inflates to, by default 100 times its bytes.

    Returns
    -------
    FactorGraph
        Of a file that starts with ``MARKOV``, or has tables that are no conditional probabilities.
    BayesianNetwork
        Of other files, which start with ``BAYES``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the file is invalid, or beyond the limit; the message has the line, the expected text and
        the text there, or the size.
    ModelError
        If `variables` do not match the file.
    """
    with files.reading(files.path_text(path), "UAI"):
        data, budget = files.read_unzipped(path, limit)
        return _parse(data, budget, variables, normalize)


def parse_uai(
    text: str,
    *,
    variables: Sequence[Discrete] | None = None,
    normalize: Normalize = True,
    limit: int | None = None,
) -> BayesianNetwork | FactorGraph:
    """Return the model that the text of a UAI file describes; see `read_uai`.

    Examples
    --------
    >>> parse_uai("MARKOV 2  2 2  1  2 0 1  4  4 1 1 4").query("x1", {"x0": 0})
    P(x1)
      0  0.800000  ███████████████████
      1  0.200000  █████
    """
    with files.reading("UAI text", "UAI"):
        data = text.encode()
        return _parse(data, files.Budget("UAI text", len(data), limit), variables, normalize)


def write_uai(model: Any, path: files.PathLike, *, strict: bool = True) -> files.LossReport:
    """Write a discrete model as UAI, gzipped if the path ends in ``.gz``.

    A BayesianNetwork becomes ``BAYES``. A FactorGraph becomes ``MARKOV``, with the exponents
    applied to its tables (one warning says so) and its CPDs as factors. Variables are numbered in
    the order of ``model.variables``. Numbers are written so that they read back as the same floats.
    The file is replaced as a whole or not at all.

    Parameters
    ----------
    model : BayesianNetwork or FactorGraph
    path : str or path
    strict : bool
        UAI holds neither names nor states. If true, names and states are refused unless they are
        the defaults of `read_uai` (``"x0"``, ``"x1"``, ... and 0, 1, ...); if false, comments at
        the end of the file have them, from which `read_uai` restores them.

    Returns
    -------
    LossReport
        What other programs read in another form, and what is lost.

    Raises
    ------
    LossyExportError
        If UAI cannot hold the model. The message lists all problems: continuous variables, numbers
        beyond the range of floats and (unless `strict` is false) names and states.
    """
    text, report = _formatted(model, strict=strict)
    files.write_text(path, text)
    return report


def format_uai(model: Any, *, strict: bool = True) -> str:
    """Return a discrete model as the text of a UAI file; see `write_uai`.

    Examples
    --------
    >>> x = Discrete("x0", [0, 1])
    >>> print(format_uai(BayesianNetwork([TableCPD(x, [0.75, 0.25])])), end="")
    BAYES
    1
    2
    1
    1 0
    <BLANKLINE>
    2
    0.75 0.25
    """
    return _formatted(model, strict=strict)[0]


def _formatted(model: Any, *, strict: bool) -> tuple[str, files.LossReport]:
    if isinstance(model, FactorGraph):
        losses = Losses(HELD.format, strict)
        tables = _graph_tables(model, losses)
        words = Words.of([v for v in model.variables if isinstance(v, Discrete)], HELD, losses)
        return _text("MARKOV", words.names, tables, words.sidecar), losses.report()
    if not isinstance(model, BayesianNetwork):
        raise errors.LossyExportError(
            f"UAI holds Bayesian networks and factor graphs; got {model!r}. Of a WeightedNetwork "
            "write the to_factor_graph(), which agrees where all features are observed; of an "
            "average one of its `networks`, or fit with n_trees=0."
        )
    found = Export.of(model, HELD, strict=strict)
    tables = [
        _Table([*cpd.parents, cpd.variable], cpd.values)
        for cpd in found.cpds
        if isinstance(cpd, TableCPD)
    ]
    return _text("BAYES", found.words.names, tables, found.sidecar), found.report


# ----------------------------------------------------------------------------------- reading


class _Table(NamedTuple):
    """A table with its scope, and the index of its first entry among all numbers of the file."""

    scope: Sequence[Discrete]
    values: Floats
    start: int = 0


def _parse(
    data: bytes, budget: files.Budget, variables: Sequence[Discrete] | None, normalize: Normalize
) -> BayesianNetwork | FactorGraph:
    """Return the model of a UAI file.

    The preamble is read and checked first, so that the size of every table is known before it is
    read.
    """
    rounded = RoundedRows(normalize=normalize)
    # Variables that the caller gives have precedence over those of the file.
    lines = sidecar_lines(data) if variables is None else []
    sidecar = Sidecar.of(lines, budget.source)
    kind, numbers = open_numbers(data, budget.source, _KINDS)
    n = numbers.count("the number of variables", low=1)
    states: list[int] = numbers.counts(n, "numbers of states", low=1).tolist()
    members, ends = _scopes(numbers, n, bayes=kind == "BAYES")
    scopes, shapes = _cut(members, ends), _cut([states[i] for i in members], ends)
    spans = _spans(numbers, scopes, shapes)
    numbers.finish(f"the tables of {len(scopes)} functions")
    known = _variables(states, members, variables, budget)
    named = _cut([known[i] for i in members], ends)
    if kind == "BAYES":
        tables = [
            _Table(scope, numbers.values[span].reshape(shape), span.start)
            for scope, shape, span in zip(named, shapes, spans, strict=True)
        ]
        try:
            # Rows whose sum overflows are refused like all rows that do not sum to one.
            with np.errstate(over="ignore", invalid="ignore"):
                cpds = {table.scope[-1]: _cpd(table, numbers, rounded) for table in tables}
        except errors.FileFormatError:
            if normalize is not True or not _unnormalised(tables, budget.source):
                raise
        else:
            network = network_of([cpds[variable] for variable in known], rounded, budget.source)
            return sidecar.restore(network)
    known = sidecar.restored(known)
    named = _cut([known[i] for i in members], ends)
    # One call of the logarithm is fast for many small tables.
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(numbers.values)
    factors = (
        Factor.from_log(scope, logs[span].reshape(1, *shape))
        for scope, shape, span in zip(named, shapes, spans, strict=True)
    )
    first, last = ([Factor([known[i]], np.ones(states[i])) for i in e] for e in _ones(members, n))
    return FactorGraph([*first, *factors, *last])


def _unnormalised(tables: Sequence[_Table], source: str) -> bool:
    """Return whether tables are no conditional probabilities, with a warning if they are not.

    Tables that have the child on another axis are not meant: they are refused.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        wrong = [t for t in tables if not sum_to_one(t.values.reshape(-1, t.values.shape[-1]))]
        if not wrong or any(len(t.scope) > 1 and _is_swapped(t.values) for t in wrong):
            return False
    errors.warn(
        f"{source}: rows of the tables of {errors.quoted(t.scope[-1].name for t in wrong)} do not "
        "sum to one: the file is read as a FactorGraph, of which only the product is normalised. "
        "normalize='always' divides each row by its sum; normalize=False refuses the file.",
        errors.BayesGraphWarning,
    )
    return True


def _is_distribution(values: Floats) -> bool:
    """Return whether TableCPD takes values that are known not to be negative."""
    return sum_to_one(values.reshape(-1, values.shape[-1]), SUM_TOLERANCE)


def _is_swapped(values: Floats) -> bool:
    """Return whether the rows of a table sum to one if the child is the slowest axis."""
    return sum_to_one(values.reshape(values.shape[-1], -1).T)


def _cut(values: Iterable[_T], ends: Sequence[int]) -> list[tuple[_T, ...]]:
    """Return the values between each end and the next, for files of very many functions."""
    whole = tuple(values)
    return [whole[a:b] for a, b in pairwise(ends)]


def _scopes(numbers: Numbers, n: int, *, bayes: bool) -> tuple[list[int], list[int]]:
    """Return the variables of all scopes, and their ends; see `_cut`."""
    n_functions = numbers.count("the number of functions")
    start = numbers.position
    members, ends = numbers.lists(n_functions, files.MAX_AXES, n - 1)
    scopes = _cut(members, ends)
    # The number of scopes before the first with a variable twice.
    twice = (k for k, scope in enumerate(scopes) if len(set(scope)) < len(scope))
    good = next(twice, len(scopes))
    if bayes:
        good = min(good, _first_without_child(scopes))
    if good < n_functions:
        numbers.position = start + ends[good] + good
        raise _scope_error(numbers, scopes[:good], n)
    if bayes and (without := sorted(set(range(n)).difference(scope[-1] for scope in scopes))):
        raise numbers.error(
            numbers.position,
            f"a scope for each child; the variables {errors.quoted(without)} are the last of none",
        )
    return members, ends


def _first_without_child(scopes: Sequence[Sequence[int]]) -> int:
    """Return the number of scopes before the first whose child is missing or that of another."""
    children: set[int] = set()
    for function, scope in enumerate(scopes):
        if not scope or scope[-1] in children:
            return function
        children.add(scope[-1])
    return len(scopes)


def _scope_error(numbers: Numbers, before: list[tuple[int, ...]], n: int) -> errors.FileFormatError:
    """Return the error for the next scope, which is refused: it is read alone, for its words."""
    size = numbers.count(f"the size of the scope of function {len(before)}", high=files.MAX_AXES)
    what = f"the scope of function {len(before)}"
    scope = [numbers.count(what, high=n - 1) for _ in range(size)]
    for place, variable in enumerate(scope):
        if variable in scope[:place]:
            at = numbers.position - size + place
            return numbers.error(at, f"{what} with each variable once, not {scope}")
    end = numbers.position - 1
    if not scope:
        return numbers.error(end, f"a child in {what}")
    other = next(function for function, earlier in enumerate(before) if earlier[-1] == scope[-1])
    return numbers.error(
        end,
        f"one table for each child, the last of its scope; function {other} is that of variable "
        f"{scope[-1]} already",
    )


def _spans(
    numbers: Numbers, scopes: Sequence[tuple[int, ...]], shapes: Iterable[tuple[int, ...]]
) -> list[slice]:
    """Return where each function's entries are among the numbers, after checking them."""
    spans: list[slice] = []
    at, end, count_at = numbers.position, numbers.next_fault(), numbers.values.item
    for shape in shapes:
        size = math.prod(shape)
        first = at + 1
        at = first + size
        if at > end or count_at(first - 1) != size:
            numbers.position = first - 1
            raise _entries_error(numbers, len(spans), scopes[len(spans)], shape)
        spans.append(slice(first, at))
    numbers.position = at
    return spans


def _entries_error(
    numbers: Numbers, function: int, scope: Sequence[int], shape: Sequence[int]
) -> errors.FileFormatError:
    """Return the error for the next entries, which are refused: they are read alone."""
    size = math.prod(shape)
    if numbers.count(f"the number of entries of function {function}") == size:
        numbers.table(size, f"the entries of function {function}")
    product = " x ".join(map(str, shape)) or "a constant"
    return numbers.error(
        numbers.position - 1,
        f"{size} ({product}) as the number of entries of function {function} over the "
        f"variables {list(scope)}",
    )


def _variables(
    states: list[int], members: list[int], given: Sequence[Discrete] | None, budget: files.Budget
) -> list[Discrete]:
    source = budget.source
    if given is None:
        # No table confirms the numbers of states of variables in no scope.
        held = set(members)
        free = [n for i, n in enumerate(states) if i not in held]
        what = f"{len(free)} variables with {sum(free)} states, which are in no scope,"
        budget.take(_BYTES_OF_FREE * len(free) + files.BYTES_OF_STATE * sum(free), what)
        return [Discrete(f"x{i}", range(n)) for i, n in enumerate(states)]
    variables = list(given)
    if len(variables) != len(states):
        raise errors.ModelError(
            f"{source}: expected {len(states)} variables= for the file; got {len(variables)}."
        )
    for i, variable in enumerate(variables):
        if getattr(variable, "cardinality", None) != states[i]:
            raise errors.ModelError(
                f"{source}: expected variables= with a discrete variable of {states[i]} states in "
                f"place {i}, as in the file; got {variable!r}."
            )
    if len({variable.name for variable in variables}) < len(variables):
        raise errors.ModelError(
            f"{source}: expected variables= of different names; got "
            f"{errors.quoted(variable.name for variable in variables)}."
        )
    return variables


def _ones(members: list[int], n: int) -> tuple[range, list[int]]:
    """Return the variables that need a factor of ones before and after the factors of the file.

    A factor graph has only variables of its factors, in the order in which these name them. Factors
    of ones add variables that are in no scope, and keep the order of the file.
    """
    seen = list(dict.fromkeys(members))
    free = sorted(set(range(n)).difference(seen))
    order = seen + free
    late = [v for v, highest in zip(order, accumulate(order, max), strict=True) if v < highest]
    first = range(1 + max(late, default=-1))
    return first, [variable for variable in free if variable not in first]


def _cpd(table: _Table, numbers: Numbers, rounded: RoundedRows) -> TableCPD:
    *parents, child = table.scope
    values = table.values
    if _is_distribution(values) or _is_distribution(values := rounded.repaired(child.name, values)):
        return TableCPD.from_checked(child, values, parents)
    try:
        return TableCPD(child, values, parents)
    except errors.BayesGraphError as error:
        line = numbers.line(table.start + first_bad_row(values) * child.cardinality)
        advice = (
            "A file of tables that are no conditional probabilities starts with MARKOV; with "
            "normalize=True it is read as if it did."
        )
        if parents and _is_swapped(values):
            advice = "In UAI the child varies fastest; here it reads as if it varied slowest."
        raise errors.FileFormatError(f"{numbers.source}, line {line}: {error} {advice}") from error


# ----------------------------------------------------------------------------------- writing


def _text(
    kind: str, variables: Iterable[Variable], tables: list[_Table], sidecar: Iterable[str]
) -> str:
    discrete = [variable for variable in variables if isinstance(variable, Discrete)]
    number = {variable: i for i, variable in enumerate(discrete)}
    lines = [
        kind,
        str(len(discrete)),
        " ".join(str(variable.cardinality) for variable in discrete),
        str(len(tables)),
        *(" ".join(map(str, [len(t.scope), *(number[v] for v in t.scope)])) for t in tables),
    ]
    for table in tables:
        lines += ["", str(table.values.size), *_rows(table.values)]
    # At the end, where programs that know no comments have stopped reading.
    return "\n".join([*lines, *(f"# {line}" for line in sidecar)]) + "\n"


def _graph_tables(model: FactorGraph, losses: Losses) -> list[_Table]:
    """Return a graph's tables raised to their exponents; what cannot be held is noted."""
    tables: list[_Table] = []
    for variable in model.variables:
        if not isinstance(variable, Discrete):
            losses.refuse(no_table(variable))
    for term in model.terms:
        factor = term.table
        if factor is None:
            if all(isinstance(variable, Discrete) for variable in term.scope):
                losses.refuse(f"{term.title} is not a table")
        elif factor.n_rows != 1:
            losses.refuse(f"{factor!r} belongs to a batch of rows")
        else:
            values = _numbers(factor.log_values[0])
            tables.append(_Table(list(factor.scope), values))
            # Whether all numbers represent their logarithms, without under- or overflow.
            log_values = factor.log_values[0]
            with np.errstate(all="ignore"):
                change = np.abs(np.log(values) - log_values)
            if not bool(((change <= 1e-9) | np.isneginf(log_values) & (values == 0)).all()):
                losses.refuse(f"{factor!r} has values beyond the range of floats")
    powered = sum(bool((term.exponent != 1).any()) for term in model.terms)
    if powered:
        losses.change(f"the exponents of {powered} factors are applied to their tables")
    if model.domain != "nonnegative":
        losses.change(f"the domain of the exponents, {model.domain!r}, is left out")
    return tables


def _numbers(log_values: Floats) -> Floats:
    """Return numbers whose logarithms are exactly `log_values`, the values that a factor stores.

    exp alone is off by some units in the last place: logarithms would change from file to file, and
    0.3 would be written as 0.30000000000000004. A number of at most fifteen digits is preferred. If
    no float has exactly that logarithm, as is usual in tables raised to an exponent, the value of
    exp is taken.
    """
    with np.errstate(all="ignore"):
        values = np.exp(log_values)
        # Powers of ten up to 22 are exact, so the quotient is the float nearest to the decimal.
        scale = _POWERS_OF_TEN[np.clip(14 - np.floor(np.log10(values)), 0, 22).astype(np.intp)]
        near = [
            np.rint(values * scale) / scale,
            values,
            np.nextafter(values, np.inf),
            np.nextafter(values, 0.0),
        ]
        return np.select([np.log(value) == log_values for value in near], near, default=values)


def _rows(values: Floats) -> Iterator[str]:
    """Yield the lines of a table in a file: the values along its last axis in each line."""
    for row in values.reshape(-1, values.shape[-1] if values.ndim else 1).tolist():
        # repr gives the shortest decimal that reads back as the same float.
        yield " ".join(map(repr, row))


FORMAT = FileFormat("UAI", read_uai, write_uai, holds=HELD)
