"""The PC algorithm: a structure from tests of conditional independence.

Spirtes, Glymour and Scheines (2000, section 5.4.2), in the order-independent form PC-stable of
Colombo and Maathuis (2014).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, filterfalse, islice, repeat
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.errors import DataError
from bayesgraph.core.variables import Continuous, Variable
from bayesgraph.graphs import Pattern
from bayesgraph.learning.information import extended_information, extended_tables
from bayesgraph.learning.scores import MAX_CELLS, MAX_HELD
from bayesgraph.learning.structure import ArcRules, Structure, all_columns, check_source
from bayesgraph.statistics import (
    CountSource,
    Family,
    FamilyStatistics,
    Numbered,
    Outcome,
    RowSource,
    SmoothingLike,
    as_smoothing,
    conditional_gaussian,
    many_states,
    partial_correlation,
    safe_divide,
    too_few_rows,
)

# ---------------------------- The PC algorithm: a structure from tests of conditional independence


# Maximum number of sets of given columns by which a pair is tested in one pass over the data.
_MOST_AT_ONCE = 64


def pc(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    alpha: float = 0.05,
    max_given: int | None = 3,
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
    tiers: Iterable[Any] | None = None,
) -> Structure:
    """Return the structure that tests of conditional independence lead to, by PC-stable.

    Two columns are linked unless a test finds them independent given some of their neighbours.
    Tests are those of `bayesgraph.independence_test`: G-squared for discrete columns, the partial
    correlation for continuous ones, and a likelihood ratio where there are both. Rows that lack one
    of the columns of a test do not count for it. Columns that are dependent given what separates
    two others are their common children; conflicts are decided for the more certain independence,
    the one of the larger p-value. The remaining directions are those of one graph of the class:
    `bayesgraph.graphs.cpdag` of the structure shows which arcs the data have directed.

    Where the given columns determine one of two discrete columns, the test has no degree of freedom
    and does not count: the link stays. A column that others determine thus keeps its other links,
    at the price of links to columns that are dependent on it through all of these others. Nor does
    a test given columns count if too few rows have them all.

    Parameters
    ----------
    source : CountSource
    smoothing : name, number or Smoothing
        Its `var_smoothing` is the share of a variance that counts as rounding error.
    alpha : float, default 0.05
        Columns are independent if the p-value is larger.
    max_given : int or None, default 3
        Maximum number of given columns; with None as many as there are neighbours, which takes
        long where columns determine others: their links all stay, so that the sets are many.
    required, forbidden : iterable of (parent, child), optional
        Required arcs are not tested. A pair is not linked if both directions are forbidden.
    tiers : iterable of names or lists of names, optional
        Tiers in order of time: no arc leads from a tier to an earlier one.

    Returns
    -------
    Structure
        The score of an arc is the least information that its ends had about each other in a test,
        in nats per row; required arcs, which are not tested, have none.

    Raises
    ------
    DataError
        If alpha is no probability.
    GraphError, UnknownVariableError
        If required and forbidden arcs contradict each other, or name an unknown variable.
    """
    check_source(source, "pc")
    if not (isinstance(alpha, (int, float, np.number)) and 0 < alpha < 1):
        raise DataError(f"alpha= takes a probability between 0 and 1; got {alpha!r}.")
    columns = all_columns(source)
    rules = ArcRules.of(required, forbidden, [v.name for v in columns], tiers)
    allowed, forced = rules.admissible(columns), rules.forced(columns)
    most = len(columns) if max_given is None else max_given
    limit = whole_number("max_given=", "columns", most)
    tests = PairTests(source, columns, as_smoothing(smoothing).ridge)
    skeleton = Skeleton(allowed, forced, tests, alpha)
    skeleton.search(limit)
    arcs = directed(skeleton, allowed, forced)
    names = [v.name for v in columns]
    least = {(names[a], names[b]): float(skeleton.least[min(a, b), max(a, b)]) for a, b in arcs}
    scores = {arc: score for arc, score in least.items() if np.isfinite(score)}
    return Structure(columns, tuple(least), scores)


# A question: are two columns, by their numbers, independent given others?
Asked: TypeAlias = tuple[int, int, tuple[int, ...]]


class PairTests:
    """Tests of conditional independence of columns, from the statistics of a count source.

    Parameters
    ----------
    source : CountSource
    columns : sequence of Variable
    ridge : callable
        Function from the variances of continuous columns to what is added to them.
    """

    def __init__(self, source: CountSource, columns: Sequence[Variable], ridge: Any) -> None:
        self._source, self._columns = source, tuple(columns)
        numbers = [v for v in columns if isinstance(v, Continuous)]
        added = ridge(source.variances(numbers)) if numbers else np.empty(0)
        self._ridge = dict(zip(numbers, added.tolist(), strict=True))
        self._numbered = Numbered(self._columns)
        self._cards: list[int] = self._numbered.cards.tolist()  # 0 of continuous columns
        rows: RowSource | None = source if getattr(source, "in_memory", False) else None  # type: ignore[assignment]
        free = np.maximum(self._numbered.cards - 1.0, 0.0)  # continuous columns are never wide
        # Where rows are not in memory no pair is wide. Weights are empty if all are 1.
        n_rows = np.inf if rows is None else rows.weights.sum() or rows.n_rows
        # Pairs of columns of so many states that G-squared is not chi-squared; if the rows are in
        # memory, they are tested by `many_states`.
        self._in_memory, self._wide = rows, too_few_rows(np.outer(free, free), n_rows)
        self._most = 0.0  # weight of the rows of the test that had the most

    def of(self, asked: Sequence[Asked]) -> Floats:
        """Return the p-values and the information of tests in nats per row, shape (2, n_tests).

        They are NaN for tables that are too large to be counted, and where given columns leave no
        degree of freedom.
        """
        results = np.full((2, len(asked)), np.nan)
        # Tests whose statistics fit in memory together are one batch.
        n_values, batch = 0, list[int]()
        for i, (one, other, condition) in enumerate(asked):
            if self._wide[one, other]:
                variables: list[Any] = [self._columns[c] for c in (one, other, *condition)]
                assert self._in_memory is not None
                outcome = many_states(self._in_memory, variables[0], variables[1], variables[2:])
                results[:, i] = outcome.p_value, outcome.information
                continue
            # An upper bound on the number of values in the statistics of a test: for each cell of
            # the discrete columns the moments of the continuous ones, a square matrix.
            cards = [self._cards[c] for c in (one, other, *condition)]
            size = math.prod(filter(None, cards)) * (1 + cards.count(0)) ** 2
            if size > MAX_CELLS:
                continue
            if n_values + size > MAX_HELD:
                self._test(asked, batch, results)
                n_values, batch = 0, []
            batch.append(i)
            n_values += size
        self._test(asked, batch, results)
        return results

    def _test(self, asked: Sequence[Asked], batch: Sequence[int], results: Floats) -> None:
        """Write the results of some tests, from one request for each kind."""
        families = {i: self._family(asked[i]) for i in batch} if 0 in self._cards else {}
        mixed = {i: family for i, family in families.items() if family.continuous}
        # Mixed tests have a continuous column; all columns of the others are discrete.
        if tables := [i for i in batch if i not in mixed]:
            self._test_tables(asked, tables, results)
        counted = self._source.families(mixed.values(), keep=False) if mixed else {}
        for i, family in mixed.items():
            statistics, (one, other, condition) = counted[family], asked[i]
            few = self._are_few(statistics.counts.sum(), 1.0)
            outcome = self._of_family(one, other, family, statistics)
            decided = outcome.degrees > 0 or not family.discrete
            # A test without given columns always counts.
            if not condition or (decided and not few):
                results[:, i] = outcome.p_value, outcome.information

    def _test_tables(self, asked: Sequence[Asked], batch: Sequence[int], results: Floats) -> None:
        """Write the results of G-squared tests, by what is given and one of the columns."""
        # Tests that differ in one column only are counted together: from the common columns to the
        # numbers of these tests.
        tests_of: dict[tuple[int, ...], list[int]] = {}
        for i in batch:
            one, _, condition = asked[i]
            tests_of.setdefault((*condition, one), []).append(i)
        # For `extended_tables`: the columns in which tests differ, and the common ones.
        groups = [(tuple([asked[i][1] for i in tests]), cols) for cols, tests in tests_of.items()]
        counted = extended_tables(self._source, self._numbered, groups)
        tested = extended_information(counted)
        decided = tested.degrees > 0
        without_result = ~decided | self._are_few(tested.rows, tested.degrees)
        # Twice the information is G-squared.
        p_values = scipy.special.chdtrc(tested.degrees, 2.0 * tested.information)
        shares = tested.information / np.maximum(tested.rows, 1.0)
        at = np.fromiter(chain.from_iterable(tests_of.values()), np.intp, len(batch))
        # Where nothing varies, and nothing is given, columns are independent.
        results[:, at] = np.where(decided, p_values, 1.0), shares
        # Nothing varies where the given columns determine one of the two: no test.
        # Nor are there enough rows in some; a test without given columns always counts.
        results[:, [i for i in at[without_result].tolist() if asked[i][2]]] = np.nan

    def _are_few(self, rows: Any, degrees: Any) -> Any:
        """Return whether tests have too few rows to tell independence, see `ArcScores`."""
        self._most = max(self._most, float(np.max(rows)))
        return rows <= degrees * safe_divide(self._most - rows, np.asarray(rows))

    def _family(self, asked: Asked) -> Family:
        """Return the columns of a test in the order that `conditional_gaussian` expects.

        Given columns come first among the discrete ones, and last among the continuous ones.
        """
        one, other, condition = asked
        discrete = [c for c in (*condition, one, other) if self._cards[c]]
        continuous = [c for c in (one, other, *condition) if not self._cards[c]]
        return Family.of(*(self._columns[c] for c in (*discrete, *continuous)))

    def _of_family(
        self, one: int, other: int, family: Family, statistics: FamilyStatistics
    ) -> Outcome:
        """Return the test of two columns given the others of their family; see `_family`."""
        ridge = np.array([self._ridge[v] for v in family.continuous])
        if not family.discrete:
            return partial_correlation(statistics, ridge)
        # Strata, states of `one` and states of `other`: the discrete ones of these come last.
        shape = (-1, self._cards[one] or 1, self._cards[other] or 1)
        n = len(ridge)
        by_stratum = FamilyStatistics(
            statistics.counts.reshape(shape),
            statistics.mean.reshape(*shape, n),
            statistics.comoment.reshape(*shape, n, n),
        )
        n_x, n_y = int(not self._cards[one]), int(not self._cards[other])
        return conditional_gaussian(by_stratum, n_x, n_y, ridge)


class Skeleton:
    """The pairs of columns that no test has found independent.

    Parameters
    ----------
    allowed, forced : ndarray of bool, shape (d, d)
        Arcs that may be, and that must be; parents along the first axis.
    tests : PairTests
    alpha : float

    Attributes
    ----------
    linked : ndarray of bool, shape (d, d)
        Symmetric.
    separators : dict from (a, b) to (set of columns, p-value), a < b
    least : ndarray, shape (d, d)
        Least information in a test of columns a < b, in nats per row.
    """

    def __init__(
        self,
        allowed: NDArray[np.bool_],
        forced: NDArray[np.bool_],
        tests: PairTests,
        alpha: float,
    ) -> None:
        self.linked = allowed | allowed.T
        self.separators: dict[tuple[int, int], tuple[frozenset[int], float]] = {}
        self.least: Floats = np.full(allowed.shape, np.inf)
        # `_kept` marks pairs with a required arc, which are linked without a test.
        self._allowed, self._kept = allowed, forced | forced.T
        self._tests, self._alpha = tests, alpha
        # Of each column the others, the most informative first; `search` fills it in.
        self._order = np.empty(allowed.shape, dtype=np.intp)

    def search(self, most: int) -> None:
        """Test all pairs, given sets of 0, 1, ... up to `most` of their neighbours."""
        for size in range(most + 1):
            around = self._neighbours() if size else [[]] * len(self.linked)
            pairs = np.argwhere(np.triu(self.linked & ~self._kept))
            if not self._level(pairs, around, size):
                return
            # The tests without given columns rank the neighbours of each column.
            if not size:
                scores = np.where(np.isfinite(self.least), self.least, 0.0)
                # Of pairs a < b; rounded, so that rounding errors do not decide.
                self._order = np.argsort(-(scores + scores.T).round(12), axis=1, kind="stable")

    def _neighbours(self) -> list[list[int]]:
        """Return the possible parents of each column, the most informative first."""
        # In row a, whether the arc b -> a may be, with the columns b in the order of `_order`.
        possible = np.take_along_axis(self.linked & self._allowed.T, self._order, axis=1)
        return [order[mask].tolist() for order, mask in zip(self._order, possible, strict=True)]

    def _sets(
        self, a: int, b: int, size: int, around: Sequence[Sequence[int]]
    ) -> Iterator[Asked] | None:
        """Return the tests of a pair given sets of neighbours of either, None if there are none."""
        if not size:
            return iter([(a, b, ())])
        left, right = [c for c in around[a] if c != b], [c for c in around[b] if c != a]
        if max(len(left), len(right)) < size:
            return None
        # Sets of neighbours of both are taken once. The column whose neighbours are given comes
        # first: tests that share it and the set are counted together, see `_test_tables`.
        first = combinations(left, size)
        second = filterfalse(set(left).issuperset, combinations(right, size))
        tests = zip(repeat(a), repeat(b), first, strict=False)
        return chain(tests, zip(repeat(b), repeat(a), second, strict=False))

    def _level(self, pairs: NDArray[np.intp], around: Sequence[Sequence[int]], size: int) -> bool:
        """Test pairs until a set separates them, some sets of each pair in one pass at a time.

        The first set in order decides, so that the result does not depend on how many are tested
        at a time.

        Returns
        -------
        bool
            Whether a pair has a set.
        """
        waiting = {
            (a, b): sets
            for a, b in pairs.tolist()
            if (sets := self._sets(a, b, size, around)) is not None
        }
        if not waiting:
            return False
        together = 1
        # The next sets of each pair, while there are any.
        while tests := {
            pair: new for pair, sets in waiting.items() if (new := [*islice(sets, together)])
        }:
            apart = self._separated(tests)
            for a, b in apart:
                self.linked[a, b] = self.linked[b, a] = False
            # Fewer sets than asked for were the last ones of the pair.
            waiting = {
                pair: waiting[pair]
                for pair, new in tests.items()
                if len(new) == together and pair not in apart
            }
            together = min(2 * together, _MOST_AT_ONCE)
        return True

    def _separated(self, tests: dict[tuple[int, int], list[Asked]]) -> set[tuple[int, int]]:
        """Note what tests of pairs say; return the pairs that one of them finds independent."""
        asked = list(chain.from_iterable(tests.values()))
        p_values, information = self._tests.of(asked)
        sizes = np.array([len(new) for new in tests.values()])
        starts = np.cumsum(sizes) - sizes  # where the tests of each pair begin
        # The first test that finds each pair independent; what comes later does not count.
        # The tests of a pair are consecutive; `len(asked)` stands for none.
        hits = np.append(np.flatnonzero(p_values > self._alpha), len(asked))
        hits = hits[np.searchsorted(hits, starts)]
        counts = ~np.isnan(information) & (np.arange(len(asked)) <= np.repeat(hits, sizes))
        least = np.minimum.reduceat(np.where(counts, information, np.inf), starts)
        a, b = np.array(list(tests)).T
        self.least[a, b] = np.minimum(self.least[a, b], least)
        separated = set()
        for pair, hit, end in zip(tests, hits.tolist(), (starts + sizes).tolist(), strict=True):
            if hit < end:
                self.separators[pair] = frozenset(asked[hit][2]), float(p_values[hit])
                separated.add(pair)
        return separated


def directed(
    skeleton: Skeleton, allowed: NDArray[np.bool_], forced: NDArray[np.bool_]
) -> list[tuple[int, int]]:
    """Return the arcs of a directed acyclic graph with a skeleton and its v-structures."""
    linked = skeleton.linked
    pattern = Pattern(len(linked), [(a, b) for a, b in np.argwhere(np.triu(linked)).tolist()])
    # First the required arcs, then links that may have one direction only.
    for arcs in (forced, linked & allowed & ~allowed.T):
        for a, b in np.argwhere(arcs).tolist():
            if pattern.leads(b, a):
                pattern.unlink(a, b)  # it can be directed neither way
            pattern.direct(a, b)
    # A v-structure is left out if an earlier one directed one of its arcs the other way.
    neighbours = [set(np.flatnonzero(row).tolist()) for row in linked]
    # Pairs with a common child that does not separate them, the most certain first.
    colliders = sorted(
        (-p_value, a, b, child)
        for (a, b), (separator, p_value) in skeleton.separators.items()
        for child in neighbours[a] & neighbours[b]
        if child not in separator and allowed[a, child] and allowed[b, child]
    )
    for _, a, b, child in colliders:
        if all(child in pattern.undirected[p] or p in pattern.parents[child] for p in (a, b)):
            for p in (a, b):
                if not pattern.leads(child, p):
                    pattern.direct(p, child)
    pattern.close()
    pattern.extend()
    return pattern.arcs()
