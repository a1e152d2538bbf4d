"""Figures of posteriors of numbers and of vectors of counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.classifiers import PrequentialResult
from bayesgraph.core.arrays import whole_number
from bayesgraph.core.display import COLOURS, FRAME, INK, MUTED, more
from bayesgraph.core.errors import DataError, quoted
from bayesgraph.core.variables import Discrete
from bayesgraph.inference import Course, ItemsMixture, NumberMixture, Posterior
from bayesgraph.models import number, state_texts, texts
from bayesgraph.pictures import style
from bayesgraph.statistics import one_of

# --------------------------------------- Figures of posteriors of numbers and of vectors of counts


# Of a figure, in inches.
_WIDTH, _HEIGHT = 5.4, 3.0
# Probability below and above what is drawn, and points of a curve.
_TAIL, _POINTS = 0.002, 400
# Maximum number of components that are drawn singly, and of bars of counts.
_MAX_COMPONENTS, _MAX_BARS = 12, 200


@style.styled()
def density_figure(
    posterior: NumberMixture, *, probability: float = 0.95, title: str | None = None
) -> style.Figure:
    """Return a figure of the density of a number, or of the probabilities of a count.

    The central credible interval is darker. A mixture of few distributions shows these too, by
    their shares of the density.

    Parameters
    ----------
    posterior : NumberMixture
        Of one variable.
    probability : float
        That of the interval.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        For a posterior of several variables.
    MissingDependencyError
        If matplotlib is not installed.
    """
    if len(posterior.variables) != 1:
        names = quoted(v.name for v in posterior.variables)
        raise DataError(f"A density is drawn of one variable; got those of {names}.")
    low, high = posterior.quantile(_TAIL), posterior.quantile(1.0 - _TAIL)
    ends = posterior.interval(probability)
    axes = style.new_figure(_WIDTH, _HEIGHT).add_subplot()
    if posterior.whole and high - low < _MAX_BARS:
        counts = np.arange(low, high + 1.0)
        inside = (counts >= ends[0]) & (counts <= ends[1])
        colours = np.where(inside, COLOURS[0], FRAME).tolist()
        axes.bar(counts, posterior.density(counts), 0.8, color=colours)
    else:
        x = np.unique(np.concatenate([np.linspace(low, high, _POINTS), ends]))
        # A count has probabilities at whole numbers only: its curve has steps.
        x = np.floor(x) if posterior.whole else x
        # A column for each component, times its weight.
        parts = np.exp(posterior.log_densities(x)) * posterior.weights
        # The density may be infinite at an end, which is left out.
        parts = np.where(np.isfinite(parts), parts, np.nan)
        total = parts.sum(axis=1)
        if 1 < parts.shape[1] <= _MAX_COMPONENTS:
            axes.plot(x, parts, color=FRAME, linewidth=0.8)
        axes.plot(x, total, color=INK, linewidth=1.2)
        inside = (x >= ends[0]) & (x <= ends[1])
        axes.fill_between(x, total, where=inside, color=COLOURS[0], alpha=0.35, linewidth=0)
    name = texts([posterior.variables[0].name], 40)[0]
    note = f"mean {number(posterior.mean)}, sd {number(posterior.std)}; {100 * probability:g} %"
    note += f" in [{number(ends[0])}, {number(ends[1])}]"
    style.heading(axes, name if title is None else title, note)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    axes.set_ylabel("probability" if posterior.whole else "density")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return axes.figure


@style.styled()
def course_figure(
    course: Course, *, sequence: Any = None, probability: float = 0.95, title: str | None = None
) -> style.Figure:
    """Return a figure of a variable in the slices of a sequence: smoothed, filtered or ahead.

    The probabilities of states are stacked. Of a number there is the mean, and the band that holds
    it with a probability if it is Gaussian. Slices without a row are gaps.

    Parameters
    ----------
    course : Course
        What `smooth`, `filter` and `forecast` of a temporal network return.
    sequence : optional
        Its id, if there are several.
    probability : float
        That of the band.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If no sequence has this id, or the probability is not between 0 and 1.
    MissingDependencyError
        If matplotlib is not installed.
    """
    if not 0.0 < probability < 1.0:
        raise DataError(f"probability= is between 0 and 1; got {probability!r:.80}.")
    numbers, values = course.sequence(sequence)
    variable: Any = course.variable
    # All slices from the first to the last; those without a row are NaN.
    whole = np.full((numbers[-1] - numbers[0] + 1, values.shape[1]), np.nan)
    whole[numbers - numbers[0]] = values
    # A slice is as wide as a step, so that one alone is seen, and gaps are: each has two points, at
    # its left and its right edge.
    x = np.repeat(np.arange(len(whole) + 1) + numbers[0] - 0.5, 2)[1:-1]
    columns = np.repeat(whole, 2, axis=0).T
    axes = style.new_figure(1.7 * style.PANEL + 0.6, _HEIGHT).add_subplot()
    where = "" if sequence is None else f"{texts([sequence], 40)[0]}: "
    if isinstance(variable, Discrete):
        labels = state_texts(variable, 24)
        axes.stackplot(x, columns, labels=labels, colors=COLOURS, alpha=0.75, linewidth=0)
        axes.set_ylim(0, 1)
        look = {"frameon": False, "fontsize": 8.5, "labelcolor": MUTED, "reverse": True}
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), **look)
        note = f"{where}probabilities of its states"
    else:
        # Columns of a number are its mean and its variance.
        # Half of the width of the central interval of a Gaussian.
        half = NormalDist().inv_cdf(0.5 + probability / 2) * np.sqrt(columns[1])
        mean, look = columns[0], {"color": COLOURS[0], "alpha": 0.35, "linewidth": 0}
        axes.fill_between(x, mean - half, mean + half, **look)
        axes.plot(x, mean, color=INK, linewidth=1.2)
        axes.grid(axis="y")
        note = f"{where}mean, and a band of {100 * probability:g} %"
    note += "; gaps: no row" if np.isnan(whole).any() else ""
    axes.set(xlim=(x[0], x[-1]), xlabel="slice")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    style.heading(axes, texts([variable.name], 40)[0] if title is None else title, note)
    return axes.figure


def items_figure(posterior: ItemsMixture, *, n: int = 15, title: str | None = None) -> style.Figure:
    """Return a figure of the most probable items of a vector of counts.

    Parameters
    ----------
    posterior : ItemsMixture
    n : int
        Maximum number of items.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    shown = posterior.top(n)
    (name,) = texts([posterior.variable.name], 40)
    event = "an item is present" if posterior.presence else "the next item is this one"
    title = name if title is None else title
    return _shares(texts(shown, 30), shown.values(), title, f"probability that {event}")


