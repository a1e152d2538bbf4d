"""Questions beyond posteriors, beside the posterior of the same network.

python benchmarks/bench_questions.py [--quick] [--json FILE]

"do" is a warm query with one variable set by ``do=``, of which the peer is the same query with this
variable observed: a ratio of 0.83 is a fifth more time. States and evidence change from call to
call, and the best of alternating rounds counts, in CPU seconds. "First query" includes cutting the
network and preparing the query.

"Intervals" are the credible intervals of all posteriors of a network that was fitted to 1,000 rows,
drawing included, of which the peer is two warm ``marginals`` for each of the 1,000 draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import pgmpy
from harness import Row, options, report

import bayesgraph as bg

MODELS = Path(pgmpy.__file__).parent / "utils" / "example_models"


@dataclass(frozen=True)
class Case:
    """A query with a variable that is set or observed."""

    network: str
    target: str
    variable: str
    evidence: str


CASES = [
    Case("asia", "dysp", "smoke", "asia"),
    Case("alarm", "CATECHOL", "VENTLUNG", "HRBP"),
    Case("hailfinder", "R5Fcst", "AMInstabMt", "Scenario"),
]


def load(name: str) -> bg.BayesianNetwork:
    """Return a published network."""
    return bg.load(MODELS / f"{name}.bif.gz")


def calls(net: bg.BayesianNetwork, case: Case) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return evidence and the values of the variable, in all combinations of states."""
    states = (net.variable(name).states for name in (case.evidence, case.variable))
    return [({case.evidence: e}, {case.variable: v}) for e, v in itertools.product(*states)]


def seconds(ask: Callable[[dict[str, Any], dict[str, Any]], object], asked: Any, n: int) -> float:
    """Return the CPU seconds of a call, the mean over n rounds of all calls."""
    start = process_time()
    for _ in range(n):
        for evidence, values in asked:
            ask(evidence, values)
    return (process_time() - start) / (n * len(asked))


def alternated(case: Case, metric: str, rounds: int, n: int) -> Row:
    """Return the row of a warm question, set and observed in turn."""
    net = load(case.network)
    asked = calls(net, case)
    if metric == "do, query":
        sides = (
            lambda e, v: net.query(case.target, e, do=v),
            lambda e, v: net.query(case.target, {**e, **v}),
        )
    else:
        sides = (
            lambda e, v: net.marginals(e, do=v),
            lambda e, v: net.marginals({**e, **v}),
        )
    times: tuple[list[float], list[float]] = [], []
    for side in sides:
        seconds(side, asked, 3)
    for _ in range(rounds):
        for side, taken in zip(sides, times, strict=True):
            taken.append(seconds(side, asked, n))
    ours, peer = map(min, times)
    return Row(case.network, metric, ours, peer, "the variable observed", peer / ours)


def first(case: Case, rounds: int) -> Row:
    """Return the row of the first question of a network, set and observed in turn."""
    evidence, values = calls(load(case.network), case)[0]
    times: tuple[list[float], list[float]] = [], []
    for _ in range(rounds):
        for taken, is_set in zip(times, (True, False), strict=True):
            net = load(case.network)
            start = process_time()
            if is_set:
                net.query(case.target, evidence, do=values)
            else:
                net.query(case.target, {**evidence, **values})
            taken.append(process_time() - start)
    ours, peer = map(median, times)
    return Row(case.network, "do, first query", ours, peer, "the variable observed", peer / ours)


def intervals(network: str, rounds: int) -> list[Row]:
    """Return the rows of credible intervals of all posteriors, by both methods."""
    known = load(network)
    rows = known.sample(1000, random_state=0, frame="dict")
    net = bg.BayesianNetwork.fit(known.graph, rows, variables=known.variables)
    n = 1000
    sides: dict[str, Callable[[], object]] = {
        "warm": lambda: [net.marginals() for _ in range(2 * n)],
        "draws": lambda: net.credible_intervals(draws=n),
        "delta": lambda: net.credible_intervals(method="delta"),
    }
    times: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        side()
    for _ in range(rounds):
        for name, side in sides.items():
            start = process_time()
            side()
            times[name].append(process_time() - start)
    best = {name: min(taken) for name, taken in times.items()}
    return [
        Row(network, f"intervals, {name}", best[name], best["warm"], "2,000 warm marginals",
            best["warm"] / best[name])
        for name in ("draws", "delta")
    ]  # fmt: skip


def main() -> None:
    """Run all cases."""
    chosen = options(__doc__)
    rounds, n = (7, 20) if chosen.quick else (15, 200)
    rows = []
    for case in CASES:
        rows += [alternated(case, metric, rounds, n) for metric in ("do, query", "do, marginals")]
        rows.append(first(case, rounds))
    for network in ("asia", "alarm", "hailfinder"):
        rows += intervals(network, rounds)
    report(rows, chosen.json, ["numpy", "numba"])


if __name__ == "__main__":
    main()
