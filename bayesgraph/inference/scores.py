"""The solver of classifiers that score the classes of rows with a compiled kernel of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import Case, Joint, Pattern, Solver, Work
from bayesgraph.inference.plan import Plan
from bayesgraph.variables import Discrete

# Pattern (variables with evidence) of the encoded rows that a kernel takes.
OF_ROWS = Pattern((), rows=True)


@dataclass(frozen=True, eq=False)
class ClassScores:
    """A model that consists of the class variable and a compiled kernel that scores its states.

    The kernel gives the same answer as the classifier's network, but faster.

    Attributes
    ----------
    target : Discrete
        The class variable.
    kernel : str
        Description of the kernel in words.
    scores : callable
        Function that returns log P(class, row) of encoded rows, up to a constant for each row, in
        shape (n_rows, n_classes).
    """

    target: Discrete
    kernel: str
    scores: Callable[[Any], Floats]

    form = "scores"
    compiled = None
    instead = ""

    @property
    def variables(self) -> tuple[Discrete, ...]:
        """The class variable."""
        return (self.target,)


class ScoresWork(Work):
    """Class scores of a batch of rows, from one call of the kernel."""

    def _run(self, case: Case, memory_limit: float | None) -> Any:
        raise NotImplementedError("Single cases are asked of the network.")

    def _run_rows(self, rows: Any) -> Floats:
        found: Floats = self.model.scores(rows)
        return found


class KernelScores(Solver):
    """Calls the kernel of a streaming classifier or of a linear discriminant analysis."""

    name = "class scores"
    condition = "rows of a classifier with a kernel of its own: a stream, a linear discriminant"
    form = "scores"
    works: ClassVar = {Joint: ScoresWork}

    def takes(self, model: Any, question: Any, pattern: Pattern) -> bool:
        return True

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        return Plan(keep=model.variables)
