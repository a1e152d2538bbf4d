"""DNE, also called DNET: the text files of Netica's networks, plain or gzipped.

The format is described by Norsys (https://www.norsys.com/downloads/DNET_File_Format.txt). It holds
networks of discrete variables; those of Netica's continuous nodes are intervals of a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayesgraph.cpds import CPD, DeterministicCPD, TableCPD
from bayesgraph.io import FileFormat
from bayesgraph.io.block_text import decoded, quoted_text, short
from bayesgraph.io.budget import Budget, reading
from bayesgraph.io.capabilities import Capabilities, TextSpelling
from bayesgraph.io.dne_parser import parse
from bayesgraph.io.exporting import Export
from bayesgraph.io.files import PathLike, path_text, write_text
from bayesgraph.io.nested_numbers import nested_text
from bayesgraph.io.row_sums import Normalize
from bayesgraph.loss_report import LossReport
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Variable

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
    path: PathLike,
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
        If the file is not valid DNE or beyond the limit, or has decision or utility nodes,
        continuous nodes without intervals, nodes without a table, links with time delays or nodes
        that inherit from others; the message has the line and the expected text, or the size.
    """
    with reading(path_text(path), "Netica DNE"):
        text, budget = decoded(path, encoding, limit)
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
    with reading("DNE text", "Netica DNE"):
        budget = Budget("DNE text", len(text), limit)
        return parse(text, budget=budget, normalize=normalize)


def write_dne(model: Any, path: PathLike, *, strict: bool = True) -> LossReport:
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
    write_text(path, text)
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


def _formatted(model: Any, *, strict: bool) -> tuple[str, LossReport]:
    found = Export.of(model, HELD, strict=strict)
    note = found.annotations.note
    parts = ["// ~->[DNET-1]->~\n\nbnet network {\n"]
    parts.append(f"comment = {quoted_text(note)};\n" if note else "")
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
        yield f"    title = {quoted_text(title)};\n"
    if word in annotations.notes:
        yield f"    comment = {quoted_text(annotations.notes[word])};\n"
    if word in annotations.positions:
        center = ", ".join(map(short, annotations.positions[word]))
        yield f"    visual V1 {{\n        center = ({center});\n        }};\n"
    yield "    };\n"


def _state_titles(variable: Variable, words: Sequence[str]) -> Iterator[str]:
    """Yield the field of the texts of the states, if they differ from their words."""
    titles = [str(state) for state in variable.states]  # type: ignore[union-attr] # all discrete
    if titles != list(words):
        yield f"    statetitles = ({', '.join(map(quoted_text, titles))});\n"


def _table(cpd: CPD, states: Sequence[str]) -> str:
    cards = [parent.cardinality for parent in cpd.parents if hasattr(parent, "cardinality")]
    if isinstance(cpd, DeterministicCPD):
        codes = np.indices(cards).reshape(len(cards), -1)
        found = cpd.distributions(list(codes)).argmax(axis=-1).tolist()
        return nested_text([states[code] for code in found], cards, ", ")
    assert isinstance(cpd, TableCPD)
    rows = cpd.values.reshape(-1, cpd.variable.cardinality).tolist()
    return nested_text([f"({', '.join(map(repr, row))})" for row in rows], cards, ", ")


FORMAT = FileFormat("Netica DNE", read_dne, write_dne, holds=HELD)
