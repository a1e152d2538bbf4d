"""Input that cannot be used: the error says what was expected, what arrived and what to do."""

import datetime
import re

import cases
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import bayesgraph as bg
from bayesgraph.classifiers import MDLP
from bayesgraph.core.errors import BayesGraphError, DataError, DataTypeError, GraphError

X = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 4.0], [4.0, 4.5]])
Y = ["no", "no", "yes", "yes"]
FRAME = pd.DataFrame(X, columns=["age", "dose"])

both = pytest.mark.parametrize("estimator", [bg.NaiveBayesClassifier, bg.TANClassifier])


def network(structure, **parameters):
    return bg.BayesianNetworkClassifier(structure, **parameters)


# --------------------------------------------------------------------------------- the columns


def column(values):
    return {"age": values, "dose": [1.0, 2.0, 3.0, 4.0]}


BAD_COLUMNS = {
    "text and numbers": (column(["a", 1, "b", 2]), DataTypeError, "'age' mixes number and text"),
    "numbers and booleans": (column([True, 2, 3, 4]), DataTypeError, "mixes boolean and number"),
    "dates": (
        pd.DataFrame({"day": pd.date_range("2020-01-01", periods=4)}),
        DataTypeError,
        "'day' has the type Datetime.*dates='parts'",
    ),
    "polars dates": (
        pl.DataFrame({"day": [datetime.date(2020, 1, i) for i in range(1, 5)]}),
        DataTypeError,
        "'day' has the type Date",
    ),
    "date objects": (
        column([datetime.date(2020, 1, i) for i in range(1, 5)]),
        DataTypeError,
        "'age' has the type date",
    ),
    "lists": (pl.DataFrame({"z": [[1], [2], [3], [4]]}), DataTypeError, "'z' has the type List"),
    "ragged lists": (column([[1], [1, 2], [1], [2]]), DataTypeError, "'age' has the type list"),
    "complex": (column(np.ones(4) * 1j), DataTypeError, "'age' has the type complex128"),
    "nothing observed": (column([None] * 4), DataError, "'age' has no observed value"),
    "infinity": (column([1.0, 2.0, np.inf, 4.0]), DataError, "'age' has infinity in row 2"),
    "minus infinity": (column([-np.inf, 2.0, 1.0, 4.0]), DataError, "'age' has infinity in row 0"),
    "different lengths": (column([1.0, 2.0, 3.0]), DataError, "same length.*'age': 3, 'dose': 4"),
    "no columns": ({}, DataError, "no columns"),
    "no rows": (FRAME.iloc[:0], DataError, "no rows.*'age', 'dose'"),
    "no rows in polars": (pl.from_pandas(FRAME)[:0], DataError, "no rows"),
    "no rows in lists": ({"age": [], "dose": []}, DataError, "no rows"),
    "a name twice": (
        pd.DataFrame(X, columns=["age", "age"]),
        DataError,
        "Column names must differ(.|\n)*'age'",
    ),
    "two dimensions in a column": (
        column(np.ones((4, 2))),
        DataTypeError,
        "'age' is a matrix; give the family",
    ),
}


@pytest.mark.parametrize(("table", "error", "message"), BAD_COLUMNS.values(), ids=BAD_COLUMNS)
def test_unusable_columns(table, error, message):
    with pytest.raises(error, match=message) as caught:
        bg.TANClassifier().fit(table, Y)
    assert isinstance(caught.value, BayesGraphError)
    assert isinstance(caught.value, (ValueError, TypeError))


@both
@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_columns_whose_squares_leave_the_range_of_floats(estimator, scale):
    table = FRAME.assign(dose=FRAME["dose"] * scale)
    with pytest.raises(DataError, match=r"'dose'.*Multiply the column by a constant"):
        estimator().fit(table, Y)
    # As states they need no variance.
    strange = estimator(categorical=["dose"]).fit(table, Y)
    plain = estimator(categorical=["dose"]).fit(FRAME, Y)
    np.testing.assert_allclose(strange.predict_proba(table), plain.predict_proba(FRAME))


