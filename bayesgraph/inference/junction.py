"""Named tuples of arrays for junction trees and elimination programs.

Planner, compiler and executor share them, and compiled (Numba) kernels take them whole. Factors,
cliques and variables are given by index; a list of lists is a pair of arrays, ``start`` and
``item``: list f is ``item[start[f]:start[f + 1]]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def unpacked(packed: Ints, n: int) -> list[Ints]:
    """Return the n arrays that `planning_kernels.packed` has put one after the other.

    The first n numbers of `packed` are the places where the arrays end.
    """
    ends = packed[:n].tolist()
    return [packed[begin:end] for begin, end in zip([n, *ends], ends, strict=False)]


class TableArrays(NamedTuple):
    """Tables stored one after the other; see `inference.tables.Tables`.

    Attributes
    ----------
    cards : shape (n_variables,)
        Cardinalities.
    start, item
        Scopes: table f has the variables ``item[start[f]:start[f + 1]]``, in the order of its axes.
    step : shape of item
        Strides of the axes.
    base : shape (n_tables,)
        Offset of each table in `values`.
    child : shape (n_tables,)
        The variable over which a table sums to one for all states of the others, -1 if none.
    values
        Entries of all tables.
    """

    cards: Ints
    start: Ints
    item: Ints
    step: Ints
    base: Ints
    child: Ints
    values: Floats


class Restricted(NamedTuple):
    """The factors that are relevant to a query, without the observed variables.

    Attributes
    ----------
    variables : shape (n,)
        Indices of the free variables, ascending; the other arrays give positions in this list.
    factors : shape (m,)
        Indices of the relevant tables, ascending; factors of soft evidence follow the model's own.
    start, item
        Scopes of the factors: factor f has the variables ``item[start[f]:start[f + 1]]``.
    at : shape of item
        Index of each entry of `item` in the `item` array of the model's tables.
    child : shape (m,)
        The free variable over which a factor sums to one, -1 if none.
    cards : shape (n,)
        Cardinalities.
    wanted : shape (n,)
        1 for targets, 0 for other variables.
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
    """A rooted junction forest, in which children precede parents.

    Attributes
    ----------
    start, member
        The variables of each clique in order of elimination: ``member[start[c]:start[c + 1]]``. The
        variables that are eliminated at the clique come first.
    residual : shape (n_cliques,)
        Number of variables that are eliminated at each clique.
    parent : shape (n_cliques,)
        Parent of each clique, -1 for a root.
    """

    start: Ints
    member: Ints
    residual: Ints
    parent: Ints


class Tree(NamedTuple):
    """A rooted junction forest over the free variables of a query, with its factors.

    Attributes
    ----------
    variables, factors, cards, start, item, at
        See Restricted.
    home : shape (m,)
        The clique at which each factor is multiplied, -1 if all of its variables are observed.
    c_start, member, residual, parent
        See Cliques; `c_start` is its `start`.
    unit : shape (n_cliques,)
        1 if the message of the clique to its parent is all ones.
    total, largest : float
        Number of entries of all cliques together, and of the largest clique.
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
        """Induced width: the number of variables of the largest clique, minus one."""
        return int(np.diff(self.c_start).max(initial=1)) - 1


class Program(NamedTuple):
    """A compiled elimination program, run for any values of a fixed set of observed variables.

    Attributes
    ----------
    tree : Tree
    code : shape (k,)
        Instructions; see `execution_kernels`.
    up : shape (n_cliques,)
        Offset in the workspace of the message of each clique to its parent, -1 if there is none.
    minima : shape (n_cliques,)
        Binary logarithm of a lower bound of the nonzero products of each clique's factors: the sum
        of the logarithms of their smallest nonzero entries.
    source, kind : shape (m,)
        Location of each factor's table: its index (TABLE) or its offset in the workspace (WORK).
    step : shape of ``tree.item``
        Strides of the axes of the factors.
    constant : shape (j,)
        Indices of the tables whose variables are all observed.
    least : float
        The smallest of `minima`, at most 0.
    soft_at : shape (n_soft,)
        Offsets of the likelihoods in the workspace.
    maximal : shape (n_cliques,)
        1 for cliques that maximise over the variables they eliminate.
    layout : shape (5, m + n_cliques) or (5, 0)
        Which cliques are held compressed, and where; see `program_kernels.compile_tree`.
    n_work, n_result : int
        Number of entries of the workspace and of the result.
    """

    tree: Tree
    code: Ints
    up: Ints
    minima: Floats
    source: Ints
    kind: Ints
    step: Ints
    constant: Ints
    least: float
    soft_at: Ints
    maximal: Ints
    layout: Ints
    n_work: int
    n_result: int
