import numpy as np
import pytest
from loglinear_rows import make_sample
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError
from bayesgraph.learning import Effort
from bayesgraph.learning.loglinear import training as effort
from bayesgraph.learning.loglinear.terms import Terms
from bayesgraph.learning.loglinear.training import Normalised, Rows, start, train


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests move."""
    now = [100.0]
    monkeypatch.setattr(effort.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def counted(monkeypatch):
    """Count the evaluations of the loss in a list."""
    evaluate, found = Rows.loss_and_gradient, []

    def loss_and_gradient(self, model):
        found.append(len(self.cells))
        return evaluate(self, model)

    monkeypatch.setattr(Rows, "loss_and_gradient", loss_and_gradient)
    return found


def triples(n=300):
    """Return a class that takes three features to predict."""
    random = np.random.default_rng(0)
    X = random.integers(2, size=(n, 5))
    return X, X[:, 0] ^ X[:, 2] ^ X[:, 4] ^ (random.random(n) < 0.05)


def fitted(X, y, progress=None, **options):
    classifier = bg.BayesianNetworkClassifier(categorical="all", **options)
    return classifier.fit(X, y, progress=progress)


def same(one, other, X):
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert one.choice_ == other.choice_


# ---------------------------------------------------------------------------------- the bounds


def test_without_bounds_nothing_is_spent():
    found = Effort()
    for _ in range(1000):
        found.step()
    assert not found.is_spent


def test_a_phase_has_its_steps_and_those_that_were_left():
    found = Effort(max_steps=10)
    found.enter("single features")
    for left in (2, 1, 0):
        assert found.is_spent == (left == 0)
        found.step()
    found.enter("random trees", 0, 2)  # up to a half of the work
    found.step()
    assert not found.is_spent
    found.step()
    assert found.is_spent
    found.enter("random trees", 1, 2)
    assert not found.is_spent


def test_seconds_are_spent_as_steps_are(clock):
    found = Effort(max_seconds=10.0)
    found.enter("single features")
    assert not found.is_spent
    clock[0] += 2.0
    assert found.is_spent
    found.enter("random trees of all rows")
    assert not found.is_spent
    clock[0] += 8.0
    assert found.is_spent


def test_training_stops_at_the_best_parameters_so_far(counted):
    sample = make_sample(n_rows=300)
    terms = Terms.of(sample.views, ())
    rows, begin = sample.rows(terms), start(terms, sample.prior)
    penalty = np.ones(terms.n_parameters)

    def loss(parameters):
        model = Normalised.of(terms, parameters, sample.prior).effects
        squares = penalty[:, None] * parameters[: terms.n_parameters] ** 2
        slopes = parameters[terms.n_parameters : -1]
        return rows.loss_and_gradient(model)[0] + 0.5 * (np.sum(squares) + np.sum(slopes**2))

    found = []
    for steps in (1, 3, 10, 1000):
        counted.clear()
        model = train(terms, rows, sample.prior, penalty, begin, effort=Effort(max_steps=steps))
        assert len(counted) <= steps
        found.append(loss(model))
    assert found == sorted(found, reverse=True)
    assert found[0] > found[1] > found[-1]
    whole = train(terms, rows, sample.prior, penalty, begin)
    np.testing.assert_array_equal(model, whole)


# ------------------------------------------------------------------------------------ classifiers


@pytest.mark.slow
def test_bounds_that_are_not_reached_change_nothing():
    X, y = triples()
    given = fitted(X, y)
    same(fitted(X, y, max_steps=10**9, max_seconds=1e9), given, X)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("max_steps", [1, 40, 300])
def test_few_steps_are_kept_and_repeated(max_steps, counted):
    X, y = triples()
    one = fitted(X, y, max_steps=max_steps)
    assert len(counted) <= max_steps
    same(fitted(X, y, max_steps=max_steps), one, X)
    np.testing.assert_allclose(one.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("max_steps", [60, 200, 600])
def test_held_out_losses_of_noise_are_no_better_than_guesses(max_steps):
    """Where the steps end within a candidate, no fold has a model that saw its held-out rows."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 60)), random.integers(2, size=300)
    model = bg.BayesianNetworkClassifier(max_steps=max_steps, n_trees=0).fit(X, y)
    assert min(model.choice_.losses.values()) > 0.99 * np.log(2)


def test_more_steps_predict_better():
    X, y = triples()
    own = np.arange(len(y)), y.astype(int)
    losses = [
        -np.log(fitted(X, y, max_steps=steps).predict_proba(X)[own]).mean() for steps in (1, 3000)
    ]
    assert losses[0] > losses[-1] + 0.01


@pytest.mark.slow
def test_no_time_is_enough_for_a_model(clock, monkeypatch):
    X, y = triples()
    monkeypatch.setattr(effort.time, "monotonic", lambda: clock.append(0) or float(len(clock)))
    classifier = fitted(X, y, max_seconds=3.0)
    assert classifier.predict_proba(X).shape == (300, 2)
    assert len(classifier.choice_.losses) < len(fitted(X, y).choice_.losses)


@pytest.mark.parametrize(
    "options",
    [{"max_steps": 0}, {"max_steps": -3}, {"max_seconds": 0}, {"max_seconds": float("nan")}],
)
def test_bounds_are_positive(options):
    with pytest.raises(DataError, match=next(iter(options))):
        fitted(*triples(30), **options)


@pytest.mark.parametrize("options", [{"max_steps": 2.5}, {"max_steps": True}])
def test_steps_are_whole(options):
    with pytest.raises(DataTypeError, match="max_steps"):
        fitted(*triples(30), **options)


# ------------------------------------------------------------------------------------- the report


def test_progress_goes_from_nothing_to_the_last_phase():
    X, y = triples()
    told = []
    classifier = fitted(X, y, lambda share, phase: told.append((share, phase)))
    shares, phases = zip(*told, strict=True)
    assert list(shares) == sorted(shares)
    assert shares[0] == 0.0
    assert shares[-1] < 1.0
    assert phases[0] == "single features"
    assert phases[-1] == "merged intervals"
    same(classifier, fitted(X, y), X)
    assert not [name for name in vars(classifier) if "progress" in name]


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["single features", "random trees", "random trees of all rows"])
def test_an_interrupted_fit_leaves_no_trace(phase):
    X, y = triples()
    classifier = bg.BayesianNetworkClassifier(categorical="all", max_steps=100)
    before = set(vars(classifier))

    def interrupt(share, name):
        if name == phase:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        classifier.fit(X, y, progress=interrupt)
    for check in (check_is_fitted, lambda c: c.predict(X)):
        with pytest.raises(NotFittedError):
            check(classifier)
    assert {name for name in vars(classifier) if not name.startswith("_")} == before
    # The model of a fit before is left.
    fit = vars(classifier.fit(X, y)).copy()
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(X[:, 1:], y, progress=interrupt)
    assert vars(classifier) == fit
    same(classifier, fitted(X, y, max_steps=100), X)
