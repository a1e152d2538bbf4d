"""The solver of models with any factors (Gaussians, plates, trees, tables), for one case."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, log_sum_exp
from bayesgraph.core.errors import ImpossibleEvidenceError, UnsupportedModelError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, CountVector, Discrete, Variable
from bayesgraph.inference import results
from bayesgraph.inference.contract import (
    All,
    Best,
    Case,
    Draw,
    Joint,
    Mass,
    Pattern,
    Plan,
    PlanStep,
    Retractions,
    Solver,
    Taken,
    Work,
    check_target,
)
from bayesgraph.inference.elimination import (
    PlannedSlice,
    discrete_tables,
    marginal,
    most_probable,
    planned_slice,
)
from bayesgraph.inference.factors import Factor, GaussianFactor, align, normalised_with_total
from bayesgraph.inference.programs import CompiledTables
from bayesgraph.inference.sensitivity import FindingRetractions
from bayesgraph.inference.table_solvers import (
    assignments_of,
    draws_of,
    query_of,
)

# ---------- The solver of models with any factors (Gaussians, plates, trees, tables), for one case


def slice_of_case(model: Any, pattern: Pattern, keep: Sequence[int]) -> PlannedSlice:
    """Return the submodel relevant to the variables in `keep`, with its elimination order.

    It serves for every case with the observed variables of `pattern`.
    """
    # Only which variables have evidence counts here, not their values.
    nothing = np.empty(1)
    variables = model.variables
    columns = {variables[v]: nothing for v in pattern.observed}
    soft = {v: nothing for v in (variables[u] for u in pattern.soft) if isinstance(v, Discrete)}
    return planned_slice(model, Evidence(1, columns, soft), (), [variables[v] for v in keep])


def plan_of_factors(model: Any, pattern: Pattern, keep: Sequence[int], passes: int = 1) -> Plan:
    """Return a plan that eliminates nothing: a step stands for one factor of the submodel.

    The sizes of tables are as they come, whichever variable a step names.
    """
    scopes = slice_of_case(model, pattern, keep).slice.scopes
    steps = tuple([PlanStep(scope[-1], scope) for scope in scopes if scope])
    return Plan(steps, passes=passes)


def leaves_of(model: Any, targets: Iterable[int], pattern: Pattern) -> Mapping[Variable, Any]:
    """Return the targets that are leaves when a query is asked, and their CPDs.

    A leaf has a CPD that is not Gaussian, and no children that are targets or have evidence, or
    descendants with it.
    """
    evidence = [model.variables[v] for v in (*pattern.observed, *pattern.soft)]
    cpds: Mapping[Variable, Any] = model._leaf_targets(
        [model.variables[v] for v in targets], evidence
    )
    return cpds


def parent_cells(
    cpd: Any, codes: Mapping[Variable, NDArray[np.integer]], n: int
) -> NDArray[np.intp]:
    """Return the configuration of a CPD's parents in each of n cases, from their state codes."""
    cells = np.zeros(n, dtype=np.intp)
    for parent in cpd.parents:  # the states of the last parent vary fastest
        cells = cells * parent.cardinality + codes[parent]
    return cells


class FactorJoint(Work):
    """Prepared query for a joint posterior; for continuous targets, a mixture of Gaussians."""

    def _prepare(self, model: Any) -> None:
        self._wanted = [model.variables[v] for v in self.question.targets]
        self._submodel = slice_of_case(model, self.pattern, self.question.targets)

    def run(self, case: Case, memory_limit: float | None = None) -> Any:
        wanted = self._wanted
        result, plan = self._submodel.marginal(case.evidence(self.model.variables), memory_limit)
        discrete = [v for v in wanted if isinstance(v, Discrete)]
        if isinstance(result, Factor):  # all targets are discrete
            probabilities, log_evidence = normalised_with_total(result.aligned(discrete))
            if log_evidence == -np.inf:
                return None
            log_evidence += case.log_scale
            return results.Posterior(tuple(discrete), probabilities, log_evidence)
        return _mixture(result, discrete, plan, wanted, case.log_scale)


