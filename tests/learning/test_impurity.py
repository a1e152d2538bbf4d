"""Impurities of nodes and their decrease at splits, against scipy, scikit-learn and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy
from sklearn.tree import DecisionTreeClassifier

from bayesgraph.core.errors import DataError
from bayesgraph.learning.growing import KINDS, impurity, impurity_decrease


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(any))
def test_impurities_follow_their_definitions(counts):
    p = np.array(counts) / sum(counts)
    assert impurity("entropy", counts) == pytest.approx(entropy(p), abs=1e-12)
    assert impurity("entropy", counts, base=2) == pytest.approx(entropy(p, base=2), abs=1e-12)
    pairs = sum(p[i] * p[j] for i in range(len(p)) for j in range(len(p)) if i != j)
    assert impurity("gini", counts) == pytest.approx(pairs, abs=1e-12)
    assert impurity("error", p) == pytest.approx(1 - max(p), abs=1e-12)


def test_by_hand():
    assert impurity("entropy", [0.5, 0.5], base=2) == 1.0
    assert impurity("gini", [2, 1, 1]) == 0.625
    assert impurity("error", [2, 1, 1]) == 0.5
    for kind in KINDS:
        np.testing.assert_array_equal(impurity(kind, [[0, 0], [3, 0], [0, 1]]), [0, 0, 0])
        assert impurity(kind, np.ones((4, 3, 2))).shape == (4, 3)
    # Duda, Hart and Stork's warning: the error sees no gain in a split that the others like.
    split = [[[70, 0], [10, 20]], [[40, 10], [40, 10]]]
    assert impurity_decrease("error", [[[70, 0], [20, 10]]][0]) == pytest.approx(0.0)
    assert impurity_decrease("gini", [[70, 0], [20, 10]]) > 0.01
    np.testing.assert_allclose(impurity_decrease("error", split), [0.1, 0.0], atol=1e-15)
    assert impurity_decrease("gini", [[3, 1], [1, 3]], total=16) == pytest.approx(0.0625)


@pytest.mark.parametrize("kind", ["entropy", "gini"])
def test_decreases_are_those_of_scikit_learn(kind):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 3)), random.integers(3, size=200)
    fitted = DecisionTreeClassifier(criterion=kind, max_depth=3, random_state=0).fit(X, y)
    tree = fitted.tree_
    counts = tree.value[:, 0] * tree.weighted_n_node_samples[:, None]
    base = 2.0 if kind == "entropy" else np.e
    np.testing.assert_allclose(impurity(kind, counts, base=base), tree.impurity, atol=1e-12)
    inner = np.flatnonzero(tree.children_left >= 0)
    parts = np.stack([counts[tree.children_left[inner]], counts[tree.children_right[inner]]], 1)
    gains = impurity_decrease(kind, parts, total=200, base=base)
    by_feature = np.bincount(tree.feature[inner], gains, minlength=3)
    np.testing.assert_allclose(by_feature, tree.compute_feature_importances(normalize=False))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: impurity("magic", [1, 2]), "'entropy', 'gini', 'error'; got 'magic'"),
        (lambda: impurity("gini", [1, -2]), "non-negative"),
        (lambda: impurity("gini", 0.5), "classes on the last axis"),
        (lambda: impurity_decrease("gini", [1, 2]), r"got shape \(2,\)"),
    ],
)
def test_errors(ask, message):
    with pytest.raises(DataError, match=message):
        ask()
