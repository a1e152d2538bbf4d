"""The tables of a discrete model as flat arrays for the compiled (Numba) kernels."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, log_of
from bayesgraph.core.parallel import BYTES
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.inference import planning_kernels
from bayesgraph.inference.junction import Ints, TableArrays, Tree
from bayesgraph.inference.program_kernels import (
    N_ROWS,
    OPERAND,
    OWN,
    SEPARATOR,
    STATES,
    group_begin,
)

# ------------------ The tables of a discrete model as flat arrays for the compiled (Numba) kernels


# Number of entries up to which all tables are joined at once: it takes no longer than to choose.
_FEW_ENTRIES = 2**14
# Smallest normal number, below which digits are lost; a table with this entry makes programs run
# on logarithms.
_TINY = float(np.finfo(np.float64).tiny)
_LOG_TINY = float(np.log(_TINY))


def _joined(tables: Sequence[Any]) -> Floats:
    """Return the entries of all tables in one array."""
    try:
        # Several times faster than `concatenate` for small tables.
        return np.frombuffer(bytearray().join(tables))
    except (TypeError, ValueError):  # a table is not contiguous
        return np.concatenate(tables, axis=None)


class Tables:
    """Non-negative tables over discrete variables, stored in one flat array.

    Entries of large models are copied into it when a question needs them: see `load`.

    Parameters
    ----------
    variables : sequence of Discrete
    scopes : sequence of sequences of int
        The indices of the variables of each table, in the order of its axes.
    values : sequence of ndarray
        The tables.
    sums_to_one : bool
        Whether each table is the distribution of the last variable of its scope given the others.
    log_scales : sequence of float, optional
        Natural logs of constants by which the tables are multiplied.
    log_values : sequence of ndarray, optional
        Natural logarithms of the tables, given if some entries underflow. Such entries must be so
        small in `values` that every program runs on the logarithms.

    Attributes
    ----------
    log_scale : float
        Sum of `log_scales`.
    indices
        The arrays of integers of `arrays`, one after the other.
    lengths
        Their lengths.
    entries
        Entries of all tables, one table after the other; arbitrary where they are not loaded.
    has_lost_digits : bool
        Whether entries underflow, so that only the logarithms are right.
    """

    def __init__(
        self,
        variables: Sequence[Discrete],
        scopes: Sequence[Sequence[int]],
        values: Sequence[Floats],
        *,
        sums_to_one: bool,
        log_scales: Sequence[float] = (),
        log_values: Sequence[Floats] | None = None,
    ) -> None:
        self.variables = tuple(variables)
        cards = [len(v.states) for v in variables]
        ends = itertools.accumulate(map(len, scopes), initial=0)
        # One array for all integers: several arrays of numbers take much longer.
        numbers = array("q", [*cards, *ends, *itertools.chain.from_iterable(scopes)])
        n_variables, n_tables = len(cards), len(values)
        n_axes = len(numbers) - n_variables - n_tables - 1
        # Room for strides, offsets and child variables.
        numbers.frombytes(bytes(8 * (n_axes + 2 * n_tables)))
        self.indices = np.frombuffer(numbers, dtype=np.int64)
        # Of the arrays in the order of `TableArrays`: cards, start, item, step, base, child.
        self.lengths = n_variables, n_tables + 1, n_axes, n_axes, n_tables, n_tables
        n_entries = planning_kernels.table_layout(self.indices, n_variables, n_tables, sums_to_one)
        self.log_scales = log_scales
        self.log_scale = float(sum(log_scales))
        self.has_lost_digits = log_values is not None
        self._log_values: Floats | None = None
        if log_values is not None:
            self._log_values = np.concatenate(log_values, axis=None)
        # Tables by index, None for those in the flat array; empty if all are.
        self.pending: list[Floats | None] = []
        if n_entries <= _FEW_ENTRIES:
            self.entries = _joined(values)
        else:
            self.entries, self.pending = np.empty(n_entries), [*values]

    def __len__(self) -> int:
        return self.lengths[-1]  # the last array, of children, has a number for each table

    @cached_property
    def arrays(self) -> TableArrays:
        """All arrays as one named tuple, which the compiled kernels take."""
        ends = itertools.accumulate(self.lengths, initial=0)
        parts = [self.indices[begin:end] for begin, end in itertools.pairwise(ends)]
        cards, start, item, step, base, child = parts
        return TableArrays(cards, start, item, step, base, child, self.entries)

    def load(self, factors: Iterable[int]) -> None:
        """Copy some tables to the flat array, whose other entries may be arbitrary.

        Indices above those of the tables, which factors of soft evidence have, are left out.
        """
        pending = self.pending
        for f in factors if pending else ():
            table = pending[f] if f < len(pending) else None
            if table is not None:
                begin = self.arrays.base[f]
                self.entries[begin : begin + table.size] = table.reshape(-1)
                pending[f] = None  # not before, as other threads may load it too

    @cached_property
    def values(self) -> Floats:
        """Entries of all tables, one table after the other."""
        self.load(range(len(self)))
        self.pending = []
        return self.entries

    @classmethod
    def over(
        cls,
        variables: Sequence[Discrete],
        scopes: Iterable[tuple[Variable, ...]],
        values: Sequence[Floats],
        **options: Any,
    ) -> Tables:
        """Return tables whose scopes are given as variables; `options` as of the class."""
        # Names identify the variables of a model, and are hashed faster than variables.
        number = {v.name: i for i, v in enumerate(variables)}
        indices = [[number[v.name] for v in scope] for scope in scopes]
        return cls(variables, indices, values, **options)

    @classmethod
    def from_logs(
        cls,
        variables: Sequence[Discrete],
        scopes: Iterable[tuple[Variable, ...]],
        logs: Sequence[Floats],
    ) -> Tables:
        """Return tables from their logarithms, each table divided by its largest entry."""
        peaks = [float(table.max()) for table in logs]
        peaks = [peak if np.isfinite(peak) else 0.0 for peak in peaks]  # -inf: a table of zeros
        scaled = [table - peak for table, peak in zip(logs, peaks, strict=True)]
        # Entries below the smallest normal number become it, so that programs run on logarithms.
        lost = any(((x < _LOG_TINY) & (x > -np.inf)).any() for x in scaled)
        return cls.over(
            variables,
            scopes,
            [np.where(np.isneginf(x), 0.0, np.maximum(np.exp(x), _TINY)) for x in scaled],
            sums_to_one=False,
            log_scales=peaks,
            log_values=scaled if lost else None,
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return self.entries.nbytes

    @cached_property
    def log_values(self) -> Floats:
        """Natural logarithms of all table entries: those given to the constructor, or computed."""
        return log_of(self.values) if self._log_values is None else self._log_values

    def contradicted(self, hard: Findings, *, logarithmic: bool) -> Floats:
        """Return the entries of all tables, or their logarithms, zero where findings rule them out.

        Each finding is entered in one table of its variable: the product of all is zero as well. A
        variable that is set, and has no children, is in no table.
        """
        values = (self.log_values if logarithmic else self.values).copy()
        for v, code in hard.items():
            if v not in self._table_of:
                continue
            entries, step = self._table_of[v]
            # A view of the table in which the axis of the variable is the middle one.
            table = values[entries].reshape(-1, self.arrays.cards[v], step)
            table[:, :code] = table[:, code + 1 :] = -np.inf if logarithmic else 0.0
        return values

    @cached_property
    def _table_of(self) -> dict[int, tuple[slice, int]]:
        """The entries of one table of each variable, and the stride of the variable in it."""
        a = self.arrays
        ends = [*a.base.tolist(), len(self.values)]
        tables = [slice(*bounds) for bounds in itertools.pairwise(ends)]
        # The table of each entry of `item`; of several tables of a variable, the last one is kept.
        owner = np.repeat(np.arange(len(self)), np.diff(a.start)).tolist()
        items = zip(a.item.tolist(), owner, a.step.tolist(), strict=True)
        return {v: (tables[f], step) for v, f, step in items}

    def scopes(self) -> list[tuple[Discrete, ...]]:
        """Return the variables of each table, in the order of its axes."""
        return [
            tuple(self.variables[v] for v in self.arrays.item[begin:end].tolist())
            for begin, end in itertools.pairwise(self.arrays.start.tolist())
        ]

    def table(self, f: int, *, logs: bool = False) -> tuple[list[int], Floats]:
        """Return the indices of the variables of table f, and the table (its log if `logs`)."""
        a = self.arrays
        numbers = a.item[a.start[f] : a.start[f + 1]].tolist()
        shape = a.cards[numbers]
        begin = int(a.base[f])
        if not logs:
            self.load((f,))
        values = self.log_values if logs else self.entries
        return numbers, values[begin : begin + int(shape.prod())].reshape(shape)

    @cached_property
    def number(self) -> dict[Name, int]:
        """The index of each variable, by its name."""
        return {v.name: i for i, v in enumerate(self.variables)}

    def numbers(self, variables: Iterable[Variable]) -> list[int]:
        """Return the indices of the given variables."""
        return [self.number[v.name] for v in variables]


# ------ Supports of cliques: the joint states to which the zeros of the tables leave a probability
# A clique of many variables of which some determine others has few such states. They are found
# without the clique's table, as a join of relations: the supports of its tables and of the messages
# from its neighbours, first towards the roots of the junction tree and then back, so that what is
# left extends to the whole tree (the full reducer of Yannakakis 1981). A clique is then held
# compressed, as a list of these states, where this needs less time or where its table would not fit
# into memory.
#
# A joint state is a mixed-radix number, its *key*: the last variable counts single states.


Findings: TypeAlias = Mapping[int, int]
Weights: TypeAlias = Mapping[int, int]
Mask: TypeAlias = NDArray[np.bool_]
# Variables, and which of their joint states are possible.
Support: TypeAlias = tuple[tuple[int, ...], Mask]

# Maximum number of entries of a tree: sizes and their sums must fit into 64-bit integers.
MAXIMUM_ENTRIES = 2.0**56
# Minimum number of entries of a clique that is held compressed to save time, and maximum share of
# its entries that are then possible: an entry that is gathered costs as much as ten in a row.
SMALLEST = 2**12
LARGEST_SHARE = 0.1
# Price of an entry of a dense clique in a program with compressed ones, which has no intermediate
# tables, and minimum number of entries per clique for which it is worth while to look at them.
DENSE_PRICE = 2.0
SMALLEST_MEAN = 2**14
# Number of entries of all cliques above which a first run looks for cliques to compress.
MOST_DENSE = 2.0**28
# Number of rows that a join may always have.
_FREE_ROWS = 2**12
# Bytes of arrays in a join, for each of its rows.
_ROW_BYTES = 100
# Maximum number of rows of a clique that does not fit into memory otherwise, for all states of the
# evidence and for one case, so that what cannot be compressed is refused in seconds.
_FEW_ROWS, _MOST_ROWS = 2**20, 2**24
# Maximum number of entries of a message, whose places in lists are 32-bit integers.
_MOST_LISTED = 2**31 - 1


class Relation(NamedTuple):
    """Possible joint states of some variables: their keys, ascending."""

    variables: tuple[int, ...]
    keys: Ints


def radix(cards: Ints, variables: Sequence[int]) -> Weights:
    """Return the weight of each variable's state in a key."""
    weights: dict[int, int] = {}
    weight = 1
    for v in reversed(variables):
        weights[v] = weight
        weight *= int(cards[v])
    return weights


