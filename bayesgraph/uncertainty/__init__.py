"""How sure a posterior is, given that the parameters of its model are estimates."""

from bayesgraph.uncertainty.intervals import credible_intervals
from bayesgraph.uncertainty.results import CredibleIntervals, CredibleMarginals, Interval, Source

__all__ = [
    "CredibleIntervals",
    "CredibleMarginals",
    "Interval",
    "Source",
    "credible_intervals",
]
