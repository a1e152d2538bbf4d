"""Count sources over plain columns of a dataset, without what classifiers add."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayesgraph.datasets.dataset import Dataset
from bayesgraph.datasets.domains import Domain, find_domains
from bayesgraph.datasets.rows import Rows
from bayesgraph.datasets.source import DatasetSource
from bayesgraph.encoding import Table, columns_of, encode_table
from bayesgraph.encoding.columns import Column, is_discrete
from bayesgraph.encoding.table import categorical_names
from bayesgraph.errors import DataError, DataTypeError
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Continuous, Discrete, Name, Variable


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
    data.checked([weight] if weight else [], "sample_weight=")
    names = [name for name in names if name != weight]
    known = dict(declared or {})
    coded = [n for n in _discrete(data, names, categorical, target) if n not in known]
    rows = Rows(data.source, target, weight)
    read = [*coded, *([] if target is None else [target])]
    # Rows of weight zero keep their states, as in memory.
    found = find_domains(data, read, Rows(data.source, target, None))
    domains, n_rows = found.columns, found.n_rows
    if not n_rows:
        raise DataError(f"{data.source} has no rows.")
    if weight is not None and not find_domains(data, [], Rows(data.source, None, weight)).n_rows:
        raise DataError(f"The weights in {weight!r} of {data.source} are zero for every row.")
    if target is not None and domains[target].n_missing:
        raise DataError(
            f"The target {target!r} is missing in {domains[target].n_missing:,} of {n_rows:,} "
            f"rows of {data.source}; leave these rows out, such as by where=."
        )
    variables = variables_of(names, known, domains)
    chosen = None if target is None else variables[names.index(target)]
    assert chosen is None or isinstance(chosen, Discrete)  # it is among the coded ones
    return DatasetSource(
        data,
        tuple(variables),
        chosen,
        columns_of=lambda wanted: rows.with_weights([str(v.name) for v in wanted]),
        encoded=RowsEncoding(rows),
        n_rows=n_rows,
        missing=found.missing,
    )


def variables_of(
    names: Iterable[Name], known: Mapping[Name, Variable], domains: Mapping[Name, Domain]
) -> list[Variable]:
    """Return the variable of each column: the known one, or one with the states of its domain.

    Columns without a domain are numbers.
    """
    return [
        known.get(name)
        or (Discrete(name, domains[name].states) if name in domains else Continuous(name))
        for name in names
    ]


@dataclass(frozen=True)
class RowsEncoding:
    """The encoding of a run of rows by given variables; see `datasets.source.Encoding`.

    Attributes
    ----------
    rows : Rows
        Gives the weights.
    grouped : callable, optional
        Joins the columns of each vector of counts.
    """

    rows: Rows
    grouped: Callable[[dict[Name, Column]], dict[Name, Column]] | None = None

    @property
    def described(self) -> str:
        """Text that differs if the weights of the same rows do."""
        return self.rows.described

    @property
    def is_weighted(self) -> bool:
        """Whether rows may have other weights than 1."""
        return bool(self.rows.columns)

    def __call__(self, run: Any, variables: Sequence[Variable]) -> tuple[Table, Floats]:
        """Return the encoded run, and the weights of its rows."""
        columns = columns_of(run)
        if self.grouped is not None:
            columns = self.grouped(columns)
        table = encode_table(columns, variables, unseen="error", order="C")
        return table, self.rows.weights(run)


def _discrete(
    data: Dataset, names: Sequence[str], categorical: Any, target: str | None
) -> Collection[str]:
    """Return the columns that are discrete by their type, or by what the user said."""
    types = columns_of(data.schema.empty_table())
    chosen = categorical_names(categorical, names)
    return [n for n in names if n == target or n in chosen or is_discrete(types[n], n)]