@both
@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (FRAME.assign(dose=[1.0, np.inf, 2.0, 3.0]), ValueError, "'dose' has infinity in row 1"),
        (FRAME.assign(dose=["1", "2", "3", "4"]), TypeError, "'dose' is numeric.*'1' is text"),
        (FRAME.iloc[:0], ValueError, "no rows"),
        (FRAME.assign(dose=pd.Timestamp("2020-01-01")), TypeError, "'dose' is numeric"),
    ],
    ids=["infinity", "text", "no rows", "date"],
)
def test_unusable_columns_in_prediction(estimator, bad, error, message):
    classifier = estimator().fit(FRAME, Y)
    for ask in (classifier.predict, classifier.predict_proba, classifier.score_samples):
        with pytest.raises(error, match=message) as caught:
            ask(bad)
        assert isinstance(caught.value, BayesGraphError)


@both
@pytest.mark.parametrize(
    "bad", [X[:, :1], np.ones((2, 3)), X[0], X[:0], scipy.sparse.csr_array(X)], ids=range(5)
)
def test_arrays_of_another_shape(estimator, bad):
    classifier = estimator().fit(X, Y)
    with pytest.raises((ValueError, TypeError), match=r"features|2D array|0 sample|[Ss]parse"):
        classifier.predict(bad)


@both
def test_sparse_and_shapeless_input(estimator):
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        estimator().fit(scipy.sparse.csr_array(X), Y)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        estimator().fit(scipy.sparse.dok_array(X), Y)
    with pytest.raises(ValueError, match="2D array"):
        estimator().fit(X[:, 0], Y)
    with pytest.raises(ValueError, match="2D array"):
        estimator().fit(np.ma.array(X[:, 0], mask=[0, 1, 0, 0]), Y)
    with pytest.raises(ValueError, match="infinity in row 3"):
        estimator().fit(np.where(X == 4.5, np.inf, X), Y)


streams_too = pytest.mark.parametrize(
    "estimator", [bg.NaiveBayesClassifier, bg.AODEClassifier, bg.StreamingNaiveBayesClassifier]
)


@streams_too
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"age": 1.0, "dose": 2.0}, "a dict that holds 1.0 for 'age'"),
        ({"age": "old", "dose": None}, "a dict that holds 'old' for 'age'"),
        ([{"age": 1.0, "dose": 2.0}], r"a list of dicts; pandas\.DataFrame\(X\)"),
        (FRAME.iloc[0], "a Series, which is one column or row"),
        (pl.Series("age", [1.0, 2.0]), "a Series, which is one column or row"),
    ],
    ids=["dict", "dict of text", "list of dicts", "pandas series", "polars series"],
)
def test_single_rows_are_no_tables(estimator, wrong, message):
    classifier = estimator().fit(FRAME, Y)
    one = "predict_one or query" if hasattr(classifier, "predict_one") else "query"
    for ask in (classifier.predict, classifier.decide, classifier.predict_proba):
        with pytest.raises(DataTypeError, match=f"X is a table.*{message}.* goes to {one}, as a"):
            ask(wrong)
    with pytest.raises(DataTypeError, match=message):
        estimator().fit(wrong, Y)


def test_estimators_without_queries_do_not_name_them():
    transformer = MDLP().fit(FRAME, Y)
    with pytest.raises(DataTypeError, match="for 'age'") as caught:
        transformer.transform({"age": 1.0, "dose": 2.0})
    assert "query" not in str(caught.value)


@streams_too
def test_tables_without_rows_are_refused_the_first_time_and_later(estimator):
    none = FRAME.iloc[:0]
    classifier = estimator()
    for learn in (
        classifier.fit,
        classifier.partial_fit,
        lambda X, y: classifier.partial_fit(X, y, classes=["no", "yes"]),
        lambda X, y: bg.classifiers.fit_batches(classifier, [(X, y)]),
        classifier.fit(FRAME, Y).partial_fit,
    ):
        with pytest.raises(DataError, match=r"no rows.*'age', 'dose'"):
            learn(none, [])


@streams_too
def test_other_columns_are_told_with_what_to_do(estimator):
    classifier = estimator().fit(FRAME.assign(sex=["f", "m", "f", "m"]), Y)
    right = FRAME.assign(sex=["f", "m", "f", "m"])
    with pytest.raises(DataError) as caught:
        classifier.predict(right[["age", "sex", "dose"]])
    assert "- expected 'dose', 'sex' after 'age'\n- got 'sex', 'dose'\n" in str(caught.value)
    assert "X[model.feature_names_in_]" in str(caught.value)
    classifier.predict(right[["age", "sex", "dose"]][classifier.feature_names_in_])
    with pytest.raises(DataError, match=r"unseen at fit time:\n- 'z'\n\(Leave them out") as caught:
        classifier.predict(right.assign(z=1.0))
    assert ("learn_one" in str(caught.value)) == hasattr(classifier, "learn_one")


