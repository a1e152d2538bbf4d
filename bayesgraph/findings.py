"""Evidence as users give it: values, likelihoods and new beliefs, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesgraph.errors import EvidenceError, ImpossibleEvidenceError, quoted
from bayesgraph.factors import Evidence, Factor
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Continuous, Discrete, State, Variable


class Belief:
    """A new probability of a variable, to be taken in by Jeffrey's rule.

    Soft evidence says how likely each state makes what was seen, and the prior counts on top. A
    belief says what the posterior shall be, whatever it was before. Several of them hold together.

    Parameters
    ----------
    probabilities : mapping from state to probability
        Of every state; they sum to one.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(rain, [0.8, 0.2]),
    ...     bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain]),
    ... ])
    >>> net.query("wet", {"rain": Belief({"no": 0.5, "yes": 0.5})})
    P(wet)
      no   0.550000  █████████████
      yes  0.450000  ███████████
    """

    __slots__ = ("probabilities",)

    def __init__(self, probabilities: Mapping[State, float]) -> None:
        if not isinstance(probabilities, Mapping):
            raise EvidenceError(
                "A Belief takes a mapping from state to probability, such as {'no': 0.3, 'yes': "
                f"0.7}}; got {probabilities!r}."
            )
        self.probabilities = dict(probabilities)

    def __repr__(self) -> str:
        return f"Belief({self.probabilities!r})"


def as_mapping(evidence: Any) -> Mapping[Any, Any]:
    """Return evidence as a mapping: None is none, a row of a pandas frame is one."""
    if evidence is None:
        return {}
    if hasattr(evidence, "to_dict") and getattr(evidence, "ndim", 1) == 1:
        evidence = evidence.to_dict()
    if isinstance(evidence, Mapping):
        return evidence
    raise EvidenceError(
        "Evidence is a mapping from variable name to value, such as {'rain': 'yes'}; got "
        f"{type(evidence).__name__}: {evidence!r:.80}. (For the rows of a table: query_rows.)"
    )


def scalar(value: Any) -> Any:
    """Return an array without axes as the value it holds: np.array(3.0) is a number."""
    if isinstance(value, np.ndarray) and not value.ndim and value is not np.ma.masked:
        return value[()]
    return value


def is_vector(value: Any) -> bool:
    """Tell whether a value is an array or a pandas Series of one axis: likelihoods in order."""
    return getattr(value, "ndim", 0) == 1 and hasattr(value, "__array__")


def believed(variable: Variable, belief: Belief) -> tuple[Discrete, Floats]:
    """Return the probabilities of a belief in the order of the states."""
    variable, numbers = _by_state(variable, belief.probabilities, what="A new belief about")
    if abs(numbers.sum() - 1.0) > 1e-6:
        raise EvidenceError(
            f"The new belief about {variable.name!r} sums to {numbers.sum():.9g}, not to 1. Give "
            "likelihoods as a plain mapping if that is what they are."
        )
    return variable, numbers / numbers.sum()


def likelihood(variable: Variable, value: Any) -> tuple[Discrete, Floats]:
    """Return soft evidence on one variable as log likelihoods of shape (n_states,)."""
    variable, numbers = _by_state(variable, value, what="Soft evidence on")
    with np.errstate(divide="ignore"):
        return variable, np.log(numbers)


def _by_state(variable: Variable, value: Any, *, what: str) -> tuple[Discrete, Floats]:
    if not isinstance(variable, Discrete):
        raise EvidenceError(
            f"Soft evidence is for discrete variables; {variable.name!r} is continuous: "
            "give a number."
        )
    if isinstance(value, Mapping):
        numbers: list[Any] = [None] * variable.cardinality
        for state, number in value.items():
            numbers[variable.index(state)] = number
        left_out = [s for s, n in zip(variable.states, numbers, strict=True) if n is None]
        if left_out:
            raise EvidenceError(
                f"{what} {variable.name!r} needs a likelihood for every state; "
                f"{quoted(left_out)} have none."
            )
    else:
        numbers = list(value)
    try:
        likelihood = np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EvidenceError(f"{what} {variable.name!r} takes numbers; got {value!r}.") from error
    if likelihood.shape != (variable.cardinality,):
        raise EvidenceError(
            f"{what} {variable.name!r} takes {variable.cardinality} likelihoods, one for "
            f"each of {quoted(variable.states)}; got {len(numbers)}."
        )
    if not (np.isfinite(likelihood) & (likelihood >= 0)).all():
        raise EvidenceError(
            f"{what} {variable.name!r} takes finite non-negative numbers; got {value!r}."
        )
    return variable, likelihood


def impossible(evidence: Mapping[Any, Any] | None) -> ImpossibleEvidenceError:
    """Return the error for evidence of probability zero."""
    return ImpossibleEvidenceError(
        f"The model gives probability zero to the evidence {dict(as_mapping(evidence))!r}."
    )


def evidence_factors(evidence: Evidence, partial: Sequence[Variable]) -> list[Factor]:
    """Return soft evidence and partial columns of discrete variables as factors."""
    factors = []
    for judged, values in evidence.likelihoods.items():
        soft = Factor.from_log([judged], values)
        if judged in evidence and judged not in partial:
            # Observed as well: what counts is the likelihood of the state that was seen.
            soft = soft.take(judged, evidence.columns[judged])
        factors.append(soft)
    for variable in partial:
        if isinstance(variable, Discrete):
            codes = evidence.columns[variable][:, None]
            possible = (codes < 0) | (codes == np.arange(variable.cardinality))
            factors.append(Factor.from_log([variable], np.where(possible, 0.0, -np.inf)))
    return factors


def partial_columns(evidence: Evidence, partial: Sequence[Variable]) -> dict[Variable, Floats]:
    """Return the partial columns of continuous variables, which the engine takes in."""
    return {
        v: evidence.columns[v].astype(np.float64, copy=False)
        for v in partial
        if isinstance(v, Continuous)
    }
