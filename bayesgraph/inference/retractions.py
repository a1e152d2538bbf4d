"""Conflict between the findings on any model that gives exact densities of evidence.

Where a junction tree of tables retracts all findings in one propagation, here each finding is left
out, and kept alone, in a query of its own:

    log P(e_i) - log P(e_i | others) = log P(e_i) + log P(others) - log P(e).
"""

from __future__ import annotations

import numpy as np

from bayesgraph.inference.contract import Case, Joint, Mass, Work
from bayesgraph.inference.sensitivity import Conflict


class SingleRetractions(Work):
    """Prepared query for the conflict between findings, which asks one query for each.

    Densities of numbers enter as probabilities do: their units cancel in every result.
    """

    def _run(self, case: Case, memory_limit: float | None) -> Conflict | None:
        model = self.model

        def mass(part: Case) -> float:
            return float(model.work(Mass(), part.pattern, memory_limit).run(part, memory_limit))

        whole = mass(case)
        if whole == -np.inf:
            return None
        numbers = sorted({*case.hard, *case.soft})
        total = mass(Case({}))  # not 0 for a factor graph
        left = {v: case.without(v) for v in numbers}
        alone = {v: mass(_only(case, v)) - total for v in numbers}
        shares = {v: alone[v] + mass(left[v]) - whole for v in numbers}
        measure = sum(alone.values()) + total - whole
        if len(numbers) < 2:
            measure, shares = 0.0, dict.fromkeys(numbers, 0.0)  # one finding has no conflict
        order = sorted(numbers, key=lambda v: -shares[v])
        names = {v: model.variables[v].name for v in order}
        expected = {
            names[v]: model.work(Joint((v,)), left[v].pattern, memory_limit).run(
                left[v], memory_limit
            )
            for v in order
        }
        found = {names[v]: shares[v] for v in order}
        return Conflict(whole - total, measure, found, expected)


def _only(case: Case, number: int) -> Case:
    """Return the finding on one variable."""
    return Case(
        {v: value for v, value in case.hard.items() if v == number},
        {v: logs for v, logs in case.soft.items() if v == number},
    )
