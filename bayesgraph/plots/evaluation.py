"""Figures of the predictions of classifiers, drawn by scikit-learn's displays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay, RocCurveDisplay, auc, roc_curve

from bayesgraph.classifiers.evaluation import Evaluation
from bayesgraph.errors import DataError, DataTypeError, quoted
from bayesgraph.measures import label_codes
from bayesgraph.palette import COLOURS, FRAME
from bayesgraph.plots.style import (
    DASHES,
    PANEL,
    Axes,
    Figure,
    heading,
    new_figure,
    shown_names,
    styled,
    without_mathematics,
)

# Limits of the axes of ROC and calibration curves, with room for what lies at 0 and 1.
_SIDES = (-0.03, 1.03)


def evaluation_figure(results: Evaluation | Sequence[Evaluation]) -> Figure:
    """Return a figure with a row of three panels for each model.

    The panels are the confusion matrix, the ROC curves and the calibration curve. With two classes,
    both curves are those of the second class. With more classes there is a ROC curve of each class
    against the rest, and the calibration is that of the predicted class.

    Parameters
    ----------
    results : Evaluation or sequence of Evaluation
        Returned by :func:`bayesgraph.evaluate`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If there are no results.
    DataTypeError
        For anything else than results.
    MissingDependencyError
        If matplotlib is not installed.
    """
    results = _checked(results, "evaluation_figure")
    with styled() as figure_class:
        side = max(PANEL, *(0.45 * len(result.classes) for result in results))
        figure = new_figure(figure_class, 3 * (side + 0.9), len(results) * (side + 1.1))
        grid = figure.subplots(len(results), 3, squeeze=False)
        for result, (confusion, roc, calibration) in zip(results, grid, strict=True):
            _draw_confusion(confusion, result)
            _draw_roc(roc, result)
            _draw_calibration(calibration, result)
    return figure


def roc_figure(
    results: Evaluation | Sequence[Evaluation], *, positive: Any = None, title: str | None = None
) -> Figure:
    """Return a panel with the ROC curve of each model, of one class against the rest.

    The rows of all folds make one curve; the legend has the area below it. `Evaluation.auc` is the
    mean of the areas of the folds instead.

    Parameters
    ----------
    results : Evaluation or sequence of Evaluation
        Returned by :func:`bayesgraph.evaluate`.
    positive : label, optional
        The class whose probability ranks the rows; by default the second of two.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If there are no results, for a class that is none of theirs, no `positive` of more than two
        classes, and if all rows are of that class, or none.
    DataTypeError
        For anything else than results.
    MissingDependencyError
        If matplotlib is not installed.
    """
    results = _checked(results, "roc_figure")
    chosen = _positive(results[0], positive)
    (name,) = shown_names([chosen])
    with styled() as figure_class:
        figure = new_figure(figure_class, PANEL + 1.2, PANEL + 1.1)
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], color=FRAME, linewidth=0.8, zorder=1)
        for k, result in enumerate(results):
            false, true = _roc(result, chosen)
            dashes = DASHES[k // len(COLOURS) % len(DASHES)]
            label = f"{result.name} ({auc(false, true):.3f})"
            colour = COLOURS[k % len(COLOURS)]
            axes.plot(false, true, color=colour, linestyle=dashes, linewidth=1.4, label=label)
        axes.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
        axes.set(xlim=_SIDES, ylim=_SIDES)
        without_mathematics(axes.legend(fontsize=8, loc="lower right").get_texts())
        note = f"{name} against the rest, rows of all folds; in brackets the area below"
        heading(axes, "ROC curves" if title is None else title, note)
    return figure


def _checked(results: Any, function: str) -> list[Evaluation]:
    """Return the results of at least one model as a list after checking them."""
    several = isinstance(results, Iterable) and not isinstance(results, str)
    found = list(results) if several else [results]
    for result in found:
        if not isinstance(result, Evaluation):
            raise DataTypeError(
                f"The figure is of Evaluation objects, which evaluate returns; got {result!r:.80}."
            )
    if not found:
        raise DataError(f"{function} needs the results of at least one model; got none.")
    return found


def _positive(result: Evaluation, positive: Any) -> Any:
    classes = result.classes.tolist()
    if positive is not None:
        return positive
    if len(classes) != 2:
        raise DataError(f"positive= says which of {quoted(classes)} the curves are of.")
    return classes[1]


def _roc(result: Evaluation, positive: Any) -> tuple[Any, Any]:
    """Return the false and the true positive rates of a class, from threshold to threshold."""
    (code,) = label_codes([positive], result.classes, what="positive=")
    truth = result.y_true == result.classes[code]
    if truth.all() or not truth.any():
        rows = "All" if truth.any() else "None"
        raise DataError(
            f"{rows} of the rows of {result.name} are {positive!r}: a ROC curve has rows of that "
            "class and of another one."
        )
    false, true, _ = roc_curve(truth, result.proba[:, code])
    return false, true


def _draw_confusion(axes: Axes, result: Evaluation) -> None:
    display = ConfusionMatrixDisplay(result.confusion, display_labels=shown_names(result.classes))
    turn = 45 if len(result.classes) > 4 else 0
    display.plot(ax=axes, cmap="Blues", colorbar=False, xticks_rotation=turn, values_format=",d")
    heading(axes, result.name, f"accuracy {result.accuracy:.1%}")


def _draw_roc(axes: Axes, result: Evaluation) -> None:
    binary = len(result.classes) == 2
    names = shown_names(result.classes)
    for code, name in enumerate(names):
        if binary and code == 0:
            continue  # its curve mirrors that of the second class
        RocCurveDisplay.from_predictions(
            result.y_true == result.classes[code], result.proba[:, code], name=name, ax=axes
        )
    axes.plot([0, 1], [0, 1], "k:", linewidth=0.8)
    axes.set(xlabel="false positive rate", ylabel="true positive rate", xlim=_SIDES, ylim=_SIDES)
    axes.get_legend().remove()
    axes.legend(fontsize=7, loc="lower right", ncols=1 + len(names) // 14)
    note = f"class {names[1]} against {names[0]}" if binary else "each class against the rest"
    heading(axes, "ROC curves", note)


def _draw_calibration(axes: Axes, result: Evaluation) -> None:
    if len(result.classes) == 2:
        positive, probability = result.y_true == result.classes[1], result.proba[:, 1]
        what = f"P({shown_names(result.classes)[1]})"
    else:
        positive, probability = result.y_true == result.y_pred, result.proba.max(axis=1)
        what = "probability of the predicted class"
    # By rounding, a probability may be slightly above 1, which scikit-learn refuses.
    CalibrationDisplay.from_predictions(positive, probability.clip(0, 1), n_bins=10, ax=axes)
    axes.set(xlabel=what, ylabel="share that came true", xlim=_SIDES, ylim=_SIDES, aspect="equal")
    axes.get_legend().remove()
    heading(axes, "Calibration", f"expected calibration error {result.calibration_error:.3f}")
