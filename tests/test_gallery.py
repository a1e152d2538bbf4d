"""Cards of the front page and of the examples: each has a thumbnail and leads to its page."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import gallery
import pytest

ROOT = Path(__file__).parents[1]
INDEX = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
CARDS = list(gallery.CARD.finditer(gallery.CARDS.search(INDEX)[1]))


def test_the_front_page_has_six_cards_and_reads_well_without_them():
    assert len(CARDS) == 6
    shown = gallery.with_cards(INDEX)
    assert shown.count(":::{grid-item-card}") == shown.count(":img-top: /generated/pictures/") == 6
    assert "<!--" not in shown
    # Elsewhere it is a list of links, each with a sentence.
    assert len(re.findall(r"^\* \[[^\]]+\]\([\w-]+\.md\): .+", INDEX, re.MULTILINE)) == 6


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card["page"])
def test_a_card_leads_to_a_page_and_shows_a_picture_of_a_run(card):
    assert (ROOT / "docs" / f"{card['page']}.md").is_file()
    assert "](" not in card["words"]  # the whole card is a link
    source, _, picture = card["picture"].partition("/")
    text = next(ROOT.glob(f"[de]*/{source}")).read_text(encoding="utf-8")
    made = Path(picture).name
    assert made in text or (made.startswith("figure-") and "bg.plot(" in text)


def test_every_section_of_the_gallery_has_examples_that_are_there():
    names = [name for section in gallery.SECTIONS.values() for name in section]
    assert len(set(names)) == len(names)
    assert {*names} | {*gallery.THUMBNAILS} <= {path.stem for path in EXAMPLES}


def test_each_example_has_a_card_a_page_and_two_downloads(tmp_path, monkeypatch):
    monkeypatch.setattr(gallery, "GENERATED", tmp_path)
    drawn = {"text": "Words.", "pictures": ["out/a.svg", "out/why.png"], "lacking": []}
    told = {"text": 'P(a) < 1 & "b"\n' * 40, "pictures": [], "lacking": []}
    runs = {path: [drawn if path.stem in ("explain", "learn") else told] for path in EXAMPLES}
    gallery.write_examples(runs)
    index = (tmp_path / "examples" / "index.rst").read_text(encoding="utf-8")
    for path, (record,) in runs.items():
        page = (tmp_path / "examples" / f"{path.stem}.rst").read_text(encoding="utf-8")
        assert page.startswith(f"{path.name}\n====")
        assert index.count(f":link: {path.stem}\n") == 1
        for text in (page, index):
            assert f"<../../../examples/{path.name}>" in text
            assert f"<../notebooks/examples/{path.stem}.ipynb>" in text
        notebook = tmp_path / "notebooks" / "examples" / f"{path.stem}.ipynb"
        assert json.loads(notebook.read_text(encoding="utf-8"))["nbformat"] == 4
        thumbnail = tmp_path / "thumbnails" / f"{path.stem}.svg"
        shot = path.parent / "pictures" / f"{path.stem}.png"  # of a page for browsers
        assert thumbnail.exists() == (not record["pictures"] and not shot.exists())
        if thumbnail.exists():
            lines = ElementTree.parse(thumbnail).getroot().findall(".//{*}tspan")
            assert [line.text for line in lines] == ['P(a) < 1 & "b"'] * gallery.HEIGHT
    assert ":img-top: /generated/pictures/explain.py/out/why.png" in index
    assert ":img-top: /generated/pictures/learn.py/out/a.svg" in index
