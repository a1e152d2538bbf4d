"""Discretisers as transformers, and as a parameter of classifiers."""

import pickle

import cases
import numpy as np
import pandas as pd
import polars as pl
import pytest
from comparison import assert_same_network
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayesgraph as bg
from bayesgraph.classifiers import DISCRETIZERS
from bayesgraph.core.errors import (
    DataError,
    DataTypeError,
    LossyExportError,
    ModelError,
    UnknownVariableError,
)

EVERY = [*(kind() for kind in DISCRETIZERS.values()), bg.MODL(granular=True)]
every = pytest.mark.parametrize("discretizer", EVERY, ids=str)


@pytest.mark.one_in(5)
@parametrize_with_checks([kind() for kind in DISCRETIZERS.values()])
def test_scikit_learn(estimator, check):
    check(estimator)


# -------------------------------------------------------------------------------- transformers


@every
@pytest.mark.parametrize("kind", ["continuous", "mixed"])
def test_frames_of_every_library_become_states(discretizer, kind):
    data = cases.make_data(kind).with_missing()
    tables = {"pandas": data.pandas(), "polars": data.polars(), "arrow": data.arrow()}
    states = {}
    for library, table in tables.items():
        found = clone(discretizer).fit(table, data.y)
        changed = found.transform(table)
        assert type(changed) is type(table)
        columns = pl.from_arrow(changed) if library == "arrow" else changed
        states[library] = {
            n: [None if pd.isna(v) else v for v in columns[n]] for n in found.feature_names_in_
        }
        for variable in found.variables_:
            if isinstance(variable, bg.Binned):
                column = data.columns[variable.name]
                assert states[library][variable.name] == [
                    None if v is None else variable.states[variable.index(v)] for v in column
                ]
    assert states["pandas"] == states["polars"] == states["arrow"]
    plain = clone(discretizer).fit(dict(data.columns), data.y).transform(dict(data.columns))
    assert plain["c"].tolist() == states["pandas"]["c"]


@every
def test_arrays_become_positions(discretizer):
    data = cases.make_data("continuous").with_missing()
    X = data.matrix().astype(float)
    codes = discretizer.fit(X, data.y).transform(X)
    for j, variable in enumerate(discretizer.variables_):
        gone = np.isnan(X[:, j])
        np.testing.assert_array_equal(np.isnan(codes[:, j]), gone)
        np.testing.assert_array_equal(codes[~gone, j], variable.codes(X[~gone, j]))
        np.testing.assert_array_equal(discretizer.cuts_[variable.name], variable.cuts)
    assert set(discretizer.cuts_) == {"x0", "x1", "x2", "x3"}


def test_pandas_keeps_its_index_and_categories_are_in_order():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.index = X.index[::-1]
    found = bg.MODL().fit(X, y).transform(X)
    assert (found.index == X.index).all()
    column = found["petal width (cm)"]
    assert column.cat.ordered
    assert column.cat.categories.tolist() == ["(-inf, 0.8]", "(0.8, 1.75]", "(1.75, inf)"]
    assert (column <= "(-inf, 0.8]").sum() == 50


def test_set_output_names_the_columns_of_arrays():
    X, y = load_iris(return_X_y=True)
    found = bg.MDLP().set_output(transform="pandas").fit_transform(X, y)
    assert list(found.columns) == ["x0", "x1", "x2", "x3"]


def test_a_pipeline_of_states_is_a_discretizer_inside():
    data = cases.make_data("mixed")
    outside = make_pipeline(bg.MDLP(), bg.NaiveBayesClassifier()).fit(data.pandas(), data.y)
    inside = bg.NaiveBayesClassifier(discretizer="mdlp").fit(data.pandas(), data.y)
    np.testing.assert_allclose(
        outside.predict_proba(data.pandas()), inside.predict_proba(data.pandas())
    )


