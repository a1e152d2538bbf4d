"""BIF, the Interchange Format for Bayesian Networks (Cozman 1998), plain or gzipped.

The format holds names and states as text, and conditional probability tables. Most programs of the
field read it; the repository of bnlearn (https://www.bnlearn.com/bnrepository/) uses it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from bayesgraph.core import files
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import (
    BayesGraphError,
    LossyExportError,
    quoted,
    suggestion,
)
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.files import table_rows
from bayesgraph.files.blocks import BlockText, Comments, decoded
from bayesgraph.files.exporting import Export, Sidecar, skip, skip_name
from bayesgraph.files.formats import Capabilities, FileFormat, TextSpelling
from bayesgraph.models import BayesianNetwork, TableCPD

# ------------------------------------------------------------------------------ Parser of BIF text
# Names are parsed in small steps, which gives precise errors; the many numbers are parsed by one
# regular expression per row.


# All repetitions are possessive: without backtracking, the time is linear.
# Pattern of text without braces outside quotes.
_FLAT = r'[^"{}]*+(?:"[^"]*+"[^"{}]*+)*+'
_BLOCK = re.compile(
    rf"\s*+(?P<kind>network|variable|probability)\b(?P<head>{_FLAT})"
    rf"\{{(?P<body>{_FLAT}(?:\{{{_FLAT}\}}{_FLAT})*+)\}}\s*+;?+"
)
_KIND = re.compile(r"(?:network|variable|probability)\b")
_COMMENTS = Comments("//", block=True, string='"[^"]*+"')
_WORD = re.compile(r'"([^"]*+)"|([|])|([^\s,|"]++)')
_PROPERTY = r'property\b[^;"]*+(?:"[^"]*+"[^;"]*+)*+;'
_PROPERTIES = re.compile(_PROPERTY)
_TYPE = re.compile(
    rf"\s*+(?:type\s++(?P<type>\w++)\s*+(?:\[\s*+(?P<count>\d{{1,9}}+)\s*+\]\s*+)?+=?+\s*+"
    rf"\{{(?P<states>{_FLAT})\}}\s*+;|{_PROPERTY})"
)
_NUMBERS = r"([-+.0-9eE,\s]*+)"
_ENTRY = re.compile(
    r'\s*+(?:\(([^()"]*+(?:"[^"]*+"[^()"]*+)*+)\)'
    + _NUMBERS
    + r";|\b(table|default)\b"
    + _NUMBERS
    + rf";|{_PROPERTY})"
)


def parse(text: str, *, budget: files.Budget, normalize: table_rows.Normalize) -> BayesianNetwork:
    """Return the network of a BIF text.

    Parameters
    ----------
    text : str
    budget : Budget
        What reading may allocate; it has the path for messages.
    normalize : bool or "always"
        Which rows are divided by their sums, with a warning; see `RoundedRows`.

    Raises
    ------
    FileFormatError
    """
    return _Parser(text, budget).network(normalize=normalize)


@dataclass
class _Block:
    """A block of a BIF text: its start, the words before ``{``, and the range of its body."""

    start: int
    head: str
    body: tuple[int, int]


class _Parser(BlockText):
    def __init__(self, text: str, budget: files.Budget) -> None:
        super().__init__(text, budget, _COMMENTS)
        self._budget = budget
        # From the states of each variable that is a parent to their codes.
        self._codes: dict[Name, dict[str, int]] = {}

    def network(self, *, normalize: table_rows.Normalize) -> BayesianNetwork:
        blocks = self._blocks()
        for block in blocks["network"]:
            skip_name(" ".join(_readings(block.head)[-1]))
            body = self.text[slice(*block.body)]
            skip("network", "property", len(_PROPERTIES.findall(body)))
        variables = self._variables(blocks["variable"])
        rounded = table_rows.RoundedRows(normalize=normalize)
        cpds: dict[str, TableCPD] = {}
        # Rows whose sum overflows are refused like all rows that do not sum to one.
        with np.errstate(over="ignore", invalid="ignore"):
            for block in blocks["probability"]:
                child, parents = self._family(block, variables)
                if child.name in cpds:
                    text = f"{child.name!r} has a second probability block."
                    raise self.error(block.start, text)
                assert isinstance(child.name, str)  # as all names of a BIF file
                cpds[child.name] = self._cpd(block, child, parents, rounded)
        without = [name for name in variables if name not in cpds]
        if without:
            raise self.error(
                len(self.text), f"expected a probability block for each of {quoted(without)}."
            )
        # The order of the CPDs is that of the declarations, which becomes that of the variables.
        network = table_rows.network_of([cpds[name] for name in variables], rounded, self.source)
        return Sidecar.of(self.sidecar, self.source).restore(network)

    def _blocks(self) -> dict[str, list[_Block]]:
        blocks: dict[str, list[_Block]] = {"network": [], "variable": [], "probability": []}
        at = 0
        end = len(self.text.rstrip())
        while at < end:
            match = _BLOCK.match(self.text, at)
            if match is None:
                kind = _KIND.match(self.text, self.after_blanks(at))
                if kind is None:
                    expected = "'network', 'variable' or 'probability' at the start of a block"
                elif self.text.count('"', at) % 2:
                    expected = (
                        f"the end of a quote in the {kind[0]} block that starts here or after it"
                    )
                else:
                    expected = (
                        f"'{{' and '}}' around the {kind[0]} block here; the file may be truncated"
                    )
                raise self.error(at, f"expected {expected}; got {self.seen(at)}.")
            block = _Block(match.start("kind"), match["head"].strip(), match.span("body"))
            blocks[match["kind"]].append(block)
            at = match.end()
        if not blocks["variable"]:
            raise self.error(0, "expected at least one 'variable' block; this is not a BIF file.")
        return blocks

    # -------------------------------------------------------------------------------- variables

    def _variables(self, blocks: list[_Block]) -> dict[str, Discrete]:
        variables: dict[str, Discrete] = {}
        for block in blocks:
            name = self._name(block)
            if name in variables:
                raise self.error(block.start, f"the variable {name!r} is declared a second time.")
            states = self._states(block, name)
            try:
                variables[name] = Discrete(name, states)
            except BayesGraphError as error:
                raise self.error(block.start, str(error)) from error
        return variables

    def _name(self, block: _Block) -> str:
        for names in _readings(block.head):
            if len(names) == 1:
                return names[0]
        raise self.error(block.start, f"expected one name after 'variable'; got {block.head!r}.")

    def _states(self, block: _Block, name: str) -> list[str]:
        states: list[str] | None = None
        at, end = block.body
        while match := _TYPE.match(self.text, at, end):
            if match["states"] is not None:
                states = self._declared(match, name)
            else:
                skip("variables", "property")
            at = match.end()
        if states is None or self.after_blanks(at) < end:
            raise self.error(
                at,
                f"expected 'type discrete [ n ] {{ states }};' or 'property ...;' for {name!r}; "
                f"got {self.seen(at, end)}.",
            )
        return states

    def _declared(self, match: re.Match[str], name: str) -> list[str]:
        if match["type"] != "discrete":
            raise self.error(
                match.start("type"),
                f"expected 'type discrete' for {name!r}; got {match['type']!r}, which BIF files of "
                "tables do not have.",
            )
        readings = _readings(match["states"])
        if match["count"] is None:
            return readings[-1] if "," in match["states"] else readings[0]
        count = int(match["count"])
        for states in readings:
            if len(states) == count:
                return states
        raise self.error(
            match.start("states"),
            f"expected {count} states for {name!r}, as its type says; got {len(readings[0])}: "
            f"{quoted(readings[0])}.",
        )

    # ----------------------------------------------------------------------------------- tables

    def _family(
        self, block: _Block, variables: dict[str, Discrete]
    ) -> tuple[Discrete, list[Discrete]]:
        head = block.head
        if not (head.startswith("(") and head.endswith(")")):
            raise self.error(
                block.start, f"expected 'probability ( child | parents )'; got {head!r}."
            )
        left, right = _split_bar(head[1:-1])
        children = self._known(left, variables, block)
        parents = self._known(right, variables, block)
        if parents and len(children) != 1:
            raise self.error(
                block.start, f"expected one variable before '|'; got {quoted(children)}."
            )
        if not children:
            raise self.error(block.start, "expected the name of a variable after 'probability ('.")
        # Without a bar the first name is the child and the others are its parents (older files).
        family = [variables[name] for name in children + parents]
        if len(family) > files.MAX_AXES:
            raise self.error(
                block.start,
                f"expected at most {files.MAX_AXES - 1} parents of {family[0].name!r}, as a table "
                f"has at most {files.MAX_AXES} axes; got {len(family) - 1}.",
            )
        return family[0], family[1:]

    def _known(self, text: str, variables: dict[str, Discrete], block: _Block) -> list[str]:
        readings = _readings(text)
        for names in readings:
            if all(name in variables for name in names):
                return names
        unknown = next(name for name in readings[0] if name not in variables)
        near = suggestion(unknown, variables)
        raise self.error(block.start, f"the variable {unknown!r} is not declared.{near}")

    def _cpd(
        self,
        block: _Block,
        child: Discrete,
        parents: list[Discrete],
        rounded: table_rows.RoundedRows,
    ) -> TableCPD:
        codes = [self._codes_of(parent) for parent in parents]
        rows = table_rows.TableRows(child, parents, codes, self.error)
        whole = self._entries(block, rows)
        values = rows.table(block.start, self._budget) if whole is None else whole
        try:
            return table_rows.table_of(child, values, parents, rounded)
        except BayesGraphError as error:
            repaired = rounded.repaired(child.name, values)
            at = rows.places.get(table_rows.first_bad_row(repaired), block.start)
            raise self.error(at, _explained(error, whole)) from error

    def _entries(self, block: _Block, rows: table_rows.TableRows) -> Floats | None:
        """Read the entries of a block; return its ``table``, with the child on the last axis."""
        whole: Floats | None = None
        child = rows.child
        at, end = block.body
        while match := _ENTRY.match(self.text, at, end):
            states, row, word, values = match.groups()
            if states is not None:
                rows.add(self._given(states, rows.parents, at), row, at)
            elif word == "default":
                if rows.default is not None:
                    raise self.error(at, f"{child.name!r} has a second 'default'.")
                rows.default = rows.floats(values, at, child.cardinality)
            elif word == "table":
                if whole is not None:
                    raise self.error(at, f"{child.name!r} has a second 'table'.")
                shape = [child.cardinality, *(parent.cardinality for parent in rows.parents)]
                numbers = rows.floats(values, at, math.prod(shape))
                whole = np.ascontiguousarray(np.moveaxis(np.reshape(numbers, shape), 0, -1))
            else:
                skip("tables", "property")
            at = match.end()
        if self.after_blanks(at) < end:
            raise self.error(
                at,
                "expected 'table p, ...;', '(states) p, ...;', 'default p, ...;' or "
                f"'property ...;' with numbers p for {child.name!r}; got {self.seen(at, end)}.",
            )
        if whole is not None and rows.places:
            raise self.error(
                block.start, f"expected one 'table' or rows for {child.name!r}; got both."
            )
        return whole

    def _codes_of(self, variable: Discrete) -> dict[str, int]:
        if variable.name not in self._codes:
            codes = {str(state): code for code, state in enumerate(variable.states)}
            self._codes[variable.name] = codes
        return self._codes[variable.name]

    def _given(self, text: str, parents: Sequence[Discrete], at: int) -> list[str]:
        """Return the states of the parents that stand before a row, separated by commas."""
        states = [part.strip() for part in text.split(",")]
        if len(states) == len(parents) and '"' not in text:
            return states
        fitting = [names for names in _readings(text) if len(names) == len(parents)]
        if not fitting:
            raise self.error(
                at,
                f"expected a state for each of the {len(parents)} parents "
                f"({quoted(parent.name for parent in parents)}); got ({text}).",
            )
        return fitting[0]


def _explained(error: BayesGraphError, whole: Floats | None) -> str:
    """Return the message of a refused table, with a hint if the child seems to vary fastest."""
    if whole is not None and whole.ndim > 1:
        n = whole.shape[-1]
        if table_rows.sum_to_one(np.moveaxis(whole, -1, 0).reshape(-1, n)):
            return (
                f"{error} In a BIF 'table' the child varies slowest; this one reads as if it "
                "varied fastest."
            )
    return str(error)


def _split_bar(text: str) -> tuple[str, str]:
    """Return the text before and after the first ``|`` outside quotes: child and parents."""
    for match in _WORD.finditer(text):
        if match[2]:
            return text[: match.start()], text[match.end() :]
    return text, ""


def _readings(text: str) -> list[list[str]]:
    """Return the possible ways to split a list of names, the most literal way first.

    Names are separated by commas or blanks; a quoted name is everything between the quotes. Some
    programs write names with blanks without quotes: the second way, if it differs, separates by
    commas alone.
    """
    words = [match[1] if match[1] is not None else match[0] for match in _WORD.finditer(text)]
    parts = [part.strip() for part in text.split(",")]
    if '"' in text or "" in parts or parts == words:
        return [words]
    return [words, parts]


# --------------- BIF, the Interchange Format for Bayesian Networks (Cozman 1998), plain or gzipped


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
    path: files.PathLike,
    *,
    normalize: table_rows.Normalize = True,
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
    with files.reading(files.path_text(path), "BIF"):
        text, budget = decoded(path, encoding, limit)
        return parse(text, budget=budget, normalize=normalize)


def parse_bif(
    text: str, *, normalize: table_rows.Normalize = True, limit: int | None = None
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
    with files.reading("BIF text", "BIF"):
        return parse(text, budget=files.Budget("BIF text", len(text), limit), normalize=normalize)


def write_bif(
    model: Any, path: files.PathLike, *, strict: bool = True, name: str = "unknown"
) -> files.LossReport:
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
    files.write_text(path, text)
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


def _formatted(model: Any, name: str, *, strict: bool) -> tuple[str, files.LossReport]:
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
