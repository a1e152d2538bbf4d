"""XDSL, the XML files of GeNIe and its library SMILE, plain or gzipped.

Chance nodes have tables, noisy maxima or functions; positions, titles and comments of nodes are
annotations of the network. Noisy maxima keep their parameters: SMILE has those of Díez (1993), as
`NoisyMaxCPD` has, with the strongest of the child's states first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import errors, files
from bayesgraph.core.arrays import Floats
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.files.exporting import Export, Sidecar, is_noted, skip, skip_name
from bayesgraph.files.formats import Capabilities, FileFormat, TextSpelling
from bayesgraph.files.guarded_xml import (
    Element,
    comment,
    escaped,
    is_xml_text,
    quoted_attribute,
    read_xml,
)
from bayesgraph.files.table_rows import (
    Normalize,
    RoundedRows,
    floats_of,
    network_of,
    table_of,
)
from bayesgraph.models import (
    CPD,
    MAX_TABLE,
    Annotations,
    BayesianNetwork,
    DeterministicCPD,
    NoisyMaxCPD,
    NoisyOrCPD,
    TableCPD,
)

# ------------------------------------------------ Parser of XDSL, the XML files of GeNIe and SMILE
# In a noisy maximum of SMILE, the last of the child's states is that of no effect, and a number for
# each parent's state says how strong it is (SMILE manual, "Noisy-MAX"). A `NoisyMaxCPD` has the
# states of the child in ascending order; they are turned round while a file is read, here and in
# the tables of its children.


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
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def parse(data: bytes, *, budget: files.Budget, normalize: Normalize) -> BayesianNetwork:
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
    numbers : ndarray of float
        The numbers of the node; none of a function.
    """

    variable: Discrete
    node: _Node
    parents: list[Discrete]
    numbers: Floats


