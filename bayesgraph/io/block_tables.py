"""Families and tables of nodes in files of blocks, with errors that name the line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from bayesgraph.cpds import TableCPD
from bayesgraph.errors import BayesGraphError, suggestion
from bayesgraph.factors.algebra import Floats
from bayesgraph.io import row_sums
from bayesgraph.io.block_text import BlockText, Field
from bayesgraph.io.budget import MAX_AXES
from bayesgraph.io.nested_numbers import place_of
from bayesgraph.io.row_sums import RoundedRows, first_bad_row
from bayesgraph.io.sidecar import Sidecar
from bayesgraph.variables import Discrete, Name, Variable

V = TypeVar("V", bound=Variable)


def parents_of(
    text: BlockText, at: int, child: str, names: Sequence[str], variables: Mapping[str, V]
) -> list[V]:
    """Return the parents of a node by their names.

    Parameters
    ----------
    text : BlockText
    at : int
        Position of the names.
    child : str
    names : sequence of str
        Of the parents.
    variables : mapping from str to Variable

    Raises
    ------
    FileFormatError
        If one is not declared, or there are more than a table can have.
    """
    for name in names:
        if name not in variables:
            near = suggestion(name, variables)
            raise text.error(at, f"the parent {name!r} of {child!r} is not declared.{near}")
    if len(names) >= MAX_AXES:
        raise text.error(
            at,
            f"expected at most {MAX_AXES - 1} parents of {child!r}, as a table has at most "
            f"{MAX_AXES} axes; got {len(names)}.",
        )
    return [variables[name] for name in names]


def table_of(
    text: BlockText,
    found: Field,
    child: Discrete,
    values: Floats,
    parents: Sequence[Discrete],
    rounded: RoundedRows,
) -> TableCPD:
    """Return the CPD of a table, whose rounded rows are divided by their sums.

    Parameters
    ----------
    text : BlockText
    found : Field
        That has the numbers, for messages.
    child : Discrete
    values : ndarray of float
        With the child's states on the last axis.
    parents : sequence of Discrete
    rounded : RoundedRows

    Raises
    ------
    FileFormatError
        If a row is no distribution; the message has its line.
    """
    try:
        return row_sums.table_of(child, values, parents, rounded)
    except BayesGraphError as error:
        row = first_bad_row(rounded.repaired(child.name, values))
        place = place_of(found.value, row * child.cardinality) if found.is_number else 0
        advice = " Or normalize='always' divides all rows." * (" sum to " in str(error))
        raise text.error(found.start + place, f"{error}{advice}") from error


def titles_of(found: Mapping[str, str], sidecar: Sidecar) -> dict[Name, str]:
    """Return the titles of nodes, without those that say the name again.

    Parameters
    ----------
    found : mapping from str to str
        Titles by the words for names; empty where there is none.
    sidecar : Sidecar
        It knows the names that were written in another spelling.
    """
    names = {word: str(variable.name) for word, (_, variable) in sidecar.variables.items()}
    return {
        word: title for word, title in found.items() if title not in ("", names.get(word, word))
    }
