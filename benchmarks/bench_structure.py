"""Structures and parameters: TAN and EM beside pyAgrum, AODE beside scikit-bayes.

python benchmarks/bench_structure.py [--quick] [--json FILE] [--case TEXT]

Columns have five states. Of pyAgrum there are two: its scikit-learn classifier, whose TAN is partly
written in Python, and the bare learner: the conditional mutual information of all pairs from its
compiled BNLearner, a spanning tree, and its parameters. Reading the table is part of both, as it is
of ours. pyAgrum runs on one thread: on these tables several wait for each other most of the time
(on a busy machine a TAN of 2,000 x 64 then took fifty times as long). What takes minutes is
measured once. The rows called "memory" hold megabytes instead of seconds, measured in a process of
its own: the peak beyond what there was before, once of the whole process and once of what Python
allocated.
"""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyagrum
from harness import Row, pair, parser, report
from pyagrum.skbn import createBNClassifier
from skbn.ande import AnDE

import bayesgraph as bg

_STATM = Path("/proc/self/statm")
_PAGE_MB = 4096 / 1e6


def columns(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns of five states, each depending on its neighbour, and three classes.

    With two classes pyagrum.skbn would also look for a threshold, row by row.
    """
    random = np.random.default_rng(2)
    y = random.integers(0, 3, n)
    X = random.integers(0, 5, (n, d))
    for j in range(1, d):
        copied = random.random(n) < 0.4
        X[copied, j] = X[copied, j - 1]
    X[:, 0] = (X[:, 0] + y) % 5
    return X, y


def bare(X: np.ndarray, y: np.ndarray) -> Any:
    """Return pyAgrum's network of the TAN that its compiled learner leads to."""
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    frame["y"] = y
    learner = pyagrum.BNLearner(frame)
    learner.useSmoothingPrior(1.0)
    graph = nx.Graph()
    for j, right in enumerate(names):
        for left in names[:j]:
            weight = learner.mutualInformation(left, right, ["y"])
            graph.add_edge(left, right, weight=-weight)
    tree = nx.minimum_spanning_tree(graph)
    dag = pyagrum.DAG()
    number = {name: learner.idFromName(name) for name in [*names, "y"]}
    for k in sorted(number.values()):
        dag.addNodeWithId(k)
    for name in names:
        dag.addArc(number["y"], number[name])
    for parent, child in nx.bfs_edges(tree, names[0]):
        dag.addArc(number[parent], number[child])
    return learner.learnParameters(dag)


def once(case: str, metric: str, ours: Callable[[], Any], peer: Any, peer_name: str) -> Row:
    """Time two calls, the peer's a single time and ours as often as takes no minutes."""
    ours()
    mine = sorted(_seconds(ours) for _ in range(3))[1]
    theirs = None if peer is None else _seconds(peer)
    return Row(case, metric, mine, theirs, peer_name, None if theirs is None else theirs / mine)


def _seconds(call: Callable[[], Any]) -> float:
    gc.collect()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def tan(
    n: int, d: int, *, repeats: int, classifier: bool = True, model: str = "TAN"
) -> Iterator[Row]:
    """Yield the fit of TAN or kDB beside the peer's TAN, timed once with `repeats` of 1."""
    X, y = columns(n, d)
    ours = {"TAN": bg.TANClassifier, "kDB(2)": bg.KDBClassifier}[model](categorical="all")
    case = f"{model} {n:,} x {d}"
    peers: list[tuple[str, Callable[[], Any]]] = [
        ("pyagrum.BNLearner", lambda: bare(X, y)),
    ]
    if classifier:
        peer = createBNClassifier(learningMethod="TAN")
        peers.insert(0, ("pyagrum.skbn", lambda: peer.fit(X, y)))
    for name, call in peers:
        if repeats == 1:
            yield once(case, "fit", lambda: ours.fit(X, y), call, name)
        else:
            yield pair(case, "fit", lambda: ours.fit(X, y), call, name, repeats=repeats)


def few_rows(n: int, d: int) -> Iterator[Row]:
    """Yield the fit of TAN on few rows of thousands of columns; the peer is a target in seconds.

    The matrix product of all states, which holds the counts of all pairs, is a lower bound of what
    other ways to count take.
    """
    random = np.random.default_rng(4)
    for states in (2, 3):
        y = random.integers(0, 2, n)
        X = random.integers(0, states, (n, d))
        ours = bg.TANClassifier(categorical="all")
        marks = (X[:, :, None] == np.arange(states)).reshape(n, -1).astype(np.float32)
        parts = [np.ascontiguousarray(marks[y == k]) for k in (0, 1)]
        yield pair(
            f"TAN {n:,} x {d:,}, {states} states",
            "fit",
            lambda ours=ours, X=X, y=y: ours.fit(X, y),
            lambda parts=parts: [part.T @ part for part in parts],
            "product of states (target: 1 s)",
            repeats=3,
        )


def memory(n: int, d: int) -> Iterator[Row]:
    """Yield the peak of memory while TAN is fitted beyond the table itself, in megabytes."""
    case = f"TAN {n:,} x {d}"
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        whole, python, table = pool.apply(_memory_of_fit, (n, d))
    note = f"(the table: {table:.0f} MB)"
    yield Row(case, "memory", whole, None, f"peak of the process {note}", None)
    yield Row(case, "memory", python, None, f"peak of tracemalloc {note}", None)


def _memory_of_fit(n: int, d: int) -> tuple[float | None, float, float]:
    bg.TANClassifier(categorical="all").fit(*columns(200, 5))
    X, y = columns(n, d)
    whole = _resident_peak(lambda: bg.TANClassifier(categorical="all").fit(X, y))
    tracemalloc.start()
    bg.TANClassifier(categorical="all").fit(X, y)
    most = tracemalloc.get_traced_memory()[1]
    return whole, most / 1e6, X.nbytes / 1e6


def _resident_peak(call: Callable[[], Any]) -> float | None:
    """Return by how much the process grows at most, in MB; None where nobody tells."""
    if not _STATM.exists():
        call()
        return None
    gc.collect()
    seen = [_resident()]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            seen.append(_resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    call()
    done.set()
    watcher.join()
    return max(seen) - seen[0]


def _resident() -> float:
    return int(_STATM.read_text().split()[1]) * _PAGE_MB


def em(n: int, d: int, *, repeats: int) -> Iterator[Row]:
    """Yield EM on a chain below a class with a tenth of the values missing."""
    X, y = columns(n, d)
    names = [f"x{j}" for j in range(d)]
    frame = pd.DataFrame(X, columns=names).astype(str)
    holes = np.random.default_rng(3).random(frame.shape) < 0.1
    frame = frame.mask(holes)
    frame["y"] = y.astype(str)
    arcs = [("y", name) for name in names] + list(itertools.pairwise(names))
    template = bg.BayesianNetwork.fit(arcs, frame, smoothing=1.0)
    marked = frame.fillna("?")
    tol = 1e-5

    def ours() -> Any:
        return bg.BayesianNetwork.fit(arcs, frame, missing="em", smoothing=1.0, tol=tol)

    def peer() -> Any:
        shape = pyagrum.BayesNet()
        for variable in template.variables:
            shape.add(pyagrum.LabelizedVariable(variable.name, "", list(variable.states)))
        for arc in arcs:
            shape.addArc(*arc)
        learner = pyagrum.BNLearner(marked, shape, ["?"])
        learner.useSmoothingPrior(1.0)
        learner.useEM(tol)
        return learner.learnParameters(shape.dag())

    case = f"EM {n:,} x {d}, 10 % missing"
    yield (
        pair(case, "fit", ours, peer, "pyagrum.BNLearner", repeats=repeats)
        if repeats > 1
        else once(case, "fit", ours, peer, "pyagrum.BNLearner")
    )


def aode(n: int, d: int, *, repeats: int) -> Iterator[Row]:
    """Yield the predictions of averaged one-dependence estimators."""
    case = f"AODE {n:,} x {d}"
    X, y = columns(n, d)
    ours = bg.AODEClassifier(categorical="all").fit(X, y)
    peer = AnDE(n_dependence=1, categorical_features=list(range(d))).fit(X, y)
    for metric, method in (("proba", "predict_proba"), ("predict", "predict")):
        calls = (lambda model=model, m=method: getattr(model, m)(X) for model in (ours, peer))
        yield pair(case, metric, *calls, "skbn.AnDE", repeats=repeats)


def cases(*, quick: bool) -> Iterator[tuple[str, Callable[[], Iterator[Row]]]]:
    """Yield all cases by name."""
    k, repeats = (10, 3) if quick else (1, 5)
    yield "tan", lambda: tan(20_000 // k, 64, repeats=repeats)
    yield "kdb", lambda: tan(20_000 // k, 64, repeats=repeats, model="kDB(2)")
    yield "memory", lambda: memory(1_000_000 // k, 50)
    yield "rows", lambda: tan(1_000_000 // (20 if quick else 1), 50, repeats=1, classifier=False)
    yield "columns", lambda: tan(20_000 // k, 500 // min(k, 4), repeats=1, classifier=False)
    yield "few rows", lambda: few_rows(300, 3000 // k)
    yield "missing", lambda: em(5_000 // k, 20, repeats=1)
    yield "aode", lambda: aode(20_000 // k, 30 if not quick else 15, repeats=repeats)


def main() -> None:
    """Run all cases."""
    command = parser(__doc__)
    command.add_argument("--case", help="only cases whose name holds this text")
    chosen = command.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", category=UserWarning)
    pyagrum.setNumberOfThreads(1)
    rows: list[Row] = []
    for name, run in cases(quick=chosen.quick):
        if chosen.case is None or chosen.case in name:
            rows += run()
    report(rows, chosen.json, ["pyagrum", "scikit-bayes", "numpy", "numba"])


if __name__ == "__main__":
    main()
