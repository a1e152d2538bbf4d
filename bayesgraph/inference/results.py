"""Answers to queries: posteriors, mixtures of Gaussians and others, and assignments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import LOG_2PI, Floats, log_integral, random_generator, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, cut_texts, more, rounded
from bayesgraph.core.errors import (
    BayesGraphError,
    DataError,
    EvidenceError,
    UnsupportedModelError,
    optional_module,
    quoted,
    unknown_variable,
)
from bayesgraph.core.typing import RandomState
from bayesgraph.core.variables import Binned, Continuous, Count, CountVector, Discrete, Name, State

if TYPE_CHECKING:
    import pandas as pd

# ------------- The components of mixtures of numbers: k distributions, of one number or of several
# A mixture has weights, and one object that holds its k components. The components of a leaf are
# the distributions that its CPD gives in configurations of its parents. Several targets that are
# independent given the parents have components that are products. A mixture of networks has parts,
# those of its networks, whatever their families.


class Components(Protocol):
    """Protocol of k distributions of n numbers; `tail` and `bounds` are of one number."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of the families, each once."""

    @property
    def whole(self) -> bool:
        """Whether the number is a count."""

    @property
    def means(self) -> Floats:
        """Means, shape (k, n), NaN where there is none."""

    @property
    def covariances(self) -> Floats:
        """Covariances, shape (k, n, n), NaN or infinite where there is none."""

    def log_density(self, points: Floats, /) -> Floats:
        """Return log densities, shape (..., k), at points of shape (..., n).

        That of a count is the log of a probability.
        """

    def tail(self, x: Floats, side: float, /) -> Floats:
        """Return the probabilities of at most x, shape (..., k), for x of shape (...,).

        For the side -1 they are those of more than x, without cancellation, else it is 1.
        """

    def bounds(self, probability: float, /) -> tuple[float, float]:
        """Return two numbers between which the quantile of every mixture of the components lies."""

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator, /) -> Floats:
        """Return a draw from each of the chosen components, shape (len(chosen), n)."""

    def of(self, places: Sequence[int], /) -> Components:
        """Return the distributions of some of the numbers, given by their indices."""


@dataclass(frozen=True, eq=False)
class GaussianComponents:
    """Gaussian distributions; for the attributes see `Components`."""

    means: Floats
    covariances: Floats
    kinds = ("Gaussian",)
    whole = False

    def log_density(self, points: Floats) -> Floats:
        """Return log densities; see Components."""
        deviation = points[..., None, :] - self.means  # shape (..., k, n)
        sign, log_det = np.linalg.slogdet(self.covariances)
        if (sign <= 0).any():
            raise _singular()
        scaled = np.linalg.solve(self.covariances, deviation[..., None])[..., 0]
        n = self.means.shape[1]
        return np.asarray(-0.5 * (np.sum(deviation * scaled, axis=-1) + log_det + n * LOG_2PI))

    def tail(self, x: Floats, side: float) -> Floats:
        """Return probabilities of at most, or more than, x; see Components."""
        standardised = (x[..., None] - self.means[:, 0]) / self._scale
        return np.asarray(scipy.special.ndtr(side * standardised))

    def bounds(self, probability: float) -> tuple[float, float]:
        """Return the smallest and the largest quantile; see Components."""
        with np.errstate(invalid="ignore"):  # an infinite scale gives NaN or infinite bounds
            quantiles = self.means[:, 0] + self._scale * scipy.special.ndtri(probability)
        return float(quantiles.min()), float(quantiles.max())

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator) -> Floats:
        """Return draws; see Components."""
        try:
            root = np.linalg.cholesky(self.covariances)[chosen]
        except np.linalg.LinAlgError as error:
            raise _singular() from error
        noise = random.standard_normal((len(chosen), self.means.shape[1]))
        return np.asarray(self.means[chosen] + np.einsum("kij,kj->ki", root, noise))

    def of(self, places: Sequence[int]) -> GaussianComponents:
        """Return marginal distributions; see Components."""
        at = np.asarray(places)
        return GaussianComponents(self.means[:, at], self.covariances[:, at[:, None], at])

    @property
    def _scale(self) -> Floats:
        return np.sqrt(self.covariances[:, 0, 0])


def _singular() -> UnsupportedModelError:
    return UnsupportedModelError(
        "Some of these numbers are almost functions of the others: their covariance is singular "
        "but for rounding errors. Ask for fewer of them, or draw them by the model's sample."
    )


