"""Partitions of a column and their costs by Boulle's criteria."""

from __future__ import annotations

from dataclasses import dataclass

from bayesgraph.factors.algebra import Floats


@dataclass(frozen=True, eq=False)
class Partition:
    """Parts of a column, intervals or groups, and their costs.

    Attributes
    ----------
    counts : ndarray, shape (number of parts, n_classes)
        Weight of each class in each part.
    cost : float
        -ln of prior times likelihood, up to a constant (nats).
    null_cost : float
        The cost of a single part.
    """

    counts: Floats
    cost: float
    null_cost: float

    @property
    def level(self) -> float:
        """The share of the cost of a single part that the parts save: 0 says nothing."""
        return 1.0 - self.cost / self.null_cost if self.null_cost > 0 else 0.0
