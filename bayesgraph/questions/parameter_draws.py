"""Answers of many models whose parameters are drawn from their posterior.

Networks of tables run one compiled program on one set of tables after the other. Other models get
one more variable, the number of the draw: the answers of all draws are then those of the rows of a
batch, or of one query prepared once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, betaincinv
from bayesgraph.core.display import Displayed, DisplayTable, more, rounded
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import BYTES, borrow, default_memory_limit, format_bytes, give_back
from bayesgraph.core.variables import Discrete, Name, State, Variable
from bayesgraph.inference import (
    All,
    Calibration,
    Case,
    CompiledTables,
    Factor,
    Joint,
    NumberMixture,
    Posterior,
    Program,
    Relevance,
    agreeing,
    execution_kernels,
    normalised,
    program_of,
)
from bayesgraph.models import (
    CPD,
    BayesianNetwork,
    GaussianCPD,
    Model,
    NetworkMixture,
    PosteriorAverage,
    SetCPD,
    TableCPD,
)
from bayesgraph.statistics import ParameterPosterior, draw_gaussians, draw_probabilities

# --------------------- Posteriors of all parameters of a model, and models of many draws from them


class DrawName:
    """Name of the variable that stands for the number of a draw; each instance is a unique name."""


def refused(model: Model, reason: str) -> errors.UnsupportedModelError:
    """Return the error for a model whose parameters have no posterior."""
    return errors.UnsupportedModelError(
        f"{type(model).__name__} has no credible intervals: {reason} Conformal prediction takes "
        "any classifier: see conformalize and predict_set."
    )


def networks_of(model: Model) -> list[BayesianNetwork]:
    """Return the networks whose parameters a model's answers depend on.

    Raises
    ------
    UnsupportedModelError
        If one of them is no network.
    """
    if isinstance(model, BayesianNetwork):
        return [model]
    if isinstance(model, NetworkMixture | PosteriorAverage):
        return [network for member in model.networks for network in networks_of(member)]
    raise refused(
        model,
        "its exponents or factors have no posterior; only distributions that were estimated by "
        "counting do.",
    )


def check_parameters(model: Model) -> None:
    """Raise an error unless all parameters of a model have a posterior.

    Raises
    ------
    UnsupportedModelError
        The message names the first distribution without one.
    """
    for network in networks_of(model):
        for cpd in network.cpds:
            if not isinstance(cpd, SetCPD):
                if not isinstance(cpd, TableCPD | GaussianCPD):
                    raise refused(model, f"{cpd.title} keeps no posterior of its parameters.")
                posterior = cpd.parameter_posterior
                if posterior is None:
                    raise refused(
                        model,
                        f"{cpd.title} keeps no posterior of its parameters. It was made by hand, "
                        "read from a file of another format, trained to predict, or estimated by "
                        "EM, 'ml' or 'map'; BayesianNetwork.fit and classifiers that count give "
                        "one.",
                    )
                if not (posterior.strength > 0).all():
                    where = np.argwhere(~(posterior.strength > 0))[0]
                    pairs = zip(cpd.discrete_parents, where.tolist(), strict=True)
                    given = ", ".join(f"{v.name}={v.states[code]}" for v, code in pairs)
                    raise refused(
                        model,
                        f"{cpd.title} rests on no rows{' where ' * bool(given)}{given}, and "
                        "smoothing adds none; give alpha or shrinkage a positive value.",
                    )
    if isinstance(model, PosteriorAverage) and model.exponents:
        raise refused(
            model,
            "its exponents have no posterior; an average without exponents, or one of its "
            "`networks`, has.",
        )


def posterior_of(cpd: CPD) -> ParameterPosterior:
    """Return the posterior of the parameters of a CPD that `check_parameters` has checked."""
    assert cpd.parameter_posterior is not None
    return cpd.parameter_posterior


# ------------------------------------------------------------------------ draws of tables alone


def tables_of_draws(
    cpds: Iterable[CPD], n: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """Draw the entries of tables.

    Returns
    -------
    sizes : ndarray of int
        Numbers of entries of the tables.
    draws : ndarray, shape (n, sum of sizes)
        The entries of one table after the other, in C order.
    """
    tables = [cpd for cpd in cpds if isinstance(cpd, TableCPD)]
    if not tables:
        return np.empty(0, dtype=np.int64), np.empty((n, 0))
    means = np.concatenate([cpd.values.ravel() for cpd in tables])
    strengths = [np.ravel(posterior_of(cpd).strength) for cpd in tables]
    cards = np.repeat([cpd.variable.cardinality for cpd in tables], [len(s) for s in strengths])
    draws = draw_probabilities(means, np.concatenate(strengths), cards, n, random)
    return np.array([cpd.values.size for cpd in tables]), draws


# ------------------------------------------------------------------------- draws of any network


def with_draws(model: Model, draw: Discrete, random: np.random.Generator) -> Model:
    """Return a model in which the number of a draw is a parent of everything.

    Given the state i of `draw`, each distribution has the parameters of draw i. Networks that share
    a CPD share its draws.
    """
    drawn: dict[int, CPD] = {}
    return _with_draws(model, draw, partial(_drawn, draw=draw, random=random, known=drawn))


def _with_draws(model: Model, draw: Discrete, drawn: Callable[[CPD], CPD]) -> Model:
    if isinstance(model, BayesianNetwork):
        root = TableCPD(draw, np.full(draw.cardinality, 1.0 / draw.cardinality))
        order = [*model.variables, draw]
        return BayesianNetwork([root, *map(drawn, model.cpds)], order=order)
    assert isinstance(model, NetworkMixture | PosteriorAverage)  # as `networks_of` has checked
    members: list[Any] = [_with_draws(member, draw, drawn) for member in model.networks]
    if isinstance(model, NetworkMixture):
        return NetworkMixture(members, model.weights)
    return model.with_networks(members, model.variables)


def _drawn(cpd: CPD, *, draw: Discrete, random: np.random.Generator, known: dict[int, CPD]) -> CPD:
    if id(cpd) not in known:
        known[id(cpd)] = _draws_of(cpd, draw, random)
    return known[id(cpd)]


def _draws_of(cpd: CPD, draw: Discrete, random: np.random.Generator) -> CPD:
    n = draw.cardinality
    if isinstance(cpd, TableCPD):
        _, draws = tables_of_draws([cpd], n, random)
        shape = (n, *cpd.values.shape)
        return TableCPD.from_checked(cpd.variable, draws.reshape(shape), (draw, *cpd.parents))
    if isinstance(cpd, GaussianCPD):
        mean, variance, coefficients = draw_gaussians(
            cpd.mean, cpd.variance, cpd.coefficients, posterior_of(cpd), n, random
        )
        return GaussianCPD(cpd.variable, mean, variance, (draw, *cpd.parents), coefficients)
    return cpd  # a variable that is set, which has no parameters


# -------------------------- Answers of many models whose parameters are drawn from their posterior


# Maximum number of parameters that are drawn together: those of tables stay in the second-level
# cache; for others a network is made.
_OF_TABLES, _OF_NETWORKS = 2**17, 2**21


def _blocks(n: int, size: int, maximum: int) -> Iterator[int]:
    """Yield numbers of draws that sum to n, each draw of so many numbers."""
    step = max(1, maximum // max(size, 1))
    for start in range(0, n, step):
        yield min(step, n - start)


# ------------------------------------------------------------------------- networks of tables


def table_answers(
    model: BayesianNetwork,
    question: All | Joint,
    case: Case,
    n: int,
    random: np.random.Generator,
    memory_limit: float | None,
) -> Floats:
    """Return the posterior probabilities of n draws, shape (n, number of probabilities).

    They are NaN in draws under which the evidence is impossible.
    """
    compiled = model.compiled
    assert compiled is not None
    program: Program = model.memo.get(
        ("draws", type(question), question, case.pattern),
        lambda: program_of(
            compiled, question, case.pattern, memory_limit=memory_limit, compress=True
        ),
    )
    limit = default_memory_limit() if memory_limit is None else memory_limit
    if BYTES * n * program.n_result > limit:
        raise errors.MemoryLimitError(
            f"{n:,} draws of {program.n_result:,} probabilities take "
            f"{format_bytes(BYTES * n * program.n_result)}; the limit is {format_bytes(limit)}. "
            "Ask for fewer draws, name the targets, or raise memory_limit."
        )
    factors = program.tree.factors
    chosen = np.flatnonzero((factors < len(compiled.tables)) & (program.tree.home >= 0))
    cpds = {cpd.variable.name: cpd for cpd in model.cpds if isinstance(cpd, TableCPD)}
    scopes = compiled.tables.scopes()
    drawn = [cpds[scopes[f][-1].name] for f in factors[chosen].tolist()]
    n_drawn = sum(cpd.values.size for cpd in drawn)
    found = []
    for size in _blocks(n, n_drawn, _OF_TABLES):
        sizes, draws = tables_of_draws(drawn, size, random)
        # The program with lower bounds of products that hold for all draws.
        smallest = np.where(draws > 0.0, draws, 1.0).min(axis=0)
        lows = np.minimum.reduceat(smallest, np.cumsum(sizes) - sizes) if len(sizes) else smallest
        minima = np.zeros_like(program.minima)
        np.add.at(minima, program.tree.home[chosen], np.log2(np.minimum(lows, 1.0)))
        bounded = program._replace(minima=minima, least=min(0.0, float(minima.min(initial=0.0))))
        starts = compiled.tables.arrays.base[factors[chosen]]
        at = np.concatenate([np.arange(s, s + k) for s, k in zip(starts, sizes, strict=True)])
        found.append(_run_all(compiled, bounded, at, draws, case, memory_limit))
    return np.concatenate(found)


def _run_all(
    compiled: CompiledTables,
    program: Program,
    at: Any,
    draws: Floats,
    case: Case,
    memory_limit: float | None,
) -> Floats:
    """Run a program for each draw, with the drawn entries at the places `at` of the tables."""
    results = np.empty((len(draws), program.n_result))
    values = compiled.tables.values.copy()
    code, offsets = (
        program.code,
        compiled.tables.offsets(np.array([*case.hard, *case.hard.values()], dtype=np.int64)),
    )
    # The common case has no more to prepare between two runs than the bounds.
    alike = (
        not case.soft
        and not len(program.halves)
        and program.least >= execution_kernels.MINIMUM_LOG2
    )
    space = borrow(program.n_work if alike else 0)
    for result, draw in zip(results, draws, strict=True):
        values[at] = draw
        status = execution_kernels.TOO_SMALL
        if alike:
            minima = program.minima.copy()
            status, _ = execution_kernels.run(
                code, values, offsets, minima, space, result, 0, len(code), space, 0, False
            )
        if status != execution_kernels.OK:
            own = CompiledTables(compiled.tables.with_values(values))
            run = own.run(program, case, memory_limit)
            result[:] = run.result if run.log_mass > -np.inf else np.nan
            give_back(run.space)
    give_back(space)
    return results


# ---------------------------------------------------------------------------------- any network


def answers(
    model: Model,
    targets: Sequence[tuple[int, ...]],
    case: Case,
    n: int,
    random: np.random.Generator,
    memory_limit: float | None,
) -> list[Floats]:
    """Return for each question the answers of n draws, shape (n, number of numbers).

    Parameters
    ----------
    model : Model
    targets : sequence of tuples of int
        Indices of the target variables of each question.
    case : Case
        The evidence.
    n : int
    random : Generator
    memory_limit : float, optional
    """
    parts: list[list[Floats]] = [[] for _ in targets]
    n_parameters = int(getattr(model, "n_parameters", 1))
    for size in _blocks(n, n_parameters, _OF_NETWORKS):
        draw = Discrete(DrawName(), range(size))
        drawn = with_draws(model, draw, random)
        for part, wanted in zip(parts, targets, strict=True):
            part.append(_answered(model, drawn, draw, wanted, case, memory_limit))
    return [np.concatenate(part) for part in parts]


def _answered(
    model: Model,
    drawn: Model,
    draw: Discrete,
    targets: tuple[int, ...],
    case: Case,
    memory_limit: float | None,
) -> Floats:
    target = model.variables[targets[0]]
    if len(targets) == 1 and isinstance(target, Discrete):
        # Evidence on one case as rows, one for each draw.
        evidence = case.evidence(model.variables)
        n = draw.cardinality
        columns = {v: np.repeat(column, n, axis=0) for v, column in evidence.columns.items()}
        soft = {v: np.repeat(logs, n, axis=0) for v, logs in evidence.likelihoods.items()}
        rows = Evidence(n, {**columns, draw: np.arange(n)}, soft)
        joint = drawn.log_posterior_rows(target, rows)
        joint[np.isneginf(joint.max(axis=1))] = np.nan
        return normalised(joint)
    places = {v: drawn.number[variable.name] for v, variable in enumerate(model.variables)}
    given = case.renumbered(places)
    question = Joint(tuple(places[v] for v in targets))
    found = []
    for i in range(draw.cardinality):
        one = given._replace(hard={**given.hard, drawn.number[draw.name]: i})
        answer = drawn.work(question, one.pattern, memory_limit).run(one, memory_limit)
        found.append(numbers_of(answer))
    return np.array(found)


def numbers_of(answer: Any) -> Floats:
    """Return the numbers of a posterior: probabilities, or mean and standard deviation.

    Raises
    ------
    UnsupportedModelError
        For a joint posterior with continuous variables.
    """
    if isinstance(answer, Posterior):
        return answer.probabilities.ravel()
    if isinstance(answer, NumberMixture) and len(answer.variables) == 1:
        return np.array([answer.mean, answer.std])
    raise errors.UnsupportedModelError(
        "Credible intervals are of discrete variables, also jointly, or of one continuous variable "
        f"at a time; got the answer {type(answer).__name__}."
    )


# ----------------------------------------- Credible intervals of posteriors, which print as tables


_MAX_LINES = 40
# What is estimated of the posterior of a continuous variable.
MOMENTS = ("mean", "sd")


class Interval(NamedTuple):
    """A credible interval of one number.

    Attributes
    ----------
    estimate : float
        The answer of the fitted model.
    low, high : float
        Ends of the interval: as much probability is below it as above.
    sd : float
        Standard deviation of the number over the posterior of the parameters.
    """

    estimate: float
    low: float
    high: float
    sd: float


class Source(NamedTuple):
    """A distribution on which a posterior rests: that of a variable given states of its parents.

    Attributes
    ----------
    name : name
    given : mapping from name of a parent to its state
    rows : float
        Rows with these states from which the distribution was estimated.
    share : float
        Its share of the variance of the posterior, all states together.
    """

    name: Name
    given: Mapping[Name, State]
    rows: float
    share: float


@dataclass(frozen=True, eq=False)
class Spread:
    """Numbers of several posteriors, one after the other, and how uncertain they are.

    Attributes
    ----------
    estimate, mean, low, high, variance : ndarray, shape (n,)
    """

    estimate: Floats
    mean: Floats
    low: Floats
    high: Floats
    variance: Floats

    @classmethod
    def of_draws(cls, estimate: Floats, draws: Floats, coverage: float) -> Spread:
        """Return the spread of draws, shape (n_draws, n)."""
        tails = (1.0 - coverage) / 2.0
        low, high = np.quantile(draws, [tails, 1.0 - tails], axis=0)
        return cls(estimate, draws.mean(axis=0), low, high, draws.var(axis=0))

    def part(self, at: slice) -> Spread:
        """Return the numbers of one posterior."""
        arrays = (self.estimate, self.mean, self.low, self.high, self.variance)
        return Spread(*(values[at] for values in arrays))


class CredibleIntervals(Displayed, Mapping[Any, Interval]):
    """Credible intervals of the probabilities of a posterior: a mapping from state to `Interval`.

    The keys of a joint posterior are tuples of states; those of a continuous variable are "mean"
    and "sd", of its posterior. The interval of each state is one for itself.

    Attributes
    ----------
    variables : tuple of Variable
    coverage : float
        Posterior probability of each interval.
    method : {"draws", "delta"}
    rows : float
        The number of rows from which a single proportion would be known as well: the equivalent
        sample size n for which the states have the variances p (1 - p) / (n + 1) of a Dirichlet
        distribution, or the mean of a number the variance sd² / n. Pseudo-counts of the prior count
        as rows; infinite if nothing is uncertain.
    sources : tuple of Source
        By the delta method for named targets: the distributions that contribute most to the
        variance, at most ten; otherwise empty.
    """

    def __init__(
        self,
        variables: tuple[Variable, ...],
        spread: Spread,
        coverage: float,
        method: str,
        sources: Sequence[Source] = (),
    ) -> None:
        self.variables = variables
        self.coverage = coverage
        self.method = method
        self.sources = tuple(sources)
        self._spread = spread
        # The equivalent sample size of a posterior; see `CredibleIntervals.rows`.
        if self._discrete:
            total = float(np.sum(spread.variance))
            alone, less = float(np.sum(spread.mean * (1.0 - spread.mean))), 1.0
        else:
            total = float(spread.variance[0])
            alone, less = float(spread.estimate[1] ** 2), 0.0
        self.rows = max(alone / total - less, 0.0) if total > 0 else math.inf

    @property
    def _discrete(self) -> bool:
        return isinstance(self.variables[0], Discrete)

    def _place(self, key: Any) -> int:
        if not self._discrete:
            if key not in MOMENTS:
                raise errors.EvidenceError(
                    f"These intervals are of {errors.quoted(MOMENTS)}; got {key!r}."
                )
            return MOMENTS.index(key)
        chosen: list[Any] = [v for v in self.variables if isinstance(v, Discrete)]
        states = (key,) if len(chosen) == 1 else key
        if not isinstance(states, tuple) or len(states) != len(chosen):
            raise errors.EvidenceError(
                f"These are intervals of {errors.quoted(v.name for v in chosen)}: their keys are "
                f"tuples of {len(chosen)} states; got {key!r}."
            )
        codes = [v.index(state) for v, state in zip(chosen, states, strict=True)]
        return int(np.ravel_multi_index(codes, [v.cardinality for v in chosen]))

    def __getitem__(self, key: Any) -> Interval:
        spread, at = self._spread, self._place(key)
        values = (spread.estimate, spread.low, spread.high, np.sqrt(spread.variance))
        return Interval(*(float(array[at]) for array in values))

    def __contains__(self, key: object) -> bool:
        try:
            self._place(key)
        except errors.EvidenceError:
            return False
        return True

    def __iter__(self) -> Iterator[Any]:
        if not self._discrete:
            return iter(MOMENTS)
        states = [v.states for v in self.variables if isinstance(v, Discrete)]
        return iter(states[0]) if len(states) == 1 else itertools.product(*states)

    def __len__(self) -> int:
        return len(self._spread.estimate)

    @property
    def names(self) -> tuple[Name, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    def _display(self) -> DisplayTable:
        text = "{:.4f}".format if self._discrete else rounded
        spread = self._spread
        columns = (spread.estimate, spread.low, spread.high)
        shown = list(itertools.islice(zip(self, *columns, strict=False), _MAX_LINES))
        rows = [(str(key), *map(text, numbers)) for key, *numbers in shown]
        letter = "P" if self._discrete else "p"
        lines = [more(len(self), len(rows), "states"), f"as from {_count(self.rows)} rows"]
        lines += [f"{100 * s.share:.0f} % of the variance: {_source(s)}" for s in self.sources[:3]]
        return DisplayTable(
            f"{letter}({', '.join(map(str, self.names))}), {100 * self.coverage:g} % credible",
            rows,
            ("", "estimate", "low", "high"),
            note="\n".join(line for line in lines if line),
        )


class CredibleMarginals(Displayed, Mapping[Name, CredibleIntervals]):
    """Credible intervals of the posteriors of all unobserved variables, by name.

    Attributes
    ----------
    coverage : float
    method : {"draws", "delta"}
    """

    def __init__(self, found: Sequence[CredibleIntervals], coverage: float, method: str) -> None:
        self._found = {each.names[0]: each for each in found}
        self.coverage = coverage
        self.method = method

    def __getitem__(self, name: Name) -> CredibleIntervals:
        try:
            return self._found[name]
        except (KeyError, TypeError):
            where = "The mapping from unobserved variables to intervals"
            raise errors.unknown_variable(name, list(self), where=where) from None

    def __iter__(self) -> Iterator[Name]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def _display(self) -> DisplayTable:
        shown = list(itertools.islice(self._found.items(), _MAX_LINES))
        rows = []
        for name, each in shown:
            key = max(each, key=lambda k: each[k].estimate) if each._discrete else MOMENTS[0]
            found = each[key]
            numbers = (rounded(x) for x in found[:3])
            rows.append((str(name), str(key), *numbers, _count(each.rows)))
        return DisplayTable(
            f"{100 * self.coverage:g} % credible intervals of the most probable states",
            rows,
            ("", "state", "estimate", "low", "high", "rows"),
            note=more(len(self), len(rows), "variables"),
        )


def _count(rows: float) -> str:
    if rows == math.inf:
        return "infinitely many"
    return f"{rows:.1f}" if rows < 10 else f"{rows:,.0f}"


def _source(source: Source) -> str:
    given = ", ".join(f"{name}={state}" for name, state in source.given.items())
    return f"P({source.name}{' | ' * bool(given)}{given}), {_count(source.rows)} rows"


# ------- The delta method: variances of posteriors by their derivatives with respect to all tables
# To first order, the variance of P(t | e) is the sum over the distributions P(X | u) of the
# variance of ``sum_x g_x theta_x``, where theta is Dirichlet distributed and g_x is the derivative
# of P(t | e) with respect to P(x | u) (Van Allen, Singh, Greiner, Hooper 2008). The derivative
# times the parameter is ``P(x, u, t | e) - P(t | e) P(x, u | e)``, so that one propagation for each
# state t gives the variances of all posteriors. Propagations are done in batches.


# Maximum number of entries of all cliques together, times the states of a batch.
_MAX_ENTRIES = 2**21
_MAX_SOURCES = 10
# Smallest strength of a beta distribution, in rows.
_LEAST_STRENGTH = 1e-3


@dataclass(frozen=True, eq=False)
class _Family:
    """A table with unobserved variables, reduced by the evidence.

    Attributes
    ----------
    cpd : TableCPD
    index : tuple
        The entries that agree with the evidence, as an index of the table.
    factor : Factor
    """

    cpd: TableCPD
    index: tuple[Any, ...]
    factor: Factor

    def variances(self, slopes: Floats) -> Floats:
        """Return the variances that each configuration of the parents contributes.

        Parameters
        ----------
        slopes : ndarray, shape (n, *cardinalities of the free variables)
            Derivatives of n numbers with respect to the entries, times the entries.

        Returns
        -------
        ndarray, shape (n, *cardinalities of the free parents)
        """
        values = self.cpd.values[self.index]
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(values > 0.0, slopes**2 / values, 0.0)
        if self.index[-1] == slice(None):
            squares, slopes = squares.sum(axis=-1), slopes.sum(axis=-1)
        strength = posterior_of(self.cpd).strength[self.index[:-1]]
        return np.asarray(np.maximum(squares - slopes**2, 0.0) / (strength + 1.0))


def delta_spread(
    model: Model,
    targets: Sequence[tuple[int, ...]],
    case: Case,
    coverage: float,
    memory_limit: float | None,
) -> tuple[Spread, list[Source]] | None:
    """Return the spread of the probabilities of one question after the other, and its sources.

    The sources are those of the first question. Intervals are of beta distributions, as in Van
    Allen et al. The result is None if the evidence is impossible.

    Raises
    ------
    UnsupportedModelError
        If the model is no network of tables.
    """
    compiled = model.compiled if isinstance(model, BayesianNetwork) else None
    if compiled is None:
        raise errors.UnsupportedModelError(
            f"method='delta' takes a network of tables; {type(model).__name__} has others or is "
            "no network. Ask with method='draws'."
        )
    assert isinstance(model, BayesianNetwork)
    families, soft = _families(model, compiled, targets, case)
    asked = [tuple(compiled.tables.variables[v] for v in wanted) for wanted in targets]
    factors = [*(family.factor for family in families), *soft]
    scopes = [*(factor.scope for factor in factors), *asked]
    calibration: Calibration = model.memo.get(
        ("delta", tuple(targets), case.pattern),
        lambda: Calibration(scopes, memory_limit=memory_limit),
    )
    ones = [Factor.from_log((), np.zeros(1)).aligned(scope) for scope in asked]
    plain, log_mass = calibration.posteriors(
        [*factors, *map(Factor.from_log, asked, map(np.asarray, ones))]
    )
    if log_mass[0] == -np.inf:
        return None
    flat = np.concatenate([answer.ravel() for answer in plain[len(factors) :]])
    variance = np.zeros(len(flat))
    alone = len(targets) == 1
    shares: list[Floats] = [np.zeros(())] * len(families)
    for first, last, given in _batches(asked, calibration.entries):
        found, _ = calibration.posteriors([*factors, *given])
        for f, family in enumerate(families):
            odds = flat[first:last].reshape(-1, *[1] * (found[f].ndim - 1))
            parts = family.variances(odds * (found[f] - plain[f]))
            variance[first:last] += parts.reshape(len(parts), -1).sum(axis=1)
            if alone:
                shares[f] = shares[f] + parts.sum(axis=0)
    sources = _sources(families, shares, float(variance.sum())) if alone else []
    low, high = _beta_interval(flat, variance, coverage)
    return Spread(flat, flat, low, high, variance), sources


def _families(
    model: BayesianNetwork,
    compiled: CompiledTables,
    targets: Sequence[tuple[int, ...]],
    case: Case,
) -> tuple[list[_Family], list[Factor]]:
    """Return the relevant tables with unobserved variables, and the likelihoods."""
    tables = compiled.tables
    chosen: Sequence[int] = range(len(tables))
    if len(targets) == 1:
        pattern = case.pattern
        kept = compiled.restricted(pattern.observed, pattern.soft, targets[0], Relevance.TARGETS)
        chosen = [f for f in kept.factors.tolist() if f < len(tables)]
    cpds = {cpd.variable.name: cpd for cpd in model.cpds}
    found = []
    for f in chosen:
        factor = agreeing(tables, case, f)
        if factor.scope:
            numbers, _ = tables.table(f)
            cpd = cpds[tables.variables[numbers[-1]].name]
            assert isinstance(cpd, TableCPD)
            index = tuple(case.hard.get(v, slice(None)) for v in numbers)
            found.append(_Family(cpd, index, factor))
    soft = [Factor.from_log([tables.variables[v]], case.soft[v][None]) for v in sorted(case.soft)]
    return found, soft


def _batches(
    asked: Sequence[tuple[Discrete, ...]], entries: float
) -> Iterator[tuple[int, int, list[Factor]]]:
    """Yield evidence on each state of each question, in batches of rows.

    Yields
    ------
    first, last : int
        The numbers of the states, all questions together.
    factors : list of Factor
        One for each question.
    """
    sizes = [int(np.prod([v.cardinality for v in scope])) for scope in asked]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    step = max(1, int(_MAX_ENTRIES // max(entries, 1.0)))
    for first in range(0, int(starts[-1]), step):
        last = min(first + step, int(starts[-1]))
        factors = []
        for scope, size, start in zip(asked, sizes, starts[:-1].tolist(), strict=True):
            logs = np.zeros((last - first, size))
            own = np.arange(max(first, start), min(last, start + size))
            logs[own - first] = -np.inf
            logs[own - first, own - start] = 0.0
            shape = (last - first, *(v.cardinality for v in scope))
            factors.append(Factor.from_log(scope, logs.reshape(shape)))
        yield first, last, factors


def _sources(families: Sequence[_Family], shares: Sequence[Floats], total: float) -> list[Source]:
    """Return the distributions that contribute most to the variance, largest first."""
    found = []
    for family, share in zip(families, shares, strict=True):
        flat = share.ravel()
        for at in np.argsort(-flat, kind="stable")[:_MAX_SOURCES].tolist():
            if flat[at] > 0:
                free = list(np.unravel_index(at, share.shape))
                codes = [int(free.pop(0)) if i == slice(None) else i for i in family.index[:-1]]
                parents = family.cpd.parents
                found.append(
                    Source(
                        family.cpd.variable.name,
                        {v.name: v.states[c] for v, c in zip(parents, codes, strict=True)},
                        float(posterior_of(family.cpd).rows[tuple(codes)]),
                        float(flat[at]) / total,
                    )
                )
    return sorted(found, key=lambda source: -source.share)[:_MAX_SOURCES]


def _beta_interval(p: Floats, variance: Floats, coverage: float) -> tuple[Floats, Floats]:
    """Return the quantiles of beta distributions with these means and variances."""
    uncertain = (variance > 0.0) & (p > 0.0) & (p < 1.0)
    q, spread = np.where(uncertain, p, 0.5), np.where(uncertain, variance, 0.01)
    # To first order the variance may exceed that of a state which is either certain or impossible.
    strength = np.maximum(q * (1.0 - q) / spread - 1.0, _LEAST_STRENGTH)
    tail = (1.0 - coverage) / 2.0
    ends = (betaincinv(strength * q, strength * (1.0 - q), x) for x in (tail, 1.0 - tail))
    low, high = (np.where(uncertain, end, p) for end in ends)
    return low, high
