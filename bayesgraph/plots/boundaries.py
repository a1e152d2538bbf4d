"""Decision boundaries of classifiers over two continuous features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.cpds.description import number
from bayesgraph.encoding import columns_of
from bayesgraph.errors import DataError, quoted, unknown_variable
from bayesgraph.factors.algebra import Floats
from bayesgraph.measures import label_codes
from bayesgraph.plots.style import (
    COLOURS,
    INK,
    Axes,
    Figure,
    heading,
    new_figure,
    shown_names,
    styled,
)
from bayesgraph.variables import Continuous, Name

if TYPE_CHECKING:
    from bayesgraph.classifiers.graph_classifier import GraphClassifier

# Points on a side: the lines between classes are interpolated, so these need not be pixels.
_GRID_POINTS = 160
_MARGIN = 0.08
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_PANEL = 3.7
_MOST_CLASSES = len(COLOURS)


def plot_decision_boundary(
    clf: GraphClassifier,
    X: Any,
    y: ArrayLike,
    features: tuple[Name, Name],
    ax: Axes = None,
    given: Mapping[Name, Any] | None = None,
    *,
    title: str | None = None,
) -> Axes:
    """Draw the most probable class over two continuous features, and the rows of a table.

    The ground has the colour of the most probable class, the deeper the more probable it is; lines
    are where two classes are equally probable. Features that are neither drawn nor given are not
    observed: they are summed out exactly.

    Parameters
    ----------
    clf : GraphClassifier
        Fitted.
    X : table, shape (n_rows, n_features)
        Rows to draw as points; rows without both features are left out.
    y : array_like, shape (n_rows,)
        Their labels.
    features : pair of names
        Of continuous features: the horizontal and the vertical one.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the only axes of a new figure, ``ax.figure``.
    given : mapping from name to value, optional
        What other features are fixed at.
    title : str, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    UnknownVariableError
        For a feature that the classifier does not have.
    DataError
        For features that are not two continuous ones, or given ones among them; more than seven
        classes; no row with both features; labels that are not classes.
    MissingDependencyError
        If matplotlib is not installed.
    """
    points, codes = _points(clf, X, y, features)
    with styled() as figure_class:
        if ax is None:
            ax = new_figure(figure_class, _PANEL + 2.2, _PANEL + 0.6).add_subplot()
        name = type(clf).__name__ if title is None else title
        _draw(ax, clf, name, points, codes, features, given)
        _legend(ax, clf)
    return ax


def decision_boundaries_figure(
    models: Mapping[str, GraphClassifier] | Sequence[GraphClassifier],
    X: Any,
    y: ArrayLike,
    features: tuple[Name, Name],
    given: Mapping[Name, Any] | None = None,
) -> Figure:
    """Return a figure of the decision boundaries of several classifiers side by side.

    Parameters
    ----------
    models : mapping from title to classifier, or sequence of classifiers
        Fitted, of the same classes.
    X, y, features, given
        As for `plot_decision_boundary`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        For no models, models of different classes, and as `plot_decision_boundary` does.
    """
    named = (
        dict(models)
        if isinstance(models, Mapping)
        else {f"{type(m).__name__} {i}": m for i, m in enumerate(models, 1)}
    )
    if not named:
        raise DataError("decision_boundaries_figure needs at least one fitted model; got none.")
    first = next(iter(named.values()))
    for model_title, model in named.items():
        if list(model.classes_) != list(first.classes_):
            raise DataError(
                f"Models side by side have the same classes; {model_title!r} has "
                f"{quoted(model.classes_)}, the first {quoted(first.classes_)}."
            )
    drawn = [(t, model, *_points(model, X, y, features)) for t, model in named.items()]
    n_columns = min(len(drawn), 3)
    n_rows = -(-len(drawn) // n_columns)
    with styled() as figure_class:
        width = n_columns * (_PANEL + 0.35) + 1.8
        figure = new_figure(figure_class, width, n_rows * (_PANEL + 0.6))
        grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
        for axes, (model_title, model, points, codes) in zip(grid.flat, drawn, strict=False):
            _draw(axes, model, model_title, points, codes, features, given)
        for axes in grid.flat[len(drawn) :]:
            axes.set_visible(False)
        for axes in grid[:, 1:].flat:
            axes.set_ylabel("")
        _legend(grid[0, -1], first)
    return figure


# ------------------------------------------------------------------------------ what is drawn


def _points(
    clf: GraphClassifier, X: Any, y: ArrayLike, features: tuple[Name, Name]
) -> tuple[Floats, NDArray[np.intp]]:
    """Return the rows with both features, shape (n, 2), and the codes of their classes."""
    _checked(clf, features)
    if len(clf.classes_) > _MOST_CLASSES:
        raise DataError(
            f"There are colours for {_MOST_CLASSES} classes; the model has {len(clf.classes_)}."
        )
    names = [variable.name for variable in clf.features_]
    columns = columns_of(X) if _is_named(X) else columns_of(np.asarray(X), names)
    for name in features:
        if name not in columns:
            raise unknown_variable(name, columns, where="X")
    points = np.stack([np.asarray(columns[name], dtype=np.float64) for name in features], axis=1)
    codes = label_codes(y, clf.classes_, what="y")
    if len(codes) != len(points):
        raise DataError(
            f"y takes one label for each row of X; got {len(codes)} for {len(points)} rows."
        )
    seen = np.isfinite(points).all(axis=1)
    if not seen.any():
        raise DataError(f"No row of X has both {quoted(features)}; there is nothing to draw.")
    return points[seen], codes[seen]


def _is_named(X: Any) -> bool:
    return not isinstance(X, (np.ndarray, list, tuple))


def _checked(clf: GraphClassifier, features: tuple[Name, Name]) -> None:
    by_name = {variable.name: variable for variable in clf.features_}
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise DataError(f"features= takes the names of two features; got {features!r}.")
    for name in features:
        if name not in by_name:
            raise unknown_variable(name, by_name, where=type(clf).__name__)
        if not isinstance(by_name[name], Continuous):
            raise DataError(
                f"A decision boundary is drawn over two continuous features; {name!r} is discrete. "
                "Fix it with given=."
            )


def _limits(points: Floats) -> Floats:
    """Return the lower and upper end of both axes, shape (2, 2)."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = _MARGIN * np.where(high > low, high - low, 1.0)
    # What is never negative in the data is not drawn where it is: it may have no probability there.
    least = np.where(low > 0, 0.5 * low, np.where(low == 0, 0.0, -np.inf))
    return np.stack([np.maximum(low - room, least), high + room], axis=1)


