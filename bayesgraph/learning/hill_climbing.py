"""Greedy and tabu search of structures: add, remove or reverse the arc that gains most."""

from __future__ import annotations

from collections import deque
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
from bayesgraph.learning.scores import GENERAL_SCORES, SCORES, Extension, Gains
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
    max_parents: int | None = 3,
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
    tiers: Iterable[Any] | None = None,
) -> Structure:
    """Return a general network structure, in which the class is a variable like any other.

    Like `hill_climb`, without arcs from the class to all features: the class may have parents,
    children or neither, and is predicted from its Markov blanket. The source needs no class.

    Parameters
    ----------
    source, smoothing, score, ess
        As for `hill_climb`, without the score "cll", and without "fcll" if there is no class. The
        other scores are better than "fcll" here: for a child without the class as a parent, "fcll"
        is only a fraction of the log likelihood.
    max_parents : int or None, default 3
        Maximum number of parents of each variable; None for no limit but that of the score.
    required, forbidden : iterable of (parent, child), optional
        Arcs, including arcs of the class.
    tiers : iterable of names or lists of names, optional
        Tiers in order of time: no arc leads from a tier to an earlier one. Variables in no tier may
        have arcs from and to all others.
    """
    columns, gains, rules, maximum = _general(
        "unrestricted", source, smoothing, score, ess, max_parents, (required, forbidden, tiers)
    )
    return below_class(None, columns, Climber(columns, None, gains, maximum, rules).climb())


def tabu(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    score: str = "bic",
    ess: float = 1.0,
    max_parents: int | None = None,
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
    tiers: Iterable[Any] | None = None,
    length: int = 100,
    patience: int = 15,
) -> Structure:
    """Return a general network structure found by tabu search (Glover 1986).

    Each step makes the best change of one arc that does not lead back to one of the last graphs,
    even if it lowers the score: the search leaves local maxima in which `unrestricted` ends. The
    best graph is returned.

    Parameters
    ----------
    source, smoothing, score, ess, required, forbidden, tiers
        As for `unrestricted`.
    max_parents : int, optional
        Maximum number of parents of each variable; by default only the score limits them.
    length : int, default 100
        Number of last graphs to which no step returns.
    patience : int, default 15
        Number of steps without a better graph after which the search ends.
    """
    columns, gains, rules, maximum = _general(
        "tabu", source, smoothing, score, ess, max_parents, (required, forbidden, tiers)
    )
    memory = at_least("length", length, 1), at_least("patience", patience, 1)
    return below_class(None, columns, TabuClimber(columns, gains, maximum, rules, *memory).climb())


def all_columns(source: CountSource) -> tuple[Variable, ...]:
    """Return the columns of a source, the class first if there is one."""
    return source.features if source.target is None else (source.target, *source.features)


def _general(
    name: str,
    source: CountSource,
    smoothing: SmoothingLike,
    score: str,
    ess: float,
    max_parents: int | None,
    arcs: tuple[Any, Any, Any],
) -> tuple[tuple[Variable, ...], Gains, ArcRules, int]:
    """Return what a search for a general network takes, from the parameters of a learner."""
    check_source(source, name)
    if source.target is None:
        one_of("score", score, GENERAL_SCORES)
    columns = all_columns(source)
    required, forbidden, tiers = arcs
    rules = ArcRules.of(required, forbidden, [v.name for v in columns], tiers)
    limit = len(columns) if max_parents is None else at_least("max_parents", max_parents, 0)
    return columns, Gains(source, as_smoothing(smoothing), score, ess), rules, limit


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
        self.adding, self.dropping, self._pairs = np.full((3, d, d), -np.inf)
        self._rows, self._paths = 1.0, self._reach()
        # Scores of columns of as many states share terms.
        self._by_states = sorted(range(d), key=lambda p: getattr(columns[p], "cardinality", 0))

    def climb(self) -> dict[Arc, float]:
        """Change arcs until no change raises the score; return the arcs and their gains per row."""
        if len(self.columns) > 1:
            self._start()
            self._search()
        return self._scored()

    def _search(self) -> None:
        seen = {self._graph()}
        while (move := self._best()) is not None:
            self._refresh(self._apply(*move))
            # With missing values, gains come from different rows, and changes may repeat in a
            # cycle.
            if (graph := self._graph()) in seen:
                break
            seen.add(graph)

    def _start(self) -> None:
        pairs = self.gains.of_pairs(self.columns, self.given)
        self._pairs = np.where(self._allowed, pairs, -np.inf)
        self.adding = np.where(self._forced, -np.inf, self._pairs)
        self._rows = self.gains.rows(self.columns, self.given)
        self._refresh([c for c, above in enumerate(self.parents) if above])

    def _graph(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(sorted(above)) for above in self.parents)

    def _refresh(self, children: list[int]) -> None:
        """Recompute the gains of adding and removing parents of `children`, in one data pass."""
        asked: list[Extension] = []
        places: list[tuple[Floats, int, list[int]]] = []
        for c in children:
            child, above = self.columns[c], self.parents[c]
            # An arc that was just added gains what it was expected to.
            before = self.adding[:, c].copy()
            self.adding[:, c] = self.dropping[:, c] = -np.inf
            if not above:
                self.adding[:, c] = self._pairs[:, c]
                continue
            if len(above) == 1:
                self.dropping[above[0], c] = -self._pairs[above[0], c]
            for p in above if len(above) > 1 else ():
                if before[p] > -np.inf:
                    self.dropping[p, c] = -before[p]
                    continue
                others = self._others([q for q in above if q != p])
                asked.append(Extension((self.columns[p],), others, child))
                places.append((self.dropping, c, [p]))
            if len(above) < self.maximum:
                allowed = self._allowed[:, c]
                new = [p for p in self._by_states if allowed[p] and p not in above]
                asked.append(
                    Extension(tuple(self.columns[p] for p in new), self._others(above), child)
                )
                places.append((self.adding, c, new))
        for (table, c, new), gains in zip(places, self.gains.of(asked), strict=True):
            table[new, c] = gains if table is self.adding else -gains

    def _others(self, parents: list[int]) -> tuple[Variable, ...]:
        """Return parents in the order of the columns, the class first."""
        others = [self.columns[q] for q in sorted(parents)]
        target = self.gains.source.target
        if self.given is not None:
            others.insert(0, self.given)
        elif target in others:
            others.insert(0, others.pop(others.index(target)))
        return tuple(others)

    def _best(self) -> tuple[int, int, int] | None:
        """Return the change with the highest gain as (kind, parent, child), None if no gain.

        The kinds are removal, addition and reversal of the arc parent -> child.
        """
        rank = self._ranked()
        best = int(np.argmax(rank))
        return _move(rank, best) if rank.flat[best] > 0 else None

    def _ranked(self) -> Floats:
        """Return the gain by each change of an arc in nats a row, rounded, shape (3, d, d)."""
        reach = self._paths
        full = np.array([len(above) >= self.maximum for above in self.parents])
        adding = np.where(reach.T | full, -np.inf, self.adding)
        dropping = np.where(self._forced, -np.inf, self.dropping)
        kinds = np.stack([dropping, adding, self._reversing(reach, full, dropping)])
        return np.round(kinds / self._rows, TIE_DECIMALS)

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
            self._paths |= np.outer(self._paths[:, p], self._paths[c])
            return [c]
        self.parents[c].remove(p)
        if kind == _REVERSE:
            self.parents[p].append(c)
        self._paths = self._reach()
        return [c] if kind == _DROP else [c, p]

    def _scored(self) -> dict[Arc, float]:
        return {
            (self.columns[p].name, column.name): float(-self.dropping[p, c] / self._rows)
            for c, column in enumerate(self.columns)
            for p in self.parents[c]
        }


