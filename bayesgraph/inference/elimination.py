"""Variable elimination: the submodel relevant to a query, elimination orders, the main loop."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import MAX, SUM, Algebra, Floats, log_of
from bayesgraph.core.errors import EvidenceError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import BYTES, check_memory, default_memory_limit, memory_error
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.inference.contract import Case, Plan, make_plan
from bayesgraph.inference.factors import (
    Factor,
    GaussianFactor,
    Potential,
    align,
    multiply,
    take_codes,
    union_scope,
)
from bayesgraph.inference.junction import Tree
from bayesgraph.inference.programs import CompiledTables, Relevance, plan_tree, restrict
from bayesgraph.inference.tables import Tables

# ------- Variable elimination: the submodel relevant to a query, elimination orders, the main loop


_Scopes = tuple[tuple[Variable, ...], ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """The factors of a submodel, reduced by the evidence.

    Attributes
    ----------
    potentials : list of factors
    columns : mapping from continuous variable to array of shape (n_rows,)
        Values of partially observed variables, NaN in the rows that lack them. These variables stay
        in the factors.
    """

    potentials: list[Potential]
    columns: Mapping[Variable, Floats]


class Slice(Protocol):
    """Submodel: the factors relevant to a query, for a given set of observed variables."""

    @property
    def scopes(self) -> Sequence[tuple[Variable, ...]]:
        """The scope of each factor after reduction by the evidence."""

    @property
    def blocking(self) -> Sequence[Variable]:
        """Partially observed variables that must be summed out in the rows that lack them."""

    @property
    def nbytes(self) -> int:
        """Bytes held in addition to the model's own arrays."""

    def problem(self, evidence: Evidence, *, summed: bool = False) -> Problem:
        """Return the factors of the submodel, reduced by the evidence.

        Parameters
        ----------
        evidence : Evidence
            Values of the variables for which the submodel was made.
        summed : bool
            Whether the caller integrates out all free continuous variables that are not kept. For a
            single row, factors over such variables may then be replaced by their integrals.
        """


class PlannedSlice:
    """A submodel with its elimination order.

    Depending on the evidence, the submodel may replace factors by their integrals. There is one
    elimination plan for each list of scopes that its factors may have.

    Attributes
    ----------
    slice : Slice
        The submodel.
    keep : tuple of Variable
        Variables that are not eliminated.
    """

    __slots__ = ("_plan", "_plans", "keep", "slice")

    def __init__(self, slice_: Slice, keep: Sequence[Variable]) -> None:
        self.slice = slice_
        self.keep = tuple(keep)
        self._plan: Plan | None = None
        self._plans: dict[_Scopes, Plan] = {}

    @property
    def nbytes(self) -> int:
        """Bytes held in addition to the model's own arrays."""
        return self.slice.nbytes

    @property
    def plan(self) -> Plan:
        """The elimination plan for one row of evidence."""
        if self._plan is None:  # a cache of its own: hashing all scopes takes longer than a row
            self._plan = self.plan_of(tuple(self.slice.scopes))
        return self._plan

    def plan_of(self, scopes: _Scopes) -> Plan:
        """Return the elimination plan for factors with the given scopes."""
        plan = self._plans.get(scopes)
        if plan is None:
            plan = self._plans[scopes] = make_plan(scopes, self.keep)
        return plan

    def marginal(
        self, evidence: Evidence, memory_limit: float | None = None
    ) -> tuple[Potential, Plan]:
        """Return the unnormalised posterior of the kept variables, and the elimination plan used.

        The posterior is a factor over ``plan.keep``.

        Raises
        ------
        MemoryLimitError
            If the largest product exceeds `memory_limit`; the message gives its size.
        """
        problem = self.slice.problem(evidence, summed=True)
        plan = self.plan_of(tuple(map(potential_scope, problem.potentials)))
        plan.check_memory(memory_limit)
        if not plan.steps:  # `remaining` would return all factors unchanged
            return multiply(problem.potentials), plan
        return multiply(remaining(problem.potentials, plan, problem.columns)), plan


