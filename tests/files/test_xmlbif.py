"""XMLBIF files, and the guarded parser of XML that they are read by."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.compilation import mode_is
from bayesgraph.core.errors import BayesGraphWarning, FileFormatError, LossyExportError
from bayesgraph.core.files import Budget
from bayesgraph.files.guarded_xml import Element, comment, escaped, quoted_attribute, read_xml
from bayesgraph.files.xmlbif import format_xmlbif, parse_xmlbif

RAIN = """<VARIABLE TYPE="nature">
  <NAME>rain</NAME>
  <OUTCOME>no</OUTCOME>
  <OUTCOME>yes</OUTCOME>
  <PROPERTY>position = (40, 80.5)</PROPERTY>
</VARIABLE>
"""
WET = """<VARIABLE TYPE="nature">
  <NAME>wet</NAME>
  <OUTCOME>a &lt; b</OUTCOME>
  <OUTCOME>"é" &amp; 'x'</OUTCOME>
  <OUTCOME>0</OUTCOME>
</VARIABLE>
"""
TABLES = """<DEFINITION>
  <FOR>rain</FOR>
  <TABLE>
0.8 0.2
  </TABLE>
</DEFINITION>
<DEFINITION>
  <FOR>wet</FOR>
  <GIVEN>rain</GIVEN>
  <TABLE>
0.9 0.1 0.0
0.2 0.5 0.3
  </TABLE>
