"""XDSL, the XML files of GeNIe and its library SMILE, plain or gzipped.

Chance nodes have tables, noisy maxima or functions; positions, titles and comments of nodes are
annotations of the network. Noisy maxima keep their parameters: SMILE has those of Díez (1993), as
`NoisyMaxCPD` has, with the strongest of the child's states first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core import errors, files
from bayesgraph.core.arrays import Floats
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.files.exporting import Export, Sidecar, skip, skip_name
from bayesgraph.files.formats import Capabilities, FileFormat, TextSpelling
from bayesgraph.files.guarded_xml import (
    Element,
    comment,
    escaped,
    is_xml_text,
    quoted_attribute,
    read_xml,
)
from bayesgraph.files.readers import Draft, Normalize, floats_of
from bayesgraph.models import (
    CPD,
    MAX_TABLE,
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


_KINDS = TABLE, NOISY, DETERMINISTIC = "cpt", "noisymax", "deterministic"
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


def parse(
    data: bytes,
    budget: files.Budget,
    *,
    normalize: Normalize = True,
    encoding: str | None = None,
) -> BayesianNetwork:
    """Return the network of an XDSL file of GeNIe or SMILE.

    Names and states are the identifiers in the file, in the order of the file; the states of a
    noisy maximum are turned round, as those of a `NoisyMaxCPD` ascend. Titles, comments and the
    centres of nodes are annotations. Nodes of submodels become nodes of the network, whose note
    then has a line "Submodels flattened". A file of pyAgrum, which orders tables otherwise than
    GeNIe, is read as pyAgrum means it, with a warning. Colours, fonts, text boxes, cases, costs and
    properties are skipped.

    Parameters
    ----------
    data : bytes
    budget : Budget
    normalize : bool or "always"
        Whether rows whose sum is off by up to 0.02 are divided by their sum, with one warning; see
        :func:`bayesgraph.files.bif.parse`.
    encoding : str, optional
        Encoding of the text, instead of what the file says.

    Raises
    ------
    FileFormatError
        If the file is not valid XDSL or beyond the limit, or has nodes that are no chance nodes
        with states, such as decisions, utilities and equations; the message names them.

    Examples
    --------
    >>> net = parse_xdsl('''<smile version="1.0" id="weather"><nodes>
    ...     <cpt id="rain"><state id="no" /><state id="yes" />
    ...         <probabilities>0.8 0.2</probabilities></cpt>
    ... </nodes></smile>''')
    >>> net.variable("rain")
    Discrete('rain', ['no', 'yes'])
    """
    root, lines = read_xml(data, budget, encoding=encoding)
    genie = next(root.within("genie"), None)
    app = "" if genie is None else genie.attributes.get("app", "")
    nodes = _chance_nodes(root, budget)
    reader = _Reader(nodes, Draft("XDSL", "table", budget, normalize, budget.error), app)
    skip_name(root.attributes.get("id", ""))
    for element in (*root.children, *(e for part in root.all("extensions") for e in part.children)):
        if element.kind not in _PARTS:
            skip("network", f"<{element.tag}>")
    note = "" if genie is None else _take_layout(genie, reader, skips=app != "bayesgraph")
    reader.make()
    return reader.draft.network(Sidecar.of(lines, budget.source), note=note)


def _chance_nodes(root: Element, budget: files.Budget) -> list[Element]:
    """Return the chance nodes of a file; refuse what is no network of them, by name."""
    if root.kind != "smile":
        raise budget.error(root.line, f"expected <smile>, as XDSL files have; got <{root.tag}>.")
    # A part <dynamic>, for which there is no network, is refused as if it were a node.
    nodes = [*(e for nodes in root.all("nodes") for e in nodes.children), *root.within("dynamic")]
    others = [element for element in nodes if element.kind not in _KINDS]
    if others:
        # What has no id is named by its tag alone.
        ids = [f"<{e.tag}> {e.attributes.get('id', '')!r}".removesuffix(" ''") for e in others]
        listed = ", ".join(ids[:8]) + (f" and {len(ids) - 8} more" if ids[8:] else "")
        tags = dict.fromkeys(e.kind for e in others)
        advice = dict.fromkeys(f" {_ADVICE[tag]}." for tag in tags if tag in _ADVICE)
        message = f"expected chance nodes with states; got {listed}.{''.join(advice)}"
        raise budget.error(others[0].line, message)
    if not nodes:
        raise budget.error(root.line, "expected at least one node in <nodes>; got none.")
    return nodes


class _Reader:
    """Makes variables and distributions of the chance nodes of a file, written by a program `app`.

    Tables are read as pyAgrum 3.3 writes them if the file is of it, with a warning if it matters.
    """

    def __init__(self, nodes: Sequence[Element], draft: Draft, app: str) -> None:
        self.draft = draft
        self._nodes: dict[str, Element] = {}
        self._parents: dict[str, list[str]] = {}
        # Variables whose states are in the opposite order of the file.
        self._turns: set[Name] = set()
        # Whether in tables the first parent varies fastest, as in files of pyAgrum, not the last.
        self._first_is_fastest = app.startswith(_FIRST_FASTEST)
        for node in nodes:
            name = node.attributes.get("id")
            if not name:
                raise draft.error(node.line, f"expected an id of this <{node.kind}>; it has none.")
            states = node.values("state", "id")
            if not states or "" in states:
                raise draft.error(node.line, f"expected states of {name!r}, each with an id.")
            self._nodes[name] = node
            self._parents[name] = _ID.findall(node.text_of("parents"))
            # The states of noisy maxima are turned round, but without parents these become tables.
            is_turned = node.kind == NOISY and bool(self._parents[name])
            if is_turned:
                self._turns.add(name)
            draft.declare(node.line, name, Discrete, reversed(states) if is_turned else states)
            # Say what of a node is left out.
            for child in node.children:
                # The property in which the writer keeps the class of a CPD is read.
                is_own = child.kind == "property" and child.attributes.get("id") == CLASS_PROPERTY
                if child.kind not in _OF_NODES and not is_own:
                    skip("variables", f"<{child.tag}>")
            for key in (key for state in node.all("state") for key in state.attributes):
                if key != "id":
                    skip("variables", f"{key} of states")
        several = [name for name, parents in self._parents.items() if len(parents) > 1]
        if several and self._first_is_fastest:
            errors.warn(
                f"{draft.budget.source}: {app} wrote this file. Unlike GeNIe, it has the "
                f"first parent vary fastest; the tables of {errors.quoted(several)} are read so. "
                "GeNIe would read them otherwise.",
                errors.BayesGraphWarning,
            )

    def make(self) -> None:
        """Make the distributions of all nodes."""
        make = {TABLE: self._table, NOISY: self._noisy_max, DETERMINISTIC: self._function}
        for name, node in self._nodes.items():
            family = self.draft.family(node.line, name, self._parents[name])
            try:
                self.draft.cpds[name] = make[node.kind](node, family)
            except errors.FileFormatError:
                raise
            except errors.BayesGraphError as error:
                raise self.draft.error(node.line, str(error)) from error

    def _numbers(self, node: Element, tag: str, size: int) -> Floats:
        """Return the numbers of an element of a node; refuse another number of them than `size`."""
        name, child = node.attributes["id"], node.child(tag)
        if child is None:
            raise self.draft.error(node.line, f"expected <{tag}> of {name!r}; there are none.")
        try:
            numbers = floats_of(child.text)
        except ValueError as error:
            raise self.draft.error(child.line, f"<{child.tag}> of {name!r}: {error}.") from None
        self._check_size(node, size, len(numbers), tag)
        return numbers

    def _check_size(self, node: Element, size: int, count: int, what: str) -> None:
        """Refuse a number of parts of a node that is not the expected one."""
        if size != count:
            name = node.attributes["id"]
            text = f"expected {size:,} {what} of {name!r}; got {count:,}."
            raise self.draft.error(node.line, text)

    def _table(self, node: Element, family: Sequence[Discrete]) -> CPD:
        """Return the distribution of a node with a table."""
        shape = self.draft.shape(node.line, family)
        values = self._numbers(node, "probabilities", math.prod(shape))
        # The child's states vary fastest. Its rows are in C order of the parents, the last parent
        # fastest, or in Fortran order.
        rows = values.reshape(-1, shape[-1])
        table = rows.reshape(shape, order="F" if self._first_is_fastest else "C")
        return self.draft.table(node.line, family, _turned(table, family[:-1], self._turns))

    def _function(self, node: Element, family: Sequence[Discrete]) -> CPD:
        """Return the distribution of a node whose state follows from those of its parents."""
        *parents, variable = family
        shape = self.draft.shape(node.line, family)[:-1]
        results = _ID.findall(node.text_of("resultingstates"))
        self._check_size(node, math.prod(shape), len(results), "resulting states")
        code_of = {state: code for code, state in enumerate(variable.states)}
        if unknown := [state for state in results if state not in code_of]:
            near = errors.suggestion(unknown[0], variable.states)
            raise self.draft.error(
                node.line, f"{variable.name!r} has no state {unknown[0]!r}, which results.{near}"
            )
        codes = np.array([code_of[state] for state in results], dtype=np.intp)
        if not parents:
            return TableCPD(variable, np.eye(variable.cardinality)[codes[0]])
        # An axis for each parent, the last one fastest.
        codes = _turned(codes.reshape(shape), parents, self._turns)
        return DeterministicCPD.from_codes(variable, codes, parents)

    def _noisy_max(self, node: Element, family: Sequence[Discrete]) -> CPD:
        """Return a noisy maximum: a row for each state of each parent, and last the leak."""
        *parents, variable = family
        cards = [parent.cardinality for parent in parents]
        numbers = self._numbers(node, "parameters", (sum(cards) + 1) * variable.cardinality)
        rows = numbers.reshape(-1, variable.cardinality)
        rows = self.draft.rounded.repaired(variable.name, rows)
        # Without parents the leak is the distribution, and the states are as in the file.
        if not parents:
            return TableCPD(variable, rows[0])
        # SMILE has the strongest state of the child first.
        *rows_of_parents, leak = np.split(rows[:, ::-1], np.cumsum(cards))
        influences = []
        for parent, order, rows_of_parent in zip(
            parents, self._strengths(node, parents), rows_of_parents, strict=True
        ):
            # Row k of the file is of the parent's state order[k], in the file's order of states.
            table = np.empty_like(rows_of_parent)
            table[order] = rows_of_parent
            influences.append(table[::-1] if parent.name in self._turns else table)
        # A noisy or keeps one number of a row, from which the other has to follow exactly.
        is_or = variable.cardinality == 2 and bool((rows[:, 1] == 1 - rows[:, 0]).all())
        properties = [
            p.text for p in node.all("property") if p.attributes.get("id") == CLASS_PROPERTY
        ]
        # Of a pair of states (lower, higher), a noisy or has the probability of the higher one. The
        # leak is a table of one row.
        if is_or and NoisyMaxCPD.__name__ not in properties:
            return NoisyOrCPD(variable, [t[:, 1] for t in influences], parents, float(leak[0, 1]))
        return NoisyMaxCPD(variable, influences, parents, leak[0])

    def _strengths(self, node: Element, parents: Sequence[Discrete]) -> list[list[int]]:
        """Return, for each parent, the indices of its states in the order of the parameters.

        Without strengths that is the order of the file.
        """
        cards = [parent.cardinality for parent in parents]
        if not node.text_of("strengths"):
            return [list(range(card)) for card in cards]
        numbers = self._numbers(node, "strengths", sum(cards)).astype(np.int64)
        orders = [part.tolist() for part in np.split(numbers, np.cumsum(cards)[:-1])]
        for parent, order in zip(parents, orders, strict=True):
            if sorted(order) != list(range(parent.cardinality)):
                raise self.draft.error(
                    node.line,
                    f"expected each of the states 0 to {parent.cardinality - 1} of "
                    f"{parent.name!r} once among the strengths; got {order}.",
                )
        return orders


def _take_layout(genie: Element, reader: _Reader, *, skips: bool) -> str:
    """Take titles, notes and positions of GeNIe's extension; return the note of the network.

    `skips` tells whether to report what is left out; in files of bayesgraph that is nothing but the
    colours and fonts that it gives all nodes.
    """
    submodels: list[str] = []

    def collect(element: Element) -> None:
        """Take what is shown of the nodes in an element, and in the submodels in it."""
        for child in element.children:
            name = child.attributes.get("id", "")
            if child.kind == "node" and name in reader.draft.variables:
                title = _unescaped(child.text_of("name"))
                note = _unescaped(child.text_of("comment"))
                position = _centre(child.text_of("position"))
                # The name that stands for one that XDSL cannot spell is no title.
                reader.draft.annotate(name, title if title != name else "", note, position)
            elif child.kind == "submodel":
                ids = [node.attributes.get("id", "") for node in child.all("node")]
                title = _unescaped(child.text_of("name")) or name
                submodels.append(f"{title!r} ({', '.join(ids)})")
                collect(child)
            elif child.kind not in ("node", *_OF_SUBMODELS) and skips:
                skip("network", f"<{child.tag}>")
            if child.kind == "node" and skips:
                for part in child.children:
                    if part.kind not in _OF_PICTURES:
                        skip("variables", f"<{part.tag}>")

    collect(genie)
    flattened = f"Submodels flattened: {'; '.join(submodels)}." if submodels else ""
    return "\n".join(filter(None, (_unescaped(genie.text_of("comment")), flattened)))


def _centre(text: str) -> tuple[float, float] | None:
    """Return the centre of a rectangle that is given as left, top, right and bottom."""
    try:
        left, top, right, bottom = floats_of(text).tolist()
    except ValueError:
        return None
    return (left + right) / 2, (top + bottom) / 2


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
# From here on a position is only in a comment of the file; integers of 32 bits hold nearer ones.
_FARTHEST = 1e9
_IDENTIFIER = TextSpelling(
    "identifiers: letters, digits and underscores, a letter first",
    re.compile(r"[^\W\d_]\w*+"),
    wrong=re.compile(r"\W"),
)


def _fits(cpd: CPD) -> bool:
    """Return whether a distribution has the form that SMILE gives it.

    A noisy maximum has parents, and of each of them a state without an effect. A function is a list
    of results, which is made of its table: that must not be too large.
    """
    if isinstance(cpd, NoisyMaxCPD):
        states = [_without_effect(table) for table in cpd.influences]
        return bool(states) and None not in states
    return not isinstance(cpd, DeterministicCPD) or cpd.n_entries <= MAX_TABLE


def _without_effect(table: Floats) -> int | None:
    """Return the last state of a parent that never has an effect, None if each may have one.

    The child then has its lowest state, the first column of an influence.
    """
    states = np.flatnonzero((table[:, 0] == 1) & (table[:, 1:] == 0).all(axis=1))
    return int(states[-1]) if states.size else None


HELD = Capabilities(
    "XDSL",
    names=_IDENTIFIER,
    states=_IDENTIFIER,
    families=(TableCPD, NoisyMaxCPD, NoisyOrCPD, DeterministicCPD),
    fits=_fits,
)


def formatted(model: Any, *, strict: bool = True) -> tuple[str, files.LossReport]:
    """Return a discrete network as XDSL text, and what is lost.

    Numbers are written so that they read back as the same floats. A noisy maximum of which some
    parent has no state without an effect is written as its table.

    Parameters
    ----------
    model : BayesianNetwork
    strict : bool
        Whether names and states that are no identifiers are refused. If false, they are written as
        similar identifiers; comments of the file say which, so that the reader restores them.

    Raises
    ------
    LossyExportError
        If XDSL cannot hold the model; the message lists why.

    Examples
    --------
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
    export = Export.of(model, HELD, strict=strict)
    turned = {cpd.variable.name for cpd in export.cpds if isinstance(cpd, NoisyMaxCPD)}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<smile version="1.0" id="network" numsamples="10000" discsamples="10000">',
        "  <nodes>",
    ]
    for cpd in export.cpds:
        lines += _node(cpd, export, turned)
    lines += ["  </nodes>", *_extension(export), *map(comment, export.sidecar), "</smile>", ""]
    return "\n".join(lines), export.report


