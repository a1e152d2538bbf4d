"""BIF, the Interchange Format for Bayesian Networks (Cozman 1998), plain or gzipped.

The format holds names and states as text, and conditional probability tables. Most programs of the
field read it; the repository of bnlearn (https://www.bnlearn.com/bnrepository/) uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

from bayesgraph.cpds import TableCPD
from bayesgraph.errors import FileFormatError, LossyExportError
from bayesgraph.io import FileFormat
from bayesgraph.io.bif_parser import parse
from bayesgraph.io.budget import Budget, reading
from bayesgraph.io.files import PathLike, path_text, read_unzipped, write_text
from bayesgraph.io.lossy import check_lossless, tables_of
from bayesgraph.io.row_sums import Normalize
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete, plain

# Pattern of text that other programs read without quotes. Keywords of the format are quoted too.
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


def write_bif(model: Any, path: PathLike, *, strict: bool = True, name: str = "unknown") -> None:
    """Write a discrete network as BIF, gzipped if the path ends in ``.gz``.

    Numbers are written so that they read back as the same floats. The file is replaced as a whole
    or not at all.

    Parameters
    ----------
    model : BayesianNetwork
    path : str or path
    strict : bool
        Whether names and states that are not text are refused. If false, they are written as
        ``str(state)``, with a warning that lists the changes.
    name : str
        Name of the network in the file.

    Raises
    ------
    LossyExportError
        If BIF cannot hold the model. The message lists all problems: continuous variables, names
        and states that are not text (unless `strict` is false and they remain distinct), quotes and
        line breaks.
    """
    write_text(path, format_bif(model, strict=strict, name=name))


def format_bif(model: Any, *, strict: bool = True, name: str = "unknown") -> str:
    """Return a discrete network as BIF text; see `write_bif`.

    Raises
    ------
    LossyExportError
        If BIF cannot hold the model; the message lists all problems.

    Examples
    --------
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
    if not isinstance(model, BayesianNetwork):
        raise LossyExportError(
            f"BIF holds Bayesian networks; got {model!r}. Of an average write one of its "
            "`networks`, or fit with n_trees=0; the native format (.bayesgraph) holds all models."
        )
    tables, problems, changes = tables_of(model)
    words = _Words([cpd.variable for cpd in tables], name, strict=strict)
    check_lossless("BIF", problems + words.problems, words.changes + changes)
    parts = [f"network {words.network} {{\n}}\n"]
    parts.extend(words.declaration(cpd.variable) for cpd in tables)
    for cpd in tables:
        parts.extend(_probability(cpd, words))
    return "".join(parts)


class _Words:
    """The names and states of a network as they are written in a BIF file, quoted if necessary.

    Parameters
    ----------
    variables : list of Discrete
    network : str
        The network's name.
    strict : bool
        Whether names and states that are not text are problems; otherwise they are changes.

    Attributes
    ----------
    problems, changes : list of str
        Messages on names and states that BIF cannot hold, and on those that are written as other
        text.
    """

    def __init__(self, variables: list[Discrete], network: str, *, strict: bool) -> None:
        self.changes: list[str] = []
        self.problems: list[str] = []
        self._strict = strict
        self.network = self._word(network, "the network's name")
        self.names: dict[Discrete, str] = {}
        self.states: dict[Discrete, list[str]] = {}
        for variable in variables:
            title = f"the name {variable.name!r}"
            self.names[variable] = self._word(variable.name, title)
            self.states[variable] = [
                self._word(state, f"the state {state!r} of {variable.name!r}")
                for state in variable.states
            ]
            self._check_distinct(self.states[variable], f"states of {variable.name!r}")
        self._check_distinct(list(self.names.values()), "names")

    def declaration(self, variable: Discrete) -> str:
        """Return the block that declares a variable."""
        states = ", ".join(self.states[variable])
        return (
            f"variable {self.names[variable]} {{\n"
            f"  type discrete [ {variable.cardinality} ] {{ {states} }};\n}}\n"
        )

    def _word(self, value: object, title: str) -> str:
        kind = type(plain(value))
        text = str(value)
        if kind is not str:
            if self._strict:
                self.problems.append(
                    f"{title} is not text but {kind.__name__} (strict=False writes it as {text!r})"
                )
            else:
                self.changes.append(f"{title} ({kind.__name__}) is written as {text!r}")
        if (fault := _unquotable(text)) is not None:
            self.problems.append(f"{title} has {fault}, which cannot be quoted")
        bare = _BARE.fullmatch(text) and text.lower() not in _KEYWORDS
        return text if bare else f'"{text}"'

    def _check_distinct(self, words: list[str], title: str) -> None:
        # In strict mode, different values with the same text are already listed as not being text.
        if not self._strict and len(set(words)) < len(words):
            same = sorted({word for word in words if words.count(word) > 1})
            self.problems.append(f"different {title} have the same text {', '.join(same)}")


def _unquotable(text: str) -> str | None:
    if '"' in text:
        return "a double quote"
    if text.splitlines() not in ([text], []):
        return "a line break"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "half a surrogate pair"
    return None


def _probability(cpd: TableCPD, words: _Words) -> Iterator[str]:
    """Yield the text of the BIF block that has the table of a CPD, in pieces."""
    head = words.names[cpd.variable]
    if not cpd.parents:
        yield f"probability ( {head} ) {{\n  table {_numbers(cpd.values.tolist())};\n}}\n"
        return
    parents = ", ".join(words.names[parent] for parent in cpd.parents)
    yield f"probability ( {head} | {parents} ) {{\n"
    rows = cpd.values.reshape(-1, cpd.variable.cardinality).tolist()
    configurations = product(*(words.states[parent] for parent in cpd.parents))
    for states, row in zip(configurations, rows, strict=True):
        yield f"  ({', '.join(states)}) {_numbers(row)};\n"
    yield "}\n"


def _numbers(row: list[float]) -> str:
    # repr gives the shortest decimal that reads back as the same float.
    return ", ".join(map(repr, row))


FORMAT = FileFormat("BIF", read_bif, write_bif)
