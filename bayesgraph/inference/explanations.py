"""Most probable explanations: the best, the k best, and those of some variables only."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.compiled import Run
from bayesgraph.inference.execution import kernels
from bayesgraph.inference.tables import Integers
from bayesgraph.inference.workspaces import give_back

_NO_DRAWS = np.empty((1, 0))


@dataclass(frozen=True, eq=False)
class Explanation:
    """States of some variables, with the log of their probability together with the evidence."""

    variables: Integers
    states: Integers
    log_mass: float


class Explanations:
    """The most probable assignments of the variables that a program maximises, best first.

    For one use: the workspace is given back.

    Parameters
    ----------
    run : Run
        On logarithms, with a mass above zero, of a program that sums the other variables out
        first, which restricts the order of elimination.
    over : ndarray, optional
        The variables that were maximised, if others were summed out: there is one answer then.
    """

    def __init__(self, run: Run, over: Integers | None = None) -> None:
        self._run = run
        self._over = over

    def take(self, k: int) -> list[Explanation]:
        """Return the k best, or fewer if fewer are possible."""
        found = self._several(k) if self._over is None else [self._one(self._over)]
        give_back(self._run.space)
        return found

    def _one(self, over: Integers) -> Explanation:
        run = self._run
        assigned = np.zeros((1, len(run.program.tree.variables)), dtype=np.int64)
        _decode(run, assigned, run.program.maximal)
        places = np.searchsorted(run.program.tree.variables, over)
        return Explanation(over, assigned[0, places], run.log_mass)

    def _several(self, k: int) -> list[Explanation]:
        """Return the k best.

        Nilsson (1998): after one propagation, the best assignment that agrees with a known one
        above a clique and differs from it there is found at that clique alone. Here the cliques are
        met from the roots to the leaves; a candidate is the best choice but some at one clique,
        after the choices of the assignment it comes from.
        """
        run = self._run
        tree = run.program.tree
        order = [c for c in range(len(tree.parent) - 1, -1, -1) if tree.residual[c]]
        first = np.zeros((1, len(tree.variables)), dtype=np.int64)
        _decode(run, first, run.program.maximal)
        # A candidate: its value, a tie-breaker, the assignment it comes from, the place in the
        # order where it differs, its choice there, and the choices excluded there.
        counter = 0
        heap: list[tuple[float, int, Integers, int, int, frozenset[int]]] = []
        found = [Explanation(tree.variables, first[0], run.log_mass)]
        branch: tuple[int, frozenset[int]] = (0, frozenset())
        while len(found) < k:
            last = found[-1]
            begin, excluded = branch
            for at in range(begin, len(order)):
                values = _local(run, order[at], last.states)
                taken = _choice(run, order[at], last.states)
                here = (excluded if at == begin else frozenset()) | {taken}
                lost = values[taken]
                values[list(here)] = -np.inf
                best = int(np.argmax(values))
                if values[best] > -np.inf:
                    counter += 1
                    value = last.log_mass + float(values[best] - lost)
                    heapq.heappush(heap, (-value, counter, last.states, at, best, here))
            if not heap:
                break
            negative, _, parent, at, best, here = heapq.heappop(heap)
            states = parent.copy()
            _assign(run, order[at], states, best)
            below = np.zeros(len(tree.parent), dtype=np.int64)
            below[order[at + 1 :]] = 1
            row = states[None]
            _decode(run, row, below)
            found.append(Explanation(tree.variables, row[0], -negative))
            branch = (at, here)
        return found


def _decode(run: Run, assigned: Integers, chosen: Integers) -> None:
    kernels.decode(
        assigned,
        _NO_DRAWS,
        chosen,
        *run.program.tree_arrays(),
        run.tables,
        run.offsets,
        run.space,
        not run.logarithmic,
    )


def _residual_cards(run: Run, clique: int) -> tuple[Integers, Integers]:
    tree = run.program.tree
    begin = tree.c_start[clique]
    members = tree.member[begin : begin + tree.residual[clique]]
    return members, tree.cards[members]


def _local(run: Run, clique: int, states: Integers) -> Floats:
    """Return the log values of a clique's choices, given the states above it."""
    values = np.empty(int(np.prod(_residual_cards(run, clique)[1])))
    kernels.local_logs(
        clique,
        states,
        *run.program.tree_arrays(),
        run.tables,
        run.offsets,
        run.space,
        *kernels.operand_lists(run.program.tree.home, run.program.tree.parent, run.program.up),
        False,
        values,
    )
    return values


def _choice(run: Run, clique: int, states: Integers) -> int:
    members, cards = _residual_cards(run, clique)
    return int(np.ravel_multi_index(tuple(states[members]), tuple(cards)))


def _assign(run: Run, clique: int, states: Integers, choice: int) -> None:
    members, cards = _residual_cards(run, clique)
    states[members] = np.unravel_index(choice, tuple(cards))
