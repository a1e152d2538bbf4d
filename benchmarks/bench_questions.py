"""Questions beyond posteriors, beside the posterior of the same network.

python benchmarks/bench_questions.py [--quick] [--json FILE]

"do" is a warm query with one variable set by ``do=``, of which the peer is the same query with this
variable observed: a ratio of 0.83 is a fifth more time. States and evidence change from call to
call, and the best of alternating rounds counts, in CPU seconds. "First query" includes cutting the
network and preparing the query.

"ask" is the information of all variables about a target, which takes a propagation for each state
of the target; the peer is one propagation, the marginals given the same evidence: a ratio of 0.1 is
ten propagations.

"noisy or" is a warm query about one of its independent parents, given the child and another parent;
the peer has a noisy or too, whose time doubles with each parent.

"Leaf, query" is the posterior of a count, a mixture; the peer is the posterior of its parent
alone.

"flip" is the cheapest change of twelve findings of a naive Bayes that makes the other class
probable, found by bounds of sums of log odds; the peer asks for all changes in the order of their
cost, as for models whose log odds do not add up. "diff" compares two networks of one graph, of
which the peer is one propagation for all marginals.

"Terms of rows" are the contributions of 30 findings to the log odds of 200 rows, of which the peer
is a call of ``contributions`` for each row.

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

import numpy as np
import pgmpy
import pyagrum
from harness import Row, options, report
from sklearn.datasets import load_breast_cancer

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


# Network, target and evidence; the targets have two and four states.
ASKED = [
    ("asia", "lung", "dysp"),
    ("alarm", "HYPOVOLEMIA", "BP"),
    ("alarm", "VENTALV", "BP"),
    ("hailfinder", "R5Fcst", "Scenario"),
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


def asked(network: str, target: str, evidence: str, rounds: int, n: int) -> Row:
    """Return the row of the information of all variables about a target, beside one propagation."""
    net = load(network)
    given = [({evidence: state}, {}) for state in net.variable(evidence).states]
    sides = (lambda e, _: net.ask.next_question(target, e), lambda e, _: net.marginals(e))
    times: tuple[list[float], list[float]] = [], []
    for side in sides:
        seconds(side, given, 3)
    for _ in range(rounds):
        for side, taken in zip(sides, times, strict=True):
            taken.append(seconds(side, given, n))
    ours, peer = map(min, times)
    return Row(network, f"ask about {target}", ours, peer, "one propagation", peer / ours)


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


def noisy_or(n: int, rounds: int, peer: bool) -> Row:
    """Return the row of a warm query of a noisy or with n parents; the peer answers up to 16."""
    strength = np.linspace(0.1, 0.9, n).tolist()
    parents = [bg.Discrete(f"p{i}", ["no", "yes"]) for i in range(n)]
    cpd = bg.NoisyOrCPD(bg.Discrete("y", ["no", "yes"]), strength, parents, leak=0.01)
    net = bg.BayesianNetwork([*(bg.TableCPD(p, [0.9, 0.1]) for p in parents), cpd])
    evidence = [{"y": y, "p0": p} for y in ("yes", "no") for p in ("yes", "no")]

    def ours(e: dict[str, Any], _: object) -> object:
        return net.query("p3", e)

    asked = [(e, {}) for e in evidence]
    seconds(ours, asked, 3)
    best = min(seconds(ours, asked, 50) for _ in range(rounds))
    if not peer:
        reason = "pyagrum.LazyPropagation takes minutes"
        return Row(f"noisy or of {n}", "query", best, None, reason, None)
    engine = pyagrum.LazyPropagation(theirs(strength))

    def their_query(e: dict[str, Any], _: object) -> Any:
        engine.setEvidence(e)
        engine.makeInference()
        return engine.posterior("p3")

    found = [their_query(e, {})[1] for e in evidence]
    np.testing.assert_allclose(found, [net.query("p3", e)["yes"] for e in evidence], atol=1e-6)
    other = min(seconds(their_query, asked, 1) for _ in range(3))
    return Row(f"noisy or of {n}", "query", best, other, "pyagrum.LazyPropagation", other / best)


def theirs(strength: list[float]) -> Any:
    """Return the network of `noisy_or` in pyAgrum; the leak is not part of its weights."""
    net = pyagrum.BayesNet()
    states = ["no", "yes"]
    for i in range(len(strength)):
        net.add(pyagrum.LabelizedVariable(f"p{i}", "", states))
    net.addNoisyORNet(pyagrum.LabelizedVariable("y", "", states), 0.01)
    for i, p in enumerate(strength):
        net.addWeightedArc(f"p{i}", "y", p)
        net.cpt(f"p{i}").fillWith([0.9, 0.1])
    return net


def leaf(rounds: int, n: int) -> Row:
    """Return the row of the posterior of a count, of which the peer is that of its parent."""
    kind = bg.Discrete("kind", range(10))
    seen = bg.GaussianCPD(bg.Continuous("seen"), range(10), 1.0, [kind])
    calls = bg.PoissonCPD(bg.Count("calls"), range(1, 11), [kind])
    net = bg.BayesianNetwork([bg.TableCPD(kind, [0.1] * 10), seen, calls])
    asked = [({"seen": x / 4}, {}) for x in range(40)]
    sides = (lambda e, _: net.query("calls", e), lambda e, _: net.query("kind", e))
    times: tuple[list[float], list[float]] = [], []
    for _ in range(rounds):
        for side, taken in zip(sides, times, strict=True):
            taken.append(seconds(side, asked, n))
    ours, peer = map(min, times)
    return Row("10 classes", "leaf, query", ours, peer, "the posterior of its parent", peer / ours)


def naive_bayes(n: int) -> tuple[bg.BayesianNetwork, dict[str, int], dict[str, float]]:
    """Return a naive Bayes of n features with four states, findings and their costs."""
    random = np.random.default_rng(1)
    c, features = bg.Discrete("c", range(2)), [bg.Discrete(f"x{i}", range(4)) for i in range(n)]
    tables = [random.dirichlet(np.ones(4) * 4, size=2) for _ in features]
    cpds = [bg.TableCPD(v, t, [c]) for v, t in zip(features, tables, strict=True)]
    net = bg.BayesianNetwork([bg.TableCPD(c, [0.5, 0.5]), *cpds])
    evidence = {v.name: int(np.argmax(t[0])) for v, t in zip(features, tables, strict=True)}
    return net, evidence, {v.name: float(random.uniform(0.5, 1.5)) for v in features}


def flips(rounds: int) -> Row:
    """Return the row of flips of a naive Bayes, by bounds and in the order of cost in turn."""
    net, evidence, costs = naive_bayes(12)
    sides = (net, bg.Ensemble([net]))
    options = {"to": 1, "at_least": 0.8, "costs": costs, "effort": 200_000}
    found = [side.ask.flip("c", evidence, **options) for side in sides]
    assert all(one.proved for one in found)
    assert abs(found[0].cost - found[1].cost) < 1e-9
    return in_turn(
        ("naive Bayes", "flip, 12 findings", "all changes in the order of cost"),
        [lambda side=side: side.ask.flip("c", evidence, **options) for side in sides],
        rounds,
    )


def terms_of_rows(missing: float, rounds: int) -> Row:
    """Return the row of the contributions of a table, together and row by row in turn."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    clf = bg.TANClassifier(discretizer="mdlp").fit(X, y)
    seen = np.random.default_rng(0).random(X.shape) >= missing
    asked = X.where(seen).iloc[:200]
    singles = [asked.iloc[[i]] for i in range(len(asked))]

    def together() -> bg.questions.RowContributions:
        return clf.ask.contributions_rows(asked)

    def one_by_one() -> list[bg.questions.Contributions]:
        return [clf.contributions(evidence=row) for row in singles]

    totals = [one.total for one in one_by_one()]
    np.testing.assert_allclose(together().total, totals, rtol=1e-9, atol=1e-9)
    what = f"terms of rows, {missing:.0%} missing"
    return in_turn(("TAN", what, "row by row"), [together, one_by_one], min(rounds, 3))


