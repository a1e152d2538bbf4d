"""Checks of evidence and targets, and their encoding by variable index."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesgraph.display import rounded
from bayesgraph.errors import (
    DataTypeError,
    EvidenceError,
    ImpossibleEvidenceError,
    MemoryLimitError,
    quoted,
)
from bayesgraph.factors import Evidence, Factor
from bayesgraph.factors.algebra import Floats, log_of
from bayesgraph.inference import Posterior
from bayesgraph.inference.contract import Case, Joint, check_target
from bayesgraph.inference.jeffrey import likelihoods as jeffrey_likelihoods
from bayesgraph.typing import EvidenceLike
from bayesgraph.variables import (
    Continuous,
    CountVector,
    Discrete,
    MissingIndicator,
    Name,
    State,
    Variable,
    is_missing,
)

if TYPE_CHECKING:
    from bayesgraph.models.answering import Answering

# Types of values that are never likelihoods and need no further checks.
PLAIN = {str, int, bool, float}


class Belief:
    """Evidence that sets the posterior of a variable to given probabilities (Jeffrey's rule).

    Soft evidence is the likelihood of a finding in each state, and is multiplied by the prior. A
    belief is the posterior itself, whatever the prior. If there are beliefs about several
    variables, the posterior of each of these variables equals its belief.

    Parameters
    ----------
    probabilities : mapping from state to probability
        The probabilities of all states; they sum to one.

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


class Between:
    """Evidence that a number lies between two bounds, both included.

    Parameters
    ----------
    low, high : float
        Bounds, at least one of them finite. Those of a variable with intervals are cut points: they
        take whole intervals, the lower cut point itself not included.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> kind = bg.Discrete("kind", ["calm", "busy"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(kind, [0.75, 0.25]),
    ...     bg.PoissonCPD(bg.Count("calls"), [1.0, 5.0], parents=[kind]),
    ... ])
    >>> net.query("kind", {"calls": Between(3)})
    P(kind)
      calm  0.215815  █████
      busy  0.784185  ███████████████████
    """

    __slots__ = ("high", "low")

    def __init__(self, low: float = -math.inf, high: float = math.inf) -> None:
        try:
            self.low, self.high = float(low), float(high)
        except (TypeError, ValueError):
            self.low = self.high = math.nan
        if not self.low <= self.high or (math.isinf(self.low) and math.isinf(self.high)):
            raise EvidenceError(
                "Between takes two numbers, the smaller one first, or one of low= and high=; got "
                f"{low!r} and {high!r}."
            )

    @property
    def words(self) -> str:
        """The interval in words, such as "between 1 and 2"."""
        if math.isinf(self.low):
            return f"at most {rounded(self.high, 6)}"
        if math.isinf(self.high):
            return f"at least {rounded(self.low, 6)}"
        return f"between {rounded(self.low, 6)} and {rounded(self.high, 6)}"

    def __repr__(self) -> str:
        return f"Between({rounded(self.low, 6)}, {rounded(self.high, 6)})"


def has_intervals(evidence: Any) -> bool:
    """Tell whether evidence is a mapping with a `Between`."""
    return isinstance(evidence, Mapping) and any(isinstance(v, Between) for v in evidence.values())


def read_case(model: Answering, evidence: EvidenceLike) -> Case:
    """Return evidence as a `Case`, one evidence assignment encoded by variable index.

    Parameters
    ----------
    model : Model
    evidence : mapping from name to value, optional
        A value is a state, a number, or (for a discrete variable) a mapping from every state to its
        likelihood, or a `Belief`. None and NaN mean not observed. If the model has an indicator of
        whether the value is missing, they say "yes" to it, and a value or likelihoods "no".
    """
    hard: dict[int, Any] = {}
    soft: dict[int, Floats] = {}
    beliefs: dict[Discrete, Floats] = {}
    empty: set[int] = set()
    number, variables = model.number, model.variables
    for name, given in _with_vectors(model, as_mapping(evidence)).items():
        at = number.get(name)
        if at is None:
            at = number[model.variable(name).name]
        variable = variables[at]
        if at in hard or at in soft or (beliefs and variable in beliefs):
            raise EvidenceError(f"The evidence names {variable.name!r} more than once.")
        # A float that is not itself is NaN, which is missing.
        if type(given) in PLAIN and given == given and not isinstance(variable, CountVector):
            hard[at] = variable.encode(given)
            continue
        value = scalar(given)
        _refuse_other(variable, value)
        if isinstance(value, Belief):
            beliefs.update([believed(variable, value)])
        elif is_soft(value) and not isinstance(variable, CountVector):
            soft[at] = likelihood(variable, value)
        elif is_missing(value):
            empty.add(at)
        else:
            hard[at] = variable.encode(value)
    if model.indicators:
        told = {*hard, *soft, *(number[v.name] for v in beliefs)}
        hard |= _indicated(model, told, empty)
    if not beliefs:
        return Case(hard, soft)
    return Case(hard, soft | _by_jeffrey(model, beliefs, Case(hard, soft), evidence))


def _indicated(model: Answering, told: Collection[int], empty: Collection[int]) -> dict[int, int]:
    """Return what evidence says about indicators of missing values that it does not name.

    Parameters
    ----------
    model : Model
    told, empty : collection of int
        Indices of variables about which the evidence says something; their values are not missing.
        And of those that it names as missing.
    """
    return {
        indicator: int(at in empty)
        for at, indicator in model.indicators
        if indicator not in told and (at in told or at in empty)
    }


def _with_vectors(model: Answering, evidence: Mapping[Name, Any]) -> Mapping[Name, Any]:
    """Return evidence in which single items, such as words, are collected in vectors of counts.

    Items of these vectors that the evidence does not name are not observed.
    """
    if all(name in model.number for name in evidence):
        return evidence
    items = model.items_among(evidence)
    if not items:
        return evidence
    found = dict(evidence)
    for vector, names in items.items():
        if vector.name in evidence:
            raise EvidenceError(f"The evidence names {vector.name!r} and some of its items.")
        given = {name: found.pop(name) for name in names}
        found[vector.name] = {item: given.get(item) for item in vector.items}
    return found


def _by_jeffrey(
    model: Answering,
    beliefs: dict[Discrete, Floats],
    case: Case,
    evidence: EvidenceLike,
) -> dict[int, Floats]:
    """Return the soft evidence under which the posteriors equal the beliefs (Jeffrey's rule).

    Parameters
    ----------
    model : Model
    beliefs : dict from Discrete to ndarray
        Posterior probabilities that the user prescribes.
    case : Case
        The other evidence, encoded.
    evidence : mapping from name to value
        All evidence as the user gave it, for error messages.

    Returns
    -------
    dict from int to ndarray
        Log likelihoods of the states by variable index.
    """
    model.check_beliefs(beliefs)
    number = model.number

    def posterior(variable: Discrete, logs: Mapping[Discrete, Floats]) -> Floats:
        """Return a posterior given the case and log likelihoods; zeros if it is impossible."""
        soft = {**case.soft, **{number[v.name]: values for v, values in logs.items()}}
        given = case._replace(soft=soft)
        answer = model.work(Joint((number[variable.name],)), given.pattern).run(given)
        return np.zeros(variable.cardinality) if answer is None else answer.probabilities

    try:
        found = jeffrey_likelihoods(beliefs, posterior)
    except MemoryLimitError as error:
        raise MemoryLimitError(
            f"A Belief takes exact posteriors, however the question is answered. {error}"
        ) from None
    except EvidenceError:
        if not posterior(next(iter(beliefs)), {}).any():
            raise impossible(evidence) from None
        raise
    return {number[v.name]: logs for v, logs in found.items()}


def no_target(given: Mapping[Any, Any]) -> EvidenceError:
    """Return the error for evidence in the place of a target."""
    return EvidenceError(
        "The targets come first and the evidence second: query('rain', {'wet': True}). Without a "
        f"target a classifier takes evidence by its name: evidence={given!s:.80}."
    )


def read_targets(
    model: Answering, targets: Any, observed: Collection[int], *, vectors: bool = False
) -> tuple[int, ...]:
    """Return the variable indices of the targets of a query.

    Parameters
    ----------
    model : Model
    targets : name or list of names
    observed : collection of int
        Indices of the observed variables.
    vectors : bool
        Whether vectors of counts can be targets.

    Raises
    ------
    EvidenceError
        For a mapping instead of targets, no targets, a target named twice, or an observed target.
    UnknownVariableError
        For an unknown name; the message suggests the nearest one.
    UnsupportedModelError
        For a vector of counts, where it cannot be a target.
    """
    if isinstance(targets, Mapping):
        raise no_target(targets)
    several = isinstance(targets, (list, np.ndarray)) or (
        isinstance(targets, tuple) and targets not in model.number
    )
    names = list(targets) if several else [targets]
    if not names:
        raise EvidenceError("A query needs at least one target; got none.")
    found = [model.number[model.variable(name).name] for name in names]
    if len(set(found)) < len(found):
        raise EvidenceError(f"Each target is named once; got {quoted(names)}.")
    for number in found:
        check_target(model, model.variables[number], vectors=vectors)
        if number in observed:
            raise EvidenceError(
                f"{model.variables[number].name!r} is both a target and observed; leave it out of "
                f"one of them.{_why_observed(model.variables[number])}"
            )
    return tuple(found)


def _why_observed(variable: Variable) -> str:
    if not isinstance(variable, MissingIndicator):
        return ""
    return f" (Evidence on {variable.of!r} says that it is not missing.)"


def check_memory_limit(value: Any) -> None:
    """Raise a DataTypeError unless a memory limit is a non-negative number of bytes."""
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, bool) or not is_number or not value >= 0:
        raise DataTypeError(f"memory_limit is a number of bytes, such as 2**30; got {value!r}.")


