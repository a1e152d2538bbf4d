"""Axes of variables: principal and discriminant ones, and those of correspondence analyses.

Principal axes are the directions of the largest variance: the singular vectors of the centred (and
by default standardised) columns. Discriminant axes are those of the largest variance between the
classes relative to that within them (Fisher 1936; Rao 1948): with the covariance W within classes
and B between their means, the vectors v of ``B v = l W v``, scaled to ``v' W v = 1``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, compress
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike

from bayesgraph.core.arrays import Floats, check_flags
from bayesgraph.core.display import Displayed, DisplayedByName, DisplayTable, more, rounded
from bayesgraph.core.errors import DataError, DataTypeError, quoted, unknown_variable
from bayesgraph.core.typing import EvidenceLike, TableLike
from bayesgraph.core.variables import Continuous, Discrete, Name, State, Variable
from bayesgraph.models import Belief, as_mapping
from bayesgraph.questions.estimators import model_of
from bayesgraph.questions.measures import finite_number
from bayesgraph.statistics import complete_rows
from bayesgraph.tables import columns_of, encode_column

# ------------------ Frequencies and moments of variables, from the rows of a table or from a model


# A table, a model, or a fitted estimator, which has one.
Source: TypeAlias = Any


def _pair_tables(
    source: Source,
    names: Sequence[Name],
    categorical: Iterable[Name] | str | None,
    sample_weight: ArrayLike | None,
    evidence: EvidenceLike,
) -> tuple[list[Discrete], dict[tuple[int, int], Floats], float | None]:
    """Return discrete variables, the cross table of each pair i < j, and the weight of all rows.

    Tables of a model have probabilities, and it has no rows: its weight is None.
    """
    if len(set(names)) < len(names) or len(names) < 2:
        raise DataError(f"Expected the names of two or more variables; got {quoted(names)}.")
    model, total = model_of(source), None
    if model is None:
        _refuse("evidence=", evidence, "a model; leave rows of a table out yourself")
        rows, weights = complete_rows(source, names, categorical, sample_weight)
        variables, total = list(rows.variables), float(weights.sum())
    else:
        _refuse("categorical=", categorical, "a table")
        _refuse("sample_weight=", sample_weight, "a table")
        variables = [model.variable(name) for name in names]
    if wrong := [v.name for v in variables if not isinstance(v, Discrete)]:
        raise DataError(
            f"Profiles are of discrete variables; {quoted(wrong)} are not. Name numbers that are "
            "categories in categorical=, or cut them into intervals."
        )
    discrete = [v for v in variables if isinstance(v, Discrete)]
    tables = {}
    for i, j in combinations(range(len(discrete)), 2):
        pair = discrete[i], discrete[j]
        if model is not None:
            tables[i, j] = np.asarray(model.query([names[i], names[j]], evidence).probabilities)
        else:
            # State codes: those of a row are the indices of its cell, which gets its weight.
            codes = tuple(rows.column(variable).astype(np.intp) for variable in pair)
            tables[i, j] = np.zeros([variable.cardinality for variable in pair])
            np.add.at(tables[i, j], codes, weights)
    return discrete, tables, total


def _refuse(name: str, value: Any, of: str) -> None:
    if value is not None:
        raise DataError(f"{name} is for {of}; got {value!r:.80}.")


def _encoded(table: TableLike, variables: Sequence[Variable]) -> list[Any]:
    """Return the columns of variables, missing where they do not fit."""
    columns = columns_of(table)
    for variable in variables:
        if variable.name not in columns:
            raise unknown_variable(variable.name, columns, where="The table")
    return [np.asarray(encode_column(v, columns[v.name], unseen="missing")) for v in variables]


def signs(vectors: Floats) -> Floats:
    """Return the signs, shape (k,), that make the largest entry of each column positive.

    `vectors` has shape (p, k), one axis a column; of entries of equal size the first one counts.
    """
    # Rounded, since entries of equal size may differ in their last digits.
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
        values = _encoded(table, list(map(Continuous, self.names)))
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
        notes = more(len(lines), _MAX_LINES, "lines"), more(len(self.variances), k, "axes")
        return DisplayTable(
            f"{kind} axes of {len(self.names)} variables",
            lines[:_MAX_LINES],
            header=("", *(f"axis {i + 1}" for i in range(k))),
            note="\n".join(filter(None, notes)),
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
    check_flags(standardise=standardise)
    _, _, (mean,), covariance = _moments(source, None, names, evidence, sample_weight)
    deviations = np.sqrt(covariance.diagonal())
    if standardise and not deviations.all():
        constant = [*compress(names, deviations == 0)]
        raise DataError(f"{quoted(constant)} do not vary: leave them out, or standardise=False.")
    unit = deviations if standardise else np.ones_like(deviations)
    variances, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
    variances = np.maximum(variances[::-1], 0.0)  # the largest first
    kept = variances > _ROUNDING * variances[0]
    vectors = vectors[:, ::-1][:, kept]
    vectors = signs(vectors) * vectors
    # The covariance of a variable with the scores by both standard deviations; 0 of a constant.
    divisors = np.where(deviations > 0, deviations, 1.0)
    correlations = vectors * np.sqrt(variances[kept]) * (unit / divisors)[:, None]
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
    # Axes k: classes, i and j: variables.
    between = np.einsum("k,ki,kj->ij", shares, means - mean, means - mean)
    scale = np.sqrt(within.diagonal())
    # Correlations have no units, so that the test of singularity does not depend on them.
    correlation = within / np.outer(scale, scale) if scale.all() else np.zeros_like(within)
    if np.linalg.eigvalsh(correlation)[0] <= len(scale) * np.finfo(float).eps:
        raise DataError(
            f"The covariance of {quoted(names)} within the classes is singular: one does not vary, "
            "or is a linear function of the others. Leave it out."
        )
    # B v = l W v, both in units of the standard deviations within the classes.
    variances, vectors = scipy.linalg.eigh(between / np.outer(scale, scale), correlation)
    # The means of K classes lie in a space of K - 1 dimensions.
    order = np.argsort(-variances, kind="stable")[: min(len(names), len(states) - 1)]
    # If all classes have one mean, no axis is kept: all variances are rounding error.
    kept = order[variances[order] > _ROUNDING * max(variances[order[0]], _ROUNDING)]
    directions = vectors[:, kept] / scale[:, None]
    # Scores have the variance 1 within the classes.
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

    Without a target there are no names of classes, but one share, 1, and one row of means. The
    covariance of rows has their number less that of classes as its denominator.

    Returns
    -------
    classes : tuple of states
        Those that occur.
    shares : ndarray, shape (n_classes,)
    means : ndarray, shape (n_classes, n_variables)
    within : ndarray, shape (n_variables, n_variables)
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise DataTypeError(f"names= takes the names of the numeric variables; got {names!r:.80}.")
    categorical, model = [] if target is None else [target], model_of(source)
    chosen = [*categorical, *names]
    least = 2 if model is None else 1
    if len(set(chosen)) < len(chosen) or len(chosen) < least:
        raise DataError(f"Axes are of {least} or more different variables; got {chosen!r}.")
    if model is None:
        _refuse("evidence=", evidence, "a model; leave rows of a table out yourself")
        rows, weights = complete_rows(source, chosen, categorical, sample_weight)
        variables = list(rows.variables)
    else:
        _refuse("sample_weight=", sample_weight, "a table")
        variables = list(map(model.variable, chosen))
    labels = variables.pop(0) if target is not None else None
    if labels is not None and not isinstance(labels, Discrete):
        raise DataError(f"The class of discriminant axes is a discrete variable; got {labels!r}.")
    if wrong := [v.name for v in variables if not isinstance(v, Continuous)]:
        raise DataError(f"Axes are of numeric variables; {quoted(wrong)} are not.")
    if model is not None:
        shares, cases = np.ones(1), [dict(as_mapping(evidence))]
        if labels is not None:
            if any(isinstance(value, Belief) for value in cases[0].values()):
                raise DataError("A Belief would hold in each class alone; give likelihoods.")
            shares = model.query(labels.name, evidence).probabilities
            cases = [{**cases[0], labels.name: state} for state in labels.states]
        classes = np.flatnonzero(shares > 0)
        answers = [model.query(list(names), cases[k]) for k in classes.tolist()]
        means = np.array([np.atleast_1d(answer.mean) for answer in answers])
        # The mean of the classes' covariances, weighted by their shares.
        within = np.einsum("k,kij->ij", shares[classes], [answer.covariance for answer in answers])
    else:
        codes = np.zeros(rows.n_rows, dtype=np.intp) if labels is None else rows.column(labels)
        values, counts = rows.values, np.bincount(codes, weights)
        classes, shares = np.flatnonzero(counts > 0), counts / counts.sum()
        means = np.array([np.average(values[codes == k], 0, weights[codes == k]) for k in classes])
        # Rounding errors are taken away, so that what is constant in a class has the variance 0.
        ends = [(values[codes == k].min(0), values[codes == k].max(0)) for k in classes]
        means = np.clip(means, *np.swapaxes(ends, 0, 1))
        # `means` has rows of the classes that occur only: codes become places among them.
        deviations = values - means[np.searchsorted(classes, codes)]
        freedom = weights.sum() - len(classes)
        if labels is None:
            freedom = freedom if freedom > 0 else 1.0  # a single row has no variance
        elif freedom <= 0:
            raise DataError(f"There are {len(classes)} classes of {target!r} in as many rows.")
        within = deviations.T @ (deviations * weights[:, None]) / freedom
    states = () if labels is None else tuple(labels.states[k] for k in classes.tolist())
    return states, shares[classes], means, within


# -------- Cross tables of two discrete variables: profiles, chi-squared, and which cells stand out


_MAX_ROWS, _MAX_COLUMNS = 20, 8


@dataclass(frozen=True, eq=False, repr=False)
class Crosstab(Displayed):
    """The joint frequencies of two discrete variables.

    Attributes
    ----------
    rows, columns : Discrete
    frequencies : ndarray, shape (r, c)
        Relative frequencies, or probabilities of a model, which sum to one.
    n : float or None
        Number of rows (sum of weights); None for a model, which gives no number of rows.
    """

    rows: Discrete
    columns: Discrete
    frequencies: Floats
    n: float | None

    @property
    def counts(self) -> Floats:
        """Counts; relative frequencies if no number of rows is known."""
        return self.frequencies * (1.0 if self.n is None else self.n)

    @property
    def row_masses(self) -> Floats:
        """Relative frequencies of the rows' states, shape (r,)."""
        return np.asarray(self.frequencies.sum(axis=1))

    @property
    def column_masses(self) -> Floats:
        """Relative frequencies of the columns' states, shape (c,)."""
        return np.asarray(self.frequencies.sum(axis=0))

    @property
    def row_profiles(self) -> Floats:
        """Distribution of the columns in each row, shape (r, c); NaN in a row that is empty."""
        return _divided(self.frequencies, self.row_masses[:, None])

    @property
    def column_profiles(self) -> Floats:
        """Distribution of the rows in each column, shape (r, c); NaN in a column that is empty."""
        return _divided(self.frequencies, self.column_masses)

    @property
    def expected(self) -> Floats:
        """Frequencies if rows and columns were independent, shape (r, c)."""
        return np.outer(self.row_masses, self.column_masses)

    @property
    def standardised(self) -> Floats:
        """Residuals ``(p - e) / sqrt(e)`` of frequencies p from expected e, 0 in empty rows.

        Their squares sum to the total inertia.
        """
        return np.nan_to_num(_divided(self.frequencies - self.expected, np.sqrt(self.expected)))

    @property
    def adjusted(self) -> Floats:
        """Adjusted residuals, shape (r, c): standard normal in large samples if independent.

        They are those of Haberman (1973); NaN for a model without a number of rows.
        """
        spread = np.outer(1.0 - self.row_masses, 1.0 - self.column_masses)
        size = math.nan if self.n is None else math.sqrt(self.n)
        return _divided(size * self.standardised, np.sqrt(np.maximum(spread, 0.0)))

    @property
    def inertia(self) -> float:
        """Total inertia: chi-squared divided by the number of rows (phi-squared)."""
        return float((self.standardised**2).sum())

    @property
    def chi_squared(self) -> float:
        """Pearson's statistic; NaN for a model without a number of rows."""
        return math.nan if self.n is None else self.n * self.inertia

    @property
    def degrees_of_freedom(self) -> int:
        """Those of chi-squared: (r - 1) (c - 1) for the states that occur."""
        r, c = self._n_states
        return (r - 1) * (c - 1)

    @property
    def p_value(self) -> float:
        """Probability of at least this chi-squared if rows and columns are independent."""
        if not self.degrees_of_freedom:
            return math.nan if self.n is None else 1.0
        return float(scipy.special.chdtrc(self.degrees_of_freedom, self.chi_squared))

    @property
    def cramers_v(self) -> float:
        """Cramér's V: the root of the inertia as a share of its maximum, from 0 to 1."""
        most = min(self._n_states) - 1
        return math.sqrt(self.inertia / most) if most else 0.0

    @property
    def _n_states(self) -> tuple[int, int]:
        """Numbers of the rows' and of the columns' states that occur."""
        return int((self.row_masses > 0).sum()), int((self.column_masses > 0).sum())

    def _display(self) -> DisplayTable:
        shown = self.row_profiles[:_MAX_ROWS, :_MAX_COLUMNS]
        names = [str(state) for state in self.columns.states[:_MAX_COLUMNS]]
        # The states and masses end where the rows that are shown do.
        lines = [
            (str(state), *(f"{p:.4f}" for p in profile), f"{mass:.4f}")
            for state, profile, mass in zip(self.rows.states, shown, self.row_masses, strict=False)
        ]
        mean = [f"{p:.4f}" for p in self.column_masses[:_MAX_COLUMNS]]
        test = f"inertia {rounded(self.inertia, 6)}, Cramér's V {self.cramers_v:.4f}"
        if self.n is not None:
            test = (
                f"chi-squared {rounded(self.chi_squared, 6)}, {self.degrees_of_freedom} degrees of "
                f"freedom, p-value {rounded(self.p_value)}; {test}; "
                f"{rounded(self.n, 10, grouped=True)} rows"
            )
        left = more(self.rows.cardinality, len(lines), "rows")
        right = more(self.columns.cardinality, len(names), "columns")
        return DisplayTable(
            f"Profiles of {self.columns.name} in the states of {self.rows.name}",
            [*lines, ("all", *mean, "1.0000")],
            header=("", *names, "mass"),
            note="\n".join(filter(None, (test, left, right))),
        )


