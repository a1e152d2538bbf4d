"""What streams cost: the time of a row, and the memory of a model."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from harness import Row
from large_scale import large_scale_concept
from stream_data import note, rows_in_blocks, training
from stream_models import RIVER, SKLEARN, STREAMING, SUMMARIES, Maker, named
from threadpoolctl import threadpool_limits

from bayesgraph.core import parallel

_BATCH = 1000
# Columns of the narrow case, where what a call costs counts more than what it computes.
_NARROW = 10
# The logistic regression of river takes a step an example, in batches too.
_BATCH_PEERS = {"river.GaussianNB": RIVER["river.GaussianNB"]} | SKLEARN
_PLAIN, _WEIGHTED, _GAUSSIAN = "NB stream", "WNB stream", "NB stream of Gaussians"
_TIMED: dict[str, Maker] = STREAMING | {_GAUSSIAN: SUMMARIES["gaussian"]}
# The least ratio that is aimed at, by the end of the case and the peer. The weighted stream may
# take 1.5 times as long as the plain one.
_AIMS = {
    (f"500 features, batches of 1,000, {_GAUSSIAN}", "sklearn.GaussianNB"): 1.0,
    (f"500 features, batches of 1,000, {_PLAIN}", "sklearn.GaussianNB"): 1 / 3,
    (f"500 features, batches of 1,000, {_WEIGHTED}", _PLAIN): 1 / 1.5,
    (f"500 features, one by one, {_PLAIN}", "river.LogisticRegression"): 1.0,
    (f"500 features, one by one, {_GAUSSIAN}", "river.LogisticRegression"): 1.0,
    (f"500 features, one by one, {_WEIGHTED}", _PLAIN): 1 / 1.5,
    (f"10 features, one by one, {_PLAIN}", "river.GaussianNB"): 4.0,
    (f"10 features, one by one, {_GAUSSIAN}", "river.GaussianNB"): 4.0,
    (f"10 features, one by one, {_WEIGHTED}", _PLAIN): 1 / 1.5,
}

Step = Callable[[int], object]
Steps = dict[str, tuple[Callable[[], Step], int, int]]


def throughput(n: int, n_single: int) -> Iterator[Row]:
    """Yield seconds for 1,000 rows, each predicted and then learned from.

    Parameters
    ----------
    n, n_single : int
        Rows that come in batches, and one by one.
    """
    X, y = large_scale_concept("gamma").draw(n, training(0))
    case = f"throughput: {X.shape[1]} features"
    note(f"  ours on {parallel.N_THREADS} threads, BLAS on one for all")
    batches = timed(_by_batches(X, y))
    note(f"  batches of {_BATCH:,}")
    few = slice(0, min(n, n_single))
    single = timed(_one_by_one(X[few], y[few]))
    note("  one by one")
    for ours in _TIMED:
        for label in batches:
            if label not in _TIMED:
                yield _pair(f"{case}, batches of {_BATCH:,}", ours, label, batches, batches)
        for label in RIVER:
            yield _pair(f"{case}, one by one", ours, label, single, single)
        yield _pair(f"{case}, batches beside one by one", ours, "river.GaussianNB", batches, single)
    yield _pair(f"{case}, batches of {_BATCH:,}", _WEIGHTED, _PLAIN, batches, batches)
    yield _pair(f"{case}, one by one", _WEIGHTED, _PLAIN, single, single)
    narrow = timed(_one_by_one(X[few, :_NARROW], y[few]))
    case = f"throughput: {_NARROW} features, one by one"
    for ours in _TIMED:
        for label in RIVER:
            yield _pair(case, ours, label, narrow, narrow)
    yield _pair(case, _WEIGHTED, _PLAIN, narrow, narrow)
    yield from _on_one_thread(X, y, batches)


def aim(row: Row) -> float | None:
    """Return the least ratio that is aimed at in a row of `throughput`, or None."""
    return _AIMS.get((row.case.removeprefix("throughput: "), row.peer_name))


def _on_one_thread(X: np.ndarray, y: np.ndarray, others: dict[str, float]) -> Iterator[Row]:
    """Yield our own costs on one thread, beside river's."""
    threads, parallel.N_THREADS = parallel.N_THREADS, 1
    try:
        found = timed({label: step for label, step in _by_batches(X, y).items() if label in _TIMED})
    finally:
        parallel.N_THREADS = threads
    for ours in _TIMED:
        case = f"throughput: {X.shape[1]} features, batches of {_BATCH:,}, one thread"
        for label in ("river.GaussianNB", "sklearn.GaussianNB"):
            yield _pair(case, ours, label, found, others)


