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

from bayesgraph.core.arrays import Floats

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
    centre : ndarray, shape (*discrete parents' cardinalities, p), optional
        Only of Gaussians with p continuous parents: the means of the parents. There the child's
        mean and the coefficients are independent given the variance.
    covariance : ndarray, shape (*discrete parents' cardinalities, p, p), optional
        Covariance of the coefficients, divided by the variance of the child.
    """

    rows: Floats
    strength: Floats
    centre: Floats | None = None
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
        """Return the posterior with the values of `other` where `mask` is true.

        The mask is along the last axis of `rows`, which `other` lacks. Neither is of a plate, or of
        a CPD with continuous parents.
        """
        return ParameterPosterior(
            np.where(mask, other.rows[..., None], self.rows),
            np.where(mask, other.strength[..., None], self.strength),
        )


def _compact(values: Floats) -> Floats:
    return values[..., :1] if (values == values[..., :1]).all() else values


def _children(values: Floats, places: Sequence[int]) -> Floats:
    return values[..., places] if values.shape[-1] > 1 else values


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

    The variance is drawn first, then the mean at the centre and the coefficients.

    Parameters
    ----------
    mean, variance, coefficients
        As in GaussianCPD; the inverse of `variance` is the mean of the precision.
    posterior : ParameterPosterior
        With positive strengths.
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
    scale = np.where(known, 0.0, np.sqrt(variances))
    # A configuration without rows has the mean of others, which counts as one row.
    rows = np.where(posterior.rows > 0, posterior.rows, 1.0)
    means = mean + scale * random.standard_normal(scale.shape) / np.sqrt(rows)
    if posterior.covariance is None or posterior.centre is None:
        return means, variances, np.broadcast_to(coefficients, (n, *coefficients.shape))
    normals = random.standard_normal((n, *coefficients.shape))
    moved = np.einsum("...ij,...j->...i", _root(posterior.covariance), normals) * scale[..., None]
    return means - np.sum(moved * posterior.centre, axis=-1), variances, coefficients + moved


def _root(covariance: Floats) -> Floats:
    """Return matrices whose product with their transposes is the covariance.

    Rounding may leave covariances of collinear regressors indefinite.
    """
    try:
        return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])
