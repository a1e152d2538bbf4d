"""XDSL, the XML files of GeNIe and its library SMILE, plain or gzipped.

Chance nodes have tables, noisy maxima or functions; positions, titles and comments of nodes are
annotations of the network. Noisy maxima keep their parameters: SMILE has those of Díez (1993), as
`NoisyMaxCPD` has, with the strongest of the child's states first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import CPD, DeterministicCPD, NoisyMaxCPD, NoisyOrCPD, TableCPD
from bayesgraph.cpds.canonical import MAX_TABLE
from bayesgraph.factors.algebra import Floats
from bayesgraph.io import FileFormat
from bayesgraph.io.budget import Budget, reading
from bayesgraph.io.capabilities import Capabilities, TextSpelling
from bayesgraph.io.exporting import Export
from bayesgraph.io.files import PathLike, path_text, read_unzipped, write_text
from bayesgraph.io.guarded_xml import comment, escaped, is_xml_text, quoted_attribute
from bayesgraph.io.row_sums import Normalize
from bayesgraph.io.xdsl_parser import CLASS_PROPERTY, DETERMINISTIC, NOISY, TABLE, parse
from bayesgraph.loss_report import LossReport
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Variable

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
    path: PathLike, *, normalize: Normalize = True, limit: int | None = None
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
    source = path_text(path)
    with reading(source, "XDSL"):
        data, budget = read_unzipped(path, limit)
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
    with reading("XDSL text", "XDSL"):
        return parse(data, budget=Budget("XDSL text", len(data), limit), normalize=normalize)


def write_xdsl(model: Any, path: PathLike, *, strict: bool = True) -> LossReport:
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
    write_text(path, text)
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


def _formatted(model: Any, *, strict: bool) -> tuple[str, LossReport]:
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
