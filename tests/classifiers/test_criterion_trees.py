"""Trees that are grown by the criteria of this library."""

import numpy as np
import pytest
from tree_oracle import TreeOracle

import bayesgraph as bg

WEATHER = {
    "outlook": ["sunny"] * 5 + ["overcast"] * 4 + ["rain"] * 5,
    "temperature": [75.0, 80, 85, 72, 69, 72, 83, 64, 81, 71, 65, 75, 68, 70],
    "humidity": [70.0, 90, 85, 95, 70, 90, 78, 65, 75, 80, 70, 80, 80, 96],
    "windy": [day in (0, 1, 5, 7, 9, 10) for day in range(14)],
}
PLAY = ["play"] + ["stay"] * 3 + ["play"] * 5 + ["stay"] * 2 + ["play"] * 3


def test_the_weather_of_quinlan(tmp_path):
    # Quinlan (1993, tables 2.1 and 2.2), thresholds between the values.
    c45 = bg.DecisionTreeNetworkClassifier(criterion="gain_ratio", min_samples_leaf=2)
    c45.set_params(check_columns=False).fit(WEATHER, PLAY)
    tree = c45.tree_
    lines = {" ".join(line.split()) for line in repr(tree).splitlines()[2:]}
    assert lines == {
        "outlook = overcast 1.000 0.000",
        "outlook = sunny and humidity ≤ 77.5 1.000 0.000",
        "outlook = sunny and humidity > 77.5 0.000 1.000",
        "outlook = rain and windy = True 0.000 1.000",
        "outlook = rain and windy = False 1.000 0.000",
    }
    assert tree.trees.depth == 2
    assert bg.pictures.to_dot(c45).count("n0 -> ") == 3
    # Without the outlook, a dry windy day is good if overcast (4 days) or sunny (5), not if rainy
    # (5). Each state has a third of a row more.
    states = np.array([4, 5, 5]) + 1 / 3
    found = c45.query(evidence={"humidity": 70.0, "windy": True})["play"]
    assert found == pytest.approx((states[0] + states[1]) / states.sum())
    row = {"outlook": ["sunny", None], "temperature": [70.0, None], "humidity": [None, 70.0]}
    proba = c45.predict_proba({**row, "windy": [True, True]})
    assert proba[1, 0] == pytest.approx(found)
    table = TreeOracle(c45.network_)
    expected = table.posterior(["class"], {"outlook": "sunny", "temperature": 70.0, "windy": True})
    np.testing.assert_allclose(proba[0], expected, atol=1e-12)
    c45.save(tmp_path / "tree.bayesgraph")
    back = bg.load(tmp_path / "tree.bayesgraph")
    assert back.network_ == c45.network_
    back.save(tmp_path / "again.bayesgraph")
    first, again = ((tmp_path / f"{n}.bayesgraph").read_bytes() for n in ("tree", "again"))
    assert first == again


def test_parts_of_an_answer_sum_up():
    X = {**WEATHER, "outlook": [None, *WEATHER["outlook"][1:]]}
    for criterion in ("gain_ratio", "chaid"):
        clf = bg.DecisionTreeNetworkClassifier(
            criterion=criterion, smoothing=1.0, alpha_split=0.5, check_columns=False
        ).fit(X, PLAY)
        row = {name: column[-1] for name, column in WEATHER.items()}
        found = clf.contributions(evidence=row, positive="play")
        log_odds = clf.predict_log_proba({k: v[-1:] for k, v in WEATHER.items()})[0] @ [1, -1]
        assert found.total == pytest.approx(log_odds)
        assert found.prior + sum(found.values()) == pytest.approx(found.total)


def test_levels_of_pruning_and_tests():
    random = np.random.default_rng(0)
    X = {name: random.choice(list("pqrs"), 600) for name in "bcd"}
    X["a"] = random.normal(size=600)
    y = (X["a"] > 0) ^ (random.random(600) < 0.2)

    def n_leaves(criterion, **parameters):
        clf = bg.DecisionTreeNetworkClassifier(criterion=criterion, **parameters).fit(X, y)
        return len(clf.tree_.trees.leaves)

    sizes = [n_leaves("gain_ratio", confidence=level) for level in (None, 0.5, 0.25, 0.01)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1] == 2
    assert n_leaves("chaid", alpha_split=0.5) > n_leaves("chaid") >= 2
    assert n_leaves("chaid", max_depth=1, n_intervals=4) <= 4
    assert n_leaves("gain_ratio", ccp_alpha="cv", confidence=None) < sizes[0]
    assert n_leaves("chaid", ccp_alpha="cv", alpha_split=0.5) <= n_leaves("chaid", alpha_split=0.5)
    for criterion in ("gain_ratio", "chaid"):
        assert n_leaves(criterion, max_leaf_nodes=5, alpha_split=0.5, confidence=None) <= 5


def test_weights_are_rows():
    random = np.random.default_rng(3)
    X = {"a": random.normal(size=300).round(1), "b": list(random.choice(list("xyz"), 300))}
    X["a"][::9] = np.nan
    y = (np.nan_to_num(X["a"]) > 0.2) ^ (random.random(300) < 0.2)
    weights = random.integers(1, 4, 300)
    rows = np.repeat(np.arange(300), weights)
    repeated = {name: np.asarray(column)[rows] for name, column in X.items()}
    for criterion in ("gain_ratio", "chaid"):
        clf = bg.DecisionTreeNetworkClassifier(criterion=criterion, min_samples_leaf=5)
        found = clf.fit(X, y, weights).predict_proba(X)
        expected = clf.fit(repeated, y[rows]).predict_proba(X)
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"confidence": 0.0}, "confidence is a number between 0 and 1; got 0.0"),
        ({"alpha_merge": 1.5}, "alpha_merge is a number"),
        ({"alpha_split": None}, "alpha_split is a number .* got None"),
        ({"n_intervals": 1}, "n_intervals is a number of intervals, 2 or more"),
        ({"criterion": "error", "ccp_alpha": -1.0}, "ccp_alpha takes a number .*; got -1.0"),
        ({"criterion": "chaid", "max_depth": 0}, "of DecisionTreeNetworkClassifier .* Got 0"),
    ],
)
def test_unusable_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        bg.DecisionTreeNetworkClassifier(**parameters).fit([[1.0], [2.0]], [0, 1])


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
    n_leaves = [len(clf.tree_.trees.leaves) for clf in (whole, pruned, small, light)]
    assert n_leaves[0] > n_leaves[1]
    assert n_leaves[2] == 4
    assert n_leaves[3] <= 5
    assert pruned.score(X, y) > 0.8
    with pytest.raises(ValueError, match="min_samples_leaf"):
        bg.DecisionTreeNetworkClassifier(min_samples_leaf=-1, **options).fit(X, y)
