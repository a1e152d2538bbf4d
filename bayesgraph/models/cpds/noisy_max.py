"""Noisy maxima and noisy ors: each parent may bring the child about, independently of others."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, log_of
from bayesgraph.core.errors import CPDError, UnsupportedModelError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.inference import Factor, Potential
from bayesgraph.models.cpds import base
from bayesgraph.models.cpds.table import TableCPD

# ----------------- Canonical distributions: a discrete child whose parents act one after the other
# A table of a child with n parents has a number for each of their joint states, which are
# exponentially many. A canonical distribution has a few numbers for each parent (Díez and Druzdzel
# 2006). Inference divides it into a chain of small tables over auxiliary variables, which carry
# what the parents so far have contributed (parent divorcing, Olesen et al. 1989; the temporal
# transformation of noisy-or, Heckerman 1993). The chain is linear in the number of parents.


Codes: TypeAlias = NDArray[np.integer[Any]]

# Tables of at most this size are not divided: a few variables more would take longer.
SMALL = 256
# Maximum number of entries of a table in place of a distribution that has no chain.
MAX_TABLE = 2**20
# Maximum number of states of an auxiliary variable.
MAX_LINK_STATES = 1024


@dataclass(frozen=True, eq=False)
class LinkName:
    """Name of an auxiliary variable: what the first parents contribute to a child.

    Each instance is a name of its own, which no variable of a user has.
    """

    child: Name
    n_parents: int

    def __str__(self) -> str:
        return f"{self.child}, {self.n_parents} parents"


class CanonicalCPD(base.CPD):
    """Base class of discrete children whose discrete parents act one after the other.

    A subclass has `distributions` and, unless its parents cannot act one by one, `links`.
    """

    variable: Discrete
    parents: tuple[Discrete, ...]
    _hint = " Use a GaussianCPD."

    @abstractmethod
    def distributions(self, codes: Sequence[Codes]) -> Floats:
        """Return the distribution of the child given states of all parents.

        Parameters
        ----------
        codes : sequence of ndarray of int
            State codes of each parent; the arrays broadcast together to some shape S.

        Returns
        -------
        ndarray, shape (*S, n_states)
        """

    @abstractmethod
    def links(self) -> list[Floats] | None:
        """Return the distribution as a chain of tables, one for each parent; None if it has none.

        Table k has the shape (states of link k - 1, states of parent k, states of link k): the
        distribution of link k given the link before and the parent. Link 0 has one state, and the
        last link is the child.
        """

    @property
    def n_entries(self) -> int:
        """Number of entries of the table over parents and child."""
        return math.prod([v.cardinality for v in self.parents]) * self.variable.cardinality

    def unfolded(self) -> list[base.CPD]:
        """Return CPDs whose product, summed over auxiliary variables, is this distribution.

        It is one table if that is small, or smaller than the chain. A large distribution without a
        chain stays as it is: it is answered given enough evidence on its parents.
        """
        if self.n_entries <= SMALL:
            return [self.to_table()]
        links = self.links()
        if links is None or sum(table.size for table in links) >= self.n_entries:
            return [self.to_table()] if self.n_entries <= MAX_TABLE else [self]
        # A table for each link, given the link before and a parent; the child is last.
        chain: list[base.CPD] = []
        before: tuple[Discrete, ...] = ()
        for k, (parent, table) in enumerate(zip(self.parents, links, strict=True), 1):
            after = self.variable  # the last link is the child
            if k < len(self.parents):
                after = Discrete(LinkName(self.variable.name, k), range(table.shape[2]))
            chain.append(TableCPD(after, table if before else table[0], [*before, parent]))
            before = (after,)
        return chain

    def to_table(self) -> TableCPD:
        """Return the distribution as a table.

        Raises
        ------
        MemoryLimitError
            If the table takes more than half of the machine's memory.
        """
        self._check_size(self.n_entries)
        codes = np.indices([p.cardinality for p in self.parents], dtype=np.intp, sparse=True)
        return TableCPD(self.variable, self.distributions(list(codes)), self.parents)

    def to_factor(self) -> Factor:
        """Return the whole table as a factor over parents and child."""
        return self.potential(Evidence(1, {}))

    def potential(self, evidence: Evidence) -> Factor:
        """Return the table over child and parents that are not observed; see CPD."""
        free = [parent for parent in self.parents if parent not in evidence]
        cells = math.prod([parent.cardinality for parent in free])
        self._check_size(evidence.n_rows * cells * self.variable.cardinality)
        columns = evidence.columns
        # Rows are the first axis, and each free parent has an axis of its own, on which its states
        # are; the arrays broadcast along the others.
        axes = iter(np.indices([1, *(p.cardinality for p in free)], sparse=True)[1:])
        codes = [
            columns[parent].reshape(-1, *[1] * len(free)) if parent in columns else next(axes)
            for parent in self.parents
        ]
        values = self.distributions(codes)
        # Without parents, the values have no axis of rows.
        logs = log_of(values if self.parents else values[None])
        return base.reduced([*free, self.variable], logs, evidence)

    def sample(self, parents: base.Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the child's state code given the parents' columns; see CPD."""
        shares = self.distributions([parents[parent] for parent in self.parents])
        # Each draw has a distribution of its own; without parents all draws share one.
        rows = np.arange(n) if self.parents else np.zeros(n, dtype=np.intp)
        return base.draw_states(shares.reshape(-1, self.variable.cardinality), rows, random)