def size(cards: Ints, variables: Sequence[int]) -> int:
    """Return the number of keys of some variables."""
    return math.prod(int(cards[v]) for v in variables)


def moved(keys: Ints, cards: Ints, order: Sequence[int], weights: Weights) -> Ints:
    """Return keys with other weights of the states: the sum of weight times state over variables.

    The variables of `keys` are those in `order`; one that is not in `weights` is left out.
    """
    before = radix(cards, order)
    out = np.zeros(len(keys), dtype=np.int64)
    at = len(order) - 1  # from the last variable, whose states are the lowest digit, to the first
    while at >= 0:
        v = order[at]
        if v not in weights:
            at -= 1
            continue
        low, count, weight = before[v], int(cards[v]), weights[v]
        at -= 1
        # Variables that stay neighbours are moved together, as one digit with `count` values.
        while at >= 0 and weights.get(order[at]) == weight * count:
            count *= int(cards[order[at]])
            at -= 1
        digit = keys // low if low > 1 else keys
        if at >= 0:  # otherwise no higher digit is left to be removed
            digit = digit % count
        out += digit * weight if weight > 1 else digit
    return out


def _among(keys: Ints, within: Ints) -> Mask:
    """Tell which keys are in an ascending list of keys."""
    if not len(within):
        return np.zeros(len(keys), dtype=bool)
    at = np.minimum(np.searchsorted(within, keys), len(within) - 1)
    return np.asarray(within[at] == keys)


