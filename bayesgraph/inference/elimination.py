"""Elimination of whole factors: relevant slices of a model, their plans, and the loop."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors import (
    MAX,
    SUM,
    Algebra,
    Evidence,
    Factor,
    GaussianFactor,
    Potential,
    multiply,
)
from bayesgraph.factors.algebra import Floats
from bayesgraph.factors.factor import take_codes
from bayesgraph.inference.contract import Memo
from bayesgraph.inference.plan import Plan, make_plan
from bayesgraph.inference.tables import Scopes, Tables
from bayesgraph.variables import Continuous, Discrete, Variable

# Numbers in the largest product of one block of rows.
_BLOCK_ENTRIES = 2**23

_Scopes = tuple[tuple[Variable, ...], ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """Factors with the evidence taken in.

    Attributes
    ----------
    potentials : list of factors
    columns : mapping from continuous variable to array of shape (n_rows,)
        Variables left in the factors that some rows observe and others (NaN) do not.
    """

    potentials: list[Potential]
    columns: Mapping[Variable, Floats]


class Slice(Protocol):
    """The part of a model that bears on a question, for one pattern of evidence."""

    @property
    def scopes(self) -> Sequence[tuple[Variable, ...]]:
        """What each factor leaves free once the evidence is taken in."""
        ...

    @property
    def blocking(self) -> Sequence[Variable]:
        """Partially observed variables that must be summed out where they are missing."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory that it keeps alive beyond the model."""
        ...

    def problem(self, evidence: Evidence, *, summed: bool = False) -> Problem:
        """Return the factors, with evidence of the pattern taken in.

        Parameters
        ----------
        evidence : Evidence
        summed : bool
            Free continuous variables that are not kept will be integrated out: of one row, factors
            that have them may be replaced by what is then left of them.
        """
        ...


class ProductModel(Protocol):
    """A model that is, given the evidence, a product of factors."""

    variables: tuple[Variable, ...]

    @property
    def number(self) -> Mapping[Any, int]:
        """From the name of a variable to its place among `variables`."""
        ...

    @property
    def memo(self) -> Memo:
        """Where slices are kept by pattern."""
        ...

    def slice(
        self,
        observed: Collection[Variable],
        partial: Sequence[Variable],
        soft: Collection[Discrete],
        keep: Sequence[Variable],
    ) -> Slice:
        """Return what bears on the variables to keep.

        Parameters
        ----------
        observed : collection of Variable
            With a value in some rows at least.
        partial : sequence of Variable
            Those among them that some rows do not observe.
        soft : collection of Discrete
            With likelihoods.
        keep : sequence of Variable
        """
        ...


