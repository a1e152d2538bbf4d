"""The first pass over a dataset: the states of discrete columns, and how often each occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bayesgraph.datasets.ahead import Ahead, Counted
from bayesgraph.datasets.dataset import Dataset
from bayesgraph.datasets.rows import Rows
from bayesgraph.encoding.columns import Factorised, factorise_chunks, naturally_ordered
from bayesgraph.errors import DataError
from bayesgraph.variables import Name, State


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
    def of(cls, found: Factorised) -> Domain:
        """Return the domain of a column in memory."""
        counts = found.counts()
        occurs = zip(found.states, counts[1:].tolist(), strict=True)
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
    counted : Counted or None
        The statistics that were counted in the same pass.
    """

    columns: dict[Name, Domain]
    n_rows: int
    labels: Domain
    maximum: int
    counted: Counted | None = None

    @property
    def missing(self) -> dict[Name, int]:
        """Number of missing values in each column that was read."""
        found = {name: domain.n_missing for name, domain in self.columns.items()}
        return found if self.counted is None else found | self.counted.missing

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
        counted = None if self.counted is None else self.counted.joined(other.counted)
        return Domains(columns, n_rows, labels, self.maximum, counted)


@dataclass(frozen=True)
class _Finding:
    """The domains of columns in a run of rows."""

    names: tuple[Name, ...]
    rows: Rows
    maximum: int
    ahead: Ahead | None = None

    def __call__(self, first: int, run: Any) -> Domains:
        y, labels = self.rows.y, Domain()
        kept = self.rows.kept(run)
        coded = {name: factorise_chunks(kept.column(name), name) for name in self.names}
        domains = {name: Domain.of(column) for name, column in coded.items()}
        if y is not None:
            is_all = kept is run and y in domains
            labels = domains[y] if is_all else Domain.of(factorise_chunks(run.column(y), y))
        found = Domains(domains, len(kept), labels, self.maximum)
        if self.ahead is None or not len(kept):
            return found
        states = {name: domain.states for name, domain in domains.items()}
        return replace(found, counted=self.ahead.counted(kept, coded, states))


def find_domains(
    data: Dataset, names: Sequence[str], rows: Rows, ahead: Ahead | None = None
) -> Domains:
    """Return the domains of columns of a dataset, in one pass.

    Parameters
    ----------
    data : Dataset
    names : sequence of str
    rows : Rows
        The rows that count.
    ahead : Ahead, optional
        What is counted in the same pass, which then reads all columns.

    Raises
    ------
    DataError
        If a column has too many states, or no value in any row.
    """
    chosen = tuple(dict.fromkeys(names))
    read = list(dict.fromkeys([*chosen, *([] if rows.y is None else [rows.y])]))
    if ahead is not None:
        read = list(data.names)
    finding = _Finding(chosen, rows, data.max_categories, ahead)
    found = data.reduce(finding, rows.with_weights(read))
    if found is None:
        return Domains({name: Domain() for name in chosen}, 0, Domain(), data.max_categories)
    for name, domain in found.columns.items():
        if found.n_rows and not domain.counts:
            raise DataError(
                f"Column {name!r} has no observed value in {found.n_rows:,} rows, so that its "
                "states are unknown; leave it out."
            )
    return found
