"""Lower bounds of the cost of changes of continuous numbers, which are more than any grid.

Where the log odds are a polynomial of the second degree in a number, as with Gaussian leaves, their
maximum over a cell between two values is known. An answer that may take, in each cell, the cost of
its closest end and the highest log odds against each other state is a relaxation: it costs no more
than any change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.what_if.blocks import Part
from bayesgraph.what_if.options import Choice
from bayesgraph.what_if.scores import Goal
from bayesgraph.what_if.search import Lines, cheapest_sum, undominated

_CELLS = 512
# Deviation from a polynomial, relative to the largest log odds, that counts as rounding.
_ROUNDING = 1e-9


def relaxed_bound(
    lines: Lines, parts: Sequence[Part], choices: Sequence[Choice], goal: Goal, effort: int
) -> float | None:
    """Return a lower bound of the cost of any change, numbers between the options included.

    The result is None if the log odds are no polynomial in one of the continuous numbers.
    """
    costs, gains = list(lines.costs), list(lines.gains)
    for k, part in enumerate(parts):
        if not any(choices[i].continuous for i in part.choices):
            continue
        if len(part.choices) > 1 or not np.isfinite(part.logs).all():
            return None
        cells = _cells(part, choices[part.choices[0]], goal)
        if cells is None:
            return None
        order = undominated(*cells)
        costs[k], gains[k] = cells[0][order], cells[1][order]
    rows = [np.arange(len(cost)) for cost in costs]
    return cheapest_sum(Lines(lines.margins, costs, gains, rows), goal, effort)[1].bound


def _cells(part: Part, choice: Choice, goal: Goal) -> tuple[Floats, Floats] | None:
    """Return the cost of each cell of a number, and the highest log odds in it.

    The first one is the value that the number has.
    """
    values = np.array([option.code for option in choice.options], dtype=np.float64)
    odds = part.logs[:, [goal.state]] - np.delete(part.logs, goal.state, axis=1)
    low, high, old = values.min(), values.max(), values[0]
    if np.isnan(old) or len(values) < 4 or high <= low:
        return None
    # Centred and scaled, so that the coefficients are well determined.
    scaled = 2.0 * (values - low) / (high - low) - 1.0
    coefficients = np.polynomial.polynomial.polyfit(scaled, odds, 2)
    fitted = np.polynomial.polynomial.polyval(scaled, coefficients).T
    if np.abs(fitted - odds).max() > _ROUNDING * max(1.0, float(np.abs(odds).max())):
        return None
    start = 2.0 * (old - low) / (high - low) - 1.0
    ends = np.unique(np.append(np.linspace(-1.0, 1.0, _CELLS + 1), start))
    at_ends = np.polynomial.polynomial.polyval(ends, coefficients).T
    gains = np.maximum(at_ends[:-1], at_ends[1:])
    c = coefficients
    with np.errstate(divide="ignore", invalid="ignore"):
        peaks = np.where(c[2] < 0, -c[1] / (2.0 * c[2]), np.nan)
        heights = c[0] + c[1] * peaks + c[2] * peaks**2
    inside = (ends[:-1, None] < peaks) & (peaks < ends[1:, None])
    gains = np.where(inside, np.maximum(gains, heights), gains)
    gains += _ROUNDING * max(1.0, float(np.abs(odds).max()))
    gap = np.maximum(0.0, np.maximum(ends[:-1] - start, start - ends[1:]))
    costs = choice.weight + choice.scale * gap * 0.5 * (high - low)
    return np.append(0.0, costs), np.concatenate([odds[:1], gains])
