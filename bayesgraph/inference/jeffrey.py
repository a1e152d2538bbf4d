"""Jeffrey's rule: soft evidence that gives variables prescribed posterior distributions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from bayesgraph.errors import EvidenceError
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Discrete

_MAXIMUM_ROUNDS = 2_000
# Maximum difference from the prescribed posteriors that is accepted after the last round.
_GOOD_ENOUGH = 1e-9


def likelihoods(
    beliefs: Mapping[Discrete, Floats],
    posterior: Callable[[Discrete, Mapping[Discrete, Floats]], Floats],
    *,
    tolerance: float = 1e-12,
) -> dict[Discrete, Floats]:
    """Return likelihoods under which the variables in `beliefs` have the prescribed posteriors.

    For one variable with prescribed posterior q, the likelihood is q(x) / p(x), where p is the
    current posterior (Jeffrey 1965). Several variables take iterative proportional fitting (Csiszar
    1975). It converges to the distribution with the prescribed marginals that has the smallest
    Kullback-Leibler divergence from the model.

    Parameters
    ----------
    beliefs : mapping from variable to probabilities
        Prescribed posterior distribution of each variable.
    posterior : callable
        Function of a variable and a mapping from variable to log likelihoods, which returns the
        variable's posterior given these likelihoods and the other evidence.
    tolerance : float
        Maximum difference between a posterior and the prescribed one at which the iteration ends.

    Returns
    -------
    dict from variable to log likelihoods

    Raises
    ------
    EvidenceError
        If a belief gives weight to a state that the model and the other evidence exclude, or if no
        distribution has all of the given marginals.
    """
    logs = {v: np.where(q > 0, 0.0, -np.inf) for v, q in beliefs.items()}
    with np.errstate(divide="ignore"):
        wanted = {v: np.log(q) for v, q in beliefs.items()}
    worst = np.inf
    for round_number in range(_MAXIMUM_ROUNDS):
        worst = 0.0
        for variable, q in beliefs.items():
            now = posterior(variable, logs)
            if ((now <= 0) & (q > 0)).any():
                raise EvidenceError(
                    f"The new belief about {variable.name!r} gives weight to states that have "
                    "probability zero under the model and the other findings."
                )
            worst = max(worst, float(np.max(np.abs(now - q))))
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.where(q > 0, wanted[variable] - np.log(now), -np.inf)
            updated = logs[variable] + step
            logs[variable] = np.where(q > 0, updated - updated.max(), -np.inf)
        if worst <= tolerance or (len(beliefs) == 1 and round_number):
            break
    if worst <= _GOOD_ENOUGH:
        return logs
    raise EvidenceError(
        f"The new beliefs are not reached after {_MAXIMUM_ROUNDS} rounds of proportional fitting "
        f"(still off by {worst:.3g}): they contradict each other under the model, or nearly so."
    )
