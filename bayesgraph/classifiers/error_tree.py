"""Trees grown by classification error, a criterion that scikit-learn does not have."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree as SkTree

from bayesgraph.classifiers import error_tree_kernels as kernels
from bayesgraph.factors.algebra import Floats


class ErrorTreeClassifier(DecisionTreeClassifier):  # type: ignore[misc]
    """scikit-learn's tree, grown by splits that minimise the classification error.

    The impurity of a node is ``1 - max_c p_c``, the share of its rows that are not of the most
    frequent class (Breiman et al. 1984, section 4.1). As in scikit-learn, splits without an
    immediate gain are made; of equally good splits the one that the Gini index prefers is taken.
    Missing values go to the better side. Pruning, decision paths and predictions are those of
    scikit-learn.
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
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        # Thresholds are halfway between numbers of single precision, and would be rounded to them.
        columns = np.ascontiguousarray(np.asarray(X).T, dtype=np.float64)
        nodes, values, depth = self._grown(columns, np.searchsorted(self.classes_, y), weights)
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
        self, columns: Floats, labels: NDArray[np.intp], weights: Floats
    ) -> tuple[list[Any], list[Floats], int]:
        """Grow a tree; return its nodes in scikit-learn's format, their class shares, the depth.

        Parameters
        ----------
        columns : ndarray, shape (n_features, n_rows)
        labels : ndarray, shape (n_rows,)
            Codes of the classes.
        weights : ndarray, shape (n_rows,)
        """
        nodes: list[Any] = []
        values: list[Floats] = []
        heap: list[Any] = []
        depth_limit = np.inf if self.max_depth is None else self.max_depth
        total = weights.sum()
        min_split, *minima = self._rules(len(labels), total)
        # Each node has a stretch of the rows, in the order of each column.
        order = np.argsort(columns, axis=1, kind="stable")

        def add(start: int, stop: int, depth: int) -> int:
            at, rows = len(nodes), order[0, start:stop]
            counts = np.bincount(labels[rows], weights[rows], minlength=self.n_classes_)
            weight = counts.sum()
            wrong = weight - counts.max()
            nodes.append((-1, -1, -2, -2.0, wrong / weight, len(rows), weight, 0))
            values.append(counts / weight)
            if depth < depth_limit and len(rows) >= min_split and wrong > 1e-12 * weight:
                stretch = order[:, start:stop]
                left, *split = kernels.best_split(
                    columns, stretch, labels, weights, counts, *minima
                )
                gain = (wrong - left) / total  # minus infinity if there is no split
                if gain + 1e-12 >= self.min_impurity_decrease:
                    heapq.heappush(heap, (-gain, at, depth, start, stop, split))
            return at

        add(0, len(labels), 0)
        leaves, deepest = 1, 0
        while heap and leaves < (self.max_leaf_nodes or np.inf):
            _, at, depth, start, stop, split = heapq.heappop(heap)
            middle = start + kernels.divide(columns, order[:, start:stop], *split)
            below = add(start, middle, depth + 1), add(middle, stop, depth + 1)
            nodes[at] = (*below, *split[:2], *nodes[at][4:7], split[2])
            leaves, deepest = leaves + 1, max(deepest, depth + 1)
        return nodes, values, deepest
