"""Naive Bayes for streams: the study of 2014, real and drifting streams, throughput and memory.

python benchmarks/bench_stream.py [--quick] [--json FILE] [--case TEXT] [--sets a,b] [--concepts N]
    [--rows N,N] [--test N] [--online]

The cases:

summaries   Accuracy of unweighted naive Bayes by summary, on the six generated sets.
study       Naive Bayes and selective naive Bayes offline (all data in memory, intervals by MODL),
            naive Bayes and weighted naive Bayes in one pass, scikit-learn's in one pass, and the
            best that is possible. Offline is left out where the table has more than 80 million
            numbers.
peers       The same streams beside river's too, at 20,000 rows.
streams     Prequential accuracy on what river ships without a download, and on generated drift;
            20,000 rows at most, one by one (scikit-learn's twenty by twenty).
throughput  Test-then-train at 500 features, by batches of 1,000 and one by one, in seconds for
            1,000 rows and in rows a second. Models take turns, batch by batch. The column "aim" has
            the least ratio that is aimed at.
memory      Megabytes of a model after few and after many rows.
clipping    What exponents that may not be negative cost, on alpha.

Accuracies are in percent, on 100,000 test rows of the same concept, and means over the concepts 0
to N - 1: one by default, five for clipping. --rows are the sizes of the training sets; the largest
is the number of rows of the other cases, 20,000 at most where river takes part. Rows are generated
and learned in blocks, offline models aside: the largest table would have 6 GB. `--online` leaves
those out, and `--test` takes another number of test rows. `--quick` takes
alpha and gamma, one concept and 1,000 test rows.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from harness import Row, cell, parser, versions, write
from large_scale import LARGE_SCALE, GaussianConcept, large_scale_concept
from stream_costs import aim, memory, throughput
from stream_data import RIVER_ROWS, STREAMS, note, rows_in_blocks, stream, test_blocks, training
from stream_models import DOMAINS, OFFLINE, RIVER, SKLEARN, STREAMING, SUMMARIES, Maker

_OFFLINE_NUMBERS = 80_000_000
_OPTIMUM = "best possible"


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes
    ----------
    sets : tuple of str
    sizes : tuple of int
        Training rows, ascending.
    n_test : int
    concepts : int, optional
        None for one, or five where only one set is looked at.
    n_stream : int
        Rows of a stream.
    n_timed, n_single : int
        Rows that are timed in batches, and one by one. Short runs would time the beginning of a
        stream, when densities are estimated often.
    offline : bool
        Whether the study has models that hold all data.
    """

    sets: tuple[str, ...] = LARGE_SCALE
    sizes: tuple[int, ...] = (40_000, 100_000, 380_000)
    n_test: int = 100_000
    concepts: int | None = None
    n_stream: int = RIVER_ROWS
    n_timed: int = RIVER_ROWS
    n_single: int = 5000
    offline: bool = True


QUICK = Plan(("alpha", "gamma"), (400, 1000, 2000), 1000, 1, n_stream=300, n_single=2000)


# ------------------------------------------------------------------------------------ accuracies


def accuracies(
    name: str, number: int, sizes: Sequence[int], n_test: int, makers: dict[str, Maker]
) -> Iterator[tuple[int, str, float]]:
    """Yield (size, model, accuracy) of models that learn side by side from one pass."""
    concept = large_scale_concept(name, number)
    learners = {label: make([0, 1]) for label, make in makers.items()}
    random, seen = training(number), 0
    for size in sizes:
        for X, y in rows_in_blocks(concept, size - seen, random):
            for learner in learners.values():
                learner.learn(X, y)
        seen = size
        note(f"  {name} {number}: {size:,} rows learned")
        right = {label: learner.predict for label, learner in learners.items()}
        for label, share in shares_right(concept, number, n_test, right).items():
            yield size, label, share


