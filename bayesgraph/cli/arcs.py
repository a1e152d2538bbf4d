"""Arcs and tiers as texts of the command line."""

from __future__ import annotations

from collections.abc import Sequence

from bayesgraph.errors import DataError, unknown_variable


def arc_of(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Return the arc of a text such as ``smoke:lung``, whose names may have colons themselves.

    Raises
    ------
    DataError
        If the text has no colon.
    UnknownVariableError
        If a name is no column.
    """
    parts = text.split(":")
    ways = [(":".join(parts[:i]), ":".join(parts[i:])) for i in range(1, len(parts))]
    if not ways:
        raise DataError(f"An arc is PARENT:CHILD, such as smoke:lung; got {text!r}.")
    for parent, child in ways:
        if parent in names and child in names:
            return parent, child
    parent, child = ways[0]
    raise unknown_variable(child if parent in names else parent, names, where="The table")


def tier_of(text: str, names: Sequence[str]) -> list[str]:
    """Return the names of a text such as ``age,sex``; a name with a comma is a tier by itself."""
    return [text] if text in names else [name.strip() for name in text.split(",")]
