"""XMLBIF 0.3, the XML form of the Interchange Format, plain or gzipped.

The format (https://www.cs.cmu.edu/~fgcozman/Research/InterchangeFormat/) holds names and states as
text, and conditional probability tables. Weka, JavaBayes, SamIam, pgmpy and pyAgrum (``.bifxml``)
read and write it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.core import files
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import (
    BayesGraphError,
    FileFormatError,
    LossyExportError,
    quoted,
    suggestion,
)
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.files.exporting import Export, skip, skip_name
from bayesgraph.files.formats import Capabilities, FileFormat, TextSpelling
from bayesgraph.files.guarded_xml import Element, comment, escaped, read_xml
from bayesgraph.files.table_rows import (
    Normalize,
    RoundedRows,
    floats_of,
    network_of,
    sum_to_one,
    table_of,
)
from bayesgraph.models import Annotations, BayesianNetwork, TableCPD

_BAD = "\x00-\x1f\x7f-\x9f\ufffe\uffff"
TEXT = TextSpelling(
    "text without control characters and without blanks at its ends",
    re.compile(rf"(?! )[^{_BAD}]++(?<! )"),
    wrong=re.compile(rf"[{_BAD}]|^ | $"),
)
HELD = Capabilities("XMLBIF", names=TEXT, states=TEXT, positions=True)

_POSITION = re.compile(
    r"position\s*+=\s*+\(\s*+([-+.0-9eE]++)\s*+,\s*+([-+.0-9eE]++)\s*+\)", re.IGNORECASE
)
# Without a document type: pyAgrum's parser ends in the middle of one.
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def read_xmlbif(
    path: files.PathLike,
    *,
    normalize: Normalize = True,
    encoding: str | None = None,
    limit: int | None = None,
) -> BayesianNetwork:
    """Read an XMLBIF file; gzip is recognised by its content.

    Names and states are text without the blanks around it. Variables come in the order of their
    declaration. In a table the child varies fastest, then the last parent. Positions are kept;
    other properties are skipped. Nothing outside of the file is read, and entities are refused.

    Parameters
    ----------
    path : str or path
    normalize : bool or "always"
        Which rows that do not sum to one are divided by their sum; see
        :func:`bayesgraph.files.bif.read_bif`.
    encoding : str, optional
        Encoding of the text, instead of what the file says.
    limit : int, optional
        Bytes that reading the file may allocate; see :func:`bayesgraph.files.bif.read_bif`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the file is not valid XMLBIF, has decisions or utilities, or is beyond the limit; the
        message has the line and the expected text, or the size.
    """
    with files.reading(files.path_text(path), "XMLBIF"):
        data, budget = files.read_unzipped(path, limit)
        return _Reader(budget).network(data, encoding, normalize=normalize)


def parse_xmlbif(
    text: str, *, normalize: Normalize = True, limit: int | None = None
) -> BayesianNetwork:
    """Return the network that an XMLBIF text describes; see `read_xmlbif`.

    Examples
    --------
    >>> parse_xmlbif('''<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
    ... <VARIABLE TYPE="nature"><NAME>rain</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME>
    ... </VARIABLE><DEFINITION><FOR>rain</FOR><TABLE>0.8 0.2</TABLE></DEFINITION>
    ... </NETWORK></BIF>''').variable("rain")
    Discrete('rain', ['no', 'yes'])
    """
    with files.reading("XMLBIF text", "XMLBIF"):
        data = text.encode()
        budget = files.Budget("XMLBIF text", len(data), limit)
        return _Reader(budget).network(data, "utf-8", normalize=normalize)


def write_xmlbif(
    model: Any, path: files.PathLike, *, strict: bool = True, name: str = "unknown"
) -> files.LossReport:
    """Write a discrete network as XMLBIF 0.3, gzipped if the path ends in ``.gz``.

    Numbers are written so that they read back as the same floats. Kinds of variables, scores of
    arcs, notes and titles are in comments, from which `read_xmlbif` restores them. The file is
    replaced as a whole or not at all.

    Parameters
    ----------
    model : BayesianNetwork
    path : str or path
    strict : bool
        Whether names and states are refused that are not text, or that have control characters or
        blanks at their ends. If false, similar words are written for them, and comments from which
        `read_xmlbif` restores them.
    name : str
        Name of the network in the file.

    Returns
    -------
    LossReport
        What other programs read in another form, and what is lost.

    Raises
    ------
    LossyExportError
        If XMLBIF cannot hold the model; the message lists all problems.
    """
    text, report = _formatted(model, name, strict=strict)
    files.write_text(path, text)
    return report


def format_xmlbif(model: Any, *, strict: bool = True, name: str = "unknown") -> str:
    """Return a discrete network as XMLBIF text; see `write_xmlbif`."""
    return _formatted(model, name, strict=strict)[0]


# ----------------------------------------------------------------------------------- writing


def _formatted(model: Any, name: str, *, strict: bool) -> tuple[str, files.LossReport]:
    found = Export.of(model, HELD, strict=strict)
    network = TEXT.exact(name, 0)
    if network is None:
        raise LossyExportError(f"The network's name in XMLBIF is {TEXT.held}; got {name!r:.80}.")
    names = {v: escaped(word) for v, word in found.words.names.items()}
    parts = [_HEAD, f'<BIF VERSION="0.3">\n<NETWORK>\n<NAME>{escaped(network)}</NAME>\n']
    for variable, word in found.words.names.items():
        place = found.annotations.positions.get(word)
        parts.append(_declaration(names[variable], found.words.states[variable], place))
    for cpd in found.cpds:
        assert isinstance(cpd, TableCPD)
        parts.extend(_definition(cpd, names))
    parts += [f"{comment(line)}\n" for line in found.sidecar]
    return "".join([*parts, "</NETWORK>\n</BIF>\n"]), found.report


def _declaration(name: str, states: Sequence[str], place: tuple[float, float] | None) -> str:
    outcomes = "".join(f"  <OUTCOME>{escaped(state)}</OUTCOME>\n" for state in states)
    where = "" if place is None else f"  <PROPERTY>position = ({_short(place)})</PROPERTY>\n"
    return f'<VARIABLE TYPE="nature">\n  <NAME>{name}</NAME>\n{outcomes}{where}</VARIABLE>\n'


def _short(place: tuple[float, float]) -> str:
    # Weka reads integers only.
    return ", ".join(str(int(x)) if x.is_integer() else repr(x) for x in place)


def _definition(cpd: TableCPD, names: Mapping[Variable, str]) -> Iterator[str]:
    """Yield the text of the element that has the table of a CPD, in pieces."""
    yield f"<DEFINITION>\n  <FOR>{names[cpd.variable]}</FOR>\n"
    for parent in cpd.parents:
        yield f"  <GIVEN>{names[parent]}</GIVEN>\n"
    yield "  <TABLE>\n"
    for row in cpd.values.reshape(-1, cpd.variable.cardinality).tolist():
        # repr gives the shortest decimal that reads back as the same float.
        yield f"{' '.join(map(repr, row))}\n"
    yield "  </TABLE>\n</DEFINITION>\n"


# ----------------------------------------------------------------------------------- reading


class _Definition(NamedTuple):
    line: int
    child: str
    parents: list[str]
    numbers: str


class _Reader:
    def __init__(self, budget: files.Budget) -> None:
        self._budget = budget
        self._variables: dict[str, Discrete] = {}
        self._definitions: dict[str, _Definition] = {}
        self._positions: dict[Name, tuple[float, float]] = {}

    def network(
        self, data: bytes, encoding: str | None, *, normalize: Normalize
    ) -> BayesianNetwork:
        handlers: dict[str, Callable[[Element], None]] = {
            "variable": self._variable,
            "definition": self._definition,
        }
        root, sidecar = read_xml(data, self._budget, handlers, encoding=encoding)
        if root.tag.upper() != "BIF" or not self._variables:
            raise self._error(
                root.line,
                f"expected <BIF> with the variables of a network; got <{root.tag:.40}> with "
                f"{len(self._variables)} of them.",
            )
        for whole in root.all("network"):
            skip_name(" ".join(whole.texts("name")))
            skip("network", "property", len(whole.all("property")))
        without = [name for name in self._variables if name not in self._definitions]
        if without:
            raise self._error(root.line, f"expected a <DEFINITION> of each of {quoted(without)}.")
        rounded = RoundedRows(normalize=normalize)
        # Rows whose sum overflows are refused like all rows that do not sum to one.
        with np.errstate(over="ignore", invalid="ignore"):
            cpds = list(self._cpds(rounded))
        annotations = Annotations(positions=self._positions)
        return sidecar.restore(network_of(cpds, rounded, self._budget.source, annotations))

    def _error(self, line: int, message: str) -> FileFormatError:
        return FileFormatError(f"{self._budget.source}, line {line}: {message}")

    def _variable(self, element: Element) -> None:
        names = element.texts("name")
        if len(names) != 1:
            raise self._error(
                element.line, f"expected one <NAME> of a variable; got {names!r:.80}."
            )
        (name,) = names
        kind = element.attributes.get("TYPE", "nature")
        if kind.lower() != "nature":
            raise self._error(
                element.line,
                f"expected a variable of the type 'nature'; {name!r} has {kind!r:.40}: bayesgraph "
                "has no influence diagrams.",
            )
        if name in self._variables:
            raise self._error(element.line, f"the variable {name!r} is declared a second time.")
        try:
            self._variables[name] = Discrete(name, element.texts("outcome"))
        except BayesGraphError as error:
            raise self._error(element.line, str(error)) from error
        for text in element.texts("property"):
            if found := _POSITION.fullmatch(text):
                try:
                    x, y = map(float, found.groups())
                except ValueError:
                    x = y = math.nan
                if not (math.isfinite(x) and math.isfinite(y)):
                    raise self._error(element.line, f"expected two numbers; got {found[0]!r:.80}.")
                self._positions[name] = x, y
            else:
                skip("variables", "property")

    def _definition(self, element: Element) -> None:
        children, tables = element.texts("for"), element.all("table")
        if len(children) != 1 or len(tables) != 1:
            raise self._error(
                element.line,
                "expected one <FOR> and one <TABLE> in a <DEFINITION>; got "
                f"{len(children)} and {len(tables)}.",
            )
        skip("tables", "property", len(element.all("property")))
        (child,) = children
        if child in self._definitions:
            raise self._error(element.line, f"{child!r} has a second <DEFINITION>.")
        self._definitions[child] = _Definition(
            element.line, child, element.texts("given"), tables[0].text
        )

    def _cpds(self, rounded: RoundedRows) -> Iterator[TableCPD]:
        for name in self._variables:
            definition = self._definitions[name]
            try:
                numbers = floats_of(definition.numbers)
            except ValueError as error:
                raise self._error(definition.line, f"the table of {name!r}: {error}.") from error
            yield self._cpd(definition, numbers, rounded)

    def _cpd(self, definition: _Definition, numbers: Floats, rounded: RoundedRows) -> TableCPD:
        family = [*definition.parents, definition.child]
        for name in family:
            if name not in self._variables:
                near = suggestion(name, self._variables)
                raise self._error(definition.line, f"the variable {name!r} is not declared.{near}")
        if len(family) > files.MAX_AXES:
            raise self._error(
                definition.line,
                f"expected at most {files.MAX_AXES - 1} parents of {definition.child!r}, as a "
                f"table has at most {files.MAX_AXES} axes; got {len(definition.parents)}.",
            )
        *parents, child = [self._variables[name] for name in family]
        shape = [variable.cardinality for variable in (*parents, child)]
        if len(numbers) != math.prod(shape):
            raise self._error(
                definition.line,
                f"expected {math.prod(shape)} probabilities for {child.name!r}; got "
                f"{len(numbers)}.",
            )
        values = numbers.reshape(shape)
        try:
            return table_of(child, values, parents, rounded)
        except BayesGraphError as error:
            raise self._error(definition.line, f"{error}{_advice(values)}") from error


def _advice(values: Floats) -> str:
    """Return a hint for a refused table if the child seems to vary slowest."""
    with np.errstate(over="ignore", invalid="ignore"):
        if values.ndim == 1 or not sum_to_one(values.reshape(values.shape[-1], -1).T):
            return ""
    return " In XMLBIF the child varies fastest; here it reads as if it varied slowest."


FORMAT = FileFormat("XMLBIF", read_xmlbif, write_xmlbif, holds=HELD)
