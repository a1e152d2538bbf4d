"""What a question is worth: the information that its answer brings, and the gain of a decision.

Let t be a state of the target, e the evidence, and x an answer, whose probability is P(x | e). Both
measures compare the posterior after the answer with the one before, and take the mean over the
answers:

    information = sum_x P(x | e) sum_t P(t | e, x) log(P(t | e, x) / P(t | e))
    gain        = sum_x P(x | e) [L_x(d) - min_d' L_x(d')],  L_x(d) = sum_t P(t | e, x) loss(t, d)

where d is the decision of minimum expected loss before the answer. In a joint distribution the
information is the mutual information of target and answer given the evidence (Lindley 1956), and
the gain is the expected value of sample information (Raiffa and Schlaifer 1961, section 4.5).

In weighted networks and averages of posteriors the mean of the posteriors after the answer is not
the posterior before, so that a difference of entropies, or of expected losses, could be negative
for an answer that changes much. The two measures are never negative, and zero if no answer changes
the posterior, or the decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesgraph.decisions import DecisionRule, cost_matrix
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Discrete


@dataclass(frozen=True, eq=False)
class Stakes:
    """The losses of the decisions about a target.

    Attributes
    ----------
    losses : ndarray, shape (n_states, n_decisions)
        ``losses[t, d]`` is the loss of decision d if t is the state: a decision for each state, and
        perhaps one more, to abstain. Without other losses each mistake costs 1, so that gains are
        gains of accuracy.
    """

    losses: Floats

    @classmethod
    def of(cls, target: Discrete, losses: Any = None, abstain: Any = None) -> Stakes:
        """Return the stakes for costs as `decide` takes them; `losses` are its `costs`.

        Raises
        ------
        DataError
            For losses of a wrong shape, or losses that are not finite numbers.
        UnknownStateError
            For a loss of an unknown state.
        """
        n = target.cardinality
        matrix = 1.0 - np.eye(n) if losses is None else cost_matrix(losses, target, "losses")
        if abstain is None:
            return cls(matrix)
        price = DecisionRule.of(target.states, abstain=abstain).abstain
        return cls(np.column_stack([matrix, np.full(n, price)]))

    def worth(self, before: Floats, joint: Floats) -> tuple[Floats, Floats]:
        """Return the share of each answer in the information (nats) and in the gain of a question.

        Parameters
        ----------
        before : ndarray, shape (..., 1, n_states)
            P(t | e).
        joint : ndarray, shape (..., n_answers, n_states)
            P(x | e) P(t | e, x).

        Returns
        -------
        information, gain : ndarray, shape (..., n_answers)
        """
        # Sums over few states are quicker as products of matrices.
        ones = np.ones(joint.shape[-1])
        apart = (joint @ ones)[..., None] * before
        possible = (joint > 0) & (apart > 0)
        ratio = np.divide(joint, apart, out=np.ones_like(joint), where=possible)
        information = (joint * np.log(ratio)) @ ones
        usual = np.argmin(before @ self.losses, axis=-1)
        kept = (joint * self.losses.T[usual]) @ ones
        return information, kept - (self.losses.T @ joint.swapaxes(-1, -2)).min(axis=-2)

    def bounds(self, before: Floats) -> tuple[float, float]:
        """Return what answers with all of the probability contribute to both measures at most.

        Parameters
        ----------
        before : ndarray, shape (n_states,)
        """
        return -float(np.log(before[before > 0].min())), float(np.ptp(self.losses))