def is_soft(value: Any) -> bool:
    """Tell whether a value is a likelihood for each state instead of one value."""
    return isinstance(value, (Mapping, list)) or is_vector(value)


def _refuse_other(variable: Variable, value: Any) -> None:
    if isinstance(value, Between):
        raise EvidenceError(
            f"This question takes values of numbers, no intervals; got {value!r} for "
            f"{variable.name!r}. Give a value, or leave it out."
        )
    if isinstance(value, Posterior):
        raise EvidenceError(
            f"The evidence on {variable.name!r} is a posterior, which has the prior in it. Wrap it "
            "in Belief to make it the new probability, or give likelihoods."
        )


def as_mapping(evidence: Any) -> Mapping[Any, Any]:
    """Return evidence (a mapping, a pandas Series, or None for no evidence) as a mapping."""
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
    """Return the value of a zero-dimensional array such as np.array(3.0), or `value` itself."""
    if isinstance(value, np.ndarray) and not value.ndim and value is not np.ma.masked:
        return value[()]
    return value


def is_vector(value: Any) -> bool:
    """Tell whether a value is a one-dimensional array or a pandas Series."""
    return getattr(value, "ndim", 0) == 1 and hasattr(value, "__array__")


def believed(variable: Variable, belief: Belief) -> tuple[Discrete, Floats]:
    """Return the checked probabilities of a belief in the order of the variable's states.

    The variable comes first in the result, typed as Discrete.

    Raises
    ------
    EvidenceError
        For a variable that is not discrete, or probabilities that do not sum to one.
    """
    variable, numbers = _by_state(variable, belief.probabilities, what="A new belief about")
    if abs(numbers.sum() - 1.0) > 1e-6:
        raise EvidenceError(
            f"The new belief about {variable.name!r} sums to {numbers.sum():.9g}, not to 1. Give "
            "likelihoods as a plain mapping if that is what they are."
        )
    return variable, numbers / numbers.sum()