def _distinct(keys: Ints) -> Ints:
    """Return the different keys, ascending."""
    ascending = np.sort(keys)  # several times faster than `unique`
    # Each key that differs from the one before it; none is -1.
    return ascending[np.flatnonzero(np.diff(ascending, prepend=-1))]


def _extended(rows: Ints, shared: Ints, relation: Ints, added: Ints, most: float) -> Ints | None:
    """Join rows with a relation: return each row plus what the relation's rows of its key add.

    Parameters
    ----------
    rows, shared : shape (n_rows,)
        Rows, and their keys of the shared variables.
    relation, added : shape (m,)
        Keys of the shared variables in the relation, and what its rows add.
    most : float
        Maximum number of rows of the result, which is None if there are more.
    """
    order = np.argsort(relation, kind="stable")
    relation, added = relation[order], added[order]
    begins = np.searchsorted(relation, shared)
    counts = np.searchsorted(relation, shared, side="right") - begins
    total = int(counts.sum())
    if total > most:
        return None
    # The results of a row are side by side. The place in `added` of result i is i + `begins` of its
    # row, after this shift.
    begins -= np.cumsum(counts) - counts
    out = np.repeat(rows, counts)
    out += added[np.repeat(begins, counts) + np.arange(total)]
    return out


def join(
    relations: Sequence[Relation], cards: Ints, order: Sequence[int], most: float
) -> Ints | None:
    """Return the keys of a clique that agree with all relations, ascending.

    Parameters
    ----------
    relations : sequence of Relation
        Each over some of the clique's variables.
    cards : ndarray of int
        Cardinalities.
    order : sequence of int
        The clique's variables, in the order of its keys.
    most : float
        Maximum number of rows, of intermediate results too; with more the result is None.
    """
    weights = radix(cards, order)
    # The share of all joint states that each relation leaves.
    shares = [len(r.keys) / size(cards, r.variables) for r in relations]
    waiting = list(range(len(relations)))
    # Keys of the variables that are joined so far, with all others in their first states.
    rows = np.zeros(1, dtype=np.int64)
    joined: set[int] = set()

    def first(r: int) -> tuple[float, float]:
        """Return what is least for the widest relation, of equals that with the smallest share."""
        return -len(relations[r].variables), shares[r]

    def growth(r: int) -> tuple[float, float]:
        """Return the expected number of rows for each row; of equals the widest comes first."""
        new = [v for v in relations[r].variables if v not in joined]
        return shares[r] * size(cards, new), -len(relations[r].variables)

    # The widest relation is the first; of the others always that which adds the fewest rows.
    while waiting:
        r = min(waiting, key=growth if joined else first)
        waiting.remove(r)
        variables, keys = relations[r]
        new = {v: weights[v] for v in variables if v not in joined}
        to_shared = radix(cards, [v for v in variables if v in joined])
        shared = moved(rows, cards, order, to_shared)
        if not new:  # the shared variables are all of the relation's
            rows = rows[_among(shared, keys)]
            continue
        # Of each key of the relation what has to equal `shared`, and what it adds to a row's key.
        match, added = moved(keys, cards, variables, to_shared), moved(keys, cards, variables, new)
        extended = _extended(rows, shared, match, added, most)
        if extended is None:
            return None
        rows = extended
        joined.update(new)
    # Variables in no relation may have any state.
    for v in order:
        if v not in joined:
            if len(rows) * int(cards[v]) > most:
                return None
            rows = (rows[:, None] + weights[v] * np.arange(int(cards[v]))).ravel()
    rows.sort()
    return rows


