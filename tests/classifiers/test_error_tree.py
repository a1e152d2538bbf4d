"""Trees whose splits are chosen by classification error."""

import itertools

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.classifiers.error_tree import ErrorTreeClassifier
from bayesgraph.learning.impurity import impurity_decrease


def test_a_worked_example():
    # 40 rows of each class. u: (31, 9) and (9, 31), 18 wrong. v: (20, 40) and (20, 0), 20 wrong,
    # which entropy and Gini prefer (Breiman et al. 1984, section 4.1).
    u = np.repeat([0.0, 1.0, 0.0, 1.0], [31, 9, 9, 31])
    y = np.repeat([0, 1], 40)
    v = np.concatenate([np.repeat([0.0, 1.0], 20), np.zeros(40)])
    X = np.column_stack([u, v])
    make = bg.DecisionTreeNetworkClassifier
    grown = {name: make(criterion=name, max_depth=1) for name in ("error", "gini")}
    found = {name: clf.fit(X, y).tree_.parents[0].name for name, clf in grown.items()}
    assert found == {"error": "x0", "gini": "x1"}
    # Five rows of class 1 less, of those with u = 1: the shares of (31, 9) and (9, 26).
    kept = np.r_[:70, 75:80]
    clf = grown["error"].fit(X[kept], y[kept])
    assert clf.tree_.parents[0].name == "x0"
    np.testing.assert_allclose(clf.predict_proba([[0.0, 0.0]]), [[31 / 40, 9 / 40]])
    np.testing.assert_allclose(clf.predict_proba([[1.0, 0.0]]), [[9 / 35, 26 / 35]])
    # With (30, 10) and (10, 30) there are 20 wrong of both: the Gini index decides.
    X[:, 0] = np.repeat([0.0, 1.0, 0.0, 1.0], [30, 10, 10, 30])
    assert grown["error"].fit(X, y).tree_.parents[0].name == "x1"


def test_splits_that_change_nothing_do_not_peel_off_rows():
    random = np.random.default_rng(0)
    tree = ErrorTreeClassifier().fit(
        random.normal(size=(1500, 3)).astype(np.float32), random.integers(0, 2, 1500)
    )
    assert tree.get_depth() < 60
    # Nine of ten rows are of one class, so that no first split has fewer errors.
    x = np.arange(1000, dtype=np.float32)[:, None]
    tree = ErrorTreeClassifier(max_depth=2).fit(x, (x[:, 0] >= 900) & (x[:, 0] % 2 == 0))
    assert 890 < tree.tree_.threshold[0] < 910


def test_neighbours_of_single_precision_are_divided():
    odd = np.nextafter(np.float32(1.0), np.float32(2.0))  # the number halfway rounds to the next
    x = np.array([odd, np.nextafter(odd, np.float32(2.0))] * 5)[:, None]
    y = np.array([0, 1] * 5)
    tree = ErrorTreeClassifier().fit(x, y)
    assert (tree.predict(x) == y).all()
    assert tree.get_depth() == 1


def test_rows_of_weight_zero_make_no_leaf():
    x = np.array([[0], [1], [1]], dtype=np.float32)
    tree = ErrorTreeClassifier().fit(x, np.array([0, 0, 1]), np.array([0.0, 1.0, 1.0]))
    assert np.isfinite(tree.predict_proba(x)).all()


@pytest.mark.parametrize("seed", range(6))
def test_the_first_split_equals_brute_force(seed):
    random = np.random.default_rng(seed)
    n, k = 24, 3
    X = random.integers(0, 5, size=(n, 3)).astype(np.float32)
    X[random.random((n, 3)) < 0.2 * (seed % 2)] = np.nan
    y, w = random.integers(0, k, n), random.integers(1, 4, n).astype(float)
    fewest = 1 + seed // 2
    tree = ErrorTreeClassifier(max_depth=1, min_samples_leaf=fewest).fit(X, y, w)

    def counts(rows):
        return np.bincount(y[rows], w[rows], minlength=k)

    gains = []
    for j, cut, missing in itertools.product(range(3), np.arange(0.5, 6), (False, True)):
        left = np.where(np.isnan(X[:, j]), missing, X[:, j] < cut)
        if min(left.sum(), n - left.sum()) >= fewest:
            gains.append(impurity_decrease("error", [counts(left), counts(~left)]))
    leaves = tree.apply(X)
    parts = [counts(leaves == leaf) for leaf in np.unique(leaves)]
    assert impurity_decrease("error", parts) == pytest.approx(max(gains))


def test_growing_stops_and_pruning_is_that_of_other_trees():
    random = np.random.default_rng(0)
    X = {"a": random.normal(size=200), "b": random.choice(list("xyz"), 200)}
    X["a"][::7] = np.nan
    y = (np.nan_to_num(X["a"]) > 0.3) ^ (X["b"] == "x") ^ (random.random(200) < 0.1)
    options = {"criterion": "error", "random_state": 0}
    whole = bg.DecisionTreeNetworkClassifier(**options).fit(X, y)
    pruned = bg.DecisionTreeNetworkClassifier(ccp_alpha="cv", **options).fit(X, y)
    small = bg.DecisionTreeNetworkClassifier(max_leaf_nodes=4, **options).fit(X, y)
    light = bg.DecisionTreeNetworkClassifier(min_weight_fraction_leaf=0.2, **options).fit(X, y)
    n_leaves = [len(clf.tree_.tree.leaves) for clf in (whole, pruned, small, light)]
    assert n_leaves[0] > n_leaves[1]
    assert n_leaves[2] == 4
    assert n_leaves[3] <= 5
    assert pruned.score(X, y) > 0.8
    with pytest.raises(ValueError, match="min_samples_leaf"):
        bg.DecisionTreeNetworkClassifier(min_samples_leaf=-1, **options).fit(X, y)
