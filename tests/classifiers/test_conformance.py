"""What every classifier of the table in cases.py must do, whatever its structure."""

import pickle
import re
import tracemalloc

import cases
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cases import fit, fitted
from comparison import assert_same_network
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from tree_oracle import oracle_of

import bayesgraph as bg
from bayesgraph.classifiers import predicted_columns
from bayesgraph.classifiers import rows as encoded
from bayesgraph.core import parallel
from bayesgraph.core.errors import UnknownVariableError
from bayesgraph.models import DirichletMultinomialCPD, MultinomialCPD

every = pytest.mark.parametrize(("case", "kind"), cases.pairs(), ids=str)
naive_bayes = pytest.mark.parametrize(
    ("case", "kind"),
    [pair for pair in cases.pairs() if pair[0].name.startswith("nb")],
    ids=str,
)
on_frames_of_any_names = pytest.mark.parametrize(
    ("case", "kind"), cases.pairs(named=False), ids=str
)


ON_ARRAYS = [c for c in cases.CLASSIFIERS if not c.named]
# scikit-learn asks by tags: another row of a class gets other checks only where these differ.
FIRST = {}
for _case in ON_ARRAYS:
    if "test_scikit_learn" not in _case.without:
        FIRST.setdefault((cases.class_of(_case), repr(get_tags(_case.estimator()))), _case)
unfit = {repr(c.estimator()): dict(c.without) for c in FIRST.values()}


checks = parametrize_with_checks(
    [case.estimator() for case in FIRST.values()],
    expected_failed_checks=lambda estimator: unfit[repr(estimator)],
)


def name_of(value):
    """Return scikit-learn's name of an estimator or a check, without addresses of functions."""
    return re.sub(r"at0x[0-9a-f]+", "", checks.kwargs["ids"](value) or "")


# Each check on every third estimator, which share what reads tables and parameters.
@pytest.mark.one_in(11)
@pytest.mark.parametrize(checks.args[0], list(checks.args[1]), ids=name_of)
def test_each_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in ON_ARRAYS if c not in FIRST.values()], ids=str)
def test_scikit_learn(case):
    results = check_estimator(
        case.estimator(), expected_failed_checks=dict(case.without), on_skip=None, on_fail=None
    )
    assert not {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    unneeded = [r for r in results if r["status"] == "passed" and r["expected_to_fail"]]
    assert not {r["check_name"]: r["expected_to_fail_reason"] for r in unneeded}


def network_frame(classifier, data):
    """Return the data as a table with a column for each of the network's variables."""
    frame = dict(data.columns)
    for feature, items in classifier.layout_.groups.items():
        block = [frame.pop(item) for item in items]
        frame[feature] = np.array(block, dtype=float).T
    return frame


# ------------------------------------------------------------------- scikit-learn's machinery


@pytest.mark.one_in(5)
@every
def test_clone_and_pickle(case, kind):
    data = cases.make_data(kind)
    classifier = fitted(case, data)
    again = clone(classifier).fit(data.pandas(), data.y)
    revived = pickle.loads(pickle.dumps(classifier))
    assert again.network_ == classifier.network_ == revived.network_
    expected = classifier.predict_proba(data.pandas())
    np.testing.assert_array_equal(again.predict_proba(data.pandas()), expected)
    np.testing.assert_array_equal(revived.predict_proba(data.pandas()), expected)


@pytest.mark.one_in(10)
@every
def test_pipeline_search_and_cross_validation(case, kind):
    data = cases.make_data(kind)
    scaler = StandardScaler().set_output(transform="pandas")
    first = scaler if kind == "continuous" else FunctionTransformer()
    pipeline = make_pipeline(first, case.estimator())
    name = pipeline.steps[-1][0]
    # Alone in its fold a class or a state may be missing; then its rows get what is left.
    parameter, values = case.searched
    grid = {f"{name}__{parameter}": list(values)}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise")
    search.fit(data.pandas(), data.y)
    assert search.best_params_[f"{name}__{parameter}"] in values
    scores = cross_val_score(case.estimator(), data.pandas(), data.y, cv=3, error_score="raise")
    assert scores.shape == (3,)
    if kind != "continuous" or not case.numbers_are_states:  # each of which is in one fold
        assert scores.mean() > 0.45  # a guess reaches a third


# -------------------------------------------------------------------------------- one engine


@pytest.mark.one_in(6)
@every
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_probabilities_are_the_posterior_of_the_network(case, kind, missing):
    data = cases.make_data(kind)
    data = data.with_missing() if missing else data
    classifier = fitted(case, data)
    proba = classifier.predict_proba(data.pandas())
    assert proba.shape == (60, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(data.pandas())), proba)
    rows = cases.evidence_rows(classifier, data)
    for row, p in zip(rows[:12], proba, strict=False):
        np.testing.assert_allclose(
            classifier.query(evidence=row).probabilities, p, rtol=1e-9, atol=1e-12
        )


