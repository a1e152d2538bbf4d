"""Decision trees as networks: beside scikit-learn's, and beside enumeration where values miss."""

import cases
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ShuffleSplit
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from tree_oracle import TreeOracle, reached

import bayesgraph as bg
from bayesgraph.classifiers.decision_trees import encoded
from bayesgraph.tables import Table

CRITERIA = ("entropy", "gini", "log_loss")


def predicted(X, y, criterion, **parameters):
    """Return our probabilities and scikit-learn's on rows that were not fitted."""
    test = np.arange(len(y)) % 3 == 0
    ours = bg.DecisionTreeNetworkClassifier(criterion=criterion, **parameters)
    theirs = DecisionTreeClassifier(criterion=criterion, random_state=0, **parameters)
    ours.fit(X[~test], y[~test])
    theirs.fit(X[~test], y[~test])
    assert ours.tree_.trees.n_nodes == theirs.tree_.node_count
    return ours.predict_proba(X), theirs.predict_proba(X)


# ------------------------------------------------------------------------------- scikit-learn


@pytest.mark.one_in(16)
@parametrize_with_checks(
    [
        bg.DecisionTreeNetworkRegressor(),
        *(
            bg.DecisionTreeNetworkClassifier(criterion=name)
            for name in ("entropy", "gain_ratio", "chaid")
        ),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.one_in(14)
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"max_depth": 3},
        {"min_samples_leaf": 5, "min_samples_split": 12},
        {"max_leaf_nodes": 6},
        {"min_impurity_decrease": 0.02},
        {"ccp_alpha": 0.01},
        {"class_weight": "balanced", "max_depth": 4},
        {"class_weight": {0: 3.0, 1: 0.5}, "min_weight_fraction_leaf": 0.05},
    ],
    ids=str,
)
def test_complete_rows_are_scikit_learns(criterion, load, parameters):
    X, y = load(return_X_y=True)
    ours, theirs = predicted(X, y, criterion, **parameters)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_random_data_give_scikit_learns_probabilities(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 80))
    X = random.integers(0, 9, size=(n, 3)) * 0.37
    y = random.integers(0, 3, size=n)
    weights = random.integers(1, 4, size=n).astype(float)
    depth = int(random.integers(1, 6))
    ours = bg.DecisionTreeNetworkClassifier(max_depth=depth).fit(X, y, weights)
    theirs = DecisionTreeClassifier(criterion="entropy", max_depth=depth, random_state=0)
    theirs.fit(X, y, weights)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)


def test_discrete_features_are_scikit_learns_on_indicators():
    data = cases.make_data("discrete", 200)
    ours = bg.DecisionTreeNetworkClassifier(max_depth=5).fit(data.pandas(), data.y)
    text = data.pandas().astype(str)
    dummies = pd.get_dummies(text).drop(columns=["b_False", "c_x"]).astype(float)
    theirs = DecisionTreeClassifier(criterion="entropy", max_depth=5, random_state=0)
    theirs.fit(dummies.to_numpy(), data.y)
    found = ours.predict_proba(data.pandas())
    np.testing.assert_allclose(found, theirs.predict_proba(dummies.to_numpy()), atol=1e-12)
    assert max(map(len, ours.tree_.trees.groups)) == 4


def test_regression_is_scikit_learns():
    X, y = load_diabetes(return_X_y=True)
    for parameters in ({}, {"max_depth": 4}, {"min_samples_leaf": 20}, {"ccp_alpha": 50.0}):
        ours = bg.DecisionTreeNetworkRegressor(**parameters).fit(X[::2], y[::2])
        theirs = DecisionTreeRegressor(random_state=0, **parameters).fit(X[::2], y[::2])
        assert ours.tree_.trees.n_nodes == theirs.tree_.node_count
        # Not on other rows: these columns are scaled integers, which a threshold may hit exactly,
        # and then single precision decides for scikit-learn.
        np.testing.assert_allclose(ours.predict(X[::2]), theirs.predict(X[::2]), rtol=1e-10)
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 4))
    y = X[:, 0] ** 2 + random.normal(size=400)
    ours = bg.DecisionTreeNetworkRegressor().fit(X[::2], y[::2])
    theirs = DecisionTreeRegressor(random_state=0).fit(X[::2], y[::2])
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-10, atol=1e-10)


