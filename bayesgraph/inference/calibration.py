"""Two-pass propagation on junction forests of `Factor` objects: posteriors and derivatives.

`Calibration` computes the posteriors of a batch of rows, `table_derivatives` the derivatives with
respect to table entries. The first pass sends messages towards the roots, the second pass sends
messages from the roots to the leaves (Lauritzen and Spiegelhalter 1988).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from bayesgraph.factors import Factor
from bayesgraph.factors.algebra import Floats, log_of
from bayesgraph.factors.factor import align, union_scope
from bayesgraph.inference.compiled import CompiledTables
from bayesgraph.inference.contract import Case
from bayesgraph.inference.junction import Tree
from bayesgraph.inference.memory import BYTES, default_memory_limit, memory_error
from bayesgraph.inference.programs import Relevance, plan_tree, restrict
from bayesgraph.inference.tables import Scopes, Tables
from bayesgraph.variables import Discrete

# Maximum induced width: NumPy arrays have at most 64 axes.
_MAXIMUM_AXES = 58


class Forest:
    """A junction forest as lists indexed by clique.

    `inside[c]` lists the factors multiplied at clique c, and `below[c]` its child cliques.
    """

    def __init__(self, tree: Tree, variables: Sequence[Discrete]) -> None:
        self._tree = tree
        self._variables = variables
        self.size = len(tree.parent)
        self.roots = np.flatnonzero(tree.parent < 0).tolist()
        self.inside: list[list[int]] = [[] for _ in range(self.size)]
        self.below: list[list[int]] = [[] for _ in range(self.size)]
        self.constants: list[int] = []
        for f, home in enumerate(tree.home.tolist()):
            (self.inside[home] if home >= 0 else self.constants).append(f)
        for c, parent in enumerate(tree.parent.tolist()):
            if parent >= 0:
                self.below[parent].append(c)

    def separator(self, c: int) -> list[Discrete]:
        """Return the variables that a clique shares with its parent."""
        begin = self._tree.c_start[c] + self._tree.residual[c]
        members = self._tree.member[begin : self._tree.c_start[c + 1]]
        return [self._variables[v] for v in members.tolist()]


def _product(operands: Sequence[Factor], also: Sequence[Discrete] = (), n_rows: int = 1) -> Factor:
    """Return the product of factors as a factor over the union of their scopes and `also`."""
    scope = union_scope([*(operand.scope for operand in operands), also])
    total = np.zeros([n_rows, *(v.cardinality for v in scope)])
    for operand in operands:
        total += operand.aligned(scope)
    return Factor.from_log(scope, total)


# ------------------------------------------------------------------------------ posteriors of rows


class Calibration:
    """A junction forest for factors of given scopes, planned once and run for any factor values.

    Parameters
    ----------
    scopes : sequence of tuples of Discrete
        Scopes of the factors, none of them empty.
    memory_limit : float, optional
        Maximum bytes of the largest table for one row.

    Attributes
    ----------
    entries : float
        Number of entries of all cliques together, for one row.

    Raises
    ------
    MemoryLimitError
        If the largest table exceeds the limit; the message gives its size.
    """

    def __init__(
        self, scopes: Sequence[tuple[Discrete, ...]], *, memory_limit: float | None = None
    ) -> None:
        variables = union_scope(scopes)
        ones = [np.ones([v.cardinality for v in scope]) for scope in scopes]
        tables = Tables(Scopes.of_variables(variables, scopes), ones, sums_to_one=False)
        tree = plan_tree(
            restrict(tables, (), (), (), Relevance.EVERYTHING), memory_limit=memory_limit
        )
        self.entries = float(tree.total)
        self._scopes = list(scopes)
        self._forest = Forest(tree, [variables[v] for v in tree.variables.tolist()])

    def posteriors(self, factors: Sequence[Factor]) -> tuple[list[Floats], Floats]:
        """Return the normalised marginal of the product of all factors over each factor's scope.

        Parameters
        ----------
        factors : sequence of Factor
            One factor for each scope, for n_rows rows, or for one row that serves for all of them.

        Returns
        -------
        posteriors : list of ndarray, shape (n_rows, *cardinalities of the scope)
            Probabilities; all zero in a row in which the product is zero everywhere.
        log_mass : ndarray, shape (n_rows,)
            Log of the sum of the product over all joint states.
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
        # Logs of P(separator | evidence) for each clique, computed at its parent.
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
                logs = log_of(_marginal(belief, scope, separator))
                shared[d] = Factor.from_log(separator, logs)
        return found, log_mass


def _marginal(values: Floats, scope: Sequence[Discrete], keep: Sequence[Discrete]) -> Floats:
    """Return the sums of a table over the variables not in `keep`, axes in the order of `keep`.

    `values` has the axes (rows, scope...).
    """
    gone = tuple(1 + axis for axis, v in enumerate(scope) if v not in keep)
    left = [v for v in scope if v in keep]
    return align(values.sum(axis=gone) if gone else values, left, keep)


# ------------------------------------------------------------------------------------- derivatives


