"""Figures of the predictions of classifiers, drawn by scikit-learn's displays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    auc,
    average_precision_score,
    precision_recall_curve,
    roc_curve,
)

from bayesgraph.classifiers import Evaluation
from bayesgraph.core.arrays import Floats, betaincinv
from bayesgraph.core.display import COLOURS, FRAME, INK
from bayesgraph.core.errors import DataError, check_known, quoted
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.variables import Continuous, Name
from bayesgraph.models import number
from bayesgraph.pictures import style
from bayesgraph.questions import equal_bins, label_codes
from bayesgraph.statistics import one_of
from bayesgraph.tables import columns_of

if TYPE_CHECKING:
    from bayesgraph.classifiers import GraphClassifier

# --------------------- Figures of the predictions of classifiers, drawn by scikit-learn's displays


# Limits of the axes of curves, with room for what lies at 0 and 1.
_SIDES = {"xlim": (-0.03, 1.03), "ylim": (-0.03, 1.03), "aspect": "equal"}
# Titles and axes of the curves that show how well probabilities rank the rows.
_CURVES: dict[str, tuple[str, dict[str, Any]]] = {
    "roc": ("ROC curves", {"xlabel": "false positive rate", "ylabel": "true positive rate"}),
    "precision_recall": ("Precision-recall curves", {"xlabel": "recall", "ylabel": "precision"}),
}


@style.styled()
def evaluation_figure(
    results: Evaluation | Sequence[Evaluation], *, curve: str = "roc"
) -> style.Figure:
    """Return a figure with a row of three panels for each model.

    The panels are the confusion matrix, the ROC or precision-recall curves and the calibration
    curve. With two classes, both curves are those of the second class. With more classes there is
    a curve of each class against the rest, and the calibration is that of the predicted class.

    Parameters
    ----------
    results : Evaluation or sequence of Evaluation
        Returned by :func:`bayesgraph.evaluate`.
    curve : {"roc", "precision_recall"}

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If there are no results, or for an unknown curve.
    DataTypeError
        If an object is not an `Evaluation`.
    MissingDependencyError
        If matplotlib is not installed.
    """
    results = [r for _, r in style.named_results(results, Evaluation, "evaluation_figure")]
    one_of("curve", curve, _CURVES)
    title, labels = _CURVES[curve]
    display = RocCurveDisplay if curve == "roc" else PrecisionRecallDisplay
    # In inches: a class in the confusion matrix needs 0.45; labels and headings need the rest.
    side = max(style.PANEL, *(0.45 * len(result.classes) for result in results))
    figure = style.new_figure(3 * (side + 0.9), len(results) * (side + 1.1))
    grid = figure.subplots(len(results), 3, squeeze=False)
    for result, (confusion, ranking, calibration) in zip(results, grid, strict=True):
        names, is_binary = style.shown_names(result.classes), len(result.classes) == 2
        matrix = ConfusionMatrixDisplay(result.confusion, display_labels=names)
        look = {"cmap": "Blues", "colorbar": False, "values_format": ",d"}
        # Long names below the matrix are turned, as they would cover each other.
        matrix.plot(ax=confusion, xticks_rotation=45 if len("".join(names)) > 24 else 0, **look)
        style.heading(confusion, result.name, f"accuracy {result.accuracy:.1%}")
        # The ROC curve of the first of two classes mirrors that of the second.
        for code in range(1 if is_binary else 0, len(names)):
            truth, shares = result.y_true == result.classes[code], result.proba[:, code]
            display.from_predictions(truth, shares, name=names[code], ax=ranking)
        if curve == "roc":
            ranking.plot([0, 1], [0, 1], "k:", linewidth=0.8)
        ranking.set(**labels, **_SIDES)
        ranking.legend(fontsize=8, loc="lower right", ncols=1 + len(names) // 14)
        note, what = "each class against the rest", "probability of the predicted class"
        # Of two classes, `truth` and `shares` are still those of the second.
        if is_binary:
            note, what = f"class {names[1]} against {names[0]}", f"P({names[1]})"
        else:
            truth, shares = result.y_true == result.y_pred, result.proba.max(axis=1)
        style.heading(ranking, title, note)
        n_rows = _draw_calibration(calibration, truth, shares)
        calibration.set(xlabel=what, ylabel="share that came true", **_SIDES)
        error = f"expected calibration error {result.calibration_error:.3f}"
        style.heading(calibration, "Calibration", f"{error}; points of some {n_rows:,} rows")
    return figure


def _draw_calibration(axes: style.Axes, truth: NDArray[np.bool_], shares: Floats) -> int:
    """Draw a point for each bin of about equally many rows; return the median of their numbers.

    Lines through the points are intervals of the share that came true, with a probability of 95 %
    from Jeffreys' prior (Brown, Cai and DasGupta 2001).

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    truth : ndarray of bool, shape (n_rows,)
        Whether what was predicted came true.
    shares : ndarray, shape (n_rows,)
        Its predicted probabilities.
    """
    # Sums over the rows of each bin, which begin at `starts` in ascending order.
    order, starts = equal_bins(shares)
    n_rows = np.diff(starts, append=len(shares))
    hits = np.add.reduceat(truth[order].astype(np.float64), starts)
    predicted, share = np.add.reduceat(shares[order], starts) / n_rows, hits / n_rows
    # The posterior of the share: a beta distribution, of which the prior has the parameters 1/2.
    a, b = hits + 0.5, n_rows - hits + 0.5
    reach = [share - betaincinv(a, b, 0.025), betaincinv(a, b, 0.975) - share]
    axes.plot([0, 1], [0, 1], "k:", linewidth=0.8)
    # Lengths below and above the point, not negative where the share is 0 or 1.
    look = {"fmt": "o-", "color": COLOURS[0], "markersize": 4, "linewidth": 1.0}
    axes.errorbar(predicted, share, np.maximum(reach, 0.0), ecolor=FRAME, **look)
    return int(np.median(n_rows))


@style.styled()
def ranking_figure(
    results: Evaluation | Sequence[Evaluation],
    *,
    curve: str = "roc",
    positive: Any = None,
    title: str | None = None,
) -> style.Figure:
    """Return a panel with the ROC or precision-recall curve of each model, of one class.

    The rows of all folds make one curve; the legend has the area below it. `Evaluation.auc` and
    `Evaluation.average_precision` are means of the areas of the folds instead.

    Parameters
    ----------
    results : Evaluation or sequence of Evaluation
        Returned by :func:`bayesgraph.evaluate`.
    curve : {"roc", "precision_recall"}
        The grey line is chance: the diagonal, or the share of the class in the rows.
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
        classes, if all rows are of that class, or none, and for an unknown curve.
    DataTypeError
        If an object is not an `Evaluation`.
    MissingDependencyError
        If matplotlib is not installed.
    """
    results = [r for _, r in style.named_results(results, Evaluation, "ranking_figure")]
    one_of("curve", curve, _CURVES)
    heading, labels = _CURVES[curve]
    chosen = results[0].classes.tolist()[results[0]._positive_code(positive, "the curves are of")]
    (name,) = style.shown_names([chosen])
    axes = style.new_figure(style.PANEL + 1.2, style.PANEL + 1.1).add_subplot()
    for k, result in enumerate(results):
        truth, shares = _ranked(result, chosen)
        if curve == "roc":
            x, y, _ = roc_curve(truth, shares)
            # Heights of the line of chance at the left and the right end: the diagonal.
            area, chance, steps = auc(x, y), [0.0, 1.0], "default"
        else:
            y, x, _ = precision_recall_curve(truth, shares)
            # The line of chance is level: there the precision is the share of the class.
            area, chance = average_precision_score(truth, shares), [truth.mean()] * 2
            # Average precision is the area below steps, not below lines.
            steps = "steps-post"
        # The line of chance is drawn once.
        if not k:
            axes.plot([0, 1], chance, color=FRAME, linewidth=0.8, zorder=1)
        look = style.curve_look(k) | {"linewidth": 1.4, "drawstyle": steps}
        axes.plot(x, y, label=f"{result.name} ({area:.3f})", **look)
    axes.set(**labels, **_SIDES)
    axes.legend(fontsize=8, loc="lower right" if curve == "roc" else "lower left")
    note = f"{name} against the rest, rows of all folds; in brackets the area below"
    style.heading(axes, heading if title is None else title, note)
    return axes.figure


def _ranked(result: Evaluation, positive: Any) -> tuple[NDArray[np.bool_], Floats]:
    """Return whether each row is of a class, and the probability of that class."""
    code = result._positive_code(positive, "the curves are of")
    truth = result.y_true == result.classes[code]
    if truth.all() or not truth.any():
        rows = "All" if truth.any() else "None"
        raise DataError(
            f"{rows} of the rows of {result.name} are {positive!r}: a curve has rows of that "
            "class and of another one."
        )
    return truth, result.proba[:, code]


# ------- Decision boundaries of a classifier over two continuous features, the others marginalised


# Number of grid points on a side; lines between classes are interpolated between grid points.
_GRID_POINTS = 160
# Share of the range of the points that is added at each end of an axis.
_MARGIN = 0.08
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Side of the panel in inches.
_PANEL = 3.7


@style.styled()
def plot_decision_boundary(
    clf: GraphClassifier,
    X: Any,
    y: ArrayLike,
    features: tuple[Name, Name],
    ax: style.Axes = None,
    evidence: EvidenceLike = None,
    *,
    title: str | None = None,
) -> style.Axes:
    """Draw the most probable class over two continuous features, and the rows of a table.

    The background has the colour of the most probable class, the deeper the more probable it is.
    Lines show where the two most probable classes are equally probable. Features that are neither
    drawn nor given are not observed: they are marginalised exactly.

    Parameters
    ----------
    clf : GraphClassifier
        Fitted.
    X : table, shape (n_rows, n_features)
        Rows to draw as points; rows without both features are left out.
    y : array_like, shape (n_rows,)
        Labels of the rows.
    features : pair of names
        Names of the continuous features on the horizontal and on the vertical axis.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default the only axes of a new figure, ``ax.figure``. Several models can
        be drawn on several axes of one figure.
    evidence : mapping from name to value, optional
        Values of other features.
    title : str, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    UnknownVariableError
        If the classifier does not have a feature.
    DataError
        If `features` are not two continuous features or are also in `evidence`, if there are more
        than seven classes, if no row has both features, or if a label is not a class.
    MissingDependencyError
        If matplotlib is not installed.
    """
    style.check_classifier(clf)
    fixed = {} if evidence is None else dict(evidence)
    _check(clf, features, fixed)
    points, codes = _points(clf, X, y, features)
    limits = _limits(points)
    grid = [np.linspace(low, high, _GRID_POINTS) for low, high in limits]
    log_proba = _log_proba(clf, features, fixed, grid)
    if ax is None:
        ax = style.new_figure(_PANEL + 2.2, _PANEL + 0.6).add_subplot()
    look = {"origin": "lower", "aspect": "auto", "interpolation": "bilinear", "zorder": 0}
    # The extent is left, right, bottom and top.
    ax.imshow(_background(np.exp(log_proba)), extent=limits.ravel(), **look)
    n = log_proba.shape[-1]
    for k in range(n if n > 2 else 1):  # the border of one of two classes is that of the other
        # The most probable of the other classes; a single class has none.
        others = np.delete(log_proba, k, axis=-1).max(axis=-1, initial=-np.inf)
        # Clipped, so that a line is also drawn at the border of an impossible class.
        lead = np.clip(log_proba[..., k] - others, -50.0, 50.0)
        if lead.min() < 0 < lead.max():
            ax.contour(*grid, lead, levels=[0.0], colors=[INK], linewidths=1.1, zorder=2)
    for k, name in enumerate(style.shown_names(clf.classes_)):
        look = {"marker": _MARKERS[k], "color": COLOURS[k], "edgecolor": "white", "zorder": 3}
        ax.scatter(*points[codes == k].T, s=20, label=name, linewidth=0.6, **look)
    ax.set(xlim=limits[0], ylim=limits[1])
    # Axes of the user read formulas.
    ax.set_xlabel(str(features[0]), parse_math=False)
    ax.set_ylabel(str(features[1]), parse_math=False)
    ax.tick_params(length=0, pad=5)
    ax.legend(
        title=str(clf.target_.name), loc="upper left", bbox_to_anchor=(1.02, 1.01),
        borderaxespad=0, frameon=False, fontsize=8.5, alignment="left", handletextpad=0.3,
    )  # fmt: skip
    style.heading(ax, type(clf).__name__ if title is None else title, _note(clf, fixed))
    return ax


def _check(clf: GraphClassifier, features: tuple[Name, Name], fixed: Mapping[Name, Any]) -> None:
    """Raise an error unless two continuous features can be drawn with the others fixed."""
    by_name = {variable.name: variable for variable in clf.features_}
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise DataError(f"features= takes the names of two features; got {features!r}.")
    check_known((*features, *fixed), by_name, where=type(clf).__name__)
    for name in features:
        if not isinstance(by_name[name], Continuous):
            raise DataError(
                f"A decision boundary is drawn over two continuous features; {name!r} is discrete. "
                "Fix it with evidence=."
            )
        if name in fixed:
            raise DataError(f"{name!r} is drawn and cannot be given as well.")
    if len(clf.classes_) > len(COLOURS):
        raise DataError(
            f"There are colours for {len(COLOURS)} classes; the model has {len(clf.classes_)}."
        )


def _points(
    clf: GraphClassifier, X: Any, y: ArrayLike, features: tuple[Name, Name]
) -> tuple[Floats, NDArray[np.intp]]:
    """Return the rows in which both features are observed, shape (n, 2), and their class codes."""
    columns = columns_of(X, [variable.name for variable in clf.features_])
    check_known(features, columns, where="X")
    points = np.stack([np.asarray(columns[name], dtype=np.float64) for name in features], axis=1)
    codes = label_codes(y, clf.classes_, what="y")
    if len(codes) != len(points):
        raise DataError(
            f"y takes one label for each row of X; got {len(codes)} for {len(points)} rows."
        )
    observed = np.isfinite(points).all(axis=1)
    if not observed.any():
        raise DataError(f"No row of X has both {quoted(features)}; there is nothing to draw.")
    return points[observed], codes[observed]


def _limits(points: Floats) -> Floats:
    """Return the limits (low, high) of both axes, shape (2, 2), with a margin around the points."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = _MARGIN * np.where(high > low, high - low, 1.0)
    # Without negative values there is no margin below 0, where the density may be zero: of positive
    # ones it leads at most half of the way to 0.
    minimum = np.where(low > 0, 0.5 * low, np.where(low == 0, 0.0, -np.inf))
    return np.stack([np.maximum(low - margin, minimum), high + margin], axis=1)