def test_the_network_of_a_tree():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = bg.DecisionTreeNetworkClassifier(max_depth=3).fit(X, y)
    used = [p.name for p in clf.tree_.parents]
    assert list(clf.network_.graph.edges) == [(name, "target") for name in used]
    assert len(clf.network_.variables) == 5  # features that no split asks are isolated
    # The scores of the arcs sum to the mutual information of class and leaf.
    columns = {v: X[v.name].to_numpy() for v in clf.features_}
    rows = [{v: column[i] for v, column in columns.items()} for i in range(len(y))]
    leaf = np.array([reached(clf.tree_, row) for row in rows])
    joint = np.zeros((leaf.max() + 1, 3))
    np.add.at(joint, (leaf, y.to_numpy()), 1 / len(y))
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    at = joint > 0
    information = np.sum(joint[at] * np.log(joint[at] / outer[at]))
    assert sum(clf.network_.arc_scores.values()) == pytest.approx(information)
    counts = np.bincount(leaf, minlength=clf.tree_.trees.n_nodes)
    at_leaves = clf.tree_.trees.leaves
    np.testing.assert_allclose(clf.tree_.trees.counts[at_leaves], counts[at_leaves])


# ----------------------------------------------------------------------------- missing values


@pytest.mark.parametrize("kind", cases.KINDS)
def test_missing_values_are_summed_out_exactly(kind):
    data = cases.make_data(kind, 120).with_missing(0.4)
    clf = bg.DecisionTreeNetworkClassifier(max_depth=4, smoothing=1.0).fit(data.pandas(), data.y)
    oracle = TreeOracle(clf.network_)
    proba = clf.predict_proba(data.pandas())
    log_likelihood = clf.score_samples(data.pandas())
    for i in range(30):
        row = {n: column[i] for n, column in data.columns.items() if column[i] is not None}
        np.testing.assert_allclose(proba[i], oracle.posterior(["class"], row), atol=1e-10)
        np.testing.assert_allclose(log_likelihood[i], oracle.log_probability(row), atol=1e-9)
        known = {**row, "class": data.y[i].item()}
        expected = oracle.log_probability(known)
        np.testing.assert_allclose(clf.network_.log_probability(known), expected, atol=1e-9)


def test_a_missing_value_beats_a_guess_by_the_mean():
    X, y = load_breast_cancer(return_X_y=True)
    train = np.arange(len(y)) % 2 == 0
    clf = bg.DecisionTreeNetworkClassifier(min_samples_leaf=5, smoothing=1.0).fit(
        X[train], y[train]
    )
    random = np.random.default_rng(0)
    holes = np.where(random.random(X.shape) < 0.3, np.nan, X)[~train]
    filled = np.where(np.isnan(holes), X[train].mean(axis=0), holes)

    def loss(rows):
        return -np.mean(clf.predict_log_proba(rows)[np.arange(len(rows)), y[~train]])

    assert loss(holes) < loss(filled)


def test_far_values_and_unseen_states_are_not_impossible():
    data = cases.make_data("mixed", 100)
    clf = bg.DecisionTreeNetworkClassifier(max_depth=3).fit(data.pandas(), data.y)
    row = {"a": ["low"] * 3, "b": [True] * 3, "c": [1e12, -1e300, 9.0], "d": [0.0, 0.0, 1e200]}
    near = {"a": ["low"] * 3, "b": [True] * 3, "c": [1e3, -1e3, 9.0], "d": [0.0, 0.0, 1e3]}
    np.testing.assert_allclose(clf.predict_proba(row), clf.predict_proba(near), rtol=1e-9)
    assert np.isfinite(clf.score_samples(row)).all()


def test_what_only_missing_values_tell_is_left_out():
    # Whether x is missing is all there is to know, and a tree here does not know it.
    X = np.array([[1.0], [np.nan]] * 20)
    y = np.array([0, 1] * 20)
    clf = bg.DecisionTreeNetworkClassifier().fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), 0.5)
    X = np.column_stack([X[:, 0] * np.arange(40), np.arange(40) % 3])
    assert np.isfinite(
        bg.DecisionTreeNetworkClassifier(smoothing=1).fit(X, y).predict_log_proba(X)
    ).all()


def test_leaves_of_incomplete_rows_are_those_of_fractional_rows():
    frame = {"s": ["u"] * 6 + ["v"] * 3 + [None] * 3}
    y = [0] * 5 + [1] + [1] * 3 + [0, 0, 1]
    clf = bg.DecisionTreeNetworkClassifier().fit(frame, y)
    share = (6 + 0.5) / 10  # of u, one row spread over both states
    u = np.array([5 + 2 * share, 1 + share])
    v = np.array([2 * (1 - share), 3 + (1 - share)])
    found = clf.predict_proba({"s": ["u", "v"]})
    np.testing.assert_allclose(found, [u / u.sum(), v / v.sum()])


# ---------------------------------------------------------------------------------- regression


def diabetes(share=0.3):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    random = np.random.default_rng(0)
    return X, X.where(random.random(X.shape) > share), y


