"""Sequences with evidence, and the messages that pass along their slices: of states, or numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import LOG_2PI, MAX, SUM, Algebra, Floats, log_of
from bayesgraph.core.errors import UnsupportedModelError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import check_memory, one_blas_thread
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.inference import Factor, GaussianFactor, Potential, divided, summed_to
from bayesgraph.models import BayesianNetwork
from bayesgraph.time import time_kernels
from bayesgraph.time.slices import Program, States, row_parts, slice_factor, slice_logs, summary
from bayesgraph.time.time_kernels import Slices

# The least number of slices of a piece, however small the limit of memory.
_FEWEST = 100


class Part(NamedTuple):
    """Slices with the same network, and what is observed in them.

    Attributes
    ----------
    rows : ndarray of int
        Which slices of all sequences, ascending.
    network : BayesianNetwork
    evidence : Evidence
        On variables of the network, of earlier slices too.
    is_first : bool
        Whether no slice is before them.
    """

    rows: NDArray[np.intp]
    network: BayesianNetwork
    evidence: Evidence
    is_first: bool


class Sequences(NamedTuple):
    """Sequences of slices with evidence, one after the other.

    Attributes
    ----------
    starts : ndarray, shape (n_sequences + 1,)
        Numbers of the first slice of each sequence, and of all slices.
    parts : list of Part
        Each slice is in one.
    handed : tuple of (Variable, Variable)
        The interface between slices: variables on which the next slice depends, without those that
        every slice observes. Each as its own slice calls it, and as the next slice calls it.
    """

    starts: NDArray[np.int64]
    parts: list[Part]
    handed: tuple[tuple[Any, Any], ...]

    def piece(self, begin: int, end: int) -> Sequences:
        """Return some of the slices, which may begin and end within a sequence."""
        # Starts outside of the piece move to its beginning or its end, which are kept once each.
        starts, parts = np.unique(np.clip(self.starts, begin, end)) - begin, []
        for part in self.parts:
            chosen = np.arange(*np.searchsorted(part.rows, [begin, end]))
            if len(chosen):
                rows, evidence = part.rows[chosen] - begin, part.evidence.rows(chosen)
                parts.append(part._replace(rows=rows, evidence=evidence))
        return Sequences(starts, parts, self.handed)


class Messages:
    """Sequences with the forward and backward messages of each slice.

    Subclasses pass the messages: `Chain` those of discrete variables, `NumberChain` of numbers. A
    message is an array of the given shape, over the variables that one slice hands on to the next.

    Parameters
    ----------
    sequences : Sequences
    first : ndarray, shape (1, *shape), optional
        The forward message to the first sequence, if its first slice is not the very first.
    shape : tuple of int
        Shape of a message.

    Attributes
    ----------
    n_rows : int
        Number of slices of all sequences.
    now, past : list of Variable
        What a slice hands on, as it calls it and as the next slice calls it.
    last : ndarray, shape (1, *shape), or None
        The backward message to the last slice, if there are slices behind it.
    """

    last: Floats | None = None

    def __init__(self, sequences: Sequences, first: Floats | None, shape: tuple[int, ...]) -> None:
        self.sequences = sequences
        self.n_rows = int(sequences.starts[-1])
        self.now = [now for now, _ in sequences.handed]
        self.past = [past for _, past in sequences.handed]
        # The forward message into each sequence, of which only the first may have one. Zeros stand
        # for none: chains of states do not read them, and among numbers they say nothing.
        self._first = np.zeros((len(sequences.starts) - 1, *shape))
        self._first[:1] = 0.0 if first is None else first

    @cached_property
    def _ahead(self) -> tuple[Floats, Floats]:
        """The messages of all slices to the next, and what each adds to the log likelihood."""
        raise NotImplementedError

    @cached_property
    def later(self) -> Floats:
        """The backward message from the slices behind each slice, shape (n_rows, *shape)."""
        raise NotImplementedError

    @cached_property
    def slice_bytes(self) -> float:
        """Bytes that a slice takes: eight messages, of eight bytes a number, are held at a time."""
        return 64.0 * math.prod(self._first.shape[1:])

    @property
    def filtered(self) -> Floats:
        """The forward message of each slice: the filtered distribution of states, for example."""
        return self._ahead[0]

    @cached_property
    def log_likelihood(self) -> Floats:
        """Log probability (density) of each sequence, shape (n_sequences,)."""
        return np.asarray(np.add.reduceat(self._ahead[1], self.sequences.starts[:-1]))

    @cached_property
    def _before(self) -> Floats:
        """What the slice before each slice hands to it, shape (n_rows, ...)."""
        # One slice later; the first slices, which have that of another sequence, are replaced.
        out = np.roll(self.filtered, 1, axis=0)
        out[self.sequences.starts[:-1]] = self._first
        return out

    def open(self, part: Part) -> Evidence:
        """Return the evidence that the factors of slices take; `messages` has all other."""
        return part.evidence

    def groups(
        self, part: Part, targets: Sequence[Variable] = ()
    ) -> Iterator[tuple[NDArray[np.intp], Evidence]]:
        """Yield rows of a part in groups that observe the same variables, with their evidence.

        Evidence on the targets is left out. Variables on which no other depends may differ within a
        group; see `row_parts`.
        """
        handed = [v for v in (*self.now, *self.past) if v in part.network]
        return row_parts(part.network, self.open(part).without(targets), [*targets, *handed])

    def messages(self, part: Part, chosen: NDArray[np.intp], *, smooth: bool) -> list[Potential]:
        """Return the messages to some slices of a part as factors, backward ones if `smooth`."""
        raise NotImplementedError

    def factors(
        self, part: Part, targets: Sequence[Variable], *, smooth: bool
    ) -> Iterator[tuple[NDArray[np.intp], Potential]]:
        """Yield rows of a part, and the unnormalised posterior of targets there.

        Evidence on the targets themselves is left out, unless they are handed on.
        """
        for chosen, shown in self.groups(part, targets):
            messages = self.messages(part, chosen, smooth=smooth)
            yield chosen, slice_factor(part.network, shown, targets, messages)

    def marginal(self, target: Variable, *, smooth: bool) -> Floats:
        """Return the posterior of a variable in each slice.

        Returns
        -------
        ndarray, shape (n_rows, n_states), or (n_rows, 2)
            Probabilities; the mean and the variance of a number. What is observed has its value.
        """
        width = target.cardinality if isinstance(target, Discrete) else 2
        out = np.full((self.n_rows, width), np.nan)
        for part in self.sequences.parts:
            if target not in part.network:  # an interval of it is a state there
                continue
            is_observed = np.zeros(len(part.rows), dtype=bool)
            if target in part.evidence:
                is_observed = part.evidence.observed_rows(target)
            if not is_observed.all():  # what is set has no distribution
                for chosen, factor in self.factors(part, [target], smooth=smooth):
                    out[part.rows[chosen]] = summary(factor)
            if is_observed.any():
                values: Any = part.evidence.columns[target][is_observed]
                pairs = np.stack([values, np.zeros(len(values))], axis=1)
                # Of a state its indicator vector, of a number the value and the variance 0.
                is_state = isinstance(target, Discrete)
                out[part.rows[is_observed]] = np.eye(width)[values] if is_state else pairs
        return out

    def marginals(self, target: Variable, limit: float, *, smooth: bool) -> tuple[Floats, Floats]:
        """Return what `marginal` does, and log likelihoods, within a limit of memory in bytes.

        Slices are worked through in pieces, and only the message to each piece is kept. To smooth,
        the messages inside a piece are computed again on the way back.
        """
        size = max(_FEWEST, int(limit / self.slice_bytes))
        if size >= self.n_rows:
            return self.marginal(target, smooth=smooth), self.log_likelihood
        kind: Any = type(self)
        # Of each piece: its sequences, and the message to the first of them.
        out, logs, pieces, message = list[Floats](), list[Floats](), list[Any](), None
        for start in range(0, self.n_rows, size):
            # A piece begins with the last slice of the piece before, as the backward message to
            # that slice is computed from those behind it. No forward message enters a piece whose
            # first slice is the first of a sequence.
            piece = self.sequences.piece(max(start - 1, 0), start + size)
            pieces.append((piece, None if start - 1 in self.sequences.starts else message))
            chain = kind(*pieces[-1])
            # From the last slice but one, which comes before the first slice of the next piece.
            message = chain.filtered[-2:-1].copy()
            # Without the first slice (`start > 0` is 1), which the piece before has counted.
            logs.append(chain._ahead[1][start > 0 :])
            out.append(np.empty(0) if smooth else chain.marginal(target, smooth=False)[start > 0 :])
        # To smooth, back from the last piece. The last slice of a piece is the first of the next
        # one, and has its backward message. To filter, the range is empty.
        message = None
        for k in range(len(pieces) - 1 if smooth else -1, -1, -1):
            chain = kind(*pieces[k])
            chain.last = message
            out[k] = chain.marginal(target, smooth=True)[k > 0 :]
            message = chain.later[:1]
        sums = np.add.reduceat(np.concatenate(logs), self.sequences.starts[:-1])
        return np.concatenate(out), sums


def stacked(
    pieces: Sequence[tuple[NDArray[np.intp], Floats]], n: int, shape: tuple[int, ...]
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the matrices of rows in one array, and the index of each row's, -1 for none.

    A piece has one matrix for all of its rows, or one for each.
    """
    which, count = np.full(n, -1, dtype=np.int64), 0
    for rows, matrices in pieces:
        # One matrix of all rows (the remainder is 0 for each), or matrices in the order of rows.
        which[rows] = count + np.arange(len(rows)) % len(matrices)
        count += len(matrices)
    return np.concatenate([np.empty((0, *shape)), *(matrices for _, matrices in pieces)]), which


