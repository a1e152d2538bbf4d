"""Causal diagrams of dagitty (Textor et al. 2016), from text files or from text.

The programs dagitty.net, the R package of the same name and pgmpy write such texts. They have nodes
with roles and positions, arcs and bidirected edges, and no distributions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import NamedTuple

from bayesgraph.core.errors import BayesGraphError, FileFormatError
from bayesgraph.core.files import (
    Budget,
    PathLike,
    decoded,
    path_text,
    read_unzipped,
    reading,
    unix_lines,
)
from bayesgraph.questions.causal_graphs import CausalGraph

# The roles that a node may have; some programs write an abbreviation.
_NAMES_OF_ROLES = {
    "exposures": ("exposure", "e", "source"),
    "outcomes": ("outcome", "o", "target"),
    "adjusted": ("adjusted", "a"),
    "latent": ("latent", "l", "unobserved", "u"),
    "selected": ("selected", "s"),
}
_ROLES = {name: role for role, names in _NAMES_OF_ROLES.items() for name in names}
# Words for a graph of arcs that a text may begin with: those of dagitty and of DOT.
_DIRECTED = ("dag", "digraph")
# The kinds of tokens that may name a node; see `_Token`.
_NAMES = ("name", "quoted")
# What no node is called: the words for attributes of all nodes and of the graph.
_DEFAULTS = ("graph", "node")
# Whether an arrow has a head at its right end, and at its left end; a bidirected edge has both.
_ARROWS = {
    **dict.fromkeys(("->", "\u2192", "\u27f6"), (1, 0)),
    **dict.fromkeys(("<-", "\u2190", "\u27f5"), (0, 1)),
    **dict.fromkeys(("<->", "\u2194", "\u27f7"), (1, 1)),
}
# Arrows and dashes of Unicode, which are part of no name without quotes.
_LINES = r"\u2010-\u2015\u2190-\u21ff\u2212\u27f0-\u27ff\u2900-\u297f"
# How deep braces may be nested.
_DEPTH = 100
# An edge: a pair in a list and in a set, and the nodes' entries in the graph.
_BYTES_OF_EDGE = 600
# The possessive quantifiers (++, *+) never try again, so that the time is linear in the text.
_TOKEN = re.compile(
    r"(?P<skip>\s++|//[^\n]*+|\#[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)"
    r'|"(?P<quoted>(?:[^"\\]++|\\.)*+)"'
    r"|\[(?P<attributes>(?:[^\]\"]++|\"[^\"]*+\")*+)\]"
    rf"|(?P<arrow>[<@]?+-{{1,2}}+[>@]?+|[{_LINES}]>?+)"
    r"|(?P<sign>[{}=;,])"
    rf'|(?P<name>[^\s"\[\]{{}};,=<>@/#{_LINES}-][^\s"\[\]{{}};,=<>@{_LINES}-]*+)',
    re.DOTALL,
)
# A quotation mark in quotes, or a line that goes on.
_ESCAPE = re.compile(r'\\(?:(")|\n)')
_ATTRIBUTE = re.compile(
    r'\s*+(?P<key>[^\s=,"]++)\s*+(?:=\s*+(?:"(?P<quoted>[^"]*+)"|(?P<bare>[^\s,"]++)))?+\s*+,?+'
)


@dataclass(frozen=True)
class CausalDiagram:
    """What a text of dagitty says.

    Attributes
    ----------
    graph : CausalGraph
        All nodes, latent ones too, their arcs, and the pairs with a bidirected edge.
    exposures, outcomes, adjusted, selected, latent : tuple of str
        The nodes of each role.
    positions : mapping from name to (x, y)
        In dagitty's own units; y grows downwards.
    """

    graph: CausalGraph
    exposures: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    adjusted: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()
    latent: tuple[str, ...] = ()
    positions: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def observed(self) -> CausalGraph:
        """The causal graph of the nodes that are not latent; see `CausalGraph.of`."""
        return CausalGraph.of(self.graph, self.latent) if self.latent else self.graph


def read_dagitty(
    path: PathLike, *, encoding: str = "utf-8-sig", limit: int | None = None
) -> CausalDiagram:
    """Read a causal diagram of dagitty from a text file; gzip is recognised by its content.

    Parameters
    ----------
    path : str or path
    encoding : str
        Encoding of the text.
    limit : int, optional
        Bytes that reading the file may allocate; by default 64 MB and 40 times the file's bytes.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the text is no diagram of arcs and bidirected edges, has a cycle, or is beyond the limit.
    """
    source = path_text(path)
    with reading(source, "a diagram of dagitty"):
        data, budget = read_unzipped(path, limit)
        return _Parser(decoded(data, budget, encoding), budget).diagram()


def parse_dagitty(text: str, *, limit: int | None = None) -> CausalDiagram:
    """Return the causal diagram that a text of dagitty describes; see `read_dagitty`.

    Raises
    ------
    FileFormatError
        If the text is no diagram of arcs and bidirected edges, or has a cycle.

    Examples
    --------
    >>> found = parse_dagitty("dag { smoke [exposure] cancer [outcome] smoke -> tar -> cancer }")
    >>> found.graph.arcs
    (('smoke', 'tar'), ('tar', 'cancer'))
    >>> found.exposures
    ('smoke',)
    """
    with reading("dagitty text", "a diagram of dagitty"):
        return _Parser(unix_lines(text), Budget("dagitty text", len(text), limit)).diagram()


class _Token(NamedTuple):
    """A word of the text and its place in it; the kind is the group of `_TOKEN` that it is.

    That of a sign is the sign itself, and "end" that of the end of the text.
    """

    kind: str
    text: str
    at: int


class _Parser:
    """Reads statements: nodes, sets of nodes in braces, and chains of arrows between them.

    It looks one token ahead: `_next` is the token that follows those taken so far.
    """

    def __init__(self, text: str, budget: Budget) -> None:
        self._text = text
        self._budget = budget
        self._tokens = self._scanned()
        self._next = next(self._tokens)
        self._depth = 0  # of nested braces
        # Names of roles, and positions, by node; the nodes in their order.
        self._nodes: dict[str, set[str]] = {}
        self._positions: dict[str, tuple[float, float]] = {}
        # Arcs (parent, child), each once; bidirected edges as first written, by their two ends.
        self._arcs: dict[tuple[str, str], None] = {}
        self._pairs: dict[frozenset[str], tuple[str, str]] = {}

    def _refused(self, token: _Token, expected: str, advice: str = "") -> FileFormatError:
        """Return the error for a token in whose place something else was expected."""
        line = self._text.count("\n", 0, token.at) + 1
        got = f"got {token.text!r:.40}{advice}"
        return FileFormatError(f"{self._budget.source}, line {line}: expected {expected}; {got}.")

    def _scanned(self) -> Iterator[_Token]:
        """Yield the tokens of the text, and then its end for ever."""
        at = 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None:
                unread = _Token("", self._text[at : at + 20], at)
                raise self._refused(unread, "a name, an arrow, [attributes] or braces")
            at = match.end()
            kind = str(match.lastgroup)
            if kind != "skip":
                self._budget.take(_BYTES_OF_EDGE, "its words")
                text = _ESCAPE.sub(r"\1", match[kind]) if kind == "quoted" else match[kind]
                yield _Token(text if kind == "sign" else kind, text, match.start())
        while True:
            yield _Token("end", "the end of the text", at)

    def _take(self, sign: str = "") -> _Token:
        """Take the next token, which is a sign if one is expected."""
        if sign and self._next.kind != sign:
            raise self._refused(self._next, repr(sign))
        token, self._next = self._next, next(self._tokens)
        return token

    def diagram(self) -> CausalDiagram:
        """Return the diagram of the text."""
        kind = self._take()
        if kind.text.lower() == "strict":
            kind = self._take()
        if kind.text.lower() not in _DIRECTED:
            raise self._refused(
                kind,
                "'dag { ... }', a directed acyclic graph",
                ". Other kinds of graphs (mag, cpdag, pag) and the older form without braces are "
                "not read: dagitty.net exports both as dag",
            )
        # In DOT, "edge" is a word for attributes too.
        self._defaults = (*_DEFAULTS, "edge") if kind.text.lower() == "digraph" else _DEFAULTS
        if self._next.kind in _NAMES:
            self._take()  # the name of the graph
        self._take("{")
        while self._next.kind != "}":
            self._statement()
        self._take()
        if self._next.kind != "end":
            raise self._refused(self._next, "the end")
        try:
            graph = CausalGraph(self._arcs, self._pairs.values(), self._nodes)
        except BayesGraphError as error:
            raise FileFormatError(f"{self._budget.source}: {error}") from error
        roles = {
            role: tuple(name for name, roles in self._nodes.items() if role in roles)
            for role in _NAMES_OF_ROLES
        }
        return CausalDiagram(graph, **roles, positions=self._positions)

    def _statement(self) -> list[str]:
        """Read a node with its attributes, a chain of arrows, or an attribute of the graph.

        Returns
        -------
        list of str
            The nodes that it names.
        """
        first = self._take()
        if first.kind in (";", ","):
            return []
        if self._next.kind == "=":
            self._take()  # an attribute of the graph, such as its bounding box
            self._take()
            return []
        if self._next.kind == "attributes" and first.text in self._defaults:
            self._take()
            return []
        chain = [self._named(first)]
        arrows: list[_Token] = []
        while self._next.kind == "arrow":
            arrows.append(self._take())
            chain.append(self._named(self._take()))
        for arrow, (left, right) in zip(arrows, pairwise(chain), strict=True):
            if arrow.text not in _ARROWS:
                advice = "" if arrow.text.strip("-") else ", an edge without a direction"
                raise self._refused(arrow, "'->', '<-' or '<->'", advice)
            to_right, to_left = _ARROWS[arrow.text]
            self._budget.take(_BYTES_OF_EDGE * len(left) * len(right), "its edges")
            for a, b in product(left, right):
                if to_right and to_left:
                    self._pairs.setdefault(frozenset((a, b)), (a, b))
                else:
                    self._arcs[(a, b) if to_right else (b, a)] = None
        while self._next.kind == "attributes":
            token = self._take()
            if not arrows:  # attributes of edges are left out
                for name in chain[0]:
                    self._describe(name, token)
        return [name for names in chain for name in names]

    def _named(self, token: _Token) -> list[str]:
        """Return the node that a token is, or those that the statements in braces name."""
        # "subgraph" is a word of DOT only before braces or their name; else it is a node.
        is_set = self._next.kind in ("{", *_NAMES)
        if token.kind == "name" and token.text == "subgraph" and is_set:
            if self._next.kind in _NAMES:
                self._take()
            token = self._take("{")
        if token.kind != "{":
            return [self._node(token)]
        # A statement in braces may have braces again, so that this function calls itself.
        self._depth += 1
        if self._depth > _DEPTH:
            raise self._refused(token, f"braces at most {_DEPTH} deep")
        names: dict[str, None] = {}
        while self._next.kind != "}":
            names.update(dict.fromkeys(self._statement()))
        self._take()
        self._depth -= 1
        return list(names)

    def _node(self, token: _Token) -> str:
        """Return the name of a node, which is a new one at its first mention."""
        if token.kind not in _NAMES:
            raise self._refused(token, "the name of a node")
        self._nodes.setdefault(token.text, set())
        return token.text

    def _describe(self, name: str, token: _Token) -> None:
        """Read role and position of a node from the attributes in brackets."""
        at = 0
        while at < len(token.text.rstrip()):
            match = _ATTRIBUTE.match(token.text, at)
            if match is None:
                raise self._refused(token._replace(text=token.text[at:]), f"attributes of {name!r}")
            at = match.end()
            value = match["quoted"] if match["quoted"] is not None else match["bare"]
            key = match["key"].lower()
            if value is None and key in _ROLES:
                self._nodes[name].add(_ROLES[key])
            elif key == "pos" and value is not None:
                with suppress(ValueError):  # a position that is no pair of numbers is left out
                    x, y = map(float, value.split(","))
                    if math.isfinite(x) and math.isfinite(y):
                        self._positions[name] = x, y
