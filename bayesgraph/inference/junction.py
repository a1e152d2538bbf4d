"""The arrays of a junction tree and of a compiled program, as planner, compiler and executor share.

Kernels take these tuples whole. Factors, cliques and variables are numbers; a list of lists is a
pair of arrays, ``start`` and ``item``: list f is ``item[start[f]:start[f + 1]]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class TableArrays(NamedTuple):
    """Tables laid one after the other; see `inference.tables.Tables`.

    Attributes
    ----------
    cards : shape (n_variables,)
        Numbers of states.
    start, item
        The variables of each table, in the order of its axes.
    step : shape of item
        How far apart in memory the states of the variable are.
    base : shape (n_tables,)
        Where each table starts in `values`.
    child : shape (n_tables,)
        The variable over which a table sums to one whatever the others are, or -1.
    values
        All numbers.
    """

    cards: Ints
    start: Ints
    item: Ints
    step: Ints
    base: Ints
    child: Ints
    values: Floats


class Restricted(NamedTuple):
    """What bears on a question: the relevant factors without the observed variables.

    Attributes
    ----------
    variables : shape (n,)
        Numbers of the free variables, ascending; all else counts in places of this list.
    factors : shape (m,)
        Numbers of the tables that matter, ascending; soft evidence follows the model's own tables.
    start, item
        Scopes of the factors.
    at : shape of item
        Where each entry was in the `item` of the tables.
    child : shape (m,)
        The free variable over which a factor sums to one, or -1.
    cards, wanted : shape (n,)
        Numbers of states; 1 for targets.
    """

    variables: Ints
    factors: Ints
    start: Ints
    item: Ints
    at: Ints
    child: Ints
    cards: Ints
    wanted: Ints


class Cliques(NamedTuple):
    """A rooted junction forest: children before parents.

    Attributes
    ----------
    start, member
        The variables of each clique; those that leave at it come first, and all cliques list their
        variables in the order in which they leave.
    residual : shape (n_cliques,)
        How many variables leave at each.
    parent : shape (n_cliques,)
        The next clique towards the root; -1 for a root.
    """

    start: Ints
    member: Ints
    residual: Ints
    parent: Ints


class Tree(NamedTuple):
    """A rooted junction forest over the free variables of a question, with its factors.

    Attributes
    ----------
    variables, factors, cards, start, item, at
        See Restricted.
    home : shape (m,)
        The clique at which each factor is multiplied (-1: all of its variables are observed).
    c_start, member, residual, parent
        See Cliques.
    unit : shape (n_cliques,)
        1 where the message to the parent is all ones.
    total, largest : float
        Entries of all cliques together, and of the largest.
    """

    variables: Ints
    factors: Ints
    cards: Ints
    start: Ints
    item: Ints
    at: Ints
    home: Ints
    c_start: Ints
    member: Ints
    residual: Ints
    parent: Ints
    unit: Ints
    total: float
    largest: float

    @property
    def width(self) -> int:
        """Induced width: variables in the largest clique, less one."""
        return int(np.diff(self.c_start).max(initial=1)) - 1


class Program(NamedTuple):
    """A compiled question: it answers for any values of the same observed variables.

    Attributes
    ----------
    tree : Tree
    code : shape (k,)
        Instructions; see `execution_kernels`.
    up : shape (n_cliques,)
        Where in the workspace the message of each clique to its parent is; -1 for none.
    minima : shape (n_cliques,)
        Binary logarithm of the smallest number that the product of a clique's factors can be, zero
        apart: the sum of those of their smallest entries.
    source, kind : shape (m,)
        Where a factor's table is: its number (TABLE) or its place in the workspace (WORK).
    step : shape of ``tree.item``
        How far apart the states are in memory.
    constant : shape (j,)
        Numbers of the tables all of whose variables are observed.
    soft_at : shape (n_soft,)
        Where in the workspace the likelihoods start.
    maximal : shape (n_cliques,)
        1 where variables leave by a maximum.
    halves : shape (2 k,)
        Stretches of the program, from what clears the sums of a large table to the end of its loop,
        that may run in two halves at once.
    n_work, n_result : int
        Entries of the workspace and of the result.
    """

    tree: Tree
    code: Ints
    up: Ints
    minima: Floats
    source: Ints
    kind: Ints
    step: Ints
    constant: Ints
    soft_at: Ints
    maximal: Ints
    halves: Ints
    n_work: int
    n_result: int
