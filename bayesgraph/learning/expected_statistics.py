"""Expected sufficient statistics of the families of a network, given rows with missing values.

This is the E-step of EM (Dempster, Laird, Rubin 1977; for networks, Lauritzen 1995): each row is
counted in every configuration of a family, weighted by the posterior probability of the
configuration. A variable that is missing together with all its descendants does not affect the
probability of a row, so that its family does not count that row. (EM still maximises the
likelihood, and occasional missing values of a leaf cost no iterations.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesgraph.encoding import Table
from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors import Evidence, Factor
from bayesgraph.factors.algebra import Floats
from bayesgraph.graph import parents_first
from bayesgraph.inference.calibration import Calibration
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.statistics import Family, FamilyStatistics
from bayesgraph.statistics.comoments import group_comoments
from bayesgraph.variables import Discrete, Variable

Parents = Mapping[Variable, Sequence[Variable]]

# Minimum number of rows with the same set of missing variables for which this set gets a junction
# forest of its own, and maximum number of such sets.
_OWN_ROWS = 64
_MAX_PATTERNS = 32
# Maximum number of entries in the messages and clique tables of one block of rows.
_BLOCK_ENTRIES = 2**21


class Expectation:
    """The E-step for the rows of a table.

    Parameters
    ----------
    parents : mapping from variable to its parents
        Variables that the table does not contain are hidden.
    table : Table
    weights : ndarray, shape (n_rows,) or (0,)
        If empty, every row has weight 1.

    Attributes
    ----------
    families : dict from variable to the Family in which it is the child

    Raises
    ------
    UnsupportedModelError
        If a continuous variable is missing in a row that observes one of its descendants.
    """

    def __init__(self, parents: Parents, table: Table, weights: Floats) -> None:
        weights = weights if len(weights) else np.ones(table.n_rows)
        if not table.continuous:
            table, weights = _distinct(table, weights)
        self.families = {child: Family.of(*above, child) for child, above in parents.items()}
        relevant = _relevant(parents, table)
        self._blocks = [
            block
            for rows, free in _groups(parents, table)
            for block in _blocks(self.families, table, weights, relevant, rows, free)
        ]
        self._fixed = {
            child: _sum(block.fixed[child] for block in self._blocks if child in block.fixed)
            for child in parents
        }

    def statistics(self, network: BayesianNetwork) -> tuple[dict[Family, FamilyStatistics], float]:
        """Return the expected statistics of all families under a network, and its log likelihood.

        A row that has probability zero under the network adds nothing to families of which it
        misses a variable, and makes the log likelihood minus infinity.
        """
        found = {child: [] if s is None else [s] for child, s in self._fixed.items()}
        log_likelihood = 0.0
        for block in self._blocks:
            expected, log_mass = block.expected(network)
            log_likelihood += float(block.weights @ log_mass)
            for child, statistics in expected.items():
                found[child].append(statistics)
        total = {
            self.families[child]: _sum(parts) or _none(self.families[child])
            for child, parts in found.items()
        }
        return total, log_likelihood


def _sum(parts: Iterable[FamilyStatistics]) -> FamilyStatistics | None:
    """Return the sum of several statistics of one family, None if there are none."""
    total: FamilyStatistics | None = None
    for part in parts:
        total = part if total is None else total + part
    return total


def _none(family: Family) -> FamilyStatistics:
    cards = tuple(v.cardinality for v in family.discrete)
    n = len(family.continuous)
    return FamilyStatistics(np.zeros(cards), np.zeros((*cards, n)), np.zeros((*cards, n, n)))


def _distinct(table: Table, weights: Floats) -> tuple[Table, Floats]:
    """Return the distinct rows of a discrete table, and the summed weight of each."""
    codes, inverse = np.unique(table.codes, axis=0, return_inverse=True)
    total: Floats = np.bincount(inverse.reshape(-1), weights, len(codes)).astype(np.float64)
    values = np.empty((len(codes), 0))
    return Table(table.variables, np.asfortranarray(codes), values, table.complete), total


def _relevant(parents: Parents, table: Table) -> dict[Variable, NDArray[np.bool_]]:
    """Return for each variable a mask of the rows that observe it or one of its descendants."""
    evidence = table.evidence()
    relevant = {
        v: evidence.observed_rows(v) if v in evidence else np.zeros(table.n_rows, dtype=bool)
        for v in parents
    }
    by_name = {v.name: v for v in parents}
    order = parents_first({v.name: [p.name for p in above] for v, above in parents.items()})
    assert order is not None  # structures are acyclic
    for name in reversed(order):
        for parent in parents[by_name[name]]:
            relevant[parent] = relevant[parent] | relevant[by_name[name]]
    for v in table.continuous:
        missing = relevant[v] & ~evidence.observed_rows(v)
        if missing.any():
            raise UnsupportedModelError(
                f"{v.name!r} is continuous and missing in row {int(np.argmax(missing))}, where "
                "something that depends on it is observed. missing='em' completes discrete "
                "variables, and continuous ones that nothing observed depends on; leave such rows "
                "out, discretise the column, or use missing='available'."
            )
    return relevant


def _groups(
    parents: Parents, table: Table
) -> Iterator[tuple[NDArray[np.intp], tuple[Discrete, ...]]]:
    """Yield groups of rows, as row indices and the discrete variables missing in the group.

    Rows are grouped by which variables they observe; rare combinations form one last group, whose
    variables are missing in at least one of its rows. Hidden variables are missing in all groups.
    Missing variables without children are ignored, as no other variable depends on them.
    """
    inner = {p for above in parents.values() for p in above}
    asked = [v for v in table.discrete if v in inner]
    hidden = tuple(v for v in parents if isinstance(v, Discrete) and v not in table.discrete)
    if not asked:
        yield np.arange(table.n_rows), hidden
        return
    there = np.stack([table.column(v) >= 0 for v in asked], axis=1)
    patterns, inverse, counts = np.unique(there, axis=0, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(-1)
    order = np.argsort(-counts, kind="stable")[:_MAX_PATTERNS]
    own = [int(k) for k in order if counts[k] >= _OWN_ROWS or len(patterns) == 1]
    for k in own:
        missing = (v for v, seen in zip(asked, patterns[k], strict=True) if not seen)
        yield np.flatnonzero(inverse == k), (*hidden, *missing)
    rest = np.flatnonzero(~np.isin(inverse, own))
    if len(rest):
        partial = (v for k, v in enumerate(asked) if not there[rest, k].all())
        yield rest, (*hidden, *partial)


def _blocks(
    families: Mapping[Variable, Family],
    table: Table,
    weights: Floats,
    relevant: Mapping[Variable, NDArray[np.bool_]],
    rows: NDArray[np.intp],
    free: tuple[Discrete, ...],
) -> Iterator[_Block]:
    """Yield the rows of a group in blocks that bound the memory of the junction tree's messages.

    `rows` has the indices of the group's rows, `free` the variables that are hidden or missing in
    some of them, and `relevant` the masks of `_relevant`.
    """
    evidence = table.evidence()
    columns = {v: column for v, column in evidence.columns.items() if v not in free}
    children = [v for v in families if relevant[v][rows].any()]
    scopes = {v: tuple(d for d in families[v].discrete if d in free) for v in children}
    soft = [v for v in free if v in evidence and v in children]
    asked = [scope for scope in scopes.values() if scope] + [(v,) for v in soft]
    calibration = Calibration(asked) if asked else None
    entries = 1.0 if calibration is None else calibration.entries
    size = max(1, int(min(len(rows), _BLOCK_ENTRIES / max(entries, 1.0))))
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        yield _Block(
            {v: families[v] for v in children},
            Evidence(len(part), {v: column[part] for v, column in columns.items()}),
            {v: evidence.columns[v][part] for v in soft},
            weights[part],
            {v: relevant[v][part] for v in children},
            scopes,
            calibration,
        )


@dataclass(frozen=True, eq=False)
class _Block:
    """A block of rows, and its open variables: hidden, or missing in some rows of the block.

    Attributes
    ----------
    families : dict from child to Family
        The families for which at least one row is relevant.
    evidence : Evidence
        Columns of the variables that are not open. Where values are missing here, the variable is a
        leaf of the network.
    soft : dict from variable to codes, shape (n_rows,)
        Open variables that some rows observe; a code is negative where missing.
    weights : ndarray, shape (n_rows,)
    relevant : dict from child to ndarray of bool, shape (n_rows,)
        Whether each row observes the child or one of its descendants.
    scopes : dict from child to tuple of Discrete
        The open variables of the child's family.
    calibration : Calibration or None
        Junction-tree calibration that returns the posterior of each non-empty scope in `scopes`,
        then of each variable of `soft`.
    """

    families: dict[Variable, Family]
    evidence: Evidence
    soft: dict[Discrete, NDArray[np.integer]]
    weights: Floats
    relevant: dict[Variable, NDArray[np.bool_]]
    scopes: dict[Variable, tuple[Discrete, ...]]
    calibration: Calibration | None

    @cached_property
    def _open(self) -> list[Variable]:
        return [child for child in self.families if self.scopes[child]]

    @cached_property
    def _likelihoods(self) -> list[Factor]:
        found = []
        for variable, codes in self.soft.items():
            possible = (codes[:, None] < 0) | (codes[:, None] == np.arange(variable.cardinality))
            found.append(Factor.from_log((variable,), np.where(possible, 0.0, -np.inf)))
        return found

    @cached_property
    def fixed(self) -> dict[Variable, FamilyStatistics]:
        """Statistics of the families without open variables; they do not depend on parameters."""
        one = np.ones((self.evidence.n_rows, 1))
        return {c: self._collected(c, one) for c in self.families if not self.scopes[c]}

    def expected(self, network: BayesianNetwork) -> tuple[dict[Variable, FamilyStatistics], Floats]:
        """Return expected statistics of families with open variables, and row log likelihoods."""
        log_mass = np.zeros(self.evidence.n_rows)
        factors: list[Factor] = []
        for child in self.families:
            factor = network[child.name].potential(self.evidence)
            assert isinstance(factor, Factor)  # continuous: observed, or a missing leaf
            if self.scopes[child]:
                factors.append(factor)
            else:
                log_mass = log_mass + factor.log_values
        if self.calibration is None:
            return {}, log_mass
        posteriors, mass = self.calibration.posteriors([*factors, *self._likelihoods])
        found = {}
        for child, posterior in zip(self._open, posteriors, strict=False):
            whole = np.broadcast_to(posterior, (self.evidence.n_rows, *posterior.shape[1:]))
            found[child] = self._collected(child, whole.reshape(self.evidence.n_rows, -1))
        return found, log_mass + mass

    def _collected(self, child: Variable, posterior: Floats) -> FamilyStatistics:
        """Return the statistics of a family, with rows weighted by a posterior of open variables.

        Parameters
        ----------
        child : Variable
            The child of the family.
        posterior : ndarray, shape (n_rows, n_configurations of the open variables)
            All ones, with one configuration, for a family without open variables.
        """
        family, scope = self.families[child], self.scopes[child]
        cards = tuple(v.cardinality for v in family.discrete)
        seen = tuple(v for v in family.discrete if v not in scope)
        shape = tuple(v.cardinality for v in (*seen, *scope))
        # Axes of the family as indices of the axes (*seen, *scope).
        order = [(*seen, *scope).index(v) for v in family.discrete]
        weights = np.where(self.relevant[child], self.weights, 0.0)
        index = self._index(seen)
        n_seen = int(np.prod([v.cardinality for v in seen], dtype=np.intp))
        if not family.continuous:
            ones = (weights, (index, np.arange(len(index))))
            counts = csr_array(ones, shape=(n_seen, len(index))) @ posterior
            counts = counts.reshape(shape).transpose(order)
            return FamilyStatistics(counts, np.zeros((*cards, 0)), np.zeros((*cards, 0, 0)))
        values = np.stack([self.evidence.columns[v] for v in family.continuous], axis=1)
        share = weights[:, None] * posterior
        at, configuration = np.nonzero(share)
        group = index[at] * posterior.shape[1] + configuration
        size = n_seen * posterior.shape[1]
        found = group_comoments(values[at], group, size, share[at, configuration])
        counts, mean, comoment = (a.reshape((*shape, *a.shape[1:])) for a in found)
        return FamilyStatistics(
            counts.transpose(order),
            mean.transpose(*order, len(order)),
            comoment.transpose(*order, len(order), len(order) + 1),
        )

    def _index(self, seen: Sequence[Discrete]) -> NDArray[np.intp]:
        """Return the index of each row's configuration of `seen`, with state 0 where missing."""
        index = np.zeros(self.evidence.n_rows, dtype=np.intp)
        for variable in seen:
            index *= variable.cardinality
            index += np.maximum(self.evidence.columns[variable], 0)
        return index