def _pair(case: str, ours: str, peer: str, mine: dict[str, float], theirs: dict[str, float]) -> Row:
    a, b = mine[ours], theirs[peer]
    return Row(f"{case}, {ours}", "s/1000", a, b, peer, b / a)


def timed(steps: Steps) -> dict[str, float]:
    """Return seconds for 1,000 rows of models that take turns.

    Parameters
    ----------
    steps : dict
        For each model what makes it, how many steps there are, and the rows of a step. A step of
        another such model warms up. Means, not medians: what a model does now and then counts.
    """
    spent = dict.fromkeys(steps, 0.0)
    models = {}
    # Products are small. Threads of one model's BLAS that wait for more work would take turns too.
    with threadpool_limits(1, "blas"):
        for label, (make, count, _) in steps.items():
            warm = make()
            for i in range(min(2, count)):
                warm(i)
            models[label] = make()
        for i in range(max(count for _, count, _ in steps.values())):
            for label, (_, count, _) in steps.items():
                if i < count:
                    start = time.perf_counter()
                    models[label](i)
                    spent[label] += time.perf_counter() - start
    return {
        label: 1000 * spent[label] / (count * size) for label, (_, count, size) in steps.items()
    }


def _by_batches(X: np.ndarray, y: np.ndarray) -> Steps:
    size = min(_BATCH, len(y))
    count = len(y) // size
    blocks = [slice(i * size, (i + 1) * size) for i in range(count)]

    def ours(make: Maker) -> Step:
        learner: Any = make([0, 1])
        return lambda i: learner.model.test_then_train(X[blocks[i]], y[blocks[i]], classes=[0, 1])

    def theirs(make: Maker) -> Step:
        learner = make([0, 1])

        def step(i: int) -> None:
            if i:
                learner.predict(X[blocks[i]])
            learner.learn(X[blocks[i]], y[blocks[i]])

        return step

    found = {label: (lambda make=make: ours(make), count, size) for label, make in _TIMED.items()}
    return found | {
        label: (lambda make=make: theirs(make), count, size) for label, make in _BATCH_PEERS.items()
    }


def _one_by_one(X: np.ndarray, y: np.ndarray) -> Steps:
    size = min(100, len(y))
    count = len(y) // size
    rows = [named(row) for row in X.tolist()]
    labels = y.tolist()

    def start(make: Maker) -> Step:
        model: Any = make([0, 1]).model

        def step(i: int) -> None:
            for j in range(i * size, (i + 1) * size):
                model.predict_proba_one(rows[j])
                model.learn_one(rows[j], labels[j])

        return step

    return {
        label: (lambda make=make: start(make), count, size)
        for label, make in (_TIMED | RIVER).items()
    }


def memory(sizes: Sequence[int]) -> Iterator[Row]:
    """Yield megabytes of models at the smallest and the largest size of the stream."""
    concept = large_scale_concept("gamma")
    learners: dict[str, Any] = {label: make([0, 1]) for label, make in STREAMING.items()}
    random, seen = training(0), 0
    for size in (sizes[0], sizes[-1]):
        for X, y in rows_in_blocks(concept, size - seen, random):
            for learner in learners.values():
                learner.learn(X, y)
        seen = size
        for label, learner in learners.items():
            case = f"memory: {label}, 500 features, {size:,} rows"
            pickled = len(pickle.dumps(learner.model)) / 1e6
            yield Row(case, "MB", pickled, None, "pickled", None)
            yield Row(case, "MB", learner.model.star_.nbytes / 1e6, None, "star_.nbytes", None)
        note(f"  {size:,} rows")
