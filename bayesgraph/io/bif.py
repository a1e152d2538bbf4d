"""BIF, the Interchange Format for Bayesian Networks (Cozman 1998), plain or gzipped.

The format holds names and states as text, and conditional probability tables. Most programs of the
field read it; the repository of bnlearn (https://www.bnlearn.com/bnrepository/) uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from bayesgraph.cpds import TableCPD
from bayesgraph.errors import FileFormatError, LossyExportError
from bayesgraph.io import FileFormat
from bayesgraph.io.bif_parser import parse
from bayesgraph.io.budget import Budget, reading
from bayesgraph.io.capabilities import Capabilities, TextSpelling
from bayesgraph.io.exporting import Export
from bayesgraph.io.files import PathLike, path_text, read_unzipped, write_text
from bayesgraph.io.row_sums import Normalize
from bayesgraph.loss_report import LossReport
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Variable

# Pattern of text that other programs read without quotes. Keywords of the format, which has them in
# lower case only, are quoted too.
_BARE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")
_KEYWORDS = {
    "network",
    "variable",
    "probability",
    "property",
    "type",
    "discrete",
    "table",
    "default",
}
TEXT = TextSpelling(
    "text without double quotes and line breaks",
    re.compile(r'[^"\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*+'),
    wrong=re.compile(r'["\n\r\v\f\x1c-\x1e\x85\u2028\u2029]'),
)
HELD = Capabilities("BIF", names=TEXT, states=TEXT)


def read_bif(
    path: PathLike,
    *,
    normalize: Normalize = True,
    encoding: str = "utf-8-sig",
    limit: int | None = None,
) -> BayesianNetwork:
    """Read a BIF file; gzip is recognised by its content.

    Names and states are text, states such as ``0`` included. Variables come in the order of their
    declaration. Properties and the network's own name are skipped. In a ``table`` with parents, the
    child varies slowest and the last parent fastest.

    Parameters
    ----------
    path : str or path
    normalize : bool or "always"
        Whether rows whose sum is off by up to 0.02 (printed with few digits) are divided by their
        sum, with one warning that names the tables and the deviation; if false, they are refused.
        "always" divides all rows, such as counts, of which only a row of zeros is refused. Rows off
        by at most 1e-6 are never changed.
    encoding : str
        Encoding of the text.
    limit : int, optional
        Bytes that reading the file may allocate beyond its text, such as for a table of which the
        file has only a ``default``; by default 64 MB and 40 times the file's bytes. It also limits
        what a gzip file inflates to, by default 100 times its bytes.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the file is not valid BIF, or beyond the limit; the message has the line and the expected
        text, or the size.
    """
    source = path_text(path)
    with reading(source, "BIF"):
        data, budget = read_unzipped(path, limit)
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise FileFormatError(
                f"{source}, line {line}: expected {encoding} text; got the byte "
                f"{data[error.start]:#04x}. Name the encoding, such as encoding='latin-1'."
            ) from error
        return parse(text, budget=budget, normalize=normalize)


def parse_bif(
    text: str, *, normalize: Normalize = True, limit: int | None = None
) -> BayesianNetwork:
    """Return the network that a BIF text describes; see `read_bif`.

    Raises
    ------
    FileFormatError
        If the text is not valid BIF; the message has the line and the expected text.

    Examples
    --------
    >>> net = parse_bif('''
    ...     variable rain { type discrete [2] { no, yes }; }
    ...     probability ( rain ) { table 0.8, 0.2; }
    ... ''')
    >>> net.variable("rain")
    Discrete('rain', ['no', 'yes'])
    """
    with reading("BIF text", "BIF"):
        return parse(text, budget=Budget("BIF text", len(text), limit), normalize=normalize)


def write_bif(
    model: Any, path: PathLike, *, strict: bool = True, name: str = "unknown"
) -> LossReport:
    """Write a discrete network as BIF, gzipped if the path ends in ``.gz``.

    Numbers are written so that they read back as the same floats. Kinds of variables, scores of
    arcs and annotations are in comments, from which `read_bif` restores them. The file is replaced
    as a whole or not at all.

    Parameters
    ----------
    model : BayesianNetwork
    path : str or path
    strict : bool
        Whether names and states are refused that are not text, or that have quotes or line breaks.
        If false, similar words are written for them, and comments from which `read_bif` restores
        them.
    name : str
        Name of the network in the file.

    Returns
    -------
    LossReport
        What other programs read in another form, and what is lost.

    Raises
    ------
    LossyExportError
        If BIF cannot hold the model; the message lists all problems.
    """
    text, report = _formatted(model, name, strict=strict)
    write_text(path, text)
    return report


def format_bif(model: Any, *, strict: bool = True, name: str = "unknown") -> str:
    """Return a discrete network as BIF text; see `write_bif`.

    Raises
    ------
    LossyExportError
        If BIF cannot hold the model; the message lists all problems.

    Examples
    --------
    >>> from bayesgraph import Discrete
    >>> rain = Discrete("rain", ["no", "yes"])
    >>> print(format_bif(BayesianNetwork([TableCPD(rain, [0.8, 0.2])])), end="")
    network unknown {
    }
    variable rain {
      type discrete [ 2 ] { no, yes };
    }
    probability ( rain ) {
      table 0.8, 0.2;
    }
    """
    return _formatted(model, name, strict=strict)[0]


def _formatted(model: Any, name: str, *, strict: bool) -> tuple[str, LossReport]:
    found = Export.of(model, HELD, strict=strict)
    network = TEXT.exact(name, 0)
    if network is None:
        raise LossyExportError(f"The network's name in BIF is {TEXT.held}; got {name!r:.80}.")
    names = {v: _quoted(word) for v, word in found.words.names.items()}
    states = {v: list(map(_quoted, words)) for v, words in found.words.states.items()}
    tables = [cpd for cpd in found.cpds if isinstance(cpd, TableCPD)]
    parts = [f"network {_quoted(network)} {{\n}}\n"]
    parts += [_declaration(names[v], states[v]) for v in names]
    for cpd in tables:
        parts.extend(_probability(cpd, names, states))
    parts += [f"// {line}\n" for line in found.sidecar]
    return "".join(parts), found.report


def _quoted(word: str) -> str:
    """Return a word as it stands in a file, in quotes unless other programs read it without."""
    bare = _BARE.fullmatch(word) and word not in _KEYWORDS
    return word if bare else f'"{word}"'


def _declaration(name: str, states: Sequence[str]) -> str:
    """Return the block that declares a variable."""
    return f"variable {name} {{\n  type discrete [ {len(states)} ] {{ {', '.join(states)} }};\n}}\n"


def _probability(
    cpd: TableCPD, names: Mapping[Variable, str], states: Mapping[Variable, Sequence[str]]
) -> Iterator[str]:
    """Yield the text of the BIF block that has the table of a CPD, in pieces."""
    head = names[cpd.variable]
    if not cpd.parents:
        yield f"probability ( {head} ) {{\n  table {_numbers(cpd.values.tolist())};\n}}\n"
        return
    parents = ", ".join(names[parent] for parent in cpd.parents)
    yield f"probability ( {head} | {parents} ) {{\n"
    rows = cpd.values.reshape(-1, cpd.variable.cardinality).tolist()
    configurations = product(*(states[parent] for parent in cpd.parents))
    for given, row in zip(configurations, rows, strict=True):
        yield f"  ({', '.join(given)}) {_numbers(row)};\n"
    yield "}\n"


def _numbers(row: list[float]) -> str:
    # repr gives the shortest decimal that reads back as the same float.
    return ", ".join(map(repr, row))


FORMAT = FileFormat("BIF", read_bif, write_bif, holds=HELD)
