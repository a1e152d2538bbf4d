"""One table of the joint effect of a few features: the average of random trees on them."""

from __future__ import annotations

import numpy as np

from bayesgraph.cpds.tree_average import Trees
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.loglinear.contexts import Contexts, Groups
from bayesgraph.learning.loglinear.effort import UNBOUNDED, Effort
from bayesgraph.learning.loglinear.random_trees import grow_trees, mean_distributions
from bayesgraph.learning.loglinear.sample import Sample
from bayesgraph.learning.loglinear.terms import joint_groups

# Maximum number of features, and maximum number of cells of their table with the class.
_MAX_FEATURES, _MAX_CELLS = 4, 1 << 19
# Number of trees that rank the features, and number of those that the table is the average of.
_RANKING, _TREES = 30, 100


def joint_features(
    sample: Sample, effort: Effort = UNBOUNDED, *, merge: bool = False
) -> tuple[int, ...]:
    """Return at most four features that random trees split on most, ascending.

    A split counts as the share of the rows that it would have if all splits were even. Features
    with which the table would be too large are left out.

    Parameters
    ----------
    sample : Sample
        With at least one informative feature.
    effort : Effort, optional
    merge : bool
        Whether the intervals of the features will be merged, so that there are no more than groups.
    """
    splits = _splits(grow_trees(sample, _RANKING, effort), len(sample.views))
    found: list[int] = []
    n_cells = sample.n_classes
    for j in np.argsort(-splits, kind="stable").tolist():
        view = sample.views[j]
        size = int(joint_groups(view).max()) + 1 if merge else len(view.share)
        if splits[j] > 0.0 and n_cells * size <= _MAX_CELLS and len(found) < _MAX_FEATURES:
            found.append(j)
            n_cells *= size
    return tuple(sorted(found))


def _splits(trees: Trees, n_features: int) -> Floats:
    """Return the number of splits on each feature, half as much for each split above."""
    found = np.zeros(n_features)
    level, weight = trees.roots.astype(np.int64), 1.0
    while len(level):
        level = level[trees.feature[level] >= 0]
        found += weight * np.bincount(trees.feature[level], minlength=n_features)
        level = np.concatenate([trees.below[level], trees.below[level] + 1])
        weight /= 2.0
    return found


def joint_contexts(sample: Sample, features: tuple[int, ...]) -> Contexts:
    """Return contexts of which each is one joint state; of many intervals, groups share one."""
    groups = _groups(sample, features)
    shape = [int(group.max()) + 1 for group in groups]
    return Contexts(features, groups, np.arange(np.prod(shape)).reshape(shape), is_joint=True)


def _groups(sample: Sample, features: tuple[int, ...]) -> tuple[Groups, ...]:
    return tuple(joint_groups(sample.views[j]) for j in features)


def _grouped(sample: Sample, features: tuple[int, ...]) -> Sample:
    """Return the sample with these features only, and with groups of many intervals."""
    return sample.only(features).merged(_groups(sample, features))


def joint_scores(
    seen: Sample, unseen: Sample, features: tuple[int, ...], effort: Effort = UNBOUNDED
) -> Floats:
    """Return the scores log P(class | features) of unseen rows, shape (n_rows, n_classes).

    Both samples have the same views.
    """
    trees = grow_trees(_grouped(seen, features), _TREES, effort)
    own = _grouped(unseen, features)
    return np.log(mean_distributions(trees, own.views, own.codes))


def joint_effects(sample: Sample, contexts: Contexts, effort: Effort = UNBOUNDED) -> Floats:
    """Return log P(class | context) / P(class) of each joint state, shape (n, n_classes)."""
    grouped = _grouped(sample, contexts.features)
    trees = grow_trees(grouped, _TREES, effort)
    codes = np.stack([axis.ravel() for axis in np.indices(contexts.table.shape)], axis=1)
    return np.log(mean_distributions(trees, grouped.views, codes)) - np.log(sample.prior)
