"""Compilation of queries on tables: relevant factors, a junction tree, an elimination program."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import MemoryLimitError
from bayesgraph.core.parallel import BYTES, default_memory_limit, memory_error
from bayesgraph.inference import execution_kernels, order_kernels, planning_kernels, program_kernels
from bayesgraph.inference.contract import SECONDS_AN_ENTRY, Case
from bayesgraph.inference.junction import Ints, Program, Restricted, Tree, unpacked
from bayesgraph.inference.tables import (
    MOST_DENSE,
    Findings,
    Layout,
    Tables,
    compressed,
)

# ----- Compilation of queries on tables: relevant factors, a junction tree, an elimination program


_NOTHING = np.empty(0, dtype=np.int64)
_DENSE = np.empty((5, 0), dtype=np.int64)
# Number of arrays of a `Tree` that depend on its cliques: those from `home` to `unit`.
_OF_CLIQUES = 6
# Maximum number of entries of all cliques, which a pass takes some minutes to compute.
MOST_COMPUTED = 2.0**37


class Relevance(Enum):
    """The type of quantity that a query computes, by which relevant factors are selected.

    TARGETS stands for the posterior of the targets alone, EVIDENCE for the probability of the
    evidence, EVERYTHING for quantities that depend on all factors; see `planning_kernels.restrict`.
    """

    TARGETS = 0
    EVIDENCE = 1
    EVERYTHING = 2


class Query(NamedTuple):
    """What a program computes, for any values of the variables with evidence.

    Attributes
    ----------
    observed, soft : sequence of int
        Ascending indices of the variables with hard and with soft evidence.
    targets : sequence of int
        Variables of the joint table that is the result.
    relevance : Relevance
        The quantity computed, which determines the relevant tables.
    maximized : sequence of int, optional
        Variables that are maximised after all others have been summed out.
    both : bool
        Whether there are both passes, whose result is the marginal of every free variable.
    """

    observed: Sequence[int]
    soft: Sequence[int] = ()
    targets: Sequence[int] = ()
    relevance: Relevance = Relevance.EVERYTHING
    maximized: Sequence[int] | None = None
    both: bool = False


def restrict(
    tables: Tables,
    observed: Sequence[int],
    soft: Sequence[int],
    targets: Sequence[int],
    relevance: Relevance,
) -> Restricted:
    """Return the factors that are relevant to a query, without the observed variables.

    Parameters
    ----------
    tables : Tables
    observed, soft : indices of variables with hard and with soft evidence
    targets : indices of variables
    relevance : Relevance

    Returns
    -------
    Restricted
        Variables with soft evidence stay, with one more factor each, their likelihood.
    """
    if relevance is Relevance.TARGETS and tables.pending and (observed or soft):
        # Tables that the evidence separates from the targets are searched for zeros, which may
        # make the evidence impossible: they must be loaded before.
        tables.load(restrict(tables, observed, soft, targets, Relevance.EVIDENCE).factors.tolist())
    arrays = tables.arrays
    scopes = arrays.start, arrays.item, arrays.child
    if soft:
        # One more factor for each variable with soft evidence: its scope is this variable, and it
        # is the distribution of none (child -1).
        start = np.append(arrays.start, len(arrays.item) + 1 + np.arange(len(soft)))
        child = np.append(arrays.child, np.full(len(soft), -1))
        scopes = start, np.append(arrays.item, _array(soft)), child
    packed = planning_kernels.restrict(
        arrays, *scopes, _array(observed), _array(targets), relevance.value
    )
    return Restricted(*unpacked(packed, len(Restricted._fields)))


def plan_tree(
    question: Restricted,
    *,
    stage: Ints | None = None,
    effort: float = order_kernels.ONCE,
) -> Tree:
    """Return a junction tree of the relevant factors, of any size, with its roots.

    Parameters
    ----------
    question : Restricted
        Relevant factors of a query; without `stage`, the wanted variables (targets) will share a
        root clique.
    stage : shape (n_variables,), optional
        Stage of each variable; lower stages are eliminated first.
    effort : float
        Steps of the search for each entry of the tables.
    """
    wanted = question.wanted
    start, item = question.start, question.item
    if stage is None:
        stages = np.zeros(len(question.cards), dtype=np.int64)
        targets = wanted.nonzero()[0]
        if len(targets) > 1:
            # A scope of all targets makes them share a clique.
            start = np.append(start, len(item) + len(targets))
            item = np.concatenate((item, targets))
    else:
        # Stages restrict the order, which alone determines the roots: no variable is wanted there.
        stages, wanted = stage[question.variables], np.zeros_like(wanted)
    order = order_kernels.elimination_order(question.cards, start, item, stages, effort)
    packed, total, largest = planning_kernels.junction_tree(
        question, start, item, stages, wanted, order
    )
    # The fields of a Tree, in their order.
    shared = question.variables, question.factors, question.cards, question.start, question.item
    return Tree._make((*shared, question.at, *unpacked(packed, _OF_CLIQUES), total, largest))


def with_intermediates(tree: Tree, everything: bool) -> Tree:
    """Return the tree with intermediate tables; see `planning_kernels.with_intermediates`."""
    packed = planning_kernels.with_intermediates(tree, everything)
    if not len(packed):
        return tree
    # The first six fields do not depend on the cliques; the sizes stay those of the cliques alone.
    return Tree._make((*tree[:6], *unpacked(packed, _OF_CLIQUES), tree.total, tree.largest))


def _with_data(program: Program, layout: Layout, limit: float) -> Program:
    """Return the program of a layout with the layout's data at its end."""
    size = len(program.code)
    n_numbers = size + layout.n_data + program.n_work + program.n_result
    if BYTES * n_numbers > limit:
        raise memory_error("a compressed program", n_numbers, program.tree.width, limit)
    # One more instruction, DATA: the operation, its length, and the data.
    code = np.zeros(size + 2 + layout.n_data, dtype=np.int64)
    code[:size] = program.code
    code[size : size + 2] = program_kernels.DATA, 2 + layout.n_data
    layout.write(code[size + 2 :])
    return program._replace(code=code)