def test_categories_become_groups():
    values = [*"aabbccddee"] * 6
    y = [v in "ace" for v in values]
    frame = pd.DataFrame({"v": values, "w": [1, 2] * 30})
    modl = bg.MODL(categorical=["w"]).fit(frame, y)
    first, second = modl.variables_
    assert first == bg.Grouped("v", [["a", "c", "e"], ["b", "d"]])
    assert second == bg.Grouped("w", [[1, 2]])
    assert modl.transform(frame)["v"].tolist() == [first.states[first.index(v)] for v in values]
    assert modl.cuts_ == {}
    for never in (False, np.False_, 5):
        kept = bg.MODL(group_values=never, categorical=["w"]).fit(frame, y)
        assert kept.variables_ == (bg.Discrete("v", [*"abcde"]), bg.Discrete("w", [1, 2]))
    always = bg.MODL(group_values=np.True_, categorical=["w"]).fit(frame, y)
    assert always.variables_ == modl.variables_
    above = bg.MODL(group_values=4).fit(frame, y).variables_
    assert above == (first, bg.Binned("w", []))


def test_a_declared_state_without_rows_is_a_group_of_its_own():
    column = pd.Categorical([*"aabb"] * 9, categories=[*"zab"])
    found = bg.MODL().fit(pd.DataFrame({"v": column}), [0, 1] * 18)
    assert found.variables_ == (bg.Grouped("v", [["z"], ["a", "b"]]),)


@pytest.mark.parametrize("supervised", [bg.MDLP(), bg.MODL()], ids=str)
def test_supervised_ones_need_classes(supervised):
    with pytest.raises(DataError, match="requires y"):
        supervised.fit([[1.0], [2.0]])


def test_weights_of_a_transformer_are_repetitions():
    data = cases.make_data("mixed")
    weights = np.random.default_rng(0).integers(0, 4, 60)
    repeated = data.take(np.repeat(np.arange(60), weights))
    for discretizer in EVERY:
        one = clone(discretizer).fit(data.pandas(), data.y, weights)
        other = clone(discretizer).fit(repeated.pandas(), repeated.y)
        assert one.variables_ == other.variables_


def test_infinity_is_refused():
    discretizer = bg.EqualWidth().fit([[1.0], [2.0]])
    for X in ([[np.inf]], pd.DataFrame({"x0": [-np.inf]})):
        with (
            pytest.raises(DataError, match="'x0' has infinity in row 0"),
            np.errstate(all="raise"),
        ):
            discretizer.fit(X) if isinstance(X, pd.DataFrame) else discretizer.transform(X)


# --------------------------------------------------------------------------------- classifiers


def test_evidence_falls_into_its_interval():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = bg.TANClassifier(discretizer="modl").fit(X, y)
    by_number = clf.query(evidence={"petal width (cm)": 1.2}).probabilities
    by_state = clf.query(evidence={"petal width (cm)": "(0.8, 1.75]"}).probabilities
    np.testing.assert_array_equal(by_number, by_state)
    posterior = clf.query("petal width (cm)", {"petal length (cm)": 1.4})
    assert posterior.argmax == "(-inf, 0.8]"
    drawn = clf.network_.sample(50, random_state=0)
    assert set(drawn["petal width (cm)"]) <= set(clf.features_[3].states)
    assert "(0.8, 1.75]" in bg.pictures.to_dot(clf)


@pytest.mark.parametrize("kind", ["continuous", "mixed"])
def test_arrays_and_frames_agree(kind):
    data = cases.make_data(kind).with_missing()
    clf = bg.NaiveBayesClassifier(discretizer="frequency").fit(data.pandas(), data.y)
    array = bg.NaiveBayesClassifier(discretizer="frequency").fit(data.matrix(), data.y)
    np.testing.assert_allclose(
        array.predict_proba(data.matrix()), clf.predict_proba(data.pandas()), rtol=1e-12
    )


