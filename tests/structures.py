"""Tables whose columns depend on each other, and the scores of all arcs between them."""

import itertools

import numpy as np

from bayesgraph.learning.information import discrete_scores, gaussian_scores, mixed_scores
from bayesgraph.statistics import Pairs


def make_frame(seed, n_discrete, n_continuous, n=60, strength=0.6):
    """Return class and features in mixed order, each depending on earlier ones."""
    random = np.random.default_rng(seed)
    y = random.integers(2, size=n)
    latent = [y + random.normal(size=n)]
    for _ in range(n_discrete + n_continuous):
        parent = latent[random.integers(len(latent))]
        latent.append(strength * parent + random.normal(size=n))
    columns = {"y": [("no", "yes")[v] for v in y]}
    kinds = random.permutation([True] * n_discrete + [False] * n_continuous)
    for j, discrete in enumerate(kinds):
        x = latent[j + 1]
        if discrete:
            cuts = np.quantile(x, [0.3, 0.7]) if j % 2 else [np.median(x)]
            columns[f"d{j}"] = [f"s{v}" for v in np.searchsorted(cuts, x)]
        else:
            columns[f"x{j}"] = x
    return columns


def pair_scores(source, given, columns, smoothing):
    """Return the score of every admissible arc, child last."""
    summary = source.pairs(Pairs(columns, given))
    at = summary.at
    ridge = smoothing.ridge(source.variances(at.continuous))
    scores = {}
    table, _ = discrete_scores(summary)
    for i, j in itertools.permutations(range(len(at.discrete)), 2):
        scores[at.discrete[i].name, at.discrete[j].name] = table[i, j]
    if at.continuous:
        table, _ = gaussian_scores(summary, smoothing, ridge)
        for i, j in itertools.permutations(range(len(at.continuous)), 2):
            scores[at.continuous[i].name, at.continuous[j].name] = table[i, j]
        gains, _ = mixed_scores(summary, smoothing, ridge, source.target)
        for i, a in enumerate(at.discrete):
            for j, b in enumerate(at.continuous):
                scores[a.name, b.name] = gains[i, j]
    return scores