def test_regression_with_missing_values_is_the_mixture_of_the_leaves():
    X, holes, y = diabetes()
    X, holes = X[["bmi", "s5", "bp"]], holes[["bmi", "s5", "bp"]]
    reg = bg.DecisionTreeNetworkRegressor(max_depth=3).fit(X, y)
    oracle = TreeOracle(reg.network_)
    mean, sd = reg.predict(holes, return_std=True)
    for i in range(12):
        row = holes.iloc[i].dropna().to_dict()
        expected, variance = oracle.moments(["target"], row)
        np.testing.assert_allclose([mean[i], sd[i] ** 2], [expected[0], variance[0, 0]], rtol=1e-8)
        found = reg.query(evidence=row)
        assert (found.mean, found.variance) == pytest.approx((mean[i], sd[i] ** 2), rel=1e-8)
    leaf = reg.query(reg.leaf_.name, {"target": 300.0})
    np.testing.assert_allclose(
        leaf.probabilities, oracle.posterior(["leaf"], {"target": 300.0}), atol=1e-10
    )
    assert repr(reg.tree_.variable).startswith("Discrete('leaf'")


def test_regression_fitted_with_missing_values():
    X, holes, y = diabetes()
    reg = bg.DecisionTreeNetworkRegressor(max_depth=4, min_samples_leaf=15).fit(holes, y)
    assert reg.score(X, y) > 0.4
    assert reg.score(holes, y) > 0.3


def test_variances_of_leaves():
    X = {"s": ["u", "u", "v", "v"]}
    y = [1.0, 3.0, 10.0, 10.0]
    alone = bg.DecisionTreeNetworkRegressor(smoothing=bg.Smoothing(shrinkage=0.0)).fit(X, y)
    floor = 1e-9 * np.var(y)
    np.testing.assert_allclose(alone.network_["target"].variance, [1 + floor, floor])
    drawn = bg.DecisionTreeNetworkRegressor(smoothing=bg.Smoothing(shrinkage=2.0)).fit(X, y)
    np.testing.assert_allclose(drawn.network_["target"].variance, [0.75, 0.25])
    with pytest.raises(bg.errors.DataError, match="constant in some leaf"):
        bg.DecisionTreeNetworkRegressor(
            smoothing=bg.Smoothing(shrinkage=0.0, var_smoothing=0.0)
        ).fit(X, y)
    assert bg.DecisionTreeNetworkRegressor().fit(X, [2.0] * 4).predict(X).tolist() == [2.0] * 4


def test_a_tree_of_too_many_leaves_is_refused(monkeypatch):
    monkeypatch.setattr("bayesgraph.core.parallel.default_memory_limit", lambda: 1000)
    X = np.arange(40.0)[:, None]
    with pytest.raises(bg.errors.MemoryLimitError, match=r"40 leaves.*min_samples_leaf"):
        bg.DecisionTreeNetworkRegressor().fit(X, X[:, 0])
    bg.DecisionTreeNetworkRegressor(max_leaf_nodes=3).fit(X, X[:, 0])


def test_weights_of_a_regression_are_repetitions():
    X, _, y = diabetes()
    random = np.random.default_rng(1)
    weights = random.integers(0, 3, size=len(y))
    weighted = bg.DecisionTreeNetworkRegressor(max_depth=3).fit(X, y, weights)
    rows = np.repeat(np.arange(len(y)), weights)
    repeated = bg.DecisionTreeNetworkRegressor(max_depth=3).fit(X.iloc[rows], y.iloc[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y is None"),
        ([1.0, np.nan, 2.0], "NaN"),
        (np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), "NaN"),
        ([1.0, np.inf, 2.0], "infinity"),
        (["a", "b", "c"], "A regressor predicts numbers"),
        (np.array([1.0, 2j, 3.0]), "A regressor predicts real numbers"),
    ],
)
def test_unusable_numbers(y, message):
    with pytest.raises(ValueError, match=message):
        bg.DecisionTreeNetworkRegressor().fit([[1.0], [2.0], [3.0]], y)


def test_names_of_a_regression():
    frame = pd.DataFrame({"leaf": [1.0, 2.0, 3.0], "target": [1.0, 0.0, 1.0]})
    reg = bg.DecisionTreeNetworkRegressor().fit(frame, [1.0, 2.0, 3.0])
    assert (reg.target_.name, reg.leaf_.name) == ("target_", "leaf_")
    named = bg.DecisionTreeNetworkRegressor().fit(frame, pd.Series([1.0, 2.0, 3.0], name="price"))
    assert named.target_.name == "price"
    with pytest.raises(NotFittedError):
        bg.DecisionTreeNetworkRegressor().predict(frame)
    with pytest.raises(NotFittedError):
        bg.DecisionTreeNetworkRegressor().query()
    with pytest.raises(NotFittedError):
        bg.DecisionTreeNetworkRegressor().score_samples(frame)


# ------------------------------------------------------------------------------------- pruning


