"""Linear and quadratic discriminant analysis: features jointly Gaussian given the class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import CPDError, DataError, quoted
from bayesgraph.core.variables import Continuous, Discrete
from bayesgraph.learning.missing import complete_normal
from bayesgraph.learning.parameters import class_prior
from bayesgraph.models import CPD, BayesianNetwork, GaussianPlate, JointGaussianCPD, TableCPD
from bayesgraph.statistics import (
    CountSource,
    Family,
    FamilyStatistics,
    RowSource,
    Singles,
    SinglesSummary,
    Smoothing,
    one_of,
    safe_divide,
)

COVARIANCES = ("shared", "class")
STRUCTURES = ("full", "diagonal", "spherical")
REGULARIZATIONS = ("ledoit_wolf", "oas")


@dataclass(frozen=True)
class CovarianceModel:
    """Settings of the estimator of the class covariances.

    Attributes
    ----------
    covariance : {"shared", "class"}
        One covariance for all classes (linear discriminants) or one for each (quadratic).
    structure : {"full", "diagonal", "spherical"}
        Unrestricted covariances, uncorrelated features, or uncorrelated features of equal
        variance.
    regularization : float in [0, 1], "ledoit_wolf", "oas" or None
        Shrinkage of the full covariance S of each class towards a multiple of the identity matrix,
        with intensity s: ``(1 - s) S + s (tr S / d) I`` for d features and the identity matrix I. A
        number is the intensity itself, applied in the units of the features. A name selects a
        formula for the intensity, which is applied to features scaled by their standard deviations
        within each class (Ledoit and Wolf 2004; Chen, Wiesel, Eldar and Hero 2010, equation 23).
    smoothing : Smoothing
        `var_smoothing` is the share of each column's total variance that is added to its variances
        (1 is added for a constant column). With a `ddof` of 1, sums of squares are divided by the
        number of rows minus the number of estimated means, N - K or N_k - 1, instead of by N.
    tolerance, max_iter
        Stopping rule of expectation-maximisation for missing values; see `complete_normal`.
    """

    covariance: str = "shared"
    structure: str = "full"
    regularization: float | str | None = None
    smoothing: Smoothing = field(default_factory=Smoothing)
    tolerance: float = 1e-6
    max_iter: int = 1000

    def __post_init__(self) -> None:
        one_of("covariance", self.covariance, COVARIANCES)
        one_of("structure", self.structure, STRUCTURES)
        value = self.regularization
        is_number = isinstance(value, (int, float, np.number)) and 0 <= value <= 1
        if not is_number and value not in (*REGULARIZATIONS, None):
            raise DataError(
                f"regularization= takes a number from 0 to 1, {quoted(REGULARIZATIONS)} or None; "
                f"got {value!r}."
            )
        if value is not None and self.structure != "full":
            raise DataError(
                f"regularization= is for structure='full'; {self.structure!r} has no covariances "
                "to draw towards the identity."
            )
        if not self.tolerance >= 0:
            raise DataError(f"tol= takes a number that is not negative; got {self.tolerance!r}.")
        if not self.max_iter >= 1:
            raise DataError(f"max_iter= takes a number of steps, 1 or more; got {self.max_iter!r}.")

    @property
    def shared(self) -> bool:
        """Whether all classes share one covariance."""
        return self.covariance == "shared"


# Values, classes and weights of complete rows, for the fourth moments in Ledoit and Wolf's formula.
_Rows: TypeAlias = tuple[Floats, NDArray[np.integer], Floats]


class DiscriminantEstimate(NamedTuple):
    """A fitted network, and the number of EM iterations (1 if EM was not needed)."""

    network: BayesianNetwork
    n_iter: int


def estimate_discriminant(
    source: CountSource, model: CovarianceModel, *, priors: Floats | None = None
) -> DiscriminantEstimate:
    """Fit discriminant analysis: a network whose features are jointly Gaussian given the class.

    Complete data need one pass for additive statistics. With missing values, a full covariance is
    estimated by expectation-maximisation, which needs the rows; for diagonal structures the
    available-case means and variances already maximise the likelihood.

    Parameters
    ----------
    source : CountSource
        A source with a target; all other columns are continuous.
    model : CovarianceModel
    priors : ndarray, shape (K,), optional
        Prior to use instead of the class frequencies. The covariances do not depend on it.

    Raises
    ------
    DataError
        If a feature is not numeric, if a covariance is singular, or if the estimate needs the rows
        and the source holds only statistics.
    """
    target = source.target
    if target is None:
        raise DataError("Discriminant analysis needs the class: give the count source a target.")
    features = tuple([v for v in source.features if isinstance(v, Continuous)])
    if len(features) < len(source.features):
        wrong = [v.name for v in source.features if v not in features]
        raise DataError(
            f"Discriminant analysis takes numeric features; {quoted(wrong)} are not numbers. Leave "
            "them out, encode them as numbers, or use a classifier for mixed features, such as "
            "TANClassifier."
        )
    n_iter = 1
    if model.structure == "full":
        of_class, of_all = Family.of(target), Family.of(target, *features)
        families = source.families([of_class, of_all])
        # Of all rows: those of the other family are complete.
        counts = families[of_class].counts
        block: CPD
        block, n_iter = _full_block(source, target, features, model, counts, families[of_all])
    else:
        singles = source.singles(Singles(features, target))
        counts = singles.totals
        block = GaussianPlate(features, *_means_and_variances(singles, model), [target])
    prior = class_prior(target, counts, priors, model.smoothing)
    return DiscriminantEstimate(BayesianNetwork([TableCPD(target, prior), block]), n_iter)


def _means_and_variances(singles: SinglesSummary, model: CovarianceModel) -> tuple[Floats, Floats]:
    """Return means and variances of features independent given the class, both (n_classes, d).

    They are estimated from the available cases of each feature; `model` says which variances are
    equal: those of all classes ("shared"), of all features ("spherical").
    """
    # By class and feature; `square` has the sums of squared deviations from the class mean.
    moments = singles.moments
    count, mean, square = moments.count, moments.mean, moments.square
    rows = count.sum(axis=0)
    overall = safe_divide((count * mean).sum(axis=0), rows)
    mean = np.where(count > 0, mean, overall)
    # The sums of squared deviations from the overall mean.
    spread = square.sum(axis=0) + (count * (mean - overall) ** 2).sum(axis=0)
    ridge = model.smoothing.ridge(safe_divide(spread, rows))
    free = _degrees_of_freedom(model, count)
    # Sums over the classes (axis 0), the features (axis 1), both or neither: a tuple times False is
    # empty.
    axes = (0,) * model.shared + (1,) * (model.structure == "spherical")
    pooled_free = free.sum(axis=axes, keepdims=True)
    pooled = safe_divide(square.sum(axis=axes, keepdims=True), pooled_free)
    # Where a class observes no value of a column: the pooled variance within the other classes.
    within = safe_divide(square.sum(axis=0), free.sum(axis=0))
    variance = np.where(pooled_free > 0, pooled, within)
    variance = np.broadcast_to(variance + ridge, mean.shape)
    if not (variance > 0).all():
        names = [v.name for v in singles.at.continuous]
        constant = quoted(names[i] for i in np.flatnonzero((variance <= 0).any(axis=0)))
        raise DataError(
            f"The columns {constant} are constant within a class, and nothing smooths their "
            "variance of zero; give var_smoothing a positive value."
        )
    return mean, variance


# ----------------------------------------------------------------------------------- full blocks


def _full_block(
    source: CountSource,
    target: Discrete,
    features: tuple[Continuous, ...],
    model: CovarianceModel,
    counts: Floats,
    statistics: FamilyStatistics,
) -> tuple[CPD, int]:
    """Return the Gaussian CPD of all features together, and the number of iterations of EM.

    Parameters
    ----------
    source, target, features, model
        What to estimate, and from what.
    counts : ndarray, shape (n_classes,)
        Weight of all rows of each class.
    statistics : FamilyStatistics
        Those of the rows without missing values.
    """
    rows, n_iter = None, 1
    if statistics.counts.sum() < counts.sum():  # some values are missing
        values, group, weights = _rows_of(
            source, target, "Missing values in jointly Gaussian features need"
        )
        completed = complete_normal(
            values,
            group,
            target.cardinality,
            weights,
            shared=model.shared,
            var_smoothing=model.smoothing.var_smoothing,
            tolerance=model.tolerance,
            max_iter=model.max_iter,
        )
        statistics, n_iter = completed.statistics, completed.n_iter
        rows = completed.values, completed.group, completed.weights
    elif model.regularization == "ledoit_wolf":
        rows = _rows_of(source, target, "regularization='ledoit_wolf' needs")
    together = statistics.merged(0)  # all classes as one
    total = safe_divide(np.diagonal(together.comoment), together.counts)
    # Covariances have the shape (n_classes, d, d), and counts one that goes with it.
    n = statistics.counts[:, None, None]
    free = _degrees_of_freedom(model, n)
    scatter = n * class_covariances(model, statistics, total, rows)
    covariance = safe_divide(scatter.sum(axis=0), free.sum())
    if not model.shared:
        # A class of too few rows keeps the pooled covariance.
        covariance = np.where(free > 0, safe_divide(scatter, free), covariance)
    covariance = covariance + np.diag(model.smoothing.ridge(total))
    mean = np.where(statistics.counts[:, None] > 0, statistics.mean, together.mean)
    try:
        return JointGaussianCPD(features, mean, covariance, [target]), n_iter
    except CPDError as error:
        raise DataError(
            f"The covariance of the features is singular. {error} (Columns that are constant or "
            "collinear within a class, or a class of no more rows than columns, are the cause.)"
        ) from error


def _rows_of(source: CountSource, target: Discrete, what: str) -> _Rows:
    """Return values, classes and weights of the rows.

    `what` begins the message of the DataError for a source without rows: what needs them.
    """
    if not hasattr(source, "table"):
        raise DataError(
            f"{what} the rows, and there are statistics only. Fit on the whole table, drop the "
            "rows with missing values, or use structure='diagonal' or a number as regularization."
        )
    rows = cast(RowSource, source)
    return rows.table.values, rows.table.column(target), rows.weights


def _degrees_of_freedom(model: CovarianceModel, count: Floats) -> Floats:
    """Return the divisor of each class's sums of squares and products: n, or n - 1 with `ddof`."""
    return count - np.minimum(count, 1.0) if model.smoothing.ddof else count


