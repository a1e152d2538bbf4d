"""The reference: a page for each public name, found in the package's list of them.

`bayesgraph/__init__.pyi` names what is public; the room that a name is from decides on its section,
or the folder within the room. Methods are those that a class of the library defines.
"""

import ast
import dataclasses
import inspect
import re
import shutil
from pathlib import Path

import bayesgraph as bg
from bayesgraph.core.upward import is_question

GENERATED = Path(__file__).parents[1] / "generated" / "api"
# Sections in their order: the title, and the rooms, or folders of a room, whose names it has.
SECTIONS = {
    "Classifiers": ("classifiers",),
    "Models": ("models",),
    "Sequences": ("time",),
    "Distributions": ("models.cpds", "models.families"),
    "Variables and evidence": ("core",),
    "Answers": ("inference",),
    "Explanations, causes and comparisons": ("questions",),
    "Graphs": ("graphs",),
    "Learning and streams": ("learning",),
    "Statistics": ("statistics",),
    "Tables": ("tables",),
    "Files and figures": ("files", "pictures"),
}
MODULES = {
    "errors": "Errors and warnings",
    "examples": "Data to start with",
    "files": "Formats of files",
    "pictures": "Pictures",
    "questions": "Questions to models",
    "classifiers": "Results and parts of classifiers",
    "core": "Parts of variables and evidence",
    "graphs": "More of graphs",
    "inference": "Answers in full",
    "learning": "Learners",
    "models": "More of models",
    "statistics": "More of statistics",
    "tables": "More of tables",
}
# Of a room that other rooms take names from: those for its users.
USED = {
    "classifiers": {
        "CollectedStatistics",
        "Discretizer",
        "Evaluation",
        "PairedTest",
        "PrequentialComparison",
        "PrequentialResult",
    },
    "core": {"Evidence", "LossReport", "MissingIndicator"},
    "graphs": {"PDAG", "cpdag", "structural_hamming_distance"},
    "inference": {
        "Assignment",
        "Conflict",
        "GaussianFactor",
        "ItemsMixture",
        "Marginals",
        "MixedPosterior",
        "NumberMixture",
        "Plan",
        "Posterior",
        "Sensitivity",
        "WeightedSamples",
    },
    "learning": {
        "ADWIN",
        "ArcConfidence",
        "Structure",
        "chow_liu",
        "count_source",
        "forest",
        "forward_selection",
        "hill_climb",
        "kdb",
        "pc",
        "selective_kdb",
        "star",
        "superparent",
        "tabu",
        "tan",
        "unrestricted",
    },
    "models": {
        "Annotations",
        "BetaCPD",
        "CPD",
        "DirichletMultinomialCPD",
        "ExponentialCPD",
        "GaussianPlate",
        "HistogramCPD",
        "JointGaussianCPD",
        "KernelDensityCPD",
        "NegativeBinomialCPD",
        "Plate",
        "PresenceCPD",
        "StudentCPD",
        "TablePlate",
        "Trees",
        "TreesCPD",
    },
    "statistics": {
        "CountSource",
        "GKSummary",
        "GaussianSummary",
        "IndependenceTest",
        "ParameterPosterior",
        "PiDSummary",
    },
    "tables": {"Dataset", "EMHistory", "Training", "TrainingRows"},
    "files": {"FORMATS", "FileFormat", "format_of", "predict_dataset", "register_format", "save"},
    "questions": {n for n in bg.questions.__all__ if is_question(getattr(bg.questions, n))}
    | {
        "Axes",
        "CausalDiagram",
        "Contribution",
        "Contributions",
        "Correspondence",
        "CredibleIntervals",
        "CredibleMarginals",
        "Crosstab",
        "Diff",
        "Effect",
        "Estimand",
        "Explanation",
        "Flip",
        "Independence",
        "Instrument",
        "NearestRows",
        "NextQuestion",
        "NextQuestions",
        "Questionnaire",
        "RankedQuestion",
        "RelevantExplanation",
        "RowContributions",
        "Shape",
        "Shapes",
        "TableDrift",
        "TopItems",
        "Tornado",
        "adjusted_effect",
        "correspondence",
        "crosstab",
        "discriminant_axes",
        "measures",
        "multiple_correspondence",
        "principal_axes",
        "read_dagitty",
        "table_drift",
    },
}
# Its names are listed with the distributions.
WITHOUT_PAGE: set[str] = set()


def public_names():
    """Return where each name of the package is from, and the public modules."""
    tree = ast.parse(Path(bg.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    names, modules = {}, []
    for statement in tree.body:
        if not isinstance(statement, ast.ImportFrom):
            continue
        for alias in statement.names:
            value = getattr(bg, alias.name)
            if inspect.ismodule(value):
                modules.append(alias.name)
            else:
                names[alias.name] = _section(value.__module__.removeprefix("bayesgraph."))
    return names, modules


def _section(module):
    """Return the title of the section of a module: its folder's, or else its room's."""
    titles = {home: title for title, homes in SECTIONS.items() for home in homes}
    room, *folders = module.split(".")
    folder = ".".join([room, *folders[:1]])
    if folder in titles:
        return titles[folder]
    if room not in titles:
        raise ValueError(f"No section of the reference has {room!r}, the room of {module}: add it.")
    return titles[room]


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
    if hasattr(module, "__all__"):
        # A room, of which some names are the package's, too.
        used = USED.get(module.__name__.rpartition(".")[2], module.__all__)
        return sorted(name for name in used if not hasattr(bg, name))
    names = [name for name in vars(module) if not name.startswith("_")]
    homes = {name: getattr(getattr(module, name), "__module__", None) for name in names}
    return sorted(name for name, home in homes.items() if home == module.__name__)


def write(app):
    """Write all pages of the reference."""
    shutil.rmtree(GENERATED, ignore_errors=True)
    GENERATED.mkdir(parents=True)
    names, modules = public_names()
    own_names = {title: sorted(n for n in names if names[n] == title) for title in SECTIONS}
    sections = [(title, bg, own, "") for title, own in own_names.items()]
    for name in sorted(set(modules) - WITHOUT_PAGE):
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