class PlannedSlice:
    """A slice with its plans: one for each list of scopes that its factors may have.

    Attributes
    ----------
    slice : Slice
    keep : tuple of Variable
    """

    __slots__ = ("_order", "_plan", "_plans", "keep", "slice")

    def __init__(
        self, slice_: Slice, keep: Sequence[Variable], order: tuple[Variable, ...]
    ) -> None:
        self.slice = slice_
        self.keep = tuple(keep)
        self._order = order
        self._plan: Plan | None = None
        self._plans: dict[_Scopes, Plan] = {}

    @property
    def nbytes(self) -> int:
        """Memory that is kept alive beyond the model."""
        return self.slice.nbytes

    @property
    def plan(self) -> Plan:
        """What will be computed for one row."""
        if self._plan is None:  # kept apart: to hash all scopes takes longer than one row
            self._plan = self.plan_of(tuple(self.slice.scopes))
        return self._plan

    def plan_of(self, scopes: _Scopes) -> Plan:
        """Return the plan for factors of given scopes."""
        found = self._plans.get(scopes)
        if found is None:
            found = self._plans[scopes] = make_plan(scopes, self.keep, order=self._order)
        return found

    def rows_at_once(self, maximum: int) -> int:
        """Return for how many rows the largest product stays within bounds."""
        return max(1, min(maximum, _BLOCK_ENTRIES // self.plan.largest_table))

    def marginal(
        self, evidence: Evidence, memory_limit: float | None = None
    ) -> tuple[Potential, Plan]:
        """Return the unnormalised posterior of what is kept, a factor over ``plan.keep``.

        Raises
        ------
        MemoryLimitError
            With the size.
        """
        problem = self.slice.problem(evidence, summed=True)
        plan = self.plan_of(tuple(map(potential_scope, problem.potentials)))
        plan.check_memory(memory_limit)
        if not plan.steps:
            return multiply(problem.potentials), plan
        algebra = {step.variable: SUM for step in plan.steps}
        return eliminate(problem.potentials, plan, algebra, problem.columns), plan


def planned_slice(
    model: ProductModel, evidence: Evidence, partial: Sequence[Variable], keep: Sequence[Variable]
) -> PlannedSlice:
    """Return what bears on the variables to keep, from the model's memo.

    Parameters
    ----------
    model : ProductModel
    evidence : Evidence
        Without columns that are missing throughout.
    partial : sequence of Variable
        Columns that are missing in some rows.
    keep : sequence of Variable
    """
    number = model.number
    columns, likelihoods = evidence.columns, evidence.likelihoods
    key = (
        "slice",
        tuple([number[v.name] for v in keep]),
        tuple([number[v.name] for v in columns]),
        tuple([number[v.name] for v in partial]),
        tuple([number[v.name] for v in likelihoods]),
    )
    found: PlannedSlice = model.memo.get(
        key,
        lambda: PlannedSlice(
            model.slice(tuple(columns), partial, tuple(likelihoods), keep), keep, model.variables
        ),
    )
    return found


def potential_scope(potential: Potential) -> tuple[Variable, ...]:
    """Return all variables of a factor, discrete and continuous."""
    if isinstance(potential, GaussianFactor):
        return (*potential.scope, *potential.variables)
    return potential.scope


# -------------------------------------------------------------------------------------- the loop


@dataclass(frozen=True, eq=False)
class Step:
    """What the loop did at one variable, kept when a maximum is to be traced back."""

    variable: Variable
    product: Potential


def eliminate(
    potentials: Sequence[Potential],
    plan: Plan,
    algebra: Mapping[Variable, Algebra],
    columns: Mapping[Variable, Floats],
    trace: list[Step] | None = None,
) -> Potential:
    """Run a plan on factors and return the product that is left, over ``plan.keep``.

    See `remaining` for the parameters.
    """
    return multiply(remaining(potentials, plan, algebra, columns, trace))


def remaining(
    potentials: Sequence[Potential],
    plan: Plan,
    algebra: Mapping[Variable, Algebra],
    columns: Mapping[Variable, Floats],
    trace: list[Step] | None = None,
) -> list[Potential]:
    """Run a plan on factors and return those that are left.

    Parameters
    ----------
    potentials : sequence of factors
        Their scopes are covered by the plan.
    plan : Plan
    algebra : mapping from variable to Algebra
        How each variable leaves.
    columns : mapping from continuous variable to array of shape (n_rows,)
        Values of variables that some rows observe and others (NaN) do not.
    trace : list, optional
        Receives a Step for each variable, in order of elimination.
    """
    place = {step.variable: number for number, step in enumerate(plan.steps)}
    end = len(plan.steps)
    buckets: list[list[Potential]] = [[] for _ in range(end + 1)]

    def put(potential: Potential) -> None:
        scope = potential_scope(potential)
        buckets[min((place.get(v, end) for v in scope), default=end)].append(potential)

    for potential in potentials:
        put(potential)
    for number, step in enumerate(plan.steps):
        if not buckets[number]:
            continue
        product = multiply(buckets[number])
        buckets[number] = []
        if trace is not None:
            trace.append(Step(step.variable, product))
        put(_remove(product, step.variable, algebra[step.variable], columns))
    return buckets[end]


def _remove(
    product: Potential, variable: Variable, algebra: Algebra, columns: Mapping[Variable, Floats]
) -> Potential:
    if isinstance(variable, Continuous):
        assert isinstance(product, GaussianFactor)  # only such factors mention it
        column = columns.get(variable)
        if column is None:
            return product.eliminate(variable, algebra)
        return product.eliminate_partial(variable, algebra, column)
    assert isinstance(product, Factor)  # the plan removes continuous variables first
    assert isinstance(variable, Discrete)  # counts are observed or leave before
    return product.eliminate(variable, algebra)


# ------------------------------------------------------------------------------------- questions


def marginal(
    model: ProductModel,
    targets: Sequence[Variable],
    evidence: Evidence,
    memory_limit: float | None = None,
) -> tuple[Potential, Plan]:
    """Return the unnormalised posterior of the targets, a factor over ``plan.keep``."""
    trimmed, partial = evidence.split()
    return planned_slice(model, trimmed, partial, targets).marginal(trimmed, memory_limit)


def discrete_tables(
    model: ProductModel, evidence: Evidence, memory_limit: float | None = None
) -> Tables:
    """Return tables over the unobserved discrete variables: what is left given the evidence.

    The continuous variables are conditioned on their values or integrated out.
    """
    evidence, partial = evidence.split()
    free = [v for v in model.variables if isinstance(v, Discrete) and v not in evidence]
    problem = planned_slice(model, evidence, partial, free).slice.problem(evidence)
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
    model: ProductModel,
    variables: Collection[Variable],
    evidence: Evidence,
    *,
    joint: bool,
    memory_limit: float | None = None,
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
        known = replace(evidence, columns={**evidence.columns, **values}, matrices=())
        values |= _maximised(model, rest, known, joint=joint, memory_limit=memory_limit)[0]
    return values, log_value


def _maximised(
    model: ProductModel,
    variables: Sequence[Variable],
    evidence: Evidence,
    *,
    joint: bool,
    memory_limit: float | None = None,
) -> tuple[dict[Variable, NDArray[Any]], Floats]:
    """Return the best values of the variables and of those above them, and the maximum."""
    evidence, partial = evidence.split()
    problem = planned_slice(model, evidence, partial, variables).slice.problem(evidence)
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
