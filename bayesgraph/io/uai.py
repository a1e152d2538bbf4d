"""UAI, the format of the inference competitions: models, evidence and results.

A model file has a word for its kind, the numbers of states, the scopes and the tables; it has no
names of variables or states. The last variable of a scope varies fastest, and in a Bayesian network
it is the child. Line breaks count as blanks. The formats are described at
https://uaicompetition.github.io/uci-2022/file-formats/; lines that start with the word ``c`` are
comments, as in 2016, and so is what follows a ``#`` in a line, as pyAgrum writes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bayesgraph.cpds import TableCPD
from bayesgraph.cpds.validation import SUM_TOLERANCE
from bayesgraph.errors import (
    BayesGraphError,
    BayesGraphWarning,
    FileFormatError,
    LossyExportError,
    ModelError,
    quoted,
    warn,
)
from bayesgraph.factors import Factor
from bayesgraph.factors.algebra import Floats
from bayesgraph.io import FileFormat
from bayesgraph.io.budget import BYTES_OF_STATE, MAX_AXES, Budget, reading
from bayesgraph.io.capabilities import Capabilities, NumberSpelling
from bayesgraph.io.exporting import Export, Losses, Words, no_table
from bayesgraph.io.files import PathLike, path_text, read_unzipped, write_text
from bayesgraph.io.row_sums import (
    Normalize,
    RoundedRows,
    first_bad_row,
    network_of,
    sum_to_one,
)
from bayesgraph.io.sidecar import Sidecar
from bayesgraph.io.uai_answers import (
    UAIResult,
    read_uai_evidence,
    read_uai_result,
    write_uai_evidence,
    write_uai_result,
)
from bayesgraph.io.uai_numbers import Numbers, open_numbers, sidecar_lines
from bayesgraph.loss_report import LossReport
from bayesgraph.models.factor_graph import FactorGraph
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete, Variable

HELD = Capabilities("UAI", names=NumberSpelling("x"), states=NumberSpelling())
_KINDS = ("MARKOV", "BAYES")
# A variable that is in no scope, and the factor of ones that it gets.
_BYTES_OF_FREE = 2000
_T = TypeVar("_T")
_POWERS_OF_TEN = np.array([float(10**digits) for digits in range(23)])


def read_uai(
    path: PathLike,
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
    with reading(path_text(path), "UAI"):
        data, budget = read_unzipped(path, limit)
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
    with reading("UAI text", "UAI"):
        data = text.encode()
        return _parse(data, Budget("UAI text", len(data), limit), variables, normalize)


def write_uai(model: Any, path: PathLike, *, strict: bool = True) -> LossReport:
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
    write_text(path, text)
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


def _formatted(model: Any, *, strict: bool) -> tuple[str, LossReport]:
    if isinstance(model, FactorGraph):
        losses = Losses(HELD.format, strict)
        tables = _graph_tables(model, losses)
        words = Words.of([v for v in model.variables if isinstance(v, Discrete)], HELD, losses)
        return _text("MARKOV", words.names, tables, words.sidecar), losses.report()
    if not isinstance(model, BayesianNetwork):
        raise LossyExportError(
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
    data: bytes, budget: Budget, variables: Sequence[Discrete] | None, normalize: Normalize
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
        except FileFormatError:
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
    warn(
        f"{source}: rows of the tables of {quoted(t.scope[-1].name for t in wrong)} do not sum to "
        "one: the file is read as a FactorGraph, of which only the product is normalised. "
        "normalize='always' divides each row by its sum; normalize=False refuses the file.",
        BayesGraphWarning,
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
    members, ends = numbers.lists(n_functions, MAX_AXES, n - 1)
    scopes = _cut(members, ends)
    good = _first_repeated(scopes)
    if bayes:
        good = min(good, _first_without_child(scopes))
    if good < n_functions:
        numbers.position = start + ends[good] + good
        raise _scope_error(numbers, scopes[:good], n)
    if bayes and (without := sorted(set(range(n)).difference(scope[-1] for scope in scopes))):
        raise numbers.error(
            numbers.position,
            f"a scope for each child; the variables {quoted(without)} are the last of none",
        )
    return members, ends


def _first_repeated(scopes: Sequence[Sequence[int]]) -> int:
    """Return the number of scopes before the first with a variable twice."""
    twice = (k for k, scope in enumerate(scopes) if len(set(scope)) < len(scope))
    return next(twice, len(scopes))


def _first_without_child(scopes: Sequence[Sequence[int]]) -> int:
    """Return the number of scopes before the first whose child is missing or that of another."""
    children: set[int] = set()
    for function, scope in enumerate(scopes):
        if not scope or scope[-1] in children:
            return function
        children.add(scope[-1])
    return len(scopes)


def _scope_error(numbers: Numbers, before: list[tuple[int, ...]], n: int) -> FileFormatError:
    """Return the error for the next scope, which is refused: it is read alone, for its words."""
    size = numbers.count(f"the size of the scope of function {len(before)}", high=MAX_AXES)
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
) -> FileFormatError:
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
    states: list[int], members: list[int], given: Sequence[Discrete] | None, budget: Budget
) -> list[Discrete]:
    source = budget.source
    if given is None:
        # No table confirms the numbers of states of variables in no scope.
        held = set(members)
        free = [n for i, n in enumerate(states) if i not in held]
        what = f"{len(free)} variables with {sum(free)} states, which are in no scope,"
        budget.take(_BYTES_OF_FREE * len(free) + BYTES_OF_STATE * sum(free), what)
        return [Discrete(f"x{i}", range(n)) for i, n in enumerate(states)]
    variables = list(given)
    if len(variables) != len(states):
        raise ModelError(
            f"{source}: expected {len(states)} variables= for the file; got {len(variables)}."
        )
    for i, variable in enumerate(variables):
        if getattr(variable, "cardinality", None) != states[i]:
            raise ModelError(
                f"{source}: expected variables= with a discrete variable of {states[i]} states in "
                f"place {i}, as in the file; got {variable!r}."
            )
    if len({variable.name for variable in variables}) < len(variables):
        raise ModelError(
            f"{source}: expected variables= of different names; got "
            f"{quoted(variable.name for variable in variables)}."
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
    except BayesGraphError as error:
        line = numbers.line(table.start + first_bad_row(values) * child.cardinality)
        advice = (
            "A file of tables that are no conditional probabilities starts with MARKOV; with "
            "normalize=True it is read as if it did."
        )
        if parents and _is_swapped(values):
            advice = "In UAI the child varies fastest; here it reads as if it varied slowest."
        raise FileFormatError(f"{numbers.source}, line {line}: {error} {advice}") from error


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
            if not _is_held(values, factor.log_values[0]):
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


def _is_held(values: Floats, log_values: Floats) -> bool:
    """Return whether all numbers represent their logarithms, without under- or overflow."""
    with np.errstate(all="ignore"):
        change = np.abs(np.log(values) - log_values)
    return bool(((change <= 1e-9) | np.isneginf(log_values) & (values == 0)).all())


def _rows(values: Floats) -> Iterator[str]:
    """Yield the lines of a table in a file: the values along its last axis in each line."""
    for row in values.reshape(-1, values.shape[-1] if values.ndim else 1).tolist():
        # repr gives the shortest decimal that reads back as the same float.
        yield " ".join(map(repr, row))


FORMAT = FileFormat("UAI", read_uai, write_uai, holds=HELD)

__all__ = [
    "UAIResult",
    "format_uai",
    "parse_uai",
    "read_uai",
    "read_uai_evidence",
    "read_uai_result",
    "write_uai",
    "write_uai_evidence",
    "write_uai_result",
]