@pytest.mark.parametrize("names", [["age", 2], [1, 2]])
def test_names_that_are_not_text_are_expected_too(names):
    classifier = bg.NaiveBayesClassifier().fit(FRAME.set_axis(names, axis=1), Y)
    with pytest.raises(DataError) as caught:
        classifier.predict(FRAME.set_axis(names[::-1], axis=1))
    assert "feature_names_in_" not in str(caught.value)


def test_text_in_a_column_that_was_empty_at_first():
    start = pd.DataFrame({"n": [1.0, 2.0, 3.0], "t": [np.nan] * 3})
    later = pd.DataFrame({"n": [4.0, 5.0, 6.0], "t": ["red", "blue", "red"]})
    batches = [(start, ["a", "b", "a"]), (later, ["b", "a", "b"])]
    for estimator in (bg.NaiveBayesClassifier, bg.StreamingNaiveBayesClassifier):
        with pytest.raises(
            DataTypeError, match=r"'t' is numeric .*'red' is no number.*categorical="
        ):
            bg.classifiers.fit_batches(estimator(), batches)
    # As the message says.
    stream = bg.classifiers.fit_batches(
        bg.StreamingNaiveBayesClassifier(categorical=["t"]), batches
    )
    assert stream.features_[1].states == ("blue", "red")
    with pytest.raises(DataError, match=r"'t' has no observed value.*begin with rows in which"):
        bg.classifiers.fit_batches(bg.NaiveBayesClassifier(categorical=["t"]), batches)


# ---------------------------------------------------------------------------------- the labels

BAD_LABELS = {
    "None": (
        np.array(["a", None, "b", "a"], dtype=object),
        DataError,
        "1 labels are missing.*row 1",
    ),
    "NaN": ([0.0, 1.0, np.nan, np.nan], DataError, "2 labels are missing.*row 2"),
    "NA": (pd.array([0, 1, None, 1], dtype="Int64"), DataError, "1 labels are missing.*row 2"),
    "pandas text": (pd.Series(["a", "b", None, "b"]), DataError, "1 labels are missing.*row 2"),
    "polars null": (pl.Series([0, None, 1, 1]), DataError, "1 labels are missing.*row 1"),
    "masked": (np.ma.array([0, 1, 0, 1], mask=[1, 0, 0, 0]), DataError, "1 labels are missing"),
    "infinity": ([0.0, 1.0, np.inf, 1.0], DataError, "infinity"),
    "no labels": (None, DataError, "y is None"),
    "a name": ("doze", DataError, r"y='doze' names no column of X\. Did you mean 'dose'"),
    "measurements": ([0.5, 1.5, 2.25, 3.5], ValueError, "continuous"),
    "too few": (["a", "b", "a"], ValueError, r"X has \d+ rows, and y 3 labels"),
    "two columns": (np.ones((4, 2)), ValueError, "1d array"),
    "text and numbers": (np.array(["a", 1, "a", 1], dtype=object), TypeError, "one type"),
    "numbers as objects": (
        np.array([0, 1, 0, 1], dtype=object),
        DataError,
        r"which is object; it holds such as 0\. Convert it, by y\.astype\(int\)",
    ),
    "booleans as objects": (np.array([True, False] * 2, dtype=object), DataError, "is object"),
    "bytes": (np.array([b"a", b"b"] * 2, dtype=object), DataTypeError, "such as b'a'.*bytes"),
}