def test_columns_of_a_given_family_stay_numbers():
    data = cases.make_data("mixed")
    clf = bg.NaiveBayesClassifier({"c": "gaussian"}, discretizer="width").fit(data.pandas(), data.y)
    kinds = {v.name: type(v) for v in clf.features_}
    assert kinds == {"a": bg.Discrete, "b": bg.Discrete, "c": bg.Continuous, "d": bg.Binned}
    with pytest.raises(DataError, match=r"choose one, or name the columns.*'age': 'gaussian'"):
        bg.NaiveBayesClassifier("kernel", discretizer="width").fit(data.pandas(), data.y)


def test_wrong_discretizers():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(DataError, match=r"'width', 'frequency', 'mdlp', 'modl'.*got 'modle'"):
        bg.TANClassifier(discretizer="modle").fit(X, y)
    with pytest.raises(DataTypeError, match=r"EqualFrequency\(5\)"):
        bg.TANClassifier(discretizer=5).fit(X, y)
    with pytest.raises(DataError, match="give it categorical= instead"):
        bg.TANClassifier(discretizer=bg.MODL(categorical=["x0"])).fit(X, y)
    with pytest.raises(DataError, match="bins= is a number of intervals"):
        bg.TANClassifier(discretizer=bg.EqualWidth(0)).fit(X, y)


def test_given_cut_points_are_those_of_pandas_and_scikit_learn(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = [*"abcd"]
    given = {"a": [5, 6], "b": (3.0,), "c": np.array([2.5, 4.9]), "d": []}
    clf = bg.NaiveBayesClassifier(discretizer=given).fit(X, y)
    assert clf.features_[0] == bg.Binned("a", [5.0, 6.0])
    ends = {n: [-np.inf, *cuts, np.inf] for n, cuts in given.items()}
    codes = pd.DataFrame({n: pd.cut(X[n], ends[n]).cat.codes for n in X})
    peer = CategoricalNB(min_categories=[3, 2, 3, 1]).fit(codes, y)
    np.testing.assert_allclose(clf.predict_proba(X), peer.predict_proba(codes), rtol=1e-9)
    clf.save(tmp_path / "model.bayesgraph")
    np.testing.assert_array_equal(
        bg.load(tmp_path / "model.bayesgraph").predict_proba(X), clf.predict_proba(X)
    )
    rows = bg.open_dataset(pl.from_pandas(X.assign(y=y)).lazy())
    large = bg.NaiveBayesClassifier(discretizer=given).fit(rows, "y")
    assert large.features_ == clf.features_


def test_columns_without_given_cut_points_are_as_without_a_discretizer():
    X, y = load_iris(return_X_y=True)
    gaussian = bg.NaiveBayesClassifier(discretizer={"x0": [5.5]}).fit(X, y)
    assert [type(v) for v in gaussian.features_] == [bg.Binned, *[bg.Continuous] * 3]
    for kind, options in (
        (bg.WeightedNaiveBayesClassifier, {}),
        (bg.BayesianNetworkClassifier, {"structure": "tan", "exponents": "variable"}),
    ):
        free = kind(**options).fit(X, y)
        clf = kind(**options, discretizer={"x0": [5.5]}).fit(X, y)
        assert clf.features_ == (bg.Binned("x0", [5.5]), *free.features_[1:])


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ({"e": [1]}, {}, "e"),
        ({"a": [2, 1]}, {}, r"'a' to a list of cut points.*got \[2, 1\]"),
        ({"a": 2}, {}, "'a' to a list of cut points.*got 2"),
        ({"a": "mdlp"}, {}, "'a' to a list of cut points.*got 'mdlp'"),
        ({"a": [[1.0]]}, {}, "'a' to a list of cut points"),
        ({"a": [np.nan]}, {}, "'a' to a list of cut points"),
        ({"c": [1]}, {}, "cut points of 'c', which is discrete"),
        ({"a": [1]}, {"categorical": ["a"]}, "cut points of 'a', which is discrete or has"),
        ({"a": [1]}, {"distributions": {"a": "poisson"}}, "cut points of 'a', which is"),
        ({"a": [1]}, {"distributions": "gaussian"}, r"discretizer=\{'a': \[1\]\} makes intervals"),
    ],
)
def test_given_cut_points_that_cannot_be(given, options, message):
    X = pd.DataFrame({"a": [1, 2, 3, 4] * 3, "b": [0.1, 0.2, 0.3, 0.4] * 3, "c": [*"xyxy"] * 3})
    if options.get("distributions") == "gaussian":
        X = X.drop(columns="c")
    clf = bg.NaiveBayesClassifier(discretizer=given, check_columns=False, **options)
    with pytest.raises((DataError, UnknownVariableError), match=message):
        clf.fit(X, [0, 1] * 6)
    with pytest.raises(ModelError, match="discretizer= is one of"):
        bg.StreamingNaiveBayesClassifier(discretizer=given).fit(X, [0, 1] * 6)


