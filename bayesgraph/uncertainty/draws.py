"""Answers of many models whose parameters are drawn from their posterior.

Networks of tables run one compiled program on one set of tables after the other. Other models get
one more variable, the number of the draw: the answers of all draws are then those of the rows of a
batch, or of one query prepared once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayesgraph.cpds import TableCPD
from bayesgraph.errors import MemoryLimitError, UnsupportedModelError
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference import GaussianMixture, Posterior
from bayesgraph.inference import execution_kernels as kernels
from bayesgraph.inference.compiled import CompiledTables
from bayesgraph.inference.contract import All, Case, Joint
from bayesgraph.inference.junction import Program
from bayesgraph.inference.memory import (
    BYTES,
    borrow,
    default_memory_limit,
    format_bytes,
    give_back,
)
from bayesgraph.inference.normalise import normalised
from bayesgraph.inference.table_solvers import program_of
from bayesgraph.models.model import Model
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.uncertainty.parameters import DrawName, tables_of_draws, with_draws
from bayesgraph.variables import Discrete

# Maximum number of parameters that are drawn together: those of tables stay in the second-level
# cache; for others a network is made.
_OF_TABLES, _OF_NETWORKS = 2**17, 2**21


def _blocks(n: int, size: int, maximum: int) -> Iterator[int]:
    """Yield numbers of draws that sum to n, each draw of so many numbers."""
    step = max(1, maximum // max(size, 1))
    for start in range(0, n, step):
        yield min(step, n - start)


# ------------------------------------------------------------------------- networks of tables


def table_answers(
    model: BayesianNetwork,
    question: All | Joint,
    case: Case,
    n: int,
    random: np.random.Generator,
    memory_limit: float | None,
) -> Floats:
    """Return the posterior probabilities of n draws, shape (n, number of probabilities).

    They are NaN in draws under which the evidence is impossible.
    """
    compiled = model.compiled
    assert compiled is not None
    program: Program = model.memo.get(
        ("draws", type(question), question, case.pattern),
        lambda: program_of(
            compiled, question, case.pattern, memory_limit=memory_limit, compress=True
        ),
    )
    limit = default_memory_limit() if memory_limit is None else memory_limit
    if BYTES * n * program.n_result > limit:
        raise MemoryLimitError(
            f"{n:,} draws of {program.n_result:,} probabilities take "
            f"{format_bytes(BYTES * n * program.n_result)}; the limit is {format_bytes(limit)}. "
            "Ask for fewer draws, name the targets, or raise memory_limit."
        )
    factors = program.tree.factors
    chosen = np.flatnonzero((factors < len(compiled.tables)) & (program.tree.home >= 0))
    cpds = {cpd.variable.name: cpd for cpd in model.cpds if isinstance(cpd, TableCPD)}
    scopes = compiled.tables.scopes()
    drawn = [cpds[scopes[f][-1].name] for f in factors[chosen].tolist()]
    n_drawn = sum(cpd.values.size for cpd in drawn)
    found = []
    for size in _blocks(n, n_drawn, _OF_TABLES):
        sizes, draws = tables_of_draws(drawn, size, random)
        bounded = _bounded(program, chosen, sizes, draws)
        starts = compiled.tables.arrays.base[factors[chosen]]
        at = np.concatenate([np.arange(s, s + k) for s, k in zip(starts, sizes, strict=True)])
        found.append(_run_all(compiled, bounded, at, draws, case, memory_limit))
    return np.concatenate(found)


def _run_all(
    compiled: CompiledTables,
    program: Program,
    at: Any,
    draws: Floats,
    case: Case,
    memory_limit: float | None,
) -> Floats:
    """Run a program for each draw, with the drawn entries at the places `at` of the tables."""
    results = np.empty((len(draws), program.n_result))
    values = compiled.tables.values.copy()
    code, offsets = program.code, compiled.tables.offsets(_findings(case))
    # The common case has no more to prepare between two runs than the bounds.
    alike = not case.soft and not len(program.halves) and program.least >= kernels.MINIMUM_LOG2
    space = borrow(program.n_work if alike else 0)
    for result, draw in zip(results, draws, strict=True):
        values[at] = draw
        status = kernels.TOO_SMALL
        if alike:
            minima = program.minima.copy()
            status, _ = kernels.run(
                code, values, offsets, minima, space, result, 0, len(code), space, 0, False
            )
        if status != kernels.OK:
            own = CompiledTables(compiled.tables.with_values(values))
            run = own.run(program, case, memory_limit)
            result[:] = run.result if run.log_mass > -np.inf else np.nan
            give_back(run.space)
    give_back(space)
    return results


def _findings(case: Case) -> Any:
    return np.array([*case.hard, *case.hard.values()], dtype=np.int64)


def _bounded(program: Program, chosen: Any, sizes: Any, draws: Floats) -> Program:
    """Return the program with lower bounds of products that hold for all draws."""
    smallest = np.where(draws > 0.0, draws, 1.0).min(axis=0)
    lows = np.minimum.reduceat(smallest, np.cumsum(sizes) - sizes) if len(sizes) else smallest
    minima = np.zeros_like(program.minima)
    np.add.at(minima, program.tree.home[chosen], np.log2(np.minimum(lows, 1.0)))
    return program._replace(minima=minima, least=min(0.0, float(minima.min(initial=0.0))))


# ---------------------------------------------------------------------------------- any network


def answers(
    model: Model,
    targets: Sequence[tuple[int, ...]],
    case: Case,
    n: int,
    random: np.random.Generator,
    memory_limit: float | None,
) -> list[Floats]:
    """Return for each question the answers of n draws, shape (n, number of numbers).

    Parameters
    ----------
    model : Model
    targets : sequence of tuples of int
        Indices of the target variables of each question.
    case : Case
        The evidence.
    n : int
    random : Generator
    memory_limit : float, optional
    """
    parts: list[list[Floats]] = [[] for _ in targets]
    n_parameters = int(getattr(model, "n_parameters", 1))
    for size in _blocks(n, n_parameters, _OF_NETWORKS):
        draw = Discrete(DrawName(), range(size))
        drawn = with_draws(model, draw, random)
        for part, wanted in zip(parts, targets, strict=True):
            part.append(_answered(model, drawn, draw, wanted, case, memory_limit))
    return [np.concatenate(part) for part in parts]


def _answered(
    model: Model,
    drawn: Model,
    draw: Discrete,
    targets: tuple[int, ...],
    case: Case,
    memory_limit: float | None,
) -> Floats:
    target = model.variables[targets[0]]
    if len(targets) == 1 and isinstance(target, Discrete):
        rows = _repeated(case.evidence(model.variables), draw)
        joint = drawn.log_posterior_rows(target, rows)
        joint[np.isneginf(joint.max(axis=1))] = np.nan
        return normalised(joint)
    places = {v: drawn.number[variable.name] for v, variable in enumerate(model.variables)}
    given = case.renumbered(places)
    question = Joint(tuple(places[v] for v in targets))
    found = []
    for i in range(draw.cardinality):
        one = given._replace(hard={**given.hard, drawn.number[draw.name]: i})
        answer = drawn.work(question, one.pattern, memory_limit).run(one, memory_limit)
        found.append(numbers_of(answer))
    return np.array(found)


def _repeated(evidence: Evidence, draw: Discrete) -> Evidence:
    """Return evidence on one case as rows, one for each draw."""
    n = draw.cardinality
    columns = {v: np.repeat(column, n, axis=0) for v, column in evidence.columns.items()}
    soft = {v: np.repeat(logs, n, axis=0) for v, logs in evidence.likelihoods.items()}
    return Evidence(n, {**columns, draw: np.arange(n)}, soft)


def numbers_of(answer: Any) -> Floats:
    """Return the numbers of a posterior: probabilities, or mean and standard deviation.

    Raises
    ------
    UnsupportedModelError
        For a joint posterior with continuous variables.
    """
    if isinstance(answer, Posterior):
        return answer.probabilities.ravel()
    if isinstance(answer, GaussianMixture) and len(answer.variables) == 1:
        return np.array([answer.mean, answer.std])
    raise UnsupportedModelError(
        "Credible intervals are of discrete variables, also jointly, or of one continuous variable "
        f"at a time; got the answer {type(answer).__name__}."
    )
