"""A target that is the name of a column of the frame: the same model as with the column apart."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError
from bayesgraph.tables import as_frame

HEART = bg.examples.table("heart")
FRAMES = {
    "pyarrow": (HEART, HEART.drop_columns("disease"), HEART.select(["disease"])),
    "pandas": (
        HEART.to_pandas(),
        HEART.drop_columns("disease").to_pandas(),
        HEART.to_pandas()["disease"],
    ),
    "polars": (
        pl.from_arrow(HEART),
        pl.from_arrow(HEART).drop("disease"),
        pl.from_arrow(HEART)["disease"],
    ),
}
CLASSIFIERS = [
    bg.NaiveBayesClassifier(),
    bg.TANClassifier(),
    bg.AODEClassifier(),
    bg.BayesianNetworkClassifier(n_trees=0, max_steps=5),
    bg.WeightedNaiveBayesClassifier(),
    bg.DecisionTreeNetworkClassifier(),
    bg.StreamingNaiveBayesClassifier(),
    bg.StreamingWeightedNaiveBayesClassifier(),
]


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("clf", CLASSIFIERS, ids=lambda clf: type(clf).__name__)
def test_the_model_is_that_of_the_column_apart(clf, library):
    whole, X, y = FRAMES[library]
    clf = clf.set_params(check_columns=False)
    apart, named = type(clf)(**clf.get_params()).fit(X, y), clf.fit(whole, "disease")
    assert named.network_ == apart.network_
    assert named.feature_names_in_.tolist() == apart.feature_names_in_.tolist()
    assert named.target_.name == "disease"


def test_a_regressor_and_a_batch_take_names():
    whole, _, _ = FRAMES["pandas"]
    X, y = whole.drop(columns="chol"), whole["chol"]
    options = {"check_columns": False, "max_leaf_nodes": 4}
    named = bg.DecisionTreeNetworkRegressor(**options).fit(whole, "chol")
    assert named.network_ == bg.DecisionTreeNetworkRegressor(**options).fit(X, y).network_
    stream = bg.StreamingNaiveBayesClassifier().partial_fit(whole, "disease", ["no", "yes"])
    X, y = whole.drop(columns="disease"), whole["disease"]
    other = bg.StreamingNaiveBayesClassifier().partial_fit(X, y, ["no", "yes"])
    assert stream.network_ == other.network_
    clf = bg.TANClassifier().fit(X, y)
    assert clf.partial_fit(whole, "disease").network_ != bg.TANClassifier().fit(X, y).network_


def test_evaluation_takes_names():
    whole, X, y = FRAMES["pyarrow"]
    models = {"TAN": bg.TANClassifier()}
    (named,), (apart,) = bg.evaluate(models, whole, "disease"), bg.evaluate(models, X, y)
    assert (named.accuracy, named.log_loss) == (apart.accuracy, apart.log_loss)


@pytest.mark.parametrize("library", FRAMES)
def test_folds_keep_the_name_of_the_class(library):
    frame = as_frame(FRAMES[library][0]).select("sex", "fbs", "disease").to_native()
    arcs = [("disease", "sex"), ("disease", "fbs"), ("sex", "fbs")]
    clf = bg.BayesianNetworkClassifier(structure=arcs, check_columns=False)
    if library != "pyarrow":  # whose columns have no names
        assert bg.evaluate(clf, frame, "disease", cv=3)[0].fold_accuracy.shape == (3,)
    clf.fit(frame, "disease").conformalize(frame, "disease", cv=3)
    assert len(clf.calibration_.models) == 3


@pytest.mark.parametrize("library", FRAMES)
def test_scores_take_names(library):
    whole, X, y = FRAMES[library]
    clf = bg.NaiveBayesClassifier().fit(X, y)
    predicted = clf.predict(X)
    assert clf.score(whole, "disease") == clf.score(X, y) == (predicted == HEART["disease"]).mean()
    frame, options = HEART.to_pandas(), {"check_columns": False, "max_leaf_nodes": 4}
    tree = bg.DecisionTreeNetworkRegressor(**options).fit(frame, "chol")
    error = frame["chol"] - tree.predict(frame.drop(columns="chol"))
    share = 1 - (error**2).mean() / frame["chol"].var(ddof=0)
    assert tree.score(frame, "chol") == pytest.approx(share)


def test_what_is_no_column_is_told():
    whole, X, _ = FRAMES["polars"]
    with pytest.raises(DataError, match=r"y='diseas' names no column of X. Did you mean 'disease'"):
        bg.TANClassifier().fit(whole, "diseas")
    with pytest.raises(DataError, match="It has 'age'"):
        bg.TANClassifier().fit(X, "zzzzzz")
    with pytest.raises(DataError, match="303 rows, and y 1 labels"):
        bg.TANClassifier().fit(whole, ["disease"])
    with pytest.raises(DataTypeError, match=r"a mapping from name to estimator.*got \[TANClass"):
        bg.evaluate([bg.TANClassifier()], whole, "disease")
    with pytest.raises(DataTypeError, match="no such X"):
        bg.TANClassifier().fit([[1, 2], [3, 4]], "y")


def test_the_frame_of_the_caller_is_not_changed():
    table = pa.table({"a": ["x", "y"] * 10, "y": ["p", "q"] * 10})
    before = table.column_names
    bg.NaiveBayesClassifier().fit(table, "y")
    frame = pd.DataFrame(table.to_pydict())
    bg.NaiveBayesClassifier().fit(frame, "y")
    assert table.column_names == before == list(frame.columns)
