"""Exact inference beside pyAgrum's LazyPropagation, on the networks in pgmpy's wheel.

python benchmarks/bench_inference.py [--quick] [--json FILE] [--network NAME ...]

Cold: nothing is kept from earlier calls (a new network object with new tables; a new engine), but
kernels are compiled. Warm: the same object and engine again; the same variables are observed with
other values, drawn from the network. Without evidence there are no other values: both sides answer
a question with evidence in between, not timed. Each library has a process of its own for each
network, under limits of memory and time, and their turns alternate. Times are medians; three
processes of each side are measured, as the peer's times depend on the process.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import geometric_mean, median

import numpy as np
from harness import Row, cell, parser, versions, write
from inference_sides import Node, Ours, Peer, Problem, Question
from numpy.typing import NDArray
from workers import Worker, WorkerError

# fmt: off
NETWORKS = [
    "asia", "cancer", "earthquake", "survey", "sachs", "child", "insurance", "alarm", "hailfinder",
    "hepar2", "win95pts", "andes", "pathfinder", "pigs", "water", "mildew", "barley", "diabetes",
    "munin", "munin1", "munin2", "munin3", "munin4", "link",
]
# fmt: on
QUICK = ["asia", "child", "insurance", "alarm", "hailfinder", "win95pts", "pigs"]
ALL_POSTERIORS = [
    Question("cold", True),
    Question("warm", True),
    Question("cold", False),
    Question("warm", False),
]
# Of each of a few targets, in turn.
ONE_POSTERIOR = [("cold", False), ("cold", True), ("warm", True)]
# Measurements in a process; each is a block of calls, as many as fit into a few milliseconds.
REPEATS = 5
PROCESSES = 3
# Seconds from which a call of the peer is made once only.
SLOW = 8.0
TOLERANCE = 1e-9
PEER = "pyagrum.LazyPropagation"
WIDTHS = (10, 10, 8)


@dataclass
class Timing:
    """Both sides' seconds for one question, one a process, or the reason why there are none."""

    times: dict[str, list[float]] = field(default_factory=lambda: {"ours": [], "peer": []})
    missing: dict[str, str] = field(default_factory=dict)
    difference: float | None = None

    @property
    def seconds(self) -> dict[str, float]:
        """The medians."""
        return {side: median(times) for side, times in self.times.items() if times}

    def fail(self, side: str, reason: str) -> None:
        """Note a reason, unless it is only that the time ran out at a further process."""
        if not (self.times[side] and reason.startswith("over")):
            self.missing[side] = reason

    def compare(self, answers: list[NDArray[np.float64]]) -> None:
        """Note the largest difference, if both sides answered."""
        if len(answers) == 2:
            difference = float(np.abs(answers[0] - answers[1]).max())
            self.difference = max(difference, self.difference or 0.0)

    @property
    def ratio(self) -> float | None:
        """The peer's time divided by ours."""
        seconds = self.seconds
        return seconds["peer"] / seconds["ours"] if len(seconds) == 2 else None

    def row(self, case: str, metric: str) -> Row:
        """Return it as a row of the harness."""
        why = "".join(f"; {side}: {reason}" for side, reason in self.missing.items())
        ours, peer = self.seconds.get("ours"), self.seconds.get("peer")
        return Row(case, metric, ours, peer, PEER + why, self.ratio)


@dataclass
class Result:
    """All that was measured on one network."""

    problem: Problem
    timings: dict[Question, Timing] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)

    @property
    def difference(self) -> float | None:
        """The largest difference between two posteriors."""
        timings = self.timings.values()
        return max((t.difference for t in timings if t.difference is not None), default=None)

    def single(self, metric: str, observed: bool) -> list[Timing]:
        """Return the timings of single targets."""
        return [
            timing
            for q, timing in self.timings.items()
            if q.target is not None and (q.metric, q.observed) == (metric, observed)
        ]


# ------------------------------------------------------------------------------ what is asked


