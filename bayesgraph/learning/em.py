"""Expectation-maximisation (EM): parameters from missing data and with hidden variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from bayesgraph.checks import random_generator
from bayesgraph.cpds import TableCPD
from bayesgraph.display import rounded
from bayesgraph.errors import DataError, NotConvergedWarning, warn
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.expected_statistics import Expectation
from bayesgraph.learning.parameters import estimate_network
from bayesgraph.learning.smoothing import Smoothing
from bayesgraph.learning.structure import Structure
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.models.training import EMHistory
from bayesgraph.statistics import (
    Families,
    Family,
    FamilyStatistics,
    RowSource,
    Statistics,
    StatisticsSource,
)
from bayesgraph.statistics.summaries import FamiliesSummary
from bayesgraph.variables import Continuous, Discrete

# Minimum of the unnormalised random weight of a configuration in the initial statistics of EM.
_MIN_SHARE = 0.1


@dataclass(frozen=True)
class Iterations:
    """Number of random restarts of EM, and the stopping rule of every restart.

    Attributes
    ----------
    restarts : int
        Number of random starts; the network of the highest final objective is kept.
    max_iter : int
        Maximum number of iterations of each start.
    tol : float
        EM stops after an iteration that raises the objective by at most this, in nats per row.
    random_state : int, numpy Generator or None
    """

    restarts: int = 1
    max_iter: int = 1000
    tol: float = 1e-6
    random_state: Any = None

    def __post_init__(self) -> None:
        for name in ("restarts", "max_iter"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise DataError(f"{name} takes a whole number, at least 1; got {value!r}.")
        if not (isinstance(self.tol, (int, float)) and 0 <= self.tol < np.inf):
            raise DataError(f"tol takes a finite number that is not negative; got {self.tol!r}.")


def expectation_maximization(
    structure: Structure, source: RowSource, smoothing: Smoothing, iterations: Iterations
) -> BayesianNetwork:
    """Return a network of the given structure with parameters estimated by EM.

    Each iteration computes the posterior of the missing values of each row (see `Expectation`) and
    re-estimates the parameters from the expected statistics. For tables the estimate ``(N + alpha)
    / sum`` is the mode under Dirichlet priors of parameters alpha + 1 (Dempster, Laird, Rubin 1977,
    section 2). Hence the log likelihood plus alpha times the sum of the logs of all table entries
    never falls; with alpha 0 this is the log likelihood itself. Variances that `shrinkage` draws
    towards the pooled variances maximise no such objective, as the pooled variances depend on the
    rows too: with them the log likelihood may end a little below its maximum.

    Parameters
    ----------
    structure : Structure
        Variables of the structure that the source does not contain are hidden.
    source : RowSource
        The rows of a dataset are read once in each iteration. Their sums are added in another order
        than those of the same rows in memory, so that the results differ by rounding.
    smoothing : Smoothing
        Any scheme but "marginal" and "backoff", under which EM maximises no such objective.
    iterations : Iterations

    Returns
    -------
    BayesianNetwork
        The network, with an EMHistory in its attribute `history`.

    Raises
    ------
    UnsupportedModelError
        If a continuous variable is missing in a row that observes one of its descendants.
    DataError
        If the scheme of the smoothing is "marginal" or "backoff".
    """
    if smoothing.is_hierarchy:
        raise DataError(
            f"EM takes smoothing='dirichlet' or 'm'; got {smoothing.scheme!r}, under which its "
            "estimates maximise nothing."
        )
    problem = _Problem(structure, source, smoothing)
    random = random_generator(iterations.random_state)
    ends = [problem.climb(random, iterations, first=k == 0) for k in range(iterations.restarts)]
    last = [history.objective[-1] for _, history in ends]
    network, history = ends[int(np.argmax(last))]
    if not history.converged:
        gain = history.objective[-1] - history.objective[-2]
        warn(
            f"EM still gained {rounded(gain, 3)} nats in iteration {history.n_iter}, its last; "
            "give max_iter a larger number, or tol.",
            NotConvergedWarning,
        )
    for block in network.blocks:
        # Expected counts say more than the rows do: what was missing counts as observed.
        block.parameter_posterior = None
    return BayesianNetwork(
        network.blocks,
        arc_scores=network.arc_scores,
        order=network.variables,
        history=replace(history, restarts=tuple(last)),
    )


class _Problem:
    """Input that all random starts of EM share: rows, families (child and parents), priors."""

    def __init__(self, structure: Structure, source: RowSource, smoothing: Smoothing) -> None:
        self._structure = structure
        self._source = source
        self._smoothing = smoothing
        self._hidden = frozenset(v for v in structure.variables if v not in source.variables)
        self._expectation = Expectation(structure.parents(), source)
        self._total = self._expectation.total
        self._families = tuple(self._expectation.families.values())
        # Statistics of single continuous columns: estimates of Gaussians need the total variances.
        alone = [Family((), (v,)) for v in source.variables if isinstance(v, Continuous)]
        self._found = source.families([*alone, *map(self._observed, self._families)])
        self._spread = {family: self._found[family] for family in alone}

    def _observed(self, family: Family) -> Family:
        """Return a family (child and parents) without its hidden variables."""
        return Family(tuple(v for v in family.discrete if v not in self._hidden), family.continuous)

    def climb(
        self, random: np.random.Generator, iterations: Iterations, *, first: bool
    ) -> tuple[BayesianNetwork, EMHistory]:
        """Run EM from one random start; return the fitted network and the history of the run.

        `first` marks the first start, which is less random; see `_drawn`.
        """
        smooth = replace(self._smoothing, alpha=1.0)
        network = self._estimated(self._drawn(random, first=first), smooth)
        objective: list[float] = []
        while True:
            statistics, log_likelihood = self._expectation.statistics(network)
            objective.append(log_likelihood + self._log_prior(network))
            gain = np.inf if len(objective) < 2 else objective[-1] - objective[-2]
            converged = gain <= iterations.tol * self._total
            if converged or len(objective) > iterations.max_iter:
                history = EMHistory(tuple(objective), log_likelihood, bool(converged), ())
                return network, history
            network = self._estimated(statistics, self._smoothing)

    def _estimated(
        self, statistics: Mapping[Family, FamilyStatistics], smoothing: Smoothing
    ) -> BayesianNetwork:
        known = {**statistics, **self._spread}
        request = Families(tuple(known))
        summary = FamiliesSummary(request, tuple(known.values()))
        source = StatisticsSource(self._structure.variables, None, Statistics({request: summary}))
        return estimate_network(self._structure, source, smoothing)

    def _log_prior(self, network: BayesianNetwork) -> float:
        """Return the unnormalised log density of the Dirichlet priors of all tables."""
        return float(
            sum(
                xlogy(self._smoothing.state_counts(cpd.variable), cpd.values).sum()
                for cpd in network.cpds
                if isinstance(cpd, TableCPD)
            )
        )

    def _drawn(self, random: np.random.Generator, *, first: bool) -> dict[Family, FamilyStatistics]:
        """Return the random initial statistics of one start of EM.

        The rows that observe a family are distributed at random over the states of its hidden
        variables. The statistics of a family without hidden variables are those of the rows if
        `first` is true; in other starts they are perturbed at random.
        """
        rows = {
            v: random.integers(self._source.n_rows, size=v.cardinality)
            for family in self._families
            for v in family.discrete
            if v in self._hidden
        }
        centre = self._rows_at(rows)
        return {
            family: self._family(family, centre, random, first)
            for family in self._expectation.families.values()
        }

    def _rows_at(self, rows: Mapping[Discrete, Any]) -> dict[Discrete, dict[Continuous, Floats]]:
        """Return the numbers in rows of each hidden variable, given by their numbers."""
        columns = {
            v
            for f in self._families
            for v in f.continuous
            if not self._hidden.isdisjoint(f.discrete)
        }
        found = {h: {v: np.empty(len(at)) for v in columns} for h, at in rows.items()}
        first = 0
        for table, _ in self._source.blocks() if columns else ():
            for hidden, at in rows.items():
                inside = (at >= first) & (at < first + table.n_rows)
                for v in columns:
                    found[hidden][v][inside] = table.column(v)[at[inside] - first]
            first += table.n_rows
        return found

    def _family(
        self,
        family: Family,
        centre: Mapping[Discrete, Mapping[Continuous, Floats]],
        random: np.random.Generator,
        first: bool,
    ) -> FamilyStatistics:
        found = self._found[self._observed(family)]
        unseen = [axis for axis, v in enumerate(family.discrete) if v in self._hidden]
        if not unseen and first:
            return found
        cards = tuple(v.cardinality for v in family.discrete)
        share = _MIN_SHARE + random.exponential(size=cards)
        share /= share.sum(axis=tuple(unseen), keepdims=True) if unseen else share.mean()
        counts, mean, comoment = found.counts, found.mean, found.comoment
        for axis in unseen:
            counts, mean, comoment = (np.expand_dims(a, axis) for a in (counts, mean, comoment))
        mean = np.broadcast_to(mean, (*cards, len(family.continuous)))
        if unseen and family.continuous:
            mean = self._centres(family, unseen, centre, mean)
        comoment = comoment * share[..., None, None]
        return FamilyStatistics(counts * share, mean, comoment)

    def _centres(
        self,
        family: Family,
        unseen: Sequence[int],
        centre: Mapping[Discrete, Mapping[Continuous, Floats]],
        otherwise: Floats,
    ) -> Floats:
        """Return initial means of a continuous child and its parents, some of which are hidden.

        Each state of a hidden variable has the values of one row, drawn at random. All families use
        the same rows, so that each hidden state starts as a cluster around one row.

        Parameters
        ----------
        family : Family
        unseen : sequence of int
            Axes of the hidden variables in the statistics of the family. With several hidden
            variables, the values of the rows of their states are averaged.
        centre : mapping from hidden variable to mapping from column to ndarray, shape (n_states,)
            The numbers in the row drawn for each state.
        otherwise : ndarray
            Means to use where a drawn row has missing values.
        """
        total = np.zeros(otherwise.shape)
        for axis in unseen:
            numbers = centre[family.discrete[axis]]
            values = np.stack([numbers[v] for v in family.continuous], axis=-1)
            lead = [1] * (otherwise.ndim - 1)
            lead[axis] = len(values)
            total = total + values.reshape(*lead, -1)
        mean = total / len(unseen)
        return np.where(np.isnan(mean), otherwise, mean)
