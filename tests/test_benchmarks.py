"""Benchmarks use what the library has: every name of it that they write exists."""

import ast
import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


def names_of(tree: ast.Module):
    """Yield the library's names in a module, as a module and the attributes after it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bayesgraph":
            yield from ((node.module, [alias.name]) for alias in node.names)
        if isinstance(node, ast.Attribute):
            attributes, inner = [], node
            while isinstance(inner, ast.Attribute):
                attributes.append(inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name) and inner.id == "bg":
                yield "bayesgraph", attributes[::-1]


def lacking(module: str, attributes: list[str]) -> bool:
    """Say whether a module of the library, or a module or class in it, lacks a name."""
    holder = importlib.import_module(module)
    for attribute in attributes:
        if not (
            isinstance(holder, type) or hasattr(holder, "__path__") or hasattr(holder, "__spec__")
        ):
            return False  # an instance or a function's result: not known without running it
        if not hasattr(holder, attribute):
            return True
        holder = getattr(holder, attribute)
    return False


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_names_of_the_library_exist(path):
    names = list(names_of(ast.parse(path.read_text("utf-8"))))
    missing = [f"{module}.{'.'.join(rest)}" for module, rest in names if lacking(module, rest)]
    assert not missing


def test_a_lacking_name_is_seen():
    text = "from bayesgraph.core import nothing\nbg.NaiveBayesClassifier.asked\nbg.graphs.query"
    lacked = [".".join(rest) for module, rest in names_of(ast.parse(text)) if lacking(module, rest)]
    assert lacked == ["nothing", "NaiveBayesClassifier.asked", "graphs.query"]
    assert not lacking("bayesgraph", ["BayesianNetwork", "query"])
