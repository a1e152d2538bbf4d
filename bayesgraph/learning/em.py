"""Expectation-maximisation (EM): parameters from missing data and with hidden variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from bayesgraph.core.arrays import Floats, joint_states, random_generator, whole_number
from bayesgraph.core.display import rounded
from bayesgraph.core.errors import DataError, NotConvergedWarning, UnsupportedModelError, warn
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import tree_sum
from bayesgraph.core.variables import Continuous, Discrete, Variable, parents_first
from bayesgraph.inference import Calibration, Factor
from bayesgraph.learning.parameters import estimate_network
from bayesgraph.learning.structure import Structure
from bayesgraph.models import BayesianNetwork, TableCPD
from bayesgraph.statistics import (
    CountSource,
    Families,
    FamiliesSummary,
    Family,
    FamilyStatistics,
    RowSource,
    Smoothing,
    Statistics,
    check_cells,
    group_comoments,
)
from bayesgraph.tables import EMHistory, Table

# ----- Expected sufficient statistics of a network from rows with missing values: the E-step of EM
# A family is a child with its parents. Each row is counted in every configuration of a family,
# weighted by the posterior probability of the configuration (Dempster, Laird, Rubin 1977; for
# networks, Lauritzen 1995). If a row misses a variable and all its descendants, the variable does
# not affect the probability of the row, and the family of the variable does not count the row. (EM
# still maximises the likelihood, and occasional missing values of a leaf cost no iterations.)


Parents = Mapping[Variable, Sequence[Variable]]
_Model = TypeVar("_Model", bound=Any)
_Sums = TypeVar("_Sums")

# Minimum number of rows with the same set of missing variables for which this set gets a junction
# forest of its own, and maximum number of such sets. The rows of all other sets share one forest.
_OWN_ROWS = 64
_MAX_PATTERNS = 32
# Maximum number of entries in the messages and clique tables of one block of rows.
_BLOCK_ENTRIES = 2**21
# Maximum number of distinct rows of a discrete dataset that are held in place of its rows.
_DISTINCT_ROWS = 2**17


class Expectation:
    """E-step of EM: computes the expected sufficient statistics of families from rows.

    The rows of a dataset are read anew in each pass, in runs whose statistics are added along the
    binary tree of the runs (see `statistics.blocks`); those of a table in memory are one run. If
    all variables are discrete, rows with the same values are merged, and a dataset that has few
    distinct rows is read once.

    Parameters
    ----------
    parents : mapping from variable to its parents
        Variables that the source does not contain are hidden.
    source : RowSource

    Attributes
    ----------
    families : dict from variable to the Family in which it is the child
    total : float
        Total weight of all rows.
    n_rows : int
        Number of rows that have a weight; of equal discrete rows one counts.

    Raises
    ------
    UnsupportedModelError
        If a continuous variable is missing in a row that observes one of its descendants.
    """

    def __init__(self, parents: Parents, source: RowSource) -> None:
        self.families = {child: Family.of(*above, child) for child, above in parents.items()}
        self._parents, self._source = parents, source
        # Junction forests by the scopes that they calibrate: groups of rows share them.
        self._calibrations: dict[tuple[tuple[Discrete, ...], ...], Calibration] = {}
        self._held = self._all_rows()  # None if the rows are read anew in each pass
        self.total, self.n_rows = 0.0, 0
        check_cells(Families(tuple(self.families.values())))
        # The sums that no iteration changes, those of families without open variables.
        self._fixed = tree_sum(map(self._counted, self._runs()))

    def statistics(self, network: BayesianNetwork) -> tuple[dict[Family, FamilyStatistics], float]:
        """Return the expected statistics of all families, and the log likelihood, under a network.

        A row that has probability zero under the network adds nothing to the families in which it
        has a missing variable. It makes the log likelihood minus infinity.
        """
        # The fixed sums of all runs are added once, to those of the first run.
        expected = tree_sum(
            sum((block.expected(network) for block in blocks), _Expected() if run else self._fixed)
            for run, blocks in enumerate(self._runs())
        )
        # A family has no statistics if no row observes its child or a descendant of it.
        total = {
            family: expected.statistics.get(child) or FamilyStatistics.none(family)
            for child, family in self.families.items()
        }
        return total, expected.log_likelihood

    def _counted(self, blocks: list[_Block]) -> _Expected:
        """Return the sums of families without hidden or missing variables, which are constant.

        The blocks are added to `total` and `n_rows` on the way: the rows may be read only once.
        """
        for block in blocks:
            self.total += float(block.weights.sum())
            self.n_rows += len(block.weights)
        return sum((block.fixed for block in blocks), _Expected())

    def _all_rows(self) -> list[_Block] | None:
        """Return all rows as one run, None if they are too many to be held."""
        rows: tuple[Table, Floats] | None = None
        for _, run in self._read():
            rows = run if rows is None else _merged(rows, run)
            are_few = not rows[0].continuous and rows[0].n_rows <= _DISTINCT_ROWS
            if not (are_few or self._source.in_memory):
                return None
        assert rows is not None  # there are some
        return self._blocks_of_run(*rows)

    def _runs(self) -> Iterator[list[_Block]]:
        """Yield the rows whose statistics are computed together, in blocks."""
        if self._held is not None:
            yield self._held
            return
        for first, (table, weights) in self._read():
            yield self._blocks_of_run(table, weights, first)

    def _read(self) -> Iterator[tuple[int, tuple[Table, Floats]]]:
        """Yield the number of the first row of each run, and its rows with weights, merged."""
        first = 0
        for table, weights in self._source.blocks():
            yield first, _merged((table, weights if len(weights) else np.ones(table.n_rows)))
            first += table.n_rows

    def _blocks_of_run(self, table: Table, weights: Floats, first: int = 0) -> list[_Block]:
        """Return the rows of a run, in blocks of rows in which the same variables are missing.

        `first` is the number of the run's first row, for the message of an UnsupportedModelError.
        """
        kept = np.flatnonzero(weights)
        if len(kept) < len(weights):  # rows of weight 0 take no part, not even if they cannot be
            table, weights = table.rows(weights > 0), weights[kept]
        relevant = _relevant_rows(self._parents, table)
        for v in table.continuous:
            missing = relevant[v] & ~table.evidence().observed_rows(v)
            if missing.any():
                raise UnsupportedModelError(
                    f"{v.name!r} is continuous and missing in row "
                    f"{first + int(kept[np.argmax(missing)])}, where something that depends on "
                    "it is observed. missing='em' completes discrete variables, and continuous "
                    "ones that nothing observed depends on; leave such rows out, discretise the "
                    "column, or use missing='available'."
                )
        evidence = table.evidence()
        blocks = []
        for rows, free in _groups(self._parents, table):
            # `free` are the variables that are hidden, or missing in some of the group's rows.
            columns = {v: column for v, column in evidence.columns.items() if v not in free}
            families = {v: family for v, family in self.families.items() if relevant[v][rows].any()}
            scopes = {
                v: tuple(d for d in family.discrete if d in free) for v, family in families.items()
            }
            # Open variables that some rows of the group observe: a value there is a likelihood,
            # which is 1 at the observed state.
            soft = [v for v in free if v in evidence and v in families]
            cliques = (*(scope for scope in scopes.values() if scope), *((v,) for v in soft))
            calibration, entries = None, 1.0  # entries of messages and clique tables in a row
            if cliques:
                calibration = self._calibrations.setdefault(cliques, Calibration(cliques))
                entries = max(calibration.entries, 1.0)
            # Blocks bound the memory of a junction tree's messages.
            size = max(1, int(min(len(rows), _BLOCK_ENTRIES / entries)))
            for start in range(0, len(rows), size):
                at = rows[start : start + size]
                block = _Block(
                    families,
                    Evidence(len(at), {v: column[at] for v, column in columns.items()}),
                    {v: evidence.columns[v][at] for v in soft},
                    weights[at],
                    {v: relevant[v][at] for v in families},
                    scopes,
                    calibration,
                )
                blocks.append(block)
        return blocks


@dataclass(frozen=True)
class _Expected:
    """Expected statistics of the families of some children, and the log likelihood, of some rows.

    Their sum is that of the rows together.
    """

    statistics: Mapping[Variable, FamilyStatistics] = field(default_factory=dict)
    log_likelihood: float = 0.0

    def __add__(self, other: _Expected) -> _Expected:
        mine, theirs = self.statistics, other.statistics
        sums = {child: mine[child] + theirs[child] for child in mine if child in theirs}
        return _Expected({**mine, **theirs, **sums}, self.log_likelihood + other.log_likelihood)


def _relevant_rows(parents: Parents, table: Table) -> dict[Variable, NDArray[np.bool_]]:
    """Return for each variable a mask of the rows that observe it or one of its descendants."""
    evidence = table.evidence()
    relevant = {
        v: evidence.observed_rows(v) if v in evidence else np.zeros(table.n_rows, dtype=bool)
        for v in parents
    }
    by_name = {v.name: v for v in parents}
    order = parents_first({v.name: [p.name for p in above] for v, above in parents.items()})
    assert order is not None  # structures are acyclic
    # Children first, so that a row that tells of a variable tells of all its ancestors.
    for name in reversed(order):
        for parent in parents[by_name[name]]:
            relevant[parent] = relevant[parent] | relevant[by_name[name]]
    return relevant


def _merged(*runs: tuple[Table, Floats]) -> tuple[Table, Floats]:
    """Return the distinct rows of discrete runs and the weight of each.

    A single run with continuous columns is returned as it is; there are not several of these.
    """
    tables, weights = zip(*runs, strict=True)
    if tables[0].continuous:
        return runs[0]
    codes = np.concatenate([table.codes for table in tables])
    # The distinct rows, and the place of each row among them.
    codes, inverse = np.unique(codes, axis=0, return_inverse=True)
    total = np.bincount(inverse.reshape(-1), np.concatenate(weights), len(codes))
    complete = all(table.complete for table in tables)
    table = Table(
        tables[0].variables, np.asfortranarray(codes), np.empty((len(codes), 0)), complete
    )
    return table, total.astype(np.float64)


def _groups(
    parents: Parents, table: Table
) -> Iterator[tuple[NDArray[np.intp], tuple[Discrete, ...]]]:
    """Yield groups of rows: row indices, and the discrete variables hidden or missing there.

    Rows are grouped by their set of observed variables. Rows with rare sets form one last group; a
    variable counts as missing in this group if at least one row misses it. Hidden variables are
    missing in all groups. Missing variables without children are ignored, as no other variable
    depends on them.
    """
    with_children = {p for above in parents.values() for p in above}
    columns = [v for v in table.discrete if v in with_children]
    hidden = tuple(v for v in parents if isinstance(v, Discrete) and v not in table.discrete)
    if not columns:
        yield np.arange(table.n_rows), hidden
        return
    observed = np.stack([table.column(v) >= 0 for v in columns], axis=1)
    # The distinct sets of observed variables, the index of each row's set, and the rows of each.
    patterns, pattern, counts = np.unique(observed, axis=0, return_inverse=True, return_counts=True)
    pattern = pattern.reshape(-1)  # some versions of NumPy return a column
    most_frequent = np.argsort(-counts, kind="stable")[:_MAX_PATTERNS]
    # The last group takes the rows of all other sets; a single set needs none.
    frequent = [int(k) for k in most_frequent if counts[k] >= _OWN_ROWS or len(patterns) == 1]
    # The index of each row's set, or -1 in the last group, of the rare sets.
    group = np.where(np.isin(pattern, frequent), pattern, -1)
    for k in (*frequent, -1):
        rows = np.flatnonzero(group == k)
        if len(rows):
            missing = (v for j, v in enumerate(columns) if not observed[rows, j].all())
            yield rows, (*hidden, *missing)


@dataclass(frozen=True, eq=False)
class _Block:
    """A block of rows, and its open variables: hidden, or missing in some rows of the block.

    Attributes
    ----------
    families : dict from child to Family
        The families for which at least one row is relevant.
    evidence : Evidence
        Columns of the variables that are not open. Only variables without children have missing
        values in these columns.
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
    def _likelihoods(self) -> list[Factor]:
        """For each variable of `soft` a factor that is 1 at the states that a row may have."""
        factors = []
        for variable, codes in self.soft.items():
            # Shape (n_rows, n_states); a row that misses the variable may have any state.
            possible = (codes[:, None] < 0) | (codes[:, None] == np.arange(variable.cardinality))
            factors.append(Factor.from_log((variable,), np.where(possible, 0.0, -np.inf)))
        return factors

    @cached_property
    def fixed(self) -> _Expected:
        """Statistics of families without open (hidden or missing) variables; constant in EM."""
        one = np.ones((self.evidence.n_rows, 1))
        return _Expected(
            {c: self._collected(c, one) for c, open_ in self.scopes.items() if not open_}
        )

    def expected(self, network: BayesianNetwork) -> _Expected:
        """Return expected statistics of families with open (hidden or missing) variables."""
        n_rows = self.evidence.n_rows
        # The log probability of what is observed in each row.
        log_mass = np.zeros(n_rows)
        factors: dict[Variable, Factor] = {}
        for child, scope in self.scopes.items():
            factor = network[child.name].potential(self.evidence)
            assert isinstance(factor, Factor)  # continuous: observed, or a missing leaf
            # A factor without open variables is a number in each row.
            if scope:
                factors[child] = factor
            else:
                log_mass = log_mass + factor.log_values
        statistics = {}
        if self.calibration is not None:
            posteriors, mass = self.calibration.posteriors([*factors.values(), *self._likelihoods])
            # The posteriors of the families come first; those of `soft` are not needed.
            for child, posterior in zip(factors, posteriors, strict=False):
                # The first axis has length 1 if all rows have the same posterior.
                of_rows = np.broadcast_to(posterior, (n_rows, *posterior.shape[1:]))
                statistics[child] = self._collected(child, of_rows.reshape(n_rows, -1))
            log_mass = log_mass + mass
        return _Expected(statistics, float(self.weights @ log_mass))

    def _collected(self, child: Variable, posterior: Floats) -> FamilyStatistics:
        """Return the statistics of a family; the posterior of its open variables weights the rows.

        Parameters
        ----------
        child : Variable
            The child of the family.
        posterior : ndarray, shape (n_rows, n_configurations of the open variables)
            All ones, with one configuration, for a family without open variables.
        """
        family, scope = self.families[child], self.scopes[child]
        weights = np.where(self.relevant[child], self.weights, 0.0)
        return weighted_statistics(family, scope, self.evidence.columns, weights, posterior)


