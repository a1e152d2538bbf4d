from dataclasses import replace

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core import Binned
from bayesgraph.learning import Effort
from bayesgraph.learning.loglinear import trees as random_trees
from bayesgraph.learning.loglinear.learner import tree_network
from bayesgraph.learning.loglinear.sample import Canonical, Sample
from bayesgraph.learning.loglinear.trees import MAX_GROUPS, grow_trees, mean_distributions


def table(seed, n=60, cards=(2, 3, 5), n_intervals=4, n_classes=3, missing=0.0):
    """Return features (categories, and one of intervals), codes and labels that depend on them."""
    random = np.random.default_rng(seed)
    features = [bg.Discrete(f"f{j}", range(k)) for j, k in enumerate(cards)]
    features.append(Binned("x", np.arange(n_intervals - 1.0)))
    codes = np.column_stack([random.integers(f.cardinality, size=n) for f in features])
    labels = (codes.sum(axis=1) + (random.random(n) < 0.3)) % n_classes
    codes[random.random(codes.shape) < missing] = -1
    return features, codes, labels


def sample_of(features, codes, labels, n_classes=3, weights=None):
    weights = np.empty(0) if weights is None else np.asarray(weights, dtype=float)
    return Sample.of(features, codes, labels, weights, n_classes)


def split_impurity(labels, weights, left):
    """Return the weighted Gini index of two sides, by its definition."""
    total = 0.0
    for side in (left, ~left):
        mass = weights[side].sum()
        shares = np.bincount(labels[side], weights[side]) / mass
        total += mass * (1.0 - np.sum(shares**2))
    return total


def possible_splits(values, is_ordered):
    """Yield every set of values that goes left: of intervals those of one cut."""
    present = np.unique(values)
    if is_ordered:
        yield from (present[:k] for k in range(1, len(present)))
    else:
        for bits in range(1, 2 ** (len(present) - 1)):
            yield present[[bits >> k & 1 == 1 for k in range(len(present))]]


def nodes_of(trees, sample, tree=0):
    """Yield each node of a tree with the mask of the rows that reach it."""
    codes = sample.codes
    pending = [(int(trees.roots[tree]), np.ones(len(codes), dtype=bool))]
    while pending:
        node, rows = pending.pop()
        yield node, rows
        if trees.feature[node] >= 0:
            goes_left = trees.states[node] >> codes[:, trees.feature[node]] & 1 == 1
            left = int(trees.below[node])
            pending += [(left, rows & goes_left), (left + 1, rows & ~goes_left)]


def heavy(sample):
    """Return the sample with weights from which on every row is in every tree, in proportion."""
    return replace(sample, weights=sample.weights * 1000.0)


@pytest.mark.parametrize("seed", range(4))
def test_each_split_is_the_best_of_those_tried(seed, monkeypatch):
    features, codes, labels = table(seed, n_classes=2)
    sample = heavy(sample_of(features, codes, labels, 2))
    monkeypatch.setattr(random_trees, "_n_tried", lambda n: n)
    trees = grow_trees(sample, 1)
    for node, rows in nodes_of(trees, sample):
        if trees.feature[node] < 0:
            continue
        own, weights = sample.labels[rows], sample.weights[rows]
        best = min(
            split_impurity(own, weights, np.isin(column, left))
            for feature, column in zip(features, sample.codes[rows].T, strict=True)
            for left in possible_splits(column, isinstance(feature, Binned))
        )
        column = sample.codes[rows, trees.feature[node]]
        found = split_impurity(own, weights, trees.states[node] >> column & 1 == 1)
        assert found == pytest.approx(best, abs=1e-6 * weights.sum())


