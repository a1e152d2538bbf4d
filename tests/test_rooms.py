"""The architecture, read off the source: a room imports what is on lower floors only."""

import ast
import functools
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pytest

import bayesgraph

ROOT = Path(__file__).resolve().parents[1] / "bayesgraph"
FLOORS = [
    {"core"},
    {"graphs", "tables", "inference"},
    {"statistics"},
    {"models"},
    {"learning", "questions"},
    {"classifiers"},
    {"time"},
    {"files", "pictures"},
    {"page"},
    {"cli"},
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS, 1) for room in rooms}
MOST_PAIRS = 66
# The one list of functions of higher rooms that methods of lower ones are, and its length.
UPWARD = "upward"
MOST_UPWARD = 8

# Who may import a library that the design keeps in one place: a room, or one module of it.
HOMES = {
    # Classifiers load, ask and predict without it: `classifiers.scikit_learn` looks it up.
    "sklearn": {"pictures"},
    "numba": {"core.compiler", "core.compilation.compiler"},
    "typer": {"cli"},
    "rich": set(),
    "graphviz": {"pictures"},
    "threadpoolctl": {"core"},
}
# Who imports what a text names: the compiler, extras, functions of higher rooms, formats, and the
# lists that the help of the command line reads.
IMPORTERS = {
    "core": {"compilation", "compiler", "errors", UPWARD},
    "pictures": {"rendering"},
    "files": {"formats", "native"},
    "cli": {"options"},
}
# Sums over states are inference's, which others ask. Learners sum over trees and folds.
ASKING = {"models", "questions", "classifiers", "files", "pictures", "page", "cli"}
METHODS = {"logaddexp", "eliminate"}
REDUCTIONS = {"log_sum_exp", "SUM", "MAX", "multiply", "logsumexp", "softmax", "log_softmax"}
# What an `__init__` may assign.
INIT_NAMES = {"__all__", "__getattr__", "__dir__"}
# Integrates a continuous parent out of its distribution, which is no question.
REDUCING = {"linear_gaussian"}


class Arrow(NamedTuple):
    """An import, or a text such as "bayesgraph.files.bif:FORMAT" that names what is imported."""

    module: str  # its name within the package, or the full name of a library's
    name: str | None  # what is imported from it; None for itself
    known_as: str | None
    line: int
    function: ast.AST | None  # which it is inside of
    is_library: bool
    is_text: bool
    is_typing: bool  # for annotations only


class Package:
    """The files of a package, and what each imports."""

    def __init__(self, root):
        self.root = root
        paths = sorted([*root.rglob("*.py"), *root.rglob("*.pyi")])
        self.trees = {path: ast.parse(path.read_text("utf-8")) for path in paths}
        self.parts = {path: path.relative_to(root).with_suffix("").parts for path in paths}
        # The package itself is no room.
        self.room = {path: parts[0] if parts[1:] else "" for path, parts in self.parts.items()}
        self.modules = {
            ".".join(parts[:-1] if parts[-1] == "__init__" else parts): path
            for path, parts in self.parts.items()
            if path.suffix == ".py"
        }
        self.arrows = {path: list(self.found_arrows(path)) for path in paths}
        # The names in the `__init__` of each package, of its stub if there is one.
        self.faces = {}
        for module, path in self.modules.items():
            if path.stem == "__init__":
                stub = path.with_suffix(".pyi")
                arrows = self.arrows[stub if stub in self.trees else path]
                self.faces[module] = {a.known_as: a for a in arrows if a.known_as}

    def where(self, path, line=1):
        return f"{path.relative_to(self.root.parent).as_posix()}:{line}"

    def found_arrows(self, path):
        """Yield all that a file imports, be it for annotations only."""
        inside = {}
        typing = {
            child
            for node in self.trees[path].body
            if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
            for child in node.body
        }
        for node in ast.walk(self.trees[path]):
            is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            function = node if is_function else inside.get(node)
            inside.update(dict.fromkeys(ast.iter_child_nodes(node), function))
            is_text = isinstance(node, ast.Constant)
            targets = []
            if isinstance(node, ast.Import):
                targets = [(item.name, None, None) for item in node.names]
            elif isinstance(node, ast.ImportFrom):
                folder = ["bayesgraph", *self.parts[path][:-1]]
                above = folder[: len(folder) + 1 - node.level] if node.level else []
                module = ".".join([*above, *filter(None, [node.module])])
                targets = [(module, item.name, item.asname or item.name) for item in node.names]
            elif is_text and re.fullmatch(r"bayesgraph(\.\w+)+:\w+", str(node.value)):
                targets = [(*node.value.split(":"), None)]
            for module, name, known_as in targets:
                package, _, rest = module.partition(".")
                is_library = package != "bayesgraph"
                module = module if is_library else rest
                if not module and name in FLOOR:
                    # A room as a whole, whose names are looked up in its `__init__`.
                    module, name = name, None
                place = node.lineno, function
                yield Arrow(module, name, known_as, *place, is_library, is_text, node in typing)

    def imports(self):
        """Yield (file, its room, arrow, room of the arrow's end) of arrows within the package."""
        for path, arrows in self.arrows.items():
            for arrow in arrows:
                if not arrow.is_library:
                    yield path, self.room[path], arrow, arrow.module.split(".")[0]

    def home(self, module, name):
        """Return the file that defines a name of a module, behind any `__init__`."""
        full = f"{module}.{name}".strip(".") if name else module
        if full in self.modules:
            return self.modules[full]
        origin = self.faces.get(module, {}).get(name)
        if origin is not None and (origin.module, origin.name) != (module, name):
            return self.home(origin.module, origin.name)
        return self.modules.get(module)


