"""NET, the language of Hugin's networks, plain or gzipped.

Hugin, GeNIe, SamIam, pyAgrum, pgmpy, gRain and others read and write it; it is described in the
chapter on the NET language of the Hugin API reference manual (https://www.hugin.com). It holds
networks of discrete nodes with tables and of continuous nodes with linear Gaussians.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np

from bayesgraph.core import files
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import quoted, suggestion
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.files import blocks
from bayesgraph.files.exporting import Export, row_texts
from bayesgraph.files.formats import Capabilities, FileFormat, TextSpelling
from bayesgraph.files.readers import Draft, Normalize
from bayesgraph.models import CPD, BayesianNetwork, GaussianCPD, TableCPD

# ------------------------ Expressions in Hugin's NET files: linear Gaussians, and models of tables


_NUMBER = r"[-+]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+"
_NAME = r"[A-Za-z_][\w.]*+"
_NORMAL = re.compile(r"normal\s*+\(([^(),]*+),([^(),]*+)\)")
_TERM = (
    rf"\s*+([-+]?)\s*+(?:({_NUMBER})(?:\s*+\*\s*+({_NAME}))?+"
    rf"|({_NAME})(?:\s*+\*\s*+({_NUMBER}))?+)\s*+"
)
# Without groups that capture, which raise SystemError in a possessive repeat (CPython 3.11).
_PLAIN_TERM = re.sub(r"\((?!\?)", "(?:", _TERM)
_SUM = re.compile(rf"{_PLAIN_TERM}(?:(?=[-+]){_PLAIN_TERM})*+")
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

    Returns
    -------
    means, variances : ndarray of float, shape (*cards)
        The mean is that where all continuous parents are zero.
    slopes : ndarray of float, shape (*cards, number of continuous parents)

    Raises
    ------
    TableError
        If the text is something else.
    """
    if not _BETWEEN.fullmatch(_NORMAL.sub("", text)):
        raise blocks.TableError(0, "expected a list of 'normal ( mean, variance )'")
    # Only a check of the nesting, with 0 for each normal. The last axis of a list of numbers is the
    # child's; here it is that of the last discrete parent, or of one normal if there is none.
    try:
        blocks.nested_numbers(_NORMAL.sub("0", text), tuple(cards) or (1,))
    except blocks.TableError as error:
        raise blocks.TableError(0, f"{error}, where each 'normal ( ... )' counts as one") from error
    # Along the last axis: the mean, the variance and the slopes.
    rows = [_normal(match, parents) for match in _NORMAL.finditer(text)]
    table = np.array(rows).reshape(*cards, 2 + len(parents))
    return table[..., 0], table[..., 1], table[..., 2:]


def _normal(match: re.Match[str], parents: Sequence[str]) -> list[float]:
    """Return the constant of a mean, the variance, and the slopes of all continuous parents."""
    at, (mean, variance) = match.start(), match.groups()
    if not _VARIANCE.fullmatch(variance):
        message = f"expected a number as the variance; got {variance.strip()!r:.60}"
        raise blocks.TableError(at, message)
    if not mean.strip():
        raise blocks.TableError(at, "expected a mean before ','; got none")
    if not _SUM.fullmatch(mean):
        raise blocks.TableError(
            at,
            f"expected a sum such as '1.5 + 2 * {next(iter(parents), 'x')}' as the mean; "
            f"got {mean.strip()!r:.60}",
        )
    # The constant, by the empty name, and the slopes by the names of parents.
    sums: dict[str, float] = {}
    # A term is "2", "2 * x", "x" or "x * 2".
    for sign, number, name_after, name_before, factor in re.findall(_TERM, mean):
        name = name_after or name_before
        if name and name not in parents:
            raise blocks.TableError(
                at,
                f"{name!r} in a mean is no continuous parent.{suggestion(name, parents)} Such "
                f"are {quoted(parents) or 'none'}",
            )
        term = float(number or factor or "1")
        term = -term if sign == "-" else term
        # The first number of each kind is taken as it is: -0.0 added to 0.0 would lose its sign.
        sums[name] = sums[name] + term if name in sums else term
    return [sums.get("", 0.0), float(variance), *(sums.get(name, 0.0) for name in parents)]


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
    rows: list[Floats] = []
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
        at = match.end()
        if match["numbers"] is not None:
            rows.append(blocks.nested_numbers(match["numbers"], (len(states),)))
            continue
        state = blocks.unquoted(match["state"])
        if state not in states:
            near = suggestion(state, states)
            raise blocks.TableError(
                0, f"{state!r:.60} is no state.{near} States are {quoted(states)}"
            )
        # A state alone has the probability 1.
        rows.append(np.eye(len(states))[states.index(state)])
    if len(rows) != n_rows:
        raise blocks.TableError(0, f"expected {n_rows:,} expressions; got {len(rows):,}")
    return np.array(rows)


