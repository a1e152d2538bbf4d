"""Well-known temporal networks in a line: hidden Markov models, levels, Kalman filters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.core.arrays import whole_number
from bayesgraph.core.errors import CPDError, DataTypeError
from bayesgraph.core.variables import Continuous, Discrete, Name, State
from bayesgraph.models import CPD, GaussianCPD, JointGaussianCPD, TableCPD
from bayesgraph.time.network import TemporalNetwork
from bayesgraph.time.slices import before


def hidden_markov(
    states: int | Iterable[State] | Discrete,
    emissions: Mapping[Name, Any],
    *,
    start: ArrayLike | None = None,
    transition: ArrayLike | None = None,
) -> TemporalNetwork:
    """Return a hidden Markov model, to be asked or as a template for `TemporalNetwork.fit`.

    Parameters
    ----------
    states : int, list of states or Discrete
        The hidden variable, called "state" unless it is given.
    emissions : mapping from name to variable, states, "gaussian" or CPD
        Each given the state. Without a CPD they have no effect until they are fitted.
    start : array_like, shape (K,), optional
        Probabilities of the first state; by default all alike.
    transition : array_like, shape (K, K), optional
        Of the next state, one row for each state before; by default all alike.

    Examples
    --------
    >>> model = hidden_markov(["rain", "sun"], {"act": ["walk", "shop"]})
    >>> rows = {"act": ["walk", "walk", "walk", "shop", "shop", "shop"] * 3}
    >>> fitted = TemporalNetwork.fit(model, rows, random_state=0)
    >>> bool(fitted.log_likelihood(rows) > model.log_likelihood(rows))
    True
    """
    if not isinstance(states, Discrete):
        if isinstance(states, (int, np.integer)):
            states = range(whole_number("states", "states", states, 1))
        states = Discrete("state", states)
    k = states.cardinality
    cpds: list[CPD] = [TableCPD(states, np.full(k, 1 / k) if start is None else start)]
    for name, kind in emissions.items():
        variable = Continuous(name) if isinstance(kind, str) and kind == "gaussian" else kind
        if isinstance(variable, str):
            raise DataTypeError(
                f"emissions= has {kind!r} for {name!r}: it takes 'gaussian', a variable, a list of "
                "states or a CPD."
            )
        if isinstance(variable, Continuous):
            cpds.append(GaussianCPD(variable, np.zeros(k), 1.0, [states]))
        elif isinstance(variable, CPD):
            cpds.append(variable)
        else:
            emitted = variable if isinstance(variable, Discrete) else Discrete(name, variable)
            shares = np.full((k, emitted.cardinality), 1 / emitted.cardinality)
            cpds.append(TableCPD(emitted, shares, [states]))
    move = np.full((k, k), 1 / k) if transition is None else transition
    return TemporalNetwork(cpds, [TableCPD(states, move, [before(states)])])


def local_level(
    name: Name,
    *,
    level_variance: float,
    noise_variance: float,
    start: tuple[float, float] = (0.0, 1e6),
) -> TemporalNetwork:
    """Return a level that walks at random and is seen with noise (Harvey 1989, section 2.3).

    Parameters
    ----------
    name : name
        Of what is seen; the hidden variable is called "level".
    level_variance, noise_variance : float
        Of a step of the level, and of what is seen around it.
    start : (mean, variance)
        Of the first level.
    """
    level, observed = Continuous("level"), Continuous(name)
    return TemporalNetwork(
        [GaussianCPD(level, *start), GaussianCPD(observed, 0.0, noise_variance, [level], [1.0])],
        [GaussianCPD(level, 0.0, level_variance, [before(level)], [1.0])],
    )


def kalman(
    hidden: Sequence[Name],
    seen: Sequence[Name],
    *,
    transition: ArrayLike,
    observation: ArrayLike,
    transition_covariance: ArrayLike,
    observation_covariance: ArrayLike,
    start: tuple[ArrayLike, ArrayLike],
) -> TemporalNetwork:
    """Return a linear Gaussian state space: x' = A x + noise, y = C x + noise (Kalman 1960).

    Parameters
    ----------
    hidden, seen : sequence of names
        The d numbers of the state x, and the m that are seen, y.
    transition, observation : array_like, shapes (d, d) and (m, d)
        A and C.
    transition_covariance, observation_covariance : array_like, shapes (d, d) and (m, m)
    start : (mean, covariance), shapes (d,) and (d, d)
        Of the first state.
    """
    x, y = [Continuous(name) for name in hidden], [Continuous(name) for name in seen]
    first = _gaussians(x, [], start[0], np.zeros((len(x), 0)), start[1])
    shown = _gaussians(y, x, np.zeros(len(y)), observation, observation_covariance)
    past = [before(v) for v in x]
    later = _gaussians(x, past, np.zeros(len(x)), transition, transition_covariance)
    return TemporalNetwork([*first, *shown], later)


def _gaussians(
    children: Sequence[Continuous],
    parents: Sequence[Continuous],
    mean: Any,
    slopes: Any,
    covariance: Any,
) -> list[GaussianCPD]:
    """Return children with a joint Gaussian given parents, each given those before it."""
    gain = np.asarray(slopes, dtype=np.float64)
    if gain.shape != (len(children), len(parents)):
        raise CPDError(
            f"The matrix of {len(children)} numbers given {len(parents)} has the shape "
            f"({len(children)}, {len(parents)}); got {gain.shape}."
        )
    cpds = []
    cpd: Any
    for i, cpd in enumerate(JointGaussianCPD(children, mean, covariance).singles()):
        # The noise of a child is linear in that of those before it. Each of these noises is a child
        # less its mean given the parents, so that their slopes are taken off.
        used = np.flatnonzero(cpd.coefficients).tolist()
        weights = np.concatenate([gain[i] - cpd.coefficients @ gain[:i], cpd.coefficients[used]])
        above = [*parents, *(children[j] for j in used)]
        cpds.append(GaussianCPD(cpd.variable, cpd.mean, cpd.variance, above, weights))
    return cpds
