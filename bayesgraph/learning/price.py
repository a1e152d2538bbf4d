"""The price of a fit before the work: passes, bytes and time of the ways to count statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bayesgraph.display import Displayed, DisplayTable
from bayesgraph.errors import DataError
from bayesgraph.inference.memory import default_memory_limit, format_bytes
from bayesgraph.learning.candidates import SAMPLE_ROWS
from bayesgraph.learning.smoothing import one_of
from bayesgraph.learning.tiles import SHARE, matrices_bytes, tile_bytes, tile_order, tiles
from bayesgraph.statistics import pairs_bytes
from bayesgraph.statistics.blocks import BLOCK
from bayesgraph.variables import Continuous, Discrete, Variable

# Number of candidates that are named as an alternative.
_CANDIDATES = 10


@dataclass(frozen=True)
class Rates:
    """Measured times of one worker, in seconds.

    Attributes
    ----------
    cell : float
        To read and encode one value.
    pair : float
        To count the states of one pair of columns in one row.
    """

    cell: float = 1.6e-8
    pair: float = 2.7e-9


@dataclass(frozen=True)
class Way:
    """What one way of counting takes.

    Attributes
    ----------
    name : str
    passes : int
        Number of passes over the data.
    most_passes : int
        As many if it depends on the data; about a pass for each arc that a search tries.
    read : float or None
        Bytes read by all passes; None if the size of the data is unknown.
    statistics : float
        Bytes of the largest statistics that are collected at a time.
    memory : float
        Bytes that a worker holds: runs of rows that are being counted, their statistics, and what
        is derived from these.
    reduced : float
        Bytes that the workers send to where their statistics are added up.
    seconds : float
        Expected time, of the most passes.
    """

    name: str
    passes: int
    most_passes: int
    read: float | None
    statistics: float
    memory: float
    reduced: float
    seconds: float


@dataclass(frozen=True, repr=False)
class FitPrice(Displayed):
    """The price of a fit: what each way of counting its statistics takes.

    Attributes
    ----------
    title : str
    ways : tuple of Way
        The first one that fits is what `fit` does, or what it can be told to do.
    limit : int
        Maximum number of bytes that a worker may hold.
    note : str
        Where the numbers come from.
    """

    title: str
    ways: tuple[Way, ...]
    limit: int
    note: str = ""

    @property
    def fits(self) -> bool:
        """Whether a way fits in memory."""
        return self.best is not None

    @property
    def best(self) -> Way | None:
        """The first way that fits in memory, None if there is none."""
        return next((way for way in self.ways if way.memory <= self.limit), None)

    def _display(self) -> DisplayTable:
        rows = [
            (
                f"{way.name} *" if way is self.best else way.name,
                str(way.passes)
                if way.passes == way.most_passes
                else f"{way.passes} to {way.most_passes:,}",
                "unknown" if way.read is None else format_bytes(way.read),
                format_bytes(way.statistics),
                format_bytes(way.memory),
                format_bytes(way.reduced),
                _duration(way.seconds),
            )
            for way in self.ways
        ]
        header = ("", "passes", "reads", "statistics", "memory", "reduces", "time")
        large = ", ".join(way.name for way in self.ways if way.memory > self.limit)
        said = [f"Does not fit in {format_bytes(self.limit)}: {large}."] if large else []
        if self.best is None:
            said.append("No way fits: use fewer columns, or columns of fewer states.")
        elif self.best.name.startswith("candidates") and len(self.ways) > 1:
            said.append(f"Choose {self.best.name}, as in TANClassifier({self.best.name}).")
        note = "\n".join([*said, *([self.note] if self.note else [])])
        return DisplayTable(self.title, rows, header, note=note)


def _duration(seconds: float) -> str:
    for unit, size, limit in (
        ("s", 1.0, 120.0),
        ("min", 60.0, 7200.0),
        ("h", 3600.0, 172_800.0),
        ("days", 86_400.0, 63_072_000.0),
    ):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 31_556_952:.3g} years"


@dataclass(frozen=True)
class Work:
    """What is to be counted.

    Attributes
    ----------
    columns : tuple of Variable
        The features.
    given : Discrete or None
        The class.
    n_rows : int
    counts : {"singles", "pairs", "tiles", "search", "families"}
        As for `LearnerCard`; or the families of a structure that is known.
    candidates : int or None
        As for `tan`.
    offers_candidates : bool
        Whether the learner has this option.
    before : int
        Number of passes before the statistics, which find states and take a sample.
    at_once : int
        Maximum number of bytes of statistics of pairs that are counted in the pass that finds
        states; 0 if none are.
    after : int
        Number of passes that count chosen families after a structure is known.
    most_after : int
        As many if it depends on the data.
    row_bytes : float or None
        Bytes of a row where it is stored.
    workers : int
    copies : int
        Number of summaries that a worker holds at a time.
    runs : int
        Number of runs of rows that a worker holds at a time; 0 for a table in memory.
    rates : Rates
    limit : int
    """

    columns: tuple[Variable, ...]
    given: Discrete | None
    n_rows: int
    counts: str = "tiles"
    candidates: int | None = None
    offers_candidates: bool = True
    before: int = 1
    at_once: int = 0
    after: int = 0
    most_after: int = 0
    row_bytes: float | None = None
    workers: int = 1
    copies: int = 1
    runs: int = 0
    rates: Rates = Rates()
    limit: int = 0

    def ways(self) -> tuple[Way, ...]:
        """Return what each way of counting takes, beginning with what `fit` prefers."""
        if self.counts == "singles":
            return (self._singles(),)
        if self.counts == "families":
            return (self._families(),)
        whole = self._pairs()
        if self.counts != "tiles":
            return (whole,)
        if self.candidates is not None:
            return (self._candidates(self.candidates),)
        order = tile_order(self.columns, self.given, self.limit // SHARE // self.copies)
        # `fit` takes tiles wherever all pairs exceed their share.
        found = whole if order == 1 else self._tiles(order)
        if self.offers_candidates or found.memory > self.limit:
            return (found, self._candidates(_CANDIDATES))
        return (found,)

    @property
    def _n_pairs(self) -> float:
        return len(self.columns) * (len(self.columns) - 1) / 2

    @property
    def _pair_bytes(self) -> float:
        """Mean number of bytes of the statistics of a pair."""
        return pairs_bytes(self.columns, self.given) / max(self._n_pairs, 1)

    @property
    def _rows_held(self) -> float:
        """Bytes of the runs of rows that are held, as read and as encoded."""
        rows = min(self.runs * BLOCK, self.n_rows if self.runs else 0)
        return rows * sum(16 if isinstance(v, Continuous) else 5 for v in self.columns)

    def _way(
        self,
        name: str,
        statistics: float,
        *,
        columns_read: float,
        pairs: float,
        passes: int,
        reduced: float | None = None,
        held: float = 0.0,
        alone: float = 0.0,
        most_passes: int | None = None,
    ) -> Way:
        """Return a way by its numbers.

        Parameters
        ----------
        name : str
        statistics : float
            As in Way.
        columns_read : float
            Number of columns that all passes read.
        pairs : float
            Number of pairs that all passes count.
        passes, most_passes : int
        reduced : float, optional
            Bytes of the statistics of all passes, `statistics` by default.
        held : float
            Bytes held besides the statistics.
        alone : float
            Number of pairs of values that one worker counts alone.
        """
        counted = columns_read * self.rates.cell + pairs * self.rates.pair
        share = columns_read / max(len(self.columns), 1)
        return Way(
            name,
            passes,
            passes if most_passes is None else most_passes,
            None if self.row_bytes is None else self.n_rows * self.row_bytes * share,
            statistics,
            self.copies * statistics + held + self._rows_held,
            self.workers * (statistics if reduced is None else reduced),
            self.n_rows * counted / self.workers + alone * self.rates.pair,
        )

    def _singles(self) -> Way:
        d = len(self.columns)
        passes = self.before + (self.at_once == 0)
        size = _singles_bytes(self.columns, self.given)
        return self._way("single columns", size, columns_read=d * passes, pairs=d, passes=passes)

    def _families(self) -> Way:
        d = len(self.columns)
        passes, size = self.before + (self.at_once == 0), d * self._pair_bytes
        return self._way("families", size, columns_read=d * passes, pairs=d, passes=passes)

    def _pairs(self) -> Way:
        d = len(self.columns)
        size = pairs_bytes(self.columns, self.given)
        passes, more = self.before + (size > self.at_once) + self.after, self.most_after
        return self._way(
            "all pairs",
            size,
            columns_read=d * (passes + more),
            pairs=self._n_pairs + d * (self.after + more),
            passes=passes,
            most_passes=passes + more,
            held=matrices_bytes(d),
        )

    def _tiles(self, order: int) -> Way:
        d = len(self.columns)
        places = [len(tile) for tile in tiles(d, order)]
        singles, families = _singles_bytes(self.columns, self.given), d * self._pair_bytes
        counted = sum(n * (n - 1) / 2 for n in places)
        return self._way(
            "tiles of pairs",
            tile_bytes(self.columns, self.given, order),
            columns_read=d * (self.before + 2) + sum(places),
            pairs=counted + 2 * d,
            passes=self.before + 2 + len(places),
            reduced=singles + families + counted * self._pair_bytes,
            held=matrices_bytes(d),
        )

    def _candidates(self, n: int) -> Way:
        d = len(self.columns)
        n_pairs = min(d * (n + 1), self._n_pairs)
        has_numbers = any(isinstance(v, Continuous) for v in self.columns)
        passes = self.before + 3 + has_numbers  # sample, candidates, tree; variances
        size = n_pairs * self._pair_bytes
        rows = min(self.n_rows, SAMPLE_ROWS)
        order = tile_order(self.columns, self.given, self.limit // SHARE)
        sample = rows * sum(8 if isinstance(v, Continuous) else 1 for v in self.columns)
        scored = tile_bytes(self.columns, self.given, order)
        found = self._way(
            f"candidates={n}",
            size,
            columns_read=d * passes,
            pairs=n_pairs + d,
            passes=passes,
            reduced=size + d * self._pair_bytes,
            alone=rows * self._n_pairs,
        )
        # The sample is scored before candidates are counted.
        return replace(found, memory=max(found.memory, sample + max(scored, self._rows_held)))


def _singles_bytes(columns: Sequence[Variable], given: Discrete | None) -> float:
    states = sum(v.cardinality if isinstance(v, Discrete) else 3 for v in columns)
    return 8.0 * (1 if given is None else given.cardinality) * (1 + states)


def fit_price(
    n_rows: int,
    n_columns: int,
    *,
    states: int = 5,
    numbers: int = 0,
    classes: int = 2,
    counts: str = "tiles",
    candidates: int | None = None,
    row_bytes: float | None = None,
    workers: int = 1,
    rates: Rates | None = None,
    memory_limit: int | None = None,
) -> FitPrice:
    """Return the price of a fit by numbers alone, without data.

    The time is linear: each value is read in each pass, and each pair of columns counted in each
    row. Statistics of all pairs take 8 K sum_{i<j} r_i r_j bytes, for K classes and columns of r_i
    states; of d numeric columns 8 K d² besides, and 24 K d for each state of another column.

    Parameters
    ----------
    n_rows, n_columns : int
    states : int, default 5
        Number of states of each discrete column.
    numbers : int, default 0
        How many of the columns are numeric.
    classes : int, default 2
    counts : {"tiles", "pairs", "singles"}
        Statistics of all pairs, by tiles if they are too large, as for TANClassifier; of all pairs
        at a time, as for AODEClassifier; of single columns, as for NaiveBayesClassifier.
    candidates : int, optional
        As for TANClassifier.
    row_bytes : float, optional
        Bytes of a row where it is stored; by default a byte of each discrete and 8 of each numeric
        column.
    workers : int, default 1
        Number of workers that share the rows.
    rates : Rates, optional
        Measured times of one worker; by default those of one core with columns of both kinds.
    memory_limit : int, optional
        Bytes that a worker may hold; by default half of the memory of this machine.

    Returns
    -------
    FitPrice

    Raises
    ------
    DataError
        If a number is not positive, or there are more numeric columns than columns.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> price = bg.fit_price(10**12, 10**4, workers=1000, memory_limit=16 * 10**9)
    >>> [way.name for way in price.ways]
    ['tiles of pairs', 'candidates=10']
    >>> round(price.ways[1].seconds / 86400)  # days
    11
    """
    sizes = (n_rows, n_columns, states, classes, workers)
    if min(sizes) < 1 or not 0 <= numbers <= n_columns:
        raise DataError(
            "fit_price takes positive numbers of rows, columns, states, classes and workers, and "
            f"from 0 to n_columns numeric columns; got {sizes} and {numbers}."
        )
    one_of("counts", counts, ("tiles", "pairs", "singles"))
    limit = default_memory_limit() if memory_limit is None else memory_limit
    columns: list[Variable] = [Continuous(i) for i in range(numbers)]
    columns += [Discrete(i, range(states)) for i in range(numbers, n_columns)]
    work = Work(
        tuple(columns),
        Discrete("class", range(classes)),
        n_rows,
        counts,
        candidates,
        row_bytes=n_columns + 7 * numbers if row_bytes is None else row_bytes,
        workers=workers,
        runs=2,  # one that is read, and one that is counted
        rates=Rates() if rates is None else rates,
        limit=limit,
    )
    title = f"Price of {n_rows:,} rows, {n_columns:,} columns, {classes:,} classes"
    return FitPrice(title + (f", {workers:,} workers" if workers > 1 else ""), work.ways(), limit)
