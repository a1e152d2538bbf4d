"""Results of explanations: the log odds of a row as a printable mapping from finding to term."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bayesgraph.display import Displayed, DisplayTable
from bayesgraph.errors import unknown_variable
from bayesgraph.explain.contrast import Contrast
from bayesgraph.factors.algebra import Floats
from bayesgraph.optional import optional_module
from bayesgraph.variables import Discrete, Name, State

if TYPE_CHECKING:
    import pandas as pd

_MAX_LINES = 40


@dataclass(frozen=True, eq=False)
class Contribution:
    """The term of one observed feature x_i in the log odds, in nats.

    Attributes
    ----------
    name : name
        Name of the feature; in a factor graph, name of the factor's term.
    value : state or number
        The observed value; a tuple for a factor over several features.
    log_odds : float
        The term: the log of the ratio of P(x_i | earlier findings, class) between the compared
        classes. Earlier findings are the features observed before x_i in topological order.
    alone : float
        The term if nothing else were observed: the log of the ratio of P(x_i | class).
    arcs : mapping from name to float
        For each observed parent, in order, the change of the term when this parent is observed in
        addition to x_i and the parents before it, starting from `alone`.
    log_likelihoods : ndarray, shape (n_classes,)
        log P(x_i | earlier findings, class); NaN for a class that earlier findings rule out.
    """

    name: Name
    value: Any
    log_odds: float
    alone: float
    arcs: Mapping[Name, float]
    log_likelihoods: Floats

    @property
    def beyond(self) -> float:
        """The part of the term not due to observed parents: the term minus `alone` minus `arcs`.

        It is the effect of earlier findings that act through unobserved variables, and zero if all
        parents are observed and two classes are compared. If a class is compared with all other
        classes together, earlier findings also change the relative probabilities of the others. The
        value is NaN if the term, `alone` or one of `arcs` is infinite.
        """
        return self.log_odds - (self.alone + sum(self.arcs.values()))


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(Displayed, Mapping[Name, float]):
    """The log odds of a class as a sum: a mapping from observed feature to its term, in nats.

    Attributes
    ----------
    contrast : Contrast
        The compared classes.
    prior : float
        Log odds with nothing observed.
    terms : tuple of Contribution
        Terms in topological order, each given the earlier findings.
    log_scores : ndarray, shape (n_classes,)
        log P(class, observed features) of every class; for a factor graph, log of the product.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> spam = bg.Discrete("spam", ["no", "yes"])
    >>> free, name = bg.Discrete("free", ["no", "yes"]), bg.Discrete("name", ["no", "yes"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(spam, [0.75, 0.25]),
    ...     bg.TableCPD(free, [[0.9, 0.1], [0.4, 0.6]], parents=[spam]),
    ...     bg.TableCPD(name, [[0.2, 0.8], [0.5, 0.5]], parents=[spam]),
    ... ])
    >>> net.contributions("spam", {"free": "yes", "name": "yes"})
    Log odds of spam = 'yes' against 'no'
      prior         −1.0986  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
      free = 'yes'  +1.7918  ████████████████████████
      name = 'yes'  −0.4700  ▒▒▒▒▒▒
      total         +0.2231
      probability 0.5556
    """

    contrast: Contrast
    prior: float
    terms: tuple[Contribution, ...]
    log_scores: Floats

    @cached_property
    def _by_name(self) -> dict[Name, Contribution]:
        return {term.name: term for term in self.terms}

    @property
    def target(self) -> Discrete:
        """The class variable."""
        return self.contrast.target

    @property
    def positive(self) -> State:
        """The class in the numerator of the odds."""
        return self.target.states[self.contrast.positive]

    @property
    def negative(self) -> State | None:
        """The class in the denominator; None for all other classes together."""
        code = self.contrast.negative
        return None if code is None else self.target.states[code]

    @property
    def total(self) -> float:
        """The log odds, the sum of the prior and all terms, in nats."""
        return float(self.contrast(self.log_scores))

    @property
    def probability(self) -> float:
        """Probability of the positive class given the findings, if only compared classes exist."""
        return 0.5 * (1.0 + math.tanh(0.5 * self.total))

    def term(self, name: Name) -> Contribution:
        """Return the `Contribution` of one observed feature to the log odds.

        Raises
        ------
        UnknownVariableError
            If no observed feature has that name.
        """
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            where = "The mapping from observed features to contributions"
            raise unknown_variable(name, self._by_name, where=where) from None

    def sorted_terms(self) -> list[Contribution]:
        """Return the terms by decreasing magnitude, ties in topological order."""
        return sorted(self.terms, key=lambda term: -abs(term.log_odds))

    def __getitem__(self, name: Name) -> float:
        return self.term(name).log_odds

    def __iter__(self) -> Iterator[Name]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self.terms)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the terms as a dict of columns: one row per term, by decreasing magnitude.

        The columns are ``feature``, ``value``, ``log_odds`` (the term), ``alone`` and ``arcs`` (the
        change of ``alone`` by all observed parents).
        """
        terms = self.sorted_terms()
        return {
            "feature": [term.name for term in terms],
            **{n: [getattr(term, n) for term in terms] for n in ("value", "log_odds", "alone")},
            "arcs": [float(sum(term.arcs.values())) for term in terms],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the terms as a pandas DataFrame with the columns of `to_columns`."""
        pandas = optional_module("pandas", extra="pandas", what="Contributions.to_frame")
        frame: pd.DataFrame = pandas.DataFrame(self.to_columns())
        return frame

    def _display(self) -> DisplayTable:
        terms = self.sorted_terms()
        shown = terms if len(terms) <= _MAX_LINES else terms[: _MAX_LINES - 1]
        rows = [("prior", self.prior)]
        rows += [(f"{term.name} = {term.value!r}", term.log_odds) for term in shown]
        if rest := terms[len(shown) :]:
            rows.append((f"... {len(rest)} more", sum(term.log_odds for term in rest)))
        longest = max((abs(value) for _, value in rows if math.isfinite(value)), default=0.0) or 1.0
        shares = [max(-1.0, min(1.0, value / longest)) for _, value in rows]
        return DisplayTable(
            f"Log odds of {self.contrast}",
            [(label, signed(value)) for label, value in [*rows, ("total", self.total)]],
            bars=[*shares, 0.0],
            note=f"probability {self.probability:.4f}",
        )


def signed(value: float, decimals: int = 4) -> str:
    """Return a number as text with its sign, "+" or the Unicode minus (U+2212)."""
    size = "∞" if math.isinf(value) else f"{abs(value):.{decimals}f}"
    return ("−" if value < 0 else "+") + size
