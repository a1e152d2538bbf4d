"""Jointly Gaussian children: a mean vector and a covariance given the discrete parents.

Unlike the children of other plates, these children depend on one another. Such a block of children
is the same model as a complete graph of linear Gaussians, each child given the parents and all
children before it, which `singles` returns. The engine uses the block as a whole: one matrix
product for many rows instead of a chain of regressions.

Everything is computed from deviations from the mean in units of standard deviations, so features
far from zero and of very different scales keep their digits.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import LOG_2PI, Floats
from bayesgraph.core.errors import CPDError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import by_rows
from bayesgraph.core.variables import Continuous, Discrete, Name, Variable
from bayesgraph.models import row_kernels
from bayesgraph.models.cpds.base import CPD, Description, describe_numbers
from bayesgraph.models.cpds.density import Plate
from bayesgraph.models.cpds.linear_gaussian import GaussianCPD

# Number of rows of a block, whose deviations stay in the second-level cache between passes.
_BLOCK = 512
# Maximum squared distance of a mean from the centre, in standard deviations, at which |y - m|^2 is
# computed as |y|^2 - 2 y m + |m|^2: beyond it the cancellation loses more than ten digits.
_NEAR = 1e6
# Tolerance of the difference between entries (i, j) and (j, i) of a correlation matrix.
_SYMMETRY = 1e-8


class JointGaussianCPD(Plate):
    """Continuous children that are jointly Gaussian given the same discrete parents.

    Parameters
    ----------
    children : iterable of Continuous
        The d children.
    mean : array_like, shape (*parents' cardinalities, d)
    covariance : array_like, shape (d, d) or (*parents' cardinalities, d, d)
        Symmetric and positive definite, in units of the children; one matrix serves for all
        configurations of the parents.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For a wrong shape, NaN or infinity, or a covariance that is not symmetric or not positive
        definite.

    Examples
    --------
    >>> kind = Discrete("kind", ["a", "b"])
    >>> block = JointGaussianCPD(
    ...     [Continuous("x"), Continuous("y")], [[0.0, 1.0], [2.0, 3.0]], [[4.0, 1.0], [1.0, 9.0]],
    ...     parents=[kind],
    ... )
    >>> block.singles()[1]
    GaussianCPD p(y | kind, x)
      kind  intercept   × x     sd
      a             1  0.25  2.958
      b           2.5  0.25  2.958
    """

    arrays = ("mean",)
    other_arrays = ("covariance",)

    siblings_depend = True
    children: tuple[Continuous, ...]

    def __init__(
        self,
        children: Iterable[Continuous],
        mean: ArrayLike,
        covariance: ArrayLike,
        parents: Iterable[Discrete] = (),
    ) -> None:
        self._set_family(children, parents)
        d = len(self.children)
        # As objects, because lists of different lengths are refused only further below.
        shared = np.asarray(covariance, dtype=object).ndim == 2
        self.mean = self._parameter("mean", mean, (*self._lead, d))
        self._means = self.mean.reshape(-1, d)
        self.covariance = self._parameter(
            "covariance", covariance, (d, d) if shared else (*self._lead, d, d)
        )
        self.sliceable = shared  # cells of `mean` alone can be taken, with the same covariance
        # Of the covariance matrices, 1 or one for each parent configuration: the diagonals, their
        # roots (standard deviations), and the correlation matrices. These are divided by one scale
        # at a time, because the product of two may overflow or underflow.
        stacked = self.covariance.reshape(-1, d, d)
        variance = stacked.diagonal(axis1=1, axis2=2)
        if not (variance > 0).all():
            constant = np.flatnonzero((variance <= 0).any(axis=0)).tolist()
            raise CPDError(
                f"{self.title}: every variance must be positive; those of "
                f"{quoted(self.children[i].name for i in constant)} are not. Leave out constant "
                "columns or add to the diagonal (smoothing=bg.Smoothing(var_smoothing=...) of the "
                "classifiers does)."
            )
        scale = self._scale = np.sqrt(variance)
        correlation = self._correlation = stacked / scale[:, :, None] / scale[:, None, :]
        if (np.abs(correlation - correlation.swapaxes(1, 2)) > _SYMMETRY).any():
            raise CPDError(f"{self.title}: covariance takes symmetric matrices; one is not.")
        _ = self.roots  # raises for a covariance that is not positive definite

    # -------------------------------------------------------------------------- derived numbers

    @property
    def shared(self) -> bool:
        """Whether one covariance serves for all configurations of the parents."""
        return self.covariance.ndim == 2

    @cached_property
    def roots(self) -> Floats:
        """Whitening matrices: lower triangular A with ``A S A^T = I`` for each covariance S.

        A is the inverse of the Cholesky factor: A (x - mean) is standard normal. The shape is (1 or
        cells, d, d), with one cell for each parent configuration.
        """
        roots = np.empty_like(self._correlation)
        for cell, matrix in enumerate(self._correlation):
            factor, failed = scipy.linalg.lapack.dpotrf(matrix, lower=1, clean=1)
            pivots = factor.diagonal() ** 2
            # LAPACK takes a pivot of rounding errors alone as positive. Where a pivot is not, it
            # returns the number of the pivot, from 1 on, as `failed`, else 0.
            if failed or pivots.min() <= len(pivots) * np.finfo(float).eps:
                dependent = failed - 1 if failed else int(pivots.argmin())
                where = ""
                if self.parents and not self.shared:
                    codes = np.unravel_index(cell, self._lead)
                    states = zip(self.parents, codes, strict=True)
                    where = " given " + ", ".join(
                        f"{p.name}={p.states[code]!r}" for p, code in states
                    )
                before = quoted(child.name for child in self.children[:dependent])
                raise CPDError(
                    f"{self.title}: the covariance{where} is not positive definite: "
                    f"{self.children[dependent].name!r} is a linear function of {before}. Leave it "
                    "out, shrink the covariance or add to its diagonal (regularization= and "
                    "smoothing=bg.Smoothing(var_smoothing=...) of the classifiers do)."
                )
            # With D the scales and L the Cholesky factor of the correlations, A = L^-1 D^-1.
            inverse, _ = scipy.linalg.lapack.dtrtri(factor, lower=1)
            roots[cell] = inverse / self._scale[cell]
        return roots

    @cached_property
    def _log_constant(self) -> Floats:
        """Log density at the mean, shape (parent configurations,)."""
        # The log of the determinant of A, which is 1 / sqrt(det S).
        diagonal = self.roots.diagonal(axis1=1, axis2=2)
        constant = np.log(diagonal).sum(axis=1) - 0.5 * len(self.children) * LOG_2PI
        return np.broadcast_to(constant, self.cells)

    @cached_property
    def _expansion(self) -> tuple[Floats, Floats, Floats]:
        """The centre of the means, and these whitened, for a shared covariance.

        These are the average of the means, shape (d,), which has no rounding error if all are
        equal; A (mean - centre), shape (cells, d); and the squared lengths of these.
        """
        centre = self._means[0] + (self._means - self._means[0]).mean(axis=0)
        whitened = (self._means - centre) @ self.roots[0].T
        return centre, whitened, _squares(whitened)

    @property
    def n_parameters(self) -> int:
        """Number of means and of entries in the lower triangles of the covariances."""
        d = len(self.children)
        return int(self.mean.size) + len(self._scale) * d * (d + 1) // 2

    # ------------------------------------------------------------------------------- as a graph

    def arcs(self) -> list[tuple[Name, Name]]:
        """Return arcs from parents to every child, and from each child to all later children."""
        names = [child.name for child in self.children]
        among = [(a, b) for j, b in enumerate(names) for a in names[:j]]
        return super().arcs() + among

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return a table of means and standard deviations, without correlations; see CPD."""
        sd = np.broadcast_to(self._scale, (self.cells, len(self.children)))
        columns = {"mean": self.mean, "sd": sd}
        return describe_numbers(self.parents, self.children, columns, max_rows)

    def singles(self) -> tuple[CPD, ...]:
        """Return the CPD of each child given the parents and the earlier children; see CPD.

        Row j of the whitening matrix A makes ``sum_k A_jk (x_k - m_k)`` standard normal: the slopes
        of child j are ``-A_jk / A_jj`` and its variance is ``1 / A_jj^2``.
        """
        singles = []
        for j, child in enumerate(self.children):
            pivot = self.roots[:, j, j]
            slopes = np.broadcast_to(-self.roots[:, j, :j] / pivot[:, None], (self.cells, j))
            mean = self._means[:, j] - np.sum(slopes * self._means[:, :j], axis=1)
            singles.append(
                GaussianCPD(
                    child,
                    mean.reshape(self._lead),
                    np.broadcast_to(pivot**-2.0, self.cells).reshape(self._lead),
                    [*self.parents, *self.children[:j]],
                    slopes.reshape(*self._lead, j),
                )
            )
        return tuple(singles)

    def pieces(self, relevant: Collection[Variable], observed: Container[Variable]) -> list[CPD]:
        """Return one joint CPD of the observed children, and those of the free relevant ones."""
        fixed = [child for child in self.children if child in observed]
        free = [child for child in self.children if child in relevant and child not in observed]
        pieces: list[CPD] = [self.over(fixed)] if fixed else []
        if free:
            # A Gaussian of some children leaves out the rest of means and covariance. The observed
            # ones come first: the CPD of a free child is given these and the free ones before it.
            places = [self._place[child] for child in (*fixed, *free)]
            pieces += self._take(places).singles()[len(fixed) :]
        return pieces

    def _take(self, at: Sequence[int]) -> Self:
        """Return the plate of the children at the indices `at`; see `Plate`."""
        children = [self.children[i] for i in at]
        covariance = self.covariance[..., np.asarray(at)[:, None], np.asarray(at)]
        return type(self)(children, self.mean[..., at], covariance, self.parents)

    def _add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log densities of rows; rows that lack values are grouped by which they lack."""
        values = self._numbers(evidence)
        if evidence.complete or not np.isnan(values).any():
            self._add_complete(values, out)
            return
        missing = np.isnan(values)
        is_partial = missing.any(axis=1)
        whole, partial = np.flatnonzero(~is_partial), np.flatnonzero(is_partial)
        # A selection of columns of `out` is a copy, to which nothing can be added in place.
        logs = np.zeros((self.cells, len(whole)))
        self._add_complete(values[whole], logs)
        out[:, whole] += logs
        rows, start = rows_by_pattern(missing[partial])
        arrays = (out, values, partial[rows], start, self._means, self._scale, self._correlation)
        by_rows(row_kernels.add_marginal_gaussians, arrays, len(start) - 1, self._correlation.size)
        # Where infinities of opposite signs came together; see `_squares`.
        out[np.isnan(out)] = -np.inf

    def _add_complete(self, values: Floats, out: Floats) -> None:
        """Add the log densities of rows without missing values, block by block, to `out`."""
        # With y whitened, |y - m|^2 = |y|^2 - 2 y m + |m|^2 takes one whitening and one matrix
        # product for the means m of all cells: if they share the whitening matrix, and are so near
        # the centre that the sum does not cancel. Otherwise each cell whitens the rows anew.
        expands = self.shared and self._expansion[-1].max() <= _NEAR
        buffer = np.empty((min(_BLOCK, len(values)), len(self.children)))
        for first in range(0, len(values), _BLOCK):
            block, logs = values[first : first + _BLOCK], out[:, first : first + _BLOCK]
            whitened = buffer[: len(block)]
            if expands:
                centre, means, lengths = self._expansion
                _whiten(block, centre, self._fortran_roots[0], whitened)
                squares = _squares(whitened)
                # Beyond floats, terms of opposite signs would be infinite.
                if np.isfinite(squares).all():
                    # Each line adds a term of |y - m|^2, times -1/2.
                    logs += means @ whitened.T
                    logs += (self._log_constant - 0.5 * lengths)[:, None]
                    logs -= 0.5 * squares
                    continue
            for cell, mean in enumerate(self._means):
                _whiten(block, mean, self._fortran_roots[0 if self.shared else cell], whitened)
                logs[cell] += self._log_constant[cell] - 0.5 * _squares(whitened)

    @cached_property
    def _fortran_roots(self) -> list[Floats]:
        """The whitening matrices `roots` in Fortran order, which BLAS needs."""
        return [np.asfortranarray(root) for root in self.roots]

    def sample_cells(self, cells: NDArray[np.intp], random: np.random.Generator) -> NDArray[Any]:
        """Return draws of all children, shape (n, d); see `Plate`."""
        # Forward substitution solves A (x - mean) = z, one child after the other.
        noise = random.standard_normal((len(cells), len(self.children)))
        root_of_row = np.zeros(len(cells), dtype=np.intp) if self.shared else cells
        deviation = np.empty_like(noise)
        for j in range(len(self.children)):
            weights = self.roots[root_of_row, j]
            explained = np.einsum("nk,nk->n", weights[:, :j], deviation[:, :j])
            deviation[:, j] = (noise[:, j] - explained) / weights[:, j]
        return np.asarray(self._means[cells] + deviation)


def _whiten(block: Floats, mean: Floats, root: Floats, buffer: Floats) -> None:
    """Write the whitened deviations (block - mean) A^T, with A = `root`, to `buffer`."""
    np.subtract(block, mean, out=buffer)
    # The transpose of the buffer is in Fortran's order, so that it is overwritten in place.
    scipy.linalg.blas.dtrmm(1.0, root, buffer.T, lower=1, overwrite_b=1)


def _squares(values: Floats) -> Floats:
    """Return the squared length of each row, infinite where it is beyond floats."""
    squares = np.einsum("ij,ij->i", values, values)
    # In whitening, infinities of opposite signs are NaN together.
    return np.where(np.isnan(squares), np.inf, squares)


def rows_by_pattern(missing: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return row indices grouped by which columns are missing (the missing pattern).

    Parameters
    ----------
    missing : ndarray of bool, shape (n_rows, n_columns)

    Returns
    -------
    rows : ndarray, shape (n_rows,)
        Indices, ascending within a pattern.
    start : ndarray, shape (n_patterns + 1,)
        Offset in `rows` at which each pattern starts.
    """
    # Eight columns in a byte make rows short to compare.
    packed = np.packbits(missing, axis=1)
    _, pattern = np.unique(packed, axis=0, return_inverse=True)
    pattern = pattern.ravel()
    rows = np.argsort(pattern, kind="stable")
    return rows, np.concatenate([[0], np.cumsum(np.bincount(pattern))])
