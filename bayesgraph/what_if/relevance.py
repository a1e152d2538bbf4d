"""Most relevant explanation: the states of some variables that explain evidence best.

The generalised Bayes factor of an explanation x of evidence e is

    GBF(x; e) = P(e | x) / P(e | not x) = P(x | e) P(not x) / (P(x) P(not x | e)),

where "not x" is that at least one variable of x has another state (Yuan, Lim and Lu 2011). It is
the ratio of the odds of x after and before the evidence. Unlike a most probable assignment, it does
not grow with variables that have nothing to do with the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayesgraph.checks import whole_number
from bayesgraph.display import Displayed, DisplayTable, rounded
from bayesgraph.errors import EvidenceError, MemoryLimitError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.models.evidence import as_mapping, read_targets
from bayesgraph.models.findings import with_findings
from bayesgraph.models.model import Model
from bayesgraph.questions.estimators import question
from bayesgraph.typing import EvidenceLike, Targets
from bayesgraph.variables import Discrete, Name, State

# Maximum number of explanations to compare: the product of all numbers of states, each plus one.
_MAX_EXPLANATIONS = 1 << 22
# Relative difference of Bayes factors that is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class RelevantExplanation(Displayed):
    """States of one or more variables that explain evidence.

    Attributes
    ----------
    states : dict from name to state
    factor : float
        The generalised Bayes factor; infinite if the evidence excludes everything else.
    prior, posterior : float
        Probability of all these states together, before and after the evidence.
    """

    states: Mapping[Name, State]
    factor: float
    prior: float
    posterior: float

    def _display(self) -> DisplayTable:
        return DisplayTable(
            f"Explanation with a generalised Bayes factor of {rounded(self.factor, 6)}",
            [(str(name), repr(state)) for name, state in self.states.items()],
            note=f"probability {rounded(self.prior)} before, {rounded(self.posterior)} after the "
            "evidence",
        )


@question()
def most_relevant(
    model: Model, targets: Targets | None = None, evidence: EvidenceLike = None, k: int = 1
) -> list[RelevantExplanation]:
    """Return the states of some of the targets that explain the evidence best.

    The generalised Bayes factor of an explanation x is P(evidence | x) / P(evidence | not x),
    which leaves out targets that explain nothing (Yuan, Lim and Lu 2011).

    Parameters
    ----------
    model : model or fitted estimator
    targets : name or list of names
        Discrete variables, of which an explanation has one or more; by default the class of the
        estimator.
    evidence : mapping from name to value
        As in `query`; it is needed.
    k : int
        Maximum number of explanations. None of them has all states of a better one, or is
        part of a better one.

    Raises
    ------
    EvidenceError
        For continuous targets, or no evidence.
    ImpossibleEvidenceError
        If the evidence has probability zero.
    MemoryLimitError
        If there are too many explanations to compare.
    """
    k = whole_number("k", "explanations", k, 1)
    model, evidence = with_findings(model, as_mapping(evidence))
    case = model.case(evidence)
    if not (case.hard or case.soft):
        raise EvidenceError("An explanation explains evidence; none was given.")
    numbers = read_targets(model, targets, case.hard)
    variables = [model.variables[v] for v in numbers]
    if continuous := [v.name for v in variables if not isinstance(v, Discrete)]:
        raise EvidenceError(f"Explanations are states; {quoted(continuous)} are not discrete.")
    discrete = [v for v in variables if isinstance(v, Discrete)]
    total = math.prod(v.cardinality + 1 for v in discrete)
    if total > _MAX_EXPLANATIONS:
        raise MemoryLimitError(
            f"{len(discrete)} variables have {total:,} explanations; at most "
            f"{_MAX_EXPLANATIONS:,} are compared. Name fewer targets."
        )
    names = [v.name for v in discrete]
    before, after = (model.query(names, given).probabilities for given in (None, evidence))
    return list(_best(discrete, _Partial.of(before), _Partial.of(after), k))


@dataclass(frozen=True, eq=False)
class _Partial:
    """Probabilities of all partial assignments, and of their complements.

    Each axis has an entry for each state of a variable, and a last one where it is left out. The
    complements are sums of their own, because 1 - p has no digits where p is close to one.
    """

    inside: Floats
    outside: Floats

    @classmethod
    def of(cls, joint: Floats) -> _Partial:
        """Return the sums of a joint distribution."""
        inside, outside = joint, np.zeros_like(joint)
        for axis in range(joint.ndim):
            whole = inside.sum(axis=axis, keepdims=True)
            away = outside.sum(axis=axis, keepdims=True)
            others = _sums_of_others(inside, axis)
            inside = np.concatenate([inside, whole], axis=axis)
            outside = np.concatenate([others + away, away], axis=axis)
        return cls(inside, outside)


def _sums_of_others(values: Floats, axis: int) -> Floats:
    """Return for each entry the sum of all other ones along an axis, without subtraction."""
    moved = np.moveaxis(values, axis, 0)
    zero = np.zeros_like(moved[:1])
    below = np.cumsum(np.concatenate([zero, moved[:-1]]), axis=0)
    above = np.cumsum(np.concatenate([zero, moved[:0:-1]]), axis=0)[::-1]
    return np.moveaxis(below + above, 0, axis)


def _best(
    variables: Sequence[Discrete], before: _Partial, after: _Partial, k: int
) -> Iterator[RelevantExplanation]:
    """Yield the best explanations, of which none is part of another one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = (after.inside * before.outside) / (before.inside * after.outside)
    # Impossible explanations have no factor, and the empty one explains nothing.
    factors = np.where(before.inside > 0, factors, np.nan).ravel()
    lengths = np.add.reduce(
        np.meshgrid(
            *(np.arange(v.cardinality + 1) < v.cardinality for v in variables), indexing="ij"
        )
    ).ravel()
    known = np.flatnonzero(~np.isnan(factors) & (lengths > 0))
    # Factors that differ by rounding are equal, so that the fewest states come first.
    digits = np.round(np.log(np.maximum(factors[known], 1e-300)) / _ROUNDING * 1e-2)
    order = known[np.lexsort((known, lengths[known], -digits))]
    kept: list[frozenset[tuple[int, int]]] = []
    for at in order.tolist():
        codes = np.unravel_index(at, before.inside.shape)
        chosen = frozenset(
            (axis, int(code))
            for axis, (code, variable) in enumerate(zip(codes, variables, strict=True))
            if code < variable.cardinality
        )
        if any(chosen <= other or chosen >= other for other in kept):
            continue
        kept.append(chosen)
        states = {variables[axis].name: variables[axis].states[c] for axis, c in sorted(chosen)}
        yield RelevantExplanation(
            states, float(factors[at]), float(before.inside[codes]), float(after.inside[codes])
        )
        if len(kept) == k:
            return
