"""A missing feature is summed out: the same as the sum over all it might be, taken by brute force.

The joint of class and features comes from complete rows; every value (or a fine grid of values) is
put in the place of what is missing, and the joint is added up.
"""

import itertools

import cases
import numpy as np
import pytest
from scipy import sparse

import bayesgraph as bg

# A grid over all that a number might be.
pytestmark = pytest.mark.filterwarnings("ignore:Far outside")

FAMILIES = {
    "gaussian": ("continuous", {}),
    "gaussian-map": ("continuous", {"smoothing": bg.Smoothing(estimation="map")}),
    "student": ("continuous", {"smoothing": bg.Smoothing(estimation="predictive")}),
    "kernel": ("continuous", {"distributions": "kernel"}),
    "lognormal": ("positive", {"distributions": "lognormal"}),
    "poisson": ("counts", {"distributions": "poisson"}),
    "negative-binomial": (
        "counts",
        {"distributions": "poisson", "smoothing": bg.Smoothing(estimation="predictive")},
    ),
    "categorical": ("counts", {"distributions": "categorical"}),
    "bernoulli": (
        "counts",
        {"distributions": "bernoulli", "smoothing": bg.Smoothing(threshold=1.0)},
    ),
}
every = pytest.mark.parametrize("family", FAMILIES)


def grid(family, column):
    """Return all values that a feature may take, or many, and what each stands for in the sum."""
    if family == "categorical":
        values = np.unique(column)
    elif family == "bernoulli":
        values = np.array([0.0, 2.0])
    elif FAMILIES[family][0] == "counts":
        values = np.arange(400.0)
    elif family == "lognormal":
        edges = np.exp(np.linspace(-12, 12, 4001))
        return np.sqrt(edges[1:] * edges[:-1]), np.diff(edges)
    else:
        values = np.linspace(-60, 60, 12001)
        return values, np.full(len(values), values[1] - values[0])
    return values, np.ones(len(values))


def joint(classifier, X):
    """Return p(class, x) for each row, shape (n_rows, n_classes)."""
    return np.exp(classifier.predict_log_proba(X) + classifier.score_samples(X)[:, None])


def fitted(family):
    kind, options = FAMILIES[family]
    data = cases.make_data(kind)
    X = data.matrix()
    return bg.NaiveBayesClassifier(**options).fit(X, data.y), X


@pytest.mark.one_in(3)
@every
@pytest.mark.parametrize("column", range(4))
def test_one_missing_feature(family, column):
    classifier, X = fitted(family)
    values, width = grid(family, X[:, column])
    for row in X[:3]:
        filled = np.tile(row, (len(values), 1))
        filled[:, column] = values
        summed = width @ joint(classifier, filled)
        row = row.copy()
        row[column] = np.nan
        np.testing.assert_allclose(joint(classifier, [row])[0], summed, rtol=1e-5)
        proba = classifier.predict_proba([row])[0]
        np.testing.assert_allclose(proba, summed / summed.sum(), atol=1e-6)


@every
def test_all_but_one_feature_missing(family):
    classifier, X = fitted(family)
    row = X[0].copy()
    summed = np.ones(3)
    # Independent given the class: one sum after the other.
    for column in range(1, 4):
        values, width = grid(family, X[:, column])
        filled = np.full((len(values), 4), np.nan)
        filled[:, column] = values
        summed *= width @ (joint(classifier, filled) / classifier.query().probabilities)
        row[column] = np.nan
    np.testing.assert_allclose(summed, 1.0, rtol=1e-5)
    found = joint(classifier, [row])[0]
    alone = classifier.predict_proba([row])[0]
    np.testing.assert_allclose(found / found.sum(), alone)


@pytest.mark.one_in(2)
@every
def test_two_missing_features(family):
    classifier, X = fitted(family)
    (a, wide_a), (b, wide_b) = (grid(family, X[:, j]) for j in (1, 2))
    if FAMILIES[family][0] == "counts":
        a, b, wide_a, wide_b = a[:60], b[:60], wide_a[:60], wide_b[:60]
    else:
        # Every so many-th value where there is any mass: smooth densities do not notice.
        step = 25 if family == "lognormal" else 12
        inside = np.flatnonzero(np.abs(a if family != "lognormal" else np.log(a)) < 12)[::step]
        a, b, wide_a, wide_b = (part[inside] for part in (a, b, wide_a * step, wide_b * step))
    pairs = np.array(list(itertools.product(a, b)))
    width = np.outer(wide_a, wide_b).reshape(-1)
    filled = np.tile(X[1], (len(pairs), 1))
    filled[:, [1, 2]] = pairs
    summed = width @ joint(classifier, filled)
    row = X[1].copy()
    row[[1, 2]] = np.nan
    found = classifier.predict_proba([row])[0]
    np.testing.assert_allclose(found, summed / summed.sum(), atol=1e-5)


