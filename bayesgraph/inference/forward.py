"""The solver that draws complete rows: all variables, given the evidence.

The ancestors of observed variables are drawn from their posterior, all other variables from their
distributions given their parents.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.ancestors import ancestral_set
from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors import Evidence
from bayesgraph.inference.contract import Case, Draw, Mass, Pattern, Sample, Solver, Taken, Work
from bayesgraph.inference.plan import Plan
from bayesgraph.variables import Discrete, Variable


def _above(model: Any, pattern: Pattern) -> set[Variable]:
    """Return the variables with evidence, and all of their ancestors."""
    # Parents in the order of drawing, in which children of a block are drawn one after the other.
    parents: dict[Variable, tuple[Variable, ...]] = {
        node.variable: node.parents for node in model.nodes()
    }
    known = [model.variables[v] for v in (*pattern.observed, *pattern.soft)]
    return ancestral_set(parents, known)


class ForwardWork(Work):
    """Prepared query for independent draws of all variables from the exact posterior."""

    def _run(self, case: Case, memory_limit: float | None) -> Taken | None:
        model = self.model
        given = case.evidence(model.variables)
        above = _above(model, self.pattern)
        if not above:
            return Taken(partial(_rows, model, given, None))
        # The other variables are barren: they do not change the posterior of the ancestors.
        part = model.restricted(above)
        own = case.renumbered({v: part.number.get(x.name) for v, x in enumerate(model.variables)})
        question = Mass() if above <= set(given.columns) else Draw()
        try:
            found = part.work(question, own.pattern, memory_limit).run(own, memory_limit)
        except UnsupportedModelError:  # there is no exact posterior of the ancestors
            return Taken(partial(_accepted_rows, model, given))
        if isinstance(question, Mass):
            return None if found == -np.inf else Taken(partial(_rows, model, given, None))
        return None if found is None else Taken(partial(_rows, model, given, found))


def _rows(
    model: Any, given: Evidence, above: Any, n: int, random: np.random.Generator
) -> dict[Variable, NDArray[Any]]:
    """Return n draws of all variables given the evidence `given`.

    `above` draws the unobserved ancestors of observed variables; None if there are none.
    """
    columns = {v: np.repeat(column, n, axis=0) for v, column in given.columns.items()}
    if above is not None:
        try:
            columns |= above.take(n, random)
        except UnsupportedModelError:
            return _accepted_rows(model, given, n, random)
    return _forward(model, columns, n, random)


def _forward(
    model: Any, columns: dict[Variable, NDArray[Any]], n: int, random: np.random.Generator
) -> dict[Variable, NDArray[Any]]:
    """Return n draws of all variables; those not in `columns` are drawn given their parents."""
    drawn = dict(columns)
    for node in model.nodes():
        if node.variable not in drawn:
            drawn[node.variable] = node.sample(drawn, n, random)
    return drawn


def _accepted_rows(
    model: Any, given: Evidence, n: int, random: np.random.Generator
) -> dict[Variable, NDArray[Any]]:
    """Return draws of all variables given observed states, by rejection sampling.

    The draws are exact, and need no exact posterior of the ancestors. Sampling is slow if the
    observed states are improbable.
    """
    wanted = {v: int(c[0]) for v, c in given.columns.items() if isinstance(v, Discrete)}
    if len(wanted) < len(given.columns) or given.likelihoods:
        raise UnsupportedModelError(
            "Rows given numbers or likelihoods take the exact posterior of what lies above "
            "them, which this model does not have; give states of discrete variables only."
        )
    found: list[dict[Variable, NDArray[Any]]] = []
    n_found, tries = 0, 0
    while n_found < n:
        if tries > 10_000 + 1_000 * n:
            raise UnsupportedModelError(
                f"{tries} rows were drawn and {n_found} of them agree with what is given: it "
                "is too improbable to be sampled by drawing and rejecting."
            )
        size = min(100_000, 2 * n + 100)
        rows = _forward(model, {}, size, random)
        kept = np.flatnonzero(np.all([rows[v] == code for v, code in wanted.items()], axis=0))
        found.append({v: column[kept] for v, column in rows.items()})
        n_found, tries = n_found + len(kept), tries + size
    columns = {v: np.concatenate([part[v] for part in found])[:n] for v in found[0]} if n else {}
    return _forward(model, columns, n, random)


class Forward(Solver):
    """Solver by ancestral sampling: each variable is drawn from its CPD given its parents."""

    name = "forward sampling"
    condition = "a network to draw rows from"
    works: ClassVar = {Sample: ForwardWork}

    def serves(self, model: Any) -> bool:
        return hasattr(model, "nodes")

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        above = _above(model, pattern)
        if above <= {model.variables[v] for v in pattern.observed}:
            return Plan()
        part = model.restricted(above)
        observed, soft = (
            tuple(sorted(part.number[model.variables[v].name] for v in numbers))
            for numbers in (pattern.observed, pattern.soft)
        )
        return Plan(parts=(part.plan_of(Draw(), Pattern(observed, soft)),))
