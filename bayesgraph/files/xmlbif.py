"""XMLBIF 0.3, the XML form of the Interchange Format, plain or gzipped.

The format (https://www.cs.cmu.edu/~fgcozman/Research/InterchangeFormat/) holds names and states as
text, and conditional probability tables. Weka, JavaBayes, SamIam, pgmpy and pyAgrum (``.bifxml``)
read and write it.
"""

from __future__ import annotations

import re
from typing import Any

from bayesgraph.core import files
from bayesgraph.core.errors import LossyExportError
from bayesgraph.core.variables import Discrete
from bayesgraph.files.exporting import Export, Sidecar, row_texts, skip, skip_name
from bayesgraph.files.formats import Capabilities, FileFormat, TextSpelling
from bayesgraph.files.guarded_xml import Element, comment, escaped, read_xml
from bayesgraph.files.readers import Draft, Normalize, floats_of
from bayesgraph.models import BayesianNetwork

_BAD = "\x00-\x1f\x7f-\x9f\ufffe\uffff"
TEXT = TextSpelling(
    "text without control characters and without blanks at its ends",
    re.compile(rf"(?! )[^{_BAD}]++(?<! )"),
    wrong=re.compile(rf"[{_BAD}]|^ | $"),
)
HELD = Capabilities("XMLBIF", names=TEXT, states=TEXT, also=["positions"])

_POSITION = re.compile(
    r"position\s*+=\s*+\(\s*+([-+.0-9eE]++)\s*+,\s*+([-+.0-9eE]++)\s*+\)", re.IGNORECASE
)
# Without a document type: pyAgrum's parser ends in the middle of one.
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


# ----------------------------------------------------------------------------------- writing


def formatted(
    model: Any, *, strict: bool = True, name: str = "unknown"
) -> tuple[str, files.LossReport]:
    """Return a discrete network as XMLBIF 0.3, and what is lost.

    Numbers are written so that they read back as the same floats. Kinds of variables, scores of
    arcs, notes and titles are in comments, from which the reader restores them.

    Parameters
    ----------
    model : BayesianNetwork
    strict : bool
        Whether names and states are refused that are not text, or that have control characters or
        blanks at their ends. If false, similar words are written for them, and comments from which
        the reader restores them.
    name : str
        Name of the network in the file.

    Raises
    ------
    LossyExportError
        If XMLBIF cannot hold the model; the message lists all problems.
    """
    export = Export.of(model, HELD, strict=strict)
    network = TEXT.exact(name, 0)
    if network is None:
        raise LossyExportError(f"The network's name in XMLBIF is {TEXT.held}; got {name!r:.80}.")
    names = {v: escaped(word) for v, word in export.names.items()}
    parts = [_HEAD, f'<BIF VERSION="0.3">\n<NETWORK>\n<NAME>{escaped(network)}</NAME>\n']
    for variable, word in export.names.items():
        parts.append(f'<VARIABLE TYPE="nature">\n  <NAME>{names[variable]}</NAME>\n')
        parts += [f"  <OUTCOME>{escaped(s)}</OUTCOME>\n" for s in export.states[variable]]
        if place := export.annotations.positions.get(word):
            # Weka reads integers only.
            shown = ", ".join(str(int(x)) if x.is_integer() else repr(x) for x in place)
            parts.append(f"  <PROPERTY>position = ({shown})</PROPERTY>\n")
        parts.append("</VARIABLE>\n")
    for cpd in export.cpds:
        parts.append(f"<DEFINITION>\n  <FOR>{names[cpd.variable]}</FOR>\n")
        parts += [f"  <GIVEN>{names[parent]}</GIVEN>\n" for parent in cpd.parents]
        rows = "\n".join(row_texts(cpd, " "))
        parts.append(f"  <TABLE>\n{rows}\n  </TABLE>\n</DEFINITION>\n")
    parts += [f"{comment(line)}\n" for line in export.sidecar]
    return "".join([*parts, "</NETWORK>\n</BIF>\n"]), export.report


# ----------------------------------------------------------------------------------- reading


