"""The pages of docs/ do what they say: their blocks of Python run in order, page by page.

A block begins with ```python; further words on that line are libraries that it needs, such as
```python duckdb, and without them it is left out.
"""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.cli.options import CHOICES, registered
from bayesgraph.core.errors import MissingDependencyError

DOCS = Path(__file__).parents[1] / "docs"
# What the build of the documentation writes is made of these.
PAGES = sorted(path for path in DOCS.rglob("*.md") if "generated" not in path.parts)
# Pages with the same tasks there and here; of those, one runs by default.
COMPARISONS = [path for path in PAGES if path.stem.startswith("coming-from-")]
RUN = [
    pytest.param(path, marks=pytest.mark.slow) if path in COMPARISONS[1:] else path
    for path in PAGES
]
_BLOCK = re.compile(r"^```python(?P<needs>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def below_docs(path):
    """Return where a page is, as the names of tests have it."""
    return os.path.relpath(path, DOCS)


def run(path):
    """Run the blocks of a page in one namespace; return the libraries that were missing."""
    text = path.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__"}
    missing = set()
    for block in _BLOCK.finditer(text):
        lacking = {n for n in block["needs"].split() if importlib.util.find_spec(n) is None}
        missing |= lacking
        if not lacking:
            # Tracebacks name the line of the page.
            before = "\n" * text.count("\n", 0, block.start("code"))
            with warnings.catch_warnings():
                if block["needs"]:  # what other libraries warn of is theirs
                    warnings.simplefilter("ignore")
                exec(compile(before + block["code"], str(path), "exec"), namespace)
    return missing


@pytest.mark.one_in(4)
@pytest.mark.usefixtures("figures_are_not_drawn")
@pytest.mark.parametrize("path", RUN, ids=below_docs)
def test_the_blocks_of_a_page_run(path, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    missing = run(path)
    assert not capfd.readouterr().err
    if missing:
        pytest.skip(f"Some blocks need {', '.join(sorted(missing))}.")


@pytest.mark.parametrize("path", PAGES, ids=below_docs)
def test_links_lead_somewhere(path):
    text = path.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in anchors
        elif "://" not in target:
            assert (path.parent / target.partition("#")[0]).exists(), target


def test_pages_for_other_libraries_have_the_same_tasks():
    tasks = [
        re.findall(r"^## (.*)$", p.read_text(encoding="utf-8"), re.MULTILINE) for p in COMPARISONS
    ]
    assert len(COMPARISONS) == 6
    assert all(found == tasks[0] for found in tasks)
    assert len(tasks[0]) == 20


def test_the_calls_of_one_question_are_those_of_this_version():
    page = DOCS / "one-question.md"
    assert page.read_text(encoding="utf-8").count("Posterior.__init__") == 2
    script = page.parent / "_extensions" / "one_question.py"
    environment = os.environ | {"PYTHONPATH": str(page.parents[1])}
    done = subprocess.run(
        [sys.executable, script, "--check"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"Run python docs/_extensions/one_question.py.\n{done.stdout}"


def test_a_block_that_fails_names_its_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Words.\n\n```python\nx = 1\n```\n```python no_such_library\n1 / 0\n```\n")
    assert run(page) == {"no_such_library"}
    page.write_text(page.read_text() + "```python\n\nassert x == 2\n```\n")
    with pytest.raises(AssertionError) as raised:
        run(page)
    frame = raised.traceback[-1]
    assert (str(frame.path), frame.lineno + 1) == (str(page), 11)


RNG = np.random.default_rng(0)
TABLE = {"a": RNG.choice(["p", "q"], 60), "b": RNG.choice(["x", "y"], 60), "n": RNG.normal(size=60)}
COIN, SIDE = bg.Discrete("a", ["p", "q"]), bg.Discrete("b", ["x", "y"])
NET = bg.BayesianNetwork(
    [bg.TableCPD(COIN, [0.5, 0.5]), bg.TableCPD(SIDE, [[0.5, 0.5], [0.9, 0.1]], [COIN])]
)
ROWS = {"a": TABLE["a"], "b": TABLE["b"]}


def comparing(**options):
    results = bg.evaluate({"one": bg.NaiveBayesClassifier(), "two": bg.TANClassifier()}, *LABELLED)
    return bg.paired_tests(results, **options)


LABELLED = {"b": TABLE["b"], "n": TABLE["n"]}, TABLE["a"]
# Functions whose docstrings list values, and how they are asked.
CALLS = {
    "learn": (bg.BayesianNetwork.learn, lambda **o: bg.BayesianNetwork.learn(TABLE, **o)),
    "fit": (bg.BayesianNetwork.fit, lambda **o: bg.BayesianNetwork.fit([("a", "b")], ROWS, **o)),
    "query": (bg.BayesianNetwork.query, lambda **o: NET.query("a", {"b": "x"}, **o)),
    "marginals": (bg.BayesianNetwork.marginals, lambda **o: NET.marginals({"b": "x"}, **o)),
    "sample": (bg.BayesianNetwork.sample, lambda **o: NET.sample(3, **o)),
    "query_rows": (bg.BayesianNetwork.query_rows, lambda **o: NET.query_rows("a", ROWS, **o)),
    "render": (bg.pictures.to_dot, lambda **o: bg.pictures.to_dot(NET, **o)),
    "tornado": (bg.questions.tornado, lambda **o: NET.ask.tornado("a", evidence={"b": "x"}, **o)),
    "correspondence": (
        bg.questions.correspondence,
        lambda **o: bg.questions.correspondence(ROWS, **o),
    ),
    "paired_tests": (bg.paired_tests, comparing),
    "to_html": (NET.to_html, lambda **o: NET.to_html(target="a", **o)),
}
_LIST = re.compile(r"^ *(\w+) : \{(\".*?\")\}", re.MULTILINE)


def listed(docstring):
    """Return the pairs of a parameter and a value that a docstring lists."""
    return [
        (name, value)
        for name, values in _LIST.findall(docstring)
        for value in re.findall(r'"([^"]*)"', values)
    ]


CLASSIFIERS = [getattr(bg, name) for name in bg.__all__ if name.endswith("Classifier")]
# It classifies sequences of rows.
CLASSIFIERS.remove(bg.TemporalNetworkClassifier)
OF_CLASSIFIERS = [
    pytest.param(kind, *pair, id=f"{kind.__name__}-{'-'.join(pair)}")
    for kind in CLASSIFIERS
    for pair in listed(kind.__doc__)
    if pair[0] in inspect.signature(kind).parameters
]
OF_FUNCTIONS = [
    pytest.param(call, *pair, id=f"{name}-{'-'.join(pair)}")
    for name, (function, call) in CALLS.items()
    for pair in listed(function.__doc__)
]


@pytest.mark.parametrize(("kind", "name", "value"), OF_CLASSIFIERS)
def test_a_classifier_takes_each_value_that_its_docstring_lists(kind, name, value):
    X = {"n": TABLE["n"]} if kind is bg.DiscriminantAnalysisClassifier else LABELLED[0]
    if kind is bg.ComplementNaiveBayesClassifier:
        X = RNG.integers(0, 4, (60, 3))
    quick = {"n_trees": 2, "max_steps": 2} if kind is bg.BayesianNetworkClassifier else {}
    if name == "exponents" and value in ("variable", "class", "mixed"):
        quick = {"structure": "tan"} if quick else {}
    try:
        fitted = kind(**quick | {name: value}).fit(X, LABELLED[1])
        assert fitted.predict_proba(X).shape == (60, 2)
    except MissingDependencyError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("call", "name", "value"), OF_FUNCTIONS)
def test_a_function_takes_each_value_that_its_docstring_lists(call, name, value):
    call(**{name: value})


@pytest.mark.parametrize("path", [*PAGES, DOCS.parent / "README.md"], ids=below_docs)
def test_values_that_a_page_names_are_listed_where_they_are_taken(path):
    # Blocks of Python run; what is named beside them has to be in a list that code is tried with.
    texts = [thing.__doc__ for thing in CLASSIFIERS]
    for room in (bg, bg.BayesianNetwork, bg.questions, bg.learning, bg.tables, bg.pictures):
        texts += [getattr(room, name).__doc__ for name in dir(room) if name[0] != "_"]
    values = {}
    for name, value in [pair for text in texts for pair in listed(text or "")]:
        values.setdefault(name, set()).add(value)
    for name, titles in CHOICES.items():
        values.setdefault(name, set()).update(*map(registered, titles))
    prose = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    spans = re.findall(r"`([^`]+)`", prose)
    named = [pair for span in spans for pair in re.findall(r'\b(\w+)="([^"]+)"', span)]
    assert [(n, v) for n, v in named if n in values and v not in values[n]] == []
    # Such as "ddm", in the paragraph of a parameter.
    every = set().union(*values.values())
    for paragraph in re.sub(r"^\|.*$", "", prose, flags=re.M).split("\n\n"):
        if any(name in CHOICES for name in re.findall(r"`(\w+)=", paragraph)):
            quotes = re.findall(r'"([\w-]+)"', re.sub(r"`[^`]*`", "", paragraph))
            assert [quote for quote in quotes if quote not in every] == []
