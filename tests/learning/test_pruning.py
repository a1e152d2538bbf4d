"""Pruning of grown trees: published figures, and comparison of all subtrees."""

import itertools

import numpy as np
import pytest
from grown_trees import grown, table
from scipy import stats

from bayesgraph.learning import (
    ErrorRate,
    GainRatio,
    cost_complexities,
    cost_complexity_pruned,
    pessimistically_pruned,
)
from bayesgraph.learning.growing import pessimistic_errors


def test_upper_limits_of_error_rates():
    # U25%(0, 6), U25%(0, 9) and U25%(0, 1) of Quinlan (1993, section 4.2).
    found = pessimistic_errors([0, 0, 0], [6, 9, 1], 0.25) / [6, 9, 1]
    np.testing.assert_allclose(found, [0.206, 0.143, 0.750], atol=5e-4)
    # At the limit, that few errors have the probability of the confidence level.
    for errors, rows in ((1, 16), (5, 30), (29, 30)):
        limit = float(pessimistic_errors(errors, rows, 0.1)) / rows
        assert stats.binom.cdf(errors, rows, limit) == pytest.approx(0.1)
    assert pessimistic_errors([3, 0], [3, 0], 0.25).tolist() == [3, 0]


def test_quinlans_example_of_pruning():
    # Of 16 voters one is a republican: leaves of 6, 9 and 1 are expected to make 3.273 errors, and
    # one leaf 16 * U25%(1, 16) = 2.55 (2.512 by the approximation of Quinlan's program).
    spending = np.repeat(["no", "yes", "unknown"], [6, 9, 1])
    y = np.repeat([0, 1], [15, 1])
    tree = grown(table(spending=list(spending)), y, GainRatio())
    assert len(tree.children[0]) == 3
    assert pessimistically_pruned(tree, 0.25).splits[0] is None
    assert pessimistically_pruned(tree, 0.95).splits[0] is not None


def test_subtrees_without_fewer_errors_are_leaves():
    # Both states have the same most frequent class, so that the split saves no error.
    x, y = np.repeat(["u", "v"], [40, 40]), np.repeat([0, 1, 0, 1], [38, 2, 25, 15])
    tree = grown(table(x=list(x)), y, GainRatio())
    assert tree.splits[0] is not None
    assert pessimistically_pruned(tree, 0.999).splits[0] is None


def example(seed, criterion):
    random = np.random.default_rng(seed)
    x = random.normal(size=(120, 2))
    y = ((x[:, 0] > 0) ^ (random.random(120) < 0.25)).astype(int)
    data = table(a=list(x[:, 0]), b=list(x[:, 1]), s=list(random.choice(list("uvw"), 120)))
    return grown(data, y, criterion, max_depth=3)


def leaves(tree, node=0):
    if tree.splits[node] is None:
        return [node]
    return [leaf for child in tree.children[node] for leaf in leaves(tree, child)]


def subtrees(tree, node=0):
    """Yield the leaves of all subtrees with the same root."""
    yield (node,)
    if tree.splits[node] is not None:
        for parts in itertools.product(*(list(subtrees(tree, c)) for c in tree.children[node])):
            yield tuple(itertools.chain(*parts))


@pytest.mark.parametrize("seed", range(4))
def test_the_pruned_tree_is_the_best_of_all_subtrees(seed):
    tree = example(seed, ErrorRate())
    total = tree.counts[0].sum()
    errors = (tree.counts.sum(axis=1) - tree.counts.max(axis=1)) / total
    every = list(subtrees(tree))
    alphas = cost_complexities(tree)
    assert alphas[0] == 0.0
    sizes = []
    for alpha in [*((alphas[1:-1] + alphas[2:]) / 2).tolist(), alphas[-1] * 1.01]:
        costs = [(errors[list(kept)].sum() + alpha * len(kept), len(kept)) for kept in every]
        found = leaves(cost_complexity_pruned(tree, alpha))
        cost = errors[found].sum() + alpha * len(found)
        assert (cost, len(found)) == pytest.approx(min(costs))
        sizes.append(len(found))
    # Each parameter gives another tree, and the last one is the root.
    assert sizes == sorted(set(sizes), reverse=True)
    assert sizes[-1] == 1
    assert cost_complexity_pruned(tree, 0.0) is tree


@pytest.mark.parametrize("seed", range(3))
def test_pessimistic_pruning_expects_no_more_errors(seed):
    tree = example(seed, ErrorRate())
    total = tree.counts.sum(axis=1)
    errors = pessimistic_errors(total - tree.counts.max(axis=1), total, 0.25)
    pruned = pessimistically_pruned(tree, 0.25)
    assert len(leaves(pruned)) < len(leaves(tree))
    # A leaf may be expected to make a tenth of an error more than what it replaces.
    replaced = len(leaves(tree)) - len(leaves(pruned))
    assert errors[leaves(pruned)].sum() <= errors[leaves(tree)].sum() + 0.1 * replaced
    assert len(leaves(pessimistically_pruned(tree, 0.01))) <= len(leaves(pruned))
