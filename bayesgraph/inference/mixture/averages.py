"""Averages of the posteriors of several networks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.results import GaussianMixture, MixedPosterior, Posterior

Answer: TypeAlias = Posterior | GaussianMixture | MixedPosterior


def log_sum(logs: Floats) -> float:
    """Return log-sum-exp of a vector, minus infinity if no value is finite."""
    peak = float(logs.max(initial=-np.inf))
    return peak if peak == -np.inf else peak + float(np.log(np.exp(logs - peak).sum()))


def mixed(answers: Sequence[Answer], log_weights: Floats) -> Answer:
    """Return the mixture's posterior: the networks' posteriors averaged by posterior weight.

    Each network s answers with P_s(target | evidence) and P_s(evidence). The weight of its answer
    is proportional to ``pi_s P_s(evidence)``.

    Parameters
    ----------
    answers : sequence of Posterior, of GaussianMixture, or of MixedPosterior
        At least one; all of the same targets.
    log_weights : ndarray, shape (n,)
        Logs of the prior weights pi_s.
    """
    logs = log_weights + np.array([answer.log_evidence for answer in answers])
    log_evidence = log_sum(logs)
    shares = np.exp(logs - log_evidence)
    return averaged(answers, shares / shares.sum(), log_evidence)


def averaged(answers: Sequence[Answer], shares: Floats, log_evidence: float) -> Answer:
    """Return the average of several posteriors of the same targets, with the given weights.

    Parameters
    ----------
    answers : sequence of Posterior, of GaussianMixture, or of MixedPosterior
        At least one; all of the same targets.
    shares : ndarray, shape (n,)
        Weights, which sum to one.
    log_evidence : float
        Log evidence of the average.
    """
    if isinstance(answers[0], Posterior):
        found = [answer for answer in answers if isinstance(answer, Posterior)]
        return _posterior(found, shares, log_evidence)
    if isinstance(answers[0], GaussianMixture):
        parts = [answer for answer in answers if isinstance(answer, GaussianMixture)]
        return _gaussians(parts, shares, log_evidence)
    joint = [answer for answer in answers if isinstance(answer, MixedPosterior)]
    return _joint(joint, shares, log_evidence)


def _posterior(answers: Sequence[Posterior], shares: Floats, log_evidence: float) -> Posterior:
    values = np.zeros(answers[0].probabilities.shape)
    for answer, share in zip(answers, shares, strict=True):
        values += share * answer.probabilities
    return Posterior(answers[0].variables, values / values.sum(), log_evidence)


def _gaussians(
    answers: Sequence[GaussianMixture], shares: Floats, log_evidence: float
) -> GaussianMixture:
    weights = np.concatenate(
        [share * answer.weights for answer, share in zip(answers, shares, strict=True)]
    )
    means = np.concatenate([answer.means for answer in answers])
    covariances = np.concatenate([answer.covariances for answer in answers])
    used = weights > 0
    return GaussianMixture(
        answers[0].variables,
        weights[used] / weights[used].sum(),
        means[used],
        covariances[used],
        log_evidence,
    )


def _joint(
    answers: Sequence[MixedPosterior], shares: Floats, log_evidence: float
) -> MixedPosterior:
    discrete = _posterior([answer.discrete for answer in answers], shares, log_evidence)
    cells = itertools.product(*(range(size) for size in discrete.probabilities.shape))
    mixtures: list[GaussianMixture | None] = []
    for state, cell in zip(discrete, cells, strict=True):
        weights = shares * [float(answer.discrete.probabilities[cell]) for answer in answers]
        there = np.flatnonzero(weights > 0)
        if not len(there):
            mixtures.append(None)
            continue
        parts = [answers[s].given(state) for s in there.tolist()]
        mixtures.append(_gaussians(parts, weights[there] / weights[there].sum(), log_evidence))
    return MixedPosterior(discrete, mixtures)
