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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.display import Displayed, DisplayTable, more, rounded
from bayesgraph.encoding import columns_of
from bayesgraph.encoding.columns import encode_column
from bayesgraph.errors import DataError, quoted, unknown_variable
from bayesgraph.factors.algebra import Floats
from bayesgraph.profiles.crosstab import Crosstab, crosstab
from bayesgraph.profiles.sources import Rows, Source, signs
from bayesgraph.typing import EvidenceLike, TableLike
from bayesgraph.variables import Discrete, Name, State

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
