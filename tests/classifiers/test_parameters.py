"""Parameters of estimators: one smoothing for all, and one list of classes."""

import decimal
import inspect
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import mutual_info_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bayesgraph as bg
from bayesgraph import classifiers
from bayesgraph.classifiers import GraphClassifier
from bayesgraph.core.errors import DataError, DataTypeError, UnknownVariableError
from bayesgraph.learning import LEARNERS, counts_ahead

FRAME = {"a": list("xxyyzzxy"), "b": [1.0, 2.0, 1.5, 4.0, 5.0, 6.0, 1.0, 4.5]}
Y = np.array([0, 0, 0, 1, 1, 1, 0, 1])


def subclasses(cls):
    for found in cls.__subclasses__():
        yield found
        yield from subclasses(found)


def test_every_estimator_is_exported_documented_and_has_one_name():
    ours = {c for c in subclasses(GraphClassifier) if c.__module__.startswith("bayesgraph.")}
    bases = {c for c in ours if c.__subclasses__() and not c.__name__.startswith("Streaming")}
    found = {c.__name__ for c in ours - bases}
    base_names = {"GraphClassifier", "NetworkClassifier"}
    exported = {n for n in classifiers.__all__ if n.endswith("Classifier")} - base_names
    assert found == exported
    for name in exported | {"DecisionTreeNetworkRegressor"}:
        cls = getattr(classifiers, name)
        assert "{parameters}" not in cls.__doc__
        assert "{attributes}" not in cls.__doc__
        entries = cls.__doc__.partition("Attributes\n")[0]
        if not name.startswith("Streaming"):
            assert all(n in entries for n in inspect.signature(cls).parameters)


@pytest.mark.parametrize("smoothing", ["dirichlet", 1, 1.0, bg.Smoothing()])
def test_a_name_and_a_number_are_short_for_a_smoothing(smoothing):
    expected = bg.NaiveBayesClassifier().fit(FRAME, Y).network_
    assert bg.NaiveBayesClassifier(smoothing=smoothing).fit(FRAME, Y).network_ == expected
    arcs = [("y", "a"), ("y", "b")]
    frame = FRAME | {"y": list("ppqqpqpq")}
    assert bg.BayesianNetwork.fit(arcs, frame, smoothing=smoothing) == bg.BayesianNetwork.fit(
        arcs, frame
    )
    assert bg.learning.tan(bg.learning.count_source(frame, "y"), smoothing) == bg.learning.tan(
        bg.learning.count_source(frame, "y")
    )


@pytest.mark.parametrize("smoothing", ["m", 2, bg.Smoothing(alpha=3.0)])
def test_values_of_a_smoothing_are_set_one_by_one(smoothing):
    clf = bg.TANClassifier(smoothing=smoothing).set_params(smoothing__shrinkage=5.0)
    assert clf.smoothing.shrinkage == 5.0
    assert clf.smoothing.scheme == ("m" if smoothing == "m" else "dirichlet")
    again = clone(clf)
    assert again.get_params()["smoothing__shrinkage"] == 5.0
    assert bg.Smoothing() == bg.Smoothing(shrinkage=20.0)  # it stays what it was
    pipeline = make_pipeline(FunctionTransformer(), clf)
    assert pipeline.set_params(tanclassifier__smoothing__alpha=7)[-1].smoothing.alpha == 7


def test_a_search_over_a_smoothing():
    grid = {"smoothing__shrinkage": [0.0, 1.0], "smoothing__alpha": [0.5]}
    X = np.column_stack([FRAME["b"], FRAME["b"][::-1]])
    search = GridSearchCV(bg.NaiveBayesClassifier(), grid, cv=2).fit(X, Y)
    assert search.best_estimator_.smoothing.alpha == 0.5


@pytest.mark.parametrize(
    ("smoothing", "error", "message"),
    [
        ("laplace", DataError, "smoothing= is one of 'dirichlet', 'm', 'marginal', 'backoff'; got"),
        (None, DataTypeError, "a number of pseudo-counts or a Smoothing; got None"),
        ({"a": 1.0}, DataTypeError, "smoothing= takes one of"),
        (-1.0, DataError, "alpha takes a finite number"),
    ],
)
def test_a_wrong_smoothing_is_refused(smoothing, error, message):
    with pytest.raises(error, match=message):
        bg.NaiveBayesClassifier(smoothing=smoothing).fit(FRAME, Y)