</DEFINITION>
"""
START = """<?xml version="1.0" encoding="UTF-8"?>
<BIF VERSION="0.3">
<NETWORK>
<NAME>unknown</NAME>
"""
END = "</NETWORK>\n</BIF>\n"
TEXT = START + RAIN + WET + TABLES + END


@pytest.fixture
def net() -> bg.BayesianNetwork:
    rain = bg.Discrete("rain", ["no", "yes"])
    wet = bg.Discrete("wet", ["a < b", "\"é\" & 'x'", "0"])
    tables = [
        bg.TableCPD(rain, [0.8, 0.2]),
        bg.TableCPD(wet, [[0.9, 0.1, 0.0], [0.2, 0.5, 0.3]], [rain]),
    ]
    return bg.BayesianNetwork(
        tables, annotations=bg.models.Annotations(positions={"rain": (40, 80.5)})
    )


def test_text_of_a_network(net: bg.BayesianNetwork) -> None:
    assert format_xmlbif(net) == TEXT
    back = parse_xmlbif(TEXT)
    assert back == net
    assert back.annotations == net.annotations


def test_definitions_before_declarations_and_other_spellings(net: bg.BayesianNetwork) -> None:
    assert parse_xmlbif(START + TABLES + RAIN + WET + END) == net
    spaced = TEXT.replace("<NAME>rain</NAME>", "<!-- x --><NAME>\n rain\t</NAME>").replace(
        "0.8 0.2", "8e-1<!-- no --> <![CDATA[.2]]>"
    )
    assert parse_xmlbif(spaced) == net
    lower = TEXT.replace("VARIABLE", "variable").replace("OUTCOME", "Outcome")
    assert parse_xmlbif(lower) == net
    assert parse_xmlbif(TEXT.replace("<BIF", '<!DOCTYPE BIF SYSTEM "x.dtd">\n<BIF', 1)) == net


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_encodings(net: bg.BayesianNetwork, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "net.xml"
    path.write_bytes(TEXT.replace("UTF-8", encoding).encode(encoding))
    assert bg.load(path) == net
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert bg.load(path) == net


def test_an_encoding_may_be_given(net: bg.BayesianNetwork, tmp_path: Path) -> None:
    path = tmp_path / "net.bifxml"
    path.write_bytes(TEXT.encode("latin-1"))
    with pytest.raises(FileFormatError, match=r"line 1\d: expected XML: not well-formed"):
        bg.load(path)
    assert bg.load(path, encoding="latin-1") == net
    with pytest.raises(FileFormatError, match="encoding"):
        bg.load(path, encoding="no such")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (RAIN, "", r"line 11: the variable 'rain' is not declared"),
        (TABLES[74:], "", "expected a <DEFINITION> for each of 'wet'"),
        ("<FOR>wet", "<FOR>wer", r"the variable 'wer' is not declared"),
        ("<GIVEN>rain", "<GIVEN>rian", r"'rian' is not declared\. Did you mean 'rain'"),
        ("<FOR>wet", "<FOR>rain", r"line 23: 'rain' has a second <DEFINITION>"),
        ("<NAME>wet", "<NAME>rain", r"line 11: the variable 'rain' is declared a second time"),
        ("<NAME>wet</NAME>", "", r"line 11: expected one <NAME> of a variable; got \[\]"),
        ('"nature"', '"decision"', r"line 5: expected a variable of the type 'nature'; 'rain' has"),
        ("0.8 0.2", "0.8", r"expected 2 probabilities for 'rain'; got 1"),
        ("0.8 0.2", "0.8 nan", r"the table of 'rain': expected a number; got 'nan'"),
        ("0.8 0.2", "0.8 0,2", r"expected a number; got '0,2'"),
        ("0.8 0.2", "0.8 0.3", r"sum to 1\.1"),
        ("0.2 0.5 0.3", "0.1 0.9 1.0", r"sum to 2"),
        ("<GIVEN>rain", "<FOR>x</FOR><GIVEN>rain", r"expected one <FOR> and one <TABLE>.*got 2"),
        ("position = (40, 80.5)", "position = (1.2.3, 4)", r"expected two numbers; got 'position"),
        ("<OUTCOME>yes", "<OUTCOME>no", r"line 5: .*more than once"),
        (END, "", r"expected XML: no element found"),
        ("<BIF", "<BIX", r"line 32: expected XML: mismatched tag"),
    ],
)
def test_wrong_files_are_refused(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(FileFormatError, match=message):
        parse_xmlbif(TEXT.replace(old, new, 1))


def test_files_of_something_else_are_refused() -> None:
    for text in ("<a/>", "<BIF/>", "<BIF><VARIABLE/></BIF>", "", "network x {}"):
        with pytest.raises(FileFormatError, match="expected"):
            parse_xmlbif(text)


@pytest.mark.parametrize("name", ["NETWORK", "network", "x:Network"])
@pytest.mark.parametrize("head", ["", START.splitlines(keepends=True)[0]])
def test_the_root_may_be_the_network(net: bg.BayesianNetwork, name: str, head: str) -> None:
    space = ' xmlns:x="u"' if ":" in name else ""
    body = f"<{name}{space}>{RAIN}{WET}{TABLES}</{name}>"
    assert parse_xmlbif(head + body) == net
    with pytest.raises(FileFormatError, match=r"expected <BIF>.*got <NETWORKS> with 2"):
        parse_xmlbif(f"<NETWORKS>{RAIN}{WET}{TABLES}</NETWORKS>")


@pytest.mark.parametrize(
    "text",
    [
        '<x:BIF xmlns:x="u"><x:NETWORK><x:VARIABLES><x:VAR NAME="a"/></x:VARIABLES>'
        "</x:NETWORK></x:BIF>",
        '<x:XMLBIF xmlns:x="u"><x:network><x:variables><x:variable name="a"/></x:variables>'
        "</x:network></x:XMLBIF>",
    ],
)
def test_xml_of_unbbayes_is_refused_by_name(text: str) -> None:
    with pytest.raises(FileFormatError, match=r"<VARIABLES> is of UnBBayes: save it"):
        parse_xmlbif(text)


@pytest.mark.parametrize("blanks", ["\n", "  ", "\r\n \t\r\n", "\ufeff\n"], ids=repr)
@pytest.mark.parametrize("encoding", ["UTF-8", "ISO-8859-1"])
def test_blanks_may_stand_before_the_declaration(
    net: bg.BayesianNetwork, blanks: str, encoding: str, tmp_path: Path
) -> None:
    path = tmp_path / "net.xml"
    mark = b"\xef\xbb\xbf" * blanks.startswith("\ufeff")
    text = blanks.lstrip("\ufeff") + TEXT.replace("UTF-8", encoding)
    path.write_bytes(mark + text.encode(encoding))
    assert bg.load(path) == net
    line = 23 + blanks.count("\n")
    path.write_bytes(mark + text.replace("<FOR>wet", "<FOR>rain").encode(encoding))
    with pytest.raises(FileFormatError, match=f"line {line}: 'rain' has a second"):
        bg.load(path)


def test_a_table_of_the_other_order_gets_a_hint() -> None:
    swapped = TEXT.replace("0.9 0.1 0.0\n0.2 0.5 0.3", "0.9 0.2\n0.1 0.5\n0.0 0.3")
    with pytest.raises(FileFormatError, match="child varies fastest; here it reads as if"):
        parse_xmlbif(swapped)


def test_rounded_rows_are_normalised() -> None:
    with pytest.warns(BayesGraphWarning, match="'rain'.* divided by their sums"):
        net = parse_xmlbif(TEXT.replace("0.8 0.2", "0.8 0.19"))
    np.testing.assert_allclose(net["rain"].values, np.array([0.8, 0.19]) / 0.99)


def test_names_and_kinds_are_restored() -> None:
    a, b = bg.Discrete(" a", ["x", "x ", "\x00", 1]), bg.Binned("--", [0.5])
    notes = bg.models.Annotations("-->", {" a": (1.5, 2)}, {"--": "]]> & é"}, {"--": "title"})
    net = bg.BayesianNetwork(
        [bg.TableCPD(a, [0.1, 0.2, 0.3, 0.4]), bg.TableCPD(b, [[0.5, 0.5]] * 4, [a])],
        arc_scores={(" a", "--"): float("inf")},
        annotations=notes,
    )
    with pytest.raises(LossyExportError, match="the name ' a': names are text without control"):
        format_xmlbif(net)
    back = parse_xmlbif(format_xmlbif(net, strict=False))
    assert back == net
    assert type(back.variable("--")) is bg.Binned
    assert (back.arc_scores, back.annotations) == (net.arc_scores, net.annotations)


# ------------------------------------------------------------------------------- guarded XML


_ATTRIBUTES = " ".join(f"b{i}=''" for i in range(200))


def _budget(data: bytes) -> Budget:
    return Budget("a.xml", len(data))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "no declarations of entities"),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "/etc/hostname">]><a>&b;</a>', "no declarations of ent"),
        ('<!DOCTYPE a [<!ENTITY % b SYSTEM "http://x/y.dtd">%b;]><a/>', "no declarations of ent"),
        ("<a>&b;</a>", "expected XML: undefined entity"),
        ("<a>" * 1000, "nested at most 200 deep"),
        (f'<a b="{"c" * (1 << 21)}"/>', "attributes of at most 1,048,576 characters"),
        (f"<a {_ATTRIBUTES}/>", "at most 100 attributes; got 200"),
        ('<a b="1" b="2"/>', "expected XML: duplicate attribute"),
    ],
)
def test_hostile_xml_is_refused(text: str, message: str) -> None:
    data = text.encode()
    with pytest.raises(FileFormatError, match=message):
        read_xml(data, _budget(data))


def test_defaults_of_attributes_are_not_taken() -> None:
    data = b'<!DOCTYPE a [<!ATTLIST a b CDATA "xxxx">]><a/>'
    assert read_xml(data, _budget(data))[0].attributes == {}


def test_very_many_elements_are_beyond_the_budget() -> None:
    data = b"<a>" + b"<b/>" * 200_000 + b"</a>"
    with pytest.raises(FileFormatError, match="the elements of the file would take"):
        read_xml(data, Budget("a.xml", len(data), limit=1 << 20))


def test_elements_are_found_at_any_depth_but_not_within_others() -> None:
    data = b"<a><B c='1'> x <B>y</B> z</B>\n<d/><p:b/>t</a>"
    root, _ = read_xml(data, _budget(data))
    seen: list[Element] = list(root.within("b"))
    assert [child.tag for child in root.children] == ["B", "d", "b"]
    assert root.text == "t"
    assert [(e.tag, e.text, e.line, e.texts("b")) for e in seen] == [
        ("B", "x  z", 1, ["y"]),
        ("b", "", 2, []),
    ]
    assert seen[0].attributes == {"c": "1"}
    assert root.child("d") is root.children[1]
    assert root.child("none") is None


def test_written_text_and_comments_are_read() -> None:
    text = "a<b>&\"'\n]]>é"
    data = f"<a x={quoted_attribute(text)}>{escaped(text)}{comment('bayesgraph {}')}</a>".encode()
    root, _ = read_xml(data, _budget(data))
    assert root.attributes["x"] == text
    assert root.text == text


@pytest.mark.parametrize(
    "line",
    [
        '{"variable": "rain"}',
        '{"variable": "rain", "is": {"discrete": "rain", "states": []}}',
        '{"variable": ["rain"], "is": {"discrete": "rain", "states": ["a"]}}',
        '{"scores": [["rain", "wet"]]}',
        '{"positions": {"rain": [1]}}',
        '{"other": 1}',
        '{"note": 1}',
        "{",
    ],
)
def test_wrong_lines_of_bayesgraph_are_refused(line: str) -> None:
    with pytest.raises(FileFormatError, match="after the word 'bayesgraph'; got"):
        parse_xmlbif(TEXT.replace(END, f"<!-- bayesgraph {line} -->{END}"))


def test_a_file_that_another_program_has_changed(net: bg.BayesianNetwork) -> None:
    odd = net.with_states("rain", {"no": 0, "yes": 1}).renamed({"wet": ("wet",)})
    text = format_xmlbif(odd, strict=False)
    with pytest.warns(BayesGraphWarning, match="'rain' differ from what bayesgraph wrote"):
        back = parse_xmlbif(text.replace("<OUTCOME>1<", "<OUTCOME>7<"))
    assert back.variable("rain").states == ("0", "7")
    assert back.variable(("wet",)) == odd.variable(("wet",))
    twice = text.replace('"discrete":"rain"', '"discrete":{"tuple":["wet"]}')
    with pytest.raises(FileFormatError, match="more than one variable the name"):
        parse_xmlbif(twice)


LONG = " 0.25 0.75\n" * 1000


@pytest.mark.parametrize("mode", ["inline", "never"])
@pytest.mark.parametrize(
    ("before", "inside"),
    [
        ("", ""),
        ("<!-- <TABLE>0 1</TABLE> -->", ""),
        ("<X><![CDATA[<TABLE>0 1</TABLE>]]></X>", ""),
        ("<X><TABLE>none</TABLE></X>", ""),
        ("<X><TABLE>&#49;</TABLE><TABLE/><table>1</table></X>", ""),
        ("<X><TABLE ><!-- <TABLE>1</TABLE> --></TABLE></X>", ""),
        ("", "<!-- the\nlast -->"),
        ("", "<![CDATA[\n]]>"),
        ("", "&#32;"),
    ],
)
def test_texts_of_tables_need_no_parser_of_xml(mode: str, before: str, inside: str) -> None:
    """What stands around them is read as XML, and lines are counted in them too."""
    states = "".join(f"<OUTCOME>s{i}</OUTCOME>" for i in range(1000))
    text = f"""<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>a</NAME>{states}</VARIABLE>
