"""The PC algorithm: a structure from tests of conditional independence.

Spirtes, Glymour and Scheines (2000, section 5.4.2), in the order-independent form PC-stable of
Colombo and Maathuis (2014).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, islice, repeat
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.causal.equivalence import Pattern
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.independence.statistics_tests import (
    Found,
    conditional_gaussian,
    partial_correlation,
)
from bayesgraph.learning.arcs import ArcRules, at_least
from bayesgraph.learning.extended import ExtendedTables, extended_information
from bayesgraph.learning.hill_climbing import all_columns
from bayesgraph.learning.scores import MAX_CELLS, MAX_HELD
from bayesgraph.learning.smoothing import SmoothingLike, as_smoothing
from bayesgraph.learning.structure import Structure, check_source
from bayesgraph.statistics import CountSource, Family, Numbered
from bayesgraph.variables import Continuous, Variable

# Maximum number of sets of given columns by which a pair is tested in one pass over the data.
_MOST_AT_ONCE = 64


def pc(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    alpha: float = 0.05,
    max_given: int | None = None,
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
    `bayesgraph.cpdag` of the structure shows which arcs the data have directed.

    Where the given columns determine one of two discrete columns, the test has no degree of freedom
    and does not count: the link stays. A column that others determine thus keeps its other links,
    at the price of links to columns that are dependent on it through all of these others.

    Parameters
    ----------
    source : CountSource
    smoothing : name, number or Smoothing
        Its `var_smoothing` is the share of a variance that counts as rounding error.
    alpha : float, default 0.05
        Columns are independent if the p-value is larger.
    max_given : int, optional
        Maximum number of given columns; by default as many as there are neighbours.
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
    if not (isinstance(alpha, (int, float)) and 0 < alpha < 1):
        raise DataError(f"alpha= takes a probability between 0 and 1; got {alpha!r}.")
    columns = all_columns(source)
    rules = ArcRules.of(required, forbidden, [v.name for v in columns], tiers)
    allowed, forced = rules.admissible(columns), rules.forced(columns)
    limit = len(columns) if max_given is None else at_least("max_given", max_given, 0)
    tests = PairTests(source, columns, as_smoothing(smoothing).ridge)
    skeleton = Skeleton(allowed, forced, tests, alpha)
    skeleton.search(limit)
    arcs = directed(skeleton, allowed, forced)
    names = [v.name for v in columns]
    least = {(names[a], names[b]): float(skeleton.least[min(a, b), max(a, b)]) for a, b in arcs}
    scores = {arc: score for arc, score in least.items() if np.isfinite(score)}
    return Structure(columns, tuple(least), scores)


class Asked(NamedTuple):
    """A question: are two columns, by their numbers, independent given others?"""

    one: int
    other: int
    given: tuple[int, ...]


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
        self._cards: list[int] = self._numbered.cards.tolist()

    def of(self, asked: Sequence[Asked]) -> list[Found | None]:
        """Return the result of each test.

        It is None for tables that are too large to be counted, and where given columns leave no
        degree of freedom.
        """
        found: list[Found | None] = [None] * len(asked)
        held, batch = 0, list[int]()
        for i, size in enumerate(self._sizes(asked)):
            if size > MAX_CELLS:
                continue
            if held + size > MAX_HELD:
                self._test(asked, batch, found)
                held, batch = 0, []
            batch.append(i)
            held += size
        self._test(asked, batch, found)
        return found

    def _sizes(self, asked: Sequence[Asked]) -> Iterable[int]:
        """Return upper bounds on the numbers of values in the statistics of tests."""
        if asked and 0 not in self._cards:
            most = max(len(given) for _, _, given in asked)
            largest = max(self._cards) ** (2 + most)
            if largest <= MAX_CELLS and largest * len(asked) <= MAX_HELD:
                return repeat(0, len(asked))
        return map(self._size, asked)

    def _size(self, asked: Asked) -> int:
        """Return an upper bound on the number of values in the statistics of a test."""
        one, other, given = asked
        cells, side = (self._cards[one] or 1) * (self._cards[other] or 1), 1
        side += (not self._cards[one]) + (not self._cards[other])
        for c in given:
            cells *= self._cards[c] or 1
            side += not self._cards[c]
        return cells * side**2

    def _test(
        self, asked: Sequence[Asked], batch: Sequence[int], found: list[Found | None]
    ) -> None:
        """Write the results of some tests, from one request for each kind."""
        cards, discrete = self._cards, 0 not in self._cards
        tables: dict[tuple[int, ...], list[int]] = {}
        others: list[int] = []
        for i in batch:
            one, other, given = asked[i]
            if discrete or (cards[one] and cards[other] and all(cards[c] for c in given)):
                tables.setdefault((*given, one), []).append(i)
            else:
                others.append(i)
        if tables:
            self._test_tables(asked, tables, found)
        if others:
            families = [self._family(asked[i]) for i in others]
            counted = self._source.families(families, keep=False)
            for i, family in zip(others, families, strict=True):
                found[i] = self._of_family(asked[i], family, counted[family])

    def _test_tables(
        self,
        asked: Sequence[Asked],
        tables: dict[tuple[int, ...], list[int]],
        found: list[Found | None],
    ) -> None:
        """Write the results of G-squared tests, by what is given and one of the columns."""
        groups = [
            (tuple(asked[i].other for i in members), common) for common, members in tables.items()
        ]
        counted = ExtendedTables.counted(self._source, self._numbered, groups)
        told = extended_information(counted, sum(len(new) for new, _ in groups))
        decided = told.degrees > 0
        p_values = scipy.special.chdtrc(told.degrees, 2.0 * told.information)
        p_values = np.where(decided, p_values, 1.0)
        shares = told.information / np.maximum(told.rows, 1.0)
        results = map(Found, p_values.tolist(), shares.tolist())
        asked_of = chain.from_iterable(tables.values())
        for i, result, says in zip(asked_of, results, decided.tolist(), strict=True):
            # Nothing varies where the given columns determine one of the two: no test.
            found[i] = result if says or not asked[i].given else None

    def _family(self, asked: Asked) -> Family:
        one, other, given = asked
        return Family.of(*(self._columns[c] for c in (one, other, *given)))

    def _of_family(self, asked: Asked, family: Family, statistics: Any) -> Found:
        ridge = np.array([self._ridge[v] for v in family.continuous])
        if not family.discrete:
            return partial_correlation(statistics, ridge)
        pair = self._columns[asked.one], self._columns[asked.other]
        return conditional_gaussian(family, statistics, *pair, ridge)


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
        self, allowed: NDArray[np.bool_], forced: NDArray[np.bool_], tests: PairTests, alpha: float
    ) -> None:
        self.linked = allowed | allowed.T
        self.separators: dict[tuple[int, int], tuple[frozenset[int], float]] = {}
        self.least: Floats = np.full(allowed.shape, np.inf)
        self._allowed, self._kept = allowed, forced | forced.T
        self._tests, self._alpha = tests, alpha
        self._strength: Floats = np.zeros(allowed.shape)

    def search(self, most: int) -> None:
        """Test all pairs, given sets of 0, 1, ... up to `most` of their neighbours."""
        for size in range(most + 1):
            around = [self._neighbours(c) if size else [] for c in range(len(self.linked))]
            waiting = {
                (a, b): sets
                for a, b in np.argwhere(np.triu(self.linked & ~self._kept)).tolist()
                if (sets := self._sets(a, b, size, around)) is not None
            }
            if not waiting:
                return
            self._level(waiting)
            if not size:
                shown = np.where(np.isfinite(self.least), self.least, 0.0)
                self._strength = shown + shown.T

    def _neighbours(self, column: int) -> list[int]:
        """Return what may be a parent of a column, the most informative first."""
        near = np.flatnonzero(self.linked[column] & self._allowed[:, column])
        rank = np.argsort(-self._strength[column, near].round(12), kind="stable")
        found: list[int] = near[rank].tolist()
        return found

    def _sets(
        self, a: int, b: int, size: int, around: Sequence[Sequence[int]]
    ) -> Iterator[Asked] | None:
        """Return the tests of a pair given sets of neighbours of either, None if there are none."""
        if not size:
            return iter([Asked(a, b, ())])
        left, right = ([c for c in around[s] if c not in (a, b)] for s in (a, b))
        if max(len(left), len(right)) < size:
            return None
        known = set(left)
        first = (Asked(a, b, given) for given in combinations(left, size))
        second = (
            Asked(b, a, given) for given in combinations(right, size) if not known.issuperset(given)
        )
        return chain(first, second)

    def _level(self, waiting: dict[tuple[int, int], Iterator[Asked]]) -> None:
        """Test pairs until a set separates them, some sets of each pair in one pass at a time.

        The first set in order decides, so that the result does not depend on how many are tested
        at a time.
        """
        removed: list[tuple[int, int]] = []
        together = 1
        while waiting:
            asked = {pair: list(islice(sets, together)) for pair, sets in waiting.items()}
            results = self._tests.of([test for tests in asked.values() for test in tests])
            still, first = {}, 0
            for pair, tests in asked.items():
                end = first + len(tests)
                if self._separates(pair, tests, results[first:end]):
                    removed.append(pair)
                elif len(tests) == together:
                    still[pair] = waiting[pair]
                first = end
            waiting = still
            together = min(2 * together, _MOST_AT_ONCE)
        for a, b in removed:
            self.linked[a, b] = self.linked[b, a] = False

    def _separates(
        self, pair: tuple[int, int], tests: Sequence[Asked], results: Sequence[Found | None]
    ) -> bool:
        """Note what tests of a pair say; return whether one of them finds it independent."""
        least = np.inf
        apart = False
        for test, result in zip(tests, results, strict=True):
            if result is None:
                continue
            least = min(least, result.information)
            if result.p_value > self._alpha:
                self.separators[pair] = frozenset(test.given), result.p_value
                apart = True
                break
        self.least[pair] = min(self.least[pair], least)
        return apart


def directed(
    skeleton: Skeleton, allowed: NDArray[np.bool_], forced: NDArray[np.bool_]
) -> list[tuple[int, int]]:
    """Return the arcs of a directed acyclic graph with a skeleton and its v-structures."""
    linked = skeleton.linked
    pattern = Pattern(len(linked), [(a, b) for a, b in np.argwhere(np.triu(linked)).tolist()])
    for arcs in (forced, linked & allowed & ~allowed.T):
        for a, b in np.argwhere(arcs).tolist():
            if pattern.leads(b, a):
                pattern.unlink(a, b)  # it can be directed neither way
            pattern.direct(a, b)
    for a, b, child in _colliders(skeleton, allowed):
        if all(child in pattern.undirected[p] or p in pattern.parents[child] for p in (a, b)):
            for p in (a, b):
                if not pattern.leads(child, p):
                    pattern.direct(p, child)
    pattern.close()
    pattern.extend()
    return pattern.arcs()


def _colliders(skeleton: Skeleton, allowed: NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    """Return pairs with a common child that does not separate them, the most certain first."""
    near = [set(np.flatnonzero(row).tolist()) for row in skeleton.linked]
    found = [
        (-p_value, a, b, child)
        for (a, b), (given, p_value) in skeleton.separators.items()
        for child in near[a] & near[b]
        if child not in given and allowed[a, child] and allowed[b, child]
    ]
    return [(a, b, child) for _, a, b, child in sorted(found)]
