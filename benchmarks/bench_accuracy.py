"""Ten-fold cross-validation of every model over a folder of tables, beside published figures.

python benchmarks/bench_accuracy.py --data DIR [--reference FILE] [--models a,b] [--jobs N]
    [--json FILE] [--markdown FILE] [--plot FILE] [--cache FILE] [--peer] [--quick]

DIR holds Parquet, CSV and ARFF files with the class in the last column. A CSV file in it whose
first column is called `dataset` is a table of other programs' results (accuracy in percent, one
column a program; or the columns of one program that --csv writes) and is compared with. Without
--data, four small sets of scikit-learn's are used.

Every model sees the same folds: StratifiedKFold(10, shuffle=True, random_state=1). Measures are
over all rows, each predicted by the model that had not seen it: accuracy in percent, RMSE (root of
the mean squared difference between class probabilities and 0/1 targets over rows and classes), log
loss in nats (probabilities below 1e-15 count as that), the calibration error of the most probable
class (15 bins of about equally many rows), and seconds to fit one fold (median).

--try NAME=EXPRESSION adds a model of `bg`, `np` and `partial`, such as
--try "strong=bg.TANClassifier(smoothing=0.1)". Without --models it is then the only one.

--cache FILE keeps each fold's result under the set, the model and how it was made, for a rerun to
take up. It does not know when the library changes: delete it then.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
from accuracy_folds import SEED, Job, run_all
from accuracy_models import MODELS, PEERS, estimator
from accuracy_report import Columns, measures, report, write_results
from harness import parser, versions
from rank_tests import draw, ranking
from table_files import bundled_tasks, data_files, results_files, task_name

from bayesgraph.core.parallel import N_THREADS


def options() -> argparse.Namespace:
    """Return the command line's options."""
    command = parser(__doc__)
    command.add_argument("--data", type=Path, help="folder of tables")
    command.add_argument("--sets", help="names of sets, separated by commas; by default all")
    command.add_argument("--reference", type=Path, action="append", help="results to compare with")
    command.add_argument("--models", help="names separated by commas; by default all")
    command.add_argument("--try", dest="tried", action="append", help="NAME=EXPRESSION")
    command.add_argument("--peer", action="store_true", help="run a random forest too")
    command.add_argument("--csv", type=Path, help="folder for a CSV file of results a model")
    command.add_argument("--folds", type=int, help="10, or 3 with --quick")
    command.add_argument("--jobs", type=int, default=N_THREADS)
    command.add_argument("--cache", type=Path, help="results so far, which a rerun takes up")
    command.add_argument("--markdown", type=Path, help="write the tables there too")
    command.add_argument("--plot", type=Path, help="draw ranks and a scatter to SVG, PNG or PDF")
    command.add_argument("--against", help="column of the scatter; by default the best reference")
    return command.parse_args()


def chosen_models(chosen: argparse.Namespace) -> dict[str, str | None]:
    """Return names of models, with an expression where one was given; note what is not there."""
    names = chosen.models.split(",") if chosen.models else [] if chosen.tried else list(MODELS)
    for name in names:
        if name not in MODELS | PEERS:
            raise SystemExit(f"There is no model {name!r}; they are {', '.join(MODELS | PEERS)}.")
    wanted: dict[str, str | None] = dict.fromkeys(
        [*names, *(["random-forest"] if chosen.peer else [])]
    )
    for item in chosen.tried or ():
        name, _, expression = item.partition("=")
        wanted[name] = expression
    there, absent = {}, []
    for name, expression in wanted.items():
        try:
            estimator(name, expression)
        except (AttributeError, ImportError, TypeError) as error:
            if expression is not None:
                raise
            absent.append(f"{name} ({str(error).splitlines()[0]})")
        else:
            there[name] = expression
    if absent:
        print(f"left out, as this library has them not: {'; '.join(absent)}")
    if not there:
        raise SystemExit("No model is left to run.")
    return there


def chosen_tasks(chosen: argparse.Namespace) -> dict[str, tuple[Path | None, int]]:
    """Return names of sets with their files and sizes, the largest first."""
    if chosen.data is None:
        found: dict[str, tuple[Path | None, int]] = {
            t.name: (None, t.size) for t in bundled_tasks()
        }
    else:
        found = {task_name(p): (p, p.stat().st_size) for p in data_files(chosen.data)}
    if chosen.sets:
        unknown = set(chosen.sets.split(",")) - set(found)
        if unknown:
            raise SystemExit(f"There is no set {sorted(unknown)}; there are {sorted(found)}.")
        found = {name: found[name] for name in chosen.sets.split(",")}
    if not found:
        raise SystemExit(f"{chosen.data} holds no Parquet, CSV or ARFF file.")
    return dict(sorted(found.items(), key=lambda item: (-item[1][1], item[0])))


def main() -> None:
    """Run what is not known yet, and report on everything."""
    chosen = options()
    models, tasks = chosen_models(chosen), chosen_tasks(chosen)
    n_folds = chosen.folds or (3 if chosen.quick else 10)
    jobs = [
        Job(name, path, model, expression, fold, n_folds)
        for name, (path, _) in tasks.items()
        for model, expression in models.items()
        for fold in range(n_folds)
    ]
    start = time.perf_counter()
    results, failed = run_all(jobs, chosen.jobs, chosen.cache)
    found = measures(results, n_folds)
    if not found:
        raise SystemExit("\n".join(["No model ran on any set.", *failed]))
    references = [*(chosen.reference or ()), *(results_files(chosen.data) if chosen.data else ())]
    lines, everyone = report(found, sorted(tasks), list(models), list(dict.fromkeys(references)))
    head = [
        f"{n_folds}-fold stratified cross-validation, seed {SEED}; {versions(['scikit-learn'])}",
        f"{len(jobs)} fits, {chosen.jobs} processes, {time.perf_counter() - start:.0f} s",
    ]
    text = "\n".join([*head, *(f"failed: {line}" for line in failed), *lines]) + "\n"
    print(text)
    if chosen.markdown is not None:
        chosen.markdown.write_text(text, encoding="utf-8")
    if chosen.json is not None:
        rows = sorted(found, key=lambda m: (m.dataset, list(models).index(m.model)))
        chosen.json.write_text("".join(json.dumps(asdict(m)) + "\n" for m in rows))
    if chosen.csv is not None:
        write_results(found, chosen.csv)
    if chosen.plot is not None:
        draw(ranking(everyone), everyone, _pair(chosen.against, everyone, models), chosen.plot)


def _pair(name: str | None, everyone: Columns, models: dict[str, str | None]) -> tuple[str, str]:
    """Return the columns of the scatter: our default (or last model) against the best other."""
    own = [m for m in models if m in everyone and m not in PEERS] or list(everyone)
    ours = "default" if "default" in own else own[-1]
    others = {n: np.nanmean(c) for n, c in everyone.items() if n != ours}
    outside = {n: v for n, v in others.items() if n not in own} or others or {ours: 0.0}
    if name is not None and name not in everyone:
        raise SystemExit(f"--against: there is no column {name!r}; they are {list(everyone)}.")
    return ours, name or max(outside, key=lambda n: outside[n])


if __name__ == "__main__":
    main()
