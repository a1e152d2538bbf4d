"""Averaged one-dependence estimators."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from bayesgraph.classifiers.labels import checked_priors
from bayesgraph.classifiers.network_classifier import ColumnClassifier, Source
from bayesgraph.classifiers.parameters import estimator
from bayesgraph.errors import DataError
from bayesgraph.learning import Smoothing
from bayesgraph.learning.one_dependence import aode
from bayesgraph.learning.smoothing import SmoothingLike
from bayesgraph.models.mixture import NetworkMixture
from bayesgraph.variables import Discrete


@estimator
class AODEClassifier(ColumnClassifier):
    """Averaged one-dependence estimators: a mixture of networks, one for each feature.

    In the network of a feature, this feature and the class are the parents of all other features
    (Webb, Boughton, Wang 2005). No structure is learned. A continuous feature is a parent of the
    other continuous features only. Missing values are marginalised in each network.

    Tables given the class and another feature have few rows in each cell. Therefore `smoothing` is
    "m" by default: m-estimates with m = 1, an equivalent sample size that does not depend on the
    number of states.

    Parameters
    ----------
    min_rows : float, default 1.0
        Minimum number of rows of a value of the parent feature. Given a value with fewer rows, the
        other features depend on the class alone. (The paper takes 30, later work 1.)
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = AODEClassifier().fit(X, y)
    >>> clf.network_
    NetworkMixture of 4 networks over 5 variables, 16 different arcs and 143 parameters
    """

    command: ClassVar[str] = "aode"
    _model_name = "NetworkMixture"

    network_: NetworkMixture = field(init=False)  # type: ignore[assignment]

    smoothing: SmoothingLike = "m"
    min_rows: float = 1.0

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> NetworkMixture:
        if not self.min_rows >= 0:
            raise DataError(f"min_rows is a number of rows, 0 or more; got {self.min_rows!r}.")
        priors = checked_priors(self.priors, target)
        return aode(source, smoothing, min_rows=self.min_rows, priors=priors)
