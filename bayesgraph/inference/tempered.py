"""The solver of weighted networks: marginalise first, then temper."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import All, Best, Case, Draw, Joint, Pattern, Work
from bayesgraph.inference.factor_work import Factors
from bayesgraph.inference.plan import Plan
from bayesgraph.inference.rows import RowsWork


class Tempered(Factors):
    """The factors of the network, and one that turns what it says of its class into ours."""

    name = "tempered"
    condition = "a weighted network, whose class is told by tempered conditionals"
    answers = frozenset({Joint, All, Best, Draw})

    def serves(self, model: Any) -> bool:
        return bool(model.form == "tempered")

    def prepare(
        self, model: Any, question: Any, pattern: Pattern, memory_limit: int | None
    ) -> Work | None:
        if not pattern.rows:
            return super().prepare(model, question, pattern, memory_limit)
        if not isinstance(question, Joint):
            return None
        if question.targets == (model.number[model.target.name],):
            return TemperedRows(self, model, question, pattern)
        return RowsWork(self, model, question, pattern)

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan | None:
        if pattern.rows and not isinstance(question, Joint):
            return None
        plan = super().plan(model, question, Pattern(pattern.observed, pattern.soft))
        assert plan is not None  # of one case
        features = [v for v in pattern.observed if model.variables[v] != model.target]
        known = Pattern(tuple(features), pattern.soft, pattern.rows)
        inner = model.network.plan_of(Joint((model.number[model.target.name],)), known)
        return Plan(keep=plan.keep, parts=(plan.by("factors", "of the network"), inner))


class TemperedRows(Work):
    """The log scores of the class for each row: powered conditionals, added up."""

    def _run(self, case: Case, memory_limit: int | None) -> Floats:
        return self._run_rows(case.evidence(self.model.variables))

    def _run_rows(self, rows: Evidence) -> Floats:
        model = self.model
        target = model.target
        result: Floats = model.log_scores(rows)
        if target in rows.likelihoods:
            result += rows.likelihoods[target]
        if target in rows:
            codes = rows.columns[target][:, None]
            result[(codes >= 0) & (codes != np.arange(target.cardinality))] = -np.inf
        return result
