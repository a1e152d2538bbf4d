"""Merged intervals: the best partition, and the network that comes of it."""

from itertools import combinations

import numpy as np
import pytest
from loglinear_rows import make_sample, random_parameters

import bayesgraph as bg
from bayesgraph.learning.loglinear import learner
from bayesgraph.learning.loglinear import learner as merging
from bayesgraph.learning.loglinear.learner import partition_of
from bayesgraph.learning.loglinear.terms import Terms
from bayesgraph.learning.loglinear.training import Effects, Normalised

PAIRS = ((0, 1), (1, 2))


def model(pairs=PAIRS, **options):
    sample = make_sample(**options)
    terms = Terms.of(sample.views, pairs)
    parameters = random_parameters(terms, 3)
    return sample, terms, Normalised.of(terms, parameters, sample.prior).effects


def partitions(n):
    """Return all partitions of n neighbours into intervals."""
    for k in range(n):
        for begins in combinations(range(1, n), k):
            yield np.searchsorted(begins, np.arange(n), side="right")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("price", [0.0, 0.003, 0.03, 1.0])
def test_the_partition_is_the_best_of_all(price, monkeypatch):
    """The loss is computed here for each partition, from the rows and the expanded tables."""
    monkeypatch.setattr(merging, "_LEAST", 0.05)
    sample, terms, effects = model(cards=(3, 9, 2))
    view = terms.views[1]
    curvature = sample.rows(terms).curvature(effects) / sample.weights.sum()
    old, bent = (np.split(a, terms.starts[1:-1]) for a in (effects.cells, curvature))
    n_groups = len(view.products)
    shapes = [(9, 1, 3), (3, n_groups, 3), (n_groups, 2, 3)]
    part = view.share / np.bincount(view.grid, view.share)[view.grid]
    tables = []
    for at, shape, axis in zip((1, 3, 4), shapes, (0, 1, 0), strict=True):
        values, weights = (np.moveaxis(a[at].reshape(shape), axis, 0) for a in (old, bent))
        if at > 1:
            values, weights = values[view.grid], weights[view.grid] * part[:, None, None]
        tables.append((values, weights))

    def cost(groups):
        total = price * (groups.max() + 1)
        for group in range(groups.max() + 1):
            own = groups == group
            if view.share[own].sum() < 0.05:
                return np.inf
            for values, weights in tables:
                mass = np.maximum(weights[own].sum(axis=0), np.finfo(float).tiny)
                means = (weights[own] * values[own]).sum(axis=0) / mass
                total += 0.5 * np.sum(weights[own] * (values[own] - means) ** 2)
        return total

    found = partition_of(terms, effects, sample, price, 0.0)
    np.testing.assert_array_equal(found[0], [0, 1, 2])
    assert cost(found[1]) == pytest.approx(min(map(cost, partitions(9))), abs=1e-10)


def test_curvature_is_summed_over_the_rows_of_a_cell():
    sample, terms, effects = model(cards=(3, 8, 2), n_rows=300)
    curvature = sample.rows(terms).curvature(effects)
    scores = np.exp(sample.rows(terms).scores(effects))
    shares = scores / scores.sum(axis=1, keepdims=True)
    for state in range(8):
        at = sample.codes[:, 1] == state
        expected = sample.weights[at] @ (shares * (1 - shares))[at]
        np.testing.assert_allclose(curvature[terms.starts[1] + state], expected)


def test_intervals_of_equal_effects_become_one():
    sample, terms, effects = model(pairs=())
    own = slice(terms.starts[1], terms.starts[2])
    effects.cells[own] = np.repeat([[1.0, 0.0, -1.0], [0.0, 0.0, 0.0]], [4, 8], axis=0)
    found = partition_of(terms, effects, sample, 1e-6, 0.0)[1]
    np.testing.assert_array_equal(found, np.repeat([0, 1], [4, 8]))


def test_a_difference_in_a_pair_keeps_intervals_apart():
    sample, terms, effects = model(cards=(3, 4, 2))
    effects.cells[terms.starts[1] : terms.starts[2]] = 0.0
    tables = np.split(effects.cells, terms.starts[1:-1])
    tables[3][:] = tables[4][:] = 0.0
    np.testing.assert_array_equal(partition_of(terms, effects, sample, 1e-6, 0.0)[1], 0)
    tables[4].reshape(4, 2, 3)[:2, 1] = [2.0, 0.0, -2.0]
    np.testing.assert_array_equal(partition_of(terms, effects, sample, 1e-6, 0.0)[1], [0, 0, 1, 1])


def test_a_merged_sample_has_the_cuts_that_are_left():
    sample = make_sample()
    partition = (np.arange(3), np.repeat([0, 1, 2], [3, 4, 5]), np.arange(2))
    merged = sample.merged(partition)
    assert merged.views[1].variable.cuts == (3.0, 7.0)
    assert merged.views[0] is sample.views[0]
    np.testing.assert_array_equal(merged.codes[:, 1], partition[1][sample.codes[:, 1]])
    np.testing.assert_allclose(
        merged.views[1].share, np.bincount(partition[1], sample.views[1].share)
    )


def steps(n=1500, seed=0):
    """Return two columns, of which the class follows the first, in two steps."""
    random = np.random.default_rng(seed)
    X = random.normal(50.0, 15.0, size=(n, 2))
    p = np.where(X[:, 0] < 40, 0.1, np.where(X[:, 0] < 60, 0.5, 0.9))
    return X, (random.random(n) < p).astype(int)


