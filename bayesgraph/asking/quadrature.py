"""Adaptive integration of several functions at once, with an estimate of the error."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bayesgraph.factors.algebra import Floats

# Nodes from 0 on of the rule of Gauss and Kronrod with 15 nodes, their weights, and the weights of
# every second of them in the rule of Gauss with 7 nodes (Piessens et al. 1983, QUADPACK).
_NODES = np.array(
    [
        0.991455371120812639206854697526329,
        0.949107912342758524526189684047851,
        0.864864423359769072789712788640926,
        0.741531185599394439863864773280788,
        0.586087235467691130294144691693013,
        0.405845151377397166906606412076961,
        0.207784955007898467600689403773245,
        0.0,
    ]
)
_WEIGHTS = np.array(
    [
        0.022935322010529224963732008058970,
        0.063092092629978553290700663189204,
        0.104790010322250183839876322541518,
        0.140653259715525918745189590510238,
        0.169004726639267902826583426598550,
        0.190350578064785409913256402421014,
        0.204432940075298892414161999234649,
        0.209482141084727828012999174891714,
    ]
)
_OF_GAUSS = np.array(
    [
        0.129484966168869693270611432679082,
        0.279705391489276667901467771423780,
        0.381830050505118944950369775488975,
        0.417959183673469387755102040816327,
    ]
)
_X = np.concatenate([-_NODES, _NODES[-2::-1]])
_KRONROD = np.concatenate([_WEIGHTS, _WEIGHTS[-2::-1]])
_GAUSS = np.zeros(15)
_GAUSS[1::2] = np.concatenate([_OF_GAUSS, _OF_GAUSS[-2::-1]])
# Sum of the errors at which no panel is divided any more, and the number of nodes after which none
# is, whatever the error.
_TOLERANCE, _MAX_NODES = 1e-11, 60_000


class Integral(NamedTuple):
    """Integrals of several functions.

    Attributes
    ----------
    values, errors : ndarray, shape (n_functions,)
        The integrals, and estimates of their absolute errors.
    """

    values: Floats
    errors: Floats


def integral(functions: Callable[[Floats], Floats], ends: Floats) -> Integral:
    """Return the integrals of functions from the first to the last of some points.

    Each panel between neighbouring points is integrated by the rule of Gauss and Kronrod; panels
    with a large error are divided in halves (Piessens, de Doncker-Kapenga, Überhuber and Kahaner
    1983, section 2.2.2, whose estimate of the error this is).

    Parameters
    ----------
    functions : callable
        From points, shape (n,), to the values of the functions, shape (n, n_functions).
    ends : ndarray
        Ascending points; no function has a feature much narrower than the panel that it is in.
    """
    low, high = ends[:-1], ends[1:]
    values, errors = _rule(functions, low, high)
    n_nodes = values.shape[0] * len(_X)
    while errors.sum(axis=0).max() > _TOLERANCE and n_nodes < _MAX_NODES:
        open_ = (errors > 0.5 * _TOLERANCE / len(errors)).any(axis=1)
        middle = 0.5 * (low[open_] + high[open_])
        halves = (
            np.concatenate([low[open_], middle]),
            np.concatenate([middle, high[open_]]),
        )
        found = _rule(functions, *halves)
        n_nodes += found[0].shape[0] * len(_X)
        closed = ~open_
        low, high = (
            np.concatenate([own[closed], new]) for own, new in zip((low, high), halves, strict=True)
        )
        values, errors = (
            np.concatenate([own[closed], new])
            for own, new in zip((values, errors), found, strict=True)
        )
    return Integral(values.sum(axis=0), errors.sum(axis=0))


def _rule(
    functions: Callable[[Floats], Floats], low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Return the integrals over panels and their errors, each of shape (n_panels, n_functions)."""
    half = 0.5 * (high - low)
    points = (0.5 * (low + high))[:, None] + half[:, None] * _X
    found = functions(points.ravel()).reshape(*points.shape, -1)
    by_kronrod = np.einsum("k,pkf->pf", _KRONROD, found)
    gap = np.abs(np.einsum("k,pkf->pf", _KRONROD - _GAUSS, found))
    spread = np.einsum("k,pkf->pf", _KRONROD, np.abs(found - 0.5 * by_kronrod[:, None]))
    ratio = np.divide(200.0 * gap, spread, out=np.zeros_like(gap), where=spread > 0)
    errors = spread * np.minimum(1.0, ratio**1.5)
    return by_kronrod * half[:, None], errors * half[:, None]
