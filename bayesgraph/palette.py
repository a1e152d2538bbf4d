"""The colours of everything that is drawn: graphs, figures, tables of notebooks and the explorer.

Text has a contrast of at least 4.5 to its ground, and shading, line width, dashes and bold type
repeat what colours show. Blue and orange are distinguishable for every common kind of colour
blindness.
"""

from __future__ import annotations

INK, MUTED, FRAME, GRID = "#1f2937", "#566273", "#b4c0ce", "#d8dfe8"
CARD, LINE, ARC, PALE, BOX = "#ffffff", "#a9b6c6", "#64748b", "#c3ccd7", "#f6f8fa"
# Bars of beliefs, of the target and of what was observed, and what a bar lies on.
BLUE, ORANGE, SLATE, TRACK = "#4c78a8", "#e58a2b", "#475569", "#e3e9f0"
# The ground of the highest probability in a table, as red, green and blue.
TINT = (164, 196, 230)
# Grounds and outlines of observed nodes and of the target.
SHADE, SHADE_LINE = "#d8dfe8", "#64748b"
TARGET, TARGET_LINE = "#fff4e6", "#d9730d"
# Palette of Okabe and Ito (2008) without black and yellow, which is too pale for lines; the last
# colour is not theirs.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7a5195")

# The explorer's page by day and by night, as properties of its style sheet.
LIGHT = {
    "ground": "#f3f5f8",
    "panel": "#ffffff",
    "card": CARD,
    "ink": INK,
    "muted": MUTED,
    "line": LINE,
    "hair": GRID,
    "track": TRACK,
    "bar": BLUE,
    "arc": ARC,
    "pale": PALE,
    "strong": SLATE,
    "shade": SHADE,
    "shade-line": SHADE_LINE,
    "target": TARGET,
    "target-line": TARGET_LINE,
    "tint": "#a4c4e6",
    "focus": "#1d4ed8",
    "warn": "#fdecea",
    "warn-line": "#b3261e",
    **{f"class-{i}": colour for i, colour in enumerate(COLOURS)},
}
_COLOURS_BY_NIGHT = (
    *("#5aaee8", "#f08a4b", "#3cc79c", "#e2a3c7", "#9bd3f5", "#f2bd4b", "#bd95d3"),
)
DARK = {
    "ground": "#11151b",
    "panel": "#181d25",
    "card": "#1d232d",
    "ink": "#e7ecf3",
    "muted": "#a3afbf",
    "line": "#46536a",
    "hair": "#2d3646",
    "track": "#303a4a",
    "bar": "#6ea3dc",
    "arc": "#7f8da1",
    "pale": "#3a4558",
    "strong": "#cbd5e1",
    "shade": "#333f53",
    "shade-line": "#94a3b8",
    "target": "#35291b",
    "target-line": "#f0a04b",
    "tint": "#35618f",
    "focus": "#93c5fd",
    "warn": "#3d2423",
    "warn-line": "#f2a29b",
    **{f"class-{i}": colour for i, colour in enumerate(_COLOURS_BY_NIGHT)},
}


def style_properties(colours: dict[str, str]) -> str:
    """Return colours as custom properties of a style sheet: ``--ink: #1f2937; ...``."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())