def scale(logs: Floats) -> Floats:
    """Replace logs, (n, K), by exponentials with the maximum one; return logs of the scales.

    Rows of minus infinity become zeros, and have the log scale 0.
    """
    # Along few states, reductions of rows take ten times as long.
    largest: Floats = np.ascontiguousarray(logs.T).max(axis=0)
    largest[np.isneginf(largest)] = 0.0
    np.exp(logs - largest[:, None], out=logs)
    return largest


class Chain(Messages):
    """Sequences whose slices hand on discrete variables.

    Parameters
    ----------
    sequences : Sequences
    first : ndarray, shape (1, K), optional
        Distribution of what was handed on before the first slice.

    Raises
    ------
    UnsupportedModelError
        If numbers are handed on too.
    """

    def __init__(self, sequences: Sequences, first: Floats | None = None) -> None:
        numbers = [now.name for now, _ in sequences.handed if isinstance(now, Continuous)]
        if numbers:
            raise UnsupportedModelError(
                f"Slices hand on the numbers {quoted(numbers)}, and not all observe them. EM "
                "completes discrete variables alone; beside states that are handed on it is a "
                "switching state, which has no exact answer of bounded size. Observe the numbers "
                "(for a switching state: them, or the states) in every slice, or discretise them."
            )
        self.states = States([now for now, _ in sequences.handed])
        super().__init__(sequences, first, (self.states.size,))

    # ------------------------------------------------------------------------ what kernels take

    def program(self, part: Part) -> Program:
        """Return the compiled slice of a part."""
        handed = self.sequences.handed
        program: Program = part.network._memo.get(
            ("program", handed), lambda: Program(part.network, handed)
        )
        return program

    def split(self, part: Part) -> Any:
        """Return the part's slice as a matrix and likelihoods, or None; see `Program.split`."""
        program, evidence = self.program(part), part.evidence
        observed = (*evidence.columns, *evidence.likelihoods)
        observed = tuple(v for v in observed if v not in program.now)
        handed = self.sequences.handed
        return part.network._memo.get(("split", handed, observed), lambda: program.split(observed))

    def open(self, part: Part) -> Evidence:
        """Return the evidence of a part without that on variables that are handed on."""
        now = self.program(part).now
        likelihoods = {v: x for v, x in part.evidence.likelihoods.items() if v not in now}
        columns = {v: x for v, x in part.evidence.columns.items() if v not in now}
        return Evidence(part.evidence.n_rows, columns, likelihoods)

    def judged(self, evidence: Evidence) -> Floats:
        """Return log likelihoods of the joint states by evidence on what is handed on, (n, K).

        A state that differs from an observed one is impossible; the code -1 is not observed.
        """
        logs = np.zeros((evidence.n_rows, self.states.size))
        for now, codes in zip(self.now, self.states.codes, strict=True):
            if now in evidence.columns:
                values = evidence.columns[now][:, None]
                logs[(values >= 0) & (values != codes)] = -np.inf
            if now in evidence.likelihoods:
                logs = logs + evidence.likelihoods[now][:, codes]
        return logs

    def behind(self, part: Part) -> Floats:
        """Return log likelihoods of the joint states by all evidence of a part that is split."""
        logs = self.judged(part.evidence)
        _, network = self.split(part)
        if network is None:
            return logs
        scope: list[Any] = [v for v in self.program(part).now if v in network]
        of = dict(zip(self.now, self.states.codes, strict=True))
        # A table over the variables of the scope for each row. Each joint state reads its entry; of
        # an empty scope there is one entry for all.
        table = slice_logs(network, self.open(part), scope)
        place = self.states.place(scope, of)
        return logs + table.reshape(len(table), -1)[:, place].reshape(len(table), -1)

    def logs(self, algebra: Algebra = SUM) -> Slices:
        """Return logs of matrices and likelihoods; the algebra eliminates all other variables."""
        size, likelihood = self.states.size, np.empty((self.n_rows, self.states.size))
        pieces: list[tuple[NDArray[np.intp], Floats]] = []
        for part in self.sequences.parts:
            program, rows = self.program(part), part.rows
            # A maximum is over all variables; a split leaves out those that bear on nothing
            # observed, which sum to one.
            split = self.split(part) if algebra is SUM else None
            if split is not None:
                logs = slice_logs(split[0], Evidence(1, {}), program.scope)
                likelihood[rows] = self.behind(part)
            else:
                what = "A matrix for each slice, as evidence bears on two, takes"
                check_memory(what, len(rows) * size**2, "Ask fewer rows at once.", copies=3)
                logs = slice_logs(part.network, self.open(part), program.scope, algebra)
                likelihood[rows] = self.judged(part.evidence)
            # Of first slices they are vectors, and join the likelihoods.
            matrix = program.spread(self.states, logs, is_first=part.is_first)
            if part.is_first:
                likelihood[rows] += matrix
            else:
                pieces.append((rows, matrix))
        matrices, which = stacked(pieces, self.n_rows, (size, size))
        return Slices(matrices, which, likelihood, self.sequences.starts)

    @cached_property
    def _scaled(self) -> tuple[Slices, Floats]:
        """Matrices and likelihoods with the maximum one, and the log of the scale of each slice."""
        slices = self.logs()
        scales = scale(slices.vectors)
        # The index -1 of a slice without a matrix reads the last entry, a log scale of 0.
        largest = np.append(scale(slices.matrices.reshape(-1, self.states.size**2)), 0.0)
        return slices, scales + largest[slices.which]

    # --------------------------------------------------------------------------------- messages

    @cached_property
    def _ahead(self) -> tuple[Floats, Floats]:
        """Filtered distributions, shape (n_rows, K), and what slices add to the log likelihood."""
        slices, scales = self._scaled
        # The kernel adds the log mass of each scaled slice to the log of its scale.
        out, logs = np.empty_like(slices.vectors), scales.copy()
        time_kernels.forward(slices, self._first, out, logs)
        return out, logs

    @cached_property
    def slice_bytes(self) -> float:
        """Bytes that a slice takes, those of a matrix if each slice has its own."""
        is_split = all(self.split(part) is not None for part in self.sequences.parts)
        return 64.0 * self.states.size ** (1 if is_split else 2)

    @cached_property
    def later(self) -> Floats:
        """P(evidence of later slices | joint state) up to a factor, shape (n_rows, K)."""
        slices = self._scaled[0]
        out, last = np.empty_like(slices.vectors), np.ones_like(self._first)
        last[-1:] = 1.0 if self.last is None else self.last
        time_kernels.backward(slices, last, out)
        return out

    def pair_sums(self, part: Part, variables: Sequence[Discrete]) -> Floats:
        """Return sums of joint posteriors of what two slices hand on, of a part that is split."""
        slices, rows = self._scaled[0], part.rows
        matrix = slices.matrices[slices.which[rows[0]]]
        with one_blas_thread():  # the bits of sums depend on the number of threads
            before, ahead = self._before[rows], slices.vectors[rows] * self.later[rows]
            # The posterior of states i, j is before_i matrix_ij ahead_j / total in each row; the
            # product of matrices sums it over the rows.
            total = np.einsum("nk,nk->n", before @ matrix, ahead)[:, None]
            table = matrix * (before.T @ divided(ahead, total))
        # What both slices have agrees in them, and is summed out of one.
        both: list[Any] = [*self.past, *(None if v in self.past else v for v in self.now)]
        sums: Floats = summed_to(table.reshape(1, *self.states.cards * 2), both, variables)[0]
        return sums

    @cached_property
    def smoothed(self) -> Floats:
        """The distribution of the joint states given all evidence, shape (n_rows, K)."""
        product: Floats = self.filtered * self.later
        return divided(product, np.einsum("nk->n", product)[:, None])

    # -------------------------------------------------------------------------------- posteriors

    def factor(self, variables: Sequence[Discrete], part: Part, values: Floats) -> Factor:
        """Return values of the joint states as a factor over those that a network has."""
        # A variable that it lacks is in its first state; see `Program.spread`.
        place = tuple([slice(None) if v in part.network else 0 for v in variables])
        table = values.reshape(-1, *self.states.cards)[:, *place]
        return Factor.from_log([v for v in variables if v in part.network], log_of(table))

    def messages(self, part: Part, chosen: NDArray[np.intp], *, smooth: bool) -> list[Potential]:
        """Return factors for some slices of a part; see `Messages`.

        The first is over what a slice hands on: the likelihood of its evidence there, times (to
        smooth) that of later slices. The second is over what the slice before hands to it, its
        filtered distribution; first slices have none.
        """
        likelihood, rows = np.exp(self.judged(part.evidence.rows(chosen))), part.rows[chosen]
        if smooth:
            likelihood *= self.later[rows]
        sides: list[Potential] = [self.factor(self.now, part, likelihood)]
        if not part.is_first:
            sides.append(self.factor(self.past, part, self._before[rows]))
        return sides

    def marginal(self, target: Variable, *, smooth: bool) -> Floats:
        """Return the posterior of a variable in each slice; see `Messages`."""
        if target not in self.now:
            return super().marginal(target, smooth=smooth)
        return self.joint([target], smooth=smooth)

    def joint(self, targets: Sequence[Any], *, smooth: bool) -> Floats:
        """Return the posterior of some of what is handed on in each slice, (n_rows, *cards)."""
        table = self.smoothed if smooth else self.filtered
        return summed_to(table.reshape(-1, *self.states.cards), self.now, targets)

    # ------------------------------------------------------------------------------ best states

    def best(self) -> tuple[NDArray[np.int64], Floats]:
        """Return the most probable joint states of all slices, with everything else maximised.

        Returns
        -------
        path : ndarray, shape (n_rows,)
        logs : ndarray, shape (n_sequences,)
        """
        path, logs = np.zeros(self.n_rows, dtype=np.int64), np.zeros(len(self._first))
        time_kernels.best_path(self.logs(MAX), path, logs)
        return path, logs


