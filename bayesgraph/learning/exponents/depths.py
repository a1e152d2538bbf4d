"""Exponents from how early unpruned trees ask for a feature."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.exponents import kernels
from bayesgraph.learning.exponents.data import LogTerms


def depth_exponents(depths: ArrayLike) -> Floats:
    """Return the mean of 1 / sqrt(depth) over trees for each feature (Hall 2007).

    Parameters
    ----------
    depths : array_like, shape (n_trees, d)
        The least depth at which each tree asks each feature, 1 at the root; inf where it does not.

    Returns
    -------
    ndarray, shape (d,)
        In [0, 1].

    Raises
    ------
    DataError
        For depths below 1.

    Examples
    --------
    >>> depth_exponents([[1, 4, np.inf], [1, np.inf, np.inf]])
    array([1.  , 0.25, 0.  ])
    """
    given = np.asarray(depths, dtype=np.float64)
    if given.ndim != 2 or not len(given) or not (given >= 1).all():
        raise DataError(
            "depths takes an array of shape (n_trees, d) with 1 for the root and inf for features "
            f"that a tree does not ask; got {depths!r}."
        )
    return np.asarray((1.0 / np.sqrt(given)).mean(axis=0))


def tree_depths(
    terms: LogTerms,
    *,
    n_trees: int = 10,
    share: float = 0.5,
    seed: int | np.random.Generator = 1,
) -> Floats:
    """Return where unpruned trees, each grown from a bootstrap sample, first ask each feature.

    Trees branch on each state of a feature, a missing value being one of its own, by gain ratio
    (Quinlan 1993, chapter 2); see `depth_exponents`.

    Parameters
    ----------
    terms : LogTerms
    n_trees : int
    share : float
        Of the rows in each sample, which is drawn with replacement in proportion to the weights.
    seed : int or numpy Generator

    Returns
    -------
    ndarray, shape (n_trees, d)
        1 at the root, inf where a tree does not ask the feature.

    Raises
    ------
    DataError
        If there is to be no tree, or the share is not above 0.

    Examples
    --------
    >>> codes = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> tables = np.log([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> terms = LogTerms.build(codes, tables, np.log([0.5, 0.5]), [0, 0, 1, 1] * 10)
    >>> tree_depths(terms, n_trees=2)
    array([[ 1., inf],
           [ 1., inf]])
    """
    if n_trees < 1 or not (math.isfinite(share) and share > 0):
        raise DataError(
            f"n_trees must be 1 or more and share above 0; got {n_trees!r} and {share!r}."
        )
    found = np.full((n_trees, terms.n_features), np.inf)
    total = terms.weights.sum()
    if not terms.n_features or not total > 0:
        return found
    random = np.random.default_rng(seed)
    size = math.ceil(share * terms.n_rows)
    for depths in found:
        rows = random.choice(terms.n_rows, size=size, p=terms.weights / total)
        kernels.least_depths(
            terms.codes.T, terms.labels, terms.cards, terms.n_classes, rows.astype(np.intp), depths
        )
    return found
