"""The tables of bench_accuracy: measures over all folds, and how they compare with others'."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from accuracy_folds import Result
from accuracy_models import PEERS
from numpy.typing import NDArray
from rank_tests import Match, holm, match, ranking

from bayesgraph.questions import calibration_error

Columns = dict[str, NDArray[Any]]

# A set counts as lost where the best of the reference columns is so many points ahead.
_LOST = 2.0
# Maximum number of bins of the calibration error.
_BINS = 15
# Title, digits and sign of what is compared; less is better where it is -1.
_COMPARED = {
    "accuracy": ("Accuracy in percent", 2, 1),
    "rmse": ("RMSE of probabilities", 4, -1),
    "log_loss": ("Log loss in nats", 4, -1),
    "calibration": (f"Calibration error of the most probable class, {_BINS} bins", 4, -1),
}


@dataclass(frozen=True)
class Measures:
    """One model on one set, all folds together."""

    dataset: str
    model: str
    accuracy: float
    rmse: float
    log_loss: float
    calibration: float
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
                _calibration(folds),
                median(f.fit_seconds for f in folds),
                median(f.predict_seconds for f in folds),
            )
        )
    return found


def _calibration(folds: list[Result]) -> float:
    confidence = np.concatenate([f.confidences for f in folds])
    right = np.concatenate([f.right for f in folds])
    # Of the classes "right" and "wrong": the most probable one is always held to be right.
    proba = np.column_stack([confidence, np.zeros(len(confidence))])
    return calibration_error(right, proba, [True, False], bins=_BINS)


def write_results(found: list[Measures], folder: Path) -> None:
    """Write a CSV file of each model's measures, for `read_results`."""
    folder.mkdir(parents=True, exist_ok=True)
    for model in {m.model for m in found}:
        rows = [asdict(m) for m in found if m.model == model]
        with (folder / f"{model}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(
                stream, [n for n in rows[0] if n != "model"], extrasaction="ignore"
            )
            writer.writeheader()
            for row in sorted(rows, key=lambda row: row["dataset"]):
                writer.writerow(
                    {n: round(v, 6) if isinstance(v, float) else v for n, v in row.items()}
                )


def columns(found: list[Measures], measure: str, datasets: list[str], models: list[str]) -> Columns:
    """Return a measure as one column a model, one row a set; NaN where there is none."""
    cells = {(m.dataset, m.model): getattr(m, measure) for m in found}
    table = {m: np.array([cells.get((d, m), np.nan) for d in datasets]) for m in models}
    return {model: column for model, column in table.items() if not np.isnan(column).all()}


def read_results(paths: Iterable[Path], datasets: list[str]) -> dict[str, Columns]:
    """Return columns of other programs by measure, one row a set.

    Columns that are named after no measure are accuracies of a program each.
    """
    found: dict[str, Columns] = {name: {} for name in _COMPARED}
    seconds = {"fit_seconds", "predict_seconds", "seconds_a_fold"}
    for path in paths:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = {row["dataset"]: row for row in csv.DictReader(stream)}
        for name in (n for n in next(iter(rows.values())) if n not in {"dataset", *seconds}):
            column = np.array([float(rows.get(d, {}).get(name) or "nan") for d in datasets])
            if name in _COMPARED:
                found[name][path.stem] = column
            else:
                found["accuracy"][name] = column
    return found


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
    ours = {name: columns(found, name, datasets, models) for name in _COMPARED}
    theirs = read_results(references, datasets)
    seconds = columns(found, "fit_seconds", datasets, models)
    lines: list[str] = []
    for name, (title, digits, _) in _COMPARED.items():
        lines += table(title, datasets, ours[name] | theirs[name], digits)
    lines += table("Seconds to fit", datasets, seconds, 4)
    if "random-forest" in seconds:
        forest = seconds["random-forest"]
        lines += table(
            "Seconds to fit as multiples of the forest's",
            datasets,
            {name: column / forest for name, column in seconds.items()},
            2,
        )
    everyone = ours["accuracy"] | theirs["accuracy"]
    lines += ranks(everyone)
    for name, (title, digits, sign) in _COMPARED.items():
        # A peer that ran here is one more reference.
        peers = {model: column for model, column in ours[name].items() if model in PEERS}
        own = {model: column for model, column in ours[name].items() if model not in PEERS}
        if theirs[name] | peers:
            lines += against(own, theirs[name] | peers, title, digits, sign)
    peers = {model: column for model, column in ours["accuracy"].items() if model in PEERS}
    lines += lost("default", ours["accuracy"], theirs["accuracy"] | peers, datasets)
    return lines, everyone
