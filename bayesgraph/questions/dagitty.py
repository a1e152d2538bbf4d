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
from itertools import pairwise
from typing import NamedTuple

from bayesgraph.core.errors import BayesGraphError, FileFormatError
from bayesgraph.core.files import Budget, PathLike, path_text, read_unzipped, reading
from bayesgraph.questions.causal_graphs import CausalGraph

# The roles that a node may have; some programs write an abbreviation.
_NAMES_OF_ROLES = {
    "exposures": ("exposure", "e"),
    "outcomes": ("outcome", "o"),
    "adjusted": ("adjusted", "a"),
    "latent": ("latent", "l", "unobserved", "u"),
    "selected": ("selected", "s"),
}
_ROLES = {name: role for role, names in _NAMES_OF_ROLES.items() for name in names}
_DIRECTED = ("dag", "digraph")
_ARROWS = {"->": (1, 0), "<-": (0, 1), "<->": (1, 1)}
# An edge: a pair in a list and in a set, and the nodes' entries in the graph.
_BYTES_OF_EDGE = 600
_TOKEN = re.compile(
    r"(?P<skip>\s++|//[^\n]*+|\#[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)"
    r'|"(?P<quoted>(?:[^"\\]++|\\.)*+)"'
    r"|\[(?P<attributes>(?:[^\]\"]++|\"[^\"]*+\")*+)\]"
    r"|(?P<arrow>[<@]?+-{1,2}+[>@]?+)"
    r"|(?P<sign>[{}=;,])"
    r'|(?P<name>[^\s"\[\]{};,=<>@/#-][^\s"\[\]{};,=<>@-]*+)',
    re.DOTALL,
)
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
        return _Parser(data.decode(encoding), budget).diagram()


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
        return _Parser(text, Budget("dagitty text", len(text), limit)).diagram()


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


class _Parser:
    """Reads statements: nodes, sets of nodes in braces, and chains of arrows between them."""

    def __init__(self, text: str, budget: Budget) -> None:
        self._text = text
        self._budget = budget
        self._tokens = self._scanned()
        self._next = next(self._tokens)
        # Names of roles, and positions, by node; the nodes in their order.
        self._nodes: dict[str, set[str]] = {}
        self._positions: dict[str, tuple[float, float]] = {}
        self._arcs: dict[tuple[str, str], None] = {}
        self._pairs: dict[frozenset[str], tuple[str, str]] = {}

    def _error(self, at: int, message: str) -> FileFormatError:
        line = self._text.count("\n", 0, at) + 1
        return FileFormatError(f"{self._budget.source}, line {line}: {message}")

    def _scanned(self) -> Iterator[_Token]:
        at = 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None:
                raise self._error(
                    at,
                    f"expected a name, an arrow, [attributes] or braces; got "
                    f"{self._text[at : at + 20]!r}.",
                )
            at = match.end()
            kind = str(match.lastgroup)
            if kind != "skip":
                self._budget.take(_BYTES_OF_EDGE, "its words")
                yield _Token(kind, match[kind], match.start())
        while True:
            yield _Token("end", "the end of the text", at)

    def _take(self) -> _Token:
        token, self._next = self._next, next(self._tokens)
        return token

    def _is_sign(self, sign: str) -> bool:
        return self._next.kind == "sign" and self._next.text == sign

    def diagram(self) -> CausalDiagram:
        """Return the diagram of the text."""
        kind = self._take()
        if kind.text.lower() not in _DIRECTED:
            raise self._error(
                kind.at,
                f"expected 'dag {{ ... }}', a directed acyclic graph; got {kind.text!r:.40}. Other "
                "kinds of graphs (mag, cpdag, pag) and the older form without braces are not read: "
                "dagitty.net exports both as dag.",
            )
        if self._next.kind in ("name", "quoted"):
            self._take()  # the name of the graph
        if not self._is_sign("{"):
            raise self._error(self._next.at, f"expected '{{'; got {self._next.text!r:.40}.")
        self._take()
        while not self._is_sign("}"):
            self._statement()
        self._take()
        if self._next.kind != "end":
            raise self._error(self._next.at, f"expected the end; got {self._next.text!r:.40}.")
        try:
            graph = CausalGraph(tuple(self._arcs), tuple(self._pairs.values()), tuple(self._nodes))
        except BayesGraphError as error:
            raise FileFormatError(f"{self._budget.source}: {error}") from error
        roles = {
            role: tuple(name for name, roles in self._nodes.items() if role in roles)
            for role in _NAMES_OF_ROLES
        }
        return CausalDiagram(graph, **roles, positions=self._positions)

    def _statement(self) -> None:
        first = self._take()
        if first.kind == "sign" and first.text in ";,":
            return
        if self._is_sign("="):
            self._take()  # an attribute of the graph, such as its bounding box
            self._take()
            return
        chain = [self._named(first)]
        arrows: list[_Token] = []
        while self._next.kind == "arrow":
            arrows.append(self._take())
            chain.append(self._named(self._take()))
        for arrow, (left, right) in zip(arrows, pairwise(chain), strict=True):
            if arrow.text not in _ARROWS:
                raise self._error(
                    arrow.at,
                    f"expected '->', '<-' or '<->'; got {arrow.text!r}, an edge without a "
                    "direction.",
                )
            to_right, to_left = _ARROWS[arrow.text]
            self._budget.take(_BYTES_OF_EDGE * len(left) * len(right), "its edges")
            for a in left:
                for b in right:
                    if to_right and to_left:
                        self._pairs.setdefault(frozenset((a, b)), (a, b))
                    else:
                        self._arcs[(a, b) if to_right else (b, a)] = None
        while self._next.kind == "attributes":
            token = self._take()
            if not arrows:
                for name in chain[0]:
                    self._describe(name, token)

    def _named(self, token: _Token) -> list[str]:
        """Return the name that a token is, or the names in the braces that it opens."""
        if token.kind in ("name", "quoted"):
            self._nodes.setdefault(token.text, set())
            return [token.text]
        if token.kind != "sign" or token.text != "{":
            raise self._error(token.at, f"expected the name of a node; got {token.text!r:.40}.")
        names: dict[str, None] = {}
        while not self._is_sign("}"):
            inner = self._take()
            if inner.kind in ("name", "quoted"):
                self._nodes.setdefault(inner.text, set())
                names[inner.text] = None
            elif inner.text not in (",", ";"):
                raise self._error(inner.at, f"expected names in braces; got {inner.text!r:.40}.")
        self._take()
        return list(names)

    def _describe(self, name: str, token: _Token) -> None:
        at = 0
        while at < len(token.text.rstrip()):
            match = _ATTRIBUTE.match(token.text, at)
            if match is None:
                raise self._error(
                    token.at, f"expected attributes of {name!r}; got {token.text[at:]!r:.40}."
                )
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
