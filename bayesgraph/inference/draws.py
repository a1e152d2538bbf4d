"""Exact draws from the posterior."""

from __future__ import annotations

import numpy as np

from bayesgraph.inference.discrete import DiscreteEngine, Findings
from bayesgraph.inference.execution import kernels
from bayesgraph.inference.programs import EVERYTHING
from bayesgraph.inference.tables import Integers
from bayesgraph.inference.workspaces import give_back


def draw(
    engine: DiscreteEngine,
    findings: Findings,
    n: int,
    random: np.random.Generator,
    *,
    memory_limit: int | None = None,
) -> tuple[Integers, Integers, float]:
    """Draw assignments of all free variables given the evidence, independent of each other.

    One pass over the junction tree, then each draw walks it from the roots to the leaves (Dawid
    1992).

    Returns
    -------
    variables : shape (n_free,)
    states : shape (n, n_free)
        Without rows if the evidence is impossible.
    log_mass : float
    """
    program = engine.program(
        sorted(findings.hard), sorted(findings.soft), (), EVERYTHING, memory_limit=memory_limit
    )
    run = engine.run(program, findings)
    tree = program.tree
    if run.log_mass == -np.inf:
        give_back(run.work)
        return tree.variables, np.empty((0, len(tree.variables)), dtype=np.int64), -np.inf
    states = np.zeros((n, len(tree.variables)), dtype=np.int64)
    kernels.decode(
        states,
        random.random((n, len(tree.parent))),
        np.ones(len(tree.parent), dtype=np.int64),
        *program.tree_arrays(),
        run.tables,
        run.offsets,
        run.work,
        not run.logarithmic,
    )
    give_back(run.work)
    return tree.variables, states, run.log_mass
