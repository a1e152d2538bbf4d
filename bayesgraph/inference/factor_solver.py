"""The solver of models with any factors (Gaussians, plates, trees, tables), for one case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import ImpossibleEvidenceError, UnsupportedModelError, quoted
from bayesgraph.factors import Evidence, Factor, GaussianFactor
from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.factors.factor import align
from bayesgraph.inference.assignments import TableAssignments, TableDraws
from bayesgraph.inference.compiled import CompiledTables
from bayesgraph.inference.contract import (
    All,
    Best,
    Case,
    Draw,
    Joint,
    Mass,
    Pattern,
    Solver,
    Taken,
    Work,
    check_target,
)
from bayesgraph.inference.elimination import (
    PlannedSlice,
    ProductModel,
    discrete_tables,
    marginal,
    most_probable,
    planned_slice,
)
from bayesgraph.inference.normalise import normalised_with_total
from bayesgraph.inference.plan import Plan
from bayesgraph.inference.results import (
    Assignment,
    GaussianMixture,
    Marginals,
    MixedPosterior,
    Posterior,
)
from bayesgraph.inference.table_solvers import possible_run, program_of
from bayesgraph.variables import Continuous, Discrete, Variable


def slice_of_case(model: ProductModel, pattern: Pattern, keep: Sequence[int]) -> PlannedSlice:
    """Return the submodel relevant to the variables in `keep`, with its elimination order.

    It serves for every case with the observed variables of `pattern`.
    """
    nothing = np.empty(1)
    variables = model.variables
    columns = {variables[v]: nothing for v in pattern.observed}
    soft = {v: nothing for v in (variables[u] for u in pattern.soft) if isinstance(v, Discrete)}
    return planned_slice(model, Evidence(1, columns, soft), (), [variables[v] for v in keep])


def leaves_of(model: Any, targets: Iterable[int], pattern: Pattern) -> Mapping[Variable, Any]:
    """Return the targets that are leaves when a query is asked, and their CPDs.

    A leaf has a CPD that is not Gaussian, and no children that are targets or have evidence, or
    descendants with it.
    """
    given = [model.variables[v] for v in (*pattern.observed, *pattern.soft)]
    found: Mapping[Variable, Any] = model.leaves([model.variables[v] for v in targets], given)
    return found


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

    def _begin(self, model: Any) -> None:
        self._wanted = [model.variables[v] for v in self.question.targets]
        self._ready = slice_of_case(model, self.pattern, self.question.targets)

    def _run(
        self, case: Case, memory_limit: float | None
    ) -> Posterior | GaussianMixture | MixedPosterior | None:
        wanted = self._wanted
        result, plan = self._ready.marginal(case.evidence(self.model.variables), memory_limit)
        discrete = [v for v in wanted if isinstance(v, Discrete)]
        if isinstance(result, Factor):
            probabilities, log_evidence = normalised_with_total(result.aligned(discrete))
            if log_evidence == -np.inf:
                return None
            return Posterior(tuple(discrete), probabilities, log_evidence)
        return _mixture(result, discrete, plan, wanted)


class FactorMass(Work):
    """Prepared query for the log probability of the evidence.

    It is the log of the sum (integral) of the product of all factors over the free variables.
    """

    def _run(self, case: Case, memory_limit: float | None) -> float:
        return log_mass(self.model, case, memory_limit)


def log_mass(model: Any, case: Case, memory_limit: float | None) -> float:
    """Return the log probability (density) of the evidence, up to a constant of the model."""
    result, _ = marginal(model, [], case.evidence(model.variables), memory_limit)
    assert isinstance(result, Factor)  # no targets, no variables left
    return float(result.log_values[0])


class FactorAll(Work):
    """Prepared query for the posteriors of all unobserved variables, computed on first access."""

    def _run(self, case: Case, memory_limit: float | None) -> Marginals | None:
        log_evidence = log_mass(self.model, case, memory_limit)
        if log_evidence == -np.inf:
            return None
        return lazy_marginals(self.model, self.pattern, case, log_evidence, memory_limit)


def lazy_marginals(
    model: Any, pattern: Pattern, case: Case, log_evidence: float, memory_limit: float | None
) -> Marginals:
    """Return the posteriors of all free variables, each computed when it is first accessed."""
    free = [v.name for number, v in enumerate(model.variables) if number not in case.hard]
    answer = partial(_posterior_of, model, pattern, case, memory_limit)
    return Marginals.lazy(free, answer, log_evidence)


def _posterior_of(
    model: Any, pattern: Pattern, case: Case, memory_limit: float | None, name: Any
) -> Any:
    number = model.number[name]
    check_target(model, model.variables[number])
    found = model.work(Joint((number,)), pattern, memory_limit).run(case, memory_limit)
    if found is None:
        raise impossible_case(model.variables, case)
    return found


def impossible_case(variables: Sequence[Variable], case: Case) -> ImpossibleEvidenceError:
    """Return the error for evidence of probability zero; its message lists the evidence."""
    given: dict[Any, Any] = {}
    for number, value in case.hard.items():
        variable = variables[number]
        given[variable.name] = (
            variable.states[int(value)] if isinstance(variable, Discrete) else value
        )
    given |= {variables[number].name: np.exp(logs) for number, logs in case.soft.items()}
    return ImpossibleEvidenceError(f"The model gives probability zero to the evidence {given!r}.")


class FactorBest(Work):
    """Prepared query for the most probable assignments of the discrete variables.

    Continuous variables are integrated out first; on request they are then set to their conditional
    means, or maximised jointly with the discrete variables.
    """

    def _run(self, case: Case, memory_limit: float | None) -> Taken | TableAssignments | None:
        model, question = self.model, self.question
        evidence = case.evidence(model.variables)
        if question.means:
            free = [v for v in model.variables if v not in evidence and v not in model.silent]
            values, log_value = most_probable(
                model, free, evidence, joint=question.mode, memory_limit=memory_limit
            )
            if np.isneginf(log_value[0]):
                return None
            found = {v: values[v][0] for v in free}
            found |= self._leaf_means(case, found)
            named = {
                v.name: v.states[int(found[v])] if isinstance(v, Discrete) else float(found[v])
                for v in model.variables
                if v in found
            }
            best = Assignment(named, float(log_value[0]))
            return Taken(lambda k: [best])
        compiled = CompiledTables(discrete_tables(model, evidence, memory_limit))
        variables, over = compiled.tables.variables, question.over
        if over is not None:
            over = tuple(compiled.tables.numbers(model.variables[v] for v in over))
        program = program_of(compiled, Best(over), Pattern(()), memory_limit=memory_limit)
        run = possible_run(compiled, program, Case({}), memory_limit, logarithmic=True)
        return None if run is None else TableAssignments(variables, run, over)

    def _leaf_means(self, case: Case, found: Mapping[Variable, Any]) -> dict[Variable, float]:
        """Return the conditional means of leaves that are not Gaussian, given the states found."""
        model = self.model
        codes = {model.variables[v]: x for v, x in case.hard.items()}
        codes |= {v: int(x) for v, x in found.items() if isinstance(v, Discrete)}
        silent = [v for v in model.silent if isinstance(v, Continuous) and v not in codes]
        means = {}
        for leaf, cpd in model.leaves(silent, tuple(codes)).items():
            cell = parent_cells(cpd, {p: np.array([codes[p]]) for p in cpd.parents}, 1)
            means[leaf] = float(cpd.components(cell).means[0, 0])
        return means


class FactorDraw(Work):
    """Prepared query for exact draws: discrete variables first, then continuous ones given them."""

    def _run(self, case: Case, memory_limit: float | None) -> Taken | None:
        model = self.model
        given = case.evidence(model.variables)
        compiled = CompiledTables(discrete_tables(model, given, memory_limit))
        program = program_of(compiled, Draw(), Pattern(()), memory_limit=memory_limit)
        run = possible_run(compiled, program, Case({}), memory_limit)
        if run is None:
            return None
        discrete = TableDraws(compiled.tables.variables, run)
        return Taken(partial(_drawn, model, given, discrete))


def _drawn(
    model: ProductModel, given: Evidence, discrete: TableDraws, n: int, random: np.random.Generator
) -> dict[Variable, NDArray[Any]]:
    """Return n draws of all free variables, as encoded columns.

    `given` is the evidence, and `discrete` draws the free discrete variables.
    """
    drawn = discrete.take(n, random)
    continuous = [v for v in model.variables if isinstance(v, Continuous) and v not in given]
    if not continuous or not n:
        return drawn
    # In each row, the continuous variables are Gaussian given all discrete variables.
    known = {
        v: np.broadcast_to(column, (n, *column.shape[1:]))  # counts have a second axis
        for v, column in given.columns.items()
    }
    result, _ = marginal(model, continuous, Evidence(n, known | drawn))
    assert isinstance(result, GaussianFactor)  # all discrete variables are observed
    _, mean, covariance = result.moments()
    root = np.linalg.cholesky(covariance)
    noise = random.standard_normal((n, len(continuous)))
    values = mean + np.einsum("...ij,...j->...i", root, noise)
    return drawn | {v: values[:, result.variables.index(v)] for v in continuous}


def _mixture(
    result: GaussianFactor, discrete: list[Discrete], plan: Plan, wanted: Sequence[Variable]
) -> GaussianMixture | MixedPosterior | None:
    """Return a Gaussian factor as a normalised posterior; None if its integral is zero.

    `discrete` are the discrete targets, and `wanted` all targets. Other discrete variables of the
    factor index the components of the mixture.
    """
    continuous = tuple(v for v in wanted if isinstance(v, Continuous))
    order = [result.variables.index(v) for v in continuous]
    hidden = [v for v in plan.keep if isinstance(v, Discrete) and v not in discrete]
    axes = [*discrete, *hidden]
    n = len(continuous)
    log_mass, mean, covariance = result.moments()
    shape = [v.cardinality for v in axes]

    def flat(values: Floats, *tail: int) -> Floats:
        table = align(values, result.scope, axes)[0]
        return np.broadcast_to(table, (*shape, *tail)).reshape(-1, *tail)

    log_mass = flat(log_mass)
    log_evidence = float(log_sum_exp(log_mass[None], 1)[0])
    if log_evidence == -np.inf:
        return None
    if np.isnan(log_evidence):
        raise UnsupportedModelError(
            f"The posterior of {quoted(v.name for v in wanted)} is beyond the range of floats: "
            "means, slopes or variances are too large. Give the numbers in another unit."
        )
    weights = np.exp(log_mass - log_evidence)
    mean = flat(mean[..., order], n)
    covariance = flat(covariance[..., order, :][..., :, order], n, n)

    def mixture(part: slice) -> GaussianMixture | None:
        used = np.flatnonzero(weights[part] > 0) + part.start
        if not len(used):
            return None
        share = weights[used] / weights[used].sum()
        return GaussianMixture(continuous, share, mean[used], covariance[used], log_evidence)

    if not discrete:
        whole = mixture(slice(0, len(weights)))
        assert whole is not None  # the weights sum to one
        return whole
    cells = [v.cardinality for v in discrete]
    size = len(weights) // int(np.prod(cells))
    probabilities = weights.reshape(*cells, -1).sum(axis=-1)
    mixtures = [mixture(slice(at, at + size)) for at in range(0, len(weights), size)]
    return MixedPosterior(Posterior(tuple(discrete), probabilities, log_evidence), mixtures)


class Factors(Solver):
    """Solver by variable elimination on tables and Gaussian factors, continuous variables first."""

    name = "factors"
    condition = "one case of a product with Gaussians, plates or trees"
    form = "product"
    works: ClassVar = {
        Joint: FactorJoint,
        All: FactorAll,
        Mass: FactorMass,
        Best: FactorBest,
        Draw: FactorDraw,
    }

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        if isinstance(question, Joint | Mass):
            return slice_of_case(model, pattern, getattr(question, "targets", ())).plan
        wanted = [
            v
            for v, variable in enumerate(model.variables)
            if v not in pattern.observed and variable not in model.silent
        ]
        if isinstance(question, All):
            return Plan(parts=tuple(slice_of_case(model, pattern, (v,)).plan for v in wanted))
        kept = [v for v in wanted if isinstance(model.variables[v], Discrete)]
        return slice_of_case(model, pattern, kept).plan
