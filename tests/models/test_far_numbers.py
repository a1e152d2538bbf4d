"""Numbers far outside of what a model expects are told of, in each way to ask, and others never."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import bayesgraph as bg
from bayesgraph.cli.commands import app
from bayesgraph.core.errors import ExtrapolationWarning
from bayesgraph.models import row_kernels

RANDOM = np.random.default_rng(0)
N = 2000
AGE = RANDOM.normal(60.0, 15.0, N)
X = pd.DataFrame({"age": AGE, "bmi": 21.0 + AGE / 10.0 + RANDOM.normal(0.0, 2.0, N)})
Y = np.where(RANDOM.random(N) < 1.0 / (1.0 + np.exp(4.0 - AGE / 15.0)), "dead", "alive")
MODELS = {
    "naive Bayes": bg.NaiveBayesClassifier,
    "TAN": bg.TANClassifier,
    "AODE": bg.AODEClassifier,
    "averaged TAN": partial(bg.AveragedTANClassifier, n_trees=3),
    "discriminant": partial(bg.DiscriminantAnalysisClassifier, covariance="class"),
    "Student": partial(bg.NaiveBayesClassifier, smoothing=bg.Smoothing(estimation="predictive")),
}


def said_of(call):
    """Return what is said of numbers far outside; empty if nothing is."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    found = [w for w in seen if issubclass(w.category, ExtrapolationWarning)]
    assert len({str(w.message) for w in found}) <= 1  # one, however often the model is asked
    assert all(w.filename == __file__ for w in found)
    return str(found[0].message) if found else ""


