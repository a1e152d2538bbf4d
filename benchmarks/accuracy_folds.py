"""The folds of bench_accuracy: one fit after another in processes of one thread each."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from accuracy_models import estimator, settings_of
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from sklearn.model_selection import StratifiedKFold
from table_files import Task, bundled_tasks, read_task

SEED = 1
_LEAST = 1e-15


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
    confidences: list[float]
    """Probabilities of the most probable classes."""
    right: list[bool]
    """Whether they are the true ones."""

    @property
    def key(self) -> tuple[str, str, int, int, str]:
        """What makes two results the same."""
        return self.dataset, self.model, self.fold, self.n_folds, self.settings


@lru_cache(maxsize=2)
def _task(name: str, path: Path | None) -> Task:
    if path is not None:
        return read_task(path)
    return next(task for task in bundled_tasks() if task.name == name)


def run(job: Job) -> Result:
    """Fit on all folds but one, and judge on that one."""
    task = _task(job.dataset, job.path)
    model = estimator(job.model, job.expression)
    settings = settings_of(model)
    with warnings.catch_warnings():
        # Small classes, rows that no class explains, regressions that stop early.
        warnings.simplefilter("ignore")
        splitter = StratifiedKFold(job.n_folds, shuffle=True, random_state=SEED)
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
    right = truth[np.arange(len(test)), np.argmax(proba, axis=1)]
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
        int(np.sum(right)),
        float(np.sum((proba - truth) ** 2)),
        float(-np.log(np.maximum(proba[truth], _LEAST)).sum()),
        middle - start,
        end - middle,
        proba.max(axis=1).round(7).tolist(),
        right.tolist(),
    )


# ------------------------------------------------------------------------------------- all folds


def run_all(jobs: list[Job], n_jobs: int, cache: Path | None) -> tuple[list[Result], list[str]]:
    """Run jobs in processes of one thread each; return results and what failed."""
    known = {result.key: result for result in _cached(cache)}
    settings = {
        (j.model, j.expression): settings_of(estimator(j.model, j.expression)) for j in jobs
    }
    done, left = [], []
    for job in jobs:
        key = (job.dataset, job.model, job.fold, job.n_folds, settings[job.model, job.expression])
        if key in known:
            done.append(known[key])
        else:
            left.append(job)
    failed: dict[str, list[str]] = {}
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
                why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
                failed.setdefault(f"{job.model}: {why}", []).append(job.dataset)
            progress.update(bar, advance=1, description=f"{job.dataset}: {job.model}")
    return done, [f"{what} ({', '.join(sorted(set(sets)))})" for what, sets in failed.items()]


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
