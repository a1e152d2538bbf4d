"""How far a posterior probability moves with single parameters, or with single findings.

A probability of a table is raised and lowered, and the others of its distribution change in
proportion, which moves the joint distribution least (Chan and Darwiche 2005). The posterior is
asked for at both ends: it is a monotone function, a ratio of two linear ones, of a probability
(Castillo, Gutierrez and Hadi 1997), so that these are its extremes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import whole_number
from bayesgraph.core.display import Displayed, DisplayTable, more, rounded
from bayesgraph.core.errors import DataError, UnsupportedModelError
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.variables import Discrete, Name, State, ancestral_set
from bayesgraph.inference import Sensitivity
from bayesgraph.models import (
    CPD,
    BayesianNetwork,
    GaussianCPD,
    Model,
    TableCPD,
    as_mapping,
    map_networks,
    networks_in,
    texts,
)
from bayesgraph.questions.estimators import discrete_target, question
from bayesgraph.questions.flips import Rules, Scorer

_VALUES = 17
# Maximum number of parameters that are varied where there are no derivatives to choose by.
_MAX_PARAMETERS = 1000
_MANY_ENTRIES = 50
_LONGEST_STATE = 40
_KINDS = ("parameters", "findings")


@dataclass(frozen=True)
class Bar:
    """One bar of a tornado chart.

    Attributes
    ----------
    name : str
        The parameter, such as ``P(wet=yes | rain=no)``, or the finding.
    low, high : float
        Least and largest posterior probability.
    at_low, at_high : value of the parameter or the finding there
    now : value that it has
    """

    name: str
    low: float
    high: float
    at_low: Any
    at_high: Any
    now: Any

    @property
    def width(self) -> float:
        """The difference of the two probabilities."""
        return self.high - self.low


@dataclass(frozen=True, eq=False, repr=False)
class Tornado(Displayed):
    """How far P(target = state | evidence) moves with single parameters or findings.

    Attributes
    ----------
    target, state
        Name of the variable, and its state.
    posterior : float
    bars : tuple of Bar
        The widest first.
    by : str
        "parameters" or "findings".
    n_varied : int
        Number of parameters or findings that were varied.
    remark : str
        What was not varied, and why.
    """

    target: Name
    state: State
    posterior: float
    bars: tuple[Bar, ...]
    by: str
    n_varied: int
    remark: str = ""

    def _display(self) -> DisplayTable:
        widest = max((bar.width for bar in self.bars), default=0.0) or 1.0
        rows = [
            (bar.name, f"{bar.low:.4f}", f"{bar.high:.4f}", _shown(bar.at_low), _shown(bar.at_high))
            for bar in self.bars
        ]
        notes = [more(self.n_varied, len(self.bars), self.by), self.remark]
        return DisplayTable(
            f"P({self.target}={self.state} | evidence) = {self.posterior:.4f} moves with {self.by}",
            rows,
            header=("", "lowest", "highest", "at", "at") if rows else (),
            bars=[bar.width / widest for bar in self.bars],
            note="\n".join(filter(None, notes)),
        )


def _shown(value: Any) -> str:
    return rounded(value) if isinstance(value, float) else str(value)


@question()
def tornado(
    model: Model,
    target: Name | None = None,
    state: State | None = None,
    evidence: EvidenceLike = None,
    *,
    by: str = "parameters",
    spread: float = 0.1,
    n: int = 12,
) -> Tornado:
    """Return how far a posterior probability moves with single parameters or findings.

    Parameters
    ----------
    model : model or fitted estimator
    target : name, optional
        By default the class of the estimator.
    state : a state of the target, optional
        By default the second of two states, as in `contributions`, and of more the most probable.
    evidence : mapping from name to value, optional
        As in `query`.
    by : {"parameters", "findings"}
        * "parameters": each probability of a table, and each intercept, slope and standard
          deviation of a Gaussian, is varied on its own; other probabilities of the same
          distribution change in proportion. Of many parameters, those with the largest derivatives
          are varied, of models that have derivatives (see `sensitivity`).
        * "findings": each finding takes each of its states, or 17 numbers of its range; soft
          evidence and intervals of numbers stay.
    spread : float
        By which share a parameter is raised and lowered; means are moved by this share of the
        standard deviation.
    n : int
        Maximum number of bars.

    Returns
    -------
    Tornado
        `bayesgraph.plot` draws it.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence has probability zero.
    UnsupportedModelError
        For parameters of a model without tables or Gaussians of its own, and for more than 1,000
        of a model without derivatives.
    """
    variable = discrete_target(model, target, "A tornado is of the probability of a")
    if by not in _KINDS:
        raise DataError(f"by= is one of {', '.join(map(repr, _KINDS))}; got {by!r}.")
    if not 0 < spread < 1:
        raise DataError(f"spread is a share between 0 and 1; got {spread!r}.")
    n = whole_number("n", "bars", n, 1)
    posterior = model.query(target, evidence)
    if state is None:
        state = variable.states[1] if variable.cardinality == 2 else posterior.argmax
    code = variable.index(state)
    now = float(posterior.probabilities[code])
    remark = ""
    if by == "findings":
        bars = _by_findings(model, variable, code, evidence, now)
        remark = "" if bars else "There are no findings to vary."
    else:
        bars, remark = _by_parameters(model, variable, code, evidence, spread, n)
    bars.sort(key=lambda bar: -bar.width)
    return Tornado(
        variable.name, variable.states[code], now, tuple(bars[:n]), by, len(bars), remark
    )


# --------------------------------------------------------------------------------- findings


def _by_findings(
    model: Model, target: Discrete, code: int, evidence: EvidenceLike, now: float
) -> list[Bar]:
    rules = Rules.of(model, n_values=_VALUES)
    scorer = Scorer.of(model, target, evidence, rules)
    bars = []
    for j, choice in enumerate(scorer.choices):
        changes = np.zeros((len(choice.options), len(scorer.choices)), dtype=np.intp)
        changes[:, j] = np.arange(len(choice.options))
        scores = scorer(changes)
        possible = np.flatnonzero(scores.max(axis=1) > -np.inf)
        shares = scores[possible] - scores[possible].max(axis=1, keepdims=True)
        found = np.exp(shares[:, code]) / np.exp(shares).sum(axis=1)
        low, high = int(np.argmin(found)), int(np.argmax(found))
        values = [choice.options[i].value for i in possible.tolist()]
        name, ends = str(choice.variable.name), (float(found[low]), float(found[high]))
        bars.append(Bar(name, *ends, values[low], values[high], choice.old.value))
    return bars


# ------------------------------------------------------------------------------- parameters


@dataclass(frozen=True, eq=False)
class _Parameter:
    """A parameter of a CPD.

    Attributes
    ----------
    cpd : TableCPD or GaussianCPD
    array : str
        The array of a Gaussian; empty for a table.
    index : tuple of int
        Its place in the table or in the array.
    now : float
    ends : (float, float)
        Values to which it is lowered and raised.
    """

    cpd: TableCPD | GaussianCPD
    array: str
    index: tuple[int, ...]
    now: float
    ends: tuple[float, float]

    @property
    def name(self) -> str:
        """Text that tells the parameter from all others of its network."""
        cpd, index = self.cpd, self.index
        if isinstance(cpd, TableCPD):
            return _entry(cpd.scope, index)
        states = zip(cpd.discrete_parents, index, strict=False)
        given = ", ".join(f"{v.name}={_state(v, code)}" for v, code in states)
        where = f"{cpd.variable.name} | {given}" if given else str(cpd.variable.name)
        if self.array == "coefficients":
            return f"slope of {where} on {cpd.continuous_parents[index[-1]].name}"
        what = "intercept" if self.array == "mean" and cpd.continuous_parents else self.array
        return f"{what} of {where}"

    def at(self, value: float) -> CPD:
        """Return the CPD with another value of the parameter."""
        if isinstance(self.cpd, TableCPD):
            return _with_probability(self.cpd, self.index, value)
        numbers: Mapping[str, NDArray[Any]] = {k: v.copy() for k, v in self.cpd.to_arrays().items()}
        numbers[self.array][self.index] = value
        return GaussianCPD(self.cpd.variable, parents=self.cpd.parents, **numbers)


def _by_parameters(
    model: Model, target: Discrete, code: int, evidence: EvidenceLike, spread: float, n: int
) -> tuple[list[Bar], str]:
    if not model.networks:
        raise UnsupportedModelError(
            f"{type(model).__name__} has factors, not distributions, so that there are no "
            "probabilities to vary: see sensitivity, or by='findings'."
        )
    found: list[tuple[_Parameter, tuple[int, ...], int]] = []
    others = 0
    for number, (place, network) in enumerate(networks_in(model)):
        relevant = _relevant(network, target, evidence)
        if not place:
            # The same posterior from fewer tables.
            network = network._restricted(relevant)
            model = network
        for cpd in network.cpds:
            if cpd.variable in relevant:
                if isinstance(cpd, (TableCPD, GaussianCPD)):
                    found += [(parameter, place, number) for parameter in _parameters(cpd, spread)]
                else:
                    others += 1
    if not found:
        raise UnsupportedModelError(
            f"No table and no Gaussian bears on {target.name!r}: there is no parameter to vary. "
            "by='findings' varies the findings."
        )
    remarks = [f"{others} distributions of other kinds were not varied."] if others else []
    total, kept = len(found), max(4 * n, _MANY_ENTRIES)
    if total > kept:
        slopes = _slopes(model, target, code, evidence)
        if slopes is not None:
            found.sort(key=lambda item: -_width(item[0], item[1], slopes))
            found = found[:kept]
            remarks.append(
                f"Of {total:,} parameters, the {kept} of the largest derivatives were varied."
            )
    if len(found) > _MAX_PARAMETERS:
        raise UnsupportedModelError(
            f"{total:,} parameters bear on {target.name!r}, more than {_MAX_PARAMETERS:,}, and "
            f"this {type(model).__name__} has no derivatives by which to choose: observe more, or "
            "vary the findings (by='findings')."
        )
    bars = []
    for parameter, place, number in found:
        answers = [
            _with_cpd(model, number, parameter.at(end)).query(target.name, evidence)
            for end in parameter.ends
        ]
        shares = [float(answer.probabilities[code]) for answer in answers]
        (low, at_low), (high, at_high) = sorted(zip(shares, parameter.ends, strict=True))
        which = ", ".join(f"network {i}" for i in place) if len(model.networks) > 1 else ""
        name = f"{parameter.name} ({which})" if which else parameter.name
        bars.append(Bar(name, low, high, at_low, at_high, parameter.now))
    return bars, " ".join(remarks)


def _with_cpd(model: Model, number: int, cpd: CPD) -> Model:
    """Return the model with another CPD of a variable in the network with this number."""
    place = count()

    def change(network: BayesianNetwork) -> BayesianNetwork:
        if next(place) != number:
            return network
        cpds = [cpd if own.variable == cpd.variable else own for own in network.cpds]
        return BayesianNetwork(cpds, order=network.variables)

    return map_networks(model, change)


def _slopes(
    model: Model, target: Discrete, code: int, evidence: EvidenceLike
) -> Sensitivity | None:
    """Return the derivatives of the posterior; None if the model has none."""
    try:
        return model._sensitivity(target.name, target.states[code], evidence)
    except UnsupportedModelError:
        return None


def _width(parameter: _Parameter, place: tuple[int, ...], slopes: Sensitivity) -> float:
    """Return by how much a posterior moves with a parameter, to first order."""
    name = parameter.cpd.variable.name
    key = (*place, name) if place else name
    if parameter.array:
        gaussian = slopes.gaussians.get(key)
        table = None if gaussian is None else getattr(gaussian, parameter.array)
    else:
        table = slopes.covaried.get(key)
    slope = 0.0 if table is None else float(table[parameter.index])
    return abs(slope) * (parameter.ends[1] - parameter.ends[0])


def _relevant(network: BayesianNetwork, target: Discrete, evidence: EvidenceLike) -> set[Any]:
    above = {cpd.variable: cpd.parents for cpd in network.cpds}
    known = [v for v in network.variables if v.name in as_mapping(evidence)]
    own = [network.variable(target.name)] if target.name in network else []
    return ancestral_set(above, [*own, *known])


def _parameters(cpd: TableCPD | GaussianCPD, spread: float) -> Iterator[_Parameter]:
    if isinstance(cpd, GaussianCPD):
        yield from _of_gaussian(cpd, spread)
        return
    shares = cpd.values
    n = shares.shape[-1]
    for index in np.ndindex(shares.shape):
        now = float(shares[index])
        # Of two states one moves with the other; zeros and ones are logical, not estimated.
        if not 0 < now < 1 or (n == 2 and index[-1] == 0):
            continue
        ends = now * (1.0 - spread), min(now * (1.0 + spread), 1.0)
        yield _Parameter(cpd, "", index, now, ends)


def _with_probability(cpd: TableCPD, index: tuple[int, ...], value: float) -> TableCPD:
    """Return a table in which one probability has another value, others change in proportion."""
    table = cpd.values.copy()
    row = table[index[:-1]]
    row *= (1.0 - value) / (1.0 - row[index[-1]])
    row[index[-1]] = value
    return TableCPD(cpd.variable, table, cpd.parents)


def _entry(scope: Sequence[Any], index: Sequence[int]) -> str:
    parts = [f"{v.name}={_state(v, code)}" for v, code in zip(scope, index, strict=True)]
    given = f" | {', '.join(parts[:-1])}" if len(parts) > 1 else ""
    return f"P({parts[-1]}{given})"


def _state(variable: Discrete, code: int) -> str:
    """Return a state as text that no other state of the variable has."""
    return texts(variable.states, _LONGEST_STATE)[code]


def _of_gaussian(cpd: GaussianCPD, spread: float) -> Iterator[_Parameter]:
    for index in np.ndindex(cpd.mean.shape):
        mean, sd = float(cpd.mean[index]), math.sqrt(float(cpd.variance[index]))
        yield _Parameter(cpd, "mean", index, mean, (mean - spread * sd, mean + spread * sd))
        ends = (sd * (1.0 - spread)) ** 2, (sd * (1.0 + spread)) ** 2
        yield _Parameter(cpd, "variance", index, sd**2, ends)
        for i in range(len(cpd.continuous_parents)):
            slope = float(cpd.coefficients[(*index, i)])
            by = spread * abs(slope)
            yield _Parameter(cpd, "coefficients", (*index, i), slope, (slope - by, slope + by))
