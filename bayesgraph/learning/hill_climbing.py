"""Greedy structure search: add, remove or reverse the arc that raises the score most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.ancestors import Arc, parents_first
from bayesgraph.errors import GraphError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.arcs import TIE_DECIMALS, ArcRules, at_least
from bayesgraph.learning.conditional_likelihood_search import climb_by_rows
from bayesgraph.learning.leave_one_out import LeaveOneOut
from bayesgraph.learning.scores import SCORES, Gains
from bayesgraph.learning.smoothing import SmoothingLike, as_smoothing, one_of
from bayesgraph.learning.structure import (
    Structure,
    below_class,
    check_source,
    learner,
    target_of,
)
from bayesgraph.statistics import CountSource
from bayesgraph.variables import Discrete, Variable

_DROP, _ADD, _REVERSE = range(3)


@learner(counts_ahead={"max_parents": (0, 1), "score": SCORES}, counts="search")
def hill_climb(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    score: str = "bic",
    ess: float = 1.0,
    max_parents: int = 2,
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
) -> Structure:
    """Return a naive Bayes structure augmented by greedy search for arcs between features.

    The class is a parent of every feature. The search starts from the required arcs between
    features, and repeats the addition, removal or reversal of an arc of the highest gain until no
    change raises the score.

    Parameters
    ----------
    source : CountSource
    smoothing : name, number or Smoothing
        Smoothing of the variances of continuous columns.
    score : {"bic", "aic", "bdeu", "likelihood", "fcll", "cll"}
        * "bic", "aic": log likelihood minus log(rows) / 2 (Schwarz 1978) or 1 (Akaike 1974) per
          parameter;
        * "bdeu": log marginal likelihood under a uniform Dirichlet prior (Heckerman, Geiger,
          Chickering 1995); BIC for continuous children;
        * "likelihood": log likelihood; as every arc gains, only `max_parents` limits arcs;
        * "fcll": factorised conditional log likelihood (Carvalho, Roos, Oliveira, Myllymäki 2011),
          not penalised, as published; arcs that discriminate classes poorly may have negative
          gains;
        * "cll": leave-one-out conditional log likelihood of the classes of the rows (see
          `climb_by_rows`); arcs are only added, and the source must hold the rows.
    ess : float, default 1.0
        Equivalent sample size of "bdeu", in rows.
    max_parents : int, default 2
        Maximum number of parents of a feature besides the class.
    required, forbidden : iterable of (parent, child), optional
        Arcs between features.

    Returns
    -------
    Structure
        The score of an arc is the gain by adding it to the child's other parents, in nats per row.

    Raises
    ------
    DataError
        If the score is unknown.
    GraphError, UnknownVariableError
        If required and forbidden arcs contradict each other, or name a variable that is no feature.
    """
    target = target_of(source, "hill_climb")
    features = source.features
    maximum = at_least("max_parents", max_parents, 0)
    one_of("score", score, (*SCORES, "cll"))
    rules = ArcRules.of(required, forbidden, [v.name for v in features])
    if score == "cll":
        rows = LeaveOneOut(source, target, as_smoothing(smoothing))
        return below_class(target, features, climb_by_rows(rows, features, maximum, rules))
    gains = Gains(source, as_smoothing(smoothing), score, ess)
    climber = Climber(features, target, gains, maximum, rules)
    return below_class(target, features, climber.climb())


@learner(counts_ahead={"max_parents": (0, 1)}, counts="search")
def unrestricted(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    score: str = "bic",
    ess: float = 1.0,
    max_parents: int = 3,
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
) -> Structure:
    """Return a general network structure, in which the class is a variable like any other.

    Like `hill_climb`, without arcs from the class to all features: the class may have parents,
    children or neither, and is predicted from its Markov blanket. The source needs no class.

    Parameters
    ----------
    source, smoothing, score, ess
        As for `hill_climb`, without the score "cll". The other scores are better than "fcll" here:
        for a child without the class as a parent, "fcll" is only a fraction of the log likelihood.
    max_parents : int, default 3
        Maximum number of parents of each variable.
    required, forbidden : iterable of (parent, child), optional
        Arcs, including arcs of the class.
    """
    check_source(source, "unrestricted")
    target = source.target
    columns = source.features if target is None else (target, *source.features)
    gains = Gains(source, as_smoothing(smoothing), score, ess)
    rules = ArcRules.of(required, forbidden, [v.name for v in columns])
    climber = Climber(columns, None, gains, at_least("max_parents", max_parents, 0), rules)
    return below_class(None, columns, climber.climb())


class Climber:
    """State of the greedy search: a graph, and the gain in score by each change of one arc.

    Attributes
    ----------
    columns : tuple of Variable
    given : Discrete or None
        A fixed parent of all columns, usually the class; None for a general network.
    gains : Gains
    maximum : int
        Maximum number of parents of a column besides `given`.
    parents : list of lists of int
        Indices of the parents of each column.
    adding, dropping : ndarray, shape (d, d)
        Gain in score by adding or removing each arc, in nats, parents along the first axis; -inf
        where the arc cannot be added or removed.
    """

    def __init__(
        self,
        columns: tuple[Variable, ...],
        given: Discrete | None,
        gains: Gains,
        maximum: int,
        rules: ArcRules,
    ) -> None:
        self.columns, self.given, self.gains, self.maximum = columns, given, gains, maximum
        d = len(self.columns)
        self._allowed = rules.admissible(self.columns)
        self._forced = rules.forced(self.columns)
        self.parents = [np.flatnonzero(self._forced[:, c]).tolist() for c in range(d)]
        for c, above in enumerate(self.parents):
            if len(above) > self.maximum:
                names = quoted(self.columns[p].name for p in above)
                raise GraphError(
                    f"{self.columns[c].name!r} is required to have the parents {names}; choose "
                    f"max_parents of {len(above)} or more."
                )
        self.adding, self.dropping = np.full((2, d, d), -np.inf)
        self._rows = 1.0

    def climb(self) -> dict[Arc, float]:
        """Change arcs until no change raises the score; return the arcs and their gains per row."""
        if len(self.columns) > 1:
            self._start()
            seen = {self._graph()}
            while (move := self._best()) is not None:
                self._refresh(self._apply(*move))
                # With missing values, gains come from different rows, and changes may repeat in a
                # cycle.
                if (graph := self._graph()) in seen:
                    break
                seen.add(graph)
        return self._scored()

    def _start(self) -> None:
        pairs = self.gains.of_pairs(self.columns, self.given)
        self.adding = np.where(self._allowed, pairs, -np.inf)
        self._rows = self.gains.rows(self.columns, self.given)
        self._refresh([c for c, above in enumerate(self.parents) if above])

    def _graph(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(sorted(above)) for above in self.parents)

    def _refresh(self, children: list[int]) -> None:
        """Recompute the gains of adding and removing parents of `children`, in one data pass."""
        asked: list[tuple[int, int, bool]] = []
        for c in children:
            above = self.parents[c]
            self.adding[:, c] = self.dropping[:, c] = -np.inf
            asked += [(p, c, False) for p in above]
            if len(above) < self.maximum:
                new = np.flatnonzero(self._allowed[:, c])
                asked += [(p, c, True) for p in new.tolist() if p not in above]
        found = self.gains.of([self._family(p, c) for p, c, _ in asked])
        for (p, c, adds), gain in zip(asked, found.tolist(), strict=True):
            if adds:
                self.adding[p, c] = gain
            else:
                self.dropping[p, c] = -gain

    def _family(self, parent: int, child: int) -> tuple[tuple[Variable, ...], Variable]:
        others = [self.columns[q] for q in sorted(self.parents[child]) if q != parent]
        target = self.gains.source.target
        if self.given is not None:
            others.insert(0, self.given)
        elif target in others:
            others.insert(0, others.pop(others.index(target)))
        return (self.columns[parent], *others), self.columns[child]

    def _best(self) -> tuple[int, int, int] | None:
        """Return the change with the highest gain as (kind, parent, child), None if no gain.

        The kinds are removal, addition and reversal of the arc parent -> child.
        """
        reach = self._reach()
        full = np.array([len(above) >= self.maximum for above in self.parents])
        adding = np.where(reach.T | full, -np.inf, self.adding)
        dropping = np.where(self._forced, -np.inf, self.dropping)
        kinds = np.stack([dropping, adding, self._reversing(reach, full, dropping)])
        rank = np.round(kinds / self._rows, TIE_DECIMALS)
        best = int(np.argmax(rank))
        if not rank.flat[best] > 0:
            return None
        kind, p, c = (int(i) for i in np.unravel_index(best, rank.shape))
        return kind, p, c

    def _reach(self) -> NDArray[np.bool_]:
        """Return whether a directed path leads from i to j, shape (d, d); True on the diagonal."""
        into = np.eye(len(self.columns), dtype=np.bool_)  # ancestors of each column, and itself
        order: Any = parents_first(dict(enumerate(self.parents)))
        for c in order:
            for p in self.parents[c]:
                into[c] |= into[p]
        return into.T

    def _reversing(
        self, reach: NDArray[np.bool_], full: NDArray[np.bool_], dropping: Floats
    ) -> Floats:
        """Return the gain in score by reversing each arc p -> c, shape (d, d).

        It is -inf for reversals that make a cycle or give p too many parents.

        Parameters
        ----------
        reach : ndarray of bool, shape (d, d)
            Whether there is a directed path from i to j.
        full : ndarray of bool, shape (d,)
            Whether a column has the maximum number of parents.
        dropping : ndarray, shape (d, d)
            Gain by removing each arc, -inf for required arcs.
        """
        found = np.full(dropping.shape, -np.inf)
        for c, above in enumerate(self.parents):
            for p in above:
                detour = any(reach[p, q] for q in above if q != p)
                if not (detour or full[p]):
                    found[p, c] = dropping[p, c] + self.adding[c, p]
        return found

    def _apply(self, kind: int, p: int, c: int) -> list[int]:
        """Add, remove or reverse (`kind`) the arc p -> c; return columns with changed parents."""
        if kind == _ADD:
            self.parents[c].append(p)
            return [c]
        self.parents[c].remove(p)
        if kind == _DROP:
            return [c]
        self.parents[p].append(c)
        return [c, p]

    def _scored(self) -> dict[Arc, float]:
        return {
            (self.columns[p].name, column.name): float(-self.dropping[p, c] / self._rows)
            for c, column in enumerate(self.columns)
            for p in self.parents[c]
        }