def _divided(values: Floats, by: Floats) -> Floats:
    """Return quotients, NaN where the divisor is 0."""
    return np.where(by > 0, values / np.where(by > 0, by, 1.0), np.nan)


def crosstab(
    source: Source,
    rows: Name,
    columns: Name,
    *,
    evidence: EvidenceLike = None,
    n: float | None = None,
    categorical: Iterable[Name] | str | None = None,
    sample_weight: ArrayLike | None = None,
) -> Crosstab:
    """Return the joint frequencies of two discrete variables, with their profiles.

    Parameters
    ----------
    source : table, Model or fitted estimator
        A model gives its joint posterior. Rows of a table with a missing value in one of the two
        columns are left out.
    rows, columns : name
    evidence : mapping from name to value, optional
        For a model, as in `query`.
    n : float, optional
        For a model, the number of rows for which chi-squared is stated.
    categorical : list of column names or "all", optional
        Numeric columns of a table to treat as discrete.
    sample_weight : array_like, shape (n_rows,), optional
        How often each row of a table was observed.

    Raises
    ------
    DataError
        For variables that are not discrete, or arguments that are for the other kind of source.
    UnknownVariableError
        For an unknown name.

    Examples
    --------
    >>> rows = {"sex": list("mmmmffff"), "smokes": list("yyynnnny")}
    >>> table = crosstab(rows, "sex", "smokes")
    >>> table.row_profiles.tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    >>> table.chi_squared, table.cramers_v
    (2.0, 0.5)
    """
    (first, second), tables, total = _pair_tables(
        source, [rows, columns], categorical, sample_weight, evidence
    )
    if n is not None and total is not None:
        raise DataError(f"n= is for a model; the table has {total:g} rows.")
    frequencies = tables[0, 1] / tables[0, 1].sum()
    return Crosstab(first, second, frequencies, total if n is None else finite_number("n=", n))


