"""Posteriors over the scopes of all factors at once, for many rows of evidence.

The two passes over a junction forest (Lauritzen and Spiegelhalter 1988), with the rows as one more
axis of every message: one collects towards the roots, the other hands back to each clique what the
rest of the model says of what it shares with its neighbour.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesgraph.factors import Factor
from bayesgraph.factors.algebra import Floats
from bayesgraph.factors.factor import align, union_scope
from bayesgraph.inference.outward import Forest
from bayesgraph.inference.programs import EVERYTHING, plan_tree, restrict
from bayesgraph.inference.tables import Scopes, Tables
from bayesgraph.variables import Discrete


class Calibration:
    """A junction forest for factors of given scopes, whatever their values.

    Parameters
    ----------
    scopes : sequence of tuples of Discrete
        None of them empty.
    memory_limit : int, optional
        Bytes that the largest table may have for one row.

    Attributes
    ----------
    entries : float
        Of all cliques together, for one row.

    Raises
    ------
    MemoryLimitError
        With the size.
    """

    def __init__(
        self, scopes: Sequence[tuple[Discrete, ...]], *, memory_limit: int | None = None
    ) -> None:
        variables = union_scope(scopes)
        ones = [np.ones([v.cardinality for v in scope]) for scope in scopes]
        tables = Tables(Scopes(variables, scopes), ones, sums_to_one=False)
        tree = plan_tree(restrict(tables, (), (), (), EVERYTHING), memory_limit=memory_limit)
        self.entries = float(tree.total)
        self._scopes = list(scopes)
        self._forest = Forest(tree, [variables[v] for v in tree.variables.tolist()])

    def posteriors(self, factors: Sequence[Factor]) -> tuple[list[Floats], Floats]:
        """Return the posterior over the scope of each factor and the log of the total mass.

        Parameters
        ----------
        factors : sequence of Factor
            Of the scopes given, for the same rows or for all of them.

        Returns
        -------
        posteriors : list of ndarray, shape (n_rows, *cardinalities of the scope)
            Probabilities; zero throughout a row of mass zero.
        log_mass : ndarray, shape (n_rows,)
        """
        forest = self._forest
        n_rows = max((factor.n_rows for factor in factors), default=1)
        products: list[Factor] = []
        up: list[Factor] = []
        for c in range(forest.size):
            operands = [factors[f] for f in forest.inside[c]] + [up[d] for d in forest.below[c]]
            separator = forest.separator(c)
            products.append(_product(operands, separator, n_rows))
            up.append(products[c].marginal(separator))
        log_mass = np.zeros(n_rows)
        for c in forest.roots:
            log_mass = log_mass + up[c].log_values
        found: list[Floats] = [np.empty(0)] * len(factors)
        # The log of P(separator | evidence), which the parents know when their children ask.
        shared: dict[int, Factor] = {
            c: Factor.from_log((), np.where(np.isneginf(up[c].log_values), -np.inf, 0.0))
            for c in forest.roots
        }
        for c in range(forest.size - 1, -1, -1):
            scope = products[c].scope
            message = shared.pop(c) / up[c]
            belief = np.exp(products[c].log_values + message.aligned(scope))
            for f in forest.inside[c]:
                found[f] = _marginal(belief, scope, self._scopes[f])
            for d in forest.below[c]:
                separator = forest.separator(d)
                with np.errstate(divide="ignore"):
                    logs = np.log(_marginal(belief, scope, separator))
                shared[d] = Factor.from_log(separator, logs)
        return found, log_mass


def _product(operands: Sequence[Factor], also: Sequence[Discrete], n_rows: int) -> Factor:
    """Return the product of factors over all of their variables and others besides."""
    scope = union_scope([*(operand.scope for operand in operands), also])
    total = np.zeros([n_rows, *(v.cardinality for v in scope)])
    for operand in operands:
        total += operand.aligned(scope)
    return Factor.from_log(scope, total)


def _marginal(values: Floats, scope: Sequence[Discrete], keep: Sequence[Discrete]) -> Floats:
    """Return sums over all axes but those to keep, which come in the order given."""
    gone = tuple(1 + axis for axis, v in enumerate(scope) if v not in keep)
    left = [v for v in scope if v in keep]
    return align(values.sum(axis=gone) if gone else values, left, keep)
