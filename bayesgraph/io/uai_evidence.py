"""Evidence files of the UAI competitions, which refer to the variables of a model by number.

Evidence is the number of observed variables and then pairs of variable and state. The files of 2010
and 2011 may hold several samples of it: their number comes first, then each sample as above. Both
are read; what is written is the layout of all other years, 2014 and later included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesgraph.errors import FileFormatError, LossyExportError, UnsupportedModelError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.files import PathLike, path_text, read_unzipped, write_text
from bayesgraph.io.uai_numbers import Numbers, without_comments
from bayesgraph.io.values import no_table
from bayesgraph.models.model import Model
from bayesgraph.variables import Discrete, Name, State


def read_uai_evidence(
    path: PathLike, model: Model, *, sample: int | None = None
) -> dict[Name, State]:
    """Read a UAI evidence file (``.evid``); gzip is recognised by its content.

    The layout is told by the count of numbers: a file of one sample that starts with n has 2 n more
    of them. Only n samples with n / 2 observations in all, most of them empty, can be read as one
    sample too; they are, unless `sample` is given.

    Parameters
    ----------
    path : str or path
    model : BayesianNetwork or FactorGraph
        Its variables are those that the file refers to by number, in the order of
        ``model.variables``.
    sample : int, optional
        Which sample of a file of several (2010, 2011), from 0.

    Returns
    -------
    dict from name to state
        For ``query``, ``most_probable`` and ``log_probability``. In the order of the file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        With the line, what was expected there and what came; for a file of several samples without
        `sample`, and a sample that it does not have.
    UnsupportedModelError
        For a model with continuous variables.
    """
    variables = discrete_variables(model)
    numbers = Numbers(without_comments(read_unzipped(path)), path_text(path))
    n = numbers.count("the number of observed variables or of samples")
    starts = _sample_starts(numbers.values)
    single = len(numbers.values) == 1 + 2 * n
    if single and (sample is None or starts is None or not n):
        starts = [0]
    if starts is None:
        raise FileFormatError(
            f"{numbers.source}: expected {2 * n} numbers after the first one, {n}, for as many "
            f"observed variables, or {n} samples of evidence; got {numbers.left} numbers that are "
            "neither. The file may be truncated."
        )
    numbers.position = starts[chosen_sample(sample, len(starts), numbers.source)]
    return _observed(numbers, variables)


def write_uai_evidence(evidence: Mapping[Name, Any] | None, model: Model, path: PathLike) -> None:
    """Write evidence as one sample, gzipped if the path ends in ``.gz``.

    The layout is that of 2006, 2008, and 2014 and later, in one line. The file is replaced as a
    whole or not at all.

    Parameters
    ----------
    evidence : mapping from name to state
        None and NaN mean not observed.
    model : BayesianNetwork or FactorGraph
        Variables and states are written as their numbers in ``model.variables``.
    path : str or path

    Raises
    ------
    UnknownVariableError, UnknownStateError
        With what is known and the nearest match.
    LossyExportError
        For soft evidence, which UAI cannot hold.
    UnsupportedModelError
        For a model with continuous variables.
    """
    codes = observed_codes(evidence, model)
    pairs = [f"{i} {codes[v]}" for i, v in enumerate(discrete_variables(model)) if v in codes]
    write_text(path, " ".join([str(len(pairs)), *pairs]) + "\n")


def _sample_starts(values: Floats) -> list[int] | None:
    """Return where the samples start in a file that starts with their number, if it is one."""
    starts: list[int] = []
    at = 1
    while at < len(values):
        starts.append(at)
        if not 0 <= values[at] <= len(values):
            return None
        at += 1 + 2 * int(values[at])
    return starts if at == len(values) and len(starts) == values[0] else None


def _observed(numbers: Numbers, variables: list[Discrete]) -> dict[Name, State]:
    evidence: dict[Name, State] = {}
    for _ in range(numbers.count("the number of observed variables")):
        variable = variables[numbers.count("the number of a variable", high=len(variables) - 1)]
        if variable.name in evidence:
            raise numbers.error(
                numbers.position - 1, f"each variable once; {variable.name!r} is observed already"
            )
        code = numbers.count(f"a state of {variable.name!r}", high=variable.cardinality - 1)
        evidence[variable.name] = variable.states[code]
    return evidence


def discrete_variables(model: Model) -> list[Discrete]:
    """Return the variables of a model, all of which must be discrete."""
    variables = [variable for variable in model.variables if isinstance(variable, Discrete)]
    if len(variables) < len(model.variables):
        others = [no_table(v) for v in model.variables if not isinstance(v, Discrete)]
        raise UnsupportedModelError(f"UAI files are of discrete variables; {', '.join(others)}.")
    return variables


def observed_codes(evidence: Mapping[Name, Any] | None, model: Model) -> dict[Discrete, int]:
    """Return the numbers of the observed states."""
    encoded = model.encode(evidence)
    if encoded.likelihoods:
        raise LossyExportError(
            "UAI holds states, not likelihoods; the evidence on "
            f"{quoted(v.name for v in encoded.likelihoods)} is soft."
        )
    return {v: int(column[0]) for v, column in encoded.columns.items() if isinstance(v, Discrete)}


def chosen_sample(sample: int | None, n_samples: int, source: str) -> int:
    """Return which of the samples is meant."""
    if sample is None:
        if n_samples == 1:
            return 0
        raise FileFormatError(
            f"{source}: expected one sample; got {n_samples}. Choose one with sample=0 to "
            f"{n_samples - 1}."
        )
    if not 0 <= sample < n_samples:
        raise FileFormatError(
            f"{source}: expected a sample= from 0 to {n_samples - 1}; got {sample!r}."
        )
    return sample
