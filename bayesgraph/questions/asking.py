"""What to ask next: the worth of questions, their ranking, and sessions of questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import Displayed, DisplayedByName, DisplayTable, more, rounded, scaled
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import EvidenceLike, Intervention, TableLike
from bayesgraph.core.variables import Continuous, Count, Discrete, Name, Variable, is_missing
from bayesgraph.inference import (
    All,
    Case,
    Draw,
    Joint,
    NumberMixture,
    Posterior,
    Sample,
    divided,
    log_total,
    normalised_if_possible,
    refused,
)
from bayesgraph.models import (
    Belief,
    DensityCPD,
    HistogramCPD,
    Model,
    TreesCPD,
    as_mapping,
    evidence_rows,
    impossible,
    networks_in,
    under,
    with_findings,
)
from bayesgraph.questions.estimators import discrete_target, question
from bayesgraph.questions.measures import DecisionRule, finite_number, loss_matrix

# ---- What a question is worth: the information that its answer brings, and the gain of a decision
# Let t be a state of the target, e the evidence, and x an answer, whose probability is P(x | e).
# Both measures compare the posterior after the answer with the one before, and take the mean over
# the answers:
#
#     information = sum_x P(x | e) sum_t P(t | e, x) log(P(t | e, x) / P(t | e))
#     gain        = sum_x P(x | e) [L_x(d) - min_d' L_x(d')],  L_x(d) = sum_t P(t | e, x) loss(t, d)
#
# where d is the decision of minimum expected loss before the answer. In a joint distribution the
# information is the mutual information of target and answer given the evidence (Lindley 1956), and
# the gain is the expected value of sample information (Raiffa and Schlaifer 1961, section 4.5).
#
# In weighted networks and averages of posteriors the mean of the posteriors after the answer is not
# the posterior before, so that a difference of entropies, or of expected losses, could be negative
# for an answer that changes much. The two measures are never negative, and zero if no answer
# changes the posterior, or the decision.


# ---- What is asked for: the target, the questions that may be asked, their prices, and the measure


MEASURES = ("information", "accuracy", "utility")
# Worths below this are rounding errors.
NOTHING = 1e-12


class Options(TypedDict, total=False):
    """Options of the terms, as the parameters of `next_question`."""

    costs: Mapping[Name, float] | None
    among: Iterable[Name] | None
    by: str | None
    losses: Any
    abstain: float | None
    least: float | None


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms on which questions are ranked.

    Attributes
    ----------
    target : int
        Index of the target.
    variable : Discrete
        The target.
    candidates : tuple of int
        Indices of the variables that may be asked for.
    prices : mapping from int to float
        Price of each candidate.
    by : {"information", "accuracy", "utility"}
    losses : ndarray, shape (n_states, n_decisions)
        ``losses[t, d]`` is the loss of decision d if t is the state: a decision for each state, and
        perhaps one more, to abstain. Without other losses each mistake loses 1, so that gains are
        gains of accuracy.
    least : float
        Worth per price above which a question is worth asking.
    is_priced : bool
        Whether prices were given.
    is_chosen : bool
        Whether the candidates were named, so that none is left out silently.
    """

    target: int
    variable: Discrete
    candidates: tuple[int, ...]
    prices: Mapping[int, float]
    by: str
    losses: Floats
    least: float
    is_priced: bool
    is_chosen: bool

    @classmethod
    def of(
        cls,
        model: Model,
        target: Name,
        costs: Mapping[Name, float] | None = None,
        among: Iterable[Name] | None = None,
        by: str | None = None,
        losses: Any = None,
        abstain: float | None = None,
        least: float | None = None,
    ) -> Terms:
        """Return the terms for the arguments of `next_question`."""
        if not model._answers(Joint):
            raise refused(model, Joint)
        variable = discrete_target(model, target, "Questions are ranked for a")
        index = model._index_of[variable.name]
        prices = None if costs is None else _prices(model, costs)
        candidates = _candidates(model, index, among, prices)
        is_decided = losses is not None or abstain is not None
        if by is None:
            by = "utility" if is_decided else "information"
        if by not in MEASURES:
            raise errors.DataError(f"by= is one of {errors.quoted(MEASURES)}; got {by!r}.")
        if by == "utility" and not is_decided:
            raise errors.DataError("by='utility' takes losses= of decisions, or abstain=.")
        if by == "accuracy" and is_decided:
            raise errors.DataError(
                "by='accuracy' counts every mistake as 1; leave out losses= and abstain=, or rank "
                "by 'utility'."
            )
        matrix = loss_matrix({} if losses is None else losses, variable)
        if abstain is not None:
            # The rule checks the loss of abstaining, which is that of one more decision.
            loss = DecisionRule(variable.states, abstain=abstain).abstain
            matrix = np.column_stack([matrix, np.full(len(matrix), loss)])
        is_priced = prices is not None
        # Losses and prices are in one unit: a question has to save its price, 1 per price.
        least = (1.0 if by == "utility" and is_priced else 0.0) if least is None else least
        least = finite_number("least=", least)
        prices = dict.fromkeys(candidates, 1.0) if prices is None else prices
        is_chosen = among is not None or is_priced
        return cls(index, variable, candidates, prices, by, matrix, least, is_priced, is_chosen)

    def worth(self, before: Floats, joint: Floats) -> tuple[Floats, Floats]:
        """Return the share of each answer in the information (nats) and in the gain of a question.

        Parameters
        ----------
        before : ndarray, shape (..., 1, n_states)
            P(t | e).
        joint : ndarray, shape (..., n_answers, n_states)
            P(x | e) P(t | e, x).

        Returns
        -------
        information, gain : ndarray, shape (..., n_answers)
        """
        # Sums over few states are quicker as products of matrices.
        ones = np.ones(joint.shape[-1])
        # P(x | e) P(t | e), which the table would be if the answer told nothing.
        independent = (joint @ ones)[..., None] * before
        ratio = np.divide(joint, independent, out=np.ones_like(joint), where=independent > 0)
        # A ratio that underflows has a term of zero too.
        information = (joint * np.log(np.where(ratio > 0, ratio, 1.0))) @ ones
        # The best decision before the answer, shape (..., 1); its losses are (..., 1, n_states).
        decision = np.argmin(before @ self.losses, axis=-1)
        loss_before = (joint * self.losses.T[decision]) @ ones
        # The least over the decisions, of axes (..., n_decisions, n_answers).
        loss_after = (self.losses.T @ joint.swapaxes(-1, -2)).min(axis=-2)
        return information, loss_before - loss_after

    def bounds(self, before: Floats) -> tuple[float, float]:
        """Return upper bounds of information and gain by an answer of probability one.

        The most telling answer proves the least probable state: its relative entropy is -log P(t).
        No decision loses more than another by more than the range of the losses.

        Parameters
        ----------
        before : ndarray, shape (n_states,)
        """
        return -float(np.log(before[before > 0].min())), float(np.ptp(self.losses))

    def values(self, information: Floats, gain: Floats) -> Floats:
        """Return the measure that ranks the questions."""
        return information if self.by == "information" else gain

    def scores(self, values: Floats, prices: Floats) -> Floats:
        """Return values per price; what has a value and no price has an infinite score."""
        free = np.where(values > NOTHING, np.inf, 0.0)
        return np.divide(values, prices, out=free, where=prices > 0)

    def is_worth_it(self, score: float) -> bool:
        """Tell whether a question with this score is worth asking."""
        return score > self.least + NOTHING


