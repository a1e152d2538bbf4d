"""The reference: a page for each public name, found in the package's list of them.

`bayesgraph/__init__.pyi` names what is public and the subpackage that it comes from, which decides
on the section. Methods are those that a class of the library defines.
"""

import ast
import dataclasses
import inspect
import re
import shutil
from pathlib import Path

import bayesgraph as bg

GENERATED = Path(__file__).parents[1] / "generated" / "api"
# Sections in their order: the title, and the subpackages whose names it has.
SECTIONS = {
    "Classifiers": ("classifiers",),
    "Models": ("models",),
    "Variables": ("variables",),
    "Distributions": ("cpds", "families"),
    "Answers": ("inference",),
    "Explanations and uncertainty": ("explain", "uncertainty", "what_if", "asking"),
    "Causes and independence": ("causal", "independence", "graphs"),
    "Learning": ("learning",),
    "Comparisons, cards and profiles": ("compare", "cards", "profiles"),
    "Figures": ("plots",),
    "Streams and drift": ("drift",),
    "Tables and files": ("datasets", "io", "loss_report", "statistics"),
    "Factors": ("factors",),
}
MODULES = {
    "errors": "Errors and warnings",
    "plots": "Pictures",
    "questions": "Questions to models",
    "measures": "Measures",
    "typing": "Types of arguments",
    "io": "Formats of files",
    "families": "Families",
}


def public_names():
    """Return the names of the package by section, and its public modules."""
    tree = ast.parse(Path(bg.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    names, modules = {}, []
    for statement in tree.body:
        if not isinstance(statement, ast.ImportFrom):
            continue
        for alias in statement.names:
            if statement.module is None:
                modules.append(alias.name)
            else:
                names[alias.name] = statement.module.partition(".")[0]
    return names, modules


def _members(cls):
    """Return the methods and properties of a class that the library defines, by kind."""
    methods, properties = [], []
    for name in sorted(dir(cls)):
        found = inspect.getattr_static(cls, name)
        if name.startswith("_"):
            continue
        home = next(kind for kind in cls.__mro__ if name in vars(kind))
        if not home.__module__.startswith("bayesgraph"):
            continue
        if isinstance(found, property) or hasattr(found, "func"):
            properties.append(name)
        elif not inspect.isclass(found) and (
            callable(found) or isinstance(found, (classmethod, staticmethod))
        ):
            methods.append(name)
    return methods, properties


def _page(path, name):
    """Return the page of a class or function."""
    found = getattr(path, name)
    full = f"{path.__name__}.{name}"
    # The tables of the sections lead here: hundreds of names would fill the list beside each page.
    lines = [":orphan:", "", name, "=" * len(name), "", f".. currentmodule:: {path.__name__}", ""]
    if not inspect.isclass(found):
        kind = "autofunction" if callable(found) else "autodata"
        return "\n".join([*lines, f".. {kind}:: {name}", ""])
    lines += [f".. autoclass:: {name}", ""]
    if issubclass(found, BaseException):
        return "\n".join(lines)
    methods, properties = _members(found)
    if dataclasses.is_dataclass(found):
        fields = {field.name for field in dataclasses.fields(found)}
        properties = [p for p in properties if p not in fields]
    documented = [p for p in properties if inspect.getdoc(inspect.getattr_static(found, p))]
    for title, directive, members in (
        ("Properties", "autoattribute", documented),
        ("Methods", "automethod", methods),
    ):
        if members:
            lines += [f".. rubric:: {title}", ""]
            for member in members:
                lines += [f".. {directive}:: {full.rpartition('.')[2]}.{member}", ""]
    return "\n".join(lines)


def _listing(title, module, names, intro=""):
    """Return the page of a section: a table of names with the first sentence of each."""
    table = [f"   {name}" for name in names]
    lines = [title, "=" * len(title), "", intro, "", f".. currentmodule:: {module.__name__}", ""]
    lines += [".. autosummary::", "", *table, ""]
    return "\n".join(lines)


def _of_module(module):
    """Return the public classes and functions of a module."""
    listed = getattr(module, "__all__", None)
    names = listed if listed is not None else [n for n in vars(module) if not n.startswith("_")]

    def own(name):
        value = getattr(module, name)
        return listed is not None or getattr(value, "__module__", None) == module.__name__

    return sorted(name for name in names if own(name))


def write(app):
    """Write all pages of the reference."""
    shutil.rmtree(GENERATED, ignore_errors=True)
    GENERATED.mkdir(parents=True)
    names, modules = public_names()
    sections = []
    for title, homes in SECTIONS.items():
        own = sorted(name for name, home in names.items() if home in homes)
        sections.append((title, bg, own, ""))
    left = set(names) - {name for _, _, own, _ in sections for name in own}
    if left:
        raise ValueError(f"No section of the reference has {sorted(left)}: add their subpackage.")
    for name in modules:
        module = getattr(bg, name)
        sections.append((MODULES[name], module, _of_module(module), inspect.getdoc(module)))
    files = []
    for title, module, own, intro in sections:
        file = title.lower().replace(" ", "-")
        files.append(f"   {file}")
        (GENERATED / f"{file}.rst").write_text(_listing(title, module, own, intro), "utf-8")
        for name in own:
            page = GENERATED / f"{module.__name__}.{name}.rst"
            page.write_text(_page(module, name), "utf-8")
    words = ("Everything public, from the package's own list of names. Names are reached as "
             "``bg.Name`` after ``import bayesgraph as bg``.")  # fmt: skip
    lines = ["Reference", "=========", "", words, "", ".. toctree::", "   :maxdepth: 1", "", *files]
    (GENERATED / "index.rst").write_text("\n".join([*lines, ""]), encoding="utf-8")


def escape(app, what, name, obj, options, lines):
    """Escape what docstrings write plainly and the markup takes for emphasis or for a link."""
    for number, line in enumerate(lines):
        line = re.sub(r"\((?=\*[a-z])|(?<=, )(?=\*[a-z_])(?!\*\w+\*)", lambda m: m[0] + "\\", line)
        lines[number] = re.sub(r"(?<=shape \()(\w+)_(?=[,)])", r"\1\\_", line)


def setup(app):
    """Connect the extension."""
    app.connect("autodoc-process-docstring", escape, priority=900)
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