def parse(
    data: bytes,
    budget: files.Budget,
    *,
    normalize: Normalize = True,
    encoding: str | None = None,
) -> BayesianNetwork:
    """Return the network of an XMLBIF file.

    Names and states are text without the blanks around it. Variables come in the order of their
    declaration. In a table the child varies fastest, then the last parent. Positions are kept;
    other properties are skipped. Nothing outside of the file is read, and entities are refused.

    Parameters
    ----------
    data : bytes
    budget : Budget
    normalize : bool or "always"
        Which rows that do not sum to one are divided by their sum; see
        :func:`bayesgraph.files.bif.parse`.
    encoding : str, optional
        Encoding of the text, instead of what the file says.

    Raises
    ------
    FileFormatError
        If the file is not valid XMLBIF, has decisions or utilities, or is beyond the limit; the
        message has the line and the expected text, or the size.

    Examples
    --------
    >>> parse_xmlbif('''<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
    ... <VARIABLE TYPE="nature"><NAME>rain</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME>
    ... </VARIABLE><DEFINITION><FOR>rain</FOR><TABLE>0.8 0.2</TABLE></DEFINITION>
    ... </NETWORK></BIF>''').variable("rain")
    Discrete('rain', ['no', 'yes'])
    """
    root, lines = read_xml(data, budget, encoding=encoding)
    draft = Draft("XMLBIF", "<DEFINITION>", budget, normalize, budget.error)
    variables = [*root.within("variable")]
    # Some programs write the network as the root.
    if root.kind not in ("bif", "network") or not variables:
        # A hint for files that have this element.
        others = " A file with <VARIABLES> is of UnBBayes: save it there as .net, which is read."
        raise budget.error(
            root.line,
            f"expected <BIF> with the variables of a network; got <{root.tag:.40}> with "
            f"{len(variables)} of them.{others * any(root.within('variables'))}",
        )
    for element in variables:
        _declare(element, draft)
    for network in [root] if root.kind == "network" else root.all("network"):
        skip_name(" ".join(network.texts("name")))
        skip("network", "property", len(network.all("property")))
    for element in root.within("definition"):
        _define(element, draft)
    return draft.network(Sidecar.of(lines, budget.source), at=root.line)


def _declare(element: Element, draft: Draft) -> None:
    """Declare the variable of an element, and keep its position."""
    names, kind = element.texts("name"), element.attributes.get("TYPE", "nature")
    if len(names) != 1:
        raise draft.error(element.line, f"expected one <NAME> of a variable; got {names!r:.80}.")
    (name,) = names
    if kind.lower() != "nature":
        raise draft.error(
            element.line,
            f"expected a variable of the type 'nature'; {name!r} has {kind!r:.40}: bayesgraph has "
            "no influence diagrams.",
        )
    draft.declare(element.line, name, Discrete, element.texts("outcome"))
    for text in element.texts("property"):
        if (match := _POSITION.fullmatch(text)) is None:
            skip("variables", "property")
            continue
        try:
            x, y = map(float, match.groups())
        except ValueError as error:
            message = f"expected two numbers; got {match[0]!r:.80}."
            raise draft.error(element.line, message) from error
        draft.annotate(name, position=(x, y))


def _define(element: Element, draft: Draft) -> None:
    """Keep the distribution of an element."""
    children, tables = element.texts("for"), element.all("table")
    if len(children) != 1 or len(tables) != 1:
        raise draft.error(
            element.line,
            "expected one <FOR> and one <TABLE> in a <DEFINITION>; got "
            f"{len(children)} and {len(tables)}.",
        )
    skip("tables", "property", len(element.all("property")))
    (child,) = children
    family = draft.family(element.line, child, element.texts("given"))
    try:
        numbers = floats_of(tables[0].text)
    except ValueError as error:
        raise draft.error(element.line, f"the table of {child!r}: {error}.") from error
    draft.cpds[child] = draft.table(element.line, family, numbers)


FORMAT = FileFormat("XMLBIF", parse, formatted, HELD)
parse_xmlbif, format_xmlbif = FORMAT.parse_text, FORMAT.format_text
