"""Loops over the tables of columns that may become parents: information and marginal likelihood."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.compilation import kernel
from bayesgraph.factors.algebra import Floats


@kernel(error_model="numpy")
def extended_information(
    cells: Floats,
    cards: NDArray[np.int64],
    ends: NDArray[np.int64],
    n_strata: NDArray[np.int64],
    n_states: NDArray[np.int64],
    logs: Floats,
    information: Floats,
    rows: Floats,
    degrees: NDArray[np.int64],
) -> None:
    """Write what each column says about the child of its group, given the other columns.

    Parameters
    ----------
    cells, cards, ends, n_strata, n_states
        See `extended.ExtendedTables`.
    logs : ndarray
        Logarithms of whole numbers from 0; that of 0 is not read.
    information, rows, degrees : ndarray, shape (n_columns,)
        Zeros, to which what is found is added; see `extended.ExtendedInformation`.
    """
    most = n_states.max()
    of_state, share = np.empty(most), np.empty(most)
    at = column = 0
    for group in range(len(ends)):
        strata, states = n_strata[group], n_states[group]
        while column < ends[group]:
            step = strata * states
            for stratum in range(strata):
                first = at + stratum * states
                n_codes = _margins(cells, first, step, cards[column], of_state[:states])
                total, n_seen = 0.0, 0
                for state in range(states):
                    total += of_state[state]
                    n_seen += of_state[state] > 0.0
                rows[column] += total
                if n_codes < 2 or n_seen < 2:
                    continue
                degrees[column] += (n_codes - 1) * (n_seen - 1)
                for state in range(states):
                    if of_state[state] > 0.0:
                        share[state] = _log(total, logs) - _log(of_state[state], logs)
                for code in range(cards[column]):
                    here, own, found = first + code * step, 0.0, 0.0
                    for state in range(states):
                        n = cells[here + state]
                        if n > 0.0:
                            own += n
                            found += n * (_log(n, logs) + share[state])
                    if own > 0.0:
                        information[column] += found - own * _log(own, logs)
            at += cards[column] * step
            column += 1


@kernel()
def _margins(cells: Floats, first: int, step: int, card: int, of_state: Floats) -> int:
    """Write the counts of the states of a child in a stratum; return how many codes occur in it."""
    of_state[:] = 0.0
    n_codes = 0
    for code in range(card):
        seen = False
        for state in range(len(of_state)):
            n = cells[first + code * step + state]
            of_state[state] += n
            seen |= n > 0.0
        n_codes += seen
    return n_codes


@kernel()
def _log(n: float, logs: Floats) -> float:
    """Return the logarithm of a positive number, from a table if it is small and whole."""
    if n < len(logs):
        place = int(n)
        if place == n:
            return float(logs[place])
    return math.log(n)


# Number of counts whose rising factorials are computed once for columns of as many states.
_COUNTS = 256


@kernel(error_model="numpy", interpreted=False)
def extended_bdeu(
    cells: Floats,
    cards: NDArray[np.int64],
    ends: NDArray[np.int64],
    n_strata: NDArray[np.int64],
    n_states: NDArray[np.int64],
    ess: float,
    gains: Floats,
) -> None:
    """Write the gain in the BDeu score of a child by each column as one more parent.

    Parameters
    ----------
    cells, cards, ends, n_strata, n_states
        See `extended.ExtendedTables`.
    ess : float
        Equivalent sample size, see `scores.bdeu`.
    gains : ndarray, shape (n_columns,)
        Zeros, to which what is found is added.
    """
    of_state, known = np.empty(n_states.max()), np.empty((4, _COUNTS))
    prior, base = np.empty(4), np.empty(4)
    at = column = 0
    for group in range(len(ends)):
        strata, states = n_strata[group], n_states[group]
        prior[2] = ess / strata
        prior[3] = prior[2] / states
        base[2], base[3] = math.lgamma(prior[2]), math.lgamma(prior[3])
        known[2:] = np.nan
        before = 0
        while column < ends[group]:
            card = cards[column]
            if card != before:
                prior[0] = prior[2] / card
                prior[1] = prior[3] / card
                base[0], base[1] = math.lgamma(prior[0]), math.lgamma(prior[1])
                known[:2] = np.nan
                before = card
            for stratum in range(strata):
                of_state[:states] = 0.0
                total = 0.0
                for code in range(card):
                    first = at + (code * strata + stratum) * states
                    own = 0.0
                    for state in range(states):
                        n = cells[first + state]
                        if n > 0.0:
                            own += n
                            of_state[state] += n
                            gains[column] += _rising(n, 1, prior, base, known)
                    if own > 0.0:
                        total += own
                        gains[column] -= _rising(own, 0, prior, base, known)
                if total > 0.0:
                    gains[column] += _rising(total, 2, prior, base, known)
                    for state in range(states):
                        if of_state[state] > 0.0:
                            gains[column] -= _rising(of_state[state], 3, prior, base, known)
            at += card * strata * states
            column += 1


@kernel(error_model="numpy", interpreted=False)
def _rising(n: float, which: int, prior: Floats, base: Floats, known: Floats) -> float:
    """Return log(Gamma(a + n) / Gamma(a)) for one of the priors a; small whole n are kept."""
    place = int(n)
    if place != n or place >= _COUNTS:
        return math.lgamma(prior[which] + n) - base[which]
    if math.isnan(known[which, place]):
        known[which, place] = math.lgamma(prior[which] + n) - base[which]
    return float(known[which, place])