# ------------------------------------ Simple and multiple correspondence analysis (Greenacre 2007)
# Simple correspondence analysis decomposes the inertia of a cross table, chi-squared divided by the
# number of rows. With the matrix S of standardised residuals and its singular value decomposition
# ``S = U diag(s) V'``, axis k has the inertia s_k^2, and the standard coordinates of the states are
# ``U_k / sqrt(masses)`` and ``V_k / sqrt(masses)``. Principal coordinates are these times s_k: the
# squared distance of two states is the chi-squared distance of their profiles.
#
# Multiple correspondence analysis does the same with the Burt matrix of all pairs of Q variables,
# whose standardised residuals are symmetric. Their eigenvalues are the inertias of the indicator
# matrix (a row for each row of the table, a column for each state), their squares those of the Burt
# matrix.


INERTIAS = ("adjusted", "indicator", "burt")


@dataclass(frozen=True, eq=False)
class Points:
    """The states of a variable as points on the axes of a correspondence analysis.

    Attributes
    ----------
    variable : Discrete
    states : tuple of states
        Those that occur; each is a point.
    masses : ndarray, shape (m,)
        Relative frequencies; those of all variables of a multiple analysis sum to one.
    standard : ndarray, shape (m, k)
        Standard coordinates: on each axis their weighted mean is 0, and the weighted mean square 1
        (over all variables of a multiple analysis).
    inertias : ndarray, shape (k,)
        Inertias of the axes.
    """

    variable: Discrete
    states: tuple[State, ...]
    masses: Floats
    standard: Floats
    inertias: Floats

    @property
    def coordinates(self) -> Floats:
        """Principal coordinates, shape (m, k)."""
        return self.standard * np.sqrt(self.inertias)

    @property
    def contributions(self) -> Floats:
        """Share of each point in the inertia of each axis, shape (m, k)."""
        return self.masses[:, None] * self.standard**2

    @property
    def squared_cosines(self) -> Floats:
        """Share of each axis in the squared distance of a point from the centre, shape (m, k)."""
        squares = self.coordinates**2
        return np.nan_to_num(_divided(squares, squares.sum(axis=1, keepdims=True)))

    @property
    def inertia(self) -> Floats:
        """Inertia of each point: its mass times its squared distance, shape (m,)."""
        return np.asarray(self.masses * (self.coordinates**2).sum(axis=1))

    def __getitem__(self, state: State) -> Floats:
        """Return the principal coordinates of a state, shape (k,)."""
        # With their types, since True, 1 and 1.0 are equal and yet different states.
        states = [(type(s), s) for s in self.states]
        try:
            place = states.index((type(state), state))
        except ValueError:
            raise unknown_variable(
                state, self.states, where=f"The points of {self.variable.name!r}"
            ) from None
        return np.asarray(self.coordinates[place])


