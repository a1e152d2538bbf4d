"""Jeffrey's rule: what to believe once the probabilities of some variables are known anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from bayesgraph.errors import EvidenceError
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Discrete

_MOST_ROUNDS = 10_000


def likelihoods(
    beliefs: Mapping[Discrete, Floats],
    posteriors: Callable[[Mapping[Discrete, Floats]], Mapping[Discrete, Floats]],
    *,
    tolerance: float = 1e-12,
) -> dict[Discrete, Floats]:
    """Return soft evidence under which the posteriors of some variables are as given.

    One variable takes one step (Jeffrey 1965: q(x) / p(x) as likelihood); several take iterative
    proportional fitting (Csiszar 1975), which ends in the distribution nearest to the model among
    those that have the given marginals.

    Parameters
    ----------
    beliefs : mapping from variable to probabilities
    posteriors : callable
        Returns the posteriors of the variables given log likelihoods of some of them.
    tolerance : float
        Largest difference of a posterior from its belief at the end.

    Returns
    -------
    dict from variable to log likelihoods

    Raises
    ------
    EvidenceError
        If a belief gives weight to what the model and the other findings exclude, or if no
        distribution has all of these marginals.
    """
    logs = {v: np.where(q > 0, 0.0, -np.inf) for v, q in beliefs.items()}
    with np.errstate(divide="ignore"):
        wanted = {v: np.log(q) for v, q in beliefs.items()}
    worst = np.inf
    for round_number in range(_MOST_ROUNDS):
        before, worst = worst, 0.0
        for variable, q in beliefs.items():
            now = posteriors(logs)[variable]
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
            return logs
        if round_number > 100 and worst >= before * (1 - 1e-9) and worst > 1e-9:
            break
    if worst <= 1e-9:
        return logs
    raise EvidenceError(
        "The new beliefs contradict each other under the model: no distribution that the model "
        f"allows has all of these marginals (still off by {worst:.3g})."
    )
