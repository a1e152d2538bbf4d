"""Whether classifiers that were evaluated on the same folds differ by more than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.special

from bayesgraph.classifiers.evaluation import Evaluation
from bayesgraph.errors import DataError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.smoothing import one_of

MEASURES = ("log_loss", "accuracy")


@dataclass(frozen=True)
class PairedTest:
    """A test of the difference between a classifier and the baseline over the same folds.

    Attributes
    ----------
    name, baseline : str
        Names of the classifiers.
    measure : {"log_loss", "accuracy"}
    difference : float
        Mean over the folds of the measure of the classifier minus that of the baseline. A log loss
        is better if it is lower (nats per row), an accuracy if it is higher.
    statistic : float
        Student's t with as many degrees of freedom as folds less one; NaN if no fold differs.
    p_value : float
        Two-sided, and adjusted for the number of classifiers that are compared.
    """

    name: str
    baseline: str
    measure: str
    difference: float
    statistic: float
    p_value: float


def paired_tests(
    results: Sequence[Evaluation], *, measure: str = "log_loss", baseline: str | None = None
) -> list[PairedTest]:
    """Compare each classifier with a baseline by the corrected resampled t-test.

    The training sets of folds overlap, so that differences of folds vary less than those of new
    data would: their variance is multiplied by ``1/k + n_test/n_train`` instead of ``1/k``, for k
    folds (Nadeau, Bengio 2003, Machine Learning 52, section 4), also where these are repeated with
    other folds (Bouckaert, Frank 2004). p-values are adjusted for several
    comparisons by the step-down procedure of Holm (1979).

    Parameters
    ----------
    results : sequence of Evaluation
        Of :func:`bayesgraph.evaluate` on the same rows and folds.
    measure : {"log_loss", "accuracy"}
    baseline : str, optional
        Name of the classifier that the others are compared with; by default the first. It must not
        be chosen by its result: the best of many is the best by chance, too.

    Returns
    -------
    list of PairedTest
        One for each other classifier, in their order.

    Raises
    ------
    DataError
        For an unknown measure or baseline, or results of different rows or folds, or of one fold.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> from sklearn.datasets import load_iris
    >>> models = {"naive Bayes": bg.NaiveBayesClassifier(), "TAN": bg.TANClassifier()}
    >>> (test,) = paired_tests(bg.evaluate(models, *load_iris(return_X_y=True)))
    >>> test.name, test.p_value < 0.05
    ('TAN', False)
    """
    one_of("measure", measure, MEASURES)
    names = [result.name for result in results]
    chosen = names[0] if baseline is None and names else baseline
    if chosen not in names:
        raise DataError(f"baseline= is one of the names {quoted(names)}; got {chosen!r}.")
    base = results[names.index(chosen)]
    others = [result for result in results if result is not base]
    found = [_tested(result, base, measure) for result in others]
    adjusted = holm_adjusted(np.array([p for _, _, p in found]))
    return [
        PairedTest(result.name, base.name, measure, difference, statistic, p)
        for result, (difference, statistic, _), p in zip(
            others, found, adjusted.tolist(), strict=True
        )
    ]


def _tested(result: Evaluation, base: Evaluation, measure: str) -> tuple[float, float, float]:
    """Return the mean difference, t and its two-sided p-value, which is not adjusted."""
    folds = base.fold_of_row
    if not np.array_equal(result.fold_of_row, folds) or not np.array_equal(
        result.y_true, base.y_true
    ):
        raise DataError(
            f"{result.name!r} and {base.name!r} were evaluated on different rows or folds; "
            "evaluate them together."
        )
    k = int(folds.max()) + 1
    if k < 2:
        raise DataError("A comparison of folds takes two of them or more; got one.")
    differences = _by_fold(result, measure) - _by_fold(base, measure)
    difference, variance = float(differences.mean()), float(differences.var(ddof=1))
    # Test folds have n / (k / repeats) rows on average, and training sets the others.
    spread = math.sqrt((1.0 / k + 1.0 / (k / base.repeats - 1)) * variance)
    if spread == 0.0:
        # All folds differ by the same, which is nothing, or no chance.
        return difference, math.nan, float(difference == 0.0)
    t = difference / spread
    return difference, t, float(2.0 * scipy.special.stdtr(k - 1, -abs(t)))


def _by_fold(result: Evaluation, measure: str) -> Floats:
    """Return a measure of each fold."""
    if measure == "accuracy":
        values = (result.y_pred == result.y_true).astype(float)
    else:
        true = np.searchsorted(result.classes, result.y_true)
        proba = result.proba[np.arange(len(true)), true]
        # As scikit-learn's log_loss: a probability of zero costs much and not everything.
        values = -np.log(np.maximum(proba, np.finfo(float).eps))
    sums, sizes = (np.bincount(result.fold_of_row, weights=w) for w in (values, None))
    found: Floats = sums / sizes
    return found


def holm_adjusted(p: Floats) -> Floats:
    """Return p-values adjusted for their number by the procedure of Holm (1979)."""
    order = np.argsort(p)
    factors = len(p) - np.arange(len(p))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted
