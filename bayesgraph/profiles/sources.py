"""Frequencies and moments of variables, from the rows of a table or from a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.errors import DataError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.models.model import Model
from bayesgraph.statistics.complete_rows import complete_rows
from bayesgraph.typing import EvidenceLike
from bayesgraph.variables import Discrete, Name, Variable

# A table, a model, or a fitted estimator, which has one.
Source: TypeAlias = Any


def model_of(source: Source) -> Model | None:
    """Return the model of a source that is a model or a fitted estimator; None for a table."""
    found = getattr(source, "network_", source)
    return found if isinstance(found, Model) else None


class Rows:
    """The complete rows of some columns of a table, or a model, which gives probabilities.

    Parameters
    ----------
    source : table, Model or fitted estimator
    names : sequence of names
        Discrete variables.
    categorical : list of column names or "all", optional
        Numeric columns of a table to treat as discrete.
    sample_weight : array_like, shape (n_rows,), optional
        Weights of the rows of a table.
    evidence : mapping from name to value, optional
        For a model.
    """

    def __init__(
        self,
        source: Source,
        names: Sequence[Name],
        categorical: Iterable[Name] | str | None,
        sample_weight: ArrayLike | None,
        evidence: EvidenceLike,
    ) -> None:
        if len(set(names)) < len(names) or len(names) < 2:
            raise DataError(f"Expected the names of two or more variables; got {quoted(names)}.")
        self._model = model_of(source)
        self._evidence = evidence
        if self._model is None:
            _refuse("evidence=", evidence, "a model; leave rows of a table out yourself")
            self._table, self._weights = complete_rows(source, names, categorical, sample_weight)
            by_name = {variable.name: variable for variable in self._table.variables}
            found = [by_name[name] for name in names]
        else:
            _refuse("categorical=", categorical, "a table")
            _refuse("sample_weight=", sample_weight, "a table")
            found = [self._model.variable(name) for name in names]
        self.variables = tuple(_discrete(found))

    @property
    def total(self) -> float | None:
        """The sum of the weights of all rows; None for a model."""
        return None if self._model is not None else float(self._weights.sum())

    def counts(self, first: Discrete, second: Discrete) -> Floats:
        """Return the counts of the states of two variables; probabilities for a model."""
        if self._model is not None:
            found = self._model.query([first.name, second.name], self._evidence)
            return np.asarray(found.probabilities)
        a, b = (self._table.column(v).astype(np.intp) for v in (first, second))
        size = second.cardinality
        flat = np.bincount(a * size + b, self._weights, first.cardinality * size)
        return flat.astype(np.float64).reshape(first.cardinality, size)


def _refuse(name: str, value: Any, of: str) -> None:
    if value is not None:
        raise DataError(f"{name} is for {of}; got {value!r:.80}.")


def _discrete(variables: Sequence[Variable]) -> list[Discrete]:
    found = [v for v in variables if isinstance(v, Discrete)]
    if wrong := [v.name for v in variables if not isinstance(v, Discrete)]:
        raise DataError(
            f"Profiles are of discrete variables; {quoted(wrong)} are not. Name numbers that are "
            "categories in categorical=, or cut them into intervals."
        )
    return found


def signs(vectors: Floats) -> Floats:
    """Return the sign of each axis that makes its largest entry positive, the first of ties."""
    largest = np.argmax(np.abs(vectors).round(9), axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
