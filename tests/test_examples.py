"""The examples run as a newcomer runs them, and the README shows what they draw."""

import os
import runpy
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import bayesgraph as bg

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
# The first is what the README tells a newcomer to run, the second takes little but its start.
FIRST, SHORT = "quickstart.py", "by_hand.py"
# Of the standard library, modules on each topic of text.py.
FEW_MODULES = [
    *("asyncio/streams.py", "asyncio/tasks.py", "email/message.py", "mailbox.py", "shutil.py"),
    *("tempfile.py", "pkgutil.py", "importlib/util.py", "logging/__init__.py", "statistics.py"),
    *("random.py", "subprocess.py", "concurrent/futures/_base.py", "unittest/case.py"),
    *("urllib/request.py", "http/client.py"),
]
# Arguments by which an example takes seconds.
ARGUMENTS = {"large.py": ["20000"]}


def run(name, folder):
    """Run an example in a process of its own, as its words say."""
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name, *ARGUMENTS.get(name, [])],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},  # this checkout, whatever is installed
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not done.stderr


@pytest.fixture
def small_library(tmp_path, monkeypatch):
    """Let the standard library have few modules, for the example that reads their documentation."""
    paths, folder = sysconfig.get_paths(), tmp_path / "library"
    for name in FEW_MODULES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(Path(paths["stdlib"]) / name)
    monkeypatch.setattr(sysconfig, "get_paths", lambda: paths | {"stdlib": str(folder)})


# In this process, which has imported the library and loaded its kernels once, and with two folds
# of every sixth row where an example compares models, with the first rows of a stream and without
# drawing figures: the numbers are not checked. The build of the documentation runs all, and whole.
@pytest.mark.one_in(8)
@pytest.mark.usefixtures("small_library", "figures_are_not_drawn")
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != SHORT])
def test_example_runs(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    evaluate, prequential = bg.evaluate, bg.prequential

    def on_sixths(models, X, y, cv=5):
        return evaluate(models, X[::6], y[::6], cv=2)

    def on_first(models, *stream):
        return prequential(models, *(part[:2000] if len(stream) > 1 else part for part in stream))

    monkeypatch.setattr(bg, "evaluate", on_sixths)
    monkeypatch.setattr(bg, "prequential", on_first)
    monkeypatch.setattr(sys, "argv", [str(ROOT / "examples" / name), *ARGUMENTS.get(name, [])])
    runpy.run_path(sys.argv[0], run_name="__main__")
    printed = capfd.readouterr()
    assert printed.out
    assert not printed.err
    assert max(map(len, printed.out.splitlines())) <= 80
    assert {path.name for path in tmp_path.iterdir()} <= {"out", "library"}
    if name == FIRST:
        drawn = (tmp_path / "out" / "heart_tan.svg").read_text()
        shown = (ROOT / "examples/pictures/heart_tan.svg").read_text()
        assert "disease" in drawn
        assert drawn.count("<g id=") == shown.count("<g id=")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [SHORT, *(pytest.param(n, marks=pytest.mark.slow) for n in EXAMPLES if n != SHORT)]
)
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