def planned_slice(
    model: Any, evidence: Evidence, partial: Sequence[Variable], keep: Sequence[Variable]
) -> PlannedSlice:
    """Return the submodel relevant to the variables to keep, with its elimination order.

    The model caches it, by the kept variables and the variables with evidence.

    Parameters
    ----------
    model : model of kind "product" or "tempered"
    evidence : Evidence
        Evidence without columns that are missing in all rows.
    partial : sequence of Variable
        Variables of the columns that are missing in some rows.
    keep : sequence of Variable
    """
    index_of = model._index_of
    columns, likelihoods = evidence.columns, evidence.likelihoods
    key = (
        "slice",
        tuple([index_of[v.name] for v in keep]),
        tuple([index_of[v.name] for v in columns]),
        tuple([index_of[v.name] for v in partial]),
        tuple([index_of[v.name] for v in likelihoods]),
    )
    planned: PlannedSlice = model._memo.get(
        key,
        lambda: PlannedSlice(model._slice(tuple(columns), partial, tuple(likelihoods), keep), keep),
    )
    return planned


def potential_scope(potential: Potential) -> tuple[Variable, ...]:
    """Return all variables of a factor, discrete and continuous."""
    if isinstance(potential, GaussianFactor):
        return (*potential.scope, *potential.variables)
    return potential.scope


# ------------------------------------------------------------------------------ elimination loop


def remaining(
    potentials: Sequence[Potential],
    plan: Plan,
    columns: Mapping[Variable, Floats],
    *,
    discrete: Algebra = SUM,
    continuous: Algebra = SUM,
    trace: list[tuple[Variable, Potential]] | None = None,
) -> list[Potential]:
    """Eliminate variables in the plan's order; return the remaining factors as a list.

    Parameters
    ----------
    potentials : sequence of factors
        Factors, with the scopes for which the plan was made.
    plan : Plan
    columns : mapping from continuous variable to array of shape (n_rows,)
        Values of partially observed variables, NaN in the rows that lack them.
    discrete, continuous : Algebra
        Operations (sum or maximum) that eliminate variables of both kinds.
    trace : list, optional
        Receives each eliminated variable and the product of factors from which it was eliminated,
        in order of elimination.
    """
    # Each factor waits in the bucket of the variable in it that is eliminated first; factors
    # without one are in the last bucket.
    turn_of = {step.variable: turn for turn, step in enumerate(plan.steps)}
    last = len(plan.steps)
    buckets: list[list[Potential]] = [[] for _ in range(last + 1)]

    def put(potential: Potential) -> None:
        scope = potential_scope(potential)
        buckets[min((turn_of.get(v, last) for v in scope), default=last)].append(potential)

    for potential in potentials:
        put(potential)
    for turn, step in enumerate(plan.steps):
        if not buckets[turn]:  # no factor has the variable
            continue
        product: Any = multiply(buckets[turn])
        buckets[turn] = []
        if trace is not None:
            trace.append((step.variable, product))
        algebra = continuous if isinstance(step.variable, Continuous) else discrete
        if step.variable in columns:
            put(product.eliminate_partial(step.variable, algebra, columns[step.variable]))
        else:
            put(product.eliminate(step.variable, algebra))
    return buckets[last]


# ------------------------------------------------------------------------------------- questions


def marginal(
    model: Any,
    targets: Sequence[Variable],
    evidence: Evidence,
    memory_limit: float | None = None,
) -> tuple[Potential, Plan]:
    """Return the unnormalised posterior of the targets, and the elimination plan used.

    The posterior is a factor over ``plan.keep``: the targets and, for continuous targets, the
    discrete variables that index the components of the mixture.
    """
    trimmed, partial = evidence.split()
    return planned_slice(model, trimmed, partial, targets).marginal(trimmed, memory_limit)


def discrete_tables(model: Any, evidence: Evidence, memory_limit: float | None = None) -> Tables:
    """Return tables over the free discrete variables; their product is the unnormalised posterior.

    The evidence has one row. Continuous variables are set to their observed values or integrated
    out.
    """
    evidence, partial = evidence.split()
    free = [v for v in model.variables if isinstance(v, Discrete) and v not in evidence]
    problem, plan = _planned(model, evidence, partial, free, free, memory_limit)
    left = remaining(problem.potentials, plan, problem.columns)
    factors = [factor for factor in left if isinstance(factor, Factor)]
    factors = factors or [Factor.from_log((), np.zeros(1))]  # the constant 1
    scopes_left = [factor.scope for factor in factors]
    # Axis 0 of the log values is that of the one row.
    return Tables.from_logs(free, scopes_left, [factor.log_values[0] for factor in factors])


