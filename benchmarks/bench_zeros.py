"""Networks in which most joint states are impossible: pedigrees and adders too wide for tables.

python benchmarks/bench_zeros.py [--quick] [--json FILE] [--case NAME ...]

All posteriors and the probability of the evidence, cold: the network is new, kernels are compiled.
The evidence of a pedigree is most members' genotypes, that of an adder the sum of its numbers. Each
library answers in a process of its own under a limit of memory; its peak is a row too. Answers are
checked against closed forms: the recursion of Lander and Green for pedigrees of up to eight
children, a recursion over the bits for adders. "Again" is ours with other evidence.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from deterministic_networks import adder, chances_of, given_sum, log_probability, pedigree
from harness import Row, cell, parser, versions, write
from inference_sides import Call, Node, Ours, Peer, Problem, Question
from workers import Worker, WorkerError

# Founders, children, loci, alleles and seed; shares of the members with known genotypes.
PEDIGREES = {
    "pedigree, width 23": ((3, 8, 5, 2, 2), 0.8),
    "pedigree, width 27": ((4, 8, 6, 2, 0), 0.7),
    "pedigree, width 28": ((4, 9, 5, 2, 0), 0.7),
    "pedigree, width 30": ((4, 10, 5, 2, 0), 0.9),
    "pedigree, width 31": ((4, 10, 5, 2, 2), 0.8),
}
# Bits, numbers and circuits.
ADDERS = {
    "adder of 3 numbers, 8 circuits": (60, 3, 8),
    "adder of 4 numbers, 5 circuits": (60, 4, 5),
    "adder of 4 numbers, 6 circuits": (60, 4, 6),
}
QUICK = ["pedigree, width 23", "pedigree, width 27", "adder of 4 numbers, 5 circuits"]
MOST_CHILDREN = 8
TOLERANCE = 1e-9
MEMORY_LIMIT = 4e9
COLD = Question("cold", True)


@dataclass(frozen=True)
class Asked:
    """A network with evidence, and a function from our posteriors to their error.

    The function takes the log probability of the evidence and the posterior of each free node.
    """

    problem: Problem
    error: Callable[[float, dict[str, np.ndarray]], float] | None


class OursUnderLimit(Ours):
    """bayesgraph under a limit of memory; it gives the probability of the evidence too."""

    def prepare(self, question: Question, number: int) -> Call:
        """See Side; always cold."""
        evidence, net = self._evidence(number), self._new()
        return lambda: net.marginals(evidence, memory_limit=MEMORY_LIMIT)

    def answer(self, number: int) -> tuple[float, dict[str, np.ndarray]]:
        """Return the log probability of the evidence and the posterior of each free node."""
        found = self.prepare(COLD, number)()
        names = [self.problem.nodes[i].name for i in self.problem.free()]
        return found.log_evidence, {name: found[name].probabilities for name in names}

    def width(self) -> int:
        """Return the induced width."""
        return int(self._net.plan(question="marginals", evidence=list(self._evidence(0))).width)


def problem_of(name: str, nodes: tuple[Node, ...], observed: list[int], seed: int) -> Problem:
    """Return a network whose evidence is drawn from it, twice."""
    random = np.random.default_rng(seed)
    rows = np.empty((2, len(nodes)), dtype=np.intp)
    for row in rows:
        for i, node in enumerate(nodes):
            chances = node.table[tuple(row[p] for p in node.parents)]
            row[i] = random.choice(len(node.states), p=chances)
    return Problem(name, nodes, tuple(observed), rows[:, observed], (0,))


def pedigree_case(name: str) -> Asked:
    """Return a pedigree and the check of its evidence."""
    (founders, children, loci, alleles, seed), share = PEDIGREES[name]
    nodes = pedigree(founders, children, loci, alleles, seed)
    known = np.random.default_rng(seed).random(founders + children) < share
    observed = [
        i
        for i, node in enumerate(nodes)
        if node.name.startswith("g") and known[int(node.name[1:].split("_")[0])]
    ]
    problem = problem_of(name, nodes, observed, seed)
    genotypes = {nodes[i].name: nodes[i].states[k] for i, k in problem.codes(0).items()}
    if children > MOST_CHILDREN:
        return Asked(problem, None)
    return Asked(problem, lambda log, _: abs(log - log_probability(nodes, genotypes)))


def adder_case(name: str) -> Asked:
    """Return an adder and the check of its evidence and of the numbers' bits."""
    n_bits, numbers, circuits = ADDERS[name]
    nodes = adder(n_bits, numbers, circuits, 0)
    place = {node.name: i for i, node in enumerate(nodes)}
    observed = sorted(place[f"s0_{numbers - 1}_{bit}"] for bit in range(n_bits))
    problem = problem_of(name, nodes, observed, 0)
    codes = problem.codes(0)
    total = sum(codes[place[f"s0_{numbers - 1}_{bit}"]] << bit for bit in range(n_bits))
    expected = given_sum(chances_of(nodes, numbers, n_bits), total)

    def error(log: float, found: dict[str, np.ndarray]) -> float:
        ones = [[found[f"x{a}_{b}"][1] for b in range(n_bits)] for a in range(numbers)]
        off = float(np.abs(np.array(ones) - expected.ones).max())
        return max(off, abs(log - expected.log_probability))

    return Asked(problem, error)