@pytest.mark.parametrize(("y", "error", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_unusable_labels(y, error, message):
    with pytest.raises(error, match=message):
        bg.NaiveBayesClassifier().fit(FRAME, y)


@streams_too
@pytest.mark.parametrize("dtype", [object, None])
def test_labels_of_another_type_than_the_classes(estimator, dtype):
    classifier = estimator().fit(FRAME, np.array(Y, dtype=dtype))
    told = r"different types, numbers and text: those of the model are text \('no', 'yes'\)"
    with pytest.raises(DataTypeError, match=rf"{told}; those of y are numbers \(0, 1\)"):
        classifier.partial_fit(FRAME, [0, 1, 0, 1])
    with pytest.raises(DataTypeError, match=r"those of classes= are numbers and text \('u', 1\)"):
        estimator().partial_fit(FRAME, np.array(Y, dtype=dtype), classes=["u", 1])
    if hasattr(classifier, "learn_one"):
        with pytest.raises(DataTypeError, match=rf"{told}; those of y are numbers \(3\)"):
            classifier.learn_one({"age": 1.0}, 3)
    numbers = estimator().fit(FRAME, [0, 1, 0, 1])
    with pytest.raises(DataTypeError, match=r"model are numbers \(0, 1\); those of y are text"):
        numbers.partial_fit(FRAME, np.array(Y, dtype=dtype))
    # Kinds of numbers go together.
    assert numbers.partial_fit(FRAME, [True, False, True, False]).classes_.tolist() == [0, 1]


def test_rows_without_weight_do_not_hide_other_lengths():
    weights = [1.0, 0.0, 1.0]
    for table in (FRAME, X):
        with pytest.raises(ValueError, match="X has 4 rows, and y 3 labels"):
            bg.NaiveBayesClassifier().fit(table, ["a", "b", "a"], sample_weight=weights)


@both
def test_a_variance_of_zero_that_nothing_smooths(estimator):
    table = FRAME.assign(dose=[1.0, 1.0, 2.0, 5.0], sex=["f", "f", "m", "m"])
    with pytest.raises(
        DataError, match=r"'dose' is constant in some (configuration|class).*var_smoothing"
    ):
        estimator(smoothing=bg.Smoothing(var_smoothing=0.0, shrinkage=0.0)).fit(table, Y)


def test_missing_target_of_a_count_source():
    table = {"sick": ["no", None, "yes"], "age": [1.0, 2.0, 3.0]}
    with pytest.raises(DataError, match="'sick' is missing in 1 of 3 rows"):
        bg.learning.count_source(table, "sick")
    with pytest.raises(KeyError, match=r"no variable 'sic'.*Did you mean 'sick'"):
        bg.learning.count_source(table, "sic")


# ------------------------------------------------------------------------------- the parameters

BAD_PARAMETERS = {
    "negative alpha": ({"smoothing": -1.0}, ValueError, "alpha.*-1"),
    "NaN alpha": ({"smoothing": np.nan}, ValueError, "alpha.*nan"),
    "text alpha": ({"smoothing": "one"}, ValueError, "smoothing.*'one'"),
    "too few priors": ({"priors": [1.0]}, ValueError, "(?i)number of priors.*'no', 'yes'"),
    "negative prior": ({"priors": [-0.5, 1.5]}, ValueError, "(?i)priors must be non-negative"),
    "priors not of sum one": ({"priors": [0.5, 0.6]}, ValueError, "(?i)sum of the priors"),
    "a class without a prior": ({"priors": {"yes": 0.5}}, ValueError, "The prior of 'no' is 0"),
    "class weight as text": (
        {"class_weight": "balance"},
        DataError,
        "is 'balanced', a map",
    ),
    "a list of class weights": ({"class_weight": [1, 2]}, DataError, "class_weight= is 'balanced'"),
    "NaN prior": ({"priors": [np.nan, 1.0]}, ValueError, "(?i)priors"),
    "unknown categorical": ({"categorical": ["dos"]}, KeyError, "'dos'.*Did you mean 'dose'"),
    "categorical as text": ({"categorical": "dose"}, TypeError, r"Write \['dose'\]"),
    "categorical as number": ({"categorical": 1}, TypeError, "categorical"),
}


@both
@pytest.mark.parametrize(
    ("parameters", "error", "message"), BAD_PARAMETERS.values(), ids=BAD_PARAMETERS
)
def test_unusable_parameters(estimator, parameters, error, message):
    with pytest.raises(error, match=message) as caught:
        estimator(**parameters).fit(FRAME, Y)
    assert isinstance(caught.value, BayesGraphError)


def test_unknown_policy_for_unseen_states():
    classifier = bg.NaiveBayesClassifier(unseen="ignore")
    with pytest.raises(ValueError, match=r"unseen.*'missing', 'error'.*'ignore'"):
        classifier.fit(FRAME, Y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "4 rows.*2"),
        ([1.0, -1.0, 1.0, 1.0], "non-negative"),
        ([1.0, np.nan, 1.0, 1.0], "finite"),
        ([0.0] * 4, "zero for every row"),
        (np.ones((4, 1)), "shape"),
        ("abc", "a number for each of the 4 rows; got 'abc'"),
    ],
)
def test_unusable_weights(weights, message):
    with pytest.raises(DataError, match=message):
        bg.TANClassifier().fit(FRAME, Y, sample_weight=weights)


