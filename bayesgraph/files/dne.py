"""DNE, also called DNET: the text files of Netica's networks, plain or gzipped.

The format is described by Norsys (https://www.norsys.com/downloads/DNET_File_Format.txt). It holds
networks of discrete variables; those of Netica's continuous nodes are intervals of a number.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import errors, files
from bayesgraph.core.arrays import Floats
from bayesgraph.core.variables import Discrete
from bayesgraph.files import blocks
from bayesgraph.files.exporting import Export, Sidecar, row_texts, skip, skip_name
from bayesgraph.files.formats import Capabilities, FileFormat, TextSpelling
from bayesgraph.files.readers import Draft, Normalize
from bayesgraph.models import CPD, BayesianNetwork, DeterministicCPD, TableCPD

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
    place of each number of a row for a condition that never occurs: that row is NaN.

    Raises
    ------
    TableError
        If the text is something else.
    """
    if not _SIGNS.fullmatch(text):
        raise blocks.TableError(0, f"expected numbers; got {text.strip()!r:.60}")
    n_states, n_signs = shape[-1], text.count("#")
    # Each sign becomes a row of numbers, first as text.
    size = (_BYTES_OF_NUMBER + files.BYTES_OF_CELL) * n_signs * n_states
    budget.take(size, "a table of states")

    def row(match: re.Match[str]) -> str:
        """Return the numbers of a row that is given by a sign such as ``#1``."""
        code = int(match[1])
        if code >= n_states:
            message = f"expected a state below #{n_states}; got {match[0]}"
            raise blocks.TableError(match.start(), message)
        return " ".join("1" if state == code else "0" for state in range(n_states))

    numbers = _IMPOSSIBLE.sub("nan", _STATE.sub(row, text))
    try:
        return blocks.nested_numbers(numbers, shape)
    except blocks.TableError as error:
        # The place is one in `numbers`: here it is the begin of the same line in the text.
        lines = text.split("\n")[: numbers.count("\n", 0, error.at)]
        raise blocks.TableError(sum(len(line) + 1 for line in lines), str(error)) from None


def codes_of(text: str, cards: Sequence[int], code: Callable[[str], int]) -> NDArray[np.intp]:
    """Return the indices of the states of a nested list, one for each joint state of parents.

    Parameters
    ----------
    text : str
    cards : sequence of int
        Numbers of states of the parents.
    code : callable
        From a word to the index of the state that it means.

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
    # Innermost are the words for the states of the last parent, as in a table those of the child.
    blocks.check_nesting(text, cards[:-1])
    code_of = {word: code(word) for word in set(words)}
    return np.fromiter(map(code_of.__getitem__, words), np.intp, len(words)).reshape(cards)


def _interval(number: float, levels: Sequence[float]) -> int:
    """Return the index of the interval that has a number; -1 or that after the last if none has.

    `levels` are the ends of the intervals, ascending or descending.
    """
    ascending = sorted(levels)
    last = len(ascending) - 2
    # An interval has its lower end; the last one has both.
    code = last if number == ascending[-1] else bisect_right(ascending, number) - 1
    # Where levels descend, so do the intervals.
    return code if levels[0] <= levels[-1] else last - code


# --------------------------------------------------------------------- Parser of Netica's DNE text


# Fields of nodes that are read, or told of by a warning; and what to do about nodes of other kinds.
_OF_NODES = (
    *("kind", "discrete", "chance", "states", "numstates", "parents", "probs", "functable"),
    *("title", "comment", "delays", "evidence"),
)
_OTHERS = {
    "DECISION": "in Netica, make each a nature node with probabilities, or remove it",
    "UTILITY": "in Netica, remove them",
}


def parse(
    data: bytes,
    budget: files.Budget,
    *,
    normalize: Normalize = True,
    encoding: str = "utf-8-sig",
) -> BayesianNetwork:
    """Return the network of a DNE file of Netica.

    Names and states are text. Variables come in the order of their nodes. A continuous node becomes
    a discrete variable whose states are its intervals, such as ``[0, 10)``, unless they have names.
    A node that is a function of its parents has a DeterministicCPD. Positions, titles and comments
    (as notes) are kept; beliefs, counts of cases, equations and pictures are skipped, and so are
    findings, with a warning that has them as evidence.

    Parameters
    ----------
    data : bytes
    budget : Budget
    normalize : bool or "always"
        Whether rows whose sum is off by up to 0.02 are divided by their sum; see
        :func:`bayesgraph.files.bif.parse`.
    encoding : str
        Encoding of the text.

    Raises
    ------
    FileFormatError
        If the file is not valid DNE or beyond the limit, or has decision or utility nodes,
        continuous nodes without intervals, nodes without a table, links with time delays or nodes
        that inherit from others; the message has the line and the expected text, or the size.

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
    text = blocks.BlockText(data, budget, encoding, "//", between=True)
    return _Reader(text, Draft("Netica DNE", "table", budget, normalize, text.error)).network()


