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

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import UnsupportedModelError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import BYTES, default_memory_limit, memory_error
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.inference import Factor
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.table import TableCPD

# ----------------------------------------------- The place of a variable that an intervention sets


class SetCPD(CPD):
    """A variable without parents that is set from outside: each value has the potential 1.

    It stands in networks whose queries set the variable, so that it is always observed; compiled
    tables leave it out.
    """

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.parents = ()

    def potential(self, evidence: Evidence) -> Factor:
        """Return 1 for each row; see CPD.

        Raises
        ------
        UnsupportedModelError
            If the variable is not observed.
        """
        if self.variable not in evidence:
            raise UnsupportedModelError(
                f"{self.variable.name!r} is set by an intervention and has no distribution; name "
                "its value in do=."
            )
        return Factor.from_log((), np.zeros(evidence.n_rows))


# ----------------- Conditional distributions that sum out their unobserved root parents themselves


# Maximum number of joint states of parents of a table in place of the splits.
_MAX_CELLS = 2**18


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

    @property
    def sliceable(self) -> bool:
        """False: the splits name states of parents. See CPD."""
        return False

    def with_parents_set(self, values: Mapping[Variable, Any]) -> CPD:
        """Return the table given values of some parents, if all others are discrete; see CPD."""
        known = [parent for parent in self.parents if parent in values]
        rest = [p for p in self.discrete_parents if p not in values]
        cells = math.prod([parent.cardinality for parent in rest])
        alone = len(known) + len(rest) == len(self.parents)
        if not known or not alone or not isinstance(self.variable, Discrete) or cells > _MAX_CELLS:
            return super().with_parents_set(values)
        found = self.potential(Evidence(1, {v: np.array([values[v]]) for v in known}))
        assert isinstance(found, Factor)  # only discrete variables are free
        return TableCPD(self.variable, np.exp(found.aligned([*rest, self.variable])[0]), rest)

    __hash__ = None


class RootsSummed(NumericCPD):
    """A CPD of splits that takes both branches of a split where a root parent is missing.

    Parameters
    ----------
    source : RootSummingCPD
        The CPD, of a discrete child.
    parents : sequence of Variable
        The parents of `source`, without parents that are summed out in all rows.
    share : ndarray, shape (2, n_nodes)
        Weights of the left and of the right branch at splits on the parents that are summed out, or
        their logarithms, else NaN.
    """

    variable: Discrete

    def __init__(self, source: RootSummingCPD, parents: Sequence[Variable], share: Floats) -> None:
        assert isinstance(source.variable, Discrete)  # the states are those of leaves
        self.source = source
        self.variable = source.variable
        self.parents = tuple(parents)
        self._share = share

    @property
    def n_parameters(self) -> int:
        """The number of free parameters of the original CPD."""
        return self.source.n_parameters

    def potential(self, evidence: Evidence) -> Factor:
        """Return the potential, with some root parents summed out where missing; see CPD."""
        free = [p for p in self.discrete_parents if p not in evidence]
        cards = [p.cardinality for p in free]
        n_rows = evidence.n_rows if any(v in evidence for v in self.scope) else 1
        cells = 1 if self.variable in evidence else self.variable.cardinality
        entries = math.prod(cards) * cells * n_rows
        if BYTES * entries > default_memory_limit():
            raise memory_error("a table", entries, len(cards), default_memory_limit())
        out = np.zeros((*cards, cells, n_rows))
        for codes in np.ndindex(*cards):
            self._add(out[codes], evidence, dict(zip(free, codes, strict=True)), n_rows)
        rows_first = np.moveaxis(out, -1, 0)
        if self.variable in evidence:
            return Factor.from_log(free, rows_first[..., 0])
        return Factor.from_log([*free, self.variable], rows_first)

    def accumulate(self, evidence: Evidence, scope: Sequence[Discrete], out: Floats) -> None:
        """Add the log potential to `out`; see CPD."""
        if not evidence.has_all(self.discrete_parents):
            super().accumulate(evidence, scope, out)
            return
        self._add(out, evidence, {}, evidence.n_rows)

    @abstractmethod
    def _add(
        self, out: Floats, evidence: Evidence, codes: Mapping[Discrete, int], n_rows: int
    ) -> None:
        """Add the log potential to `out`, (n_states, n_rows), or (1, n_rows) for a known child.

        `codes` has the states of the free parents.
        """

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, type(self))
            and self.source == other.source
            and self.parents == other.parents
            and np.array_equal(self._share, other._share, equal_nan=True)
        )

    __hash__ = None

    @property
    def title(self) -> str:
        """The title of the original CPD."""
        return self.source.title


def state_probabilities(root: CPD) -> Floats:
    """Return the prior probabilities of a discrete root, shape (n_states,), from its CPD."""
    potential = root.potential(Evidence(1, {}))
    assert isinstance(potential, Factor)  # the root is discrete
    return np.asarray(np.exp(potential.log_values[0]))


def summed_roots(cpds: Iterable[CPD], targets: Collection[Variable]) -> dict[Variable, CPD]:
    """Return the root variables that the CPD of their only child can sum out.

    The result is a mapping from each of these variables to the variable's own CPD.

    Parameters
    ----------
    cpds : iterable of CPD
        The CPDs relevant to a query, including the CPDs of all ancestors.
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
        if not own[parent].parents
        and n_children[parent] == 1
        and parent not in targets
        and not isinstance(own[parent], SetCPD)  # it is observed in all rows
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
