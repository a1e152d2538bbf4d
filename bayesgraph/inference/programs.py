"""Questions about tables, planned and compiled to programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.execution import kernels as execution
from bayesgraph.inference.planning import kernels as planning
from bayesgraph.inference.planning.cost import BYTES, default_memory_limit, memory_error
from bayesgraph.inference.tables import Integers, Tables

# What a question is about: everything that the evidence leaves open, the probability of the
# evidence, or the posterior of the targets alone.
EVERYTHING, EVIDENCE, TARGETS = 2, 1, 0

# Steps spent on the elimination order for each entry of the tables that it leads to.
EFFORT = 0.05
MOST_WORK = 1e8
# Below so many entries neither another root nor intermediate tables are worth looking for.
_SMALL = 3000
# Sizes must fit into integers of 64 bits, with room for sums of them.
_MOST_ENTRIES = 2.0**56

_NOTHING = np.empty(0, dtype=np.int64)

# Arguments of the kernels that treat one clique at a time, in their order.
TreeArrays: TypeAlias = tuple[Integers, ...]


class Tree(NamedTuple):
    """A rooted junction forest over the free variables of a question.

    Attributes
    ----------
    variables : shape (n,)
        Numbers of the free variables; everything below counts in places of this list.
    factors : shape (m,)
        Numbers of the tables that matter; soft evidence follows the model's own tables.
    cards : shape (n,)
    start, item, at
        Scopes of the factors without the observed variables; where each entry was in the scopes
        of the tables.
    home : shape (m,)
        The clique at which each factor is multiplied (-1: all of its variables are observed).
    c_start, member
        The cliques; the variables that leave at a clique come first.
    residual, parent, unit : shape (n_cliques,)
        How many leave; the next clique towards the root; whether the message there is all ones.
    total, largest : float
        Entries of all cliques together, and of the largest.
    """

    variables: Integers
    factors: Integers
    cards: Integers
    start: Integers
    item: Integers
    at: Integers
    home: Integers
    c_start: Integers
    member: Integers
    residual: Integers
    parent: Integers
    unit: Integers
    total: float
    largest: float

    @property
    def width(self) -> int:
        """Induced width: variables in the largest clique, less one."""
        return int(np.diff(self.c_start).max(initial=1)) - 1


class Restricted(NamedTuple):
    """What bears on a question: factors without the observed variables; see Tree.

    Attributes
    ----------
    child : shape (m,)
        The free variable over which a factor sums to one, or -1.
    wanted : shape (n,)
        1 for targets.
    """

    variables: Integers
    factors: Integers
    start: Integers
    item: Integers
    at: Integers
    child: Integers
    cards: Integers
    wanted: Integers


def restrict(
    tables: Tables,
    observed: Sequence[int],
    soft: Sequence[int],
    targets: Sequence[int],
    mode: int,
) -> Restricted:
    """Leave out what does not bear on a question.

    Parameters
    ----------
    tables : Tables
    observed, soft : numbers of variables with hard and with soft evidence
    targets : numbers of variables
    mode : EVERYTHING, EVIDENCE or TARGETS
    """
    return Restricted(
        *planning.restrict(
            tables.start, tables.item, tables.child, tables.base, tables.values, tables.cards,
            _array(soft), _array(observed), _array(targets), mode,
        )
    )  # fmt: skip


def plan_tree(
    restricted: Restricted,
    *,
    stage: Integers | None = None,
    memory_limit: int | None = None,
    unlimited: bool = False,
) -> Tree:
    """Plan a question: an elimination order, a junction tree and its roots.

    Parameters
    ----------
    restricted : Restricted
        Without `stage`, its wanted variables will share a root clique.
    stage : shape (n_variables,), optional
        Variables of a lower stage are eliminated before those of a higher one.
    memory_limit : int, optional
        Bytes that the largest table may have. (It is made in tiles and never stored whole, so this
        bounds the time as well.)
    unlimited : bool
        Plan only, however large.

    Raises
    ------
    MemoryLimitError
        With the size.
    """
    variables, factors, start, item, at, child, cards, wanted = restricted
    n = len(variables)
    o_start, o_item = start, item
    together = np.flatnonzero(wanted)
    if len(together) > 1 and stage is None:
        # A scope of all targets makes them share a clique.
        o_start = np.append(start, len(item) + len(together))
        o_item = np.concatenate([item, together])
    stages = np.zeros(n, dtype=np.int64) if stage is None else stage[variables]
    order = planning.elimination_order(cards, o_start, o_item, stages, EFFORT, MOST_WORK)
    c_start, member, parent = planning.cliques_of_order(o_start, o_item, stages, order)
    c_start, member, residual, parent = planning.rooted(
        cards, c_start, member, parent, _NOTHING, wanted if stage is None else np.zeros_like(wanted)
    )
    home, unit, total, largest = planning.place_factors(
        cards, start, item, child, c_start, member, residual, parent
    )
    if stage is None and total > _SMALL:
        roots = planning.best_roots(
            cards, start, item, child, home, unit, c_start, member, residual, parent, wanted
        )
        c_start, member, residual, parent = planning.rooted(
            cards, c_start, member, parent, roots, wanted
        )
        home, unit, total, largest = planning.place_factors(
            cards, start, item, child, c_start, member, residual, parent
        )
    tree = Tree(
        variables, factors, cards, start, item, at, home, c_start, member, residual, parent, unit,
        total, largest,
    )  # fmt: skip
    limit = default_memory_limit() if memory_limit is None else memory_limit
    if not unlimited and (BYTES * largest > limit or total > _MOST_ENTRIES):
        raise memory_error("a table", largest, tree.width, limit)
    return tree


class Program(NamedTuple):
    """A compiled question: it answers for any values of the same observed variables.

    Attributes
    ----------
    tree : Tree
    code : shape (k,)
        Instructions; see `execution.kernels`.
    up : shape (n_cliques,)
        Where in the workspace the messages are.
    least : shape (n_cliques,)
        See `execution.kernels.run`.
    source, kind : shape (m,)
        Where the factors' tables are.
    step : shape of ``tree.item``
        How far apart the states are in memory.
    constant : shape (j,)
        Numbers of the tables all of whose variables are observed.
    soft_at : shape (n_soft,)
        Where in the workspace the likelihoods start.
    maximal : shape (n_cliques,)
        1 where variables leave by a maximum.
    halves : shape (2 k,)
        Stretches of the code whose loops run in two halves.
    n_work, n_result : int
        Entries of the workspace and of the result.
    """

    tree: Tree
    code: Integers
    up: Integers
    least: Floats
    source: Integers
    kind: Integers
    step: Integers
    constant: Integers
    soft_at: Integers
    maximal: Integers
    halves: Integers
    n_work: int
    n_result: int

    def tree_arrays(self) -> TreeArrays:
        """Return what the kernels that treat one clique at a time take."""
        t = self.tree
        return (
            t.cards, t.start, t.item, self.step, self.source, self.kind, t.home, t.c_start,
            t.member, t.residual, t.parent, self.up,
        )  # fmt: skip


def compile_program(
    tables: Tables,
    tree: Tree,
    soft: Sequence[int],
    targets: Sequence[int],
    *,
    both: bool,
    maximized: Integers | None = None,
) -> Program:
    """Compile a planned question.

    Parameters
    ----------
    tables : Tables
    tree : Tree
    soft : numbers of variables with soft evidence
    targets : numbers of variables
        The axes of the joint table that is the result, in this order.
    both : bool
        Both passes: the result is the marginal of every free variable.
    maximized : shape (n_variables,), optional
        1 for variables that leave by a maximum (in a tree whose stages say so).
    """
    c_start, member, residual = tree.c_start, tree.member, tree.residual
    parent, unit, home = tree.parent, tree.unit, tree.home
    if maximized is not None:
        unit = np.zeros_like(unit)  # a sum of probabilities is one, their maximum is not
    if tree.total > _SMALL:
        c_start, member, residual, parent, unit, home = planning.with_intermediates(
            tree.cards, tree.start, tree.item, home, c_start, member, residual, parent, unit,
            int(both),
        )  # fmt: skip
        tree = tree._replace(
            home=home, c_start=c_start, member=member, residual=residual, parent=parent, unit=unit
        )
    elif maximized is not None:
        tree = tree._replace(unit=unit)
    *arrays, counts = execution.compile_tree(
        tables.step, tables.base, tables.values, tables.cards[_array(soft)] if soft else _NOTHING,
        *tree[:-2], _NOTHING if maximized is None else maximized, _array(targets), int(both),
    )  # fmt: skip
    return Program(tree, *arrays, *counts.tolist())


def _array(numbers: Sequence[int]) -> Integers:
    return np.array(numbers, dtype=np.int64) if len(numbers) else _NOTHING
