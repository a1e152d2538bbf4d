"""Functions of higher layers that lower ones call: files, plotting, fitting, questions, exporting.

The stub beside this module is the one list of them. Each is imported when it is first used, so that
modules of models need not import modules that depend on them, nor networkx, which takes a while and
which few questions need.
"""

from __future__ import annotations

import ast
import functools
from importlib import import_module
from pathlib import Path
from typing import Any


@functools.cache
def homes() -> dict[str, str]:
    """Return the module of each function, as the stub says."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {item.name: f"{__package__}.{node.module}" for node in imports for item in node.names}


def __getattr__(name: str) -> Any:
    if name.startswith("__") or name not in homes():
        raise AttributeError(f"No function of a higher layer is named {name!r}.")
    found = globals()[name] = getattr(import_module(homes()[name]), name)
    return found
