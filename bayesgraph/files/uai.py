"""UAI, the format of the inference competitions: models, evidence and results.

A model file has a word for its kind, the numbers of states, the scopes and the tables; it has no
names of variables or states. The last variable of a scope varies fastest, and in a Bayesian network
it is the child. Line breaks count as blanks. The formats are described at
https://uaicompetition.github.io/uci-2022/file-formats/; lines that start with the word ``c`` are
comments, as in 2016, and so is what follows a ``#`` in a line. By such comments files of
pyAgrum are told, in which the first variable varies fastest.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.core import errors, files
from bayesgraph.core.arrays import Floats, log_of
from bayesgraph.core.variables import Discrete, Name, State
from bayesgraph.files.exporting import Export, Sidecar, content_of, no_table
from bayesgraph.files.formats import Capabilities, FileFormat, NumberSpelling
from bayesgraph.files.readers import (
    Draft,
    Normalize,
    NumberError,
    RoundedRows,
    floats_of,
    is_swapped,
    sum_to_one,
)
from bayesgraph.inference import Factor, Posterior
from bayesgraph.models import SUM_TOLERANCE, BayesianNetwork, FactorGraph, Model

# ----------------------- Reading of the numbers of UAI files, in which line breaks count as blanks


_WORD = re.compile(rb"\S+")
# A pattern that begins with a fixed character is found fast: the start of the line is checked
# by looking back from it.
_SIDECAR = re.compile(rb"#(?<![^\n]#)( bayesgraph \{.*+)$", re.MULTILINE)
_LINE = re.compile(rb"c(?<![^\n]c)(?:[ \t][^\n]*)?$", re.MULTILINE)
_COMMENT = re.compile(rb"#[^\n]*+")
# Beyond this, a float may stand for several integers.
_EXACT = 2**53
_BOM = b"\xef\xbb\xbf"


class Numbers:
    """The numbers of a file, read from first to last.

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

    Attributes
    ----------
    kind : str
        The first word; empty without `kinds`.
    values : ndarray of float
        All numbers.
    position : int
        Number of values taken so far.
    text : bytes
        Content of the file with its comments, whose lines end with line feeds.

    Raises
    ------
    FileFormatError
        If the first word is another one, or a later word is not a number; the message has its line.
    """

    def __init__(
        self, data: bytes, source: str, kinds: Sequence[str] = (), *, separator: bytes = b""
    ) -> None:
        self.source = source
        self.position = 0
        self.kind = ""
        self.text = files.unix_lines(data).removeprefix(_BOM)
        # Without comments, whose lines stay, so that errors count lines rightly.
        self._data = _COMMENT.sub(b"", _LINE.sub(b"", self.text))
        # Where the numbers begin: after the first word, or after the last separator.
        self._start = 0
        if kinds:
            match = _WORD.search(self._data)
            word = _text_of(match[0]) if match else ""
            self._start = match.end() if match else 0
            self.kind = word.upper()
            if self.kind not in kinds:
                got = repr(word[:40]) if word else "an empty file"
                raise errors.FileFormatError(
                    f"{source}: expected {errors.quoted(kinds)} as the first word; got {got}."
                    f"{errors.suggestion(self.kind, kinds)}"
                )
        if separator and (last := self._data.rfind(separator)) >= 0:
            self._start = last + len(separator)
        try:
            self.values = floats_of(self._data[self._start :], infinite=True)
        except NumberError as error:
            raise self.error("a number", error.index) from None
        # Probabilities may have noise below zero, which `RoundedRows` mends.
        lowest = 0.0 if self.kind == "MARKOV" else -SUM_TOLERANCE
        is_good = (self.values >= lowest) & (self.values < np.inf)
        # Index of the first number that no table has, the number of numbers if there is none: the
        # False at the end is the first one then.
        self._first_wrong = int(np.argmin(np.append(is_good, False)))

    def error(
        self, expected: str, index: int | None = None, advice: str = ""
    ) -> errors.FileFormatError:
        """Return an error that says what was expected in the place of a number, or of the last one.

        `advice` is a sentence at the end.
        """
        index = self.position - 1 if index is None else index
        word = self._word(index)
        got = "the end of the file; it may be truncated"
        if word is not None:
            got = f"{_text_of(word[0])!r:.40} (number {index + 1} of the file)"
        return self.line_error(index, f"expected {expected}; got {got}.{advice}")

    def line_error(self, index: int, message: str) -> errors.FileFormatError:
        """Return an error that names the line of the number at an index; past the end, the last."""
        word = self._word(index)
        at = len(self._data.rstrip()) if word is None else word.start()
        line = self._data.count(b"\n", 0, at) + 1
        return errors.FileFormatError(f"{self.source}, line {line}: {message}")

    def _word(self, index: int) -> re.Match[bytes] | None:
        """Return the word of the number at an index, None past the end."""
        words = _WORD.finditer(self._data, self._start)
        return next(itertools.islice(words, index, None), None)

    def count(self, what: str, low: int = 0, high: float = math.inf) -> int:
        """Take the next number, an integer from `low` to `high`; `what` names it in errors."""
        return self.counts(1, what, low, high)[0]

    def counts(self, n: int, what: str, low: int = 0, high: float = math.inf) -> list[int]:
        """Take n integers from `low` to `high`; `what` describes them in errors."""
        values = self.take(n, what).tolist()
        exact = min(high, _EXACT)
        for place, value in enumerate(values, self.position - n):
            if not (low <= value <= exact and value.is_integer()):
                limits = f"{low} or more" if high == math.inf else f"from {low} to {high:g}"
                raise self.error(f"{what}, an integer {limits}", place)
        return list(map(int, values))

    def take(self, n: int, what: str) -> Floats:
        """Take n numbers; `what` describes them in errors."""
        left = len(self.values) - self.position
        if n > left:
            more = f"{n - left} more of {n} numbers" if n > 1 else "a number"
            raise self.error(f"{what}: {more}", len(self.values))
        self.position += n
        return self.values[self.position - n : self.position]

    def table(self, n: int, what: str) -> Floats:
        """Take n finite numbers that are not negative; `what` describes them in errors.

        Probabilities may have noise below zero, see `RoundedRows`; factors have none.
        """
        # Not beyond the last number: without a wrong one, `_first_wrong` is the number of numbers.
        if self.position <= self._first_wrong < min(self.position + n, len(self.values)):
            raise self.error(f"{what}: finite numbers that are not negative", self._first_wrong)
        return self.take(n, what)


def _text_of(word: bytes) -> str:
    return word.decode("utf-8", "backslashreplace")


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
        numbers = Numbers(files.read_unzipped(path, limit)[0], files.path_text(path))
        n = numbers.count("the number of observed variables")
        if n == 1 and len(numbers.values) % 2 == 0:
            # One sample in the layout of 2010 and 2011: the number of samples, 1, comes first. A
            # count and pairs alone would be an odd number of numbers.
            n = numbers.count("the number of observed variables")
        if len(numbers.values) != numbers.position + 2 * n:
            raise errors.FileFormatError(
                f"{numbers.source}: expected {2 * n} numbers after the first one, {n}, for as many "
                f"observed variables; got {len(numbers.values) - 1}. The file may be truncated or "
                "of several samples."
            )
        evidence: dict[Name, State] = {}
        for _ in range(n):
            variable = variables[numbers.count("the number of a variable", high=len(variables) - 1)]
            if variable.name in evidence:
                raise numbers.error(f"each variable once; {variable.name!r} is observed already")
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
    encoded = model._encode(evidence)
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
        numbers = Numbers(data, files.path_text(path), kinds, separator=b"-BEGIN-")
        kind = "MPE" if numbers.kind == "MAP" else numbers.kind
        result = _result(kind, numbers, variables, rounded)
    rounded.warn(numbers.source)
    return result


def _result(
    kind: str, numbers: Numbers, variables: list[Discrete], rounded: RoundedRows
) -> UAIResult:
    """Return the solution of a file, after its size is checked."""
    cards = [variable.cardinality for variable in variables]
    # How many numbers a solution has: marginals have the number of states before each.
    size = {"PR": 1, "MPE": 1 + len(cards), "MAR": 1 + len(cards) + sum(cards)}[kind]
    # In the layout of 2010 and 2011 a 1 stands before the solution of one sample.
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
            raise numbers.error("the log to base 10 of a number")
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
        # States or probabilities of each variable: those of the result, and of what is observed.
        values_of: dict[Any, Any] = {model.variable(n): value for n, value in result.items()}
        if twice := [variable.name for variable in values_of if variable in observed]:
            raise errors.EvidenceError(
                f"{errors.quoted(twice)} are both in the result and observed; leave them out of "
                "one of them."
            )
        for variable, code in observed.items():
            certain = np.eye(variable.cardinality)[code]
            values_of[variable] = variable.states[code] if task == "MPE" else certain
        variables = discrete_variables(model)
        if without := [v.name for v in variables if v not in values_of]:
            raise errors.EvidenceError(
                f"A {task} file holds every variable; {errors.quoted(without)} are neither in the "
                "result nor observed: give them, or the evidence= with them."
            )
        words = [str(len(variables))]
        for variable in variables:
            if task == "MPE":
                words.append(str(variable.index(values_of[variable])))
            else:
                values = _probabilities(variable, values_of[variable]).tolist()
                words += [str(len(values)), *map(repr, values)]
    files.write_text(path, f"{task}\n{' '.join(words)}\n")


def _code(numbers: Numbers, variable: Discrete) -> int:
    return numbers.count(f"a state of {variable.name!r}", high=variable.cardinality - 1)


def _marginal(numbers: Numbers, variable: Discrete, rounded: RoundedRows) -> Posterior:
    """Take the posterior of a variable: the number of its states, and their probabilities."""
    n = variable.cardinality
    numbers.count(f"the number of states of {variable.name!r}", low=n, high=n)
    what = f"the probabilities of {variable.name!r}"
    values = rounded.repaired(variable.name, numbers.table(n, what))
    # What the message adds to `what`; empty for a distribution.
    wrong = "" if values.min() >= 0 else ", none below zero"
    if not abs(values.sum() - 1.0) <= SUM_TOLERANCE:
        wrong = f" with the sum 1, not {values.sum():.9g}"
    if wrong:
        raise numbers.error(what + wrong, numbers.position - n)
    return Posterior((variable,), values, math.nan)


def _probabilities(variable: Discrete, value: Any) -> Floats:
    """Return the probabilities of a posterior of one variable, or of an array of them."""
    is_posterior = isinstance(value, Posterior) and value.variables == (variable,)
    try:
        values = np.array(value.probabilities if is_posterior else value, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)  # which is refused, too
    has_shape = values.shape == (variable.cardinality,) and bool((values >= 0).all())
    if not has_shape or not abs(values.sum() - 1.0) <= SUM_TOLERANCE:
        raise errors.EvidenceError(
            f"MAR takes the posterior of {variable.name!r} alone, or an array of its "
            f"{variable.cardinality} probabilities with the sum 1; got {value!r}."
        )
    return values


# --------------------- UAI, the format of the inference competitions: models, evidence and results


HELD = Capabilities("UAI", names=NumberSpelling("x"), states=NumberSpelling(), also=("factors",))
_KINDS = ("MARKOV", "BAYES")
# Comments of aGrUM: a name behind a scope of a network, the variables of a factor behind its size.
_BEHIND = re.compile(rb"#(?<=[ \t]#)")
_NAMED_SCOPE = re.compile(rb"^\d++(?:[ \t]++\d++)++[ \t]++# *+\S", re.MULTILINE)
_NAMED_AXES = re.compile(rb"^\d++ # \{(\d{1,9}+(?:, \d{1,9}+)*+)\}", re.MULTILINE)
# A variable that is in no scope, and the factor of ones that it gets.
_BYTES_OF_FREE = 2000


def parse(
    data: bytes,
    budget: files.Budget,
    *,
    variables: Sequence[Discrete] | None = None,
    normalize: Normalize = True,
) -> BayesianNetwork | FactorGraph:
    """Return the model of a UAI file.

    The variables are in the order of their indices in the file, which evidence and result files
    also refer to. A file of pyAgrum, which orders tables otherwise than the format, is read as
    pyAgrum means it, with a warning. If the scopes of a ``MARKOV`` file have the variables in
    another order, or lack variables, factors of ones over single variables are added.

    Parameters
    ----------
    data : bytes
    budget : Budget
        Bytes that reading the file may allocate beyond its numbers, such as for variables in no
        scope.
    variables : sequence of Discrete, optional
        The variables in the order of their indices, such as ``model.variables`` of the model that
        was written. By default ``"x0"``, ``"x1"``, ... with the states 0, 1, ...
    normalize : bool or "always"
        Whether rows of a ``BAYES`` file whose sum is off by up to 0.02 (printed with few digits)
        are divided by their sum, with one warning that names the tables and the deviation. A file
        with rows that are further off, or zero, is read as a FactorGraph, with a warning. "always"
        divides all rows, such as counts; a row of zeros becomes uniform. If false, all rows that do
        not sum to one are refused. Rows off by at most 1e-6 are kept, but that numbers of -1e-6 to
        0 become zero unless `normalize` is false.

    Returns
    -------
    FactorGraph
        Of a file that starts with ``MARKOV``, or has tables that are no conditional probabilities.
    BayesianNetwork
        Of other files, which start with ``BAYES``.

    Raises
    ------
    FileFormatError
        If the file is invalid, or beyond the limit; the message has the line, the expected text and
        the text there, or the size.
    ModelError
        If `variables` do not match the file.

    Examples
    --------
    >>> parse_uai("MARKOV 2  2 2  1  2 0 1  4  4 1 1 4").query("x1", {"x0": 0})
    P(x1)
      0  0.800000  ███████████████████
      1  0.200000  █████
    """
    numbers = Numbers(data, budget.source, _KINDS)
    n = numbers.count("the number of variables", low=1)
    cards = numbers.counts(n, "numbers of states", low=1)
    scopes = _by_axes(_scopes(numbers, n), numbers)
    tables: list[Floats] = []
    # Index of the first number of each table among the numbers of the file.
    starts: list[int] = []
    for function, scope in enumerate(scopes):
        shape = [cards[i] for i in scope]
        size = math.prod(shape)
        if numbers.count(f"the number of entries of function {function}") != size:
            product = " x ".join(map(str, shape)) or "a constant"
            raise numbers.error(
                f"{size} ({product}) as the number of entries of function {function} over the "
                f"variables {scope}"
            )
        starts.append(numbers.position)
        tables.append(numbers.table(size, f"the entries of function {function}").reshape(shape))
    if left := len(numbers.values) - numbers.position:
        raise numbers.error(
            f"the end of the file after the tables of {len(scopes)} functions",
            numbers.position,
            f" {left} are too many.",
        )
    # Variables that the caller gives have precedence over those of the file.
    comments = _SIDECAR.findall(numbers.text) if variables is None else ()
    lines = [line for text in comments if (line := content_of(_text_of(text))) is not None]
    sidecar = Sidecar.of(lines, budget.source)
    by_index = sidecar.restored(
        _variables(cards, {i for scope in scopes for i in scope}, variables, budget)
    )
    if numbers.kind == "BAYES":
        draft = Draft("UAI", "table", budget, normalize, numbers.line_error)
        draft.advice = (
            " A file of tables that are no conditional probabilities starts with MARKOV; with "
            "normalize=True it is read as if it did."
        )
        draft.variables = {str(i): v for i, v in enumerate(by_index)}
        try:
            for scope, table, start in zip(scopes, tables, starts, strict=True):
                family = [by_index[i] for i in scope]
                # The indices of the first numbers of the rows, for messages.
                places = range(start, start + table.size, table.shape[-1])
                cpd = draft.table(start, family, table, place=places.__getitem__)
                draft.cpds[str(scope[-1])] = cpd
        except errors.FileFormatError:
            # Tables that are no conditional probabilities are factors.
            children = [by_index[scope[-1]] for scope in scopes]
            if normalize is not True or not _unnormalised(children, tables, budget.source):
                raise
        else:
            # The variables are restored already: only scores and annotations are left to do.
            words: dict[object, str] = {v.name: f"x{i}" for i, v in enumerate(by_index)}
            unrestored = dataclasses.replace(sidecar, variables={}, spell=words.__getitem__)
            return draft.network(unrestored)
    # Of all numbers of the file at once, from which those of each table are cut.
    logs = log_of(np.maximum(numbers.values, 0.0))  # noise below zero is zero
    # The first axis of a factor is that of the rows of a batch.
    factors = [
        Factor.from_log([by_index[i] for i in scope], logs[k : k + t.size].reshape(1, *t.shape))
        for scope, t, k in zip(scopes, tables, starts, strict=True)
    ]
    # A factor graph has only variables of its factors, in the order in which these name them.
    # Factors of ones add variables that are in no scope, and keep the order of the file.
    order = list(dict.fromkeys(itertools.chain.from_iterable(scopes)))
    if order != list(range(n)):
        factors = [*(Factor([v], np.ones(v.cardinality)) for v in by_index), *factors]
    return FactorGraph(factors)


def _scopes(numbers: Numbers, n: int) -> list[list[int]]:
    """Return the scopes of all functions; in a network, each variable is the last of one."""
    is_network = numbers.kind == "BAYES"
    scopes: list[list[int]] = []
    # From each child to its function.
    children: dict[int, int] = {}
    for function in range(numbers.count("the number of functions")):
        what = f"the scope of function {function}"
        size = numbers.count(f"the size of {what}", high=files.MAX_AXES)
        scope = numbers.counts(size, what, high=n - 1)
        if len({*scope}) < size:
            place = next(k for k, variable in enumerate(scope) if variable in scope[:k])
            at = numbers.position - size + place
            raise numbers.error(f"{what} with each variable once, not {scope}", at)
        if is_network and not scope:
            raise numbers.error(f"a child in {what}")
        # A child that is there already keeps its first function, which `setdefault` returns.
        if is_network and children.setdefault(scope[-1], function) != function:
            raise numbers.error(
                f"one table for each child, the last of its scope; function {children[scope[-1]]} "
                f"is that of variable {scope[-1]} already"
            )
        scopes.append(scope)
    if is_network and (without := sorted({*range(n)} - children.keys())):
        raise numbers.error(
            f"a scope for each child; the variables {errors.quoted(without)} are the last of none",
            numbers.position,
        )
    return scopes


def _by_axes(scopes: list[list[int]], numbers: Numbers) -> list[list[int]]:
    """Return scopes in the order of the axes of their tables, of which the last varies fastest.

    aGrUM and pyAgrum let the first variable vary fastest, of a network the child and then the first
    parent. Their files are told by comments.
    """
    if not _BEHIND.search(numbers.text):
        return scopes
    axes = [list(map(int, words.split(b","))) for words in _NAMED_AXES.findall(numbers.text)]
    if numbers.kind == "BAYES" and len(_NAMED_SCOPE.findall(numbers.text)) == len(scopes):
        # The parents turned round, and the child, which is the last of a scope.
        by_axes = [[*scope[-2::-1], scope[-1]] for scope in scopes]
    elif numbers.kind == "MARKOV" and [*map(sorted, axes)] == [*map(sorted, scopes)]:
        # The comments name the variables from the fastest to the slowest.
        by_axes = [variables[::-1] for variables in axes]
    else:
        return scopes
    if by_axes != scopes:
        errors.warn(
            f"{numbers.source}: pyAgrum wrote this file, as its comments tell. Unlike the format, "
            "it has the first variable of a table vary fastest; the tables are read so. If another "
            "program wrote it, remove the comments behind its numbers.",
            errors.BayesGraphWarning,
        )
    return by_axes


def _unnormalised(children: Sequence[Discrete], tables: Sequence[Floats], source: str) -> bool:
    """Return whether tables are no conditional probabilities, with a warning if they are not.

    Tables that have the child on another axis are not meant: they are refused.
    """
    wrong = {child.name: t for child, t in zip(children, tables, strict=True) if not sum_to_one(t)}
    if not wrong or any(t.ndim > 1 and is_swapped(t) for t in wrong.values()):
        return False
    errors.warn(
        f"{source}: rows of the tables of {errors.quoted(wrong)} do not sum to one: the file is "
        "read as a FactorGraph, of which only the product is normalised. normalize='always' "
        "divides each row by its sum; normalize=False refuses the file.",
        errors.BayesGraphWarning,
    )
    return True


def _variables(
    cards: list[int], in_scopes: set[int], wanted: Sequence[Discrete] | None, budget: files.Budget
) -> list[Discrete]:
    """Return the variables of a file: those that are wanted, or else ``x0``, ``x1``, ...

    Those in no scope take from the budget.
    """
    source = budget.source
    if wanted is None:
        # No table confirms the numbers of states of variables in no scope.
        free = [n for i, n in enumerate(cards) if i not in in_scopes]
        what = f"{len(free)} variables with {sum(free)} states, which are in no scope,"
        budget.take(_BYTES_OF_FREE * len(free) + files.BYTES_OF_STATE * sum(free), what)
        return [Discrete(f"x{i}", range(n)) for i, n in enumerate(cards)]
    variables = list(wanted)
    if len(variables) != len(cards):
        raise errors.ModelError(
            f"{source}: expected {len(cards)} variables= for the file; got {len(variables)}."
        )
    for i, variable in enumerate(variables):
        if getattr(variable, "cardinality", None) != cards[i]:
            raise errors.ModelError(
                f"{source}: expected variables= with a discrete variable of {cards[i]} states in "
                f"place {i}, as in the file; got {variable!r}."
            )
    if len({variable.name for variable in variables}) < len(variables):
        raise errors.ModelError(
            f"{source}: expected variables= of different names; got "
            f"{errors.quoted(variable.name for variable in variables)}."
        )
    return variables


# ----------------------------------------------------------------------------------- writing


def formatted(model: Any, *, strict: bool = True) -> tuple[str, files.LossReport]:
    """Return a discrete model as UAI text, and what is lost.

    A BayesianNetwork becomes ``BAYES``. A FactorGraph becomes ``MARKOV``, with the exponents
    applied to its tables (one warning says so) and its CPDs as factors. Variables are numbered in
    the order of ``model.variables``. Numbers are written so that they read back as the same floats.

    Parameters
    ----------
    model : BayesianNetwork or FactorGraph
    strict : bool
        UAI holds neither names nor states. If true, names and states are refused unless they are
        the defaults of the reader (``"x0"``, ``"x1"``, ... and 0, 1, ...); if false, comments at
        the end of the file have them, from which the reader restores them.

    Raises
    ------
    LossyExportError
        If UAI cannot hold the model. The message lists all problems: continuous variables, numbers
        beyond the range of floats and (unless `strict` is false) names and states.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> cpd = bg.TableCPD(bg.Discrete("x0", [0, 1]), [0.75, 0.25])
    >>> print(format_uai(bg.BayesianNetwork([cpd])), end="")
    BAYES
    1
    2
    1
    1 0
    <BLANKLINE>
    2
    0.75 0.25
    """
    export = Export.of(model, HELD, strict=strict)
    variables = [variable for variable in export.names if isinstance(variable, Discrete)]
    number = {variable: i for i, variable in enumerate(variables)}
    lines = [
        "BAYES" if model.networks else "MARKOV",
        str(len(variables)),
        " ".join(str(variable.cardinality) for variable in variables),
        str(len(export.tables)),
    ]
    for scope, _ in export.tables:
        lines.append(" ".join(map(str, [len(scope), *(number[v] for v in scope)])))
    for _, values in export.tables:
        lines += ["", str(values.size)]
        # The values along the last axis in each line; repr reads back as the same float.
        rows = values.reshape(-1, values.shape[-1] if values.ndim else 1).tolist()
        lines += [" ".join(map(repr, row)) for row in rows]
    # At the end, where programs that know no comments have stopped reading.
    lines += [f"# {line}" for line in export.sidecar]
    return "\n".join([*lines, ""]), export.report


FORMAT = FileFormat("UAI", parse, formatted, HELD)
parse_uai, format_uai = FORMAT.parse_text, FORMAT.format_text