@dataclass(frozen=True, eq=False, repr=False)
class Correspondence(DisplayedByName):
    """A correspondence analysis: a mapping from the name of a variable to its points.

    Attributes
    ----------
    points : tuple of Points
        One for each variable: rows and columns of a simple analysis, all of a multiple one.
    inertias : ndarray, shape (k,)
        Inertias of the axes, largest first.
    total : float
        Total inertia, of which they are shares.
    """

    points: tuple[Points, ...]
    inertias: Floats
    total: float
    _where = "The analysis"

    @property
    def shares(self) -> Floats:
        """Share of the total inertia on each axis, shape (k,)."""
        return self.inertias / self.total if self.total > 0 else np.zeros_like(self.inertias)

    @cached_property
    def _by_name(self) -> dict[Name, Points]:
        return {points.variable.name: points for points in self.points}

    def transform(self, table: TableLike) -> Floats:
        """Return the coordinates of the rows of a table, shape (n_rows, k).

        A row lies at the mean of the standard coordinates of its states: for the rows of the table
        of a multiple analysis, these are the principal coordinates of the indicator matrix. Missing
        values, and states that did not occur, are left out of the mean.
        """
        cells = []
        columns = _encoded(table, [points.variable for points in self.points])
        for points, codes in zip(self.points, columns, strict=True):
            # The code -1 of a missing value reads the last entry, which is NaN.
            standard = np.full((points.variable.cardinality + 1, len(self.inertias)), np.nan)
            standard[[points.variable.index(state) for state in points.states]] = points.standard
            cells.append(standard[codes])
        return np.asarray(np.ma.masked_invalid(cells).mean(axis=0).filled(np.nan))

    def _display(self) -> DisplayTable:
        k = min(_MAX_AXES - 1, len(self.inertias))
        lines: list[tuple[str, ...]] = [
            ("inertia", "", *(f"{x:.6f}" for x in self.inertias[:k])),
            ("share", "", *(f"{x:.4f}" for x in self.shares[:k])),
        ]
        states = [
            (f"{points.variable.name} = {state}", f"{mass:.4f}", *(f"{x:+.4f}" for x in row[:k]))
            for points in self.points
            for state, mass, row in zip(
                points.states, points.masses, points.coordinates, strict=True
            )
        ]
        lines += states[:_MAX_LINES]
        notes = more(len(states), _MAX_LINES, "states"), more(len(self.inertias), k, "axes")
        return DisplayTable(
            f"Correspondence analysis of {', '.join(map(str, self))}: inertia "
            f"{rounded(self.total, 6)}",
            lines,
            header=("", "mass", *(f"axis {i + 1}" for i in range(k))),
            note="\n".join(filter(None, notes)),
        )


