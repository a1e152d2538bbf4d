"""How sure answers are: credible intervals, and how far single parameters or findings move them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, check_share, random_generator, whole_number
from bayesgraph.core.display import Displayed, DisplayedByName, DisplayTable, more, rounded, scaled
from bayesgraph.core.parallel import check_memory
from bayesgraph.core.typing import EvidenceLike, Intervention, RandomState, Targets
from bayesgraph.core.variables import CountVector, Discrete, Name, State, Variable, ancestral_set
from bayesgraph.inference import (
    All,
    Case,
    Joint,
    Marginals,
    NumberMixture,
    Posterior,
    Sensitivity,
    normalised,
)
from bayesgraph.models import (
    CPD,
    BayesianNetwork,
    Belief,
    GaussianCPD,
    Model,
    SetCPD,
    TableCPD,
    as_mapping,
    impossible,
    map_networks,
    networks_in,
    read_case,
    read_targets,
    texts,
    under,
    with_findings,
)
from bayesgraph.questions.asking import with_values
from bayesgraph.questions.estimators import discrete_target, question, sensitivity
from bayesgraph.questions.flips import Rules, Scorer
from bayesgraph.statistics import draw_gaussians, draw_probabilities

# ----------------------------------------- Credible intervals of posteriors, which print as tables
# The model gets one more variable, the number of a draw, as a parent of everything: given its state
# i, each distribution has the parameters of draw i. The answers of all draws are those of the rows
# of a batch, or of one query prepared once.


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


class CredibleIntervals(Displayed, Mapping[Any, Interval]):
    """Credible intervals of the probabilities of a posterior: a mapping from state to `Interval`.

    The keys of a joint posterior are tuples of states; those of a continuous variable are "mean"
    and "sd", of its posterior. The interval of each state is one for itself.

    Parameters
    ----------
    variables : sequence of Variable
    estimate : ndarray, shape (n_numbers,)
        Probabilities of all (joint) states by the fitted model, or mean and standard deviation.
    draws : ndarray, shape (n_draws, n_numbers)
        The same numbers under parameters that are drawn.
    coverage : float

    Attributes
    ----------
    variables : tuple of Variable
    coverage : float
        Posterior probability of each interval.
    rows : float
        The number of rows from which a single proportion would be known as well: the equivalent
        sample size n for which the states have the variances p (1 - p) / (n + 1) of a Dirichlet
        distribution, or the mean of a number the variance sd² / n. Pseudo-counts of the prior count
        as rows; infinite if nothing is uncertain.
    """

    def __init__(
        self, variables: Sequence[Variable], estimate: Floats, draws: Floats, coverage: float
    ) -> None:
        self.variables = tuple(variables)
        self.coverage = coverage
        discrete = [v for v in variables if isinstance(v, Discrete)]
        # The estimates have the shape of a posterior, which reads keys: an axis of states for each
        # variable, or one axis of the two moments of a number.
        self._is_number = not discrete
        axes = discrete or [Discrete("moment", MOMENTS)]
        shape = [v.cardinality for v in axes]
        self._estimate = Posterior(tuple(axes), estimate.reshape(shape), math.nan)
        tail = (1.0 - coverage) / 2.0
        ends = np.quantile(draws, [tail, 1.0 - tail], axis=0)
        # A last axis for the fields of `Interval`, in their order.
        numbers = np.column_stack([estimate, *ends, draws.std(axis=0)])
        self._numbers = numbers.reshape(*shape, -1)
        mean, variances = draws.mean(axis=0), draws.var(axis=0)
        # The variance of one row is n (or n + 1, for states) times that of an estimate from n rows,
        # which gives n. Variances of states are summed; of a number they are the square of its sd,
        # and the variance of its mean, which is the first column of the draws.
        if self._is_number:
            of_row, variance, pseudo_rows = estimate[1] ** 2, variances[0], 0.0
        else:
            of_row, variance, pseudo_rows = np.sum(mean * (1.0 - mean)), variances.sum(), 1.0
        self.rows = max(float(of_row / variance) - pseudo_rows, 0.0) if variance > 0 else math.inf

    def __getitem__(self, key: Any) -> Interval:
        return Interval(*self._numbers[self._estimate._index(key)].tolist())

    def __contains__(self, key: object) -> bool:
        return key in self._estimate

    def __iter__(self) -> Iterator[Any]:
        return iter(self._estimate)

    def __len__(self) -> int:
        return len(self._estimate)

    @property
    def names(self) -> tuple[Name, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    def _display(self) -> DisplayTable:
        text = rounded if self._is_number else "{:.4f}".format
        shown = itertools.islice(self.items(), _MAX_LINES)
        rows = [(str(key), *map(text, interval[:3])) for key, interval in shown]
        notes = [more(len(self), len(rows), "states"), f"as from {_count(self.rows)} rows"]
        name = f"{'p' if self._is_number else 'P'}({', '.join(map(str, self.names))})"
        return DisplayTable(
            f"{name}, {100 * self.coverage:g} % credible",
            rows,
            ("", "estimate", "low", "high"),
            note="\n".join(filter(None, notes)),
        )


class CredibleMarginals(DisplayedByName):
    """Credible intervals of the posteriors of all unobserved variables, by name.

    Attributes
    ----------
    coverage : float
    """

    # The subject of the message about an unknown name.
    _where = "The mapping from unobserved variables to intervals"

    def __init__(self, intervals: Sequence[CredibleIntervals], coverage: float) -> None:
        self._by_name = {each.names[0]: each for each in intervals}
        self.coverage = coverage

    def _display(self) -> DisplayTable:
        rows = []
        for name, each in itertools.islice(self.items(), _MAX_LINES):
            # The most probable state, or the mean of a number.
            key = next(iter(each)) if each._is_number else max(each, key=lambda k: each[k].estimate)
            rows.append((str(name), str(key), *map(rounded, each[key][:3]), _count(each.rows)))
        return DisplayTable(
            f"{100 * self.coverage:g} % credible intervals of the most probable states",
            rows,
            ("", "state", "estimate", "low", "high", "rows"),
            note=more(len(self), len(rows), "variables"),
        )


def _count(rows: float) -> str:
    """Return a number of rows as text."""
    if rows == math.inf:
        return "infinitely many"
    return f"{rows:.1f}" if rows < 10 else f"{rows:,.0f}"


@question()
def credible_intervals(
    model: Model,
    targets: Targets | None = None,
    evidence: EvidenceLike = None,
    *,
    do: Intervention = None,
    coverage: float = 0.9,
    draws: int = 1000,
    min_rows: float | None = None,
    random_state: RandomState = 0,
    memory_limit: float | None = None,
) -> CredibleIntervals | CredibleMarginals:
    """Return credible intervals of posteriors, given that the parameters are estimates.

    The parameters of a model that was estimated by counting have a posterior themselves:
    Dirichlet for each distribution of a table, normal-inverse-gamma for each linear Gaussian.
    An answer of the model is a function of the parameters, and so has a posterior too: the
    intervals are quantiles of the answers of models whose parameters are drawn.

    Parameters
    ----------
    model : model or fitted estimator
    targets : name or list of names, optional
        A list gives intervals of the joint posterior; None those of all unobserved variables.
    evidence, do : mapping from name to value, optional
        As in `query`; no `Belief`.
    coverage : float
        Posterior probability of each interval, with as much of the rest below it as above.
    draws : int
    min_rows : float, optional
        A `FewRowsWarning` names the posteriors that are known less well than a proportion from
        so many rows; see `CredibleIntervals.rows`.
    random_state : int or numpy Generator, default 0
        Seed of the draws; None draws others each time.
    memory_limit : float, optional
        Bytes; half of the machine's memory by default.

    Returns
    -------
    CredibleIntervals
        A mapping from state to interval; of a continuous target, from "mean" and "sd". Without
        targets, a `CredibleMarginals`: a mapping from name to `CredibleIntervals`.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence has probability zero.
    UnsupportedModelError
        If a parameter has no posterior: of models that were made by hand, trained to predict,
        estimated by EM, 'ml' or 'map', or read from files of other formats.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> table = {"rain": ["no"] * 8 + ["yes"] * 2, "wet": ["no"] * 7 + ["yes"] * 3}
    >>> net = bg.BayesianNetwork.fit([("rain", "wet")], table)
    >>> found = net.ask.credible_intervals("rain", {"wet": "yes"}, draws=20_000)
    >>> f"{found['yes'].estimate:.2f} or {found['yes'].low:.1f} to {found['yes'].high:.1f}"
    '0.56 or 0.2 to 0.9'
    """
    check_share("coverage", coverage)
    n = whole_number("draws", "draws", draws, 2)
    findings = dict(as_mapping(evidence))
    if any(isinstance(value, Belief) for value in findings.values()):
        raise errors.EvidenceError(
            "A Belief is a new probability whatever the parameters are; give likelihoods."
        )
    asked, findings = under(model, do, findings) if do else (model, findings)
    check_parameters(asked)
    case = read_case(asked, findings)
    # Indices of the variables of each posterior that is asked for. Without targets these are all
    # unobserved variables except vectors of counts and numbers that have no posterior here.
    if targets is None:
        kind: Any = All()
        groups: list[tuple[int, ...]] = [
            (v,)
            for v, variable in enumerate(asked.variables)
            if v not in case.hard
            and variable not in asked._unmarginalisable
            and not isinstance(variable, CountVector)
        ]
    else:
        groups = [read_targets(asked, targets, case.hard)]
        kind = Joint(groups[0])
    answer = asked._possible(kind, case, findings, memory_limit)
    estimates = _numbers(answer, [asked.names[v] for v, *_ in groups])
    n_numbers = sum(map(len, estimates))
    advice = "Ask for fewer draws, name the targets, or raise memory_limit."
    check_memory(f"{n:,} draws of {n_numbers:,} numbers take", n * n_numbers, advice, memory_limit)
    random = random_generator(random_state)
    intervals = []
    answers = drawn_answers(asked, groups, case, n, random, memory_limit)
    for group, estimate, drawn in zip(groups, estimates, answers, strict=True):
        # Zeros may differ by underflow, so that evidence is impossible under some draws.
        possible = drawn[~np.isnan(drawn).any(axis=1)]
        if not len(possible):
            raise impossible(findings)
        variables = [asked.variables[v] for v in group]
        intervals.append(CredibleIntervals(variables, estimate, possible, coverage))
    uncertain = [one for one in intervals if min_rows is not None and one.rows < min_rows]
    if uncertain:
        texts = [f"{', '.join(map(str, one.names))} ({rounded(one.rows, 3)})" for one in uncertain]
        errors.warn(
            f"Posteriors that are known as from fewer than {min_rows:g} rows: "
            f"{errors.quoted(texts)}.",
            errors.FewRowsWarning,
        )
    return CredibleMarginals(intervals, coverage) if targets is None else intervals[0]


def _numbers(answer: Any, names: Sequence[Name]) -> list[Floats]:
    """Return the numbers of each of the posteriors of an answer; see `numbers_of`.

    Names tell which posteriors to take of `Marginals`; any other answer is one posterior.
    """
    posteriors = [answer[n] for n in names] if isinstance(answer, Marginals) else [answer]
    return list(map(numbers_of, posteriors))


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


# --------------------- Posteriors of all parameters of a model, and models of many draws from them


# Maximum number of parameters that are drawn together.
_TOGETHER = 2**21


class DrawName:
    """Name of the variable that stands for the number of a draw; each instance is a unique name."""


def check_parameters(model: Model) -> None:
    """Raise an error unless all parameters of a model have a posterior.

    Raises
    ------
    UnsupportedModelError
        The message names the first distribution without one.
    """
    if not model.networks:
        raise _refused(model, "factors have no posterior; distributions that were counted do.")
    for network in model.networks:
        if network is not model:
            check_parameters(network)
    # An ensemble has no distributions of its own, but those of its networks.
    for cpd in model.cpds if model.networks[0] is model else ():
        posterior = cpd.parameter_posterior
        if isinstance(cpd, SetCPD):
            continue
        if posterior is None or not isinstance(cpd, TableCPD | GaussianCPD):
            raise _refused(
                model,
                f"{cpd.title} keeps no posterior of its parameters. It was made by hand, read from "
                "a file of another format, trained to predict, or estimated by EM, 'ml' or 'map'; "
                "BayesianNetwork.fit and classifiers that count give one.",
            )
        # The strength is the weight of rows and pseudo-counts behind each distribution.
        if len(empty := np.argwhere(~(posterior.strength > 0))):
            pairs = zip(cpd.discrete_parents, empty[0].tolist(), strict=True)
            states = ", ".join(f"{v.name}={v.states[code]}" for v, code in pairs)
            raise _refused(
                model,
                f"{cpd.title} rests on no rows{' where ' * bool(states)}{states}, and smoothing "
                "adds none; give alpha or shrinkage a positive value.",
            )
    if model.exponents:
        raise _refused(model, "its exponents have no posterior; one of its `networks` may have.")


def _refused(model: Model, reason: str) -> errors.UnsupportedModelError:
    """Return the error for a model whose parameters have no posterior."""
    return errors.UnsupportedModelError(
        f"{type(model).__name__} has no credible intervals: {reason} Conformal prediction takes "
        "any classifier: see conformalize and predict_set."
    )


def drawn_answers(
    model: Model,
    groups: Sequence[tuple[int, ...]],
    case: Case,
    n: int,
    random: np.random.Generator,
    memory_limit: float | None = None,
) -> list[Floats]:
    """Return for each group of targets the numbers of n draws, shape (n, number of numbers).

    They are NaN in draws under which the evidence is impossible, or left out.
    """
    # Blocks of draws, so that the drawn parameters fit into memory.
    parts = []
    n_parameters = sum(network.n_parameters for _, network in networks_in(model))
    step = max(1, _TOGETHER // max(n_parameters, 1))
    for start in range(0, n, step):
        draw = Discrete(DrawName(), range(min(step, n - start)))
        drawn = with_draws(model, draw, random)
        target = drawn.variables[groups[0][0]]
        if len(groups) == len(groups[0]) == 1 and isinstance(target, Discrete):
            # One row for each draw.
            rows = with_values(case.evidence(drawn.variables), draw, np.arange(draw.cardinality))
            joint = drawn._log_posterior_rows(target, rows)
            joint[np.isneginf(joint.max(axis=1))] = np.nan  # draws that exclude the evidence
            parts.append([normalised(joint)])
            continue
        # One query, prepared once, is run for each state of the draw.
        draw_index, names = drawn._index_of[draw.name], [drawn.names[v] for v, *_ in groups]
        cases = [case._replace(hard={**case.hard, draw_index: i}) for i in range(draw.cardinality)]
        query = All() if len(groups) > 1 else Joint(groups[0])
        work = drawn._work(query, cases[0].pattern, memory_limit)
        answers = [work.run(one, memory_limit) for one in cases]
        numbers = [[] if answer is None else _numbers(answer, names) for answer in answers]
        # An answer of None, whose list is empty, has NaN in the shapes of another one's numbers.
        nothing = [np.full_like(x, np.nan) for x in max(numbers, key=len)]
        parts.append([*map(np.array, zip(*(one or nothing for one in numbers), strict=True))])
    # A block under all of whose draws the evidence is impossible is an empty list. If all are, each
    # group has an array without rows.
    possible = list(filter(None, parts)) or [[np.empty((0, 1))] * len(groups)]
    return [np.concatenate(blocks) for blocks in zip(*possible, strict=True)]


def with_draws(model: Model, draw: Discrete, random: np.random.Generator) -> Model:
    """Return a model in which the number of a draw is a parent of everything.

    The other variables keep their indices, as the draw is the last one. Networks that share a CPD
    share its draws.
    """
    drawn: dict[int, CPD] = {}

    def with_parent(network: BayesianNetwork) -> BayesianNetwork:
        """Return the network with the draw, whose states are equally likely, as a root."""
        for cpd in network.cpds:
            if id(cpd) not in drawn:
                drawn[id(cpd)] = _draws_of(cpd, draw, random)
        root = TableCPD(draw, np.full(draw.cardinality, 1.0 / draw.cardinality))
        cpds = [root, *(drawn[id(cpd)] for cpd in network.cpds)]
        return BayesianNetwork(cpds, order=[*network.variables, draw])

    return map_networks(model, with_parent)


def _draws_of(cpd: CPD, draw: Discrete, random: np.random.Generator) -> CPD:
    """Return a distribution given the number of a draw, with parameters drawn for each.

    The draw is the first parent, so that arrays of parameters get it as their first axis.
    """
    n, posterior = draw.cardinality, cpd.parameter_posterior
    if isinstance(cpd, TableCPD) and posterior is not None:
        # The number of states of each distribution: those of the child in all configurations.
        cards = np.full(posterior.strength.size, cpd.variable.cardinality)
        draws = draw_probabilities(cpd.values.ravel(), posterior.strength.ravel(), cards, n, random)
        values = draws.reshape(n, *cpd.values.shape)
        return TableCPD.from_checked(cpd.variable, values, (draw, *cpd.parents))
    if isinstance(cpd, GaussianCPD) and posterior is not None:
        mean, variance, coefficients = draw_gaussians(
            cpd.mean, cpd.variance, cpd.coefficients, posterior, n, random
        )
        return GaussianCPD(cpd.variable, mean, variance, (draw, *cpd.parents), coefficients)
    return cpd  # a variable that is set, which has no parameters


# ------------------------ How far a posterior moves with single parameters, or with single findings
# A probability of a table is raised and lowered, and the others of its distribution change in
# proportion, which moves the joint distribution least (Chan and Darwiche 2005). The posterior is
# asked for at both ends: it is a monotone function, a ratio of two linear ones, of a probability
# (Castillo, Gutierrez and Hadi 1997), so that these are its extremes.


# Number of values of a number that is varied over its range.
_VALUES = 17
# Maximum number of parameters that are varied where there are no derivatives to choose by.
_MAX_PARAMETERS = 1000
# Least number of parameters that are varied, if there are so many, whatever number of bars is
# asked for: derivatives tell their order only to first order.
_MANY_ENTRIES = 50
# Characters of a state in the name of a parameter.
_LONGEST_STATE = 40
# The highest value of a probability: at 1 itself, findings of other states would be impossible.
_NEARLY_ONE = 1.0 - np.finfo(float).eps
_KINDS = ("parameters", "findings")


@dataclass(frozen=True)
class Bar:
    """One bar of a tornado chart.

    Attributes
    ----------
    name : str
        The parameter, such as ``P(wet=yes | rain=no)``, or the finding.
    low, high : float
        Least and largest posterior probability.
    at_low, at_high : value of the parameter or the finding there
    now : value that it has
    """

    name: str
    low: float
    high: float
    at_low: Any
    at_high: Any
    now: Any

    @property
    def width(self) -> float:
        """The difference of the two probabilities."""
        return self.high - self.low


@dataclass(frozen=True, eq=False, repr=False)
class Tornado(Displayed):
    """How far P(target = state | evidence) moves with single parameters or findings.

    Attributes
    ----------
    target, state
        Name of the variable, and its state.
    posterior : float
    bars : tuple of Bar
        The widest first.
    by : str
        "parameters" or "findings".
    n_varied : int
        Number of parameters or findings that were varied.
    remark : str
        What was not varied, and why.
    """

    target: Name
    state: State
    posterior: float
    bars: tuple[Bar, ...]
    by: str
    n_varied: int
    remark: str = ""

    def _display(self) -> DisplayTable:
        rows = [
            (bar.name, f"{bar.low:.4f}", f"{bar.high:.4f}", _shown(bar.at_low), _shown(bar.at_high))
            for bar in self.bars
        ]
        notes = [more(self.n_varied, len(self.bars), self.by), self.remark]
        return DisplayTable(
            f"P({self.target}={self.state} | evidence) = {self.posterior:.4f} moves with {self.by}",
            rows,
            header=("", "lowest", "highest", "at", "at") if rows else (),
            bars=scaled(bar.width for bar in self.bars),
            note="\n".join(filter(None, notes)),
        )


def _shown(value: Any) -> str:
    return rounded(value) if isinstance(value, float) else str(value)


@question()
def tornado(
    model: Model,
    target: Name | None = None,
    state: State | None = None,
    evidence: EvidenceLike = None,
    *,
    by: str = "parameters",
    spread: float = 0.1,
    n: int = 12,
) -> Tornado:
    """Vary single parameters or findings, and compare the posterior probabilities.

    Parameters
    ----------
    model : model or fitted estimator
    target : name, optional
        By default the class of the estimator.
    state : a state of the target, optional
        By default the second of two states, as in `contributions`, and of more the most probable.
    evidence : mapping from name to value, optional
        As in `query`.
    by : {"parameters", "findings"}
        * "parameters": each probability of a table, and each intercept, slope and standard
          deviation of a Gaussian, is varied on its own; other probabilities of the same
          distribution change in proportion. Of many parameters, those with the largest derivatives
          are varied, of models that have derivatives (see `sensitivity`).
        * "findings": each finding takes each of its states, or 17 numbers of its range; soft
          evidence and intervals of numbers stay.
    spread : float
        By which share a parameter is raised and lowered; means are moved by this share of the
        standard deviation.
    n : int
        Maximum number of bars.

    Returns
    -------
    Tornado
        `bayesgraph.plot` draws it.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence has probability zero.
    UnsupportedModelError
        For parameters of a model without tables or Gaussians of its own, and for more than 1,000
        of a model without derivatives.
    """
    variable = discrete_target(model, target, "A tornado is of the probability of a")
    if by not in _KINDS:
        raise errors.DataError(f"by= is one of {', '.join(map(repr, _KINDS))}; got {by!r}.")
    check_share("spread", spread)
    n = whole_number("n", "bars", n, 1)
    posterior = model.query(target, evidence)
    if state is None:
        state = variable.states[1] if variable.cardinality == 2 else posterior.argmax
    code = variable.index(state)
    now = float(posterior.probabilities[code])
    if by == "findings":
        bars = _by_findings(model, variable, code, evidence)
        remark = "" if bars else "There are no findings to vary."
    else:
        bars, remark = _by_parameters(model, variable, code, evidence, spread, n)
    bars.sort(key=lambda bar: -bar.width)
    return Tornado(
        variable.name, variable.states[code], now, tuple(bars[:n]), by, len(bars), remark
    )


# --------------------------------------------------------------------------------- findings


def _by_findings(model: Model, target: Discrete, code: int, evidence: EvidenceLike) -> list[Bar]:
    """Return a bar for each finding, over all values that it may take."""
    scorer = Scorer(model, target, evidence, Rules(model, n_values=_VALUES))
    bars = []
    for j, choice in enumerate(scorer.choices):
        # A row for each option of this finding; all others keep their option 0.
        changes = np.zeros((len(choice.options), len(scorer.choices)), dtype=np.intp)
        changes[:, j] = np.arange(len(choice.options))
        scores = scorer(changes)
        # Values that the other findings exclude are left out.
        possible = np.flatnonzero(scores.max(axis=1) > -np.inf)
        values = [choice.options[i].value for i in possible.tolist()]
        shares = normalised(scores[possible])[:, code]
        bars.append(_bar(str(choice.variable.name), shares, values, choice.old.value))
    return bars


def _bar(name: str, shares: Any, values: Sequence[Any], now: Any) -> Bar:
    """Return the bar of a parameter or finding: `shares` are the probabilities at its `values`."""
    low, high = int(np.argmin(shares)), int(np.argmax(shares))
    return Bar(name, float(shares[low]), float(shares[high]), values[low], values[high], now)


# ------------------------------------------------------------------------------- parameters


@dataclass(frozen=True, eq=False)
class _Parameter:
    """A parameter of a CPD.

    Attributes
    ----------
    cpd : TableCPD or GaussianCPD
    array : str
        The array of the CPD.
    index : tuple of int
        Its place in the array.
    now : float
    ends : (float, float)
        Values to which it is lowered and raised.
    place : tuple of int
        The path to its network: an index in each ensemble, from the outermost one on.
    number : int
        Number of its network in the order of `networks_in`.
    """

    cpd: TableCPD | GaussianCPD
    array: str
    index: tuple[int, ...]
    now: float
    ends: tuple[float, float]
    place: tuple[int, ...]
    number: int

    @property
    def name(self) -> str:
        """Text that tells the parameter from all others of its network."""
        cpd, child = self.cpd, self.cpd.variable.name
        # The index has discrete parents first, then the state of a table or the place of a slope.
        states = [
            f"{v.name}={texts(v.states, _LONGEST_STATE)[code]}"
            for v, code in zip((*cpd.discrete_parents, cpd.variable), self.index, strict=False)
            if isinstance(v, Discrete)
        ]
        if isinstance(cpd, TableCPD):
            child = states.pop()
        where = f"{child} | {', '.join(states)}" if states else str(child)
        if isinstance(cpd, TableCPD):
            return f"P({where})"
        if self.array == "coefficients":
            return f"slope of {where} on {cpd.continuous_parents[self.index[-1]].name}"
        what = "intercept" if self.array == "mean" and cpd.continuous_parents else self.array
        return f"{what} of {where}"

    def at(self, value: float) -> CPD:
        """Return the CPD with another value of the parameter.

        Other probabilities of its distribution change in proportion.
        """
        numbers = {name: array.copy() for name, array in self.cpd.to_arrays().items()}
        array = numbers[self.array]
        if isinstance(self.cpd, TableCPD):
            # The others share what is left; the last index is the state. Its own probability, which
            # changes as well, is set below.
            array[self.index[:-1]] *= (1.0 - value) / (1.0 - self.now)
        array[self.index] = value
        return self.cpd.from_arrays((self.cpd.variable,), self.cpd.parents, numbers)

    def width(self, slopes: Sensitivity) -> float:
        """Return the change of a posterior between the ends, to first order.

        The argument has the derivatives of the posterior; for a CPD that it lacks, the width is 0.
        """
        # Derivatives are named by the child, in an ensemble after the path to its network.
        name = self.cpd.variable.name
        key = (*self.place, name) if self.place else name
        if isinstance(self.cpd, TableCPD):
            # Derivatives if the other probabilities of the distribution change in proportion.
            table = slopes.covaried.get(key)
        else:
            table = getattr(slopes.gaussians.get(key), self.array, None)
        slope = 0.0 if table is None else float(table[self.index])
        return abs(slope) * (self.ends[1] - self.ends[0])


def _by_parameters(
    model: Model, target: Discrete, code: int, evidence: EvidenceLike, spread: float, n: int
) -> tuple[list[Bar], str]:
    """Return a bar for each parameter that was varied, and a remark on what was not."""
    if not model.networks:
        raise errors.UnsupportedModelError(
            f"{type(model).__name__} has factors, not distributions, so that there are no "
            "probabilities to vary: see sensitivity, or by='findings'."
        )
    parameters: list[_Parameter] = []
    n_others = 0  # distributions of other kinds
    # The target, the findings and what they say about indicators, which a key may not name.
    asked, findings = with_findings(model, as_mapping(evidence))
    case = read_case(asked, findings)
    names = {target.name, *(getattr(key, "name", key) for key in findings)}
    names.update(asked.names[at] for at in (*case.hard, *case.soft))
    for number, (place, network) in enumerate(networks_in(model)):
        # These and their ancestors alone bear on the posterior.
        above = {cpd.variable: cpd.parents for cpd in network.cpds}
        relevant = ancestral_set(above, [v for v in network.variables if v.name in names])
        if not place:
            # The place of a network that is no part of an ensemble is empty: the model is one
            # network, which gives the same posterior with fewer tables.
            model = network = network._restricted(relevant)
        for cpd in network.cpds:
            if cpd.variable not in relevant:
                continue
            if isinstance(cpd, (TableCPD, GaussianCPD)):
                varied = _varied(cpd, spread)  # array, index, value and ends
                parameters += [_Parameter(cpd, *one, place, number) for one in varied]
            else:
                n_others += 1
    if not parameters:
        raise errors.UnsupportedModelError(
            f"No table and no Gaussian bears on {target.name!r}: there is no parameter to vary. "
            "by='findings' varies the findings."
        )
    remarks = [f"{n_others} distributions of other kinds were not varied."] if n_others else []
    total, kept = len(parameters), max(4 * n, _MANY_ENTRIES)
    if total > kept:
        with suppress(errors.UnsupportedModelError):  # a model without derivatives
            slopes = sensitivity(model, target.name, target.states[code], evidence)
            parameters = sorted(parameters, key=lambda one: -one.width(slopes))[:kept]
            remarks.append(
                f"Of {total:,} parameters, the {kept} of the largest derivatives were varied."
            )
    if len(parameters) > _MAX_PARAMETERS:
        raise errors.UnsupportedModelError(
            f"{total:,} parameters bear on {target.name!r}, more than {_MAX_PARAMETERS:,}, and "
            f"this {type(model).__name__} has no derivatives by which to choose: observe more, or "
            "vary the findings (by='findings')."
        )
    bars = []
    for parameter in parameters:
        models = [_with_cpd(model, parameter.number, parameter.at(end)) for end in parameter.ends]
        shares = [float(m.query(target.name, evidence).probabilities[code]) for m in models]
        name = parameter.name
        if len(model.networks) > 1:
            name = f"{name} ({', '.join(f'network {i}' for i in parameter.place)})"
        bars.append(_bar(name, shares, parameter.ends, parameter.now))
    return bars, " ".join(remarks)


def _with_cpd(model: Model, number: int, cpd: CPD) -> Model:
    """Return the model with another CPD of a variable in the network with this number."""
    numbers = itertools.count()  # of the networks, in the order in which they are mapped

    def change(network: BayesianNetwork) -> BayesianNetwork:
        """Return the network with the CPD if it is its turn, else as it is."""
        if next(numbers) != number:
            return network
        cpds = [cpd if other.variable == cpd.variable else other for other in network.cpds]
        return BayesianNetwork(cpds, order=network.variables)

    return map_networks(model, change)


def _varied(
    cpd: TableCPD | GaussianCPD, spread: float
) -> Iterator[tuple[str, tuple[int, ...], float, tuple[float, float]]]:
    """Yield name of the array, index, value and ends of each parameter of a CPD.

    The ends are the values to which it is lowered and raised; see `spread` in `tornado`.
    """
    if isinstance(cpd, TableCPD):
        for index, share in np.ndenumerate(cpd.values):
            # Of two states one moves with the other, so that only the second one is varied (the
            # last index is the state); zeros and ones are logical, not estimated.
            if 0 < share < 1 and (cpd.variable.cardinality != 2 or index[-1]):
                now = float(share)
                high = min(now * (1.0 + spread), _NEARLY_ONE)
                yield "values", index, now, (now * (1.0 - spread), high)
        return
    for index in np.ndindex(cpd.mean.shape):
        mean, sd = float(cpd.mean[index]), math.sqrt(float(cpd.variance[index]))
        yield "mean", index, mean, (mean - spread * sd, mean + spread * sd)
        yield "variance", index, sd**2, ((sd * (1.0 - spread)) ** 2, (sd * (1.0 + spread)) ** 2)
        for i, slope in enumerate(cpd.coefficients[index].tolist()):
            reach = spread * abs(slope)
            yield "coefficients", (*index, i), slope, (slope - reach, slope + reach)
