"""Loops over the tables of columns that may become parents: information and marginal likelihood."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.compilation import kernel


@kernel(error_model="numpy")
def extended_information(
    cells: Floats, cards: NDArray[np.int64], plan: NDArray[np.int64], out: Floats
) -> None:
    """Write what each column says about the child of its group, given the other columns.

    Parameters
    ----------
    cells, cards, plan
        See `extended.ExtendedTables`.
    out : ndarray, shape (4, n_columns)
        Zeros, to which what is found is added; see `extended.ExtendedInformation`.
    """
    most = cards.max()
    of_state, share = np.empty(most), np.empty(most)
    at = column = place = 0
    while place < len(plan):
        split = place + 2 + plan[place]
        stop = split + plan[place + 1]
        states, strata = cards[plan[stop - 1]], 1
        for other in range(split, stop - 1):
            strata *= cards[plan[other]]
        step = strata * states
        for new in range(place + 2, split):
            card = cards[plan[new]]
            tables = cells[at : at + card * step]
            information, rows, degrees = _told(tables, card, strata, of_state[:states], share)
            out[0, column] += information
            out[1, column] += rows
            out[2, column] += degrees
            out[3, column] += (card - 1) * strata * (states - 1)
            at += card * step
            column += 1
        place = stop


@kernel(error_model="numpy")
def _told(
    cells: Floats, card: int, strata: int, of_state: Floats, share: Floats
) -> tuple[float, float, int]:
    """Return information, rows and degrees of freedom of tables by code, stratum and state."""
    states = len(of_state)
    step = strata * states
    information = rows = 0.0
    degrees = 0
    for stratum in range(strata):
        first = stratum * states
        n_codes = _margins(cells, first, step, card, of_state)
        total, n_seen = 0.0, 0
        for state in range(states):
            total += of_state[state]
            n_seen += of_state[state] > 0.0
        rows += total
        if n_codes < 2 or n_seen < 2:
            continue
        degrees += (n_codes - 1) * (n_seen - 1)
        for state in range(states):
            if of_state[state] > 0.0:
                share[state] = math.log(total) - math.log(of_state[state])
        for code in range(card):
            here, own, found = first + code * step, 0.0, 0.0
            for state in range(states):
                n = cells[here + state]
                if n > 0.0:
                    own += n
                    found += n * (math.log(n) + share[state])
            if own > 0.0:
                information += found - own * math.log(own)
    return information, rows, degrees


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


@kernel(error_model="numpy", interpreted=False)
def extended_bdeu(
    cells: Floats, cards: NDArray[np.int64], plan: NDArray[np.int64], ess: float, gains: Floats
) -> None:
    """Write the gain in the BDeu score of a child by each column as one more parent.

    Parameters
    ----------
    cells, cards, plan
        See `extended.ExtendedTables`.
    ess : float
        Equivalent sample size, see `scores.bdeu`.
    gains : ndarray, shape (n_columns,)
        Zeros, to which what is found is added.
    """
    of_state = np.empty(cards.max())
    at = column = place = 0
    while place < len(plan):
        split = place + 2 + plan[place]
        stop = split + plan[place + 1]
        states, strata = cards[plan[stop - 1]], 1
        for other in range(split, stop - 1):
            strata *= cards[plan[other]]
        below, of_one = ess / strata, ess / (strata * states)
        for new in range(place + 2, split):
            card = cards[plan[new]]
            beside, of_cell = below / card, of_one / card
            gain = 0.0
            for stratum in range(strata):
                of_state[:states] = 0.0
                total = 0.0
                for code in range(card):
                    first = at + (code * strata + stratum) * states
                    own = 0.0
                    for state in range(states):
                        n = cells[first + state]
                        own += n
                        of_state[state] += n
                        gain += _rising(n, of_cell)
                    total += own
                    gain -= _rising(own, beside)
                gain += _rising(total, below)
                for state in range(states):
                    gain -= _rising(of_state[state], of_one)
            gains[column] += gain
            at += card * strata * states
            column += 1
        place = stop


@kernel(error_model="numpy", interpreted=False)
def _rising(n: float, prior: float) -> float:
    """Return log(Gamma(prior + n) / Gamma(prior))."""
    return math.lgamma(prior + n) - math.lgamma(prior) if n > 0.0 else 0.0
