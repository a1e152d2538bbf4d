"""Terms of a log-linear model: tables of single features, of pairs, and of a few features jointly.

The table of a categorical feature has a parameter for each state, that of intervals has parameters
of smooth functions of the rank. The table of a pair has parameters of products of functions of its
two features, and a joint table has a parameter for each joint state. The cells of all tables are
numbered consecutively.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from bayesgraph.core.arrays import Floats
from bayesgraph.core.variables import Binned, Discrete

# ----------- Coefficients of parameters in the cells of tables, as products of two sparse matrices


@dataclass(frozen=True)
class Loadings:
    """Coefficient of each parameter in each cell: a matrix (n_cells, n_parameters + n_slopes).

    Attributes
    ----------
    outer, inner : csr_array
        Matrices whose product it is.
    """

    outer: Any
    inner: Any

    @classmethod
    def of(cls, tables: Sequence[tuple[Any, Any]], positions: Sequence[Any]) -> Loadings:
        """Return the loadings of all tables, with those of slopes as last columns.

        Parameters
        ----------
        tables : sequence of (outer, inner)
            The matrices of each table, each an array or the size of an identity matrix.
        positions : sequence of array, shape (n_cells, 1 or 0)
            The position of each cell of each table, or nothing.
        """
        outer, inner = zip(*tables, strict=True)
        # A slope adds the position to the cells of its table: a column of the outer matrix, which
        # the inner one passes on.
        slopes = _diagonal(positions)
        return cls(
            hstack([_diagonal(outer), slopes], format="csr"), _diagonal([*inner, slopes.shape[1]])
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The number of cells and the number of parameters, with the slopes."""
        return self.outer.shape[0], self.inner.shape[1]

    def sums(self, parameters: Floats) -> Floats:
        """Return the sum of parameters in each cell, shape (n_cells, n_classes)."""
        return np.asarray(self.outer @ (self.inner @ parameters))

    def gradient(self, by_sums: Floats) -> Floats:
        """Return a gradient by the parameters, given that by their sums in cells."""
        inner, outer = self._transposed
        return np.asarray(inner @ (outer @ by_sums))

    @cached_property
    def _transposed(self) -> tuple[Any, Any]:
        return self.inner.T, self.outer.T

    def mean_squares(self, share: Floats) -> Floats:
        """Return the mean square of each column, with the shares of the cells as weights."""
        return np.asarray(self.inner.power(2).T @ (self.outer.power(2).T @ share))


def _diagonal(parts: Sequence[Any]) -> Any:
    """Return a block-diagonal matrix of arrays, or of identity matrices given by their sizes."""
    shape, entries = (0, 0), []
    for part in parts:
        if isinstance(part, int):
            rows = columns = np.arange(part)
            size, values = (part, part), np.ones(part)
        else:
            rows, columns = np.nonzero(part)
            size, values = part.shape, part[rows, columns]
        entries.append((values, rows + shape[0], columns + shape[1]))
        shape = shape[0] + size[0], shape[1] + size[1]
    values, rows, columns = (np.concatenate(arrays) for arrays in zip(*entries, strict=True))
    return csr_array((values, (rows, columns)), shape=shape)


