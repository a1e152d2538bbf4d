"""Parser of Netica's DNE text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import CPD, DeterministicCPD
from bayesgraph.errors import (
    BayesGraphError,
    BayesGraphWarning,
    CPDError,
    FileFormatError,
    quoted,
    warn,
)
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.block_tables import parents_of, table_of, titles_of
from bayesgraph.io.block_text import BlockText, Comments, Field, position_of, skip_fields, words_of
from bayesgraph.io.budget import BYTES_OF_CELL, BYTES_OF_STATE, Budget
from bayesgraph.io.dne_tables import States, probabilities
from bayesgraph.io.nested_numbers import TableError, nested_numbers
from bayesgraph.io.row_sums import Normalize, RoundedRows, network_of
from bayesgraph.io.sidecar import Sidecar
from bayesgraph.io.skipped import skip, skip_name
from bayesgraph.models.annotations import Annotations
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete, Name, State

COMMENTS = Comments("//", block=True)
# Fields that are read, or told of by a warning.
_OF_NODES = (
    *("kind", "discrete", "chance", "states", "numstates", "parents", "probs", "functable"),
    *("title", "comment", "delays", "evidence"),
)
_OTHERS = {
    "DECISION": "make each a nature node with the probabilities of its options, or remove it",
    "UTILITY": "remove them",
}


def parse(text: str, *, budget: Budget, normalize: Normalize) -> BayesianNetwork:
    """Return the network of a DNE text.

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


@dataclass(frozen=True)
class _Node:
    """A node block: its place, its fields, and those of its picture."""

    at: int
    fields: Mapping[str, Field]
    visual: Mapping[str, Field]

    def word(self, name: str) -> str:
        """Return the value of a field that is one word or text, empty if there is none."""
        found = self.fields.get(name)
        return "" if found is None else found.text

    @property
    def is_continuous(self) -> bool:
        """Whether its states are intervals of a number."""
        return self.word("discrete") == "FALSE"