class NumberChain(Messages):
    """Sequences whose slices hand on numbers, all of them linear Gaussian (Kalman 1960).

    Parameters
    ----------
    sequences : Sequences
    first : ndarray, shape (1, d, d + 1), optional
        Message from before the first slice.
    """

    def __init__(self, sequences: Sequences, first: Floats | None = None) -> None:
        d = len(sequences.handed)
        super().__init__(sequences, first, (d, d + 1))
        # The column of each variable in the matrices of slices.
        self._columns = {v: k for k, v in enumerate(dict.fromkeys([*self.past, *self.now]))}

    @cached_property
    def _factors(self) -> tuple[Slices, Floats]:
        """Matrices A and targets b of all slices, and the log constant of each.

        A slice is ``exp(log constant - |A x - b|^2 / 2)`` of the w numbers that two slices have;
        columns of those that are observed, and rows that are not needed, are zeros.
        """
        n, w = self.n_rows, len(self._columns)
        targets, logs = np.zeros((n, w)), np.empty(n)
        pieces: list[tuple[NDArray[np.intp], Floats]] = []
        for part in self.sequences.parts:
            for chosen, shown in self.groups(part):
                shown = shown.split()[0]  # without columns that are missing in all rows
                free = [v for v in self._columns if v in part.network and v not in shown]
                factor, rows = slice_factor(part.network, shown, free), part.rows[chosen]
                if factor.scope:
                    raise UnsupportedModelError(
                        f"Slices hand on numbers that depend on {factor.scope[0].name!r}, which is "
                        "not observed everywhere: such a switching state has no exact answer of "
                        "bounded size. Observe it, or discretise the numbers."
                    )
                matrix = np.zeros((1, w, w))
                if isinstance(factor, GaussianFactor):
                    factor = factor.compressed()
                    k = factor.targets.shape[-1]
                    place = [self._columns[v] for v in factor.variables]
                    matrix = np.zeros((len(factor.loadings), w, w))
                    matrix[:, :k, place] = factor.loadings
                    # Rows that share a matrix keep it once; see `stacked`.
                    matrix = matrix[:1] if (matrix == matrix[:1]).all() else matrix
                    targets[rows, :k], logs[rows] = factor.targets, factor.log_constant
                else:  # all is observed
                    logs[rows] = factor.log_values
                pieces.append((rows, matrix))
        return Slices(*stacked(pieces, n, (w, w)), targets, self.sequences.starts), logs

    def _swept(self, *, is_forward: bool) -> tuple[Floats, Floats]:
        """Return the messages of all slices in one direction, and logs of their constants.

        They are forward messages to the next slices, or backward ones from the slices behind.
        """
        slices, logs = self._factors
        now, past = ([self._columns[v] for v in side] for side in (self.now, self.past))
        # Columns of the message that comes in, and of the one that goes out.
        into, goes = (past, now) if is_forward else (now, past)
        # Variables that are integrated out come first, those of the outgoing message last.
        order = [c for c in range(len(self._columns)) if c not in goes] + goes
        out, logs = np.zeros((self.n_rows, len(now), len(now) + 1)), logs.copy()
        # Backward, the message to the last slice; forward it is replaced.
        out[-1:] = 0.0 if self.last is None else self.last
        columns = np.array(into), np.array(order)
        time_kernels.sweep(slices, *columns, is_forward, self._first, out, logs)
        return out, logs

    @cached_property
    def _ahead(self) -> tuple[Floats, Floats]:
        """Messages to the next slices, (n_rows, d, d + 1), and what each adds to the likelihood."""
        out, logs = self._swept(is_forward=True)
        # A message is no distribution: a slice adds its constants and what the integral grows by.
        starts, before = self.sequences.starts, np.roll(mass := log_mass(out), 1)
        before[starts[:-1]] = log_mass(self._first)
        return out, logs + mass - before

    @cached_property
    def later(self) -> Floats:
        """Messages from the slices behind each, shape (n_rows, d, d + 1)."""
        return self._swept(is_forward=False)[0]

    def messages(self, part: Part, chosen: NDArray[np.intp], *, smooth: bool) -> list[Potential]:
        """Return what the slices around say of numbers that are not observed; see `Messages`."""
        rows = part.rows[chosen]
        sides = [(self.now, self.later[rows])] if smooth else []
        if not part.is_first:
            sides.append((self.past, self._before[rows]))
        out: list[Potential] = []
        for side, values in sides:
            # Columns of what is observed, or is in no slice, are zeros; the last column is b.
            free = [k for k in range(len(side)) if values[..., k].any()]
            names = [side[k] for k in free]
            logs = np.zeros(len(rows))
            if free:
                out.append(GaussianFactor((), names, logs, values[..., free], values[..., -1]))
        return out


def log_mass(messages: Floats) -> Floats:
    """Return logs of the integrals of triangular messages: each row has a pivot, or is empty.

    A row with the pivot r contributes ``sqrt(2 pi) / |r|``; the last column, b, does not matter.
    """
    size = np.abs(messages[..., :-1])
    first = np.argmax(size > 0, axis=-1)
    pivot = np.take_along_axis(size, first[..., None], axis=-1)[..., 0]
    terms = np.where(pivot > 0, 0.5 * LOG_2PI - log_of(np.where(pivot > 0, pivot, 1.0)), 0.0)
    return np.asarray(terms.sum(axis=-1))
