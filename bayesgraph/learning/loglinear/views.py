"""How the states of a feature are seen by the terms of a log-linear model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Binned, Discrete

Groups = NDArray[np.intp]

# Intervals that have a cell of their own in the table of one feature, and of a pair.
_SINGLE, _PAIRED = 8, 5
# Categories of a feature that have a cell of their own in the table of a pair.
_MOST_PAIRED = 12
# Standard deviations beyond which an interval's position goes no further.
_FURTHEST = 4.0
# Of positions: another unit of the same numbers changes the last digits.
_DECIMALS = 9


@dataclass(frozen=True)
class View:
    """One feature.

    Attributes
    ----------
    variable : Discrete
    share : ndarray, shape (n_states,)
        Relative frequency of each state, smoothed so that none is zero.
    groups : ndarray of int, shape (n_states,)
        Which cell of the feature's own table a state has.
    paired : ndarray of int, shape (n_states,)
        Which row or column of a pair's table.
    position : ndarray, shape (n_states,), or None
        Of intervals: where they lie, with mean 0 and variance 1 over the rows. None for categories.
    """

    variable: Discrete
    share: Floats
    groups: Groups
    paired: Groups
    position: Floats | None

    @property
    def n_groups(self) -> int:
        """Cells of the feature's own table."""
        return int(self.groups.max()) + 1

    @property
    def n_paired(self) -> int:
        """Rows that the feature has in the table of a pair."""
        return int(self.paired.max()) + 1


def view_of(variable: Discrete, counts: Floats) -> View:
    """Return how a feature is seen, from the number of rows in each of its states.

    Neighbouring intervals share a cell where there are many; that they differ all the same is told
    by their position.
    """
    share = (counts + 1.0 / len(counts)) / (counts.sum() + 1.0)
    if not isinstance(variable, Binned):
        every = np.arange(len(counts))
        return View(variable, share, every, _frequent(counts, _MOST_PAIRED), None)
    groups, paired = _merged(share, _SINGLE), _merged(share, _PAIRED)
    position = _positions(np.array(variable.cuts), share) if variable.cuts else None
    return View(variable, share, groups, paired, position)


def _merged(share: Floats, n_groups: int) -> Groups:
    """Return intervals in groups of neighbours with about the same number of rows."""
    if len(share) <= n_groups:
        return np.arange(len(share))
    middle = np.cumsum(share) - share / 2
    group = np.minimum((middle * n_groups).astype(np.intp), n_groups - 1)
    return np.unique(group, return_inverse=True)[1]


def _frequent(counts: Floats, most: int) -> Groups:
    """Return categories as groups: the frequent ones each alone, the others together."""
    if len(counts) <= most:
        return np.arange(len(counts))
    order = np.argsort(-counts, kind="stable")
    group = np.full(len(counts), most - 1, dtype=np.intp)
    group[order[: most - 1]] = np.arange(most - 1)
    return group


def _positions(cuts: Floats, share: Floats) -> Floats | None:
    """Return the middles of intervals, standardised; the outer ones are as wide as the next."""
    # The unit must not matter: squares of large numbers would leave the range of floats.
    cuts = cuts / (np.abs(cuts).max() or 1.0)
    widths = np.diff(cuts) if len(cuts) > 1 else np.ones(1)
    low, high = cuts[0] - widths[0] / 2, cuts[-1] + widths[-1] / 2
    middle = np.concatenate([[low], (cuts[1:] + cuts[:-1]) / 2, [high]])
    middle = middle - share @ middle
    scale = np.sqrt(share @ middle**2)
    if not (np.isfinite(scale) and scale > 0):
        return None
    return np.asarray(np.round(np.clip(middle / scale, -_FURTHEST, _FURTHEST), _DECIMALS))