def problem(name: str, n_targets: int) -> Problem:
    """Read a network and draw its evidence: on a tenth of the nodes, one at least."""
    import bayesgraph as bg

    net = bg.load(Path(find_spec("pgmpy").origin).parent / f"utils/example_models/{name}.bif.gz")
    place = {variable.name: i for i, variable in enumerate(net.variables)}
    nodes = tuple(
        Node(
            cpd.variable.name,
            cpd.variable.states,
            tuple(place[parent.name] for parent in cpd.parents),
            # Files round; without this the two sides would differ where a node is summed out.
            cpd.values / cpd.values.sum(axis=-1, keepdims=True),
        )
        for cpd in net.cpds
    )
    random = np.random.default_rng(0)
    drawn = codes(nodes, net.sample(256, random_state=1))
    observed, samples = evidence(drawn, random)
    free = np.setdiff1d(np.arange(len(nodes)), observed)
    targets = random.permutation(free)[:n_targets].tolist()
    return Problem(name, nodes, observed, samples, tuple(targets))


def codes(nodes: tuple[Node, ...], columns: dict[object, NDArray]) -> NDArray[np.intp]:
    """Return a sample as the positions of states, one column a node."""
    coded = []
    for node in nodes:
        place = {state: code for code, state in enumerate(node.states)}
        coded.append([place[state] for state in columns[node.name].tolist()])
    return np.array(coded, dtype=np.intp).T


def evidence(
    drawn: NDArray[np.intp], random: np.random.Generator
) -> tuple[tuple[int, ...], NDArray[np.intp]]:
    """Return a tenth of the nodes and their different values; at least two rows differ."""
    n = drawn.shape[1]
    while True:
        observed = np.sort(random.permutation(n)[: max(1, round(n / 10))])
        _, first = np.unique(drawn[:, observed], axis=0, return_index=True)
        if len(first) > 1:
            rows = np.sort(first)[:64]
            return tuple(observed.tolist()), drawn[np.ix_(rows, observed)]


# -------------------------------------------------------------------------- how it is measured


class Match:
    """Both sides at one network.

    Parameters
    ----------
    asked, small : Problem
        `small` is what our side warms up with.
    options : Namespace
        The command line's.
    """

    def __init__(self, asked: Problem, small: Problem, options: argparse.Namespace) -> None:
        limits = {"memory": int(options.memory * 2**30), "seconds": options.seconds}
        made = {
            "ours": (Ours, (asked, small, options.threads)),
            "peer": (Peer, (asked, options.threads)),
        }
        self._workers = {
            side: Worker(factory, args, **limits)
            for side, (factory, args) in made.items()
            if options.only in (None, side)
        }
        self._quick = options.quick
        self.result = Result(asked)

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers.values():
            worker.close()

    def run(self) -> Result:
        """Ask everything, in some processes one after the other.

        The peer's time for the same question commonly differs by a factor of two between processes
        (barley), and was seen to differ by more: one alone may flatter us.
        """
        all_budget, one_budget = (0.02, 0.01) if self._quick else (0.05, 0.02)
        ones = [
            Question(metric, observed, target)
            for target in self.result.problem.targets
            for metric, observed in ONE_POSTERIOR
        ]
        # Without evidence comes last: it takes longest and may use up a limit.
        for _ in range(1 if self._quick else PROCESSES):
            for question in [*ALL_POSTERIORS[:2], *ones, *ALL_POSTERIORS[2:]]:
                self._ask(question, all_budget if question.target is None else one_budget)
            self._note_peaks()
            self.close()
        return self.result

    def _ask(self, question: Question, budget: float) -> None:
        timing = self.result.timings.setdefault(question, Timing())
        sides = [side for side in self._workers if max(timing.times[side], default=0) < SLOW]
        first = {}
        for side in sides:
            try:
                first[side] = self._once(question, side)
            except WorkerError as error:
                timing.fail(side, str(error))
        timing.compare([answer for _, answer in first.values()])
        times: dict[str, list[float]] = {side: [] for side in first}
        for _ in range(REPEATS):
            for side, (seconds, _) in first.items():
                if side not in timing.missing and (side == "ours" or seconds < SLOW):
                    self._block(question, budget, side, times[side])
        for side in first:
            timing.times[side].append(median(times[side] or [first[side][0]]))

    def _once(self, question: Question, side: str) -> tuple[float, NDArray[np.float64]]:
        """Return the first call's seconds, by which kernels may still be compiled, and numbers."""
        cold = self.result.timings.get(Question("cold", question.observed, question.target))
        if question.metric == "warm" and cold and side in cold.missing:
            raise WorkerError(cold.missing[side])
        worker = self._workers[side]
        return worker.ask("once", question, 1 if question.metric == "warm" else 0)

    def _block(self, question: Question, budget: float, side: str, times: list[float]) -> None:
        try:
            times.append(self._workers[side].ask("block", question, budget))
        except WorkerError as error:
            self.result.timings[question].fail(side, str(error))

    def _note_peaks(self) -> None:
        for side, worker in self._workers.items():
            if worker.alive:
                with suppress(WorkerError):
                    peak = worker.ask("peak")
                    self.result.peaks[side] = max(peak, self.result.peaks.get(side, 0.0))

    def batch(self, rows: NDArray[np.intp], target: int, n_peer: int) -> Timing:
        """Time a table of evidence, of which the peer answers the first rows only."""
        timing = Timing()
        answers = {}
        for number in range(REPEATS + 1):
            for side, worker in self._workers.items():
                if side in timing.missing:
                    continue
                part = rows if side == "ours" else rows[:n_peer]
                try:
                    seconds, answers[side] = worker.ask("batch", part, target)
                except WorkerError as error:
                    timing.fail(side, str(error))
                    continue
                if number > 0:  # the first is the warm-up
                    timing.times[side].append(seconds / len(part) * len(rows))
        timing.compare([answer[:n_peer] for answer in answers.values()])
        return timing