class FactorMass(Work):
    """Prepared query for the log probability of the evidence.

    It is the log of the sum (integral) of the product of all factors over the free variables.
    """

    def run(self, case: Case, memory_limit: float | None = None) -> float:
        return log_mass(self.model, case, memory_limit)


def log_mass(model: Any, case: Case, memory_limit: float | None) -> float:
    """Return the log probability (density) of the evidence, up to a constant of the model."""
    result, _ = marginal(model, [], case.evidence(model.variables), memory_limit)
    assert isinstance(result, Factor)  # no targets, no variables left
    return float(result.log_values[0]) + case.log_scale


class FactorAll(Work):
    """Prepared query for the posteriors of all unobserved variables, computed on first access."""

    def run(self, case: Case, memory_limit: float | None = None) -> results.Marginals | None:
        """Return the posteriors of all free variables; None if the evidence is impossible."""
        model, log_evidence = self.model, self._log_evidence(case, memory_limit)
        if log_evidence == -np.inf:
            return None
        free = {v.name: None for index, v in enumerate(model.variables) if index not in case.hard}
        answer = partial(_posterior_of, model, case, memory_limit)
        return results.Marginals(free, answer, log_evidence)

    def _log_evidence(self, case: Case, memory_limit: float | None) -> float:
        return log_mass(self.model, case, memory_limit)


def _posterior_of(model: Any, case: Case, memory_limit: float | None, name: Any) -> Any:
    """Return the posterior of the variable with a name, or raise an error; see `FactorAll`."""
    index = model._index_of[name]
    check_target(model, model.variables[index])
    posterior = model._answer(Joint((index,)), case, memory_limit)
    if posterior is None:
        hard = {model.variables[v]: value for v, value in case.hard.items()}
        values = {
            v.name: v.states[int(value)] if isinstance(v, Discrete) else value
            for v, value in hard.items()
        }
        values |= {model.names[v]: np.exp(logs) for v, logs in case.soft.items()}
        raise ImpossibleEvidenceError(
            f"The model gives probability zero to the evidence {values!r}."
        )
    return posterior


class FactorBest(Work):
    """Prepared query for the most probable assignments of the discrete variables.

    Continuous variables are integrated out first; on request they are then set to their conditional
    means, or maximised jointly with the discrete variables.
    """

    def run(self, case: Case, memory_limit: float | None = None) -> Taken | None:
        model, question = self.model, self.question
        evidence = case.evidence(model.variables)
        if question.means:
            free = self._free(evidence)
            values, log_value = most_probable(
                model, free, evidence, joint=question.mode, memory_limit=memory_limit
            )
            if np.isneginf(log_value[0]):
                return None
            best = results.Assignment(
                self._named(case, values), float(log_value[0]) + case.log_scale
            )
            return Taken(lambda k: [best])  # k is 1 with means
        # The tables are reduced by the evidence: the program has none to observe.
        compiled = CompiledTables(discrete_tables(model, evidence, memory_limit))
        over = question.over
        if over is not None:
            over = tuple(compiled.tables.numbers(model.variables[v] for v in over))
        query = query_of(compiled, Best(over), Pattern(()))
        program = compiled.program(query, memory_limit=memory_limit)
        constant = Case({}, {}, case.log_scale)
        return assignments_of(compiled, program, constant, over, memory_limit)

    def _free(self, evidence: Evidence) -> list[Variable]:
        """Return the variables without evidence, but for those that cannot be integrated out."""
        unmarginalisable = self.model._unmarginalisable
        return [v for v in self.model.variables if v not in evidence and v not in unmarginalisable]

    def _named(self, case: Case, values: Mapping[Variable, Any]) -> dict[Any, Any]:
        """Return values by name: states, numbers, and the means of leaves given both."""
        chosen = {v: column[0] for v, column in values.items()}
        if self.question.means:
            chosen |= self._leaf_means(case, chosen)
        return {
            v.name: v.states[int(chosen[v])] if isinstance(v, Discrete) else float(chosen[v])
            for v in self.model.variables
            if v in chosen
        }

    def _leaf_means(self, case: Case, assigned: Mapping[Variable, Any]) -> dict[Variable, float]:
        """Return the conditional means of leaves that are not Gaussian, given the assigned states.

        `assigned` has the state codes (and numbers) of the other free variables.
        """
        model = self.model
        codes = {model.variables[v]: x for v, x in case.hard.items()}
        codes |= {v: int(x) for v, x in assigned.items() if isinstance(v, Discrete)}
        candidates = [
            v for v in model._unmarginalisable if isinstance(v, Continuous) and v not in codes
        ]
        means = {}
        for leaf, cpd in model._leaf_targets(candidates, tuple(codes)).items():
            cell = parent_cells(cpd, {p: np.array([codes[p]]) for p in cpd.parents}, 1)
            means[leaf] = float(cpd.components(cell).means[0, 0])  # one configuration, one number
        return means