def lost_files(package):
    """Yield files that are in no room."""
    for path, room in package.room.items():
        if room not in FLOOR and (room or path.stem not in {"__init__", "__main__"}):
            yield f"{package.where(path)} is in no room: {', '.join(FLOOR)}"


def upward_imports(package):
    """Yield imports of rooms that are not on a lower floor, or of the package itself."""
    for path, room, arrow, end in package.imports():
        # The command line alone is above what the package exports.
        is_below = FLOOR.get(end, 0 if room == "cli" else 10) < FLOOR.get(room, 10)
        if room and path.stem != UPWARD and end != room and not is_below:
            name = f"{end or 'the package itself'} ({arrow.name or arrow.module})"
            yield f"{package.where(path, arrow.line)} imports {name}, not on a lower floor"


def hidden_imports(package):
    """Yield imports of what a room does not export; what is in core may be imported from it."""
    for path, room, arrow, end in package.imports():
        is_room = arrow.name is None and arrow.known_as == end
        is_exported = is_room or (arrow.module == end and arrow.name in package.faces.get(end, {}))
        if end not in {"", "core", room} and not is_exported:
            name = f"{arrow.module}.{arrow.name or ''}".strip(".")
            yield f"{package.where(path, arrow.line)} imports {name}, not exported by {end}"


def full_inits(package):
    """Yield what an `__init__` defines, or has from elsewhere than its room."""
    for path, tree in package.trees.items():
        if path.stem != "__init__":
            continue
        for node in tree.body:
            names = {*re.findall(r"\w+", ast.unparse(getattr(node, "targets", [])[:1] or []))}
            is_docstring = isinstance(node, ast.Expr) and node is tree.body[0]
            is_listing = isinstance(node, ast.Assign) and names <= INIT_NAMES
            is_listing |= isinstance(node, ast.AnnAssign) and node.target.id == "__version__"
            if not (is_docstring or is_listing or isinstance(node, (ast.Import, ast.ImportFrom))):
                yield f"{package.where(path, node.lineno)} defines something in an __init__"
        for arrow in package.arrows[path]:
            end = arrow.module.split(".")[0]
            room = package.room[path]
            allowed = {"lazy_loader", "__future__"} if arrow.is_library else {room}
            if end not in allowed and (room or arrow.is_library):
                yield f"{package.where(path, arrow.line)} has {arrow.module} in an __init__"


def many_pairs(package):
    """Yield the pairs of rooms of which one imports the other, if they are many."""
    pairs = {
        (room, end)
        for path, room, _, end in package.imports()
        if room and end not in {"", room} and path.stem != UPWARD
    }
    if len(pairs) > MOST_PAIRS:
        yield f"{len(pairs)} pairs of rooms, more than {MOST_PAIRS}: {sorted(pairs)}"


def circles(package):
    """Yield files that import each other, be it for annotations; texts name what comes later."""
    graph = nx.DiGraph()
    for path, _, arrow, _ in package.imports():
        end = package.home(arrow.module, arrow.name)
        is_file = path.suffix == ".py" and path.stem != "__init__"
        if is_file and not arrow.is_text and end not in {None, path} and end.stem != "__init__":
            graph.add_edge(path, end)
    for component in nx.strongly_connected_components(graph):
        if len(component) > 1:
            yield f"a circle: {', '.join(sorted(map(package.where, component)))}"


def is_call(node, *names):
    """Tell whether a node is a call of a function or method of one of these names."""
    called = getattr(node, "func", None) if isinstance(node, ast.Call) else None
    return getattr(called, "id", getattr(called, "attr", None)) in names


def late_imports(package):
    """Yield imports inside functions which do not ask for an extra, and those by a call."""
    for path, arrows in package.arrows.items():
        for arrow in arrows:
            is_inside = arrow.function is not None and not arrow.is_text
            if is_inside and not asks_for_extra(arrow.function):
                yield f"{package.where(path, arrow.line)} imports {arrow.module} in a function"
        if path.stem not in IMPORTERS.get(package.room[path], ()):
            for node in ast.walk(package.trees[path]):
                if is_call(node, "__import__", "import_module", "resolve_name"):
                    yield f"{package.where(path, node.lineno)} imports by a call"