# ----------------------------------------------------------------------------------- documents


@pytest.mark.one_in(2)
@pytest.mark.parametrize("estimation", ["mean", "map", "predictive"])
@pytest.mark.parametrize("missing", [[0], [3], [1, 2], [0, 1, 3]], ids=str)
def test_words_whose_counts_are_missing(estimation, missing):
    # Given how many of a document's words have known counts, the others say nothing: the
    # probability of the known words in their order is that of all documents of a length that have
    # these words (and others in between), over that of all that have as many.
    data = cases.make_data("counts")
    classifier = bg.NaiveBayesClassifier(
        "multinomial", smoothing=bg.Smoothing(alpha=2.0, estimation=estimation)
    )
    classifier.fit(data.matrix(), data.y)
    known = [i for i in range(4) if i not in missing]
    prior = classifier.query().probabilities
    for length, words in ((3, known[:1] * 2), (4, known[-1:] + known[:1]), (5, known[:1])):
        documents = list(itertools.product(range(4), repeat=length))
        counts = np.array([np.bincount(d, minlength=4) for d in documents], dtype=float)
        given_class = joint(classifier, counts) / prior
        left = [[w for w in d if w in known] for d in documents]
        as_many = np.array([len(part) == len(words) for part in left])
        same = np.array([part == words for part in left])
        expected = given_class[same].sum(axis=0) / given_class[as_many].sum(axis=0)
        row = np.bincount(words, minlength=4).astype(float)
        row[missing] = np.nan
        for form in (np.array, sparse.csr_array):
            found = joint(classifier, form([row]))[0] / prior
            np.testing.assert_allclose(found, expected, rtol=1e-9)
        posterior = expected * prior / (expected @ prior)
        np.testing.assert_allclose(classifier.predict_proba([row])[0], posterior, rtol=1e-9)


@pytest.mark.parametrize("estimation", ["mean", "predictive"])
def test_the_documents_of_a_length_are_a_distribution(estimation):
    data = cases.make_data("counts")
    classifier = bg.NaiveBayesClassifier(
        "multinomial", smoothing=bg.Smoothing(estimation=estimation)
    )
    classifier.fit(data.matrix(), data.y)
    for length in (0, 1, 4):
        documents = itertools.product(range(4), repeat=length)
        counts = [np.bincount(np.array(d, dtype=int), minlength=4) for d in documents]
        total = joint(classifier, np.array(counts, dtype=float)).sum(axis=0)
        np.testing.assert_allclose(total, classifier.query().probabilities, rtol=1e-12)


def test_presence_of_all_documents_is_a_distribution():
    classifier, _ = fitted("bernoulli")
    rows = np.array(list(itertools.product([0.0, 2.0], repeat=4)))
    total = joint(classifier, rows).sum(axis=0)
    np.testing.assert_allclose(total, classifier.query().probabilities, rtol=1e-12)


# -------------------------------------------------------------------------------- mixed frames


@pytest.mark.parametrize("estimation", ["mean", "predictive"])
def test_columns_of_every_kind(estimation):
    data = cases.make_data("varied")
    families = {"d": "poisson", ("e", "f", "g"): "bernoulli"}
    classifier = bg.NaiveBayesClassifier(families, smoothing=bg.Smoothing(estimation=estimation))
    classifier.fit(data.pandas(), data.y)
    values = {
        "a": (["low", "mid", "high"], None),
        "b": ([False, True], None),
        "c": (np.linspace(-60, 60, 12001), 0.01),
        "d": (np.arange(300), None),
        "f": ([0, 1], None),
    }
    for name, (every_value, width) in values.items():
        row = data.take([5]).columns
        n = len(every_value)
        filled = {key: column * n for key, column in row.items()}
        filled[name] = every_value
        summed = joint(classifier, filled).sum(axis=0) * (width or 1.0)
        gone = {**row, name: [None]}
        np.testing.assert_allclose(joint(classifier, gone)[0], summed, rtol=1e-6)
