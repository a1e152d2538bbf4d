"""The examples run as a newcomer runs them, and the README shows what they draw."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not done.stderr


def test_readme_picture_is_what_quickstart_draws(tmp_path):
    subprocess.run(
        [sys.executable, ROOT / "examples" / "quickstart.py", tmp_path / "pictures"], check=True
    )
    drawn = (tmp_path / "pictures" / "heart_tan.svg").read_text()
    assert "disease" in drawn
    assert drawn.count("<g id=") == (ROOT / "examples/pictures/heart_tan.svg").read_text().count(
        "<g id="
    )


def test_readme_code_runs(tmp_path, monkeypatch):
    blocks = (ROOT / "README.md").read_text().split("```python\n")[1:]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "out").mkdir()
    names = {}  # a later block goes on with what an earlier one has made
    for block in blocks:
        exec(compile(block.split("```")[0], "README.md", "exec"), names)
    assert (tmp_path / "out" / "heart.svg").is_file()
