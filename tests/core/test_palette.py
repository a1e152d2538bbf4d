"""The colours are named in one place, and text can be read on every ground that it stands on."""

import re
from pathlib import Path

import pytest

import bayesgraph
from bayesgraph.core.display import DARK, LIGHT, style_properties

ROOT = Path(bayesgraph.__file__).parent
GROUNDS = ("ground", "panel", "card", "shade", "target", "warn")


def luminance(colour):
    """Return the relative luminance of the Web Content Accessibility Guidelines 2.2."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast_of_text_is_at_least_4_5_and_of_marks_3(colours):
    for ground in GROUNDS:
        assert contrast(colours["ink"], colours[ground]) >= 7
        assert contrast(colours["muted"], colours[ground]) >= 4.5, ground
    for mark in ("bar", "arc", "shade-line", "target-line", "focus", "warn-line"):
        assert contrast(colours[mark], colours["card"]) >= 3, mark
    assert contrast(colours["ink"], colours["tint"]) >= 4.5


def test_both_themes_name_the_same_properties():
    assert LIGHT.keys() == DARK.keys()
    assert style_properties({"ink": "#000000", "card": "#ffffff"}) == (
        "--ink: #000000; --card: #ffffff;"
    )


def test_no_other_module_names_a_colour():
    named = [
        f"{path.relative_to(ROOT)}: {found}"
        for path in ROOT.rglob("*.py")
        if path.name != "display.py"
        for found in re.findall(r"\"#[0-9a-fA-F]{6}\"", path.read_text(encoding="utf-8"))
    ]
    assert not named