class TabuClimber(Climber):
    """A search that also makes changes which lower the score, and does not return to last graphs.

    Parameters
    ----------
    columns, gains, maximum, rules
        As for Climber.
    length : int
        Number of last graphs to which no change returns.
    patience : int
        Number of changes without a better graph after which the search ends.
    """

    def __init__(
        self,
        columns: tuple[Variable, ...],
        gains: Gains,
        maximum: int,
        rules: ArcRules,
        length: int,
        patience: int,
    ) -> None:
        super().__init__(columns, None, gains, maximum, rules)
        self._length, self._patience = length, patience
        # A graph is known by the exclusive or of the marks of its arcs (Zobrist 1970).
        shape = len(columns), len(columns)
        self._marks = np.random.default_rng(0).integers(1 << 63, size=shape)
        self._known: dict[tuple[int, tuple[int, ...]], Floats] = {}

    def _search(self) -> None:
        graph = int(np.bitwise_xor.reduce(self._marks[self._forced], initial=0))
        last = deque([graph], maxlen=self._length)
        met, total, best, since = {graph}, 0.0, 0.0, 0
        kept = [list(above) for above in self.parents]
        while since < self._patience and (step := self._step(graph, last)) is not None:
            graph, gain, move = step
            self._refresh(self._apply(*move))
            last.append(graph)
            total, since = total + gain, since + 1
            # With missing values, gains come from different rows, and may add up in a cycle.
            if graph not in met and round(total - best, TIE_DECIMALS - 2) > 0:
                best, since, kept = total, 0, [list(above) for above in self.parents]
            met.add(graph)
        self.parents = kept
        self._refresh([c for c, above in enumerate(kept) if above])

    def _step(self, graph: int, last: deque[int]) -> tuple[int, float, tuple[int, int, int]] | None:
        """Return the graph of the best change to none of the last ones, its gain and the change."""
        rank = self._ranked()
        while np.isfinite(gain := float(rank.flat[best := int(np.argmax(rank))])):
            kind, p, c = _move(rank, best)
            after = graph ^ int(self._marks[p, c])
            if kind == _REVERSE:
                after ^= int(self._marks[c, p])
            if after not in last:
                return after, gain, (kind, p, c)
            rank.flat[best] = -np.inf
        return None

    def _refresh(self, children: list[int]) -> None:
        """Recompute gains, of sets of parents that the search has not met before."""
        keys = {c: (c, tuple(sorted(self.parents[c]))) for c in children}
        super()._refresh([c for c in children if keys[c] not in self._known])
        for c, key in keys.items():
            if key in self._known:
                self.adding[:, c], self.dropping[:, c] = self._known[key]
            else:
                self._known[key] = np.stack([self.adding[:, c], self.dropping[:, c]])


def _move(rank: Floats, place: int) -> tuple[int, int, int]:
    kind, p, c = (int(i) for i in np.unravel_index(place, rank.shape))
    return kind, p, c
