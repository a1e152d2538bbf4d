"""Pictures: rendered graphs and figures of how well a classifier does."""

from bayesgraph.plots.figures import (
    Evaluated,
    confusion_matrix_figure,
    evaluation_figure,
    roc_figure,
    save_figure,
)
from bayesgraph.plots.render import render, to_svg
from bayesgraph.plots.roc import RocCurve, macro_average, one_against_rest, roc_curve

__all__ = [
    "Evaluated",
    "RocCurve",
    "confusion_matrix_figure",
    "evaluation_figure",
    "macro_average",
    "one_against_rest",
    "render",
    "roc_curve",
    "roc_figure",
    "save_figure",
    "to_svg",
]
