"""Writing formats that are made as text elsewhere."""

from __future__ import annotations

from typing import Any

from bayesgraph.io.dot import to_dot
from bayesgraph.io.files import PathLike, write_bytes


def write_dot(model: Any, path: PathLike, **options: Any) -> None:
    """Write a graph in Graphviz' DOT language; options as for :func:`bayesgraph.io.dot.to_dot`."""
    write_bytes(path, to_dot(model, **options).encode())