@dataclass(frozen=True, eq=False)
class ProductComponents:
    """Distributions of numbers of which those of different blocks are independent.

    Attributes
    ----------
    blocks : tuple of (places, Components)
        The indices of the numbers of each block, and their k distributions.
    """

    blocks: tuple[tuple[tuple[int, ...], Components], ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The families of all blocks; see Components."""
        return tuple(dict.fromkeys(kind for _, block in self.blocks for kind in block.kinds))

    @property
    def whole(self) -> bool:
        """Whether all numbers are counts; see Components."""
        return all(block.whole for _, block in self.blocks)

    @property
    def means(self) -> Floats:
        """Means; see Components."""
        means = np.concatenate([block.means for _, block in self.blocks], axis=1)
        return np.asarray(means[:, self._order])

    @property
    def covariances(self) -> Floats:
        """Covariances, zero between blocks; see Components."""
        k, n = self.means.shape
        covariances = np.zeros((k, n, n))
        for places, block in self.blocks:
            at = np.asarray(places)
            covariances[:, at[:, None], at] = block.covariances
        return covariances

    @property
    def _order(self) -> NDArray[np.intp]:
        """Where each number is, block after block."""
        # The argsort of a permutation is its inverse: from the order of blocks to that of numbers.
        return np.argsort([place for places, _ in self.blocks for place in places])

    def log_density(self, points: Floats) -> Floats:
        """Return the sums of the blocks' log densities; see Components."""
        parts = [block.log_density(points[..., list(places)]) for places, block in self.blocks]
        return np.asarray(np.sum(parts, axis=0))

    def tail(self, x: Floats, side: float) -> Floats:
        """Return the probabilities of the only block; see Components."""
        ((_, block),) = self.blocks
        return block.tail(x, side)

    def bounds(self, probability: float) -> tuple[float, float]:
        """Return the bounds of the only block; see Components."""
        ((_, block),) = self.blocks
        return block.bounds(probability)

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator) -> Floats:
        """Return draws; see Components."""
        drawn = np.concatenate([block.sample(chosen, random) for _, block in self.blocks], axis=1)
        return np.asarray(drawn[:, self._order])

    def of(self, places: Sequence[int]) -> Components:
        """Return the distributions of some of the numbers; see Components."""
        blocks: list[tuple[tuple[int, ...], Components]] = []
        for of_block, block in self.blocks:
            wanted = [place for place in places if place in of_block]
            if wanted:
                # A block counts its own numbers from zero, as the result counts those of `places`.
                marginal = block.of([of_block.index(place) for place in wanted])
                blocks.append((tuple(map(list(places).index, wanted)), marginal))
        return blocks[0][1] if len(blocks) == 1 else ProductComponents(tuple(blocks))


# --------------- Answers to queries: posteriors, mixtures of Gaussians and others, and assignments


_MAX_LINES = 40
# Characters of a name and of a state in a table of marginals, which fits a line of 80.
_NAME, _STATE = 20, 13
_NO_ANSWER = "no exact answer"
# Share of a posterior that the printed range of a number has at least.
_HALF = 0.5
_NO_FLAT = np.empty(0)
# Columns of a covariance that are printed.
_MAX_COVARIANCES = 6


def interval_text(low: float, high: float) -> str:
    """Return an interval that is open below as text, such as "(0.6, 2]"."""
    first, last = cut_texts([low, high])
    return f"({first}, {last}{')' if math.isinf(high) else ']'}"


