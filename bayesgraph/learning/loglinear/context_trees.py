"""Growing of the contexts of a log-linear model: a tree of splits on its residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.loglinear import kernels
from bayesgraph.learning.loglinear.contexts import Contexts, Region
from bayesgraph.learning.loglinear.pair_trees import WithoutPairs
from bayesgraph.learning.loglinear.terms import Pair
from bayesgraph.variables import Binned

# Maximum number of contexts and of features that they are split on, and maximum number of cells of
# a table of these features and the class.
_MAX_CONTEXTS, _MAX_FEATURES, _MAX_CELLS = 16, 4, 1 << 21
# Minimum weight of the rows on each side of a split, and ridge of the gain of a split.
_MIN_ROWS, _RIDGE = 3.0, 3.0
# Decimals of gains and of scores of states, so that equal ones are ties.
_DECIMALS = 9


def contexts_of(alone: WithoutPairs, pairs: Sequence[Pair] = ()) -> Contexts | None:
    """Return contexts in which a model without pairs is wrong; None without any.

    A tree grows from the root; each split is the one of any leaf with the largest gain, the
    decrease of the loss by one Newton step of an effect on each side (Chen and Guestrin 2016,
    section 2.2). Splits on numbers are thresholds; those on categories separate the states in the
    order of their mean residuals of one class, that of the largest gain if each state had an effect
    of its own (for two classes the best split is among these; Fisher 1958).

    There are at most 16 contexts and 4 features. Two of these features are either neighbours in the
    forest of pairs, perhaps by others of these features, or in different trees of it: with all of
    these features in one clique, the graph of the model is still a tree of cliques.

    Parameters
    ----------
    alone : WithoutPairs
    pairs : sequence of pairs
        Pairs of features that interact.
    """
    search = _Search(alone, pairs)
    leaves = [search.leaf(np.arange(len(alone.rows.labels)), {})]
    while len(leaves) < _MAX_CONTEXTS:
        allowed = search.allowed({j for leaf in leaves for j in leaf.region})
        gains = [np.where(allowed, leaf.gains, 0.0).max(initial=0.0) for leaf in leaves]
        at = int(np.argmax(gains))
        if gains[at] <= 0.0:
            break
        leaves[at : at + 1] = search.split(leaves[at], allowed)
    return Contexts.of([leaf.region for leaf in leaves]) if len(leaves) > 1 else None


@dataclass(frozen=True)
class _Leaf:
    """Rows of a context, and the gain of the best split on each feature.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
    region : Region
    gains : ndarray, shape (n_features,)
        Zero where no split has a gain.
    goes : ndarray of bool, shape (n_cells,)
        The states that go left in the best split on their feature.
    """

    rows: NDArray[np.intp]
    region: Region
    gains: Floats
    goes: NDArray[np.bool_]


class _Search:
    """The gradients of rows in the cells of single features, of which sums give all gains."""

    def __init__(self, alone: WithoutPairs, pairs: Sequence[Pair]) -> None:
        self.sample = sample = alone.rows
        self.pairs = pairs
        self.values = np.hstack([*alone.derivatives, sample.weights[:, None]])
        self.cells, self.starts = sample.rows(alone.terms).cells, alone.terms.starts
        sizes = np.diff(self.starts)
        self.feature = np.repeat(np.arange(len(sizes)), sizes)
        self.is_number = np.repeat([isinstance(v.variable, Binned) for v in sample.views], sizes)

    def leaf(self, rows: NDArray[np.intp], region: Region) -> _Leaf:
        """Return a leaf with the gains of its splits."""
        sums = np.zeros((self.starts[-1] + 1, self.values.shape[1]))
        kernels.add_residuals(self.cells[rows], self.values[rows], sums)
        sums = sums[:-1]
        first, sizes = self.starts[:-1], np.diff(self.starts)
        order = np.lexsort((self._scores(sums), self.feature))
        passed = np.cumsum(sums[order], axis=0)
        before = np.repeat((passed[first] - sums[order][first]), sizes, axis=0)
        total = np.repeat(np.add.reduceat(sums, first, axis=0), sizes, axis=0)
        left = passed - before
        right = total - left
        gains = _gain(left) + _gain(right) - _gain(total)
        gains[np.minimum(left[:, -1], right[:, -1]) < _MIN_ROWS] = 0.0
        gains = gains.round(_DECIMALS)
        best = np.maximum.reduceat(gains, first)
        # Of equal gains the first: cells up to it go left.
        is_best = gains == np.repeat(best, sizes)
        seen = np.cumsum(is_best) - np.repeat(np.cumsum(is_best)[first] - is_best[first], sizes)
        goes = np.empty(len(order), dtype=bool)
        goes[order] = (seen == 0) | ((seen == 1) & is_best)
        return _Leaf(rows, region, np.maximum(best, 0.0), goes)

    def _scores(self, sums: Floats) -> Floats:
        """Return the order of the states of each feature: that of numbers, or by residuals."""
        n_classes = self.sample.n_classes
        residuals, spreads = sums[:, :n_classes], sums[:, n_classes:-1] + _RIDGE
        by_class = np.add.reduceat(residuals**2 / spreads, self.starts[:-1], axis=0)
        chosen = np.argmax(by_class.round(_DECIMALS), axis=1)[self.feature]
        own = np.arange(len(sums)), chosen
        scores = (residuals[own] / spreads[own]).round(_DECIMALS)
        return np.where(self.is_number, 0.0, scores)

    def split(self, leaf: _Leaf, allowed: NDArray[np.bool_]) -> list[_Leaf]:
        """Return both sides of the best split of a leaf, without rows that lack its feature."""
        j = int(np.argmax(np.where(allowed, leaf.gains, 0.0)))
        goes = leaf.goes[self.starts[j] : self.starts[j + 1]]
        here = leaf.region.get(j, np.ones_like(goes))
        codes = self.sample.codes[leaf.rows, j]
        sides = []
        for side in (goes, ~goes):
            rows = leaf.rows[np.append(side, False)[codes]]
            sides.append(self.leaf(rows, {**leaf.region, j: here & side}))
        return sides

    @cached_property
    def _forest(self) -> nx.Graph:
        forest = nx.Graph()
        forest.add_nodes_from(range(len(self.sample.views)))
        forest.add_edges_from(self.pairs)
        return forest

    def allowed(self, used: set[int]) -> NDArray[np.bool_]:
        """Return a mask of the features to split on, given those that were split on before."""
        found = np.zeros(len(self.sample.views), dtype=bool)
        cards = np.array([len(view.share) for view in self.sample.views], dtype=np.float64)
        if len(used) < _MAX_FEATURES:
            found[:] = True
            for j in used:
                found[list(nx.node_connected_component(self._forest, j))] = False
            for j in used:
                found[list(self._forest[j])] = True
            n_cells = self.sample.n_classes * np.prod(cards[sorted(used)])
            found &= n_cells * cards <= _MAX_CELLS
        found[sorted(used)] = True
        return found


def _gain(sums: Floats) -> Floats:
    """Return the decrease of the loss, times two, by an effect of the rows of each sum.

    `sums` has residuals and spreads of the classes, and the weight of the rows, shape (n, 2 * K +
    1).
    """
    n_classes = sums.shape[1] // 2
    return np.asarray(np.sum(sums[:, :n_classes] ** 2 / (sums[:, n_classes:-1] + _RIDGE), axis=1))
