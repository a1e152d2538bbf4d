"""What if, and why: smallest changes, nearest rows, explanations of evidence, tornado charts."""

from bayesgraph.what_if.flips import Change, Flip, flip
from bayesgraph.what_if.nearest import NearestRows, NearRow, nearest_rows
from bayesgraph.what_if.relevance import RelevantExplanation, most_relevant
from bayesgraph.what_if.tornado import Bar, Tornado, tornado

__all__ = [
    "Bar",
    "Change",
    "Flip",
    "NearRow",
    "NearestRows",
    "RelevantExplanation",
    "Tornado",
    "flip",
    "most_relevant",
    "nearest_rows",
    "tornado",
]