class Given(bg.classifiers.Discretizer):
    """Cuts that are given."""

    supervised = False

    def __init__(self, cuts=(0.0, 1.0), categorical=None):
        self.cuts = cuts
        self.categorical = categorical

    def find_cuts(self, column):
        return self.cuts


@pytest.mark.parametrize("kind", ["continuous", "mixed"])
def test_batches_have_the_intervals_of_the_first(kind, tmp_path):
    data = cases.make_data(kind).with_missing()
    first, rest = data.take(range(40)), data.take(range(40, 60))
    for estimator in (bg.NaiveBayesClassifier, bg.TANClassifier):
        clf = estimator(discretizer="mdlp").partial_fit(first.pandas(), first.y)
        before = clf.features_
        clf.partial_fit(rest.pandas(), rest.y)
        cuts = [v for v in clf.features_ if isinstance(v, bg.Binned)]
        assert cuts == [v for v in before if isinstance(v, bg.Binned)]
        # The model is that of all rows under these intervals.
        whole = data.pandas()
        for variable in cuts:
            states = [None if v is None else variable.states[variable.index(v)]
                      for v in data.columns[variable.name]]  # fmt: skip
            whole[variable.name] = pd.Categorical(states, categories=variable.states)
        expected = estimator().fit(whole, data.y)
        np.testing.assert_allclose(
            clf.predict_proba(data.pandas()), expected.predict_proba(whole), rtol=1e-9
        )
        clf.save(tmp_path / "model.bayesgraph")
        again = bg.load(tmp_path / "model.bayesgraph").forget(rest.pandas(), rest.y)
        kept = estimator(discretizer="mdlp").fit(first.pandas(), first.y)
        if kind == "continuous":
            assert_same_network(again.network_, kept.network_, 1e-12)


def test_categories_that_come_late_are_groups_of_their_own():
    values = [*"aabbccdd"] * 6
    frame = pd.DataFrame({"v": values})
    clf = bg.NaiveBayesClassifier(discretizer="modl").fit(frame, [v in "ac" for v in values])
    clf.partial_fit(pd.DataFrame({"v": ["e", "a"]}), [True, True])
    assert clf.features_ == (bg.Grouped("v", [["a", "c"], ["b", "d"], ["e"]]),)
    assert clf.query(evidence={"v": "e"}).argmax is True


@every
def test_files_keep_discretizers(discretizer, tmp_path):
    X, y = load_wine(return_X_y=True)
    clf = bg.NaiveBayesClassifier(discretizer=discretizer).fit(X, y)
    clf.save(tmp_path / "model.bayesgraph")
    loaded = bg.load(tmp_path / "model.bayesgraph")
    assert repr(loaded.discretizer) == repr(discretizer)
    assert loaded.features_ == clf.features_
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert pickle.loads(pickle.dumps(clf)).network_ == clf.network_