def _prices(model: Model, costs: Any) -> dict[int, float]:
    """Return prices by the indices of variables, after checking them."""
    if not isinstance(costs, Mapping):
        raise errors.DataError(
            "costs= maps variables that may be asked for to their prices, such as {'xray': 20}; "
            f"got {costs!r:.80}."
        )
    return {
        model._index_of[model.variable(name).name]: finite_number(f"The price of {name!r}", price)
        for name, price in costs.items()
    }


def _candidates(
    model: Model, target: int, among: Any, prices: Mapping[int, float] | None
) -> tuple[int, ...]:
    """Return the candidates: those that are named, or that have a price, or all variables.

    The indicators of missing values are no candidates, unless they are named or have a price.
    """
    if among is None:
        # Of pairs: index of a number, and of the variable that says whether it is missing.
        indicators = {i for _, i in model._indicators}
        named = set(range(len(model.variables))) - indicators if prices is None else prices
        candidates = sorted(v for v in named if v != target)
        if prices and not candidates:
            raise errors.EvidenceError(
                f"costs= has a price of {model.names[target]!r} alone, the target, which cannot be "
                "asked for; give prices of other variables."
            )
        return tuple(candidates)
    if isinstance(among, (str, bytes)) or not isinstance(among, Iterable):
        raise errors.EvidenceError(f"among= is a list of names of variables; got {among!r:.80}.")
    candidates = sorted({model._index_of[model.variable(name).name] for name in among})
    if target in candidates:
        raise errors.EvidenceError(
            f"{model.names[target]!r} is the target, and cannot be asked for; leave it out of "
            "among=."
        )
    without = [model.names[v] for v in candidates if prices is not None and v not in prices]
    if without:
        raise errors.DataError(f"costs= has no price of {errors.quoted(without)}, named in among=.")
    return tuple(candidates)


# ---- The possible answers of questions: their probabilities, and the posterior after each of them
# The answers of a candidate x and the states t of the target form a table P(x | e) P(t | e, x).
# Where the model is a joint distribution this is P(t, x | e). In a product of tables, one
# propagation for each state of the target gives it for all candidates. Any other model is asked for
# the posterior of the target in one batch of rows for each candidate, a row for each answer.
#
# A weighted network and an average of posteriors are no joint distributions: P(x | e) and P(t | e,
# x) are both their own answers.


def by_propagation(model: Model, target: int, case: Case) -> tuple[Floats, dict[int, Floats]]:
    """Return P(t | e) and the tables of all free variables, for a product of tables.

    The tables P(x | e) P(t | e, x) have shape (n_answers, n_states). If the evidence has
    probability zero, there are none, and P(t | e) is zeros.
    """
    assert model._compiled_tables is not None  # callers have checked it
    cards = model._compiled_tables.tables.arrays.cards
    # Values and likelihoods by variable. Those of the target are left out here; its likelihoods are
    # added to the evidence of its states below.
    hard, soft = case.without(target)[:2]
    cases = [Case({**hard, target: s}, soft) for s in range(int(cards[target]))]
    propagation = model._work(All(), cases[0].pattern)
    # The marginals of all free variables for each state of the target; None if it is impossible.
    answers = [propagation.run(state) for state in cases]
    logs = np.array([-np.inf if m is None else m.log_evidence for m in answers])
    posterior = normalised_if_possible(logs[None] + case.soft.get(target, 0.0))[0]
    if not posterior.any():
        return posterior, {}
    free = [v for v in range(len(cards)) if v not in cases[0].hard]
    # P(x | e, t) of all free variables one after the other, for each state t.
    by_state = [np.zeros(int(cards[free].sum())) if m is None else m.flat for m in answers]
    # Times P(t | e): a row for each state of each free variable, a column for each t.
    joint = np.ascontiguousarray(np.array(by_state).T) * posterior
    # The part after the last end is empty, and zip leaves it out.
    return posterior, dict(zip(free, np.split(joint, np.cumsum(cards[free])), strict=False))


def joint_rows(model: Model, target: Discrete, candidate: Discrete, rows: Evidence) -> Floats:
    """Return P(x | row) P(t | row, x) of the states of a candidate x.

    Values that rows have of the candidate are ignored.

    Returns
    -------
    ndarray, shape (n_rows, n_answers, n_states)
        Zeros for impossible rows.

    Raises
    ------
    UnsupportedModelError
        If an average has no posterior of the candidate.
    """
    rows = rows.without([candidate])
    shape = rows.n_rows, candidate.cardinality, target.cardinality
    answered = with_values(rows, candidate, np.arange(candidate.cardinality))
    logs = model._log_posterior_rows(target, answered)
    if model._is_joint:
        # Log P(t, x, row): likelihoods of the candidate, which `with_values` has left out, are
        # added, shape (n_rows or 1, n_answers, 1).
        logs = logs.reshape(shape) + rows.likelihoods.get(candidate, np.zeros((1, 1)))[..., None]
        return normalised_if_possible(logs.reshape(rows.n_rows, -1)).reshape(shape)
    joint = normalised_if_possible(logs).reshape(shape)
    posterior = normalised_if_possible(model._log_posterior_rows(candidate, rows))
    joint = joint * posterior[..., None]
    # An answer that no member of an average thinks possible is no answer.
    return divided(joint, joint.sum(axis=(1, 2), keepdims=True))


