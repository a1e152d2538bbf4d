"""The solver of classifiers that score their class for rows by a kernel of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import Case, Joint, Pattern, Solver, Work
from bayesgraph.inference.plan import Plan
from bayesgraph.variables import Discrete

# Rows as the kernel takes them.
OF_ROWS = Pattern((), rows=True)


@dataclass(frozen=True, eq=False)
class ClassScores:
    """A class and what scores it for encoded rows: the same answer as that of the network, faster.

    Attributes
    ----------
    target : Discrete
    kernel : str
        What scores, in words.
    scores : callable
        From encoded rows to log P(class, row) up to a term of the row, (n_rows, n_classes).
    """

    target: Discrete
    kernel: str
    scores: Callable[[Any], Floats]

    form = "scores"
    compiled = None
    instead = ""

    @property
    def variables(self) -> tuple[Discrete, ...]:
        """The class."""
        return (self.target,)


class ScoresWork(Work):
    """One call of the kernel."""

    def _run(self, case: Case, memory_limit: float | None) -> Any:
        raise NotImplementedError("Single cases are asked of the network.")

    def _run_rows(self, rows: Any) -> Floats:
        found: Floats = self.model.scores(rows)
        return found


class KernelScores(Solver):
    """Runs the kernel of a stream's summaries, or the linear form of discriminant analysis."""

    name = "class scores"
    condition = "rows of a classifier with a kernel of its own: a stream, a linear discriminant"
    form = "scores"
    works: ClassVar = {Joint: ScoresWork}

    def takes(self, model: Any, question: Any, pattern: Pattern) -> bool:
        return True

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        return Plan(keep=model.variables)
