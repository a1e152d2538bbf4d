"""Growing of classification trees by the criteria of this library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from bayesgraph.classifiers.tree_growing import Ints
from bayesgraph.cpds import Tree, TreeCPD, tree_kernels
from bayesgraph.encoding import Table
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.growing import CodedColumns, Criterion, GrownTree, Limits, grow_tree
from bayesgraph.learning.growing.pruning import (
    cost_complexities,
    cost_complexity_pruned,
    pessimistically_pruned,
)
from bayesgraph.learning.trees import leaf_probabilities, node_columns
from bayesgraph.variables import Discrete, Variable


@dataclass(frozen=True)
class CriterionGrowing:
    """Growing by a criterion of this library; see `tree_growing.Growing`.

    Attributes
    ----------
    table : Table
    columns : CodedColumns
    y : ndarray of int, shape (n_rows,)
        Codes of the classes.
    n_classes : int
    weights : ndarray, shape (n_rows,)
    criterion : Criterion
    limits : Limits
    confidence : float, optional
        Confidence level of pessimistic pruning; without it, there is none.
    """

    table: Table
    columns: CodedColumns
    y: NDArray[np.intp]
    n_classes: int
    weights: Floats
    criterion: Criterion
    limits: Limits
    confidence: float | None

    is_class = True

    @classmethod
    def of(
        cls,
        table: Table,
        y: NDArray[np.intp],
        weights: Floats,
        criterion: Criterion,
        limits: Mapping[str, Any],
        confidence: float | None,
    ) -> CriterionGrowing:
        """Return the growing of trees from a table; `limits` has the values of a `Limits`.

        Raises
        ------
        ValueError
            For limits that scikit-learn's trees do not take.
        """
        # Fitting two rows checks the parameters.
        DecisionTreeClassifier(**limits).fit([[0.0], [1.0]], [0, 1])
        columns = CodedColumns.of(table, weights, criterion.n_intervals)
        n_classes = int(y.max()) + 1
        return cls(table, columns, y, n_classes, weights, criterion, Limits(**limits), confidence)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the table."""
        return self.columns.variables

    @cached_property
    def _whole(self) -> GrownTree:
        return self._grown(self.columns, self.y, self.weights)

    def _grown(self, columns: CodedColumns, y: NDArray[np.intp], weights: Floats) -> GrownTree:
        grown = grow_tree(columns, y, self.n_classes, weights, self.criterion, self.limits)
        return grown if self.confidence is None else pessimistically_pruned(grown, self.confidence)

    def tree(self, alpha: float) -> Tree:
        """Return the pruned tree; see `Growing`."""
        return cost_complexity_pruned(self._whole, alpha).to_tree()[0]

    def alphas(self) -> Floats:
        """Return complexity parameters; see `Growing`."""
        return cost_complexities(self._whole)

    def losses(self, train: Ints, test: Ints, alphas: Floats) -> Floats:
        """Return misclassifications; see `Growing`.

        Rows with a missing value take the branches by the weights of the rows in `train`.
        """
        columns = self.columns.rows(train)
        grown = self._grown(columns, self.y[train], self.weights[train])
        matrix = node_columns(self.variables, self.table, test)
        result = np.empty((len(test), len(alphas)))
        for k, alpha in enumerate(alphas.tolist()):
            found = self._predicted(cost_complexity_pruned(grown, alpha), matrix)
            result[:, k] = found != self.y[test]
        return result

    def _predicted(self, grown: GrownTree, matrix: Floats) -> NDArray[np.intp]:
        tree, counts = grown.to_tree()
        values = leaf_probabilities(tree, counts, np.zeros(1))
        target = Discrete(object(), range(self.n_classes))
        cpd = TreeCPD(target, replace(tree, values=values), self.variables)
        weight = counts.sum(axis=1)
        inner = tree.feature >= 0
        share = np.full(tree.n_nodes, np.nan)
        share[inner] = weight[tree.left[inner]] / weight[inner]
        out = np.zeros((self.n_classes, matrix.shape[1]))
        tree_kernels.add_tree(
            out, matrix, cpd.flat, tree.height, share, cpd.tree.values, cpd.log_values,
            np.empty(0, dtype=np.int64),
        )  # fmt: skip
        return np.asarray(np.argmax(out, axis=0))