def shares_right(
    concept: GaussianConcept,
    number: int,
    n_test: int,
    predictors: dict[str, Callable[[np.ndarray], np.ndarray]],
) -> dict[str, float]:
    """Return the accuracy of each model on the test rows of a concept."""
    right = dict.fromkeys(predictors, 0)
    for X, y in test_blocks(concept, number, n_test):
        for label, predict in predictors.items():
            right[label] += int(np.sum(predict(X) == y))
    return {label: count / n_test for label, count in right.items()}


def offline(name: str, number: int, plan: Plan) -> Iterator[tuple[int, str, float]]:
    """Yield (size, model, accuracy) of the best possible, and of models that hold all data."""
    concept = large_scale_concept(name, number)
    best = {_OPTIMUM: lambda X: concept.log_odds(X) > 0}
    optimum = shares_right(concept, number, plan.n_test, best)[_OPTIMUM]
    for size in plan.sizes:
        yield size, _OPTIMUM, optimum
        if not plan.offline or size * len(concept.shift) > _OFFLINE_NUMBERS:
            continue
        X, y = concept.draw(size, training(number))
        predict = {}
        for label, make in OFFLINE.items():
            predict[label] = make().fit(X, y).predict
            note(f"  {name} {number}: {label} of {size:,} rows")
        del X, y
        for label, share in shares_right(concept, number, plan.n_test, predict).items():
            yield size, label, share


def table(
    case: str, plan: Plan, found: Callable[[str, int], Iterable[tuple[int, str, float]]]
) -> Iterator[Row]:
    """Yield accuracies by set and size, each the mean over concepts."""
    for name in plan.sets:
        sums: dict[tuple[int, str], list[float]] = {}
        for number in range(plan.concepts or 1):
            for size, label, share in found(name, number):
                sums.setdefault((size, label), []).append(share)
        for (size, label), shares in sums.items():
            yield accuracy(f"{case}: {name} {size:,}", label, float(np.mean(shares)))


def accuracy(case: str, label: str, share: float) -> Row:
    """Return one accuracy in percent, under ours or under the peer's."""
    theirs = label in SKLEARN or label in RIVER
    value = 100 * share
    return Row(case, "accuracy", None if theirs else value, value if theirs else None, label, None)


def summaries(plan: Plan) -> Iterator[Row]:
    """Yield accuracies of unweighted naive Bayes by summary."""
    yield from table(
        "summaries",
        plan,
        lambda name, number: accuracies(name, number, plan.sizes, plan.n_test, SUMMARIES),
    )


def study(plan: Plan) -> Iterator[Row]:
    """Yield accuracies of models that hold all data and of those that pass over it once."""

    def found(name: str, number: int) -> Iterator[tuple[int, str, float]]:
        yield from offline(name, number, plan)
        yield from accuracies(name, number, plan.sizes, plan.n_test, STREAMING | SKLEARN)

    yield from table("study", plan, found)


def peers(plan: Plan) -> Iterator[Row]:
    """Yield accuracies beside river's."""
    sizes, n_test = [min(plan.sizes[-1], RIVER_ROWS)], min(plan.n_test, RIVER_ROWS)
    makers = STREAMING | SKLEARN | RIVER
    yield from table(
        "peers", plan, lambda name, number: accuracies(name, number, sizes, n_test, makers)
    )


def clipping(plan: Plan) -> Iterator[Row]:
    """Yield accuracies with exponents of any sign, and with such that are not negative."""
    makers = {"NB stream": STREAMING["NB stream"]} | DOMAINS
    five = replace(plan, sets=("alpha",), concepts=plan.concepts or 5)
    yield from table(
        "clipping",
        five,
        lambda name, number: accuracies(name, number, five.sizes, five.n_test, makers),
    )


def streams(plan: Plan) -> Iterator[Row]:
    """Yield prequential accuracies, each row predicted before it is learned."""
    for name in STREAMS:
        rows = stream(name, min(plan.sizes[-1], plan.n_stream))
        if rows is None:
            note(f"  {name} is left out: river would have to download it")
            continue
        yield from prequential(name, *rows)


