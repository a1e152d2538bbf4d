"""Evidence and result files of the UAI competitions, which refer to variables by index.

An evidence file has the number of observed variables, and then pairs of variable and state. A
result file starts with its task (marginals, most probable explanation or partition function),
followed by a solution. In files of 2010 and 2011 the number of evidence samples precedes the
evidence or the solution: files with one sample are read. The layout of all other years is written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.cpds.validation import SUM_TOLERANCE
from bayesgraph.errors import (
    EvidenceError,
    FileFormatError,
    LossyExportError,
    UnsupportedModelError,
    quoted,
)
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference import Posterior
from bayesgraph.io.budget import reading
from bayesgraph.io.exporting import no_table
from bayesgraph.io.files import PathLike, path_text, read_unzipped, write_text
from bayesgraph.io.row_sums import Normalize, RoundedRows
from bayesgraph.io.uai_numbers import Numbers, open_numbers
from bayesgraph.models.model import Model
from bayesgraph.variables import Discrete, Name, State

_TASKS = ("MAR", "MPE", "PR")


def read_uai_evidence(
    path: PathLike, model: Model, *, limit: int | None = None
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
    with reading(path_text(path), "UAI evidence"):
        data, _ = read_unzipped(path, limit)
        return _evidence(open_numbers(data, path_text(path))[1], variables)


def _evidence(numbers: Numbers, variables: list[Discrete]) -> dict[Name, State]:
    n = numbers.count("the number of observed variables")
    values = numbers.values
    if len(values) != 1 + 2 * n:
        # One sample in the layout of 2010 and 2011: the number of samples, 1, comes first.
        if not (n == 1 and len(values) > 1 and len(values) == 2 + 2 * values[1]):
            raise FileFormatError(
                f"{numbers.source}: expected {2 * n} numbers after the first one, {n}, for as many "
                f"observed variables; got {numbers.left}. The file may be truncated or of several "
                "samples."
            )
        n = numbers.count("the number of observed variables")
    evidence: dict[Name, State] = {}
    for _ in range(n):
        variable = variables[numbers.count("the number of a variable", high=len(variables) - 1)]
        if variable.name in evidence:
            raise numbers.error(
                numbers.position - 1, f"each variable once; {variable.name!r} is observed already"
            )
        evidence[variable.name] = variable.states[_code(numbers, variable)]
    return evidence


def write_uai_evidence(evidence: Mapping[Name, Any] | None, model: Model, path: PathLike) -> None:
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
    write_text(path, " ".join([str(len(pairs)), *pairs]) + "\n")


def discrete_variables(model: Model) -> list[Discrete]:
    """Return the variables of a model; an error if one of them is not discrete."""
    variables = [variable for variable in model.variables if isinstance(variable, Discrete)]
    if len(variables) < len(model.variables):
        others = [no_table(v) for v in model.variables if not isinstance(v, Discrete)]
        raise UnsupportedModelError(f"UAI files are of discrete variables; {', '.join(others)}.")
    return variables


def observed_codes(evidence: Mapping[Name, Any] | None, model: Model) -> dict[Discrete, int]:
    """Return the state code of each observed variable; an error for soft evidence."""
    encoded = model.encode(evidence)
    if encoded.likelihoods:
        raise LossyExportError(
            "UAI holds states, not likelihoods; the evidence on "
            f"{quoted(v.name for v in encoded.likelihoods)} is soft."
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
    path: PathLike, model: Model, *, normalize: Normalize = True, limit: int | None = None
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
    with reading(path_text(path), "a UAI result"):
        data, _ = read_unzipped(path, limit)
        # Some years call the most probable explanation MAP.
        kinds = (*_TASKS, "MAP")
        kind, numbers = open_numbers(data, path_text(path), kinds, separator=b"-BEGIN-")
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
        raise FileFormatError(
            f"{numbers.source}: expected {size} numbers for the variables of the model; got "
            f"{len(numbers.values)}. The file may be truncated, of another model, or of several "
            "samples."
        )
    if kind == "PR":
        return UAIResult(kind, _log_number(numbers))
    numbers.count("the number of variables", low=len(cards), high=len(cards))
    if kind == "MPE":
        return UAIResult(kind, {v.name: v.states[_code(numbers, v)] for v in variables})
    return UAIResult(kind, {v.name: _marginal(numbers, v, rounded) for v in variables})


def write_uai_result(
    path: PathLike,
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
        raise ValueError(f"kind is one of {quoted(_TASKS)}; got {kind!r}.")
    if task == "PR":
        words = [_log10_text(result)]
    else:
        words = _solution(task, result, model, observed_codes(evidence, model))
    write_text(path, f"{task}\n{' '.join(words)}\n")


def _code(numbers: Numbers, variable: Discrete) -> int:
    return numbers.count(f"a state of {variable.name!r}", high=variable.cardinality - 1)


def _log_number(numbers: Numbers) -> float:
    value = float(numbers.take(1, "the log to base 10")[0])
    if value == math.inf:
        raise numbers.error(numbers.position - 1, "the log to base 10 of a number")
    return value * math.log(10.0)


def _marginal(numbers: Numbers, variable: Discrete, rounded: RoundedRows) -> Posterior:
    n = variable.cardinality
    numbers.count(f"the number of states of {variable.name!r}", low=n, high=n)
    what = f"the probabilities of {variable.name!r}"
    values = rounded.repaired(variable.name, numbers.table(n, what))
    if not abs(values.sum() - 1.0) <= SUM_TOLERANCE:
        raise numbers.error(numbers.position - n, f"{what} with the sum 1, not {values.sum():.9g}")
    return Posterior((variable,), values, math.nan)


def _log10_text(value: Any) -> str:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number) or number == math.inf:
        raise EvidenceError(f"PR takes the natural log of a number; got {value!r}.")
    return repr(number / math.log(10.0))


def _solution(kind: str, result: Any, model: Model, observed: dict[Discrete, int]) -> list[str]:
    if not isinstance(result, Mapping) or isinstance(result, Posterior):
        raise EvidenceError(f"{kind} takes a mapping from the names of variables; got {result!r}.")
    given = {model.variable(name): value for name, value in result.items()}
    if twice := [variable.name for variable in given if variable in observed]:
        raise EvidenceError(
            f"{quoted(twice)} are both in the result and observed; leave them out of one of them."
        )
    variables = discrete_variables(model)
    if without := [v.name for v in variables if v not in given and v not in observed]:
        raise EvidenceError(
            f"A {kind} file holds every variable; {quoted(without)} are neither in the result "
            "nor observed: give them, or the evidence= with them."
        )
    words = [str(len(variables))]
    for variable in variables:
        if kind == "MPE":
            code = observed.get(variable)
            words.append(str(variable.index(given[variable]) if code is None else code))
        else:
            values = (
                np.eye(variable.cardinality)[observed[variable]]
                if variable in observed
                else _probabilities(variable, given[variable])
            )
            words += [str(variable.cardinality), *map(repr, values.tolist())]
    return words


def _probabilities(variable: Discrete, value: Any) -> Floats:
    if isinstance(value, Posterior):
        if value.variables != (variable,):
            raise EvidenceError(
                f"MAR takes the posterior of {variable.name!r} alone; got that of "
                f"{quoted(value.names)}."
            )
        return value.probabilities
    try:
        values = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EvidenceError(
            f"MAR takes a Posterior or an array of probabilities of {variable.name!r}; got "
            f"{value!r}."
        ) from error
    good = values.shape == (variable.cardinality,) and bool((values >= 0).all())
    if not good or not abs(values.sum() - 1.0) <= SUM_TOLERANCE:
        raise EvidenceError(
            f"MAR takes {variable.cardinality} probabilities of {variable.name!r} with the sum 1; "
            f"got {value!r}."
        )
    return values
