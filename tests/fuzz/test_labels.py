"""Names and states of every kind through every writer: kept or refused, and never markup."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import html.parser
import importlib.util
import pkgutil
import uuid
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesgraph as bg
from bayesgraph.core import LossReport
from bayesgraph.core.errors import BayesGraphError, LossyExportError, LossyExportWarning
from bayesgraph.files import FileFormat


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Text(str):
    __slots__ = ()


LABELS: dict[str, tuple[Any, Any]] = {
    "text": ("a", "b"),
    "quotes": ('a"b', "a'b"),
    "backslashes": ("a\\b", "a\\"),
    "newline": ("a\nb", "c"),
    "carriage return": ("a\rb", "c"),
    "tab": ("a\tb", "c"),
    "zero byte": ("a\x00", "c"),
    "control characters": ("\x01", "\x1f"),
    "blanks": ("a b", "a"),
    "blank at the start": (" a", "a"),
    "blank at the end": ("a ", "a"),
    "empty": ("", "a"),
    "a blank": (" ", "a"),
    "punctuation": ("a,b", "a;b"),
    "braces": ("{a}", "(a)"),
    "bar": ("a|b", "a"),
    "comments": ("a//b", "/*c*/"),
    "hash": ("#a", "c"),
    "script": ("<script>alert(1)</script>", "c"),
    "event handler": ('"><img onerror=alert(1) src=x>', "c"),
    "entities": ("a&amp;b", "a&b"),
    "DOT attribute": ('a"]; x [label="y', "c"),
    "DOT escapes": ("\\N", "\\l"),
    "DOT markup": ("<b>x</b>", "<>"),
    "composed and decomposed": ("é", "e\u0301"),
    "right to left": ("\u202eabc", "c"),
    "zero width": ("a\u200b", "a"),
    "no-break space": ("a\u00a0b", "a b"),
    "line separators": ("a\u2028b", "c\x85d"),
    "surrogate": ("\ud800", "a"),
    "emoji": ("😀", "👍🏽"),
    "long": ("a" * 20_000, "b"),
    "keywords": ("table", "default"),
    "digits": ("0", "1"),
    "digits first": ("1a", "2"),
    "case": ("Yes", "yes"),
    "words of formats": ("node", "states"),
    "ends of comments": ("-->", "*/ %"),
    "equal at the start": ("a" * 100 + "1", "a" * 100 + "2"),
    "numbers as text": ("1.0", "1"),
    "integers": (0, 1),
    "large integers": (-1, 10**30),
    "floats": (0.5, -1e-300),
    "infinity": (float("inf"), 0.0),
    "zeros": (-0.0, 1.0),
    "booleans": (False, True),
    "True and 1": (1, True),
    "1 and text": (1.0, "1"),
    "tuples": ((1, "a"), (2.0, None)),
    "bytes": (b"a", b"\xff"),
    "decimals": (decimal.Decimal("1.10"), decimal.Decimal("1.1E5")),
    "fractions": (fractions.Fraction(1, 3), fractions.Fraction(2)),
    "dates": (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)),
    "times": (datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.datetime(2020, 1, 1)),
    "durations": (datetime.timedelta(1), datetime.timedelta(-1, 5)),
    "timestamps": (pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01 00:00:00.000000001")),
    "NumPy times": (np.datetime64("2020-01-01", "ns"), np.datetime64("2021-01-01", "D")),
    "NumPy text": (np.str_("a"), np.str_("b")),
    "NumPy numbers": (np.int64(1), np.float64(0.5)),
    "members of an enumeration": (Colour.RED, Colour.BLUE),
    "subclass of str": (Text("a"), "b"),
    "UUIDs": (uuid.UUID(int=1), uuid.UUID(int=2)),
    "sets": (frozenset([1]), frozenset([2])),
    "complex numbers": (1j, 2j),
    "intervals": (pd.Interval(0, 1), pd.Interval(1, 2)),
    "ranges": (range(2), range(3)),
    "types": (int, str),
}


def _network(labels: tuple[Any, Any], where: str) -> bg.BayesianNetwork:
    names: tuple[Any, Any] = labels if where == "name" else ("v", "w")
    states: tuple[Any, Any] = labels if where == "state" else ("n", "y")
    v, w = bg.Discrete(names[0], states), bg.Discrete(names[1], ["x", "y"])
    tables = [bg.TableCPD(v, [0.25, 0.75]), bg.TableCPD(w, [[0.1, 0.9], [0.4, 0.6]], parents=[v])]
    return bg.BayesianNetwork(tables)


def _cards() -> dict[str, FileFormat]:
    """Return the card of each format that holds networks, by its first suffix."""
    homes = {home: suffix for suffix, home in reversed(bg.files.FORMATS.items())}
    cards = {suffix: pkgutil.resolve_name(home) for home, suffix in homes.items()}
    return {s: c for s, c in cards.items() if c.parse is not None and c.format is not None}


CARDS = _cards()
PGMPY = "pgmpy"
TARGETS = [*CARDS, *([PGMPY] if importlib.util.find_spec("pgmpy") else [])]
LOSSY = [place for place in TARGETS if place == PGMPY or CARDS[place].is_strict]


def _through(
    network: bg.BayesianNetwork, place: str, folder: Path, *, strict: bool = True
) -> tuple[LossReport | None, Any]:
    """Return the report of writing a network to a file or to pgmpy's objects, and what is read."""
    if place == PGMPY:
        if strict:
            return None, bg.from_pgmpy(bg.files.to_pgmpy(network))
        converted, report = bg.files.to_pgmpy(network, strict=False)
        return report, bg.from_pgmpy(converted)
    path = folder / f"labels{place}"
    report = network.save(path, **({} if strict else {"strict": False}))
    return report, bg.load(path)


