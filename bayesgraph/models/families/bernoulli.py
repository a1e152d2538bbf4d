"""Bernoulli distributions of the presence and absence of many items."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, ItemTerms, dense_row, log_of
from bayesgraph.core.errors import CPDError, UnsupportedModelError
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import CountVector, Discrete, Variable
from bayesgraph.models.cpds.base import CPD, Columns
from bayesgraph.models.families.count_vectors import ItemsCPD, Weights, known_counts, present
from bayesgraph.models.families.leaf_family import LeafFamily
from bayesgraph.statistics import CountSource, Totals, TotalsSummary, safe_divide

if TYPE_CHECKING:
    from bayesgraph.statistics import Smoothing


class PresenceCPD(ItemsCPD):
    """Bernoulli distributions of the presence of a document's items given discrete parents.

    Items are independent given the parents. Absent items contribute to the likelihood, as in
    Bernoulli naive Bayes.
    An item is present if its count exceeds the threshold; missing counts are left out.

    Parameters
    ----------
    variable : CountVector
        The vector of n items.
    probabilities : array_like, shape (*parents' cardinalities, n)
        The probability that each item is present.
    parents : iterable of Discrete
    threshold : float

    Raises
    ------
    CPDError
        For a wrong shape, or numbers outside [0, 1].
    """

    arrays = ("probabilities",)
    other_arrays = ("threshold",)
    _presence = True

    def __init__(
        self,
        variable: CountVector,
        probabilities: ArrayLike,
        parents: Iterable[Discrete] = (),
        threshold: ArrayLike = 0.0,
    ) -> None:
        self._set_vector(variable, parents)
        self.probabilities = self._parameter("probabilities", probabilities, self._shape)
        if not ((self.probabilities >= 0) & (self.probabilities <= 1)).all():
            raise CPDError(f"{self.title}: probabilities lie between 0 and 1.")
        self.threshold = float(np.asarray(threshold))

    @property
    def n_parameters(self) -> int:
        """The number of probabilities."""
        return int(self.probabilities.size)

    @property
    def is_positive(self) -> bool:
        """Whether no probability is 0 or 1; see `CPD.is_positive`."""
        return bool(((self.probabilities > 0) & (self.probabilities < 1)).all())

    @cached_property
    def _logs(self) -> tuple[Floats, Floats]:
        """Log probabilities of presence and of absence, shape (parent configurations, n) each."""
        p = self.probabilities.reshape(self.cells, -1)
        with np.errstate(divide="ignore"):
            return np.log(p), np.log1p(-p)

    @cached_property
    def _terms(self) -> tuple[Weights, Floats, NDArray[np.bool_]]:
        """Log odds of presence, log probabilities of absence, and a mask of certain items.

        Certain items are present with probability one. Their log odds and log probability of
        absence are set to 0 here; `_add` uses the mask to make their absence impossible.
        """
        yes, no = self._logs
        certain = np.isneginf(no)
        absent = np.where(certain, 0.0, no)
        return Weights(yes - absent), absent, certain

    def _add(self, evidence: Evidence, out: Floats) -> None:
        known, missing = known_counts(evidence, self.variable)
        odds, finite, certain = self._terms
        odds.add(known, out, self.threshold)
        out += finite.sum(axis=1, keepdims=True)
        if missing is not None:
            rows, absent = missing
            out[:, rows] -= (absent @ finite.T).T
        if certain.any():
            # A document in which a certain item is known to be absent is impossible.
            there = present(known, self.threshold)
            needed = np.repeat(certain.sum(axis=1)[:, None], out.shape[1], axis=1)
            seen = (there @ certain.T.astype(np.float64)).T
            if missing is not None:
                seen[:, rows] += (absent @ certain.T.astype(np.float64)).T
            out[seen < needed] = -np.inf

    def _item_shares(self) -> Floats:
        return self.probabilities

    def item_terms(self, evidence: Evidence) -> ItemTerms:
        """Return the log probability of the observed presence or absence of each item in a row.

        Items whose counts are missing are left out.
        """
        row = dense_row(evidence.columns[self.variable])
        at = np.flatnonzero(~np.isnan(row))
        there = row[at] > self.threshold
        p = self.probabilities.reshape(self.cells, -1)[:, at].T
        logs = log_of(np.where(there[:, None], p, 1.0 - p))
        return ItemTerms([self.variable.items[i] for i in at.tolist()], there.tolist(), logs)

    def item_logs(self) -> Floats:
        """Return the log probability of each item's presence, shape (parent configurations, n)."""
        return log_of(self.probabilities.reshape(self.cells, -1))

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n documents as a sparse matrix of counts.

        Present items have the smallest positive integer above the threshold, absent items 0.

        Raises
        ------
        UnsupportedModelError
            For a negative threshold, because every count, 0 included, then means presence.
        """
        if self.threshold < 0:
            raise UnsupportedModelError(
                f"{self.title} takes a count of 0 for presence (its threshold is "
                f"{self.threshold:g}), so "
                "that there is no count for absence to draw."
            )
        count = max(1.0, math.floor(self.threshold) + 1.0)
        cell = self._cell(parents, n)
        shares = self.probabilities.reshape(self.cells, -1)
        blocks = [
            scipy.sparse.csr_array(random.random((len(rows), shares.shape[1])) < shares[cell[rows]])
            for rows in np.array_split(np.arange(n), max(1, n * shares.shape[1] // 10**7))
        ]
        documents: Any = scipy.sparse.vstack(blocks, format="csr").astype(np.float64) * count
        return documents  # type: ignore[no-any-return]


def _estimate(
    children: Sequence[Variable], target: Discrete, source: CountSource, smoothing: Smoothing
) -> list[CPD]:
    """Return one Bernoulli CPD given the class for each vector of counts.

    The probability of presence is (present + alpha) / (rows + 2 alpha), where `present` is the
    number of the class's rows in which the item is present, and alpha is the item's pseudo-count.
    """
    found: list[CPD] = []
    for child in children:
        assert isinstance(child, CountVector)  # the family's type of variable
        threshold = float(smoothing.threshold)
        summary: TotalsSummary = source.summary(Totals(child, target, threshold))
        alpha = smoothing.pseudo_counts(child, len(child.items))
        there = smoothing.weighted(summary.sums, alpha)
        absent = smoothing.weighted(summary.seen - summary.sums, alpha)
        total = there + absent
        share = np.where(total > 0, safe_divide(there, total), 0.5)
        found.append(PresenceCPD(child, np.clip(share, 0.0, 1.0), [target], threshold))
    return found


BERNOULLI = LeafFamily(
    "bernoulli",
    'presence and absence of many items; for a boolean column the same as "categorical"',
    variable=CountVector,
    statistics=Totals,
    estimate=_estimate,
    stored={"presence": PresenceCPD},
    positive=True,
    vector="presence",
    takes_states=True,
    own_smoothing=("threshold",),
)
