"""Each template, filled in as its header says, passes the tests of its kind.

The names and the lines with a TODO are replaced as a contributor would, the result is imported as a
module, entered in its one list, and given to the tests that read that list.
"""

import importlib.util
import inspect
import random
import re
import sys
import textwrap
from contextlib import suppress
from functools import partial
from pathlib import Path

import cases
import family_oracle
import numpy as np
import pytest
from scipy import stats

import bayesgraph as bg
from bayesgraph import classifiers
from bayesgraph.core.errors import FileFormatError, ImpossibleEvidenceError
from bayesgraph.files.payloads import STORED
from bayesgraph.inference import METHODS, solver
from bayesgraph.inference.table_solvers import CompiledPrograms
from bayesgraph.learning import LEARNERS
from bayesgraph.models import FAMILIES, Model

TESTS = Path(__file__).parent
TEMPLATES = TESTS / "templates"

FAMILY = {
    1: "The log density is ``log(rate) - rate x`` for x >= 0.",
    2: "return np.where(x >= 0, np.log(rate) - rate * x, -np.inf)",
    3: "return np.asarray(-np.expm1(-rate * np.maximum(x, 0.0)))",
    4: "return np.asarray(np.exp(-rate * np.maximum(x, 0.0)))",
    5: "return 1.0 / rate, rate**-2.0",
    6: "return random.exponential(1.0 / rate)",
    7: "return (1.0 / mean,)",
    8: '"waiting times: numbers from 0 on, the most frequent near 0",',
}
LEARNER = {
    1: "Naive Bayes with the one arc between features that gains most.",
    2: """\
    chosen = np.argwhere(allowed & (gains == np.where(allowed, gains, -np.inf).max()))[:1]""",
}
CLASSIFIER = {
    1: "Naive Bayes with arcs between features that are worth more than a minimum.",
    2: "The arcs are a forest of maximum gain.",
    3: "Minimum gain of an arc, in nats a row.",
    4: "return partial(forest, score=self.minimum)",
}
FILE_FORMAT = {
    1: """\
    WORDS = TextSpelling(
        "text without ; , # and line ends",
        re.compile("[^;,#\\n]++"),
        wrong=re.compile("[;,#\\n]"),
    )""",
    2: """\
    parts = line.split("; ")
    if len(parts) != 4:
        raise ValueError("expected a name, states, parents and numbers, between semicolons")
    name, *lists = parts
    states, parents, numbers = (part.split(", ") if part else [] for part in lists)
    return name, states, parents, numbers""",
    3: """\
    parents = [names[parent] for parent in cpd.parents]
    numbers = map(repr, cpd.values.ravel().tolist())
    lists = (states[cpd.variable], parents, numbers)
    return "; ".join([names[cpd.variable], *map(", ".join, lists)])""",
}
QUESTION = {
    1: "The surprise of the evidence: minus the binary logarithm of its probability, in bits.",
    2: "return None if log_mass == -np.inf else float(-log_mass / np.log(2.0))",
    3: "``-log2 P(evidence)`` (Shannon 1948).",
}


def filled(template, names, marks):
    """Return the text of a template with other names, and other lines in the place of its marks."""
    text = (TEMPLATES / template).read_text("utf-8")
    for old, new in names.items():
        text, count = re.subn(rf"\b{re.escape(old)}\b", new, text)
        assert count, f"{template} has no {old}"
    for number, new in marks.items():
        # A mark in a comment stands for its line, one in a docstring for its sentence.
        mark = rf"^(?P<indent> *)(?P<before>[^\n]*?)(?P<sign># )?TODO\({number}\):[^\n]*$"

        def line(found, new=new):
            lines = textwrap.dedent(new)
            if found["sign"] is None:
                return found["indent"] + found["before"] + lines
            return textwrap.indent(lines, found["indent"])

        text, count = re.subn(mark, line, text, flags=re.MULTILINE)
        assert count == 1, f"{template} has {count} marks TODO({number})"
    assert "TODO(" not in text
    return text


@pytest.fixture
def module_of(tmp_path, monkeypatch):
    """Return a function that makes a module of a template that is filled in."""

    def made(template, names, marks):
        name = f"filled_{template.removesuffix('.py')}"
        path = tmp_path / f"{name}.py"
        path.write_text(filled(template, names, marks), "utf-8")
        return loaded(name, path, monkeypatch)

    return made


