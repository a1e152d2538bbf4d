"""Classifiers that average over structures: their model is a mixture of networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesgraph.classifiers.base import NetworkClassifier
from bayesgraph.classifiers.labels import checked_priors
from bayesgraph.classifiers.parameters import with_parameters
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning import Smoothing
from bayesgraph.learning.one_dependence import aode
from bayesgraph.learning.tree_posterior import averaged_tan
from bayesgraph.models.mixture import NetworkMixture
from bayesgraph.statistics import StatisticsSource, TableSource
from bayesgraph.variables import Discrete


@with_parameters
class AODEClassifier(NetworkClassifier):
    """Averaged one-dependence estimators: every feature takes its turn as a parent of all others.

    The posterior of a mixture of one network for each feature, in which this feature and the class
    are the parents of the others (Webb, Boughton, Wang 2005): no structure is chosen, so that
    nothing about it can be chosen wrongly. A continuous feature is a parent of the other continuous
    ones only. Missing values are marginalised in each network.

    Tables with a parent besides the class have few rows in each cell: here `smoothing` is "m" by
    default, m-estimates with m = 1, which weigh the same however many
    states there are.

    Parameters
    ----------
    min_rows : float, default 1.0
        Rows that a value needs to be a parent. Where a row has a value with fewer, the network of
        that feature is naive Bayes. (The paper takes 30, later work 1.)
    {parameters}
    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = AODEClassifier().fit(X, y)
    >>> clf.network_
    NetworkMixture of 4 networks over 5 variables, 16 different arcs and 143 parameters
    """

    network_: NetworkMixture  # type: ignore[assignment]  # it answers the same questions
    _model_name = "NetworkMixture"

    def __init__(
        self,
        *,
        min_rows: float = 1.0,
        alpha: Any = 1.0,
        smoothing: str = "m",
        strength: float | None = None,
        shrinkage: float = 20.0,
        var_smoothing: float = 1e-9,
        priors: Any = None,
        class_weight: Any = None,
        categorical: Any = None,
        discretizer: Any = None,
        unseen: str = "missing",
    ) -> None:
        self.min_rows = min_rows
        super().__init__(
            alpha=alpha,
            smoothing=smoothing,
            strength=strength,
            shrinkage=shrinkage,
            var_smoothing=var_smoothing,
            priors=priors,
            class_weight=class_weight,
            categorical=categorical,
            discretizer=discretizer,
            unseen=unseen,
        )

    def _network(
        self, source: TableSource | StatisticsSource, smoothing: Smoothing, target: Discrete
    ) -> NetworkMixture:
        if not self.min_rows >= 0:
            raise DataError(f"min_rows is a number of rows, 0 or more; got {self.min_rows!r}.")
        priors = checked_priors(self.priors, target)
        return aode(source, smoothing, min_rows=self.min_rows, priors=priors)


@with_parameters
class AveragedTANClassifier(NetworkClassifier):
    """Tree-augmented naive Bayes averaged over trees, as probable as the data make them.

    The posterior probability of every tree over the features is known in closed form, and with it
    that of every edge (the matrix-tree theorem; Meila and Jaakkola 2006). The model is a mixture of
    trees drawn exactly from that posterior. With few rows many trees are plausible; with many rows
    one tree has nearly all the probability, and the model is that of TANClassifier.

    Parameters
    ----------
    n_trees : int, default 50
        Trees to draw; those that are drawn more than once count as often.
    ess : float, optional
        Equivalent sample size of the Dirichlet prior behind the probabilities of the trees: the
        rows that it is worth. By default half a row for each cell of the table of two features and
        the class, on average.
    random_state : int or numpy Generator, default 0
        Of the draws; an int draws anew with the same seed whenever the model is updated.
    {parameters}
    edge_probabilities_ : ndarray, shape (n_features, n_features)
        Posterior probability of each edge of the tree, over all trees: exact, whatever was drawn.
        Drawn as the opacity of the arcs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = AveragedTANClassifier().fit(X, y)
    >>> clf.edge_probabilities_[0].round(2).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """

    network_: NetworkMixture  # type: ignore[assignment]  # it answers the same questions
    _model_name = "NetworkMixture"

    edge_probabilities_: Floats

    def __init__(
        self,
        *,
        n_trees: int = 50,
        ess: float | None = None,
        random_state: Any = 0,
        alpha: Any = 1.0,
        smoothing: str = "dirichlet",
        strength: float | None = None,
        shrinkage: float = 20.0,
        var_smoothing: float = 1e-9,
        priors: Any = None,
        class_weight: Any = None,
        categorical: Any = None,
        discretizer: Any = None,
        unseen: str = "missing",
    ) -> None:
        self.n_trees = n_trees
        self.ess = ess
        self.random_state = random_state
        super().__init__(
            alpha=alpha,
            smoothing=smoothing,
            strength=strength,
            shrinkage=shrinkage,
            var_smoothing=var_smoothing,
            priors=priors,
            class_weight=class_weight,
            categorical=categorical,
            discretizer=discretizer,
            unseen=unseen,
        )

    def _network(
        self, source: TableSource | StatisticsSource, smoothing: Smoothing, target: Discrete
    ) -> NetworkMixture:
        n: Any = self.n_trees
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise DataError(f"n_trees is a number of trees, 1 or more; got {n!r}.")
        if self.ess is not None and not (np.isfinite(self.ess) and self.ess > 0):
            raise DataError(f"ess is a positive number of rows; got {self.ess!r}.")
        mixture, self.edge_probabilities_ = averaged_tan(
            source,
            smoothing,
            n_trees=int(n),
            ess=self.ess,
            random=random_generator(self.random_state),
            priors=checked_priors(self.priors, target),
        )
        return mixture


def random_generator(random_state: Any) -> np.random.Generator:
    """Return the generator of a seed, of a NumPy generator, or of one in the old form."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    return np.random.default_rng(random_state)
