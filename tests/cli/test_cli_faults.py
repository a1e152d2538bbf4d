"""What goes wrong around a command: its environment, its output, and what it leaves behind."""

import os
import subprocess
import sys
import tempfile
import time
import webbrowser
from pathlib import Path

import pytest

import bayesgraph as bg
from bayesgraph.cli.entry import main


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.bayesgraph"
    (tmp_path / "rows.csv").write_text("a,y\n" + "x,n\nz,s\n" * 4)
    bg.NaiveBayesClassifier().fit({"a": ["x", "z"] * 4}, ["n", "s"] * 4).save(path)
    return path


def shell(command, folder, **environment):
    """Return the exit code and the standard error of ``bayesgraph`` in a shell."""
    path = str(Path(bg.__file__).parents[1])
    done = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -m bayesgraph {command}"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a shell closes and fills the output")
@pytest.mark.parametrize(
    ("command", "environment", "said"),
    [
        ("show m.bayesgraph", {"BAYESGRAPH_COMPILE": "x"}, "BAYESGRAPH_COMPILE is 'x', but"),
        ("show m.bayesgraph", {"NUMBA_NUM_THREADS": "abc"}, "NUMBA_NUM_THREADS is 'abc', but"),
        ("--version > /dev/full", {}, "No space left on device: standard output"),
        ("show m.bayesgraph > /dev/full", {}, "No space left on device: standard output"),
        ("predict m.bayesgraph rows.csv >&-", {}, "Bad file descriptor: standard output"),
        ("predict m.bayesgraph ''", {}, "An argument is empty: ''"),
        ("convert m.bayesgraph full.bif", {}, "No space left on device: /dev/full"),
    ],
)
def test_what_is_wrong_outside_is_told_in_one_line(model, command, environment, said):
    (model.parent / "full.bif").symlink_to("/dev/full")
    code, err = shell(command, model.parent, **environment)
    assert (code, err.count("\n"), said in err) == (2, 1, True), err


def test_a_closed_standard_error_is_no_fault(model):
    assert shell("show m.bayesgraph 2>&-", model.parent) == (0, "")


def test_pages_of_earlier_calls_are_removed(model, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda _: True)
    monkeypatch.setattr(tempfile, "tempdir", str(model.parent))
    old, new, other = (
        model.parent / name for name in ("bayesgraph-a.html", "bayesgraph-b.html", "c.html")
    )
    for page in (old, new, other):
        page.write_text("page")
    for page in (old, other):
        os.utime(page, (time.time() - 4000,) * 2)
    with pytest.raises(SystemExit):
        main(["explore", str(model)])
    assert (old.exists(), new.exists(), other.exists()) == (False, True, True)
    assert len([*model.parent.glob("bayesgraph-*.html")]) == 2