class _Nodes:
    """Collects the chance nodes of a file, and makes a network of them."""

    def __init__(self, source: str, rounded: RoundedRows) -> None:
        self._source = source
        self._rounded = rounded
        self._nodes: dict[str, _Node] = {}
        self._variables: dict[str, Discrete] = {}
        self._refused: list[Element] = []
        self._first_is_fastest = False

    def _error(self, line: int, message: str) -> errors.FileFormatError:
        return errors.FileFormatError(f"{self._source}, line {line}: {message}")

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
            # Say what of a node is left out.
            for child in element.children:
                is_own = child.kind == "property" and child.attributes.get("id") == CLASS_PROPERTY
                if child.kind not in _OF_NODES and not is_own:
                    skip("variables", f"<{child.tag}>")
            for key in (key for state in element.all("state") for key in state.attributes):
                if key != "id":
                    skip("variables", f"{key} of states")
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
            errors.warn(
                f"{self._source}: {app} wrote this file. Unlike GeNIe, it has the first parent "
                f"vary fastest; the tables of {errors.quoted(several)} are read so. GeNIe would "
                "read them otherwise.",
                errors.BayesGraphWarning,
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
            except errors.BayesGraphError as error:
                raise self._error(node.line, str(error)) from error
        return network_of(list(self._cpds()), self._rounded, self._source, annotations)

    def _cpds(self) -> Iterator[CPD]:
        for name, node in self._nodes.items():
            numbers = np.empty(0)
            if (element := node.numbers) is not None:
                try:
                    numbers = floats_of(element.text)
                except ValueError as error:
                    message = f"<{element.tag}> of {name!r}: {error}."
                    raise self._error(element.line, message) from None
            yield self._cpd(name, node, numbers)

    def _cpd(self, name: str, node: _Node, numbers: Floats) -> CPD:
        unknown = [parent for parent in node.parents if parent not in self._variables]
        if unknown:
            near = errors.suggestion(unknown[0], self._variables)
            raise self._error(
                node.line, f"{name!r} has the parent {unknown[0]!r}, which is no node.{near}"
            )
        parents = [self._variables[parent] for parent in node.parents]
        make = {TABLE: self._table, NOISY: self._noisy_max, DETERMINISTIC: self._function}
        try:
            return make[node.tag](_Family(self._variables[name], node, parents, numbers))
        except errors.FileFormatError:
            raise
        except errors.BayesGraphError as error:
            raise self._error(node.line, str(error)) from error

    def _check_size(self, name: object, node: _Node, size: int, found: int, what: str) -> None:
        if size != found:
            raise self._error(node.line, f"expected {size:,} {what} of {name!r}; got {found:,}.")

    def _shape(self, variable: Discrete, node: _Node, parents: Sequence[Discrete]) -> list[int]:
        if len(parents) >= files.MAX_AXES:
            raise self._error(
                node.line,
                f"expected at most {files.MAX_AXES - 1} parents of {variable.name!r}; got "
                f"{len(parents)}.",
            )
        return [parent.cardinality for parent in parents]

    def _turned(self, table: NDArray[Any], node: _Node) -> NDArray[Any]:
        """Return a table, by states of parents, with the states of noisy maxima turned round."""
        axes = tuple([i for i, name in enumerate(node.parents) if self._nodes[name].is_turned])
        return np.flip(table, axes) if axes else table

    def _table(self, family: _Family) -> CPD:
        variable, node, parents, numbers = family
        shape = self._shape(variable, node, parents)
        size = math.prod(shape) * variable.cardinality
        self._check_size(variable.name, node, size, len(numbers), "probabilities")
        if self._first_is_fastest:
            values = numbers.reshape([*reversed(shape), variable.cardinality])
            values = values.transpose([*reversed(range(len(shape))), len(shape)])
        else:
            values = numbers.reshape([*shape, variable.cardinality])
        table = np.ascontiguousarray(self._turned(values, node))
        return table_of(variable, table, parents, self._rounded)

    def _function(self, family: _Family) -> CPD:
        variable, node, parents, _ = family
        shape = self._shape(variable, node, parents)
        size = math.prod(shape)
        self._check_size(variable.name, node, size, len(node.results), "resulting states")
        unknown = next((state for state in node.results if state not in node.states), None)
        if unknown is not None:
            near = errors.suggestion(unknown, node.states)
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
        variable, node, parents, numbers = family
        cards = [parent.cardinality for parent in parents]
        size = (sum(cards) + 1) * variable.cardinality
        self._check_size(variable.name, node, size, len(numbers), "parameters")
        rows = self._rounded.repaired(variable.name, numbers.reshape(-1, variable.cardinality))
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


# ---------------------------- XDSL, the XML files of GeNIe and its library SMILE, plain or gzipped


# What GeNIe gives a node: half of its width and height, and its colours and font.
_HALF_WIDTH, _HALF_HEIGHT = 36, 24
_STYLE = (
    '<interior color="e5f6f7" />',
    '<outline color="000080" />',
    '<font color="000000" name="Arial" size="8" />',
)
_FARTHEST = 1e9
_IDENTIFIER = TextSpelling(
    "identifiers: letters, digits and underscores, a letter first",
    re.compile(r"[^\W\d_]\w*+"),
    wrong=re.compile(r"\W"),
)


def _fits(cpd: CPD) -> bool:
    """Return whether a distribution has the form that SMILE gives it.

    Of each parent of a noisy maximum, one state has no effect; and a function is a list of results.
    """
    if isinstance(cpd, NoisyMaxCPD):
        none = [_without_effect(table) for table in cpd.influences]
        return bool(none) and None not in none
    return not isinstance(cpd, DeterministicCPD) or cpd.n_entries <= MAX_TABLE


def _without_effect(table: Floats) -> int | None:
    """Return the last state of a parent that never has an effect, None if each may have one."""
    states = np.flatnonzero((table[:, 0] == 1) & (table[:, 1:] == 0).all(axis=1))
    return int(states[-1]) if states.size else None


HELD = Capabilities(
    "XDSL",
    names=_IDENTIFIER,
    states=_IDENTIFIER,
    families=(TableCPD, NoisyMaxCPD, NoisyOrCPD, DeterministicCPD),
    fits=_fits,
)


def read_xdsl(
    path: files.PathLike, *, normalize: Normalize = True, limit: int | None = None
) -> BayesianNetwork:
    """Read an XDSL file of GeNIe or SMILE; gzip is recognised by its content.

    Names and states are the identifiers in the file, in the order of the file; the states of a
    noisy maximum are turned round, as those of a `NoisyMaxCPD` ascend. Titles, comments and the
    centres of nodes are annotations. Nodes of submodels become nodes of the network, whose note
    then has a line "Submodels flattened". A file of pyAgrum, which orders tables otherwise than
    GeNIe, is read as pyAgrum means it, with a warning. Colours, fonts, text boxes, cases, costs and
    properties are skipped.

    Parameters
    ----------
    path : str or path
    normalize : bool or "always"
        Whether rows whose sum is off by up to 0.02 are divided by their sum, with one warning; see
        `read_bif`.
    limit : int, optional
        Bytes that reading the file may allocate; by default 64 MB and 40 times the file's bytes.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the file is not valid XDSL or beyond the limit, or has nodes that are no chance nodes
        with states, such as decisions, utilities and equations; the message names them.
    """
    source = files.path_text(path)
    with files.reading(source, "XDSL"):
        data, budget = files.read_unzipped(path, limit)
        return parse(data, budget=budget, normalize=normalize)


def parse_xdsl(
    text: str, *, normalize: Normalize = True, limit: int | None = None
) -> BayesianNetwork:
    """Return the network that an XDSL text describes; see `read_xdsl`.

    Raises
    ------
    FileFormatError
        If the text is not valid XDSL; the message has the line and the expected text.

    Examples
    --------
    >>> net = parse_xdsl('''<smile version="1.0" id="weather"><nodes>
    ...     <cpt id="rain"><state id="no" /><state id="yes" />
    ...         <probabilities>0.8 0.2</probabilities></cpt>
    ... </nodes></smile>''')
    >>> net.variable("rain")
    Discrete('rain', ['no', 'yes'])
    """
    data = text.encode()
    with files.reading("XDSL text", "XDSL"):
        return parse(data, budget=files.Budget("XDSL text", len(data), limit), normalize=normalize)


def write_xdsl(model: Any, path: files.PathLike, *, strict: bool = True) -> files.LossReport:
    """Write a discrete network as XDSL, gzipped if the path ends in ``.gz``.

    Numbers are written so that they read back as the same floats. A noisy maximum of which some
    parent has no state without an effect is written as its table. The file is replaced as a whole
    or not at all.

    Parameters
    ----------
    model : BayesianNetwork
    path : str or path
    strict : bool
        Whether names and states that are no identifiers are refused. If false, they are written as
        similar identifiers; comments of the file say which, so that `read_xdsl` restores them.

    Raises
    ------
    LossyExportError
        If XDSL cannot hold the model; the message lists why.
    """
    text, report = _formatted(model, strict=strict)
    files.write_text(path, text)
    return report


def format_xdsl(model: Any, *, strict: bool = True) -> str:
    """Return a discrete network as XDSL text; see `write_xdsl`.

    Raises
    ------
    LossyExportError
        If XDSL cannot hold the model; the message lists why.

    Examples
    --------
    >>> from bayesgraph import Discrete
    >>> rain = Discrete("rain", ["no", "yes"])
    >>> print(format_xdsl(BayesianNetwork([TableCPD(rain, [0.8, 0.2])])), end="")
    <?xml version="1.0" encoding="UTF-8"?>
    <smile version="1.0" id="network" numsamples="10000" discsamples="10000">
      <nodes>
        <cpt id="rain">
          <state id="no" />
          <state id="yes" />
          <probabilities>0.8 0.2</probabilities>
        </cpt>
      </nodes>
      <extensions>
        <genie version="1.0" app="bayesgraph" name="network">
        </genie>
      </extensions>
    </smile>
    """
    return _formatted(model, strict=strict)[0]


def _formatted(model: Any, *, strict: bool) -> tuple[str, files.LossReport]:
    found = Export.of(model, HELD, strict=strict)
    turned: set[Variable] = {cpd.variable for cpd in found.cpds if isinstance(cpd, NoisyMaxCPD)}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<smile version="1.0" id="network" numsamples="10000" discsamples="10000">',
        "  <nodes>",
    ]
    for cpd in found.cpds:
        lines += _node(cpd, found, turned)
    lines += ["  </nodes>", *_extension(found), *map(comment, found.sidecar), "</smile>", ""]
    return "\n".join(lines), found.report