# ---------------------------------------------------------------------- Parser of Hugin's NET text


# Where the writer puts a position that Hugin's integers do not hold.
POSITION = "bayesgraph_position"
# States without quotes in one line, such as 50% of pyAgrum, whose sign begins no comment.
_BARE_STATES = r'states\s*+=\s*+\((?=[^"()\n]*\w%)[^"()\n]*+\)'
_KIND = re.compile(r"(?:(discrete|continuous)\s++)?+(?:node|(decision|utility|function))\b")
_FAMILY = re.compile(r"potential\s*+\(([^()|]*+)(?:\|([^()|]*+))?+\)")
# Fields that are read.
_OF_NODES = ("states", "subtype", "label", "position", POSITION, "HR_Desc")
_OF_TABLES = ("data", "model_data", "model_nodes")
_BLOCKS = ("net", "class", "node", "continuous node", "potential")
_FIRST = re.compile(r"[A-Za-z]++")
_PARTS = ("instance", "temporal")
_OTHERS = {
    "decision": "in Hugin, make each a node with the probabilities of its options, or remove it",
    "utility": "in Hugin, remove them",
    "function": "in Hugin, make each a node with a table, or remove it",
}


def parse(
    data: bytes,
    budget: files.Budget,
    *,
    normalize: Normalize = True,
    encoding: str = "utf-8-sig",
) -> BayesianNetwork:
    """Return the network of a NET file of Hugin.

    Names and states are text, states such as ``0`` included. Variables come in the order of their
    nodes. Positions, labels (as titles) and descriptions (as notes) are kept; colours, fonts,
    counts of experience and other fields are skipped. A table that is given by a model alone is
    read if its expressions are distributions of numbers or states. A class without instances is
    read as a network.

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
        If the file is not valid NET or beyond the limit, or has decision, utility or function
        nodes or instances of classes; the message has the line and the expected text, or the size.

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
    string = f"{blocks.STRING}|{_BARE_STATES}"
    text = blocks.BlockText(data, budget, encoding, "%", string=string)
    return _Reader(text, Draft("Hugin NET", "potential", budget, normalize, text.error)).network()


class _Reader(blocks.NodeReader):
    """Reads the blocks of a NET file; see `blocks.NodeReader` for the steps."""

    title, note, others = "label", "HR_Desc", _OTHERS

    def _read(self) -> None:
        # Place, child, parents and fields of each potential.
        self._potentials: list[tuple[int, str, list[str], Mapping[str, blocks.Field]]] = []
        at = 0
        while not self._text.is_done(at):
            at = self._block(at, self._text.head(at))

    def _block(self, at: int, head: blocks.Head | None, *, is_inner: bool = False) -> int:
        """Read the block at a position, and return its end.

        `is_inner` says that it stands in a class, in which there is no other class.
        """
        first = _FIRST.match(self._text.text, self._text.after_blanks(at))
        word = first[0] if first else ""
        # A match if it is a block of a node; other blocks are told by their first word.
        kind = None if head is None else _KIND.match(head.text)
        if head is None or not (kind or word in _BLOCKS) or (is_inner and word == "class"):
            if word in _PARTS:
                raise self._error(
                    at,
                    f"{self._text.seen(at)} stands for nodes of another class or time, which are "
                    "not read. In Hugin, save the network as a flat NET file.",
                )
            # Pajek's files have the suffix .net too, and begin with a star, as in "*Vertices".
            pajek = self._text.text.lstrip().startswith("*")
            raise self._error(
                at,
                f"expected {quoted(_BLOCKS)} at the start of a block; got {self._text.seen(at)}."
                + " This is a file of Pajek, which has graphs only." * pajek,
            )
        block = self._text.block(head.body)
        if kind:
            name = self._text.one_name(at, kind[0], head.text)
            # The kind is a decision, a utility or a function, or else as it stands there.
            self._nodes.append(blocks.Node(at, name, kind[2] or kind[0], block.fields, {}))
        elif word == "potential":
            self._potentials.append((at, *self._family(at, head.text), block.fields))
        else:
            self._net.update(block.fields)
            # The nodes and potentials of a class stand inside of it.
            for inner in block.blocks if word == "class" else ():
                self._block(inner.at, inner, is_inner=True)
        return block.end

    def _declare(self, node: blocks.Node) -> tuple[float, float] | None:
        """Declare the variable of a node, and return its position."""
        fields = node.fields
        if node.kind.startswith("continuous"):
            self._draft.declare(node.at, node.name, Continuous)
        else:
            self._draft.declare(node.at, node.name, Discrete, self._states(node))
        # Without names of states `_states` reads their values; otherwise these are skipped.
        values = () if "states" in fields else ("state_values",)
        blocks.skip_fields("variables", fields, (*_OF_NODES, *values))
        place = blocks.position_of(node.word(POSITION) or node.word("position"))
        # In Hugin's files y grows upwards, and in annotations downwards.
        return place and (place[0], -place[1])

    def _make(self) -> None:
        for at, child, parents, fields in self._potentials:
            self._draft.cpds[child] = self._cpd(at, self._draft.family(at, child, parents), fields)
            blocks.skip_fields("tables", fields, _OF_TABLES)

    def _family(self, at: int, head: str) -> tuple[str, list[str]]:
        """Return the names of the child and of the parents of a potential."""
        match = _FAMILY.fullmatch(head)
        if match is None:
            raise self._error(at, f"expected 'potential ( child | parents )'; got {head!r:.60}.")
        children, parents = blocks.words_of(match[1]), blocks.words_of(match[2] or "")
        if len(children) != 1:
            raise self._error(
                at,
                f"expected one node before '|'; got {quoted(children) or 'none'}. A potential of "
                "several is no distribution of one: give each node its own.",
            )
        return children[0], parents

    def _states(self, node: blocks.Node) -> list[str]:
        """Return the names of a node's states, or those that its subtype and their values give."""
        values = self._text.items(node.fields.get("state_values"))
        if states := self._text.items(node.fields.get("states")):
            return states
        kind = node.word("subtype")
        # The values of intervals are their bounds, one more than there are states.
        if kind == "interval":
            values = [f"[{a}, {b})" for a, b in pairwise(values)]
        elif kind == "boolean":
            values = ["false", "true"]
        if not values:
            raise self._error(
                node.at,
                f"expected 'states = (\"...\" ...);' in the node {node.name!r}; it is missing.",
            )
        return values

    # ----------------------------------------------------------------------------------- tables

    def _cpd(
        self, at: int, family: Sequence[Variable], fields: Mapping[str, blocks.Field]
    ) -> TableCPD | GaussianCPD:
        """Return the distribution of a potential: a table, a model of one, or linear Gaussians."""
        *parents, child = family
        discrete = [parent for parent in parents if isinstance(parent, Discrete)]
        others = [parent.name for parent in parents if not isinstance(parent, Discrete)]
        if others and isinstance(child, Discrete):
            raise self._error(
                at,
                f"the node {child.name!r} has states, so that its parents have states too; got the "
                f"continuous {quoted(others)}.",
            )
        # This refuses too many parents, before anything else is read.
        shape = self._draft.shape(at, [*discrete, child]) if isinstance(child, Discrete) else []
        data = fields.get("data") or fields.get("model_data")
        if data is None:
            raise self._error(
                at,
                f"expected 'data = (...);' in the potential of {child.name!r}; it is missing. In "
                "Hugin, fill in its table and save the file again.",
            )
        with self._text.table(data, child.name):
            if not isinstance(child, Discrete):
                cards = [parent.cardinality for parent in discrete]
                mean, variance, slopes = normals(data.value, cards, list(map(str, others)))
                return GaussianCPD(cast(Continuous, child), mean, variance, parents, slopes)
            if data.name == "model_data":
                values = self._modelled([*discrete, child], shape, fields)
            elif data.is_number:
                values = blocks.nested_numbers(data.value, shape)
            else:
                raise blocks.TableError(0, f"expected numbers; got {data.value.strip()!r:.60}")
        return self._table(data, [*discrete, child], values)

    def _modelled(
        self, family: Sequence[Discrete], shape: Sequence[int], fields: Mapping[str, blocks.Field]
    ) -> Floats:
        """Return the table of a model: its rows depend on some of the parents, in any order."""
        *parents, child = family
        nodes = self._text.items(fields.get("model_nodes"))
        axis_of = {parent.name: axis for axis, parent in enumerate(parents)}
        if not axis_of.keys() >= {*nodes}:
            raise blocks.TableError(0, f"the nodes of the model are parents; got {quoted(nodes)}")
        # The rows are in the order of `nodes`, whose axes in the table are `axes`.
        axes = [axis_of[name] for name in nodes]
        cards = [shape[axis] for axis in axes]
        states = [str(state) for state in child.states]
        rows = modelled(fields["model_data"].value, states, math.prod(cards))
        size = files.BYTES_OF_CELL * math.prod(shape)
        self._draft.budget.take(size, f"the table of {child.name!r}")
        # The axes of the model's nodes in the order of the parents, the child's last; then an axis
        # of length 1 for each other parent, on which the rows do not depend.
        table = rows.reshape([*cards, shape[-1]]).transpose([*np.argsort(axes), len(axes)])
        others = [axis for axis in range(len(parents)) if axis not in axes]
        return np.ascontiguousarray(np.broadcast_to(np.expand_dims(table, others), shape))


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
    also=("mixed", "positions", "notes", "titles"),
)
# Programs keep positions as integers of so many bits.
_LARGEST = 2**31


