"""Parser of DSC text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from bayesgraph.cpds import TableCPD
from bayesgraph.errors import BayesGraphError, FileFormatError, quoted, suggestion
from bayesgraph.io.block_tables import parents_of, titles_of
from bayesgraph.io.block_text import (
    STRING,
    BlockText,
    Comments,
    position_of,
    skip_fields,
    unquoted,
    words_of,
)
from bayesgraph.io.budget import Budget
from bayesgraph.io.row_sums import Normalize, RoundedRows, first_bad_row, network_of
from bayesgraph.io.sidecar import Sidecar
from bayesgraph.io.skipped import skip, skip_name
from bayesgraph.io.table_rows import TableRows
from bayesgraph.models.annotations import Annotations
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete, Name

COMMENTS = Comments("//", block=True)
_IS = r"\s*+(?:is\b|[:=])\s*+"
_NETWORK = re.compile(
    rf"\s*+belief\s++network\b\s*+(?P<name>{STRING}|[^\s\"{{}};]++)?+\s*+;?+", re.DOTALL
)
_TYPE = re.compile(
    rf"\s*+type{_IS}(?P<type>\w++)\s*+(?:\[\s*+(?P<count>\d{{1,9}}+)\s*+\]\s*+)?+=?+\s*+"
    rf"\{{(?P<states>(?:[^\"{{}}]++|{STRING})*+)\}}\s*+;",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(
    rf"\s*+(?P<name>[A-Za-z_]\w*+)(?:{_IS})?+(?P<value>(?:[^;\"{{}}]++|{STRING})*+);", re.DOTALL
)
_FAMILY = re.compile(r"probability\s*+\(([^()|]*+)(?:\|([^()|]*+))?+\)")
_ROW = re.compile(
    rf"\s*+(?:(?:\((?P<given>(?:[^()\"{{}};]++|{STRING})*+)\)|(?P<default>default\b))"
    r"\s*+(?:is\b|[:=])?+)?+(?P<numbers>[-+.0-9eE,\s]++);",
    re.DOTALL,
)
_OTHER_ROW = re.compile(r"\s*+(function|leak|distribution)\b")


def parse(text: str, *, budget: Budget, normalize: Normalize) -> BayesianNetwork:
    """Return the network of a DSC text.

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
    return _Parser(BlockText(text, budget, COMMENTS), budget).network(normalize=normalize)