def _node(cpd: CPD, found: Export, turned: set[Variable]) -> Iterator[str]:
    variable = cpd.variable
    names, states = found.words.names, found.words.states[variable]
    tag = {NoisyMaxCPD: NOISY, NoisyOrCPD: NOISY, DeterministicCPD: DETERMINISTIC}.get(
        type(cpd), TABLE
    )
    yield f"    <{tag} id={quoted_attribute(names[variable])}>"
    for state in reversed(states) if variable in turned else states:
        yield f"      <state id={quoted_attribute(state)} />"
    if cpd.parents:
        parents = " ".join(escaped(names[parent]) for parent in cpd.parents)
        yield f"      <parents>{parents}</parents>"
    if isinstance(cpd, NoisyMaxCPD):
        yield from _noisy_max(cpd, turned)
    elif isinstance(cpd, DeterministicCPD):
        codes = _turned(cpd.to_table().values.argmax(axis=-1), cpd, turned)
        results = " ".join(states[code] for code in codes.reshape(-1).tolist())
        yield f"      <resultingstates>{escaped(results)}</resultingstates>"
    elif isinstance(cpd, TableCPD):
        yield f"      <probabilities>{_numbers(_turned(cpd.values, cpd, turned))}</probabilities>"
    yield f"    </{tag}>"