def _planned(
    model: Any,
    evidence: Evidence,
    partial: Sequence[Variable],
    asked: Sequence[Variable],
    keep: Sequence[Variable],
    memory_limit: float | None,
) -> tuple[Problem, Plan]:
    """Return the factors relevant to the variables in `asked`, and the plan that leaves `keep`.

    Neither the largest factor nor the largest product exceeds the limit.
    """
    submodel = planned_slice(model, evidence, partial, asked).slice
    cards = ([v.cardinality for v in scope if isinstance(v, Discrete)] for scope in submodel.scopes)
    entries = evidence.n_rows * max(map(math.prod, cards), default=1)
    advice = "Observe more variables, or raise memory_limit."
    # About six arrays of this size exist at a time: a table, its products and maxima.
    check_memory("A table of the model needs", entries, advice, memory_limit, copies=6)
    problem = submodel.problem(evidence)
    plan = make_plan(map(potential_scope, problem.potentials), keep)
    replace(plan, keep=()).check_memory(memory_limit)  # no product over all kept ones is formed
    return problem, plan


def most_probable(
    model: Any,
    variables: Collection[Variable],
    evidence: Evidence,
    *,
    joint: bool,
    memory_limit: float | None = None,
) -> tuple[dict[Variable, NDArray[Any]], Floats]:
    """Return the most probable values of `variables`, row by row.

    Without `joint`, continuous variables are integrated out, discrete variables are maximised, and
    continuous variables are then set to their conditional means. With `joint`, all variables are
    maximised: the result is the mode of the joint density.

    Returns
    -------
    values : mapping from variable to array of shape (n_rows,)
        State codes or numbers.
    log_value : ndarray, shape (n_rows,)
        Log of the maximum of the joint probability (density) of values and evidence.
    """
    wanted = [v for v in variables if joint or isinstance(v, Discrete)]
    values, log_value = _maximised(model, wanted, evidence, joint=joint, memory_limit=memory_limit)
    return completed(model, variables, values, evidence, joint, memory_limit), log_value


def completed(
    model: Any,
    variables: Collection[Variable],
    values: dict[Variable, NDArray[Any]],
    evidence: Evidence,
    joint: bool,
    memory_limit: float | None,
) -> dict[Variable, NDArray[Any]]:
    """Return `values` extended by the most probable values, given them, of all other `variables`.

    Of continuous variables these are the conditional means, which maximise a Gaussian too.
    """
    missing = [v for v in variables if v not in values]
    if not missing:
        return values
    # The stored matrices lack the new columns.
    extended = replace(evidence, columns={**evidence.columns, **values}, matrices=())
    return values | _maximised(model, missing, extended, joint=joint, memory_limit=memory_limit)[0]


def _maximised(
    model: Any,
    variables: Sequence[Variable],
    evidence: Evidence,
    *,
    joint: bool,
    memory_limit: float | None = None,
) -> tuple[dict[Variable, NDArray[Any]], Floats]:
    """Return the most probable values of `variables`, and the log of their probability.

    Only the submodel relevant to them is used. Continuous variables are maximised with `joint`;
    without it they are integrated out, and their values are conditional means.
    """
    evidence, partial = evidence.split()
    problem, plan = _planned(model, evidence, partial, variables, (), memory_limit)
    trace: list[tuple[Variable, Potential]] = []
    continuous = MAX if joint else SUM
    result = multiply(
        remaining(
            problem.potentials,
            plan,
            problem.columns,
            discrete=MAX,
            continuous=continuous,
            trace=trace,
        )
    )
    assert isinstance(result, Factor)  # no variable is kept
    values: dict[Variable, NDArray[Any]] = {}
    # Last eliminated first: a variable's product has, apart from the variable itself, only
    # variables that were eliminated later, whose values are then known.
    for variable, product in reversed(trace):
        values[variable] = _best(variable, product, values)
    return values, result.log_values


