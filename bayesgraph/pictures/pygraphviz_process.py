"""The process that draws a graph where there is no ``dot``; `rendering` starts it.

Its arguments are a format and a resolution, which may be empty; its standard input is text in the
DOT language, its standard output the picture.
"""

from __future__ import annotations

import sys

from bayesgraph.core.errors import optional_module


def main() -> None:
    """Draw the graph on standard input, on standard output."""
    file_format, dpi = sys.argv[1:]
    pygraphviz = optional_module("pygraphviz", extra="render", what="Drawing a graph")
    graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode("utf-8"))
    if dpi:
        graph.graph_attr["dpi"] = dpi
    sys.stdout.buffer.write(graph.draw(format=file_format, prog="dot"))


if __name__ == "__main__":
    main()