@pytest.mark.one_in(6)
@every
@pytest.mark.parametrize(
    "rows", [slice(4), pytest.param(slice(4, 12), marks=pytest.mark.slow)], ids=["few", "more"]
)
def test_probabilities_equal_brute_force(case, kind, rows):
    data = cases.make_data(kind).with_missing(0.4)
    if "all-categorical" in case.name:
        data = data.take(range(9))  # every number is a state: keep the joint small
    if case.name.startswith(("auto", "streaming")):
        data = data.take(range(12))  # the fewer rows, the fewer intervals
    classifier = fit(case, data)
    oracle = oracle_of(classifier.network_)
    target = classifier.target_.name
    proba = classifier.predict_proba(data.pandas())
    for row, p in zip(cases.evidence_rows(classifier, data)[rows], proba[rows], strict=False):
        np.testing.assert_allclose(oracle.posterior([target], row), p, rtol=1e-9, atol=1e-12)


@pytest.mark.one_in(3)
@every
def test_attributes_are_listed_and_notebooks_draw(case, kind):
    classifier = fit(case, cases.make_data(kind))
    assert "classes_" in dir(classifier)
    assert "<" in classifier._repr_html_()


@pytest.mark.one_in(5)
@every
def test_log_likelihood_of_rows_equals_that_of_the_network(case, kind):
    data = cases.make_data(kind).with_missing()
    classifier = fitted(case, data)
    rows = classifier.score_samples(data.pandas())
    expected = [
        classifier.network_.log_probability(r) for r in cases.evidence_rows(classifier, data)
    ]
    np.testing.assert_allclose(rows, expected, rtol=1e-9, atol=1e-12)
    whole = classifier.network_.log_likelihood(network_frame(classifier, data))
    np.testing.assert_allclose(whole, rows)


@pytest.mark.one_in(5)
@every
def test_predict_is_the_argmax_of_the_marginal_posterior(case, kind):
    data = cases.make_data(kind).with_missing()
    classifier = fitted(case, data)
    proba = classifier.predict_proba(data.pandas())
    predicted = classifier.predict(data.pandas())
    np.testing.assert_array_equal(predicted, classifier.classes_[proba.argmax(axis=1)])
    for row, label in zip(cases.evidence_rows(classifier, data)[:10], predicted, strict=False):
        assert classifier.query(evidence=row).argmax == label


@pytest.mark.one_in(5)
@every
def test_a_column_missing_in_all_rows_is_marginalised(case, kind):
    data = cases.make_data(kind)
    classifier = fitted(case, data)
    for name in data.columns:
        gone = cases.Data({**data.columns, name: [None] * len(data.y)}, data.y)
        proba = classifier.predict_proba(gone.pandas())
        for row, p in zip(cases.evidence_rows(classifier, gone)[:4], proba, strict=False):
            np.testing.assert_allclose(
                classifier.query(evidence=row).probabilities, p, rtol=1e-9, atol=1e-12
            )