class _Parser:
    def __init__(self, text: BlockText, budget: Budget) -> None:
        self._text = text
        self._budget = budget
        self._nodes: dict[str, _Node] = {}
        self._net: dict[str, Field] = {}
        # Variables whose rows for impossible conditions are read as uniform.
        self._impossible: list[str] = []

    def network(self, *, normalize: Normalize) -> BayesianNetwork:
        self._read()
        self._refuse_other_nodes()
        # Nodes of the kind CONSTANT are titles and the like.
        nodes = {k: node for k, node in self._nodes.items() if node.word("kind") != "CONSTANT"}
        if not nodes:
            raise self._text.error(0, "expected at least one 'node' block; there is none.")
        variables = {name: self._variable(name, node) for name, node in nodes.items()}
        rounded = RoundedRows(normalize=normalize)
        # Rows whose sum overflows are refused like all rows that do not sum to one.
        with np.errstate(over="ignore", invalid="ignore"):
            cpds = [
                self._cpd(node, variables[name], variables, rounded) for name, node in nodes.items()
            ]
        sidecar = Sidecar.of(self._text.sidecar, self._text.source)
        self._skip(nodes, sidecar)
        annotations = self._annotations(nodes, sidecar)
        network = network_of(cpds, rounded, self._text.source, annotations)
        self._warn(variables)
        return sidecar.restore(network)

    # ----------------------------------------------------------------------------------- blocks

    def _read(self) -> None:
        head, at = self._text.head(0) or ("", 0)
        if head.split()[:1] != ["bnet"]:
            raise self._text.error(
                0, f"expected 'bnet name {{' at the start; got {self._text.seen(0)}."
            )
        skip_name(" ".join(words_of(head)[1:]))
        while (end := self._text.close(at)) is None:
            at = self._member(at)
        if not self._text.is_done(end):
            raise self._text.error(
                end, f"expected the end after the network; got {self._text.seen(end)}."
            )

    def _member(self, at: int) -> int:
        """Read a field or block of the network, and return its end."""
        found = self._text.field(at)
        if found is not None:
            self._net[found.name] = found
            return found.end
        head = self._text.head(at)
        if head is None:
            raise self._text.error(
                at,
                f"expected a field, a node or '}}' at the end; got {self._text.seen(at)}. The file "
                "may be truncated.",
            )
        words = head[0].split()
        if words[:1] == ["node"]:
            return self._node(at, head[0], head[1])
        if words[:1] == ["define"]:
            raise self._inherits(at)
        if words[:1] != ["visual"]:
            skip("network", head[0])
        return self._text.after_end(self._text.after_braces(head[1] - 1))

    def _node(self, at: int, head: str, body: int) -> int:
        if "(" in head:
            raise self._inherits(at)
        names = words_of(head[len("node") :])
        if len(names) != 1:
            raise self._text.error(at, f"expected one name after 'node'; got {head!r:.60}.")
        (name,) = names
        if name in self._nodes:
            raise self._text.error(at, f"the node {name!r} is declared a second time.")
        block = self._text.block(body)
        pictures = [place for title, place in block.blocks if title.split()[:1] == ["visual"]]
        inner = [title for title, place in block.blocks if place not in pictures]
        skip_fields("variables", inner, ())
        visual = self._text.block(pictures[0]).fields if pictures else {}
        self._nodes[name] = _Node(at, block.fields, visual)
        return block.end

    def _inherits(self, at: int) -> FileFormatError:
        return self._text.error(
            at,
            f"{self._text.seen(at)} makes nodes inherit from others, which is not read. In Netica, "
            "save the network again, which writes each node in full.",
        )

    def _refuse_other_nodes(self) -> None:
        for kind, advice in _OTHERS.items():
            names = [name for name, node in self._nodes.items() if node.word("kind") == kind]
            if names:
                raise self._text.error(
                    self._nodes[names[0]].at,
                    f"{kind.lower()} nodes are not read: {quoted(names)}. bayesgraph has networks "
                    f"of nature nodes only; in Netica, {advice}.",
                )

    # -------------------------------------------------------------------------------- variables

    def _variable(self, name: str, node: _Node) -> Discrete:
        states = self._states(name, node)
        try:
            return Discrete(name, states)
        except BayesGraphError as error:
            raise self._text.error(node.at, str(error)) from error

    def _states(self, name: str, node: _Node) -> list[str]:
        levels = self._text.items(node.fields.get("levels"))
        titles = self._text.items(node.fields.get("statetitles"))
        if states := self._text.items(node.fields.get("states")):
            if "" in states:
                raise self._text.error(
                    node.fields["states"].start,
                    f"expected a name for each state of {name!r}; one is left out.",
                )
            return states
        if node.is_continuous:
            return self._intervals(name, node, levels)
        if titles and all(titles):
            return titles
        if levels:
            return levels
        count = node.word("numstates")
        if not count.isdecimal() or len(count) > 9:
            raise self._text.error(
                node.at, f"expected 'states = (...);' in the node {name!r}; it is missing."
            )
        self._budget.take(BYTES_OF_STATE * int(count), f"the states of {name!r}")
        return [f"state{i}" for i in range(int(count))]

    def _intervals(self, name: str, node: _Node, levels: list[str]) -> list[str]:
        if len(levels) < 2:
            raise self._text.error(
                node.at,
                f"the node {name!r} is continuous and has no intervals. In Netica, discretise it "
                "and save the network again.",
            )
        texts = [level.replace("INFINITY", "inf") for level in levels]
        numbers = self._levels(node)
        if numbers[0] > numbers[-1]:
            return [f"[{b}, {a})" for a, b in pairwise(texts)]
        return [f"[{a}, {b})" for a, b in pairwise(texts)]

    def _levels(self, node: _Node) -> list[float]:
        found = node.fields.get("levels")
        words = [word.replace("INFINITY", "inf") for word in self._text.items(found)]
        try:
            return [float(word) for word in words]
        except ValueError as error:
            assert found is not None  # otherwise there are no words
            raise self._text.error(found.start, f"expected numbers as levels: {error}.") from error

    def _parents(self, name: str, node: _Node, variables: Mapping[str, Discrete]) -> list[Discrete]:
        names = self._text.items(node.fields.get("parents"))
        if "" in names:
            raise self._text.error(
                node.at,
                f"the node {name!r} has a link without a parent. In Netica, connect or remove it.",
            )
        for parent in names:
            if parent in self._nodes and parent not in variables:
                raise self._text.error(
                    node.at,
                    f"{name!r} has the constant {parent!r} as a parent, which is not read. In "
                    "Netica, make it a nature node of one state.",
                )
        if any(word.strip("()") for word in self._text.items(node.fields.get("delays"))):
            raise self._text.error(
                node.at,
                f"links to {name!r} have time delays, which are not read. In Netica, expand the "
                "network in time and save it.",
            )
        return parents_of(self._text, node.at, name, names, variables)

    # ----------------------------------------------------------------------------------- tables

    def _cpd(
        self,
        node: _Node,
        child: Discrete,
        variables: Mapping[str, Discrete],
        rounded: RoundedRows,
    ) -> CPD:
        parents = self._parents(str(child.name), node, variables)
        found = node.fields.get("probs") or node.fields.get("functable")
        if found is None:
            raise self._text.error(
                node.at,
                f"expected 'probs = (...);' in the node {child.name!r}; it has no table. In "
                "Netica, fill it in, or choose Equation To Table, and save the network again.",
            )
        shape = [*(parent.cardinality for parent in parents), child.cardinality]
        try:
            if found.name == "functable":
                codes = self._meanings(node, child).codes(found.value, shape[:-1])
                if parents and (codes >= 0).all():
                    return DeterministicCPD.from_codes(child, codes, parents)
                values = self._one_hot(child, codes)
            elif found.is_number:
                values = nested_numbers(found.value, shape)
            else:
                values = probabilities(found.value, shape, self._budget)
        except TableError as error:
            raise self._text.error(
                found.start + error.at, f"the {found.name} of {child.name!r}: {error}."
            ) from error
        except CPDError as error:
            raise self._text.error(found.start, str(error)) from error
        values = self._possible(child, values)
        return table_of(self._text, found, child, values, parents, rounded)

    def _meanings(self, node: _Node, child: Discrete) -> States:
        return States(child, self._levels(node), is_continuous=node.is_continuous)

    def _one_hot(self, child: Discrete, codes: NDArray[np.intp]) -> Floats:
        """Return rows with all probability on the state of an index, or NaN for -1."""
        self._budget.take(BYTES_OF_CELL * codes.size * child.cardinality, f"{child.name!r}")
        rows: Floats = np.equal.outer(codes, np.arange(child.cardinality)).astype(np.float64)
        rows[codes < 0] = np.nan
        return rows

    def _possible(self, child: Discrete, values: Floats) -> Floats:
        """Return a table with uniform rows for conditions that never occur, which are NaN."""
        never = np.isnan(values).all(axis=-1, keepdims=True)
        if not never.any():
            return values
        self._impossible.append(str(child.name))
        return np.where(never, 1.0 / child.cardinality, values)

    # --------------------------------------------------------------------- annotations, warnings

    def _skip(self, nodes: Mapping[str, _Node], sidecar: Sidecar) -> None:
        """Say which fields are left out."""
        skip_fields("network", self._net, ("comment",))
        for name, node in nodes.items():
            words = self._text.items(node.fields.get("states"))
            # What the titles of states say has been restored.
            own = ("statetitles",) if name in sidecar.variables or not words else ()
            levels = () if words and not node.is_continuous else ("levels",)
            skip_fields("variables", node.fields, (*_OF_NODES, *own, *levels))
            skip_fields("variables", node.visual, ("center",))

    def _annotations(self, nodes: Mapping[str, _Node], sidecar: Sidecar) -> Annotations:
        positions: dict[Name, tuple[float, float]] = {}
        notes: dict[Name, str] = {}
        for name, node in nodes.items():
            center = node.visual["center"].value if "center" in node.visual else ""
            if (place := position_of(center)) is not None:
                positions[name] = place
            if note := node.word("comment"):
                notes[name] = note
        note = self._net["comment"].text if "comment" in self._net else ""
        titles = titles_of({name: node.word("title") for name, node in nodes.items()}, sidecar)
        return Annotations(note, positions, notes, titles)

    def _warn(self, variables: Mapping[str, Discrete]) -> None:
        found = {
            name: self._finding(self._nodes[name], variable)
            for name, variable in variables.items()
            if "evidence" in self._nodes[name].fields
        }
        if found:
            warn(
                f"{self._text.source}: findings are no part of a network, and left out. Ask with "
                f"evidence={_shown(found)} to have them.",
                BayesGraphWarning,
            )
        if self._impossible:
            warn(
                f"{self._text.source}: rows of {quoted(self._impossible)} that the file marks as "
                "impossible are read as uniform. Where their conditions are possible after all, "
                "posteriors differ from Netica's.",
                BayesGraphWarning,
            )

    def _finding(self, node: _Node, variable: Discrete) -> State:
        word = node.word("evidence")
        try:
            return variable.states[self._meanings(node, variable).code(word)]
        except TableError:
            return word


def _shown(found: Mapping[str, State]) -> str:
    items = [f"{name!r}: {state!r}" for name, state in islice(found.items(), 8)]
    return "{" + ", ".join(items) + ", ..." * (len(found) > 8) + "}"