class AdditiveCPD(CanonicalCPD):
    """Base class of distributions to which each parent, and something without parents, adds.

    The class attribute `other_arrays` has the names of two arguments of the constructor: a list of
    arrays, one for each parent with a row for each of its states, and an array without parents.
    """

    # Both arguments: an array for each parent, with a row for each of its states; and that without
    # parents, to which rows of the others are added one after the other.
    _parts: tuple[Floats, ...]
    _start: Floats
    # The effect of a parent that has none, an entry of its array.
    _nothing: Floats

    def _added(self, start: Floats, part: Floats) -> Floats:
        """Return the array without parents joined by the effect of a parent in one state."""
        return start + part

    def _with(self, parents: Sequence[Variable], parts: Sequence[Any], start: Any) -> Self:
        """Return a CPD of the same class with other parents."""
        arrays = dict(zip(self.other_arrays, (parts, start), strict=True))
        return super().from_arrays([self.variable], parents, arrays)

    def with_parents_set(self, values: Mapping[Variable, Any]) -> base.CPD:
        """Return the CPD given states of some parents, whose effects join the rest; see CPD."""
        start = self._start
        for parent, part in zip(self.parents, self._parts, strict=True):
            start = self._added(start, part[values[parent]]) if parent in values else start
        kept = [k for k, parent in enumerate(self.parents) if parent not in values]
        return self._with([self.parents[k] for k in kept], [self._parts[k] for k in kept], start)

    def with_parent(self, parent: Variable) -> base.CPD:
        """Return the CPD with one more parent, which has no effect; see CPD."""
        if not isinstance(parent, Discrete):
            return super().with_parent(parent)
        nothing = np.array([self._nothing] * parent.cardinality)
        return self._with([*self.parents, parent], [*self._parts, nothing], self._start)

    def permuted(self, variable: Discrete, order: Sequence[int]) -> base.CPD:
        """Return the CPD in which state i of a parent is what state ``order[i]`` was; see CPD."""
        parts = [
            part[list(order)] if parent == variable else part
            for parent, part in zip(self.parents, self._parts, strict=True)
        ]
        return self._with(self.parents, parts, self._start)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of all parents, one below the other, and the other one; see CPD."""
        # No rows, but an array to concatenate if there are no parents.
        nothing = np.empty((0, *np.shape(self._nothing)))
        parts = np.concatenate([nothing, *self._parts])
        return dict(zip(self.other_arrays, (parts, np.asarray(self._start)), strict=True))

    @classmethod
    def from_arrays(
        cls, children: Sequence[Variable], parents: Sequence[Variable], arrays: Mapping[str, Any]
    ) -> Self:
        """Return a CPD made from the arrays that `to_arrays` returned; see CPD."""
        parts = parts_of(arrays[cls.other_arrays[0]], parents)  # type: ignore[arg-type]
        return super().from_arrays(children, parents, {**arrays, cls.other_arrays[0]: parts})

    def _described(
        self, rows: Sequence[Floats], title: str, max_rows: int, max_columns: int, is_share: bool
    ) -> base.Description:
        """Return a line for each state of each parent, and a last one without a parent.

        Parameters
        ----------
        rows : sequence of ndarray, each of shape (n lines, states of the child)
            First the array without parents, of one line, then that of each parent.
        title : str
            The name of the last line.
        max_rows, max_columns : int
        is_share : bool
            Whether the numbers are probabilities.
        """
        # A row of a table for each state of each parent, as if it were a state of one parent.
        numbers = np.concatenate(rows)
        row = Discrete("row", range(len(numbers)))
        shown = base.describe_table(
            [row], self.variable, numbers, len(numbers), max_columns, probability=is_share
        )
        cells = [line[1:] for line in shown.rows]
        keys = [[str(p.name), s] for p in self.parents for s in base.state_texts(p, base.LONGEST)]
        lines = [[*key, *line] for key, line in zip(keys, cells[1:], strict=True)]
        states = shown.header[1:]
        hidden = max(0, len(lines) + 1 - max_rows)
        lines = [*lines[: max_rows - 1], [title, "", *cells[0]]]
        note = base.left_out(hidden, self.variable.cardinality - len(states))
        return base.Description(["parent", "state", *states], lines, None, note, keys=2)


def parts_of(array: Any, parents: Sequence[Discrete]) -> list[Any]:
    """Return the rows of an array over all states of all parents that belong to each parent.

    `parents` are the parents of a CPD that was stored; a wrong length gives a part of wrong length.
    """
    # The last part takes all that is left.
    ends = np.cumsum([parent.cardinality for parent in parents[:-1]], dtype=np.intp)
    return np.split(np.asarray(array), ends) if parents else []


def one_hot(steps: Codes, n_states: int) -> Floats:
    """Return the table of a function: 1 at the state that each entry names, on a last axis."""
    return np.eye(n_states)[steps]


# ------ Noisy maxima and noisy ors: each parent may bring the child about, independently of others


class NoisyMaxCPD(AdditiveCPD):
    """The maximum of independent effects, one of each parent and one of causes that are not named.

    Given its parents, the child is ``max(z_0, z_1, ..., z_n)``, where z_i has the distribution
    ``influences[i]`` given the state of parent i, and z_0 the distribution `leak` (Díez 1993).
    States of the child are in ascending order: the first is that of no effect.

    Parameters
    ----------
    variable : Discrete
        The child, whose states ascend.
    influences : sequence of array_like, each of shape (states of the parent, states of the child)
        Distribution of the effect of each parent alone. A state of a parent without an effect has
        the row (1, 0, ..., 0).
    parents : iterable of Discrete
    leak : array_like, shape (states of the child,), optional
        Distribution of the child if no parent has an effect; (1, 0, ..., 0) by default.

    Raises
    ------
    CPDError
        For variables that are not discrete, wrong shapes, numbers that are no probabilities, or
        rows that do not sum to one within 1e-6; rows are divided by their sums.

    Examples
    --------
    >>> flu, cold = Discrete("flu", ["no", "yes"]), Discrete("cold", ["no", "yes"])
    >>> fever = Discrete("fever", ["none", "mild", "high"])
    >>> NoisyMaxCPD(
    ...     fever, [[[1, 0, 0], [0.2, 0.3, 0.5]], [[1, 0, 0], [0.6, 0.3, 0.1]]], [flu, cold]
    ... )
    NoisyMaxCPD P(fever | flu, cold)
      parent  state   none   mild   high
      flu        no  1.000  0.000  0.000
      flu       yes  0.200  0.300  0.500
      cold       no  1.000  0.000  0.000
      cold      yes  0.600  0.300  0.100
      leak           1.000  0.000  0.000
    """

    other_arrays = ("influences", "leak")

    def __init__(
        self,
        variable: Discrete,
        influences: Sequence[ArrayLike],
        parents: Iterable[Discrete] = (),
        leak: ArrayLike | None = None,
    ) -> None:
        self._set_family(variable, parents)
        title = self.title
        entries = listed(influences, self.parents, "influences", title)
        # The distribution (1, 0, ..., 0): the child's first state is that of no effect.
        lowest = self._nothing = np.eye(1, variable.cardinality)[0]
        self.leak = _shares(lowest if leak is None else leak, [variable], f"{title}: leak")
        tables = [
            _shares(table, [parent, variable], f"{title}: the influence of {parent.name!r}")
            for parent, table in zip(self.parents, entries, strict=True)
        ]
        self.influences = self._parts = tuple(tables)
        self._start = self.leak

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities, without those of rows that say that there is no effect."""
        rows = np.concatenate([*self.influences, self.leak[None]])
        return int(np.count_nonzero(rows[:, 0] != 1.0)) * (self.variable.cardinality - 1)

    def distributions(self, codes: Sequence[Codes]) -> Floats:
        """Return the distribution of the child given states of all parents; see CanonicalCPD.

        Nothing is subtracted, so that small probabilities keep their digits.
        """
        maximum = self.leak
        for table, code in zip(self.influences, codes, strict=True):
            maximum = _maximum(maximum, table[code])
        return maximum

    def links(self) -> list[Floats]:
        """Return a chain whose links are the maxima so far; see CanonicalCPD."""
        # The first link starts from the leak, each other one from the maximum so far, one-hot.
        starts = [self.leak[None], *[np.eye(len(self.leak))] * (len(self.parents) - 1)]
        return [
            _maximum(start[:, None], table[None])
            for start, table in zip(starts, self.influences, strict=True)
        ]

    def potentials(self, evidence: Evidence) -> list[Potential]:
        """Return one factor for each parent if the child is observed in its first state; see CPD.

        This state is that of no effect: neither the leak nor any parent had one, and as these are
        independent given the parents, the potential is a product.
        """
        column = evidence.columns.get(self.variable)
        if column is None or evidence.n_rows > 1 or column[0] != 0:
            return super().potentials(evidence)
        factors: list[Potential] = [Factor.from_log((), log_of(self.leak[:1]))]
        for parent, table in zip(self.parents, self.influences, strict=True):
            factor = Factor.from_log([parent], log_of(table[None, :, 0]))  # P(no effect | state)
            codes = evidence.columns.get(parent)
            factors.append(factor if codes is None else factor.take(parent, codes))
        return factors

    def _added(self, start: Floats, part: Floats) -> Floats:
        return _maximum(start, part)

    def with_parent_summed(self, table: TableCPD) -> base.CPD | None:
        """Return the CPD with a parent summed out, if its effect is then one of another parent.

        Parameters
        ----------
        table : TableCPD
            Distribution of the parent, which has no other children and at most one parent.

        Returns
        -------
        CPD or None
            None if the parent's own parent is a parent of the child too.
        """
        k = self.parents.index(table.variable)
        parents, parts = list(self.parents), list(self._parts)
        # The effect given the parent's own parent, if any; rounding may take it above one.
        effect = np.minimum(table.values @ parts[k], 1.0)
        if not table.parents:
            del parents[k], parts[k]
            return self._with(parents, parts, self._added(self._start, effect))
        if table.parents[0] in parents:
            return None
        parents[k], parts[k] = table.parents[0], effect
        return self._with(parents, parts, self._start)

    def permuted(self, variable: Discrete, order: Sequence[int]) -> base.CPD:
        """Return the CPD in which state i of a parent is what state ``order[i]`` was; see CPD."""
        if variable == self.variable:
            raise UnsupportedModelError(
                f"{self.title}: the states of {variable.name!r} ascend, and their order says which "
                "is the larger one. Make a table of it first: bayesgraph.models.expanded(net)."
            )
        return super().permuted(variable, order)

    def describe(self, max_rows: int, max_columns: int) -> base.Description:
        """Return a row for each state of each parent and for the leak; see CPD."""
        rows = [self.leak[None], *self.influences]
        return self._described(rows, "leak", max_rows, max_columns, is_share=True)


