"""The table of docs/formats.md says what the records of the formats say."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import bayesgraph as bg
from bayesgraph.files import FileFormat
from bayesgraph.files.formats import Capabilities
from bayesgraph.files.pgmpy import HELD
from bayesgraph.models import DeterministicCPD, NoisyMaxCPD

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
HEAD = (
    *("format", "suffixes", "", "blanks", "unicode", "other types", "intervals", "continuous"),
    *("noisy maxima", "functions", "exponents", "mixtures", "scores", "positions", "notes"),
    "titles",
    "training",
)
SPELLINGS = ("format", "names", "states")


def _cards() -> dict[str, tuple[FileFormat, list[str]]]:
    """Return the card of each format with its suffixes."""
    homes: dict[str, list[str]] = {}
    for suffix, home in bg.files.FORMATS.items():
        homes.setdefault(home, []).append(suffix)
    return {home: (pkgutil.resolve_name(home), suffixes) for home, suffixes in homes.items()}


def table() -> str:
    """Return the table of formats as the page has it."""
    rows = [_row(card, suffixes) for card, suffixes in _cards().values()]
    pgmpy = ("pgmpy's objects", "`to_pgmpy`, `from_pgmpy`", "makes, reads")
    return _table(HEAD, [*rows, (*pgmpy, *_cells(HELD))])


def spellings() -> str:
    """Return the table of what names and states can be."""
    held = [*(card.holds for card, _ in _cards().values()), HELD]
    return _table(SPELLINGS, [(h.format, h.names.held, h.states.held) for h in held if h])


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def _row(card: FileFormat, suffixes: list[str]) -> tuple[str, ...]:
    plain = ", ".join(f"`{suffix}`" for suffix in suffixes if not suffix.endswith(".gz"))
    packed = " (`.gz`)" if any(suffix.endswith(".gz") for suffix in suffixes) else ""
    verbs = "reads, writes" if card.parse and card.format else "reads" if card.parse else "writes"
    cells = ("",) * (len(HEAD) - 3) if card.holds is None else _cells(card.holds)
    return card.name, plain + packed, verbs, *cells


def _cells(held: Capabilities) -> tuple[str, ...]:
    def cell(what: str) -> str:
        return "yes" if what in held.also else "restored"

    def spelled(value: object) -> str:
        if held.names.exact(value, 0) is not None:
            return "yes"
        return "restored" if held.states.exact(value, 1) is None else "states"

    return (
        *map(spelled, ("a b", "ä", 1.5)),
        cell("intervals"),
        ("mixed" if "mixed" in held.also else "alone") if bg.GaussianCPD in held.families else "no",
        "yes" if NoisyMaxCPD in held.families else "as tables",
        "yes" if DeterministicCPD in held.families else "as tables",
        "yes" if "exponents" in held.also else "no",
        "yes" if "mixtures" in held.also else "no",
        *map(cell, ("scores", "positions", "notes", "titles")),
        "yes" if "training" in held.also else "no",
    )


def test_the_page_has_the_tables_of_the_records() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert table() in text
    assert spellings() in text