REFUSED = [
    (bg.DecisionTreeNetworkClassifier, "backoff"),
    (bg.DecisionTreeNetworkClassifier, bg.Smoothing(alpha={"b": 3.0})),
    (bg.DecisionTreeNetworkRegressor, bg.Smoothing(estimation="predictive")),
    (bg.DiscriminantAnalysisClassifier, 5.0),
    (bg.DiscriminantAnalysisClassifier, bg.Smoothing(alpha={"b": 3.0})),
    (bg.WeightedNaiveBayesClassifier, bg.Smoothing(ddof=1)),
    (bg.BayesianNetworkClassifier, bg.Smoothing(shrinkage=3.0)),
    *(
        (kind, bg.Smoothing(**{name: 0.5}))
        for name in ("bandwidth", "threshold")
        for kind in (
            bg.NaiveBayesClassifier,
            bg.TANClassifier,
            bg.KDBClassifier,
            bg.AODEClassifier,
            bg.AveragedTANClassifier,
            bg.BayesianNetworkClassifier,
            partial(bg.BayesianNetworkClassifier, "tan"),
            bg.WeightedNaiveBayesClassifier,
            partial(bg.NaiveBayesClassifier, {"b": "gamma"}),
        )
    ),
    *(
        (kind, bg.Smoothing(estimation="predictive"))
        for kind in (bg.TANClassifier, bg.KDBClassifier, bg.AODEClassifier)
    ),
]


@pytest.mark.parametrize(("kind", "smoothing"), REFUSED)
def test_values_that_an_estimator_would_ignore_are_refused(kind, smoothing):
    numbers = {"b": FRAME["b"], "c": FRAME["b"][::-1]}
    with pytest.raises(DataError, match=r"would ignore|smooths 'class' alone|is not known for"):
        kind(smoothing=smoothing).fit(numbers, Y)


def test_values_of_a_family_are_read_where_it_is_chosen():
    wide = bg.Smoothing(bandwidth=2.0)
    clf = bg.NaiveBayesClassifier({"b": "kernel"}, smoothing=wide).fit(FRAME, Y)
    assert (clf.network_["b"].bandwidth == 2.0).all()
    rows = np.array([[0, 3], [2, 0], [3, 1], [1, 1]])
    above = bg.NaiveBayesClassifier("bernoulli", smoothing=bg.Smoothing(threshold=1.5))
    there, y = (rows > 1.5).astype(int), [0, 1, 1, 0]
    expected = bg.NaiveBayesClassifier("bernoulli").fit(there, y).predict_proba(there)
    np.testing.assert_array_equal(above.fit(rows, y).predict_proba(rows), expected)
    search = GridSearchCV(bg.NaiveBayesClassifier("kernel"), {"smoothing__bandwidth": [1, 9]}, cv=2)
    assert search.fit(np.array(FRAME["b"])[:, None], Y).n_features_in_ == 1


def test_predictive_leaves_beside_tables_of_more_parents():
    """A table's predictive distribution is its mean, so that only Gaussians are refused."""
    frame = {**FRAME, "c": list("ppqqpqpq")}
    arcs = [("class", "a"), ("class", "b"), ("class", "c"), ("a", "c")]
    clf = bg.BayesianNetworkClassifier(arcs, smoothing=bg.Smoothing(estimation="predictive"))
    network = clf.fit(frame, Y).network_
    assert isinstance(network["b"], bg.models.StudentCPD)
    assert network["c"] == bg.BayesianNetworkClassifier(arcs).fit(frame, Y).network_["c"]


