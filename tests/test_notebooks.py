"""Pages and examples as notebooks: the same code in the same order, and text that stands alone."""

import ast
import json
import re
import sys
from pathlib import Path

import notebooks
import pytest
from run_pages import BLOCK

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
PAGES = notebooks.pages(ROOT / "docs")
PAGE = """\
# A title

Read [this](other.md#there), [that](https://example.org/that) and {doc}`the guide <guide>`.

```{toctree}
:hidden:

other
```

```python
x = 1
```

```bash
bayesgraph --help
```

:::{dropdown} Solution
:color: info

It is $x + 1$.

```python duckdb
x + 1
```
:::

<details><summary>More</summary>

![A picture](picture.svg)

| a | b |
| - | - |

</details>
"""
SCRIPT = '''\
"""Say it.

Twice.
"""

import os

from os import path

# Then
# this:
x = [

    1,
]
# here
y = 2


@print
def f():
    a = 1

    return a
'''


def cells(notebook, kind):
    """Return the texts of the cells of a kind."""
    return ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == kind]


def statements(code):
    """Return the statements of code, without where they stand."""
    return [ast.dump(statement) for statement in ast.parse(code).body]


def test_passages_and_blocks_of_a_page_alternate():
    notebook = notebooks.from_page(PAGE)
    kinds = ["markdown", "code", "markdown", "code", "markdown"]
    assert [cell["cell_type"] for cell in notebook["cells"]] == kinds
    assert cells(notebook, "code") == ["x = 1", "# Needs duckdb.\nx + 1"]
    first, second, third = cells(notebook, "markdown")
    assert first == "# A title\n\nRead this, [that](https://example.org/that) and the guide."
    assert second == "```bash\nbayesgraph --help\n```\n\n**Solution**\n\nIt is $x + 1$."
    assert third == "**More**\n\n| a | b |\n| - | - |"


def test_comments_that_begin_a_paragraph_of_a_script_are_text():
    notebook = notebooks.from_script(SCRIPT)
    assert cells(notebook, "markdown") == ["# Say it.\n\nTwice.", "Then\nthis:"]
    assert cells(notebook, "code") == [
        "import os\n\nfrom os import path",
        "x = [\n\n    1,\n]\n# here\ny = 2",
        "@print\ndef f():\n    a = 1\n\n    return a",
    ]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_the_notebook_of_an_example_has_its_code(path, monkeypatch):
    text = path.read_text(encoding="utf-8")
    code = "\n".join(cells(notebooks.from_script(text, path.name), "code"))
    assert statements(code)[-len(statements(text)) + 1 :] == statements(text)[1:]
    if "__file__" in text or "sys.argv" in text:
        # The cell that comes first finds the folder of the examples.
        names = {}
        monkeypatch.setattr(sys, "argv", ["-f", "connection.json"])
        exec(cells(notebooks.from_script(text, path.name, ["9"]), "code")[0], names)
        assert Path(names["__file__"]).resolve() == path.resolve()
        assert sys.argv == [names["__file__"], "9"]


def test_pages_are_those_with_blocks_and_not_what_is_generated(tmp_path):
    for name in ("a.md", "course/b.md", "generated/c.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(PAGE, encoding="utf-8")
    (tmp_path / "words.md").write_text("# Words\n", encoding="utf-8")
    assert notebooks.pages(tmp_path) == [tmp_path / "a.md", tmp_path / "course" / "b.md"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_notebook_of_a_page_has_its_code_and_links_that_work(path):
    text = path.read_text(encoding="utf-8")
    notebook = notebooks.from_page(text)
    blocks = "\n".join(block["code"] for block in BLOCK.finditer(text))
    assert statements("\n".join(cells(notebook, "code"))) == statements(blocks)
    prose = re.sub(r"`[^`]*`", "", "\n".join(cells(notebook, "markdown")))
    assert all("://" in target for target in re.findall(r"\]\(([^)\s]+)\)", prose))
    assert not re.search(r"^:::|^```\{", prose, re.MULTILINE)


def test_a_notebook_is_of_format_4_5(tmp_path):
    notebook = notebooks.from_page(PAGE)
    notebooks.write(notebook, tmp_path / "folder" / "page.ipynb")
    assert json.loads((tmp_path / "folder" / "page.ipynb").read_text("utf-8")) == notebook
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in ids)
    for cell in notebook["cells"]:
        keys = {"cell_type", "id", "metadata", "source"}
        assert cell.keys() - keys == (
            {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        )
