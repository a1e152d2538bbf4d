"""A file format: a reader, a writer and a record of what it holds. Copy this file and fill it in.

Room: `files`, one module a format.
The one list: `FORMATS`, from suffix to "module:FORMAT"; a package of its own enters its format by
`register_format(".new", "package.module:FORMAT")` and touches no file here.
Its test row: none, the tests of every format read the list. The reader becomes a row of `TARGETS`
in `tests/fuzz`; what it leaves out of a file it tells `skip`, and is a row of `test_skipped.py`.
Docs: `docs/formats.md`, whose table is compared with `HELD`.

A reader trusts nothing: whatever is not as the format says is a `FileFormatError` with path, line,
what was expected and what arrived; sizes that no bytes confirm are taken from the `Budget` first. A
writer writes a file as a whole or not at all, each float so that it reads back as the same float;
what the format cannot hold, `Export.of` refuses or puts into comments, from which `Sidecar`
restores it. Replace `new_format`, "the new format" and, in the list, the suffix, then each line
with a TODO.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesgraph.core import Discrete, LossReport
from bayesgraph.core.errors import BayesGraphError, FileFormatError
from bayesgraph.core.files import PathLike, path_text, read_unzipped, reading, write_text
from bayesgraph.core.variables import Variable
from bayesgraph.files import FileFormat
from bayesgraph.files.exporting import Export, Sidecar, content_of
from bayesgraph.files.formats import Capabilities, TextSpelling
from bayesgraph.models import BayesianNetwork, TableCPD

# Which names and states stand in a file as they are, in words, and as patterns; all others are
# restored from its comments.
WORDS = TextSpelling("nothing", re.compile("(?!)"), wrong=re.compile("."))  # TODO(1): which
HELD = Capabilities("the new format", names=WORDS, states=WORDS)


def read_new_format(path: PathLike, *, limit: int | None = None) -> BayesianNetwork:
    """Read a network from a file of the new format.

    Parameters
    ----------
    path : str or path
    limit : int, optional
        Bytes that reading the file may allocate; by default 64 MB and 40 times the file's bytes.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If it is not such a file; the message has the line.
    """
    source = path_text(path)
    variables: dict[str, Discrete] = {}
    entries: list[tuple[int, str, list[str], list[str]]] = []
    with reading(source, "the new format"):
        lines = read_unzipped(path, limit)[0].decode().split("\n")
        for number, line in enumerate(lines, 1):
            if not line or line.startswith("#"):
                continue
            try:
                name, states, parents, numbers = _parsed(line)
                if name in variables:
                    raise ValueError("expected one entry of each variable")
                variables[name] = Discrete(name, states)
            except (BayesGraphError, ValueError) as error:
                where = f"{source}, line {number}"
                raise FileFormatError(f"{where}: {error}; got {line!r:.80}.") from error
            entries.append((number, name, parents, numbers))
        cpds = [_table(source, variables, *entry) for entry in entries]
        try:
            network = BayesianNetwork(cpds, order=list(variables.values()))
        except BayesGraphError as error:
            raise FileFormatError(f"{source}: {error}") from error
        comments = (content_of(line[1:]) for line in lines if line.startswith("#"))
        kept = [comment for comment in comments if comment is not None]
        return Sidecar.of(kept, source).restore(network)


def _table(
    source: str,
    variables: Mapping[str, Discrete],
    line: int,
    name: str,
    parents: Sequence[str],
    numbers: Sequence[str],
) -> TableCPD:
    """Return the distribution of one entry."""
    try:
        above = [variables[parent] for parent in parents]
        shape = [variable.cardinality for variable in (*above, variables[name])]
        return TableCPD(variables[name], np.reshape([*map(float, numbers)], shape), above)
    except (BayesGraphError, LookupError, ValueError) as error:
        raise FileFormatError(f"{source}, line {line}: {error}") from error


def _parsed(line: str) -> tuple[str, list[str], list[str], list[str]]:
    """Return a line's name, states, names of parents, and numbers in C order, the child last.

    Raises
    ------
    ValueError
        With what was expected.
    """
    raise ValueError(f"expected an entry of the new format ({line})")  # TODO(2): of one line


def write_new_format(model: Any, path: PathLike, *, strict: bool = True) -> LossReport:
    """Write a network of tables in the new format; the file is replaced as a whole or not at all.

    Parameters
    ----------
    model : BayesianNetwork
    path : str or path
    strict : bool
        Whether names and states are refused that the format cannot spell. If false, similar words
        are written for them, and comments from which the reader restores them.

    Returns
    -------
    LossReport
        What other programs read in another form, and what is lost.

    Raises
    ------
    LossyExportError
        If the format cannot hold the model; the message lists all problems.
    """
    export = Export.of(model, HELD, strict=strict)
    names, states = export.words.names, export.words.states
    tables = [cpd for cpd in export.cpds if isinstance(cpd, TableCPD)]
    lines = [_line(cpd, names, states) for cpd in tables]
    lines += [f"# {line}" for line in export.sidecar]
    write_text(path, "".join(f"{line}\n" for line in lines))
    return export.report


def _line(
    cpd: TableCPD, names: Mapping[Variable, str], states: Mapping[Variable, Sequence[str]]
) -> str:
    """Return the line of a distribution, given the words for names and states."""
    return names[cpd.variable]  # TODO(3): the line that `_parsed` reads; repr() of a float is exact


FORMAT = FileFormat("the new format", read_new_format, write_new_format, holds=HELD)
