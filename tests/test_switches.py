"""Nothing above the models asks for the class of a model, but where the table says so."""

import ast
import functools
from collections import Counter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "bayesgraph"
# The classes of models; that something is a `Model`, and no estimator, is no switch.
CLASSES = {
    "BayesianNetwork",
    "Ensemble",
    "FactorGraph",
    "WeightedNetwork",
}
# What some models have and others lack.
ATTRIBUTES = {
    "arc_probabilities",
    "arc_scores",
    "blocks",
    "cpds",
    "form",
    "members",
    "n_parameters",
    "network",
    "networks",
    "target",
    "terms",
}
# So many switches has each file at most: lower a number when one goes, and never raise it.
LIMITS = {
    "classifiers/evaluation.py": 1,
    "classifiers/network_classifier.py": 1,
    "files/cards.py": 1,
    "files/pgmpy.py": 1,
    "learning/fit.py": 1,
    "learning/leave_one_out.py": 1,
    "models/bayesian_network.py": 1,
    "models/weighted.py": 1,
}


def is_switch(node):
    """Tell whether a node asks which class of model something is."""
    if isinstance(node, ast.Call):
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        second = node.args[1] if len(node.args) > 1 else None
        if called in {"isinstance", "issubclass"}:
            return bool(named(second) & CLASSES)
        if called == "hasattr" or (called == "getattr" and len(node.args) == 3):
            return getattr(second, "value", None) in ATTRIBUTES
        return called in {"singledispatch", "register"} and bool(named(node) & CLASSES)
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        is_type = any(getattr(getattr(side, "func", None), "id", "") == "type" for side in sides)
        is_form = any(isinstance(side, ast.Attribute) and side.attr == "form" for side in sides)
        return is_form or (is_type and bool(named(node) & CLASSES))
    if isinstance(node, ast.MatchClass):
        return bool(named(node.cls) & CLASSES)
    if isinstance(node, ast.Dict):
        return any(getattr(key, "id", getattr(key, "attr", None)) in CLASSES for key in node.keys)
    return False


def named(node):
    """Return the names in a node."""
    return {getattr(n, "id", getattr(n, "attr", None)) for n in ast.walk(node)} if node else set()


def switches_of(tree):
    """Return the number of switches in a module; methods of comparison are none."""
    compared = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__eq__"
        for inner in ast.walk(node)
    }
    return sum(is_switch(node) for node in ast.walk(tree) if node not in compared)


@functools.cache
def switches():
    """Return the number of switches by file."""
    numbers = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        numbers[path.relative_to(PACKAGE).as_posix()] = switches_of(ast.parse(path.read_text()))
    return +numbers


def test_no_file_asks_more_often_for_the_class_of_a_model():
    above = {name: number for name, number in switches().items() if number > LIMITS.get(name, 0)}
    assert not above, f"ask a method or an attribute of all models instead: {above}"


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("isinstance(m, bg.FactorGraph | Ensemble)", 1),
        ("isinstance(m, (TableCPD, Model))", 0),
        ("type(m) is BayesianNetwork", 1),
        ("m.form == 'product'", 1),
        ("hasattr(m, 'networks') and getattr(m, 'cpds', ())", 2),
        ("getattr(m, 'network_', m)", 0),
        ("match m:\n    case Ensemble():\n        pass\n", 1),
        ("{FactorGraph: f}", 1),
        ("def __eq__(self, other):\n    return isinstance(other, Ensemble)\n", 0),
    ],
)
def test_what_a_switch_is(source, number):
    assert switches_of(ast.parse(source)) == number
