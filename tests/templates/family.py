"""A family of leaves: the distribution of a number given the class. Copy this file and fill it in.

Room: `models`, a file of its own in its folder `families`.
The one list: `FAMILIES`, which gets `NEW_FAMILY`.
Its test row: a `Case` in `CLASSIFIERS` of `tests/cases.py`, such as `Case("nb-NAME",
partial(bg.NaiveBayesClassifier, "NAME"), kinds=("positive",))`, and, under the name in files, the
data and SciPy's distribution in `DENSITIES` there: the density is compared to 1e-12, the estimate
with the weighted maximum likelihood to 1e-6.
Docs: a row in `docs/models.md`; `distributions=`, `--distribution` and their help read the list.

Replace the names `NewCPD`, `NEW_FAMILY`, `new_name` and `theta`, then each line with a TODO.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.models import DensityCPD
from bayesgraph.models.families.leaf_family import from_means


class NewCPD(DensityCPD):
    """Children of the new family given the same discrete parents.

    TODO(1): the log density as a formula, its support, and where it is from.

    Parameters
    ----------
    children : Continuous, or iterable of Continuous
        The n children.
    theta : array_like, shape (*parents' cardinalities, n)
        Positive; without the last axis if `children` is a single variable.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For discrete children, a wrong shape, or a parameter that is not positive.
    """

    # Each parameter with its lower bound; the constructor and the methods take all of them by name.
    parameters: ClassVar = {"theta": 0.0}
    support = (0.0, np.inf)  # where the density is positive
    theta: Floats

    def _log_density(self, x: Floats, theta: Floats) -> Floats:
        return np.full_like(x, np.nan)  # TODO(2): the log density; minus infinity off the support

    def _tail(self, x: Floats, side: float, theta: Floats) -> Floats:
        if side > 0:
            return np.full_like(x, np.nan)  # TODO(3): P(child <= x), all digits where it is small
        return np.full_like(x, np.nan)  # TODO(4): P(child > x), with all digits where it is small

    def _moments(self, theta: Floats) -> tuple[Floats, Floats]:
        return theta, theta  # TODO(5): mean and variance

    def _draw(self, random: np.random.Generator, theta: Floats) -> Floats:
        return theta  # TODO(6): one random draw for each entry of the parameters


def _solve(mean: Floats) -> Sequence[Floats]:
    """Return the maximum likelihood parameters, given the mean of each transform of the column."""
    return (mean,)  # TODO(7): one array for each parameter


def _spread(mean: Floats) -> Sequence[Floats]:
    """Return means of the transforms for a column that does not vary, at which `_solve` answers."""
    return (np.where(mean > 0, mean, 1.0),)


NEW_FAMILY = from_means(
    "new_name",  # its name in files too
    "what the family is for",  # TODO(8): such as "waiting times: numbers from 0 on"
    NewCPD,
    # The transforms whose means `_solve` takes, by their names in `TRANSFORMS` of the statistics. A
    # family without such means is made by `from_values`, or is a `LeafFamily` with a function of
    # its own, such as `GAUSSIAN`.
    ("non-negative",),
    _solve,
    _spread,
)
