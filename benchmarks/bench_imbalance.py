"""Classes of 0.2 to 5 % of the rows: what class weights and sample weights do to the probabilities.

python benchmarks/bench_imbalance.py [--quick] [--json FILE]

Twenty generated tables, each predicted on rows of its own. The default classifier and weighted
naive Bayes are fitted without weights, with ``class_weight="balanced"`` and with the same weights
as ``sample_weight``; beside each of these a random forest of scikit-learn, without weights or
balanced. Measured are average precision (higher is better), log loss in nats and the calibration
error of the more probable class in 15 bins (lower is better). A ratio above 1 is in favour of
bayesgraph.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from harness import Row, cell, options, versions, write
from imbalanced_tables import ImbalancedTable, matrix, table
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score, log_loss
from sklearn.utils.class_weight import compute_sample_weight

import bayesgraph as bg
from bayesgraph.questions import calibration_error

N_TABLES, N_QUICK = 20, 4
WEIGHTINGS = ("none", "class_weight", "sample_weight")
# Whether more of a measure is better.
MEASURES = {"average precision": True, "log loss": False, "calibration error": False}
_BINS = 15
OURS: dict[str, Callable[..., Any]] = {
    "default": partial(bg.BayesianNetworkClassifier, check_columns=False),
    "weighted naive Bayes": partial(bg.WeightedNaiveBayesClassifier, check_columns=False),
}
FOREST = "random forest"


@dataclass(frozen=True)
class Result:
    """Measures of one model with one weighting on one table."""

    table: str
    model: str
    weighting: str
    measures: dict[str, float]
    fit_seconds: float


def measured(
    given: ImbalancedTable, model: str, weighting: str, make: Callable[..., Any], parts: Any
) -> Result:
    """Fit a model with a weighting, and measure its probabilities of the other rows."""
    learn, ask = parts
    balanced = compute_sample_weight("balanced", given.train_labels)
    # A forest treats both ways of weighting in one way.
    by_class = weighting == "class_weight" or (weighting != "none" and model == FOREST)
    clf = make(class_weight="balanced") if by_class else make()
    start = time.perf_counter()
    if weighting == "sample_weight" and not by_class:
        clf.fit(learn, given.train_labels, sample_weight=balanced)
    else:
        clf.fit(learn, given.train_labels)
    seconds = time.perf_counter() - start
    proba = clf.predict_proba(ask)
    found = {
        "average precision": average_precision_score(given.test_labels == "yes", proba[:, 1]),
        "log loss": log_loss(given.test_labels, proba, labels=clf.classes_),
        "calibration error": calibration_error(given.test_labels, proba, clf.classes_, bins=_BINS),
    }
    numbers = {name: float(value) for name, value in found.items()}
    return Result(given.name, model, weighting, numbers, seconds)


def results(n_tables: int, *, n_test: int, n_trees: int) -> list[Result]:
    """Measure all models on all tables, table by table; print a line for each table."""
    found: list[Result] = []
    forest = partial(RandomForestClassifier, n_trees, random_state=0, n_jobs=1)
    print(f"{'table':<10}{'share':>7}{'rows':>8}  average precision: {', '.join(WEIGHTINGS)}")
    for number in range(n_tables):
        given = table(number, n_tables, n_test)
        frames, numbers = (given.train, given.test), matrix(given)
        own: list[Result] = []
        for weighting in WEIGHTINGS:
            for model, make in OURS.items():
                own.append(measured(given, model, weighting, make, frames))
            own.append(measured(given, FOREST, weighting, forest, numbers))
        print(f"{given.name:<10}{given.share:>7.4f}{len(given.train):>8,}", end="")
        for model in (*OURS, FOREST):
            at = [r.measures["average precision"] for r in own if r.model == model]
            print(f"  {model}" + "".join(cell(value, 7, 3) for value in at), end="")
        print(flush=True)
        found += own
    return found


def compared(found: list[Result]) -> list[Row]:
    """Return the means over the tables of our models beside the forest's."""
    rows = []
    for model in OURS:
        for weighting in WEIGHTINGS:
            ours, peer = (
                [r for r in found if (r.model, r.weighting) == (name, weighting)]
                for name in (model, FOREST)
            )
            for measure, more_is_better in MEASURES.items():
                a, b = (
                    float(np.mean([r.measures[measure] for r in side])) for side in (ours, peer)
                )
                ratio = a / b if more_is_better else b / a
                rows.append(Row(f"{model}, weights: {weighting}", measure, a, b, FOREST, ratio))
            a, b = (float(np.mean([r.fit_seconds for r in side])) for side in (ours, peer))
            rows.append(Row(f"{model}, weights: {weighting}", "fit", a, b, FOREST, b / a))
    return rows


def lowest(found: list[Result], model: str, weighting: str) -> float:
    """Return the lowest change of the average precision by a weighting, over all tables."""
    by_table = {
        (r.table, r.weighting): r.measures["average precision"] for r in found if r.model == model
    }
    names = dict.fromkeys(name for name, _ in by_table)
    return min(by_table[name, weighting] - by_table[name, "none"] for name in names)


def main() -> None:
    """Run all tables, and print means and the worst changes by weights."""
    chosen = options(__doc__)
    size = {"n_test": 5_000, "n_trees": 100} if chosen.quick else {"n_test": 20_000, "n_trees": 300}
    found = results(N_QUICK if chosen.quick else N_TABLES, **size)
    rows = compared(found)
    print(versions(["scikit-learn"]))
    print(f"{'case':<45}{'measure':<20}{'ours':>9}{'forest':>9}{'ratio':>8}")
    for r in rows:
        values = cell(r.ours, 9, 4) + cell(r.peer, 9, 4) + cell(r.ratio, 8, 2)
        print(f"{r.case:<45}{r.metric:<20}{values}")
    for model in (*OURS, FOREST):
        for weighting in WEIGHTINGS[1:]:
            change = lowest(found, model, weighting)
            print(f"{model}, {weighting}: average precision changes by {change:+.4f} at worst")
    write(rows, chosen.json)


if __name__ == "__main__":
    main()
