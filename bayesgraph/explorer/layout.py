"""Positions of the variables of a page, from Graphviz if there is one."""

from __future__ import annotations

import subprocess
from typing import Any

from bayesgraph.errors import MissingDependencyError, RenderError
from bayesgraph.plots.rendering import plain_layout

# Number of variables up to which all are shown at once, and seconds that their layout may take.
_MOST_CARDS = 150
_SECONDS = 20.0
# Width of a card, height of its head and of a line, in pixels; lines that are shown at most.
_WIDTH, _HEAD, _LINE, _MOST_LINES = 196, 34, 18, 8
_INCH = 72.0


def placed(content: dict[str, Any]) -> list[list[float]] | None:
    """Return the centre of the card of each variable, in pixels, y downwards.

    Parameters
    ----------
    content : dict
        Content of a snapshot, with variables and arcs.

    Returns
    -------
    list of [x, y], or None
        None if there are more than 150 variables or no Graphviz: the page then places them itself.
    """
    variables = content["variables"]
    if len(variables) > _MOST_CARDS:
        return None
    lines = [
        "digraph {", "graph [nodesep=0.4, ranksep=0.6]", "node [shape=box, fixedsize=true]"
    ]  # fmt: skip
    for i, variable in enumerate(variables):
        shown = min(len(variable["states"]) or 3, _MOST_LINES)
        height = (_HEAD + _LINE * shown) / _INCH
        lines.append(f"{i} [label={i}, width={_WIDTH / _INCH:.4f}, height={height:.4f}]")
    lines += [f"{a} -> {b}" for a, b, _ in content["arcs"]]
    try:
        found = plain_layout("\n".join([*lines, "}"]), timeout=_SECONDS)
    except (MissingDependencyError, RenderError, subprocess.TimeoutExpired):
        return None
    top = max((y for _, y in found.values()), default=0.0)
    return [
        [round(found[str(i)][0] * _INCH), round((top - found[str(i)][1]) * _INCH)]
        for i in range(len(variables))
    ]