def test_what_is_no_report_of_progress_leaves_the_classifier_as_it_was():
    classifier = network("auto", n_trees=0, max_steps=20).fit(FRAME, Y)
    with pytest.raises(DataTypeError, match=r"progress= is a function.*got 3"):
        classifier.fit(FRAME, Y, progress=3)
    assert classifier.predict(FRAME).shape == (4,)


# -------------------------------------------------------------------------------- the structure

BAD_STRUCTURES = {
    "cycle": ([("age", "dose"), ("dose", "age")], GraphError, "cycle: 'age' -> 'dose' -> 'age'"),
    "loop": ([("age", "age")], GraphError, "cycle: 'age' -> 'age'"),
    "an arc twice": ([("class", "age"), ("class", "age")], GraphError, "more than once"),
    "unknown name": ([("class", "agee")], KeyError, "no variable 'agee'.*Did you mean 'age'"),
    "unknown node": (nx.DiGraph([("class", "dosage")]), KeyError, "no variable 'dosage'"),
    "continuous parent of the class": (
        [("age", "class")],
        ValueError,
        "'class' cannot have continuous parents; got 'age'",
    ),
    "unknown learner": ("tam", ValueError, "'star', .*'tam'. Did you mean 'tan'"),
    "numbers": ([1, 2], GraphError, r"\(parent, child\) pairs; got 1"),
    "a number": (3, ValueError, "structure=.*3"),
    "nothing": (None, ValueError, "structure=.*None"),
}


@pytest.mark.parametrize(
    ("structure", "error", "message"), BAD_STRUCTURES.values(), ids=BAD_STRUCTURES
)
def test_unusable_structures(structure, error, message):
    with pytest.raises(error, match=message) as caught:
        network(structure).fit(FRAME, Y)
    assert isinstance(caught.value, BayesGraphError)


def test_roots():
    mixed = FRAME.assign(sex=["f", "m", "f", "m"])
    with pytest.raises(GraphError, match=r"root='age' is continuous.*discrete root"):
        bg.TANClassifier(root="age").fit(mixed, Y)
    with pytest.raises(KeyError, match=r"no variable 'sec'.*Did you mean 'sex'"):
        bg.TANClassifier(root="sec").fit(mixed, Y)
    with pytest.raises(KeyError, match="no variable 'class'"):
        bg.TANClassifier(root="class").fit(mixed, Y)


def test_discrete_child_of_a_continuous_parent():
    mixed = FRAME.assign(sex=["f", "m", "f", "m"])
    with pytest.raises(ValueError, match="'sex' cannot have continuous parents; got 'age'"):
        network([("class", "sex"), ("age", "sex")]).fit(mixed, Y)


def test_class_is_named_unlike_the_features():
    table = FRAME.rename(columns={"dose": "class"})
    assert bg.NaiveBayesClassifier().fit(table, Y).target_.name == "class_"
    named = bg.NaiveBayesClassifier().fit(FRAME, pd.Series(Y, name="sick"))
    assert named.target_.name == "sick"
    assert named.query(evidence={"age": 1.0}).names == ("sick",)
    assert bg.NaiveBayesClassifier().fit(FRAME, pl.Series("ill", Y)).target_.name == "ill"


# ------------------------------------------------------------------------------------- queries


@pytest.mark.parametrize("case", cases.CLASSIFIERS, ids=str)
def test_asking_before_fitting(case):
    from sklearn.exceptions import NotFittedError

    classifier = case.estimator()
    frame = cases.make_data(case.kinds[0]).pandas()
    asks = (
        classifier.query,
        lambda: classifier.predict(frame),
        lambda: classifier.predict_proba(frame),
        lambda: getattr(classifier, "score_samples", classifier.predict)(frame),
        lambda: classifier.save("never.bayesgraph"),
    )
    for ask in asks:
        with pytest.raises(NotFittedError):
            ask()
    with pytest.raises(NotFittedError) as caught:
        classifier.save("never.bayesgraph")
    for method in ("fit", "partial_fit", "learn_one"):
        assert (f"'{method}'" in str(caught.value)) == hasattr(classifier, method)


