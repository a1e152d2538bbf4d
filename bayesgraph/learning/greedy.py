"""Structures with few parents per feature besides the class: kDB and superparent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.errors import GraphError, quoted, unknown_variable
from bayesgraph.core.variables import Arc, Discrete, Name, Variable
from bayesgraph.learning.information import TIE_DECIMALS, arc_scores, by_score, class_scores
from bayesgraph.learning.leave_one_out import LOSSES, Change, Joints, LeaveOneOut, losses
from bayesgraph.learning.spanning import scores_of_pairs
from bayesgraph.learning.structure import (
    ArcRules,
    Structure,
    below_class,
    learned_by,
    learner,
    star,
    target_of,
)
from bayesgraph.statistics import (
    CountSource,
    Pairs,
    Singles,
    Smoothing,
    SmoothingLike,
    as_smoothing,
    one_of,
)

# ------------------ Structures with few parents per feature besides the class: kDB and superparent


# Maximum number of cells in a table; parents that would exceed it are skipped.
_MAX_CELLS = 1 << 21


@learner(counts_ahead={"k": (0, 1)})
def kdb(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    k: int = 2,
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
) -> Structure:
    """Return the structure of a k-dependence Bayesian classifier (kDB).

    Features enter in descending order of their mutual information with the class. The parents of a
    feature are the class and, among the features entered before, the k features of the highest
    conditional mutual information with it given the class (Sahami 1996). For mixed types the
    scores are those of `tan`, and discrete features have discrete parents only. A parent that would
    make a table of more than two million cells is skipped.

    Parameters
    ----------
    source : CountSource
    smoothing : name, number or Smoothing
        Smoothing of the moments from which scores are computed.
    k : int, default 2
        Maximum number of parents of a feature besides the class; 0 is naive Bayes.
    required, forbidden : iterable of (parent, child), optional
        Arcs between features. Required parents count among the k and enter before their children.

    Raises
    ------
    DataError
        If k is not an integer of 0 or more.
    GraphError, UnknownVariableError
        If required and forbidden arcs contradict each other, or name a variable that is no feature.
    """
    target = target_of(source, "kdb")
    k = whole_number("k=", "parents", k, 0)
    features = source.features
    rules = ArcRules.of(required, forbidden, [v.name for v in features])
    _, chosen, gains = ranked_parents(source, features, as_smoothing(smoothing), k, rules)
    return below_class(target, features, _named(features, chosen, gains))


def ranked_parents(
    source: CountSource,
    features: tuple[Variable, ...],
    smoothing: Smoothing,
    k: int,
    rules: ArcRules,
) -> tuple[list[int], list[list[int]], Floats]:
    """Return the order of the features in kDB, their ranked parents, and the gains of all arcs.

    Returns
    -------
    order : list of int
        Indices of the features, in the order in which they enter.
    chosen : list of list of int
        Indices of the at most k parents of each feature besides the class, best first.
    gains : ndarray, shape (d, d)
        Gain in log likelihood by each arc, in nats per row, parents along the first axis.

    Raises
    ------
    GraphError
        If the required parents of a feature are more than k, or make too large a table.
    """
    scores = scores_of_pairs(source, features, source.target, smoothing)
    gains, forced = scores.gains, rules.forced(features)
    alone = source.singles(Singles(features, source.target))
    order = _entering(by_score(class_scores(source, alone, smoothing)), forced)
    allowed = rules.admissible(features) & (scores.learnable | forced)
    chosen: list[list[int]] = [[] for _ in features]
    states = [v.cardinality if isinstance(v, Discrete) else 1 for v in features]
    classes = 1 if source.target is None else source.target.cardinality
    for at, child in enumerate(order):
        entered = np.array(order[:at], dtype=np.intp)
        candidates = np.sort(entered[allowed[entered, child]])  # ties go to the lowest index
        score = np.where(forced[candidates, child], np.inf, gains[candidates, child])
        ranked = [int(candidates[i]) for i in by_score(score)]
        # The first k candidates, best first, without those that would make the table too large:
        # `cells` is its size so far.
        cells = classes * states[child]
        parents: list[int] = []
        for parent in ranked:
            if len(parents) == k:
                break
            if cells * states[parent] <= _MAX_CELLS:
                parents.append(parent)
                cells *= states[parent]
        chosen[child] = parents
        if not set(np.flatnonzero(forced[:, child]).tolist()) <= set(chosen[child]):
            names = quoted(features[i].name for i in np.flatnonzero(forced[:, child]))
            raise GraphError(
                f"{features[child].name!r} is required to have the parents {names}: more than "
                f"k={k}, or of too many states for one table. Choose a larger k, or require less."
            )
    return order, chosen, gains


def _entering(order: list[int], forced: NDArray[np.bool_]) -> list[int]:
    """Return the order of features, changed so that required parents come before their children.

    `forced` is the mask of required arcs, parents along the first axis.
    """
    entered: dict[int, None] = {}  # an ordered set

    def enter(column: int) -> None:
        """Enter a feature after its required parents, and these after theirs, without cycles."""
        for parent in np.flatnonzero(forced[:, column]).tolist():
            if parent not in entered:
                enter(parent)
        entered[column] = None

    for column in order:
        if column not in entered:
            enter(column)
    return list(entered)


def _named(
    features: tuple[Variable, ...], chosen: list[list[int]], gains: Floats
) -> dict[Arc, float]:
    """Return the arcs from the chosen parents by name, with the gain of each arc."""
    return {
        (features[parent].name, child.name): float(gains[parent, at])
        for at, child in enumerate(features)
        for parent in chosen[at]
    }


@learner(counts_ahead=True)
def superparent(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    parent: Name | None = None,
    score: str = "likelihood",
    forbidden: Iterable[Any] | None = None,
) -> Structure:
    """Return the structure in which the class and one feature are parents of all other features.

    This is the superparent one-dependence estimator (Keogh and Pazzani 1999; Webb, Boughton, Wang
    2005).

    Parameters
    ----------
    source, smoothing
        As for `kdb`.
    parent : name, optional
        The superparent; by default the feature with the best score.
    score : {"likelihood", "bic", "aic"}
        Score of a superparent: the gain in log likelihood by all its arcs, minus the penalty
        ("bic", "aic") for the parameters that the arcs add.
    forbidden : iterable of (parent, child), optional
        Arcs to leave out. A continuous superparent has no arcs to discrete features.

    Raises
    ------
    UnknownVariableError
        If `parent` is not a feature.
    """
    target = target_of(source, "superparent")
    one_of("score", score, ("likelihood", "bic", "aic"))
    features = source.features
    names = [v.name for v in features]
    allowed = ArcRules.of(None, forbidden, names).admissible(features)
    scores = scores_of_pairs(source, features, target, as_smoothing(smoothing))
    allowed &= scores.learnable
    if parent is None:
        total = np.sum(scores.net(score), axis=1, where=allowed)
        rows = max(float(scores.total.max(initial=0.0)), 1.0)
        # Without features there is none to choose.
        best = int(np.argmax(np.round(total / rows, TIE_DECIMALS))) if names else 0
    elif parent in names:
        best = names.index(parent)
    else:
        raise unknown_variable(parent, names, where="parent=: the features")
    # No feature is allowed to be its own parent.
    chosen = [[best] if allowed[best, i] else [] for i in range(len(features))]
    return below_class(target, features, _named(features, chosen, scores.gains))


# ---------------- Feature selection by the leave-one-out loss: selective kDB and forward selection


@learner(counts_ahead=False)
def selective_kdb(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    k: int = 5,
    loss: str = "rmse",
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
) -> Structure:
    """Return a kDB structure with the number of parents and the features of the lowest loss.

    Features and parents enter in the order of `kdb`. The models compared have the first n features
    in this order (n from 0 to d) and up to p parents per feature (p from 0 to k). Their
    leave-one-out losses take one more pass over the rows (Martínez, Webb, Chen, Zaidi 2016).
    Features that are not chosen stay as nodes without arcs.

    Parameters
    ----------
    source : CountSource
        A source that has the rows.
    smoothing : name, number or Smoothing
        Smoothing of the tables and moments from which classes are predicted.
    k : int, default 5
        Maximum number of parents of a feature besides the class.
    loss : {"rmse", "log", "0-1"}
        Root mean squared 1 - P(y | x), mean -log P(y | x), or share of rows classified wrongly.
        Ties go to fewer parents, then to fewer features.
    required, forbidden : iterable of (parent, child), optional
        Arcs between features, as for `kdb`; the features of required arcs are chosen.

    Raises
    ------
    DataError
        If the source holds only statistics, the loss is unknown, or k is negative.
    """
    target = target_of(source, "selective_kdb")
    maximum = whole_number("k=", "parents", k, 0)
    one_of("loss", loss, LOSSES)
    features = source.features
    rules = ArcRules.of(required, forbidden, [v.name for v in features])
    smoothing = as_smoothing(smoothing)
    order, chosen, gains = ranked_parents(source, features, smoothing, maximum, rules)
    rows = LeaveOneOut(source, target, smoothing)
    # The number of required parents of each feature, of which no model has fewer.
    required_of = rules.forced(features).sum(axis=0)
    minimum = int(required_of.max(initial=0))
    table = _prefix_losses(rows, features, order, chosen, range(minimum, maximum + 1), loss)
    # Features of required arcs are kept, whatever the loss: no model ends before the last of them.
    n_required = max((at + 1 for at, c in enumerate(order) if required_of[c]), default=0)
    table[:, :n_required] = np.inf
    best = int(np.argmin(np.round(table / rows.total, TIE_DECIMALS)))
    # The index in the flat table: rows add parents, and columns features.
    row, n_features = divmod(best, table.shape[1])
    kept = sorted(order[:n_features])
    parents = [above[: minimum + row] if c in kept else [] for c, above in enumerate(chosen)]
    scores = _named(features, parents, gains)
    return with_unused(below_class(target, tuple(features[c] for c in kept), scores), features)


def _prefix_losses(
    rows: LeaveOneOut,
    features: tuple[Variable, ...],
    order: list[int],
    chosen: list[list[int]],
    parents: range,
    loss: str,
) -> Floats:
    """Return the summed leave-one-out loss of each model, shape (len(parents), d + 1).

    Entry (i, n) belongs to the model of the first n features in `order`, in which each feature has
    the first ``parents[i]`` of its parents in `chosen`, ranked from best to worst.
    """
    # The family (parents, child) of each feature in order, for each number of parents.
    families = [
        [(tuple(features[p] for p in chosen[c][:n]), features[c]) for c in order] for n in parents
    ]
    rows.learn(family for families_of_n in families for family in families_of_n)
    sums = np.zeros((len(parents), len(order) + 1))
    for part in rows.parts():
        prior = rows.prior(part)
        terms: dict[Any, Floats] = {}
        for i, families_of_n in enumerate(families):
            joint = prior.copy()
            sums[i, 0] += losses(joint, part, loss)
            # Most features have fewer than n allowed parents: their terms do not change, and are
            # reused.
            terms = {f: terms[f] if f in terms else rows.term(*f, part) for f in families_of_n}
            for j, family in enumerate(families_of_n, start=1):
                joint += terms[family]
                sums[i, j] += losses(joint, part, loss)
    return sums


def with_unused(structure: Structure, features: Sequence[Variable]) -> Structure:
    """Return a structure with absent `features` added as nodes without arcs.

    The variables are then in the order of `features`, after the class.
    """
    first = tuple(v for v in structure.variables if v not in set(features))
    return Structure((*first, *features), structure.arcs, structure.scores)


# ------------------------------------------------------------------------------ forward selection


@learner(counts_ahead=False)
def forward_selection(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    learner: Callable[..., Structure] = star,
    loss: str = "log",
    max_features: int | None = None,
) -> Structure:
    """Return a structure over features that forward selection for naive Bayes chooses.

    Starting with no feature, the feature that lowers the leave-one-out loss of naive Bayes most is
    added until none lowers it (Langley and Sage 1994); then the structure over these features is
    learned. Features that are not chosen stay as nodes without arcs.

    Parameters
    ----------
    source : CountSource
        A source that has the rows.
    smoothing : name, number or Smoothing
    learner : learner, default star
        Learner of the structure over the chosen features, such as `bayesgraph.learning.tan`.
    loss : {"log", "rmse", "0-1"}
        As for `selective_kdb`. Ties go to the first feature.
    max_features : int, optional

    Raises
    ------
    DataError
        If the source holds only statistics, or the loss is unknown.
    """
    target = target_of(source, "forward_selection")
    one_of("loss", loss, LOSSES)
    features = source.features
    maximum = len(features)
    if max_features is not None:
        maximum = whole_number("max_features=", "features", max_features, 0)
    smoothing = as_smoothing(smoothing)
    # Counts all features in one pass; the terms below then take theirs from the source.
    source.singles(Singles(features, target))
    rows = LeaveOneOut(source, target, smoothing)
    # Naive Bayes of the selected features, at first of none: only the prior of the class.
    model, selected, remaining = Joints(rows, (), loss), list[Variable](), list(features)
    lowest = round(model.loss() / rows.total, TIE_DECIMALS)
    while remaining and len(selected) < maximum:
        # Each change adds, in place of no term, that of a feature without parents but the class.
        additions: list[Change] = [(None, ((), feature)) for feature in remaining]
        mean_losses = np.round(model.losses_with(additions) / rows.total, TIE_DECIMALS)
        best = int(np.argmin(mean_losses))
        if not mean_losses[best] < lowest:
            break
        lowest = float(mean_losses[best])
        selected.append(remaining.pop(best))
        model.change(additions[best])
    # In the order of the features, not of their selection.
    reduced = source.with_features(tuple(v for v in features if v in selected))
    return with_unused(learned_by("learner", learner, reduced, smoothing), features)


# ---- Greedy structure search by the leave-one-out conditional log likelihood of the class variable


# Maximum number of candidate parents per feature: those with the highest scores given the class.
_MAX_CANDIDATES = 20
# Number of arcs whose gains are recomputed together if that takes a pass over a dataset.
_ARCS_OF_PASS = 64


class RowSearch:
    """Greedy search for arcs that raise the leave-one-out conditional log likelihood.

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
    """

    def __init__(
        self, rows: LeaveOneOut, features: tuple[Variable, ...], maximum: int, rules: ArcRules
    ) -> None:
        self._rows, self._features, self._maximum = rows, features, maximum
        self._forced = rules.forced(features)
        d = len(features)
        # Masks and gains of arcs have parents along the first axis. Open arcs may still be added.
        self._open = rules.admissible(features) & ~self._forced
        if d > 1:
            summary = rows.source.pairs(Pairs(features, rows.target))
            scores = arc_scores(rows.source, summary, rows.smoothing)
            gains = np.round(scores.gains, TIE_DECIMALS)
            score = np.where(self._open & scores.learnable & (gains > 0), gains, -np.inf)
            # The place of each parent among those of the same child, the best first.
            rank = np.argsort(np.argsort(-score, axis=0, kind="stable"), axis=0, kind="stable")
            self._open = np.asarray((rank < _MAX_CANDIDATES) & (score > 0))
        self._gains = np.zeros((d, d))
        self._stale = self._open.copy()  # True where a gain predates the last added arc
        # The parents of each feature besides the class, in the order in which they were added.
        self._parents: list[tuple[int, ...]] = [() for _ in features]
        # Whether a directed path leads from i to j; True on the diagonal.
        self._reach = np.eye(d, dtype=np.bool_)
        self._joints = Joints(rows, [((), v) for v in features], "log")
        self._loss = self._joints.loss()
        # The loss with each arc that was tried since the last one was added.
        self._tried: dict[tuple[int, int], float] = {}
        self._added: dict[Arc, float] = {}

    def climb(self) -> dict[Arc, float]:
        """Add arcs until none raises the objective; return the gain of each in nats per row."""
        for p, c in np.argwhere(self._forced).tolist():
            self._add(p, c)
        self._recompute(np.argwhere(self._open))
        while self._open.any():
            # Which features have all the parents that they may have.
            full = np.array([len(above) >= self._maximum for above in self._parents], dtype=bool)
            # No arc p -> c where c reaches p, which would close a cycle, or where c is full.
            self._open &= ~(self._reach.T | full)
            gains, stale = np.where(self._open, self._gains, -np.inf), self._open & self._stale
            p, c = (int(i) for i in np.unravel_index(np.argmax(gains), gains.shape))
            if gains[p, c] > 0 and not stale[p, c]:
                self._add(p, c)
            elif gains[p, c] > 0:
                if not self._rows.source.in_memory and (p, c) not in self._tried:
                    # The arcs whose gains the search will need first, in one pass.
                    order = np.argsort(-np.where(stale, gains, -np.inf), axis=None, kind="stable")
                    places = np.stack(np.unravel_index(order[:_ARCS_OF_PASS], gains.shape), axis=1)
                    self._try([(p, c) for p, c in places.tolist() if gains[p, c] > 0])
                self._recompute([(p, c)])
            elif stale.any():
                self._recompute(np.argwhere(stale))  # no gain is positive: recompute old ones
            else:
                break
        return self._added

    def _recompute(self, places: Iterable[Sequence[int]]) -> None:
        """Recompute the gains of the arcs at some places (parent, child)."""
        arcs = [(int(p), int(c)) for p, c in places]
        self._try(arcs)
        for p, c in arcs:
            gain = (self._loss - self._tried[p, c]) / self._rows.total
            self._gains[p, c] = round(gain, TIE_DECIMALS)
            self._stale[p, c] = False

    def _try(self, places: Sequence[tuple[int, int]]) -> None:
        """Compute the loss with each of some arcs, in one pass over the rows, if not known."""
        new = [place for place in places if place not in self._tried]
        if new:
            losses_with = self._joints.losses_with([self._change(p, c) for p, c in new])
            self._tried |= zip(new, losses_with.tolist(), strict=True)

    def _change(self, p: int, c: int) -> Change:
        """Return the change of c's term by the arc p -> c; parents are in the order of addition."""
        above = tuple([self._features[q] for q in self._parents[c]])
        child = self._features[c]
        return (above, child), ((*above, self._features[p]), child)

    def _add(self, p: int, c: int) -> None:
        """Add the arc p -> c, whose loss is computed if it was not tried yet."""
        self._try([(p, c)])
        before, self._loss = self._loss, self._tried[p, c]
        name = self._features[p].name, self._features[c].name
        self._added[name] = (before - self._loss) / self._rows.total
        self._tried.clear()
        self._joints.change(self._change(p, c))
        self._parents[c] = (*self._parents[c], p)
        # All that reached p now reach all that c reaches.
        self._reach |= np.outer(self._reach[:, p], self._reach[c])
        self._open[p, c] = False
        self._stale = self._open.copy()
