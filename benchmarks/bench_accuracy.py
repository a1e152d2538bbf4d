"""Ten-fold cross-validation of every model over a folder of tables, beside published figures.

python benchmarks/bench_accuracy.py --data DIR [--reference FILE] [--models a,b] [--jobs N]
    [--json FILE] [--markdown FILE] [--plot FILE] [--cache FILE] [--peer] [--quick]

DIR holds Parquet, CSV and ARFF files with the class in the last column. A CSV file in it whose
first column is called `dataset` is a table of other programs' results (accuracy in percent, one
column a program; or the columns accuracy and rmse of one program) and is compared with. Without
--data, four small sets of scikit-learn's are used.

Every model sees the same folds: StratifiedKFold(10, shuffle=True, random_state=1). Measures are
over all rows, each predicted by the model that had not seen it: accuracy in percent, RMSE (root of
the mean squared difference between class probabilities and 0/1 targets over rows and classes), log
loss in nats (probabilities below 1e-15 count as that), and seconds to fit one fold (median).

--try NAME=EXPRESSION adds a model, such as --try "strong=bg.TANClassifier(alpha=0.1)".
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from harness import parser, versions
from numpy.typing import NDArray
from rank_tests import Match, draw, holm, match, ranking
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from table_files import Task, bundled_tasks, data_files, read_task, results_files, task_name

import bayesgraph as bg

Columns = dict[str, NDArray[Any]]

_SEED = 1
_LEAST = 1e-15
# A set counts as lost where the best of the reference columns is so many points ahead.
_LOST = 2.0


def random_forest() -> Any:
    """Return 300 trees on one-hot columns; a missing category is a level, a number the mean."""
    numeric = make_column_selector(dtype_include="number")
    nominal = make_column_selector(dtype_exclude="number")
    return make_pipeline(
        FunctionTransformer(_plain_frame),
        ColumnTransformer(
            [
                ("numeric", SimpleImputer(keep_empty_features=True), numeric),
                ("nominal", OneHotEncoder(handle_unknown="ignore", sparse_output=False), nominal),
            ]
        ),
        RandomForestClassifier(300, random_state=0),
    )


def _plain_frame(table: Any) -> Any:
    frame = table.to_pandas()
    for name in frame.columns:
        if frame[name].dtype.kind not in "biuf":
            text = frame[name].astype(object)
            frame[name] = text.where(text.notna(), "missing").astype(str)
    return frame


class KernelNaiveBayes(bg.NaiveBayesClassifier):  # type: ignore[misc]
    """Naive Bayes with a kernel density for each number, if there is any."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn from a pyarrow table."""
        numeric = any(pa.types.is_floating(t) or pa.types.is_integer(t) for t in X.schema.types)
        self.distributions = "kernel" if numeric else None
        return super().fit(X, y, sample_weight)


# What is not there yet is skipped with a note; --try adds to these.
MODELS: dict[str, Callable[[], Any]] = {
    "nb": bg.NaiveBayesClassifier,
    "nb-kernel": KernelNaiveBayes,
    "nb-width": lambda: bg.NaiveBayesClassifier(discretizer="width"),
    "nb-frequency": lambda: bg.NaiveBayesClassifier(discretizer="frequency"),
    "nb-mdlp": lambda: bg.NaiveBayesClassifier(discretizer="mdlp"),
    "nb-modl": lambda: bg.NaiveBayesClassifier(discretizer="modl"),
    "tan": bg.TANClassifier,
    "tan-mdlp": lambda: bg.TANClassifier(discretizer="mdlp"),
    "tan-modl": lambda: bg.TANClassifier(discretizer="modl"),
    "aode": lambda: bg.AODEClassifier(discretizer="mdlp"),
    "aode-modl": lambda: bg.AODEClassifier(discretizer="modl"),
    "tan-averaged": lambda: bg.AveragedTANClassifier(discretizer="mdlp"),
    "kdb": lambda: bg.KDBClassifier(discretizer="mdlp"),
    "selective-kdb": lambda: bg.SelectiveKDBClassifier(discretizer="mdlp"),
    "hill-climb": lambda: bg.BayesianNetworkClassifier("hill_climb", discretizer="mdlp"),
    "tree": lambda: bg.DecisionTreeNetworkClassifier(ccp_alpha="cv"),
    "wanbia": lambda: bg.WeightedNaiveBayesClassifier(discretizer="mdlp"),
    "default": bg.BayesianNetworkClassifier,
}
# Slow ones run on request only.
PEERS: dict[str, Callable[[], Any]] = {
    "random-forest": random_forest,
}


# -------------------------------------------------------------------------------------- one fold


