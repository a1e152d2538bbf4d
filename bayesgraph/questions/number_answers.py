"""Questions about numbers: integrals over the possible answers, with an estimate of the error.

The density of an answer x is p(x | e), and the posterior after it P(t | e, x). Where the model has
a posterior of x, a mixture of Gaussians, the integrals are adaptive between the ends of its
components. Other densities, such as those of kernels or log-normal leaves, are computed by asking
the joint distribution for P(t, x, e) at each x; draws of x say where. Counts are summed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import UnsupportedModelError
from bayesgraph.core.variables import Continuous, Count, Variable
from bayesgraph.inference import (
    Case,
    Draw,
    Joint,
    NumberMixture,
    Sample,
    log_total,
    normalised_if_possible,
)
from bayesgraph.models import DensityCPD, HistogramCPD, Model, TreesCPD, networks_in
from bayesgraph.questions.asking import Terms, with_values

# ---------------- Adaptive integration of several functions at once, with an estimate of the error


# Nodes and weights of the rule of Gauss and Legendre on a panel.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
# Sum of the errors at which no panel is divided any more, and the number of nodes after which none
# is, whatever the error.
_TOLERANCE, _MAX_NODES = 1e-11, 100_000


def integral(functions: Callable[[Floats], Floats], ends: Floats) -> tuple[Floats, Floats]:
    """Return the integrals of functions between the ends of some points, and errors of these.

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
    return total, error


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


def worth_of_number(model: Model, terms: Terms, number: int, case: Case, before: Floats) -> Floats:
    """Return information and gain of a question about a continuous variable, and their error.

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
        raise UnsupportedModelError(
            f"{variable.name!r} is a vector of counts, which is not asked for as a whole."
        )
    posterior = _posterior(model, number, case)
    gaussian = isinstance(posterior, NumberMixture) and posterior.gaussian
    if not (gaussian or model._is_joint):
        raise UnsupportedModelError(
            f"The posterior of {variable.name!r} is no mixture of normal distributions, and this "
            "model is no joint distribution: the worth of asking for it has no exact value."
        )
    total = log_total(model._log_posterior_rows(terms.variable, rows))[0]

    def shares(x: Floats) -> Floats:
        """Return what answers add to information, gain and mass, shape (n_answers, 3)."""
        # P(t | e, x) times p(x | e), or else p(t, x | e).
        logs = model._log_posterior_rows(terms.variable, with_values(rows, variable, x))
        if gaussian:
            joint = normalised_if_possible(logs) * posterior.density(x)[:, None]
        else:
            joint = np.exp(logs - total)
        return np.column_stack([*terms.worth(before[None], joint), joint.sum(axis=1)])

    sums, errors = np.zeros(3), np.zeros(3)
    if isinstance(variable, Count):
        # The worth of a question whose answers are the numbers 0, 1, and so on.
        start, stop = 0, 64
        while 1.0 - sums[2] > _TAIL and start < _MAX_COUNT:
            sums += shares(np.arange(start, stop, dtype=np.float64)).sum(axis=0)
            start, stop = stop, 2 * stop
    elif gaussian:
        # Panels in which the density has no narrow peak.
        deviations = np.sqrt(posterior.covariances[:, :, 0])
        ends = (posterior.means + deviations * _ENDS).ravel()
        sums, errors = integral(shares, _apart(ends, 0.25 * float(deviations.min())))
    else:
        # Panels around draws, and ever longer ones to both sides of them.
        draws = _draws(model, variable, case)
        step = float(draws[-1] - draws[0]) or max(abs(float(draws[0])), 1.0)
        away = 0.05 * step * np.cumsum(2.0 ** np.arange(_N_OUTSIDE))
        around = [draws[0] - away, _apart(draws, 0.01 * step), draws[-1] + away]
        jumps = _jumps(model, variable, step)
        sums, errors = integral(shares, np.unique(np.concatenate([*around, *jumps])))
    # Mass that was not found adds to the error.
    lost = abs(1.0 - sums[2]) * max(terms.bounds(before))
    return np.append(sums[:2], errors[:2].max() + lost)


def _posterior(model: Model, number: int, case: Case) -> Any:
    """Return the posterior of a number; None if a joint distribution has none in closed form."""
    try:
        return model._work(Joint((number,)), case.pattern).run(case)
    except UnsupportedModelError:
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
    """Return draws of a number given the evidence, in ascending order."""
    question = Sample() if model._answers(Sample) else Draw()
    rows = model._work(question, case.pattern).run(case).take(_N_DRAWS, np.random.default_rng(0))
    return np.sort(np.asarray(rows[variable], dtype=np.float64))


def _jumps(model: Model, variable: Continuous, step: float) -> Iterator[Floats]:
    """Yield the edges of a number's histogram or support, and thresholds of trees on it.

    A density may be infinite at the edge of a support: panels shrink towards it.
    """
    for cpd in (cpd for _, network in networks_in(model) for cpd in network.cpds):
        if isinstance(cpd, DensityCPD) and cpd.variable == variable:
            for end, side in zip(cpd.support, (1.0, -1.0), strict=True):
                if np.isfinite(end):
                    yield np.append(end, end + side * step * _NEARER)
        if isinstance(cpd, HistogramCPD) and cpd.variable == variable:
            yield cpd.edges
        elif isinstance(cpd, TreesCPD) and variable in cpd.parents:
            yield cpd.trees.threshold[cpd.trees.feature == cpd.parents.index(variable)]


def _apart(points: Floats, gap: float) -> Floats:
    """Return ascending points of which no two are nearer than a gap."""
    return np.unique(np.round(points / gap)) * gap