def _is_continuous(node: blocks.Node) -> bool:
    """Tell whether the states of a node are intervals of a number."""
    return node.word("discrete") == "FALSE"


class _Reader(blocks.NodeReader):
    """Reads the nodes of a DNE text.

    While it reads, `_left_out` has the nodes that are no variables, `_restored` the variables of
    bayesgraph's lines by their words, and `_impossible` the names of the variables with rows of
    impossible conditions.
    """

    title, note, others = "title", "comment", _OTHERS

    def network(self) -> BayesianNetwork:
        """Return the network of the file, and warn of findings and of impossible conditions."""
        network = super().network()
        findings = []
        for node in self._nodes:
            if finding := node.word("evidence"):
                # The code of what is impossible, -1, is that of no state: the word itself is shown.
                with suppress(blocks.TableError):
                    if (code := self._code(node, finding)) >= 0:
                        finding = self._draft.variables[node.name].states[code]
                findings.append(f"{node.name!r}: {finding!r}")
        if findings:
            shown = ", ".join(findings[:8]) + ", ..." * (len(findings) > 8)
            errors.warn(
                f"{self._text.source}: findings are no part of a network, and left out. Ask with "
                f"evidence={{{shown}}} to have them.",
                errors.BayesGraphWarning,
            )
        if self._impossible:
            errors.warn(
                f"{self._text.source}: rows of {errors.quoted(self._impossible)} that the file "
                "marks as impossible are read as uniform. Where their conditions are possible "
                "after all, posteriors differ from Netica's.",
                errors.BayesGraphWarning,
            )
        return network

    def _make(self) -> None:
        """Make the distributions of all nodes."""
        # Variables whose rows for impossible conditions are read as uniform.
        self._impossible: list[str] = []
        for node in self._nodes:
            self._draft.cpds[node.name] = self._cpd(node)

    # ----------------------------------------------------------------------------------- blocks

    def _read(self) -> None:
        """Read the block of the network with the nodes in it."""
        self._left_out: list[blocks.Node] = []
        bnet = self._text.head(0)
        if bnet is None or bnet.text.split()[:1] != ["bnet"]:
            raise self._error(0, f"expected 'bnet name {{' at the start; got {self._text.seen(0)}.")
        skip_name(" ".join(blocks.words_of(bnet.text)[1:]))
        block = self._text.block(bnet.body)
        self._net = block.fields
        for head in block.blocks:
            word = head.text.split()[0]
            if word == "define" or (word == "node" and "(" in head.text):
                raise self._error(
                    head.at,
                    f"{self._text.seen(head.at)} makes nodes inherit from others, which is not "
                    "read. In Netica, save the network again, which writes each node in full.",
                )
            if word in ("node", "param"):
                node = self._node(head)
                # Titles and the like, and the open ends of a part of a network.
                is_left_out = node.kind in ("CONSTANT", "DISCONNECTED")
                (self._left_out if is_left_out else self._nodes).append(node)
            elif word != "visual":
                skip("network", head.text)
        if not self._text.is_done(block.end):
            raise self._error(
                block.end, f"expected the end after the network; got {self._text.seen(block.end)}."
            )
        self._restored = Sidecar.of(self._text.sidecar, self._text.source).variables

    def _node(self, head: blocks.Head) -> blocks.Node:
        """Return the node of a block, with the fields of its picture."""
        block = self._text.block(head.body)
        pictures = [inner for inner in block.blocks if inner.text.split()[0] == "visual"]
        others = [inner.text for inner in block.blocks if inner not in pictures]
        blocks.skip_fields("variables", others, ())
        visual = self._text.block(pictures[0].body).fields if pictures else {}
        name = self._text.one_name(head.at, head.text.split()[0], head.text)
        kind = block.fields["kind"].text if "kind" in block.fields else ""
        return blocks.Node(head.at, name, kind, block.fields, visual)

    def _declare(self, node: blocks.Node) -> tuple[float, float] | None:
        """Declare the variable of a node, and return its position."""
        self._draft.declare(node.at, node.name, Discrete, self._states(node))
        has_names = "states" in node.fields
        # Titles of states are read if they are the names, or a line of bayesgraph has restored
        # them; levels if they are the names, or the ends of intervals.
        titles = ("statetitles",) if node.name in self._restored or not has_names else ()
        levels = ("levels",) if _is_continuous(node) or not has_names else ()
        blocks.skip_fields("variables", node.fields, (*_OF_NODES, *titles, *levels))
        blocks.skip_fields("variables", node.visual, ("center",))
        return blocks.position_of(node.visual["center"].value) if "center" in node.visual else None

    # -------------------------------------------------------------------------------- variables

    def _states(self, node: blocks.Node) -> list[str]:
        """Return the names of a node's states, or what stands for them.

        Without names, a continuous node has the intervals between its levels; another one has its
        titles, else its levels as texts, else ``state0``, ``state1``, ...
        """
        levels = self._text.items(node.fields.get("levels"))
        titles = self._text.items(node.fields.get("statetitles"))
        if states := self._text.items(node.fields.get("states")):
            if "" in states:
                raise self._error(
                    node.fields["states"].start,
                    f"expected a name for each state of {node.name!r}; one is left out.",
                )
            return states
        if _is_continuous(node):
            if len(levels) < 2:
                raise self._error(
                    node.at,
                    f"the node {node.name!r} is continuous and has no intervals. In Netica, "
                    "discretise it and save the network again.",
                )
            texts = [level.replace("INFINITY", "inf") for level in levels]
            numbers = self._levels(node)
            # Levels may descend; an interval is named by its lower end first.
            if numbers[0] > numbers[-1]:
                return [f"[{b}, {a})" for a, b in pairwise(texts)]
            return [f"[{a}, {b})" for a, b in pairwise(texts)]
        if titles and all(titles):
            return titles
        if levels:
            return levels
        # More than nine digits are no number of states.
        count = node.word("numstates")
        if not count.isdecimal() or len(count) > 9:
            raise self._error(
                node.at, f"expected 'states = (...);' in the node {node.name!r}; it is missing."
            )
        size = files.BYTES_OF_STATE * int(count)
        self._draft.budget.take(size, f"the states of {node.name!r}")
        return [f"state{i}" for i in range(int(count))]

    def _levels(self, node: blocks.Node) -> list[float]:
        """Return the levels of a node as numbers, empty if it has none."""
        words = self._text.items(node.fields.get("levels"))
        try:
            return [float(word.replace("INFINITY", "inf")) for word in words]
        except ValueError as error:
            at = node.fields["levels"].start
            raise self._error(at, f"expected numbers as levels: {error}.") from error

    def _parents(self, node: blocks.Node) -> list[str]:
        """Return the names of a node's parents; refuse links that are not read."""
        names = self._text.items(node.fields.get("parents"))
        left_out = {other.name: other.kind.lower() for other in self._left_out}
        fault = ""
        if "" in names:
            fault = (
                f"the node {node.name!r} has a link without a parent. In Netica, connect or remove "
                "it."
            )
        elif others := left_out.keys() & {*names}:
            other = min(others)
            fault = (
                f"{node.name!r} has the {left_out[other]} {other!r} as a parent, which is not "
                "read. In Netica, make it a nature node of one state, or connect the link."
            )
        elif any(word.strip("()") for word in self._text.items(node.fields.get("delays"))):
            fault = (
                f"links to {node.name!r} have time delays, which are not read. In Netica, expand "
                "the network in time and save it."
            )
        if fault:
            raise self._error(node.at, fault)
        return names

    # ----------------------------------------------------------------------------------- tables

    def _cpd(self, node: blocks.Node) -> CPD:
        """Return the distribution of a node, of a table or of the states of a function."""
        family = self._draft.family(node.at, node.name, self._parents(node))
        *parents, child = family
        shape = self._draft.shape(node.at, family)
        field = node.fields.get("probs") or node.fields.get("functable")
        if field is None:
            raise self._error(
                node.at,
                f"expected 'probs = (...);' in the node {node.name!r}; it has no table. In Netica, "
                "fill it in, or choose Equation To Table, and save the network again.",
            )
        with self._text.table(field, node.name):
            if field.name == "functable":
                codes = codes_of(field.value, shape[:-1], partial(self._code, node))
                # A code of -1 is of a condition that never occurs, whose row is NaN.
                if parents and (codes >= 0).all():
                    return DeterministicCPD.from_codes(child, codes, parents)
                size = files.BYTES_OF_CELL * codes.size * child.cardinality
                self._draft.budget.take(size, f"the table of {node.name!r}")
                # All probability is on the state of the code; the child is a new last axis.
                values = np.equal.outer(codes, np.arange(child.cardinality)).astype(np.float64)
                values[codes < 0] = np.nan
            elif field.is_number:
                values = blocks.nested_numbers(field.value, shape)
            else:
                values = probabilities(field.value, shape, self._draft.budget)
        # Rows of NaN are of conditions that never occur.
        is_impossible = np.isnan(values).all(axis=-1, keepdims=True)
        if is_impossible.any():
            self._impossible.append(node.name)
            values = np.where(is_impossible, 1.0 / child.cardinality, values)
        return self._table(field, family, values)

    def _code(self, node: blocks.Node, word: str) -> int:
        """Return the index of the state that a word means, -1 for a condition that never occurs.

        A word is a name, an index such as ``#1``, or a number: of a discrete variable a level, of a
        continuous one in an interval between two levels, which ascend or descend.

        Raises
        ------
        TableError
            If it is no state.
        """
        if _IMPOSSIBLE.fullmatch(word):
            return -1
        variable, levels = self._draft.variables[node.name], self._levels(node)
        code: int | None = variable.find(blocks.unquoted(word))
        if code is None and (match := _STATE.fullmatch(word)):
            code = int(match[1])
        if code is None and (number := blocks.float_of(word)) is not None:
            if _is_continuous(node) and levels:
                code = _interval(number, levels)
            elif number in levels:
                code = levels.index(number)
        if code is None or not 0 <= code < variable.cardinality:
            raise blocks.TableError(
                0,
                f"{word!r:.40} is no state.{errors.suggestion(word, variable.states)} States are "
                f"{errors.quoted(variable.states)}",
            )
        return code


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
    also=("positions", "notes", "titles"),
)


