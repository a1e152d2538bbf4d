"""What a model was fitted on: numbers of rows and missing values, settings; never a value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

from bayesgraph.core.display import rounded
from bayesgraph.core.errors import ModelError
from bayesgraph.core.variables import Name
from bayesgraph.core.version import __version__

_EMPTY: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True)
class TrainingRows:
    """The rows that a model was fitted on, as numbers; those of several parts are added by ``+``.

    Parameters
    ----------
    n_rows : int
        Number of rows; classifiers leave out those of weight zero.
    missing : mapping from name to int, optional
        Number of missing values in each column that has any. Of a vector of counts, those of all
        its items together.
    weight : float, optional
        Sum of the weights of the rows; None if they have none.

    Raises
    ------
    ModelError
        If a number is negative, infinite, or none.
    """

    n_rows: int
    missing: Mapping[Any, int] = field(default_factory=lambda: _EMPTY)
    weight: float | None = None

    def __post_init__(self) -> None:
        for what, number in (("rows", self.n_rows), *self.missing.items()):
            if type(number) is not int or number < 0:
                raise ModelError(f"A number of {what!r:.80} is 0 or more; got {number!r:.80}.")
        if self.weight is not None and not (
            type(self.weight) is float and math.isfinite(self.weight) and self.weight >= 0
        ):
            raise ModelError(f"The weight of rows is a finite number; got {self.weight!r:.80}.")
        there = {name: number for name, number in self.missing.items() if number}
        object.__setattr__(self, "missing", MappingProxyType(there))

    def __reduce__(self) -> tuple[type[TrainingRows], tuple[Any, ...]]:
        return TrainingRows, (self.n_rows, dict(self.missing), self.weight)

    @property
    def total(self) -> float:
        """The sum of the weights of the rows."""
        return float(self.n_rows) if self.weight is None else self.weight

    def __add__(self, other: TrainingRows) -> TrainingRows:
        return self._joined(other, 1)

    def __sub__(self, other: TrainingRows) -> TrainingRows:
        return self._joined(other, -1)

    def ordered(self, names: Iterable[Name]) -> TrainingRows:
        """Return the numbers of some columns, in their order."""
        missing = {name: self.missing[name] for name in names if name in self.missing}
        return TrainingRows(self.n_rows, missing, self.weight)

    def _joined(self, other: TrainingRows, sign: int) -> TrainingRows:
        names = dict.fromkeys((*self.missing, *other.missing))
        missing = {n: self.missing.get(n, 0) + sign * other.missing.get(n, 0) for n in names}
        n_rows = self.n_rows + sign * other.n_rows
        is_weighted = self.weight is not None or other.weight is not None
        weight = max(self.total + sign * other.total, 0.0) if is_weighted else None
        return TrainingRows(n_rows, missing, weight)


@dataclass(frozen=True)
class Training:
    """How a model was fitted, and on what; the attribute `training` of models that were.

    Parameters
    ----------
    method : str
        The class of the estimator, or the method of networks.
    n_columns : int
        Number of columns, that of the class included.
    rows : TrainingRows, optional
        None if the model was made of statistics that do not say how many rows are behind them.
    settings : mapping from str to str, optional
        Parameters that are not as by default, and their values as text.
    version : str, optional
        That of bayesgraph.
    history : EMHistory, optional
        The course of EM, of a network that it estimated; files and copies have none.

    Raises
    ------
    ModelError
        If a text or a number is none.
    """

    method: str
    n_columns: int
    rows: TrainingRows | None = None
    settings: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    version: str = __version__
    history: EMHistory | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        texts = (self.method, self.version, *self.settings, *self.settings.values())
        if not all(type(text) is str for text in texts):
            raise ModelError(f"Settings and methods are text; got {texts!r:.200}.")
        if type(self.n_columns) is not int or self.n_columns < 0:
            raise ModelError(f"n_columns is 0 or more; got {self.n_columns!r:.80}.")
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (
            self.method,
            self.n_columns,
            self.rows,
            dict(self.settings),
            self.version,
        )

    @property
    def missing(self) -> Mapping[Name, int]:
        """Number of missing values in each column that has any."""
        return _EMPTY if self.rows is None else self.rows.missing


@dataclass(frozen=True)
class EMHistory:
    """Objective and log likelihood in the course of EM.

    Attributes
    ----------
    objective : tuple of float
        Log posterior of the parameters up to a constant, in nats: the initial value, and the value
        after each iteration, of the restart with the highest final objective. The values never
        fall, except in the case that `bayesgraph.learning.em.expectation_maximization` describes.
    log_likelihood : float
        Log likelihood of the rows under the network returned.
    converged : bool
        Whether the last iteration gained less than the tolerance.
    restarts : tuple of float
        Final objective of each restart; the first one with the highest objective was kept.
    """

    objective: tuple[float, ...]
    log_likelihood: float
    converged: bool
    restarts: tuple[float, ...]

    @property
    def n_iter(self) -> int:
        """Number of iterations of the restart with the highest final objective."""
        return len(self.objective) - 1

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        return (
            f"EMHistory: {self.n_iter} iterations, {end}, log likelihood "
            f"{rounded(self.log_likelihood, 6)}, best of {len(self.restarts)}"
        )
