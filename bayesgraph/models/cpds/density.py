"""Base class of CPDs of numeric children, with one array for each named parameter of a density."""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core import errors
from bayesgraph.core.arrays import NODE_WEIGHTS, NODES, Floats, extremes, log_integral, log_of, ndtr
from bayesgraph.core.display import rounded
from bayesgraph.core.errors import CPDError, DataError, UnsupportedModelError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, Count, Discrete, Variable
from bayesgraph.inference import Factor, Potential, align
from bayesgraph.models import row_kernels
from bayesgraph.models.cpds import base
from bayesgraph.models.cpds.linear_gaussian import GaussianCPD
from bayesgraph.models.cpds.table import TableCPD

# ----------------- The distributions of one number in single configurations (cells) of its parents
# They are the components of the mixture that is the posterior of a leaf; see
# `bayesgraph.inference.results`.


@dataclass(frozen=True, eq=False)
class CellComponents:
    """The distributions of the only child of a CPD in k configurations of its parents.

    It implements the protocol `bayesgraph.inference.results.Components`.

    Attributes
    ----------
    cpd : CPD
        It has the methods `cell_tail`, `cell_moments` and `cell_quantiles`.
    cells : ndarray of int, shape (k,)
        The configurations.
    """

    cpd: Any
    cells: NDArray[np.intp]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The name of the family."""
        return (type(self.cpd).__name__.removesuffix("CPD"),)

    @property
    def whole(self) -> bool:
        """Whether the child is a count."""
        return isinstance(self.cpd.variable, Count)

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """Means and variances, shape (k,) each."""
        moments: tuple[Floats, Floats] = self.cpd.cell_moments(self.cells)
        return moments

    @property
    def means(self) -> Floats:
        """Means, shape (k, 1)."""
        return self._moments[0][:, None]

    @property
    def covariances(self) -> Floats:
        """Variances, shape (k, 1, 1)."""
        return self._moments[1][:, None, None]

    def log_density(self, points: Floats) -> Floats:
        """Return log densities, or log probabilities of counts, shape (..., k); see Components.

        `points` has shape (..., 1). NaN stays NaN, and values that cannot be have minus infinity.
        """
        x = np.asarray(points[..., 0], dtype=np.float64)
        flat = x.reshape(-1)
        impossible = np.isinf(flat)
        if self.whole:
            impossible |= ((flat < 0) | (flat != np.floor(flat))) & ~np.isnan(flat)
        cpd: base.CPD = self.cpd
        column = np.where(impossible, 0.0, flat)  # CPDs refuse some of these values
        potential = cpd.potential(Evidence(len(flat), {cpd.variable: column}))
        assert isinstance(potential, Factor)  # the parents are discrete
        logs = potential.log_values.reshape(len(flat), self.cpd.cells)[:, self.cells]
        logs = np.where(impossible[:, None], -np.inf, logs)
        return np.where(np.isnan(flat)[:, None], np.nan, logs).reshape(*x.shape, logs.shape[1])

    def tail(self, x: Floats, side: float) -> Floats:
        """Return P(child <= x), or P(child > x) for the side -1, shape (*x.shape, k).

        See Components.
        """
        flat = np.asarray(x, dtype=np.float64).reshape(-1)
        shares: Floats = self.cpd.cell_tail(flat, side, self.cells)
        return shares.reshape(*np.shape(x), -1)

    def bounds(self, probability: float) -> tuple[float, float]:
        """Return bounds of a quantile of every mixture of the components.

        They are the extreme quantiles of the components, or follow from Cantelli's inequality.
        """
        quantiles = self.cpd.cell_quantiles(probability, self.cells)
        if quantiles is not None:
            return float(quantiles.min()), float(quantiles.max())
        mean, variance = self._moments
        sd = np.sqrt(variance)
        below = mean - sd * math.sqrt((1.0 - probability) / probability)
        above = mean + sd * math.sqrt(probability / (1.0 - probability))
        return float(below.min()), float(above.max())

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator) -> Floats:
        """Return draws, shape (len(chosen), 1); see Components."""
        return np.asarray(self.cpd.sample_cells(self.cells[chosen], random))[:, None]

    def of(self, places: Any) -> CellComponents:
        """Return the same distributions, which are of one number; see Components."""
        return self


# -------------------------------- Plates: one CPD for many children with the same discrete parents
# A plate is the same model as one CPD for each child, which `singles` returns. It holds one array
# for all children, and one kernel reads all their columns. Files and plots show the single
# children; the engine uses the plate as a whole.


class Plate(base.CPD):
    """CPD of several children that are independent of each other given the same discrete parents.

    A subclass implements `_add`, which adds up the log densities of observed children, and for
    several children `_take`, which returns the plate of some of them.

    Attributes
    ----------
    children : tuple of Variable
    parents : tuple of Discrete
    """

    takes_children = True
    # Whether the child is a document: empty without evidence, so that every power of it is 1.
    is_document: ClassVar[bool] = False
    # Whether the constructor takes a single variable without a list.
    _takes_one: ClassVar[bool] = False
    _child_type: ClassVar[type[Any]] = Continuous

    parents: tuple[Discrete, ...]
    # Whether one child was given without a list: its parameters lack the axis of the children.
    _alone: bool

    @cached_property
    def cells(self) -> int:
        """The number of configurations of the parents."""
        return int(np.prod(self._lead, dtype=np.intp))

    @property
    def _lead(self) -> tuple[int, ...]:
        """The lengths of the first axes of all parameters: the cardinalities of the parents."""
        return tuple(parent.cardinality for parent in self.parents)

    @cached_property
    def _place(self) -> dict[Variable, int]:
        """The index of each child in `children`."""
        return {child: i for i, child in enumerate(self.children)}

    def _set_family(self, children: Any, parents: Iterable[Any]) -> None:
        """Set the children, a list or, where the class allows it, one; see CPD."""
        family = type(self).__name__
        # A text is iterable, but no list of children.
        self._alone = isinstance(children, str) or not isinstance(children, Iterable)
        if not (self._takes_one if self._alone else self.takes_children):
            takes = "a list of variables" if self.takes_children else "one variable"
            raise CPDError(f"{family} takes {takes}; got {children!r}.")
        listed = (children,) if self._alone else tuple(children)
        if not listed:
            raise CPDError(f"{family} takes at least one child; got none.")
        super()._set_family(listed, parents)

    def _parameter(
        self,
        name: str,
        values: ArrayLike,
        shape: tuple[int, ...],
        *,
        above: float = -np.inf,
        by_child: bool = False,
    ) -> Floats:
        """Check the values of the parameter `name`; return them as a read-only array.

        All values must exceed `above`. With `by_child`, the last axis of `shape` indexes the
        children; `values` lack this axis if a single child was given without a list.
        """
        wanted = shape[:-1] if self._alone and by_child else shape
        array = base.checked_numbers(values, wanted, what=base.ParameterTitle(self, name))
        if not (array > above).all():
            raise CPDError(
                f"{self.title}: {name} takes numbers above {above:g}; the smallest is "
                f"{array.min():.6g}."
            )
        return array.reshape(shape)

    def _take(self, at: Sequence[int]) -> Self:
        """Return the plate of only the children at the indices `at`; of one child the plate."""
        return self

    @abstractmethod
    def _add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log densities of all children to `out`, shape (cells, n_rows).

        All children are in the evidence; a missing value adds 0. A cell is a configuration of the
        parents; the states of the last parent vary fastest.
        """

    def _numbers(self, evidence: Evidence) -> Floats:
        """Return the children's columns as a matrix, NaN where missing; refuse negative counts."""
        values = evidence.matrix(self.children).astype(np.float64, copy=False)
        if issubclass(self._child_type, Count) and (values < 0).any():
            name = self.children[int(np.flatnonzero((values < 0).any(axis=0))[0])].name
            raise DataError(f"Column {name!r} holds counts, 0 or more; some are negative.")
        return values

    def over(self, children: Sequence[Variable]) -> Self:
        """Return the plate of only the given children."""
        if len(children) == len(self.children):
            return self
        at = [self._place[child] for child in children]
        plate = self._take(at)
        if self.parameter_posterior is not None:
            plate.parameter_posterior = self.parameter_posterior.of_children(at)
        return plate

    def singles(self) -> tuple[base.CPD, ...]:
        """Return a CPD for each child; see CPD."""
        singles = tuple(map(self._single, range(len(self.children))))
        if self.parameter_posterior is not None:
            for i, cpd in enumerate(singles):
                cpd.parameter_posterior = self.parameter_posterior.of_child(i)
        return singles

    def _single(self, i: int) -> base.CPD:
        """Return the CPD of one child."""
        return self if len(self.children) == 1 else self._take([i])

    def pieces(
        self, relevant: Collection[Variable], observed: Container[Variable]
    ) -> list[base.CPD]:
        """Return one plate of the observed children, and a CPD for each free relevant child.

        See CPD.
        """
        observed_children = [child for child in self.children if child in observed]
        pieces: list[base.CPD] = [self.over(observed_children)] if observed_children else []
        if len(observed_children) < len(self.children):
            # A plate has no posterior of its children; the CPD of a single child may have one.
            free = [c for c in self.children if c in relevant and c not in observed]
            pieces += [single for child in free for single in self.over([child]).singles()]
        return pieces

    def check_observed(self, observed: Container[Variable]) -> None:
        """Raise an UnsupportedModelError unless all children are observed."""
        if free := [child.name for child in self.children if child not in observed]:
            raise UnsupportedModelError(
                f"{type(self).__name__} of {quoted(free)} has no posterior of its own; it can be "
                "observed, or left out of both evidence and targets where its power is 1, and "
                "sampled."
            )

    def potential(self, evidence: Evidence) -> Potential:
        """Return the potential of the observed children, a factor over the free parents; see CPD.

        Raises
        ------
        UnsupportedModelError
            If a child is not observed: plates have no posterior of their children.
        """
        self.check_observed(evidence)
        scope = [parent for parent in self.parents if parent not in evidence]
        shape = [parent.cardinality for parent in scope]
        out = np.zeros((int(np.prod(shape, dtype=np.intp)), evidence.n_rows))
        self.accumulate(evidence, scope, out)
        return Factor.from_log(scope, out.T.reshape(evidence.n_rows, *shape))

    def accumulate(self, evidence: Evidence, scope: Sequence[Discrete], out: Floats) -> None:
        """Add the log densities of all children to `out`; see CPD."""
        if tuple(scope) == self.parents:
            self._add(evidence, out)
            return
        table = np.zeros((self.cells, evidence.n_rows))
        self._add(evidence, table)
        by_parent = table.T.reshape(-1, *self._lead)
        observed = [parent for parent in self.parents if parent in evidence]
        observed_first = align(by_parent, self.parents, [*observed, *scope])
        # Each row takes the entries of its states of the observed parents.
        rows = np.arange(evidence.n_rows)
        chosen = observed_first[(rows, *(evidence.columns[parent] for parent in observed))]
        out += chosen.reshape(evidence.n_rows, -1).T

    def sample(self, parents: base.Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the children given the parents' columns; see CPD."""
        cells = np.zeros(n, dtype=np.intp)
        if self.parents:
            cells = np.ravel_multi_index([parents[p] for p in self.parents], self._lead)
        return self.sample_cells(cells, random)

    def sample_cells(self, cells: NDArray[np.intp], random: np.random.Generator) -> NDArray[Any]:
        """Return a draw for each index of a configuration of the parents; see CPD."""
        return super().sample({}, len(cells), random)  # refuses


# ---- Base class of CPDs of numeric children, with one array for each named parameter of a density


class NumbersPlate(Plate):
    """Numeric children, whose distributions in single configurations are those of a leaf.

    A subclass has `cell_tail`, `cell_moments` and, where a formula is at hand, `cell_quantiles`.
    """

    _takes_one = True

    def components(self, cells: NDArray[np.intp]) -> CellComponents:
        """Return the distributions in configurations of the parents.

        `cells` has their indices, shape (k,); the states of the last parent vary fastest.
        """
        return CellComponents(self, cells)

    def cell_quantiles(self, probability: float, cells: NDArray[np.intp]) -> Floats | None:
        """Return the quantiles in k configurations; None if the family has no formula."""
        return None


class DensityCPD(NumbersPlate):
    """Numeric children whose density has named parameters, with one array for each parameter.

    The posterior of a child that is not observed is a mixture of its distributions, if its own
    children do not bear on the query. The constructor takes the children, each of the `parameters`,
    and the parents. A subclass has four methods: `_log_density`, `_tail`, `_moments` and
    `_draw`. `_quantile` is for families without a variance, or where a formula is at hand.

    Attributes
    ----------
    parameters : mapping from name to number
        Lower bound that each parameter must exceed.
    support : pair of floats
        Ends of the interval outside of which the density is zero.
    """

    parameters: ClassVar[Mapping[str, float]]
    support: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    # Returns the log density of each child in each row, given x of shape (n_rows, n children) and
    # the parameters, each of shape (n children,). It is minus infinity outside the support; the
    # result where x is NaN is ignored.
    _log_density: Callable[..., Floats]
    # Returns P(child <= x) for the side 1 and P(child > x) for the side -1, small values with all
    # their digits, for x, the side and the parameters, arrays that broadcast against each other.
    _tail: Callable[..., Floats]
    # Returns mean and variance, given the parameters; NaN or infinity where there is none.
    _moments: Callable[..., tuple[Floats, Floats]]
    # Returns the quantile of a probability, given the parameters.
    _quantile: ClassVar[Callable[..., Floats] | None] = None
    # Returns one random draw for each entry of the parameters, arrays of equal shapes, given a
    # random generator and the parameters.
    _draw: Callable[..., Any]

    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        """Read the names of arrays, and the signature of the constructor, off the `parameters`."""
        super().__init_subclass__()
        cls.arrays = tuple(cls.parameters)
        # What `__init__` binds its arguments to, and what `help` shows.
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        arguments = [inspect.Parameter(name, kind) for name in ("children", *cls.parameters)]
        arguments.append(inspect.Parameter("parents", kind, default=()))
        cls.__signature__ = inspect.Signature(arguments)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        arguments = self.__signature__.bind(*args, **kwargs).arguments
        self._set_family(arguments["children"], arguments.get("parents", ()))
        shape = (*self._lead, len(self.children))
        for key, above in self.parameters.items():
            array = self._parameter(key, arguments[key], shape, above=above, by_child=True)
            setattr(self, key, array)

    def _take(self, at: Sequence[int]) -> Self:
        """Return the plate of the children at the indices `at`; see `Plate`."""
        children = [self.children[i] for i in at]
        arrays = {name: values[..., at] for name, values in self.to_arrays().items()}
        return self.from_arrays(children, self.parents, arrays)

    def _flat(self, key: str) -> Floats:
        """Return the named parameter as an array of shape (parent configurations, n children)."""
        return np.asarray(getattr(self, key).reshape(self.cells, -1))

    def _add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log densities of all children to `out`, shape (cells, n_rows); see `Plate`."""
        values = self._numbers(evidence)  # (n_rows, n children)
        missing = np.isnan(values)
        for cell in range(self.cells):
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                logs = self._log_density(values, *(self._flat(k)[cell] for k in self.parameters))
            out[cell] += np.where(missing, 0.0, logs).sum(axis=1)

    def _cell_parameters(self, cells: NDArray[np.intp]) -> list[Floats]:
        """Return the parameters of the first child in some parent configurations."""
        return [self._flat(key)[cells, 0] for key in self.parameters]

    def cell_tail(self, x: Floats, side: float, cells: NDArray[np.intp]) -> Floats:
        """Return P(child <= x), shape (m, k), for x of shape (m,) and k configurations.

        For the side -1 it is P(child > x), without cancellation, else the side is 1.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(self._tail(x[:, None], side, *self._cell_parameters(cells)))

    def log_interval(self, low: Floats, high: Floats) -> Floats:
        """Return log P(low < child <= high) in each configuration; see `CPD`.

        Where the difference of two probabilities would cancel, or underflow, densities are
        integrated.
        """
        cells = np.arange(self.cells)
        above_low, above_high = (self.cell_tail(x, -1.0, cells) for x in (low, high))
        up_to_low, up_to_high = (self.cell_tail(x, 1.0, cells) for x in (low, high))
        # Shapes are (m, cells). The difference is that of the smaller tails, which cancels less:
        # upper ones if more lies below the interval than above it.
        is_upper = up_to_low > above_high
        mass = np.where(is_upper, above_low - above_high, up_to_high - up_to_low)
        # Smaller masses have lost too many digits.
        least = np.maximum(_LEAST_SHARE * np.where(is_upper, above_low, up_to_high), _LEAST_MASS)
        logs = log_of(np.maximum(mass, 0.0))
        whole = isinstance(self.variable, Count)
        # Some length for intervals that end at 0 and go on without end, which have none.
        means = np.abs(self.cell_moments(cells)[0])
        unit = float(np.max(means, initial=1.0, where=np.isfinite(means)))
        for i in np.flatnonzero((mass < least).any(axis=1)).tolist():
            # Intervals are open below: that of the count 0 begins at -1.
            a = max(float(low[i]), self.support[0] - whole)
            b = min(float(high[i]), self.support[1])
            if whole:
                a, b = float(np.floor(a)), float(np.floor(b))
            if a < b:
                x, weights = (_counts if whole else _nodes)(a, b, unit)
                potential = self.potential(Evidence(len(x), {self.variable: x}))
                assert isinstance(potential, Factor)  # the parents are discrete
                integral = log_integral(potential.log_values.reshape(len(x), -1), weights)
                logs[i] = np.where(mass[i] < least[i], integral, logs[i])
        return logs

    def cell_moments(self, cells: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return means and variances in k configurations, shape (k,) each."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self._moments(*self._cell_parameters(cells))

    def cell_quantiles(self, probability: float, cells: NDArray[np.intp]) -> Floats | None:
        """Return the quantiles in k configurations; None if the family has no formula."""
        if self._quantile is None:
            return None
        with np.errstate(over="ignore"):
            return np.asarray(self._quantile(probability, *self._cell_parameters(cells)))

    def sample_cells(self, cells: NDArray[np.intp], random: np.random.Generator) -> NDArray[Any]:
        """Return draws of the first child; see `Plate`."""
        drawn = self._draw(random, *self._cell_parameters(cells))
        return np.asarray(drawn, dtype=np.float64)

    def _columns(self) -> Mapping[str, Floats]:
        """Return the columns of the printed table, a mapping from header to values."""
        return {key: getattr(self, key) for key in self.parameters}

    def describe(self, max_rows: int, max_columns: int) -> base.Description:
        """Return a table with a column for each parameter; see CPD."""
        shown = self.over(self.children[:max_rows])
        return base.describe_numbers(self.parents, self.children, shown._columns(), max_rows)


# Share of the mass beyond its end from which on a difference has enough digits, and least mass.
_LEAST_SHARE, _LEAST_MASS = 1e-4, 1e-290
# Number of panels, each four times as long as the one before; of the length of an infinite interval
# in units of its finite end; and of counts at each end of an interval that are summed.
_PANELS, _LONG, _COUNTS = 50, 2.0**40, 2**14


def _nodes(low: float, high: float, unit: float) -> tuple[Floats, Floats]:
    """Return points of an interval and their weights, ever denser towards its finite ends.

    So a density that falls from one end on is integrated, however fast it falls. `unit` is the
    length in place of the finite end of an infinite interval if that is 0.
    """
    # Finite ends, each with the sign of the direction into the interval.
    finite = [(end, side) for end, side in ((low, 1.0), (high, -1.0)) if math.isfinite(end)]
    # Half of a finite interval from each end. Panels are given by their distances from the end, and
    # have the nodes of a Gauss-Legendre rule each.
    length = (high - low) / 2 if len(finite) == 2 else (abs(finite[0][0]) or unit) * _LONG
    panels = np.append(0.0, length * 0.25 ** np.arange(_PANELS, -1.0, -1.0))
    half = np.diff(panels)[:, None] / 2
    away, weights = (panels[:-1, None] + half * (1.0 + NODES)).ravel(), half * NODE_WEIGHTS
    points = [end + side * away for end, side in finite]
    return np.concatenate(points), np.tile(weights.ravel(), len(finite))


def _counts(low: float, high: float, unit: float) -> tuple[Floats, Floats]:
    """Return the counts above `low` and up to `high`, both whole, and a weight of one for each.

    If there are too many, those between the ends are points of an integral: there probabilities
    change so slowly that each is that over the unit interval around the count.
    """
    steps = np.arange(1.0, min(high - low, _COUNTS) + 1.0)
    if high - low <= 2 * _COUNTS:
        counts = np.union1d(low + steps, high + 1.0 - steps)
        return counts, np.ones(len(counts))
    ends = low + steps
    if math.isfinite(high):
        ends = np.append(ends, high + 1.0 - steps)
    points, weights = _nodes(low + _COUNTS + 0.5, high - _COUNTS + 0.5, unit)
    return np.append(ends, points), np.append(np.ones(len(ends)), weights)


# ------------------------ Plates of Gaussian children, and plates of discrete children with tables


class GaussianPlate(DensityCPD):
    """Continuous children, each Gaussian given the same discrete parents.

    Parameters
    ----------
    children : iterable of Continuous
        The n children.
    mean : array_like, shape (*parents' cardinalities, n)
    variance : array_like, shape (*parents' cardinalities, n)
        Positive, in squared units of each child.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For a wrong shape, NaN or infinity, or a variance that is not positive.

    Examples
    --------
    >>> kind = Discrete("kind", ["a", "b"])
    >>> plate = GaussianPlate(
    ...     [Continuous("x"), Continuous("y")], [[0.0, 1.0], [2.0, 3.0]], [[1.0, 1.0], [4.0, 4.0]],
    ...     parents=[kind],
    ... )
    >>> plate.singles()[1]
    GaussianCPD p(y | kind)
      kind  mean  sd
      a        1   1
      b        3   2
    """

    parameters: ClassVar = {"mean": -np.inf, "variance": 0.0}
    _takes_one = False
    mean: Floats
    variance: Floats

    def _single(self, i: int) -> base.CPD:
        child: Any = self.children[i]
        return GaussianCPD(child, self.mean[..., i], self.variance[..., i], self.parents)

    def _add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log densities of all children to `out`, shape (cells, n_rows); see `Plate`."""
        values = self._numbers(evidence)
        row_kernels.add_gaussians(out, values, self._flat("mean"), self._flat("variance"))

    def _tail(self, x: Floats, side: float, mean: Floats, variance: Floats) -> Floats:
        """Return P(child <= x), or P(child > x) for the side -1; see `DensityCPD`."""
        return np.asarray(ndtr(side * (x - mean) / np.sqrt(variance)))

    def _moments(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        return mean, variance

    def _draw(self, random: np.random.Generator, mean: Floats, variance: Floats) -> Floats:
        return mean + np.sqrt(variance) * random.standard_normal(len(mean))

    def _columns(self) -> Mapping[str, Floats]:
        return {"mean": self.mean, "sd": np.sqrt(self.variance)}


class TablePlate(Plate):
    """Discrete children, each with a table given the same discrete parents.

    Parameters
    ----------
    children : iterable of Discrete
    values : array_like, shape (*parents' cardinalities, states of all children)
        Probabilities; the states of the first child, then those of the second, and so on.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For a wrong shape, a negative number, NaN, or probabilities of a child that do not sum to
        one.
    """

    arrays = ("values",)

    _child_type = Discrete
    children: tuple[Discrete, ...]

    def __init__(
        self, children: Iterable[Discrete], values: ArrayLike, parents: Iterable[Discrete] = ()
    ) -> None:
        self._set_family(children, parents)
        cards = [child.cardinality for child in self.children]
        # Where the states of each child start on the last axis of `values`, and their total number.
        self.start: NDArray[np.int64] = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
        shape = (*self._lead, int(self.start[-1]))
        # Zero is allowed: it exceeds the bound, the largest negative number with all its digits.
        self.values = self._parameter("values", values, shape, above=-np.finfo(float).tiny)
        sums = np.add.reduceat(self.values, self.start[:-1], axis=-1)
        off = (np.abs(sums - 1.0) > base.SUM_TOLERANCE).reshape(-1, len(cards))
        wrong = np.flatnonzero(np.any(off, axis=0)).tolist()
        if wrong:
            names = quoted(self.children[i].name for i in wrong)
            raise CPDError(
                f"TablePlate: the probabilities of {names} do not sum to 1. Divide each row by its "
                "sum if they are weights."
            )

    @property
    def n_parameters(self) -> int:
        """The number of free probabilities."""
        return self.cells * (int(self.start[-1]) - len(self.children))

    @cached_property
    def _log_table(self) -> Floats:
        """Log probabilities, shape (states of all children, cells padded to a multiple of 4)."""
        return row_kernels.padded_rows(log_of(self.values.reshape(self.cells, -1)))

    def _take(self, at: Sequence[int]) -> Self:
        """Return the plate of the children at the indices `at`; see `Plate`."""
        columns = np.concatenate([np.arange(self.start[i], self.start[i + 1]) for i in at])
        children = [self.children[i] for i in at]
        return type(self)(children, self.values[..., columns], self.parents)

    def _single(self, i: int) -> base.CPD:
        values = self.values[..., self.start[i] : self.start[i + 1]]
        return TableCPD(self.children[i], values, self.parents)

    def _add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log densities of all children to `out`, shape (cells, n_rows); see `Plate`."""
        row_kernels.add_states(
            out, evidence.matrix(self.children), self.start[:-1], self._log_table
        )


# ---------------------------------------- Numbers that are far outside of what a model expects


# Numbers of standard deviations that are far and that are usual, probabilities of tails of families
# that are not Gaussian, and the share of far rows that is no accident.
_FAR, _USUAL, _TAILS, _SHARE = 10.0, 3.0, (1e-15, 1.0 - 1e-15, 1e-3, 1.0 - 1e-3), 0.1


class Expected(NamedTuple):
    """What a model expects of its numbers, by the parameters alone: it keeps no range of its rows.

    Attributes
    ----------
    place : mapping from variable to int
    limits : ndarray, shape (4, number of variables + 1)
        The least and greatest number that is not far outside, and those that are usual; infinite in
        the first place, for other variables.
    """

    place: Mapping[Variable, int]
    limits: Floats

    @classmethod
    def of(cls, cpds: Iterable[base.CPD], numbers: Sequence[Variable]) -> Expected:
        """Return the expectations of Gaussians and other densities, given CPDs with parents first.

        `numbers` are all continuous variables, in the order in which columns of them will be.
        The mean of a linear Gaussian lies between those that the least and the greatest mean of
        each parent give, and its deviation is at most that of parents which move together. Far is
        also farther than the means in all configurations are from each other.
        """
        # Of each number: the least and the greatest mean, and the greatest standard deviation.
        spread: dict[Variable, Any] = {}
        # The rows of `limits`, transposed; None stands for all other variables, which have none.
        limits = dict.fromkeys([None, *numbers], [-np.inf, np.inf] * 2)
        mean: Any
        for cpd in cpds:
            quantiles: list[Any] = [None] * 4
            if isinstance(cpd, GaussianCPD) and spread.keys() >= {*cpd.continuous_parents}:
                of_parents = np.array([spread[v] for v in cpd.continuous_parents]).reshape(-1, 3)
                # What each parent adds at its least and at its greatest mean, on the last axis.
                terms = cpd.coefficients[..., None] * of_parents[:, :2]
                mean = [
                    cpd.mean + terms.min(axis=-1).sum(-1),
                    cpd.mean + terms.max(axis=-1).sum(-1),
                ]
                variance = cpd.variance + (np.abs(cpd.coefficients) @ of_parents[:, 2]) ** 2
            elif isinstance(cpd, DensityCPD) and not isinstance(cpd.variable, Count):
                cells = np.arange(cpd.cells)
                mean, variance = cpd.cell_moments(cells)
                quantiles = [cpd.cell_quantiles(tail, cells) for tail in _TAILS]
            else:
                continue
            low, high, sd = np.min(mean), np.max(mean), np.sqrt(np.max(variance))
            spread[cpd.variable] = low, high, sd
            far, usual = max(_FAR * sd, high - low), _USUAL * sd
            ends = [low - far, high + far, low - usual, high + usual]
            # Quantiles, one for each configuration, take the place of an end if there is a formula:
            # the least of low ends, the greatest of high ones.
            outer = zip(ends, quantiles, (np.min, np.max) * 2, strict=True)
            limits[cpd.variable] = [float(end if q is None else f(q)) for end, q, f in outer]
        return cls({v: i for i, v in enumerate(numbers, 1)}, np.array([*limits.values()]).T)

    def far(self, variables: Sequence[Variable], values: Floats) -> dict[Variable, float]:
        """Return the number farthest outside in each column that has too many, or too far ones.

        At most 1 / k^2 of any distribution is farther than k deviations from its mean (Chebyshev),
        so that a tenth of the rows beyond ten, or one of n rows beyond 10 sqrt(n), is no accident.
        """
        # Place 0 has infinite limits, for variables of which nothing is expected.
        has_all = variables == tuple(self.place)
        places: Any = slice(1, None) if has_all else [self.place.get(v, 0) for v in variables]
        low, high = np.ascontiguousarray(self.limits[:2, places])
        # Of each column. Reading row by row takes long where columns are contiguous.
        if values.flags.c_contiguous:
            outside = row_kernels.are_outside(values, low, high)
        else:
            least, most = extremes(values)
            outside = (least < low) | (most > high)
        farthest: dict[Variable, float] = {}
        for j in np.flatnonzero(outside).tolist():
            # Distances from the middle in units in which those of both limits are 1.
            column = values[:, j]
            ends = np.array([np.fmin.reduce(column), np.fmax.reduce(column)])
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                away, each = (
                    np.abs(2.0 * numbers - low[j] - high[j]) / (high[j] - low[j])
                    for numbers in (ends, column)
                )
            # One end may be inside, and at both limits where they are equal.
            away[(ends >= low[j]) & (ends <= high[j])] = 0.0
            if away.max() > math.sqrt(len(values)) or np.mean(each > 1.0) > _SHARE:
                farthest[variables[j]] = float(ends[away.argmax()])
        return farthest

    def warn_of(self, far: Mapping[Variable, float]) -> None:
        """Warn, once for all, of numbers that are far outside."""
        said = []
        for v, number in far.items():
            low, high = (rounded(end, 3) for end in self.limits[2:, self.place[v]].tolist())
            said.append(f"{v.name} = {rounded(number, 6)} (usual are {low} to {high})")
        if said:
            errors.warn(
                f"Far outside of what the model expects: {', '.join(said)}. The answer is a guess; "
                "check values and units, or leave them out.",
                errors.ExtrapolationWarning,
            )
