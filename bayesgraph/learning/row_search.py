"""Arcs between features by the conditional log likelihood of the rows, each left out."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.graph import Arc
from bayesgraph.learning.arcs import TIE_DECIMALS, ArcRules
from bayesgraph.learning.leave_one_out import LeaveOneOut, chunks, losses
from bayesgraph.variables import Name, Variable


def climb_by_rows(
    rows: LeaveOneOut, features: tuple[Variable, ...], most: int, rules: ArcRules
) -> dict[Arc, float]:
    """Return the arcs between features that the conditional log likelihood of the rows asks for.

    Arcs are added one at a time, the one that gains most first. As each changes what all others
    gain, gains are looked up again only when an arc comes to the top: a lazy greedy search, which
    takes it that gains seldom grow (as Minoux 1978 for functions where they never do).

    Returns
    -------
    mapping from arc to float
        What the leave-one-out conditional log likelihood gained by it, in nats a row.
    """
    return _RowSearch(rows, features, most, rules).climb()


class _RowSearch:
    """The state of a search by rows: the log joint of every row, by which candidates are judged."""

    def __init__(
        self, rows: LeaveOneOut, features: tuple[Variable, ...], most: int, rules: ArcRules
    ) -> None:
        self._rows, self._features, self._most = rows, features, most
        self._allowed, self._forced = rules.admissible(features), rules.forced(features)
        self._parts = list(chunks(rows.table.n_rows))
        self._parents: list[list[int]] = [[] for _ in features]
        self._reach = np.eye(len(features), dtype=np.bool_)
        self._total = max(float(rows.weights.sum()), 1.0)
        rows.learn(((), v) for v in features)
        self._joint = np.concatenate([self._first(part) for part in self._parts])
        self._loss = self._measured(self._joint)
        self._found: dict[Arc, float] = {}

    def _first(self, part: slice) -> Floats:
        joint = self._rows.prior(part)
        for v in self._features:
            joint += self._rows.term((), v, part)
        return joint

    def _measured(self, joint: Floats) -> float:
        return sum(losses(joint[part], self._rows, part, "log") for part in self._parts)

    def climb(self) -> dict[Arc, float]:
        """Add arcs while they gain."""
        for p, c in np.argwhere(self._forced).tolist():
            self._add(p, c)
        arcs = [(p, c) for p, c in np.argwhere(self._allowed).tolist() if not self._forced[p, c]]
        heap = [(-gain, p, c, 0) for (p, c), gain in zip(arcs, self._all(arcs), strict=True)]
        heapify(heap)
        version = 0
        while heap:
            price, p, c, at = heappop(heap)
            if self._reach[c, p] or len(self._parents[c]) >= self._most:
                continue
            if at < version:
                heappush(heap, (-self._gain(p, c), p, c, version))
            elif not price < 0:
                break
            else:
                self._add(p, c)
                version += 1
        return self._found

    def _all(self, arcs: list[tuple[int, int]]) -> list[float]:
        self._rows.learn(self._key(p, c) for p, c in arcs)
        return [self._gain(p, c) for p, c in arcs]

    def _key(self, p: int, c: int) -> tuple[tuple[Variable, ...], Variable]:
        names = sorted([*self._parents[c], p])
        return tuple(self._features[q] for q in names), self._features[c]

    def _with(self, p: int, c: int, part: slice) -> Floats:
        """Return the log joint of rows with one more arc."""
        before = tuple(self._features[q] for q in sorted(self._parents[c]))
        old = self._rows.term(before, self._features[c], part)
        return np.asarray(self._joint[part] - old + self._rows.term(*self._key(p, c), part))

    def _gain(self, p: int, c: int) -> float:
        """Return what an arc gains, in nats a row."""
        loss = sum(losses(self._with(p, c, part), self._rows, part, "log") for part in self._parts)
        return round((self._loss - loss) / self._total, TIE_DECIMALS)

    def _add(self, p: int, c: int) -> None:
        names: tuple[Name, Name] = (self._features[p].name, self._features[c].name)
        self._joint = np.concatenate([self._with(p, c, part) for part in self._parts])
        loss = self._measured(self._joint)
        self._found[names] = (self._loss - loss) / self._total
        self._loss = loss
        self._parents[c].append(p)
        self._reach |= np.outer(self._reach[:, p], self._reach[c])