class FactorDraw(Work):
    """Prepared query for exact draws: discrete variables first, then continuous ones given them."""

    def run(self, case: Case, memory_limit: float | None = None) -> Taken | None:
        model = self.model
        evidence = case.evidence(model.variables)
        # The tables are reduced by the evidence: the program has none to observe.
        compiled = CompiledTables(discrete_tables(model, evidence, memory_limit))
        query = query_of(compiled, Draw(), Pattern(()))
        program = compiled.program(query, memory_limit=memory_limit)
        discrete = draws_of(compiled, program, Case({}), memory_limit)
        return None if discrete is None else Taken(partial(_drawn, model, evidence, discrete))


def _drawn(
    model: Any, evidence: Evidence, discrete: Taken, n: int, random: np.random.Generator
) -> dict[Variable, NDArray[Any]]:
    """Return n draws of all free variables, as encoded columns.

    `evidence` is the evidence, and `discrete` draws the free discrete variables.
    """
    drawn: dict[Variable, NDArray[Any]] = discrete.take(n, random)
    continuous = [v for v in model.variables if isinstance(v, Continuous) and v not in evidence]
    if not continuous or not n:
        return drawn
    # In each row, the continuous variables are Gaussian given all discrete variables.
    columns = {
        v: np.broadcast_to(column, (n, *column.shape[1:]))  # one row to n; counts have two axes
        for v, column in evidence.columns.items()
    }
    result, _ = marginal(model, continuous, Evidence(n, columns | drawn))
    assert isinstance(result, GaussianFactor)  # all discrete variables are observed
    # Shapes (n, k) and (n, k, k) for k continuous variables, in the order of `result.variables`.
    _, mean, covariance = result.moments()
    # For independent standard normals z, mean + L z has the covariance L L^T.
    try:
        root = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:  # it is singular but for rounding errors, its root is not
        root = np.linalg.inv(result.compressed().loadings)
    noise = random.standard_normal((n, len(continuous)))
    values = mean + np.einsum("...ij,...j->...i", root, noise)
    return drawn | {v: values[:, result.variables.index(v)] for v in continuous}


def _mixture(
    result: GaussianFactor,
    discrete: list[Discrete],
    plan: Plan,
    wanted: Sequence[Variable],
    log_scale: float,
) -> Any:
    """Return a Gaussian factor as a normalised posterior; None if its integral is zero.

    `discrete` are the discrete targets, and `wanted` all targets. Other discrete variables of the
    factor index the components of the mixture. `log_scale` is that of the case.
    """
    continuous = tuple(v for v in wanted if isinstance(v, Continuous))
    order = [result.variables.index(v) for v in continuous]
    hidden = [v for v in plan.keep if isinstance(v, Discrete) and v not in discrete]
    axes = [*discrete, *hidden]
    n = len(continuous)
    log_mass, mean, covariance = result.moments()
    shape = [v.cardinality for v in axes]

    def flat(values: Floats, *tail: int) -> Floats:
        """Return values of the shape (number of configurations of `axes`, *tail)."""
        table = align(values, result.scope, axes)[0]  # the only row of evidence
        return np.broadcast_to(table, (*shape, *tail)).reshape(-1, *tail)

    log_mass = flat(log_mass) + log_scale
    log_evidence = float(log_sum_exp(log_mass[None], 1)[0])  # over the configurations
    if log_evidence == -np.inf:
        return None
    if np.isnan(log_evidence):
        raise UnsupportedModelError(
            f"The posterior of {quoted(v.name for v in wanted)} is beyond the range of floats: "
            "means, slopes or variances are too large. Give the numbers in another unit."
        )
    mean = flat(mean[..., order], n)
    covariance = flat(covariance[..., order, :][..., :, order], n, n)

    def mixture(cells: NDArray[np.intp], shares: Floats) -> results.NumberMixture:
        """Return the mixture of the Gaussians of some configurations; see `_by_state`."""
        components = results.GaussianComponents(mean[cells], covariance[cells])
        return results.NumberMixture(continuous, [(shares, components)], log_evidence)

    return _by_state(discrete, np.exp(log_mass - log_evidence), log_evidence, mixture)


