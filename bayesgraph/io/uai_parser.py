"""The reading half of UAI: text to model.

The preamble is read and checked first, so that the size of every table is known before it is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from bayesgraph.cpds import TableCPD
from bayesgraph.cpds.table import SUM_TOLERANCE
from bayesgraph.errors import BayesGraphError, FileFormatError, ModelError, quoted, suggestion
from bayesgraph.factors import Factor
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.rounding import ROUNDING_LIMIT, RoundedRows
from bayesgraph.io.uai_numbers import Numbers, first_word, without_comments
from bayesgraph.models.factor_graph import FactorGraph
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete

_KINDS = ("MARKOV", "BAYES")
# NumPy arrays have 64 axes, and a factor uses one of them for the rows of a batch.
_MOST_VARIABLES = 63
# Of a variable whose states no table of the file vouches for.
_MOST_FREE_STATES = 10**6


class _Table(NamedTuple):
    """A table: its scope, and where its entries start among the numbers of the file."""

    scope: list[Discrete]
    values: Floats
    start: int


def parse(
    data: bytes, *, source: str, variables: Sequence[Discrete] | None, normalize: bool
) -> BayesianNetwork | FactorGraph:
    """Return the model of a UAI file.

    Parameters
    ----------
    data : bytes
        Content of the file.
    source : str
        For messages: the path.
    variables : sequence of Discrete, optional
        What the numbers stand for.
    normalize : bool
        Divide rows that are off by at most 0.02 by their sum, with a warning, or refuse them.

    Raises
    ------
    FileFormatError, ModelError
    """
    data = without_comments(data)
    word, start = first_word(data)
    kind = word.upper()
    if kind not in _KINDS:
        got = repr(word[:40]) if word else "an empty file"
        raise FileFormatError(
            f"{source}: expected {' or '.join(_KINDS)} as the first word; got {got}."
            f"{suggestion(kind, _KINDS)}"
        )
    numbers = Numbers(data, source, start)
    n = numbers.count("the number of variables", low=1)
    states: list[int] = numbers.counts(n, "numbers of states", low=1).tolist()
    scopes = _scopes(numbers, n, bayes=kind == "BAYES")
    starts, arrays = [], []
    for function, scope in enumerate(scopes):
        arrays.append(_entries(numbers, function, scope, states))
        starts.append(numbers.position - arrays[-1].size)
    numbers.finish(f"the tables of {len(scopes)} functions")
    known = _variables(states, scopes, variables, source)
    tables = [
        _Table([known[i] for i in scope], values, at)
        for scope, values, at in zip(scopes, arrays, starts, strict=True)
    ]
    if kind == "BAYES":
        return _network(tables, known, numbers, normalize)
    first, last = _ones(scopes, n)
    return FactorGraph(
        [
            *(Factor([known[i]], np.ones(states[i])) for i in first),
            *(Factor(table.scope, table.values) for table in tables),
            *(Factor([known[i]], np.ones(states[i])) for i in last),
        ]
    )


def _scopes(numbers: Numbers, n: int, *, bayes: bool) -> list[list[int]]:
    n_functions = numbers.count("the number of functions")
    scopes: list[list[int]] = []
    function_of: dict[int, int] = {}
    while len(scopes) < n_functions:
        function = len(scopes)
        scope = _scope(numbers, function, n)
        if bayes:
            end = numbers.position - 1
            if not scope:
                raise numbers.error(end, f"a child in the scope of function {function}")
            if function_of.setdefault(scope[-1], function) != function:
                raise numbers.error(
                    end,
                    "one table for each child, the last of its scope; function "
                    f"{function_of[scope[-1]]} is that of variable {scope[-1]} already",
                )
        scopes.append(scope)
    if bayes and (without := [i for i in range(n) if i not in function_of]):
        raise numbers.error(
            numbers.position,
            f"a scope for each child; the variables {quoted(without)} are the last of none",
        )
    return scopes


def _scope(numbers: Numbers, function: int, n: int) -> list[int]:
    size = numbers.count(f"the size of the scope of function {function}", high=_MOST_VARIABLES)
    what = f"the scope of function {function}"
    scope: list[int] = numbers.counts(size, what, high=n - 1).tolist()
    for place, variable in enumerate(scope):
        if variable in scope[:place]:
            at = numbers.position - size + place
            raise numbers.error(at, f"{what} with each variable once, not {scope}")
    return scope


def _entries(numbers: Numbers, function: int, scope: list[int], states: list[int]) -> Floats:
    shape = [states[variable] for variable in scope]
    size = math.prod(shape)
    if numbers.count(f"the number of entries of function {function}") != size:
        product = " x ".join(map(str, shape)) or "a constant"
        raise numbers.error(
            numbers.position - 1,
            f"{size} ({product}) as the number of entries of function {function} over the "
            f"variables {scope}",
        )
    return numbers.table(size, f"the entries of function {function}").reshape(shape)


def _variables(
    states: list[int], scopes: list[list[int]], given: Sequence[Discrete] | None, source: str
) -> list[Discrete]:
    if given is None:
        held = {i for scope in scopes for i in scope}
        for i, n in enumerate(states):
            if n > _MOST_FREE_STATES and i not in held:
                raise FileFormatError(
                    f"{source}: expected at most {_MOST_FREE_STATES} states of variable {i},"
                    f" which is in no scope; got {n}."
                )
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


def _ones(scopes: list[list[int]], n: int) -> tuple[range, list[int]]:
    """Return which variables need a factor of ones before and after the factors of the file.

    A factor graph takes its variables, and their order, from its factors.
    """
    seen = list(dict.fromkeys(variable for scope in scopes for variable in scope))
    free = sorted(set(range(n)).difference(seen))
    order = seen + free
    late = [v for v, highest in zip(order, accumulate(order, max), strict=True) if v < highest]
    first = range(1 + max(late, default=-1))
    return first, [variable for variable in free if variable not in first]


def _network(
    tables: list[_Table], variables: list[Discrete], numbers: Numbers, normalize: bool
) -> BayesianNetwork:
    rounded = RoundedRows(normalize=normalize)
    cpds = {table.scope[-1]: _cpd(table, numbers, rounded) for table in tables}
    try:
        network = BayesianNetwork([cpds[variable] for variable in variables])
    except BayesGraphError as error:
        raise FileFormatError(f"{numbers.source}: {error}") from error
    rounded.warn(numbers.source, stacklevel=5)  # above bayesgraph.load
    return network


def _cpd(table: _Table, numbers: Numbers, rounded: RoundedRows) -> TableCPD:
    *parents, child = table.scope
    # Numbers that overflow a sum are refused like any others that do not sum to one.
    with np.errstate(over="ignore", invalid="ignore"):
        values = rounded.settle(child.name, table.values)
        try:
            return TableCPD(child, values, parents)
        except BayesGraphError as error:
            sums = values.reshape(-1, child.cardinality).sum(axis=1)
            row = int(np.argmin(np.abs(sums - 1.0) <= SUM_TOLERANCE))
            line = numbers.line(table.start + row * child.cardinality)
            slowest = values.reshape(child.cardinality, -1).sum(axis=0)
            if parents and np.allclose(slowest, 1.0, rtol=0.0, atol=ROUNDING_LIMIT):
                advice = (
                    "In UAI the child varies fastest; this table reads as if it varied slowest."
                )
            else:
                advice = (
                    "A file of tables that are no conditional probabilities starts with MARKOV."
                )
            raise FileFormatError(f"{numbers.source}, line {line}: {error} {advice}") from error
