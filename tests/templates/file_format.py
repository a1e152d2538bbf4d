"""A file format: a reader, a writer and a record of what it holds. Copy this file and fill it in.

Room: `files`, one module a format.
The one list: `FORMATS`, from suffix to "module:FORMAT"; a package of its own enters its format by
`register_format(".new", "package.module:FORMAT")` and touches no file here.
Its test row: none, the tests of every format read the list. The reader becomes a row of `TARGETS`
in `tests/fuzz`; what it leaves out of a file it tells `skip`, and is a row of `test_skipped.py`.
Docs: `docs/formats.md`, whose table is compared with `HELD`.

A reader trusts nothing: whatever is not as the format says is a `FileFormatError` with path, line,
what was expected and what arrived; sizes that no bytes confirm are taken from the `Budget` first. A
writer writes each float so that it reads back as the same float; what the format cannot hold,
`Export.of` refuses or puts into comments, from which `Sidecar` restores it. Replace "the new
format" and, in the list, the suffix, then each line with a TODO.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesgraph.core import Discrete, LossReport
from bayesgraph.core.files import Budget
from bayesgraph.core.variables import Variable
from bayesgraph.files import FileFormat
from bayesgraph.files.exporting import Export, Sidecar, content_of
from bayesgraph.files.formats import Capabilities, TextSpelling
from bayesgraph.files.readers import Draft
from bayesgraph.models import BayesianNetwork, TableCPD

# Which names and states stand in a file as they are, in words, and as patterns; all others are
# restored from its comments.
WORDS = TextSpelling("nothing", re.compile("(?!)"), wrong=re.compile("."))  # TODO(1): which
HELD = Capabilities("the new format", names=WORDS, states=WORDS)


def parse(data: bytes, budget: Budget) -> BayesianNetwork:
    """Return the network of a file of the new format.

    Further arguments by name would be options of `bayesgraph.load`.

    Raises
    ------
    FileFormatError
        If it is not such a file; the message has the line.
    """
    draft = Draft("the new format", "table", budget, True, budget.error)
    entries: list[tuple[int, str, list[str], list[float]]] = []
    # What comments of bayesgraph restore.
    restored: list[str] = []
    for number, line in enumerate(data.decode().split("\n"), 1):
        if line.startswith("#"):
            restored += filter(None, [content_of(line[1:])])
        elif line:
            try:
                name, states, parents, words = _parsed(line)
                entries.append((number, name, parents, [*map(float, words)]))
            except ValueError as error:
                raise draft.error(number, f"{error}; got {line!r:.80}.") from error
            draft.declare(number, name, Discrete, states)
    for number, name, parents, numbers in entries:
        family = draft.family(number, name, parents)
        draft.cpds[name] = draft.table(number, family, np.array(numbers))
    return draft.network(Sidecar.of(restored, budget.source))


def _parsed(line: str) -> tuple[str, list[str], list[str], list[str]]:
    """Return a line's name, states, names of parents, and numbers in C order, the child last.

    Raises
    ------
    ValueError
        With what was expected.
    """
    raise ValueError(f"expected an entry of the new format ({line})")  # TODO(2): of one line


def formatted(model: Any, *, strict: bool = True) -> tuple[str, LossReport]:
    """Return a network of tables in the new format, and what is lost.

    Parameters
    ----------
    model : BayesianNetwork
    strict : bool
        Whether names and states are refused that the format cannot spell. If false, similar words
        are written for them, and comments from which the reader restores them.

    Raises
    ------
    LossyExportError
        If the format cannot hold the model; the message lists all problems.
    """
    export = Export.of(model, HELD, strict=strict)
    names, states = export.names, export.states
    tables = [cpd for cpd in export.cpds if isinstance(cpd, TableCPD)]
    lines = [_line(cpd, names, states) for cpd in tables]
    lines += [f"# {line}" for line in export.sidecar]
    return "".join(f"{line}\n" for line in lines), export.report


def _line(
    cpd: TableCPD, names: Mapping[Variable, str], states: Mapping[Variable, Sequence[str]]
) -> str:
    """Return the line of a distribution, given the words for names and states."""
    return names[cpd.variable]  # TODO(3): the line that `_parsed` reads; repr() of a float is exact


FORMAT = FileFormat("the new format", parse, formatted, HELD)
