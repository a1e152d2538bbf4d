"""Graphs without distributions, such as CPDAGs, in Graphviz' DOT language."""

from __future__ import annotations

from bayesgraph.cpds.description import texts
from bayesgraph.graphs import PDAG
from bayesgraph.io import dot_labels as labels
from bayesgraph.io.dot import defaults, statement


def graph_to_dot(graph: PDAG, *, rankdir: str = "TB") -> str:
    """Return a partially directed graph in the DOT language; edges without direction are plain.

    Parameters
    ----------
    graph : PDAG
    rankdir : {"TB", "BT", "LR", "RL"}
        Direction of the arcs: "TB" is from top to bottom, and so on.
    """
    ids = {name: f"n{i}" for i, name in enumerate(graph.nodes)}
    titles = texts(graph.nodes, labels.LONGEST_NAME)
    lines = defaults(rankdir)
    for name, title in zip(graph.nodes, titles, strict=True):
        lines.append(statement(ids[name], {"label": labels.stack([labels.title(title)])}))
    for a, b in graph.arcs:
        lines.append(statement(f"{ids[a]} -> {ids[b]}", {"tooltip": f"{a} → {b}"}))
    for a, b in graph.edges:
        look = {"dir": "none", "tooltip": f"{a} — {b}"}
        lines.append(statement(f"{ids[a]} -> {ids[b]}", look))
    return "\n".join(["digraph PDAG {", *(f"  {line}" for line in lines), "}", ""])