@pytest.mark.slow
def test_the_network_has_few_intervals_at_round_numbers():
    X, y = steps()
    clf = bg.BayesianNetworkClassifier(n_trees=0).fit(X, y)
    cuts = clf.network_.variable("x0").cuts
    # Steps are sums of smooth functions before intervals are merged, which costs some intervals.
    assert 2 <= len(cuts) <= 16
    assert min(abs(np.array(cuts) - 40)) < 2
    assert min(abs(np.array(cuts) - 60)) < 2
    assert all(len(repr(cut).removesuffix(".0")) <= 4 for cut in cuts)
    assert len(clf.network_.variable("x1").cuts) <= 8
    assert clf.features_ == tuple(clf.network_.variable(name) for name in ("x0", "x1"))
    fine = bg.BayesianNetworkClassifier(n_trees=0, discretizer="frequency").fit(X, y)
    assert len(fine.network_.variable("x0").cuts) == 9
    new, truth = steps(seed=1)
    assert clf.score(new, truth) > fine.score(new, truth) - 0.01


@pytest.mark.slow
def test_random_trees_keep_their_intervals():
    random = np.random.default_rng(0)
    X = random.random((600, 3))
    y = ((X * 8).astype(int).sum(axis=1) % 2).astype(int)
    clf = bg.BayesianNetworkClassifier(n_trees=20).fit(X, y)
    network, trees = clf.network_.networks
    short, long = (m.variable("x0").cuts for m in (network, trees))
    assert set(short) < set(long)
    assert len(long) == 31
    # The posterior of the average is over the cut points of all, which a longer interval of the
    # network divides as the trees do; pictures draw the longer intervals, of both networks.
    assert clf.network_.variable("x0") == trees.variable("x0")
    found = clf.query("x0", {"class": 1})
    parts = [m.query("x0", {"class": 1}).probabilities for m in (network, trees)]
    places = network.variable("x0").codes_of(trees.variable("x0"))
    prior = trees.query("x0").probabilities
    cells = parts[0][places] * prior / np.bincount(places, prior)[places]
    np.testing.assert_allclose(found.probabilities, clf.network_.weights @ [cells, parts[1]])
    merged = clf.network_.weights @ [parts[0], np.bincount(places, parts[1])]
    drawn = bg.pictures.to_dot(clf.network_, evidence={"class": 1}, beliefs=True)
    median = network.variable("x0").states[np.searchsorted(np.cumsum(merged), 0.5)]
    assert f"median in {median}" in drawn


def test_predictions_are_mixed_with_the_prior_until_they_are_as_uncertain_as_others():
    sample, terms, effects = model(cards=(3, 8, 2), n_rows=300)
    rows = sample.rows(terms)
    scores = np.exp(3.0 * rows.scores(effects))
    surer = Effects(3.0 * effects.cells, 3.0 * effects.bias)
    shares = scores / scores.sum(axis=1, keepdims=True)
    weights = sample.weights / sample.weights.sum()
    prior = weights @ np.eye(3)[sample.labels]

    def impurity(share):
        mixed = (1.0 - share) * shares + share * prior
        return weights @ (mixed * (1.0 - mixed)).sum(axis=1)

    # Every row has a state of the last feature.
    at = slice(terms.starts[2], terms.starts[3])
    for share in (0.0, 0.05, 0.4):
        found = rows.curvature(surer, impurity(share))[at].sum() / sample.weights.sum()
        assert found == pytest.approx(impurity(share), rel=1e-9)
    assert rows.curvature(surer, 0.9 * impurity(0.0))[at].sum() == pytest.approx(
        rows.curvature(surer)[at].sum()
    )
    # No mixture is as uncertain as this: the prior alone is the most uncertain of all.
    found = rows.curvature(surer, 0.99)[at].sum() / sample.weights.sum()
    assert found == pytest.approx(prior @ (1.0 - prior), rel=1e-9)


def separated(random, n):
    """Return rows in which each of twelve features nearly tells three classes apart."""
    labels = random.integers(3, size=n)
    centres = np.array([np.random.default_rng(9).permutation(3) for _ in range(12)])
    return centres[:, labels].T + 0.5 * random.normal(size=(n, 12)), labels


def test_features_that_say_the_same_are_not_merged_away_together():
    """Each is needless next to the others; a model that separates its rows needs none of them."""
    random = np.random.default_rng(3)
    X, y = separated(random, 140)
    new, classes = separated(random, 1000)
    clf = bg.BayesianNetworkClassifier(n_trees=0, max_steps=1000).fit(X, y)
    shares = clf.predict_proba(new)
    assert -np.log(shares[np.arange(1000), classes]).mean() < 0.03
    n_intervals = [v.cardinality for v in clf.features_]
    assert min(n_intervals) > 1
    assert max(n_intervals) < 10


def test_what_is_worse_than_held_out_rows_is_not_merged(monkeypatch):
    def all_of_them(terms, *others):
        return tuple(np.zeros(len(view.share), dtype=np.intp) for view in terms.views)

    monkeypatch.setattr(learner, "partition_of", all_of_them)
    X, y = separated(np.random.default_rng(3), 140)
    clf = bg.BayesianNetworkClassifier(n_trees=0, max_steps=300).fit(X, y)
    assert min(v.cardinality for v in clf.features_) > 20
    noise = np.random.default_rng(0).integers(2, size=140)
    clf = bg.BayesianNetworkClassifier(n_trees=0, max_steps=300).fit(X, noise)
    assert max(v.cardinality for v in clf.features_) == 1