def batch_rows(asked: Problem, n_rows: int, target: int) -> NDArray[np.intp]:
    """Draw rows of the network and hide all but 30 % of the nodes of each, the target always."""
    import bayesgraph as bg

    variables = [bg.Discrete(node.name, node.states) for node in asked.nodes]
    net = bg.BayesianNetwork(
        bg.TableCPD(variable, node.table, parents=[variables[p] for p in node.parents])
        for variable, node in zip(variables, asked.nodes, strict=True)
    )
    rows = codes(asked.nodes, net.sample(n_rows, random_state=2))
    order = np.argsort(np.random.default_rng(3).random(rows.shape), axis=1)
    rows[order >= round(0.3 * rows.shape[1])] = -1
    rows[:, target] = -1
    return rows


# ------------------------------------------------------------------------------ what is printed


def rows_of(result: Result) -> Iterator[Row]:
    """Return what one network gives to the JSON file."""
    name = result.problem.name
    for question, timing in result.timings.items():
        asked = "all posteriors"
        if question.target is not None:
            asked = f"target {result.problem.nodes[question.target].name}"
        case = f"{name}, {_evidence_name(question.observed)}, {asked}"
        yield timing.row(case, question.metric)
    yield Row(name, "largest difference", result.difference, None, PEER, None)
    ours, peer = result.peaks.get("ours"), result.peaks.get("peer")
    yield Row(name, "peak MB", ours, peer, PEER, peer / ours if ours and peer else None)


def print_head(options: argparse.Namespace) -> None:
    """Print what was measured, and the table's head."""
    print(versions(["pyagrum", "pgmpy", "numpy", "numba"]))
    print(
        f"all posteriors, {options.threads} threads each side, {options.memory:g} GiB and "
        f"{options.seconds:g} s a side and network; milliseconds; ratio = peer / ours"
    )
    # Other work slows the peer's threads more than a single one: look at this before the ratios.
    print(f"load average at the start: {os.getloadavg()[0]:.2f}\n")
    titles = "".join(
        f"{f'{metric} ours':>{a}}{'peer':>{b}}{'ratio':>{c}}"
        for metric in ("cold", "warm")
        for a, b, c in [WIDTHS]
    )
    print(f"{'network':<12}{'nodes':>6}{'evidence':>10}{titles}{'difference':>12}{'peak MB':>9}")


def print_result(result: Result) -> None:
    """Print a network's two lines."""
    for observed in (False, True):
        both = [result.timings[Question(metric, observed)] for metric in ("cold", "warm")]
        line = f"{result.problem.name:<12}{len(result.problem.nodes):>6}"
        line += f"{_evidence_name(observed).split(' evi')[0]:>10}"
        line += "".join(_times(timing) for timing in both)
        known = [t.difference for t in both if t.difference is not None]
        line += f"{max(known):>12.0e}" if known else f"{'-':>12}"
        line += cell(result.peaks.get("ours"), 9, 0)
        reasons = {f"{side}: {why}" for t in both for side, why in t.missing.items()}
        if any(d > TOLERANCE for d in known):
            reasons.add("THE SIDES DIFFER")
        print(line, *sorted(reasons), sep="  ", flush=True)


def _times(timing: Timing) -> str:
    ours, peer = (
        None if (seconds := timing.seconds.get(side)) is None else 1e3 * seconds
        for side in ("ours", "peer")
    )
    a, b, c = WIDTHS
    return f"{cell(ours, a, 3)}{cell(peer, b, 3)}{cell(timing.ratio, c, 1)}"


