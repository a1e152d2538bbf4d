"""What a column of three filled cells costs each learner, in points of accuracy.

python benchmarks/bench_nearly_empty.py --data DIR [--sets a,b] [--models a,b] [--folds N]
    [--seeds N] [--json FILE] [--quick]

DIR holds tables as bench_accuracy takes them. Each set is cross-validated as it is, and with a
first column more, of which three random cells are filled: with three categories, with three
numbers, or three times with the same category; for five seeds each. The folds are the same
throughout, so that differences are of the same rows. The table has, of each learner and kind of
column, the mean over the sets, and the set that loses most with the standard error of its folds; a
set that a learner refuses for its size is not among its sets.
Sets come in the order of their size. --json FILE keeps what is done for a rerun to take up; it does
not know when the library changes: delete it then.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from accuracy_folds import SEED
from harness import parser, versions
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from table_files import Task, bundled_tasks, data_files, read_task

import bayesgraph as bg

FILLED = 3
KINDS = {
    "categories": pa.array(["a", "b", "c"]),
    "numbers": pa.array([1.0, 2.5, 7.0]),
    "constant": pa.array(["a", "a", "a"]),
}
_of = bg.BayesianNetworkClassifier
LEARNERS: dict[str, Callable[[], Any]] = {
    "naive Bayes": bg.NaiveBayesClassifier,
    "TAN": bg.TANClassifier,
    "TAN of intervals": lambda: bg.TANClassifier(discretizer="mdlp"),
    "kDB": bg.KDBClassifier,
    "AODE": bg.AODEClassifier,
    "averaged TAN": lambda: bg.AveragedTANClassifier(random_state=0),
    "superparent": lambda: _of("superparent"),
    "forest": lambda: _of("forest"),
    "Chow-Liu": lambda: _of("chow_liu"),
    "hill climbing": lambda: _of("hill_climb"),
    "hill climbing by likelihood": lambda: _of(partial(bg.learning.hill_climb, score="likelihood")),
    "general hill climbing": lambda: _of("unrestricted"),
    "tabu": lambda: _of(bg.learning.tabu),
    "PC": lambda: _of(bg.learning.pc),
    "default": bg.BayesianNetworkClassifier,
}
# From learner and kind of column to points gained by set, seed and fold.
Points = dict[tuple[str, str], dict[str, NDArray[np.float64]]]


def with_column(task: Task, kind: str, seed: int) -> pa.Table:
    """Return the features of a task with a nearly empty column before them."""
    n = task.features.num_rows
    rows = np.random.default_rng([SEED, seed]).choice(n, FILLED, replace=False)
    place = np.full(n, -1)
    place[rows] = np.arange(FILLED)
    column = KINDS[kind].take(pa.array(place, mask=place < 0))
    if pa.types.is_string(column.type):
        column = column.dictionary_encode()
    return task.features.add_column(0, "nearly empty", column)


def scores(task: Task, features: pa.Table, learner: str, n_folds: int) -> list[float]:
    """Return the accuracy of each fold, in percent."""
    found = []
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=SEED)
    with warnings.catch_warnings():
        # Small classes, columns of one value.
        warnings.simplefilter("ignore")
        for train, test in splitter.split(np.zeros(len(task.labels)), task.labels):
            model = LEARNERS[learner]().fit(features.take(train), task.labels[train])
            right = model.predict(features.take(test)) == task.labels[test]
            found.append(100.0 * float(np.mean(right)))
    return found


def losses(
    task: Task, learners: list[str], n_folds: int, n_seeds: int, known: dict[str, list[Any]]
) -> Iterator[tuple[str, list[Any]]]:
    """Yield a key and what it stands for: points gained by each kind, seed and fold.

    Nothing is gained or lost where a learner refuses the table as it is: its points are empty.
    """
    for learner in learners:
        key = f"{task.name} | {learner} | {n_folds} | {n_seeds}"
        if key not in known:
            try:
                base = np.array(scores(task, task.features, learner, n_folds))
            except bg.errors.MemoryLimitError:
                known[key] = []
                yield learner, []
                continue
            known[key] = [
                [
                    (np.array(scores(task, with_column(task, kind, seed), learner, n_folds)) - base)
                    for seed in range(n_seeds)
                ]
                for kind in KINDS
            ]
        yield learner, known[key]


def report(points: Points) -> str:
    """Return a table in Markdown."""
    lines = ["| learner | column | sets | mean | most lost | standard error | set |"]
    lines.append("|---|---|--:|--:|--:|--:|---|")
    for (learner, kind), by_set in points.items():
        means = {name: values.mean() for name, values in by_set.items()}
        worst = min(means, key=lambda name: means[name])
        folds = by_set[worst].mean(axis=0)
        error = folds.std(ddof=1) / np.sqrt(len(folds))
        numbers = f"{np.mean(list(means.values())):.2f} | {means[worst]:.2f} | {error:.2f}"
        lines.append(f"| {learner} | {kind} | {len(means)} | {numbers} | {worst} |")
    return "\n".join(lines)


def main() -> None:
    """Read options, cross-validate, print the table."""
    command = parser(__doc__)
    command.add_argument("--data", type=Path, help="folder of tables; else scikit-learn's sets")
    command.add_argument("--sets", help="names separated by commas; by default all")
    command.add_argument("--models", help="names separated by commas; by default all")
    command.add_argument("--folds", type=int, default=3)
    command.add_argument("--seeds", type=int, default=5)
    chosen = command.parse_args()
    tasks = list(map(read_task, data_files(chosen.data)) if chosen.data else bundled_tasks())
    names = chosen.sets.split(",") if chosen.sets else [task.name for task in tasks]
    learners = chosen.models.split(",") if chosen.models else list(LEARNERS)
    n_seeds = 1 if chosen.quick else chosen.seeds
    done = chosen.json.read_text().splitlines() if chosen.json and chosen.json.exists() else []
    known: dict[str, list[Any]] = {}
    for line in done:
        known |= json.loads(line)
    points: Points = {}
    for task in sorted(tasks, key=lambda task: task.size):
        if task.name not in names:
            continue
        before = set(known)
        for learner, found in losses(task, learners, chosen.folds, n_seeds, known):
            for kind, values in zip(KINDS if found else (), found, strict=True):
                points.setdefault((learner, kind), {})[task.name] = np.array(values)
            new = {key: np.array(known[key]).tolist() for key in known.keys() - before}
            before = set(known)
            if new and chosen.json:
                with chosen.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(new) + "\n")
    print(versions([]))
    print(report(points))


if __name__ == "__main__":
    main()