def correspondence(
    source: Source | Crosstab,
    rows: Name | None = None,
    columns: Name | None = None,
    *,
    evidence: EvidenceLike = None,
    categorical: Iterable[Name] | str | None = None,
    sample_weight: ArrayLike | None = None,
) -> Correspondence:
    """Return the simple correspondence analysis of two discrete variables.

    Parameters
    ----------
    source : table, Model, fitted estimator, or Crosstab
    rows, columns : name
        Left out with a Crosstab, which has them.
    evidence, categorical, sample_weight
        As in `crosstab`.

    Raises
    ------
    DataError
        If a variable has one state only, and as `crosstab` does.

    Examples
    --------
    >>> rows = {"sex": list("mmmmffff"), "smokes": list("yyynnnny")}
    >>> correspondence(rows, "sex", "smokes")
    Correspondence analysis of sex, smokes: inertia 0.25
                    mass    axis 1
      inertia             0.250000
      share                 1.0000
      sex = f     0.5000   +0.5000
      sex = m     0.5000   -0.5000
      smokes = n  0.5000   +0.5000
      smokes = y  0.5000   -0.5000
    """
    table = source
    if not isinstance(source, Crosstab):
        options: Any = {"categorical": categorical, "sample_weight": sample_weight}
        table = crosstab(source, rows, columns, evidence=evidence, **options)
    elif rows is not None or columns is not None:
        raise DataError(f"A Crosstab has its variables; got {quoted([rows, columns])} too.")
    if min(table._n_states) < 2:
        raise DataError("Correspondence analysis takes two states or more of each variable.")
    analysis = _analysed([table.rows, table.columns], {(0, 1): table.frequencies}, "adjusted")
    # The masses of both variables together sum to one; in a simple analysis those of each do.
    return replace(
        analysis, points=tuple(replace(one, masses=2.0 * one.masses) for one in analysis.points)
    )