def with_values(rows: Evidence, variable: Variable, values: NDArray[Any]) -> Evidence:
    """Return each row once for each value of a variable, which takes the place of likelihoods.

    The copies of a row follow one another, in the order of the values.
    """
    copies = rows.rows(np.repeat(np.arange(rows.n_rows), len(values)))
    columns = {**copies.columns, variable: np.tile(values, rows.n_rows)}
    soft = {v: logs for v, logs in copies.likelihoods.items() if v != variable}
    return Evidence(copies.n_rows, columns, soft)


# ---------------- Adaptive integration of several functions at once, with an estimate of the error


# Nodes and weights of the rule of Gauss and Legendre on a panel.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
# Sum of the errors at which no panel is divided any more, and the number of nodes after which none
# is, whatever the error.
_TOLERANCE, _MAX_NODES = 1e-11, 100_000


def integral(functions: Callable[[Floats], Floats], ends: Floats) -> tuple[Floats, Floats]:
    """Return the integrals of functions from the first to the last point, and their errors.

    Each panel between neighbouring points is integrated by the rule of Gauss and Legendre, and so
    are its halves. Their difference estimates the error, and panels with a large one are divided.

    Parameters
    ----------
    functions : callable
        From points, shape (n,), to the values of the functions, shape (n, n_functions).
    ends : ndarray
        Ascending points, the ends of the first panels; no function has a feature much narrower than
        the panel that it is in.

    Returns
    -------
    total, error : ndarray, shape (n_functions,)
    """
    # Of the panels that are still to be divided: their ends, and the integrals over each. `total`
    # and `error` are sums over the panels that are not divided any more.
    low, high = ends[:-1], ends[1:]
    coarse = _rule(functions, low, high)
    total = error = np.zeros(coarse.shape[1])
    n_nodes = 0
    while len(low):
        middle = 0.5 * (low + high)
        halves = np.concatenate([low, middle]), np.concatenate([middle, high])
        # Axes: first or second half, panel, function.
        parts = _rule(functions, *halves).reshape(2, len(low), -1)
        fine = parts.sum(axis=0)
        deviations = np.abs(fine - coarse)
        n_nodes += 2 * len(low) * len(_NODES)
        # A panel is divided if its error is above its share of half the tolerance, and no panel is
        # when the whole error is small enough.
        is_open = (deviations > 0.5 * _TOLERANCE / len(deviations)).any(axis=1)
        is_open &= n_nodes < _MAX_NODES and (error + deviations.sum(axis=0)).max() > _TOLERANCE
        total = total + fine[~is_open].sum(axis=0)
        error = error + deviations[~is_open].sum(axis=0)
        # The halves of open panels, all first ones before all second ones, are the next panels.
        coarse = np.concatenate(parts[:, is_open])
        low, high = (end[np.tile(is_open, 2)] for end in halves)
    return total, error


