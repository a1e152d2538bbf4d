"""Count sources over datasets: one pass for each request, in runs of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import call
from typing import Any, Protocol

from bayesgraph.datasets.cache import EncodedRows, Run
from bayesgraph.datasets.dataset import EVERY, Dataset, Filter, arrow, summed
from bayesgraph.encoding import Table
from bayesgraph.errors import BayesGraphWarning, warn
from bayesgraph.factors.algebra import Floats
from bayesgraph.models.training import TrainingRows
from bayesgraph.parallel import N_THREADS, in_order
from bayesgraph.statistics import blocks
from bayesgraph.statistics.blocks import sampled
from bayesgraph.statistics.requests import (
    Extensions,
    Families,
    Histograms,
    Moments,
    Pairs,
    Request,
    Samples,
    Singles,
    Totals,
)
from bayesgraph.statistics.source import RequestSource, Statistics, TableSource, sliced
from bayesgraph.variables import Discrete, MissingIndicator, Name, Variable

# Maximum number of runs that are held at a time.
_RUNS_HELD = N_THREADS + 1


class Encoding(Protocol):
    """The encoding of runs of rows; it can be sent to other processes."""

    @property
    def described(self) -> str:
        """Text that differs if the weights of the same rows do."""
        ...

    @property
    def is_weighted(self) -> bool:
        """Whether rows may have other weights than 1."""
        ...

    def __call__(self, run: Any, variables: Sequence[Variable]) -> tuple[Table, Floats]:
        """Return a run as an encoded table of given variables, and the weights of its rows.

        The weights are empty if every row weighs 1.
        """
        ...


class DatasetSource(RequestSource):
    """A count source that reads a dataset once for each request.

    Every run of blocks is encoded and counted by itself, and the sums are added along the binary
    tree of the runs (see `statistics.blocks`), so that the statistics have the same bits as those
    of a table in memory, whatever the number of threads or the executor.

    Parameters
    ----------
    dataset : Dataset
    variables : tuple of Variable
        All columns, the target last.
    target : Discrete or None
    columns_of : callable
        Returns the names of the columns that a sequence of variables needs.
    encoded : Encoding
    n_rows : int
        Number of rows that count.
    rows : Filter
        The rows that count.
    is_kept : bool, default True
        Whether the dataset's `cache` holds for the source; for a single pass it would only cost.
    statistics : Statistics, optional
        What was counted already.
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
        columns_of: Callable[[Sequence[Variable]], Sequence[str]],
        encoded: Encoding,
        n_rows: int,
        rows: Filter = EVERY,
        is_kept: bool = True,
        statistics: Statistics | None = None,
        missing: Mapping[Name, int] | None = None,
    ) -> None:
        super().__init__(variables, target, statistics or Statistics())
        self._missing = dict(missing or {})
        self._dataset, self._columns_of, self._encoded = dataset, columns_of, encoded
        self._rows, self.n_rows = rows, n_rows
        self._all = self._order

        # Without a reference to this object, which would keep the files of the cache.
        self._read = partial(_encoded_runs, dataset, columns_of, encoded, rows)
        self._cached: EncodedRows | None = None
        if is_kept and dataset.cache is not False:
            described = [columns_of([v]) for v in self._all], n_rows, encoded.described
            self._cached = EncodedRows(dataset, self._all, described, self._read)

    def training_rows(self) -> TrainingRows:
        """Return how many rows and missing values there are; see `RowSource`.

        Missing values are counted in the passes for statistics. Columns that none of them has read
        are read here.
        """
        if unread := self._uncounted(self._all):
            counting = _Counting(self._encoded, unread, None, unread)
            self._note(self._dataset.reduce(counting, self._columns_of(unread), self._rows))
        is_weighted = self._encoded.is_weighted or self.class_weights is not None
        weight = self.total_weight() if is_weighted else None
        missing = {v.name: self._missing[v.name] for v in self._all}
        return TrainingRows(self.n_rows, missing, weight)

    def _uncounted(self, variables: Sequence[Variable]) -> tuple[Variable, ...]:
        return tuple(v for v in variables if v.name not in self._missing)

    def _note(self, found: _Found | None) -> Statistics:
        assert found is not None  # the dataset has rows
        self._missing |= found.missing
        return found.statistics

    @property
    def table(self) -> Table:
        """The rows themselves, or a sample of them."""
        return self._sample[0]

    @property
    def weights(self) -> Floats:
        """The weights of the rows of `table`."""
        return self._sample[1]

    @cached_property
    def _sample(self) -> tuple[Table, Floats]:
        names = list(self._columns_of(self._all))
        rows = sample_of(self._dataset, names, self.n_rows, self._rows)
        return self._encoded(rows, self._all)

    @property
    def is_sampled(self) -> bool:
        """Whether there are more rows than in a sample of them."""
        return self.n_rows > self._dataset.sample_rows

    @property
    def copies(self) -> int:
        """Maximum number of summaries that are held at a time; see `CountSource`.

        They are those of runs that are being counted, and those that wait for their neighbour in
        the tree.
        """
        runs = -(-self.n_rows // blocks.BLOCK)
        return min(runs, _RUNS_HELD) + runs.bit_length()

    def sample(self, n_rows: int | None = None) -> TableSource:
        """Return a source of about `n_rows` of the rows, held in memory; see `RowSource`."""
        names = list(self._columns_of(self._order))
        rows = sampled_rows(self._dataset, names, self.n_rows, self._rows, size=n_rows)
        table, weights = self._encoded(rows, self._order)
        return TableSource(table, self.target, weights if len(weights) else None)

    def indicated(self, indicators: Sequence[MissingIndicator]) -> DatasetSource:
        """Return a source in which indicators of missing values are features; see `RowSource`."""
        return self._with((*self.features, *indicators), is_kept=self._cached is not None)

    def merged(self, features: Sequence[Variable]) -> DatasetSource:
        """Return a source of the same rows with merged intervals; see `RowSource`."""
        return self._with(features, is_kept=False)

    def _with(self, features: Sequence[Variable], *, is_kept: bool) -> DatasetSource:
        """Return a source of the same rows with other features of the same columns."""
        target = () if self.target is None else (self.target,)
        found = DatasetSource(
            self._dataset,
            (*features, *target),
            self.target,
            columns_of=self._columns_of,
            encoded=self._encoded,
            n_rows=self.n_rows,
            rows=self._rows,
            is_kept=is_kept,
        )
        found._missing = self._missing  # what either reads is known to both
        found.class_weights = self.class_weights
        return found

    def blocks(self, n_rows: int | None = None) -> Iterator[tuple[Table, Floats]]:
        """Yield all rows in blocks with their weights, read anew; see `RowSource`."""
        read = self._read if self._cached is None else self._cached.runs
        for table, weights in in_order(call, read(self._order)):
            yield from sliced(table, weights, n_rows)

    def _collected(self, request: Request) -> Any:
        wanted = needed_by(request)
        variables = tuple(v for v in self._order if v in wanted)
        new = self._uncounted(variables)
        if self._cached is not None:
            found = summed(partial(_counted, request, new), self._cached.runs(variables))
        else:
            counting = _Counting(self._encoded, variables, request, new)
            found = self._dataset.reduce(counting, self._columns_of(variables), self._rows)
        return self._note(found).summaries[request]

    @property
    def _order(self) -> tuple[Variable, ...]:
        target = () if self.target is None else (self.target,)
        return (*self.features, *target)


def _encoded_runs(
    dataset: Dataset,
    columns_of: Callable[[Sequence[Variable]], Sequence[str]],
    encoded: Encoding,
    rows: Filter,
    wanted: Sequence[Variable],
) -> Iterator[Run]:
    """Yield what returns each run of rows as encoded columns of some variables."""
    for run in dataset.runs(list(columns_of(wanted)), rows):
        yield partial(encoded, run, wanted)


@dataclass(frozen=True)
class _Found:
    """Statistics of rows, and the number of missing values by column; those of runs are added."""

    statistics: Statistics
    missing: dict[Name, int]

    def __add__(self, other: _Found) -> _Found:
        missing = {name: n + other.missing[name] for name, n in self.missing.items()}
        return _Found(self.statistics + other.statistics, missing)


@dataclass(frozen=True)
class _Counting:
    """The requested statistics of a run of rows, and the missing values of some columns."""

    encoded: Encoding
    variables: tuple[Variable, ...]
    request: Request | None
    new: tuple[Variable, ...]

    def __call__(self, first: int, run: Any) -> _Found:
        return _counted(self.request, self.new, partial(self.encoded, run, self.variables))


def _counted(request: Request | None, new: Sequence[Variable], run: Run) -> _Found:
    table, weights = run()
    requests = [] if request is None else [request]
    missing = table.missing() if new else {}
    counted = {v.name: missing.get(v.name, 0) for v in new}
    return _Found(Statistics.collect(table, requests, weights), counted)


def sample_of(data: Dataset, names: Sequence[str], n_rows: int, rows: Filter = EVERY) -> Any:
    """Return some columns of all of n_rows rows, or of a sample of `sample_rows`, as a Table.

    Warns
    -----
    BayesGraphWarning
        If it is a sample, with its size.
    """
    found = sampled_rows(data, names, n_rows, rows)
    if len(found) < n_rows:
        warn(
            f"What looks at the rows themselves (trees, training to predict) took a sample of "
            f"{len(found):,} of the {n_rows:,} rows of {data.source}; "
            "open_dataset(..., sample_rows=) takes more.",
            BayesGraphWarning,
        )
    return found


def sampled_rows(
    data: Dataset,
    names: Sequence[str],
    n_rows: int,
    rows: Filter = EVERY,
    *,
    size: int | None = None,
) -> Any:
    """Return some columns of a table of about `size` of n_rows rows, chosen by their numbers."""
    share = (data.sample_rows if size is None else size) / max(n_rows, 1)
    drawn = data.reduce(_Drawing(share), names, rows)
    return arrow().concat_tables([] if drawn is None else drawn.tables)


@dataclass(frozen=True)
class _Drawn:
    """Sampled rows, in tables one below another."""

    tables: tuple[Any, ...]

    def __add__(self, other: _Drawn) -> _Drawn:
        return _Drawn(self.tables + other.tables)


@dataclass(frozen=True)
class _Drawing:
    """The rows of a run that are in the sample of a share of all rows."""

    share: float

    def __call__(self, first: int, run: Any) -> _Drawn:
        if self.share >= 1.0:
            return _Drawn((run,))
        return _Drawn((run.filter(sampled(first, len(run), self.share)),))


def needed_by(request: Request) -> set[Variable | None]:
    """Return the variables that a request names; None among them stands for no variable."""
    match request:
        case Singles() | Pairs() | Moments() | Samples() | Histograms():
            return {*request.columns, request.given}
        case Families():
            found: set[Variable | None] = set()
            for family in request.families:
                found.update(family.discrete, family.continuous)
            return found
        case Extensions():
            return {request.columns.variables[i] for i in request.used}
        case Totals():
            return {request.vector, request.given}
    raise AssertionError(f"unknown request {request!r}")
