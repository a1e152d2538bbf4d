"""Pictures: rendered graphs and figures of how well a classifier does."""

from bayesgraph.learning.impurity import impurity, impurity_decrease
from bayesgraph.plots.boundaries import decision_boundaries_figure, plot_decision_boundary
from bayesgraph.plots.figures import (
    Evaluated,
    confusion_matrix_figure,
    evaluation_figure,
    roc_figure,
    save_figure,
)
from bayesgraph.plots.impurities import impurity_figure
from bayesgraph.plots.nomogram import nomogram_figure
from bayesgraph.plots.prequential import prequential_figure
from bayesgraph.plots.reliability import reliability_figure
from bayesgraph.plots.render import render, to_svg
from bayesgraph.plots.roc import RocCurve, macro_average, one_against_rest, roc_curve
from bayesgraph.plots.trees import render_tree, tree_to_dot
from bayesgraph.plots.waterfall import contributions_figure

__all__ = [
    "Evaluated",
    "RocCurve",
    "confusion_matrix_figure",
    "contributions_figure",
    "decision_boundaries_figure",
    "evaluation_figure",
    "impurity",
    "impurity_decrease",
    "impurity_figure",
    "macro_average",
    "nomogram_figure",
    "one_against_rest",
    "plot_decision_boundary",
    "prequential_figure",
    "reliability_figure",
    "render",
    "render_tree",
    "roc_curve",
    "roc_figure",
    "save_figure",
    "to_svg",
    "tree_to_dot",
]