@pytest.mark.one_in(5)
@every
def test_nothing_observed_gives_the_prior(case, kind):
    data = cases.make_data(kind)
    classifier = fitted(case, data)
    nothing = pd.DataFrame({name: [None, None] for name in data.columns})
    expected = classifier.query().probabilities
    np.testing.assert_allclose(classifier.predict_proba(nothing), [expected, expected])
    if case.class_is_root:
        share = np.unique(data.y, return_counts=True)[1] / len(data.y)
        np.testing.assert_allclose(expected, share)


# ------------------------------------------------------------------------------------ labels

LABELS = {
    "text": ["b", "c", "a"],
    "int": [7, -3, 2],
    "float": [2.0, 1.0, 10.0],
    "object-text": np.array(["b", "cc", "a"], dtype=object),
    "uint8": np.array([3, 200, 1], dtype=np.uint8),
}


@pytest.mark.one_in(10)
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("case", cases.CLASSIFIERS, ids=str)
def test_labels_keep_type_and_classes_are_sorted(case, labels):
    kind = case.kinds[-1]
    data = cases.make_data(kind)
    code = np.unique(data.y, return_inverse=True)[1]
    y = np.asarray(labels)[code]
    classifier = case.estimator().fit(data.pandas(), y)
    assert list(classifier.classes_) == sorted(labels)
    assert classifier.classes_.dtype == y.dtype
    predicted = classifier.predict(data.pandas())
    assert predicted.dtype == y.dtype
    assert set(predicted) <= set(labels)
    # The states are the labels as plain Python values, of the same type.
    assert list(classifier.target_.states) == sorted(np.asarray(labels).tolist())
    assert {type(s) for s in classifier.target_.states} == {type(np.asarray(labels).tolist()[0])}
    # Columns of probabilities follow classes_: naming the classes differently permutes them.
    reference = fitted(case, data).predict_proba(data.pandas())
    order = np.argsort(np.asarray(labels))
    np.testing.assert_allclose(
        classifier.predict_proba(data.pandas()), reference[:, order], rtol=1e-9, atol=1e-13
    )


def label_containers():
    text, code = ["b", "a"] * 30, [2, 1] * 30
    return {
        "list": (text, None),
        "tuple": (tuple(text), None),
        "pandas": (pd.Series(text, index=range(60, 0, -1), name="z"), "z"),
        "pandas category": (pd.Series(pd.Categorical(text, categories=list("cba")), name="z"), "z"),
        "pandas string": (pd.Series(text, dtype="string"), None),
        "pandas Int64": (pd.Series(code, dtype="Int64"), None),
        "pandas boolean": (pd.Series([True, False] * 30, dtype="boolean"), None),
        "pandas frame": (pd.DataFrame({"z": text}), "z"),
        "polars": (pl.Series("z", text), "z"),
        "polars category": (pl.Series("z", text, dtype=pl.Categorical), "z"),
        "polars frame": (pl.DataFrame({"z": code}), "z"),
        "arrow": (pa.chunked_array([text]), None),
        "arrow integers": (pa.array(code), None),
    }


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("y", "name"), label_containers().values(), ids=label_containers())
def test_labels_of_every_library(y, name):
    data = cases.make_data("mixed")
    classifier = bg.TANClassifier().fit(data.pandas(), y)
    assert classifier.target_.name == (name or "class")
    kind = type(classifier.target_.states[0])
    assert list(classifier.classes_) == list(classifier.target_.states)
    assert classifier.target_.states == {str: ("a", "b"), int: (1, 2), bool: (False, True)}[kind]
    expected = bg.TANClassifier().fit(data.pandas(), ["b", "a"] * 30)
    np.testing.assert_array_equal(
        classifier.predict_proba(data.pandas()), expected.predict_proba(data.pandas())
    )
    assert kind(classifier.predict(data.pandas())[0]) in classifier.target_.states


