"""Comparison of classifiers over many sets (Demšar 2006): tests and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bayesgraph.pictures import save_figure

# Accuracies in percent closer than this are a draw: tables of others carry few digits.
_DRAW = 5e-3


@dataclass(frozen=True)
class Match:
    """One classifier against another over the sets that both have.

    Attributes
    ----------
    n : int
        Number of sets.
    difference : float
        Mean difference, ours minus theirs.
    wins, draws, losses : int
    p : float
        Of the two-sided Wilcoxon signed-rank test; 1 where all sets are draws.
    """

    n: int
    difference: float
    wins: int
    draws: int
    losses: int
    p: float


def match(ours: NDArray[Any], theirs: NDArray[Any], *, sign: int = 1, draw: float = _DRAW) -> Match:
    """Return how a column of measures compares with another; NaN is left out.

    Parameters
    ----------
    ours, theirs : ndarray, shape (n_sets,)
    sign : {1, -1}
        -1 if less is better.
    draw : float
        Differences smaller than this are none.
    """
    both = ~(np.isnan(ours) | np.isnan(theirs))
    gap = ours[both] - theirs[both]
    won, lost = int(np.sum(sign * gap > draw)), int(np.sum(sign * gap < -draw))
    clear = np.where(np.abs(gap) > draw, gap, 0)
    p = float(stats.wilcoxon(clear, zero_method="zsplit").pvalue) if clear.any() else 1.0
    mean = float(gap.mean()) if len(gap) else float("nan")
    return Match(len(gap), mean, won, len(gap) - won - lost, lost, p)


def holm(p: list[float]) -> list[float]:
    """Return p-values adjusted for the number of comparisons (Holm 1979)."""
    order = np.argsort(p, kind="stable")
    stepped = np.array(p)[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1)
    return adjusted.tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Mean ranks of classifiers over sets (1 is best), and how far apart counts.

    Attributes
    ----------
    names : tuple of str
        Best first.
    ranks : ndarray, shape (n_classifiers,)
    n_sets : int
        Sets on which every classifier has a measure.
    p : float
        Of Friedman's test in the F form of Iman and Davenport (1980); Demšar (2006, section 3.2.2).
    critical_difference : float
        Of Nemenyi's test at 5 %.
    """

    names: tuple[str, ...]
    ranks: NDArray[Any]
    n_sets: int
    p: float
    critical_difference: float


def ranking(measures: dict[str, NDArray[Any]], *, sign: int = 1) -> Ranking | None:
    """Rank classifiers on the sets that all have; None for fewer than two of either."""
    table = np.column_stack(list(measures.values()))
    table = table[~np.isnan(table).any(axis=1)]
    n, k = table.shape
    if n < 2 or k < 2:
        return None
    ranks = stats.rankdata(-sign * np.round(table, 6), axis=1).mean(axis=0)
    chi = 12 * n / (k * (k + 1)) * (np.sum(ranks**2) - k * (k + 1) ** 2 / 4)
    room = n * (k - 1) - chi
    p = float(stats.f.sf((n - 1) * chi / room, k - 1, (k - 1) * (n - 1))) if room > 1e-9 else 0.0
    q = stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
    order = np.argsort(ranks, kind="stable")
    names = list(measures)
    return Ranking(
        tuple(names[i] for i in order),
        ranks[order],
        n,
        p,
        float(q * np.sqrt(k * (k + 1) / (6 * n))),
    )


def groups(found: Ranking) -> list[tuple[int, int]]:
    """Return the longest stretches of classifiers that do not differ, as first and last place."""
    stretches: list[tuple[int, int]] = []
    for first, rank in enumerate(found.ranks):
        last = int(np.searchsorted(found.ranks, rank + found.critical_difference, "right")) - 1
        if last > first and (not stretches or last > stretches[-1][1]):
            stretches.append((first, last))
    return stretches


def draw(
    found: Ranking | None,
    measures: dict[str, NDArray[Any]],
    pair: tuple[str, str] | None,
    path: Path,
) -> None:
    """Draw mean ranks with their critical difference, and one column against another."""
    from matplotlib.figure import Figure

    many = 1 if found is None else len(found.names)
    figure = Figure(figsize=(13, max(5.0, 0.28 * many + 1.5)), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    if found is None:
        left.set_axis_off()
    else:
        _ranks(left, found)
    if pair is None:
        right.set_axis_off()
    else:
        _scatter(right, measures, *pair)
    save_figure(figure, path)


def _ranks(axes: Any, found: Ranking) -> None:
    """Draw one row for each classifier; bars join those that do not differ."""
    places = np.arange(len(found.names))
    axes.plot(found.ranks, places, "o", color="#1f5673")
    for place, rank in zip(places, found.ranks, strict=True):
        axes.annotate(f"{rank:.2f}", (rank, place), xytext=(6, 3), textcoords="offset points")
        axes.axhline(place, color="#dddddd", linewidth=0.6, zorder=0)
    step = 0.03 * (found.ranks[-1] - found.ranks[0] + 1)
    for number, (first, last) in enumerate(groups(found), 4):
        axes.plot([found.ranks[-1] + number * step] * 2, [first, last], color="#b3541e", lw=2)
    axes.set_yticks(places, found.names)
    axes.invert_yaxis()
    axes.set_xlabel("mean rank (1 is best)")
    axes.set_title(
        f"{found.n_sets} sets; Friedman p = {found.p:.2g}; critical difference "
        f"{found.critical_difference:.2f}\n(bars join what Nemenyi's test cannot tell apart)",
        fontsize=9,
    )


def _scatter(axes: Any, measures: dict[str, NDArray[Any]], ours: str, theirs: str) -> None:
    x, y = measures[theirs], measures[ours]
    both = ~(np.isnan(x) | np.isnan(y))
    low = float(min(x[both].min(), y[both].min())) - 2
    axes.plot([low, 100], [low, 100], color="#999999", linewidth=0.8)
    axes.plot(x[both], y[both], "o", color="#1f5673", alpha=0.7)
    axes.set_xlabel(f"accuracy in percent: {theirs}")
    axes.set_ylabel(ours)
    axes.set_aspect("equal")
    axes.set_title(f"{ours} against {theirs}: above the line is better", fontsize=9)
