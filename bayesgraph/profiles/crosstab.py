"""Cross tables of two discrete variables: profiles, chi-squared, and which cells stand out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from bayesgraph.display import Displayed, DisplayTable, more, rounded
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.profiles.sources import Rows, Source
from bayesgraph.typing import EvidenceLike
from bayesgraph.variables import Discrete, Name

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
