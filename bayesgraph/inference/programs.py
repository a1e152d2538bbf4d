"""Compilation of queries on tables: relevant factors, a junction tree, an elimination program."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from bayesgraph.inference import planning_kernels as planning
from bayesgraph.inference import program_kernels
from bayesgraph.inference.junction import Ints, Program, Restricted, Tree, unpacked
from bayesgraph.inference.memory import BYTES, default_memory_limit, memory_error
from bayesgraph.inference.supports import (
    MAXIMUM_ENTRIES,
    MOST_DENSE,
    Findings,
    Layout,
    compressed,
)
from bayesgraph.inference.tables import Tables

_NOTHING = np.empty(0, dtype=np.int64)
_DENSE = np.empty((5, 0), dtype=np.int64)
# Number of arrays of a `Tree` that depend on its cliques: those from `home` to `unit`.
_OF_CLIQUES = 6


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
    found = planning.restrict(arrays, *scopes, _array(observed), _array(targets), relevance.value)
    return Restricted(*unpacked(found, len(Restricted._fields)))


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
    found, total, largest = planning.junction_tree(question, start, item, own, wanted, order)
    shared = question.variables, question.factors, question.cards, question.start, question.item
    tree = Tree._make((*shared, question.at, *unpacked(found, _OF_CLIQUES), total, largest))
    if not plan_only:
        _check_size(tree, _limit(memory_limit))
    return tree


def compile_query(
    tables: Tables,
    tree: Tree,
    soft: Sequence[int],
    targets: Sequence[int],
    *,
    both: bool,
    maximized: Ints | None = None,
    memory_limit: float | None = None,
    compress: bool = False,
    hard: Findings | None = None,
) -> Program:
    """Return the elimination program that passes messages over the junction tree of a query.

    Parameters
    ----------
    tables : Tables
    tree : Tree
        Junction tree of the relevant factors, of any size.
    soft : indices of variables with soft evidence
    targets : indices of variables
        Variables of the axes of the joint table that is the result, in this order.
    both : bool
        Whether to run both passes, whose result is the marginal of every free variable.
    maximized : shape (n_variables,), optional
        1 for variables that are maximised, after all others have been summed out.
    memory_limit : float, optional
        Maximum bytes of the largest table, and of a compressed program. (Large tables are computed
        tile by tile and never stored whole, so the limit bounds the time as well.)
    compress : bool
        Whether cliques with many zeros are held compressed where that pays. In trees that exceed
        the limit, or are so large that it takes less time than a run, they are in any case.
    hard : mapping from index of a variable to its state, optional
        Evidence for which alone cliques are compressed, see `supports.compressed`.

    Raises
    ------
    MemoryLimitError
        If the largest table exceeds the limit; the message gives its size.
    """
    arrays = tables.arrays
    limit = _limit(memory_limit)
    layout = None
    if compress or tree.total > MOST_DENSE or not _fits(tree, limit):
        layout = compressed(tables, tree, targets, both, limit, hard)
    if layout is not None and BYTES * layout.n_data > limit and _fits(tree, limit):
        layout = None
    if layout is not None:
        tree = layout.tree
    _check_size(tree, limit)
    if layout is None and tree.total > planning.SMALL:
        tree = with_intermediates(tree, both)
    found, least, n_work, n_result = program_kernels.compile_tree(
        arrays,
        tree,
        arrays.cards[_array(soft)] if soft else _NOTHING,
        _NOTHING if maximized is None else maximized,
        _array(targets),
        both,
        _DENSE if layout is None else layout.places,
    )
    code, up, minima, source, kind, step, constant, soft_at, maximal, halves = unpacked(found, 10)
    program = Program(
        tree, code, up, minima.view(np.float64), source, kind, step, constant, least, soft_at,
        maximal, halves, _DENSE if layout is None else layout.places, n_work, n_result,
    )  # fmt: skip
    return program if layout is None else _with_data(program, layout, limit)


def with_intermediates(tree: Tree, everything: bool) -> Tree:
    """Return the tree with intermediate tables; see `planning_kernels.with_intermediates`."""
    found = planning.with_intermediates(tree, everything)
    if not len(found):
        return tree
    return Tree._make((*tree[:6], *unpacked(found, _OF_CLIQUES), tree.total, tree.largest))


def _with_data(program: Program, layout: Layout, limit: float) -> Program:
    """Return the program of a layout with the layout's data at its end."""
    size = len(program.code)
    held = size + layout.n_data + program.n_work + program.n_result
    if BYTES * held > limit:
        raise memory_error("a compressed program", held, program.tree.width, limit)
    code = np.empty(size + 2 + layout.n_data, dtype=np.int64)
    code[:size] = program.code
    code[size : size + 2] = program_kernels.DATA, 2 + layout.n_data
    layout.write(code[size + 2 :])
    return program._replace(code=code)


def _limit(memory_limit: float | None) -> float:
    return float(default_memory_limit() if memory_limit is None else memory_limit)


def _fits(tree: Tree, limit: float) -> bool:
    return BYTES * tree.largest <= limit and tree.total <= MAXIMUM_ENTRIES


def _check_size(tree: Tree, limit: float) -> None:
    if not _fits(tree, limit):
        raise memory_error("a table", tree.largest, tree.width, limit)


def _array(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)