def _supports(tables: Tables, tree: Tree, hard: Findings) -> Iterator[tuple[int, Support]]:
    """Yield the clique of each table that has zeros, and the table's support.

    A joint state of the table's free variables is possible if the table, with the states in `hard`,
    has an entry above zero for some states of its other observed variables.
    """
    for f, number in enumerate(tree.factors.tolist()):
        # Not tables without free variables, nor likelihoods, whose values each run brings along.
        if tree.home[f] < 0 or number >= len(tables):
            continue
        # `numbers` are indices among the variables of `tables`, `variables` among those of `tree`.
        numbers, values = tables.table(number)
        if values.all():
            continue
        variables = tuple(tree.item[tree.start[f] : tree.start[f + 1]].tolist())
        free = tree.variables[list(variables)].tolist()
        fixed = {v for v in numbers if v not in free and v in hard}
        possible = values[tuple(hard[v] if v in fixed else slice(None) for v in numbers)] > 0.0
        axes = [v for v in numbers if v not in fixed]
        others = tuple(axis for axis, v in enumerate(axes) if v not in free)
        mask: Mask = np.asarray(possible.any(axis=others))
        if not mask.all():
            yield int(tree.home[f]), (variables, mask)


def _propagated(supports: Sequence[Support]) -> dict[int, Mask]:
    """Return the possible states of each variable, and restrict the supports to them in place.

    A state is possible if each support has it with possible states of the other variables
    (generalised arc consistency), so that what is known of one variable narrows the joins far away.
    Variables of which all states are possible are left out.
    """
    domains: dict[int, Mask] = {}
    changed = True
    while changed:
        changed = False
        for variables, mask in supports:
            for axis, v in enumerate(variables):
                if v in domains:  # impossible states are so with all states of the others
                    mask &= np.expand_dims(domains[v], [a for a in range(mask.ndim) if a != axis])
            for axis, v in enumerate(variables):
                others = tuple(a for a in range(mask.ndim) if a != axis)
                left = np.asarray(mask.any(axis=others))
                if not np.array_equal(left, domains.get(v, np.ones_like(left))):
                    domains[v] = left
                    changed = True
    return domains