def _best(
    variable: Variable, product: Potential, values: Mapping[Variable, NDArray[Any]]
) -> NDArray[Any]:
    """Return the maximising value, in each row, of a variable eliminated from a product of factors.

    `values` holds the maximising values of the variables eliminated later: state codes or numbers.
    """
    others = [v for v in product.scope if v != variable]
    codes = [values[v].astype(np.intp) for v in others]
    if isinstance(product, Factor):
        _, log_values = take_codes(product.scope, product.log_values, others, codes)
        return np.asarray(np.argmax(log_values, axis=1))
    alone: Any = product.take(others, codes)  # in the end a factor of this variable alone
    for other in product.variables:
        if other != variable:
            alone = alone.condition(other, values[other].astype(np.float64))
    return np.asarray(alone.centre())


# -------- Two-pass propagation on junction forests of `Factor` objects: posteriors and derivatives
# `Calibration` computes the posteriors of a batch of rows, `table_derivatives` the derivatives with
# respect to table entries. The first pass sends messages towards the roots, the second pass sends
# messages from the roots to the leaves (Lauritzen and Spiegelhalter 1988).


# Maximum induced width: NumPy arrays have at most 64 axes, of which a few are needed besides.
_MAXIMUM_AXES = 58


class Forest:
    """A junction forest as lists indexed by clique, to be run for any values of its factors.

    `inside[c]` lists the factors multiplied at clique c, `below[c]` its child cliques, and
    `separators[c]` the variables that it shares with its parent. `constants` are the factors
    without free variables. Children come before their parents.

    Parameters
    ----------
    tree : Tree
    variables : sequence of Discrete
        The variables of the tree, by index.
    """

    def __init__(self, tree: Tree, variables: Sequence[Discrete]) -> None:
        self.roots = np.flatnonzero(tree.parent < 0).tolist()
        self.inside: list[list[int]] = [[] for _ in tree.parent]
        self.below: list[list[int]] = [[] for _ in tree.parent]
        self.constants: list[int] = []
        for f, home in enumerate(tree.home.tolist()):  # -1 is the home of a constant
            (self.inside[home] if home >= 0 else self.constants).append(f)
        for c, parent in enumerate(tree.parent.tolist()):
            if parent >= 0:
                self.below[parent].append(c)
        # A clique's members are ``tree.member[c_start[c]:c_start[c + 1]]``. Its first `residual[c]`
        # ones are eliminated there; the others are its separator.
        begins = (tree.c_start[:-1] + tree.residual).tolist()
        members = [variables[v] for v in tree.member.tolist()]
        ends = tree.c_start[1:].tolist()
        self.separators = [members[i:j] for i, j in zip(begins, ends, strict=True)]

    def upward(self, factors: Sequence[Factor]) -> tuple[list[Factor], list[Factor]]:
        """Return the product at each clique, and its sum to the separator: the message upward."""
        products: list[Factor] = []
        up: list[Factor] = []
        for inside, below, separator in zip(self.inside, self.below, self.separators, strict=True):
            # A factor of ones (logs of zero, with axes of length 1 to be broadcast): with it the
            # product has all variables of the separator, even if no other operand has one of them.
            ones = Factor.from_log(separator, np.zeros([1] * (1 + len(separator))))
            product = multiply([*(factors[f] for f in inside), *(up[d] for d in below), ones])
            assert isinstance(product, Factor)  # as the factors are
            products.append(product)
            up.append(product.marginal(separator))
        return products, up

    def without_each(self, factors: Sequence[Factor]) -> tuple[list[Factor], Floats]:
        """Return for each factor the product of all others, summed to its scope, and the log mass.

        The mass is the sum of the product of all factors over the joint states. It is linear in
        every entry of every factor, and the sums are its derivatives with respect to the entries
        (Darwiche 2003). No message is divided (Shafer and Shenoy 1990), so that entries of zero
        have derivatives too.

        Parameters
        ----------
        factors : sequence of Factor
            For n_rows rows, or for one row that serves for all of them.

        Returns
        -------
        others : list of Factor
        log_mass : ndarray, shape (1 or n_rows,)
        """
        _, up = self.upward(factors)
        # The mass is the product of the masses of the trees and of the constant factors.
        masses = [*(up[c] for c in self.roots), *(factors[f] for f in self.constants)]
        others = _without_each(masses)  # in the order of the operands: the roots come first
        # The product of all factors outside a clique's subtree: the message from its parent, and at
        # a root the mass of all else.
        down = dict(zip(self.roots, others, strict=False))
        products = dict(zip(self.constants, others[len(self.roots) :], strict=True))
        for c in range(len(up) - 1, -1, -1):
            inside, below = self.inside[c], self.below[c]
            operands = [*(factors[f] for f in inside), *(up[d] for d in below), down.pop(c)]
            others = _without_each(operands)  # of the factors inside, then of the children
            products.update(zip(inside, others, strict=False))
            down.update(zip(below, others[len(inside) :], strict=False))
        # The zero gives the sum its shape where there are no factors.
        log_mass = np.zeros(1) + sum(mass.log_values for mass in masses)
        return [products[f] for f in range(len(factors))], log_mass


