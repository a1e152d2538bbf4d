"""How far a posterior probability moves with single parameters, or with single findings.

A probability of a table is raised and lowered, and the others of its distribution change in
proportion, which moves the joint distribution least (Chan and Darwiche 2005). The posterior is
asked for at both ends: it is a monotone function, a ratio of two linear ones, of a probability
(Castillo, Gutierrez and Hadi 1997), so that these are its extremes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from bayesgraph.core.arrays import whole_number
from bayesgraph.core.display import Displayed, DisplayTable, more, rounded
from bayesgraph.core.errors import DataError, UnsupportedModelError
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.variables import Discrete, Name, State, ancestral_set
from bayesgraph.inference import Sensitivity, normalised
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
    scorer = Scorer.of(model, target, evidence, Rules.of(model, n_values=_VALUES))
    bars = []
    for j, choice in enumerate(scorer.choices):
        changes = np.zeros((len(choice.options), len(scorer.choices)), dtype=np.intp)
        changes[:, j] = np.arange(len(choice.options))
        scores = scorer(changes)
        possible = np.flatnonzero(scores.max(axis=1) > -np.inf)
        values = [choice.options[i].value for i in possible.tolist()]
        shares = normalised(scores[possible])[:, code]
        bars.append(_bar(str(choice.variable.name), shares, values, choice.old.value))
    return bars


def _bar(name: str, shares: Any, values: Sequence[Any], now: Any) -> Bar:
    """Return the bar of values at which a state has these probabilities."""
    low, high = int(np.argmin(shares)), int(np.argmax(shares))
    return Bar(name, float(shares[low]), float(shares[high]), values[low], values[high], now)


# ------------------------------------------------------------------------------- parameters


@dataclass(frozen=True, eq=False)
class _Parameter:
    """A parameter of a CPD.

    Attributes
    ----------
    cpd : TableCPD or GaussianCPD
    array : str
        The array of the CPD.
    index : tuple of int
        Its place in the array.
    now : float
    ends : (float, float)
        Values to which it is lowered and raised.
    place : tuple of int
        That of the network among ensembles.
    number : int
        That of the network.
    """

    cpd: TableCPD | GaussianCPD
    array: str
    index: tuple[int, ...]
    now: float
    ends: tuple[float, float]
    place: tuple[int, ...]
    number: int

    @property
    def name(self) -> str:
        """Text that tells the parameter from all others of its network."""
        cpd, child = self.cpd, self.cpd.variable.name
        states = [
            f"{v.name}={texts(v.states, _LONGEST_STATE)[code]}"
            for v, code in zip((*cpd.discrete_parents, cpd.variable), self.index, strict=False)
            if isinstance(v, Discrete)
        ]
        if isinstance(cpd, TableCPD):
            child = states.pop()
        where = f"{child} | {', '.join(states)}" if states else str(child)
        if isinstance(cpd, TableCPD):
            return f"P({where})"
        if self.array == "coefficients":
            return f"slope of {where} on {cpd.continuous_parents[self.index[-1]].name}"
        what = "intercept" if self.array == "mean" and cpd.continuous_parents else self.array
        return f"{what} of {where}"

    def at(self, value: float) -> CPD:
        """Return the CPD with another value of the parameter.

        Other probabilities of its distribution change in proportion.
        """
        numbers = {name: array.copy() for name, array in self.cpd.to_arrays().items()}
        array = numbers[self.array]
        if isinstance(self.cpd, TableCPD):
            array[self.index[:-1]] *= (1.0 - value) / (1.0 - self.now)
        array[self.index] = value
        return self.cpd.from_arrays((self.cpd.variable,), self.cpd.parents, numbers)

    def width(self, slopes: Sensitivity) -> float:
        """Return by how much a posterior moves with the parameter, to first order."""
        name = self.cpd.variable.name
        key = (*self.place, name) if self.place else name
        if isinstance(self.cpd, TableCPD):
            table = slopes.covaried.get(key)
        else:
            table = getattr(slopes.gaussians.get(key), self.array, None)
        slope = 0.0 if table is None else float(table[self.index])
        return abs(slope) * (self.ends[1] - self.ends[0])


def _by_parameters(
    model: Model, target: Discrete, code: int, evidence: EvidenceLike, spread: float, n: int
) -> tuple[list[Bar], str]:
    if not model.networks:
        raise UnsupportedModelError(
            f"{type(model).__name__} has factors, not distributions, so that there are no "
            "probabilities to vary: see sensitivity, or by='findings'."
        )
    parameters: list[_Parameter] = []
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
                    varied = _varied(cpd, spread)
                    parameters += [_Parameter(cpd, *one, place, number) for one in varied]
                else:
                    others += 1
    if not parameters:
        raise UnsupportedModelError(
            f"No table and no Gaussian bears on {target.name!r}: there is no parameter to vary. "
            "by='findings' varies the findings."
        )
    remarks = [f"{others} distributions of other kinds were not varied."] if others else []
    total, kept = len(parameters), max(4 * n, _MANY_ENTRIES)
    if total > kept:
        with suppress(UnsupportedModelError):  # a model without derivatives
            slopes = model._sensitivity(target.name, target.states[code], evidence)
            parameters = sorted(parameters, key=lambda one: -one.width(slopes))[:kept]
            remarks.append(
                f"Of {total:,} parameters, the {kept} of the largest derivatives were varied."
            )
    if len(parameters) > _MAX_PARAMETERS:
        raise UnsupportedModelError(
            f"{total:,} parameters bear on {target.name!r}, more than {_MAX_PARAMETERS:,}, and "
            f"this {type(model).__name__} has no derivatives by which to choose: observe more, or "
            "vary the findings (by='findings')."
        )
    bars = []
    for one in parameters:
        answers = [
            _with_cpd(model, one.number, one.at(end)).query(target.name, evidence)
            for end in one.ends
        ]
        shares = [float(answer.probabilities[code]) for answer in answers]
        which = ", ".join(f"network {i}" for i in one.place) if len(model.networks) > 1 else ""
        bars.append(_bar(f"{one.name} ({which})" if which else one.name, shares, one.ends, one.now))
    return bars, " ".join(remarks)


def _with_cpd(model: Model, number: int, cpd: CPD) -> Model:
    """Return the model with another CPD of a variable in the network with this number."""
    place = count()

    def change(network: BayesianNetwork) -> BayesianNetwork:
        if next(place) != number:
            return network
        cpds = [cpd if other.variable == cpd.variable else other for other in network.cpds]
        return BayesianNetwork(cpds, order=network.variables)

    return map_networks(model, change)


def _relevant(network: BayesianNetwork, target: Discrete, evidence: EvidenceLike) -> set[Any]:
    above = {cpd.variable: cpd.parents for cpd in network.cpds}
    names = {target.name, *as_mapping(evidence)}
    return ancestral_set(above, [v for v in network.variables if v.name in names])


def _varied(
    cpd: TableCPD | GaussianCPD, spread: float
) -> Iterator[tuple[str, tuple[int, ...], float, tuple[float, float]]]:
    """Yield array, index, value and ends of each parameter of a CPD."""
    if isinstance(cpd, TableCPD):
        for index, share in np.ndenumerate(cpd.values):
            # Of two states one moves with the other; zeros and ones are logical, not estimated.
            if 0 < share < 1 and (cpd.variable.cardinality != 2 or index[-1]):
                now = float(share)
                yield "values", index, now, (now * (1.0 - spread), min(now * (1.0 + spread), 1.0))
        return
    for index in np.ndindex(cpd.mean.shape):
        mean, sd = float(cpd.mean[index]), math.sqrt(float(cpd.variance[index]))
        yield "mean", index, mean, (mean - spread * sd, mean + spread * sd)
        yield "variance", index, sd**2, ((sd * (1.0 - spread)) ** 2, (sd * (1.0 + spread)) ** 2)
        for i, slope in enumerate(cpd.coefficients[index].tolist()):
            by = spread * abs(slope)
            yield "coefficients", (*index, i), slope, (slope - by, slope + by)
