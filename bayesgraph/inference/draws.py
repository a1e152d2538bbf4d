"""Exact draws from the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.inference.compiled import Run
from bayesgraph.inference.execution import kernels
from bayesgraph.inference.workspaces import give_back
from bayesgraph.variables import Discrete, Variable


class TableDraws:
    """Exact draws of the free variables of tables, after one pass over the junction tree.

    Each draw walks the tree from the roots to the leaves (Dawid 1992). For one use: the workspace
    is given back.

    Parameters
    ----------
    variables : tuple of Variable
        Of the tables, by their numbers.
    run : Run
        Of the program of all variables, with a mass above zero.
    """

    def __init__(self, variables: Sequence[Discrete], run: Run) -> None:
        self._variables = variables
        self._run = run

    def take(self, n: int, random: np.random.Generator) -> dict[Variable, NDArray[Any]]:
        """Return n rows of state codes of all free variables, independent of each other."""
        run = self._run
        tree = run.program.tree
        states = np.zeros((n, len(tree.variables)), dtype=np.int64)
        kernels.decode(
            states,
            random.random((n, len(tree.parent))),
            np.ones(len(tree.parent), dtype=np.int64),
            *run.program.tree_arrays(),
            run.tables,
            run.offsets,
            run.space,
            not run.logarithmic,
        )
        give_back(run.space)
        return {self._variables[v]: states[:, k] for k, v in enumerate(tree.variables)}