class Posterior(Displayed, Mapping[State, float]):
    """A distribution over the states of one or several discrete variables.

    A mapping from state to probability; the keys of a joint posterior are tuples of states.

    Parameters
    ----------
    variables : sequence of Discrete
    probabilities : ndarray, shape (cardinality of variables[0], ...)
        Non-negative values that sum to one.
    log_evidence : float or callable
        Natural log of the probability (density, if continuous variables are observed) of the
        evidence; for a factor graph, of the sum of the product of all factors over the joint states
        that agree with the evidence. A callable is called when the value is first accessed.
    approximation : optional
        Report of convergence or error, None if the answer is exact.
    bounds : ndarray, shape (2, cardinality of variables[0], ...), optional
        Ends of an interval of 95 % for each probability, by likelihood weighting.
    """

    __slots__ = ("_log_evidence", "approximation", "bounds", "note", "probabilities", "variables")

    def __init__(
        self,
        variables: tuple[Discrete, ...],
        probabilities: Floats,
        log_evidence: float | Callable[[], float],
        approximation: object = None,
        bounds: Floats | None = None,
    ) -> None:
        self.variables = variables
        # A view, so that the caller's array stays writeable.
        self.probabilities = probabilities.view()
        self.probabilities.flags.writeable = False
        self._log_evidence = log_evidence
        self.approximation = approximation
        self.bounds = bounds
        # Printed below the states.
        self.note = ""

    @property
    def log_evidence(self) -> float:
        """Natural log of the probability of the evidence, computed when it is first accessed."""
        if callable(self._log_evidence):
            self._log_evidence = self._log_evidence()
        return self._log_evidence

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            log_evidence = self.log_evidence
        except BayesGraphError:  # computing it may take more memory than the posterior did
            log_evidence = math.nan
        numbers = self.probabilities, log_evidence, self.approximation, self.bounds
        return Posterior, (self.variables, *numbers)

    @property
    def names(self) -> tuple[Name, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    def _index(self, key: object) -> tuple[int, ...]:
        """Return the index in `probabilities` of a key, or raise an EvidenceError."""
        if len(self.variables) == 1:
            return (self.variables[0].index(key),)
        if not isinstance(key, tuple) or len(key) != len(self.variables):
            raise EvidenceError(
                f"This is a joint posterior of {quoted(self.names)}: its keys are tuples of "
                f"{len(self.variables)} states; got {key!r}."
            )
        return tuple(v.index(state) for v, state in zip(self.variables, key, strict=True))

    def __getitem__(self, key: object) -> float:
        return float(self.probabilities[self._index(key)])

    def __contains__(self, key: object) -> bool:
        try:
            self._index(key)
        except EvidenceError:
            return False
        return True

    def __iter__(self) -> Iterator[Any]:
        if len(self.variables) == 1:
            return iter(self.variables[0].states)
        return itertools.product(*(variable.states for variable in self.variables))

    def __len__(self) -> int:
        return int(self.probabilities.size)

    @property
    def argmax(self) -> Any:
        """The most probable state (a tuple of states if joint); ties go to the first."""
        code = np.unravel_index(int(np.argmax(self.probabilities)), self.probabilities.shape)
        states = tuple(v.states[i] for v, i in zip(self.variables, code, strict=True))
        return states[0] if len(states) == 1 else states

    def range(self, share: float = _HALF) -> tuple[float, float]:
        """Return the ends of the intervals that have at least a share of the probability.

        The intervals below and above them have at most half of the rest each; a share of 0 gives
        the ends of the interval of the median. An end is infinite if it is that of the first or the
        last interval. (There is no mean: where values lie within intervals is not known.)

        Parameters
        ----------
        share : float
            From 0 to 1.

        Raises
        ------
        EvidenceError
            If the posterior is of several variables, or its states are no intervals.
        """
        if len(self.variables) > 1 or not isinstance(self.variables[0], Binned):
            raise EvidenceError(
                "A posterior has a range if it is of one number with intervals; this one is of "
                f"{quoted(self.names)}."
            )
        ends = [-math.inf, *self.variables[0].cuts, math.inf]
        most = (1.0 - share) / 2.0 + 1e-12  # the tolerance is for rounding errors
        below, above = np.cumsum(self.probabilities), np.cumsum(self.probabilities[::-1])
        # Numbers of intervals at both ends whose probabilities sum to at most half of the rest.
        n_below, n_above = (int(np.searchsorted(p, most, side="right")) for p in (below, above))
        n_last = len(ends) - 1 - n_above
        return ends[min(n_below, n_last - 1)], ends[n_last]  # at a tie the interval is the first

    def marginal(self, *names: Name) -> Posterior:
        """Return the posterior of some of the variables, in the order in which they are named."""
        axes = _places(self.variables, names)
        summed = [axis for axis in range(len(self.variables)) if axis not in axes]
        table = self.probabilities.transpose(*axes, *summed)
        table = table.reshape(*table.shape[: len(axes)], -1).sum(axis=-1)
        return Posterior(
            tuple(self.variables[axis] for axis in axes),
            table,
            self._log_evidence,
            self.approximation,
        )

    def to_dict(self) -> dict[Any, float]:
        """Return a plain dict; states that compare equal, such as 1 and True, become one key."""
        return dict(self.items())

    def to_series(self) -> pd.Series[float]:
        """Return a pandas Series indexed by state (by tuples of states if joint)."""
        pandas = optional_module("pandas", extra="pandas", what="Posterior.to_series")
        values = self.probabilities.ravel()
        levels = []
        for variable in self.variables:
            # Object dtype if types are mixed: pandas would make 1 and 2.5 floats. Tuples stay
            # single states.
            kinds = {type(state) for state in variable.states}
            level = np.empty(variable.cardinality, dtype=object)
            level[:] = variable.states
            if len(kinds) == 1 and not kinds & {tuple}:
                level = pandas.Index(list(variable.states))
            levels.append(pandas.Index(level, name=variable.name, tupleize_cols=False))
        index = levels[0]
        if len(levels) > 1:
            # State codes, not states: 1 and True are equal and would become one state.
            index = pandas.MultiIndex(
                levels,
                np.indices(self.probabilities.shape).reshape(len(levels), -1),
                names=list(self.names),
                verify_integrity=False,
            )
        series: pd.Series[float] = pandas.Series(values, index=index, name="probability")
        return series

    def _display(self, maximum: int = _MAX_LINES) -> DisplayTable:
        probabilities = self.probabilities.ravel()[:maximum].tolist()
        error = ""
        keys = _labels(itertools.islice(self, maximum))
        rows = [[key, f"{p:.6f}"] for key, p in zip(keys, probabilities, strict=True)]
        if self.bounds is not None:
            error = f"{self.approximation}\n  in brackets             95 % intervals"
            for row, (low, high) in zip(rows, self.bounds.reshape(2, -1).T, strict=False):
                row.append(f"[{low:.4f}, {high:.4f}]")
        note = more(len(self), len(rows), "states")
        title = f"P({', '.join(map(str, self.names))})"
        summary = ""
        if len(self.variables) == 1 and isinstance(self.variables[0], Binned) and len(self) > 1:
            median, half = (interval_text(*self.range(share)) for share in (0.0, _HALF))
            summary = f"median in {median}, at least half in {half}"
        lines = [line for line in (summary, note, self.note, error) if line]
        return DisplayTable(title, rows, bars=probabilities, note="\n".join(lines))


def _places(variables: Sequence[Discrete | Continuous], names: Sequence[Name]) -> list[int]:
    """Return the index of each of the named variables, or raise an EvidenceError."""
    all_names = [variable.name for variable in variables]
    if not names or len(set(names)) < len(names) or not set(names) <= set(all_names):
        raise EvidenceError(
            f"This posterior is of {quoted(all_names)}; expected some of these, each once; got "
            f"{names!r}."
        )
    return [all_names.index(name) for name in names]


# By name the variable, and where its probabilities begin among those of all.
Places: TypeAlias = Mapping[Name, tuple[Discrete, int]]


def places_of(variables: Iterable[Discrete]) -> Places:
    """Return where the probabilities of each variable begin, one variable after the other."""
    places, end = {}, 0
    for variable in variables:
        places[variable.name] = variable, end
        end += len(variable.states)
    return places


def posterior_at(places: Places, flat: Floats, log_evidence: float, name: Name) -> Posterior:
    """Return the posterior of one variable, from the probabilities of all."""
    variable, begin = places[name]
    probabilities = flat[begin : begin + variable.cardinality]
    return Posterior((variable,), probabilities, log_evidence)


class Marginals(Displayed, Mapping[Name, Any]):
    """The posteriors of all unobserved variables: a mapping from name to posterior.

    Parameters
    ----------
    names : collection of names
        Names of the unobserved variables.
    answer : callable
        Function of a name that returns the posterior, called when it is first accessed.
    log_evidence : float
        Natural log of the probability (density) of the evidence; see Posterior.
    approximation : optional
        Report of convergence or error, None if the answer is exact.

    Attributes
    ----------
    log_evidence, approximation
        As given.
    flat : ndarray
        Probabilities of discrete variables one after the other; empty if computed on access.
    """

    __slots__ = ("_answer", "_answers", "_names", "approximation", "flat", "log_evidence")

    def __init__(
        self,
        names: Collection[Name],
        answer: Callable[[Name], Any],
        log_evidence: float,
        approximation: object = None,
        flat: Floats = _NO_FLAT,
    ) -> None:
        self.flat = flat
        self._names = names
        self._answer = answer
        self._answers: dict[Name, Any] = {}
        self.log_evidence = log_evidence
        self.approximation = approximation

    def __getitem__(self, name: Name) -> Any:
        if isinstance(name, (Discrete, Continuous)):
            name = name.name
        if name not in self._answers:
            if name not in self._names:
                where = "The mapping from unobserved variables to posteriors"
                raise unknown_variable(name, list(self), where=where)
            self._answers[name] = self._answer(name)
        return self._answers[name]

    def __iter__(self) -> Iterator[Name]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def _display(self, maximum: int = _MAX_LINES) -> DisplayTable:
        names = list(itertools.islice(self, maximum))
        rows = [[_cut(str(name), _NAME), *self._cells(name)] for name in names]
        header = ("variable", "state", "P", "state", "P", "others")
        return DisplayTable(self._title(), rows, header, note=self._note(len(names)))

    def _cells(self, name: Name) -> list[str]:
        """Return the two likeliest states with their probabilities, and that of the others."""
        lines = self._lines(name)
        if not lines:
            return [_NO_ANSWER, *[""] * 4]
        cells = [cell for text, number, _ in lines[:2] for cell in (_cut(text, _STATE), number)]
        # The bars of states are their probabilities. Mean and sd of a number are just two lines.
        left = max(1.0 - sum(bar for _, _, bar in lines[:2]), 0.0)
        others = f"{left:.4f}" if len(lines) > 2 else ""
        return [*cells, *[""] * (4 - len(cells)), others]

    def _repr_html_(self) -> str:
        """Return a table for notebooks: a bar for the belief in each of the likeliest states."""
        names = list(itertools.islice(self, _MAX_LINES))
        # The name, in the first of its lines, then label, number and bar.
        lines = [
            ("" if i else str(name), *line)
            for name in names
            for i, line in enumerate(self._lines(name) or [(_NO_ANSWER, "", 0.0)])
        ]
        rows, bars = [line[:3] for line in lines], [line[3] for line in lines]
        return DisplayTable(self._title(), rows, bars=bars, note=self._note(len(names))).html()

    def _title(self) -> str:
        has_evidence = not math.isnan(self.log_evidence)
        evidence = f" (log evidence {rounded(self.log_evidence, 6)})" if has_evidence else ""
        return f"Marginals of {len(self)} variables{evidence}"

    def _note(self, shown: int) -> str:
        report = "" if self.approximation is None else str(self.approximation)
        return "\n".join(filter(None, [more(len(self), shown, "variables"), report]))

    def _lines(self, name: Name) -> list[tuple[str, str, float]]:
        """Return the lines that show a posterior: a label, a number and the length of the bar.

        There is no line if there is no exact answer.
        """
        try:
            posterior = self[name]
        except UnsupportedModelError:
            return []
        if isinstance(posterior, NumberMixture):
            return [
                ("mean", rounded(posterior.mean, 6), 0.0),
                ("sd", rounded(posterior.std, 6), 0.0),
            ]
        pairs = sorted(posterior.items(), key=lambda pair: -pair[1])[:4]
        labels = _labels(state for state, _ in pairs)
        lines = [(text, f"{p:.4f}", float(p)) for text, (_, p) in zip(labels, pairs, strict=True)]
        return [*lines, ("...", "", 0.0)] if len(posterior) > 4 else lines


def _labels(states: Iterable[object]) -> list[str]:
    """Return states as texts, those of 1 and "1" as in source code if both are there."""
    items = list(states)
    labels = list(map(str, items))
    return labels if len(set(labels)) == len(labels) else list(map(repr, items))


def _cut(text: str, length: int) -> str:
    """Return a text of at most `length` characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


class NumberMixture(Displayed):
    """The exact posterior of n numbers: a mixture of k distributions.

    That of Gaussian variables is a mixture of Gaussians. A leaf is a variable without children, or
    whose children are neither observed nor targets: given its parents it has the distribution of
    its CPD, of any family, so that its posterior is a mixture of these distributions, with the
    posterior probabilities of the parents' configurations as weights.

    Parameters
    ----------
    variables : tuple of Continuous
        The n variables.
    parts : sequence of (weights, Components)
        The k distributions of the n numbers by network, with their weights, which sum to one over
        all parts.
    log_evidence : float
        Natural log of the probability (density) of the evidence.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> kind = bg.Discrete("kind", ["calm", "busy"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(kind, [0.75, 0.25]),
    ...     bg.PoissonCPD(bg.Count("calls"), [1.0, 5.0], parents=[kind]),
    ... ])
    >>> calls = net.query("calls")
    >>> calls
    p(calls): a mixture of 2 distributions (Poisson)
      mean                 2
      sd             2.23607
      95 % interval   [0, 8]
    >>> round(float(calls.density(0)), 6)  # the probability of no call
    0.277594
    """

    __slots__ = ("log_evidence", "parts", "variables", "weights")

    def __init__(
        self,
        variables: tuple[Continuous, ...],
        parts: Sequence[tuple[Floats, Components]],
        log_evidence: float,
    ) -> None:
        self.variables = variables
        self.weights = np.concatenate([weights for weights, _ in parts])
        self.weights.flags.writeable = False
        self.parts = tuple(parts)
        self.log_evidence = log_evidence

    def _each(self, ask: Callable[[Components], Floats], axis: int = 0) -> Floats:
        """Ask the components of all parts; return the answers one after the other on an axis."""
        return np.concatenate([ask(components) for _, components in self.parts], axis=axis)

    @property
    def means(self) -> Floats:
        """Means of the components, shape (k, n)."""
        return self._each(lambda components: components.means)

    @property
    def covariances(self) -> Floats:
        """Covariances of the components, shape (k, n, n)."""
        return self._each(lambda components: components.covariances)

    @property
    def gaussian(self) -> bool:
        """Whether all components are Gaussian."""
        return self.kinds == ("Gaussian",)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of the families of the components, each once."""
        return tuple(dict.fromkeys(kind for _, part in self.parts for kind in part.kinds))

    @property
    def whole(self) -> bool:
        """Whether the variables are counts, whose density is a probability."""
        return all(components.whole for _, components in self.parts)

    @property
    def mean(self) -> Any:
        """The posterior mean: a float, or an array of shape (n,) for several variables."""
        mean = self.weights @ self.means
        return float(mean[0]) if len(mean) == 1 else mean

    @property
    def std(self) -> Any:
        """The posterior standard deviation: a float, or an array (n,) for several variables."""
        return np.sqrt(self.variance) if len(self.variables) > 1 else float(self.variance) ** 0.5

    @property
    def covariance(self) -> Floats:
        """The posterior covariance, shape (n, n)."""
        # Law of total covariance: within the components, and between their means.
        mean = self.weights @ self.means
        with np.errstate(invalid="ignore"):  # around a mean that is infinite
            spread = np.where(np.isinf(mean), np.inf, self.means - mean)
            within = np.einsum("k,kij->ij", self.weights, self.covariances)
            return np.asarray(within + np.einsum("k,ki,kj->ij", self.weights, spread, spread))

    @property
    def variance(self) -> Any:
        """The posterior variance: a float, or an array of shape (n,) for several variables."""
        variance = np.diag(self.covariance)
        return float(variance[0]) if len(variance) == 1 else variance

    def log_density(self, x: ArrayLike) -> Any:
        """Return the natural log of the density; for counts, of the probability.

        Parameters
        ----------
        x : array_like, shape (...,) for one variable, (..., n) for several
        """
        # The weighted sum is over the first axis; [()] makes an array without axes a number.
        return log_integral(np.moveaxis(self.log_densities(x), -1, 0), self.weights)[()]

    def log_densities(self, x: ArrayLike) -> Floats:
        """Return the log density of each component, shape (..., k), with x as in `log_density`."""
        points = self._points(x)
        return self._each(lambda components: components.log_density(points), -1)

    def density(self, x: ArrayLike) -> Any:
        """Return the density at x, with the shapes of `log_density`."""
        return np.exp(self.log_density(x))

    def cdf(self, x: ArrayLike) -> Any:
        """Return P(X <= x) for a mixture of a single variable X."""
        return self._tail(x, 1.0)

    def sf(self, x: ArrayLike) -> Any:
        """Return P(X > x) for a mixture of a single variable X, without cancellation."""
        return self._tail(x, -1.0)

    def _tail(self, x: ArrayLike, side: float) -> Any:
        """Return P(X <= x) for the side 1, and P(X > x) for the side -1."""
        self._check_single()
        points = np.asarray(x, dtype=np.float64)
        return self._each(lambda components: components.tail(points, side), -1) @ self.weights

    def quantile(self, probability: float) -> float:
        """Return the smallest x with P(X <= x) >= probability, for a single variable X.

        It is a whole number for a count, and NaN if the mixture spreads or lies beyond the range of
        floats.
        """
        self._check_single()
        if not 0 < probability < 1:
            raise EvidenceError(f"A probability lies between 0 and 1; got {probability!r}.")
        bounds = [components.bounds(probability) for _, components in self.parts]
        low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
        if not (math.isfinite(low) and math.isfinite(high)):
            return math.nan
        if self.whole:
            below, last = max(math.floor(low), 0) - 1, math.ceil(high)
            while last - below > 1:  # below < quantile <= last
                middle = (below + last) // 2
                if float(self.cdf(middle)) >= probability:
                    last = middle
                else:
                    below = middle
            return float(last)

        # The root is searched as a fraction of the way, so that the unit does not matter.
        def excess(share: float) -> float:
            return float(self.cdf(low + share * (high - low))) - probability

        # Where the quantile is a bound, rounding may leave no change of sign between the bounds.
        if excess(0.0) >= 0:
            return low
        if excess(1.0) <= 0:
            return high
        # With so small an absolute tolerance the relative one ends the search.
        share = scipy.optimize.brentq(excess, 0.0, 1.0, xtol=1e-300, maxiter=2000)
        return low + float(share) * (high - low)

    def interval(self, probability: float = 0.95) -> tuple[float, float]:
        """Return the central credible interval of the given probability, for a single variable."""
        tail = 0.5 * (1.0 - probability)
        return self.quantile(tail), self.quantile(1.0 - tail)

    def sample(self, n: int, *, random_state: RandomState = None) -> Floats:
        """Return n independent draws, shape (n,), or (n, number of variables) for several."""
        size, random = whole_number("n", "draws", n, 0), random_generator(random_state)
        chosen = random.choice(len(self.weights), size, p=self.weights)
        drawn = np.empty((size, len(self.variables)))
        begin = 0  # components are numbered through all parts
        for weights, components in self.parts:
            rows = np.flatnonzero((chosen >= begin) & (chosen < begin + len(weights)))
            drawn[rows] = components.sample(chosen[rows] - begin, random)
            begin += len(weights)
        return drawn[:, 0] if len(self.variables) == 1 else drawn

    def marginal(self, *names: Name) -> NumberMixture:
        """Return the posterior of some of the variables, in the order in which they are named."""
        places = _places(self.variables, names)
        chosen = tuple(self.variables[place] for place in places)
        parts = [(weights, components.of(places)) for weights, components in self.parts]
        return NumberMixture(chosen, parts, self.log_evidence)

    def _points(self, x: ArrayLike) -> Floats:
        """Return the points of a density, shape (..., n)."""
        points = np.asarray(x, dtype=np.float64)
        n = len(self.variables)
        if n == 1:
            return points[..., None]
        if points.shape[-1:] != (n,):
            raise EvidenceError(
                f"The density of {quoted(v.name for v in self.variables)} takes points of shape "
                f"(..., {n}); got shape {points.shape}."
            )
        return points

    def _check_single(self) -> None:
        if len(self.variables) != 1:
            raise EvidenceError(
                "Quantiles and cumulative probabilities are of one variable; query "
                f"{quoted(v.name for v in self.variables)} one at a time."
            )

    def _display(self) -> DisplayTable:
        names = ", ".join(str(variable.name) for variable in self.variables)
        count, kinds = len(self.weights), ", ".join(self.kinds)
        what = kinds if count == 1 else f"a mixture of {count} distributions ({kinds})"
        title = f"p({names}): {what}"
        if len(self.variables) == 1:
            low, high = self.interval()
            rows = [
                ("mean", rounded(self.mean, 6)),
                ("sd", rounded(self.std, 6)),
                ("95 % interval", f"[{rounded(low, 6)}, {rounded(high, 6)}]"),
            ]
            return DisplayTable(title, rows)
        moments = zip(self.variables, self.mean, self.std, strict=True)
        shown = [str(variable.name) for variable in self.variables[:_MAX_COVARIANCES]]
        covariance = self.covariance[:, : len(shown)]  # all rows, of the first columns
        table = [
            (str(v.name), *(rounded(number, 6) for number in (mean, std, *row)))
            for (v, mean, std), row in zip(moments, covariance, strict=True)
        ]
        header = ("", "mean", "sd", *(f"cov(·, {name})" for name in shown))
        note = more(len(self.variables), len(shown), "columns of the covariance")
        return DisplayTable(title, table, header=header, note=note)


class MixedPosterior(Displayed):
    """The joint posterior of discrete and continuous variables.

    Attributes
    ----------
    discrete : Posterior
        Posterior of the discrete targets.
    mixtures : sequence of NumberMixture or None
        Posterior of the continuous targets in each state of the discrete ones, in their order;
        None where that has probability zero.
    """

    __slots__ = ("discrete", "mixtures")

    def __init__(self, discrete: Posterior, mixtures: Sequence[NumberMixture | None]) -> None:
        self.discrete = discrete
        self.mixtures = mixtures

    @property
    def log_evidence(self) -> float:
        """Natural log of the probability (density) of the evidence; see Posterior."""
        return self.discrete.log_evidence

    def given(self, state: object) -> NumberMixture:
        """Return the posterior of the continuous targets given a state of the discrete targets.

        The state is a tuple of states if there are several discrete targets.

        Raises
        ------
        EvidenceError
            If the state has probability zero.
        """
        code = np.ravel_multi_index(self.discrete._index(state), self.discrete.probabilities.shape)
        mixture = self.mixtures[int(code)]
        if mixture is None:
            raise EvidenceError(f"State {state!r} has probability zero: nothing to condition on.")
        return mixture

    def _display(self) -> DisplayTable:
        possible = next((mixture for mixture in self.mixtures if mixture is not None), None)
        names = [str(v.name) for v in possible.variables] if possible else []
        cells = zip(self.discrete.items(), self.mixtures, strict=True)
        rows = [
            (str(key), f"{p:.6f}", *_moments(mixture, len(names)))
            for (key, p), mixture in itertools.islice(cells, _MAX_LINES)
        ]
        return DisplayTable(
            f"P({', '.join([*map(str, self.discrete.names), *names])})",
            rows,
            header=("", "probability", *(f"{what} of {n}" for n in names for what in _MOMENTS)),
            note=more(len(self.discrete), len(rows), "states"),
        )


def divided_posterior(posterior: Any) -> tuple[Floats, Sequence[NumberMixture | None]]:
    """Return a posterior as those of its numbers in each joint state of its discrete targets.

    Returns
    -------
    weights : ndarray
        The probabilities of the joint states; 1 without discrete targets, or without any.
    mixtures : sequence of NumberMixture or None
        Empty without numbers.
    """
    if posterior is None:
        return np.ones(1), ()
    if isinstance(posterior, Posterior):
        return posterior.probabilities.reshape(-1), ()
    if isinstance(posterior, MixedPosterior):
        return posterior.discrete.probabilities.reshape(-1), posterior.mixtures
    return np.ones(1), (posterior,)


_MOMENTS = ("mean", "sd")


def _moments(mixture: NumberMixture | None, n: int) -> list[str]:
    """Return mean and sd of each of the n variables as texts, empty if there is no mixture."""
    if mixture is None:
        return [""] * (2 * n)
    pairs = zip(np.atleast_1d(mixture.mean), np.atleast_1d(mixture.std), strict=True)
    return [rounded(value, 6) for pair in pairs for value in pair]


class Assignment(Displayed, Mapping[Name, Any]):
    """A mapping from the name of each unobserved variable to its value, with a log probability.

    Parameters
    ----------
    assigned : mapping from name to state or number
    log_probability : float
        Natural log of the joint probability of the discrete values and the evidence (a density if
        continuous variables are observed, or maximised in a joint mode); for a factor graph, the
        natural log of the product of the factors.
    upper_bound : float, optional
        No assignment but those before it, if it is one of several, has a larger log probability.
        By default it is `log_probability`.
    """

    __slots__ = ("_assigned", "log_probability", "upper_bound")

    def __init__(
        self,
        assigned: Mapping[Name, Any],
        log_probability: float,
        upper_bound: float | None = None,
    ) -> None:
        self._assigned = dict(assigned)
        self.log_probability = log_probability
        self.upper_bound = log_probability if upper_bound is None else upper_bound

    @property
    def proved(self) -> bool:
        """Whether it is the most probable assignment, not only the best that a search found."""
        return self.upper_bound <= self.log_probability

    def __getitem__(self, name: Name) -> Any:
        return self._assigned[name]

    def __iter__(self) -> Iterator[Name]:
        return iter(self._assigned)

    def __len__(self) -> int:
        return len(self._assigned)

    def _display(self) -> DisplayTable:
        values = [
            (str(n), rounded(x, 10) if isinstance(x, float) else repr(x)) for n, x in self.items()
        ]
        bound = "" if self.proved else f", not proved: at most {rounded(self.upper_bound, 6)}"
        return DisplayTable(
            f"Assignment (log probability {rounded(self.log_probability, 6)}{bound})", values
        )


# ------------------------ Posteriors of vectors of counts: mixtures of distributions of many items


_MAX_ITEM_LINES = 10


class ItemComponents(Protocol):
    """Protocol of k distributions of the counts of n items."""

    @property
    def presence(self) -> bool:
        """Whether items are present or absent, independently, and not counted."""

    @property
    def shares(self) -> Floats:
        """Probabilities of the items, shape (k, n)."""

    def log_probability(self, counts: Any, /) -> Floats:
        """Return the log probability of the counts of one row given their sum, shape (k,)."""

    def item(self, place: int, length: int, /) -> Components:
        """Return the distributions of the count of one item among `length` items."""

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator, /) -> Any:
        """Return a row of counts from each of the chosen distributions, as a sparse matrix."""


