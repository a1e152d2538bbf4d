"""Sequences whose slices hand on linear Gaussian numbers: Kalman's filter and smoother."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import LOG_2PI, Floats, log_of
from bayesgraph.core.errors import UnsupportedModelError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Variable
from bayesgraph.inference import Factor, GaussianFactor, Potential
from bayesgraph.time import time_kernels
from bayesgraph.time.chains import Messages, Part, Sequences
from bayesgraph.time.slices import row_parts, slice_factor


class NumberChain(Messages):
    """Sequences whose slices hand on numbers, all of them linear Gaussian (Kalman 1960).

    Parameters
    ----------
    sequences : Sequences
    first : ndarray, shape (n_sequences, d, d + 1), optional
        Messages from before, if the first slices are not the very first.
    """

    def __init__(self, sequences: Sequences, first: Floats | None = None) -> None:
        super().__init__(sequences)
        self._columns = {v: k for k, v in enumerate(dict.fromkeys([*self.past, *self.now]))}
        shape = len(sequences.starts) - 1, len(self.now), len(self.now) + 1
        self._first = np.zeros(shape) if first is None else first

    def _free(self, part: Part, shown: Evidence) -> list[Variable]:
        """Return what is handed on and is not observed."""
        return [v for v in self._columns if v in part.network and v not in shown]

    def groups(
        self, part: Part, target: Variable | None = None
    ) -> Iterator[tuple[NDArray[np.intp], Evidence]]:
        """Yield rows that observe the same numbers; see `Messages`."""
        evidence = part.evidence
        pattern = np.zeros(len(part.rows), dtype=np.intp)
        for v in self._columns:
            if v in evidence:
                seen = evidence.observed_rows(v)
                _, pattern = np.unique(2 * pattern + seen, return_inverse=True)
        for group in range(int(pattern.max(initial=0)) + 1):
            rows = np.flatnonzero(pattern == group)
            whole = evidence.rows(rows).split()[0]
            for chosen, shown in row_parts(part.network, whole, self._free(part, whole)):
                yield rows[chosen], shown

    @cached_property
    def _factors(self) -> tuple[Floats, NDArray[np.int64], Floats, Floats]:
        """Matrices of all slices, the index of each slice's, its targets and its log constant."""
        n, w = self.n_rows, len(self._columns)
        which, targets = np.empty(n, dtype=np.int64), np.zeros((n, w))
        logs, matrices = np.empty(n), list[Floats]()
        count = 0
        for part in self.sequences.parts:
            for chosen, shown in self.groups(part):
                factor = slice_factor(part.network, shown, self._free(part, shown))
                rows = part.rows[chosen]
                if factor.scope:
                    raise UnsupportedModelError(
                        f"Slices hand on numbers that depend on {factor.scope[0].name!r}, which is "
                        "not observed everywhere: such a switching state has no exact answer of "
                        "bounded size. Observe it, or discretise the numbers."
                    )
                if isinstance(factor, Factor):  # all is observed
                    logs[rows], which[rows] = factor.log_values, count
                    matrices.append(np.zeros((1, w, w)))
                    count += 1
                    continue
                small = factor.compressed()
                place = [self._columns[v] for v in small.variables]
                k = small.targets.shape[-1]
                whole = np.zeros((len(small.loadings), w, w))
                whole[:, :k, place] = small.loadings
                if (whole == whole[:1]).all():
                    whole = whole[:1]
                targets[rows, :k], logs[rows] = small.targets, small.log_constant
                which[rows] = count + (np.arange(len(rows)) if len(whole) > 1 else 0)
                matrices.append(whole)
                count += len(whole)
        return np.concatenate(matrices), which, targets, logs

    def _swept(self, *, is_forward: bool) -> tuple[Floats, Floats]:
        """Return the messages of all slices in one direction, and logs of their constants."""
        matrices, which, targets, logs = self._factors
        now, past = ([self._columns[v] for v in side] for side in (self.now, self.past))
        into, goes = (past, now) if is_forward else (now, past)
        order = [c for c in range(len(self._columns)) if c not in goes] + goes
        out = np.zeros((len(which), len(now), len(now) + 1))
        sums = logs.copy()
        time_kernels.sweep(
            matrices,
            which,
            targets,
            self.sequences.starts,
            np.array(into),
            np.array(order),
            is_forward,
            self._first,
            out,
            sums,
        )
        return out, sums

    @cached_property
    def _ahead(self) -> tuple[Floats, Floats]:
        return self._swept(is_forward=True)

    @cached_property
    def _behind(self) -> Floats:
        return self._swept(is_forward=False)[0]

    @cached_property
    def log_likelihood(self) -> Floats:
        """Log density of each sequence, shape (n_sequences,)."""
        out, logs = self._ahead
        last = out[np.maximum(self.sequences.starts[1:] - 1, 0)]
        return self.totals(logs) + log_mass(last) - log_mass(self._first)

    @property
    def filtered(self) -> Floats:
        """The messages of all slices to the next, shape (n_rows, d, d + 1)."""
        return self._ahead[0]

    def messages(self, part: Part, chosen: NDArray[np.intp], *, smooth: bool) -> list[Potential]:
        """Return what the slices around say of numbers that are not observed; see `Messages`."""
        rows, starts = part.rows[chosen], self.sequences.starts
        sides = [(self.now, self._behind[rows])] if smooth else []
        if not part.is_first:
            at = np.searchsorted(starts, rows, side="right") - 1
            begun = (rows == starts[at])[:, None, None]
            sides.append((self.past, np.where(begun, self._first[at], self.filtered[rows - 1])))
        out: list[Potential] = []
        for side, values in sides:
            # Columns of what is observed, or is in no slice, are zeros.
            free = [k for k in range(len(side)) if values[..., k].any()]
            names = [side[k] for k in free]
            logs = np.zeros(len(rows))
            if free:
                out.append(GaussianFactor((), names, logs, values[..., free], values[..., -1]))
        return out


def log_mass(messages: Floats) -> Floats:
    """Return logs of the integrals of triangular messages: each row has a pivot, or is empty."""
    size = np.abs(messages[..., :-1])
    first = np.argmax(size > 0, axis=-1)
    pivot = np.take_along_axis(size, first[..., None], axis=-1)[..., 0]
    terms = np.where(pivot > 0, 0.5 * LOG_2PI - log_of(np.where(pivot > 0, pivot, 1.0)), 0.0)
    return np.asarray(terms.sum(axis=-1))
