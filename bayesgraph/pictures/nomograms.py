"""Nomograms of naive Bayes classifiers: a ruler for each feature, whose points add up.

The log odds of two classes are a sum of one function of each feature, so that points on parallel
rulers add up to them (Lubsen, Pool and van der Does 1978; for naive Bayes Mozina, Demsar, Kattan
and Zupan 2004).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import Floats, whole_number
from bayesgraph.core.display import COLOURS, FRAME, INK, MUTED
from bayesgraph.core.errors import DataError, UnsupportedModelError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.inference import Factor
from bayesgraph.models import BayesianNetwork, number, texts
from bayesgraph.pictures import style
from bayesgraph.pictures.dot_labels import percentage
from bayesgraph.questions import Contrast

if TYPE_CHECKING:
    from bayesgraph.classifiers import NetworkClassifier

# Points of the longest ruler.
_POINTS = 100.0
# In inches: the figure, and the height of a ruler.
_WIDTH, _ROW = 8.6, 0.62
# Width of a character of a label, and minimum gap between two labels, in points of the nomogram.
_CHARACTER, _GAP = 1.05, 1.2
# Distances of labels from their ruler, in rows: above it if positive, below if negative.
_LEVELS = (0.2, -0.2, 0.42, -0.42)
# The same of the branches of a ruler from its middle.
_BRANCH = 0.1
# Number of values of a number at which its log odds are computed.
_SAMPLES = 801
# Probability of each of the two tails that the ruler of a continuous feature leaves out.
_TAIL = 0.005
# Maximum magnitude of the log odds on the ruler of the probability.
_LARGEST_ODDS = 5.5
# Probabilities that have ticks, and their complements.
_PROBABILITIES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


@style.styled()
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
    target, model = clf.target_, clf.network_
    if len(model.networks) != 1 or not model._is_joint:
        raise UnsupportedModelError(
            f"A nomogram is of a naive Bayes network; got {model}. Explain single rows with "
            "clf.contributions instead; BayesianNetworkClassifier(n_trees=0) fits one network."
        )
    network = model.networks[0]
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
    shown = sorted(rulers, key=lambda ruler: -np.ptp(ruler.log_odds))[:max_features]
    # The log odds in a row without evidence.
    prior = float(contrast(network._log_posterior_rows(target, Evidence(1, {})))[0])
    label, other = (
        style.shown_names([target.states[code]])[0]
        for code in (contrast.positive, contrast.negative)
    )
    axes = style.new_figure(_WIDTH, _ROW * (len(shown) + 3) + 1.0).add_subplot()
    _draw(axes, shown, prior, f"P({label})")
    note = f"against {other}: add up the points of all values (◇ where not observed)"
    if hidden := len(rulers) - len(shown):
        note += f"; {hidden} more features not drawn"
    style.heading(axes, f"{target.name} = {label}" if title is None else title, note)
    return axes.figure


class _Ruler(NamedTuple):
    """A feature, codes of its states or a grid of its numbers, and the log odds each adds."""

    variable: Variable
    values: NDArray[Any]
    log_odds: Floats


def _ruler(network: BayesianNetwork, variable: Variable, contrast: Contrast) -> _Ruler:
    """Return the ruler of a feature, of a number over its central range."""
    if isinstance(variable, Discrete):
        values: NDArray[Any] = np.arange(variable.cardinality)
    else:
        marginal = network.query(variable.name)
        values = np.linspace(marginal.quantile(_TAIL), marginal.quantile(1 - _TAIL), _SAMPLES)
    factor = network[variable.name].potential(Evidence(len(values), {variable: values}))
    assert isinstance(factor, Factor)  # the class is the only parent
    # Of the log likelihoods, shape (n_values, n_classes).
    log_odds = contrast(factor.aligned([contrast.target]))
    if isinstance(variable, Discrete) and not np.isfinite(log_odds).all():
        state = variable.states[int(np.flatnonzero(~np.isfinite(log_odds))[0])]
        raise DataError(
            f"{variable.name!r} = {state!r} is impossible in one of the two classes, which no "
            "number of points can say. Fit with alpha= above 0."
        )
    return _Ruler(variable, values, log_odds)


# --------------------------------------------------------------------------------- drawing it


def _draw(axes: style.Axes, rulers: Sequence[_Ruler], prior: float, probability: str) -> None:
    """Draw all rulers: points, features, total points and the probability."""
    lows = [float(ruler.log_odds.min()) for ruler in rulers]
    spans = [float(np.ptp(ruler.log_odds)) for ruler in rulers]
    # Points of a unit of log odds; the bound is for features that have no effect at all.
    unit = _POINTS / max(*spans, 1e-12)
    ends = np.array([0.0, _POINTS])
    tens = np.arange(0, _POINTS + 1, 10)
    _scale(axes, 0, ends, tens, [f"{tick:.0f}" for tick in tens], _LEVELS[:1], MUTED)
    for row, (ruler, low) in enumerate(zip(rulers, lows, strict=True), 1):
        # The lowest value of each feature has no points.
        points = (ruler.log_odds - low) * unit
        if isinstance(ruler.variable, Discrete):
            _scale(axes, row, points, points, texts(ruler.variable.states, 22), _LEVELS)
        else:
            _branches(axes, row, ruler.values, points)
        # A feature that is not observed adds nothing to the log odds.
        look = {"markersize": 5.5, "markerfacecolor": "white", "markeredgecolor": COLOURS[1]}
        axes.plot(-low * unit, row, "D", **look, zorder=4, clip_on=False)
    # The rulers of the total points and of the probability leave out what is near 0 and 1.
    # A total of no points stands for the log odds `offset`, the largest total for offset + span.
    row, offset, span = len(rulers) + 1, prior + sum(lows), sum(spans)
    least, most = max(offset, -_LARGEST_ODDS), min(offset + span, _LARGEST_ODDS)
    if least >= most:  # all sums are outside the limits
        least, most = offset, offset + max(span, 1e-12)
    totals = _ticks((least - offset) * unit, (most - offset) * unit)
    # From log odds to places on the ruler, which is as long as that of the points.
    at = np.interp(offset + totals / unit, [least, most], ends)
    _scale(axes, row, ends, at, [f"{total:.0f}" for total in totals], _LEVELS[:1])
    # The complements in ascending order, without that of 0.5, which is there already.
    shares = np.array([*_PROBABILITIES, *(1 - p for p in _PROBABILITIES[-2::-1])])
    log_odds = np.log(shares / (1 - shares))
    inside = (log_odds >= least) & (log_odds <= most)
    names = [percentage(float(p)).replace(".0%", "%") for p in shares[inside]]
    at = np.interp(log_odds[inside], [least, most], ends)
    _scale(axes, row + 1, ends, at, names, _LEVELS[1:2])
    labels = ["points", *texts([r.variable.name for r in rulers], 24), "total points", probability]
    # Rows are numbered downwards.
    axes.set(xlim=(-2, _POINTS + 2), ylim=(row + 1.7, -0.6))
    axes.set_yticks(range(row + 2), labels)
    for line, text in enumerate(axes.get_yticklabels()):
        weight = "bold" if line >= row else "normal"
        text.set(fontweight=weight, color=INK if line else MUTED)
    axes.axhline(row - 0.5, color=FRAME, linewidth=0.6)
    axes.set_xticks([])
    axes.tick_params(length=0, pad=8)
    axes.spines[:].set_visible(False)


def _branches(axes: style.Axes, row: int, values: Floats, points: Floats) -> None:
    """Draw the ruler of a number: a branch for each range of values with rising or falling points.

    Rising branches are drawn a little above the height `row`, falling ones below, and vertical
    lines join them where the direction turns. A ruler without a turn is at the height itself.

    Parameters
    ----------
    values : ndarray, ascending
    points : ndarray
        The position of each value on the ruler.
    """
    directions = np.sign(np.diff(points))
    # Indices of values at which points turn from rising to falling or back.
    turns = (np.flatnonzero(directions[1:] * directions[:-1] < 0) + 1).tolist()
    ticks = _ticks(values[0], values[-1])
    for first, last in itertools.pairwise([0, *turns, len(values) - 1]):
        above, below = _LEVELS[:2]
        level = above if points[last] >= points[first] else below
        y = row - math.copysign(_BRANCH, level) if turns else row
        inside = ticks[(ticks >= values[first]) & (ticks <= values[last])]
        positions = np.interp(inside, values, points)
        labels = [number(float(tick)) for tick in inside]
        _scale(axes, y, points[[first, last]], positions, labels, [level])
    axes.vlines(points[turns], row - _BRANCH, row + _BRANCH, color=INK, linewidth=1.1, zorder=2)


def _scale(
    axes: style.Axes,
    y: float,
    ends: Floats,
    places: Floats,
    labels: Sequence[str],
    levels: Sequence[float],
    colour: str = INK,
) -> None:
    """Draw a ruler at height y with labels at some places, without overlap.

    Each label goes to the first of the `levels` (distances from the ruler: above it if positive,
    below if negative) with room for it; without room, it becomes a tick without text.
    """
    look = {"color": colour, "zorder": 2, "clip_on": False}
    axes.plot([ends.min(), ends.max()], [y, y], linewidth=1.1, **look)
    # The right end of the last label at each level.
    right_end = dict.fromkeys(levels, -math.inf)
    for i in np.argsort(places, kind="stable"):
        x, label = float(places[i]), labels[i]
        # Half of the width of the label.
        half = 0.5 * _CHARACTER * len(label)
        free = [level for level in levels if right_end[level] + _GAP <= x - half]
        level = free[0] if free else math.copysign(0.1, levels[0])
        # Rows are numbered downwards, so that up is negative.
        axes.plot([x, x], [y, y - level * 0.75], linewidth=0.7, **look)
        if free:
            right_end[level] = x + half
            side = "bottom" if level > 0 else "top"
            axes.text(x, y - level, label, ha="center", va=side, fontsize=7.5, color=colour)


def _ticks(first: float, last: float) -> Floats:
    """Return about twelve round numbers from `first` to `last`."""
    ticks: Floats = style.matplotlib("ticker").MaxNLocator(nbins=12).tick_values(first, last)
    return ticks[(ticks >= first) & (ticks <= last)]
