"""What is asked for: the target, the questions that may be asked, their prices, and the measure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from bayesgraph.asking.worth import Stakes
from bayesgraph.errors import DataError, EvidenceError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import Joint
from bayesgraph.inference.solver import refused
from bayesgraph.models.model import Model
from bayesgraph.variables import Discrete, Name

MEASURES = ("information", "accuracy", "utility")
# Worths below this are rounding errors.
NOTHING = 1e-12


class Options(TypedDict, total=False):
    """Options of the terms, as the parameters of `next_question`."""

    costs: Mapping[Name, float] | None
    among: Iterable[Name] | None
    by: str | None
    losses: Any
    abstain: float | None
    least: float | None


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms on which questions are ranked.

    Attributes
    ----------
    target : int
        Index of the target.
    candidates : tuple of int
        Indices of the variables that may be asked for.
    prices : mapping from int to float
        Price of each candidate.
    by : {"information", "accuracy", "utility"}
    stakes : Stakes
    least : float
        Worth per price above which a question is worth asking.
    is_priced : bool
        Whether prices were given.
    is_chosen : bool
        Whether the candidates were named, so that none is left out silently.
    """

    target: int
    candidates: tuple[int, ...]
    prices: Mapping[int, float]
    by: str
    stakes: Stakes
    least: float
    is_priced: bool
    is_chosen: bool

    @classmethod
    def of(
        cls,
        model: Model,
        target: Name,
        *,
        costs: Mapping[Name, float] | None = None,
        among: Iterable[Name] | None = None,
        by: str | None = None,
        losses: Any = None,
        abstain: float | None = None,
        least: float | None = None,
    ) -> Terms:
        """Return the terms for the arguments of `next_question`."""
        if not model.answers(Joint):
            raise refused(model, Joint)
        variable = model.variable(target)
        if not isinstance(variable, Discrete):
            raise EvidenceError(
                f"Questions are ranked for a discrete target; {variable.name!r} is not. Cut it "
                "into intervals, by a discretiser, to ask about it."
            )
        number = model.number[variable.name]
        prices = None if costs is None else _prices(model, costs)
        chosen = _chosen(model, number, among, prices)
        by, stakes = _measure(variable, by, losses, abstain)
        usual = 1.0 if by == "utility" and prices is not None else 0.0
        limit = usual if least is None else checked_number("least=", least)
        known = dict.fromkeys(chosen, 1.0) if prices is None else prices
        is_chosen = among is not None or prices is not None
        return cls(number, chosen, known, by, stakes, limit, prices is not None, is_chosen)

    def without(self, numbers: Collection[int]) -> Terms:
        """Return the terms without some of the candidates."""
        return replace(self, candidates=tuple(v for v in self.candidates if v not in numbers))

    def within(self, budget: float) -> Terms:
        """Return the terms with the candidates that cost at most a budget."""
        cheap = tuple(v for v in self.candidates if self.prices[v] <= budget + NOTHING)
        return replace(self, candidates=cheap)

    def prices_of(self, numbers: Sequence[int]) -> Floats:
        """Return the prices of candidates as an array."""
        if not self.is_priced:
            return np.ones(len(numbers))
        return np.array([self.prices[v] for v in numbers])

    def values(self, information: Floats, gain: Floats) -> Floats:
        """Return the measure that ranks the questions."""
        return information if self.by == "information" else gain

    def scores(self, values: Floats, prices: Floats) -> Floats:
        """Return values per price; what has a value and no price has an infinite score."""
        if not self.is_priced:
            return values
        free = np.where(values > NOTHING, np.inf, 0.0)
        return np.divide(values, prices, out=free, where=prices > 0)

    def ordered(self, scores: Floats) -> NDArray[np.intp]:
        """Return the places of scores from the highest on, ties in the order of the candidates."""
        return np.argsort(-scores.round(12), kind="stable")

    def is_worth_it(self, score: float) -> bool:
        """Tell whether a question with this score is worth asking."""
        return score > self.least + NOTHING


def checked_number(what: str, value: Any) -> float:
    """Return a number that is finite and not negative, or raise a DataError."""
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, bool) or not is_number or not 0 <= value < np.inf:
        raise DataError(f"{what} is a finite number, 0 or more; got {value!r}.")
    return float(value)


def _prices(model: Model, costs: Any) -> dict[int, float]:
    if not isinstance(costs, Mapping):
        raise DataError(
            "costs= maps variables that may be asked for to their prices, such as {'xray': 20}; "
            f"got {costs!r:.80}."
        )
    return {
        model.number[model.variable(name).name]: checked_number(f"The price of {name!r}", price)
        for name, price in costs.items()
    }


def _chosen(
    model: Model, target: int, among: Any, prices: Mapping[int, float] | None
) -> tuple[int, ...]:
    """Return the candidates: those that are named, or that have a price, or all variables.

    Whether a value is missing is no question, unless it is named.
    """
    if among is None:
        indicators = {i for _, i in model.indicators}
        named = set(range(len(model.variables))) - indicators if prices is None else prices
        found = sorted(v for v in named if v != target)
        if prices and not found:
            name = model.variables[target].name
            raise EvidenceError(
                f"costs= has a price of {name!r} alone, the target, which cannot be asked for; "
                "give prices of other variables."
            )
        return tuple(found)
    if isinstance(among, (str, bytes)) or not isinstance(among, Iterable):
        raise EvidenceError(f"among= is a list of names of variables; got {among!r:.80}.")
    found = sorted({model.number[model.variable(name).name] for name in among})
    if target in found:
        raise EvidenceError(
            f"{model.variables[target].name!r} is the target, and cannot be asked for; leave it "
            "out of among=."
        )
    without = [model.variables[v].name for v in found if prices is not None and v not in prices]
    if without:
        raise DataError(f"costs= has no price of {quoted(without)}, named in among=.")
    return tuple(found)


def _measure(target: Discrete, by: Any, losses: Any, abstain: Any) -> tuple[str, Stakes]:
    is_decided = losses is not None or abstain is not None
    measure = ("utility" if is_decided else "information") if by is None else by
    if measure not in MEASURES:
        raise DataError(f"by= is one of {quoted(MEASURES)}; got {by!r}.")
    if measure == "utility" and not is_decided:
        raise DataError("by='utility' takes losses=, the costs of decisions, or abstain=.")
    if measure == "accuracy" and is_decided:
        raise DataError(
            "by='accuracy' counts every mistake as 1; leave out losses= and abstain=, or rank by "
            "'utility'."
        )
    return measure, Stakes.of(target, losses, abstain)