def test_evidence_that_does_not_fit():
    classifier = bg.TANClassifier().fit(FRAME.assign(sex=["f", "m", "f", "m"]), Y)
    with pytest.raises(KeyError, match=r"no variable 'agee'.*Did you mean 'age'"):
        classifier.query(evidence={"agee": 1.0})
    with pytest.raises(ValueError, match=r"no state 'F'.*Did you mean 'f'"):
        classifier.query(evidence={"sex": "F"})
    with pytest.raises(ValueError, match="'age' is continuous and takes a number"):
        classifier.query(evidence={"age": "old"})
    with pytest.raises(ValueError, match="both a target and observed"):
        classifier.query(evidence={"class": "no"})


def test_impossible_rows_get_the_prior_and_one_warning():
    table = {"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "v"]}
    classifier = bg.NaiveBayesClassifier(smoothing=0.0).fit(table, ["k", "k", "k", "l"])
    impossible = {"a": ["x", "x", "y"], "b": ["v", "u", "u"]}
    strict = bg.NaiveBayesClassifier(smoothing=0.0).fit(table, ["k", "k", "l", "l"])
    with pytest.warns(bg.errors.ImpossibleEvidenceWarning, match="2 of 3 rows") as caught:
        proba = strict.predict_proba(impossible)
    assert len(caught) == 1
    np.testing.assert_allclose(proba, [[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]])
    with pytest.raises(bg.errors.ImpossibleEvidenceError, match="'x'"):
        strict.query(evidence={"a": "x", "b": "v"})
    assert strict.score_samples(impossible)[0] == -np.inf
    np.testing.assert_allclose(classifier.predict_proba(table)[0], [1.0, 0.0])


def test_fitted_on_an_array_a_frame_is_taken_by_position():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    clf = bg.NaiveBayesClassifier().fit(X, y)
    frame = pd.DataFrame(X, columns=["height", "weight"])
    with pytest.warns(UserWarning, match="fitted without feature names"):
        found = clf.predict_proba(frame)
    np.testing.assert_array_equal(found, clf.predict_proba(X))
    with pytest.raises(ValueError, match="3 features"):
        clf.predict(frame.assign(more=1.0))


def test_a_learner_must_return_a_structure():
    X = np.random.default_rng(0).normal(size=(20, 2))
    clf = bg.BayesianNetworkClassifier(lambda source, smoothing: [("class", "x0")])
    with pytest.raises(TypeError, match="returned list"):
        clf.fit(X, X[:, 0] > 0)


def test_collinear_parents_that_nothing_smooths_are_named():
    a = np.random.default_rng(0).normal(size=50)
    frame = {"a": a, "b": 2 * a, "c": a + 1}
    arcs = [("a", "c"), ("b", "c"), ("class", "c")]
    clf = bg.BayesianNetworkClassifier(
        arcs, smoothing=bg.Smoothing(var_smoothing=0.0, shrinkage=0.0)
    )
    with pytest.raises(bg.errors.DataError, match="var_smoothing"):
        clf.fit(frame, np.arange(50) % 2)


def test_a_target_that_is_also_a_feature_is_noticed():
    frame = pd.DataFrame({"flag": list("xyxyxyxy"), "v": np.arange(8.0)})
    with pytest.warns(bg.errors.BayesGraphWarning, match="is the answer among the features"):
        clf = bg.NaiveBayesClassifier().fit(frame, frame["flag"])
    assert clf.target_.name == "flag_"


@pytest.mark.parametrize(
    "clf", [bg.NaiveBayesClassifier("multinomial"), bg.ComplementNaiveBayesClassifier()], ids=str
)
def test_a_class_is_named_unlike_the_words(clf):
    words = pd.DataFrame({"a": [1, 0, 2, 3], "class": [0, 4, 1, 1], "b": [1, 1, 0, 2]})
    y = [0, 1, 0, 1]
    assert clf.fit(words, y).target_.name == "class_"
    with pytest.warns(bg.errors.BayesGraphWarning, match="class is called 'a_'"):
        clf.fit(words, pd.Series(y, name="a"))
    assert clf.target_.name == "a_"
    rows = words.to_dict("records")
    found = [clf.query(evidence=row).probabilities for row in rows]
    np.testing.assert_allclose(found, clf.predict_proba(words), rtol=1e-12)


def test_evaluate_takes_one_estimator_and_shows_itself_in_a_line():
    X = np.random.default_rng(0).normal(size=(40, 2))
    (result,) = bg.evaluate(bg.NaiveBayesClassifier(), X, X[:, 0] > 0, cv=4)
    assert repr(result).startswith("Evaluation('NaiveBayesClassifier': accuracy ")
    assert result.accuracy > 0.8
    assert 0 <= result.brier <= 2


def test_lists_of_text_and_numbers_keep_their_types():
    rows = [["u", 1.0], ["v", 2.5], ["u", 1.2], ["v", 2.2]]
    clf = bg.NaiveBayesClassifier().fit(rows, [0, 1, 0, 1])
    assert isinstance(clf.network_.variable("x1"), bg.Continuous)
    assert clf.network_.variable("x0").states == ("u", "v")
    assert clf.predict([["u", 1.1]]).tolist() == [0]


def test_an_evaluation_keeps_the_name_of_the_class():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"age": random.normal(size=40)})
    y = pd.Series(np.where(frame["age"] > 0, "yes", "no"), name="disease")
    model = bg.BayesianNetworkClassifier([("disease", "age")])
    for X in (frame, {"age": frame["age"].to_numpy()}):
        (result,) = bg.evaluate(model, X, y, cv=4)
        assert result.accuracy > 0.8


