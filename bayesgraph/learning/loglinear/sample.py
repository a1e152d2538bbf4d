"""Rows of discrete features and a class, in a canonical order of states, classes and rows.

The result of an optimisation depends slightly on the order of summation, and ties are broken by
order. A model learned from canonical columns does not depend on the order of the states (pandas and
polars differ in it), on the names of the classes, or on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.variables import Binned, Discrete, Name
from bayesgraph.learning.information import conditional_mutual_information
from bayesgraph.learning.loglinear.terms import Groups, Terms, View, merged_view, view_of
from bayesgraph.learning.loglinear.training import Rows
from bayesgraph.models import TableCPD
from bayesgraph.statistics import counts_of

Codes = NDArray[np.signedinteger]
# The merged interval of each state of each feature, ascending; the states of others stay apart.
Partition: TypeAlias = tuple[Groups, ...]

# Minimum number of portions of rows that each fold receives.
_MIN_PORTIONS = 10
# Number of features of which all pairs are searched, however few rows there are.
_SEARCHED = 500
_TIE_DECIMALS = 9
# Names of the arrays of a sample with an entry for each row.
ROWS = ("codes", "labels", "weights", "sizes")


@dataclass(frozen=True)
class Canonical:
    """Columns with states and classes in canonical order, independent of the order given.

    Attributes
    ----------
    features : tuple of Discrete
    target : Discrete
    codes : ndarray of int, shape (n_rows, n_features)
        -1 where missing.
    labels : ndarray of int, shape (n_rows,)
    originals : mapping from name to (variable, positions)
        Each variable with its original order of states, and the canonical index of each state.
    """

    features: tuple[Discrete, ...]
    target: Discrete
    codes: Codes
    labels: Codes
    originals: dict[Name, tuple[Discrete, NDArray[np.intp]]]

    @classmethod
    def of(
        cls,
        features: Sequence[Discrete],
        target: Discrete,
        columns: Sequence[Codes],
        labels: Codes,
        weights: Floats,
    ) -> Canonical:
        """Return columns with their states and classes in canonical order.

        Parameters
        ----------
        features : sequence of Discrete
        target : Discrete
        columns : sequence of ndarray of int, shape (n_rows,)
            Codes of each feature, -1 where missing.
        labels : ndarray of int, shape (n_rows,)
        weights : ndarray, shape (n_rows,) or (0,)
            Empty if every row has weight 1.
        """
        orders = [_state_order(v) for v in features]
        places = [np.argsort(order) for order in orders]  # the inverse permutations
        codes = np.empty((len(labels), len(features)), dtype=np.int32, order="F")
        for j, (column, place) in enumerate(zip(columns, places, strict=True)):
            # The code -1 picks the last entry, -1. A feature with one state carries no information,
            # so that its missing values do not matter.
            codes[:, j] = np.append(place, -1)[column] if len(place) > 1 else 0
        # A canonical order of the classes: by the sum of their rows' hashes, scaled to [0, 1), not
        # by their labels. A float holds 53 of the 64 bits of a hash.
        marks = (fingerprints(codes) >> np.uint64(11)).astype(np.float64) / 2.0**53
        total = np.bincount(labels, marks * weights if len(weights) else marks, target.cardinality)
        class_order = np.argsort(np.round(total, 9), kind="stable")
        class_place = np.argsort(class_order)  # the inverse permutation
        variables, places = (*features, target), [*places, class_place]
        return cls(
            tuple(_reordered(v, order) for v, order in zip(features, orders, strict=True)),
            _reordered(target, class_order),
            codes,
            class_place[labels],
            {v.name: (v, place) for v, place in zip(variables, places, strict=True)},
        )

    def restored(self, cpd: TableCPD) -> TableCPD:
        """Return a table re-indexed to the original variables and the original order of states.

        Intervals, which may be merged, keep their order.
        """
        originals = [
            (v, np.arange(v.cardinality)) if isinstance(v, Binned) else self.originals[v.name]
            for v in cpd.scope
        ]
        # Each original state gets the values of its canonical position.
        values = cpd.values[np.ix_(*(places for _, places in originals))]
        *parents, child = [variable for variable, _ in originals]
        return TableCPD(child, values, parents)


def fingerprints(codes: Codes) -> NDArray[np.uint64]:
    """Return a hash of each row; different rows hardly ever have the same hash.

    The hash is the sum of the codes times random odd factors, modulo 2^64 (multiplicative hashing:
    Dietzfelbinger, Hagerup, Katajainen, Penttonen 1997).
    """
    random = np.random.RandomState(0)
    odd = 2 * random.randint(0, 2**63, size=codes.shape[1], dtype=np.uint64) + 1
    factors = np.asarray(odd, dtype=np.uint64)
    hashes = np.zeros(len(codes), dtype=np.uint64)
    for column, factor in zip(codes.T, factors, strict=True):
        hashes += column.astype(np.uint64) * factor
    return hashes


def _state_order(variable: Discrete) -> NDArray[np.intp]:
    """Return the order of states by type and `repr`; intervals keep their order."""
    if isinstance(variable, Binned):
        return np.arange(variable.cardinality)
    states = variable.states
    keys = [(type(state).__name__, repr(state)) for state in states]
    return np.array(sorted(range(len(states)), key=keys.__getitem__), dtype=np.intp)


def _reordered(variable: Discrete, order: NDArray[np.intp]) -> Discrete:
    """Return the variable with its states in a new order; intervals keep theirs."""
    if isinstance(variable, Binned):
        return variable
    return Discrete(variable.name, [variable.states[i] for i in order])


@dataclass(frozen=True)
class Sample:
    """Weighted rows of discrete features and a class, to learn a log-linear model from.

    Attributes
    ----------
    views : tuple of View
        The features, with the groups in which their states share parameters.
    codes : ndarray of int, shape (n_rows, n_features)
        States, -1 where missing.
    labels : ndarray of int, shape (n_rows,)
        The class.
    weights : ndarray, shape (n_rows,)
    sizes : ndarray, shape (n_rows,)
        How many rows a row stands for when rows are held out.
    n_classes : int
    """

    views: tuple[View, ...]
    codes: Codes
    labels: NDArray[np.intp]
    weights: Floats
    sizes: Floats
    n_classes: int

    @classmethod
    def of(
        cls,
        features: Sequence[Discrete],
        codes: Codes,
        labels: Codes,
        weights: Floats,
        n_classes: int,
    ) -> Sample:
        """Return rows in a canonical order, with equal rows merged and their weights added.

        The learned model then depends neither on the order of the rows nor on whether a row has the
        weight two or is given twice. (Hash collisions may keep a few equal rows apart.) If not all
        weights are whole numbers, they count no rows: a row of weight 2.5 is one row. They are then
        scaled to the total over the classes of (sum w)^2 / sum w^2: as many rows of equal weight
        estimate a mean in each class as well (Kish 1965).

        Parameters
        ----------
        features : sequence of Discrete
        codes : ndarray of int, shape (n_rows, n_features)
        labels : ndarray of int, shape (n_rows,)
        weights : ndarray, shape (n_rows,) or (0,)
            Empty if every row has weight 1.
        n_classes : int
        """
        columns = [labels, *codes.T]
        # By hash and then by class: the last key counts most.
        order = np.lexsort([labels, fingerprints(codes)])
        # In this order equal rows follow each other: where does a row differ from the one before?
        is_new = np.zeros(len(order), dtype=bool)
        is_new[:1] = True
        for column in columns:
            ordered = column[order]
            is_new[1:] |= ordered[1:] != ordered[:-1]
        starts = np.flatnonzero(is_new)
        # The weight of each row, and the number of rows that it counts as.
        mass = n_rows = weights[order] if len(weights) else np.ones(len(order))
        if (mass != np.floor(mass)).any():
            relative, n_rows = mass / mass.max(), np.ones(len(mass))  # squares do not overflow
            weighted = relative, relative**2
            sums, squares = (np.bincount(labels[order], each) for each in weighted)
            has_rows = squares > 0
            n_effective = (sums[has_rows] ** 2 / squares[has_rows]).sum()
            mass = relative * (n_effective / relative.sum())
        merged_mass, sizes = np.add.reduceat(mass, starts), np.add.reduceat(n_rows, starts)
        rows = order[starts]
        distinct = np.ascontiguousarray(codes[rows])
        views = tuple(
            view_of(v, counts_of(column, v.cardinality, merged_mass))
            for v, column in zip(features, distinct.T, strict=True)
        )
        return cls(views, distinct, labels[rows].astype(np.intp), merged_mass, sizes, n_classes)

    @property
    def _counts(self) -> Floats:
        return np.bincount(self.labels, self.weights, self.n_classes).astype(np.float64)

    @property
    def prior(self) -> Floats:
        """Relative frequency of each class, smoothed so that none is zero."""
        counts = self._counts
        return np.asarray((counts + 1.0 / self.n_classes) / (counts.sum() + 1.0))

    @property
    def share(self) -> Floats:
        """Relative frequency of each class; smoothed like `prior` if a class has no rows."""
        counts = self._counts
        return counts / counts.sum() if counts.all() else self.prior

    @cached_property
    def searched(self) -> NDArray[np.intp]:
        """Indices of the features whose pairs are searched for interactions, ascending.

        Of more than 500 features no more than there are rows: those of the greatest mutual
        information with the class, less what chance is expected to give them. Few rows cannot tell
        which of a million pairs interact.
        """
        d, most = len(self.views), max(_SEARCHED, len(self.labels))
        if d <= most:
            return np.arange(d)
        groups = regrouped(self.codes, [view.paired for view in self.views])
        size = int(groups.max()) + 1
        # Cells of one table of shape (feature, 1, group, class): a condition of one state.
        cells = (np.arange(d) * size + groups) * self.n_classes + self.labels[:, None]
        cells[groups < 0] = -1
        weights = np.broadcast_to(self.weights[:, None], cells.shape)
        totals = counts_of(cells, d * size * self.n_classes, weights)
        counts = totals.reshape(d, 1, size, self.n_classes)
        # Half the degrees of freedom: the mean of n I(X; C), in nats, if they are independent.
        chance = (np.array([view.n_paired for view in self.views]) - 1) * (self.n_classes - 1) / 2
        gains = conditional_mutual_information(counts) * counts.sum(axis=(1, 2, 3)) - chance
        return np.sort(np.argsort(-gains.round(_TIE_DECIMALS), kind="stable")[:most])

    def rows(self, terms: Terms) -> Rows:
        """Return the rows encoded as table cells of a log-linear model, with labels and weights."""
        return Rows.of(terms.rows(self.codes), self.labels, self.weights)

    def weighing(self, weights: Floats) -> Sample:
        """Return the sample with new weights, without rows of weight zero."""
        return replace(self, weights=weights)._take(np.flatnonzero(weights > 0))

    def _take(self, rows: NDArray[np.intp]) -> Sample:
        parts = {name: getattr(self, name)[rows] for name in ROWS}
        return replace(self, **parts)

    def only(self, features: Sequence[int] | NDArray[np.intp]) -> Sample:
        """Return the sample with these features, given by their indices, in place of all."""
        views = tuple(self.views[j] for j in features)
        return replace(self, views=views, codes=np.ascontiguousarray(self.codes[:, features]))

    def merged(self, partition: Partition) -> Sample:
        """Return the sample with the intervals of a partition in place of its states."""
        views = [merged_view(v, groups) for v, groups in zip(self.views, partition, strict=True)]
        return replace(self, views=tuple(views), codes=regrouped(self.codes, partition))

    def folds(self, n_folds: int) -> Floats:
        """Return the part of each row's weight that is in each fold, shape (n_folds, n_rows).

        Equal rows were merged: a row that stands for three rows is distributed over three folds, so
        that they are not all held out together. Classes are spread evenly.
        """
        # Rows are in the order of their hashes, which is as good as a random order.
        by_class = np.argsort(self.labels, kind="stable")
        ends = np.cumsum(self.sizes[by_class])
        # If there are few rows, they are distributed in smaller portions.
        portion = min(1.0, float(ends[-1]) / (_MIN_PORTIONS * n_folds))
        # Folds receive portions in turn, one each in a round: `dealt` is the sum each has received
        # up to the end of a row.
        rounds, in_round = np.divmod(np.concatenate([[0.0], ends]) / portion, n_folds)
        fold = np.arange(n_folds)[:, None]
        dealt = portion * (rounds + np.clip(in_round - fold, 0.0, 1.0))
        parts = np.empty((n_folds, len(ends)))
        parts[:, by_class] = np.diff(dealt, axis=1)
        # Sums of fractional portions are exact only up to rounding errors.
        parts[parts < 1e-9 * self.sizes] = 0.0
        return parts * (self.weights / self.sizes)

    def thinned(self, n_rows: int) -> Sample:
        """Return a sample of at most `n_rows` of the rows, at evenly spaced indices."""
        last = len(self.labels) - 1
        if last < n_rows:
            return self
        return self._take(np.linspace(0, last, n_rows).astype(np.intp))


def regrouped(codes: Codes, groups: Sequence[NDArray[np.integer]]) -> Codes:
    """Return the group of each state, -1 where missing, (n_rows, n_features)."""
    places = np.empty_like(codes)
    for j, group in enumerate(groups):
        places[:, j] = np.append(group, -1)[codes[:, j]]  # the code -1 picks the last entry, -1
    return places
