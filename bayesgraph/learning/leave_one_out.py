"""Leave-one-out prediction without refitting: each row is predicted from all other rows.

Counts and moments without a row follow from those of all rows by subtraction. One additional pass
over the rows therefore predicts each row as a model fitted to all other rows would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import LOG_2PI, Floats, joint_states, log_sum_exp
from bayesgraph.core.errors import DataError
from bayesgraph.core.parallel import check_memory
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.learning.information import regression
from bayesgraph.learning.parameters import backed_off_mean, towards
from bayesgraph.statistics import (
    CountSource,
    Families,
    Family,
    FamilyStatistics,
    RowSource,
    Smoothing,
    safe_divide,
)
from bayesgraph.tables import Table

LOSSES = ("log", "rmse", "0-1")
# A term log p(child | parents, class), and a change: a term that replaces another one, or none.
Key: TypeAlias = tuple[tuple[Variable, ...], Variable]
Change: TypeAlias = tuple[Key | None, Key]
# Maximum number of rows per part, whose class probabilities are held at once.
_PART_ROWS = 1 << 14
_TINY = float(np.finfo(np.float64).tiny)
# Minimum of a log density: finite, as structure search subtracts terms from sums again.
_LOWEST = -1e12


@dataclass(frozen=True, eq=False)
class Part:
    """Successive rows, each with its class and weight.

    Attributes
    ----------
    number : int
        Number of the part among those of all rows.
    table : Table
    labels : ndarray, shape (n_rows,)
    weights, removed : ndarray, shape (n_rows,)
        Weight of each row, and the part of it that is left out.
    """

    number: int
    table: Table
    labels: NDArray[Any]
    weights: Floats
    removed: Floats

    @classmethod
    def of(cls, number: int, table: Table, weights: Floats, target: Discrete) -> Part:
        """Return the part of a table; `weights` is empty if every row weighs 1."""
        weights = weights if len(weights) else np.ones(table.n_rows)
        return cls(number, table, table.column(target), weights, np.minimum(weights, 1.0))


class LeaveOneOut:
    """Log conditional densities ("terms") of a classifier, each estimated without the row itself.

    The terms of a row are log P(class) and log p(child | parents, class) for each class; their sum
    is the log joint. Of a row of weight w, the weight min(w, 1) is left out, as a row of a larger
    weight stands for several rows. If a row misses the child, the term is 0; if it misses a parent,
    the term is log p(child | class). Tables are smoothed like those of the network, without the
    row. The values towards which the variances of Gaussians shrink (the pooled covariance, and the
    share of the column's total variance) still include the row.

    Attributes
    ----------
    source : RowSource
    target : Discrete
        The class variable.
    smoothing : Smoothing

    Raises
    ------
    DataError
        If the source has statistics only.
    """

    def __init__(self, source: CountSource, target: Discrete, smoothing: Smoothing) -> None:
        if not hasattr(source, "blocks"):
            raise DataError(
                "This learner looks at the rows themselves, and the source has statistics only; "
                "fit it on the whole table."
            )
        self.source, self.target, self.smoothing = cast(RowSource, source), target, smoothing
        self._cells = 0.0  # number of moments of all terms
        self._terms: dict[Key, Any] = {}
        self._held = list(self._read()) if self.source.in_memory else None

    def parts(self) -> Iterable[Part]:
        """Return all rows in parts, which are read anew unless the source holds the rows."""
        return self._read() if self._held is None else self._held

    def _read(self) -> Iterator[Part]:
        for number, (table, weights) in enumerate(self.source.blocks(_PART_ROWS)):
            yield Part.of(number, table, weights, self.target)

    @cached_property
    def _class_counts(self) -> Floats:
        family = Family.of(self.target)
        return self.source.families([family])[family].counts

    @cached_property
    def total(self) -> float:
        """Total weight of all rows, at least 1."""
        return max(float(self._class_counts.sum()), 1.0)

    def learn(self, asked: Iterable[tuple[Sequence[Variable], Variable]]) -> None:
        """Collect the statistics of given terms log p(child | parents, class), in one pass.

        `asked` has a pair (parents among the features, child) for each term.
        """
        keys = [(tuple(parents), child) for parents, child in asked]
        # Rows that miss a parent take the term given the class alone.
        keys += [((), child) for parents, child in keys if parents]
        new = [key for key in dict.fromkeys(keys) if key not in self._terms]
        families = {key: Family.of(self.target, *key[0], key[1]) for key in new}
        self._cells += Families(tuple(families.values())).n_cells
        check_memory(
            "The tables that are compared take",
            self._cells,
            "Allow fewer parents, or use columns of fewer states.",
            copies=2,  # counts and what is derived of them
        )
        # In one pass too; each term asks for those of its own columns.
        columns = dict.fromkeys(v for parents, child in new for v in (*parents, child))
        self.source.variances([v for v in columns if isinstance(v, Continuous)])
        sums = self.source.families(families.values(), keep=False)
        for (parents, child), family in families.items():
            kind: Any = _Linear if isinstance(child, Continuous) else _Discrete
            self._terms[parents, child] = kind(self, parents, child, sums[family])

    def prior(self, part: Part) -> Floats:
        """Return log P(class) estimated from all other rows, shape (n, K)."""
        counts, labels, removed = self._class_counts, part.labels, part.removed
        # The counts of the classes without each row.
        remaining = np.repeat(counts[None], len(labels), axis=0).astype(np.float64)
        remaining[np.arange(len(labels)), labels] -= removed
        total = np.maximum(counts.sum() - removed, 0.0)[:, None]
        return np.asarray(np.log(np.maximum(safe_divide(remaining, total), _TINY)))

    def term(self, parents: Sequence[Variable], child: Variable, part: Part) -> Floats:
        """Return log p(child | parents, class) estimated from all other rows, shape (n, K)."""
        key = (tuple(parents), child)
        if key not in self._terms:
            self.learn([key])
        logs: Floats = self._terms[key].log(part)
        if parents and not part.table.complete:
            lacks_parent = np.zeros(len(logs), dtype=np.bool_)
            for parent in parents:
                lacks_parent |= part.table.is_missing(parent)
            if lacks_parent.any():
                logs = np.where(lacks_parent[:, None], self.term((), child, part), logs)
        return logs


class Joints:
    """Log joint probabilities of class and features in each row, which change term by term.

    They are held if the source holds the rows, else computed anew for each part in each pass.

    Parameters
    ----------
    rows : LeaveOneOut
    terms : iterable of (parents, child)
        The terms of the first log joints, beside the prior of the class.
    loss : str
        See `losses`.
    """

    def __init__(self, rows: LeaveOneOut, terms: Iterable[Key], loss: str) -> None:
        self._rows, self._loss = rows, loss
        self._changes: list[Change] = [(None, key) for key in terms]
        rows.learn(key for _, key in self._changes)
        # By number of a part: how many changes its log joint has, and the log joint.
        self._held: dict[int, tuple[int, Floats]] = {}

    def change(self, change: Change) -> None:
        """Replace a term by another one, or add one."""
        self._changes.append(change)

    def loss(self) -> float:
        """Return the sum of the losses of all rows."""
        return sum(losses(joint, part, self._loss) for part, joint in self._parts())

    def losses_with(self, changes: Sequence[Change]) -> Floats:
        """Return the sum of the losses of all rows with each of some changes, in one pass."""
        self._rows.learn(new for _, new in changes)
        sums = np.zeros(len(changes))
        for part, joint in self._parts():
            for at, change in enumerate(changes):
                sums[at] += losses(self._changed(joint, change, part), part, self._loss)
        return sums

    def _changed(self, joint: Floats, change: Change, part: Part) -> Floats:
        """Return the log joint of a part after a change of one term."""
        old, new = change
        without = joint if old is None else joint - self._rows.term(*old, part)
        return without + self._rows.term(*new, part)

    def _parts(self) -> Iterator[tuple[Part, Floats]]:
        """Yield all rows in parts, each with its log joint after all changes, shape (n, K)."""
        for part in self._rows.parts():
            done, joint = self._held.get(part.number) or (0, self._rows.prior(part))
            for change in self._changes[done:]:
                joint = self._changed(joint, change, part)
            if self._rows.source.in_memory:
                self._held[part.number] = len(self._changes), joint
            yield part, joint


def losses(joint: Floats, part: Part, kind: str) -> float:
    """Return the sum of the weighted leave-one-out losses of some rows.

    Parameters
    ----------
    joint : ndarray, shape (n, K)
        Log joint probabilities of class and features in these rows.
    part : Part
        The rows, with labels and weights.
    kind : {"log", "rmse", "0-1"}
        -log P(y | x), (1 - P(y | x))², or 1 if y is not the first of the most probable classes.
    """
    if kind == "0-1":
        each = (joint.argmax(axis=1) != part.labels).astype(np.float64)
    else:
        log_p = joint[np.arange(len(joint)), part.labels] - log_sum_exp(joint, 1)
        # expm1 is exact where P is near 1.
        each = -log_p if kind == "log" else np.expm1(log_p) ** 2
    return float(np.sum(part.weights * each))


@dataclass
class _Term:
    """Base class of leave-one-out estimates of log p(child | parents, class) for one child."""

    rows: LeaveOneOut
    parents: tuple[Variable, ...]
    child: Any
    statistics: FamilyStatistics

    def _configuration(self, part: Part) -> NDArray[np.intp]:
        """Return the index of each row's configuration of the discrete parents.

        A missing parent counts as state 0.
        """
        discrete = [p for p in self.parents if isinstance(p, Discrete)]
        codes = [np.maximum(part.table.column(p), 0) for p in discrete]
        return joint_states(codes, [p.cardinality for p in discrete], len(part.labels))


@dataclass
class _Discrete(_Term):
    """Leave-one-out log p(child | parents, class) of a discrete child: counts minus the row."""

    def __post_init__(self) -> None:
        counts = self.statistics.counts
        states = counts.shape[-1]
        # Axes: class, configuration of the parents, state of the child.
        self._cells = counts.reshape(len(counts), -1, states)
        self._total = self._cells.sum(axis=-1)
        # The pseudo-counts of the states, and their sum.
        self._alpha = self.rows.smoothing.state_counts(self.child)
        self._all = float(self._alpha.sum())
        if self.rows.smoothing.is_hierarchy:
            # A cell of the first table, given the class alone, merges all configurations of the
            # parents; in the last table each has a cell of its own. With "marginal" there is the
            # last one only.
            sizes = [p.cardinality for p in self.parents if isinstance(p, Discrete)]
            steps = sizes[::-1] if self.rows.smoothing.scheme == "backoff" else []
            # How many successive configurations a cell of each table merges, its counts, and their
            # sums over the states.
            self._tables = []
            for merged in np.cumprod([1, *steps])[::-1].tolist():
                table = self._cells.reshape(len(counts), -1, merged, states).sum(axis=2)
                self._tables.append((merged, table, table.sum(axis=-1)))
            return
        share = _shares(self._cells + self._alpha, self._total[..., None] + self._all, 1.0 / states)
        # Shape (n_configurations * n_states, K): for a configuration and a state, the values of all
        # classes are contiguous.
        self._logs = np.ascontiguousarray(_logs(share).reshape(len(counts), -1).T)

    def log(self, part: Part) -> Floats:
        """Return log p(child | parents, class) of some rows, each from all other rows, (n, K)."""
        column, smoothing = part.table.column(self.child), self.rows.smoothing
        at, state = self._configuration(part), np.maximum(column, 0)
        labels, removed, n_states = part.labels, part.removed, len(self._alpha)
        at_labels = np.arange(len(labels)), labels
        if smoothing.is_hierarchy:
            # Leaving a row out also changes the marginal share of its state, of shape (n, 1),
            # towards which the first table shrinks, and so the term of every class.
            of_states = self._cells.sum(axis=(0, 1))
            cells = of_states[state] - removed + self._alpha[state]
            total = np.maximum(of_states.sum() - removed, 0.0) + self._all
            share = _shares(cells, total, 1.0 / n_states)[:, None]
            # Each table shrinks towards the shares of the one before, shape (n, K). As the last
            # parent varies fastest, the configuration `at` is in the cell `at // merged`.
            strength = smoothing.prior_strength(n_states)
            for merged, table, totals in self._tables:
                cells = table[:, at // merged, state].T
                total = totals[:, at // merged].T
                cells[at_labels] -= removed
                total[at_labels] -= removed
                share = _shares(cells + strength * share, np.maximum(total, 0.0) + strength, share)
            logs = _logs(share)
        else:
            logs = np.take(self._logs, at * n_states + state, axis=0)
            # Without the row, only the estimate in its own class differs.
            cells = self._cells[labels, at, state] - removed + self._alpha[state]
            total = np.maximum(self._total[labels, at] - removed, 0.0) + self._all
            logs[at_labels] = _logs(_shares(cells, total, 1.0 / n_states))
        logs[column < 0] = 0.0
        return np.asarray(logs)


def _shares(cells: Floats, total: Floats, otherwise: Floats | float) -> Floats:
    """Return cells / total, with negative cells set to 0, and `otherwise` where total is 0."""
    quotients = safe_divide(np.maximum(cells, 0.0), np.broadcast_to(total, cells.shape))
    return np.where(total > 0, quotients, otherwise)


def _logs(shares: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(shares, _TINY)))


@dataclass
class _Linear(_Term):
    """Leave-one-out log density of a continuous child, by rank-one updates (Welford 1962)."""

    def __post_init__(self) -> None:
        sums, smoothing = self.statistics, self.rows.smoothing
        m = sums.mean.shape[-1]
        n_classes = self.rows.target.cardinality
        discrete = [p for p in self.parents if isinstance(p, Discrete)]
        self._numbers = (*(p for p in self.parents if isinstance(p, Continuous)), self.child)
        self._ridge = smoothing.ridge(self.rows.source.variances(self._numbers))
        # The first axes of the statistics are those of the class and of the discrete parents; the
        # latter become one axis of configurations.
        is_class = [True, *(False for _ in discrete)]
        pooled = towards(sums, smoothing, is_class)
        self._pooled = pooled.reshape(-1, m, m)[0]  # one matrix, pooled within the classes
        self._count = sums.counts.reshape(n_classes, -1)
        self._comoment = sums.comoment.reshape(n_classes, -1, m, m)
        self._mean = backed_off_mean(sums).reshape(n_classes, -1, m)
        # For configurations without other rows: means by class, and of all rows.
        by_class = sums
        for _ in discrete:
            by_class = by_class.merged(1)
        self._class_count, self._class_mean = by_class.counts, by_class.mean
        self._overall = by_class.merged(0).mean
        self._slopes, self._variance = self._regression(self._count, self._comoment)

    def _regression(self, count: Floats, comoment: Floats) -> tuple[Floats, Floats]:
        """Return the regression of the last column on the others, with smoothed covariances."""
        covariance = self.rows.smoothing.covariance(
            count[..., None, None], comoment, self._pooled
        ) + np.diag(self._ridge)
        return regression(covariance, self._ridge[-1])

    def log(self, part: Part) -> Floats:
        """Return log p(child | parents, class) of some rows, each from all other rows, (n, K)."""
        values = np.stack([part.table.column(v) for v in self._numbers], axis=1)
        # Rows with a missing value are replaced in the end, here or in `LeaveOneOut.term`.
        is_missing = np.isnan(values)
        values = np.where(is_missing, 0.0, values)
        at = self._configuration(part)
        deviation = values - self._mean[:, at]
        logs = _log_density(deviation, self._slopes[:, at], self._variance[:, at]).T
        logs = np.ascontiguousarray(logs)
        # The log density of each row in its own class, estimated without the row, (n,). The
        # densities in other classes need no update. `values` has the continuous parents and, last,
        # the child; `at` is the index of the configuration of the discrete parents.
        labels, removed = part.labels, part.removed
        mean = _without(values, self._mean[labels, at], self._count[labels, at], removed)
        of_class = _without(values, self._class_mean[labels], self._class_count[labels], removed)
        class_has_rows = self._class_count[labels] - removed > 0
        count = np.maximum(self._count[labels, at] - removed, 0.0)
        # A configuration without other rows has the mean of its class, else that of all rows.
        coarser = np.where(class_has_rows[:, None], of_class, self._overall)
        mean = np.where((count > 0)[:, None], mean, coarser)
        # S without x is S - w (n - w) / n (x - m')(x - m')^T, where m' is the mean without x.
        step = values - mean
        share = safe_divide(removed * count, count + removed)
        change = share[:, None, None] * step[:, :, None] * step[:, None, :]
        comoment = np.where((count > 0)[:, None, None], self._comoment[labels, at] - change, 0.0)
        # Rounding may make a sum of squares negative.
        diagonal = np.arange(comoment.shape[-1])
        comoment[:, diagonal, diagonal] = np.maximum(comoment[:, diagonal, diagonal], 0.0)
        slopes, variance = self._regression(count, comoment)
        logs[np.arange(len(logs)), part.labels] = _log_density(step, slopes, variance)
        logs[is_missing[:, -1]] = 0.0  # without the child, the last column
        return logs


def _without(values: Floats, mean: Floats, count: Floats, removed: Floats) -> Floats:
    """Return the mean without each row, whose weight `removed` is subtracted from `count`."""
    # (n m - w x) / (n - w) = m + w / (n - w) (m - x).
    share = safe_divide(removed, count - removed)[:, None]
    return np.asarray(mean + share * (mean - values))


def _log_density(deviation: Floats, slopes: Floats, variance: Floats) -> Floats:
    """Return the log density of the last column given the other columns.

    All columns in `deviation` are deviations from means; `slopes` and `variance` are those of the
    regression of the last column on the others.
    """
    variance = np.maximum(variance, _TINY)
    error = deviation[..., -1] - np.sum(slopes * deviation[..., :-1], axis=-1)
    with np.errstate(over="ignore"):  # a variance of 0, without smoothing
        logs = -0.5 * (LOG_2PI + np.log(variance) + error**2 / variance)
    return np.asarray(np.maximum(logs, _LOWEST))
