"""The six notebooks of the course: valid nbformat 4, and they run in order without a network."""

import importlib.util
import json
import re
import socket
from pathlib import Path

import notebooks
import pytest

COURSE = Path(__file__).parents[1] / "docs" / "course"
UNITS = sorted(COURSE.glob("[1-9]-*.md"))
FIELDS = {
    "markdown": {"cell_type", "id", "metadata", "source"},
    "code": {"cell_type", "id", "metadata", "source", "execution_count", "outputs"},
}


def made(unit, folder):
    """Return the notebook of a unit, read from the file that it is written to."""
    path = folder / f"{unit.stem}.ipynb"
    notebooks.write(notebooks.from_page(unit.read_text(encoding="utf-8")), path)
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_course_has_six_units_in_order():
    assert [unit.name[:2] for unit in UNITS] == ["1-", "2-", "3-", "4-", "5-", "6-"]
    listed = re.findall(r"\]\((\d-[\w-]+\.md)\)", (COURSE / "index.md").read_text("utf-8"))
    assert listed == [unit.name for unit in UNITS]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_has_a_picture_a_page_and_three_exercises_with_answers_that_run(unit):
    text = unit.read_text(encoding="utf-8")
    assert ".render(" in text or "bg.plot(" in text
    assert re.search(r"^## On the page$.*?\.to_html\(", text, re.MULTILINE | re.DOTALL)
    exercises = text.partition("\n## Exercises\n")[2]
    numbers = re.findall(r"^\*\*(\d)\. ", exercises, re.MULTILINE)
    answers = re.findall(
        r"^<details><summary>Answer</summary>$(.*?)^</details>$",
        exercises,
        re.MULTILINE | re.DOTALL,
    )
    assert numbers == ["1", "2", "3"]
    assert len(answers) == 3
    assert all("```python\n" in answer for answer in answers)
    assert "on the page" in exercises.lower()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_the_notebook_of_a_unit_is_valid(unit, tmp_path):
    notebook = made(unit, tmp_path)
    assert (notebook["nbformat"], notebook["nbformat_minor"] >= 5) == (4, True)
    assert notebook["metadata"]["kernelspec"]["language"] == "python"
    assert notebook["cells"][0]["cell_type"] == "markdown"
    for cell in notebook["cells"]:
        assert cell.keys() == FIELDS[cell["cell_type"]]
        assert "".join(cell["source"]).strip()
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    if importlib.util.find_spec("nbformat"):
        from nbformat import validate

        validate(notebook)


@pytest.mark.usefixtures("figures_are_not_drawn")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_the_notebook_of_a_unit_runs_without_a_network(unit, tmp_path, monkeypatch, capfd):
    def refuse(self, address):
        raise AssertionError(f"{unit.name} asks {address}.")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    cells = [cell for cell in made(unit, tmp_path)["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells):
        exec(compile("".join(cell["source"]), f"{unit.stem}[{number}]", "exec"), namespace)
    assert not capfd.readouterr().err
    assert list(tmp_path.glob("*.html"))
    assert list(tmp_path.glob("*.svg"))
