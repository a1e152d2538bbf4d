"""Linear and quadratic discriminant analysis: the features are jointly Gaussian given the class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from bayesgraph.classifiers.labels import checked_priors
from bayesgraph.classifiers.network_classifier import NetworkClassifier, Source
from bayesgraph.classifiers.parameters import estimator
from bayesgraph.classifiers.validation import check_fitted, known_rows
from bayesgraph.cpds import GaussianPlate, JointGaussianCPD, TableCPD, kernels
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import Joint
from bayesgraph.inference.scores import OF_ROWS, ClassScores
from bayesgraph.inference.solver import select
from bayesgraph.learning import Smoothing
from bayesgraph.learning.discriminant import CovarianceModel, estimate_discriminant
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete

# Rows whose deviations stay in the cache.
_BLOCK = 4096


class _Discriminants(NamedTuple):
    """What linear discriminants are made of.

    Attributes
    ----------
    mean : ndarray, shape (K, d)
    root : ndarray, shape (d, d)
        A with ``A S A^T = 1`` for the covariance S within the classes.
    prior : ndarray, shape (K,)
    """

    mean: Floats
    root: Floats
    prior: Floats

    @property
    def centre(self) -> Floats:
        """Mean of the class means, weighted by the prior."""
        return np.asarray(self.mean[0] + self.prior @ (self.mean - self.mean[0]))

    def scores(self) -> tuple[Floats, Floats]:
        """Return log P(c | x) as slopes and intercepts of x - centre, up to a term without c.

        ``w_c = S^-1 (m_c - m)`` and ``w0_c = log P(c) - (m_c - m)^T S^-1 (m_c - m) / 2`` (Hastie,
        Tibshirani, Friedman 2009, equation 4.10, with the centre m as the origin).
        """
        whitened = (self.mean - self.centre) @ self.root.T
        with np.errstate(divide="ignore"):
            log_prior = np.log(self.prior)
        return whitened @ self.root, log_prior - 0.5 * np.sum(whitened**2, axis=1)

    def axes(self) -> tuple[Floats, Floats]:
        """Return discriminant axes as columns, and their between-class variances, largest first.

        Solutions of ``B v = l S v`` with ``v^T S v = 1`` for the between-class scatter
        ``B = sum_c P(c) (m_c - m) (m_c - m)^T`` (Rao 1948; Hastie, Tibshirani, Friedman 2009,
        section 4.3.3), from the singular values of the whitened means: B is never formed.
        """
        whitened = (self.mean - self.centre) @ self.root.T
        _, values, rows = np.linalg.svd(np.sqrt(self.prior)[:, None] * whitened)
        n = min(len(self.mean) - 1, self.mean.shape[1])
        rows = rows[:n]
        # A direction and its opposite are the same axis: the largest entry is positive.
        largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], 1)
        return self.root.T @ (rows * np.where(largest < 0, -1.0, 1.0)).T, values[:n] ** 2


@estimator
class DiscriminantAnalysisClassifier(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    NetworkClassifier,
):
    """Discriminant analysis: the features are jointly Gaussian given the class.

    With one covariance for all classes the log odds are linear in the features (Fisher 1936), with
    one for each they are quadratic. Missing features are marginalised exactly in prediction; in
    fitting they are taken to be missing at random.

    Parameters
    ----------
    covariance : {"shared", "class"}
    structure : {"full", "diagonal", "spherical"}
        Free covariances, uncorrelated features, or uncorrelated features of one variance.
    regularization : float in [0, 1], "ledoit_wolf", "oas" or None
        Share by which each class's covariance is drawn towards the identity times its mean
        variance, in the units of the features; or the name of a formula that chooses the share, in
        units of each class's standard deviations (scikit-learn's "auto" is "ledoit_wolf").
    smoothing : float or Smoothing, default "dirichlet"
        Its `var_smoothing` is the share of each column's variance that is added to it, so that
        collinear columns have a density, and with ``ddof=1`` squares are divided by the rows less
        the means estimated (N - K, or N_k - 1). An `alpha` that names the class smooths the prior.
    priors : array_like, shape (n_classes,), or "uniform", optional
        Class probabilities, instead of their shares of the rows. The covariances do not depend on
        them.
    class_weight : mapping from class to weight, or "balanced", optional
        Multiplies the weights of the rows; "balanced" makes up for the numbers of rows.
    tol, max_iter : float and int
        Where values are missing, full covariances are found by expectation-maximisation: stop when
        a step moves no mean and no covariance by more than this in standard deviations, and warn
        after so many steps.

    Attributes
    ----------
    network_ : BayesianNetwork
        The class and one block of jointly Gaussian features, for any query.
    classes_ : ndarray, shape (n_classes,)
    means_ : ndarray, shape (n_classes, n_features)
    covariance_ : ndarray, shape (n_features, n_features) or (n_classes, n_features, n_features)
    w_ : ndarray, shape (n_classes, n_features)
        Shared covariance only. Log odds are linear: ``softmax(X @ w_.T + w0_)`` are the class
        probabilities of complete rows; with two classes, the logistic function of the difference.
    w0_ : ndarray, shape (n_classes,)
    scalings_ : ndarray, shape (n_features, min(n_classes - 1, n_features))
        Discriminant axes; see `transform`.
    explained_variance_ratio_ : ndarray, shape (min(n_classes - 1, n_features),)
        Share of each axis in the variance between the classes.
    n_iter_ : int
        Steps of expectation-maximisation; 1 where nothing was missing.
    target_, features_, n_features_in_, feature_names_in_
        As for the other classifiers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = DiscriminantAnalysisClassifier().fit(X, y)
    >>> clf.transform(X).shape
    (150, 2)
    >>> clf.query(evidence={"x2": 4.5}).argmax
    1
    """

    _reads = ("alpha", "ddof", "var_smoothing")
    _fitted = ("n_iter_",)

    n_iter_: int = field(init=False)

    covariance: str = field(default="shared", kw_only=False)
    structure: str = "full"
    regularization: float | str | None = None
    class_weight: Mapping[Any, float] | str | None = None
    tol: float = 1e-6
    max_iter: int = 1000

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> BayesianNetwork:
        self._check_alpha(smoothing, target, numbers=False)
        model = CovarianceModel(
            self.covariance, self.structure, self.regularization, smoothing, self.tol, self.max_iter
        )
        network, self.n_iter_ = estimate_discriminant(
            source, model, priors=checked_priors(self.priors, target)
        )
        return network

    def _counts_ahead(self) -> bool:
        # Ledoit and Wolf's formula takes the rows themselves.
        return self.regularization != "ledoit_wolf"

    # ------------------------------------------------------------------------------- prediction

    def _scores(self, evidence: Evidence) -> tuple[Floats, int]:
        """See GraphClassifier.

        With a shared covariance and nothing missing the network's answer is linear but for its
        quadratic term, the same for all classes, which takes longer than all the others.
        """
        if not (self._shared and evidence.complete):
            return super()._scores(evidence)
        scores = ClassScores(self.target_, "the linear form", self._linear_scores)
        return select(scores, Joint((0,)), OF_ROWS).run_rows(evidence), 0

    def _linear_scores(self, evidence: Evidence) -> Floats:
        found = self._discriminants
        slopes, constants = found.scores()
        joint = np.empty((len(constants), evidence.n_rows))
        joint[:] = constants[:, None]
        kernels.add_centred(joint, evidence.matrix(self.features_), found.centre, slopes)
        return joint.T

    # ------------------------------------------------------------------------ what was estimated

    @property
    def _shared(self) -> bool:
        return self.covariance == "shared"

    @property
    def _block(self) -> JointGaussianCPD | GaussianPlate:
        check_fitted(self, "network_")
        block = self.network_.blocks[1]
        assert isinstance(block, (JointGaussianCPD, GaussianPlate))  # `_network` put it there
        return block

    @property
    def means_(self) -> Floats:
        """Class means, shape (n_classes, n_features)."""
        return self._block.mean

    @property
    def covariance_(self) -> Floats:
        """The covariance that all classes share, or that of each class."""
        block = self._block
        if isinstance(block, JointGaussianCPD):
            return block.covariance
        each = block.variance[:, :, None] * np.eye(block.variance.shape[1])
        return each[0] if self._shared else each

    @property
    def _discriminants(self) -> _Discriminants:
        block, prior = self._block, self.network_.blocks[0]
        assert isinstance(prior, TableCPD)
        within = block
        if not self._shared:
            mean = np.tensordot(prior.values, self.covariance_, axes=1)
            within = JointGaussianCPD(self.features_, block.mean, mean, [self.target_])  # type: ignore[arg-type]
        if isinstance(within, JointGaussianCPD):
            root = within.roots[0]
        else:
            root = np.diag(within.variance[0] ** -0.5)
        return _Discriminants(block.mean, root, prior.values)

    def _check_linear(self) -> None:
        if not self._shared:
            raise AttributeError(
                "Log odds are linear for covariance='shared' only; this classifier has "
                f"covariance={self.covariance!r}."
            )

    @property
    def w_(self) -> Floats:
        """Slopes of the log odds, shape (n_classes, n_features)."""
        self._check_linear()
        return self._discriminants.scores()[0]

    @property
    def w0_(self) -> Floats:
        """Intercepts of the log odds, shape (n_classes,)."""
        self._check_linear()
        found = self._discriminants
        slopes, constants = found.scores()
        return np.asarray(constants - slopes @ found.centre)

    @property
    def scalings_(self) -> Floats:
        """Discriminant axes as columns, shape (n_features, n_axes)."""
        return self._discriminants.axes()[0]

    @property
    def explained_variance_ratio_(self) -> Floats:
        """Share of each axis in the between-class variance, shape (n_axes,)."""
        variance = self._discriminants.axes()[1]
        total = variance.sum()
        return variance / total if total > 0 else variance

    @property
    def _n_features_out(self) -> int:
        return min(len(self.classes_) - 1, self.n_features_in_)

    def transform(self, X: Any) -> Floats:
        """Return rows in the coordinates of the discriminant axes, shape (n_rows, n_axes).

        At most n_classes - 1 axes, the one on which the classes lie furthest apart first. Within
        the classes every coordinate has variance one and the coordinates are uncorrelated (on
        average over the classes, where each has a covariance of its own); the prior mean is at
        zero. scikit-learn's "eigen" solver has the same axes up to sign, without moving the mean to
        zero. A row with a missing feature has no coordinates: they are NaN.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
        """
        check_fitted(self, "network_")
        found = self._discriminants
        table = known_rows(self, X)
        return np.asarray((table.values - found.centre) @ found.axes()[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags
