"""DNE, also called DNET: the text files of Netica's networks, plain or gzipped.

The format is described by Norsys (https://www.norsys.com/downloads/DNET_File_Format.txt). It holds
networks of discrete variables; those of Netica's continuous nodes are intervals of a number.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import errors, files
from bayesgraph.core.arrays import Floats
from bayesgraph.core.variables import Discrete, Name, State, Variable
from bayesgraph.files import blocks
from bayesgraph.files.exporting import Export, Sidecar, skip, skip_name
from bayesgraph.files.formats import Capabilities, FileFormat, TextSpelling
from bayesgraph.files.table_rows import Normalize, RoundedRows, network_of
from bayesgraph.models import CPD, Annotations, BayesianNetwork, DeterministicCPD, TableCPD

# ----------------- Tables in Netica's DNE files: of probabilities, and of the states of a function


_SIGNS = re.compile(r"(?:[-+.0-9eE,\s()]++|@imposs(?:ible)?+|#\d{1,9}+)*+")
_IMPOSSIBLE = re.compile(r"@imposs(?:ible)?+")
_STATE = re.compile(r"#(\d{1,9}+)")
_WORD = re.compile(r"[^\s,()]++")
# A number in text, while a table is read.
_BYTES_OF_NUMBER = 70


def probabilities(text: str, shape: Sequence[int], budget: files.Budget) -> Floats:
    """Return the table of a list with numbers, and with other signs for whole rows.

    ``#1`` stands for a row with all probability on the state of that index, and ``@imposs`` in the
    place of all numbers of a row for a condition that never occurs: that row is NaN.

    Raises
    ------
    TableError
        If the text is something else.
    """
    if not _SIGNS.fullmatch(text):
        raise blocks.TableError(0, f"expected numbers; got {text.strip()!r:.60}")
    n = shape[-1]
    count = text.count("#")
    budget.take((_BYTES_OF_NUMBER + files.BYTES_OF_CELL) * count * n, "a table of states")

    def row(match: re.Match[str]) -> str:
        k = int(match[1])
        if k >= n:
            raise blocks.TableError(match.start(), f"expected a state below #{n}; got {match[0]}")
        return " ".join("1" if i == k else "0" for i in range(n))

    return blocks.nested_numbers(_STATE.sub(row, _IMPOSSIBLE.sub("nan", text)), shape)


class States:
    """What words mean as states of a variable: names, indices such as ``#1``, or numbers.

    Parameters
    ----------
    variable : Discrete
    levels : sequence of float
        Of a discrete variable the number of each state, of a continuous one the ends of its
        intervals, ascending or descending; or none.
    is_continuous : bool
    """

    def __init__(self, variable: Discrete, levels: Sequence[float], *, is_continuous: bool) -> None:
        self._variable = variable
        self._levels = levels
        self._is_continuous = is_continuous

    def codes(self, text: str, cards: Sequence[int]) -> NDArray[np.intp]:
        """Return the indices of the states of a nested list, one for each joint state of parents.

        The index of a condition that never occurs is -1.

        Parameters
        ----------
        text : str
        cards : sequence of int
            Numbers of states of the parents.

        Raises
        ------
        TableError
            If there are too few or too many words, or one is no state.
        """
        words = _WORD.findall(text)
        total = math.prod(cards)
        if len(words) != total:
            raise blocks.TableError(
                0, f"expected a state for each of {total:,} configurations; got {len(words):,}"
            )
        blocks.check_nesting(text, cards[:-1])
        code_of = {word: self.code(word) for word in set(words)}
        codes = np.fromiter(map(code_of.__getitem__, words), np.intp, len(words))
        return codes.reshape(cards)

    def code(self, word: str) -> int:
        """Return the index of the state that a word means, -1 for a condition that never occurs.

        Raises
        ------
        TableError
            If it is no state.
        """
        if _IMPOSSIBLE.fullmatch(word):
            return -1
        code = self._variable.find(blocks.unquoted(word))
        if code is None and (match := _STATE.fullmatch(word)):
            code = int(match[1])
        if code is None:
            code = self._code_of_number(word)
        if not 0 <= code < self._variable.cardinality:
            states = self._variable.states
            raise blocks.TableError(
                0,
                f"{word!r:.40} is no state.{errors.suggestion(word, states)} States are "
                f"{errors.quoted(states)}",
            )
        return code

    def _code_of_number(self, word: str) -> int:
        """Return the index of the state of a number, -1 if there is none."""
        try:
            number = float(word)
        except ValueError:
            return -1
        if not self._is_continuous:
            return self._levels.index(number) if number in self._levels else -1
        ascending = sorted(self._levels)
        last = len(ascending) - 2
        # An interval has its lower end; the last one has both.
        code = last if number == ascending[-1] else bisect_right(ascending, number) - 1
        if not 0 <= code <= last:
            return -1
        return code if self._levels[0] <= self._levels[-1] else last - code


# --------------------------------------------------------------------- Parser of Netica's DNE text


COMMENTS = blocks.Comments("//", block=True)
# Fields that are read, or told of by a warning.
_OF_NODES = (
    *("kind", "discrete", "chance", "states", "numstates", "parents", "probs", "functable"),
    *("title", "comment", "delays", "evidence"),
)
_OTHERS = {
    "DECISION": "make each a nature node with the probabilities of its options, or remove it",
    "UTILITY": "remove them",
}


def parse(text: str, *, budget: files.Budget, normalize: Normalize) -> BayesianNetwork:
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
    return _Parser(blocks.BlockText(text, budget, COMMENTS), budget).network(normalize=normalize)


@dataclass(frozen=True)
class _Node:
    """A node block: its place, its fields, and those of its picture."""

    at: int
    fields: Mapping[str, blocks.Field]
    visual: Mapping[str, blocks.Field]

    def word(self, name: str) -> str:
        """Return the value of a field that is one word or text, empty if there is none."""
        found = self.fields.get(name)
        return "" if found is None else found.text

    @property
    def is_continuous(self) -> bool:
        """Whether its states are intervals of a number."""
        return self.word("discrete") == "FALSE"


class _Parser:
    def __init__(self, text: blocks.BlockText, budget: files.Budget) -> None:
        self._text = text
        self._budget = budget
        self._nodes: dict[str, _Node] = {}
        self._net: dict[str, blocks.Field] = {}
        # Variables whose rows for impossible conditions are read as uniform.
        self._impossible: list[str] = []

    def network(self, *, normalize: Normalize) -> BayesianNetwork:
        self._read()
        for kind, advice in _OTHERS.items():
            names = [name for name, node in self._nodes.items() if node.word("kind") == kind]
            if names:
                raise self._text.error(
                    self._nodes[names[0]].at,
                    f"{kind.lower()} nodes are not read: {errors.quoted(names)}. bayesgraph has "
                    f"networks of nature nodes only; in Netica, {advice}.",
                )
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
        found = {
            name: self._finding(self._nodes[name], variable)
            for name, variable in variables.items()
            if "evidence" in self._nodes[name].fields
        }
        if found:
            errors.warn(
                f"{self._text.source}: findings are no part of a network, and left out. Ask with "
                f"evidence={_shown(found)} to have them.",
                errors.BayesGraphWarning,
            )
        if self._impossible:
            errors.warn(
                f"{self._text.source}: rows of {errors.quoted(self._impossible)} that the file "
                "marks as impossible are read as uniform. Where their conditions are possible "
                "after all, posteriors differ from Netica's.",
                errors.BayesGraphWarning,
            )
        return sidecar.restore(network)

    # ----------------------------------------------------------------------------------- blocks

    def _read(self) -> None:
        head, at = self._text.head(0) or ("", 0)
        if head.split()[:1] != ["bnet"]:
            raise self._text.error(
                0, f"expected 'bnet name {{' at the start; got {self._text.seen(0)}."
            )
        skip_name(" ".join(blocks.words_of(head)[1:]))
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
        names = blocks.words_of(head[len("node") :])
        if len(names) != 1:
            raise self._text.error(at, f"expected one name after 'node'; got {head!r:.60}.")
        (name,) = names
        if name in self._nodes:
            raise self._text.error(at, f"the node {name!r} is declared a second time.")
        block = self._text.block(body)
        pictures = [place for title, place in block.blocks if title.split()[:1] == ["visual"]]
        inner = [title for title, place in block.blocks if place not in pictures]
        blocks.skip_fields("variables", inner, ())
        visual = self._text.block(pictures[0]).fields if pictures else {}
        self._nodes[name] = _Node(at, block.fields, visual)
        return block.end

    def _inherits(self, at: int) -> errors.FileFormatError:
        return self._text.error(
            at,
            f"{self._text.seen(at)} makes nodes inherit from others, which is not read. In Netica, "
            "save the network again, which writes each node in full.",
        )

    # -------------------------------------------------------------------------------- variables

    def _variable(self, name: str, node: _Node) -> Discrete:
        states = self._states(name, node)
        try:
            return Discrete(name, states)
        except errors.BayesGraphError as error:
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
            if len(levels) < 2:
                raise self._text.error(
                    node.at,
                    f"the node {name!r} is continuous and has no intervals. In Netica, discretise "
                    "it and save the network again.",
                )
            texts = [level.replace("INFINITY", "inf") for level in levels]
            numbers = self._levels(node)
            if numbers[0] > numbers[-1]:
                return [f"[{b}, {a})" for a, b in pairwise(texts)]
            return [f"[{a}, {b})" for a, b in pairwise(texts)]
        if titles and all(titles):
            return titles
        if levels:
            return levels
        count = node.word("numstates")
        if not count.isdecimal() or len(count) > 9:
            raise self._text.error(
                node.at, f"expected 'states = (...);' in the node {name!r}; it is missing."
            )
        self._budget.take(files.BYTES_OF_STATE * int(count), f"the states of {name!r}")
        return [f"state{i}" for i in range(int(count))]

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
        return blocks.parents_of(self._text, node.at, name, names, variables)

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
                values = blocks.nested_numbers(found.value, shape)
            else:
                values = probabilities(found.value, shape, self._budget)
        except blocks.TableError as error:
            raise self._text.error(
                found.start + error.at, f"the {found.name} of {child.name!r}: {error}."
            ) from error
        except errors.CPDError as error:
            raise self._text.error(found.start, str(error)) from error
        values = self._possible(child, values)
        return blocks.table_of(self._text, found, child, values, parents, rounded)

    def _meanings(self, node: _Node, child: Discrete) -> States:
        return States(child, self._levels(node), is_continuous=node.is_continuous)

    def _one_hot(self, child: Discrete, codes: NDArray[np.intp]) -> Floats:
        """Return rows with all probability on the state of an index, or NaN for -1."""
        self._budget.take(files.BYTES_OF_CELL * codes.size * child.cardinality, f"{child.name!r}")
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
        blocks.skip_fields("network", self._net, ("comment",))
        for name, node in nodes.items():
            words = self._text.items(node.fields.get("states"))
            # What the titles of states say has been restored.
            own = ("statetitles",) if name in sidecar.variables or not words else ()
            levels = () if words and not node.is_continuous else ("levels",)
            blocks.skip_fields("variables", node.fields, (*_OF_NODES, *own, *levels))
            blocks.skip_fields("variables", node.visual, ("center",))

    def _annotations(self, nodes: Mapping[str, _Node], sidecar: Sidecar) -> Annotations:
        positions: dict[Name, tuple[float, float]] = {}
        notes: dict[Name, str] = {}
        for name, node in nodes.items():
            center = node.visual["center"].value if "center" in node.visual else ""
            if (place := blocks.position_of(center)) is not None:
                positions[name] = place
            if note := node.word("comment"):
                notes[name] = note
        note = self._net["comment"].text if "comment" in self._net else ""
        titles = blocks.titles_of(
            {name: node.word("title") for name, node in nodes.items()}, sidecar
        )
        return Annotations(note, positions, notes, titles)

    def _finding(self, node: _Node, variable: Discrete) -> State:
        word = node.word("evidence")
        try:
            return variable.states[self._meanings(node, variable).code(word)]
        except blocks.TableError:
            return word


def _shown(found: Mapping[str, State]) -> str:
    items = [f"{name!r}: {state!r}" for name, state in islice(found.items(), 8)]
    return "{" + ", ".join(items) + ", ..." * (len(found) > 8) + "}"


# -------------------- DNE, also called DNET: the text files of Netica's networks, plain or gzipped


WORDS = TextSpelling(
    "identifiers: at most 30 letters from a to z, digits and underscores, first a letter",
    re.compile(r"[A-Za-z][A-Za-z0-9_]*+"),
    wrong=re.compile(r"[^A-Za-z0-9_]"),
    longest=30,
)
HELD = Capabilities(
    "Netica DNE",
    names=WORDS,
    states=WORDS,
    families=(TableCPD, DeterministicCPD),
    positions=True,
    notes=True,
    titles=True,
)


def read_dne(
    path: files.PathLike,
    *,
    normalize: Normalize = True,
    encoding: str = "utf-8-sig",
    limit: int | None = None,
) -> BayesianNetwork:
    """Read a DNE file of Netica; gzip is recognised by its content.

    Names and states are text. Variables come in the order of their nodes. A continuous node becomes
    a discrete variable whose states are its intervals, such as ``[0, 10)``, unless they have names.
    A node that is a function of its parents has a DeterministicCPD. Positions, titles and comments
    (as notes) are kept; beliefs, counts of cases, equations and pictures are skipped, and so are
    findings, with a warning that has them as evidence.

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
        If the file is not valid DNE or beyond the limit, or has decision or utility nodes,
        continuous nodes without intervals, nodes without a table, links with time delays or nodes
        that inherit from others; the message has the line and the expected text, or the size.
    """
    with files.reading(files.path_text(path), "Netica DNE"):
        text, budget = blocks.decoded(path, encoding, limit)
        return parse(text, budget=budget, normalize=normalize)


def parse_dne(
    text: str, *, normalize: Normalize = True, limit: int | None = None
) -> BayesianNetwork:
    """Return the network that a DNE text describes; see `read_dne`.

    Raises
    ------
    FileFormatError
        If the text is not valid DNE; the message has the line and the expected text.

    Examples
    --------
    >>> net = parse_dne('''
    ...     bnet weather {
    ...     node rain { kind = NATURE; states = (no, yes); parents = (); probs = (0.8, 0.2); };
    ...     };
    ... ''')
    >>> net.variable("rain")
    Discrete('rain', ['no', 'yes'])
    """
    with files.reading("DNE text", "Netica DNE"):
        budget = files.Budget("DNE text", len(text), limit)
        return parse(text, budget=budget, normalize=normalize)


def write_dne(model: Any, path: files.PathLike, *, strict: bool = True) -> files.LossReport:
    """Write a discrete network as DNE, gzipped if the path ends in ``.gz``.

    Numbers are written so that they read back as the same floats. Kinds of variables and scores of
    arcs are in comments, from which `read_dne` restores them. The file is replaced as a whole or
    not at all.

    Parameters
    ----------
    model : BayesianNetwork
        Of tables and functions of states; a noisy or and the like is written as its table.
    path : str or path
    strict : bool
        Whether names and states are refused that are no identifiers of at most 30 characters. If
        false, similar words are written for them, titles with the texts themselves, and comments
        from which `read_dne` restores them.

    Returns
    -------
    LossReport
        What other programs read in another form, and what is lost.

    Raises
    ------
    LossyExportError
        If DNE cannot hold the model; the message lists all problems.
    """
    text, report = _formatted(model, strict=strict)
    files.write_text(path, text)
    return report


def format_dne(model: Any, *, strict: bool = True) -> str:
    """Return a discrete network as DNE text; see `write_dne`.

    Raises
    ------
    LossyExportError
        If DNE cannot hold the model; the message lists all problems.

    Examples
    --------
    >>> from bayesgraph import Discrete
    >>> rain = Discrete("rain", ["no", "yes"])
    >>> print(format_dne(BayesianNetwork([TableCPD(rain, [0.8, 0.2])])), end="")
    // ~->[DNET-1]->~
    <BLANKLINE>
    bnet network {
    visual V1 {
        };
    <BLANKLINE>
    node rain {
        kind = NATURE;
        discrete = TRUE;
        chance = CHANCE;
        states = (no, yes);
        parents = ();
        probs = (0.8, 0.2);
        };
    };
    """
    return _formatted(model, strict=strict)[0]


def _formatted(model: Any, *, strict: bool) -> tuple[str, files.LossReport]:
    found = Export.of(model, HELD, strict=strict)
    note = found.annotations.note
    parts = ["// ~->[DNET-1]->~\n\nbnet network {\n"]
    parts.append(f"comment = {blocks.quoted_text(note)};\n" if note else "")
    parts.append("visual V1 {\n    };\n")
    parts += [text for cpd in found.cpds for text in _node(cpd, found)]
    parts.append("};\n")
    parts += [f"// {line}\n" for line in found.sidecar]
    return "".join(parts), found.report


def _node(cpd: CPD, found: Export) -> Iterator[str]:
    """Yield the block of a node, in pieces."""
    variable, names, annotations = cpd.variable, found.words.names, found.annotations
    word, states = names[variable], found.words.states[variable]
    is_function = isinstance(cpd, DeterministicCPD)
    yield f"\nnode {word} {{\n    kind = NATURE;\n    discrete = TRUE;\n"
    yield f"    chance = {'DETERMIN' if is_function else 'CHANCE'};\n"
    yield f"    states = ({', '.join(states)});\n"
    yield from _state_titles(variable, states)
    yield f"    parents = ({', '.join(names[parent] for parent in cpd.parents)});\n"
    yield "    functable = " if is_function else "    probs = "
    yield f"{_table(cpd, states)};\n"
    title = annotations.titles.get(word, str(variable.name))
    if word in annotations.titles or title != word:
        yield f"    title = {blocks.quoted_text(title)};\n"
    if word in annotations.notes:
        yield f"    comment = {blocks.quoted_text(annotations.notes[word])};\n"
    if word in annotations.positions:
        center = ", ".join(map(blocks.short, annotations.positions[word]))
        yield f"    visual V1 {{\n        center = ({center});\n        }};\n"
    yield "    };\n"


def _state_titles(variable: Variable, words: Sequence[str]) -> Iterator[str]:
    """Yield the field of the texts of the states, if they differ from their words."""
    titles = [str(state) for state in variable.states]  # type: ignore[union-attr] # all discrete
    if titles != list(words):
        yield f"    statetitles = ({', '.join(map(blocks.quoted_text, titles))});\n"


def _table(cpd: CPD, states: Sequence[str]) -> str:
    cards = [parent.cardinality for parent in cpd.parents if hasattr(parent, "cardinality")]
    if isinstance(cpd, DeterministicCPD):
        codes = np.indices(cards).reshape(len(cards), -1)
        found = cpd.distributions(list(codes)).argmax(axis=-1).tolist()
        return blocks.nested_text([states[code] for code in found], cards, ", ")
    assert isinstance(cpd, TableCPD)
    rows = cpd.values.reshape(-1, cpd.variable.cardinality).tolist()
    return blocks.nested_text([f"({', '.join(map(repr, row))})" for row in rows], cards, ", ")


FORMAT = FileFormat("Netica DNE", read_dne, write_dne, holds=HELD)
