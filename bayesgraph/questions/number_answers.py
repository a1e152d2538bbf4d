"""Questions about numbers: integrals over the possible answers, with an estimate of the error.

The density of an answer x is p(x | e), and the posterior after it P(t | e, x). Where the model has
a posterior of x, a mixture of Gaussians, the integrals are adaptive between the ends of its
components. Other densities, such as those of kernels or log-normal leaves, are computed by asking
the joint distribution for P(t, x, e) at each x; draws of x say where. Counts are summed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import UnsupportedModelError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, Count, Discrete
from bayesgraph.inference import (
    Case,
    Draw,
    Joint,
    MixedPosterior,
    NumberMixture,
    Sample,
    log_total,
)
from bayesgraph.models import DensityCPD, HistogramCPD, Model, TreeCPD
from bayesgraph.questions.asking import Answers, Stakes, is_joint, posterior_rows, with_values

# ---------------- Adaptive integration of several functions at once, with an estimate of the error


# Nodes from 0 on of the rule of Gauss and Kronrod with 15 nodes, their weights, and the weights of
# every second of them in the rule of Gauss with 7 nodes (Piessens et al. 1983, QUADPACK).
_NODES = np.array(
    [
        0.991455371120812639206854697526329,
        0.949107912342758524526189684047851,
        0.864864423359769072789712788640926,
        0.741531185599394439863864773280788,
        0.586087235467691130294144691693013,
        0.405845151377397166906606412076961,
        0.207784955007898467600689403773245,
        0.0,
    ]
)
_WEIGHTS = np.array(
    [
        0.022935322010529224963732008058970,
        0.063092092629978553290700663189204,
        0.104790010322250183839876322541518,
        0.140653259715525918745189590510238,
        0.169004726639267902826583426598550,
        0.190350578064785409913256402421014,
        0.204432940075298892414161999234649,
        0.209482141084727828012999174891714,
    ]
)
_OF_GAUSS = np.array(
    [
        0.129484966168869693270611432679082,
        0.279705391489276667901467771423780,
        0.381830050505118944950369775488975,
        0.417959183673469387755102040816327,
    ]
)
_X = np.concatenate([-_NODES, _NODES[-2::-1]])
_KRONROD = np.concatenate([_WEIGHTS, _WEIGHTS[-2::-1]])
_GAUSS = np.zeros(15)
_GAUSS[1::2] = np.concatenate([_OF_GAUSS, _OF_GAUSS[-2::-1]])
# Sum of the errors at which no panel is divided any more, and the number of nodes after which none
# is, whatever the error.
_TOLERANCE, _MAX_NODES = 1e-11, 60_000


class Integral(NamedTuple):
    """Integrals of several functions.

    Attributes
    ----------
    values, errors : ndarray, shape (n_functions,)
        The integrals, and estimates of their absolute errors.
    """

    values: Floats
    errors: Floats


def integral(functions: Callable[[Floats], Floats], ends: Floats) -> Integral:
    """Return the integrals of functions from the first to the last of some points.

    Each panel between neighbouring points is integrated by the rule of Gauss and Kronrod; panels
    with a large error are divided in halves (Piessens, de Doncker-Kapenga, Überhuber and Kahaner
    1983, section 2.2.2, whose estimate of the error this is).

    Parameters
    ----------
    functions : callable
        From points, shape (n,), to the values of the functions, shape (n, n_functions).
    ends : ndarray
        Ascending points; no function has a feature much narrower than the panel that it is in.
    """
    low, high = ends[:-1], ends[1:]
    values, errors = _rule(functions, low, high)
    n_nodes = values.shape[0] * len(_X)
    while errors.sum(axis=0).max() > _TOLERANCE and n_nodes < _MAX_NODES:
        open_ = (errors > 0.5 * _TOLERANCE / len(errors)).any(axis=1)
        middle = 0.5 * (low[open_] + high[open_])
        halves = (
            np.concatenate([low[open_], middle]),
            np.concatenate([middle, high[open_]]),
        )
        found = _rule(functions, *halves)
        n_nodes += found[0].shape[0] * len(_X)
        closed = ~open_
        low, high = (
            np.concatenate([own[closed], new]) for own, new in zip((low, high), halves, strict=True)
        )
        values, errors = (
            np.concatenate([own[closed], new])
            for own, new in zip((values, errors), found, strict=True)
        )
    return Integral(values.sum(axis=0), errors.sum(axis=0))


def _rule(
    functions: Callable[[Floats], Floats], low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Return the integrals over panels and their errors, each of shape (n_panels, n_functions)."""
    half = 0.5 * (high - low)
    points = (0.5 * (low + high))[:, None] + half[:, None] * _X
    found = functions(points.ravel()).reshape(*points.shape, -1)
    by_kronrod = np.einsum("k,pkf->pf", _KRONROD, found)
    gap = np.abs(np.einsum("k,pkf->pf", _KRONROD - _GAUSS, found))
    spread = np.einsum("k,pkf->pf", _KRONROD, np.abs(found - 0.5 * by_kronrod[:, None]))
    ratio = np.divide(200.0 * gap, spread, out=np.zeros_like(gap), where=spread > 0)
    errors = spread * np.minimum(1.0, ratio**1.5)
    return by_kronrod * half[:, None], errors * half[:, None]


