"""Decision boundaries of a classifier over two continuous features, the others marginalised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.cpds.description import number
from bayesgraph.encoding import columns_of
from bayesgraph.errors import DataError, quoted, unknown_variable
from bayesgraph.factors.algebra import Floats
from bayesgraph.measures import label_codes
from bayesgraph.palette import COLOURS, INK
from bayesgraph.plots.style import (
    Axes,
    check_classifier,
    heading,
    new_figure,
    shown_names,
    styled,
    without_mathematics,
)
from bayesgraph.typing import EvidenceLike
from bayesgraph.variables import Continuous, Name

if TYPE_CHECKING:
    from bayesgraph.classifiers.graph_classifier import GraphClassifier

# Number of grid points on a side; lines between classes are interpolated between grid points.
_GRID_POINTS = 160
_MARGIN = 0.08
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_PANEL = 3.7


def plot_decision_boundary(
    clf: GraphClassifier,
    X: Any,
    y: ArrayLike,
    features: tuple[Name, Name],
    ax: Axes = None,
    evidence: EvidenceLike = None,
    *,
    title: str | None = None,
) -> Axes:
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
    check_classifier(clf)
    fixed = {} if evidence is None else dict(evidence)
    _check(clf, features, fixed)
    points, codes = _points(clf, X, y, features)
    limits = _limits(points)
    grid = [np.linspace(low, high, _GRID_POINTS) for low, high in limits]
    log_proba = _log_proba(clf, features, fixed, grid)
    with styled() as figure_class:
        if ax is None:
            ax = new_figure(figure_class, _PANEL + 2.2, _PANEL + 0.6).add_subplot()
        ax.imshow(
            _background(np.exp(log_proba)), origin="lower", extent=limits.ravel(), aspect="auto",
            interpolation="bilinear", zorder=0,
        )  # fmt: skip
        n = log_proba.shape[-1]
        for k in range(n if n > 2 else 1):
            rest = np.delete(log_proba, k, axis=-1).max(axis=-1, initial=-np.inf)
            # Clipped, so that a line is also drawn at the border of an impossible class.
            lead = np.clip(log_proba[..., k] - rest, -50.0, 50.0)
            if lead.min() < 0 < lead.max():
                ax.contour(*grid, lead, levels=[0.0], colors=[INK], linewidths=1.1, zorder=2)
        for k, name in enumerate(shown_names(clf.classes_)):
            ax.scatter(
                *points[codes == k].T, s=20, marker=_MARKERS[k], color=COLOURS[k], label=name,
                edgecolor="white", linewidth=0.6, zorder=3,
            )  # fmt: skip
        ax.set(xlim=limits[0], ylim=limits[1], xlabel=str(features[0]), ylabel=str(features[1]))
        ax.tick_params(length=0, pad=5)
        legend = ax.legend(
            title=str(clf.target_.name), loc="upper left", bbox_to_anchor=(1.02, 1.01),
            borderaxespad=0, frameon=False, fontsize=8.5, alignment="left", handletextpad=0.3,
        )  # fmt: skip
        without_mathematics(
            [ax.xaxis.label, ax.yaxis.label, legend.get_title(), *legend.get_texts()]
        )
        heading(ax, type(clf).__name__ if title is None else title, _note(clf, fixed))
    return ax


def _check(clf: GraphClassifier, features: tuple[Name, Name], fixed: Mapping[Name, Any]) -> None:
    by_name = {variable.name: variable for variable in clf.features_}
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise DataError(f"features= takes the names of two features; got {features!r}.")
    for name in (*features, *fixed):
        if name not in by_name:
            raise unknown_variable(name, by_name, where=type(clf).__name__)
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
    for name in features:
        if name not in columns:
            raise unknown_variable(name, columns, where="X")
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
    # Without negative values there is no margin below 0, where the density may be zero.
    minimum = np.where(low > 0, 0.5 * low, np.where(low == 0, 0.0, -np.inf))
    return np.stack([np.maximum(low - margin, minimum), high + margin], axis=1)


def _log_proba(
    clf: GraphClassifier,
    features: tuple[Name, Name],
    fixed: Mapping[Name, Any],
    axes: list[Floats],
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
    share = (proba.max(axis=-1) - 1 / n) / (1 - 1 / n) if n > 1 else np.ones(proba.shape[:-1])
    palette = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in COLOURS])
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
