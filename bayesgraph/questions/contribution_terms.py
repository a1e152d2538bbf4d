"""Log odds of a class as sums of terms of the findings: what is compared, and the results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats
from bayesgraph.core.display import Displayed, DisplayTable, more
from bayesgraph.core.variables import Discrete, Name, State
from bayesgraph.inference import log_total

if TYPE_CHECKING:
    import pandas as pd

# --------------------------- Log odds of one class against another, or against all others together


@dataclass(frozen=True)
class Contrast:
    """A comparison of one class with another class, or with all other classes together.

    Attributes
    ----------
    target : Discrete
        The class variable.
    positive : int
        Code of the class whose log odds are computed.
    negative : int or None
        Code of the class it is compared with; None for all other classes together.
    """

    target: Discrete
    positive: int
    negative: int | None

    @classmethod
    def of(cls, target: Discrete, positive: Any = None, negative: Any = None) -> Contrast:
        """Return the contrast of the state `positive` with the state `negative`.

        For two states, the default compares the second state with the first. For more states,
        `positive` must be given, and `negative` is by default all other states together.

        Raises
        ------
        DataError
            For a target with one state, a target with more than two states without `positive`, or
            the same class given twice.
        UnknownStateError
            For a class that is not a state of the target.
        """
        n = target.cardinality
        if n < 2:
            raise errors.DataError(
                f"Log odds compare classes; {target.name!r} has only "
                f"{errors.quoted(target.states)}."
            )
        if positive is None and n > 2:
            raise errors.DataError(
                f"{target.name!r} has {n} classes: say with positive= whose log odds you want, "
                f"one of {errors.quoted(target.states)}, and with negative= against which (by "
                "default all others together)."
            )
        other = None if negative is None else target.index(negative)
        if positive is not None:
            wanted = target.index(positive)
        else:
            wanted = 1 if other is None else 1 - other
        if other is None and n == 2:
            other = 1 - wanted
        if wanted == other:
            raise errors.DataError(
                f"positive= and negative= both name {target.states[wanted]!r}; log odds compare "
                "two classes."
            )
        return cls(target, wanted, other)

    def __call__(self, log_scores: Floats) -> Floats:
        """Return the log odds, shape (...), given log scores of all classes, (..., n_classes).

        They are NaN if both the class and its alternatives have probability zero.
        """
        positive = log_scores[..., self.positive]
        with np.errstate(invalid="ignore"):
            if self.negative is not None:
                return np.asarray(positive - log_scores[..., self.negative])
            others = np.delete(log_scores, self.positive, axis=-1)
            return np.asarray(positive - log_total(others))

    def shift(self, before: Floats, step: Floats) -> Floats:
        """Return the change of the log odds if `step` is added to the log scores `before`.

        Parameters
        ----------
        before, step : ndarray, shape (..., n_classes)

        Returns
        -------
        ndarray, shape (...)
            NaN where the change is undefined. For two classes it does not depend on `before`.
        """
        if self.negative is not None:
            return self(step)
        with np.errstate(invalid="ignore"):
            return np.asarray(self(before + step) - self(before))

    def __str__(self) -> str:
        states = self.target.states
        against = "the rest" if self.negative is None else repr(states[self.negative])
        return f"{self.target.name} = {states[self.positive]!r} against {against}"


# ------ Results of explanations: the log odds of a row as a printable mapping from finding to term


_MAX_LINES, _MAX_NAMES = 40, 20


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
            raise errors.unknown_variable(name, self._by_name, where=where) from None

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
        pandas = errors.optional_module("pandas", extra="pandas", what="Contributions.to_frame")
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


@dataclass(frozen=True, eq=False, repr=False)
class RowContributions(Displayed):
    """The log odds of a class in many rows, as sums of one term for each finding, in nats.

    It prints as the mean size of the terms of each feature.

    Attributes
    ----------
    contrast : Contrast
        The compared classes.
    prior : float
        Log odds with nothing observed.
    names : tuple of names
        The columns of `terms`: features (items of a vector of counts) in the order in which
        `contributions` has them.
    terms : ndarray, shape (n_rows, n_names)
        The term of each finding; 0 where a feature is missing. Rows that are impossible under both
        compared classes have NaN.
    total : ndarray, shape (n_rows,)
        The log odds: the sum of the prior and the terms.
    """

    contrast: Contrast
    prior: float
    names: tuple[Name, ...]
    terms: Floats
    total: Floats

    @property
    def probability(self) -> Floats:
        """Probability of the positive class if only compared classes exist, shape (n_rows,)."""
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * self.total)))

    @property
    def mean_sizes(self) -> Floats:
        """Mean of the terms' absolute values over the rows, shape (n_names,); NaN for no rows."""
        if not len(self.terms):
            return np.full(len(self.names), np.nan)
        possible = self.terms[~np.isnan(self.total)]
        return np.asarray(np.abs(possible).sum(axis=0) / max(len(possible), 1))

    def to_frame(self, index: ArrayLike | None = None) -> pd.DataFrame:
        """Return the terms as a pandas DataFrame, one row for each row and a column by name.

        Parameters
        ----------
        index : array_like, shape (n_rows,), optional
            What identifies the rows, such as a column of numbers of patients; by default their
            numbers from 0 on.
        """
        pandas = errors.optional_module("pandas", extra="pandas", what="RowContributions.to_frame")
        if index is not None and np.shape(index)[:1] != (len(self),):
            raise errors.DataError(
                f"index= identifies each of {len(self):,} rows; got values of shape "
                f"{np.shape(index)}."
            )
        columns = pandas.Index(list(self.names), tupleize_cols=False)
        frame: pd.DataFrame = pandas.DataFrame(self.terms, columns=columns, index=index)
        return frame

    def __len__(self) -> int:
        return len(self.terms)

    def _display(self) -> DisplayTable:
        sizes = self.mean_sizes
        order = np.argsort(-sizes, kind="stable").tolist()
        shown = order[:_MAX_NAMES]
        finite = sizes[np.isfinite(sizes)]
        longest = float(finite.max(initial=0.0)) or 1.0
        return DisplayTable(
            f"Contributions of {len(self):,} rows to the log odds of {self.contrast}",
            [(str(self.names[i]), f"{sizes[i]:.4f}") for i in shown],
            header=("feature", "mean size"),
            bars=[min(1.0, float(np.nan_to_num(sizes[i])) / longest) for i in shown],
            note=more(len(order), len(shown), "features"),
        )
