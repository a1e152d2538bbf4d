"""Tree-augmented naive Bayes: the best tree, or an average over trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bayesgraph.checks import random_generator
from bayesgraph.classifiers.labels import checked_priors
from bayesgraph.classifiers.network_classifier import ColumnClassifier, Source
from bayesgraph.classifiers.parameters import estimator
from bayesgraph.errors import DataError
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning import Smoothing, Structure, tan
from bayesgraph.learning.tree_posterior import averaged_tan
from bayesgraph.models.mixture import NetworkMixture
from bayesgraph.statistics import CountSource
from bayesgraph.variables import Discrete, Name


@estimator
class TANClassifier(ColumnClassifier):
    """Tree-augmented naive Bayes: each feature has the class and one other feature as parents.

    The tree is a maximum spanning tree over conditional mutual information (Friedman, Geiger,
    Goldszmidt 1997), for discrete, continuous and mixed features alike.

    Parameters
    ----------
    root : name, optional
        Root of the tree; by default the first discrete feature, or the first feature if none is
        discrete.
    candidates : int, optional
        For very many columns: number of partners of each feature, the best ones in a sample of
        65,536 rows, that are counted in all rows. The tree is then the best one among these pairs
        and those of the sample's tree, and there is no `partial_fit`, `fit_batches` or `forget`.
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    If the statistics of all pairs of features take more than a share of the memory, they are
    counted in tiles, each in a pass of its own, of which only scores are kept: the model is the
    same (up to rounding, for continuous features), but it cannot add or forget rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> sorted(TANClassifier().fit(X, y).network_.arc_scores)
    [('x0', 'x1'), ('x0', 'x2'), ('x2', 'x3')]
    """

    command: ClassVar[str] = "tan"

    root: Name | None = None
    candidates: int | None = None

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        return partial(tan, root=self.root, candidates=self.candidates)


@estimator
class AveragedTANClassifier(ColumnClassifier):
    """Tree-augmented naive Bayes averaged over trees that are drawn from their posterior.

    The posterior probabilities of every tree over the features and of every edge are known in
    closed form (matrix-tree theorem; Meila and Jaakkola 2006). The model is a mixture of trees
    drawn exactly from that posterior. With few rows many trees are plausible; with many rows one
    tree has nearly all the probability, and the model is that of TANClassifier.

    Parameters
    ----------
    n_trees : int, default 50
        Number of draws. The weight of a tree is proportional to the number of times it is drawn.
    ess : float, optional
        Equivalent sample size, in rows, of the Dirichlet prior of the tree posterior. By default
        half a row for each cell of the table of two features and the class, averaged over the pairs
        of features.
    random_state : int or numpy Generator, default 0
        Source of the draws; with an int every update of the model draws from the same seed again.
    {parameters}

    Attributes
    ----------
    {attributes}
    edge_probabilities_ : ndarray, shape (n_features, n_features)
        Exact posterior probability of each edge over all trees, independent of the draws. Pictures
        show it as the opacity of the arcs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = AveragedTANClassifier().fit(X, y)
    >>> clf.edge_probabilities_[0].round(2).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """

    command: ClassVar[str] = "averaged-tan"
    _fitted = ("edge_probabilities_",)
    _model_name = "NetworkMixture"

    network_: NetworkMixture = field(init=False)  # type: ignore[assignment]
    edge_probabilities_: Floats = field(init=False)

    n_trees: int = 50
    ess: float | None = None
    random_state: int | np.random.Generator | np.random.RandomState | None = 0

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> NetworkMixture:
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
