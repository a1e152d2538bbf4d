"""What holds for every format that is read and written: networks come back to the bit."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import numpy as np
import pytest
from network_files import repository

import bayesgraph as bg
from bayesgraph.core.errors import (
    BayesGraphError,
    BayesGraphWarning,
    FileFormatError,
    MemoryLimitError,
)
from bayesgraph.files import FileFormat


def _cards() -> dict[str, FileFormat]:
    """Return the card of each format that is read and written, by its first suffix."""
    found: dict[str, tuple[str, FileFormat]] = {}
    for suffix, home in bg.files.FORMATS.items():
        found.setdefault(home, (suffix, pkgutil.resolve_name(home)))
    return {s: card for s, card in found.values() if card.parse and card.format}


CARDS = _cards()
EVERY = pytest.mark.parametrize("suffix", CARDS)


def _through(network: bg.BayesianNetwork, suffix: str, folder: Path) -> bg.BayesianNetwork:
    path = folder / f"network{suffix}"
    options = {"strict": False} if CARDS[suffix].is_strict else {}
    report = network.save(path, **options)
    assert report.lost == ()
    first = path.read_bytes()
    back: bg.BayesianNetwork = bg.load(path)
    assert not back.save(path, **options).lost
    assert path.read_bytes() == first  # the same model, the same bytes
    return back


# Networks whose clique trees are larger than what a page holds by default.
_TOO_WIDE = ("link.bif.gz", "munin1.bif.gz")


@pytest.mark.one_in(3)
@EVERY
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, marks=[] if path.name in ("asia.bif.gz", "child.bif.gz") else [pytest.mark.slow]
        )
        for path in repository()
    ],
    ids=lambda path: path.name.removesuffix(".bif.gz"),
)
def test_networks_come_back_to_the_bit(path: Path, suffix: str, tmp_path: Path) -> None:
    network = bg.load(path)
    if suffix == ".html" and path.name in _TOO_WIDE:
        with pytest.raises(MemoryLimitError, match="a page takes"):
            _through(network, suffix, tmp_path)
        return
    back = _through(network, suffix, tmp_path)
    assert back == network
    assert back.names == network.names
    for cpd, kept in zip(network.cpds, back.cpds, strict=True):
        assert cpd.parents == kept.parents
        assert cpd.values.tobytes() == kept.values.tobytes()


def _odd() -> bg.BayesianNetwork:
    """Return a network of intervals, groups, odd names, extreme numbers, scores and annotations."""
    size = bg.Binned("petal width", [0.8, 1.75])
    place = bg.Grouped("place", [["a", "b"], ["c"]], others=True)
    odd = bg.Discrete(("x", 1), [True, 1, "1", "é ü", ""])
    names = [size.name, place.name, odd.name]
    rows = np.full((3, place.cardinality, 5), 0.2)
    rows[0, 0] = [5e-324, 1.0 - 2**-53, 0.0, 1e-300, 1.1102230246251565e-16]
    return bg.BayesianNetwork(
        [
            bg.TableCPD(size, [0.1 + 0.2, 0.3, 1 - (0.1 + 0.2) - 0.3]),
            bg.TableCPD(place, np.full(place.cardinality, 1 / place.cardinality)),
            bg.TableCPD(odd, rows, [size, place]),
        ],
        arc_scores={(names[0], names[2]): 1 / 3, (names[1], names[2]): -np.inf},
        annotations=bg.models.Annotations(
            "a note\n*/ --> // % {}",
            {names[0]: (0.1, -7.25), names[2]: (1e5, 3)},
            {names[1]: 'said "x";\n\\ # next', names[2]: "é"},
            {names[2]: "A title, of <x> & 'y'", names[0]: "width"},
        ),
    )


@EVERY
def test_kinds_scores_and_annotations_come_back(suffix: str, tmp_path: Path) -> None:
    network = _odd()
    back = _through(network, suffix, tmp_path)
    assert back == network
    assert [type(v) for v in back.variables] == [type(v) for v in network.variables]
    assert back.arc_scores == network.arc_scores
    assert back.annotations == network.annotations


@EVERY
def test_plain_networks_need_no_change(suffix: str, tmp_path: Path) -> None:
    if suffix == ".uai":  # it has neither names nor states
        a, b = bg.Discrete("x0", [0, 1]), bg.Discrete("x1", [0, 1, 2])
    else:
        a, b = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["dry", "damp", "wet"])
    tables = [bg.TableCPD(a, [0.8, 0.2]), bg.TableCPD(b, [[0.5, 0.25, 0.25], [0, 0, 1]], [a])]
    network = bg.BayesianNetwork(tables)
    report = network.save(tmp_path / f"a{suffix}")
    assert not report
    assert "Nothing is lost." in str(report)
    text = (tmp_path / f"a{suffix}").read_bytes()
    assert b"bayesgraph {" not in text  # no table to restore anything from
    assert bg.load(tmp_path / f"a{suffix}") == network


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n\r\n"], ids=repr)
@pytest.mark.parametrize("suffix", [s for s in CARDS if s not in (".bayesgraph", ".html")])
def test_lines_end_in_any_way(suffix: str, end: str, tmp_path: Path) -> None:
    a, b = bg.Discrete("a", [True, 1]), bg.Discrete("b b", ["x", "y", "z"])
    tables = [bg.TableCPD(a, [0.25, 0.75]), bg.TableCPD(b, [[0.1, 0.2, 0.7], [1, 0, 0]], [a])]
    network = bg.BayesianNetwork(tables)
    path = tmp_path / f"network{suffix}"
    network.save(path, strict=False)
    text = path.read_bytes()
    lines = text.replace(b"\n", end.encode())
    path.write_bytes(lines)
    assert bg.load(path) == network
    # A comment at the start, of each kind, ends with its line.
    mark = {".bif": b"//", ".net": b"%", ".dne": b"//", ".uai": b"#"}.get(suffix)
    if mark is not None:
        path.write_bytes(mark + b" a comment" + end.encode() + lines)
        assert bg.load(path) == network


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("suffix", [".bif", ".net", ".dne"])
def test_the_mark_of_utf_16_is_taken(suffix: str, encoding: str, tmp_path: Path) -> None:
    a = bg.Discrete("a", ["no", "yes"])
    network = bg.BayesianNetwork([bg.TableCPD(a, [0.25, 0.75])])
    path = tmp_path / f"network{suffix}"
    network.save(path)
    mark = "" if encoding == "utf-16" else "\ufeff"
    path.write_bytes((mark + path.read_text()).encode(encoding))
    assert bg.load(path) == network


@pytest.mark.parametrize("end", [b"\r", b"\r\n", b"\n"], ids=repr)
def test_a_byte_of_another_encoding_is_told_with_its_line(end: bytes, tmp_path: Path) -> None:
    path = tmp_path / "network.bif"
    path.write_bytes(end.join([b"network x {", b"}", b"// \xe4"]))
    with pytest.raises(FileFormatError, match=r"line 3: expected utf-8.*0xe4.*encoding="):
        bg.load(path)


# A network of two variables in each format; <p> and <q> stand for numbers.
_TWO = {
    ".bif": "variable a { type discrete [2] { x, y }; } variable b { type discrete [2] { u, v }; }"
    "probability ( a ) { table .5, .5; } probability ( b | a ) { (x) .5, .5; (y) <p>, <q>; }",
    ".net": "net { } node a { states = (x y); } node b { states = (u v); }"
    "potential (a) { data = (.5 .5); } potential (b | a) { data = ((.5 .5) (<p> <q>)); }",
    ".dne": "bnet n { node a { states = (x, y); probs = (.5, .5); };"
    "node b { states = (u, v); parents = (a); probs = ((.5, .5), (<p>, <q>)); }; };",
    ".xmlbif": "<BIF><NETWORK><VARIABLE><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME>"
    "</VARIABLE><VARIABLE><NAME>b</NAME><OUTCOME>u</OUTCOME><OUTCOME>v</OUTCOME></VARIABLE>"
    "<DEFINITION><FOR>a</FOR><TABLE>.5 .5</TABLE></DEFINITION><DEFINITION><FOR>b</FOR>"
    "<GIVEN>a</GIVEN><TABLE>.5 .5 <p> <q></TABLE></DEFINITION></NETWORK></BIF>",
    ".xdsl": '<smile><nodes><cpt id="a"><state id="x"/><state id="y"/><probabilities>.5 .5'
    '</probabilities></cpt><cpt id="b"><state id="u"/><state id="v"/><parents>a</parents>'
    "<probabilities>.5 .5 <p> <q></probabilities></cpt></nodes></smile>",
    ".uai": "BAYES 2  2 2  2  1 0  2 0 1  2  .5 .5  4  .5 .5 <p> <q>",
}


@pytest.mark.parametrize("written", _TWO)
@pytest.mark.parametrize(
    ("p", "q", "row", "told"),
    [
        ("-1.1920929e-07", "1.00000012", [0, 1.00000012], "numbers just below zero became zero"),
        ("1", "-1e-6", [1, 0], "numbers just below zero became zero"),
        ("-1e-9", ".99", [0, 1], "became zero in .*; rows of the tables of .* do not sum to one"),
    ],
)
def test_noise_below_zero_is_zero(
    written: str, p: str, q: str, row: list[float], told: str, tmp_path: Path
) -> None:
    path = tmp_path / f"x{written}"
    path.write_text(_TWO[written].replace("<p>", p).replace("<q>", q))
    with pytest.warns(BayesGraphWarning, match=told):
        network = bg.load(path)
    np.testing.assert_allclose(network.cpds[1].values[1], row, rtol=1e-15)
    with pytest.raises(BayesGraphError, match="finite non-negative"):
        bg.load(path, normalize=False)


@pytest.mark.parametrize("written", _TWO)
def test_negative_numbers_are_refused(written: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{written}"
    path.write_text(_TWO[written].replace("<p>", "-2e-6").replace("<q>", "1.000002"))
    for normalize in (True, "always", False):
        with pytest.raises(FileFormatError, match="negative"):
            bg.load(path, normalize=normalize)


@pytest.mark.parametrize("written", _TWO)
def test_rows_that_nothing_was_counted_for_become_uniform(written: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{written}"
    path.write_text(_TWO[written].replace("<p>", "0").replace("<q>", "0"))
    with pytest.warns(BayesGraphWarning, match=r"rows of zeros became uniform in '\w+'\. normal"):
        network = bg.load(path, normalize="always")
    assert network.cpds[1].values.tolist() == [[0.5, 0.5], [0.5, 0.5]]