def posterior_figure(
    posterior: Posterior, *, n: int = 30, title: str | None = None
) -> style.Figure:
    """Return a figure of the probabilities of states, in the order of the states.

    Parameters
    ----------
    posterior : Posterior
    n : int
        Maximum number of states; of more the most probable ones are drawn.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    n = whole_number("n", "states", n, minimum=1)
    shares = posterior.probabilities.ravel()
    shown = np.sort(np.argsort(-shares, kind="stable")[:n]).tolist()
    if len(posterior.variables) == 1:
        labels = state_texts(posterior.variables[0], 30)
    else:
        labels = texts((", ".join(map(str, states)) for states in posterior), 60)
    names = ", ".join(texts(posterior.names, 40))
    note = more(len(shares), len(shown), "states") or "probability of each state"
    title = names if title is None else title
    return _shares([labels[i] for i in shown], shares[shown].tolist(), title, note)


def _shares(labels: list[str], shares: Iterable[float], title: str, note: str) -> style.Figure:
    """Return a figure of labelled probabilities as bars."""
    bars = [style.Bar(row, p, number(p)) for row, p in enumerate(shares)]
    return style.horizontal_bars(labels, bars, "probability", title, note)


# ----------------------------------- A figure of the prequential performance of models on a stream


_MEASURES = {
    "accuracy": "accuracy",
    "log_loss": "log loss in nats",
    "kappa_majority": "kappa against the majority class",
    "kappa_no_change": "kappa against the last class",
}
# Maximum length of the name of a model; the names of pipelines are long.
_LONGEST_NAME = 60


Named: TypeAlias = "Sequence[tuple[str, PrequentialResult]]"


@style.styled()
def prequential_figure(
    results: PrequentialResult | Mapping[str, PrequentialResult] | Iterable[PrequentialResult],
    *,
    measure: str = "accuracy",
    changes: ArrayLike = (),
    title: str = "Test, then train",
) -> style.Figure:
    """Return a figure of the prequential performance of models on a stream, a curve for each.

    Drift alarms are dotted lines in the colour of their model.

    Parameters
    ----------
    results : PrequentialResult, several, or mapping from name to PrequentialResult
        Results of :func:`bayesgraph.prequential` for one model or several models.
    measure : {"accuracy", "log_loss", "kappa_majority", "kappa_no_change"}
    changes : array_like of numbers, optional
        Indices of rows at which the stream is known to change; they are drawn as grey lines.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError
        If there are no results, `measure` is unknown, or `changes` are not indices of rows.
    DataTypeError
        If an object is not a PrequentialResult.
    MissingDependencyError
        If matplotlib is not installed.
    """
    named = style.named_results(results, PrequentialResult, "prequential_figure")
    changed = np.asarray(changes)
    if changed.ndim != 1 or (len(changed) and changed.dtype.kind not in "iuf"):
        raise DataError(f"changes= takes a list of rows; got {changes!r}.")
    one_of("measure", measure, _MEASURES)
    names = _shown(named)
    # Entries in a row of the legend.
    n_columns = min(3, max(1, _LONGEST_NAME // max(1, *map(len, names))))
    lines = math.ceil(len(named) / n_columns)
    axes = style.new_figure(1.7 * style.PANEL + 0.6, style.PANEL + 0.2 * lines).add_subplot()
    for row in changed.tolist():
        axes.axvline(row, color=FRAME, linewidth=2.5, zorder=0.7)
    _draw_curves(axes, named, names, measure)
    # Set limits and labels of the axes, and draw the legend below, where long names fit.
    axes.set_xlabel("rows", labelpad=6)
    axes.set_ylabel(_MEASURES[measure], labelpad=6)
    axes.set_xlim(0, max(int(result.rows[-1]) for _, result in named))
    axes.xaxis.set_major_formatter(lambda n, _: f"{n:,.0f}")
    axes.tick_params(length=0, pad=5)
    axes.grid(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        loc="upper left", bbox_to_anchor=(0, -0.14), borderaxespad=0, borderpad=0,
        ncols=n_columns, frameon=False, fontsize=8.5, labelcolor=MUTED,
    )  # fmt: skip
    style.heading(axes, title, _note([result for _, result in named], len(changed)))
    return axes.figure


def _draw_curves(axes: style.Axes, named: Named, names: Sequence[str], measure: str) -> None:
    """Draw the curve of each result, and its alarms as dotted lines.

    The legend has the last value of the curve.
    """
    for i, (name, (_, result)) in enumerate(zip(names, named, strict=True)):
        look = style.curve_look(i)
        values = getattr(result, measure)
        end = "gives no probabilities" if np.isnan(values).all() else f"{values[-1]:.3f}"
        label = f"{name}  {end}"
        axes.plot(result.rows, values, linewidth=1.5, label=label, **look)
        for row in result.alarms.tolist():
            dots = {"color": look["color"], "linestyle": (0, (1, 2)), "linewidth": 1.1}
            axes.axvline(row, **dots, zorder=1)


def _shown(named: Named) -> list[str]:
    """Return the names of the results as short texts; repeated names get a number."""
    names = [name for name, _ in named]
    # How often each name has come up to its place.
    occurrences = [names[: i + 1].count(name) for i, name in enumerate(names)]
    pairs = zip(names, occurrences, strict=True)
    return texts([name if n == 1 else f"{name} ({n})" for name, n in pairs], _LONGEST_NAME)


def _note(results: Sequence[PrequentialResult], n_changes: int) -> str:
    """Return the line below the title: over which rows values are means, and what lines are."""
    over = ", ".join(dict.fromkeys(result.averaging for result in results))
    parts = [f"over {over}"]
    if any(len(result.alarms) for result in results):
        parts.append("dotted: alarms of drift")
    if n_changes:
        parts.append("grey: changes")
    return "; ".join(parts)