def differences(rounds: int) -> Row:
    """Return the row of the difference between two networks of one graph."""
    net = load("alarm")
    random = np.random.default_rng(1)
    cpds = [
        bg.TableCPD(c.variable, random.dirichlet(np.ones(c.values.shape[-1]), c.values.shape[:-1]),
                    c.parents)
        for c in net.cpds
    ]  # fmt: skip
    other = bg.BayesianNetwork(cpds)
    title = "alarm", "diff", "all marginals"
    return in_turn(title, [lambda: bg.diff(net, other), lambda: net.marginals()["CO"]], rounds)


def in_turn(title: tuple[str, str, str], sides: list[Callable[[], object]], rounds: int) -> Row:
    """Return the row of two calls in turn: the best of some rounds, in CPU seconds."""
    times: tuple[list[float], list[float]] = [], []
    for side in sides:
        side()
    for _ in range(rounds):
        for side, taken in zip(sides, times, strict=True):
            start = process_time()
            side()
            taken.append(process_time() - start)
    ours, peer = map(min, times)
    return Row(title[0], title[1], ours, peer, title[2], peer / ours)


def intervals(network: str, rounds: int) -> list[Row]:
    """Return the rows of credible intervals of all posteriors."""
    known = load(network)
    rows = known.sample(1000, random_state=0, frame="dict")
    net = bg.BayesianNetwork.fit(known.graph, rows, variables=known.variables)
    n = 1000
    sides: dict[str, Callable[[], object]] = {
        "warm": lambda: [net.marginals() for _ in range(2 * n)],
        "draws": lambda: net.ask.credible_intervals(draws=n),
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
        for name in ("draws",)
    ]  # fmt: skip


def main() -> None:
    """Run all cases."""
    chosen = options(__doc__)
    rounds, n = (7, 20) if chosen.quick else (15, 200)
    rows = []
    for case in CASES:
        rows += [alternated(case, metric, rounds, n) for metric in ("do, query", "do, marginals")]
        rows.append(first(case, rounds))
    rows += [asked(*case, rounds, n) for case in ASKED]
    rows += [noisy_or(n, rounds, peer) for n, peer in ((10, True), (16, True), (25, False))]
    rows.append(leaf(rounds, n))
    rows += [flips(rounds), differences(rounds)]
    rows += [terms_of_rows(missing, rounds) for missing in (0.0, 0.1)]
    for network in ("asia", "alarm", "hailfinder"):
        rows += intervals(network, rounds)
    report(rows, chosen.json, ["pyagrum", "numpy", "numba"])


if __name__ == "__main__":
    main()