class _Shape:
    """The cliques of a tree, as lists; variables are those of the tree.

    Attributes
    ----------
    separators : list of tuple of int
        The variables that each clique shares with its parent.
    orders : list of tuple of int
        The variables of each clique in the order of its keys: those that it shares with its parent
        before those that it eliminates.
    entries, shared : list of int
        Number of entries of each clique, and of the message to its parent.
    parent : list of int
    cards : ndarray of int
        Cardinalities of the variables.
    """

    def __init__(self, tree: Tree) -> None:
        # The first `residual` members of a clique are those that it eliminates.
        starts, residual = tree.c_start.tolist(), tree.residual.tolist()
        members = [tree.member[a:b].tolist() for a, b in itertools.pairwise(starts)]
        self.separators = [tuple(m[r:]) for m, r in zip(members, residual, strict=True)]
        self.orders = [(*m[r:], *m[:r]) for m, r in zip(members, residual, strict=True)]
        self.entries = [size(tree.cards, order) for order in self.orders]
        self.shared = [size(tree.cards, separator) for separator in self.separators]
        self.parent, self.cards = tree.parent.tolist(), tree.cards

    def outer(self, c: int, keys: Ints) -> Ints:
        """Return the keys of a clique's message, the high digits of its own keys."""
        # The low digits are the joint states of the variables that the clique eliminates.
        return keys // (self.entries[c] // self.shared[c])

    def above(self, c: int, keys: Ints) -> Ints:
        """Return the keys of a clique's message for keys of the clique's parent."""
        weights = radix(self.cards, self.separators[c])
        return moved(keys, self.cards, self.orders[self.parent[c]], weights)


