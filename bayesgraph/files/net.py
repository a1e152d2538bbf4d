"""NET, the language of Hugin's networks, plain or gzipped.

Hugin, GeNIe, SamIam, pyAgrum, pgmpy, gRain and others read and write it; it is described in the
chapter on the NET language of the Hugin API reference manual (https://www.hugin.com). It holds
networks of discrete nodes with tables and of continuous nodes with linear Gaussians.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bayesgraph.core import files
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import BayesGraphError, FileFormatError, quoted, suggestion
from bayesgraph.core.variables import Continuous, Discrete, Name, Variable
from bayesgraph.files import blocks
from bayesgraph.files.exporting import Export, Sidecar
from bayesgraph.files.formats import Capabilities, FileFormat, TextSpelling
from bayesgraph.files.table_rows import Normalize, RoundedRows, network_of
from bayesgraph.models import CPD, Annotations, BayesianNetwork, GaussianCPD, TableCPD

# ------------------------ Expressions in Hugin's NET files: linear Gaussians, and models of tables


_NUMBER = r"[-+]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+"
_NAME = r"[A-Za-z_][\w.]*+"
_NORMAL = re.compile(r"normal\s*+\(([^(),]*+),([^(),]*+)\)")
_TERM = re.compile(
    rf"\s*+(?P<sign>[-+]?)\s*+(?:(?P<number>{_NUMBER})(?:\s*+\*\s*+(?P<name>{_NAME}))?+"
    rf"|(?P<alone>{_NAME})(?:\s*+\*\s*+(?P<factor>{_NUMBER}))?+)\s*+"
)
_VARIANCE = re.compile(rf"\s*+{_NUMBER}\s*+")
_BETWEEN = re.compile(r"[\s(),]*+")
_MODEL = re.compile(
    rf"\s*+(?:Distribution\s*+\((?P<numbers>[-+.0-9eE,\s]*+)\)|(?P<state>{blocks.STRING}|[\w.+\-]++))"
    r"\s*+(?:,|\Z)",
    re.DOTALL,
)


def normals(
    text: str, cards: Sequence[int], parents: Sequence[str]
) -> tuple[Floats, Floats, Floats]:
    """Return means, variances and slopes of a nested list of ``normal (mean, variance)``.

    A mean is a sum of numbers and of products such as ``0.5 * Z``.

    Parameters
    ----------
    text : str
    cards : sequence of int
        Numbers of states of the discrete parents.
    parents : sequence of str
        The continuous parents.

    Raises
    ------
    TableError
        If the text is something else.
    """
    if not _BETWEEN.fullmatch(_NORMAL.sub("", text)):
        raise blocks.TableError(0, "expected a list of 'normal ( mean, variance )'")
    try:
        blocks.nested_numbers(_NORMAL.sub("0", text), tuple(cards) or (1,))
    except blocks.TableError as error:
        raise blocks.TableError(0, f"{error}, where each 'normal ( ... )' counts as one") from error
    columns = {name: k for k, name in enumerate(parents)}
    found = [_normal(match, columns) for match in _NORMAL.finditer(text)]
    means, variances, slopes = (np.array(numbers) for numbers in zip(*found, strict=True))
    shape = tuple(cards)
    return means.reshape(shape), variances.reshape(shape), slopes.reshape(*shape, len(parents))


def _normal(match: re.Match[str], columns: Mapping[str, int]) -> tuple[float, float, list[float]]:
    mean, variance = match.groups()
    if not _VARIANCE.fullmatch(variance):
        raise blocks.TableError(
            match.start(), f"expected a number as the variance; got {variance.strip()!r:.60}"
        )
    try:
        # The constant and the slopes of a sum.
        # The first number of each kind is taken as it is: -0.0 added to 0.0 would lose its sign.
        found: dict[int, float] = {}
        at = 0
        while at < len(mean):
            term = _TERM.match(mean, at)
            if term is None or (at and not term["sign"]):
                raise ValueError(
                    f"expected a sum such as '1.5 + 2 * {next(iter(columns), 'x')}' as the mean; "
                    f"got {mean.strip()!r:.60}"
                )
            name = term["name"] or term["alone"]
            if name is not None and name not in columns:
                raise ValueError(
                    f"{name!r} in a mean is no continuous parent.{suggestion(name, columns)} Such "
                    f"are {quoted(columns) or 'none'}"
                )
            number = float(term["number"] or term["factor"] or "1")
            number = -number if term["sign"] == "-" else number
            place = -1 if name is None else columns[name]
            found[place] = found[place] + number if place in found else number
            at = term.end()
        if not found:
            raise ValueError("expected a mean before ','; got none")
        constant, slopes = found.get(-1, 0.0), [found.get(k, 0.0) for k in range(len(columns))]
    except ValueError as error:
        raise blocks.TableError(match.start(), str(error)) from error
    return constant, float(variance), slopes


def modelled(text: str, states: Sequence[str], n_rows: int) -> Floats:
    """Return the rows of a list of expressions, one for each configuration of the model's nodes.

    An expression is a ``Distribution (p, ...)`` of numbers, or a state.

    Parameters
    ----------
    text : str
        The list in parentheses, or one expression alone.
    states : sequence of str
        Of the child.
    n_rows : int

    Returns
    -------
    ndarray of float, shape (n_rows, n_states)

    Raises
    ------
    TableError
        If an expression is another one, or there are too few or too many.
    """
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    rows: list[list[float]] = []
    at = 0
    while at < len(text):
        match = _MODEL.match(text, at)
        if match is None:
            raise blocks.TableError(
                0,
                "expected 'Distribution ( p, ... )' of numbers or a state; got "
                f"{text[at : at + 60].strip()!r}. In Hugin, compile the network and save it, which "
                "writes the table too",
            )
        rows.append(_row(match, states))
        at = match.end()
    if len(rows) != n_rows:
        raise blocks.TableError(0, f"expected {n_rows:,} expressions; got {len(rows):,}")
    return np.array(rows)


def _row(match: re.Match[str], states: Sequence[str]) -> list[float]:
    if (numbers := match["numbers"]) is not None:
        words = numbers.replace(",", " ").split()
        if len(words) != len(states):
            raise blocks.TableError(
                0, f"expected {len(states)} numbers in {match[0].strip()!r:.60}"
            )
        try:
            return list(map(float, words))
        except ValueError as error:
            raise blocks.TableError(0, f"expected numbers in {match[0].strip()!r:.60}") from error
    state = blocks.unquoted(match["state"])
    if state not in states:
        raise blocks.TableError(
            0, f"{state!r:.60} is no state.{suggestion(state, states)} States are {quoted(states)}"
        )
    return [float(state == other) for other in states]


# ---------------------------------------------------------------------- Parser of Hugin's NET text


COMMENTS = blocks.Comments("%")
# Where the writer puts a position that Hugin's integers do not hold.
POSITION = "bayesgraph_position"
_KIND = re.compile(r"(?:discrete\s++|continuous\s++)?+(node|decision|utility|function)\b")
_FAMILY = re.compile(r"potential\s*+\(([^()|]*+)(?:\|([^()|]*+))?+\)")
# Fields that are read.
_OF_NODES = ("states", "subtype", "label", "position", POSITION, "HR_Desc")
_OF_TABLES = ("data", "model_data", "model_nodes")
_BLOCKS = ("net", "class", "node", "continuous node", "potential")
_FIRST = re.compile(r"[A-Za-z]++")
_PARTS = ("instance", "temporal")
_OTHERS = {
    "decision": "make each a node with the probabilities of its options, or remove it",
    "utility": "remove them",
    "function": "make each a node with a table, or remove it",
}


def parse(text: str, *, budget: files.Budget, normalize: Normalize) -> BayesianNetwork:
    """Return the network of a NET text.

    Parameters
    ----------
    text : str
    budget : Budget
        It has the path for messages.
    normalize : bool or "always"
        Which rows are divided by their sums, with a warning; see `RoundedRows`.

    Raises
    ------
    FileFormatError
    """
    return _Parser(blocks.BlockText(text, budget, COMMENTS), budget).network(normalize=normalize)


@dataclass
class _Node:
    """A node block: its place, its kind such as "decision", and its fields."""

    at: int
    kind: str
    is_continuous: bool
    fields: dict[str, blocks.Field]


@dataclass
class _Potential:
    """A potential block: its place, the names of its parents, and its fields."""

    at: int
    parents: list[str]
    fields: dict[str, blocks.Field]


class _Parser:
    def __init__(self, text: blocks.BlockText, budget: files.Budget) -> None:
        self._text = text
        self._budget = budget
        self._nodes: dict[str, _Node] = {}
        self._potentials: dict[str, _Potential] = {}
        self._net: dict[str, blocks.Field] = {}

    def network(self, *, normalize: Normalize) -> BayesianNetwork:
        self._read()
        for kind, advice in _OTHERS.items():
            names = [name for name, node in self._nodes.items() if node.kind == kind]
            if names:
                raise self._text.error(
                    self._nodes[names[0]].at,
                    f"{kind} nodes are not read: {quoted(names)}. bayesgraph has networks of "
                    f"chance nodes only; in Hugin, {advice}.",
                )
        if not self._nodes:
            raise self._text.error(0, "expected at least one 'node' block; this is not a NET file.")
        variables = {name: self._variable(name, node) for name, node in self._nodes.items()}
        rounded = RoundedRows(normalize=normalize)
        # Rows whose sum overflows are refused like all rows that do not sum to one.
        with np.errstate(over="ignore", invalid="ignore"):
            cpds = [self._cpd(name, variables, rounded) for name in variables]
        stray = [name for name in self._potentials if name not in variables]
        if stray:
            near = suggestion(stray[0], variables)
            raise self._text.error(
                self._potentials[stray[0]].at, f"the node {stray[0]!r} is not declared.{near}"
            )
        self._skip()
        sidecar = Sidecar.of(self._text.sidecar, self._text.source)
        network = network_of(cpds, rounded, self._text.source, self._annotations(sidecar))
        return sidecar.restore(network)

    # ----------------------------------------------------------------------------------- blocks

    def _read(self) -> None:
        at = 0
        while not self._text.is_done(at):
            at = self._block(at)

    def _block(self, at: int, *, within_class: bool = False) -> int:
        """Read the block at a position, and return its end."""
        head, body = self._text.head(at) or ("", at)
        first = _FIRST.match(self._text.text, self._text.after_blanks(at))
        word = first[0] if first else ""
        if word == "net" and body > at:
            block = self._text.block(body)
            self._net.update(block.fields)
            return block.end
        if word == "class" and body > at and not within_class:
            at = body
            while (end := self._text.close(at)) is None:
                found = self._text.field(at)
                if found is None:
                    at = self._block(at, within_class=True)
                else:
                    self._net[found.name] = found
                    at = found.end
            return end
        if word == "potential" and body > at:
            return self._potential(at, head, body)
        if kind := _KIND.match(head):
            return self._node(at, kind, head, body)
        if word in _PARTS:
            raise self._text.error(
                at,
                f"{self._text.seen(at)} stands for nodes of another class or time, which are not "
                "read. In Hugin, save the network as a flat NET file.",
            )
        pajek = self._text.text.lstrip().startswith("*")
        raise self._text.error(
            at,
            f"expected {quoted(_BLOCKS)} at the start of a block; got {self._text.seen(at)}."
            + " This is a file of Pajek, which has graphs only." * pajek,
        )

    def _node(self, at: int, kind: re.Match[str], head: str, body: int) -> int:
        names = blocks.words_of(head[kind.end() :])
        if len(names) != 1:
            raise self._text.error(at, f"expected one name after {kind[0]!r}; got {head!r:.60}.")
        (name,) = names
        if name in self._nodes:
            raise self._text.error(at, f"the node {name!r} is declared a second time.")
        block = self._text.block(body)
        self._nodes[name] = _Node(at, kind[1], kind[0].startswith("continuous"), block.fields)
        return block.end

    def _potential(self, at: int, head: str, body: int) -> int:
        match = _FAMILY.fullmatch(head)
        if match is None:
            raise self._text.error(
                at, f"expected 'potential ( child | parents )'; got {head!r:.60}."
            )
        children, parents = blocks.words_of(match[1]), blocks.words_of(match[2] or "")
        if len(children) != 1:
            raise self._text.error(
                at,
                f"expected one node before '|'; got {quoted(children) or 'none'}. A potential of "
                "several is no distribution of one: give each node its own.",
            )
        (child,) = children
        if child in self._potentials:
            raise self._text.error(at, f"the node {child!r} has a second potential.")
        block = self._text.block(body)
        self._potentials[child] = _Potential(at, parents, block.fields)
        return block.end

    # -------------------------------------------------------------------------------- variables

    def _variable(self, name: str, node: _Node) -> Variable:
        states = [] if node.is_continuous else self._states(name, node)
        try:
            return Continuous(name) if node.is_continuous else Discrete(name, states)
        except BayesGraphError as error:
            raise self._text.error(node.at, str(error)) from error

    def _states(self, name: str, node: _Node) -> list[str]:
        values = self._text.items(node.fields.get("state_values"))
        states = self._text.items(node.fields.get("states"))
        kind = node.fields["subtype"].text if "subtype" in node.fields else ""
        if not states and kind == "interval":
            states = [f"[{a}, {b})" for a, b in pairwise(values)]
        elif not states and kind == "boolean":
            states = ["false", "true"]
        elif not states:
            states = values
        if not states:
            raise self._text.error(
                node.at, f"expected 'states = (\"...\" ...);' in the node {name!r}; it is missing."
            )
        return states

    # ----------------------------------------------------------------------------------- tables

    def _cpd(self, name: str, variables: dict[str, Variable], rounded: RoundedRows) -> CPD:
        if name not in self._potentials:
            raise self._text.error(
                self._nodes[name].at,
                f"expected a 'potential ( {name} | ... )' block; it is missing.",
            )
        potential = self._potentials[name]
        parents = blocks.parents_of(self._text, potential.at, name, potential.parents, variables)
        child = variables[name]
        if isinstance(child, Discrete):
            return self._table(child, parents, potential, rounded)
        assert isinstance(child, Continuous)
        return self._gaussian(child, parents, potential)

    def _gaussian(
        self, child: Continuous, parents: Sequence[Variable], potential: _Potential
    ) -> GaussianCPD:
        data = self._data(child, potential)
        cards = [p.cardinality for p in parents if isinstance(p, Discrete)]
        names = [str(p.name) for p in parents if isinstance(p, Continuous)]
        try:
            mean, variance, slopes = normals(data.value, cards, names)
            return GaussianCPD(child, mean, variance, parents, slopes)
        except (BayesGraphError, blocks.TableError) as error:
            raise self._fault(child, data, error) from error

    def _table(
        self,
        child: Discrete,
        parents: Sequence[Variable],
        potential: _Potential,
        rounded: RoundedRows,
    ) -> TableCPD:
        discrete = [parent for parent in parents if isinstance(parent, Discrete)]
        if len(discrete) < len(parents):
            others = [p.name for p in parents if not isinstance(p, Discrete)]
            raise self._text.error(
                potential.at,
                f"the node {child.name!r} has states, so that its parents have states too; got the "
                f"continuous {quoted(others)}.",
            )
        data = self._data(child, potential)
        shape = [variable.cardinality for variable in (*discrete, child)]
        try:
            if data.name == "model_data":
                values = self._modelled(child, discrete, potential, data)
            elif data.is_number:
                values = blocks.nested_numbers(data.value, shape)
            else:
                raise blocks.TableError(0, f"expected numbers; got {data.value.strip()!r:.60}")
        except blocks.TableError as error:
            raise self._fault(child, data, error) from error
        return blocks.table_of(self._text, data, child, values, discrete, rounded)

    def _data(self, child: Variable, potential: _Potential) -> blocks.Field:
        for name in ("data", "model_data"):
            if name in potential.fields:
                return potential.fields[name]
        raise self._text.error(
            potential.at,
            f"expected 'data = (...);' in the potential of {child.name!r}; it is missing. In "
            "Hugin, fill in its table and save the file again.",
        )

    def _modelled(
        self,
        child: Discrete,
        parents: Sequence[Discrete],
        potential: _Potential,
        data: blocks.Field,
    ) -> Floats:
        """Return the table of a model: its rows depend on some of the parents."""
        nodes = self._text.items(potential.fields.get("model_nodes"))
        within = [parent for parent in parents if parent.name in nodes]
        if len(within) < len(nodes):
            raise blocks.TableError(0, f"the nodes of the model are parents; got {quoted(nodes)}")
        n_rows = math.prod(parent.cardinality for parent in within)
        rows = modelled(data.value, [str(state) for state in child.states], n_rows)
        ordered = sorted(within, key=lambda parent: nodes.index(str(parent.name)))
        table = rows.reshape([*(parent.cardinality for parent in ordered), child.cardinality])
        axes = [ordered.index(parent) for parent in within]
        table = table.transpose([*axes, len(axes)])
        for place, parent in enumerate(parents):
            if parent not in within:
                table = np.expand_dims(table, place)
        shape = [variable.cardinality for variable in (*parents, child)]
        self._budget.take(files.BYTES_OF_CELL * math.prod(shape), f"the table of {child.name!r}")
        return np.ascontiguousarray(np.broadcast_to(table, shape))

    def _fault(self, child: Variable, data: blocks.Field, error: Exception) -> FileFormatError:
        at = error.at if isinstance(error, blocks.TableError) else 0
        return self._text.error(
            data.start + at, f"the {data.name} of {child.name!r}: {str(error).rstrip('.')}."
        )

    # ------------------------------------------------------------------------------- annotations

    def _skip(self) -> None:
        """Say which fields are left out."""
        blocks.skip_fields("network", self._net, ("HR_Desc",))
        for node in self._nodes.values():
            values = () if "states" in node.fields else ("state_values",)
            blocks.skip_fields("variables", node.fields, (*_OF_NODES, *values))
        for potential in self._potentials.values():
            blocks.skip_fields("tables", potential.fields, _OF_TABLES)

    def _annotations(self, sidecar: Sidecar) -> Annotations:
        positions: dict[Name, tuple[float, float]] = {}
        notes: dict[Name, str] = {}
        for name, node in self._nodes.items():
            if (place := _node_position(node.fields)) is not None:
                positions[name] = place
            if note := _text_of(node.fields.get("HR_Desc")):
                notes[name] = note
        labels = {name: _text_of(node.fields.get("label")) for name, node in self._nodes.items()}
        titles = blocks.titles_of(labels, sidecar)
        return Annotations(_text_of(self._net.get("HR_Desc")), positions, notes, titles)


def _text_of(found: blocks.Field | None) -> str:
    return "" if found is None else found.text


def _node_position(fields: Mapping[str, blocks.Field]) -> tuple[float, float] | None:
    """Return the position of a node; in Hugin's files y grows upwards."""
    if POSITION in fields:
        found = blocks.position_of(fields[POSITION].text)
    elif "position" in fields:
        found = blocks.position_of(fields["position"].value)
    else:
        return None
    return None if found is None else (found[0], -found[1])