def measured(name: str, asked: Asked, small: Problem, memory: float, seconds: float) -> list[Row]:
    """Ask both sides, print a line and return the rows."""
    limits = {"memory": int(memory * 2**30), "seconds": seconds}
    ours = Worker(OursUnderLimit, (asked.problem, small, 2), **limits)
    peer = Worker(Peer, (asked.problem, 2), **limits)
    why = ""
    times: dict[str, float | None] = {"ours": None, "again": None, "peer": None}
    peaks: dict[str, float | None] = {"ours": None, "peer": None}
    error = width = None
    try:
        times["ours"], _ = ours.ask("once", COLD, 0)
        times["again"], _ = ours.ask("once", COLD, 1)
        peaks["ours"] = ours.ask("peak")
        width = ours.ask("width")
        if asked.error is not None:
            error = asked.error(*ours.ask("answer", 0))
    except WorkerError as failure:
        why += f"; ours: {failure}"
    try:
        times["peer"], _ = peer.ask("once", COLD, 0)
        peaks["peer"] = peer.ask("peak")
    except WorkerError as failure:
        why += f"; peer: {failure}"
    for worker in (ours, peer):
        worker.close()
    checked = "-" if error is None else f"{error:.0e}"
    print(
        f"{name:<32}{len(asked.problem.nodes):>6}{width or '-':>7}"
        f"{cell(times['ours'], 9, 2)}{cell(times['again'], 9, 2)}{cell(times['peer'], 9, 2)}"
        f"{cell(peaks['ours'], 9, 0)}{checked:>8}{why}",
        flush=True,
    )
    library = f"pyagrum.LazyPropagation{why}"
    return [
        _row(name, "all posteriors", times["ours"], times["peer"], library),
        _row(name, "all posteriors, other evidence", times["again"], None, library),
        _row(name, "peak MB", peaks["ours"], peaks["peer"], library),
        Row(name, "error", error, None, "closed form", None),
    ]


def _row(case: str, metric: str, ours: float | None, peer: float | None, name: str) -> Row:
    return Row(case, metric, ours, peer, name, peer / ours if ours and peer else None)


def main() -> None:
    """Run all cases, or those named."""
    cases = {name: partial(pedigree_case, name) for name in PEDIGREES}
    cases |= {name: partial(adder_case, name) for name in ADDERS}
    command = parser(__doc__)
    command.add_argument("--case", nargs="+", choices=list(cases), metavar="NAME")
    command.add_argument("--seconds", type=float, default=120, help="a side and case (120)")
    command.add_argument("--memory", type=float, default=8, help="GiB of addresses a side (8)")
    options = command.parse_args()
    os.environ["NUMBA_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "2"
    print(versions(["pyagrum", "numpy", "numba"]))
    print(f"load average at the start: {os.getloadavg()[0]:.2f}; seconds\n")
    print(
        f"{'case':<32}{'nodes':>6}{'width':>7}{'ours':>9}{'again':>9}{'peer':>9}{'peak MB':>9}"
        f"{'error':>8}"
    )
    small = pedigree(2, 1, 1, 2, 0)
    warm = problem_of("small", small, [len(small) - 1], 0)
    rows: list[Row] = []
    for name in options.case or (QUICK if options.quick else cases):
        rows += measured(name, cases[name](), warm, options.memory, options.seconds)
        write(rows, options.json)
    wrong = [r.case for r in rows if r.metric == "error" and (r.ours or 0.0) > TOLERANCE]
    if wrong:
        raise SystemExit(f"Errors above {TOLERANCE:g}: {', '.join(wrong)}.")


if __name__ == "__main__":
    main()
