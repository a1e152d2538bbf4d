"""The solver of networks with canonical CPDs: a network with auxiliary variables answers.

In this network, which the model gives as `unfolded`, each canonical CPD (a noisy or, for example)
is a chain of small tables. Its first variables are those of the model, so that questions and
evidence have the same indices; the auxiliary variables follow, and are summed out.

If the chains together are expensive, noisy maxima that are observed to have no effect leave them:
their likelihood is a product of one for each parent (Heckerman 1989, Quickscore).
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
from bayesgraph.inference.sensitivity import Derivatives

# Number of multiplications from which on likelihoods of no effect are taken out of the chains,
# which takes a program for each set of such effects.
_MANY = 2**14


class UnfoldedWork(Work):
    """Prepared query whose answer is that of the network with auxiliary variables."""

    _factorises: ClassVar[bool] = True

    def _begin(self, model: Any) -> None:
        # The network keeps its prepared queries, and this query keeps the network.
        self._network = self._asked(model)
        self._inner = self._prepared()
        self._effects: list[int] = []
        if self._factorises and not self.pattern.rows:
            self._effects = [v for v in self.pattern.observed if v in model.absences]
        if self._effects:
            plan = self._network.plan_of(self.question, self.pattern)
            self._effects = self._effects if plan.multiplications > _MANY else []

    def _asked(self, model: Any) -> Any:
        return model.unfolded

    def _prepared(self) -> Work:
        work: Work = self._network.work(self.question, self.pattern, self.memory_limit)
        return work

    def run(self, case: Case, memory_limit: float | None = None) -> Any:
        """Return the answer for one case; see Work."""
        absent = tuple(v for v in self._effects if not case.hard[v])
        if absent:
            return self._run_without(absent, case, memory_limit)
        return self._run(case, memory_limit)

    def _run_without(self, absent: tuple[int, ...], case: Case, memory_limit: float | None) -> Any:
        """Return the answer, with the likelihoods of absent effects as evidence on their causes."""
        model = self.model
        names = [model.variables[v].name for v in absent]
        cut = model.memo.get(("absent", absent), lambda: model.without_parents(names))
        soft, log_scale = dict(case.soft), case.log_scale
        for v in absent:
            for causes, logs in model.absences[v]:
                codes = tuple(case.hard[u] for u in causes if u in case.hard)
                if len(codes) == len(causes):
                    log_scale += float(logs[codes])
                else:
                    soft[causes[0]] = soft.get(causes[0], 0.0) + logs
        if log_scale == -np.inf:
            return -np.inf if isinstance(self.question, Mass) else None
        own = Case(case.hard, soft, log_scale)
        return cut.work(self.question, own.pattern, memory_limit).run(own, memory_limit)

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

    _factorises = False

    def _prepared(self) -> Work:
        return Loopy().prepare(self._network, self.question, self.pattern, self.memory_limit)


class UnfoldedSlopes(UnfoldedWork):
    """Prepared query for derivatives with respect to the entries of the whole tables."""

    _factorises = False

    def _asked(self, model: Any) -> Any:
        return model.expanded()

    def derivatives(
        self, case: Case, log_unit: float | None, memory_limit: float | None
    ) -> Derivatives | None:
        """Return the derivatives of both probabilities; see SlopesWork."""
        inner: Any = self._inner
        found: Derivatives | None = inner.derivatives(case, log_unit, memory_limit)
        return found


class UnfoldedRetractions(UnfoldedWork):
    """Prepared query for the conflict between findings."""

    _factorises = False


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
        Retractions: UnfoldedRetractions,
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
