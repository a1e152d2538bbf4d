"""The most probable assignments, and exact draws, from a junction tree after its upward pass.

The upward pass sends the messages from the leaves of the tree to its roots.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.factors.algebra import Floats
from bayesgraph.inference import execution_kernels as kernels
from bayesgraph.inference.compiled import Run
from bayesgraph.inference.junction import Ints
from bayesgraph.inference.memory import give_back
from bayesgraph.inference.results import Assignment
from bayesgraph.variables import Discrete, Variable

_NO_DRAWS = np.empty((1, 0))


class TableAssignments:
    """The most probable assignments of the variables that a compiled program maximises, best first.

    `take` can be called only once, because it returns the run's workspace to the pool.

    Parameters
    ----------
    variables : sequence of Discrete
        Variables of the tables, by index.
    run : Run
        Finished run of the program on logarithms, for evidence of positive probability. The program
        sums out all other variables before it maximises; this restricts the elimination order.
    over : sequence of int, optional
        Indices of the maximised variables if other variables were summed out (marginal MAP); only
        the best assignment is then available, and `ranked` finds others. None if all free variables
        were maximised.
    """

    def __init__(self, variables: Sequence[Discrete], run: Run, over: Sequence[int] | None) -> None:
        self._variables = variables
        self._run = run
        self._over = over

    def take(self, k: int) -> list[Assignment]:
        """Return the k most probable assignments, or fewer if fewer have positive probability."""
        numbers = self._run.program.tree.variables
        over = numbers if self._over is None else np.array(self._over, dtype=np.int64)
        places = np.searchsorted(numbers, over)
        variables = [self._variables[v] for v in over.tolist()]
        found = self._best(k if self._over is None else 1)
        give_back(self._run.space)
        return [
            Assignment(
                {
                    variable.name: variable.states[code]
                    for variable, code in zip(variables, states[places].tolist(), strict=True)
                },
                log_mass,
            )
            for states, log_mass in found
        ]

    def _best(self, k: int) -> list[tuple[Ints, float]]:
        """Return the states of the k best assignments, each with its log product of all tables.

        Cliques are ordered from the roots to the leaves (Nilsson 1998). Take a known assignment and
        a clique. Among the assignments that agree with the known one at all earlier cliques and
        differ from it at this clique, the best is found from the clique's own values, without
        another propagation. It becomes a candidate for the next best assignment. Choices at the
        clique that are already among the results are excluded.
        """
        run = self._run
        tree = run.program.tree
        order = [c for c in range(len(tree.parent) - 1, -1, -1) if tree.residual[c]]
        first = np.zeros((1, len(tree.variables)), dtype=np.int64)
        _decode(run, first, run.program.maximal)
        # A candidate: its negative log mass, a tie-breaker, the known assignment, the index in
        # `order` of the clique where it differs, its choice there, the choices excluded there.
        counter = 0
        heap: list[tuple[float, int, Ints, int, int, frozenset[int]]] = []
        found = [(first[0], run.log_mass)]
        branch: tuple[int, frozenset[int]] = (0, frozenset())
        while len(found) < k:
            states, log_mass = found[-1]
            begin, excluded = branch
            for at in range(begin, len(order)):
                values, choices = _local(run, order[at], states)
                members, cards = _leaving(run, order[at])
                taken = int(np.ravel_multi_index(tuple(states[members]), cards))
                here = (excluded if at == begin else frozenset()) | {taken}
                lost = values[np.searchsorted(choices, taken)]
                values[np.searchsorted(choices, list(here))] = -np.inf
                best = int(np.argmax(values))
                if values[best] > -np.inf:
                    counter += 1
                    value = log_mass + float(values[best] - lost)
                    best = int(choices[best])
                    heapq.heappush(heap, (-value, counter, states, at, best, here))
            if not heap:
                break
            negative, _, parent, at, best, here = heapq.heappop(heap)
            row = parent.copy()[None]
            members, cards = _leaving(run, order[at])
            row[0, members] = np.unravel_index(best, cards)
            below = np.zeros(len(tree.parent), dtype=np.int64)
            below[order[at + 1 :]] = 1
            _decode(run, row, below)
            found.append((row[0], -negative))
            branch = (at, here)
        return found


class TableDraws:
    """Exact posterior draws of the free variables of tables, from the messages of a junction tree.

    For each draw the states are sampled clique by clique from the roots to the leaves (Dawid 1992).
    `take` can be called only once, because it returns the run's workspace to the pool.

    Parameters
    ----------
    variables : sequence of Discrete
        Variables of the tables, by index.
    run : Run
        Finished run of a program that contains all factors, for evidence of positive probability.
    """

    def __init__(self, variables: Sequence[Discrete], run: Run) -> None:
        self._variables = variables
        self._run = run

    def take(self, n: int, random: np.random.Generator) -> dict[Variable, NDArray[Any]]:
        """Return n independent rows of state codes of all free variables."""
        run = self._run
        tree = run.program.tree
        states = np.zeros((n, len(tree.variables)), dtype=np.int64)
        n_cliques = len(tree.parent)
        _decode(run, states, np.ones(n_cliques, dtype=np.int64), random.random((n, n_cliques)))
        give_back(run.space)
        return {self._variables[v]: states[:, k] for k, v in enumerate(tree.variables)}


def ranked(
    k: int,
    variables: Sequence[Discrete],
    best: Callable[[Mapping[Discrete, Floats]], Assignment | None],
) -> list[Assignment]:
    """Return the k best assignments of some variables, given a function that finds the best one.

    The assignments other than the best are divided by the first variable in which they differ from
    it: the earlier ones have its states, and this one has another. The best of each part is a
    candidate for the second best, whose part is then divided in the same way (Lawler 1972). Each
    further assignment takes as many calls of `best` as there are variables.

    Parameters
    ----------
    k : int
    variables : sequence of Discrete
    best : callable
        Function of log likelihoods of all of the variables, 0 or minus infinity, that returns the
        best assignment; None if all have probability zero.
    """
    free = {variable: np.zeros(variable.cardinality) for variable in variables}
    found: list[Assignment] = []
    # A candidate: its negative log probability, a tie-breaker, the assignment, and its part.
    heap: list[tuple[float, int, Assignment, dict[Discrete, Floats]]] = []
    counter = 0

    def push(part: dict[Discrete, Floats]) -> None:
        nonlocal counter
        first = best(part)
        if first is not None and first.log_probability > -np.inf:
            heapq.heappush(heap, (-first.log_probability, counter, first, part))
            counter += 1

    push(free)
    while heap and len(found) < k:
        _, _, assignment, part = heapq.heappop(heap)
        found.append(assignment)
        for variable in variables if len(found) < k else ():
            code = variable.index(assignment[variable.name])
            others = part[variable].copy()
            others[code] = -np.inf
            if np.isfinite(others).any():
                push({**part, variable: others})
            only = np.full(variable.cardinality, -np.inf)
            only[code] = 0.0
            part = {**part, variable: only}
    return found


def _decode(run: Run, assigned: Ints, chosen: Ints, uniform: Floats = _NO_DRAWS) -> None:
    kernels.decode(
        assigned, uniform, chosen, run.program, run.tables, run.offsets, run.space,
        not run.logarithmic,
    )  # fmt: skip


def _leaving(run: Run, clique: int) -> tuple[Ints, tuple[int, ...]]:
    """Return the indices of the variables that a clique eliminates, and their cardinalities."""
    tree = run.program.tree
    begin = tree.c_start[clique]
    members = tree.member[begin : begin + tree.residual[clique]]
    return members, tuple(tree.cards[members].tolist())


def _local(run: Run, clique: int, states: Ints) -> tuple[Floats, Ints]:
    """Return the log values of joint states of the variables that a clique eliminates.

    The value is the product of the clique's factors and incoming messages. The other variables of
    the clique have the states in `states`, an array over all free variables. The second array has
    the numbers of the joint states, ascending; those of a compressed clique are the possible ones.
    """
    program, tree = run.program, run.program.tree
    operands = kernels.operand_lists(tree.home, tree.parent, program.up)
    fixed = program, operands, run.tables, run.offsets, run.space, False
    n = math.prod(_leaving(run, clique)[1])
    n_rows = kernels.n_rows(program, clique)
    if n_rows < 0:
        values = np.empty((1, n))
        kernels.local_values(clique, states[None], *fixed, values)
        return values[0], np.arange(n)
    listed = np.empty(n_rows)
    begin, end = kernels.listed_values(clique, states, *fixed, listed)
    return listed[: end - begin], program.code[begin:end] % n