def test_an_alpha_that_names_the_class_smooths_its_prior():
    y = np.array([0, 0, 0, 0, 0, 1, 1, 1])
    for make in (bg.NaiveBayesClassifier, bg.TANClassifier, bg.AODEClassifier):
        clf = make(smoothing=bg.Smoothing(alpha={"class": 50})).fit(FRAME, y)
        np.testing.assert_allclose(clf.query().probabilities, [55 / 108, 53 / 108])
        # A number is that of the features' tables.
        clf = make(smoothing=50).fit(FRAME, y)
        np.testing.assert_allclose(clf.query().probabilities, [5 / 8, 3 / 8])
    numbers = {"b": FRAME["b"]}
    clf = bg.DiscriminantAnalysisClassifier(smoothing=bg.Smoothing(alpha={"class": [1, 3]}))
    np.testing.assert_allclose(clf.fit(numbers, y).query().probabilities, [0.5, 0.5])
    with pytest.raises(UnknownVariableError, match="clas"):
        bg.NaiveBayesClassifier(smoothing=bg.Smoothing(alpha={"clas": 5})).fit(FRAME, y)


def test_arcs_of_a_tree_have_to_gain_enough(tmp_path):
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 400)
    a = random.integers(0, 3, 400)
    b = np.where(random.random(400) < 0.7, a, random.integers(0, 3, 400))
    c = np.where(random.random(400) < 0.3, b, random.integers(0, 3, 400))
    of = {"a": a, "b": b, "c": c}
    frame = {name: [*map(str, column)] for name, column in of.items()}
    tree = bg.TANClassifier(check_columns=False).fit(frame, y)
    gains = {
        (one, other): sum(
            np.mean(y == k) * mutual_info_score(of[one][y == k], of[other][y == k]) for k in (0, 1)
        )
        for one, other in tree.network_.arc_scores
    }
    assert tree.network_.arc_scores == pytest.approx(gains)
    (weak, low), (strong, high) = sorted(gains.items(), key=lambda item: item[1])
    for least, kept in (
        (0.0, {weak, strong}),
        (low, {strong}),
        (high - 1e-6, {strong}),
        (9, set()),
    ):
        clf = bg.TANClassifier(min_gain=least, check_columns=False).fit(frame, y)
        assert set(clf.network_.arc_scores) == kept
    # Each arc adds 2 x 2 x 2 parameters.
    paid = {arc for arc, gain in gains.items() if 400 * gain > 8 * np.log(400) / 2}
    clf = bg.TANClassifier(min_gain="bic", check_columns=False).fit(frame, y)
    assert set(clf.network_.arc_scores) == paid
    clf.save(tmp_path / "forest.bayesgraph")
    again = bg.load(tmp_path / "forest.bayesgraph")
    assert again.min_gain == "bic"
    more = again.partial_fit(frame, y)
    twice = bg.TANClassifier(min_gain="bic", check_columns=False)
    assert more.network_ == twice.fit({n: v * 2 for n, v in frame.items()}, [*y, *y]).network_
    for wrong in ("bdeu", np.nan, [1]):
        with pytest.raises(DataError, match=r"min_gain= of TANClassifier\) is 'bic', 'aic' or"):
            bg.TANClassifier(min_gain=wrong, check_columns=False).fit(frame, y)


def test_every_learner_says_what_it_counts():
    without_a_class = {"pc", "tabu"}
    annotations = {
        n: getattr(getattr(bg.learning, n), "__annotations__", {}) for n in dir(bg.learning)
    }
    assert {*LEARNERS} | without_a_class == {
        name
        for name, of in annotations.items()
        if of.get("return") == "Structure" and "smoothing" in of and "parameter" not in of
    }
    for name, card in LEARNERS.items():
        clf = bg.BayesianNetworkClassifier(name)
        assert hasattr(clf, "partial_fit") == counts_ahead(card.learn)
        assert f'"{name}"' in bg.BayesianNetworkClassifier.__doc__


def test_a_new_process_knows_every_learner():
    code = "import bayesgraph as bg; print(*bg.learning.LEARNERS)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {*done.stdout.split()} == {*LEARNERS} >= {"hill_climb", "kdb", "tan"}


def test_a_learner_that_does_not_declare_itself_adds_no_rows():
    def own(source, smoothing):
        return bg.learning.tan(source, smoothing)

    clf = bg.BayesianNetworkClassifier(own).fit(FRAME, Y)
    assert not hasattr(clf, "partial_fit")


@pytest.mark.parametrize("value", [10**400, decimal.Decimal(2), np.nan, -1.0, "2"])
def test_strengths_are_numbers_that_floats_hold(value):
    with pytest.raises(DataError, match="shrinkage takes a finite number"):
        bg.Smoothing(shrinkage=value)
