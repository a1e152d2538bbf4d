"""Questions about numbers: integrals over the possible answers, with an estimate of the error.

The density of an answer x is p(x | e), and the posterior after it P(t | e, x). Where the model has
a posterior of x, a mixture of Gaussians, the integrals are adaptive between the ends of its
components. Other densities, such as those of kernels or log-normal leaves, are computed by asking
the joint distribution for P(t, x, e) at each x; draws of x say where. Counts are summed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import UnsupportedModelError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, Count, Discrete
from bayesgraph.inference import (
    Case,
    Draw,
    Joint,
    NumberMixture,
    Sample,
    log_total,
)
from bayesgraph.models import DensityCPD, HistogramCPD, Model, TreesCPD, networks_in
from bayesgraph.questions.asking import Stakes, posterior_rows, with_values

# ---------------- Adaptive integration of several functions at once, with an estimate of the error


# Nodes and weights of the rule of Gauss and Legendre on a panel.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
# Sum of the errors at which no panel is divided any more, and the number of nodes after which none
# is, whatever the error.
_TOLERANCE, _MAX_NODES = 1e-11, 100_000


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

    Each panel between neighbouring points is integrated by the rule of Gauss and Legendre, and so
    are its halves. Their difference estimates the error, and panels with a large one are divided.

    Parameters
    ----------
    functions : callable
        From points, shape (n,), to the values of the functions, shape (n, n_functions).
    ends : ndarray
        Ascending points; no function has a feature much narrower than the panel that it is in.
    """
    low, high = ends[:-1], ends[1:]
    coarse = _rule(functions, low, high)
    total = error = np.zeros(coarse.shape[1])
    n_nodes = 0
    while len(low):
        middle = 0.5 * (low + high)
        halves = np.concatenate([low, middle]), np.concatenate([middle, high])
        parts = _rule(functions, *halves).reshape(2, len(low), -1)
        fine = parts.sum(axis=0)
        errors = np.abs(fine - coarse)
        n_nodes += 2 * len(low) * len(_NODES)
        is_open = (errors > 0.5 * _TOLERANCE / len(errors)).any(axis=1)
        is_open &= n_nodes < _MAX_NODES and (error + errors.sum(axis=0)).max() > _TOLERANCE
        total = total + fine[~is_open].sum(axis=0)
        error = error + errors[~is_open].sum(axis=0)
        coarse = np.concatenate(parts[:, is_open])
        low, high = (np.concatenate(np.split(end, 2)) for end in halves)
        low, high = (end[np.tile(is_open, 2)] for end in (low, high))
    return Integral(total, error)