def fits(tree: Tree, limit: float, both: bool) -> bool:
    """Tell whether the tables of a tree fit into a limit in bytes, and are computed in minutes.

    Large tables are computed tile by tile and never stored, but for the messages between them, of
    one or of both passes.
    """
    # The messages matter only if the tables are computed in minutes and do not fit themselves.
    if tree.total > MOST_COMPUTED or BYTES * tree.largest <= limit:
        return tree.total <= MOST_COMPUTED
    return bool(BYTES * (1 + both) * _message_sizes(tree).sum() <= limit)


def _message_sizes(tree: Tree) -> Floats:
    """Return the number of entries of the message of each clique to its parent, 0 for a root."""
    logs = np.log(tree.cards[tree.member])
    # Sums of logs over the members of each clique that are not eliminated there.
    logs[~_is_kept(tree)] = 0.0
    return np.exp(np.add.reduceat(logs, tree.c_start[:-1])) * (tree.parent >= 0)


def _is_kept(tree: Tree) -> NDArray[np.bool_]:
    """Tell of each entry of `member` whether its clique passes the variable to its parent."""
    # A clique's first members are eliminated there; the others are shared with its parent.
    first_kept = np.repeat(tree.c_start[:-1] + tree.residual, np.diff(tree.c_start))
    return np.arange(len(tree.member)) >= first_kept


def size_error(tree: Tree, limit: float) -> MemoryLimitError:
    """Return the error for a tree that does not fit, see `fits`."""
    seconds = SECONDS_AN_ENTRY * tree.total if tree.total > MOST_COMPUTED else 0.0
    return memory_error("a table", tree.largest, tree.width, limit, seconds)


def _array(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)


# ------------- Models of tables: compiling and running elimination programs, and joint enumeration
# For each set of observed variables, a query on tables is compiled once into an elimination program
# (flat instructions run by one kernel; see `programs`), which runs for any values of these
# variables. If few variables are free, a kernel enumerates all their joint states instead.


class Run(NamedTuple):
    """The result of running an elimination program, with the workspace that holds all messages.

    Attributes
    ----------
    program : Program
    tables : ndarray
        Entries of all tables, or their logarithms.
    offsets : ndarray
        Offset of the first entry of each table that agrees with the evidence.
    space : ndarray
        The workspace.
    result : ndarray
        Normalised probabilities: the joint table of the targets, or all marginals.
    log_mass : float
        Natural log of the sum (or, for maximising programs, the maximum) of the product of all
        tables and the evidence over the joint states; minus infinity if it is zero.
    logarithmic : bool
        Whether the workspace holds logarithms.
    """

    program: Program
    tables: Floats
    offsets: Ints
    space: Floats
    result: Floats
    log_mass: float
    logarithmic: bool

    def release(self) -> None:
        """Keep the workspace for the next run of any model: it is not read any more."""
        whole = self.space if self.space.base is None else self.space.base
        if _SMALLEST_KEPT <= len(whole) <= _LARGEST_KEPT:
            _spare[:] = [whole]


