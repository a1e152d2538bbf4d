"""The most probable assignments of a mixture, from those of its networks.

Finding them is hard in general, but what each network says is sorted: an assignment that is not
among the first k of any network has at most the weighted sum of their k-th probabilities. So all
that is found beside and lies above that bound is certain (the threshold algorithm of Fagin, Lotem
and Naor 2003, "Optimal aggregation algorithms for middleware", section 4).
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

# Assignments looked at in each network before the search is given up.
_MAXIMUM = 4096
# Of sums of logs: equally probable assignments must not look different.
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
        From k to the k most probable assignments of each network, best first, fewer if fewer are
        possible.
    log_weights : ndarray, shape (number of networks,)
    log_probabilities : callable
        From names and a list of their values to the mixture's log probabilities of these
        assignments together with the evidence.

    Raises
    ------
    UnsupportedModelError
        If the networks differ so much that their first 4096 assignments do not decide it.
    """
    k = max(8, 2 * n)
    while True:
        found = first(k)
        names = next((tuple(best[0]) for best in found if best), ())
        # By type too: True and 1 may be two states of one variable.
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