class _Markup(html.parser.HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes.update(name for name, _ in attrs)


def _labels(network: Any) -> list[Any]:
    return [label for v in network.variables for label in (v.name, *v.states)]


def _typed(network: Any) -> list[Any]:
    return [(type(label), repr(label)) for label in _labels(network)]


def _has_controls(text: str) -> bool:
    return any(ord(character) < 32 and character not in "\n\r\t" for character in text)


@pytest.fixture
def network(labels: str, where: str) -> bg.BayesianNetwork:
    return _network(LABELS[labels], where)


# Names that are equal belong to one variable.
PLACES = [
    (labels, where)
    for labels in LABELS
    for where in ("name", "state")
    if (labels, where) != ("True and 1", "name")
]
pytestmark = [pytest.mark.parametrize(("labels", "where"), PLACES), pytest.mark.one_in(12)]


def test_formats_keep_or_refuse_labels(network: bg.BayesianNetwork, tmp_path: Path) -> None:
    refused = {}
    for place in TARGETS:
        try:
            report, again = _through(network, place, tmp_path)
        except LossyExportError as error:
            refused[place] = str(error)
            continue
        assert not report, place
        assert _typed(again) == _typed(network), place
        assert again == network, place
    for place, message in refused.items():
        assert not (tmp_path / f"labels{place}").exists()
        assert any(repr(label)[:80] in message for label in _labels(network)), place


def test_what_is_not_refused_is_restored_or_said_to_be_lost(
    network: bg.BayesianNetwork, tmp_path: Path
) -> None:
    for place in LOSSY:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LossyExportWarning)
            report, again = _through(network, place, tmp_path, strict=False)
        assert report is not None
        for cpd, kept in zip(network.cpds, again.cpds, strict=True):
            np.testing.assert_array_equal(cpd.values, kept.values, err_msg=place)
        if not report.lost:
            assert _typed(again) == _typed(network), place
            assert again == network, place
        wrong = [
            label
            for label, kept in zip(_labels(network), _labels(again), strict=True)
            if (type(label), repr(label)) != (type(kept), repr(kept))
        ]
        assert all(any(f"{label!r}"[:80] in item for item in report.lost) for label in wrong)
        # Only types that no file holds are lost.
        assert not wrong or not _native_holds(network, tmp_path), place


def _native_holds(network: bg.BayesianNetwork, folder: Path) -> bool:
    try:
        network.save(folder / "labels.bayesgraph")
    except LossyExportError:
        return False
    return True


def test_texts_hold_no_control_characters_and_no_markup(network: bg.BayesianNetwork) -> None:
    posterior = network.query([network.variables[0].name])
    page = _Markup(posterior._repr_html_())
    assert not page.elements & {"script", "img", "b"}
    assert "onerror" not in page.attributes
    texts = (
        repr(network),
        repr(posterior),
        repr(network.cpds),
        bg.pictures.to_dot(network),
        str(posterior),
    )
    assert not any(_has_controls(text) for text in (*texts, posterior._repr_html_()))


def test_pictures_show_labels_and_hold_no_markup(
    network: bg.BayesianNetwork, tmp_path: Path
) -> None:
    try:
        network.render(tmp_path / "labels.svg")
    except BayesGraphError:
        return
    tree = ElementTree.parse(tmp_path / "labels.svg")
    elements = {element.tag.rpartition("}")[2] for element in tree.iter()}
    attributes = {name for element in tree.iter() for name in element.attrib}
    assert not elements & {"script", "img", "foreignObject"}
    assert "onerror" not in attributes