def likelihood(variable: Variable, value: Any) -> Floats:
    """Return likelihoods of the states (soft evidence) as log likelihoods, shape (n_states,)."""
    _, numbers = _by_state(variable, value, what="Soft evidence on")
    return log_of(numbers)


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
                f"{what} {variable.name!r} needs a likelihood for every state; it lacks "
                f"{quoted(left_out)}."
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
    given = dict(as_mapping(evidence))
    if given:
        text = f"The model gives probability zero to the evidence {given!r}."
    else:
        text = "The product of the factors is zero everywhere, as if one is the constant 0."
    return ImpossibleEvidenceError(text)


def evidence_factors(evidence: Evidence, partial: Sequence[Variable]) -> list[Factor]:
    """Return soft evidence and partially observed discrete variables as factors.

    Parameters
    ----------
    evidence : Evidence
    partial : sequence of Variable
        Variables that some rows observe and others lack. The factor of a discrete variable is an
        indicator: 1 for the observed state and 0 for the others; 1 for all states in a row that
        lacks the variable.
    """
    factors = []
    for judged, values in evidence.likelihoods.items():
        soft = Factor.from_log([judged], values)
        if judged in evidence and judged not in partial:
            # The variable is also observed: only the likelihood of the observed state counts.
            soft = soft.take(judged, evidence.columns[judged])
        factors.append(soft)
    for variable in partial:
        if isinstance(variable, Discrete):
            codes = evidence.columns[variable][:, None]
            possible = (codes < 0) | (codes == np.arange(variable.cardinality))
            factors.append(Factor.from_log([variable], np.where(possible, 0.0, -np.inf)))
    return factors


def partial_columns(evidence: Evidence, partial: Sequence[Variable]) -> dict[Variable, Floats]:
    """Return the columns of the continuous variables in `partial`, which some rows lack (NaN).

    These variables are arguments of the potentials; the engine inserts their observed values.
    """
    return {
        v: evidence.columns[v].astype(np.float64, copy=False)
        for v in partial
        if isinstance(v, Continuous)
    }
