"""The tables of bench_accuracy: measures over all folds, and how they compare with others'."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from accuracy_folds import Result
from accuracy_models import PEERS
from numpy.typing import NDArray
from rank_tests import Match, holm, match, ranking

Columns = dict[str, NDArray[Any]]

# A set counts as lost where the best of the reference columns is so many points ahead.
_LOST = 2.0


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
