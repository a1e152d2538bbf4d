"""Updates in threads: one after the other, and each as a whole or not at all."""

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

import bayesgraph as bg

THREADS = 8
CLASSES = ["no", "yes"]
KINDS = (bg.NaiveBayesClassifier, bg.StreamingNaiveBayesClassifier)


@pytest.fixture
def hurried():
    """Let Python change threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def rows_of(thread, batch):
    """Return a batch of one to three rows with whole numbers, whose sums are exact."""
    n = 1 + (thread + batch) % 3
    number = np.arange(batch, batch + n, dtype=float) % 7
    return {"a": number, "b": [("x", "y", "z")[int(v) % 3] for v in number]}, [
        CLASSES[(thread + i) % 2] for i in range(n)
    ]


def sums_of(model):
    """Return the number of rows of each class that a model has learned."""
    if isinstance(model, bg.StreamingNaiveBayesClassifier):
        return model.star_.totals.tolist()
    return next(iter(model.statistics_.summaries.values())).totals.tolist()


def learn(model, n_batches):
    """Learn batches in threads; every tenth of a thread is refused. Return the rows of a class."""

    def work(thread):
        for batch in range(n_batches):
            X, y = rows_of(thread, batch)
            if batch % 10 == 9:
                with pytest.raises(bg.errors.DataError):
                    model.partial_fit({**X, "a": [np.inf] * len(y)}, y)
            else:
                model.partial_fit(X, y)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    labels = [
        label
        for thread in range(THREADS)
        for batch in range(n_batches)
        if batch % 10 != 9
        for label in rows_of(thread, batch)[1]
    ]
    return [labels.count(label) for label in CLASSES]


@pytest.mark.one_in(2)
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    "n_batches", [20, pytest.param(1000, marks=pytest.mark.slow)], ids="{}-batches".format
)
@pytest.mark.parametrize("kind", KINDS)
def test_batches_learned_in_threads_are_all_counted_and_once(kind, n_batches):
    model = kind().partial_fit(*rows_of(0, 0), classes=CLASSES)
    begun = sums_of(model)
    expected = learn(model, n_batches)
    assert (np.array(sums_of(model)) - begun).tolist() == expected


@pytest.mark.usefixtures("hurried")
def test_single_rows_learned_in_threads_are_all_counted():
    model = bg.StreamingNaiveBayesClassifier().learn_one({"a": 1.0, "b": "x"}, "no")

    def work(thread):
        for row in range(50):
            model.learn_one({"a": float(row), "b": "xyz"[row % 3]}, CLASSES[thread % 2])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    assert model.star_.totals.tolist() == [201.0, 200.0]


@pytest.mark.usefixtures("hurried")
def test_rows_forgotten_in_threads_are_all_taken_away():
    model = bg.NaiveBayesClassifier()
    batches = [rows_of(thread, 0) for thread in range(THREADS)]
    bg.classifiers.fit_batches(model, [*batches, *batches])
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda batch: model.forget(*batch), batches))
    again = bg.classifiers.fit_batches(bg.NaiveBayesClassifier(), batches)
    assert sums_of(model) == sums_of(again)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_was_updated_is_copied_without_its_lock(kind):
    model = kind().partial_fit(*rows_of(0, 0), classes=CLASSES)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert twin._lock is not model._lock
        twin.partial_fit(*rows_of(0, 1))
    clone(model).partial_fit(*rows_of(0, 0), classes=CLASSES)


@pytest.mark.parametrize("kind", KINDS)
def test_a_first_batch_that_is_refused_leaves_no_trace(kind):
    model = kind()
    before = set(vars(model)) | {"_held"}
    X, y = rows_of(0, 1)
    with pytest.raises(bg.errors.DataError):
        model.partial_fit({**X, "a": [np.inf] * len(y)}, y)
    assert set(vars(model)) == before


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("kind", [*KINDS, bg.TANClassifier, bg.DecisionTreeNetworkClassifier])
def test_threads_that_predict_during_a_refit_see_the_old_or_the_new_model(kind):
    columns = {"a": ["x", "y", "z"] * 8, "b": ["p", "q"] * 12}
    tables = [
        (columns, ["no", "yes", "yes"] * 8),
        ({name: values[::-1] for name, values in columns.items()}, ["r", "s", "t", "u"] * 6),
    ]
    model = kind(check_columns=False)
    ways = [
        lambda: model.predict(columns).tolist(),
        lambda: model.decide(columns).tolist(),
        lambda: model.predict_proba(columns).tolist(),
    ]
    expected = []
    for table in tables:
        model.fit(*table)
        expected.append([way() for way in ways])
    # The third table is refused after its columns were read.
    refused = ({**columns, "c": [*range(23), np.inf]}, tables[0][1])
    done = []

    def refit():
        for i in range(40):
            model.fit(*tables[i % 2])
            with pytest.raises(bg.errors.DataError):
                model.fit(*refused)
        done.append(True)

    with ThreadPoolExecutor(2) as pool:
        work = pool.submit(refit)
        while not work.done():
            for k, way in enumerate(ways):
                assert way() in [expected[0][k], expected[1][k]]
    assert work.result() is None
    assert done


def test_a_refused_fit_leaves_a_regression_tree():
    numbers = np.arange(40.0)
    tree = bg.DecisionTreeNetworkRegressor(check_columns=False).fit({"a": numbers}, numbers)
    before = vars(tree).copy()
    with pytest.raises(ValueError, match="infinity"):
        tree.fit({"b": numbers, "c": numbers}, np.where(numbers > 5, np.inf, numbers))
    assert {name: id(value) for name, value in vars(tree).items()} == {
        name: id(value) for name, value in before.items()
    }