def class_covariances(
    model: CovarianceModel,
    statistics: FamilyStatistics,
    total: Floats,
    rows: _Rows | None = None,
) -> Floats:
    """Return the maximum-likelihood covariance of each class after shrinkage, shape (K, d, d).

    The ridge (`var_smoothing`) is not yet added. The covariance of a class without rows is zero.

    Parameters
    ----------
    model : CovarianceModel
    statistics : FamilyStatistics
        Statistics of the class and all features.
    total : ndarray, shape (d,)
        Variance of each feature over all rows. Constant features do not affect the shrinkage, and
        keep covariances of zero.
    rows : optional
        Complete rows; needed for "ledoit_wolf".
    """
    covariance = safe_divide(statistics.comoment, statistics.counts[:, None, None])
    if model.regularization is None:
        return covariance
    # Shrinkage is that of features in units of `scale`: the features' own units for a number.
    scale = np.ones(statistics.mean.shape)
    if isinstance(model.regularization, str):
        variance = covariance.diagonal(axis1=1, axis2=2)
        # A feature that is constant in a class only has the unit of all rows there.
        scale = np.sqrt(np.where(variance > 0, variance, np.where(total > 0, total, 1.0)))
    # Entry (i, j) is divided by the units of both features.
    unit = covariance / scale[:, :, None] / scale[:, None, :]
    d = max(1, int(np.count_nonzero(total)))  # all features may be constant
    if not isinstance(model.regularization, str):
        share = np.full(len(unit), float(model.regularization))
    elif model.regularization == "oas":
        share = oas_share(unit, statistics.counts, d)
    else:
        assert rows is not None  # always given by `_full_block`
        fourth = fourth_moments(*rows, statistics.mean, scale)
        share = ledoit_wolf_share(unit, fourth, statistics.counts, d)
    share = share[:, None, None]
    # The mean variance in each class, to which the identity matrix is scaled.
    level = np.trace(unit, axis1=1, axis2=2)[:, None, None] / d
    shrunken = (1 - share) * unit + share * level * np.diag(total > 0)
    return np.asarray(shrunken * scale[:, :, None] * scale[:, None, :])