def multiple_correspondence(
    source: Source,
    names: Sequence[Name],
    *,
    inertia: str = "adjusted",
    evidence: EvidenceLike = None,
    categorical: Iterable[Name] | str | None = None,
    sample_weight: ArrayLike | None = None,
) -> Correspondence:
    """Return the multiple correspondence analysis of several discrete variables.

    It takes the cross tables of all pairs, which a model gives too.

    Parameters
    ----------
    source : table, Model or fitted estimator
    names : sequence of names
        Q variables, two or more.
    inertia : {"adjusted", "indicator", "burt"}
        * "adjusted": axes with an indicator inertia m above 1 / Q have the inertia
          ``(Q / (Q - 1))^2 (m - 1 / Q)^2``, and the total is that between different variables
          (Greenacre 2007, chapter 19). For two variables they are those of the simple analysis.
        * "indicator": those of the indicator matrix; "burt": their squares.
    evidence, categorical, sample_weight
        As in `crosstab`.

    Raises
    ------
    DataError
        For an unknown `inertia`, and as `crosstab` does.
    """
    if inertia not in INERTIAS:
        raise DataError(f"inertia= is one of {quoted(INERTIAS)}; got {inertia!r}.")
    variables, tables, _ = _pair_tables(source, names, categorical, sample_weight, evidence)
    return _analysed(variables, tables, inertia)


