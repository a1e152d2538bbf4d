"""Count sources: objects that give learners statistics, from a table or already collected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import call
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike

from bayesgraph import tables
from bayesgraph.core import parallel
from bayesgraph.core.arrays import Floats, real_numbers
from bayesgraph.core.errors import (
    BayesGraphWarning,
    DataError,
    DataTypeError,
    check_known,
    quoted,
    warn,
)
from bayesgraph.core.parallel import N_THREADS, blocks, in_order, is_exact, sampled, tree_sum
from bayesgraph.core.typing import TableLike
from bayesgraph.core.variables import (
    Binned,
    Continuous,
    Discrete,
    MissingIndicator,
    Name,
    State,
    Variable,
)
from bayesgraph.statistics import requests, summaries
from bayesgraph.statistics.requests import Extensions, Families, Request, Totals, safe_divide
from bayesgraph.statistics.summaries import FamilyStatistics
from bayesgraph.tables import (
    Table,
    TrainingRows,
    arrow,
    categorical_names,
    columns_of,
    factorise,
    infer_variables,
    is_discrete,
    naturally_ordered,
)

if TYPE_CHECKING:
    from bayesgraph.tables import Column, Dataset, EncodedRows, Rows, Run

# --------- Count sources: objects that give learners statistics, from a table or already collected


# The class of the summary that answers each type of request.
_SUMMARIES: dict[type[requests.Request], Any] = {
    requests.Singles: summaries.SinglesSummary,
    requests.Pairs: summaries.PairsSummary,
    requests.Families: summaries.FamiliesSummary,
    requests.Extensions: summaries.ExtensionsSummary,
    requests.Moments: summaries.MomentsSummary,
    requests.Samples: summaries.SamplesSummary,
    requests.Histograms: summaries.HistogramsSummary,
    requests.Totals: summaries.TotalsSummary,
}


def _collected(table: Table, request: requests.Request, weights: Floats) -> Any:
    """Return the summary of a table that answers a request, summed in the order of `blocks`.

    With whole weights counts are exact in any order, and the classes of moments sum these in blocks
    by themselves: the table is collected at once. With other weights, and of counts in the table,
    which need not be whole, every sum is rounded, and the summaries of the blocks are added here,
    always in the same order.
    """
    kind = _SUMMARIES[type(request)]
    if is_exact(weights) and not isinstance(request, Totals):
        return kind.collect(table, request, weights)
    return tree_sum(
        kind.collect(table.rows(rows), request, weights[rows]) for rows in blocks(table.n_rows)
    )


@dataclass(frozen=True)
class Statistics:
    """A set of summaries by request, with + and -; ``Statistics()`` is the neutral element."""

    summaries: Mapping[requests.Request, Any] = field(default_factory=dict)

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
        return Statistics({r: s + other.summaries[r] for r, s in self.summaries.items()})

    def __sub__(self, other: Statistics) -> Statistics:
        """Return the statistics of the remaining rows when the rows of `other` are removed."""
        self._check_requests(other)
        return Statistics({r: s - other.summaries[r] for r, s in self.summaries.items()})

    def _check_requests(self, other: Statistics) -> None:
        """Raise a DataError unless the other statistics are of the same requests."""
        if self.summaries.keys() != other.summaries.keys():
            raise DataError(
                "Only statistics of the same requests on the same variables can be added; encode "
                "all batches with the same variables."
            )

    def family(self, family: requests.Family) -> FamilyStatistics | None:
        """Return the statistics of a family by the first summary that holds them, else None."""
        for summary in self.summaries.values():
            if statistics := summary.family(family):
                return statistics  # type: ignore[no-any-return]
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
        # What was collected so far: a summary for each request, and variances over all rows.
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
        """Return the summary of a pass over the rows, which only sources that have them can."""
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
            # Moments may be part of a summary with more columns or functions.
            held = (s for s in self._summaries.values() if isinstance(s, summaries.MomentsSummary))
            # `part` returns None if the summary lacks some of what is requested.
            if part := next(filter(None, (summary.part(request) for summary in held)), None):
                return part
            # Moments of the columns themselves may be held: a pass then collects the other
            # functions.
            singles = self._singles(requests.Singles(request.columns, request.given))
            if singles and request.functions[0] == "identity" and len(request.functions) > 1:
                others = self._collected(replace(request, functions=request.functions[1:]))
                return self._summaries.setdefault(request, others.with_identity(singles))
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
        """Return a held summary that contains these statistics, alone or in one of pairs."""
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
        # `summary` answers from the cache, and puts there what it lacks; `_collected` does neither.
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
        if unheld := tuple(family for family, statistics in answers.items() if statistics is None):
            request = requests.Families(unheld)
            # Pseudo-counts, probabilities and their sums; and the counts, once for each copy.
            requests.check_cells(request, 3 + self.copies)
            summary = self.summary(request) if keep else self._collected(request)
            answers |= zip(unheld, summary.found, strict=True)
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
        # As in `families`: three tables of the learner, and the copies of the counts.
        requests.check_cells(request, 3 + self.copies)
        summary: summaries.ExtensionsSummary = self._collected(request)
        return summary.counts

    def variances(self, columns: Sequence[Continuous]) -> Floats:
        """Return the variance of each column over all rows, 0 for a column without values."""
        families = {v: requests.Family((), (v,)) for v in columns if v not in self._variances}
        statistics = self.families(families.values())
        for v, family in families.items():
            # A single number has a comoment of shape (1, 1): its sum of squared deviations.
            square, count = statistics[family].comoment[0, 0], statistics[family].counts
            self._variances[v] = float(safe_divide(square, count))
        return np.array([self._variances[v] for v in columns])

    def total_weight(self) -> float:
        """Return the sum of the weights of the rows, those of classes included."""
        # The counts of the classes; without a target those of no column, the weight of all rows.
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
        """Return a source of other rows or columns with the same target."""
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
        merged_of = dict(zip(self.features, features, strict=True))
        for fine, merged in merged_of.items():
            if fine != merged:
                # Features that are not binned are never merged.
                assert isinstance(fine, Binned)
                assert isinstance(merged, Binned)
                # The feature's column of the codes, whose rows are those of the table.
                place = table.arrangement.place[fine]
                # The last entry is for missing values, whose code is -1.
                codes[:, place] = np.append(merged.codes_of(fine), -1)[codes[:, place]]
        variables = tuple(merged_of.get(v, v) for v in table.variables)
        return self._of(replace(table, variables=variables, codes=codes), self.weights)

    def sample(self, n_rows: int) -> TableSource:
        """Return a source of about `n_rows` rows, chosen by their numbers, or of all if few."""
        if self.table.n_rows <= n_rows:
            # A source of its own, without the statistics of this one, as that of fewer rows is.
            return self._of(self.table, self.weights)
        chosen = sampled(0, self.table.n_rows, n_rows / self.table.n_rows)
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


def checked_weights(sample_weight: ArrayLike | None, n_rows: int, *, first: bool = True) -> Floats:
    """Return weights of shape (n_rows,); an empty array if none are given, so that each is 1.

    Raises
    ------
    DataError
        For a wrong shape, a negative or infinite weight, or NaN; or for weights that are all zero,
        if these rows are the `first` ones of a model.
    """
    if sample_weight is None:
        return np.empty(0)
    try:
        weights = real_numbers(sample_weight)
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
    if first and not weights.any():
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
    check_known(names, columns, where="The table")
    if categorical is not None and not isinstance(categorical, str):
        # Positions are those in the table; other columns are for other tests of the same table.
        chosen = categorical_names(categorical, list(columns))
        categorical = [name for name in names if name in chosen]
    encoded = infer_variables({name: columns[name] for name in names}, categorical)
    checked = checked_weights(sample_weight, encoded.n_rows)
    weights = checked if len(checked) else np.ones(encoded.n_rows)
    kept = weights > 0
    for variable in encoded.variables:
        kept &= ~encoded.is_missing(variable)
    if not kept.any():
        raise DataError(f"No row has a value in each of the columns {quoted(names)}.")
    return encoded.rows(kept), weights[kept]


# ----------------------- Count sources over datasets: one pass for each request, in runs of blocks


# Maximum number of runs that are held at a time.
_RUNS_HELD = N_THREADS + 1


class DatasetSource(CountSource):
    """A count source that reads a dataset once for each request.

    Every run of blocks is encoded and counted by itself, and the sums are added along the binary
    tree of the runs (see `core.parallel`), so that the statistics have the same bits as those
    of a table in memory, whatever the number of threads or the executor.

    Parameters
    ----------
    dataset : Dataset
    variables : tuple of Variable
        All columns, the target last.
    target : Discrete or None
    rows : Rows
        The rows that count, and their encoding.
    n_rows : int
        Number of rows that count.
    is_kept : bool, default True
        Whether the dataset's `cache` holds for the source; for a single pass it would only cost.
    missing : mapping from name to int, optional
        Number of missing values in columns that were read already.

    Attributes
    ----------
    table : Table
        The rows themselves, for what needs them in memory: all, or a sample of as many as the
        dataset says. Which rows are in the sample depends on their numbers alone.
    weights : ndarray, shape (n_rows of the table,) or (0,)
        Empty if every row weighs 1.
    """

    in_memory = False

    def __init__(
        self,
        dataset: Dataset,
        variables: tuple[Variable, ...],
        target: Discrete | None,
        *,
        rows: Rows,
        n_rows: int,
        is_kept: bool = True,
        missing: Mapping[Name, int] | None = None,
    ) -> None:
        super().__init__(variables, target, Statistics())
        # Number of missing values by column, of those that a pass has read.
        self._missing = dict(missing or {})
        self._dataset, self._rows, self.n_rows = dataset, rows, n_rows
        # All columns in the order in which they are encoded: the features, then the target.
        self._all = self.features if target is None else (*self.features, target)
        # Called with variables, it returns the runs of the dataset encoded by them. It has no
        # reference to this object, which would keep the files of the cache.
        self._read = partial(_encoded_runs, dataset, rows)
        # The encoded rows on disk; None if each pass reads and encodes the dataset anew.
        self._cached: EncodedRows | None = None
        if is_kept and dataset.cache is not False:
            # What else than the variables determines the encoded rows, for the cache.
            described = [rows.columns_of([v]) for v in self._all], n_rows, rows.described
            self._cached = tables.EncodedRows(dataset, self._all, described, self._read)

    def training_rows(self) -> TrainingRows:
        """Return how many rows and missing values there are; see `TableSource`.

        Missing values are counted in the passes for statistics. Columns that none of them has read
        are read here.
        """
        if unread := self._uncounted(self._all):
            # No statistics are requested (None), only the missing values of these columns.
            counting = partial(_counted_run, self._rows, unread, None, unread)
            self._note(self._dataset.reduce(counting, self._rows.columns_of(unread), self._rows))
        is_weighted = bool(self._rows.columns) or self.class_weights is not None
        weight = self.total_weight() if is_weighted else None
        missing = {v.name: self._missing[v.name] for v in self._all}
        return TrainingRows(self.n_rows, missing, weight)

    def _uncounted(self, variables: Sequence[Variable]) -> tuple[Variable, ...]:
        """Return those variables whose missing values no pass has counted."""
        return tuple(v for v in variables if v.name not in self._missing)

    def _note(self, counted: _Found | None) -> Statistics:
        """Record the missing values that a pass has counted, and return its statistics."""
        assert counted is not None  # the dataset has rows
        self._missing |= counted.missing
        return counted.statistics

    @property
    def table(self) -> Table:
        """The rows themselves, or a sample of them."""
        return self._sample[0]

    @property
    def weights(self) -> Floats:
        """The weights of the rows of `table`."""
        return self._sample[1]

    @property
    def is_sampled(self) -> bool:
        """Whether there are more rows than in a sample of them."""
        return self.n_rows > self._dataset.sample_rows

    @cached_property
    def _sample(self) -> tuple[Table, Floats]:
        """The table and the weights of all rows or of a sample, which are read once."""
        names = list(self._rows.columns_of(self._all))
        rows = sample_of(self._dataset, names, self.n_rows, self._rows)
        return self._rows.encoded(rows, self._all)

    @property
    def copies(self) -> int:
        """Maximum number of summaries that are held at a time; see `CountSource`.

        They are those of runs that are being counted, and those that wait for their neighbour in
        the tree.
        """
        # The number of runs is rounded up; its logarithm is the depth of the tree.
        runs = -(-self.n_rows // parallel.BLOCK)
        return min(runs, _RUNS_HELD) + runs.bit_length()

    def sample(self, n_rows: int | None = None) -> TableSource:
        """Return a source of about `n_rows` of the rows, held in memory; see `TableSource`."""
        names = list(self._rows.columns_of(self._all))
        rows = sampled_rows(self._dataset, names, self.n_rows, self._rows, size=n_rows)
        table, weights = self._rows.encoded(rows, self._all)
        return TableSource(table, self.target, weights if len(weights) else None)

    def warn_of_columns(
        self,
        columns: Callable[[], Mapping[Name, Column]],
        *,
        free: Collection[Name],
        gaussian: Collection[Name],
    ) -> None:
        """Warn of columns that look wrong in the first run of rows, and in a sample of all.

        Arguments are those of `tables.warn_of_columns`.
        """
        rows = self._dataset.tables(self._rows.columns_of(self._all))  # no pass to report
        run = next(tables.in_runs(map(self._rows.kept, rows)))
        first, _ = self._rows.encoded(run, self._all)

        def examined(table: Table) -> tuple[tables.Examined, tables.Labels | None]:
            """Return the features of some rows, and their classes if there are any."""
            if self.target is None:
                return tables.Examined.of(table), None
            labels = tables.Labels(np.array(self.target.states), table.column(self.target))
            return tables.Examined.of(table.without(self.target)), labels

        has_more = first.n_rows < self.n_rows
        whole = (lambda: examined(self.sample().table)) if has_more else None
        tables.warn_of_columns(*examined(first), columns, free=free, gaussian=gaussian, whole=whole)

    def indicated(self, indicators: Sequence[MissingIndicator]) -> DatasetSource:
        """Return a source in which indicators of missing values are features; see `TableSource`."""
        return self.with_features((*self.features, *indicators), is_kept=self._cached is not None)

    def merged(self, features: Sequence[Variable]) -> DatasetSource:
        """Return a source of the same rows with merged intervals; see `TableSource`."""
        return self.with_features(features, is_kept=False)

    def with_features(self, features: Sequence[Variable], *, is_kept: bool = True) -> DatasetSource:
        """Return a source of the same rows with other features of the same columns."""
        target = () if self.target is None else (self.target,)
        source = DatasetSource(
            self._dataset,
            (*features, *target),
            self.target,
            rows=self._rows,
            n_rows=self.n_rows,
            is_kept=is_kept,
        )
        source._missing = self._missing  # what either reads is known to both
        source.class_weights = self.class_weights
        return source

    def blocks(self, n_rows: int | None = None) -> Iterator[tuple[Table, Floats]]:
        """Yield all rows in blocks with their weights, read anew; see `TableSource`."""
        # What is read are functions that encode a run when they are called, in several threads.
        read = self._read if self._cached is None else self._cached.runs
        for table, weights in in_order(call, read(self._all)):
            yield from sliced(table, weights, n_rows)

    def _collected(self, request: Request) -> Any:
        """Return the summary of a pass, which also counts missing values not counted before."""
        wanted = needed_by(request)
        variables = tuple(v for v in self._all if v in wanted)
        new = self._uncounted(variables)
        if self._cached is not None:
            counted = tables.summed(partial(_counted, request, new), self._cached.runs(variables))
        else:
            counting = partial(_counted_run, self._rows, variables, request, new)
            counted = self._dataset.reduce(counting, self._rows.columns_of(variables), self._rows)
        return self._note(counted).summaries[request]


# A count source that has the rows too.
RowSource: TypeAlias = TableSource | DatasetSource


def _encoded_runs(dataset: Dataset, rows: Rows, wanted: Sequence[Variable]) -> Iterator[Run]:
    """Yield functions that return each run of rows as encoded columns of some variables."""
    for run in dataset.runs(rows.columns_of(wanted), rows):
        yield partial(rows.encoded, run, wanted)


@dataclass(frozen=True)
class _Found:
    """Statistics of rows, and the number of missing values by column; those of runs are added."""

    statistics: Statistics
    missing: dict[Name, int]

    def __add__(self, other: _Found) -> _Found:
        missing = {name: n + other.missing[name] for name, n in self.missing.items()}
        return _Found(self.statistics + other.statistics, missing)


def _counted_run(
    rows: Rows,
    variables: Sequence[Variable],
    request: Request | None,
    new: Sequence[Variable],
    first: int,
    run: Any,
) -> _Found:
    """Return the requested statistics of a run of rows, and the missing values of new columns.

    `first`, the number of the run's first row, is of no use here: `Dataset.reduce` passes it.
    """
    return _counted(request, new, partial(rows.encoded, run, variables))


def _counted(request: Request | None, new: Sequence[Variable], run: Run) -> _Found:
    """Return the counts of a run as `_counted_run` does; calling the run encodes it."""
    table, weights = run()
    requests = [] if request is None else [request]
    missing = table.missing() if new else {}
    counted = {v.name: missing.get(v.name, 0) for v in new}
    return _Found(Statistics.collect(table, requests, weights), counted)


def sample_of(data: Dataset, names: Sequence[str], n_rows: int, rows: Rows) -> Any:
    """Return some columns of all of n_rows rows, or of a sample of `sample_rows`, as a Table.

    Warns
    -----
    BayesGraphWarning
        If it is a sample, with its size.
    """
    sample = sampled_rows(data, names, n_rows, rows)
    if len(sample) < n_rows:
        warn(
            f"What looks at the rows themselves (trees, training to predict) took a sample of "
            f"{len(sample):,} of the {n_rows:,} rows of {data.source}; "
            "open_dataset(..., sample_rows=) takes more.",
            BayesGraphWarning,
        )
    return sample


def sampled_rows(
    data: Dataset,
    names: Sequence[str],
    n_rows: int,
    rows: Rows,
    *,
    size: int | None = None,
) -> Any:
    """Return some columns of a table of about `size` of n_rows rows, chosen by their numbers."""
    share = (data.sample_rows if size is None else size) / max(n_rows, 1)
    drawn = data.reduce(partial(_drawn, share), names, rows)
    return arrow().concat_tables(drawn or [])


def _drawn(share: float, first: int, run: Any) -> list[Any]:
    """Return the rows of a run that are in the sample of a share of all rows.

    They are a list of one table: the sum of the lists of all runs is the sample. `first` is the
    number of the run's first row.
    """
    return [run if share >= 1.0 else run.filter(sampled(first, len(run), share))]


def needed_by(request: Request) -> set[Variable | None]:
    """Return the variables that a request names; None among them stands for no variable."""
    match request:
        case Families(families):
            return {v for family in families for v in family.columns}
        case Extensions():
            named = (i for new, others in request.groups for i in (*new, *others))
            return {request.columns.variables[i] for i in named}
        case Totals():
            return {request.vector, request.given}
    return {*request.columns, request.given}


# -------- The first pass over a dataset: the states of discrete columns, and how often each occurs


@dataclass(frozen=True)
class Domain:
    """The values of a discrete column in some rows.

    Attributes
    ----------
    counts : Counter of (type, value)
        Number of rows with each value.
    n_missing : int
    """

    counts: Counter[tuple[type, State]] = field(default_factory=Counter)
    n_missing: int = 0

    @classmethod
    def of(cls, table: Any, name: Name) -> Domain:
        """Return the domain of a column of a pyarrow Table."""
        factorised = factorise(nw.from_native(table.column(name), series_only=True), name)
        # The first count is that of missing values, then come those of the states.
        counts = factorised.counts()
        occurs = zip(factorised.states, counts[1:].tolist(), strict=True)
        by_state = Counter({(type(state), state): count for state, count in occurs if count})
        return cls(by_state, int(counts[0]))

    def __add__(self, other: Domain) -> Domain:
        return Domain(self.counts + other.counts, self.n_missing + other.n_missing)

    @property
    def states(self) -> list[State]:
        """The values that occur, in ascending order; False and True of truth values."""
        values = [value for _, value in self.counts]
        if values and all(isinstance(value, bool) for value in values):
            return [False, True]
        return naturally_ordered(values)

    def count_of(self, state: State) -> int:
        """Return the number of rows with a state."""
        return self.counts[type(state), state]


@dataclass(frozen=True)
class Domains:
    """The domains of columns in the rows that count.

    Attributes
    ----------
    columns : dict from name to Domain
    n_rows : int
        Number of rows that count.
    labels : Domain
        The classes in all rows, also in those that do not count.
    maximum : int
        Maximum number of states of a column.
    """

    columns: dict[Name, Domain]
    n_rows: int
    labels: Domain
    maximum: int

    @property
    def missing(self) -> dict[Name, int]:
        """Number of missing values in each column."""
        return {name: domain.n_missing for name, domain in self.columns.items()}

    def __post_init__(self) -> None:
        for name, domain in self.columns.items():
            if len(domain.counts) > self.maximum:
                raise DataError(
                    f"Column {name!r} has more than {self.maximum:,} states in {self.n_rows:,} "
                    "rows: an identifier, or numbers written as text? Leave it out, or allow more "
                    "by max_categories=."
                )

    def __add__(self, other: Domains) -> Domains:
        columns = {name: domain + other.columns[name] for name, domain in self.columns.items()}
        n_rows, labels = self.n_rows + other.n_rows, self.labels + other.labels
        return Domains(columns, n_rows, labels, self.maximum)


def _domains_of(names: Sequence[Name], rows: Rows, maximum: int, first: int, run: Any) -> Domains:
    """Return the domains of columns in a run of rows; `first` is the number of its first row."""
    kept, labels = rows.kept(run), Domain()
    domains = {name: Domain.of(kept, name) for name in names}
    if rows.y is not None:
        # If all rows count, the classes are those of the column as it is counted already.
        is_all = kept is run and rows.y in domains
        labels = domains[rows.y] if is_all else Domain.of(run, rows.y)
    return Domains(domains, len(kept), labels, maximum)


def find_domains(data: Dataset, names: Sequence[str], rows: Rows) -> Domains:
    """Return the domains of columns of a dataset, in one pass.

    Parameters
    ----------
    data : Dataset
    names : sequence of str
    rows : Rows
        The rows that count and their class column y, if any.

    Raises
    ------
    DataError
        If a column has too many states, or no value in any row.
    """
    chosen = tuple(dict.fromkeys(names))
    read = list(dict.fromkeys([*chosen, *([] if rows.y is None else [rows.y])]))
    # `reduce` calls it with (first row number, run).
    finding = partial(_domains_of, chosen, rows, data.max_categories)
    # Of all rows: the classes are found also in those that do not count.
    domains = data.reduce(finding, [*read, *rows.columns])
    # The dataset has no rows.
    if domains is None:
        return Domains({name: Domain() for name in chosen}, 0, Domain(), data.max_categories)
    for name, domain in domains.columns.items():
        if domains.n_rows and not domain.counts:
            raise DataError(
                f"Column {name!r} has no observed value in {domains.n_rows:,} rows, so that its "
                "states are unknown; leave it out."
            )
    return domains


# --------------------- Count sources over plain columns of a dataset, without what classifiers add


def source_of_columns(
    data: Dataset,
    names: Sequence[str],
    *,
    target: str | None = None,
    categorical: Any = None,
    declared: Mapping[Name, Variable] | None = None,
    weight: Any = None,
) -> DatasetSource:
    """Return a count source over columns of a dataset, after a pass that finds their states.

    Parameters
    ----------
    data : Dataset
    names : sequence of str
        The columns.
    target : str, optional
        The class, one of the columns, which is treated as discrete whatever its type.
    categorical : list of column names or "all", optional
        Numeric columns to treat as discrete.
    declared : mapping from name to variable, optional
        Variables of columns whose states are known.
    weight : str, optional
        Column with the weights of the rows.

    Raises
    ------
    DataTypeError
        If `weight` is not the name of a column.
    DataError
        For missing classes, weights that are none, and columns without values.
    """
    if weight is not None and not isinstance(weight, str):
        raise DataTypeError(
            f"With a dataset ({data.source}), sample_weight is the name of one of its columns; got "
            f"{type(weight).__name__}."
        )
    data.checked([] if weight is None else [weight], "sample_weight=")
    names = [name for name in names if name != weight]
    fixed = dict(declared or {})
    # Discrete columns whose states a pass has to find.
    coded = [n for n in _discrete(data, names, categorical, target) if n not in fixed]
    # Rows of weight zero stay in the source.
    rows = tables.Rows(data.source, target, weight, every=True)
    read = [*coded, *([] if target is None else [target])]
    # Rows of weight zero keep their states, as in memory.
    counted = find_domains(data, read, tables.Rows(data.source, target, None))
    domains, n_rows = counted.columns, counted.n_rows
    if not n_rows:
        raise DataError(f"{data.source} has no rows.")
    if (
        weight is not None
        and not find_domains(data, [], tables.Rows(data.source, None, weight)).n_rows
    ):
        raise DataError(f"The weights in {weight!r} of {data.source} are zero for every row.")
    if target is not None and domains[target].n_missing:
        raise DataError(
            f"The target {target!r} is missing in {domains[target].n_missing:,} of {n_rows:,} "
            f"rows of {data.source}; leave these rows out, such as by where=."
        )
    variables = variables_of(names, fixed, domains)
    class_variable = None if target is None else variables[names.index(target)]
    # The target has a domain, from which its variable was made, or is declared as discrete.
    assert class_variable is None or isinstance(class_variable, Discrete)
    return DatasetSource(
        data,
        tuple(variables),
        class_variable,
        rows=rows,
        n_rows=n_rows,
        missing=counted.missing,
    )


def variables_of(
    names: Iterable[Name], declared: Mapping[Name, Variable], domains: Mapping[Name, Domain]
) -> list[Variable]:
    """Return the variable of each column: the known one, or one with the states of its domain.

    Columns without a domain are numbers.
    """
    return [
        declared.get(name)
        or (Discrete(name, domains[name].states) if name in domains else Continuous(name))
        for name in names
    ]


def _discrete(
    data: Dataset, names: Sequence[str], categorical: Any, target: str | None
) -> Collection[str]:
    """Return the columns that are discrete by their type, or by what the user said."""
    types = columns_of(data.schema.empty_table())
    chosen = categorical_names(categorical, names)
    return [n for n in names if n == target or n in chosen or is_discrete(types[n], n)]