def _without_each(operands: Sequence[Factor]) -> list[Factor]:
    """Return for each operand the product of all others, summed to the operand's scope.

    Each is the product of the operands before it times that of the operands after it; both come
    from cumulative sums of logs. No division is needed.
    """
    scope = union_scope(operand.scope for operand in operands)
    logs = [operand.aligned(scope) for operand in operands]
    nothing: Floats = np.zeros([1] * (1 + len(scope)))
    heads = itertools.accumulate(logs[:-1], np.add, initial=nothing)
    # From the last operand down to the second one; reversed below.
    tails = [*itertools.accumulate(logs[:0:-1], np.add, initial=nothing)]
    cards = [variable.cardinality for variable in scope]
    products = []
    for operand, head, tail in zip(operands, heads, reversed(tails), strict=True):
        total = head + tail
        product = Factor.from_log(scope, np.broadcast_to(total, (len(total), *cards)))
        products.append(product.marginal(operand.scope))
    return products


class Calibration:
    """A junction forest for factors of given scopes, planned once and run for any factor values.

    Parameters
    ----------
    scopes : sequence of tuples of Discrete
        Scopes of the factors, none of them empty.

    Attributes
    ----------
    entries : float
        Number of entries of all cliques together, for one row.

    Raises
    ------
    MemoryLimitError
        If the largest table for one row takes more than half of the machine's memory.
    """

    def __init__(self, scopes: Sequence[tuple[Discrete, ...]]) -> None:
        variables = union_scope(scopes)
        # Only the scopes count here; the values come with each run.
        ones = [np.ones([v.cardinality for v in scope]) for scope in scopes]
        tables = Tables.over(variables, scopes, ones, sums_to_one=False)
        tree = plan_tree(restrict(tables, (), (), (), Relevance.EVERYTHING))
        limit = default_memory_limit()
        if BYTES * tree.largest > limit:
            raise memory_error("a table", tree.largest, tree.width, limit)
        self.entries = float(tree.total)
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
        products, up = forest.upward(factors)
        log_mass = np.zeros(1) + sum(up[c].log_values for c in forest.roots)
        posteriors: dict[int, Floats] = {}
        # P(separator | evidence) for each clique, computed at its parent. Its division by the
        # message from below is faster than the product of all other messages. At a root, without a
        # separator, it is one, or zero in rows of impossible evidence.
        shared = {
            c: Factor.from_log((), np.where(np.isneginf(up[c].log_values), -np.inf, 0.0))
            for c in forest.roots
        }
        for c in range(len(up) - 1, -1, -1):
            scope = products[c].scope
            message = shared.pop(c) / up[c]
            belief = np.exp(products[c].log_values + message.aligned(scope))
            for f in forest.inside[c]:
                posteriors[f] = summed_to(belief, scope, factors[f].scope)
            for d in forest.below[c]:
                separator = forest.separators[d]
                shared[d] = Factor.from_log(separator, log_of(summed_to(belief, scope, separator)))
        return [posteriors[f] for f in range(len(factors))], log_mass


def summed_to(values: Floats, scope: Sequence[Discrete], keep: Sequence[Discrete]) -> Floats:
    """Return the sums of a table with the axes (rows, scope...), with the axes (rows, keep...)."""
    gone = tuple(1 + axis for axis, v in enumerate(scope) if v not in keep)
    left = [v for v in scope if v in keep]
    return align(values.sum(axis=gone) if gone else values, left, keep)


