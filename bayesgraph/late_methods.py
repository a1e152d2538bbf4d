"""Methods of models that higher layers implement: files, plotting, fitting and exporting.

A table maps the name of each method to a function in another module, which is imported at the
first call. So modules of models need not import modules that depend on them, nor networkx, which
takes a while and which few questions need.
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Callable
from typing import Any

_FUNCTIONS = {
    "scored_dag": "bayesgraph.graph:scored_dag",
    "union_of_arcs": "bayesgraph.graph:union_of_arcs",
    "bipartite_graph": "bayesgraph.graph:bipartite_graph",
    "topological_order": "bayesgraph.graph:topological_order",
    "d_separated": "bayesgraph.graph:d_separated",
    "markov_blanket": "bayesgraph.graph:markov_blanket",
    "causal_graph": "bayesgraph.causal:causal_graph",
    "effect": "bayesgraph.causal:effect",
    "fit_network": "bayesgraph.learning.fit:fit_network",
    "learn_network": "bayesgraph.learning.general:learn_network",
    "contributions": "bayesgraph.explain:contributions",
    "explanation": "bayesgraph.explain.spoken:explanation",
    "top_items": "bayesgraph.explain:top_items",
    "next_question": "bayesgraph.asking.ranking:next_question",
    "questionnaire": "bayesgraph.asking.questionnaire:questionnaire",
    "next_question_rows": "bayesgraph.asking.by_rows:next_question_rows",
    "credible_intervals": "bayesgraph.uncertainty:credible_intervals",
    "conformalize": "bayesgraph.classifiers.conformal:conformalize",
    "prediction_sets": "bayesgraph.classifiers.conformal:prediction_sets",
    "frame": "bayesgraph.encoding.frames:to_frame",
    "query_rows": "bayesgraph.encoding:query_rows",
    "log_likelihood": "bayesgraph.encoding:log_likelihood",
    "load": "bayesgraph.io:load",
    "save": "bayesgraph.io:save",
    "write_text": "bayesgraph.io.files:write_text",
    "table_drift_figure": "bayesgraph.plots.table_drift:table_drift_figure",
    "tornado_figure": "bayesgraph.plots.tornado:tornado_figure",
    "flip": "bayesgraph.what_if:flip",
    "most_relevant": "bayesgraph.what_if:most_relevant",
    "nearest_rows": "bayesgraph.what_if:nearest_rows",
    "tornado": "bayesgraph.what_if:tornado",
    "predict_dataset": "bayesgraph.io.predictions:predict_dataset",
    "predicted_columns": "bayesgraph.io.predicted:predicted_columns",
    "to_pgmpy": "bayesgraph.io.pgmpy:to_pgmpy",
    "to_dot": "bayesgraph.io.dot:to_dot",
    "graph_to_dot": "bayesgraph.io.graph_dot:graph_to_dot",
    "render": "bayesgraph.plots.rendering:render",
    "render_text": "bayesgraph.plots.rendering:render_text",
    "to_graphviz": "bayesgraph.plots.rendering:to_graphviz",
    "prequential_figure": "bayesgraph.plots.prequential:prequential_figure",
    "contributions_figure": "bayesgraph.plots.waterfall:contributions_figure",
    "density_figure": "bayesgraph.plots.mixtures:density_figure",
    "items_figure": "bayesgraph.plots.mixtures:items_figure",
    "correspondence_figure": "bayesgraph.plots.maps:correspondence_figure",
    "axes_figure": "bayesgraph.plots.maps:axes_figure",
    "shapes_figure": "bayesgraph.plots.shapes:shapes_figure",
    "to_html": "bayesgraph.explorer.page:to_html",
    "to_svg": "bayesgraph.plots.rendering:to_svg",
    "tree_to_dot": "bayesgraph.plots.trees:tree_to_dot",
    "render_tree": "bayesgraph.plots.trees:render_tree",
}


def call(method: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call the function that implements a method, given by its name in the table of functions."""
    return _function(method)(*args, **kwargs)


@functools.cache
def _function(method: str) -> Callable[..., Any]:
    """Return the function that implements a method; to look it up again takes microseconds."""
    found: Callable[..., Any] = pkgutil.resolve_name(_FUNCTIONS[method])
    return found