def _rule(functions: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return the integrals over panels, shape (n_panels, n_functions)."""
    half = 0.5 * (high - low)
    points = (0.5 * (low + high))[:, None] + half[:, None] * _NODES
    values = functions(points.ravel()).reshape(*points.shape, -1)
    return np.asarray(np.einsum("k,pkf,p->pf", _WEIGHTS, values, half))


# ----- Questions about numbers: integrals over the possible answers, with an estimate of the error


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
    posterior = _posterior(model, candidate, case)
    density: Callable[[Floats], Floats] = partial(_density, model, t, variable, rows)
    if not model._is_joint and posterior is None:
        raise UnsupportedModelError(
            f"The posterior of {variable.name!r} is no mixture of normal distributions, and this "
            "model is no joint distribution: the worth of asking for it has no exact value."
        )
    if posterior is not None and not model._is_joint:
        density = partial(_product, model, t, variable, rows, posterior)
    if isinstance(variable, Count):
        # The worth of a question whose answers are the numbers 0, 1, and so on.
        values, start, stop = np.zeros(3), 0, 64
        while 1.0 - values[2] > _TAIL and start < _MAX_COUNT:
            masses = density(np.arange(start, stop, dtype=np.float64))
            values += _terms(stakes, before, masses).sum(axis=0)
            start, stop = stop, 2 * stop
        return _worth(values, np.zeros(3), before, stakes)
    if posterior is not None:
        # Panels in which the density has no narrow peak.
        deviations = np.sqrt(posterior.covariances[:, :, 0])
        ends = np.sort((posterior.means + deviations * _ENDS).ravel())
        ends = _apart(ends, 0.25 * float(deviations.min()))
    else:
        # Panels around draws, and ever longer ones to both sides of them.
        draws = _draws(model, variable, case)
        step = float(draws[-1] - draws[0]) or max(abs(float(draws[0])), 1.0)
        away = 0.05 * step * np.cumsum(2.0 ** np.arange(_N_OUTSIDE))
        inside = _apart(draws, 0.01 * step)
        around = np.concatenate([draws[0] - away[::-1], inside, draws[-1] + away])
        ends = np.union1d(around, _jumps(model, variable, step))
    found = integral(lambda x: _terms(stakes, before, density(x)), ends)
    return _worth(found.values, found.errors, before, stakes)


def _posterior(model: Model, candidate: int, case: Case) -> NumberMixture | None:
    """Return the posterior of a number, if it is a mixture of normal distributions."""
    try:
        found = model._work(Joint((candidate,)), case.pattern).run(case)
    except UnsupportedModelError:
        if model._is_joint:
            return None
        raise
    return found if isinstance(found, NumberMixture) and found.gaussian else None


def _terms(stakes: Stakes, before: Floats, joint: Floats) -> Floats:
    """Return information, gain and mass of answers, shape (n_answers, 3)."""
    return np.column_stack([*stakes.worth(before[None], joint), joint.sum(axis=1)])


def _density(
    model: Model, target: Discrete, variable: Continuous, rows: Evidence, x: Floats
) -> Floats:
    """Return p(x | e) P(t | e, x) at each x, shape (n, n_states), of a joint distribution."""
    total = log_total(model._log_posterior_rows(target, rows))[0]
    logs = model._log_posterior_rows(target, with_values(rows, variable, x))
    found: Floats = np.exp(logs - total)
    return found


def _product(
    model: Model,
    target: Discrete,
    variable: Continuous,
    rows: Evidence,
    posterior: NumberMixture,
    x: Floats,
) -> Floats:
    """Return what `_density` does, of a model that is no joint distribution."""
    after = posterior_rows(model, target, with_values(rows, variable, x))
    return np.asarray(posterior.density(x)[:, None] * after)


def _worth(values: Floats, errors: Floats, before: Floats, stakes: Stakes) -> Worth:
    """Return integrals as a `Worth`; mass that was not found adds to the error."""
    information, gain, mass = values.tolist()
    lost = abs(1.0 - mass) * max(stakes.bounds(before))
    return Worth(information, gain, float(errors[:2].max()) + lost)


def typical_answers(model: Model, candidate: int, case: Case) -> Floats:
    """Return values of a number that stand for equal parts of its distribution."""
    variable = model.variables[candidate]
    assert isinstance(variable, Continuous)  # it has a worth
    try:
        posterior = model._work(Joint((candidate,)), case.pattern).run(case)
        return np.array([posterior.quantile(rank) for rank in RANKS.tolist()])
    except UnsupportedModelError:
        return np.quantile(_draws(model, variable, case), RANKS, method="nearest")


def _draws(model: Model, variable: Continuous, case: Case) -> Floats:
    """Return draws of a number given the evidence, in ascending order."""
    question = Sample() if model._answers(Sample) else Draw()
    taken = model._work(question, case.pattern).run(case)
    found = taken.take(_N_DRAWS, np.random.default_rng(0))[variable]
    return np.sort(np.asarray(found, dtype=np.float64))


def _jumps(model: Model, variable: Continuous, step: float) -> Floats:
    """Return the edges of a number's histogram or support, and thresholds of trees on it.

    A density may be infinite at the edge of a support: panels shrink towards it.
    """
    found: list[Floats] = []
    for cpd in (cpd for _, network in networks_in(model) for cpd in network.cpds):
        if isinstance(cpd, DensityCPD) and cpd.variable == variable:
            for end, side in zip(cpd.support, (1.0, -1.0), strict=True):
                if np.isfinite(end):
                    found.append(np.append(end, end + side * step * _NEARER))
        if isinstance(cpd, HistogramCPD) and cpd.variable == variable:
            found.append(cpd.edges)
        elif isinstance(cpd, TreesCPD) and variable in cpd.parents:
            splits = cpd.trees.feature == cpd.parents.index(variable)
            found.append(cpd.trees.threshold[splits])
    return np.concatenate([*found, np.empty(0)])


def _apart(points: Floats, gap: float) -> Floats:
    """Return ascending points without those that are nearer than a gap to the one before."""
    kept = [float(points[0])]
    for point in points[1:-1].tolist():
        if point - kept[-1] >= gap:
            kept.append(point)
    return np.array([*kept, float(points[-1])])