Parts: TypeAlias = Sequence[tuple[Floats, ItemComponents]]


class ItemsMixture(Displayed, Mapping[Name, float]):
    """The exact posterior of a vector of counts: a mixture of distributions of its items.

    A mapping from item to its probability: that the next item is this one or, where items are
    present or absent, that it is present.

    Parameters
    ----------
    variable : CountVector
        The vector of n items.
    parts : sequence of (weights, ItemComponents)
        The components by network, with their weights, which sum to one over all parts.
    log_evidence : float
        Natural log of the probability (density) of the evidence.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> kind = bg.Discrete("kind", ["work", "spam"])
    >>> words = bg.CountVector("words", ["meeting", "money"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(kind, [0.5, 0.5]),
    ...     bg.MultinomialCPD(words, [[0.8, 0.2], [0.1, 0.9]], parents=[kind]),
    ... ])
    >>> found = net.query("words", {"kind": {"work": 1, "spam": 3}})
    >>> found
    Probabilities of the items of words: a mixture of 2 distributions
      money    0.725000  █████████████████
      meeting  0.275000  ███████
    >>> found.item("money", length=2).density([0, 1, 2]).round(4)
    array([0.1675, 0.215 , 0.6175])
    """

    def __init__(self, variable: CountVector, parts: Parts, log_evidence: float) -> None:
        self.variable = variable
        self.parts = tuple(parts)
        self.log_evidence = log_evidence

    @property
    def weights(self) -> Floats:
        """Weights of all components, shape (k,)."""
        return np.concatenate([weights for weights, _ in self.parts])

    @property
    def presence(self) -> bool:
        """Whether items are present or absent, and not counted."""
        return any(items.presence for _, items in self.parts)

    @property
    def probabilities(self) -> Floats:
        """Probability of each item, shape (n,)."""
        return np.asarray(sum(weights @ items.shares for weights, items in self.parts))

    def __getitem__(self, item: Name) -> float:
        return float(self.probabilities[self._place(item)])

    def __iter__(self) -> Iterator[Name]:
        return iter(self.variable.items)

    def __len__(self) -> int:
        return len(self.variable.items)

    def _place(self, item: Name) -> int:
        """Return the index of an item, or raise an UnknownVariableError."""
        try:
            return self.variable.positions[item]
        except (KeyError, TypeError):
            where = f"The vector {self.variable.name!r}"
            raise unknown_variable(item, self.variable.items, where=where) from None

    def top(self, n: int = 10) -> dict[Name, float]:
        """Return the n most probable items with their probabilities, the most probable first."""
        probabilities = self.probabilities
        order = np.argsort(-probabilities, kind="stable")[: whole_number("n", "items", n, 0)]
        return {self.variable.items[i]: float(probabilities[i]) for i in order.tolist()}

    def mean(self, length: int | None = None) -> Floats:
        """Return the expected counts, shape (n,).

        Parameters
        ----------
        length : int, optional
            Sum of the counts; left out where items are present or absent.
        """
        if self.presence and length is None:
            return self.probabilities
        if self.presence or length is None:
            raise EvidenceError(
                f"length= is the number of items of {self.variable.name!r}, and needed where they "
                f"are counted; where they are present or absent there is none. Got {length!r}."
            )
        return self.probabilities * whole_number("length", "items", length, 0)

    def log_probability(self, counts: Mapping[Name, float]) -> float:
        """Return the natural log of the probability of all counts, given their sum.

        Where items are present or absent, it is that of which of them are present.

        Parameters
        ----------
        counts : mapping from item to count
            Items that are left out do not occur.
        """
        for item in counts:
            self._place(item)  # raises if it is unknown
        row = self.variable.encode(dict.fromkeys(self.variable.items, 0) | dict(counts))
        logs = np.concatenate([items.log_probability(row) for _, items in self.parts])
        return float(scipy.special.logsumexp(logs, b=self.weights))

    def item(self, item: Name, *, length: int) -> NumberMixture:
        """Return the posterior of the count of one item among `length` items.

        Raises
        ------
        UnknownVariableError
            For an unknown item; the message suggests the nearest one.
        EvidenceError
            If items are present or absent, and not counted.
        """
        place = self._place(item)
        if self.presence:
            raise EvidenceError(
                f"The items of {self.variable.name!r} are present or absent; posterior[{item!r}] "
                "is the probability that it is present."
            )
        size = whole_number("length", "items", length, 0)
        parts = [(weights, items.item(place, size)) for weights, items in self.parts]
        return NumberMixture((Count(item),), parts, self.log_evidence)

    def sample(self, n: int, *, random_state: RandomState = None) -> Any:
        """Return n rows of counts as a sparse matrix, with lengths from the distributions.

        Raises
        ------
        UnsupportedModelError
            If the distributions have no lengths.
        """
        size, random = whole_number("n", "rows", n, 0), random_generator(random_state)
        weights = self.weights
        chosen = np.sort(random.choice(len(weights), size, p=weights))
        drawn, begin = [], 0  # components are numbered through all parts
        for shares, components in self.parts:
            of_part = chosen[(chosen >= begin) & (chosen < begin + len(shares))]
            if len(of_part):
                drawn.append(components.sample(of_part - begin, random))
            begin += len(shares)
        if not drawn:
            return scipy.sparse.csr_array((0, len(self)))
        # Shuffled, as rows were sorted by component.
        return scipy.sparse.vstack(drawn, "csr")[random.permutation(size)]

    def _display(self) -> DisplayTable:
        shown = self.top(_MAX_ITEM_LINES)
        what = "Presence" if self.presence else "Probabilities"
        k = len(self.weights)
        return DisplayTable(
            f"{what} of the items of {self.variable.name}"
            + (f": a mixture of {k} distributions" if k > 1 else ""),
            [(str(item), f"{p:.6f}") for item, p in shown.items()],
            bars=list(shown.values()),
            note=more(len(self), len(shown), "items"),
        )