def weighted_statistics(
    family: Family,
    scope: Sequence[Discrete],
    columns: Mapping[Variable, NDArray[Any]],
    weights: Floats,
    posterior: Floats,
) -> FamilyStatistics:
    """Return the statistics of a family, some of whose discrete variables are open.

    Parameters
    ----------
    family : Family
    scope : sequence of Discrete
        The open variables.
    columns : mapping from variable to array of shape (n_rows,)
        Those of the others; where one is missing the weight is zero.
    weights : ndarray, shape (n_rows,)
    posterior : ndarray, shape (n_rows, n_configurations of the open variables)
    """
    observed = tuple(v for v in family.discrete if v not in scope)
    axes = (*observed, *scope)
    n_rows, n_open = posterior.shape
    cards = [v.cardinality for v in observed]
    n_observed = math.prod(cards)
    size = n_observed * n_open
    # The configuration of the observed variables in each row; a missing value counts as state 0.
    index = joint_states([np.maximum(columns[v], 0) for v in observed], cards, n_rows)
    if family.continuous:
        values = np.stack([columns[v] for v in family.continuous], axis=1)
        # A row counts once for each configuration of the open variables that it may have.
        share = weights[:, None] * posterior
        row, configuration = np.nonzero(share)
        group = index[row] * n_open + configuration
        sums = group_comoments(values[row], group, size, share[row, configuration])
    else:
        # The sums of the posteriors of the rows with the same observed configuration.
        tables = [np.bincount(index, weights * share, n_observed) for share in posterior.T]
        sums = np.stack(tables, axis=1), np.empty((size, 0)), np.empty((size, 0, 0))
    # From the axes of the observed and then the open variables to those of the family. Axes k and
    # k + 1 are those of the n continuous variables.
    shape = tuple(v.cardinality for v in axes)
    order = [axes.index(v) for v in family.discrete]
    counts, mean, comoment = sums
    k, n = len(order), len(family.continuous)
    return FamilyStatistics(
        counts.reshape(shape).transpose(order),
        mean.reshape((*shape, n)).transpose((*order, k)),
        comoment.reshape((*shape, n, n)).transpose((*order, k, k + 1)),
    )


