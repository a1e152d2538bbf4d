"""DSC, the belief networks of Microsoft's tools (MSBN), plain or gzipped.

The format was proposed for interchange by the Decision Theory Group of Microsoft Research (Proposal
for a Bayesian Network Interchange Format, version 0.2, 1996); GeNIe and bnlearn read it and write
it. It holds networks of discrete variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bayesgraph.cpds import CPD, TableCPD
from bayesgraph.io import FileFormat
from bayesgraph.io.block_text import decoded, quoted_text, short
from bayesgraph.io.budget import Budget, reading
from bayesgraph.io.capabilities import Capabilities, TextSpelling
from bayesgraph.io.dsc_parser import parse
from bayesgraph.io.exporting import Export
from bayesgraph.io.files import PathLike, path_text, write_text
from bayesgraph.io.row_sums import Normalize
from bayesgraph.loss_report import LossReport
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Variable

_KEYWORDS = ("node", "network", "belief", "probability", "properties", "default", "type", "is")
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
HELD = Capabilities("DSC", names=NAMES, states=STATES, positions=True, titles=True)


def read_dsc(
    path: PathLike,
    *,
    normalize: Normalize = True,
    encoding: str = "utf-8-sig",
    limit: int | None = None,
) -> BayesianNetwork:
    """Read a DSC file; gzip is recognised by its content.

    Names and states are text. Variables come in the order of their nodes. Positions and names in
    quotes (as titles) are kept; properties are skipped. Rows have the indices of the parents'
    states, or the states themselves.

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
        If the file is not valid DSC or beyond the limit, or has nodes that are not discrete, or
        functions in the place of tables; the message has the line and the expected text, or the
        size.
    """
    with reading(path_text(path), "DSC"):
        text, budget = decoded(path, encoding, limit)
        return parse(text, budget=budget, normalize=normalize)


def parse_dsc(
    text: str, *, normalize: Normalize = True, limit: int | None = None
) -> BayesianNetwork:
    """Return the network that a DSC text describes; see `read_dsc`.

    Raises
    ------
    FileFormatError
        If the text is not valid DSC; the message has the line and the expected text.

    Examples
    --------
    >>> net = parse_dsc('''
    ...     belief network "weather"
    ...     node rain { type : discrete [ 2 ] = { "no", "yes" }; }
    ...     probability ( rain ) { 0.8, 0.2; }
    ... ''')
    >>> net.variable("rain")
    Discrete('rain', ['no', 'yes'])
    """
    with reading("DSC text", "DSC"):
        budget = Budget("DSC text", len(text), limit)
        return parse(text, budget=budget, normalize=normalize)


def write_dsc(model: Any, path: PathLike, *, strict: bool = True) -> LossReport:
    """Write a discrete network as DSC, gzipped if the path ends in ``.gz``.

    Numbers are written so that they read back as the same floats. Kinds of variables, scores of
    arcs and notes are in comments, from which `read_dsc` restores them. The file is replaced as a
    whole or not at all.

    Parameters
    ----------
    model : BayesianNetwork
        Of tables; a noisy or and the like is written as its table.
    path : str or path
    strict : bool
        Whether names are refused that are no identifiers, and states that are not text or have
        quotes, backslashes or line breaks. If false, similar words are written for them, and
        comments from which `read_dsc` restores them.

    Returns
    -------
    LossReport
        What other programs read in another form, and what is lost.

    Raises
    ------
    LossyExportError
        If DSC cannot hold the model; the message lists all problems.
    """
    text, report = _formatted(model, strict=strict)
    write_text(path, text)
    return report


def format_dsc(model: Any, *, strict: bool = True) -> str:
    """Return a discrete network as DSC text; see `write_dsc`.

    Raises
    ------
    LossyExportError
        If DSC cannot hold the model; the message lists all problems.

    Examples
    --------
    >>> from bayesgraph import Discrete
    >>> rain, wet = Discrete("rain", ["no", "yes"]), Discrete("wet", ["no", "yes"])
    >>> cpds = [TableCPD(rain, [0.8, 0.2]), TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], [rain])]
    >>> print(format_dsc(BayesianNetwork(cpds)), end="")
    belief network "unknown"
    node rain {
      type : discrete [ 2 ] = { "no", "yes" };
    }
    node wet {
      type : discrete [ 2 ] = { "no", "yes" };
    }
    probability ( rain ) {
      0.8, 0.2;
    }
    probability ( wet | rain ) {
      (0) : 0.9, 0.1;
      (1) : 0.2, 0.8;
    }
    """
    return _formatted(model, strict=strict)[0]


def _formatted(model: Any, *, strict: bool) -> tuple[str, LossReport]:
    found = Export.of(model, HELD, strict=strict)
    parts = ['belief network "unknown"\n']
    parts += [text for variable in found.words.names for text in _node(variable, found)]
    parts += [text for cpd in found.cpds for text in _probability(cpd, found.words.names)]
    parts += [f"// {line}\n" for line in found.sidecar]
    return "".join(parts), found.report


def _node(variable: Variable, found: Export) -> Iterator[str]:
    """Yield the block of a node, in pieces."""
    word, states, annotations = (
        found.words.names[variable],
        found.words.states[variable],
        found.annotations,
    )
    yield f"node {word} {{\n"
    title = annotations.titles.get(word, str(variable.name))
    if word in annotations.titles or title != word:
        yield f"  name : {quoted_text(title)};\n"
    yield f"  type : discrete [ {len(states)} ] = {{ {', '.join(map(quoted_text, states))} }};\n"
    if word in annotations.positions:
        yield f"  position : ({', '.join(map(short, annotations.positions[word]))});\n"
    yield "}\n"


def _probability(cpd: CPD, names: Mapping[Variable, str]) -> Iterator[str]:
    """Yield the block of a table, in pieces."""
    assert isinstance(cpd, TableCPD)
    bar = " | " if cpd.parents else ""
    parents = ", ".join(names[parent] for parent in cpd.parents)
    yield f"probability ( {names[cpd.variable]}{bar}{parents} ) {{\n"
    rows = cpd.values.reshape(-1, cpd.variable.cardinality).tolist()
    for given, row in zip(np.ndindex(cpd.values.shape[:-1]), rows, strict=True):
        configuration = f"({', '.join(map(str, given))}) : " if given else ""
        yield f"  {configuration}{', '.join(map(repr, row))};\n"
    yield "}\n"


FORMAT = FileFormat("DSC", read_dsc, write_dsc, holds=HELD)
