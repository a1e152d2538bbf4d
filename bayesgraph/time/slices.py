"""One slice of a temporal network given the slices before it, and the factors that it gives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import SUM, Algebra, Floats, whole_number
from bayesgraph.core.errors import DataTypeError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import check_memory
from bayesgraph.core.variables import (
    Continuous,
    CountVector,
    Discrete,
    Name,
    Variable,
    ancestral_set,
)
from bayesgraph.inference import (
    Factor,
    GaussianFactor,
    Potential,
    make_plan,
    multiply,
    normalised_if_possible,
    planned_slice,
    potential_scope,
    remaining,
)
from bayesgraph.models import BayesianNetwork, SetCPD

# Maximum number of entries of the largest product for one block of rows.
_BLOCK_ENTRIES = 2**22


# ------------------------------------------------------------------- variables of earlier slices


@dataclass(frozen=True)
class Before:
    """Name of a variable some slices before.

    Attributes
    ----------
    name : hashable
    steps : int
    """

    name: Name
    steps: int

    def __str__(self) -> str:
        return f"{self.name} ({self.steps} before)"

    def __repr__(self) -> str:
        return f"before({self.name!r}{f', {self.steps}' if self.steps > 1 else ''})"


def before(variable: Any, steps: int = 1) -> Any:
    """Return a variable as it was in an earlier slice, for parents in a `TemporalNetwork`.

    Parameters
    ----------
    variable : Variable or name
        Of a name it is the name, for arcs.
    steps : int
        Number of slices back.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> mood = bg.Discrete("mood", ["low", "high"])
    >>> bg.TableCPD(mood, [[0.9, 0.1], [0.3, 0.7]], parents=[bg.before(mood)])
    TableCPD P(mood | mood (1 before))
      mood (1 before)    low   high
      low              0.900  0.100
      high             0.300  0.700
    """
    whole_number("steps", "slices", steps, 1)
    if isinstance(variable, CountVector):
        raise DataTypeError(f"{variable!r} is a vector of counts, which has no children.")
    if not isinstance(variable, Variable):
        past = isinstance(variable, Before)
        return Before(variable.name, variable.steps + steps) if past else Before(variable, steps)
    return renamed(variable, before(variable.name, steps))


def renamed(variable: Any, name: Name) -> Any:
    """Return a variable with another name."""
    # A variable is pickled as its class and the arguments of it, of which the name is the first.
    kind, (_, *values) = variable.__reduce__()
    return kind(name, *values)


def now(variable: Any) -> Any:
    """Return a variable as its own slice calls it."""
    return renamed(variable, lag(variable)[0])


def lag(variable: Variable) -> tuple[Name, int]:
    """Return the name of a variable in its own slice, and how many slices back that is."""
    name = variable.name
    return (name.name, name.steps) if isinstance(name, Before) else (name, 0)


class Given(SetCPD):
    """A variable that a network is conditional on: each value has the potential 1."""

    is_linear = True

    def potential(self, evidence: Evidence) -> Potential:
        """Return 1 for each row and value; see CPD."""
        if isinstance(self.variable, Discrete) and self.variable not in evidence:
            return Factor.from_log((self.variable,), np.zeros((1, self.variable.cardinality)))
        if isinstance(self.variable, Continuous) and self.variable not in evidence:
            nothing = np.zeros((1, 0, 1)), np.zeros((1, 0))  # no quadratic terms: the constant 1
            return GaussianFactor((), (self.variable,), np.zeros(1), *nothing)
        return super().potential(evidence)


# -------------------------------------------------------------------------- factors of a slice


def slice_factor(
    network: BayesianNetwork,
    evidence: Evidence,
    keep: Sequence[Variable],
    messages: Sequence[Potential] = (),
    algebra: Algebra = SUM,
) -> Potential:
    """Return the product of the CPDs of a network and of messages, over the variables to keep.

    Parameters
    ----------
    network : BayesianNetwork
    evidence : Evidence
        Rows; none of the variables to keep is observed.
    keep : sequence of Variable
    messages : sequence of factors
        Over variables to keep, or others of the network.
    algebra : Algebra
        What eliminates the other discrete variables.
    """
    scope = (*keep, *(v for message in messages for v in potential_scope(message)))
    trimmed, part = submodel(network, evidence, scope, algebra)
    problem = part.problem(trimmed)
    factors = [*problem.potentials, *messages]
    scopes = tuple(map(potential_scope, factors))
    plan = network._memo.get(("time plan", scopes, tuple(keep)), lambda: make_plan(scopes, keep))
    return multiply(remaining(factors, plan, problem.columns, discrete=algebra))


def submodel(
    network: BayesianNetwork, evidence: Evidence, keep: Sequence[Variable], algebra: Algebra = SUM
) -> tuple[Evidence, Any]:
    """Return evidence without empty columns, and the factors that bear on variables to keep.

    For a maximum they are those of all discrete variables.
    """
    trimmed, partial = evidence.split()
    if algebra is not SUM:
        free = (v for v in network.variables if v not in trimmed or v in partial)
        keep = (*keep, *(v for v in free if isinstance(v, Discrete)))
    wanted = tuple(dict.fromkeys(keep))
    return trimmed, planned_slice(network, trimmed, partial, wanted).slice


def row_parts(
    network: BayesianNetwork, evidence: Evidence, keep: Sequence[Variable], algebra: Algebra = SUM
) -> Iterator[tuple[NDArray[np.intp], Evidence]]:
    """Yield rows with the same pattern of missing values, in blocks, with their evidence.

    The pattern is of the variables on which factors depend (`Slice.blocking`); others may differ.
    """
    trimmed, part = submodel(network, evidence, keep, algebra)
    # Each row's number of a pattern of observed cells; each variable may divide every pattern.
    pattern = np.zeros(evidence.n_rows, dtype=np.intp)
    for variable in part.blocking:
        _, pattern = np.unique(2 * pattern + trimmed.observed_rows(variable), return_inverse=True)
    cards = [v.cardinality for v in keep if isinstance(v, Discrete)]
    size = max(1, int(_BLOCK_ENTRIES // math.prod(cards)))
    for group in range(int(pattern.max(initial=0)) + 1):
        rows = np.flatnonzero(pattern == group)
        for begin in range(0, len(rows), size):
            chosen = rows[begin : begin + size]
            yield chosen, trimmed if len(chosen) == evidence.n_rows else trimmed.rows(chosen)


def slice_logs(
    network: BayesianNetwork | None,
    evidence: Evidence,
    keep: Sequence[Discrete],
    algebra: Algebra = SUM,
) -> Floats:
    """Return `slice_factor` over discrete variables for all rows, shape (n_rows, *cards).

    Without a network it is the empty product, whose log is 0, shape (n_rows,).
    """
    if network is None:
        return np.zeros(evidence.n_rows)
    out = np.empty((evidence.n_rows, *(v.cardinality for v in keep)))
    for chosen, part in row_parts(network, evidence, keep, algebra):
        factor = slice_factor(network, part, keep, algebra=algebra)
        assert isinstance(factor, Factor)  # the variables are discrete
        out[chosen] = factor.aligned(keep)
    return out


def summary(factor: Potential) -> Floats:
    """Return probabilities, or mean and variance, of a factor's only variable, (n_rows, width)."""
    if isinstance(factor, Factor):
        return normalised_if_possible(factor.log_values)
    # Of a number: a mixture with one Gaussian for each state of the discrete scope.
    mass, mean, variance = (x.reshape(len(x), -1) for x in factor.moments())
    shares = normalised_if_possible(mass)
    centre = (shares * mean).sum(axis=1)
    spread = (shares * (variance + (mean - centre[:, None]) ** 2)).sum(axis=1)
    return np.stack([centre, spread], axis=1)


