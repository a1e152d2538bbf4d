"""Functions of scipy.special, which is imported at the first call: most questions need none."""

from __future__ import annotations

from typing import Any

import scipy


def betaln(a: Any, b: Any) -> Any:
    """Return the natural log of the absolute value of the beta function."""
    return scipy.special.betaln(a, b)


def digamma(x: Any) -> Any:
    """Return the logarithmic derivative of the gamma function."""
    return scipy.special.digamma(x)


def gammaln(x: Any) -> Any:
    """Return the natural log of the absolute value of the gamma function."""
    return scipy.special.gammaln(x)


def ndtr(x: Any) -> Any:
    """Return the distribution function of the standard normal distribution."""
    return scipy.special.ndtr(x)


def polygamma(n: int, x: Any) -> Any:
    """Return the n-th derivative of the digamma function."""
    return scipy.special.polygamma(n, x)


def betaincinv(a: Any, b: Any, p: Any) -> Any:
    """Return the quantile p of the beta distribution with parameters a and b."""
    return scipy.special.betaincinv(a, b, p)