@pytest.mark.slow
def test_pruning_by_cross_validation():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    y = ((X[:, 0] > 0) ^ (random.random(300) < 0.2)).astype(int)
    full = bg.DecisionTreeNetworkClassifier().fit(X, y)
    pruned = bg.DecisionTreeNetworkClassifier(ccp_alpha="cv").fit(X, y)
    small = bg.DecisionTreeNetworkClassifier(ccp_alpha="cv", one_standard_error=True).fit(X, y)
    sizes = [len(c.tree_.trees.leaves) for c in (full, pruned, small)]
    assert sizes[0] > 30
    assert 2 <= sizes[2] <= sizes[1] <= 10
    assert small.tree_.trees.threshold[0] == pytest.approx(0.0, abs=0.1)
    assert small.ccp_alpha_ >= pruned.ccp_alpha_ > full.ccp_alpha_ == 0.0
    folds = ShuffleSplit(3, random_state=0)
    again = bg.DecisionTreeNetworkClassifier(ccp_alpha="cv", cv=folds).fit(X, y)
    assert len(again.tree_.trees.leaves) < sizes[0]


@pytest.mark.slow
def test_pruning_a_regression():
    X, _, y = diabetes()
    full = bg.DecisionTreeNetworkRegressor().fit(X, y)
    pruned = bg.DecisionTreeNetworkRegressor(ccp_alpha="cv", cv=3).fit(X, y)
    assert 2 <= len(pruned.tree_.trees.leaves) < len(full.tree_.trees.leaves) / 5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ccp_alpha": "auto"}, "'cv'; got 'auto'"),
        ({"ccp_alpha": "cv", "cv": 1}, "2 or more; got 1"),
        ({"ccp_alpha": -1.0}, "ccp_alpha"),
        ({"max_depth": 0}, "'max_depth' parameter of DecisionTreeNetworkClassifier .* Got 0"),
        ({"criterion": "chi2"}, "criterion= is one of 'entropy', .*'chaid'; got 'chi2'"),
        ({"smoothing": -1.0}, "alpha"),
        ({"unseen": "ignore"}, "unseen"),
        ({"class_weight": {0: -2.0}}, "class_weight= maps"),
    ],
)
def test_unusable_parameters(parameters, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        bg.DecisionTreeNetworkClassifier(**parameters).fit(X, y)


def test_unusable_parameters_of_a_regression():
    regressor = bg.DecisionTreeNetworkRegressor(criterion="magic")
    with pytest.raises(ValueError, match=r"of DecisionTreeNetworkRegressor .* Got 'magic'"):
        regressor.fit([[1.0], [2.0]], [1.0, 2.0])


# --------------------------------------------------------------------------------------- inside


def test_columns_that_cannot_split_are_not_shown():
    variables = (bg.Discrete("a", ["x", "y", "z"]), bg.Discrete("b", ["u"]), bg.Continuous("c"))
    codes = np.array([[0, 0], [1, 0], [-1, 0], [1, 0]], dtype=np.int8)
    values = np.array([[5.0], [np.nan], [-1.0], [5.0]])
    matrix, meaning = encoded(Table(variables, codes, values))
    assert meaning == [(0, 0), (0, 1), (2, None)]
    expected = [[1, 0, 1], [0, 1, np.nan], [np.nan, np.nan, 0], [0, 1, 1]]
    np.testing.assert_array_equal(matrix, np.array(expected, dtype=np.float32))


def test_files_keep_trees(tmp_path):
    data = cases.make_data("mixed", 80).with_missing()
    for weight in (None, "balanced", {"setosa": 2.0, "versicolor": 1.0, "virginica": 1.5}):
        clf = bg.DecisionTreeNetworkClassifier(max_depth=3, class_weight=weight)
        clf.fit(data.pandas(), data.y).save(tmp_path / "tree.bayesgraph")
        back = bg.load(tmp_path / "tree.bayesgraph")
        assert back.get_params() == clf.get_params()
        assert back.network_ == clf.network_
        assert back.ccp_alpha_ == clf.ccp_alpha_
        expected = clf.predict_proba(data.pandas())
        np.testing.assert_array_equal(back.predict_proba(data.pandas()), expected)
    y = np.arange(80.0) % 7
    reg = bg.DecisionTreeNetworkRegressor(max_depth=3).fit(data.pandas(), y)
    reg.save(tmp_path / "tree.bayesgraph")
    first = (tmp_path / "tree.bayesgraph").read_bytes()
    back = bg.load(tmp_path / "tree.bayesgraph")
    assert back.network_ == reg.network_
    np.testing.assert_array_equal(back.predict(data.pandas()), reg.predict(data.pandas()))
    back.save(tmp_path / "tree.bayesgraph")
    assert (tmp_path / "tree.bayesgraph").read_bytes() == first