# One workspace at most, for the next run: the operating system clears new memory, which takes
# longer than many a run. Small arrays come from memory that the process has; large ones go back.
_spare: list[Floats] = []
_SMALLEST_KEPT, _LARGEST_KEPT = 2**16, 2**23


def _workspace(n: int) -> Floats:
    """Return an array of n arbitrary entries: of the spare workspace if that is large enough."""
    if n >= _SMALLEST_KEPT:
        with suppress(IndexError):  # there is none, or another thread uses it
            whole = _spare.pop()
            if len(whole) >= n:
                return whole[:n]
    return np.empty(n)


class CompiledTables:
    """The tables of a model, with methods that compile and run programs on them.

    Parameters
    ----------
    tables : Tables
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        # What the last call of `restricted` was asked, and its result.
        self._last: tuple[Any, Restricted | None] = None, None

    # ----------------------------------------------------------------------------------- programs

    def restricted(self, query: Query) -> Restricted:
        """Return the factors relevant to a query, without the observed variables; see `restrict`.

        The last result is kept, because several solvers ask for it in turn.
        """
        key = query[:4]  # the factors do not depend on what is maximised, nor on the passes
        last, restricted = self._last
        if restricted is None or last != key:
            restricted = restrict(self.tables, *key)
            self._last = key, restricted
        return restricted

    def stages(self, maximized: Sequence[int] | None) -> Ints | None:
        """Return the elimination stage of each variable: 1 if it is maximised, otherwise 0."""
        if maximized is None:
            return None
        stage = np.zeros(len(self.tables.variables), dtype=np.int64)
        stage[list(maximized)] = 1
        return stage

    def tree(self, query: Query, effort: float = order_kernels.ONCE) -> Tree:
        """Return the junction tree of a query, of any size; see `plan_tree`."""
        stage = self.stages(query.maximized)
        return plan_tree(self.restricted(query), stage=stage, effort=effort)

    def program(
        self,
        query: Query,
        *,
        tree: Tree | None = None,
        memory_limit: float | None = None,
        compress: bool = False,
        hard: Findings | None = None,
    ) -> Program:
        """Return the elimination program of a query, compiled for a set of observed variables.

        Parameters
        ----------
        query : Query
        tree : Tree, optional
            The result of `tree` for the same query.
        memory_limit : float, optional
            Maximum bytes of the messages between large tables, which are computed tile by tile and
            never stored whole, and of a compressed program; by default half of the machine's
            memory.
        compress : bool
            Whether cliques with many zeros are held compressed where that pays. In trees that
            exceed the limit, or are so large that it takes less time than a run, they are in any
            case.
        hard : mapping from index of a variable to its state, optional
            Evidence for which alone cliques are compressed, see `tables.compressed`.

        Raises
        ------
        MemoryLimitError
            If the messages exceed the limit, or if the tables would take hours to compute.
        """
        observed, soft, targets, _, maximized, both = query
        if tree is None:
            tree = self.tree(query)
        tables, arrays = self.tables, self.tables.arrays
        tables.load(tree.factors.tolist())
        # With variables to maximise the result is the maximum, not the table of the targets.
        targets = targets if maximized is None else ()
        stages = self.stages(maximized)
        limit = float(default_memory_limit() if memory_limit is None else memory_limit)
        # Tables that are maximised are not computed tile by tile if they exceed the limit: a search
        # for the maximum takes less time.
        most_entries = np.inf if maximized is None else limit / BYTES
        # The layout is needed if the tables would be too large without compression.
        layout, is_needed = None, not fits(tree, limit, both) or tree.largest > most_entries
        if compress or tree.total > MOST_DENSE or is_needed:
            # Without evidence there is only one case.
            only = hard if observed else {}
            layout = compressed(tables, tree, targets, both, limit, is_needed, only)
        # To save time alone no compressed data above the limit are held.
        if layout is not None and BYTES * layout.n_data > limit and not is_needed:
            layout = None
        if layout is not None:
            tree = layout.tree  # its sizes are those of the compressed cliques
        if not fits(tree, limit, both) or tree.largest > most_entries:
            raise size_error(tree, limit)
        if layout is None and tree.total > planning_kernels.SMALL:
            tree = with_intermediates(tree, both)
        places = _DENSE if layout is None else layout.places
        packed, least, n_work, n_result = program_kernels.compile_tree(
            arrays,
            tree,
            arrays.cards[_array(soft)] if soft else _NOTHING,
            _NOTHING if stages is None else stages,
            _array(targets),
            both,
            places,
        )
        code, up, minima, source, kind, step, constant, soft_at, maximal = unpacked(packed, 9)
        program = Program(
            tree, code, up, minima.view(np.float64), source, kind, step, constant, least, soft_at,
            maximal, places, n_work, n_result,
        )  # fmt: skip
        return program if layout is None else _with_data(program, layout, limit)

    def sliced(self, query: Query, memory_limit: float) -> tuple[list[int], Tree] | None:
        """Return variables whose states are gone through one by one, and the tree of each slice.

        In each step the variable is added that leaves the least to compute, of those that most of
        the messages' entries are about (cutset conditioning, Pearl 1988). The result is None if all
        slices together would take hours.
        """
        cards = self.tables.arrays.cards
        tree = self.tree(query)
        cost, cut = tree.total, list[int]()  # cost: the entries of all slices together
        while cost <= MOST_COMPUTED and not fits(tree, memory_limit, query.both):
            options = []
            for v in _costliest(tree, (*query.targets, *query.soft)):
                more = sorted((*cut, v))
                smaller = self.tree(query._replace(observed=sorted((*query.observed, *more))))
                options.append((float(np.prod(cards[more])) * smaller.total, more, smaller))
            # Without an option the messages have no variable left that may be cut.
            cost, cut, tree = min(
                options, default=(np.inf, cut, tree), key=lambda option: option[0]
            )
        return (cut, tree) if cost <= MOST_COMPUTED else None

    # --------------------------------------------------------------------------------------- runs

    def run(
        self,
        program: Program,
        case: Case,
        memory_limit: float | None = None,
        *,
        logarithmic: bool = False,
        everything: bool = False,
    ) -> Run:
        """Run a program for one evidence assignment.

        It runs on logarithms if `logarithmic` is set, or if probabilities could underflow. A
        program of `everything` has the variables with findings too.

        Raises
        ------
        MemoryLimitError
            If the largest table or the workspace takes more than the limit in bytes.
        """
        limit = default_memory_limit() if memory_limit is None else memory_limit
        if held_bytes(program) > limit:
            raise memory_error("a workspace", held_entries(program), program.tree.width, limit)
        tables = self.tables
        # In a program of everything, findings are zeros in the tables, not offsets into them.
        hard = {} if everything else case.hard
        are_logs = logarithmic or tables.has_lost_digits
        findings = np.array([*hard, *hard.values()], dtype=np.int64)
        entries = tables.log_values if are_logs else tables.entries
        shape = tables.indices, len(tables.variables), len(tables)
        offsets, log_constant = planning_kernels.at_evidence(
            *shape, findings, program.constant, entries, are_logs
        )
        space = _workspace(program.n_work)
        result = np.zeros(program.n_result)  # programs of maxima may not write it
        values = tables.log_values if logarithmic else tables.entries
        if everything:
            values = tables.contradicted(case.hard, logarithmic=logarithmic)
        log_scale = tables.log_scale + case.log_scale + float(log_constant)
        # Lower bounds of the cliques' products, to which likelihoods and messages add theirs.
        minima, least = program.minima.copy(), program.least
        if case.soft:
            log_scale += _load_soft(program, case, space, minima, logarithmic=logarithmic)
            least = minima.min(initial=0.0)
        if log_scale == -np.inf:
            return Run(program, values, offsets, space, result, log_scale, logarithmic)
        if not logarithmic and least < execution_kernels.MINIMUM_LOG2:
            return self.run(program, case, memory_limit, logarithmic=True, everything=everything)
        status, log_mass = execution_kernels.run(
            program.code, values, offsets, minima, space, result, logarithmic
        )
        if not logarithmic:
            # A message may vanish by underflow: the run has added to `minima` the bounds of the
            # messages that each clique receives.
            vanished = status == execution_kernels.IMPOSSIBLE
            underflow = vanished and minima.min(initial=0.0) < execution_kernels.MINIMUM_LOG2
            if underflow or status == execution_kernels.TOO_SMALL:
                return self.run(
                    program, case, memory_limit, logarithmic=True, everything=everything
                )
        elif log_mass > -np.inf:  # otherwise the run has not written the result
            np.exp(result, out=result)
        log_mass = float(log_mass) + log_scale
        return Run(program, values, offsets, space, result, log_mass, logarithmic)

    # -------------------------------------------------------------------------------- enumeration

    def enumeration(self, targets: Sequence[int], factors: Sequence[int]) -> Ints:
        """Return the layout of an enumeration of all joint states; see `enumerate_joint`.

        Parameters
        ----------
        targets : sequence of int
            Variables of the joint posterior; if empty, the result is the marginals of all free
            variables.
        factors : sequence of int
            Indices of the relevant tables.
        """
        tables = self.tables
        tables.load(factors)
        # Several times faster than `concatenate` for few numbers.
        layout = array("q", [*tables.lengths[:3], len(targets)])
        layout.frombytes(tables.indices.tobytes())
        layout.extend([*targets, *factors])
        return np.frombuffer(layout, dtype=np.int64)

    def enumerated(self, case: Case, layout: Ints) -> tuple[Floats, float] | None:
        """Return posterior probabilities and the log mass by enumeration of all joint states.

        The mass is the sum of the product of the tables over the joint states that agree with the
        evidence. The result is None if the mass is zero or could underflow, if entries of
        tables do, or if there are too many joint states.

        Parameters
        ----------
        case : Case
            Evidence on one case, without soft evidence.
        layout : ndarray of int
            The result of `enumeration`.
        """
        tables = self.tables
        if tables.has_lost_digits:
            return None
        findings = np.array([*case.hard, *case.hard.values()], dtype=np.int64)
        status, log_mass, result = execution_kernels.enumerate_joint(
            layout, tables.entries, findings
        )
        if status != execution_kernels.OK:
            return None
        return result, log_mass + tables.log_scale + case.log_scale

    def free(self, observed: Sequence[int]) -> list[int]:
        """Return the indices of all variables that are not in `observed`."""
        return [v for v in range(len(self.tables.variables)) if v not in observed]


# Number of variables that are tried in each step of the search for slices.
_TRIED = 4


def _costliest(tree: Tree, without: Sequence[int]) -> list[int]:
    """Return up to `_TRIED` variables that save the most entries of messages if they are observed.

    The first saves most; variables in `without` are left out.
    """
    # An observed variable leaves one of each `card` entries of the messages that have it.
    sizes = np.repeat(_message_sizes(tree), np.diff(tree.c_start)) * _is_kept(tree)
    saved = np.bincount(tree.member, sizes, len(tree.variables)) * (1.0 - 1.0 / tree.cards)
    saved[np.isin(tree.variables, without)] = 0.0
    costliest = [v for v in np.argsort(-saved, kind="stable")[:_TRIED].tolist() if saved[v] > 0.0]
    return [int(v) for v in tree.variables[costliest]]


def held_entries(program: Program) -> int:
    """Return the number of entries that a run holds.

    The code counts for compressed programs only, whose keys and lists are part of it.
    """
    return program.n_work + program.n_result + (len(program.code) if program.layout.size else 0)


def held_bytes(program: Program) -> float:
    """Return the bytes that a run holds, which are limited."""
    return BYTES * held_entries(program)


def _load_soft(
    program: Program, case: Case, space: Floats, minima: Floats, *, logarithmic: bool
) -> float:
    """Write the likelihoods of soft evidence to the workspace `space`; return their log scale.

    Each variable's likelihoods are divided by their maximum; the scale is the product of the
    maxima. The lower bounds in `minima` are updated for the smallest positive likelihoods.
    """
    scale = 0.0
    n_tables = len(program.tree.factors) - len(program.soft_at)  # likelihoods follow the tables
    for k, variable in enumerate(sorted(case.soft)):
        logs = case.soft[variable]
        peak = float(logs.max())
        scale += peak
        if peak == -np.inf:  # the evidence is impossible
            break
        at = int(program.soft_at[k])
        values = logs - peak if logarithmic else np.exp(logs - peak)
        space[at : at + len(values)] = values
        possible = logs[logs > -np.inf] - peak  # natural logs; those of `minima` are binary
        minima[program.tree.home[n_tables + k]] += float(possible.min()) / np.log(2.0)
    return scale
