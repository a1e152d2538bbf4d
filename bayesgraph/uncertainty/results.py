"""Credible intervals of posteriors, which print as tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.display import Displayed, DisplayTable, more, rounded
from bayesgraph.errors import EvidenceError, quoted, unknown_variable
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Discrete, Name, State, Variable

_MAX_LINES = 40
# What is estimated of the posterior of a continuous variable.
MOMENTS = ("mean", "sd")


class Interval(NamedTuple):
    """A credible interval of one number.

    Attributes
    ----------
    estimate : float
        The answer of the fitted model.
    low, high : float
        Ends of the interval: as much probability is below it as above.
    sd : float
        Standard deviation of the number over the posterior of the parameters.
    """

    estimate: float
    low: float
    high: float
    sd: float


class Source(NamedTuple):
    """A distribution on which a posterior rests: that of a variable given states of its parents.

    Attributes
    ----------
    name : name
    given : mapping from name of a parent to its state
    rows : float
        Rows with these states from which the distribution was estimated.
    share : float
        Its share of the variance of the posterior, all states together.
    """

    name: Name
    given: Mapping[Name, State]
    rows: float
    share: float


@dataclass(frozen=True, eq=False)
class Spread:
    """Numbers of several posteriors, one after the other, and how uncertain they are.

    Attributes
    ----------
    estimate, mean, low, high, variance : ndarray, shape (n,)
    """

    estimate: Floats
    mean: Floats
    low: Floats
    high: Floats
    variance: Floats

    @classmethod
    def of_draws(cls, estimate: Floats, draws: Floats, coverage: float) -> Spread:
        """Return the spread of draws, shape (n_draws, n)."""
        tails = (1.0 - coverage) / 2.0
        low, high = np.quantile(draws, [tails, 1.0 - tails], axis=0)
        return cls(estimate, draws.mean(axis=0), low, high, draws.var(axis=0))

    def part(self, at: slice) -> Spread:
        """Return the numbers of one posterior."""
        arrays = (self.estimate, self.mean, self.low, self.high, self.variance)
        return Spread(*(values[at] for values in arrays))


class CredibleIntervals(Displayed, Mapping[Any, Interval]):
    """Credible intervals of the probabilities of a posterior: a mapping from state to `Interval`.

    The keys of a joint posterior are tuples of states; those of a continuous variable are "mean"
    and "sd", of its posterior. The interval of each state is one for itself.

    Attributes
    ----------
    variables : tuple of Variable
    coverage : float
        Posterior probability of each interval.
    method : {"draws", "delta"}
    rows : float
        The number of rows from which a single proportion would be known as well: the equivalent
        sample size n for which the states have the variances p (1 - p) / (n + 1) of a Dirichlet
        distribution, or the mean of a number the variance sd² / n. Pseudo-counts of the prior count
        as rows; infinite if nothing is uncertain.
    sources : tuple of Source
        By the delta method for named targets: the distributions that contribute most to the
        variance, at most ten; otherwise empty.
    """

    def __init__(
        self,
        variables: tuple[Variable, ...],
        spread: Spread,
        coverage: float,
        method: str,
        sources: Sequence[Source] = (),
    ) -> None:
        self.variables = variables
        self.coverage = coverage
        self.method = method
        self.sources = tuple(sources)
        self._spread = spread
        self.rows = _equivalent_rows(spread, discrete=self._discrete)

    @property
    def _discrete(self) -> bool:
        return isinstance(self.variables[0], Discrete)

    def _place(self, key: Any) -> int:
        if not self._discrete:
            if key not in MOMENTS:
                raise EvidenceError(f"These intervals are of {quoted(MOMENTS)}; got {key!r}.")
            return MOMENTS.index(key)
        chosen: list[Any] = [v for v in self.variables if isinstance(v, Discrete)]
        states = (key,) if len(chosen) == 1 else key
        if not isinstance(states, tuple) or len(states) != len(chosen):
            raise EvidenceError(
                f"These are intervals of {quoted(v.name for v in chosen)}: their keys are tuples "
                f"of {len(chosen)} states; got {key!r}."
            )
        codes = [v.index(state) for v, state in zip(chosen, states, strict=True)]
        return int(np.ravel_multi_index(codes, [v.cardinality for v in chosen]))

    def __getitem__(self, key: Any) -> Interval:
        spread, at = self._spread, self._place(key)
        values = (spread.estimate, spread.low, spread.high, np.sqrt(spread.variance))
        return Interval(*(float(array[at]) for array in values))

    def __contains__(self, key: object) -> bool:
        try:
            self._place(key)
        except EvidenceError:
            return False
        return True

    def __iter__(self) -> Iterator[Any]:
        if not self._discrete:
            return iter(MOMENTS)
        states = [v.states for v in self.variables if isinstance(v, Discrete)]
        return iter(states[0]) if len(states) == 1 else itertools.product(*states)

    def __len__(self) -> int:
        return len(self._spread.estimate)

    @property
    def names(self) -> tuple[Name, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    def _display(self) -> DisplayTable:
        text = "{:.4f}".format if self._discrete else rounded
        spread = self._spread
        columns = (spread.estimate, spread.low, spread.high)
        shown = list(itertools.islice(zip(self, *columns, strict=False), _MAX_LINES))
        rows = [(str(key), *map(text, numbers)) for key, *numbers in shown]
        letter = "P" if self._discrete else "p"
        lines = [more(len(self), len(rows), "states"), f"as from {_count(self.rows)} rows"]
        lines += [f"{100 * s.share:.0f} % of the variance: {_source(s)}" for s in self.sources[:3]]
        return DisplayTable(
            f"{letter}({', '.join(map(str, self.names))}), {100 * self.coverage:g} % credible",
            rows,
            ("", "estimate", "low", "high"),
            note="\n".join(line for line in lines if line),
        )


class CredibleMarginals(Displayed, Mapping[Name, CredibleIntervals]):
    """Credible intervals of the posteriors of all unobserved variables, by name.

    Attributes
    ----------
    coverage : float
    method : {"draws", "delta"}
    """

    def __init__(self, found: Sequence[CredibleIntervals], coverage: float, method: str) -> None:
        self._found = {each.names[0]: each for each in found}
        self.coverage = coverage
        self.method = method

    def __getitem__(self, name: Name) -> CredibleIntervals:
        try:
            return self._found[name]
        except (KeyError, TypeError):
            where = "The mapping from unobserved variables to intervals"
            raise unknown_variable(name, list(self), where=where) from None

    def __iter__(self) -> Iterator[Name]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def _display(self) -> DisplayTable:
        shown = list(itertools.islice(self._found.items(), _MAX_LINES))
        rows = []
        for name, each in shown:
            key = max(each, key=lambda k: each[k].estimate) if each._discrete else MOMENTS[0]
            found = each[key]
            numbers = (rounded(x) for x in found[:3])
            rows.append((str(name), str(key), *numbers, _count(each.rows)))
        return DisplayTable(
            f"{100 * self.coverage:g} % credible intervals of the most probable states",
            rows,
            ("", "state", "estimate", "low", "high", "rows"),
            note=more(len(self), len(rows), "variables"),
        )


def _equivalent_rows(spread: Spread, *, discrete: bool) -> float:
    """Return the equivalent sample size of a posterior; see `CredibleIntervals.rows`."""
    if discrete:
        total = float(np.sum(spread.variance))
        alone, less = float(np.sum(spread.mean * (1.0 - spread.mean))), 1.0
    else:
        total = float(spread.variance[0])
        alone, less = float(spread.estimate[1] ** 2), 0.0
    return max(alone / total - less, 0.0) if total > 0 else math.inf


def _count(rows: float) -> str:
    if rows == math.inf:
        return "infinitely many"
    return f"{rows:.1f}" if rows < 10 else f"{rows:,.0f}"


def _source(source: Source) -> str:
    given = ", ".join(f"{name}={state}" for name, state in source.given.items())
    return f"P({source.name}{' | ' * bool(given)}{given}), {_count(source.rows)} rows"
