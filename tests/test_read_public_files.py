"""The table of public files: what is told for a network, and what it says of refusals."""

import gzip
from pathlib import Path

import pytest
import read_public_files
from read_public_files import GRAPHS, OTHERS

BIF = "variable a { type discrete [2] { x, y }; } probability ( a ) { table .25, .75; }"
XML = (
    "<NETWORK><VARIABLE><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>"
    "<DEFINITION><FOR>a</FOR><TABLE>.25 .75</TABLE></DEFINITION></NETWORK>"
)
FILES = {
    "a.bif": BIF,
    "sub/same.bif": BIF,
    "b.BIF": BIF.replace(".75", ".85"),
    "c.bif": "nothing",
    "d.xml": XML,
    "e.xml": "<project/>",
    "f.xml": '<m:BIF xmlns:m="u"><m:NETWORK><m:VARIABLES/></m:NETWORK></m:BIF>',
    "g.txt": "dag { a -> b }",
    "h.txt": "A text.",
    "i.dot": "graph { a -- b }",
    "j.net": "*Vertices 3",
    "k.o3prm": "type t;",
    "l.py": BIF,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "same.bif.gz").write_bytes(gzip.compress(BIF.encode()))
    return tmp_path


def test_files_are_told_by_suffix_and_content_and_counted_once(folder):
    told = {path.name: kind for kind, path in read_public_files.files(folder)}
    assert told == {
        **dict.fromkeys(("a.bif", "b.BIF", "c.bif"), "BIF"),
        "d.xml": "XMLBIF",
        "f.xml": OTHERS,
        "g.txt": GRAPHS,
        "k.o3prm": OTHERS,
    }


def test_the_table_has_what_was_read_and_the_words_of_refusals(folder):
    found = read_public_files.files(folder)
    lines = read_public_files.table([read_public_files.outcome(*item) for item in found]).split(
        "\n"
    )
    bif = "1 × rows do not sum to one; 1 × expected … or … at the start of a block"
    assert f"| BIF | 3 | 1 | {bif} |" in lines
    assert "| XMLBIF | 1 | 1 |  |" in lines
    assert f"| {GRAPHS} | 1 | 1 |  |" in lines
    assert "| all of the above | 5 | 3 | 40.0% refused |" in lines
    assert "| all | 7 | 3 | 57.1% refused |" in lines


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (
            "line 68: TableCPD P(a | b): the probabilities given b='x' sum to 8, not to 1. A row",
            "rows do not sum to one",
        ),
        ("line 2: 'a' has the state 'b' more than once.", "… has the state … more than once"),
        (
            "line 3: decision nodes are not read: 'a', 'b' and 3 more. In",
            "decision nodes are not read: …",
        ),
        ("expected 12 probabilities for 'n6'; got 10.", "expected N probabilities for …"),
    ],
)
def test_words_of_refusals_are_those_of_all_files(refusal, words):
    assert read_public_files.words_of(refusal) == words