@pytest.mark.parametrize("seed", range(3))
def test_leaves_have_the_class_frequencies(seed):
    features, codes, labels = table(seed, n=200)
    sample = heavy(sample_of(features, codes, labels))
    trees = grow_trees(sample, 3)
    prior = 0.5 * sample.prior
    for tree in range(3):
        for node, rows in nodes_of(trees, sample, tree):
            if trees.feature[node] < 0:
                counts = np.bincount(sample.labels[rows], sample.weights[rows], 3)
                expected = (counts + prior) / (counts.sum() + prior.sum())
                np.testing.assert_allclose(trees.values[trees.below[node]], expected, atol=1e-9)
                column = sample.codes[rows]
                # It is pure, or no feature distinguishes its rows.
                assert np.count_nonzero(counts) == 1 or len(np.unique(column, axis=0)) == 1


def test_rows_differ_among_trees():
    features, codes, labels = table(0, n=300)
    trees = grow_trees(sample_of(features, codes, labels), 8)
    assert len(trees.roots) == 8
    ends = [*trees.roots[1:].tolist(), len(trees.feature)]
    sizes = {b - a for a, b in zip(trees.roots.tolist(), ends, strict=True)}
    assert len(sizes) > 1


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_network_answers_as_the_average_that_was_compared(missing):
    features, codes, labels = table(1, n=150, missing=missing)
    target = bg.Discrete("class", range(3))
    own = Canonical.of(features, target, list(codes.T), labels, np.empty(0))
    sample = Sample.of(own.features, own.codes, own.labels, np.empty(0), 3)
    trees = grow_trees(sample, 10)
    means = mean_distributions(trees, sample.views, sample.codes)
    network = tree_network(own, sample, trees)
    for i in range(0, len(sample.labels), 7):
        evidence = {
            v.name: v.states[code]
            for v, code in zip(own.features, sample.codes[i], strict=True)
            if code >= 0
        }
        found = network.query("class", evidence)
        expected = [means[i, own.target.index(s)] for s in target.states]
        np.testing.assert_allclose(found.probabilities, expected, atol=1e-12)


