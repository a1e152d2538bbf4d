"""NET, the language of Hugin's networks, plain or gzipped.

Hugin, GeNIe, SamIam, pyAgrum, pgmpy, gRain and others read and write it; it is described in the
chapter on the NET language of the Hugin API reference manual (https://www.hugin.com). It holds
networks of discrete nodes with tables and of continuous nodes with linear Gaussians.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayesgraph.cpds import CPD, GaussianCPD, TableCPD
from bayesgraph.io import FileFormat
from bayesgraph.io.block_text import decoded, quoted_text
from bayesgraph.io.budget import Budget, reading
from bayesgraph.io.capabilities import Capabilities, TextSpelling
from bayesgraph.io.exporting import Export
from bayesgraph.io.files import PathLike, path_text, write_text
from bayesgraph.io.nested_numbers import nested_text
from bayesgraph.io.net_parser import POSITION, parse
from bayesgraph.io.row_sums import Normalize
from bayesgraph.loss_report import LossReport
from bayesgraph.models.annotations import Annotations
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete, Variable

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
    path: PathLike,
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
        :func:`bayesgraph.io.bif.read_bif`.
    encoding : str
        Encoding of the text.
    limit : int, optional
        Bytes that reading the file may allocate; see :func:`bayesgraph.io.bif.read_bif`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the file is not valid NET or beyond the limit, or has decision, utility or function
        nodes or instances of classes; the message has the line and the expected text, or the size.
    """
    with reading(path_text(path), "Hugin NET"):
        text, budget = decoded(path, encoding, limit)
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
    with reading("NET text", "Hugin NET"):
        budget = Budget("NET text", len(text), limit)
        return parse(text, budget=budget, normalize=normalize)


def write_net(model: Any, path: PathLike, *, strict: bool = True) -> LossReport:
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
    write_text(path, text)
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


def _formatted(model: Any, *, strict: bool) -> tuple[str, LossReport]:
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
        yield f"    states = ({' '.join(map(quoted_text, states))});\n"
    if word in annotations.notes:
        yield f"    HR_Desc = {_text(annotations.notes[word])};\n"
    yield "}\n"


def _text(text: str) -> str:
    """Return a text in quotes; pyAgrum ends it at a quotation mark after a backslash too."""
    return quoted_text(text, r"\u0022")


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
        yield nested_text([f"({' '.join(map(repr, row))})" for row in rows], cpd.values.shape[:-1])
    elif isinstance(cpd, GaussianCPD):
        yield nested_text(list(_normals(cpd, names)), cpd.mean.shape)
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
