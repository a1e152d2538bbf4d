"""Criteria that choose the split of a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.growing import kernels
from bayesgraph.learning.growing.columns import CodedColumns


@dataclass(frozen=True)
class Rows:
    """The rows from which a tree is grown.

    Attributes
    ----------
    columns : CodedColumns
    labels : ndarray of int32, shape (n,)
    weights : ndarray, shape (n,)
    n_classes : int
    place : ndarray of int, shape (n_features,)
        Row of a number in `Node.order`; 0 of discrete features.
    mass : ndarray, shape (n,)
        Space for kernels.
    """

    columns: CodedColumns
    labels: NDArray[np.int32]
    weights: Floats
    n_classes: int
    place: NDArray[np.int64]
    mass: Floats = field(repr=False)


@dataclass(frozen=True)
class Minima:
    """Minimum number of rows and minimum weight of a branch."""

    rows: float
    weight: float


@dataclass(frozen=True)
class Node:
    """The rows that reached a node.

    Attributes
    ----------
    order : ndarray of int32, shape (1 + n_numbers, n_rows)
        Indices of the rows, and below them the same in ascending order of each number.
    share : ndarray, shape (n_rows,)
        The part of each row of ``order[0]``; a row that misses the feature of a split is divided.
    """

    order: NDArray[np.int32]
    share: Floats


@dataclass(frozen=True)
class Split:
    """A split of a node.

    Attributes
    ----------
    feature : int
    gain : float
        Decrease of impurity times the weight of the node, by which nodes are ranked.
    branch_of : ndarray of int32, shape (n_codes,) or (0,)
        The branch of each code, -1 of codes that did not occur; empty at a threshold between codes.
    n_branches : int
    missing : int
        The branch of missing values; -1 if they are divided among all branches.
    between : tuple of int
        At a threshold, the largest code that goes left and the smallest that goes right.
    """

    feature: int
    gain: float
    branch_of: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    n_branches: int = 2
    missing: int = -1
    between: tuple[int, int] = (-1, -1)

    def ends(self) -> list[tuple[int, int]]:
        """Return the last code of each branch of a number but the last, and the code after it."""
        if not len(self.branch_of):
            return [self.between]
        seen = np.flatnonzero(self.branch_of >= 0)
        last = np.flatnonzero(np.diff(self.branch_of[seen]))
        return list(zip(seen[last].tolist(), seen[last + 1].tolist(), strict=True))


class Criterion(Protocol):
    """Chooses the split of a node."""

    @property
    def counts_weight(self) -> bool:
        """Whether the number of rows is the sum of their weights; else, rows count as they are."""

    @property
    def n_intervals(self) -> int | None:
        """Maximum number of intervals into which numbers are cut beforehand, if they are."""

    def split(self, rows: Rows, node: Node, minima: Minima) -> Split | None:
        """Return the split of a node, or None."""


def _searched(kernel: Callable[..., Any], rows: Rows, node: Node, minima: Minima) -> Any:
    return kernel(
        rows.columns.codes, rows.columns.n_codes, rows.place, node.order, node.share, rows.labels,
        rows.weights, rows.mass, rows.n_classes, minima.rows, minima.weight,
    )  # fmt: skip


@dataclass(frozen=True)
class ErrorRate:
    """The binary split that decreases the classification error most (Breiman et al. 1984, 4.1)."""

    counts_weight = False
    n_intervals = None

    def split(self, rows: Rows, node: Node, minima: Minima) -> Split | None:
        """Return the split of a node, or None; see `Criterion`."""
        feature, low, high, left, gain = _searched(kernels.error_split, rows, node, minima)
        if feature < 0:
            return None
        if rows.place[feature]:
            return Split(feature, gain, missing=0 if left else 1, between=(low, high))
        branch_of = np.zeros(rows.columns.n_codes[feature], dtype=np.int32)
        branch_of[low] = 1
        return Split(feature, gain, branch_of, missing=1 if left else 0)


@dataclass(frozen=True)
class GainRatio:
    """The split of the largest gain ratio, with a branch for each state (Quinlan 1993, 1996)."""

    counts_weight = True
    n_intervals = None

    def split(self, rows: Rows, node: Node, minima: Minima) -> Split | None:
        """Return the split of a node, or None; see `Criterion`."""
        feature, low, high, gain = _searched(kernels.gain_ratio_split, rows, node, minima)
        if feature < 0:
            return None
        if rows.place[feature]:
            return Split(feature, gain, between=(low, high))
        codes = rows.columns.codes[feature, node.order[0]]
        branch_of = np.full(rows.columns.n_codes[feature], -1, dtype=np.int32)
        states = np.unique(codes[codes >= 0])
        branch_of[states] = np.arange(len(states))
        return Split(feature, gain, branch_of, len(states))