<VARIABLE TYPE="nature"><NAME>b</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
{before}<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>{LONG}{inside}</TABLE></DEFINITION>
<DEFINITION><FOR>a</FOR><TABLE>{"0.001 " * 1000}</TABLE></DEFINITION>
</NETWORK></BIF>"""
    wrong = text.replace("</NETWORK>", "<X></NETWORK>")
    line = wrong[: wrong.index("</NETWORK>")].count("\n") + 1
    with mode_is(mode):
        assert parse_xmlbif(text)["b"].values.tolist() == [[0.25, 0.75]] * 1000
        with pytest.raises(FileFormatError, match=f"line {line}: expected XML"):
            parse_xmlbif(wrong)


def test_tables_of_other_encodings(tmp_path: Path) -> None:
    text = f"""<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>ä</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<DEFINITION><FOR>ä</FOR><TABLE>0.25 {"0" * 3000}.75</TABLE></DEFINITION></NETWORK></BIF>"""
    for encoding in ("utf-8", "utf-16", "iso-8859-1", "cp1252"):
        head = f'<?xml version="1.0" encoding="{encoding}"?>'
        (tmp_path / "a.xmlbif").write_bytes((head + text).encode(encoding))
        assert bg.load(tmp_path / "a.xmlbif")["ä"].values.tolist() == [0.25, 0.75]
