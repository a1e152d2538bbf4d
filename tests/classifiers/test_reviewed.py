"""Defects that a review found, each once."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

import bayesgraph as bg
from bayesgraph.core.compilation import Kernel
from bayesgraph.core.errors import DataError, UnknownVariableError
from bayesgraph.models import row_kernels as kernels

NB = bg.NaiveBayesClassifier
ONE_KNOWN = [[np.nan, 2.0, np.nan]]


@pytest.mark.parametrize(
    "clf",
    [
        NB("multinomial", smoothing=1e-12),
        NB("multinomial", smoothing=bg.Smoothing(alpha=1e-12, estimation="predictive")),
        bg.ComplementNaiveBayesClassifier(smoothing=1e-9),
    ],
    ids=["multinomial", "predictive", "complement"],
)
def test_the_only_known_word_says_nothing_however_rare(clf):
    X = np.array([[1e6, 0, 3], [1e6, 3, 0]] * 3)
    clf.fit(X, [0, 1] * 3)
    np.testing.assert_allclose(clf.predict_proba(ONE_KNOWN), 0.5, atol=1e-6)
    np.testing.assert_allclose(bg.classifiers.log_odds(clf, ONE_KNOWN), 0.0, atol=1e-6)


def test_an_impossible_word_among_missing_ones_rules_its_class_out():
    clf = NB("multinomial", smoothing=bg.Smoothing(estimation="ml")).fit(
        np.array([[5, 0, 1], [5, 4, 1.0]] * 3), [0, 1] * 3
    )
    np.testing.assert_array_equal(clf.predict_proba(ONE_KNOWN), [[0.0, 1.0]])


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8, np.int32, np.int64])
def test_labels_of_narrow_types(dtype):
    low = 0 if np.dtype(dtype).kind == "u" else -100
    y = np.array([low, 10, 45, 100] * 20, dtype=dtype)
    X = y[:, None] + np.random.default_rng(0).normal(size=(80, 1))
    clf = NB().fit(X, y)
    assert clf.score(X, y) == 1.0
    assert clf.classes_.dtype == dtype
    np.testing.assert_allclose(clf.network_["class"].values, 0.25)


@pytest.mark.parametrize("options", [{}, {"smoothing": bg.Smoothing(threshold=1)}], ids=["0", "1"])
def test_sparse_entries_of_one_place_are_one_count(options):
    X = sp.csr_matrix(([1.0, 1, 1, 2, 1, 1], [0, 0, 1, 2, 1, 1], [0, 2, 3, 4, 6]), shape=(4, 3))
    y = [0, 1, 0, 1]
    stored = X.indices.copy()
    one = NB("bernoulli", **options).fit(X, y).predict_proba(X)
    other = NB("bernoulli", **options).fit(X.toarray(), y).predict_proba(X.toarray())
    np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_array_equal(X.indices, stored)


def test_prediction_leaves_a_sparse_matrix_as_it_is():
    clf = NB("multinomial", smoothing=bg.Smoothing(estimation="predictive")).fit(
        [[1, 2], [2, 1]], [0, 1]
    )
    Z = sp.csr_matrix((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    for array in (Z.data, Z.indices, Z.indptr):
        array.flags.writeable = False
    clf.predict_proba(Z)
    assert Z.indices.tolist() == [1, 0]


@pytest.mark.parametrize(
    "clf", [NB(), bg.DiscriminantAnalysisClassifier(), bg.TANClassifier()], ids=["nb", "lda", "tan"]
)
def test_rows_that_were_never_fitted_are_not_forgotten(clf):
    random = np.random.default_rng(0)
    X = np.r_[random.normal(size=(50, 2)), random.normal(size=(50, 2)) + 1]
    y = np.repeat([0, 1], 50)
    before = clf.fit(X, y).predict_proba(X)
    with pytest.raises(DataError, match="not all part"):
        clf.forget(np.full((5, 2), 1000.0), np.zeros(5, int))
    np.testing.assert_array_equal(clf.predict_proba(X), before)


@pytest.mark.parametrize("seed", range(12))
def test_fractional_weights_are_forgotten_to_the_last(seed):
    random = np.random.default_rng(seed)
    n = 20_000
    X, y, w = random.normal(size=(n, 1)) + 5, np.arange(n) % 2, random.random(n)
    clf = NB(smoothing=bg.Smoothing(shrinkage=0)).fit(X, y, w)
    rows = np.flatnonzero(y == 0)
    for part in (rows[:-20], rows[-20:]):
        clf.forget(X[part], y[part], w[part])
    assert clf.network_["class"].values.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("clf", "wrong"),
    [
        (bg.DecisionTreeNetworkClassifier(max_depth=2), {"max_depth": -1}),
        (NB(), {"smoothing": -1}),
    ],
    ids=["tree", "nb"],
)
def test_a_fit_that_fails_leaves_no_mixture(clf, wrong):
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = np.where(X[:, 0] > 0, "pos", "neg")
    clf.fit(X, y)
    with pytest.raises((ValueError, TypeError)):
        clf.set_params(**wrong).fit(X, np.where(X[:, 0] > 0, "apple", "zebra"))
    try:
        found = clf.predict(X)
    except ValueError:  # not fitted
        return
    np.testing.assert_array_equal(found == "pos", y == "pos")


@pytest.mark.parametrize("threshold", [np.nan, "a", None])
def test_a_threshold_is_a_number(threshold):
    with pytest.raises(DataError, match="threshold takes a finite number"):
        NB("bernoulli", smoothing=bg.Smoothing(threshold=threshold)).fit(
            np.ones((4, 2)), [0, 1, 0, 1]
        )


@pytest.mark.parametrize(
    "options", [{"distributions": "kernel"}, {"smoothing": bg.Smoothing(estimation="predictive")}]
)
@pytest.mark.filterwarnings("ignore:Far outside")
def test_values_beyond_all_others_are_impossible_not_nan(options):
    clf = NB(**options).fit(np.arange(10.0)[:, None], [0, 1] * 5)
    proba = clf.predict_proba([[1e100]])
    assert np.isfinite(proba).all()
    with pytest.warns(bg.errors.ImpossibleEvidenceWarning):
        np.testing.assert_allclose(clf.predict_proba([[1e160]]), 0.5)


@pytest.mark.slow
def test_threads_give_the_threads_of_matrix_products_back():
    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    random = np.random.default_rng(0)
    X = random.normal(size=(1000, 6))
    clf = bg.DiscriminantAnalysisClassifier("class").fit(X, random.integers(0, 3, 1000))
    with threadpool_limits(2, "blas"):
        before = threads()
        assert set(before) == {2}
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda i: clf.predict_proba(X[i:]), range(40)))
        assert threads() == before


def test_drawn_presence_exceeds_the_threshold():
    random = np.random.default_rng(0)
    X = random.poisson(3, (200, 4))
    clf = NB("bernoulli", smoothing=bg.Smoothing(threshold=2)).fit(X, random.integers(0, 2, 200))
    drawn = clf.network_.sample(500, random_state=0, frame="dict")["presence"].toarray()
    assert abs((drawn > 2).mean() - (X > 2).mean()) < 0.05
    with pytest.raises(DataError, match="threshold takes a finite number from 0 on; got -1"):
        bg.Smoothing(threshold=-1)
    words, topic = bg.CountVector("words", ["a", "b"]), bg.Discrete("topic", [0, 1])
    for wrong in (-1, np.nan):
        with pytest.raises(bg.errors.CPDError, match="exceeds a negative threshold"):
            bg.models.PresenceCPD(words, [[0.5, 0.9], [0.5, 0.1]], [topic], wrong)


def test_class_weights_beside_too_few_weights_of_rows():
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    with pytest.raises(DataError, match="one weight for each of the 8 rows"):
        NB(class_weight={0: 5.0}).fit(X, y, sample_weight=[1.0, 2.0, 1.0])


def test_class_weights_of_classes_that_a_batch_lacks():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(20, 2)), np.repeat([0, 1], 10)
    parts = NB(class_weight={0: 5.0}).partial_fit(X[:10], y[:10]).partial_fit(X[10:], y[10:])
    whole = NB().fit(X, y, np.where(y == 0, 5.0, 1.0))
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-12)
    for wrong in (-1.0, np.nan, "x"):
        with pytest.raises(DataError, match="class_weight= maps"):
            NB(class_weight={0: wrong}).fit(X, y)


def test_balanced_weights_do_not_lose_a_model():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.repeat([0, 1], 10)
    clf = NB(class_weight="balanced").fit(X, y)
    with pytest.raises(DataError, match="needs all labels at once"):
        bg.classifiers.fit_batches(clf, [(X, y)])
    assert clf.predict(X).shape == (20,)


def test_alpha_names_features():
    with pytest.raises(UnknownVariableError, match="Did you mean 'a'"):
        NB(smoothing=bg.Smoothing(alpha={"A": 100.0})).fit(
            pd.DataFrame({"a": list("xyxyx")}), [0, 1, 0, 1, 1]
        )


def test_files_keep_the_number_of_steps(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    X[::5, 1] = np.nan
    clf = bg.DiscriminantAnalysisClassifier().fit(X, np.arange(60) % 2)
    clf.save(tmp_path / "m.bayesgraph")
    back = bg.load(tmp_path / "m.bayesgraph")
    assert clf.n_iter_ > 1
    assert (back.n_iter_, type(back.n_iter_)) == (clf.n_iter_, int)


def test_loops_over_rows_are_compiled():
    assert isinstance(kernels.add_histogram, Kernel)


@pytest.mark.parametrize("given", [{"x3": 2.0}, {"x1": 3.0, "x3": 2.0}, {"class": 1, "x2": 4.0}])
@pytest.mark.parametrize("covariance", ["shared", "class"])
def test_rows_given_any_of_jointly_gaussian_features(given, covariance):
    random = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = random.normal(size=(90, 4)) @ random.normal(size=(4, 4)) + y[:, None]
    clf = bg.DiscriminantAnalysisClassifier(covariance).fit(X, y)
    drawn = clf.network_.sample(4000, evidence=given, random_state=0)
    for name, value in given.items():
        assert (drawn[name] == value).all()
    if "class" not in given:
        share = (drawn["class"] == 1).mean()
        assert abs(share - clf.query(evidence=given).probabilities[1]) < 0.04
    posterior = clf.query("x0", given)
    assert abs(drawn["x0"].mean() - posterior.mean) < 0.1 * posterior.std + 1e-9


def test_priors_by_class():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.repeat(["a", "b"], 10)
    clf = NB(priors={"b": 0.75, "a": 0.25}).fit(X, y)
    np.testing.assert_allclose(clf.network_["class"].values, [0.25, 0.75])
    with pytest.raises(bg.errors.UnknownStateError, match="no state 'c'"):
        NB(priors={"c": 1.0}).fit(X, y)


def test_texts_are_no_counts():
    with pytest.raises(bg.errors.DataTypeError, match="CountVectorizer"):
        NB("multinomial").fit(pd.DataFrame({"a": ["some text", "more text"]}), [0, 1])
