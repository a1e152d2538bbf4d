"""Impurity of the class distribution in a node, and its decrease by a split."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.errors import DataError, quoted
from bayesgraph.factors.algebra import Floats

KINDS = ("entropy", "gini", "error")


def impurity(kind: str, p: ArrayLike, *, base: float = np.e) -> Floats:
    """Return the impurity of class distributions (Breiman et al. 1984, section 4.1).

    The impurity is zero if all rows are of one class, and largest if all classes are equally
    frequent.

    Parameters
    ----------
    kind : {"entropy", "gini", "error"}
        ``-sum_c p_c log p_c``, ``1 - sum_c p_c^2``, or ``1 - max_c p_c``, the share of rows that
        are not of the most frequent class.
    p : array_like, shape (..., n_classes)
        Probabilities or counts: each row is divided by its sum. A row of zeros has impurity zero.
    base : float
        Base of the logarithm in the entropy: e gives nats, 2 gives bits.

    Returns
    -------
    ndarray, shape (...)

    Raises
    ------
    DataError
        If the kind is unknown, or a number is negative or not finite.

    Examples
    --------
    >>> impurity("gini", [[0.5, 0.5], [1.0, 0.0]]).tolist()
    [0.5, 0.0]
    """
    if kind not in KINDS:
        raise DataError(f"kind is one of {quoted(KINDS)}; got {kind!r}.")
    counts = np.asarray(p, dtype=np.float64)
    if not counts.ndim or not (np.isfinite(counts) & (counts >= 0)).all():
        raise DataError(
            f"impurity takes finite non-negative numbers, classes on the last axis; got {p!r:.200}."
        )
    total = counts.sum(axis=-1, keepdims=True)
    shares = counts / np.where(total > 0, total, 1.0)
    empty = total[..., 0] == 0
    if kind == "entropy":
        logs = np.log(np.where(shares > 0, shares, 1.0)) / np.log(base)
        # Adding zero turns minus zero into zero.
        return np.asarray(-np.sum(shares * logs, axis=-1) + 0.0)
    if kind == "gini":
        return np.where(empty, 0.0, 1.0 - np.sum(shares * shares, axis=-1))
    return np.where(empty, 0.0, 1.0 - shares.max(axis=-1, initial=0.0))


def impurity_decrease(
    kind: str, children: ArrayLike, *, total: float | None = None, base: float = np.e
) -> Floats:
    """Return the decrease of impurity when a node is split into child nodes.

    ``n / total * (i(node) - sum_k n_k / n * i(child k))`` with n rows in the node and n_k in child
    k (Breiman et al. 1984, definition 2.8). With entropy as the impurity it is the information
    gain.

    Parameters
    ----------
    kind, base
        As for `impurity`.
    children : array_like, shape (..., n_parts, n_classes)
        Counts of the classes in each child; `n_parts` is the number of children.
    total : float, optional
        Number of rows in the whole tree; by default n, so that the first factor is 1.

    Returns
    -------
    ndarray, shape (...)
        Not negative, except for rounding errors.

    Examples
    --------
    >>> round(float(impurity_decrease("gini", [[3, 1], [1, 3]])), 3)
    0.125
    """
    parts = np.asarray(children, dtype=np.float64)
    if parts.ndim < 2:
        raise DataError(
            "impurity_decrease takes counts of classes for each part, shape (n_parts, n_classes); "
            f"got shape {parts.shape}."
        )
    size = parts.sum(axis=-1)
    n = size.sum(axis=-1)
    whole = n if total is None else np.asarray(total, dtype=np.float64)
    before = n * impurity(kind, parts.sum(axis=-2), base=base)
    after = np.sum(size * impurity(kind, parts, base=base), axis=-1)
    return np.asarray((before - after) / np.where(whole > 0, whole, 1.0))
