"""Tables of counts and moments that other engines made, such as by ``GROUP BY``, as statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.classifiers.collected import CollectedStatistics
from bayesgraph.classifiers.feature_layout import Layout
from bayesgraph.classifiers.labels import joined_classes
from bayesgraph.datasets.domains import Domain
from bayesgraph.encoding import columns_of
from bayesgraph.encoding.columns import Column, as_numbers, encode_column, factorise, is_discrete
from bayesgraph.errors import DataError, quoted, unknown_variable
from bayesgraph.factors.algebra import Floats
from bayesgraph.statistics import Pairs, PairsSummary, Singles, SinglesSummary, Statistics
from bayesgraph.statistics.moments import GroupMoments, PairMoments
from bayesgraph.statistics.summaries import check_memory
from bayesgraph.variables import Continuous, Discrete, Name, Variable

if TYPE_CHECKING:
    from bayesgraph.classifiers.network_classifier import NetworkClassifier

# Relative tolerance of sums of weights that should be equal.
_EQUAL = 1e-9


def counted(
    estimator: NetworkClassifier,
    tables: Iterable[Any],
    target: Name,
    count: Name,
    moments: Mapping[Name, Any],
) -> CollectedStatistics:
    """Return the statistics of tables of counts; see `NetworkClassifier.collect_counts`."""
    found = [_Counts.of(table, target, count) for table in tables]
    by_names = _by_names(found)
    domains: dict[Name, Domain] = {}
    for counts in found:
        for name in (target, *counts.names):
            here = Domain.of(factorise(counts.columns[name], name))
            domains[name] = domains.get(name, Domain()) + here
    for name, domain in domains.items():
        if not domain.counts:
            raise DataError(f"Column {name!r} has no value in the tables of counts; leave it out.")
    if target not in domains:
        raise DataError(
            "tables= needs the counts of a discrete column by class at least, or those of the "
            f"classes alone: SELECT {target}, count(*) AS {count} ... GROUP BY {target}."
        )
    classes = _labels(domains.pop(target).states)
    given = Discrete(target, classes.tolist())
    if clash := sorted(domains.keys() & moments.keys(), key=repr):
        raise DataError(f"{quoted(clash)} are in tables= and in moments=; give each column once.")
    discrete = tuple(Discrete(name, domain.states) for name, domain in domains.items())
    numbers = tuple(Continuous(name) for name in moments)
    cells = {names: counts.cells(given, discrete) for names, counts in by_names.items()}
    totals = _checked_totals(cells, given)
    means = [_moments(moments[v.name], v.name, given, totals, count) for v in numbers]
    singles = _singles((*discrete, *numbers), given, totals, cells, means)
    pairs = any(len(names) == 2 for names in cells)
    features: tuple[Variable, ...] = (*discrete, *numbers)
    summary = _pairs(singles, cells) if pairs else singles
    coded = [v.name for v in discrete if _is_coded(by_names, v.name)]
    if coded:
        estimator.set_params(categorical=coded)
    layout = Layout(tuple(v.name for v in features), categorical=frozenset(coded))
    named = all(isinstance(name, str) for name in layout.columns)
    statistics = Statistics({summary.request: summary})
    return CollectedStatistics(estimator, layout, features, given, classes, statistics, named)


@dataclass(frozen=True)
class _Counts:
    """One table: the joint counts of no, one or two columns and the class.

    Attributes
    ----------
    names : tuple of names
        The columns besides the class.
    columns : mapping from name to column
        The values, those of the class among them.
    target : name
    counts : ndarray, shape (n_rows,)
    """

    names: tuple[Name, ...]
    columns: Mapping[Name, Column]
    target: Name
    counts: Floats

    @classmethod
    def of(cls, table: Any, target: Name, count: Name) -> _Counts:
        """Return a table after checking its columns and counts."""
        columns = columns_of(table)
        names = tuple(name for name in columns if name not in (target, count))
        for name in (target, count):
            if name not in columns:
                raise unknown_variable(name, list(columns), where="tables=: a table of counts")
        if len(names) > 2:
            raise DataError(
                f"A table counts one column or two, by class; got one of {quoted(names)}."
            )
        counts = _checked(columns[count], f"counts of {_said(names)}", count)
        return cls(names, columns, target, counts)

    def cells(self, target: Discrete, features: Sequence[Discrete]) -> Floats:
        """Return the counts as an array of shape (n_classes, states + 1, ...), the last if NULL."""
        of = {v.name: v for v in features}
        variables = [of[name] for name in sorted(self.names, key=list(of).index)]
        labels = encode_column(target, self.columns[self.target], unseen="error")
        if (self.counts[labels < 0] > 0).any():
            raise DataError(
                f"The class {target.name!r} is missing in the counts of {_said(self.names)}; leave "
                f"these rows out: WHERE {target.name} IS NOT NULL."
            )
        codes = [encode_column(v, self.columns[v.name], unseen="error") for v in variables]
        there = labels >= 0
        found = np.zeros((target.cardinality, *(v.cardinality + 1 for v in variables)))
        np.add.at(found, tuple(c[there] for c in (labels, *codes)), self.counts[there])
        return found


def _by_names(found: Sequence[_Counts]) -> dict[tuple[Name, ...], _Counts]:
    """Return the tables by their columns, pairs in the order in which columns first appear."""
    order = list(dict.fromkeys(name for counts in found for name in counts.names))
    tables: dict[tuple[Name, ...], _Counts] = {}
    for counts in found:
        names = tuple(sorted(counts.names, key=order.index))
        if names in tables:
            raise DataError(f"The counts of {_said(names)} are there twice.")
        tables[names] = counts
    pairs = [names for names in tables if len(names) == 2]
    wanted = [(name,) for name in order] + (list(combinations(order, 2)) if pairs else [])
    for names in wanted:
        if names not in tables:
            raise DataError(
                f"The counts of {_said(names)} are missing: "
                + (
                    "classifiers with arcs need every pair of columns."
                    if len(names) == 2
                    else "each column is counted by itself too, because of missing values."
                )
            )
    return tables


def _said(names: Sequence[Name]) -> str:
    return f"{quoted(names)} by class" if names else "the classes"


def _checked(column: Column, what: str, name: Name) -> Floats:
    """Return a column of finite numbers that are not negative."""
    numbers = as_numbers(column, name)
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        wrong = numbers[~(np.isfinite(numbers) & (numbers >= 0))][0]
        raise DataError(f"The {what} are finite numbers, 0 or more; got {wrong:g}.")
    return numbers


def _labels(states: list[Any]) -> NDArray[Any]:
    """Return the classes as labels, of the type that they have in data frames."""
    labels = np.array(states, dtype=object if isinstance(states[0], str) else None)
    return joined_classes(None, labels, None)


def _is_coded(tables: Mapping[tuple[Name, ...], _Counts], name: Name) -> bool:
    """Return whether the values of a discrete column are numbers."""
    return not is_discrete(tables[(name,)].columns[name], name)


def _checked_totals(cells: Mapping[tuple[Name, ...], Floats], target: Discrete) -> Floats:
    """Return the number of rows of each class, after checking that all tables agree.

    Raises
    ------
    DataError
        If rows of a class, or values of a column within a class, are not equally many in two
        tables.
    """
    known: dict[tuple[Name, ...], Floats] = {}
    whose: dict[tuple[Name, ...], tuple[Name, ...]] = {}
    for names, counts in sorted(cells.items(), key=lambda item: len(item[0])):
        sums: dict[tuple[Name, ...], Floats] = {(): counts.sum(axis=tuple(range(1, counts.ndim)))}
        if len(names) == 2:
            sums |= {(name,): counts.sum(axis=2 - at) for at, name in enumerate(names)}
        elif names:
            known[names], whose[names] = counts, names
        for part, found in sums.items():
            before = known.setdefault(part, found)
            first = whose.setdefault(part, names)
            if not np.allclose(found, before, rtol=_EQUAL, atol=_EQUAL * before.max()):
                at = np.unravel_index(np.argmax(np.abs(found - before)), found.shape)
                of = f"values of {quoted(part)} in " if part else ""
                raise DataError(
                    f"The tables do not count the same rows: {of}the class "
                    f"{target.states[int(at[0])]!r} has {before[at]:g} rows in the counts of "
                    f"{_said(first)} and {found[at]:g} in those of {_said(names)}. Leave no row "
                    "out where a column is NULL."
                )
    totals = known[()]
    if not totals.any():
        raise DataError("The tables count no rows.")
    return totals


def _moments(
    table: Any, name: Name, target: Discrete, totals: Floats, count: Name
) -> tuple[Floats, Floats, Floats]:
    """Return count, mean and sum of squares of a numeric column in each class."""
    columns = columns_of(table)
    for needed in (target.name, count, "mean", "variance"):
        if needed not in columns:
            raise unknown_variable(needed, list(columns), where=f"moments= of {name!r}: the table")
    labels = encode_column(target, columns[target.name], unseen="error")
    if (labels < 0).any() or len(np.unique(labels)) < len(labels):
        raise DataError(f"The moments of {name!r} have one row for each class, without NULL.")
    rows = _checked(columns[count], f"counts of {name!r}", count)
    empty = rows == 0
    mean = np.where(empty, 0.0, as_numbers(columns["mean"], "mean"))
    variance = np.where(empty, 0.0, as_numbers(columns["variance"], "variance"))
    if not np.isfinite(mean).all():
        raise DataError(f"The means of {name!r} are finite numbers.")
    variance = _checked(variance, f"variances of {name!r}", "variance")
    found = np.zeros((3, target.cardinality))
    found[:, labels] = rows, mean, variance * rows
    if (found[0] > totals * (1 + _EQUAL)).any():
        g = int(np.argmax(found[0] - totals))
        raise DataError(
            f"Column {name!r} has {found[0, g]:g} numbers in the class {target.states[g]!r}, which "
            f"has {totals[g]:g} rows."
        )
    return found[0], found[1], found[2]


def _singles(
    features: tuple[Variable, ...],
    target: Discrete,
    totals: Floats,
    cells: Mapping[tuple[Name, ...], Floats],
    means: Sequence[tuple[Floats, Floats, Floats]],
) -> SinglesSummary:
    k = len(totals)
    tables = [cells[(v.name,)][:, :-1] for v in features if isinstance(v, Discrete)]
    numbers = np.array(means).reshape(-1, 3, k).transpose(1, 2, 0)
    return SinglesSummary(
        Singles(features, target),
        totals,
        np.concatenate([np.zeros((k, 0)), *tables], axis=1),
        GroupMoments(*numbers),
    )


def _pairs(singles: SinglesSummary, cells: Mapping[tuple[Name, ...], Floats]) -> PairsSummary:
    at, k = singles.at, len(singles.totals)
    if at.continuous:
        raise DataError(
            "Statistics of pairs are those of discrete columns; make intervals of "
            f"{quoted(v.name for v in at.continuous)} in the database, or leave out the pairs."
        )
    tables = [
        cells[(a.name, b.name)][:, :-1, :-1].reshape(-1) for a, b in combinations(at.discrete, 2)
    ]
    request = Pairs(singles.request.columns, singles.request.given)
    check_memory(request, at)
    none = np.zeros((k, 0, 0))
    return PairsSummary(
        request,
        singles,
        np.concatenate([np.empty(0), *tables]),
        PairMoments(np.zeros((k, 1, 1)), np.zeros((k, 0, 1)), np.zeros((k, 0, 1)), none),
        GroupMoments(*(np.zeros((0, 0)) for _ in range(3))),
    )
