"""Elements whose children are divided at once are what expat makes of them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from bayesgraph.errors import FileFormatError
from bayesgraph.io.budget import Budget
from bayesgraph.io.guarded_xml import Element, read_xml
from bayesgraph.io.number_text import floats_of
from bayesgraph.io.table_texts import numbered

PLAIN = '<n id="é" k="2">\n<s id="a"/><s id="b" x="1"/>\n<t> u v </t><P>0 1\n</P><q/>\n</n>'
CASES = [
    PLAIN,
    PLAIN.replace("\n", "\r\n"),
    PLAIN.replace("\n", "\r"),
    PLAIN.replace("<t>", "<!-- <n > -->\n<t>"),
    PLAIN.replace(" u ", "<![CDATA[<n ></n>]]>"),
    PLAIN.replace(" u ", "&lt;&#10;"),
    PLAIN.replace(" u ", "]]>"),
    PLAIN.replace(" u ", "a > b \x7f é\u2028"),
    PLAIN.replace(" u ", "\x01"),
    PLAIN.replace(" u ", "\ufffe"),
    PLAIN.replace('id="b"', 'id=" b\t\nc  d"'),
    PLAIN.replace('"', "'"),
    PLAIN.replace('id="b" x="1"', """id='"b"' x = '' y="'" """),
    PLAIN.replace('id="b"', "id='b\""),
    PLAIN.replace('id="b"', 'id="&amp;"'),
    PLAIN.replace('id="b"', 'id="<"'),
    PLAIN.replace('id="b"', 'id="b" y = "2"\n z="3"'),
    PLAIN.replace('id="b"', 'id="b" y="2" x="4"'),
    PLAIN.replace('id="b"', 'id="b"y="2"'),
    PLAIN.replace('id="b"', " ".join(f'y{i}="2"' for i in range(100))),
    PLAIN.replace("<t>", "<p:t>"),
    PLAIN.replace("<t>", "<p:t>").replace("</t>", "</p:t>"),
    PLAIN.replace("<t>", "<é>").replace("</t>", "</é>"),
    PLAIN.replace("</t>", "</t >"),
    PLAIN.replace("</t>", "</T>"),
    PLAIN.replace("</t>", ""),
    PLAIN.replace("<q/>", "text"),
    PLAIN.replace("<q/>", "<q><r/></q>"),
    PLAIN.replace("<q/>", "<n><s/></n>"),
    PLAIN.replace("<q/>", "<P>2</P><p>3</p>"),
    PLAIN.replace("</P>", "</p>"),
    PLAIN.replace("</P>", "&#32;</P>"),
    PLAIN.replace("</P>", "é</P>"),
    PLAIN.replace("</P>", ""),
    PLAIN.replace("<P>", "<P >"),
    PLAIN.replace("</n>", ""),
    PLAIN.replace("</n>", "</m>"),
    PLAIN.replace('k="2"', 'k=">"'),
    PLAIN.replace('k="2"', 'k="2" k="3"'),
    "<n/><N></N><n\n>\n</n>",
    f"<n><t>{'x' * (1 << 17)}</t></n>",
    "<b>" * 198 + PLAIN + "</b>" * 198,
    "<b>" * 199 + PLAIN + "</b>" * 199,
]
TYPES = '<!DOCTYPE a [<!ATTLIST s id NMTOKEN "x">]>\n'


def _seen(data: bytes, flat: bool, encoding: str | None = None) -> Any:
    """Return the elements of a file as tuples, or why it is refused."""
    found: list[Element] = []
    more: Any = {"flat": ["n", "m"], "numbers": "P"} if flat else {}
    handlers = dict.fromkeys(("n", "m"), found.append)
    try:
        root, _ = read_xml(data, Budget("a", len(data)), handlers, encoding=encoding, **more)
    except FileFormatError as error:
        return str(error)
    first = [_tuple(child) for e in found for tag in "stq" if (child := e.child(tag)) is not None]
    columns = [(e.texts("s"), e.values("s", "x"), e.texts("t"), e.texts("p")) for e in found]
    return [first, columns, *map(_tuple, found), _tuple(root)]


def _tuple(element: Element) -> tuple[Any, ...]:
    # Numbers come before the other children.
    inner = sorted(map(_tuple, element.children), key=lambda child: (child[3], child[0]))
    return element.tag, element.kind, element.attributes, element.line, element.text, inner


@pytest.mark.parametrize("head", ["", TYPES, '<?xml version="1.0" encoding="utf-8"?>\n'])
@pytest.mark.parametrize("case", CASES)
def test_flat_elements_are_what_expat_reads(head: str, case: str) -> None:
    data = f"{head}<a>{PLAIN}\n{case}\n{PLAIN}</a>".encode("utf-8", "surrogatepass")
    assert _seen(data, flat=True) == _seen(data, flat=False)


@pytest.mark.parametrize("encoding", ["iso-8859-1", "cp1252", "utf-16", "us-ascii"])
def test_flat_elements_of_other_encodings(encoding: str) -> None:
    text = f"<a>{PLAIN}</a>"
    for declared in (f'<?xml version="1.0" encoding="{encoding}"?>', ""):
        data = (declared + text).encode(encoding, "replace")
        assert _seen(data, flat=True) == _seen(data, flat=False)
        assert _seen(data, True, encoding) == _seen(data, False, encoding)
    both = f'<?xml version="1.0" encoding="utf-8"?>{text}'.encode("iso-8859-1")
    assert _seen(both, True, "iso-8859-1") == _seen(both, False, "iso-8859-1")
    assert _seen(both, True) == _seen(both, False)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_elements_are_what_expat_reads(seed: int) -> None:
    draw = random.Random(seed)
    whole = "".join(["<a>", *draw.sample(CASES[:32], 3), PLAIN, "</a>"]).encode()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(data))
            data[at : at + draw.randint(0, 3)] = draw.choice(
                [
                    b"<",
                    b">",
                    b"/",
                    b"&",
                    b'"',
                    b"'",
                    b"\n",
                    b"\r",
                    b"<n >",
                    b"</n>",
                    b"\x80",
                    b"<!--",
                    b"=",
                ]
            )
        assert _seen(bytes(data), flat=True) == _seen(bytes(data), flat=False)


def test_numbers_of_many_texts() -> None:
    random = np.random.default_rng(1)
    tables = [random.dirichlet(np.ones(k), n) for k, n in random.integers(1, 9, (300, 2))]
    texts = [" ".join(map(repr, table.ravel().tolist())).encode() for table in tables]
    cards = [table.shape[1] for table in tables]
    found = list(numbered(texts, cards))
    for table, one in zip(tables, found, strict=True):
        assert one.values.tobytes() == table.tobytes()
        assert one.sums_to_one
    assert list(numbered([], [])) == []


@pytest.mark.parametrize(
    ("text", "card"),
    [("0.5 0.4", 2), ("1.5 -0.5", 2), ("1e308 1e308", 2), ("0.5 0.5 1", 2), ("", 2), ("1e999", 1)],
)
def test_rows_that_are_no_distributions(text: str, card: int) -> None:
    texts = [b"0.25 0.75\n" * 500, text.encode(), b"1 0 0.5 0.5"]
    _, found, last = numbered(texts, [2, card, 2])
    assert not found.sums_to_one
    assert found.values.tolist() == floats_of(text).tolist()
    assert last.values.tolist() == [1, 0, 0.5, 0.5]


@pytest.mark.parametrize("wrong", ["0.5;0.5", "0.5 x", "1.2.3", "é"])
def test_the_text_with_a_wrong_word_is_named(wrong: str) -> None:
    tables = numbered([b"0.25 0.75\n" * 500, wrong.encode(), b"1"], [2, 1, 1])
    assert next(tables).values.tolist() == [0.25, 0.75] * 500
    with pytest.raises(ValueError, match="expected a number; got"):
        next(tables)