def table_derivatives(
    compiled: CompiledTables, case: Case, *, memory_limit: float | None = None
) -> tuple[list[Factor], float]:
    """Return logs of derivatives of the evidence's probability with respect to table entries.

    For tables that are not a network, the probability is the mass: the sum of the product of all
    tables and likelihoods over the joint states that agree with the evidence.

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
    log_mass : float
    """
    tables = compiled.tables
    soft = sorted(case.soft)
    restricted = restrict(tables, sorted(case.hard), soft, (), Relevance.EVERYTHING)
    tree = plan_tree(restricted)
    _check_memory(tree, memory_limit)
    variables = [tables.variables[v] for v in tree.variables.tolist()]
    # In the order of the factors of the tree: all tables, then the likelihoods.
    factors = [_agreeing(tables, case, f) for f in range(len(tables))]
    factors += [Factor.from_log([tables.variables[v]], case.soft[v][None]) for v in soft]
    others, log_mass = Forest(tree, variables).without_each(factors)
    scale = case.log_scale + tables.log_scale
    derivatives = [Factor.from_log(o.scope, o.log_values + scale) for o in others[: len(tables)]]
    return derivatives, float(log_mass[0]) + scale


def _agreeing(tables: Tables, case: Case, f: int) -> Factor:
    """Return the entries of table f that agree with the hard evidence, as a factor."""
    scope, values = tables.table(f, logs=True)
    agreeing = values[tuple(case.hard.get(v, slice(None)) for v in scope)]
    free = [tables.variables[v] for v in scope if v not in case.hard]
    return Factor.from_log(free, np.asarray(agreeing)[None])  # axis 0: one row


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
        # Log number of entries of each clique, whose members follow one another in `member`.
        logs = np.add.reduceat(np.log(tree.cards[tree.member]), tree.c_start[:-1])
        # The message from the parent is an operand too; one more leaves room for the results.
        entries = float(np.max(2.0 * (operands + 2) * np.exp(logs)))
    if BYTES * entries > limit or tree.width > _MAXIMUM_AXES:
        raise memory_error("tables", entries, tree.width, limit)


# ----------- Jeffrey's rule: soft evidence that gives variables prescribed posterior distributions


_MAXIMUM_ROUNDS = 2_000
# Maximum difference from the prescribed posteriors that is accepted after the last round.
_GOOD_ENOUGH = 1e-9


def likelihoods(
    beliefs: Mapping[Discrete, Floats],
    posterior: Callable[[Discrete, Mapping[Discrete, Floats]], Floats],
    *,
    tolerance: float = 1e-12,
) -> dict[Discrete, Floats]:
    """Return likelihoods under which the variables in `beliefs` have the prescribed posteriors.

    For one variable with prescribed posterior q, the likelihood is q(x) / p(x), where p is the
    current posterior (Jeffrey 1965). For several variables the likelihoods are found by
    iterative proportional fitting (Csiszar 1975). The iteration converges to the distribution with
    the prescribed marginals that has the smallest Kullback-Leibler divergence from the model.

    Parameters
    ----------
    beliefs : mapping from variable to probabilities
        Prescribed posterior distribution of each variable.
    posterior : callable
        Function of a variable and a mapping from variable to log likelihoods, which returns the
        variable's posterior given these likelihoods and the other evidence.
    tolerance : float
        Maximum difference between a posterior and the prescribed one at which the iteration ends.

    Returns
    -------
    dict from variable to log likelihoods

    Raises
    ------
    EvidenceError
        If a state with positive prescribed probability is impossible given the other evidence, or
        if no distribution has all of the prescribed posteriors as marginals.
    """
    logs = {v: np.where(q > 0, 0.0, -np.inf) for v, q in beliefs.items()}
    log_beliefs = {v: log_of(q) for v, q in beliefs.items()}
    worst = np.inf
    for round_number in range(_MAXIMUM_ROUNDS):
        worst = 0.0
        for variable, q in beliefs.items():
            current = posterior(variable, logs)
            if ((current <= 0) & (q > 0)).any():
                raise EvidenceError(
                    f"The new belief about {variable.name!r} gives weight to states that have "
                    "probability zero under the model and the other findings."
                )
            worst = max(worst, float(np.max(np.abs(current - q))))
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.where(q > 0, log_beliefs[variable] - np.log(current), -np.inf)
            updated = logs[variable] + step
            # The scale of a likelihood is arbitrary: its maximum is made one.
            logs[variable] = np.where(q > 0, updated - updated.max(), -np.inf)
        # For one variable the first round is exact; the second one measures the difference.
        if worst <= tolerance or (len(beliefs) == 1 and round_number):
            break
    if worst <= _GOOD_ENOUGH:
        return logs
    raise EvidenceError(
        f"The new beliefs are not reached after {_MAXIMUM_ROUNDS} rounds of proportional fitting "
        f"(still off by {worst:.3g}): they contradict each other under the model, or nearly so."
    )