# ----- Questions about numbers: integrals over the possible answers, with an estimate of the error


# Ends of panels of a Gaussian component, in standard deviations. Beyond the last its mass is 1e-23.
_ENDS = np.array([-10.0, -4.0, -1.5, 0.0, 1.5, 4.0, 10.0])
# Number of draws that say where a density is, and of panels outside of them, each of which is twice
# as long as the one before.
_N_DRAWS, _N_OUTSIDE = 200, 24
# Distances of ends of panels from the edge of a support, in ranges of the draws.
_NEARER = 2.0 ** -np.arange(0.0, 1000.0, 20.0)
# Ranks of the quantiles that stand for a number where its answers are tried one by one.
_RANKS = (np.arange(9) + 0.5) / 9
# Mass of a count that may be left out of a sum, and maximum number of its terms.
_TAIL, _MAX_COUNT = 1e-13, 2**16


class Worth(NamedTuple):
    """What a question about a number is worth.

    Attributes
    ----------
    information, gain : float
    error : float
        Estimate of the absolute error of the less exact one.
    """

    information: float
    gain: float
    error: float


class _Components(NamedTuple):
    """A density of x as a mixture of Gaussians, and of each the state of the target it belongs to.

    `states` is a matrix of ones and zeros, shape (n_components, n_states), or ones if the mixture
    is not divided by states.
    """

    weights: Floats
    means: Floats
    deviations: Floats
    states: Floats

    def joint(self, x: Floats) -> Floats:
        """Return the density at points, shape (n,), by state, shape (n, n_states)."""
        distance = (x[:, None] - self.means) / self.deviations
        height = self.weights / (np.sqrt(2.0 * np.pi) * self.deviations)
        found: Floats = (np.exp(-0.5 * distance**2) * height) @ self.states
        return found

    @property
    def ends(self) -> Floats:
        """The ends of panels in which the density has no narrow peak."""
        points = np.sort((self.means[:, None] + self.deviations[:, None] * _ENDS).ravel())
        return _apart(points, 0.25 * float(self.deviations.min()))