def table_derivatives(
    compiled: CompiledTables, case: Case, *, memory_limit: float | None = None
) -> tuple[list[Factor], list[Factor], float]:
    """Return logs of derivatives of the evidence's probability with respect to table entries.

    For tables that are not a network, the probability is the mass: the sum of the product of all
    tables and likelihoods over the joint states that agree with the evidence. The mass is linear in
    every entry of every table. Its derivative with respect to an entry is the sum of the product of
    all other factors over the joint states that agree with the entry (Darwiche 2003); two passes
    give all derivatives. They use no division, so that entries of zero have derivatives too (Shafer
    and Shenoy 1990).

    Parameters
    ----------
    compiled : CompiledTables
    case : Case
        Evidence on one case.
    memory_limit : float, optional

    Returns
    -------
    tables : list of Factor
        For each table of the model, a factor over its unobserved variables: log derivatives of the
        mass with respect to the entries that agree with the evidence.
    likelihoods : list of Factor
        Log derivatives with respect to the likelihood of each state of each variable with soft
        evidence, in ascending order of the variables.
    log_mass : float
    """
    tables = compiled.tables
    soft = sorted(case.soft)
    restricted = restrict(tables, sorted(case.hard), soft, (), Relevance.EVERYTHING)
    tree = plan_tree(restricted, memory_limit=memory_limit)
    _check_memory(tree, memory_limit)
    variables = [tables.variables[v] for v in tree.variables.tolist()]
    factors = [agreeing(tables, case, f) for f in range(len(tables))]
    factors += [Factor.from_log([tables.variables[v]], case.soft[v][None]) for v in soft]
    scale = case.log_scale + tables.log_scale
    forest = Forest(tree, variables)
    up: dict[int, Factor] = {}
    for c in range(forest.size):
        operands = [factors[f] for f in forest.inside[c]] + [up[d] for d in forest.below[c]]
        up[c] = _summed(operands, forest.separator(c))
    # The mass is the product of the masses of the trees and of the constant factors.
    masses = [float(up[c].log_values[0]) for c in forest.roots]
    masses += [float(factors[f].log_values[0]) for f in forest.constants]
    others = [np.array([mass + scale]) for mass in _without_each(masses)]
    result: dict[int, Factor] = {}
    down: dict[int, Factor] = {}
    for c, rest in zip(forest.roots, others, strict=False):
        down[c] = Factor.from_log((), rest)
    for f, rest in zip(forest.constants, others[len(forest.roots) :], strict=True):
        result[f] = Factor.from_log((), rest)
    for c in range(forest.size - 1, -1, -1):
        inside, below = forest.inside[c], forest.below[c]
        operands = [down[c], *(factors[f] for f in inside), *(up[d] for d in below)]
        products = _products_without_each(operands)[1:]
        for f, product in zip(inside, products, strict=False):
            result[f] = _summed([product], factors[f].scope)
        for d, product in zip(below, products[len(inside) :], strict=True):
            down[d] = _summed([product], forest.separator(d))
    n = len(tables)
    likelihoods = [result[f] for f in range(n, len(factors))]
    return [result[f] for f in range(n)], likelihoods, float(sum(masses)) + scale


def agreeing(tables: Tables, case: Case, f: int) -> Factor:
    """Return the entries of table f that agree with the hard evidence, as a factor."""
    numbers, values = tables.table(f, logs=True)
    part = values[tuple(case.hard.get(v, slice(None)) for v in numbers)]
    free = [tables.variables[v] for v in numbers if v not in case.hard]
    return Factor.from_log(free, np.asarray(part)[None])


def _check_memory(tree: Tree, memory_limit: float | None) -> None:
    """Raise a MemoryLimitError if the second pass needs too many bytes at the largest clique.

    The pass holds two products for each operand (factor or message) of a clique.
    """
    limit = default_memory_limit() if memory_limit is None else memory_limit
    n_cliques = len(tree.parent)
    operands = np.bincount(tree.home[tree.home >= 0], minlength=n_cliques)
    operands += np.bincount(tree.parent[tree.parent >= 0], minlength=n_cliques)
    entries = 0.0
    if n_cliques:
        logs = np.add.reduceat(np.log(tree.cards[tree.member]), tree.c_start[:-1])
        entries = float(np.max(2.0 * (operands + 2) * np.exp(logs)))
    if BYTES * entries > limit or tree.width > _MAXIMUM_AXES:
        raise memory_error("tables", entries, tree.width, limit)


def _summed(operands: Sequence[Factor], keep: Sequence[Discrete]) -> Factor:
    return _product(operands, keep).marginal(keep)


def _products_without_each(operands: Sequence[Factor]) -> list[Factor]:
    """Return for each operand the product of all others, from prefix and suffix products."""
    heads = [Factor.from_log((), np.zeros(1))]
    for operand in operands[:-1]:
        heads.append(_product([heads[-1], operand]))
    tails = [Factor.from_log((), np.zeros(1))]
    for operand in operands[:0:-1]:
        tails.append(_product([tails[-1], operand]))
    return [_product(pair) for pair in zip(heads, reversed(tails), strict=True)]


def _without_each(logs: Sequence[float]) -> list[float]:
    """Return for each entry of `logs` the sum of all other entries.

    Prefix and suffix sums replace subtraction from the total, because inf - inf is NaN.
    """
    heads = [0.0, *itertools.accumulate(logs)]
    tails = [0.0, *itertools.accumulate(reversed(logs))][::-1]
    return [head + tail for head, tail in zip(heads, tails[1:], strict=False)]