def formatted(model: Any, *, strict: bool = True) -> tuple[str, files.LossReport]:
    """Return a network as NET text, and what is lost.

    Numbers are written so that they read back as the same floats. Kinds of variables and scores of
    arcs are in comments, from which the reader restores them.

    Parameters
    ----------
    model : BayesianNetwork
        Of tables and linear Gaussians; a noisy or and the like is written as its table.
    strict : bool
        Whether names are refused that are no identifiers, and states that are not text or have
        quotes, backslashes or line breaks. If false, similar words are written for them, and
        comments from which the reader restores them.

    Raises
    ------
    LossyExportError
        If NET cannot hold the model; the message lists all problems.

    Examples
    --------
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
    export = Export.of(model, HELD, strict=strict)
    note = export.annotations.note
    parts = ["net\n{\n", f"    HR_Desc = {_text(note)};\n" if note else "", "}\n"]
    parts += [text for variable in export.names for text in _node(variable, export)]
    parts += [text for cpd in export.cpds for text in _potential(cpd, export.names)]
    parts += [f"% {line}\n" for line in export.sidecar]
    return "".join(parts), export.report


def _node(variable: Variable, export: Export) -> Iterator[str]:
    """Yield the block of a node, in pieces."""
    word, annotations = export.names[variable], export.annotations
    kind = "node" if isinstance(variable, Discrete) else "continuous node"
    yield f"\n{kind} {word}\n{{\n"
    if title := export.title(variable):
        yield f"    label = {_text(title)};\n"
    if word in annotations.positions:
        yield from _position(*annotations.positions[word])
    if states := export.states[variable]:
        yield f"    states = ({' '.join(map(blocks.quoted_text, states))});\n"
    if word in annotations.notes:
        yield f"    HR_Desc = {_text(annotations.notes[word])};\n"
    yield "}\n"


def _text(text: str) -> str:
    """Return a text in quotes; pyAgrum ends it at a quotation mark after a backslash too."""
    return blocks.quoted_text(text, r"\u0022")


def _position(x: float, y: float) -> Iterator[str]:
    """Yield the fields of a position: Hugin has integers, and y grows upwards.

    What its integers do not hold stands in a field of bayesgraph's, exactly.
    """
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
        yield blocks.nested_text([f"({row})" for row in row_texts(cpd, " ")], cpd.values.shape[:-1])
    elif isinstance(cpd, GaussianCPD):
        yield blocks.nested_text(list(_normals(cpd, names)), cpd.mean.shape)
    yield ";\n}\n"


def _normals(cpd: GaussianCPD, names: Mapping[Variable, str]) -> Iterator[str]:
    """Yield the ``normal (mean, variance)`` of each configuration of the discrete parents."""
    words = [names[parent] for parent in cpd.continuous_parents]
    slopes = cpd.coefficients.reshape(cpd.mean.size, len(words)).tolist()
    numbers = zip(cpd.mean.ravel().tolist(), cpd.variance.ravel().tolist(), slopes, strict=True)
    for mean, variance, row in numbers:
        # The sign of a slope, that of -0.0 too, has a blank after it.
        terms = "".join(f" + {slope!r} * {word}" for slope, word in zip(row, words, strict=True))
        yield f"normal ({mean!r}{terms.replace('+ -', '- ')}, {variance!r})"


FORMAT = FileFormat("Hugin NET", parse, formatted, HELD)
parse_net, format_net = FORMAT.parse_text, FORMAT.format_text
