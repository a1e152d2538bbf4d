"""Structures with few parents per feature besides the class: kDB and superparent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.ancestors import Arc
from bayesgraph.errors import GraphError, quoted, unknown_variable
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.arcs import (
    TIE_DECIMALS,
    ArcRules,
    at_least,
    by_score,
    class_scores,
)
from bayesgraph.learning.smoothing import Smoothing, SmoothingLike, as_smoothing, one_of
from bayesgraph.learning.structure import Structure, below_class, learner, target_of
from bayesgraph.learning.tiles import scores_of_pairs
from bayesgraph.statistics import CountSource, Singles
from bayesgraph.variables import Discrete, Name, Variable

# Maximum number of cells in a table; parents that would exceed it are skipped.
_MAX_CELLS = 1 << 21


@learner(counts_ahead={"k": (0, 1)}, counts="tiles")
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
    k = at_least("k", k, 0)
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
    gains = scores_of_pairs(source, features, source.target, smoothing).gains
    forced = rules.forced(features)
    alone = source.singles(Singles(features, source.target))
    order = _entering(by_score(class_scores(source, alone, smoothing)), forced)
    allowed = rules.admissible(features)
    chosen: list[list[int]] = [[] for _ in features]
    states = [v.cardinality if isinstance(v, Discrete) else 1 for v in features]
    classes = 1 if source.target is None else source.target.cardinality
    for at, child in enumerate(order):
        before = np.array(order[:at], dtype=np.intp)
        before = np.sort(before[allowed[before, child]])  # ties go to the lowest index
        score = np.where(forced[before, child], np.inf, gains[before, child])
        ranked = [int(before[i]) for i in by_score(score)]
        chosen[child] = _fitting(states, ranked, k, classes * states[child])
        if not set(np.flatnonzero(forced[:, child]).tolist()) <= set(chosen[child]):
            names = quoted(features[i].name for i in np.flatnonzero(forced[:, child]))
            raise GraphError(
                f"{features[child].name!r} is required to have the parents {names}: more than "
                f"k={k}, or of too many states for one table. Choose a larger k, or require less."
            )
    return order, chosen, gains


def _fitting(states: list[int], ranked: list[int], k: int, cells: int) -> list[int]:
    """Return the first k parents that keep the table of a child within `_MAX_CELLS` cells.

    `states` has the number of states of each feature, `ranked` the indices of the candidate
    parents, best first, and `cells` is the size of the table without parents. A parent that would
    make the table too large is skipped.
    """
    found: list[int] = []
    for parent in ranked:
        if len(found) == k:
            break
        if cells * states[parent] <= _MAX_CELLS:
            found.append(parent)
            cells *= states[parent]
    return found


def _entering(order: list[int], forced: NDArray[np.bool_]) -> list[int]:
    """Return the order of features, changed so that required parents come before their children.

    `forced` is the mask of required arcs, parents along the first axis.
    """
    found: dict[int, None] = {}

    def enter(column: int) -> None:
        for parent in np.flatnonzero(forced[:, column]).tolist():
            if parent not in found:
                enter(parent)
        found[column] = None

    for column in order:
        if column not in found:
            enter(column)
    return list(found)


def _named(
    features: tuple[Variable, ...], chosen: list[list[int]], gains: Floats
) -> dict[Arc, float]:
    """Return the arcs from the chosen parents by name, with the gain of each arc."""
    return {
        (features[parent].name, child.name): float(gains[parent, at])
        for at, child in enumerate(features)
        for parent in chosen[at]
    }


@learner(counts_ahead=True, counts="tiles")
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
    if parent is None:
        total = np.sum(scores.net(score), axis=1, where=allowed)
        rows = max(float(scores.rows.max(initial=0.0)), 1.0)
        best = int(np.argmax(np.round(total / rows, TIE_DECIMALS)))
    elif parent in names:
        best = names.index(parent)
    else:
        raise unknown_variable(parent, names, where="parent=: the features")
    chosen = [[best] if allowed[best, i] else [] for i in range(len(features))]
    return below_class(target, features, _named(features, chosen, scores.gains))