def _node(cpd: CPD, export: Export, turned: set[Name]) -> Iterator[str]:
    """Yield the lines of a node; the states of the variables in `turned` are descending."""
    variable = cpd.variable
    names, states = export.names, export.states[variable]
    tag = {NoisyMaxCPD: NOISY, NoisyOrCPD: NOISY, DeterministicCPD: DETERMINISTIC}.get(
        type(cpd), TABLE
    )
    yield f"    <{tag} id={quoted_attribute(names[variable])}>"
    for state in reversed(states) if variable.name in turned else states:
        yield f"      <state id={quoted_attribute(state)} />"
    if cpd.parents:
        parents = " ".join(escaped(names[parent]) for parent in cpd.parents)
        yield f"      <parents>{parents}</parents>"
    if isinstance(cpd, NoisyMaxCPD):
        yield from _noisy_max(cpd, turned)
    elif isinstance(cpd, DeterministicCPD):
        codes = _turned(cpd.to_table().values.argmax(axis=-1), cpd.parents, turned)
        results = " ".join(states[code] for code in codes.reshape(-1).tolist())
        yield f"      <resultingstates>{escaped(results)}</resultingstates>"
    elif isinstance(cpd, TableCPD):
        values = _numbers(_turned(cpd.values, cpd.parents, turned))
        yield f"      <probabilities>{values}</probabilities>"
    yield f"    </{tag}>"


