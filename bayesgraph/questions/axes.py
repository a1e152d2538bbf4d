"""Principal and discriminant axes of numeric variables.

Principal axes are the directions of the largest variance: the singular vectors of the centred (and
by default standardised) columns. Discriminant axes are those of the largest variance between the
classes relative to that within them (Fisher 1936; Rao 1948): with the covariance W within classes
and B between their means, the vectors v of ``B v = l W v``, scaled to ``v' W v = 1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike

from bayesgraph.core.arrays import Floats
from bayesgraph.core.display import Displayed, DisplayTable, more, rounded
from bayesgraph.core.errors import DataError, DataTypeError, quoted, unknown_variable
from bayesgraph.core.typing import EvidenceLike, TableLike
from bayesgraph.core.variables import Continuous, Discrete, Name, State, Variable
from bayesgraph.models import Model
from bayesgraph.statistics import complete_rows
from bayesgraph.tables import columns_of, encode_column

# ------------------ Frequencies and moments of variables, from the rows of a table or from a model


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


# -------------------------------------------- Principal and discriminant axes of numeric variables


# Axes with less than this share of the largest variance are rounding error.
_ROUNDING = 1e-12
_MAX_LINES, _MAX_AXES = 40, 4


@dataclass(frozen=True, eq=False, repr=False)
class Axes(Displayed):
    """Axes of numeric variables: linear functions of them, the most telling first.

    The score of a point x on the axes is ``(x - mean) @ directions``.

    Attributes
    ----------
    names : tuple of names
        The p variables.
    mean : ndarray, shape (p,)
    directions : ndarray, shape (p, k)
        Weights of the variables, in scores per unit of each variable.
    variances : ndarray, shape (k,)
        Variance of the scores on principal axes; on discriminant axes that between the classes,
        where the variance within them is 1.
    total : float
        Sum of the variances of all axes.
    correlations : ndarray, shape (p, k)
        Correlation of each variable with the scores; on discriminant axes within the classes.
    classes : tuple of states
        The classes of discriminant axes; empty for principal axes.
    centres : ndarray, shape (number of classes, k)
        Scores of the means of the classes.
    """

    names: tuple[Name, ...]
    mean: Floats
    directions: Floats
    variances: Floats
    total: float
    correlations: Floats
    classes: tuple[State, ...]
    centres: Floats

    @property
    def shares(self) -> Floats:
        """Share of each axis in the total variance, shape (k,)."""
        return self.variances / self.total if self.total > 0 else np.zeros_like(self.variances)

    def transform(self, table: TableLike) -> Floats:
        """Return the scores of the rows of a table, shape (n_rows, k); NaN if a value is missing.

        Raises
        ------
        UnknownVariableError
            If the table lacks a variable.
        """
        columns = columns_of(table)
        for name in self.names:
            if name not in columns:
                raise unknown_variable(name, columns, where="The table")
        values = [encode_column(Continuous(n), columns[n], unseen="missing") for n in self.names]
        return np.asarray((np.column_stack(values) - self.mean) @ self.directions)

    def _display(self) -> DisplayTable:
        k = min(_MAX_AXES, len(self.variances))
        lines = [
            ("variance", *(rounded(x, 6) for x in self.variances[:k])),
            ("share", *(f"{x:.4f}" for x in self.shares[:k])),
        ]
        pairs = zip(self.names, self.correlations[:, :k], strict=True)
        lines += [(f"r with {name}", *(f"{x:+.4f}" for x in row)) for name, row in pairs]
        means = zip(self.classes, self.centres[:, :k], strict=True)
        lines += [(f"mean of {state}", *(f"{x:+.4f}" for x in row)) for state, row in means]
        kind = "Discriminant" if self.classes else "Principal"
        notes = [more(len(lines), min(len(lines), _MAX_LINES), "lines")]
        notes.append(more(len(self.variances), k, "axes"))
        return DisplayTable(
            f"{kind} axes of {len(self.names)} variables",
            lines[:_MAX_LINES],
            header=("", *(f"axis {i + 1}" for i in range(k))),
            note="\n".join(note for note in notes if note),
        )


def principal_axes(
    source: Source,
    names: Sequence[Name],
    *,
    standardise: bool = True,
    evidence: EvidenceLike = None,
    sample_weight: ArrayLike | None = None,
) -> Axes:
    """Return the principal axes of numeric variables (principal component analysis).

    Parameters
    ----------
    source : table, Model or fitted estimator
        A model gives the covariance of its joint posterior. Rows of a table with a missing value in
        one of the columns are left out.
    names : sequence of names
        Numeric variables, two or more.
    standardise : bool
        Divide each variable by its standard deviation, so that units do not matter.
    evidence : mapping from name to value, optional
        For a model, as in `query`.
    sample_weight : array_like, shape (n_rows,), optional
        How often each row of a table was observed. Variances have the sum of weights less 1 as
        their denominator.

    Raises
    ------
    DataError
        For variables that are not numeric, or constant ones that are to be standardised.
    UnknownVariableError
        For an unknown name.

    Examples
    --------
    >>> rows = {"x": [0.0, 1.0, 2.0, 3.0], "y": [0.0, 2.0, 4.0, 6.0]}
    >>> principal_axes(rows, ["x", "y"]).shares.round(6).tolist()
    [1.0]
    """
    _, _, (mean,), covariance = _moments(source, None, names, evidence, sample_weight)
    scale = np.sqrt(covariance.diagonal())
    if standardise and not scale.all():
        constant = [name for name, sd in zip(names, scale.tolist(), strict=True) if not sd]
        raise DataError(f"{quoted(constant)} do not vary: leave them out, or standardise=False.")
    unit = scale if standardise else np.ones_like(scale)
    variances, directions = np.linalg.eigh(covariance / np.outer(unit, unit))
    variances, directions = np.maximum(variances[::-1], 0.0), directions[:, ::-1]
    kept = variances > _ROUNDING * variances[0]
    vectors = directions[:, kept]
    vectors = signs(vectors) * vectors
    sizes = np.where(scale > 0, scale, 1.0)
    correlations = vectors * np.sqrt(variances[kept]) * (unit / sizes)[:, None]
    return Axes(
        tuple(names),
        mean,
        vectors / unit[:, None],
        variances[kept],
        float(variances.sum()),
        correlations,
        (),
        np.empty((0, int(kept.sum()))),
    )


def discriminant_axes(
    source: Source,
    target: Name,
    names: Sequence[Name],
    *,
    evidence: EvidenceLike = None,
    sample_weight: ArrayLike | None = None,
) -> Axes:
    """Return the discriminant axes of numeric variables, which set the classes apart.

    Parameters
    ----------
    source : table, Model or fitted estimator
        A model gives the class probabilities, and mean and covariance within each class. The
        covariance within the classes of a table has the number of rows less that of classes as its
        denominator.
    target : name
        The class, a discrete variable.
    names : sequence of names
        Numeric variables.
    evidence, sample_weight
        As in `principal_axes`.

    Raises
    ------
    DataError
        For variables of other kinds, fewer than two classes, or variables whose covariance within
        the classes is singular.
    UnknownVariableError
        For an unknown name.
    """
    states, shares, means, within = _moments(source, target, names, evidence, sample_weight)
    if len(states) < 2:
        raise DataError(f"Discriminant axes take two classes or more of {target!r}.")
    mean = shares @ means
    between = np.einsum("k,ki,kj->ij", shares, means - mean, means - mean)
    scale = np.sqrt(within.diagonal())
    # Correlations have no units, so that the test of singularity does not depend on them.
    correlation = within / np.outer(scale, scale) if scale.all() else np.zeros_like(within)
    if np.linalg.eigvalsh(correlation)[0] <= len(scale) * np.finfo(float).eps:
        raise DataError(
            f"The covariance of {quoted(names)} within the classes is singular: one does not vary, "
            "or is a linear function of the others. Leave it out."
        )
    variances, vectors = scipy.linalg.eigh(between / np.outer(scale, scale), correlation)
    order = np.argsort(-variances, kind="stable")[: min(len(names), len(states) - 1)]
    kept = order[variances[order] > _ROUNDING * max(variances[order[0]], _ROUNDING)]
    directions = vectors[:, kept] / scale[:, None]
    correlations = within @ directions / scale[:, None]
    sign = signs(correlations)
    directions, correlations = directions * sign, correlations * sign
    return Axes(
        tuple(names),
        mean,
        directions,
        variances[kept],
        float(variances[kept].sum()),
        correlations,
        states,
        (means - mean) @ directions,
    )


def _moments(
    source: Source,
    target: Name | None,
    names: Sequence[Name],
    evidence: EvidenceLike,
    sample_weight: ArrayLike | None,
) -> tuple[tuple[State, ...], Floats, Floats, Floats]:
    """Return classes, their shares and means, and the covariance within; one class without target.

    The covariance of rows has their number less that of classes as its denominator.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise DataTypeError(f"names= takes the names of the numeric variables; got {names!r:.80}.")
    chosen, model = [*([] if target is None else [target]), *names], model_of(source)
    least = 2 if model is None else 1
    if len(set(chosen)) < len(chosen) or len(chosen) < least:
        raise DataError(f"Axes are of {least} or more different variables; got {chosen!r}.")
    if model is None:
        _refuse("evidence=", evidence, "a model; leave rows of a table out yourself")
        rows, weights = complete_rows(
            source, chosen, None if target is None else [target], sample_weight
        )
        found = list(rows.variables)
    else:
        _refuse("sample_weight=", sample_weight, "a table")
        found = list(map(model.variable, chosen))
    labels = found.pop(0) if target is not None else None
    if labels is not None and not isinstance(labels, Discrete):
        raise DataError(f"The class of discriminant axes is a discrete variable; got {labels!r}.")
    if wrong := [v.name for v in found if not isinstance(v, Continuous)]:
        raise DataError(f"Axes are of numeric variables; {quoted(wrong)} are not.")
    if model is not None:
        shares, given = np.ones(1), [dict(evidence or {})]
        if labels is not None:
            shares = model.query(labels.name, evidence).probabilities
            given = [{**given[0], labels.name: state} for state in labels.states]
        seen = np.flatnonzero(shares > 0)
        answers = [model.query(list(names), given[k]) for k in seen.tolist()]
        means = np.array([np.atleast_1d(answer.mean) for answer in answers])
        within = np.einsum("k,kij->ij", shares[seen], [answer.covariance for answer in answers])
    else:
        codes = np.zeros(rows.n_rows, dtype=np.intp) if labels is None else rows.column(labels)
        values, counts = rows.values, np.bincount(codes, weights)
        seen, shares = np.flatnonzero(counts > 0), counts / counts.sum()
        means = np.array([np.average(values[codes == k], 0, weights[codes == k]) for k in seen])
        away = values - means[np.searchsorted(seen, codes)]
        freedom = weights.sum() - len(seen)
        if freedom <= 0 and labels is not None:
            raise DataError(f"There are {len(seen)} classes of {target!r} in as many rows.")
        within = away.T @ (away * weights[:, None]) / max(freedom, 1.0 if labels is None else 0.0)
    states = () if labels is None else tuple(labels.states[k] for k in seen.tolist())
    return states, shares[seen], means, within
