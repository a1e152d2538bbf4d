"""One function that draws any result, by the figure of its class."""

from __future__ import annotations

from typing import Any

from bayesgraph.errors import DataTypeError
from bayesgraph.plots.by_type import function_for
from bayesgraph.plots.style import Figure

# Classes of results, and the functions that draw them.
FIGURES = {
    "Axes": "bayesgraph.plots.maps:axes_figure",
    "Contributions": "bayesgraph.plots.waterfall:contributions_figure",
    "Correspondence": "bayesgraph.plots.maps:correspondence_figure",
    "Evaluation": "bayesgraph.plots.evaluation:evaluation_figure",
    "ItemsMixture": "bayesgraph.plots.mixtures:items_figure",
    "NextQuestion": "bayesgraph.plots.questions:next_question_figure",
    "NumberMixture": "bayesgraph.plots.mixtures:density_figure",
    "PrequentialComparison": "bayesgraph.plots.prequential:prequential_figure",
    "PrequentialResult": "bayesgraph.plots.prequential:prequential_figure",
    "Shapes": "bayesgraph.plots.shapes:shapes_figure",
    "TableDrift": "bayesgraph.plots.table_drift:table_drift_figure",
    "Tornado": "bayesgraph.plots.tornado:tornado_figure",
}


def plot(result: Any, **options: Any) -> Figure:
    """Draw a result: an explanation, a posterior of a number, a comparison, a map, and so on.

    Models and classifiers are graphs, which their method `render` draws.

    Parameters
    ----------
    result : one of the classes below
    **options
        What the figure of the class takes:

        * Contributions, a waterfall of log odds: `max_findings`, `arcs`, `title`; see
          :func:`bayesgraph.plots.waterfall.contributions_figure`.
        * Shapes, the effects of features: `max_terms`, `title`; see
          :func:`bayesgraph.plots.shapes.shapes_figure`.
        * NextQuestion, bars of questions: `max_questions`, `title`; see
          :func:`bayesgraph.plots.questions.next_question_figure`.
        * Tornado, bars of probabilities: `max_bars`, `title`; see
          :func:`bayesgraph.plots.tornado.tornado_figure`.
        * TableDrift, bars of families: `max_families`, `title`; see
          :func:`bayesgraph.plots.table_drift.table_drift_figure`.
        * GaussianMixture and LeafMixture of one variable, its density or probabilities:
          `probability`, `title`; see :func:`bayesgraph.plots.mixtures.density_figure`.
        * ItemsMixture, bars of items: `n`, `title`; see
          :func:`bayesgraph.plots.mixtures.items_figure`.
        * Correspondence, a map of states: `axes`, `table`, `title`; see
          :func:`bayesgraph.plots.maps.correspondence_figure`.
        * Axes, a map of variables and rows: `table`, `axes`, `labels`, `title`; see
          :func:`bayesgraph.plots.maps.axes_figure`.
        * PrequentialResult and PrequentialComparison, curves over a stream: `measure`, `changes`,
          `title`; see :func:`bayesgraph.plots.prequential_figure`, which also takes several.
        * Evaluation, confusion matrix, ROC and calibration curves: no options; see
          :func:`bayesgraph.plots.evaluation_figure`, which also takes several.

    Returns
    -------
    matplotlib.figure.Figure
        A notebook shows it; :func:`bayesgraph.plots.save_figure` writes it to a file.

    Raises
    ------
    DataTypeError
        For anything else than such a result.
    DataError
        If there is nothing to draw, or for an invalid option.
    MissingDependencyError
        If matplotlib is not installed.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> age = bg.GaussianCPD(bg.Continuous("age"), 40.0, 100.0)
    >>> figure = plot(bg.BayesianNetwork([age]).query("age"), probability=0.5)
    >>> figure.axes[0].get_title(loc="left")
    'age'
    """
    figure = function_for(result, FIGURES)
    if figure is None:
        *names, last = FIGURES
        raise DataTypeError(
            f"plot draws a result: {', '.join(names)} or {last}; got {result!r:.80}. A model or a "
            "classifier is drawn by its method render, and several results by the functions of "
            "bayesgraph.plots."
        )
    return figure(result, **options)
