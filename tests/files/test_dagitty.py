"""Causal diagrams of dagitty: the texts that come along, and what its grammar allows."""

from __future__ import annotations

import gzip
import re
import warnings
from pathlib import Path

import pytest

import bayesgraph as bg
from bayesgraph.core.errors import FileFormatError
from bayesgraph.questions.dagitty import parse_dagitty

# With bidirected edges, roles and latent nodes.
DEFAULT = ("M-bias", "Didelez_2010", "Thoemmes_2013")


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[] if path.stem in DEFAULT else [pytest.mark.slow])
        for path in sorted(source.path for source in bg.examples.diagrams().values())
    ],
    ids=lambda path: path.stem,
)
def test_diagrams_of_pgmpy_are_what_pgmpy_reads(path: Path) -> None:
    pytest.importorskip("pgmpy.inference", exc_type=ImportError)
    from pgmpy.base import DAG

    text = path.read_text()
    found = bg.questions.read_dagitty(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pgmpy's grammar uses deprecated names
        peer = DAG.from_dagitty(string=text)
    # pgmpy makes a latent node of each bidirected edge.
    hidden = {node for node in peer.nodes if node not in found.graph.nodes}
    assert set(found.graph.nodes) == set(peer.nodes) - hidden
    assert set(found.graph.arcs) == {arc for arc in peer.edges if arc[0] not in hidden}
    pairs = {frozenset(peer.successors(node)) for node in hidden}
    assert {frozenset(pair) for pair in found.graph.confounded} == pairs
    assert set(found.latent) == set(peer.latents) - hidden
    # An independent reading of the lines.
    for role in ("exposure", "outcome", "adjusted", "selected"):
        named = {"exposure": "exposures", "outcome": "outcomes"}.get(role, role)
        expected = re.findall(rf"^(\S+) \[{role}\b", text, re.MULTILINE)
        assert list(getattr(found, named)) == expected
    places = re.findall(r'^(\S+) \[[^\]]*pos="([^,]*),([^"]*)"', text, re.MULTILINE)
    nodes = {name: (float(x), float(y)) for name, x, y in places}
    assert dict(found.positions) == nodes


def test_published_adjustment_sets() -> None:
    """Shrier and Platt (2008), as dagitty.net shows for its example."""
    path = bg.examples.diagrams()["Shrier_2008"].path
    found = bg.questions.read_dagitty(path)
    sets = found.graph.adjustment_sets(found.exposures[0], found.outcomes[0])
    assert {frozenset(s) for s in sets} >= {
        frozenset({"Coach", "FitnessLevel"}),
        frozenset({"NeuromuscularFatigue", "TissueWeakness"}),
        frozenset({"FitnessLevel", "TeamMotivation"}),
    }


def test_latent_nodes_are_projected() -> None:
    found = parse_dagitty("dag { u [latent] x [exposure] y [outcome] u -> {x y} x -> m -> y }")
    assert found.latent == ("u",)
    assert found.graph.nodes == ("u", "x", "y", "m")
    assert found.observed.nodes == ("x", "y", "m")
    assert found.observed.confounded == (("x", "y"),)
    assert found.observed.arcs == (("x", "m"), ("m", "y"))
    assert parse_dagitty("dag { a -> b }").observed.arcs == (("a", "b"),)


def test_what_the_grammar_allows(tmp_path: Path) -> None:
    text = """digraph "a name" {
      bb="-3,-0.5,2,1.2"   /* bounds */ // more
      # a comment
      "two words" [e, pos="1.5, -2e1"]; B_2.x [outcome,beta=0.5,pos=1] 3 [u,pos="1e999,0"]
      "two words" -> B_2.x [beta=.3] ; 3 <- B_2.x <-> 3
      {ü "y"} -> {3, z}
      "two words" -> B_2.x
    }"""
    path = tmp_path / "a.txt"
    path.write_bytes(gzip.compress(text.encode()))
    found = bg.questions.read_dagitty(path)
    assert found.graph.nodes == ("two words", "B_2.x", "3", "ü", "y", "z")
    assert found.graph.arcs == (
        ("two words", "B_2.x"),
        ("B_2.x", "3"),
        *(("ü", "3"), ("ü", "z"), ("y", "3"), ("y", "z")),
    )
    assert found.graph.confounded == (("B_2.x", "3"),)
    assert (found.exposures, found.outcomes, found.latent) == (
        ("two words",),
        ("B_2.x",),
        ("3",),
    )
    assert dict(found.positions) == {"two words": (1.5, -20.0)}
    assert parse_dagitty("dag{}").graph.nodes == ()
    assert parse_dagitty("dag{a}").graph.nodes == ("a",)


REFUSED = {
    "": "expected 'dag",
    "x y z": "expected 'dag",
    "pag { a -> b }": "got 'pag'",
    "dag { a -> b": "expected the name of a node; got 'the end of the text'",
    "dag { a -> }": "expected the name of a node; got '}'",
    "dag { a -- b }": "got '--', an edge without a direction",
    "dag { a @-> b }": "got '@->'",
    "dag {\n a -> b\n b -> a }": "cycle",
    "dag { a -> a }": "a",
    "dag { a <-> a }": "confounded",
    "dag { a -> {b {c} }": "expected the name of a node; got 'the end of the text'",
    "dag { a --> b }": "expected '->', '<-' or '<->'; got '-->'",
    "dag { a \u2013 b }": "expected '->', '<-' or '<->'; got '\u2013'",
    "dag { a\u2014>b }": "expected '->', '<-' or '<->'; got '\u2014>'",
    "dag { a\u21d2b }": "expected '->', '<-' or '<->'; got '\u21d2'",
    "dag { a -> b \u2192 }": "expected the name of a node; got '}'",
    "dag " + "{" * 200: "expected braces at most 100 deep",
    "pdag { x -> {a -- b} }": "got 'pdag'",
    "dag { a [pos=] }": "expected attributes of 'a'",
    'dag { "a }': "line 1: expected a name, an arrow",
    "dag {\n\n a ] }": "line 3: expected a name, an arrow",
    "dag { a } b": "expected the end; got 'b'",
    "dag a -> b": "expected '{'; got '->'",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises(FileFormatError, match=REFUSED[text]):
        parse_dagitty(text)


# Texts of dagitty's own tests and variations: arcs, and pairs with a bidirected edge.
NESTED = {
    "dag{x->{a->b}}": ("xa xb ab", ""),
    "dag{i->{x[e]}->{y[o]}<->x}": ("ix xy", "yx"),
    "dag{{{a[e]} -> {b}} c}": ("ab", ""),
    "dag{ {x[e]}->m->{y[o]}->S }": ("xm my yS", ""),
    "dag{A -> {S[e]} -> {T[o]}}": ("AS ST", ""),
    "dag{{x1 x2} <- x <-> y -> {y1 y2}}": ("x:x1 x:x2 y:y1 y:y2", "x:y"),
    "dag{ {a; b} -> {c, {d e -> f}} }": ("ac ad ae af bc bd be bf ef", ""),
    "strict DAG { x -> {a} }": ("xa", ""),
    "digraph { subgraph cluster_0 { a -> b } subgraph { c } -> a }": ("ab ca", ""),
    "dag { subgraph -> a }": ("subgraph:a", ""),
    'digraph { graph [rankdir=LR] node [shape=box]; edge [color="red"] a -> b [label=x] }': (
        "ab",
        "",
    ),
    "dag { edge [exposure] edge -> a }": ("edge:a", ""),
    "dag{A\u2192B}": ("AB", ""),
    "dag { a \u27f6 b\u2190c \u27f5 d }": ("ab cb dc", ""),
    "dag { a\u2194b <-> c \u27f7 a }": ("", "ab bc ca"),
    "dag { a \u2192 {b \u2190 c} }": ("ab ac cb", ""),
    'dag { "a\u2192b" -> c }': ("a\u2192b:c", ""),
}


@pytest.mark.parametrize("text", NESTED)
def test_braces_within_braces_and_arrows_of_unicode(text: str) -> None:
    found = parse_dagitty(text)
    arcs, pairs = (
        {tuple(word.split(":")) if ":" in word else tuple(word) for word in words.split()}
        for words in NESTED[text]
    )
    assert set(found.graph.arcs) == arcs
    assert {frozenset(pair) for pair in found.graph.confounded} == {*map(frozenset, pairs)}
    assert set(found.exposures) == set(re.findall(r"(\w+) ?\[e", text))
    assert set(found.outcomes) == set(re.findall(r"(\w+)\[o", text))


def test_words_for_roles_and_quotes_in_names() -> None:
    found = parse_dagitty('dag { a [source] "say \\"b\\"" [target] a -> "say \\"b\\"" "c\\\nd" }')
    assert found.graph.nodes == ("a", 'say "b"', "cd")
    assert (found.exposures, found.outcomes) == (("a",), ('say "b"',))


def test_sets_that_multiply_are_refused_before_they_do() -> None:
    names = " ".join(f"v{i}" for i in range(3000))
    with pytest.raises(FileFormatError, match="its edges would take"):
        parse_dagitty(f"dag {{ {{{names}}} -> {{a{names.replace(' ', ' a')}}} }}")


@pytest.mark.parametrize("end", ["\r", "\r\n"], ids=repr)
def test_comments_end_with_their_lines(end: str, tmp_path: Path) -> None:
    text = end.join(["dag { // first", "a -> b # second", "b -> c }"])
    path = tmp_path / "x.txt"
    for encoding in ("utf-8", "utf-16"):
        path.write_bytes(text.encode(encoding))
        assert bg.questions.read_dagitty(path).graph.arcs == (("a", "b"), ("b", "c"))
    assert parse_dagitty(text).graph.arcs == (("a", "b"), ("b", "c"))
    path.write_bytes(text.encode() + b"\xff")
    with pytest.raises(FileFormatError, match=r"x\.txt, line 3: expected utf-8.*0xff"):
        bg.questions.read_dagitty(path)