# ------------------------------------------------------------------------------ states of a chain


class States:
    """The discrete variables that one slice hands on to the next, as joint states.

    Parameters
    ----------
    variables : sequence of Discrete
        Of earlier slices, or static; a slice without such an earlier slice has the first state.

    Attributes
    ----------
    size : int
        Number K of joint states.
    """

    def __init__(self, variables: Sequence[Discrete]) -> None:
        self.variables = tuple(variables)
        self.cards = tuple([v.cardinality for v in variables])
        self.size = math.prod(self.cards)
        check_memory(
            f"The {len(self.cards)} variables that a slice hands on have {self.size:,} joint "
            "states, whose pairs take",
            self.size**2,
            "Observe more of them, or give the network fewer arcs between slices.",
            copies=3,
        )

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """State codes of each variable in each joint state, shape (n_variables, K).

        The code of the last variable changes fastest.
        """
        return np.indices(self.cards).reshape(len(self.cards), self.size)

    def place(self, scope: Sequence[Variable], codes: Mapping[Variable, Any]) -> Any:
        """Return the index into a flat table over `scope`, row-major, of codes by variable."""
        place: Any = 0
        for v in scope:
            assert isinstance(v, Discrete)
            place = place * v.cardinality + codes[v]
        return place


class Program:
    """A slice that hands on given variables.

    Parameters
    ----------
    network : BayesianNetwork
        The CPDs of a slice; variables of earlier slices are `Given`.
    handed : sequence of (Variable, Variable)
        A variable of this slice that is handed on, and the same as the slice before calls it.
    """

    def __init__(self, network: BayesianNetwork, handed: Sequence[tuple[Any, Any]]) -> None:
        self.network = network
        # What is handed on as this slice calls it, and as the slice before calls it, in one order;
        # `now` and `past` are those that the network has.
        self._sides = [list(side) for side in zip(*handed, strict=True)] or [[], []]
        self.now, self.past = (tuple([v for v in side if v in network]) for side in self._sides)
        # A static variable is both, and so is what is handed on twice.
        self.scope = tuple(dict.fromkeys([*self.past, *self.now]))

    def spread(self, states: States, logs: Floats, *, is_first: bool) -> Floats:
        """Return logs over `scope` as matrices of joint states, shape (n, K, K), or (n, K).

        Rows are the states that the slice before hands on, columns those that this one does; a
        first slice has columns only. Pairs of states are impossible, minus infinity, in which a
        variable of both sides differs, or one that the network lacks is not in its first state.
        """
        allowed = np.ones((1 if is_first else states.size, states.size), dtype=bool)
        # Codes of each variable of the scope, where its first side has them.
        of: dict[Variable, Any] = {}
        # By variable: columns of shape (1, K) for this slice, rows (K, 1) for the one before.
        codes = states.codes[:, None], states.codes[:, :, None]
        # A variable of both sides has the code that its first side set; one that the network lacks
        # has the code 0.
        for side, of_side in [*zip(self._sides, codes, strict=True)][: 1 if is_first else 2]:
            for v, code in zip(side, of_side, strict=True):
                allowed &= code == (of.setdefault(v, code) if v in self.scope else 0)
        place = np.broadcast_to(states.place(self.scope, of), allowed.shape)
        out = np.where(allowed, logs.reshape(len(logs), -1)[:, place], -np.inf)
        return np.asarray(out[:, 0] if is_first else out)

    def split(self, observed: Sequence[Variable]) -> Sequence[BayesianNetwork | None] | None:
        """Return the slice as a matrix and likelihoods, None if the observed depend on both slices.

        The slice is split if the observed variables are independent of earlier slices, and of all
        else that decides the variables handed on, given these variables.

        Returns
        -------
        ahead : BayesianNetwork or None
            The CPDs that give the matrix.
        behind : BayesianNetwork or None
            Those of everything observed, given the variables that are handed on.
        """
        parents = {cpd.variable: cpd.parents for cpd in self.network.cpds}
        ahead = ancestral_set(parents, self.scope)
        # Observed variables with what they depend on, up to those handed on, which are left out.
        below = ancestral_set(parents, observed, without=self.now) - {*self.now}
        if below & ahead:
            return None
        cpds = [cpd for cpd in self.network.cpds if cpd.variable in below]
        roots = {p for cpd in cpds for p in cpd.parents if p in self.now}
        behind = [*(Given(v) for v in self.now if v in roots), *cpds]
        deciding = [cpd for cpd in self.network.cpds if cpd.variable in ahead]
        return [BayesianNetwork(blocks) if blocks else None for blocks in (deciding, behind)]