def worth_of_number(
    model: Model, target: int, candidate: int, case: Case, before: Floats, stakes: Stakes
) -> Worth:
    """Return what a question about a continuous variable is worth.

    Parameters
    ----------
    model : Model
    target, candidate : int
        Indices of the variables.
    case : Case
        What is known.
    before : ndarray, shape (n_states,)
        Posterior of the target.
    stakes : Stakes

    Raises
    ------
    UnsupportedModelError
        If the model has no posterior of the variable and is no joint distribution that can be
        sampled, or for a vector of counts.
    """
    variable, t = model.variables[candidate], model.variables[target]
    assert isinstance(t, Discrete)  # callers have checked it
    if not isinstance(variable, Continuous):
        raise UnsupportedModelError(
            f"{variable.name!r} is a vector of counts, which is not asked for as a whole."
        )
    rows = case.evidence(model.variables)
    after = partial(_after, model, t, variable, rows)
    found = _components(model, target, candidate, case)
    if found is not None:
        # In a joint distribution the components say all.
        joint = found.joint if is_joint(model) else lambda x: found.joint(x) * after(x)
        return _integrated(joint, found.ends, before, stakes)
    density = partial(_density, model, t, variable, rows)
    if isinstance(variable, Count):
        # The worth of a question whose answers are the numbers 0, 1, and so on.
        values, start, stop = np.zeros(3), 0, 64
        while 1.0 - values[2] > _TAIL and start < _MAX_COUNT:
            masses = density(np.arange(start, stop, dtype=np.float64))
            parts = [*stakes.worth(before[None], masses), masses.sum(axis=1)]
            values += [part.sum() for part in parts]
            start, stop = stop, 2 * stop
        return _worth(values, np.zeros(3), before, stakes)
    # The ends of panels around draws, and ever longer ones to both sides of them.
    draws = _draws(model, variable, case)
    step = float(draws[-1] - draws[0]) or max(abs(float(draws[0])), 1.0)
    away = 0.05 * step * np.cumsum(2.0 ** np.arange(_N_OUTSIDE))
    inside = _apart(draws, 0.01 * step)
    around = np.concatenate([draws[0] - away[::-1], inside, draws[-1] + away])
    ends = np.union1d(around, _jumps(model, variable, step))
    return _integrated(density, ends, before, stakes)


def _components(model: Model, target: int, candidate: int, case: Case) -> _Components | None:
    """Return the posterior of a number as components, by states in a joint distribution.

    The result is None if in a joint distribution the posterior is none of normal distributions.
    """
    joint = is_joint(model)
    question = Joint((target, candidate)) if joint else Joint((candidate,))
    try:
        posterior = model.work(question, case.pattern).run(case)
    except UnsupportedModelError:
        if joint:
            return None
        raise
    assert posterior is not None  # the evidence is possible
    if isinstance(posterior, MixedPosterior):
        shares, units = posterior.discrete.probabilities, np.eye(len(posterior.discrete))
        states = posterior.discrete.variables[0].states
        found = [
            (float(share), posterior.given(state), unit)
            for share, state, unit in zip(shares, states, units, strict=True)
            if share > 0
        ]
    else:
        assert isinstance(posterior, NumberMixture)
        found = [(1.0, posterior, np.ones(1))]
    parts = [(share, m, unit) for share, m, unit in found if m.gaussian]
    if len(parts) < len(found):
        if joint:
            return None
        name = model.names[candidate]
        raise UnsupportedModelError(
            f"The posterior of {name!r} is no mixture of normal distributions, and this model is "
            "no joint distribution: the worth of asking for it has no exact value."
        )
    return _Components(
        np.concatenate([share * mixture.weights for share, mixture, _ in parts]),
        np.concatenate([mixture.means[:, 0] for _, mixture, _ in parts]),
        np.sqrt(np.concatenate([mixture.covariances[:, 0, 0] for _, mixture, _ in parts])),
        np.concatenate([np.tile(unit, (len(mixture.weights), 1)) for _, mixture, unit in parts]),
    )


def _after(model: Model, target: Discrete, variable: Continuous, rows: Evidence, x: Floats) -> Any:
    """Return P(t | e, x) at each x, shape (n, n_states)."""
    return posterior_rows(model, target, with_values(rows, variable, x))