# ----------- Expectation-maximisation (EM): parameters from missing data and with hidden variables


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
        whole_number("restarts=", "starts", self.restarts, 1)
        whole_number("max_iter=", "iterations", self.max_iter, 1)
        if not (isinstance(self.tol, (int, float, np.number)) and 0 <= self.tol < np.inf):
            raise DataError(f"tol takes a finite number that is not negative; got {self.tol!r}.")


def best_climb(
    start: Callable[[int], tuple[_Model, EMHistory]], iterations: Iterations
) -> tuple[_Model, EMHistory]:
    """Return the model and the history of the best of several starts of EM.

    `start` runs EM from the start of a given number, 0 for the first.
    """
    ends = [start(k) for k in range(iterations.restarts)]
    last = [history.objective[-1] for _, history in ends]
    model, history = ends[int(np.argmax(last))]
    if not history.converged:
        gain = history.objective[-1] - history.objective[-2]
        warn(
            f"EM still gained {rounded(gain, 3)} nats in iteration {history.n_iter}, its last; "
            "give max_iter a larger number, or tol.",
            NotConvergedWarning,
        )
    return model, replace(history, restarts=tuple(last))


def climb(
    model: _Model,
    expected: Callable[[_Model], tuple[_Sums, float]],
    estimated: Callable[[_Sums, Smoothing], _Model],
    smoothing: Smoothing,
    iterations: Iterations,
    total: float,
) -> tuple[_Model, EMHistory]:
    """Run EM from a model; return the fitted one and the history of the run.

    Parameters
    ----------
    model : model with CPDs
    expected : callable
        Returns expected statistics and the log likelihood under a model.
    estimated : callable
        Returns the model that statistics give.
    smoothing : Smoothing
    iterations : Iterations
    total : float
        Weight of all rows.
    """
    objective: list[float] = []
    while True:
        statistics, log_likelihood = expected(model)
        tables = [cpd for cpd in model.cpds if isinstance(cpd, TableCPD)]
        # The unnormalised log densities of the Dirichlet priors.
        priors = [xlogy(smoothing.state_counts(t.variable), t.values).sum() for t in tables]
        objective.append(log_likelihood + float(sum(priors)))
        gain = np.inf if len(objective) < 2 else objective[-1] - objective[-2]
        converged = gain <= iterations.tol * total
        # The first objective is that of the initial model, before any iteration.
        if converged or len(objective) > iterations.max_iter:
            return model, EMHistory(tuple(objective), log_likelihood, bool(converged), ())
        model = estimated(statistics, smoothing)


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
    network, history = best_climb(
        lambda k: problem.climb(random, iterations, first=k == 0), iterations
    )
    for block in network._blocks:
        # Expected counts say more than the rows do: what was missing counts as observed.
        block.parameter_posterior = None
    return BayesianNetwork(
        network._blocks,
        arc_scores=network.arc_scores,
        order=network.variables,
        history=history,
    )


