"""Greedy and tabu search of structures: add, remove or reverse the arc that gains most."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.variables import Arc, Discrete, Variable
from bayesgraph.learning import structure_kernels
from bayesgraph.learning.greedy import RowSearch
from bayesgraph.learning.information import TIE_DECIMALS
from bayesgraph.learning.leave_one_out import LeaveOneOut
from bayesgraph.learning.scores import GENERAL_SCORES, SCORES, Extension, Gains
from bayesgraph.learning.structure import (
    ArcRules,
    Structure,
    all_columns,
    below_class,
    check_source,
    learner,
    target_of,
)
from bayesgraph.learning.structure_kernels import ADD, DROP, REVERSE
from bayesgraph.statistics import CountSource, SmoothingLike, as_smoothing, one_of

# Share of the arcs that a restart removes or reverses, and their least number. On samples of seven
# published networks, shares of 0.15 and 0.5 led to the same mean F1 within 0.011; fewer arcs lead
# back to the same graph more often, more arcs take longer.
_PERTURBED, _FEWEST = 0.3, 3
# Restarts by default of tables with so many rows: better searches pay there, and cost little beside
# other programs' searches.
_RESTARTS, _MANY_ROWS = 3, 5000
# Sums of gains that differ by less are ties, in units of `TIE_DECIMALS` decimals.
_ROUNDING = 50.0


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
        What the arcs maximise.

        * "bic", "aic": log likelihood minus log(rows) / 2 (Schwarz 1978) or 1 (Akaike 1974) per
          parameter;
        * "bdeu": log marginal likelihood under a uniform Dirichlet prior (Heckerman, Geiger,
          Chickering 1995); BIC for continuous children;
        * "likelihood": log likelihood; as every arc gains, only `max_parents` limits arcs;
        * "fcll": factorised conditional log likelihood (Carvalho, Roos, Oliveira, Myllymäki 2011),
          not penalised, as published; arcs that discriminate classes poorly may have negative
          gains;
        * "cll": leave-one-out conditional log likelihood of the classes of the rows (see
          `RowSearch`); arcs are only added, and the source must hold the rows.
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
    maximum = whole_number("max_parents=", "parents", max_parents, 0)
    one_of("score", score, (*SCORES, "cll"))
    rules = ArcRules.of(required, forbidden, [v.name for v in features])
    rules.check_parents(maximum)
    if score == "cll":
        rows = LeaveOneOut(source, target, as_smoothing(smoothing))
        search = RowSearch(rows, features, maximum, rules)
        return below_class(target, features, search.climb())
    gains = Gains(source, (*features, target), as_smoothing(smoothing), score, ess)
    climber = Climber(features, target, gains, maximum, rules)
    return below_class(target, features, climber.climb())


@learner(counts_ahead={"max_parents": (0, 1)})
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
    restarts: int | None = None,
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
    restarts : int, optional
        The search ends after as many restarts in succession that find no better graph. A restart
        removes or reverses some arcs of the best graph, drawn with a fixed seed, and climbs on
        (iterated local search; Lourenço, Martin, Stützle 2003). With 10 the score and the edges
        are clearly better, for three to nine times the time. By default 3 of tables with 5,000
        rows or more and without a class, else 0.
    """
    arcs = required, forbidden, tiers
    # Each step is uphill: no memory of earlier graphs (1), and no patience with worse ones (0).
    search = restarts, 1, 0
    return _search_all("unrestricted", source, smoothing, score, ess, max_parents, arcs, *search)


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
    restarts: int | None = None,
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
    restarts : int, optional
        As for `unrestricted`; each restart searches on from changed arcs as from the start.
    """
    arcs = required, forbidden, tiers
    length = whole_number("length=", "graphs", length, 1)
    search = restarts, length, whole_number("patience=", "steps", patience, 1)
    return _search_all("tabu", source, smoothing, score, ess, max_parents, arcs, *search)


def _search_all(
    name: str,
    source: CountSource,
    smoothing: SmoothingLike,
    score: str,
    ess: float,
    max_parents: int | None,
    arcs: tuple[Any, Any, Any],
    restarts: int | None,
    length: int,
    patience: int,
) -> Structure:
    """Return the best structure over all columns, the class among them as any other.

    The parameters are those of `unrestricted` and `tabu`, which is the learner `name`; `arcs` are
    the required and the forbidden arcs and the tiers. `length` and `patience` are as in `Climber`.
    """
    check_source(source, name)
    if source.target is None:
        one_of("score", score, GENERAL_SCORES)
    columns = all_columns(source)
    required, forbidden, tiers = arcs
    rules = ArcRules.of(required, forbidden, [v.name for v in columns], tiers)
    most = len(columns) if max_parents is None else max_parents  # None is no limit
    limit = whole_number("max_parents=", "parents", most)
    rules.check_parents(limit)
    gains = Gains(source, columns, as_smoothing(smoothing), score, ess)
    n_restarts = _RESTARTS
    if restarts is not None:
        n_restarts = whole_number("restarts=", "restarts", restarts, 0)
    elif source.target is not None or gains.rows(columns, None) < _MANY_ROWS:
        n_restarts = 0
    climber = Climber(columns, None, gains, limit, rules, n_restarts, length, patience)
    return below_class(None, columns, climber.climb())


class Climber:
    """State of the search: a graph, and the gain in score by each change of one arc.

    Attributes
    ----------
    columns : tuple of Variable
    condition : Discrete or None
        A fixed parent of all columns, usually the class; None for a general network.
    gains : Gains
        Its columns are these, and then `condition`.
    maximum : int
        Maximum number of parents of a column besides `condition`.
    restarts : int
        Number of restarts from perturbed best graphs, in succession without a better graph, after
        which the search ends.
    length : int
        Number of last graphs to which no change returns.
    patience : int
        Number of changes without a better graph after which a search from a graph ends; if it is 0,
        with the first change that does not raise the score.
    parents : list of lists of int
        Indices of the parents of each column.
    changes : ndarray, shape (2, d, d)
        Gain in score by removing (first) and adding each arc, in nats, parents along the second
        axis; -inf where the arc cannot be removed or added.
    """

    def __init__(
        self,
        columns: tuple[Variable, ...],
        condition: Discrete | None,
        gains: Gains,
        maximum: int,
        rules: ArcRules,
        restarts: int = 0,
        length: int = 1,
        patience: int = 0,
    ) -> None:
        self.columns, self.condition, self.gains, self.maximum = columns, condition, gains, maximum
        self.restarts, self.length, self.patience = restarts, length, patience
        d = len(columns)
        self._allowed, self._forced = rules.admissible(columns), rules.forced(columns)
        # `_pairs` has the gain of each arc to a child without other parents, parents first.
        self.changes, self._pairs = np.full((2, d, d), -np.inf), np.full((d, d), -np.inf)
        self._unit = 10.0**-TIE_DECIMALS  # to which gains are rounded, in nats; see `_start`
        # A graph is known by the exclusive or of the marks of its arcs (Zobrist 1970).
        self._marks = np.random.default_rng(0).integers(1 << 63, size=(d, d))
        self._random = np.random.default_rng(0)
        self._adopt([np.flatnonzero(above).tolist() for above in self._forced.T])

    def climb(self) -> dict[Arc, float]:
        """Change arcs until no change raises the score; return the arcs and their gains per row."""
        if len(self.columns) > 1:
            self._start()
            self._search()
        rows = self._unit * 10.0**TIE_DECIMALS  # their total weight, see `_start`
        # An arc has gained what its removal would lose.
        return {
            (self.columns[p].name, column.name): float(-self.changes[DROP, p, c] / rows)
            for c, column in enumerate(self.columns)
            for p in self.parents[c]
        }

    def _search(self) -> None:
        """Search from the graph, and again from perturbed ones as long as that finds better ones.

        With missing values, gains come from different rows, and may add up in a cycle: a graph that
        was met before is not better.
        """
        self._search_once()
        met, since = {self._graph}, 0  # restarts since the last better graph
        while since < self.restarts:
            # The gains by the perturbation (as a rule negative) and by the search from there.
            kept, since = self._copy(), since + 1
            if self._perturb() + self._search_once() > _ROUNDING and self._graph not in met:
                since = 0
                met.add(self._graph)
            else:
                self._return(kept)

    def _search_once(self) -> float:
        """Change arcs to the best graph on the way; return the sum of the gains in units."""
        # The last graphs, to which no change returns, and the least gain that makes a graph better.
        last, least = deque([self._graph], maxlen=self.length), _ROUNDING if self.patience else 0.0
        # All graphs so far, the gain since the first one, that of the best one, steps since then.
        met, total, best, since = {self._graph}, 0.0, 0.0, 0
        kept = self._copy()
        # Without patience each change is a gain, and resets the steps since the best graph.
        while since < max(self.patience, 1):
            # The gain is rounded, in units of `TIE_DECIMALS` decimals of a nat a row.
            graph = self._arcs, self._paths, self._forced, self._full, self._unit, self._marks
            # Of the change: the gain, the kind (such as `ADD`), the parent and the child.
            change: tuple[float, int, int, int] = structure_kernels.best_change(
                self.changes, *graph, self._graph, np.array(last)
            )
            # No change is possible, or without patience none gains.
            if change[0] == -np.inf or not (self.patience or change[0] > 0):
                break
            self._refresh(self._apply(change))
            last.append(self._graph)
            total, since = total + change[0], since + 1
            if self._graph not in met and total - best > least:
                best, since, kept = total, 0, self._copy()
            met.add(self._graph)
        self._return(kept)
        return best

    def _copy(self) -> list[list[int]]:
        """Return the graph, to which `_return` can return."""
        return [list(above) for above in self.parents]

    def _return(self, parents: list[list[int]]) -> None:
        """Return to a graph that the search has met."""
        changed = [c for c, above in enumerate(parents) if set(above) != set(self.parents[c])]
        self._adopt(parents)
        self._refresh(changed)

    def _perturb(self) -> float:
        """Remove or reverse a share of the arcs; return the gain, in units."""
        total, n_arcs = 0.0, sum(map(len, self.parents))
        for _ in range(max(_FEWEST, round(_PERTURBED * n_arcs))):
            arcs = np.argwhere(self._arcs & ~self._forced)
            if not len(arcs):
                break
            p, c = arcs[self._random.integers(len(arcs))].tolist()
            # Another path from p to c would close a cycle with the arc c -> p.
            detour = any(self._paths[p, q] for q in self.parents[c] if q != p)
            # Nor may p have too many parents, or the arc c -> p be ruled out.
            fixed = detour or self._full[p] or self.changes[ADD, c, p] == -np.inf
            kind = DROP if self._random.random() >= 0.5 or fixed else REVERSE
            gain = float(self.changes[DROP, p, c])
            # A reversal removes an arc and adds the opposite one, for two different children.
            if kind == REVERSE:
                gain += float(self.changes[ADD, c, p])
            total += gain / self._unit
            self._refresh(self._apply((gain, kind, p, c)))
        return total

    def _start(self) -> None:
        """Compute the gain of each arc alone, and of the changes of the first graph."""
        pairs, learnable = self.gains.of_pairs(self.columns, self.condition)
        self._allowed &= learnable | self._forced
        # Scores of columns of as many states share terms.
        by_states = sorted(range(len(pairs)), key=self.gains.cards.__getitem__)
        # The possible parents of each column.
        self._candidates = [[p for p in by_states if may[p]] for may in self._allowed.T]
        self._pairs = np.where(self._allowed, pairs, -np.inf)
        # The gains of the sets of parents that were met, at first of none: searches come back to
        # many of them.
        without = np.stack([np.full(pairs.shape, -np.inf), self._pairs])
        self._gains_of: dict[tuple[int, tuple[int, ...]], Floats] = {
            (c, ()): without[:, :, c] for c in range(len(pairs))
        }
        # The last decimal of a gain per row, times the rows: gains of changes are sums over rows.
        self._unit = self.gains.rows(self.columns, self.condition) * 10.0**-TIE_DECIMALS
        self._refresh(list(range(len(pairs))))

    def _adopt(self, parents: list[list[int]]) -> None:
        """Make the graph of some parents the current one, and derive from it what searches need.

        These are masks of arcs and of directed paths, parents along the first axis; of columns
        that have the maximum number of parents; and the mark of the graph.
        """
        d = len(parents)
        self.parents = parents
        self._arcs = np.zeros((d, d), dtype=np.bool_)
        for c, above in enumerate(parents):
            self._arcs[above, c] = True
        self._full = np.array([len(above) >= self.maximum for above in parents])
        self._graph = int(np.bitwise_xor.reduce(self._marks[self._arcs], initial=0))
        self._paths = np.empty_like(self._arcs)
        structure_kernels.reach(self._arcs, self._paths)

    def _refresh(self, children: list[int]) -> None:
        """Recompute the gains of adding and removing parents of `children`, in one data pass."""
        # Requests for gains, and where in `changes` the answers go: (kind, child, parents).
        requests: list[Extension] = []
        places: list[tuple[int, int, list[int]]] = []
        keys = {c: (c, tuple(sorted(self.parents[c]))) for c in children}
        for c, key in keys.items():
            if key in self._gains_of:
                self.changes[:, :, c] = self._gains_of[key]
                continue
            above = self.parents[c]
            # Dropping an arc loses what adding it gained, if it was the last change here, or is the
            # only one; for other arcs of the graph the gain of adding is -inf.
            of_adding = self._pairs if len(above) == 1 else self.changes[ADD]
            gains_of_adding = of_adding[above, c].tolist()
            self.changes[:, :, c] = -np.inf
            for p, gain in zip(above, gains_of_adding, strict=True):
                if gain > -np.inf:
                    self.changes[DROP, p, c] = -gain
                    continue
                others = self._others([q for q in above if q != p])
                requests.append(Extension((p,), others, c))
                places.append((DROP, c, [p]))
            if len(above) < self.maximum:
                new = [p for p in self._candidates[c] if p not in above]
                if not new:
                    continue
                requests.append(Extension(tuple(new), self._others(above), c))
                places.append((ADD, c, new))
        for (kind, c, new), gains in zip(places, self.gains.of(requests), strict=True):
            self.changes[kind, new, c] = gains if kind == ADD else -gains
        self._gains_of |= {key: self.changes[:, :, c].copy() for c, key in keys.items()}

    def _others(self, parents: list[int]) -> tuple[int, ...]:
        """Return parents in the order of the columns, but the class first, a fixed one included."""
        others, target = sorted(parents), self.gains.target
        if self.condition is not None:
            return (target, *others)
        if target in others:
            others.remove(target)
            others.insert(0, target)
        return tuple(others)

    def _apply(self, change: tuple[float, int, int, int]) -> list[int]:
        """Make a change of the arc p -> c; return the columns with changed parents."""
        _, kind, p, c = change
        changed = [c] if kind != REVERSE else [c, p]
        if kind == ADD:
            self.parents[c].append(p)
        else:
            self.parents[c].remove(p)
            if kind == REVERSE:
                self.parents[p].append(c)
                self._arcs[c, p] = True
                # Exclusive or adds the mark of an arc, or removes it.
                self._graph ^= int(self._marks[c, p])
        self._arcs[p, c] = kind == ADD
        structure_kernels.reach(self._arcs, self._paths)
        self._graph ^= int(self._marks[p, c])
        for child in changed:
            self._full[child] = len(self.parents[child]) >= self.maximum
        return changed