def test_files_do_not_hold_what_users_write(tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = bg.NaiveBayesClassifier(discretizer=Given()).fit(X, y)
    assert clf.features_[0] == bg.Binned("x0", [0.0, 1.0])
    with pytest.raises(LossyExportError, match=r"Given\(\) of 'discretizer'.*save its network_"):
        clf.save(tmp_path / "model.bayesgraph")


def test_a_search_over_the_number_of_bins():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        bg.NaiveBayesClassifier(discretizer=bg.EqualWidth()),
        {"discretizer__bins": [1, 6], "discretizer": [bg.EqualWidth(), bg.EqualFrequency()]},
        cv=3,
    )
    assert search.fit(X, y).best_params_["discretizer__bins"] == 6


def test_the_object_given_is_not_fitted():
    X, y = load_iris(return_X_y=True)
    discretizer = bg.MODL()
    bg.TANClassifier(discretizer=discretizer).fit(X, y)
    assert not hasattr(discretizer, "variables_")


def test_a_class_without_rows_changes_no_interval():
    X, y = load_iris(return_X_y=True)
    plain = bg.NaiveBayesClassifier(discretizer="modl").fit(X, y)
    more = bg.NaiveBayesClassifier(discretizer="modl").partial_fit(X, y, classes=[0, 1, 2, 3])
    assert more.features_ == plain.features_


def test_a_class_of_rows_of_weight_zero_changes_no_interval():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 1)), random.integers(3, size=200)
    y[(y < 2) & (X[:, 0] + random.normal(size=200) > 0)] = 1
    left = bg.MODL().fit(X[y < 2], y[y < 2])
    assert (
        bg.MODL().fit(X, y, sample_weight=y < 2).cuts_["x0"].tolist() == left.cuts_["x0"].tolist()
    )


def test_text_in_the_place_of_numbers_is_refused():
    X = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0] * 10, "sex": ["m", "f"] * 20})
    y = [0, 0, 1, 1] * 10
    single = bg.BayesianNetworkClassifier(n_trees=0)
    for unfitted in (single, bg.WeightedNaiveBayesClassifier()):
        clf = unfitted.fit(X, y)
        with pytest.raises(DataTypeError, match="was numeric when the model was made"):
            clf.predict(X.assign(age=X["age"].astype(str)))
        states = clf.network_.variable("age").states
        assert clf.predict(X.assign(age=states[0])).shape == (40,)


def test_an_average_takes_numbers_and_the_intervals_of_all_its_networks():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.random((300, 3)), columns=["a", "b", "c"])
    y = ((X.to_numpy() * 4).astype(int).sum(axis=1) % 2).astype(int)
    average = bg.BayesianNetworkClassifier(n_trees=20).fit(X, y)
    assert isinstance(average.network_, bg.Ensemble)
    with pytest.raises(DataTypeError, match="was numeric when the model was made"):
        average.predict(X.assign(a=X["a"].astype(str)))
    own = [network.variable("a") for network in average.network_.networks]
    assert average.network_.variable("a").cuts == tuple(sorted({*own[0].cuts, *own[1].cuts}))
    cells = average.network_.variable("a").states
    found = average.predict_proba(X.assign(a=cells[3]))
    number = average.network_.variable("a").cuts[3]
    np.testing.assert_array_equal(found, average.predict_proba(X.assign(a=number)))


def test_huge_weights_end():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 2)), random.integers(3, size=60)
    found = bg.MODL().fit(X, y, np.full(60, 1e12))
    assert set(found.cuts_) == {"x0", "x1"}


def test_classes_may_be_a_column_of_the_frame():
    X, y = load_iris(return_X_y=True, as_frame=True)
    by_name = bg.MDLP().fit(X.assign(kind=y), "kind")
    assert by_name.variables_ == bg.MDLP().fit(X, y).variables_
    assert bg.MDLP().fit_transform(X.assign(kind=y), "kind").equals(by_name.transform(X))
