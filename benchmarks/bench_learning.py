"""Structures without a class: skeleton and time beside pgmpy and pyAgrum, on published networks.

python benchmarks/bench_learning.py [--quick] [--json FILE] [--network NAME ...]

Rows are drawn from the networks in pgmpy's wheel, and each side learns a graph from the same data
frame of text; reading it is part of the time. The rows called "F1" hold the harmonic mean of
precision and recall of the skeleton's edges, the mean over the samples, and those called "best F1"
that of the best of each side's methods. Times are CPU seconds, the median over the samples, in
turn. pyAgrum runs on one thread and learns the graph alone (``learnDAG``). pgmpy's PC takes
minutes and is left out.
"""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

import pandas as pd
import pgmpy
import pyagrum
from harness import Row, parser, report
from pgmpy.causal_discovery import HillClimbSearch

import bayesgraph as bg

MODELS = Path(pgmpy.__file__).parent / "utils" / "example_models"
NETWORKS = ["alarm", "insurance", "hailfinder"]
SIZES = [1_000, 10_000]
Learner = Callable[[pd.DataFrame], Any]


def f1(found: Any, true: Any) -> float:
    """Return the harmonic mean of precision and recall of undirected edges."""
    mine, real = ({frozenset(arc) for arc in arcs} for arcs in (found, true))
    return 2 * len(mine & real) / (len(mine) + len(real))


def ours(learner: Callable[..., Any], frame: pd.DataFrame) -> Any:
    """Return the arcs that a learner of bayesgraph finds."""
    return learner(bg.learning.count_source(frame)).arcs


def by_pgmpy(score: str, frame: pd.DataFrame) -> Any:
    """Return the arcs of pgmpy's hill climbing."""
    search = HillClimbSearch(scoring_method=score, return_type="dag", show_progress=False)
    return list(search.fit(frame.astype("category")).causal_graph_.edges())


def by_pyagrum(options: tuple[str, ...], frame: pd.DataFrame) -> Any:
    """Return the arcs of a learner of pyAgrum, which has methods that choose what it does."""
    learner = pyagrum.BNLearner(frame)
    for option in options:
        getattr(learner, option)()
    name = learner.nameFromId
    return [(name(a), name(b)) for a, b in learner.learnDAG().arcs()]


# Ours by method; peers by method and name.
OURS: dict[str, Learner] = {
    "hill climbing, BIC": partial(ours, partial(bg.learning.unrestricted, max_parents=None)),
    "hill climbing, BDeu": partial(
        ours, partial(bg.learning.unrestricted, max_parents=None, score="bdeu")
    ),
    "tabu, BIC": partial(ours, bg.learning.tabu),
    "tabu, BDeu": partial(ours, partial(bg.learning.tabu, score="bdeu")),
    "10 restarts, BIC": partial(
        ours, partial(bg.learning.unrestricted, max_parents=None, restarts=10)
    ),
    "10 restarts, BDeu": partial(
        ours, partial(bg.learning.unrestricted, max_parents=None, score="bdeu", restarts=10)
    ),
    "PC": partial(ours, bg.learning.pc),
}
_CLIMB, _TABU = "useGreedyHillClimbing", "useLocalSearchWithTabuList"
PEERS: dict[tuple[str, str], Learner] = {
    ("hill climbing, BIC", "pgmpy"): partial(by_pgmpy, "bic-d"),
    ("hill climbing, BIC", "pyAgrum"): partial(by_pyagrum, (_CLIMB, "useScoreBIC")),
    ("hill climbing, BDeu", "pyAgrum"): partial(by_pyagrum, (_CLIMB, "useScoreBDeu")),
    ("tabu, BIC", "pyAgrum"): partial(by_pyagrum, (_TABU, "useScoreBIC")),
    ("tabu, BDeu", "pyAgrum"): partial(by_pyagrum, (_TABU, "useScoreBDeu")),
    ("PC", "pyAgrum"): partial(by_pyagrum, ("usePC",)),
    ("MIIC", "pyAgrum"): partial(by_pyagrum, ("useMIIC",)),
}
SLOW = [("hill climbing, BIC", "pgmpy")]
# Takes half a minute for some tables.
LONG = [("PC", "pyAgrum")]


def timed(learner: Learner, frame: pd.DataFrame) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and what it found."""
    gc.collect()
    start = time.process_time()
    found = learner(frame)
    return time.process_time() - start, found


def compared() -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield our methods, and the peers' methods that each is compared to."""
    for key in PEERS:
        if key[0] in OURS:
            yield key[0], key
    for score in ("BIC", "BDeu"):
        for search in ("hill climbing", "tabu"):
            yield f"10 restarts, {score}", (f"{search}, {score}", "pyAgrum")


def network(name: str, n: int, n_samples: int, *, quick: bool) -> Iterator[Row]:
    """Yield the rows of one network and one number of rows."""
    net = bg.load(MODELS / f"{name}.bif.gz")
    true = net.graph.edges
    frames = [pd.DataFrame(net.sample(n, random_state=seed)) for seed in range(1, n_samples + 1)]
    for learner in OURS.values():
        learner(frames[0])  # kernels are loaded
    seconds: dict[Any, list[float]] = {}
    scores: dict[Any, list[float]] = {}
    for number, frame in enumerate(frames):
        for key, learner in (*OURS.items(), *PEERS.items()):
            once = key in SLOW or key in LONG
            if (once and number) or (quick and key in LONG):
                continue
            taken, found = timed(learner, frame)
            seconds.setdefault(key, []).append(taken)
            scores.setdefault(key, []).append(f1(found, true))
    case = f"{name}, {n:,} rows"
    for method, key in compared():
        if key not in seconds:
            continue
        mine, theirs, peer = median(seconds[method]), median(seconds[key]), key[1]
        if not method.startswith(key[0]):
            peer = f"{peer}, {key[0]}"
        yield Row(f"{case}: {method}", "cpu", mine, theirs, peer, theirs / mine)
        # Of the samples that both have seen.
        both = zip(scores[method], scores[key], strict=False)
        own, other = map(mean, zip(*both, strict=True))
        yield Row(f"{case}: {method}", "F1", own, other, peer, None)
    best, at = max((mean(scores[method]), method) for method in OURS)
    most, by = max((mean(scores[key]), ", ".join(key)) for key in PEERS if key in scores)
    yield Row(f"{case}: {at}", "best F1", best, most, by, None)


def main() -> None:
    """Run all networks."""
    command = parser(__doc__)
    command.add_argument("--network", nargs="+", choices=NETWORKS, default=NETWORKS)
    chosen = command.parse_args()
    warnings.filterwarnings("ignore")
    pyagrum.setNumberOfThreads(1)
    rows: list[Row] = []
    for name in chosen.network:
        for n in SIZES[:1] if chosen.quick else SIZES:
            rows += network(name, n, 3 if chosen.quick else 5, quick=chosen.quick)
    report(rows, chosen.json, ["pgmpy", "pyagrum", "numpy", "numba"])


if __name__ == "__main__":
    main()
