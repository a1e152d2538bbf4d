"""The architecture, read off the source: imports point down, never up."""

import ast
import functools
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bayesgraph
from bayesgraph.upward import UPWARD

ROOT = Path(bayesgraph.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

# Bottom to top; rooms on one line may import each other.
LAYERS = [
    {
        "checks",
        "compilation",
        "display",
        "errors",
        "loss_report",
        "optional",
        "palette",
        "parallel",
        "report",
        "special",
        "upward",
        "version",
    },
    {"variables"},
    {"typing"},
    {"graphs", "ancestors", "factors"},
    {"measures", "decisions", "drift"},
    {"inference"},
    {"encoding"},
    {"cpds"},
    {"models"},
    {"questions"},
    {"explain", "uncertainty"},
    {"statistics", "discretize"},
    {"asking", "causal", "compare", "independence", "profiles", "what_if"},
    {"datasets", "families"},
    {"learning"},
    {"classifiers"},
    {"cards", "explorer", "io", "plots"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
# Writes whole files, for any room: it knows no format, although it stands beside them.
FOR_ALL = "bayesgraph.io.files."

# Who may import a library that the design keeps in one place.
HOMES = {
    "sklearn": lambda path: (
        room(path) in {"classifiers", "discretize"} or path == ROOT / "plots" / "evaluation.py"
    ),
    "numba": lambda path: path == ROOT / "compilation" / "compiler.py",
    "networkx": lambda path: True,
    "typer": lambda path: room(path) in {"cli", "io"},
    "rich": lambda path: room(path) in {"cli", "io"},
}
# Libraries of the extras: loaded by `optional_module` only, where they are needed.
EXTRAS = {
    "pandas",
    "polars",
    "pyarrow",
    "duckdb",
    "dask",
    "distributed",
    "pyspark",
    "pgmpy",
    "pygraphviz",
    "matplotlib",
    "pyagrum",
    "rdata",
    "river",
}


def room(path):
    """Return the room of a file: its folder under the package, or its own name."""
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


@functools.cache
def tree(path):
    """Return the parsed file; each rule reads the same trees."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def is_type_checking(node):
    if not isinstance(node, ast.If):
        return False
    test = node.test
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)
    return name == "TYPE_CHECKING"


# What the rules look at, and what has nothing of it inside.
KEPT = (ast.Import, ast.ImportFrom, ast.Call, ast.Attribute, ast.Constant, ast.ExceptHandler)
LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.cmpop, ast.alias)


def walk(node, inside, found):
    """Append (node, whether it is inside a function), leaving out imports for types only."""
    if is_type_checking(node):
        for child in node.orelse:
            walk(child, inside, found)
        return
    if isinstance(node, KEPT):
        found.append((node, inside))
    deeper = inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, LEAVES):
            walk(child, deeper, found)
        elif isinstance(child, ast.Constant):
            found.append((child, deeper))


@functools.cache
def nodes(path):
    """Return (node, whether it is inside a function) of a file's nodes that are `KEPT`."""
    found = []
    walk(tree(path), False, found)
    return found


@functools.cache
def imports(path):
    """Return (full name of what is imported, line, whether inside a function) of all imports."""
    return list(found_imports(path))


def found_imports(path):
    package = ".".join(["bayesgraph", *path.relative_to(ROOT).parts[:-1]])
    for node, inside in nodes(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno, inside
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]).rstrip(".")
            for alias in node.names:
                yield f"{base}.{alias.name}", node.lineno, inside


def where(path, line):
    return f"{path.relative_to(ROOT.parent)}:{line}"


def told(wrong):
    """Return all offenders of a rule as one message."""
    return "\n".join(wrong)


def test_every_room_has_a_layer():
    unknown = {room(path) for path in MODULES} - set(LEVEL) - {"__init__", "__main__"}
    assert not unknown, f"Give these a place in LAYERS: {sorted(unknown)}"


def test_imports_point_down():
    wrong = []
    for path in MODULES:
        if room(path) in {"__init__", "__main__"}:
            continue
        for name, line, _ in imports(path):
            parts = name.split(".")
            if parts[0] != "bayesgraph" or len(parts) == 1 or name == "bayesgraph.__version__":
                continue
            if parts[1] not in LEVEL:
                # A name of the package itself reaches everything, lazily.
                wrong.append(f"{where(path, line)} imports {name} from the top of the package")
            elif (
                parts[1] != room(path)
                and LEVEL[parts[1]] > LEVEL[room(path)]
                and not name.startswith(FOR_ALL)
            ):
                wrong.append(f"{where(path, line)} imports {name}, a layer above")
    assert not wrong, told(wrong)


def test_the_top_of_the_package_is_not_imported_from_inside():
    wrong = [
        where(path, line)
        for path in MODULES
        if room(path) not in {"__init__", "cli"}
        for name, line, _ in imports(path)
        if name == "bayesgraph"
    ]
    assert not wrong, told(wrong)


def test_inference_knows_no_model():
    above = {"cpds", "models", "classifiers", "learning"}
    wrong = [
        f"{where(path, line)} imports {name}"
        for path in MODULES
        if room(path) in {"inference", "factors"}
        for name, line, _ in imports(path)
        if name.startswith("bayesgraph.") and name.split(".")[1] in above
    ]
    assert not wrong, told(wrong)


def test_libraries_stay_where_they_belong():
    wrong = []
    for path in MODULES:
        for name, line, _ in imports(path):
            library = name.split(".")[0]
            if library in HOMES and not HOMES[library](path):
                wrong.append(f"{where(path, line)} imports {name}")
            if library in EXTRAS:
                wrong.append(f"{where(path, line)} imports {name}, an extra: use optional_module")
    assert not wrong, told(wrong)


def test_no_import_inside_a_function():
    wrong = [
        f"{where(path, line)} {name}"
        for path in MODULES
        for name, line, inside in imports(path)
        if inside
    ]
    assert not wrong, told(wrong)


# `compilation` loads the compiler when something is compiled, `optional` what an extra provides,
# `upward` the functions of higher layers, `io` its codecs.
REGISTRIES = {
    *(
        "compilation/dispatch.py",
        "optional.py",
        "upward.py",
        "__init__.py",
        "io/__init__.py",
        "io/native.py",
    ),
    "cli/models.py",  # the lists that its help reads
    "plots/by_type.py",  # what draws a result
}


def test_only_the_registries_import_by_a_call():
    wrong = []
    for path in MODULES:
        if path.relative_to(ROOT).as_posix() in REGISTRIES:
            continue
        for node, _ in nodes(path):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called.split(".")[-1] in {"__import__", "import_module", "resolve_name"}:
                    wrong.append(f"{where(path, node.lineno)} {called}")
    assert not wrong, told(wrong)


def homes(path):
    """Yield (string, line) of every string that names an object as 'bayesgraph.module:name'."""
    for node, _ in nodes(path):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and re.fullmatch(r"bayesgraph(\.\w+)+:\w+", text):
            yield text, node.lineno


def exists(home):
    """Tell whether there is an object of this name."""
    try:
        return pkgutil.resolve_name(home) is not None
    except (ImportError, AttributeError):
        return False


def test_what_registries_name_exists_and_only_upward_names_what_is_above():
    wrong = []
    for path in MODULES:
        for home, line in homes(path):
            named = home.split(":")[0].split(".")[1]
            if not exists(home):
                wrong.append(f"{where(path, line)} names {home}, which does not exist")
            elif LEVEL[named] > LEVEL[room(path)] and home not in UPWARD.values():
                wrong.append(f"{where(path, line)} names {home}, a layer above")
    assert not wrong, told(wrong)


def test_exactly_eight_methods_reach_upward():
    assert [*UPWARD] == [
        "save",
        "render",
        "to_dot",
        "to_html",
        "to_pgmpy",
        "fit",
        "learn",
        "contributions",
    ]


def test_no_print_and_no_bare_except():
    wrong = []
    for path in MODULES:
        for node, _ in nodes(path):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "print":
                wrong.append(f"{where(path, node.lineno)} print")
            if isinstance(node, ast.ExceptHandler) and node.type is None:
                wrong.append(f"{where(path, node.lineno)} except without an exception")
    assert not wrong, told(wrong)


def test_every_module_says_what_it_is():
    wrong = [
        f"{where(path, 1)} has no docstring"
        for path in MODULES
        if path.read_text(encoding="utf-8").strip() and not ast.get_docstring(tree(path))
    ]
    assert not wrong, told(wrong)


def test_public_names_resolve():
    for name in bayesgraph.__all__:
        assert getattr(bayesgraph, name) is not None
    assert {"Discrete", "BayesianNetwork", "FactorGraph", "errors"} <= set(dir(bayesgraph))


HEAVY = ["numba", "sklearn", "scipy", "networkx", "pandas", "matplotlib", "pgmpy", "typer"]


@pytest.mark.parametrize("extra", ["", "; bayesgraph.__all__; dir(bayesgraph)"])
def test_importing_the_package_imports_nothing_heavy(tmp_path, extra):
    code = (
        f"import sys, bayesgraph{extra}; print([m for m in {HEAVY!r} if m in sys.modules]); "
        "print(bayesgraph.__version__)"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT.parent)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["[]", bayesgraph.__version__]


# What answers questions does not reduce over states itself: it asks a solver, and normalises rows
# by `inference.normalise`.
ASKING = {"models", "encoding", "classifiers", "explain", "causal", "asking", "io", "plots", "cli"}
REDUCTIONS = {
    "bayesgraph.factors.algebra.log_sum_exp",
    "bayesgraph.factors.algebra.SUM",
    "bayesgraph.factors.algebra.MAX",
    "bayesgraph.factors.SUM",
    "bayesgraph.factors.MAX",
    "bayesgraph.factors.multiply",
    "scipy.special.logsumexp",
    "scipy.special.softmax",
    "scipy.special.log_softmax",
}
KERNELS = tuple(
    f"bayesgraph.inference.{name}_kernels" for name in ("planning", "program", "execution")
)


def test_only_inference_sums_maximises_and_normalises_over_states():
    wrong = [
        f"{where(path, line)} imports {name}"
        for path in MODULES
        if room(path) in ASKING
        for name, line, _ in imports(path)
        if name in REDUCTIONS or name.startswith(KERNELS)
    ]
    for path in MODULES:
        if room(path) in ASKING:
            for node, _ in nodes(path):
                if isinstance(node, ast.Attribute) and node.attr in {"logaddexp", "eliminate"}:
                    wrong.append(f"{where(path, node.lineno)} uses {node.attr}")
    assert not wrong, told(wrong)
