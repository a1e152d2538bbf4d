"""Nomograms of naive Bayes classifiers: a ruler for each feature, whose points add up.

The log odds of two classes are a sum of one function of each feature, so that points on parallel
rulers add up to them (Lubsen, Pool and van der Does 1978; for naive Bayes Mozina, Demsar, Kattan
and Zupan 2004).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import COLOURS, FRAME, INK, MUTED
from bayesgraph.core.errors import DataError, UnsupportedModelError, optional_module, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.inference import Factor
from bayesgraph.models import BayesianNetwork, number, texts
from bayesgraph.pictures import style
from bayesgraph.pictures.dot_labels import percentage
from bayesgraph.questions import Contrast

if TYPE_CHECKING:
    from bayesgraph.classifiers import NetworkClassifier

_POINTS = 100.0
_WIDTH, _ROW = 8.6, 0.62
# Width of a character of a label, and minimum gap between two labels, in points of the nomogram.
_CHARACTER, _GAP = 1.05, 1.2
_LEVELS = (0.2, -0.2, 0.42, -0.42)
_BRANCH = 0.1
_SAMPLES = 801
# Probability of each of the two tails that the ruler of a continuous feature leaves out.
_TAIL = 0.005
# Maximum magnitude of the log odds on the ruler of the probability.
_LARGEST_ODDS = 5.5
_PROBABILITIES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


def nomogram_figure(
    clf: NetworkClassifier,
    *,
    positive: Any = None,
    negative: Any = None,
    max_features: int = 10,
    title: str | None = None,
) -> style.Figure:
    """Return a nomogram: each value has points, and their total gives a class probability.

    The ruler of a continuous feature whose log odds rise and fall has two branches: values of the
    rising branch are written above it, values of the falling branch below. An open diamond marks
    the points of a feature that is not observed.

    Parameters
    ----------
    clf : NetworkClassifier
        A fitted naive Bayes: the class must be the only parent of every feature.
    positive, negative : label, optional
        The classes to compare; by default the second of two against the first.
    max_features : int
        Maximum number of features to draw, those with the largest range of points. The other
        features count as not observed.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UnsupportedModelError
        If a feature has other parents than the class, or is a count or a vector of them.
    DataError
        If there are more than two classes and no `negative`, if a value is impossible in a class,
        or if `max_features` is below 1.
    MissingDependencyError
        If matplotlib is not installed.
    """
    style.check_classifier(clf)
    contrast = Contrast.of(clf.target_, positive, negative)
    if contrast.negative is None:
        raise DataError(
            "A nomogram compares two classes; say with negative= which of "
            f"{quoted(clf.target_.states)} the other one is."
        )
    max_features = whole_number("max_features", "features", max_features, minimum=1)
    network = clf.network_
    target = clf.target_
    if not isinstance(network, BayesianNetwork):
        raise UnsupportedModelError(
            f"A nomogram is of a naive Bayes network; got {network}. Explain single rows with "
            "clf.contributions instead; BayesianNetworkClassifier(n_trees=0) fits one network."
        )
    for cpd in network._nodes():
        if not isinstance(cpd.variable, (Discrete, Continuous)):
            raise UnsupportedModelError(
                f"A nomogram draws categories and numbers; {cpd.variable.name!r} has a "
                f"{type(cpd).__name__}. Explain single rows with clf.contributions instead."
            )
        if cpd.parents != (() if cpd.variable == target else (target,)):
            raise UnsupportedModelError(
                f"A nomogram is of a naive Bayes; {cpd.title} makes the points of one feature "
                "depend on another. Explain single rows with clf.contributions instead."
            )
    rulers = [_ruler(network, variable, contrast) for variable in clf.features_]
    shown = sorted(rulers, key=lambda ruler: -ruler.span)[:max_features]
    prior = float(contrast(network._log_posterior_rows(clf.target_, Evidence(1, {})))[0])
    label = style.shown_names([clf.target_.states[contrast.positive]])[0]
    other = style.shown_names([clf.target_.states[contrast.negative]])[0]
    with style.styled() as figure_class:
        figure = style.new_figure(figure_class, _WIDTH, _ROW * (len(shown) + 3) + 1.0)
        axes = figure.add_subplot()
        _draw(axes, shown, prior, f"P({label})")
        note = f"against {other}: add up the points of all values (◇ where not observed)"
        if hidden := len(rulers) - len(shown):
            note += f"; {hidden} more features not drawn"
        style.heading(axes, f"{clf.target_.name} = {label}" if title is None else title, note)
    return figure


# ------------------------------------------------------------------------------------ rulers


@dataclass(frozen=True, eq=False)
class _Ruler:
    """The values of a feature, and the change of the class log odds by each value.

    Attributes
    ----------
    variable : Variable
    values : ndarray, shape (n,)
        Codes of states, or a grid of numbers.
    log_odds : ndarray, shape (n,)
        Log likelihood ratio of the two classes at each value, which adds to the log odds.
    """

    variable: Variable
    values: NDArray[Any]
    log_odds: Floats

    @cached_property
    def low(self) -> float:
        """Minimum of the log odds, which corresponds to 0 points."""
        return float(self.log_odds.min())

    @cached_property
    def span(self) -> float:
        """Range of the log odds: maximum minus minimum."""
        return float(self.log_odds.max()) - self.low

    def branches(self) -> list[slice]:
        """Return the slices of the grid on which the log odds only rise or only fall."""
        signs = np.sign(np.diff(self.log_odds))
        turns = np.flatnonzero(signs[1:] * signs[:-1] < 0) + 1
        edges = [0, *turns.tolist(), len(self.values) - 1]
        return [slice(a, b + 1) for a, b in itertools.pairwise(edges)]


def _ruler(network: BayesianNetwork, variable: Variable, contrast: Contrast) -> _Ruler:
    if isinstance(variable, Discrete):
        values: NDArray[Any] = np.arange(variable.cardinality)
    else:
        marginal = network.query(variable.name)
        values = np.linspace(marginal.quantile(_TAIL), marginal.quantile(1 - _TAIL), _SAMPLES)
    found = network[variable.name].potential(Evidence(len(values), {variable: values}))
    assert isinstance(found, Factor)  # the class is the only parent
    log_odds = contrast(found.aligned([contrast.target]))
    if isinstance(variable, Discrete) and not np.isfinite(log_odds).all():
        state = variable.states[int(np.flatnonzero(~np.isfinite(log_odds))[0])]
        raise DataError(
            f"{variable.name!r} = {state!r} is impossible in one of the two classes, which no "
            "number of points can say. Fit with alpha= above 0."
        )
    return _Ruler(variable, values, log_odds)


# --------------------------------------------------------------------------------- drawing it


def _draw(axes: style.Axes, rulers: Sequence[_Ruler], prior: float, probability: str) -> None:
    unit = _POINTS / max(*(ruler.span for ruler in rulers), 1e-12)
    n = len(rulers)
    _line(axes, 0, 0.0, _POINTS, MUTED)
    for tick in np.arange(0, _POINTS + 1, 10):
        _tick(axes, 0, tick, _LEVELS[0], f"{tick:.0f}", MUTED)
    for row, ruler in enumerate(rulers, 1):
        place = (ruler.log_odds - ruler.low) * unit
        if isinstance(ruler.variable, Discrete):
            _line(axes, row, place.min(), place.max(), INK)
            _labels(axes, row, place, texts(ruler.variable.states, 22), _LEVELS)
        else:
            # Draw the ruler of a continuous feature, with a branch for each monotonic slice.
            # `place` has the position of each grid value on the ruler, in points.
            values = ruler.values
            ticks = _ticks(values[0], values[-1])
            branches = ruler.branches()
            for branch in branches:
                rising = place[branch][-1] >= place[branch][0]
                apart = _BRANCH * (len(branches) > 1) * (1 if rising else -1)
                y = row - apart
                _line(axes, y, place[branch].min(), place[branch].max(), INK)
                inside = ticks[(ticks >= values[branch][0]) & (ticks <= values[branch][-1])]
                at = np.interp(inside, values[branch], place[branch])
                level = _LEVELS[0] if rising else _LEVELS[1]
                _labels(axes, y, at, [number(float(t)) for t in inside], [level])
            for before in branches[:-1]:
                turn = place[before][-1]
                axes.plot(
                    [turn, turn], [row - _BRANCH, row + _BRANCH], color=INK, linewidth=1.1, zorder=2
                )
        axes.plot(
            -ruler.low * unit, row, marker="D", markersize=5.5, markerfacecolor="white",
            markeredgecolor=COLOURS[1], linestyle="none", zorder=4, clip_on=False,
        )  # fmt: skip
    offset = prior + sum(ruler.low for ruler in rulers)
    _totals(axes, n, offset, unit, sum(ruler.span for ruler in rulers))
    labels = ["points", *texts([r.variable.name for r in rulers], 24), "total points", probability]
    axes.set(xlim=(-2, _POINTS + 2), ylim=(n + 2.7, -0.6))
    axes.set_yticks(range(n + 3), labels)
    for line, text in enumerate(axes.get_yticklabels()):
        text.set(fontweight="bold" if line > n else "normal", color=MUTED if not line else INK)
    axes.axhline(n + 0.5, color=FRAME, linewidth=0.6)
    axes.set_xticks([])
    axes.tick_params(length=0, pad=8)
    axes.spines[:].set_visible(False)


def _line(axes: style.Axes, y: float, start: float, end: float, colour: str) -> None:
    axes.plot([start, end], [y, y], color=colour, linewidth=1.1, zorder=2, clip_on=False)


def _tick(
    axes: style.Axes, y: float, x: float, level: float, label: str, colour: str = INK
) -> None:
    """Draw a tick and its label at x on the ruler at height y.

    `level` is the distance of the label from the ruler: above it if positive, below if negative.
    """
    # Rows are numbered downwards, so that up is negative.
    axes.plot([x, x], [y, y - level * 0.75], color=colour, linewidth=0.7, zorder=2, clip_on=False)
    axes.text(
        x, y - level, label, ha="center", va="bottom" if level > 0 else "top", fontsize=7.5,
        color=colour,
    )  # fmt: skip


def _labels(
    axes: style.Axes, y: float, places: Floats, labels: Sequence[str], levels: Sequence[float]
) -> None:
    """Write labels at the positions `places` of a ruler at height y, without overlap.

    Each label goes to the first of the `levels` (distances from the ruler) with room for it;
    without room, it becomes a tick without text.
    """
    ends = dict.fromkeys(levels, -math.inf)
    for at in np.argsort(places, kind="stable"):
        x, label = float(places[at]), labels[at]
        half = 0.5 * _CHARACTER * len(label)
        free = [level for level in levels if ends[level] + _GAP <= x - half]
        if free:
            _tick(axes, y, x, free[0], label)
            ends[free[0]] = x + half
        else:
            _tick(axes, y, x, math.copysign(0.1, levels[0]), "")


def _ticks(first: float, last: float) -> Floats:
    """Return about twelve round numbers from `first` to `last`."""
    ticker = optional_module("matplotlib.ticker", extra="plot", what="Drawing a figure")
    ticks: Floats = ticker.MaxNLocator(nbins=12).tick_values(first, last)
    return ticks[(ticks >= first) & (ticks <= last)]


def _totals(axes: style.Axes, n: int, offset: float, unit: float, span: float) -> None:
    """Draw the rulers of the total points and of the class probability.

    The rulers are below those of `n` features, and leave out probabilities near 0 and 1. `offset`
    is the log odds at 0 total points, `span` the range of the log odds, and `unit` the points per
    unit of log odds.
    """
    low, high = max(offset, -_LARGEST_ODDS), min(offset + span, _LARGEST_ODDS)
    if low >= high:  # all sums are outside the limits
        low, high = offset, offset + max(span, 1e-12)

    def place(log_odds: Floats) -> Floats:
        return np.asarray((log_odds - low) / (high - low) * _POINTS)

    totals = _ticks((low - offset) * unit, (high - offset) * unit)
    _line(axes, n + 1, 0.0, _POINTS, INK)
    _labels(axes, n + 1, place(offset + totals / unit), [f"{t:.0f}" for t in totals], _LEVELS[:1])
    shares = np.array([*_PROBABILITIES, *(1 - p for p in _PROBABILITIES[-2::-1])])
    odds = np.log(shares / (1 - shares))
    inside = (odds >= low) & (odds <= high)
    _line(axes, n + 2, 0.0, _POINTS, INK)
    shown = [percentage(float(p)).replace(".0%", "%") for p in shares[inside]]
    _labels(axes, n + 2, place(odds[inside]), shown, _LEVELS[1:2])
