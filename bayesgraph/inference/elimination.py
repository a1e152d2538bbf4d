"""Variable elimination: the submodel relevant to a query, elimination orders, the main loop."""

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

_Scopes = tuple[tuple[Variable, ...], ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """The factors of a submodel, reduced by the evidence.

    Attributes
    ----------
    potentials : list of factors
    columns : mapping from continuous variable to array of shape (n_rows,)
        Values of partially observed variables, NaN in the rows that lack them. These variables stay
        in the factors.
    """

    potentials: list[Potential]
    columns: Mapping[Variable, Floats]


class Slice(Protocol):
    """Submodel: the factors relevant to a query, for a given set of observed variables."""

    @property
    def scopes(self) -> Sequence[tuple[Variable, ...]]:
        """The scope of each factor after reduction by the evidence."""
        ...

    @property
    def blocking(self) -> Sequence[Variable]:
        """Partially observed variables that must be summed out in the rows that lack them."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes held in addition to the model's own arrays."""
        ...

    def problem(self, evidence: Evidence, *, summed: bool = False) -> Problem:
        """Return the factors of the submodel, reduced by the evidence.

        Parameters
        ----------
        evidence : Evidence
            Values of the variables for which the submodel was made.
        summed : bool
            Whether the caller integrates out all free continuous variables that are not kept. For a
            single row, factors over such variables may then be replaced by their integrals.
        """
        ...


class ProductModel(Protocol):
    """A model whose joint distribution, given the evidence, is a product of factors."""

    variables: tuple[Variable, ...]

    @property
    def number(self) -> Mapping[Any, int]:
        """The index of each variable in `variables`, by name."""
        ...

    @property
    def memo(self) -> Memo:
        """The model's cache of submodels, by the kept variables and the variables with evidence."""
        ...

    def slice(
        self,
        observed: Collection[Variable],
        partial: Sequence[Variable],
        soft: Collection[Discrete],
        keep: Sequence[Variable],
    ) -> Slice:
        """Return the submodel relevant to the variables to keep.

        Parameters
        ----------
        observed : collection of Variable
            Variables that are observed in at least one row.
        partial : sequence of Variable
            Observed variables that are missing in some rows.
        soft : collection of Discrete
            Variables with likelihoods.
        keep : sequence of Variable
            The query variables.
        """
        ...


class PlannedSlice:
    """A submodel with its elimination order.

    Depending on the evidence, the submodel may replace factors by their integrals. There is one
    elimination plan for each list of scopes that its factors may have.

    Attributes
    ----------
    slice : Slice
        The submodel.
    keep : tuple of Variable
        Variables that are not eliminated.
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
        """Bytes held in addition to the model's own arrays."""
        return self.slice.nbytes

    @property
    def plan(self) -> Plan:
        """The elimination plan for one row of evidence."""
        if self._plan is None:  # a cache of its own: hashing all scopes takes longer than a row
            self._plan = self.plan_of(tuple(self.slice.scopes))
        return self._plan

    def plan_of(self, scopes: _Scopes) -> Plan:
        """Return the elimination plan for factors with the given scopes."""
        found = self._plans.get(scopes)
        if found is None:
            found = self._plans[scopes] = make_plan(scopes, self.keep, order=self._order)
        return found

    def marginal(
        self, evidence: Evidence, memory_limit: float | None = None
    ) -> tuple[Potential, Plan]:
        """Return the unnormalised posterior of the kept variables, and the elimination plan used.

        The posterior is a factor over ``plan.keep``.

        Raises
        ------
        MemoryLimitError
            If the largest product exceeds `memory_limit`; the message gives its size.
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
    """Return the submodel relevant to the variables to keep, with its elimination order.

    The model caches it, by the kept variables and the variables with evidence.

    Parameters
    ----------
    model : ProductModel
    evidence : Evidence
        Evidence without columns that are missing in all rows.
    partial : sequence of Variable
        Variables of the columns that are missing in some rows.
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


# ------------------------------------------------------------------------------ elimination loop


@dataclass(frozen=True, eq=False)
class Step:
    """An eliminated variable, and the product of factors from which it was eliminated.

    After maximisation, the steps are traced back to find the maximising values.
    """

    variable: Variable
    product: Potential


def eliminate(
    potentials: Sequence[Potential],
    plan: Plan,
    algebra: Mapping[Variable, Algebra],
    columns: Mapping[Variable, Floats],
    trace: list[Step] | None = None,
) -> Potential:
    """Eliminate variables in the plan's order; return the product of the remaining factors.

    The product is a factor over ``plan.keep``. See `remaining` for the parameters.
    """
    return multiply(remaining(potentials, plan, algebra, columns, trace))


def remaining(
    potentials: Sequence[Potential],
    plan: Plan,
    algebra: Mapping[Variable, Algebra],
    columns: Mapping[Variable, Floats],
    trace: list[Step] | None = None,
) -> list[Potential]:
    """Eliminate variables in the plan's order; return the remaining factors as a list.

    Parameters
    ----------
    potentials : sequence of factors
        Factors, with the scopes for which the plan was made.
    plan : Plan
    algebra : mapping from variable to Algebra
        Operation (sum or maximum) that eliminates each variable.
    columns : mapping from continuous variable to array of shape (n_rows,)
        Values of partially observed variables, NaN in the rows that lack them.
    trace : list, optional
        Receives a Step for each eliminated variable, in order of elimination.
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
        assert isinstance(product, GaussianFactor)  # only these have continuous variables
        column = columns.get(variable)
        if column is None:
            return product.eliminate(variable, algebra)
        return product.eliminate_partial(variable, algebra, column)
    assert isinstance(product, Factor)  # the plan removes continuous variables first
    assert isinstance(variable, Discrete)  # counts are observed or eliminated before
    return product.eliminate(variable, algebra)


# ------------------------------------------------------------------------------------- questions


def marginal(
    model: ProductModel,
    targets: Sequence[Variable],
    evidence: Evidence,
    memory_limit: float | None = None,
) -> tuple[Potential, Plan]:
    """Return the unnormalised posterior of the targets, and the elimination plan used.

    The posterior is a factor over ``plan.keep``: the targets and, for continuous targets, the
    discrete variables that index the components of the mixture.
    """
    trimmed, partial = evidence.split()
    return planned_slice(model, trimmed, partial, targets).marginal(trimmed, memory_limit)


def discrete_tables(
    model: ProductModel, evidence: Evidence, memory_limit: float | None = None
) -> Tables:
    """Return tables over the free discrete variables; their product is the unnormalised posterior.

    Continuous variables are set to their observed values or integrated out.
    """
    evidence, partial = evidence.split()
    free = [v for v in model.variables if isinstance(v, Discrete) and v not in evidence]
    problem = planned_slice(model, evidence, partial, free).slice.problem(evidence)
    scopes = [potential_scope(p) for p in problem.potentials]
    plan = make_plan(scopes, free, order=model.variables)
    continuous = replace(plan, keep=())  # no product over all kept variables is formed
    continuous.check_memory(memory_limit)
    algebra = {step.variable: SUM for step in plan.steps}
    left = remaining(problem.potentials, plan, algebra, problem.columns)
    factors = [factor for factor in left if isinstance(factor, Factor)]
    factors = factors or [Factor.from_log((), np.zeros(1))]
    scopes_left = Scopes.of_variables(free, [factor.scope for factor in factors])
    return Tables.from_logs(scopes_left, [factor.log_values[0] for factor in factors])


def most_probable(
    model: ProductModel,
    variables: Collection[Variable],
    evidence: Evidence,
    *,
    joint: bool,
    memory_limit: float | None = None,
) -> tuple[dict[Variable, NDArray[Any]], Floats]:
    """Return the most probable values of `variables`, row by row.

    Without `joint`, continuous variables are integrated out, discrete variables are maximised, and
    continuous variables are then set to their conditional means. With `joint`, all variables are
    maximised: the result is the mode of the joint density.

    Returns
    -------
    values : mapping from variable to array of shape (n_rows,)
        State codes or numbers.
    log_value : ndarray, shape (n_rows,)
        Log of the maximum of the joint probability (density) of values and evidence.
    """
    wanted = [v for v in variables if joint or isinstance(v, Discrete)]
    values, log_value = _maximised(model, wanted, evidence, joint=joint, memory_limit=memory_limit)
    rest = [v for v in variables if v not in values]
    if rest:
        # Barren continuous variables get their means given the values found so far.
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
    """Return the most probable values of `variables`, and the log of their probability.

    Only the submodel relevant to them is used. Continuous variables are maximised with `joint`;
    without it they are integrated out, and their values are conditional means.
    """
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
    assert isinstance(result, Factor)  # no variable is kept
    values: dict[Variable, NDArray[Any]] = {}
    for step in reversed(trace):
        values[step.variable] = _best(step, values)
    return values, result.log_values


def _best(step: Step, values: Mapping[Variable, NDArray[Any]]) -> NDArray[Any]:
    """Return the maximising value of the variable eliminated in a step.

    `values` holds the maximising values of the variables eliminated in later steps.
    """
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
