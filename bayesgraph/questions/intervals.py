"""Credible intervals: the posteriors of a model whose parameters are drawn from their own.

The model gets one more variable, the number of a draw, as a parent of everything: given its state
i, each distribution has the parameters of draw i. The answers of all draws are those of the rows of
a batch, or of one query prepared once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, check_coverage, random_generator, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, more, rounded
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import BYTES, default_memory_limit, format_bytes
from bayesgraph.core.typing import EvidenceLike, Intervention, RandomState, Targets
from bayesgraph.core.variables import CountVector, Discrete, Name, Variable
from bayesgraph.inference import All, Case, Joint, Marginals, NumberMixture, Posterior, normalised
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
    read_targets,
    under,
)
from bayesgraph.questions.estimators import question
from bayesgraph.statistics import draw_gaussians, draw_probabilities

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


class CredibleIntervals(Displayed, Mapping[Any, Interval]):
    """Credible intervals of the probabilities of a posterior: a mapping from state to `Interval`.

    The keys of a joint posterior are tuples of states; those of a continuous variable are "mean"
    and "sd", of its posterior. The interval of each state is one for itself.

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
        self._is_number = not discrete
        self._axes = discrete or [Discrete("moment", MOMENTS)]
        tail = (1.0 - coverage) / 2.0
        low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0)
        self._numbers = np.column_stack([estimate, low, high, draws.std(axis=0)])
        mean, variance = draws.mean(axis=0), draws.var(axis=0)
        if self._is_number:
            alone, total, less = estimate[1] ** 2, variance[0], 0.0
        else:
            alone, total, less = np.sum(mean * (1.0 - mean)), variance.sum(), 1.0
        self.rows = max(float(alone / total) - less, 0.0) if total > 0 else math.inf

    def _place(self, key: Any) -> int:
        states = key if self._axes[1:] else (key,)
        if not isinstance(states, tuple) or len(states) != len(self._axes):
            raise errors.EvidenceError(
                f"These are intervals of {errors.quoted(self.names)}: their keys are tuples of "
                f"{len(self.variables)} states; got {key!r}."
            )
        codes = [v.index(state) for v, state in zip(self._axes, states, strict=True)]
        return int(np.ravel_multi_index(codes, [v.cardinality for v in self._axes]))

    def __getitem__(self, key: Any) -> Interval:
        return Interval(*self._numbers[self._place(key)].tolist())

    def __contains__(self, key: object) -> bool:
        try:
            self._place(key)
        except errors.EvidenceError:
            return False
        return True

    def __iter__(self) -> Iterator[Any]:
        states = [v.states for v in self._axes]
        return itertools.product(*states) if states[1:] else iter(states[0])

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def names(self) -> tuple[Name, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    def _display(self) -> DisplayTable:
        text = rounded if self._is_number else "{:.4f}".format
        shown = list(itertools.islice(self.items(), _MAX_LINES))
        rows = [(str(key), *map(text, interval[:3])) for key, interval in shown]
        notes = [more(len(self), len(rows), "states"), f"as from {_count(self.rows)} rows"]
        name = f"{'p' if self._is_number else 'P'}({', '.join(map(str, self.names))})"
        return DisplayTable(
            f"{name}, {100 * self.coverage:g} % credible",
            rows,
            ("", "estimate", "low", "high"),
            note="\n".join(note for note in notes if note),
        )


class CredibleMarginals(Displayed, Mapping[Name, CredibleIntervals]):
    """Credible intervals of the posteriors of all unobserved variables, by name.

    Attributes
    ----------
    coverage : float
    """

    def __init__(self, intervals: Sequence[CredibleIntervals], coverage: float) -> None:
        self._by_name = {each.names[0]: each for each in intervals}
        self.coverage = coverage

    def __getitem__(self, name: Name) -> CredibleIntervals:
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            where = "The mapping from unobserved variables to intervals"
            raise errors.unknown_variable(name, list(self), where=where) from None

    def __iter__(self) -> Iterator[Name]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def _display(self) -> DisplayTable:
        rows = []
        for name, each in itertools.islice(self.items(), _MAX_LINES):
            # The most probable state, or the mean of a number.
            key = next(iter(each)) if "mean" in each else max(each, key=lambda k: each[k].estimate)
            numbers = (rounded(x) for x in each[key][:3])
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
    check_coverage(coverage)
    n = whole_number("draws", "draws", draws, 2)
    findings = dict(as_mapping(evidence))
    if any(isinstance(value, Belief) for value in findings.values()):
        raise errors.EvidenceError(
            "A Belief is a new probability whatever the parameters are; give likelihoods."
        )
    asked, findings = under(model, do, findings) if do else (model, findings)
    check_parameters(asked)
    case = asked._case(findings)
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
    answer = asked._work(kind, case.pattern, memory_limit).run(case, memory_limit)
    if answer is None:
        raise impossible(findings)
    estimates = _numbers(answer, [asked.names[v] for v, *_ in groups])
    size = BYTES * n * sum(map(len, estimates))
    if size > (limit := default_memory_limit() if memory_limit is None else memory_limit):
        raise errors.MemoryLimitError(
            f"{n:,} draws of {size // BYTES // n:,} numbers take {format_bytes(size)}; the limit "
            f"is {format_bytes(limit)}. Ask for fewer draws, name the targets, or raise "
            "memory_limit."
        )
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
    if min_rows is not None and (few := [one for one in intervals if one.rows < min_rows]):
        texts = [f"{', '.join(map(str, one.names))} ({rounded(one.rows, 3)})" for one in few]
        errors.warn(
            f"Posteriors that are known as from fewer than {min_rows:g} rows: "
            f"{errors.quoted(texts)}.",
            errors.FewRowsWarning,
        )
    return CredibleMarginals(intervals, coverage) if targets is None else intervals[0]


def _numbers(answer: Any, names: Sequence[Name]) -> list[Floats]:
    """Return the numbers of each of the posteriors of an answer."""
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
        if not (posterior.strength > 0).all():
            where = np.argwhere(~(posterior.strength > 0))[0]
            pairs = zip(cpd.discrete_parents, where.tolist(), strict=True)
            states = ", ".join(f"{v.name}={v.states[code]}" for v, code in pairs)
            raise _refused(
                model,
                f"{cpd.title} rests on no rows{' where ' * bool(states)}{states}, and smoothing "
                "adds none; give alpha or shrinkage a positive value.",
            )
    if model.exponents:
        raise _refused(model, "its exponents have no posterior; one of its `networks` may have.")


def _refused(model: Model, reason: str) -> errors.UnsupportedModelError:
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

    They are NaN in draws under which the evidence is impossible.
    """
    parts = []
    n_parameters = sum(network.n_parameters for _, network in networks_in(model))
    step = max(1, _TOGETHER // max(n_parameters, 1))
    for start in range(0, n, step):
        draw = Discrete(DrawName(), range(min(step, n - start)))
        parts.append(_answers(with_draws(model, draw, random), draw, groups, case, memory_limit))
    return [np.concatenate(blocks) for blocks in zip(*parts, strict=True)]


def _answers(
    drawn: Model,
    draw: Discrete,
    groups: Sequence[tuple[int, ...]],
    case: Case,
    memory_limit: float | None,
) -> list[Floats]:
    target = drawn.variables[groups[0][0]]
    if len(groups) == len(groups[0]) == 1 and isinstance(target, Discrete):
        # One row for each draw.
        rows = case.evidence(drawn.variables).rows(np.zeros(draw.cardinality, dtype=np.intp))
        columns = {**rows.columns, draw: np.arange(draw.cardinality)}
        evidence = Evidence(draw.cardinality, columns, rows.likelihoods)
        joint = drawn._log_posterior_rows(target, evidence)
        joint[np.isneginf(joint.max(axis=1))] = np.nan
        return [normalised(joint)]
    number, names = drawn._index_of[draw.name], [drawn.names[v] for v, *_ in groups]
    cases = [case._replace(hard={**case.hard, number: i}) for i in range(draw.cardinality)]
    question = All() if len(groups) > 1 else Joint(groups[0])
    work = drawn._work(question, cases[0].pattern, memory_limit)
    answers = [work.run(one, memory_limit) for one in cases]
    numbers = [[] if answer is None else _numbers(answer, names) for answer in answers]
    nothing = [np.full_like(x, np.nan) for x in max(numbers, key=len)]
    return [np.array(column) for column in zip(*(one or nothing for one in numbers), strict=True)]


def with_draws(model: Model, draw: Discrete, random: np.random.Generator) -> Model:
    """Return a model in which the number of a draw is a parent of everything.

    The other variables keep their numbers. Networks that share a CPD share its draws.
    """
    drawn: dict[int, CPD] = {}

    def with_parent(network: BayesianNetwork) -> BayesianNetwork:
        for cpd in network.cpds:
            if id(cpd) not in drawn:
                drawn[id(cpd)] = _draws_of(cpd, draw, random)
        root = TableCPD(draw, np.full(draw.cardinality, 1.0 / draw.cardinality))
        cpds = [root, *(drawn[id(cpd)] for cpd in network.cpds)]
        return BayesianNetwork(cpds, order=[*network.variables, draw])

    return map_networks(model, with_parent)


def _draws_of(cpd: CPD, draw: Discrete, random: np.random.Generator) -> CPD:
    n, posterior = draw.cardinality, cpd.parameter_posterior
    if isinstance(cpd, TableCPD) and posterior is not None:
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
