"""Result files of the UAI competitions: marginals, most probable explanations, partition functions.

The first word is the task, and then comes a solution. Of several solutions the last one counts. In
2010 and 2011 a solution starts with the number of samples of evidence and has a part for each; such
files are read, and what is written is the layout of later years, without that number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.cpds.table import SUM_TOLERANCE
from bayesgraph.errors import EvidenceError, FileFormatError, quoted, suggestion
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference import Posterior
from bayesgraph.io.files import PathLike, path_text, read_unzipped, write_text
from bayesgraph.io.rounding import RoundedRows
from bayesgraph.io.uai_evidence import chosen_sample, discrete_variables, observed_codes
from bayesgraph.io.uai_numbers import Numbers, first_word, without_comments
from bayesgraph.models.model import Model
from bayesgraph.variables import Discrete, Name

_TASKS = ("MAR", "MPE", "PR")
# Between the solutions of a result file; the last one counts.
_BEGIN = b"-BEGIN-"


class UAIResult(NamedTuple):
    """What a result file holds.

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
    path: PathLike, model: Model, *, sample: int | None = None, normalize: bool = True
) -> UAIResult:
    """Read a UAI result file (``.MAR``, ``.MPE``, ``.PR``); its first word tells which.

    Of several solutions, with ``-BEGIN-`` between them, the last one counts.

    Parameters
    ----------
    path : str or path
    model : BayesianNetwork or FactorGraph
        Its variables are those of the file, in the order of ``model.variables``.
    sample : int, optional
        Which sample of a file of several (2010, 2011), from 0.
    normalize : bool
        What to do with marginals that do not sum to one; as in
        :func:`bayesgraph.io.uai.read_uai`.

    Returns
    -------
    UAIResult
        A pair of kind and value. The file does not tell ``log_evidence``: it is NaN in each
        Posterior.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        With the line, what was expected there and what came.
    UnsupportedModelError
        For a model with continuous variables.
    """
    source = path_text(path)
    data = without_comments(read_unzipped(path))
    word, start = first_word(data)
    # Some years call the most probable explanation MAP.
    kind = "MPE" if word.upper() == "MAP" else word.upper()
    if kind not in _TASKS:
        got = repr(word[:40]) if word else "an empty file"
        raise FileFormatError(
            f"{source}: expected {quoted(_TASKS)} as the first word; got {got}."
            f"{suggestion(kind, _TASKS)}"
        )
    last = data.rfind(_BEGIN)
    numbers = Numbers(data, source, start if last < start else last + len(_BEGIN))
    variables = discrete_variables(model)
    cards = [variable.cardinality for variable in variables]
    size = {"PR": 1, "MPE": 1 + len(cards), "MAR": 1 + len(cards) + sum(cards)}[kind]
    _skip_samples(numbers, size, sample)
    if kind == "PR":
        return UAIResult(kind, _log_number(numbers))
    numbers.count("the number of variables", low=len(cards), high=len(cards))
    if kind == "MPE":
        return UAIResult(kind, {v.name: v.states[_code(numbers, v)] for v in variables})
    rounded = RoundedRows(normalize=normalize)
    marginals = {v.name: _marginal(numbers, v, rounded) for v in variables}
    rounded.warn(source, stacklevel=2)
    return UAIResult(kind, marginals)


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
        The observed variables, of which MAR and MPE files tell too. They may be in the result
        instead.

    Raises
    ------
    ValueError
        For another kind.
    EvidenceError
        For a variable without a result, one that is both in the result and observed, and numbers
        that are no probabilities.
    UnknownVariableError, UnknownStateError
        For names and states that the model does not have.
    LossyExportError
        For soft evidence.
    UnsupportedModelError
        For a model with continuous variables.
    """
    task = str(kind).upper()
    if task not in _TASKS:
        raise ValueError(f"kind is one of {quoted(_TASKS)}; got {kind!r}.")
    if task == "PR":
        words = [_log10_text(result)]
    else:
        words = _solution(task, result, model, observed_codes(evidence, model))
    write_text(path, f"{task}\n{' '.join(words)}\n")


def _skip_samples(numbers: Numbers, size: int, sample: int | None) -> None:
    """Go to where a solution of a known size starts."""
    total = len(numbers.values)
    if total == size:
        chosen_sample(sample, 1, numbers.source)
        return
    n_samples = numbers.count("the number of samples") if total else 0
    if total != 1 + n_samples * size:
        raise FileFormatError(
            f"{numbers.source}: expected {size} numbers for the variables of the model, or the "
            f"number of samples of evidence and {size} numbers for each; got {total}. The file may "
            "be truncated, or of another model."
        )
    numbers.position += size * chosen_sample(sample, n_samples, numbers.source)


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
    values = rounded.settle(variable.name, numbers.table(n, what))
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
            f"A {kind} file tells of every variable; {quoted(without)} are neither in the result "
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