def _evidence_name(observed: bool) -> str:
    return "10 % evidence" if observed else "no evidence"


def summary(results: list[Result]) -> Iterator[Row]:
    """Print and return the means over what both sides finished."""
    print()
    for metric in ("cold", "warm"):
        for patterns in ((False,), (True,), (False, True)):
            name = " and ".join(_evidence_name(observed) for observed in patterns)
            done = [
                (timing, result.problem.name)
                for result in results
                for observed in patterns
                if (timing := result.timings[Question(metric, observed)]).ratio
            ]
            if done:
                yield _mean(f"all posteriors, {name}", metric, done)
    for metric, observed in ONE_POSTERIOR:
        timings = [t for result in results for t in result.single(metric, observed) if t.ratio]
        if timings:
            yield _median(f"single target, {_evidence_name(observed)}", metric, timings)


def _mean(case: str, metric: str, done: list[tuple[Timing, str]]) -> Row:
    ours, peer = (geometric_mean(t.seconds[side] for t, _ in done) for side in ("ours", "peer"))
    least, name = min((t.ratio, name) for t, name in done)
    print(
        f"{case}, {metric}: geometric mean of {len(done)} ratios {peer / ours:.1f}, "
        f"smallest {least:.1f} ({name})"
    )
    return Row(f"geometric mean, {case}", metric, ours, peer, PEER, peer / ours)


def _median(case: str, metric: str, timings: list[Timing]) -> Row:
    ours, peer = (median(t.seconds[side] for t in timings) for side in ("ours", "peer"))
    ratio = median(t.ratio for t in timings)
    faster = sum(t.ratio > 1 for t in timings) / len(timings)
    print(
        f"{case}, {metric}: median of {len(timings)} ratios {ratio:.1f}, "
        f"we are faster in {faster:.0%}; medians {1e3 * ours:.3f} ms, peer {1e3 * peer:.3f} ms"
    )
    return Row(f"median, {case}", metric, ours, peer, PEER, ratio)


def batch(asked: Problem, small: Problem, options: argparse.Namespace) -> Row:
    """Ask one target for a table of evidence, and print the line."""
    n_rows, n_peer = (2_000, 100) if options.quick else (10_000, 500)
    target = asked.targets[0]
    match = Match(asked, small, options)
    try:
        timing = match.batch(batch_rows(asked, n_rows, target), target, n_peer)
    finally:
        match.close()
    case = f"{asked.name}, {n_rows:,} rows, 30 % observed, target {asked.nodes[target].name}"
    print(f"\n{case}; the peer's loop measured on {n_peer} rows; milliseconds:")
    notes = [f"{side}: {why}" for side, why in timing.missing.items()]
    if timing.difference is not None:
        notes.append(f"difference {timing.difference:.0e}")
    print(_times(timing), *notes, sep="  ")
    return timing.row(case, "batch")


def main() -> None:
    """Run all networks, or those named."""
    command = parser(__doc__)
    command.add_argument("--network", nargs="+", choices=NETWORKS, metavar="NAME")
    command.add_argument("--threads", type=int, default=2, help="of either side (2)")
    command.add_argument("--seconds", type=float, default=120, help="a side and network (120)")
    command.add_argument("--memory", type=float, default=8, help="GiB a side (8)")
    command.add_argument("--only", choices=["ours", "peer"], help="measure one side alone")
    options = command.parse_args()
    os.environ["NUMBA_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(options.threads)
    n_targets = 3 if options.quick else 5
    small = problem("asia", n_targets)
    results, rows = [], []
    print_head(options)
    for name in options.network or (QUICK if options.quick else NETWORKS):
        match = Match(problem(name, n_targets), small, options)
        try:
            results.append(match.run())
        finally:
            match.close()
        print_result(results[-1])
        rows += rows_of(results[-1])
        write(rows, options.json)
    rows += summary(results)
    if not options.network or "alarm" in options.network:
        rows.append(batch(problem("alarm", 1), small, options))
    write(rows, options.json)
    wrong = [r.problem.name for r in results if (r.difference or 0) > TOLERANCE]
    if wrong:
        raise SystemExit(f"Posteriors differ by more than {TOLERANCE:g}: {', '.join(wrong)}.")


if __name__ == "__main__":
    main()
