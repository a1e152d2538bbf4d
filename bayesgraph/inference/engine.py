"""Elimination of whole factors: rows of evidence at once, and Gaussians.

Tables with one case, and rows that observe different variables, run as programs instead
(`compiled`, `rows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bayesgraph.factors import Algebra, Factor, GaussianFactor, Potential, multiply
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.plan import Plan
from bayesgraph.variables import Continuous, Discrete, Variable


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
        scope: tuple[Variable, ...] = potential.scope
        if isinstance(potential, GaussianFactor):
            scope += potential.variables
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