def _turned(table: NDArray[Any], cpd: CPD, turned: set[Variable]) -> NDArray[Any]:
    return np.flip(table, tuple(i for i, parent in enumerate(cpd.parents) if parent in turned))


def _noisy_max(cpd: NoisyMaxCPD, turned: set[Variable]) -> Iterator[str]:
    """Yield strengths and parameters: the state of each parent that has no effect comes last."""
    strengths: list[int] = []
    rows: list[Floats] = []
    for parent, table in zip(cpd.parents, cpd.influences, strict=True):
        states = table[::-1] if parent in turned else table
        last = _without_effect(states)
        order = [state for state in range(len(states)) if state != last]
        order.append(int(last or 0))
        strengths += order
        rows.append(states[order])
    parameters = np.concatenate([*rows, cpd.leak[None]])[:, ::-1]
    yield f"      <strengths>{' '.join(map(str, strengths))}</strengths>"
    yield f"      <parameters>{_numbers(parameters)}</parameters>"
    if cpd.variable.cardinality == 2 and not isinstance(cpd, NoisyOrCPD):
        # The numbers may be those of a noisy or too.
        yield f'      <property id="{CLASS_PROPERTY}">{NoisyMaxCPD.__name__}</property>'


def _numbers(values: Floats) -> str:
    # repr gives the shortest decimal that reads back as the same float.
    return " ".join(map(repr, values.reshape(-1).tolist()))


# -------------------------------------------------------------------------- what GeNIe shows


def _extension(found: Export) -> Iterator[str]:
    """Yield what GeNIe shows of the nodes that have a title, a comment or a position.

    Positions are whole numbers there, and a comment of the file has them exactly. pyAgrum reads no
    file without this element.
    """
    yield "  <extensions>"
    yield '    <genie version="1.0" app="bayesgraph" name="network">'
    note = found.annotations.note
    if note and is_xml_text(note):
        yield f"      <comment>{_text(note)}</comment>"
    for variable in found.words.names:
        yield from _shown(variable, found)
    yield "    </genie>"
    yield "  </extensions>"


def _shown(variable: Variable, found: Export) -> Iterator[str]:
    word, own = found.words.names[variable], found.annotations
    title = own.titles.get(word, variable.name if isinstance(variable.name, str) else word)
    position, note = own.positions.get(word), own.notes.get(word, "")
    if title == word and position is None and not note:
        return
    yield f"      <node id={quoted_attribute(word)}>"
    yield f"        <name>{_text(title) if is_xml_text(title) else escaped(word)}</name>"
    for line in _STYLE:
        yield f"        {line}"
    if position is not None and max(map(abs, position)) < _FARTHEST:
        x, y = map(round, position)
        place = (x - _HALF_WIDTH, y - _HALF_HEIGHT, x + _HALF_WIDTH, y + _HALF_HEIGHT)
        yield f"        <position>{' '.join(map(str, place))}</position>"
    if note and is_xml_text(note):
        yield f"        <comment>{_text(note)}</comment>"
    yield "      </node>"


def _text(text: str) -> str:
    return escaped(text.replace("\\", "\\\\").replace("\n", "\\n"))


FORMAT = FileFormat("XDSL", read_xdsl, write_xdsl, holds=HELD)