@pytest.mark.one_in(5)
@every
def test_boolean_labels(case, kind):
    data = cases.make_data(kind)
    y = data.y == "virginica"
    classifier = case.estimator().fit(data.pandas(), y)
    assert classifier.classes_.dtype == bool
    assert classifier.target_.states == (False, True)
    assert classifier.predict(data.pandas()).dtype == bool
    assert classifier.score(data.pandas(), y) > 0.6


@pytest.mark.one_in(5)
@every
def test_one_class_is_fitted_and_predicted(case, kind):
    data = cases.make_data(kind)
    classifier = case.estimator().fit(data.pandas(), ["only"] * len(data.y))
    assert list(classifier.classes_) == ["only"]
    assert (classifier.predict(data.pandas()) == "only").all()
    np.testing.assert_allclose(classifier.predict_proba(data.pandas()), np.ones((60, 1)))


# ------------------------------------------------------------------------------------- inputs


@pytest.mark.one_in(10)
@every
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_every_kind_of_frame_gives_the_same_numbers(case, kind, missing):
    data = cases.make_data(kind)
    data = data.with_missing() if missing else data
    expected = fitted(case, data).predict_proba(data.pandas())
    tables = {
        "polars": data.polars(),
        "lazy polars": data.polars().lazy(),
        "pyarrow": data.arrow(),
        "dict of lists": dict(data.columns),
        "pandas 2 strings": data.pandas().astype(object),
    }
    for library, table in tables.items():
        classifier = case.estimator().fit(table, data.y)
        assert classifier.n_features_in_ == len(data.columns)
        assert list(classifier.feature_names_in_) == list(data.columns)
        found = classifier.predict_proba(table)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13, err_msg=library)
        # Fitted on one library, asked through another.
        across = classifier.predict_proba(data.pandas())
        np.testing.assert_allclose(across, expected, rtol=1e-9, atol=1e-13, err_msg=library)


@pytest.mark.one_in(5)
@on_frames_of_any_names
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_numpy_arrays_give_the_same_numbers(case, kind, missing):
    data = cases.make_data(kind)
    data = data.with_missing() if missing else data
    expected = fitted(case, data).predict_proba(data.pandas())
    matrix = data.matrix()
    classifier = case.estimator().fit(matrix, data.y)
    np.testing.assert_allclose(classifier.predict_proba(matrix), expected, rtol=1e-9, atol=1e-13)
    assert not hasattr(classifier, "feature_names_in_")
    if kind in cases.NUMERIC:
        for same in (np.asfortranarray(matrix.astype(float)), matrix.astype(float).tolist()):
            again = case.estimator().fit(same, data.y)
            assert_same_network(again.network_, classifier.network_)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("gone", [None, np.nan, pd.NA, pd.NaT], ids=["None", "NaN", "NA", "NaT"])
