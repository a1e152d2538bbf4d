"""Linear and quadratic discriminant analysis: the features are jointly Gaussian given the class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.classifiers.base import estimator
from bayesgraph.classifiers.intake import check_fitted, checked_priors, known_rows
from bayesgraph.classifiers.network_classifier import NetworkClassifier, Source
from bayesgraph.classifiers.scikit_learn import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from bayesgraph.core.arrays import Floats, log_of
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Discrete
from bayesgraph.learning import CovarianceModel, estimate_discriminant
from bayesgraph.models import (
    BayesianNetwork,
    GaussianPlate,
    JointGaussianCPD,
    TableCPD,
)
from bayesgraph.statistics import Smoothing

# Number of entries of rows that are centred at a time, which stay in the cache.
_TOGETHER = 2**15
# Minimum within-class variance of a discriminant axis, in standardised columns. Columns that are
# collinear but for `var_smoothing` have directions of less, along which only rounding errors vary.
_MINIMUM_VARIANCE = 1e-7


class _Discriminants(NamedTuple):
    """Class means, within-class covariance and prior, which determine the linear discriminants.

    Attributes
    ----------
    mean : ndarray, shape (K, d)
    covariance : ndarray, shape (d, d)
        The within-class covariance S.
    prior : ndarray, shape (K,)
    """

    mean: Floats
    covariance: Floats
    prior: Floats

    @property
    def centre(self) -> Floats:
        """Mean of the class means, weighted by the prior."""
        return np.asarray(self.mean[0] + self.prior @ (self.mean - self.mean[0]))

    def scores(self, root: Floats) -> tuple[Floats, Floats]:
        """Return slopes and intercepts of log P(c | x) in x - centre, up to a term equal for all c.

        With the class means m_c, the centre m and the within-class covariance S: ``w_c = S^-1 (m_c
        - m)`` and ``w0_c = log P(c) - (m_c - m)^T S^-1 (m_c - m) / 2`` (Hastie, Tibshirani,
        Friedman 2009, equation 4.10, with the centre m as the origin). `root` is a whitening matrix
        A of S: ``A S A^T`` is the identity.
        """
        whitened = (self.mean - self.centre) @ root.T
        log_prior = log_of(self.prior)
        # A^T A is S^-1: one more factor A gives the slopes, the squared lengths the quadratic form.
        return whitened @ root, log_prior - 0.5 * np.sum(whitened**2, axis=1)

    def axes(self) -> tuple[Floats, Floats]:
        """Return discriminant axes as columns, and the between-class variance along each axis.

        The axes are in descending order of that variance. They are the solutions v of ``B v = l S
        v`` with ``v^T S v = 1``, where S is the within-class covariance and B the between-class
        scatter ``B = sum_c P(c) (m_c - m) (m_c - m)^T`` (Rao 1948; Hastie, Tibshirani, Friedman
        2009, section 4.3.3). They are computed from the singular values of the whitened means: B is
        never formed. Directions in which the features do not vary within the classes are left out;
        axes that remain unused are zero.
        """
        # Standard deviations within the classes: eigenvalues of the correlations have no unit.
        scale = np.sqrt(np.diag(self.covariance))
        scale = np.where(scale > 0, scale, 1.0)
        variance, directions = np.linalg.eigh(self.covariance / np.outer(scale, scale))
        kept = variance > _MINIMUM_VARIANCE
        # With columns W such that W^T S W is the identity.
        whitening = directions[:, kept] / np.sqrt(variance[kept]) / scale[:, None]
        # With the rows M = sqrt(P(c)) (m_c - m) W, W^T B W is M^T M: its eigenvectors are the right
        # singular vectors of M, its eigenvalues the squared singular values.
        whitened = np.sqrt(self.prior)[:, None] * ((self.mean - self.centre) @ whitening)
        _, singular, right = np.linalg.svd(whitened, full_matrices=False)
        n_axes = min(len(self.mean) - 1, self.mean.shape[1])
        axes, between = np.zeros((self.mean.shape[1], n_axes)), np.zeros(n_axes)
        used = min(n_axes, len(singular))
        axes[:, :used], between[:used] = whitening @ right[:used].T, singular[:used] ** 2
        # The sign of an axis is arbitrary: the standardised slope of largest magnitude is positive.
        largest = np.abs(axes * scale[:, None]).argmax(axis=0)[None, :]
        return axes * np.where(np.take_along_axis(axes, largest, 0) < 0, -1.0, 1.0), between


@estimator
class DiscriminantAnalysisClassifier(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    NetworkClassifier,
):
    """Discriminant analysis: the features are jointly Gaussian given the class.

    With one covariance for all classes the log odds are linear in the features (Fisher 1936); with
    a covariance for each class they are quadratic. Missing features are marginalised exactly in
    prediction; in fitting they are assumed to be missing at random.

    Parameters
    ----------
    covariance : {"shared", "class"}
        One covariance for all classes, or one for each class.
    structure : {"full", "diagonal", "spherical"}
        Free covariances, uncorrelated features, or uncorrelated features of equal variance.
    regularization : float in [0, 1], "ledoit_wolf", "oas" or None
        Weight with which each class's covariance is shrunk towards the identity times its mean
        variance, in the units of the features; or the name of a formula that chooses the weight, in
        units of each class's standard deviations (scikit-learn's "auto" is "ledoit_wolf").
    smoothing : float or Smoothing, default "dirichlet"
        Its `var_smoothing` is the share of each column's variance that is added to it, and
        `reg_covar` a constant, so that collinear columns have a density. With ``ddof=1`` sums of
        squares are divided by the number of rows minus the number of estimated means (N - K, or
        N_k - 1). An `alpha` that is a mapping with the class among its keys smooths the prior.
    priors : array_like, shape (n_classes,), or "uniform", optional
        Class probabilities, instead of the class frequencies. The covariances do not depend on
        them.
    check_columns : bool, default True
        Whether `fit` warns of columns that look wrong, as for the other classifiers.
    class_weight : mapping from class to weight, or "balanced", optional
        Factors of the weights of the rows; "balanced" is inverse to the number of rows of a class.
    tol, max_iter : float and int
        If values are missing, full covariances are estimated by expectation-maximisation. It stops
        when no mean and no covariance changes by more than `tol`, in standard deviations, and warns
        after `max_iter` steps.

    Attributes
    ----------
    network_ : BayesianNetwork
        The class and one block of jointly Gaussian features, for any query.
    classes_ : ndarray, shape (n_classes,)
    means_ : ndarray, shape (n_classes, n_features)
    covariance_ : ndarray, shape (n_features, n_features) or (n_classes, n_features, n_features)
    w_ : ndarray, shape (n_classes, n_features)
        Slopes of the log odds, only for a shared covariance: ``softmax(X @ w_.T + w0_)`` are the
        class probabilities of complete rows; for two classes the logistic function of the
        difference.
    w0_ : ndarray, shape (n_classes,)
    scalings_ : ndarray, shape (n_features, min(n_classes - 1, n_features))
        Discriminant axes; see `transform`.
    explained_variance_ratio_ : ndarray, shape (min(n_classes - 1, n_features),)
        Share of each axis in the variance between the classes.
    n_iter_ : int
        Number of steps of expectation-maximisation; 1 if no value was missing.
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

    _reads = ("alpha", "ddof", "var_smoothing", "reg_covar")
    _fitted = ("n_iter_",)

    n_iter_: int = field(init=False)

    covariance: str = field(default="shared", kw_only=False)
    structure: str = "full"
    regularization: float | str | None = None
    class_weight: Mapping[Any, float] | str | None = None
    tol: float = 1e-6
    max_iter: int = 1000

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> BayesianNetwork:
        """Return the network of the class and one Gaussian block of features; set `n_iter_`."""
        self._check_alpha(smoothing, target, numbers=False)
        model = CovarianceModel(
            self.covariance, self.structure, self.regularization, smoothing, self.tol, self.max_iter
        )
        network, self.n_iter_ = estimate_discriminant(
            source, model, priors=checked_priors(self.priors, target)
        )
        return network

    def _counts_ahead(self) -> bool:
        # Ledoit and Wolf's formula needs the rows themselves.
        return self.regularization != "ledoit_wolf"

    # ------------------------------------------------------------------------------- prediction

    def _scores(self, evidence: Evidence) -> tuple[Floats, int]:
        """Return log P(class, row) up to a constant per row, and the number of impossible rows.

        With a shared covariance, the quadratic term is the same for all classes. The linear terms
        are computed for the chunk at once; rows with missing features go through the network.
        """
        if not (self._shared and evidence.complete):
            return super()._scores(evidence)
        slopes, constants, centre = self._linear_terms()
        # A class of prior 0 has the log prior -inf, and differences from it are not defined.
        if constants.min() == -np.inf:
            return super()._scores(evidence)
        rows = evidence.matrix(self.features_)
        # Scores by classes and rows, relative to the first class, whose scores are then 0.
        joint, differences = np.zeros((len(constants), len(rows))), slopes[1:] - slopes[0]
        # Numbers near the largest float overflow; NumPy does not warn of them.
        with np.errstate(over="ignore", invalid="ignore"):
            step = 1 + _TOGETHER // len(centre)
            for first in range(0, len(rows), step):
                part = slice(first, first + step)
                np.matmul(differences, (rows[part] - centre).T, out=joint[1:, part])
            joint += (constants - constants[0])[:, None]
        # Where scores overflow, the posterior is 0 or 1. Rows that are scaled down have finite
        # scores of the same signs, still far apart, also for the slopes of the least `MAGNITUDES`;
        # centre and intercepts are negligible.
        is_far = ~np.isfinite(joint).all(axis=0)
        joint[1:, is_far] = differences @ (1e-150 * rows[is_far]).T
        return joint.T, 0

    # ------------------------------------------------------------------------ what was estimated

    @property
    def _shared(self) -> bool:
        return self.covariance == "shared"

    @property
    def _block(self) -> JointGaussianCPD | GaussianPlate:
        """The CPD of the features, a plate if they are uncorrelated."""
        check_fitted(self, "network_")
        block = self.network_._blocks[1]
        assert isinstance(block, (JointGaussianCPD, GaussianPlate))  # `_network` put it there
        return block

    @property
    def means_(self) -> Floats:
        """Class means, shape (n_classes, n_features)."""
        return self._block.mean

    @property
    def covariance_(self) -> Floats:
        """The shared covariance, or one covariance for each class."""
        block = self._block
        if isinstance(block, JointGaussianCPD):
            return block.covariance
        # Variances, shape (n_classes, n_features), on the diagonal of a matrix of each class.
        matrices = block.variance[:, :, None] * np.eye(block.variance.shape[1])
        return matrices[0] if self._shared else matrices

    @property
    def _discriminants(self) -> _Discriminants:
        """Means, prior and the covariance within classes, the weighted mean of several."""
        block, prior = self._block, self.network_._blocks[0]
        assert isinstance(prior, TableCPD)
        covariance = self.covariance_
        if not self._shared:
            covariance = np.tensordot(prior.values, covariance, axes=1)
        return _Discriminants(block.mean, covariance, prior.values)

    def _linear_terms(self) -> tuple[Floats, Floats, Floats]:
        """Return slopes, intercepts and the centre of the linear scores; see _Discriminants."""
        discriminants, block = self._discriminants, self._block
        # A whitening matrix of the shared covariance, which is that of every class.
        if isinstance(block, JointGaussianCPD):
            root = block.roots[0]
        else:
            root = np.diag(block.variance[0] ** -0.5)
        return *discriminants.scores(root), discriminants.centre

    def _check_linear(self) -> None:
        """Raise an AttributeError unless the log odds are linear."""
        if not self._shared:
            raise AttributeError(
                "Log odds are linear for covariance='shared' only; this classifier has "
                f"covariance={self.covariance!r}."
            )

    @property
    def w_(self) -> Floats:
        """Slopes of the log odds, shape (n_classes, n_features)."""
        self._check_linear()
        return self._linear_terms()[0]

    @property
    def w0_(self) -> Floats:
        """Intercepts of the log odds, shape (n_classes,)."""
        self._check_linear()
        slopes, constants, centre = self._linear_terms()
        return np.asarray(constants - slopes @ centre)

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

        There are at most n_classes - 1 axes, in descending order of between-class variance. Within
        the classes the coordinates are uncorrelated with variance one (on average over the classes,
        if each class has its own covariance). The mean of the class means, weighted by the prior,
        is at zero. scikit-learn's "eigen" solver has the same axes up to sign but does not centre.
        The coordinates of a row with a missing feature are NaN.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
        """
        check_fitted(self, "network_")
        discriminants = self._discriminants
        table = known_rows(self, X)
        return np.asarray((table.values - discriminants.centre) @ discriminants.axes()[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags
