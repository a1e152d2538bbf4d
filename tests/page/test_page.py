"""The file: its parts, its policy, what it gives back, and what it refuses."""

import itertools
import json
import re

import golden_models
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bayesgraph as bg
from bayesgraph.core.errors import (
    DataTypeError,
    FileFormatError,
    MemoryLimitError,
    UnsupportedModelError,
)
from bayesgraph.page.page import FRONT, front
from bayesgraph.page.snapshot import take_snapshot

# What a page cannot answer exactly, and what the refusal names.
REFUSED = {"gaussian-factors": "'x'", "trees": "'sick'"}
HOSTILE = [
    '</script><script>alert("x")</script>',
    "<img src=x onerror=alert(1)>",
    "'\"&",
    "\u202eabc",
]


def head_of(text):
    return json.loads(re.search(r'id="bayesgraph">([^<]*)</script>', text)[1])


def blocks_of(text):
    return dict(re.findall(r'id="bayesgraph-(\w+)">([^<]*)</script>', text))


def test_modules_import_each_other_in_one_direction():
    script, _ = front()
    defined = set()
    for line in script.splitlines():
        if found := re.fullmatch(r"const (\w+_MODULE) = \(\(\) => \{", line):
            defined.add(found[1])
        elif found := re.fullmatch(r"(?:const\{)?.*\}=(\w+_MODULE);", line):
            assert found[1] in defined
    modules = {item.name for item in FRONT.iterdir() if item.name.endswith(".js")} - {"loader.js"}
    assert len(defined) == len(modules)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", golden_models.MODELS)
def test_the_model_comes_back_exactly(tmp_path, name):
    model = golden_models.MODELS[name].make()
    path = tmp_path / "model.html"
    if name in REFUSED:
        with pytest.raises(UnsupportedModelError, match=REFUSED[name]):
            model.to_html(path)
        return
    model.to_html(path)
    assert bg.load(path) == model
    saved = tmp_path / "model.bayesgraph"
    model.save(saved)
    loaded = tmp_path / "loaded.bayesgraph"
    bg.load(path).save(loaded)
    assert loaded.read_bytes() == saved.read_bytes()


def test_an_estimator_comes_back_with_its_parameters(tmp_path):
    rows = {"size": ["s", "m", "l", "m"] * 5, "mark": [True, False, False, True] * 5}
    made = bg.TANClassifier(smoothing=0.5).fit(rows, [1, 0, 1, 1] * 5)
    made.to_html(tmp_path / "clf.html")
    back = bg.load(tmp_path / "clf.html")
    assert type(back) is bg.TANClassifier
    assert back.get_params() == made.get_params()
    assert back.network_ == made.network_
    assert_array_equal(back.predict_proba(rows), made.predict_proba(rows))
    head, content = head_of(made.to_html()), take_snapshot(made.network_, target="class").content
    assert head["title"] == "TANClassifier"
    assert content["target"] == made.network_._index_of["class"]


def test_names_never_are_markup():
    first = bg.Discrete(HOSTILE[0], [*HOSTILE[1:], "1", 1])
    second = bg.Discrete(HOSTILE[1], [True, False])
    net = bg.BayesianNetwork([
        bg.TableCPD(first, [0.1, 0.2, 0.3, 0.2, 0.2]),
        bg.TableCPD(second, [[0.5, 0.5]] * 5, [first]),
    ])  # fmt: skip
    text = net.to_html(title=HOSTILE[0])
    markup = re.sub(r"<script[^>]*>[^<]*</script>", "", re.sub(r"(?s)<style.*?</style>", "", text))
    assert "alert" not in markup.replace("&lt;/script&gt;&lt;script&gt;alert(", "")
    assert head_of(text)["title"] == HOSTILE[0]
    states = take_snapshot(net).content["variables"][0]["states"]
    assert states == [*HOSTILE[1:], "'1'", "1"]


def test_nothing_may_be_requested():
    text = golden_models.chain().to_html()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert "unsafe-inline" not in policy
    # Checksums may have any two characters side by side.
    assert not re.search(r"https?:|//", re.sub(r"'sha256-[\w+/=]*'", "", policy))
    assert "connect-src" not in rules


def test_sizes():
    binary = [bg.Discrete(f"v{i}", ["no", "yes"]) for i in range(8)]
    tables = [bg.TableCPD(binary[0], [0.5, 0.5])]
    tables += [bg.TableCPD(b, [[0.9, 0.1], [0.2, 0.8]], [a]) for a, b in itertools.pairwise(binary)]
    text = bg.BayesianNetwork(tables).to_html()
    block = r'(?s)id="bayesgraph-(?:look|script|kernel|loader)">(.*?)</script>'
    front_end = re.findall(block, text)
    assert len(front_end) == 4
    assert sum(map(len, front_end)) <= 90_000
    assert len(text) <= 100_000


def test_the_same_model_gives_the_same_bytes():
    made = golden_models.MODELS["chain"].make
    assert made().to_html(evidence=None) == made().to_html()


def test_findings_to_begin_with():
    a, b, c = (bg.Discrete(name, ["x", "y", "z"]) for name in "abc")
    thirds = [1 / 3, 1 / 3, 1 / 3]
    net = bg.BayesianNetwork([bg.TableCPD(v, thirds) for v in (a, b, c)])
    given = {
        "a": "z",
        "b": {"x": 1.0, "y": 0.0, "z": 1.0},
        "c": {"x": 0.5, "y": 0.25, "z": 0.125},
    }
    head = head_of(net.to_html(evidence=given))
    assert head["initial"] == {
        "0": {"state": 2},
        "1": {"not": [1]},
        "2": {"weights": [0.5, 0.25, pytest.approx(0.125)]},
    }


def test_a_network_too_large_is_refused_before_the_file_is_written(tmp_path):
    parts = [bg.Discrete(f"p{i}", range(4)) for i in range(6)]
    child = bg.Discrete("child", range(2))
    cpds = [bg.TableCPD(p, [0.25] * 4, []) for p in parts]
    net = bg.BayesianNetwork([*cpds, bg.TableCPD(child, np.full((4,) * 6 + (2,), 0.5), parts)])
    with pytest.raises(
        MemoryLimitError, match=r"8,192 entries; a page takes 1,000.*'child'.*limit="
    ):
        net.to_html(tmp_path / "net.html", limit=1000)
    assert not list(tmp_path.iterdir())
    net.to_html(tmp_path / "net.html", limit=10_000)


def test_wrong_arguments():
    net = golden_models.MODELS["chain"].make()
    with pytest.raises(DataTypeError, match="view= is one of"):
        net.to_html(view="tree")
    with pytest.raises(bg.errors.UnknownVariableError):
        net.to_html(target="no such name")


@pytest.fixture
def page(tmp_path):
    """Return a page as text, and a function that loads another text."""

    def load(text):
        path = tmp_path / "other.html"
        path.write_text(text, encoding="utf-8")
        return bg.load(path)

    return golden_models.MODELS["chain"].make().to_html(), load


def test_files_that_are_no_pages(page):
    text, load = page
    for other in ("", "<!doctype html><p>Hello</p>", text[:900]):
        with pytest.raises(
            FileFormatError, match=r"no page of bayesgraph|get it again|Get the file"
        ):
            load(other)


def test_altered_and_newer_pages(page):
    text, load = page
    with pytest.raises(FileFormatError, match="newer bayesgraph"):
        load(text.replace('"format":1', '"format":2', 1))
    blocks = blocks_of(text)
    with pytest.raises(FileFormatError):
        load(text.replace(blocks["archive"], blocks["snapshot"], 1))
    size, many = head_of(text)["archive"]["bytes"], "9" * 12
    with pytest.raises(FileFormatError, match="would take 999,999,999,999 bytes"):
        load(text.replace(f'"archive":{{"bytes":{size}', f'"archive":{{"bytes":{many}'))


def test_a_page_that_is_written_is_not_returned_too(tmp_path):
    model = golden_models.chain()
    assert model.to_html(tmp_path / "page.html") is None  # a notebook would print it
    assert model.to_html() == (tmp_path / "page.html").read_text("utf-8")