# ----------------------------------------- NET, the language of Hugin's networks, plain or gzipped


_KEYWORDS = (
    *("net", "class", "node", "discrete", "continuous", "decision", "utility", "function"),
    *("potential", "instance", "temporal", "inputs", "outputs", "data", "normal", "states"),
    *("label", "position", "subtype", "state_values", "model_nodes", "model_data"),
)
NAMES = TextSpelling(
    "identifiers: letters from a to z, digits and underscores, not first a digit",
    re.compile(r"[A-Za-z_][A-Za-z0-9_]*+"),
    wrong=re.compile(r"[^A-Za-z0-9_]"),
    reserved=frozenset(_KEYWORDS),
)
STATES = TextSpelling(
    "text without double quotes, backslashes and line breaks, and not empty",
    re.compile(r'[^"\\\x00-\x1f\x7f\x85\u2028\u2029]++'),
    wrong=re.compile(r'["\\\x00-\x1f\x7f\x85\u2028\u2029]'),
)
HELD = Capabilities(
    "Hugin NET",
    names=NAMES,
    states=STATES,
    families=(TableCPD, GaussianCPD),
    mixed=True,
    positions=True,
    notes=True,
    titles=True,
)
# Programs keep positions as integers of so many bits.
_LARGEST = 2**31


