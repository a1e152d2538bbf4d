"""Trees grown by classification error, a criterion that scikit-learn does not have."""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree as SkTree

from bayesgraph.factors.algebra import Floats


class _Split(NamedTuple):
    """A split of a node: weight of the misclassified rows, cut, and mask of the rows going left."""

    wrong: float
    feature: int
    threshold: float
    missing_left: bool
    left: NDArray[np.bool_]


class ErrorTreeClassifier(DecisionTreeClassifier):  # type: ignore[misc]
    """scikit-learn's tree, grown by splits that minimise the classification error.

    The impurity of a node is ``1 - max_c p_c``, the share of its rows that are not of the most
    frequent class (Breiman et al. 1984, section 4.1). As in scikit-learn, splits without an
    immediate gain are made, and the first of equally good splits is taken. Missing values go to the
    better side. Pruning, decision paths and predictions are those of scikit-learn.
    """

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> ErrorTreeClassifier:
        """Grow and prune the tree.

        Parameters
        ----------
        X : ndarray of float32, shape (n_rows, n_features)
            NaN where missing.
        y : ndarray of int, shape (n_rows,)
        sample_weight : ndarray, shape (n_rows,), optional
        """
        # Fitting a stump checks the parameters and sets the attributes of classes and features.
        options = {**self.get_params(), "criterion": "gini", "max_depth": 1, "ccp_alpha": 0.0}
        stump = DecisionTreeClassifier(**options).fit(X, y, sample_weight)
        self.__dict__ |= {n: v for n, v in vars(stump).items() if n.endswith("_")}
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        codes = np.searchsorted(self.classes_, y)
        amounts = weights[:, None] * (codes[:, None] == np.arange(self.n_classes_))
        nodes, values, depth = self._grown(
            np.asarray(X), amounts, self._rules(len(X), weights.sum())
        )
        self.tree_ = SkTree(self.n_features_in_, np.array([self.n_classes_]), 1)
        self.tree_.__setstate__(
            {
                "max_depth": depth,
                "node_count": len(nodes),
                "nodes": np.array(nodes, dtype=stump.tree_.__getstate__()["nodes"].dtype),
                "values": np.array(values)[:, None, :],
            }
        )
        self._prune_tree()
        return self

    def _rules(self, n: int, total: float) -> tuple[int, int, float]:
        """Return the stopping rules that `_grown` takes.

        Parameters
        ----------
        n : int
            Number of rows.
        total : float
            Sum of the weights of the rows.

        Returns
        -------
        tuple (int, int, float)
            Minimum number of rows of a node that is split, and minimum number and minimum total
            weight of the rows of a child.
        """
        leaf, split = (
            int(given if isinstance(given, (int, np.integer)) else np.ceil(given * n))
            for given in (self.min_samples_leaf, self.min_samples_split)
        )
        return max(2, split, 2 * leaf), leaf, float(self.min_weight_fraction_leaf * total)

    def _grown(
        self, X: NDArray[Any], amounts: Floats, rules: tuple[int, int, float]
    ) -> tuple[list[Any], list[Floats], int]:
        """Grow a tree; return its nodes in scikit-learn's format, their class shares, the depth.

        Parameters
        ----------
        X : ndarray, shape (n_rows, n_features)
        amounts : ndarray, shape (n_rows, n_classes)
            The weight of each row in the column of its class, 0 in other columns.
        rules : tuple
            Returned by `_rules`.
        """
        nodes: list[Any] = []
        values: list[Floats] = []
        heap: list[Any] = []
        depth_limit = np.inf if self.max_depth is None else self.max_depth
        total = amounts.sum()

        def add(rows: NDArray[np.intp], depth: int) -> int:
            at, counts = len(nodes), amounts[rows].sum(axis=0)
            weight = counts.sum()
            wrong = weight - counts.max()
            nodes.append((-1, -1, -2, -2.0, wrong / weight, len(rows), weight, 0))
            values.append(counts / weight)
            if depth < depth_limit and len(rows) >= rules[0] and wrong > 1e-12 * weight:
                best = _best_split(X[rows], amounts[rows], rules[1], rules[2])
                gain = -np.inf if best is None else (wrong - best.wrong) / total
                if gain + 1e-12 >= self.min_impurity_decrease:
                    heapq.heappush(heap, (-gain, at, depth, rows, best))
            return at

        add(np.arange(len(X)), 0)
        leaves, deepest = 1, 0
        while heap and leaves < (self.max_leaf_nodes or np.inf):
            _, at, depth, rows, split = heapq.heappop(heap)
            below = add(rows[split.left], depth + 1), add(rows[~split.left], depth + 1)
            place = (split.feature, split.threshold)
            nodes[at] = (*below, *place, *nodes[at][4:7], split.missing_left)
            leaves, deepest = leaves + 1, max(deepest, depth + 1)
        return nodes, values, deepest


def _best_split(X: NDArray[Any], amounts: Floats, min_rows: int, weight: float) -> _Split | None:
    """Return the split with the minimum weight of misclassified rows, or None if there is no split.

    Of equally good splits the first is returned.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
        Rows of the node; NaN where missing.
    amounts : ndarray, shape (n_rows, n_classes)
        The weight of each row in the column of its class, 0 in other columns.
    min_rows, weight : int and float
        Minimum number of rows and minimum weight of each child.
    """
    best: _Split | None = None
    whole, n = amounts.sum(axis=0), len(X)
    for j, column in enumerate(X.T):
        order = np.argsort(column, kind="stable")
        seen = n - int(np.isnan(column).sum())
        if not seen:
            continue
        ordered, sums = column[order], np.cumsum(amounts[order], axis=0)
        # Numbers of rows left of each cut; the last cut separates observed from missing values.
        cuts = np.flatnonzero(ordered[1:seen] > ordered[: seen - 1]) + 1
        cuts = np.append(cuts, seen) if seen < n else cuts
        for missing_left in (False, True) if seen < n else (False,):
            there = cuts[cuts < seen] if missing_left else cuts
            left = sums[there - 1] + (whole - sums[seen - 1] if missing_left else 0.0)
            right = whole - left
            n_left = there + (n - seen) * missing_left
            wrong = (left.sum(axis=1) - left.max(axis=1, initial=0.0)) + (
                right.sum(axis=1) - right.max(axis=1, initial=0.0)
            )
            small = np.minimum(n_left, n - n_left) < min_rows
            light = np.minimum(left.sum(axis=1), right.sum(axis=1)) < weight
            wrong = np.where(small | light, np.inf, wrong)
            at = int(np.argmin(wrong)) if len(wrong) else -1
            if at < 0 or not wrong[at] < (np.inf if best is None else best.wrong - 1e-12):
                continue
            k = int(there[at])
            threshold = np.inf if k == seen else (float(ordered[k - 1]) + float(ordered[k])) / 2
            goes = (column <= threshold) | (np.isnan(column) & missing_left)
            best = _Split(float(wrong[at]), j, threshold, missing_left, goes)
    return best
