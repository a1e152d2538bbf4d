"""Compilation of queries on tables: relevant factors, a junction tree, an elimination program."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from bayesgraph.inference import planning_kernels as planning
from bayesgraph.inference import program_kernels
from bayesgraph.inference.junction import Ints, Program, Restricted, Tree
from bayesgraph.inference.memory import BYTES, default_memory_limit, memory_error
from bayesgraph.inference.tables import Tables

# Maximum number of entries of a tree: sizes and their sums must fit into 64-bit integers.
_MAXIMUM_ENTRIES = 2.0**56

_NOTHING = np.empty(0, dtype=np.int64)


class Relevance(Enum):
    """The type of quantity that a query computes, by which relevant factors are selected.

    TARGETS stands for the posterior of the targets alone, EVIDENCE for the probability of the
    evidence, EVERYTHING for quantities that depend on all factors; see `planning_kernels.restrict`.
    """

    TARGETS = 0
    EVIDENCE = 1
    EVERYTHING = 2


def restrict(
    tables: Tables,
    observed: Sequence[int],
    soft: Sequence[int],
    targets: Sequence[int],
    relevance: Relevance,
) -> Restricted:
    """Return the factors that are relevant to a query, without the observed variables.

    Parameters
    ----------
    tables : Tables
    observed, soft : indices of variables with hard and with soft evidence
    targets : indices of variables
    relevance : Relevance
    """
    arrays = tables.arrays
    scopes = arrays.start, arrays.item, arrays.child
    if soft:  # one more factor for each variable with soft evidence
        start = np.append(arrays.start, len(arrays.item) + 1 + np.arange(len(soft)))
        child = np.append(arrays.child, np.full(len(soft), -1))
        scopes = start, np.append(arrays.item, _array(soft)), child
    found: Restricted = planning.restrict(
        arrays, *scopes, _array(observed), _array(targets), relevance.value
    )
    return found


def plan_tree(
    question: Restricted,
    *,
    stage: Ints | None = None,
    memory_limit: float | None = None,
    plan_only: bool = False,
) -> Tree:
    """Return a junction tree of the relevant factors, with its elimination order and roots.

    Parameters
    ----------
    question : Restricted
        Relevant factors of a query; without `stage`, the wanted variables (targets) will share a
        root clique.
    stage : shape (n_variables,), optional
        Stage of each variable; lower stages are eliminated first.
    memory_limit : float, optional
        Maximum bytes of the largest table. (Large tables are computed tile by tile and never stored
        whole, so the limit bounds the time as well.)
    plan_only : bool
        Whether to return the tree whatever its size.

    Raises
    ------
    MemoryLimitError
        If the largest table exceeds the limit; the message gives its size.
    """
    wanted = question.wanted
    start, item = question.start, question.item
    if stage is None:
        own = np.zeros(len(question.cards), dtype=np.int64)
        targets = np.flatnonzero(wanted)
        if len(targets) > 1:
            # A scope of all targets makes them share a clique.
            start = np.append(start, len(item) + len(targets))
            item = np.concatenate((item, targets))
    else:
        own, wanted = stage[question.variables], np.zeros_like(wanted)
    order = planning.elimination_order(
        question.cards, start, item, own, planning.EFFORT, planning.MAXIMUM_WORK
    )
    tree: Tree = planning.junction_tree(question, start, item, own, wanted, order)
    if not plan_only:
        _check_size(tree, _limit(memory_limit))
    return tree


def compile_query(
    tables: Tables,
    question: Restricted,
    soft: Sequence[int],
    targets: Sequence[int],
    *,
    both: bool,
    maximized: Ints | None = None,
    memory_limit: float | None = None,
) -> Program:
    """Return the elimination program that passes messages over the junction tree of a query.

    Parameters
    ----------
    tables : Tables
    question : Restricted
        Relevant factors of the query.
    soft : indices of variables with soft evidence
    targets : indices of variables
        Variables of the axes of the joint table that is the result, in this order.
    both : bool
        Whether to run both passes, whose result is the marginal of every free variable.
    maximized : shape (n_variables,), optional
        1 for variables that are maximised, after all others have been summed out.
    memory_limit : float, optional
        See `plan_tree`.

    Raises
    ------
    MemoryLimitError
        If the largest table exceeds the limit; the message gives its size.
    """
    arrays = tables.arrays
    tree = plan_tree(question, stage=maximized, memory_limit=memory_limit)
    if tree.total > planning.SMALL:
        tree = planning.with_intermediates(tree, both)
    program: Program = program_kernels.compile_tree(
        arrays,
        tree,
        arrays.cards[_array(soft)] if soft else _NOTHING,
        _NOTHING if maximized is None else maximized,
        _array(targets),
        both,
    )
    return program


def _limit(memory_limit: float | None) -> float:
    return float(default_memory_limit() if memory_limit is None else memory_limit)


def _check_size(tree: Tree, limit: float) -> None:
    if BYTES * tree.largest > limit or tree.total > _MAXIMUM_ENTRIES:
        raise memory_error("a table", tree.largest, tree.width, limit)


def _array(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)