def read_net(
    path: files.PathLike,
    *,
    normalize: Normalize = True,
    encoding: str = "utf-8-sig",
    limit: int | None = None,
) -> BayesianNetwork:
    """Read a NET file of Hugin; gzip is recognised by its content.

    Names and states are text, states such as ``0`` included. Variables come in the order of their
    nodes. Positions, labels (as titles) and descriptions (as notes) are kept; colours, fonts,
    counts of experience and other fields are skipped. A table that is given by a model alone is
    read if its expressions are distributions of numbers or states. A class without instances is
    read as a network.

    Parameters
    ----------
    path : str or path
    normalize : bool or "always"
        Whether rows whose sum is off by up to 0.02 are divided by their sum; see
        :func:`bayesgraph.files.bif.read_bif`.
    encoding : str
        Encoding of the text.
    limit : int, optional
        Bytes that reading the file may allocate; see :func:`bayesgraph.files.bif.read_bif`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the file is not valid NET or beyond the limit, or has decision, utility or function
        nodes or instances of classes; the message has the line and the expected text, or the size.
    """
    with files.reading(files.path_text(path), "Hugin NET"):
        text, budget = blocks.decoded(path, encoding, limit)
        return parse(text, budget=budget, normalize=normalize)


def parse_net(
    text: str, *, normalize: Normalize = True, limit: int | None = None
) -> BayesianNetwork:
    """Return the network that a NET text describes; see `read_net`.

    Raises
    ------
    FileFormatError
        If the text is not valid NET; the message has the line and the expected text.

    Examples
    --------
    >>> net = parse_net('''
    ...     net { }
    ...     node rain { states = ("no" "yes"); }
    ...     potential (rain) { data = (0.8 0.2); }
    ... ''')
    >>> net.variable("rain")
    Discrete('rain', ['no', 'yes'])
    """
    with files.reading("NET text", "Hugin NET"):
        budget = files.Budget("NET text", len(text), limit)
        return parse(text, budget=budget, normalize=normalize)


