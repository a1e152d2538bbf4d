from dataclasses import replace

import numpy as np
import pytest
from loglinear_rows import make_sample, random_parameters
from sklearn.linear_model import LogisticRegression

from bayesgraph.learning.loglinear.terms import Terms
from bayesgraph.learning.loglinear.training import (
    Effects,
    Normalised,
    log_loss,
    start,
    train,
    with_share,
)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_train_is_logistic_regression_on_indicators(n_classes):
    sample = make_sample((3, 4, 2), 300, n_classes, binned=())
    terms = Terms.of(sample.views, ((0, 2),))
    penalty = np.full(terms.n_parameters, 2.0)
    begin = start(terms, sample.prior)
    rows = sample.rows(terms)
    model = train(terms, rows, sample.prior, penalty, begin)
    scores = rows.scores(Normalised.of(terms, model, sample.prior).effects)
    X = np.zeros((len(scores), terms.n_cells))
    np.put_along_axis(X, rows.cells[:, : len(terms.live)], 1.0, axis=1)
    # Two classes have twice the penalty there, as one column of coefficients for two of ours.
    peer = LogisticRegression(C=1 / 2.0 if n_classes > 2 else 1.0, tol=1e-8, max_iter=10_000)
    peer.fit(X, sample.labels, sample.weights)
    found = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    np.testing.assert_allclose(found, peer.predict_proba(X), atol=5e-3)


def test_intervals_are_logistic_regression_on_cosines_of_ranks():
    sample = make_sample((20,), 300, 3, binned=(0,))
    (view,) = sample.views
    flat = replace(sample, views=(replace(view, position=None),))
    terms = Terms.of(flat.views, ())
    rows, prior = flat.rows(terms), flat.prior
    model = train(terms, rows, prior, np.full(16, 2.0), start(terms, prior))
    scores = rows.scores(Normalised.of(terms, model, prior).effects)
    rank = np.cumsum(view.share) - view.share / 2
    orders = np.arange(1, 17)
    X = np.sqrt(2.0) * np.cos(np.pi * rank[flat.codes] * orders) / orders
    peer = LogisticRegression(C=1 / 2.0, tol=1e-8, max_iter=10_000)
    peer.fit(X, flat.labels, flat.weights)
    found = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    np.testing.assert_allclose(found, peer.predict_proba(X), atol=5e-3)


def test_pairs_are_logistic_regression_on_products():
    sample = make_sample((20, 3), 400, 3, binned=(0,))
    first, second = sample.views
    terms = Terms.of(sample.views, ((0, 1),))
    # Single features are left out by penalties that are as good as infinite.
    penalty = np.full(terms.n_parameters, 1e9)
    penalty[terms.n_single :] = 2.0
    flat = replace(sample, views=(replace(first, position=None), second))
    terms = Terms.of(flat.views, ((0, 1),))
    rows, prior = flat.rows(terms), flat.prior
    model = train(terms, rows, prior, penalty, start(terms, prior))
    scores = rows.scores(Normalised.of(terms, model, prior).effects)
    one = first.products[first.grid][flat.codes[:, 0]]
    two = second.products[second.grid][flat.codes[:, 1]]
    X = (one[:, :, None] * two[:, None, :]).reshape(len(scores), -1)
    peer = LogisticRegression(C=1 / 2.0, tol=1e-8, max_iter=10_000)
    peer.fit(X, flat.labels, flat.weights)
    found = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    np.testing.assert_allclose(found, peer.predict_proba(X), atol=5e-3)


def test_training_starts_from_the_tables_of_a_similar_model():
    sample = make_sample((5, 3, 4), binned=(0,))
    one, two = (Terms.of(sample.views, pairs) for pairs in (((0, 1), (1, 2)), ((0, 2), (1, 2))))
    known = random_parameters(one, 3)
    found = start(two, sample.prior, (one, known))
    assert len(found) == two.loadings.shape[1] + 1
    np.testing.assert_array_equal(found[: two.n_single], known[: one.n_single])
    np.testing.assert_array_equal(found[slice(*two.begins[3:5])], 0.0)
    np.testing.assert_array_equal(found[slice(*two.begins[4:6])], known[slice(*one.begins[4:6])])
    np.testing.assert_array_equal(found[two.n_parameters :], known[one.n_parameters :])


def test_stretches_of_rows_are_the_whole():
    sample = make_sample(n_rows=20_000, cards=(9, 9, 9, 9))
    terms = Terms.of(sample.views, ())
    rows = sample.rows(terms)
    model = Normalised.of(terms, random_parameters(terms, 3), sample.prior).effects
    assert len(rows.cells) > 8192
    whole = rows._part(model.padded, model.bias, 0, len(rows.cells))
    for one, two in zip(rows.loss_and_gradient(model), whole, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)


def test_the_bias_predicts_each_class_as_often_as_it_is_there():
    sample = make_sample(seed=3)
    terms = Terms.of(sample.views, ((0, 1),))
    rows = sample.rows(terms)
    model = Normalised.of(terms, random_parameters(terms, 3, scale=3.0), sample.prior).effects
    found = with_share(rows, model)
    residuals = rows.scores(found)
    before = log_loss(rows.scores(model), rows.labels, rows.weights)
    assert log_loss(residuals, rows.labels, rows.weights) < before
    np.testing.assert_allclose(residuals.sum(axis=0), 0.0, atol=1e-6)
    np.testing.assert_array_equal(found.cells, model.cells)


def test_the_bias_stays_where_a_class_has_no_rows():
    sample = make_sample()
    terms = Terms.of(sample.views, ())
    model = Effects(np.zeros((terms.n_cells, 4)), np.zeros(4))
    assert with_share(sample.rows(terms), model) is model