@pytest.mark.parametrize("case", cases.CLASSIFIERS, ids=str)
def test_every_spelling_of_missing_is_the_same(case, gone):
    data = cases.make_data(case.kinds[-1]).with_missing()
    expected = fitted(case, data)
    spelled = {
        name: [gone if v is None else v for v in column] for name, column in data.columns.items()
    }
    frame = pd.DataFrame(spelled, dtype=object)
    classifier = case.estimator().fit(frame, data.y)
    assert_same_network(classifier.network_, expected.network_)
    np.testing.assert_allclose(
        classifier.predict_proba(frame), expected.predict_proba(data.pandas()), rtol=1e-9
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", [c for c in cases.CLASSIFIERS if not c.named], ids=str)
def test_masked_arrays_are_missing_values(case):
    data = cases.make_data(case.kinds[0]).with_missing()
    matrix = data.matrix().astype(float)
    mask = np.isnan(matrix)
    # What lies under the mask must not matter: neither as a number nor as a state.
    masked = np.ma.array(np.where(mask, np.inf, matrix), mask=mask)
    expected, found = case.estimator().fit(matrix, data.y), case.estimator().fit(masked, data.y)
    assert_same_network(found.network_, expected.network_)
    np.testing.assert_array_equal(found.predict_proba(masked), expected.predict_proba(matrix))
    filled = np.nan_to_num(matrix, nan=1.0)
    unmasked = np.ma.array(filled)
    plain = case.estimator().fit(filled, data.y)
    assert_same_network(case.estimator().fit(unmasked, data.y).network_, plain.network_)


@pytest.mark.one_in(5)
@every
def test_columns_are_checked_by_name_and_order(case, kind):
    data = cases.make_data(kind)
    classifier = fitted(case, data)
    frame = data.pandas()
    with pytest.raises(ValueError, match=r"now missing:\n- 'b'"):
        classifier.predict(frame.drop(columns="b"))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- 'new'"):
        classifier.predict(frame.assign(new=1.0))
    with pytest.raises(ValueError, match="same order"):
        classifier.predict(frame[["b", "a", *list(data.columns)[2:]]])
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- 'B'\n(.|\n)*missing:\n- 'b'"):
        classifier.predict(frame.rename(columns={"b": "B"}))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", [c for c in cases.CLASSIFIERS if not c.named], ids=str)
def test_arrays_after_frames_and_frames_after_arrays(case):
    data = cases.make_data(case.kinds[0])
    classifier = fit(case, data)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = classifier.predict_proba(data.matrix())
    np.testing.assert_array_equal(found, classifier.predict_proba(data.pandas()))
    classifier.fit(data.matrix(), data.y)
    assert not hasattr(classifier, "feature_names_in_")
    classifier.fit({0: [1.0, 2.0], 1: [3.0, 5.0]}, [0, 1])
    assert not hasattr(classifier, "feature_names_in_")
    assert classifier.n_features_in_ == 2
    classifier.fit(data.pandas(), data.y)
    assert list(classifier.feature_names_in_) == list(cases.NAMES)


# ----------------------------------------------------------------------------------- meanings


@pytest.mark.one_in(8)
@every
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_weights_are_repetitions(case, kind, missing):
    data = cases.make_data(kind)
    data = data.with_missing() if missing else data
    weights = np.random.default_rng(5).integers(0, 4, size=len(data.y))
    weights[:3] = 2, 1, 3
    repeated = data.take(np.repeat(np.arange(len(data.y)), weights))
    weighted = case.estimator().fit(data.pandas(), data.y, sample_weight=weights)
    plain = fit(case, repeated)
    # A category type declares states that no row has left.
    assert_same_network(weighted.network_, plain.network_, 1e-9)
    everywhere = case.estimator().fit(data.pandas(), data.y, sample_weight=np.ones(len(data.y)))
    assert_same_network(everywhere.network_, fitted(case, data).network_, 1e-13)


@pytest.mark.one_in(5)
@every
def test_priors(case, kind):
    data = cases.make_data(kind)
    priors = np.array([0.7, 0.1, 0.2])
    if not case.class_is_root:
        with pytest.raises(ValueError, match="priors"):
            fit(case, data, priors=priors)
        return
    plain, given = fitted(case, data), fit(case, data, priors=priors)
    np.testing.assert_allclose(given.query().probabilities, priors)
    share = plain.query().probabilities
    expected = plain.predict_proba(data.pandas()) * priors / share
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(given.predict_proba(data.pandas()), expected, rtol=1e-9, atol=1e-13)


@pytest.mark.one_in(10)
@every
def test_unseen_categories(case, kind):
    data = cases.make_data(kind)
    if kind in cases.NUMERIC:
        return
    strange = cases.Data({**data.columns, "a": ["nowhere", *data.columns["a"][1:]]}, data.y)
    blank = cases.Data({**data.columns, "a": [None, *data.columns["a"][1:]]}, data.y)
    classifier = fitted(case, data)
    for asked, same in ((strange.pandas(), blank.pandas()), (strange.polars(), blank.polars())):
        np.testing.assert_allclose(classifier.predict_proba(asked), classifier.predict_proba(same))
    strict = fit(case, data, unseen="error")
    strict.predict(blank.pandas())
    with pytest.raises(bg.errors.UnknownStateError, match=r"'a'.*'nowhere'.*'high', 'low', 'mid'"):
        strict.predict(strange.pandas())


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("case", "kind"), cases.pairs(kinds=("mixed", "varied")), ids=str)
def test_rows_are_answered_one_by_one(case, kind):
    # More rows than one block, with every pattern of missing values.
    classifier = fitted(case, cases.make_data(kind))
    asked = cases.make_data(kind, 9000, seed=1).with_missing(0.3).pandas()
    proba = classifier.predict_proba(asked)
    for rows in (slice(0, 3), slice(4090, 4100), slice(8995, None)):
        np.testing.assert_allclose(
            classifier.predict_proba(asked.iloc[rows]), proba[rows], rtol=1e-9, atol=1e-13
        )


