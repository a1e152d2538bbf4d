"""Questions, each a plan and one run of the engine."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors import MAX, SUM, Evidence, Factor, GaussianFactor, Potential
from bayesgraph.factors.algebra import Floats
from bayesgraph.factors.factor import take_codes
from bayesgraph.inference.engine import Step, eliminate, remaining
from bayesgraph.inference.plan import Plan, make_plan
from bayesgraph.inference.tables import Scopes, Tables
from bayesgraph.variables import Continuous, Discrete, Variable


@dataclass(frozen=True, eq=False)
class Problem:
    """Factors with the evidence taken in, ready for the engine.

    Attributes
    ----------
    potentials : list of factors
    columns : mapping from continuous variable to array of shape (n_rows,)
        Variables left in the factors that some rows observe and others (NaN) do not.
    """

    potentials: list[Potential]
    columns: Mapping[Variable, Floats]


class Model(Protocol):
    """What the engine needs of a model."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables; their order breaks ties."""
        ...

    def problem(self, evidence: Evidence, keep: Collection[Variable]) -> Problem:
        """Return the factors that matter for the variables to keep, with the evidence taken in."""
        ...


def potential_scope(potential: Potential) -> tuple[Variable, ...]:
    """Return all variables of a factor, discrete and continuous."""
    if isinstance(potential, GaussianFactor):
        return (*potential.scope, *potential.variables)
    return potential.scope


def marginal(
    model: Model,
    targets: Sequence[Variable],
    evidence: Evidence,
    memory_limit: int | None = None,
) -> tuple[Potential, Plan]:
    """Return the unnormalised posterior of the targets, a factor over ``plan.keep``."""
    problem = model.problem(evidence, targets)
    scopes = [potential_scope(p) for p in problem.potentials]
    plan = make_plan(scopes, targets, order=model.variables)
    plan.check_memory(memory_limit)
    algebra = {step.variable: SUM for step in plan.steps}
    return eliminate(problem.potentials, plan, algebra, problem.columns), plan


def discrete_tables(model: Model, evidence: Evidence, memory_limit: int | None = None) -> Tables:
    """Return tables over the unobserved discrete variables: what is left given the evidence.

    The continuous variables are conditioned on their values or integrated out.
    """
    free = [v for v in model.variables if isinstance(v, Discrete) and v not in evidence]
    problem = model.problem(evidence, free)
    scopes = [potential_scope(p) for p in problem.potentials]
    plan = make_plan(scopes, free, order=model.variables)
    continuous = replace(plan, keep=())  # what is kept is not multiplied out
    continuous.check_memory(memory_limit)
    algebra = {step.variable: SUM for step in plan.steps}
    left = remaining(problem.potentials, plan, algebra, problem.columns)
    factors = [factor for factor in left if isinstance(factor, Factor)]
    factors = factors or [Factor.from_log((), np.zeros(1))]
    scopes_left = Scopes(free, [factor.scope for factor in factors])
    return Tables.from_logs(scopes_left, [factor.log_values[0] for factor in factors])


def most_probable(
    model: Model,
    variables: Collection[Variable],
    evidence: Evidence,
    *,
    joint: bool,
    memory_limit: int | None = None,
) -> tuple[dict[Variable, NDArray[Any]], Floats]:
    """Return the most probable values of all unobserved variables, row by row.

    Continuous variables are integrated out before discrete ones are maximised, and then set to
    their conditional means; with `joint` they are maximised too, which is the mode of the joint
    density.

    Returns
    -------
    values : mapping from variable to array of shape (n_rows,)
        State codes or numbers.
    log_value : ndarray, shape (n_rows,)
        Log of the maximum, evidence included.
    """
    wanted = [v for v in variables if joint or isinstance(v, Discrete)]
    values, log_value = _maximised(model, wanted, evidence, joint=joint, memory_limit=memory_limit)
    rest = [v for v in variables if v not in values]
    if rest:
        # Continuous variables below all that was asked: their means given the rest, known by now.
        known = replace(evidence, columns={**evidence.columns, **values})
        values |= _maximised(model, rest, known, joint=joint, memory_limit=memory_limit)[0]
    return values, log_value


def _maximised(
    model: Model,
    variables: Sequence[Variable],
    evidence: Evidence,
    *,
    joint: bool,
    memory_limit: int | None = None,
) -> tuple[dict[Variable, NDArray[Any]], Floats]:
    """Return the best values of the variables and of those above them, and the maximum."""
    problem = model.problem(evidence, variables)
    scopes = [potential_scope(p) for p in problem.potentials]
    plan = make_plan(scopes, order=model.variables)
    plan.check_memory(memory_limit)
    continuous = MAX if joint else SUM
    algebra = {
        step.variable: continuous if isinstance(step.variable, Continuous) else MAX
        for step in plan.steps
    }
    trace: list[Step] = []
    result = eliminate(problem.potentials, plan, algebra, problem.columns, trace)
    assert isinstance(result, Factor)  # nothing is kept
    values: dict[Variable, NDArray[Any]] = {}
    for step in reversed(trace):
        values[step.variable] = _best(step, values)
    return values, result.log_values


def _best(step: Step, values: Mapping[Variable, NDArray[Any]]) -> NDArray[Any]:
    """Return the best value of one variable given those that were eliminated after it."""
    product = step.product
    known = [v for v in product.scope if v != step.variable]
    codes = [values[v].astype(np.intp) for v in known]
    if isinstance(product, Factor):
        _, log_values = take_codes(product.scope, product.log_values, known, codes)
        return np.asarray(np.argmax(log_values, axis=1))
    assert isinstance(step.variable, Continuous)
    given = product.take(known, codes) if known else product
    for other in product.variables:
        if other != step.variable:
            smaller = given.condition(other, values[other].astype(np.float64))
            assert isinstance(smaller, GaussianFactor)
            given = smaller
    return given.centre()
