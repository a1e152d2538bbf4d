"""The k-dependence Bayesian classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import ClassVar

from bayesgraph.classifiers.network_classifier import ColumnClassifier
from bayesgraph.classifiers.parameters import estimator
from bayesgraph.learning import Smoothing, Structure, kdb
from bayesgraph.statistics import CountSource


@estimator
class KDBClassifier(ColumnClassifier):
    """k-dependence Bayesian classifier: each feature has the class and k features as parents.

    Features enter by their mutual information with the class; their parents are those before them
    of the highest mutual information given the class (Sahami 1996).

    Parameters
    ----------
    k : int, default 2
        0 is naive Bayes. From 2 on what is counted depends on what was counted before, which takes
        a second pass over the data: there is no `partial_fit`, `fit_batches` or `forget`.
    {parameters}

    Attributes
    ----------
    {attributes}
    """

    command: ClassVar[str] = "kdb"

    k: int = field(default=2, kw_only=False)

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        return partial(kdb, k=self.k)
