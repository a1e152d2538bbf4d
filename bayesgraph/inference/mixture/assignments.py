"""The most probable assignments of a mixture, found from those of its networks.

The problem is hard in general, but each network lists its assignments in order of probability. An
assignment that is not among the first k of any network has at most the weighted sum of the
networks' k-th probabilities. If n assignments reach this bound, the n most probable ones are found
(the threshold algorithm of Fagin, Lotem and Naor 2003, "Optimal aggregation algorithms for
middleware", section 4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.mixture.averages import log_sum
from bayesgraph.inference.results import Assignment
from bayesgraph.variables import Name, State

# Maximum number of assignments of each network before the search is given up.
_MAXIMUM = 4096
# Tolerance of sums of logs, so that equally probable assignments compare as equal.
_ROUNDING = 1e-11

_Values: TypeAlias = tuple[State, ...]


def best_assignments(
    n: int,
    first: Callable[[int], list[list[Assignment]]],
    log_weights: Floats,
    log_probabilities: Callable[[tuple[Name, ...], list[_Values]], Floats],
) -> list[Assignment]:
    """Return the n most probable assignments of a mixture, best first.

    Parameters
    ----------
    n : int
    first : callable
        Function of k that returns the k most probable assignments of each network, best first, or
        fewer if fewer have positive probability.
    log_weights : ndarray, shape (number of networks,)
        Logs of the prior weights.
    log_probabilities : callable
        Function of names and a list of tuples of values, one tuple for each assignment, that
        returns the log joint probability of each assignment and the evidence under the mixture.

    Raises
    ------
    UnsupportedModelError
        If the first 4096 assignments of the networks do not determine the result.
    """
    k = max(8, 2 * n)
    while True:
        found = first(k)
        names = next((tuple(best[0]) for best in found if best), ())
        # The keys contain the types: True and 1 may be two states of one variable.
        distinct = {
            tuple((type(a[name]), a[name]) for name in names): tuple(a[name] for name in names)
            for best in found
            for a in best
        }
        candidates = list(distinct.values())
        if not candidates:
            return []
        values = log_probabilities(names, candidates)
        last = [best[-1].log_probability if len(best) == k else -np.inf for best in found]
        bound = log_sum(log_weights + np.array(last))
        order = np.argsort(-values, kind="stable")[:n]
        if bound == -np.inf or (len(order) == n and values[order[-1]] >= bound - _ROUNDING):
            return [
                Assignment(dict(zip(names, candidates[i], strict=True)), float(values[i]))
                for i in order.tolist()
            ]
        if k >= _MAXIMUM:
            raise UnsupportedModelError(
                f"The {k} most probable assignments of each of the {len(found)} networks do not "
                "decide which is the most probable of their mixture; give more evidence, or ask "
                "mixture.networks[i].most_probable."
            )
        k = min(4 * k, _MAXIMUM)