# ---- Products of factors as distributions of one variable given the others: a step of an arc
# reversal
# A product f(v, rest) is P(v | rest) times the sum (integral) of f over v, a function of the rest
# (Shachter 1986 for tables; Shachter and Kenley 1989 for linear Gaussians).


# NumPy arrays have at most 64 axes, of which factors need a few for rows and parameters.
_MOST_AXES = 60

# Mean and variance, which have an axis for each discrete variable, and slopes.
Linear: TypeAlias = tuple[Floats, Floats, Floats]


def product_of(
    factors: Sequence[Potential],
    last: Callable[[], Potential],
    scope: Iterable[Variable],
    what: str,
) -> Potential:
    """Return the product of factors with one that is made after the size has been checked.

    Parameters
    ----------
    factors : sequence of factors
    last : callable
        Returns one more factor.
    scope : iterable of Variable
        The variables of that factor.
    what : str
        What the product is needed for, for the message.

    Raises
    ------
    MemoryLimitError
        If the product takes more than half of the machine's memory.
    """
    variables = {*scope, *(v for factor in factors for v in potential_scope(factor))}
    discrete = [v.cardinality for v in variables if isinstance(v, Discrete)]
    # A Gaussian over n continuous variables has at most (1 + n)^2 numbers for each configuration of
    # the discrete ones.
    others = len(variables) - len(discrete)
    check_memory(
        f"For {what} a distribution over {len(variables)} variables is needed, of",
        math.inf if len(discrete) > _MOST_AXES else math.prod(discrete) * (1 + others) ** 2,
        "Ask the network itself, whose queries need no such table.",
        copies=3,  # the product, its exponential and its sum
    )
    return multiply([*factors, last()])


def summed_out(product: Potential, variable: Variable) -> Potential:
    """Return the sum (integral) of a factor over one variable."""
    summed: Potential = product.eliminate(variable, SUM)  # type: ignore[arg-type]
    return summed


def probabilities(product: Factor, variable: Discrete, parents: Sequence[Discrete]) -> Floats:
    """Return P(variable | parents) in proportion to a factor over all of them.

    Parent configurations of probability zero get equal probabilities of all states.
    """
    logs = product.aligned([*parents, variable])[0]  # without the axis of rows
    # Shifted by the maximum, so that not all exponentials of a configuration underflow.
    peak = logs.max(axis=-1, keepdims=True)
    possible = peak > -np.inf
    values = np.where(possible, np.exp(logs - np.where(possible, peak, 0.0)), 1.0)
    return np.asarray(values / values.sum(axis=-1, keepdims=True))


def linear(product: GaussianFactor, variable: Continuous, parents: Sequence[Variable]) -> Linear:
    """Return the linear Gaussian of a variable given all other variables of a factor.

    Returns
    -------
    mean, variance : ndarray, an axis for each discrete parent
    slopes : ndarray, on the last axis one for each continuous parent
    """
    conditional: Any = product.conditional(variable)
    discrete = [v for v in parents if isinstance(v, Discrete)]
    others = [v for v in product.variables if v != variable]
    # The slopes are in the order of the factor's variables; those returned, of the parents.
    places = [others.index(v) for v in parents if isinstance(v, Continuous)]
    # Index 0 is that of the only row.
    mean, variance, slopes = (align(x, product.scope, discrete)[0] for x in conditional)
    return mean, variance, slopes[..., places]
