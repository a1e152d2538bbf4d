"""Discrete children that are functions of their discrete parents."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import CPDError
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.inference import normalised_if_possible
from bayesgraph.models.cpds.base import (
    CPD,
    LONGEST,
    Description,
    checked_numbers,
    configurations,
    joint_codes,
    left_out,
    state_texts,
    texts,
)
from bayesgraph.models.cpds.noisy_max import (
    MAX_LINK_STATES,
    MAX_TABLE,
    AdditiveCPD,
    CanonicalCPD,
    Codes,
    listed,
    of_states,
    one_hot,
)
from bayesgraph.models.cpds.table import TableCPD

# ---------------------------------- Discrete children that are functions of their discrete parents


class DeterministicCPD(CanonicalCPD):
    """A discrete child that is a function of its discrete parents.

    The function is kept as steps, one for each parent: from a state that sums up the parents
    before, and the state of this parent, to the next state. Steps are minimal, so that "at least
    three of", parity, sums, maxima and the like are linear in the number of parents.

    Parameters
    ----------
    variable : Discrete
        The child.
    function : callable
        From a state of each parent, in their order, to a state of the child. It is called for all
        joint states, at most 1,048,576; of many parents, use `fold`.
    parents : iterable of Discrete
        At least one.

    Attributes
    ----------
    steps : tuple of ndarray of int, each of shape (states before, states of the parent)

    Raises
    ------
    CPDError
        For variables that are not discrete, no parents, or too many joint states.
    UnknownStateError
        If the function returns what is no state of the child; the message suggests the nearest one.

    Examples
    --------
    >>> a, b = Discrete("a", [0, 1, 2]), Discrete("b", [0, 1, 2])
    >>> DeterministicCPD(Discrete("same", [False, True]), lambda x, y: x == y, [a, b])
    DeterministicCPD P(same | a, b)
      a  b   same
      0  0   True
      0  1  False
      0  2  False
      1  0  False
      1  1   True
      1  2  False
      2  0  False
      2  1  False
      2  2   True
    """

    other_arrays = ("sizes", "steps")

    def __init__(
        self, variable: Discrete, function: Callable[..., Any], parents: Iterable[Discrete]
    ) -> None:
        self._set_family(variable, parents)
        cells = math.prod([parent.cardinality for parent in self.parents])
        if cells > MAX_TABLE:
            raise CPDError(
                f"{self.title}: the function has {cells:,} joint states of its parents to be "
                f"called for, more than {MAX_TABLE:,}. Say how one parent after the other changes "
                "a result so far: DeterministicCPD.fold."
            )
        joint_states = itertools.product(*[parent.states for parent in self.parents])
        table = np.array([variable.index(function(*states)) for states in joint_states])
        self._set_steps(_steps_of(table, [parent.cardinality for parent in self.parents]))

    @classmethod
    def fold(
        cls,
        variable: Discrete,
        step: Callable[[Any, Any], Any],
        parents: Iterable[Discrete],
        *,
        start: Any,
        finish: Callable[[Any], Any] | None = None,
    ) -> DeterministicCPD:
        """Return a function that takes one parent after the other, for many parents.

        Parameters
        ----------
        variable : Discrete
            The child.
        step : callable
            From the result so far, which can be hashed, and a state of the next parent to the next
            result. There may be at most 4,096 different results after each parent.
        parents : iterable of Discrete
        start : hashable
            The result before the first parent.
        finish : callable, optional
            From the last result to a state of the child; by default that is the result itself.

        Raises
        ------
        CPDError, UnknownStateError
            As the constructor does; or for too many different results.

        Examples
        --------
        >>> votes = [Discrete(f"vote {i}", ["no", "yes"]) for i in range(25)]
        >>> cpd = DeterministicCPD.fold(
        ...     Discrete("passed", [False, True]), lambda n, vote: n + (vote == "yes"), votes,
        ...     start=0, finish=lambda n: n > 12,
        ... )
        >>> sum(table.size for table in cpd.steps)
        386
        """
        cpd = cls.__new__(cls)
        cpd._set_family(variable, parents)
        results, steps = [start], []
        for parent in cpd.parents:
            # The number of each different result after this parent; 1 and True are different.
            codes: dict[Any, int] = {}
            longer = [step(result, state) for result in results for state in parent.states]
            table = [codes.setdefault((type(r), r), len(codes)) for r in longer]
            steps.append(np.array(table).reshape(len(results), -1))
            results = [result for _, result in codes]
            if len(results) > _MAX_RESULTS:
                raise CPDError(
                    f"{cpd.title}: after {parent.name!r} there are {len(results):,} different "
                    f"results, more than {_MAX_RESULTS:,}."
                )
        states = [variable.index(finish(result) if finish else result) for result in results]
        if steps:  # the last step leads to states of the child instead of results
            steps[-1] = np.array(states)[steps[-1]]
        cpd._set_steps(_minimal(steps))
        return cpd

    @classmethod
    def from_codes(
        cls, variable: Discrete, codes: ArrayLike, parents: Iterable[Discrete]
    ) -> DeterministicCPD:
        """Return a function given by the child's state for each joint state of the parents.

        Parameters
        ----------
        variable : Discrete
            The child.
        codes : array_like of int, shape (*parents' cardinalities)
            Indices of states of the child.
        parents : iterable of Discrete
            At least one.

        Raises
        ------
        CPDError
            As the constructor does; or for another shape, or a number that is no index of a state.

        Examples
        --------
        >>> a, b = Discrete("a", ["no", "yes"]), Discrete("b", ["no", "yes"])
        >>> DeterministicCPD.from_codes(Discrete("both", [False, True]), [[0, 0], [0, 1]], [a, b])
        DeterministicCPD P(both | a, b)
          a      b   both
          no    no  False
          no   yes  False
          yes   no  False
          yes  yes   True
        """
        cpd = cls.__new__(cls)
        cpd._set_family(variable, parents)
        table, shape = np.asarray(codes), tuple(parent.cardinality for parent in cpd.parents)
        if table.shape != shape or table.dtype.kind not in "iu":
            raise CPDError(f"{cpd.title}: codes are integers of shape {shape}; got {codes!r:.200}.")
        cpd._set_steps(_steps_of(table.astype(np.intp), shape))
        return cpd

    def _set_steps(self, steps: Sequence[Codes]) -> None:
        """Set the steps, from arrays that may come from a file."""
        if not self.parents:
            raise CPDError(f"{self.title} takes at least one parent; use a TableCPD.")
        # Numbers of states before each step and after the last, which leads to the child's.
        sizes = [1, *(len(table) for table in steps[1:]), self.variable.cardinality]
        for k, (parent, table) in enumerate(zip(self.parents, steps, strict=True)):
            if (
                table.shape != (sizes[k], parent.cardinality)
                or not ((table >= 0) & (table < sizes[k + 1])).all()
            ):
                raise CPDError(
                    f"{self.title}: step {k} has numbers of states below {sizes[k + 1]}, of shape "
                    f"{(sizes[k], parent.cardinality)}; got {table!r:.200}."
                )
            table.flags.writeable = False
        self.steps = tuple(steps)

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities: none."""
        return 0

    def distributions(self, codes: Sequence[Codes]) -> Floats:
        """Return 1 for the child's state and 0 for others; see CanonicalCPD."""
        return one_hot(self._states(codes), self.variable.cardinality)

    def _states(self, codes: Sequence[Codes]) -> Codes:
        """Return the child's state given states of all parents, arrays that broadcast."""
        state: Any = 0  # the only one before the first parent
        for table, code in zip(self.steps, codes, strict=True):
            state = table[state, code]
        return np.asarray(state)

    def links(self) -> list[Floats]:
        """Return a chain whose links are the states that the steps lead to; see CanonicalCPD."""
        sizes = [*(len(table) for table in self.steps[1:]), self.variable.cardinality]
        return [one_hot(table, size) for table, size in zip(self.steps, sizes, strict=True)]

    @classmethod
    def _of(
        cls, variable: Discrete, parents: Iterable[Discrete], steps: Sequence[Codes]
    ) -> DeterministicCPD:
        """Return the function of given steps."""
        cpd = cls.__new__(cls)
        cpd._set_family(variable, parents)
        cpd._set_steps(steps)
        return cpd

    def with_parents_set(self, values: Mapping[Variable, Any]) -> CPD:
        """Return the CPD given states of some parents; a table if none is left. See CPD."""
        remaining = [parent for parent in self.parents if parent not in values]
        steps: list[Codes] = []
        # The last step that stays. The step of a parent that is set is a function of the state
        # alone, applied to the states that the last step leads to; before the first step that
        # stays, `last` has one entry: the state that the parents set so far lead to.
        last: Any = np.zeros((1, 1), dtype=np.intp)
        for parent, table in zip(self.parents, self.steps, strict=True):
            if parent in values:
                last = table[last, values[parent]]
                if steps:
                    steps[-1] = last
            else:
                last = table if steps else table[last[0]]
                steps.append(last)
        if not remaining:
            return TableCPD(self.variable, one_hot(last[0, 0], self.variable.cardinality))
        return self._of(self.variable, remaining, _minimal(steps))

    def with_parent(self, parent: Variable) -> CPD:
        """Return the CPD with one more parent, which changes nothing; see CPD."""
        if not isinstance(parent, Discrete):
            return super().with_parent(parent)
        states = np.arange(self.variable.cardinality)
        # The last step keeps the child's state, whatever the new parent's.
        steps = [*self.steps, np.tile(states[:, None], parent.cardinality)]
        return self._of(self.variable, [*self.parents, parent], _minimal(steps))

    def permuted(self, variable: Discrete, order: Sequence[int]) -> CPD:
        """Return the CPD in which state i of a variable is what state ``order[i]`` was; see CPD."""
        places = np.array(order)
        steps = [
            table[:, places] if parent == variable else table
            for parent, table in zip(self.parents, self.steps, strict=True)
        ]
        if variable == self.variable:  # the inverse of the order takes old codes to new ones
            steps[-1] = np.argsort(places)[steps[-1]]
        return self._of(self.variable, self.parents, steps)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the number of states before each parent, and all steps in one array; see CPD."""
        sizes = np.array([len(table) for table in self.steps], dtype=np.int64)
        flat = [table.reshape(-1) for table in self.steps]
        return {"sizes": sizes, "steps": np.concatenate(flat).astype(np.int64)}

    @classmethod
    def from_arrays(
        cls, children: Sequence[Variable], parents: Sequence[Variable], arrays: Mapping[str, Any]
    ) -> DeterministicCPD:
        """Return a CPD made from the arrays that `to_arrays` returned; see CPD."""
        cpd = cls.__new__(cls)
        cpd._set_family(children[0], parents)
        sizes, flat = np.asarray(arrays["sizes"]), np.asarray(arrays["steps"])
        if sizes.dtype.kind not in "iu" or flat.dtype.kind not in "iu" or sizes.ndim != 1:
            raise CPDError(f"{cpd.title}: sizes and steps are integers; got {sizes!r:.200}.")
        shapes = [(int(n), p.cardinality) for n, p in zip(sizes, cpd.parents, strict=True)]
        ends = np.cumsum([n * card for n, card in shapes])  # where each step ends in `flat`
        if flat.shape != (int(ends[-1]) if shapes else 0,):
            raise CPDError(f"{cpd.title}: steps has {ends[-1:]} numbers; got shape {flat.shape}.")
        parts = np.split(flat.astype(np.intp), ends[:-1])
        cpd._set_steps([part.reshape(s) for part, s in zip(parts, shapes, strict=True)])
        return cpd

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return the child's state for joint states of the parents; see CPD."""
        cells = math.prod([parent.cardinality for parent in self.parents])
        keys, n = configurations(self.parents, max_rows), len(self.parents)
        states = self._states(list(np.array(joint_codes(self.parents, max_rows)).T))
        values = [state_texts(self.variable, LONGEST)[code] for code in states]
        names = texts([v.name for v in self.scope], LONGEST)
        shown = min(n, max_columns)
        # The first parents are left out: the states of the last ones vary in the rows shown.
        rows = [[*key[n - shown :], value] for key, value in zip(keys, values, strict=True)]
        note = left_out(cells - len(rows), n - shown, "parent")
        return Description(names[n - shown :], rows, None, note, shown)


# Maximum number of different results of a fold after a parent.
_MAX_RESULTS = 4096


def _steps_of(table: Codes, cards: Sequence[int]) -> list[Codes]:
    """Return the minimal steps of a function, given its values in the order of joint states.

    After some parents, two of their joint states are one state if the function of the other parents
    is the same: the rows of the table, split at this place, are equal.
    """
    steps, rows = [], table.reshape(1, -1)
    for card in cards[:-1]:
        # A row is a state before this parent: the function of this parent and those after it. It
        # is split into one row for each state of the parent; equal rows become one new state.
        split = rows.reshape(len(rows) * card, -1)
        shape = len(rows), card
        rows, numbers = np.unique(split, axis=0, return_inverse=True)
        steps.append(numbers.reshape(shape))
    return [*steps, rows] if cards else []


def _minimal(steps: Sequence[Codes]) -> list[Codes]:
    """Return steps of the same function in which no two states lead to the same everywhere.

    States that are never reached are left out.
    """
    minimal, reached = [], np.array([0])  # `reached` has old numbers of states, ascending
    # Forwards: only states that are reached keep a row, and have consecutive numbers.
    for table in steps:
        targets = table[reached]
        reached, numbers = np.unique(targets, return_inverse=True)
        minimal.append(numbers.reshape(targets.shape))
    if minimal:
        # The last step leads to states of the child, which keep their numbers.
        minimal[-1] = reached[minimal[-1]]
    # Backwards: states with equal rows lead to the same everywhere, and become one.
    for k in range(len(minimal) - 1, 0, -1):
        minimal[k], merged = np.unique(minimal[k], axis=0, return_inverse=True)
        minimal[k - 1] = merged.reshape(-1)[minimal[k - 1]]
    return minimal


# ------ Logistic distributions: each state of each parent adds to the log odds of a discrete child


# Sums of weights that differ by less than this share of the largest possible sum are one state,
# unless they differ by more than is rounding error of usual weights.
_SAME, _DIFFERENT = 1e-14, 1e-12
# Sums are below it, so that their differences in units of these are floats.
_MOST = 1e290


class LogisticCPD(AdditiveCPD):
    """A discrete child whose log odds are a sum of one weight for each parent.

    Given its parents, state y of the child has a probability in proportion to
    ``exp(intercept[y] + sum_i weights[i][state of parent i, y])``: logistic regression on discrete
    parents, multinomial if the child has more than two states.

    Sums that are equal share a state of the auxiliary variables of inference, so that weights of
    few different values are linear in the number of parents. Others are exponential in the number
    of those parents that are not observed.

    Parameters
    ----------
    variable : Discrete
        The child.
    intercept : float or array_like of shape (states of the child,)
        A number, for a child with two states, is the log odds of the second one.
    weights : sequence of numbers or array_like
        For each parent its term, in nats: an array of shape (states of the parent, states of the
        child); for a child with two states also the terms of its second state, of shape (states of
        the parent,), or, if the parent has two states too, the number of the second of these.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For variables that are not discrete, wrong shapes, or numbers that are not finite.

    Examples
    --------
    >>> smoke, old = Discrete("smoke", ["no", "yes"]), Discrete("old", ["no", "yes"])
    >>> cpd = LogisticCPD(Discrete("ill", ["no", "yes"]), -3.0, [1.5, 2.0], [smoke, old])
    >>> float(cpd.to_table().values[1, 1, 1].round(4))
    0.6225
    """

    other_arrays = ("weights", "intercept")

    def __init__(
        self,
        variable: Discrete,
        intercept: ArrayLike,
        weights: Sequence[ArrayLike],
        parents: Iterable[Discrete] = (),
    ) -> None:
        self._set_family(variable, parents)
        self.intercept = of_states(intercept, variable, f"{self.title}: intercept")
        terms = listed(weights, self.parents, "weights", self.title)
        self.weights = tuple(map(self._terms, self.parents, terms))
        # See AdditiveCPD.
        self._start, self._parts = self.intercept, self.weights
        self._nothing = np.zeros(variable.cardinality)
        # A bound of all sums, whose differences are twice as large.
        self._scale = sum(float(np.abs(terms).max()) for terms in (self.intercept, *self.weights))
        if not self._scale < _MOST:
            raise CPDError(
                f"{self.title}: intercept and weights have sums of up to {self._scale:g}, beyond "
                f"{_MOST:g}. Weights of a few hundred nats are certain already."
            )

    def _terms(self, parent: Discrete, weights: ArrayLike) -> Floats:
        """Return the terms of a parent, shape (its states, states of the child)."""
        what = f"{self.title}: the weights"
        if self.variable.cardinality == 2 and np.asarray(weights, dtype=object).ndim < 2:
            # The first state of the child has zeros.
            weights = np.stack([np.zeros(parent.cardinality), of_states(weights, parent, what)]).T
        shape = parent.cardinality, self.variable.cardinality
        return checked_numbers(weights, shape, what=f"{what} of {parent.name!r}")

    @property
    def n_parameters(self) -> int:
        """Number of free terms: those of the first state of each variable may be zero."""
        free = 1 + sum(parent.cardinality - 1 for parent in self.parents)
        return free * (self.variable.cardinality - 1)

    def distributions(self, codes: Sequence[Codes]) -> Floats:
        """Return the distribution of the child given states of all parents; see CanonicalCPD."""
        scores = self.intercept
        for terms, code in zip(self.weights, codes, strict=True):
            scores = scores + terms[code]
        return normalised_if_possible(scores)

    def links(self) -> list[Floats] | None:
        """Return a chain whose links are the sums so far, if few of these differ."""
        # The different sums so far, shape (n_sums, states of the child).
        sums = self.intercept[None]
        tolerance = min(_SAME * max(self._scale, 1.0), _DIFFERENT)
        tables: list[Floats] = []
        for terms in self.weights[:-1]:
            # Sums with this parent's terms, a row for each old sum and state of the parent.
            longer = (sums[:, None] + terms).reshape(-1, sums.shape[1])
            # Only differences of the scores of states matter; rounded, equal ones are found equal.
            # Columns: log odds of each state against the first, in units of the tolerance.
            odds = np.round((longer - longer[:, :1]) / tolerance)
            _, first, steps = np.unique(odds, axis=0, return_index=True, return_inverse=True)
            if len(first) > MAX_LINK_STATES:
                return None
            tables.append(one_hot(steps.reshape(len(sums), len(terms)), len(first)))
            sums = longer[first]
        if not self.weights:
            return None
        return [*tables, normalised_if_possible(sums[:, None] + self.weights[-1])]

    def permuted(self, variable: Discrete, order: Sequence[int]) -> CPD:
        """Return the CPD in which state i of a variable is what state ``order[i]`` was; see CPD."""
        if variable != self.variable:
            return super().permuted(variable, order)
        places = list(order)
        weights = [terms[:, places] for terms in self.weights]
        return LogisticCPD(variable, self.intercept[places], weights, self.parents)

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return a row with the terms of each state of each parent; see CPD."""
        rows = [self.intercept[None], *self.weights]
        return self._described(rows, "intercept", max_rows, max_columns, is_share=False)
