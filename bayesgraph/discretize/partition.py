"""Partitions of a column, and their costs by Boulle's criteria."""

from __future__ import annotations

from dataclasses import dataclass

from bayesgraph.factors.algebra import Floats


@dataclass(frozen=True, eq=False)
class Partition:
    """Partition of a column into intervals or groups, with its description length (cost).

    Attributes
    ----------
    counts : ndarray, shape (number of intervals or groups, n_classes)
        Weight of each class in each interval or group.
    cost : float
        Description length: -ln(prior times likelihood) up to a constant, in nats.
    null_cost : float
        Cost of the partition with a single interval or group.
    """

    counts: Floats
    cost: float
    null_cost: float

    @property
    def level(self) -> float:
        """Relative reduction of the cost by the partition, 1 - cost / null_cost.

        It is 0 if the partition is uninformative.
        """
        return 1.0 - self.cost / self.null_cost if self.null_cost > 0 else 0.0