def _rule(functions: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return the integrals over panels, shape (n_panels, n_functions)."""
    half = 0.5 * (high - low)
    points = (0.5 * (low + high))[:, None] + half[:, None] * _NODES
    # Axes p: panels, k: nodes of a panel, f: functions.
    values = functions(points.ravel()).reshape(*points.shape, -1)
    return np.asarray(np.einsum("k,pkf,p->pf", _WEIGHTS, values, half))


# ----- Questions about numbers: integrals over the possible answers, with an estimate of the error
# The density of an answer x is p(x | e), and the posterior after it P(t | e, x). Where the model
# has a posterior of x, a mixture of Gaussians, the integrals are adaptive between the ends of its
# components. Other densities, such as those of kernels or log-normal leaves, are computed by asking
# the joint distribution for P(t, x, e) at each x; draws of x say where. Counts are summed.


# Ends of panels of a Gaussian component, in standard deviations. Beyond the last its mass is 1e-23.
_ENDS = np.array([-10.0, -4.0, -1.5, 0.0, 1.5, 4.0, 10.0])
# Number of draws that say where a density is, and of panels outside of them, each of which is twice
# as long as the one before.
_N_DRAWS, _N_OUTSIDE = 200, 24
# Distances of ends of panels from the edge of a support, in ranges of the draws.
_NEARER = 2.0 ** -np.arange(0.0, 1000.0, 20.0)
# Ranks of the quantiles that stand for a number where its answers are tried one by one.
RANKS = (np.arange(9) + 0.5) / 9
# Mass of a count that may be left out of a sum, and maximum number of its terms.
_TAIL, _MAX_COUNT = 1e-13, 2**16


def worth_of_number(model: Model, terms: Terms, number: int, case: Case, before: Floats) -> Floats:
    """Return information, gain and their error, shape (3,), of a question about a number.

    Parameters
    ----------
    model : Model
    terms : Terms
    number : int
        Index of the variable.
    case : Case
        What is known.
    before : ndarray, shape (n_states,)
        Posterior of the target.

    Raises
    ------
    UnsupportedModelError
        If the model has no posterior of the variable and is no joint distribution that can be
        sampled, or for a vector of counts.
    """
    variable, rows = model.variables[number], case.evidence(model.variables)
    if not isinstance(variable, Continuous):
        raise errors.UnsupportedModelError(
            f"{variable.name!r} is a vector of counts, which is not asked for as a whole."
        )
    posterior = _posterior(model, number, case)
    is_gaussian = isinstance(posterior, NumberMixture) and posterior.gaussian
    if not (is_gaussian or model._is_joint):
        raise errors.UnsupportedModelError(
            f"The posterior of {variable.name!r} is no mixture of normal distributions, and this "
            "model is no joint distribution: the worth of asking for it has no exact value."
        )
    # log P(e); the case is one row.
    log_evidence = log_total(model._log_posterior_rows(terms.variable, rows))[0]

    def shares(x: Floats) -> Floats:
        """Return the part of each answer in information, gain and mass, shape (n_answers, 3)."""
        # P(t | e, x) times p(x | e), or else p(t, x | e), shape (n_answers, n_states).
        logs = model._log_posterior_rows(terms.variable, with_values(rows, variable, x))
        if is_gaussian:
            joint = normalised_if_possible(logs) * posterior.density(x)[:, None]
        else:
            joint = np.exp(logs - log_evidence)
        return np.column_stack([*terms.worth(before[None], joint), joint.sum(axis=1)])

    # Of information, gain and mass; sums over counts have no error.
    sums, errors_of_sums = np.zeros(3), np.zeros(3)
    if isinstance(variable, Count):
        # Terms around the middle of the draws, in ever longer blocks below and above those so far,
        # until they have all but the tail's mass.
        start = stop = 64 * int(np.median(_draws(model, variable, case)) // 64)
        length = 64
        while 1.0 - sums[2] > _TAIL and stop - start < _MAX_COUNT:
            first, end = max(start - length, 0), stop + length
            counts = np.concatenate([np.arange(first, start), np.arange(stop, end)])
            sums += shares(counts.astype(np.float64)).sum(axis=0)
            start, stop, length = first, end, 2 * length
    elif is_gaussian:
        # Panels in which the density has no narrow peak. Both arrays have shape (n_components, 1).
        deviations = np.sqrt(posterior.covariances[:, :, 0])
        ends = (posterior.means + deviations * _ENDS).ravel()
        sums, errors_of_sums = integral(shares, _apart(ends, 0.25 * float(deviations.min())))
    else:
        # Panels around draws, and ever longer ones to both sides of them.
        draws = _draws(model, variable, case)
        # Their range, or a positive length in place of it if all are equal.
        span = float(draws[-1] - draws[0]) or max(abs(float(draws[0])), 1.0)
        away = 0.05 * span * np.cumsum(2.0 ** np.arange(_N_OUTSIDE))
        around = [draws[0] - away, _apart(draws, 0.01 * span), draws[-1] + away]
        jumps = _jumps(model, variable, span)
        sums, errors_of_sums = integral(shares, np.unique(np.concatenate([*around, *jumps])))
    # Answers that have the mass that was not found add the bounds of both measures at most.
    lost = abs(1.0 - sums[2]) * max(terms.bounds(before))
    return np.append(sums[:2], errors_of_sums[:2].max() + lost)


def _posterior(model: Model, number: int, case: Case) -> Any:
    """Return the posterior of a number; None if a joint distribution has none in closed form."""
    try:
        return model._work(Joint((number,)), case.pattern).run(case)
    except errors.UnsupportedModelError:
        if model._is_joint:
            return None
        raise


def typical_answers(model: Model, number: int, case: Case) -> Floats:
    """Return values of a number that stand for equal parts of its distribution."""
    posterior, variable = _posterior(model, number, case), model.variables[number]
    if posterior is not None:
        return np.array([posterior.quantile(rank) for rank in RANKS.tolist()])
    return np.quantile(_draws(model, variable, case), RANKS, method="nearest")


def _draws(model: Model, variable: Variable, case: Case) -> Floats:
    """Return draws of a number given the evidence, in ascending order.

    They only say where the density is, so that draws of any kind will do.
    """
    question = Sample() if model._answers(Sample) else Draw()
    rows = model._work(question, case.pattern).run(case).take(_N_DRAWS, np.random.default_rng(0))
    return np.sort(np.asarray(rows[variable], dtype=np.float64))


def _jumps(model: Model, variable: Continuous, step: float) -> Iterator[Floats]:
    """Yield the edges of a number's histogram or support, and thresholds of trees on it.

    A density may be infinite at the edge of a support: panels shrink towards it. The argument
    `step` is the range of the draws.
    """
    cpds = (cpd for _, network in networks_in(model) for cpd in network.cpds)
    for cpd in cpds:
        if isinstance(cpd, DensityCPD) and cpd.variable == variable:
            # Inwards: up from the lower end of the support, and down from the upper one.
            for end, side in zip(cpd.support, (1.0, -1.0), strict=True):
                if np.isfinite(end):
                    yield np.append(end, end + side * step * _NEARER)
        if isinstance(cpd, HistogramCPD) and cpd.variable == variable:
            yield cpd.edges
        elif isinstance(cpd, TreesCPD) and variable in cpd.parents:
            # Splits have their parents by index.
            yield cpd.trees.threshold[cpd.trees.feature == cpd.parents.index(variable)]


def _apart(points: Floats, gap: float) -> Floats:
    """Return ascending points of which no two are nearer than a gap."""
    return np.unique(np.round(points / gap)) * gap


# -------------------- The questions that can be asked next, ranked by what their answers are worth


_MAX_LINES = 20
# Number of rows and answers that are asked for together, and of rows of tables that are propagated
# one by one.
_TOGETHER, _FEW = 2**15, 32


class RankedQuestion(NamedTuple):
    """What it is worth to ask for one variable.

    Attributes
    ----------
    name : name
        The variable.
    information : float
        Expected information about the target, in nats.
    gain : float
        Expected gain of the decision about the target: of accuracy, or by losses that were given.
    cost : float
        Price; 1 if no prices were given.
    score : float
        What ranks the questions: worth per price.
    error : float
        Estimate of the absolute error of information and gain: 0 for sums, that of the integral for
        a number.
    """

    name: Name
    information: float
    gain: float
    cost: float
    score: float
    error: float


@dataclass(frozen=True, eq=False, repr=False)
class NextQuestion(DisplayedByName):
    """The questions that can be asked next, best first: a mapping from name to `RankedQuestion`.

    Attributes
    ----------
    posterior : Posterior
        Of the target, before the question.
    by : {"information", "accuracy", "utility"}
        The measure that ranks.
    questions : tuple of RankedQuestion
        From the highest score to the lowest; ties in the order of the model's variables.
    best : name or None
        The first question, None if it is not worth its price.
    refused : mapping from name to str
        Why variables are not ranked.
    is_priced : bool
        Whether prices were given.
    ahead : {1, 2}
        Whether scores are those of a question alone, or with the best second one.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> ill = bg.Discrete("ill", ["no", "yes"])
    >>> fever, test = bg.Discrete("fever", ["no", "yes"]), bg.Discrete("test", ["-", "+"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(ill, [0.7, 0.3]),
    ...     bg.TableCPD(fever, [[0.8, 0.2], [0.4, 0.6]], parents=[ill]),
    ...     bg.TableCPD(test, [[0.95, 0.05], [0.1, 0.9]], parents=[ill]),
    ... ])
    >>> net.ask.next_question("ill", costs={"fever": 1, "test": 20})
    Next question about ill: information per cost
             information (nats)    gain  cost   score
      fever              0.0747  0.0400     1  0.0747  ████████████████████████
      test               0.3786  0.2350    20  0.0189  ██████
    """

    posterior: Posterior
    by: str
    questions: tuple[RankedQuestion, ...]
    best: Name | None
    refused: Mapping[Name, str] = field(default_factory=dict)
    is_priced: bool = False
    ahead: int = 1
    _where = "The ranking of questions"

    @cached_property
    def _by_name(self) -> dict[Name, RankedQuestion]:
        return {question.name: question for question in self.questions}

    def _display(self) -> DisplayTable:
        shown = self.questions[:_MAX_LINES]
        is_scored = self.is_priced or self.ahead > 1
        # A list times False is empty: these columns are left out.
        header = ["", "information (nats)", "gain", *["cost"] * self.is_priced]
        header += ["score"] * is_scored
        rows = [
            [
                *(str(q.name), f"{q.information:.4f}", f"{q.gain:.4f}"),
                *[rounded(q.cost, 6)] * self.is_priced,
                *[f"{q.score:.4f}"] * is_scored,
            ]
            for q in shown
        ]
        notes = [more(len(self), len(shown), "questions")]
        if (largest := max((q.error for q in self.questions), default=0.0)) > 1e-6:
            notes.append(f"errors of integrals below {rounded(largest, 1)}")
        if shown and max(q.gain for q in shown) < NOTHING:
            notes.append("gain is 0: the decision stays the same whatever the answer")
        if self.best is None:
            notes.append(f"nothing is worth {'its price' if self.is_priced else 'asking'}")
        notes += [f"not ranked: {name}. {reason}" for name, reason in self.refused.items()]
        return DisplayTable(
            f"Next question about {self.posterior.names[0]}: {self.by}"
            f"{' per cost' if self.is_priced else ''}"
            f"{', two questions ahead' if self.ahead > 1 else ''}",
            rows,
            header=header if rows else (),
            bars=scaled([q.score for q in shown]),
            note="\n".join(filter(None, notes)),
        )


@dataclass(frozen=True, eq=False, repr=False)
class NextQuestions(Displayed):
    """The questions that can be asked next, for each row of a table.

    Attributes
    ----------
    names : tuple of names
        The variables that may be asked for.
    information, gain, scores, errors : ndarray, shape (n_rows, n_names)
        As in `RankedQuestion`; NaN where a row has the variable, or is impossible.
    costs : ndarray, shape (n_names,)
    posterior : ndarray, shape (n_rows, n_states)
        Of the target, before the question; zeros in impossible rows.
    terms : Terms
    refused : mapping from name to str
        Why variables are not ranked.
    """

    names: tuple[Name, ...]
    information: Floats
    gain: Floats
    scores: Floats
    errors: Floats
    costs: Floats
    posterior: Floats
    terms: Terms
    refused: dict[Name, str]

    @cached_property
    def best(self) -> list[Name | None]:
        """The best question of each row; None if none is worth its price."""
        if not self.names:
            return [None] * len(self.scores)
        # Rounded, so that the first of ties is the best. No score is below 0: a NaN, which is no
        # question, comes last as -1.
        scores = np.where(np.isnan(self.scores), -1.0, self.scores)
        places = np.argmax(np.round(scores, 12), axis=1)
        top = scores[np.arange(len(scores)), places]
        return [
            self.names[place] if self.terms.is_worth_it(score) else None
            for place, score in zip(places.tolist(), top.tolist(), strict=True)
        ]

    def __len__(self) -> int:
        return len(self.scores)

    def _display(self) -> DisplayTable:
        counted = Counter(self.best).most_common()
        rows = [("nothing" if n is None else str(n), f"{count:,}") for n, count in counted]
        bars = [count / max(len(self), 1) for _, count in counted]
        return DisplayTable(
            f"Next question of {len(self):,} rows, by {self.terms.by}", rows, bars=bars
        )


@question(All)
def next_question(
    model: Model,
    target: Name | None = None,
    evidence: EvidenceLike = None,
    *,
    costs: Mapping[Name, float] | None = None,
    among: Iterable[Name] | None = None,
    by: str | None = None,
    losses: Any = None,
    abstain: float | None = None,
    least: float | None = None,
    ahead: int = 1,
    do: Intervention = None,
) -> NextQuestion:
    """Return the variables to ask for next, ranked by what their answers are worth.

    Information is the expected relative entropy of the posterior after the answer and the one
    before, the mutual information in a joint distribution; gain is the expected gain of the
    decision about the target. See :mod:`bayesgraph.questions.asking`.

    Parameters
    ----------
    model : model or fitted estimator
    target : name, optional
        A discrete variable. By default the class of the estimator.
    evidence : mapping from name to value, optional
        As in `query`.
    costs : mapping from name to price, optional
        Prices of the variables that may be asked for; what is worth most per price comes first.
        Without prices each costs 1.
    among : iterable of names, optional
        The variables that may be asked for: by default those that have a price, or all.
        Variables that are observed are left out.
    by : {"information", "accuracy", "utility"}, optional
        What ranks: the information in nats, the gain of accuracy, or what is saved of `losses`.
        By default the last if there are losses or a price of abstaining, else the first.
    losses : array_like or mapping, optional
        Losses of decisions, as for the classifiers' method `decide`.
    abstain : float, optional
        Cost of abstaining, as for `decide`.
    least : float, optional
        Worth per price above which a question is worth asking: by default 1 if losses and
        prices are given, which are then in one unit, else 0.
    ahead : {1, 2}
        With 2, the worth of a question includes the best second question after each answer,
        which takes a ranking for each; nine quantiles stand for the answers of a number.
    do : mapping from name to value, optional
        Variables that are set from outside, whatever their parents; see `do`. The answers are those
        after the intervention.

    Returns
    -------
    NextQuestion
        A mapping from name to its worth, best first, with the attribute `best`.

    Raises
    ------
    UnknownVariableError, UnknownStateError, EvidenceError, DataError
        For unknown names or states, or invalid arguments.
    ImpossibleEvidenceError
        If the evidence has probability zero.
    UnsupportedModelError
        If a variable that is named has no answers to try; others are listed in `refused`.
    """
    asked, evidence = under(model, do, evidence) if do else (model, evidence)
    terms = Terms.of(asked, target, costs, among, by, losses, abstain, least)
    return ranked(asked, terms, evidence, ahead)


def ranked(model: Model, terms: Terms, evidence: EvidenceLike, ahead: int = 1) -> NextQuestion:
    """Return the candidates that are not observed, ranked on some terms."""
    ahead = whole_number("ahead", "questions", ahead, 1)
    if ahead > 2:
        raise errors.DataError(f"ahead= is 1 or 2 questions; got {ahead}.")
    model, evidence = with_findings(model, as_mapping(evidence))
    if beliefs := [name for name, value in evidence.items() if isinstance(value, Belief)]:
        raise errors.EvidenceError(
            f"A Belief about {errors.quoted(beliefs)} depends on all findings, so that it changes "
            "with the answer; give likelihoods."
        )
    rows, variable = model._encode(evidence), terms.variable
    if variable in rows:
        raise errors.EvidenceError(
            f"{variable.name!r} is both the target and observed; leave it out of one of them."
        )
    table = ranked_rows(model, terms, rows)
    if not table.posterior.any():
        raise impossible(evidence)
    questions = []
    # The first and only row, in the order of the fields of `RankedQuestion`.
    columns = table.information[0], table.gain[0], table.costs, table.scores[0], table.errors[0]
    for place in np.flatnonzero(~np.isnan(table.information[0])).tolist():
        question = RankedQuestion(table.names[place], *(float(column[place]) for column in columns))
        if ahead == 2:
            question = question._replace(score=_score_of_pairs(model, terms, rows, table, place))
        questions.append(question)
    # From the highest score on, ties in the order of the candidates; rounded, since ties may differ
    # in their last digits.
    questions.sort(key=lambda question: -np.round(question.score, 12))
    is_worth_it = bool(questions) and terms.is_worth_it(questions[0].score)
    return NextQuestion(
        Posterior((variable,), table.posterior[0], np.nan),
        terms.by,
        tuple(questions),
        questions[0].name if is_worth_it else None,
        table.refused,
        terms.is_priced,
        ahead,
    )


def ranked_rows(model: Model, terms: Terms, rows: Evidence) -> NextQuestions:
    """Return the worth of the candidates in each row that does not observe them."""
    # One propagation for each state of the target gives the tables of all candidates in a row.
    # `before` is the posterior without an answer, (n_rows, n_states); zeros in impossible rows.
    tables = None
    if model._compiled_tables is not None and rows.n_rows <= _FEW:
        cases = [_case(model, rows, row) for row in range(rows.n_rows)]
        tables = [by_propagation(model, terms.target, case) for case in cases]
        before = np.array([posterior for posterior, _ in tables])
        # With this shape also if there are no rows.
        before = before.reshape(rows.n_rows, terms.variable.cardinality)
    else:
        before = normalised_if_possible(model._log_posterior_rows(terms.variable, rows))
    worths: dict[int, Floats] = {}
    refused: dict[Name, str] = {}
    indicators = {number: model.variables[i] for number, i in model._indicators}
    for v in terms.candidates:
        candidate, is_open = model.variables[v], before.any(axis=1)
        if candidate in rows:
            is_open &= ~rows.observed_rows(candidate)
        if (indicator := indicators.get(v)) is not None and indicator in rows:
            is_open &= rows.columns[indicator] != 1  # 1, "yes": it is known to be missing
        try:
            worths[v] = _worths(model, terms, v, rows, before, np.flatnonzero(is_open), tables)
        except errors.UnsupportedModelError as error:
            if terms.is_chosen:
                raise
            refused[candidate.name] = str(error)
    # Axes: candidate, measure, row; without candidates the shape does not follow from the list.
    shape = len(worths), 3, rows.n_rows
    information, gain, deviations = np.reshape([*worths.values()], shape).transpose(1, 2, 0)
    costs = np.array([terms.prices[v] for v in worths])
    scores = terms.scores(terms.values(information, gain), np.broadcast_to(costs, gain.shape))
    scores = np.where(np.isnan(information), np.nan, scores)
    names = tuple(model.names[v] for v in worths)
    return NextQuestions(
        names, information, gain, scores, deviations, costs, before, terms, refused
    )


def _case(model: Model, rows: Evidence, row: int) -> Case:
    """Return a row of encoded evidence as a case, without the values that are missing in it."""
    single, _ = rows.rows(np.array([row])).split()
    hard = {model._index_of[v.name]: column[0] for v, column in single.columns.items()}
    soft = {model._index_of[v.name]: logs[0] for v, logs in single.likelihoods.items()}
    return Case({v: x.item() if isinstance(x, np.generic) else x for v, x in hard.items()}, soft)


def _worths(
    model: Model,
    terms: Terms,
    number: int,
    rows: Evidence,
    before: Floats,
    open_rows: NDArray[np.intp],
    tables: Sequence[Any] | None,
) -> Floats:
    """Return information, gain and error of a candidate, shape (3, n_rows).

    They are those of the rows with the indices `open_rows`, and NaN in others. `number` is the
    index of the candidate, and `tables` what `by_propagation` gives for each row, None if the model
    is asked for rows instead.
    """
    candidate, target = model.variables[number], terms.variable
    worths = np.full((3, rows.n_rows), np.nan)
    if not isinstance(candidate, Discrete):
        for row in open_rows.tolist():
            case = _case(model, rows, row)
            worths[:, row] = worth_of_number(model, terms, number, case, before[row])
        return np.asarray(np.maximum(worths, 0.0))
    step = max(1, _TOGETHER // candidate.cardinality)
    for start in range(0, len(open_rows), step):
        chunk = open_rows[start : start + step]
        if tables is None:
            joint = joint_rows(model, target, candidate, rows.rows(chunk))
        else:
            joint = np.array([tables[row][1][number] for row in chunk.tolist()])
        # Sums over the answers, the last axis; sums have no error.
        worths[:2, chunk] = np.sum(terms.worth(before[chunk, None], joint), axis=-1)
        worths[2, chunk] = 0.0
    # Rounding may give a worth of 0 a negative sign; NaN stays.
    return np.asarray(np.maximum(worths, 0.0))


# ------------------------------------------------------------------------- two questions ahead


# What may be asked after an answer x: P(x | e), and worth and price of each candidate, both arrays
# of shape (n_candidates,).
_Branch: TypeAlias = tuple[float, Floats, Floats]


def _score_of_pairs(
    model: Model, terms: Terms, rows: Evidence, table: NextQuestions, place: int
) -> float:
    """Return the score of a question together with the best one after each answer.

    Without prices this is the expected worth of both. With prices it is the expected worth by the
    expected price, the highest of all ways to choose a second question, or none, by the answer. The
    argument `table` ranks single questions in one row, and `place` is the question's column of it.
    What is worth nothing alone may be worth something with another answer, as with an exclusive or
    (Heckerman, Horvitz and Middleton 1993). A few quantiles stand for the answers of a number.
    """
    candidate = model.variable(table.names[place])
    if isinstance(candidate, Discrete):
        answers: NDArray[Any] = np.arange(candidate.cardinality)
        # P(x | e): the table of the only row, summed over the states of the target.
        shares = joint_rows(model, terms.variable, candidate, rows)[0].sum(axis=1)
    else:
        number, case = model._index_of[candidate.name], _case(model, rows, 0)
        answers = typical_answers(model, number, case)
        shares = np.full(len(RANKS), 1.0 / len(RANKS))
    # A row for each answer, in which the other candidates are ranked.
    after = ranked_rows(model, terms, with_values(rows, candidate, answers))
    branches = []
    seconds = terms.values(after.information, after.gain)
    for share, second in zip(shares.tolist(), seconds, strict=True):
        is_open = ~np.isnan(second)
        if share > 0 and is_open.any():
            branches.append((share, second[is_open], after.costs[is_open]))
    worth = float(terms.values(table.information, table.gain)[0, place])
    if terms.is_priced:
        return _best_rate(worth, float(table.costs[place]), branches)
    return float(worth + sum(share * worths.max() for share, worths, _ in branches))


def _best_rate(worth: float, price: float, branches: Sequence[_Branch]) -> float:
    """Return the highest expected worth by expected price of a question and perhaps a second one.

    The best rate r is the one at which the most that can be made of worth less r times price is 0
    (Dinkelbach 1967): r is raised to the rate of what makes the most, until that does not change.
    """
    rate = _rate(worth, price)
    while np.isfinite(rate):
        total, paid = worth, price
        for share, worths, prices in branches:
            surplus = worths - rate * prices
            best = int(np.argmax(surplus))
            if surplus[best] > 0:
                total, paid = total + share * worths[best], paid + share * prices[best]
        better = _rate(total, paid)
        if better <= rate * (1.0 + NOTHING) + NOTHING:
            break
        rate = better
    return rate


def _rate(worth: float, price: float) -> float:
    """Return worth by price; what is free has an infinite rate if it is worth something."""
    if price > 0:
        return worth / price
    return np.inf if worth > NOTHING else 0.0


@question(All)
def next_question_rows(
    model: Model,
    table: TableLike,
    target: Name | None = None,
    *,
    unseen: str = "error",
    **options: Unpack[Options],
) -> NextQuestions:
    """Return the variables to ask for next, for each row of a table.

    Parameters
    ----------
    model : model or fitted estimator
    table : pandas, polars or pyarrow table, or mapping from name to column
        As for `query_rows`. What is missing in a row may be asked for.
    target : name, optional
        A discrete variable; its column is ignored. By default the class of the estimator.
    unseen : {"error", "missing", "warn"}
        What a value becomes that is not a state; see `query_rows`.
    **options
        ``costs``, ``among``, ``by``, ``losses``, ``abstain`` and ``least`` as for
        `next_question`.
    """
    terms = Terms.of(model, target, **options)
    rows = evidence_rows(model, table, terms.variable, unseen)
    ranking = ranked_rows(model, terms, rows)
    if n_impossible := int((~ranking.posterior.any(axis=1)).sum()):
        errors.warn(
            f"{n_impossible} of {rows.n_rows} rows have probability zero under the model; there "
            "is no question for them.",
            errors.ImpossibleEvidenceWarning,
        )
    return ranking


# ---- Sessions of questions: the best one is asked, until the answer is known or not worth more


class Step(NamedTuple):
    """A question that was asked.

    Attributes
    ----------
    name : name
        The variable.
    answer : value or None
        None if the answer is not known.
    cost : float
        What was paid: nothing without an answer.
    posterior : Posterior
        Of the target, after the answer.
    """

    name: Name
    answer: Any
    cost: float
    posterior: Posterior


@dataclass(frozen=True, eq=False, repr=False)
class Questionnaire(Displayed):
    """A session of questions about a target; answers return the session that goes on.

    Attributes
    ----------
    model : Model
    terms : Terms
        Target, candidates, prices and measure.
    evidence : mapping from name to value
        What is known: the evidence at the beginning and all answers.
    ahead : int
    threshold, budget : float or None
        Probability of a state, and sum of prices, at which the session ends.
    steps : tuple of Step
        The questions that were asked.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> ill = bg.Discrete("ill", ["no", "yes"])
    >>> fever, test = bg.Discrete("fever", ["no", "yes"]), bg.Discrete("test", ["-", "+"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(ill, [0.7, 0.3]),
    ...     bg.TableCPD(fever, [[0.8, 0.2], [0.4, 0.6]], parents=[ill]),
    ...     bg.TableCPD(test, [[0.95, 0.05], [0.1, 0.9]], parents=[ill]),
    ... ])
    >>> session = net.ask.questionnaire("ill", costs={"fever": 1, "test": 20}, threshold=0.9)
    >>> session.question
    'fever'
    >>> session = session.answered("yes")
    >>> session.question
    'test'
    >>> session.answered("+")
    Questions about ill: P(yes) = 0.9586 after 2 answers, cost 21
                     cost  P(yes)
      before               0.3000
      fever = 'yes'     1  0.5625
      test = '+'       20  0.9586
      ended: the probability has reached 0.9
    """

    model: Model
    terms: Terms
    evidence: Mapping[Name, Any]
    ahead: int = 1
    threshold: float | None = None
    budget: float | None = None
    steps: tuple[Step, ...] = ()

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior of the target given all that is known."""
        answer: Posterior = self.model.query(self.terms.variable.name, self.evidence)
        return answer

    @property
    def spent(self) -> float:
        """The sum of the prices of all answers."""
        return float(sum(step.cost for step in self.steps))

    @cached_property
    def ranking(self) -> NextQuestion:
        """The questions that were not asked and that the rest of the budget allows, ranked."""
        return self._ranked(np.inf if self.budget is None else self.budget - self.spent)

    def _ranked(self, most: float) -> NextQuestion:
        """Return the questions that were not asked and cost at most a price, ranked."""
        asked = {self.model._index_of[step.name] for step in self.steps}
        prices = self.terms.prices
        allowed = [v for v in self.terms.candidates if prices[v] <= most + NOTHING]
        left = tuple(v for v in allowed if v not in asked)
        return ranked(self.model, replace(self.terms, candidates=left), self.evidence, self.ahead)

    @cached_property
    def question(self) -> Name | None:
        """The variable to ask for next; None if the session has ended."""
        return None if self._is_known else self.ranking.best

    @property
    def _is_known(self) -> bool:
        top = float(self.posterior.probabilities.max())
        return self.threshold is not None and top >= self.threshold

    @property
    def reason(self) -> str | None:
        """Why the session has ended, in words; None if there is a question."""
        if self._is_known:
            assert self.threshold is not None
            return f"the probability has reached {rounded(self.threshold, 6)}"
        if self.question is not None:
            return None
        if len(self.ranking):
            return f"no question is worth {'its price' if self.terms.is_priced else 'asking'}"
        if self.budget is not None and len(self._ranked(np.inf)):
            return f"no question is within the rest of the budget of {rounded(self.budget, 6)}"
        return "all questions were asked"

    def answered(self, answer: Any, question: Name | None = None) -> Questionnaire:
        """Return the session after an answer.

        Parameters
        ----------
        answer : value, or None
            A state, a number or likelihoods; None and NaN if the answer is not known. Then the
            variable is not asked for again, and nothing is paid.
        question : name, optional
            The variable that was asked for, by default the best question.

        Raises
        ------
        DataError
            If the session has ended and no question is named.
        EvidenceError
            If the question is the target, is known, was asked before, or the answer does not fit.
        ImpossibleEvidenceError
            If the answer is impossible given what is known.
        """
        asked = self.question if question is None else question
        if asked is None:
            raise errors.DataError(
                f"The session has ended: {self.reason}. Name the question that was answered, or "
                "begin another session."
            )
        name = self.model.variable(asked).name
        index = self.model._index_of[name]
        if index == self.terms.target:
            raise errors.EvidenceError(f"{name!r} is the target of the session, no question.")
        is_observed = not is_missing(self.evidence.get(name))
        if is_observed or any(step.name == name for step in self.steps):
            raise errors.EvidenceError(
                f"{name!r} is known or was asked before; begin another session to correct it."
            )
        is_known = not is_missing(answer)
        evidence = {**self.evidence, name: answer} if is_known else self.evidence
        after = replace(self, evidence=evidence)
        price = self.terms.prices.get(index, 0.0) if is_known else 0.0
        # The posterior is computed here, so that an impossible answer is refused.
        step = Step(name, answer if is_known else None, price, after.posterior)
        return replace(after, steps=(*self.steps, step))

    def run(self, ask: Callable[[Name], Any]) -> Questionnaire:
        """Return the session at its end, after a function has answered all questions.

        Parameters
        ----------
        ask : callable
            From the name of a variable to its value; None if it is not known.
        """
        session = self
        while session.question is not None:
            session = session.answered(ask(session.question))
        return session

    def _display(self) -> DisplayTable:
        # The state that is most probable now: the table follows its probability.
        state = self.posterior.argmax
        n_answers = sum(step.answer is not None for step in self.steps)
        cost = f", cost {rounded(self.spent, 6)}" if self.terms.is_priced else ""
        # The evidence before the first question.
        asked = {step.name for step in self.steps}
        at_start = {name: value for name, value in self.evidence.items() if name not in asked}
        target = self.terms.variable.name
        prior = self.model.query(target, at_start)
        rows = [("before", "", f"{prior[state]:.4f}")]
        for step in self.steps:
            answer = "not known" if step.answer is None else f"{step.answer!r}"
            rows.append(
                (f"{step.name} = {answer}", rounded(step.cost, 6), f"{step.posterior[state]:.4f}")
            )
        note = f"next: {self.question}" if self.reason is None else f"ended: {self.reason}"
        return DisplayTable(
            f"Questions about {target}: P({state}) = {self.posterior[state]:.4f} after "
            f"{n_answers} answer{'' if n_answers == 1 else 's'}{cost}",
            rows,
            header=("", "cost", f"P({state})"),
            note=note,
        )


@question(All)
def questionnaire(
    model: Model,
    target: Name | None = None,
    evidence: EvidenceLike = None,
    *,
    threshold: float | None = None,
    budget: float | None = None,
    ahead: int = 1,
    do: Intervention = None,
    **options: Unpack[Options],
) -> Questionnaire:
    """Return a session of questions about a target, which ends when enough is known.

    ``session.question`` is the next question, None at the end, and ``session.answered(value)``
    the session after the answer. ``session.run(ask)`` asks a function to the end.

    Parameters
    ----------
    model : model or fitted estimator
    target, evidence, ahead, do
        As for `next_question`.
    threshold : float, optional
        The session ends when a state of the target has this probability.
    budget : float, optional
        Maximum sum of the prices of all questions; of their number if there are no prices.
    **options
        ``costs``, ``among``, ``by``, ``losses``, ``abstain`` and ``least`` as for
        `next_question`. The session ends when no question is worth its price.
    """
    asked, evidence = under(model, do, evidence) if do else (model, as_mapping(evidence))
    terms = Terms.of(asked, target, **options)
    items = {item for items in asked._items_among(evidence).values() for item in items}
    values = {n if n in items else asked.variable(n).name: value for n, value in evidence.items()}
    limit = None if threshold is None else finite_number("threshold=", threshold)
    if limit is not None and limit > 1:
        raise errors.DataError(f"threshold= is a probability, from 0 to 1; got {threshold!r}.")
    most = None if budget is None else finite_number("budget=", budget)
    return Questionnaire(asked, terms, values, ahead, limit, most)