def _density(
    model: Model, target: Discrete, variable: Continuous, rows: Evidence, x: Floats
) -> Floats:
    """Return p(x | e) P(t | e, x) at each x, shape (n, n_states), of a joint distribution."""
    total = log_total(model.log_posterior_rows(target, rows))[0]
    logs = model.log_posterior_rows(target, with_values(rows, variable, x))
    found: Floats = np.exp(logs - total)
    return found


def _integrated(
    joint: Callable[[Floats], Floats], ends: Floats, before: Floats, stakes: Stakes
) -> Worth:
    """Return the worth of a question whose answers have densities by state of the target."""

    def functions(x: Floats) -> Floats:
        density = joint(x)
        return np.column_stack([*stakes.worth(before[None], density), density.sum(axis=1)])

    found = integral(functions, ends)
    return _worth(found.values, found.errors, before, stakes)


def _worth(values: Floats, errors: Floats, before: Floats, stakes: Stakes) -> Worth:
    """Return integrals as a `Worth`; mass that was not found adds to the error."""
    information, gain, mass = values.tolist()
    lost = abs(1.0 - mass) * max(stakes.bounds(before))
    return Worth(information, gain, float(errors[:2].max()) + lost)


def typical_answers(model: Model, candidate: int, case: Case) -> Answers:
    """Return values of a number that stand for equal parts of its distribution."""
    variable = model.variables[candidate]
    assert isinstance(variable, Continuous)  # it has a worth
    try:
        posterior = model.work(Joint((candidate,)), case.pattern).run(case)
        values = [posterior.quantile(rank) for rank in _RANKS.tolist()]
    except UnsupportedModelError:
        draws = _draws(model, variable, case)
        values = np.quantile(draws, _RANKS, method="nearest").tolist()
    return [(value, 1.0 / len(_RANKS)) for value in values]


def fewer(answers: Answers) -> Answers:
    """Return the quantiles of many answers that are numbers, and few as they are."""
    if len(answers) <= len(_RANKS):
        return answers
    places = np.searchsorted(np.cumsum([share for _, share in answers]), _RANKS)
    return [(answers[place][0], 1.0 / len(_RANKS)) for place in places.tolist()]


def _draws(model: Model, variable: Continuous, case: Case) -> Floats:
    """Return draws of a number given the evidence, in ascending order."""
    question = Sample() if model.answers(Sample) else Draw()
    taken = model.work(question, case.pattern).run(case)
    found = taken.take(_N_DRAWS, np.random.default_rng(0))[variable]
    return np.sort(np.asarray(found, dtype=np.float64))


def _jumps(model: Model, variable: Continuous, step: float) -> Floats:
    """Return the edges of a number's histogram or support, and thresholds of trees on it.

    A density may be infinite at the edge of a support: panels shrink towards it.
    """
    found: list[Floats] = []
    networks = getattr(model, "networks", (model,))
    for cpd in (cpd for network in networks for cpd in getattr(network, "cpds", ())):
        if isinstance(cpd, DensityCPD) and cpd.variable == variable:
            for end, side in zip(cpd.support, (1.0, -1.0), strict=True):
                if np.isfinite(end):
                    found.append(np.append(end, end + side * step * _NEARER))
        if isinstance(cpd, HistogramCPD) and cpd.variable == variable:
            found.append(cpd.edges)
        elif isinstance(cpd, TreeCPD) and variable in cpd.parents:
            splits = cpd.tree.feature == cpd.parents.index(variable)
            found.append(cpd.tree.threshold[splits])
    return np.concatenate([*found, np.empty(0)])


def _apart(points: Floats, gap: float) -> Floats:
    """Return ascending points without those that are nearer than a gap to the one before."""
    kept = [float(points[0])]
    for point in points[1:-1].tolist():
        if point - kept[-1] >= gap:
            kept.append(point)
    return np.array([*kept, float(points[-1])])
