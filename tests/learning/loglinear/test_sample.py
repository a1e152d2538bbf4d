import numpy as np
from loglinear_rows import features_of, make_sample

from bayesgraph.core import Discrete
from bayesgraph.learning.loglinear.sample import Canonical, Sample, fingerprints

CARDS = (3, 12, 2)


def rows(n=90, seed=0):
    random = np.random.default_rng(seed)
    codes = random.integers(-1, CARDS, size=(n, 3))
    return codes, random.integers(3, size=n), random.integers(1, 4, size=n).astype(float)


def assert_same(one, two):
    for name in ("codes", "labels", "weights", "sizes"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(one.folds(5), two.folds(5))
    for a, b in zip(one.views, two.views, strict=True):
        np.testing.assert_array_equal(a.share, b.share)


def test_the_order_of_the_rows_does_not_matter():
    codes, labels, weights = rows()
    features = features_of(CARDS, (1,))
    order = np.random.default_rng(1).permutation(len(labels))
    one = Sample.of(features, codes, labels, weights, 3)
    assert_same(one, Sample.of(features, codes[order], labels[order], weights[order], 3))


def test_a_weight_of_two_is_the_row_twice():
    codes, labels, weights = rows()
    features = features_of(CARDS, (1,))
    times = weights.astype(int)
    one = Sample.of(features, codes, labels, weights, 3)
    two = Sample.of(features, codes.repeat(times, 0), labels.repeat(times), np.empty(0), 3)
    assert_same(one, two)


def test_folds_spread_the_classes():
    sample = make_sample(n_rows=200, cards=(9, 9, 9))
    folds = sample.folds(5)
    np.testing.assert_allclose(folds.sum(axis=0), sample.weights)
    for label in range(3):
        assert np.ptp(folds[:, sample.labels == label].sum(axis=1)) <= 1


def test_equal_rows_are_in_several_folds():
    features = features_of((2,), ())
    codes, labels = np.repeat([[0], [1], [1]], [7, 3, 2], axis=0), np.repeat([0, 0, 1], [7, 3, 2])
    sample = Sample.of(features, codes, labels, np.empty(0), 2)
    assert len(sample.labels) == 3
    folds = sample.folds(5)
    np.testing.assert_allclose(folds.sum(axis=0), sample.weights)
    assert (folds[:, sample.weights == 7] >= 1).all()
    small = Sample.of(features, codes, labels, np.full(12, 1e-3), 2).folds(5)
    assert (small.sum(axis=1) > 0).all()
    assert len(np.unique(fingerprints(sample.codes))) == len(np.unique(sample.codes, axis=0))


def test_names_of_states_and_classes_do_not_matter():
    codes, labels, weights = rows()
    features = features_of(CARDS, (1,))
    target = Discrete("class", list("abc"))
    one = Canonical.of(features, target, list(codes.T), labels, weights)
    # The same columns, the states of the first listed backwards and the classes renamed.
    backwards = Discrete("x0", features[0].states[::-1])
    other = codes.copy()
    other[:, 0] = np.where(codes[:, 0] >= 0, 2 - codes[:, 0], -1)
    two = Canonical.of([backwards, *features[1:]], target, list(other.T), (labels + 1) % 3, weights)
    np.testing.assert_array_equal(one.codes, two.codes)
    np.testing.assert_array_equal(one.labels, two.labels)
    assert one.features == two.features


def test_shares():
    sample = make_sample()
    counts = np.bincount(sample.labels, sample.weights)
    np.testing.assert_allclose(sample.share, counts / 80)
    np.testing.assert_allclose(sample.prior, (counts + 1 / 3) / 81)
