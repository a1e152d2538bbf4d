"""Parser of BIF text.

Names are parsed in small steps, which gives precise errors; the many numbers are parsed by one
regular expression per row. Comments are replaced by blanks first, so that positions in the text
still give the line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesgraph.cpds import TableCPD
from bayesgraph.errors import BayesGraphError, FileFormatError, quoted, suggestion
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.budget import MAX_AXES, Budget
from bayesgraph.io.row_sums import (
    Normalize,
    RoundedRows,
    first_bad_row,
    network_of,
    sum_to_one,
    table_of,
)
from bayesgraph.io.sidecar import Sidecar, content_of
from bayesgraph.io.skipped import skip, skip_name
from bayesgraph.io.table_rows import TableRows
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete, Name

# All repetitions are possessive: without backtracking, the time is linear.
# Pattern of text without braces outside quotes.
_FLAT = r'[^"{}]*+(?:"[^"]*+"[^"{}]*+)*+'
_BLOCK = re.compile(
    rf"\s*+(?P<kind>network|variable|probability)\b(?P<head>{_FLAT})"
    rf"\{{(?P<body>{_FLAT}(?:\{{{_FLAT}\}}{_FLAT})*+)\}}\s*+;?+"
)
_KIND = re.compile(r"(?:network|variable|probability)\b")
_COMMENT = re.compile(r'"[^"]*+"|//[^\n]*+|/\*.*?\*/|/\*', re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n]")
_BLANK = re.compile(r"\s*+")
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


def parse(text: str, *, budget: Budget, normalize: Normalize) -> BayesianNetwork:
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


class _Parser:
    def __init__(self, text: str, budget: Budget) -> None:
        self.source = budget.source
        self.text = text
        self._budget = budget
        # Lines of the sidecar in comments.
        self._lines: list[str] = []
        # From the states of each variable that is a parent to their codes.
        self._codes: dict[Name, dict[str, int]] = {}
        if "//" in text or "/*" in text:
            self.text = _COMMENT.sub(self._blanked, text)

    # ------------------------------------------------------------------------------- the text

    def _error(self, at: int, message: str) -> FileFormatError:
        line = self.text.count("\n", 0, self._after_blanks(at)) + 1
        return FileFormatError(f"{self.source}, line {line}: {message}")

    def _blanked(self, match: re.Match[str]) -> str:
        found = match[0]
        if found.startswith('"'):
            return found
        if found == "/*":
            raise self._error(
                match.start(), "expected '*/' at the end of the comment; it does not end."
            )
        if found.startswith("//") and (line := content_of(found[2:])) is not None:
            self._lines.append(line)
        else:
            skip("file", "comment")
        return _NOT_NEWLINE.sub(" ", found)

    def _after_blanks(self, at: int) -> int:
        return _BLANK.match(self.text, at).end()  # type: ignore[union-attr] # matches empty text too

    def _seen(self, at: int, end: int | None = None) -> str:
        """Return the beginning of the text from `at` to `end`, for messages."""
        line = self.text[self._after_blanks(at) : end].split("\n", 1)[0].strip()
        return repr(line[:40]) if line else "the end"

    def network(self, *, normalize: Normalize) -> BayesianNetwork:
        blocks = self._blocks()
        for block in blocks["network"]:
            skip_name(" ".join(_readings(block.head)[-1]))
            body = self.text[slice(*block.body)]
            skip("network", "property", len(_PROPERTIES.findall(body)))
        variables = self._variables(blocks["variable"])
        rounded = RoundedRows(normalize=normalize)
        cpds: dict[str, TableCPD] = {}
        # Rows whose sum overflows are refused like all rows that do not sum to one.
        with np.errstate(over="ignore", invalid="ignore"):
            for block in blocks["probability"]:
                child, parents = self._family(block, variables)
                if child.name in cpds:
                    text = f"{child.name!r} has a second probability block."
                    raise self._error(block.start, text)
                assert isinstance(child.name, str)  # as all names of a BIF file
                cpds[child.name] = self._cpd(block, child, parents, rounded)
        without = [name for name in variables if name not in cpds]
        if without:
            raise self._error(
                len(self.text), f"expected a probability block for each of {quoted(without)}."
            )
        # The order of the CPDs is that of the declarations, which becomes that of the variables.
        network = network_of([cpds[name] for name in variables], rounded, self.source)
        return Sidecar.of(self._lines, self.source).restore(network)

    def _blocks(self) -> dict[str, list[_Block]]:
        blocks: dict[str, list[_Block]] = {"network": [], "variable": [], "probability": []}
        at = 0
        end = len(self.text.rstrip())
        while at < end:
            match = _BLOCK.match(self.text, at)
            if match is None:
                raise self._block_error(at)
            block = _Block(match.start("kind"), match["head"].strip(), match.span("body"))
            blocks[match["kind"]].append(block)
            at = match.end()
        if not blocks["variable"]:
            raise self._error(0, "expected at least one 'variable' block; this is not a BIF file.")
        return blocks

    def _block_error(self, at: int) -> FileFormatError:
        kind = _KIND.match(self.text, self._after_blanks(at))
        if kind is None:
            expected = "'network', 'variable' or 'probability' at the start of a block"
        elif self.text.count('"', at) % 2:
            expected = f"the end of a quote in the {kind[0]} block that starts here or after it"
        else:
            expected = f"'{{' and '}}' around the {kind[0]} block here; the file may be truncated"
        return self._error(at, f"expected {expected}; got {self._seen(at)}.")

    # -------------------------------------------------------------------------------- variables

    def _variables(self, blocks: list[_Block]) -> dict[str, Discrete]:
        variables: dict[str, Discrete] = {}
        for block in blocks:
            name = self._name(block)
            if name in variables:
                raise self._error(block.start, f"the variable {name!r} is declared a second time.")
            states = self._states(block, name)
            try:
                variables[name] = Discrete(name, states)
            except BayesGraphError as error:
                raise self._error(block.start, str(error)) from error
        return variables

    def _name(self, block: _Block) -> str:
        for names in _readings(block.head):
            if len(names) == 1:
                return names[0]
        raise self._error(block.start, f"expected one name after 'variable'; got {block.head!r}.")

    def _states(self, block: _Block, name: str) -> list[str]:
        states: list[str] | None = None
        at, end = block.body
        while match := _TYPE.match(self.text, at, end):
            if match["states"] is not None:
                states = self._declared(match, name)
            else:
                skip("variables", "property")
            at = match.end()
        if states is None or self._after_blanks(at) < end:
            raise self._error(
                at,
                f"expected 'type discrete [ n ] {{ states }};' or 'property ...;' for {name!r}; "
                f"got {self._seen(at, end)}.",
            )
        return states

    def _declared(self, match: re.Match[str], name: str) -> list[str]:
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

    def _family(
        self, block: _Block, variables: dict[str, Discrete]
    ) -> tuple[Discrete, list[Discrete]]:
        head = block.head
        if not (head.startswith("(") and head.endswith(")")):
            raise self._error(
                block.start, f"expected 'probability ( child | parents )'; got {head!r}."
            )
        left, right = _split_bar(head[1:-1])
        children = self._known(left, variables, block)
        parents = self._known(right, variables, block)
        if parents and len(children) != 1:
            raise self._error(
                block.start, f"expected one variable before '|'; got {quoted(children)}."
            )
        if not children:
            raise self._error(block.start, "expected the name of a variable after 'probability ('.")
        # Without a bar the first name is the child and the others are its parents (older files).
        family = [variables[name] for name in children + parents]
        if len(family) > MAX_AXES:
            raise self._error(
                block.start,
                f"expected at most {MAX_AXES - 1} parents of {family[0].name!r}, as a table has at "
                f"most {MAX_AXES} axes; got {len(family) - 1}.",
            )
        return family[0], family[1:]

    def _known(self, text: str, variables: dict[str, Discrete], block: _Block) -> list[str]:
        readings = _readings(text)
        for names in readings:
            if all(name in variables for name in names):
                return names
        unknown = next(name for name in readings[0] if name not in variables)
        near = suggestion(unknown, variables)
        raise self._error(block.start, f"the variable {unknown!r} is not declared.{near}")

    def _cpd(
        self, block: _Block, child: Discrete, parents: list[Discrete], rounded: RoundedRows
    ) -> TableCPD:
        codes = [self._codes_of(parent) for parent in parents]
        rows = TableRows(child, parents, codes, self._error)
        whole = self._entries(block, rows)
        values = rows.table(block.start, self._budget) if whole is None else whole
        try:
            return table_of(child, values, parents, rounded)
        except BayesGraphError as error:
            repaired = rounded.repaired(child.name, values)
            at = rows.places.get(first_bad_row(repaired), block.start)
            raise self._error(at, _explained(error, whole)) from error

    def _entries(self, block: _Block, rows: TableRows) -> Floats | None:
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
                    raise self._error(at, f"{child.name!r} has a second 'default'.")
                rows.default = rows.floats(values, at, child.cardinality)
            elif word == "table":
                if whole is not None:
                    raise self._error(at, f"{child.name!r} has a second 'table'.")
                shape = [child.cardinality, *(parent.cardinality for parent in rows.parents)]
                numbers = rows.floats(values, at, math.prod(shape))
                whole = np.ascontiguousarray(np.moveaxis(np.reshape(numbers, shape), 0, -1))
            else:
                skip("tables", "property")
            at = match.end()
        if self._after_blanks(at) < end:
            raise self._error(
                at,
                "expected 'table p, ...;', '(states) p, ...;', 'default p, ...;' or "
                f"'property ...;' with numbers p for {child.name!r}; got {self._seen(at, end)}.",
            )
        if whole is not None and rows.places:
            raise self._error(
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
            raise self._error(
                at,
                f"expected a state for each of the {len(parents)} parents "
                f"({quoted(parent.name for parent in parents)}); got ({text}).",
            )
        return fitting[0]


def _explained(error: BayesGraphError, whole: Floats | None) -> str:
    """Return the message of a refused table, with a hint if the child seems to vary fastest."""
    if whole is not None and whole.ndim > 1:
        n = whole.shape[-1]
        if sum_to_one(np.moveaxis(whole, -1, 0).reshape(-1, n)):
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