@pytest.mark.one_in(12)
@every
@pytest.mark.parametrize("n", [7, 30])
def test_stretches_of_rows_answer_as_the_whole(case, kind, n, monkeypatch):
    data = cases.make_data(kind).with_missing()
    classifier = fitted(case, data)
    expected = [getattr(classifier, ask)(data.pandas()) for ask in case.asks]
    # Where two classes are equally probable, rounding decides.
    ranked = np.sort(expected[1], axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-9
    monkeypatch.setattr(encoded, "_CHUNK_ROWS", n)
    for ask, whole in zip(case.asks, expected, strict=True):
        found = getattr(classifier, ask)(data.polars())
        assert found.dtype == whole.dtype
        if ask == "predict":
            np.testing.assert_array_equal(found[clear], whole[clear])
        else:
            np.testing.assert_allclose(found, whole, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("case", "kind"), cases.pairs(named=False, kinds=cases.NUMERIC), ids=str)
def test_numbers_that_are_never_observed_say_nothing(case, kind):
    if not case.name.startswith("nb") or "categorical" in case.name:
        pytest.skip("Where each number is a state such a column has none; structures learn others.")
    data = cases.make_data(kind).with_missing()
    X = data.matrix().astype(float)
    X[:, 3] = np.nan
    classifier = case.estimator().fit(X, data.y)
    expected = case.estimator().fit(X[:, :3], data.y).predict_proba(X[:, :3])
    np.testing.assert_allclose(classifier.predict_proba(X), expected, rtol=1e-9, atol=1e-12)
    # Not even when it is observed later: all classes think the same of it.
    if "multinomial" not in case.name:
        later = X.copy()
        later[:, 3] = 1.5
        found = classifier.predict_proba(later)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    nothing = np.full_like(X, np.nan)
    share = np.unique(data.y, return_counts=True)[1] / len(data.y)
    for asked in (nothing, np.nan_to_num(X, nan=1.0)):
        found = case.estimator().fit(nothing, data.y).predict_proba(asked)
        np.testing.assert_allclose(found, np.tile(share, (60, 1)), rtol=1e-9)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("case", "kind"), cases.pairs(named=False, kinds=cases.NUMERIC), ids=str)