def write_net(model: Any, path: files.PathLike, *, strict: bool = True) -> files.LossReport:
    """Write a network as NET, gzipped if the path ends in ``.gz``.

    Numbers are written so that they read back as the same floats. Kinds of variables and scores of
    arcs are in comments, from which `read_net` restores them. The file is replaced as a whole or
    not at all.

    Parameters
    ----------
    model : BayesianNetwork
        Of tables and linear Gaussians; a noisy or and the like is written as its table.
    path : str or path
    strict : bool
        Whether names are refused that are no identifiers, and states that are not text or have
        quotes, backslashes or line breaks. If false, similar words are written for them, and
        comments from which `read_net` restores them.

    Returns
    -------
    LossReport
        What other programs read in another form, and what is lost.

    Raises
    ------
    LossyExportError
        If NET cannot hold the model; the message lists all problems.
    """
    text, report = _formatted(model, strict=strict)
    files.write_text(path, text)
    return report


def format_net(model: Any, *, strict: bool = True) -> str:
    """Return a network as NET text; see `write_net`.

    Raises
    ------
    LossyExportError
        If NET cannot hold the model; the message lists all problems.

    Examples
    --------
    >>> from bayesgraph import Continuous
    >>> rain, temperature = Discrete("rain", ["no", "yes"]), Continuous("temperature")
    >>> cpds = [TableCPD(rain, [0.8, 0.2]), GaussianCPD(temperature, [20, 14], 4, [rain])]
    >>> print(format_net(BayesianNetwork(cpds)), end="")
    net
    {
    }
    <BLANKLINE>
    node rain
    {
        states = ("no" "yes");
    }
    <BLANKLINE>
    continuous node temperature
    {
    }
    <BLANKLINE>
    potential (rain)
    {
        data = (0.8 0.2);
    }
    <BLANKLINE>
    potential (temperature | rain)
    {
        data = (normal (20.0, 4.0) normal (14.0, 4.0));
    }
    """
    return _formatted(model, strict=strict)[0]


