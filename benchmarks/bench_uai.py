"""The UAI 2014 competition: most probable assignments (MAP) beside toulbar2, and marginals (MAR).

git clone --depth 1 https://github.com/mroavi/uai
python benchmarks/bench_uai.py uai/uai2014/MAP [--seconds 60] [--name Promedas] [--peer] [--json FILE]
python benchmarks/bench_uai.py uai/uai2014/MAR [--seconds 60] [--name linkage] [--json FILE]

Each file has its own process with that many seconds of CPU, with loaded kernels. A row has the natural log of the
product of our assignment, computed anew from the file, of the published one (FILE.MAP) and of the peer's; our upper
bound; and seconds of CPU. The repository lacks 17 files of the competition, which are stored elsewhere.

Of marginals (files with a FILE.MAR) a row has the largest difference from the published digits; what is refused, or
takes longer, is infinite.
"""  # noqa: E501  # commands to copy

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import Row, parser, versions, write

import bayesgraph as bg
from bayesgraph.files.uai import read_uai_evidence

HARD = 1e6  # the cost of an impossible state, for the peer


def score(graph: bg.FactorGraph, states: list[int]) -> float:
    """Return the log of the product of all factors for the states of all variables."""
    place = {v.name: i for i, v in enumerate(graph.variables)}
    with np.errstate(divide="ignore"):
        return float(
            sum(
                np.log(factor.values[tuple(states[place[v.name]] for v in factor.scope)])
                for factor in graph.factors
            )
        )


def published(path: Path) -> list[int]:
    """Return the states of the published solution."""
    numbers = [int(word) for word in path.with_name(path.name + ".MAP").read_text().split()[1:]]
    return numbers[-numbers[0] :] if len(numbers) > 1 else []


def ours(path: Path, seconds: float) -> tuple[float, float, float]:
    """Return the log of the product, its upper bound, and the seconds of CPU."""
    graph = bg.load(path)
    evidence = read_uai_evidence(path.with_name(path.name + ".evid"), graph)
    begin = time.process_time()
    best = graph.most_probable(evidence, max_seconds=seconds)
    used = time.process_time() - begin
    states = [v.index({**best, **evidence}[v.name]) for v in graph.variables]
    return score(graph, states), best.upper_bound, used


def theirs(path: Path, seconds: float) -> tuple[float, float, float]:
    """Return the same of toulbar2 with its default options."""
    import pytoulbar2

    graph = bg.load(path)
    evidence = read_uai_evidence(path.with_name(path.name + ".evid"), graph)
    problem = pytoulbar2.CFN(1e12, 6)
    for v in graph.variables:
        problem.AddVariable(str(v.name), [f"s{s}" for s in v.states])
        if v.name in evidence:
            row = np.full(v.cardinality, HARD)
            row[v.index(evidence[v.name])] = 0
            problem.AddFunction([str(v.name)], row.tolist())
    total = 0.0
    for factor in graph.factors:
        peak = factor.values.max()
        total += float(np.log(peak))
        with np.errstate(divide="ignore"):
            costs = np.minimum(np.log(peak) - np.log(factor.values), HARD)
        problem.AddFunction([str(v.name) for v in factor.scope], costs.ravel().tolist())
    problem.CFN.timer(int(seconds))
    begin = time.process_time()
    solution = problem.Solve()
    used = time.process_time() - begin
    states = list(solution[0]) if solution else []
    return (score(graph, states) if states else -np.inf), np.inf, used


def difference(path: Path, seconds: float) -> tuple[float, float, float]:
    """Return the largest difference from the published marginals, 0, and the seconds of CPU."""
    graph = bg.load(path)
    evidence = read_uai_evidence(path.with_name(path.name + ".evid"), graph)
    begin = time.process_time()
    try:
        marginals = graph.marginals(evidence)
    except bg.errors.MemoryLimitError:
        return np.inf, 0.0, time.process_time() - begin
    used = time.process_time() - begin
    words = path.with_name(path.name + ".MAR").read_text().split()
    numbers = np.array(words[words.index("MAR") + 1 :], dtype=float)
    largest, at = 0.0, 1 if numbers[0] == len(graph.variables) else 2
    for v in graph.variables:
        expected = numbers[at + 1 : at + 1 + v.cardinality]
        at += 1 + v.cardinality
        if v.name not in evidence:
            largest = max(largest, np.abs(marginals[v.name].probabilities - expected).max())
    return largest if used <= seconds else np.inf, 0.0, used


def _work(side: Any, path: Path, seconds: float, results: Any) -> None:
    results.put(side(path, seconds))


def measured(side: Any, path: Path, seconds: float) -> tuple[float, float, float]:
    """Return what a side finds, in a process of its own; minus infinity if it dies."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=_work, args=(side, path, seconds, results))
    process.start()
    try:
        answer: tuple[float, float, float] = results.get(timeout=10 * seconds + 60)
    except Exception:  # a process that died or hangs
        answer = -np.inf, np.inf, seconds
    process.kill()
    process.join()
    return answer


def rows_of_marginals(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield two rows for each file: the difference from the published digits, and the seconds."""
    counts = {"files": 0, "within 2e-6": 0}
    for path in sorted(arguments.folder.glob(f"{arguments.name}*.uai")):
        largest, _, used = measured(difference, path, arguments.seconds)
        counts["files"] += 1
        counts["within 2e-6"] += 0 <= largest <= 2e-6
        print(f"{path.stem:<20}{abs(largest):>12.1e} {used:>6.1f} s", flush=True)
        yield Row(path.stem, "difference", abs(largest), None, "published", None)
        yield Row(path.stem, "seconds", used, None, "published", None)
    print(counts)


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield two rows for each file: the logs of the products, and the seconds."""
    if next(arguments.folder.glob("*.MAR"), None) is not None:
        yield from rows_of_marginals(arguments)
        return
    counts = {"files": 0, "as published or above": 0, "proved": 0}
    for path in sorted(arguments.folder.glob(f"{arguments.name}*.uai")):
        value, bound, used = measured(ours, path, arguments.seconds)
        known = score(bg.load(path), published(path))
        peer, _, peer_used = -np.inf, np.inf, None
        if arguments.peer:
            peer, _, peer_used = measured(theirs, path, arguments.seconds)
        counts["files"] += 1
        counts["as published or above"] += value >= known - 1e-6 * abs(known)
        counts["proved"] += bound <= value + 1e-6 * abs(value)
        print(
            f"{path.stem:<20}{value:>14.5f} at most{bound:>14.5f} published{known:>14.5f} "
            f"toulbar2{peer:>14.5f} {used:>6.1f} s",
            flush=True,
        )
        yield Row(path.stem, "log product", value, peer, "pytoulbar2", None)
        yield Row(path.stem, "seconds", used, peer_used, "pytoulbar2", None)
    print(counts)


def main() -> None:
    command = parser(__doc__ or "")
    command.add_argument("folder", type=Path)
    command.add_argument("--seconds", type=float, default=60.0)
    command.add_argument("--name", default="", help="beginning of the names of files")
    command.add_argument("--peer", action="store_true", help="pip install pytoulbar2")
    arguments = command.parse_args()
    print(versions(["pytoulbar2"] if arguments.peer else []))
    write(list(rows(arguments)), arguments.json)


if __name__ == "__main__":
    main()
