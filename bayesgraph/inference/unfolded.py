"""The solver of networks with canonical CPDs: a network with auxiliary variables answers.

In this network, which the model gives as `unfolded`, each canonical CPD (a noisy or, for example)
is a chain of small tables. Its first variables are those of the model, so that questions and
evidence have the same indices; the auxiliary variables follow, and are summed out.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.approximate import LOOPY, Loopy
from bayesgraph.inference.contract import (
    All,
    Approximate,
    Best,
    Case,
    Draw,
    Joint,
    Mass,
    Pattern,
    Retractions,
    Slopes,
    Solver,
    Work,
)
from bayesgraph.inference.factor_solver import lazy_marginals
from bayesgraph.inference.plan import Plan
from bayesgraph.inference.results import Marginals


class UnfoldedWork(Work):
    """Prepared query whose answer is that of the network with auxiliary variables."""

    def _begin(self, model: Any) -> None:
        # The network keeps its prepared queries, and this query keeps the network.
        self._network = self._asked(model)
        self._inner = self._prepared()

    def _asked(self, model: Any) -> Any:
        return model.unfolded

    def _prepared(self) -> Work:
        work: Work = self._network.work(self.question, self.pattern, self.memory_limit)
        return work

    def _run(self, case: Case, memory_limit: float | None) -> Any:
        return self._inner.run(case, memory_limit)

    def _run_rows(self, rows: Evidence) -> Floats:
        return self._inner.run_rows(rows)

    @property
    def nbytes(self) -> int:
        return self._inner.nbytes


class UnfoldedMarginals(UnfoldedWork):
    """Prepared query for marginals, without those of auxiliary variables."""

    def _run(self, case: Case, memory_limit: float | None) -> Any:
        found = self._inner.run(case, memory_limit)
        if not isinstance(found, Marginals):  # impossible evidence, or an approximate posterior
            return found
        model = self.model
        if not len(found.flat):  # posteriors are computed on access
            return lazy_marginals(model, self.pattern, case, found.log_evidence, memory_limit)
        cards = np.array([v.cardinality for v in model.variables], dtype=np.int64)
        free = np.array([v for v in range(len(cards)) if v not in case.hard], dtype=np.int64)
        flat = found.flat[: cards[free].sum()]
        return Marginals(
            model.variables, free, cards, flat, found.log_evidence, found.approximation
        )


class UnfoldedBeliefs(UnfoldedMarginals):
    """Prepared query that is answered by loopy belief propagation."""

    def _prepared(self) -> Work:
        return Loopy().prepare(self._network, self.question, self.pattern, self.memory_limit)


class UnfoldedSlopes(UnfoldedWork):
    """Prepared query for derivatives with respect to the entries of the whole tables."""

    def _asked(self, model: Any) -> Any:
        return model.expanded()


class Unfolded(Solver):
    """Solver of networks with canonical CPDs, by chains of tables over auxiliary variables.

    The most probable assignments of all variables are left to solvers that sum nothing out.
    """

    name = "auxiliary variables"
    condition = "a network with canonical CPDs, such as noisy ors"
    form = "product"
    works: ClassVar = {
        Joint: UnfoldedWork,
        All: UnfoldedMarginals,
        Mass: UnfoldedWork,
        Best: UnfoldedWork,
        Draw: UnfoldedWork,
        Slopes: UnfoldedSlopes,
        Retractions: UnfoldedWork,
        Approximate: UnfoldedBeliefs,
    }

    def serves(self, model: Any) -> bool:
        return getattr(model, "unfolded", None) is not None

    def takes(self, model: Any, question: Any, pattern: Pattern) -> bool:
        if isinstance(question, Best):
            return question.over is not None
        return not isinstance(question, Approximate) or bool(question.method == LOOPY)

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        network = model.expanded() if isinstance(question, Slopes) else model.unfolded
        targets = getattr(question, "targets", None) or ()
        kept = tuple(model.variables[v] for v in targets)
        return Plan(keep=kept, parts=(network.plan_of(question, pattern),))