def _formatted(model: Any, *, strict: bool) -> tuple[str, files.LossReport]:
    found = Export.of(model, HELD, strict=strict)
    note = found.annotations.note
    parts = ["net\n{\n", f"    HR_Desc = {_text(note)};\n" if note else "", "}\n"]
    for variable, word in found.words.names.items():
        states = found.words.states[variable]
        parts += _node(variable, word, states, found.annotations)
    parts += [text for cpd in found.cpds for text in _potential(cpd, found.words.names)]
    parts += [f"% {line}\n" for line in found.sidecar]
    return "".join(parts), found.report


def _node(
    variable: Variable, word: str, states: Sequence[str], annotations: Annotations
) -> Iterator[str]:
    """Yield the block of a node, in pieces."""
    kind = "node" if isinstance(variable, Discrete) else "continuous node"
    yield f"\n{kind} {word}\n{{\n"
    title = annotations.titles.get(word, str(variable.name))
    if word in annotations.titles or title != word:
        yield f"    label = {_text(title)};\n"
    if word in annotations.positions:
        yield from _position(*annotations.positions[word])
    if states:
        yield f"    states = ({' '.join(map(blocks.quoted_text, states))});\n"
    if word in annotations.notes:
        yield f"    HR_Desc = {_text(annotations.notes[word])};\n"
    yield "}\n"