def _turned(table: NDArray[Any], parents: Sequence[Variable], turned: set[Name]) -> NDArray[Any]:
    """Return a table with the states of those parents turned round whose names are in `turned`.

    Its first axes are those of the parents.
    """
    axes = tuple([i for i, parent in enumerate(parents) if parent.name in turned])
    return np.ascontiguousarray(np.flip(table, axes))


def _noisy_max(cpd: NoisyMaxCPD, turned: set[Name]) -> Iterator[str]:
    """Yield strengths and parameters: the state of each parent that has no effect comes last.

    The file has the states of the variables in `turned`, all noisy maxima, in descending order.
    """
    strengths: list[int] = []
    rows: list[Floats] = []
    for parent, table in zip(cpd.parents, cpd.influences, strict=True):
        # Rows by the parent's states in the order of the file.
        influence = table[::-1] if parent.name in turned else table
        last = _without_effect(influence)
        assert last is not None  # see `_fits`
        order = [*(state for state in range(len(table)) if state != last), last]
        strengths += order
        rows.append(influence[order])
    # The strongest state of the child is first, in SMILE.
    parameters = np.concatenate([*rows, cpd.leak[None]])[:, ::-1]
    yield f"      <strengths>{' '.join(map(str, strengths))}</strengths>"
    yield f"      <parameters>{_numbers(parameters)}</parameters>"
    if cpd.variable.cardinality == 2 and not isinstance(cpd, NoisyOrCPD):
        # The numbers may be those of a noisy or too, which a reader would make of them.
        yield f'      <property id="{CLASS_PROPERTY}">{NoisyMaxCPD.__name__}</property>'


