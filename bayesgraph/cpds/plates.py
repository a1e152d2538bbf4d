"""Plates of Gaussian children, and plates of discrete children with tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.cpds import kernels
from bayesgraph.cpds.base import CPD
from bayesgraph.cpds.density import DensityCPD
from bayesgraph.cpds.linear_gaussian import GaussianCPD
from bayesgraph.cpds.plate import Plate
from bayesgraph.cpds.table import TableCPD
from bayesgraph.cpds.validation import SUM_TOLERANCE
from bayesgraph.errors import CPDError, quoted
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats, log_of
from bayesgraph.special import ndtr
from bayesgraph.variables import Continuous, Discrete


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

    def __init__(
        self,
        children: Iterable[Continuous],
        mean: ArrayLike,
        variance: ArrayLike,
        parents: Iterable[Discrete] = (),
    ) -> None:
        self._set_parameters(children, parents, mean=mean, variance=variance)

    def singles(self) -> tuple[CPD, ...]:
        """Return a GaussianCPD for each child; see CPD."""
        found = tuple(
            GaussianCPD(child, self.mean[..., i], self.variance[..., i], self.parents)  # type: ignore[arg-type]
            for i, child in enumerate(self._children)
        )
        if self.parameter_posterior is not None:
            for i, cpd in enumerate(found):
                cpd.parameter_posterior = self.parameter_posterior.of_child(i)
        return found

    def _add(self, evidence: Evidence, out: Floats) -> None:
        values = self._numbers(evidence)
        kernels.add_gaussians(out, values, self._flat("mean"), self._flat("variance"))

    def _cdf(self, x: Floats, mean: Floats, variance: Floats) -> Floats:
        return np.asarray(ndtr((x - mean) / np.sqrt(variance)))

    def _sf(self, x: Floats, mean: Floats, variance: Floats) -> Floats:
        return np.asarray(ndtr((mean - x) / np.sqrt(variance)))

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
    _children: tuple[Discrete, ...]

    def __init__(
        self, children: Iterable[Discrete], values: ArrayLike, parents: Iterable[Discrete] = ()
    ) -> None:
        self._set_family(children, parents)
        cards = [child.cardinality for child in self._children]
        self.start: NDArray[np.int64] = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
        shape = (*self._lead, int(self.start[-1]))
        self.values = self._parameter("values", values, shape, above=-np.finfo(float).tiny)
        sums = np.add.reduceat(self.values, self.start[:-1], axis=-1)
        off = (np.abs(sums - 1.0) > SUM_TOLERANCE).reshape(-1, len(cards))
        wrong = np.flatnonzero(np.any(off, axis=0)).tolist()
        if wrong:
            names = quoted(self._children[i].name for i in wrong)
            raise CPDError(
                f"TablePlate: the probabilities of {names} do not sum to 1. Divide each row by its "
                "sum if they are weights."
            )

    @property
    def n_parameters(self) -> int:
        """The number of free probabilities."""
        return self.cells * (int(self.start[-1]) - len(self._children))

    @cached_property
    def _log_table(self) -> Floats:
        return kernels.padded_rows(log_of(self.values.reshape(self.cells, -1)))

    def _take(self, at: Sequence[int]) -> Self:
        columns = np.concatenate([np.arange(self.start[i], self.start[i + 1]) for i in at])
        children = [self._children[i] for i in at]
        return type(self)(children, self.values[..., columns], self.parents)

    def singles(self) -> tuple[CPD, ...]:
        """Return a TableCPD for each child; see CPD."""
        found = tuple(
            TableCPD(child, self.values[..., self.start[i] : self.start[i + 1]], self.parents)
            for i, child in enumerate(self._children)
        )
        if self.parameter_posterior is not None:
            for i, cpd in enumerate(found):
                cpd.parameter_posterior = self.parameter_posterior.of_child(i)
        return found

    def _add(self, evidence: Evidence, out: Floats) -> None:
        kernels.add_states(out, evidence.matrix(self._children), self.start[:-1], self._log_table)
