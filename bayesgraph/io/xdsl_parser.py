"""Parser of XDSL, the XML files of GeNIe and SMILE.

In a noisy maximum of SMILE, the last of the child's states is that of no effect, and a number for
each parent's state says how strong it is (SMILE manual, "Noisy-MAX"). A `NoisyMaxCPD` has the
states of the child in ascending order; they are turned round while a file is read, here and in the
tables of its children.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import CPD, DeterministicCPD, NoisyMaxCPD, NoisyOrCPD, TableCPD
from bayesgraph.errors import (
    BayesGraphError,
    BayesGraphWarning,
    FileFormatError,
    quoted,
    suggestion,
    warn,
)
from bayesgraph.io.budget import MAX_AXES, Budget
from bayesgraph.io.guarded_xml import Element, read_xml
from bayesgraph.io.number_text import floats_of
from bayesgraph.io.row_sums import Normalize, RoundedRows, network_of, table_of
from bayesgraph.io.sidecar import Sidecar
from bayesgraph.io.skipped import is_noted, skip, skip_name
from bayesgraph.io.table_texts import Numbered, numbered
from bayesgraph.models.annotations import Annotations
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete

TABLE, NOISY, DETERMINISTIC = "cpt", "noisymax", "deterministic"
# The property of a noisy maximum of two states that is no NoisyOrCPD.
CLASS_PROPERTY = "bayesgraph"
# Elements that are read.
_PARTS = ("nodes", "extensions", "genie")
_OF_NODES = ("state", "parents", "probabilities", "parameters", "strengths", "resultingstates")
_OF_PICTURES = ("name", "comment", "position")
_OF_SUBMODELS = ("submodel", "name", "comment", "position")
_UTILITIES = "Remove decisions and utilities in GeNIe, or make a decision a chance node"
_ADVICE = {
    "decision": _UTILITIES,
    "utility": _UTILITIES,
    "mau": _UTILITIES,
    "maux": _UTILITIES,
    "equation": "Discretise equations in GeNIe, or build the network of GaussianCPDs",
    "noisyadder": 'Change it to a chance node of the type "General" in GeNIe',
    "dynamic": "Unroll the dynamic network in GeNIe",
}
# What pyAgrum calls itself: it writes tables in which the first parent varies fastest.
_FIRST_FASTEST = "aGrUM"
# Identifiers are separated by blanks of ASCII; other blanks may be part of one.
_ID = re.compile(r"[^ \t\r\n]++")
_NO_NUMBERS = Numbered(np.empty(0), False)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def parse(data: bytes, *, budget: Budget, normalize: Normalize) -> BayesianNetwork:
    """Return the network of an XDSL file.

    Parameters
    ----------
    data : bytes
        Content of the file.
    budget : Budget
        What reading may allocate; it has the path for messages.
    normalize : bool or "always"
        Which rows are divided by their sums, with a warning; see `RoundedRows`.

    Raises
    ------
    FileFormatError
    """
    reader = _Nodes(budget.source, RoundedRows(normalize=normalize))
    layout = _Layout()
    nodes = (TABLE, NOISY, DETERMINISTIC)
    handlers = {
        **dict.fromkeys(nodes, reader.take),
        "dynamic": reader.refuse,
        "genie": layout.take,
    }
    with np.errstate(over="ignore", invalid="ignore"):
        root, sidecar = read_xml(data, budget, handlers)
        reader.check(root)
        if layout.app.startswith(_FIRST_FASTEST):
            reader.take_first_parent_as_fastest(layout.app)
        annotations = layout.annotations(sidecar, reader.names)
        network = reader.network(annotations)
    skip_name(root.attributes.get("id", ""))
    for element in (*root.children, *(e for e in root.all("extensions") for e in e.children)):
        if element.kind not in _PARTS:
            skip("network", f"<{element.tag}>")
    layout.skip()
    return sidecar.restore(network)


@dataclass(frozen=True, eq=False)
class _Node:
    """A chance node of a file.

    Attributes
    ----------
    tag : str
    line : int
    states, parents : list of str
    numbers : Element or None
        The element that has probabilities or parameters; none of a deterministic node.
    results : list of str
        States that a deterministic node results in.
    strengths : list of int
        Numbers of the states of each parent, the strongest first; of noisy maxima.
    is_noisy_or : bool
        Whether a noisy maximum of two states may be a `NoisyOrCPD`.
    """

    tag: str
    line: int
    states: list[str]
    parents: list[str]
    numbers: Element | None
    results: list[str]
    strengths: list[int]
    is_noisy_or: bool

    @property
    def is_turned(self) -> bool:
        """Whether the order of the states is turned round."""
        return self.tag == NOISY and bool(self.parents)


class _Family(NamedTuple):
    """What a distribution is made of.

    Attributes
    ----------
    variable : Discrete
    node : _Node
    parents : list of Discrete
    found : Numbered
        The numbers of the node; none of a function.
    """

    variable: Discrete
    node: _Node
    parents: list[Discrete]
    found: Numbered


class _Nodes:
    """Collects the chance nodes of a file, and makes a network of them."""

    def __init__(self, source: str, rounded: RoundedRows) -> None:
        self._source = source
        self._rounded = rounded
        self._nodes: dict[str, _Node] = {}
        self._variables: dict[str, Discrete] = {}
        self._refused: list[Element] = []
        self._first_is_fastest = False

    def _error(self, line: int, message: str) -> FileFormatError:
        return FileFormatError(f"{self._source}, line {line}: {message}")

    # ---------------------------------------------------------------------------------- elements

    def take(self, element: Element) -> None:
        """Take an element of a chance node."""
        name, tag = element.attributes.get("id"), element.kind
        if not name:
            raise self._error(element.line, f"expected an id of this <{tag}>; it has none.")
        if name in self._nodes:
            raise self._error(element.line, f"the node {name!r} is there a second time.")
        states = element.values("state", "id")
        if not states or "" in states:
            raise self._error(element.line, f"expected states of {name!r}, each with an id.")
        if is_noted():
            self._skip(element)
        own = [p.text for p in element.all("property") if p.attributes.get("id") == CLASS_PROPERTY]
        self._nodes[name] = _Node(
            tag,
            element.line,
            states,
            self._words(element, "parents"),
            self._numbers(element, name, tag),
            self._words(element, "resultingstates"),
            self._strong(element, name),
            NoisyMaxCPD.__name__ not in own,
        )

    def _skip(self, element: Element) -> None:
        """Say what of a node is left out."""
        for child in element.children:
            is_own = child.kind == "property" and child.attributes.get("id") == CLASS_PROPERTY
            if child.kind not in _OF_NODES and not is_own:
                skip("variables", f"<{child.tag}>")
        for key in (key for state in element.all("state") for key in state.attributes):
            if key != "id":
                skip("variables", f"{key} of states")

    def _words(self, element: Element, tag: str) -> list[str]:
        return _ID.findall("".join(element.texts(tag)[:1]))

    def _numbers(self, element: Element, name: str, node: str) -> Element | None:
        if node == DETERMINISTIC:
            return None
        tag = "probabilities" if node == TABLE else "parameters"
        child = element.child(tag)
        if child is None:
            raise self._error(element.line, f"expected <{tag}> of {name!r}; there are none.")
        return child

    def _strong(self, element: Element, name: str) -> list[int]:
        try:
            return [int(x) for x in floats_of(" ".join(element.texts("strengths")[:1])).tolist()]
        except ValueError as error:
            raise self._error(element.line, f"<strengths> of {name!r}: {error}.") from None

    def refuse(self, element: Element) -> None:
        """Take an element that is refused at the end, with all others."""
        self._refused.append(element)

    def check(self, root: Element) -> None:
        """Refuse what is no network of chance nodes, by name."""
        if root.kind != "smile":
            raise self._error(root.line, f"expected <smile>, as XDSL files have; got <{root.tag}>.")
        others = [e for nodes in root.all("nodes") for e in nodes.children] + self._refused
        if others:
            ids = [f"<{e.tag}> {e.attributes.get('id', '')!r}".removesuffix(" ''") for e in others]
            listed = ", ".join(ids[:8]) + (f" and {len(ids) - 8} more" if ids[8:] else "")
            tags = dict.fromkeys(e.kind for e in others)
            advice = dict.fromkeys(f" {_ADVICE[tag]}." for tag in tags if tag in _ADVICE)
            message = f"expected chance nodes with states; got {listed}.{''.join(advice)}"
            raise self._error(others[0].line, message)
        if not self._nodes:
            raise self._error(root.line, "expected at least one node in <nodes>; got none.")

    # ----------------------------------------------------------------------------------- network

    def take_first_parent_as_fastest(self, app: str) -> None:
        """Read tables as pyAgrum 3.3 writes them, and warn of it if it matters.

        `app` is the program that wrote the file.
        """
        self._first_is_fastest = True
        several = [name for name, node in self._nodes.items() if len(node.parents) > 1]
        if several:
            warn(
                f"{self._source}: {app} wrote this file. Unlike GeNIe, it has the first parent "
                f"vary fastest; the tables of {quoted(several)} are read so. GeNIe would read them "
                "otherwise.",
                BayesGraphWarning,
            )

    @property
    def names(self) -> Collection[str]:
        """The names of all nodes."""
        return self._nodes.keys()

    def network(self, annotations: Annotations) -> BayesianNetwork:
        """Return the network of all nodes, in the order of the file."""
        for name, node in self._nodes.items():
            order = reversed(node.states) if node.is_turned else node.states
            try:
                self._variables[name] = Discrete(name, order)
            except BayesGraphError as error:
                raise self._error(node.line, str(error)) from error
        return network_of(list(self._cpds()), self._rounded, self._source, annotations)

    def _cpds(self) -> Iterator[CPD]:
        nodes = [node for node in self._nodes.values() if node.numbers is not None]
        texts = [node.numbers.text for node in nodes if node.numbers is not None]
        tables = numbered(texts, [len(node.states) for node in nodes])
        for name, node in self._nodes.items():
            found = _NO_NUMBERS
            if (element := node.numbers) is not None:
                try:
                    found = next(tables)
                except ValueError as error:
                    message = f"<{element.tag}> of {name!r}: {error}."
                    raise self._error(element.line, message) from None
            yield self._cpd(name, node, found)

    def _cpd(self, name: str, node: _Node, found: Numbered) -> CPD:
        unknown = [parent for parent in node.parents if parent not in self._variables]
        if unknown:
            near = suggestion(unknown[0], self._variables)
            raise self._error(
                node.line, f"{name!r} has the parent {unknown[0]!r}, which is no node.{near}"
            )
        parents = [self._variables[parent] for parent in node.parents]
        make = {TABLE: self._table, NOISY: self._noisy_max, DETERMINISTIC: self._function}
        try:
            return make[node.tag](_Family(self._variables[name], node, parents, found))
        except FileFormatError:
            raise
        except BayesGraphError as error:
            raise self._error(node.line, str(error)) from error

    def _check_size(self, name: object, node: _Node, size: int, found: int, what: str) -> None:
        if size != found:
            raise self._error(node.line, f"expected {size:,} {what} of {name!r}; got {found:,}.")

    def _shape(self, variable: Discrete, node: _Node, parents: Sequence[Discrete]) -> list[int]:
        if len(parents) >= MAX_AXES:
            raise self._error(
                node.line,
                f"expected at most {MAX_AXES - 1} parents of {variable.name!r}; got "
                f"{len(parents)}.",
            )
        return [parent.cardinality for parent in parents]

    def _turned(self, table: NDArray[Any], node: _Node) -> NDArray[Any]:
        """Return a table, by states of parents, with the states of noisy maxima turned round."""
        axes = tuple([i for i, name in enumerate(node.parents) if self._nodes[name].is_turned])
        return np.flip(table, axes) if axes else table

    def _table(self, family: _Family) -> CPD:
        variable, node, parents, found = family
        shape = self._shape(variable, node, parents)
        size = math.prod(shape) * variable.cardinality
        self._check_size(variable.name, node, size, len(found.values), "probabilities")
        if self._first_is_fastest:
            values = found.values.reshape([*reversed(shape), variable.cardinality])
            values = values.transpose([*reversed(range(len(shape))), len(shape)])
        else:
            values = found.values.reshape([*shape, variable.cardinality])
        table = np.ascontiguousarray(self._turned(values, node))
        return table_of(variable, table, parents, self._rounded, sums_to_one=found.sums_to_one)

    def _function(self, family: _Family) -> CPD:
        variable, node, parents, _ = family
        shape = self._shape(variable, node, parents)
        size = math.prod(shape)
        self._check_size(variable.name, node, size, len(node.results), "resulting states")
        unknown = next((state for state in node.results if state not in node.states), None)
        if unknown is not None:
            near = suggestion(unknown, node.states)
            raise self._error(
                node.line, f"{variable.name!r} has no state {unknown!r}, which results.{near}"
            )
        code_of = {state: code for code, state in enumerate(node.states)}
        codes = np.array([code_of[state] for state in node.results], dtype=np.intp)
        if not parents:
            return TableCPD(variable, np.eye(variable.cardinality)[codes[0]])
        return DeterministicCPD.from_codes(
            variable, np.ascontiguousarray(self._turned(codes.reshape(shape), node)), parents
        )

    def _noisy_max(self, family: _Family) -> CPD:
        variable, node, parents, found = family
        cards = [parent.cardinality for parent in parents]
        size = (sum(cards) + 1) * variable.cardinality
        self._check_size(variable.name, node, size, len(found.values), "parameters")
        rows = found.values.reshape(-1, variable.cardinality)
        if not found.sums_to_one:
            rows = self._rounded.repaired(variable.name, rows)
        if not parents:
            return TableCPD(variable, rows[0])
        rows = rows[:, ::-1]
        is_or = node.is_noisy_or and variable.cardinality == 2
        is_or = is_or and bool((rows[:, 0] == 1 - rows[:, 1]).all())
        influences, end = [], 0
        for parent, order in zip(parents, self._strengths(node, cards), strict=True):
            begin, end = end, end + parent.cardinality
            table = np.empty((parent.cardinality, variable.cardinality))
            table[order] = rows[begin:end]
            turned = self._nodes[str(parent.name)].is_turned
            influences.append(table[::-1] if turned else table)
        leak = rows[-1]
        if is_or:
            return NoisyOrCPD(variable, [t[:, 1] for t in influences], parents, float(leak[1]))
        return NoisyMaxCPD(variable, influences, parents, leak)

    def _strengths(self, node: _Node, cards: list[int]) -> list[list[int]]:
        """Return, for each parent, the numbers of its states in the order of the parameters."""
        if not node.strengths:
            return [list(range(card)) for card in cards]
        self._check_size(node.parents[-1], node, sum(cards), len(node.strengths), "strengths")
        found, start = [], 0
        for name, card in zip(node.parents, cards, strict=True):
            order = node.strengths[start : start + card]
            if sorted(order) != list(range(card)):
                raise self._error(
                    node.line,
                    f"expected each of the states 0 to {card - 1} of {name!r} once among the "
                    f"strengths; got {order}.",
                )
            found.append(order)
            start += card
        return found


@dataclass
class _Layout:
    """Titles, notes and positions in the extension of GeNIe.

    Attributes
    ----------
    note : str
    app : str
        The program that wrote the file.
    nodes : list of Element
    others : list of Element
        What is neither a node nor a submodel, such as a text box.
    submodels : list of str
        A text for each submodel, with its nodes.
    """

    note: str = ""
    app: str = ""
    nodes: list[Element] = field(default_factory=list)
    others: list[Element] = field(default_factory=list)
    submodels: list[str] = field(default_factory=list)

    def take(self, element: Element) -> None:
        """Take the extension of GeNIe."""
        self.app = element.attributes.get("app", "")
        self.note = _unescaped((element.texts("comment") or [""])[0])
        self._collect(element)

    def _collect(self, element: Element) -> None:
        self.nodes += element.all("node")
        self.others += [e for e in element.children if e.kind not in ("node", *_OF_SUBMODELS)]
        for inner in element.all("submodel"):
            name = (inner.texts("name") or [inner.attributes.get("id", "")])[0]
            ids = [node.attributes.get("id", "") for node in inner.all("node")]
            self.submodels.append(f"{_unescaped(name)!r} ({', '.join(ids)})")
            self._collect(inner)

    def skip(self) -> None:
        """Say what is left out, unless it is what bayesgraph itself gives the nodes."""
        if self.app != "bayesgraph":
            for element in (child for node in self.nodes for child in node.children):
                if element.kind not in _OF_PICTURES:
                    skip("variables", f"<{element.tag}>")
            for element in self.others:
                skip("network", f"<{element.tag}>")

    def annotations(self, sidecar: Sidecar, names: Collection[str]) -> Annotations:
        """Return what there is of some variables.

        A title that only says a name that the file cannot spell is no title.
        """
        nodes = [(node.attributes.get("id", ""), node) for node in self.nodes]
        nodes = [(name, node) for name, node in nodes if name in names]
        spelled = {word: found.name for word, (_, found) in sidecar.variables.items()}
        titles = {name: _unescaped((node.texts("name") or [""])[0]) for name, node in nodes}
        notes = {name: _unescaped((node.texts("comment") or [""])[0]) for name, node in nodes}
        places = {name: _centre((node.texts("position") or [""])[0]) for name, node in nodes}
        flattened = f"Submodels flattened: {'; '.join(self.submodels)}." if self.submodels else ""
        return Annotations(
            "\n".join(filter(None, (self.note, flattened))),
            {name: place for name, place in places.items() if place is not None},
            {name: note for name, note in notes.items() if note},
            {n: text for n, text in titles.items() if text not in ("", n, spelled.get(n))},
        )


def _centre(text: str) -> tuple[float, float] | None:
    """Return the centre of a rectangle that is given as left, top, right and bottom."""
    try:
        left, top, right, bottom = floats_of(text).tolist()
    except ValueError:
        return None
    x, y = (left + right) / 2, (top + bottom) / 2
    return (x, y) if math.isfinite(x) and math.isfinite(y) else None


def _unescaped(text: str) -> str:
    r"""Return a text of GeNIe, in which a line break is ``\n``."""
    return _ESCAPE.sub(lambda m: {"n": "\n", "\\": "\\"}.get(m[1], m[0]), text)
