"""Compilation of queries on tables: relevant factors, a junction tree, an elimination program."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from bayesgraph.inference import execution_kernels as execution
from bayesgraph.inference import planning_kernels as planning
from bayesgraph.inference.junction import Ints, Program, Restricted, Tree
from bayesgraph.inference.memory import BYTES, default_memory_limit, memory_error
from bayesgraph.inference.tables import Tables

# Steps of the search for an elimination order for each entry of the tables, and their maximum.
EFFORT = 0.05
MAXIMUM_WORK = 1e8
# Minimum number of entries of a tree for which other roots and intermediate tables are tried.
_SMALL = 3000
# Maximum number of entries of a tree: sizes and their sums must fit into 64-bit integers.
_MAXIMUM_ENTRIES = 2.0**56

_NOTHING = np.empty(0, dtype=np.int64)


class Relevance(Enum):
    """The quantity that a query asks for; it determines which factors are relevant.

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
        Return the tree however large; it must not be compiled.

    Raises
    ------
    MemoryLimitError
        If the largest table exceeds the limit; the message gives its size.
    """
    cards, start, item = question.cards, question.start, question.item
    wanted = question.wanted if stage is None else np.zeros_like(question.wanted)
    together = np.flatnonzero(wanted)
    if len(together) > 1:
        # A scope of all targets makes them share a clique.
        start = np.append(start, len(item) + len(together))
        item = np.concatenate([item, together])
    stages = np.zeros_like(cards) if stage is None else stage[question.variables]
    order = planning.elimination_order(cards, start, item, stages, EFFORT, MAXIMUM_WORK)
    c_start, member, parent = planning.cliques_of_order(start, item, stages, order)
    cliques = planning.rooted(cards, c_start, member, parent, _NOTHING, wanted)
    home, unit, total, largest = planning.place_factors(question, cliques)
    if stage is None and total > _SMALL:
        roots = planning.best_roots(question, cliques, home, unit)
        cliques = planning.rooted(
            cards, cliques.start, cliques.member, cliques.parent, roots, wanted
        )
        home, unit, total, largest = planning.place_factors(question, cliques)
    tree = Tree(
        question.variables, question.factors, cards, question.start, question.item, question.at,
        home, cliques.start, cliques.member, cliques.residual, cliques.parent, unit, total, largest,
    )  # fmt: skip
    limit = default_memory_limit() if memory_limit is None else memory_limit
    if not plan_only and (BYTES * largest > limit or total > _MAXIMUM_ENTRIES):
        raise memory_error("a table", largest, tree.width, limit)
    return tree


def compile_program(
    tables: Tables,
    tree: Tree,
    soft: Sequence[int],
    targets: Sequence[int],
    *,
    both: bool,
    maximized: Ints | None = None,
) -> Program:
    """Return the elimination program that passes messages over a junction tree.

    Parameters
    ----------
    tables : Tables
    tree : Tree
    soft : indices of variables with soft evidence
    targets : indices of variables
        Variables of the axes of the joint table that is the result, in this order.
    both : bool
        Whether to run both passes, whose result is the marginal of every free variable.
    maximized : shape (n_variables,), optional
        1 for variables that are maximised, in a tree whose stages eliminate them last.
    """
    if maximized is not None:  # a distribution sums to one, but its maximum is not one
        tree = tree._replace(unit=np.zeros_like(tree.unit))
    if tree.total > _SMALL:
        tree = planning.with_intermediates(tree, both)
    arrays = tables.arrays
    program: Program = execution.compile_tree(
        arrays, tree, arrays.cards[_array(soft)], _NOTHING if maximized is None else maximized,
        _array(targets), both,
    )  # fmt: skip
    return program


def _array(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)
