"""Partitions of a column, and their costs by Boulle's criteria."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

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

    @property
    def data_cost(self) -> float:
        """Cost of the classes given the partition, sum_i ln(N_i! / prod_j N_ij!), in nats."""
        inside = gammaln(self.counts.sum(axis=1) + 1) - gammaln(self.counts + 1).sum(axis=1)
        return float(np.sum(inside))

    @property
    def model_cost(self) -> float:
        """Cost of the intervals or groups and of the class distributions in them, in nats."""
        return self.cost - self.data_cost
