"""The solver of weighted networks, whose conditional distributions are raised to exponents.

With observed features O, exponents w and class biases b, the posterior of the class c is

    P(c | x_O)  ~  P(c)^w_0  exp(b_c)  prod_{i in O} p(x_i | observed parents of i, c)^w_ic,

up to normalisation (~). Weighted naive Bayes is an example. Unobserved variables are summed out of
the conditionals before the exponents are applied.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import Case, Joint, Mass, Pattern, Retractions, Work
from bayesgraph.inference.factor_solver import Factors
from bayesgraph.inference.plan import Plan
from bayesgraph.inference.row_solver import RowsWork


class TemperedRows(Work):
    """Prepared query for the class scores of a batch of rows.

    A score is the sum of log conditionals times exponents: log P(class | row) up to a constant for
    each row.
    """

    def _run(self, case: Case, memory_limit: float | None) -> Floats:
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


class Tempered(Factors):
    """Solver by variable elimination on the factors of the unweighted network and a correction.

    The correction factor is over the class variable: the ratio of the class posterior of the
    weighted network to that of the unweighted network.
    """

    name = "tempered"
    condition = "a weighted network, whose class follows from tempered conditionals"
    form = "tempered"
    # Tempered conditionals give no probability of the evidence.
    works: ClassVar = {q: w for q, w in Factors.works.items() if q not in (Mass, Retractions)}

    def takes(self, model: Any, question: Any, pattern: Pattern) -> bool:
        return not pattern.rows or isinstance(question, Joint)

    def prepare(
        self, model: Any, question: Any, pattern: Pattern, memory_limit: float | None
    ) -> Work:
        if not pattern.rows:
            return super().prepare(model, question, pattern, memory_limit)
        is_class = question.targets == (model.number[model.target.name],)
        return (TemperedRows if is_class else RowsWork)(self, model, question, pattern)

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        plan = super().plan(model, question, Pattern(pattern.observed, pattern.soft))
        features = [v for v in pattern.observed if model.variables[v] != model.target]
        known = Pattern(tuple(features), pattern.soft, pattern.rows)
        inner = model.network.plan_of(Joint((model.number[model.target.name],)), known)
        own = replace(plan, solver="factors", reason="of the network")
        return Plan(keep=plan.keep, parts=(own, inner))