def _analysed(
    variables: Sequence[Discrete], tables: Mapping[tuple[int, int], Floats], inertia: str
) -> Correspondence:
    """Return the correspondence analysis of the cross tables of all pairs of variables.

    The axes are eigenvectors of the standardised residuals of the Burt matrix (Greenacre 2007,
    chapter 19); for `inertia` see `multiple_correspondence`.
    """
    q = len(variables)
    # The Burt matrix, which sums to one, has a block for each pair of variables.
    blocks: list[list[Any]] = [[None] * q for _ in range(q)]
    for (i, j), counts in tables.items():
        blocks[i][j] = counts / counts.sum()
        blocks[j][i] = blocks[i][j].T
    for i in range(q):
        # A row has one state of a variable: its block with itself has the probabilities of the
        # states on the diagonal, which are sums over the next variable.
        blocks[i][i] = np.diag(blocks[i][(i + 1) % q].sum(axis=1))
    burt = np.block(blocks) / q**2
    # Rows and columns are the states that occur, of one variable after the other.
    occurs = burt.diagonal() > 0
    burt = burt[np.ix_(occurs, occurs)]
    # The diagonal has P(state) / q^2, so that the masses P(state) / q of all variables sum to one.
    masses = burt.diagonal() * q
    roots = np.sqrt(masses)
    # The standardised residuals (p - e) / sqrt(e), where e is the product of two masses.
    residuals = burt / np.outer(roots, roots) - np.outer(roots, roots)
    eigenvalues, vectors = np.linalg.eigh(residuals)  # in ascending order
    # Smaller eigenvalues have no inertia, beyond the errors of rounding.
    smallest = 1.0 / q if inertia == "adjusted" else 0.0
    smallest += _ROUNDING * max(eigenvalues[-1], 0.0) + _ROUNDING
    kept = np.flatnonzero(eigenvalues > smallest)[::-1]
    eigenvalues, vectors = eigenvalues[kept], vectors[:, kept]
    # That of the Burt matrix; that of the indicator matrix is the number of states by q, less 1.
    total = float((residuals**2).sum())
    if inertia == "indicator":
        inertias, total = eigenvalues, len(masses) / q - 1.0
    elif inertia == "burt":
        inertias = eigenvalues**2
    else:
        inertias = (q / (q - 1.0)) ** 2 * (eigenvalues - 1.0 / q) ** 2
        # Without the inertia of each variable with itself, the number of its states less 1 by q^2.
        total = q / (q - 1.0) * (total - (len(masses) - q) / q**2)
    # Each variable's part of `occurs`, and of the rows of the Burt matrix.
    masks = np.split(occurs, np.cumsum([variable.cardinality for variable in variables])[:-1])
    ends = np.cumsum([mask.sum() for mask in masks])[:-1]
    # The sign of an eigenvector is arbitrary: the states of the first variable decide.
    standard = np.ascontiguousarray(signs(vectors[: masks[0].sum()]) * vectors / roots[:, None])
    states = [tuple(compress(v.states, mask)) for v, mask in zip(variables, masks, strict=True)]
    parts = zip(variables, states, np.split(masses, ends), np.split(standard, ends), strict=True)
    return Correspondence(tuple(Points(*part, inertias) for part in parts), inertias, total)
