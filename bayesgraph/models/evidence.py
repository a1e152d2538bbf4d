"""Checks of evidence and targets, and their encoding by variable index."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesgraph.core.arrays import Floats, log_integral, log_of
from bayesgraph.core.display import rounded
from bayesgraph.core.errors import (
    DataError,
    DataTypeError,
    EvidenceError,
    ImpossibleEvidenceError,
    MemoryLimitError,
    UnknownVariableError,
    quoted,
)
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import EvidenceLike, TableLike
from bayesgraph.core.variables import (
    Binned,
    Continuous,
    Count,
    CountVector,
    Discrete,
    MissingIndicator,
    Name,
    State,
    Variable,
    is_missing,
)
from bayesgraph.inference import (
    Case,
    Factor,
    GaussianSlopes,
    Joint,
    Posterior,
    Sensitivity,
    check_target,
)
from bayesgraph.inference import likelihoods as jeffrey_likelihoods
from bayesgraph.models.answering import PLAIN, Answering, no_target
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.density import Plate
from bayesgraph.models.cpds.linear_gaussian import GaussianCPD
from bayesgraph.models.cpds.table import TableCPD
from bayesgraph.tables import (
    Column,
    Table,
    Unseen,
    as_numbers,
    check_unseen,
    columns_of,
    encode_table,
    length,
    of_rows,
    tell,
)

# ---------------------------- Checks of evidence and targets, and their encoding by variable index


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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Between) and (self.low, self.high) == (other.low, other.high)

    def __hash__(self) -> int:
        return hash((self.low, self.high))

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
    empty: set[int] = set()  # variables that the evidence names as missing
    index_of, variables = model._index_of, model.variables
    for name, entered in _with_vectors(model, as_mapping(evidence)).items():
        at = index_of.get(name)
        if at is None:  # it is the variable itself, or unknown
            at = index_of[model.variable(name).name]
        variable = variables[at]
        if at in hard or at in soft or (beliefs and variable in beliefs):
            raise EvidenceError(f"The evidence names {variable.name!r} more than once.")
        # A float that is not itself is NaN, which is missing.
        if type(entered) in PLAIN and entered == entered and not isinstance(variable, CountVector):
            hard[at] = variable.encode(entered)
            continue
        value = scalar(entered)
        _refuse_other(variable, value)
        if isinstance(value, Belief):
            beliefs.update([believed(variable, value)])
        elif is_soft(value) and not isinstance(variable, CountVector):
            soft[at] = likelihood(variable, value)
        elif is_missing(value):
            empty.add(at)
        else:
            hard[at] = variable.encode(value)
    if model._indicators:
        with_evidence = {*hard, *soft, *(index_of[v.name] for v in beliefs)}
        # What evidence says about indicators of missing values that it does not name.
        hard |= {
            indicator: int(at in empty)
            for at, indicator in model._indicators  # codes: 0 is "no", 1 is "yes", missing
            if indicator not in with_evidence | empty and (at in with_evidence or at in empty)
        }
    if not beliefs:
        return Case(hard, soft)
    return Case(hard, soft | _by_jeffrey(model, beliefs, Case(hard, soft), evidence))


def _with_vectors(model: Answering, evidence: Mapping[Name, Any]) -> Mapping[Name, Any]:
    """Return evidence in which single items, such as words, are collected in vectors of counts.

    Items of these vectors that the evidence does not name are not observed.
    """
    if evidence.keys() <= model._index_of.keys() or not model._vectors:
        return evidence
    items = model._items_among(evidence)
    if not items:
        return evidence
    collected = dict(evidence)
    for vector, names in items.items():
        if vector.name in evidence:
            raise EvidenceError(f"The evidence names {vector.name!r} and some of its items.")
        counts = {name: collected.pop(name) for name in names}
        collected[vector.name] = {item: counts.get(item) for item in vector.items}
    return collected


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
    model._check_beliefs(beliefs)
    number = model._index_of

    def posterior(variable: Discrete, logs: Mapping[Discrete, Floats]) -> Floats:
        """Return a posterior given the case and log likelihoods; zeros if it is impossible."""
        soft = {**case.soft, **{number[v.name]: values for v, values in logs.items()}}
        judged = case._replace(soft=soft)
        answer = model._work(Joint((number[variable.name],)), judged.pattern).run(judged)
        return np.zeros(variable.cardinality) if answer is None else answer.probabilities

    try:
        logs_by_variable = jeffrey_likelihoods(beliefs, posterior)
    except MemoryLimitError as error:
        raise MemoryLimitError(
            f"A Belief takes exact posteriors, however the question is answered. {error}"
        ) from None
    except EvidenceError:
        # The fault may be with the other evidence alone, which is told first.
        if not posterior(next(iter(beliefs)), {}).any():
            raise impossible(evidence) from None
        raise
    return {number[v.name]: logs for v, logs in logs_by_variable.items()}


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
    # A tuple may be a list of names, or the name of one variable.
    several = isinstance(targets, (list, np.ndarray)) or (
        isinstance(targets, tuple) and targets not in model._index_of
    )
    names = list(targets) if several else [targets]
    if not names:
        raise EvidenceError("A query needs at least one target; got none.")
    numbers = [model._index_of[model.variable(name).name] for name in names]
    if len(set(numbers)) < len(numbers):
        raise EvidenceError(f"Each target is named once; got {quoted(names)}.")
    for number in numbers:
        variable = model.variables[number]
        check_target(model, variable, vectors=vectors)
        if number in observed:
            why = ""  # it is observed although the evidence does not name it
            if isinstance(variable, MissingIndicator):
                why = f" (Evidence on {variable.of!r} says that it is not missing.)"
            raise EvidenceError(
                f"{variable.name!r} is both a target and observed; leave it out of one of them."
                f"{why}"
            )
    return tuple(numbers)


def check_memory_limit(value: Any) -> None:
    """Raise a DataTypeError unless a memory limit is a non-negative number of bytes."""
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, bool) or not is_number or not value >= 0:
        raise DataTypeError(f"memory_limit is a number of bytes, such as 2**30; got {value!r}.")


def is_soft(value: Any) -> bool:
    """Tell whether a value is a likelihood for each state instead of one value."""
    return isinstance(value, (Mapping, list)) or is_vector(value)


def _refuse_other(variable: Variable, value: Any) -> None:
    """Raise an EvidenceError for an interval of a number, and for a posterior as a likelihood."""
    if isinstance(value, Between) and not isinstance(variable, Discrete):
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
    if isinstance(evidence, (dict, Mapping)):  # the class of most is looked at first
        return evidence
    if hasattr(evidence, "to_dict") and getattr(evidence, "ndim", 1) == 1:
        mapping = evidence.to_dict()
        if len(mapping) < getattr(evidence, "size", 0):
            raise EvidenceError(f"Evidence names a variable more than once; got {evidence!r:.80}.")
        return as_mapping(mapping)
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
    """Tell whether a value is a one-dimensional array or a Series of pandas or Polars."""
    return len(getattr(value, "shape", ())) == 1 and hasattr(value, "__array__")


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
    """Return a discrete variable, and checked numbers that are not negative, one for each state."""
    if not isinstance(variable, Discrete):
        raise EvidenceError(
            f"Soft evidence is for discrete variables; {variable.name!r} is continuous: "
            "give a number."
        )
    if isinstance(value, Mapping):
        numbers: list[Any] = [None] * variable.cardinality
        for state, number in value.items():
            code = variable.index(state)
            if numbers[code] is not None:
                raise EvidenceError(
                    f"{what} {variable.name!r} names {variable.states[code]!r} more than once: "
                    f"give one number for it; got {value!r}."
                )
            numbers[code] = number
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
    values = dict(as_mapping(evidence))
    if values:
        text = f"The model gives probability zero to the evidence {values!r}."
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


# ---------------- Findings about numbers that are not values: intervals, and likelihoods of counts
# A leaf with such a finding is replaced by a discrete variable of the same name, whose states are
# the interval and its complement, or the counts that are named and all others. Given its parents it
# has the probabilities that the distribution of the leaf gives to these states, so that answers are
# exact.


OTHER = "other"


@dataclass(frozen=True)
class Finding:
    """The states of the discrete variable that replaces a number.

    Attributes
    ----------
    bounds : (float, float), optional
        Those of an interval; the states are it and "other".
    counts : tuple of int
        The counts that are states, besides "other".
    """

    bounds: tuple[float, float] | None = None
    counts: tuple[int, ...] = ()

    def table(self, cpd: CPD) -> TableCPD:
        """Return the distribution of the states given the parents of a number's CPD.

        Raises
        ------
        UnsupportedModelError
            If the CPD has continuous parents.
        """
        # The m states but "other" are intervals low < x <= high, arrays of shape (m,).
        states: list[Any] = [*self.counts, OTHER]
        low = high = np.array(self.counts, dtype=np.float64)
        if self.bounds is not None:
            states = [Between(*self.bounds), OTHER]
            low, high = np.array(self.bounds)[:, None]
        if isinstance(cpd.variable, Count):
            low = np.ceil(low) - 1.0  # the count itself is inside
        logs = cpd.log_interval(low, high).T  # (cells, m)
        # The state "other" has the gaps between them; what is left of one would lose its digits.
        ends, starts = np.append(np.sort(low), np.inf), np.append(-np.inf, np.sort(high))
        gaps = starts < ends
        rest = cpd.log_interval(starts[gaps], ends[gaps])
        log_other = log_integral(rest, np.ones(len(rest)))
        logs = np.column_stack([logs, log_other])
        logs = logs.reshape(*(p.cardinality for p in cpd.discrete_parents), len(states))
        return TableCPD.from_logs(Discrete(cpd.variable.name, states), logs, cpd.discrete_parents)


def whole_intervals(variable: Binned, value: Between) -> Any:
    """Return the interval of a discretised number, or likelihoods of its intervals.

    Raises
    ------
    EvidenceError
        If a bound is no cut point: the share of an interval is not known.
    """
    ends = [-math.inf, *variable.cuts, math.inf]
    if not {value.low, value.high} <= set(ends) or value.low == value.high:
        raise EvidenceError(
            f"{variable.name!r} has intervals, of which {value!r} would have a part: give one or "
            f"two of the cut points {quoted(variable.cuts)}."
        )
    # State i is the interval from ends[i] to ends[i + 1].
    inside = variable.states[ends.index(value.low) : ends.index(value.high)]
    return inside[0] if len(inside) == 1 else {s: float(s in inside) for s in variable.states}


def slopes_of_findings(
    model: Answering, evidence: Mapping[Name, Any], sensitivity: Sensitivity
) -> Sensitivity:
    """Return derivatives with respect to the distributions of numbers that findings are about.

    The states that replace a number have a table, whose entries are probabilities of the interval
    under the distribution of the number. With z = (x - mean) / sd at the bounds and the standard
    normal density f, the derivative of such a probability of a Gaussian is -[f(z)] / sd with
    respect to the mean and -[z f(z)] / (2 variance) with respect to the variance. Distributions of
    other families are taken as certain.

    Parameters
    ----------
    model : Model
        The model without findings.
    evidence : mapping from name to value
        As the user gave it.
    sensitivity : Sensitivity
        Of the model with findings.
    """
    # What is replaced: a table of a finding gives way to a Gaussian, or is among the others.
    bounds = {model.variable(name).name: value for name, value in evidence.items()}
    tables, covaried = dict(sensitivity.derivatives), dict(sensitivity.covaried)
    axes = dict(sensitivity.axes)
    gaussians, others = dict(sensitivity.gaussians), dict.fromkeys(sensitivity.others)
    for key in sensitivity.derivatives:
        # Keys are names, in a mixture after the index of a network; a network is its only one.
        place, name = (0, key) if sensitivity.weights is None else key
        variable = model.variable(name)
        if isinstance(variable, Discrete):
            continue
        cpd = model.networks[place][name]
        slopes = tables.pop(key)
        del covaried[key]
        # The interval is the first state. Its probability rises by what that of the other falls.
        if isinstance(cpd, GaussianCPD):
            gaussians[key] = _gaussian_slopes(cpd, bounds[name], slopes[..., 0] - slopes[..., 1])
            axes[key] = cpd.discrete_parents
        else:
            del axes[key]
            others[name] = None
    return replace(
        sensitivity,
        derivatives=tables,
        covaried=covaried,
        axes=axes,
        gaussians=gaussians,
        others=tuple(others),
    )


def _gaussian_slopes(cpd: GaussianCPD, interval: Between, slopes: Floats) -> GaussianSlopes:
    """Return derivatives with respect to a Gaussian's parameters.

    `slopes` has those with respect to the probability of the interval, shape (*parents'
    cardinalities); for the formulas see `slopes_of_findings`.
    """
    sd = np.sqrt(cpd.variance)
    mean, variance = np.zeros(cpd.mean.shape), np.zeros(cpd.mean.shape)
    for bound, sign in ((interval.high, 1.0), (interval.low, -1.0)):
        # Beyond 40 standard deviations, where an interval without an end ends too, this is 0.
        with np.errstate(over="ignore"):
            z = np.clip((bound - cpd.mean) / sd, -40.0, 40.0)
        density = sign * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
        mean -= density / sd
        variance -= z * density / (2.0 * cpd.variance)
    scales = sd, cpd.variance, cpd.coefficients
    return GaussianSlopes(
        slopes * mean, slopes * variance, np.zeros(cpd.coefficients.shape), scales, ()
    )


def whole_count(variable: Count, value: Any) -> int:
    """Return a count of which there is a likelihood as an integer; refuse a fraction."""
    number = variable.number(value)
    if not number.is_integer():
        raise EvidenceError(f"{variable.name!r} is a count; got the likelihood of {value!r}.")
    return int(number)


# ---------------------- Interventions: variables that are set from outside, whatever their parents
# An intervention do(x = v) replaces the distribution of x given its parents by the value v, and
# leaves all other distributions as they are (Pearl 2009, section 3.2; the truncated factorisation).
# A query with `do=` asks a network that is cut once for the variables that are set; their values
# are evidence, so that one program serves all values.


def read_values(model: Answering, values: Any) -> dict[Name, Any]:
    """Return the values that an intervention sets, by the names of the model's variables.

    Raises
    ------
    EvidenceError
        For no variables, a variable named twice, or likelihoods, a belief or a missing value
        instead of a value.
    UnknownVariableError
        For an unknown name; the message suggests the nearest one.
    """
    if not isinstance(values, Mapping) or not values:
        raise EvidenceError(
            "An intervention is a mapping from variable name to the value that it is set to, such "
            f"as {{'smoke': 'no'}}; got {values!r:.80}."
        )
    settings: dict[Name, Any] = {}
    for name, entered in values.items():
        variable, value = model.variable(name), scalar(entered)
        if variable.name in settings:
            raise EvidenceError(f"The intervention names {variable.name!r} more than once.")
        soft = isinstance(value, Belief) or is_soft(value)
        if not isinstance(variable, CountVector) and (soft or is_missing(value)):
            raise EvidenceError(
                f"An intervention sets {variable.name!r} to one value; got {entered!r:.80}. Leave "
                "it out if it is not set, or average the answers over its values."
            )
        settings[variable.name] = value
    return settings


def set_to(blocks: Iterable[CPD], values: Mapping[Variable, Any]) -> list[CPD]:
    """Return the CPDs of a network in which variables have the given encoded values.

    A discrete variable has one possible state. Other variables have no CPD any more, and their
    values are part of the distributions of their children.

    Raises
    ------
    UnsupportedModelError
        If a child of a continuous variable that is set has no form without it.
    """
    # All probability at the state x; None leaves a CPD out.
    tables = {
        v: TableCPD(v, np.arange(v.cardinality) == x) if isinstance(v, Discrete) else None
        for v, x in values.items()
    }
    cut = replaced(blocks, tables)
    numbers: dict[Variable, Any] = {v: x for v, x in values.items() if isinstance(v, Continuous)}
    return [cpd.with_parents_set(numbers) for cpd in cut] if numbers else cut


def replaced(blocks: Iterable[CPD], others: Mapping[Variable, CPD | None]) -> list[CPD]:
    """Return the CPDs in order, with those of some variables replaced, or left out if None."""
    cpds: list[CPD] = []
    for block in blocks:
        chosen = [child for child in block.children if child in others]
        if not chosen:
            cpds.append(block)
            continue
        cpds += [cpd for cpd in map(others.__getitem__, chosen) if cpd is not None]
        remaining = [child for child in block.children if child not in others]
        # Independent children stay together; of others, each has the ones before it as parents.
        if isinstance(block, Plate) and not block.siblings_depend:
            cpds += [block.over(remaining)] if remaining else []
        elif remaining:
            cpds += [single for single in block.singles() if single.variable not in others]
    return cpds


# ----------------------------------- The rows of a table as evidence on the variables of a model


def evidence_rows(model: Answering, table: TableLike, target: Variable, unseen: str) -> Evidence:
    """Return the rows of a table as evidence on the variables of a model but the target.

    For `unseen` and the errors see `Model.query_rows`.
    """
    encoded = told_table(model, table, target, unseen)
    return Evidence(encoded.n_rows, {v: encoded.column(v) for v in encoded.variables})


def told_table(model: Answering, table: TableLike, target: Variable | None, unseen: str) -> Table:
    """Return a table as `table_for` encodes it, and warn of what is unusual in it.

    These are unseen values, if `unseen` asks for a warning, and numbers far outside of what the
    model expects.
    """
    columns = columns_of(table)
    check_unseen(unseen)
    n_rows = length(next(iter(columns.values())))
    policy = of_rows(unseen, n_rows)
    encoded = table_for(model, columns, target, unseen=policy)
    tell(policy, unseen, n_rows)  # the policy has gathered the unseen values
    model._expected.warn_of(model._expected.far(encoded.continuous, encoded.values))
    return encoded


def table_for(
    model: Answering,
    columns: Mapping[Name, Column],
    target: Variable | None,
    *,
    unseen: Unseen = "error",
) -> Table:
    """Return the columns that are variables of a model, without `target`, as an encoded table.

    Columns named like items of a vector of counts form the vector. Other columns are ignored. It is
    an error if no column is left, or if the name of an ignored column almost equals that of a
    variable without a column. Indicators of missing values are read off the columns that they are
    of, except that of the target.

    `unseen` says what becomes of a value that is not a state; see `encode_table`.
    """
    columns = _with_matrices(model, columns)
    observed = [v for v in model.variables if v != target and _is_seen(v, columns, target)]
    unknown = [name for name in columns if name not in model._index_of]
    lacking = [v.name for v in model.variables if v.name not in columns]
    by_text = {_plain(name): name for name in lacking if isinstance(name, str)}
    for name in unknown:
        near = by_text.get(_plain(name)) if isinstance(name, str) else None
        if near is not None:
            raise UnknownVariableError(
                f"The table has a column {name!r}, which the model does not know, and none called "
                f"{near!r}. Did you mean {near!r}? Rename the column, or leave it out."
            )
    if not observed and not (target is not None and target.name in columns):
        raise DataError(
            f"The table has none of the model's variables {quoted(model.names)}; its columns are "
            f"{quoted(columns)}."
        )
    return encode_table(columns, observed, unseen=unseen)


def _is_seen(variable: Variable, columns: Mapping[Name, Column], target: Variable | None) -> bool:
    """Return whether a variable has a column, or is an indicator of missing values in one.

    The column of the target, which is ignored, does not count.
    """
    if variable.name in columns or not isinstance(variable, MissingIndicator):
        return variable.name in columns
    return variable.of in columns and (target is None or variable.of != target.name)


def _with_matrices(model: Answering, columns: Mapping[Name, Column]) -> Mapping[Name, Column]:
    """Replace columns named like items (words) by one matrix for each vector of counts.

    Items without a column are not observed.
    """
    collected = dict(columns)
    for vector, names in model._items_among(columns).items():
        if vector.name in columns:
            raise DataError(f"The table has a column {vector.name!r} and columns of its items.")
        matrix = np.full((length(columns[names[0]]), len(vector.items)), np.nan)
        for name in names:
            matrix[:, vector.positions[name]] = as_numbers(collected.pop(name), name)
        collected[vector.name] = matrix
    return collected


def _plain(name: str) -> str:
    """Return a name in lower case without spaces and punctuation, to compare spellings."""
    return "".join(char for char in name.casefold() if char.isalnum())