def _relations(
    tables: Tables, tree: Tree, shape: _Shape, hard: Findings, far: bool
) -> list[list[Relation]]:
    """Return the relations of each clique: the supports of its tables that have zeros.

    If `far` is set, the possible states of single variables are propagated through all tables.
    """
    relations_of: list[list[Relation]] = [[] for _ in shape.parent]
    supports = list(_supports(tables, tree, hard))
    if far:
        domains = _propagated([support for _, support in supports])
        for relations, order in zip(relations_of, shape.orders, strict=True):
            narrowed = [v for v in order if v in domains]
            relations += [Relation((v,), np.flatnonzero(domains[v])) for v in narrowed]
    for home, (variables, mask) in supports:
        relations_of[home].append(Relation(variables, np.flatnonzero(mask)))
    return relations_of


def _joined_supports(
    tree: Tree, shape: _Shape, relations: list[list[Relation]], allowed: Sequence[float]
) -> list[Ints | None]:
    """Return the possible keys of each clique by its relations and those of the cliques below.

    None where they are not known, as without relations, or with more keys than allowed. The
    relations are extended: what a clique leaves possible is one of its parent.
    """
    possible: list[Ints | None] = []
    for c, parent in enumerate(shape.parent):  # children before their parents
        keys = None
        if relations[c]:
            keys = join(relations[c], tree.cards, shape.orders[c], allowed[c])
        possible.append(keys)
        # A message that is known to be ones restricts nothing.
        if keys is not None and parent >= 0 and not tree.unit[c]:
            of_message = shape.outer(c, keys)  # ascending, as the keys
            distinct = of_message[np.flatnonzero(np.diff(of_message, prepend=-1))]
            if len(distinct) < shape.shared[c]:
                relations[parent].append(Relation(shape.separators[c], distinct))
    return possible


def _reduce(
    tree: Tree,
    shape: _Shape,
    relations: list[list[Relation]],
    allowed: Sequence[float],
    keys: list[Ints | None],
) -> None:
    """Leave each clique the keys that agree with a key of its parent, roots first.

    A clique without keys, which had too many, is joined once more: it may have fewer now.
    """
    for c in range(len(keys) - 1, -1, -1):
        keys_of_parent = keys[shape.parent[c]] if shape.parent[c] >= 0 else None
        if keys_of_parent is None:
            continue
        of_message, keys_of_c = _distinct(shape.above(c, keys_of_parent)), keys[c]
        if len(of_message) == shape.shared[c]:  # the parent rules nothing out
            continue
        if keys_of_c is not None:
            keys[c] = keys_of_c[_among(shape.outer(c, keys_of_c), of_message)]
        else:
            relations[c].append(Relation(shape.separators[c], of_message))
            keys[c] = join(relations[c], tree.cards, shape.orders[c], allowed[c])


