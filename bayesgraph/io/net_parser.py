"""Parser of Hugin's NET text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bayesgraph.cpds import CPD, GaussianCPD, TableCPD
from bayesgraph.errors import BayesGraphError, FileFormatError, quoted, suggestion
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.block_tables import parents_of, table_of, titles_of
from bayesgraph.io.block_text import BlockText, Comments, Field, position_of, skip_fields, words_of
from bayesgraph.io.budget import BYTES_OF_CELL, Budget
from bayesgraph.io.nested_numbers import TableError, nested_numbers
from bayesgraph.io.net_expressions import modelled, normals
from bayesgraph.io.row_sums import Normalize, RoundedRows, network_of
from bayesgraph.io.sidecar import Sidecar
from bayesgraph.models.annotations import Annotations
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Continuous, Discrete, Name, Variable

COMMENTS = Comments("%")
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


def parse(text: str, *, budget: Budget, normalize: Normalize) -> BayesianNetwork:
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
    return _Parser(BlockText(text, budget, COMMENTS), budget).network(normalize=normalize)


@dataclass
class _Node:
    """A node block: its place, its kind such as "decision", and its fields."""

    at: int
    kind: str
    is_continuous: bool
    fields: dict[str, Field]


@dataclass
class _Potential:
    """A potential block: its place, the names of its parents, and its fields."""

    at: int
    parents: list[str]
    fields: dict[str, Field]


class _Parser:
    def __init__(self, text: BlockText, budget: Budget) -> None:
        self._text = text
        self._budget = budget
        self._nodes: dict[str, _Node] = {}
        self._potentials: dict[str, _Potential] = {}
        self._net: dict[str, Field] = {}

    def network(self, *, normalize: Normalize) -> BayesianNetwork:
        self._read()
        self._refuse_other_nodes()
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
            return self._class(body)
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

    def _class(self, at: int) -> int:
        while (end := self._text.close(at)) is None:
            found = self._text.field(at)
            if found is None:
                at = self._block(at, within_class=True)
            else:
                self._net[found.name] = found
                at = found.end
        return end

    def _node(self, at: int, kind: re.Match[str], head: str, body: int) -> int:
        names = words_of(head[kind.end() :])
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
        children, parents = words_of(match[1]), words_of(match[2] or "")
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

    def _refuse_other_nodes(self) -> None:
        for kind, advice in _OTHERS.items():
            names = [name for name, node in self._nodes.items() if node.kind == kind]
            if names:
                raise self._text.error(
                    self._nodes[names[0]].at,
                    f"{kind} nodes are not read: {quoted(names)}. bayesgraph has networks of "
                    f"chance nodes only; in Hugin, {advice}.",
                )

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
        parents = parents_of(self._text, potential.at, name, potential.parents, variables)
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
        except (BayesGraphError, TableError) as error:
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
                values = nested_numbers(data.value, shape)
            else:
                raise TableError(0, f"expected numbers; got {data.value.strip()!r:.60}")
        except TableError as error:
            raise self._fault(child, data, error) from error
        return table_of(self._text, data, child, values, discrete, rounded)

    def _data(self, child: Variable, potential: _Potential) -> Field:
        for name in ("data", "model_data"):
            if name in potential.fields:
                return potential.fields[name]
        raise self._text.error(
            potential.at,
            f"expected 'data = (...);' in the potential of {child.name!r}; it is missing. In "
            "Hugin, fill in its table and save the file again.",
        )

    def _modelled(
        self, child: Discrete, parents: Sequence[Discrete], potential: _Potential, data: Field
    ) -> Floats:
        """Return the table of a model: its rows depend on some of the parents."""
        nodes = self._text.items(potential.fields.get("model_nodes"))
        within = [parent for parent in parents if parent.name in nodes]
        if len(within) < len(nodes):
            raise TableError(0, f"the nodes of the model are parents; got {quoted(nodes)}")
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
        self._budget.take(BYTES_OF_CELL * math.prod(shape), f"the table of {child.name!r}")
        return np.ascontiguousarray(np.broadcast_to(table, shape))

    def _fault(self, child: Variable, data: Field, error: Exception) -> FileFormatError:
        at = error.at if isinstance(error, TableError) else 0
        return self._text.error(
            data.start + at, f"the {data.name} of {child.name!r}: {str(error).rstrip('.')}."
        )

    # ------------------------------------------------------------------------------- annotations

    def _skip(self) -> None:
        """Say which fields are left out."""
        skip_fields("network", self._net, ("HR_Desc",))
        for node in self._nodes.values():
            values = () if "states" in node.fields else ("state_values",)
            skip_fields("variables", node.fields, (*_OF_NODES, *values))
        for potential in self._potentials.values():
            skip_fields("tables", potential.fields, _OF_TABLES)

    def _annotations(self, sidecar: Sidecar) -> Annotations:
        positions: dict[Name, tuple[float, float]] = {}
        notes: dict[Name, str] = {}
        for name, node in self._nodes.items():
            if (place := _position(node.fields)) is not None:
                positions[name] = place
            if note := _text_of(node.fields.get("HR_Desc")):
                notes[name] = note
        labels = {name: _text_of(node.fields.get("label")) for name, node in self._nodes.items()}
        titles = titles_of(labels, sidecar)
        return Annotations(_text_of(self._net.get("HR_Desc")), positions, notes, titles)


def _text_of(found: Field | None) -> str:
    return "" if found is None else found.text


def _position(fields: Mapping[str, Field]) -> tuple[float, float] | None:
    """Return the position of a node; in Hugin's files y grows upwards."""
    if POSITION in fields:
        found = position_of(fields[POSITION].text)
    elif "position" in fields:
        found = position_of(fields["position"].value)
    else:
        return None
    return None if found is None else (found[0], -found[1])