class _Parser:
    def __init__(self, text: BlockText, budget: Budget) -> None:
        self._text = text
        self._budget = budget
        self._variables: dict[str, Discrete] = {}
        self._titles: dict[str, str] = {}
        self._positions: dict[Name, tuple[float, float]] = {}
        self._cpds: dict[str, TableCPD] = {}
        # What the signs of a row mean as states of a parent: words in quotes, names and indices.
        self._codes: dict[str, dict[str, int]] = {}

    def network(self, *, normalize: Normalize) -> BayesianNetwork:
        rounded = RoundedRows(normalize=normalize)
        # Rows whose sum overflows are refused like all rows that do not sum to one.
        with np.errstate(over="ignore", invalid="ignore"):
            self._read(rounded)
        without = [name for name in self._variables if name not in self._cpds]
        if without or not self._variables:
            what = f"'probability' blocks of {quoted(without)}" if without else "'node' blocks"
            raise self._text.error(len(self._text.text), f"expected {what}; got the end.")
        cpds = [self._cpds[name] for name in self._variables]
        sidecar = Sidecar.of(self._text.sidecar, self._text.source)
        titles = titles_of(self._titles, sidecar)
        annotations = Annotations("", self._positions, {}, titles)
        network = network_of(cpds, rounded, self._text.source, annotations)
        return sidecar.restore(network)

    # ----------------------------------------------------------------------------------- blocks

    def _read(self, rounded: RoundedRows) -> None:
        match = _NETWORK.match(self._text.text)
        at = 0
        if match:
            skip_name(unquoted(match["name"] or ""))
            at = self._after_body(match.end())
        while not self._text.is_done(at):
            head, body = self._text.head(at) or ("", at)
            kind = head.split("(")[0].split()[:1]
            if kind == ["node"]:
                at = self._node(at, head, body)
            elif kind == ["probability"]:
                at = self._probability(at, head, body, rounded)
            elif kind in (["network"], ["properties"]):
                skip("network", kind[0])
                at = self._text.after_end(self._text.after_braces(body - 1))
            else:
                raise self._text.error(
                    at,
                    "expected 'belief network', 'node' or 'probability' at the start of a block; "
                    f"got {self._text.seen(at)}.",
                )

    def _after_body(self, at: int) -> int:
        """Return the position after the braces that may follow."""
        after = self._text.after_blanks(at)
        if not self._text.text.startswith("{", after):
            return at
        end = self._text.after_braces(after)
        skip("network", "properties", bool(self._text.text[after + 1 : end - 1].strip()))
        return end

    def _node(self, at: int, head: str, body: int) -> int:
        names = words_of(head[len("node") :])
        if len(names) != 1:
            raise self._text.error(at, f"expected one name after 'node'; got {head!r:.60}.")
        (name,) = names
        if name in self._variables:
            raise self._text.error(at, f"the node {name!r} is declared a second time.")
        states: list[str] | None = None
        values: dict[str, str] = {}
        place = body
        while (end := self._text.close(place)) is None:
            if match := _TYPE.match(self._text.text, place):
                states = self._states(match, name)
            elif match := _ATTRIBUTE.match(self._text.text, place):
                values[match["name"]] = match["value"].strip()
            else:
                break
            place = match.end()
        if states is None or end is None:
            raise self._text.error(
                place,
                f"expected 'type : discrete [ n ] = {{ \"...\", ... }};' in the node {name!r}, and "
                f"'}}' at its end; got {self._text.seen(place)}.",
            )
        try:
            self._variables[name] = Discrete(name, states)
        except BayesGraphError as error:
            raise self._text.error(at, str(error)) from error
        skip_fields("variables", values, ("name", "position"))
        self._titles[name] = unquoted(values.get("name", ""))
        if (position := position_of(values.get("position", ""))) is not None:
            self._positions[name] = position
        return end

    def _states(self, match: re.Match[str], name: str) -> list[str]:
        if match["type"] != "discrete":
            raise self._text.error(
                match.start("type"),
                f"expected 'type : discrete' for {name!r}; got {match['type']!r:.40}.",
            )
        states = words_of(match["states"])
        if match["count"] is not None and int(match["count"]) != len(states):
            raise self._text.error(
                match.start("states"),
                f"expected {int(match['count'])} states for {name!r}, as its type says; got "
                f"{len(states)}: {quoted(states)}.",
            )
        return states

    # ----------------------------------------------------------------------------------- tables

    def _probability(self, at: int, head: str, body: int, rounded: RoundedRows) -> int:
        match = _FAMILY.fullmatch(head)
        children = words_of(match[1]) if match else []
        if match is None or len(children) != 1:
            raise self._text.error(
                at, f"expected 'probability ( child | parents )'; got {head!r:.60}."
            )
        (name,) = children
        if name not in self._variables:
            near = suggestion(name, self._variables)
            raise self._text.error(at, f"the node {name!r} is not declared before.{near}")
        if name in self._cpds:
            raise self._text.error(at, f"{name!r} has a second 'probability' block.")
        child = self._variables[name]
        parents = parents_of(self._text, at, name, words_of(match[2] or ""), self._variables)
        codes = [self._codes_of(parent) for parent in parents]
        rows = TableRows(child, parents, codes, self._text.error, ", or their indices from 0 on")
        end = self._rows(body, rows)
        values = rounded.repaired(name, rows.table(at, self._budget))
        try:
            self._cpds[name] = TableCPD(child, values, parents)
        except BayesGraphError as error:
            place = rows.places.get(first_bad_row(values), at)
            raise self._text.error(place, str(error)) from error
        return end

    def _rows(self, at: int, rows: TableRows) -> int:
        """Read the rows of a block, and return its end."""
        child, parents = rows.child, rows.parents
        while (end := self._text.close(at)) is None:
            match = _ROW.match(self._text.text, at)
            if match is None:
                raise self._row_error(at, child, parents)
            if match["default"] is not None:
                rows.default = rows.floats(match["numbers"], at, child.cardinality)
            else:
                given = match["given"]
                words = [] if given is None else [word.strip() for word in given.split(",")]
                if len(words) != len(parents):
                    raise self._text.error(
                        at,
                        f"expected the index of a state for each of the {len(parents)} parents of "
                        f"{child.name!r}; got ({given or ''}).",
                    )
                rows.add(words, match["numbers"], at)
            at = match.end()
        return end

    def _row_error(self, at: int, child: Discrete, parents: Sequence[Discrete]) -> FileFormatError:
        if other := _OTHER_ROW.match(self._text.text, at):
            return self._text.error(
                at,
                f"{child.name!r} is given by a {other[1]}, which is not read. Save its table.",
            )
        given = ", ".join("0" for _ in parents[:4])
        row = f"({given}) : p, ...;" if parents else "p, ...;"
        return self._text.error(
            at,
            f"expected '{row}' or 'default : p, ...;' with numbers p for {child.name!r}; got "
            f"{self._text.seen(at)}.",
        )

    def _codes_of(self, variable: Discrete) -> dict[str, int]:
        name = str(variable.name)
        if name not in self._codes:
            states = [str(state) for state in variable.states]
            codes = {state: code for code, state in enumerate(states)}
            codes |= {f'"{state}"': code for code, state in enumerate(states)}
            # A number without quotes is an index, also where it is the text of another state.
            self._codes[name] = codes | {str(code): code for code in range(len(states))}
        return self._codes[name]
