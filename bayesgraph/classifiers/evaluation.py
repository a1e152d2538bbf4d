"""Cross-validation of several classifiers on the same folds, by held-out probabilities."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.special
from numpy.typing import NDArray
from scipy.sparse import issparse

from bayesgraph.classifiers.intake import apart, check_fitted, is_frame, labels_of
from bayesgraph.classifiers.scikit_learn import sklearn
from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import Displayed, DisplayedList, DisplayTable
from bayesgraph.core.errors import DataError, DataTypeError, quoted
from bayesgraph.core.variables import plain
from bayesgraph.questions import DecisionRule, calibration_error, label_codes
from bayesgraph.statistics import holm_adjusted, one_of
from bayesgraph.tables import as_frame, codes_of, warn_of_target

# ------------ Cross-validation of several classifiers on the same folds, by held-out probabilities


Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

# Maximum number of thresholds that are tried.
_MAX_THRESHOLDS = 500


@dataclass(frozen=True, eq=False)
class Decisions:
    """The decisions of a decision rule (see `Evaluation.decide`) on rows with known classes.

    Attributes
    ----------
    labels : ndarray, shape (n_rows,)
    coverage : float
        Share of the rows that got a decision.
    accuracy : float
        Share of correct decisions among the rows with a decision; NaN if there are none.
    loss : float
        Mean loss over all rows. The loss of a row without a decision is that of abstaining (0 if
        none was given).
    """

    labels: NDArray[Any]
    coverage: float
    accuracy: float
    loss: float

    def __repr__(self) -> str:
        return (
            f"Decisions(coverage {self.coverage:.4f}, accuracy {self.accuracy:.4f}, "
            f"loss {self.loss:.4f})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Displayed):
    """The cross-validated predictions of one classifier, each for a row that was held out.

    scikit-learn's metrics and displays accept the arrays, for example
    ``CalibrationDisplay.from_predictions(e.y_true == "yes", e.proba[:, 1])``.

    Attributes
    ----------
    name : str
    classes : ndarray, shape (n_classes,)
        Sorted.
    y_true, y_pred : ndarray, shape (n_rows,)
    proba : ndarray, shape (n_rows, n_classes)
        Class probabilities of each row from the fold in which it was held out.
    fold_accuracy : ndarray, shape (n_folds,)
    fold_of_row : ndarray of int, shape (n_rows,)
        Index of the fold in which each row was held out.
    repeats : int
        How often all rows were held out, each time in other folds: `n_rows` above counts the rows
        of all repeats, one repeat after the other, in the order of the table.
    fit_seconds, predict_seconds : float
        Medians over the folds; the first is NaN if nothing was fitted.
    n_parameters : int or None
        Number of parameters of the last fold's network; None for a classifier without a network,
        or whose network is a factor graph.
    """

    name: str
    classes: NDArray[Any]
    y_true: NDArray[Any]
    y_pred: NDArray[Any]
    proba: Floats
    fold_accuracy: Floats
    fold_of_row: NDArray[np.intp]
    fit_seconds: float
    predict_seconds: float
    n_parameters: int | None
    repeats: int = 1

    def __repr__(self) -> str:
        return (
            f"Evaluation({self.name!r}: accuracy {self.accuracy:.4f}, log loss {self.log_loss:.4f},"
            f" Brier {self.brier:.4f})"
        )

    def _display(self) -> DisplayTable:
        measures = {"accuracy": self.accuracy, "AUC": self.auc, "log loss": self.log_loss}
        rows = [(n, f"{x:.4f}") for n, x in {**measures, "Brier": self.brier}.items()]
        return DisplayTable(self.name, [*rows, ("parameters", str(self.n_parameters or ""))])

    @property
    def accuracy(self) -> float:
        """Share of correctly predicted rows, averaged over the folds."""
        return float(self.fold_accuracy.mean())

    @property
    def auc(self) -> float:
        """Area under the ROC curve, averaged over the folds.

        Of more than two classes, each that has rows is compared with all others, and the areas are
        weighted by the numbers of rows (Provost and Domingos 2001). Those of different folds are
        not compared, as they are of different models (Forman and Scholz 2010). Folds with rows of
        one class do not count; NaN if all are such.
        """
        return _mean_defined(self._by_fold(self._auc))

    def _auc(self, true: NDArray[Any], proba: Floats) -> float:
        """Return the area of the rows of one fold; NaN if they are of one class."""
        # A column of zeros and ones for each class: scikit-learn compares each with the others.
        is_class = true[:, None] == self.classes
        occurs = is_class.any(axis=0)
        if occurs.sum() < 2:
            return math.nan
        return float(
            sklearn.metrics.roc_auc_score(is_class[:, occurs], proba[:, occurs], average="weighted")
        )

    def average_precision(self, *, positive: Any = None) -> float:
        """Return the area under the precision-recall curve of a class, averaged over the folds.

        The curve has steps: each row of the class counts with the precision down to it. Chance
        reaches the share of the class in the rows. Folds without rows of the class do not count;
        NaN if none has one.

        Parameters
        ----------
        positive : label, optional
            By default the second of two classes.

        Raises
        ------
        DataError
            If there is no such class, or no `positive` and more than two classes.
        """
        code = self._positive_code(positive, "the curve is of")

        def area(true: NDArray[Any], proba: Floats) -> float:
            """Return the area of the rows of one fold; NaN if none is of the class."""
            truth = true == self.classes[code]
            if not truth.any():
                return math.nan
            return float(sklearn.metrics.average_precision_score(truth, proba[:, code]))

        return _mean_defined(self._by_fold(area))

    def _positive_code(self, positive: Any, what: str) -> int:
        """Return the index of the class that is ranked against the rest, by default the second.

        `what` is what is asked of it, for the message if there are more than two.
        """
        if positive is None and len(self.classes) != 2:
            raise DataError(f"positive= says which of {quoted(self.classes.tolist())} {what}.")
        chosen = self.classes[1] if positive is None else positive
        return int(label_codes([chosen], self.classes, what="positive=")[0])

    @property
    def balanced_accuracy(self) -> float:
        """Mean over the classes of the share of their rows that were predicted correctly."""
        # Without classes that have no rows: of these there is no such share.
        labels = np.unique(self.y_true)
        return float(
            sklearn.metrics.recall_score(self.y_true, self.y_pred, labels=labels, average="macro")
        )

    @property
    def f1(self) -> float:
        """F1 score of all held-out rows, the mean over the classes (macro average)."""
        return float(sklearn.metrics.f1_score(self.y_true, self.y_pred, average="macro"))

    @property
    def log_loss(self) -> float:
        """Mean of -log P(true class) in nats, as scikit-learn's `log_loss`."""
        return self._log_loss(self.y_true, self.proba)

    def _log_loss(self, true: NDArray[Any], proba: Floats) -> float:
        return float(sklearn.metrics.log_loss(true, proba, labels=self.classes))

    def _by_fold(self, measure: Callable[[NDArray[Any], Floats], float]) -> list[float]:
        """Return a measure of the classes and the probabilities of each fold."""
        folds = [self.fold_of_row == fold for fold in range(len(self.fold_accuracy))]
        return [measure(self.y_true[rows], self.proba[rows]) for rows in folds]

    @property
    def brier(self) -> float:
        """Sum over classes of squared differences, mean over rows: 0 to 2 (Brier 1950)."""
        errors = self.proba - (self.y_true[:, None] == self.classes)
        return float((errors**2).sum(axis=1).mean())

    @property
    def rmse(self) -> float:
        """Root mean squared difference of probabilities and 0/1 labels over rows and classes."""
        return math.sqrt(self.brier / len(self.classes))

    @property
    def calibration_error(self) -> float:
        """Expected calibration error, see `bayesgraph.questions.measures.calibration_error`."""
        return calibration_error(self.y_true, self.proba, self.classes)

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Confusion matrix: counts [true class, predicted class], shape (n_classes, n_classes)."""
        return np.asarray(
            sklearn.metrics.confusion_matrix(self.y_true, self.y_pred, labels=self.classes)
        )

    def threshold(self, score: Callable[[Any, Any], float], *, positive: Any = None) -> float:
        """Return the probability from which on to decide for a class: the best on held-out rows.

        If the losses by errors are known, `decide` needs no threshold: deciding for the class from
        the probability t on is ``losses={(negative, positive): t, (positive, negative): 1 - t}``.

        Parameters
        ----------
        score : callable
            Takes the true and the decided classes as arrays of ones (the positive class) and
            zeros, and returns a number, the higher the better, such as scikit-learn's `f1_score`.
        positive : label, optional
            By default the second of two classes.

        Returns
        -------
        float
            Half way between the probabilities of two rows, the higher one of which is of the class;
            if more than 500 rows of the class have different probabilities, between 500 of these
            and the next. The lowest threshold of the best score.

        Raises
        ------
        DataError
            If there is no such class, or none of its rows, or no `positive` and more than two
            classes.
        DataTypeError
            If the score is no function.
        """
        if not callable(score):
            raise DataTypeError(
                "score= is a function of the true and the decided classes, such as "
                f"sklearn.metrics.f1_score; got {score!r}."
            )
        code = self._positive_code(positive, "the threshold is for")
        proba, truth = self.proba[:, code], (self.y_true == self.classes[code]).astype(np.int64)
        if not truth.any():
            raise DataError(
                "A threshold is chosen by rows of its class; no held-out row is of the class "
                f"{plain(self.classes[code])!r}. Evaluate on rows with some."
            )
        # Ascending; each entry of `halves` lies between its probability and the next lower one.
        values = np.unique(proba)
        lower = np.append(0.0, values[:-1])
        halves = (values + lower) / 2
        # The middle of neighbouring floats may round to the lower one.
        halves = np.where(halves > lower, halves, values)
        # A lower threshold only pays if it adds a row of the class.
        cuts = halves[np.isin(values, proba[truth == 1])]
        # Evenly spaced among the candidates; all of them if they are few.
        tried = np.unique(np.linspace(0, len(cuts) - 1, _MAX_THRESHOLDS).astype(np.intp))
        scores = [score(truth, (proba >= cut).astype(np.int64)) for cut in cuts[tried]]
        # The first of equal scores, which is the lowest threshold.
        return float(cuts[tried][int(np.nanargmax(scores))])

    def decide(
        self,
        *,
        losses: Any = None,
        abstain: float | None = None,
        min_probability: float | None = None,
        abstained: Any = None,
    ) -> Decisions:
        """Return the decisions of a rule on the held-out rows, with their accuracy and loss.

        The parameters are those of `GraphClassifier.decide`.
        """
        rule = DecisionRule(self.classes, losses, abstain, min_probability)
        true = np.searchsorted(self.classes, self.y_true)
        codes = rule.codes(self.proba)
        # The code of an abstention is -1.
        decided = codes >= 0
        return Decisions(
            rule.labels(self.classes, self.proba, abstained),
            float(decided.mean()),
            float(np.mean(true[decided] == codes[decided])) if decided.any() else math.nan,
            float(rule.losses_of(true, codes).mean()),
        )


def _mean_defined(measures: Sequence[float]) -> float:
    """Return the mean of those measures of folds that are not NaN; NaN if all are."""
    defined = [measure for measure in measures if not math.isnan(measure)]
    return float(np.mean(defined)) if defined else math.nan


def evaluate(
    models: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    repeats: int = 1,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> list[Evaluation]:
    """Evaluate classifiers by cross-validation, all on the same folds.

    Parameters
    ----------
    models : mapping from name to unfitted estimator, or one estimator
    X : array or data frame, in memory
    y : array_like, or name of a column of X
        Labels of at least two classes.
    cv : int, splitter of scikit-learn, iterable of (train, test), "prefit", or None
        The number of stratified, shuffled folds, at most the number of rows of the largest class;
        or a splitter, or (train, test) pairs of row positions. The test folds must hold every row
        once. None is scikit-learn's default. With "prefit" nothing is fitted: the models are fitted
        classifiers, tested on all rows, none of which they should have seen.
    repeats : int
        How often all is done, with rows shuffled into other folds each time, if `cv` is a number:
        the mean of more folds varies less.
    random_state : int
        Seed of the shuffling if `cv` is a number.
    progress : callable, optional
        Called with the model's name after each fold.

    Returns
    -------
    list of Evaluation
        One for each model.

    Raises
    ------
    DataError
        If there are fewer than two classes or folds, or more folds than rows in the largest class,
        if `cv` is of another type, if the test folds do not hold every row once, or if there are
        repeats of folds that are not made here.
    DataTypeError
        If a model does not predict probabilities.
    sklearn.exceptions.NotFittedError
        If it is "prefit" and not fitted.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> from sklearn.datasets import load_iris
    >>> models = {"naive Bayes": bg.NaiveBayesClassifier(), "TAN": bg.TANClassifier()}
    >>> for result in evaluate(models, *load_iris(return_X_y=True), cv=5):
    ...     print(f"{result.name}: {result.accuracy:.2f}")
    naive Bayes: 0.95
    TAN: 0.96
    """
    X, y = apart(X, y)
    labels = labels_of(y).values
    # A series stays as it is: models call the class by its name. Arrow's has none.
    if is_frame(y):
        frame = as_frame(y)
        y = frame.get_column(frame.columns[0]).to_native()
    if not hasattr(y, "name"):
        y = labels
    if isinstance(models, (str, list, tuple, set)):
        raise DataTypeError(
            "models= takes an estimator, or a mapping from name to estimator, such as "
            f"{{'TAN': TANClassifier()}}; got {models!r:.80}."
        )
    if not isinstance(models, Mapping):
        models = {type(models).__name__: models}
    whole_number("repeats=", "repeats", repeats, 1)
    if repeats > 1 and not isinstance(cv, (int, np.integer)):
        raise DataError(f"repeats= goes with a number of folds; got cv={cv!r}.")
    is_fitted = isinstance(cv, str) and cv == "prefit"
    for name, model in models.items():
        if not hasattr(model, "predict_proba"):
            raise DataTypeError(
                f"A model to evaluate predicts probabilities; {name!r} is {model!r:.80}, "
                "which has no predict_proba. CalibratedClassifierCV around a classifier has it."
            )
        if is_fitted:
            check_fitted(model, "classes_")
    # The folds of each repeat; none if the models are fitted.
    folds: list[list[Fold]] = []
    if not is_fitted:
        warn_of_target(np.unique(labels))
        folds = [folds_of(labels, cv, random_state + repeat) for repeat in range(repeats)]
    return DisplayedList(
        _evaluate(name, model, X, y, labels, folds, progress or (lambda _: None))
        for name, model in models.items()
    )


def folds_of(labels: NDArray[Any], cv: Any, random_state: int) -> list[Fold]:
    """Return for each fold the indices of the rows to fit on and of the rows to predict."""
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise DataError(f"An evaluation takes at least two classes; got {len(classes)}.")
    if isinstance(cv, (int, np.integer)):
        if not 2 <= cv <= counts.max():
            raise DataError(
                "An evaluation takes from 2 folds to as many as the largest class has rows "
                f"({counts.max()}); got {cv}."
            )
        cv = sklearn.model_selection.StratifiedKFold(cv, shuffle=True, random_state=random_state)
    try:
        cv = sklearn.model_selection.check_cv(cv, labels, classifier=True)
    except ValueError as error:
        raise DataError(
            "cv= takes a number of folds, a splitter of scikit-learn, an iterable of (train, "
            f"test), or 'prefit'; got {cv!r}."
        ) from error
    with warnings.catch_warnings():
        # A class with fewer rows than folds is missing from some test folds, which is allowed.
        warnings.filterwarnings("ignore", message="The least populated class")
        splits = cv.split(np.zeros(len(labels)), labels)
        folds = [(np.asarray(train), np.asarray(test)) for train, test in splits]
    tested = np.sort(np.concatenate([test for _, test in folds]))
    if not np.array_equal(tested, np.arange(len(labels))):
        raise DataError(
            f"cv={cv!r} does not test every row once, as KFold and its like do. For other splits, "
            "such as those of time, use cross_validate of scikit-learn; for repeated ones repeats=."
        )
    return folds


def _evaluate(
    name: str,
    model: Any,
    X: Any,
    y: Any,
    labels: NDArray[Any],
    repeats: Sequence[Sequence[Fold]],
    progress: Callable[[str], None],
) -> Evaluation:
    """Return the predictions of a model for the rows of all folds, or for all if it is fitted.

    `repeats` has the folds of each repeat, and is empty for a fitted model. The rows of the repeats
    follow each other: row i of repeat r is row ``r * n_rows + i`` of the result.
    """
    n_rows, n_repeats = len(labels), max(1, len(repeats))
    is_fitted = not repeats
    true = np.tile(labels, n_repeats)
    # A class that the model has never seen keeps probability zero.
    classes = np.union1d(labels, model.classes_) if is_fitted else np.unique(labels)
    proba = np.zeros((len(true), len(classes)))
    fold_of_row = np.zeros(len(true), dtype=np.intp)
    accuracy, seconds = [], []
    # A fitted model is tested on all rows, as if they were one fold.
    all_rows = np.arange(n_rows)
    folds = [
        (train, test, repeat * n_rows)
        for repeat, folds_of_repeat in enumerate(repeats or [[(all_rows, all_rows)]])
        for train, test in folds_of_repeat
    ]
    for fold, (train, test, offset) in enumerate(folds):
        start = time.perf_counter()
        fitted = model
        if not is_fitted:
            fitted = copy_for_fold(model).fit(rows_of(X, train), rows_of(y, train))
        middle = time.perf_counter()
        held_out = fitted.predict_proba(X if is_fitted else rows_of(X, test))
        fit_seconds = math.nan if is_fitted else middle - start
        seconds.append((fit_seconds, time.perf_counter() - middle))
        proba[np.ix_(offset + test, np.searchsorted(classes, fitted.classes_))] = held_out
        fold_of_row[offset + test] = fold
        accuracy.append(np.mean(fitted.classes_[np.argmax(held_out, axis=1)] == labels[test]))
        progress(name)
    fit_median, predict_median = np.median(seconds, axis=0).tolist()
    return Evaluation(
        name,
        classes,
        true,
        classes[np.argmax(proba, axis=1)],
        proba,
        np.array(accuracy),
        fold_of_row,
        fit_median,
        predict_median,
        getattr(getattr(fitted, "network_", None), "n_parameters", None),
        n_repeats,
    )


def copy_for_fold(model: Any) -> Any:
    """Return an unfitted copy without warnings of each fold's columns, which nobody wants to read.

    Some columns are constant in a fold, or have values that the rows outside of it lack.
    """
    # Also of nested estimators, whose parameters are named as in ``step__unseen``.
    params = [(name, name.rpartition("__")[2], value) for name, value in model.get_params().items()]
    silent: dict[str, Any] = {name: False for name, last, _ in params if last == "check_columns"}
    silent |= {n: "missing" for n, last, value in params if (last, value) == ("unseen", "warn")}
    return sklearn.base.clone(model).set_params(**silent)


def rows_of(X: Any, index: NDArray[np.intp]) -> Any:
    """Return the rows of a table or of labels with the given indices, as the same type."""
    # Not all formats have rows, and one is a mapping.
    if issparse(X):
        return X.tocsr()[index]
    frame = nw.from_native(X, pass_through=True, allow_series=True)
    if isinstance(frame, (nw.DataFrame, nw.Series)):
        return frame[index].to_native()
    if isinstance(X, Mapping):
        return {name: rows_of(column, index) for name, column in X.items()}
    if isinstance(X, (list, tuple)):
        return [X[i] for i in index.tolist()]
    return X[index]


# ------------ Whether classifiers that were evaluated on the same folds differ by more than chance


MEASURES = ("log_loss", "accuracy")


@dataclass(frozen=True)
class PairedTest(Displayed):
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

    def _display(self) -> DisplayTable:
        numbers = {self.measure.replace("_", " "): f"{self.difference:+.4f}"}
        numbers |= {"t": f"{self.statistic:.2f}", "p": f"{self.p_value:.3f}"}
        return DisplayTable(f"{self.name} against {self.baseline}", [*numbers.items()])


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
    differences = [_paired_test(result, base, measure) for result in others]
    adjusted = holm_adjusted(np.array([p for _, _, p in differences]))
    return DisplayedList(
        PairedTest(result.name, base.name, measure, difference, statistic, p)
        for result, (difference, statistic, _), p in zip(
            others, differences, adjusted.tolist(), strict=True
        )
    )


def _paired_test(result: Evaluation, base: Evaluation, measure: str) -> tuple[float, float, float]:
    """Return the mean difference, t and its two-sided p-value, which is not adjusted."""
    folds = base.fold_of_row
    is_same_fold = np.array_equal(result.fold_of_row, folds)
    if not (is_same_fold and np.array_equal(result.y_true, base.y_true)):
        raise DataError(
            f"{result.name!r} and {base.name!r} were evaluated on different rows or folds; "
            "evaluate them together."
        )
    k = int(folds.max()) + 1
    if k < 2:
        raise DataError("A comparison of folds takes two of them or more; got one.")
    measures = [
        one.fold_accuracy if measure == "accuracy" else np.array(one._by_fold(one._log_loss))
        for one in (result, base)
    ]
    differences = measures[0] - measures[1]
    difference, variance = float(differences.mean()), float(differences.var(ddof=1))
    # 1 / k + n_test / n_train: of the k / repeats folds of a repeat one is tested, the others are
    # fitted.
    standard_error = math.sqrt((1.0 / k + 1.0 / (k / base.repeats - 1)) * variance)
    if standard_error == 0.0:
        # All folds differ by the same: by nothing (p = 1), or not by chance (p = 0).
        return difference, math.nan, float(difference == 0.0)
    t = difference / standard_error
    return difference, t, float(2.0 * scipy.special.stdtr(k - 1, -abs(t)))


# ----------- Conformal prediction: sets of classes that hold the true one with a given probability


# Scores of one row that differ by less are equal: rounding must not leave out the true class.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """The scores of calibration rows, and the models that gave them.

    Attributes
    ----------
    models : tuple of classifiers
        The models of the folds; empty if the classifier itself was calibrated.
    scores : tuple of ndarray
        The scores of the rows held out from each model: the classifier itself, or those of folds.
    codes : tuple of ndarray
        The classes of these rows, as positions in `classes_`.
    by_class : bool
        Whether each class is calibrated by its own rows alone.
    network : object
        The network of the classifier when it was calibrated.
    """

    models: tuple[Any, ...]
    scores: tuple[Floats, ...]
    codes: tuple[NDArray[np.intp], ...]
    by_class: bool
    network: object

    def __repr__(self) -> str:
        n = sum(map(len, self.scores))
        return f"Calibration of {n:,} rows" + f" in {len(self.models)} folds" * bool(self.models)

    def p_values(self, scores: Sequence[Floats]) -> Floats:
        """Return for each row and class the share of calibration rows at least as strange.

        A row is as strange as its score is high, the -log probability of the class.

        Parameters
        ----------
        scores : sequence of ndarray, shape (n_rows, n_classes)
            Those of each model, for the new rows.

        Returns
        -------
        ndarray, shape (n_rows, n_classes)
            The new row counts as one of the calibration rows.
        """
        n_classes = scores[0].shape[1]
        # The 1 is the new row itself.
        higher, total = np.ones((len(scores[0]), n_classes)), np.ones(n_classes)
        for new_scores, calibrating, codes in zip(scores, self.scores, self.codes, strict=True):
            for code in range(n_classes):
                chosen = np.sort(calibrating[codes == code] if self.by_class else calibrating)
                n_lower = np.searchsorted(chosen, new_scores[:, code] - _ROUNDING)
                higher[:, code] += len(chosen) - n_lower
                total[code] += len(chosen)
        return higher / total


def conformalize(classifier: Any, X: Any, y: Any, *, cv: Any, by_class: bool) -> Calibration:
    """Return the calibration of a fitted classifier; see `GraphClassifier.conformalize`."""
    X, y = apart(X, y)
    labels, classes = labels_of(y), classifier.classes_
    unknown = set(labels.classes.tolist()) - set(classes.tolist())
    if unknown:
        raise DataError(
            f"Calibration takes rows of the classes that were fitted; {quoted(sorted(unknown))} "
            f"is not one of {quoted(classes.tolist())}."
        )
    # The classes of a stream are in the order of their arrival.
    codes = codes_of(classes.tolist(), labels.classes.tolist())[labels.codes]
    network = classifier.network_
    if cv is None:
        # Of each row the score of its true class.
        scores = scores_of(classifier, X, classes)[np.arange(len(codes)), codes]
        return Calibration((), (scores,), (codes,), by_class, network)
    # Structures may name the class.
    y = y if is_frame(y) or hasattr(y, "name") else labels.values
    models, fold_scores, fold_codes = [], [], []
    for train, test in folds_of(labels.values, cv, 0):
        model = copy_for_fold(classifier)
        models.append(model.fit(rows_of(X, train), rows_of(y, train)))
        scores = scores_of(model, rows_of(X, test), classes)
        fold_scores.append(scores[np.arange(len(test)), codes[test]])
        fold_codes.append(codes[test])
    return Calibration(tuple(models), tuple(fold_scores), tuple(fold_codes), by_class, network)


def scores_of(model: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """Return -log P(class | row), shape (n_rows, n_classes).

    A class that a fold lacks has an infinite score.
    """
    logs = model.predict_log_proba(X)
    scores = np.full((len(logs), len(classes)), np.inf)
    scores[:, codes_of(classes.tolist(), model.classes_.tolist())] = -logs
    return scores


def prediction_sets(
    classifier: Any, calibration: Any, X: Any, coverage: float
) -> NDArray[np.bool_]:
    """Return the sets of a calibrated classifier; see `GraphClassifier.predict_set`."""
    if not isinstance(calibration, Calibration):
        raise DataError(
            "Sets take rows with known classes that were not fitted: call conformalize(X, y) with "
            "such rows, or conformalize(X, y, cv=10) with those that were fitted. (Files do not "
            "keep the calibration.)"
        )
    if calibration.network is not classifier.network_:
        raise DataError("The classifier has learned since it was calibrated; conformalize again.")
    classes = classifier.classes_
    scores_of_own = scores_of(classifier, X, classes)
    models = calibration.models
    scores = [scores_of(model, X, classes) for model in models] if models else [scores_of_own]
    sets = calibration.p_values(scores) > 1.0 - coverage
    # The most probable class is always in the set, which may be empty else.
    sets[np.arange(len(sets)), np.argmin(scores_of_own, axis=1)] = True
    return sets