def _by_state(
    discrete: Sequence[Discrete],
    weights: Floats,
    log_evidence: float,
    mixture: Callable[[NDArray[np.intp], Floats], Any],
) -> Any:
    """Return the posterior of numbers, in each state of the discrete targets if there are any.

    Parameters
    ----------
    discrete : sequence of Discrete
        The discrete targets.
    weights : ndarray, shape (configurations,)
        Probabilities of the configurations of discrete variables, of which the targets are first.
    log_evidence : float
    mixture : callable
        Function of configurations and their weights, which sum to one, that returns the posterior
        of the numbers in these.
    """
    cards = [v.cardinality for v in discrete]
    # The configurations of each joint state of the targets follow one another: `size` of them.
    size = len(weights) // math.prod(cards)
    mixtures = []
    for begin in range(0, len(weights), size):
        cells = begin + np.flatnonzero(weights[begin : begin + size] > 0)
        total = weights[cells].sum()
        mixtures.append(mixture(cells, weights[cells] / total) if len(cells) else None)
    if not discrete:
        return mixtures[0]
    probabilities = weights.reshape(*cards, -1).sum(axis=-1)
    posterior = results.Posterior(tuple(discrete), probabilities, log_evidence)
    return results.MixedPosterior(posterior, mixtures)


class Factors(Solver):
    """Solver by variable elimination on tables and Gaussian factors, continuous variables first."""

    name = "factors"
    condition = "one case of tables with Gaussians, plates or trees"
    kinds = ("product",)
    works: ClassVar = {
        Joint: FactorJoint,
        All: FactorAll,
        Mass: FactorMass,
        Best: FactorBest,
        Draw: FactorDraw,
        Retractions: FindingRetractions,
    }

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        if isinstance(question, Joint | Mass | Retractions):
            return slice_of_case(model, pattern, getattr(question, "targets", ())).plan
        wanted = [
            v
            for v, variable in enumerate(model.variables)
            if v not in pattern.observed and variable not in model._unmarginalisable
        ]
        if isinstance(question, All):
            return Plan(parts=tuple(slice_of_case(model, pattern, (v,)).plan for v in wanted))
        # For assignments and draws the tables of all discrete variables are kept.
        kept = [v for v in wanted if isinstance(model.variables[v], Discrete)]
        return slice_of_case(model, pattern, kept).plan


# ---- The solver of leaves: posteriors of variables whose distributions the engine cannot multiply
# Given the configuration of its parents, a leaf is independent of the evidence if none of its
# children is observed or a target. Its posterior is then a mixture of the distributions of its CPD,
# weighted by the posterior of the parents, which another solver gives:
#
#     p(x | e) = sum_u P(u | e) p(x | u).


class LeafJoint(Work):
    """Prepared query for the joint posterior of leaves and any other variables."""

    def _prepare(self, model: Any) -> None:
        targets = self.question.targets
        wanted = [model.variables[index] for index in targets]
        self._cpds = leaves_of(model, targets, self.pattern)  # by leaf
        vector = next((leaf for leaf in self._cpds if isinstance(leaf, CountVector)), None)
        if vector is not None and len(targets) > 1:
            raise UnsupportedModelError(
                f"{vector.name!r} is a vector of counts, whose posterior is answered alone; leave "
                "the other targets out, or observe them."
            )
        # The targets by kind; a vector of counts is among the continuous ones.
        self._continuous = tuple(v for v in wanted if not isinstance(v, Discrete))
        self._discrete = tuple(v for v in wanted if isinstance(v, Discrete))
        parents = dict.fromkeys(p for cpd in self._cpds.values() for p in cpd.parents)
        index_of, observed = model._index_of, self.pattern.observed
        # The observed parents, and their indices.
        self._observed = {p: index_of[p.name] for p in parents if index_of[p.name] in observed}
        hidden = [p for p in parents if p not in self._observed and p not in self._discrete]
        # The axes of the configurations that index the mixture's components. Those of one state of
        # the discrete targets follow one another, as `_by_state` takes them.
        self._axes = (*self._discrete, *hidden)
        others = [v for v in self._continuous if v not in self._cpds]
        # What another solver is asked: the joint posterior of these parents and of all targets that
        # are not leaves.
        self.inner = Joint(tuple(index_of[v.name] for v in (*self._axes, *others)))

    def run(self, case: Case, memory_limit: float | None = None) -> Any:
        posterior = None  # without targets and parents that are asked for
        if self.inner.targets:
            posterior = self.model._answer(self.inner, case, memory_limit)
            if posterior is None:
                return None
            log_evidence = posterior.log_evidence
        else:
            log_evidence = log_mass(self.model, case, memory_limit)
        if log_evidence == -np.inf:
            return None
        # The probabilities of the joint configurations of `_axes`, and the mixtures of the numbers
        # that are no leaves in each of them.
        weights, numbers = results.divided_posterior(posterior)
        n, shape = len(weights), [v.cardinality for v in self._axes]
        # Of each axis the state codes in all configurations; the last axis varies fastest.
        states = np.unravel_index(np.arange(n), shape) if shape else ()
        codes = dict(zip(self._axes, states, strict=True))
        codes |= {p: np.full(n, case.hard[index]) for p, index in self._observed.items()}
        # The configuration of each leaf's parents in each of the joint configurations.
        cells = {leaf: parent_cells(cpd, codes, n) for leaf, cpd in self._cpds.items()}
        mixture = partial(self._mixture, numbers, cells, log_evidence)
        return _by_state(self._discrete, weights, log_evidence, mixture)

    def _mixture(
        self,
        numbers: Sequence[results.NumberMixture | None],
        cells: Mapping[Variable, NDArray[np.intp]],
        log_evidence: float,
        rows: NDArray[np.intp],
        weights: Floats,
    ) -> Any:
        """Return the posterior of the numbers in some configurations; see `_by_state`.

        `rows` are the configurations, and `weights` their weights. `numbers` has the
        mixtures of other numbers, and `cells` the configurations of the parents of each leaf.
        """
        vector = self._continuous[0]
        if isinstance(vector, CountVector):  # then it is the only target
            items = self._cpds[vector].components(cells[vector][rows])
            return results.ItemsMixture(vector, [(weights, items)], log_evidence)
        # Blocks of independent targets: their places in `_continuous`, and their distributions.
        blocks: list[tuple[tuple[int, ...], results.Components]] = []
        # Configurations without weight, which have no mixture, are left out.
        others: list[Any] = [numbers[i] for i in rows.tolist()] if numbers else []
        if others:
            # A component of the result for each component of the mixture in each configuration.
            rows = np.repeat(rows, [len(mixture.weights) for mixture in others])
            shares = [w * mixture.weights for w, mixture in zip(weights, others, strict=True)]
            weights = np.concatenate(shares)
            gaussians = results.GaussianComponents(
                np.concatenate([mixture.means for mixture in others]),
                np.concatenate([mixture.covariances for mixture in others]),
            )
            blocks.append((tuple(map(self._continuous.index, others[0].variables)), gaussians))
        for leaf, cpd in self._cpds.items():
            blocks.append(((self._continuous.index(leaf),), cpd.components(cells[leaf][rows])))
        components = blocks[0][1] if len(blocks) == 1 else results.ProductComponents(tuple(blocks))
        return results.NumberMixture(self._continuous, [(weights, components)], log_evidence)


