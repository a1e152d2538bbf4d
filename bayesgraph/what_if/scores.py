"""Log scores of the states of a target for many changes of findings at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.normalise import log_total
from bayesgraph.models.model import Model
from bayesgraph.variables import Discrete, Variable
from bayesgraph.what_if.options import Choice

# Options by choice, one row for each change: 0 keeps a finding, -1 takes it away.
Changes: TypeAlias = NDArray[np.intp]

# Rows that are asked at once.
_BLOCK = 8192
# Log odds that count as equal: a state that ties with another one has not turned the answer.
EPSILON = 1e-9


@dataclass(frozen=True, eq=False)
class Scorer:
    """The posterior of a target for changes of findings.

    Attributes
    ----------
    model : Model
    target : Discrete
    fixed : Evidence
        One row: the findings that stay, and soft evidence.
    choices : tuple of Choice
    """

    model: Model
    target: Discrete
    fixed: Evidence
    choices: tuple[Choice, ...]

    def __call__(self, changes: Changes) -> Floats:
        """Return log P(target, findings) up to a constant per row, shape (n_rows, n_states).

        Rows of impossible findings are minus infinity.
        """
        parts = [
            self.of_codes([c.codes[part[:, j]] for j, c in enumerate(self.choices)], len(part))
            for part in (
                changes[start : start + _BLOCK] for start in range(0, len(changes), _BLOCK)
            )
        ]
        return np.concatenate(parts) if parts else np.empty((0, self.target.cardinality))

    def of_codes(self, columns: Sequence[NDArray[Any]], n_rows: int) -> Floats:
        """Return log scores as a call does, given the encoded column of each choice."""
        known: dict[Variable, NDArray[Any]] = {
            v: np.repeat(column, n_rows, axis=0) for v, column in self.fixed.columns.items()
        }
        for choice, column in zip(self.choices, columns, strict=True):
            kind = np.intp if isinstance(choice.variable, Discrete) else np.float64
            known[choice.variable] = column.astype(kind)
        rows = Evidence(n_rows, known, self.fixed.likelihoods)
        return self.model.log_posterior_rows(self.target, rows)


@dataclass(frozen=True)
class Goal:
    """The answer that a change shall lead to.

    Attributes
    ----------
    state : int
        Code of the state of the target.
    log_odds : float or None
        Minimum of the log odds of the state against all others together; None asks that it is more
        probable than each other state.
    """

    state: int
    log_odds: float | None = None

    @property
    def needed(self) -> float:
        """Log odds against each single other state without which the goal is not reached."""
        return EPSILON if self.log_odds is None else self.log_odds - EPSILON

    def excess(self, scores: Floats) -> Floats:
        """Return by how much log odds exceed what is needed, shape (n_rows,).

        Negative values, and minus infinity for impossible findings, are no flips.
        """
        own = scores[..., self.state]
        others = np.delete(scores, self.state, axis=-1)
        with np.errstate(invalid="ignore"):
            if self.log_odds is None:
                found = own - others.max(axis=-1, initial=-np.inf) - EPSILON
            else:
                found = own - log_total(others) - self.log_odds + EPSILON
        return np.where(np.isneginf(own), -np.inf, found)

    def excess_of_margins(self, margins: Floats) -> Floats:
        """Return what `excess` does, given the log odds against each other state."""
        if self.log_odds is None or margins.shape[1] < 2:
            return np.asarray(margins.min(axis=1, initial=np.inf) - self.needed)
        return np.asarray(-log_total(-margins) - self.needed)