def test_statistics_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr("bayesgraph.core.parallel.default_memory_limit", lambda: 10_000)
    frame = {"id": [f"u{i}" for i in range(60)], "key": [f"k{i}" for i in range(60)]}
    with pytest.raises(bg.errors.MemoryLimitError, match=r"'id' \(60 states\)"):
        bg.TANClassifier().fit(frame, np.arange(60) % 2)
    bg.NaiveBayesClassifier().fit(frame, np.arange(60) % 2)


NUMBERS = {"a": [0.1, 0.9, 2.0, 1.0] * 5, "b": [1.0, 5.0, 2.0, 7.5] * 5}
CLASSES = ["n", "y", "n", "y"] * 5
NAIVE = bg.NaiveBayesClassifier(check_columns=False).fit(NUMBERS, CLASSES)
SWITCHED = {
    "check_columns": lambda x: bg.NaiveBayesClassifier(check_columns=x).fit(NUMBERS, CLASSES),
    "check_columns=": lambda x: bg.BayesianNetwork.learn(NUMBERS, check_columns=x),
    "norm": lambda x: bg.ComplementNaiveBayesClassifier(norm=x).fit(NUMBERS, CLASSES),
    "granular": lambda x: bg.MODL(granular=x).fit(NUMBERS, CLASSES),
    "multinomial_coefficient": lambda x: NAIVE.network_.log_likelihood(
        NUMBERS, multinomial_coefficient=x
    ),
    "joint": lambda x: NAIVE.network_.most_probable(joint=x),
    "by_class": lambda x: NAIVE.conformalize(NUMBERS, CLASSES, by_class=x),
    "standardise": lambda x: bg.questions.principal_axes(NUMBERS, ["a", "b"], standardise=x),
    "equivalent": lambda x: bg.graphs.structural_hamming_distance(
        NAIVE.network_.graph, NAIVE.network_.graph, equivalent=x
    ),
    "embed_rows": lambda x: NAIVE.to_html(embed_rows=x),
    "beliefs": lambda x: bg.pictures.to_dot(NAIVE.network_, beliefs=x),
    "strict": lambda x: NAIVE.network_.save("never-written.xdsl", strict=x),
    "return_std": lambda x: (
        bg.DecisionTreeNetworkRegressor(check_columns=False)
        .fit({"a": NUMBERS["a"]}, NUMBERS["b"])
        .predict({"a": NUMBERS["a"]}, return_std=x)
    ),
}


@pytest.mark.parametrize("option", SWITCHED)
@pytest.mark.parametrize("value", ["no", 1, None])
def test_what_is_neither_true_nor_false_is_refused(option, value):
    message = f"{option.rstrip('=')}= is True or False; got {value!r}."
    with pytest.raises(DataTypeError, match=re.escape(message)):
        SWITCHED[option](value)
    if option != "strict":
        SWITCHED[option](np.bool_(False))