def _log_proba(
    clf: GraphClassifier, features: tuple[Name, Name], fixed: Mapping[Name, Any], axes: list[Floats]
) -> Floats:
    """Return log class probabilities on a grid, shape (n_y, n_x, n_classes).

    `axes` are the grid values of both features; `fixed` is the evidence on other features.
    """
    x, y = (values.ravel() for values in np.meshgrid(*axes))
    columns: dict[Name, Any] = {v.name: [fixed.get(v.name)] * len(x) for v in clf.features_}
    columns[features[0]], columns[features[1]] = x, y
    # A classifier that was fitted on an array predicts arrays, whose missing values are NaN.
    named = hasattr(clf, "feature_names_in_")
    table = columns if named else np.array([*columns.values()], dtype=np.float64).T
    return np.asarray(clf.predict_log_proba(table)).reshape(len(axes[1]), len(axes[0]), -1)


def _background(proba: Floats) -> Floats:
    """Return the colour of the most probable class at each grid point, shape (n_y, n_x, 3).

    The more probable the class, the deeper its colour.
    """
    n = proba.shape[-1]
    # 0 where all classes are equally probable, 1 where one is certain.
    share = (proba.max(axis=-1) - 1 / n) / (1 - 1 / n) if n > 1 else np.ones(proba.shape[:-1])
    palette = style.matplotlib("colors").to_rgba_array(COLOURS)[:, :3]
    # From 8 to 45 per cent of the colour, the rest is white; points of the same colours stand out.
    strength = (0.08 + 0.37 * np.clip(share, 0, 1))[..., None]
    return np.asarray(1.0 - strength * (1.0 - palette[proba.argmax(axis=-1)]))


def _note(clf: GraphClassifier, fixed: Mapping[Name, Any]) -> str:
    """Return the line below the title: features in the evidence, number of unobserved features."""
    shown = [f"{k} = {number(v) if isinstance(v, float) else v}" for k, v in fixed.items()]
    n_free = len(clf.features_) - 2 - len(fixed)
    if n_free:
        shown.append(f"{n_free} {'other' if shown else 'features'} not observed")
    note = ", ".join(shown)
    return note if len(note) <= 60 else f"{len(fixed)} features given, {n_free} not observed"