def formatted(model: Any, *, strict: bool = True) -> tuple[str, files.LossReport]:
    """Return a discrete network as DNE text, and what is lost.

    Numbers are written so that they read back as the same floats. Kinds of variables and scores of
    arcs are in comments, from which the reader restores them.

    Parameters
    ----------
    model : BayesianNetwork
        Of tables and functions; a noisy or and the like is written as its table.
    strict : bool
        Whether names and states are refused that are no identifiers. If false, similar words are
        written for them, with titles that have the texts themselves, and comments from which the
        reader restores them.

    Raises
    ------
    LossyExportError
        If DNE cannot hold the model; the message lists all problems.

    Examples
    --------
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
    export = Export.of(model, HELD, strict=strict)
    note = export.annotations.note
    parts = ["// ~->[DNET-1]->~\n\nbnet network {\n"]
    parts.append(f"comment = {blocks.quoted_text(note)};\n" if note else "")
    parts.append("visual V1 {\n    };\n")
    parts += [text for cpd in export.cpds for text in _node(cpd, export)]
    parts.append("};\n")
    parts += [f"// {line}\n" for line in export.sidecar]
    return "".join(parts), export.report


def _node(cpd: Any, export: Export) -> Iterator[str]:
    """Yield the block of a node, in pieces."""
    variable, names, annotations = cpd.variable, export.names, export.annotations
    word, states = names[variable], export.states[variable]
    is_function = isinstance(cpd, DeterministicCPD)
    yield f"\nnode {word} {{\n    kind = NATURE;\n    discrete = TRUE;\n"
    yield f"    chance = {'DETERMIN' if is_function else 'CHANCE'};\n"
    yield f"    states = ({', '.join(states)});\n"
    titles = [str(state) for state in variable.states]
    # The texts of the states, if they differ from their words.
    if titles != [*states]:
        yield f"    statetitles = ({', '.join(map(blocks.quoted_text, titles))});\n"
    yield f"    parents = ({', '.join(names[parent] for parent in cpd.parents)});\n"
    yield "    functable = " if is_function else "    probs = "
    yield f"{_table(cpd, states)};\n"
    if title := export.title(variable):
        yield f"    title = {blocks.quoted_text(title)};\n"
    if word in annotations.notes:
        yield f"    comment = {blocks.quoted_text(annotations.notes[word])};\n"
    if word in annotations.positions:
        center = ", ".join(map(blocks.short, annotations.positions[word]))
        yield f"    visual V1 {{\n        center = ({center});\n        }};\n"
    yield "    };\n"


def _table(cpd: Any, states: Sequence[str]) -> str:
    """Return the nested list of a function's states, or of rows of probabilities."""
    cards = [parent.cardinality for parent in cpd.parents]
    if isinstance(cpd, DeterministicCPD):
        # The states of all parents in all configurations, a row for each parent.
        configurations = np.indices(cards).reshape(len(cards), -1)
        # All probability is on the state that the function has.
        results = cpd.distributions(list(configurations)).argmax(axis=-1).tolist()
        return blocks.nested_text([states[code] for code in results], cards, ", ")
    return blocks.nested_text([f"({row})" for row in row_texts(cpd, ", ")], cards, ", ")


FORMAT = FileFormat("Netica DNE", parse, formatted, HELD)
parse_dne, format_dne = FORMAT.parse_text, FORMAT.format_text
