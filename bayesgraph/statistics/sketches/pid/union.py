"""Places of several summaries put in one order, feature by feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats


@dataclass(frozen=True, eq=False)
class Union:
    """All distinct numbers of several parts.

    Attributes
    ----------
    values : ndarray, shape (n,)
        Of the first feature, ascending, then of the next.
    features : ndarray of int, shape (n,)
    sizes : ndarray of int, shape (n_features,)
    places : list of ndarray of int
        Where each number of each part stands, ascending.
    """

    values: Floats
    features: NDArray[np.intp]
    sizes: NDArray[np.int64]
    places: list[NDArray[np.intp]]


def union_of(values: Sequence[Floats], used: Sequence[NDArray[np.bool_]]) -> Union:
    """Return the union of parts.

    Parameters
    ----------
    values : sequence of ndarray
        Numbers of each part, ascending within a feature.
    used : sequence of ndarray of bool, shape (n_features, room) each
        Which entries of a part's array they are.
    """
    features = [np.nonzero(u)[0] for u in used]
    number, feature = np.concatenate(list(values)), np.concatenate(features)
    order = np.lexsort((number, feature))
    number, feature = number[order], feature[order]
    new = np.ones(len(number), dtype=bool)
    new[1:] = (number[1:] != number[:-1]) | (feature[1:] != feature[:-1])
    place = np.empty(len(number), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    ends = np.cumsum([len(part) for part in values])[:-1]
    sizes = np.bincount(feature[new], minlength=len(used[0])).astype(np.int64)
    return Union(number[new], feature[new], sizes, np.split(place, ends))


def last_up_to(places: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return for each of n places the last number of a part at or before it, or -1."""
    return np.searchsorted(places, np.arange(n), side="right") - 1


def ragged(flat: Floats, union: Union) -> Floats:
    """Return what belongs to the places as an array with a row for each feature, 0 beyond it."""
    room = max(3, int(union.sizes.max(initial=0)))
    out = np.zeros((len(union.sizes), room, *flat.shape[1:]))
    out[np.arange(room) < union.sizes[:, None]] = flat
    return out