class Layout:
    """The cliques of a tree that are held compressed, for the compiler of programs.

    Parameters
    ----------
    tables : Tables
    tree : Tree
    shape : _Shape
    keys : list of ndarray or None
        Keys of the cliques that are held compressed, None for the others.
    targets : indices of variables
        Variables of one root clique whose joint table is the result.
    both : bool
        Whether the program has both passes.

    Attributes
    ----------
    tree : Tree
        The tree, with the numbers of entries that are held as its total and its largest.
    places : shape (5, n_factors + n_cliques)
        See `program_kernels.compile_tree`.
    n_data : int
        Number of integers at the end of the program.
    """

    def __init__(
        self,
        tables: Tables,
        tree: Tree,
        shape: _Shape,
        keys: Sequence[Ints | None],
        targets: Sequence[int],
        both: bool,
    ) -> None:
        rows = [
            n if clique_keys is None else len(clique_keys)
            for clique_keys, n in zip(keys, shape.entries, strict=True)
        ]
        self.tree = tree._replace(total=float(sum(rows)), largest=float(max(rows)))
        self.places = np.full((5, len(tree.factors) + len(keys)), -1, dtype=np.int64)
        self.n_data = 0
        self._shape, self._both = shape, both
        # Functions that return the keys and lists, in the order in which `write` puts them, and the
        # type of their numbers.
        self._parts: list[tuple[Callable[[], Ints], type[np.integer[Any]]]] = []
        # By the clique that sends it, the keys of each message that is held compressed.
        self._held = dict(self._messages(keys))
        number_of = {v: i for i, v in enumerate(tree.variables.tolist())}
        asked = radix(tree.cards, [number_of[v] for v in targets])
        for c, clique_keys in enumerate(keys):
            if clique_keys is not None:
                self._add_clique(c, clique_keys, asked)
                self._add_operands(c, clique_keys, tables)
        # Positions, so far from the begin of the data, become negative ones from its end: those of
        # lists count halves of integers, those of keys (in `STATES`, of one pass) whole ones.
        self.places[STATES] -= 2 * self.n_data if both else self.n_data
        self.places[[OPERAND, OWN]] -= 2 * self.n_data

    def _messages(self, keys: Sequence[Ints | None]) -> Iterator[tuple[int, Ints]]:
        """Yield each message that is compressed: its clique, and its keys that the receiver has.

        Their number is written to `places`.
        """
        shape = self._shape
        for c, p in enumerate(shape.parent):
            of_parent = keys[p] if p >= 0 else None
            if keys[c] is not None and of_parent is not None:
                of_message = _distinct(shape.above(c, of_parent))
                # Others stay whole: a message pays where it is half of the table at most.
                if len(of_message) <= shape.shared[c] // 2:
                    self.places[SEPARATOR, len(self.tree.factors) + c] = len(of_message)
                    yield c, of_message

    def _add_clique(self, c: int, rows: Ints, asked: Weights) -> None:
        """Add the keys of a clique, `rows`, and lists of places in the message or result it makes.

        A program of both passes needs, instead of the keys, the states of each group of variables
        that leave, for their marginals. `asked` are the weights of the targets in the result.
        """
        tree, shape, order = self.tree, self._shape, self._shape.orders[c]
        column = len(tree.factors) + c
        self.places[N_ROWS, column] = len(rows)
        if self._both:
            for group in _groups(tree, c):
                self._add(STATES, column, rows, partial(moved, rows, tree.cards, order, group))
        else:
            self.places[STATES, column] = self.n_data
            self._parts.append((partial(np.asarray, rows), np.int64))
            self.n_data += len(rows)
        if shape.parent[c] >= 0:
            self._add(OWN, column, rows, partial(self._entries, c, rows, shape.outer))
        elif asked.keys() <= set(order):
            self._add(OWN, column, rows, partial(moved, rows, tree.cards, order, asked))

    def _add_operands(self, c: int, rows: Ints, tables: Tables) -> None:
        """Add lists of the places in the tables and messages that a clique multiplies."""
        tree, order, step = self.tree, self._shape.orders[c], tables.arrays.step
        for f in np.flatnonzero(tree.home == c).tolist():
            is_table = tree.factors[f] < len(tables)
            # A place in a table is the sum of stride times state; a likelihood has one variable.
            weights = {
                int(tree.item[a]): int(step[tree.at[a]]) if is_table else 1
                for a in range(tree.start[f], tree.start[f + 1])
            }
            self._add(OPERAND, f, rows, partial(moved, rows, tree.cards, order, weights))
        for d in np.flatnonzero(tree.parent == c).tolist():
            make = partial(self._entries, d, rows, self._shape.above)
            self._add(OPERAND, len(tree.factors) + d, rows, make)

    def _add(self, kind: Any, column: int, rows: Ints, make: Callable[[], Ints]) -> None:
        """Reserve room for the list that `make` returns for the keys of a clique."""
        if self.places[kind, column] < 0:  # the first list of a kind
            self.places[kind, column] = 2 * self.n_data
        self._parts.append((make, np.int32))
        self.n_data += -(-len(rows) // 2)  # rounded up: two places fit into an integer

    def _entries(self, c: int, rows: Ints, outer: Callable[[int, Ints], Ints]) -> Ints:
        """Return the place in the message of clique c of each key, its own or one of its parent.

        `outer` returns the keys of the message.
        """
        keys = outer(c, rows)
        return np.searchsorted(self._held[c], keys) if c in self._held else keys

    def write(self, data: Ints) -> None:
        """Write the keys and lists over zeros, shape (n_data,); lists as 32-bit integers."""
        at = 0
        for make, kind in self._parts:
            numbers = make()
            data[at:].view(kind)[: len(numbers)] = numbers
            at += -(-len(numbers) * np.dtype(kind).itemsize // BYTES)  # rounded up


def _groups(tree: Tree, c: int) -> Iterator[Weights]:
    """Yield the weights of each group of the variables that a clique eliminates, the last first.

    For the groups see `program_kernels.group_begin`.
    """
    members = tree.member[tree.c_start[c] : tree.c_start[c] + tree.residual[c]]
    stop = len(members)
    while stop > 0:
        begin = int(group_begin(tree.cards[members], stop))
        yield radix(tree.cards, members[begin:stop].tolist())
        stop = begin


def compressed(
    tables: Tables,
    tree: Tree,
    targets: Sequence[int],
    both: bool,
    limit: float,
    needed: bool,
    hard: Findings | None = None,
) -> Layout | None:
    """Return which cliques of a tree are better held compressed; None if there are none.

    Parameters
    ----------
    tables : Tables
    tree : Tree
    targets : indices of variables
        Variables of one root clique whose joint table is the result.
    both : bool
        Whether the program has both passes.
    limit : float
        Maximum bytes of a clique, as a table or compressed.
    needed : bool
        Whether the tree does not fit otherwise.
    hard : mapping from index of a variable to its state, optional
        Evidence for which alone the result holds. If it is None, the result holds for all states of
        the observed variables, and less is tried.
    """
    if tree.total > MAXIMUM_ENTRIES:
        return None
    if not needed and tree.total < SMALLEST_MEAN * len(tree.parent):
        return None
    shape = _Shape(tree)
    most = min(limit / _ROW_BYTES, _FEW_ROWS if hard is None else _MOST_ROWS)
    # A clique that must be compressed may have `most` rows, others only as many as may pay.
    too_large = [(needed and BYTES * n > limit) or n > _MOST_LISTED for n in shape.entries]
    allowed = [
        most if large else min(most, max(_FREE_ROWS, LARGEST_SHARE * n))
        for large, n in zip(too_large, shape.entries, strict=True)
    ]
    relations = _relations(tables, tree, shape, hard or {}, needed)
    keys = _joined_supports(tree, shape, relations, allowed)
    _reduce(tree, shape, relations, allowed, keys)
    price = 0.0  # of the whole tree, in the time of an entry in a row
    for c, (rows, large, n) in enumerate(zip(keys, too_large, shape.entries, strict=True)):
        if rows is None and large:
            return None
        pays = rows is not None and n >= SMALLEST and len(rows) <= LARGEST_SHARE * n
        if not large and not pays:
            keys[c] = None
        # A row of a compressed clique costs as much as `1 / LARGEST_SHARE` entries in a row.
        price += DENSE_PRICE * n if rows is None or keys[c] is None else len(rows) / LARGEST_SHARE
    if all(rows is None for rows in keys) or (not needed and price > tree.total):
        return None
    return Layout(tables, tree, shape, keys, targets, both)
