"""Conditionals of a network's features given the class, and tables raised to exponents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import CPD, TableCPD, kernels
from bayesgraph.factors import Evidence, Factor
from bayesgraph.factors.algebra import Floats
from bayesgraph.factors.factor import weighted_log
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete, Name, Variable


def is_found(variable: Variable, evidence: Evidence) -> bool:
    """Tell whether the evidence contains values or likelihoods of a variable."""
    return variable in evidence or variable in evidence.likelihoods


@dataclass(frozen=True, eq=False)
class Conditionals:
    """The terms log p(x_i | observed parents of i, c) of a network, without exponents."""

    network: BayesianNetwork
    target: Discrete

    def logs(self, cpd: CPD, evidence: Evidence) -> Floats | None:
        """Return log p(x_i | observed parents, c) of the CPD's feature, shape (n_rows, n_classes).

        The result is None if the feature is not observed.
        """
        variable = cpd.variable
        above = [p for p in cpd.parents if p != self.target and is_found(p, evidence)]
        if not is_found(variable, evidence):
            return None
        missing = len(above) < len(cpd.parents) - (self.target in cpd.parents)
        soft = any(v in evidence.likelihoods for v in (variable, *above))
        known = np.full(evidence.n_rows, not (soft or missing))
        for parent in above if known.any() else ():
            known &= evidence.observed_rows(parent)
        if not known.any():
            return self._ratio(variable, above, evidence)
        columns = {v: evidence.columns[v] for v in (*above, variable)}
        if known.all():
            return self._local(cpd, Evidence(evidence.n_rows, columns))
        found = np.empty((evidence.n_rows, self.target.cardinality))
        rows, others = np.flatnonzero(known), np.flatnonzero(~known)
        some = {v: column[rows] for v, column in columns.items()}
        found[rows] = self._local(cpd, Evidence(len(rows), some))
        found[others] = self._ratio(variable, above, evidence.rows(others))
        return found

    def _local(self, cpd: CPD, evidence: Evidence) -> Floats:
        potential = cpd.potential(evidence)
        assert isinstance(potential, Factor)  # only the class is free
        return np.broadcast_to(
            potential.aligned([self.target]), (evidence.n_rows, self.target.cardinality)
        )

    def _ratio(self, variable: Variable, above: Sequence[Variable], evidence: Evidence) -> Floats:
        """Return log p(x_i, x_S | c) - log p(x_S | c) by inference in the network.

        S are the observed parents, given as `above`.
        """
        with_it = self._joint([*above, variable], evidence)
        without = self._joint(above, evidence)
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(with_it), -np.inf, with_it - without)

    def _joint(self, variables: Sequence[Variable], evidence: Evidence) -> Floats:
        columns = {v: evidence.columns[v] for v in variables if v in evidence}
        soft = {v: logs for v, logs in evidence.likelihoods.items() if v in variables}
        given = Evidence(evidence.n_rows, columns, soft)
        return self.network.log_posterior_rows(self.target, given)


@dataclass(frozen=True, eq=False)
class PoweredTables:
    """Tables whose only parent is the class variable, raised to exponents, for a compiled kernel.

    Attributes
    ----------
    place : dict from Discrete to int
        Index of each feature, in the order of the network.
    start : ndarray, shape (n_features,)
        Row of `table` at which the states of each feature start.
    table : ndarray, shape (states of all features, classes rounded up to a multiple of 4)
        Exponent times log probability, as :func:`bayesgraph.cpds.kernels.add_states` takes it.
    """

    place: dict[Discrete, int]
    start: NDArray[np.int64]
    table: Floats

    @classmethod
    def of(
        cls, network: BayesianNetwork, target: Discrete, exponents: Mapping[Name, Floats]
    ) -> PoweredTables:
        """Return the tables of a network's features, raised to the features' exponents."""
        cpds = [c for c in network.cpds if isinstance(c, TableCPD) and c.parents == (target,)]
        logs = [np.empty((target.cardinality, 0))]
        logs += [weighted_log(c.log_values, exponents[c.variable.name][..., None]) for c in cpds]
        start = np.cumsum([table.shape[1] for table in logs], dtype=np.int64)[:-1]
        table = kernels.padded_rows(np.concatenate(logs, axis=1))
        return cls({c.variable: i for i, c in enumerate(cpds)}, start, table)

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add exponent times log p(x_i | c) of all observed features to `out`.

        `out` has the shape (n_classes, n_rows).
        """
        seen = tuple(v for v in self.place if v in evidence)
        if seen:
            start = self.start[[self.place[v] for v in seen]]
            kernels.add_states(out, evidence.matrix(seen), start, self.table)
