"""Notebooks of Jupyter, from scripts and from pages: nbformat 4.5 as a dict.

A passage of text becomes a cell of text, a block of Python a cell of code. Cells have no output
and need nothing but the library: what a page or a script says of the place where it is, such as
links to other pages, is left out or set.
"""

import ast
import json
import re

from run_pages import BLOCK

# Blocks that are for the site, such as the table of contents.
DIRECTIVE = re.compile(r"^```\{[\w-]+\}.*?^```$\n?", re.MULTILINE | re.DOTALL)
# A box or a part to open: its title stays, and what is in it.
OPENED = re.compile(r"^:{3,}\{[\w-]+\}[ \t]*(?P<title>[^\n]*)\n(?::[\w-]+:[^\n]*\n)*", re.MULTILINE)
CLOSED = re.compile(r"^:{3,}[ \t]*\n?|^</?details[^>]*>[ \t]*\n?", re.MULTILINE)
SUMMARY = re.compile(r"<summary>(.*?)</summary>")
PICTURE = re.compile(r"!\[[^\]]*\]\((?!\w+://)[^)]*\)")
LINK = re.compile(r"\[([^\]]+)\]\((?!\w+://)[^)\s]+\)")
ROLE = re.compile(r"\{[\w-]+\}`([^`<]*?)(?:\s*<[^>`]*>)?`")
IMPORTS = (ast.Import, ast.ImportFrom)
# What a script reads of itself, which a notebook has to be told.
PLACE = """\
# As if this were {name} in the folder examples of a checkout.
import sys
from pathlib import Path

import bayesgraph as bg

__file__ = str(Path(bg.__file__).parents[1] / "examples" / "{name}")
sys.argv = [__file__, *{arguments}]"""


def pages(docs):
    """Return the pages of a folder and of those below that have blocks of Python."""
    paths = sorted(p for p in docs.rglob("*.md") if "generated" not in p.relative_to(docs).parts)
    return [path for path in paths if BLOCK.search(path.read_text(encoding="utf-8"))]


def from_page(text):
    """Return the notebook of a page of Markdown: its passages, and its blocks of Python.

    Parameters
    ----------
    text : str
        The source of the page. Blocks begin with ```python; libraries that a block needs, further
        words on that line, are named in a comment.

    Returns
    -------
    dict
        The notebook, for `json.dumps`.
    """
    cells, end = [], 0
    for block in BLOCK.finditer(text):
        needs = ", ".join(block["needs"].split())
        code = (f"# Needs {needs}.\n" if needs else "") + block["code"]
        cells += [("markdown", _passage(text[end : block.start()])), ("code", code)]
        end = block.end()
    return _notebook([*cells, ("markdown", _passage(text[end:]))])


def from_script(text, name="script.py", arguments=()):
    """Return the notebook of a script: its docstring, and its paragraphs of code.

    Parameters
    ----------
    text : str
        The source of the script. Lines of comment that begin a paragraph become text.
    name : str
        The file that it is, in the folder examples.
    arguments : sequence of str
        Its arguments on the command line.

    Returns
    -------
    dict
        The notebook, for `json.dumps`.
    """
    tree = ast.parse(text)
    title, _, intro = (ast.get_docstring(tree) or name).partition("\n")
    cells = [("markdown", f"# {title}\n{intro}")]
    if re.search(r"\b__file__\b|\bsys\.argv\b", text):
        cells.append(("code", PLACE.format(name=name, arguments=[*arguments])))
    for paragraph in _paragraphs(text, tree):
        comment = re.match(r"(?:#[^\n]*(?:\n|$))*", paragraph)[0]
        cells += [
            ("markdown", re.sub(r"^# ?", "", comment, flags=re.MULTILINE)),
            ("code", paragraph.removeprefix(comment)),
        ]
    return _notebook(cells)


def write(notebook, path):
    """Write a notebook to a file, the same bytes for the same notebook."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _passage(text):
    """Return text of a page as a notebook shows it: no directives, no links to other files."""
    for pattern, words in (
        (DIRECTIVE, ""),
        (OPENED, lambda box: f"**{box['title']}**\n\n" if box["title"] else ""),
        (CLOSED, ""),
        (SUMMARY, r"**\1**"),
        (PICTURE, ""),
        (LINK, r"\1"),
        (ROLE, r"\1"),
    ):
        text = pattern.sub(words, text)
    return re.sub(r"\n{3,}", "\n\n", text)


def _paragraphs(text, tree):
    """Return the code of a script after its docstring, parted at blank lines between statements.

    Imports are one paragraph.
    """
    documented = ast.get_docstring(tree) is not None
    begin = tree.body[0].end_lineno if documented else 0
    body = tree.body[documented:]
    paragraphs = [[]]
    for number, line in enumerate(text.splitlines()[begin:], begin + 1):
        around = [s for s in body if s.lineno <= number][-1:]
        around += [s for s in body if s.end_lineno >= number][:1]
        inside = len(around) == 2 and around[0] is around[1]
        if line.strip() or inside or all(isinstance(s, IMPORTS) for s in around):
            paragraphs[-1].append(line)
        else:
            paragraphs.append([])
    return ["\n".join(lines).strip("\n") for lines in paragraphs if lines]


def _notebook(cells):
    """Return pairs of a kind and a text as a notebook; what is empty is left out."""
    shown = [(kind, text.strip("\n")) for kind, text in cells if text.strip()]
    rest = {"markdown": {}, "code": {"execution_count": None, "outputs": []}}
    return {
        "cells": [
            {
                "cell_type": kind,
                "id": f"cell-{number}",
                "metadata": {},
                "source": text.splitlines(keepends=True),
                **rest[kind],
            }
            for number, (kind, text) in enumerate(shown)
        ],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
