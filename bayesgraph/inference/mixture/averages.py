"""Weighted means of the posteriors of several networks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.items_mixture import ItemsMixture
from bayesgraph.inference.leaf_mixture import joined
from bayesgraph.inference.results import (
    GaussianMixture,
    MixedPosterior,
    NumberMixture,
    Posterior,
)

Answer: TypeAlias = Posterior | NumberMixture | MixedPosterior | ItemsMixture


def log_sum(logs: Floats) -> float:
    """Return log-sum-exp of a vector, minus infinity if no value is finite."""
    peak = float(logs.max(initial=-np.inf))
    return peak if peak == -np.inf else peak + float(np.log(np.exp(logs - peak).sum()))


def mixed(answers: Sequence[Answer], log_weights: Floats) -> Answer:
    """Return the mixture's posterior: the networks' posteriors averaged by posterior weight.

    The answer of network s has P_s(target | evidence) and P_s(evidence). With the prior weight pi_s
    of the network, its posterior weight is proportional to ``pi_s P_s(evidence)``.

    Parameters
    ----------
    answers : sequence of Posterior, NumberMixture, MixedPosterior, or ItemsMixture
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
    answers : sequence of Posterior, NumberMixture, MixedPosterior, or ItemsMixture
        At least one; all of the same targets.
    shares : ndarray, shape (n,)
        Weights, which sum to one.
    log_evidence : float
        Log evidence of the average.
    """
    by_type: dict[type[Answer], Callable[..., Answer]] = {
        Posterior: _posterior,
        MixedPosterior: _joint,
        ItemsMixture: _items,
    }
    return by_type.get(type(answers[0]), _numbers)(answers, shares, log_evidence)


def _posterior(answers: Sequence[Posterior], shares: Floats, log_evidence: float) -> Posterior:
    values = np.zeros(answers[0].probabilities.shape)
    for answer, share in zip(answers, shares, strict=True):
        values += share * answer.probabilities
    return Posterior(answers[0].variables, values / values.sum(), log_evidence)


def _numbers(
    answers: Sequence[NumberMixture], shares: Floats, log_evidence: float
) -> NumberMixture:
    if not all(isinstance(answer, GaussianMixture) for answer in answers):
        return joined(answers, shares, log_evidence)
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


def _items(answers: Sequence[ItemsMixture], shares: Floats, log_evidence: float) -> ItemsMixture:
    parts = [
        (share * weights, components)
        for answer, share in zip(answers, shares, strict=True)
        for weights, components in answer.parts
        if share > 0
    ]
    return ItemsMixture(answers[0].variable, parts, log_evidence)


def _joint(
    answers: Sequence[MixedPosterior], shares: Floats, log_evidence: float
) -> MixedPosterior:
    discrete = _posterior([answer.discrete for answer in answers], shares, log_evidence)
    cells = itertools.product(*(range(size) for size in discrete.probabilities.shape))
    mixtures: list[NumberMixture | None] = []
    for state, cell in zip(discrete, cells, strict=True):
        weights = shares * [float(answer.discrete.probabilities[cell]) for answer in answers]
        there = np.flatnonzero(weights > 0)
        if not len(there):
            mixtures.append(None)
            continue
        parts = [answers[s].given(state) for s in there.tolist()]
        mixtures.append(_numbers(parts, weights[there] / weights[there].sum(), log_evidence))
    return MixedPosterior(discrete, mixtures)