WAYS = {
    "query": lambda clf, row: clf.query(evidence=row),
    "query of the network": lambda clf, row: clf.network_.query(clf.target_.name, row),
    "marginals": lambda clf, row: clf.network_.marginals(row),
    "predict_proba": lambda clf, row: clf.predict_proba(pd.DataFrame([row])),
    "predict": lambda clf, row: clf.predict(pd.concat([X[:5], pd.DataFrame([row])])),
    "query_rows": lambda clf, row: clf.network_.query_rows(
        "class", {k: [x] for k, x in row.items()}
    ),
    "log_likelihood": lambda clf, row: clf.score_samples(pd.DataFrame([row])),
    "explanation": lambda clf, row: clf.ask.explanation(evidence=row),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model", MODELS)
def test_a_number_far_outside_is_told_with_what_is_usual(model, way):
    clf = MODELS[model]().fit(X, Y)
    for name, value in (("age", 7000.0), ("age", -999.0), ("bmi", 270.0)):
        row = {"age": 60.0, "bmi": 27.0, name: value}
        said = said_of(lambda row=row: WAYS[way](clf, row))
        assert f"{name} = {value:g} (usual are " in said
        low, high = map(float, said.split("usual are ")[1].split(")")[0].split(" to "))
        # Three standard deviations of a class, from the least mean to the greatest.
        if model != "Student":
            means, sd = X[name].groupby(Y).mean(), X[name].std()
            assert low == pytest.approx(means.min() - 3 * sd, abs=0.4 * sd)
            assert high == pytest.approx(means.max() + 3 * sd, abs=0.4 * sd)
    for name in X:
        for ends in (X[name].min() - X[name].std(), X[name].max() + X[name].std(), np.nan):
            row = {"age": 60.0, "bmi": 27.0, name: ends}
            assert not said_of(lambda row=row: WAYS[way](clf, row))


@pytest.mark.parametrize(
    ("name", "draw", "far"),
    [
        ("gaussian", lambda size: RANDOM.normal(50.0, 5.0, size), [-60.0, 130.0]),
        ("lognormal", lambda size: np.exp(RANDOM.normal(0.0, 1.0, size)), [1e-6, 1e5]),
        ("gamma", lambda size: RANDOM.gamma(2.0, 1.0, size), [200.0]),
        ("exponential", lambda size: RANDOM.exponential(1.0, size), [100.0]),
        ("beta", lambda size: RANDOM.beta(5.0, 5.0, size), [1e-6, 1.0 - 1e-6]),
    ],
)
def test_each_family_has_its_own_tails(name, draw, far):
    columns, y = {"x": draw(4000)}, np.arange(4000) % 2
    clf = bg.NaiveBayesClassifier({"x": name}).fit(columns, y)
    assert not said_of(lambda: clf.predict({"x": draw(20_000)}))
    for value in far:
        assert f"x = {bg.core.display.rounded(value, 6)}" in said_of(
            lambda value=value: clf.query(evidence={"x": value})
        )


def test_a_chain_of_gaussians_by_hand():
    a, b, c = (bg.Continuous(name) for name in "abc")
    net = bg.BayesianNetwork([
        bg.GaussianCPD(a, 10.0, 4.0),
        bg.GaussianCPD(b, 1.0, 9.0, parents=[a], coefficients=[-2.0]),
        bg.GaussianCPD(c, 0.0, 1.0, parents=[a, b], coefficients=[1.0, 1.0]),
    ])  # fmt: skip
    # Means 10, -19 and -9; deviations 2, sqrt(9 + 16) = 5 and at most sqrt(1 + (2 + 5)^2).
    for name, centre, sd in (("a", 10.0, 2.0), ("b", -19.0, 5.0), ("c", -9.0, np.sqrt(50.0))):
        for sign in (-1, 1):
            others = [v for v in "abc" if v != name]
            ask = partial(net.query, others[0])
            assert not said_of(lambda: ask({name: centre + sign * 9.99 * sd}))  # noqa: B023
            assert said_of(lambda: ask({name: centre + sign * 10.01 * sd}))  # noqa: B023


def test_classes_far_from_each_other_and_columns_without_spread():
    y = np.arange(100) % 2
    clf = bg.NaiveBayesClassifier("gaussian", check_columns=False).fit({"x": y * 100.0}, y)
    assert not said_of(lambda: clf.query(evidence={"x": 150.0}))
    assert "x = 250" in said_of(lambda: clf.query(evidence={"x": 250.0}))
    assert not said_of(lambda: clf.predict({"x": np.empty(1) * np.nan}))


def test_the_end_of_what_is_positive_is_not_far():
    y = np.arange(200) % 2
    clf = bg.NaiveBayesClassifier("exponential").fit({"x": (1.0 + y) * np.arange(1.0, 201.0)}, y)
    assert not said_of(lambda: clf.predict({"x": np.zeros(20)}))


def test_limits_that_rounding_makes_equal():
    x = bg.Continuous("x")
    model = bg.BayesianNetwork([bg.GaussianCPD(x, 1e20, 1.0)])
    for n in (3, 50):
        with pytest.warns(ExtrapolationWarning, match=r"x = 2e\+20"):
            model.log_likelihood({"x": [*[1e20] * n, 2e20]})


def test_what_is_set_and_what_is_discrete():
    clf = bg.NaiveBayesClassifier().fit(X, Y)
    assert "age = 7000" in said_of(
        lambda: clf.network_.query("class", {"age": 7000.0, "bmi": 27.0})
    )
    binned = bg.NaiveBayesClassifier(discretizer="mdlp").fit(X, Y)
    assert not said_of(lambda: binned.query(evidence={"age": 7000.0}))
    counts = bg.NaiveBayesClassifier("poisson").fit({"n": RANDOM.poisson(3, N)}, Y)
    assert not said_of(lambda: counts.query(evidence={"n": 400}))


def test_the_command_line_says_it_too(tmp_path):
    path = tmp_path / "m.bayesgraph"
    bg.TANClassifier().fit(X, Y).save(path)
    with pytest.warns(ExtrapolationWarning, match=r"age = 7000 \(usual are"):
        found = CliRunner().invoke(app, ["query", str(path), "-e", "age=7000"])
    assert found.exit_code == 0


@pytest.mark.parametrize("root", ["age", "bmi"])
def test_parents_may_come_later_than_their_children(root):
    clf = bg.TANClassifier(root=root).fit(X, Y)
    for name in ("age", "bmi"):
        row = X.iloc[[0]].assign(**{name: 7e5})
        assert name in said_of(partial(clf.predict_proba, row)).split(" = ")[0]


@pytest.mark.parametrize("tier", ["compiled", "interpreted"])
def test_columns_with_numbers_beyond_limits(tier):
    values = RANDOM.normal(size=(7, 5))
    values[3] = [np.nan, 3.5, -3.5, np.inf, 3.0]
    found = getattr(row_kernels.are_outside, tier)(values, np.full(5, -3.0), np.full(5, 3.0))
    assert found.tolist() == [False, True, True, True, False]


def test_the_order_in_memory_does_not_matter():
    clf = MODELS["naive Bayes"]().fit(X, Y)
    values = X.to_numpy(copy=True)
    values[7, 1], values[8, 0] = -2e4, np.nan
    said = {said_of(lambda: clf.predict(np.asarray(values, order=order))) for order in "CF"}  # noqa: B023
    assert len(said) == 1
    assert "bmi = -20000" in said.pop()