def prequential(name: str, X: np.ndarray, y: np.ndarray) -> Iterator[Row]:
    """Yield the prequential accuracy of every model on one stream."""
    case = f"streams: {name} {len(y):,} x {X.shape[1]}"
    classes = range(int(y.max()) + 1)
    for label, make in (STREAMING | SKLEARN | RIVER).items():
        found = make(classes).prequential(X, y)
        yield accuracy(case, label, float(np.mean(found == y)))
    note(f"  {name}")


CASES: dict[str, Callable[[Plan], Iterator[Row]]] = {
    "summaries": summaries,
    "study": study,
    "peers": peers,
    "streams": streams,
    "throughput": lambda plan: throughput(plan.n_timed, plan.n_single),
    "memory": lambda plan: memory(plan.sizes),
    "clipping": clipping,
}


# ---------------------------------------------------------------------------------------- report


def show(rows: Sequence[Row]) -> None:
    """Print a case: a line for each of its parts, a column for each model; or pairs with rates."""
    if rows[0].metric == "s/1000":
        heads = f"{'ours /s':>9}{'peer /s':>9}{'ratio':>8}{'aim':>7}"
        print(f"\n{'case':<74}{heads}  peer")
        for r in rows:
            rates = f"{1000 / r.ours:>9,.0f}{1000 / r.peer:>9,.0f}{r.ratio:>8.2f}"
            print(f"{r.case:<74}{rates}{cell(aim(r), 7, 2)}  {r.peer_name}")
        return
    columns = list(dict.fromkeys(r.peer_name for r in rows))
    widths = [max(len(column), 7) + 2 for column in columns]
    print(f"\n{'case':<52}" + "".join(f"{c:>{w}}" for c, w in zip(columns, widths, strict=True)))
    for case in dict.fromkeys(r.case for r in rows):
        found = {r.peer_name: r.ours if r.peer is None else r.peer for r in rows if r.case == case}
        cells = (
            f"{found[c]:>{w}.2f}" if c in found else f"{'-':>{w}}"
            for c, w in zip(columns, widths, strict=True)
        )
        print(f"{case:<52}" + "".join(cells))


def chosen_plan(chosen: argparse.Namespace) -> Plan:
    """Return the plan that the command line asks for."""
    plan = QUICK if chosen.quick else Plan()
    sets = tuple(chosen.sets.split(",")) if chosen.sets else plan.sets
    for name in sets:
        if name not in LARGE_SCALE:
            raise SystemExit(f"There is no set {name!r}; they are {', '.join(LARGE_SCALE)}.")
    sizes = plan.sizes
    if chosen.rows:
        sizes = tuple(sorted(int(size) for size in chosen.rows.split(",")))
    return replace(
        plan,
        sets=sets,
        sizes=sizes,
        n_test=chosen.test or plan.n_test,
        offline=not chosen.online,
        concepts=chosen.concepts or plan.concepts,
    )


def main() -> None:
    """Run all cases."""
    command = parser(__doc__)
    command.add_argument("--case", help="only cases whose name holds this text")
    command.add_argument("--sets", help="names separated by commas")
    command.add_argument("--concepts", type=int, help="how many concepts to take the mean of")
    command.add_argument("--rows", help="sizes of training sets, separated by commas")
    command.add_argument("--test", type=int, help="how many test rows")
    command.add_argument("--online", action="store_true", help="no models that hold all data")
    chosen = command.parse_args()
    plan = chosen_plan(chosen)
    # Of Gaussians of a class that has no rows yet, or only equal ones.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="sklearn")
    print(versions(["river", "scikit-learn", "numpy", "numba"]))
    rows: list[Row] = []
    for name, run in CASES.items():
        if chosen.case is None or chosen.case in name:
            note(name)
            found: list[Row] = []
            for row in run(plan):
                found.append(row)
                write([*rows, *found], chosen.json)
            show(found)
            rows += found


if __name__ == "__main__":
    main()
