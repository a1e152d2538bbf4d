"""The front end as text: its size, its words, and nothing in it that nobody uses."""

import re

import pytest

import bayesgraph as bg
from bayesgraph.page.page import FRONT

MODULES = {
    path.name: path.read_text("utf-8") for path in FRONT.iterdir() if path.name[-3:] == ".js"
}
# Without the comments, which name files.
SHEET = re.sub(r"/\*.*?\*/", "", (FRONT / "look.css").read_text("utf-8"), flags=re.DOTALL)
VIEWS = [
    *("app", "card", "charts", "classifier", "dom", "format", "inspector", "layout", "menu"),
    *("network", "share", "state", "table", "words", "worker"),
]


def test_the_front_end_takes_90_kb_of_a_file():
    coin = bg.Discrete("coin", ["heads", "tails"])
    text = bg.BayesianNetwork([bg.TableCPD(coin, [0.5, 0.5])]).to_html()
    model = re.findall(r'id="bayesgraph(?:-(?:snapshot|numbers|archive))?">([^<]*)', text)
    assert len(text) - sum(map(len, model)) <= 90_000


def test_every_text_is_shown_somewhere():
    words = MODULES["words.js"]
    others = "\n".join(text for name, text in MODULES.items() if name != "words.js")
    keys = re.findall(r"^  (\w+):", words, re.MULTILINE)
    assert len(keys) > 100
    assert [key for key in keys if not re.search(rf"WORDS\.{key}\b", others)] == []
    assert [key for key in re.findall(r"WORDS\.(\w+)", others) if key not in keys] == []


@pytest.mark.parametrize("name", VIEWS)
def test_what_a_module_gives_and_takes_is_used(name):
    own = MODULES[f"{name}.js"]
    imports = re.compile(r"^import \{([^}]*)\} from \"\./([\w.]+)\";$", re.MULTILINE)
    taken = {
        word
        for text in MODULES.values()
        for names, module in imports.findall(text)
        if module == f"{name}.js"
        for word in re.findall(r"\w+", names)
    }
    given = re.findall(r"^export (?:async )?(?:function|class|const) (\w+)", own, re.MULTILINE)
    assert set(given) == taken
    for names, _ in imports.findall(own):
        for word in re.findall(r"\w+", names):
            assert len(re.findall(rf"\b{word}\b", own)) > 1, word


def test_every_class_of_the_style_sheet_is_used():
    words = set(re.findall(r"[a-z-]+", "\n".join(MODULES.values())))
    classes = set(re.findall(r"\.([a-z][a-z-]*[a-z])(?=[\s.,:>\[{])", SHEET))
    assert classes
    assert classes <= words


def test_no_module_makes_markup_of_text():
    for text in MODULES.values():
        assert not re.search(r"innerHTML|outerHTML\s*=|insertAdjacentHTML|document\.write", text)
        assert "eval(" not in text