@dataclass(frozen=True)
class Job:
    """One fold of one model on one set: small enough to send to another process."""

    dataset: str
    path: Path | None
    model: str
    expression: str | None
    fold: int
    n_folds: int


@dataclass(frozen=True)
class Result:
    """Sums over the rows that a fold left out, so that folds add up."""

    dataset: str
    model: str
    fold: int
    n_folds: int
    settings: str
    n_rows: int
    n_classes: int
    correct: int
    squared: float
    loss: float
    fit_seconds: float
    predict_seconds: float

    @property
    def key(self) -> tuple[str, str, int, int, str]:
        """What makes two results the same."""
        return self.dataset, self.model, self.fold, self.n_folds, self.settings


def estimator(model: str, expression: str | None) -> Any:
    """Return an unfitted model.

    Raises
    ------
    AttributeError, TypeError
        If the library has no such class, or the class no such option.
    """
    if expression is not None:
        return eval(expression, {"bg": bg, "np": np})  # the caller's own command line
    return (MODELS | PEERS)[model]()


def _settings(model: Any) -> str:
    """Return what a model was made with; the addresses of functions differ between processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(model))


@lru_cache(maxsize=2)
def _task(name: str, path: Path | None) -> Task:
    if path is not None:
        return read_task(path)
    return next(task for task in bundled_tasks() if task.name == name)


def run(job: Job) -> Result:
    """Fit on all folds but one, and judge on that one."""
    task = _task(job.dataset, job.path)
    model = estimator(job.model, job.expression)
    settings = _settings(model)
    with warnings.catch_warnings():
        # Small classes, rows that no class explains, regressions that stop early.
        warnings.simplefilter("ignore")
        splitter = StratifiedKFold(job.n_folds, shuffle=True, random_state=_SEED)
        train, test = list(splitter.split(np.zeros(len(task.labels)), task.labels))[job.fold]
        start = time.perf_counter()
        model.fit(task.features.take(train), task.labels[train])
        middle = time.perf_counter()
        found = model.predict_proba(task.features.take(test))
        end = time.perf_counter()
    proba = np.zeros((len(test), len(task.classes)))
    # A class that the training rows lack keeps probability zero.
    proba[:, np.searchsorted(task.classes, model.classes_)] = found
    truth = task.labels[test][:, None] == task.classes
    if not np.isfinite(proba).all():
        raise ValueError("some probabilities are not finite")
    return Result(
        job.dataset,
        job.model,
        job.fold,
        job.n_folds,
        settings,
        len(test),
        len(task.classes),
        int(np.sum(truth[np.arange(len(test)), np.argmax(proba, axis=1)])),
        float(np.sum((proba - truth) ** 2)),
        float(-np.log(np.maximum(proba[truth], _LEAST)).sum()),
        middle - start,
        end - middle,
    )


# ------------------------------------------------------------------------------------- all folds


def run_all(jobs: list[Job], n_jobs: int, cache: Path | None) -> tuple[list[Result], list[str]]:
    """Run jobs in processes of one thread each; return results and what failed."""
    known = {result.key: result for result in _cached(cache)}
    settings = {(j.model, j.expression): _settings(estimator(j.model, j.expression)) for j in jobs}
    done, left = [], []
    for job in jobs:
        key = (job.dataset, job.model, job.fold, job.n_folds, settings[job.model, job.expression])
        if key in known:
            done.append(known[key])
        else:
            left.append(job)
    failed: dict[str, str] = {}
    # Processes inherit these before they import what reads them.
    threads = ("OMP", "OPENBLAS", "MKL", "NUMBA")
    os.environ.update({f"{name}_NUM_THREADS": "1" for name in threads})
    spawn = multiprocessing.get_context("spawn")
    with _progress() as progress, ProcessPoolExecutor(n_jobs, mp_context=spawn) as pool:
        bar = progress.add_task("cross-validating", total=len(jobs), completed=len(done))
        futures = {pool.submit(run, job): job for job in left}
        for future, job in _finished(futures):
            error = future.exception()
            if error is None:
                done.append(future.result())
                _remember(future.result(), cache)
            else:
                failed.setdefault(
                    f"{job.model} on {job.dataset}", f"{type(error).__name__}: {error}"
                )
            progress.update(bar, advance=1, description=f"{job.dataset}: {job.model}")
    return done, [f"{what}: {' '.join(why.split())[:200]}" for what, why in failed.items()]


def _finished(futures: dict[Future[Result], Job]) -> Iterator[tuple[Future[Result], Job]]:
    try:
        for future in as_completed(futures):
            yield future, futures[future]
    except KeyboardInterrupt:
        for future in futures:
            future.cancel()
        raise


def _cached(path: Path | None) -> Iterator[Result]:
    if path is not None and path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                yield Result(**json.loads(line))
            except (ValueError, TypeError):
                continue  # a line cut off when a run was stopped


def _remember(result: Result, path: Path | None) -> None:
    if path is not None:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(result)) + "\n")


def _progress() -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


# --------------------------------------------------------------------------------------- measures


@dataclass(frozen=True)
class Measures:
    """One model on one set, all folds together."""

    dataset: str
    model: str
    accuracy: float
    rmse: float
    log_loss: float
    fit_seconds: float
    predict_seconds: float


def measures(results: Iterable[Result], n_folds: int) -> list[Measures]:
    """Return the measures of each set and model of which every fold is there."""
    together: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        together.setdefault((result.dataset, result.model), []).append(result)
    found = []
    for (dataset, model), folds in together.items():
        if len(folds) < n_folds:
            continue
        n = sum(f.n_rows for f in folds)
        found.append(
            Measures(
                dataset,
                model,
                100 * sum(f.correct for f in folds) / n,
                float(np.sqrt(sum(f.squared for f in folds) / (n * folds[0].n_classes))),
                sum(f.loss for f in folds) / n,
                median(f.fit_seconds for f in folds),
                median(f.predict_seconds for f in folds),
            )
        )
    return found


def columns(found: list[Measures], measure: str, datasets: list[str], models: list[str]) -> Columns:
    """Return a measure as one column a model, one row a set; NaN where there is none."""
    cells = {(m.dataset, m.model): getattr(m, measure) for m in found}
    table = {m: np.array([cells.get((d, m), np.nan) for d in datasets]) for m in models}
    return {model: column for model, column in table.items() if not np.isnan(column).all()}


def read_results(paths: Iterable[Path], datasets: list[str]) -> tuple[Columns, Columns]:
    """Return accuracy and RMSE of other programs, one column each, one row a set."""
    accuracy: Columns = {}
    rmse: Columns = {}
    for path in paths:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = {row["dataset"]: row for row in csv.DictReader(stream)}
        names = [name for name in next(iter(rows.values())) if name != "dataset"]
        for name in names:
            column = np.array([float(rows.get(d, {}).get(name) or "nan") for d in datasets])
            if name == "rmse":
                rmse[path.stem] = column
            else:
                accuracy[path.stem if name == "accuracy" else name] = column
    return accuracy, rmse


# ------------------------------------------------------------------------------------------ report


def table(title: str, datasets: list[str], cells: Columns, digits: int) -> list[str]:
    """Return a Markdown table: sets in rows, a mean of each column below.

    The mean is over the sets that every column has, so that means can be compared.
    """
    lines = ["", f"### {title}", "", *_header(["set", *cells])]
    for i, dataset in enumerate(datasets):
        lines.append(_line([dataset, *(_number(c[i], digits) for c in cells.values())]))
    full = ~np.isnan(np.column_stack(list(cells.values()))).any(axis=1)
    means = [_number(c[full].mean() if full.any() else np.nan, digits) for c in cells.values()]
    lines.append(_line([f"**mean of {int(full.sum())}**", *means]))
    return lines


def against(ours: Columns, theirs: Columns, what: str, digits: int, sign: int) -> list[str]:
    """Return a Markdown table of each of our columns against each of theirs."""
    heads = ["model", "against", "sets", "difference", "win/draw/loss", "Wilcoxon p", "Holm p"]
    lines = ["", f"### {what} against the reference", "", *_header(heads)]
    draw_below = 5e-3 if sign > 0 else 5e-6
    for name, mine in ours.items():
        played = {
            n: match(mine, other, sign=sign, draw=draw_below)
            for n, other in theirs.items()
            if n != name
        }
        adjusted = holm([m.p for m in played.values()])
        for (other, m), p in zip(played.items(), adjusted, strict=True):
            lines.append(_line([name, other, *_match_cells(m, digits), f"{p:.3g}"]))
    return lines


def _match_cells(m: Match, digits: int) -> list[str]:
    return [str(m.n), f"{m.difference:+.{digits}f}", f"{m.wins}/{m.draws}/{m.losses}", f"{m.p:.3g}"]


def lost(model: str, ours: Columns, theirs: Columns, datasets: list[str]) -> list[str]:
    """Return the sets where a model is well behind the best of the reference columns."""
    if model not in ours or not theirs:
        return []
    lines = ["", f"### Sets where {model} is more than {_LOST:g} points behind the best reference"]
    lines += ["", *_header(["set", model, "best", "column", "behind"])]
    for i, dataset in enumerate(datasets):
        known = {name: c[i] for name, c in theirs.items() if not np.isnan(c[i])}
        mine = ours[model][i]
        if not known or np.isnan(mine):
            continue
        best = max(known, key=lambda name: known[name])
        behind = known[best] - mine
        if behind > _LOST:
            cells = [f"{mine:.2f}", f"{known[best]:.2f}", best, f"{behind:.2f}"]
            lines.append(_line([dataset, *cells]))
    return lines


def ranks(cells: Columns) -> list[str]:
    """Return mean ranks as a Markdown table."""
    found = ranking(cells)
    if found is None:
        return []
    lines = ["", "### Mean ranks by accuracy", ""]
    lines.append(
        f"Over {found.n_sets} sets; Friedman p = {found.p:.3g} (Iman and Davenport); ranks differ "
        f"at 5 % if {found.critical_difference:.2f} apart (Nemenyi)."
    )
    lines += ["", *_header(["model", "rank"])]
    pairs = zip(found.names, found.ranks, strict=True)
    return [*lines, *(_line([name, f"{rank:.2f}"]) for name, rank in pairs)]


def _header(cells: list[str]) -> list[str]:
    return [_line(cells), "|" + "|".join(["---"] + ["---:"] * (len(cells) - 1)) + "|"]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _number(value: float, digits: int) -> str:
    return "" if np.isnan(value) else f"{value:.{digits}f}"


def report(
    found: list[Measures], datasets: list[str], models: list[str], references: list[Path]
) -> tuple[list[str], Columns]:
    """Return all tables as Markdown, and the accuracies of everyone."""
    ours = columns(found, "accuracy", datasets, models)
    rmse = columns(found, "rmse", datasets, models)
    loss = columns(found, "log_loss", datasets, models)
    theirs, their_rmse = read_results(references, datasets)
    everyone, all_rmse = ours | theirs, rmse | their_rmse
    # A peer that ran here is one more reference.
    theirs |= {name: ours.pop(name) for name in PEERS if name in ours}
    their_rmse |= {name: rmse.pop(name) for name in PEERS if name in rmse}
    lines = [
        *table("Accuracy in percent", datasets, everyone, 2),
        *table("RMSE of probabilities", datasets, all_rmse, 4),
        *table("Log loss in nats", datasets, loss, 4),
        *table("Seconds to fit", datasets, columns(found, "fit_seconds", datasets, models), 4),
        *ranks(everyone),
    ]
    if theirs:
        lines += against(ours, theirs, "Accuracy", 2, 1)
    if their_rmse:
        lines += against(rmse, their_rmse, "RMSE", 4, -1)
    lines += lost("default", ours, theirs, datasets)
    return lines, everyone


# ----------------------------------------------------------------------------------------- command


def options() -> argparse.Namespace:
    """Return the command line's options."""
    command = parser(__doc__)
    command.add_argument("--data", type=Path, help="folder of tables")
    command.add_argument("--sets", help="names of sets, separated by commas; by default all")
    command.add_argument("--reference", type=Path, action="append", help="results to compare with")
    command.add_argument("--models", help="names separated by commas; by default all")
    command.add_argument("--try", dest="tried", action="append", help="NAME=EXPRESSION")
    command.add_argument("--peer", action="store_true", help="run a random forest too")
    command.add_argument("--folds", type=int, help="10, or 3 with --quick")
    command.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
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
    wanted: dict[str, str | None] = dict.fromkeys([*names, *(PEERS if chosen.peer else ())])
    for item in chosen.tried or ():
        name, _, expression = item.partition("=")
        wanted[name] = expression
    there, absent = {}, []
    for name, expression in wanted.items():
        try:
            estimator(name, expression)
        except (AttributeError, TypeError) as error:
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
    references = [*(chosen.reference or ()), *(results_files(chosen.data) if chosen.data else ())]
    lines, everyone = report(found, sorted(tasks), list(models), list(dict.fromkeys(references)))
    head = [
        f"{n_folds}-fold stratified cross-validation, seed {_SEED}; {versions(['scikit-learn'])}",
        f"{len(jobs)} fits, {chosen.jobs} processes, {time.perf_counter() - start:.0f} s",
    ]
    text = "\n".join([*head, *(f"failed: {line}" for line in failed), *lines]) + "\n"
    print(text)
    if chosen.markdown is not None:
        chosen.markdown.write_text(text, encoding="utf-8")
    if chosen.json is not None:
        rows = sorted(found, key=lambda m: (m.dataset, list(models).index(m.model)))
        chosen.json.write_text("".join(json.dumps(asdict(m)) + "\n" for m in rows))
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