def oas_share(covariance: Floats, count: Floats, d: int) -> Floats:
    """Return the oracle approximating shrinkage (OAS) intensity of each covariance.

    Chen, Wiesel, Eldar and Hero (2010, equation 23), without its terms of order 1 / d, as in most
    implementations: ``(m + t^2) / ((n + 1) (m - t^2 / d))``, at most 1, with m the mean square of
    the entries of S and ``t = tr S / d``.

    Parameters
    ----------
    covariance : ndarray, shape (K, n_columns, n_columns)
        Covariance S of each class, zero in constant columns.
    count : ndarray, shape (K,)
        Number n of rows of each class.
    d : int
        Number of columns that are not constant.
    """
    level = (np.trace(covariance, axis1=1, axis2=2) / d) ** 2  # t^2
    mean_square = np.sum(covariance**2, axis=(1, 2)) / d**2  # m
    divisor = (count + 1) * (mean_square - level / d)
    return np.where(divisor > 0, np.minimum(safe_divide(mean_square + level, divisor), 1.0), 1.0)


def ledoit_wolf_share(covariance: Floats, fourth: Floats, count: Floats, d: int) -> Floats:
    """Return the shrinkage intensity of each covariance by the formula of Ledoit and Wolf (2004).

    This is b^2 / d^2 of their lemmas 3.3 and 3.4: the sampling variance of S divided by its squared
    distance from the multiple of the identity matrix.

    Parameters
    ----------
    covariance : ndarray, shape (K, n_columns, n_columns)
        Covariance S of each class, zero in constant columns.
    fourth : ndarray, shape (K,)
        Weighted sums of ``|x - m|^4`` of each class.
    count : ndarray, shape (K,)
        Number n of rows of each class.
    d : int
        Number of columns that are not constant.
    """
    square = np.sum(covariance**2, axis=(1, 2))
    level = np.trace(covariance, axis1=1, axis2=2) / d
    distance = square - d * level**2  # |S - level I|^2
    # (mean of |x x' - S|^2) / n; it is at most the distance.
    noise = safe_divide(safe_divide(fourth, count) - square, count)
    noise = np.clip(noise, 0.0, np.maximum(distance, 0.0))
    return safe_divide(noise, distance)


def fourth_moments(
    values: Floats,
    group: NDArray[np.integer],
    weights: Floats,
    mean: Floats,
    scale: Floats,
) -> Floats:
    """Return each class's weighted sum of ``|(x - m) / scale|^4`` (Euclidean norm), shape (K,).

    Parameters
    ----------
    values : ndarray, shape (n_rows, d)
    group : ndarray, shape (n_rows,)
        The class of each row.
    weights : ndarray, shape (n_rows,) or (0,)
        If empty, every row has weight 1.
    mean, scale : ndarray, shape (K, d)
        Mean m and unit of each feature in each class.
    """
    deviation = (values - mean[group]) / scale[group]
    fourth = np.einsum("ij,ij->i", deviation, deviation) ** 2
    if len(weights):
        fourth *= weights
    return np.bincount(group, fourth, len(mean)).astype(np.float64)
