"""The examples run as a newcomer runs them, and the README shows what they draw."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import bayesgraph as bg

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
# What the README tells a newcomer to run first.
FIRST = "quickstart.py"
others = pytest.mark.parametrize("name", [name for name in EXAMPLES if name != FIRST])


def run(name, folder):
    """Run an example in a process of its own, as its words say."""
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},  # this checkout, whatever is installed
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not done.stderr


def test_quickstart_runs_and_draws_the_picture_of_the_readme(tmp_path):
    run(FIRST, tmp_path)
    drawn = (tmp_path / "out" / "heart_tan.svg").read_text()
    assert "disease" in drawn
    assert drawn.count("<g id=") == (ROOT / "examples/pictures/heart_tan.svg").read_text().count(
        "<g id="
    )


# In this process, which has imported the library and loaded its kernels once, and with two folds
# where an example compares models: the numbers are not checked.
@others
def test_example_runs(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    whole = bg.evaluate
    monkeypatch.setattr(bg, "evaluate", lambda *given, cv=5: whole(*given, cv=2))
    monkeypatch.setattr(sys, "argv", [str(ROOT / "examples" / name)])
    runpy.run_path(sys.argv[0], run_name="__main__")
    printed = capfd.readouterr()
    assert printed.out
    assert not printed.err


@pytest.mark.slow
@others
def test_example_runs_by_itself(name, tmp_path):
    run(name, tmp_path)


def test_readme_code_runs(tmp_path, monkeypatch):
    blocks = (ROOT / "README.md").read_text().split("```python\n")[1:]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "out").mkdir()
    names = {}  # a later block goes on with what an earlier one has made
    for block in blocks:
        exec(compile(block.split("```")[0], "README.md", "exec"), names)
    assert (tmp_path / "out" / "heart.svg").is_file()