def test_memory_beyond_the_output_does_not_grow_with_the_rows(case, kind, monkeypatch):
    data = cases.make_data(kind)
    classifier = case.estimator().fit(data.matrix(), data.y)
    monkeypatch.setattr(encoded, "_CHUNK_ROWS", 500)
    monkeypatch.setattr(
        parallel, "N_THREADS", 1
    )  # how many chunks threads hold is a matter of time
    rows = np.tile(data.matrix(), (100, 1))
    for ask in case.asks:
        peaks = []
        for n in (1000, 1000, 6000):  # the first call compiles and fills caches
            tracemalloc.start()
            answers = getattr(classifier, ask)(rows[:n])
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        # Each row's answer, and one number (a code, say) on the way to it. A copy of the table
        # would take 32 bytes a row more.
        allowed = 5000 * (answers.nbytes // 6000 + 8)
        assert peaks[-1] - peaks[-2] < allowed + 30_000


@pytest.mark.one_in(4)
@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "csr"])
def test_memory_of_frames_and_sparse_matrices(library, monkeypatch):
    monkeypatch.setattr(encoded, "_CHUNK_ROWS", 500)
    monkeypatch.setattr(parallel, "N_THREADS", 1)  # of several, any number holds a chunk at a time
    data = cases.make_data("varied", 6000).with_missing()
    classifier = bg.NaiveBayesClassifier({"d": "poisson", ("e", "f", "g"): "multinomial"})
    frame = data.polars() if library == "polars" else data.pandas()
    table = data.arrow() if library == "arrow" else frame
    if library == "csr":
        classifier = bg.NaiveBayesClassifier("multinomial")
        table = frame = sparse.random_array((6000, 300), density=0.05, rng=0, format="csr")
    classifier.fit(frame, data.y)
    for ask in ("predict", "predict_proba", "score_samples"):
        peaks = []
        for n in (1000, 1000, 6000):
            X = table[:n]
            tracemalloc.start()
            answers = getattr(classifier, ask)(X)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        # A row of the matrix is 180 bytes, one of the encoded frame 42.
        assert peaks[-1] - peaks[-2] < 5000 * (answers.nbytes // 6000 + 16)


@naive_bayes
def test_what_is_drawn_is_what_is_predicted(case, kind):
    classifier = fitted(case, cases.make_data(kind))
    words = (MultinomialCPD, DirichletMultinomialCPD)
    if any(isinstance(cpd, words) for cpd in classifier.network_.cpds):
        pytest.skip(
            "Lengths of documents are drawn by class, but tell nothing of it in prediction."
        )
    drawn = classifier.network_.sample(4000, random_state=7, frame="dict")
    y = drawn.pop("class")
    for feature, items in classifier.layout_.groups.items():
        block = drawn.pop(feature).toarray()
        threshold = getattr(classifier.network_[feature], "threshold", 0.0)
        block = block if threshold == 0 else np.where(block > 0, threshold + 1, 0)
        drawn |= dict(zip(items, block.T, strict=True))
    X = {name: drawn[name] for name in classifier.feature_names_in_}
    proba = classifier.predict_proba(X)
    for k, label in enumerate(classifier.classes_):
        # Among the rows of a given probability that share are of the class: E[(y - p) f(p)] = 0.
        for f in (np.ones_like, np.asarray, np.square):
            gap = ((y == label) - proba[:, k]) * f(proba[:, k])
            assert abs(gap.mean()) < 4.5 * gap.std() / np.sqrt(len(gap))


@pytest.mark.one_in(5)
@every
def test_files_keep_all_answers(case, kind, tmp_path):
    data = cases.make_data(kind).with_missing()
    classifier = fitted(case, data)
    classifier.save(tmp_path / "model.bayesgraph")
    loaded = bg.load(tmp_path / "model.bayesgraph")
    assert type(loaded) is type(classifier)
    assert loaded.network_ == classifier.network_
    assert list(loaded.feature_names_in_) == list(classifier.feature_names_in_)
    assert loaded.classes_.tolist() == classifier.classes_.tolist()
    assert loaded.classes_.dtype == classifier.classes_.dtype
    for ask in case.asks:
        np.testing.assert_array_equal(
            getattr(loaded, ask)(data.pandas()), getattr(classifier, ask)(data.pandas())
        )
    assert_same_network(clone(loaded).fit(data.pandas(), data.y).network_, classifier.network_)


@pytest.mark.one_in(5)
@every
def test_a_file_answers_without_its_estimator(case, kind, tmp_path):
    data = cases.make_data(kind).with_missing()
    classifier = fitted(case, data)
    classifier.save(tmp_path / "model.bayesgraph")
    saved = bg.files.load_saved(tmp_path / "model.bayesgraph")
    assert saved.network_ == classifier.network_
    assert saved.target_ == classifier.target_
    assert getattr(saved, "text", None) in (None, repr(classifier))
    if not getattr(saved, "predicts", False):
        otherwise = bg.DiscriminantAnalysisClassifier, bg.StreamingNaiveBayesClassifier
        assert isinstance(classifier, otherwise)
        return
    # Small tables are converted by other means than large ones.
    complete = pa.table(dict(cases.make_data(kind).columns))
    for table in (complete, pa.table(dict(data.columns)), pa.concat_tables([data.arrow()] * 200)):
        found, expected = (predicted_columns(model, table) for model in (saved, classifier))
        assert list(found) == list(expected)
        for name in expected:
            if np.asarray(expected[name]).dtype.kind == "f":
                # A kernel that was compiled in between adds in another order.
                np.testing.assert_allclose(found[name], expected[name], rtol=1e-12)
            else:
                np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.one_in(5)
@every
def test_row_order_does_not_matter(case, kind):
    data = cases.make_data(kind).with_missing()
    shuffled = data.take(np.random.default_rng(3).permutation(len(data.y)))
    one, other = fitted(case, data), fit(case, shuffled)
    assert_same_network(one.network_, other.network_, 1e-11)
    for a, b in zip(one.network_.cpds, other.network_.cpds, strict=True):
        if isinstance(a, bg.TableCPD):
            np.testing.assert_array_equal(a.values, b.values)
    assert list(one.network_.arc_scores) == list(other.network_.arc_scores)


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    ("case", "kind"), cases.pairs(kinds=("continuous", "mixed", "positive", "varied")), ids=str
)
@pytest.mark.parametrize("factor", [1e-6, 1e6, 1e-130, 1e130])
def test_the_unit_of_a_column_does_not_matter(case, kind, factor):
    data = cases.make_data(kind).with_missing(0.1)
    scaled = [None if v is None else v * factor for v in data.columns["c"]]
    other = cases.Data({**data.columns, "c": scaled}, data.y)
    one, two = fitted(case, data), fit(case, other)
    assert list(one.network_.graph.edges) == list(two.network_.graph.edges)
    np.testing.assert_allclose(
        list(one.network_.arc_scores.values()),
        list(two.network_.arc_scores.values()),
        rtol=1e-8,
        atol=1e-12,
    )
    np.testing.assert_allclose(
        one.predict_proba(data.pandas()), two.predict_proba(other.pandas()), rtol=1e-7, atol=1e-12
    )
    # Of states (intervals, too) there are probabilities, which have no unit.
    if case.likelihood and isinstance(one.network_.variable("c"), bg.Continuous):
        seen = np.array([v is not None for v in data.columns["c"]])
        change = two.score_samples(other.pandas()) - one.score_samples(data.pandas())
        np.testing.assert_allclose(change, np.where(seen, -np.log(factor), 0.0), atol=1e-6)


@pytest.mark.one_in(3)
@every
def test_a_refused_fit_leaves_the_model_that_was_there(case, kind):
    data = cases.make_data(kind)
    classifier = cases.fit(case, data)
    before, expected = vars(classifier).copy(), classifier.predict_proba(data.pandas())
    others = data.pandas().rename(columns={"b": "other"})
    infinite = others.assign(z=[*range(len(data.y) - 1), np.inf])
    unlabelled = np.array([*data.y[:-1], None], dtype=object)
    for X, y in ((infinite, data.y), (others, unlabelled), (others, data.y[:-1]), (others, "y")):
        with pytest.raises((ValueError, TypeError, UnknownVariableError)):
            classifier.fit(X, y)
        assert vars(classifier).keys() == before.keys()
        assert all(vars(classifier)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(classifier.predict_proba(data.pandas()), expected)
