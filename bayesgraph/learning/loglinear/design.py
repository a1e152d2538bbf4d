"""The terms of a log-linear model, their parameters and their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.learning.loglinear.views import View

Pair: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Terms:
    """One table for each feature and for each pair of features, cells by classes.

    The table of a feature has a cell for each state: the sum of the parameter of the state's group
    and, for intervals, of a slope times the state's position. That of a pair has a cell, and a
    parameter, for each pair of groups.

    Attributes
    ----------
    views : tuple of View
        The features.
    pairs : tuple of (int, int)
        Features that act together.
    starts : ndarray of int, shape (n_features + n_pairs + 1,)
        Where the cells of each table begin.
    loadings : csr_array, shape (n_cells, n_parameters + n_slopes)
        What a cell takes of each parameter (1 or 0) and each slope (its position).
    n_single, n_parameters : int
        Parameters of single features, which come first, and of all tables.
    share : ndarray, shape (n_cells,)
        Share of the rows in each cell of a table, taking the two of a pair for independent.
    live : ndarray of bool, shape (n_features + n_pairs,)
        Tables that can tell anything. Those of a feature of one state have no parameters.
    """

    views: tuple[View, ...]
    pairs: tuple[Pair, ...]
    starts: NDArray[np.int64]
    loadings: Any
    n_single: int
    n_parameters: int
    share: Floats
    live: NDArray[np.bool_]

    @classmethod
    def of(cls, views: Sequence[View], pairs: Sequence[Pair]) -> Terms:
        """Return the terms of some features and pairs of them."""
        groups = [view.groups for view in views]
        groups += [np.arange(views[i].n_paired * views[j].n_paired) for i, j in pairs]
        live = _live(views, pairs)
        n_groups = [(int(g.max()) + 1) * use for g, use in zip(groups, live, strict=True)]
        first = np.concatenate([[0], np.cumsum(n_groups)])
        sizes = np.array([len(g) for g in groups], dtype=np.int64)
        shares = [view.share for view in views]
        shares += [np.outer(_grouped(views[i]), _grouped(views[j])).ravel() for i, j in pairs]
        return cls(
            tuple(views),
            tuple(pairs),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            _loadings([g + at for g, at in zip(groups, first, strict=False)], live, views),
            int(first[len(views)]),
            int(first[-1]),
            np.concatenate(shares),
            live,
        )

    @property
    def n_cells(self) -> int:
        """Cells of all tables."""
        return int(self.starts[-1])

    def rows(self, codes: NDArray[np.signedinteger]) -> NDArray[np.int32]:
        """Return the cells of rows, shape (n_rows, n_features + n_pairs); -1 where there is none.

        Parameters
        ----------
        codes : ndarray of int, shape (n_rows, n_features)
            State codes, -1 where missing: the terms of a missing feature are left out.
        """
        n_features = len(self.views)
        cells = np.empty((len(codes), n_features + len(self.pairs)), dtype=np.int32)
        for j in range(n_features):
            cells[:, j] = np.where(codes[:, j] >= 0, codes[:, j] + self.starts[j], -1)
        for at, (i, j) in enumerate(self.pairs, start=n_features):
            row = np.append(self.views[i].paired, -1)[codes[:, i]]
            column = np.append(self.views[j].paired, -1)[codes[:, j]]
            cell = self.starts[at] + row * self.views[j].n_paired + column
            cells[:, at] = np.where((row >= 0) & (column >= 0), cell, -1)
        cells[:, ~self.live] = -1
        return cells


def _live(views: Sequence[View], pairs: Sequence[Pair]) -> NDArray[np.bool_]:
    """Tell which tables have more than one cell, and those of pairs which more than one a side."""
    single = [len(view.share) > 1 for view in views]
    return np.array(single + [views[i].n_paired > 1 < views[j].n_paired for i, j in pairs], bool)


def _loadings(
    groups: Sequence[NDArray[np.intp]], live: NDArray[np.bool_], views: Sequence[View]
) -> Any:
    """Return what each cell takes of each parameter and slope, as a sparse matrix."""
    column = np.concatenate(groups)
    sizes = [len(g) for g in groups]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    used = np.flatnonzero(np.repeat(live, sizes))
    rows, columns, values = [used], [column[used]], [np.ones(len(used))]
    n_columns = int(column[used].max()) + 1 if len(used) else 0
    for i, view in enumerate(views):
        if view.position is not None:
            rows.append(np.arange(starts[i], starts[i + 1]))
            columns.append(np.full(len(view.position), n_columns))
            values.append(view.position)
            n_columns += 1
    at = np.concatenate(rows), np.concatenate(columns)
    return csr_array((np.concatenate(values), at), shape=(len(column), n_columns))


def _grouped(view: View) -> Floats:
    """Return the share of the rows in each of the groups that pairs have."""
    return np.asarray(np.bincount(view.paired, view.share, view.n_paired), dtype=np.float64)


@dataclass(frozen=True)
class Parameters:
    """Of a log-linear model of the class.

    Attributes
    ----------
    tables : ndarray, shape (n_parameters, n_classes)
    slopes : ndarray, shape (n_slopes, n_classes)
    bias : ndarray, shape (n_classes,)
    """

    tables: Floats
    slopes: Floats
    bias: Floats

    @classmethod
    def start(cls, terms: Terms, prior: Floats) -> Parameters:
        """Return the model that knows the shares of the classes and nothing else."""
        k = len(prior)
        tables = np.zeros((terms.n_parameters, k))
        return cls(tables, np.zeros((terms.loadings.shape[1] - len(tables), k)), np.log(prior))

    def moved(self, one: Parameters, other: Parameters) -> Parameters:
        """Return the model moved as far as another model is from one."""
        return Parameters(
            self.tables + (other.tables - one.tables),
            self.slopes + (other.slopes - one.slopes),
            self.bias + (other.bias - one.bias),
        )


@dataclass(frozen=True)
class Effects:
    """What each cell adds to the score of each class.

    Of every table the factors ``exp(effect)`` average 1 for each class over the cells as they are
    without knowledge of the class: to leave a table out, because a feature is missing, is then to
    sum the feature out. That is no restriction, for an effect is only defined up to a term of the
    cell, which all classes share, and a term of the class, which the bias takes up.

    Attributes
    ----------
    cells : ndarray, shape (n_cells, n_classes)
    bias : ndarray, shape (n_classes,)
    """

    cells: Floats
    bias: Floats

    @classmethod
    def mixed(cls, terms: Terms, parts: Sequence[tuple[float, Effects]]) -> Effects:
        """Return the model whose scores are the weighted sum of the models' scores.

        The cells of each are the first ones of `terms`.
        """
        cells = np.zeros((terms.n_cells, len(parts[0][1].bias)))
        for share, part in parts:
            cells[: len(part.cells)] += share * part.cells
        return cls(cells, np.sum([share * part.bias for share, part in parts], axis=0))


@dataclass(frozen=True)
class Normalised:
    """Effects, and what their derivatives take.

    With ``phi`` the sums of parameters, ``pi`` the shares of the classes and ``p`` those of the
    cells, ``g = phi - log sum_c pi_c exp(phi_c)`` and, for each table, ``Z_c = sum_cells p
    exp(g_c)``; effects are ``g - log Z``.

    Attributes
    ----------
    effects : Effects
    within : ndarray, shape (n_cells, n_classes)
        ``p exp(g) / Z``: the distribution over the cells of a table given the class.
    across : ndarray, shape (n_cells, n_classes)
        ``pi exp(g)``: the distribution of the class given the cell alone.
    """

    effects: Effects
    within: Floats
    across: Floats

    @classmethod
    def of(cls, terms: Terms, parameters: Parameters, prior: Floats) -> Normalised:
        """Return the effects of parameters."""
        phi = terms.loadings @ np.concatenate([parameters.tables, parameters.slopes])
        log_prior = np.log(prior)
        g = phi - log_sum_exp(phi + log_prior, 1)[:, None]
        mass = terms.share[:, None] * np.exp(g)
        total = np.add.reduceat(mass, terms.starts[:-1], axis=0)
        sizes = np.diff(terms.starts)
        within = mass / np.repeat(total, sizes, axis=0)
        cells = g - np.repeat(np.log(total), sizes, axis=0)
        return cls(Effects(cells, parameters.bias), within, np.exp(g + log_prior))

    def gradient(self, terms: Terms, by_effects: Floats, by_bias: Floats) -> Parameters:
        """Return the derivatives by the parameters from those by the effects."""
        sums = np.add.reduceat(by_effects, terms.starts[:-1], axis=0)
        pulled = np.repeat(sums, np.diff(terms.starts), axis=0) * self.within
        by_g = by_effects - pulled
        by_phi = by_g - self.across * by_g.sum(axis=1, keepdims=True)
        both = terms.loadings.T @ by_phi
        return Parameters(both[: terms.n_parameters], both[terms.n_parameters :], by_bias)