def asks_for_extra(function):
    return any(is_call(node, "optional_module") for node in ast.walk(function))


def stray_libraries(package):
    """Yield imports of a library outside of its home, and of extras, which may be missing."""
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {re.match(r"[\w-]+", text)[0] for text in project["dependencies"]}
    optional = {
        re.match(r"[\w-]+", text)[0].replace("-", "_")
        for texts in project["optional-dependencies"].values()
        for text in texts
        if re.match(r"[\w-]+", text)[0] not in needed
    }
    for path, arrows in package.arrows.items():
        place = ".".join(package.parts[path]) + "."
        for arrow in arrows:
            library = arrow.module.split(".")[0]
            homes = HOMES.get(library, {""})
            if arrow.is_library and not any(place.startswith(f"{h}." if h else "") for h in homes):
                yield f"{package.where(path, arrow.line)} imports {library}: {sorted(homes)} may"
            elif library in optional and not (arrow.function or arrow.is_typing):
                yield f"{package.where(path, arrow.line)} imports {library}: use optional_module"


def stray_reductions(package):
    """Yield sums, maxima and normalisations over states by rooms that ask inference for them."""
    for path, arrows in package.arrows.items():
        if package.room[path] in ASKING and path.stem not in REDUCING:
            names = [(arrow.name, arrow.line) for arrow in arrows]
            names += [
                (node.attr, node.lineno)
                for node in ast.walk(package.trees[path])
                if isinstance(node, ast.Attribute) and node.attr in METHODS
            ]
            for name, line in names:
                if name in REDUCTIONS | METHODS:
                    yield f"{package.where(path, line)} uses {name}: ask a solver"


def silent_modules(package):
    """Yield modules that do not say what they are."""
    for path, tree in package.trees.items():
        if path.suffix == ".py" and tree.body and not ast.get_docstring(tree):
            yield f"{package.where(path)} has no docstring"


def many_upward(package):
    """Yield the functions of higher rooms that methods of lower ones are, if they are many."""
    upward = {
        (arrow.module, arrow.name)
        for path, room, arrow, end in package.imports()
        if path.stem == UPWARD and FLOOR.get(end, 0) > FLOOR.get(room, 0)
    }
    if len(upward) > MOST_UPWARD:
        yield f"{len(upward)} names of higher rooms, more than {MOST_UPWARD}: {sorted(upward)}"


RULES = [
    lost_files,
    upward_imports,
    hidden_imports,
    full_inits,
    many_pairs,
    circles,
    late_imports,
    stray_libraries,
    stray_reductions,
    silent_modules,
    many_upward,
]


@functools.cache
def this_package():
    return Package(ROOT)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_is_built_by_the_rule(rule):
    wrong = list(rule(this_package()))
    assert not wrong, "\n".join(wrong)


def test_what_is_named_by_a_text_or_in_the_list_of_upward_functions_exists():
    for path, _, arrow, _ in this_package().imports():
        if arrow.is_text or path.stem == UPWARD:
            home = f"bayesgraph.{arrow.module}:{arrow.name}"
            assert pkgutil.resolve_name(home) is not None, this_package().where(path, arrow.line)


def test_public_names_resolve_and_importing_the_package_imports_nothing_heavy(tmp_path):
    assert all(getattr(bayesgraph, name) is not None for name in bayesgraph.__all__)
    heavy = ["numba", "sklearn", "scipy", "networkx", "pandas", "matplotlib", "pgmpy", "typer"]
    code = f"import sys, bayesgraph; dir(bayesgraph); print(set({heavy}) & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "set()\n"


LAZY = """import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
"""
VARIABLES = "from bayesgraph.core.variables import V"
GOOD = {
    "__init__.py": LAZY,
    "__init__.pyi": "from .graphs import Graph as Graph\nfrom .core.variables import V as V",
    "__main__.py": "from bayesgraph.cli import main\nmain()",
    "core/__init__.py": "",
    "core/variables.py": "import numpy",
    "core/upward.py": "",
    "core/upward.pyi": "from ..files import save as save",
    "graphs/__init__.py": LAZY,
    "graphs/__init__.pyi": "from .dag import Graph as Graph\nfrom .search import find as find",
    "graphs/dag.py": f"{VARIABLES}\nfrom bayesgraph.core import upward",
    "graphs/search.py": "from bayesgraph.graphs import Graph",
    "models/__init__.py": "from bayesgraph.models.network import Network\n__all__ = ['Network']",
    "models/network.py": "from bayesgraph.graphs import Graph, find",
    "files/__init__.py": "from bayesgraph.files.formats import save",
    "files/formats.py": "from bayesgraph.models import Network\nA = 'bayesgraph.files.bif:FORMAT'",
    "files/bif.py": "from . import formats",
    "cli/__init__.py": "from .commands import main",
    "cli/commands.py": "import typer\nimport bayesgraph as bg\nfrom bayesgraph import Graph",
}
TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "


