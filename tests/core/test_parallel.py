"""Loops over rows on several threads."""

import os
import threading
import warnings
import weakref

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import bayesgraph as bg
from bayesgraph.classifiers import rows
from bayesgraph.core import parallel
from bayesgraph.inference import execution_kernels as scores
from bayesgraph.models import row_kernels as kernels


@pytest.mark.one_in(3)
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("n_rows", [0, 1, 63, 64, 1000])
def test_every_row_once(monkeypatch, threads, n_rows):
    monkeypatch.setattr(parallel, "N_THREADS", threads)
    seen = np.zeros(n_rows, dtype=int)

    def work(a, b):
        assert a % 64 == 0
        seen[a:b] += 1

    parallel.over_rows(work, n_rows, 10)
    assert (seen == 1).all()


def test_an_error_in_another_thread_is_raised(monkeypatch):
    monkeypatch.setattr(parallel, "N_THREADS", 2)

    def work(a, b):
        if a:
            raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        parallel.over_rows(work, 1000, 10)


@pytest.mark.parametrize("n_rows", [1, 5, 66, 4099])
def test_bytes_do_not_depend_on_the_number_of_threads(monkeypatch, n_rows):
    random = np.random.default_rng(n_rows)
    values = random.normal(size=(n_rows, 7))
    mean, variance = random.normal(size=(3, 7)), random.uniform(0.5, 2.0, (3, 7))
    codes = random.integers(-1, 2, (n_rows, 7))
    padded = kernels.padded_rows(random.normal(size=(3, 14)))
    found = []
    monkeypatch.setattr(parallel, "_OPERATIONS", 64)
    for threads in (1, 2, 5):
        monkeypatch.setattr(parallel, "N_THREADS", threads)
        out = np.zeros((2, 3, n_rows))
        kernels.add_gaussians(out[0], values, mean, variance)
        start = np.arange(0, 14, 2)
        kernels.add_states(out[1], codes, start, padded)
        best = scores.largest(out[0])
        found.append([a.tobytes() for a in (out, best)])
    assert found[0] == found[1] == found[2]
    np.testing.assert_array_equal(best, out[0].argmax(axis=0))


def test_blas_has_one_thread_until_the_last_that_asked_is_done():
    def limits():
        found = threadpool_info()
        return {library["num_threads"] for library in found if library["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        first, second = parallel.one_blas_thread(), parallel.one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert limits() == {1}
        second.__exit__(None, None, None)
        assert limits() == {2}


def test_a_thread_beside_others_has_no_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(parallel, "N_THREADS", 3)
    used = []

    def work(first, last):
        used.append(threading.get_ident())

    parallel.over_pairs(work, 30, 1 << 30)
    assert len(used) == 3
    used.clear()
    with parallel.without_threads():
        parallel.over_pairs(work, 30, 1 << 30)
        parallel.over_rows(work, 1 << 20, 1)
    assert used == [threading.get_ident()] * 2


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_items_are_computed_side_by_side_and_yielded_in_order(monkeypatch, threads):
    monkeypatch.setattr(parallel, "N_THREADS", threads)
    alone = []

    def work(item):
        alone.append(parallel._n_threads() == 1)
        return item * item

    assert list(parallel.in_order(work, iter(range(11)))) == [i * i for i in range(11)]
    assert all(alone)
    alone.clear()
    # The only item may divide its loops among threads; of none there is no result.
    assert list(parallel.in_order(work, [3])) == [9]
    assert alone == [threads == 1]
    assert list(parallel.in_order(work, [])) == []


def test_an_error_of_one_item_is_raised(monkeypatch):
    monkeypatch.setattr(parallel, "N_THREADS", 2)

    def work(item):
        if item == 3:
            raise ValueError("here")
        return item

    with pytest.raises(ValueError, match="here"):
        list(parallel.in_order(work, range(9)))


@pytest.mark.parametrize(
    "make",
    [bg.NaiveBayesClassifier, lambda: bg.BayesianNetworkClassifier(max_steps=60)],
    ids=["naive Bayes", "average"],
)
def test_predictions_do_not_depend_on_the_number_of_threads(monkeypatch, make):
    random = np.random.default_rng(0)
    X = random.normal(size=(700, 4))
    X[random.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0] * X[:, 1]) > 0
    model = make().fit(X, y)
    monkeypatch.setattr(rows, "_CHUNK_ROWS", 128)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(parallel, "N_THREADS", threads)
        found.append(model.predict_proba(X))
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    monkeypatch.undo()
    np.testing.assert_allclose(found[0], model.predict_proba(X), atol=1e-12)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_under_a_limit_of_blas_takes_none_over():
    """Nor does it wait for the lock of a thread that it does not have."""
    with parallel.one_blas_thread():
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads of BLAS, which do not run in the fork
            child = os.fork()
        if not child:
            with parallel.one_blas_thread():
                os.write(write, str(len(parallel._blas_limits)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 9) == b"1"


def test_what_is_done_is_not_held(monkeypatch):
    monkeypatch.setattr(parallel, "N_THREADS", 2)

    class Item:
        pass

    known = []

    def items():
        for _ in range(12):
            item = Item()
            known.append(weakref.ref(item))
            yield item

    results = parallel.in_order(lambda item: None, items())
    for _ in range(9):
        next(results)
    assert sum(item() is not None for item in known[:7]) == 0
    results.close()
