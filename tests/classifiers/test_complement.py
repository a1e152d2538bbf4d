"""Complement naive Bayes against scikit-learn's, and what a scoring rule has to refuse."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.naive_bayes import ComplementNB

import bayesgraph as bg
from bayesgraph.core.errors import ModelError, UnsupportedModelError

random = np.random.default_rng(0)
N, ITEMS = 90, 40
Y = np.array(["a", "b", "c", "d"])[random.integers(4, size=N)]
X = random.poisson(random.gamma(0.4, 1.0, size=(N, ITEMS))).astype(float)
X[:, 7] = 0.0  # an item that never occurs
X[:, 8] = np.where(Y == "b", 3.0, 0.0)  # and one that occurs in one class only
WEIGHTS = random.random(N)
PER_ITEM = random.uniform(0.1, 2.0, size=ITEMS)
CONTAINERS = {"dense": np.asarray, "csr_array": csr_array, "csr_matrix": csr_matrix}


def scores(classifier, X):
    """Return the log scores of all classes, as the engine has them."""
    _, _, evidence = next(classifier._evidence(X))
    return classifier.network_._log_posterior_rows(classifier.target_, evidence)


def assert_same(ours, theirs, X, X_ours=None):
    asked = X if X_ours is None else X_ours
    np.testing.assert_allclose(
        ours.predict_proba(asked), theirs.predict_proba(X), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_array_equal(ours.predict(asked), theirs.predict(X))
    # scikit-learn's scores have no constant: ours have the log of the (equal) priors.
    expected = theirs.predict_joint_log_proba(X) - np.log(len(theirs.classes_))
    np.testing.assert_allclose(scores(ours, asked), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 0.01, 0.0, PER_ITEM], ids=["1", "0.01", "0", "per item"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
def test_equals_scikit_learn(container, norm, alpha, weights):
    # What is left of 1e-10 beside a sum has few digits in scikit-learn: no item of one class only.
    counts = np.where(np.arange(ITEMS) == 8, 0.0, X) if np.all(alpha == 0.0) else X
    theirs = ComplementNB(alpha=np.maximum(alpha, 1e-10), norm=norm, fit_prior=norm)
    theirs.fit(counts, Y, weights)
    ours = bg.ComplementNaiveBayesClassifier(smoothing=bg.Smoothing(alpha=alpha), norm=norm)
    ours.fit(container(counts), Y, sample_weight=weights)
    assert_same(ours, theirs, counts, container(counts))
    joint = theirs.predict_joint_log_proba(counts)
    expected = joint[:, 2] - joint[:, 0]
    found = bg.classifiers.log_odds(ours, container(counts), positive="c", negative="a")
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("fit_prior", [False, True])
def test_the_prior_of_scikit_learn_matters_to_one_class_only(fit_prior):
    theirs = ComplementNB(fit_prior=fit_prior, class_prior=[0.7, 0.1, 0.1, 0.1]).fit(X, Y)
    assert_same(bg.ComplementNaiveBayesClassifier().fit(X, Y), theirs, X)
    one = bg.ComplementNaiveBayesClassifier().fit(X, ["a"] * N)
    other = ComplementNB(fit_prior=fit_prior).fit(X, ["a"] * N)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_empirical_and_given_priors():
    share = np.unique(Y, return_counts=True)[1] / N
    plain = bg.ComplementNaiveBayesClassifier().fit(X, Y)
    for priors in ("empirical", share):
        given = bg.ComplementNaiveBayesClassifier(priors=priors).fit(X, Y)
        added = np.broadcast_to(np.log(4 * share), (N, 4))
        np.testing.assert_allclose(scores(given, X) - scores(plain, X), added, rtol=1e-9)
        np.testing.assert_allclose(given.query().probabilities, share)


def test_batches_and_forgetting():
    theirs = ComplementNB()
    ours = bg.ComplementNaiveBayesClassifier()
    whole = bg.ComplementNaiveBayesClassifier().fit(X, Y, WEIGHTS)
    for rows in np.array_split(np.arange(N), 3):
        theirs.partial_fit(X[rows], Y[rows], classes=np.unique(Y), sample_weight=WEIGHTS[rows])
        ours.partial_fit(csr_array(X[rows]), Y[rows], sample_weight=WEIGHTS[rows])
    assert_same(ours, theirs, X)
    np.testing.assert_allclose(ours.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    ours.forget(X[60:], Y[60:], WEIGHTS[60:])
    rest = bg.ComplementNaiveBayesClassifier().fit(X[:60], Y[:60], WEIGHTS[:60])
    np.testing.assert_allclose(ours.predict_proba(X), rest.predict_proba(X), rtol=1e-9)


def test_a_missing_count_is_left_out_before_the_exponent():
    classifier = bg.ComplementNaiveBayesClassifier().fit(X, Y)
    shares, exponent = (getattr(classifier.network_.terms[1], a) for a in ("source", "exponent"))
    assert exponent == -1
    row = X[:1].copy()
    row[0, [3, 4]] = np.nan
    known = np.delete(np.arange(ITEMS), [3, 4])
    left = shares.probabilities[:, known]
    expected = -np.log(left / left.sum(axis=1, keepdims=True)) @ row[0, known]
    found = scores(classifier, row)[0]
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-9)
    nothing = np.full((1, ITEMS), np.nan)
    np.testing.assert_allclose(classifier.predict_proba(nothing), 0.25)
    np.testing.assert_allclose(classifier.query().probabilities, 0.25)


def test_missing_counts_in_fitting_are_scaled_up():
    half = np.vstack([X, np.full_like(X, np.nan)])
    half[N:, :-1] = X[:, :-1]  # the second half does not know the last item
    classifier = bg.ComplementNaiveBayesClassifier().fit(half, np.tile(Y, 2))
    twice = bg.ComplementNaiveBayesClassifier().fit(np.tile(X, (2, 1)), np.tile(Y, 2))
    np.testing.assert_allclose(classifier.predict_proba(X), twice.predict_proba(X), rtol=1e-9)


def test_a_single_item_says_nothing():
    for norm in (False, True):
        classifier = bg.ComplementNaiveBayesClassifier(norm=norm).fit(X[:, :1], Y)
        np.testing.assert_allclose(classifier.predict_proba(X[:, :1]), 0.25)


def test_questions_by_the_names_of_items():
    frame = pd.DataFrame(X, columns=[f"w{i}" for i in range(ITEMS)])
    classifier = bg.ComplementNaiveBayesClassifier().fit(frame, Y)
    asked = classifier.query(evidence={"counts": {"w3": 2, "w8": 1}})
    row = np.zeros((1, ITEMS))
    row[0, [3, 8]] = 2, 1
    np.testing.assert_allclose(
        asked.probabilities, classifier.predict_proba(pd.DataFrame(row, columns=frame.columns))[0]
    )
    assert classifier.query("class", {"counts": {"w3": 2}}).names == ("class",)


def test_two_vectors_in_one_model():
    table = {"title": csr_array(X[:, :15]), "body": csr_array(X[:, 15:])}
    classifier = bg.ComplementNaiveBayesClassifier().fit(table, Y)
    parts = [bg.ComplementNaiveBayesClassifier().fit(part, Y) for part in table.values()]
    product = np.prod([p.predict_proba(x) for p, x in zip(parts, table.values(), strict=True)], 0)
    expected = product / product.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(classifier.predict_proba(table), expected, rtol=1e-9)


def test_counts_have_no_posterior():
    classifier = bg.ComplementNaiveBayesClassifier().fit(X, Y)
    with pytest.raises(UnsupportedModelError, match="vector of counts, which has no posterior"):
        classifier.query("counts")


def test_a_file_keeps_it(tmp_path):
    for norm in (False, True):
        classifier = bg.ComplementNaiveBayesClassifier(norm=norm, smoothing=0.3).fit(X, Y)
        classifier.save(tmp_path / "complement.bayesgraph")
        again = bg.load(tmp_path / "complement.bayesgraph")
        assert again.get_params() == classifier.get_params()
        assert again.network_ == classifier.network_
        np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


def test_columns_that_hold_no_counts():
    frame = pd.DataFrame({"a": ["p", "q"] * 45, "b": X[:, 0]})
    with pytest.raises(TypeError, match=r"takes counts; 'a' are text"):
        bg.ComplementNaiveBayesClassifier().fit(frame, Y)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        bg.ComplementNaiveBayesClassifier().fit(-X, Y)


# ------------------------------------------------------------------- exponents of any family


def test_exponents_of_distributions_of_counts():
    words, kind = bg.CountVector("words", ["a", "b", "c"]), bg.Discrete("kind", [0, 1])
    shares = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    prior = bg.TableCPD(kind, [0.4, 0.6])
    document = {"a": 2, "c": 1}
    logs = np.log(shares) @ [2, 0, 1]
    for exponent in (0.5, -2.0, [0.3, -1.0]):
        cpd = bg.MultinomialCPD(words, shares, [kind])
        graph = bg.FactorGraph([prior, cpd], exponents=[None, exponent], domain="free")
        expected = np.array([0.4, 0.6]) * np.exp(np.asarray(exponent) * logs)
        found = graph.query("kind", {"words": document}).probabilities
        np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-12)


def test_a_negative_power_of_what_may_be_impossible_is_refused():
    words, kind = bg.CountVector("words", ["a", "b"]), bg.Discrete("kind", [0, 1])
    for cpd in (
        bg.MultinomialCPD(words, [[0.0, 1.0], [0.5, 0.5]], [kind]),
        bg.models.PresenceCPD(words, [[0.2, 1.0], [0.5, 0.5]], [kind]),
    ):
        with pytest.raises(ModelError, match=r"words.*not negative"):
            bg.FactorGraph([cpd], exponents=[-1.0], domain="free")
        bg.FactorGraph([cpd], exponents=[2.0])
    certain = bg.models.PresenceCPD(words, [[0.2, 0.9], [0.5, 0.5]], [kind])
    bg.FactorGraph([certain], exponents=[-1.0], domain="free")
