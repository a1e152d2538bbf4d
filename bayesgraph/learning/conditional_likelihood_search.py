"""Greedy structure search by the leave-one-out conditional log likelihood of the class variable."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from bayesgraph.ancestors import Arc
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.arcs import TIE_DECIMALS, ArcRules, arc_scores
from bayesgraph.learning.leave_one_out import Joints, LeaveOneOut, Part, losses
from bayesgraph.statistics import Pairs
from bayesgraph.variables import Name, Variable

# Maximum number of candidate parents per feature: those with the highest scores given the class.
_MAX_CANDIDATES = 20
# Number of arcs whose gains are recomputed together if that takes a pass over a dataset.
_ARCS_OF_PASS = 64


def climb_by_rows(
    rows: LeaveOneOut, features: tuple[Variable, ...], maximum: int, rules: ArcRules
) -> dict[Arc, float]:
    """Return arcs between features that raise the leave-one-out conditional log likelihood.

    The objective is sum log P(y | x) over the rows, each predicted from the statistics of all other
    rows. Arcs are added one at a time, the arc with the highest gain first, until no arc gains.
    Every added arc changes the gains of the others. The search is lazy: it recomputes the gain of
    an arc only when that gain is the highest known, assuming that gains seldom grow (Minoux 1978,
    for functions whose gains never grow). The candidate parents of a feature are the 20 features
    whose arcs to it have the highest positive gains given the class in `arc_scores` (as the sparse
    candidates of Friedman, Nachman, Pe'er 1999).

    Parameters
    ----------
    rows : LeaveOneOut
    features : tuple of Variable
    maximum : int
        Maximum number of parents of a feature besides the class.
    rules : ArcRules
        Required arcs, from which the search starts, and forbidden arcs.

    Returns
    -------
    mapping from arc to float
        Gain in the leave-one-out conditional log likelihood by each arc, in nats per row.
    """
    return _RowSearch(rows, features, maximum, rules).climb()


def _candidates(
    rows: LeaveOneOut, features: tuple[Variable, ...], allowed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    summary = rows.source.pairs(Pairs(features, rows.target))
    gains = np.round(arc_scores(rows.source, summary, rows.smoothing).gains, TIE_DECIMALS)
    score = np.where(allowed & (gains > 0), gains, -np.inf)
    rank = np.argsort(np.argsort(-score, axis=0, kind="stable"), axis=0, kind="stable")
    return np.asarray((rank < _MAX_CANDIDATES) & (score > 0))


class _RowSearch:
    """State of the greedy search: arcs added, log joint of each row, gains of candidate arcs."""

    def __init__(
        self, rows: LeaveOneOut, features: tuple[Variable, ...], maximum: int, rules: ArcRules
    ) -> None:
        self._rows, self._features, self._maximum = rows, features, maximum
        self._forced = rules.forced(features)
        allowed = rules.admissible(features) & ~self._forced
        d = len(features)
        self._open = _candidates(rows, features, allowed) if d > 1 else allowed
        self._gains = np.zeros((d, d))
        self._stale = self._open.copy()  # True where a gain predates the last added arc
        self._parents: list[list[int]] = [[] for _ in features]
        self._reach = np.eye(d, dtype=np.bool_)
        rows.learn(((), v) for v in features)
        self._joints = Joints(rows, self._first)
        self._loss = sum(losses(joint, part, "log") for part, joint in self._joints.parts())
        # The loss with each arc that was tried since the last one was added.
        self._tried: dict[tuple[int, int], float] = {}
        self._found: dict[Arc, float] = {}

    def _first(self, part: Part) -> Floats:
        joint = self._rows.prior(part)
        for v in self._features:
            joint += self._rows.term((), v, part)
        return joint

    def climb(self) -> dict[Arc, float]:
        """Add arcs until none raises the conditional likelihood; return their gains per row."""
        for p, c in np.argwhere(self._forced).tolist():
            self._add(p, c)
        self._look(self._open)
        while True:
            full = np.array(
                [len(above) >= self._maximum for above in self._parents], dtype=np.bool_
            )
            self._open &= ~(self._reach.T | full)
            if not self._open.any():
                return self._found
            gains = np.where(self._open, self._gains, -np.inf)
            p, c = (int(i) for i in np.unravel_index(np.argmax(gains), gains.shape))
            stale = self._open & self._stale
            if gains[p, c] > 0 and not stale[p, c]:
                self._add(p, c)
            elif gains[p, c] > 0:
                self._look_at(p, c)
            elif stale.any():
                self._look(stale)  # no gain is positive: recompute old ones
            else:
                return self._found

    def _look(self, arcs: NDArray[np.bool_]) -> None:
        """Recompute the gains of the arcs in a mask, shape (d, d), parents along the first axis."""
        places = [(p, c) for p, c in np.argwhere(arcs).tolist()]
        self._try([place for place in places if place not in self._tried])
        for p, c in places:
            self._look_at(p, c)

    def _look_at(self, p: int, c: int) -> None:
        """Recompute the gain of the arc p -> c, which is the highest that is known."""
        if (p, c) not in self._tried:
            self._try([(p, c)] if self._rows.source.in_memory else self._next())
        self._gains[p, c] = round((self._loss - self._tried[p, c]) / self._rows.total, TIE_DECIMALS)
        self._stale[p, c] = False

    def _next(self) -> list[tuple[int, int]]:
        """Return the arcs whose gains the search will need first, the next one among them."""
        gains = np.where(self._open & self._stale, self._gains, -np.inf)
        order = np.argsort(-gains, axis=None, kind="stable")[:_ARCS_OF_PASS]
        places = zip(*(i.tolist() for i in np.unravel_index(order, gains.shape)), strict=True)
        return [(p, c) for p, c in places if gains[p, c] > 0 and (p, c) not in self._tried]

    def _try(self, places: Sequence[tuple[int, int]]) -> None:
        """Compute the loss with each of some arcs, in one pass over the rows."""
        self._rows.learn(self._key(p, c) for p, c in places)
        found = dict.fromkeys(places, 0.0)
        by_child = [
            (self._key(None, c), list(group))
            for c, group in groupby(sorted(places, key=itemgetter(1)), itemgetter(1))
        ]
        for part, joint in self._joints.parts():
            for before, group in by_child:
                old = self._rows.term(*before, part)
                for p, c in group:
                    new = joint - old + self._rows.term(*self._key(p, c), part)
                    found[p, c] += losses(new, part, "log")
        self._tried |= found

    def _key(self, p: int | None, c: int) -> tuple[tuple[Variable, ...], Variable]:
        """Return the parents of c besides the class, with p if it is given, and c."""
        above = self._parents[c] if p is None else [*self._parents[c], p]
        # In the order of their addition, which back-off uses.
        return tuple(self._features[q] for q in above), self._features[c]

    def _add(self, p: int, c: int) -> None:
        names: tuple[Name, Name] = (self._features[p].name, self._features[c].name)
        if (p, c) not in self._tried:
            self._try([(p, c)])
        loss = self._tried[p, c]
        self._found[names] = (self._loss - loss) / self._rows.total
        self._loss = loss
        self._tried.clear()
        before, after, term = self._key(None, c), self._key(p, c), self._rows.term
        self._joints.change(lambda joint, part: joint - term(*before, part) + term(*after, part))
        self._parents[c].append(p)
        self._reach |= np.outer(self._reach[:, p], self._reach[c])
        self._open[p, c] = False
        self._stale = self._open.copy()
