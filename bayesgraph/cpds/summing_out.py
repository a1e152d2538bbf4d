"""Local distributions that sum their free root parents out themselves.

A family such as a tree has no potential that an engine could hold where a continuous parent is
free. But a parent without parents of its own that feeds nothing else, is no target and has no soft
evidence can be summed out where it enters: then only that one family mentions it, so

    sum_z P(z) P(c | z, rest)

replaces both. This module finds such parents from the question alone; the engine gets an ordinary
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
    """A CPD whose continuous variables must be observed: its potential is no Gaussian in them."""

    def check_observed(self, observed: Collection[Variable]) -> None:
        """Raise an UnsupportedModelError that names a continuous variable which is free."""
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
    """A CPD that can sum free root parents out itself."""

    @abstractmethod
    def summed(self, roots: Mapping[Variable, CPD], observed: Collection[Variable]) -> CPD:
        """Return the CPD with some parents summed out wherever a row does not observe them.

        Parameters
        ----------
        roots : mapping from parent to CPD
            Parents without parents of their own, which nothing else mentions, and their CPDs.
        observed : collection of variables
            Observed in some rows at least. The other roots are not parents of the result.
        """

    __hash__ = None


@runtime_checkable
class HasIntervals(Protocol):
    """A continuous distribution without parents that knows the probability of intervals."""

    def interval_probability(self, low: Floats, high: Floats) -> Floats:
        """Return P(low < x <= high), of the shape of both, which may be infinite."""
        ...


def interval_probability(root: CPD, low: Floats, high: Floats) -> Floats:
    """Return the probability of intervals under a continuous root.

    Raises
    ------
    UnsupportedModelError
        For a family that does not know it.
    """
    if not isinstance(root, HasIntervals):
        raise UnsupportedModelError(
            f"{root.title} does not know the probability of an interval, which summing "
            f"{root.variable.name!r} out of a tree takes. Observe it, or use a GaussianCPD or a "
            "HistogramCPD."
        )
    return root.interval_probability(low, high)


def state_probabilities(root: CPD) -> Floats:
    """Return the probabilities of a discrete root, shape (n_states,)."""
    potential = root.potential(Evidence(1, {}))
    assert isinstance(potential, Factor)  # the root is discrete
    return np.asarray(np.exp(potential.log_values[0]))


def summed_roots(cpds: Iterable[CPD], targets: Collection[Variable]) -> dict[Variable, CPD]:
    """Return the roots that are summed out where they enter, wherever they are not observed.

    Parameters
    ----------
    cpds : iterable of CPD
        Those that matter for a question, with all their ancestors.
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
    """Return the CPDs of a question, free roots summed out where they can be.

    Parameters
    ----------
    cpds, targets
        See `summed_roots`.
    observed : collection of variables
        In some rows at least.

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
            continue  # its sum is one
        if isinstance(cpd, RootSummingCPD):
            own = {parent: roots[parent] for parent in cpd.parents if parent in roots}
            cpd = cpd.summed(own, observed)
        if isinstance(cpd, NumericCPD):
            cpd.check_observed(observed)
        result.append(cpd)
    return result
