"""Products of factors as distributions of one variable given the others: a step of an arc reversal.

A product f(v, rest) is P(v | rest) times the sum (integral) of f over v, a function of the rest
(Shachter 1986 for tables; Shachter and Kenley 1989 for linear Gaussians).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from bayesgraph.errors import MemoryLimitError
from bayesgraph.factors import SUM, Factor, GaussianFactor, Potential, multiply
from bayesgraph.factors.algebra import Floats
from bayesgraph.factors.factor import align
from bayesgraph.inference.elimination import potential_scope
from bayesgraph.inference.memory import BYTES, default_memory_limit, format_bytes
from bayesgraph.variables import Continuous, Discrete, Variable

# NumPy arrays have at most 64 axes, of which factors need a few for rows and parameters.
_MOST_AXES = 60

# Mean and variance, which have an axis for each discrete variable, and slopes.
Linear: TypeAlias = tuple[Floats, Floats, Floats]


def product_of(
    known: Sequence[Potential],
    last: Callable[[], Potential],
    scope: Iterable[Variable],
    what: str,
) -> Potential:
    """Return the product of factors with one that is made after the size has been checked.

    Parameters
    ----------
    known : sequence of factors
    last : callable
        Returns one more factor.
    scope : iterable of Variable
        The variables of that factor.
    what : str
        What the product is needed for, for the message.

    Raises
    ------
    MemoryLimitError
        If the product takes more than half of the machine's memory.
    """
    variables = {*scope, *(v for part in known for v in potential_scope(part))}
    discrete = [v.cardinality for v in variables if isinstance(v, Discrete)]
    others = len(variables) - len(discrete)
    size = BYTES * math.prod(discrete) * (1 + others) ** 2
    limit = default_memory_limit()
    if size > limit or len(discrete) > _MOST_AXES:
        raise MemoryLimitError(
            f"For {what} a distribution over {len(variables)} variables is needed, of "
            f"{format_bytes(size)}; the limit is {format_bytes(limit)}. Ask the network itself, "
            "whose queries need no such table."
        )
    return multiply([*known, last()])


def summed_out(product: Potential, variable: Variable) -> Potential:
    """Return the sum (integral) of a factor over one variable."""
    found: Potential = product.eliminate(variable, SUM)  # type: ignore[arg-type]
    return found


def probabilities(product: Factor, variable: Discrete, parents: Sequence[Discrete]) -> Floats:
    """Return P(variable | parents) in proportion to a factor over all of them.

    Parent configurations of probability zero get equal probabilities of all states.
    """
    logs = product.aligned([*parents, variable])[0]
    peak = logs.max(axis=-1, keepdims=True)
    possible = peak > -np.inf
    values = np.where(possible, np.exp(logs - np.where(possible, peak, 0.0)), 1.0)
    return np.asarray(values / values.sum(axis=-1, keepdims=True))


def linear(product: GaussianFactor, variable: Continuous, parents: Sequence[Variable]) -> Linear:
    """Return the linear Gaussian of a variable given all other variables of a factor.

    Returns
    -------
    mean, variance : ndarray, an axis for each discrete parent
    slopes : ndarray, on the last axis one for each continuous parent
    """
    found: Any = product.conditional(variable)
    discrete = [v for v in parents if isinstance(v, Discrete)]
    others = [v for v in product.variables if v != variable]
    wanted = [others.index(v) for v in parents if isinstance(v, Continuous)]
    mean, variance, slopes = (align(x, product.scope, discrete)[0] for x in found)
    return mean, variance, slopes[..., wanted]
