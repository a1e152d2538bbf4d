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
    """k-dependence Bayesian classifier: the parents of a feature are the class and k features.

    Features are ordered by their mutual information with the class. The parents of a feature are
    the class and the k earlier features with the highest mutual information given the class (Sahami
    1996).

    Parameters
    ----------
    k : int, default 2
        0 is naive Bayes. From 2 on the structure must be known before the tables can be counted,
        which takes a second pass over the data: there is no `partial_fit`, `fit_batches` or
        `forget`.
    {parameters}

    Attributes
    ----------
    {attributes}
    """

    command: ClassVar[str] = "kdb"

    k: int = field(default=2, kw_only=False)

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        return partial(kdb, k=self.k)
