"""An order of states, classes and rows that does not depend on how they were given.

Optimisation ends a little elsewhere where sums are taken in another order, and ties break by it.
What is learned from columns in this order depends on neither the order of the states (pandas and
polars differ in it), nor the names of the classes, nor the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import TableCPD
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Binned, Discrete, Name

Codes = NDArray[np.signedinteger]


@dataclass(frozen=True)
class Canonical:
    """Columns whose states and classes are in an order of their own.

    Attributes
    ----------
    features : tuple of Discrete
    target : Discrete
    codes : ndarray of int, shape (n_rows, n_features)
        -1 where missing.
    labels : ndarray of int, shape (n_rows,)
    given : mapping from name to (variable, positions)
        Each variable as it was given, and where its states are now.
    """

    features: tuple[Discrete, ...]
    target: Discrete
    codes: Codes
    labels: Codes
    given: dict[Name, tuple[Discrete, NDArray[np.intp]]]

    @classmethod
    def of(
        cls,
        features: Sequence[Discrete],
        target: Discrete,
        columns: Sequence[Codes],
        labels: Codes,
        weights: Floats,
    ) -> Canonical:
        """Return columns in their own order.

        Parameters
        ----------
        features : sequence of Discrete
        target : Discrete
        columns : sequence of ndarray of int, shape (n_rows,)
            Of the features, -1 where missing.
        labels : ndarray of int, shape (n_rows,)
        weights : ndarray, shape (n_rows,) or (0,)
            Empty if every row weighs 1.
        """
        orders = [_state_order(v) for v in features]
        places = [np.argsort(order) for order in orders]
        codes = np.empty((len(labels), len(features)), dtype=np.int32, order="F")
        for j, (column, place) in enumerate(zip(columns, places, strict=True)):
            # A feature of one state tells nothing; nor does it where it is missing.
            codes[:, j] = np.append(place, -1)[column] if len(place) > 1 else 0
        class_order = _class_order(codes, labels, weights, target.cardinality)
        class_place = np.argsort(class_order)
        variables, places = (*features, target), [*places, class_place]
        return cls(
            tuple(_reordered(v, order) for v, order in zip(features, orders, strict=True)),
            _reordered(target, class_order),
            codes,
            class_place[labels],
            {v.name: (v, place) for v, place in zip(variables, places, strict=True)},
        )

    def restored(self, cpd: TableCPD) -> TableCPD:
        """Return a table over the variables as they were given."""
        own = [self.given[v.name] for v in (*cpd.parents, cpd.variable)]
        values = cpd.values[np.ix_(*(places for _, places in own))]
        *parents, child = [variable for variable, _ in own]
        return TableCPD(child, values, parents)


def fingerprints(codes: Codes) -> NDArray[np.uint64]:
    """Return a number for each row that equal rows share, and others hardly ever.

    A sum of the states with random odd factors, modulo 2^64 (multiplicative hashing:
    Dietzfelbinger, Hagerup, Katajainen, Penttonen 1997).
    """
    random = np.random.RandomState(0)
    odd = 2 * random.randint(0, 2**63, size=codes.shape[1], dtype=np.uint64) + 1
    factors = np.asarray(odd, dtype=np.uint64)
    found = np.zeros(len(codes), dtype=np.uint64)
    for column, factor in zip(codes.T, factors, strict=True):
        found += column.astype(np.uint64) * factor
    return found


def _state_order(variable: Discrete) -> NDArray[np.intp]:
    """Return the states by type and spelling; intervals are in their order already."""
    if isinstance(variable, Binned):
        return np.arange(variable.cardinality)
    states = variable.states
    keys = [(type(state).__name__, repr(state)) for state in states]
    return np.array(sorted(range(len(states)), key=keys.__getitem__), dtype=np.intp)


def _class_order(codes: Codes, labels: Codes, weights: Floats, n_classes: int) -> NDArray[np.intp]:
    """Return the classes by a number that depends on their rows alone."""
    marks = (fingerprints(codes) >> np.uint64(11)).astype(np.float64) / 2.0**53
    total = np.bincount(labels, marks * weights if len(weights) else marks, n_classes)
    return np.argsort(np.round(total, 9), kind="stable")


def _reordered(variable: Discrete, order: NDArray[np.intp]) -> Discrete:
    if isinstance(variable, Binned):
        return variable
    return Discrete(variable.name, [variable.states[i] for i in order])
