"""Random trees of a class given discrete features, grown for an average of trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.parallel import over_pairs
from bayesgraph.core.variables import Binned, Discrete
from bayesgraph.learning.information import discrete_scores
from bayesgraph.learning.loglinear import kernels, random_tree_kernels
from bayesgraph.learning.loglinear.sample import Codes, Sample, regrouped
from bayesgraph.learning.loglinear.terms import Pair, Terms, View, frequent
from bayesgraph.learning.loglinear.training import (
    UNBOUNDED,
    Effects,
    Effort,
    Normalised,
    start,
    train,
)
from bayesgraph.learning.spanning import spanning_edges
from bayesgraph.models import MISSING, Trees
from bayesgraph.statistics import Pairs, TableSource
from bayesgraph.tables import Table

# ------------------ Random trees of a class given discrete features, grown for an average of trees


# Maximum number of leaves of all trees, and maximum number of probabilities of different leaves.
_MAX_LEAVES, _MAX_NUMBERS = 1 << 21, 1 << 22
# Maximum number of groups of states of a feature.
MAX_GROUPS = 62
# First state of the random number generator; any number from 1 to 2^31 - 2.
_SEED = 20_011
# Weight of the class frequencies in the distribution of a leaf, in rows.
_PRIOR_ROWS = 0.5


def grow_trees(
    sample: Sample, n_trees: int, effort: Effort = UNBOUNDED, least: float = 1.0
) -> Trees:
    """Return random trees of the class given the features (Breiman 2001).

    Each tree sees rows that are drawn with replacement. Each split is the one with the lowest Gini
    index among those of a few random features, the square root of their number. Trees grow until
    each leaf has rows of one class only, or, where all trees would have more than two million
    leaves or their different distributions would take more than 32 MB, until each leaf has few
    rows.

    Parameters
    ----------
    sample : Sample
        With at least one informative feature.
    n_trees : int
    effort : Effort, optional
        Where it is spent, there are fewer trees, at least one.
    least : float
        Minimum weight of the rows in a leaf.
    """
    n_classes = sample.n_classes
    # Splits are chosen among informative features, so that others change nothing.
    used = informative(sample)
    views = [sample.views[j] for j in used]
    groups = [_groups(view) for view in views]
    # As bytes, -1 is `MISSING`; features along the first axis.
    codes = np.ascontiguousarray(regrouped(sample.codes[:, used], groups).T, dtype=np.uint8)
    # The first arguments of `random_tree_kernels.grow`, in their order. The expected copies of rows
    # are as many as there are rows, or as these weigh if that is more.
    rows = (
        codes,
        np.array([group.max() + 1 for group in groups], dtype=np.int64),
        np.array([isinstance(view.variable, Binned) for view in views]),
        (codes == MISSING).any(axis=1),
        _cumulative(groups, views),
        sample.labels.astype(np.int64),
        sample.weights * max(1.0, codes.shape[1] / float(sample.weights.sum())),
        np.array([_SEED]),
        _n_tried(len(views)),
    )
    # A leaf has at least one copy of a row: rows[6] has the expected ones, of which there may be
    # more. A tree has fewer than twice as many nodes as leaves.
    most_leaves = min(_MAX_LEAVES // n_trees, _MAX_NUMBERS // n_classes)
    capacity = max(min(int(rows[6].sum() * 2), most_leaves), 2)
    most_numbers = max(_MAX_NUMBERS // n_trees, 2 * n_classes)
    nodes: list[Any] = [np.empty(2 * capacity, dtype=k) for k in (np.int32, np.int64, np.int32)]
    leaves = np.empty((capacity, n_classes))
    parts: list[list[NDArray[Any]]] = []
    while len(parts) < n_trees and not (parts and effort.is_spent):
        effort.step()
        n_nodes, n_leaves = random_tree_kernels.grow(*rows, least, *nodes, leaves)
        first, place = _distinct(leaves[:n_leaves])
        # The tree is too large: it is grown again with larger leaves, as are those after it.
        if n_nodes == 0 or first.size * n_classes > most_numbers:
            least *= 2.0
            continue
        part = [array[:n_nodes].copy() for array in nodes]
        # Leaves with equal counts share one row of them; `part[2]` is `below`.
        is_leaf = nodes[0][:n_nodes] < 0
        part[2][is_leaf] = place[part[2][is_leaf]]
        parts.append([*part, leaves[first]])
    everything = tuple([_groups(view) for view in sample.views])
    return _joined(parts, np.array(used), everything, sample.prior)


def informative(sample: Sample) -> list[int]:
    """Return the indices of the features that are observed in more than one state."""
    observed = (np.unique(column[column >= 0]) for column in sample.codes.T)
    return [j for j, states in enumerate(observed) if len(states) > 1]


def _n_tried(n_features: int) -> int:
    """Return the number of features among which each split is chosen."""
    return math.ceil(math.sqrt(n_features))


def _joined(
    parts: list[list[NDArray[Any]]],
    used: NDArray[np.intp],
    groups: tuple[NDArray[np.int32], ...],
    prior: Floats,
) -> Trees:
    """Return trees grown one by one as one set of arrays, with distributions at the leaves.

    Each of `parts` has the `feature`, `states` and `below` of a tree, see
    `random_tree_kernels.grow`, and the counts of the classes at its distinct leaves. `used` has the
    parent variable of each feature that the trees know.
    """
    # The lengths of `feature` and of the counts; then the first node and leaf of each tree.
    n_nodes, n_leaves = (np.array([len(part[at]) for part in parts]) for at in (0, 3))
    roots, leaves = np.cumsum(n_nodes) - n_nodes, np.cumsum(n_leaves) - n_leaves
    feature, states, below, counts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    # `below` counts leaves at leaves, and nodes elsewhere, from the first ones of the tree.
    shift = np.where(feature < 0, np.repeat(leaves, n_nodes), np.repeat(roots, n_nodes))
    below += shift.astype(np.int32)
    first, place = _distinct(counts)
    below[feature < 0] = place[below[feature < 0]]
    values = counts[first] + _PRIOR_ROWS * prior
    values /= values.sum(axis=1, keepdims=True)
    # The feature -1, of leaves, picks the last entry, -1.
    feature = np.append(used, -1)[feature].astype(np.int32)
    return Trees(roots.astype(np.int32), feature, states[:, None], below, values, groups)


def _distinct(counts: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the index of the first of equal rows, and each row's place among these."""
    order = np.lexsort(counts.T)
    # Equal rows follow each other in this order; of no rows none is the first.
    is_first = np.append(True, (np.diff(counts[order], axis=0) != 0).any(axis=1))[: len(order)]
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.cumsum(is_first) - 1
    return order[is_first], place


