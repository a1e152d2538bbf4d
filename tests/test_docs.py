"""The pages of docs/ do what they say: their blocks of Python run in order, page by page.

A block begins with ```python; further words on that line are libraries that it needs, such as
```python duckdb, and without them it is left out.
"""

import importlib.util
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))
# Pages with the same tasks there and here; of those, one runs by default.
COMPARISONS = [path for path in PAGES if path.stem.startswith("coming-from-")]
RUN = [
    pytest.param(path, marks=pytest.mark.slow) if path in COMPARISONS[1:] else path
    for path in PAGES
]
_BLOCK = re.compile(r"^```python(?P<needs>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


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
@pytest.mark.parametrize("path", RUN, ids=lambda path: path.name)
def test_the_blocks_of_a_page_run(path, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    missing = run(path)
    assert not capfd.readouterr().err
    if missing:
        pytest.skip(f"Some blocks need {', '.join(sorted(missing))}.")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
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
    page = PAGES[0].parent / "one-question.md"
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