class _Problem:
    """Input that all random starts of EM share: rows, families (child and parents), priors."""

    def __init__(self, structure: Structure, source: RowSource, smoothing: Smoothing) -> None:
        self._structure = structure
        self._source = source
        self._smoothing = smoothing
        self._hidden = frozenset(v for v in structure.variables if v not in source.variables)
        self._expectation = Expectation(structure.parents(), source)
        self._families = tuple(self._expectation.families.values())
        # Statistics of single continuous columns: estimates of Gaussians need the total variances.
        self._numbers = [v for v in source.variables if isinstance(v, Continuous)]
        alone = [Family((), (v,)) for v in self._numbers]
        # From the rows: these, and the statistics of each family without its hidden variables.
        self._of_rows = source.families([*alone, *map(self._observed, self._families)])
        self._of_numbers = {family: self._of_rows[family] for family in alone}

    def _observed(self, family: Family) -> Family:
        """Return a family (child and parents) without its hidden variables."""
        return Family(tuple(v for v in family.discrete if v not in self._hidden), family.continuous)

    def climb(
        self, random: np.random.Generator, iterations: Iterations, *, first: bool
    ) -> tuple[BayesianNetwork, EMHistory]:
        """Run EM from one random start; return the fitted network and the history of the run.

        `first` marks the first start, which is less random; see `_drawn`.
        """
        # Without a pseudo-count a probability of zero would stay zero for ever.
        smooth = replace(self._smoothing, alpha=1.0)
        network = self._estimated(self._drawn(random, first=first), smooth)
        expected, total = self._expectation.statistics, self._expectation.total
        return climb(network, expected, self._estimated, self._smoothing, iterations, total)

    def _estimated(
        self, statistics: Mapping[Family, FamilyStatistics], smoothing: Smoothing
    ) -> BayesianNetwork:
        """Return the network with the parameters that some statistics of its families give."""
        by_family = {**statistics, **self._of_numbers}
        request = Families(tuple(by_family))
        summary = FamiliesSummary(request, tuple(by_family.values()))
        source = CountSource(self._structure.variables, None, Statistics({request: summary}))
        # Expected counts have no missing values.
        return estimate_network(self._structure, source, smoothing, complete=True)

    def _drawn(self, random: np.random.Generator, *, first: bool) -> dict[Family, FamilyStatistics]:
        """Return the random initial statistics of one start of EM.

        The rows that observe a family are distributed at random over the states of its hidden
        variables. The statistics of a family without hidden variables are those of the rows if
        `first` is true; in other starts they are perturbed at random.
        """
        # For each hidden variable, the index of a random row for each of its states, among the rows
        # that have a weight.
        rows = {
            v: random.integers(self._expectation.n_rows, size=v.cardinality)
            for family in self._families
            for v in family.discrete
            if v in self._hidden
        }
        # The continuous columns of these rows, (n_states, n_numbers) for each hidden variable.
        centres = {h: np.empty((len(drawn), len(self._numbers))) for h, drawn in rows.items()}
        begin = 0
        for table, weights in self._source.blocks() if rows else ():
            values = table.values[weights > 0] if len(weights) else table.values
            for hidden, drawn in rows.items():
                inside = (drawn >= begin) & (drawn < begin + len(values))
                centres[hidden][inside] = values[drawn[inside] - begin]
            begin += len(values)
        return {family: self._family(family, centres, random, first) for family in self._families}

    def _family(
        self,
        family: Family,
        centres: Mapping[Discrete, Floats],
        random: np.random.Generator,
        first: bool,
    ) -> FamilyStatistics:
        """Return the initial statistics of a family.

        Each state of a hidden variable has the numbers of one row, those in `centres`, shape
        (n_states, n_numbers), in all families, so that it starts as a cluster around this row. Of
        several hidden variables they are averaged; where they are missing, the mean is that of all.
        """
        observed = self._of_rows[self._observed(family)]
        unseen = [axis for axis, v in enumerate(family.discrete) if v in self._hidden]
        if not unseen and first:
            return observed
        cards = tuple(v.cardinality for v in family.discrete)
        # Over the hidden states the shares sum to one; without hidden variables their mean is one.
        share = _MIN_SHARE + random.exponential(size=cards)
        share /= share.sum(axis=tuple(unseen), keepdims=True) if unseen else share.mean()
        # Hidden variables have axes of length 1 at first.
        counts, mean, comoment = (
            np.expand_dims(a, tuple(unseen))
            for a in (observed.counts, observed.mean, observed.comoment)
        )
        mean = np.broadcast_to(mean, (*cards, len(family.continuous)))
        if unseen and family.continuous:
            total = np.zeros(mean.shape)
            columns = [self._numbers.index(v) for v in family.continuous]
            # Sums over the hidden variables of the numbers of their states.
            for axis in unseen:
                others = tuple(i for i in range(len(cards)) if i != axis)
                of_states = centres[family.discrete[axis]][:, columns]
                # The states lie along `axis`, the numbers along the last one.
                total += np.expand_dims(of_states, others)
            mean = np.where(np.isnan(total), mean, total / len(unseen))
        comoment = comoment * share[..., None, None]
        return FamilyStatistics(counts * share, mean, comoment)