class Leaves(Solver):
    """Solver of posteriors of leaves, by the posterior of their parents."""

    name = "leaves"
    condition = "a leaf of any family, which is independent of the evidence given its parents"
    kinds = ("product", "tempered")
    works: ClassVar = {Joint: LeafJoint}

    def takes(self, model: Any, question: Any, pattern: Pattern) -> bool:
        return not pattern.rows and bool(leaves_of(model, question.targets, pattern))

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        # To prepare it only finds out what another solver is asked.
        work = LeafJoint(self, model, question, pattern)
        keep = tuple(model.variables[v] for v in question.targets)
        if not work.inner.targets:
            return Plan(keep=keep)
        inner = model._plan_of(work.inner, pattern)
        return Plan(keep=keep, parts=(inner,))


# ---- Rows of a batch that repeat others: what takes long is then computed once for all equal rows


# Number of rows among which repetitions are looked for first, and the share of them that has to
# repeat others: among many more rows many more repeat others.
_FIRST, _SHARE = 1024, 1 / 64
# Maximum share of different rows for which it pays to compute these alone.
_DIFFERENT = 3 / 4
# Odd number near 2**64 divided by the golden ratio (Knuth 1998, section 6.4).
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)

Indices = NDArray[np.intp]


def different_rows(evidence: Evidence) -> tuple[Indices, Indices] | None:
    """Return the rows that differ from those before them, and for each row the equal one of them.

    The result is None unless so many rows repeat others that it pays. Rows are equal if all bits
    of their columns are.

    Returns
    -------
    rows : ndarray of int, shape (n_different,)
        The first of those that are equal.
    place : ndarray of int, shape (n_rows,)
        Row i is equal to row ``rows[place[i]]``.
    """
    if evidence.likelihoods or evidence.n_rows < _FIRST // 2:  # few rows take less than the search
        return None
    # The keys are made of the matrices, which must have all columns.
    covered = {variable for variables, _ in evidence.matrices for variable in variables}
    if not covered.issuperset(evidence.columns):
        return None
    if evidence.n_rows > 2 * _FIRST:  # a sample first, if it is much smaller
        different_first = np.unique(_mixed(_keys(evidence, _FIRST)))
        if len(different_first) > (1 - _SHARE) * _FIRST:
            return None
    keys = _keys(evidence, evidence.n_rows)
    _, rows, place = np.unique(_mixed(keys), return_index=True, return_inverse=True)
    pays = len(rows) <= _DIFFERENT * evidence.n_rows
    # Different rows have the same mixed key once in a while: then the result is None.
    return (rows, place) if pays and np.array_equal(keys[rows][place], keys) else None


def _keys(evidence: Evidence, n_rows: int) -> NDArray[np.uint64]:
    """Return the bits of all columns of the first rows, shape (n_rows, number of words).

    A word has 64 bits; the last one is filled up with zeros.
    """
    sizes = [matrix.dtype.itemsize * matrix.shape[1] for _, matrix in evidence.matrices]
    keys = np.zeros((n_rows, -(-sum(sizes) // 8)), dtype=np.uint64)  # words, rounded up
    key_bytes, begin = keys.view(np.uint8), 0
    for (_, matrix), size in zip(evidence.matrices, sizes, strict=True):
        first = np.ascontiguousarray(matrix[:n_rows])
        key_bytes[:, begin : begin + size] = first.view(np.uint8).reshape(n_rows, size)
        begin += size
    return keys


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of the words of each row, shape (n_rows,): the same for equal rows."""
    mixed = np.zeros(len(keys), dtype=np.uint64)
    for words in keys.T:
        # A product carries upwards only: its high half is then mixed into its low half.
        mixed = (mixed ^ words) * _FACTOR
        mixed ^= mixed >> _HALF
    return mixed
