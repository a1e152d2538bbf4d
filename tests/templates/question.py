"""A kind of question, which a solver answers in one go. Copy the parts and fill them in.

Rooms: the value and its `Work` go to `inference`, beside the solver that answers it; the method to
`Model` in `models`. (What asks a model more than once is no kind of question, but a function in the
room `questions`.)
The one list: `works` of each solver that answers it, from the value to its `Work`. The methods that
`plan` accepts, which estimators have too, are in `QUESTIONS` beside `Model`.
Its test row: a call in `QUESTIONS` of `test_solver.py`; and a test compares the answer with a sum
over all joint states.
Docs: the docstring of the method, and the page of the answer's use.

A question has numbers of variables, never names, and never values of the evidence, because work is
kept by question and by which variables are observed. Replace the names `New`, `TableNew` and
`new_question`, then each line with a TODO.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.core.variables import Name
from bayesgraph.inference import METHODS, Case, Mass, Work
from bayesgraph.models import Model


class New(NamedTuple):
    """TODO(1): the quantity in a sentence, with its unit.

    Attributes are numbers of variables, if it is about any.
    """


METHODS[New] = "new_question"  # in the table itself: the method, for messages


class TableNew(Work):
    """Prepared query for the new quantity of a model of tables."""

    def _prepare(self, model: Model) -> None:
        """Prepare what depends on the question and on which variables are observed alone."""

    def run(self, case: Case, memory_limit: float | None = None) -> float | None:
        """Return the answer for one case; None if the evidence is impossible."""
        log_mass = self.model._work(Mass(), case.pattern, memory_limit).run(case, memory_limit)
        return None if log_mass == -np.inf else np.nan  # TODO(2): the answer


def new_question(
    self: Model, evidence: Mapping[Name, Any], *, memory_limit: float | None = None
) -> float:
    """Return the new quantity.

    TODO(3): its formula, and where it is from (author, year, equation).

    Parameters
    ----------
    evidence : mapping from name to value
        As in `query`.
    memory_limit : float, optional
        Bytes; half of the machine's memory by default.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence has probability zero.
    UnsupportedModelError
        If no solver answers it for this model.
    """
    case = self._checked_case(New, evidence)
    return float(self._possible(New(), case, evidence, memory_limit))