def mean_distributions(trees: Trees, views: Sequence[View], codes: Codes) -> Floats:
    """Return the mean of the trees' distributions of the class for each row.

    Missing values are summed out under the distribution of their feature.

    Parameters
    ----------
    trees : Trees
    views : sequence of View
        The features of the sample that the trees were grown on.
    codes : ndarray of int, shape (n_rows, n_features)
        Their states, -1 where missing.

    Returns
    -------
    ndarray, shape (n_rows, n_classes)
    """
    rows = trees.codes(np.arange(len(views)), codes.T, len(codes))
    missing = np.flatnonzero((codes < 0).any(axis=0)).tolist()
    shares = {j: trees.group_shares(j, views[j].share) for j in missing}
    return trees.means(rows, trees.log_shares(shares))


def _groups(view: View) -> NDArray[np.int32]:
    """Return the group of each state: neighbouring intervals, or rare categories, share one."""
    n = len(view.share)
    if n > MAX_GROUPS and isinstance(view.variable, Binned):
        return (np.arange(n) * MAX_GROUPS // n).astype(np.int32)
    return frequent(view.share, MAX_GROUPS).astype(np.int32)


def _cumulative(groups: list[NDArray[np.int32]], views: Sequence[View]) -> Floats:
    """Return the cumulative distribution of each feature's groups, one to the right of them."""
    cumulative = np.ones((len(groups), MAX_GROUPS))
    for row, group, view in zip(cumulative, groups, views, strict=True):
        ends = np.cumsum(np.bincount(group, view.share))
        row[: len(ends) - 1] = ends[:-1]
    return cumulative


# ------------- One table of the joint effect of a few features: the average of random trees on them


# Maximum number of features, and maximum number of cells of their table with the class.
_MAX_FEATURES, _MAX_JOINT = 4, 1 << 19
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
    trees = grow_trees(sample, _RANKING, effort)
    # The number of splits on each feature, half as much for each split above.
    splits = np.zeros(len(sample.views))
    for depth, level in enumerate(trees.levels):
        splits += np.bincount(trees.feature[level], minlength=len(splits)) / 2.0**depth
    features: list[int] = []
    n_cells = sample.n_classes
    for j in np.argsort(-splits, kind="stable").tolist():
        view = sample.views[j]
        size = int(view.joint.max()) + 1 if merge else len(view.share)
        if splits[j] > 0.0 and n_cells * size <= _MAX_JOINT and len(features) < _MAX_FEATURES:
            features.append(j)
            n_cells *= size
    return tuple(sorted(features))


def _only(sample: Sample, features: tuple[int, ...]) -> Sample:
    """Return the sample with these features only, in the groups of their joint table."""
    return sample.only(features).merged(tuple(sample.views[j].joint for j in features))


def joint_scores(
    rows: Sample, unseen: Sample, features: tuple[int, ...], effort: Effort = UNBOUNDED
) -> Floats:
    """Return the scores log P(class | features) of unseen rows, shape (n_rows, n_classes).

    Both samples have the same views.
    """
    trees = grow_trees(_only(rows, features), _TREES, effort)
    narrowed = _only(unseen, features)
    return np.log(mean_distributions(trees, narrowed.views, narrowed.codes))


def joint_effects(sample: Sample, features: tuple[int, ...], effort: Effort = UNBOUNDED) -> Floats:
    """Return log P(class | cell) / P(class) of each cell of a joint table, (n, n_classes)."""
    narrowed = _only(sample, features)
    trees = grow_trees(narrowed, _TREES, effort)
    # All joint states, as rows, in the order of the cells.
    codes = np.indices([len(view.share) for view in narrowed.views]).reshape(len(features), -1).T
    return np.log(mean_distributions(trees, narrowed.views, codes)) - np.log(sample.prior)


# ---------- Pairs of interacting features: maximum spanning trees over two measures of interaction


# Ridge of the score test, in rows: cells with few rows have a small gain.
_RIDGE = 10.0
_TIE_DECIMALS = 9
# Maximum number of cells in a CPD table.
_MAX_CELLS = 1 << 21
# Maximum of rows x pairs x classes in the search by residuals, and minimum number of its rows.
_MAX_STEPS, _MIN_ROWS = 1 << 31, 2000
# Penalty of the parameters of the model whose residuals are searched for pairs.
FIRST = 10.0


def gains_of(
    sample: Sample,
    measure: str,
    effort: Effort = UNBOUNDED,
    alone: tuple[Terms, Effects] | None = None,
) -> Floats:
    """Return how much each pair of the searched features interacts by a measure, shape (d, d).

    The measures are the conditional mutual information ("information") and the score test against
    the residuals of a model without pairs ("residual"), for which see `residual_gains`. The gain of
    a pair whose table would be too large (of identifiers, for instance) is zero.
    """
    views = [sample.views[j] for j in sample.searched]
    cards = np.array([view.variable.cardinality for view in views], dtype=np.float64)
    allowed = np.outer(cards, cards) * sample.n_classes <= _MAX_CELLS
    if measure == "residual":
        gains = residual_gains(sample, effort, alone)
    else:
        gains = information_gains(sample.only(sample.searched))
    return np.asarray(np.where(allowed, gains, 0.0).round(_TIE_DECIMALS), dtype=np.float64)


def tree_of(
    gains: Floats, clique: tuple[int, ...] = (), features: NDArray[np.intp] | None = None
) -> tuple[Pair, ...]:
    """Return the feature pairs of a maximum spanning tree; only positive gains count.

    Ties go to the first pair. If all features of `clique` are joined, the pairs between others, or
    of others with these, are those of a tree that has the clique as one node. `features` has the
    indices of the features of `gains`, ascending; by default they are all.
    """
    features = np.arange(len(gains)) if features is None else features
    members = np.flatnonzero(np.isin(features, clique))
    weights = np.where(gains > 0, gains, -np.inf)
    tree = spanning_edges(weights)  # a row (i, j) for each edge
    # Pairs within the clique are those of the first tree, all others those of the second one, in
    # which infinite weights join the clique first.
    if len(members):
        joined = np.zeros(gains.shape, dtype=bool)
        joined[np.ix_(members, members)] = True
        around = spanning_edges(np.where(joined, np.inf, weights))
        tree = np.concatenate([tree[joined[*tree.T]], around[~joined[*around.T]]])
    return tuple(sorted(map(tuple, features[tree].tolist())))


def _pair_codes(sample: Sample) -> NDArray[np.int32]:
    """Return each value's group in the search for pairs, (n_rows, n_features), -1 if missing."""
    groups = [view.paired for view in sample.views]
    return np.asfortranarray(regrouped(sample.codes, groups), dtype=np.int32)


def residual_gains(
    sample: Sample,
    effort: Effort = UNBOUNDED,
    alone: tuple[Terms, Effects] | None = None,
) -> Floats:
    """Return the score-test gain of each pair of searched features over a model without pairs.

    It is the score test of the pair's table against the residuals of the model without it (Rao
    1948), as in the search for interactions of Lou, Caruana, Gehrke and Hooker (2013). If there are
    many pairs, only a part of the rows is used.

    Parameters
    ----------
    sample : Sample
    effort : Effort, optional
    alone : (Terms, Effects), optional
        The model without pairs, if it is trained already.
    """
    features = sample.searched
    d = len(features)
    sample = sample.thinned(max(_MIN_ROWS, _MAX_STEPS // max(d * d * sample.n_classes, 1)))
    if alone is None:
        terms, prior = Terms.of(sample.views, ()), sample.prior
        penalty, first = np.full(terms.n_parameters, FIRST), start(terms, prior)
        model = train(terms, sample.rows(terms), prior, penalty, first, effort=effort)
        alone = terms, Normalised.of(terms, model, prior).effects
    terms, effects = alone
    residuals, spreads = sample.rows(terms).residuals(effects)
    sample = sample.only(features)
    grouped = _pair_codes(sample)
    cards = np.array([view.n_paired for view in sample.views], dtype=np.int64)
    gains = np.zeros((d, d))

    def part(first: int, last: int) -> None:
        kernels.pair_gains(first, last, grouped, cards, residuals, spreads, _RIDGE, gains)

    over_pairs(part, d, d * d * len(residuals) * sample.n_classes // 2)
    return gains


def information_gains(sample: Sample) -> Floats:
    """Return I(X_i; X_j | C) of each pair of features, with their values grouped, (d, d)."""
    grouped = _pair_codes(sample)
    target = Discrete("class", range(sample.n_classes))
    columns = tuple(Discrete(i, range(view.n_paired)) for i, view in enumerate(sample.views))
    codes = np.column_stack([grouped, sample.labels.astype(np.int32)])
    table = Table((*columns, target), np.asfortranarray(codes), np.empty((len(codes), 0)))
    source = TableSource(table, target, sample.weights)
    return discrete_scores(source.pairs(Pairs(columns, target)))[0]
