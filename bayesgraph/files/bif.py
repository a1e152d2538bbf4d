"""BIF, the Interchange Format for Bayesian Networks (Cozman 1998), plain or gzipped.

The format holds names and states as text, and conditional probability tables. Most programs of the
field read it; the repository of bnlearn (https://www.bnlearn.com/bnrepository/) uses it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, product
from typing import Any, TypeAlias

import numpy as np

from bayesgraph.core import files
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import FileFormatError, LossyExportError, quoted, suggestion
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.files.blocks import BlockText
from bayesgraph.files.exporting import Export, Sidecar, row_texts, skip, skip_name
from bayesgraph.files.formats import Capabilities, FileFormat, TextSpelling
from bayesgraph.files.readers import DECIMAL, Draft, Normalize, decimals
from bayesgraph.models import BayesianNetwork, TableCPD

# ------------------------------------------------------------------------------ Parser of BIF text
# Names are parsed in small steps, which gives precise errors. Rows that have all signs in their
# places are read at once; others by one regular expression per row, which names what is wrong.


# All repetitions are possessive: without backtracking, the time is linear.
# Pattern of text without braces outside quotes.
_FLAT = r'[^"{}]*+(?:"[^"]*+"[^"{}]*+)*+'
_BLOCK = re.compile(
    rf"\s*+(?P<kind>network|variable|probability)\b(?P<head>{_FLAT})"
    rf"\{{(?P<body>{_FLAT}(?:\{{{_FLAT}\}}{_FLAT})*+)\}}\s*+;?+"
)
_KIND = re.compile(r"(?:network|variable|probability)\b")
# A quoted name (group 1), a bar (group 2) or another word.
_WORD = re.compile(r'"([^"]*+)"|([|])|([^\s,|"]++)')
_PROPERTY = r'property\b[^;"]*+(?:"[^"]*+"[^;"]*+)*+;'
_PROPERTIES = re.compile(_PROPERTY)
_TYPE = re.compile(
    rf"\s*+(?:type\s++(?P<type>\w++)\s*+(?:\[\s*+(?P<count>\d{{1,9}}+)\s*+\]\s*+)?+=?+\s*+"
    rf"\{{(?P<states>{_FLAT})\}}\s*+;|{_PROPERTY})"
)
_ENTRY = re.compile(
    r'\s*+(?:(?:\(([^()"]*+(?:"[^"]*+"[^()"]*+)*+)\)|\b(table|default)\b)'
    rf"([-+.0-9eE,\s]*+);|{_PROPERTY})"
)
# The bytes to remove so that only the signs between words stay.
_NOT_SIGNS = bytes(set(range(256)) - set(b'(),;"'))


# A match of `_BLOCK`.
_Block: TypeAlias = re.Match[str]


def parse(
    data: bytes,
    budget: files.Budget,
    *,
    normalize: Normalize = True,
    encoding: str = "utf-8-sig",
) -> BayesianNetwork:
    """Return the network of a BIF file.

    Names and states are text, states such as ``0`` included. Variables come in the order of their
    declaration. Properties and the network's own name are skipped. In a ``table`` with parents, the
    child varies slowest and the last parent fastest.

    Parameters
    ----------
    data : bytes
    budget : Budget
        Bytes that reading the file may allocate beyond its text, such as for a table of which the
        file has only a ``default``; its ``limit=`` is by default 64 MB and 40 times the file's
        bytes. It also limits what a gzip file inflates to, by default 100 times its bytes.
    normalize : bool or "always"
        Whether rows whose sum is off by up to 0.02 (printed with few digits) are divided by their
        sum, with one warning that names the tables and the deviation; if false, they are refused.
        "always" divides all rows, such as counts; a row of zeros becomes uniform. Rows off by at
        most 1e-6 are kept, but that numbers of -1e-6 to 0 become zero unless `normalize` is false.
    encoding : str
        Encoding of the text.

    Raises
    ------
    FileFormatError
        If the file is not valid BIF, or beyond the limit; the message has the line and the expected
        text, or the size.

    Examples
    --------
    >>> net = parse_bif('''
    ...     variable rain { type discrete [2] { no, yes }; }
    ...     probability ( rain ) { table 0.8, 0.2; }
    ... ''')
    >>> net.variable("rain")
    Discrete('rain', ['no', 'yes'])
    """
    text = BlockText(data, budget, encoding, "//", between=True, string='"[^"]*+"')
    return _Parser(text, Draft("BIF", "probability block", budget, normalize, text.error)).network()


class _Parser:
    """Reads the blocks of a BIF text, and declares variables and tables in a draft of the network.

    Positions, such as `at`, are those in the text without comments; errors give their lines.
    """

    def __init__(self, text: BlockText, draft: Draft) -> None:
        self._text = text
        self._draft = draft
        self._error = text.error

    def network(self) -> BayesianNetwork:
        """Return the network of the file: its variables are declared before any table is read."""
        blocks = self._blocks()
        for block in blocks["network"]:
            # The last reading keeps a name with blanks without quotes whole.
            skip_name(" ".join(_readings(block["head"])[-1]))
            skip("network", "property", len(_PROPERTIES.findall(block["body"])))
        for block in blocks["variable"]:
            # A name with blanks without quotes is several words, and one name in another reading.
            at, head = block.start("kind"), block["head"].strip()
            name = next((names[0] for names in _readings(head) if len(names) == 1), None)
            if name is None:
                raise self._error(at, f"expected one name after 'variable'; got {head!r}.")
            self._draft.declare(at, name, Discrete, self._states(block, name))
        for block in blocks["probability"]:
            family = self._family(block)
            self._draft.cpds[str(family[-1].name)] = self._cpd(block, family)
        sidecar = Sidecar.of(self._text.sidecar, self._text.source)
        return self._draft.network(sidecar, at=len(self._text.text))

    def _blocks(self) -> dict[str, list[_Block]]:
        """Return the blocks of the file by their kinds."""
        text = self._text.text
        blocks: dict[str, list[_Block]] = {"network": [], "variable": [], "probability": []}
        at = 0
        while not self._text.is_done(at):
            match = _BLOCK.match(text, at)
            if match is None:
                # Say what is expected: a block, or the end of the one that begins here.
                kind = _KIND.match(text, self._text.after_blanks(at))
                expected = "'network', 'variable' or 'probability' at the start of a block"
                if kind is not None:
                    expected = (
                        f"'{{' and '}}' around the {kind[0]} block here, and the end of a quote in "
                        "it; the file may be truncated"
                    )
                raise self._error(at, f"expected {expected}; got {self._text.seen(at)}.")
            blocks[match["kind"]].append(match)
            at = match.end()
        if not blocks["variable"]:
            raise self._error(0, "expected at least one 'variable' block; this is not a BIF file.")
        return blocks

    def _entries(
        self, block: _Block, pattern: re.Pattern[str], of: str, expected: str
    ) -> Iterator[re.Match[str]]:
        """Yield the entries of a block that a pattern matches; properties are skipped.

        `of` is the part of the file that properties are left out of (see `skip`), and `expected`
        says in errors what an entry is.
        """
        at, end = block.span("body")
        while match := pattern.match(self._text.text, at, end):
            # Only the pattern's alternative of a property has no groups.
            if match.lastindex is None:
                skip(of, "property")
            else:
                yield match
            at = match.end()
        if self._text.after_blanks(at) < end:
            raise self._error(at, f"expected {expected}; got {self._text.seen(at, end)}.")

    def _states(self, block: _Block, name: str) -> list[str]:
        """Return the states of a variable; of several declarations in its block the last counts."""
        expected = f"'type discrete [ n ] {{ states }};' or 'property ...;' for {name!r}"
        entries = self._entries(block, _TYPE, "variables", expected)
        declared = [self._declared(match, name) for match in entries]
        if not declared:
            raise self._error(block.start("kind"), f"expected {expected}; got the end.")
        return declared[-1]

    def _declared(self, match: re.Match[str], name: str) -> list[str]:
        """Return the states of a declaration ``type discrete [ n ] { ... }``, a match of `_TYPE`.

        Of the readings of its list (see `_readings`) it is the one with n states. Without n, states
        are separated by commas if there are any, and else by blanks.
        """
        if match["type"] != "discrete":
            raise self._error(
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
        raise self._error(
            match.start("states"),
            f"expected {count} states for {name!r}, as its type says; got {len(readings[0])}: "
            f"{quoted(readings[0])}.",
        )

    # ----------------------------------------------------------------------------------- tables

    def _family(self, block: _Block) -> list[Discrete]:
        """Return the parents and the child of a block."""
        at, head = block.start("kind"), block["head"].strip()
        if not (head.startswith("(") and head.endswith(")")):
            raise self._error(at, f"expected 'probability ( child | parents )'; got {head!r}.")
        # Child and parents are before and after the first bar outside quotes.
        inner = head[1:-1]
        bar = next((match for match in _WORD.finditer(inner) if match[2]), None)
        parts = [inner] if bar is None else [inner[: bar.start()], inner[bar.end() :]]
        children, *parents = (self._declared_names(part) for part in parts)
        if any(parents) and len(children) != 1:
            raise self._error(at, f"expected one variable before '|'; got {quoted(children)}.")
        if not children:
            raise self._error(at, "expected the name of a variable after 'probability ('.")
        # Without a bar the first name is the child and the others are its parents (older files).
        child, *names = [*children, *(name for part in parents for name in part)]
        return self._draft.family(at, child, names)

    def _declared_names(self, text: str) -> list[str]:
        """Return the names of a list in the first reading of which all are declared."""
        readings = _readings(text)
        declared = self._draft.variables.keys()
        return next((names for names in readings if declared >= {*names}), readings[0])

    def _cpd(self, block: _Block, family: Sequence[Discrete]) -> TableCPD:
        """Return the distribution of the entries of a block."""
        *parents, child = family
        start = block.start("kind")
        shape = self._draft.shape(start, family)
        codes = [{str(s): code for code, s in enumerate(parent.states)} for parent in parents]
        n_rows, size = math.prod(shape[:-1]), shape[-1]
        expected = (
            "'table p, ...;', '(states) p, ...;', 'default p, ...;' or 'property ...;' with "
            f"numbers p for {child.name!r}"
        )
        table = _table_of_rows(block["body"], codes, shape)
        if table is not None:
            # A row that is refused is read again below, for its line.
            with suppress(FileFormatError):
                return self._draft.table(start, family, table)
        # Numbers by the word before them (table, default), or by the index of a configuration of
        # the parents, the last parent fastest; and where in the text each of them stands.
        rows: dict[Any, list[float]] = {}
        places: dict[Any, int] = {}
        for match in self._entries(block, _ENTRY, "tables", expected):
            states, word, numbers = match.groups()
            at = match.start()
            key = word if states is None else self._index(states, parents, codes, at)
            if key in rows:
                shown = word or f"({states.strip()})"
                raise self._error(at, f"{child.name!r} has a second {shown!r}.")
            rows[key] = self._floats(numbers, at, child, n_rows * size if key == "table" else size)
            places[key] = at
        whole, default = rows.pop("table", None), rows.pop("default", None)
        if whole is not None:
            if rows:
                raise self._error(
                    start, f"expected one 'table' or rows for {child.name!r}; got both."
                )
            # In a whole table the child varies slowest.
            table = np.moveaxis(np.reshape(whole, [size, *shape[:-1]]), 0, -1)
            table = np.ascontiguousarray(table)
            return self._draft.table(start, family, table, slowest=True)
        if default is not None:
            # No text confirms the size of the table.
            nbytes = files.BYTES_OF_CELL * n_rows * size
            self._draft.budget.take(nbytes, f"the table of {child.name!r}")
        elif len(rows) < n_rows:
            configurations = enumerate(product(*(parent.states for parent in parents)))
            missing = next(states for row, states in configurations if row not in rows)
            what = f"the row ({', '.join(map(str, missing))})" if parents else "its probabilities"
            raise self._error(
                start,
                f"expected {what} for {child.name!r}: {n_rows - len(rows):,} of {n_rows:,} rows "
                "are missing and there is no 'default'.",
            )
        table = np.full((n_rows, size), 0.0 if default is None else default)
        if rows:  # what is left in it is by the index of a configuration
            table[list(rows)] = list(rows.values())
        return self._draft.table(start, family, table, place=lambda row: places.get(row, start))

    def _floats(self, text: str, at: int, child: Discrete, count: int) -> list[float]:
        """Return the numbers of a text, or refuse it if there are not `count` of them."""
        words = text.replace(",", " ").split()
        name = child.name
        if len(words) != count:
            raise self._error(at, f"expected {count} probabilities for {name!r}; got {len(words)}.")
        try:
            return list(map(float, words))
        except ValueError as error:
            raise self._error(at, f"expected numbers for {name!r}: {error}.") from error

    def _index(
        self, text: str, parents: Sequence[Discrete], codes: Sequence[Mapping[str, int]], at: int
    ) -> int:
        """Return the index of the configuration of the states that stand before a row.

        The last parent varies fastest. `codes` maps the states of each parent to their codes.
        """
        words = next((names for names in _readings(text) if len(names) == len(parents)), [])
        if len(words) != len(parents):
            raise self._error(
                at,
                f"expected a state for each of the {len(parents)} parents "
                f"({quoted(parent.name for parent in parents)}); got ({text}).",
            )
        index = 0
        for parent, code_of, word in zip(parents, codes, words, strict=True):
            code = code_of.get(word)
            if code is None:
                near = suggestion(word, parent.states)
                raise self._error(
                    at,
                    f"{word!r:.40} is not a state of {parent.name!r}.{near} Its states are "
                    f"{quoted(parent.states)}.",
                )
            index = index * parent.cardinality + code
        return index


def _table_of_rows(
    text: str, codes: Sequence[Mapping[str, int]], shape: Sequence[int]
) -> Floats | None:
    """Return the table of a list of rows ``(states) numbers;``, which is read column by column.

    None if it is anything but a row for each configuration, with a comma between any two words.

    Parameters
    ----------
    text : str
        Body of the block.
    codes : sequence of dict
        From the states of each parent to their codes.
    shape : sequence of int
        Numbers of states of the parents, and last of the child.

    Returns
    -------
    ndarray of float, shape (n_rows, n_states), or None
        Rows in the order of the configurations, the last parent fastest.
    """
    n_rows, n_parents, n_states = math.prod(shape[:-1]), len(codes), shape[-1]
    # The signs of one row, in their order; a table without parents has no such rows.
    row = b"(%b)%b;" % (b"," * (n_parents - 1), b"," * (n_states - 1))
    signs = text.encode("ascii", "replace").translate(None, _NOT_SIGNS)
    if not codes or len(signs) != n_rows * len(row) or signs != n_rows * row:
        return None
    # Each sign ends a word, so that a row has as many words as signs: blanks before "(", the states
    # and the numbers. Word k of all rows is column k.
    words = text.replace("(", ",").replace(")", ",").replace(";", ",").split(",")
    blanks, *columns = (words[k :: len(row)] for k in range(len(row)))
    numbers = [*chain.from_iterable(columns[n_parents:])]
    table_text = " ".join(numbers).encode("ascii", "replace")
    # As many words as cells make a table below: with a word in each cell, all have one.
    if table_text.translate(None, DECIMAL) or not all(map(str.strip, numbers)):
        return None
    if "".join(blanks).strip():
        return None
    indices = np.zeros(n_rows, np.intp)
    try:
        # Parents come first in all three; `shape` and `columns` go on with the child.
        for code_of, card, column in zip(codes, shape, columns, strict=False):
            # Few words are different ones, with the blanks around them.
            code_of_word = {word: code_of[word.strip()] for word in {*column}}
            # The index of a configuration has the states as digits, the first parent's highest.
            indices *= card
            indices += [code_of_word[word] for word in column]
        by_state = decimals(table_text).reshape(n_states, n_rows)
    except (KeyError, ValueError):
        return None
    # NaN stays where a configuration is missing because another is there twice.
    table = np.full((n_rows, n_states), np.nan)
    table[indices] = by_state.T
    return None if np.isnan(table).any() else table


def _readings(text: str) -> list[list[str]]:
    """Return the possible ways to split a list of names, the most literal way first.

    Names are separated by commas or blanks; a quoted name is everything between the quotes. Some
    programs write names with blanks without quotes: the second way, if it differs, separates by
    commas alone.
    """
    words = [match[1] if match[1] is not None else match[0] for match in _WORD.finditer(text)]
    parts = [part.strip() for part in text.split(",")]
    # Quotes leave no doubt; an empty part (no names, or one comma too many) is no name.
    if '"' in text or "" in parts or parts == words:
        return [words]
    return [words, parts]


# --------------- BIF, the Interchange Format for Bayesian Networks (Cozman 1998), plain or gzipped


# Pattern of text that other programs read without quotes. Keywords of the format, which has them in
# lower case only, are quoted too.
_BARE = re.compile(
    r"(?!(?:network|variable|probability|property|type|discrete|table|default)\Z)"
    r"[A-Za-z0-9_][A-Za-z0-9_.\-]*"
)
TEXT = TextSpelling(
    "text without double quotes and line breaks",
    re.compile(r'[^"\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*+'),
    wrong=re.compile(r'["\n\r\v\f\x1c-\x1e\x85\u2028\u2029]'),
)
HELD = Capabilities("BIF", names=TEXT, states=TEXT)


def formatted(
    model: Any, *, strict: bool = True, name: str = "unknown"
) -> tuple[str, files.LossReport]:
    """Return a discrete network as BIF text, and what is lost.

    Numbers are written so that they read back as the same floats. Kinds of variables, scores of
    arcs and annotations are in comments, from which the reader restores them.

    Parameters
    ----------
    model : BayesianNetwork
    strict : bool
        Whether names and states are refused that are not text, or that have quotes or line breaks.
        If false, similar words are written for them, and comments from which the reader restores
        them.
    name : str
        Name of the network in the file.

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
    export = Export.of(model, HELD, strict=strict)
    network = TEXT.exact(name, 0)
    if network is None:
        raise LossyExportError(f"The network's name in BIF is {TEXT.held}; got {name!r:.80}.")
    names = {v: _quoted(word) for v, word in export.names.items()}
    states = {v: list(map(_quoted, words)) for v, words in export.states.items()}
    parts = [f"network {_quoted(network)} {{\n}}\n"]
    for variable, words in states.items():
        kind = f"type discrete [ {len(words)} ] {{ {', '.join(words)} }};"
        parts.append(f"variable {names[variable]} {{\n  {kind}\n}}\n")
    for cpd in export.cpds:
        parts.extend(_probability(cpd, names, states))
    parts += [f"// {line}\n" for line in export.sidecar]
    return "".join(parts), export.report


def _quoted(word: str) -> str:
    """Return a word as it stands in a file, in quotes unless other programs read it without."""
    return word if _BARE.fullmatch(word) else f'"{word}"'


def _probability(
    cpd: TableCPD, names: Mapping[Variable, str], states: Mapping[Variable, Sequence[str]]
) -> Iterator[str]:
    """Yield the text of the BIF block that has the table of a CPD, in pieces."""
    bar = " | " if cpd.parents else ""
    parents = ", ".join(names[parent] for parent in cpd.parents)
    yield f"probability ( {names[cpd.variable]}{bar}{parents} ) {{\n"
    configurations = product(*(states[parent] for parent in cpd.parents))
    for configuration, row in zip(configurations, row_texts(cpd, ", "), strict=True):
        head = f"({', '.join(configuration)})" if configuration else "table"
        yield f"  {head} {row};\n"
    yield "}\n"


FORMAT = FileFormat("BIF", parse, formatted, HELD)
parse_bif, format_bif = FORMAT.parse_text, FORMAT.format_text