def of_products(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the matrices of a table with products of functions of two features.

    With a parameter for each product, the table is ``first @ parameters @ second.T``. The inner
    matrix multiplies by `first`, the outer one by `second`: together they have far fewer entries
    than their product.
    """
    outer, inner = np.kron(np.eye(len(first)), second), np.kron(first, np.eye(second.shape[1]))
    return outer.astype(np.float64), inner.astype(np.float64)


# -- Terms of a log-linear model: tables of single features, of pairs, and of a few features jointly


Pair: TypeAlias = tuple[int, int]
Groups: TypeAlias = NDArray[np.intp]

# Maximum number of cosines in the table of intervals.
_COSINES = 16
# Maximum number of groups of intervals in the table of a pair, and maximum degree of polynomials.
_GRID, _DEGREE = 16, 3
# Maximum number of groups of intervals in the search for pairs.
_PAIRED = 5
# Maximum number of groups of categories of a feature in the table of a pair.
_MAX_PAIRED = 12
# Maximum absolute standardised position of an interval.
_FURTHEST = 4.0
# Number of decimals of positions and cosines: units and processors do not change them.
_DECIMALS = 9
# Minimum norm of what a power adds to lower powers, of numbers from -1 to 1.
_LEAST = 1e-6


@dataclass(frozen=True)
class View:
    """A feature's functions of the state that have parameters, and positions of its intervals.

    Attributes
    ----------
    variable : Discrete
    share : ndarray, shape (n_states,)
        Relative frequency of each state, smoothed so that none is zero.
    basis : ndarray, shape (n_states, n_parameters), or int
        Functions of the state whose weighted sum, with parameters as weights, is the table of the
        single feature: indicators of so many categories, or cosines of the rank of intervals.
    paired : ndarray of int, shape (n_states,)
        Group of each state in the search for pairs.
    grid : ndarray of int, shape (n_states,)
        Group of each state in tables of pairs: the index of its row or column.
    products : ndarray, shape (number of groups in `grid`, n)
        Functions of the group whose products with those of another feature have parameters in the
        table of the pair: indicators of categories, or polynomials of the position of intervals.
    position : ndarray, shape (n_states,), or None
        Standardised middle of each interval (mean 0 and variance 1 over the rows); None for
        categories.
    """

    variable: Discrete
    share: Floats
    basis: Any
    paired: Groups
    grid: Groups
    products: Floats
    position: Floats | None

    @property
    def n_paired(self) -> int:
        """Number of groups of the feature in the search for pairs."""
        return int(self.paired.max()) + 1

    @property
    def joint(self) -> Groups:
        """Group of each state in a joint table: those of intervals as in tables of pairs."""
        return self.grid if isinstance(self.variable, Binned) else np.arange(len(self.share))


def view_of(variable: Discrete, counts: Floats) -> View:
    """Return the functions, groups and positions of a feature's states, given the rows in each."""
    share = (counts + 1.0 / len(counts)) / (counts.sum() + 1.0)
    if not isinstance(variable, Binned):
        indicators = len(counts)
        groups = frequent(counts, _MAX_PAIRED)
        return View(variable, share, indicators, groups, groups, _indicators(groups), None)
    return _interval_view(variable, share)


def merged_view(view: View, groups: Groups) -> View:
    """Return the view of a feature whose intervals are merged, given the new interval of each.

    The view of a categorical feature stays as it is.
    """
    variable = view.variable
    if not isinstance(variable, Binned):
        return view
    cuts = np.array(variable.cuts)[np.diff(groups) > 0]  # those between different groups
    share = np.bincount(groups, view.share).astype(np.float64)
    return _interval_view(Binned(variable.name, cuts.tolist()), share)


def _interval_view(variable: Binned, share: Floats) -> View:
    """Return the view of intervals, given the relative frequency of each.

    Where they have no positions, as a single one has not, pairs have indicators of a few groups.
    """
    position = _positions(np.array(variable.cuts), share) if variable.cuts else None
    paired = grid = _merged(share, _PAIRED)
    products = _indicators(grid)
    if position is not None:
        grid = _merged(share, _GRID)
        products = _polynomials(position, share, grid)
    # Cosines of the ranks of intervals, the k-th divided by k, shape (n_states, n). With a ridge
    # penalty of their coefficients, the sum of the cosines has the penalty of a spline of the rank
    # whose first derivative is penalised (Wahba 1990, section 2.1): effects of neighbouring
    # intervals are drawn to each other. The rank of an interval is that of its middle row, from 0
    # to 1.
    rank = np.cumsum(share) - share / 2
    order = np.arange(1, min(_COSINES, len(share) - 1) + 1)
    waves = np.sqrt(2.0) * np.cos(np.pi * np.outer(rank, order))
    basis = np.asarray(np.round((waves - share @ waves) / order, _DECIMALS))
    return View(variable, share, basis, paired, grid, products, position)


def _indicators(groups: Groups) -> Floats:
    """Return the indicators of groups, one row and one column for each."""
    return np.eye(int(groups.max()) + 1)


def _polynomials(position: Floats, share: Floats, grid: Groups) -> Floats:
    """Return polynomials of the mean position of groups, that of degree k divided by k.

    Before the division they are orthonormal over the rows, and orthogonal to a constant.
    """
    # Powers of numbers from -1 to 1; the first column is the constant, to which the others are then
    # orthogonal.
    weight = np.bincount(grid, share)
    mean = np.bincount(grid, share * position) / weight
    powers = np.vander(mean / np.abs(mean).max(), min(_DEGREE + 1, len(mean)), increasing=True)
    root = np.sqrt(weight)[:, None]
    orthonormal, triangle = np.linalg.qr(powers * root)
    # Without the constant, and powers that lower ones of so few groups already span.
    degree = np.flatnonzero(np.abs(np.diag(triangle)) > _LEAST)[1:]
    return np.asarray(np.round(orthonormal[:, degree] / root / degree, _DECIMALS))


def _merged(share: Floats, n_groups: int) -> Groups:
    """Return the group of each interval; neighbours are merged to groups of about equal weight.

    `share` has the relative frequency of each interval; at most `n_groups` groups are formed.
    """
    if len(share) <= n_groups:
        return np.arange(len(share))
    # By the rank of the middle row of each interval, from 0 to 1; groups without one are left out.
    middle = np.cumsum(share) - share / 2
    group = np.minimum((middle * n_groups).astype(np.intp), n_groups - 1)
    return np.unique(group, return_inverse=True)[1]


def frequent(weights: Floats, maximum: int) -> Groups:
    """Return the group of each category: one per frequent category, and one for all others.

    If there are more than `maximum` categories, `maximum` groups are formed, by descending weight.
    """
    if len(weights) <= maximum:
        return np.arange(len(weights))
    rank = np.argsort(np.argsort(-weights, kind="stable"), kind="stable")
    return np.minimum(rank, maximum - 1)


def _positions(cuts: Floats, share: Floats) -> Floats | None:
    """Return standardised midpoints of intervals; an outer interval is as wide as its neighbour."""
    # Scaled first: the unit does not matter, and squares of large numbers do not overflow.
    cuts = cuts / (np.abs(cuts).max() or 1.0)
    widths = np.diff(cuts) if len(cuts) > 1 else np.ones(1)
    low, high = cuts[0] - widths[0] / 2, cuts[-1] + widths[-1] / 2
    middle = np.concatenate([[low], (cuts[1:] + cuts[:-1]) / 2, [high]])
    middle = middle - share @ middle
    scale = np.sqrt(share @ middle**2)
    if not (np.isfinite(scale) and scale > 0):
        return None
    return np.asarray(np.round(np.clip(middle / scale, -_FURTHEST, _FURTHEST), _DECIMALS))


class Grid(NamedTuple):
    """Groups of the states of a few features, whose table has a cell for each combination.

    Attributes
    ----------
    features : tuple of int
    groups : tuple of ndarray of int, each of shape (n_states,)
        Group of each state of a feature.
    """

    features: tuple[int, ...]
    groups: tuple[Groups, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of groups of each feature."""
        return tuple(int(group.max()) + 1 for group in self.groups)

    def share(self, views: Sequence[View]) -> Floats:
        """Return the share of the rows in each cell if features are independent, (n_cells,)."""
        shares = [
            np.bincount(group, views[j].share)
            for j, group in zip(self.features, self.groups, strict=True)
        ]
        return np.asarray(reduce(np.multiply.outer, shares), dtype=np.float64).ravel()

    def rows(self, codes: NDArray[np.signedinteger]) -> NDArray[np.intp]:
        """Return the cell of each row, -1 where a value is missing; see `Terms.rows`."""
        of_features = zip(self.features, self.groups, strict=True)
        # The appended -1 is what the code -1 reads, and "clip" takes for 0; the cells of such rows
        # are replaced by -1.
        groups = tuple(np.append(group, -1)[codes[:, j]] for j, group in of_features)
        cells = np.ravel_multi_index(groups, self.shape, mode="clip")
        return np.where(np.min(groups, axis=0) >= 0, cells, -1)


@dataclass(frozen=True)
class Terms:
    """Layout of the tables of a log-linear model: cells, parameters and groups of states.

    The table of a feature has one cell per state: the parameters times the functions in its basis
    plus, for intervals, a slope times the state's position. The table of a pair has one cell per
    pair of groups: the parameters times the products of functions of both features. The joint
    table, the last one, has one cell, with a parameter, per combination of groups.

    Attributes
    ----------
    views : tuple of View
        The features.
    pairs : tuple of (int, int)
        Pairs of features that interact, as indices.
    joint : tuple of int
        The features of the joint table, ascending; empty without one.
    grids : tuple of Grid
        The groups of the tables of several features, those of pairs first.
    starts : ndarray of int, shape (n_tables + 1,)
        Offset of the cells of each table, and the number of cells.
    loadings : Loadings, shape (n_cells, n_parameters + n_slopes)
        Coefficient of each parameter (from its basis) and of each slope (the position) in each
        cell.
    begins : ndarray of int, shape (n_tables + 1,)
        Offset of the parameters of each table, and the number of parameters. Those of slopes come
        after them.
    share : ndarray, shape (n_cells,)
        Share of the rows in each cell of a table; features are taken as independent.
    live : ndarray of bool, shape (n_tables,)
        Which tables are informative. Other tables (of features with one state) have no parameters.
    """

    views: tuple[View, ...]
    pairs: tuple[Pair, ...]
    joint: tuple[int, ...]
    grids: tuple[Grid, ...]
    starts: NDArray[np.int64]
    loadings: Loadings
    begins: NDArray[np.int64]
    share: Floats
    live: NDArray[np.bool_]

    @classmethod
    def of(cls, views: Sequence[View], pairs: Sequence[Pair], joint: tuple[int, ...] = ()) -> Terms:
        """Return the terms of a model of features, with pairs and a joint table of some of them."""
        grids = [Grid(pair, tuple(views[j].grid for j in pair)) for pair in pairs]
        if joint:
            grids.append(Grid(joint, tuple(views[j].joint for j in joint)))
        # A feature needs several states, and a feature in a table with others several groups.
        live = [len(view.share) > 1 for view in views] + [min(grid.shape) > 1 for grid in grids]
        shares = [*(view.share for view in views), *(grid.share(views) for grid in grids)]
        sizes = [v.basis if isinstance(v.basis, int) else v.basis.shape[1] for v in views]
        # The outer and the inner matrix of each table, see `Loadings.of`.
        tables: list[Any] = list(zip((view.basis for view in views), sizes, strict=True))
        tables += [of_products(views[i].products, views[j].products) for i, j in pairs]
        if joint:
            tables.append((len(shares[-1]), len(shares[-1])))
        # A table that is not live keeps its cells, but has no parameters.
        for at, (share, use) in enumerate(zip(shares, live, strict=True)):
            if not use:
                tables[at] = np.empty((len(share), 0)), 0
        positions = [np.empty((len(share), 0)) for share in shares]
        for at, view in enumerate(views):
            if view.position is not None:
                positions[at] = view.position[:, None]
        return cls(
            tuple(views),
            tuple(pairs),
            joint,
            tuple(grids),
            np.cumsum([0, *map(len, shares)]),
            Loadings.of(tables, positions),
            np.cumsum([0, *(k if isinstance(k, int) else k.shape[1] for _, k in tables)]),
            np.concatenate(shares),
            np.array(live, bool),
        )

    @property
    def n_cells(self) -> int:
        """Total number of cells of all tables."""
        return int(self.starts[-1])

    @property
    def n_single(self) -> int:
        """Number of parameters of single features, which come first."""
        return int(self.begins[len(self.views)])

    @property
    def n_parameters(self) -> int:
        """Number of parameters of all tables."""
        return int(self.begins[-1])

    @property
    def scopes(self) -> list[tuple[int, ...]]:
        """The features of each table but the joint one."""
        return [*((j,) for j in range(len(self.views))), *self.pairs]

    def rows(self, codes: NDArray[np.signedinteger]) -> NDArray[np.int32]:
        """Return the cell of each row in each table, shape (n_rows, n_tables); -1 if none.

        Parameters
        ----------
        codes : ndarray of int, shape (n_rows, n_features)
            State codes, -1 where missing: tables of a missing feature have no cell.
        """
        n_features = len(self.views)
        cells = np.empty((len(codes), len(self.live)), dtype=np.int32)
        np.add(codes, self.starts[:n_features], out=cells[:, :n_features], casting="unsafe")
        cells[:, :n_features][codes < 0] = -1
        for at, grid in enumerate(self.grids, start=n_features):
            cell = grid.rows(codes)
            cells[:, at] = np.where(cell >= 0, cell + self.starts[at], -1)
        cells[:, ~self.live] = -1
        return cells