class NoisyOrCPD(NoisyMaxCPD):
    """A cause is enough, but any cause may fail: the noisy or, with a leak.

    Given its parents, the child is in its second state with the probability
    ``1 - (1 - leak) * prod_i (1 - p_i)``, where p_i is the probability that parent i, in the state
    that it is in, brings the child about alone (Pearl 1988, section 4.3.2).

    Parameters
    ----------
    variable : Discrete
        The child, which has two states; the second one is the effect.
    probabilities : sequence of numbers or array_like of shape (states of the parent,)
        For each parent the probability that it brings the child about: a number for the second of
        two states (the first has no effect), or one for each of its states.
    parents : iterable of Discrete
    leak : float, default 0.0
        Probability of the effect if no parent brings it about.

    Raises
    ------
    CPDError
        For variables that are not discrete, a child without two states, wrong shapes, or numbers
        outside of 0 to 1.

    Examples
    --------
    >>> flu, cold = Discrete("flu", ["no", "yes"]), Discrete("cold", ["no", "yes"])
    >>> cough = Discrete("cough", ["no", "yes"])
    >>> cpd = NoisyOrCPD(cough, [0.8, 0.6], [flu, cold], leak=0.1)
    >>> cpd
    NoisyOrCPD P(cough | flu, cold)
      parent  state     no    yes
      flu        no  1.000  0.000
      flu       yes  0.200  0.800
      cold       no  1.000  0.000
      cold      yes  0.400  0.600
      leak           0.900  0.100
    >>> float(cpd.to_table().values[1, 1, 1].round(3))
    0.928
    """

    other_arrays = ("probabilities", "leak")

    def __init__(
        self,
        variable: Discrete,
        probabilities: Sequence[ArrayLike],
        parents: Iterable[Discrete] = (),
        leak: float = 0.0,
    ) -> None:
        self._set_family(variable, parents)
        title = self.title
        what = f"{title}: probabilities"
        if variable.cardinality != 2:
            raise CPDError(
                f"{title} takes a child with two states; {variable.name!r} has "
                f"{variable.cardinality}. Use NoisyMaxCPD."
            )
        entries = listed(probabilities, self.parents, "probabilities", title)
        self.probabilities = tuple(
            of_states(value, parent, what)
            for parent, value in zip(self.parents, entries, strict=True)
        )
        background = base.checked_numbers(leak, (), what=f"{title}: leak")
        every = np.concatenate([*self.probabilities, background[None]])
        if not 0 <= every.min() <= every.max() <= 1:
            # The message has the first array with such a number.
            parts = (*self.probabilities, background)
            wrong = next(part for part in parts if not 0 <= part.min() <= part.max() <= 1)
            raise CPDError(f"{what} and leak lie between 0 and 1; got {wrong!r:.200}.")
        # As a noisy maximum: for each state of each parent, and last the leak, the distribution of
        # the effect.
        effects = np.empty((len(every), 2))
        effects[:, 0] = 1.0 - every
        effects[:, 1] = every
        effects.flags.writeable = False
        self.influences = tuple(parts_of(effects[:-1], self.parents))
        self.leak = effects[-1]
        self._parts, self._start, self._nothing = self.probabilities, background, np.zeros(())

    def _added(self, start: Floats, part: Floats) -> Floats:
        """Return ``1 - (1 - start) (1 - part)``, so that small probabilities keep their digits."""
        return start + (1.0 - start) * part


