"""Simple and multiple correspondence analysis (Greenacre 2007).

Simple correspondence analysis decomposes the inertia of a cross table, chi-squared divided by the
number of rows. With the matrix S of standardised residuals and its singular value decomposition
``S = U diag(s) V'``, axis k has the inertia s_k^2, and the standard coordinates of the states are
``U_k / sqrt(masses)`` and ``V_k / sqrt(masses)``. Principal coordinates are these times s_k: the
squared distance of two states is the chi-squared distance of their profiles.

Multiple correspondence analysis does the same with the Burt matrix of all pairs of Q variables,
whose standardised residuals are symmetric. Their eigenvalues are the inertias of the indicator
matrix (a row for each row of the table, a column for each state), their squares those of the Burt
matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from bayesgraph.core.arrays import Floats
from bayesgraph.core.display import Displayed, DisplayTable, more, rounded
from bayesgraph.core.errors import DataError, quoted, unknown_variable
from bayesgraph.core.typing import EvidenceLike, TableLike
from bayesgraph.core.variables import Discrete, Name, State
from bayesgraph.questions.axes import Rows, Source, signs
from bayesgraph.tables import columns_of, encode_column

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
        e = self.expected
        return np.where(e > 0, (self.frequencies - e) / np.sqrt(np.where(e > 0, e, 1.0)), 0.0)

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
        r, c = (int((m > 0).sum()) for m in (self.row_masses, self.column_masses))
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
        r, c = (int((m > 0).sum()) for m in (self.row_masses, self.column_masses))
        return math.sqrt(self.inertia / (min(r, c) - 1)) if min(r, c) > 1 else 0.0

    def _display(self) -> DisplayTable:
        shown = self.row_profiles[:_MAX_ROWS, :_MAX_COLUMNS]
        names = [str(state) for state in self.columns.states[:_MAX_COLUMNS]]
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
            note="\n".join(part for part in (test, left, right) if part),
        )


def _divided(values: Floats, by: Floats) -> Floats:
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
    found = Rows(source, [rows, columns], categorical, sample_weight, evidence)
    if n is not None and found.total is not None:
        raise DataError(f"n= is for a model; the table has {found.total:g} rows.")
    counts = found.counts(*found.variables)
    size = found.total if n is None else float(n)
    first, second = found.variables
    return Crosstab(first, second, counts / counts.sum(), size)


# ------------------------------------ Simple and multiple correspondence analysis (Greenacre 2007)


INERTIAS = ("adjusted", "indicator", "burt")
# Axes with less than this share of the largest inertia are rounding error.
_ROUNDING = 1e-12
_MAX_LINES, _MAX_AXES = 40, 3


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
        total = squares.sum(axis=1, keepdims=True)
        return np.where(total > 0, squares / np.where(total > 0, total, 1.0), 0.0)

    @property
    def inertia(self) -> Floats:
        """Inertia of each point: its mass times its squared distance, shape (m,)."""
        return np.asarray(self.masses * (self.coordinates**2).sum(axis=1))

    def __getitem__(self, state: State) -> Floats:
        """Return the principal coordinates of a state, shape (k,)."""
        known = [(type(s), s) for s in self.states]
        try:
            place = known.index((type(state), state))
        except ValueError:
            where = f"The points of {self.variable.name!r}"
            raise unknown_variable(state, self.states, where=where) from None
        return np.asarray(self.coordinates[place])


@dataclass(frozen=True, eq=False, repr=False)
class Correspondence(Displayed, Mapping[Name, Points]):
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

    @property
    def shares(self) -> Floats:
        """Share of the total inertia on each axis, shape (k,)."""
        return self.inertias / self.total if self.total > 0 else np.zeros_like(self.inertias)

    def __getitem__(self, name: Name) -> Points:
        for points in self.points:
            if points.variable.name == name:
                return points
        raise unknown_variable(name, list(self), where="The analysis")

    def __iter__(self) -> Iterator[Name]:
        return iter([points.variable.name for points in self.points])

    def __len__(self) -> int:
        return len(self.points)

    def transform(self, table: TableLike) -> Floats:
        """Return the coordinates of the rows of a table, shape (n_rows, k).

        A row lies at the mean of the standard coordinates of its states: for the rows of the table
        of a multiple analysis, these are the principal coordinates of the indicator matrix. Missing
        values, and states that did not occur, are left out of the mean.
        """
        columns = columns_of(table)
        total = np.zeros(()), np.zeros(())
        for points in self.points:
            name = points.variable.name
            if name not in columns:
                raise unknown_variable(name, columns, where="The table")
            codes = np.asarray(encode_column(points.variable, columns[name], unseen="missing"))
            place = np.full(points.variable.cardinality + 1, -1)  # code -1 reads the last entry
            place[[points.variable.index(state) for state in points.states]] = range(
                len(points.states)
            )
            at = place[codes]
            seen = (at >= 0)[:, None]
            total = total[0] + np.where(seen, points.standard[at], 0.0), total[1] + seen
        return np.where(total[1] > 0, total[0] / np.maximum(total[1], 1), np.nan)

    def _display(self) -> DisplayTable:
        k = min(_MAX_AXES, len(self.inertias))
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
        notes = [more(len(states), min(len(states), _MAX_LINES), "states")]
        notes.append(more(len(self.inertias), k, "axes"))
        return DisplayTable(
            f"Correspondence analysis of {', '.join(map(str, self))}: inertia "
            f"{rounded(self.total, 6)}",
            lines,
            header=("", "mass", *(f"axis {i + 1}" for i in range(k))),
            note="\n".join(note for note in notes if note),
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
        table = crosstab(
            source,
            rows,
            columns,
            evidence=evidence,
            categorical=categorical,
            sample_weight=sample_weight,
        )
    elif rows is not None or columns is not None:
        raise DataError(f"A Crosstab has its variables; got {quoted([rows, columns])} too.")
    used = table.row_masses > 0, table.column_masses > 0
    if min(used[0].sum(), used[1].sum()) < 2:
        raise DataError("Correspondence analysis takes two states or more of each variable.")
    masses = table.row_masses[used[0]], table.column_masses[used[1]]
    left, values, right = np.linalg.svd(table.standardised[np.ix_(*used)], full_matrices=False)
    kept = values[: min(len(masses[0]), len(masses[1])) - 1] ** 2
    kept = kept[kept > _ROUNDING * max(kept[0], _ROUNDING)]
    k = len(kept)
    sign = signs(left[:, :k])
    sides = (table.rows, table.columns), used, masses, (left[:, :k], right[:k].T)
    points = tuple(
        Points(variable, _states(variable, own), mass, sign * x / np.sqrt(mass)[:, None], kept)
        for variable, own, mass, x in zip(*sides, strict=True)
    )
    return Correspondence(points, kept, table.inertia)


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
    found = Rows(source, names, categorical, sample_weight, evidence)
    burt, used = _burt(found)
    q = len(found.variables)
    masses = burt.diagonal() * q  # a state occurs once in a row: the diagonal has its frequency
    roots = np.sqrt(masses)
    residuals = burt / np.outer(roots, roots) - np.outer(roots, roots)
    values, vectors = np.linalg.eigh(residuals)
    values, vectors = values[::-1], vectors[:, ::-1]
    floor = 1.0 / q if inertia == "adjusted" else 0.0
    kept = np.flatnonzero(values > floor + _ROUNDING * max(values[0], 0.0) + _ROUNDING)
    values, vectors = values[kept], vectors[:, kept]
    total = float((residuals**2).sum())
    if inertia == "indicator":
        inertias, total = values, len(masses) / q - 1.0
    elif inertia == "burt":
        inertias = values**2
    else:
        inertias = (q / (q - 1.0)) ** 2 * (values - 1.0 / q) ** 2
        total = q / (q - 1.0) * (total - (len(masses) - q) / q**2)
    standard = signs(vectors) * vectors / roots[:, None]
    ends = np.cumsum([0, *(int(own.sum()) for own in used)])
    points = tuple(
        Points(v, _states(v, own), masses[a:b], standard[a:b], inertias)
        for v, own, a, b in zip(found.variables, used, ends[:-1], ends[1:], strict=True)
    )
    return Correspondence(points, inertias, total)


def _burt(found: Rows) -> tuple[Floats, list[Any]]:
    """Return the Burt matrix of the states that occur, which sums to one, and which these are."""
    variables = found.variables
    q = len(variables)
    blocks: list[list[Any]] = [[None] * q for _ in range(q)]
    for i, first in enumerate(variables):
        for j in range(i + 1, q):
            counts = found.counts(first, variables[j])
            blocks[i][j] = counts / counts.sum()
            blocks[j][i] = blocks[i][j].T
    for i in range(q):
        other = blocks[i][(i + 1) % q]
        blocks[i][i] = np.diag(other.sum(axis=1))
    burt = np.block(blocks) / q**2
    masses = [blocks[i][i].diagonal() > 0 for i in range(q)]
    occur = np.concatenate(masses)
    return burt[np.ix_(occur, occur)], masses


def _states(variable: Discrete, used: Any) -> tuple[State, ...]:
    return tuple(variable.states[i] for i in np.flatnonzero(used).tolist())