def same(one, other):
    for name in ("roots", "feature", "states", "below", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for groups in zip(one.groups, other.groups, strict=True):
        np.testing.assert_array_equal(*groups)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_neither_the_order_of_rows_nor_repetition_matters(missing):
    features, codes, labels = table(2, missing=missing)
    random = np.random.default_rng(0)
    order = random.permutation(len(labels))
    given = grow_trees(sample_of(features, codes, labels), 5)
    same(given, grow_trees(sample_of(features, codes[order], labels[order]), 5))
    weights = random.integers(1, 4, size=len(labels))
    rows = np.repeat(np.arange(len(labels)), weights)
    same(
        grow_trees(sample_of(features, codes, labels, weights=weights), 5),
        grow_trees(sample_of(features, codes[rows], labels[rows]), 5),
    )


def test_columns_of_one_state_change_nothing():
    features, codes, labels = table(8)
    given = grow_trees(sample_of(features, codes, labels), 5)
    more, nothing = [*features, bg.Discrete("k", ["same"])], np.zeros(len(codes), dtype=int)
    found = grow_trees(sample_of(more, np.column_stack([codes, nothing]), labels), 5)
    same(given, replace(found, groups=found.groups[: len(given.groups)]))


def test_memory_is_bounded(monkeypatch):
    random = np.random.default_rng(3)
    features = [Binned(f"x{j}", np.arange(30.0)) for j in range(4)]
    codes, labels = random.integers(31, size=(2000, 4)), random.integers(3, size=2000)
    sample = sample_of(features, codes, labels)
    # Leaves of one class share a few distributions, so that only their number counts.
    whole = grow_trees(sample, 10)
    monkeypatch.setattr(random_trees, "_MAX_NUMBERS", 3000)
    assert np.array_equal(grow_trees(sample, 10).feature, whole.feature)
    monkeypatch.setattr(random_trees, "_MAX_LEAVES", 3000)
    fewer = grow_trees(sample, 10)
    assert len(fewer.roots) == 10
    assert (fewer.feature < 0).sum() <= 3000 < (whole.feature < 0).sum()
    monkeypatch.setattr(random_trees, "_MAX_NUMBERS", 500)
    trees = grow_trees(sample, 10)
    assert len(trees.roots) == 10
    assert trees.values.size <= 500 < fewer.values.size


# ---------------------------------------------------------------------------------- strange tables


def grown(features, codes, labels, n_classes, **options):
    """Return trees that passed all checks of arrays."""
    trees = grow_trees(sample_of(features, np.asarray(codes), labels, n_classes, **options), 5)
    target = bg.Discrete("class", range(n_classes))
    return bg.models.TreesCPD(target, trees, features).trees


def test_a_feature_of_a_thousand_categories():
    random = np.random.default_rng(4)
    codes = random.integers(1000, size=(3000, 1))
    labels = (codes[:, 0] % 2).astype(int)
    trees = grown([bg.Discrete("f", range(1000))], codes, labels, 2)
    assert trees.groups[0].max() == MAX_GROUPS - 1


def test_many_intervals_keep_their_order():
    codes = np.arange(200)[:, None]
    trees = grown([Binned("x", np.arange(199.0))], codes, (codes[:, 0] > 120).astype(int), 2)
    assert (np.diff(trees.groups[0]) >= 0).all()
    assert trees.groups[0].max() == MAX_GROUPS - 1


def test_a_hundred_classes():
    random = np.random.default_rng(5)
    codes = random.integers(10, size=(1000, 2))
    features = [bg.Discrete(f"f{j}", range(10)) for j in range(2)]
    trees = grown(features, codes, codes @ [10, 1], 100)
    assert trees.values.shape[1] == 100


@pytest.mark.parametrize(
    ("codes", "labels"),
    [
        ([[0, 1], [1, 0]], [0, 1]),
        ([[0, 1], [1, 1]] * 9, [0, 1, 0, 1, 0, 1] * 3),
        ([[-1, 0], [0, -1], [1, 1]], [1, 1, 1]),
    ],
)
def test_tiny_and_constant_tables(codes, labels):
    features = [bg.Discrete("f", range(2)), Binned("x", [0.0])]
    grown(features, codes, np.array(labels), 2)


def test_small_weights_grow_trees_too():
    features, codes, labels = table(6)
    trees = grown(features, codes, labels, 3, weights=np.full(len(labels), 1e-9))
    assert (trees.feature >= 0).any()


def test_rows_of_weight_zero_say_nothing():
    features, codes, labels = table(7)
    weights = (np.arange(len(labels)) % 3 > 0).astype(float)
    kept = weights > 0
    given = sample_of(features, codes, labels, weights=weights)
    same(
        grow_trees(given.weighing(given.weights), 5),
        grow_trees(sample_of(features, codes[kept], labels[kept]), 5),
    )


# ------------------------------------------------------------------------- shared distributions


def test_leaves_of_equal_counts_share_a_distribution(monkeypatch):
    features, codes, labels = table(9, n=300)
    sample = sample_of(features, codes, labels)
    trees = grow_trees(sample, 20)
    assert len(np.unique(trees.values, axis=0)) == len(trees.values) < len(trees.leaves) / 4
    monkeypatch.setattr(random_trees, "_distinct", lambda counts: (np.arange(len(counts)),) * 2)
    apart = grow_trees(sample, 20)
    assert len(apart.values) == len(apart.leaves) == len(trees.leaves)
    np.testing.assert_array_equal(
        mean_distributions(trees, sample.views, sample.codes),
        mean_distributions(apart, sample.views, sample.codes),
    )


# ------------------------------------------------------------------------------------ the effort


def test_there_are_fewer_trees_where_steps_are_few():
    features, codes, labels = table(1)
    sample = sample_of(features, codes, labels)
    effort = Effort(max_steps=7)
    few = grow_trees(sample, 20, effort)
    assert len(few.roots) == 7
    same(few, grow_trees(sample, 7))
    assert len(grow_trees(sample, 20, effort).roots) == 1
