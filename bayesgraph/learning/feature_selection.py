"""Feature selection by the leave-one-out loss: selective kDB and forward selection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.arcs import TIE_DECIMALS, ArcRules, at_least
from bayesgraph.learning.k_dependence import ranked_parents
from bayesgraph.learning.leave_one_out import LOSSES, Joints, LeaveOneOut, Part, losses
from bayesgraph.learning.smoothing import SmoothingLike, as_smoothing, one_of
from bayesgraph.learning.structure import (
    Structure,
    below_class,
    learned_by,
    learner,
    star,
    target_of,
)
from bayesgraph.statistics import CountSource, Singles
from bayesgraph.variables import Variable

# Maximum number of entries in the log terms of features that are cached between search steps.
_MAX_HELD = 1 << 25


@learner(counts_ahead=False, counts="tiles")
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
    maximum = at_least("k", k, 0)
    one_of("loss", loss, LOSSES)
    features = source.features
    rules = ArcRules.of(required, forbidden, [v.name for v in features])
    smoothing = as_smoothing(smoothing)
    order, chosen, gains = ranked_parents(source, features, smoothing, maximum, rules)
    rows = LeaveOneOut(source, target, smoothing)
    required_of = rules.forced(features).sum(axis=0)
    minimum = int(required_of.max(initial=0))
    table = _prefix_losses(rows, features, order, chosen, range(minimum, maximum + 1), loss)
    # Features of required arcs are kept, whatever the loss.
    table[:, : max((at + 1 for at, c in enumerate(order) if required_of[c]), default=0)] = np.inf
    best = int(np.argmin(np.round(table / rows.total, TIE_DECIMALS)))
    row, n_features = divmod(best, table.shape[1])
    kept = sorted(order[:n_features])
    scores = {
        (features[p].name, features[c].name): float(gains[p, c])
        for c in kept
        for p in chosen[c][: minimum + row]
    }
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
    keys = [
        [(tuple(features[p] for p in chosen[c][:n]), features[c]) for c in order] for n in parents
    ]
    rows.learn(key for row in keys for key in row)
    found = np.zeros((len(parents), len(order) + 1))
    for part in rows.parts():
        prior = rows.prior(part)
        terms: dict[Any, Floats] = {}
        for i, row in enumerate(keys):
            joint = prior.copy()
            found[i, 0] += losses(joint, part, loss)
            # Most features have fewer than n allowed parents: their terms do not change, and are
            # reused.
            terms = {key: terms[key] if key in terms else rows.term(*key, part) for key in row}
            for j, key in enumerate(row, start=1):
                joint += terms[key]
                found[i, j] += losses(joint, part, loss)
    return found


def with_unused(structure: Structure, features: Sequence[Variable]) -> Structure:
    """Return a structure with absent `features` added as nodes without arcs.

    The variables are then in the order of `features`, after the class.
    """
    first = tuple(v for v in structure.variables if v not in set(features))
    return Structure((*first, *features), structure.arcs, structure.scores)


# ------------------------------------------------------------------------------ forward selection


@learner(counts_ahead=False, counts="singles")
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
        Learner of the structure over the chosen features, such as `bayesgraph.tan`.
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
        maximum = at_least("max_features", max_features, 0)
    smoothing = as_smoothing(smoothing)
    source.singles(Singles(features, target))
    rows = LeaveOneOut(source, target, smoothing)
    rows.learn(((), v) for v in features)
    kept = _forward(rows, features, loss, maximum)
    chosen = source.with_features(tuple(features[i] for i in kept))
    return with_unused(learned_by("learner", learner, chosen, smoothing), features)


def _forward(
    rows: LeaveOneOut, features: tuple[Variable, ...], loss: str, maximum: int
) -> list[int]:
    """Return the ascending indices of at most `maximum` features, chosen by forward selection."""
    source = rows.source
    is_held = source.in_memory and (
        source.n_rows * rows.target.cardinality * len(features) <= _MAX_HELD
    )
    held: dict[tuple[int, int], Floats] = {}

    def term(at: int, part: Part) -> Floats:
        """Return leave-one-out log p(feature | class) of some rows, cached if memory fits."""
        if not is_held:
            return rows.term((), features[at], part)
        key = (at, part.number)
        if key not in held:
            held[key] = rows.term((), features[at], part)
        return held[key]

    def adding(at: int) -> Callable[[Floats, Part], Floats]:
        return lambda joint, part: joint + term(at, part)

    joints = Joints(rows, rows.prior)
    first = sum(losses(joint, part, loss) for part, joint in joints.parts())
    lowest = round(first / rows.total, TIE_DECIMALS)
    kept: list[int] = []
    rest = list(range(len(features)))
    while rest and len(kept) < maximum:
        tried = np.zeros(len(rest))
        for part, joint in joints.parts():
            for i, at in enumerate(rest):
                tried[i] += losses(joint + term(at, part), part, loss)
        tried = np.round(tried / rows.total, TIE_DECIMALS)
        best = int(np.argmin(tried))
        if not tried[best] < lowest:
            break
        lowest = float(tried[best])
        kept.append(rest.pop(best))
        joints.change(adding(kept[-1]))
    return sorted(kept)
