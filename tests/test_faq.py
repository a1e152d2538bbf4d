"""Each entry of docs/faq.md makes its mistake, and the message has the words of its title."""

import contextlib
import io
import re
import sys
from pathlib import Path

import pytest
from run_pages import BLOCK

import bayesgraph as bg

PAGE = (Path(__file__).parents[1] / "docs" / "faq.md").read_text(encoding="utf-8")
# The title of each entry, and its text up to the next heading.
ENTRY = re.compile(r'^### "([^"\n]+)"\n(.*?)(?=^##|\Z)', re.MULTILINE | re.DOTALL)
ENTRIES = dict(ENTRY.findall(PAGE))


def without_pyarrow(folder):
    """Return what reading a table says where the extra `tables` is not there."""
    (folder / "table.csv").write_text("a,b\n1,2\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow", None)
        patch.setitem(sys.modules, "pyarrow.csv", None)
        with pytest.raises(bg.errors.MissingDependencyError) as raised:
            bg.read_table(folder / "table.csv")
    return str(raised.value)


# Mistakes that a page cannot make.
MISTAKES = {"which is not installed": without_pyarrow}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Return what the blocks of each entry print, run in their order in one namespace."""
    folder, names, texts = tmp_path_factory.mktemp("faq"), {"__name__": "__main__"}, {}
    with contextlib.chdir(folder):
        exec(BLOCK.search(PAGE)["code"], names)
        for title, text in ENTRIES.items():
            with contextlib.redirect_stdout(io.StringIO()) as output:
                for block in BLOCK.finditer(text):
                    exec(block["code"], names)
            text = MISTAKES[title](folder) if title in MISTAKES else output.getvalue()
            texts[title] = " ".join(text.split())
    return texts


def test_there_are_entries_under_every_heading():
    assert len(ENTRIES) == len(ENTRY.findall(PAGE)) >= 15
    parts = re.split(r"^## .*$", PAGE, flags=re.MULTILINE)[1:]
    assert all(ENTRY.search(part) for part in parts)


@pytest.mark.parametrize("title", ENTRIES)
def test_a_mistake_is_told_in_the_words_of_its_title(printed, title):
    words = [re.escape(part.strip()) for part in title.split("…")]
    assert re.search(".*".join(words), printed[title])


@pytest.mark.parametrize("title", ENTRIES)
def test_a_cure_follows_its_mistake(title):
    blocks = [block["code"] for block in BLOCK.finditer(ENTRIES[title])]
    if title in MISTAKES:
        assert "```bash" in ENTRIES[title]
    else:
        assert [code for code in blocks if "with mistake():" in code]
        assert "with mistake():" not in blocks[-1]