def _log_proba(
    clf: GraphClassifier,
    features: tuple[Name, Name],
    given: Mapping[Name, Any] | None,
    axes: Sequence[Floats],
) -> Floats:
    """Return log probabilities on a grid, shape (n_y, n_x, n_classes)."""
    fixed = dict(given or {})
    if both := [name for name in features if name in fixed]:
        raise DataError(f"{quoted(both)} is drawn and cannot be given as well.")
    by_name = {variable.name: variable for variable in clf.features_}
    for name in fixed:
        if name not in by_name:
            raise unknown_variable(name, by_name, where=type(clf).__name__)
    x, y = (values.ravel() for values in np.meshgrid(*axes))
    columns: dict[Name, Any] = {name: [fixed.get(name)] * len(x) for name in by_name}
    columns[features[0]], columns[features[1]] = x, y
    if not hasattr(clf, "feature_names_in_"):
        # Fitted on an array: asked with one, whose missing values are NaN.
        matrix = np.array([columns[name] for name in by_name], dtype=np.float64).T
        log_proba = clf.predict_log_proba(matrix)
    else:
        log_proba = clf.predict_log_proba(columns)
    return np.asarray(log_proba).reshape(len(axes[1]), len(axes[0]), -1)


# ---------------------------------------------------------------------------------- drawing it


def _draw(
    axes: Axes,
    clf: GraphClassifier,
    title: str,
    points: Floats,
    codes: NDArray[np.intp],
    features: tuple[Name, Name],
    given: Mapping[Name, Any] | None,
) -> None:
    limits = _limits(points)
    grid = [np.linspace(low, high, _GRID_POINTS) for low, high in limits]
    log_proba = _log_proba(clf, features, given, grid)
    n = log_proba.shape[-1]
    axes.imshow(
        _ground(np.exp(log_proba)), origin="lower", extent=limits.ravel(), aspect="auto",
        interpolation="bilinear", zorder=0,
    )  # fmt: skip
    for k in range(n if n > 2 else 1):
        rest = np.delete(log_proba, k, axis=-1).max(axis=-1, initial=-np.inf)
        # Bounded, so that a line is drawn beside a class that is impossible.
        lead = np.clip(log_proba[..., k] - rest, -50.0, 50.0)
        if lead.min() < 0 < lead.max():
            axes.contour(*grid, lead, levels=[0.0], colors=[INK], linewidths=1.1, zorder=2)
    for k, name in enumerate(shown_names(clf.classes_)):
        axes.scatter(
            *points[codes == k].T, s=20, marker=_MARKERS[k], color=COLOURS[k], label=name,
            edgecolor="white", linewidth=0.6, zorder=3,
        )  # fmt: skip
    axes.set(xlim=limits[0], ylim=limits[1], xlabel=str(features[0]), ylabel=str(features[1]))
    axes.tick_params(length=0, pad=5)
    heading(axes, title, _note(clf, features, given))


def _ground(proba: Floats) -> Floats:
    """Return colours, shape (n_y, n_x, 3): white where all classes are equal, then deeper."""
    n = proba.shape[-1]
    share = (proba.max(axis=-1) - 1 / n) / (1 - 1 / n) if n > 1 else np.ones(proba.shape[:-1])
    palette = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in COLOURS])
    strength = (0.08 + 0.37 * np.clip(share, 0, 1))[..., None]
    return np.asarray(1.0 - strength * (1.0 - palette[proba.argmax(axis=-1)]))


def _legend(axes: Axes, clf: GraphClassifier) -> None:
    axes.legend(
        title=str(clf.target_.name), loc="upper left", bbox_to_anchor=(1.02, 1.01),
        borderaxespad=0, frameon=False, fontsize=8.5, alignment="left", handletextpad=0.3,
    )  # fmt: skip


def _note(
    clf: GraphClassifier, features: tuple[Name, Name], given: Mapping[Name, Any] | None
) -> str:
    """Return which features are given and how many are not observed."""
    fixed = dict(given or {})
    shown = [
        f"{name} = {number(value) if isinstance(value, float) else value}"
        for name, value in fixed.items()
    ]
    left = len(clf.features_) - len(features) - len(fixed)
    if left:
        shown.append(f"{left} {'other' if shown else 'features'} not observed")
    note = ", ".join(shown)
    return note if len(note) <= 60 else f"{len(fixed)} features given, {left} not observed"