def _shares(values: ArrayLike, scope: Sequence[Discrete], what: str) -> Floats:
    """Return checked probabilities, whose rows are divided by their sums where these are not one.

    Products of many rows would otherwise be further from one than tables may be. Normalised rows
    are not divided again, so that saving and loading does not change them.
    """
    table = base.checked_shares(values, scope, what=what)
    sums = table.sum(axis=-1, keepdims=True)
    # The tolerance is the rounding error of a sum of as many numbers.
    table = table / np.where(np.abs(sums - 1.0) < 1e-15 * (1 + table.shape[-1]), 1.0, sums)
    table.flags.writeable = False
    return table


def _maximum(a: Floats, b: Floats) -> Floats:
    """Return the distribution of the maximum of two independent variables, on the last axis."""
    # Either a is the maximum and b at most as large, or b is and a is smaller.
    maximum = np.asarray(a * np.cumsum(b, axis=-1))
    maximum[..., 1:] += np.cumsum(a, axis=-1)[..., :-1] * b[..., 1:]
    return maximum


def listed(
    values: Sequence[Any], parents: Sequence[Discrete], name: str, title: str
) -> Sequence[Any]:
    """Return one entry for each parent, or raise a CPDError."""
    if isinstance(values, Mapping) or not hasattr(values, "__len__") or len(values) != len(parents):
        raise CPDError(
            f"{title}: {name} takes a list with one entry for each of the {len(parents)} parents, "
            f"in their order; got {values!r:.200}."
        )
    return values


def of_states(value: Any, parent: Discrete, what: str) -> Floats:
    """Return a number for each state of a variable; a single one is of the second of two."""
    # As objects, because lists of different lengths are refused only by the line below.
    is_one = np.asarray(value, dtype=object).ndim == 0
    numbers = [0.0, value] if is_one and parent.cardinality == 2 else value
    return base.checked_numbers(numbers, (parent.cardinality,), what=f"{what} of {parent.name!r}")
