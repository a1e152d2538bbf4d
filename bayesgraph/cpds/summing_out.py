"""Conditional distributions that sum out their unobserved root parents themselves.

If a continuous parent of a tree CPD is free, the CPD's potential is neither a table nor Gaussian,
and the inference engine cannot represent it. An exception is a parent z that is a root of the
network, is not a target, has no soft evidence and has a single child c. It appears only in its own
CPD and in that of c, and the sum

    sum_z P(z) P(c | z, rest)

replaces both CPDs. This module finds such parents from the query alone; the engine gets an ordinary
factor.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, runtime_checkable

import numpy as np

from bayesgraph.cpds.base import CPD
from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors import Evidence, Factor
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Continuous, Variable


class NumericCPD(CPD):
    """A CPD that is not Gaussian in its continuous variables, so that they must be observed."""

    def check_observed(self, observed: Collection[Variable]) -> None:
        """Raise an UnsupportedModelError if a continuous variable of the CPD is not observed."""
        for variable in self.scope:
            if isinstance(variable, Continuous) and variable not in observed:
                raise UnsupportedModelError(
                    f"{variable.name!r} is continuous, not observed, and {self.title} is not "
                    "linear "
                    "Gaussian in it: there is no exact answer. Only a root that feeds this CPD "
                    "alone and is not a target is summed out. Observe it, leave it out of the "
                    "targets, or query with method='likelihood-weighting'."
                )

    __hash__ = None


class RootSummingCPD(NumericCPD):
    """A CPD that can sum out unobserved root parents itself."""

    @abstractmethod
    def summed(self, roots: Mapping[Variable, CPD], observed: Collection[Variable]) -> CPD:
        """Return a CPD that sums out the given root parents in rows where they are missing.

        Parameters
        ----------
        roots : mapping from parent to CPD
            The root parents that have no other child, and their CPDs.
        observed : collection of variables
            Variables observed in at least one row. Roots that are not observed in any row are no
            parents of the result.
        """

    __hash__ = None


@runtime_checkable
class HasIntervals(Protocol):
    """Protocol of the CPD of a continuous root that gives the probability of intervals."""

    def interval_probability(self, low: Floats, high: Floats) -> Floats:
        """Return P(low < x <= high) for arrays of bounds, which may be infinite."""
        ...


def interval_probability(root: CPD, low: Floats, high: Floats) -> Floats:
    """Return P(low < x <= high) of a continuous root x, by its CPD `root`.

    Raises
    ------
    UnsupportedModelError
        For a CPD that does not compute it.
    """
    if not isinstance(root, HasIntervals):
        raise UnsupportedModelError(
            f"{root.title} does not know the probability of an interval, which summing "
            f"{root.variable.name!r} out of a tree takes. Observe it, or use a GaussianCPD or a "
            "HistogramCPD."
        )
    return root.interval_probability(low, high)


def state_probabilities(root: CPD) -> Floats:
    """Return the prior probabilities of a discrete root, shape (n_states,), from its CPD."""
    potential = root.potential(Evidence(1, {}))
    assert isinstance(potential, Factor)  # the root is discrete
    return np.asarray(np.exp(potential.log_values[0]))


def summed_roots(cpds: Iterable[CPD], targets: Collection[Variable]) -> dict[Variable, CPD]:
    """Return the root variables that the CPD of their only child can sum out.

    Each is mapped to its own CPD.

    Parameters
    ----------
    cpds : iterable of CPD
        The CPDs relevant to a query, those of all ancestors included.
    targets : collection of variables
        The targets, and the variables with soft evidence.
    """
    cpds = list(cpds)
    summing = [cpd for cpd in cpds if isinstance(cpd, RootSummingCPD)]
    if not summing:
        return {}
    n_children = Counter(parent for cpd in cpds for parent in cpd.parents)
    own = {cpd.variable: cpd for cpd in cpds}
    return {
        parent: own[parent]
        for cpd in summing
        for parent in cpd.parents
        if not own[parent].parents and n_children[parent] == 1 and parent not in targets
    }


def without_summed_roots(
    cpds: Iterable[CPD], observed: Collection[Variable], targets: Collection[Variable]
) -> list[CPD]:
    """Return the CPDs relevant to a query, with unobserved roots summed out where possible.

    Parameters
    ----------
    cpds, targets
        See `summed_roots`.
    observed : collection of variables
        Variables observed in at least one row.

    Raises
    ------
    UnsupportedModelError
        For a free continuous variable that is neither summed out nor Gaussian.
    """
    cpds = list(cpds)
    roots = summed_roots(cpds, targets)
    result: list[CPD] = []
    for cpd in cpds:
        if cpd.variable in roots and cpd.variable not in observed:
            continue  # the CPD of its child includes it
        if isinstance(cpd, RootSummingCPD):
            own = {parent: roots[parent] for parent in cpd.parents if parent in roots}
            cpd = cpd.summed(own, observed)
        if isinstance(cpd, NumericCPD):
            cpd.check_observed(observed)
        result.append(cpd)
    return result
