"""Learners that select features by the leave-one-out loss: selective kDB, forward selection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.arcs import TIE_DECIMALS, ArcRules, at_least
from bayesgraph.learning.k_dependence import ranked_parents
from bayesgraph.learning.leave_one_out import LOSSES, LeaveOneOut, chunks, losses
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

# Numbers of terms that are held between the steps of a search.
_MAX_HELD = 1 << 25


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
    """Return the kDB structure whose number of parents and of features predict the rows best.

    Features and parents enter in the order of `kdb`; all models of 0 to k parents and of the first
    0 to d features are compared by leave-one-out in one more pass over the rows (Martínez, Webb,
    Chen, Zaidi 2016). Features that are not chosen stay as nodes without arcs.

    Parameters
    ----------
    source : CountSource
        One that has the rows.
    smoothing : name, number or Smoothing
        Of the tables and moments behind the predictions.
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
        For a source that has statistics only, an unknown loss, or a k below 0.
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
    # Columns of required arcs stay, whatever they cost.
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
    """Return the loss of each number of parents and of features, shape (len(parents), d + 1)."""
    keys = [
        [(tuple(features[p] for p in chosen[c][:n]), features[c]) for c in order] for n in parents
    ]
    rows.learn(key for row in keys for key in row)
    found = np.zeros((len(parents), len(order) + 1))
    for part in chunks(rows.table.n_rows):
        prior = rows.prior(part)
        terms: dict[Any, Floats] = {}
        for i, row in enumerate(keys):
            joint = prior.copy()
            found[i, 0] += losses(joint, rows, part, loss)
            # Few features have all parents there are: other terms are those of one parent less.
            terms = {key: terms[key] if key in terms else rows.term(*key, part) for key in row}
            for j, key in enumerate(row, start=1):
                joint += terms[key]
                found[i, j] += losses(joint, rows, part, loss)
    return found


def with_unused(structure: Structure, features: Sequence[Variable]) -> Structure:
    """Return a structure with more variables, which no arc touches, all in the order given."""
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
    """Return a structure over the features that naive Bayes predicts best with.

    Starting with none, the feature that lowers the leave-one-out loss of naive Bayes most enters
    until none lowers it (Langley and Sage 1994); the structure is then learned over these alone.
    Features that are not chosen stay as nodes without arcs.

    Parameters
    ----------
    source : CountSource
        One that has the rows.
    smoothing : name, number or Smoothing
    learner : learner, default star
        Of the structure over the features chosen, such as `bayesgraph.tan`.
    loss : {"log", "rmse", "0-1"}
        As for `selective_kdb`. Ties go to the first feature.
    max_features : int, optional

    Raises
    ------
    DataError
        For a source that has statistics only, or an unknown loss.
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
    """Return the positions of the features chosen, ascending."""
    parts = list(chunks(rows.table.n_rows))
    cells = rows.table.n_rows * rows.target.cardinality * len(features)
    held: dict[tuple[int, int], Floats] = {}

    def term(at: int, part: slice) -> Floats:
        """Return the term of a feature, looked up once where there is room for all."""
        if cells > _MAX_HELD:
            return rows.term((), features[at], part)
        key = (at, part.start)
        if key not in held:
            held[key] = rows.term((), features[at], part)
        return held[key]

    joint = np.concatenate([rows.prior(part) for part in parts])
    lowest = round(sum(losses(joint[p], rows, p, loss) for p in parts) / rows.total, TIE_DECIMALS)
    kept: list[int] = []
    rest = list(range(len(features)))
    while rest and len(kept) < maximum:
        tried = np.zeros(len(rest))
        for part in parts:
            for i, at in enumerate(rest):
                tried[i] += losses(joint[part] + term(at, part), rows, part, loss)
        tried = np.round(tried / rows.total, TIE_DECIMALS)
        best = int(np.argmin(tried))
        if not tried[best] < lowest:
            break
        lowest = float(tried[best])
        kept.append(rest.pop(best))
        for part in parts:
            joint[part] += term(kept[-1], part)
    return sorted(kept)
