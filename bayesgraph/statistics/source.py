"""Count sources: objects that give learners statistics, from a table or already collected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError, quoted, unknown_variable
from bayesgraph.core.parallel import blocks, is_exact, sampled, tree_sum
from bayesgraph.core.typing import TableLike
from bayesgraph.core.variables import Binned, Continuous, Discrete, MissingIndicator, Name, Variable
from bayesgraph.statistics import leaves, requests, summaries
from bayesgraph.statistics.moments import safe_divide
from bayesgraph.statistics.summaries import FamilyStatistics
from bayesgraph.tables import Table, TrainingRows, columns_of, infer_variables

# --------- Count sources: objects that give learners statistics, from a table or already collected


Summary: TypeAlias = (
    summaries.SinglesSummary
    | summaries.PairsSummary
    | summaries.FamiliesSummary
    | leaves.MomentsSummary
    | leaves.SamplesSummary
    | leaves.HistogramsSummary
    | leaves.TotalsSummary
)

# The class of the summary that answers each type of request.
_SUMMARIES: dict[type[requests.Request], Any] = {
    requests.Singles: summaries.SinglesSummary,
    requests.Pairs: summaries.PairsSummary,
    requests.Families: summaries.FamiliesSummary,
    requests.Extensions: summaries.ExtensionsSummary,
    requests.Moments: leaves.MomentsSummary,
    requests.Samples: leaves.SamplesSummary,
    requests.Histograms: leaves.HistogramsSummary,
    requests.Totals: leaves.TotalsSummary,
}


def _collected(table: Table, request: requests.Request, weights: Floats) -> Any:
    """Return the summary of a table that answers a request, summed in the order of `blocks`.

    Counts are exact in any order if the weights are whole, and moments are summed in blocks by
    their own classes; with other weights all sums are.
    """
    kind = _SUMMARIES[type(request)]
    if is_exact(weights):
        return kind.collect(table, request, weights)
    return tree_sum(
        kind.collect(table.rows(rows), request, weights[rows]) for rows in blocks(table.n_rows)
    )


@dataclass(frozen=True)
class Statistics:
    """A set of summaries by request, with + and -; ``Statistics()`` is the neutral element."""

    summaries: Mapping[requests.Request, Summary] = field(default_factory=dict)

    @classmethod
    def collect(
        cls, table: Table, requests: Iterable[requests.Request], weights: Floats
    ) -> Statistics:
        """Return the requested summaries of a table; `weights` is empty if every row weighs 1."""
        return cls({request: _collected(table, request, weights) for request in requests})

    def __add__(self, other: Statistics) -> Statistics:
        if not self.summaries:
            return other
        if not other.summaries:
            return self
        self._check_requests(other)
        return Statistics({r: s + other.summaries[r] for r, s in self.summaries.items()})  # type: ignore[operator]

    def __sub__(self, other: Statistics) -> Statistics:
        """Return the statistics of the remaining rows when the rows of `other` are removed."""
        self._check_requests(other)
        return Statistics({r: s - other.summaries[r] for r, s in self.summaries.items()})  # type: ignore[operator]

    def _check_requests(self, other: Statistics) -> None:
        if self.summaries.keys() != other.summaries.keys():
            raise DataError(
                "Only statistics of the same requests on the same variables can be added; encode "
                "all batches with the same variables."
            )

    def family(self, family: requests.Family) -> FamilyStatistics | None:
        """Return the statistics of a family by the first summary that holds them, else None."""
        for summary in self.summaries.values():
            if statistics := summary.family(family):
                return statistics
        return None

    def grown(self, renamed: Mapping[Variable, Variable]) -> Statistics:
        """Return the statistics for variables that are extended by additional states.

        `renamed` maps variables to the variables that replace them.
        """
        grown = [summary.grown(renamed) for summary in self.summaries.values()]
        return Statistics({summary.request: summary for summary in grown})


class CountSource:
    """What learners of structure and parameters request statistics of the data from.

    It answers requests from the statistics that it holds; sources that have the rows, `TableSource`
    and `DatasetSource`, collect others in a pass over them.

    Attributes
    ----------
    variables : tuple of Variable
        All columns.
    target : Discrete or None
        The class, if there is one.
    features : tuple of Variable
        All columns but the class.
    class_weights : ndarray, shape (n_classes,), or None
        Weights of the classes of the target that the weights of the rows do not contain.
    """

    class_weights: Floats | None = None

    def __init__(
        self, variables: tuple[Variable, ...], target: Discrete | None, statistics: Statistics
    ) -> None:
        self.variables = variables
        self.target = target
        self.features = tuple([v for v in variables if v is not target])
        self._summaries = dict(statistics.summaries)
        self._variances: dict[Continuous, float] = {}

    @property
    def statistics(self) -> Statistics:
        """All statistics collected so far."""
        return Statistics(dict(self._summaries))

    @property
    def passes(self) -> int:
        """Number of passes over the data by which the cached summaries were collected."""
        return len(self._summaries)

    def _collected(self, request: requests.Request) -> Any:
        raise DataError(
            f"The statistics do not hold the requested {type(request).__name__.lower()}. This "
            "structure chooses what to count from what it has seen, which takes further passes "
            "over the data; fit it on the whole table."
        )

    def summary(self, request: requests.Request) -> Any:
        """Return the summary with the requested statistics; collect it if it is not cached."""
        if request in self._summaries:
            return self._summaries[request]
        if isinstance(request, requests.Moments):
            held = (s for s in self._summaries.values() if isinstance(s, leaves.MomentsSummary))
            if part := next(filter(None, (summary.part(request) for summary in held)), None):
                return part
        self._summaries[request] = self._collected(request)
        return self._summaries[request]

    @property
    def copies(self) -> int:
        """Maximum number of summaries that are held at a time when one is collected."""
        return 1

    def holds(self, request: requests.Singles | requests.Pairs) -> bool:
        """Return whether the requested statistics are already collected."""
        if isinstance(request, requests.Pairs):
            return request in self._summaries
        return self._singles(request) is not None

    def _singles(self, request: requests.Singles) -> summaries.SinglesSummary | None:
        for summary in self._summaries.values():
            singles = summary.singles if isinstance(summary, summaries.PairsSummary) else summary
            if isinstance(singles, summaries.SinglesSummary) and singles.answers(request):
                return singles
        return None

    def singles(self, request: requests.Singles) -> summaries.SinglesSummary:
        """Return a summary that contains the requested statistics of single columns."""
        summary: summaries.SinglesSummary = self._singles(request) or self.summary(request)
        return summary

    def pairs(self, request: requests.Pairs, *, keep: bool = True) -> summaries.PairsSummary:
        """Return the joint statistics of all pairs of the requested columns.

        With ``keep=False`` they are not cached.
        """
        is_kept = keep or self.holds(request)
        pairs: summaries.PairsSummary = (self.summary if is_kept else self._collected)(request)
        return pairs

    def families(
        self, families: Iterable[requests.Family], *, keep: bool = True
    ) -> dict[requests.Family, FamilyStatistics]:
        """Return the joint statistics (counts, moments) of families, which are sets of columns.

        They are taken from cached summaries if possible; all other families are collected in one
        pass. With ``keep=False`` the latter are not cached, because a structure search requests
        many more families than its model will have.
        """
        held = Statistics(self._summaries)
        answers = {family: held.family(family) for family in dict.fromkeys(families)}
        if rest := tuple(family for family, statistics in answers.items() if statistics is None):
            request = requests.Families(rest)
            summary = self.summary(request) if keep else self._collected(request)
            answers |= zip(rest, summary.found, strict=True)
        return answers  # type: ignore[return-value]  # there is no None any more

    def extensions(self, request: requests.Extensions) -> Floats:
        """Return the joint counts of discrete columns, each together with the same other columns.

        They are collected in one pass, and not cached.

        Returns
        -------
        ndarray, one-dimensional
            For each group the tables of shape (r, *cardinalities of the others) of its new columns,
            one after the other.
        """
        summary: summaries.ExtensionsSummary = self._collected(request)
        return summary.counts

    def variances(self, columns: Sequence[Continuous]) -> Floats:
        """Return the variance of each column over all rows, 0 for a column without values."""
        families = {v: requests.Family((), (v,)) for v in columns if v not in self._variances}
        statistics = self.families(families.values())
        for v, family in families.items():
            square, count = statistics[family].comoment[0, 0], statistics[family].counts
            self._variances[v] = float(safe_divide(square, count))
        return np.array([self._variances[v] for v in columns])

    def total_weight(self) -> float:
        """Return the sum of the weights of the rows, those of classes included."""
        family = requests.Family(() if self.target is None else (self.target,))
        counts = self.families([family], keep=False)[family].counts
        return float((counts if self.class_weights is None else counts * self.class_weights).sum())

    def with_features(self, features: tuple[Variable, ...]) -> Self:
        """Return the source restricted to these features; it shares the collected summaries."""
        source = copy(self)
        source.features = features
        source.variables = features if self.target is None else (*features, self.target)
        return source


class TableSource(CountSource):
    """A count source that reads a table in memory, once for each request.

    Parameters
    ----------
    table : Table
    target : Discrete, optional
    sample_weight : array_like, shape (n_rows,), optional
        Non-negative.

    Attributes
    ----------
    in_memory : bool
        Whether the rows are held, so that going through them again costs nothing.
    n_rows : int
        Number of all rows.
    table : Table
        The rows if they are held, else all or a sample of them.
    weights : ndarray, shape (n_rows of the table,) or (0,)
        Empty if every row weighs 1.
    """

    in_memory = True

    def __init__(
        self,
        table: Table,
        target: Discrete | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        super().__init__(table.variables, target, Statistics())
        if target is not None and (table.column(target) < 0).any():
            unlabelled = int(np.sum(table.column(target) < 0))
            raise DataError(
                f"The target {target.name!r} is missing in {unlabelled} of {table.n_rows} rows; "
                "drop these rows."
            )
        self.table, self.n_rows = table, table.n_rows
        self.weights = checked_weights(sample_weight, table.n_rows)

    def training_rows(self) -> TrainingRows:
        """Return how many rows and missing values there are, for the model that is fitted."""
        is_weighted = len(self.weights) or self.class_weights is not None
        weight = self.total_weight() if is_weighted else None
        return TrainingRows(self.n_rows, self.table.missing(), weight)

    def blocks(self, n_rows: int | None = None) -> Iterator[tuple[Table, Floats]]:
        """Yield all rows in order, as encoded blocks with their weights; each call reads them anew.

        Parameters
        ----------
        n_rows : int, optional
            Number of rows of a block, of which only the last has fewer: a divisor of the rows that
            are read together. By default a block is what is read together: a table in memory as a
            whole, a dataset in runs.
        """
        return sliced(self.table, self.weights, n_rows)

    def _collected(self, request: requests.Request) -> Any:
        return _collected(self.table, request, self.weights)

    def _of(self, table: Table, weights: Floats) -> TableSource:
        return TableSource(table, self.target, weights if len(weights) else None)

    def indicated(self, indicators: Sequence[MissingIndicator]) -> TableSource:
        """Return a source of the same rows in which indicators of missing values are features."""
        source = self._of(self.table.indicated(indicators), self.weights)
        source.class_weights = self.class_weights
        return source

    def merged(self, features: Sequence[Variable]) -> TableSource:
        """Return a source of the same rows with merged intervals.

        Parameters
        ----------
        features : sequence of Variable
            The features; intervals may be joined to longer ones.
        """
        table = self.table
        codes = table.codes.copy(order="F")
        by_old = dict(zip(self.features, features, strict=True))
        for fine, merged in by_old.items():
            if fine != merged:
                assert isinstance(fine, Binned)
                assert isinstance(merged, Binned)
                place = table.arrangement.place[fine]
                codes[:, place] = np.append(merged.codes_of(fine), -1)[codes[:, place]]
        variables = tuple(by_old.get(v, v) for v in table.variables)
        return self._of(replace(table, variables=variables, codes=codes), self.weights)

    def sample(self, n_rows: int) -> TableSource:
        """Return a source of about `n_rows` rows, chosen by their numbers, or of all if few."""
        share = n_rows / max(self.table.n_rows, 1)
        if share >= 1.0:
            # Its statistics are its own, as those of a dataset's sample are.
            return self._of(self.table, self.weights)
        chosen = sampled(0, self.table.n_rows, share)
        return self._of(
            self.table.rows(chosen), self.weights[chosen] if len(self.weights) else self.weights
        )


def sliced(table: Table, weights: Floats, n_rows: int | None) -> Iterator[tuple[Table, Floats]]:
    """Yield the rows of a table with their weights in blocks of `n_rows`; by default as a whole."""
    if n_rows is None:
        yield table, weights
        return
    for first in range(0, table.n_rows, n_rows):
        rows = slice(first, min(first + n_rows, table.n_rows))
        yield table.rows(rows), weights[rows]


def checked_weights(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    """Return weights of shape (n_rows,), or an empty array if every row weighs 1.

    Raises
    ------
    DataError
        For a wrong shape, a negative or infinite weight, NaN, or weights that are all zero.
    """
    if sample_weight is None:
        return np.empty(0)
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"sample_weight takes a number for each of the {n_rows} rows; got "
            f"{sample_weight!r:.200}."
        ) from error
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise DataError(
            f"sample_weight needs one weight for each of the {n_rows} rows; got shape "
            f"{weights.shape}."
        )
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise DataError("sample_weight takes finite non-negative numbers.")
    if not weights.any():
        raise DataError("sample_weight is zero for every row.")
    return weights


# --------------- Encoded tables of a few columns, without the rows in which one of them is missing


def complete_rows(
    table: TableLike,
    names: Sequence[Name],
    categorical: Iterable[Name] | str | None,
    sample_weight: ArrayLike | None,
) -> tuple[Table, Floats]:
    """Return columns of a table in the rows that have all of their values and a positive weight.

    Returns
    -------
    Table
        The variables are in the order of the names.
    ndarray, shape (n_rows,)
        The weights of these rows.

    Raises
    ------
    UnknownVariableError
        For a name that is no column.
    DataError
        If no row is left.
    """
    columns = columns_of(table)
    for name in names:
        if name not in columns:
            raise unknown_variable(name, columns, where="The table")
    if categorical is not None and not isinstance(categorical, str):
        # Names of other columns are for other tests of the same table.
        categorical = [name for name in categorical if name in names or name not in columns]
    encoded = infer_variables({name: columns[name] for name in names}, categorical)
    given = checked_weights(sample_weight, encoded.n_rows)
    weights = given if len(given) else np.ones(encoded.n_rows)
    kept = weights > 0
    for variable in encoded.variables:
        column = encoded.column(variable)
        kept &= column >= 0 if isinstance(variable, Discrete) else ~np.isnan(column)
    if not kept.any():
        raise DataError(f"No row has a value in each of the columns {quoted(names)}.")
    return encoded.rows(kept), weights[kept]