def loaded(name, path, monkeypatch):
    """Return a file as a module, which can be imported by its name as long as the test runs."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def suite(name, monkeypatch):
    """Return a module of tests, wherever it is."""
    (path,) = TESTS.rglob(f"{name}.py")
    return loaded(f"templates_{name}", path, monkeypatch)


def run(module, *, least=0, **arguments):
    """Run the tests of a module that take these arguments, and return how many ran.

    Tests are left out whose arguments have fewer values than `least`: they are about those alone.
    """
    count = 0
    for name, function in [*vars(module).items()]:
        if not name.startswith("test_") or name in getattr(arguments.get("case"), "without", ()):
            continue
        wanted = inspect.signature(function).parameters.keys()
        if not arguments.keys() - {"tmp_path"} <= wanted <= arguments.keys():
            continue
        marks = [mark for mark in function.pytestmark if mark.name == "parametrize"]
        if max(len(mark.args[1]) for mark in marks) < least:
            continue
        with suppress(pytest.skip.Exception):
            function(**{argument: arguments[argument] for argument in wanted})
            count += 1
    return count


def test_a_family(module_of, monkeypatch, tmp_path):
    names = {"NewCPD": "WaitingCPD", "NEW_FAMILY": "WAITING", "theta": "rate"}
    module = module_of("family.py", {**names, "new_name": "waiting"}, FAMILY)
    monkeypatch.setitem(FAMILIES, "waiting", module.WAITING)
    monkeypatch.setitem(STORED, "waiting", module.WaitingCPD)
    scipy_s = ("positive", lambda rate: stats.expon(scale=1.0 / rate))
    monkeypatch.setitem(cases.DENSITIES, "waiting", scipy_s)
    # Tests that ran before may have made it of the families of then.
    density = family_oracle.density("waiting")
    monkeypatch.setitem(family_oracle.FAMILIES, module.WaitingCPD, density)
    families = suite("test_families", monkeypatch)
    assert run(families, least=len(families.NAMES), name="waiting", tmp_path=tmp_path) > 7
    case = cases.Case(
        "nb-waiting", partial(bg.NaiveBayesClassifier, "waiting"), kinds=("positive",)
    )
    conforms(case, monkeypatch, tmp_path)


def conforms(case, monkeypatch, tmp_path):
    """Run the conformance tests on a row of the table."""
    conformance = suite("test_conformance", monkeypatch)
    kind = case.kinds[-1]
    assert run(conformance, case=case, kind=kind, tmp_path=tmp_path) > 10
    conformance.test_probabilities_equal_brute_force(case, kind, slice(4))
    conformance.test_weights_are_repetitions(case, kind, True)


def test_a_learner(module_of, monkeypatch, tmp_path):
    monkeypatch.setitem(LEARNERS, "best_pair", None)  # so that it is gone afterwards
    module = module_of("learner.py", {"new_learner": "best_pair"}, LEARNER)
    assert LEARNERS["best_pair"].learn is module.best_pair
    case = cases.Case("best-pair", partial(bg.BayesianNetworkClassifier, "best_pair"))
    conforms(case, monkeypatch, tmp_path)
    network = cases.fit(case, cases.make_data("mixed")).network_
    assert len(network.arc_scores) == 1
    gains = bg.TANClassifier().fit(cases.make_data("mixed").pandas(), cases.make_data("mixed").y)
    best = max(gains.network_.arc_scores.values())
    assert [*network.arc_scores.values()] == pytest.approx([best], abs=1e-9)


def test_a_classifier(module_of, monkeypatch, tmp_path):
    names = {"NewClassifier": "PairsClassifier", "theta": "minimum"}
    kind = module_of("classifier.py", names, CLASSIFIER).PairsClassifier
    monkeypatch.setattr(classifiers, "PairsClassifier", kind, raising=False)
    assert kind().get_params()["minimum"] == 0.1
    assert "smoothing : " in kind.__doc__
    conforms(cases.Case("pairs", kind, searched=("minimum", (0.0, 0.2))), monkeypatch, tmp_path)


def test_a_file_format(module_of, monkeypatch, tmp_path):
    module = module_of("file_format.py", {"the new format": "lines of text"}, FILE_FORMAT)
    monkeypatch.setitem(bg.files.FORMATS, ".lines", "")  # so that it is gone afterwards
    bg.files.register_format(".lines", f"{module.__name__}:FORMAT")
    formats = suite("test_every_format", monkeypatch)
    assert formats.CARDS[".lines"] is module.FORMAT
    assert run(formats, suffix=".lines", tmp_path=tmp_path) == 2
    for path in formats.repository():
        if path.name in ("asia.bif.gz", "child.bif.gz", "alarm.bif.gz"):
            formats.test_networks_come_back_to_the_bit(path, ".lines", tmp_path)
    # Whatever is in a file, it is a network or a FileFormatError.
    path = tmp_path / "network.lines"
    text = path.read_text("utf-8")
    rng = random.Random(0)
    messages = []
    for _ in range(200):
        begin, end = sorted(rng.choices(range(len(text)), k=2))
        path.write_text(text[:begin] + rng.choice([";", ", ", "\n", "1e999"]) + text[end:], "utf-8")
        try:
            bg.load(path)
        except FileFormatError as error:
            messages.append(str(error))
    assert len(messages) > 100
    assert all("network.lines" in message for message in messages)


def test_a_question(module_of, monkeypatch):
    names = {"New": "Surprise", "TableNew": "TableSurprise", "new_question": "surprise"}
    module = module_of("question.py", names, QUESTION)
    try:
        monkeypatch.setitem(CompiledPrograms.works, module.Surprise, module.TableSurprise)
        answering = tuple(s for s in solver.SOLVERS if module.Surprise in s.works)
        monkeypatch.setitem(solver._ANSWERING, module.Surprise, answering)
        monkeypatch.setattr(Model, "surprise", module.surprise, raising=False)
        solvers = suite("test_solver", monkeypatch)
        monkeypatch.setitem(solvers.QUESTIONS, "surprise", lambda m: m.surprise({"a": 1}))
        for model in solvers.MODELS:
            solvers.test_every_question_passes_through_one_solver("surprise", model, monkeypatch)
        solvers.test_each_solver_says_when_it_is_selected_and_what_it_answers()
        for name in ("few tables", "tables"):
            network = solvers.MODELS[name]()
            expected = -np.log2(network.query("a").probabilities[1])
            assert network.surprise({"a": 1}) == pytest.approx(expected, rel=1e-12)
        never = bg.BayesianNetwork([bg.TableCPD(solvers.A, [1.0, 0.0])])
        with pytest.raises(ImpossibleEvidenceError):
            never.surprise({"a": 1})
    finally:
        METHODS.pop(module.Surprise)


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.py")), ids=lambda path: path.stem)
def test_a_header_says_where_it_goes(path):
    header = path.read_text("utf-8").split('"""')[1]
    for part in ("Room", "The one list: ", "Its test row: ", "Docs: "):
        assert part in header
    assert len(header.splitlines()) < 20
