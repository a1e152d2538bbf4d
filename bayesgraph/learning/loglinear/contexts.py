"""Contexts: parts of the joint states of a few features that share an effect.

The local distribution of a context is the same for all states in it: context-specific independence
(Boutilier, Friedman, Goldszmidt, Koller 1996).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats

Groups: TypeAlias = NDArray[np.intp]
# The states of each feature that a context has; of other features it has all states.
Region: TypeAlias = Mapping[int, NDArray[np.bool_]]


@dataclass(frozen=True)
class Contexts:
    """A partition of the joint states of a few features.

    Attributes
    ----------
    features : tuple of int
        Indices of the features, ascending.
    groups : tuple of ndarray of int, each of shape (n_states,)
        Group of each state of a feature: states of one group are in the same contexts.
    table : ndarray of int, shape (number of groups of each feature ...)
        Context of each combination of groups, from 0.
    is_joint : bool
        Whether each combination of groups is a context of its own (see `joint_contexts`).
    """

    features: tuple[int, ...]
    groups: tuple[Groups, ...]
    table: Groups
    is_joint: bool = False

    @classmethod
    def of(cls, regions: Sequence[Region]) -> Contexts:
        """Return contexts given the region of each; together they have every combination once.

        If the regions of a number are intervals, its groups are intervals in ascending order.
        """
        features = tuple(sorted({j for region in regions for j in region}))
        groups, held = [], []
        for j in features:
            everywhere = np.ones_like(next(region[j] for region in regions if j in region))
            masks = np.stack([region.get(j, everywhere) for region in regions])
            _, first, inverse = np.unique(masks, axis=1, return_index=True, return_inverse=True)
            rank = np.argsort(np.argsort(first))
            groups.append(rank[inverse.ravel()])
            held.append(masks[:, np.sort(first)])
        table = np.full([mask.shape[1] for mask in held], -1, dtype=np.intp)
        for at in range(len(regions)):
            table[np.ix_(*(mask[at] for mask in held))] = at
        return cls(features, tuple(groups), table)

    @property
    def n(self) -> int:
        """Number of contexts."""
        return int(self.table.max()) + 1

    @property
    def cells(self) -> Groups:
        """Context of each combination of states, shape (n_states of each feature ...)."""
        return self.table[np.ix_(*self.groups)]

    def share(self, shares: Sequence[Floats]) -> Floats:
        """Return the probability of each context if features are independent, shape (n,).

        `shares` has the distribution of every feature, also of those without contexts.
        """
        by_group = [
            np.bincount(group, shares[j])
            for j, group in zip(self.features, self.groups, strict=True)
        ]
        joint = reduce(np.multiply.outer, by_group)
        return np.asarray(np.bincount(self.table.ravel(), joint.ravel()), dtype=np.float64)

    def rows(self, codes: NDArray[np.signedinteger]) -> Groups:
        """Return the context of each row, -1 where missing values leave it open.

        Parameters
        ----------
        codes : ndarray of int, shape (n_rows, n_features)
            States, -1 where missing.
        """
        table = self.table
        for axis in range(table.ndim):
            # The last entry is for a missing value: the context that all states agree on.
            first = table.take([0], axis)
            agreed = np.where((table == first).all(axis=axis, keepdims=True), first, -1)
            table = np.concatenate([table, agreed], axis=axis)
        places = zip(self.features, self.groups, strict=True)
        return np.asarray(table[tuple(np.append(group, -1)[codes[:, j]] for j, group in places)])

    def merged(self, partition: Sequence[Groups]) -> Contexts:
        """Return the contexts over merged states, given the merged state of each state.

        States of different groups must not be merged.
        """
        firsts = (np.unique(partition[j], return_index=True)[1] for j in self.features)
        groups = tuple(g[first] for g, first in zip(self.groups, firsts, strict=True))
        return replace(self, groups=groups)
