"""What an estimate of a distribution's parameters rests on, and draws of the parameters.

Tables have a Dirichlet posterior for each configuration of the parents, linear Gaussians a
normal-inverse-gamma posterior for each configuration of the discrete parents (Gelman et al. 2013,
sections 3.4 and 14.2). The estimate is the mean of the probabilities, or of precision and
coefficients, so that the posterior takes few more numbers than the estimate: how much it weighs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats

# Smallest share of a chi-squared variable in its degrees of freedom: variances stay finite.
_LEAST_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class ParameterPosterior:
    """The posterior of the parameters of a CPD around their estimate.

    The parameters of different configurations of the discrete parents are independent.

    Attributes
    ----------
    rows : ndarray, shape (*discrete parents' cardinalities)
        Rows (sums of weights) with each configuration. Of a plate: a further axis for the children,
        of length 1 if all have the same.
    strength : ndarray, shape of `rows`
        Rows and prior together, in rows. Of a table: the sum of the parameters of the Dirichlet
        distribution. Of a Gaussian: the degrees of freedom of its variance. 0 if nothing is known,
        infinite if the parameters are known.
    covariance : ndarray, shape (*discrete parents' cardinalities, p + 1, p + 1), optional
        Only of Gaussians with p continuous parents: covariance of the mean where all continuous
        parents are zero and of the coefficients, divided by the variance of the child.
    """

    rows: Floats
    strength: Floats
    covariance: Floats | None = None

    @classmethod
    def of_plate(cls, rows: Floats, strength: Floats) -> ParameterPosterior:
        """Return the posterior of a plate; values that all children share are kept once."""
        return cls(_compact(rows), _compact(strength))

    def of_children(self, places: Sequence[int]) -> ParameterPosterior:
        """Return the posterior of the children of a plate with these indices, as of a plate."""
        return ParameterPosterior(_children(self.rows, places), _children(self.strength, places))

    def of_child(self, place: int) -> ParameterPosterior:
        """Return the posterior of the child of a plate with this index, as of a single CPD."""
        found = self.of_children([place])
        return ParameterPosterior(found.rows[..., 0], found.strength[..., 0])

    def chosen(self, mask: NDArray[np.bool_], other: ParameterPosterior) -> ParameterPosterior:
        """Return the posterior with the values of `other` where `mask` is true; for no plate.

        The mask is along the last axis of `rows`, which `other` lacks.
        """
        return ParameterPosterior(
            np.where(mask, other.rows[..., None], self.rows),
            np.where(mask, other.strength[..., None], self.strength),
            None
            if self.covariance is None or other.covariance is None
            else np.where(mask[:, None, None], other.covariance[..., None, :, :], self.covariance),
        )


def _compact(values: Floats) -> Floats:
    return values[..., :1] if (values == values[..., :1]).all() else values


def _children(values: Floats, places: Sequence[int]) -> Floats:
    return values[..., places] if values.shape[-1] > 1 else values


def mean_covariance(rows: Floats) -> Floats:
    """Return the covariance of a mean of rows, divided by the variance, shape (..., 1, 1).

    A configuration without rows has the mean of others, which counts as one row.
    """
    return (1.0 / np.where(rows > 0, rows, 1.0))[..., None, None]


def regression_covariance(rows: Floats, centre: Floats, squares: Floats) -> Floats:
    """Return the covariance of intercept and coefficients, divided by the residual variance.

    Parameters
    ----------
    rows : ndarray, shape (...)
    centre : ndarray, shape (..., p)
        Means of the regressors.
    squares : ndarray, shape (..., p, p)
        Sums of products of the regressors' deviations from their means, with those of the prior.

    Returns
    -------
    ndarray, shape (..., p + 1, p + 1)
        The inverse of the sums of products of 1 and the regressors.
    """
    slopes = np.linalg.inv(squares)
    link = -np.einsum("...ij,...j->...i", slopes, centre)
    p = centre.shape[-1]
    found = np.empty((*rows.shape, p + 1, p + 1))
    found[..., 1:, 1:] = slopes
    found[..., 0, 1:] = found[..., 1:, 0] = link
    found[..., 0, 0] = mean_covariance(rows)[..., 0, 0] - np.sum(link * centre, axis=-1)
    return found


def draw_probabilities(
    means: Floats,
    strengths: Floats,
    cards: NDArray[np.int64],
    n: int,
    random: np.random.Generator,
) -> Floats:
    """Draw from Dirichlet distributions, given one after the other.

    Parameters
    ----------
    means : ndarray, shape (total number of states,)
        Means of the probabilities of all distributions.
    strengths : ndarray, shape (n_distributions,)
        Sums of the parameters, positive; where infinite, each draw is the mean.
    cards : ndarray of int, shape (n_distributions,)
        Numbers of states.
    n : int
    random : Generator

    Returns
    -------
    ndarray, shape (n, total number of states)
    """
    known = np.isinf(strengths)
    spread = np.repeat(np.where(known, 1.0, strengths), cards)
    # Draws are the last axis here, along which sums and quotients are fast.
    drawn = random.standard_gamma((means * spread)[:, None], (len(means), n))
    starts = np.cumsum(cards) - cards
    totals = np.add.reduceat(drawn, starts, axis=0)
    # Where all gamma variables of tiny shapes underflow, one state has all the probability.
    for which, draw in np.argwhere(totals < np.finfo(float).tiny):
        at = slice(starts[which], starts[which] + cards[which])
        drawn[at, draw] = random.multinomial(1, means[at] / means[at].sum())
        totals[which, draw] = 1.0
    drawn /= np.repeat(totals, cards, axis=0)
    if known.any():
        given = np.repeat(known, cards)
        drawn[given] = means[given, None]
    return np.ascontiguousarray(drawn.T)


def draw_gaussians(
    mean: Floats,
    variance: Floats,
    coefficients: Floats,
    posterior: ParameterPosterior,
    n: int,
    random: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """Draw the parameters of linear Gaussians from a normal-inverse-gamma distribution.

    The variance is drawn first, then mean and coefficients given the variance.

    Parameters
    ----------
    mean, variance, coefficients
        As in GaussianCPD; the inverse of `variance` is the mean of the precision.
    posterior : ParameterPosterior
        With a covariance, and positive strengths.
    n : int
    random : Generator

    Returns
    -------
    mean, variance, coefficients : ndarray
        Each with a first axis of length n.
    """
    dof = posterior.strength
    known = np.isinf(dof)
    share = random.chisquare(np.where(known, 1.0, dof), (n, *dof.shape)) / np.where(known, 1.0, dof)
    share = np.where(known, 1.0, np.maximum(share, _LEAST_SHARE))
    variances = variance / share
    assert posterior.covariance is not None
    root = np.linalg.cholesky(posterior.covariance)
    normals = random.standard_normal((n, *root.shape[:-1]))
    moved = np.einsum("...ij,...j->...i", root, normals) * np.sqrt(variances)[..., None]
    moved = np.where(known[..., None], 0.0, moved)
    return mean + moved[..., 0], variances, coefficients + moved[..., 1:]
