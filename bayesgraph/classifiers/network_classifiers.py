"""Naive Bayes, TAN and kDB: classifiers of one kind of structure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bayesgraph.classifiers.base import NetworkClassifier
from bayesgraph.classifiers.parameters import with_parameters
from bayesgraph.learning import Smoothing, Structure, kdb, selective_kdb, tan
from bayesgraph.statistics import CountSource
from bayesgraph.variables import Name


@with_parameters
class NaiveBayesClassifier(NetworkClassifier):
    """Naive Bayes: the features are independent given the class.

    Columns of any type in one model, each with its own family of distributions.

    Parameters
    ----------
    distributions : family, or mapping from column (or tuple of columns) to family, optional
        * "gaussian": the default of numeric columns;
        * "categorical": the default of text, category and boolean columns;
        * "lognormal": positive numbers;
        * "kernel": a kernel density estimate;
        * "poisson": counts;
        * "multinomial": counts of many items, such as words, as one vector: all columns so named,
          a tuple of columns, or a matrix (dense or sparse) as a column of its own. Fractional
          counts (tf-idf) are fine;
        * "bernoulli": presence and absence of many items; for a boolean column the same as
          "categorical".

        One family alone is that of all numeric columns ("categorical": of all columns). A sparse
        matrix as X takes one of the last two.
    estimation : {"mean", "map", "ml", "predictive"}
        Posterior mean, posterior mode, maximum likelihood, or the posterior predictive
        distribution; see Smoothing.
    ddof : {0, 1}
        Variances are sums of squares over (rows - ddof).
    bandwidth : "silverman", "scott", or float
        Of kernel densities.
    threshold : float
        Counts above it are presence.
    items : array_like of names, shape (n_features,), optional
        What the columns of an array or a sparse matrix count, such as the words of a vectorizer;
        by default they are called "x0", "x1", and so on.
    {parameters}
    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = NaiveBayesClassifier().fit(X, y)
    >>> clf.query(evidence={"x2": 4.5}).argmax
    1
    >>> NaiveBayesClassifier("kernel").fit(X, y).score(X, y)
    0.96
    """

    def __init__(
        self,
        distributions: Any = None,
        *,
        alpha: Any = 1.0,
        smoothing: str = "dirichlet",
        strength: float | None = None,
        estimation: str = "mean",
        shrinkage: float = 20.0,
        var_smoothing: float = 1e-9,
        ddof: int = 0,
        bandwidth: float | str = "silverman",
        threshold: float = 0.0,
        items: Any = None,
        priors: Any = None,
        class_weight: Any = None,
        categorical: Any = None,
        discretizer: Any = None,
        unseen: str = "missing",
    ) -> None:
        self.distributions = distributions
        self.estimation = estimation
        self.ddof = ddof
        self.bandwidth = bandwidth
        self.threshold = threshold
        self.items = items
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

    def _smoothing(self) -> Smoothing:
        return Smoothing(
            self.alpha,
            self.shrinkage,
            self.var_smoothing,
            self.estimation,
            self.ddof,
            self.bandwidth,
            self.threshold,
            self.smoothing,
            self.strength,
        )


@with_parameters
class TANClassifier(NetworkClassifier):
    """Tree-augmented naive Bayes: each feature has the class and one other feature as parents.

    The tree is a maximum spanning tree over conditional mutual information (Friedman, Geiger,
    Goldszmidt 1997), for discrete, continuous and mixed features alike.

    Parameters
    ----------
    root : name, optional
        Root of the tree; by default the first discrete feature, or the first one.
    {parameters}
    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> sorted(TANClassifier().fit(X, y).network_.arc_scores)
    [('x0', 'x1'), ('x0', 'x2'), ('x2', 'x3')]
    """

    def __init__(
        self,
        *,
        root: Name | None = None,
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
        self.root = root
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

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        return partial(tan, root=self.root)


@with_parameters
class KDBClassifier(NetworkClassifier):
    """k-dependence Bayesian classifier: each feature has the class and k features as parents.

    Features enter by what they tell of the class, and their parents are those before them that
    tell most about them given the class (Sahami 1996).

    Parameters
    ----------
    k : int, default 2
        0 is naive Bayes. From 2 on what is counted depends on what was counted before, which takes
        a second pass over the data: there is no `partial_fit`, `fit_batches` or `forget`.
    {parameters}
    """

    def __init__(
        self,
        k: int = 2,
        *,
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
        self.k = k
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

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        return partial(kdb, k=self.k)


@with_parameters
class SelectiveKDBClassifier(NetworkClassifier):
    """Selective kDB: as many parents and features of kDB as predict the rows best.

    All models of 0 to k parents and of the first 0 to d features are compared by leave-one-out in
    one more pass over the rows (Martínez, Webb, Chen, Zaidi 2016). Features that are not chosen
    stay in the network as nodes without arcs. There is no `partial_fit`.

    Parameters
    ----------
    k : int, default 5
        The most parents of a feature besides the class.
    loss : {"rmse", "log", "0-1"}
        Root mean squared 1 - P(y | x), mean -log P(y | x), or share of rows classified wrongly.
    {parameters}
    """

    def __init__(
        self,
        k: int = 5,
        *,
        loss: str = "rmse",
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
        self.k = k
        self.loss = loss
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

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        return partial(selective_kdb, k=self.k, loss=self.loss)