def _numbers(values: Floats) -> str:
    # repr gives the shortest decimal that reads back as the same float.
    return " ".join(map(repr, values.reshape(-1).tolist()))


# -------------------------------------------------------------------------- what GeNIe shows


def _extension(export: Export) -> Iterator[str]:
    """Yield what GeNIe shows of the nodes that have a title, a comment or a position.

    Positions are whole numbers there, and a comment of the file has them exactly. pyAgrum reads no
    file without this element.
    """
    yield "  <extensions>"
    yield '    <genie version="1.0" app="bayesgraph" name="network">'
    note = export.annotations.note
    if note and is_xml_text(note):
        yield f"      <comment>{_text(note)}</comment>"
    for variable in export.names:
        yield from _shown(variable, export)
    yield "    </genie>"
    yield "  </extensions>"


def _shown(variable: Variable, export: Export) -> Iterator[str]:
    """Yield the lines of what GeNIe shows of a node; none if there is nothing to show."""
    word, annotations, title = export.names[variable], export.annotations, export.title(variable)
    position, note = annotations.positions.get(word), annotations.notes.get(word, "")
    if not title and position is None and not note:
        return
    # Without a title that XML can hold, GeNIe shows the identifier, as for a name that begins or
    # ends with blanks: the reader, which strips them, would take the rest for a title.
    is_held = is_xml_text(title) and (word in annotations.titles or title == title.strip())
    title = title if title and is_held else word
    yield f"      <node id={quoted_attribute(word)}>"
    yield f"        <name>{_text(title)}</name>"
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


FORMAT = FileFormat("XDSL", parse, formatted, HELD)
parse_xdsl, format_xdsl = FORMAT.parse_text, FORMAT.format_text