# --------------------------------------------- Posteriors of one variable over slices of sequences


class Course(np.ndarray[Any, np.dtype[np.float64]]):
    """Posteriors of a variable in slices of sequences, which :func:`bayesgraph.plot` draws.

    It is an array, and what is computed of it is an ordinary one; a part of it is of no variable.

    Attributes
    ----------
    variable : Variable or None
    ids : list
        Of the sequences.
    starts : ndarray, shape (n_sequences + 1,)
        The first slice of each sequence, if the slices of all sequences are numbered one sequence
        after the other; then their number.
    place : ndarray
        The slice of each posterior, in this numbering.
    """

    variable: Any = None
    ids: list[Any]
    starts: NDArray[np.int64]
    place: NDArray[np.int64]

    # What NumPy's functions make of the array: an ordinary array, or a number ([()] of no axes).
    def __array_wrap__(self, array: Any, *_: Any) -> Any:
        return np.asarray(array)[()]

    def sequence(self, name: Any = None) -> tuple[NDArray[np.int64], Floats]:
        """Return the numbers of the slices of a sequence, from zero, and their posteriors.

        `name` is the id of the sequence; it may be left out if there is only one.

        Raises
        ------
        DataError
            If there are several sequences and none of this id.
        """
        if self.variable is None:
            raise DataError(
                "This is a copy or a part of posteriors over slices; plot what smooth, filter or "
                "forecast returned."
            )
        ids = self.ids
        if name not in ids and (len(ids) != 1 or name is not None):
            raise DataError(
                f"sequence= is the id of one of {len(ids)} sequences, such as {quoted(ids[:4])}; "
                f"got {name!r:.80}."
            )
        k = ids.index(name) if name in ids else 0
        chosen = (self.place >= self.starts[k]) & (self.place < self.starts[k + 1])
        return self.place[chosen] - self.starts[k], np.asarray(self)[chosen]
