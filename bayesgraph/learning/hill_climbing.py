"""Greedy search for structures: add, drop or reverse the arc that gains most, until none does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import GraphError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.graph import Arc, parents_first
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


@learner(counts_ahead={"max_parents": (0, 1), "score": SCORES})
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
    """Return naive Bayes augmented by the arcs between features that a score asks for.

    The class is a parent of every feature. Starting with no arc between features (or the required
    ones), the arc whose addition, removal or reversal gains most is changed until none gains.

    Parameters
    ----------
    source : CountSource
    smoothing : name, number or Smoothing
        Of the variances of continuous columns.
    score : {"bic", "aic", "bdeu", "likelihood", "fcll", "cll"}
        * "bic", "aic": log likelihood less log(rows) / 2 (Schwarz 1978) or 1 (Akaike 1974) for each
          parameter;
        * "bdeu": log marginal likelihood under a uniform Dirichlet prior (Heckerman, Geiger,
          Chickering 1995); continuous children take BIC;
        * "likelihood": every arc gains: bounded by `max_parents` alone;
        * "fcll": factorised conditional log likelihood (Carvalho, Roos, Oliveira, Myllymäki 2011);
          not penalised, as published: bounded by `max_parents` and by what discriminates;
        * "cll": conditional log likelihood of the classes of the rows, each by the statistics of
          all others (see `climb_by_rows`); arcs are only added, and the source must have rows.
    ess : float, default 1.0
        Equivalent sample size of "bdeu", in rows.
    max_parents : int, default 2
        Parents of a feature besides the class.
    required, forbidden : iterable of (parent, child), optional
        Arcs between features.

    Returns
    -------
    Structure
        With what each arc adds to its child's other parents as its score, in nats a row.

    Raises
    ------
    DataError
        For an unknown score.
    GraphError, UnknownVariableError
        For rules that contradict each other or name what is no feature.
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


@learner(counts_ahead={"max_parents": (0, 1)})
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
    """Return a general Bayesian network, in which the class is a variable like any other.

    As `hill_climb`, without the arcs from the class: it may have parents, children or neither, and
    is predicted by its Markov blanket. Sources without a class will do.

    Parameters
    ----------
    source, smoothing, score, ess
        As for `hill_climb`; without the class above it "fcll" is no more than a share of the
        likelihood, so that the other scores are the better ones.
    max_parents : int, default 3
        Of each variable.
    required, forbidden : iterable of (parent, child), optional
        Arcs, those of the class included.
    """
    check_source(source, "unrestricted")
    target = source.target
    columns = source.features if target is None else (target, *source.features)
    gains = Gains(source, as_smoothing(smoothing), score, ess)
    rules = ArcRules.of(required, forbidden, [v.name for v in columns])
    climber = Climber(columns, None, gains, at_least("max_parents", max_parents, 0), rules)
    return below_class(None, columns, climber.climb())


class Climber:
    """The state of a search: a graph, and what each change of one arc would gain.

    Attributes
    ----------
    columns : tuple of Variable
    given : Discrete or None
        A parent of all columns.
    gains : Gains
    maximum : int
        Number of parents of a column besides `given`.
    parents : list of lists of int
    adding, dropping : ndarray, shape (d, d)
        Gains in nats, parents along the first axis; -inf where there is nothing to add or drop.
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
        """Change arcs until nothing gains; return them with their gains a row."""
        if len(self.columns) > 1:
            self._start()
            seen = {self._graph()}
            while (move := self._best()) is not None:
                self._refresh(self._apply(*move))
                # With missing values gains come from different rows, and changes may go in circles.
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
        """Ask for what has changed with the parents of some columns, all in one pass."""
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
        """Return the kind of change and the arc that gain most, if any do."""
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
        """Return from where there is a path to where, shape (d, d); each reaches itself."""
        into = np.eye(len(self.columns), dtype=np.bool_)  # from where each is reached
        order: Any = parents_first(dict(enumerate(self.parents)))
        for c in order:
            for p in self.parents[c]:
                into[c] |= into[p]
        return into.T

    def _reversing(
        self, reach: NDArray[np.bool_], full: NDArray[np.bool_], dropping: Floats
    ) -> Floats:
        """Return what it gains to turn each arc p -> c round, without making a cycle."""
        found = np.full(dropping.shape, -np.inf)
        for c, above in enumerate(self.parents):
            for p in above:
                detour = any(reach[p, q] for q in above if q != p)
                if not (detour or full[p]):
                    found[p, c] = dropping[p, c] + self.adding[c, p]
        return found

    def _apply(self, kind: int, p: int, c: int) -> list[int]:
        """Change an arc and return the columns whose parents are new."""
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