def _text(text: str) -> str:
    """Return a text in quotes; pyAgrum ends it at a quotation mark after a backslash too."""
    return blocks.quoted_text(text, r"\u0022")


def _position(x: float, y: float) -> Iterator[str]:
    """Yield the fields of a position: Hugin has integers, and y grows upwards."""
    if abs(x) < _LARGEST and abs(y) < _LARGEST:
        yield f"    position = ({round(x)} {round(-y)});\n"
    if not (x.is_integer() and y.is_integer() and abs(x) < _LARGEST and abs(y) < _LARGEST):
        yield f'    {POSITION} = "{x!r} {-y!r}";\n'


def _potential(cpd: CPD, names: Mapping[Variable, str]) -> Iterator[str]:
    """Yield the block of a CPD, in pieces."""
    bar = " | " if cpd.parents else ""
    yield f"\npotential ({names[cpd.variable]}{bar}{' '.join(names[p] for p in cpd.parents)})\n{{\n"
    yield "    data = "
    if isinstance(cpd, TableCPD):
        rows = cpd.values.reshape(-1, cpd.values.shape[-1]).tolist()
        yield blocks.nested_text(
            [f"({' '.join(map(repr, row))})" for row in rows], cpd.values.shape[:-1]
        )
    elif isinstance(cpd, GaussianCPD):
        yield blocks.nested_text(list(_normals(cpd, names)), cpd.mean.shape)
    yield ";\n}\n"


def _normals(cpd: GaussianCPD, names: Mapping[Variable, str]) -> Iterator[str]:
    words = [names[parent] for parent in cpd.continuous_parents]
    slopes = cpd.coefficients.reshape(cpd.mean.size, len(words)).tolist()
    numbers = zip(cpd.mean.ravel().tolist(), cpd.variance.ravel().tolist(), slopes, strict=True)
    for mean, variance, row in numbers:
        terms = [f" {_signed(slope)} * {word}" for slope, word in zip(row, words, strict=True)]
        yield f"normal ({mean!r}{''.join(terms)}, {variance!r})"


def _signed(number: float) -> str:
    text = repr(number)
    return f"- {text[1:]}" if text.startswith("-") else f"+ {text}"


FORMAT = FileFormat("Hugin NET", read_net, write_net, holds=HELD)