@pytest.mark.parametrize(
    ("rule", "path", "source"),
    [
        (None, "models/more.py", "from bayesgraph.graphs import Graph as G"),
        (None, "files/r.py", "def f():\n    optional_module('rdata')\n    import rdata"),
        (None, "pictures/roc.py", "from sklearn.metrics import X"),
        (None, "core/compiler/types.py", "import numba.types"),
        (lost_files, "errors.py", ""),
        (lost_files, "other/errors.py", ""),
        (upward_imports, "core/more.py", "from bayesgraph.models import Network"),
        (upward_imports, "core/more.py", TYPES + "from ..models import Network"),
        (upward_imports, "tables/rows.py", "from bayesgraph.graphs import Graph"),
        (upward_imports, "models/network.py", "from bayesgraph import Graph"),
        (upward_imports, "models/network.py", "import bayesgraph as bg"),
        (upward_imports, "models/network.py", "A = 'bayesgraph.files:save'"),
        (hidden_imports, "models/network.py", "from bayesgraph.graphs.dag import Graph"),
        (hidden_imports, "models/network.py", "from bayesgraph.graphs import dag"),
        (hidden_imports, "models/network.py", "import bayesgraph.graphs"),
        (hidden_imports, "models/network.py", TYPES + "from ..graphs import hidden"),
        (hidden_imports, "cli/models.py", "A = 'bayesgraph.graphs.dag:Graph'"),
        (hidden_imports, "core/upward.pyi", "from ..files.formats import save as save"),
        (hidden_imports, "__init__.pyi", "from .graphs.dag import Graph as Graph"),
        (full_inits, "models/__init__.py", "from .network import Network\nX = 1"),
        (full_inits, "models/__init__.py", "from .network import Network\ndef f():\n    pass"),
        (
            full_inits,
            "models/__init__.py",
            "from .network import Network\nfrom ..graphs import Graph",
        ),
        (full_inits, "models/__init__.py", "from .network import Network\nimport numpy"),
        (full_inits, "models/parts/__init__.pyi", "from ...graphs import Graph as Graph"),
        (circles, "core/variables.py", TYPES + "from bayesgraph.core.more import X"),
        (circles, "graphs/dag.py", TYPES + "from .search import find"),
        (circles, "graphs/dag.py", TYPES + "from bayesgraph.graphs import find"),
        (late_imports, "models/network.py", "def f():\n    import json"),
        (late_imports, "models/network.py", "async def f():\n    if x:\n        from . import y"),
        (late_imports, "models/network.py", "import importlib\nimportlib.import_module(x)"),
        (stray_libraries, "models/network.py", "from sklearn.base import X"),
        (stray_libraries, "classifiers/tan.py", "from sklearn.base import X"),
        (stray_libraries, "core/compilers.py", "import numba"),
        (stray_libraries, "core/kernels.py", "import numba"),
        (stray_libraries, "pictures/plot.py", "import matplotlib.pyplot as plt"),
        (stray_reductions, "questions/ask.py", "from bayesgraph.core.algebra import log_sum_exp"),
        (stray_reductions, "questions/ask.py", "import numpy as np\nnp.logaddexp(1, 2)"),
        (many_upward, "core/upward.pyi", ""),
        (silent_modules, "models/more.py", '"Text." + x'),
    ],
)
def test_the_rules(rule, path, source, tmp_path):
    files = GOOD | {"core/more.py": VARIABLES, path: source}
    if rule is many_upward:
        names = [f"f{i}" for i in range(MOST_UPWARD + 1)]
        files["files/__init__.py"] = f"from .formats import {', '.join(names)}"
        files[path] = f"from ..files import {', '.join(names)}"
    for name, text in files.items():
        file = tmp_path / "bayesgraph" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        is_silent = name.endswith(".pyi") or not text or text.startswith('"')
        file.write_text(text if is_silent else f'"""Text."""\n{text}')
    package = Package(tmp_path / "bayesgraph")
    assert [broken for broken in RULES if list(broken(package))] == ([rule] if rule else [])


def test_pairs_of_rooms_are_counted(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "MOST_PAIRS", 1)
    for room, source in {"core": "", "graphs": "core", "models": "core"}.items():
        (tmp_path / room).mkdir()
        (tmp_path / room / "a.py").write_text(f"import bayesgraph.{source}" if source else "")
    (wrong,) = many_pairs(Package(tmp_path))
    assert "2 pairs" in wrong
